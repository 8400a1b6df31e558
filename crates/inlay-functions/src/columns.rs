//! Reading arguments row by row whatever their kind, and writing text.
//!
//! Functions of text whose other arguments are constant are computed once per distinct value of a dictionary not larger
//! than the rows ([`per_distinct`]). Substrings share their source's heap ([`slice_text`]).

use inlay_kernels::apply::{finish, joint_validity, null_argument};
use inlay_types::limits::{self, Meter};
use inlay_types::view::{HeapBuilder, INLINE_LIMIT};
use inlay_types::{
    Bitmap, Buffer, Dictionary, Error, Heap, LogicalType, Native, Result, Vector, VectorKind, View,
};

/// Values of a fixed-width argument by row.
pub(crate) struct Column<'a, T> {
    values: &'a [T],
    rows: Rows<'a>,
}

/// How rows map to values.
enum Rows<'a> {
    Each,
    One,
    Codes(&'a [u32]),
}

impl<'a> Rows<'a> {
    fn of(vector: &'a Vector) -> (&'a Vector, Self) {
        match vector.kind() {
            VectorKind::Flat => (vector, Self::Each),
            VectorKind::Constant => (vector, Self::One),
            VectorKind::Dictionary(dictionary) => (dictionary.values(), Self::Codes(vector.codes())),
        }
    }

    #[inline(always)]
    fn at(&self, row: usize) -> usize {
        match self {
            Self::Each => row,
            Self::One => 0,
            Self::Codes(codes) => codes[row] as usize,
        }
    }
}

impl<'a, T: Native> Column<'a, T> {
    pub(crate) fn of(vector: &'a Vector) -> Self {
        let (source, rows) = Rows::of(vector);
        Self { values: source.values(), rows }
    }

    #[inline(always)]
    pub(crate) fn get(&self, row: usize) -> T {
        self.values[self.rows.at(row)]
    }
}

/// Strings of a VARCHAR or BLOB argument by row.
pub(crate) struct TextColumn<'a> {
    views: &'a [View],
    heap: &'a [Buffer],
    rows: Rows<'a>,
}

impl<'a> TextColumn<'a> {
    pub(crate) fn of(vector: &'a Vector) -> Self {
        let (source, rows) = Rows::of(vector);
        Self { views: source.views(), heap: source.heap().buffers(), rows }
    }

    /// Whether all rows have the same.
    #[inline(always)]
    pub(crate) fn is_constant(&self) -> bool {
        matches!(self.rows, Rows::One)
    }

    #[inline(always)]
    pub(crate) fn view(&self, row: usize) -> &'a View {
        &self.views[self.rows.at(row)]
    }

    #[inline(always)]
    pub(crate) fn get(&self, row: usize) -> &'a [u8] {
        self.view(row).bytes(self.heap)
    }

    /// Asks for the bytes of a row a few rows on, where rows lie one behind the other.
    #[inline(always)]
    pub(crate) fn prefetch_ahead(&self, row: usize) {
        if matches!(self.rows, Rows::Each) {
            View::prefetch_ahead(self.views, row, self.heap);
        }
    }

    /// The text; the empty text where bytes are not UTF-8, which VARCHAR rules out.
    #[inline]
    pub(crate) fn text(&self, row: usize) -> &'a str {
        std::str::from_utf8(self.get(row)).unwrap_or_default()
    }
}

/// How many rows to compute: one if all arguments are constant.
pub(crate) fn computed_rows(args: &[&Vector], len: usize) -> usize {
    if !args.is_empty() && args.iter().all(|a| a.is_constant()) { 1 } else { len }
}

/// A VARCHAR of what `write` appends for each row that is not NULL.
pub(crate) fn write_text(
    args: &[&Vector],
    len: usize,
    out: &mut Vector,
    write: impl FnMut(usize, &mut Vec<u8>) -> Result<()>,
) -> Result<()> {
    write_bytes(LogicalType::Varchar, args, len, out, write)
}

/// The same where texts are short, however long the arguments are.
pub(crate) fn write_short_text(
    args: &[&Vector],
    len: usize,
    out: &mut Vector,
    mut write: impl FnMut(usize, &mut Vec<u8>) -> Result<()>,
) -> Result<()> {
    if null_argument(args, &LogicalType::Varchar, len, out) {
        return Ok(());
    }
    let rows = computed_rows(args, len);
    let validity = joint_validity(args, rows);
    let write = |row, text: &mut Vec<u8>| write(row, text).map(|()| true);
    write_where(LogicalType::Varchar, &LargeRows::none(), rows, validity.as_ref(), out, write)?;
    finish(args, rows, len, out)
}

/// A BLOB of what `write` appends for each row that is not NULL.
pub(crate) fn write_blob(
    args: &[&Vector],
    len: usize,
    out: &mut Vector,
    write: impl FnMut(usize, &mut Vec<u8>) -> Result<()>,
) -> Result<()> {
    write_bytes(LogicalType::Blob, args, len, out, write)
}

/// Bytes of type `ty`, which is carried as views, that `write` appends for each row that is not NULL.
pub(crate) fn write_bytes(
    ty: LogicalType,
    args: &[&Vector],
    len: usize,
    out: &mut Vector,
    mut write: impl FnMut(usize, &mut Vec<u8>) -> Result<()>,
) -> Result<()> {
    if null_argument(args, &ty, len, out) {
        return Ok(());
    }
    let rows = computed_rows(args, len);
    let validity = joint_validity(args, rows);
    let write = |row, text: &mut Vec<u8>| write(row, text).map(|()| true);
    write_where(ty, &LargeRows::of(args), rows, validity.as_ref(), out, write)?;
    finish(args, rows, len, out)
}

/// Like [`write_text`], for functions that decide themselves which rows are NULL: those where `write` returns false.
pub(crate) fn write_text_or_null(
    args: &[&Vector],
    len: usize,
    out: &mut Vector,
    write: impl FnMut(usize, &mut Vec<u8>) -> Result<bool>,
) -> Result<()> {
    write_bytes_or_null(LogicalType::Varchar, args, len, out, write)
}

/// Like [`write_text_or_null`], for any type that is carried as views.
pub(crate) fn write_bytes_or_null(
    ty: LogicalType,
    args: &[&Vector],
    len: usize,
    out: &mut Vector,
    write: impl FnMut(usize, &mut Vec<u8>) -> Result<bool>,
) -> Result<()> {
    let rows = computed_rows(args, len);
    write_where(ty, &LargeRows::of(args), rows, None, out, write)?;
    if rows != len {
        let one = std::mem::replace(out, Vector::empty(LogicalType::Varchar));
        return inlay_kernels::apply::make_constant(&one, len, out);
    }
    Ok(())
}

/// How long the texts of a row are together, where some may be long.
struct LargeRows<'a>(Vec<TextColumn<'a>>);

impl<'a> LargeRows<'a> {
    fn of(args: &[&'a Vector]) -> Self {
        const LARGE: usize = 1 << 16;
        let is_large = |arg: &&&Vector| {
            let (source, _) = Rows::of(arg);
            source.ty().is_view() && source.heap().buffers().iter().map(Buffer::size).sum::<usize>() > LARGE
        };
        Self(args.iter().filter(is_large).map(|arg| TextColumn::of(arg)).collect())
    }

    fn none() -> Self {
        Self(Vec::new())
    }

    #[inline]
    fn get(&self, row: usize) -> usize {
        self.0.iter().map(|column| column.view(row).len()).sum()
    }
}

/// What a row needed is given back before the next if its texts have so many bytes.
const LARGE: usize = 1 << 18;

fn write_where(
    ty: LogicalType,
    sizes: &LargeRows<'_>,
    rows: usize,
    validity: Option<&Bitmap>,
    out: &mut Vector,
    mut write: impl FnMut(usize, &mut Vec<u8>) -> Result<bool>,
) -> Result<()> {
    let mut heap = HeapBuilder::new();
    let mut text = Vec::new();
    let mut nulls: Option<Bitmap> = None;
    let mut meter = Meter::new();
    let mark = limits::needed();
    out.reset_flat(&ty, rows);
    for (row, target) in out.values_mut::<View>().iter_mut().enumerate() {
        *target = View::EMPTY;
        if validity.is_some_and(|v| !v.get(row)) {
            continue;
        }
        text.clear();
        // What is written is mostly as long as what is read, and moves while it grows.
        let size = sizes.get(row).saturating_mul(2);
        limits::need(size)?;
        let is_written = write(row, &mut text)?;
        let is_large = size.max(text.len()) >= LARGE;
        // What is as large as it has to be is the result itself.
        if is_large && text.capacity() - text.len() <= text.len() / 8 {
            limits::give_back(mark);
        }
        if is_written {
            meter.add(text.len())?;
            *target = heap.push_from(&mut text);
        } else {
            nulls.get_or_insert_with(|| Bitmap::filled(rows, true)).set(row, false);
        }
        if is_large {
            limits::give_back(mark);
        }
    }
    out.set_heap(heap.finish());
    out.set_validity(nulls);
    out.hold(meter.finish());
    Ok(())
}

/// A text of each text of the first argument, once per distinct value.
pub(crate) fn rewrite(
    args: &[&Vector],
    len: usize,
    out: &mut Vector,
    write: impl Fn(&str, &mut Vec<u8>),
) -> Result<()> {
    per_distinct(args, LogicalType::Varchar, len, out, |args, len, out| {
        let source = TextColumn::of(args[0]);
        write_text(args, len, out, |row, text| {
            write(source.text(row), text);
            Ok(())
        })
    })
}

/// Like [`rewrite`], for what is as long afterwards where texts lie in their views: `short` gives the bytes of those, as a number
/// whose lowest byte is the first and whose others are zero, from the same of the source and its length; `None`: they are written.
pub(crate) fn rewrite_short(
    args: &[&Vector],
    len: usize,
    out: &mut Vector,
    short: impl Fn(u128, usize) -> Option<u128>,
    write: impl Fn(&[u8], &mut Vec<u8>),
) -> Result<()> {
    per_distinct(args, LogicalType::Varchar, len, out, |args, len, out| {
        if null_argument(args, &LogicalType::Varchar, len, out) {
            return Ok(());
        }
        let rows = computed_rows(args, len);
        let (source, mut heap, mut meter) = (TextColumn::of(args[0]), HeapBuilder::new(), Meter::new());
        out.reset_flat(&LogicalType::Varchar, rows);
        // What is NULL may have any bytes.
        let validity = joint_validity(args, rows);
        for (row, target) in out.values_mut::<View>().iter_mut().enumerate() {
            let view = source.view(row);
            *target = match view.short_word().and_then(|word| short(word, view.len())) {
                Some(word) => View::of_short_word(word, view.len()),
                None if validity.as_ref().is_some_and(|validity| !validity.get(row)) => View::EMPTY,
                None => {
                    // What is written is mostly as long as what is read, and moves while it grows.
                    limits::need(view.len().saturating_mul(2))?;
                    limits::room(view.len().saturating_mul(2))?;
                    let made = heap.push_with(|text| {
                        write(source.get(row), text);
                        Ok::<(), Error>(())
                    })?;
                    meter.add(made.len())?;
                    made
                }
            };
        }
        out.set_heap(heap.finish());
        out.hold(meter.finish());
        finish(args, rows, len, out)
    })
}

/// A VARCHAR of parts `start .. end` of the first argument's strings, sharing their heap unless all parts are short. Bounds are
/// at characters.
pub(crate) fn slice_text(
    args: &[&Vector],
    len: usize,
    out: &mut Vector,
    mut bounds: impl FnMut(usize, &[u8]) -> (usize, usize),
) -> Result<()> {
    per_distinct(args, LogicalType::Varchar, len, out, |args, len, out| {
        if null_argument(args, &LogicalType::Varchar, len, out) {
            return Ok(());
        }
        let rows = computed_rows(args, len);
        let source = TextColumn::of(args[0]);
        out.reset_flat(&LogicalType::Varchar, rows);
        let (validity, mut are_short) = (joint_validity(args, rows), true);
        for (row, target) in out.values_mut::<View>().iter_mut().enumerate() {
            *target = View::EMPTY;
            if validity.as_ref().is_some_and(|v| !v.get(row)) {
                continue;
            }
            let view = source.view(row);
            let bytes = view.bytes(source.heap);
            let (start, end) = bounds(row, bytes);
            let part = &bytes[start..end];
            *target = if part.len() <= INLINE_LIMIT {
                View::inline(part)
            } else {
                are_short = false;
                View::new(part, view.buffer(), view.offset() + start as u32)
            };
        }
        out.set_heap(if are_short { Heap::default() } else { args[0].heap().clone() });
        finish(args, rows, len, out)
    })
}

/// Runs `compute`, a function that never fails and gives NULL only for NULL, once per distinct value if the first argument is
/// a dictionary not larger than the rows and the others are constant. Text stays a dictionary.
pub(crate) fn per_distinct(
    args: &[&Vector],
    ty: LogicalType,
    len: usize,
    out: &mut Vector,
    mut compute: impl FnMut(&[&Vector], usize, &mut Vector) -> Result<()>,
) -> Result<()> {
    let [first, others @ ..] = args else { return compute(args, len, out) };
    let Some(dictionary) = first.as_dictionary().filter(|d| d.values().len() <= len) else {
        return compute(args, len, out);
    };
    if others.iter().any(|a| !a.is_constant() || a.is_constant_null()) {
        return compute(args, len, out);
    }
    let mut distinct = vec![dictionary.values()];
    distinct.extend(others);
    let mut values = Vector::empty(ty.clone());
    compute(&distinct, dictionary.values().len(), &mut values)?;
    if !values.is_flat() || values.validity().is_some() {
        values = values.flatten();
        values.set_validity(None);
    }
    let codes = first.data().clone();
    let coded = Vector::dictionary(Dictionary::new(values), codes, len, first.validity().cloned());
    *out = if ty.is_view() { coded } else { coded.flatten() };
    Ok(())
}

/// A fixed-width result of each string of the first argument.
pub(crate) fn map_text<O: Native>(
    args: &[&Vector],
    ty: LogicalType,
    len: usize,
    out: &mut Vector,
    f: impl Fn(&[u8]) -> O,
) -> Result<()> {
    per_distinct(args, ty.clone(), len, out, |args, len, out| {
        let source = TextColumn::of(args[0]);
        inlay_kernels::apply::per_row(args, &ty, len, out, |row| Ok(f(source.get(row))))
    })
}

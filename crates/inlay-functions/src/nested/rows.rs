//! Arguments and results of functions over nested values, row by row as canonical bytes.

use crate::columns::computed_rows;
use inlay_types::append::push_short;
use inlay_types::limits::{self, Meter};
use inlay_types::nested::{Parts, fixed_width, write};
use inlay_types::view::HeapBuilder;
use inlay_types::{Bitmap, Buffer, Error, Heap, LogicalType, Result, Vector, View};

/// The bytes of a value; `None` for NULL.
pub(crate) type Part<'a> = Option<&'a [u8]>;

/// The arguments of one call.
pub(crate) struct Args(Vec<Parts>);

impl Args {
    pub(crate) fn of(args: &[&Vector]) -> Self {
        Self(args.iter().map(|arg| Parts::steady(arg)).collect())
    }

    /// The bytes of an argument in a row.
    #[inline]
    pub(crate) fn get(&self, arg: usize, row: usize) -> Part<'_> {
        self.0.get(arg)?.get(row)
    }

    /// A BIGINT argument in a row.
    #[inline]
    pub(crate) fn int(&self, arg: usize, row: usize) -> Option<i64> {
        self.get(arg, row).map(int)
    }

    /// A VARCHAR argument in a row.
    pub(crate) fn text(&self, arg: usize, row: usize) -> Option<&str> {
        self.get(arg, row).map(text)
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}

/// Copies bytes into a place of as many: few of them without a call.
#[inline(always)]
pub(crate) fn copy_short(to: &mut [u8], from: &[u8]) {
    let len = from.len();
    if len > 16 || to.len() != len {
        return to.copy_from_slice(from);
    }
    // Two copies of a known size, which may overlap.
    if let (Some(first), Some(last)) = (from.first_chunk::<8>(), from.last_chunk::<8>()) {
        to[..8].copy_from_slice(first);
        to[len - 8..].copy_from_slice(last);
    } else if let (Some(first), Some(last)) = (from.first_chunk::<4>(), from.last_chunk::<4>()) {
        to[..4].copy_from_slice(first);
        to[len - 4..].copy_from_slice(last);
    } else {
        to.iter_mut().zip(from).for_each(|(to, from)| *to = *from);
    }
}

/// The BIGINT in these bytes.
#[inline]
pub(crate) fn int(bytes: &[u8]) -> i64 {
    bytes.first_chunk().map_or(0, |raw| i64::from_le_bytes(*raw))
}

/// The DOUBLE in these bytes.
#[inline]
pub(crate) fn double(bytes: &[u8]) -> f64 {
    bytes.first_chunk().map_or(0.0, |raw| f64::from_le_bytes(*raw))
}

/// The VARCHAR in these bytes.
pub(crate) fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap_or_default()
}

/// A vector being made, row by row.
pub(crate) struct Output {
    ty: LogicalType,
    width: Option<usize>,
    raw: Vec<u8>,
    views: Vec<View>,
    heap: HeapBuilder,
    nulls: Vec<u32>,
    len: usize,
    meter: Meter,
}

impl Output {
    pub(crate) fn new(ty: &LogicalType) -> Self {
        Self::of_rows(ty, 0)
    }

    /// One of so many rows.
    pub(crate) fn of_rows(ty: &LogicalType, rows: usize) -> Self {
        let width = fixed_width(ty);
        Self {
            ty: ty.clone(),
            width,
            raw: Vec::with_capacity(rows * width.unwrap_or(0)),
            views: Vec::with_capacity(if width.is_none() { rows } else { 0 }),
            heap: HeapBuilder::new(),
            nulls: Vec::new(),
            len: 0,
            meter: Meter::new(),
        }
    }

    /// Appends a value of the result's type.
    #[inline]
    pub(crate) fn push(&mut self, part: Part<'_>) -> Result<()> {
        let bytes = part.unwrap_or_default();
        self.meter.add(bytes.len() + 8)?;
        match self.width {
            // Copies of a known size need no call.
            Some(8) if bytes.len() == 8 => self.raw.extend_from_slice(&bytes[..8]),
            Some(1) if bytes.len() == 1 => self.raw.push(bytes[0]),
            Some(width) => {
                let size = bytes.len().min(width);
                self.raw.extend_from_slice(&bytes[..size]);
                self.raw.resize(self.raw.len() + width - size, 0);
            }
            None => self.views.push(self.heap.push(bytes)),
        }
        if part.is_none() {
            self.nulls.push(self.len as u32);
        }
        self.len += 1;
        Ok(())
    }

    /// Appends what `write` appends to the bytes of other values.
    #[inline]
    pub(crate) fn push_with(&mut self, write: impl FnOnce(&mut Vec<u8>) -> Result<()>) -> Result<()> {
        if self.width.is_some() {
            let mut value = Vec::new();
            write(&mut value)?;
            return self.push(Some(&value));
        }
        let view = self.heap.push_with(write)?;
        self.views.push(view);
        self.len += 1;
        self.meter.add(view.len() + 8)
    }

    /// Appends what `write` appends to the bytes of other values, unless it says that it could not; whether it did. The result's type
    /// has no fixed width.
    #[inline]
    pub(crate) fn try_push_with(&mut self, write: impl FnOnce(&mut Vec<u8>) -> Result<bool>) -> Result<bool> {
        let done = |out: &mut Vec<u8>| match write(out) {
            Ok(true) => Ok(()),
            Ok(false) => Err(None),
            Err(error) => Err(Some(error)),
        };
        let view = match self.heap.push_with(done) {
            Ok(view) => view,
            Err(None) => return Ok(false),
            Err(Some(error)) => return Err(error),
        };
        self.views.push(view);
        self.len += 1;
        self.meter.add(view.len() + 8)?;
        Ok(true)
    }

    /// Appends a list of texts, or of other values without fixed width, that `write` adds one by one: as many as there are, and
    /// asked for while they grow.
    pub(crate) fn push_texts(&mut self, write: impl FnOnce(&mut Texts) -> Result<()>) -> Result<()> {
        let mut texts = Texts::default();
        write(&mut texts)?;
        self.push_with(|out| texts.append_to(out))
    }

    /// Appends a list of these elements of type `element`.
    pub(crate) fn push_list(&mut self, element: &LogicalType, parts: &[Part<'_>]) -> Result<()> {
        self.push_with(|out| write::push_sequence(element, parts.len(), |index| parts[index], out))
    }

    #[inline]
    pub(crate) fn push_bool(&mut self, value: bool) -> Result<()> {
        self.push(Some(&[u8::from(value)]))
    }

    #[inline]
    pub(crate) fn push_int(&mut self, value: i64) -> Result<()> {
        self.push(Some(&value.to_le_bytes()))
    }

    #[inline]
    pub(crate) fn push_double(&mut self, value: f64) -> Result<()> {
        self.push(Some(&value.to_le_bytes()))
    }

    pub(crate) fn finish(mut self) -> Vector {
        let held = std::mem::take(&mut self.meter).finish();
        let validity = (!self.nulls.is_empty()).then(|| {
            let mut validity = Bitmap::filled(self.len, true);
            self.nulls.iter().for_each(|&row| validity.set(row as usize, false));
            validity
        });
        let (data, heap) = match self.width {
            Some(_) => (Buffer::copy_of(&self.raw), Heap::default()),
            None => (Buffer::from_vec(self.views), self.heap.finish()),
        };
        Vector::flat(self.ty, self.len, data, validity, heap).holding(held)
    }
}

/// A list of values without fixed width while it grows.
#[derive(Default)]
pub(crate) struct Texts {
    ends: Vec<u32>,
    bytes: Vec<u8>,
    meter: Meter,
}

impl Texts {
    /// Appends a value.
    #[inline]
    pub(crate) fn push(&mut self, part: &[u8]) -> Result<()> {
        // Vectors that are full are copied into ones of twice the size.
        self.meter.add(2 * (part.len() + size_of::<u32>()))?;
        push_short(&mut self.bytes, part);
        let end = u32::try_from(self.bytes.len());
        self.ends.push(end.map_err(|_| Error::out_of_range("a nested value has more than 4 GiB"))?);
        Ok(())
    }

    /// The canonical bytes of the list.
    fn append_to(self, out: &mut Vec<u8>) -> Result<()> {
        let count = i32::try_from(self.ends.len());
        let count = count.map_err(|_| Error::out_of_range("a list has more than 2,147,483,647 elements"))?;
        limits::grow_at_once(out, size_of::<u32>() * (1 + self.ends.len()) + self.bytes.len())?;
        out.extend_from_slice(&count.to_le_bytes());
        self.ends.iter().for_each(|end| out.extend_from_slice(&end.to_le_bytes()));
        out.extend_from_slice(&self.bytes);
        Ok(())
    }
}

/// Makes `out` of what `f` appends for each row; once if all arguments are constant.
pub(crate) fn each(
    args: &[&Vector],
    ty: &LogicalType,
    len: usize,
    out: &mut Vector,
    mut f: impl FnMut(&Args, usize, &mut Output) -> Result<()>,
) -> Result<()> {
    let rows = computed_rows(args, len);
    let parts = Args::of(args);
    let mut output = Output::of_rows(ty, rows);
    for row in 0..rows {
        f(&parts, row, &mut output)?;
    }
    finish(output.finish(), rows, len, out)
}

/// The same, with NULL where an argument is.
pub(crate) fn each_known(
    args: &[&Vector],
    ty: &LogicalType,
    len: usize,
    out: &mut Vector,
    mut f: impl FnMut(&Args, usize, &mut Output) -> Result<()>,
) -> Result<()> {
    each(args, ty, len, out, |parts, row, output| {
        if !parts.0.iter().all(|part| part.is_valid(row)) {
            return output.push(None);
        }
        f(parts, row, output)
    })
}

/// `made` has `rows` rows: all, or the one that stands for all.
pub(crate) fn finish(made: Vector, rows: usize, len: usize, out: &mut Vector) -> Result<()> {
    if rows == len {
        *out = made;
        return Ok(());
    }
    inlay_kernels::apply::make_constant(&made, len, out)
}

/// The arguments as far as they are computed: one row if all are constant.
pub(crate) fn computed(args: &[&Vector], len: usize) -> (usize, Vec<Vector>) {
    let rows = computed_rows(args, len);
    (rows, args.iter().map(|arg| if rows == len { (*arg).clone() } else { arg.slice(0, rows) }).collect())
}

#[cfg(test)]
mod tests {
    use super::copy_short;

    #[test]
    fn few_bytes_are_copied_as_many_are() {
        for len in 0..40u8 {
            let (from, mut to) = ((0..len).collect::<Vec<u8>>(), vec![0xFF; usize::from(len)]);
            copy_short(&mut to, &from);
            assert_eq!(to, from);
        }
    }
}

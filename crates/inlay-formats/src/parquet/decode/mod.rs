//! Columns of a row group as vectors, for the types and encodings that most data is written with.
//!
//! The parquet crate finds pages and unpacks them; what is in a page is decoded here, straight into vectors: a dictionary's
//! values are converted once, text is not copied, decimals become integers eight bytes at a time. Rows that no one wants
//! are passed over, whole pages without being unpacked.
//!
//! Columns without repetition whose chunks use other encodings, and nested ones, go through the crate's arrow reader
//! (see [`Layout::of`]).
//!
//! Invariant: nothing that a file says is believed before it was compared with the bytes that are there.

mod delta;
mod number;
mod page;
mod runs;

use super::pages::{Chunk, Refusal};
use crate::ranges::RangeSource;
use inlay_types::datetime::{MICROS_PER_DAY, MICROS_PER_SECOND, is_date, is_finite_date, is_moment};
use inlay_types::{Bitmap, Buffer, Dictionary, Error, Heap, LogicalType, Native, PhysicalType, Vector, View};
use number::{BigEndian, Float32, Float64, Int32, Int64, Number, Unsigned32, Unsigned64};
use page::{DataPage, check_text, views_of};
use parquet::basic::{Encoding, Type};
use parquet::column::page::{Page, PageReader};
use parquet::errors::ParquetError;
use parquet::file::metadata::{ColumnChunkMetaData, RowGroupMetaData};
use parquet::file::serialized_reader::SerializedPageReader;
use std::sync::Arc;

/// What is wrong with the bytes of a column.
#[derive(Debug)]
pub(super) struct Damage(pub &'static str);

impl From<Damage> for String {
    fn from(damage: Damage) -> Self {
        format!("the file is damaged: it has {}", damage.0)
    }
}

const ENDS_EARLY: Damage = Damage("fewer rows than its footer says");

/// Largest dictionary whose codes are handed on; what is done once per value pays only where values are few.
const DICTIONARY_MAX: usize = 4096;

/// How the values of a column lie in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    /// A bit each.
    Bits,
    /// Signed integers of 32 bits that become integers of this kind.
    Int32(PhysicalType),
    /// Signed integers of 64 bits.
    Int64(PhysicalType),
    /// Integers of 32 bits whose highest bit is no sign.
    Unsigned32(PhysicalType),
    /// Integers of 64 bits whose highest bit is no sign.
    Unsigned64,
    /// IEEE 754 binary32.
    Float32,
    /// IEEE 754 binary64.
    Float64,
    /// Signed integers of so many bytes, the highest first: decimals.
    BigEndian(usize, PhysicalType),
    /// UTF-8.
    Text,
    /// Any bytes.
    Bytes,
}

impl Layout {
    /// The layout of a column of type `ty` that is decoded here; `None` for those that are not.
    pub fn of(column: &ColumnChunkMetaData, ty: &LogicalType, is_as_stored: bool) -> Option<Self> {
        use PhysicalType as P;
        let descriptor = column.column_descr();
        if descriptor.max_rep_level() > 0
            || descriptor.max_def_level() > 1
            || !column.encodings().all(|encoding| is_known(encoding, descriptor.physical_type()))
        {
            return None;
        }
        let carrier = ty.physical();
        let is_decimal = matches!(ty, LogicalType::Decimal { .. });
        Some(match descriptor.physical_type() {
            Type::BOOLEAN if *ty == LogicalType::Boolean => Self::Bits,
            Type::INT32 => match (ty, carrier) {
                (LogicalType::TinyInt | LogicalType::SmallInt, _)
                | (LogicalType::Integer | LogicalType::Date, _) => Self::Int32(carrier),
                (LogicalType::UTinyInt | LogicalType::USmallInt | LogicalType::UInteger, _) => {
                    Self::Unsigned32(carrier)
                }
                (_, P::I16 | P::I32 | P::I64) if is_decimal => Self::Int32(carrier),
                _ => return None,
            },
            Type::INT64 => match (ty, carrier) {
                (LogicalType::BigInt, _) => Self::Int64(carrier),
                (LogicalType::UBigInt, _) => Self::Unsigned64,
                (_, P::I16 | P::I32 | P::I64 | P::I128) if is_decimal => Self::Int64(carrier),
                // Times in units that our type does not have are converted by the arrow reader.
                (
                    LogicalType::Time
                    | LogicalType::Timestamp
                    | LogicalType::TimestampTz
                    | LogicalType::TimestampMs
                    | LogicalType::TimestampNs,
                    _,
                ) if is_as_stored => Self::Int64(carrier),
                _ => return None,
            },
            Type::FLOAT if *ty == LogicalType::Real => Self::Float32,
            Type::DOUBLE if *ty == LogicalType::Double => Self::Float64,
            Type::BYTE_ARRAY => match ty {
                LogicalType::Varchar | LogicalType::Json => Self::Text,
                LogicalType::Blob => Self::Bytes,
                _ => return None,
            },
            Type::FIXED_LEN_BYTE_ARRAY if is_decimal => {
                let width = usize::try_from(descriptor.type_length()).ok()?;
                (1..=16).contains(&width).then_some(Self::BigEndian(width, carrier))?
            }
            _ => return None,
        })
    }

    /// Bytes of a value in a page; `None` where they are not of one size.
    fn width(self) -> Option<usize> {
        match self {
            Self::Int32(_) | Self::Unsigned32(_) | Self::Float32 => Some(4),
            Self::Int64(_) | Self::Unsigned64 | Self::Float64 => Some(8),
            Self::BigEndian(width, _) => Some(width),
            Self::Bits | Self::Text | Self::Bytes => None,
        }
    }
}

fn is_known(encoding: Encoding, ty: Type) -> bool {
    match encoding {
        Encoding::PLAIN | Encoding::PLAIN_DICTIONARY | Encoding::RLE_DICTIONARY | Encoding::RLE => true,
        Encoding::DELTA_BINARY_PACKED => matches!(ty, Type::INT32 | Type::INT64),
        _ => false,
    }
}

/// Whether all values are ones of the type: of dates and times some numbers are none, as the arrow reader finds as well.
fn is_within(vector: &Vector) -> bool {
    let moments = |units: i64| all(vector, move |at: i64| is_moment(at, units));
    match vector.ty() {
        LogicalType::Date => all(vector, |days: i32| is_date(days) || !is_finite_date(days)),
        LogicalType::Time => all(vector, |time: i64| (0..=MICROS_PER_DAY).contains(&time)),
        LogicalType::TimestampMs => moments(1000),
        LogicalType::Timestamp | LogicalType::TimestampTz => moments(MICROS_PER_SECOND),
        LogicalType::TimestampNs => moments(1_000_000_000),
        ty => *ty != LogicalType::TimestampS || moments(1),
    }
}

fn all<T: Native>(vector: &Vector, is_valid: impl Fn(T) -> bool) -> bool {
    if !vector.is_flat() {
        return all(&vector.flatten(), is_valid);
    }
    let values = vector.values::<T>();
    // Without a branch, as a bad one is rare; below a NULL is anything.
    values.iter().fold(true, |all, &value| all & is_valid(value))
        || values.iter().enumerate().all(|(row, &value)| vector.is_null(row) || is_valid(value))
}

/// The distinct values of a column, by code.
#[derive(Debug)]
struct Words {
    /// Converted values, or views into `heap`.
    values: Buffer,
    count: usize,
    heap: Option<Buffer>,
    shared: Option<Arc<Dictionary>>,
}

/// A column of a row group that is read from its first row to its last.
pub(super) struct Column {
    pages: SerializedPageReader<Chunk>,
    refusal: Refusal,
    layout: Layout,
    ty: LogicalType,
    is_optional: bool,
    words: Option<Words>,
    page: Option<DataPage>,
    /// Rows to be passed over before the next one that is read.
    skip: usize,
    codes: Vec<u32>,
}

type Read<T> = Result<T, String>;

impl Column {
    /// The column `leaf` of `group`, whose values become `ty`. `is_whole` says whether all of it will be wanted.
    pub fn open(
        source: &Arc<dyn RangeSource>,
        group: &RowGroupMetaData,
        leaf: usize,
        layout: Layout,
        ty: LogicalType,
        is_whole: bool,
    ) -> Read<Self> {
        let chunk = group.column(leaf);
        let rows = usize::try_from(group.num_rows()).unwrap_or(0);
        let bytes = if is_whole { Chunk::column(source, chunk) } else { Chunk::file(source) };
        let refusal = bytes.refusal();
        let pages =
            SerializedPageReader::new(Arc::new(bytes), chunk, rows, None).map_err(|e| e.to_string())?;
        let is_optional = chunk.column_descr().max_def_level() > 0;
        let (words, page, codes) = (None, None, Vec::new());
        Ok(Self { pages, refusal, layout, ty, is_optional, words, page, skip: 0, codes })
    }

    /// What memory was refused with, or else the other error.
    pub fn refused_or(&self, other: impl FnOnce() -> Error) -> Error {
        self.refusal.or(other)
    }

    /// Passes over `rows` rows; they cost nothing until a row behind them is read.
    pub fn skip(&mut self, rows: usize) {
        self.skip += rows;
    }

    /// The next `len` rows.
    pub fn read(&mut self, len: usize) -> Read<Vector> {
        let vector = self.values(len)?;
        if is_within(&vector) {
            return Ok(vector);
        }
        Err(format!("it has a value that {} cannot hold", self.ty))
    }

    fn values(&mut self, len: usize) -> Read<Vector> {
        use PhysicalType as P;
        self.pass_over()?;
        match self.layout {
            Layout::Bits => self.bits(len),
            Layout::Int32(P::I8) => self.numbers(Int32::<i8>::new(), len),
            Layout::Int32(P::I16) => self.numbers(Int32::<i16>::new(), len),
            Layout::Int32(P::I64) => self.numbers(Int32::<i64>::new(), len),
            Layout::Int32(_) => self.numbers(Int32::<i32>::new(), len),
            Layout::Int64(P::I16) => self.numbers(Int64::<i16>::new(), len),
            Layout::Int64(P::I32) => self.numbers(Int64::<i32>::new(), len),
            Layout::Int64(P::I128) => self.numbers(Int64::<i128>::new(), len),
            Layout::Int64(_) => self.numbers(Int64::<i64>::new(), len),
            Layout::Unsigned32(P::U8) => self.numbers(Unsigned32::<u8>::new(), len),
            Layout::Unsigned32(P::U16) => self.numbers(Unsigned32::<u16>::new(), len),
            Layout::Unsigned32(_) => self.numbers(Unsigned32::<u32>::new(), len),
            Layout::Unsigned64 => self.numbers(Unsigned64, len),
            Layout::Float32 => self.numbers(Float32, len),
            Layout::Float64 => self.numbers(Float64, len),
            Layout::BigEndian(width, P::I16) => self.numbers(BigEndian::<i16>::new(width), len),
            Layout::BigEndian(width, P::I32) => self.numbers(BigEndian::<i32>::new(width), len),
            Layout::BigEndian(width, P::I128) => self.numbers(BigEndian::<i128>::new(width), len),
            Layout::BigEndian(width, _) => self.numbers(BigEndian::<i64>::new(width), len),
            Layout::Text | Layout::Bytes => self.texts(len),
        }
    }

    fn pass_over(&mut self) -> Read<()> {
        while self.skip > 0 {
            if let Some(page) = self.page.as_mut().filter(|page| page.left > 0) {
                let count = self.skip.min(page.left);
                page.skip(count, self.layout.width())?;
                self.skip -= count;
                continue;
            }
            let next = self.pages.peek_next_page();
            let next = next.map_err(|e| self.broken_page(&e))?.ok_or(ENDS_EARLY)?;
            let rows = next.num_rows.or(next.num_levels).unwrap_or(0);
            if next.is_dict || rows <= self.skip {
                self.pages.skip_next_page().map_err(|e| e.to_string())?;
                self.skip -= rows;
            } else {
                self.next_page()?;
            }
        }
        Ok(())
    }

    /// What is said of a page that is none. A footer in the clear does not show that a column is encrypted.
    fn broken_page(&self, error: &ParquetError) -> String {
        match self.page.is_none() && self.words.is_none() {
            true => format!("it is damaged, or encrypted, which is not read: {error}"),
            false => error.to_string(),
        }
    }

    /// The page that the next row is in.
    fn current(&mut self) -> Read<(&mut DataPage, Option<&Words>)> {
        while self.page.as_ref().is_none_or(|page| page.left == 0) {
            self.next_page()?;
        }
        let page = self.page.as_mut().ok_or(ENDS_EARLY)?;
        Ok((page, self.words.as_ref()))
    }

    fn next_page(&mut self) -> Read<()> {
        loop {
            let page = self.pages.get_next_page();
            let page = page.map_err(|e| self.broken_page(&e))?.ok_or(ENDS_EARLY)?;
            if page.is_dictionary_page() {
                // Views of a vector that spans pages know one dictionary, the first of their buffers.
                if self.words.is_some() || self.page.is_some() {
                    return Err(Damage("a dictionary among its pages").into());
                }
                self.words = Some(self.words_of(page)?);
                continue;
            }
            if self.words.is_none()
                && self.page.is_none()
                && let Some(passed) = self.pages.take_deferred_dictionary().map_err(|e| e.to_string())?
            {
                self.words = Some(self.words_of(passed)?);
            }
            self.page = Some(DataPage::new(page, self.is_optional, self.layout)?);
            return Ok(());
        }
    }

    /// The values of a dictionary page.
    fn words_of(&self, page: Page) -> Read<Words> {
        use PhysicalType as P;
        let Page::DictionaryPage { buf, num_values, encoding, .. } = page else {
            return Err(Damage("a page that is no dictionary").into());
        };
        if !matches!(encoding, Encoding::PLAIN | Encoding::PLAIN_DICTIONARY) {
            return Err(format!("its dictionary is written as {encoding}, which is not read"));
        }
        let count = num_values as usize;
        let bytes = Buffer::from_vec(Vec::from(buf));
        match self.layout {
            Layout::Bits => Err(Damage("a dictionary of booleans").into()),
            Layout::Int32(P::I8) => words(Int32::<i8>::new(), &bytes, count),
            Layout::Int32(P::I16) => words(Int32::<i16>::new(), &bytes, count),
            Layout::Int32(P::I64) => words(Int32::<i64>::new(), &bytes, count),
            Layout::Int32(_) => words(Int32::<i32>::new(), &bytes, count),
            Layout::Int64(P::I16) => words(Int64::<i16>::new(), &bytes, count),
            Layout::Int64(P::I32) => words(Int64::<i32>::new(), &bytes, count),
            Layout::Int64(P::I128) => words(Int64::<i128>::new(), &bytes, count),
            Layout::Int64(_) => words(Int64::<i64>::new(), &bytes, count),
            Layout::Unsigned32(P::U8) => words(Unsigned32::<u8>::new(), &bytes, count),
            Layout::Unsigned32(P::U16) => words(Unsigned32::<u16>::new(), &bytes, count),
            Layout::Unsigned32(_) => words(Unsigned32::<u32>::new(), &bytes, count),
            Layout::Unsigned64 => words(Unsigned64, &bytes, count),
            Layout::Float32 => words(Float32, &bytes, count),
            Layout::Float64 => words(Float64, &bytes, count),
            Layout::BigEndian(width, P::I16) => words(BigEndian::<i16>::new(width), &bytes, count),
            Layout::BigEndian(width, P::I32) => words(BigEndian::<i32>::new(width), &bytes, count),
            Layout::BigEndian(width, P::I128) => words(BigEndian::<i128>::new(width), &bytes, count),
            Layout::BigEndian(width, _) => words(BigEndian::<i64>::new(width), &bytes, count),
            Layout::Text | Layout::Bytes => self.text_words(bytes, count),
        }
    }

    fn text_words(&self, bytes: Buffer, count: usize) -> Read<Words> {
        // Each has a length of four bytes.
        if count > bytes.size() / 4 {
            return Err(Damage("a dictionary that is cut").into());
        }
        let mut values = Buffer::zeroed(count * size_of::<View>());
        let mut at = 0;
        views_of(bytes.bytes(), &mut at, 0, values.make_mut())?;
        if self.layout == Layout::Text {
            check_text(bytes.bytes(), 0, at)?;
        }
        let shared = (1..=DICTIONARY_MAX).contains(&count).then(|| {
            let heap = Heap::new(vec![bytes.clone()]);
            Dictionary::new(Vector::flat(self.ty.clone(), count, values.clone(), None, heap))
        });
        Ok(Words { values, count, heap: Some(bytes), shared })
    }

    fn numbers<N: Number>(&mut self, number: N, len: usize) -> Read<Vector> {
        let mut data = Buffer::zeroed(len * size_of::<N::Out>());
        let out = data.make_mut::<N::Out>();
        let (mut row, mut validity) = (0, Validity::new(len));
        while row < len {
            let mut codes = std::mem::take(&mut self.codes);
            let (page, words) = self.current()?;
            let count = page.left.min(len - row);
            let present = page.levels(count, row, &mut validity)?;
            page.numbers(number, words, &mut codes, &mut out[row..row + present])?;
            validity.spread(&mut out[row..row + count], row, present);
            row += count;
            self.codes = codes;
        }
        Ok(Vector::flat(self.ty.clone(), len, data, validity.finish(), Heap::default()))
    }

    fn bits(&mut self, len: usize) -> Read<Vector> {
        let mut data = Buffer::zeroed(len);
        let out = data.make_mut::<u8>();
        let (mut row, mut validity) = (0, Validity::new(len));
        while row < len {
            let mut codes = std::mem::take(&mut self.codes);
            let (page, _) = self.current()?;
            let count = page.left.min(len - row);
            let present = page.levels(count, row, &mut validity)?;
            page.bits(&mut codes, &mut out[row..row + present])?;
            validity.spread(&mut out[row..row + count], row, present);
            row += count;
            self.codes = codes;
        }
        Ok(Vector::flat(self.ty.clone(), len, data, validity.finish(), Heap::default()))
    }

    /// Texts: codes where a small dictionary holds all of them, views otherwise.
    fn texts(&mut self, len: usize) -> Read<Vector> {
        let mut validity = Validity::new(len);
        let mut row = 0;
        let mut codes = Buffer::zeroed(len * 4);
        let out = codes.make_mut::<u32>();
        while row < len {
            let (page, words) = self.current()?;
            if !page.has_codes() || words.is_none_or(|words| words.shared.is_none()) {
                break;
            }
            let count = page.left.min(len - row);
            let present = page.levels(count, row, &mut validity)?;
            let known = words.map_or(0, |words| words.count);
            page.codes(known, &mut out[row..row + present])?;
            validity.spread(&mut out[row..row + count], row, present);
            row += count;
        }
        let words = self.words.as_ref();
        if row == len
            && let Some(shared) = words.and_then(|words| words.shared.as_ref())
        {
            return Ok(Vector::dictionary(Arc::clone(shared), codes, len, validity.finish()));
        }
        let mut data = Buffer::zeroed(len * size_of::<View>());
        let views = data.make_mut::<View>();
        if let Some(words) = words {
            let known = words.values.typed::<View>();
            for (view, &code) in views[..row].iter_mut().zip(codes.typed::<u32>()) {
                *view = known.get(code as usize).copied().unwrap_or(View::EMPTY);
            }
        }
        self.views(views, row, &mut validity)
            .map(|heap| Vector::flat(self.ty.clone(), len, data, validity.finish(), heap))
    }

    /// Reads texts into `views` from `row` on; returns what they point into.
    fn views(&mut self, views: &mut [View], mut row: usize, validity: &mut Validity) -> Read<Heap> {
        let is_text = self.layout == Layout::Text;
        // The first buffer is the dictionary's, if there is one: its views know it as that.
        let mut heap: Vec<Buffer> = Vec::new();
        while row < views.len() {
            let mut codes = std::mem::take(&mut self.codes);
            let (page, words) = self.current()?;
            if heap.is_empty() {
                heap.push(words.and_then(|words| words.heap.clone()).unwrap_or_default());
            }
            let count = page.left.min(views.len() - row);
            let present = page.levels(count, row, validity)?;
            let target = &mut views[row..row + present];
            if page.has_codes() {
                let words = words.ok_or(Damage("codes without a dictionary"))?;
                codes.resize(present, 0);
                page.codes(words.count, &mut codes)?;
                let known = words.values.typed::<View>();
                for (view, &code) in target.iter_mut().zip(&codes) {
                    *view = known.get(code as usize).copied().unwrap_or(View::EMPTY);
                }
            } else {
                page.texts(heap.len() as u32, is_text, target)?;
                heap.push(page.bytes());
            }
            validity.spread(&mut views[row..row + count], row, present);
            row += count;
            self.codes = codes;
        }
        if heap.is_empty() {
            heap.extend(self.words.as_ref().and_then(|words| words.heap.clone()));
        }
        Ok(Heap::new(heap))
    }
}

/// The converted values of a dictionary of numbers.
fn words<N: Number>(number: N, bytes: &Buffer, count: usize) -> Read<Words> {
    let size = count.checked_mul(number.width()).filter(|&size| size <= bytes.size());
    let size = size.ok_or(Damage("a dictionary that is cut"))?;
    let mut values = Buffer::zeroed(count * size_of::<N::Out>());
    number.decode(&bytes.bytes()[..size], values.make_mut())?;
    Ok(Words { values, count, heap: None, shared: None })
}

/// Which rows of a vector hold a value.
struct Validity {
    len: usize,
    /// All set until a NULL is seen.
    words: Option<Vec<u64>>,
}

impl Validity {
    fn new(len: usize) -> Self {
        Self { len, words: None }
    }

    /// Notes NULLs in rows `from .. to`.
    fn clear(&mut self, from: usize, to: usize) {
        let words = self.words.get_or_insert_with(|| vec![u64::MAX; self.len.div_ceil(64)]);
        for row in from..to {
            words[row / 64] &= !(1 << (row % 64));
        }
    }

    /// Moves the first `present` of `values`, which begin at row `first`, to the rows that hold a value.
    fn spread<T: Copy>(&self, values: &mut [T], first: usize, present: usize) {
        let Some(words) = &self.words else { return };
        let mut next = present;
        for index in (0..values.len()).rev() {
            if next == index + 1 {
                return;
            }
            let row = first + index;
            if words[row / 64] >> (row % 64) & 1 == 1 {
                next -= 1;
                values[index] = values[next];
            }
        }
    }

    fn finish(self) -> Option<Bitmap> {
        self.words.map(|words| Bitmap::from_words(words, self.len))
    }
}

//! Columns of vectors from the fields of indexed records: one loop per column, on one type.

use super::dialect::Dialect;
use super::index::Records;
use super::options::{CsvOptions, QuotedNulls};
use super::parse;
use inlay_kernels::cast::{cast, cast_in_zone, cast_value_in_zone};
use inlay_kernels::cast_value;
use inlay_kernels::zone::Zone;
use inlay_types::view::INLINE_LIMIT;
use inlay_types::{Bitmap, Buffer, Heap, Interval, LogicalType, Native, Value, Vector, VectorBuilder, View};
use std::sync::Arc;

/// How the fields of one column become values.
#[derive(Clone, Debug)]
pub(super) struct ColumnReader {
    pub ty: LogicalType,
    /// Position of the field in a record.
    pub field: usize,
    /// How dates or timestamps are written, if not in ISO's form.
    pub format: Option<String>,
    /// No text is NULL.
    pub is_not_null: bool,
}

/// What all columns of a file share.
#[derive(Clone, Debug)]
pub(super) struct ReadRules {
    pub dialect: Dialect,
    pub delimiter_size: u32,
    pub null_strings: Vec<Vec<u8>>,
    /// The empty text, and no other, is NULL.
    pub only_empty_is_null: bool,
    /// What they are in quotes.
    pub quoted_nulls: QuotedNulls,
    pub decimal_separator: u8,
    pub thousands: Option<u8>,
    pub date_format: Option<String>,
    pub timestamp_format: Option<String>,
    /// See [`CsvOptions::zone`].
    pub zone: Option<Arc<Zone>>,
}

impl ReadRules {
    pub fn new(dialect: Dialect, options: &CsvOptions) -> Self {
        let null_strings: Vec<Vec<u8>> =
            options.null_strings.iter().map(|s| s.clone().into_bytes()).collect();
        Self {
            delimiter_size: dialect.delimiter.len() as u32,
            dialect,
            only_empty_is_null: matches!(&null_strings[..], [one] if one.is_empty()),
            null_strings,
            quoted_nulls: options.quoted_nulls,
            decimal_separator: options.decimal_separator,
            thousands: options.thousands,
            date_format: options.date_format.clone(),
            timestamp_format: options.timestamp_format.clone(),
            zone: options.zone.clone(),
        }
    }

    /// A number with a point before its fraction and no marks between its digits: `None` if that is how numbers are written
    /// anyway, `Some(None)` for what is none.
    pub fn plain_number(&self, text: &[u8]) -> Option<Option<Vec<u8>>> {
        if self.decimal_separator == b'.' && self.thousands.is_none() {
            return None;
        }
        let mut plain = Vec::with_capacity(text.len());
        let mut is_in_fraction = false;
        for &byte in text {
            if byte == self.decimal_separator {
                plain.push(b'.');
                is_in_fraction = true;
            } else if Some(byte) == self.thousands {
                if is_in_fraction || !plain.last().is_some_and(u8::is_ascii_digit) {
                    return Some(None);
                }
            } else if byte == b'.' {
                return Some(None);
            } else {
                plain.push(byte);
            }
        }
        Some(Some(plain))
    }

    /// Whether a text, without quotes, is NULL.
    pub fn is_null(&self, text: &[u8]) -> bool {
        self.null_strings.iter().any(|null| null == text)
    }
}

/// Records of a block.
pub(super) struct Fields<'a> {
    pub bytes: &'a [u8],
    pub records: &'a Records,
    pub width: usize,
    pub rules: &'a ReadRules,
    /// Whether all of `bytes` is UTF-8.
    pub is_utf8: bool,
}

impl<'a> Fields<'a> {
    /// Number of records.
    pub fn len(&self) -> usize {
        self.records.starts.len()
    }

    /// A field as it stands in the file, with its quotes; `None` when the record is too short.
    #[inline(always)]
    pub fn raw(&self, row: usize, field: usize) -> Option<&'a [u8]> {
        let index = row * self.width + field;
        let start = if field == 0 {
            self.records.starts[row]
        } else {
            self.records.ends[index - 1] + self.rules.delimiter_size
        };
        self.bytes.get(start as usize..self.records.ends[index] as usize)
    }

    /// Bytes of a field in all records, where these are long.
    pub fn size_of(&self, field: usize) -> usize {
        const LONG: usize = 1 << 18;
        let (first, last) = (self.records.starts.first(), self.records.ends.last());
        let size = first.zip(last).map_or(0, |(first, last)| last.saturating_sub(*first) as usize);
        if size < LONG {
            return 0;
        }
        (0..self.len()).filter_map(|row| self.raw(row, field)).map(<[u8]>::len).sum()
    }

    /// Where a field begins.
    pub fn position(&self, row: usize, field: usize) -> usize {
        self.raw(row, field)
            .map_or(self.records.starts[row] as usize, |raw| raw.as_ptr().addr() - self.bytes.as_ptr().addr())
    }
}

impl ColumnReader {
    /// The column's values; rows whose text is no value are NULL and are named in `bad`.
    pub fn read(&self, fields: &Fields<'_>, bad: &mut Vec<u32>) -> Vector {
        let column = Column { reader: self, fields, nulls: Vec::new(), bad: &mut *bad };
        let small = |text: &[u8]| parse::short_int(text);
        match &self.ty {
            LogicalType::Varchar => column.text(),
            LogicalType::Blob => unescaped(column.text(), bad),
            LogicalType::Boolean => column.values(
                |text| parse::boolean(text).map(u8::from),
                |text| inlay_kernels::parse::boolean(text).map(u8::from),
            ),
            LogicalType::TinyInt => column.ints::<i8>(),
            LogicalType::SmallInt => column.ints::<i16>(),
            LogicalType::Null | LogicalType::Integer => column.ints::<i32>(),
            LogicalType::BigInt => column.ints::<i64>(),
            LogicalType::HugeInt => column.values::<i128>(|t| small(t).map(i128::from), parse::int),
            LogicalType::UTinyInt => column.ints::<u8>(),
            LogicalType::USmallInt => column.ints::<u16>(),
            LogicalType::UInteger => column.ints::<u32>(),
            LogicalType::UBigInt => column.ints::<u64>(),
            LogicalType::UHugeInt => column
                .values::<u128>(|t| small(t)?.try_into().ok(), |t| std::str::from_utf8(t).ok()?.parse().ok()),
            LogicalType::Real => column.values::<f32>(|_| None, inlay_kernels::parse::real),
            LogicalType::Double => column.values::<f64>(parse::double, inlay_kernels::parse::double),
            LogicalType::Decimal { precision, scale } => self.decimal(column, *precision, *scale),
            LogicalType::Date => column.dates(),
            LogicalType::Time => column.values::<i64>(parse::time, inlay_kernels::parse::time),
            LogicalType::Timestamp => column.timestamps(),
            LogicalType::Interval => column.values::<Interval>(|_| None, inlay_kernels::parse::interval),
            _ => {
                let text = Self { ty: LogicalType::Varchar, ..self.clone() }.read(fields, bad);
                self.cast_text(&text, fields.rules, bad)
            }
        }
    }

    /// Values of a type without a reader of its own: what a cast makes of the text.
    fn cast_text(&self, text: &Vector, rules: &ReadRules, bad: &mut Vec<u32>) -> Vector {
        let mut values = Vector::empty(self.ty.clone());
        let zone = rules.zone.as_ref();
        let zoned = zone.and_then(|zone| cast_in_zone(&LogicalType::Varchar, &self.ty, false, zone));
        let done = match &zoned {
            Some(cast) => cast.kernel.eval(&[text], text.len(), &mut values),
            None => cast(text, &self.ty, false, &mut values),
        };
        if done.is_ok() {
            return values.flatten();
        }
        // One by one: a TRY_CAST of all would make parts of lists and structs NULL without a word.
        let mut values = VectorBuilder::new(self.ty.clone(), text.len());
        for row in 0..text.len() {
            let value = text.get(row);
            let read = match zone {
                Some(zone) => cast_value_in_zone(&value, &self.ty, zone),
                None => cast_value(&value, &self.ty),
            };
            let read = read.and_then(|read| values.push(&read));
            if read.is_err() {
                // A NULL of any type fits.
                let _ = values.push(&Value::Null);
                let is_null = rules.quoted_nulls == QuotedNulls::NullIfNoValue
                    && value.as_str().is_some_and(|text| rules.is_null(text.as_bytes()));
                if !is_null {
                    bad.push(row as u32);
                }
            }
        }
        values.finish()
    }

    fn decimal(&self, column: Column<'_>, precision: u8, scale: u8) -> Vector {
        let read = |text: &[u8]| parse::decimal(text, precision, scale);
        match self.ty.physical().size() {
            2 => column.values::<i16>(|t| read(t)?.try_into().ok(), |t| read(t)?.try_into().ok()),
            4 => column.values::<i32>(|t| read(t)?.try_into().ok(), |t| read(t)?.try_into().ok()),
            8 => column.values::<i64>(|t| read(t)?.try_into().ok(), |t| read(t)?.try_into().ok()),
            _ => column.values::<i128>(read, read),
        }
    }
}

/// Bytes from texts, as BLOBs are written: `\xAB` is a byte, what else is there stands for itself.
fn unescaped(texts: Vector, bad: &mut Vec<u32>) -> Vector {
    let buffers = texts.heap().buffers();
    let has_escapes = |view: &View| memchr::memchr(b'\\', view.bytes(buffers)).is_some();
    if !texts.views().iter().any(has_escapes) {
        return texts;
    }
    let mut values = VectorBuilder::new(LogicalType::Blob, texts.len());
    for (row, view) in texts.views().iter().enumerate() {
        let bytes = (!texts.is_null(row)).then(|| bytes_of(view.bytes(buffers)));
        let value = match bytes {
            Some(Some(bytes)) => Value::Blob(bytes),
            Some(None) => {
                bad.push(row as u32);
                Value::Null
            }
            None => Value::Null,
        };
        // Bytes and NULLs fit into a vector of bytes.
        let _ = values.push(&value);
    }
    values.finish()
}

fn bytes_of(text: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = memchr::memchr(b'\\', rest) {
        let [b'\\', b'x', high, low, tail @ ..] = &rest[at..] else { return None };
        let digit = |byte: &u8| char::from(*byte).to_digit(16);
        bytes.extend_from_slice(&rest[..at]);
        bytes.push(u8::try_from(digit(high)? * 16 + digit(low)?).ok()?);
        rest = tail;
    }
    bytes.extend_from_slice(rest);
    Some(bytes)
}

struct Column<'a> {
    reader: &'a ColumnReader,
    fields: &'a Fields<'a>,
    nulls: Vec<u32>,
    bad: &'a mut Vec<u32>,
}

impl Column<'_> {
    /// Values of a fixed-width type: `quick` sees the text as it stands; what it refuses is unquoted, compared with
    /// the NULL strings, trimmed, and shown to `quick` and `full`.
    fn values<T: Native>(
        mut self,
        quick: impl Fn(&[u8]) -> Option<T>,
        full: impl Fn(&[u8]) -> Option<T>,
    ) -> Vector {
        let (fields, rules) = (self.fields, self.fields.rules);
        let mut values: Vec<T> = Vec::with_capacity(fields.len());
        let mut scratch = Vec::new();
        let is_marked = self.reader.ty.is_numeric() && rules.plain_number(b"").is_some();
        let only_empty_is_null = rules.only_empty_is_null && !self.reader.is_not_null;
        let sees_raw = (only_empty_is_null || self.reader.is_not_null) && !is_marked;
        for row in 0..fields.len() {
            let raw = fields.raw(row, self.reader.field);
            let Some(text) = raw.filter(|text| !(text.is_empty() && only_empty_is_null)) else {
                self.nulls.push(row as u32);
                values.push(T::default());
                continue;
            };
            if sees_raw && let Some(value) = quick(text) {
                values.push(value);
                continue;
            }
            let is_quoted = rules.dialect.quoted_part(text).is_some();
            let text = rules.dialect.unquoted(text, &mut scratch);
            let (is_null, may_be_null) = (self.is_null(text, is_quoted), self.may_be_null(text, is_quoted));
            let text = text.trim_ascii();
            let read = match (is_null, is_marked.then(|| rules.plain_number(text)).flatten()) {
                (true, _) | (_, Some(None)) => None,
                (_, Some(Some(plain))) => quick(&plain).or_else(|| full(&plain)),
                _ => quick(text).or_else(|| full(text)),
            };
            if read.is_none() {
                self.nulls.push(row as u32);
                if !is_null && !may_be_null {
                    self.bad.push(row as u32);
                }
            }
            values.push(read.unwrap_or_default());
        }
        self.finish(Buffer::from_vec(values), Heap::default())
    }

    /// Whether the text of a field is NULL.
    #[inline]
    fn is_null(&self, text: &[u8], is_quoted: bool) -> bool {
        let rules = self.fields.rules;
        !self.reader.is_not_null
            && (rules.quoted_nulls == QuotedNulls::Null || !is_quoted)
            && rules.is_null(text)
    }

    /// Whether the text of a field is NULL if it is no value.
    #[inline]
    fn may_be_null(&self, text: &[u8], is_quoted: bool) -> bool {
        let rules = self.fields.rules;
        is_quoted
            && !self.reader.is_not_null
            && rules.quoted_nulls == QuotedNulls::NullIfNoValue
            && rules.is_null(text)
    }

    fn ints<T: Native + TryFrom<i64> + TryFrom<i128>>(self) -> Vector {
        self.values::<T>(
            |text| T::try_from(parse::short_int(text)?).ok(),
            |text| T::try_from(parse::int(text)?).ok(),
        )
    }

    fn dates(self) -> Vector {
        match &self.reader.format {
            Some(format) => {
                let read = |text: &[u8]| parse::formatted(text, format).map(|(days, _)| days);
                self.values::<i32>(read, read)
            }
            None => self.values::<i32>(parse::date, inlay_kernels::parse::date),
        }
    }

    fn timestamps(self) -> Vector {
        match &self.reader.format {
            Some(format) => {
                let read = |text: &[u8]| {
                    parse::formatted(text, format).map(|(days, micros)| {
                        i64::from(days) * inlay_types::datetime::MICROS_PER_DAY + micros
                    })
                };
                self.values::<i64>(read, read)
            }
            None => self.values::<i64>(parse::timestamp, inlay_kernels::parse::timestamp),
        }
    }

    fn text(mut self) -> Vector {
        let (fields, rules) = (self.fields, self.fields.rules);
        let check_utf8 = self.reader.ty == LogicalType::Varchar && !fields.is_utf8;
        let only_empty_is_null = rules.only_empty_is_null && !self.reader.is_not_null;
        let compares = !only_empty_is_null && !self.reader.is_not_null;
        let mut views: Vec<View> = Vec::with_capacity(fields.len());
        let mut heap: Vec<u8> = Vec::new();
        let mut scratch = Vec::new();
        for row in 0..fields.len() {
            let raw = fields.raw(row, self.reader.field);
            let Some(raw) = raw.filter(|text| !(text.is_empty() && only_empty_is_null)) else {
                self.nulls.push(row as u32);
                views.push(View::EMPTY);
                continue;
            };
            let is_quoted = rules.dialect.quoted_part(raw).is_some();
            let text = if is_quoted { rules.dialect.unquoted(raw, &mut scratch) } else { raw };
            if (is_quoted || compares) && self.is_null(text, is_quoted) {
                self.nulls.push(row as u32);
                views.push(View::EMPTY);
                continue;
            }
            if check_utf8 && std::str::from_utf8(text).is_err() {
                self.bad.push(row as u32);
                self.nulls.push(row as u32);
                views.push(View::EMPTY);
                continue;
            }
            let offset = heap.len() as u32;
            if text.len() > INLINE_LIMIT {
                heap.extend_from_slice(text);
            }
            views.push(View::new(text, 0, offset));
        }
        let heap = if heap.is_empty() { Heap::default() } else { Heap::new(vec![Buffer::from_vec(heap)]) };
        self.finish(Buffer::from_vec(views), heap)
    }

    fn finish(self, data: Buffer, heap: Heap) -> Vector {
        let len = self.fields.len();
        let validity = (!self.nulls.is_empty()).then(|| {
            let mut words = vec![u64::MAX; len.div_ceil(64)];
            for &row in &self.nulls {
                words[row as usize / 64] &= !(1 << (row % 64));
            }
            Bitmap::from_words(words, len)
        });
        Vector::flat(self.reader.ty.clone(), len, data, validity, heap)
    }
}

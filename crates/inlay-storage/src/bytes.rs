//! Reading and writing of the sized, little-endian fields that files and logs are made of.
//!
//! [`ByteWriter`] cannot fail; [`ByteReader`] trusts nothing: every length is checked against the bytes that are there
//! before anything is allocated, and a field that does not fit its type is [`Error::Corrupt`], never a panic.

use crate::file::FORMAT_VERSION;
use inlay_types::logical_type::MAX_NESTING;
use inlay_types::{EnumType, Error, Field, Interval, LogicalType, Result, TimeTz, Value};
use std::sync::Arc;

/// Appends fields to a byte string.
#[derive(Debug, Default)]
pub struct ByteWriter {
    bytes: Vec<u8>,
}

macro_rules! put {
    ($($name:ident: $ty:ty),*) => { $(
        /// Appends a number, little-endian.
        pub fn $name(&mut self, value: $ty) {
            self.bytes.extend_from_slice(&value.to_le_bytes());
        }
    )* };
}

impl ByteWriter {
    /// An empty byte string.
    pub fn new() -> Self {
        Self::default()
    }

    put!(u8: u8, u16: u16, u32: u32, u64: u64, u128: u128, i32: i32, i64: i64, i128: i128);

    /// Appends one byte, 0 or 1.
    pub fn bool(&mut self, value: bool) {
        self.u8(u8::from(value));
    }

    /// Appends a count or size as a variable-length number (LEB128), which takes one byte below 128.
    pub fn count(&mut self, value: usize) {
        let mut left = value as u64;
        while left >= 0x80 {
            self.bytes.push(left as u8 | 0x80);
            left >>= 7;
        }
        self.bytes.push(left as u8);
    }

    /// Appends bytes as they are.
    pub fn raw(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Appends a length and that many bytes.
    pub fn sized(&mut self, bytes: &[u8]) {
        self.count(bytes.len());
        self.raw(bytes);
    }

    /// Appends a length and UTF-8.
    pub fn text(&mut self, text: &str) {
        self.sized(text.as_bytes());
    }

    /// Appends whether there is a value, and the value.
    pub fn option<T>(&mut self, value: Option<T>, put: impl FnOnce(&mut Self, T)) {
        self.bool(value.is_some());
        if let Some(value) = value {
            put(self, value);
        }
    }

    /// Appends a type.
    pub fn logical_type(&mut self, ty: &LogicalType) {
        self.u8(type_tag(ty));
        match ty {
            LogicalType::Decimal { precision, scale } => {
                self.u8(*precision);
                self.u8(*scale);
            }
            LogicalType::Enum(words) => {
                self.count(words.values().len());
                words.values().iter().for_each(|word| self.text(word));
            }
            LogicalType::List(element) => self.logical_type(element),
            LogicalType::Array(element, size) => {
                self.u32(*size);
                self.logical_type(element);
            }
            LogicalType::Map(pair) => {
                self.logical_type(&pair.0);
                self.logical_type(&pair.1);
            }
            LogicalType::Struct(fields) | LogicalType::Union(fields) => {
                self.count(fields.len());
                for field in fields.iter() {
                    self.text(&field.name);
                    self.logical_type(&field.ty);
                }
            }
            _ => {}
        }
    }

    /// Appends a value with its type.
    pub fn value(&mut self, value: &Value) {
        self.logical_type(&value.logical_type());
        match value {
            Value::Null => {}
            Value::Boolean(v) => self.bool(*v),
            Value::TinyInt(v) => self.u8(*v as u8),
            Value::SmallInt(v) => self.u16(*v as u16),
            Value::Integer(v) | Value::Date(v) => self.i32(*v),
            Value::BigInt(v) | Value::Time(v) | Value::Timestamp(v) => self.i64(*v),
            Value::HugeInt(v) => self.i128(*v),
            Value::UTinyInt(v) => self.u8(*v),
            Value::USmallInt(v) => self.u16(*v),
            Value::UInteger(v) => self.u32(*v),
            Value::UBigInt(v) => self.u64(*v),
            Value::UHugeInt(v) => self.u128(*v),
            Value::Real(v) => self.u32(v.to_bits()),
            Value::Double(v) => self.u64(v.to_bits()),
            Value::Decimal { unscaled, .. } => self.i128(*unscaled),
            Value::Varchar(v) => self.text(v),
            Value::Blob(v) => self.sized(v),
            Value::Interval(v) => {
                self.i32(v.months);
                self.i32(v.days);
                self.i64(v.micros);
            }
            Value::TimestampS(v) | Value::TimestampMs(v) => self.i64(*v),
            Value::TimestampNs(v) | Value::TimestampTz(v) => self.i64(*v),
            Value::TimeTz(v) => self.i64(v.stored()),
            Value::Uuid(v) => self.u128(*v),
            Value::Bit(v) => self.sized(v),
            Value::Json(v) => self.text(v),
            Value::Enum { position, .. } => self.u32(*position),
            Value::List { values, .. } | Value::Array { values, .. } | Value::Struct { values, .. } => {
                self.count(values.len());
                values.iter().for_each(|value| self.value(value));
            }
            Value::Map { entries, .. } => {
                self.count(entries.len());
                for (key, value) in entries {
                    self.value(key);
                    self.value(value);
                }
            }
            Value::Union { tag, value, .. } => {
                self.u8(*tag);
                self.value(value);
            }
        }
    }

    /// Number of bytes so far.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether nothing was appended.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The bytes so far.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The bytes.
    pub fn finish(self) -> Vec<u8> {
        self.bytes
    }
}

const DECIMAL: u8 = 14;
const ENUM: u8 = 29;
const LIST: u8 = 30;
const ARRAY: u8 = 31;
const STRUCT: u8 = 32;
const MAP: u8 = 33;
const UNION: u8 = 34;

/// Types without parameters by their number in files.
static PLAIN_TYPES: [Option<LogicalType>; 29] = [
    Some(LogicalType::Null),
    Some(LogicalType::Boolean),
    Some(LogicalType::TinyInt),
    Some(LogicalType::SmallInt),
    Some(LogicalType::Integer),
    Some(LogicalType::BigInt),
    Some(LogicalType::HugeInt),
    Some(LogicalType::UTinyInt),
    Some(LogicalType::USmallInt),
    Some(LogicalType::UInteger),
    Some(LogicalType::UBigInt),
    Some(LogicalType::UHugeInt),
    Some(LogicalType::Real),
    Some(LogicalType::Double),
    None,
    Some(LogicalType::Varchar),
    Some(LogicalType::Blob),
    Some(LogicalType::Date),
    Some(LogicalType::Time),
    Some(LogicalType::Timestamp),
    Some(LogicalType::Interval),
    Some(LogicalType::TimestampS),
    Some(LogicalType::TimestampMs),
    Some(LogicalType::TimestampNs),
    Some(LogicalType::TimestampTz),
    Some(LogicalType::TimeTz),
    Some(LogicalType::Uuid),
    Some(LogicalType::Bit),
    Some(LogicalType::Json),
];

/// The number of a type in files; parameters follow it.
fn type_tag(ty: &LogicalType) -> u8 {
    match ty {
        LogicalType::Null => 0,
        LogicalType::Boolean => 1,
        LogicalType::TinyInt => 2,
        LogicalType::SmallInt => 3,
        LogicalType::Integer => 4,
        LogicalType::BigInt => 5,
        LogicalType::HugeInt => 6,
        LogicalType::UTinyInt => 7,
        LogicalType::USmallInt => 8,
        LogicalType::UInteger => 9,
        LogicalType::UBigInt => 10,
        LogicalType::UHugeInt => 11,
        LogicalType::Real => 12,
        LogicalType::Double => 13,
        LogicalType::Decimal { .. } => DECIMAL,
        LogicalType::Varchar => 15,
        LogicalType::Blob => 16,
        LogicalType::Date => 17,
        LogicalType::Time => 18,
        LogicalType::Timestamp => 19,
        LogicalType::Interval => 20,
        LogicalType::TimestampS => 21,
        LogicalType::TimestampMs => 22,
        LogicalType::TimestampNs => 23,
        LogicalType::TimestampTz => 24,
        LogicalType::TimeTz => 25,
        LogicalType::Uuid => 26,
        LogicalType::Bit => 27,
        LogicalType::Json => 28,
        LogicalType::Enum(_) => ENUM,
        LogicalType::List(_) => LIST,
        LogicalType::Array(..) => ARRAY,
        LogicalType::Struct(_) => STRUCT,
        LogicalType::Map(_) => MAP,
        LogicalType::Union(_) => UNION,
    }
}

/// Reads bytes of a file whose format has this version.
///
/// The last programs of version 1 wrote schemas as those of version 2 do. Either way of reading ends where the bytes end only if
/// it is the right one.
pub fn read_of_format<'a, T>(
    format: u32,
    bytes: &'a [u8],
    read: impl Fn(ByteReader<'a>) -> Result<T>,
) -> Result<T> {
    let newest = ByteReader::new(bytes);
    if format >= FORMAT_VERSION {
        return read(newest);
    }
    read(ByteReader { format, ..newest }).or_else(|error| read(newest).map_err(|_| error))
}

/// Takes fields from the front of a byte string.
#[derive(Clone, Copy, Debug)]
pub struct ByteReader<'a> {
    /// The version of the format that the fields are of.
    format: u32,
    bytes: &'a [u8],
}

macro_rules! take {
    ($($name:ident: $ty:ty),*) => { $(
        /// Takes a number, little-endian.
        pub fn $name(&mut self) -> Result<$ty> {
            Ok(<$ty>::from_le_bytes(self.array()?))
        }
    )* };
}

impl<'a> ByteReader<'a> {
    /// A reader of all of `bytes`.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { format: FORMAT_VERSION, bytes }
    }

    /// The version of the format that the bytes are of.
    pub fn format(&self) -> u32 {
        self.format
    }

    take!(u8: u8, u16: u16, u32: u32, u64: u64, u128: u128, i32: i32, i64: i64, i128: i128);

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let (head, rest) = self.bytes.split_first_chunk::<N>().ok_or_else(too_short)?;
        self.bytes = rest;
        Ok(*head)
    }

    /// Bytes that are left.
    pub fn remaining(&self) -> usize {
        self.bytes.len()
    }

    /// The next byte, which stays.
    pub fn peek(&self) -> Option<u8> {
        self.bytes.first().copied()
    }

    /// Fails unless everything was taken.
    pub fn expect_end(&self) -> Result<()> {
        if self.bytes.is_empty() { Ok(()) } else { Err(Error::corrupt("bytes behind the last field")) }
    }

    /// Takes one byte that is 0 or 1.
    pub fn bool(&mut self) -> Result<bool> {
        match self.u8()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(Error::corrupt("a flag that is neither 0 nor 1")),
        }
    }

    /// Takes a variable-length number.
    pub fn count(&mut self) -> Result<usize> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.u8()?;
            let bits = u64::from(byte & 0x7F);
            if shift == 63 && bits > 1 {
                break;
            }
            value |= bits << shift;
            if byte & 0x80 == 0 {
                return usize::try_from(value).map_err(|_| Error::corrupt("a count beyond this machine"));
            }
        }
        Err(Error::corrupt("a count of more than 64 bits"))
    }

    /// Takes the count of items of at least `size_min` bytes each that follow; fails if they cannot all be there.
    pub fn count_of(&mut self, size_min: usize) -> Result<usize> {
        let count = self.count()?;
        if count > self.bytes.len() / size_min.max(1) {
            return Err(Error::corrupt(format!("{count} items in {} bytes", self.bytes.len())));
        }
        Ok(count)
    }

    /// Takes `len` bytes.
    pub fn raw(&mut self, len: usize) -> Result<&'a [u8]> {
        if len > self.bytes.len() {
            return Err(too_short());
        }
        let (head, rest) = self.bytes.split_at(len);
        self.bytes = rest;
        Ok(head)
    }

    /// Takes a length and that many bytes.
    pub fn sized(&mut self) -> Result<&'a [u8]> {
        let len = self.count()?;
        self.raw(len)
    }

    /// Takes a length and UTF-8.
    pub fn text(&mut self) -> Result<&'a str> {
        std::str::from_utf8(self.sized()?).map_err(|_| Error::corrupt("text that is not UTF-8"))
    }

    /// Takes what [`ByteWriter::option`] wrote.
    pub fn option<T>(&mut self, take: impl FnOnce(&mut Self) -> Result<T>) -> Result<Option<T>> {
        if self.bool()? { take(self).map(Some) } else { Ok(None) }
    }

    /// Takes a type.
    pub fn logical_type(&mut self) -> Result<LogicalType> {
        self.type_within(MAX_NESTING)
    }

    /// Takes a type that may be nested `levels` deep.
    fn type_within(&mut self, levels: usize) -> Result<LogicalType> {
        let tag = self.u8()?;
        if let Some(plain) = PLAIN_TYPES.get(usize::from(tag)).and_then(Option::as_ref) {
            return Ok(plain.clone());
        }
        let Some(inner) = levels.checked_sub(1) else {
            return Err(Error::corrupt(format!("a type is nested more than {MAX_NESTING} levels deep")));
        };
        Ok(match tag {
            DECIMAL => {
                let (precision, scale) = (self.u8()?, self.u8()?);
                if !(1..=38).contains(&precision) || scale > precision {
                    return Err(Error::corrupt(format!("DECIMAL({precision}, {scale})")));
                }
                LogicalType::Decimal { precision, scale }
            }
            ENUM => {
                let count = self.count_of(1)?;
                let words = (0..count).map(|_| self.text().map(String::from)).collect::<Result<Vec<_>>>()?;
                let words = EnumType::new(words).map_err(|e| Error::corrupt(e.to_string()))?;
                LogicalType::Enum(Arc::new(words))
            }
            LIST => LogicalType::list(self.type_within(inner)?),
            ARRAY => {
                let size = self.u32()?;
                LogicalType::array(self.type_within(inner)?, size)
            }
            MAP => LogicalType::map(self.type_within(inner)?, self.type_within(inner)?),
            STRUCT => LogicalType::Struct(self.fields(inner)?),
            UNION => LogicalType::Union(self.fields(inner)?),
            tag => return Err(Error::corrupt(format!("type number {tag}"))),
        })
    }

    fn fields(&mut self, levels: usize) -> Result<Arc<[Field]>> {
        let count = self.count_of(2)?;
        if count == 0 {
            return Err(Error::corrupt("a type without fields"));
        }
        let field = |from: &mut Self| Ok(Field::new(from.text()?, from.type_within(levels)?));
        (0..count).map(|_| field(self)).collect()
    }

    /// Takes a value with its type.
    pub fn value(&mut self) -> Result<Value> {
        self.value_within(MAX_NESTING)
    }

    fn values(&mut self, levels: usize) -> Result<Vec<Value>> {
        let count = self.count_of(1)?;
        (0..count).map(|_| self.value_within(levels)).collect()
    }

    /// Takes a value that may be nested `levels` deep.
    fn value_within(&mut self, levels: usize) -> Result<Value> {
        let Some(inner) = levels.checked_sub(1) else {
            return Err(Error::corrupt(format!("a value is nested more than {MAX_NESTING} levels deep")));
        };
        Ok(match self.logical_type()? {
            LogicalType::Null => Value::Null,
            LogicalType::Boolean => Value::Boolean(self.bool()?),
            LogicalType::TinyInt => Value::TinyInt(self.u8()? as i8),
            LogicalType::SmallInt => Value::SmallInt(self.u16()? as i16),
            LogicalType::Integer => Value::Integer(self.i32()?),
            LogicalType::BigInt => Value::BigInt(self.i64()?),
            LogicalType::HugeInt => Value::HugeInt(self.i128()?),
            LogicalType::UTinyInt => Value::UTinyInt(self.u8()?),
            LogicalType::USmallInt => Value::USmallInt(self.u16()?),
            LogicalType::UInteger => Value::UInteger(self.u32()?),
            LogicalType::UBigInt => Value::UBigInt(self.u64()?),
            LogicalType::UHugeInt => Value::UHugeInt(self.u128()?),
            LogicalType::Real => Value::Real(f32::from_bits(self.u32()?)),
            LogicalType::Double => Value::Double(f64::from_bits(self.u64()?)),
            LogicalType::Decimal { precision, scale } => {
                Value::Decimal { unscaled: self.i128()?, precision, scale }
            }
            LogicalType::Varchar => Value::Varchar(self.text()?.to_string()),
            LogicalType::Blob => Value::Blob(self.sized()?.to_vec()),
            LogicalType::Date => Value::Date(self.i32()?),
            LogicalType::Time => Value::Time(self.i64()?),
            LogicalType::Timestamp => Value::Timestamp(self.i64()?),
            LogicalType::Interval => {
                Value::Interval(Interval { months: self.i32()?, days: self.i32()?, micros: self.i64()? })
            }
            LogicalType::TimestampS => Value::TimestampS(self.i64()?),
            LogicalType::TimestampMs => Value::TimestampMs(self.i64()?),
            LogicalType::TimestampNs => Value::TimestampNs(self.i64()?),
            LogicalType::TimestampTz => Value::TimestampTz(self.i64()?),
            LogicalType::TimeTz => Value::TimeTz(TimeTz::from_stored(self.i64()?)),
            LogicalType::Uuid => Value::Uuid(self.u128()?),
            LogicalType::Bit => Value::Bit(self.sized()?.to_vec()),
            LogicalType::Json => Value::Json(self.text()?.to_string()),
            LogicalType::Enum(words) => {
                let position = self.u32()?;
                if words.get(position).is_none() {
                    return Err(Error::corrupt(format!(
                        "value {position} of an ENUM of {}",
                        words.values().len()
                    )));
                }
                Value::Enum { position, words }
            }
            LogicalType::List(element) => Value::List { element, values: self.values(inner)? },
            LogicalType::Array(element, _) => Value::Array { element, values: self.values(inner)? },
            LogicalType::Struct(fields) => {
                let values = self.values(inner)?;
                if values.len() != fields.len() {
                    return Err(Error::corrupt(format!(
                        "{} values of {} fields",
                        values.len(),
                        fields.len()
                    )));
                }
                Value::Struct { fields, values }
            }
            LogicalType::Map(types) => {
                let count = self.count_of(2)?;
                let mut entry = || Ok((self.value_within(inner)?, self.value_within(inner)?));
                Value::Map { types, entries: (0..count).map(|_| entry()).collect::<Result<_>>()? }
            }
            LogicalType::Union(members) => {
                let tag = self.u8()?;
                if usize::from(tag) >= members.len() {
                    return Err(Error::corrupt(format!("member {tag} of {}", members.len())));
                }
                Value::Union { members, tag, value: Box::new(self.value_within(inner)?) }
            }
        })
    }
}

fn too_short() -> Error {
    Error::corrupt("fewer bytes than its fields need")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_back_and_every_prefix_is_refused() {
        let values = [
            Value::Null,
            Value::Boolean(true),
            Value::TinyInt(-1),
            Value::Integer(i32::MIN),
            Value::HugeInt(i128::MIN),
            Value::Double(-0.0),
            Value::Decimal { unscaled: -12345, precision: 15, scale: 2 },
            Value::Varchar("grüße".repeat(40)),
            Value::Blob(vec![0, 255]),
            Value::Interval(Interval { months: 1, days: -2, micros: 3 }),
        ];
        for value in &values {
            let mut writer = ByteWriter::new();
            writer.value(value);
            let bytes = writer.finish();
            let mut reader = ByteReader::new(&bytes);
            assert!(reader.value().unwrap().total_cmp(value).is_eq());
            reader.expect_end().unwrap();
            for len in 0..bytes.len() {
                assert!(ByteReader::new(&bytes[..len]).value().is_err(), "{value} cut at {len}");
            }
        }
    }

    #[test]
    fn counts_of_any_size_come_back_and_lies_are_refused() {
        for count in [0, 127, 128, 1 << 20, u64::MAX as usize] {
            let mut writer = ByteWriter::new();
            writer.count(count);
            assert_eq!(ByteReader::new(writer.as_bytes()).count().unwrap(), count);
        }
        let mut writer = ByteWriter::new();
        writer.count(1 << 40);
        assert!(ByteReader::new(writer.as_bytes()).sized().is_err());
        assert!(ByteReader::new(writer.as_bytes()).count_of(1).is_err());
        assert!(ByteReader::new(&[0xFF; 10]).count().is_err());
    }
}

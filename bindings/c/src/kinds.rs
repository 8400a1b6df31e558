//! Numbers of types and of layouts, and small structs that values are.

use inlay::types::{Interval, LogicalType, PhysicalType};
use inlay::{Error, Result};
use std::ffi::{c_char, c_void};
use std::ptr;

/// What type a column or value has. The numbers stay what they are; later versions may have more.
pub type inlay_type_id = u32;
/// The type of a bare NULL.
pub const INLAY_TYPE_NULL: inlay_type_id = 0;
/// BOOLEAN: a byte, 0 or 1.
pub const INLAY_TYPE_BOOLEAN: inlay_type_id = 1;
/// TINYINT: int8_t.
pub const INLAY_TYPE_TINYINT: inlay_type_id = 2;
/// SMALLINT: int16_t.
pub const INLAY_TYPE_SMALLINT: inlay_type_id = 3;
/// INTEGER: int32_t.
pub const INLAY_TYPE_INTEGER: inlay_type_id = 4;
/// BIGINT: int64_t.
pub const INLAY_TYPE_BIGINT: inlay_type_id = 5;
/// HUGEINT: inlay_int128.
pub const INLAY_TYPE_HUGEINT: inlay_type_id = 6;
/// UTINYINT: uint8_t.
pub const INLAY_TYPE_UTINYINT: inlay_type_id = 7;
/// USMALLINT: uint16_t.
pub const INLAY_TYPE_USMALLINT: inlay_type_id = 8;
/// UINTEGER: uint32_t.
pub const INLAY_TYPE_UINTEGER: inlay_type_id = 9;
/// UBIGINT: uint64_t.
pub const INLAY_TYPE_UBIGINT: inlay_type_id = 10;
/// UHUGEINT: inlay_int128, without a sign.
pub const INLAY_TYPE_UHUGEINT: inlay_type_id = 11;
/// REAL: float.
pub const INLAY_TYPE_REAL: inlay_type_id = 12;
/// DOUBLE: double.
pub const INLAY_TYPE_DOUBLE: inlay_type_id = 13;
/// DECIMAL: the number times ten to the power of the scale; int16_t up to 4 digits, int32_t up to 9, int64_t up to 18, else inlay_int128.
pub const INLAY_TYPE_DECIMAL: inlay_type_id = 14;
/// VARCHAR: UTF-8.
pub const INLAY_TYPE_VARCHAR: inlay_type_id = 15;
/// BLOB: bytes.
pub const INLAY_TYPE_BLOB: inlay_type_id = 16;
/// DATE: int32_t, days since 1970-01-01; INT32_MAX and -INT32_MAX are infinity.
pub const INLAY_TYPE_DATE: inlay_type_id = 17;
/// TIME: int64_t, microseconds since midnight.
pub const INLAY_TYPE_TIME: inlay_type_id = 18;
/// TIMESTAMP: int64_t, microseconds since 1970-01-01; INT64_MAX and -INT64_MAX are infinity.
pub const INLAY_TYPE_TIMESTAMP: inlay_type_id = 19;
/// INTERVAL: inlay_interval.
pub const INLAY_TYPE_INTERVAL: inlay_type_id = 20;
/// TIMESTAMP_S: int64_t, seconds since 1970-01-01.
pub const INLAY_TYPE_TIMESTAMP_S: inlay_type_id = 21;
/// TIMESTAMP_MS: int64_t, milliseconds since 1970-01-01.
pub const INLAY_TYPE_TIMESTAMP_MS: inlay_type_id = 22;
/// TIMESTAMP_NS: int64_t, nanoseconds since 1970-01-01.
pub const INLAY_TYPE_TIMESTAMP_NS: inlay_type_id = 23;
/// TIMESTAMP WITH TIME ZONE: int64_t, microseconds since 1970-01-01 UTC.
pub const INLAY_TYPE_TIMESTAMP_TZ: inlay_type_id = 24;
/// TIME WITH TIME ZONE: int64_t, see inlay_timetz_parts.
pub const INLAY_TYPE_TIME_TZ: inlay_type_id = 25;
/// UUID: inlay_int128 whose highest bit is flipped, so that numbers have the order of the texts.
pub const INLAY_TYPE_UUID: inlay_type_id = 26;
/// BIT: bytes of the library's own; inlay_value_text and inlay_column_text give the digits.
pub const INLAY_TYPE_BIT: inlay_type_id = 27;
/// JSON: UTF-8.
pub const INLAY_TYPE_JSON: inlay_type_id = 28;
/// ENUM: the position of the word, uint8_t, uint16_t or uint32_t.
pub const INLAY_TYPE_ENUM: inlay_type_id = 29;
/// LIST: see inlay_chunk_parts.
pub const INLAY_TYPE_LIST: inlay_type_id = 30;
/// ARRAY: see inlay_chunk_parts.
pub const INLAY_TYPE_ARRAY: inlay_type_id = 31;
/// STRUCT: see inlay_chunk_parts.
pub const INLAY_TYPE_STRUCT: inlay_type_id = 32;
/// MAP: see inlay_chunk_parts.
pub const INLAY_TYPE_MAP: inlay_type_id = 33;
/// UNION: see inlay_chunk_parts.
pub const INLAY_TYPE_UNION: inlay_type_id = 34;

/// What lies in memory for each value of an array.
pub type inlay_layout = u32;
/// Of an array of the program's: that of its type.
pub const INLAY_LAYOUT_DEFAULT: inlay_layout = 0;
/// A byte, 0 or 1.
pub const INLAY_LAYOUT_BOOL: inlay_layout = 1;
/// int8_t.
pub const INLAY_LAYOUT_INT8: inlay_layout = 2;
/// int16_t.
pub const INLAY_LAYOUT_INT16: inlay_layout = 3;
/// int32_t.
pub const INLAY_LAYOUT_INT32: inlay_layout = 4;
/// int64_t.
pub const INLAY_LAYOUT_INT64: inlay_layout = 5;
/// inlay_int128.
pub const INLAY_LAYOUT_INT128: inlay_layout = 6;
/// uint8_t.
pub const INLAY_LAYOUT_UINT8: inlay_layout = 7;
/// uint16_t.
pub const INLAY_LAYOUT_UINT16: inlay_layout = 8;
/// uint32_t.
pub const INLAY_LAYOUT_UINT32: inlay_layout = 9;
/// uint64_t.
pub const INLAY_LAYOUT_UINT64: inlay_layout = 10;
/// inlay_int128, without a sign.
pub const INLAY_LAYOUT_UINT128: inlay_layout = 11;
/// float.
pub const INLAY_LAYOUT_FLOAT: inlay_layout = 12;
/// double.
pub const INLAY_LAYOUT_DOUBLE: inlay_layout = 13;
/// inlay_interval.
pub const INLAY_LAYOUT_INTERVAL: inlay_layout = 14;
/// inlay_bytes: where each text lies, and its size. The default of texts and bytes.
pub const INLAY_LAYOUT_BYTES: inlay_layout = 15;
/// Of an array of the program's: const char *, each a text that ends with NUL; a NULL pointer is NULL.
pub const INLAY_LAYOUT_STRINGS: inlay_layout = 16;
/// Nothing: the values are made of others, see inlay_chunk_parts.
pub const INLAY_LAYOUT_NESTED: inlay_layout = 17;

/// Bytes, or a text in UTF-8, which need not end with NUL.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct inlay_bytes {
    /// Where they lie.
    pub data: *const c_char,
    /// How many there are.
    pub size: usize,
}

impl inlay_bytes {
    /// What stands for NULL.
    pub const NULL: Self = Self { data: ptr::null(), size: 0 };

    /// Where some bytes lie.
    pub fn of(bytes: Option<&[u8]>) -> Self {
        bytes.map_or(Self::NULL, |bytes| Self { data: bytes.as_ptr().cast(), size: bytes.len() })
    }
}

/// 128 bits, as the machine has them: the number is high times 2 to the power of 64, plus low.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct inlay_int128 {
    /// The lower half.
    pub low: u64,
    /// The upper half, with the sign.
    pub high: i64,
}

/// Months, days and microseconds, which are added one after the other.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct inlay_interval {
    /// Months of the calendar.
    pub months: i32,
    /// Days.
    pub days: i32,
    /// Microseconds.
    pub micros: i64,
}

/// The number unscaled, divided by ten to the power of scale.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct inlay_decimal {
    /// All digits.
    pub unscaled: inlay_int128,
    /// How many digits there may be, 1 to 38.
    pub precision: u8,
    /// How many of them are behind the point.
    pub scale: u8,
}

/// The values of a column, one behind the other. The library gives such arrays, and takes them.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct inlay_array {
    /// What the values are.
    pub type_id: inlay_type_id,
    /// How they lie in memory; INLAY_LAYOUT_DEFAULT, or INLAY_LAYOUT_STRINGS for texts, where the program gives the array.
    pub layout: inlay_layout,
    /// Of a DECIMAL: how many digits there may be.
    pub precision: u8,
    /// Of a DECIMAL: how many digits are behind the point.
    pub scale: u8,
    /// Bytes of a value; the library does not look at it in arrays of the program's.
    pub width: usize,
    /// How many values there are, NULLs among them.
    pub count: usize,
    /// The values. What lies where one is NULL is no value.
    pub data: *const c_void,
    /// Which are values: bit row % 64 of word row / 64 is set. A NULL pointer says that none is NULL.
    pub validity: *const u64,
}

impl inlay_array {
    /// An array of nothing.
    pub fn empty() -> Self {
        Self {
            type_id: INLAY_TYPE_NULL,
            layout: INLAY_LAYOUT_DEFAULT,
            precision: 0,
            scale: 0,
            width: 0,
            count: 0,
            data: std::ptr::null(),
            validity: std::ptr::null(),
        }
    }
}

impl From<i128> for inlay_int128 {
    fn from(number: i128) -> Self {
        Self { low: number as u64, high: (number >> 64) as i64 }
    }
}

impl From<inlay_int128> for i128 {
    fn from(number: inlay_int128) -> Self {
        (i128::from(number.high) << 64) | i128::from(number.low)
    }
}

impl From<inlay_interval> for Interval {
    fn from(interval: inlay_interval) -> Self {
        Self { months: interval.months, days: interval.days, micros: interval.micros }
    }
}

impl From<Interval> for inlay_interval {
    fn from(interval: Interval) -> Self {
        Self { months: interval.months, days: interval.days, micros: interval.micros }
    }
}

/// The number of a type.
pub fn id_of(ty: &LogicalType) -> inlay_type_id {
    match ty {
        LogicalType::Null => INLAY_TYPE_NULL,
        LogicalType::Boolean => INLAY_TYPE_BOOLEAN,
        LogicalType::TinyInt => INLAY_TYPE_TINYINT,
        LogicalType::SmallInt => INLAY_TYPE_SMALLINT,
        LogicalType::Integer => INLAY_TYPE_INTEGER,
        LogicalType::BigInt => INLAY_TYPE_BIGINT,
        LogicalType::HugeInt => INLAY_TYPE_HUGEINT,
        LogicalType::UTinyInt => INLAY_TYPE_UTINYINT,
        LogicalType::USmallInt => INLAY_TYPE_USMALLINT,
        LogicalType::UInteger => INLAY_TYPE_UINTEGER,
        LogicalType::UBigInt => INLAY_TYPE_UBIGINT,
        LogicalType::UHugeInt => INLAY_TYPE_UHUGEINT,
        LogicalType::Real => INLAY_TYPE_REAL,
        LogicalType::Double => INLAY_TYPE_DOUBLE,
        LogicalType::Decimal { .. } => INLAY_TYPE_DECIMAL,
        LogicalType::Varchar => INLAY_TYPE_VARCHAR,
        LogicalType::Blob => INLAY_TYPE_BLOB,
        LogicalType::Date => INLAY_TYPE_DATE,
        LogicalType::Time => INLAY_TYPE_TIME,
        LogicalType::Timestamp => INLAY_TYPE_TIMESTAMP,
        LogicalType::Interval => INLAY_TYPE_INTERVAL,
        LogicalType::TimestampS => INLAY_TYPE_TIMESTAMP_S,
        LogicalType::TimestampMs => INLAY_TYPE_TIMESTAMP_MS,
        LogicalType::TimestampNs => INLAY_TYPE_TIMESTAMP_NS,
        LogicalType::TimestampTz => INLAY_TYPE_TIMESTAMP_TZ,
        LogicalType::TimeTz => INLAY_TYPE_TIME_TZ,
        LogicalType::Uuid => INLAY_TYPE_UUID,
        LogicalType::Bit => INLAY_TYPE_BIT,
        LogicalType::Json => INLAY_TYPE_JSON,
        LogicalType::Enum(_) => INLAY_TYPE_ENUM,
        LogicalType::List(_) => INLAY_TYPE_LIST,
        LogicalType::Array(..) => INLAY_TYPE_ARRAY,
        LogicalType::Struct(_) => INLAY_TYPE_STRUCT,
        LogicalType::Map(_) => INLAY_TYPE_MAP,
        LogicalType::Union(_) => INLAY_TYPE_UNION,
    }
}

/// The type of an array that the program gives.
pub fn type_of(array: &inlay_array) -> Result<LogicalType> {
    const DIGITS_MAX: u8 = 38;
    Ok(match array.type_id {
        INLAY_TYPE_NULL => LogicalType::Null,
        INLAY_TYPE_BOOLEAN => LogicalType::Boolean,
        INLAY_TYPE_TINYINT => LogicalType::TinyInt,
        INLAY_TYPE_SMALLINT => LogicalType::SmallInt,
        INLAY_TYPE_INTEGER => LogicalType::Integer,
        INLAY_TYPE_BIGINT => LogicalType::BigInt,
        INLAY_TYPE_HUGEINT => LogicalType::HugeInt,
        INLAY_TYPE_UTINYINT => LogicalType::UTinyInt,
        INLAY_TYPE_USMALLINT => LogicalType::USmallInt,
        INLAY_TYPE_UINTEGER => LogicalType::UInteger,
        INLAY_TYPE_UBIGINT => LogicalType::UBigInt,
        INLAY_TYPE_UHUGEINT => LogicalType::UHugeInt,
        INLAY_TYPE_REAL => LogicalType::Real,
        INLAY_TYPE_DOUBLE => LogicalType::Double,
        INLAY_TYPE_DECIMAL => {
            let (precision, scale) = (array.precision, array.scale);
            if !(1..=DIGITS_MAX).contains(&precision) || scale > precision {
                let message = format!(
                    "DECIMAL({precision}, {scale}) is no type: it has 1 to {DIGITS_MAX} digits, of which the scale are behind the point"
                );
                return Err(Error::invalid_argument(message));
            }
            LogicalType::decimal(precision, scale)
        }
        INLAY_TYPE_VARCHAR => LogicalType::Varchar,
        INLAY_TYPE_BLOB => LogicalType::Blob,
        INLAY_TYPE_DATE => LogicalType::Date,
        INLAY_TYPE_TIME => LogicalType::Time,
        INLAY_TYPE_TIMESTAMP => LogicalType::Timestamp,
        INLAY_TYPE_INTERVAL => LogicalType::Interval,
        INLAY_TYPE_TIMESTAMP_S => LogicalType::TimestampS,
        INLAY_TYPE_TIMESTAMP_MS => LogicalType::TimestampMs,
        INLAY_TYPE_TIMESTAMP_NS => LogicalType::TimestampNs,
        INLAY_TYPE_TIMESTAMP_TZ => LogicalType::TimestampTz,
        INLAY_TYPE_TIME_TZ => LogicalType::TimeTz,
        INLAY_TYPE_UUID => LogicalType::Uuid,
        INLAY_TYPE_JSON => LogicalType::Json,
        INLAY_TYPE_BIT | INLAY_TYPE_ENUM => {
            return Err(Error::unsupported("an array of ENUM or BIT from the program")
                .with_hint("give the texts as INLAY_TYPE_VARCHAR: they are converted to the column's type"));
        }
        INLAY_TYPE_LIST | INLAY_TYPE_ARRAY | INLAY_TYPE_STRUCT | INLAY_TYPE_MAP | INLAY_TYPE_UNION => {
            return Err(Error::unsupported("an array of nested values from the program")
                .with_hint("inlay_append_arrow and inlay_register_arrow take them"));
        }
        other => return Err(Error::invalid_argument(format!("there is no type with the number {other}"))),
    })
}

/// The layout of a type whose values are not nested.
pub fn layout_of(ty: &LogicalType) -> inlay_layout {
    if ty.is_nested() {
        return INLAY_LAYOUT_NESTED;
    }
    match ty.physical() {
        PhysicalType::Bool => INLAY_LAYOUT_BOOL,
        PhysicalType::I8 => INLAY_LAYOUT_INT8,
        PhysicalType::I16 => INLAY_LAYOUT_INT16,
        PhysicalType::I32 => INLAY_LAYOUT_INT32,
        PhysicalType::I64 => INLAY_LAYOUT_INT64,
        PhysicalType::I128 => INLAY_LAYOUT_INT128,
        PhysicalType::U8 => INLAY_LAYOUT_UINT8,
        PhysicalType::U16 => INLAY_LAYOUT_UINT16,
        PhysicalType::U32 => INLAY_LAYOUT_UINT32,
        PhysicalType::U64 => INLAY_LAYOUT_UINT64,
        PhysicalType::U128 => INLAY_LAYOUT_UINT128,
        PhysicalType::F32 => INLAY_LAYOUT_FLOAT,
        PhysicalType::F64 => INLAY_LAYOUT_DOUBLE,
        PhysicalType::View => INLAY_LAYOUT_BYTES,
        PhysicalType::Interval => INLAY_LAYOUT_INTERVAL,
    }
}

/// Digits of a type, and how many of them are behind the point.
pub fn digits_of(ty: &LogicalType) -> (u8, u8) {
    match ty {
        LogicalType::Decimal { precision, scale } => (*precision, *scale),
        _ => (0, 0),
    }
}

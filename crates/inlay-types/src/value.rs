//! One SQL value: literals, parameters, statistics, results read one by one.

use crate::datetime::{
    MICROS_PER_SECOND, write_date, write_moment, write_time, write_timestamp, write_timestamp_tz,
};
use crate::digits::{push_padded, write_padded};
use crate::logical_type::{EnumType, Field};
use crate::nearest::nearest_f64;
use crate::time_tz::TimeTz;
use crate::{LogicalType, bit};
use std::cmp::Ordering;
use std::fmt::{self, Write};
use std::sync::Arc;

/// What lies below a NULL in doubles: R's NA, a NaN whose lower word is 1954. Every other host sees a NaN.
pub const NA: f64 = f64::from_bits(0x7FF0_0000_0000_07A2);

/// The bit of a UUID that memory holds flipped, so that signed numbers have the order of the text.
const UUID_FLIP: u128 = 1 << 127;

/// A UUID as memory holds it.
pub(crate) fn stored_uuid(uuid: u128) -> i128 {
    (uuid ^ UUID_FLIP) as i128
}

/// Months, days and microseconds; the three are added one after the other, in this order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(C)]
pub struct Interval {
    /// Calendar months.
    pub months: i32,
    /// Days.
    pub days: i32,
    /// Microseconds.
    pub micros: i64,
}

const _: () = assert!(size_of::<Interval>() == 16);

impl Interval {
    /// The key that intervals are compared by: a month counts 30 days, a day 24 hours.
    pub fn order_key(self) -> i128 {
        let days = i128::from(self.months) * 30 + i128::from(self.days);
        days * 86_400_000_000 + i128::from(self.micros)
    }
}

impl fmt::Display for Interval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts: Vec<String> = Vec::new();
        let mut part = |count: i64, unit: &str| {
            if count != 0 {
                parts.push(format!("{count} {unit}{}", if count.abs() == 1 { "" } else { "s" }));
            }
        };
        part(i64::from(self.months / 12), "year");
        part(i64::from(self.months % 12), "month");
        part(i64::from(self.days), "day");
        if self.micros != 0 || parts.is_empty() {
            let mut text = String::new();
            if self.micros < 0 {
                text.push('-');
            }
            write_time(&mut text, self.micros.unsigned_abs().min(i64::MAX as u64) as i64);
            parts.push(text);
        }
        f.write_str(&parts.join(" "))
    }
}

/// A value of any type. The variant is the type; a NULL carries none.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// NULL of any type.
    Null,
    /// BOOLEAN
    Boolean(bool),
    /// TINYINT
    TinyInt(i8),
    /// SMALLINT
    SmallInt(i16),
    /// INTEGER
    Integer(i32),
    /// BIGINT
    BigInt(i64),
    /// HUGEINT
    HugeInt(i128),
    /// UTINYINT
    UTinyInt(u8),
    /// USMALLINT
    USmallInt(u16),
    /// UINTEGER
    UInteger(u32),
    /// UBIGINT
    UBigInt(u64),
    /// UHUGEINT
    UHugeInt(u128),
    /// REAL
    Real(f32),
    /// DOUBLE
    Double(f64),
    /// DECIMAL
    Decimal {
        /// The value times `10^scale`.
        unscaled: i128,
        /// Digits in all.
        precision: u8,
        /// Digits behind the point.
        scale: u8,
    },
    /// VARCHAR
    Varchar(String),
    /// BLOB
    Blob(Vec<u8>),
    /// DATE, days since 1970-01-01
    Date(i32),
    /// TIME, microseconds since midnight
    Time(i64),
    /// TIMESTAMP, microseconds since 1970-01-01
    Timestamp(i64),
    /// INTERVAL
    Interval(Interval),
    /// TIMESTAMP_S, seconds since 1970-01-01
    TimestampS(i64),
    /// TIMESTAMP_MS, milliseconds since 1970-01-01
    TimestampMs(i64),
    /// TIMESTAMP_NS, nanoseconds since 1970-01-01
    TimestampNs(i64),
    /// TIMESTAMP WITH TIME ZONE, microseconds since 1970-01-01 UTC
    TimestampTz(i64),
    /// TIME WITH TIME ZONE
    TimeTz(TimeTz),
    /// UUID: the number that its 32 digits write
    Uuid(u128),
    /// BIT, in the bytes of [`crate::bit`]
    Bit(Vec<u8>),
    /// JSON, its text
    Json(String),
    /// ENUM
    Enum {
        /// Position of the word.
        position: u32,
        /// The words.
        words: Arc<EnumType>,
    },
    /// LIST
    List {
        /// Type of the elements.
        element: Arc<LogicalType>,
        /// The elements.
        values: Vec<Value>,
    },
    /// ARRAY, of as many elements as there are
    Array {
        /// Type of the elements.
        element: Arc<LogicalType>,
        /// The elements.
        values: Vec<Value>,
    },
    /// STRUCT
    Struct {
        /// Names and types.
        fields: Arc<[Field]>,
        /// One value per field.
        values: Vec<Value>,
    },
    /// MAP
    Map {
        /// Types of keys and values.
        types: Arc<(LogicalType, LogicalType)>,
        /// The pairs in order.
        entries: Vec<(Value, Value)>,
    },
    /// UNION
    Union {
        /// Names and types of all members.
        members: Arc<[Field]>,
        /// Which member it is.
        tag: u8,
        /// The value, of that member's type or NULL.
        value: Box<Value>,
    },
}

impl Value {
    /// The value's type; [`LogicalType::Null`] for NULL.
    pub fn logical_type(&self) -> LogicalType {
        match self {
            Self::Null => LogicalType::Null,
            Self::Boolean(_) => LogicalType::Boolean,
            Self::TinyInt(_) => LogicalType::TinyInt,
            Self::SmallInt(_) => LogicalType::SmallInt,
            Self::Integer(_) => LogicalType::Integer,
            Self::BigInt(_) => LogicalType::BigInt,
            Self::HugeInt(_) => LogicalType::HugeInt,
            Self::UTinyInt(_) => LogicalType::UTinyInt,
            Self::USmallInt(_) => LogicalType::USmallInt,
            Self::UInteger(_) => LogicalType::UInteger,
            Self::UBigInt(_) => LogicalType::UBigInt,
            Self::UHugeInt(_) => LogicalType::UHugeInt,
            Self::Real(_) => LogicalType::Real,
            Self::Double(_) => LogicalType::Double,
            Self::Decimal { precision, scale, .. } => LogicalType::decimal(*precision, *scale),
            Self::Varchar(_) => LogicalType::Varchar,
            Self::Blob(_) => LogicalType::Blob,
            Self::Date(_) => LogicalType::Date,
            Self::Time(_) => LogicalType::Time,
            Self::Timestamp(_) => LogicalType::Timestamp,
            Self::Interval(_) => LogicalType::Interval,
            Self::TimestampS(_) => LogicalType::TimestampS,
            Self::TimestampMs(_) => LogicalType::TimestampMs,
            Self::TimestampNs(_) => LogicalType::TimestampNs,
            Self::TimestampTz(_) => LogicalType::TimestampTz,
            Self::TimeTz(_) => LogicalType::TimeTz,
            Self::Uuid(_) => LogicalType::Uuid,
            Self::Bit(_) => LogicalType::Bit,
            Self::Json(_) => LogicalType::Json,
            Self::Enum { words, .. } => LogicalType::Enum(Arc::clone(words)),
            Self::List { element, .. } => LogicalType::List(Arc::clone(element)),
            Self::Array { element, values } => LogicalType::Array(Arc::clone(element), values.len() as u32),
            Self::Struct { fields, .. } => LogicalType::Struct(Arc::clone(fields)),
            Self::Map { types, .. } => LogicalType::Map(Arc::clone(types)),
            Self::Union { members, .. } => LogicalType::Union(Arc::clone(members)),
        }
    }

    /// Whether this is NULL.
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// The number, if this is an integer of any width that fits.
    pub fn as_i128(&self) -> Option<i128> {
        Some(match self {
            Self::TinyInt(v) => i128::from(*v),
            Self::SmallInt(v) => i128::from(*v),
            Self::Integer(v) => i128::from(*v),
            Self::BigInt(v) => i128::from(*v),
            Self::HugeInt(v) => *v,
            Self::UTinyInt(v) => i128::from(*v),
            Self::USmallInt(v) => i128::from(*v),
            Self::UInteger(v) => i128::from(*v),
            Self::UBigInt(v) => i128::from(*v),
            Self::UHugeInt(v) => i128::try_from(*v).ok()?,
            _ => return None,
        })
    }

    /// The number that lies in memory for integers, decimals (unscaled), booleans, dates, times and
    /// timestamps: the domain in which zone maps and dense keys think.
    pub fn as_stored_i128(&self) -> Option<i128> {
        Some(match self {
            Self::Boolean(v) => i128::from(*v),
            Self::Decimal { unscaled, .. } => *unscaled,
            Self::Date(v) => i128::from(*v),
            Self::Time(v) | Self::Timestamp(v) => i128::from(*v),
            Self::TimestampS(v) | Self::TimestampMs(v) | Self::TimestampNs(v) => i128::from(*v),
            Self::TimestampTz(v) => i128::from(*v),
            Self::TimeTz(v) => i128::from(v.stored()),
            Self::Uuid(v) => stored_uuid(*v),
            Self::Enum { position, .. } => i128::from(*position),
            other => return other.as_i128(),
        })
    }

    /// The value of `ty` whose memory holds `stored`; the inverse of [`Self::as_stored_i128`].
    /// `None` for types that are not carried as integers, or when it does not fit.
    pub fn from_stored_i128(ty: &LogicalType, stored: i128) -> Option<Self> {
        Some(match ty {
            LogicalType::Boolean => Self::Boolean(stored != 0),
            LogicalType::TinyInt => Self::TinyInt(stored.try_into().ok()?),
            LogicalType::SmallInt => Self::SmallInt(stored.try_into().ok()?),
            LogicalType::Null | LogicalType::Integer => Self::Integer(stored.try_into().ok()?),
            LogicalType::BigInt => Self::BigInt(stored.try_into().ok()?),
            LogicalType::HugeInt => Self::HugeInt(stored),
            LogicalType::UTinyInt => Self::UTinyInt(stored.try_into().ok()?),
            LogicalType::USmallInt => Self::USmallInt(stored.try_into().ok()?),
            LogicalType::UInteger => Self::UInteger(stored.try_into().ok()?),
            LogicalType::UBigInt => Self::UBigInt(stored.try_into().ok()?),
            LogicalType::UHugeInt => Self::UHugeInt(stored.try_into().ok()?),
            LogicalType::Decimal { precision, scale } => {
                Self::Decimal { unscaled: stored, precision: *precision, scale: *scale }
            }
            LogicalType::Date => Self::Date(stored.try_into().ok()?),
            LogicalType::Time => Self::Time(stored.try_into().ok()?),
            LogicalType::Timestamp => Self::Timestamp(stored.try_into().ok()?),
            LogicalType::TimestampS => Self::TimestampS(stored.try_into().ok()?),
            LogicalType::TimestampMs => Self::TimestampMs(stored.try_into().ok()?),
            LogicalType::TimestampNs => Self::TimestampNs(stored.try_into().ok()?),
            LogicalType::TimestampTz => Self::TimestampTz(stored.try_into().ok()?),
            LogicalType::TimeTz => Self::TimeTz(TimeTz::from_stored(stored.try_into().ok()?)),
            LogicalType::Uuid => Self::Uuid(stored as u128 ^ UUID_FLIP),
            LogicalType::Enum(words) => {
                let position = u32::try_from(stored).ok().filter(|p| words.get(*p).is_some())?;
                Self::Enum { position, words: Arc::clone(words) }
            }
            LogicalType::Real
            | LogicalType::Double
            | LogicalType::Varchar
            | LogicalType::Blob
            | LogicalType::Bit
            | LogicalType::Json
            | LogicalType::List(_)
            | LogicalType::Array(..)
            | LogicalType::Struct(_)
            | LogicalType::Map(_)
            | LogicalType::Union(_)
            | LogicalType::Interval => return None,
        })
    }

    /// The value that lies in memory as `stored`.
    ///
    /// Panics when the type has none: a carrier holds no other numbers, and whoever fills a vector with codes of labels from
    /// outside (`arrow::import`, `Segment::from_bytes`) looks at them.
    pub fn of_stored(ty: &LogicalType, stored: i128) -> Self {
        let Some(value) = Self::from_stored_i128(ty, stored) else {
            unreachable!("no value of {ty} lies in memory as {stored}")
        };
        value
    }

    /// The number as a double, for estimates; dates and times count as stored.
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Self::Real(v) => Some(f64::from(*v)),
            Self::Double(v) => Some(*v),
            Self::Decimal { unscaled, scale, .. } => Some(nearest_f64(*unscaled, *scale)),
            other => other.as_stored_i128().map(|v| v as f64),
        }
    }

    /// Text of VARCHAR values.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::Varchar(text) => Some(text),
            _ => None,
        }
    }

    /// Order of two values of one type as ORDER BY sees it: NaN above all numbers, NULL above everything.
    /// Values of different types compare as doubles where both are numbers, else by their text.
    pub fn total_cmp(&self, other: &Value) -> Ordering {
        match (self, other) {
            (Self::Null, Self::Null) => Ordering::Equal,
            (Self::Null, _) => Ordering::Greater,
            (_, Self::Null) => Ordering::Less,
            (Self::Varchar(a), Self::Varchar(b)) => a.as_bytes().cmp(b.as_bytes()),
            (Self::Json(a), Self::Json(b)) => a.as_bytes().cmp(b.as_bytes()),
            (Self::Blob(a), Self::Blob(b)) | (Self::Bit(a), Self::Bit(b)) => a.cmp(b),
            (Self::List { values: a, .. }, Self::List { values: b, .. })
            | (Self::Array { values: a, .. }, Self::Array { values: b, .. })
            | (Self::Struct { values: a, .. }, Self::Struct { values: b, .. }) => {
                let unequal = a.iter().zip(b).map(|(a, b)| a.total_cmp(b)).find(|order| order.is_ne());
                unequal.unwrap_or_else(|| a.len().cmp(&b.len()))
            }
            (Self::Map { entries: a, .. }, Self::Map { entries: b, .. }) => {
                let pair = |((k, v), (l, w)): (&(Value, Value), &(Value, Value))| {
                    k.total_cmp(l).then_with(|| v.total_cmp(w))
                };
                let unequal = a.iter().zip(b).map(pair).find(|order| order.is_ne());
                unequal.unwrap_or_else(|| a.len().cmp(&b.len()))
            }
            (Self::Union { tag: a, value: v, .. }, Self::Union { tag: b, value: w, .. }) => {
                a.cmp(b).then_with(|| v.total_cmp(w))
            }
            (Self::Interval(a), Self::Interval(b)) => a.order_key().cmp(&b.order_key()),
            (Self::UHugeInt(a), Self::UHugeInt(b)) => a.cmp(b),
            _ => {
                if let (Some(a), Some(b)) = (self.as_stored_i128(), other.as_stored_i128())
                    && self.decimal_scale() == other.decimal_scale()
                {
                    return a.cmp(&b);
                }
                match (self.as_f64(), other.as_f64()) {
                    (Some(a), Some(b)) => a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan())),
                    _ => self.to_string().cmp(&other.to_string()),
                }
            }
        }
    }

    fn decimal_scale(&self) -> u8 {
        if let Self::Decimal { scale, .. } = self { *scale } else { 0 }
    }
}

/// Writes `unscaled / 10^scale` with exactly `scale` digits behind the point.
pub fn write_decimal(out: &mut String, unscaled: i128, scale: u8) {
    if scale == 0 {
        let _ = write!(out, "{unscaled}");
        return;
    }
    let magnitude = unscaled.unsigned_abs();
    if let (Ok(magnitude), 1..=18) = (u64::try_from(magnitude), scale) {
        let power = 10u64.pow(u32::from(scale));
        if unscaled < 0 {
            out.push('-');
        }
        write_padded(out, magnitude / power, 1);
        out.push('.');
        return write_padded(out, magnitude % power, usize::from(scale));
    }
    let power = 10u128.pow(u32::from(scale.min(38)));
    let sign = if unscaled < 0 { "-" } else { "" };
    let _ = write!(out, "{sign}{}.{:0width$}", magnitude / power, magnitude % power, width = scale as usize);
}

/// The same as bytes.
pub fn push_decimal(out: &mut Vec<u8>, unscaled: i128, scale: u8) {
    if let (Ok(magnitude), 1..=18) = (u64::try_from(unscaled.unsigned_abs()), scale) {
        let power = 10u64.pow(u32::from(scale));
        if unscaled < 0 {
            out.push(b'-');
        }
        push_padded(out, magnitude / power, 1);
        out.push(b'.');
        return push_padded(out, magnitude % power, usize::from(scale));
    }
    let mut text = String::new();
    write_decimal(&mut text, unscaled, scale);
    out.extend_from_slice(text.as_bytes());
}

/// Absolute values that are written without an exponent.
const PLAIN_FLOATS: std::ops::Range<f64> = 1e-4..1e16;

/// Writes a float as SQL shows it: shortest digits that read back the same, `1.0`, `nan`, `inf`, `1e+20`.
/// `scientific` gives them with an exponent, if it is needed.
pub fn write_float(out: &mut String, value: f64, scientific: impl FnOnce() -> String) {
    if value.is_nan() {
        out.push_str("nan");
    } else if value.is_infinite() {
        out.push_str(if value > 0.0 { "inf" } else { "-inf" });
    } else if value != 0.0 && !PLAIN_FLOATS.contains(&value.abs()) {
        let scientific = scientific();
        match scientific.split_once('e') {
            Some((mantissa, exponent)) => {
                let (sign, digits) = exponent.strip_prefix('-').map_or(('+', exponent), |d| ('-', d));
                let _ = write!(out, "{mantissa}e{sign}{digits:0>2}");
            }
            None => out.push_str(&scientific),
        }
    } else {
        out.push_str(zmij::Buffer::new().format_finite(value));
    }
}

/// Writes a UUID as 32 hexadecimal digits in groups.
pub fn write_uuid(out: &mut String, uuid: u128) {
    let digits = format!("{uuid:032x}");
    for (index, digit) in digits.chars().enumerate() {
        if matches!(index, 8 | 12 | 16 | 20) {
            out.push('-');
        }
        out.push(digit);
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        match self {
            Self::Null => text.push_str("NULL"),
            Self::Boolean(v) => return write!(f, "{v}"),
            Self::Real(v) => {
                // The double nearest to an f32 has more digits than the f32 needs.
                let short = format!("{v}");
                if v.is_finite() && (*v == 0.0 || (1e-4..1e16).contains(&v.abs())) {
                    text.push_str(&short);
                    if v.fract() == 0.0 {
                        text.push_str(".0");
                    }
                } else {
                    write_float(&mut text, f64::from(*v), || format!("{v:e}"));
                }
            }
            Self::Double(v) => write_float(&mut text, *v, || format!("{v:e}")),
            Self::Decimal { unscaled, scale, .. } => write_decimal(&mut text, *unscaled, *scale),
            Self::Varchar(v) => return f.write_str(v),
            Self::Blob(v) => {
                for byte in v {
                    match byte {
                        b' '..=b'~' if *byte != b'\\' => text.push(*byte as char),
                        _ => {
                            let _ = write!(text, "\\x{byte:02X}");
                        }
                    }
                }
            }
            Self::Date(v) => write_date(&mut text, *v),
            Self::Time(v) => write_time(&mut text, *v),
            Self::Timestamp(v) => write_timestamp(&mut text, *v),
            Self::Interval(v) => return write!(f, "{v}"),
            Self::UHugeInt(v) => return write!(f, "{v}"),
            Self::TimestampTz(v) => write_timestamp_tz(&mut text, *v, 0),
            Self::TimestampS(v) => write_moment(&mut text, *v, 1, 0),
            Self::TimestampMs(v) => write_moment(&mut text, *v, 1000, 3),
            Self::TimestampNs(v) => write_moment(&mut text, *v, 1_000_000_000, 9),
            Self::TimeTz(v) => return write!(f, "{v}"),
            Self::Uuid(v) => write_uuid(&mut text, *v),
            Self::Bit(v) => bit::write(&mut text, v),
            Self::Json(v) => return f.write_str(v),
            Self::Enum { position, words } => match words.get(*position) {
                Some(word) => text.push_str(word),
                None => return write!(f, "(no label {position})"),
            },
            Self::List { .. } | Self::Array { .. } | Self::Struct { .. } | Self::Map { .. } => {
                crate::nested::text::write(&mut text, self);
            }
            Self::Union { value, .. } => return write!(f, "{value}"),
            Self::TinyInt(v) => return write!(f, "{v}"),
            Self::SmallInt(v) => return write!(f, "{v}"),
            Self::Integer(v) => return write!(f, "{v}"),
            Self::BigInt(v) => return write!(f, "{v}"),
            Self::HugeInt(v) => return write!(f, "{v}"),
            Self::UTinyInt(v) => return write!(f, "{v}"),
            Self::USmallInt(v) => return write!(f, "{v}"),
            Self::UInteger(v) => return write!(f, "{v}"),
            Self::UBigInt(v) => return write!(f, "{v}"),
        }
        f.write_str(&text)
    }
}

/// Largest time of day, in microseconds (24:00:00 is accepted).
pub const TIME_MAX: i64 = 24 * 3600 * MICROS_PER_SECOND;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_print_as_sql_shows_them() {
        let shown = |v: Value| v.to_string();
        assert_eq!(shown(Value::Double(1.0)), "1.0");
        assert_eq!(shown(Value::Double(0.1)), "0.1");
        assert_eq!(shown(Value::Double(1e20)), "1e+20");
        assert_eq!(shown(Value::Double(f64::NAN)), "nan");
        assert_eq!(shown(Value::Decimal { unscaled: -5, precision: 4, scale: 2 }), "-0.05");
        assert_eq!(shown(Value::Date(0)), "1970-01-01");
        assert_eq!(shown(Value::Timestamp(1_500_000)), "1970-01-01 00:00:01.5");
        let interval = Interval { months: 14, days: 1, micros: 0 };
        assert_eq!(shown(Value::Interval(interval)), "1 year 2 months 1 day");
    }

    #[test]
    fn floats_have_as_few_digits_as_read_back_the_same() {
        let mut state = 7u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state >> 11
        };
        let mut values = vec![
            0.0,
            -0.0,
            1e-4,
            1e16_f64.next_down(),
            1e-4_f64.next_up(),
            0.1,
            123.0,
            9_007_199_254_740_993.0,
        ];
        for exponent in -4..16 {
            for _ in 0..2000 {
                let digits = 10u64.pow(1 + (random() % 17) as u32);
                let mantissa = 1.0 + (random() % digits) as f64 / digits as f64 * 8.99;
                values.push(mantissa * 10f64.powi(exponent));
            }
        }
        for value in values.into_iter().filter(|value| *value == 0.0 || PLAIN_FLOATS.contains(value)) {
            for value in [value, -value] {
                let (mut found, mut expected) = (String::new(), format!("{value}"));
                if !expected.contains('.') {
                    expected.push_str(".0");
                }
                write_float(&mut found, value, String::new);
                assert_eq!(found.parse(), Ok(value), "{expected}");
                // Of two texts that are as near, another may be taken.
                assert_eq!(found.len(), expected.len(), "{found} {expected}");
            }
        }
        // The even one, as DuckDB and Python do.
        let sixteenths = |count: i64| Value::Double(count as f64 / 16.0).to_string();
        assert_eq!(sixteenths(8_865_327_411_216 * 16 + 5), "8865327411216.312");
        assert_eq!(sixteenths(8_865_327_411_216 * 16 + 7), "8865327411216.438");
    }
}

//! Which row groups a filter can match, by the statistics in the file's footer.

use inlay_storage::{Cmp, SegmentPredicate};
use inlay_types::{LogicalType, Value};
use parquet::file::statistics::Statistics;
use std::cmp::Ordering;

/// Bounds of a column in a row group. Texts may be cut: then `min` is too small, and `max` too large.
#[derive(Debug)]
pub(super) struct Bounds {
    min: Option<Value>,
    max: Option<Value>,
    null_count: Option<u64>,
    rows: u64,
    is_float: bool,
}

impl Bounds {
    /// What the statistics of a column of type `ty` say. `is_as_stored` says whether times have the unit of the type.
    pub fn of(statistics: &Statistics, ty: LogicalType, is_as_stored: bool, rows: u64) -> Self {
        let is_signed_order = !statistics.is_min_max_deprecated();
        let decimal = |bytes: Option<&[u8]>| Value::from_stored_i128(&ty, of_big_endian(bytes?)?);
        let (min, max) = match statistics {
            Statistics::Int64(s) if is_as_stored && is_time(&ty) => {
                let value = |v: Option<&i64>| Value::from_stored_i128(&ty, i128::from(*v?));
                (value(s.min_opt()), value(s.max_opt()))
            }
            Statistics::Int32(s) if is_unsigned(&ty) && is_signed_order => {
                let value = |v: Option<&i32>| Value::from_stored_i128(&ty, i128::from(*v? as u32));
                (value(s.min_opt()), value(s.max_opt()))
            }
            Statistics::Int64(s) if ty == LogicalType::UBigInt && is_signed_order => {
                let value = |v: Option<&i64>| Value::from_stored_i128(&ty, i128::from(*v? as u64));
                (value(s.min_opt()), value(s.max_opt()))
            }
            Statistics::FixedLenByteArray(s)
                if matches!(ty, LogicalType::Decimal { .. }) && is_signed_order =>
            {
                (decimal(s.min_opt().map(|v| v.data())), decimal(s.max_opt().map(|v| v.data())))
            }
            Statistics::Float(s) if ty == LogicalType::Real => {
                (s.min_opt().map(|v| Value::Real(*v)), s.max_opt().map(|v| Value::Real(*v)))
            }
            Statistics::Boolean(s) => {
                (s.min_opt().map(|v| Value::Boolean(*v)), s.max_opt().map(|v| Value::Boolean(*v)))
            }
            Statistics::Int32(s) => {
                (stored(ty.clone(), s.min_opt().copied()), stored(ty.clone(), s.max_opt().copied()))
            }
            Statistics::Int64(s) => {
                (stored(ty.clone(), s.min_opt().copied()), stored(ty.clone(), s.max_opt().copied()))
            }
            Statistics::Double(s) if ty == LogicalType::Double => {
                (s.min_opt().map(|v| Value::Double(*v)), s.max_opt().map(|v| Value::Double(*v)))
            }
            Statistics::ByteArray(s) if ty == LogicalType::Varchar && !statistics.is_min_max_deprecated() => {
                (text(s.min_opt().map(|v| v.data())), text(s.max_opt().map(|v| v.data())))
            }
            _ => (None, None),
        };
        let null_count = statistics.null_count_opt();
        Self { min, max, null_count, rows, is_float: ty.is_float() }
    }

    /// The smallest value, or less.
    pub fn min(&self) -> Option<&Value> {
        self.min.as_ref()
    }

    /// The largest value, or more.
    pub fn max(&self) -> Option<&Value> {
        self.max.as_ref()
    }

    /// The largest value or the smallest one, NULL if there is none, where the statistics are not only a bound: texts may be cut, and
    /// NaN is in no statistics.
    pub fn extreme(&self, statistics: &Statistics, greatest: bool) -> Option<Value> {
        if self.null_count == Some(self.rows) {
            return Some(Value::Null);
        }
        let is_text = matches!(statistics, Statistics::ByteArray(_));
        let is_exact = if greatest { statistics.max_is_exact() } else { statistics.min_is_exact() };
        let value = if greatest { self.max() } else { self.min() };
        value.filter(|_| !self.is_float && (is_exact || !is_text)).cloned()
    }

    /// Whether some row may satisfy the predicate; true when in doubt.
    pub fn may_match(&self, predicate: &SegmentPredicate) -> bool {
        if matches!(predicate, SegmentPredicate::IsNull) {
            return self.null_count != Some(0);
        }
        if self.null_count == Some(self.rows) {
            return false;
        }
        let equal = |value: &Value| self.reaches_down_to(value, true) && self.reaches_up_to(value, true);
        match predicate {
            SegmentPredicate::Compare(cmp, value) => match cmp {
                Cmp::Eq => equal(value),
                Cmp::Lt => self.reaches_down_to(value, false),
                Cmp::LtEq => self.reaches_down_to(value, true),
                Cmp::Gt => self.reaches_up_to(value, false),
                Cmp::GtEq => self.reaches_up_to(value, true),
                Cmp::NotEq => true,
            },
            SegmentPredicate::Between { low, low_inclusive, high, high_inclusive } => {
                self.reaches_up_to(low, *low_inclusive) && self.reaches_down_to(high, *high_inclusive)
            }
            SegmentPredicate::In(values) => values.iter().any(|value| !value.is_null() && equal(value)),
            SegmentPredicate::KeyBitmap(keys) => {
                let bound = |value: &Option<Value>| i64::try_from(value.as_ref()?.as_stored_i128()?).ok();
                match (bound(&self.min), bound(&self.max)) {
                    (Some(min), Some(max)) => keys.intersects(min, max),
                    _ => true,
                }
            }
            SegmentPredicate::IsNull
            | SegmentPredicate::IsNotNull
            | SegmentPredicate::Bloom(_)
            | SegmentPredicate::Generic(_) => true,
        }
    }

    /// Whether some value may be below `value`, or equal.
    fn reaches_down_to(&self, value: &Value, or_equal: bool) -> bool {
        self.min.as_ref().is_none_or(|min| match compare(min, value) {
            Some(Ordering::Less) | None => true,
            Some(Ordering::Equal) => or_equal,
            Some(Ordering::Greater) => false,
        })
    }

    /// Whether some value may be above `value`, or equal. NaN lies above everything and is in no statistics.
    fn reaches_up_to(&self, value: &Value, or_equal: bool) -> bool {
        self.is_float
            || self.max.as_ref().is_none_or(|max| match compare(max, value) {
                Some(Ordering::Greater) | None => true,
                Some(Ordering::Equal) => or_equal,
                Some(Ordering::Less) => false,
            })
    }
}

/// Order of two values of one type, `None` in doubt.
fn compare(left: &Value, right: &Value) -> Option<Ordering> {
    let is_nan = |value: &Value| value.as_f64().is_some_and(f64::is_nan);
    let alike = left.logical_type() == right.logical_type();
    (alike && !is_nan(left) && !is_nan(right)).then(|| left.total_cmp(right))
}

/// Integers of files count as stored only for types that lie in files as they do here.
fn stored(ty: LogicalType, value: Option<impl Into<i128>>) -> Option<Value> {
    let lies_alike = matches!(
        ty,
        LogicalType::TinyInt
            | LogicalType::SmallInt
            | LogicalType::Integer
            | LogicalType::BigInt
            | LogicalType::Date
            | LogicalType::Decimal { .. }
    );
    if lies_alike { Value::from_stored_i128(&ty, value?.into()) } else { None }
}

/// Types whose integers count in a unit that files may have otherwise.
fn is_time(ty: &LogicalType) -> bool {
    matches!(
        ty,
        LogicalType::Time
            | LogicalType::Timestamp
            | LogicalType::TimestampTz
            | LogicalType::TimestampMs
            | LogicalType::TimestampNs
    )
}

fn is_unsigned(ty: &LogicalType) -> bool {
    matches!(ty, LogicalType::UTinyInt | LogicalType::USmallInt | LogicalType::UInteger)
}

/// A signed integer, the highest byte first.
fn of_big_endian(bytes: &[u8]) -> Option<i128> {
    if bytes.is_empty() || bytes.len() > 16 {
        return None;
    }
    let sign = if bytes[0] & 0x80 != 0 { -1 } else { 0 };
    Some(bytes.iter().fold(sign, |value: i128, &byte| value << 8 | i128::from(byte)))
}

fn text(bytes: Option<&[u8]>) -> Option<Value> {
    std::str::from_utf8(bytes?).ok().map(|text| Value::Varchar(text.to_string()))
}

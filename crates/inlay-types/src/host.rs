//! Values as a host's arrays hold them: as they are, or one number per row that the host can compute with.
//!
//! ```text
//! Stored    the carrier: integers, floats, booleans as bytes, timestamps     NULL: the smallest integer, NaN, false
//! Float64   DECIMAL and 128-bit integers as doubles                          NA
//! Days      DATE as a 64-bit number of days (NumPy's datetime64[D])          the smallest integer (NaT)
//! Midnights DATE as microseconds since 1970 (pandas' datetime64[us])         the smallest integer (NaT), also where they do not fit
//! Micros    INTERVAL as microseconds, a month as 30 days (timedelta64[us])   the smallest integer (NaT)
//! Nulls     one byte for each row: 1 where it is NULL
//! ```
//! [`write()`] converts rows of a vector of any kind into memory of the caller's, which may lie anywhere in a whole column.
//! A host's calendar has no infinity: [`misfit`] finds what a column has of it, and intervals that are too long.

use crate::datetime::{
    DATE_INFINITY, MICROS_PER_DAY, TIMESTAMP_INFINITY, is_finite_date, is_finite_timestamp,
};
use crate::nearest::{EXACT_PRECISION, nearest_f64, power_of_ten};
use crate::value::NA;
use crate::{Buffer, Interval, LogicalType, Native, PhysicalType, Vector, VectorKind, View};

/// How a host wants the values of a column. See the module documentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HostForm {
    /// The carrier's values.
    Stored,
    /// Doubles.
    Float64,
    /// 64-bit days since 1970.
    Days,
    /// 64-bit microseconds since 1970, of dates.
    Midnights,
    /// 64-bit microseconds, of intervals.
    Micros,
    /// Which rows are NULL.
    Nulls,
}

impl HostForm {
    /// The form in which a host computes with values of type `ty`; `None` for texts and the like.
    pub fn of(ty: &LogicalType) -> Option<Self> {
        match ty {
            LogicalType::Decimal { .. } | LogicalType::HugeInt | LogicalType::UHugeInt => Some(Self::Float64),
            LogicalType::Date => Some(Self::Days),
            LogicalType::Interval => Some(Self::Micros),
            LogicalType::Time | LogicalType::TimeTz | LogicalType::Uuid | LogicalType::Enum(_) => None,
            other => Self::Stored.fits(other).then_some(Self::Stored),
        }
    }

    /// Bytes of a value of type `ty`.
    pub fn width(self, ty: &LogicalType) -> usize {
        match self {
            Self::Stored => ty.physical().size(),
            Self::Float64 | Self::Days | Self::Midnights | Self::Micros => 8,
            Self::Nulls => 1,
        }
    }

    /// Whether values of type `ty` have this form.
    pub fn fits(self, ty: &LogicalType) -> bool {
        match self {
            // Views point into a heap that an array of the host does not have.
            Self::Stored => !ty.is_view(),
            Self::Float64 => {
                matches!(ty, LogicalType::Decimal { .. } | LogicalType::HugeInt | LogicalType::UHugeInt)
            }
            Self::Days | Self::Midnights => *ty == LogicalType::Date,
            Self::Micros => *ty == LogicalType::Interval,
            Self::Nulls => true,
        }
    }
}

/// Writes the rows of `part` to `target`, which has room for exactly them and is aligned for their form.
///
/// Panics when the room is another, or when the form is none of the type's; see [`HostForm::fits`].
pub fn write(part: &Vector, form: HostForm, target: &mut [u8]) {
    assert!(form.fits(part.ty()), "{} has no such form", part.ty());
    assert_eq!(target.len(), part.len() * form.width(part.ty()), "another number of rows");
    match form {
        HostForm::Stored => write_stored(part, target),
        HostForm::Float64 => write_doubles(part, target),
        HostForm::Days => fill(part, target, i64::MIN, |days: i32| i64::from(days)),
        HostForm::Midnights => fill(part, target, i64::MIN, |days: i32| {
            i64::from(days).checked_mul(MICROS_PER_DAY).unwrap_or(i64::MIN)
        }),
        HostForm::Micros => fill(part, target, i64::MIN, micros_of),
        HostForm::Nulls => write_nulls(part, target),
    }
}

/// Largest number of days whose microseconds have 64 bits.
pub const MIDNIGHT_DAYS_MAX: i64 = i64::MAX / MICROS_PER_DAY;

/// The first row of a column in a host's form that is not what the form says: infinity, which the host would show as the
/// last moment of its calendar, or an interval that is too long; and what it is.
pub fn misfit(
    ty: &LogicalType,
    form: HostForm,
    data: &Buffer,
    nulls: Option<&Buffer>,
) -> Option<(usize, &'static str)> {
    let (low, high, name) = match (ty, form) {
        (LogicalType::Date, HostForm::Days) => {
            (i64::from(-DATE_INFINITY), i64::from(DATE_INFINITY), "an infinite DATE")
        }
        (
            LogicalType::Timestamp
            | LogicalType::TimestampTz
            | LogicalType::TimestampS
            | LogicalType::TimestampMs
            | LogicalType::TimestampNs,
            HostForm::Stored,
        ) => (-TIMESTAMP_INFINITY, TIMESTAMP_INFINITY, "an infinite TIMESTAMP"),
        // What is too long was made the longest that there is.
        (LogicalType::Interval, HostForm::Micros) => {
            (i64::MIN, i64::MAX, "an INTERVAL of more than 292,271 years")
        }
        _ => return None,
    };
    let values = data.typed::<i64>();
    let is_null = |row: usize| nulls.is_some_and(|nulls| nulls.bytes()[row] != 0);
    let is_end = |value: i64| (value == low) | (value == high);
    for (index, chunk) in values.chunks(1024).enumerate() {
        if !chunk.iter().fold(false, |found, &value| found | is_end(value)) {
            continue;
        }
        let rows = index * 1024..index * 1024 + chunk.len();
        let found = rows.into_iter().find(|&row| is_end(values[row]) && !is_null(row));
        if let Some(row) = found {
            return Some((row, name));
        }
    }
    None
}

/// What a vector of dates, times or moments has that the calendars and clocks of data frames have not.
pub fn unshown_moment(vector: &Vector) -> Option<&'static str> {
    let ends = match vector.ty() {
        LogicalType::Date => "an infinite DATE",
        LogicalType::Time => "the TIME 24:00:00",
        LogicalType::Timestamp
        | LogicalType::TimestampTz
        | LogicalType::TimestampS
        | LogicalType::TimestampMs
        | LogicalType::TimestampNs => "an infinite TIMESTAMP",
        _ => return None,
    };
    let flat = vector.flatten();
    let is_unshown = |row: usize| match flat.ty() {
        LogicalType::Date => !is_finite_date(flat.values::<i32>()[row]),
        LogicalType::Time => flat.values::<i64>()[row] >= MICROS_PER_DAY,
        _ => !is_finite_timestamp(flat.values::<i64>()[row]),
    };
    (0..flat.len()).any(|row| is_unshown(row) && !flat.is_null(row)).then_some(ends)
}

/// Whether midnights in microseconds have 64 bits, for all of these days.
pub fn fit_midnights(days: &[i64]) -> bool {
    days.iter().all(|&day| day == i64::MIN || (-MIDNIGHT_DAYS_MAX..=MIDNIGHT_DAYS_MAX).contains(&day))
}

/// Days as midnights in microseconds, in place; `false`, and no change, if some are too far away.
pub fn days_to_midnights(data: &mut [u8]) -> bool {
    let days = crate::buffer::values_of_mut::<i64>(data);
    if !fit_midnights(days) {
        return false;
    }
    for day in days.iter_mut().filter(|day| **day != i64::MIN) {
        *day *= MICROS_PER_DAY;
    }
    true
}

fn write_stored(part: &Vector, target: &mut [u8]) {
    match part.physical_type() {
        PhysicalType::Bool | PhysicalType::U8 => fill(part, target, 0, |value: u8| value),
        PhysicalType::I8 => fill(part, target, i8::MIN, |value: i8| value),
        PhysicalType::I16 => fill(part, target, i16::MIN, |value: i16| value),
        PhysicalType::I32 => fill(part, target, i32::MIN, |value: i32| value),
        PhysicalType::I64 => fill(part, target, i64::MIN, |value: i64| value),
        PhysicalType::I128 => fill(part, target, i128::MIN, |value: i128| value),
        PhysicalType::U16 => fill(part, target, 0, |value: u16| value),
        PhysicalType::U32 => fill(part, target, 0, |value: u32| value),
        PhysicalType::U64 => fill(part, target, 0, |value: u64| value),
        PhysicalType::U128 => fill(part, target, 0, |value: u128| value),
        PhysicalType::F32 => fill(part, target, f32::NAN, |value: f32| value),
        PhysicalType::F64 => fill(part, target, NA, |value: f64| value),
        PhysicalType::Interval => fill(part, target, Interval::default(), |value: Interval| value),
        PhysicalType::View => fill(part, target, View::EMPTY, |value: View| value),
    }
}

fn write_doubles(part: &Vector, target: &mut [u8]) {
    let (scale, is_exact) = match part.ty() {
        LogicalType::Decimal { scale, precision } => (*scale, *precision <= EXACT_PRECISION),
        _ => (0, true),
    };
    let divisor = power_of_ten(scale);
    match part.physical_type() {
        PhysicalType::I16 => fill(part, target, NA, |value: i16| f64::from(value) / divisor),
        PhysicalType::I32 => fill(part, target, NA, |value: i32| f64::from(value) / divisor),
        PhysicalType::I64 if is_exact => fill(part, target, NA, |value: i64| value as f64 / divisor),
        PhysicalType::I64 => fill(part, target, NA, |value: i64| nearest_f64(i128::from(value), scale)),
        PhysicalType::U128 => fill(part, target, NA, |value: u128| value as f64),
        _ => fill(part, target, NA, |value: i128| nearest_f64(value, scale)),
    }
}

/// An interval has no months in NumPy: each counts 30 days. One that is too long saturates.
fn micros_of(interval: Interval) -> i64 {
    let days = i64::from(interval.months) * 30 + i64::from(interval.days);
    days.saturating_mul(MICROS_PER_DAY).saturating_add(interval.micros)
}

fn write_nulls(part: &Vector, target: &mut [u8]) {
    match part.validity() {
        None => target.fill(0),
        Some(_) if part.is_constant() => target.fill(u8::from(part.is_null(0))),
        Some(validity) => {
            for (slots, word) in target.chunks_mut(64).zip(validity.words()) {
                for (bit, slot) in slots.iter_mut().enumerate() {
                    *slot = u8::from(word >> bit & 1 == 0);
                }
            }
        }
    }
}

fn fill<T: Native, U: Native>(part: &Vector, target: &mut [u8], na: U, convert: impl Fn(T) -> U) {
    let target = crate::buffer::values_of_mut::<U>(target);
    match part.kind() {
        VectorKind::Flat => {
            for (slot, &value) in target.iter_mut().zip(part.values::<T>()) {
                *slot = convert(value);
            }
        }
        VectorKind::Constant => {
            let value = if part.is_constant_null() { na } else { convert(part.values::<T>()[0]) };
            return target.fill(value);
        }
        VectorKind::Dictionary(dictionary) => {
            let values: Vec<U> =
                dictionary.values().values::<T>().iter().map(|&value| convert(value)).collect();
            for (slot, &code) in target.iter_mut().zip(part.codes()) {
                *slot = values[code as usize];
            }
        }
    }
    let Some(validity) = part.validity() else { return };
    for (slots, &word) in target.chunks_mut(64).zip(validity.words()) {
        let mut nulls = !word;
        while nulls != 0 {
            match slots.get_mut(nulls.trailing_zeros() as usize) {
                Some(slot) => *slot = na,
                None => break,
            }
            nulls &= nulls - 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Bitmap, Buffer, Dictionary, Value};

    /// Rows as flat, dictionary (with all codes in use) and constant vectors.
    fn kinds(ty: &LogicalType, values: &[Value]) -> Vec<Vector> {
        let flat = Vector::from_sql_values(ty.clone(), values).unwrap();
        let known: Vec<Value> = values.iter().filter(|value| !value.is_null()).cloned().collect();
        let dictionary = Dictionary::new(Vector::from_sql_values(ty.clone(), &known).unwrap());
        let mut code = 0;
        let codes = values.iter().map(|value| {
            code += u32::from(!value.is_null());
            if value.is_null() { 0 } else { code - 1 }
        });
        let codes = Buffer::from_vec(codes.collect::<Vec<u32>>());
        let validity = Bitmap::from_fn(values.len(), |row| !values[row].is_null());
        let coded = Vector::dictionary(dictionary, codes, values.len(), Some(validity));
        vec![flat, coded]
    }

    fn written<T: Native>(part: &Vector, form: HostForm) -> Vec<T> {
        let mut buffer = Buffer::zeroed(part.len() * size_of::<T>());
        write(part, form, buffer.make_mut::<u8>());
        buffer.typed::<T>().to_vec()
    }

    #[test]
    fn decimals_are_doubles_and_null_is_nan() {
        let ty = LogicalType::decimal(9, 2);
        let decimal = |stored| Value::Decimal { unscaled: stored, precision: 9, scale: 2 };
        for part in kinds(&ty, &[decimal(125), Value::Null, decimal(-7)]) {
            let doubles = written::<f64>(&part, HostForm::Float64);
            assert_eq!((doubles[0], doubles[2]), (1.25, -0.07));
            assert!(doubles[1].is_nan());
            assert_eq!(written::<u8>(&part, HostForm::Nulls), [0, 1, 0]);
        }
    }

    #[test]
    fn stored_values_keep_na_in_null_slots_beyond_a_word() {
        let values: Vec<Value> =
            (0..130).map(|row| if row % 65 == 64 { Value::Null } else { Value::Integer(row) }).collect();
        let expected: Vec<i32> = (0..130).map(|row| if row % 65 == 64 { i32::MIN } else { row }).collect();
        for part in kinds(&LogicalType::Integer, &values) {
            assert_eq!(written::<i32>(&part, HostForm::Stored), expected);
            assert_eq!(written::<u8>(&part, HostForm::Nulls)[63..66], [0, 1, 0]);
        }
    }

    #[test]
    fn constants_fill_all_rows() {
        let ty = LogicalType::Date;
        let date = Vector::constant(ty.clone(), &Value::Date(-1), 3).unwrap();
        assert_eq!(written::<i64>(&date, HostForm::Days), [-1; 3]);
        assert_eq!(written::<i64>(&date, HostForm::Midnights), [-MICROS_PER_DAY; 3]);
        let nulls = Vector::nulls(ty, 2);
        assert_eq!(written::<i64>(&nulls, HostForm::Days), [i64::MIN; 2]);
        assert_eq!(written::<u8>(&nulls, HostForm::Nulls), [1, 1]);
    }

    #[test]
    fn what_a_host_cannot_show_is_found() {
        let finite = Buffer::copy_of(&[0i64, i64::MIN, 5]);
        let nulls = Buffer::copy_of(&[0u8, 1, 0]);
        let moment = LogicalType::TimestampNs;
        assert_eq!(misfit(&moment, HostForm::Stored, &finite, Some(&nulls)), None);
        assert_eq!(misfit(&LogicalType::BigInt, HostForm::Stored, &Buffer::copy_of(&[i64::MAX]), None), None);
        let mut late = vec![7i64; 3000];
        late[2500] = -TIMESTAMP_INFINITY;
        let found = misfit(&moment, HostForm::Stored, &Buffer::from_vec(late), None);
        assert_eq!(found, Some((2500, "an infinite TIMESTAMP")));
        let days = Buffer::copy_of(&[1i64, i64::from(DATE_INFINITY)]);
        assert_eq!(misfit(&LogicalType::Date, HostForm::Days, &days, None).map(|found| found.0), Some(1));
        assert_eq!(misfit(&LogicalType::Interval, HostForm::Micros, &finite, Some(&nulls)), None);
        assert!(misfit(&LogicalType::Interval, HostForm::Micros, &finite, None).is_some());
    }

    #[test]
    fn days_become_midnights_only_if_all_fit() {
        let buffer_of = |days: &[i64]| {
            let mut buffer = Buffer::zeroed(size_of_val(days));
            buffer.make_mut::<i64>().copy_from_slice(days);
            buffer
        };
        let mut days = buffer_of(&[-1, i64::MIN, 2]);
        assert!(days_to_midnights(days.make_mut::<u8>()));
        assert_eq!(days.typed::<i64>(), [-MICROS_PER_DAY, i64::MIN, 2 * MICROS_PER_DAY]);
        let mut far = buffer_of(&[1, MIDNIGHT_DAYS_MAX + 1]);
        assert!(!days_to_midnights(far.make_mut::<u8>()));
        assert_eq!(far.typed::<i64>(), [1, MIDNIGHT_DAYS_MAX + 1]);
    }

    #[test]
    fn months_count_thirty_days_and_long_intervals_saturate() {
        let values = [
            Value::Interval(Interval { months: 1, days: 1, micros: 5 }),
            Value::Interval(Interval { months: i32::MAX, days: 0, micros: i64::MAX }),
        ];
        let part = Vector::from_sql_values(LogicalType::Interval, &values).unwrap();
        assert_eq!(written::<i64>(&part, HostForm::Micros), [31 * MICROS_PER_DAY + 5, i64::MAX]);
    }
}

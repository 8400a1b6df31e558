//! The order of single values that lie in flat vectors and [`Column`]s, without making SQL values of them.

use super::column::Column;
use inlay_types::{Interval, LogicalType, Native, PhysicalType, Vector, View};
use std::cmp::Ordering;

/// One value: its bits, and its bytes if it is carried as a view.
#[derive(Clone, Copy)]
pub(super) struct Item<'a> {
    words: (u64, u64),
    bytes: &'a [u8],
}

impl<'a> Item<'a> {
    /// Row `row` of a flat vector.
    pub(super) fn of_vector(vector: &'a Vector, row: usize) -> Self {
        let wide = |view: &View| (view.head, view.tail);
        match vector.physical_type() {
            PhysicalType::View => {
                let view = &vector.views()[row];
                Self { words: wide(view), bytes: view.bytes(vector.heap().buffers()) }
            }
            other => {
                let words = match other.size() {
                    1 => (u64::from(vector.values::<u8>()[row]), 0),
                    2 => (u64::from(vector.values::<u16>()[row]), 0),
                    4 => (u64::from(vector.values::<u32>()[row]), 0),
                    8 => (vector.values::<u64>()[row], 0),
                    _ => wide(&vector.values::<View>()[row]),
                };
                Self { words, bytes: &[] }
            }
        }
    }

    /// Row `row` of a column.
    pub(super) fn of_column(column: &'a Column, row: usize) -> Self {
        Self { words: column.words(row), bytes: column.bytes(row) }
    }
}

/// Compares values of one type as ORDER BY does: NaN equals NaN and is above all numbers, -0.0 equals 0.0.
#[derive(Clone)]
pub(super) struct Comparator {
    ty: LogicalType,
    carrier: PhysicalType,
}

impl Comparator {
    pub(super) fn new(ty: &LogicalType) -> Self {
        Self { ty: ty.clone(), carrier: ty.physical() }
    }

    pub(super) fn compare(&self, a: Item<'_>, b: Item<'_>) -> Ordering {
        let ((x, high_x), (y, high_y)) = (a.words, b.words);
        let wide = |low: u64, high: u64| u128::from(high) << 64 | u128::from(low);
        match self.carrier {
            PhysicalType::Bool
            | PhysicalType::U8
            | PhysicalType::U16
            | PhysicalType::U32
            | PhysicalType::U64 => x.cmp(&y),
            PhysicalType::I8 => (x as i8).cmp(&(y as i8)),
            PhysicalType::I16 => (x as i16).cmp(&(y as i16)),
            PhysicalType::I32 => (x as i32).cmp(&(y as i32)),
            PhysicalType::I64 => (x as i64).cmp(&(y as i64)),
            PhysicalType::I128 => (wide(x, high_x) as i128).cmp(&(wide(y, high_y) as i128)),
            PhysicalType::U128 => wide(x, high_x).cmp(&wide(y, high_y)),
            PhysicalType::F32 => {
                order_floats(f64::from(f32::from_bits(x as u32)), f64::from(f32::from_bits(y as u32)))
            }
            PhysicalType::F64 => order_floats(f64::from_bits(x), f64::from_bits(y)),
            PhysicalType::Interval => interval_of(a.words).order_key().cmp(&interval_of(b.words).order_key()),
            PhysicalType::View => order_bytes(&self.ty, a.bytes, b.bytes),
        }
    }

    /// Whether the values are equal.
    pub(super) fn equal(&self, a: Item<'_>, b: Item<'_>) -> bool {
        match self.carrier {
            PhysicalType::View => a.bytes == b.bytes || self.compare(a, b).is_eq(),
            _ => a.words == b.words || self.compare(a, b).is_eq(),
        }
    }
}

/// Words in the order of the values of a flat vector, or in the opposite one; of NULLs any. `None`: the type has none, whatever the
/// values.
pub(super) fn order_words(vector: &Vector, descending: bool) -> Option<Vec<u64>> {
    const SIGN: u64 = 1 << 63;
    fn of<T: Native>(vector: &Vector, descending: bool, word: impl Fn(T) -> u64) -> Vec<u64> {
        let turned = if descending { u64::MAX } else { 0 };
        vector.values::<T>().iter().map(|value| word(*value) ^ turned).collect()
    }
    let signed = |value: i64| value as u64 ^ SIGN;
    let float = |value: f64| match (value + 0.0).to_bits() {
        _ if value.is_nan() => u64::MAX,
        bits if bits & SIGN != 0 => !bits,
        bits => bits | SIGN,
    };
    Some(match vector.physical_type() {
        PhysicalType::Bool | PhysicalType::U8 => of::<u8>(vector, descending, u64::from),
        PhysicalType::U16 => of::<u16>(vector, descending, u64::from),
        PhysicalType::U32 => of::<u32>(vector, descending, u64::from),
        PhysicalType::U64 => of::<u64>(vector, descending, |value| value),
        PhysicalType::I8 => of::<i8>(vector, descending, |value| signed(value.into())),
        PhysicalType::I16 => of::<i16>(vector, descending, |value| signed(value.into())),
        PhysicalType::I32 => of::<i32>(vector, descending, |value| signed(value.into())),
        PhysicalType::I64 => of::<i64>(vector, descending, signed),
        PhysicalType::F32 => of::<f32>(vector, descending, |value| float(value.into())),
        PhysicalType::F64 => of::<f64>(vector, descending, float),
        PhysicalType::I128 | PhysicalType::U128 | PhysicalType::Interval | PhysicalType::View => return None,
    })
}

/// The order of floats in SQL.
pub(super) fn order_floats(a: f64, b: f64) -> Ordering {
    a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
}

/// The order of values that are carried as views.
pub(super) fn order_bytes(ty: &LogicalType, a: &[u8], b: &[u8]) -> Ordering {
    match ty {
        LogicalType::Varchar | LogicalType::Blob => a.cmp(b),
        nested => inlay_types::nested::compare(nested, a, b),
    }
}

fn interval_of((low, high): (u64, u64)) -> Interval {
    Interval { months: low as i32, days: (low >> 32) as i32, micros: high as i64 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use inlay_types::Value;

    #[test]
    fn words_are_in_the_order_of_values() {
        use LogicalType as T;
        let floats =
            [f64::NAN, -f64::NAN, 0.0, -0.0, 1.5, -1.5, f64::INFINITY, f64::NEG_INFINITY, 5e-324, -5e-324];
        let vectors = [
            Vector::from_values(T::Double, &floats),
            Vector::from_values(T::Real, &floats.map(|float| float as f32)),
            Vector::from_values(T::BigInt, &[0i64, 1, -1, i64::MAX, i64::MIN]),
            Vector::from_values(T::Integer, &[0i32, 1, -1, i32::MAX, i32::MIN]),
            Vector::from_values(T::SmallInt, &[0i16, 1, -1, i16::MAX, i16::MIN]),
            Vector::from_values(T::TinyInt, &[0i8, 1, -1, i8::MAX, i8::MIN]),
            Vector::from_values(T::UBigInt, &[0u64, 1, u64::MAX]),
            Vector::from_values(T::UInteger, &[0u32, 1, u32::MAX]),
            Vector::from_values(T::USmallInt, &[0u16, 1, u16::MAX]),
            Vector::from_values(T::UTinyInt, &[0u8, 1, u8::MAX]),
            Vector::from_values(T::Boolean, &[0u8, 1]),
        ];
        for vector in vectors {
            let comparator = Comparator::new(vector.ty());
            let (up, down) = (order_words(&vector, false).unwrap(), order_words(&vector, true).unwrap());
            for a in 0..vector.len() {
                for b in 0..vector.len() {
                    let expected =
                        comparator.compare(Item::of_vector(&vector, a), Item::of_vector(&vector, b));
                    let shown = (vector.get(a), vector.get(b));
                    assert_eq!(up[a].cmp(&up[b]), expected, "{shown:?}");
                    assert_eq!(down[b].cmp(&down[a]), expected, "{shown:?}");
                }
            }
        }
        let text = Vector::from_sql_values(T::Varchar, &[Value::Varchar("a".into())]).unwrap();
        assert!(order_words(&text, false).is_none());
    }
}

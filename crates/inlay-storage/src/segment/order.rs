//! Keys: 64-bit numbers that order as the values of a segment do.
//!
//! Ranges, zone maps of vectors and float bounds are all worked out on keys. The key of a row is its dictionary
//! code, its offset, its integer (u64: with the top bit flipped), or the bits of its float made monotonic.

use super::{Codes, Segment};
use crate::simd::{self, Lane, Lanes, with_lanes};
use inlay_types::{Bitmap, Native, PhysicalType, Result, VECTOR_SIZE, Vector};

impl Segment {
    /// Whether values that are stored as integers of up to 64 bits ascend strictly, and none is NULL.
    pub(crate) fn ascends(&self) -> Result<bool> {
        if self.null_count > 0 {
            return Ok(false);
        }
        // Each vector begins with the last value of the one before.
        for start in (0..self.len).step_by(VECTOR_SIZE - 1) {
            if !ascend(&self.scan(start, VECTOR_SIZE.min(self.len - start))?.flatten()) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

fn ascend(values: &Vector) -> bool {
    fn of<T: Native + PartialOrd>(values: &[T]) -> bool {
        values.windows(2).all(|pair| pair[0] < pair[1])
    }
    match values.physical_type() {
        PhysicalType::I8 => of(values.values::<i8>()),
        PhysicalType::I16 => of(values.values::<i16>()),
        PhysicalType::I32 => of(values.values::<i32>()),
        PhysicalType::I64 => of(values.values::<i64>()),
        PhysicalType::U8 => of(values.values::<u8>()),
        PhysicalType::U16 => of(values.values::<u16>()),
        PhysicalType::U32 => of(values.values::<u32>()),
        PhysicalType::U64 => of(values.values::<u64>()),
        PhysicalType::Bool
        | PhysicalType::I128
        | PhysicalType::U128
        | PhysicalType::F32
        | PhysicalType::F64
        | PhysicalType::View
        | PhysicalType::Interval => false,
    }
}

/// Keys from `low` to `high`; none when `low > high`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct KeyRange {
    pub low: i64,
    pub high: i64,
}

impl KeyRange {
    pub const EMPTY: Self = Self { low: i64::MAX, high: i64::MIN };

    pub fn is_empty(self) -> bool {
        self.low > self.high
    }

    pub fn is_disjoint(self, other: Self) -> bool {
        self.low > other.high || other.low > self.high
    }

    pub fn contains(self, other: Self) -> bool {
        self.low <= other.low && other.high <= self.high
    }

    #[inline(always)]
    pub fn add(&mut self, key: i64) {
        self.low = self.low.min(key);
        self.high = self.high.max(key);
    }
}

/// What `range` gives of the values that are not NULL of each vector of rows; `None` where all are NULL.
pub(super) fn vector_ranges<T: Native, R>(
    values: &[T],
    validity: Option<&Bitmap>,
    range: impl Fn(&[T], &mut Vec<R>),
) -> Vec<Option<R>> {
    let mut found = Vec::with_capacity(values.len().div_ceil(VECTOR_SIZE));
    let Some(validity) = validity else {
        range(values, &mut found);
        return found.into_iter().map(Some).collect();
    };
    let mut memory = vec![T::default(); VECTOR_SIZE];
    let vectors = values.chunks(VECTOR_SIZE).zip(validity.words().chunks(VECTOR_SIZE / 64));
    let of_vector = |(vector, valid): (&[T], &[u64])| {
        range(simd::without_nulls(vector, valid, &mut memory)?, &mut found);
        found.pop()
    };
    vectors.map(of_vector).collect()
}

/// The key range of the values that are not NULL in each vector of rows.
pub(super) fn zones<T: Native>(
    values: &[T],
    validity: Option<&Bitmap>,
    key: impl Fn(T) -> i64,
) -> Vec<KeyRange> {
    let zones = vector_ranges(values, validity, |values, found| {
        found.extend(values.chunks(VECTOR_SIZE).map(|vector| {
            let mut range = KeyRange::EMPTY;
            vector.iter().for_each(|value| range.add(key(*value)));
            range
        }));
    });
    zones.into_iter().map(|zone| zone.unwrap_or(KeyRange::EMPTY)).collect()
}

/// The same of floats.
pub(super) fn float_zones<T: FloatKey>(values: &[T], validity: Option<&Bitmap>) -> Vec<KeyRange> {
    let zone =
        |range: Option<(i64, i64)>| range.map_or(KeyRange::EMPTY, |(low, high)| KeyRange { low, high });
    vector_ranges(values, validity, simd::float_ranges).into_iter().map(zone).collect()
}

/// The same of the codes or offsets of `len` rows.
pub(super) fn code_zones(codes: &Codes, len: usize, validity: Option<&Bitmap>) -> Vec<KeyRange> {
    with_lanes!(codes.lanes(0..len), lanes => {
        // In their own width, of which a register holds more. Offsets above `i64::MAX` do not occur.
        let zone = |range: Option<(_, _)>| {
            let range = range.map(|(low, high)| (Lane::to_u64(low) as i64, Lane::to_u64(high) as i64));
            range.map_or(KeyRange::EMPTY, |(low, high)| KeyRange { low, high })
        };
        vector_ranges(lanes, validity, simd::ranges).into_iter().map(zone).collect()
    })
}

/// The key of NaN.
pub(super) const NAN_KEY: i64 = i64::MAX;

/// Floats as keys: -0.0 as 0.0, NaN above everything.
pub(crate) trait FloatKey: Native {
    fn key(self) -> i64;
    /// The float of a key that is not [`NAN_KEY`].
    fn from_key(key: i64) -> Self;
    fn infinity() -> Self;
}

macro_rules! float_key {
    ($float:ty, $int:ty) => {
        impl FloatKey for $float {
            #[inline(always)]
            fn key(self) -> i64 {
                if self.is_nan() {
                    return NAN_KEY;
                }
                let bits = (self + 0.0).to_bits() as $int;
                i64::from(if bits < 0 { bits ^ <$int>::MAX } else { bits })
            }
            fn from_key(key: i64) -> Self {
                let bits = key as $int;
                Self::from_bits((if bits < 0 { bits ^ <$int>::MAX } else { bits }) as _)
            }
            fn infinity() -> Self {
                Self::INFINITY
            }
        }
    };
}
float_key!(f32, i32);
float_key!(f64, i64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn float_keys_order_as_floats() {
        let ascending =
            [f64::NEG_INFINITY, -1e300, -1.0, -f64::from_bits(1), 0.0, f64::from_bits(1), 2.0, f64::INFINITY];
        for pair in ascending.windows(2) {
            assert!(pair[0].key() < pair[1].key());
            assert!((pair[0] as f32).key() <= (pair[1] as f32).key());
        }
        assert_eq!((-0.0f64).key(), 0.0f64.key());
        assert!(f64::NAN.key() > f64::INFINITY.key() && f32::NAN.key() > f32::INFINITY.key());
        assert!(ascending.iter().all(|v| f64::from_key(v.key()) == *v));
        assert_eq!(f32::from_key(1.5f32.key()), 1.5);
    }
}

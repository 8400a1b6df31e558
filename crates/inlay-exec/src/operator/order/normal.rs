//! Values of fixed width as unsigned integers in the order of values.

use super::fill;
use crate::context::ExecContext;
use inlay_types::{Error, Interval, Native, PhysicalType, Result, Vector, View};

/// Values as integers in the order of values; what NULLs have is arbitrary.
pub(in crate::operator) enum Normal {
    Narrow(Vec<u64>),
    Wide(Vec<u128>),
}

/// Normalises a flat vector of a fixed-width type; `None` for other types.
pub(in crate::operator) fn normalise(context: &ExecContext, vector: &Vector) -> Result<Option<Normal>> {
    let narrow = |f: &(dyn Fn(usize) -> u64 + Sync)| {
        fill(context, vector.len(), |from, out: &mut [u64]| {
            for (i, out) in out.iter_mut().enumerate() {
                *out = f(from + i);
            }
        })
        .map(|values| Some(Normal::Narrow(values)))
    };
    let wide = |f: &(dyn Fn(usize) -> u128 + Sync)| {
        fill(context, vector.len(), |from, out: &mut [u128]| {
            for (i, out) in out.iter_mut().enumerate() {
                *out = f(from + i);
            }
        })
        .map(|values| Some(Normal::Wide(values)))
    };
    macro_rules! narrow {
        ($t:ty, $convert:expr) => {{
            let values = vector.values::<$t>();
            let convert = $convert;
            narrow(&|i| convert(values[i]))
        }};
    }
    match vector.physical_type() {
        PhysicalType::Bool | PhysicalType::U8 => narrow!(u8, u64::from),
        PhysicalType::U16 => narrow!(u16, u64::from),
        PhysicalType::U32 => narrow!(u32, u64::from),
        PhysicalType::U64 => narrow!(u64, |v: u64| v),
        PhysicalType::I8 => narrow!(i8, |v: i8| i64::from(v) as u64 ^ 1 << 63),
        PhysicalType::I16 => narrow!(i16, |v: i16| i64::from(v) as u64 ^ 1 << 63),
        PhysicalType::I32 => narrow!(i32, |v: i32| i64::from(v) as u64 ^ 1 << 63),
        PhysicalType::I64 => narrow!(i64, |v: i64| v as u64 ^ 1 << 63),
        PhysicalType::F32 => narrow!(f32, |v: f32| order_f64(f64::from(v))),
        PhysicalType::F64 => narrow!(f64, order_f64),
        PhysicalType::I128 => {
            let values = vector.values::<i128>();
            wide(&|i| values[i] as u128 ^ 1 << 127)
        }
        PhysicalType::U128 => {
            let values = vector.values::<u128>();
            wide(&|i| values[i])
        }
        PhysicalType::Interval => {
            let values = vector.values::<Interval>();
            wide(&|i| values[i].order_key() as u128 ^ 1 << 127)
        }
        _ => Ok(None),
    }
}

/// A word per value of a flat vector, in the order of values except that different ones may have the same: of texts the
/// first bytes, of wide numbers the upper half. What NULLs have is arbitrary.
///
/// An error for nested types, whose order is not that of their bytes.
pub(in crate::operator) fn rank_words(context: &ExecContext, vector: &Vector) -> Result<Vec<u64>> {
    if vector.ty().is_nested() {
        return Err(Error::internal(format!("words in the order of {}", vector.ty())));
    }
    fill(context, vector.len(), |from, words| write_rank_words(vector, from, words))
}

/// The words of the rows from `from` on, as [`rank_words`] has them; those of nested values are all the same.
pub(in crate::operator) fn write_rank_words(vector: &Vector, from: usize, words: &mut [u64]) {
    fn write<T: Native>(vector: &Vector, from: usize, words: &mut [u64], word: impl Fn(T) -> u64) {
        let values = &vector.values::<T>()[from..];
        words.iter_mut().zip(values).for_each(|(out, value)| *out = word(*value));
    }
    let upper = |wide: u128| (wide >> 64) as u64;
    match vector.physical_type() {
        PhysicalType::Bool | PhysicalType::U8 => write(vector, from, words, |v: u8| u64::from(v)),
        PhysicalType::U16 => write(vector, from, words, |v: u16| u64::from(v)),
        PhysicalType::U32 => write(vector, from, words, |v: u32| u64::from(v)),
        PhysicalType::U64 => write(vector, from, words, |v: u64| v),
        PhysicalType::I8 => write(vector, from, words, |v: i8| i64::from(v) as u64 ^ 1 << 63),
        PhysicalType::I16 => write(vector, from, words, |v: i16| i64::from(v) as u64 ^ 1 << 63),
        PhysicalType::I32 => write(vector, from, words, |v: i32| i64::from(v) as u64 ^ 1 << 63),
        PhysicalType::I64 => write(vector, from, words, |v: i64| v as u64 ^ 1 << 63),
        PhysicalType::F32 => write(vector, from, words, |v: f32| order_f64(f64::from(v))),
        PhysicalType::F64 => write(vector, from, words, order_f64),
        PhysicalType::I128 => write(vector, from, words, |v: i128| upper(v as u128 ^ 1 << 127)),
        PhysicalType::U128 => write(vector, from, words, upper),
        PhysicalType::Interval => {
            write(vector, from, words, |v: Interval| upper(v.order_key() as u128 ^ 1 << 127))
        }
        PhysicalType::View if vector.ty().is_nested() => words.fill(0),
        PhysicalType::View => {
            let heap = vector.heap().buffers();
            // The view of a NULL is empty.
            write(vector, from, words, |view: View| {
                let bytes = view.bytes(heap);
                let mut first = [0; 8];
                let len = bytes.len().min(8);
                first[..len].copy_from_slice(&bytes[..len]);
                u64::from_be_bytes(first)
            });
        }
    }
}

/// NaN above everything, -0.0 as 0.0.
pub(in crate::operator) fn order_f64(value: f64) -> u64 {
    let value = if value.is_nan() {
        f64::NAN.abs()
    } else if value == 0.0 {
        0.0
    } else {
        value
    };
    let bits = value.to_bits();
    if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
}

//! What arrays of a type are made of, and values in a layout that no type of ours has.

use super::ffi::ArrowArray;
use super::field::{ArrowField, ArrowType};
use super::import::malformed;
use crate::Result;

/// An error for an array whose buffers are not those of its type: a stream's batches may have another layout than its schema says,
/// and offsets would be read as values.
pub(super) fn expect_layout(array: &ArrowArray, field: &ArrowField, count: usize) -> Result<()> {
    let expected = match &field.ty {
        ArrowType::Struct | ArrowType::FixedList(_) => 1,
        ArrowType::Offsets32(_) | ArrowType::Offsets64(_) | ArrowType::ListView { .. } => 3,
        // Views have any number; of the others producers have one that is not there, or had once.
        ArrowType::Views(_)
        | ArrowType::Null
        | ArrowType::RunEnds
        | ArrowType::Union { .. }
        | ArrowType::Other(_) => count,
        ArrowType::Bool
        | ArrowType::Bool8
        | ArrowType::Int(_)
        | ArrowType::Float16
        | ArrowType::Float32
        | ArrowType::Float64
        | ArrowType::Date32
        | ArrowType::Date64
        | ArrowType::Time32(_)
        | ArrowType::Time64(_)
        | ArrowType::Timestamp { .. }
        | ArrowType::Duration(_)
        | ArrowType::Decimal { .. }
        | ArrowType::FixedBytes(_)
        | ArrowType::Uuid
        | ArrowType::IntervalMonths
        | ArrowType::IntervalDays
        | ArrowType::IntervalNano
        | ArrowType::Dictionary(..)
        | ArrowType::List { .. }
        | ArrowType::Map => 2,
    };
    if count > expected {
        return Err(malformed(&field.name, &format!("has {count} buffers, its type {expected}")));
    }
    if array.n_children != 0 && !field.ty.has_children() {
        return Err(malformed(&field.name, "has parts, and its type has none"));
    }
    if !array.dictionary.is_null() && !matches!(field.ty, ArrowType::Dictionary(..)) {
        return Err(malformed(&field.name, "has a dictionary, and its type has none"));
    }
    Ok(())
}

/// Bits as bytes of 0 and 1.
pub(super) fn unpack_bits(words: &[u64], len: usize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(words.len() * 64);
    for word in words {
        for byte in word.to_le_bytes() {
            // Byte i keeps bit i; adding 0x7f carries it into the top bit.
            let spread = u64::from(byte).wrapping_mul(0x0101_0101_0101_0101) & 0x8040_2010_0804_0201;
            let ones = spread.wrapping_add(0x7f7f_7f7f_7f7f_7f7f) >> 7 & 0x0101_0101_0101_0101;
            bytes.extend_from_slice(&ones.to_le_bytes());
        }
    }
    bytes.truncate(len);
    bytes
}

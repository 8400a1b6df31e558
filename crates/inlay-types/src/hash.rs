//! 64-bit hashes of values, for joins, grouping and partitioning.
//!
//! Equal values of one type hash the same whatever the vector's kind: -0.0 as 0.0, every NaN alike, intervals by the
//! key they compare by. All integers, dates, times and decimals of up to 64 bits hash by their (sign-extended) value.
//! Strings of up to 12 bytes hash from the two words of their view, longer ones by content.
//! Sources: Mulvey's xor-multiply finaliser with the constant of Schommer; wyhash (Wang Yi) for bytes.

use crate::multiversion;
use crate::view::INLINE_LIMIT;
use crate::{Bitmap, Buffer, Interval, Native, PhysicalType, Vector, VectorKind, View};

/// The hash of NULL.
pub const NULL_HASH: u64 = 0xA5A3_5C6F_1B87_9D21;

const SECRET: [u64; 3] = [0xA076_1D64_78BD_642F, 0xE703_7ED1_A0B4_28DB, 0x8EBC_6AF0_9C88_C6E3];

/// Hash of a 64-bit word: what an integer, date or time of that value (sign-extended) hashes to.
#[inline(always)]
pub fn hash_u64(value: u64) -> u64 {
    let mut x = value ^ (value >> 32);
    x = x.wrapping_mul(0xD6E8_FEB8_6659_FD93);
    x ^= x >> 32;
    x = x.wrapping_mul(0xD6E8_FEB8_6659_FD93);
    x ^ (x >> 32)
}

/// Hash of a 128-bit integer.
#[inline(always)]
pub fn hash_u128(value: u128) -> u64 {
    fold(value as u64 ^ SECRET[0], (value >> 64) as u64 ^ SECRET[1])
}

/// Hash of bytes: what a VARCHAR or BLOB of these bytes hashes to.
#[inline]
pub fn hash_bytes(bytes: &[u8]) -> u64 {
    if bytes.len() <= INLINE_LIMIT { hash_inline(&View::inline(bytes)) } else { hash_long(bytes) }
}

/// Hash of a string by its view.
#[inline(always)]
pub fn hash_view(view: &View, heap: &[Buffer]) -> u64 {
    if view.is_inline() { hash_inline(view) } else { hash_long(view.bytes(heap)) }
}

/// Combines the hash so far with that of the next column.
#[inline(always)]
pub fn combine(hash: u64, next: u64) -> u64 {
    let mixed = (hash.rotate_left(29) ^ next).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    mixed ^ (mixed >> 32)
}

#[inline(always)]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

#[inline(always)]
fn hash_inline(view: &View) -> u64 {
    fold(view.head ^ SECRET[0], view.tail ^ SECRET[1])
}

/// For more than [`INLINE_LIMIT`] bytes.
fn hash_long(bytes: &[u8]) -> u64 {
    // Not by copying: that became a call for each word.
    let word = |bytes: &[u8]| bytes.first_chunk().map_or(0, |eight| u64::from_le_bytes(*eight));
    let mut seed = SECRET[2] ^ bytes.len() as u64;
    let mut rest = bytes;
    while rest.len() > 16 {
        seed = fold(word(rest) ^ SECRET[0], word(&rest[8..]) ^ seed);
        rest = &rest[16..];
    }
    // The last 16 bytes, or the first and last 8 of a shorter string, overlapping what was read before.
    let (first, last) = (bytes.len().saturating_sub(16), bytes.len() - 8);
    fold(word(&bytes[first..]) ^ SECRET[1], word(&bytes[last..]) ^ seed) ^ SECRET[2].wrapping_mul(seed)
}

/// A carrier that hashes by value.
pub trait HashValue: Native {
    /// The hash, the same for all carriers of an integer of up to 64 bits.
    fn hash_value(self) -> u64;
}

macro_rules! hash_integer {
    ($($t:ty),*) => { $(
        impl HashValue for $t {
            #[inline(always)]
            fn hash_value(self) -> u64 {
                hash_u64(self as i64 as u64)
            }
        }
    )* };
}
hash_integer!(i8, i16, i32, i64, u8, u16, u32, u64);

impl HashValue for i128 {
    #[inline(always)]
    fn hash_value(self) -> u64 {
        hash_u128(self as u128)
    }
}

impl HashValue for u128 {
    #[inline(always)]
    fn hash_value(self) -> u64 {
        hash_u128(self)
    }
}

impl HashValue for f64 {
    #[inline(always)]
    fn hash_value(self) -> u64 {
        let number = if self == 0.0 { 0 } else { self.to_bits() };
        hash_u64(if self.is_nan() { f64::NAN.to_bits() } else { number })
    }
}

impl HashValue for f32 {
    #[inline(always)]
    fn hash_value(self) -> u64 {
        f64::from(self).hash_value()
    }
}

impl HashValue for Interval {
    #[inline(always)]
    fn hash_value(self) -> u64 {
        hash_u128(self.order_key() as u128)
    }
}

/// Hashes the first `len` rows of `vector` into `hashes`.
pub fn hash(vector: &Vector, len: usize, hashes: &mut [u64]) {
    apply::<false>(vector, len, &mut hashes[..len]);
}

/// Combines `hashes` (of the columns before) with the hashes of `vector`'s first `len` rows.
pub fn hash_combine(vector: &Vector, len: usize, hashes: &mut [u64]) {
    apply::<true>(vector, len, &mut hashes[..len]);
}

fn apply<const COMBINE: bool>(vector: &Vector, len: usize, hashes: &mut [u64]) {
    match vector.kind() {
        VectorKind::Flat => match vector.validity() {
            None => hash_flat::<COMBINE>(vector, hashes),
            Some(validity) => {
                let mut own = Scratch::new(len);
                let own = own.slice(len);
                hash_flat::<false>(vector, own);
                merge_valid::<COMBINE>(own, validity, hashes);
            }
        },
        VectorKind::Constant => {
            let mut one = [NULL_HASH];
            if !vector.is_constant_null() {
                hash_flat::<false>(vector, &mut one);
            }
            merge_constant::<COMBINE>(one[0], hashes);
        }
        VectorKind::Dictionary(dictionary) => {
            let values = dictionary.values();
            if values.len() > len.max(SCRATCH) {
                return apply::<COMBINE>(&vector.flatten(), len, hashes);
            }
            let mut table = Scratch::new(values.len());
            let table = table.slice(values.len());
            hash_flat::<false>(values, table);
            merge_codes::<COMBINE>(table, &vector.codes()[..len], vector.validity(), hashes);
        }
    }
}

fn hash_flat<const COMBINE: bool>(vector: &Vector, hashes: &mut [u64]) {
    match vector.physical_type() {
        PhysicalType::Bool | PhysicalType::U8 => hash_values::<COMBINE, _>(vector.values::<u8>(), hashes),
        PhysicalType::I8 => hash_values::<COMBINE, _>(vector.values::<i8>(), hashes),
        PhysicalType::I16 => hash_values::<COMBINE, _>(vector.values::<i16>(), hashes),
        PhysicalType::U16 => hash_values::<COMBINE, _>(vector.values::<u16>(), hashes),
        PhysicalType::I32 => hash_values::<COMBINE, _>(vector.values::<i32>(), hashes),
        PhysicalType::U32 => hash_values::<COMBINE, _>(vector.values::<u32>(), hashes),
        PhysicalType::I64 => hash_values::<COMBINE, _>(vector.values::<i64>(), hashes),
        PhysicalType::U64 => hash_values::<COMBINE, _>(vector.values::<u64>(), hashes),
        PhysicalType::I128 => hash_values::<COMBINE, _>(vector.values::<i128>(), hashes),
        PhysicalType::U128 => hash_values::<COMBINE, _>(vector.values::<u128>(), hashes),
        PhysicalType::F32 => hash_values::<COMBINE, _>(vector.values::<f32>(), hashes),
        PhysicalType::F64 => hash_values::<COMBINE, _>(vector.values::<f64>(), hashes),
        PhysicalType::Interval => hash_values::<COMBINE, _>(vector.values::<Interval>(), hashes),
        PhysicalType::View => {
            let heap = vector.heap().buffers();
            for (hash, view) in hashes.iter_mut().zip(vector.views()) {
                let next = hash_view(view, heap);
                *hash = if COMBINE { combine(*hash, next) } else { next };
            }
        }
    }
}

fn hash_values<const COMBINE: bool, T: HashValue>(values: &[T], hashes: &mut [u64]) {
    if COMBINE { combine_values(values, hashes) } else { plain_values(values, hashes) }
}

multiversion! {
    fn plain_values[T: HashValue](values: &[T], hashes: &mut [u64]) {
        for (hash, value) in hashes.iter_mut().zip(values) {
            *hash = value.hash_value();
        }
    }
}

multiversion! {
    fn combine_values[T: HashValue](values: &[T], hashes: &mut [u64]) {
        for (hash, value) in hashes.iter_mut().zip(values) {
            *hash = combine(*hash, value.hash_value());
        }
    }
}

fn merge_valid<const COMBINE: bool>(own: &[u64], validity: &Bitmap, hashes: &mut [u64]) {
    let words = validity.words();
    for (row, (hash, &next)) in hashes.iter_mut().zip(own).enumerate() {
        let valid = words[row / 64] >> (row % 64) & 1 == 1;
        let next = if valid { next } else { NULL_HASH };
        *hash = if COMBINE { combine(*hash, next) } else { next };
    }
}

fn merge_constant<const COMBINE: bool>(next: u64, hashes: &mut [u64]) {
    for hash in hashes {
        *hash = if COMBINE { combine(*hash, next) } else { next };
    }
}

fn merge_codes<const COMBINE: bool>(
    table: &[u64],
    codes: &[u32],
    validity: Option<&Bitmap>,
    hashes: &mut [u64],
) {
    for (row, (hash, &code)) in hashes.iter_mut().zip(codes).enumerate() {
        let next = if validity.is_none_or(|v| v.get(row)) { table[code as usize] } else { NULL_HASH };
        *hash = if COMBINE { combine(*hash, next) } else { next };
    }
}

/// Hashes that fit on the stack.
const SCRATCH: usize = crate::VECTOR_SIZE;

/// Room for hashes of a full vector without allocating.
struct Scratch {
    near: [u64; SCRATCH],
    far: Vec<u64>,
}

impl Scratch {
    fn new(len: usize) -> Self {
        Self { near: [0; SCRATCH], far: if len > SCRATCH { vec![0; len] } else { Vec::new() } }
    }

    fn slice(&mut self, len: usize) -> &mut [u64] {
        if len > SCRATCH { &mut self.far } else { &mut self.near[..len] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Dictionary, LogicalType, Value};

    fn hashes(vector: &Vector) -> Vec<u64> {
        let mut out = vec![0; vector.len()];
        hash(vector, vector.len(), &mut out);
        out
    }

    #[test]
    fn equal_values_hash_the_same_in_every_kind() {
        let words =
            ["", "a", "exactly12byt", "thirteen byte", "a string that is much longer than a view can hold"];
        let values: Vec<Value> = words.iter().map(|w| Value::Varchar((*w).into())).collect();
        let flat = Vector::from_sql_values(LogicalType::Varchar, &values).unwrap();
        let coded =
            Vector::dictionary(Dictionary::new(flat.clone()), Buffer::copy_of(&[0u32, 1, 2, 3, 4]), 5, None);
        assert_eq!(hashes(&flat), hashes(&coded));
        for (word, found) in words.iter().zip(hashes(&flat)) {
            assert_eq!(hash_bytes(word.as_bytes()), found);
            let constant =
                Vector::constant(LogicalType::Varchar, &Value::Varchar((*word).into()), 3).unwrap();
            assert_eq!(hashes(&constant), [found; 3]);
        }
    }

    #[test]
    fn integers_hash_by_value_and_floats_by_what_they_equal() {
        let small = Vector::from_values(LogicalType::SmallInt, &[-3i16, 7]);
        let big = Vector::from_values(LogicalType::BigInt, &[-3i64, 7]);
        assert_eq!(hashes(&small), hashes(&big));
        assert_eq!(hashes(&big)[1], hash_u64(7));
        let zeros = hashes(&Vector::from_values(LogicalType::Double, &[0.0, -0.0, f64::NAN, -f64::NAN]));
        assert_eq!(zeros[0], zeros[1]);
        assert_eq!(zeros[2], zeros[3]);
    }

    #[test]
    fn nulls_hash_alike_and_combining_depends_on_order() {
        let rows = [Value::Integer(1), Value::Null];
        let flat = Vector::from_sql_values(LogicalType::Integer, &rows).unwrap();
        assert_eq!(hashes(&flat)[1], NULL_HASH);
        assert_eq!(hashes(&Vector::nulls(LogicalType::Double, 1)), [NULL_HASH]);
        let (mut ab, mut ba) = ([hash_u64(1)], [hash_u64(2)]);
        hash_combine(&Vector::from_values(LogicalType::Integer, &[2i32]), 1, &mut ab);
        hash_combine(&Vector::from_values(LogicalType::Integer, &[1i32]), 1, &mut ba);
        assert_ne!(ab, ba);
    }
}

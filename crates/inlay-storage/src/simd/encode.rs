//! The loops under encoding: ranges of values, offsets from the least, NULLs covered or cleared, and hashes for sketches.

use super::{FromOffset, Lane, Level, WordOfLane, compiled_for_level, level};
use crate::hyperloglog::mix;
use crate::segment::FloatKey;
use inlay_types::hash::hash_u64;
use inlay_types::{Native, VECTOR_SIZE};

/// A value with an order of its own.
pub(crate) trait Ordered: Native + Ord {}
impl<T: Native + Ord> Ordered for T {}

compiled_for_level! {
    /// Appends the least and the largest value of each vector of rows.
    pub(crate) fn ranges<T: Ordered>(values: &[T], out: &mut Vec<(T, T)>) as ranges_loop
}

#[inline(always)]
fn ranges_loop<T: Ordered>(values: &[T], out: &mut Vec<(T, T)>) {
    for vector in values.chunks(VECTOR_SIZE) {
        let (mut low, mut high) = (vector[0], vector[0]);
        for value in vector {
            low = low.min(*value);
            high = high.max(*value);
        }
        out.push((low, high));
    }
}

compiled_for_level! {
    /// Appends the least and the largest key of each vector of rows.
    pub(crate) fn float_ranges<T: FloatKey>(values: &[T], out: &mut Vec<(i64, i64)>) as float_ranges_loop
}

#[inline(always)]
fn float_ranges_loop<T: FloatKey>(values: &[T], out: &mut Vec<(i64, i64)>) {
    for vector in values.chunks(VECTOR_SIZE) {
        let (mut low, mut high) = (i64::MAX, i64::MIN);
        for value in vector {
            low = low.min(value.key());
            high = high.max(value.key());
        }
        out.push((low, high));
    }
}

compiled_for_level! {
    /// `out[i] = values[i] - base`, which fits.
    pub(crate) fn offsets<T: FromOffset, L: Lane>(values: &[T], base: T, out: &mut [L]) as offsets_loop
}

#[inline(always)]
fn offsets_loop<T: FromOffset, L: Lane>(values: &[T], base: T, out: &mut [L]) {
    for (offset, value) in out.iter_mut().zip(values) {
        *offset = L::from_u64(value.minus(base));
    }
}

compiled_for_level! {
    /// `out[i]` is the hash of the word of `lanes[i]`.
    pub(crate) fn hash_lanes<L: Lane>(lanes: &[L], of_lane: WordOfLane, out: &mut [u64]) as hash_lanes_loop
}

#[inline(always)]
fn hash_lanes_loop<L: Lane>(lanes: &[L], of_lane: WordOfLane, out: &mut [u64]) {
    for (hash, lane) in out.iter_mut().zip(lanes) {
        *hash = hash_u64(of_lane.word(lane.to_u64()));
    }
}

compiled_for_level! {
    /// `out[i]` is `hashes[i]` as [`mix`] makes it for sketches.
    pub(crate) fn mix_hashes<>(hashes: &[u64], out: &mut [u64]) as mix_loop
}

#[inline(always)]
fn mix_loop(hashes: &[u64], out: &mut [u64]) {
    for (mixed, hash) in out.iter_mut().zip(hashes) {
        *mixed = mix(*hash);
    }
}

compiled_for_level! {
    /// `out[i]` is `values[i]` where bit `i` of `valid` is set, else `other`.
    pub(crate) fn covered<T: Native>(values: &[T], valid: &[u64], other: T, out: &mut [T]) as covered_loop
}

#[inline(always)]
fn covered_loop<T: Native>(values: &[T], valid: &[u64], other: T, out: &mut [T]) {
    for ((values, out), word) in values.chunks(64).zip(out.chunks_mut(64)).zip(valid) {
        for (bit, (value, out)) in values.iter().zip(out).enumerate() {
            *out = if word >> bit & 1 == 1 { *value } else { other };
        }
    }
}

compiled_for_level! {
    /// Where bit `i` of `valid` is clear, `values[i]` becomes zero.
    pub(crate) fn clear_nulls<L: Lane>(valid: &[u64], values: &mut [L]) as clear_loop
}

#[inline(always)]
fn clear_loop<L: Lane>(valid: &[u64], values: &mut [L]) {
    for (values, word) in values.chunks_mut(64).zip(valid) {
        for (bit, value) in values.iter_mut().enumerate() {
            *value = if word >> bit & 1 == 1 { *value } else { L::default() };
        }
    }
}

/// The values with NULLs replaced by one that is there, and so may be looked at like the others; `None` if all are NULL.
pub(crate) fn without_nulls<'a, T: Native>(
    values: &'a [T],
    valid: &[u64],
    memory: &'a mut [T],
) -> Option<&'a [T]> {
    let first = valid.iter().position(|word| *word != 0)?;
    let first = *values.get(first * 64 + valid[first].trailing_zeros() as usize)?;
    let memory = &mut memory[..values.len()];
    covered(values, valid, first, memory);
    Some(memory)
}

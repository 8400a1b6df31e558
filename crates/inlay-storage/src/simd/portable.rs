//! The loops of [`super`] without intrinsics: correct everywhere, and the reference for the others.

use super::{Lane, LaneRange};
use inlay_types::Native;

pub(super) fn and_range<L: Lane>(values: &[L], range: LaneRange, mask: &mut [u64]) {
    let (low, span) = (L::from_u64(range.low), L::from_u64(range.span));
    and_words(values, mask, |lane| (lane.wrapping_sub(low) <= span) != range.negate);
}

/// Tests 64 values at a time into bytes, which compilers vectorise, and packs the bytes into a word.
#[inline(always)]
pub(super) fn and_words<T: Native>(values: &[T], mask: &mut [u64], holds: impl Fn(T) -> bool) {
    assert!(mask.len() >= values.len().div_ceil(64), "mask is shorter than its rows");
    for (chunk, word) in values.chunks(64).zip(mask) {
        let mut bytes = [0u8; 64];
        for (byte, value) in bytes.iter_mut().zip(chunk) {
            *byte = u8::from(holds(*value));
        }
        let mut packed = 0;
        for (index, eight) in bytes.chunks_exact(8).enumerate() {
            let mut raw = [0; 8];
            raw.copy_from_slice(eight);
            // Gathers the lowest bits of eight bytes into the top byte.
            packed |= (u64::from_le_bytes(raw).wrapping_mul(0x0102_0408_1020_4080) >> 56) << (8 * index);
        }
        *word &= packed;
    }
}

#[inline(always)]
pub(super) fn and_each(rows: usize, mask: &mut [u64], mut holds: impl FnMut(usize) -> bool) {
    for (index, word) in mask[..rows.div_ceil(64)].iter_mut().enumerate() {
        let mut left = *word;
        while left != 0 {
            let bit = left.trailing_zeros() as usize;
            left &= left - 1;
            *word &= !(u64::from(!holds(index * 64 + bit)) << bit);
        }
    }
}

pub(super) fn push_positions(mask: &[u64], base: u32, out: &mut Vec<u32>) {
    for (index, &word) in mask.iter().enumerate() {
        let first = base + index as u32 * 64;
        if word == u64::MAX {
            out.extend(first..first + 64);
            continue;
        }
        let mut left = word;
        while left != 0 {
            out.push(first + left.trailing_zeros());
            left &= left - 1;
        }
    }
}

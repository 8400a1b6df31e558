//! Values by row number. Rows that lie close to each other, as those that most pass a filter, are permuted within registers,
//! which takes a third to a half of the time of a load for each.

#![expect(unsafe_code, reason = "values at places that are checked, or in bounds by construction")]

use crate::Native;

/// `out[i] = values[rows[i] - first]`; rows may be in any order.
///
/// Panics when a row is outside of the values, or there are more rows than places.
#[inline]
pub fn pick<T: Native>(values: &[T], first: u32, rows: &[u32], out: &mut [T]) {
    let out = &mut out[..rows.len()];
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx512f") {
        match size_of::<T>() {
            // SAFETY: the CPU has AVX-512.
            4 => return unsafe { avx512::pick_32(values, first, rows, out) },
            // SAFETY: as above.
            8 => return unsafe { avx512::pick_64(values, first, rows, out) },
            _ => {}
        }
    }
    assert!(are_inside(values.len(), first, rows), "row outside of the values");
    for (place, row) in out.iter_mut().zip(rows) {
        // SAFETY: every row was checked above.
        *place = unsafe { *values.get_unchecked(row.wrapping_sub(first) as usize) };
    }
}

/// Whether all rows are below `len` when those before `first` are left out.
#[inline(always)]
fn are_inside(len: usize, first: u32, rows: &[u32]) -> bool {
    let largest = rows.iter().fold(0, |largest, row| largest.max(row.wrapping_sub(first)));
    rows.is_empty() || (largest as usize) < len
}

/// As many rows as a register has lanes at once: where all are among the values of two registers from the first one on, those
/// are loaded and permuted, else each is loaded from its place.
#[cfg(target_arch = "x86_64")]
mod avx512 {
    use super::are_inside;
    use crate::Native;
    use std::arch::x86_64::*;

    /// Of values of four bytes.
    #[target_feature(enable = "avx512f")]
    pub(super) fn pick_32<T: Native>(values: &[T], first: u32, rows: &[u32], out: &mut [T]) {
        const LANES: usize = 16;
        assert!(size_of::<T>() == 4 && rows.len() == out.len(), "values of another size");
        assert!(are_inside(values.len(), first, rows), "row outside of the values");
        let (source, window) = (values.as_ptr().cast::<i32>(), _mm512_set1_epi32(2 * LANES as i32));
        let origin = _mm512_set1_epi32(first as i32);
        for (rows, out) in rows.chunks(LANES).zip(out.chunks_mut(LANES)) {
            let lanes = u16::MAX >> (LANES - rows.len());
            let start = rows[0].wrapping_sub(first);
            // SAFETY: lanes that are not set are not touched; rows and places are in the slices, values were checked above.
            unsafe {
                let row = _mm512_sub_epi32(_mm512_maskz_loadu_epi32(lanes, rows.as_ptr().cast()), origin);
                let near = _mm512_sub_epi32(row, _mm512_set1_epi32(start as i32));
                let are_near = _mm512_mask_cmplt_epu32_mask(lanes, near, window) == lanes;
                let picked = if are_near && start as usize + 2 * LANES <= values.len() {
                    let from = source.add(start as usize);
                    let low = _mm512_loadu_si512(from.cast());
                    let high = _mm512_loadu_si512(from.add(LANES).cast());
                    _mm512_permutex2var_epi32(low, near, high)
                } else {
                    _mm512_mask_i32gather_epi32::<4>(_mm512_setzero_si512(), lanes, row, source)
                };
                _mm512_mask_storeu_epi32(out.as_mut_ptr().cast(), lanes, picked);
            }
        }
    }

    /// Of values of eight bytes.
    #[target_feature(enable = "avx512f")]
    pub(super) fn pick_64<T: Native>(values: &[T], first: u32, rows: &[u32], out: &mut [T]) {
        const LANES: usize = 8;
        assert!(size_of::<T>() == 8 && rows.len() == out.len(), "values of another size");
        assert!(are_inside(values.len(), first, rows), "row outside of the values");
        let (source, window) = (values.as_ptr().cast::<i64>(), _mm512_set1_epi64(2 * LANES as i64));
        let origin = _mm512_set1_epi32(first as i32);
        for (rows, out) in rows.chunks(LANES).zip(out.chunks_mut(LANES)) {
            let lanes = u8::MAX >> (LANES - rows.len());
            let start = rows[0].wrapping_sub(first);
            // SAFETY: lanes that are not set are not touched; rows and places are in the slices, values were checked above.
            unsafe {
                let row = _mm512_maskz_loadu_epi32(lanes.into(), rows.as_ptr().cast());
                let row = _mm512_castsi512_si256(_mm512_sub_epi32(row, origin));
                let row = _mm512_cvtepu32_epi64(row);
                let near = _mm512_sub_epi64(row, _mm512_set1_epi64(start.into()));
                let are_near = _mm512_mask_cmplt_epu64_mask(lanes, near, window) == lanes;
                let picked = if are_near && start as usize + 2 * LANES <= values.len() {
                    let from = source.add(start as usize);
                    let low = _mm512_loadu_si512(from.cast());
                    let high = _mm512_loadu_si512(from.add(LANES).cast());
                    _mm512_permutex2var_epi64(low, near, high)
                } else {
                    _mm512_mask_i64gather_epi64::<8>(_mm512_setzero_si512(), lanes, row, source)
                };
                _mm512_mask_storeu_epi64(out.as_mut_ptr().cast(), lanes, picked);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    /// Compares with one row after the other.
    fn check<T: Native + PartialEq + std::fmt::Debug>(values: &[T], first: u32, rows: &[u32]) {
        let expected: Vec<T> = rows.iter().map(|row| values[(row - first) as usize]).collect();
        let mut out = vec![T::default(); rows.len()];
        pick(values, first, rows, &mut out);
        assert_eq!(out, expected);
    }

    #[test]
    fn rows_close_together_and_far_apart_in_any_order() {
        let lens = [1u32, 5, 33, 8, 16, 31, 32, 300, 5_000];
        // Miri is a thousand times slower: it looks at the ends of few rows.
        for &len in &lens[..if cfg!(miri) { 3 } else { lens.len() }] {
            let (bytes, halves) =
                ((0..len).map(|v| v as u8).collect::<Vec<_>>(), (0..len as u16).collect::<Vec<_>>());
            let words: Vec<u32> = (0..len).map(|v| v.wrapping_mul(0x9E37_79B9)).collect();
            let longs: Vec<u64> =
                (0..len).map(|v| u64::from(v).wrapping_mul(0x9E37_79B9_7F4A_7C15)).collect();
            let wide: Vec<i128> = longs.iter().map(|v| i128::from(*v) << 40).collect();
            for first in [0, 7, u32::MAX - len] {
                for step in [1, 2, 3, 40] {
                    let ascending: Vec<u32> = (0..len).step_by(step).map(|row| first + row).collect();
                    let with_gaps: Vec<u32> = ascending.iter().copied().filter(|row| row % 10 != 3).collect();
                    let descending: Vec<u32> = ascending.iter().rev().copied().collect();
                    let twice: Vec<u32> = ascending.iter().flat_map(|row| [*row, *row]).collect();
                    let spread: Vec<u32> =
                        (0..len).map(|row| first + row.wrapping_mul(2_654_435_761) % len).collect();
                    for rows in [ascending, with_gaps, descending, twice, spread, vec![]] {
                        check(&bytes, first, &rows);
                        check(&halves, first, &rows);
                        check(&words, first, &rows);
                        check(&longs, first, &rows);
                        check(&wide, first, &rows);
                    }
                }
            }
        }
    }

    #[test]
    fn rows_outside_are_refused() {
        for (first, row) in [(0, 100), (5, 105), (5, 4), (0, u32::MAX)] {
            let mut rows: Vec<u32> = (first..first + 40).collect();
            rows[17] = row;
            let refused = |work: &dyn Fn()| catch_unwind(AssertUnwindSafe(work)).is_err();
            assert!(refused(&|| pick(&[1u32; 100], first, &rows, &mut [0; 40])));
            assert!(refused(&|| pick(&[1u64; 100], first, &rows, &mut [0; 40])));
            assert!(refused(&|| pick(&[1u8; 100], first, &rows, &mut [0; 40])));
        }
    }
}

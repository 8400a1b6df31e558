//! Sorting that ends when the statement does.
//!
//! What is sorted at once is small; runs are merged, with looks at the flag between. The standard library's sort of millions of values
//! with a comparison of texts takes seconds, in which nobody looks.

use crate::{Result, limits};
use std::cmp::Ordering;

/// Sorted at once, and merged between two looks at the flag.
const SORTED_AT_ONCE: usize = 1 << 14;

/// Sorts as `slice::sort_by` does. The memory for merging is asked of the budget; without any, all is sorted at once.
pub fn sort_by<T: Copy>(values: &mut Vec<T>, mut compare: impl FnMut(&T, &T) -> Ordering) -> Result<()> {
    sort_chunks(values, |chunk, compare| chunk.sort_by(compare), &mut compare)
}

/// Sorts values of which no two are equal, or where nobody tells equal ones apart.
pub fn sort_unstable_by<T: Copy>(
    values: &mut Vec<T>,
    mut compare: impl FnMut(&T, &T) -> Ordering,
) -> Result<()> {
    sort_chunks(values, |chunk, compare| chunk.sort_unstable_by(compare), &mut compare)
}

fn sort_chunks<T: Copy, C: FnMut(&T, &T) -> Ordering>(
    values: &mut Vec<T>,
    sort: impl Fn(&mut [T], &mut C),
    compare: &mut C,
) -> Result<()> {
    let (mut width, mut merged) = (SORTED_AT_ONCE, Vec::new());
    if values.len() > width && limits::grow(&mut merged, values.len()).is_err() {
        // Who sorts because memory is short has none to merge in.
        limits::check()?;
        sort(values, compare);
        return Ok(());
    }
    for chunk in values.chunks_mut(SORTED_AT_ONCE) {
        limits::check()?;
        sort(chunk, compare);
    }
    while width < values.len() {
        merged.clear();
        for pair in values.chunks(2 * width) {
            let (left, right) = pair.split_at(width.min(pair.len()));
            merge(left, right, &mut merged, compare)?;
        }
        std::mem::swap(values, &mut merged);
        width *= 2;
    }
    Ok(())
}

/// Appends two sorted runs as one. What is equal stays in its order.
fn merge<T: Copy>(
    mut left: &[T],
    mut right: &[T],
    merged: &mut Vec<T>,
    compare: &mut impl FnMut(&T, &T) -> Ordering,
) -> Result<()> {
    // Runs that follow each other already: rows that come in order are the commonest.
    if let (Some(last), Some(first)) = (left.last(), right.first())
        && compare(last, first).is_le()
    {
        merged.extend_from_slice(left);
        left = &[];
    }
    while let (Some((first, others)), Some((second, rest))) = (left.split_first(), right.split_first()) {
        if compare(first, second).is_le() {
            merged.push(*first);
            left = others;
        } else {
            merged.push(*second);
            right = rest;
        }
        if merged.len().is_multiple_of(SORTED_AT_ONCE) {
            limits::check()?;
        }
    }
    merged.extend_from_slice(left);
    merged.extend_from_slice(right);
    limits::check()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::{Limits, with};
    use crate::{Error, Interrupt, MemoryBudget};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    #[test]
    fn values_are_sorted_as_by_the_standard_library() {
        for count in [0, 1, SORTED_AT_ONCE, SORTED_AT_ONCE + 1, 5 * SORTED_AT_ONCE + 7] {
            let made: Vec<(u32, usize)> =
                (0..count).map(|i| ((i as u32).wrapping_mul(2_654_435_761) % 1000, i)).collect();
            let mut wanted = made.clone();
            wanted.sort_by_key(|value| value.0);
            let mut stable = made.clone();
            sort_by(&mut stable, |a, b| a.0.cmp(&b.0)).unwrap();
            assert_eq!(stable, wanted);
            let mut unstable = made;
            sort_unstable_by(&mut unstable, |a, b| a.cmp(b)).unwrap();
            assert_eq!(unstable, wanted);
        }
    }

    #[test]
    fn values_are_sorted_without_memory_to_merge_in() {
        let limits = Limits::new(MemoryBudget::new(1 << 10), Interrupt::new());
        let mut values: Vec<u64> = (0..100_000u64).rev().collect();
        with(limits, || sort_by(&mut values, |a, b| a.cmp(b))).unwrap();
        assert!(values.is_sorted());
    }

    /// Comparisons are counted, not seconds.
    #[test]
    fn sorting_ends_soon_after_the_flag_is_up() {
        let compared = Arc::new(AtomicUsize::new(0));
        for after in [0, 100_000, 5_000_000, 17_000_000] {
            let interrupt = Interrupt::new();
            let limits = Limits::new(MemoryBudget::new(1 << 30), interrupt.clone());
            compared.store(0, Relaxed);
            let mut values: Vec<u64> =
                (0..1_000_000u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
            let outcome = with(limits, || {
                sort_by(&mut values, |a, b| {
                    if compared.fetch_add(1, Relaxed) == after {
                        interrupt.set();
                    }
                    a.cmp(b)
                })
            });
            assert_eq!(outcome, Err(Error::Interrupted));
            let more = compared.load(Relaxed) - after;
            assert!(more < 16 * SORTED_AT_ONCE, "{more} comparisons after {after}");
        }
    }
}

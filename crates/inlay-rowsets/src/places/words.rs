//! Loops over words of 64 places, compiled for the CPU's level.

use inlay_types::multiversion;

multiversion! {
    /// How many bits are set, and how many runs of them there are.
    pub(super) fn count_and_runs[](words: &[u64]) -> (u32, u32) {
        let (mut count, mut runs, mut before) = (0, 0, 0u64);
        for &word in words {
            count += word.count_ones();
            // A run begins where the place before is not set.
            runs += (word & !(word << 1 | before >> 63)).count_ones();
            before = word;
        }
        (count, runs)
    }
}

multiversion! {
    pub(super) fn count[](words: &[u64]) -> u32 {
        words.iter().map(|word| word.count_ones()).sum()
    }
}

multiversion! {
    pub(super) fn count_and[](left: &[u64], right: &[u64]) -> u32 {
        left.iter().zip(right).map(|(left, right)| (left & right).count_ones()).sum()
    }
}

multiversion! {
    pub(super) fn and[](words: &mut [u64], other: &[u64]) {
        words.iter_mut().zip(other).for_each(|(word, other)| *word &= other);
    }
}

multiversion! {
    pub(super) fn or[](words: &mut [u64], other: &[u64]) {
        words.iter_mut().zip(other).for_each(|(word, other)| *word |= other);
    }
}

multiversion! {
    pub(super) fn and_not[](words: &mut [u64], other: &[u64]) {
        words.iter_mut().zip(other).for_each(|(word, other)| *word &= !other);
    }
}

multiversion! {
    pub(super) fn not[](words: &mut [u64]) {
        words.iter_mut().for_each(|word| *word = !*word);
    }
}

/// Shows the words that places `first..=last` lie in: their number, and a mask of the places.
#[inline]
pub(super) fn over_range(first: u16, last: u16, mut visit: impl FnMut(usize, u64)) {
    let (from, to) = (usize::from(first) / 64, usize::from(last) / 64);
    let (low, high) = (u64::MAX << (first % 64), u64::MAX >> (63 - last % 64));
    if from == to {
        return visit(from, low & high);
    }
    visit(from, low);
    (from + 1..to).for_each(|word| visit(word, u64::MAX));
    visit(to, high);
}

/// Shows the places that are set, ascending.
#[inline]
pub(super) fn for_each_set(words: &[u64], mut visit: impl FnMut(u16)) {
    for (number, &word) in words.iter().enumerate() {
        let mut left = word;
        while left != 0 {
            visit((number * 64) as u16 + left.trailing_zeros() as u16);
            left &= left - 1;
        }
    }
}

#[inline]
pub(super) fn is_set(words: &[u64], place: u16) -> bool {
    words[usize::from(place) / 64] >> (place % 64) & 1 != 0
}

#[inline]
pub(super) fn set(words: &mut [u64], place: u16) {
    words[usize::from(place) / 64] |= 1 << (place % 64);
}

#[inline]
pub(super) fn clear(words: &mut [u64], place: u16) {
    words[usize::from(place) / 64] &= !(1 << (place % 64));
}

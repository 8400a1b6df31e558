//! A blocked Bloom filter over 64-bit hashes: one 64-bit word per key, four bits in it.
//!
//! Hashes are those of [`inlay_types::hash`] for one column. A key touches one cache line; with 12 bits per key about
//! one foreign key in a hundred passes. Source: Putze, Sanders, Singler: Cache-, Hash- and Space-Efficient Bloom
//! Filters (2007); register-blocked as in Lang et al. (VLDB 2019).

use inlay_types::Value;

/// A set of hashes that answers "no" or "perhaps".
#[derive(Clone, Debug)]
pub struct BloomFilter {
    words: Vec<u64>,
    range: Option<(Value, Value)>,
}

impl BloomFilter {
    /// An empty filter for about `keys` keys.
    pub fn new(keys: usize) -> Self {
        let words = (keys * 12).div_ceil(64).max(8).next_power_of_two();
        Self { words: vec![0; words], range: None }
    }

    /// Size in bytes that [`BloomFilter::new`] takes for `keys` keys.
    pub fn size_for(keys: usize) -> usize {
        (keys * 12).div_ceil(64).max(8).next_power_of_two() * 8
    }

    /// Sets the smallest and largest value in the set, for zone maps.
    pub fn set_range(&mut self, min: Value, max: Value) {
        self.range = Some((min, max));
    }

    /// Smallest and largest value in the set, if known.
    pub fn range(&self) -> Option<(&Value, &Value)> {
        self.range.as_ref().map(|(min, max)| (min, max))
    }

    /// The words, a power of two of them.
    pub(crate) fn words(&self) -> &[u64] {
        &self.words
    }

    /// Where a hash belongs: a number that modulo the number of words is the word's, and the bits in it.
    #[inline(always)]
    pub(crate) fn place(hash: u64) -> (usize, u64) {
        let bits =
            1u64 << (hash & 63) | 1 << (hash >> 6 & 63) | 1 << (hash >> 12 & 63) | 1 << (hash >> 18 & 63);
        ((hash >> 32) as usize, bits)
    }

    /// Adds a hash.
    #[inline]
    pub fn insert(&mut self, hash: u64) {
        let (place, bits) = Self::place(hash);
        let last = self.words.len() - 1;
        self.words[place & last] |= bits;
    }

    /// Whether the hash may have been added.
    #[inline]
    pub fn contains(&self, hash: u64) -> bool {
        let (place, bits) = Self::place(hash);
        self.words[place & (self.words.len() - 1)] & bits == bits
    }

    /// Adds all of `other`, which was made for the same number of keys.
    pub fn union(&mut self, other: &BloomFilter) {
        assert_eq!(self.words.len(), other.words.len(), "bloom filters differ in size");
        for (word, more) in self.words.iter_mut().zip(&other.words) {
            *word |= more;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use inlay_types::hash::hash_u64 as mix;

    #[test]
    fn every_member_is_found_and_few_others() {
        let mut filter = BloomFilter::new(10_000);
        (0..10_000).for_each(|k| filter.insert(mix(k)));
        assert!((0..10_000).all(|k| filter.contains(mix(k))));
        let wrong = (10_000..110_000).filter(|k| filter.contains(mix(*k))).count();
        assert!(wrong < 5_000, "{wrong} of 100000 pass");
    }
}

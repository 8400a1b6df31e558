//! An exact set of integers as one bit per value between a minimum and a maximum.

/// A set of stored integers (see `Value::as_stored_i128`) in `[min, max]`.
#[derive(Clone, Debug)]
pub struct KeyBitmap {
    min: i64,
    max: i64,
    words: Vec<u64>,
}

impl KeyBitmap {
    /// The empty set with room for `min ..= max`; `None` when that would need more than `size_limit_bytes`.
    pub fn new(min: i64, max: i64, size_limit_bytes: usize) -> Option<Self> {
        let span = u128::try_from(i128::from(max) - i128::from(min)).ok()?;
        let words = usize::try_from(span / 64 + 1).ok().filter(|w| *w <= size_limit_bytes / 8)?;
        Some(Self { min, max, words: vec![0; words] })
    }

    /// A set from its words: bit `i` of word `w` stands for `min + 64 * w + i`. Bits above `max` are clear.
    pub fn from_words(min: i64, max: i64, words: Vec<u64>) -> Self {
        let needed = (i128::from(max) - i128::from(min)) / 64 + 1;
        assert!(words.len() as i128 >= needed, "key bitmap has too few words");
        Self { min, max, words }
    }

    /// Smallest value that could be in the set.
    pub fn min(&self) -> i64 {
        self.min
    }

    /// Largest value that could be in the set.
    pub fn max(&self) -> i64 {
        self.max
    }

    /// The words; see [`KeyBitmap::from_words`].
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// Adds a value.
    ///
    /// Panics when it is not in `[min, max]`.
    #[inline]
    pub fn insert(&mut self, key: i64) {
        let index = key.wrapping_sub(self.min) as u64;
        self.words[(index / 64) as usize] |= 1 << (index % 64);
    }

    /// Whether a value is in the set.
    #[inline]
    pub fn contains(&self, key: i64) -> bool {
        let index = key.wrapping_sub(self.min) as u64;
        key >= self.min && self.words.get((index / 64) as usize).is_some_and(|w| w >> (index % 64) & 1 == 1)
    }

    /// Adds all of `other`, which has the same range.
    pub fn union(&mut self, other: &KeyBitmap) {
        assert!(self.min == other.min && self.max == other.max, "key bitmaps differ in range");
        for (word, more) in self.words.iter_mut().zip(&other.words) {
            *word |= more;
        }
    }

    /// Number of values.
    pub fn count(&self) -> usize {
        self.words.iter().map(|w| w.count_ones() as usize).sum()
    }

    /// Whether any value of `low ..= high` is in the set.
    pub fn intersects(&self, low: i64, high: i64) -> bool {
        let (low, high) = (low.max(self.min), high.min(self.max));
        if low > high {
            return false;
        }
        let (first, last) = (low.wrapping_sub(self.min) as u64, high.wrapping_sub(self.min) as u64);
        let (first_word, last_word) = ((first / 64) as usize, (last / 64) as usize);
        let (from_first, to_last) = (u64::MAX << (first % 64), u64::MAX >> (63 - last % 64));
        if first_word == last_word {
            return self.words[first_word] & from_first & to_last != 0;
        }
        self.words[first_word] & from_first != 0
            || self.words[first_word + 1..last_word].iter().any(|w| *w != 0)
            || self.words[last_word] & to_last != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn membership_and_ranges_at_the_limits() {
        let mut set = KeyBitmap::new(-70, 200, 1 << 10).unwrap();
        for key in [-70, 0, 200] {
            set.insert(key);
        }
        assert!(set.contains(-70) && set.contains(200) && !set.contains(-71) && !set.contains(201));
        assert!(!set.contains(i64::MIN) && !set.contains(i64::MAX));
        assert!(set.intersects(-100, -70) && !set.intersects(-69, -1) && !set.intersects(1, 199));
        assert!(
            set.intersects(150, i64::MAX) && !set.intersects(201, 500) && set.intersects(i64::MIN, i64::MAX)
        );
        assert_eq!(set.count(), 3);
        assert!(KeyBitmap::new(i64::MIN, i64::MAX, usize::MAX / 8).is_none_or(|_| false));
        assert!(KeyBitmap::new(5, 4, 100).is_none());
    }
}

//! The hash table from group and value to the number of their pair.
//!
//! A slot holds the group, and one word of the value: all of it, or its hash, so that the value itself is looked at only
//! where it is most likely the same. Probing goes slot after slot from the one that the high bits of a hash name, and a
//! table grows in the order of its slots: the larger one is written from front to back.

use inlay_types::hash::hash_u128;
use inlay_types::view::prefetch;

/// How many rows ahead slots are asked for.
const AHEAD: usize = 16;

/// How many rows ahead the values of pairs are asked for, in slots that are there by then.
const AHEAD_VALUES: usize = 6;

/// Tables of at most so many bytes are in the cache anyway.
const NEAR_SIZE_MAX: usize = 1 << 18;

/// Slots of the smallest table.
const SLOTS_MIN: usize = 64;

/// Tables of less slots grow to four times their size: few pairs are moved again that way.
const STEEP_BELOW: usize = 1 << 18;

/// The pair of each row, and the rows whose pairs are new; these are numbered in their order.
#[derive(Default)]
pub(super) struct Found {
    pub(super) pairs: Vec<u32>,
    pub(super) fresh: Vec<u32>,
}

/// The word, and the group above the number of the pair plus 1; 0 there means empty.
type Slot = [u64; 2];

/// A power of two of slots, or none.
#[derive(Clone, Default)]
pub(super) struct Slots {
    slots: Vec<Slot>,
    /// How many low bits of a hash do not count.
    shift: u32,
}

#[inline(always)]
fn hash_of(word: u64, group: u32) -> u64 {
    hash_u128(u128::from(group) << 64 | u128::from(word))
}

/// Pairs in a table before it grows.
fn limit(slots: usize) -> usize {
    slots / 4 * 3
}

/// Slots of a table that has room for so many pairs.
fn slots_for(pairs: usize) -> usize {
    pairs.saturating_mul(4).div_ceil(3).next_power_of_two().max(SLOTS_MIN)
}

impl Slots {
    /// Bytes that a table for so many pairs takes, and the one before it; none if this one has room for them.
    pub(super) fn growth(&self, pairs: usize) -> usize {
        let len = slots_for(pairs);
        if len <= self.slots.len() { 0 } else { (len + len / 2).saturating_mul(size_of::<Slot>()) }
    }

    /// Finds or adds the pairs of rows, one for each word and group, where there are `next` pairs so far. `are_equal` says
    /// whether a row has the value of a pair with the same word and group; new pairs are those of the rows given last.
    /// `approach` may ask for what is compared of a pair soon.
    pub(super) fn find(
        &mut self,
        words: &[u64],
        groups: &[u32],
        next: usize,
        found: &mut Found,
        approach: Option<impl Fn(usize)>,
        are_equal: impl Fn(usize, usize, &[u32]) -> bool,
    ) {
        let Found { pairs, fresh } = found;
        pairs.clear();
        fresh.clear();
        pairs.reserve(words.len());
        if self.slots.is_empty() {
            self.grow(SLOTS_MIN);
        }
        let hashes: Vec<u64> = words.iter().zip(groups).map(|(&word, &group)| hash_of(word, group)).collect();
        let is_far = size_of_val(&self.slots[..]) > NEAR_SIZE_MAX;
        for (row, ((&word, &group), &hash)) in words.iter().zip(groups).zip(&hashes).enumerate() {
            if is_far && let Some(ahead) = hashes.get(row + AHEAD) {
                prefetch(self.slots.as_ptr().wrapping_add((ahead >> self.shift) as usize).cast());
            }
            let mask = self.slots.len() - 1;
            if let (true, Some(approach), Some(near)) = (is_far, &approach, hashes.get(row + AHEAD_VALUES)) {
                let [known, place] = self.slots[(near >> self.shift) as usize & mask];
                if place != 0 && known == words[row + AHEAD_VALUES] {
                    approach((place as u32).wrapping_sub(1) as usize);
                }
            }
            let mut at = (hash >> self.shift) as usize & mask;
            let pair = loop {
                let [known, place] = self.slots[at];
                if place == 0 {
                    let pair = next + fresh.len();
                    self.slots[at] = [word, u64::from(group) << 32 | (pair as u64 + 1)];
                    fresh.push(row as u32);
                    if pair + 1 >= limit(self.slots.len()) {
                        self.grow(self.slots.len() * if self.slots.len() < STEEP_BELOW { 4 } else { 2 });
                    }
                    break pair as u32;
                }
                let pair = (place as u32).wrapping_sub(1);
                if known == word && (place >> 32) as u32 == group && are_equal(row, pair as usize, fresh) {
                    break pair;
                }
                at = (at + 1) & mask;
            };
            pairs.push(pair);
        }
    }

    /// Makes room for so many pairs, as [`Self::growth`] says what that takes.
    pub(super) fn reserve(&mut self, pairs: usize) {
        if self.growth(pairs) > 0 {
            self.grow(slots_for(pairs));
        }
    }

    /// Moves to a larger table of so many slots, a power of two.
    #[cold]
    fn grow(&mut self, len: usize) {
        let old = std::mem::replace(&mut self.slots, vec![[0; 2]; len]);
        self.shift = u64::BITS - len.trailing_zeros();
        for slot in old.into_iter().filter(|slot| slot[1] != 0) {
            let mut at = (hash_of(slot[0], (slot[1] >> 32) as u32) >> self.shift) as usize;
            while self.slots[at][1] != 0 {
                at = (at + 1) & (len - 1);
            }
            self.slots[at] = slot;
        }
    }

    pub(super) fn memory_size(&self) -> usize {
        self.slots.capacity() * size_of::<Slot>()
    }
}

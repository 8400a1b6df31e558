//! Numbers for the distinct values of a column, in the order in which they appear.

use inlay_types::hash::{HashValue, hash_view};
use inlay_types::{Buffer, View};

/// Numbers have dictionaries of at most so many values, whose codes take one byte.
pub(super) const DISTINCT_NUMBERS_MAX: usize = 256;

const NUMBER_SLOTS: usize = 4 * DISTINCT_NUMBERS_MAX;

/// Numbers a few patterns of bits, and remembers the row of each.
pub(super) struct NumberTable<P> {
    /// One more than the number of a pattern, or 0; at least half are free.
    slots: [u16; NUMBER_SLOTS],
    patterns: [P; NUMBER_SLOTS],
    rows: Vec<u32>,
    limit: usize,
}

impl<P: HashValue + Eq> NumberTable<P> {
    /// A table of at most `limit` patterns, which is at most [`DISTINCT_NUMBERS_MAX`].
    pub fn new(limit: usize) -> Self {
        let (slots, patterns) = ([0; NUMBER_SLOTS], [P::default(); NUMBER_SLOTS]);
        Self { slots, patterns, rows: Vec::new(), limit: limit.min(DISTINCT_NUMBERS_MAX) }
    }

    /// The first row of each.
    pub fn rows(&self) -> &[u32] {
        &self.rows
    }

    /// The number of a pattern; `None` if it were one too many.
    #[inline(always)]
    pub fn code(&mut self, pattern: P, row: usize) -> Option<u8> {
        let mut slot = pattern.hash_value() as usize % NUMBER_SLOTS;
        loop {
            match self.slots[slot] {
                0 => return self.add(slot, pattern, row),
                code if self.patterns[slot] == pattern => return Some((code - 1) as u8),
                _ => slot = (slot + 1) % NUMBER_SLOTS,
            }
        }
    }

    #[cold]
    fn add(&mut self, slot: usize, pattern: P, row: usize) -> Option<u8> {
        if self.rows.len() == self.limit {
            return None;
        }
        self.rows.push(row as u32);
        self.patterns[slot] = pattern;
        self.slots[slot] = self.rows.len() as u16;
        Some((self.rows.len() - 1) as u8)
    }
}

/// Numbers strings.
pub(super) struct StringTable<'a> {
    heap: &'a [Buffer],
    /// The upper half of a hash, and one more than the number of its string below; 0 where there is none. At least half are free.
    slots: Vec<u64>,
    hashes: Vec<u64>,
    distinct: Vec<View>,
}

impl<'a> StringTable<'a> {
    /// No strings yet, all of which have their bytes in `heap`.
    pub fn new(heap: &'a [Buffer]) -> Self {
        Self { heap, slots: vec![0; 1024], hashes: Vec::new(), distinct: Vec::new() }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.distinct.len()
    }

    /// The strings by number.
    pub fn into_distinct(self) -> Vec<View> {
        self.distinct
    }

    /// The number of a string.
    #[inline]
    pub fn code(&mut self, view: &View) -> u32 {
        let hash = hash_view(view, self.heap);
        let mask = self.slots.len() - 1;
        let mut slot = hash as usize & mask;
        loop {
            let found = self.slots[slot];
            if found == 0 {
                return self.add(slot, hash, view);
            }
            if found >> u32::BITS == hash >> u32::BITS {
                let code = found as u32 - 1;
                let known = &self.distinct[code as usize];
                // All of a short string is in its view, and equal long ones may lie in one place.
                if (known.head, known.tail) == (view.head, view.tail)
                    || view.equals(self.heap, known, self.heap)
                {
                    return code;
                }
            }
            slot = (slot + 1) & mask;
        }
    }

    #[cold]
    fn add(&mut self, slot: usize, hash: u64, view: &View) -> u32 {
        self.hashes.push(hash);
        self.distinct.push(*view);
        let count = self.distinct.len();
        self.slots[slot] = slot_of(hash, count);
        if count * 2 > self.slots.len() {
            let mask = self.slots.len() * 2 - 1;
            self.slots = vec![0; mask + 1];
            for (&hash, count) in self.hashes.iter().zip(1..) {
                let mut slot = hash as usize & mask;
                while self.slots[slot] != 0 {
                    slot = (slot + 1) & mask;
                }
                self.slots[slot] = slot_of(hash, count);
            }
        }
        count as u32 - 1
    }
}

fn slot_of(hash: u64, count: usize) -> u64 {
    hash >> u32::BITS << u32::BITS | count as u64
}

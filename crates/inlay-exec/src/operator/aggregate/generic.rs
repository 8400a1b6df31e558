//! Hash table for keys of any types: tagged slots, keys compared column by column.
//!
//! ```text
//! slot (u64)   [ lower half of the hash: 32 | group + 1: 32 ]     0: empty
//! ```
//! The lower bits of the tag say where a slot's walk begins, so that a table grows without the keys.
//!
//! A batch is resolved in passes: each row walks to an empty slot (a new group) or to one with its tag; the latter
//! rows are compared with the stored keys, all at once per column, and those that differ walk on in the next pass.

use super::packed::{AHEAD, CACHED_SLOTS, prefetch};
use inlay_kernels::aggregate::Column;
use inlay_types::Vector;
use inlay_types::hash;

/// Tagged slots. Their number is a power of two, at least one and a half times that of keys.
#[derive(Debug)]
pub(super) struct GenericTable {
    slots: Vec<u64>,
    count: usize,
    /// Hashes of the values of the dictionary that each key column used last.
    dictionaries: Vec<(u64, Vec<u64>)>,
    hashes: Vec<u64>,
    /// Hashes of the keys of all groups.
    of_groups: Vec<u64>,
    /// Where each row is in its walk.
    places: Vec<usize>,
    pending: Vec<u32>,
    candidates: Vec<u32>,
    different: Vec<u32>,
}

/// Slots for so many keys.
fn slots_for(keys: usize) -> usize {
    (keys + keys / 2).next_power_of_two().max(4096)
}

const TAG: u64 = 0xFFFF_FFFF_0000_0000;
/// Bits of a slot that are not the tag's.
const TAG_SHIFT: u32 = 32;
/// Dictionaries with more values than this are not hashed as a whole.
const DICTIONARY_MAX: usize = 1 << 16;

impl GenericTable {
    /// A table that needs not grow before it has so many keys.
    pub(super) fn new(columns: usize, keys: usize) -> Self {
        Self {
            slots: vec![0; slots_for(keys)],
            count: 0,
            dictionaries: vec![(0, Vec::new()); columns],
            hashes: Vec::new(),
            of_groups: Vec::new(),
            places: Vec::new(),
            pending: Vec::new(),
            candidates: Vec::new(),
            different: Vec::new(),
        }
    }

    pub(super) fn memory_size(&self) -> usize {
        (self.slots.capacity() + self.of_groups.capacity()) * 8
    }

    /// Hashes of the keys of all groups; no rows are added afterwards.
    pub(super) fn take_hashes(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.of_groups)
    }

    /// Gives back what finding groups takes; no rows are added afterwards.
    pub(super) fn forget_slots(&mut self) {
        self.slots = Vec::new();
    }

    fn hash(&mut self, keys: &[Vector], len: usize) {
        self.hashes.clear();
        self.hashes.resize(len, 0);
        for (index, key) in keys.iter().enumerate() {
            let cached = key.as_dictionary().filter(|dictionary| dictionary.values().len() <= DICTIONARY_MAX);
            let Some(dictionary) = cached else {
                match index {
                    0 => hash::hash(key, len, &mut self.hashes),
                    _ => hash::hash_combine(key, len, &mut self.hashes),
                }
                continue;
            };
            let (id, values) = &mut self.dictionaries[index];
            if *id != dictionary.id() {
                *id = dictionary.id();
                values.clear();
                values.resize(dictionary.values().len(), 0);
                hash::hash(dictionary.values(), dictionary.values().len(), values);
            }
            let nullable = key.validity().is_some();
            for (row, (hash, &code)) in self.hashes.iter_mut().zip(key.codes()).enumerate() {
                let null = nullable && key.is_null(row);
                let next = if null { hash::NULL_HASH } else { values[code as usize] };
                *hash = if index == 0 { next } else { hash::combine(*hash, next) };
            }
        }
    }

    fn reserve(&mut self, more: usize) {
        let size = slots_for(self.count + more);
        if size <= self.slots.len() {
            return;
        }
        let mask = size - 1;
        let before = std::mem::replace(&mut self.slots, vec![0; size]);
        for slot in before {
            if slot != 0 {
                let mut index = (slot >> TAG_SHIFT) as usize & mask;
                while self.slots[index] != 0 {
                    index = (index + 1) & mask;
                }
                self.slots[index] = slot;
            }
        }
    }

    /// Adds the keys of groups `first`, `first + 1`, ..., none of which it has.
    pub(super) fn add(&mut self, keys: &[Vector], len: usize, first: usize) {
        self.reserve(len);
        self.hash(keys, len);
        let mask = self.slots.len() - 1;
        for (&hash, number) in self.hashes.iter().zip(first as u64 + 1..) {
            let mut index = hash as u32 as usize & mask;
            while self.slots[index] != 0 {
                index = (index + 1) & mask;
            }
            self.slots[index] = hash << TAG_SHIFT | number;
        }
        self.of_groups.extend_from_slice(&self.hashes);
        self.count += len;
    }

    /// Finds the group of each row. New keys get groups `groups_before`, `groups_before + 1`, ... and are appended to `columns`.
    /// Keys need not be hashed if `known` has their hashes.
    pub(super) fn find_or_create(
        &mut self,
        keys: &[Vector],
        (len, known): (usize, Option<&[u64]>),
        columns: &mut [Column],
        groups_before: usize,
        groups: &mut [u32],
    ) -> usize {
        self.reserve(len);
        match known {
            Some(known) => {
                self.hashes.clear();
                self.hashes.extend_from_slice(known);
            }
            None => self.hash(keys, len),
        }
        let mask = self.slots.len() - 1;
        let mut next = groups_before as u32;
        self.places.clear();
        self.places.extend(self.hashes.iter().map(|&hash| hash as u32 as usize & mask));
        self.pending.clear();
        self.pending.extend(0..len as u32);
        let mut new_rows = Vec::new();
        let prefetched = self.slots.len() > CACHED_SLOTS;
        while !self.pending.is_empty() {
            new_rows.clear();
            self.candidates.clear();
            for (number, &row) in self.pending.iter().enumerate() {
                if prefetched && let Some(ahead) = self.pending.get(number + AHEAD) {
                    prefetch(&self.slots[self.places[*ahead as usize]]);
                }
                let tag = self.hashes[row as usize] << TAG_SHIFT;
                let mut index = self.places[row as usize];
                loop {
                    let slot = self.slots[index];
                    if slot == 0 {
                        groups[row as usize] = next;
                        next += 1;
                        self.slots[index] = tag | u64::from(next);
                        self.of_groups.push(self.hashes[row as usize]);
                        new_rows.push(row);
                        break;
                    }
                    if slot & TAG == tag {
                        groups[row as usize] = slot as u32 - 1;
                        self.candidates.push(row);
                        break;
                    }
                    index = (index + 1) & mask;
                }
                self.places[row as usize] = index;
            }
            self.different.clear();
            for (column, key) in columns.iter_mut().zip(keys) {
                if !new_rows.is_empty() {
                    column.append(key, &new_rows);
                }
                column.retain_equal(groups, key, &mut self.candidates, &mut self.different);
            }
            for &row in &self.different {
                self.places[row as usize] = (self.places[row as usize] + 1) & mask;
            }
            self.count += new_rows.len();
            std::mem::swap(&mut self.pending, &mut self.different);
        }
        next as usize
    }
}

/// Hashes of the keys of groups `from .. to`.
pub(super) fn hash_groups(columns: &[Column], from: usize, to: usize) -> Vec<u64> {
    let mut hashes = vec![0u64; to - from];
    let mut start = from;
    while start < to {
        let len = (to - start).min(inlay_types::VECTOR_SIZE);
        let part = &mut hashes[start - from..start - from + len];
        for (index, column) in columns.iter().enumerate() {
            let key = column.to_vector(start, len);
            match index {
                0 => hash::hash(&key, len, part),
                _ => hash::hash_combine(&key, len, part),
            }
        }
        start += len;
    }
    hashes
}

//! Hash table from packed keys to group numbers: open addressing, keys in the slots.

use inlay_types::hash::{hash_u64, hash_u128};

/// A packed group key.
pub(super) trait PackedKey: Copy + Eq + Default + Send + Sync {
    fn hash(self) -> u64;
}

impl PackedKey for u32 {
    #[inline(always)]
    fn hash(self) -> u64 {
        hash_u64(self.into())
    }
}

impl PackedKey for u64 {
    #[inline(always)]
    fn hash(self) -> u64 {
        hash_u64(self)
    }
}

impl PackedKey for u128 {
    #[inline(always)]
    fn hash(self) -> u64 {
        hash_u128(self)
    }
}

/// Two words.
impl PackedKey for [u64; 2] {
    #[inline(always)]
    fn hash(self) -> u64 {
        hash_u128(u128::from(self[0]) << 64 | u128::from(self[1]))
    }
}

/// A key and its group number plus one; 0: empty.
#[derive(Clone, Copy, Debug, Default)]
struct Slot<K> {
    key: K,
    group: u32,
}

/// Keys to group numbers. The number of slots is a power of two, at least twice that of keys.
#[derive(Debug)]
pub(super) struct PackedTable<K> {
    slots: Vec<Slot<K>>,
    count: usize,
}

/// Tables with more slots than this are prefetched.
pub(super) const CACHED_SLOTS: usize = 1 << 14;
/// Rows that a prefetch is ahead.
pub(super) const AHEAD: usize = 16;

impl<K: PackedKey> PackedTable<K> {
    /// A table that needs not grow before it has so many keys.
    pub(super) fn new(keys: usize) -> Self {
        Self { slots: vec![Slot::default(); (2 * keys).next_power_of_two().max(4096)], count: 0 }
    }

    pub(super) fn memory_size(&self) -> usize {
        self.slots.capacity() * size_of::<Slot<K>>()
    }

    /// Makes room for `more` keys.
    fn reserve(&mut self, more: usize) {
        if (self.count + more) * 2 <= self.slots.len() {
            return;
        }
        let size = ((self.count + more) * 2).next_power_of_two().max(self.slots.len() * 2);
        let old = std::mem::replace(&mut self.slots, vec![Slot::default(); size]);
        let mask = size - 1;
        for slot in old {
            if slot.group != 0 {
                let mut index = slot.key.hash() as usize & mask;
                while self.slots[index].group != 0 {
                    index = (index + 1) & mask;
                }
                self.slots[index] = slot;
            }
        }
    }

    /// Finds the group of each key. New keys get groups `next`, `next + 1`, ...; their rows are appended to `new_rows`.
    pub(super) fn find_or_create(
        &mut self,
        keys: &[K],
        next: u32,
        groups: &mut [u32],
        new_rows: &mut Vec<u32>,
    ) {
        self.reserve(keys.len());
        let mask = self.slots.len() - 1;
        let slots = &mut self.slots[..];
        let prefetched = slots.len() > CACHED_SLOTS;
        let mut next = next;
        let mut last = (K::default(), 0u32);
        for (row, (&key, group)) in keys.iter().zip(groups.iter_mut()).enumerate() {
            if prefetched && let Some(ahead) = keys.get(row + AHEAD) {
                prefetch(&slots[ahead.hash() as usize & mask]);
            }
            // Clustered input: the group of the row before.
            if key == last.0 && last.1 != 0 {
                *group = last.1 - 1;
                continue;
            }
            let mut index = key.hash() as usize & mask;
            loop {
                let slot = &mut slots[index];
                if slot.group == 0 {
                    next += 1;
                    *slot = Slot { key, group: next };
                    new_rows.push(row as u32);
                    self.count += 1;
                    last = (key, next);
                    break;
                }
                if slot.key == key {
                    last = (key, slot.group);
                    break;
                }
                index = (index + 1) & mask;
            }
            *group = last.1 - 1;
        }
    }
}

/// Asks for the cache line of a place.
#[inline(always)]
pub(super) fn prefetch<T>(place: &T) {
    inlay_types::view::prefetch((place as *const T).cast());
}

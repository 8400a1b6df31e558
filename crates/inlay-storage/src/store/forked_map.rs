//! A map of which copies are made all the time, each to be changed in one place: what a state names, of which every commit makes
//! a new one.
//!
//! The entries are in about as many parts as each has entries. A copy shares all of them; a change copies the list of parts and
//! the part that it is in, so that it costs the square root of what there is.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

/// Below, all entries are in one part.
const PART_MIN: usize = 32;

#[derive(Clone, Debug)]
pub(super) struct ForkedMap<K, V> {
    /// As many as a power of two.
    parts: Arc<Vec<Arc<HashMap<K, V>>>>,
    len: usize,
}

impl<K, V> Default for ForkedMap<K, V> {
    fn default() -> Self {
        Self { parts: Arc::new(vec![Arc::default()]), len: 0 }
    }
}

impl<K: Hash + Eq + Clone, V: Clone> ForkedMap<K, V> {
    pub fn get<Q: Hash + Eq + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        self.parts.get(self.part_of(key))?.get(key)
    }

    pub fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        self.parts.iter().flat_map(|part| part.iter())
    }

    pub fn values(&self) -> impl Iterator<Item = &V> {
        self.iter().map(|(_, value)| value)
    }

    pub fn keys(&self) -> impl Iterator<Item = &K> {
        self.iter().map(|(key, _)| key)
    }

    /// Enters a value in the place of another one of its key.
    pub fn insert(&mut self, key: K, value: V) {
        self.grow();
        let at = self.part_of(&key);
        if let Some(part) = Arc::make_mut(&mut self.parts).get_mut(at) {
            self.len += usize::from(Arc::make_mut(part).insert(key, value).is_none());
        }
    }

    pub fn remove<Q: Hash + Eq + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        self.get(key)?;
        let at = self.part_of(key);
        let part = Arc::make_mut(&mut self.parts).get_mut(at)?;
        let removed = Arc::make_mut(part).remove(key);
        self.len -= usize::from(removed.is_some());
        removed
    }

    fn part_of<Q: Hash + ?Sized>(&self, key: &Q) -> usize {
        let count = self.parts.len();
        if count == 1 {
            return 0;
        }
        let mut hasher = DefaultHasher::new();
        key.hash(&mut hasher);
        hasher.finish() as usize & (count - 1)
    }

    /// Takes twice as many parts when they have become too large.
    fn grow(&mut self) {
        let count = self.parts.len();
        if self.len < PART_MIN.max(count) * count {
            return;
        }
        let mut grown = Self { parts: Arc::new(vec![Arc::default(); count * 2]), len: 0 };
        let parts = Arc::make_mut(&mut grown.parts);
        let mut open: Vec<HashMap<K, V>> = (0..count * 2).map(|_| HashMap::new()).collect();
        for (key, value) in self.iter() {
            let mut hasher = DefaultHasher::new();
            key.hash(&mut hasher);
            open[hasher.finish() as usize & (count * 2 - 1)].insert(key.clone(), value.clone());
        }
        *parts = open.into_iter().map(Arc::new).collect();
        grown.len = self.len;
        *self = grown;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// Copies stay as they were, whatever becomes of the map that they were made of.
    #[test]
    fn it_is_the_map_of_the_library_and_copies_are_apart() {
        let (mut map, mut known) = (ForkedMap::default(), BTreeMap::new());
        let mut copies = Vec::new();
        for step in 0u64..6000 {
            let key = step.wrapping_mul(0x9e37_79b9_7f4a_7c15) % 3000;
            if step % 3 == 2 {
                assert_eq!(map.remove(&key), known.remove(&key));
            } else {
                map.insert(key, step);
                known.insert(key, step);
            }
            assert_eq!(map.get(&key), known.get(&key));
            if step % 1000 == 999 {
                copies.push((map.clone(), known.clone()));
            }
        }
        copies.push((map, known));
        for (map, known) in &copies {
            let all: BTreeMap<u64, u64> = map.iter().map(|(key, value)| (*key, *value)).collect();
            assert_eq!(&all, known);
            assert_eq!(map.len, known.len());
            assert_eq!(map.keys().count(), map.values().count());
        }
        let (large, _) = &copies[3];
        assert!(large.parts.len() > 8 && large.parts.iter().all(|part| part.len() < 200));
    }

    #[test]
    fn a_change_copies_one_part() {
        let mut map = ForkedMap::default();
        (0..10_000u64).for_each(|key| map.insert(key, ()));
        let copy = map.clone();
        map.insert(10_000, ());
        let shared = map.parts.iter().zip(copy.parts.iter()).filter(|(one, other)| Arc::ptr_eq(one, other));
        assert_eq!(shared.count(), map.parts.len() - 1);
    }
}

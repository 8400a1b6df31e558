//! Distinct keys, numbered as they come: what rows of a statement have in the columns of a unique key or of a foreign key.
//!
//! Keys are bytes ([`encode_rows`]), one behind the other, found by a table of `hash << 32 | number + 1` that is at most half
//! full and probed linearly; the upper half of the hash is compared before the bytes are.

use super::checks::shown_value;
use inlay_storage::index::key::encode_rows;
use inlay_types::hash::hash_bytes;
use inlay_types::{LogicalType, Result, Vector, VectorBuilder};

/// The number of rows that have no key, because of a NULL in it.
pub(crate) const NO_KEY: u32 = u32::MAX;

/// Distinct keys without NULLs, numbered.
#[derive(Debug, Default)]
pub(crate) struct KeySet {
    bytes: Vec<u8>,
    /// Where each key ends.
    ends: Vec<usize>,
    slots: Vec<u64>,
    /// The values of key `i` at row `i`.
    columns: Vec<Vector>,
}

/// Bytes of a set for each key, besides those of the key.
pub(crate) const SIZE_PER_KEY: usize = size_of::<usize>() + 4 * size_of::<u64>();

impl KeySet {
    /// The keys of rows that come in parts; rows with NULLs have none.
    pub fn of_parts(types: &[LogicalType], parts: impl Iterator<Item = Result<Vec<Vector>>>) -> Result<Self> {
        let mut all = Self::default();
        Self::in_sets(types, parts, usize::MAX, |set| {
            all = set;
            Ok(())
        })?;
        Ok(all)
    }

    /// The same in several sets, of which each has hardly more than so many keys; a key may be in several.
    pub fn in_sets(
        types: &[LogicalType],
        parts: impl Iterator<Item = Result<Vec<Vector>>>,
        keys_max: usize,
        mut visit: impl FnMut(Self) -> Result<()>,
    ) -> Result<()> {
        let builders =
            || -> Vec<VectorBuilder> { types.iter().map(|ty| VectorBuilder::new(ty.clone(), 0)).collect() };
        let (mut set, mut values) = (Self::default(), builders());
        for part in parts {
            set.extend(&mut values, &part?)?;
            if set.len() >= keys_max {
                let full = std::mem::take(&mut set);
                visit(full.with_values(std::mem::replace(&mut values, builders())))?;
            }
        }
        visit(set.with_values(values))
    }

    fn extend(&mut self, values: &mut [VectorBuilder], part: &[Vector]) -> Result<()> {
        let (new_rows, _) = self.add(part)?;
        values.iter_mut().zip(part).for_each(|(values, column)| values.append(&column.take(&new_rows)));
        Ok(())
    }

    fn with_values(self, values: Vec<VectorBuilder>) -> Self {
        Self { columns: values.into_iter().map(VectorBuilder::finish).collect(), ..self }
    }

    /// The keys of rows.
    pub fn of(columns: Vec<Vector>) -> Result<Self> {
        Ok(Self::numbered(columns)?.0)
    }

    /// The keys of rows, and the number of each row's key or [`NO_KEY`].
    pub fn numbered(columns: Vec<Vector>) -> Result<(Self, Vec<u32>)> {
        let mut set = Self::default();
        let (new_rows, numbers) = set.add(&columns)?;
        let all = new_rows.len() == numbers.len();
        set.columns =
            if all { columns } else { columns.iter().map(|column| column.take(&new_rows)).collect() };
        Ok((set, numbers))
    }

    /// Adds the keys of rows. Gives the rows whose keys are new, and the number of each row's key.
    fn add(&mut self, columns: &[Vector]) -> Result<(Vec<u32>, Vec<u32>)> {
        let encoded = encode_rows(columns)?;
        self.make_room(encoded.len());
        let (mut new_rows, mut numbers) = (Vec::new(), Vec::with_capacity(encoded.len()));
        for row in 0..encoded.len() {
            if encoded.has_null(row) {
                numbers.push(NO_KEY);
                continue;
            }
            let key = encoded.key(row);
            let hash = hash_bytes(key);
            let number = match self.place_of(key, hash) {
                Ok(number) => number,
                Err(slot) => {
                    let number = self.ends.len() as u32;
                    self.slots[slot] = entry(hash, number);
                    self.bytes.extend_from_slice(key);
                    self.ends.push(self.bytes.len());
                    new_rows.push(row as u32);
                    number
                }
            };
            numbers.push(number);
        }
        Ok((new_rows, numbers))
    }

    /// Makes room for so many more keys.
    fn make_room(&mut self, more: usize) {
        let wanted = (2 * (self.len() + more)).next_power_of_two();
        if wanted <= self.slots.len() {
            return;
        }
        self.slots = vec![0; wanted];
        for number in 0..self.len() {
            let hash = hash_bytes(self.key(number));
            let mut slot = hash as usize & (wanted - 1);
            while self.slots[slot] != 0 {
                slot = (slot + 1) & (wanted - 1);
            }
            self.slots[slot] = entry(hash, number as u32);
        }
    }

    /// The number of a key, or the free slot where it would lie.
    #[inline]
    fn place_of(&self, key: &[u8], hash: u64) -> std::result::Result<u32, usize> {
        let mask = self.slots.len() - 1;
        let mut slot = hash as usize & mask;
        loop {
            let found = self.slots[slot];
            if found == 0 {
                return Err(slot);
            }
            let number = found as u32 - 1;
            if found >> 32 == hash >> 32 && self.key(number as usize) == key {
                return Ok(number);
            }
            slot = (slot + 1) & mask;
        }
    }

    /// A key as bytes.
    fn key(&self, number: usize) -> &[u8] {
        let start = number.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[start..self.ends[number]]
    }

    /// Some of the keys, with new numbers.
    pub fn some(&self, numbers: &[u32]) -> Result<Self> {
        Self::of(self.columns.iter().map(|column| column.take(numbers)).collect())
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The number of a key.
    #[inline]
    pub fn number(&self, key: &[u8]) -> Option<u32> {
        if self.is_empty() { None } else { self.place_of(key, hash_bytes(key)).ok() }
    }

    /// The hash of each key.
    pub fn hashes(&self) -> impl Iterator<Item = u64> + '_ {
        (0..self.len()).map(|number| hash_bytes(self.key(number)))
    }

    /// The values of the keys, column by column.
    pub fn columns(&self) -> &[Vector] {
        &self.columns
    }

    /// A key for a message: `(1, 'a')`.
    pub fn shown(&self, number: u32) -> String {
        let values = self.columns.iter().map(|column| shown_value(&column.get(number as usize)));
        format!("({})", values.collect::<Vec<_>>().join(", "))
    }
}

fn entry(hash: u64, number: u32) -> u64 {
    hash & !u64::from(u32::MAX) | (u64::from(number) + 1)
}

//! An unchained hash table: entries sorted by hash prefix, and a directory of where each prefix begins.
//!
//! ```text
//! directory[prefix]  [ tag bits | first entry ]     directory[prefix + 1] says where it ends
//! entries            [ key | row ]                  equal keys side by side
//! ```
//! The key is a slot (see `keys`), or the hash of several keys itself; then candidates must still be compared. A
//! prefix's tag has one bit per key, chosen by other bits of the hash than the prefix, so that most misses read the
//! directory only. Rows are partitioned by prefix first; each partition is then sorted within the cache.
//!
//! Words and entries are as narrow as rows and keys allow: what one worker wrote, every other has to fetch, and half
//! the bytes stay in the second-level cache for twice the rows.
//!
//! Source: Birler, Schmidt, Fent, Neumann: Simple, Efficient, and Robust Hash Tables for Join Processing (DaMoN 2024).

use super::super::keys::NO_SLOT;
use super::{PairWriter, Runs};
use crate::ExecContext;
use crate::dispatch::{multiversion, prefetch};
use inlay_types::Result;
use inlay_types::hash::hash_u64;
use parking_lot::Mutex;

/// A word of the directory: the upper half has the tag bits, the lower the first entry.
pub(crate) trait Word: Copy + Default + Send {
    /// Bits of either half.
    const HALF: u32;

    fn from_bits(bits: u64) -> Self;
    fn bits(self) -> u64;

    #[inline(always)]
    fn first(self) -> usize {
        (self.bits() & ((1 << Self::HALF) - 1)) as usize
    }

    #[inline(always)]
    fn tag(hash: u64) -> u64 {
        1 << (Self::HALF + (hash as u32 & (Self::HALF - 1)))
    }
}

/// Up to 65,535 rows.
impl Word for u32 {
    const HALF: u32 = 16;

    #[inline(always)]
    fn from_bits(bits: u64) -> Self {
        bits as u32
    }

    #[inline(always)]
    fn bits(self) -> u64 {
        u64::from(self)
    }
}

impl Word for u64 {
    const HALF: u32 = 32;

    #[inline(always)]
    fn from_bits(bits: u64) -> Self {
        bits
    }

    #[inline(always)]
    fn bits(self) -> u64 {
        self
    }
}

/// A key with its row, ordered by the key.
pub(crate) trait Entry: Copy + Default + Ord + Send + Sync {
    fn new(key: u64, row: usize) -> Self;
    fn key(self) -> u64;
    fn row(self) -> u32;
}

/// Keys below 2^32.
impl Entry for u64 {
    #[inline(always)]
    fn new(key: u64, row: usize) -> Self {
        key << 32 | row as u64
    }

    #[inline(always)]
    fn key(self) -> u64 {
        self >> 32
    }

    #[inline(always)]
    fn row(self) -> u32 {
        self as u32
    }
}

impl Entry for [u64; 2] {
    #[inline(always)]
    fn new(key: u64, row: usize) -> Self {
        [key, row as u64]
    }

    #[inline(always)]
    fn key(self) -> u64 {
        self[0]
    }

    #[inline(always)]
    fn row(self) -> u32 {
        self[1] as u32
    }
}

/// See the module documentation.
pub(crate) enum HashIndex {
    /// Few rows with keys below 2^32.
    Small(Table<u32, u64>),
    /// Keys below 2^32.
    Narrow(Table<u64, u64>),
    /// Any keys, or hashes.
    Wide(Table<u64, [u64; 2]>),
}

/// A directory with its entries.
pub(crate) struct Table<W, E> {
    directory: Vec<W>,
    entries: Vec<E>,
    shift: u32,
    /// The key is the hash.
    hashed: bool,
    unique: bool,
}

/// Directory bits that one partition covers, so that its part of the table stays in the second-level cache.
const PARTITION_BITS: u32 = 15;

#[inline(always)]
fn hash_of(key: u64, hashed: bool) -> u64 {
    if hashed { key } else { hash_u64(key) }
}

/// Does `$work` with the table `$table` of an index, of whichever widths it is.
macro_rules! with_table {
    ($index:expr, $table:ident => $work:expr) => {
        match $index {
            HashIndex::Small($table) => $work,
            HashIndex::Narrow($table) => $work,
            HashIndex::Wide($table) => $work,
        }
    };
}

impl HashIndex {
    /// Indexes rows by their keys. With `hashed`, keys are hashes already.
    pub fn build(context: &ExecContext, keys: &[u64], hashed: bool) -> Result<Self> {
        if hashed {
            return Ok(Self::Wide(Table::build::<true>(context, keys)?));
        }
        if keys.iter().any(|&key| key > u64::from(u32::MAX)) {
            return Ok(Self::Wide(Table::build::<false>(context, keys)?));
        }
        if keys.len() > usize::from(u16::MAX) {
            return Ok(Self::Narrow(Table::build::<false>(context, keys)?));
        }
        Ok(Self::Small(Table::build::<false>(context, keys)?))
    }

    pub fn is_unique(&self) -> bool {
        with_table!(self, table => table.unique)
    }

    /// Turns places into rows.
    pub fn resolve(&self, places: &mut [u32]) {
        with_table!(self, table => table.resolve(places));
    }

    pub fn memory_size(&self) -> usize {
        with_table!(self, table => size_of_val(&table.directory[..]) + size_of_val(&table.entries[..]))
    }

    /// Bytes that an index of `rows` rows takes at most, with what is needed to build it.
    pub fn size_for(rows: usize) -> usize {
        rows.next_power_of_two() * 8 + rows * (16 + 16)
    }

    pub fn find_unique(&self, keys: &[u64], probe_rows: &mut Vec<u32>, build_rows: &mut Vec<u32>) {
        with_table!(self, table => {
            table.find_places(keys, probe_rows, build_rows);
            table.resolve(build_rows);
        });
    }

    pub fn find_members(&self, keys: &[u64], probe_rows: &mut Vec<u32>) {
        let mut places = Vec::new();
        with_table!(self, table => table.find_places(keys, probe_rows, &mut places));
    }

    pub fn find_runs(&self, keys: &[u64], runs: &mut Runs) {
        with_table!(self, table => table.find_runs(keys, runs));
    }
}

impl<W: Word, E: Entry> Table<W, E> {
    fn build<const HASHED: bool>(context: &ExecContext, keys: &[u64]) -> Result<Self> {
        let bits = keys.len().next_power_of_two().trailing_zeros().max(1);
        let partition_bits = bits.saturating_sub(PARTITION_BITS).min(8);
        let shift = 64 - bits;
        let mut directory = vec![W::default(); (1 << bits) + 1];
        let mut entries = vec![E::default(); keys.len()];
        let mut unique = true;
        if partition_bits == 0 {
            let rows = keys.iter().enumerate().map(|(row, &key)| E::new(key, row));
            unique = fill::<W, E, HASHED>(rows, shift, 0, 0, &mut directory, &mut entries);
        } else {
            let parts = partition::<E, HASHED>(context, keys, partition_bits)?;
            let slots = 1usize << (bits - partition_bits);
            let mut tasks = Vec::with_capacity(1 << partition_bits);
            let (mut directory_rest, mut entries_rest) = (&mut directory[..], &mut entries[..]);
            let mut first = 0;
            for number in 0..1usize << partition_bits {
                let count: usize = parts.iter().map(|part| part[number].len()).sum();
                let (own_directory, directory_behind) = directory_rest.split_at_mut(slots);
                let (own_entries, entries_behind) = entries_rest.split_at_mut(count);
                (directory_rest, entries_rest) = (directory_behind, entries_behind);
                tasks.push(Mutex::new((number, first, own_directory, own_entries, true)));
                first += count;
            }
            context.parallel(tasks.len(), |task| {
                let mut task = tasks[task].lock();
                let (number, first, directory, entries, unique) = &mut *task;
                let rows = parts.iter().flat_map(|part| part[*number].iter().copied());
                *unique = fill::<W, E, HASHED>(rows, shift, *number * slots, *first, directory, entries);
                Ok(())
            })?;
            for task in tasks {
                unique &= task.into_inner().4;
            }
        }
        if let Some(end) = directory.last_mut() {
            *end = W::from_bits(keys.len() as u64);
        }
        Ok(Self { directory, entries, shift, hashed: HASHED, unique })
    }

    fn resolve(&self, places: &mut [u32]) {
        for place in places {
            *place = self.entries[*place as usize].row();
        }
    }

    fn find_runs(&self, keys: &[u64], runs: &mut Runs) {
        self.find_places(keys, &mut runs.rows, &mut runs.starts);
        if self.unique {
            runs.counts.resize(runs.rows.len(), 1);
            return;
        }
        for &start in &runs.starts {
            let run = &self.entries[start as usize..];
            let key = run[0].key();
            runs.counts.push(run.iter().take_while(|entry| entry.key() == key).count() as u32);
        }
    }

    /// Probe rows whose key is there, and the first place of each.
    fn find_places(&self, keys: &[u64], probe_rows: &mut Vec<u32>, places: &mut Vec<u32>) {
        candidates(self.hashed, &self.directory, &self.entries, self.shift, keys, probe_rows, places);
        // Candidates have a tag bit in common with their prefix; `places` holds where to look first.
        let mut kept = 0;
        for index in 0..probe_rows.len() {
            let (row, mut place) = (probe_rows[index], places[index] as usize);
            let key = keys[row as usize];
            if self.entries[place].key() != key {
                let prefix = hash_of(key, self.hashed) >> self.shift;
                let end = self.directory[prefix as usize + 1].first();
                place += 1;
                while place < end && self.entries[place].key() != key {
                    place += 1;
                }
                if place >= end {
                    continue;
                }
            }
            probe_rows[kept] = row;
            places[kept] = place as u32;
            kept += 1;
        }
        probe_rows.truncate(kept);
        places.truncate(kept);
    }
}

/// Sorts the rows of one partition into `entries` and writes its part of the directory. Returns whether all keys differ.
fn fill<W: Word, E: Entry, const HASHED: bool>(
    rows: impl Iterator<Item = E> + Clone,
    shift: u32,
    first_prefix: usize,
    first_entry: usize,
    directory: &mut [W],
    entries: &mut [E],
) -> bool {
    let prefix = |key: u64| (hash_of(key, HASHED) >> shift) as usize - first_prefix;
    for entry in rows.clone() {
        let word = &mut directory[prefix(entry.key())];
        *word = W::from_bits(word.bits() + 1);
    }
    let mut next = 0;
    for word in directory.iter_mut() {
        let count = word.bits();
        *word = W::from_bits(next);
        next += count;
    }
    for entry in rows {
        let word = &mut directory[prefix(entry.key())];
        entries[word.first()] = entry;
        *word = W::from_bits((word.bits() + 1) | W::tag(hash_of(entry.key(), HASHED)));
    }
    // Each word now says where its prefix ends; shifting by one prefix makes it the beginning.
    let (mut begin, mut unique) = (0, true);
    for word in directory.iter_mut() {
        let end = word.first();
        let run = &mut entries[begin..end];
        if run.len() > 1 {
            run.sort_unstable();
            unique &= run.windows(2).all(|pair| pair[0].key() != pair[1].key());
        }
        *word = W::from_bits(word.bits() >> W::HALF << W::HALF | (begin + first_entry) as u64);
        begin = end;
    }
    unique
}

/// Rows with their keys, by the first bits of the hash: `parts[task][partition]`.
fn partition<E: Entry, const HASHED: bool>(
    context: &ExecContext,
    keys: &[u64],
    bits: u32,
) -> Result<Vec<Vec<Vec<E>>>> {
    let task_rows = context.task_rows(keys.len());
    let tasks: Vec<Mutex<Vec<Vec<E>>>> =
        (0..keys.len().div_ceil(task_rows)).map(|_| Mutex::default()).collect();
    context.parallel(tasks.len(), |task| {
        let from = task * task_rows;
        let part = &keys[from..keys.len().min(from + task_rows)];
        let number = |key: u64| (hash_of(key, HASHED) >> (64 - bits)) as usize;
        let mut counts = vec![0usize; 1 << bits];
        part.iter().for_each(|key| counts[number(*key)] += 1);
        let mut parts: Vec<Vec<E>> = counts.into_iter().map(Vec::with_capacity).collect();
        for (row, &key) in part.iter().enumerate() {
            parts[number(key)].push(E::new(key, from + row));
        }
        *tasks[task].lock() = parts;
        Ok(())
    })?;
    Ok(tasks.into_iter().map(Mutex::into_inner).collect())
}

multiversion! {
    fn candidates[W: Word, E: Entry](
        hashed: bool,
        directory: &[W],
        entries: &[E],
        shift: u32,
        keys: &[u64],
        probe_rows: &mut Vec<u32>,
        firsts: &mut Vec<u32>,
    ) {
        let mut found = PairWriter::new(probe_rows, firsts, keys.len());
        for (row, &key) in keys.iter().enumerate() {
            let hash = hash_of(key, hashed);
            let word = directory[(hash >> shift) as usize];
            let hit = word.bits() & W::tag(hash) != 0 && (hashed || key != NO_SLOT);
            found.put(row as u32, word.first() as u32, hit);
            if hit {
                prefetch(entries, word.first());
            }
        }
        found.finish();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// Looks every key up, and others, and compares with an ordered map.
    fn check(keys: &[u64], hashed: bool) -> Result<HashIndex> {
        let index = HashIndex::build(&ExecContext::for_tests(2), keys, hashed)?;
        let mut rows_of: BTreeMap<u64, Vec<u32>> = BTreeMap::new();
        for (row, key) in keys.iter().enumerate() {
            rows_of.entry(*key).or_default().push(row as u32);
        }
        assert_eq!(index.is_unique(), rows_of.len() == keys.len());
        let mut asked = keys.to_vec();
        asked.extend(keys.iter().flat_map(|key| [key ^ 1, key ^ 1 << 32, key ^ 1 << 63]));
        asked.push(NO_SLOT);
        let mut runs = Runs::default();
        index.find_runs(&asked, &mut runs);
        let mut next = 0;
        for (row, key) in asked.iter().enumerate() {
            let Some(expected) = rows_of.get(key) else { continue };
            assert_eq!((runs.rows[next], runs.counts[next]), (row as u32, expected.len() as u32));
            let start = runs.starts[next];
            let mut places: Vec<u32> = (start..start + runs.counts[next]).collect();
            index.resolve(&mut places);
            assert_eq!(&places, expected);
            next += 1;
        }
        assert_eq!(next, runs.rows.len(), "no key is found that is not there");
        Ok(index)
    }

    fn spread(rows: u64, step: u64) -> Vec<u64> {
        (0..rows).map(|row| row.wrapping_mul(step) % (rows * 8)).collect()
    }

    #[test]
    fn few_rows_take_narrow_words() -> Result<()> {
        for rows in [0, 1, 2, 100, 40_000, 65_535] {
            assert!(matches!(check(&spread(rows, 7), false)?, HashIndex::Small(_)));
        }
        assert!(matches!(check(&[5; 65_535], false)?, HashIndex::Small(_)));
        assert!(matches!(check(&[u64::from(u32::MAX), 3], false)?, HashIndex::Small(_)));
        Ok(())
    }

    #[test]
    fn many_rows_take_wide_words() -> Result<()> {
        assert!(matches!(check(&spread(65_536, 5), false)?, HashIndex::Narrow(_)));
        assert!(matches!(check(&spread(300_000, 8), false)?, HashIndex::Narrow(_)));
        Ok(())
    }

    #[test]
    fn large_keys_and_hashes_take_wide_entries() -> Result<()> {
        assert!(matches!(check(&[1 << 32, 3, 1 << 32, 1 << 62], false)?, HashIndex::Wide(_)));
        let hashes: Vec<u64> = spread(100_000, 3).into_iter().map(hash_u64).collect();
        assert!(matches!(check(&hashes, true)?, HashIndex::Wide(_)));
        assert!(matches!(check(&hashes, false)?, HashIndex::Wide(_)));
        Ok(())
    }
}

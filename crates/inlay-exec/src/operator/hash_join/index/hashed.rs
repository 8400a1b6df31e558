//! An unchained hash table: entries sorted by hash prefix, and a directory of where each prefix begins.
//!
//! ```text
//! directory[prefix]  [ tag bits: 32 | first entry: 32 ]     directory[prefix + 1] says where it ends
//! entries            [ key: 64 | row: 64 ]                  equal keys side by side
//! ```
//! The key is a slot (see `keys`), or the hash of several keys itself; then candidates must still be compared. A
//! prefix's tag has one bit per key, chosen by other bits of the hash than the prefix, so that most misses read the
//! directory only. Rows are partitioned by prefix first; each partition is then sorted within the cache.
//!
//! Source: Birler, Schmidt, Fent, Neumann: Simple, Efficient, and Robust Hash Tables for Join Processing (DaMoN 2024).

use super::super::keys::NO_SLOT;
use super::{PairWriter, Runs};
use crate::ExecContext;
use crate::dispatch::{multiversion, prefetch};
use inlay_kernels::hash::hash_u64;
use inlay_types::Result;
use parking_lot::Mutex;

/// `[key, row]`.
type Entry = [u64; 2];

/// See the module documentation.
pub(crate) struct HashIndex {
    directory: Vec<u64>,
    entries: Vec<Entry>,
    shift: u32,
    /// The key is the hash.
    hashed: bool,
    unique: bool,
}

/// Directory bits that one partition covers, so that its part of the table stays in the second-level cache.
const PARTITION_BITS: u32 = 15;

#[inline(always)]
fn hash_of<const HASHED: bool>(key: u64) -> u64 {
    if HASHED { key } else { hash_u64(key) }
}

#[inline(always)]
fn tag(hash: u64) -> u64 {
    1 << (32 + (hash & 31))
}

impl HashIndex {
    /// Indexes rows by their keys. With `hashed`, keys are hashes already.
    pub fn build(context: &ExecContext, keys: &[u64], hashed: bool) -> Result<Self> {
        if hashed { Self::build_as::<true>(context, keys) } else { Self::build_as::<false>(context, keys) }
    }

    fn build_as<const HASHED: bool>(context: &ExecContext, keys: &[u64]) -> Result<Self> {
        let bits = keys.len().next_power_of_two().trailing_zeros().max(1);
        let partition_bits = bits.saturating_sub(PARTITION_BITS).min(8);
        let shift = 64 - bits;
        let mut directory = vec![0u64; (1 << bits) + 1];
        let mut entries: Vec<Entry> = vec![[0, 0]; keys.len()];
        let mut unique = true;
        if partition_bits == 0 {
            let rows = keys.iter().enumerate().map(|(row, &key)| [key, row as u64]);
            unique = fill::<HASHED>(rows, shift, 0, 0, &mut directory, &mut entries);
        } else {
            let parts = partition::<HASHED>(context, keys, partition_bits)?;
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
                *unique = fill::<HASHED>(rows, shift, *number * slots, *first, directory, entries);
                Ok(())
            })?;
            for task in tasks {
                unique &= task.into_inner().4;
            }
        }
        if let Some(end) = directory.last_mut() {
            *end = keys.len() as u64;
        }
        Ok(Self { directory, entries, shift, hashed: HASHED, unique })
    }

    pub fn is_unique(&self) -> bool {
        self.unique
    }

    /// Turns places into rows.
    pub fn resolve(&self, places: &mut [u32]) {
        for place in places {
            *place = self.entries[*place as usize][1] as u32;
        }
    }

    pub fn memory_size(&self) -> usize {
        self.directory.len() * 8 + self.entries.len() * 16
    }

    /// Bytes that an index of `rows` rows takes.
    pub fn size_for(rows: usize) -> usize {
        rows.next_power_of_two() * 8 + rows * (16 + 16)
    }

    pub fn find_unique(&self, keys: &[u64], probe_rows: &mut Vec<u32>, build_rows: &mut Vec<u32>) {
        self.find_places(keys, probe_rows, build_rows);
        self.resolve(build_rows);
    }

    pub fn find_members(&self, keys: &[u64], probe_rows: &mut Vec<u32>) {
        let mut places = Vec::new();
        self.find_places(keys, probe_rows, &mut places);
    }

    pub fn find_runs(&self, keys: &[u64], runs: &mut Runs) {
        self.find_places(keys, &mut runs.rows, &mut runs.starts);
        if self.unique {
            runs.counts.resize(runs.rows.len(), 1);
            return;
        }
        for &start in &runs.starts {
            let run = &self.entries[start as usize..];
            let key = run[0][0];
            runs.counts.push(run.iter().take_while(|entry| entry[0] == key).count() as u32);
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
            let prefix = (if self.hashed { key } else { hash_u64(key) }) >> self.shift;
            if self.entries[place][0] != key {
                let end = self.directory[prefix as usize + 1] as u32 as usize;
                place += 1;
                while place < end && self.entries[place][0] != key {
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
fn fill<const HASHED: bool>(
    rows: impl Iterator<Item = Entry> + Clone,
    shift: u32,
    first_prefix: usize,
    first_entry: usize,
    directory: &mut [u64],
    entries: &mut [Entry],
) -> bool {
    let prefix = |key: u64| (hash_of::<HASHED>(key) >> shift) as usize - first_prefix;
    for [key, _] in rows.clone() {
        directory[prefix(key)] += 1;
    }
    let mut next = 0;
    for word in directory.iter_mut() {
        let count = *word;
        *word = next;
        next += count;
    }
    for entry in rows {
        let word = &mut directory[prefix(entry[0])];
        entries[*word as u32 as usize] = entry;
        *word = (*word + 1) | tag(hash_of::<HASHED>(entry[0]));
    }
    // Each word now says where its prefix ends; shifting by one prefix makes it the beginning.
    let (mut begin, mut unique) = (0u64, true);
    for word in directory.iter_mut() {
        let end = *word & 0xFFFF_FFFF;
        let run = &mut entries[begin as usize..end as usize];
        if run.len() > 1 {
            run.sort_unstable();
            unique &= run.windows(2).all(|pair| pair[0][0] != pair[1][0]);
        }
        *word = *word >> 32 << 32 | (begin + first_entry as u64);
        begin = end;
    }
    unique
}

/// Rows with their keys, by the first bits of the hash: `parts[task][partition]`.
fn partition<const HASHED: bool>(
    context: &ExecContext,
    keys: &[u64],
    bits: u32,
) -> Result<Vec<Vec<Vec<Entry>>>> {
    let task_rows = context.task_rows(keys.len());
    let tasks: Vec<Mutex<Vec<Vec<Entry>>>> =
        (0..keys.len().div_ceil(task_rows)).map(|_| Mutex::default()).collect();
    context.parallel(tasks.len(), |task| {
        let from = task * task_rows;
        let part = &keys[from..keys.len().min(from + task_rows)];
        let number = |key: u64| (hash_of::<HASHED>(key) >> (64 - bits)) as usize;
        let mut counts = vec![0usize; 1 << bits];
        part.iter().for_each(|key| counts[number(*key)] += 1);
        let mut parts: Vec<Vec<Entry>> = counts.into_iter().map(Vec::with_capacity).collect();
        for (row, &key) in part.iter().enumerate() {
            parts[number(key)].push([key, (from + row) as u64]);
        }
        *tasks[task].lock() = parts;
        Ok(())
    })?;
    Ok(tasks.into_iter().map(Mutex::into_inner).collect())
}

multiversion! {
    fn candidates[](
        hashed: bool,
        directory: &[u64],
        entries: &[Entry],
        shift: u32,
        keys: &[u64],
        probe_rows: &mut Vec<u32>,
        firsts: &mut Vec<u32>,
    ) {
        let mut found = PairWriter::new(probe_rows, firsts, keys.len());
        for (row, &key) in keys.iter().enumerate() {
            let hash = if hashed { key } else { hash_u64(key) };
            let word = directory[(hash >> shift) as usize];
            let hit = word & tag(hash) != 0 && (hashed || key != NO_SLOT);
            found.put(row as u32, word as u32, hit);
            if hit {
                prefetch(entries, word as u32 as usize);
            }
        }
        found.finish();
    }
}

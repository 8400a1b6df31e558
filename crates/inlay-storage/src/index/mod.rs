//! Indexes: which rows have a key, for uniqueness, lookups and ranges.
//!
//! ```text
//! Index -- RwLock --> art::Art <-- pages --> art::PageStore          key: values as ordered bytes
//! ```
//! One index serves all versions of its table, and the transactions that run. It may name rows that are deleted, have
//! another key by now, or never came to be; so each row id it gives is a candidate, which the caller verifies in the version
//! that it reads. What always holds: every live row of every version in use is in the index under its key, rows
//! with NULLs in their key included. Deletions, rollbacks and failing statements need no work here; entries that no
//! version needs any more go when the index is vacuumed.
//!
//! Many readers at once; a writer holds the index alone for the time of one batch. No callback runs under the lock but that
//! of [`Index::vacuum`].

pub mod art;
pub mod key;
mod runs;

pub use art::{Direction, Flushed, PagePtr, PageStore};
pub use key::{KeyRows, encode_rows, encode_values};

use crate::interrupted::check_interrupt;
use art::{Art, ByteRange, key_and_row_id};
use inlay_types::{Error, LogicalType, MemoryBudget, Result, Value, Vector};
use key::{check_types, successor};
use parking_lot::{RwLock, RwLockUpgradableReadGuard};
use runs::{Candidates, Runs, clash_of};
use std::ops::Bound;
use std::sync::Arc;

#[cfg(test)]
mod tests;

/// Entries beyond twice the live rows that an index may have before [`Index::is_bloated`] says so.
const STALE_ENTRIES_FREE: u64 = 4096;

/// Keys that are entered or looked up before the statement's flag is looked at again.
const KEYS_AT_ONCE: usize = 4096;

/// What an index is on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexDef {
    /// Tells the indexes of a database apart.
    pub id: u64,
    /// Positions of the key's columns in the table, most significant first.
    pub columns: Vec<usize>,
    /// Their types.
    pub types: Vec<LogicalType>,
    /// Whether no two live rows of a version may have one key free of NULLs.
    pub unique: bool,
}

/// See the module documentation.
#[derive(Debug)]
pub struct Index {
    def: IndexDef,
    art: RwLock<Art>,
}

/// Two rows with one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clash {
    /// Which of the new rows.
    pub position: usize,
    /// The row that has the key already.
    pub row_id: i64,
}

/// New or changed rows whose keys are to be unique.
pub struct PendingKeys<'a> {
    /// Their values in the key's columns.
    pub columns: &'a [Vector],
    /// Row ids by position.
    pub row_ids: &'a dyn Fn(usize) -> i64,
    /// Position of a row id among the pending rows, if it is there.
    pub position: &'a dyn Fn(i64) -> Option<usize>,
}

/// What is left of a range; see [`Index::next_candidates`].
#[derive(Clone, Debug)]
pub struct RangeCursor {
    low: Vec<u8>,
    high: Option<Vec<u8>>,
    direction: Direction,
    done: bool,
}

impl Index {
    /// An empty index that takes its memory from `budget`.
    pub fn new(def: IndexDef, budget: MemoryBudget) -> Result<Self> {
        Ok(Self { def, art: RwLock::new(Art::new(budget)?) })
    }

    /// The same index, which may write pages to `store` when memory is refused.
    pub fn with_store(self, store: Arc<dyn PageStore>) -> Self {
        Self { def: self.def, art: RwLock::new(self.art.into_inner().with_store(store)) }
    }

    /// The index whose first page is `root`. Reads that page alone, others when they are needed.
    pub fn open(
        def: IndexDef,
        root: PagePtr,
        store: Arc<dyn PageStore>,
        budget: MemoryBudget,
    ) -> Result<Self> {
        Ok(Self { def, art: RwLock::new(Art::open(root, store, budget)?) })
    }

    /// Enters the rows that `batches` gives: values in the key's columns, and row ids.
    pub fn insert_batches(
        &self,
        batches: impl IntoIterator<Item = Result<(Vec<Vector>, Vec<i64>)>>,
    ) -> Result<()> {
        for batch in batches {
            let (columns, row_ids) = batch?;
            if columns.iter().any(|column| column.len() != row_ids.len()) {
                return Err(Error::internal("key columns and row ids of different lengths"));
            }
            self.insert_rows(&columns, &|row| row_ids[row])?;
            // Who reads the next rows cannot make room for them.
            self.art.write().leave_room()?;
        }
        Ok(())
    }

    /// What the index is on.
    pub fn def(&self) -> &IndexDef {
        &self.def
    }

    /// Number of entries, stale ones included.
    pub fn len(&self) -> u64 {
        self.art.read().len()
    }

    /// Whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes in memory.
    pub fn memory_size(&self) -> u64 {
        self.art.read().memory_size()
    }

    /// Whether stale entries take more room than those of `live_rows` rows, so that a vacuum pays.
    pub fn is_bloated(&self, live_rows: u64) -> bool {
        self.len() > 2 * live_rows + STALE_ENTRIES_FREE
    }

    /// Enters rows under their keys. After an error some may be entered, which harms nothing.
    pub fn insert_rows(&self, columns: &[Vector], row_ids: &dyn Fn(usize) -> i64) -> Result<()> {
        let keys = self.encode(columns)?;
        self.insert_keys(&keys, keys.sorted()?.as_deref(), row_ids)
    }

    /// Enters keys in their order, which is that of the rows if there is none.
    fn insert_keys(
        &self,
        keys: &KeyRows,
        order: Option<&[u32]>,
        row_ids: &dyn Fn(usize) -> i64,
    ) -> Result<()> {
        let mut entry = Vec::new();
        for from in (0..keys.len()).step_by(KEYS_AT_ONCE) {
            check_interrupt()?;
            let mut art = self.art.write();
            for position in from..keys.len().min(from + KEYS_AT_ONCE) {
                let row = order.map_or(position, |order| order[position] as usize);
                entry.clear();
                entry.extend_from_slice(keys.key(row));
                entry.extend_from_slice(&row_ids(row).to_be_bytes());
                art.insert_or_write(&entry)?;
            }
        }
        Ok(())
    }

    /// Enters pending rows, unless one has the key of another row: of an earlier pending one, or of a live one in the caller's
    /// version. Gives the first such row and enters none then, so that many rows of one key leave no trace.
    /// `live_key_equals(row id, position)` says whether the row is live and not itself among the pending ones, and has the key
    /// of the pending row at `position`; it runs without a lock.
    pub fn enter(
        &self,
        pending: &PendingKeys<'_>,
        live_key_equals: &mut dyn FnMut(i64, usize) -> Result<bool>,
    ) -> Result<Option<Clash>> {
        let keys = self.encode(pending.columns)?;
        let order = keys.sorted()?;
        let clash = self.first_clash_of(&keys, order.as_deref(), pending, live_key_equals)?;
        if clash.is_none() {
            self.insert_keys(&keys, order.as_deref(), pending.row_ids)?;
        }
        Ok(clash)
    }

    /// As [`Index::enter`], but enters nothing.
    pub fn first_clash(
        &self,
        pending: &PendingKeys<'_>,
        live_key_equals: &mut dyn FnMut(i64, usize) -> Result<bool>,
    ) -> Result<Option<Clash>> {
        let keys = self.encode(pending.columns)?;
        self.first_clash_of(&keys, keys.sorted()?.as_deref(), pending, live_key_equals)
    }

    /// Each key is looked up once, however many rows have it: what a lookup gives grows with the entries of the key.
    fn first_clash_of(
        &self,
        keys: &KeyRows,
        order: Option<&[u32]>,
        pending: &PendingKeys<'_>,
        live_key_equals: &mut dyn FnMut(i64, usize) -> Result<bool>,
    ) -> Result<Option<Clash>> {
        let mut first: Option<Clash> = None;
        let mut runs = Runs::new(keys, order);
        let mut found = Candidates::default();
        while !runs.is_done() {
            check_interrupt()?;
            self.next_candidates_of(&mut runs, &mut found)?;
            for (run, ids) in found.iter() {
                let limit = first.map_or(keys.len(), |clash| clash.position);
                if run.position < limit {
                    first = clash_of(run, ids, pending, limit, live_key_equals)?.or(first);
                }
            }
        }
        Ok(first)
    }

    /// Row ids that may have these values in the first columns of the key, in ascending order of the other columns.
    pub fn candidates(&self, values: &[Value]) -> Result<Vec<i64>> {
        let mut found = Vec::new();
        if let Some(prefix) = encode_values(values, &self.def.types)? {
            self.art.read().collect_prefix(&prefix, &mut found)?;
        }
        Ok(found)
    }

    /// For each key among the rows of `columns` (all of the key's columns): the position of its first row, and the row ids that
    /// may have it. Ascends by position. Keys with a NULL have none.
    pub fn candidates_many(&self, columns: &[Vector]) -> Result<Vec<(u32, i64)>> {
        let keys = self.encode(columns)?;
        let order = keys.sorted()?;
        let mut all = Vec::with_capacity(keys.len());
        let mut runs = Runs::new(&keys, order.as_deref());
        let mut found = Candidates::default();
        while !runs.is_done() {
            check_interrupt()?;
            self.next_candidates_of(&mut runs, &mut found)?;
            for (run, ids) in found.iter() {
                all.extend(ids.iter().map(|id| (run.position as u32, *id)));
            }
        }
        if order.is_some() {
            // Stable: the candidates of a row stay as they came.
            all.sort_by_key(|(position, _)| *position);
        }
        Ok(all)
    }

    /// The candidates of the next keys.
    fn next_candidates_of<'a>(&self, runs: &mut Runs<'a>, found: &mut Candidates<'a>) -> Result<()> {
        found.clear();
        let art = self.art.read();
        let mut reader = art.reader();
        for _ in 0..KEYS_AT_ONCE {
            if found.ids.len() >= KEYS_AT_ONCE {
                break;
            }
            let Some(run) = runs.advance() else { break };
            if !runs.keys.has_null(run.position) {
                reader.collect_prefix(runs.keys.key(run.position), &mut found.ids)?;
                found.runs.push((run, found.ids.len()));
            }
        }
        Ok(())
    }

    /// Up to `limit` row ids whose key may lie between bounds, in ascending order of keys. Bounds are values of the first
    /// columns of the key and compare with these alone. NULL is above all values: `x > 5` ends before NULL, with
    /// `Excluded(&[Value::Null])`; `x IS NULL` is the range from NULL to NULL.
    pub fn candidates_range(
        &self,
        lower: Bound<&[Value]>,
        upper: Bound<&[Value]>,
        limit: usize,
    ) -> Result<Vec<i64>> {
        self.next_candidates(&mut self.range(lower, upper, Direction::Forward)?, limit)
    }

    /// A range, to be read piece by piece; for the bounds see [`Index::candidates_range`].
    pub fn range(
        &self,
        lower: Bound<&[Value]>,
        upper: Bound<&[Value]>,
        direction: Direction,
    ) -> Result<RangeCursor> {
        let low = self.bound(lower, false)?;
        let high = self.bound(upper, true)?;
        let (Edge::At(low), high) = (low, high) else {
            return Ok(RangeCursor { low: Vec::new(), high: None, direction, done: true });
        };
        let high = if let Edge::At(high) = high { Some(high) } else { None };
        let done = high.as_ref().is_some_and(|high| *high <= low);
        Ok(RangeCursor { low, high, direction, done })
    }

    /// The next candidates of a range, up to `limit`; none at its end. Entries that come or go meanwhile show if they are
    /// still ahead.
    pub fn next_candidates(&self, cursor: &mut RangeCursor, limit: usize) -> Result<Vec<i64>> {
        let mut found = Vec::new();
        if cursor.done || limit == 0 {
            return Ok(found);
        }
        let mut last = Vec::new();
        let range = ByteRange { low: &cursor.low, high: cursor.high.as_deref() };
        self.art.read().scan(range, cursor.direction, &mut |key, row_id| {
            found.push(row_id);
            let full = found.len() == limit;
            if full {
                last = [key, &row_id.to_be_bytes()].concat();
            }
            !full
        })?;
        match cursor.direction {
            _ if found.len() < limit => cursor.done = true,
            Direction::Forward => {
                last.push(0);
                cursor.low = last;
            }
            Direction::Backward => cursor.high = Some(last),
        }
        Ok(found)
    }

    /// Takes out the entries that `is_live` denies; returns how many. `is_live` gets key bytes and row id, and must say true
    /// for every entry that some version in use, or a transaction that runs, may need. The index is held part by part.
    pub fn vacuum(&self, is_live: &mut dyn FnMut(&[u8], i64) -> Result<bool>) -> Result<u64> {
        let (mut next, mut dropped) = (Some(Vec::new()), 0);
        while let Some(from) = next {
            let (behind, count) = self.art.write().retain(&from, is_live)?;
            (next, dropped) = (behind, dropped + count);
        }
        Ok(dropped)
    }

    /// Whether something changed since the last flush.
    pub fn is_dirty(&self) -> bool {
        self.art.read().is_dirty()
    }

    /// Writes what changed since the last flush. Readers go on meanwhile; after an error the index is what it was.
    pub fn flush(&self, store: &Arc<dyn PageStore>) -> Result<Flushed> {
        let art = self.art.upgradable_read();
        let writes = art.write_changes(store)?;
        Ok(RwLockUpgradableReadGuard::upgrade(art).note_writes(writes, store))
    }

    /// All pages that the last flushed root reaches.
    pub fn pages(&self) -> Result<Vec<PagePtr>> {
        self.art.read().pages()
    }

    /// Reads every page that is not in memory; fails at the first that is damaged.
    pub fn check_pages(&self) -> Result<()> {
        self.art.read().check_pages()
    }

    /// Frees about `wanted` bytes by dropping what can be read again; returns the bytes freed.
    pub fn evict(&self, wanted: u64) -> u64 {
        self.art.write().evict(wanted)
    }

    /// As [`Index::evict`], and writes what cannot be read again yet if it has somewhere to write to.
    pub fn write_away(&self, wanted: u64) -> Result<u64> {
        self.art.write().write_away(wanted)
    }

    /// As [`Index::evict`], but does nothing while anybody uses the index.
    pub fn try_evict(&self, wanted: u64) -> u64 {
        self.art.try_write().map_or(0, |mut art| art.evict(wanted))
    }

    /// Calls `visit` with every key and row id, in order.
    pub fn for_each(&self, visit: &mut dyn FnMut(&[u8], i64) -> bool) -> Result<()> {
        self.art.read().scan(ByteRange { low: &[], high: None }, Direction::Forward, visit)
    }

    fn encode(&self, columns: &[Vector]) -> Result<KeyRows> {
        check_types(columns, &self.def.types)?;
        encode_rows(columns)
    }

    /// Where a bound lies among the entries: before all that begin with its bytes, or behind them.
    fn bound(&self, bound: Bound<&[Value]>, is_upper: bool) -> Result<Edge> {
        let (values, behind) = match bound {
            Bound::Unbounded if is_upper => return Ok(Edge::End),
            Bound::Unbounded => return Ok(Edge::At(Vec::new())),
            Bound::Included(values) => (values, is_upper),
            Bound::Excluded(values) => (values, !is_upper),
        };
        let Some(bytes) = encode_values(values, &self.def.types)? else {
            return Err(Error::internal("a bound outside of the range of its column"));
        };
        Ok(match if behind { successor(&bytes) } else { Some(bytes) } {
            Some(bytes) => Edge::At(bytes),
            None => Edge::End,
        })
    }
}

enum Edge {
    At(Vec<u8>),
    End,
}

/// Key and row id of an entry, as [`Index::vacuum`] shows them.
pub fn split_entry(entry: &[u8]) -> (&[u8], i64) {
    key_and_row_id(entry)
}

//! What was committed lately, as far as a transaction that is open has to be checked against it.
//!
//! ```text
//! bases of open transactions    b1              b2                 (those that begin later: at what is visible, or behind it)
//! commits                        |  1 2 3 ... n  |  n+1 ... m
//! entries                        |    one        |     one
//! ```
//! Commits that no open transaction tells apart are one entry: what rows were like before the first and after the last of
//! them, and which rows they touched. So a reader that stays open costs the version that it reads and ids, however often the
//! rows are changed meanwhile, and when it ends, what stood only between it and others is let go.
//!
//! Invariants
//! - Entries ascend by number; an entry has the number of its last commit.
//! - No open transaction began inside an entry, and none will: entries are joined up to the visible state only, at or behind
//!   which transactions begin. That state is durable, so no commit inside an entry is taken back alone.
//! - Joining loses nothing that a check needs: a condition on rows is as it was if it is after all that happened as it was
//!   before. Rows that a compaction gave other ids are not joined with rows of the ids from before.

use super::object::ObjectId;
use super::transaction::RowPredicate;
use crate::row_set::{RowSet, RowSetBuilder};
use crate::table::{Change, Piece, Table, TableSnapshot, Touched};
use inlay_types::{LogicalType, Result};
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;

/// See the module documentation.
#[derive(Debug, Default)]
pub(super) struct History {
    entries: VecDeque<Committed>,
}

/// What one commit did, or several in a row.
#[derive(Debug)]
pub(super) struct Committed {
    pub lsn: u64,
    pub tables: HashMap<ObjectId, Delta>,
    /// Objects that its definitions refer to.
    pub references: BTreeSet<ObjectId>,
}

/// What was done to a table that was there before.
#[derive(Debug)]
pub(super) struct Delta {
    before: Arc<Table>,
    after: Arc<Table>,
    what: What,
}

#[derive(Debug)]
enum What {
    /// Rows went, came or changed.
    Rows {
        /// Those that went or changed.
        touched: IdLists,
        /// From the first that came to the last.
        appended: Range<i64>,
    },
    /// Rows got other ids.
    Moved,
    /// The table itself, or all of its rows.
    Whole {
        /// Whether it is about its columns.
        is_altered: bool,
    },
}

/// Sets of row ids, each at least twice as long as the one behind it, so that many small ones cost little each.
#[derive(Debug, Default)]
struct IdLists(Vec<RowSet>);

impl IdLists {
    fn add(&mut self, ids: RowSet) {
        if ids.is_empty() {
            return;
        }
        self.0.push(ids);
        while let [.., long, short] = &self.0[..]
            && long.len() < 2 * short.len()
        {
            let both = long.union(short);
            self.0.truncate(self.0.len() - 2);
            self.0.push(both);
        }
    }

    fn intersects(&self, ids: &RowSet) -> bool {
        self.0.iter().any(|list| list.intersects(ids))
    }
}

impl What {
    fn of(changes: &[Change]) -> Self {
        let is_altered = changes.iter().any(|change| matches!(change, Change::Alter(_)));
        if changes.iter().any(Change::is_structural) {
            let moves = |change: &Change| matches!(change, Change::Compact { .. });
            return if changes.iter().all(moves) { Self::Moved } else { Self::Whole { is_altered } };
        }
        let (mut touched, mut appended) = (RowSetBuilder::default(), 0..0);
        for change in changes {
            match (change, change.touched()) {
                (_, Touched::Rows(ids)) => touched.add_set(ids),
                (Change::Append { first_id, pieces }, _) => {
                    let count: usize = pieces.iter().map(Piece::len).sum();
                    appended = joined(&appended, &(*first_id..first_id + count as i64));
                }
                (_, Touched::Nothing | Touched::Everything) => {}
            }
        }
        let mut lists = IdLists::default();
        lists.add(touched.finish());
        Self::Rows { touched: lists, appended }
    }

    fn can_join(&self, later: &Self) -> bool {
        !matches!((self, later), (Self::Rows { .. }, Self::Moved) | (Self::Moved, Self::Rows { .. }))
    }

    fn join(&mut self, later: Self) {
        match (&mut *self, later) {
            (Self::Rows { touched, appended }, Self::Rows { touched: more, appended: behind }) => {
                more.0.into_iter().for_each(|ids| touched.add(ids));
                *appended = joined(appended, &behind);
            }
            (Self::Moved, Self::Moved) => {}
            (Self::Whole { is_altered }, Self::Whole { is_altered: again }) => *is_altered |= again,
            (Self::Whole { .. }, Self::Rows { .. } | Self::Moved) => {}
            (_, Self::Whole { is_altered }) => *self = Self::Whole { is_altered },
            (Self::Rows { .. }, Self::Moved) | (Self::Moved, Self::Rows { .. }) => {
                *self = Self::Whole { is_altered: false };
            }
        }
    }
}

/// The ids from the first of two ranges to the last; the ids of rows that come only grow, so nobody else has one between.
fn joined(first: &Range<i64>, second: &Range<i64>) -> Range<i64> {
    match (first.is_empty(), second.is_empty()) {
        (true, _) => second.clone(),
        (_, true) => first.clone(),
        _ => first.start.min(second.start)..first.end.max(second.end),
    }
}

impl Delta {
    /// What `changes` made of a table.
    pub fn new(before: Arc<Table>, after: Arc<Table>, changes: &[Change]) -> Self {
        Self { before, after, what: What::of(changes) }
    }

    /// The table's name before.
    pub fn name(&self) -> &str {
        &self.before.schema().name
    }

    /// Whether rows that were there before, or the table itself, are not what they were.
    pub fn touches(&self, ids: &RowSet) -> bool {
        match &self.what {
            What::Rows { touched, .. } => touched.intersects(ids),
            What::Moved | What::Whole { .. } => true,
        }
    }

    pub fn is_structural(&self) -> bool {
        !matches!(self.what, What::Rows { .. })
    }

    pub fn is_altered(&self) -> bool {
        matches!(self.what, What::Whole { is_altered: true })
    }

    /// Whether a row that went, came or changed satisfies a predicate, before or after.
    pub fn affects(&self, predicate: Option<&dyn RowPredicate>) -> Result<bool> {
        let (touched, appended) = match &self.what {
            What::Moved => return Ok(false),
            What::Rows { touched, appended } => (touched, appended),
            What::Whole { .. } => return Ok(true),
        };
        let Some(predicate) = predicate else { return Ok(!touched.0.is_empty() || !appended.is_empty()) };
        let types: Vec<LogicalType> = self.before.schema().columns.iter().map(|c| c.ty.clone()).collect();
        let satisfies = |snapshot: &TableSnapshot, ids: &[i64]| {
            let ids = snapshot.live_ids(ids);
            Ok(!ids.is_empty() && predicate.matches_any(&snapshot.rows(&ids, &types)?)?)
        };
        let (before, after) = (self.before.snapshot(), self.after.snapshot());
        for ids in touched.0.iter().flat_map(RowSet::parts) {
            if satisfies(&before, &ids)? || satisfies(&after, &ids)? {
                return Ok(true);
            }
        }
        let mut from = appended.start;
        while from < appended.end {
            let to = appended.end.min(from + PART_ROWS);
            if satisfies(&after, &(from..to).collect::<Vec<i64>>())? {
                return Ok(true);
            }
            from = to;
        }
        Ok(false)
    }
}

/// So many new rows are looked at together.
const PART_ROWS: i64 = 1 << 16;

impl Committed {
    fn can_join(&self, later: &Self) -> bool {
        later
            .tables
            .iter()
            .all(|(id, theirs)| self.tables.get(id).is_none_or(|delta| delta.what.can_join(&theirs.what)))
    }

    /// Takes over what a later one did. Versions that nobody needs from here go to `gone`.
    fn join(&mut self, later: Self, gone: &mut Vec<Arc<Table>>) {
        self.lsn = later.lsn;
        self.references.extend(later.references);
        for (id, theirs) in later.tables {
            match self.tables.entry(id) {
                std::collections::hash_map::Entry::Occupied(mut own) => {
                    let own = own.get_mut();
                    gone.push(std::mem::replace(&mut own.after, theirs.after));
                    gone.push(theirs.before);
                    own.what.join(theirs.what);
                }
                std::collections::hash_map::Entry::Vacant(place) => {
                    place.insert(theirs);
                }
            }
        }
    }

    fn into_tables(self) -> impl Iterator<Item = Arc<Table>> {
        self.tables.into_values().flat_map(|delta| [delta.before, delta.after])
    }
}

impl History {
    /// Enters a commit.
    pub fn push(&mut self, committed: Committed) {
        self.entries.push_back(committed);
    }

    /// What was committed after `lsn`, where a transaction began, oldest first.
    pub fn since(&self, lsn: u64) -> impl Iterator<Item = &Committed> {
        let first = self.entries.partition_point(|committed| committed.lsn <= lsn);
        self.entries.range(first..)
    }

    /// Forgets the commits after `lsn`, which were taken back.
    pub fn retreat_to(&mut self, lsn: u64) {
        let stays = self.entries.partition_point(|committed| committed.lsn <= lsn);
        self.entries.truncate(stays);
    }

    /// Forgets what no transaction has to be checked against, and joins what none tells apart: neither one of `bases`, the
    /// commits that open transactions began after, nor one that begins at `visible` or later. Returns versions of tables that
    /// are not needed from here on, which take their time to go.
    pub fn tidy(&mut self, bases: &BTreeMap<u64, usize>, visible: u64) -> Vec<Arc<Table>> {
        let mut gone = Vec::new();
        let oldest = bases.keys().next().map_or(visible, |base| visible.min(*base));
        while self.entries.front().is_some_and(|committed| committed.lsn <= oldest) {
            gone.extend(self.entries.pop_front().into_iter().flat_map(Committed::into_tables));
        }
        let end = self.entries.partition_point(|committed| committed.lsn <= visible);
        let is_alone = |left: &Committed, right: &Committed| {
            bases.range(left.lsn..right.lsn).next().is_none() && left.can_join(right)
        };
        // Hardly ever more than the last two can be joined, but there may be many that cannot.
        let pairs = (1..end).filter(|right| is_alone(&self.entries[right - 1], &self.entries[*right]));
        for right in pairs.rev().collect::<Vec<_>>() {
            if let Some(later) = self.entries.remove(right) {
                self.entries[right - 1].join(later, &mut gone);
            }
        }
        gone
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{ColumnSchema, TableSchema};
    use inlay_types::MemoryBudget;

    fn table() -> Arc<Table> {
        let columns = vec![ColumnSchema::new("a", LogicalType::BigInt)];
        Arc::new(Table::new(TableSchema::new("t", columns), MemoryBudget::unlimited()))
    }

    fn commit(lsn: u64, changes: &[Change]) -> Committed {
        let delta = Delta::new(table(), table(), changes);
        Committed { lsn, tables: HashMap::from([(1, delta)]), references: BTreeSet::new() }
    }

    fn deleted(ids: &[i64]) -> Change {
        Change::Delete { ids: RowSet::from(ids) }
    }

    fn bases(lsns: &[u64]) -> BTreeMap<u64, usize> {
        lsns.iter().map(|lsn| (*lsn, 1)).collect()
    }

    fn numbers(history: &History) -> Vec<u64> {
        history.entries.iter().map(|entry| entry.lsn).collect()
    }

    #[test]
    fn commits_that_no_transaction_tells_apart_are_one() {
        let mut history = History::default();
        (1..=10).for_each(|lsn| history.push(commit(lsn, &[deleted(&[lsn as i64])])));
        history.tidy(&bases(&[0, 4, 9]), 8);
        assert_eq!(numbers(&history), [4, 8, 9, 10]);
        let touches = |base, id| {
            let ids = RowSet::from(&[id][..]);
            history.since(base).any(|entry| entry.tables[&1].touches(&ids))
        };
        assert!(touches(0, 1) && touches(0, 8) && !touches(4, 3) && touches(4, 5) && touches(9, 10));
        // The reader in the middle ends.
        history.tidy(&bases(&[0, 9]), 10);
        assert_eq!(numbers(&history), [9, 10]);
        history.tidy(&bases(&[9]), 10);
        assert_eq!(numbers(&history), [10]);
        history.tidy(&bases(&[]), 10);
        assert!(numbers(&history).is_empty());
    }

    #[test]
    fn what_is_taken_back_is_not_joined_before() {
        let mut history = History::default();
        (1..=6).for_each(|lsn| history.push(commit(lsn, &[deleted(&[lsn as i64])])));
        history.tidy(&bases(&[0]), 3);
        assert_eq!(numbers(&history), [3, 4, 5, 6]);
        history.retreat_to(4);
        assert_eq!(numbers(&history), [3, 4]);
    }

    #[test]
    fn rows_with_other_ids_are_not_joined_with_rows() {
        let mut history = History::default();
        let moved = Change::Compact { groups: Arc::from([0]) };
        history.push(commit(1, &[deleted(&[1])]));
        history.push(commit(2, std::slice::from_ref(&moved)));
        history.push(commit(3, &[moved]));
        history.push(commit(4, &[deleted(&[2])]));
        history.push(commit(5, &[Change::Truncate]));
        history.push(commit(6, &[deleted(&[3])]));
        history.tidy(&bases(&[0]), 6);
        assert_eq!(numbers(&history), [1, 3, 6]);
        assert!(!history.entries[1].tables[&1].affects(None).unwrap());
        assert!(history.entries[2].tables[&1].is_structural());
    }

    #[test]
    fn many_small_sets_are_few_lists() {
        let mut lists = IdLists::default();
        (0..10_000).for_each(|id| lists.add(RowSet::from(&[id * 7919 % 10_007][..])));
        assert!(lists.0.len() < 20, "{} lists", lists.0.len());
        assert!(lists.intersects(&RowSet::from(&[7919][..])));
        assert!(!lists.intersects(&RowSet::from(&[20_000][..])));
    }
}

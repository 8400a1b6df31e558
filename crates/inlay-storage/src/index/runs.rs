//! Rows to be looked up in an index by runs of one key, so that the work does not grow with the square of the rows of a key.

use super::key::KeyRows;
use super::{Clash, PendingKeys};
use inlay_types::Result;

/// Rows in the order of their keys, those of a key as they came.
pub(super) struct Runs<'a> {
    pub keys: &'a KeyRows,
    order: Option<&'a [u32]>,
    next: usize,
}

/// The rows of one key.
#[derive(Clone, Copy)]
pub(super) struct Run<'a> {
    /// The first of them.
    pub position: usize,
    rest: Rest<'a>,
}

/// Positions that ascend.
#[derive(Clone, Copy)]
enum Rest<'a> {
    Listed(&'a [u32]),
    Consecutive(usize, usize),
}

impl<'a> Runs<'a> {
    pub fn new(keys: &'a KeyRows, order: Option<&'a [u32]>) -> Self {
        Self { keys, order, next: 0 }
    }

    pub fn is_done(&self) -> bool {
        self.next == self.keys.len()
    }

    /// The rows of the next key.
    pub fn advance(&mut self) -> Option<Run<'a>> {
        if self.is_done() {
            return None;
        }
        let row = |place: usize| self.order.map_or(place, |order| order[place] as usize);
        let (start, position) = (self.next, row(self.next));
        let key = self.keys.key(position);
        let mut end = start + 1;
        while end < self.keys.len() && self.keys.key(row(end)) == key {
            end += 1;
        }
        self.next = end;
        let rest = match self.order {
            Some(order) => Rest::Listed(&order[start + 1..end]),
            None => Rest::Consecutive(start + 1, end),
        };
        Some(Run { position, rest })
    }
}

impl Run<'_> {
    /// The first of the rows that is another row of the table than the first of all.
    fn second(&self, row_ids: &dyn Fn(usize) -> i64) -> Option<usize> {
        let first = row_ids(self.position);
        let is_other = |position: &usize| row_ids(*position) != first;
        match self.rest {
            Rest::Listed(positions) => positions.iter().map(|at| *at as usize).find(is_other),
            Rest::Consecutive(from, to) => (from..to).find(is_other),
        }
    }
}

/// Row ids that may have the keys of some runs.
#[derive(Default)]
pub(super) struct Candidates<'a> {
    /// Each with where its row ids end.
    pub runs: Vec<(Run<'a>, usize)>,
    pub ids: Vec<i64>,
}

impl<'a> Candidates<'a> {
    pub fn clear(&mut self) {
        self.runs.clear();
        self.ids.clear();
    }

    /// The runs, with their row ids.
    pub fn iter(&self) -> impl Iterator<Item = (&Run<'a>, &[i64])> {
        let mut start = 0;
        self.runs.iter().map(move |(run, end)| (run, &self.ids[std::mem::replace(&mut start, *end)..*end]))
    }
}

/// The first row of a run, before `limit`, that has its key in common with a row before it or with a live one.
pub(super) fn clash_of(
    run: &Run<'_>,
    candidates: &[i64],
    pending: &PendingKeys<'_>,
    limit: usize,
    live_key_equals: &mut dyn FnMut(i64, usize) -> Result<bool>,
) -> Result<Option<Clash>> {
    let position = run.position;
    let own = (pending.row_ids)(position);
    for &row_id in candidates {
        // A pending row that has another key now may still be under this one, and no pending row is before the first.
        let is_live = row_id != own && (pending.position)(row_id).is_none();
        if is_live && live_key_equals(row_id, position)? {
            return Ok(Some(Clash { position, row_id }));
        }
    }
    let second = run.second(pending.row_ids).filter(|second| *second < limit);
    Ok(second.map(|position| Clash { position, row_id: own }))
}

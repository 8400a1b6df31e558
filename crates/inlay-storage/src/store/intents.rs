//! Rows that open transactions have changed, so that two that change the same row collide at once and not at commit.

use super::object::ObjectId;
use crate::row_set::{RowSet, RowSetBuilder, intersect};
use inlay_types::{Error, Result};
use parking_lot::Mutex;
use std::collections::HashMap;

/// Row ids by table and transaction.
#[derive(Debug, Default)]
pub(super) struct Intents {
    claimed: Mutex<HashMap<ObjectId, Vec<Claim>>>,
}

/// Longer lists are kept as sets.
const RUN_MAX: usize = 1 << 18;

#[derive(Debug)]
struct Claim {
    transaction: u64,
    /// Ascending lists, each at least twice as long as the one behind it, so that many small changes cost little each.
    runs: Vec<Vec<i64>>,
    /// What large changes touch.
    many: RowSet,
}

impl Claim {
    fn new(transaction: u64) -> Self {
        Self { transaction, runs: Vec::new(), many: RowSet::default() }
    }

    fn has_one_of(&self, ids: &RowSet) -> bool {
        let in_runs = || match ids.as_list() {
            Some(list) => self.runs.iter().any(|run| intersect(run, list)),
            None => self.runs.iter().flatten().any(|id| ids.contains(*id)),
        };
        in_runs() || self.many.intersects(ids)
    }

    fn add(&mut self, ids: &RowSet) {
        let Some(list) = ids.as_list() else {
            self.many = self.many.union(ids);
            return;
        };
        self.add_list(list);
        if self.runs.first().is_some_and(|run| run.len() > RUN_MAX) {
            let runs = std::mem::take(&mut self.runs);
            let mut many = RowSetBuilder::default();
            many.add_set(&self.many);
            runs.iter().for_each(|run| many.add(run));
            self.many = many.finish();
        }
    }

    fn add_list(&mut self, ids: &[i64]) {
        let Some(first) = ids.first() else { return };
        match self.runs.last_mut() {
            Some(run) if run.last().is_some_and(|last| last < first) => run.extend_from_slice(ids),
            _ => self.runs.push(ids.to_vec()),
        }
        while let [.., long, short] = &self.runs[..]
            && long.len() < 2 * short.len()
        {
            let short = self.runs.pop().unwrap_or_default();
            if let Some(run) = self.runs.last_mut() {
                run.extend(short);
                run.sort(); // Merges lists that are ascending.
                run.dedup();
            }
        }
    }
}

impl Intents {
    /// Enters rows for a transaction; fails if another one has one of them.
    pub fn claim(&self, transaction: u64, table: ObjectId, ids: &RowSet) -> Result<()> {
        let mut claimed = self.claimed.lock();
        let claims = claimed.entry(table).or_default();
        let mut own = None;
        for (position, claim) in claims.iter().enumerate() {
            if claim.transaction == transaction {
                own = Some(position);
            } else if claim.has_one_of(ids) {
                return Err(row_conflict("is being changed by another transaction"));
            }
        }
        match own {
            Some(position) => claims[position].add(ids),
            None => {
                let mut claim = Claim::new(transaction);
                claim.add(ids);
                claims.push(claim);
            }
        }
        Ok(())
    }

    /// Whether an open transaction has changed the table or is about to.
    pub fn is_claimed(&self, table: ObjectId) -> bool {
        self.claimed.lock().contains_key(&table)
    }

    /// Forgets the rows of a transaction.
    pub fn release(&self, transaction: u64) {
        let mut claimed = self.claimed.lock();
        if !claimed.is_empty() {
            claimed.retain(|_, claims| {
                claims.retain(|claim| claim.transaction != transaction);
                !claims.is_empty()
            });
        }
    }
}

/// The error for a row that somebody else changes or changed.
pub(super) fn row_conflict(what: &str) -> Error {
    Error::Conflict { message: format!("a row that this transaction changes {what}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(ids: &[i64]) -> RowSet {
        RowSet::from(ids)
    }

    #[test]
    fn a_row_belongs_to_one_transaction_until_it_ends() {
        let intents = Intents::default();
        intents.claim(1, 7, &rows(&[3, 4])).unwrap();
        intents.claim(1, 7, &rows(&[1, 4])).unwrap();
        assert_eq!(intents.claim(2, 7, &rows(&[1])).unwrap_err().sqlstate(), "40001");
        intents.claim(2, 8, &rows(&[1])).unwrap();
        intents.release(1);
        intents.claim(2, 7, &rows(&[1])).unwrap();
    }

    #[test]
    fn rows_claimed_one_by_one_are_all_known() {
        let intents = Intents::default();
        let scattered = |i: i64| i * 7919 % 10_007;
        for i in 0..5_000 {
            intents.claim(1, 7, &rows(&[scattered(i)])).unwrap();
        }
        let runs = intents.claimed.lock()[&7][0].runs.len();
        assert!(runs < 20, "{runs} lists");
        for i in 0..10_000 {
            assert_eq!(intents.claim(2, 7, &rows(&[scattered(i)])).is_err(), i < 5_000, "row {i}");
        }
    }
}

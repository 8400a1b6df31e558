//! Rows that open transactions have changed, so that two that change the same row collide at once and not at commit.

use super::object::ObjectId;
use inlay_types::{Error, Result};
use parking_lot::Mutex;
use std::collections::HashMap;

/// Row ids by table and transaction.
#[derive(Debug, Default)]
pub(super) struct Intents {
    claimed: Mutex<HashMap<ObjectId, Vec<Claim>>>,
}

#[derive(Debug)]
struct Claim {
    transaction: u64,
    /// Ascending lists, each at least twice as long as the one behind it, so that many small changes cost little each.
    runs: Vec<Vec<i64>>,
}

impl Claim {
    fn has_one_of(&self, ids: &[i64]) -> bool {
        self.runs.iter().any(|run| intersect(run, ids))
    }

    fn add(&mut self, ids: &[i64]) {
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
    /// Enters rows, ids ascending, for a transaction; fails if another one has one of them.
    pub fn claim(&self, transaction: u64, table: ObjectId, ids: &[i64]) -> Result<()> {
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
            None => claims.push(Claim { transaction, runs: vec![ids.to_vec()] }),
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

/// Whether two ascending lists share an element.
pub(super) fn intersect(left: &[i64], right: &[i64]) -> bool {
    let (few, many) = if left.len() < right.len() { (left, right) } else { (right, left) };
    let (Some(first), Some(last)) = (few.first(), few.last()) else { return false };
    let from = many.partition_point(|id| id < first);
    let to = many.partition_point(|id| id <= last);
    let mut rest = &many[from..to];
    for id in few {
        let position = rest.partition_point(|other| other < id);
        if rest.get(position) == Some(id) {
            return true;
        }
        rest = &rest[position..];
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_intersect_where_they_share_an_id() {
        assert!(intersect(&[1, 5, 9], &[9]));
        assert!(intersect(&[5], &[1, 5, 9]));
        assert!(!intersect(&[2, 4, 6], &[1, 3, 5, 7]));
        assert!(!intersect(&[], &[1]));
    }

    #[test]
    fn a_row_belongs_to_one_transaction_until_it_ends() {
        let intents = Intents::default();
        intents.claim(1, 7, &[3, 4]).unwrap();
        intents.claim(1, 7, &[1, 4]).unwrap();
        assert_eq!(intents.claim(2, 7, &[1]).unwrap_err().sqlstate(), "40001");
        intents.claim(2, 8, &[1]).unwrap();
        intents.release(1);
        intents.claim(2, 7, &[1]).unwrap();
    }

    #[test]
    fn rows_claimed_one_by_one_are_all_known() {
        let intents = Intents::default();
        let scattered = |i: i64| i * 7919 % 10_007;
        for i in 0..5_000 {
            intents.claim(1, 7, &[scattered(i)]).unwrap();
        }
        let runs = intents.claimed.lock()[&7][0].runs.len();
        assert!(runs < 20, "{runs} lists");
        for i in 0..10_000 {
            assert_eq!(intents.claim(2, 7, &[scattered(i)]).is_err(), i < 5_000, "row {i}");
        }
    }
}

//! Conditions over several columns as operations on sets of rows.
//!
//! A leaf is a predicate of one column, true for the rows of the values that satisfy it and for no NULL but by IS NULL, as in
//! scans. There is no NOT: the optimizer has moved it into the leaves, where NULL is known. A column that has no sets makes its
//! leaf unknown: any row may satisfy it.

use super::ValueSets;
use crate::predicate::SegmentPredicate;
use inlay_rowsets::Places;
use inlay_types::Result;

/// A condition over the columns of a row group.
#[derive(Clone, Debug)]
pub enum Condition {
    /// All of them; true if there are none.
    All(Vec<Condition>),
    /// One of them; false if there are none.
    Any(Vec<Condition>),
    /// Of one column, by its position.
    Column(usize, SegmentPredicate),
}

/// What sets say of a condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The rows that satisfy it, or more; absent if all rows may.
    pub rows: Option<Places>,
    /// Whether `rows` are those that satisfy it and no others.
    pub is_exact: bool,
}

impl Found {
    const UNKNOWN: Self = Self { rows: None, is_exact: false };
}

/// The sets of a column of the row group, if it has any.
pub type SetsOf<'a> = &'a dyn Fn(usize) -> Option<&'a ValueSets>;

impl Condition {
    /// The columns that it reads, each once or more.
    pub fn columns(&self) -> Vec<usize> {
        match self {
            Self::All(parts) | Self::Any(parts) => parts.iter().flat_map(Self::columns).collect(),
            Self::Column(column, _) => vec![*column],
        }
    }

    /// The rows, deleted ones included, for which the condition is true.
    pub fn found(&self, rows: u32, sets: SetsOf<'_>) -> Result<Found> {
        match self {
            Self::Column(column, predicate) => {
                let Some(sets) = sets(*column) else { return Ok(Found::UNKNOWN) };
                // A Bloom filter lets through some that it should not.
                let is_exact = !matches!(predicate, SegmentPredicate::Bloom(_));
                Ok(Found { rows: Some(sets.matching(predicate)?), is_exact })
            }
            Self::All(parts) => all(parts, rows, sets),
            Self::Any(parts) => any(parts, rows, sets),
        }
    }
}

/// Rows in all parts: what is unknown leaves more of them.
fn all(parts: &[Condition], rows: u32, sets: SetsOf<'_>) -> Result<Found> {
    let mut common = Found { rows: None, is_exact: true };
    for part in parts {
        let found = part.found(rows, sets)?;
        common.is_exact &= found.is_exact;
        common.rows = match (common.rows, found.rows) {
            (Some(left), Some(right)) => Some(left.and(&right)?),
            (left, right) => left.or(right),
        };
        if common.rows.as_ref().is_some_and(Places::is_empty) {
            // Whatever else there is: no row is left.
            return Ok(Found { rows: common.rows, is_exact: true });
        }
    }
    if common.rows.is_none() && common.is_exact {
        common.rows = Some(Places::all(rows));
    }
    Ok(common)
}

/// Rows in one of the parts: one that is unknown leaves nothing out.
fn any(parts: &[Condition], rows: u32, sets: SetsOf<'_>) -> Result<Found> {
    let (mut united, mut is_exact) = (Vec::with_capacity(parts.len()), true);
    for part in parts {
        let found = part.found(rows, sets)?;
        let Some(found_rows) = found.rows else { return Ok(Found::UNKNOWN) };
        is_exact &= found.is_exact;
        united.push(found_rows);
    }
    let united: Vec<&Places> = united.iter().collect();
    Ok(Found { rows: Some(Places::any_of(&united, rows)?), is_exact })
}

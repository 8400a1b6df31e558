//! Conditions over several columns as operations on sets of rows.
//!
//! A leaf is a predicate of one column, true for the rows of the values that satisfy it and for no NULL but by IS NULL, as in
//! scans. There is no NOT: the optimizer has moved it into the leaves, where NULL is known. A column that has no sets, or whose
//! sets it would take too long to unite, makes its leaf unknown: any row may satisfy it.

use super::{Chosen, ValueSets};
use crate::predicate::SegmentPredicate;
use inlay_rowsets::Marks;
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
    pub rows: Option<Marks>,
    /// Whether `rows` are those that satisfy it and no others.
    pub is_exact: bool,
}

impl Found {
    const UNKNOWN: Self = Self { rows: None, is_exact: false };
}

/// The sets of a column of the row group, if it has any.
pub type SetsOf<'a> = &'a dyn Fn(usize) -> Option<&'a ValueSets>;

/// What is known of a part of a condition.
enum Part<'a> {
    Chosen(Chosen<'a>),
    Marked(Marks, bool),
}

impl Part<'_> {
    fn count(&self) -> u32 {
        match self {
            Self::Chosen(chosen) => chosen.count(),
            Self::Marked(marks, _) => marks.count(),
        }
    }

    fn is_exact(&self) -> bool {
        match self {
            Self::Chosen(chosen) => chosen.is_exact(),
            Self::Marked(_, is_exact) => *is_exact,
        }
    }

    fn into_marks(self, rows: u32) -> Result<Marks> {
        match self {
            Self::Chosen(chosen) => chosen.marks(rows),
            Self::Marked(marks, _) => Ok(marks),
        }
    }
}

impl Condition {
    /// The columns that it reads, each once or more.
    pub fn columns(&self) -> Vec<usize> {
        match self {
            Self::All(parts) | Self::Any(parts) => parts.iter().flat_map(Self::columns).collect(),
            Self::Column(column, _) => vec![*column],
        }
    }

    /// The rows, deleted ones included, for which the condition is true. Leaves that take more than `effort_max` are unknown.
    pub fn found(&self, rows: u32, sets: SetsOf<'_>, effort_max: usize) -> Result<Found> {
        let Some(part) = self.part(rows, sets, effort_max)? else { return Ok(Found::UNKNOWN) };
        let is_exact = part.is_exact();
        Ok(Found { rows: Some(part.into_marks(rows)?), is_exact })
    }

    /// `None` if it is unknown.
    fn part<'a>(&self, rows: u32, sets: SetsOf<'a>, effort_max: usize) -> Result<Option<Part<'a>>> {
        match self {
            Self::Column(column, predicate) => {
                let Some(sets) = sets(*column) else { return Ok(None) };
                let chosen = sets.chosen(predicate)?;
                Ok((chosen.effort() <= effort_max).then_some(Part::Chosen(chosen)))
            }
            Self::All(parts) => all(parts, rows, sets, effort_max),
            Self::Any(parts) => any(parts, rows, sets, effort_max),
        }
    }
}

/// Rows in all parts, those with the fewest first: what is unknown leaves more of them.
fn all<'a>(parts: &[Condition], rows: u32, sets: SetsOf<'a>, effort_max: usize) -> Result<Option<Part<'a>>> {
    let mut known: Vec<Part<'_>> = Vec::with_capacity(parts.len());
    for part in parts {
        known.extend(part.part(rows, sets, effort_max)?);
    }
    let is_exact = known.len() == parts.len() && known.iter().all(Part::is_exact);
    known.sort_by_key(Part::count);
    let mut known = known.into_iter();
    let Some(first) = known.next() else {
        return Ok(is_exact.then(|| Part::Marked(Marks::all(rows), true)));
    };
    let mut common = first.into_marks(rows)?;
    for part in known {
        if common.is_empty() {
            break;
        }
        match part {
            Part::Chosen(chosen) => chosen.narrow(&mut common)?,
            Part::Marked(marks, _) => common.keep_marked(&marks)?,
        }
    }
    // Whatever else there is: no row is left.
    let is_exact = is_exact || common.is_empty();
    Ok(Some(Part::Marked(common, is_exact)))
}

/// Rows in one of the parts: one that is unknown leaves nothing out.
fn any<'a>(parts: &[Condition], rows: u32, sets: SetsOf<'a>, effort_max: usize) -> Result<Option<Part<'a>>> {
    let (mut united, mut is_exact) = (Marks::none(rows), true);
    for part in parts {
        let Some(part) = part.part(rows, sets, effort_max)? else { return Ok(None) };
        is_exact &= part.is_exact();
        match part {
            Part::Chosen(chosen) => chosen.add_to(&mut united)?,
            Part::Marked(marks, _) => united.add_marked(&marks)?,
        }
    }
    Ok(Some(Part::Marked(united, is_exact)))
}

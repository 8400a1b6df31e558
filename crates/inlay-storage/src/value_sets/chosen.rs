//! The sets that a predicate on a column is about.

use super::ValueSets;
use crate::predicate::SegmentPredicate;
use inlay_rowsets::{Marks, Places};
use inlay_types::Result;

/// The sets of the values that satisfy a predicate, or those of all other rows, whichever are fewer rows.
#[derive(Debug)]
pub struct Chosen<'a> {
    sets: Vec<&'a Places>,
    are_others: bool,
    count: u32,
    effort: usize,
    is_exact: bool,
}

impl ValueSets {
    /// The sets that a predicate is about. NULL satisfies IS NULL alone.
    pub fn chosen(&self, predicate: &SegmentPredicate) -> Result<Chosen<'_>> {
        let (sets, are_others, count) = match predicate {
            SegmentPredicate::IsNull => (vec![&self.nulls], false, self.nulls.count()),
            SegmentPredicate::IsNotNull => (vec![&self.nulls], true, self.rows() - self.nulls.count()),
            SegmentPredicate::Compare(..)
            | SegmentPredicate::Between { .. }
            | SegmentPredicate::In(_)
            | SegmentPredicate::KeyBitmap(_)
            | SegmentPredicate::Bloom(_)
            | SegmentPredicate::Generic(_) => {
                let chosen = self.satisfying(predicate)?;
                let parts = || chosen.iter().copied().zip(&self.sets).chain([(false, &self.nulls)]);
                let count = parts().filter(|(is_in, _)| *is_in).map(|(_, set)| set.count()).sum();
                let are_others = count > self.rows() / 2;
                let sets = parts().filter(|(is_in, _)| *is_in != are_others).map(|(_, set)| set);
                (sets.collect(), are_others, count)
            }
        };
        let effort = sets.iter().map(|set| set.effort()).sum();
        // A Bloom filter lets through some that it should not.
        let is_exact = !matches!(predicate, SegmentPredicate::Bloom(_));
        Ok(Chosen { sets, are_others, count, effort, is_exact })
    }

    /// Which values satisfy a predicate.
    fn satisfying(&self, predicate: &SegmentPredicate) -> Result<Vec<bool>> {
        let mut chosen = vec![false; self.sets.len()];
        if !self.sets.is_empty() {
            let mut numbers = Vec::new();
            self.values.filter(predicate, 0..self.values.len(), None, &mut numbers)?;
            numbers.iter().for_each(|number| chosen[*number as usize] = true);
        }
        Ok(chosen)
    }
}

impl Chosen<'_> {
    /// How many rows satisfy the predicate, or more if that is not exact.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// What it takes to find them; see [`Places::effort`].
    pub fn effort(&self) -> usize {
        self.effort
    }

    /// Whether all of these rows satisfy it.
    pub fn is_exact(&self) -> bool {
        self.is_exact
    }

    /// The rows.
    pub fn marks(&self, rows: u32) -> Result<Marks> {
        let mut marks = Marks::none(rows);
        self.sets.iter().try_for_each(|set| marks.add(set))?;
        if self.are_others {
            marks.invert();
        }
        Ok(marks)
    }

    /// Leaves no row marked that does not satisfy it.
    pub fn narrow(&self, marks: &mut Marks) -> Result<()> {
        match self.sets.as_slice() {
            others if self.are_others => others.iter().try_for_each(|set| marks.remove(set)),
            [] => {
                marks.clear();
                Ok(())
            }
            [one] => marks.keep(one),
            [_, _, ..] => marks.keep_marked(&self.marks(marks.rows())?),
        }
    }

    /// Marks the rows, too.
    pub fn add_to(&self, marks: &mut Marks) -> Result<()> {
        if self.are_others {
            return marks.add_marked(&self.marks(marks.rows())?);
        }
        self.sets.iter().try_for_each(|set| marks.add(set))
    }
}

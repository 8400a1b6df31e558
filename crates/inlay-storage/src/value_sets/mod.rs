//! The rows of each value of a column of a row group: what an index by value knows, as a part of the column.
//!
//! ```text
//! values: ascending, without NULL      sets: the rows of each, disjoint      nulls: all other rows
//! ```
//! A column never changes, so its sets are right in every version that shares it: they know no deleted rows, which whoever asks
//! leaves out, and no transactions. Whether a column has sets changes no answer. The design is docs/decisions/0035.
//!
//! Invariants
//! - Each row is in exactly one of `sets` and `nulls`, and no set is empty.
//! - A predicate is evaluated on `values` by what evaluates it on rows, so both say the same.

mod condition;
#[cfg(test)]
mod tests;

pub use condition::{Condition, Found};

use crate::predicate::SegmentPredicate;
use crate::segment::Segment;
use inlay_rowsets::{Places, by_code};
use inlay_types::{Error, LogicalType, MemoryBudget, Reservation, Result, Value, Vector};

/// A column of a row group with more values has no sets: they would be longer than its rows.
pub const DISTINCT_MAX: usize = 4_096;

/// See the module documentation.
#[derive(Debug)]
pub struct ValueSets {
    values: Segment,
    sets: Vec<Places>,
    nulls: Places,
    reservation: Reservation,
}

impl ValueSets {
    /// Those of a segment; `None` if it has too many values, or none that can have sets.
    pub fn of(segment: &Segment, budget: &MemoryBudget) -> Result<Option<Self>> {
        let Some(numbered) = segment.numbered(DISTINCT_MAX, budget)? else { return Ok(None) };
        let rows = rows_of(segment.len())?;
        let (sets, mut reservation) =
            by_code(&numbered.numbers, numbered.values.len() as u32, budget)?.into_parts();
        let nulls =
            numbered.nulls.map_or_else(|| Places::none(rows), |words| Places::from_words(&words, rows));
        reservation.grow(nulls.memory_size() as u64)?;
        let values = Segment::encode_plain(&numbered.values, budget)?;
        Ok(Some(Self { values, sets, nulls, reservation }))
    }

    /// How many rows there are, deleted ones included.
    pub fn rows(&self) -> u32 {
        self.nulls.rows()
    }

    /// How many values there are.
    pub fn len(&self) -> usize {
        self.sets.len()
    }

    /// Whether there are no values: all rows are NULL.
    pub fn is_empty(&self) -> bool {
        self.sets.is_empty()
    }

    /// Value `number`, of those that ascend.
    pub fn value(&self, number: usize) -> Value {
        self.values.get(number)
    }

    /// All values, which ascend.
    pub fn values(&self) -> Result<Vector> {
        self.values.scan(0, self.values.len())
    }

    /// The rows of value `number`.
    pub fn set(&self, number: usize) -> &Places {
        &self.sets[number]
    }

    /// The rows that are NULL.
    pub fn nulls(&self) -> &Places {
        &self.nulls
    }

    /// Bytes in memory.
    pub fn memory_size(&self) -> usize {
        let sets: usize = self.sets.iter().map(Places::memory_size).sum();
        sets + self.nulls.memory_size() + self.values.memory_size()
    }

    /// Bytes that are reserved for it.
    pub fn reserved_bytes(&self) -> u64 {
        self.reservation.bytes() + self.values.reserved_bytes()
    }

    /// How many rows satisfy a predicate.
    pub fn count_matching(&self, predicate: &SegmentPredicate) -> Result<u32> {
        match predicate {
            SegmentPredicate::IsNull => Ok(self.nulls.count()),
            SegmentPredicate::IsNotNull => Ok(self.rows() - self.nulls.count()),
            other => {
                let chosen = self.chosen(other)?;
                Ok(self.sets.iter().zip(chosen).filter(|(_, is_in)| *is_in).map(|(set, _)| set.count()).sum())
            }
        }
    }

    /// As [`ValueSets::matching`], if at most so many bytes of sets have to be looked at for it.
    pub fn matching_within(&self, predicate: &SegmentPredicate, bytes_max: usize) -> Result<Option<Places>> {
        match predicate {
            SegmentPredicate::IsNull => {
                Ok((self.nulls.memory_size() <= bytes_max).then(|| self.nulls.clone()))
            }
            SegmentPredicate::IsNotNull => {
                Ok((self.nulls.memory_size() <= bytes_max).then(|| self.nulls.not()))
            }
            other => {
                let chosen = self.chosen(other)?;
                let (united, is_complement) = self.to_unite(&chosen);
                let bytes: usize = united.iter().map(|set| set.memory_size()).sum();
                if bytes > bytes_max {
                    return Ok(None);
                }
                let rows = Places::any_of(&united, self.rows())?;
                Ok(Some(if is_complement { rows.not() } else { rows }))
            }
        }
    }

    /// The rows that satisfy a predicate. NULL satisfies IS NULL alone.
    pub fn matching(&self, predicate: &SegmentPredicate) -> Result<Places> {
        match predicate {
            SegmentPredicate::IsNull => Ok(self.nulls.clone()),
            SegmentPredicate::IsNotNull => Ok(self.nulls.not()),
            other => self.rows_with(&self.chosen(other)?),
        }
    }

    /// Which values satisfy a predicate.
    fn chosen(&self, predicate: &SegmentPredicate) -> Result<Vec<bool>> {
        if self.sets.is_empty() {
            return Ok(Vec::new());
        }
        let mut numbers = Vec::new();
        self.values.filter(predicate, 0..self.values.len(), None, &mut numbers)?;
        let mut chosen = vec![false; self.sets.len()];
        numbers.iter().for_each(|number| chosen[*number as usize] = true);
        Ok(chosen)
    }

    /// The rows of the chosen values.
    fn rows_with(&self, chosen: &[bool]) -> Result<Places> {
        let (united, is_complement) = self.to_unite(chosen);
        let rows = Places::any_of(&united, self.rows())?;
        Ok(if is_complement { rows.not() } else { rows })
    }

    /// Which sets give the rows of the chosen values: theirs, or those of the others and of NULL, whichever are fewer rows. Also
    /// whether it is the others.
    fn to_unite(&self, chosen: &[bool]) -> (Vec<&Places>, bool) {
        let parts = || chosen.iter().copied().zip(&self.sets).chain([(false, &self.nulls)]);
        let count: u64 = parts().filter(|(is_in, _)| *is_in).map(|(_, set)| u64::from(set.count())).sum();
        let wanted = count <= u64::from(self.rows()) / 2;
        (parts().filter(|(is_in, _)| *is_in == wanted).map(|(_, set)| set).collect(), !wanted)
    }
}

/// Whether values of a type can have sets: those that have an order which conditions follow. Floats do not (NaN, -0.0).
pub fn can_have_sets(ty: &LogicalType) -> bool {
    crate::zone_map::has_bounds(ty)
        && !matches!(ty, LogicalType::Real | LogicalType::Double | LogicalType::Interval)
}

fn rows_of(len: usize) -> Result<u32> {
    u32::try_from(len).map_err(|_| Error::internal("a segment of more rows than a set can have"))
}

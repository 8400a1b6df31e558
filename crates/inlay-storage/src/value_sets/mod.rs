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

mod chosen;
mod condition;
mod image;
#[cfg(test)]
mod tests;

pub use chosen::Chosen;
pub use condition::{Condition, Found, SetsOf};

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
}

/// Whether values of a type can have sets: those that have an order which conditions follow. Floats do not (NaN, -0.0).
pub fn can_have_sets(ty: &LogicalType) -> bool {
    crate::zone_map::has_bounds(ty)
        && !matches!(ty, LogicalType::Real | LogicalType::Double | LogicalType::Interval)
}

fn rows_of(len: usize) -> Result<u32> {
    u32::try_from(len).map_err(|_| Error::internal("a segment of more rows than a set can have"))
}

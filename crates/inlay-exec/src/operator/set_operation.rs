//! INTERSECT and EXCEPT, with and without ALL: how often each distinct row comes out.
//!
//! Both inputs were grouped by all columns together, counting the rows of each side; this operator repeats each group
//! as the set operation says.

use crate::pipeline::{Flow, Operator, Push};
use inlay_sql::plan::SetOpKind;
use inlay_types::{Batch, Result, VECTOR_SIZE};

/// Repeats rows by the counts in their last two columns (left, right; BIGINT), which it drops.
pub struct RepeatRows {
    kind: SetOpKind,
    all: bool,
}

impl RepeatRows {
    /// For this set operation.
    pub fn new(kind: SetOpKind, all: bool) -> Self {
        Self { kind, all }
    }

    fn times(&self, left: i64, right: i64) -> i64 {
        let times = match self.kind {
            SetOpKind::Union => left + right,
            SetOpKind::Intersect => left.min(right),
            SetOpKind::Except if self.all => (left - right).max(0),
            SetOpKind::Except => {
                if right == 0 {
                    left
                } else {
                    0
                }
            }
        };
        if self.all { times } else { times.min(1) }
    }
}

impl Operator for RepeatRows {
    type Local = ();

    fn local(&self) {}

    fn process(&self, input: Batch, _local: &mut (), push: Push<'_>) -> Result<Flow> {
        let len = input.len();
        let mut columns = input.into_columns();
        let counts: Vec<_> = columns.split_off(columns.len() - 2).iter().map(|c| c.flatten()).collect();
        let rows = Batch::new(columns, len);
        let mut selected = Vec::with_capacity(VECTOR_SIZE);
        for (row, (&left, &right)) in
            counts[0].values::<i64>().iter().zip(counts[1].values::<i64>()).enumerate()
        {
            for _ in 0..self.times(left, right) {
                selected.push(row as u32);
                if selected.len() == VECTOR_SIZE {
                    if push(rows.take(&selected))? == Flow::Done {
                        return Ok(Flow::Done);
                    }
                    selected.clear();
                }
            }
        }
        if selected.is_empty() { Ok(Flow::More) } else { push(rows.take(&selected)) }
    }
}

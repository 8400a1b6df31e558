//! Batches worked on in parts where their results are large.
//!
//! What an expression makes of a batch may be of any size: texts and lists made from numbers are. All of it at once would take
//! the memory of 2,048 results, where a step after another can do with that of a few. So a result of many rows is bounded; where
//! it is refused, fewer rows are worked on, down to one, which may have all the memory that there is.

use crate::spill::is_refusal;
use inlay_types::{Batch, MemoryBudget, Result, VECTOR_SIZE, limits};

/// The part of the limit that one result of many rows may have, and the least that this is.
const RESULT_SHARE: u64 = 32;
const RESULT_MIN: u64 = 1 << 20;
/// After so many parts in a row that were small enough, twice as many rows are tried.
const TRIED_AGAIN: u32 = 16;

/// How many rows are worked on at once; one worker's, in one operator.
#[derive(Debug)]
pub(crate) struct PartRows {
    rows: usize,
    /// Parts since the number was changed.
    parts: u32,
}

impl Default for PartRows {
    fn default() -> Self {
        Self { rows: VECTOR_SIZE, parts: 0 }
    }
}

impl PartRows {
    /// Calls `work` for parts of `input`, in order, and `push` with what it made of each, until that says that there is enough.
    pub(crate) fn each<T>(
        &mut self,
        input: &Batch,
        budget: &MemoryBudget,
        mut work: impl FnMut(&Batch) -> Result<T>,
        mut push: impl FnMut(&Batch, T) -> Result<bool>,
    ) -> Result<()> {
        let bound = (budget.limit() / RESULT_SHARE).max(RESULT_MIN);
        let mut from = 0;
        while from < input.len() {
            let rows = self.rows.min(input.len() - from);
            let part = if rows == input.len() { input.clone() } else { input.slice(from, rows) };
            let made = if rows > 1 { limits::bounded(bound, || work(&part)) } else { work(&part) };
            match made {
                Err(error) if rows > 1 && is_refusal(&error) => {
                    limits::check()?;
                    *self = Self { rows: rows.div_ceil(4), parts: 0 };
                }
                Err(error) => return Err(error),
                Ok(made) => {
                    if !push(&part, made)? {
                        break;
                    }
                    from += rows;
                    self.parts += 1;
                    if self.parts >= TRIED_AGAIN && self.rows < VECTOR_SIZE {
                        *self = Self { rows: self.rows * 2, parts: 0 };
                    }
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use inlay_types::limits::{Limits, with};
    use inlay_types::{Interrupt, LogicalType, Vector};

    #[test]
    fn what_is_too_large_is_done_in_parts_and_in_order() {
        let numbers: Vec<i64> = (0..VECTOR_SIZE as i64).collect();
        let batch = Batch::new(vec![Vector::from_values(LogicalType::BigInt, &numbers)], numbers.len());
        let budget = MemoryBudget::new(8 << 20);
        let limits = Limits::new(budget.clone(), Interrupt::new());
        // 8 KiB a row: 16 MiB for all.
        let hold = |part: &Batch| limits::hold(part.len() << 13);
        let mut seen = Vec::new();
        with(limits, || {
            let mut rows = PartRows::default();
            let done = rows.each(&batch, &budget, hold, |part, held| {
                assert!(held.is_some_and(|held| held.bytes() <= 3 << 20));
                seen.extend_from_slice(part.column(0).values::<i64>());
                Ok(true)
            });
            done.unwrap();
            assert!(rows.rows < VECTOR_SIZE);
            // One row that does not fit is refused.
            let large = rows.each(&batch, &budget, |_| limits::hold(9 << 20), |_, _| Ok(true));
            assert!(is_refusal(&large.unwrap_err()) && rows.rows == 1);
        });
        assert_eq!((seen, budget.used()), (numbers, 0));
    }
}

//! Which rows of a batch satisfy the filters of a scan: whether the other columns have to be read at all.

use inlay_kernels::{Cmp, select_compare};
use inlay_storage::SegmentPredicate;
use inlay_types::{Result, Vector};

/// Longest list whose values are looked for one by one.
const LIST_MAX: usize = 16;

/// Rows that are left, in order; all of them until a filter was asked.
#[derive(Default)]
pub(super) struct Selection {
    rows: Vec<u32>,
    is_narrowed: bool,
    scratch: Vec<u32>,
}

impl Selection {
    /// Begins with all rows of another batch.
    pub fn reset(&mut self) {
        self.is_narrowed = false;
    }

    /// Leaves out rows that do not satisfy the predicate; returns whether any are left. What cannot be told here is left in:
    /// the engine filters again.
    pub fn narrow(&mut self, predicate: &SegmentPredicate, vector: &Vector) -> Result<bool> {
        use inlay_storage::Cmp as Stored;
        match predicate {
            SegmentPredicate::Compare(cmp, value) => {
                let cmp = match cmp {
                    Stored::Eq => Cmp::Eq,
                    Stored::NotEq => Cmp::NotEq,
                    Stored::Lt => Cmp::Lt,
                    Stored::LtEq => Cmp::LtEq,
                    Stored::Gt => Cmp::Gt,
                    Stored::GtEq => Cmp::GtEq,
                };
                self.compare(cmp, value, vector)?;
            }
            SegmentPredicate::Between { low, low_inclusive, high, high_inclusive } => {
                self.compare(if *low_inclusive { Cmp::GtEq } else { Cmp::Gt }, low, vector)?;
                self.compare(if *high_inclusive { Cmp::LtEq } else { Cmp::Lt }, high, vector)?;
            }
            SegmentPredicate::Generic(condition) => {
                self.scratch.clear();
                // Whether an error is one of a row that another filter lets through is for the engine to say.
                if condition.select(vector, &mut self.scratch).is_ok() {
                    self.keep_those_of_scratch();
                }
            }
            SegmentPredicate::IsNull if vector.null_count() == 0 => {
                self.rows.clear();
                self.is_narrowed = true;
            }
            SegmentPredicate::IsNotNull if vector.null_count() == vector.len() => {
                self.rows.clear();
                self.is_narrowed = true;
            }
            SegmentPredicate::In(values) if values.len() <= LIST_MAX => {
                let mut found = Vec::new();
                for value in values.iter().filter(|value| !value.is_null()) {
                    let constant = Vector::constant(vector.logical_type(), value, vector.len())?;
                    let given = self.is_narrowed.then_some(self.rows.as_slice());
                    select_compare(Cmp::Eq, vector, &constant, vector.len(), given, &mut self.scratch)?;
                    found.extend_from_slice(&self.scratch);
                }
                found.sort_unstable();
                found.dedup();
                self.rows = found;
                self.is_narrowed = true;
            }
            SegmentPredicate::In(_)
            | SegmentPredicate::IsNull
            | SegmentPredicate::IsNotNull
            | SegmentPredicate::KeyBitmap(_)
            | SegmentPredicate::Bloom(_) => {}
        }
        Ok(!self.is_narrowed || !self.rows.is_empty())
    }

    fn compare(&mut self, cmp: Cmp, value: &inlay_types::Value, vector: &Vector) -> Result<()> {
        let constant = Vector::constant(vector.logical_type(), value, vector.len())?;
        let given = self.is_narrowed.then_some(self.rows.as_slice());
        select_compare(cmp, vector, &constant, vector.len(), given, &mut self.scratch)?;
        std::mem::swap(&mut self.rows, &mut self.scratch);
        self.is_narrowed = true;
        Ok(())
    }

    /// Keeps the rows that are in `scratch`, too; both ascend.
    fn keep_those_of_scratch(&mut self) {
        if self.is_narrowed {
            let found = &self.scratch;
            self.rows.retain(|row| found.binary_search(row).is_ok());
        } else {
            std::mem::swap(&mut self.rows, &mut self.scratch);
        }
        self.is_narrowed = true;
    }
}

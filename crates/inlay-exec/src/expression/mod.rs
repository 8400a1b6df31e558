//! Bound expressions compiled to programs of kernel calls.
//!
//! A [`Program`] is a flat list of steps over registers (scratch vectors of one worker); equal subexpressions are
//! computed once, and steps over a dictionary column run once per distinct value. [`Filter`] evaluates conjuncts one
//! after the other, each on the rows that are left.
//!
//! Conditional expressions (CASE, COALESCE, AND, OR) must not fail because of rows that they do not evaluate. Programs
//! evaluate all branches eagerly, which is fast and almost always fine; when a step fails, [`lazy`] evaluates
//! the expression again, branch by branch on exactly the rows that reach it, and decides whether the error is real.

mod attempt;
mod failure;
mod filter;
mod in_list;
mod lambda;
mod lazy;
mod merge;
mod numbering;
mod parts;
mod program;

pub use filter::{Filter, FilterState};
pub use merge::merge_rows;
pub(crate) use parts::PartRows;
pub use program::{Program, ProgramState};

use inlay_kernels::Cmp;
use inlay_sql::plan::{ColumnId, CompareOp};
use inlay_types::{Error, Result};

/// Which column is at which position of a batch.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Layout(pub Vec<ColumnId>);

impl Layout {
    /// The position of a column.
    pub fn position(&self, id: ColumnId) -> Option<usize> {
        self.0.iter().position(|other| *other == id)
    }

    /// The position of a column that the plan promises to be there.
    pub fn require(&self, id: ColumnId) -> Result<usize> {
        self.position(id).ok_or_else(|| Error::internal(format!("column {id} is not in {:?}", self.0)))
    }
}

/// The kernel's name of a comparison.
pub fn kernel_comparison(op: CompareOp) -> Cmp {
    match op {
        CompareOp::Eq => Cmp::Eq,
        CompareOp::NotEq => Cmp::NotEq,
        CompareOp::Lt => Cmp::Lt,
        CompareOp::LtEq => Cmp::LtEq,
        CompareOp::Gt => Cmp::Gt,
        CompareOp::GtEq => Cmp::GtEq,
        CompareOp::Distinct => Cmp::Distinct,
        CompareOp::NotDistinct => Cmp::NotDistinct,
    }
}

#[cfg(test)]
mod tests;

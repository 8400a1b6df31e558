//! The answer of a statement that changed rows: their number, or what RETURNING says of them.

use super::rows::{batches_of, layout};
use crate::execute::Run;
use crate::result::QueryResult;
use inlay_exec::expression::Layout;
use inlay_exec::rows_size;
use inlay_sql::plan::Expr;
use inlay_sql::plan::statement::Returning;
use inlay_types::{Batch, MemoryBudget, Reservation, Result};

/// What RETURNING says of rows, some of which are still to come.
pub(super) struct Returned {
    names: Vec<String>,
    exprs: Vec<Expr>,
    layout: Layout,
    batches: Vec<Batch>,
    reserved: Option<Reservation>,
    budget: MemoryBudget,
}

impl Returned {
    /// Adds rows.
    pub fn add(&mut self, rows: &Batch) -> Result<()> {
        let batches = batches_of(&self.exprs, &self.layout, rows)?;
        let bytes: usize = batches.iter().map(|batch| rows_size(batch.columns(), batch.len())).sum();
        let grown = match &mut self.reserved {
            Some(reserved) => reserved.grow(bytes as u64),
            none => self.budget.reserve(bytes as u64).map(|reserved| *none = Some(reserved)),
        };
        grown
            .map_err(|refused| refused.because("the rows of RETURNING are kept until the statement ends"))?;
        self.batches.extend(batches);
        Ok(())
    }

    /// The answer.
    pub fn finish(self, run: &Run<'_>) -> QueryResult {
        run.rows(self.names, self.exprs.iter().map(Expr::ty).collect(), self.batches)
    }
}

impl Run<'_> {
    /// RETURNING over rows whose column `i` is number `numbers[i]`.
    pub(crate) fn returned(
        &self,
        returning: Returning,
        numbers: impl IntoIterator<Item = usize>,
        rows: &Batch,
    ) -> Result<QueryResult> {
        let mut returned = self.answer_of(returning, numbers);
        returned.add(rows)?;
        Ok(returned.finish(self))
    }

    /// The same, where rows come in several parts.
    pub(super) fn answer_of(
        &self,
        returning: Returning,
        numbers: impl IntoIterator<Item = usize>,
    ) -> Returned {
        let (names, exprs) = returning.items.into_iter().unzip();
        let (layout, budget) = (layout(numbers), self.database.budget().clone());
        Returned { names, exprs, layout, batches: Vec::new(), reserved: None, budget }
    }
}

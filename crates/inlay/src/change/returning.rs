//! The answer of a statement that changed rows: their number, or what RETURNING says of them.

use super::rows::{batches_of, layout};
use crate::execute::Run;
use crate::result::QueryResult;
use inlay_sql::plan::Expr;
use inlay_sql::plan::statement::Returning;
use inlay_types::{Batch, Result};

impl Run<'_> {
    /// RETURNING over rows whose column `i` is number `numbers[i]`.
    pub(crate) fn returned(
        &self,
        returning: Returning,
        numbers: impl IntoIterator<Item = usize>,
        rows: &Batch,
    ) -> Result<QueryResult> {
        let (names, exprs): (Vec<String>, Vec<Expr>) = returning.items.into_iter().unzip();
        let types = exprs.iter().map(Expr::ty).collect();
        let batches = batches_of(&exprs, &layout(numbers), rows)?;
        Ok(self.rows(names, types, batches))
    }
}

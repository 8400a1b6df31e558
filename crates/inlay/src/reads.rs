//! What a query reads, as conditions that commit checks: under SERIALIZABLE a transaction fails if a row that satisfies
//! one of them was written meanwhile.
//!
//! The conditions are those that the optimizer pushed into the scans, so a lookup by key is noted as that key and not as
//! the whole table. Filters that joins send sideways are not noted, which can only make a conflict more likely.

use inlay_exec::expression::{Filter, Layout};
use inlay_sql::plan::statement::Query;
use inlay_sql::plan::{ColumnId, Expr, Plan, ScanColumn, ScanField};
use inlay_storage::Table;
use inlay_storage::store::{Object, RowPredicate, Transaction};
use inlay_types::{Batch, Result, VECTOR_SIZE};
use std::sync::Arc;

/// Notes every scan of a query.
pub(crate) fn note(query: &Query, transactions: &[Arc<Transaction>]) -> Result<()> {
    note_plan(&query.plan, transactions)
}

fn note_plan(plan: &Plan, transactions: &[Arc<Transaction>]) -> Result<()> {
    if let Plan::Scan { table, columns, fields, filters, .. } = plan
        && let Some(transaction) = owner(&table.table, transactions)
    {
        transaction.record_read(table.table.id(), predicate(columns, fields, filters)?);
    }
    plan.inputs().into_iter().try_for_each(|input| note_plan(input, transactions))
}

/// The transaction that a table belongs to.
fn owner<'a>(table: &Arc<Table>, transactions: &'a [Arc<Transaction>]) -> Option<&'a Arc<Transaction>> {
    transactions.iter().find(|transaction| match transaction.state().object(table.id()) {
        Some(Object::Table(slot)) => slot.table().is_ok_and(|own| Arc::ptr_eq(&own, table)),
        _ => false,
    })
}

fn predicate(
    columns: &[ScanColumn],
    fields: &[ScanField],
    filters: &[Expr],
) -> Result<Option<Arc<dyn RowPredicate>>> {
    // Commit calls no function of the host: without its condition a conflict is more likely, no more.
    let mut filters: Vec<Expr> = filters.iter().filter(|filter| !filter.calls_external()).cloned().collect();
    // Rows are looked at as a whole.
    let of_structs = fields.iter().map(|field| (field.id, field.expr.clone())).collect();
    filters.iter_mut().for_each(|filter| filter.substitute(&of_structs));
    if filters.is_empty() {
        return Ok(None);
    }
    let mut used: Vec<ColumnId> = filters.iter().flat_map(Expr::columns).collect();
    used.sort_unstable();
    used.dedup();
    let stored = columns.iter().map(|column| (column.id, column.index));
    let stored = stored.chain(fields.iter().map(|field| (field.source, field.index)));
    let position = |id: &ColumnId| stored.clone().find(|(known, _)| known == id).map(|(_, index)| index);
    let Some(positions) = used.iter().map(position).collect::<Option<Vec<usize>>>() else { return Ok(None) };
    let filter = Filter::compile(&filters, &Layout(used))?;
    Ok(Some(Arc::new(Condition { filter, positions })))
}

/// A condition over some columns of a table.
struct Condition {
    filter: Filter,
    positions: Vec<usize>,
}

impl RowPredicate for Condition {
    fn matches_any(&self, rows: &Batch) -> Result<bool> {
        let mut state = self.filter.state();
        let mut selected = Vec::new();
        for start in (0..rows.len()).step_by(VECTOR_SIZE) {
            let len = VECTOR_SIZE.min(rows.len() - start);
            let columns = self.positions.iter().map(|&p| rows.column(p).slice(start, len)).collect();
            // A condition that fails on a row, with an overflow say, might have failed in the transaction too.
            let outcome = self.filter.select(&mut state, &Batch::new(columns, len), &mut selected);
            if outcome.is_err() || !selected.is_empty() {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

//! `count(x)` of what is never NULL is `count(*)`: then `x` need not be computed.
//!
//! What a table holds now may prove it as well: where no value of a column is NULL, the scan notes for which version of the table that
//! is so, and the executor sees to it that it still is.

use super::column_set::ColumnSet;
use super::properties::{can_fail, is_never_null, not_null_columns};
use super::rewrite::with_stack;
use crate::plan::{ColumnId, Expr, Plan};
use inlay_functions::registry::resolve_aggregate;
use inlay_kernels::AggregateKind;
use inlay_types::Result;
use std::sync::Arc;

/// Counts rows wherever that is the same.
pub fn run(plan: &mut Plan) -> Result<()> {
    plan.inputs_mut().into_iter().try_for_each(|input| with_stack(|| run(input)))?;
    let Plan::Aggregate { input, aggregates, .. } = plan else { return Ok(()) };
    for (_, aggregate) in aggregates {
        let is_count = aggregate.function.kind == AggregateKind::Count
            && !aggregate.distinct
            && aggregate.order_by.is_empty();
        let [arg] = aggregate.args.as_slice() else { continue };
        if is_count && (always_counts(arg, input) || counts_now(arg, input)) {
            aggregate.function = Arc::new(resolve_aggregate("count", &[])?);
            aggregate.args.clear();
        }
    }
    Ok(())
}

/// Whether an expression over the columns of `input` has a value in every row, which is the same each time and no error.
fn always_counts(expr: &Expr, input: &Plan) -> bool {
    match (expr, input) {
        (Expr::Column { id, .. }, Plan::Project { input, items }) => {
            let made = items.iter().find(|(made, _)| made == id);
            made.is_some_and(|(_, expr)| always_counts(expr, input))
        }
        _ => !can_fail(expr) && expr.is_deterministic() && is_never_null(expr, &not_null_columns(input)),
    }
}

/// The same by what the table below holds now, which its scan then notes.
fn counts_now(expr: &Expr, input: &mut Plan) -> bool {
    let mut noted = Vec::new();
    note(input, &expr.columns().into_iter().collect(), &mut noted);
    let counts = !noted.is_empty() && always_counts(expr, input);
    if !counts {
        forget(input, &noted);
    }
    counts
}

/// Notes which of the columns that the wanted ones are made of have no NULL, where nothing but projections and filters is between.
fn note(plan: &mut Plan, wanted: &ColumnSet, noted: &mut Vec<ColumnId>) {
    if let Plan::Scan { table, columns, .. } = plan {
        let (schema, snapshot) = (table.table.schema(), table.table.snapshot());
        let is_full =
            |index: usize| snapshot.row_groups().iter().all(|group| group.column(index).null_count() == 0);
        for column in columns.iter_mut().filter(|column| wanted.contains(column.id)) {
            let is_known = column.full_at.is_some() || schema.columns[column.index].not_null;
            if !is_known && is_full(column.index) {
                column.full_at = Some(snapshot.version());
                noted.push(column.id);
            }
        }
    } else if let Plan::Project { input, items } = plan {
        let made = items.iter().filter(|(id, _)| wanted.contains(*id));
        let wanted = made.flat_map(|(_, expr)| expr.columns()).collect();
        with_stack(|| note(input, &wanted, noted));
    } else if let Plan::Filter { input, .. } = plan {
        with_stack(|| note(input, wanted, noted));
    }
}

fn forget(plan: &mut Plan, noted: &[ColumnId]) {
    if let Plan::Scan { columns, .. } = plan {
        columns.iter_mut().filter(|column| noted.contains(&column.id)).for_each(|column| {
            column.full_at = None;
        });
    }
    plan.inputs_mut().into_iter().for_each(|input| with_stack(|| forget(input, noted)));
}

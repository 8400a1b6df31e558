//! `count(x)` of what is never NULL is `count(*)`: then `x` need not be computed.

use super::properties::{is_never_null, not_null_columns};
use super::rewrite::with_stack;
use crate::plan::{Expr, Plan};
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
        if is_count && always_counts(arg, input) {
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
        _ => !expr.can_fail() && expr.is_deterministic() && is_never_null(expr, &not_null_columns(input)),
    }
}

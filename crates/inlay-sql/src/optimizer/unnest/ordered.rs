//! Aggregates over the rows of a subquery with ORDER BY: `ARRAY(SELECT x FROM t WHERE t.k = o.k ORDER BY x)`.
//!
//! Unnesting computes a right input for all left rows at once, and rows come in no order any more. So what an aggregate
//! takes from the order of its input is written into the aggregate: the keys of the sort become its own.

use super::super::limits::depends_on_order;
use super::super::rewrite::{pass_all, take, with_stack};
use crate::plan::{ColumnId, Columns, Expr, Plan, SortKey};

/// Gives the keys of sorts to the aggregates above that depend on their order.
pub(super) fn run(plan: &mut Plan, columns: &mut Columns) {
    with_stack(|| plan.inputs_mut().into_iter().for_each(|input| run(input, columns)));
    let Plan::Aggregate { input, aggregates, .. } = plan else { return };
    if !aggregates.iter().any(|(_, aggregate)| depends_on_order(aggregate)) {
        return;
    }
    let Some(keys) = keys_of(input, columns) else { return };
    for (_, aggregate) in aggregates.iter_mut().filter(|(_, aggregate)| depends_on_order(aggregate)) {
        aggregate.order_by.clone_from(&keys);
    }
}

/// The keys of the sort that decides the order of a plan's rows, as columns that the plan now hands on.
fn keys_of(plan: &mut Plan, columns: &mut Columns) -> Option<Vec<SortKey>> {
    match plan {
        Plan::Sort { input, keys, .. } => {
            let mut computed = Vec::new();
            for key in keys.iter_mut().filter(|key| !matches!(key.expr, Expr::Column { .. })) {
                let id = columns.add("sort_key", key.expr.ty());
                computed.push((id, std::mem::replace(&mut key.expr, columns.expr(id))));
            }
            let keys = keys.clone();
            if !computed.is_empty() {
                let mut items = pass_all(columns, input);
                items.extend(computed);
                **input = take(input).project(items);
            }
            Some(keys)
        }
        Plan::Limit { input, .. } | Plan::Filter { input, .. } => keys_of(input, columns),
        Plan::Project { input, items } => {
            let keys = keys_of(input, columns)?;
            let hand_on = |mut key: SortKey| {
                let id = key.expr.columns().first().copied()?;
                key.expr = columns.expr(handed_on(items, id, columns));
                Some(key)
            };
            keys.into_iter().map(hand_on).collect()
        }
        _ => None,
    }
}

/// The column by which a projection hands on one of its input.
fn handed_on(items: &mut Vec<(ColumnId, Expr)>, wanted: ColumnId, columns: &Columns) -> ColumnId {
    let is_wanted = |(_, expr): &&(ColumnId, Expr)| matches!(expr, Expr::Column { id, .. } if *id == wanted);
    if let Some((id, _)) = items.iter().find(is_wanted) {
        return *id;
    }
    items.push((wanted, columns.expr(wanted)));
    wanted
}

//! Aggregation before an outer join: each row of the left input is a group, and what is aggregated are its partners.
//!
//! ```text
//! Aggregate by c.key: count(o.id), sum(o.price)        Project c.key, coalesce(n, 0), s
//!   Left Join on c.key = o.customer              ->      Left Join on c.key = o.customer
//!     c                                                    c
//!     o                                                    Aggregate by o.customer: n = count(o.id), s = sum(o.price)
//!                                                            o
//! ```
//! Rows of `c` without a partner have no group below the join, and what aggregates are over one row of NULLs: nothing or zero
//! for those that leave NULLs out. See [`super::early_groups`] for inner joins.

use super::column_set::ColumnSet;
use super::eager::{KEPT_MIN, adds_early};
use super::early_groups::{columns_of, is_copied};
use super::group_keys::{closure, dependencies, equal_is_same};
use super::properties::{as_column, is_matched_once, keys, output_set, strict_columns};
use super::ranges::Ranges;
use super::rewrite::{not_chosen, take};
use super::statistics::{Estimator, group_count};
use crate::plan::{AggregateExpr, ColumnId, Columns, CompareOp, Expr, JoinKind, Plan};
use inlay_kernels::AggregateKind;
use inlay_types::{Result, Value};
use std::collections::HashMap;

/// Fewer rows are not worth it.
const ROWS_MIN: f64 = 10_000.0;

/// Moves the aggregation below an outer join, if this is one where that holds and is believed to pay.
pub(super) fn run(plan: &mut Plan, columns: &mut Columns, estimator: &mut Estimator) -> Result<()> {
    if let Some(keys) = choose(plan, estimator) {
        push(plan, keys, columns)?;
    }
    Ok(())
}

/// The columns of the right input that its groups are made by.
fn choose(plan: &Plan, estimator: &mut Estimator) -> Option<Vec<Expr>> {
    let Plan::Aggregate { input, groups, aggregates } = plan else { return None };
    let Plan::Join { kind: JoinKind::Left, left, right, conditions, .. } = &**input else { return None };
    let (of_left, of_right) = (output_set(left), output_set(right));
    let mut all = groups.iter().map(|(_, expr)| expr).chain(conditions);
    let groups_read = groups.iter().fold(ColumnSet::new(), |all, (_, expr)| all.union(&ColumnSet::of(expr)));
    if groups.is_empty()
        || aggregates.is_empty()
        || !all.all(Expr::is_deterministic)
        || !groups_read.is_subset(&of_left)
        || !is_matched_once(right, left, &keys(left), conditions)
    {
        return None;
    }
    // Each group is one row of the left input.
    let mut found = Vec::new();
    dependencies(left, &mut found);
    let fixed = closure(groups.iter().filter_map(|(_, expr)| as_column(expr)).collect(), &found);
    if !keys(left).iter().any(|key| key.is_subset(&fixed)) {
        return None;
    }
    let ranges = Ranges::of(right);
    let is_possible = |aggregate: &AggregateExpr| {
        let reads =
            aggregate.expressions().iter().fold(ColumnSet::new(), |all, e| all.union(&ColumnSet::of(e)));
        match reads.intersects(&of_right) || reads.is_empty() {
            true => leaves_nulls_out(aggregate, &of_right) && adds_early(aggregate, &of_right, &ranges),
            false => is_copied(aggregate),
        }
    };
    if !aggregates.iter().all(|(_, aggregate)| is_possible(aggregate)) {
        return None;
    }
    // All partners of a row are one group: what conditions read of them is what they equate with the row.
    let keys = columns_of(conditions.iter(), &of_right);
    let is_equated = |key: &Expr| conditions.iter().any(|condition| equates(condition, key, &of_left));
    if keys.is_empty() || !keys.iter().all(|key| is_equated(key) && equal_is_same(&key.ty())) {
        return None;
    }
    let (joined, own) = (estimator.relation(input), estimator.relation(right));
    let pays = own.rows >= ROWS_MIN
        && joined.rows >= own.rows * KEPT_MIN
        && group_count(keys.iter(), &own) * 2.0 <= own.rows;
    pays.then_some(keys)
}

/// Whether a row of NULLs adds nothing to an aggregate; `count(*)`, to which it adds one, is seen to as well.
fn leaves_nulls_out(aggregate: &AggregateExpr, of_right: &ColumnSet) -> bool {
    use AggregateKind::{Avg, Count, CountStar, Max, Min, Sum};
    match aggregate.function.kind {
        CountStar => aggregate.filter.is_none(),
        Count | Sum | Avg | Min | Max => {
            let is_null = |arg: &Expr| strict_columns(arg).intersects(of_right);
            aggregate.filter.is_none() && !aggregate.args.is_empty() && aggregate.args.iter().all(is_null)
        }
        _ => false,
    }
}

fn equates(condition: &Expr, key: &Expr, of_left: &ColumnSet) -> bool {
    let Expr::Compare { op: CompareOp::Eq, left, right } = condition else { return false };
    let is_of_row = |expr: &Expr| {
        let reads = ColumnSet::of(expr);
        !reads.is_empty() && reads.is_subset(of_left)
    };
    **left == *key && is_of_row(right) || **right == *key && is_of_row(left)
}

fn push(plan: &mut Plan, keys: Vec<Expr>, columns: &mut Columns) -> Result<()> {
    let not_chosen = || not_chosen("outer_groups");
    let Plan::Aggregate { input, groups, aggregates } = take(plan) else { return Err(not_chosen()) };
    let Plan::Join { left, right, mut conditions, .. } = *input else { return Err(not_chosen()) };
    let mut map: HashMap<ColumnId, Expr> = HashMap::new();
    let mut early_groups = Vec::with_capacity(keys.len());
    for key in keys {
        if let Some(id) = as_column(&key) {
            let made = columns.copy_of(id);
            map.insert(id, columns.expr(made));
            early_groups.push((made, key));
        }
    }
    conditions.iter_mut().for_each(|condition| condition.substitute(&map));
    let of_left = output_set(&left);
    let (mut items, mut early) = (groups, Vec::new());
    for (id, mut aggregate) in aggregates {
        let reads = aggregate.args.iter().fold(ColumnSet::new(), |all, e| all.union(&ColumnSet::of(e)));
        if !reads.is_empty() && reads.is_subset(&of_left) {
            items.extend(aggregate.args.pop().map(|value| (id, value)));
            continue;
        }
        let of_nothing = match aggregate.function.kind {
            AggregateKind::CountStar => Some(Value::BigInt(1)),
            AggregateKind::Count => Some(Value::BigInt(0)),
            _ => None,
        };
        let (made, ty) = (columns.copy_of(id), aggregate.function.return_type.clone());
        let mut value = columns.expr(made);
        if let Some(of_nothing) = of_nothing {
            value = Expr::Coalesce { args: vec![value, Expr::literal(of_nothing)], ty };
        }
        items.push((id, value));
        early.push((made, aggregate));
    }
    let groups = Plan::Aggregate { input: right, groups: early_groups, aggregates: early };
    *plan = Plan::join(JoinKind::Left, *left, groups, conditions).project(items);
    Ok(())
}

//! Aggregation before joins that only add columns.
//!
//! ```text
//! Aggregate by c.key: sum(o.price), first(c.name)        Project c.key, s, c.name
//!   Join on o.customer = c.key                     ->      Join on o.customer = c.key
//!     o                                                      Aggregate by o.customer: s = sum(o.price)
//!     c                                                        o
//!                                                            c
//! ```
//! It needs no second aggregation, unlike [`super::eager`], where each row of `o` has at most one partner in every join above
//! it, and what the joins read of `o` is determined by the groups: then the rows of a group have the same partners. Texts of
//! `c` are read once for each group instead of being kept by the aggregation. The source is Chaudhuri and Shim, "Including
//! Group-By in Query Optimization" (VLDB 1994), where it is the invariant grouping.

use super::column_set::ColumnSet;
use super::eager::{KEPT_MIN, adds_early, each_column};
use super::group_keys::{closure, dependencies, equal_is_same};
use super::properties::{as_column, is_matched_once, keys, output_set};
use super::ranges::Ranges;
use super::rewrite::{not_chosen, take};
use super::statistics::{Estimator, group_count};
use crate::plan::{AggregateExpr, ColumnId, Columns, Expr, JoinKind, Plan};
use inlay_kernels::AggregateKind;
use inlay_types::Result;
use std::collections::HashMap;

/// Joins of fewer rows are not worth it.
const ROWS_MIN: f64 = 10_000.0;

/// Which input of a join leads to the rows that are aggregated.
#[derive(Clone, Copy)]
enum Step {
    Left,
    Right,
}

struct Choice {
    path: Vec<Step>,
    /// What is read above of the rows: the groups they fall into.
    keys: Vec<Expr>,
}

/// Moves the aggregation below joins, if this is one where that holds and is believed to pay.
pub(super) fn run(plan: &mut Plan, columns: &mut Columns, estimator: &mut Estimator) -> Result<()> {
    if let Some(choice) = choose(plan, estimator) {
        push(plan, &choice, columns)?;
    }
    Ok(())
}

fn choose(plan: &Plan, estimator: &mut Estimator) -> Option<Choice> {
    let Plan::Aggregate { input, groups, aggregates } = plan else { return None };
    let is_join = matches!(&**input, Plan::Join { kind: JoinKind::Inner, .. });
    if !is_join || groups.is_empty() || !groups.iter().all(|(_, expr)| expr.is_deterministic()) {
        return None;
    }
    let mut found = Vec::new();
    dependencies(input, &mut found);
    let ranges = Ranges::of(input);
    let fixed = closure(groups.iter().filter_map(|(_, expr)| as_column(expr)).collect(), &found);

    let (mut best, mut path) = (None, Vec::new());
    let mut conditions: Vec<&Expr> = Vec::new();
    let mut at: &Plan = input;
    while let Plan::Join { kind: JoinKind::Inner, left, right, conditions: own, .. } = at {
        if own.is_empty() || !own.iter().all(Expr::is_deterministic) {
            break;
        }
        let leads = |one: &Plan, many: &Plan| {
            let reached = output_set(one);
            aggregates
                .iter()
                .all(|(_, aggregate)| adds_early(aggregate, &reached, &ranges) || is_copied(aggregate))
                && is_matched_once(one, many, &keys(many), own)
        };
        let step = match (leads(left, right), leads(right, left)) {
            (true, _) => Step::Left,
            (false, true) => Step::Right,
            (false, false) => break,
        };
        path.push(step);
        conditions.extend(own);
        at = match step {
            Step::Left => left,
            Step::Right => right,
        };
        let reached = output_set(at);
        let copied = aggregates.iter().filter(|(_, aggregate)| !adds_early(aggregate, &reached, &ranges));
        let read = copied.flat_map(|(_, aggregate)| aggregate.expressions());
        let read = read.chain(groups.iter().map(|(_, expr)| expr)).chain(conditions.iter().copied());
        let keys = columns_of(read, &reached);
        let holds = keys.iter().all(|key| as_column(key).is_some_and(|id| fixed.contains(id)));
        if holds && !keys.is_empty() && keys.iter().all(|key| equal_is_same(&key.ty())) {
            best = Some((Choice { path: path.clone(), keys }, at));
        }
    }
    let (choice, rows) = best?;
    let joined = estimator.relation(input);
    let own = estimator.relation(rows);
    let count = group_count(choice.keys.iter(), &own);
    let pays = joined.rows >= ROWS_MIN && joined.rows >= own.rows * KEPT_MIN && count <= joined.rows;
    pays.then_some(choice)
}

/// Whether an aggregate is a value that all rows of a group have, if they have the same partners: only asked of what does not
/// read the rows that are aggregated alone.
pub(super) fn is_copied(aggregate: &AggregateExpr) -> bool {
    let is_plain = !aggregate.distinct && aggregate.filter.is_none() && aggregate.order_by.is_empty();
    is_plain
        && matches!(aggregate.function.kind, AggregateKind::First | AggregateKind::AnyValue)
        && aggregate.args.iter().all(Expr::is_deterministic)
}

/// The columns of `own` that expressions read, each once.
pub(super) fn columns_of<'a>(read: impl Iterator<Item = &'a Expr>, own: &ColumnSet) -> Vec<Expr> {
    let mut found: Vec<Expr> = Vec::new();
    read.for_each(|expr| {
        each_column(expr, &mut |column| {
            if as_column(column).is_some_and(|id| own.contains(id)) && !found.contains(column) {
                found.push(column.clone());
            }
        });
    });
    found
}

fn push(plan: &mut Plan, choice: &Choice, columns: &mut Columns) -> Result<()> {
    let Plan::Aggregate { input, groups, aggregates } = take(plan) else {
        return Err(not_chosen("early_groups"));
    };
    let mut map: HashMap<ColumnId, Expr> = HashMap::new();
    let mut early_groups = Vec::with_capacity(choice.keys.len());
    for key in &choice.keys {
        if let Expr::Column { id, .. } = key {
            let made = columns.copy_of(*id);
            map.insert(*id, columns.expr(made));
            early_groups.push((made, key.clone()));
        }
    }
    let mut joined = *input;
    let mut rows = &mut joined;
    for step in &choice.path {
        if let Plan::Join { left, right, conditions, .. } = rows {
            conditions.iter_mut().for_each(|condition| condition.substitute(&map));
            rows = match step {
                Step::Left => left,
                Step::Right => right,
            };
        }
    }
    let (reached, ranges) = (output_set(rows), Ranges::of(rows));
    let mut early = Vec::new();
    let mut items: Vec<(ColumnId, Expr)> = groups;
    for (id, mut aggregate) in aggregates {
        if adds_early(&aggregate, &reached, &ranges) {
            items.push((id, columns.expr(id)));
            early.push((id, aggregate));
        } else if let Some(value) = aggregate.args.pop() {
            items.push((id, value));
        }
    }
    items.iter_mut().for_each(|(_, expr)| expr.substitute(&map));
    let input = Box::new(take(rows));
    *rows = Plan::Aggregate { input, groups: early_groups, aggregates: early };
    *plan = joined.project(items);
    Ok(())
}

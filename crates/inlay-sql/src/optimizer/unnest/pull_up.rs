//! Moves predicates over outer columns out of the right input of a dependent join.
//!
//! What comes out is deferred: a list of conjuncts over the plan's output and outer columns that must hold in addition.
//! Grouping, DISTINCT and limits let equalities through, because rows with different inner sides can be kept
//! apart by further groups; everything else that chooses or combines rows stops the way.

use super::super::column_set::ColumnSet;
use super::super::properties::{as_column, is_pass_through, output_set};
use super::super::rewrite::{pass_through, with_stack};
use super::{as_correlated_equality, is_outer_only};
use crate::plan::{ColumnId, Columns, CompareOp, Expr, JoinKind, Plan, SortKey, WindowExpr};

/// The plan without the correlated predicates that could be moved, and those.
pub fn run(plan: Plan, outer: &ColumnSet, columns: &mut Columns) -> (Plan, Vec<Expr>) {
    with_stack(|| pull(plan, outer, columns))
}

fn pull(plan: Plan, outer: &ColumnSet, columns: &mut Columns) -> (Plan, Vec<Expr>) {
    match plan {
        Plan::Filter { input, predicates } => {
            let (input, mut deferred) = run(*input, outer, columns);
            let (moved, kept) = partition(predicates, outer);
            deferred.extend(moved);
            (input.filter(kept), deferred)
        }
        Plan::Project { input, mut items } => {
            let (input, deferred) = run(*input, outer, columns);
            keep_columns(&mut items, &input, &deferred, columns);
            (Plan::Project { input: Box::new(input), items }, deferred)
        }
        Plan::Join { kind: JoinKind::Inner, left, right, conditions, build_left } => {
            let (left, mut deferred) = run(*left, outer, columns);
            let (right, from_right) = run(*right, outer, columns);
            let (moved, conditions) = partition(conditions, outer);
            deferred.extend(from_right);
            deferred.extend(moved);
            let (left, right) = (Box::new(left), Box::new(right));
            (Plan::Join { kind: JoinKind::Inner, left, right, conditions, build_left }, deferred)
        }
        Plan::Join { kind, left, right, conditions, build_left } if kind != JoinKind::Full => {
            let (left, deferred) = run(*left, outer, columns);
            (Plan::Join { kind, left: Box::new(left), right, conditions, build_left }, deferred)
        }
        Plan::Aggregate { input, groups, aggregates } if !groups.is_empty() => {
            let (input, deferred) = run(*input, outer, columns);
            let (input, groups, deferred) = group_by_keys(input, groups, deferred, outer, columns);
            (Plan::Aggregate { input: Box::new(input), groups, aggregates }, deferred)
        }
        Plan::Window { input, windows } => {
            // An equality takes out whole partitions if its inner side is a partition key of every function.
            let (input, deferred) = run(*input, outer, columns);
            let (input, windows, deferred) = partition_by_keys(input, windows, deferred, outer);
            (Plan::Window { input: Box::new(input), windows }, deferred)
        }
        Plan::Unnest { input, lists, ordinality, keep_empty } => {
            let (input, deferred) = run(*input, outer, columns);
            (Plan::Unnest { input: Box::new(input), lists, ordinality, keep_empty }, deferred)
        }
        Plan::Sort { input, keys, limit: None, offset: 0 } => {
            let (input, deferred) = run(*input, outer, columns);
            (Plan::Sort { input: Box::new(input), keys, limit: None, offset: 0 }, deferred)
        }
        Plan::Sort { input, keys, limit, offset } => {
            limit_by_keys(*input, Vec::new(), keys, limit, offset, outer, columns)
        }
        Plan::Limit { input, limit, offset } => match *input {
            // LIMIT over ORDER BY, before the two were merged.
            Plan::Sort { input, keys, limit: None, offset: 0 } => {
                limit_by_keys(*input, Vec::new(), keys, limit, offset, outer, columns)
            }
            other => limit_by_keys(other, Vec::new(), Vec::new(), limit, offset, outer, columns),
        },
        Plan::GroupLimit { input, groups, keys, limit, offset } => {
            limit_by_keys(*input, groups, keys, limit, offset, outer, columns)
        }
        Plan::With { id, definition, body } => {
            let (body, deferred) = run(*body, outer, columns);
            (Plan::With { id, definition, body: Box::new(body) }, deferred)
        }
        other => (other, Vec::new()),
    }
}

/// Correlated predicates, and the others.
fn partition(predicates: Vec<Expr>, outer: &ColumnSet) -> (Vec<Expr>, Vec<Expr>) {
    predicates.into_iter().partition(|p| ColumnSet::of(p).intersects(outer) && p.is_deterministic())
}

/// Adds to a projection the columns of its input that deferred predicates read.
fn keep_columns(items: &mut Vec<(ColumnId, Expr)>, input: &Plan, deferred: &[Expr], columns: &Columns) {
    let available = output_set(input);
    let mut wanted = ColumnSet::new();
    deferred.iter().for_each(|p| wanted.add_expr(p));
    for id in wanted.intersection(&available).iter() {
        if !items.iter().any(|(made, expr)| is_pass_through(*made, expr) && *made == id) {
            items.push(pass_through(columns, id));
        }
    }
}

/// Predicates that can pass an operator which keeps groups apart; the others go back onto its input.
struct Passing {
    input: Plan,
    equalities: Vec<(Expr, Expr)>,
    outer_only: Vec<Expr>,
}

fn passing(input: Plan, deferred: Vec<Expr>, outer: &ColumnSet) -> Passing {
    let (mut equalities, mut outer_only, mut blocked) = (Vec::new(), Vec::new(), Vec::new());
    for predicate in deferred {
        if let Some(sides) = as_correlated_equality(&predicate, outer) {
            equalities.push(sides);
        } else if is_outer_only(&predicate, outer) {
            outer_only.push(predicate);
        } else {
            blocked.push(predicate);
        }
    }
    Passing { input: input.filter(blocked), equalities, outer_only }
}

type Groups = Vec<(ColumnId, Expr)>;

/// Groups also by the inner sides of equalities; what is deferred then compares with those groups.
pub(super) fn group_by_keys(
    input: Plan,
    mut groups: Groups,
    deferred: Vec<Expr>,
    outer: &ColumnSet,
    columns: &mut Columns,
) -> (Plan, Groups, Vec<Expr>) {
    let Passing { input, equalities, outer_only: mut deferred } = passing(input, deferred, outer);
    for (outer_side, inner_side) in equalities {
        let id = match groups.iter().find(|(_, e)| *e == inner_side) {
            Some((id, _)) => *id,
            None => {
                let name =
                    as_column(&inner_side).map_or("key".to_string(), |id| columns.get(id).name.clone());
                let id = columns.add(name, inner_side.ty());
                groups.push((id, inner_side));
                id
            }
        };
        deferred.push(Expr::compare(CompareOp::Eq, outer_side, columns.expr(id)));
    }
    (input, groups, deferred)
}

/// Window functions are computed for each combination of the inner sides of equalities.
fn partition_by_keys(
    input: Plan,
    mut windows: Vec<(ColumnId, WindowExpr)>,
    deferred: Vec<Expr>,
    outer: &ColumnSet,
) -> (Plan, Vec<(ColumnId, WindowExpr)>, Vec<Expr>) {
    let Passing { input, equalities, outer_only: mut deferred } = passing(input, deferred, outer);
    for (outer_side, inner_side) in equalities {
        for (_, window) in windows.iter_mut().filter(|(_, w)| !w.partition.contains(&inner_side)) {
            window.partition.push(inner_side.clone());
        }
        deferred.push(Expr::compare(CompareOp::Eq, outer_side, inner_side));
    }
    (input, windows, deferred)
}

/// A limit becomes one per combination of the inner sides of equalities.
fn limit_by_keys(
    input: Plan,
    mut groups: Vec<Expr>,
    keys: Vec<SortKey>,
    limit: Option<u64>,
    offset: u64,
    outer: &ColumnSet,
    columns: &mut Columns,
) -> (Plan, Vec<Expr>) {
    let (input, deferred) = run(input, outer, columns);
    let Passing { input, equalities, outer_only: mut deferred } = passing(input, deferred, outer);
    for (outer_side, inner_side) in equalities {
        if !groups.contains(&inner_side) {
            groups.push(inner_side.clone());
        }
        deferred.push(Expr::compare(CompareOp::Eq, outer_side, inner_side));
    }
    let input = Box::new(input);
    let plan = match (groups.is_empty(), keys.is_empty()) {
        (false, _) => Plan::GroupLimit { input, groups, keys, limit, offset },
        (true, false) => Plan::Sort { input, keys, limit, offset },
        (true, true) => Plan::Limit { input, limit, offset },
    };
    (plan, deferred)
}

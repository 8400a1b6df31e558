//! Unnests a right input that always has exactly one row: an ungrouped aggregate, or a single literal row, below
//! projections and filters.
//!
//! `SELECT 0.2 * avg(x) FROM t WHERE t.k = o.k` becomes `o LEFT JOIN (SELECT k, avg(x) GROUP BY k) ON k = o.k` with a
//! projection above that computes `0.2 * avg(x)` for every outer row. Where there is no group, the aggregate of no
//! rows is NULL, as the outer join makes it, or 0 for counts, which the projection mends.

use super::super::column_set::ColumnSet;
use super::super::properties::free_columns;
use super::super::rewrite::pass_all;
use super::{independent_join, pull_up, zero_of};
use crate::plan::{ColumnId, Columns, Expr, JoinKind, Plan};
use std::collections::HashMap;

/// What became of the join.
pub enum Outcome {
    /// Unnested.
    Done(Plan),
    /// Left, right and conditions as they were.
    Unchanged(Plan, Plan, Vec<Expr>),
}

/// The projections and filters above the one row, merged: items and predicates over the row's columns.
struct Layers {
    /// `None` while no projection was met: the output is that of the row.
    items: Option<Vec<(ColumnId, Expr)>>,
    predicates: Vec<Expr>,
}

/// Unnests the join if its right input is one row by construction.
pub fn unnest(
    kind: JoinKind,
    left: Plan,
    right: Plan,
    conditions: Vec<Expr>,
    outer: &ColumnSet,
    columns: &mut Columns,
) -> Outcome {
    let fits = match kind {
        JoinKind::Inner => true,
        JoinKind::Single | JoinKind::Left => conditions.is_empty(),
        _ => false,
    };
    if !fits || !is_candidate(&right) {
        return Outcome::Unchanged(left, right, conditions);
    }
    let original = right.clone();
    let mut layers = Layers { items: None, predicates: Vec::new() };
    let Some(base) = peel(right, &mut layers) else {
        return Outcome::Unchanged(left, original, conditions);
    };
    let (joined, mended) = match base {
        Plan::Aggregate { input, groups, aggregates } => {
            debug_assert!(groups.is_empty());
            let (input, deferred) = pull_up::run(*input, outer, columns);
            let (input, groups, deferred) = pull_up::group_by_keys(input, groups, deferred, outer, columns);
            let reads_outer = |e: &&Expr| ColumnSet::of(e).intersects(outer);
            let correlated = aggregates.iter().any(|(_, a)| a.expressions().iter().any(reads_outer));
            if correlated || free_columns(&input).intersects(outer) {
                return Outcome::Unchanged(left, original, conditions);
            }
            let mut mended = HashMap::new();
            let mut renamed = Vec::with_capacity(aggregates.len());
            // A guard makes another value of every column, which then needs another identity.
            let guarded = kind != JoinKind::Inner && !layers.predicates.is_empty();
            for (id, aggregate) in aggregates {
                let counts = aggregate.function.kind.is_zero_of_nothing();
                if counts {
                    let raw = columns.copy_of(id);
                    let ty = columns.ty(id);
                    mended.insert(
                        id,
                        Expr::Coalesce { args: vec![columns.expr(raw), zero_of(ty.clone())], ty },
                    );
                    renamed.push((raw, aggregate));
                } else if guarded {
                    let raw = columns.copy_of(id);
                    mended.insert(id, columns.expr(raw));
                    renamed.push((raw, aggregate));
                } else {
                    mended.insert(id, columns.expr(id));
                    renamed.push((id, aggregate));
                }
            }
            let right = Plan::Aggregate { input: Box::new(input), groups, aggregates: renamed };
            (independent_join(JoinKind::Left, left, right, deferred), mended)
        }
        // A single row without columns: nothing to join.
        _ => (left, HashMap::new()),
    };
    Outcome::Done(finish(kind, joined, mended, layers, conditions, outer, columns))
}

/// Computes the layers above the join.
fn finish(
    kind: JoinKind,
    joined: Plan,
    mended: HashMap<ColumnId, Expr>,
    layers: Layers,
    conditions: Vec<Expr>,
    outer: &ColumnSet,
    columns: &Columns,
) -> Plan {
    let made = layers.items.unwrap_or_else(|| {
        let mut ids: Vec<ColumnId> = mended.keys().copied().collect();
        ids.sort_unstable();
        ids.into_iter().map(|id| (id, columns.expr(id))).collect()
    });
    let mut predicates = layers.predicates;
    predicates.iter_mut().for_each(|p| p.substitute(&mended));
    let guard = (kind != JoinKind::Inner && !predicates.is_empty()).then(|| Expr::and(predicates.clone()));
    let mut items: Vec<(ColumnId, Expr)> =
        pass_all(columns, &joined).into_iter().filter(|(id, _)| outer.contains(*id)).collect();
    for (id, mut expr) in made {
        expr.substitute(&mended);
        let ty = expr.ty();
        let expr = match &guard {
            Some(guard) => Expr::Case {
                branches: vec![(guard.clone(), expr)],
                otherwise: Box::new(Expr::Literal { value: inlay_types::Value::Null, ty: ty.clone() }),
                ty,
            },
            None => expr,
        };
        items.push((id, expr));
    }
    let filtered = if kind == JoinKind::Inner { joined.filter(predicates) } else { joined };
    filtered.project(items).filter(conditions)
}

/// Whether peeling leads to a row that is always there.
fn is_candidate(plan: &Plan) -> bool {
    match plan {
        Plan::Project { input, .. } | Plan::Filter { input, .. } => is_candidate(input),
        Plan::Limit { input, limit, offset: 0 } | Plan::Sort { input, limit, offset: 0, .. }
            if *limit != Some(0) =>
        {
            is_candidate(input)
        }
        Plan::Aggregate { groups, .. } => groups.is_empty(),
        Plan::Values { columns, rows } => columns.is_empty() && rows.len() == 1,
        _ => false,
    }
}

/// Takes projections, filters, sorts and limits off the one row. A volatile item stops the way.
fn peel(plan: Plan, layers: &mut Layers) -> Option<Plan> {
    match plan {
        Plan::Project { input, items } => {
            if !items.iter().all(|(_, e)| e.is_deterministic()) {
                return None;
            }
            match &mut layers.items {
                None => layers.items = Some(items.clone()),
                Some(upper) => substitute_all(upper.iter_mut().map(|(_, e)| e), &items),
            }
            substitute_all(layers.predicates.iter_mut(), &items);
            peel(*input, layers)
        }
        Plan::Filter { input, predicates } => {
            layers.predicates.extend(predicates);
            peel(*input, layers)
        }
        Plan::Sort { input, .. } | Plan::Limit { input, .. } => peel(*input, layers),
        Plan::Aggregate { .. } | Plan::Values { .. } => Some(plan),
        _ => None,
    }
}

fn substitute_all<'a>(exprs: impl Iterator<Item = &'a mut Expr>, items: &[(ColumnId, Expr)]) {
    let map: HashMap<ColumnId, Expr> = items.iter().cloned().collect();
    exprs.for_each(|e| e.substitute(&map));
}

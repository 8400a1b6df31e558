//! Functional dependencies in grouping: columns that other grouping columns determine need not be compared.
//!
//! `GROUP BY c_custkey, c_name, c_phone` groups by `c_custkey` alone when that is a key: the others have one value
//! per group and become `first` aggregates. Dependencies come from declared and found keys (which hold behind joins too: a key value
//! still belongs to one row of its table), from equalities, and from grouping below. What is computed of grouping columns
//! alone, as `GROUP BY x, x - 1`, and constants are computed once per group, behind the aggregation.

use super::column_set::ColumnSet;
use super::properties::{as_column, as_column_equality, is_pass_through, not_null_columns};
use super::rewrite::with_stack;
use crate::plan::{AggregateExpr, ColumnId, Columns, Expr, JoinKind, Plan};
use inlay_kernels::{AggregateFunction, AggregateKind};
use inlay_types::{LogicalType, PhysicalType};
use std::collections::HashMap;
use std::sync::Arc;

/// Shortens the grouping columns of every aggregation; takes out DISTINCT over what is distinct.
pub fn run(plan: &mut Plan, columns: &Columns) {
    with_stack(|| plan.inputs_mut().into_iter().for_each(|input| run(input, columns)));
    let Plan::Aggregate { input, groups, aggregates } = plan else { return };
    let mut derived = Vec::new();
    if groups.len() > 1 {
        derived = take_derived(groups);
        reduce(input, groups, aggregates, columns);
    }
    remove_distinct(input, groups, aggregates);
    if !derived.is_empty() {
        let kept = groups.iter().map(|(id, expr)| (*id, expr.ty()));
        let kept = kept
            .chain(aggregates.iter().map(|(id, aggregate)| (*id, aggregate.function.return_type.clone())));
        let mut items: Vec<(ColumnId, Expr)> = kept.map(|(id, ty)| (id, Expr::Column { id, ty })).collect();
        items.extend(derived);
        let aggregate = std::mem::replace(plan, Plan::single_row());
        *plan = Plan::Project { input: Box::new(aggregate), items };
    }
}

/// Takes out grouping expressions that are computed of other grouping columns, and returns them over what the groups put
/// out. One expression stays, for without groups there would be a row where there are none to be grouped.
fn take_derived(groups: &mut Vec<(ColumnId, Expr)>) -> Vec<(ColumnId, Expr)> {
    let of_groups: HashMap<ColumnId, Expr> = groups
        .iter()
        .filter_map(|(id, expr)| Some((as_column(expr)?, Expr::Column { id: *id, ty: expr.ty() })))
        .collect();
    let known: ColumnSet =
        of_groups.iter().filter(|(_, output)| equal_is_same(&output.ty())).map(|(id, _)| *id).collect();
    let is_derived = |expr: &Expr| {
        as_column(expr).is_none() && expr.is_deterministic() && ColumnSet::of(expr).is_subset(&known)
    };
    let mut left = groups.len();
    let mut derived = Vec::new();
    groups.retain(|(id, expr)| {
        if left == 1 || !is_derived(expr) {
            return true;
        }
        left -= 1;
        let mut expr = expr.clone();
        expr.substitute(&of_groups);
        derived.push((*id, expr));
        false
    });
    derived
}

/// Whether values that group together are the same, so that what is computed of them is, too: not 0.0 and -0.0, nor a month and
/// 30 days.
pub(super) fn equal_is_same(ty: &LogicalType) -> bool {
    let differs = matches!(ty.physical(), PhysicalType::F32 | PhysicalType::F64 | PhysicalType::Interval);
    !differs && !ty.is_nested()
}

/// `determines` fixes `determined`.
pub(super) struct Dependency {
    determines: ColumnSet,
    determined: ColumnSet,
}

/// The dependencies among the columns of a plan.
pub(super) fn dependencies(plan: &Plan, found: &mut Vec<Dependency>) {
    let mut equal = |conditions: &[Expr]| {
        for (a, b) in conditions.iter().filter_map(as_column_equality) {
            let (a, b) = (ColumnSet::from_iter([a]), ColumnSet::from_iter([b]));
            found.push(Dependency { determines: a.clone(), determined: b.clone() });
            found.push(Dependency { determines: b, determined: a });
        }
    };
    match plan {
        Plan::Scan { columns, filters, .. } => {
            equal(filters);
            let all: ColumnSet = columns.iter().map(|c| c.id).collect();
            for key in super::properties::keys(plan) {
                found.push(Dependency { determines: key, determined: all.clone() });
            }
        }
        Plan::Aggregate { groups, aggregates, .. } => {
            let determines: ColumnSet = groups.iter().map(|(id, _)| *id).collect();
            let determined = aggregates.iter().map(|(id, _)| *id).collect();
            found.push(Dependency { determines, determined });
        }
        Plan::Filter { input, predicates } => {
            equal(predicates);
            dependencies(input, found);
        }
        Plan::Join { kind, left, right, conditions, .. } => {
            match kind {
                JoinKind::Inner => {
                    equal(conditions);
                    dependencies(right, found);
                }
                JoinKind::Left | JoinKind::Single => {
                    // Where there is no partner all columns of the right are NULL. What they are by others holds if these
                    // tell such rows from those of the right: not by NULL, nor by nothing, as of a single row.
                    let (mut of_right, never_null) = (Vec::new(), not_null_columns(right));
                    dependencies(right, &mut of_right);
                    of_right.retain(|dependency| dependency.determines.intersects(&never_null));
                    found.append(&mut of_right);
                }
                JoinKind::Semi | JoinKind::Anti | JoinKind::Mark(_) => {}
                JoinKind::Full => return,
            }
            dependencies(left, found);
        }
        Plan::Project { input, items } => {
            let mut below = Vec::new();
            dependencies(input, &mut below);
            let passed: ColumnSet =
                items.iter().filter(|(id, e)| is_pass_through(*id, e)).map(|(id, _)| *id).collect();
            found.extend(below.into_iter().filter(|d| d.determines.is_subset(&passed)));
            for (id, expr) in items.iter().filter(|(id, e)| !is_pass_through(*id, e) && e.is_deterministic())
            {
                found.push(Dependency {
                    determines: ColumnSet::of(expr),
                    determined: ColumnSet::from_iter([*id]),
                });
            }
        }
        Plan::Window { input, .. }
        | Plan::Unnest { input, .. }
        | Plan::Sort { input, .. }
        | Plan::Limit { input, .. }
        | Plan::Sample { input, .. }
        | Plan::LimitBy { input, .. }
        | Plan::GroupLimit { input, .. } => {
            dependencies(input, found);
        }
        Plan::With { body, .. } => dependencies(body, found),
        Plan::Source { .. }
        | Plan::TableCall { .. }
        | Plan::Values { .. }
        | Plan::DependentJoin { .. }
        | Plan::OrderedJoin { .. }
        | Plan::SetOp { .. }
        | Plan::Recursive { .. }
        | Plan::SharedScan { .. } => {}
    }
}

/// All columns that are determined by these.
pub(super) fn closure(mut set: ColumnSet, dependencies: &[Dependency]) -> ColumnSet {
    loop {
        let before = set.count();
        for dependency in dependencies {
            if dependency.determines.is_subset(&set) {
                set.union_with(&dependency.determined);
            }
        }
        if set.count() == before {
            return set;
        }
    }
}

fn reduce(
    input: &Plan,
    groups: &mut Vec<(ColumnId, Expr)>,
    aggregates: &mut Vec<(ColumnId, AggregateExpr)>,
    columns: &Columns,
) {
    let mut found = Vec::new();
    dependencies(input, &mut found);
    if found.is_empty() {
        return;
    }
    // What is most expensive to compare is tried first.
    let mut order: Vec<usize> = (0..groups.len()).collect();
    order.sort_by_key(|i| std::cmp::Reverse(comparison_cost(&groups[*i].1)));
    let mut dropped = vec![false; groups.len()];
    for i in order {
        let rest = groups.iter().enumerate().filter(|(j, _)| *j != i && !dropped[*j]);
        let rest: ColumnSet = rest.filter_map(|(_, (_, e))| as_column(e)).collect();
        if groups[i].1.is_deterministic()
            && ColumnSet::of(&groups[i].1).is_subset(&closure(rest.clone(), &found))
            && !rest.is_empty()
        {
            dropped[i] = true;
        }
    }
    let mut index = 0;
    let mut moved = Vec::new();
    groups.retain(|(id, expr)| {
        let is_dropped = dropped[index];
        index += 1;
        if is_dropped {
            moved.push((*id, first_of(expr.clone(), columns)));
        }
        !is_dropped
    });
    aggregates.extend(moved);
}

fn comparison_cost(expr: &Expr) -> usize {
    let ty = expr.ty();
    let own = if as_column(expr).is_some() { 0 } else { 100 };
    own + if ty == LogicalType::Varchar || ty == LogicalType::Blob { 50 } else { ty.physical().size() }
}

fn first_of(expr: Expr, _columns: &Columns) -> AggregateExpr {
    let ty = expr.ty();
    let function = AggregateFunction {
        name: "first".into(),
        kind: AggregateKind::First,
        arg_types: vec![ty.clone()],
        return_type: ty,
        external: None,
    };
    AggregateExpr {
        function: Arc::new(function),
        args: vec![expr],
        distinct: false,
        filter: None,
        order_by: Vec::new(),
    }
}

/// `count(DISTINCT x)` counts each `x` once anyway where `x` is a key of what is aggregated, and for `min` and `max`
/// duplicates do not matter.
fn remove_distinct(input: &Plan, groups: &[(ColumnId, Expr)], aggregates: &mut [(ColumnId, AggregateExpr)]) {
    if !aggregates.iter().any(|(_, a)| a.distinct) {
        return;
    }
    let keys = super::properties::keys(input);
    let grouped: ColumnSet = groups.iter().filter_map(|(_, e)| as_column(e)).collect();
    for (_, aggregate) in aggregates.iter_mut().filter(|(_, a)| a.distinct) {
        let idempotent = matches!(
            aggregate.function.kind,
            AggregateKind::Min
                | AggregateKind::Max
                | AggregateKind::BoolAnd
                | AggregateKind::BoolOr
                | AggregateKind::BitAnd
                | AggregateKind::BitOr
        );
        let args: ColumnSet = aggregate.args.iter().filter_map(as_column).collect();
        let distinct_already = keys.iter().any(|key| key.is_subset(&grouped.union(&args)));
        if idempotent || distinct_already {
            aggregate.distinct = false;
        }
    }
}

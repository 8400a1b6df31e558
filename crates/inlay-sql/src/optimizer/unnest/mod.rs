//! Unnesting: turns every dependent join into joins of independent inputs.
//!
//! A dependent join evaluates its right input once per row of the left one. Three ways out are tried in order, innermost
//! dependent join first (and before them [`flatten`], for lists of outer columns):
//! 1. [`scalar`]: an ungrouped aggregate (or a single row) on the right. It is grouped by the inner sides of the
//!    equality predicates that correlate it and joined to the left; what was computed from it (`0.2 * avg(x)`,
//!    `coalesce(sum(x), 0)`) moves above the join, where `count` of no rows is made 0 again.
//! 2. [`pull_up`]: predicates over outer columns move from filters and inner joins of the right input up
//!    into the conditions of the join, through grouping and limits as further groups.
//! 3. [`push_down`]: whatever correlation remains. The right input is evaluated for all distinct combinations of the
//!    outer columns at once (the domain, computed from the shared left input) and joined back.
//!
//!
//! A volatile right input is computed for each left row and goes a way of its own, [`per_row`].
//!
//! Invariant: the result has no dependent join; where a way does not apply it changes nothing.
//!
//! Called by [`super::optimize`]. Source: Neumann & Kemper, "Unnesting Arbitrary Queries", BTW 2015; ways 1 and 2 are what
//! the paper gets from its equivalences about joining and projecting the domain away.

mod flatten;
mod ordered;
mod per_row;
mod pull_up;
mod push_down;
mod scalar;

use super::column_set::ColumnSet;
use super::properties::{
    free_columns, is_at_most_one_row, is_exactly_one_row, is_matched_once, is_never_null, keys,
    not_null_columns, output_set,
};
use super::rewrite::{any_node, map_inputs, with_stack};
use crate::plan::{Columns, CompareOp, Expr, JoinKind, Plan};
use inlay_types::{Result, Value};

/// Removes every dependent join from `plan`.
pub fn run(plan: Plan, columns: &mut Columns) -> Result<Plan> {
    if !any_node(&plan, &mut |p| matches!(p, Plan::DependentJoin { .. })) {
        return Ok(plan);
    }
    unnest(plan, columns)
}

fn unnest(plan: Plan, columns: &mut Columns) -> Result<Plan> {
    let plan = with_stack(|| map_inputs(plan, &mut |input| unnest(input, columns)))?;
    match plan {
        Plan::DependentJoin { kind, left, right, conditions } => {
            unnest_join(kind, *left, *right, conditions, columns)
        }
        other => Ok(other),
    }
}

fn unnest_join(
    kind: JoinKind,
    left: Plan,
    right: Plan,
    conditions: Vec<Expr>,
    columns: &mut Columns,
) -> Result<Plan> {
    let outer = output_set(&left);
    let right = if matches!(kind, JoinKind::Semi | JoinKind::Anti) { strip_row_choice(right) } else { right };
    if !free_columns(&right).intersects(&outer) {
        return Ok(independent_join(kind, left, right, conditions));
    }
    let mut right = right;
    ordered::run(&mut right, columns);
    let (left, right, conditions) = match flatten::run(kind, left, right, conditions, columns) {
        Ok(plan) => return Ok(plan),
        Err(inputs) => inputs,
    };
    if right.is_volatile() {
        return per_row::run(kind, left, right, conditions, columns);
    }
    let (left, right, conditions) = match scalar::unnest(kind, left, right, conditions, &outer, columns) {
        scalar::Outcome::Done(plan) => return Ok(plan),
        scalar::Outcome::Unchanged(left, right, conditions) => (left, right, conditions),
    };
    let (mut right, deferred) = pull_up::run(right, &outer, columns);
    let mut conditions = conditions;
    match kind {
        JoinKind::Mark(_) => {
            for predicate in deferred {
                right = add_mark_condition(predicate, right, &outer, &mut conditions);
            }
        }
        _ => conditions.extend(deferred),
    }
    if free_columns(&right).intersects(&outer) {
        return push_down::run(kind, left, right, conditions, None, columns);
    }
    Ok(independent_join(kind, left, right, conditions))
}

/// Whether some row exists does not depend on their order, nor on a limit of one or more.
fn strip_row_choice(plan: Plan) -> Plan {
    match plan {
        Plan::Limit { input, limit, offset: 0 } | Plan::Sort { input, limit, offset: 0, .. }
            if limit != Some(0) =>
        {
            strip_row_choice(*input)
        }
        other => other,
    }
}

/// A join whose right input reads nothing of the left, with the kind made as simple as is proven.
pub fn independent_join(kind: JoinKind, left: Plan, right: Plan, conditions: Vec<Expr>) -> Plan {
    let kind = match kind {
        JoinKind::Single if conditions.is_empty() && is_exactly_one_row(&right) => JoinKind::Inner,
        JoinKind::Left if conditions.is_empty() && is_exactly_one_row(&right) => JoinKind::Inner,
        JoinKind::Single
            if is_at_most_one_row(&right) || is_matched_once(&left, &right, &keys(&right), &conditions) =>
        {
            JoinKind::Left
        }
        other => other,
    };
    let conditions = plain_equality(kind, &left, &right, conditions);
    Plan::join(kind, left, right, conditions)
}

/// Makes `IS NOT DISTINCT FROM` a plain `=` where NULLs on both sides cannot meet and a NULL result means no match.
fn plain_equality(kind: JoinKind, left: &Plan, right: &Plan, mut conditions: Vec<Expr>) -> Vec<Expr> {
    let is_distinct = |c: &Expr| matches!(c, Expr::Compare { op: CompareOp::NotDistinct, .. });
    if !conditions.iter().any(is_distinct) {
        return conditions;
    }
    let not_null = not_null_columns(left).union(&not_null_columns(right));
    for condition in &mut conditions {
        if let Expr::Compare { op: op @ CompareOp::NotDistinct, left, right } = condition {
            let (l, r) = (is_never_null(left, &not_null), is_never_null(right, &not_null));
            if if matches!(kind, JoinKind::Mark(_)) { l && r } else { l || r } {
                *op = CompareOp::Eq;
            }
        }
    }
    conditions
}

/// A predicate that filtered the right input becomes a condition of a mark join: rows for which it is NULL must not make
/// the mark NULL.
fn add_mark_condition(predicate: Expr, right: Plan, outer: &ColumnSet, conditions: &mut Vec<Expr>) -> Plan {
    let not_null = not_null_columns(&right);
    if let Some((outer_side, inner_side)) = as_correlated_equality(&predicate, outer) {
        conditions.push(Expr::compare(CompareOp::NotDistinct, outer_side, inner_side.clone()));
        if is_never_null(&inner_side, &not_null) {
            return right;
        }
        return right.filter(vec![Expr::Not(Box::new(Expr::IsNull(Box::new(inner_side))))]);
    }
    let proof =
        Expr::Coalesce { args: vec![predicate, Expr::boolean(false)], ty: inlay_types::LogicalType::Boolean };
    conditions.push(proof);
    right
}

/// The sides of `f(outer columns) = g(inner columns)`, the outer one first.
fn as_correlated_equality(predicate: &Expr, outer: &ColumnSet) -> Option<(Expr, Expr)> {
    let Expr::Compare { op: CompareOp::Eq, left, right } = predicate else { return None };
    for (one, other) in [(left, right), (right, left)] {
        let (reads, other_reads) = (ColumnSet::of(one), ColumnSet::of(other));
        let is_outer = !reads.is_empty() && reads.is_subset(outer);
        let is_steady = !one.is_volatile() && !other.is_volatile();
        if is_outer && !other_reads.is_empty() && !other_reads.intersects(outer) && is_steady {
            return Some(((**one).clone(), (**other).clone()));
        }
    }
    None
}

/// Whether a predicate reads outer columns only.
fn is_outer_only(predicate: &Expr, outer: &ColumnSet) -> bool {
    ColumnSet::of(predicate).is_subset(outer)
}

/// The zero that `count` has for no rows.
fn zero_of(ty: inlay_types::LogicalType) -> Expr {
    if ty == inlay_types::LogicalType::Double {
        return Expr::literal(Value::Double(0.0));
    }
    Expr::Literal { value: Value::from_stored_i128(&ty, 0).unwrap_or(Value::BigInt(0)), ty }
}

//! EXISTS with one comparison beside its keys: the greatest or the least value of a key answers it.
//!
//! ```text
//! Semi Join on k = x and a < b      Semi Join on k = x and a < m
//!   left                       ->     left
//!   right                             Aggregate by x: m = max(b)
//!                                       right
//! ```
//! Otherwise all rows of a key may be gone through for each row that asks for it, which is the square of them where all ask for the
//! same one. It pays where keys have many rows. `a <> b` holds for some `b` if it holds for the least or the greatest. The same is
//! true of NOT EXISTS: NULLs and keys without rows meet no comparison.

use super::column_set::ColumnSet;
use super::rewrite::{take, with_stack};
use super::statistics::{Estimator, group_count};
use crate::plan::{AggregateExpr, Columns, CompareOp, Expr, JoinKind, Plan};
use inlay_functions::registry::resolve_aggregate;
use inlay_kernels::resolve::ArgType;
use inlay_types::{LogicalType, Result};
use std::sync::Arc;

/// So many rows there must be for each key.
const ROWS_PER_KEY_MIN: f64 = 64.0;

/// Rewrites a whole plan.
pub fn run(plan: &mut Plan, columns: &mut Columns, estimator: &mut Estimator) -> Result<()> {
    for input in plan.inputs_mut() {
        with_stack(|| run(input, columns, estimator))?;
    }
    let Some(parts) = parts_of(plan) else { return Ok(()) };
    let Plan::Join { right, conditions, .. } = plan else { return Ok(()) };
    let below = estimator.relation(right);
    let rows = below.rows;
    if rows < ROWS_PER_KEY_MIN * group_count(parts.keys.iter().map(|(_, _, key)| key), &below) {
        return Ok(());
    }
    let (outer, op, value) = parts.compared;
    let mut functions = Vec::new();
    for name in bounds_of(op) {
        let function = resolve_aggregate(name, &[ArgType::of(value.ty())])?;
        if function.arg_types != [value.ty()] || function.return_type != value.ty() {
            return Ok(());
        }
        functions.push((*name, function));
    }
    let mut made = Vec::with_capacity(conditions.len());
    let mut groups = Vec::with_capacity(parts.keys.len());
    for (outer, op, key) in parts.keys {
        let id = columns.add("key", key.ty());
        groups.push((id, key));
        made.push(Expr::compare(op, outer, columns.expr(id)));
    }
    let (mut aggregates, mut compared) = (Vec::new(), Vec::new());
    for (name, function) in functions {
        let bound = columns.add(name, value.ty());
        compared.push(Expr::compare(op, outer.clone(), columns.expr(bound)));
        let (function, args) = (Arc::new(function), vec![value.clone()]);
        aggregates.push((
            bound,
            AggregateExpr { function, args, distinct: false, filter: None, order_by: Vec::new() },
        ));
    }
    made.push(if compared.len() == 1 { compared.swap_remove(0) } else { Expr::Or(compared) });
    **right = Plan::Aggregate { input: Box::new(take(right)), groups, aggregates };
    *conditions = made;
    Ok(())
}

/// A condition: what is asked, by the left side, the operator, and the right side.
type Condition = (Expr, CompareOp, Expr);

struct Parts {
    keys: Vec<Condition>,
    compared: Condition,
}

/// The aggregates that answer whether a value is so to any.
fn bounds_of(op: CompareOp) -> &'static [&'static str] {
    match op {
        CompareOp::Lt | CompareOp::LtEq => &["max"],
        CompareOp::Gt | CompareOp::GtEq => &["min"],
        CompareOp::NotEq => &["min", "max"],
        CompareOp::Eq | CompareOp::Distinct | CompareOp::NotDistinct => &[],
    }
}

/// The conditions of a semi or anti join with some keys and one comparison.
fn parts_of(plan: &Plan) -> Option<Parts> {
    let Plan::Join { kind: JoinKind::Semi | JoinKind::Anti, left, right, conditions, .. } = plan else {
        return None;
    };
    let set_of = |plan: &Plan| {
        let mut set = ColumnSet::new();
        for id in plan.output() {
            set.insert(id);
        }
        set
    };
    let (of_left, of_right) = (set_of(left), set_of(right));
    let (mut keys, mut compared) = (Vec::new(), None);
    for condition in conditions {
        let Expr::Compare { op, left, right } = condition else { return None };
        let (first, second) = (ColumnSet::of(left), ColumnSet::of(right));
        let is_plain = |expr: &Expr| expr.is_deterministic() && !expr.calls_external();
        if !is_plain(left) || !is_plain(right) || first.is_empty() || second.is_empty() {
            return None;
        }
        let part = match () {
            () if first.is_subset(&of_left) && second.is_subset(&of_right) => {
                ((**left).clone(), *op, (**right).clone())
            }
            () if first.is_subset(&of_right) && second.is_subset(&of_left) => {
                ((**right).clone(), op.flipped(), (**left).clone())
            }
            () => return None,
        };
        match part.1 {
            CompareOp::Eq | CompareOp::NotDistinct => keys.push(part),
            op if compared.is_none() && !bounds_of(op).is_empty() && has_plain_order(&part.2.ty()) => {
                compared = Some(part);
            }
            CompareOp::Lt | CompareOp::LtEq | CompareOp::Gt | CompareOp::GtEq => return None,
            CompareOp::NotEq | CompareOp::Distinct => return None,
        }
    }
    Some(Parts { keys, compared: compared? })
}

/// Whether comparisons and aggregates of a type have the same order, whatever the collation.
fn has_plain_order(ty: &LogicalType) -> bool {
    ty.is_numeric() || matches!(ty, LogicalType::Date | LogicalType::Time | LogicalType::Timestamp)
}

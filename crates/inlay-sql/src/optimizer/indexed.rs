//! Filters by expressions that an index is on: the index's column of the scan stands for the expression.
//!
//! An expression index's column has the value for every row, so it replaces the expression wherever a filter has it. That
//! of a partial index has it where the index's condition is TRUE; if the filters imply that, each comparison of
//! the expression with constants is said of the column, too, by which the scan finds the index.
//!
//! Called by `filter_pushdown` for each scan, while the scan still has all columns.

use super::column_set::ColumnSet;
use super::rewrite::conjuncts_of;
use super::simplify;
use crate::plan::{Columns, CompareOp, Expr, IndexedColumn};
use inlay_types::Value;
use std::cmp::Ordering;
use std::sync::Arc;

/// The indexed columns of a query, their expressions in the form that filters have.
pub fn simplified(columns: &Columns) -> Vec<IndexedColumn> {
    let simplified = |indexed: &IndexedColumn| IndexedColumn {
        expr: simplify::expression(indexed.expr.clone()),
        condition: indexed.condition.clone().map(simplify::expression),
        ..indexed.clone()
    };
    columns.indexed().iter().map(simplified).collect()
}

/// Makes filters of the scan with the columns `own` say what they say of indexed columns.
pub fn use_columns(indexed: &[IndexedColumn], own: &ColumnSet, predicates: &mut Vec<Expr>) {
    for one in indexed.iter().filter(|one| own.contains(one.id) && ColumnSet::of(&one.expr).is_subset(own)) {
        let column = Expr::Column { id: one.id, ty: one.ty.clone() };
        match &one.condition {
            // A column alone, or a constant, is read as fast itself.
            None if matches!(one.expr, Expr::Column { .. }) || one.expr.columns().is_empty() => {}
            None => predicates.iter_mut().for_each(|predicate| replace(predicate, &one.expr, &column)),
            Some(condition) => {
                let needed = conjuncts_of(vec![condition.clone()]);
                if needed.iter().all(|needed| predicates.iter().any(|known| implies(known, needed))) {
                    let more: Vec<Expr> =
                        predicates.iter().filter_map(|known| said_of(known, &one.expr, &column)).collect();
                    let new = more.into_iter().filter(|more| !predicates.contains(more)).collect::<Vec<_>>();
                    predicates.extend(new);
                }
            }
        }
    }
}

/// Whether a condition is TRUE wherever another one is, as far as can be told.
pub fn follows(needed: Expr, known: Expr) -> bool {
    let known = conjuncts_of(vec![simplify::expression(known)]);
    let needed = conjuncts_of(vec![simplify::expression(needed)]);
    needed.iter().all(|needed| known.iter().any(|known| implies(known, needed)))
}

/// Puts `column` for `expr` everywhere.
fn replace(within: &mut Expr, expr: &Expr, column: &Expr) {
    if within == expr {
        *within = column.clone();
        return;
    }
    within.children_mut().into_iter().for_each(|child| replace(child, expr, column));
}

/// A comparison of `expr` with constants, as one of `column`.
fn said_of(predicate: &Expr, expr: &Expr, column: &Expr) -> Option<Expr> {
    let is_constant = |other: &Expr| matches!(other, Expr::Literal { .. });
    match predicate {
        Expr::Compare { op, left, right } if **left == *expr && is_constant(right) && is_strict(*op) => {
            Some(Expr::Compare { op: *op, left: Box::new(column.clone()), right: right.clone() })
        }
        Expr::InList { input, list } if **input == *expr && list.iter().all(is_constant) => {
            Some(Expr::InList { input: Box::new(column.clone()), list: list.clone() })
        }
        Expr::InConstants { input, list } if **input == *expr => {
            Some(Expr::InConstants { input: Box::new(column.clone()), list: Arc::clone(list) })
        }
        _ => None,
    }
}

fn is_strict(op: CompareOp) -> bool {
    !matches!(op, CompareOp::Distinct | CompareOp::NotDistinct)
}

/// Whether `needed` is TRUE wherever `known` is.
fn implies(known: &Expr, needed: &Expr) -> bool {
    if known == needed {
        return true;
    }
    match (known, needed) {
        (known, Expr::Not(inner)) => match &**inner {
            Expr::IsNull(tested) => rejects_null(known, tested),
            _ => false,
        },
        (
            Expr::Compare { op, left, right },
            Expr::Compare { op: needed_op, left: needed_left, right: needed_right },
        ) if left == needed_left => match (&**right, &**needed_right) {
            (Expr::Literal { value, .. }, Expr::Literal { value: needed, .. }) => {
                bound_implies(*op, value, *needed_op, needed)
            }
            _ => false,
        },
        (Expr::InList { input, list }, Expr::Compare { op, left, right }) if input == left => {
            let Expr::Literal { value: needed, .. } = &**right else { return false };
            list.iter().all(|item| match item {
                Expr::Literal { value, .. } => bound_implies(CompareOp::Eq, value, *op, needed),
                _ => false,
            })
        }
        (Expr::InConstants { input, list }, Expr::Compare { op, left, right }) if input == left => {
            let Expr::Literal { value: needed, .. } = &**right else { return false };
            list.iter().all(|value| bound_implies(CompareOp::Eq, &value, *op, needed))
        }
        _ => false,
    }
}

/// Whether a predicate is not TRUE where an expression is NULL.
fn rejects_null(predicate: &Expr, tested: &Expr) -> bool {
    match predicate {
        Expr::Compare { op, left, right } => is_strict(*op) && (**left == *tested || **right == *tested),
        Expr::InList { input, .. } | Expr::InConstants { input, .. } => **input == *tested,
        _ => false,
    }
}

/// Whether `x op value` implies `x needed_op needed`.
fn bound_implies(op: CompareOp, value: &Value, needed_op: CompareOp, needed: &Value) -> bool {
    use CompareOp::{Eq, Gt, GtEq, Lt, LtEq, NotEq};
    if value.is_null() || needed.is_null() || value.logical_type() != needed.logical_type() {
        return false;
    }
    let order = value.total_cmp(needed);
    match (op, needed_op) {
        (Eq, Eq) => order == Ordering::Equal,
        (Eq, NotEq) => order != Ordering::Equal,
        (Eq | Gt | GtEq, Gt) => order == Ordering::Greater || op == Gt && order == Ordering::Equal,
        (Eq | Gt | GtEq, GtEq) => order != Ordering::Less,
        (Eq | Lt | LtEq, Lt) => order == Ordering::Less || op == Lt && order == Ordering::Equal,
        (Eq | Lt | LtEq, LtEq) => order != Ordering::Greater,
        (Gt, NotEq) => order != Ordering::Less,
        (Lt, NotEq) => order != Ordering::Greater,
        (GtEq, NotEq) => order == Ordering::Greater,
        (LtEq, NotEq) => order == Ordering::Less,
        _ => false,
    }
}

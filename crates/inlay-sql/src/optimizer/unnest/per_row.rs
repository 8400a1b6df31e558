//! A volatile right input that reads columns of the left one: it is computed for each left row, also for equal ones.
//!
//! `SELECT (SELECT random() + r) FROM t` is a projection of `t`. For what is more than projections and filters of one row,
//! the left rows are numbered, and the number is part of the domain: whatever is volatile is computed above the join with it
//! ([`push_down`]). The other ways compute the right input once per distinct value of the outer columns, or once for all.

use super::super::column_set::ColumnSet;
use super::{flatten, push_down};
use crate::plan::{Columns, Expr, JoinKind, Plan, WindowExpr};
use inlay_types::Result;

/// Unnests a dependent join whose right input is volatile.
pub(super) fn run(
    kind: JoinKind,
    left: Plan,
    right: Plan,
    conditions: Vec<Expr>,
    columns: &mut Columns,
) -> Result<Plan> {
    if fits(kind, &right, &conditions) {
        return Ok(stacked(left, right, conditions, columns));
    }
    let number = columns.add("row_number", inlay_types::LogicalType::BigInt);
    let left = Plan::Window { input: Box::new(left), windows: vec![(number, WindowExpr::row_number()?)] };
    push_down::run(kind, left, right, conditions, Some(number), columns)
}

/// Whether the right input is one row, which projections compute from the left row, and filters keep or not.
fn fits(kind: JoinKind, right: &Plan, conditions: &[Expr]) -> bool {
    fn is_one_row(plan: &Plan, may_filter: bool) -> bool {
        match plan {
            Plan::Values { columns, rows } => columns.is_empty() && rows.len() == 1,
            Plan::Filter { input, .. } => may_filter && is_one_row(input, may_filter),
            Plan::Project { input, .. } => is_one_row(input, may_filter),
            _ => false,
        }
    }
    match kind {
        JoinKind::Inner => is_one_row(right, true),
        JoinKind::Left | JoinKind::Single => conditions.is_empty() && is_one_row(right, false),
        JoinKind::Full | JoinKind::Semi | JoinKind::Anti | JoinKind::Mark(_) => false,
    }
}

fn stacked(left: Plan, right: Plan, conditions: Vec<Expr>, columns: &Columns) -> Plan {
    let kept: ColumnSet = left.output().into_iter().collect();
    let mut above = Vec::new();
    let mut rest = right;
    loop {
        match rest {
            Plan::Filter { input, predicates } => {
                above.push(flatten::Above::Filter(predicates));
                rest = *input;
            }
            Plan::Project { input, items } => {
                above.push(flatten::Above::Project(items));
                rest = *input;
            }
            _ => return flatten::rebuild(left, above, &kept, columns).filter(conditions),
        }
    }
}

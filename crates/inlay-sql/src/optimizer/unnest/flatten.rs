//! The short way for lists of outer columns: a right input that is nothing but [`Plan::Unnest`] over one row, with filters
//! and projections above it, goes through the lists of each left row right there. No domain, no join.

use super::super::column_set::ColumnSet;
use super::super::rewrite::pass_all;
use crate::plan::{ColumnId, Columns, Expr, JoinKind, Plan};

/// What stands above the lists, from the lists upwards.
pub(super) enum Above {
    Filter(Vec<Expr>),
    Project(Vec<(ColumnId, Expr)>),
}

/// The join as a plan, or its inputs again.
#[expect(clippy::result_large_err, reason = "the inputs move in and out")]
pub(super) fn run(
    kind: JoinKind,
    left: Plan,
    right: Plan,
    conditions: Vec<Expr>,
    columns: &Columns,
) -> Result<Plan, (Plan, Plan, Vec<Expr>)> {
    let keep_empty = match kind {
        JoinKind::Inner => false,
        JoinKind::Left if conditions.is_empty() => true,
        _ => return Err((left, right, conditions)),
    };
    if !fits(&right, keep_empty) {
        return Err((left, right, conditions));
    }
    let mut above = Vec::new();
    let mut rest = right;
    loop {
        match rest {
            Plan::Filter { input, predicates } => {
                above.push(Above::Filter(predicates));
                rest = *input;
            }
            Plan::Project { input, items } => {
                above.push(Above::Project(items));
                rest = *input;
            }
            Plan::Unnest { lists, ordinality, .. } => {
                let input = Box::new(left);
                let kept: ColumnSet = input.output().into_iter().collect();
                let plan = Plan::Unnest { input, lists, ordinality, keep_empty };
                return Ok(rebuild(plan, above, &kept, columns).filter(conditions));
            }
            // `fits` lets nothing else pass; if it did, the join stays as it was.
            other => {
                let right = above.into_iter().rev().fold(other, |plan, step| match step {
                    Above::Filter(predicates) => plan.filter(predicates),
                    Above::Project(items) => plan.project(items),
                });
                return Err((left, right, conditions));
            }
        }
    }
}

pub(super) fn rebuild(plan: Plan, above: Vec<Above>, kept: &ColumnSet, columns: &Columns) -> Plan {
    above.into_iter().rev().fold(plan, |plan, step| match step {
        Above::Filter(predicates) => plan.filter(predicates),
        Above::Project(made) => {
            let mut items = pass_all(columns, &plan);
            items.retain(|(id, _)| kept.contains(*id) && !made.iter().any(|(other, _)| other == id));
            items.extend(made);
            plan.project(items)
        }
    })
}

/// Whether the plan is lists over one row. Above a left join's lists a row without elements must stay what it is: all NULL.
fn fits(plan: &Plan, keep_empty: bool) -> bool {
    match plan {
        Plan::Unnest { input, keep_empty: false, .. } => {
            matches!(&**input, Plan::Values { columns, rows } if columns.is_empty() && rows.len() == 1)
        }
        Plan::Filter { input, .. } => !keep_empty && fits(input, keep_empty),
        Plan::Project { input, items } => {
            let deterministic = items.iter().all(|(_, e)| e.is_deterministic());
            let null_stays = |expr: &Expr| is_null_of_nulls(expr, &input.output().into_iter().collect());
            deterministic
                && (!keep_empty || items.iter().all(|(_, e)| null_stays(e)))
                && fits(input, keep_empty)
        }
        _ => false,
    }
}

/// Whether an expression is a column of `own`, or a field of one: NULL where these are.
fn is_null_of_nulls(expr: &Expr, own: &ColumnSet) -> bool {
    match expr {
        Expr::Column { id, .. } => own.contains(*id),
        Expr::Call { function, args, .. } => {
            function.name == "struct_extract" && args.first().is_some_and(|arg| is_null_of_nulls(arg, own))
        }
        _ => false,
    }
}

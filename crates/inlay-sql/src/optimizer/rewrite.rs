//! Mechanics of changing plans: taking operators out, renaming columns, copying a plan under new ids.

use super::properties::is_pass_through;
use crate::plan::{ColumnId, Columns, Expr, JoinKind, Plan, SharedId};
use inlay_types::{Error, Result, Value};
use std::collections::HashMap;

/// Takes a plan out of its place, to be put back changed.
pub fn take(plan: &mut Plan) -> Plan {
    std::mem::replace(plan, Plan::Values { columns: Vec::new(), rows: Vec::new() })
}

/// A pass took a plan of another shape than it had chosen.
pub fn not_chosen(pass: &str) -> Error {
    Error::internal(format!("the optimizer's {pass} took a plan of another shape than it had chosen"))
}

/// Applies `f` to each input of `plan`.
pub fn map_inputs(mut plan: Plan, f: &mut dyn FnMut(Plan) -> Result<Plan>) -> Result<Plan> {
    for input in plan.inputs_mut() {
        *input = f(take(input))?;
    }
    Ok(plan)
}

/// Runs a recursive step on a stack that is large enough for any depth that the parser lets through.
pub fn with_stack<T>(step: impl FnOnce() -> T) -> T {
    // Frames of unoptimised builds are several times as large.
    let factor = if cfg!(debug_assertions) { 8 } else { 1 };
    stacker::maybe_grow(factor * 96 * 1024, factor * 1024 * 1024, step)
}

/// Adds the conjuncts of `expr` to `out`.
pub fn split_conjuncts(expr: Expr, out: &mut Vec<Expr>) {
    match expr {
        Expr::And(parts) => parts.into_iter().for_each(|part| split_conjuncts(part, out)),
        Expr::Literal { value: Value::Boolean(true), .. } => {}
        other => out.push(other),
    }
}

/// The conjuncts of a list of predicates.
pub fn conjuncts_of(predicates: Vec<Expr>) -> Vec<Expr> {
    let mut all = Vec::with_capacity(predicates.len());
    predicates.into_iter().for_each(|p| split_conjuncts(p, &mut all));
    all
}

/// No rows, with the given columns.
pub fn empty_relation(columns: Vec<ColumnId>) -> Plan {
    Plan::Values { columns, rows: Vec::new() }
}

/// Whether a plan is known to have no rows.
pub fn is_empty_relation(plan: &Plan) -> bool {
    matches!(plan, Plan::Values { rows, .. } if rows.is_empty())
}

/// A projection item that hands on a column.
pub fn pass_through(columns: &Columns, id: ColumnId) -> (ColumnId, Expr) {
    (id, columns.expr(id))
}

/// Projection items that hand on the output of a plan.
pub fn pass_all(columns: &Columns, plan: &Plan) -> Vec<(ColumnId, Expr)> {
    plan.output().into_iter().map(|id| pass_through(columns, id)).collect()
}

/// Renames columns in an expression.
pub fn rename_expr(expr: &mut Expr, map: &HashMap<ColumnId, ColumnId>) {
    if let Expr::Column { id, .. } = expr {
        if let Some(new) = map.get(id) {
            *id = *new;
        }
        return;
    }
    expr.children_mut().into_iter().for_each(|child| rename_expr(child, map));
}

/// Renames columns everywhere in a plan, where they are made and where they are read.
pub fn rename_columns(plan: &mut Plan, map: &HashMap<ColumnId, ColumnId>) {
    if map.is_empty() {
        return;
    }
    let new = |id: &mut ColumnId| {
        if let Some(to) = map.get(id) {
            *id = *to;
        }
    };
    match plan {
        Plan::Scan { columns, fields, row_id, .. } => {
            columns.iter_mut().for_each(|c| new(&mut c.id));
            fields.iter_mut().for_each(|f| new(&mut f.id));
            row_id.iter_mut().for_each(new);
        }
        Plan::Source { columns, .. } => columns.iter_mut().for_each(|c| new(&mut c.id)),
        Plan::Values { columns, .. } => columns.iter_mut().for_each(new),
        Plan::Project { items, .. } => items.iter_mut().for_each(|(id, _)| new(id)),
        Plan::Aggregate { groups, aggregates, .. } => {
            groups.iter_mut().for_each(|(id, _)| new(id));
            aggregates.iter_mut().for_each(|(id, _)| new(id));
        }
        Plan::TableCall { columns, ordinality, .. } => {
            columns.iter_mut().chain(ordinality).for_each(new);
        }
        Plan::Unnest { lists, ordinality, .. } => {
            lists.iter_mut().map(|(id, _)| id).chain(ordinality).for_each(new);
        }
        Plan::Window { windows, .. } => windows.iter_mut().for_each(|(id, _)| new(id)),
        Plan::Join { kind: JoinKind::Mark(mark), .. }
        | Plan::DependentJoin { kind: JoinKind::Mark(mark), .. } => {
            new(mark);
        }
        Plan::SetOp { left_columns, right_columns, columns, .. } => {
            left_columns.iter_mut().chain(right_columns).chain(columns).for_each(new);
        }
        Plan::LimitBy { by, .. } => by.limit.iter_mut().chain(&mut by.offset).for_each(new),
        Plan::Recursive { initial_columns, step_columns, columns, .. } => {
            initial_columns.iter_mut().chain(step_columns).chain(columns).for_each(new);
        }
        Plan::SharedScan { columns, .. } => columns.iter_mut().for_each(|(id, from)| {
            new(id);
            new(from);
        }),
        Plan::Filter { .. }
        | Plan::Join { .. }
        | Plan::DependentJoin { .. }
        | Plan::OrderedJoin { .. }
        | Plan::Sort { .. }
        | Plan::Limit { .. }
        | Plan::GroupLimit { .. }
        | Plan::Sample { .. }
        | Plan::With { .. } => {}
    }
    plan.expressions_mut().into_iter().for_each(|expr| rename_expr(expr, map));
    plan.inputs_mut().into_iter().for_each(|input| rename_columns(input, map));
}

/// Gives every column and shared plan that `plan` makes a new identity. Returns old column to new.
pub fn refresh(plan: &mut Plan, columns: &mut Columns) -> HashMap<ColumnId, ColumnId> {
    let made = super::properties::made_columns(plan);
    let map: HashMap<ColumnId, ColumnId> = made.iter().map(|id| (id, columns.copy_of(id))).collect();
    rename_columns(plan, &map);
    refresh_shared(plan, columns);
    map
}

fn refresh_shared(plan: &mut Plan, columns: &mut Columns) {
    if let Plan::With { id, body, .. } | Plan::Recursive { id, step: body, .. } = plan {
        let new = columns.add_shared();
        rename_shared(body, *id, new);
        *id = new;
    }
    if let Plan::Recursive { keyed: Some(keyed), step, .. } = plan {
        let new = columns.add_shared();
        rename_shared(step, keyed.recurring, new);
        keyed.recurring = new;
    }
    plan.inputs_mut().into_iter().for_each(|input| refresh_shared(input, columns));
}

/// Makes every scan of one shared plan a scan of another.
pub fn rename_shared(plan: &mut Plan, from: SharedId, to: SharedId) {
    if let Plan::SharedScan { id, .. } = plan
        && *id == from
    {
        *id = to;
    }
    plan.inputs_mut().into_iter().for_each(|input| rename_shared(input, from, to));
}

/// Whether any operator of a plan satisfies `test`.
pub fn any_node(plan: &Plan, test: &mut dyn FnMut(&Plan) -> bool) -> bool {
    test(plan) || plan.inputs().into_iter().any(|input| any_node(input, test))
}

/// Takes out projections that only hand on columns, and merges projections that follow each other.
pub fn merge_projections(mut plan: Plan) -> Plan {
    for input in plan.inputs_mut() {
        *input = merge_projections(take(input));
    }
    match plan {
        Plan::Project { input, items } if items.iter().all(|(id, e)| is_pass_through(*id, e)) => {
            let _ = items;
            *input
        }
        Plan::Project { input, mut items } => {
            if let Plan::Project { input: below, items: inner } = *input {
                if let Some(map) = inlined_items(&items, &inner) {
                    items.iter_mut().for_each(|(_, e)| e.substitute(&map));
                    return merge_projections(Plan::Project { input: below, items });
                }
                return Plan::Project {
                    input: Box::new(Plan::Project { input: below, items: inner }),
                    items,
                };
            }
            Plan::Project { input, items }
        }
        other => other,
    }
}

/// The lower items by column, if computing them in the upper projection repeats no work and changes no result.
fn inlined_items(upper: &[(ColumnId, Expr)], lower: &[(ColumnId, Expr)]) -> Option<HashMap<ColumnId, Expr>> {
    let mut reads = Vec::new();
    upper.iter().for_each(|(_, e)| e.collect_columns(&mut reads));
    let fits = |(id, expr): &(ColumnId, Expr)| match expr {
        Expr::Column { .. } | Expr::Literal { .. } => true,
        other => reads.iter().filter(|r| *r == id).count() <= 1 && other.is_deterministic(),
    };
    lower.iter().all(fits).then(|| lower.iter().cloned().collect())
}

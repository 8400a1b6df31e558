//! Projection pruning: no operator makes a column that nothing above it reads.
//!
//! On the way down, joins that add nothing go too: a left join to a key whose columns nobody reads, a mark nobody
//! reads. What is volatile stays: somebody may count how often it is computed. Afterwards projections that only hand on columns are gone and neighbours are merged.

use super::column_set::ColumnSet;
use super::properties::{is_matched_once, keys, read_columns};
use super::rewrite::{merge_projections, take, with_stack};
use crate::plan::{ColumnId, Expr, JoinKind, Plan, SetOpKind, SharedId};
use std::collections::HashMap;

/// Prunes a plan of which the columns `output` are delivered.
pub fn run(mut plan: Plan, output: impl Iterator<Item = ColumnId>) -> Plan {
    let required: ColumnSet = output.collect();
    prune(&mut plan, &required, &mut HashMap::new());
    merge_projections(plan)
}

fn with_expressions(plan: &Plan, required: &ColumnSet) -> ColumnSet {
    let mut all = required.clone();
    plan.expressions().into_iter().for_each(|e| all.add_expr(e));
    all
}

fn prune(plan: &mut Plan, required: &ColumnSet, shared: &mut HashMap<SharedId, ColumnSet>) {
    with_stack(|| prune_operator(plan, required, shared));
}

fn prune_operator(plan: &mut Plan, required: &ColumnSet, shared: &mut HashMap<SharedId, ColumnSet>) {
    if let Some(kept) = without_useless_join(plan, required) {
        *plan = kept;
        return prune(plan, required, shared);
    }
    match plan {
        Plan::Scan { columns, fields, filters, row_id, .. } => {
            let mut needed = required.clone();
            filters.iter().for_each(|f| needed.add_expr(f));
            columns.retain(|c| needed.contains(c.id) || c.full_at.is_some());
            fields.retain(|f| needed.contains(f.id));
            *row_id = row_id.filter(|id| required.contains(*id));
        }
        Plan::Source { columns, filters, .. } => {
            let mut needed = required.clone();
            filters.iter().for_each(|f| needed.add_expr(f));
            columns.retain(|c| needed.contains(c.id));
        }
        Plan::Values { columns, rows } => {
            if columns.iter().all(|id| required.contains(*id)) {
                return;
            }
            let is_kept = |(index, id): (usize, &ColumnId)| {
                required.contains(*id) || rows.iter().any(|row| row.get(index).is_some_and(Expr::is_volatile))
            };
            let keep: Vec<bool> = columns.iter().enumerate().map(is_kept).collect();
            let mut kept = keep.iter();
            columns.retain(|_| *kept.next().unwrap_or(&true));
            for row in rows {
                let mut kept = keep.iter();
                row.retain(|_| *kept.next().unwrap_or(&true));
            }
        }
        Plan::Project { input, items } => {
            items.retain(|(id, expr)| required.contains(*id) || expr.is_volatile());
            let mut needed = ColumnSet::new();
            items.iter().for_each(|(_, e)| needed.add_expr(e));
            prune(input, &needed, shared);
        }
        Plan::Aggregate { input, aggregates, groups } => {
            aggregates.retain(|(id, aggregate)| required.contains(*id) || aggregate.is_volatile());
            if aggregates.is_empty() && groups.is_empty() && !input.is_volatile() {
                *plan = Plan::single_row();
                return;
            }
            let needed = with_expressions(plan, &ColumnSet::new());
            plan.inputs_mut().into_iter().for_each(|input| prune(input, &needed, shared));
        }
        Plan::TableCall { ordinality, .. } => {
            *ordinality = ordinality.filter(|id| required.contains(*id));
            let needed = with_expressions(plan, &ColumnSet::new());
            plan.inputs_mut().into_iter().for_each(|input| prune(input, &needed, shared));
        }
        Plan::Unnest { ordinality, .. } => {
            *ordinality = ordinality.filter(|id| required.contains(*id));
            let needed = with_expressions(plan, required);
            plan.inputs_mut().into_iter().for_each(|input| prune(input, &needed, shared));
        }
        Plan::Window { input, windows } => {
            windows.retain(|(id, window)| required.contains(*id) || window.is_volatile());
            if windows.is_empty() {
                *plan = take(input);
                return prune(plan, required, shared);
            }
            let needed = with_expressions(plan, required);
            plan.inputs_mut().into_iter().for_each(|input| prune(input, &needed, shared));
        }
        Plan::SetOp { kind, all, left, right, left_columns, right_columns, columns } => {
            if *kind == SetOpKind::Union && *all {
                let any = columns.iter().any(|id| required.contains(*id));
                let mut keep: Vec<bool> = columns.iter().map(|id| required.contains(*id)).collect();
                if let (false, Some(first)) = (any, keep.first_mut()) {
                    *first = true;
                }
                for list in [left_columns as &mut Vec<ColumnId>, right_columns, columns] {
                    let mut kept = keep.iter();
                    list.retain(|_| *kept.next().unwrap_or(&true));
                }
            }
            prune(left, &left_columns.iter().collect(), shared);
            prune(right, &right_columns.iter().collect(), shared);
        }
        Plan::With { id, definition, body } => {
            prune(body, required, shared);
            match shared.remove(id) {
                Some(needed) => prune(definition, &needed, shared),
                None => *plan = take(body),
            }
        }
        Plan::LimitBy { input, counts, by } => {
            prune(input, required, shared);
            prune(counts, &by.limit.iter().chain(&by.offset).collect(), shared);
        }
        Plan::Recursive { id, keyed, initial, step, initial_columns, step_columns, .. } => {
            prune(initial, &initial_columns.iter().collect(), shared);
            prune(step, &step_columns.iter().collect(), shared);
            shared.remove(id);
            if let Some(keyed) = keyed {
                shared.remove(&keyed.recurring);
            }
        }
        Plan::SharedScan { id, columns } => {
            columns.retain(|(new, _)| required.contains(*new));
            let needed = shared.entry(*id).or_default();
            columns.iter().for_each(|(_, from)| {
                needed.insert(*from);
            });
        }
        Plan::DependentJoin { right, .. } => {
            let mut needed = required.clone();
            needed.union_with(&read_columns(right));
            let needed = with_expressions(plan, &needed);
            plan.inputs_mut().into_iter().for_each(|input| prune(input, &needed, shared));
        }
        Plan::Filter { .. }
        | Plan::Join { .. }
        | Plan::OrderedJoin { .. }
        | Plan::Sort { .. }
        | Plan::Limit { .. }
        | Plan::Sample { .. }
        | Plan::GroupLimit { .. } => {
            let needed = with_expressions(plan, required);
            plan.inputs_mut().into_iter().for_each(|input| prune(input, &needed, shared));
        }
    }
}

/// The left input of a join that neither adds a column that is read nor changes the number of rows.
fn without_useless_join(plan: &mut Plan, required: &ColumnSet) -> Option<Plan> {
    let Plan::Join { kind, left, right, conditions, .. } = plan else { return None };
    let is_useless = match kind {
        JoinKind::Mark(mark) => !required.contains(*mark),
        JoinKind::Left => {
            !right.output().iter().any(|id| required.contains(*id))
                && is_matched_once(left, right, &keys(right), conditions)
        }
        JoinKind::Inner | JoinKind::Full | JoinKind::Semi | JoinKind::Anti | JoinKind::Single => false,
    };
    (is_useless && !right.is_volatile()).then(|| take(left))
}

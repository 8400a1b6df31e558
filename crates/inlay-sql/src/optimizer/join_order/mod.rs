//! Join ordering: the cheapest tree for each group of joins, and the side that each join builds on.
//!
//! A group is a maximal tree of inner joins together with the outer, semi, anti, mark and single joins on it. Its leaves
//! become relations of a [`graph::Graph`]: base relations, which are joined in any order, and attached ones (the right
//! inputs of the other joins), which can be joined as soon as the relations that their conditions read are there;
//! such joins commute with all others of the group. Projections between joins are moved above the group.
//! [`enumerate`] finds the best tree, and [`build`] makes it.
//!
//! Hash joins store their right input, so inner joins put the smaller side there; the other kinds say `build_left`.

mod build;
mod enumerate;
mod graph;

use super::column_set::ColumnSet;
use super::properties::can_fail;
use super::rewrite::{map_inputs, not_chosen, with_stack};
use super::statistics::Estimator;
use crate::plan::{ColumnId, Columns, Expr, JoinKind, Plan};
use graph::Graph;
use inlay_types::Result;
use std::collections::HashMap;

/// Orders all joins of `plan`.
pub fn run(plan: Plan, columns: &Columns, estimator: &mut Estimator) -> Result<Plan> {
    with_stack(|| order(plan, columns, estimator))
}

fn order(plan: Plan, columns: &Columns, estimator: &mut Estimator) -> Result<Plan> {
    match plan {
        Plan::Join { kind, .. } if kind != JoinKind::Full => order_group(plan, columns, estimator),
        Plan::Filter { .. } if starts_group(&plan) => order_group(plan, columns, estimator),
        Plan::With { id, definition, body } => {
            let definition = Box::new(run(*definition, columns, estimator)?);
            let shared = estimator.relation(&definition);
            estimator.shared.insert(id, shared);
            let body = Box::new(run(*body, columns, estimator)?);
            Ok(Plan::With { id, definition, body })
        }
        Plan::Recursive { .. } => {
            let mut is_first = true;
            let shape = plan.clone();
            map_inputs(plan, &mut |input| {
                let input = run(input, columns, estimator)?;
                if std::mem::take(&mut is_first) {
                    let first = estimator.relation(&input);
                    estimator.note_shared(&shape, &first);
                }
                Ok(input)
            })
        }
        Plan::Join { kind: JoinKind::Full, left, right, conditions, .. } => {
            let left = run(*left, columns, estimator)?;
            let right = run(*right, columns, estimator)?;
            let build_left = estimator.relation(&left).rows < estimator.relation(&right).rows;
            let (left, right) = (Box::new(left), Box::new(right));
            Ok(Plan::Join { kind: JoinKind::Full, left, right, conditions, build_left })
        }
        other => map_inputs(other, &mut |input| run(input, columns, estimator)),
    }
}

/// Whether a plan is part of a group. A volatile filter ends one: it counts the rows that reach it.
fn starts_group(plan: &Plan) -> bool {
    match plan {
        Plan::Join { kind, .. } => *kind != JoinKind::Full,
        Plan::Filter { input, predicates } => {
            !predicates.iter().any(Expr::is_volatile) && starts_group(input)
        }
        Plan::Project { input, items } => is_movable(items) && starts_group(input),
        _ => false,
    }
}

/// Whether a projection may be computed above the joins instead of below.
fn is_movable(items: &[(ColumnId, Expr)]) -> bool {
    items.iter().all(|(_, e)| e.is_deterministic() && !can_fail(e))
}

/// The leaves and conditions of a group as they are found.
#[derive(Default)]
struct Group {
    graph: Graph,
    /// Items of projections that were moved above the group.
    computed: HashMap<ColumnId, Expr>,
}

fn order_group(plan: Plan, columns: &Columns, estimator: &mut Estimator) -> Result<Plan> {
    let output = plan.output();
    let mut group = Group::default();
    collect(plan, &mut group, columns, estimator)?;
    let Group { mut graph, computed } = group;
    if !computed.is_empty() {
        graph.expressions_mut().for_each(|e| resolve(e, &computed));
    }
    let joined = build::best_tree(graph, columns, estimator)?;
    if computed.is_empty() {
        return Ok(joined);
    }
    let items = output
        .into_iter()
        .map(|id| match computed.get(&id) {
            Some(expr) => {
                let mut expr = expr.clone();
                resolve(&mut expr, &computed);
                (id, expr)
            }
            None => (id, columns.expr(id)),
        })
        .collect();
    Ok(joined.project(items))
}

/// Replaces columns of moved projections by what they compute, which may read those of other ones.
fn resolve(expr: &mut Expr, computed: &HashMap<ColumnId, Expr>) {
    while ColumnSet::of(expr).iter().any(|id| computed.contains_key(&id)) {
        expr.substitute(computed);
    }
}

fn collect(plan: Plan, group: &mut Group, columns: &Columns, estimator: &mut Estimator) -> Result<()> {
    match plan {
        Plan::Join { kind: JoinKind::Inner, left, right, conditions, .. } => {
            with_stack(|| collect(*left, group, columns, estimator))?;
            with_stack(|| collect(*right, group, columns, estimator))?;
            group.graph.conditions.extend(conditions);
        }
        Plan::Join { kind, left, right, conditions, .. } if kind != JoinKind::Full => {
            with_stack(|| collect(*left, group, columns, estimator))?;
            let right = run(*right, columns, estimator)?;
            let relation = estimator.relation(&right);
            group.graph.attach(kind, right, relation, conditions);
        }
        plan @ Plan::Filter { .. } if starts_group(&plan) => {
            let Plan::Filter { input, predicates } = plan else { return Err(not_chosen("join_order")) };
            with_stack(|| collect(*input, group, columns, estimator))?;
            group.graph.conditions.extend(predicates);
        }
        Plan::Project { input, items } if is_movable(&items) && starts_group(&input) => {
            with_stack(|| collect(*input, group, columns, estimator))?;
            let made = items.into_iter().filter(|(id, e)| !super::properties::is_pass_through(*id, e));
            group.computed.extend(made);
        }
        leaf => {
            let leaf = run(leaf, columns, estimator)?;
            let relation = estimator.relation(&leaf);
            group.graph.add(leaf, relation);
        }
    }
    Ok(())
}

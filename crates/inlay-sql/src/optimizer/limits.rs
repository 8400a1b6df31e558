//! Sorting and limits: ORDER BY with LIMIT becomes top-N, limits move down, orders that nothing depends on go.

use super::rewrite::{empty_relation, take, with_stack};
use crate::plan::{AggregateExpr, JoinKind, OrderedJoinKind, Plan, SetOpKind};

/// Rewrites a whole plan; the order of its own rows matters.
pub fn run(plan: &mut Plan) {
    rewrite(plan, true);
}

fn rewrite(plan: &mut Plan, order_matters: bool) {
    with_stack(|| rewrite_operator(plan, order_matters));
}

fn rewrite_operator(plan: &mut Plan, order_matters: bool) {
    match plan {
        Plan::Sort { input, limit: None, offset: 0, keys }
            if !order_matters && !keys.iter().any(|key| key.expr.is_volatile()) =>
        {
            *plan = take(input);
            return rewrite(plan, false);
        }
        Plan::Limit { .. } if !matches!(plan, Plan::Limit { input, .. } if matches!(**input, Plan::Limit { .. })) =>
        {
            *plan = push_limit(take(plan));
        }
        _ => {}
    }
    match plan {
        Plan::Limit { input, .. } | Plan::Filter { input, .. } | Plan::Project { input, .. } => {
            let keeps = order_matters || matches!(**input, Plan::Sort { .. }) && is_limit_over_sort(input);
            rewrite(input, keeps);
        }
        Plan::Sort { input, .. } | Plan::GroupLimit { input, .. } | Plan::Sample { input, .. } => {
            rewrite(input, false);
        }
        Plan::Unnest { input, .. } => rewrite(input, order_matters),
        // Rows that tie in a window's order are in the order of the input; functions may look at the order of theirs.
        Plan::Window { input, .. } | Plan::TableCall { input, .. } => rewrite(input, true),
        Plan::Aggregate { input, aggregates, .. } => {
            let ordered = aggregates.iter().any(|(_, a)| depends_on_order(a));
            rewrite(input, ordered);
        }
        Plan::With { definition, body, .. } => {
            rewrite(definition, false);
            rewrite(body, order_matters);
        }
        Plan::LimitBy { input, counts, .. } => {
            let keeps = order_matters || matches!(**input, Plan::Sort { .. });
            rewrite(input, keeps);
            rewrite(counts, false);
        }
        Plan::Recursive { initial: left, step: right, .. }
        | Plan::Join { left, right, .. }
        | Plan::DependentJoin { left, right, .. } => {
            rewrite(left, false);
            rewrite(right, false);
        }
        Plan::OrderedJoin { kind, left, right, .. } => {
            let by_order = *kind == OrderedJoinKind::Positional;
            rewrite(left, by_order);
            rewrite(right, by_order);
        }
        Plan::SetOp { left, right, all, kind, .. } => {
            let keeps = order_matters && *all && *kind == SetOpKind::Union;
            rewrite(left, keeps);
            rewrite(right, keeps);
        }
        Plan::Scan { .. } | Plan::Source { .. } | Plan::Values { .. } | Plan::SharedScan { .. } => {}
    }
}

/// Which rows a limit keeps depends on the order below it.
fn is_limit_over_sort(plan: &Plan) -> bool {
    matches!(plan, Plan::Sort { limit: Some(_), .. })
}

/// Whether the order of the rows decides about the value.
pub(super) fn depends_on_order(aggregate: &AggregateExpr) -> bool {
    aggregate.function.kind.is_order_sensitive() && aggregate.order_by.is_empty()
}

/// Moves a limit as far down as it goes.
fn push_limit(plan: Plan) -> Plan {
    let Plan::Limit { input, limit, offset } = plan else { return plan };
    match (*input, limit) {
        (input, Some(0)) => empty_relation(input.output()),
        (Plan::Project { input, items }, _) if items.iter().all(|(_, e)| e.is_deterministic()) => {
            let input = Box::new(push_limit(Plan::Limit { input, limit, offset }));
            Plan::Project { input, items }
        }
        (Plan::Sort { input, keys, limit: None, offset: 0 }, Some(_)) => {
            Plan::Sort { input, keys, limit, offset }
        }
        (
            Plan::SetOp {
                kind: SetOpKind::Union,
                all: true,
                left,
                right,
                left_columns,
                right_columns,
                columns,
            },
            Some(rows),
        ) => {
            let bound = Some(rows.saturating_add(offset));
            let side =
                |input: Box<Plan>| Box::new(push_limit(Plan::Limit { input, limit: bound, offset: 0 }));
            let (left, right) = (side(left), side(right));
            let input = Plan::SetOp {
                kind: SetOpKind::Union,
                all: true,
                left,
                right,
                left_columns,
                right_columns,
                columns,
            };
            Plan::Limit { input: Box::new(input), limit, offset }
        }
        // Each left row makes at least one row of a left join, and exactly one of a mark or single join.
        (Plan::Join { kind, left, right, conditions, build_left }, Some(rows))
            if matches!(kind, JoinKind::Left | JoinKind::Mark(_) | JoinKind::Single)
                && !matches!(*left, Plan::Limit { .. }) =>
        {
            let bound = Some(rows.saturating_add(offset));
            let left = Box::new(push_limit(Plan::Limit { input: left, limit: bound, offset: 0 }));
            let input = Box::new(Plan::Join { kind, left, right, conditions, build_left });
            Plan::Limit { input, limit, offset }
        }
        (input, limit) => Plan::Limit { input: Box::new(input), limit, offset },
    }
}

//! LIMIT over GROUP BY: which groups are answered does not matter, so some are chosen first and only their rows aggregated.
//!
//! ```text
//! Limit 10                              Limit 10
//!   Aggregate by x: count(*)      ->      Aggregate by x: count(*)
//!     scan                                  Semi Join on x = y
//!                                             scan
//!                                             Limit 10
//!                                               Distinct y
//!                                                 scan again
//! ```
//! The second scan stops as soon as there are ten groups, and the filter that the join makes of them keeps nearly all other rows
//! from being read. Where the input is more than a scan it would be computed twice, so nothing is changed there.

use super::rewrite::{refresh, rename_expr, take, with_stack};
use super::statistics::{Estimator, group_count};
use crate::plan::{Columns, CompareOp, Expr, JoinKind, Plan};

/// More groups are aggregated together.
const LIMIT_MAX: u64 = 1024;
/// So many times as many groups there must be for each that is wanted ...
const GROUPS_PER_WANTED_MIN: f64 = 64.0;
/// ... and so many in all.
const GROUPS_MIN: f64 = 10_000.0;

/// Rewrites a whole plan.
pub fn run(plan: &mut Plan, columns: &mut Columns, estimator: &mut Estimator) {
    if let Plan::Limit { input, limit: Some(limit), offset } = plan {
        let wanted = limit.saturating_add(*offset);
        if wanted <= LIMIT_MAX && is_worth_it(input, wanted, estimator) {
            choose_first(input, wanted, columns);
            return;
        }
    }
    plan.inputs_mut().into_iter().for_each(|input| with_stack(|| run(input, columns, estimator)));
}

/// Whether there are many groups of rows that are cheap to look at twice.
fn is_worth_it(plan: &Plan, wanted: u64, estimator: &mut Estimator) -> bool {
    let Plan::Aggregate { input, groups, aggregates } = plan else { return false };
    if groups.is_empty() || aggregates.is_empty() || !is_cheap(input) {
        return false;
    }
    if !groups.iter().all(|(_, expr)| expr.is_deterministic() && !expr.calls_external()) {
        return false;
    }
    let count = group_count(groups.iter().map(|(_, expr)| expr), &estimator.relation(input));
    count >= GROUPS_MIN && count >= GROUPS_PER_WANTED_MIN * wanted as f64
}

/// Whether a plan scans a table and computes little, with the same rows each time.
fn is_cheap(plan: &Plan) -> bool {
    let is_plain = |expr: &Expr| expr.is_deterministic() && !expr.calls_external();
    match plan {
        Plan::Scan { row_id, filters, .. } => row_id.is_none() && filters.iter().all(is_plain),
        Plan::Project { input, items } => items.iter().all(|(_, expr)| is_plain(expr)) && is_cheap(input),
        Plan::Filter { input, predicates } => predicates.iter().all(is_plain) && is_cheap(input),
        _ => false,
    }
}

fn choose_first(plan: &mut Plan, wanted: u64, columns: &mut Columns) {
    let Plan::Aggregate { input, groups, .. } = plan else { return };
    let mut again = input.clone();
    let names = refresh(&mut again, columns);
    let (mut chosen, mut conditions) = (Vec::with_capacity(groups.len()), Vec::with_capacity(groups.len()));
    for (id, expr) in groups.iter() {
        let mut key = expr.clone();
        rename_expr(&mut key, &names);
        let id = columns.copy_of(*id);
        chosen.push((id, key));
        conditions.push(Expr::compare(CompareOp::NotDistinct, expr.clone(), columns.expr(id)));
    }
    let distinct = Plan::Aggregate { input: again, groups: chosen, aggregates: Vec::new() };
    let right = Plan::Limit { input: Box::new(distinct), limit: Some(wanted), offset: 0 };
    **input = Plan::join(JoinKind::Semi, take(input), right, conditions);
}

//! The optimizer: from the plan that says what a query means to one that is fast to run.
//!
//! [`optimize`] lists all passes in order. Each pass is a file, takes a plan and leaves one with the same result;
//! [`OptimizerContext::trace`] sees the plan behind each. Only unnesting is required: after it no plan contains a
//! [`Plan::DependentJoin`]. With `enabled = false` nothing else is done, which tests use to compare answers.
//!
//! ```text
//! simplify -> inline shared plans -> push filters -> unnest -> push filters -> share equal subplans -> prune
//!          -> find keys -> group by keys -> order joins -> aggregate early -> bound exists -> limits -> choose groups -> prune -> estimate
//!          -> name fields
//! ```
//! The optimizer reads no rows but those of the tables' samples. Called by the facade between binder and executor.

mod column_set;
mod counts;
mod eager;
mod early_groups;
mod equality;
mod estimate;
mod evaluate;
mod exists_bounds;
mod filter_pushdown;
mod found_keys;
mod group_keys;
mod handed_over;
pub(crate) mod indexed;
mod join_order;
mod json_paths;
mod limited_groups;
mod limits;
mod made_parts;
mod outer_groups;
mod outer_joins;
pub mod properties;
mod prune_columns;
mod ranges;
mod reach;
mod renames;
pub(crate) mod rewrite;
mod shared_filters;
mod shared_plans;
mod shifted_sums;
mod simplify;
mod statistics;
mod stored_fields;
mod unnest;

#[cfg(test)]
mod tests;

pub use column_set::ColumnSet;
pub use handed_over::HandOver;
pub use reach::Reach;

use crate::plan::statement::Query;
use crate::plan::{ColumnId, Columns, IS_VERIFIED, Plan};
use inlay_types::{Error, Result};
use statistics::Estimator;

/// Sees a pass's name and the plan that it left.
pub type Trace<'a> = dyn FnMut(&'static str, &Plan, &Columns) + 'a;

/// What the optimizer is told besides the query.
pub struct OptimizerContext<'a> {
    /// Whether to do more than what is needed to run the plan at all.
    pub enabled: bool,
    /// Called behind each pass.
    pub trace: Option<Box<Trace<'a>>>,
    /// Gives parts of the plan to servers that have what they read; the plan that is left.
    pub hand_over: Option<Box<HandOver<'a>>>,
}

impl Default for OptimizerContext<'_> {
    fn default() -> Self {
        Self { enabled: true, trace: None, hand_over: None }
    }
}

/// Names of all passes that a trace may see, in order.
pub const PASSES: &[&str] = &[
    "simplify",
    "inline",
    "push filters",
    "unnest",
    "push filters again",
    "share",
    "prune",
    "count",
    "shift sums",
    "group keys",
    "order joins",
    "aggregate early",
    "bound exists",
    "limits",
    "choose groups",
    "prune again",
    "hand over",
    "name fields",
];

/// Optimizes a query.
pub fn optimize(query: Query) -> Result<Query> {
    optimize_with(query, &mut OptimizerContext::default())
}

/// Optimizes a query as the context says.
pub fn optimize_with(query: Query, context: &mut OptimizerContext<'_>) -> Result<Query> {
    let is_deep = crate::is_deep(&query.plan);
    crate::with_depth(is_deep, || passes(query, context))
}

fn passes(query: Query, context: &mut OptimizerContext<'_>) -> Result<Query> {
    let Query { mut plan, mut columns, mut output, .. } = query;
    let mut estimator = Estimator::default();
    // Between passes the statement may end: plans of long statements take their time.
    let mut passed = |pass: &'static str, plan: &Plan, columns: &Columns, output: &[(ColumnId, String)]| {
        if let Some(trace) = &mut context.trace {
            trace(pass, plan, columns);
        }
        verified(pass, plan, columns, output)?;
        inlay_types::limits::check()
    };
    passed("bind", &plan, &columns, &output)?;
    if !context.enabled {
        plan = unnest::run(plan, &mut columns)?;
        passed("unnest", &plan, &columns, &output)?;
        let estimates = estimate::run(&plan, &mut estimator);
        return Ok(Query { plan, columns, output, estimates });
    }
    simplify::run(&mut plan);
    passed("simplify", &plan, &columns, &output)?;
    if is_trivial(&plan) {
        let estimates = estimate::run(&plan, &mut estimator);
        return Ok(Query { plan, columns, output, estimates });
    }
    plan = shared_plans::inline(plan, &mut columns);
    renames::run(&mut plan, &mut output);
    passed("inline", &plan, &columns, &output)?;
    plan = filter_pushdown::run(plan, &columns)?;
    passed("push filters", &plan, &columns, &output)?;
    if rewrite::any_node(&plan, &mut |p| matches!(p, Plan::DependentJoin { .. })) {
        plan = unnest::run(plan, &mut columns)?;
        plan = shared_plans::inline(plan, &mut columns);
        renames::run(&mut plan, &mut output);
        simplify::run(&mut plan);
        passed("unnest", &plan, &columns, &output)?;
        plan = filter_pushdown::run(plan, &columns)?;
        passed("push filters again", &plan, &columns, &output)?;
    }
    if shared_plans::may_share(&plan) {
        plan = shared_plans::share_common(plan, &mut columns);
        passed("share", &plan, &columns, &output)?;
    }
    plan = prune_columns::run(plan, output.iter().map(|(id, _)| *id));
    passed("prune", &plan, &columns, &output)?;
    counts::run(&mut plan)?;
    passed("count", &plan, &columns, &output)?;
    shifted_sums::run(&mut plan, &mut columns)?;
    passed("shift sums", &plan, &columns, &output)?;
    found_keys::run(&mut plan);
    group_keys::run(&mut plan, &columns);
    passed("group keys", &plan, &columns, &output)?;
    if rewrite::any_node(&plan, &mut |p| matches!(p, Plan::Join { .. })) {
        estimator.use_samples = true;
        plan = join_order::run(plan, &columns, &mut estimator)?;
        passed("order joins", &plan, &columns, &output)?;
        eager::run(&mut plan, &mut columns, &mut estimator)?;
        passed("aggregate early", &plan, &columns, &output)?;
        exists_bounds::run(&mut plan, &mut columns, &mut estimator)?;
        passed("bound exists", &plan, &columns, &output)?;
    }
    limits::run(&mut plan);
    passed("limits", &plan, &columns, &output)?;
    limited_groups::run(&mut plan, &mut columns, &mut estimator);
    passed("choose groups", &plan, &columns, &output)?;
    plan = prune_columns::run(plan, output.iter().map(|(id, _)| *id));
    passed("prune again", &plan, &columns, &output)?;
    if let Some(hand_over) = &context.hand_over {
        plan = handed_over::run(plan, &columns, &output, hand_over)?;
        passed("hand over", &plan, &columns, &output)?;
    }
    let estimates = estimate::run(&plan, &mut estimator);
    stored_fields::run(&mut plan, &mut columns, output.iter().map(|(id, _)| *id));
    passed("name fields", &plan, &columns, &output)?;
    Ok(Query { plan, columns, output, estimates })
}

/// Makes a plan plain enough for another engine to be given it: constants are folded, filters lie where they can, no join depends on its
/// other side, and no column is made that nobody reads. Nothing else is decided, as the other engine orders joins by itself, and knows of
/// no keys found in our tables.
pub fn decorrelate(query: Query) -> Result<Query> {
    let is_deep = crate::is_deep(&query.plan);
    crate::with_depth(is_deep, || {
        let Query { mut plan, mut columns, mut output, estimates } = query;
        simplify::run(&mut plan);
        plan = shared_plans::inline(plan, &mut columns);
        renames::run(&mut plan, &mut output);
        plan = filter_pushdown::run(plan, &columns)?;
        verified("push filters", &plan, &columns, &output)?;
        plan = unnest::run(plan, &mut columns)?;
        plan = shared_plans::inline(plan, &mut columns);
        renames::run(&mut plan, &mut output);
        simplify::run(&mut plan);
        verified("unnest", &plan, &columns, &output)?;
        plan = filter_pushdown::run(plan, &columns)?;
        plan = prune_columns::run(plan, output.iter().map(|(id, _)| *id));
        verified("prune", &plan, &columns, &output)?;
        Ok(Query { plan, columns, output, estimates })
    })
}

/// Fails where a pass left a plan that does not hold together, in builds that look.
fn verified(pass: &str, plan: &Plan, columns: &Columns, output: &[(ColumnId, String)]) -> Result<()> {
    if !IS_VERIFIED {
        return Ok(());
    }
    let verified = plan.verify(columns, output.iter().map(|(id, _)| *id));
    verified.map_err(|what| Error::internal(format!("the plan behind \"{pass}\" does not hold: {what}")))
}

/// Whether a plan is a projection of literal rows, such as `SELECT 1`.
fn is_trivial(plan: &Plan) -> bool {
    match plan {
        Plan::Values { .. } => true,
        Plan::Project { input, .. } => is_trivial(input),
        _ => false,
    }
}

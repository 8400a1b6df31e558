//! Plans of whole queries: kept for their text, with the state of the database that they were made for.
//!
//! Values decide such plans, and so do rows, so a plan is used only where everything is as it was: the same text without parameters, in
//! a session that changed nothing since, over the very same state. It lies with the state, which holds its tables anyway, and
//! goes with it: a connection that is idle keeps no old rows.

use super::shape::lasts;
use crate::execute::Run;
use inlay_sql::parser::ast;
use inlay_sql::plan::statement::Query;
use inlay_sql::plan::{Plan, Statement};
use inlay_storage::store::{Object, State};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A number under which a plan is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct QueryNumber(u64);

impl QueryNumber {
    pub(super) fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }

    /// The plan, if it was made for this state.
    pub(super) fn plan(self, state: &State) -> Option<Arc<Query>> {
        state.kept(self.0)?.downcast().ok()
    }

    pub(super) fn keep(self, state: &State, plan: &Arc<Query>) {
        state.keep(self.0, Arc::<Query>::clone(plan));
    }
}

impl Run<'_> {
    /// The optimised plan of a query that reads nothing but tables of `state`, and would be the same again.
    pub(super) fn lasting_query(&self, statement: &ast::Statement, state: &State) -> Option<Arc<Query>> {
        let (Statement::Query(query), listed) = self.bind_lasting(statement, None)? else { return None };
        let lasts = !listed && lasts_with(&query.plan, state);
        lasts.then(|| self.planned(query).ok().map(Arc::new)).flatten()
    }
}

/// Whether a bound plan depends on nothing but the rows of tables of the state.
fn lasts_with(plan: &Plan, state: &State) -> bool {
    let own = match plan {
        Plan::Scan { table, .. } => match state.object(table.table.id()) {
            Some(Object::Table(slot)) => slot.table().is_ok_and(|own| Arc::ptr_eq(&own, &table.table)),
            _ => false,
        },
        Plan::Aggregate { aggregates, .. } => {
            aggregates.iter().all(|(_, aggregate)| aggregate.function.external.is_none())
        }
        Plan::Window { windows, .. } => {
            let mut aggregates = windows.iter().filter_map(|(_, window)| window.function.aggregate());
            aggregates.all(|aggregate| aggregate.external.is_none())
        }
        // Files and tables of the host are not told apart from what they were before.
        Plan::Source { .. } | Plan::TableCall { .. } | Plan::Sample { .. } => false,
        Plan::Values { .. }
        | Plan::Project { .. }
        | Plan::Filter { .. }
        | Plan::Join { .. }
        | Plan::OrderedJoin { .. }
        | Plan::DependentJoin { .. }
        | Plan::Unnest { .. }
        | Plan::Sort { .. }
        | Plan::Limit { .. }
        | Plan::GroupLimit { .. }
        | Plan::SetOp { .. }
        | Plan::With { .. }
        | Plan::SharedScan { .. }
        | Plan::Recursive { .. }
        | Plan::LimitBy { .. } => true,
    };
    own && plan.expressions().into_iter().all(lasts)
        && plan.inputs().into_iter().all(|input| lasts_with(input, state))
}

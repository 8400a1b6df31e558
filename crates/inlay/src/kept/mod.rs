//! Kept plans: statements that are repeated are parsed once. Those that an index answers are bound once for all their parameters,
//! queries without parameters are planned once for as long as nothing changes.
//!
//! ```text
//! text -> Text (statements, plans)  --types of parameters, place-->  Plan -> Point: access, conditions, outputs, action
//!                                                                         -> QueryNumber --state--> optimised query
//! ```
//! A connection keeps the texts it ran last, a prepared statement its own. When a text comes again, the statement is bound
//! once more with slots in the place of its parameters ([`inlay_sql::binder::Slots`]). If that gives a statement about
//! rows of one table that an index finds, an INSERT of one row, or a SELECT without a table, it becomes a [`Point`]: which index, which values, which
//! programs. From then on it is carried out on the calling thread, without binder, optimizer, pipelines or workers.
//! The optimised plan of any other query ([`query`]) is kept with the state of the database that it was made for, and run as it is.
//!
//! What always holds
//! - A plan is used only where binding would give it again: for parameters of the same types, in a session whose
//!   settings, names and variables are untouched since (`Plan::generation`), over a catalog that is the same
//!   ([`CatalogMark`], also of the temporary tables), and only if each value adapts to its place as the first did.
//! - A point holds nothing of the moment: no rows, no versions of tables, no statistics. A query's plan does, and is used only
//!   for that very state. Neither holds a clock or a random number: what
//!   asked for a setting, a variable or another query while it was bound, or calls anything but immutable functions, is
//!   not kept.
//! - What a plan does not do is left to the general way: whatever it cannot find, evaluate or convert. Rows are changed by
//!   the general way's `RowWriter`, behind everything here that may give up, but for an INSERT of one row ([`by_values`]).
//! - A row that a key finds is delivered as values ([`by_values`]), without vectors. An INSERT of one row that nothing can refuse
//!   once it is appended (no foreign keys, no keys that are checked later, no RETURNING) needs no savepoint in an open transaction.
//!
//! Queries with parameters that are no points are bound and optimised each time, because values decide their plans: see
//! `docs/decisions/0016-kept-plans.md`. `SET plan_cache` is `on`, `off`, or `eager`: from the first time on, for tests.

mod access;
mod by_values;
mod make;
mod point;
mod query;
mod shape;

use crate::execute::Run;
use crate::host::Parameters;
use crate::result::QueryResult;
use crate::session::{TEXT_BYTES_MAX, Text};
use crate::settings::PlanCache;
use crate::transactions::TEMPORARY;
use inlay_sql::parser::ast;
use inlay_sql::plan::statement::Query;
use inlay_storage::store::{CatalogMark, State};
use inlay_types::{LogicalType, Result, Value};
use point::Point;
use query::QueryNumber;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Plans of one text: parameters of other types.
const PLANS_MAX: usize = 4;
/// A statement that was no point is looked at again after so many runs: an index may have come.
const RETRIED_AFTER: u64 = 1_000;

struct Plans {
    runs: u64,
    /// The last used first.
    kept: Vec<Plan>,
}

struct Plan {
    types: Box<[LogicalType]>,
    generation: u64,
    kind: Kind,
}

#[derive(Clone)]
enum Kind {
    Placed(Arc<Placed>),
    /// To be looked at again at this run.
    General(u64),
}

/// A plan, and the objects that its names mean.
struct Placed {
    /// Where the table is.
    database: Arc<str>,
    /// The database that names without one mean, and what it defines.
    current: String,
    catalog: Arc<CatalogMark>,
    temporary: Option<Arc<CatalogMark>>,
    what: What,
}

enum What {
    Point(Arc<Point>),
    /// The plan lies with the state.
    Query(QueryNumber),
}

/// A plan that can be carried out now.
enum Ready {
    Point(Arc<Point>, Arc<str>, Arc<State>),
    Query(Arc<Query>),
}

impl Placed {
    /// The plan, if it is still what the statement means.
    fn ready(&self, run: &Run<'_>) -> Option<Ready> {
        let state = self.state(run)?;
        match &self.what {
            What::Point(point) => Some(Ready::Point(Arc::clone(point), Arc::clone(&self.database), state)),
            What::Query(number) => number.plan(&state).map(Ready::Query),
        }
    }

    /// What the transactions see, if the plan's names mean the same there.
    fn state(&self, run: &Run<'_>) -> Option<Arc<State>> {
        let temporary = temporary_mark(run);
        let same_temporary = match (&self.temporary, &temporary) {
            (None, None) => true,
            (Some(known), Some(found)) => Arc::ptr_eq(known, found),
            _ => false,
        };
        let state = run.transactions.of(run.database, &self.current).ok()?.state();
        if !same_temporary || !Arc::ptr_eq(&self.catalog, state.catalog()) {
            return None;
        }
        match *self.database == *self.current {
            true => Some(state),
            false => Some(run.transactions.of(run.database, &self.database).ok()?.state()),
        }
    }
}

fn temporary_mark(run: &Run<'_>) -> Option<Arc<CatalogMark>> {
    let is_there = run.transactions.has_temporary();
    let transaction = is_there.then(|| run.transactions.of(run.database, TEMPORARY)).and_then(Result::ok)?;
    Some(Arc::clone(transaction.state().catalog()))
}

fn types_are(types: &[LogicalType], parameters: &Parameters) -> bool {
    let values = values_of(parameters);
    types.len() == parameters.positional.len() + parameters.named.len()
        && types.iter().zip(values).all(|(ty, value)| has_type(value, ty))
}

/// Whether a value's own type is `ty`; the usual ones without making it.
fn has_type(value: &Value, ty: &LogicalType) -> bool {
    match (value, ty) {
        (Value::Integer(_), LogicalType::Integer)
        | (Value::BigInt(_), LogicalType::BigInt)
        | (Value::Double(_), LogicalType::Double)
        | (Value::Varchar(_), LogicalType::Varchar) => true,
        (Value::Integer(_) | Value::BigInt(_) | Value::Double(_) | Value::Varchar(_), _) => false,
        (value, ty) => value.logical_type() == *ty,
    }
}

/// Values by the numbers that slots have for parameters.
fn values_of(parameters: &Parameters) -> impl Iterator<Item = &Value> {
    parameters.positional.iter().chain(parameters.named.iter().map(|(_, value)| value))
}

impl Run<'_> {
    /// Carries out a statement by a kept plan; `None` if there is none that can.
    pub(crate) fn kept(&self, text: &Text, statement: &ast::Statement) -> Result<Option<QueryResult>> {
        let mode = self.session.settings.plan_cache;
        // What is measured goes through operators.
        let is_off = mode == PlanCache::Off || self.session.settings.profiles;
        if is_off || text.statements.len() != 1 {
            return Ok(None);
        }
        let (parameters, generation) = (self.given.parameters, self.session.generation);
        let make = || Plans { runs: u64::from(text.is_prepared), kept: Vec::new() };
        let Some(mut plans) = text.plans.get(make) else { return Ok(None) };
        plans.runs += 1;
        let runs = plans.runs;
        let fits = |plan: &Plan| plan.generation == generation && types_are(&plan.types, parameters);
        let found = plans.kept.iter().position(fits);
        let mut is_query = false;
        if let Some(position) = found {
            match plans.kept[position].kind.clone() {
                Kind::General(retried) if runs < retried => return Ok(None),
                Kind::General(_) => {}
                Kind::Placed(placed) => {
                    if let Some(ready) = placed.ready(self) {
                        plans.kept[..=position].rotate_right(1);
                        drop(plans);
                        return self.run_ready(ready, statement);
                    }
                    // Where nothing but rows changed, it is not looked for an index again.
                    is_query = matches!(placed.what, What::Query(_)) && placed.state(self).is_some();
                }
            }
            plans.kept.remove(position);
        }
        if runs == 1 && mode != PlanCache::Eager {
            return Ok(None);
        }
        let point = if is_query { None } else { self.placed_point(statement) };
        let placed = point.or_else(|| self.placed_query(text, statement));
        let kind = placed.clone().map_or(Kind::General(runs + RETRIED_AFTER), Kind::Placed);
        let types = values_of(parameters).map(Value::logical_type).collect();
        plans.kept.insert(0, Plan { types, generation, kind });
        plans.kept.truncate(PLANS_MAX);
        drop(plans);
        let ready = placed.and_then(|placed| placed.ready(self));
        ready.map_or(Ok(None), |ready| self.run_ready(ready, statement))
    }

    /// Inserts a row in the open transaction by a kept plan that needs no savepoint; `None`, and nothing is done, if there is none.
    pub(crate) fn inserted(&self, text: &Text, statement: &ast::Statement) -> Result<Option<QueryResult>> {
        let is_insert = matches!(statement.kind, ast::StatementKind::Insert(_));
        let is_off = self.session.settings.plan_cache == PlanCache::Off || self.session.settings.profiles;
        if !is_insert || is_off || text.statements.len() != 1 {
            return Ok(None);
        }
        let (parameters, generation) = (self.given.parameters, self.session.generation);
        let make = || Plans { runs: u64::from(text.is_prepared), kept: Vec::new() };
        let Some(mut plans) = text.plans.get(make) else { return Ok(None) };
        let fits = |plan: &&Plan| plan.generation == generation && types_are(&plan.types, parameters);
        let Some(Kind::Placed(placed)) = plans.kept.iter().find(fits).map(|plan| plan.kind.clone()) else {
            return Ok(None);
        };
        let What::Point(point) = &placed.what else { return Ok(None) };
        if !point.is_alone || placed.state(self).is_none() {
            return Ok(None);
        }
        plans.runs += 1;
        drop(plans);
        point.insert_alone(self, &placed.database)
    }

    fn run_ready(&self, ready: Ready, statement: &ast::Statement) -> Result<Option<QueryResult>> {
        match ready {
            Ready::Point(point, database, state) => point.run(self, &database, &state),
            Ready::Query(query) => {
                self.session.kept_runs.fetch_add(1, Ordering::Relaxed);
                self.answer_kept(&query, &statement.sql).map(Some)
            }
        }
    }

    fn placed_point(&self, statement: &ast::Statement) -> Option<Arc<Placed>> {
        if !make::may_be_point(&statement.kind) {
            return None;
        }
        let (database, point) = self.make_point(statement)?;
        self.place(database, What::Point(Arc::new(point))).map(|(placed, _)| placed)
    }

    /// A query without parameters, whose plan is kept with the state that it is about.
    fn placed_query(&self, text: &Text, statement: &ast::Statement) -> Option<Arc<Placed>> {
        let Parameters { positional, named } = self.given.parameters;
        let is_query = matches!(statement.kind, ast::StatementKind::Query(_));
        if !is_query || !positional.is_empty() || !named.is_empty() || text.sql.len() > TEXT_BYTES_MAX / 4 {
            return None;
        }
        let number = QueryNumber::new();
        let (placed, state) = self.place(self.transactions.current(self.database), What::Query(number))?;
        number.keep(&state, &self.lasting_query(statement, &state)?);
        Some(placed)
    }

    /// A plan, placed where names mean what they mean now.
    fn place(&self, database: String, what: What) -> Option<(Arc<Placed>, Arc<State>)> {
        let current = self.transactions.current(self.database);
        let state = self.transactions.of(self.database, &current).ok()?.state();
        let (catalog, temporary) = (Arc::clone(state.catalog()), temporary_mark(self));
        Some((Arc::new(Placed { database: database.into(), current, catalog, temporary, what }), state))
    }
}

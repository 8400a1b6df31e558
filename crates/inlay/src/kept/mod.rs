//! Kept plans: statements that are repeated are parsed once, and those that an index answers are bound once, too.
//!
//! ```text
//! text -> Text (statements, plans)  --types of parameters, place-->  Plan -> Point: access, conditions, outputs, action
//! ```
//! A connection keeps the texts it ran last, a prepared statement its own. When a text comes again, the statement is bound
//! once more with slots in the place of its parameters ([`inlay_sql::binder::Slots`]). If that gives a statement about
//! rows of one table that an index finds, an INSERT of one row, or a SELECT without a table, it becomes a [`Point`]: which index, which values, which
//! programs. From then on it is carried out on the calling thread, without binder, optimizer, pipelines or workers.
//!
//! What always holds
//! - A plan is used only where binding would give it again: for parameters of the same types, in a session whose
//!   settings, names and variables are untouched since ([`Place::generation`]), over a catalog that is the same
//!   ([`CatalogMark`], also of the temporary tables), and only if each value adapts to its place as the first did.
//! - A plan holds nothing of the moment: no rows, no versions of tables, no statistics, no clock, no random number. What
//!   asked for a setting, a variable or another query while it was bound, or calls anything but immutable functions, is
//!   not kept.
//! - What a plan does not do is left to the general way: whatever it cannot find, evaluate or convert. Rows are changed by
//!   the general way's `RowWriter` alone, behind everything here that may give up.
//!
//! Statements of other shapes are bound and optimised each time, because values decide their plans: see
//! `docs/decisions/0016-kept-plans.md`. `SET plan_cache` is `on`, `off`, or `eager`: from the first time on, for tests.

mod access;
mod make;
mod point;
mod shape;

use crate::connection::Parameters;
use crate::execute::Run;
use crate::result::QueryResult;
use crate::transactions::TEMPORARY;
use inlay_sql::parser::ast;
use inlay_storage::store::{CatalogMark, State};
use inlay_types::{LogicalType, Result, Value};
use parking_lot::Mutex;
use point::Point;
use std::sync::Arc;

/// Texts that a connection keeps, and the bytes of all of them.
const TEXTS_MAX: usize = 64;
const TEXT_BYTES_MAX: usize = 256 << 10;
/// Plans of one text: parameters of other types.
const PLANS_MAX: usize = 4;
/// A statement that was no point is looked at again after so many runs: an index may have come.
const RETRIED_AFTER: u64 = 1_000;

/// Whether plans are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PlanCache {
    /// Of what is run again.
    #[default]
    On,
    /// Never.
    Off,
    /// Of what is run at all.
    Eager,
}

/// A text that was parsed.
pub(crate) struct Text {
    pub sql: Box<str>,
    pub statements: Arc<[ast::Statement]>,
    /// Of its only statement.
    plans: Mutex<Plans>,
}

#[derive(Default)]
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
    Point(Arc<Placed>),
    /// To be looked at again at this run.
    General(u64),
}

/// A plan, and the objects that its names mean.
struct Placed {
    /// Where the table is.
    database: String,
    /// The database that names without one mean, and what it defines.
    current: String,
    catalog: Arc<CatalogMark>,
    temporary: Option<Arc<CatalogMark>>,
    point: Arc<Point>,
}

impl Text {
    /// Reads a text. `is_prepared`: it was prepared because it is going to be repeated.
    pub fn parse(sql: &str, is_prepared: bool) -> Result<Arc<Self>> {
        let statements = inlay_sql::parser::parse_statements(sql)?.into();
        let plans = Plans { runs: u64::from(is_prepared), kept: Vec::new() };
        Ok(Arc::new(Self { sql: sql.into(), statements, plans: Mutex::new(plans) }))
    }
}

/// The texts that were run last, the newest at the end.
#[derive(Default)]
pub(crate) struct Texts(Vec<Arc<Text>>);

impl Texts {
    /// A text, parsed now unless it was before.
    pub fn get(&mut self, sql: &str) -> Result<Arc<Text>> {
        let found = self.0.iter().rposition(|text| *text.sql == *sql);
        if let Some(position) = found {
            if position + 1 < self.0.len() {
                self.0[position..].rotate_left(1);
            }
            if let Some(text) = self.0.last() {
                return Ok(Arc::clone(text));
            }
        }
        let text = Text::parse(sql, false)?;
        if sql.len() <= TEXT_BYTES_MAX / 4 {
            let mut bytes: usize = self.0.iter().map(|text| text.sql.len()).sum::<usize>() + sql.len();
            while bytes > TEXT_BYTES_MAX || self.0.len() == TEXTS_MAX {
                bytes -= self.0.remove(0).sql.len();
            }
            self.0.push(Arc::clone(&text));
        }
        Ok(text)
    }
}

impl Placed {
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
        match self.database == self.current {
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
        let mut plans = text.plans.lock();
        plans.runs += 1;
        let runs = plans.runs;
        let fits = |plan: &Plan| plan.generation == generation && types_are(&plan.types, parameters);
        let found = plans.kept.iter().position(fits);
        let stale = match found.map(|position| (position, plans.kept[position].kind.clone())) {
            Some((_, Kind::General(retried))) if runs < retried => return Ok(None),
            Some((position, Kind::Point(placed))) => match placed.state(self) {
                Some(state) => {
                    plans.kept[..=position].rotate_right(1);
                    drop(plans);
                    return placed.point.run(self, &placed.database, &state);
                }
                None => Some(position),
            },
            Some((position, Kind::General(_))) => Some(position),
            None => None,
        };
        if let Some(position) = stale {
            plans.kept.remove(position);
        }
        if runs == 1 && mode != PlanCache::Eager || !make::may_be_point(&statement.kind) {
            return Ok(None);
        }
        let made = self.placed_point(statement);
        let kind = made.clone().map_or(Kind::General(runs + RETRIED_AFTER), Kind::Point);
        let types = values_of(parameters).map(Value::logical_type).collect();
        plans.kept.insert(0, Plan { types, generation, kind });
        plans.kept.truncate(PLANS_MAX);
        drop(plans);
        match made.and_then(|placed| Some((placed.state(self)?, placed))) {
            Some((state, placed)) => placed.point.run(self, &placed.database, &state),
            None => Ok(None),
        }
    }

    fn placed_point(&self, statement: &ast::Statement) -> Option<Arc<Placed>> {
        let (database, point) = self.make_point(statement)?;
        let current = self.transactions.current(self.database);
        let catalog = Arc::clone(self.transactions.of(self.database, &current).ok()?.state().catalog());
        let temporary = temporary_mark(self);
        Some(Arc::new(Placed { database, current, catalog, temporary, point: Arc::new(point) }))
    }
}

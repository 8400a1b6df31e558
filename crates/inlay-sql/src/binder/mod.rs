//! [`crate::parser::ast`] to [`crate::plan`]: names become columns, operators become functions, every type is
//! known and every implicit conversion explicit.
//!
//! How it works: each SELECT has a [`scope::Scope`]; names are looked up from the innermost outwards, and a column
//! of an outer scope makes the subquery correlated. A subquery in an expression becomes a [`subquery::Pending`]
//! join that the clause attaches below the operator that evaluates the expression; whether the join is dependent
//! follows from the columns the subquery reads. There is no subquery expression in a plan.
//!
//! What always holds: ids are made once; an expression of an operator reads only columns that its inputs output,
//! or, below a dependent join, columns of its left side. Errors carry line and caret of the text that is bound.
//!
//! Called by the facade for every statement; views and defaults are bound from their stored text.

mod alter;
mod alter_type;
mod altering;
mod asof;
mod attempt;
mod bits;
mod build;
mod change;
mod changing;
mod coerce;
mod collate;
mod columns;
mod comment;
mod constant;
mod constants;
mod copy;
mod databases;
mod define;
mod deliver;
mod drop;
mod expr;
mod external;
mod fields;
mod foreign;
mod from;
mod function;
mod grouping;
mod histogram;
mod host_table;
mod indexed;
mod join;
mod known;
mod lambda;
mod like;
mod limit;
mod macros;
mod merge;
mod name;
mod named_types;
mod nested;
mod object;
mod objects;
mod olap;
mod once;
mod pivot;
mod quantile;
mod query;
mod query_function;
mod recursive;
mod regex;
mod rights;
mod roles;
mod row;
mod scope;
mod select;
mod sequence;
mod session;
mod slots;
mod special;
mod spelled;
mod sqlite;
mod sqlite_tables;
mod statement;
#[cfg(test)]
mod statement_tests;
mod subquery;
mod summarize;
#[cfg(test)]
mod tests;
mod trigger;
mod unnest;
mod whole_row;
mod window;

pub use collate::check_collation;
pub use databases::Databases;
pub use define::key_name;
pub use external::is_built_in;
pub use objects::{enum_labels, enum_text};
pub use rights::Rights;
pub use row::{bind_checks, bind_default, bind_generated, bind_row_expressions};
pub use slots::{Slot, Slots};
use std::collections::HashMap;
pub use trigger::{NEW, OLD, RowImage, Transition, bind_trigger, bind_trigger_condition, of_all_rows};

use crate::parser::ast::{self, Pos};
use crate::plan::{self, ColumnId, Columns, Expr, Place, Plan, SharedId};
use inlay_catalog::{CatalogEntry, TableEntry};
use inlay_kernels::resolve::ResolveOptions;
use inlay_types::{Error, LogicalType, Result, Value};
use scope::{CteFrame, Scope};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

/// Deepest nesting of views in views.
const VIEW_DEPTH_MAX: usize = 64;
/// Stack that must be left before an expression or a query is bound, and how much is added when it is not.
const STACK_RESERVE_BYTES: usize = 128 << 10;
const STACK_GROWTH_BYTES: usize = 4 << 20;

/// What ORDER BY does when it does not say.
#[derive(Clone, Copy, Debug, Default)]
pub struct DefaultOrder {
    /// The largest comes first.
    pub descending: bool,
    /// Where NULLs go.
    pub nulls: NullOrder,
}

/// Where NULLs go when ORDER BY does not say.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum NullOrder {
    /// Behind everything.
    #[default]
    Last,
    /// Before everything.
    First,
    /// As if smaller than everything: SQLite, MySQL.
    Lowest,
    /// As if larger than everything: PostgreSQL.
    Highest,
}

impl NullOrder {
    fn is_first(self, descending: bool) -> bool {
        match self {
            Self::Last => false,
            Self::First => true,
            Self::Lowest => !descending,
            Self::Highest => descending,
        }
    }
}

/// Gives the rows of a query.
pub type RunQuery<'a> = &'a dyn Fn(plan::statement::Query) -> Result<Vec<Vec<Value>>>;

/// What binding depends on besides the statement.
pub struct BindContext<'a> {
    /// Tables, views and table functions.
    pub catalog: &'a dyn Databases,
    /// Values of `?` and `$n`.
    pub parameters: &'a [Value],
    /// Values of `$name`, by name without the dollar.
    pub named_parameters: &'a [(String, Value)],
    /// Settings that change which function a name means.
    pub options: ResolveOptions,
    /// What ORDER BY does when it does not say.
    pub default_order: DefaultOrder,
    /// What texts without a collation of their own compare by.
    pub default_collation: Option<&'a str>,
    /// The value of a setting (lower-case name), for `SHOW` and `current_setting`.
    pub setting: &'a dyn Fn(&str) -> Option<Value>,
    /// Runs a query that the meaning of the statement depends on, such as for the columns of a PIVOT.
    pub run: Option<RunQuery<'a>>,
    /// Parameters are bound as slots of these, and not as the literals that their values are.
    pub slots: Option<&'a Slots>,
    /// Who asks, and what he may; absent where everything may be done.
    pub rights: Option<&'a dyn Rights>,
}

/// Binds a statement.
pub fn bind(statement: &ast::Statement, context: &BindContext<'_>) -> Result<plan::Statement> {
    let given = context.parameters.len();
    if statement.parameter_count > given {
        let needed = statement.parameter_count;
        return Err(Error::invalid_argument(format!(
            "the statement has {needed} parameters, {given} values were given"
        )));
    }
    Binder::new(context, Arc::clone(&statement.sql)).statement(statement)
}

/// Names and types of the columns of a view.
pub fn view_columns(
    context: &BindContext<'_>,
    database: &str,
    key: &str,
) -> Result<Vec<(String, LogicalType)>> {
    let Some((_, CatalogEntry::View(view))) = context.catalog.resolve(Some(database), key) else {
        return Ok(Vec::new());
    };
    let mut binder = Binder::new(context, Arc::from(""));
    let bound = binder.view(database, &view, Pos::default())?;
    Ok(bound.output.into_iter().map(|column| (column.name, binder.columns.ty(column.id))).collect())
}

/// The state of binding one statement.
struct Binder<'a> {
    context: &'a BindContext<'a>,
    /// The text that positions count in; changes while a view is bound.
    sql: Arc<str>,
    /// The text of the statement.
    statement_sql: Arc<str>,
    columns: Columns,
    /// Texts of views and macros that were bound, and whose they are.
    sources: Vec<(Arc<str>, String)>,
    /// Innermost last.
    scopes: Vec<Scope>,
    /// Innermost last.
    ctes: Vec<CteFrame>,
    /// CTEs being bound, which cannot read themselves; innermost last.
    open_ctes: Vec<String>,
    /// Plans of CTEs that are read by shared scans, in order of definition.
    shared: Vec<Shared>,
    /// Aggregate calls whose arguments are being bound, innermost last.
    aggregate_frames: Vec<AggregateFrame>,
    view_depth: usize,
    /// Database and name of the view that the statement makes: it cannot be part of itself.
    made_view: Option<(String, String)>,
    /// CTEs defined so far.
    cte_count: usize,
    /// How many CTEs belong to the queries and views that are being bound, one in another.
    ctes_around: usize,
    /// Tables in FROM so far.
    relation_count: usize,
    /// Nodes of expressions put in the place of aliases so far.
    copied_nodes: usize,
    macros: macros::Macros,
    /// Lambdas whose bodies are being bound, the innermost last.
    lambdas: Vec<lambda::LambdaFrame>,
    /// Parameters of lambdas by depth, position and type.
    lambda_columns: HashMap<(usize, usize, LogicalType), ColumnId>,
    /// How many values that are computed once are being read around what is bound.
    open_onces: usize,
    /// Values that [`ast::ExprKind::Given`] names.
    given: Vec<once::Given>,
    /// Queries for rows that several assignments share, and their columns, once they are joined.
    row_queries: Vec<(Arc<ast::Query>, Vec<ColumnId>)>,
    /// While a stored text is bound: where it is stored, which names without a place mean first.
    stored_in: Option<object::Home>,
    /// An expression that the schema holds is being bound.
    is_stored: bool,
    /// While RETURNING of MERGE is bound: the column that `merge_action()` reads.
    merge_action: Option<ColumnId>,
    /// While the body of a trigger is bound: what NEW and OLD mean.
    trigger_row: Vec<RowImage>,
    /// The next SELECT or VALUES is a side of a set operation: a bare NULL stays without a type.
    /// Sources bound ahead, until they are read.
    prepared: Vec<Option<pivot::Prepared>>,
    /// How many scopes of rows, whose columns are positions, the binder is in.
    row_scopes: usize,
    /// Tables with foreign keys, by database and by the name that they refer to, where somebody asked.
    referrers: RefCell<HashMap<String, Referrers>>,
    /// Who is asked about: nobody is for a superuser, and while a view of theirs is bound.
    asker: Option<Arc<str>>,
    /// Tables in FROM of which not all columns may be read.
    guarded: Vec<Rc<rights::Guard>>,
    /// The table that the statement changes, if its rights are asked for.
    aim: Option<rights::Aim>,
}

/// Tables and the positions of their foreign keys, by the name in lower case of the table that they refer to.
type Referrers = HashMap<String, Vec<(Arc<TableEntry>, usize)>>;

/// A plan that several shared scans may read.
struct Shared {
    id: SharedId,
    definition: Plan,
    /// `AS MATERIALIZED`: computed once even if read once.
    materialized: bool,
}

/// Tells which query an aggregate call belongs to: the innermost whose columns it reads.
struct AggregateFrame {
    /// Index of the scope the call stands in.
    scope: usize,
    /// Largest index of a scope, up to `scope`, whose columns were read so far.
    deepest: Option<usize>,
}

/// A bound query inside a statement.
#[derive(Debug)]
struct Bound {
    plan: Plan,
    output: Vec<Output>,
}

/// A delivered column. One id may be delivered several times.
#[derive(Clone, Debug)]
struct Output {
    id: ColumnId,
    name: String,
}

impl<'a> Binder<'a> {
    fn new(context: &'a BindContext<'a>, sql: Arc<str>) -> Self {
        Self {
            context,
            statement_sql: Arc::clone(&sql),
            sql,
            columns: Columns::new(),
            scopes: Vec::new(),
            ctes: Vec::new(),
            open_ctes: Vec::new(),
            shared: Vec::new(),
            aggregate_frames: Vec::new(),
            view_depth: 0,
            made_view: None,
            cte_count: 0,
            ctes_around: 0,
            relation_count: 0,
            copied_nodes: 0,
            macros: macros::Macros::default(),
            lambdas: Vec::new(),
            lambda_columns: HashMap::new(),
            open_onces: 0,
            given: Vec::new(),
            row_queries: Vec::new(),
            stored_in: None,
            is_stored: false,
            sources: Vec::new(),
            merge_action: None,
            trigger_row: Vec::new(),
            prepared: Vec::new(),
            row_scopes: 0,
            referrers: RefCell::default(),
            asker: context.rights.and_then(|rights| rights.asker()).map(Arc::from),
            guarded: Vec::new(),
            aim: None,
        }
    }
}

impl Binder<'_> {
    /// `error` with its place in the text being bound.
    fn at(&self, error: Error, pos: Pos) -> Error {
        let of = self.sources.iter().find(|(text, _)| Arc::ptr_eq(text, &self.sql));
        error.at_of(pos.line, pos.column, &self.sql, of.map_or("", |(_, of)| of))
    }

    /// Remembers whose a text is.
    fn note_source(&mut self, text: &Arc<str>, of: impl FnOnce() -> String) {
        if !self.sources.iter().any(|(known, _)| Arc::ptr_eq(known, text)) {
            self.sources.push((Arc::clone(text), of()));
        }
    }

    /// The place of an expression that may fail when it is run: known while the statement's own text is bound.
    fn place(&self, pos: Pos) -> Place {
        let is_own = Arc::ptr_eq(&self.sql, &self.statement_sql);
        if is_own { Place { line: pos.line, column: pos.column } } else { Place::default() }
    }

    /// Adds a place to the error of `result`, if there is one.
    fn placed<T>(&self, result: Result<T>, pos: Pos) -> Result<T> {
        result.map_err(|error| self.at(error, pos))
    }

    /// An expression that reads a column.
    fn column(&self, id: ColumnId) -> Expr {
        self.columns.expr(id)
    }

    /// Puts the shared plans around `plan`; those read once are put in place, those not read are left out.
    fn resolve_shared(&mut self, plan: Plan) -> Plan {
        let shared = std::mem::take(&mut self.shared);
        self.put_shared(plan, shared)
    }

    fn put_shared(&self, plan: Plan, shared: Vec<Shared>) -> Plan {
        let mut body = plan;
        for Shared { id, definition, materialized } in shared.into_iter().rev() {
            match query::count_shared(&body, id) {
                0 => {}
                1 if !(materialized || definition.is_volatile() && query::is_repeated(&body, id)) => {
                    query::inline_shared(&mut body, id, &mut Some(definition), &self.columns)
                }
                _ => body = Plan::With { id, definition: Box::new(definition), body: Box::new(body) },
            }
        }
        body
    }

    /// Completes a query of a statement.
    fn finish(&mut self, bound: Bound) -> Result<plan::statement::Query> {
        self.ask_whole(&bound)?;
        let bound = self.with_concrete_types(bound);
        let plan = self.resolve_shared(bound.plan);
        let output = bound.output.into_iter().map(|column| (column.id, column.name)).collect();
        Ok(plan::statement::Query {
            plan,
            columns: std::mem::take(&mut self.columns),
            output,
            estimates: plan::Estimates::default(),
        })
    }
}

/// Runs `inner` with enough stack, whatever the caller's.
fn with_stack<T>(inner: impl FnOnce() -> T) -> T {
    // Frames of unoptimised builds are several times as large.
    let factor = if cfg!(debug_assertions) { 4 } else { 1 };
    stacker::maybe_grow(factor * STACK_RESERVE_BYTES, factor * STACK_GROWTH_BYTES, inner)
}

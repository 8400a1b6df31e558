//! Functions of a host language: what is declared of them, how they are prepared, and how they are called.
//!
//! ```text
//! text in the catalog --> FunctionDefinition --Language::prepare--> ExternalFunction --> External --> ScalarFunction
//! a callable of the host ------------------------------------------------^
//! ```
//! The engine knows no language. A host gives the database a [`Language`], which makes an [`ExternalFunction`] of a
//! definition's text, or brings such functions itself. An [`External`] is one of them with its definition; the binder makes
//! a [`ScalarFunction`] of it whose kernel calls it, so that calls stand wherever expressions do.
//!
//! What always holds
//! - A call gets vectors of the declared types (a variadic function's: of any), all of `len` rows and `len > 0`, and gives
//!   one vector of the declared type with `len` rows; anything else is an error that names the function. Where an aggregate
//!   over all rows follows ([`CallSite::takes_fewer`]) it may have fewer rows.
//! - Constant vectors are literals of the statement, and nothing else: what a column happens to hold shows nowhere.
//! - A function that gives NULL for NULL ([`NullHandling::Propagate`]) is never shown a row with a NULL.
//! - An immutable function of one dictionary column is called on the distinct values that rows hold.
//! - A function that takes whole columns ([`Granularity::Column`]) is called by the executor's `apply` operator only; its
//!   kernel, which would see parts of them, is an error.
//! - Two calls are of the same function if they hold the same [`External`]: a definition is prepared once.
//!
//! Aggregates have definitions of the same kind, told apart by [`FunctionKind`]; what is called is a [`Callee`] of the
//! same kind. [`ExternalAggregate`] is in `external/aggregate.rs`.
//! See `docs/decisions/0019-functions-of-a-host.md` and `0022-aggregates-and-tables-of-a-host.md`.

mod aggregate;
mod table;

pub use aggregate::{ExternalAggregate, ExternalStates, GroupedRows};
pub use table::{ExternalStream, ExternalTable, NamedTypes, StreamState, TableArgument, TableCall, Takes};

use crate::function::{NullHandling, ScalarFunction, ScalarKernel, Volatility};
use inlay_types::logical_type::Field;
use inlay_types::{Bitmap, Error, LogicalType, Result, Vector, VectorKind};
use std::any::Any;
use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

/// What a function makes of its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FunctionKind {
    /// A value for each row.
    Scalar,
    /// A value for each group of rows.
    Aggregate,
    /// Rows, of values and of a table.
    Table,
}

impl FunctionKind {
    /// What errors and lists call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Scalar => "scalar",
            Self::Aggregate => "aggregate",
            Self::Table => "table",
        }
    }
}

/// How many rows a call must see.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Granularity {
    /// Any: rows are independent, and parts of a column are computed at the same time.
    Chunk,
    /// All rows of the query's input at once.
    Column,
}

/// A parameter.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Parameter {
    /// What the function's text calls it.
    pub name: String,
    /// Its type; arguments are cast to it.
    pub ty: LogicalType,
    /// The argument is a table, of any columns; `ty` says nothing then.
    pub is_table: bool,
}

impl Parameter {
    /// A parameter for values.
    pub fn new(name: impl Into<String>, ty: LogicalType) -> Self {
        Self { name: name.into(), ty, is_table: false }
    }

    /// A parameter for tables.
    pub fn table(name: impl Into<String>) -> Self {
        Self { name: name.into(), ty: LogicalType::Null, is_table: true }
    }

    /// Its type as it is written.
    pub fn shown_type(&self) -> String {
        if self.is_table { "TABLE".to_string() } else { self.ty.to_string() }
    }
}

/// What is declared of a function, and its text.
#[derive(Clone, Debug, PartialEq)]
pub struct FunctionDefinition {
    /// Name without a schema.
    pub name: String,
    /// See [`FunctionKind`].
    pub kind: FunctionKind,
    /// Lower-case name of the language: `python`.
    pub language: String,
    /// Parameters in order.
    pub parameters: Vec<Parameter>,
    /// Any number of arguments of any type follow the parameters.
    pub is_variadic: bool,
    /// Type of the result.
    pub returns: LogicalType,
    /// See [`Granularity`].
    pub granularity: Granularity,
    /// See [`Volatility`].
    pub volatility: Volatility,
    /// See [`NullHandling`].
    pub null_handling: NullHandling,
    /// What only the language knows, by lower-case name: `arguments = 'arrow'`.
    pub options: Vec<(String, String)>,
    /// The text; empty for a callable of the host.
    pub body: String,
}

impl FunctionDefinition {
    /// A function of the host's own code, which is given any rows, gives NULL for NULL, and the same for the same arguments.
    pub fn of_host(
        name: impl Into<String>,
        kind: FunctionKind,
        parameters: Vec<Parameter>,
        returns: LogicalType,
    ) -> Self {
        Self {
            name: name.into(),
            kind,
            language: String::new(),
            parameters,
            is_variadic: false,
            returns,
            granularity: Granularity::Chunk,
            volatility: Volatility::Immutable,
            null_handling: NullHandling::Propagate,
            options: Vec::new(),
            body: String::new(),
        }
    }

    /// Name and types, for messages and lists: `f(INTEGER, DOUBLE) -> DOUBLE`.
    pub fn signature(&self) -> String {
        let mut types: Vec<String> = self.parameters.iter().map(Parameter::shown_type).collect();
        if self.is_variadic {
            types.push("*".to_string());
        }
        let returns = match self.kind {
            FunctionKind::Table => self.table_text(),
            FunctionKind::Scalar | FunctionKind::Aggregate => self.returns.to_string(),
        };
        format!("{}({}) -> {returns}", self.name, types.join(", "))
    }

    /// The columns of a table function as they are declared: `TABLE ("x" INTEGER)`.
    pub fn table_text(&self) -> String {
        if self.table_columns().is_empty() {
            return "TABLE".to_string();
        }
        let column = |field: &Field| format!("\"{}\" {}", field.name.replace('"', "\"\""), field.ty);
        format!("TABLE ({})", self.table_columns().iter().map(column).collect::<Vec<_>>().join(", "))
    }

    /// What it says of its cost: nanoseconds a row (option `cost`).
    pub fn declared_cost(&self) -> Option<f64> {
        let (_, value) = self.options.iter().find(|(name, _)| name == "cost")?;
        value.parse().ok().filter(|cost: &f64| cost.is_finite() && *cost >= 0.0)
    }

    /// What a table function says of the rows that a call gives (option `rows`).
    pub fn declared_rows(&self) -> Option<f64> {
        let (_, value) = self.options.iter().find(|(name, _)| name == "rows")?;
        value.parse().ok().filter(|rows: &f64| rows.is_finite() && *rows >= 0.0)
    }

    /// Whether both take the same types of arguments.
    pub fn takes_same(&self, other: &Self) -> bool {
        let types =
            |one: &Self| one.parameters.iter().map(|p| (p.ty.clone(), p.is_table)).collect::<Vec<_>>();
        self.is_variadic == other.is_variadic && types(self) == types(other)
    }

    /// The types that arguments of these types are cast to.
    pub fn argument_types(&self, given: &[LogicalType]) -> Vec<LogicalType> {
        let own = self.parameters.iter().map(|parameter| parameter.ty.clone());
        let others = given.iter().skip(self.parameters.len()).map(|ty| match ty {
            LogicalType::Null => LogicalType::Integer,
            other => other.clone(),
        });
        own.chain(others).collect()
    }
}

/// What a function keeps from one call to the next: made by the first that needs it, gone with the statement.
pub type Kept = OnceLock<Box<dyn Any + Send + Sync>>;

/// A place of a statement where a function is called, for one execution.
#[derive(Default)]
pub struct CallSite {
    /// Which arguments are values of the statement, the same in all rows and calls: literals, and what subqueries of one
    /// row give.
    pub constants: Vec<bool>,
    /// What calls from here keep.
    pub kept: Kept,
    /// What follows takes as many values as a call gives: one for each row, or fewer.
    pub takes_fewer: bool,
}

impl CallSite {
    /// A place where arguments are constant or not.
    pub fn new(constants: Vec<bool>) -> Self {
        Self { constants, kept: Kept::new(), takes_fewer: false }
    }
}

/// A function that can be called.
pub trait ExternalFunction: Any + Send + Sync + fmt::Debug {
    /// Computes `len` rows, at least one; arguments are flat or dictionary vectors of `len` rows each, or constant ones for
    /// values of the statement, of which `kept` may hold what the function made of them. May be called by several threads
    /// at once.
    fn call(&self, args: &[Vector], len: usize, kept: &Kept) -> Result<Vector>;

    /// The same for what takes any number of values up to `len`, as an aggregate over all rows does.
    fn reduce(&self, args: &[Vector], len: usize, kept: &Kept) -> Result<Vector> {
        self.call(args, len, kept)
    }

    /// Whether it reads the database, which has to happen while the statement runs.
    fn queries(&self) -> bool {
        false
    }
}

/// Makes functions of texts.
pub trait Language: Send + Sync {
    /// Fails if the text is none of the language. Runs nothing of it.
    fn check(&self, definition: &FunctionDefinition) -> Result<()>;

    /// The function of a definition, of the kind that it says.
    fn prepare(&self, definition: &FunctionDefinition) -> Result<Callee>;
}

/// What is called, by kind.
#[derive(Clone, Debug)]
pub enum Callee {
    /// See [`FunctionKind::Scalar`].
    Scalar(Arc<dyn ExternalFunction>),
    /// See [`FunctionKind::Aggregate`].
    Aggregate(Arc<dyn ExternalAggregate>),
    /// See [`FunctionKind::Table`].
    Table(Arc<dyn ExternalTable>),
}

impl Callee {
    /// Whether calls read the database, which has to happen while the statement runs.
    pub fn queries(&self) -> bool {
        match self {
            Self::Scalar(function) => function.queries(),
            Self::Aggregate(aggregate) => aggregate.queries(),
            Self::Table(table) => table.queries(),
        }
    }
}

/// A function with its definition.
pub struct External {
    /// What was declared.
    pub definition: FunctionDefinition,
    callee: Callee,
    /// Rows that calls saw and nanoseconds that they took, since it was prepared.
    rows: AtomicU64,
    nanos: AtomicU64,
}

impl PartialEq for External {
    /// Two functions are the same if they are one object.
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

/// Nanoseconds a row of a function of which nothing is known: a call of Python for each.
const COST_ASSUMED: f64 = 1000.0;
/// Rows after which what was measured is believed.
const ROWS_MEASURED: u64 = 1000;

impl fmt::Debug for External {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.definition.signature())
    }
}

impl External {
    /// A function that was prepared.
    pub fn new(definition: FunctionDefinition, callee: Callee) -> Arc<Self> {
        Arc::new(Self { definition, callee, rows: AtomicU64::new(0), nanos: AtomicU64::new(0) })
    }

    /// What is called.
    pub fn callee(&self) -> &Callee {
        &self.callee
    }

    /// Nanoseconds a row: what is declared, or was measured.
    pub fn cost(&self) -> f64 {
        let (rows, nanos) = (self.rows.load(Ordering::Relaxed), self.nanos.load(Ordering::Relaxed));
        let measured = (rows >= ROWS_MEASURED).then(|| nanos as f64 / rows as f64);
        self.definition.declared_cost().or(measured).unwrap_or(COST_ASSUMED)
    }

    /// Whether a call must see all rows at once.
    pub fn takes_columns(&self) -> bool {
        self.definition.granularity == Granularity::Column
    }

    /// It as a function of SQL for arguments of these types, of which some are literals.
    pub fn as_scalar(self: &Arc<Self>, arg_types: Vec<LogicalType>, literals: Vec<bool>) -> ScalarFunction {
        ScalarFunction {
            name: self.definition.name.clone().into(),
            arg_types,
            return_type: self.definition.returns.clone(),
            null_handling: self.definition.null_handling,
            volatility: self.definition.volatility,
            can_fail: true,
            kernel: Arc::new(Kernel { external: Arc::clone(self), literals }),
            specialize: None,
            external: Some(Arc::clone(self)),
        }
    }

    /// The values of `len` rows, for a call at a place of a statement; of fewer where that [takes fewer](CallSite).
    pub fn call(&self, args: &[Vector], site: &CallSite, len: usize) -> Result<Vector> {
        if len == 0 {
            return Ok(Vector::empty(self.definition.returns.clone()));
        }
        if self.definition.null_handling == NullHandling::Propagate
            && args.iter().any(|arg| arg.null_count() > 0)
        {
            return self.call_without_nulls(args, site, len);
        }
        self.call_once_per_value(args, site, len)
    }

    fn call_without_nulls(&self, args: &[Vector], site: &CallSite, len: usize) -> Result<Vector> {
        let mut rows: Vec<u32> = Vec::with_capacity(len);
        let mut places = vec![0u32; len];
        for (row, place) in places.iter_mut().enumerate() {
            if args.iter().all(|arg| !arg.is_null(row)) {
                *place = rows.len() as u32;
                rows.push(row as u32);
            }
        }
        if rows.is_empty() {
            return Ok(Vector::nulls(self.definition.returns.clone(), len));
        }
        let taken: Vec<Vector> = args.iter().map(|arg| arg.take(&rows)).collect();
        let given = self.call_once_per_value(&taken, site, rows.len())?;
        if given.len() < rows.len() {
            return Ok(given);
        }
        let mut values = given.flatten().take(&places);
        let is_given = Bitmap::from_fn(len, |row| args.iter().all(|arg| !arg.is_null(row)));
        let validity = Bitmap::and_optional(values.validity(), Some(&is_given));
        values.set_validity(validity);
        values.normalize_nulls();
        Ok(values)
    }

    /// Where all rows have few combinations of values that the function cannot tell apart, it sees each once.
    fn call_once_per_value(&self, args: &[Vector], site: &CallSite, len: usize) -> Result<Vector> {
        let is_of_rows = self.definition.volatility == Volatility::Immutable && !site.takes_fewer;
        if !is_of_rows || self.takes_columns() || args.is_empty() {
            return self.call_checked(args, site, len);
        }
        let mut variable = args.iter().filter(|arg| !arg.is_constant());
        match (variable.next(), variable.next()) {
            (None, _) => {
                let first: Vec<Vector> = args.iter().map(|arg| arg.slice(0, 1)).collect();
                let value = self.call_checked(&first, site, 1)?;
                Ok(value.flatten().take(&vec![0; len]))
            }
            (Some(only), None) => match only.kind() {
                VectorKind::Dictionary(_) => self.call_on_distinct(only, args, site, len),
                VectorKind::Flat | VectorKind::Constant => self.call_checked(args, site, len),
            },
            _ => self.call_checked(args, site, len),
        }
    }

    fn call_on_distinct(
        &self,
        coded: &Vector,
        args: &[Vector],
        site: &CallSite,
        len: usize,
    ) -> Result<Vector> {
        let mut first: Vec<u32> = Vec::new();
        let mut numbers: HashMap<Option<u32>, u32> = HashMap::new();
        let codes = coded.codes();
        let places: Vec<u32> = (0..len)
            .map(|row| {
                let code = (!coded.is_null(row)).then(|| codes[row]);
                *numbers.entry(code).or_insert_with(|| {
                    first.push(row as u32);
                    first.len() as u32 - 1
                })
            })
            .collect();
        if first.len() == len {
            return self.call_checked(args, site, len);
        }
        let taken: Vec<Vector> = args.iter().map(|arg| arg.take(&first)).collect();
        Ok(self.call_checked(&taken, site, first.len())?.flatten().take(&places))
    }

    fn call_checked(&self, args: &[Vector], site: &CallSite, len: usize) -> Result<Vector> {
        let shown = |(index, arg): (usize, &Vector)| {
            let is_constant = site.constants.get(index).is_some_and(|constant| *constant);
            if arg.is_constant() && !is_constant { arg.flatten() } else { arg.clone() }
        };
        let args: Vec<Vector> = args.iter().enumerate().map(shown).collect();
        let Callee::Scalar(function) = &self.callee else {
            let message = format!("function \"{}\" was called as a scalar function", self.definition.name);
            return Err(Error::internal(message));
        };
        let started = Instant::now();
        let values = if site.takes_fewer {
            function.reduce(&args, len, &site.kept)?
        } else {
            function.call(&args, len, &site.kept)?
        };
        self.rows.fetch_add(len as u64, Ordering::Relaxed);
        self.nanos.fetch_add(started.elapsed().as_nanos() as u64, Ordering::Relaxed);
        let (name, returns) = (&self.definition.name, &self.definition.returns);
        let has_fewer = values.len() < len && site.takes_fewer;
        if (values.len() != len && !has_fewer) || values.ty() != returns {
            return Err(Error::external(format!(
                "function \"{name}\" gave {} rows of {}, not {len} rows of {returns}",
                values.len(),
                values.ty()
            )));
        }
        Ok(values)
    }

    /// Why a function of whole columns cannot stand where rows come in parts.
    fn needs_columns(&self) -> Error {
        let (name, language) = (&self.definition.name, self.definition.language.to_uppercase());
        // One that the host registered was not declared in SQL.
        let (written, alternative) = match self.definition.body.is_empty() {
            true => (
                String::new(),
                "a function that is registered for parts of columns can stand there".to_string(),
            ),
            false => (
                format!(" (LANGUAGE {language})"),
                format!("LANGUAGE {language}_MAP lets it be called on parts"),
            ),
        };
        Error::Unsupported {
            feature: format!(
                "function \"{name}\", which takes whole columns{written}, where rows are computed in parts: \
                 in lambdas, constraints, generated columns, indexes and join conditions"
            ),
            alternative: Some(alternative),
        }
    }
}

/// Calls the function on the rows of a batch.
struct Kernel {
    external: Arc<External>,
    literals: Vec<bool>,
}

impl ScalarKernel for Kernel {
    fn eval(&self, args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
        if self.external.takes_columns() {
            return Err(self.external.needs_columns());
        }
        let args: Vec<Vector> = args.iter().map(|&arg| arg.clone()).collect();
        // A plan, and with it this kernel, may be kept for other executions.
        *out = self.external.call(&args, &CallSite::new(self.literals.clone()), len)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests;

//! Table functions of a host: what a call is given, and how its rows come back.
//!
//! A call is bound to its arguments: values, which are constants of the statement, and the columns of a table. What a function
//! [`Takes`] decides what is bound:
//!
//! - The whole table: an aggregate of its columns whose value is the list of the function's rows; the query goes through
//!   that list. So PARTITION BY is GROUP BY, and memory, workers and cancelling are those of aggregates.
//! - Parts of it, or no table: an [`ExternalStream`], which the executor's `table_call` gives rows to and takes rows from.
//! - Values of the columns beside it ([`External::by_row`]): a scalar function whose values are lists of rows.
//!
//! Interface and rules otherwise: `external::aggregate`.

use super::{
    Callee, External, ExternalAggregate, ExternalFunction, FunctionDefinition, FunctionKind, Granularity,
};
use crate::function::{AggregateFunction, NullHandling, ScalarFunction};
use inlay_types::logical_type::Field;
use inlay_types::{Batch, Error, LogicalType, Result, Value, Vector};
use std::fmt;
use std::sync::Arc;

/// Names and types of columns.
pub type NamedTypes = Vec<(String, LogicalType)>;

/// An argument of a call.
#[derive(Clone, Debug, PartialEq)]
pub enum TableArgument {
    /// A constant of the parameter's type.
    Value(Value),
    /// Names and types of the columns of a table.
    Table(NamedTypes),
    /// Those of a table whose columns are parameters of their own, in order.
    Columns(NamedTypes),
}

/// What a table function sees of its table at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    /// All rows, or all of a partition.
    Whole,
    /// Any rows, by themselves: parts are given to all workers.
    Parts,
    /// One part after the other, in order, and then the end of the table.
    Stream,
}

/// A call that rows are given to and taken from.
pub trait ExternalStream: Send + Sync + fmt::Debug {
    /// Begins a table, or a partition of it. Runs nothing of the function.
    fn begin(&self) -> Box<dyn StreamState>;
}

/// A table under way. What was made of rows is taken before more are given.
pub trait StreamState: Send {
    /// Gives rows, at least one; a function without a table is given one row without columns.
    fn give(&mut self, columns: &[Vector], len: usize) -> Result<()>;

    /// There are no more rows.
    fn finish(&mut self) -> Result<()>;

    /// Some of the rows that were made of what was given, at least one, of the declared types; `None` when more may be given.
    fn next(&mut self) -> Result<Option<Batch>>;
}

/// A table function that can be called.
pub trait ExternalTable: Send + Sync + fmt::Debug {
    /// What it sees of its table at once.
    fn takes(&self) -> Takes;

    /// The columns that it gives for these arguments, and the function that gives them, where they are not declared. May run
    /// the function's code.
    fn columns(&self, arguments: &[TableArgument]) -> Result<(NamedTypes, Arc<dyn ExternalTable>)>;

    /// The function with these arguments, which gets its table in parts, if it has one.
    fn stream(&self, arguments: Vec<TableArgument>) -> Result<Arc<dyn ExternalStream>>;

    /// The function of values that differ from row to row: the list of what it gives for each row.
    fn by_row(&self) -> Arc<dyn ExternalFunction>;

    /// The function with these arguments: for each group of rows of the table the list of what it gives.
    fn bind(&self, arguments: Vec<TableArgument>) -> Result<Arc<dyn ExternalAggregate>>;

    /// See [`Callee::queries`].
    fn queries(&self) -> bool {
        false
    }
}

impl FunctionDefinition {
    /// The columns of a table function.
    pub fn table_columns(&self) -> &[Field] {
        match (self.kind, &self.returns) {
            (FunctionKind::Table, LogicalType::List(row)) => match &**row {
                LogicalType::Struct(fields) => fields,
                _ => &[],
            },
            _ => &[],
        }
    }
}

/// A call of a table function that rows are given to and taken from.
#[derive(Clone, Debug)]
pub struct TableCall {
    /// The function.
    pub external: Arc<External>,
    /// The types of the columns that it is given.
    pub arg_types: Vec<LogicalType>,
    /// Whether it is given a table; otherwise it is called once.
    pub has_table: bool,
    /// Rows are given to it in order, by one worker.
    pub in_order: bool,
    /// What it is called by.
    pub stream: Arc<dyn ExternalStream>,
}

fn types_of(arguments: &[TableArgument]) -> Vec<LogicalType> {
    let columns = arguments.iter().filter_map(|argument| match argument {
        TableArgument::Table(columns) | TableArgument::Columns(columns) => {
            Some(columns.iter().map(|(_, ty)| ty.clone()))
        }
        TableArgument::Value(_) => None,
    });
    columns.flatten().collect()
}

impl External {
    fn table(&self) -> Result<&Arc<dyn ExternalTable>> {
        match &self.callee {
            Callee::Table(table) => Ok(table),
            Callee::Scalar(_) | Callee::Aggregate(_) => Err(Error::internal(format!(
                "function \"{}\" was called as a table function",
                self.definition.name
            ))),
        }
    }

    /// The function with the columns that it gives for these arguments, if it does not declare them.
    pub fn with_columns(self: &Arc<Self>, arguments: &[TableArgument]) -> Result<Arc<Self>> {
        if !self.definition.table_columns().is_empty() {
            return Ok(Arc::clone(self));
        }
        let name = &self.definition.name;
        let (columns, table) = self.table()?.columns(arguments)?;
        let is_repeated = |index: usize| {
            columns[..index].iter().any(|(known, _)| known.eq_ignore_ascii_case(&columns[index].0))
        };
        if columns.is_empty() || (0..columns.len()).any(is_repeated) {
            return Err(Error::external(format!(
                "the schema of function \"{name}\" needs columns with different names"
            )));
        }
        let returns = LogicalType::list(LogicalType::structure(columns));
        Ok(Self::new(FunctionDefinition { returns, ..self.definition.clone() }, Callee::Table(table)))
    }

    /// What a table function sees of its table at once.
    pub fn takes(&self) -> Result<Takes> {
        Ok(self.table()?.takes())
    }

    /// The call of a table function that gets its table in parts, or none.
    pub fn as_stream(self: &Arc<Self>, arguments: Vec<TableArgument>) -> Result<TableCall> {
        let table = self.table()?;
        Ok(TableCall {
            external: Arc::clone(self),
            arg_types: types_of(&arguments),
            has_table: arguments.iter().any(|argument| !matches!(argument, TableArgument::Value(_))),
            in_order: table.takes() != Takes::Parts,
            stream: table.stream(arguments)?,
        })
    }

    /// The function of values that differ from row to row: lists of rows.
    pub fn by_row(&self, arg_types: Vec<LogicalType>, literals: Vec<bool>) -> Result<ScalarFunction> {
        let definition = FunctionDefinition {
            kind: FunctionKind::Scalar,
            granularity: Granularity::Chunk,
            ..self.definition.clone()
        };
        let bound = Self::new(definition, Callee::Scalar(self.table()?.by_row()));
        Ok(bound.as_scalar(arg_types, literals))
    }

    /// The call of a table function as an aggregate of its table's columns.
    pub fn as_table(&self, arguments: Vec<TableArgument>) -> Result<AggregateFunction> {
        let table = self.table()?;
        let types = types_of(&arguments);
        let definition = FunctionDefinition {
            kind: FunctionKind::Aggregate,
            null_handling: NullHandling::Special,
            ..self.definition.clone()
        };
        let bound = Self::new(definition, Callee::Aggregate(table.bind(arguments)?));
        Ok(bound.as_aggregate(types, true))
    }
}

//! Table functions of a host: what a call is given, and how its rows come back.
//!
//! A call is bound to its arguments: values, which are constants of the statement, and the columns of a table. What is bound is
//! an aggregate of these columns whose value is the list of the function's rows; the query goes through that list. So
//! PARTITION BY is GROUP BY, and memory, workers and cancelling are those of aggregates. Without a table there is one row
//! without columns.
//!
//! Interface and rules otherwise: `external::aggregate`.

use super::{Callee, External, ExternalAggregate, FunctionDefinition, FunctionKind};
use crate::function::{AggregateFunction, NullHandling};
use inlay_types::logical_type::Field;
use inlay_types::{Error, LogicalType, Result, Value};
use std::fmt;
use std::sync::Arc;

/// An argument of a call.
#[derive(Clone, Debug, PartialEq)]
pub enum TableArgument {
    /// A constant of the parameter's type.
    Value(Value),
    /// Names and types of the columns of a table.
    Table(Vec<(String, LogicalType)>),
}

/// A table function that can be called.
pub trait ExternalTable: Send + Sync + fmt::Debug {
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

impl External {
    /// The call of a table function as an aggregate of its table's columns.
    pub fn as_table(&self, arguments: Vec<TableArgument>) -> Result<AggregateFunction> {
        let Callee::Table(table) = &self.callee else {
            let message = format!("function \"{}\" was called as a table function", self.definition.name);
            return Err(Error::internal(message));
        };
        let columns = arguments.iter().filter_map(|argument| match argument {
            TableArgument::Table(columns) => Some(columns.iter().map(|(_, ty)| ty.clone())),
            TableArgument::Value(_) => None,
        });
        let types = columns.flatten().collect();
        let definition = FunctionDefinition {
            kind: FunctionKind::Aggregate,
            null_handling: NullHandling::Special,
            ..self.definition.clone()
        };
        let bound = Self::new(definition, Callee::Aggregate(table.bind(arguments)?));
        Ok(bound.as_aggregate(types, true))
    }
}

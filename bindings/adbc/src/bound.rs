//! Rows that the caller bound to a statement: parameters of its runs, or what is to be loaded.

use crate::failure::{Failure, Outcome};
use inlay::types::arrow::{ArrowArray, ArrowField, ArrowRecords, ArrowSchema, StreamReader};
use inlay::{ArrowStreamTable, ArrowTable, Limits, Parameters, ScanRequest, TableSource, Value};
use std::sync::Arc;

/// What EXPLAIN calls bound rows.
const NAME: &str = "bound rows";

/// Bound rows, which a run consumes.
pub struct Bound(Arc<dyn TableSource>);

impl Bound {
    /// One record batch.
    pub fn array(array: ArrowArray, schema: &ArrowSchema) -> Outcome<Self> {
        let field = ArrowField::read(schema)?;
        let records = ArrowRecords::import(array, &field)?;
        Ok(Self(Arc::new(ArrowTable::new(NAME, &field, vec![records])?)))
    }

    /// Record batches that are read when they are needed.
    pub fn stream(stream: StreamReader) -> Outcome<Self> {
        Ok(Self(Arc::new(ArrowStreamTable::new(NAME, stream)?)))
    }

    /// The rows as a table.
    pub fn table(&self) -> Arc<dyn TableSource> {
        Arc::clone(&self.0)
    }

    /// Each row as the parameters of one run, by position or by the columns' names.
    pub fn parameters(&self, by_name: bool, limits: Limits) -> Outcome<Vec<Parameters>> {
        let columns = self.0.columns();
        let request = ScanRequest {
            columns: (0..columns.len()).collect(),
            filters: Vec::new(),
            any_of: Vec::new(),
            budget: limits.budget,
            interrupt: limits.interrupt.clone(),
        };
        let scan = self.0.scan(request)?;
        let mut sets = Vec::new();
        while let Some(task) = scan.next_task()? {
            for batch in task {
                limits.interrupt.check()?;
                let batch = batch?;
                for row in 0..batch.len() {
                    let values: Vec<Value> = batch.columns().iter().map(|column| column.get(row)).collect();
                    sets.push(if by_name {
                        let name =
                            |column: &inlay::SourceColumn| column.name.trim_start_matches('$').to_string();
                        let named = columns.iter().map(name).zip(values).collect();
                        Parameters { positional: Vec::new(), named }
                    } else {
                        Parameters { positional: values, named: Vec::new() }
                    });
                }
            }
        }
        Ok(sets)
    }
}

/// Whoever asks for rows that were never bound.
pub fn nothing_bound() -> Failure {
    Failure::state("there are no rows to load; call AdbcStatementBind or AdbcStatementBindStream first")
}

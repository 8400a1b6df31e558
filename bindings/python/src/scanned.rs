//! Objects that read for themselves what a query wants of them: datasets of pyarrow and lazy frames of Polars.
//!
//! The columns that a query reads and the conditions that they can evaluate as we do are pushed into the object, which
//! happens in `inlay._scans`. The engine filters again, so that leaving a condition out is never wrong.

use crate::arrow;
use crate::errors::external;
use crate::rows;
use inlay::types::Error;
use inlay::{ArrowStreamTable, ArrowTable, TableSource, Value};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};
use std::fmt;
use std::sync::Arc;

/// The object, and its columns.
pub struct Scanned {
    name: String,
    object: Py<PyAny>,
    /// Without rows.
    schema: ArrowTable,
}

impl Scanned {
    /// A table of the rows that the object has whenever it is scanned.
    pub fn new(py: Python<'_>, name: &str, object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let empty = py.import("inlay._scans")?.getattr("empty")?.call1((object,))?;
        let stream = arrow::import(py, &empty)?;
        let schema = crate::errors::unwrapped(py, ArrowTable::from_stream(name, stream))?;
        Ok(Self { name: name.to_string(), object: object.clone().unbind(), schema })
    }

    /// The rows, and where among their columns those wanted are.
    fn read(&self, request: &inlay::ScanRequest) -> PyResult<inlay::Result<(ArrowStreamTable, Vec<usize>)>> {
        Python::attach(|py| {
            // A scan without columns would have no rows either.
            let wanted = if request.columns.is_empty() { &[0] } else { &request.columns[..] };
            let names: Vec<&str> = wanted.iter().map(|&index| self.column_name(index)).collect();
            let conditions = self.conditions(py, &request.filters)?;
            let any_of = PyList::empty(py);
            for lists in &request.any_of {
                let lists =
                    lists.iter().map(|list| self.conditions(py, list)).collect::<PyResult<Vec<_>>>()?;
                any_of.append(lists)?;
            }
            let read = py.import("inlay._scans")?.getattr("read")?;
            let (rows, has_all): (Bound<'_, PyAny>, bool) =
                read.call1((self.object.bind(py), names, conditions, any_of))?.extract()?;
            let stream = arrow::import(py, &rows)?;
            let has_infinity: bool =
                py.import("inlay._tables")?.getattr("has_infinity")?.call1((&rows,))?.extract()?;
            let stream = if has_infinity { stream } else { stream.without_infinity() };
            let columns =
                if has_all { request.columns.clone() } else { (0..request.columns.len()).collect() };
            Ok(ArrowStreamTable::new(self.name.as_str(), stream).map(|table| (table, columns)))
        })
    }

    fn column_name(&self, index: usize) -> &str {
        &self.schema.columns()[index].name
    }

    /// Conditions as tuples of column, operator, constants; those that have no such form are left out.
    fn conditions<'py>(
        &self,
        py: Python<'py>,
        filters: &[inlay::SourceFilter],
    ) -> PyResult<Bound<'py, PyList>> {
        let conditions = PyList::empty(py);
        for filter in filters {
            let name = self.column_name(filter.column);
            for condition in inlay::conditions(filter) {
                let constants = condition.constants.iter().map(|value| constant(py, value));
                let constants = PyTuple::new(py, constants.collect::<PyResult<Vec<_>>>()?)?;
                let condition = (name, condition.comparison.sql(), constants).into_bound_py_any(py)?;
                conditions.append(condition)?;
            }
        }
        Ok(conditions)
    }
}

/// Dates and timestamps as the numbers that Arrow has for them; others as rows have them.
fn constant(py: Python<'_>, value: &Value) -> PyResult<Py<PyAny>> {
    match value {
        Value::Date(days) => days.into_py_any(py),
        Value::Timestamp(at)
        | Value::TimestampTz(at)
        | Value::TimestampS(at)
        | Value::TimestampMs(at)
        | Value::TimestampNs(at) => at.into_py_any(py),
        other => rows::object(py, &rows::Shown::default(), other),
    }
}

impl fmt::Debug for Scanned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Scanned({})", self.name)
    }
}

impl TableSource for Scanned {
    fn description(&self) -> String {
        self.name.clone()
    }

    fn columns(&self) -> &[inlay::SourceColumn] {
        self.schema.columns()
    }

    fn row_count_estimate(&self) -> Option<u64> {
        None
    }

    fn scan(&self, request: inlay::ScanRequest) -> inlay::Result<Box<dyn inlay::SourceScan>> {
        let (table, columns) = self.read(&request).map_err(|error| {
            Python::attach(|py| external(py, &format!("cannot read {}", self.name), error))
        })??;
        let found = table.columns();
        for (&place, &index) in columns.iter().zip(&request.columns) {
            let expected = &self.columns()[index];
            if found.get(place).map(|column| &column.ty) != Some(&expected.ty) {
                let message = format!(
                    "the column \"{}\" of {} is not of the type {} any more",
                    expected.name, self.name, expected.ty
                );
                return Err(Error::invalid_argument(message));
            }
        }
        let table: Arc<dyn TableSource> = Arc::new(table);
        table.scan(inlay::ScanRequest { columns, filters: Vec::new(), any_of: Vec::new(), ..request })
    }
}

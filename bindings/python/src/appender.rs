//! `inlay.Appender`: rows one by one, which reach a table by the way of bulk loads.

use crate::errors::{misuse, unwrapped};
use crate::host::{InCall, PythonHost, hosted};
use crate::parameters;
use crate::register;
use inlay::types::{LogicalType, VectorBuilder};
use inlay::{ColumnSource, Extent, HostTable, Parameters, TableSource, Value};
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::PyTuple;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// So many rows are collected before they are handed over: those of a row group.
const ROWS_MAX: usize = 131_072;

#[doc = doc!("Appender")]
#[pyclass(frozen, module = "inlay")]
pub struct Appender {
    connection: inlay::Connection,
    /// The statement that takes the rows, and what it calls them.
    sql: String,
    source: String,
    names: Vec<String>,
    types: Vec<LogicalType>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// One for each column.
    builders: Vec<VectorBuilder>,
    is_closed: bool,
}

impl Appender {
    /// An appender of rows that have the columns of `query`.
    pub fn new(
        py: Python<'_>,
        connection: &inlay::Connection,
        query: &str,
        sql: &str,
        source: &str,
    ) -> PyResult<Self> {
        let host = PythonHost::new(connection, Vec::new());
        let described = hosted(py, &host, |host| {
            connection.describe_with(query, Extent::Statement, &Parameters::default(), Some(host))
        })?;
        let Some(columns) = described.columns else {
            return Err(misuse(py, "an appender needs a table with columns"));
        };
        let (names, types) = columns.into_iter().unzip();
        let (connection, state) = (connection.clone(), Mutex::default());
        Ok(Self { connection, sql: sql.to_string(), source: source.to_string(), names, types, state })
    }

    /// The rows collected, unless it is closed.
    fn state(&self, py: Python<'_>) -> PyResult<MutexGuard<'_, State>> {
        let mut state = self.state.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
        if state.is_closed {
            return Err(misuse(py, "the appender is closed; make another"));
        }
        if state.builders.is_empty() {
            state.builders = self.types.iter().map(|ty| VectorBuilder::new(ty.clone(), 0)).collect();
        }
        Ok(state)
    }

    /// A row as values of the columns' types.
    fn row(&self, py: Python<'_>, values: &Bound<'_, PyAny>) -> PyResult<Vec<Value>> {
        let count = values.len()?;
        if count != self.types.len() {
            let expected = self.types.len();
            let message =
                format!("a row of this appender has {expected} values, one per column, not {count}");
            return Err(misuse(py, message));
        }
        let mut row = Vec::with_capacity(count);
        for (index, given) in values.try_iter()?.enumerate() {
            row.push(parameters::value_as(py, &given?, &self.types[index]).inspect_err(|error| {
                let note = format!("in the column \"{}\"", self.names[index]);
                // Python 3.10 has no notes.
                let _ = error.value(py).call_method1("add_note", (note,));
            })?);
        }
        Ok(row)
    }

    /// Adds a row to those collected; how many there are then.
    fn push(&self, py: Python<'_>, row: &[Value]) -> PyResult<usize> {
        let mut state = self.state(py)?;
        for (builder, value) in state.builders.iter_mut().zip(row) {
            unwrapped(py, builder.push(value))?;
        }
        Ok(state.builders.first().map_or(0, VectorBuilder::len))
    }

    /// Runs the statement with these rows.
    fn take_in(&self, py: Python<'_>, rows: Arc<dyn TableSource>) -> PyResult<()> {
        let host = PythonHost::new(&self.connection, vec![(self.source.clone(), HostTable::Rows(rows))]);
        let none = Parameters::default();
        hosted(py, &host, |host| self.connection.execute_one(&self.sql, &none, Some(host)))?;
        Ok(())
    }
}

#[pymethods]
impl Appender {
    #[doc = doc!("Appender.append_row")]
    #[pyo3(signature = (*values))]
    fn append_row(&self, py: Python<'_>, values: &Bound<'_, PyTuple>) -> PyResult<()> {
        let _call = InCall::of(&self.connection);
        let row = self.row(py, values)?;
        if self.push(py, &row)? >= ROWS_MAX {
            self.flush(py)?;
        }
        Ok(())
    }

    #[doc = doc!("Appender.append_rows")]
    fn append_rows(&self, py: Python<'_>, rows: &Bound<'_, PyAny>) -> PyResult<()> {
        let _call = InCall::of(&self.connection);
        for row in rows.try_iter()? {
            let row = self.row(py, &row?)?;
            if self.push(py, &row)? >= ROWS_MAX {
                self.flush(py)?;
            }
        }
        Ok(())
    }

    #[doc = doc!("Appender.append")]
    fn append(&self, py: Python<'_>, data: &Bound<'_, PyAny>) -> PyResult<()> {
        let _call = InCall::of(&self.connection);
        self.flush(py)?;
        self.take_in(py, register::source(py, &self.source, data, self.connection.host_settings())?)
    }

    #[doc = doc!("Appender.flush")]
    fn flush(&self, py: Python<'_>) -> PyResult<()> {
        let _call = InCall::of(&self.connection);
        let builders = std::mem::take(&mut self.state(py)?.builders);
        if builders.first().is_none_or(VectorBuilder::is_empty) {
            return Ok(());
        }
        let vectors = builders.into_iter().map(VectorBuilder::finish);
        let columns = self.names.iter().cloned().zip(vectors).collect();
        self.take_in(py, Arc::new(unwrapped(py, ColumnSource::new(&*self.source, columns))?))
    }

    #[doc = doc!("Appender.clear")]
    fn clear(&self, py: Python<'_>) -> PyResult<()> {
        self.state(py)?.builders.clear();
        Ok(())
    }

    #[doc = doc!("Appender.close")]
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let _call = InCall::of(&self.connection);
        let is_closed = self.state.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner).is_closed;
        if is_closed {
            return Ok(());
        }
        let flushed = self.flush(py);
        self.state.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner).is_closed = true;
        flushed
    }

    #[doc = doc!("Appender.columns")]
    #[getter]
    fn columns(&self) -> Vec<String> {
        self.names.clone()
    }

    #[doc = doc!("Appender.types")]
    #[getter]
    fn types(&self) -> Vec<String> {
        self.types.iter().map(ToString::to_string).collect()
    }

    fn __enter__(slf: PyRef<'_, Self>) -> Py<Self> {
        slf.into()
    }

    /// What was collected is left out when the block ends by an exception.
    #[pyo3(signature = (exception, *_more))]
    fn __exit__(
        &self,
        py: Python<'_>,
        exception: &Bound<'_, PyAny>,
        _more: &Bound<'_, PyTuple>,
    ) -> PyResult<()> {
        let is_closed = self.state.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner).is_closed;
        if !exception.is_none() && !is_closed {
            self.clear(py)?;
        }
        self.close(py)
    }
}

//! Rows that are collected one by one and go into a table together: `inlay.Appender`.

use crate::errors::{misuse, unwrapped};
use crate::host::{InCall, PythonHost, hosted, locked};
use crate::parameters;
use crate::register;
use inlay::Value;
use inlay::types::LogicalType;
use pyo3::exceptions::PyRuntimeWarning;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::sync::{Mutex, MutexGuard};

#[doc = doc!("Appender")]
#[pyclass(frozen, module = "inlay")]
pub struct Appender {
    connection: inlay::Connection,
    source: String,
    names: Vec<String>,
    types: Vec<LogicalType>,
    /// Gone when it is closed.
    rows: Mutex<Option<inlay::Appender>>,
}

impl Appender {
    /// An appender of rows that have the columns of `query`, which the statement `sql` takes from the table `source`.
    pub fn new(
        py: Python<'_>,
        connection: &inlay::Connection,
        query: &str,
        sql: &str,
        source: &str,
    ) -> PyResult<Self> {
        let host = PythonHost::new(connection, Vec::new());
        let rows =
            hosted(py, &host, |host| inlay::Appender::of_query(connection, query, sql, source, Some(host)))?;
        let (names, types) = (rows.names().to_vec(), rows.types().to_vec());
        let (connection, source) = (connection.clone(), source.to_string());
        Ok(Self { connection, source, names, types, rows: Mutex::new(Some(rows)) })
    }

    fn rows(&self, py: Python<'_>) -> PyResult<MutexGuard<'_, Option<inlay::Appender>>> {
        locked(py, &self.rows, "a function cannot use the appender whose rows the statement around takes in")
    }

    /// Does something with the rows, unless it is closed. The engine may ask Python meanwhile.
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut inlay::Appender, &std::sync::Arc<dyn inlay::Host>) -> inlay::Result<T> + Send,
    ) -> PyResult<T> {
        let mut rows = self.rows(py)?;
        let Some(rows) = &mut *rows else {
            return Err(misuse(py, "the appender is closed; make another"));
        };
        let host = PythonHost::new(&self.connection, Vec::new());
        hosted(py, &host, |host| work(rows, host))
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

    /// Adds a row to those collected; a full appender puts them into the table.
    fn push(&self, py: Python<'_>, row: &[Value]) -> PyResult<()> {
        let mut rows = self.rows(py)?;
        let Some(appender) = &mut *rows else {
            return Err(misuse(py, "the appender is closed; make another"));
        };
        if !appender.is_nearly_full() {
            return unwrapped(py, appender.push_row(row, None));
        }
        let host = PythonHost::new(&self.connection, Vec::new());
        hosted(py, &host, |host| appender.push_row(row, Some(host)))
    }
}

/// Rows of an appender that nobody closed are left out, which is told.
impl Drop for Appender {
    fn drop(&mut self) {
        let Ok(rows) = self.rows.get_mut() else { return };
        let count = rows.take().map_or(0, |rows| rows.pending_rows());
        if count == 0 {
            return;
        }
        let note = format!(
            "an appender was not closed: its last {count} rows are not in the table; call close(), or use it as \
             `with con.appender(...) as rows:`"
        );
        Python::try_attach(|py| {
            let Ok(note) = std::ffi::CString::new(note) else { return };
            if let Err(error) = PyErr::warn(py, &py.get_type::<PyRuntimeWarning>(), &note, 1) {
                // Where warnings are errors: there is nobody to raise it to.
                error.write_unraisable(py, None);
            }
        });
    }
}

#[pymethods]
impl Appender {
    #[doc = doc!("Appender.append_row")]
    #[pyo3(signature = (*values))]
    fn append_row(&self, py: Python<'_>, values: &Bound<'_, PyTuple>) -> PyResult<()> {
        let _call = InCall::of(&self.connection);
        let row = self.row(py, values)?;
        self.push(py, &row)
    }

    #[doc = doc!("Appender.append_rows")]
    fn append_rows(&self, py: Python<'_>, rows: &Bound<'_, PyAny>) -> PyResult<()> {
        let _call = InCall::of(&self.connection);
        rows.try_iter()?.try_for_each(|row| {
            let row = self.row(py, &row?)?;
            self.push(py, &row)
        })
    }

    #[doc = doc!("Appender.append")]
    fn append(&self, py: Python<'_>, data: &Bound<'_, PyAny>) -> PyResult<()> {
        let _call = InCall::of(&self.connection);
        let source = register::source(py, &self.source, data, self.connection.host_settings())?;
        self.with(py, |rows, host| rows.append(source, Some(host)))
    }

    #[doc = doc!("Appender.flush")]
    fn flush(&self, py: Python<'_>) -> PyResult<()> {
        let _call = InCall::of(&self.connection);
        self.with(py, |rows, host| rows.flush(Some(host)))
    }

    #[doc = doc!("Appender.clear")]
    fn clear(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, |rows, _| {
            rows.clear();
            Ok(())
        })
    }

    #[doc = doc!("Appender.close")]
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let _call = InCall::of(&self.connection);
        if self.rows(py)?.is_none() {
            return Ok(());
        }
        let flushed = self.flush(py);
        let rows = self.rows(py)?.take();
        drop(rows);
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
        if !exception.is_none() && self.rows(py)?.is_some() {
            self.clear(py)?;
        }
        self.close(py)
    }
}

//! What a connection gives for statements that are repeated, and for blocks that are transactions.

use super::{Connection, FIRST_BYTES};
use crate::host::{InCall, PythonHost, hosted};
use crate::parameters;
use inlay::{Parameters, PreparedStatement};
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::PyTuple;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

#[doc = doc!("PreparedStatement")]
#[pyclass(frozen, weakref, module = "inlay", name = "PreparedStatement")]
pub struct Prepared {
    pub(super) connection: Py<Connection>,
    pub(super) prepared: PreparedStatement,
}

#[pymethods]
impl Prepared {
    #[doc = doc!("PreparedStatement.execute")]
    #[pyo3(signature = (parameters = None))]
    fn execute(&self, py: Python<'_>, parameters: Option<&Bound<'_, PyAny>>) -> PyResult<Connection> {
        let _call = InCall::of(&self.connection.get().engine);
        let parameters = parameters::parameters(py, parameters)?;
        let connection = self.connection.get();
        let host = PythonHost::new(&connection.engine, Vec::new());
        let begun =
            hosted(py, &host, |host| self.prepared.stream_with(&parameters, Some(host), FIRST_BYTES))?;
        Ok(connection.answer(py, connection.begun(&host, begun)))
    }

    #[doc = doc!("PreparedStatement.executemany")]
    fn executemany(&self, py: Python<'_>, parameters: &Bound<'_, PyAny>) -> PyResult<Connection> {
        let _call = InCall::of(&self.connection.get().engine);
        let sets = parameters.try_iter()?.map(|set| parameters::parameters(py, Some(&set?)));
        let sets = sets.collect::<PyResult<Vec<_>>>()?;
        let connection = self.connection.get();
        let host = PythonHost::new(&connection.engine, Vec::new());
        let result = hosted(py, &host, |host| self.prepared.execute_many(&sets, Some(host)))?;
        Ok(connection.answer(py, connection.reading(result, None)))
    }

    #[doc = doc!("PreparedStatement.query")]
    #[getter]
    fn query(&self) -> &str {
        self.prepared.sql()
    }

    #[doc = doc!("PreparedStatement.parameter_count")]
    #[getter]
    fn parameter_count(&self) -> usize {
        self.prepared.parameter_count() + self.prepared.parameter_names().len()
    }

    #[doc = doc!("PreparedStatement.parameter_names")]
    #[getter]
    fn parameter_names(&self) -> Vec<String> {
        self.prepared.parameter_names().to_vec()
    }

    fn __repr__(&self) -> String {
        format!("<inlay.PreparedStatement {:?}>", self.prepared.sql())
    }
}

#[doc = doc!("Transaction")]
#[pyclass(frozen, module = "inlay")]
pub struct Transaction {
    pub(super) connection: Py<Connection>,
    /// Of each block that it was entered for, the innermost last: the savepoint, if it is one.
    pub(super) savepoints: Mutex<Vec<Option<String>>>,
}

/// Savepoints have names that no other block has.
static SAVEPOINTS: AtomicU64 = AtomicU64::new(0);

#[pymethods]
impl Transaction {
    fn __enter__(&self, py: Python<'_>) -> PyResult<Py<Connection>> {
        let connection = self.connection.get();
        let savepoint = connection
            .in_transaction(py)
            .then(|| format!("inlay_block_{}", SAVEPOINTS.fetch_add(1, Ordering::Relaxed)));
        let begin = savepoint.as_ref().map_or("BEGIN".to_string(), |name| format!("SAVEPOINT {name}"));
        connection.run(py, &begin, &Parameters::default())?;
        self.savepoints.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner).push(savepoint);
        Ok(self.connection.clone_ref(py))
    }

    #[pyo3(signature = (exception, *_more))]
    fn __exit__(
        &self,
        py: Python<'_>,
        exception: &Bound<'_, PyAny>,
        _more: &Bound<'_, PyTuple>,
    ) -> PyResult<()> {
        let connection = self.connection.get();
        let savepoint =
            self.savepoints.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner).pop().flatten();
        // The block may have ended the transaction, or closed the connection.
        if connection.engine.is_closed() || !connection.in_transaction(py) {
            return Ok(());
        }
        let end = match (savepoint, exception.is_none()) {
            (None, true) => "COMMIT".to_string(),
            (None, false) => "ROLLBACK".to_string(),
            (Some(name), true) => format!("RELEASE SAVEPOINT {name}"),
            (Some(name), false) => format!("ROLLBACK TO SAVEPOINT {name}; RELEASE SAVEPOINT {name}"),
        };
        connection.run(py, &end, &Parameters::default())?;
        Ok(())
    }
}

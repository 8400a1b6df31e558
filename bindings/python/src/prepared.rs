//! `inlay.PreparedStatement`.

use crate::connection::Connection;
use crate::cursor::Cursor;
use crate::host::{InCall, PythonHost, hosted};
use crate::parameters::Given;
use inlay::{ParameterShape, PreparedStatement};
use pyo3::prelude::*;
use std::sync::Arc;

#[doc = doc!("PreparedStatement")]
#[pyclass(frozen, weakref, module = "inlay", name = "PreparedStatement")]
pub struct Prepared {
    pub connection: Py<Connection>,
    pub prepared: PreparedStatement,
}

impl Prepared {
    /// As [`Connection::wanted`].
    fn wanted(&self, py: Python<'_>, host: &Arc<PythonHost>, matters: bool) -> Vec<ParameterShape> {
        if !matters {
            return Vec::new();
        }
        let shape = hosted(py, host, |host| self.prepared.describe(Some(host)));
        shape.map_or_else(|_| Vec::new(), |shape| shape.parameters)
    }
}

#[pymethods]
impl Prepared {
    #[doc = doc!("PreparedStatement.execute")]
    #[pyo3(signature = (parameters = None))]
    fn execute(&self, py: Python<'_>, parameters: Option<&Bound<'_, PyAny>>) -> PyResult<Connection> {
        let _call = InCall::of(&self.connection.get().engine);
        let given = Given::read(py, parameters)?;
        let connection = self.connection.get();
        let host = PythonHost::new(&connection.engine, Vec::new());
        let wanted = self.wanted(py, &host, given.is_mixed());
        let parameters = given.for_types(py, &wanted)?;
        let rows = hosted(py, &host, |host| self.prepared.stream(&parameters, Some(host)))?;
        Ok(connection.answer(py, Arc::new(Cursor::new(rows, Some(host)))))
    }

    #[doc = doc!("PreparedStatement.executemany")]
    fn executemany(&self, py: Python<'_>, parameters: &Bound<'_, PyAny>) -> PyResult<Connection> {
        let _call = InCall::of(&self.connection.get().engine);
        let sets = parameters.try_iter()?.map(|set| Given::read(py, Some(&set?)));
        let sets = sets.collect::<PyResult<Vec<_>>>()?;
        let connection = self.connection.get();
        let host = PythonHost::new(&connection.engine, Vec::new());
        let wanted = self.wanted(py, &host, sets.iter().any(Given::is_mixed));
        let sets = sets.into_iter().map(|set| set.for_types(py, &wanted)).collect::<PyResult<Vec<_>>>()?;
        let result = hosted(py, &host, |host| self.prepared.execute_many(&sets, Some(host)))?;
        Ok(connection.answer(py, connection.reading(result)))
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

//! `inlay.Relation`: the rows of a query, to look at, to fetch, or to query again.

use crate::arrow;
use crate::cursor::{self, Cursor};
use crate::errors::unwrapped;
use inlay::QueryResult;
use inlay::render::{RenderOptions, render};
use inlay::types::arrow::StringLayout;
use pyo3::exceptions::PyAttributeError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyIterator, PyList};

/// The rows of a query. Every method gives all rows, as in DuckDB; fetching row by row is a connection's.
#[pyclass(frozen, module = "inlay")]
pub struct Relation {
    result: QueryResult,
    /// Rows that are still in a table are there while the database is open.
    _connection: inlay::Connection,
}

impl Relation {
    /// A relation of these rows, which a connection delivered.
    pub fn new(result: QueryResult, connection: inlay::Connection) -> Self {
        Self { result, _connection: connection }
    }

    fn result(&self) -> &QueryResult {
        &self.result
    }

    fn cursor(&self) -> Cursor {
        Cursor::new(self.result.clone())
    }
}

#[pymethods]
impl Relation {
    fn fetchall(&self, py: Python<'_>) -> PyResult<Py<PyList>> {
        self.cursor().fetch_list(py, usize::MAX)
    }

    /// Called for names that are not there.
    fn __getattr__(&self, name: &str) -> PyResult<()> {
        Err(PyAttributeError::new_err(match name {
            "fetchone" | "fetchmany" => format!(
                "a relation has no {name}(), its methods give all rows; use fetchall(), or execute().{name}()"
            ),
            _ => format!("'Relation' object has no attribute '{name}'"),
        }))
    }

    fn fetchnumpy<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        cursor::arrays(py, self.result().clone())
    }

    fn df<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        cursor::data_frame(py, self.result().clone())
    }

    fn to_df<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.df(py)
    }

    fn fetchdf<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.df(py)
    }

    fn arrow<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        arrow::table(py, self.result().clone())
    }

    fn to_arrow_table<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.arrow(py)
    }

    fn fetch_arrow_table<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.arrow(py)
    }

    fn fetch_record_batch<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        arrow::reader(py, self.result().clone())
    }

    fn pl<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        arrow::polars(py, self.result().clone())
    }

    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        arrow::export(py, self.result().clone(), StringLayout::View)
    }

    #[getter]
    fn description(&self, py: Python<'_>) -> PyResult<Option<Py<PyList>>> {
        self.cursor().description(py)
    }

    #[getter]
    fn columns(&self) -> Vec<String> {
        self.result().names().to_vec()
    }

    #[getter]
    fn types(&self) -> Vec<String> {
        self.result().types().iter().map(ToString::to_string).collect()
    }

    #[getter]
    fn dtypes(&self) -> Vec<String> {
        self.types()
    }

    #[getter]
    fn shape(&self) -> (usize, usize) {
        (self.result().row_count(), self.result().types().len())
    }

    fn __len__(&self) -> usize {
        self.result().row_count()
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        self.fetchall(py)?.into_bound(py).try_iter()
    }

    /// Prints the table.
    #[pyo3(signature = (max_rows = 40, max_width = 160))]
    fn show(&self, py: Python<'_>, max_rows: usize, max_width: usize) -> PyResult<()> {
        let options = RenderOptions { rows_max: max_rows, width_max: max_width, ..RenderOptions::default() };
        let text = py.detach(|| render(self.result(), options));
        let text = unwrapped(py, text)?;
        py.import("builtins")?.getattr("print")?.call1((text,)).map(|_| ())
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        unwrapped(py, py.detach(|| render(self.result(), RenderOptions::default())))
    }
}

//! The rows that a statement gave, of which `inlay.Relation` delivers what was asked for.

use crate::arrow;
use crate::cursor::{self, Cursor, Holder, Unread};
use crate::errors::unwrapped;
use crate::host::InCall;
use crate::numpy::Decimals;
use crate::pending::PendingColumns;
use inlay::QueryResult;
use inlay::render::{RenderOptions, render};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyIterator, PyList};

#[doc = doc!("Answer")]
#[pyclass(frozen, module = "inlay")]
pub struct Answer {
    result: QueryResult,
    zone: Option<String>,
    /// Rows that are still in a table are there while the database is open.
    connection: inlay::Connection,
    pending: PendingColumns,
}

impl Answer {
    /// These rows, which a connection delivered.
    pub fn new(result: QueryResult, connection: inlay::Connection, pending: PendingColumns) -> Self {
        let zone = cursor::zone_of(&result, &connection);
        Self { result, zone, connection, pending }
    }

    /// The rows.
    pub fn result(&self) -> &QueryResult {
        &self.result
    }

    fn unread(&self) -> Unread {
        self.result.clone().into()
    }

    fn cursor(&self) -> Cursor {
        let rows = inlay::Cursor::new(self.connection.clone(), self.result.clone(), None);
        Cursor::in_zone(rows, None, self.zone.clone())
    }
}

#[pymethods]
impl Answer {
    #[doc = doc!("Answer.fetchall")]
    fn fetchall(&self, py: Python<'_>) -> PyResult<Py<PyList>> {
        let _call = InCall::of(&self.connection);
        self.cursor().fetch_list(py, usize::MAX)
    }

    #[doc = doc!("Answer.fetchnumpy")]
    #[pyo3(signature = (decimal = None, strings = None))]
    fn fetchnumpy<'py>(
        &self,
        py: Python<'py>,
        decimal: Option<&str>,
        strings: Option<&str>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let _call = InCall::of(&self.connection);
        let holder = Holder { pending: &self.pending, connection: &self.connection };
        cursor::arrays(py, self.unread(), self.zone.as_deref(), (decimal, strings), holder)
    }

    #[doc = doc!("Answer.df")]
    #[pyo3(signature = (decimal = None))]
    fn df<'py>(&self, py: Python<'py>, decimal: Option<&str>) -> PyResult<Bound<'py, PyAny>> {
        let _call = InCall::of(&self.connection);
        let decimals = Decimals::of(py, decimal, self.connection.host_settings().decimals())?;
        cursor::data_frame(py, self.unread(), self.zone.as_deref(), decimals)
    }

    #[doc = doc!("Answer.arrow")]
    fn arrow<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let _call = InCall::of(&self.connection);
        arrow::table(py, self.unread(), arrow::layout_of(&self.connection))
    }

    #[pyo3(signature = (rows_per_batch = None))]
    fn fetch_record_batch<'py>(
        &self,
        py: Python<'py>,
        rows_per_batch: Option<usize>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let _call = InCall::of(&self.connection);
        arrow::reader(py, self.unread(), rows_per_batch, arrow::layout_of(&self.connection))
    }

    #[doc = doc!("Answer.pl")]
    fn pl<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let _call = InCall::of(&self.connection);
        arrow::polars(py, self.unread())
    }

    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _call = InCall::of(&self.connection);
        let strings = arrow::layout_for(py, requested_schema.as_ref(), &self.connection)?;
        arrow::export(py, self.unread(), strings)
    }

    #[doc = doc!("Answer.description")]
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

    fn __len__(&self) -> usize {
        self.result().row_count()
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        self.fetchall(py)?.into_bound(py).try_iter()
    }

    /// The table as text; `rows_total` is how many rows there are, of which these are the first.
    #[pyo3(signature = (max_rows = None, max_width = None, max_col_width = None, null_value = None))]
    fn render(
        &self,
        py: Python<'_>,
        max_rows: Option<usize>,
        max_width: Option<usize>,
        max_col_width: Option<usize>,
        null_value: Option<String>,
    ) -> PyResult<String> {
        let default = RenderOptions::default();
        let options = RenderOptions {
            rows_max: max_rows.unwrap_or(default.rows_max),
            width_max: max_width.unwrap_or(default.width_max),
            cell_max: max_col_width.unwrap_or(default.cell_max),
            null: null_value.unwrap_or(default.null),
            ..RenderOptions::default()
        };
        unwrapped(py, py.detach(|| render(self.result(), options)))
    }
}

//! Queries for a cluster: their text and tables. `inlay._cluster` sends them.

use crate::connection::Connection;
use crate::host::{self, InCall, PythonHost, hosted};
use inlay::Parameters;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::Arc;

/// A table of a query: its name there, a format of Spark's, paths, options, and which it is for people.
type Named = (String, &'static str, Vec<String>, Vec<(&'static str, String)>, String);

/// A query's text, tables, columns as name, type and the type that carries it, the SELECT that makes its rows of those that come back, and
/// what is refused.
type Written = (String, Vec<Named>, Vec<(String, String, String)>, String, Vec<String>);

/// Versions of tables that were written for a cluster.
#[pyclass(frozen, module = "inlay._inlay")]
pub struct Shipped {
    versions: Arc<inlay::Shipped>,
}

#[pymethods]
impl Shipped {
    #[new]
    fn new() -> Self {
        Self { versions: Arc::new(inlay::Shipped::new()) }
    }

    /// Writes a query in Spark's SQL, and with a folder the tables that it reads. Fails where anything is refused, unless `lists`.
    #[pyo3(signature = (connection, query, tables, folder = None, lists = false))]
    fn write(
        &self,
        py: Python<'_>,
        connection: &Connection,
        query: &str,
        tables: &Bound<'_, PyDict>,
        folder: Option<&str>,
        lists: bool,
    ) -> PyResult<Written> {
        let engine = &connection.engine;
        let _call = InCall::of(engine);
        let host = PythonHost::new(engine, host::tables_of(Some(tables))?);
        let parameters = Parameters::default();
        let written = hosted(py, &host, |host| {
            let written = engine.for_cluster(query, &parameters, Some(host), &self.versions, folder)?;
            match written.refusal().filter(|_| !lists) {
                Some(refusal) => Err(refusal),
                None => Ok(written),
            }
        })?;
        let again = written.again("rows_of_cluster");
        let tables =
            written.tables.into_iter().map(|t| (t.name, t.format, t.paths, t.options, t.shown)).collect();
        let columns = written
            .columns
            .into_iter()
            .map(|(name, ty, carrier)| (name, ty.to_string(), carrier.to_string()))
            .collect();
        Ok((written.text, tables, columns, again, written.refused))
    }
}

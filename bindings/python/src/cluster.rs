//! Queries for a cluster: their text and tables. `inlay._cluster` sends them.

use crate::connection::Connection;
use crate::errors::exception;
use crate::functions;
use crate::host::{self, InCall, PythonHost, hosted};
use crate::register;
use crate::result::Answer;
use inlay::settings::HostSettings;
use inlay::types::{Error, LogicalType};
use inlay::{ClusterFunction, ClusterQuery, Parameters, Value};
use parking_lot::Mutex;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::Arc;

/// A table of a query: its name there, a format of Spark's, paths, options, and which it is for people.
type Named = (String, &'static str, Vec<String>, Vec<(&'static str, String)>, String);

/// A function that goes along: its name there, what `inlay._udf` declares, the object that is called, the types of arguments with those
/// that carry them and constants as SQL, and the types of what it gives.
type Sent<'py> =
    (String, Bound<'py, PyDict>, Py<PyAny>, Vec<(String, String, Option<String>)>, (String, String));

/// A query's text, tables, functions, columns as name, type and the type that carries it, the SELECT that makes its rows of those that come back, and
/// what is refused.
type Written<'py> = (String, Vec<Named>, Vec<Sent<'py>>, Vec<(String, String, String)>, String, Vec<String>);

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
    fn write<'py>(
        &self,
        py: Python<'py>,
        connection: &Connection,
        query: &str,
        tables: &Bound<'_, PyDict>,
        folder: Option<&str>,
        lists: bool,
    ) -> PyResult<Written<'py>> {
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
        fields(py, written)
    }

    /// Runs a query here whose parts `fetch` gives, which is told what `write` gives; `None` where there is no part for a cluster.
    fn in_parts(
        &self,
        py: Python<'_>,
        connection: &Connection,
        query: &str,
        folder: &str,
        fetch: Py<PyAny>,
    ) -> PyResult<Option<Answer>> {
        let engine = &connection.engine;
        let _call = InCall::of(engine);
        let host = PythonHost::new(engine, Vec::new());
        let parameters = Parameters::default();
        let raised: Mutex<Option<PyErr>> = Mutex::new(None);
        let mut part = |written: ClusterQuery| {
            let rows = Python::attach(|py| {
                let rows = fetch.bind(py).call1(fields(py, written)?)?;
                register::source(py, "rows of the cluster", &rows, &HostSettings::default())
            });
            rows.map_err(|error| {
                *raised.lock() = Some(error);
                Error::unsupported("a part of a query whose rows did not come")
            })
        };
        let answer = hosted(py, &host, |host| {
            engine.in_parts(query, &parameters, Some(host), &self.versions, folder, &mut part)
        });
        if let Some(error) = raised.into_inner() {
            return Err(error);
        }
        Ok(answer?.map(|rows| connection.rows_of(rows)))
    }
}

/// What Python is told of a query.
fn fields(py: Python<'_>, written: ClusterQuery) -> PyResult<Written<'_>> {
    let again = written.again("rows_of_cluster");
    let tables =
        written.tables.into_iter().map(|t| (t.name, t.format, t.paths, t.options, t.shown)).collect();
    let columns = written
        .columns
        .into_iter()
        .map(|(name, ty, carrier)| (name, ty.to_string(), carrier.to_string()))
        .collect();
    let functions = written.functions.into_iter().map(|sent| along(py, sent)).collect::<PyResult<_>>()?;
    Ok((written.text, tables, functions, columns, again, written.refused))
}

/// What a function is, for another process.
fn along(py: Python<'_>, sent: ClusterFunction) -> PyResult<Sent<'_>> {
    let Some((fields, callable)) = functions::portable(py, &sent.external)? else {
        let name = &sent.external.definition.name;
        let message = format!("on a cluster: the function {name}, which is not in Python, is not supported");
        return Err(exception(py, &Error::unsupported(message)));
    };
    let argument = |(ty, carrier, constant): (LogicalType, LogicalType, Option<Value>)| {
        (ty.to_string(), carrier.to_string(), constant.map(|value| value.to_sql()))
    };
    let arguments = sent.arguments.into_iter().map(argument).collect();
    let (returns, carrier) = sent.returns;
    Ok((sent.name, fields, callable, arguments, (returns.to_string(), carrier.to_string())))
}

//! SQLSTATE to exception: one table.

use inlay::Error;
use pyo3::prelude::*;

/// Exceptions of `inlay.exceptions` by the beginning of the SQLSTATE; the longest that fits counts.
const EXCEPTIONS: &[(&str, &str)] = &[
    ("08", "InterfaceError"),
    ("0A", "NotSupportedError"),
    ("21", "ProgrammingError"),
    ("22", "DataError"),
    ("22023", "ProgrammingError"),
    ("23", "IntegrityError"),
    ("25", "OperationalError"),
    ("40", "OperationalError"),
    ("42", "ProgrammingError"),
    ("53", "OperationalError"),
    ("55", "OperationalError"),
    ("57", "OperationalError"),
    ("58", "OperationalError"),
    ("XX", "InternalError"),
    ("XX001", "OperationalError"),
];

/// The engine's error as a Python exception with its `sqlstate`.
pub fn exception(py: Python<'_>, error: &Error) -> PyErr {
    let state = error.sqlstate();
    let fitting = EXCEPTIONS.iter().filter(|(start, _)| state.starts_with(start));
    let name = fitting.max_by_key(|(start, _)| start.len()).map_or("DatabaseError", |(_, name)| name);
    let make = || -> PyResult<PyErr> {
        let class = py.import("inlay.exceptions")?.getattr(name)?;
        let instance = class.call1((error.to_string(),))?;
        instance.setattr("sqlstate", state)?;
        Ok(PyErr::from_value(instance))
    };
    make().unwrap_or_else(|failed| failed)
}

/// The value of a result of the engine, or its error as an exception.
pub fn unwrapped<T>(py: Python<'_>, result: inlay::Result<T>) -> PyResult<T> {
    result.map_err(|error| exception(py, &error))
}

/// An exception for misuse of the API.
pub fn misuse(py: Python<'_>, message: impl Into<String>) -> PyErr {
    exception(py, &Error::invalid_argument(message))
}

//! SQLSTATE to exception: one table.

use crate::functions::cause_of;
use inlay::Error;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;

/// Exceptions of `inlay.exceptions` by the beginning of the SQLSTATE; the longest that fits counts.
const EXCEPTIONS: &[(&str, &str)] = &[
    ("08", "ConnectionException"),
    ("0A", "NotImplementedException"),
    ("21", "InvalidInputException"),
    ("22", "DataError"),
    ("22003", "OutOfRangeException"),
    ("22018", "ConversionException"),
    ("22023", "InvalidInputException"),
    ("22P04", "ConversionException"),
    ("23", "ConstraintException"),
    ("25", "TransactionException"),
    ("38", "FunctionException"),
    ("40", "TransactionException"),
    ("42", "BinderException"),
    ("42501", "PermissionException"),
    ("42601", "ParserException"),
    ("42883", "CatalogException"),
    ("42P01", "CatalogException"),
    ("42P07", "CatalogException"),
    ("53", "OperationalError"),
    ("53100", "IOException"),
    ("53200", "OutOfMemoryException"),
    ("55", "IOException"),
    ("57", "OperationalError"),
    ("57014", "InterruptException"),
    ("58", "IOException"),
    ("XX", "InternalException"),
    ("XX001", "SerializationException"),
];

/// The engine's error as a Python exception with its `sqlstate`, `position` and `hint`.
pub fn exception(py: Python<'_>, error: &Error) -> PyErr {
    made(py, error, None)
}

/// The same with a hint of Python's behind the message.
pub fn exception_with(py: Python<'_>, error: &Error, hint: &str) -> PyErr {
    made(py, error, Some(hint))
}

fn made(py: Python<'_>, error: &Error, told: Option<&str>) -> PyErr {
    let state = error.sqlstate();
    let fitting = EXCEPTIONS.iter().filter(|(start, _)| state.starts_with(start));
    let name = fitting.max_by_key(|(start, _)| start.len()).map_or("DatabaseError", |(_, name)| name);
    let make = || -> PyResult<PyErr> {
        let class = py.import("inlay.exceptions")?.getattr(name)?;
        let mut message = error.to_string();
        if let Some(told) = told {
            // Below the message the place is shown.
            let end = message.find('\n').unwrap_or(message.len());
            message.insert_str(end, &format!("; {told}"));
        }
        let instance = class.call1((message,))?;
        instance.setattr("sqlstate", state)?;
        if let Error::At { place, .. } = error {
            instance.setattr("position", (place.line, place.column))?;
        }
        if let Some(hint) = told.map(str::to_string).or_else(|| hint(error.root())) {
            instance.setattr("hint", hint)?;
        }
        if let Some(cause) = cause_of(error) {
            instance.setattr("__cause__", cause.value(py))?;
        }
        Ok(PyErr::from_value(instance))
    };
    if let Some(cause) = cause_of(error).filter(|cause| !cause.is_instance_of::<PyException>(py)) {
        // Ctrl-C and exits are what they are.
        return cause.clone_ref(py);
    }
    make().unwrap_or_else(|failed| failed)
}

/// What to do about it: messages say it behind their last semicolon.
fn hint(error: &Error) -> Option<String> {
    let text = error.to_string();
    let (_, hint) = text.rsplit_once("; ")?;
    // A semicolon within a quoted value is none of ours.
    let is_whole = hint.matches('\'').count() % 2 == 0 && hint.matches('"').count() % 2 == 0;
    is_whole.then(|| hint.trim().to_string())
}

/// The value of a result of the engine, or its error as an exception.
pub fn unwrapped<T>(py: Python<'_>, result: inlay::Result<T>) -> PyResult<T> {
    result.map_err(|error| exception(py, &error))
}

/// An exception for misuse of the API.
pub fn misuse(py: Python<'_>, message: impl Into<String>) -> PyErr {
    exception(py, &Error::invalid_argument(message))
}

//! Errors of the engine as exceptions: one class for each kind.

use crate::functions::{cause_of, caused};
use inlay::{Error, ErrorKind};
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::types::PyString;

/// The class of `inlay.exceptions` for a kind of error.
fn class_of(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::Syntax => "ParserException",
        ErrorKind::UndefinedTable | ErrorKind::UndefinedFunction | ErrorKind::Duplicate => "CatalogException",
        ErrorKind::UndefinedColumn
        | ErrorKind::Ambiguous
        | ErrorKind::TypeMismatch
        | ErrorKind::Grouping
        | ErrorKind::Windowing
        | ErrorKind::Bind => "BinderException",
        ErrorKind::InvalidCast | ErrorKind::MalformedFile => "ConversionException",
        ErrorKind::OutOfRange => "OutOfRangeException",
        ErrorKind::DivisionByZero => "DataError",
        ErrorKind::InvalidArgument | ErrorKind::SubqueryRows | ErrorKind::Cardinality => {
            "InvalidInputException"
        }
        ErrorKind::NotNull | ErrorKind::Unique | ErrorKind::Check | ErrorKind::ForeignKey => {
            "ConstraintException"
        }
        ErrorKind::Io | ErrorKind::DiskFull | ErrorKind::Locked => "IOException",
        ErrorKind::Corrupt => "SerializationException",
        ErrorKind::ReadOnly | ErrorKind::Conflict | ErrorKind::TransactionState => "TransactionException",
        ErrorKind::Interrupted | ErrorKind::StatementTimeout => "InterruptException",
        ErrorKind::FileAccess | ErrorKind::Forbidden | ErrorKind::Login => "PermissionException",
        ErrorKind::External => "FunctionException",
        ErrorKind::OutOfMemory => "OutOfMemoryException",
        ErrorKind::Unsupported => "NotImplementedException",
        ErrorKind::Closed => "ConnectionException",
        ErrorKind::Internal => "InternalException",
    }
}

/// The engine's error as a Python exception with its `sqlstate`, `position` and `hint`.
pub fn exception(py: Python<'_>, error: &Error) -> PyErr {
    if let Some(cause) = cause_of(error).filter(|cause| !cause.is_instance_of::<PyException>(py)) {
        // Ctrl-C and exits are what they are.
        return cause.clone_ref(py);
    }
    made(py, error).unwrap_or_else(|failed| failed)
}

/// The same with a hint of Python's behind the message.
pub fn exception_with(py: Python<'_>, error: &Error, hint: &str) -> PyErr {
    exception(py, &error.clone().with_hint(hint.to_string()))
}

fn made(py: Python<'_>, error: &Error) -> PyResult<PyErr> {
    let class = py.import("inlay.exceptions")?.getattr(class_of(error.kind()))?;
    let instance = class.call1((error.to_string(),))?;
    instance.setattr("sqlstate", error.sqlstate())?;
    if let Some(place) = error.place() {
        instance.setattr("position", (place.line, place.column))?;
    }
    if let Some(hint) = error.hint() {
        instance.setattr("hint", hint)?;
    }
    if let Some(cause) = cause_of(error) {
        instance.setattr("__cause__", cause.value(py))?;
    }
    Ok(PyErr::from_value(instance))
}

/// The value of a result of the engine, or its error as an exception.
pub fn unwrapped<T>(py: Python<'_>, result: inlay::Result<T>) -> PyResult<T> {
    result.map_err(|error| exception(py, &error))
}

/// What an object's own code gave; nothing where it failed. Ctrl-C and exits are no failures of it, and go on.
pub fn forgiven<T>(py: Python<'_>, outcome: PyResult<T>) -> PyResult<Option<T>> {
    match outcome {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.is_instance_of::<PyException>(py) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Whether an object has an attribute; looking may run code of its own.
pub fn has(object: &Bound<'_, PyAny>, name: &str) -> PyResult<bool> {
    Ok(forgiven(object.py(), object.hasattr(name))?.unwrap_or(false))
}

/// A text of Python. `to_string` would look for signals, and lose the exception that they raise.
pub fn plain(text: &Bound<'_, PyString>) -> String {
    text.to_string_lossy().into_owned()
}

/// An exception that code of the host raised where the engine waits for an error: what Ctrl-C raised comes out again.
pub fn external(py: Python<'_>, what: &str, error: PyErr) -> Error {
    if error.is_instance_of::<PyException>(py) {
        return Error::invalid_argument(format!("{what}: {error}"));
    }
    caused(what.to_string(), error)
}

/// An exception for misuse of the API.
pub fn misuse(py: Python<'_>, message: impl Into<String>) -> PyErr {
    exception(py, &Error::invalid_argument(message))
}

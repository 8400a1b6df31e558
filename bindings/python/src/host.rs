//! What the engine asks while a statement runs: pending signals, and Python variables that a query names as tables.

use crate::register;
use inlay::{Error, Host, TableSource};
use parking_lot::Mutex;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::Arc;

/// The Python side of one statement.
#[derive(Default)]
pub struct PythonHost {
    raised: Mutex<Option<PyErr>>,
    /// A table that only this statement knows, by its name.
    given: Option<(&'static str, Arc<dyn TableSource>)>,
}

impl PythonHost {
    /// A host for one statement.
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    /// A host for one statement that names a table which nobody else knows.
    pub fn with_table(name: &'static str, table: Arc<dyn TableSource>) -> Arc<Self> {
        Arc::new(Self { given: Some((name, table)), ..Self::default() })
    }

    /// The exception behind the engine's error, if it came from Python: KeyboardInterrupt, or what a conversion raised.
    pub fn take_raised(&self) -> Option<PyErr> {
        self.raised.lock().take()
    }

    fn keep(&self, error: PyErr) -> Error {
        *self.raised.lock() = Some(error);
        Error::Interrupted
    }
}

impl Host for PythonHost {
    fn find_table(&self, name: &str) -> inlay::Result<Option<Arc<dyn TableSource>>> {
        if let Some((given, table)) = &self.given
            && *given == name
        {
            return Ok(Some(Arc::clone(table)));
        }
        Python::attach(|py| match variable(py, name) {
            Ok(Some(object)) => match register::is_table(&object) {
                true => register::source(py, name, &object).map(Some).map_err(|error| self.keep(error)),
                false => Ok(None),
            },
            Ok(None) => Ok(None),
            Err(error) => Err(self.keep(error)),
        })
    }

    fn is_interrupted(&self) -> bool {
        Python::attach(|py| match py.check_signals() {
            Ok(()) => false,
            Err(error) => {
                self.keep(error);
                true
            }
        })
    }
}

/// The variable `name` that the caller sees: the locals, then the globals, of the innermost frame outside of `inlay`.
fn variable<'py>(py: Python<'py>, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
    let mut frame = match py.import("sys")?.getattr("_getframe")?.call1((0,)) {
        Ok(frame) => frame,
        // A thread without Python code has no variables.
        Err(_) => return Ok(None),
    };
    loop {
        let globals = frame.getattr("f_globals")?;
        let module: Option<String> = globals.get_item("__name__").and_then(|name| name.extract()).ok();
        let ours = module.is_some_and(|module| module == "inlay" || module.starts_with("inlay."));
        if !ours {
            let locals = frame.getattr("f_locals")?;
            for scope in [locals, globals] {
                if let Some(found) = lookup(&scope, name)? {
                    return Ok(Some(found));
                }
            }
            return Ok(None);
        }
        frame = frame.getattr("f_back")?;
        if frame.is_none() {
            return Ok(None);
        }
    }
}

/// Python tells upper from lower case, SQL does not: the exact name first, then one that differs in case only.
fn lookup<'py>(scope: &Bound<'py, PyAny>, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
    if scope.contains(name)? {
        return scope.get_item(name).map(Some);
    }
    let Ok(scope) = scope.cast::<PyDict>() else { return Ok(None) };
    let same =
        |key: &Bound<'_, PyAny>| key.extract::<String>().is_ok_and(|key| key.eq_ignore_ascii_case(name));
    Ok(scope.iter().find(|(key, _)| same(key)).map(|(_, value)| value))
}

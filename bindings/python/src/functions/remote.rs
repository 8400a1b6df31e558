//! Functions whose calls may run in worker processes, and which of them do.

use super::style::Parallel;
use super::workers::{Source, Spec, Workers};
use super::{PythonFunction, raised};
use inlay::external::FunctionDefinition;
use inlay::types::error::Cause;
use inlay::types::{Error, Interrupt, Result};
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// What a function needs for calls in other processes.
pub struct Remote {
    is_wanted: bool,
    workers: Arc<Workers>,
    number: u64,
    options: Vec<(String, String)>,
    /// The text, if it is one; a callable is packed when it is first called.
    text: OnceLock<Source>,
    /// What workers are sent, or why it cannot be.
    spec: OnceLock<std::result::Result<Spec, String>>,
}

impl Remote {
    /// `text` is that of a stored function. `None` for functions that stay here.
    pub fn new(
        parallel: Parallel,
        workers: &Arc<Workers>,
        definition: &FunctionDefinition,
        text: Option<Source>,
    ) -> Option<Self> {
        static LAST: AtomicU64 = AtomicU64::new(0);
        if parallel == Parallel::Threads {
            return None;
        }
        Some(Self {
            is_wanted: parallel == Parallel::Processes,
            workers: Arc::clone(workers),
            number: LAST.fetch_add(1, Ordering::Relaxed) + 1,
            options: definition.options.clone(),
            text: text.map_or_else(OnceLock::new, OnceLock::from),
            spec: OnceLock::new(),
        })
    }

    /// The workers, if the next call is theirs.
    pub fn takes(&self) -> Option<&Workers> {
        self.is_wanted.then_some(&*self.workers)
    }

    /// What workers are to know of the function.
    pub fn spec(&self, function: &PythonFunction) -> Result<&Spec> {
        let spec = self.spec.get_or_init(|| self.made(function));
        spec.as_ref().map_err(|why| Error::invalid_argument(why.clone()))
    }

    fn made(&self, function: &PythonFunction) -> std::result::Result<Spec, String> {
        let source = match self.text.get() {
            Some(Source::Text { parameters, is_variadic, body }) => Source::Text {
                parameters: parameters.clone(),
                is_variadic: *is_variadic,
                body: body.clone(),
            },
            Some(Source::Callable { .. }) | None => Python::attach(|py| -> PyResult<Source> {
                let packed = py.import("inlay._worker")?.getattr("packed")?;
                let (kind, data) = packed.call1((&function.name, &function.callable))?.extract()?;
                Ok(Source::Callable { kind, data })
            })
            .map_err(|error| Python::attach(|py| error.value(py).to_string()))?,
        };
        Ok(Spec {
            number: self.number,
            name: function.name.clone(),
            source,
            options: self.options.clone(),
            returns: function.returns.clone(),
            forgives: function.forgives,
            refuses_null: function.refuses_null,
        })
    }
}

/// An exception of a worker as an error that holds it.
pub fn failed(interrupt: &Interrupt, message: String, data: &[u8], traceback: &str) -> Error {
    let revived = Python::attach(|py| -> PyResult<PyErr> {
        let error = py.import("inlay._worker")?.getattr("revived")?.call1((data, traceback))?;
        if !error.is_instance_of::<PyException>() {
            // An exit: other workers are to end as well.
            interrupt.set();
        }
        Ok(PyErr::from_value(error))
    });
    match revived {
        Ok(error) => Error::External { message, cause: Some(Cause(Arc::new(error))) },
        Err(error) => raised("worker", error),
    }
}

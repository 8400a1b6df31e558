//! For systems without memfd: there are no worker processes, and functions run on threads.

use super::{Request, Spec};
use inlay::types::{Error, Interrupt, Result, Vector};
use inlay::{Database, HostLimits};
use pyo3::exceptions::PyNotImplementedError;
use pyo3::prelude::*;
use std::sync::Arc;

pub struct Workers;

impl Workers {
    pub fn of(database: &Database) -> Arc<Self> {
        database.kept_for_host(|_: HostLimits| Self)
    }

    pub fn is_possible(&self) -> Result<()> {
        Err(Error::Unsupported {
            feature: "worker processes for functions on this system".to_string(),
            alternative: Some(
                "parallel = 'threads' works everywhere, and 'auto' falls back to it".to_string(),
            ),
        })
    }

    pub fn is_warm(&self) -> bool {
        false
    }

    pub fn count(&self) -> usize {
        1
    }

    pub fn call(&self, _spec: &Spec, _request: Request<'_>, _interrupt: &Interrupt) -> Result<Vector> {
        Err(self.is_possible().err().unwrap_or(Error::Interrupted))
    }
}

#[pyclass(frozen, module = "inlay._inlay", name = "_WorkerServer")]
pub struct WorkerServer;

#[pymethods]
impl WorkerServer {
    #[new]
    fn new() -> PyResult<Self> {
        Err(PyNotImplementedError::new_err("there are no worker processes on this system"))
    }

    fn run(&self) {}
}

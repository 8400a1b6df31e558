//! The worker processes of a database: started when a call wants one, as many as queries have threads, and ended with it.

use super::process::{Failed, Worker};
use super::{Request, Spec};
use crate::functions::failed;
use inlay::types::{Error, Interrupt, Result, Vector};
use inlay::{Database, HostLimits};
use parking_lot::{Condvar, Mutex};
use pyo3::prelude::*;
use std::sync::Arc;
use std::time::Duration;

/// Between two looks at whether a statement that waits for a worker is to end.
const PAUSE: Duration = Duration::from_millis(10);

#[derive(Default)]
struct State {
    idle: Vec<Worker>,
    /// With those that work, and those that are being started.
    count: usize,
}

/// See the module.
pub struct Workers {
    state: Mutex<State>,
    freed: Condvar,
    limits: HostLimits,
}

impl Workers {
    /// Those of a database.
    pub fn of(database: &Database) -> Arc<Self> {
        database.kept_for_host(|limits| Self { state: Mutex::default(), freed: Condvar::new(), limits })
    }

    /// Fails if none can be started here.
    pub fn is_possible(&self) -> Result<()> {
        Python::attach(|py| -> PyResult<()> {
            py.import("inlay._worker")?.getattr("command")?.call1((0,)).map(drop)
        })
        .map_err(|error| {
            let why = Python::attach(|py| error.value(py).to_string());
            Error::external(format!("no worker process could be started: {why}"))
        })
    }

    /// Whether one waits already.
    pub fn is_warm(&self) -> bool {
        self.state.lock().count > 0
    }

    /// How many there may be.
    pub fn count(&self) -> usize {
        self.limits.threads()
    }

    /// Has a worker call a function.
    pub fn call(&self, spec: &Spec, request: Request<'_>, interrupt: &Interrupt) -> Result<Vector> {
        let mut worker = self.take(interrupt)?;
        let outcome = worker.call(spec, request, interrupt);
        self.give_back(worker, outcome.as_ref().err());
        outcome.map_err(|failure| match failure {
            Failed::Call(error) => error,
            Failed::Raised { message, data, traceback } => failed(interrupt, message, &data, &traceback),
            Failed::Gone(how) => Error::external(format!(
                "function \"{}\": the worker process that called it {how}; the next call gets another",
                spec.name
            )),
        })
    }

    fn take(&self, interrupt: &Interrupt) -> Result<Worker> {
        let limit = self.limits.memory();
        let mut state = self.state.lock();
        loop {
            while let Some(worker) = state.idle.pop() {
                if worker.limit == limit && worker.is_waiting() {
                    return Ok(worker);
                }
                state.count -= 1;
            }
            if state.count < self.limits.threads().max(1) {
                state.count += 1;
                drop(state);
                return Worker::start(limit, interrupt).inspect_err(|_| self.forget());
            }
            self.freed.wait_for(&mut state, PAUSE);
            interrupt.check()?;
        }
    }

    fn forget(&self) {
        self.state.lock().count -= 1;
        self.freed.notify_one();
    }

    fn give_back(&self, worker: Worker, failure: Option<&Failed>) {
        if worker.is_broken || matches!(failure, Some(Failed::Gone(_))) {
            drop(worker);
            return self.forget();
        }
        self.state.lock().idle.push(worker);
        self.freed.notify_one();
    }
}

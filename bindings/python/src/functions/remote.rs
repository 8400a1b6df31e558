//! Functions whose calls may run in worker processes, and which of them do.

use super::aggregate::Form;
use super::style::Parallel;
use super::workers::{Source, Spec, Workers};
use super::{PythonFunction, raised};
use crate::errors::plain;
use inlay::Volatility;
use inlay::external::FunctionDefinition;
use inlay::types::error::Cause;
use inlay::types::{Error, Interrupt, Result, Vector};
use parking_lot::Mutex;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// A row that takes less is not worth the way.
const NANOS_MIN: f64 = 20.0;
/// What calls must have taken before workers are started for a function, or used if they are there.
const SPENT_COLD: Duration = Duration::from_millis(200);
const SPENT_WARM: Duration = Duration::from_millis(20);

/// Calls there after which it is decided; where most were slower than all threads one after the other, they come back.
const CALLS_TRIED: u32 = 16;

/// Where calls run.
enum Place {
    Here,
    There,
    /// Here, until it is known what they cost.
    Measured,
    /// There, because they hold the lock and took so many nanoseconds a row here.
    Tried {
        nanos_here: f64,
        slow: u32,
        calls: u32,
    },
}

/// What a function needs for calls in other processes.
pub struct Remote {
    place: Mutex<Place>,
    workers: Arc<Workers>,
    number: u64,
    options: Vec<(String, String)>,
    /// The text, if it is one; a callable is packed when it is first called.
    text: OnceLock<Source>,
    /// Of an aggregate.
    form: Option<Form>,
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
        form: Option<Form>,
    ) -> Option<Self> {
        static LAST: AtomicU64 = AtomicU64::new(0);
        // What a function changes, it changes where it runs: nobody but its author can say that this may be elsewhere.
        let stays = parallel == Parallel::Auto && definition.volatility == Volatility::Volatile;
        if parallel == Parallel::Threads || stays || is_switched_off() {
            return None;
        }
        Some(Self {
            place: Mutex::new(if parallel == Parallel::Processes { Place::There } else { Place::Measured }),
            workers: Arc::clone(workers),
            number: LAST.fetch_add(1, Ordering::Relaxed) + 1,
            options: definition.options.clone(),
            text: text.map_or_else(OnceLock::new, OnceLock::from),
            form,
            spec: OnceLock::new(),
        })
    }

    /// The workers, if the next call is theirs.
    pub fn takes(&self, function: &PythonFunction) -> Option<&Workers> {
        let mut place = self.place.lock();
        if let Place::Measured = *place {
            let cost = function.turns.cost_of_holding()?;
            let spent_min = if self.workers.is_warm() { SPENT_WARM } else { SPENT_COLD };
            if cost.nanos < NANOS_MIN || cost.spent < spent_min || self.workers.count() < 2 {
                return None;
            }
            let is_possible = self.workers.is_possible().and_then(|()| self.spec(function).map(drop));
            *place = match is_possible {
                Ok(()) => Place::Tried { nanos_here: cost.nanos, slow: 0, calls: 0 },
                Err(_) => Place::Here,
            };
        }
        match *place {
            Place::There | Place::Tried { .. } => Some(&self.workers),
            Place::Here | Place::Measured => None,
        }
    }

    /// Makes a call in a worker; where it is tried, looks whether it pays.
    pub fn timed(&self, rows: usize, call: impl FnOnce() -> Result<Vector>) -> Result<Vector> {
        let started = Instant::now();
        let outcome = call();
        let nanos = started.elapsed().as_secs_f64() * 1e9 / rows.max(1) as f64;
        let mut place = self.place.lock();
        if let Place::Tried { nanos_here, slow, calls } = &mut *place {
            *calls += 1;
            *slow += u32::from(nanos > *nanos_here * self.workers.count() as f64);
            // The first ones waited for workers to start.
            if *calls >= CALLS_TRIED {
                *place = if *slow > CALLS_TRIED / 2 { Place::Here } else { Place::There };
            }
        }
        outcome
    }

    /// What workers are to know of the function.
    pub fn spec(&self, function: &PythonFunction) -> Result<&Spec> {
        let spec = self.spec.get_or_init(|| self.made(function));
        spec.as_ref().map_err(|why| Error::invalid_argument(why.clone()))
    }

    fn made(&self, function: &PythonFunction) -> std::result::Result<Spec, String> {
        let source = match self.text.get() {
            Some(Source::Text { parameters, is_variadic, body }) => {
                Source::Text { parameters: parameters.clone(), is_variadic: *is_variadic, body: body.clone() }
            }
            Some(Source::Callable { .. }) | None => Python::attach(|py| -> PyResult<Source> {
                let packed = py.import("inlay._worker")?.getattr("packed")?;
                let (kind, data) = packed.call1((&function.name, &function.callable))?.extract()?;
                Ok(Source::Callable { kind, data })
            })
            .map_err(|error| {
                Python::attach(|py| error.value(py).str().map_or_else(|_| String::new(), |text| plain(&text)))
            })?,
        };
        Ok(Spec {
            number: self.number,
            name: function.name.clone(),
            source,
            options: self.options.clone(),
            returns: function.returns.clone(),
            forgives: function.forgives,
            refuses_null: function.refuses_null,
            form: self.form,
        })
    }
}

/// Whether all functions are to run in this process, as for a debugger.
fn is_switched_off() -> bool {
    Python::attach(|py| {
        let switch = py.import("inlay._worker").and_then(|module| module.getattr("SWITCHED_OFF"));
        switch.and_then(|switch| switch.extract()).unwrap_or(false)
    })
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

//! Calls of functions that run on a thread, and the connections that their queries use.
//!
//! `inlay.calling()` gives the innermost call's connection, which is made when it is first asked for and closed when the call
//! ends. A call may be left and gone on with, also on another thread, as that of a generator is.

use super::turns;
use crate::connection::Connection;
use crate::errors::{misuse, unwrapped};
use parking_lot::Mutex;
use pyo3::prelude::*;
use std::cell::RefCell;
use std::sync::Arc;

/// A call of a function.
pub struct Call {
    function: String,
    connection: Mutex<Option<(inlay::Connection, Py<Connection>)>>,
}

thread_local! {
    /// Calls on this thread, the innermost one last.
    static CALLS: RefCell<Vec<Arc<Call>>> = const { RefCell::new(Vec::new()) };
}

impl Call {
    /// A call of the function of this name.
    pub fn new(function: &str) -> Arc<Self> {
        Arc::new(Self { function: function.to_string(), connection: Mutex::default() })
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        if let Some((engine, handle)) = self.connection.get_mut().take() {
            // Threads that the function left behind may still read by it: they are waited for.
            // Nothing of it runs on this thread any more.
            let _ = engine.close();
            drop(handle);
        }
    }
}

/// Takes the call off the list.
struct Ended;

impl Drop for Ended {
    fn drop(&mut self) {
        let ended = CALLS.with_borrow_mut(Vec::pop);
        drop(ended);
    }
}

/// Runs `work` as a part of a call.
pub fn within<T>(call: &Arc<Call>, work: impl FnOnce() -> T) -> T {
    CALLS.with_borrow_mut(|calls| calls.push(Arc::clone(call)));
    let _ended = Ended;
    work()
}

/// The connection of the call that runs on this thread.
#[pyfunction]
pub fn _calling(py: Python<'_>) -> PyResult<Py<Connection>> {
    let Some(call) = CALLS.with_borrow(|calls| calls.last().cloned()) else {
        return Err(misuse(
            py,
            "no function is called on this thread; _conn and inlay.calling() are for the body of a function while \
             SQL calls it, in the process of the database",
        ));
    };
    let known = call.connection.lock().as_ref().map(|(_, handle)| handle.clone_ref(py));
    // The call may wait for other calls from here on.
    turns::let_go();
    if let Some(known) = known {
        return Ok(known);
    }
    let engine = unwrapped(py, inlay::calling(&call.function))?;
    let handle = Py::new(py, Connection::new(engine.clone(), None))?;
    *call.connection.lock() = Some((engine, handle.clone_ref(py)));
    Ok(handle)
}

//! Ends calls of Python functions when their statement is interrupted.
//!
//! Python code in a loop looks at no flag of ours. So calls are listed while they run, and one thread looks at their flags
//! every few milliseconds; where one is up, it has the interpreter raise KeyboardInterrupt in the call's thread. The thread
//! ends when there were no calls for a while.
//!
//! The list is locked for moments only, and nobody waits for the interpreter with it.

#![expect(unsafe_code, reason = "an exception is set in another thread by Python's C interface")]

use inlay::types::Interrupt;
use parking_lot::Mutex;
use pyo3::ffi;
use pyo3::prelude::*;
use std::cell::Cell;
use std::ffi::c_ulong;
use std::time::Duration;

/// Between two looks.
const PAUSE: Duration = Duration::from_millis(10);
/// Looks without a call after which the thread ends.
const IDLE_LOOKS: u32 = 100;

struct Call {
    number: u64,
    /// Python's name for the thread.
    thread: c_ulong,
    interrupt: Interrupt,
    is_told: bool,
}

struct Calls {
    last: u64,
    running: Vec<Call>,
    is_watched: bool,
}

static CALLS: Mutex<Calls> = Mutex::new(Calls { last: 0, running: Vec::new(), is_watched: false });

thread_local! {
    static THREAD: Cell<Option<c_ulong>> = const { Cell::new(None) };
}

/// What `work` gives, and whether it was told to end because of `interrupt`.
pub fn watched<T>(py: Python<'_>, interrupt: &Interrupt, work: impl FnOnce() -> T) -> PyResult<(T, bool)> {
    let listed = Listed::new(thread_of(py)?, interrupt);
    let outcome = work();
    Ok((outcome, listed.end()))
}

/// A call on the list.
struct Listed {
    number: u64,
}

impl Listed {
    fn new(thread: c_ulong, interrupt: &Interrupt) -> Self {
        let mut calls = CALLS.lock();
        calls.last += 1;
        let number = calls.last;
        calls.running.push(Call { number, thread, interrupt: interrupt.clone(), is_told: false });
        if !calls.is_watched {
            // Without the thread a call ends by itself, or by Ctrl-C.
            let started = std::thread::Builder::new().name("inlay-functions".into()).spawn(watch);
            calls.is_watched = started.is_ok();
        }
        Self { number }
    }

    /// Takes it off the list; whether it was told to end. The thread is attached, as when it was listed.
    fn end(self) -> bool {
        self.remove()
    }

    fn remove(&self) -> bool {
        let mut calls = CALLS.lock();
        let Some(index) = calls.running.iter().position(|call| call.number == self.number) else {
            return false;
        };
        let call = calls.running.swap_remove(index);
        if call.is_told {
            // What was not raised yet is for nobody else.
            // SAFETY: this thread is attached; NULL takes back what waits for it.
            unsafe { ffi::PyThreadState_SetAsyncExc(call.thread as _, std::ptr::null_mut()) };
        }
        call.is_told
    }
}

impl Drop for Listed {
    fn drop(&mut self) {
        self.remove();
    }
}

fn watch() {
    let mut idle = 0;
    loop {
        std::thread::sleep(PAUSE);
        let is_up = {
            let mut calls = CALLS.lock();
            idle = if calls.running.is_empty() { idle + 1 } else { 0 };
            if idle > IDLE_LOOKS {
                calls.is_watched = false;
                return;
            }
            calls.running.iter().any(|call| call.interrupt.is_set())
        };
        if is_up {
            Python::attach(tell);
        }
    }
}

/// Has KeyboardInterrupt raised in the threads of calls that are to end; again and again, for functions that catch it.
fn tell(py: Python<'_>) {
    let exception = py.get_type::<pyo3::exceptions::PyKeyboardInterrupt>();
    for call in CALLS.lock().running.iter_mut().filter(|call| call.interrupt.is_set()) {
        call.is_told = true;
        // SAFETY: this thread is attached, and the exception is a class.
        unsafe { ffi::PyThreadState_SetAsyncExc(call.thread as _, exception.as_ptr()) };
    }
}

fn thread_of(py: Python<'_>) -> PyResult<c_ulong> {
    if let Some(known) = THREAD.get() {
        return Ok(known);
    }
    let thread = py.import("threading")?.getattr("get_ident")?.call0()?.extract()?;
    THREAD.set(Some(thread));
    Ok(thread)
}

//! Whose turn it is: functions that hold the interpreter lock are called from one thread at a time.
//!
//! Threads that want the lock for short calls hand it to each other all the time, which takes longer than the calls. So the
//! first calls of a function are made alone, the next ones beside each other; where that was no faster, whoever calls
//! waits for its turn, which costs less, and works on something else before and after. From time to time it is measured again.
//!
//! Nobody waits long: a function may run a statement on other threads, whose calls then must not wait for its own. Where
//! that is known ([`let_go`]), nobody waits at all.

use parking_lot::{Mutex, MutexGuard};
use pyo3::prelude::*;
use std::cell::RefCell;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// A call waits so long for its turn at most.
const WAIT: Duration = Duration::from_millis(10);
/// Calls that are measured in either way.
const SAMPLES: u32 = 4;
/// Calls one at a time after which it is measured anew.
const AGAIN: u32 = 512;
/// Two threads that do less than this many times what one does are no faster.
const FASTER: f64 = 1.25;
/// Share of a new sample in a mean.
const SHARE: f64 = 0.25;

/// One lock for the one interpreter.
static TURN: Mutex<()> = Mutex::new(());
/// Calls that run in this process.
static RUNNING: AtomicUsize = AtomicUsize::new(0);

/// Nanoseconds a row, lately.
#[derive(Clone, Copy, Debug, Default)]
struct Mean {
    samples: u32,
    nanos: f64,
}

impl Mean {
    fn add(&mut self, nanos: f64) {
        self.nanos = if self.samples == 0 { nanos } else { self.nanos * (1.0 - SHARE) + nanos * SHARE };
        self.samples = self.samples.saturating_add(1);
    }
}

#[derive(Debug, Default)]
struct Measured {
    alone: Mean,
    /// While others called, divided by how many did.
    beside: Mean,
    in_turn: u32,
    spent: Duration,
}

impl Measured {
    fn holds_lock(&self) -> bool {
        self.alone.samples >= SAMPLES
            && self.beside.samples >= SAMPLES
            && self.beside.nanos * FASTER > self.alone.nanos
    }
}

/// What is known of a function's calls.
#[derive(Debug, Default)]
pub struct Turns(Mutex<Measured>);

/// What calls of a function that holds the lock cost.
pub struct Cost {
    /// A row, on one thread.
    pub nanos: f64,
    /// All calls so far.
    pub spent: Duration,
}

thread_local! {
    /// The turn that this thread has.
    static HELD: RefCell<Option<MutexGuard<'static, ()>>> = const { RefCell::new(None) };
}

/// A turn, until it is dropped or let go of; calls inside of the call have none of their own.
struct Turn;

impl Turn {
    fn taken(is_wanted: bool) -> Option<Self> {
        if !is_wanted || HELD.with_borrow(Option::is_some) {
            return None;
        }
        let guard = TURN.try_lock_for(WAIT)?;
        HELD.set(Some(guard));
        Some(Self)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let_go();
    }
}

/// Gives the turn of this thread's call to others: it waits for their calls.
pub fn let_go() {
    HELD.take();
}

struct Running;

impl Drop for Running {
    fn drop(&mut self) {
        RUNNING.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Turns {
    /// Makes a call of so many rows when it is its turn.
    pub fn taken<T>(&self, rows: usize, call: impl FnOnce() -> T) -> T {
        let _turn = Turn::taken(self.is_one_at_a_time());
        let before = RUNNING.fetch_add(1, Ordering::Relaxed);
        let running = Running;
        let started = Instant::now();
        let outcome = call();
        let took = started.elapsed();
        drop(running);
        let after = RUNNING.load(Ordering::Relaxed);
        let mut measured = self.0.lock();
        measured.spent += took;
        let nanos = took.as_secs_f64() * 1e9 / rows.max(1) as f64;
        if before == 0 && after == 0 {
            measured.alone.add(nanos);
        } else if before > 0 && after > 0 {
            let others = before.min(after) as f64;
            measured.beside.add(nanos / (others + 1.0));
        }
        outcome
    }

    fn is_one_at_a_time(&self) -> bool {
        if !has_lock() {
            return false;
        }
        let mut measured = self.0.lock();
        if measured.alone.samples < SAMPLES {
            return true;
        }
        if !measured.holds_lock() {
            return false;
        }
        measured.in_turn += 1;
        if measured.in_turn > AGAIN {
            measured.in_turn = 0;
            measured.beside = Mean::default();
        }
        true
    }

    /// What its calls cost, if they were found to hold the lock.
    pub fn cost_of_holding(&self) -> Option<Cost> {
        let measured = self.0.lock();
        measured.holds_lock().then(|| Cost { nanos: measured.alone.nanos, spent: measured.spent })
    }
}

/// Whether this interpreter has a lock.
fn has_lock() -> bool {
    static HAS: OnceLock<bool> = OnceLock::new();
    *HAS.get_or_init(|| {
        Python::attach(|py| {
            let asked = py.import("sys").and_then(|sys| sys.getattr("_is_gil_enabled"));
            asked.and_then(|asked| asked.call0()?.extract()).unwrap_or(true)
        })
    })
}

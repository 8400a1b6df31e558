//! What the process's allocator is told about the engine, so that it keeps freed memory while that pays.
//!
//! Memory that a query frees is soon asked for again: to give it back to the system and take it again, zeroed, is up to a
//! fifth of a query's processor time. It is kept while there is plenty, and given back when memory is short or the
//! engine has nothing to do. A process whose allocator needs no telling installs nothing.

use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

/// How long a worker thread waits for work before its free memory is given back.
pub const IDLE: Duration = Duration::from_secs(1);

/// What an allocator can do.
#[derive(Clone, Copy, Debug)]
pub struct Allocator {
    /// Freed memory goes back soon (`true`, more than half of a memory limit is in use), or may be kept a while.
    pub give_back_soon: fn(bool),
    /// Gives the free memory of the calling thread, and what no thread owns, back to the system.
    pub give_back: fn(),
}

static ALLOCATOR: OnceLock<Allocator> = OnceLock::new();
static SHORT: Mutex<bool> = Mutex::new(false);

/// Names the allocator of this process; the first one stays.
pub fn install(allocator: Allocator) {
    ALLOCATOR.get_or_init(|| allocator);
}

/// Gives the calling thread's free memory back, if an allocator is installed.
pub fn give_back() {
    if let Some(allocator) = ALLOCATOR.get() {
        (allocator.give_back)();
    }
}

/// Called when a budget's use crosses the marks of [`crate::MemoryBudget`]. The last budget to say something decides.
pub(crate) fn memory_is_short(short: bool) {
    let Some(allocator) = ALLOCATOR.get() else { return };
    let mut before = SHORT.lock().unwrap_or_else(PoisonError::into_inner);
    if *before != short {
        *before = short;
        (allocator.give_back_soon)(short);
    }
}

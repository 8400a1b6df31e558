//! What the process's allocator is told about the engine, so that it keeps freed memory while that pays.
//!
//! Memory that a query frees is soon asked for again: to give it back to the system and take it again, zeroed, is up to a
//! fifth of a query's processor time, and more of a large one. It is kept while there is plenty, and given back when memory is
//! short or the engine is idle ([`crate::idle`]). A process whose allocator needs no telling installs nothing.

use crate::overhead;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

/// How long a worker thread waits for work before its free memory is given back, and how long all of the engine.
pub const IDLE: Duration = Duration::from_secs(10);

/// What an allocator can do.
#[derive(Clone, Copy, Debug)]
pub struct Allocator {
    /// Freed memory goes back soon (`true`), or is kept until it is asked for.
    pub give_back_soon: fn(bool),
    /// Gives what was free for long enough back to the system, which may else wait until somebody allocates often.
    pub give_back_due: fn(),
    /// Gives the free memory of the calling thread, and what no thread owns, back to the system.
    pub give_back: fn(),
}

static ALLOCATOR: OnceLock<Allocator> = OnceLock::new();
/// How many have a reason to want freed memory back soon.
static REASONS: Mutex<usize> = Mutex::new(0);

/// Names the allocator of this process; the first one stays.
pub fn install(allocator: Allocator) {
    ALLOCATOR.get_or_init(|| allocator);
}

/// Whether there is an allocator that can be told.
pub(crate) fn is_installed() -> bool {
    ALLOCATOR.get().is_some()
}

/// Gives the calling thread's free memory back, if an allocator is installed.
pub fn give_back() {
    let Some(allocator) = ALLOCATOR.get() else { return };
    (allocator.give_back)();
    // Unless much is in use, of which some may be free and kept by other threads.
    let reasons = *REASONS.lock().unwrap_or_else(PoisonError::into_inner);
    if reasons == 0 {
        overhead::settle();
    }
}

/// Gives back what was free for long enough; whether there is an allocator that does.
pub(crate) fn give_back_due() -> bool {
    ALLOCATOR.get().map(|allocator| (allocator.give_back_due)()).is_some()
}

/// Gives back what is free at the calling thread and at nobody, due or not.
pub(crate) fn give_back_all() {
    if let Some(allocator) = ALLOCATOR.get() {
        (allocator.give_back)();
    }
}

/// While one lives, freed memory goes back soon: more than half of a memory limit is in use, or much is being freed that is
/// not asked for again.
#[derive(Debug)]
pub struct Hurry(());

impl Hurry {
    /// One more reason.
    #[expect(clippy::new_without_default, reason = "it has an effect")]
    pub fn new() -> Self {
        change_reasons(|reasons| reasons + 1);
        Self(())
    }
}

impl Drop for Hurry {
    fn drop(&mut self) {
        change_reasons(|reasons| reasons.saturating_sub(1));
    }
}

fn change_reasons(change: impl FnOnce(usize) -> usize) {
    let Some(allocator) = ALLOCATOR.get() else { return };
    let mut reasons = REASONS.lock().unwrap_or_else(PoisonError::into_inner);
    let before = *reasons;
    *reasons = change(before);
    if (before == 0) != (*reasons == 0) {
        (allocator.give_back_soon)(before == 0);
    }
}

//! Cancellation: a flag that every loop over data looks at once per morsel.

use crate::{Error, Result};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Asked while a statement runs; TRUE ends it.
pub type InterruptPoll = Arc<dyn Fn() -> bool + Send + Sync>;

/// A shared flag; clones look at the same flag.
#[derive(Clone, Default)]
pub struct Interrupt {
    flag: Arc<AtomicBool>,
    poll: Option<InterruptPoll>,
}

impl fmt::Debug for Interrupt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Interrupt").field("flag", &self.flag).field("polled", &self.poll.is_some()).finish()
    }
}

impl Interrupt {
    /// A flag that is down.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same flag, which also goes up when `poll` says so: the host's signals, looked at by whoever checks.
    pub fn with_poll(&self, poll: InterruptPoll) -> Self {
        Self { flag: Arc::clone(&self.flag), poll: Some(poll) }
    }

    /// Asks everything that holds this flag to stop soon.
    pub fn set(&self) {
        self.flag.store(true, Ordering::Relaxed);
    }

    /// Takes the flag down, before the next statement.
    pub fn clear(&self) {
        self.flag.store(false, Ordering::Relaxed);
    }

    /// Whether the flag is up.
    pub fn is_set(&self) -> bool {
        self.flag.load(Ordering::Relaxed) || self.poll.as_ref().is_some_and(|poll| self.ask(poll))
    }

    fn ask(&self, poll: &InterruptPoll) -> bool {
        let stop = poll();
        if stop {
            self.set();
        }
        stop
    }

    /// [`Error::Interrupted`] if the flag is up.
    pub fn check(&self) -> Result<()> {
        if self.is_set() { Err(Error::Interrupted) } else { Ok(()) }
    }
}

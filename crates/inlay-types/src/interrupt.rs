//! Cancellation: a flag that every loop over data looks at once per morsel.

use crate::{Error, Result};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Asked while a statement runs; TRUE ends it.
pub type InterruptPoll = Arc<dyn Fn() -> bool + Send + Sync>;

/// A shared flag; clones look at the same flag.
#[derive(Clone, Default)]
pub struct Interrupt {
    flag: Arc<AtomicBool>,
    poll: Option<InterruptPoll>,
    deadline: Option<Deadline>,
}

#[derive(Clone, Copy, Debug)]
struct Deadline {
    at: Instant,
    limit: Duration,
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
        Self { flag: Arc::clone(&self.flag), poll: Some(poll), deadline: self.deadline }
    }

    /// The same flag, which also counts as up once `limit` has passed from now.
    pub fn with_deadline(&self, limit: Duration) -> Self {
        let deadline = Instant::now().checked_add(limit).map(|at| Deadline { at, limit });
        Self { flag: Arc::clone(&self.flag), poll: self.poll.clone(), deadline }
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
        self.flag.load(Ordering::Relaxed)
            || self.overdue().is_some()
            || self.poll.as_ref().is_some_and(|poll| self.ask(poll))
    }

    fn overdue(&self) -> Option<Deadline> {
        self.deadline.filter(|deadline| Instant::now() >= deadline.at)
    }

    fn ask(&self, poll: &InterruptPoll) -> bool {
        let stop = poll();
        if stop {
            self.set();
        }
        stop
    }

    /// [`Error::Interrupted`] if the flag is up, [`Error::StatementTimeout`] if the time is over.
    pub fn check(&self) -> Result<()> {
        if !self.is_set() {
            return Ok(());
        }
        Err(match self.overdue() {
            Some(deadline) if !self.flag.load(Ordering::Relaxed) => {
                Error::StatementTimeout { limit_ms: deadline.limit.as_millis() as u64 }
            }
            _ => Error::Interrupted,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deadline_counts_as_the_flag() {
        let flag = Interrupt::new();
        let (patient, hasty) =
            (flag.with_deadline(Duration::from_secs(1000)), flag.with_deadline(Duration::ZERO));
        patient.check().unwrap();
        assert_eq!(hasty.check(), Err(Error::StatementTimeout { limit_ms: 0 }));
        assert!(!flag.is_set(), "the deadline is one statement's");
        flag.set();
        assert_eq!(patient.check(), Err(Error::Interrupted));
        assert_eq!(hasty.check(), Err(Error::Interrupted));
    }
}

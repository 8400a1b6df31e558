//! Cancellation: a flag that every loop over data looks at once per morsel.
//!
//! A session counts its interrupts ([`Interrupts`]). Each piece of its work knows how many there had been when it began ([`Interrupt`]):
//! one that comes later ends it, one that came before does not. So nothing is taken back between two pieces of work, and of work that
//! is done side by side none misses what another one saw.

use crate::{Error, Result};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Asked while a statement runs; TRUE ends it.
pub type InterruptPoll = Arc<dyn Fn() -> bool + Send + Sync>;

/// How often a session was interrupted; clones are of the same session.
#[derive(Clone, Debug, Default)]
pub struct Interrupts(Arc<AtomicU64>);

impl Interrupts {
    /// Ends all work that has begun.
    pub fn raise(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }

    /// How many there were.
    pub fn count(&self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }

    /// Work that began when there had been so many.
    pub fn work_since(&self, count: u64) -> Interrupt {
        Interrupt { session: Some((self.clone(), count)), ..Interrupt::new() }
    }
}

/// Whether a piece of work is to end; clones are of the same work.
#[derive(Clone, Default)]
pub struct Interrupt {
    /// Goes up for this work alone.
    flag: Arc<AtomicBool>,
    /// The session's interrupts, and how many there had been when the work began.
    session: Option<(Interrupts, u64)>,
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
    /// A flag that is down, of no session's work.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same work, which also ends when `poll` says so: the host's signals, looked at by whoever checks.
    pub fn with_poll(&self, poll: InterruptPoll) -> Self {
        Self { poll: Some(poll), ..self.clone() }
    }

    /// The same work, which also ends once `limit` has passed from now.
    pub fn with_deadline(&self, limit: Duration) -> Self {
        let deadline = Instant::now().checked_add(limit).map(|at| Deadline { at, limit });
        Self { deadline, ..self.clone() }
    }

    /// More work of the session, which began when there had been so many interrupts, or now. The time limit stays, nobody is asked.
    pub fn renewed(&self, since: Option<u64>) -> Self {
        let session = self.session.as_ref().map(|(interrupts, _)| {
            let since = since.unwrap_or_else(|| interrupts.count());
            (interrupts.clone(), since)
        });
        Self { session, deadline: self.deadline, ..Self::new() }
    }

    /// Asks everything that does this work to stop soon.
    pub fn set(&self) {
        self.flag.store(true, Ordering::Relaxed);
    }

    /// Whether the work is to end.
    pub fn is_set(&self) -> bool {
        self.is_raised() || self.overdue().is_some() || self.poll.as_ref().is_some_and(|poll| self.ask(poll))
    }

    /// Whether somebody said so.
    fn is_raised(&self) -> bool {
        self.flag.load(Ordering::Relaxed)
            || self
                .session
                .as_ref()
                .is_some_and(|(interrupts, since)| interrupts.0.load(Ordering::Relaxed) != *since)
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

    /// [`Error::Interrupted`] if somebody said so, [`Error::StatementTimeout`] if the time is over.
    pub fn check(&self) -> Result<()> {
        if !self.is_set() {
            return Ok(());
        }
        Err(match self.overdue() {
            Some(deadline) if !self.is_raised() => {
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

    #[test]
    fn interrupts_end_what_began_before_them() {
        let session = Interrupts::default();
        let (first, second) = (session.work_since(session.count()), session.work_since(session.count()));
        first.set();
        assert_eq!(
            (first.check(), second.check()),
            (Err(Error::Interrupted), Ok(())),
            "one is not the other"
        );
        let entered = session.count();
        session.raise();
        assert_eq!(second.check(), Err(Error::Interrupted));
        second.renewed(None).check().unwrap();
        session.work_since(session.count()).check().unwrap();
        assert_eq!(second.renewed(Some(entered)).check(), Err(Error::Interrupted), "it was entered before");
        let polled = second.renewed(None).with_poll(Arc::new(|| true));
        assert_eq!(
            (polled.check(), session.count()),
            (Err(Error::Interrupted), 1),
            "what one is told is no other's"
        );
    }
}

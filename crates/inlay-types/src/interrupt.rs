//! Cancellation: a flag that every loop over data looks at once per morsel.
//!
//! A session counts its interrupts ([`Interrupts`]). Each piece of its work knows how many there had been when it began ([`Interrupt`]):
//! one that comes later ends it, one that came before does not. So of work that is done side by side none misses what another one saw.
//! Work that rests, such as rows that wait to be read, is ended by an interrupt meanwhile, unless the session did something else since
//! ([`Interrupts::settle`]).

use crate::{Error, Result};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Asked while a statement runs; TRUE ends it.
pub type InterruptPoll = Arc<dyn Fn() -> bool + Send + Sync>;

/// How often a session was interrupted; clones are of the same session.
#[derive(Clone, Debug, Default)]
pub struct Interrupts(Arc<Counts>);

#[derive(Debug, Default)]
struct Counts {
    all: AtomicU64,
    settled: AtomicU64,
}

impl Interrupts {
    /// Ends all work that has begun.
    pub fn raise(&self) {
        self.0.all.fetch_add(1, Ordering::SeqCst);
    }

    /// How many there were.
    pub fn count(&self) -> u64 {
        self.0.all.load(Ordering::SeqCst)
    }

    /// Those that there were have ended what they ended: work that rests now is not.
    pub fn settle(&self) {
        self.0.settled.fetch_max(self.count(), Ordering::SeqCst);
    }

    /// How many are settled: later ones end work that rests.
    pub fn settled(&self) -> u64 {
        self.0.settled.load(Ordering::SeqCst)
    }

    /// Work that began when there had been so many.
    pub fn work_since(&self, count: u64) -> Interrupt {
        let work = Work { session: Some(self.clone()), since: count.into(), ..Work::default() };
        Interrupt { work: Arc::new(work), poll: None, deadline: None }
    }
}

/// Whether a piece of work is to end; clones are of the same work.
#[derive(Clone, Default)]
pub struct Interrupt {
    work: Arc<Work>,
    poll: Option<Poll>,
    deadline: Option<Deadline>,
}

/// What clones share.
#[derive(Debug, Default)]
struct Work {
    /// Goes up for this work alone.
    flag: AtomicBool,
    session: Option<Interrupts>,
    /// How many interrupts of the session there had been when the work began, or was taken up again.
    since: AtomicU64,
    /// How often it was taken up again.
    turn: AtomicU64,
}

/// Who is asked, and the turn of the work that it is asked in.
#[derive(Clone)]
struct Poll {
    ask: InterruptPoll,
    turn: u64,
}

#[derive(Clone, Copy, Debug)]
struct Deadline {
    at: Instant,
    limit: Duration,
}

impl fmt::Debug for Interrupt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Interrupt").field("work", &self.work).field("polled", &self.poll.is_some()).finish()
    }
}

impl Interrupt {
    /// A flag that is down, of no session's work.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same work, which also ends when `ask` says so: the host's signals, looked at by whoever checks.
    pub fn with_poll(&self, ask: InterruptPoll) -> Self {
        let turn = self.work.turn.load(Ordering::Relaxed);
        Self { poll: Some(Poll { ask, turn }), ..self.clone() }
    }

    /// The same work, which also ends once `limit` has passed from now.
    pub fn with_deadline(&self, limit: Duration) -> Self {
        let deadline = Instant::now().checked_add(limit).map(|at| Deadline { at, limit });
        Self { deadline, ..self.clone() }
    }

    /// The interrupts of the session, if it is work of one.
    pub fn session(&self) -> Option<&Interrupts> {
        self.work.session.as_ref()
    }

    /// Work that rested is taken up again: all clones end by interrupts beyond so many from now on, and who was asked before is not asked
    /// any more. The time limit stays.
    pub fn taken_up(&self, since: u64) -> Self {
        self.work.flag.store(false, Ordering::Relaxed);
        self.work.since.store(since, Ordering::Relaxed);
        self.work.turn.fetch_add(1, Ordering::Relaxed);
        Self { poll: None, ..self.clone() }
    }

    /// Other work of the session, which began when there had been so many interrupts.
    pub fn beside(&self, since: u64) -> Self {
        let other = self.work.session.as_ref().map_or_else(Self::new, |session| session.work_since(since));
        Self { deadline: self.deadline, ..other }
    }

    /// Asks everything that does this work to stop soon.
    pub fn set(&self) {
        self.work.flag.store(true, Ordering::Relaxed);
    }

    /// Whether the work is to end.
    pub fn is_set(&self) -> bool {
        self.is_raised() || self.overdue().is_some() || self.poll.as_ref().is_some_and(|poll| self.ask(poll))
    }

    /// Whether somebody said so.
    fn is_raised(&self) -> bool {
        let Work { flag, session, since, .. } = &*self.work;
        let is_interrupted =
            |session: &Interrupts| session.0.all.load(Ordering::Relaxed) != since.load(Ordering::Relaxed);
        flag.load(Ordering::Relaxed) || session.as_ref().is_some_and(is_interrupted)
    }

    fn overdue(&self) -> Option<Deadline> {
        self.deadline.filter(|deadline| Instant::now() >= deadline.at)
    }

    fn ask(&self, poll: &Poll) -> bool {
        let stop = poll.turn == self.work.turn.load(Ordering::Relaxed) && (poll.ask)();
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
        session.work_since(session.count()).check().unwrap();
        assert_eq!((session.settled(), session.count()), (0, 1), "what rests is ended");
        session.settle();
        assert_eq!(session.settled(), 1);
        assert_eq!(second.beside(entered).check(), Err(Error::Interrupted), "it was entered before");
    }

    #[test]
    fn work_is_taken_up_again_wherever_it_is_known() {
        let session = Interrupts::default();
        let work = session.work_since(session.count());
        let (held, polled) = (work.clone(), work.with_poll(Arc::new(|| true)));
        session.raise();
        assert_eq!(held.check(), Err(Error::Interrupted));
        work.taken_up(session.count()).check().unwrap();
        assert_eq!((held.check(), polled.check()), (Ok(()), Ok(())), "who was asked then has gone");
        assert_eq!(work.with_poll(Arc::new(|| true)).check(), Err(Error::Interrupted));
        assert_eq!(
            (held.check(), session.count()),
            (Err(Error::Interrupted), 1),
            "what one work is told no other is"
        );
    }
}

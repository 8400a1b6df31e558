//! What a kernel may use: the memory budget and the interrupt flag of the statement that runs on this thread.
//!
//! Results of most kernels are as large as their arguments, which the operators account for. Texts made from numbers
//! (`repeat`, `lpad`, `format`) and from other texts (`replace`) can be of any size: their loops count bytes with a
//! [`Meter`] and ask [`check`] in long inner loops. The executor says on each worker thread what holds ([`with`]);
//! while a query is planned, constants are small or not computed yet, and where nobody said anything, they are, too.

use crate::{Error, Interrupt, MemoryBudget, Reservation, Result};
use std::any::Any;
use std::cell::RefCell;
use std::sync::Arc;

/// The limits of one statement.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Reserved from while a result grows.
    pub budget: MemoryBudget,
    /// Looked at by long loops.
    pub interrupt: Interrupt,
    /// What functions of the host may ask of the statement. Only who made it knows what it is.
    pub statement: Option<Arc<dyn Any + Send + Sync>>,
}

impl Limits {
    /// Limits of work that is no statement's.
    pub fn new(budget: MemoryBudget, interrupt: Interrupt) -> Self {
        Self { budget, interrupt, statement: None }
    }
}

thread_local! {
    static CURRENT: RefCell<Option<Limits>> = const { RefCell::new(None) };
}

/// Puts the former limits back, also when the work panics.
struct Restore(Option<Limits>);

impl Drop for Restore {
    fn drop(&mut self) {
        let former = self.0.take();
        CURRENT.with(|current| *current.borrow_mut() = former);
    }
}

/// Runs `work` with these limits on the calling thread.
pub fn with<R>(limits: Limits, work: impl FnOnce() -> R) -> R {
    let _restore = Restore(CURRENT.with(|current| current.borrow_mut().replace(limits)));
    work()
}

/// The limits of the statement that this thread works for, as for a thread that is to help it.
pub fn current() -> Option<Limits> {
    CURRENT.with(|current| current.borrow().clone())
}

/// Whether the statement goes on.
pub fn check() -> Result<()> {
    // To look at the flag may run code of the host, which may run a statement with limits of its own.
    let interrupt = CURRENT.with(|current| current.borrow().as_ref().map(|limits| limits.interrupt.clone()));
    interrupt.map_or(Ok(()), |interrupt| interrupt.check())
}

/// Bytes counted before the budget and the flag are asked again.
const STEP: usize = 1 << 18;

/// Bytes that a result may have where nobody set limits.
const UNLIMITED_MAX: u64 = 1 << 24;

/// Counts the bytes of one result while it grows, and refuses when the budget does.
pub struct Meter {
    /// Bytes that need no asking.
    free: usize,
    counted: u64,
    limits: Option<Limits>,
    reserved: Option<Reservation>,
}

impl Default for Meter {
    fn default() -> Self {
        Self::new()
    }
}

impl Meter {
    /// Nothing counted yet.
    pub fn new() -> Self {
        Self { free: STEP, counted: 0, limits: None, reserved: None }
    }

    /// Counts `bytes` more.
    #[inline]
    pub fn add(&mut self, bytes: usize) -> Result<()> {
        if bytes <= self.free {
            self.free -= bytes;
            return Ok(());
        }
        self.ask(bytes)
    }

    #[cold]
    fn ask(&mut self, bytes: usize) -> Result<()> {
        self.counted += (STEP + bytes) as u64;
        self.free = STEP;
        if self.limits.is_none() {
            self.limits = current();
        }
        let Some(limits) = &self.limits else {
            return if self.counted <= UNLIMITED_MAX { Ok(()) } else { Err(too_large(self.counted)) };
        };
        limits.interrupt.check()?;
        match &mut self.reserved {
            Some(reserved) => reserved.resize(self.counted),
            None => {
                self.reserved = Some(limits.budget.reserve(self.counted)?);
                Ok(())
            }
        }
    }
}

fn too_large(bytes: u64) -> Error {
    Error::OutOfMemory { requested: bytes, used: 0, limit: UNLIMITED_MAX }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interrupt::InterruptPoll;

    #[test]
    fn a_meter_refuses_at_the_budget_and_stops_at_the_flag() {
        let limits = Limits::new(MemoryBudget::new(1 << 22), Interrupt::new());
        let interrupt = limits.interrupt.clone();
        let budget = limits.budget.clone();
        with(limits, || {
            let mut meter = Meter::new();
            assert!((0..7).all(|_| meter.add(STEP + 1).is_ok()));
            assert!(matches!(meter.add(1 << 24), Err(Error::OutOfMemory { .. })));
            interrupt.set();
            assert!(matches!(check(), Err(Error::Interrupted)));
        });
        assert_eq!(budget.used(), 0);
        assert!(check().is_ok());
        assert!(Meter::new().add(1 << 30).is_err());
    }

    #[test]
    fn the_host_may_run_a_statement_while_it_is_asked() {
        let own = || Limits::new(MemoryBudget::new(1), Interrupt::new());
        let runs_one: InterruptPoll = std::sync::Arc::new(move || with(own(), || check().is_err()));
        let limits = Limits::new(MemoryBudget::new(1), Interrupt::new().with_poll(runs_one));
        assert!(with(limits, check).is_ok());
    }
}

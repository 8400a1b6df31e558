//! What a kernel may use: the memory budget and the interrupt flag of the statement that runs on this thread.
//!
//! Results of most kernels are as large as their arguments, which the operators account for. Texts made from numbers
//! (`repeat`, `lpad`, `format`) and from other texts (`replace`) can be of any size: their loops count bytes with a
//! [`Meter`] and ask [`check`] in long inner loops. What they made keeps the meter's reservation for as long as it lives
//! ([`crate::Vector::hold`]), so that a chain of such functions has all that it holds counted. The executor says on each
//! worker thread what holds ([`with`]); while a query is planned, constants are small or not computed yet, and where nobody
//! said anything, they are, too.
//!
//! What a kernel needs for a while beside its result (parts of a list, the tree of a document) is asked for with [`need`], which counts
//! it to the end of the step ([`step`]) that it belongs to.
//!
//! Where many rows may also be worked on in parts, their results may be bounded ([`bounded`]), so that the memory of one step
//! does not grow with the rows of a batch.

use crate::{Error, Interrupt, MemoryBudget, Reservation, Result};
use std::any::Any;
use std::cell::{Cell, RefCell};
use std::ops::Range;
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
    // A statement that a function runs is not bounded by the one that calls the function.
    bounded(u64::MAX, work)
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

/// Elements of one value that are gone through between two looks at the flag: a millisecond of most work on them.
const ELEMENTS: usize = 1 << 16;

/// `0..len` in parts, and before each a look at the flag: for loops over the elements of one value, the rows of one group or the
/// like, of which there can be any number. Who goes through many that are small looks by itself.
pub fn steps(len: usize) -> impl Iterator<Item = Result<Range<usize>>> {
    let look = move || if len > ELEMENTS { check() } else { Ok(()) };
    (0..len).step_by(ELEMENTS).map(move |from| look().map(|()| from..len.min(from + ELEMENTS)))
}

/// A look at the flag now and then, for loops that are not over a length.
#[derive(Debug)]
pub struct Pace {
    left: usize,
}

impl Default for Pace {
    fn default() -> Self {
        Self::new()
    }
}

impl Pace {
    /// The first look is after as many elements as the others.
    pub fn new() -> Self {
        Self { left: ELEMENTS }
    }

    /// One element more.
    #[inline]
    pub fn step(&mut self) -> Result<()> {
        self.steps(1)
    }

    /// So many elements more, or bytes where these are what takes time.
    #[inline]
    pub fn steps(&mut self, count: usize) -> Result<()> {
        if count < self.left {
            self.left -= count;
            return Ok(());
        }
        self.left = ELEMENTS;
        check()
    }
}

/// Bytes counted before the budget and the flag are asked again.
const STEP: usize = 1 << 18;

thread_local! {
    /// Bytes that one result may have; see [`bounded`].
    static RESULT_MAX: Cell<u64> = const { Cell::new(u64::MAX) };
}

/// Runs `work`, of which no result may have more than `max` bytes: [`Error::OutOfMemory`] beyond. For who can do the work in
/// smaller parts.
pub fn bounded<R>(max: u64, work: impl FnOnce() -> R) -> R {
    struct Former(u64);
    impl Drop for Former {
        fn drop(&mut self) {
            RESULT_MAX.with(|bound| bound.set(self.0));
        }
    }
    let _former = Former(RESULT_MAX.with(|bound| bound.replace(max)));
    work()
}

/// Refuses a result that is larger than what [`bounded`] says.
fn check_bound(bytes: u64) -> Result<()> {
    let max = RESULT_MAX.with(Cell::get);
    if bytes > max { Err(Error::OutOfMemory { requested: bytes, used: 0, limit: max }) } else { Ok(()) }
}

/// Reserves what is about to be allocated, if it is much: a refusal comes before the memory is taken.
pub fn hold(bytes: usize) -> Result<Option<Reservation>> {
    if bytes < STEP {
        return Ok(None);
    }
    let mut meter = Meter { free: 0, ..Meter::of_rows() };
    meter.add(bytes)?;
    Ok(meter.finish())
}

thread_local! {
    /// What the step that runs needs for a while; `None` outside of steps.
    static NEEDED: RefCell<Option<Needed>> = const { RefCell::new(None) };
}

/// What was asked for with [`need`] in a step of so many rows.
struct Needed {
    rows: usize,
    held: Vec<Reservation>,
}

/// Runs a step of a computation on so many rows: what it asks for with [`need`] is counted until it ends.
pub fn step<R>(rows: usize, work: impl FnOnce() -> R) -> R {
    struct Former(Option<Needed>);
    impl Drop for Former {
        fn drop(&mut self) {
            let former = self.0.take();
            drop(NEEDED.with(|needed| needed.replace(former)));
        }
    }
    let _former = Former(NEEDED.with(|needed| needed.replace(Some(Needed { rows, held: Vec::new() }))));
    work()
}

/// Asks for what is about to be allocated for a while, if it is much.
pub fn need(bytes: usize) -> Result<()> {
    if bytes < STEP {
        return Ok(());
    }
    match hold(bytes) {
        // What other rows of the step needed may be gone.
        Err(error @ Error::OutOfMemory { .. }) => {
            if !forget() {
                return Err(error);
            }
            keep(hold(bytes)?);
        }
        other => keep(other?),
    }
    Ok(())
}

/// Gives back what was asked for with [`need`] in a step of several rows: those before may need it no more. Whether there was any.
pub fn forget() -> bool {
    let of_others = NEEDED.with(|needed| match &mut *needed.borrow_mut() {
        Some(needed) if needed.rows > 1 => std::mem::take(&mut needed.held),
        Some(_) | None => Vec::new(),
    });
    !of_others.is_empty()
}

/// How much was asked for with [`need`] so far in the step that runs, for [`give_back`].
pub fn needed() -> usize {
    NEEDED.with(|needed| needed.borrow().as_ref().map_or(0, |needed| needed.held.len()))
}

/// Gives back what was asked for with [`need`] since `mark`: what a row needed for itself alone, when its result is there.
pub fn give_back(mark: usize) {
    let since = NEEDED.with(|needed| match &mut *needed.borrow_mut() {
        Some(needed) if needed.held.len() > mark => needed.held.split_off(mark),
        Some(_) | None => Vec::new(),
    });
    drop(since);
}

/// Counts what is held to the end of the step that runs.
pub fn keep(held: Option<Reservation>) {
    let Some(held) = held else { return };
    NEEDED.with(|needed| {
        if let Some(needed) = &mut *needed.borrow_mut() {
            needed.held.push(held);
        }
    });
}

/// Asks whether so many bytes of a result can be had, before they are taken. Where nobody set limits, only a little can.
pub fn room(bytes: usize) -> Result<()> {
    Meter::new().add(bytes)
}

/// Room for `more` values behind those of `values`, asked of the budget and of the system.
pub fn grow<T>(values: &mut Vec<T>, more: usize) -> Result<()> {
    if values.capacity() - values.len() >= more {
        return Ok(());
    }
    need(more.saturating_mul(size_of::<T>()))?;
    grow_counted(values, more)
}

/// The same for memory that was asked for by another: the system may still not have it.
pub fn grow_counted<T>(values: &mut Vec<T>, more: usize) -> Result<()> {
    values.try_reserve_exact(more).map_err(|_| Error::OutOfMemory {
        requested: more.saturating_mul(size_of::<T>()) as u64,
        used: current().map_or(0, |limits| limits.budget.used()),
        limit: current().map_or(0, |limits| limits.budget.limit()),
    })
}

/// Bytes that a result may have where nobody set limits.
const UNLIMITED_MAX: u64 = 1 << 24;

/// The same if it is much; a little may well be more than asked for, so that what grows by little steps does not move each time.
pub fn grow_at_once(bytes: &mut Vec<u8>, more: usize) -> Result<()> {
    if more < STEP { Ok(()) } else { grow(bytes, more) }
}

/// Counts the bytes of one result while it grows, and refuses when the budget does.
pub struct Meter {
    /// Bytes that need no asking.
    free: usize,
    counted: u64,
    /// Bytes that there may be where nobody set limits.
    unlimited_max: u64,
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
        Self { free: STEP, counted: 0, unlimited_max: UNLIMITED_MAX, limits: None, reserved: None }
    }

    /// The same for what may be of any size where nobody set limits: rows that are read or handed over, not constants.
    pub fn of_rows() -> Self {
        Self { unlimited_max: u64::MAX, ..Self::new() }
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

    /// What is counted, reserved for as long as the result lives.
    pub fn finish(self) -> Option<Reservation> {
        self.reserved
    }

    #[cold]
    fn ask(&mut self, bytes: usize) -> Result<()> {
        self.counted = self.counted.saturating_add(STEP as u64).saturating_add(bytes as u64);
        self.free = STEP;
        check_bound(self.counted)?;
        if self.limits.is_none() {
            self.limits = current();
        }
        let Some(limits) = &self.limits else {
            return if self.counted <= self.unlimited_max { Ok(()) } else { Err(too_large(self.counted)) };
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

/// What grows and is measured now and then, counted with the statement that runs.
#[derive(Default)]
pub struct Tally {
    limits: Option<Limits>,
    held: Option<Reservation>,
}

impl Tally {
    /// From now on so many bytes are counted, if they are many.
    pub fn to(&mut self, bytes: usize) -> Result<()> {
        if let Some(held) = &mut self.held {
            return held.resize(bytes as u64);
        }
        if bytes < STEP {
            return Ok(());
        }
        if self.limits.is_none() {
            self.limits = current();
        }
        self.held = match &self.limits {
            Some(limits) => Some(limits.budget.reserve(bytes as u64)?),
            None => None,
        };
        Ok(())
    }

    /// What is counted, reserved for as long as the result lives.
    pub fn finish(self) -> Option<Reservation> {
        self.held
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
    fn what_is_held_is_counted_and_may_be_bounded() {
        let limits = Limits::new(MemoryBudget::new(1 << 24), Interrupt::new());
        let budget = limits.budget.clone();
        with(limits, || {
            let held = hold(1 << 23).unwrap();
            assert!(budget.used() >= 1 << 23);
            assert!(hold(1 << 23).is_err() && room(1 << 23).is_err());
            drop(held);
            room(1 << 23).unwrap();
            assert!(bounded(1 << 20, || room(1 << 21)).is_err());
            room(1 << 21).unwrap();
            let mut values: Vec<u64> = Vec::new();
            grow(&mut values, 1 << 10).unwrap();
            assert!(grow(&mut values, usize::MAX).is_err() && grow(&mut values, 1 << 22).is_err());
        });
        assert_eq!(budget.used(), 0);
    }

    #[test]
    fn what_a_step_needs_is_counted_until_it_ends() {
        let limits = Limits::new(MemoryBudget::new(1 << 24), Interrupt::new());
        let budget = limits.budget.clone();
        with(limits, || {
            step(1, || {
                need(1 << 22).unwrap();
                // A step inside, as of a lambda's body.
                step(1, || need(1 << 22).unwrap());
                need(1 << 22).unwrap();
                assert!(budget.used() >= 2 << 22 && budget.used() < 3 << 22);
                assert!(need(1 << 23).is_err());
            });
            assert_eq!(budget.used(), 0);
            // Of many rows one after the other may need it.
            step(9, || (0..9).for_each(|_| need(1 << 22).unwrap()));
            need(1 << 23).unwrap();
        });
        assert_eq!(budget.used(), 0);
    }

    #[test]
    fn the_host_may_run_a_statement_while_it_is_asked() {
        let own = || Limits::new(MemoryBudget::new(1), Interrupt::new());
        let runs_one: InterruptPoll = std::sync::Arc::new(move || with(own(), || check().is_err()));
        let limits = Limits::new(MemoryBudget::new(1), Interrupt::new().with_poll(runs_one));
        assert!(with(limits, check).is_ok());
    }
}

//! States of an aggregate over frames, whose memory is asked for while they grow.
//!
//! What states hold is known when rows were added, not before; what is full doubles, and the old place is there until all has moved.
//! So what the next rows may take is asked for together with what the last ones took.

use crate::spill::resize_or_work;
use inlay_kernels::aggregate::{GroupIds, GroupedAccumulator};
use inlay_types::{MemoryBudget, Reservation, Result, Vector, limits};

/// States that hold less are part of what every statement takes.
const SMALL: usize = 1 << 20;
/// Memory is asked for after so many rows, or states of others.
const ASKED_ROWS: usize = 512;

/// States, and what is reserved for them.
pub(super) struct Counted {
    states: Box<dyn GroupedAccumulator>,
    memory: Reservation,
    /// What was added since memory was asked for.
    added: usize,
}

impl Counted {
    /// States that have no rows yet.
    pub(super) fn new(states: Box<dyn GroupedAccumulator>, budget: &MemoryBudget) -> Result<Self> {
        Ok(Self { states, memory: budget.reserve(0)?, added: 0 })
    }

    /// See [`GroupedAccumulator::resize`].
    pub(super) fn resize(&mut self, groups: usize) {
        self.states.resize(groups);
    }

    /// See [`GroupedAccumulator::update`].
    pub(super) fn update(&mut self, args: &[&Vector], groups: GroupIds<'_>) -> Result<()> {
        self.ask(groups.len(), args.iter().map(|arg| arg.text_size()).sum())?;
        self.states.update(args, groups)
    }

    /// See [`GroupedAccumulator::merge`].
    pub(super) fn merge(&mut self, other: &Self, source: &[u32], target: &[u32]) -> Result<()> {
        self.ask(source.len(), 0)?;
        self.states.merge(&*other.states, source, target)
    }

    /// Merges all of one that may be large.
    pub(super) fn merge_whole(&mut self, other: &Self, source: &[u32], target: &[u32]) -> Result<()> {
        self.ask(ASKED_ROWS, other.states.memory_size())?;
        self.states.merge(&*other.states, source, target)
    }

    /// Asks for what so many rows more may take, with so many bytes of texts or states.
    fn ask(&mut self, rows: usize, bytes: usize) -> Result<()> {
        self.added += rows;
        if self.added < ASKED_ROWS && bytes < SMALL {
            return Ok(());
        }
        self.added = 0;
        let size = self.states.memory_size() + bytes;
        if size < SMALL {
            return Ok(());
        }
        resize_or_work(&mut self.memory, (size * 5 / 2) as u64)
    }

    /// The results of groups `from .. from + len`, which are counted for as long as they live.
    pub(super) fn finish(&self, from: usize, len: usize) -> Result<Vector> {
        limits::step(len, || {
            let made = self.states.finish(from, len)?;
            let held = limits::hold(made.memory_size())?;
            Ok(made.holding(held))
        })
    }

    /// No rows will be added: what was asked for their sake goes back.
    pub(super) fn settle(&mut self) -> Result<()> {
        let size = self.states.memory_size();
        if size < SMALL { Ok(()) } else { resize_or_work(&mut self.memory, size as u64) }
    }
}

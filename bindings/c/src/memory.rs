//! Memory that is made for the program: asked of the database's budget before it is taken.

use inlay::types::{MemoryBudget, Reservation};
use inlay::{Limits, Result};

/// Memory that grows, and is asked for in steps. It is given back when this is dropped.
pub struct Held {
    reservation: Reservation,
    used: u64,
}

/// Bytes that are asked for at least.
const STEP: u64 = 1 << 16;

impl Held {
    /// So many bytes of a budget.
    pub fn of(budget: &MemoryBudget, bytes: usize) -> Result<Self> {
        Ok(Self { reservation: budget.reserve(bytes as u64)?, used: bytes as u64 })
    }

    /// So many bytes for a call.
    pub fn new(limits: &Limits, bytes: usize) -> Result<Self> {
        Self::of(&limits.budget, bytes)
    }

    /// So many more.
    pub fn add(&mut self, bytes: usize) -> Result<()> {
        let wanted = self.used + bytes as u64;
        if wanted > self.reservation.bytes() {
            // By a share of what there is, so that it is not asked for often.
            self.reservation.resize(wanted + STEP.max(wanted / 16))?;
        }
        self.used = wanted;
        Ok(())
    }

    /// What is asked for and not used is given back.
    pub fn finish(mut self) -> Result<Reservation> {
        if self.reservation.bytes() > self.used {
            self.reservation.resize(self.used)?;
        }
        Ok(self.reservation)
    }
}

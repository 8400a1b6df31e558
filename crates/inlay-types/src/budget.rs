//! The memory limit of a database. Whatever grows with data asks here first and may be refused.

use crate::{Error, Result};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

#[derive(Debug)]
struct Counters {
    used: AtomicU64,
    peak: AtomicU64,
    limit: AtomicU64,
}

/// A counter of bytes with a limit; clones share it.
#[derive(Clone, Debug)]
pub struct MemoryBudget(Arc<Counters>);

impl MemoryBudget {
    /// A budget of `limit` bytes.
    pub fn new(limit: u64) -> Self {
        Self(Arc::new(Counters { used: 0.into(), peak: 0.into(), limit: limit.into() }))
    }

    /// A budget that never refuses.
    pub fn unlimited() -> Self {
        Self::new(u64::MAX)
    }

    /// Bytes reserved now.
    pub fn used(&self) -> u64 {
        self.0.used.load(Ordering::Relaxed)
    }

    /// Most bytes ever reserved at once.
    pub fn peak(&self) -> u64 {
        self.0.peak.load(Ordering::Relaxed)
    }

    /// The limit in bytes.
    pub fn limit(&self) -> u64 {
        self.0.limit.load(Ordering::Relaxed)
    }

    /// Changes the limit; what is reserved already stays.
    pub fn set_limit(&self, limit: u64) {
        self.0.limit.store(limit, Ordering::Relaxed);
    }

    /// Reserves `bytes` until the reservation is dropped, or refuses with [`Error::OutOfMemory`].
    pub fn reserve(&self, bytes: u64) -> Result<Reservation> {
        let mut reservation = Reservation { budget: self.clone(), bytes: 0 };
        reservation.grow(bytes)?;
        Ok(reservation)
    }
}

/// Bytes taken from a [`MemoryBudget`]; given back on drop.
#[derive(Debug)]
pub struct Reservation {
    budget: MemoryBudget,
    bytes: u64,
}

impl Reservation {
    /// Bytes held.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Takes `more` bytes, or refuses and changes nothing.
    pub fn grow(&mut self, more: u64) -> Result<()> {
        let counters = &*self.budget.0;
        let limit = counters.limit.load(Ordering::Relaxed);
        let before = counters.used.fetch_add(more, Ordering::Relaxed);
        let after = before.saturating_add(more);
        if after > limit {
            counters.used.fetch_sub(more, Ordering::Relaxed);
            return Err(Error::OutOfMemory { requested: more, used: before, limit });
        }
        counters.peak.fetch_max(after, Ordering::Relaxed);
        self.bytes += more;
        Ok(())
    }

    /// Grows or shrinks to `bytes` in all.
    pub fn resize(&mut self, bytes: u64) -> Result<()> {
        if bytes > self.bytes {
            self.grow(bytes - self.bytes)
        } else {
            self.budget.0.used.fetch_sub(self.bytes - bytes, Ordering::Relaxed);
            self.bytes = bytes;
            Ok(())
        }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.budget.0.used.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

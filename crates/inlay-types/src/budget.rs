//! The memory limit of a database. Whatever grows with data asks here first and may be refused.
//!
//! What can do with less asks a budget that yields ([`MemoryBudget::yielding`]): it is refused a little before the limit, so
//! that those that cannot go on without memory, such as scans below it, find some. While the process holds more than is counted
//! ([`crate::overhead`]), it is refused as much earlier, within bounds, and caches give way, so that the process stays near the limit.

use crate::allocator::{Hurry, give_back_all, give_back_due};
use crate::{Error, Result, idle, overhead};
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, Weak};

/// Something that holds memory it can do without, such as a cache.
pub trait Reclaim: Send + Sync {
    /// Gives back about `bytes` of the reserved memory if it can. Returns how many it gave back. Called at the limit,
    /// by any thread and in the middle of anything, so it takes no lock that its users hold while they reserve.
    fn reclaim(&self, bytes: u64) -> u64;
}

struct Counters {
    /// Whether there is a `hurry`.
    short: AtomicBool,
    /// More than half of the limit was in use or little was left, and since then not yet a quarter and much.
    hurry: Mutex<Option<Hurry>>,
    used: AtomicU64,
    peak: AtomicU64,
    /// What is set.
    set_limit: AtomicU64,
    /// A lower limit for now.
    cap: AtomicU64,
    /// The lesser of the two.
    limit: AtomicU64,
    /// What the process holds beyond what is counted and beyond what is tolerated, as far as that lowers the limit.
    slack: AtomicU64,
    /// Bytes that were reserved since that was looked at.
    unseen: AtomicU64,
    /// Looks until freed memory is asked for again that is not due.
    patience: AtomicU32,
    reclaim: RwLock<Vec<Weak<dyn Reclaim>>>,
}

impl fmt::Debug for Counters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} bytes", self.used.load(Ordering::Relaxed), self.limit.load(Ordering::Relaxed))
    }
}

/// A counter of bytes with a limit; clones share it.
#[derive(Clone, Debug)]
pub struct MemoryBudget {
    counters: Arc<Counters>,
    yields: bool,
}

/// The part of a limit that who yields leaves to others, and the most bytes that it is.
const LEFT_SHARE: u64 = 6;
const LEFT_MAX: u64 = 96 << 20;
/// The same for what caches leave.
const UNCACHED_SHARE: u64 = 4;
const UNCACHED_MAX: u64 = 128 << 20;
/// While less than this is left, what is freed goes back to the system soon: an allocator that keeps it may hold as
/// much again, which counts where the limit is small.
const LITTLE: u64 = 512 << 20;
/// What the process may hold beyond what is counted before that lowers a limit; by which share of it at most, and by how much.
const TOLERATED: u64 = 32 << 20;
/// So much more, although what is due went back: then all that is free has to. An allocator may hold what is due all the same (mimalloc,
/// when several threads free pages while one gives them back).
const STUCK: u64 = 16 << 20;
/// Where that did not help it is tried again after so many more looks.
const PATIENCE: u32 = 16;
const SLACK_SHARE: u64 = 4;
const SLACK_MAX: u64 = 96 << 20;
/// It is looked at after so many more bytes were reserved.
const LOOK_BYTES: u64 = 2 << 20;

impl MemoryBudget {
    /// A budget of `limit` bytes.
    pub fn new(limit: u64) -> Self {
        let counters = Arc::new(Counters {
            short: false.into(),
            hurry: Mutex::default(),
            used: 0.into(),
            peak: 0.into(),
            set_limit: limit.into(),
            cap: u64::MAX.into(),
            limit: limit.into(),
            slack: 0.into(),
            unseen: 0.into(),
            patience: 0.into(),
            reclaim: RwLock::default(),
        });
        overhead::begin();
        let mut all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|other| other.strong_count() > 0);
        all.push(Arc::downgrade(&counters));
        drop(all);
        Self { counters, yields: false }
    }

    /// The same budget for those that can do with less: what they ask for is refused while some memory is left.
    pub fn yielding(&self) -> Self {
        Self { counters: Arc::clone(&self.counters), yields: true }
    }

    /// A budget that never refuses.
    pub fn unlimited() -> Self {
        Self::new(u64::MAX)
    }

    /// Bytes reserved now.
    pub fn used(&self) -> u64 {
        self.counters.used.load(Ordering::Relaxed)
    }

    /// Most bytes ever reserved at once.
    pub fn peak(&self) -> u64 {
        self.counters.peak.load(Ordering::Relaxed)
    }

    /// The limit in bytes, as it was set.
    pub fn limit(&self) -> u64 {
        self.counters.set_limit.load(Ordering::Relaxed)
    }

    /// Bytes that may be reserved for now, if that is less than the limit; nothing that is reserved is asked for.
    pub fn set_cap(&self, cap: Option<u64>) {
        self.counters.cap.store(cap.unwrap_or(u64::MAX), Ordering::Relaxed);
        self.counters.limit.store(self.limit().min(cap.unwrap_or(u64::MAX)), Ordering::Relaxed);
    }

    /// Changes the limit. If more is reserved already, caches give way at once, and whoever asks for more is refused until
    /// enough was given back.
    pub fn set_limit(&self, limit: u64) {
        self.counters.set_limit.store(limit, Ordering::Relaxed);
        self.counters.limit.store(limit.min(self.counters.cap.load(Ordering::Relaxed)), Ordering::Relaxed);
        let used = self.used();
        if used > limit {
            self.counters.reclaim(used - limit);
        }
        if is_short(self.used(), limit) {
            self.counters.set_short(true);
        }
    }

    /// Asks whoever holds memory that it can do without for about `bytes` of it. Returns how many were given back.
    pub fn reclaim(&self, bytes: u64) -> u64 {
        self.counters.reclaim(bytes)
    }

    /// Adds what is asked for memory before a reservation is refused, behind those that were added before.
    pub fn add_reclaim(&self, reclaim: Weak<dyn Reclaim>) {
        let mut all = self.counters.reclaim.write().unwrap_or_else(PoisonError::into_inner);
        all.retain(|holder| holder.strong_count() > 0);
        all.push(reclaim);
    }

    /// Asks caches to give way if they leave little to others. Called where something enters a cache.
    pub fn trim_caches(&self) {
        let limit = self.counters.limit.load(Ordering::Relaxed);
        let most = limit - (limit / UNCACHED_SHARE).min(UNCACHED_MAX);
        let used = self.used();
        if used > most {
            self.counters.reclaim(used - most);
        }
    }

    /// Reserves `bytes` until the reservation is dropped, or refuses with [`Error::OutOfMemory`].
    pub fn reserve(&self, bytes: u64) -> Result<Reservation> {
        let mut reservation = Reservation { budget: self.clone(), bytes: 0 };
        reservation.grow(bytes)?;
        Ok(reservation)
    }
}

/// Counters of all budgets of the process.
static ALL: Mutex<Vec<Weak<Counters>>> = Mutex::new(Vec::new());

fn all() -> Vec<Arc<Counters>> {
    // Let go of after the lock: the last of a budget may end somebody's hurry.
    ALL.lock().unwrap_or_else(PoisonError::into_inner).iter().filter_map(Weak::upgrade).collect()
}

/// Bytes that all budgets of the process count.
pub(crate) fn used_by_all() -> u64 {
    all().iter().map(|counters| counters.used.load(Ordering::Relaxed)).sum()
}

/// The largest limit of a budget; 0 if there is none.
pub(crate) fn largest_limit() -> u64 {
    all().iter().map(|counters| counters.limit.load(Ordering::Relaxed)).max().unwrap_or(0)
}

/// Whether so much is in use that freed memory should go back to the system soon ...
fn is_short(used: u64, limit: u64) -> bool {
    used > limit / 2 || limit.saturating_sub(used) < LITTLE
}

/// ... and whether so little that it may be kept again.
fn is_plenty(used: u64, limit: u64) -> bool {
    used < limit / 4 && limit.saturating_sub(used) > LITTLE + LITTLE / 8
}

impl Counters {
    /// Takes bytes below `limit`, which is at most that of all.
    fn take(&self, more: u64, limit: u64) -> Result<()> {
        // What is refused is never counted, or others would be refused meanwhile who ask for less. Nothing is never refused.
        let fits = |used: u64| used.checked_add(more).filter(|after| *after <= limit || more == 0);
        match self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits) {
            Ok(before) => {
                self.peak.fetch_max(before + more, Ordering::Relaxed);
                self.unseen.fetch_add(more, Ordering::Relaxed);
                idle::stir(more);
                if is_short(before + more, limit) && !self.short.load(Ordering::Relaxed) {
                    self.set_short(true);
                }
                Ok(())
            }
            Err(used) => Err(Error::OutOfMemory { requested: more, used, limit }),
        }
    }

    fn give(&self, bytes: u64) {
        idle::stir(bytes);
        let before = self.used.fetch_sub(bytes, Ordering::Relaxed);
        if self.short.load(Ordering::Relaxed) && is_plenty(before - bytes, self.limit.load(Ordering::Relaxed))
        {
            self.set_short(false);
        }
    }

    /// By how much the limit is lowered for those that can do with less.
    fn slack(&self, limit: u64) -> u64 {
        if !is_short(self.used.load(Ordering::Relaxed), limit) {
            return 0;
        }
        if self.unseen.load(Ordering::Relaxed) > LOOK_BYTES {
            self.unseen.store(0, Ordering::Relaxed);
            let beyond = self.given_back();
            let most = (limit / SLACK_SHARE).min(SLACK_MAX);
            self.slack.store(beyond.saturating_sub(TOLERATED).min(most), Ordering::Relaxed);
        }
        self.slack.load(Ordering::Relaxed)
    }

    /// What is beyond what is counted, after freed memory went back if that was too much.
    fn given_back(&self) -> u64 {
        let beyond = overhead::beyond();
        if beyond <= TOLERATED || !give_back_due() {
            return beyond;
        }
        let beyond = overhead::beyond();
        let waits = |looks: u32| looks.checked_sub(1);
        if beyond <= TOLERATED + STUCK
            || self.patience.fetch_update(Ordering::Relaxed, Ordering::Relaxed, waits).is_ok()
        {
            return beyond;
        }
        give_back_all();
        let left = overhead::beyond();
        if left > TOLERATED + STUCK {
            self.patience.store(PATIENCE, Ordering::Relaxed);
        }
        left
    }

    fn set_short(&self, short: bool) {
        let mut hurry = self.hurry.lock().unwrap_or_else(PoisonError::into_inner);
        self.short.store(short, Ordering::Relaxed);
        if short != hurry.is_some() {
            *hurry = short.then(Hurry::new);
        }
    }

    /// Asks everyone for memory until about `bytes` are given back. Returns how many were.
    fn reclaim(&self, bytes: u64) -> u64 {
        // The list is not locked while they are asked: they may reserve.
        let all = self.reclaim.read().unwrap_or_else(PoisonError::into_inner).clone();
        let mut freed = 0;
        for holder in all.iter().filter_map(Weak::upgrade) {
            if freed >= bytes {
                break;
            }
            freed += holder.reclaim(bytes - freed);
        }
        freed
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
        let counters = &self.budget.counters;
        let limit = counters.limit.load(Ordering::Relaxed);
        let left = if self.budget.yields { (limit / LEFT_SHARE).min(LEFT_MAX) } else { 0 };
        let low = limit - left - counters.slack(limit);
        let mut outcome = counters.take(more, low);
        while let Err(Error::OutOfMemory { used, .. }) = &outcome {
            let short = used.saturating_add(more).saturating_sub(low);
            if counters.reclaim(short) == 0 {
                break;
            }
            outcome = counters.take(more, low);
        }
        if outcome.is_err() && low < limit && !self.budget.yields {
            outcome = counters.take(more, limit);
        }
        outcome?;
        self.bytes += more;
        Ok(())
    }

    /// Grows or shrinks to `bytes` in all.
    pub fn resize(&mut self, bytes: u64) -> Result<()> {
        if bytes > self.bytes {
            self.grow(bytes - self.bytes)
        } else {
            self.budget.counters.give(self.bytes - bytes);
            self.bytes = bytes;
            Ok(())
        }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.budget.counters.give(self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Holds a reservation that it can do without.
    struct Cache(Mutex<Option<Reservation>>);

    impl Reclaim for Cache {
        fn reclaim(&self, bytes: u64) -> u64 {
            let mut held = self.0.lock().unwrap();
            let Some(held) = held.as_mut() else { return 0 };
            let given = held.bytes().min(bytes);
            held.resize(held.bytes() - given).unwrap();
            given
        }
    }

    #[test]
    fn a_lowered_limit_makes_caches_give_way() {
        let budget = MemoryBudget::new(1000);
        let cache = Arc::new(Cache(Mutex::new(Some(budget.reserve(600).unwrap()))));
        let holder: Arc<dyn Reclaim> = Arc::<Cache>::clone(&cache);
        budget.add_reclaim(Arc::downgrade(&holder));
        let mut other = budget.reserve(300).unwrap();
        budget.set_limit(500);
        assert_eq!(budget.used(), 500, "the cache gave 400");
        other.grow(200).unwrap();
        assert_eq!(cache.0.lock().unwrap().as_ref().map(Reservation::bytes), Some(0));
        assert!(other.grow(1).is_err());
        budget.set_limit(400);
        assert_eq!(budget.used(), 500, "nobody is robbed");
        budget.set_limit(600);
        other.grow(100).unwrap();
        budget.set_cap(Some(550));
        assert!(other.grow(1).is_err() && budget.limit() == 600);
        budget.set_limit(700);
        assert!(other.grow(1).is_err());
        budget.set_cap(None);
        other.grow(100).unwrap();
    }
}

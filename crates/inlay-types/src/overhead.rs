//! How much more memory the process holds than budgets count: what an allocator keeps between blocks in use and a while after,
//! and what is too small to be counted.
//!
//! The host's own memory is not the engine's: it is what the process held when the first budget was made, and again what it
//! holds beyond what is counted whenever the engine has nothing to do and has given its free memory back ([`settle`]). A host
//! that takes memory between two such moments is counted with the engine, so who asks bounds what follows from it.

use crate::budget;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes of the host itself; `UNKNOWN` at first.
static HOST: AtomicU64 = AtomicU64::new(UNKNOWN);
const UNKNOWN: u64 = u64::MAX;
/// Bytes of pages of unnamed files ([`crate::pages`]): counted by budgets, but not anonymous memory.
static PAGES: AtomicU64 = AtomicU64::new(0);

/// Says that all that is held beyond what is counted is the host's. Called when the engine holds little that is not counted.
pub(crate) fn settle() {
    if let Some(held) = anonymous_bytes() {
        HOST.store(held.saturating_sub(counted()), Ordering::Relaxed);
    }
}

/// The same if nobody has said so yet.
pub(crate) fn begin() {
    if HOST.load(Ordering::Relaxed) == UNKNOWN {
        settle();
    }
}

/// Bytes that the process holds beyond the host's own and beyond what budgets count; 0 where the system does not say.
pub(crate) fn beyond() -> u64 {
    let host = HOST.load(Ordering::Relaxed);
    anonymous_bytes().map_or(0, |held| held.saturating_sub(host).saturating_sub(counted()))
}

/// Counts pages that were made ...
pub(crate) fn add_pages(bytes: usize) {
    PAGES.fetch_add(bytes as u64, Ordering::Relaxed);
}

/// ... and that are gone.
pub(crate) fn remove_pages(bytes: usize) {
    PAGES.fetch_sub(bytes as u64, Ordering::Relaxed);
}

/// Anonymous memory that all budgets count.
fn counted() -> u64 {
    budget::used_by_all().saturating_sub(PAGES.load(Ordering::Relaxed))
}

/// Resident memory of the process that no file is behind.
#[cfg(target_os = "linux")]
fn anonymous_bytes() -> Option<u64> {
    use std::io::Read;
    // Opened each time: a descriptor that is kept would tell a forked child of its parent.
    let mut text = [0; 128];
    let len = std::fs::File::open("/proc/self/statm").ok()?.read(&mut text).ok()?;
    let mut fields = std::str::from_utf8(&text[..len]).ok()?.split_ascii_whitespace().skip(1);
    let (resident, shared): (u64, u64) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
    Some(resident.saturating_sub(shared) * crate::pages::page_size() as u64)
}

#[cfg(not(target_os = "linux"))]
fn anonymous_bytes() -> Option<u64> {
    None
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use crate::MemoryBudget;

    /// Other tests of this process take and free memory meanwhile, so it is much, and the bounds are wide.
    #[test]
    fn what_is_held_but_not_counted_is_beyond() {
        const BYTES: usize = 256 << 20;
        begin();
        let before = beyond();
        let held = vec![1u8; BYTES];
        let with = beyond();
        assert!(with > before + (BYTES as u64) / 2, "{before} {with} {}", held[BYTES / 2]);
        let budget = MemoryBudget::unlimited();
        let counted = budget.reserve(BYTES as u64).unwrap();
        assert!(beyond() < with - (BYTES as u64) / 2);
        drop((counted, held));
    }
}

//! Gives freed memory back once the engine is idle.
//!
//! An allocator that looks whether freed pages are due while somebody allocates gives back those that the running query is
//! about to ask for, and none when nobody allocates any more. So pages are kept while queries come, and a thread that lives
//! from the first large reservation until nothing large was reserved for a while gives all back then. It sleeps but for a look each second.

use crate::allocator::{IDLE, give_back, give_back_all, is_installed};
use crate::process::process_id;
use crate::{budget, overhead};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::{Builder, sleep};
use std::time::Duration;

/// Reservations of at least so many bytes tell that the engine is at work; those of single rows do not.
const LARGE: u64 = 256 << 10;
/// How often the thread looks.
const LOOK: Duration = Duration::from_secs(1);
/// Freed memory is not kept, idle or not, if it is more than this share of the largest limit.
const KEPT_SHARE: u64 = 8;

/// The process in which something large was reserved or given since the thread looked; else 0.
static STIRRED: AtomicU32 = AtomicU32::new(0);
/// The process in which there is a thread, or 0.
static WATCHED: AtomicU32 = AtomicU32::new(0);

/// Says that so many bytes were reserved or given.
#[inline]
pub(crate) fn stir(bytes: u64) {
    // Read by all workers and written once a second, so none waits for another's cache line.
    if bytes >= LARGE && STIRRED.load(Ordering::Relaxed) != process_id() {
        wake();
    }
}

#[cold]
fn wake() {
    if !is_installed() {
        return;
    }
    let process = process_id();
    STIRRED.store(process, Ordering::SeqCst);
    // Of another process is what a fork left.
    if WATCHED.swap(process, Ordering::SeqCst) == process {
        return;
    }
    let started = Builder::new().name("inlay idle".into()).stack_size(256 << 10).spawn(watch);
    if started.is_err() {
        // Tried again at the next reservation.
        WATCHED.store(0, Ordering::SeqCst);
        STIRRED.store(0, Ordering::SeqCst);
    }
}

/// Looks until the engine was idle for [`IDLE`].
fn watch() {
    let mut looks = 0;
    loop {
        sleep(LOOK);
        if STIRRED.swap(0, Ordering::SeqCst) != 0 {
            looks = 0;
            if overhead::beyond() > budget::largest_limit() / KEPT_SHARE {
                give_back_all();
            }
            continue;
        }
        looks += 1;
        if LOOK * looks < IDLE {
            continue;
        }
        give_back();
        WATCHED.store(0, Ordering::SeqCst);
        // Who came meanwhile saw a thread and started none.
        if STIRRED.load(Ordering::SeqCst) == 0 || WATCHED.swap(process_id(), Ordering::SeqCst) != 0 {
            return;
        }
        looks = 0;
    }
}

//! An allocator that counts: bytes that live, the most that lived, bytes ever asked for, and how many more than a database has
//! asked its budget for.
//!
//! What is not asked for before it is taken shows as an excess at the moment when it is taken, whatever the limit and however much
//! of it is left: the tests need neither large values nor small limits, and the numbers are the same on each machine.

#![expect(unsafe_code, reason = "an allocator that counts")]

use inlay::Database;
use std::alloc::{GlobalAlloc, Layout, System};
use std::backtrace::Backtrace;
use std::cell::Cell;
use std::sync::Mutex;
use std::sync::atomic::{AtomicI64, AtomicPtr, AtomicU64, Ordering::Relaxed};

struct Counting;

#[global_allocator]
static COUNTING: Counting = Counting;

static LIVE: AtomicI64 = AtomicI64::new(0);
static ASKED: AtomicU64 = AtomicU64::new(0);
/// Most bytes that lived since a measurement began.
static PEAK: AtomicI64 = AtomicI64::new(0);
/// What is compared with; null while nobody measures.
static WATCHED: AtomicPtr<Database> = AtomicPtr::new(std::ptr::null_mut());
/// Live bytes beyond those that the database counts, when the statement began, and most since then.
static BASE: AtomicI64 = AtomicI64::new(0);
static MOST: AtomicI64 = AtomicI64::new(0);
/// From how large an excess on the place is noted.
static NOTED_FROM: AtomicI64 = AtomicI64::new(i64::MAX);
static PLACE: Mutex<Option<(i64, Backtrace)>> = Mutex::new(None);

/// What no test needs.
const LIVE_MAX: i64 = 6 << 30;

/// Looked at when so many bytes were taken at once, or so many more live than before.
const STEP: i64 = 1 << 16;

thread_local! {
    static LOOKS: Cell<bool> = const { Cell::new(false) };
}

fn excess() -> Option<i64> {
    // SAFETY: what is watched lives until `measured` takes it back, and nobody allocates for it then.
    let database = unsafe { WATCHED.load(Relaxed).as_ref() }?;
    // Both move on other threads meanwhile: what was counted before or behind is asked for before it is taken, and given back when it
    // is free.
    let before = database.memory_used();
    let live = LIVE.load(Relaxed);
    Some(live - before.max(database.memory_used()) as i64)
}

fn taken(bytes: usize) {
    let bytes = bytes as i64;
    ASKED.fetch_add(bytes as u64, Relaxed);
    let before = LIVE.fetch_add(bytes, Relaxed);
    PEAK.fetch_max(before + bytes, Relaxed);
    if before + bytes > LIVE_MAX && !LOOKS.replace(true) {
        // The machine would be next.
        eprintln!("{} MiB live: {}", (before + bytes) >> 20, Backtrace::force_capture());
        std::process::abort();
    }
    if bytes < STEP && before / STEP == (before + bytes) / STEP || LOOKS.get() {
        return;
    }
    LOOKS.set(true);
    if let Some(excess) = excess() {
        let excess = excess - BASE.load(Relaxed);
        if MOST.fetch_max(excess, Relaxed) < excess && excess > NOTED_FROM.load(Relaxed) {
            let mut place = PLACE.lock().unwrap();
            if place.as_ref().is_none_or(|(known, _)| excess > known + known / 8) {
                *place = Some((excess, Backtrace::force_capture()));
            }
        }
    }
    LOOKS.set(false);
}

fn freed(bytes: usize) {
    LIVE.fetch_sub(bytes as i64, Relaxed);
}

// SAFETY: all is passed on to the system's allocator as it came; counting allocates only where it is marked, which ends it.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        taken(layout.size());
        // SAFETY: as called.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        taken(layout.size());
        // SAFETY: as called.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        freed(layout.size());
        // SAFETY: as called.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // Other allocators copy, so that both live for a moment.
        taken(size);
        // SAFETY: as called.
        let moved = unsafe { System.realloc(pointer, layout, size) };
        freed(layout.size());
        moved
    }
}

/// What a piece of work took.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Taken {
    /// Most bytes at one time that the budget did not know of, beyond what there was before.
    pub(crate) uncounted: u64,
    /// Bytes that were ever asked the allocator for.
    pub(crate) allocated: u64,
    /// Most bytes that lived at one time, beyond what there was before.
    pub(crate) peak: u64,
}

/// Runs `work`, and compares what lives with what `database` counts meanwhile.
pub(crate) fn measured<R>(database: &Database, work: impl FnOnce() -> R) -> (R, Taken) {
    let watched = std::ptr::from_ref(database).cast_mut();
    *PLACE.lock().unwrap() = None;
    BASE.store(LIVE.load(Relaxed) - database.memory_used() as i64, Relaxed);
    MOST.store(0, Relaxed);
    let (asked, lived) = (ASKED.load(Relaxed), LIVE.load(Relaxed));
    PEAK.store(lived, Relaxed);
    WATCHED.store(watched, Relaxed);
    let result = work();
    WATCHED.store(std::ptr::null_mut(), Relaxed);
    let uncounted = MOST.load(Relaxed).max(0) as u64;
    let peak = (PEAK.load(Relaxed) - lived).max(0) as u64;
    (result, Taken { uncounted, allocated: ASKED.load(Relaxed) - asked, peak })
}

/// From now on the place is noted where more than `bytes` are taken that nobody asked for.
pub(crate) fn note_from(bytes: u64) {
    NOTED_FROM.store(bytes as i64, Relaxed);
}

/// The lines of our code that led to the largest excess of what was measured last.
pub(crate) fn place() -> String {
    let place = PLACE.lock().unwrap().take();
    let Some((_, trace)) = place else { return String::new() };
    let text = trace.to_string();
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| line.contains("crates/inlay")).collect();
    let ours = lines.iter().filter(|line| !line.contains("/tests/"));
    ours.take(14).map(|line| format!("\n        {}", line.trim_start_matches("at "))).collect()
}

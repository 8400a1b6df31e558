//! The engine's allocator inside Python: mimalloc, told when to give freed memory back.
//!
//! The C library's allocator keeps what lies below the highest block in use. After a few queries over data
//! larger than `memory_limit` the process held twice what the engine had accounted for. It is not shared with Python
//! or other modules of the process, whose memory stays with their own allocators.

#![expect(unsafe_code, reason = "the allocator of the process")]

use inlay::types::allocator::Allocator;
use libmimalloc_sys as sys;
use std::ffi::c_long;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// `mi_option_purge_delay` of mimalloc.h, which the crate has no name for.
const PURGE_DELAY: sys::mi_option_t = 15;
/// `mi_option_allow_thp`.
const ALLOW_HUGE_PAGES: sys::mi_option_t = 43;
/// Milliseconds after which freed pages go back by themselves: hardly ever, as all go back when the engine rests. (With a negative
/// number none would be remembered for that.) When the time has come all go back, those of the running query, too.
const PURGE_LATE: c_long = 24 * 3_600_000;
/// Where memory is short: hardly longer than it takes to use them again.
const PURGE_SOON: c_long = 1;

/// To be called once, when the module is loaded. The environment's `MIMALLOC_PURGE_DELAY` and `MIMALLOC_ALLOW_THP` stay in force
/// for good.
///
/// Transparent huge pages are not asked for: in virtual machines that hand free memory back to their host, to touch a new one
/// takes several times as long as its 512 small ones, and queries on memory that is in use take hardly longer without.
pub fn configure() {
    // SAFETY: as below; memory that is reserved from now on is not advised.
    unsafe { sys::mi_option_set_default(ALLOW_HUGE_PAGES, 0) }
    // SAFETY: the option exists in this version (a test reads RSS), and the call only stores a number.
    unsafe { sys::mi_option_set_default(PURGE_DELAY, PURGE_LATE) }
    let is_set = std::env::var_os("MIMALLOC_PURGE_DELAY").is_some();
    let give_back_soon = if is_set { |_| () } else { give_back_soon };
    let give_back = release_free_memory;
    inlay::types::allocator::install(Allocator { give_back_soon, give_back_due, give_back });
}

fn give_back_soon(soon: bool) {
    // SAFETY: stores a number that other threads read at their next free; either value serves them.
    unsafe { sys::mi_option_set(PURGE_DELAY, if soon { PURGE_SOON } else { PURGE_LATE }) }
    if soon {
        // What was freed before would still be kept.
        release_free_memory();
    }
}

fn give_back_due() {
    // SAFETY: as below; purges what is due only.
    unsafe { sys::mi_collect(false) }
}

/// Gives free memory back to the system, as when a database is closed and nobody may allocate for long.
pub fn release_free_memory() {
    // SAFETY: collects pages without blocks in use; any thread may call it at any time.
    unsafe { sys::mi_collect(true) }
}

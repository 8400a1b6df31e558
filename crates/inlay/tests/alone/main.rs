//! Tests that measure the whole process or the machine, one at a time: tests beside them would be measured as well.
//!
//! All others are modules of `tests/it`. Cargo runs one test program after the other, so that nothing runs beside this one.

#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a test program: it fails, and says why"
)]

mod asked;
mod counting;
mod growth;
mod manners;
mod memory;
mod versions;

use parking_lot::{Mutex, MutexGuard};

/// Held by each test from its first line to its last.
fn alone() -> MutexGuard<'static, ()> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    ONE_AT_A_TIME.lock()
}

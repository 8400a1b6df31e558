//! The flag of the statement that a thread works for, for loops of storage that many layers lie above: making an index,
//! a checkpoint, a compaction. What runs in pipelines looks at its flag itself.
//!
//! Whatever such a loop made so far belongs to nobody, as after an error of the disk, so it can end anywhere.

use inlay_types::Result;

/// Fails if the flag of this thread's statement is up.
pub(crate) fn check_interrupt() -> Result<()> {
    // A copy: looking at the flag may run code of the host, which may use this thread for another statement.
    inlay_types::limits::current().map_or(Ok(()), |limits| limits.interrupt.check())
}

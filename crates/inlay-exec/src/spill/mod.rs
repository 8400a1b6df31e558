//! What does not fit into memory: rows of sorts, aggregations and joins in temporary files.
//!
//! An operator whose reservation is refused writes rows to a [`SpillFile`] of its own and reads them again later, a
//! sorted run or a partition at a time. It stays on its path in memory until then.
//!
//! - [`TempSpace`]: the directory, and how much may lie in it.
//! - `file`: one temporary file, written and read by several workers. `codec`: batches as bytes.
//! - `rows`: rows written and read in order. `partitions`: rows spread over partitions.
//!
//! What a worker needs to get on at all, the chunk that it writes or reads ([`WORKING_MEMORY`]), it uses even if nothing
//! is left to reserve: giving memory back takes some.

mod codec;
mod file;
mod partitions;
mod rows;
mod temp_space;
#[cfg(test)]
pub(crate) mod tests;

pub use codec::memory_size as rows_size;
pub(crate) use codec::string_size;
pub(crate) use file::SpillFile;
pub(crate) use partitions::{Selection, SpillPartitions};
pub(crate) use rows::{SpillReader, SpilledRows};
pub use temp_space::TempSpace;

use inlay_types::{Error, Reservation};

/// Bytes that a part of an operator may use although they were refused.
pub(crate) const WORKING_MEMORY: u64 = 1 << 20;

/// Whether an error says that memory was refused, so that spilling helps.
pub(crate) fn is_refusal(error: &Error) -> bool {
    matches!(error.root(), Error::OutOfMemory { .. })
}

/// Has so many bytes counted, where there is room for what may be needed at most. Where there is not, the step goes on: it needs
/// less as a rule, and what it works on has to become less before rows go to files again.
pub(crate) fn count_or_work(tally: &mut inlay_types::limits::Tally, bytes: usize) -> inlay_types::Result<()> {
    match tally.to(bytes) {
        Err(error) if !is_refusal(&error) => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Sets a reservation to `bytes`. A refusal counts only above [`WORKING_MEMORY`].
pub(crate) fn resize_or_work(reservation: &mut Reservation, bytes: u64) -> inlay_types::Result<()> {
    match reservation.resize(bytes) {
        Err(error) if !is_refusal(&error) || bytes > WORKING_MEMORY => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

//! The build side's rows: collected per worker, then laid out column by column.
//!
//! Workers keep the batches that they are given; nothing is copied until all are there. Batches are then put in the
//! order of their morsels, which is that of the table, so a clustered key stays clustered.

use super::concat::concat_columns;
use crate::ExecContext;
use inlay_types::{Error, Interrupt, LogicalType, Reservation, Result, Vector};
use parking_lot::Mutex;
use std::sync::atomic::{AtomicU8, Ordering};

/// Most rows that a build side may have; row numbers are 32 bits, and a few are special.
const ROWS_MAX: usize = u32::MAX as usize - 2;

/// A batch of the build side.
pub(crate) struct Chunk {
    order: (usize, usize),
    /// Stored columns, and behind them the keys.
    pub columns: Vec<Vector>,
    /// Number of rows.
    pub len: usize,
}

/// What one worker has collected.
#[derive(Default)]
pub(crate) struct Collected {
    /// Rows that can be found.
    pub chunks: Vec<Chunk>,
    /// Rows with a NULL key, which are kept for the end or for three-valued answers.
    pub null_chunks: Vec<Chunk>,
    /// Rows dropped because no probe row can match them.
    pub dropped: usize,
    morsel: usize,
    sequence: usize,
    bytes: u64,
}

impl Collected {
    /// The batches that follow belong to this morsel.
    pub fn start_morsel(&mut self, number: usize) {
        self.morsel = number;
        self.sequence = 0;
    }

    /// Keeps a batch; `nulls` if its rows have a NULL key.
    pub fn push(&mut self, columns: Vec<Vector>, len: usize, nulls: bool) {
        let widths: usize = columns.iter().map(row_size).sum();
        self.bytes += (len * widths) as u64;
        let chunk = Chunk { order: (self.morsel, self.sequence), columns, len };
        self.sequence += 1;
        if nulls { self.null_chunks.push(chunk) } else { self.chunks.push(chunk) }
    }
}

/// Bytes per row that a vector keeps, without strings, which are shared.
fn row_size(vector: &Vector) -> usize {
    if vector.is_constant() {
        0
    } else if vector.as_dictionary().is_some() {
        4
    } else {
        vector.physical_type().size()
    }
}

/// What all workers have collected.
#[derive(Default)]
pub(crate) struct Collection {
    collected: Mutex<Collected>,
    reserved: Mutex<Option<Reservation>>,
}

/// The collected chunks in the order of the rows.
pub(crate) struct Chunks {
    /// Rows that can be found.
    pub chunks: Vec<Chunk>,
    /// Rows with a NULL key.
    pub null_chunks: Vec<Chunk>,
    /// Number of rows in `chunks`.
    pub found: usize,
    /// Number of rows in both.
    pub total: usize,
    /// Rows that were dropped.
    pub dropped: usize,
}

impl Collection {
    /// Adds what a worker has.
    pub fn add(&self, worker: Collected) {
        let mut all = self.collected.lock();
        all.chunks.extend(worker.chunks);
        all.null_chunks.extend(worker.null_chunks);
        all.dropped += worker.dropped;
        all.bytes += worker.bytes;
    }

    /// Takes everything out, in order. Memory is accounted for from here on.
    pub fn take(&self, context: &ExecContext) -> Result<Chunks> {
        let mut all = std::mem::take(&mut *self.collected.lock());
        // Once for the chunks, once for the columns that they become.
        *self.reserved.lock() = Some(context.budget.reserve(all.bytes * 2)?);
        all.chunks.sort_unstable_by_key(|chunk| chunk.order);
        all.null_chunks.sort_unstable_by_key(|chunk| chunk.order);
        let found = all.chunks.iter().map(|chunk| chunk.len).sum();
        let total = found + all.null_chunks.iter().map(|chunk| chunk.len).sum::<usize>();
        if total > ROWS_MAX {
            return Err(Error::unsupported(format!("a join whose smaller input has {total} rows")));
        }
        Ok(Chunks { chunks: all.chunks, null_chunks: all.null_chunks, found, total, dropped: all.dropped })
    }

    /// Gives back the memory of the chunks, which are gone, and returns what the columns hold.
    pub fn release(&self) -> Result<Option<Reservation>> {
        let mut reserved = self.reserved.lock().take();
        if let Some(reservation) = &mut reserved {
            reservation.resize(reservation.bytes() / 2)?;
        }
        Ok(reserved)
    }
}

impl Chunks {
    /// Columns `from .. from + types.len()` of all rows (or of those that can be found) laid out contiguously.
    pub fn columns(
        &self,
        context: &ExecContext,
        from: usize,
        types: &[LogicalType],
        found_only: bool,
    ) -> Result<Vec<Vector>> {
        let behind = if found_only { &[][..] } else { &self.null_chunks[..] };
        let pieces = |column: usize| -> Vec<Vector> {
            self.chunks.iter().chain(behind).map(|chunk| chunk.columns[column].clone()).collect()
        };
        let columns: Vec<Vec<Vector>> = (from..from + types.len()).map(pieces).collect();
        concat_columns(context, types, &columns)
    }
}

/// The rows of a build side, final.
pub(crate) struct BuildRows {
    /// The stored columns.
    pub columns: Vec<Vector>,
    /// Number of rows.
    pub len: usize,
    /// Per row, whether it found a partner; empty if nobody asks.
    matched: Vec<AtomicU8>,
    /// For loops of the probe.
    pub interrupt: Interrupt,
    _reserved: Option<Reservation>,
}

impl BuildRows {
    /// Rows in `columns`; with `track`, whether they find partners is remembered.
    pub fn new(
        context: &ExecContext,
        columns: Vec<Vector>,
        len: usize,
        track: bool,
        mut reserved: Option<Reservation>,
        more_bytes: usize,
    ) -> Result<Self> {
        let flags = if track { len } else { 0 };
        let more = (more_bytes + flags) as u64;
        match &mut reserved {
            Some(reserved) => reserved.grow(more)?,
            None => reserved = Some(context.budget.reserve(more)?),
        }
        let matched = std::iter::repeat_with(|| AtomicU8::new(0)).take(flags).collect();
        Ok(Self { columns, len, matched, interrupt: context.interrupt.clone(), _reserved: reserved })
    }

    /// Notes that these rows have partners.
    pub fn set_matched(&self, rows: &[u32]) {
        for &row in rows {
            let flag = &self.matched[row as usize];
            // Reading first keeps the cache line shared once it is set.
            if flag.load(Ordering::Relaxed) == 0 {
                flag.store(1, Ordering::Relaxed);
            }
        }
    }

    /// Whether a row is known to have a partner.
    #[inline]
    pub fn is_matched(&self, row: u32) -> bool {
        self.matched[row as usize].load(Ordering::Relaxed) != 0
    }
}

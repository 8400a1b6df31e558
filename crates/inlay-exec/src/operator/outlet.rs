//! Rows on their way out of a query that is read while it runs.
//!
//! Workers leave their pipeline when the outlet is full ([`Outlet::is_full`]) and come back when it was emptied. A morsel is
//! finished nevertheless; what it gives beyond the memory that is granted goes to a file. Between two runs of the
//! workers no morsel is open, and sources hand out morsels in the order of rows, so what is there can be read in order.

use super::materialize::{Local, Piece};
use crate::context::ExecContext;
use crate::pipeline::{Flow, Sink};
use crate::spill::{SpillFile, SpillReader};
use inlay_types::{Batch, MemoryBudget, Reservation, Result};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The sink of such a query.
pub struct Outlet {
    /// By number of the morsel.
    ready: Mutex<BTreeMap<usize, Portion>>,
    bytes: AtomicU64,
    rows: AtomicU64,
    /// So much is enough for a time.
    bytes_max: AtomicU64,
    rows_max: AtomicU64,
    budget: MemoryBudget,
    file: Arc<SpillFile>,
}

/// The rows of a morsel.
struct Portion {
    pieces: Vec<Piece>,
    /// Of the memory that they take.
    _reservation: Option<Reservation>,
}

impl Outlet {
    /// An empty one.
    pub fn new(context: &ExecContext) -> Self {
        Self {
            ready: Mutex::default(),
            bytes: AtomicU64::new(0),
            rows: AtomicU64::new(0),
            bytes_max: AtomicU64::new(0),
            rows_max: AtomicU64::new(0),
            budget: context.budget.clone(),
            file: SpillFile::new(context),
        }
    }

    /// Makes room for this much before it is full.
    pub fn make_room(&self, bytes: u64, rows: u64) {
        self.bytes_max.store(bytes, Ordering::Relaxed);
        self.rows_max.store(rows, Ordering::Relaxed);
    }

    /// Whether workers should leave. It is always good for one morsel.
    pub fn is_full(&self) -> bool {
        let is_reached = |count: &AtomicU64, max: &AtomicU64| {
            let count = count.load(Ordering::Relaxed);
            count > 0 && count >= max.load(Ordering::Relaxed)
        };
        is_reached(&self.bytes, &self.bytes_max) || is_reached(&self.rows, &self.rows_max)
    }

    /// All rows that are there. Called while no worker runs.
    pub fn take(&self) -> Portions {
        self.bytes.store(0, Ordering::Relaxed);
        self.rows.store(0, Ordering::Relaxed);
        Portions { portions: std::mem::take(&mut *self.ready.lock()), current: None }
    }
}

impl Sink for Outlet {
    type Local = Local;

    fn local(&self) -> Local {
        Local::default()
    }

    fn start_morsel(&self, number: usize, local: &mut Local) {
        local.morsel = number;
    }

    fn consume(&self, input: Batch, local: &mut Local) -> Result<Flow> {
        local.push(input, &self.budget, Some(&self.file))?;
        Ok(Flow::More)
    }

    fn end_morsel(&self, local: &mut Local) -> Result<Flow> {
        let (rows, bytes) = (local.rows, local.bytes);
        let pieces = local.end_morsel(Some(&self.file))?;
        if !pieces.is_empty() {
            if let Some(held) = &mut local.reservation {
                held.resize(local.bytes.min(held.bytes()))?;
            }
            let portion = Portion { pieces, _reservation: local.reservation.take() };
            self.ready.lock().insert(local.morsel, portion);
            self.bytes.fetch_add(bytes.max(1), Ordering::Relaxed);
            self.rows.fetch_add(rows, Ordering::Relaxed);
        }
        *local = Local::default();
        Ok(Flow::More)
    }

    fn combine(&self, _local: Local) -> Result<()> {
        Ok(())
    }

    fn finalize(&self, _context: &ExecContext) -> Result<()> {
        Ok(())
    }
}

/// Rows that were taken out.
#[derive(Default)]
pub struct Portions {
    portions: BTreeMap<usize, Portion>,
    current: Option<(Portion, Reading)>,
}

/// Where in a portion the next batch is: what is left of the piece that is read.
enum Reading {
    Memory(std::vec::IntoIter<Batch>),
    Disk(SpillReader),
}

impl Portions {
    /// The next batch in the order of rows.
    pub fn next_batch(&mut self) -> Result<Option<Batch>> {
        loop {
            if let Some((portion, reading)) = &mut self.current {
                let batch = match reading {
                    Reading::Memory(batches) => batches.next(),
                    Reading::Disk(reader) => reader.next()?,
                };
                if batch.is_some() {
                    return Ok(batch);
                }
                if let Some(next) = portion.next_piece() {
                    *reading = next;
                    continue;
                }
            }
            self.current = None;
            let Some((_, mut portion)) = self.portions.pop_first() else { return Ok(None) };
            self.current = portion.next_piece().map(|reading| (portion, reading));
        }
    }
}

impl Portion {
    fn next_piece(&mut self) -> Option<Reading> {
        if self.pieces.is_empty() {
            return None;
        }
        Some(match self.pieces.remove(0) {
            Piece::Memory(batches) => Reading::Memory(batches.into_iter()),
            Piece::Disk(rows) => Reading::Disk(rows.reader()),
        })
    }
}

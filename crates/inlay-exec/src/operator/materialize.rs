//! Collecting rows in the order of their morsels, and reading them again: query results, LIMIT, shared subplans
//! and the inputs of set operations.

use crate::context::ExecContext;
use crate::pipeline::{Flow, LocalState, Morsel, Sink, Source};
use inlay_types::{Batch, Error, Reservation, Result, Vector};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Rows in order; filled once.
#[derive(Default)]
pub struct RowBuffer {
    batches: OnceLock<Vec<Batch>>,
    reservation: Mutex<Option<Reservation>>,
}

impl RowBuffer {
    /// The rows.
    pub fn batches(&self) -> &[Batch] {
        self.batches.get().map_or(&[], Vec::as_slice)
    }

    /// The rows, moved out if nobody else holds the buffer.
    pub fn into_batches(self: Arc<Self>) -> Vec<Batch> {
        match Arc::try_unwrap(self) {
            Ok(buffer) => buffer.batches.into_inner().unwrap_or_default(),
            Err(shared) => shared.batches().to_vec(),
        }
    }
}

/// Fills a [`RowBuffer`] with all rows, or with a range of them.
pub struct Materialize {
    buffer: Arc<RowBuffer>,
    offset: u64,
    limit: Option<u64>,
    collected: Mutex<Collected>,
    budget: inlay_types::MemoryBudget,
}

#[derive(Default)]
struct Collected {
    morsels: BTreeMap<usize, Vec<Batch>>,
    /// Morsels that are complete, with their number of rows.
    complete: BTreeMap<usize, u64>,
    reservation: Option<Reservation>,
}

#[derive(Default)]
struct Local {
    morsel: usize,
    rows: u64,
    bytes: usize,
    batches: Vec<Batch>,
}

impl Materialize {
    /// Collects everything.
    pub fn new(context: &ExecContext) -> Self {
        Self::with_limit(context, None, 0)
    }

    /// Collects at most `limit` rows behind the first `offset` ones.
    pub fn with_limit(context: &ExecContext, limit: Option<u64>, offset: u64) -> Self {
        let budget = context.budget.clone();
        Self { buffer: Arc::default(), offset, limit, collected: Mutex::default(), budget }
    }

    /// Where the rows go.
    pub fn buffer(&self) -> Arc<RowBuffer> {
        Arc::clone(&self.buffer)
    }

    fn wanted(&self) -> u64 {
        self.limit.map_or(u64::MAX, |limit| limit.saturating_add(self.offset))
    }
}

impl Sink for Materialize {
    fn local(&self) -> LocalState {
        Box::new(Local::default())
    }

    fn start_morsel(&self, number: usize, local: &mut LocalState) {
        if let Some(local) = local.downcast_mut::<Local>() {
            local.morsel = number;
        }
    }

    fn consume(&self, input: Batch, local: &mut LocalState) -> Result<Flow> {
        let local = local.downcast_mut::<Local>().ok_or_else(wrong_state)?;
        local.rows += input.len() as u64;
        local.bytes += input.columns().iter().map(owned_size).sum::<usize>();
        local.batches.push(input);
        Ok(if local.rows >= self.wanted() { Flow::Done } else { Flow::More })
    }

    fn end_morsel(&self, local: &mut LocalState) -> Result<Flow> {
        let local = local.downcast_mut::<Local>().ok_or_else(wrong_state)?;
        let done = std::mem::take(local);
        let mut collected = self.collected.lock();
        match &mut collected.reservation {
            Some(reservation) => reservation.grow(done.bytes as u64)?,
            None => collected.reservation = Some(self.budget.reserve(done.bytes as u64)?),
        }
        if !done.batches.is_empty() {
            collected.morsels.insert(done.morsel, done.batches);
        }
        if self.limit.is_none() {
            return Ok(Flow::More);
        }
        collected.complete.insert(done.morsel, done.rows);
        // Enough are there when the morsels 0, 1, 2, ... that are complete without a gap hold enough.
        let mut rows = 0;
        for (expected, (number, count)) in collected.complete.iter().enumerate() {
            if *number != expected {
                break;
            }
            rows += count;
        }
        Ok(if rows >= self.wanted() { Flow::Done } else { Flow::More })
    }

    fn combine(&self, _local: LocalState) -> Result<()> {
        Ok(())
    }

    fn finalize(&self, _context: &ExecContext) -> Result<()> {
        let collected = std::mem::take(&mut *self.collected.lock());
        let all = collected.morsels.into_values().flatten();
        let batches: Vec<Batch> = if self.limit.is_none() && self.offset == 0 {
            all.collect()
        } else {
            cut(all, self.offset, self.wanted())
        };
        *self.buffer.reservation.lock() = collected.reservation;
        self.buffer.batches.set(batches).map_err(|_| Error::internal("a row buffer was filled twice"))
    }
}

/// Bytes of a vector's own values; heaps are usually shared with a table.
fn owned_size(vector: &Vector) -> usize {
    if vector.is_constant() { 16 } else { vector.data().size() }
}

/// Rows `from .. to` of a sequence of batches.
fn cut(batches: impl Iterator<Item = Batch>, from: u64, to: u64) -> Vec<Batch> {
    let mut position = 0u64;
    let mut kept = Vec::new();
    for batch in batches {
        let end = position + batch.len() as u64;
        let (first, last) = (from.max(position), to.min(end));
        if first < last {
            kept.push(batch.slice((first - position) as usize, (last - first) as usize));
        }
        position = end;
    }
    kept
}

fn wrong_state() -> Error {
    Error::internal("a sink met another sink's state")
}

/// Reads row buffers one after the other, any number of times (one source per reading).
pub struct BufferScan {
    buffers: Vec<(Arc<RowBuffer>, Vec<usize>)>,
    next: AtomicUsize,
}

/// Batches per morsel.
const MORSEL_BATCHES: usize = 16;

impl BufferScan {
    /// Reads `columns` (positions) of each buffer.
    pub fn new(buffers: Vec<(Arc<RowBuffer>, Vec<usize>)>) -> Self {
        Self { buffers, next: AtomicUsize::new(0) }
    }

    fn morsels(buffer: &RowBuffer) -> usize {
        buffer.batches().len().div_ceil(MORSEL_BATCHES)
    }
}

impl Source for BufferScan {
    fn start(&self, _context: &ExecContext) -> Result<usize> {
        self.next.store(0, Ordering::Relaxed);
        Ok(self.buffers.iter().map(|(buffer, _)| Self::morsels(buffer)).sum())
    }

    fn local(&self) -> LocalState {
        Box::new(())
    }

    fn run_morsel(
        &self,
        _local: &mut LocalState,
        begin: &mut dyn FnMut(usize),
        push: &mut dyn FnMut(Batch) -> Result<Flow>,
    ) -> Result<Morsel> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let mut within = number;
        for (buffer, columns) in &self.buffers {
            let count = Self::morsels(buffer);
            if within >= count {
                within -= count;
                continue;
            }
            begin(number);
            let from = within * MORSEL_BATCHES;
            let to = (from + MORSEL_BATCHES).min(buffer.batches().len());
            for batch in &buffer.batches()[from..to] {
                let picked = columns.iter().map(|&c| batch.column(c).clone()).collect();
                if push(Batch::new(picked, batch.len()))? == Flow::Done {
                    break;
                }
            }
            return Ok(Morsel::Pushed);
        }
        Ok(Morsel::Exhausted)
    }
}

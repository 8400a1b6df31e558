//! Collecting rows in the order of their morsels, and reading them again: query results, LIMIT, shared subplans
//! and the inputs of set operations. Rows that are read again go to files when memory is refused.

use super::limit_by::ComputedRange;
use crate::concat::concat_batches;
use crate::context::ExecContext;
use crate::pipeline::{Flow, Handout, Morsel, Sink, Source};
use crate::spill::{SpillFile, SpilledRows, WORKING_MEMORY, is_refusal, string_size};
use inlay_types::{Batch, Error, MemoryBudget, Reservation, Result, VECTOR_SIZE, Vector};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Rows in order; filled once.
#[derive(Default)]
pub struct RowBuffer {
    pieces: OnceLock<Vec<Piece>>,
    reservations: Mutex<Vec<Reservation>>,
}

/// Rows beside each other.
pub(super) enum Piece {
    Memory(Vec<Batch>),
    Disk(SpilledRows),
}

impl Piece {
    fn batches(&self) -> usize {
        match self {
            Self::Memory(batches) => batches.len(),
            Self::Disk(rows) => rows.batches(),
        }
    }
}

impl RowBuffer {
    fn pieces(&self) -> Result<&[Piece]> {
        self.pieces.get().map(Vec::as_slice).ok_or_else(not_filled)
    }

    /// Number of rows.
    pub fn len(&self) -> Result<u64> {
        let rows = |piece: &Piece| match piece {
            Piece::Memory(batches) => batches.iter().map(|batch| batch.len() as u64).sum(),
            Piece::Disk(rows) => rows.rows(),
        };
        Ok(self.pieces()?.iter().map(rows).sum())
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> Result<bool> {
        Ok(self.pieces()?.iter().all(|piece| piece.batches() == 0))
    }

    /// The rows of a buffer that is in memory.
    pub fn batches(&self) -> Result<&[Batch]> {
        match self.pieces()? {
            [] => Ok(&[]),
            [Piece::Memory(batches)] => Ok(batches),
            [Piece::Disk(_)] | [_, _, ..] => Err(not_in_memory()),
        }
    }

    /// The rows of a buffer that is in memory, moved out if nobody else holds it.
    pub fn into_batches(self: Arc<Self>) -> Result<Vec<Batch>> {
        let buffer = match Arc::try_unwrap(self) {
            Ok(buffer) => buffer,
            Err(shared) => return shared.batches().map(<[Batch]>::to_vec),
        };
        let mut pieces = buffer.pieces.into_inner().ok_or_else(not_filled)?;
        match (pieces.pop(), pieces.is_empty()) {
            (None, _) => Ok(Vec::new()),
            (Some(Piece::Memory(batches)), true) => Ok(batches),
            (Some(_), _) => Err(not_in_memory()),
        }
    }
}

fn not_filled() -> Error {
    Error::internal("a row buffer was read before it was filled")
}

fn not_in_memory() -> Error {
    Error::internal("a row buffer that has to be in memory is in a file")
}

/// Fills a [`RowBuffer`] with all rows, or with a range of them.
pub struct Materialize {
    buffer: Arc<RowBuffer>,
    offset: u64,
    limit: Option<u64>,
    /// Rows that are wanted at most, where only the run of the query tells.
    range: Option<Arc<ComputedRange>>,
    collected: Mutex<Collected>,
    budget: MemoryBudget,
    /// Where rows go if memory is refused; none where they must be in memory.
    file: Option<Arc<SpillFile>>,
}

#[derive(Default)]
struct Collected {
    morsels: BTreeMap<usize, Vec<Piece>>,
    /// Morsels that are complete, with their number of rows.
    complete: BTreeMap<usize, u64>,
    reservations: Vec<Reservation>,
}

/// A worker's rows.
#[derive(Default)]
pub struct Local {
    pub(super) morsel: usize,
    pub(super) rows: u64,
    batches: Vec<Batch>,
    /// Bytes of `batches`.
    open: u64,
    /// Rows of this morsel in files, before `batches`.
    written: Option<SpilledRows>,
    /// Bytes of all morsels in memory.
    pub(super) bytes: u64,
    pub(super) reservation: Option<Reservation>,
}

/// What a batch takes besides its values, which is most of one of few rows.
const BATCH_BYTES: u64 = 256;

/// Batches are joined if there are so many of fewer rows than these.
const FEW_BATCHES: usize = 16;
const FEW_ROWS: usize = VECTOR_SIZE / 8;

/// Memory is reserved in steps of this many bytes.
const RESERVED_STEP: u64 = 1 << 20;

impl Local {
    /// Takes a batch; if memory is refused, it goes to the file with those of its morsel that are in memory.
    pub(super) fn push(
        &mut self,
        batch: Batch,
        budget: &MemoryBudget,
        file: Option<&Arc<SpillFile>>,
    ) -> Result<()> {
        self.rows += batch.len() as u64;
        let mut size = BATCH_BYTES + batch.columns().iter().map(owned_size).sum::<usize>() as u64;
        if file.is_some() {
            // Texts are counted here from now on.
            batch.let_go();
            size += batch.columns().iter().map(string_size).sum::<usize>() as u64;
        }
        self.open += size;
        self.bytes += size;
        self.batches.push(batch);
        match (self.reserve(budget), file) {
            (Err(error), Some(file)) if is_refusal(&error) => {
                if self.open > WORKING_MEMORY.min(budget.limit()) {
                    self.write(file)?;
                }
                Ok(())
            }
            (reserved, _) => reserved,
        }
    }

    /// The morsel is complete: its rows. What is in memory beyond what was granted goes to the file, so that it does not
    /// add up over morsels.
    pub(super) fn end_morsel(&mut self, file: Option<&Arc<SpillFile>>) -> Result<Vec<Piece>> {
        let granted = self.reservation.as_ref().map_or(0, Reservation::bytes);
        if let (true, Some(file)) = (self.bytes > granted, file) {
            self.write(file)?;
        }
        self.rows = 0;
        self.open = 0;
        let mut pieces: Vec<Piece> = self.written.take().map(Piece::Disk).into_iter().collect();
        let batches = std::mem::take(&mut self.batches);
        if !batches.is_empty() {
            pieces.push(Piece::Memory(batches));
        }
        Ok(pieces)
    }

    fn reserve(&mut self, budget: &MemoryBudget) -> Result<()> {
        match &mut self.reservation {
            None => self.reservation = Some(budget.reserve(self.bytes)?),
            Some(held) if self.bytes > held.bytes() => match held.resize(self.bytes + RESERVED_STEP) {
                Err(error) if is_refusal(&error) => held.resize(self.bytes)?,
                other => other?,
            },
            Some(_) => {}
        }
        Ok(())
    }

    /// Writes this morsel's rows.
    fn write(&mut self, file: &Arc<SpillFile>) -> Result<()> {
        for batch in std::mem::take(&mut self.batches) {
            let written = self.written.get_or_insert_with(|| SpilledRows::new(file, &batch.types()));
            let mut from = 0;
            while from < batch.len() {
                let part = batch.slice(from, VECTOR_SIZE.min(batch.len() - from));
                written.push(part.columns(), part.len())?;
                from += part.len();
            }
        }
        self.bytes -= std::mem::take(&mut self.open);
        if let Some(held) = &mut self.reservation {
            held.resize(self.bytes.min(held.bytes()))?;
        }
        Ok(())
    }
}

impl Materialize {
    /// Collects everything, in files where memory is refused.
    pub fn new(context: &ExecContext) -> Self {
        let budget = context.budget.yielding();
        Self { file: Some(SpillFile::new(context)), budget, ..Self::with_limit(context, None, 0) }
    }

    /// Collects at most `limit` rows behind the first `offset` ones, in memory.
    pub fn with_limit(context: &ExecContext, limit: Option<u64>, offset: u64) -> Self {
        let budget = context.budget.clone();
        let collected = Mutex::default();
        Self { buffer: Arc::default(), offset, limit, range: None, collected, budget, file: None }
    }

    /// Collects rows until there are as many as the range wants, those before it among them; in files where memory is refused.
    pub fn within(context: &ExecContext, range: Arc<ComputedRange>) -> Self {
        Self { range: Some(range), ..Self::new(context) }
    }

    /// Where the rows go.
    pub fn buffer(&self) -> Arc<RowBuffer> {
        Arc::clone(&self.buffer)
    }

    fn wanted(&self) -> Result<u64> {
        match &self.range {
            Some(range) => range.rows_wanted(),
            None => Ok(self.limit.map_or(u64::MAX, |limit| limit.saturating_add(self.offset))),
        }
    }

    /// Whether it may have enough before the end.
    fn is_limited(&self) -> bool {
        self.limit.is_some() || self.range.is_some()
    }
}

impl Sink for Materialize {
    type Local = Local;

    fn local(&self) -> Local {
        Local::default()
    }

    fn handout(&self) -> Handout {
        if self.is_limited() { Handout::InOrder } else { Handout::Apart }
    }

    fn start_morsel(&self, number: usize, local: &mut Local) {
        local.morsel = number;
    }

    fn consume(&self, input: Batch, local: &mut Local) -> Result<Flow> {
        local.push(input, &self.budget, self.file.as_ref())?;
        Ok(if local.rows >= self.wanted()? { Flow::Done } else { Flow::More })
    }

    fn end_morsel(&self, local: &mut Local) -> Result<Flow> {
        let rows = local.rows;
        let pieces = local.end_morsel(self.file.as_ref())?;
        let mut collected = self.collected.lock();
        if !pieces.is_empty() {
            collected.morsels.insert(local.morsel, pieces);
        }
        if !self.is_limited() {
            return Ok(Flow::More);
        }
        collected.complete.insert(local.morsel, rows);
        // Enough are there when the morsels 0, 1, 2, ... that are complete without a gap hold enough.
        let mut rows = 0;
        for (expected, (number, count)) in collected.complete.iter().enumerate() {
            if *number != expected {
                break;
            }
            rows += count;
        }
        Ok(if rows >= self.wanted()? { Flow::Done } else { Flow::More })
    }

    fn combine(&self, local: Local) -> Result<()> {
        self.collected.lock().reservations.extend(local.reservation);
        Ok(())
    }

    fn finalize(&self, _context: &ExecContext) -> Result<()> {
        let collected = std::mem::take(&mut *self.collected.lock());
        let mut pieces: Vec<Piece> = Vec::new();
        for piece in collected.morsels.into_values().flatten() {
            match (pieces.last_mut(), piece) {
                (Some(Piece::Memory(before)), Piece::Memory(batches)) => before.extend(batches),
                (_, piece) => pieces.push(piece),
            }
        }
        if self.limit.is_some() || self.offset > 0 {
            let wanted = self.wanted()?;
            for piece in &mut pieces {
                // Only rows in memory are cut; there is one piece of them.
                if let Piece::Memory(batches) = piece {
                    *batches = cut(std::mem::take(batches).into_iter(), self.offset, wanted);
                }
            }
        }
        let mut reservations = collected.reservations;
        for piece in &mut pieces {
            if let Piece::Memory(batches) = piece {
                reservations.extend(join_small(batches, &self.budget));
            }
        }
        *self.buffer.reservations.lock() = reservations;
        self.buffer.pieces.set(pieces).map_err(|_| Error::internal("a row buffer was filled twice"))
    }
}

/// Joins batches of few rows, which would go through everything above one by one: a UNION ALL of a shared subplan with itself
/// has twice as many with each level. Gives what holds more memory than before.
fn join_small(batches: &mut Vec<Batch>, budget: &MemoryBudget) -> Option<Reservation> {
    let rows: usize = batches.iter().map(Batch::len).sum();
    let types = batches.first().map(Batch::types).filter(|_| rows / FEW_ROWS < batches.len())?;
    if batches.len() < FEW_BATCHES {
        return None;
    }
    let row = types.iter().map(|ty| ty.physical().size() + 1).sum::<usize>();
    let Ok(held) = budget.reserve((rows * row) as u64) else { return None };
    let (mut joined, mut open, mut open_rows) = (Vec::new(), Vec::new(), 0);
    for batch in batches.drain(..) {
        if open_rows > 0 && open_rows + batch.len() > VECTOR_SIZE {
            joined.push(concat_batches(&types, &open));
            (open, open_rows) = (Vec::new(), 0);
        }
        open_rows += batch.len();
        open.push(batch);
    }
    if !open.is_empty() {
        joined.push(concat_batches(&types, &open));
    }
    *batches = joined;
    Some(held)
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

    /// The piece that morsel `number` lies in, the columns wanted of it, and the morsel's number within.
    fn place(&self, number: usize) -> Result<Option<(&Piece, &[usize], usize)>> {
        let mut within = number;
        for (buffer, columns) in &self.buffers {
            for piece in buffer.pieces()? {
                let count = piece.batches().div_ceil(MORSEL_BATCHES);
                if within < count {
                    return Ok(Some((piece, columns, within)));
                }
                within -= count;
            }
        }
        Ok(None)
    }
}

impl Source for BufferScan {
    type Local = ();

    fn start(&self, _context: &ExecContext) -> Result<usize> {
        self.next.store(0, Ordering::Relaxed);
        let mut count = 0;
        for (buffer, _) in &self.buffers {
            count +=
                buffer.pieces()?.iter().map(|piece| piece.batches().div_ceil(MORSEL_BATCHES)).sum::<usize>();
        }
        Ok(count)
    }

    fn local(&self) {}

    fn run_morsel(
        &self,
        _local: &mut (),
        begin: &mut dyn FnMut(usize),
        push: &mut dyn FnMut(Batch) -> Result<Flow>,
    ) -> Result<Morsel> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let Some((piece, columns, within)) = self.place(number)? else { return Ok(Morsel::Exhausted) };
        begin(number);
        let from = within * MORSEL_BATCHES;
        let to = (from + MORSEL_BATCHES).min(piece.batches());
        let mut picked = |batch: &Batch| {
            push(Batch::new(columns.iter().map(|&c| batch.column(c).clone()).collect(), batch.len()))
        };
        match piece {
            Piece::Memory(batches) => {
                for batch in &batches[from..to] {
                    if picked(batch)? == Flow::Done {
                        break;
                    }
                }
            }
            Piece::Disk(rows) => {
                let mut reader = rows.range(from, to);
                while let Some(batch) = reader.next()? {
                    if picked(&batch)? == Flow::Done {
                        break;
                    }
                }
            }
        }
        Ok(Morsel::Pushed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::driver;
    use crate::operator::values::Values;
    use crate::pipeline::{DynSource, Pipeline};
    use crate::spill::tests::{TestDirectory, context_with};
    use inlay_types::{LogicalType, Value};

    #[test]
    fn buffers_keep_the_order_of_rows_in_files_too() {
        let directory = TestDirectory::new();
        let space = directory.space(None);
        let numbers: Vec<i64> = (0..300_000).collect();
        let rows = Batch::new(vec![Vector::from_values(LogicalType::BigInt, &numbers)], numbers.len());
        for (threads, budget) in [(1, 0), (1, 1_000_000), (3, 0), (3, 1_500_000), (2, 1 << 30)] {
            let context = context_with(budget, threads, &space);
            let mut source: Arc<dyn DynSource> = Arc::new(Values::new(rows.clone()));
            // The first buffer is filled from one morsel, the second from many.
            for _ in 0..2 {
                let sink = Arc::new(Materialize::new(&context));
                let buffer = sink.buffer();
                let pipeline = Pipeline { nodes: vec![0, 0], source, operators: Vec::new(), sink };
                driver::run(&pipeline, &context, None).unwrap();
                assert_eq!(space.used() > 0, budget < 2 << 20);
                source = Arc::new(BufferScan::new(vec![(buffer, vec![0])]));
            }
            let mut next = 0;
            source.start(&context).unwrap();
            let mut push = |batch: Batch| {
                for row in 0..batch.len() {
                    assert_eq!(batch.column(0).get(row), Value::BigInt(next));
                    next += 1;
                }
                Ok(Flow::More)
            };
            while source.run_morsel(&mut source.local(), &mut |_| {}, &mut push).unwrap() == Morsel::Pushed {}
            assert_eq!(next, 300_000);
            assert!(context.budget.peak() <= budget);
        }
        assert_eq!(space.used(), 0);
    }

    #[test]
    fn a_buffer_that_nobody_filled_is_not_one_without_rows() {
        let directory = TestDirectory::new();
        let context = context_with(1 << 20, 1, &directory.space(None));
        let buffer = Materialize::new(&context).buffer();
        assert!(buffer.len().is_err() && buffer.is_empty().is_err() && buffer.batches().is_err());
        let scan = BufferScan::new(vec![(Arc::clone(&buffer), vec![0])]);
        assert!(Source::start(&scan, &context).is_err());
        assert!(buffer.into_batches().is_err());
    }

    #[test]
    fn a_buffer_is_filled_once() {
        let directory = TestDirectory::new();
        let context = context_with(1 << 20, 1, &directory.space(None));
        let sink = Materialize::new(&context);
        Sink::finalize(&sink, &context).unwrap();
        let again = Sink::finalize(&sink, &context).unwrap_err();
        assert_eq!(again, Error::internal("a row buffer was filled twice"));
    }
}

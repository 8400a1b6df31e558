//! The build side's rows: collected per worker, then laid out column by column.
//!
//! Workers keep the batches that they are given; nothing is copied until all are there. Batches are then put in the
//! order of their morsels, which is that of the table, so a clustered key stays clustered.

use crate::ExecContext;
use crate::concat::concat_columns;
use crate::spill::{is_refusal, string_size};
use inlay_types::{
    Buffer, Dictionary, Error, Interrupt, LogicalType, MemoryBudget, Reservation, Result, Vector,
};
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
    string_bytes: u64,
    reserved: Option<Reservation>,
    budget: MemoryBudget,
}

/// Memory is reserved in steps of this many bytes.
const RESERVED_STEP: u64 = 1 << 20;

impl Collected {
    /// Nothing yet.
    pub fn new(budget: &MemoryBudget) -> Self {
        let (chunks, null_chunks, budget) = (Vec::new(), Vec::new(), budget.clone());
        let (bytes, string_bytes) = (0, 0);
        Self {
            chunks,
            null_chunks,
            dropped: 0,
            morsel: 0,
            sequence: 0,
            bytes,
            string_bytes,
            reserved: None,
            budget,
        }
    }

    /// The batches that follow belong to this morsel.
    pub fn start_morsel(&mut self, number: usize) {
        self.morsel = number;
        self.sequence = 0;
    }

    /// Keeps a batch; `nulls` if its rows have a NULL key. It is kept even if memory is refused.
    pub fn push(&mut self, columns: Vec<Vector>, len: usize, nulls: bool) -> Result<()> {
        let widths: usize = columns.iter().map(row_size).sum();
        self.bytes += (len * widths) as u64;
        self.string_bytes += columns.iter().map(string_size).sum::<usize>() as u64;
        let chunk = Chunk { order: (self.morsel, self.sequence), columns, len };
        self.sequence += 1;
        if nulls {
            self.null_chunks.push(chunk)
        } else {
            self.chunks.push(chunk)
        }
        let bytes = self.bytes + self.string_bytes;
        match &mut self.reserved {
            None => self.reserved = Some(self.budget.reserve(bytes)?),
            Some(reserved) if bytes > reserved.bytes() => match reserved.resize(bytes + RESERVED_STEP) {
                Err(error) if is_refusal(&error) => reserved.resize(bytes)?,
                other => other?,
            },
            Some(_) => {}
        }
        Ok(())
    }

    /// Bytes that are kept.
    pub fn memory_size(&self) -> u64 {
        self.bytes + self.string_bytes
    }

    /// Takes out the rows that can be found, those with a NULL key, and the number of those that were dropped.
    pub fn take(&mut self) -> (Vec<Chunk>, Vec<Chunk>, usize) {
        (self.bytes, self.string_bytes, self.reserved) = (0, 0, None);
        let chunks = (std::mem::take(&mut self.chunks), std::mem::take(&mut self.null_chunks));
        (chunks.0, chunks.1, std::mem::take(&mut self.dropped))
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

/// Texts of at most so many rows become a dictionary.
const DICTIONARY_ROWS_MAX: usize = 1 << 14;

/// Texts of a few rows as codes into them: partners are found again and again, codes are narrower, and whoever groups by the
/// texts or stores them looks at each once.
pub(crate) fn few_texts_as_codes(mut column: Vector) -> Vector {
    let len = column.len();
    if !matches!(column.ty(), LogicalType::Varchar) || !column.is_flat() || len > DICTIONARY_ROWS_MAX {
        return column;
    }
    // What lies in NULL rows is a value of the dictionary, too.
    column.normalize_nulls();
    let codes: Vec<u32> = (0..len as u32).collect();
    let (ty, heap, validity) = (column.logical_type(), column.heap().clone(), column.validity().cloned());
    let values = Vector::flat(ty, len, column.into_data(), None, heap);
    Vector::dictionary(Dictionary::new(values), Buffer::copy_of(&codes), len, validity)
}

/// What all workers have collected.
#[derive(Default)]
pub(crate) struct Collection {
    workers: Mutex<Vec<Collected>>,
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
    bytes: u64,
    string_bytes: u64,
    /// Held as long as the chunks are.
    reserved: Vec<Reservation>,
}

impl Collection {
    /// Adds what a worker has.
    pub fn add(&self, worker: Collected) {
        self.workers.lock().push(worker);
    }

    /// Takes everything out, in order.
    pub fn take(&self) -> Result<Chunks> {
        let (mut chunks, mut null_chunks, mut reserved) = (Vec::new(), Vec::new(), Vec::new());
        let (mut dropped, mut bytes, mut string_bytes) = (0, 0, 0);
        for worker in std::mem::take(&mut *self.workers.lock()) {
            chunks.extend(worker.chunks);
            null_chunks.extend(worker.null_chunks);
            reserved.extend(worker.reserved);
            dropped += worker.dropped;
            bytes += worker.bytes;
            string_bytes += worker.string_bytes;
        }
        chunks.sort_unstable_by_key(|chunk: &Chunk| chunk.order);
        null_chunks.sort_unstable_by_key(|chunk: &Chunk| chunk.order);
        let found = chunks.iter().map(|chunk| chunk.len).sum();
        let total = found + null_chunks.iter().map(|chunk| chunk.len).sum::<usize>();
        if total > ROWS_MAX {
            return Err(Error::unsupported(format!("a join whose smaller input has {total} rows")));
        }
        Ok(Chunks { chunks, null_chunks, found, total, dropped, bytes, string_bytes, reserved })
    }
}

impl Chunks {
    /// Reserves as much memory as the columns made of the chunks will hold. Strings are shared with the chunks, but stay
    /// when those are gone.
    pub fn reserve_columns(&self, context: &ExecContext) -> Result<Reservation> {
        context.budget.reserve(self.bytes + self.string_bytes)
    }

    /// Bytes of the chunks.
    pub fn memory_size(&self) -> u64 {
        self.bytes + self.string_bytes
    }

    /// Takes out the rows as [`Collected::take`] does.
    pub fn into_rows(mut self) -> (Vec<Chunk>, Vec<Chunk>, usize) {
        self.reserved.clear();
        (self.chunks, self.null_chunks, self.dropped)
    }

    /// Columns `from .. from + types.len()` of all rows (or of those that can be found) laid out contiguously.
    pub fn columns(
        &self,
        context: &ExecContext,
        from: usize,
        types: &[LogicalType],
        found_only: bool,
    ) -> Result<Vec<Vector>> {
        let behind = if found_only { &[][..] } else { &self.null_chunks[..] };
        let pieces = |column: usize| -> Vec<&Vector> {
            self.chunks.iter().chain(behind).map(|chunk| &chunk.columns[column]).collect()
        };
        let columns: Vec<Vec<&Vector>> = (from..from + types.len()).map(pieces).collect();
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
    _reserved: Reservation,
}

impl BuildRows {
    /// Rows in `columns`; with `track`, whether they find partners is remembered.
    pub fn new(
        context: &ExecContext,
        columns: Vec<Vector>,
        len: usize,
        track: bool,
        mut reserved: Reservation,
        more_bytes: usize,
    ) -> Result<Self> {
        let flags = if track { len } else { 0 };
        reserved.grow((more_bytes + flags) as u64)?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use inlay_types::Value;

    #[test]
    fn texts_of_a_few_rows_are_the_same_as_codes() -> Result<()> {
        let texts =
            ["b", "a text of more than twelve bytes", "", "b"].map(|text| Value::Varchar(text.into()));
        let values: Vec<Value> = texts.into_iter().chain([Value::Null]).collect();
        let flat = Vector::from_sql_values(LogicalType::Varchar, &values)?;
        let coded = few_texts_as_codes(flat);
        let order = coded.as_dictionary().and_then(|dictionary| dictionary.order().map(<[u32]>::to_vec));
        // The empty text and that of NULL, the long one, twice "b".
        let mut order = order.unwrap_or_default();
        order[..2].sort_unstable();
        order[3..].sort_unstable();
        assert_eq!(order, [2, 4, 1, 0, 3]);
        assert!((0..5).all(|row| coded.get(row) == values[row]));
        let numbers = Vector::from_values(LogicalType::Integer, &[1, 2]);
        assert!(few_texts_as_codes(numbers).is_flat());
        assert_eq!(few_texts_as_codes(Vector::empty(LogicalType::Varchar)).len(), 0);
        Ok(())
    }
}

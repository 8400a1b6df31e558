//! Merging sorted runs as a stream, where they do not fit into memory together.
//!
//! Each run is read a batch at a time; a heap of the runs' next rows says which comes
//! first. A run's rows beside each other in its batch become neighbouring pieces of the output, so that rows are put
//! together by columns.

use super::{Run, Sort};
use crate::concat::concat_batches;
use crate::operator::sort::key::{KeyColumns, same_prefix};
use crate::spill::{SpillReader, SpilledRows, rows_size};
use inlay_types::{Batch, LogicalType, Reservation, Result, VECTOR_SIZE, Vector};

/// Most runs that are merged at once; more are merged to fewer, larger ones first.
const FAN_IN_MAX: usize = 64;
/// Least such number, however little memory there is.
const FAN_IN_MIN: usize = 8;
/// The part of the memory limit that the runs' batches should take.
const MERGE_SHARE: u64 = 8;

/// The columns that a run has in a temporary file: those of the rows, the keys, and the place in the input.
pub(super) fn run_types(sort: &Sort) -> Vec<LogicalType> {
    let keys = sort.keys.types();
    sort.types.iter().cloned().chain(keys).chain([LogicalType::UBigInt]).collect()
}

impl Run {
    /// The columns of some rows, given by their places in the order.
    fn part(&self, from: usize, to: usize) -> Batch {
        let rows = &self.order[from..to];
        let places: Vec<u64> = rows.iter().map(|&row| self.places[row as usize]).collect();
        let mut columns = self.rows.take(rows).into_columns();
        columns.extend(self.keys.batch().take(rows).into_columns());
        columns.push(Vector::from_values(LogicalType::UBigInt, &places));
        Batch::new(columns, rows.len())
    }

    /// Writes the rows in order.
    pub(super) fn write(&self, sort: &Sort) -> Result<SpilledRows> {
        let mut written = SpilledRows::new(&sort.file, &run_types(sort));
        let mut from = 0;
        while from < self.order.len() {
            let to = self.order.len().min(from + VECTOR_SIZE);
            let part = self.part(from, to);
            written.push(part.columns(), part.len())?;
            from = to;
        }
        Ok(written)
    }
}

/// A run that is being read.
struct Cursor {
    reader: SpillReader,
    batch: Batch,
    keys: KeyColumns,
    places: Vec<u64>,
    /// The next row of `batch`.
    at: usize,
}

impl Cursor {
    /// Reads the first rows; `None` if there are none.
    fn open(rows: &SpilledRows, sort: &Sort) -> Result<Option<Self>> {
        let empty = Batch::new(Vec::new(), 0);
        let no_keys = sort.keys.types().into_iter().map(Vector::empty).collect();
        let keys = KeyColumns::new(&sort.order, Batch::new(no_keys, 0));
        let mut cursor = Self { reader: rows.reader(), batch: empty, keys, places: Vec::new(), at: 0 };
        Ok(cursor.load(sort)?.then_some(cursor))
    }

    /// Reads the next batch; `false` at the end.
    fn load(&mut self, sort: &Sort) -> Result<bool> {
        let Some(batch) = self.reader.next()? else { return Ok(false) };
        let keys = sort.types.len()..batch.columns().len() - 1;
        self.keys =
            KeyColumns::new(&sort.order, Batch::new(batch.columns()[keys.clone()].to_vec(), batch.len()));
        self.places = batch.column(keys.end).values::<u64>().to_vec();
        (self.batch, self.at) = (batch, 0);
        Ok(true)
    }

    fn before(&self, other: &Self, sort: &Sort) -> bool {
        let ordering = self.keys.compare(&sort.order, self.at, &other.keys, other.at);
        ordering.then_with(|| self.places[self.at].cmp(&other.places[other.at])).is_lt()
    }
}

/// Runs on their way into one.
pub(super) struct Merge {
    cursors: Vec<Cursor>,
    /// Numbers of the cursors that have rows: the parent of place `i`, `(i - 1) / 2`, comes before it.
    heap: Vec<usize>,
    /// For what the cursors hold.
    memory: Reservation,
    /// Rows handed out, before offset and limit.
    position: u64,
    /// The last row's keys, and its place in its group.
    last: Option<(Batch, u64)>,
    /// Morsels handed out.
    pub(super) morsels: usize,
}

impl Merge {
    /// Begins to merge.
    pub(super) fn new(sort: &Sort, runs: Vec<SpilledRows>) -> Result<Self> {
        let mut runs = runs;
        // What a batch of a run takes, with its keys' prefixes.
        let batch = runs.iter().map(|run| 2 * run.memory_size() / run.batches().max(1) as u64).max();
        let wanted = sort.budget.limit() / MERGE_SHARE / batch.unwrap_or(1).max(1);
        let fan_in = wanted.clamp(FAN_IN_MIN as u64, FAN_IN_MAX as u64) as usize;
        while runs.len() > fan_in {
            let first: Vec<SpilledRows> = runs.drain(..fan_in).collect();
            let mut merge = Self::open(sort, &first)?;
            let mut merged = SpilledRows::new(&sort.file, &run_types(sort));
            while let Some(batch) = merge.take(sort, run_types(sort).len())? {
                merged.push(batch.columns(), batch.len())?;
            }
            runs.push(merged);
        }
        Self::open(sort, &runs)
    }

    fn open(sort: &Sort, runs: &[SpilledRows]) -> Result<Self> {
        let mut cursors = Vec::with_capacity(runs.len());
        for run in runs {
            cursors.extend(Cursor::open(run, sort)?);
        }
        let heap = (0..cursors.len()).collect();
        let memory = sort.budget.reserve(0)?;
        let mut merge = Self { cursors, heap, memory, position: 0, last: None, morsels: 0 };
        for place in (0..merge.heap.len() / 2).rev() {
            merge.sift_down(sort, place);
        }
        merge.count_memory();
        Ok(merge)
    }

    /// Counts what is read from files. A batch per run is what merging takes; if it is refused, it is used all the same.
    fn count_memory(&mut self) {
        let size =
            |cursor: &Cursor| rows_size(cursor.batch.columns(), cursor.batch.len()) + 24 * cursor.batch.len();
        let bytes: usize = self.cursors.iter().map(size).sum();
        let _ = self.memory.resize(bytes as u64);
    }

    fn sift_down(&mut self, sort: &Sort, place: usize) {
        let mut place = place;
        loop {
            let mut first = place;
            for child in [2 * place + 1, 2 * place + 2] {
                if child < self.heap.len()
                    && self.cursors[self.heap[child]].before(&self.cursors[self.heap[first]], sort)
                {
                    first = child;
                }
            }
            if first == place {
                return;
            }
            self.heap.swap(place, first);
            place = first;
        }
    }

    /// The next rows, with the first `width` of the runs' columns.
    fn take(&mut self, sort: &Sort, width: usize) -> Result<Option<Batch>> {
        if self.heap.is_empty() {
            return Ok(None);
        }
        let starts: Vec<usize> = self.cursors.iter().map(|cursor| cursor.at).collect();
        let mut picked: Vec<u32> = Vec::with_capacity(VECTOR_SIZE);
        let mut exhausted = false;
        while picked.len() < VECTOR_SIZE && !exhausted {
            let cursor = &mut self.cursors[self.heap[0]];
            picked.push(self.heap[0] as u32);
            cursor.at += 1;
            exhausted = cursor.at == cursor.batch.len();
            if !exhausted {
                self.sift_down(sort, 0);
            }
        }
        let (mut pieces, mut next, mut base) = (Vec::new(), vec![0u32; self.cursors.len()], 0);
        for (index, (cursor, &start)) in self.cursors.iter().zip(&starts).enumerate() {
            let len = cursor.at - start;
            if len > 0 {
                let columns = cursor.batch.columns()[..width].iter().map(|c| c.slice(start, len)).collect();
                pieces.push(Batch::new(columns, len));
            }
            next[index] = base;
            base += len as u32;
        }
        let order: Vec<u32> = picked
            .iter()
            .map(|&cursor| {
                let place = &mut next[cursor as usize];
                *place += 1;
                *place - 1
            })
            .collect();
        let types = run_types(sort);
        let rows = concat_batches(&types[..width], &pieces);
        let rows = if pieces.len() == 1 { rows } else { rows.take(&order) };
        if exhausted {
            if !self.cursors[self.heap[0]].load(sort)? {
                self.heap.swap_remove(0);
            }
            if !self.heap.is_empty() {
                self.sift_down(sort, 0);
            }
            self.count_memory();
        }
        Ok(Some(rows))
    }

    /// The next rows behind the offset and within the limit, of all rows or of each group. May be empty.
    pub(super) fn next(&mut self, sort: &Sort) -> Result<Option<Batch>> {
        let (from, to) = (sort.offset, sort.limit.map_or(u64::MAX, |l| l.saturating_add(sort.offset)));
        let width = sort.types.len();
        if sort.group_keys > 0 {
            let Some(rows) = self.take(sort, width + sort.keys.types().len())? else { return Ok(None) };
            let keys = Batch::new(rows.columns()[width..].to_vec(), rows.len());
            let kept = self.places_in_groups(&keys, sort.group_keys, from, to);
            return Ok(Some(Batch::new(rows.columns()[..width].to_vec(), rows.len()).take(&kept)));
        }
        if self.position >= to {
            return Ok(None);
        }
        let Some(rows) = self.take(sort, width)? else { return Ok(None) };
        let begin = self.position;
        self.position += rows.len() as u64;
        let (first, last) = (from.max(begin), to.min(self.position));
        if first >= last {
            return Ok(Some(rows.slice(0, 0)));
        }
        Ok(Some(rows.slice((first - begin) as usize, (last - first) as usize)))
    }

    /// Rows whose place in their group is in `from .. to`.
    fn places_in_groups(&mut self, keys: &Batch, count: usize, from: u64, to: u64) -> Vec<u32> {
        let mut kept = Vec::new();
        let mut place = 0;
        for row in 0..keys.len() {
            let same = match (row, &self.last) {
                (0, None) => false,
                (0, Some((last, at))) => {
                    place = *at;
                    same_prefix(last, 0, keys, 0, count)
                }
                _ => same_prefix(keys, row - 1, keys, row, count),
            };
            place = if same { place + 1 } else { 0 };
            if place >= from && place < to {
                kept.push(row as u32);
            }
        }
        if !keys.is_empty() {
            self.last = Some((keys.slice(keys.len() - 1, 1), place));
        }
        kept
    }
}

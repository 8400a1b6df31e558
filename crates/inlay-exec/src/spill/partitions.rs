//! Rows spread over partitions of a temporary file by several workers.
//!
//! Each partition has a buffer in memory that all workers fill, and that is written when it holds a batch. The buffers
//! together are small and not reserved. Rows of one worker stay in their order.

use super::file::SpillFile;
use super::rows::{Chunk, SpilledRows, write_chunk};
use inlay_kernels::aggregate::Column;
use inlay_types::{LogicalType, Result, VECTOR_SIZE, Vector};
use parking_lot::Mutex;
use std::sync::Arc;

/// A buffer is written when it has this many bytes, even if it holds few rows.
const BUFFER_SIZE: usize = 256 << 10;

/// Rows by partition; written by any number of workers, read when all are there.
pub(crate) struct SpillPartitions {
    file: Arc<SpillFile>,
    types: Vec<LogicalType>,
    parts: Vec<Mutex<Part>>,
}

struct Part {
    columns: Vec<Column>,
    /// Chunks with their turns: a worker may write one that was filled before another's later than that.
    written: Vec<(u64, Chunk)>,
    turn: u64,
}

/// Rows of a batch, by partition.
pub(crate) struct Selection(Vec<Vec<u32>>);

impl Selection {
    /// Of `count` partitions.
    pub(crate) fn new(count: usize) -> Self {
        Self(vec![Vec::new(); count])
    }

    /// Sorts the rows `0 .. len` by what `partition` says of them.
    pub(crate) fn fill(&mut self, len: usize, partition: impl Fn(usize) -> usize) {
        self.0.iter_mut().for_each(Vec::clear);
        (0..len).for_each(|row| self.0[partition(row)].push(row as u32));
    }

    /// Drops the rows of partitions that `wanted` does not want.
    pub(crate) fn retain(&mut self, wanted: impl Fn(usize) -> bool) {
        self.0.iter_mut().enumerate().filter(|(part, _)| !wanted(*part)).for_each(|(_, rows)| rows.clear());
    }
}

impl SpillPartitions {
    /// `count` empty partitions.
    pub(crate) fn new(file: &Arc<SpillFile>, types: &[LogicalType], count: usize) -> Self {
        let part = || Mutex::new(Part { columns: columns(types), written: Vec::new(), turn: 0 });
        Self { file: Arc::clone(file), types: types.to_vec(), parts: (0..count).map(|_| part()).collect() }
    }

    /// Number of partitions.
    pub(crate) fn count(&self) -> usize {
        self.parts.len()
    }

    /// Adds rows of a batch.
    pub(crate) fn append(&self, vectors: &[Vector], rows: &Selection) -> Result<()> {
        let most = rows_at_once(vectors);
        for (part, rows) in rows.0.iter().enumerate().filter(|(_, rows)| !rows.is_empty()) {
            self.append_rows(part, vectors, rows, most)?;
        }
        Ok(())
    }

    /// Adds rows of a batch to one partition.
    pub(crate) fn append_to(&self, part: usize, vectors: &[Vector], rows: &[u32]) -> Result<()> {
        self.append_rows(part, vectors, rows, rows_at_once(vectors))
    }

    /// The same, so many rows at most between two looks at the size of the buffer.
    fn append_rows(&self, part: usize, vectors: &[Vector], rows: &[u32], most: usize) -> Result<()> {
        let mut rows = rows;
        while !rows.is_empty() {
            let mut locked = self.parts[part].lock();
            let held = locked.columns.first().map_or(0, Column::len);
            let (now, later) = rows.split_at(rows.len().min(VECTOR_SIZE - held).min(most));
            rows = later;
            for (column, vector) in locked.columns.iter_mut().zip(vectors) {
                column.append(vector, now);
            }
            let size: usize = locked.columns.iter().map(Column::memory_size).sum();
            if held + now.len() < VECTOR_SIZE && size < BUFFER_SIZE {
                continue;
            }
            let (full, turn) = self.empty(&mut locked);
            drop(locked);
            self.write(part, &full, turn)?;
        }
        Ok(())
    }

    /// What the buffer has, and whose turn it is.
    fn empty(&self, part: &mut Part) -> (Vec<Column>, u64) {
        part.turn += 1;
        (std::mem::replace(&mut part.columns, columns(&self.types)), part.turn)
    }

    fn write(&self, part: usize, columns: &[Column], turn: u64) -> Result<()> {
        let len = columns.first().map_or(0, Column::len);
        if len == 0 {
            return Ok(());
        }
        let vectors: Vec<Vector> = columns.iter().map(|column| column.to_vector(0, len)).collect();
        let chunk = write_chunk(&self.file, &vectors, len)?;
        self.parts[part].lock().written.push((turn, chunk));
        Ok(())
    }

    /// Writes what is in buffers and hands out the partitions. Nothing is added afterwards.
    pub(crate) fn finish(&self) -> Result<Vec<SpilledRows>> {
        let mut all = Vec::with_capacity(self.parts.len());
        for part in 0..self.parts.len() {
            let (rest, turn) = self.empty(&mut self.parts[part].lock());
            self.write(part, &rest, turn)?;
            let mut written = std::mem::take(&mut self.parts[part].lock().written);
            written.sort_unstable_by_key(|(turn, _)| *turn);
            let mut rows = SpilledRows::new(&self.file, &self.types);
            written.into_iter().for_each(|(_, chunk)| rows.add(chunk));
            all.push(rows);
        }
        Ok(all)
    }
}

/// Rows of about a buffer's size: a batch of long texts is many buffers.
fn rows_at_once(vectors: &[Vector]) -> usize {
    let len = vectors.first().map_or(0, Vector::len);
    let texts: usize = vectors.iter().map(Vector::text_size).sum();
    if texts <= BUFFER_SIZE { VECTOR_SIZE } else { (len * BUFFER_SIZE / texts).max(1) }
}

fn columns(types: &[LogicalType]) -> Vec<Column> {
    types.iter().map(|ty| Column::new(ty.clone())).collect()
}

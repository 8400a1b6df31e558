//! Rows in a temporary file, written in order and read in the same order.

use super::codec::{decode, encode, memory_size};
use super::file::{Extent, SpillFile};
use inlay_types::{Batch, LogicalType, Result, VECTOR_SIZE, Vector};
use std::sync::Arc;

/// Rows of more bytes are several batches: who merges runs, or reads with several workers, has a batch of each in memory.
const CHUNK_SIZE_MAX: usize = 1 << 20;

/// A batch in the file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chunk {
    extent: Extent,
    rows: usize,
    memory: usize,
}

/// Rows in a file: a sorted run, or a partition.
#[derive(Clone)]
pub(crate) struct SpilledRows {
    file: Arc<SpillFile>,
    types: Arc<[LogicalType]>,
    chunks: Vec<Chunk>,
    rows: u64,
    memory: u64,
}

/// Writes a batch of at most [`VECTOR_SIZE`] rows.
pub(super) fn write_chunk(file: &SpillFile, columns: &[Vector], len: usize) -> Result<Chunk> {
    debug_assert!(len <= VECTOR_SIZE);
    let extent = file.write(&encode(columns, len)?)?;
    Ok(Chunk { extent, rows: len, memory: memory_size(columns, len) })
}

impl SpilledRows {
    /// No rows of these types.
    pub(crate) fn new(file: &Arc<SpillFile>, types: &[LogicalType]) -> Self {
        Self { file: Arc::clone(file), types: types.into(), chunks: Vec::new(), rows: 0, memory: 0 }
    }

    /// Writes a batch of at most [`VECTOR_SIZE`] rows; as several that are read one by one if the rows are large.
    pub(crate) fn push(&mut self, columns: &[Vector], len: usize) -> Result<()> {
        if len > 1 && memory_size(columns, len) > CHUNK_SIZE_MAX {
            let half = len / 2;
            let part = |from: usize, len: usize| -> Vec<Vector> {
                columns.iter().map(|column| column.slice(from, len)).collect()
            };
            self.push(&part(0, half), half)?;
            return self.push(&part(half, len - half), len - half);
        }
        let chunk = write_chunk(&self.file, columns, len)?;
        self.add(chunk);
        Ok(())
    }

    pub(super) fn add(&mut self, chunk: Chunk) {
        self.rows += chunk.rows as u64;
        self.memory += chunk.memory as u64;
        self.chunks.push(chunk);
    }

    /// Number of rows.
    pub(crate) fn rows(&self) -> u64 {
        self.rows
    }

    /// Bytes that the rows take in memory.
    pub(crate) fn memory_size(&self) -> u64 {
        self.memory
    }

    /// Number of batches.
    pub(crate) fn batches(&self) -> usize {
        self.chunks.len()
    }

    /// Batches `from .. to`.
    fn part(&self, from: usize, to: usize) -> Self {
        let (file, types) = (Arc::clone(&self.file), Arc::clone(&self.types));
        let mut part = Self { file, types, chunks: Vec::new(), rows: 0, memory: 0 };
        self.chunks[from..to].iter().for_each(|chunk| part.add(*chunk));
        part
    }

    /// Both halves; `None` if there is one batch.
    pub(crate) fn halves(&self) -> Option<(Self, Self)> {
        let (middle, end) = (self.chunks.len() / 2, self.chunks.len());
        (middle > 0).then(|| (self.part(0, middle), self.part(middle, end)))
    }

    /// Reads batches `from .. to`.
    pub(crate) fn range(&self, from: usize, to: usize) -> SpillReader {
        SpillReader { rows: self.part(from, to), next: 0 }
    }

    /// Reads all rows, any number of times.
    pub(crate) fn reader(&self) -> SpillReader {
        SpillReader { rows: self.clone(), next: 0 }
    }
}

/// Reads rows batch by batch.
pub(crate) struct SpillReader {
    rows: SpilledRows,
    next: usize,
}

impl SpillReader {
    /// The next batch.
    pub(crate) fn next(&mut self) -> Result<Option<Batch>> {
        let Some(chunk) = self.rows.chunks.get(self.next) else { return Ok(None) };
        self.next += 1;
        let bytes = self.rows.file.read(chunk.extent)?;
        decode(&bytes, &self.rows.types, chunk.rows).map(Some)
    }
}

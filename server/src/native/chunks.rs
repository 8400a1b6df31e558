//! Rows of a client as a table, in the chunks in which they came.

use inlay::types::{Batch, LogicalType, VECTOR_SIZE};
use inlay::{Result, ScanRequest, SourceColumn, SourceScan, SourceTask, TableSource};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// See the module documentation. Chunks hold the memory that their frames took of the budget.
#[derive(Debug)]
pub struct ChunkTable {
    columns: Vec<SourceColumn>,
    chunks: Arc<[Batch]>,
    rows: u64,
}

impl ChunkTable {
    /// A table of these columns.
    pub fn new(columns: Vec<(String, LogicalType)>, chunks: Vec<Batch>) -> Self {
        let columns = columns.into_iter().map(|(name, ty)| SourceColumn { name, ty }).collect();
        let rows = chunks.iter().map(|chunk| chunk.len() as u64).sum();
        Self { columns, chunks: chunks.into(), rows }
    }
}

impl TableSource for ChunkTable {
    fn description(&self) -> String {
        "rows of the client".to_string()
    }

    fn columns(&self) -> &[SourceColumn] {
        &self.columns
    }

    fn row_count_estimate(&self) -> Option<u64> {
        Some(self.rows)
    }

    fn known_row_count(&self) -> Option<u64> {
        Some(self.rows)
    }

    fn may_wait(&self) -> bool {
        // Nobody changes them.
        true
    }

    fn scan(&self, request: ScanRequest) -> Result<Box<dyn SourceScan>> {
        let (chunks, wanted) = (Arc::clone(&self.chunks), Arc::from(request.columns));
        Ok(Box::new(ChunkScan { chunks, wanted, next: AtomicUsize::new(0) }))
    }
}

/// A chunk is a morsel.
struct ChunkScan {
    chunks: Arc<[Batch]>,
    wanted: Arc<[usize]>,
    next: AtomicUsize,
}

impl SourceScan for ChunkScan {
    fn next_task(&self) -> Result<Option<SourceTask>> {
        let index = self.next.fetch_add(1, Ordering::Relaxed);
        let Some(chunk) = self.chunks.get(index) else { return Ok(None) };
        let columns = self.wanted.iter().map(|column| chunk.column(*column).clone()).collect();
        let chunk = Batch::new(columns, chunk.len());
        let starts = (0..chunk.len()).step_by(VECTOR_SIZE);
        Ok(Some(Box::new(
            starts.map(move |start| Ok(chunk.slice(start, VECTOR_SIZE.min(chunk.len() - start)))),
        )))
    }
}

//! A scan over chunks of known lengths, cut into morsels that workers claim one after the other.

use inlay_catalog::{SourceScan, SourceTask};
use inlay_types::{Batch, Interrupt, Result, VECTOR_SIZE};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Rows of a morsel, whatever the lengths of chunks; of many rows as many as a row group has, so that loading them copies
/// each once.
const MORSEL_ROWS: usize = 32 * VECTOR_SIZE;
const MANY_ROWS: usize = 64 * MORSEL_ROWS;

/// Rows `from .. from + len` of chunk `chunk`; at most [`VECTOR_SIZE`] when read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece {
    pub chunk: usize,
    pub from: usize,
    pub len: usize,
}

/// Turns a piece into a batch.
pub(crate) type ReadPiece = Arc<dyn Fn(Piece) -> Result<Batch> + Send + Sync>;

/// Morsels over chunks.
pub(crate) struct ChunkScan {
    morsels: Vec<Vec<Piece>>,
    next: AtomicUsize,
    read: ReadPiece,
    interrupt: Interrupt,
}

impl ChunkScan {
    /// A scan of chunks of these lengths.
    pub fn new(lens: impl Iterator<Item = usize> + Clone, interrupt: Interrupt, read: ReadPiece) -> Self {
        let morsel_rows = morsel_rows(lens.clone().sum());
        let mut morsels = Vec::new();
        let (mut open, mut open_rows) = (Vec::new(), 0);
        for (chunk, rows) in lens.enumerate() {
            let mut from = 0;
            while from < rows {
                let len = (rows - from).min(morsel_rows - open_rows);
                open.push(Piece { chunk, from, len });
                (from, open_rows) = (from + len, open_rows + len);
                if open_rows == morsel_rows {
                    morsels.push(std::mem::take(&mut open));
                    open_rows = 0;
                }
            }
        }
        if !open.is_empty() {
            morsels.push(open);
        }
        Self { morsels, next: AtomicUsize::new(0), read, interrupt }
    }
}

/// Rows of a morsel, of so many rows.
pub(crate) fn morsel_rows(total: usize) -> usize {
    if total >= MANY_ROWS { 2 * MORSEL_ROWS } else { MORSEL_ROWS }
}

impl SourceScan for ChunkScan {
    fn next_task(&self) -> Result<Option<SourceTask>> {
        let Some(morsel) = self.morsels.get(self.next.fetch_add(1, Ordering::Relaxed)) else {
            return Ok(None);
        };
        let (read, interrupt) = (Arc::clone(&self.read), self.interrupt.clone());
        let vectors = morsel.clone().into_iter().flat_map(|piece| {
            (0..piece.len).step_by(VECTOR_SIZE).map(move |within| Piece {
                from: piece.from + within,
                len: VECTOR_SIZE.min(piece.len - within),
                ..piece
            })
        });
        let batches = vectors.map(move |piece| {
            interrupt.check()?;
            read(piece)
        });
        Ok(Some(Box::new(batches)))
    }
}

//! A scan over chunks of known lengths, cut into morsels that workers claim one after the other.

use inlay_catalog::{SourceScan, SourceTask};
use inlay_types::{Batch, Interrupt, Result, VECTOR_SIZE};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Rows of a morsel, at least while chunks are shorter.
const MORSEL_ROWS: usize = 32 * VECTOR_SIZE;

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
    pub fn new(lens: impl Iterator<Item = usize>, interrupt: Interrupt, read: ReadPiece) -> Self {
        let mut morsels = Vec::new();
        let (mut open, mut open_rows) = (Vec::new(), 0);
        for (chunk, rows) in lens.enumerate() {
            let mut from = 0;
            while from < rows {
                let len = (rows - from).min(MORSEL_ROWS - open_rows);
                open.push(Piece { chunk, from, len });
                (from, open_rows) = (from + len, open_rows + len);
                if open_rows == MORSEL_ROWS {
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

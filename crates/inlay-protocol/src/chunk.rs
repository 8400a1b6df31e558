//! Rows in chunks: which rows are one, and how a chunk is written and read.
//!
//! ```text
//! [ rows u32 | size of the body u32 | compression u8 | 0 | columns u16 | 0 u32 ] [ body, maybe compressed: a column each ]
//! ```
//! The size is that of the body before compression. A chunk is the payload of a Chunk frame, and the last part of an Execute frame.

use crate::column::{self, Body, Effort};
use crate::compression::{Compression, Compressor, decompress};
use crate::wire::Reader;
use crate::{CHUNK_ROWS_MAX, Result, WireError};
use inlay_types::{Batch, Buffer, LogicalType, Vector, limits};
use std::time::{Duration, Instant};

/// Bytes of a chunk's header.
pub const HEADER: usize = 16;

/// Collects batches until they are a chunk. How many rows fit is known from the types; only texts are asked for their sizes.
pub struct Chunker {
    /// Bytes of a row beside its texts.
    width: usize,
    views: Vec<usize>,
    size_max: usize,
    pending: Vec<Batch>,
    pending_rows: usize,
    pending_size: usize,
}

impl Chunker {
    /// For rows of these types and chunks of at most `size_max` bytes, as far as single rows fit.
    pub fn new(types: &[LogicalType], size_max: usize) -> Self {
        let width = types.iter().map(column::row_width).sum();
        let views = (0..types.len()).filter(|index| types[*index].is_view()).collect();
        // Headers, masks and paddings of the columns.
        let overhead = HEADER + types.len() * 4 * column::HEADER;
        let size_max = size_max.saturating_sub(overhead).max(1);
        Self { width, views, size_max, pending: Vec::new(), pending_rows: 0, pending_size: 0 }
    }

    /// Bytes of a batch's rows, or more.
    fn size(&self, batch: &Batch) -> usize {
        let texts: usize = self.views.iter().map(|index| batch.column(*index).text_size()).sum();
        batch.len().saturating_mul(self.width).saturating_add(texts)
    }

    /// Takes rows, and calls `ready` with each chunk that is complete.
    pub fn push(&mut self, batch: Batch, ready: &mut dyn FnMut(&[Batch]) -> Result<()>) -> Result<()> {
        if batch.is_empty() {
            return Ok(());
        }
        let size = self.size(&batch);
        let fits = |size: usize, rows: usize| size <= self.size_max && rows <= CHUNK_ROWS_MAX;
        if fits(self.pending_size.saturating_add(size), self.pending_rows + batch.len()) {
            self.pending_rows += batch.len();
            self.pending_size += size;
            self.pending.push(batch);
            return Ok(());
        }
        if fits(size, batch.len()) || batch.len() == 1 {
            self.flush(ready)?;
            self.pending_rows = batch.len();
            self.pending_size = size;
            self.pending.push(batch);
            return Ok(());
        }
        let half = batch.len() / 2;
        self.push(batch.slice(0, half), ready)?;
        self.push(batch.slice(half, batch.len() - half), ready)
    }

    /// The rows that are left.
    pub fn flush(&mut self, ready: &mut dyn FnMut(&[Batch]) -> Result<()>) -> Result<()> {
        (self.pending_rows, self.pending_size) = (0, 0);
        let pending = std::mem::take(&mut self.pending);
        if pending.is_empty() { Ok(()) } else { ready(&pending) }
    }
}

/// What a chunk took, for the controller.
#[derive(Clone, Copy, Debug, Default)]
pub struct Written {
    /// Bytes of the body, and of the same compressed.
    pub body: usize,
    /// See `body`.
    pub packed: usize,
    /// Time in the compressor.
    pub compressing: Duration,
}

/// Writes chunks; keeps the memory that this takes.
#[derive(Default)]
pub struct ChunkWriter {
    compressor: Compressor,
    body: Vec<u8>,
}

impl ChunkWriter {
    /// Appends the rows of `batches`, whose columns are of these types, as a chunk. `out` has a multiple of 16 bytes from the beginning of
    /// the payload on.
    pub fn write(
        &mut self,
        types: &[LogicalType],
        batches: &[Batch],
        how: Compression,
        effort: Effort,
        out: &mut Vec<u8>,
    ) -> Result<Written> {
        let rows: usize = batches.iter().map(Batch::len).sum();
        let number = |number: usize, limit: usize| {
            let too_large = WireError::TooLarge { size: number as u64, limit: limit as u64 };
            if number > limit { Err(too_large) } else { Ok(number) }
        };
        number(rows, CHUNK_ROWS_MAX)?;
        let columns = number(types.len(), crate::types::COLUMNS_MAX)? as u16;
        let header = out.len();
        out.resize(header + HEADER, 0);
        let mut written = Written::default();
        match how {
            Compression::None => {
                let start = out.len();
                write_columns(types, batches, effort, out, start)?;
                written.body = out.len() - start;
                written.packed = written.body;
            }
            Compression::Lz4 | Compression::Zstd(_) => {
                self.body.clear();
                write_columns(types, batches, effort, &mut self.body, 0)?;
                let (begun, start) = (Instant::now(), out.len());
                self.compressor.compress(how, &self.body, out)?;
                let (body, packed) = (self.body.len(), out.len() - start);
                written = Written { body, packed, compressing: begun.elapsed() };
            }
        }
        let size = number(written.body, u32::MAX as usize)? as u32;
        let header = &mut out[header..header + HEADER];
        header[0..4].copy_from_slice(&(rows as u32).to_le_bytes());
        header[4..8].copy_from_slice(&size.to_le_bytes());
        header[8] = how.number();
        header[10..12].copy_from_slice(&columns.to_le_bytes());
        Ok(written)
    }
}

fn write_columns(
    types: &[LogicalType],
    batches: &[Batch],
    effort: Effort,
    out: &mut Vec<u8>,
    start: usize,
) -> Result<()> {
    for (index, ty) in types.iter().enumerate() {
        let parts: Vec<Vector> = batches.iter().map(|batch| batch.column(index).clone()).collect();
        column::encode(ty, &parts, effort, out, start)?;
    }
    Ok(())
}

/// A chunk whose columns are going to be read, or jumped over.
pub struct ChunkReader {
    /// Rows of each column.
    pub rows: usize,
    /// Columns that follow.
    pub columns: usize,
    body: Body,
}

impl ChunkReader {
    /// The chunk that a payload is, whose body has at most `size_max` bytes when it is not compressed any more.
    pub fn new(payload: &Buffer, size_max: usize) -> Result<Self> {
        let mut reader = Reader::new(payload.bytes(), "a chunk's header");
        let (rows, size) = (reader.u32()? as usize, reader.u32()? as usize);
        let (compression, zero, columns, reserved) =
            (reader.u8()?, reader.u8()?, reader.u16()?, reader.u32()?);
        if zero != 0 || reserved != 0 {
            return Err(reader.wrong("bytes that are to be 0 and are not"));
        }
        if rows > CHUNK_ROWS_MAX {
            return Err(reader.wrong(format_args!("{rows} rows, more than {CHUNK_ROWS_MAX}")));
        }
        let packed = payload.slice(HEADER, payload.size() - HEADER);
        if size > size_max {
            return Err(WireError::TooLarge { size: size as u64, limit: size_max as u64 });
        }
        let body = match compression {
            0 if size == packed.size() => packed,
            0 => {
                return Err(
                    reader.wrong(format_args!("a body of {} bytes, where {size} were named", packed.size()))
                );
            }
            other => {
                let held = limits::hold(size)?;
                let body = Buffer::from_vec(decompress(other, packed.bytes(), size)?);
                match held {
                    Some(held) => body.holding(held),
                    None => body,
                }
            }
        };
        Ok(Self { rows, columns: usize::from(columns), body: Body::new(body) })
    }

    /// The next column.
    pub fn next(&mut self, ty: &LogicalType) -> Result<Vector> {
        column::decode(&mut self.body, ty, self.rows)
    }

    /// Jumps over the next column, at no cost.
    pub fn skip(&mut self) -> Result<()> {
        self.body.skip()
    }

    /// All columns, which are of these types.
    pub fn batch(mut self, types: &[LogicalType]) -> Result<Batch> {
        if self.columns != types.len() {
            let (found, named) = (self.columns, types.len());
            return Err(WireError::malformed(format!(
                "a chunk of {found} columns, where {named} were named"
            )));
        }
        let columns = types.iter().map(|ty| self.next(ty)).collect::<Result<Vec<Vector>>>()?;
        if !self.body.is_at_end() {
            return Err(WireError::malformed("bytes behind the last column of a chunk"));
        }
        Ok(Batch::new(columns, self.rows))
    }
}

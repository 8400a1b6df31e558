//! Appending rows: to the open tail of small chunks, or as row groups that are encoded already.
//!
//! Chunks of the tail are joined so that their sizes at least double towards the front, which copies each row a
//! logarithmic number of times; a tail of a row group's size is encoded, and what is loaded into an empty table.

use super::Table;
use crate::column::Column;
use crate::interrupted::check_interrupt;
use crate::row_group::{ROW_GROUP_SIZE, RowGroup};
use crate::segment::Segment;
use inlay_types::limits::{self, Meter};
use inlay_types::{Batch, Bitmap, LogicalType, Result, Vector, VectorBuilder};
use std::sync::Arc;

/// Rows to be appended: as they came, or encoded already.
#[derive(Clone, Debug)]
pub enum Piece {
    /// Rows of the schema's types.
    Raw(Batch),
    /// Columns of a row group and their length.
    Sealed(Vec<Arc<Column>>, usize),
}

#[expect(clippy::len_without_is_empty, reason = "pieces are never empty")]
impl Piece {
    /// Number of rows.
    pub fn len(&self) -> usize {
        match self {
            Self::Raw(batch) => batch.len(),
            Self::Sealed(_, len) => *len,
        }
    }
}

/// One column of all pieces.
pub(super) fn pieces_column(pieces: &[Piece], index: usize, ty: LogicalType) -> Result<Vector> {
    let whole = |piece: &Piece| {
        Ok(match piece {
            Piece::Raw(batch) => batch.column(index).clone(),
            Piece::Sealed(columns, len) => columns[index].segment_to_scan()?.scan(0, *len)?,
        })
    };
    if let [one] = pieces {
        return whole(one);
    }
    let mut builder = VectorBuilder::new(ty, pieces.iter().map(Piece::len).sum());
    let mut meter = Meter::of_rows();
    for piece in pieces {
        let piece = whole(piece)?;
        meter.add(piece.text_size())?;
        builder.append(&piece);
    }
    Ok(builder.finish().holding(meter.finish()))
}

/// The row groups of the next snapshot while they are put together.
pub(super) struct GroupList<'a> {
    pub groups: Vec<Arc<RowGroup>>,
    pub next_row_id: i64,
    pub table: &'a Table,
    /// A tail that becomes so long is encoded.
    pub seal_min: usize,
}

impl GroupList<'_> {
    /// Number of chunks of the open tail that end at the next row id, and their rows.
    fn tail(&self) -> (usize, usize) {
        let (mut chunks, mut rows, mut end) = (0, 0, self.next_row_id);
        for group in self.groups.iter().rev() {
            if group.is_sealed() || group.row_ids().end != end || rows + group.len() >= ROW_GROUP_SIZE {
                break;
            }
            chunks += 1;
            rows += group.len();
            end = group.row_id_start();
        }
        (chunks, rows)
    }

    pub fn add_rows(&mut self, batches: &[Batch]) -> Result<()> {
        let mut left: usize = batches.iter().map(Batch::len).sum();
        let mut source = Slices { batches, batch: 0, row: 0 };
        while left > 0 {
            check_interrupt()?;
            let (tail_chunks, tail_rows) = self.tail();
            if tail_rows + left >= ROW_GROUP_SIZE {
                let take = ROW_GROUP_SIZE - tail_rows;
                self.join(tail_chunks, &mut source, take, true)?;
                left -= take;
            } else {
                // Join chunks that are not much larger, so that sizes of chunks at least double towards the front.
                let (mut join, mut rows) = (0, left);
                for group in self.groups.iter().rev().take(tail_chunks) {
                    if group.len() > 2 * rows {
                        break;
                    }
                    join += 1;
                    rows += group.len();
                }
                self.join(join, &mut source, left, rows >= self.seal_min)?;
                left = 0;
            }
        }
        Ok(())
    }

    /// Replaces the last `chunks` row groups by one that also has `take` more rows from `source`.
    fn join(&mut self, chunks: usize, source: &mut Slices<'_>, take: usize, seal: bool) -> Result<()> {
        let old = &self.groups[self.groups.len() - chunks..];
        let old_rows: usize = old.iter().map(|g| g.len()).sum();
        let len = old_rows + take;
        let start = old.first().map_or(self.next_row_id, |g| g.row_id_start());
        let parts = source.take(take);
        let mut columns = Vec::with_capacity(self.table.schema.columns.len());
        for (index, column) in self.table.schema.columns.iter().enumerate() {
            check_interrupt()?;
            let segment = if let ([], [only]) = (old, parts.as_slice()) {
                Segment::encode_for(only.column(index), seal, &self.table.budget)?
            } else {
                let texts: usize = parts.iter().map(|part| part.column(index).text_size()).sum();
                let _asked = if texts > crate::segment::LARGE_TEXTS { limits::hold(texts)? } else { None };
                let mut builder = VectorBuilder::new(column.ty.clone(), len);
                let mut meter = Meter::of_rows();
                for group in old {
                    let rows = group.segment(index)?.scan(0, group.len())?;
                    meter.add(rows.text_size())?;
                    builder.append(&rows);
                }
                parts.iter().for_each(|part| builder.append(part.column(index)));
                Segment::encode_for(&builder.finish(), seal, &self.table.budget)?
            };
            columns.push(Column::new(segment));
        }
        let mut group = RowGroup::new(columns, len, start, seal);
        if old.iter().any(|g| g.deleted().is_some()) {
            let mut flags = old.iter().flat_map(|g| (0..g.len()).map(|row| g.is_deleted(row)));
            group.set_deleted(Some(Bitmap::from_fn(len, |_| flags.next().unwrap_or(false))));
        }
        self.groups.truncate(self.groups.len() - chunks);
        self.groups.push(Arc::new(group));
        self.next_row_id += take as i64;
        Ok(())
    }

    pub fn add_sealed(&mut self, columns: Vec<Arc<Column>>, len: usize) -> Result<()> {
        let (tail_chunks, tail_rows) = self.tail();
        if tail_rows > 0 {
            self.join(tail_chunks, &mut Slices { batches: &[], batch: 0, row: 0 }, 0, true)?;
        }
        self.groups.push(Arc::new(RowGroup::new(columns, len, self.next_row_id, true)));
        self.next_row_id += len as i64;
        Ok(())
    }
}

/// Hands out consecutive rows of batches.
struct Slices<'a> {
    batches: &'a [Batch],
    batch: usize,
    row: usize,
}

impl Slices<'_> {
    fn take(&mut self, mut count: usize) -> Vec<Batch> {
        let mut parts = Vec::new();
        while count > 0 && self.batch < self.batches.len() {
            let batch = &self.batches[self.batch];
            let len = count.min(batch.len() - self.row);
            if len > 0 {
                parts.push(if len == batch.len() { batch.clone() } else { batch.slice(self.row, len) });
            }
            count -= len;
            self.row += len;
            if self.row == batch.len() {
                (self.batch, self.row) = (self.batch + 1, 0);
            }
        }
        parts
    }
}

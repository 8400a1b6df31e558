//! Entering many rows in an index by ranges of their keys, so that neither all keys nor the whole index are in memory at once.
//!
//! ```text
//! pieces --some keys--> fences --range by range--> rows of all pieces within it --sorted--> index, one part after the other
//! ```
//! Keys that have to be unique lie in one range if they are equal, so uniqueness is decided range by range; two of one key among
//! those that the fences are chosen from are told at once. Rows of any other key are cut by their places as well: a range does not
//! grow with the rows of a key. The pieces are gone through once for each range.

use super::Table;
use super::append::{Piece, pieces_column};
use super::keys::{PendingRows, violation};
use crate::index::{Index, encode_rows};
use crate::interrupted::check_interrupt;
use crate::schema::TableSchema;
use inlay_types::{Error, PhysicalType, Result, Vector, VectorBuilder};

/// The part of the memory limit that the keys of a range may take.
const LIMIT_PART: u64 = 4;
/// Rows of a range, however small the limit.
const ROWS_MIN: usize = if cfg!(test) { 1 << 10 } else { 1 << 14 };
/// Bytes beside values and keys that entering a row takes: row number and id, order, offset and candidate.
const ROW_OVERHEAD: u64 = 64;
/// Bytes that a text is thought to have.
const TEXT_SIZE: u64 = 32;
/// Keys that are looked at to find the fences.
const SAMPLE: usize = 1 << 14;

/// Whether a key may be that of several rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rows {
    /// Of one row at most, unless there is a NULL in it.
    Unique,
    Any,
}

/// The first row of a range: its key, and its place among rows of the same key.
type Fence = (Vec<u8>, usize);

impl Table {
    /// Bytes that entering a row in an index takes meanwhile, about.
    fn entering_size(&self, key: &[usize]) -> u64 {
        let size = |column: &usize| match self.schema.columns[*column].ty.physical() {
            PhysicalType::View => 16 + 2 * TEXT_SIZE,
            other => 2 * other.size() as u64,
        };
        ROW_OVERHEAD + key.iter().map(size).sum::<u64>()
    }

    fn rows_at_once(&self, key: &[usize]) -> usize {
        let rows = self.budget.limit() / LIMIT_PART / self.entering_size(key);
        usize::try_from(rows).unwrap_or(usize::MAX).max(ROWS_MIN)
    }

    /// Whether rows are too many to be entered at once, and can be looked at piece by piece.
    pub(super) fn is_for_rounds(&self, pending: &PendingRows<'_>, key: &[usize]) -> bool {
        pending.pieces.len() > 1 && pending.count > self.rows_at_once(key)
    }

    /// Calls `enter` with all rows, or with those of each range of keys in turn, which it enters in `index`.
    pub(super) fn in_rounds(
        &self,
        pending: &PendingRows<'_>,
        key: &[usize],
        (index, rows): (&Index, Rows),
        enter: &dyn Fn(&PendingRows<'_>) -> Result<()>,
    ) -> Result<()> {
        let room = |count: usize| {
            let size = count as u64 * self.entering_size(key);
            match self.budget.reserve(size) {
                Err(Error::OutOfMemory { .. }) => {
                    index.write_away(size)?;
                    self.budget.reserve(size)
                }
                room => room,
            }
        };
        if !self.is_for_rounds(pending, key) {
            let _room = if pending.count > ROWS_MIN { Some(room(pending.count)?) } else { None };
            return enter(pending);
        }
        let fences = self.fences(pending, key, rows)?;
        for round in 0..=fences.len() {
            let low = round.checked_sub(1).map(|before| &fences[before]);
            let (positions, columns) = self.rows_between(pending, key, (low, fences.get(round)))?;
            if positions.is_empty() {
                continue;
            }
            let _room = room(positions.len())?;
            let column = |index: usize| {
                let place = key.iter().position(|column| *column == index);
                place
                    .map(|place| columns[place].clone())
                    .ok_or_else(|| Error::internal("a column that is in no key"))
            };
            enter(&PendingRows {
                count: positions.len(),
                row_ids: &|place| (pending.row_ids)(positions[place]),
                position: &|id| (pending.position)(id).and_then(|at| positions.binary_search(&at).ok()),
                column: &column,
                changed: pending.changed,
                pieces: &[],
            })?;
        }
        Ok(())
    }

    /// Where ranges begin between which about as many rows lie as may be entered at once. Fails if two of the rows that are looked
    /// at have one key that has to be unique.
    fn fences(&self, pending: &PendingRows<'_>, key: &[usize], rows: Rows) -> Result<Vec<Fence>> {
        let step = (pending.count / SAMPLE).max(1);
        let mut sample: Vec<(Fence, usize)> = Vec::with_capacity(SAMPLE + 1);
        let (mut skipped, mut first) = (0, 0);
        for piece in pending.pieces {
            check_interrupt()?;
            let chosen: Vec<u32> = (skipped..piece.len()).step_by(step).map(|row| row as u32).collect();
            skipped = chosen.last().map_or(skipped, |last| *last as usize + step).saturating_sub(piece.len());
            let columns = piece_columns(&self.schema, piece, key)?;
            let columns: Vec<Vector> = columns.iter().map(|column| column.take(&chosen)).collect();
            let keys = encode_rows(&columns)?;
            for (row, at) in chosen.iter().enumerate() {
                let is_one = rows == Rows::Unique && !keys.has_null(row);
                let position = first + *at as usize;
                sample.push(((keys.key(row).to_vec(), if is_one { 0 } else { position }), position));
            }
            first += piece.len();
        }
        sample.sort_unstable();
        if let Some(twice) = sample.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            return Err(self.violation_at(pending, key, twice[1].1));
        }
        let apart = (self.rows_at_once(key) / step).max(1);
        Ok(sample.into_iter().step_by(apart).skip(1).map(|(fence, _)| fence).collect())
    }

    /// The error of a row whose key is not unique.
    fn violation_at(&self, pending: &PendingRows<'_>, key: &[usize], position: usize) -> Error {
        let mut first = 0;
        for piece in pending.pieces {
            if position < first + piece.len() {
                return match piece_columns(&self.schema, piece, key) {
                    Ok(columns) => violation(&self.schema, key, &columns, position - first),
                    Err(error) => error,
                };
            }
            first += piece.len();
        }
        Error::internal("a row that is in no piece")
    }

    /// The rows whose keys lie in a range, ascending, and their values.
    fn rows_between(
        &self,
        pending: &PendingRows<'_>,
        key: &[usize],
        (low, high): (Option<&Fence>, Option<&Fence>),
    ) -> Result<(Vec<usize>, Vec<Vector>)> {
        let types = key.iter().map(|column| self.schema.columns[*column].ty.clone());
        let mut values: Vec<VectorBuilder> = types.map(|ty| VectorBuilder::new(ty, 0)).collect();
        let (mut positions, mut first) = (Vec::new(), 0);
        for piece in pending.pieces {
            check_interrupt()?;
            let columns = piece_columns(&self.schema, piece, key)?;
            let keys = encode_rows(&columns)?;
            let is_within = |row: &u32| {
                let at = (keys.key(*row as usize), first + *row as usize);
                let is_before = |fence: &Fence| at < (fence.0.as_slice(), fence.1);
                !low.is_some_and(is_before) && high.is_none_or(is_before)
            };
            let rows: Vec<u32> = (0..piece.len() as u32).filter(is_within).collect();
            values.iter_mut().zip(&columns).for_each(|(values, column)| values.append(&column.take(&rows)));
            positions.extend(rows.iter().map(|row| first + *row as usize));
            first += piece.len();
        }
        Ok((positions, values.into_iter().map(VectorBuilder::finish).collect()))
    }
}

/// Columns of a piece, flat.
pub(super) fn piece_columns(schema: &TableSchema, piece: &Piece, columns: &[usize]) -> Result<Vec<Vector>> {
    let column = |index: &usize| {
        let ty = schema.columns[*index].ty.clone();
        pieces_column(std::slice::from_ref(piece), *index, ty).map(|column| column.flatten())
    };
    columns.iter().map(column).collect()
}

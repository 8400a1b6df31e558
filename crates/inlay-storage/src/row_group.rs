//! A slice of a table: one segment per column, and which rows are deleted.

use crate::column::Column;
use crate::segment::Segment;
use inlay_types::{Bitmap, Result};
use std::ops::Range;
use std::sync::Arc;

/// Rows in a full row group.
pub const ROW_GROUP_SIZE: usize = 131_072;

/// Up to [`ROW_GROUP_SIZE`] rows. Immutable; changes make a new one that shares the untouched segments.
#[derive(Debug)]
pub struct RowGroup {
    columns: Vec<Arc<Column>>,
    len: usize,
    row_id_start: i64,
    deleted: Option<Bitmap>,
    deleted_count: usize,
    sealed: bool,
}

impl RowGroup {
    pub(crate) fn new(columns: Vec<Arc<Column>>, len: usize, row_id_start: i64, sealed: bool) -> Self {
        Self { columns, len, row_id_start, deleted: None, deleted_count: 0, sealed }
    }

    /// Number of rows, deleted ones included.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no rows at all.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Number of rows that are not deleted.
    pub fn live_count(&self) -> usize {
        self.len - self.deleted_count
    }

    /// Row id of the first row; ids of a row group are consecutive.
    pub fn row_id_start(&self) -> i64 {
        self.row_id_start
    }

    /// Row ids of this row group.
    pub fn row_ids(&self) -> Range<i64> {
        self.row_id_start..self.row_id_start + self.len as i64
    }

    /// Column `index`.
    pub fn column(&self, index: usize) -> &Arc<Column> {
        &self.columns[index]
    }

    /// The segment of column `index`; may read it from the file.
    pub fn segment(&self, index: usize) -> Result<Arc<Segment>> {
        self.columns[index].segment()
    }

    /// The segment of column `index` for a scan; see [`Column::segment_to_scan`].
    pub fn segment_to_scan(&self, index: usize) -> Result<Arc<Segment>> {
        self.columns[index].segment_to_scan()
    }

    /// All columns.
    pub fn columns(&self) -> &[Arc<Column>] {
        &self.columns
    }

    /// Deleted rows (a set bit is a deleted row); absent when there are none.
    pub fn deleted(&self) -> Option<&Bitmap> {
        self.deleted.as_ref()
    }

    /// Whether row `row` is deleted.
    pub fn is_deleted(&self, row: usize) -> bool {
        self.deleted.as_ref().is_some_and(|d| d.get(row))
    }

    /// Whether this is a finished, encoded row group and not part of the open tail of small inserts.
    pub fn is_sealed(&self) -> bool {
        self.sealed
    }

    /// Appends the live rows of `range` to `out`.
    pub fn live_rows(&self, range: Range<usize>, out: &mut Vec<u32>) {
        match &self.deleted {
            None => out.extend(range.start as u32..range.end as u32),
            Some(deleted) => out.extend(range.filter(|row| !deleted.get(*row)).map(|row| row as u32)),
        }
    }

    /// A copy in which more rows are deleted, and how many of them were live.
    pub(crate) fn with_deleted(&self, rows: impl Iterator<Item = usize>) -> (Self, usize) {
        let mut deleted = match &self.deleted {
            // A fresh copy of the words: the old bitmap may be shared by snapshots.
            Some(deleted) => Bitmap::from_words(deleted.words().to_vec(), self.len),
            None => Bitmap::filled(self.len, false),
        };
        let words = deleted.words_mut();
        let mut newly = 0;
        for row in rows {
            let (word, bit) = (row / 64, 1u64 << (row % 64));
            newly += usize::from(words[word] & bit == 0);
            words[word] |= bit;
        }
        let copy = Self {
            columns: self.columns.clone(),
            len: self.len,
            row_id_start: self.row_id_start,
            deleted: Some(deleted),
            deleted_count: self.deleted_count + newly,
            sealed: self.sealed,
        };
        (copy, newly)
    }

    /// A copy with other values in some columns.
    pub(crate) fn with_columns(&self, changed: Vec<(usize, Arc<Column>)>) -> Self {
        let mut columns = self.columns.clone();
        for (index, column) in changed {
            columns[index] = column;
        }
        Self {
            columns,
            len: self.len,
            row_id_start: self.row_id_start,
            deleted: self.deleted.clone(),
            deleted_count: self.deleted_count,
            sealed: self.sealed,
        }
    }

    /// A copy with other columns, for a table whose schema changed.
    pub(crate) fn with_all_columns(&self, columns: Vec<Arc<Column>>) -> Self {
        Self {
            columns,
            len: self.len,
            row_id_start: self.row_id_start,
            deleted: self.deleted.clone(),
            deleted_count: self.deleted_count,
            sealed: self.sealed,
        }
    }

    /// This row group with the deletions of others, for when row groups are joined.
    pub(crate) fn set_deleted(&mut self, deleted: Option<Bitmap>) {
        self.deleted_count = deleted.as_ref().map_or(0, Bitmap::count_ones);
        self.deleted = deleted.filter(|_| self.deleted_count > 0);
    }
}

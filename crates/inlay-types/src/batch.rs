//! Columns of equal length side by side: what operators hand to each other.

use crate::{LogicalType, Vector};

/// Up to [`crate::VECTOR_SIZE`] rows. Always dense: an operator that drops rows gathers those that stay.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    columns: Vec<Vector>,
    len: usize,
}

impl Batch {
    /// A batch of these columns, each of `len` rows. Without columns a batch still has a length.
    ///
    /// Panics when a column has another length.
    pub fn new(columns: Vec<Vector>, len: usize) -> Self {
        assert!(columns.iter().all(|c| c.len() == len), "columns of a batch differ in length");
        Self { columns, len }
    }

    /// Number of rows.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no rows.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The columns.
    #[inline]
    pub fn columns(&self) -> &[Vector] {
        &self.columns
    }

    /// Column `index`.
    #[inline]
    pub fn column(&self, index: usize) -> &Vector {
        &self.columns[index]
    }

    /// The columns, to be taken apart.
    pub fn into_columns(self) -> Vec<Vector> {
        self.columns
    }

    /// The columns' types.
    pub fn types(&self) -> Vec<LogicalType> {
        self.columns.iter().map(Vector::logical_type).collect()
    }

    /// The rows at `rows`, in that order.
    pub fn take(&self, rows: &[u32]) -> Self {
        Self { columns: self.columns.iter().map(|c| c.take(rows)).collect(), len: rows.len() }
    }

    /// Bytes of the texts of all columns; see [`Vector::text_size`].
    pub fn text_size(&self) -> usize {
        self.columns.iter().map(Vector::text_size).sum()
    }

    /// The memory goes to the host and is no longer counted; see [`Vector::hold`].
    pub fn let_go(&self) {
        self.columns.iter().for_each(Vector::let_go);
    }

    /// Rows `offset .. offset + len`, sharing values.
    pub fn slice(&self, offset: usize, len: usize) -> Self {
        Self { columns: self.columns.iter().map(|c| c.slice(offset, len)).collect(), len }
    }
}

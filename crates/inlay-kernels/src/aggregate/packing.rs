//! Result columns with one value, or one list of values, per group.

use inlay_types::{LogicalType, Result, Vector, VectorBuilder};

/// Whether results are lists.
pub(super) fn is_list(_ty: &LogicalType) -> bool {
    false
}

/// Builds a result column. Each row is `push_null`, or values pushed into `child` and then `end_row`: exactly one value
/// unless the result is a list.
pub(super) struct Results {
    child: VectorBuilder,
}

impl Results {
    /// No rows.
    pub(super) fn new(ty: &LogicalType, capacity: usize) -> Self {
        Self { child: VectorBuilder::new(ty.clone(), capacity) }
    }

    /// The values of all rows.
    pub(super) fn child(&mut self) -> &mut VectorBuilder {
        &mut self.child
    }

    /// A row that is NULL.
    pub(super) fn push_null(&mut self) {
        self.child.push_null();
    }

    /// The values pushed since the last row are a row.
    pub(super) fn end_row(&mut self) {}

    /// The column of all rows.
    pub(super) fn finish(self) -> Result<Vector> {
        Ok(self.child.finish())
    }
}

//! A set of rows, for those who ask which rows are new: UNION of a recursion.

use super::table::{GroupTable, TableHints};
use inlay_types::{LogicalType, Result, Vector};

/// Distinct rows (NULLs are equal).
pub struct RowSet {
    table: GroupTable,
    groups: Vec<u32>,
}

impl RowSet {
    /// No rows yet.
    pub fn new(types: &[LogicalType]) -> Self {
        Self { table: GroupTable::new(types, TableHints::default()), groups: Vec::new() }
    }

    /// Adds the rows of some vectors; returns the positions of those that were not there, each once.
    pub fn insert(&mut self, keys: &[Vector], len: usize) -> Result<Vec<u32>> {
        let before = self.table.len();
        self.table.find_or_create(keys.to_vec(), len, &mut self.groups)?;
        // A new row is the first one of its number.
        let mut is_known = vec![false; self.table.len() - before];
        let mut new = Vec::new();
        for (row, group) in self.groups.iter().take(len).enumerate() {
            let Some(index) = (*group as usize).checked_sub(before) else { continue };
            if !std::mem::replace(&mut is_known[index], true) {
                new.push(row as u32);
            }
        }
        Ok(new)
    }

    /// Bytes taken.
    pub fn memory_size(&self) -> usize {
        self.table.memory_size()
    }
}

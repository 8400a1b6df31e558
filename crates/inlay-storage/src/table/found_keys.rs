//! Keys that nobody declared: numbers and dates that ascend strictly through all row groups, as the first column of a table
//! that was written in its order does. What is found holds for one version of a table.

use super::TableSnapshot;
use inlay_types::{Result, Value};

/// Row groups that are read, at most, to find out.
const GROUPS_READ_MAX: usize = 256;

impl TableSnapshot {
    /// Whether all values of a column are different and none is NULL, because they ascend. `false` says nothing. The first
    /// time, if zone maps leave it open, the column is read.
    pub fn ascends(&self, column: usize) -> Result<bool> {
        let mut before: Option<i128> = None;
        let mut unknown = 0;
        for group in self.row_groups() {
            let column = group.column(column);
            let zone = column.zone_map();
            let ends = [&zone.min, &zone.max].map(|end| end.as_ref().and_then(Value::as_stored_i128));
            let [Some(min), Some(max)] = ends else { return Ok(false) };
            let has_room = max.saturating_sub(min) >= column.len() as i128 - 1;
            if column.null_count() > 0 || !has_room || before.is_some_and(|before| before >= min) {
                return Ok(false);
            }
            before = Some(max);
            match column.known_to_ascend() {
                Some(false) => return Ok(false),
                Some(true) => {}
                None => unknown += 1,
            }
        }
        if unknown > GROUPS_READ_MAX {
            return Ok(false);
        }
        for group in self.row_groups() {
            if !group.column(column).ascends()? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

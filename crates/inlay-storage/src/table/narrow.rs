//! Rows with a value of a column by zone maps alone. Where values ascend or lie together, as those of keys often do, few vectors
//! may hold one, and no index is worth its memory and the time to make it.

use super::TableSnapshot;
use super::keys::same;
use crate::predicate::{Cmp, Prune, SegmentPredicate};
use crate::{RowGroup, ZoneMap};
use inlay_types::{Result, VECTOR_SIZE, Value};
use std::cmp::Ordering;

/// Row groups, and vectors among them, that may hold a value.
const GROUPS_MAX: usize = 4;
const VECTORS_MAX: usize = 4;

/// Ids, ascending, of the live rows that have a value in a column; `None` if zone maps leave too many to look at.
pub(super) fn few_with(snapshot: &TableSnapshot, column: usize, value: &Value) -> Result<Option<Vec<i64>>> {
    let mut groups = Vec::with_capacity(GROUPS_MAX);
    for group in snapshot.row_groups() {
        if may_hold(group.column(column).zone_map(), value) {
            if groups.len() == GROUPS_MAX {
                return Ok(None);
            }
            groups.push(group);
        }
    }
    let predicate = SegmentPredicate::Compare(Cmp::Eq, value.clone());
    let (mut found, mut rows, mut vectors) = (Vec::new(), Vec::new(), 0);
    for group in groups {
        let segment = group.segment(column)?;
        let prepared = segment.prepare(&predicate)?;
        rows.clear();
        for index in 0..segment.len().div_ceil(VECTOR_SIZE) {
            if segment.prune_vector(index, &prepared) == Prune::None {
                continue;
            }
            vectors += 1;
            if vectors > VECTORS_MAX {
                return Ok(None);
            }
            let range = index * VECTOR_SIZE..(index + 1) * VECTOR_SIZE;
            segment.filter_prepared(&prepared, range, None, &mut rows)?;
        }
        let live = rows.iter().filter(|row| !group.is_deleted(**row as usize));
        found.extend(live.map(|row| group.row_id_start() + i64::from(*row)));
    }
    Ok(Some(found))
}

/// The live row that has a value in a column in which no two live rows have one value: at the place where it lies if values
/// grow evenly and row groups ascend, as numbers that count rows do. `None` if it is not there, which says nothing else.
pub(super) fn at_its_place(snapshot: &TableSnapshot, column: usize, value: &Value) -> Result<Option<i64>> {
    let Some(wanted) = value.as_stored_i128() else { return Ok(None) };
    let groups = snapshot.row_groups();
    let end_of = |group: &RowGroup, end: fn(&ZoneMap) -> &Option<Value>| {
        end(group.column(column).zone_map()).as_ref().and_then(Value::as_stored_i128)
    };
    let before =
        groups.partition_point(|group| end_of(group, |zone| &zone.max).is_some_and(|max| max < wanted));
    let Some(group) = groups.get(before) else { return Ok(None) };
    let ends = (end_of(group, |zone| &zone.min), end_of(group, |zone| &zone.max));
    let (Some(min), Some(max)) = ends else { return Ok(None) };
    if !(min..=max).contains(&wanted) {
        return Ok(None);
    }
    // Of keys as far apart as 128 bits go, no place is known.
    let rows = (wanted - min).checked_mul(group.len() as i128 - 1);
    let Some(row) = rows.map(|rows| (rows / (max - min).max(1)) as usize) else { return Ok(None) };
    let is_here =
        row < group.len() && !group.is_deleted(row) && same(&group.segment(column)?.get(row), value);
    Ok(is_here.then(|| group.row_id_start() + row as i64))
}

impl TableSnapshot {
    /// The id of the live row that has a value in a column in which no two live rows have one value, if it lies where rows that are
    /// numbered in order do; `None` if it is not there, which says nothing else. Costs a look at one row.
    pub fn at_its_place(&self, column: usize, value: &Value) -> Result<Option<i64>> {
        at_its_place(self, column, value)
    }
}

/// Whether all values of a column are below one.
pub(super) fn all_below(snapshot: &TableSnapshot, column: usize, value: &Value) -> bool {
    snapshot.row_groups().iter().all(|group| {
        let zone = group.column(column).zone_map();
        !zone.has_value || zone.max.as_ref().is_some_and(|max| max.total_cmp(value) == Ordering::Less)
    })
}

fn may_hold(zone: &ZoneMap, value: &Value) -> bool {
    let is_outside = |end: &Option<Value>, beyond: Ordering| {
        end.as_ref().is_some_and(|end| value.total_cmp(end) == beyond)
    };
    zone.has_value && !is_outside(&zone.min, Ordering::Less) && !is_outside(&zone.max, Ordering::Greater)
}

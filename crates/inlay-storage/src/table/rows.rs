//! Rows by their ids.

use super::TableSnapshot;
use crate::row_set::{RowSet, RowSetBuilder};
use inlay_types::{Batch, LogicalType, Result, Vector, VectorBuilder};

/// Runs of sorted items that lie in one row group; items without a row are left out only at run boundaries,
/// so callers pass ids that exist, or tolerate none.
pub(super) fn by_group<'a, T>(
    snapshot: &'a TableSnapshot,
    sorted: &'a [T],
    id: impl Fn(&T) -> i64 + 'a,
) -> impl Iterator<Item = (usize, &'a [T])> + 'a {
    let mut from = 0;
    std::iter::from_fn(move || {
        while from < sorted.len() {
            let Some(index) = snapshot.group_of(id(&sorted[from])) else {
                from += 1;
                continue;
            };
            let end = snapshot.groups[index].row_ids().end;
            let run = sorted[from..].partition_point(|item| id(item) < end);
            from += run;
            return Some((index, &sorted[from - run..from]));
        }
        None
    })
}

/// One column of rows that exist, ids ascending.
pub(super) fn gather_ids(
    snapshot: &TableSnapshot,
    ids: &[i64],
    column: usize,
    ty: LogicalType,
) -> Result<Vector> {
    let mut builder = VectorBuilder::new(ty, ids.len());
    for (index, ids) in by_group(snapshot, ids, |id| *id) {
        let group = &snapshot.groups[index];
        let rows: Vec<u32> = ids.iter().map(|id| (id - group.row_id_start()) as u32).collect();
        builder.append(&group.segment(column)?.gather(&rows));
    }
    Ok(builder.finish())
}

impl TableSnapshot {
    /// Those of `ids` whose rows are live.
    pub fn live(&self, ids: &RowSet) -> RowSet {
        let is_live = |id: i64| self.is_live(id);
        if ids.parts().all(|part| part.iter().all(|id| is_live(*id))) {
            return ids.clone();
        }
        let mut live = RowSetBuilder::default();
        ids.parts().for_each(|part| live.add(&self.live_ids(&part)));
        live.finish()
    }

    /// Those of `ids` (ascending) whose rows are live.
    pub fn live_ids(&self, ids: &[i64]) -> Vec<i64> {
        let is_live = |id: &i64| self.locate(*id).is_some_and(|(group, row)| !group.is_deleted(row));
        ids.iter().copied().filter(is_live).collect()
    }

    /// One column of rows that exist, ids ascending.
    pub fn gather(&self, ids: &[i64], column: usize, ty: LogicalType) -> Result<Vector> {
        gather_ids(self, ids, column, ty)
    }

    /// Some columns of rows that exist, ids ascending, as vectors of any kind.
    pub fn fetch(&self, ids: &[i64], columns: &[usize], types: &[LogicalType]) -> Result<Vec<Vector>> {
        let mut groups = by_group(self, ids, |id| *id);
        if let (Some((index, run)), None) = (groups.next(), groups.next())
            && run.len() == ids.len()
        {
            let group = &self.groups[index];
            let rows: Vec<u32> = ids.iter().map(|id| (id - group.row_id_start()) as u32).collect();
            return columns.iter().map(|column| Ok(group.segment(*column)?.gather(&rows))).collect();
        }
        let column = |(column, ty): (&usize, &LogicalType)| gather_ids(self, ids, *column, ty.clone());
        columns.iter().zip(types).map(column).collect()
    }

    /// All columns of rows that exist, ids ascending.
    pub fn rows(&self, ids: &[i64], types: &[LogicalType]) -> Result<Batch> {
        let columns = types.iter().enumerate().map(|(index, ty)| gather_ids(self, ids, index, ty.clone()));
        Ok(Batch::new(columns.collect::<Result<_>>()?, ids.len()))
    }
}

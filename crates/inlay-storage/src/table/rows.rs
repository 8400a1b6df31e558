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
        builder.append(&group.segment(column)?.gather(&rows)?);
    }
    Ok(builder.finish())
}

/// All live rows of a version by position, as runs of row ids without gaps.
pub(super) struct LiveRows {
    /// First position and first id of each run.
    runs: Vec<(usize, i64)>,
    pub count: usize,
}

impl LiveRows {
    pub(super) fn of(snapshot: &TableSnapshot) -> Self {
        let mut live = Self { runs: Vec::new(), count: 0 };
        let mut rows = Vec::new();
        for group in snapshot.row_groups() {
            let first_id = group.row_id_start();
            if group.deleted().is_none() {
                live.add(first_id, group.len());
                continue;
            }
            rows.clear();
            group.live_rows(0..group.len(), &mut rows);
            rows.iter().for_each(|row| live.add(first_id + i64::from(*row), 1));
        }
        live
    }

    /// Adds ids behind all others.
    fn add(&mut self, id: i64, count: usize) {
        let goes_on =
            self.runs.last().is_some_and(|(first, first_id)| first_id + (self.count - first) as i64 == id);
        if !goes_on && count > 0 {
            self.runs.push((self.count, id));
        }
        self.count += count;
    }

    /// The row id at a position below `count`.
    pub(super) fn id(&self, position: usize) -> i64 {
        let run = self.runs.partition_point(|(first, _)| *first <= position).saturating_sub(1);
        let (first, id) = self.runs[run];
        id + (position - first) as i64
    }

    /// The position of a row id, if it is live.
    pub(super) fn position(&self, id: i64) -> Option<usize> {
        let run = self.runs.partition_point(|(_, first)| *first <= id).checked_sub(1)?;
        let (first, first_id) = self.runs[run];
        let end = self.runs.get(run + 1).map_or(self.count, |(first, _)| *first);
        Some(first + (id - first_id) as usize).filter(|position| *position < end)
    }

    /// A column of them.
    pub(super) fn gather(&self, snapshot: &TableSnapshot, column: usize, ty: LogicalType) -> Result<Vector> {
        let mut builder = VectorBuilder::new(ty, self.count);
        let mut rows = Vec::new();
        for group in snapshot.row_groups() {
            rows.clear();
            group.live_rows(0..group.len(), &mut rows);
            builder.append(&group.segment(column)?.gather(&rows)?);
        }
        Ok(builder.finish())
    }
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
            return columns.iter().map(|column| group.segment(*column)?.gather(&rows)).collect();
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

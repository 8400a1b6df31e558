//! Compaction: drops deleted rows, and joins small neighbours.
//!
//! The log names the row groups only, so what becomes of them must follow from the table alone.

use super::{Change, Table, TableSnapshot};
use crate::column::Column;
use crate::home::Home;
use crate::interrupted::check_interrupt;
use crate::row_group::{ROW_GROUP_SIZE, RowGroup};
use crate::segment::Segment;
use inlay_types::{Error, Result, VectorBuilder};
use std::sync::Arc;

/// Images up to this size are left to the checkpoint, which may put them into a directory.
const KEPT_MAX: usize = 4096;

impl Table {
    /// Drops the deleted rows of row groups, named by their first row ids, ascending; later rows of a group move up.
    /// Named groups that follow each other become one as long as its rows fit into one.
    pub fn compact(&self, starts: &[i64]) -> Result<()> {
        self.compact_into(starts, None)
    }

    /// The same; new columns go to a file, so that memory need not keep them until the checkpoint that follows.
    pub(crate) fn compact_into(&self, starts: &[i64], home: Option<&Arc<Home>>) -> Result<()> {
        let mut writer = self.locked();
        let snapshot = self.snapshot();
        let mut groups: Vec<Arc<RowGroup>> = Vec::with_capacity(snapshot.row_groups().len());
        let mut run: Vec<Arc<RowGroup>> = Vec::new();
        let mut named = 0;
        for group in snapshot.row_groups() {
            let is_named = starts.binary_search(&group.row_id_start()).is_ok();
            named += usize::from(is_named);
            let rows: usize = run.iter().map(|g| g.live_count()).sum();
            if !is_named || rows + group.live_count() > ROW_GROUP_SIZE {
                self.join(&mut run, &mut groups, home)?;
            }
            match is_named {
                true => run.push(Arc::clone(group)),
                false => groups.push(Arc::clone(group)),
            }
        }
        self.join(&mut run, &mut groups, home)?;
        if named != starts.len() {
            let name = &self.schema.name;
            return Err(Error::corrupt(format!(
                "a compaction of row groups that table \"{name}\" does not have"
            )));
        }
        // Rows have other ids now.
        self.indexes.clear();
        writer.changes.push(Change::Compact { groups: starts.into() });
        self.publish(&mut writer, TableSnapshot::new(0, groups));
        Ok(())
    }

    /// Puts the live rows of `run`, which is emptied, into one row group.
    fn join(
        &self,
        run: &mut Vec<Arc<RowGroup>>,
        groups: &mut Vec<Arc<RowGroup>>,
        home: Option<&Arc<Home>>,
    ) -> Result<()> {
        let run = std::mem::take(run);
        let first = match run.as_slice() {
            [] => return Ok(()),
            [only] if only.deleted().is_none() => {
                groups.push(Arc::clone(only));
                return Ok(());
            }
            [first, ..] => first,
        };
        let live: Vec<Vec<u32>> = run
            .iter()
            .map(|group| {
                let mut rows = Vec::with_capacity(group.live_count());
                group.live_rows(0..group.len(), &mut rows);
                rows
            })
            .collect();
        let len = live.iter().map(Vec::len).sum();
        if len == 0 {
            return Ok(());
        }
        let is_sealed = run.len() > 1 || first.is_sealed();
        let mut columns = Vec::with_capacity(self.schema.columns.len());
        for (index, column) in self.schema.columns.iter().enumerate() {
            check_interrupt()?;
            let mut builder = VectorBuilder::new(column.ty.clone(), len);
            for (group, rows) in run.iter().zip(&live) {
                builder.append(&group.segment(index)?.gather(rows)?);
            }
            let column = Column::new(Segment::encode_for(&builder.finish(), is_sealed, &self.budget)?);
            if let Some(home) = home.filter(|_| is_sealed) {
                column.persist_above(home, self.id, KEPT_MAX)?;
            }
            columns.push(column);
        }
        groups.push(Arc::new(RowGroup::new(columns, len, first.row_id_start(), is_sealed)));
        Ok(())
    }

    /// The row groups that are worth compacting: those of which more than a quarter is deleted (with `all`: any row),
    /// and neighbours that fit into one, unless a large one would be copied for the sake of a few rows.
    pub(crate) fn compactable(&self, all: bool) -> Vec<i64> {
        let writer = self.locked();
        let snapshot = self.snapshot();
        let (groups, mut tail) = (snapshot.row_groups(), snapshot.row_groups().len());
        // Inserts join the chunks of the open tail themselves.
        let mut end = writer.next_row_id;
        while !all && tail > 0 && !groups[tail - 1].is_sealed() && groups[tail - 1].row_ids().end == end {
            tail -= 1;
            end = groups[tail].row_id_start();
        }
        let is_worth_it = |group: &RowGroup| {
            let deleted = group.len() - group.live_count();
            deleted > 0 && (all || 4 * deleted > group.len())
        };
        let mut starts = Vec::new();
        let mut from = 0;
        while from < groups.len() {
            let (mut to, mut rows, mut largest) =
                (from + 1, groups[from].live_count(), groups[from].live_count());
            while to < tail && rows + groups[to].live_count() <= ROW_GROUP_SIZE {
                rows += groups[to].live_count();
                largest = largest.max(groups[to].live_count());
                to += 1;
            }
            let run = &groups[from..to];
            let joins =
                run.len() > 1 && (all || rows >= 2 * largest || run.iter().any(|group| is_worth_it(group)));
            let chosen = run.iter().filter(|group| joins || is_worth_it(group));
            starts.extend(chosen.map(|group| group.row_id_start()));
            from = to;
        }
        starts
    }
}

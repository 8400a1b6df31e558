//! Updating rows: a few are values laid over their segments, which the log repeats; a row group of which many change gets
//! new columns, which go to the file at once if there is one, so that neither memory nor the log holds their values.
//!
//! Columns of keys are never rewritten in this way: whether keys are unique can only be said of all rows together.

use super::change::{Change, Rewritten};
use super::keys::PendingRows;
use super::rows::{by_group, gather_ids};
use super::{Table, TableSnapshot, Writer};
use crate::column::Column;
use crate::interrupted::check_interrupt;
use crate::row_group::RowGroup;
use crate::row_set::{RowSet, RowSetBuilder};
use crate::segment::Segment;
use inlay_types::{Batch, Error, LogicalType, Result, Vector, VectorBuilder};
use std::sync::Arc;

/// A row group of which more rows change gets new columns. Overlays have no more rows, so these are encoded anyway.
pub(crate) const REWRITTEN_MIN: usize = 4_096;

impl Table {
    /// Gives the rows `row_ids` new values in `columns`: column `i` of `values` (rows in the order of `row_ids`, over
    /// all batches) is for `columns[i]`. All or none; ids without a live row are passed over, and of several values
    /// for one row one is taken. Returns the number of rows changed. Rows keep their ids and places.
    pub fn update(&self, row_ids: &[i64], columns: &[usize], values: &[Batch]) -> Result<u64> {
        let count: usize = values.iter().map(Batch::len).sum();
        if count != row_ids.len() {
            return Err(Error::internal(format!("{} row ids for {count} rows of new values", row_ids.len())));
        }
        let mut writer = self.locked();
        let snapshot = self.snapshot();
        let are_in_order = row_ids.windows(2).all(|pair| pair[0] < pair[1]);
        if let ([batch], true) = (values, are_in_order && row_ids.iter().all(|id| snapshot.is_live(*id))) {
            let new_values = columns.iter().zip(batch.columns());
            let new_values = new_values.map(|(&column, values)| self.checked_column(column, values));
            let new_values = new_values.collect::<Result<Vec<Vector>>>()?;
            return self.change_columns(&mut writer, row_ids, columns, &new_values, true);
        }
        let mut changes: Vec<(i64, u32)> = row_ids.iter().copied().zip(0..).collect();
        changes.sort_unstable();
        changes.dedup_by_key(|change| change.0);
        changes.retain(|(id, _)| snapshot.is_live(*id));
        let order: Vec<u32> = changes.iter().map(|change| change.1).collect();
        let mut new_values = Vec::with_capacity(columns.len());
        for (position, &index) in columns.iter().enumerate() {
            let joined = joined_column(values, position, self.schema.columns[index].ty.clone())?;
            new_values.push(self.checked_column(index, &joined.take(&order))?);
        }
        let ids: Vec<i64> = changes.iter().map(|change| change.0).collect();
        self.change_columns(&mut writer, &ids, columns, &new_values, true)
    }

    /// As [`Table::update`], of live rows in the order of their ids and of checked values. The change has all values.
    pub(super) fn update_columns(
        &self,
        writer: &mut Writer,
        ids: &[i64],
        columns: &[usize],
        values: &[Vector],
    ) -> Result<u64> {
        self.change_columns(writer, ids, columns, values, false)
    }

    /// The same; with `rewrites`, row groups of which many rows change get new columns, which the change refers to.
    fn change_columns(
        &self,
        writer: &mut Writer,
        ids: &[i64],
        columns: &[usize],
        values: &[Vector],
        rewrites: bool,
    ) -> Result<u64> {
        if ids.is_empty() || columns.is_empty() {
            return Ok(ids.len() as u64);
        }
        let snapshot = self.snapshot();
        let pending = PendingRows {
            count: ids.len(),
            row_ids: &|position| ids[position],
            position: &|id| ids.binary_search(&id).ok(),
            column: &|index| match columns.iter().position(|c| *c == index) {
                Some(position) => Ok(values[position].clone()),
                None => gather_ids(&snapshot, ids, index, self.schema.columns[index].ty.clone()),
            },
            changed: Some(columns),
            pieces: &[],
        };
        self.enter_rows(writer, &snapshot, &pending)?;
        if let [id] = *ids {
            return self.change_row(writer, &snapshot, id, columns, values);
        }
        let rewrites = rewrites && ids.len() > REWRITTEN_MIN && self.can_rewrite(columns);
        let mut groups = snapshot.groups.to_vec();
        let (mut rewritten, mut kept) = (Vec::new(), Vec::new());
        let mut from = 0;
        for (index, ids) in by_group(&snapshot, ids, |id| *id) {
            check_interrupt()?;
            let group = &groups[index];
            let rows: Vec<u32> = ids.iter().map(|id| (id - group.row_id_start()) as u32).collect();
            let mut changed = Vec::with_capacity(columns.len());
            for (&column, values) in columns.iter().zip(values) {
                let new = values.slice(from, ids.len());
                changed.push((column, self.with_values(group, column, &rows, &new)?));
            }
            if rewrites && ids.len() > REWRITTEN_MIN {
                rewritten.push(self.kept_columns(group, &changed)?);
            } else {
                kept.push(from..from + ids.len());
            }
            groups[index] = Arc::new(group.with_columns(changed));
            from += ids.len();
        }
        if from != ids.len() {
            return Err(self.no_such_rows());
        }
        if rewritten.is_empty() {
            let (ids, columns, values) = (RowSet::from(ids), columns.into(), values.into());
            writer.changes.push(Change::Update { ids, columns, values });
        } else {
            let mut rest = Vec::with_capacity(kept.iter().map(|range| range.len()).sum());
            kept.iter().for_each(|range| rest.extend_from_slice(&ids[range.clone()]));
            if !rest.is_empty() {
                let part = |values: &Vector| {
                    let mut builder = VectorBuilder::new(values.logical_type(), rest.len());
                    kept.iter().for_each(|range| builder.append(&values.slice(range.start, range.len())));
                    builder.finish()
                };
                let values = values.iter().map(part).collect();
                writer.changes.push(Change::Update {
                    ids: RowSet::from(&rest[..]),
                    columns: columns.into(),
                    values,
                });
            }
            let mut many = RowSetBuilder::default();
            let mut from = 0;
            for range in kept.iter().chain(std::iter::once(&(ids.len()..ids.len()))) {
                many.add(&ids[from..range.start]);
                from = range.end;
            }
            let groups = rewritten.into();
            writer.changes.push(Change::Rewrite { ids: many.finish(), columns: columns.into(), groups });
        }
        self.publish(writer, TableSnapshot::new(0, groups));
        Ok(ids.len() as u64)
    }

    /// The same for one row, which the indexes know already: by far the most frequent change.
    fn change_row(
        &self,
        writer: &mut Writer,
        snapshot: &TableSnapshot,
        id: i64,
        columns: &[usize],
        values: &[Vector],
    ) -> Result<u64> {
        let index = snapshot.group_of(id).ok_or_else(|| self.no_such_rows())?;
        let group = &snapshot.groups[index];
        let row = [(id - group.row_id_start()) as u32];
        let mut all = group.columns().to_vec();
        for (&column, new) in columns.iter().zip(values) {
            all[column] = self.with_values(group, column, &row, new)?;
        }
        let next = snapshot.with_group(index, Arc::new(group.with_all_columns(all)));
        let ids = RowSet::from(&[id][..]);
        writer.changes.push(Change::Update { ids, columns: columns.into(), values: values.into() });
        self.publish(writer, next);
        Ok(1)
    }

    /// Whether changes of columns may be new columns of row groups.
    pub(crate) fn can_rewrite(&self, columns: &[usize]) -> bool {
        !self.keys.iter().flatten().any(|column| columns.contains(column))
    }

    /// New columns of a row group, in the file if there is one.
    fn kept_columns(&self, group: &RowGroup, changed: &[(usize, Arc<Column>)]) -> Result<Rewritten> {
        let mut new = Vec::with_capacity(changed.len());
        for (_, column) in changed {
            if let Some(home) = &self.home {
                column.persist(home, self.id)?;
            }
            new.push(Arc::clone(column));
        }
        let before = changed.iter().map(|(index, _)| Arc::downgrade(group.column(*index))).collect();
        Ok(Rewritten { first_id: group.row_id_start(), columns: new, before: Some(before) })
    }

    /// The end of a bulk update: a few rows with their values, and row groups with new columns, which are others.
    pub(crate) fn update_bulk(
        &self,
        columns: &[usize],
        (ids, values): (&[i64], &[Vector]),
        (rewritten, groups): (&RowSet, &[Rewritten]),
    ) -> Result<()> {
        let mut writer = self.locked();
        self.change_columns(&mut writer, ids, columns, values, true)?;
        self.rewrite_again(&mut writer, rewritten, columns, groups)
    }

    /// Gives row groups the new columns of a change. Where somebody else has changed a row group meanwhile, only the rows
    /// that the change is about are changed.
    pub(super) fn rewrite_again(
        &self,
        writer: &mut Writer,
        ids: &RowSet,
        columns: &[usize],
        groups: &[Rewritten],
    ) -> Result<()> {
        let snapshot = self.snapshot();
        let mut next = snapshot.groups.to_vec();
        let (mut as_they_are, mut by_row) = (Vec::new(), Vec::new());
        let mut covered = RowSetBuilder::default();
        for new in groups {
            let mut rows = Vec::new();
            ids.rows_within(new.row_ids(), &mut rows);
            let ids: Vec<i64> = rows.iter().map(|row| new.first_id + i64::from(*row)).collect();
            let index = snapshot.group_of(new.first_id);
            let Some(index) = index.filter(|index| new.fits(&snapshot.groups[*index], columns)) else {
                if new.before.is_none() {
                    return Err(self.no_such_rows());
                }
                by_row.push((new, rows, ids));
                continue;
            };
            let group = &snapshot.groups[index];
            let value = |index: usize| match columns.iter().position(|column| *column == index) {
                Some(position) => new.columns[position].segment()?.gather(&rows),
                None => group.segment(index)?.gather(&rows),
            };
            let pending = PendingRows {
                count: ids.len(),
                row_ids: &|position| ids[position],
                position: &|id| ids.binary_search(&id).ok(),
                column: &value,
                changed: Some(columns),
                pieces: &[],
            };
            self.enter_rows(writer, &snapshot, &pending)?;
            covered.add(&ids);
            let changed = columns.iter().copied().zip(new.columns.iter().cloned()).collect();
            next[index] = Arc::new(group.with_columns(changed));
            as_they_are.push(new.clone());
        }
        if !as_they_are.is_empty() {
            let (ids, columns, groups) = (covered.finish(), columns.into(), as_they_are.into());
            writer.changes.push(Change::Rewrite { ids, columns, groups });
            self.publish(writer, TableSnapshot::new(0, next));
        }
        for (new, rows, ids) in by_row {
            let values = new.columns.iter().map(|column| column.segment()?.gather(&rows));
            self.update_columns(writer, &ids, columns, &values.collect::<Result<Vec<Vector>>>()?)?;
        }
        Ok(())
    }

    fn no_such_rows(&self) -> Error {
        Error::corrupt(format!("an update of rows that table \"{}\" does not have", self.schema.name))
    }

    /// A column of a row group with other values at `rows`.
    fn with_values(
        &self,
        group: &RowGroup,
        column: usize,
        rows: &[u32],
        new: &Vector,
    ) -> Result<Arc<Column>> {
        let old = group.segment(column)?;
        Ok(Column::new(Segment::patched(&old, rows, new, &self.budget)?))
    }
}

impl Rewritten {
    /// Whether a row group is the one that the columns were made for.
    fn fits(&self, group: &RowGroup, columns: &[usize]) -> bool {
        let is_known = |index: usize| columns.get(index).is_some_and(|at| *at < group.columns().len());
        let is_same = |before: &[std::sync::Weak<Column>]| {
            before.iter().zip(columns).all(|(before, at)| before.as_ptr() == Arc::as_ptr(group.column(*at)))
        };
        group.row_id_start() == self.first_id
            && self.columns.iter().all(|column| column.len() == group.len())
            && (0..self.columns.len()).all(is_known)
            && self.before.as_deref().is_none_or(is_same)
    }
}

/// Rows of batches joined to one column of type `ty`; a NULL without a type takes it.
fn joined_column(batches: &[Batch], index: usize, ty: LogicalType) -> Result<Vector> {
    if let [one] = batches {
        return Ok(one.column(index).clone());
    }
    let mut builder = VectorBuilder::new(ty.clone(), batches.iter().map(Batch::len).sum());
    for batch in batches {
        let column = batch.column(index);
        match column.logical_type() {
            LogicalType::Null => (0..column.len()).for_each(|_| builder.push_null()),
            found if found.physical() == ty.physical() => builder.append(column),
            found => return Err(Error::internal(format!("{found} for a column of {ty}"))),
        }
    }
    Ok(builder.finish())
}

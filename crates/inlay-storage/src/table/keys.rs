//! Entering new and changed rows in the indexes of their table, and uniqueness.

use super::append::Piece;
use super::change::written_ids;
use super::indexes::{IndexHandle, Wanting};
use super::key_rounds::{Rows, piece_columns};
use super::narrow::{all_below, few_with};
use super::rows::{LiveRows, gather_ids};
use super::{Table, TableSnapshot, Writer};
use crate::index::{Index, PendingKeys};
use crate::interrupted::check_interrupt;
use crate::schema::{Deferral, TableSchema};
use inlay_types::error::shortened;
use inlay_types::{Error, LogicalType, PhysicalType, Result, Value, Vector};
use std::borrow::Cow;
use std::fmt::Write;
use std::sync::Arc;

/// Rows that are about to be appended or changed.
pub(super) struct PendingRows<'a> {
    pub count: usize,
    /// Row ids by position.
    pub row_ids: &'a dyn Fn(usize) -> i64,
    /// Position of a row id among the rows, if it is there.
    pub position: &'a dyn Fn(i64) -> Option<usize>,
    /// The values that the rows will have in a column of the table.
    pub column: &'a dyn Fn(usize) -> Result<Vector>,
    /// Columns that change; all without it.
    pub changed: Option<&'a [usize]>,
    /// Where the rows are, if they are appended: they can be looked at a row group at a time.
    pub pieces: &'a [Piece],
}

impl PendingRows<'_> {
    fn columns(&self, key: &[usize]) -> Result<Vec<Vector>> {
        let columns = key.iter().map(|column| (self.column)(*column)).collect::<Result<Vec<Vector>>>()?;
        if columns.iter().any(|column| column.len() != self.count) {
            return Err(Error::corrupt("a change of rows that are not there"));
        }
        Ok(columns)
    }

    fn concerns(&self, key: &[usize]) -> bool {
        self.changed.is_none_or(|changed| key.iter().any(|column| changed.contains(column)))
    }
}

impl Table {
    /// The version for which an index is wanted.
    pub(super) fn wanting<'a>(&'a self, writer: &'a Writer, snapshot: &'a TableSnapshot) -> Wanting<'a> {
        let (schema, budget, home) = (&*self.schema, &self.budget, self.home.as_ref());
        Wanting { schema, budget, home, table: self.id(), snapshot, changes: &writer.changes }
    }

    /// Enters rows in all indexes; fails at the first that violates a key.
    pub(super) fn enter_rows(
        &self,
        writer: &Writer,
        snapshot: &TableSnapshot,
        pending: &PendingRows<'_>,
    ) -> Result<()> {
        if pending.count == 0 {
            return Ok(());
        }
        let is_checked = |key: &Vec<usize>| self.schema.deferral(key) == Deferral::Never;
        for key in self.keys.iter().filter(|key| pending.concerns(key) && is_checked(key)) {
            self.enter_key(writer, snapshot, pending, key)?;
        }
        for handle in self.indexes.maintained() {
            let columns = handle.columns();
            let is_entered = self.keys.iter().any(|key| key == columns && is_checked(key));
            if pending.concerns(columns) && !is_entered {
                let index = handle.index()?;
                self.in_rounds(pending, columns, (&index, Rows::Any), &|round| {
                    index.insert_rows(&round.columns(columns)?, round.row_ids)
                })?;
            }
        }
        Ok(())
    }

    fn enter_key(
        &self,
        writer: &Writer,
        snapshot: &TableSnapshot,
        pending: &PendingRows<'_>,
        key: &[usize],
    ) -> Result<()> {
        let wanting = self.wanting(writer, snapshot);
        let mut index = self.indexes.index(key, &wanting, false)?;
        if index.as_ref().is_some_and(|index| index.is_bloated(snapshot.row_count() as u64)) {
            self.indexes.forget(key);
            index = None;
        }
        if index.is_none() && self.pieces_ascend(snapshot, pending.pieces, key)? {
            return Ok(());
        }
        if index.is_none() && !self.is_for_rounds(pending, key) && self.is_free(snapshot, pending, key)? {
            return Ok(());
        }
        let index = match index {
            Some(index) => index,
            None => self
                .indexes
                .index(key, &wanting, true)?
                .ok_or_else(|| Error::internal("a key without an index"))?,
        };
        self.in_rounds(pending, key, (&index, Rows::Unique), &|round| {
            enter_unique(&index, snapshot, &self.schema, round, key, &round.columns(key)?)
        })
    }

    /// Whether the keys of some rows can be told to be free without an index, which is made when it is first needed; fails if
    /// the only row's is not.
    fn is_free(&self, snapshot: &TableSnapshot, pending: &PendingRows<'_>, key: &[usize]) -> Result<bool> {
        let columns = pending.columns(key)?;
        let first = columns[0].get(0);
        if ascend_strictly(&columns) && all_below(snapshot, key[0], &first) {
            return Ok(true);
        }
        if pending.count == 1
            && !first.is_null()
            && let Some(few) = few_with(snapshot, key[0], &first)?
        {
            for row_id in few.into_iter().filter(|row_id| (pending.position)(*row_id).is_none()) {
                if has_key(snapshot, row_id, key, &columns, 0)? {
                    return Err(violation(&self.schema, key, &columns, 0));
                }
            }
            return Ok(true);
        }
        Ok(false)
    }

    /// Whether rows to be appended are many, and ascend strictly by their key from behind those that are there.
    fn pieces_ascend(&self, snapshot: &TableSnapshot, pieces: &[Piece], key: &[usize]) -> Result<bool> {
        if pieces.len() < 2 {
            return Ok(false);
        }
        let mut last: Vec<i64> = Vec::new();
        for piece in pieces {
            check_interrupt()?;
            let columns = piece_columns(&self.schema, piece, key)?;
            if piece.len() == 0
                || !ascend_strictly(&columns)
                || last.is_empty() && !all_below(snapshot, key[0], &columns[0].get(0))
            {
                return Ok(false);
            }
            let row = |row: usize| -> Vec<i64> {
                columns.iter().filter_map(ascending_column).map(|column| column[row]).collect()
            };
            // An empty list is before all others.
            if row(0) <= last {
                return Ok(false);
            }
            last = row(piece.len() - 1);
        }
        Ok(true)
    }

    /// Fails if a row that was written by the changes from number `since` on has a key in common with another row. Of keys
    /// that may be left to COMMIT, those that `is_due` says; writing rows checks the others.
    pub fn check_deferrable_keys(&self, since: usize, is_due: &dyn Fn(&[usize]) -> bool) -> Result<()> {
        if self.schema.deferrable_keys.is_empty() {
            return Ok(());
        }
        let writer = self.locked();
        let snapshot = self.snapshot();
        let changes = writer.changes.get(since..).ok_or_else(|| {
            Error::internal(format!(
                "change {since} of {}, whose keys are to be checked",
                writer.changes.len()
            ))
        })?;
        let written = snapshot.live(&written_ids(changes));
        if written.is_empty() {
            return Ok(());
        }
        let is_deferrable = |key: &&Vec<usize>| self.schema.deferral(key) != Deferral::Never && is_due(key);
        for key in self.keys.iter().filter(is_deferrable) {
            let wanting = self.wanting(&writer, &snapshot);
            let mut index = self.indexes.index(key, &wanting, false)?;
            if index.as_ref().is_some_and(|index| index.is_bloated(snapshot.row_count() as u64)) {
                self.indexes.forget(key);
                index = None;
            }
            let column = |ids: &[i64], column: usize| {
                gather_ids(&snapshot, ids, column, self.schema.columns[column].ty.clone())
            };
            for ids in written.parts() {
                let columns =
                    key.iter().map(|index| column(&ids, *index)).collect::<Result<Vec<Vector>>>()?;
                if index.is_none() && snapshot.row_count() == ids.len() && ascend_strictly(&columns) {
                    continue;
                }
                let index = match &mut index {
                    Some(index) => index,
                    none => none.insert(
                        self.indexes
                            .index(key, &wanting, true)?
                            .ok_or_else(|| Error::internal("a key without an index"))?,
                    ),
                };
                let pending = PendingKeys {
                    columns: &columns,
                    row_ids: &|position| ids[position],
                    position: &|_| None,
                };
                let clash = index.first_clash(&pending, &mut |row_id, position| {
                    has_key(&snapshot, row_id, key, &columns, position)
                })?;
                if let Some(clash) = clash {
                    return Err(violation(&self.schema, key, &columns, clash.position));
                }
            }
        }
        Ok(())
    }

    /// Number of changes since the fork.
    pub fn change_count(&self) -> usize {
        self.locked().changes.len()
    }

    /// Checks keys that the live rows of a snapshot did not have to satisfy before; gives their indexes.
    pub(super) fn check_new_keys(
        &self,
        keys: &[Vec<usize>],
        rows: &TableSnapshot,
    ) -> Result<Vec<Arc<IndexHandle>>> {
        if keys.is_empty() {
            return Ok(Vec::new());
        }
        let live = LiveRows::of(rows);
        let empty = TableSnapshot::new(rows.version, Vec::new());
        let pending = PendingRows {
            count: live.count,
            row_ids: &|position| live.id(position),
            position: &|id| live.position(id),
            column: &|index| live.gather(rows, index, self.schema.columns[index].ty.clone()),
            changed: None,
            pieces: &[],
        };
        let mut made = Vec::new();
        for key in keys {
            let columns = pending.columns(key)?;
            if ascend_strictly(&columns) {
                continue;
            }
            let types: Vec<LogicalType> = key.iter().map(|c| self.schema.columns[*c].ty.clone()).collect();
            let home = (self.home.as_ref(), self.id());
            let handle = IndexHandle::empty(key, types, &self.budget, home)?;
            enter_unique(&*handle.index()?, &empty, &self.schema, &pending, key, &columns)?;
            made.push(handle);
        }
        Ok(made)
    }
}

fn enter_unique(
    index: &Index,
    snapshot: &TableSnapshot,
    schema: &TableSchema,
    pending: &PendingRows<'_>,
    key: &[usize],
    columns: &[Vector],
) -> Result<()> {
    let keys = PendingKeys { columns, row_ids: pending.row_ids, position: pending.position };
    let clash =
        index.enter(&keys, &mut |row_id, position| has_key(snapshot, row_id, key, columns, position))?;
    match clash {
        Some(clash) => Err(violation(schema, key, columns, clash.position)),
        None => Ok(()),
    }
}

/// Whether a row is live and has the key at a position of `columns`.
fn has_key(
    snapshot: &TableSnapshot,
    row_id: i64,
    key: &[usize],
    columns: &[Vector],
    position: usize,
) -> Result<bool> {
    let Some((group, row)) = snapshot.locate(row_id).filter(|(group, row)| !group.is_deleted(*row)) else {
        return Ok(false);
    };
    for (&column, value) in key.iter().zip(columns) {
        if !same(&group.segment(column)?.get(row), &value.get(position)) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether rows ascend strictly by integer key columns, so that they are distinct without a map: generated tables
/// and most files come this way. Columns of other types answer no.
fn ascend_strictly(columns: &[Vector]) -> bool {
    let Some(columns) = columns.iter().map(ascending_column).collect::<Option<Vec<_>>>() else {
        return false;
    };
    let Some((first, rest)) = columns.split_first() else { return false };
    (1..first.len()).all(|row| {
        let mut order = first[row - 1].cmp(&first[row]);
        for column in rest {
            order = order.then_with(|| column[row - 1].cmp(&column[row]));
        }
        order.is_lt()
    })
}

fn ascending_column(vector: &Vector) -> Option<Cow<'_, [i64]>> {
    if !vector.is_flat() || vector.validity().is_some() {
        return None;
    }
    match vector.physical_type() {
        PhysicalType::I64 => Some(Cow::Borrowed(vector.values())),
        PhysicalType::I32 => Some(vector.values::<i32>().iter().map(|v| i64::from(*v)).collect()),
        _ => None,
    }
}

pub(super) fn same(left: &Value, right: &Value) -> bool {
    !left.is_null() && !right.is_null() && left.total_cmp(right).is_eq()
}

pub(super) fn violation(schema: &TableSchema, columns: &[usize], values: &[Vector], row: usize) -> Error {
    let names: Vec<&str> = columns.iter().map(|c| schema.columns[*c].name.as_str()).collect();
    let mut shown = String::new();
    for (index, value) in values.iter().enumerate() {
        let value = value.get(row).to_string();
        let _ = write!(shown, "{}{}", if index > 0 { ", " } else { "" }, shortened(&value));
    }
    let key = names.join(", ");
    let table = &schema.name;
    Error::Unique { message: format!("duplicate key ({key}) violates the uniqueness of table \"{table}\"") }
        .with_values(format!(
            "duplicate key ({key}) = ({shown}) violates the uniqueness of table \"{table}\""
        ))
}

//! The one way by which the rows of a statement change: rows are claimed, tables change, and what foreign keys make of
//! it is collected; [`RowWriter::finish`] brings it to an end.

use super::foreign_keys::{LostKeys, Reference};
use super::key_set::KeySet;
use super::rows::columns_of;
use super::triggers::{Watch, rows_of};
use crate::change::load;
use crate::execute::Run;
use crate::triggers::Event;
use inlay_catalog::Table;
use inlay_storage::index::key::encode_rows;
use inlay_storage::store::{Definition, ObjectId, Transaction};
use inlay_storage::{BulkLoad, BulkUpdate, ROW_GROUP_SIZE, RowSet, TableSnapshot};
use inlay_types::{Batch, LogicalType, Result, Vector};
use std::borrow::Cow;
use std::cell::Cell;
use std::collections::VecDeque;
use std::sync::Arc;

/// From so many rows on they become row groups at once, in the file if there is one, and the log does not repeat them.
const ROWS_MANY: usize = ROW_GROUP_SIZE / 4;

/// The changes of one statement to one database.
pub(crate) struct RowWriter<'r> {
    pub run: &'r Run<'r>,
    pub database: String,
    pub transaction: Arc<Transaction>,
    /// Keys that rows of other tables may refer to and that are there no more.
    pub(super) lost: VecDeque<LostKeys>,
    /// Of `lost`, those that nothing may refer to when all is done.
    pub(super) restricted: Vec<LostKeys>,
    /// Rows whose own foreign keys are checked when all is done.
    pub(super) written: Vec<Written>,
    /// Tables with keys that are checked when all is done, and how many changes there were before.
    pub(super) keyed: Vec<(ObjectId, usize)>,
    /// Bytes of hashes of keys that the transaction was to know; see [`super::lookup::note`].
    pub(super) noted: Cell<u64>,
    /// A table that no foreign key refers to.
    pub(super) unreferenced: Option<ObjectId>,
    /// What triggers are to know.
    pub(super) watch: Watch,
}

/// Rows that were written.
pub(super) struct Written {
    pub table: ObjectId,
    pub rows: WrittenRows,
    /// The columns that changed; all of new rows.
    pub set: Option<Vec<usize>>,
}

pub(super) enum WrittenRows {
    /// All from this id on.
    From(i64),
    /// These.
    Ids(RowSet),
}

impl<'r> RowWriter<'r> {
    /// A writer for a statement that changes a database.
    pub fn new(run: &'r Run<'r>, database: &str) -> Result<Self> {
        let transaction = run.to_change(database)?;
        let watch = Watch::new(transaction.state().has_triggers());
        Ok(Self {
            watch,
            run,
            database: database.to_string(),
            transaction,
            lost: VecDeque::new(),
            restricted: Vec::new(),
            written: Vec::new(),
            keyed: Vec::new(),
            noted: Cell::new(0),
            unreferenced: None,
        })
    }

    /// The same, where it is known that no foreign key refers to a table.
    pub fn without_references_to(self, table: ObjectId) -> Self {
        Self { unreferenced: Some(table), ..self }
    }

    /// Appends rows.
    pub fn insert(&mut self, table: ObjectId, rows: &Batch) -> Result<()> {
        if rows.is_empty() {
            return Ok(());
        }
        let own = self.transaction.table_to_write(table)?;
        if rows.len() >= ROWS_MANY {
            let load = BulkLoad::new(Arc::clone(&own));
            load::push_rows(&load, 0, rows, &self.run.context())?;
            return self.insert_in_bulk(&own, load);
        }
        self.will_write(&own);
        let first = own.next_row_id();
        own.append(std::slice::from_ref(rows))?;
        self.appended(&own, first)
    }

    /// Appends the rows that were collected.
    pub fn insert_in_bulk(&mut self, table: &Table, load: BulkLoad) -> Result<()> {
        self.will_write(table);
        let first = table.next_row_id();
        load.commit()?;
        self.appended(table, first)
    }

    /// Notes that rows of a table are about to be added or changed.
    pub fn will_write(&mut self, table: &Table) {
        let is_known = || self.keyed.iter().any(|(id, _)| *id == table.id());
        if !table.schema().deferrable_keys.is_empty() && !is_known() {
            self.keyed.push((table.id(), table.change_count()));
        }
    }

    /// Notes that the rows from `first` on were appended.
    pub fn appended(&mut self, table: &Table, first: i64) -> Result<()> {
        let own = self.triggers_of(table);
        if self.watch.notes(own, table, Event::Insert, &[])? {
            let ids: Vec<i64> = (first..table.next_row_id()).collect();
            let rows = rows_of(&table.snapshot(), table, &RowSet::from(&ids[..]))?;
            self.watch.keep(self.run, (table.id(), Event::Insert), None, Some(&rows))?;
        }
        if !table.schema().foreign_keys.is_empty() {
            self.written.push(Written { table: table.id(), rows: WrittenRows::From(first), set: None });
        }
        Ok(())
    }

    /// Asks for the triggers of a table.
    fn triggers_of(&self, table: &Table) -> impl FnOnce() -> Vec<Arc<Definition>> + use<> {
        let (transaction, id) = (Arc::clone(&self.transaction), table.id());
        move || transaction.state().triggers_of(id).into_iter().cloned().collect()
    }

    /// Deletes rows; those that are gone already are passed over.
    pub fn delete(&mut self, table: ObjectId, ids: &RowSet) -> Result<u64> {
        self.transaction.claim_rows(table, ids)?;
        let own = self.transaction.table_to_write(table)?;
        let references = self.references_to(&own)?;
        let triggers = self.triggers_of(&own);
        let is_watched = self.watch.notes(triggers, &own, Event::Delete, &[])?;
        if references.is_empty() && !is_watched {
            return own.delete_rows(ids);
        }
        let snapshot = own.snapshot();
        let ids = snapshot.live(ids);
        if ids.is_empty() {
            return Ok(0);
        }
        if is_watched {
            let rows = rows_of(&snapshot, &own, &ids)?;
            self.watch.keep(self.run, (table, Event::Delete), Some(&rows), None)?;
        }
        for reference in references {
            let keys = Arc::new(keys_of(&snapshot, &own, &ids, &reference.parent_columns)?);
            self.lost.push_back(LostKeys { reference, keys, new: None });
        }
        own.delete_rows(&ids)
    }

    /// Gives rows new values in the columns `set`; `values` has them in the order of `ids`, each of which is there once.
    pub fn update(&mut self, table: ObjectId, ids: &[i64], set: &[usize], values: &Batch) -> Result<u64> {
        let (mut sorted, mut ordered) = (Cow::Borrowed(ids), values.clone());
        if !ids.is_sorted() {
            let mut order: Vec<u32> = (0..ids.len() as u32).collect();
            order.sort_unstable_by_key(|&row| ids[row as usize]);
            sorted = order.iter().map(|&row| ids[row as usize]).collect();
            ordered = values.take(&order);
        }
        let rows = RowSet::from(&*sorted);
        self.transaction.claim_rows(table, &rows)?;
        let own = self.transaction.table_to_write(table)?;
        let snapshot = own.snapshot();
        for reference in self.references_to(&own)? {
            if reference.parent_columns.iter().any(|column| set.contains(column)) {
                self.lose_changed(reference, &snapshot, &own, &sorted, set, &ordered)?;
            }
        }
        self.will_write(&own);
        let before = self.watched_before(&own, &rows, set)?;
        let count = own.update(&sorted, set, &[ordered])?;
        self.watched_after(&own, &rows, before)?;
        self.updated(&own, rows, set);
        Ok(count)
    }

    /// Notes that columns of rows were changed.
    fn updated(&mut self, table: &Table, rows: RowSet, set: &[usize]) {
        let foreign_keys = &table.schema().foreign_keys;
        if foreign_keys.iter().any(|key| key.columns.iter().any(|column| set.contains(column))) {
            let (table, rows) = (table.id(), WrittenRows::Ids(rows));
            self.written.push(Written { table, rows, set: Some(set.to_vec()) });
        }
    }

    /// Gives rows the new values that were collected.
    pub fn update_in_bulk(&mut self, update: &BulkUpdate, set: &[usize]) -> Result<u64> {
        let (rows, table) = (update.rows(), Arc::clone(update.table()));
        self.transaction.claim_rows(table.id(), &rows)?;
        self.will_write(&table);
        let before = self.watched_before(&table, &rows, set)?;
        let count = update.commit()?;
        self.watched_after(&table, &rows, before)?;
        self.updated(&table, rows, set);
        Ok(count)
    }

    /// Rows before they change, if triggers ask for them.
    fn watched_before(&mut self, table: &Table, rows: &RowSet, set: &[usize]) -> Result<Option<Batch>> {
        let triggers = self.triggers_of(table);
        if !self.watch.notes(triggers, table, Event::Update, set)? {
            return Ok(None);
        }
        rows_of(&table.snapshot(), table, rows).map(Some)
    }

    fn watched_after(&mut self, table: &Table, rows: &RowSet, before: Option<Batch>) -> Result<()> {
        let Some(old) = before else { return Ok(()) };
        let new = rows_of(&table.snapshot(), table, rows)?;
        self.watch.keep(self.run, (table.id(), Event::Update), Some(&old), Some(&new))
    }

    /// Notes the keys that an update changes.
    fn lose_changed(
        &mut self,
        reference: Reference,
        snapshot: &TableSnapshot,
        table: &Table,
        ids: &[i64],
        set: &[usize],
        values: &Batch,
    ) -> Result<()> {
        let old = gathered(snapshot, table, ids, &reference.parent_columns)?;
        let mut new = old.clone();
        for (column, value) in reference.parent_columns.iter().zip(&mut new) {
            if let Some(position) = set.iter().position(|changed| changed == column) {
                *value = values.column(position).clone();
            }
        }
        let (before, after) = (encode_rows(&old)?, encode_rows(&new)?);
        let changed = |&row: &u32| {
            !before.has_null(row as usize) && before.key(row as usize) != after.key(row as usize)
        };
        let rows: Vec<u32> = (0..ids.len() as u32).filter(changed).collect();
        if rows.is_empty() {
            return Ok(());
        }
        let taken = |columns: &[Vector]| columns.iter().map(|column| column.take(&rows)).collect::<Vec<_>>();
        let keys = Arc::new(KeySet::of(taken(&old))?);
        self.lost.push_back(LostKeys { reference, keys, new: Some(taken(&new)) });
        Ok(())
    }
}

/// Some columns of rows, ids ascending.
pub(super) fn gathered(
    snapshot: &TableSnapshot,
    table: &Table,
    ids: &[i64],
    columns: &[usize],
) -> Result<Vec<Vector>> {
    let gather = |&column: &usize| snapshot.gather(ids, column, table.schema().columns[column].ty.clone());
    columns.iter().map(gather).collect()
}

/// The keys that rows have in some columns.
pub(super) fn keys_of(
    snapshot: &TableSnapshot,
    table: &Table,
    rows: &RowSet,
    columns: &[usize],
) -> Result<KeySet> {
    let parts = rows.parts().map(|ids| gathered(snapshot, table, &ids, columns));
    KeySet::of_parts(&key_types(table, columns), parts)
}

/// The types of some columns.
pub(super) fn key_types(table: &Table, columns: &[usize]) -> Vec<LogicalType> {
    columns.iter().map(|&column| table.schema().columns[column].ty.clone()).collect()
}

/// All columns of rows, ids ascending.
pub(super) fn whole_rows(snapshot: &TableSnapshot, table: &Table, ids: &[i64]) -> Result<Batch> {
    snapshot.rows(ids, &types_of(table))
}

/// The types of a table's columns.
pub(crate) fn types_of(table: &Table) -> Vec<LogicalType> {
    table.schema().columns.iter().map(|column| column.ty.clone()).collect()
}

/// The columns of a key of rows.
pub(super) fn key_of(rows: &Batch, key: &[usize]) -> Vec<Vector> {
    columns_of(rows, key)
}

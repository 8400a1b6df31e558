//! Rows that a transaction appends one by one, before they are a chunk of the table.
//!
//! An INSERT of one row makes a chunk of one row, joined with those before: a segment with its zone map for each column, a snapshot, and
//! a change to log. Inside of a transaction the next statement is most often another one like it, so rows are collected here, column
//! by column, and become one chunk and one change when somebody looks at the table. All who look come by [`Table::locked`] or
//! [`Table::snapshot`], which settle open rows first.
//!
//! ```text
//! append_row -> keys -> OpenRows, a builder for each column --somebody looks, or it is full--> a chunk of the tail, Change::Append
//! ```
//! What always holds
//! - Open rows are private to a transaction, whose statements run one at a time: those of forks, and of tables that it made. No committed
//!   version has any, as its changes are asked for before, which settles them.
//! - A row that was taken has passed all that rows have to pass: types, NOT NULL, keys. Nothing refuses it later, so a statement that
//!   appends one row is done or not done without a savepoint.
//! - Each key is entered in its index, or known to be free, as its first value lies outside of those of all rows before ([`Ends`]): keys
//!   that count up or down need no index. Where neither can be told, rows are appended as batches, which make the index.
//! - Indexes that were made meanwhile, for older snapshots, do not know open rows; they are forgotten when these are settled.
//! - Settling fails neither for lack of memory nor by an interrupt: memory for open rows was asked for when they came. If there is none
//!   to join them with the chunk before them, they are a chunk of their own in it.

use super::append::Piece;
use super::indexes::IndexHandle;
use super::keys::{same, violation};
use super::{Change, Table, TableSnapshot, Writer};
use crate::column::Column;
use crate::index::{Index, PendingKeys};
use crate::row_group::{ROW_GROUP_SIZE, RowGroup};
use crate::schema::Deferral;
use crate::segment::Segment;
use inlay_types::limits::{self, Limits};
use inlay_types::{
    Batch, Error, Interrupt, LogicalType, MemoryBudget, PhysicalType, Reservation, Result, VECTOR_SIZE,
    Value, Vector, VectorBuilder,
};
use std::cmp::Ordering as Order;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Rows, and bytes of them, that become a chunk.
const ROWS_MAX: usize = 2 * VECTOR_SIZE;
const BYTES_MAX: u64 = 1 << 20;
/// Room for so many rows is made at first: the next one may be a look at the table.
const ROWS_MIN: usize = 16;
/// Memory is asked for in pieces of so many bytes.
const BYTES_STEP: u64 = 1 << 16;
/// A key that could not be told to be free so often gets an index.
const REFUSALS_MAX: u32 = 8;

/// See the module documentation.
#[derive(Debug)]
pub(super) struct OpenRows {
    first_id: i64,
    columns: Vec<VectorBuilder>,
    keys: Vec<OpenKey>,
    /// Indexes that are no keys.
    others: Vec<Arc<Index>>,
    /// All indexes that the rows are in.
    entered: Vec<Arc<IndexHandle>>,
    /// Bytes of the rows about, and memory for twice as many: as rows, and as the chunk that they become.
    bytes: u64,
    held: Reservation,
}

/// A key that is checked with each row.
#[derive(Debug)]
struct OpenKey {
    columns: Vec<usize>,
    way: Way,
}

/// How it is told that a key is free.
#[derive(Debug)]
enum Way {
    Ends(Ends),
    /// With the keys of open rows, one behind the other.
    Index(Arc<Index>, Vec<Value>),
}

/// Of the values of a column that are not NULL, the least and the greatest or what lies beyond them; `None` if there are no values.
#[derive(Debug)]
struct Ends(Option<(Value, Value)>);

/// What became of a row.
enum Taken {
    Yes,
    /// The key at this position among all keys of the table could not be told to be free.
    Unknown(usize),
}

impl Ends {
    /// Of a column of a table; `None` if its zone maps do not tell.
    fn of(snapshot: &TableSnapshot, column: usize) -> Option<Self> {
        let mut ends = Self(None);
        for group in snapshot.row_groups() {
            let zone = group.column(column).zone_map();
            if zone.has_value {
                let (min, max) = (zone.min.as_ref()?, zone.max.as_ref()?);
                ends.widen(min);
                ends.widen(max);
            }
        }
        Some(ends)
    }

    /// Takes a value in; whether it lies outside of all before.
    fn widen(&mut self, value: &Value) -> bool {
        let Some((low, high)) = &mut self.0 else {
            self.0 = Some((value.clone(), value.clone()));
            return true;
        };
        if value.total_cmp(high) == Order::Greater {
            high.clone_from(value);
            return true;
        }
        let is_below = value.total_cmp(low) == Order::Less;
        if is_below {
            low.clone_from(value);
        }
        is_below
    }
}

impl OpenRows {
    /// No rows yet. The position of a key instead that cannot be told to be free.
    fn begin(
        table: &Table,
        writer: &Writer,
        snapshot: &TableSnapshot,
    ) -> Result<std::result::Result<Self, usize>> {
        let wanting = table.wanting(writer, snapshot);
        let mut keys = Vec::with_capacity(table.keys.len());
        for (position, columns) in table.keys.iter().enumerate() {
            let way = match table.indexes.index(columns, &wanting, false)? {
                Some(index) if index.is_bloated(snapshot.row_count() as u64) => return Ok(Err(position)),
                Some(index) => Way::Index(index, Vec::new()),
                None => {
                    let first = &table.schema.columns[columns[0]].ty;
                    let counts = matches!(first.physical(), PhysicalType::I32 | PhysicalType::I64);
                    match Ends::of(snapshot, columns[0]).filter(|_| counts) {
                        Some(ends) => Way::Ends(ends),
                        None => return Ok(Err(position)),
                    }
                }
            };
            keys.push(OpenKey { columns: columns.clone(), way });
        }
        let entered = table.indexes.maintained();
        let is_key = |handle: &&Arc<IndexHandle>| table.keys.iter().any(|key| key == handle.columns());
        let others = entered.iter().filter(|handle| !is_key(handle)).map(|handle| handle.index());
        let others = others.collect::<Result<_>>()?;
        let column = |column: &crate::schema::ColumnSchema| VectorBuilder::new(column.ty.clone(), ROWS_MIN);
        let columns = table.schema.columns.iter().map(column).collect();
        let held = table.budget.reserve(0)?;
        Ok(Ok(Self { first_id: writer.next_row_id, columns, keys, others, entered, bytes: 0, held }))
    }

    pub fn len(&self) -> usize {
        self.columns.first().map_or(0, VectorBuilder::len)
    }

    fn is_full(&self) -> bool {
        self.len() >= ROWS_MAX || self.bytes >= BYTES_MAX
    }

    /// Checks the row, which has values of the table's types, and adds it.
    fn take(&mut self, table: &Table, snapshot: &TableSnapshot, row: &[&Value]) -> Result<Taken> {
        let size = |value: &&Value| {
            if let Value::Varchar(text) | Value::Json(text) = value {
                text.len() as u64
            } else if let Value::Blob(bytes) | Value::Bit(bytes) = value {
                bytes.len() as u64
            } else {
                0
            }
        };
        let bytes = self.bytes + row.iter().map(|value| 16 + size(value)).sum::<u64>();
        if 2 * bytes > self.held.bytes() {
            self.held.resize((4 * bytes).next_multiple_of(BYTES_STEP))?;
        }
        let (id, first_id) = (self.first_id + self.len() as i64, self.first_id);
        for (position, key) in self.keys.iter_mut().enumerate() {
            match &mut key.way {
                // NULL is equal to nothing.
                Way::Ends(_) if key.columns.iter().any(|column| row[*column].is_null()) => {}
                Way::Ends(ends) => {
                    if !ends.widen(row[key.columns[0]]) {
                        return Ok(Taken::Unknown(position));
                    }
                }
                Way::Index(index, open) => {
                    enter_key(table, snapshot, (index, open, first_id), &key.columns, (id, row))?;
                }
            }
        }
        for index in &self.others {
            index.insert_rows(&vectors(table, &index.def().columns, row)?, &|_| id)?;
        }
        for key in &mut self.keys {
            if let Way::Index(_, open) = &mut key.way {
                open.extend(key.columns.iter().map(|column| row[*column].clone()));
            }
        }
        for (column, value) in self.columns.iter_mut().zip(row) {
            column.push(value)?;
        }
        self.bytes = bytes;
        Ok(Taken::Yes)
    }
}

/// Enters a row's key in its index; fails if another row has it.
fn enter_key(
    table: &Table,
    snapshot: &TableSnapshot,
    (index, open, first_id): (&Index, &[Value], i64),
    key: &[usize],
    (id, row): (i64, &[&Value]),
) -> Result<()> {
    let columns = vectors(table, key, row)?;
    let pending =
        PendingKeys { columns: &columns, row_ids: &|_| id, position: &|other| (other == id).then_some(0) };
    let has_key = |other: i64| {
        let at = usize::try_from(other - first_id).ok();
        if let Some(values) = at.and_then(|at| open.get(at * key.len()..(at + 1) * key.len())) {
            return Ok(values.iter().zip(key).all(|(value, column)| same(value, row[*column])));
        }
        let Some((group, at)) = snapshot.locate(other).filter(|(group, at)| !group.is_deleted(*at)) else {
            return Ok(false);
        };
        for column in key {
            if !same(&group.segment(*column)?.get(at), row[*column]) {
                return Ok(false);
            }
        }
        Ok(true)
    };
    match index.enter(&pending, &mut |other, _| has_key(other))? {
        Some(_) => Err(violation(&table.schema, key, &columns, 0)),
        None => Ok(()),
    }
}

/// Some columns of a row, as vectors of one row.
fn vectors(table: &Table, columns: &[usize], row: &[&Value]) -> Result<Vec<Vector>> {
    let vector = |column: &usize| {
        let ty = table.schema.columns[*column].ty.clone();
        Vector::from_sql_values(ty, std::slice::from_ref(row[*column]))
    };
    columns.iter().map(vector).collect()
}

/// Whether a value is of a type, or NULL.
fn is_of(value: &Value, ty: &LogicalType) -> bool {
    match (value, ty) {
        (Value::Null, _)
        | (Value::Integer(_), LogicalType::Integer)
        | (Value::BigInt(_), LogicalType::BigInt)
        | (Value::Double(_), LogicalType::Double)
        | (Value::Varchar(_), LogicalType::Varchar) => true,
        (value, ty) => value.logical_type() == *ty,
    }
}

impl Table {
    /// Appends a row, a value of each column's type; `false`, and nothing is done, if it has to be appended as a batch.
    pub fn append_row(&self, row: &[&Value]) -> Result<bool> {
        let mut writer = self.writer.lock();
        if let Some(failure) = &writer.failure {
            return Err(failure.clone());
        }
        let columns = &self.schema.columns;
        if row.len() != columns.len()
            || self.keys.iter().any(|key| self.schema.deferral(key) != Deferral::Never)
        {
            return Ok(false);
        }
        for (value, column) in row.iter().zip(columns) {
            if column.not_null && value.is_null() {
                return Err(self.null_in(&column.name));
            }
            if !is_of(value, &column.ty) || column.ty.is_nested() {
                return Ok(false);
            }
        }
        let snapshot = Arc::clone(&self.current.read());
        let unknown = match self.take_row(&mut writer, &snapshot, row) {
            Ok(None) => return Ok(true),
            Ok(Some(unknown)) => unknown,
            // A batch needs less, and what was open is settled.
            Err(Error::OutOfMemory { .. }) if writer.failure.is_none() => return Ok(false),
            Err(error) => return Err(error),
        };
        writer.refusals += 1;
        if writer.refusals < REFUSALS_MAX {
            return Ok(false);
        }
        // What was open is settled.
        let snapshot = Arc::clone(&self.current.read());
        match self.indexes.index(&self.keys[unknown], &self.wanting(&writer, &snapshot), true) {
            Err(Error::OutOfMemory { .. }) => return Ok(false),
            made => made?,
        };
        Ok(self.take_row(&mut writer, &snapshot, row)?.is_none())
    }

    /// Adds a row to the open ones. If one of its keys cannot be told to be free, these are settled, and the answer is its position.
    fn take_row(
        &self,
        writer: &mut Writer,
        snapshot: &TableSnapshot,
        row: &[&Value],
    ) -> Result<Option<usize>> {
        if writer.open.is_none() {
            match OpenRows::begin(self, writer, snapshot)? {
                Ok(open) => writer.open = Some(open),
                Err(unknown) => return Ok(Some(unknown)),
            }
        }
        let Some(open) = &mut writer.open else {
            return Err(Error::internal("open rows that are not there"));
        };
        let taken = open.take(self, snapshot, row);
        let (is_full, has_rows) = (open.is_full(), open.len() > 0);
        self.has_open.store(has_rows, Ordering::Release);
        match taken {
            // No memory for more rows beside those.
            Err(error) => {
                if matches!(error, Error::OutOfMemory { .. }) {
                    self.settle(writer);
                }
                Err(error)
            }
            Ok(Taken::Yes) => {
                if is_full {
                    self.settle(writer);
                    if let Some(failure) = &writer.failure {
                        return Err(failure.clone());
                    }
                }
                Ok(None)
            }
            Ok(Taken::Unknown(key)) => {
                self.settle(writer);
                Ok(Some(key))
            }
        }
    }

    /// Makes open rows a chunk of the table.
    pub(super) fn settle(&self, writer: &mut Writer) {
        let Some(mut open) = writer.open.take() else { return };
        self.has_open.store(false, Ordering::Release);
        let (len, first_id) = (open.len(), open.first_id);
        if len == 0 {
            return;
        }
        let is_unknown =
            |handle: &&Arc<IndexHandle>| !open.entered.iter().any(|known| Arc::ptr_eq(known, handle));
        self.indexes
            .maintained()
            .iter()
            .filter(is_unknown)
            .for_each(|handle| self.indexes.forget(handle.columns()));
        let mut columns: Vec<Vector> = open.columns.into_iter().map(VectorBuilder::finish).collect();
        // Less than before, which nothing refuses. The rows stay until they are logged.
        if let (Ok(()), Some(first)) = (open.held.resize(open.bytes), columns.first_mut()) {
            first.hold(Some(open.held));
        }
        let pieces: Arc<[Piece]> = Arc::from([Piece::Raw(Batch::new(columns, len))]);
        let snapshot = Arc::clone(&self.current.read());
        if self.add_pieces(writer, &snapshot, &pieces, ROW_GROUP_SIZE).is_ok() {
            return;
        }
        match Self::chunk_of(&pieces, first_id) {
            Ok(chunk) => {
                let mut groups = snapshot.groups.to_vec();
                groups.push(Arc::new(chunk));
                writer.next_row_id = first_id + len as i64;
                writer.changes.push(Change::Append { first_id, pieces });
                self.publish(writer, TableSnapshot::new(0, groups));
            }
            // A defect of ours, which COMMIT tells.
            Err(failure) => writer.failure = Some(failure),
        }
    }

    /// A chunk of rows in memory that was asked for already.
    fn chunk_of(pieces: &[Piece], first_id: i64) -> Result<RowGroup> {
        let [Piece::Raw(batch)] = pieces else { return Err(Error::internal("open rows that are no batch")) };
        let asked = MemoryBudget::unlimited();
        let column = |column: &Vector| Ok(Column::new(Segment::encode_for(column, false, &asked)?));
        // Neither the statement's limits nor its interrupt undo what was done.
        let limits = Limits::new(asked.clone(), Interrupt::default());
        let columns = limits::with(limits, || batch.columns().iter().map(column).collect::<Result<_>>())?;
        Ok(RowGroup::new(columns, batch.len(), first_id, false))
    }

    /// Fails if rows that were taken are not there.
    pub(crate) fn check_settled(&self) -> Result<()> {
        self.locked().failure.clone().map_or(Ok(()), Err)
    }
}

#[cfg(test)]
mod tests;

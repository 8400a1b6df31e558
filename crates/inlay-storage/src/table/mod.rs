//! A table: its rows as of one version, and the changes that make the next one.
//!
//! A committed version is shared and never changes again. A transaction works on a fork of it, which records what is
//! done to it ([`Change`]), so that commit can log it, check it against what others committed meanwhile, and do it again
//! to a newer version. Deletes mark rows, updates lay a few new values over a segment or encode it again; both copy only
//! what they touch.
//!
//! Invariants
//! - Row groups are ordered by row id and do not overlap. Ids may have gaps; an id stands for one row until its row
//!   group is compacted.
//! - A snapshot never changes. Versions only grow.

mod append;
mod change;
mod compact;
mod found_keys;
pub(crate) mod indexes;
mod key_rounds;
mod keys;
mod lookup;
mod narrow;
mod open_rows;
mod rows;
#[cfg(test)]
mod tests;
mod update;
mod value_index;

pub use append::Piece;
pub use change::{Alteration, Change, ColumnSource, Rewritten, Touched};
pub(crate) use indexes::{IndexHandle, object_ptr};

use crate::home::Home;
use crate::hyperloglog::HyperLogLog;
use crate::resident::WholeColumns;
use crate::row_group::{ROW_GROUP_SIZE, RowGroup};
use crate::row_set::RowSet;
use crate::schema::TableSchema;
use crate::statistics::{Sample, StoredStatistics, TableStatistics, altered_sketches};
use append::{GroupList, pieces_column};
use indexes::TableIndexes;
use inlay_types::{Batch, Error, LogicalType, MemoryBudget, Result, VECTOR_SIZE, Vector};
use keys::PendingRows;
use open_rows::OpenRows;
use parking_lot::{Mutex, MutexGuard, RwLock};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
pub(crate) use update::REWRITTEN_MIN;

/// From this many rows on what is loaded into an empty table is encoded.
const LOADED_ROWS_MIN: usize = VECTOR_SIZE;

/// The rows of a table at one moment.
#[derive(Debug)]
pub struct TableSnapshot {
    version: u64,
    groups: Arc<[Arc<RowGroup>]>,
    live_rows: usize,
    total_rows: u64,
    whole: WholeColumns,
}

impl TableSnapshot {
    pub(crate) fn new(version: u64, groups: Vec<Arc<RowGroup>>) -> Self {
        let live_rows = groups.iter().map(|g| g.live_count()).sum();
        let total_rows = groups.iter().map(|g| g.len() as u64).sum();
        Self { version, groups: Arc::from(groups), live_rows, total_rows, whole: WholeColumns::default() }
    }

    /// The same with another row group in the place of one of as many rows, of which as many are live.
    fn with_group(&self, index: usize, group: Arc<RowGroup>) -> Self {
        let at = |position: usize| if position == index { &group } else { &self.groups[position] };
        Self {
            version: 0,
            groups: (0..self.groups.len()).map(|position| Arc::clone(at(position))).collect(),
            live_rows: self.live_rows,
            total_rows: self.total_rows,
            whole: WholeColumns::default(),
        }
    }

    /// The version of the table that this is.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// What was found out about its columns when they were exported.
    pub(crate) fn whole_columns(&self) -> &WholeColumns {
        &self.whole
    }

    /// The row groups in row order.
    pub fn row_groups(&self) -> &[Arc<RowGroup>] {
        &self.groups
    }

    /// Number of live rows.
    pub fn row_count(&self) -> usize {
        self.live_rows
    }

    /// Number of rows, deleted ones included.
    pub fn total_rows(&self) -> u64 {
        self.total_rows
    }

    /// The row group of a row id and the position there; `None` if there is no such row (any more).
    pub fn locate(&self, row_id: i64) -> Option<(&Arc<RowGroup>, usize)> {
        let index = self.group_of(row_id)?;
        Some((&self.groups[index], (row_id - self.groups[index].row_id_start()) as usize))
    }

    /// Whether a row is there and not deleted.
    pub fn is_live(&self, row_id: i64) -> bool {
        self.locate(row_id).is_some_and(|(group, row)| !group.is_deleted(row))
    }

    /// Numbers of the row groups that rows may lie in.
    fn groups_of(&self, ids: &RowSet) -> Range<usize> {
        let (Some(first), Some(last)) = (ids.first(), ids.last()) else { return 0..0 };
        let from = self.groups.partition_point(|group| group.row_ids().end <= first);
        from..self.groups.partition_point(|group| group.row_id_start() <= last).max(from)
    }

    pub(crate) fn group_of(&self, row_id: i64) -> Option<usize> {
        let after = self.groups.partition_point(|g| g.row_id_start() <= row_id);
        let index = after.checked_sub(1)?;
        self.groups[index].row_ids().contains(&row_id).then_some(index)
    }

    /// Bytes of all segments that are in memory.
    pub fn memory_size(&self) -> usize {
        self.groups.iter().flat_map(|g| g.columns()).map(|column| column.memory_size()).sum()
    }
}

/// What only the writer whose turn it is touches.
#[derive(Debug)]
struct Writer {
    next_version: u64,
    next_row_id: i64,
    /// What was done since the fork.
    changes: Vec<Change>,
    /// Rows at the end that are not in the snapshot yet, nor among the changes.
    open: Option<OpenRows>,
    /// Rows that could not be taken as open ones.
    refusals: u32,
    /// Why rows that were taken are not there.
    failure: Option<Error>,
}

impl Writer {
    fn new(next_version: u64, next_row_id: i64) -> Self {
        Self { next_version, next_row_id, changes: Vec::new(), open: None, refusals: 0, failure: None }
    }
}

/// How a table was at a moment of its transaction; see [`Table::rewind`].
#[derive(Clone, Debug)]
pub struct Mark {
    snapshot: Arc<TableSnapshot>,
    next_row_id: i64,
    changes: usize,
}

/// A table. See the module documentation.
#[derive(Debug)]
pub struct Table {
    id: u64,
    schema: Arc<TableSchema>,
    keys: Arc<[Vec<usize>]>,
    budget: MemoryBudget,
    /// Where its segments can be stored; absent for a table in memory.
    home: Option<Arc<Home>>,
    current: RwLock<Arc<TableSnapshot>>,
    writer: Mutex<Writer>,
    /// Whether the writer has open rows, which are settled before anybody looks.
    has_open: AtomicBool,
    indexes: Arc<TableIndexes>,
    /// Of the version given.
    statistics: Mutex<CachedStatistics>,
    /// Of an earlier version or of the table that this one was altered from, in this one's columns.
    sample: Option<Sample>,
    /// Of each column, the distinct values of its segments that the file's statistics cover; absent if no such statistics
    /// are known.
    sketches: Option<Arc<[HyperLogLog]>>,
    /// Whether the file has no statistics that fit the table, although it has the table.
    lacks_statistics: AtomicBool,
}

/// Statistics and the version that they describe.
type CachedStatistics = Option<(u64, Arc<TableStatistics>)>;

impl Table {
    /// An empty table in memory, which belongs to no database, that takes its memory from `budget`.
    pub fn new(schema: TableSchema, budget: MemoryBudget) -> Self {
        Self::create(0, schema, budget, None)
    }

    /// An empty table with an id of its database.
    pub(crate) fn create(
        id: u64,
        schema: TableSchema,
        budget: MemoryBudget,
        home: Option<Arc<Home>>,
    ) -> Self {
        let keys = schema.all_keys().into();
        let writer = Writer::new(1, 0);
        Self {
            id,
            schema: Arc::new(schema),
            keys,
            budget,
            home,
            current: RwLock::new(Arc::new(TableSnapshot::new(0, Vec::new()))),
            writer: Mutex::new(writer),
            has_open: AtomicBool::new(false),
            indexes: Arc::new(TableIndexes::new(0)),
            statistics: Mutex::default(),
            sample: None,
            sketches: None,
            lacks_statistics: AtomicBool::new(false),
        }
    }

    /// A table as the file has it. Without statistics they are made when someone asks for them, from all segments.
    pub(crate) fn from_file(
        id: u64,
        schema: Arc<TableSchema>,
        home: Arc<Home>,
        groups: Vec<Arc<RowGroup>>,
        next_row_id: i64,
        statistics: Option<StoredStatistics>,
        indexes: Vec<Arc<IndexHandle>>,
    ) -> Self {
        let keys = schema.all_keys().into();
        let writer = Writer::new(2, next_row_id);
        let snapshot = TableSnapshot::new(1, groups);
        let lacks_statistics = AtomicBool::new(statistics.is_none());
        let (sketches, sample) = match statistics {
            Some(StoredStatistics { sketches, sample, sampled_rows }) => {
                let sketches: Arc<[HyperLogLog]> = sketches.into();
                (Some(sketches), Some(Sample { rows: sample, of_rows: sampled_rows }))
            }
            None => (None, None),
        };
        let cached = sketches.as_deref().and_then(|sketches| {
            TableStatistics::of(&snapshot, &schema, Some(sketches), sample.clone()).ok()
        });
        Self {
            id,
            schema,
            keys,
            budget: home.budget().clone(),
            home: Some(home),
            current: RwLock::new(Arc::new(snapshot)),
            writer: Mutex::new(writer),
            has_open: AtomicBool::new(false),
            indexes: Arc::new(TableIndexes::from_file(1, indexes)),
            statistics: Mutex::new(cached.map(|statistics| (1, Arc::new(statistics)))),
            sample,
            sketches,
            lacks_statistics,
        }
    }

    /// Number in its database, which it keeps under any name; 0 outside of one.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Where its segments can be stored.
    pub(crate) fn home(&self) -> Option<&Arc<Home>> {
        self.home.as_ref()
    }

    /// Columns and constraints.
    pub fn schema(&self) -> &TableSchema {
        &self.schema
    }

    /// Whether neither was altered since the other one.
    pub(crate) fn has_schema_of(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.schema, &other.schema)
    }

    /// The budget that the table's memory comes from.
    pub fn budget(&self) -> &MemoryBudget {
        &self.budget
    }

    /// The rows as they are now. Cheap; later changes do not show in it.
    pub fn snapshot(&self) -> Arc<TableSnapshot> {
        if self.has_open.load(Ordering::Acquire) {
            drop(self.locked());
        }
        Arc::clone(&self.current.read())
    }

    /// The writer, with no rows open.
    fn locked(&self) -> MutexGuard<'_, Writer> {
        let mut writer = self.writer.lock();
        self.settle(&mut writer);
        writer
    }

    /// Grows with every change.
    pub fn version(&self) -> u64 {
        self.snapshot().version
    }

    /// Number of live rows.
    pub fn row_count(&self) -> usize {
        self.snapshot().live_rows
    }

    /// Whether structs of some rows are stored by their fields, which files have from a version of their format on.
    pub(crate) fn has_fields(&self) -> bool {
        let columns = self.schema.columns.iter().enumerate();
        let structs = columns.filter(|(_, column)| matches!(column.ty, LogicalType::Struct(_)));
        let structs: Vec<usize> = structs.map(|(index, _)| index).collect();
        let has_fields = |index: &usize, group: &RowGroup| !group.column(*index).meta().fields.is_empty();
        !structs.is_empty()
            && self.snapshot().groups.iter().any(|group| structs.iter().any(|index| has_fields(index, group)))
    }

    /// Statistics of the current version; cached. Makes them from segments, which may read the file.
    pub fn statistics(&self) -> Result<Arc<TableStatistics>> {
        let snapshot = self.snapshot();
        let mut cached = self.statistics.lock();
        if let Some((version, statistics)) = &*cached
            && *version == snapshot.version
        {
            return Ok(Arc::clone(statistics));
        }
        let earlier = cached.as_ref().map(|(_, statistics)| statistics.sample());
        let earlier = earlier.or_else(|| self.sample.clone());
        let statistics = TableStatistics::of(&snapshot, &self.schema, self.sketches.as_deref(), earlier)?;
        let statistics = Arc::new(statistics);
        *cached = Some((snapshot.version, Arc::clone(&statistics)));
        Ok(statistics)
    }

    /// Statistics of a snapshot of the current version as a file keeps them.
    pub(crate) fn statistics_to_store(&self, snapshot: &TableSnapshot) -> Result<StoredStatistics> {
        self.statistics()?.to_store(snapshot, self.sketches.as_deref())
    }

    /// Whether the file that has the table has no statistics of it.
    pub(crate) fn lacks_statistics(&self) -> bool {
        self.lacks_statistics.load(Ordering::Acquire)
    }

    /// Notes that the file has statistics of the table.
    pub(crate) fn set_has_statistics(&self) {
        self.lacks_statistics.store(false, Ordering::Release);
    }

    /// The sample that later statistics are to take over.
    fn newest_sample(&self) -> Option<Sample> {
        let cached = self.statistics.lock();
        cached.as_ref().map(|(_, statistics)| statistics.sample()).or_else(|| self.sample.clone())
    }

    /// Makes the table what it was at an earlier snapshot of it, in constant time. Row ids are not used again.
    pub fn restore(&self, snapshot: &TableSnapshot) {
        let mut writer = self.locked();
        self.indexes.go_back_to(snapshot.version);
        self.publish(
            &mut writer,
            TableSnapshot {
                version: 0,
                groups: Arc::clone(&snapshot.groups),
                live_rows: snapshot.live_rows,
                total_rows: snapshot.total_rows,
                whole: WholeColumns::default(),
            },
        );
    }

    /// A table of its own with the rows of this one, in constant time; what either does later, the other does not see.
    pub fn fork(&self) -> Self {
        let writer = self.locked();
        let snapshot = self.snapshot();
        let indexes = self.indexes.fork(&snapshot, &self.keys);
        Self {
            statistics: Mutex::new(self.statistics.lock().clone()),
            sample: self.sample.clone(),
            sketches: self.sketches.clone(),
            ..self.fork_with(Arc::clone(&self.schema), Arc::clone(&self.keys), &writer, snapshot, indexes)
        }
    }

    /// A fork with the columns that an alteration makes, but the rows of this table still.
    fn fork_altered(
        &self,
        alteration: &Alteration,
        writer: &Writer,
        snapshot: Arc<TableSnapshot>,
        indexes: TableIndexes,
    ) -> Result<Self> {
        let (schema, columns) = (Arc::new(alteration.schema.clone()), &alteration.columns);
        let keys = schema.all_keys().into();
        let sample = match self.newest_sample() {
            Some(sample) => sample.altered(columns, &schema)?,
            None => None,
        };
        let sketches = self.sketches.as_deref().map(|before| altered_sketches(before, columns).into());
        Ok(Self { sample, sketches, ..self.fork_with(schema, keys, writer, snapshot, indexes) })
    }

    /// A fork that knows no statistics: whether they fit depends on its columns.
    fn fork_with(
        &self,
        schema: Arc<TableSchema>,
        keys: Arc<[Vec<usize>]>,
        writer: &Writer,
        snapshot: Arc<TableSnapshot>,
        indexes: TableIndexes,
    ) -> Self {
        Self {
            id: self.id,
            schema,
            keys,
            budget: self.budget.clone(),
            home: self.home.clone(),
            current: RwLock::new(snapshot),
            writer: Mutex::new(Writer::new(writer.next_version, writer.next_row_id)),
            has_open: AtomicBool::new(false),
            indexes: Arc::new(indexes),
            statistics: Mutex::default(),
            sample: None,
            sketches: None,
            lacks_statistics: AtomicBool::new(false),
        }
    }

    /// What was done since the fork.
    pub fn changes(&self) -> Vec<Change> {
        self.locked().changes.clone()
    }

    /// Whether anything was done since the fork.
    pub fn is_changed(&self) -> bool {
        let writer = self.writer.lock();
        let has_open = writer.open.as_ref().is_some_and(|open| open.len() > 0);
        has_open || !writer.changes.is_empty() || writer.failure.is_some()
    }

    /// Forgets what was done since the fork, once it is committed.
    pub(crate) fn forget_changes(&self) {
        let mut writer = self.locked();
        self.indexes.settle(&self.wanting(&writer, &self.snapshot()));
        writer.changes = Vec::new();
    }

    /// Says that lookups by these columns are wanted.
    pub(crate) fn add_secondary_index(&self, columns: &[usize]) {
        self.indexes.add_secondary(columns);
    }

    /// Says that lookups by these columns are no longer wanted.
    pub(crate) fn remove_secondary_index(&self, columns: &[usize]) {
        self.indexes.remove_secondary(columns);
    }

    /// Whether an index that was asked for begins with a column; keys aside.
    pub fn has_index_from(&self, column: usize) -> bool {
        self.indexes.secondary().iter().any(|columns| columns.first() == Some(&column))
    }

    /// The indexes that are complete for the table as it is now.
    pub(crate) fn index_handles(&self) -> Vec<Arc<IndexHandle>> {
        self.indexes.maintained()
    }

    /// Where the file has the pages of the table's indexes.
    pub fn index_pages(&self) -> Result<Vec<crate::file::ObjectPtr>> {
        let mut pages = Vec::new();
        for handle in self.index_handles() {
            pages.extend(handle.pages()?.into_iter().map(object_ptr));
        }
        Ok(pages)
    }

    /// Takes stale entries out of indexes that nobody else uses. Forks wait meanwhile.
    pub(crate) fn vacuum_indexes(&self) -> Result<()> {
        let writer = self.locked();
        self.indexes.vacuum(&self.wanting(&writer, &self.snapshot()))
    }

    /// The id that the next row gets.
    pub fn next_row_id(&self) -> i64 {
        self.locked().next_row_id
    }

    /// How the table is now, to come back to.
    pub fn mark(&self) -> Mark {
        let writer = self.locked();
        Mark { snapshot: self.snapshot(), next_row_id: writer.next_row_id, changes: writer.changes.len() }
    }

    /// Undoes what was done since a mark of this table.
    pub fn rewind(&self, mark: &Mark) {
        self.restore(&mark.snapshot);
        let mut writer = self.locked();
        writer.next_row_id = mark.next_row_id;
        writer.changes.truncate(mark.changes);
    }

    /// Appends rows, all or none. Columns are those of the schema, in order.
    pub fn append(&self, batches: &[Batch]) -> Result<()> {
        let batches = batches.iter().map(|b| self.checked(b)).collect::<Result<Vec<Batch>>>()?;
        let mut writer = self.locked();
        let pieces = batches.into_iter().filter(|b| !b.is_empty()).map(Piece::Raw).collect();
        self.append_pieces(&mut writer, pieces, false)
    }

    /// Appends encoded row groups and raw rows in this order; the end of a bulk load.
    pub(crate) fn append_bulk(&self, pieces: Vec<Piece>) -> Result<()> {
        self.append_pieces(&mut self.locked(), pieces, true)
    }

    /// A batch with columns of exactly the schema's types; fails for NULLs in NOT NULL columns.
    pub(crate) fn checked(&self, batch: &Batch) -> Result<Batch> {
        let table = &self.schema.name;
        if batch.columns().len() != self.schema.columns.len() {
            let (found, wanted) = (batch.columns().len(), self.schema.columns.len());
            return Err(Error::internal(format!("{found} columns for the {wanted} of table \"{table}\"")));
        }
        let columns = batch.columns().iter().enumerate().map(|(i, c)| self.checked_column(i, c));
        Ok(Batch::new(columns.collect::<Result<_>>()?, batch.len()))
    }

    pub(crate) fn checked_column(&self, index: usize, vector: &Vector) -> Result<Vector> {
        let column = &self.schema.columns[index];
        let (table, name) = (&self.schema.name, &column.name);
        let found = vector.logical_type();
        let vector = if found == column.ty {
            vector.clone()
        } else if found == LogicalType::Null {
            Vector::nulls(column.ty.clone(), vector.len())
        } else if found.physical() == column.ty.physical() && found.is_view() == column.ty.is_view() {
            vector.clone().reinterpret(column.ty.clone())
        } else {
            let wanted = column.ty.clone();
            return Err(Error::internal(format!(
                "{found} for column \"{name}\" of \"{table}\", which is {wanted}"
            )));
        };
        if column.not_null && vector.null_count() > 0 {
            return Err(self.null_in(name));
        }
        Ok(vector)
    }

    fn null_in(&self, column: &str) -> Error {
        let table = &self.schema.name;
        Error::NotNull {
            message: format!("NULL in column \"{column}\" of table \"{table}\", which is NOT NULL"),
        }
    }

    /// Appends pieces. What a `load` puts into an empty table is encoded even if it is no whole row group: tables that are
    /// loaded once, such as those of dimensions, are read in that form.
    fn append_pieces(&self, writer: &mut Writer, pieces: Vec<Piece>, load: bool) -> Result<()> {
        if pieces.is_empty() {
            return Ok(());
        }
        let snapshot = self.snapshot();
        let first_id = writer.next_row_id;
        let count: usize = pieces.iter().map(Piece::len).sum();
        let pending = PendingRows {
            count,
            row_ids: &|position| first_id + position as i64,
            position: &|id| usize::try_from(id - first_id).ok().filter(|p| *p < count),
            column: &|index| pieces_column(&pieces, index, self.schema.columns[index].ty.clone()),
            changed: None,
            pieces: &pieces,
        };
        self.enter_rows(writer, &snapshot, &pending)?;
        let seal_min = if load && snapshot.groups.is_empty() { LOADED_ROWS_MIN } else { ROW_GROUP_SIZE };
        self.add_pieces(writer, &snapshot, &pieces.into(), seal_min)
    }

    /// Adds pieces whose rows may come. Nothing is done if it fails.
    fn add_pieces(
        &self,
        writer: &mut Writer,
        snapshot: &TableSnapshot,
        pieces: &Arc<[Piece]>,
        seal_min: usize,
    ) -> Result<()> {
        let (groups, first_id) = (snapshot.groups.to_vec(), writer.next_row_id);
        let mut next = GroupList { groups, next_row_id: first_id, table: self, seal_min };
        let mut raw: Vec<Batch> = Vec::new();
        for piece in &**pieces {
            match piece {
                Piece::Raw(batch) => raw.push(batch.clone()),
                Piece::Sealed(columns, len) => {
                    next.add_rows(&std::mem::take(&mut raw))?;
                    next.add_sealed(columns.clone(), *len)?;
                }
            }
        }
        next.add_rows(&raw)?;
        writer.next_row_id = next.next_row_id;
        let groups = next.groups;
        writer.changes.push(Change::Append { first_id, pieces: Arc::clone(pieces) });
        self.publish(writer, TableSnapshot::new(0, groups));
        Ok(())
    }

    /// As [`Table::delete_rows`], of ids in any order.
    pub fn delete(&self, row_ids: &[i64]) -> Result<u64> {
        self.delete_rows(&RowSet::from(row_ids))
    }

    /// Deletes rows; ids without a live row are passed over. Returns how many were deleted.
    pub fn delete_rows(&self, ids: &RowSet) -> Result<u64> {
        let mut writer = self.locked();
        let snapshot = self.snapshot();
        let ids = snapshot.live(ids);
        if ids.is_empty() {
            return Ok(0);
        }
        let mut groups = snapshot.groups.to_vec();
        let mut rows = Vec::new();
        for index in snapshot.groups_of(&ids) {
            rows.clear();
            ids.rows_within(groups[index].row_ids(), &mut rows);
            if !rows.is_empty() {
                let (group, _) = groups[index].with_deleted(rows.iter().map(|row| *row as usize));
                groups[index] = Arc::new(group);
            }
        }
        groups.retain(|g| g.live_count() > 0);
        let deleted = ids.len() as u64;
        writer.changes.push(Change::Delete { ids });
        self.publish(&mut writer, TableSnapshot::new(0, groups));
        Ok(deleted)
    }

    /// Deletes all rows.
    pub fn truncate(&self) -> u64 {
        let mut writer = self.locked();
        let deleted = self.snapshot().live_rows;
        writer.changes.push(Change::Truncate);
        self.publish(&mut writer, TableSnapshot::new(0, Vec::new()));
        deleted as u64
    }

    fn publish(&self, writer: &mut Writer, mut snapshot: TableSnapshot) {
        snapshot.version = writer.next_version;
        writer.next_version += 1;
        self.indexes.set_version(snapshot.version);
        *self.current.write() = Arc::new(snapshot);
    }
}

//! A table: its current snapshot, and the changes that make the next one.
//!
//! Small appends go to an open tail of plain chunks, which are joined as they grow (each row is copied a
//! logarithmic number of times) and encoded into a row group once there are enough rows. Deletes mark rows, updates
//! re-encode the touched segments; both copy only what they touch. A change is published in one step or not at all.
//!
//! Invariants
//! - Row groups are ordered by row id and do not overlap. Ids may have gaps and are never used twice.
//! - A snapshot never changes. Versions only grow.

use crate::keys::{KeyIndexes, PendingRows, ascend_strictly, joined_column};
use crate::row_group::{ROW_GROUP_SIZE, RowGroup};
use crate::schema::TableSchema;
use crate::segment::Segment;
use crate::statistics::TableStatistics;
use inlay_types::{
    Batch, Bitmap, Buffer, Error, Heap, LogicalType, MemoryBudget, Result, Value, Vector, VectorBuilder, View,
};
use parking_lot::{Mutex, RwLock};
use std::sync::Arc;

#[cfg(test)]
mod tests;

/// The rows of a table at one moment.
#[derive(Debug)]
pub struct TableSnapshot {
    version: u64,
    groups: Arc<[Arc<RowGroup>]>,
    live_rows: usize,
    total_rows: u64,
}

impl TableSnapshot {
    fn new(version: u64, groups: Vec<Arc<RowGroup>>) -> Self {
        let live_rows = groups.iter().map(|g| g.live_count()).sum();
        let total_rows = groups.iter().map(|g| g.len() as u64).sum();
        Self { version, groups: Arc::from(groups), live_rows, total_rows }
    }

    /// The version of the table that this is.
    pub fn version(&self) -> u64 {
        self.version
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

    fn group_of(&self, row_id: i64) -> Option<usize> {
        let after = self.groups.partition_point(|g| g.row_id_start() <= row_id);
        let index = after.checked_sub(1)?;
        self.groups[index].row_ids().contains(&row_id).then_some(index)
    }

    /// Bytes of all segments.
    pub fn memory_size(&self) -> usize {
        self.groups.iter().flat_map(|g| g.columns()).map(|s| s.memory_size()).sum()
    }
}

/// What only the writer whose turn it is touches.
#[derive(Debug)]
struct Writer {
    next_version: u64,
    next_row_id: i64,
    /// Shared with forks: entries of rows that only the other has are verified away like any stale ones.
    indexes: Option<Arc<Mutex<KeyIndexes>>>,
    /// Version that `indexes` was made from; it knows nothing of rows deleted before.
    indexed_since: u64,
}

/// A table. See the module documentation.
#[derive(Debug)]
pub struct Table {
    schema: TableSchema,
    keys: Vec<Vec<usize>>,
    budget: MemoryBudget,
    current: RwLock<Arc<TableSnapshot>>,
    writer: Mutex<Writer>,
    /// Of the version given; shared with frozen copies.
    statistics: Arc<Mutex<CachedStatistics>>,
}

/// Statistics and the version that they describe.
type CachedStatistics = Option<(u64, Arc<TableStatistics>)>;

impl Table {
    /// An empty table that takes its memory from `budget`.
    pub fn new(schema: TableSchema, budget: MemoryBudget) -> Self {
        let keys = schema.all_keys();
        let writer = Writer { next_version: 1, next_row_id: 0, indexes: None, indexed_since: 0 };
        Self {
            schema,
            keys,
            budget,
            current: RwLock::new(Arc::new(TableSnapshot::new(0, Vec::new()))),
            writer: Mutex::new(writer),
            statistics: Arc::default(),
        }
    }

    /// Columns and constraints.
    pub fn schema(&self) -> &TableSchema {
        &self.schema
    }

    /// The budget that the table's memory comes from.
    pub fn budget(&self) -> &MemoryBudget {
        &self.budget
    }

    /// The rows as they are now. Cheap; later changes do not show in it.
    pub fn snapshot(&self) -> Arc<TableSnapshot> {
        Arc::clone(&self.current.read())
    }

    /// Grows with every change.
    pub fn version(&self) -> u64 {
        self.current.read().version
    }

    /// Number of live rows.
    pub fn row_count(&self) -> usize {
        self.current.read().live_rows
    }

    /// Statistics of the current version; cached.
    pub fn statistics(&self) -> Arc<TableStatistics> {
        let snapshot = self.snapshot();
        let mut cached = self.statistics.lock();
        if let Some((version, statistics)) = &*cached
            && *version == snapshot.version
        {
            return Arc::clone(statistics);
        }
        let earlier = cached.as_ref().map(|(_, statistics)| &**statistics);
        let statistics = Arc::new(TableStatistics::of(&snapshot, &self.schema, earlier));
        *cached = Some((snapshot.version, Arc::clone(&statistics)));
        statistics
    }

    /// Makes the table what it was at an earlier snapshot of it, in constant time. Row ids are not used again.
    pub fn restore(&self, snapshot: &TableSnapshot) {
        let mut writer = self.writer.lock();
        if snapshot.version < writer.indexed_since {
            writer.indexes = None;
        }
        self.publish(
            &mut writer,
            TableSnapshot {
                version: 0,
                groups: Arc::clone(&snapshot.groups),
                live_rows: snapshot.live_rows,
                total_rows: snapshot.total_rows,
            },
        );
    }

    /// A table of its own with the rows of this one, in constant time; what either does later, the other does not see.
    pub fn fork(&self) -> Self {
        let writer = self.writer.lock();
        let statistics = self.statistics.lock().clone();
        Self {
            schema: self.schema.clone(),
            keys: self.keys.clone(),
            budget: self.budget.clone(),
            current: RwLock::new(self.snapshot()),
            writer: Mutex::new(Writer {
                next_version: writer.next_version,
                next_row_id: writer.next_row_id,
                indexes: writer.indexes.clone(),
                indexed_since: writer.indexed_since,
            }),
            statistics: Arc::new(Mutex::new(statistics)),
        }
    }

    /// This table as it is now, for one statement to read: rows and statistics stay the same whatever writers do.
    pub fn frozen(&self) -> Self {
        Self {
            schema: self.schema.clone(),
            keys: self.keys.clone(),
            budget: self.budget.clone(),
            current: RwLock::new(self.snapshot()),
            writer: Mutex::new(Writer { next_version: 0, next_row_id: 0, indexes: None, indexed_since: 0 }),
            statistics: Arc::clone(&self.statistics),
        }
    }

    /// Takes over the rows of a fork of this table. The caller knows that this table did not change since.
    pub fn adopt(&self, fork: &Table) {
        let (next_row_id, indexes, indexed_since) = {
            let theirs = fork.writer.lock();
            (theirs.next_row_id, theirs.indexes.clone(), theirs.indexed_since)
        };
        let theirs = fork.snapshot();
        let mut writer = self.writer.lock();
        writer.next_row_id = writer.next_row_id.max(next_row_id);
        // The fork's map knows its new rows; ours might not.
        (writer.indexes, writer.indexed_since) = (indexes, indexed_since);
        let groups = Arc::clone(&theirs.groups);
        let (live_rows, total_rows) = (theirs.live_rows, theirs.total_rows);
        self.publish(&mut writer, TableSnapshot { version: 0, groups, live_rows, total_rows });
    }

    /// Appends rows, all or none. Columns are those of the schema, in order.
    pub fn append(&self, batches: &[Batch]) -> Result<()> {
        let batches = batches.iter().map(|b| self.checked(b)).collect::<Result<Vec<Batch>>>()?;
        let mut writer = self.writer.lock();
        let pieces = batches.into_iter().filter(|b| !b.is_empty()).map(Piece::Raw).collect();
        self.append_pieces(&mut writer, pieces)
    }

    /// Appends encoded row groups and raw rows in this order; the end of a bulk load.
    pub(crate) fn append_bulk(&self, pieces: Vec<Piece>) -> Result<()> {
        self.append_pieces(&mut self.writer.lock(), pieces)
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

    fn checked_column(&self, index: usize, vector: &Vector) -> Result<Vector> {
        let column = &self.schema.columns[index];
        let (table, name) = (&self.schema.name, &column.name);
        let found = vector.logical_type();
        let vector = if found == column.ty {
            vector.clone()
        } else if found == LogicalType::Null {
            Vector::nulls(column.ty, vector.len())
        } else if found.physical() == column.ty.physical() && found.is_view() == column.ty.is_view() {
            vector.clone().reinterpret(column.ty)
        } else {
            let wanted = column.ty;
            return Err(Error::internal(format!(
                "{found} for column \"{name}\" of \"{table}\", which is {wanted}"
            )));
        };
        if column.not_null && vector.null_count() > 0 {
            return Err(Error::Constraint {
                message: format!("NULL in column \"{name}\" of table \"{table}\", which is NOT NULL"),
            });
        }
        Ok(vector)
    }

    fn append_pieces(&self, writer: &mut Writer, pieces: Vec<Piece>) -> Result<()> {
        if pieces.is_empty() {
            return Ok(());
        }
        let snapshot = self.snapshot();
        let first_id = writer.next_row_id;
        let count: usize = pieces.iter().map(Piece::len).sum();
        self.check_keys(
            writer,
            &snapshot,
            count,
            &|position| first_id + position as i64,
            &|id| usize::try_from(id - first_id).ok().filter(|p| *p < count),
            &|index| Some(pieces_column(&pieces, index, self.schema.columns[index].ty)),
        )?;
        let mut next = GroupList { groups: snapshot.groups.to_vec(), next_row_id: first_id, table: self };
        let mut raw: Vec<Batch> = Vec::new();
        for piece in pieces {
            match piece {
                Piece::Raw(batch) => raw.push(batch),
                Piece::Sealed(columns, len) => {
                    next.add_rows(&std::mem::take(&mut raw))?;
                    next.add_sealed(columns, len)?;
                }
            }
        }
        next.add_rows(&raw)?;
        writer.next_row_id = next.next_row_id;
        let groups = next.groups;
        self.publish(writer, TableSnapshot::new(0, groups));
        Ok(())
    }

    fn check_keys(
        &self,
        writer: &mut Writer,
        snapshot: &TableSnapshot,
        count: usize,
        row_ids: &dyn Fn(usize) -> i64,
        position: &dyn Fn(i64) -> Option<usize>,
        column: &dyn Fn(usize) -> Option<Vector>,
    ) -> Result<()> {
        if self.keys.is_empty() || count == 0 {
            return Ok(());
        }
        if writer.indexes.as_ref().is_none_or(|indexes| indexes.lock().is_bloated(snapshot.live_rows)) {
            writer.indexes = None;
        }
        let ascends = |key: &Vec<usize>| {
            let columns = key.iter().map(|index| column(*index)).collect::<Option<Vec<Vector>>>();
            columns.is_some_and(|columns| ascend_strictly(&columns))
        };
        if snapshot.live_rows == 0 && writer.indexes.is_none() && self.keys.iter().all(ascends) {
            // Distinct by their order; the maps are made when they are first needed.
            return Ok(());
        }
        let indexes = self.indexes(writer, snapshot)?;
        let pending = PendingRows { snapshot, schema: &self.schema, row_ids, position, count };
        let mut indexes = indexes.lock();
        indexes.enter(&pending, column)
    }

    /// The maps of all keys, made if there are none.
    fn indexes(&self, writer: &mut Writer, snapshot: &TableSnapshot) -> Result<Arc<Mutex<KeyIndexes>>> {
        if let Some(indexes) = &writer.indexes {
            return Ok(Arc::clone(indexes));
        }
        let indexes = Arc::new(Mutex::new(KeyIndexes::new(&self.keys, snapshot, &self.budget)?));
        writer.indexes = Some(Arc::clone(&indexes));
        writer.indexed_since = snapshot.version;
        Ok(indexes)
    }

    /// Deletes rows; ids without a live row are passed over. Returns how many were deleted.
    pub fn delete(&self, row_ids: &[i64]) -> Result<u64> {
        let mut writer = self.writer.lock();
        let snapshot = self.snapshot();
        let mut sorted = row_ids.to_vec();
        sorted.sort_unstable();
        let mut groups = snapshot.groups.to_vec();
        let mut deleted = 0;
        for (index, ids) in by_group(&snapshot, &sorted, |id| *id) {
            let start = groups[index].row_id_start();
            let (group, newly) = groups[index].with_deleted(ids.iter().map(|id| (id - start) as usize));
            deleted += newly;
            groups[index] = Arc::new(group);
        }
        if deleted > 0 {
            groups.retain(|g| g.live_count() > 0);
            self.publish(&mut writer, TableSnapshot::new(0, groups));
        }
        Ok(deleted as u64)
    }

    /// Deletes all rows.
    pub fn truncate(&self) -> u64 {
        let mut writer = self.writer.lock();
        let deleted = self.snapshot().live_rows;
        self.publish(&mut writer, TableSnapshot::new(0, Vec::new()));
        deleted as u64
    }

    /// Gives the rows `row_ids` new values in `columns`: column `i` of `values` (rows in the order of `row_ids`, over
    /// all batches) is for `columns[i]`. All or none; ids without a live row are passed over, and of several values
    /// for one row one is taken. Returns the number of rows changed. Rows keep their ids and places.
    pub fn update(&self, row_ids: &[i64], columns: &[usize], values: &[Batch]) -> Result<u64> {
        let count: usize = values.iter().map(Batch::len).sum();
        if count != row_ids.len() {
            return Err(Error::internal(format!("{} row ids for {count} rows of new values", row_ids.len())));
        }
        let mut writer = self.writer.lock();
        let snapshot = self.snapshot();
        let mut changes: Vec<(i64, u32)> = row_ids.iter().copied().zip(0..).collect();
        changes.sort_unstable();
        changes.dedup_by_key(|change| change.0);
        changes.retain(|(id, _)| snapshot.locate(*id).is_some_and(|(group, row)| !group.is_deleted(row)));
        let order: Vec<u32> = changes.iter().map(|change| change.1).collect();
        let mut new_values = Vec::with_capacity(columns.len());
        for (position, &index) in columns.iter().enumerate() {
            let joined = joined_column(values, position, self.schema.columns[index].ty)?;
            new_values.push(self.checked_column(index, &joined.take(&order))?);
        }
        let ids: Vec<i64> = changes.iter().map(|change| change.0).collect();
        self.check_updated_keys(&mut writer, &snapshot, &ids, columns, &new_values)?;
        let mut groups = snapshot.groups.to_vec();
        let mut from = 0;
        for (index, ids) in by_group(&snapshot, &ids, |id| *id) {
            let group = &groups[index];
            let rows: Vec<u32> = ids.iter().map(|id| (id - group.row_id_start()) as u32).collect();
            let mut changed = Vec::with_capacity(columns.len());
            for (&column, values) in columns.iter().zip(&new_values) {
                let replaced = replace(
                    &group.column(column).scan(0, group.len()),
                    &rows,
                    &values.slice(from, ids.len()),
                );
                let segment = Segment::encode_for(&replaced, group.is_sealed(), &self.budget)?;
                changed.push((column, Arc::new(segment)));
            }
            groups[index] = Arc::new(group.with_columns(changed));
            from += ids.len();
        }
        if !ids.is_empty() && !columns.is_empty() {
            self.publish(&mut writer, TableSnapshot::new(0, groups));
        }
        Ok(ids.len() as u64)
    }

    fn check_updated_keys(
        &self,
        writer: &mut Writer,
        snapshot: &TableSnapshot,
        ids: &[i64],
        columns: &[usize],
        values: &[Vector],
    ) -> Result<()> {
        let changed_keys: Vec<&Vec<usize>> =
            self.keys.iter().filter(|key| key.iter().any(|c| columns.contains(c))).collect();
        if changed_keys.is_empty() {
            return Ok(());
        }
        let needed = |index: usize| changed_keys.iter().any(|key| key.contains(&index));
        self.check_keys(
            writer,
            snapshot,
            ids.len(),
            &|position| ids[position],
            &|id| ids.binary_search(&id).ok(),
            &|index| match columns.iter().position(|c| *c == index) {
                Some(position) => Some(values[position].clone()),
                None if needed(index) => {
                    Some(gather_ids(snapshot, ids, index, self.schema.columns[index].ty))
                }
                None => None,
            },
        )
    }

    /// Row ids of live rows whose key (columns of `schema().all_keys()[key]`) equals `values`: at most one.
    pub fn find_by_key(&self, key: usize, values: &[Value]) -> Result<Option<i64>> {
        let mut writer = self.writer.lock();
        let snapshot = self.snapshot();
        let indexes = self.indexes(&mut writer, &snapshot)?;
        drop(writer);
        let columns = &self.keys[key];
        let vectors = columns
            .iter()
            .zip(values)
            .map(|(c, v)| Vector::constant(self.schema.columns[*c].ty, v, 1))
            .collect::<Result<Vec<Vector>>>()?;
        let candidates = indexes.lock().candidates(key, &vectors);
        Ok(candidates.into_iter().find(|id| {
            snapshot.locate(*id).is_some_and(|(group, row)| {
                !group.is_deleted(row)
                    && columns.iter().zip(values).all(|(c, v)| {
                        let stored = group.column(*c).get(row);
                        !stored.is_null() && stored.total_cmp(v).is_eq()
                    })
            })
        }))
    }

    fn publish(&self, writer: &mut Writer, mut snapshot: TableSnapshot) {
        snapshot.version = writer.next_version;
        writer.next_version += 1;
        *self.current.write() = Arc::new(snapshot);
    }
}

/// Rows to be appended: as they came, or encoded already.
#[derive(Debug)]
pub(crate) enum Piece {
    /// Rows of the schema's types.
    Raw(Batch),
    /// Segments of a row group and their length.
    Sealed(Vec<Arc<Segment>>, usize),
}

impl Piece {
    pub fn len(&self) -> usize {
        match self {
            Self::Raw(batch) => batch.len(),
            Self::Sealed(_, len) => *len,
        }
    }
}

fn pieces_column(pieces: &[Piece], index: usize, ty: LogicalType) -> Vector {
    let whole = |piece: &Piece| match piece {
        Piece::Raw(batch) => batch.column(index).clone(),
        Piece::Sealed(columns, len) => columns[index].scan(0, *len),
    };
    if let [one] = pieces {
        return whole(one);
    }
    let mut builder = VectorBuilder::new(ty, pieces.iter().map(Piece::len).sum());
    pieces.iter().for_each(|piece| builder.append(&whole(piece)));
    builder.finish()
}

/// The row groups of the next snapshot while they are put together.
struct GroupList<'a> {
    groups: Vec<Arc<RowGroup>>,
    next_row_id: i64,
    table: &'a Table,
}

impl GroupList<'_> {
    /// Number of chunks of the open tail that end at the next row id, and their rows.
    fn tail(&self) -> (usize, usize) {
        let (mut chunks, mut rows, mut end) = (0, 0, self.next_row_id);
        for group in self.groups.iter().rev() {
            if group.is_sealed() || group.row_ids().end != end || rows + group.len() >= ROW_GROUP_SIZE {
                break;
            }
            chunks += 1;
            rows += group.len();
            end = group.row_id_start();
        }
        (chunks, rows)
    }

    fn add_rows(&mut self, batches: &[Batch]) -> Result<()> {
        let mut left: usize = batches.iter().map(Batch::len).sum();
        let mut source = Slices { batches, batch: 0, row: 0 };
        while left > 0 {
            let (tail_chunks, tail_rows) = self.tail();
            if tail_rows + left >= ROW_GROUP_SIZE {
                let take = ROW_GROUP_SIZE - tail_rows;
                self.join(tail_chunks, &mut source, take, true)?;
                left -= take;
            } else {
                // Join chunks that are not much larger, so that sizes of chunks at least double towards the front.
                let (mut join, mut rows) = (0, left);
                for group in self.groups.iter().rev().take(tail_chunks) {
                    if group.len() > 2 * rows {
                        break;
                    }
                    join += 1;
                    rows += group.len();
                }
                self.join(join, &mut source, left, false)?;
                left = 0;
            }
        }
        Ok(())
    }

    /// Replaces the last `chunks` row groups by one that also has `take` more rows from `source`.
    fn join(&mut self, chunks: usize, source: &mut Slices<'_>, take: usize, seal: bool) -> Result<()> {
        let old = &self.groups[self.groups.len() - chunks..];
        let old_rows: usize = old.iter().map(|g| g.len()).sum();
        let len = old_rows + take;
        let start = old.first().map_or(self.next_row_id, |g| g.row_id_start());
        let parts = source.take(take);
        let mut columns = Vec::with_capacity(self.table.schema.columns.len());
        for (index, column) in self.table.schema.columns.iter().enumerate() {
            let segment = if let ([], [only]) = (old, parts.as_slice()) {
                Segment::encode_for(only.column(index), seal, &self.table.budget)?
            } else {
                let mut builder = VectorBuilder::new(column.ty, len);
                old.iter().for_each(|g| builder.append(&g.column(index).scan(0, g.len())));
                parts.iter().for_each(|part| builder.append(part.column(index)));
                Segment::encode_for(&builder.finish(), seal, &self.table.budget)?
            };
            columns.push(Arc::new(segment));
        }
        let mut group = RowGroup::new(columns, len, start, seal);
        if old.iter().any(|g| g.deleted().is_some()) {
            let mut flags = old.iter().flat_map(|g| (0..g.len()).map(|row| g.is_deleted(row)));
            group.set_deleted(Some(Bitmap::from_fn(len, |_| flags.next().unwrap_or(false))));
        }
        self.groups.truncate(self.groups.len() - chunks);
        self.groups.push(Arc::new(group));
        self.next_row_id += take as i64;
        Ok(())
    }

    fn add_sealed(&mut self, columns: Vec<Arc<Segment>>, len: usize) -> Result<()> {
        let (tail_chunks, tail_rows) = self.tail();
        if tail_rows > 0 {
            self.join(tail_chunks, &mut Slices { batches: &[], batch: 0, row: 0 }, 0, true)?;
        }
        self.groups.push(Arc::new(RowGroup::new(columns, len, self.next_row_id, true)));
        self.next_row_id += len as i64;
        Ok(())
    }
}

/// Hands out consecutive rows of batches.
struct Slices<'a> {
    batches: &'a [Batch],
    batch: usize,
    row: usize,
}

impl Slices<'_> {
    fn take(&mut self, mut count: usize) -> Vec<Batch> {
        let mut parts = Vec::new();
        while count > 0 && self.batch < self.batches.len() {
            let batch = &self.batches[self.batch];
            let len = count.min(batch.len() - self.row);
            if len > 0 {
                parts.push(if len == batch.len() { batch.clone() } else { batch.slice(self.row, len) });
            }
            count -= len;
            self.row += len;
            if self.row == batch.len() {
                (self.batch, self.row) = (self.batch + 1, 0);
            }
        }
        parts
    }
}

/// Runs of sorted items that lie in one row group; items without a row are left out only at run boundaries,
/// so callers pass ids that exist, or tolerate none.
fn by_group<'a, T>(
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

fn gather_ids(snapshot: &TableSnapshot, ids: &[i64], column: usize, ty: LogicalType) -> Vector {
    let mut builder = VectorBuilder::new(ty, ids.len());
    for (index, ids) in by_group(snapshot, ids, |id| *id) {
        let group = &snapshot.groups[index];
        let rows: Vec<u32> = ids.iter().map(|id| (id - group.row_id_start()) as u32).collect();
        builder.append(&group.column(column).gather(&rows));
    }
    builder.finish()
}

/// `old` with the values at `rows` (ascending, distinct) replaced by `new`.
fn replace(old: &Vector, rows: &[u32], new: &Vector) -> Vector {
    let (old, new) = (old.flatten(), new.flatten());
    let ty = old.logical_type();
    let validity = (old.validity().is_some() || new.validity().is_some()).then(|| {
        let mut bits = Bitmap::from_fn(old.len(), |row| !old.is_null(row));
        rows.iter().enumerate().for_each(|(i, row)| bits.set(*row as usize, !new.is_null(i)));
        bits
    });
    let mut heap = Heap::default();
    let data = match ty.physical().size() {
        1 => replace_values::<u8>(&old, rows, &new),
        2 => replace_values::<u16>(&old, rows, &new),
        4 => replace_values::<u32>(&old, rows, &new),
        8 => replace_values::<u64>(&old, rows, &new),
        _ if ty.is_view() => {
            let base = old.heap().buffers().len() as u32;
            heap = Heap::new(old.heap().buffers().iter().chain(new.heap().buffers()).cloned().collect());
            let mut views: Vec<View> = old.views().to_vec();
            for (row, view) in rows.iter().zip(new.views()) {
                views[*row as usize] = view.rebased(base);
            }
            Buffer::copy_of(&views)
        }
        _ => replace_values::<View>(&old, rows, &new),
    };
    Vector::flat(ty, old.len(), data, validity, heap)
}

fn replace_values<T: inlay_types::Native>(old: &Vector, rows: &[u32], new: &Vector) -> Buffer {
    let mut values: Vec<T> = old.values::<T>().to_vec();
    for (row, value) in rows.iter().zip(new.values::<T>()) {
        values[*row as usize] = *value;
    }
    Buffer::copy_of(&values)
}

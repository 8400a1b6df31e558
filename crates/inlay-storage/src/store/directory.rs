//! The directory of a table in the file: its schema, row groups and statistics, and where its segments are.
//!
//! ```text
//! directory: version u8 = 1, or 2 | schema | next row id | statistics ptr | row group count | row groups
//!            | index count | indexes | version 2: count of columns with sets, each: position, of each row group
//!              0 nothing | 1 ptr of its sets | 2 it can have none
//! row group: first row id | rows | sealed | deletions | a column per column of the schema
//! deletions: 0 none | 1 count, distances of deleted rows | 2 words of a bitmap
//! column: meta (rows, NULLs, zone map) | 0, image | 1, ptr
//! index: column count, positions of the columns | ptr of its first page
//! statistics: count, sketches | rows of the table | sample rows
//! ```
//! A directory is read when its table is first asked for; segments are read when they are scanned, and
//! pages of indexes when they are used.

use super::log::{read_batch, read_column, write_batch, write_column};
use crate::bytes::{ByteReader, ByteWriter, read_of_format};
use crate::file::{ObjectKind, ObjectPtr, StoredObject};
use crate::home::{Home, Stored};
use crate::hyperloglog::HyperLogLog;
use crate::interrupted::check_interrupt;
use crate::row_group::{ROW_GROUP_SIZE, RowGroup};
use crate::schema::TableSchema;
use crate::statistics::StoredStatistics;
use crate::table::{IndexHandle, Table, TableSnapshot, object_ptr};
use inlay_types::{Bitmap, Error, Result};
use std::collections::HashSet;
use std::sync::Arc;

const VERSION: u8 = 1;
/// With the sets of indexes by value; the header says format 3, for only tables with such an index have it.
const VERSION_WITH_SETS: u8 = 2;
/// What a directory says of the sets of a column of a row group.
const NO_SETS: u8 = 0;
const SETS: u8 = 1;
const WITHOUT_SETS: u8 = 2;
/// Images up to this size lie in the directory.
pub(super) const INLINE_MAX: usize = 512;

/// Where a table is in the file.
#[derive(Clone, Debug)]
pub(crate) struct StoredTable {
    home: Arc<Home>,
    pub directory: Arc<StoredObject>,
    /// The version of the format that it was written in.
    format: u32,
}

/// What a directory says.
pub(super) struct Parts {
    pub schema: Arc<TableSchema>,
    pub next_row_id: i64,
    pub statistics: ObjectPtr,
    pub groups: Vec<Arc<RowGroup>>,
    pub indexes: Vec<Arc<IndexHandle>>,
}

impl StoredTable {
    /// The table of this directory, which the newest header of the file leads to.
    pub fn new(home: &Arc<Home>, directory: Arc<StoredObject>) -> Self {
        Self { home: Arc::clone(home), directory, format: home.file().format() }
    }

    /// Reads the directory.
    pub fn load(&self, id: u64) -> Result<Table> {
        let bytes = self.directory.read()?;
        self.parse(id, &bytes).map_err(|error| {
            error.within(format!(
                "{}, table directory at block {}",
                self.home.file().path().display(),
                self.directory.ptr.block
            ))
        })
    }

    fn parse(&self, id: u64, bytes: &[u8]) -> Result<Table> {
        let Parts { schema, next_row_id, statistics, groups, indexes } = self.parts(id, bytes)?;
        let statistics = match self.statistics(statistics, &schema) {
            Ok(statistics) => Some(statistics),
            // They only help the optimizer: without them the table is as good, and the next checkpoint makes them anew.
            Err(Error::Corrupt { .. }) => None,
            Err(error) => return Err(error),
        };
        let home = Arc::clone(&self.home);
        Ok(Table::from_file(id, schema, home, groups, next_row_id, statistics, indexes))
    }

    /// The statistics that a directory refers to.
    pub fn statistics(&self, ptr: ObjectPtr, schema: &TableSchema) -> Result<StoredStatistics> {
        read_statistics(&self.home.file().read_object(ObjectKind::Statistics, ptr)?, schema)
    }

    /// Everything that a directory itself says.
    pub(super) fn parts(&self, id: u64, bytes: &[u8]) -> Result<Parts> {
        read_of_format(self.format, bytes, |mut from| self.parts_from(id, &mut from))
    }

    fn parts_from(&self, id: u64, from: &mut ByteReader<'_>) -> Result<Parts> {
        let has_sets = match from.u8()? {
            VERSION => false,
            VERSION_WITH_SETS => true,
            other => return Err(Error::corrupt(format!("version {other}"))),
        };
        let schema = Arc::new(TableSchema::read(from)?);
        let next_row_id = from.i64()?;
        let statistics = ObjectPtr::read(from)?;
        let mut groups: Vec<Arc<RowGroup>> = Vec::new();
        for _ in 0..from.count_of(11)? {
            let group = self.read_group(from, &schema)?;
            let end = groups.last().map_or(0, |last| last.row_ids().end);
            if group.row_id_start() < end || group.row_ids().end > next_row_id {
                return Err(Error::corrupt("row groups that are out of order"));
            }
            groups.push(Arc::new(group));
        }
        let mut indexes = Vec::new();
        for _ in 0..from.count_of(1 + ObjectPtr::SIZE)? {
            indexes.push(self.read_index(id, from, &schema)?);
        }
        if has_sets {
            self.read_sets(from, &groups)?;
        }
        from.expect_end()?;
        Ok(Parts { schema, next_row_id, statistics, groups, indexes })
    }

    /// Tells columns of the sets that the file has of them.
    fn read_sets(&self, from: &mut ByteReader<'_>, groups: &[Arc<RowGroup>]) -> Result<()> {
        for _ in 0..from.count_of(1)? {
            let position = from.count()?;
            for group in groups {
                let Some(column) = group.columns().get(position) else {
                    return Err(Error::corrupt(format!("sets of column {position}")));
                };
                match from.u8()? {
                    NO_SETS => {}
                    SETS => {
                        let ptr = ObjectPtr::read(from)?;
                        let stored = Stored::of_kind(&self.home, ObjectKind::ValueSets, ptr, true);
                        if ptr.is_none() || column.put_sets_in_file(stored).is_some() {
                            return Err(Error::corrupt(format!(
                                "sets of column {position} twice, or nowhere"
                            )));
                        }
                    }
                    WITHOUT_SETS => column.set_without_value_sets(),
                    other => return Err(Error::corrupt(format!("sets of kind {other}"))),
                }
            }
        }
        Ok(())
    }

    fn read_index(
        &self,
        table: u64,
        from: &mut ByteReader<'_>,
        schema: &TableSchema,
    ) -> Result<Arc<IndexHandle>> {
        let (mut columns, mut types) = (Vec::new(), Vec::new());
        for _ in 0..from.count_of(1)? {
            let column = from.count()?;
            let Some(known) = schema.columns.get(column) else {
                return Err(Error::corrupt(format!(
                    "an index on column {column} of {}",
                    schema.columns.len()
                )));
            };
            columns.push(column);
            types.push(known.ty.clone());
        }
        let root = ObjectPtr::read(from)?;
        if columns.is_empty() || root.is_none() {
            return Err(Error::corrupt("an index of nothing"));
        }
        Ok(IndexHandle::in_file(&self.home, table, columns, types, root))
    }

    fn read_group(&self, from: &mut ByteReader<'_>, schema: &TableSchema) -> Result<RowGroup> {
        let (start, len, sealed) = (from.i64()?, from.count()?, from.bool()?);
        if len == 0 || len > ROW_GROUP_SIZE || start < 0 || start.checked_add(len as i64).is_none() {
            return Err(Error::corrupt(format!("a row group of {len} rows from {start} on")));
        }
        let deleted = read_deletions(from, len)?;
        let mut columns = Vec::with_capacity(schema.columns.len());
        for column in &schema.columns {
            let stored = read_column(from, &self.home, true)?;
            if stored.len() != len || stored.logical_type() != column.ty {
                return Err(Error::corrupt(format!(
                    "a segment that does not fit column \"{}\"",
                    column.name
                )));
            }
            columns.push(stored);
        }
        let mut group = RowGroup::new(columns, len, start, sealed);
        group.set_deleted(deleted);
        Ok(group)
    }
}

/// What writing a table made and left.
#[derive(Debug, Default)]
pub(super) struct TableWrites {
    /// Pages that no index needs any more. The directories of their tables that the last root reaches still refer to them.
    pub unused: Vec<Arc<StoredObject>>,
    /// Indexes that were written.
    pub indexes: Vec<Arc<IndexHandle>>,
    /// Tables whose directories refer to sets of values that are among the unused objects.
    pub without_sets: HashSet<u64>,
}

impl TableWrites {
    /// Whether the index is among those that were written.
    pub fn has_index(&self, handle: &Arc<IndexHandle>) -> bool {
        self.indexes.iter().any(|written| Arc::ptr_eq(written, handle))
    }

    /// All pages of the indexes that were written, and those that they left.
    pub fn pages(&self) -> Result<Vec<ObjectPtr>> {
        let mut pages: Vec<ObjectPtr> = self.unused.iter().map(|object| object.ptr).collect();
        for handle in &self.indexes {
            match handle.pages() {
                Ok(found) => pages.extend(found.into_iter().map(object_ptr)),
                // What a damaged page refers to stays in use.
                Err(Error::Corrupt { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(pages)
    }
}

/// Writes what is not in the file yet of a table, of which indexes by value are on some columns, and its directory. Returns the objects of directory and statistics.
pub(super) fn write_table(
    home: &Arc<Home>,
    table: &Table,
    by_value: &[usize],
    writes: &mut TableWrites,
) -> Result<[Arc<StoredObject>; 2]> {
    table.build_indexes()?;
    let mut roots = Vec::new();
    for handle in table.index_handles() {
        check_interrupt()?;
        let flushed = handle.flush(home, table.id())?;
        writes.unused.extend(flushed.unused);
        roots.push((Arc::clone(&handle), flushed.root));
        writes.indexes.push(handle);
    }
    let snapshot = table.snapshot();
    for column in snapshot.row_groups().iter().flat_map(|group| group.columns()) {
        check_interrupt()?;
        column.persist_above(home, table.id(), INLINE_MAX)?;
    }
    write_sets(home, (table, &snapshot), by_value, writes)?;
    // Without any, earlier versions can read it.
    let by_value = if table.has_value_sets_in_file() { by_value } else { &[] };
    let statistics = table.statistics_to_store(&snapshot)?;
    let statistics = home.write(ObjectKind::Statistics, table.id(), &write_statistics(&statistics))?;
    let mut out = ByteWriter::new();
    out.u8(if by_value.is_empty() { VERSION } else { VERSION_WITH_SETS });
    table.schema().write(&mut out);
    out.i64(table.next_row_id());
    statistics.ptr.write(&mut out);
    out.count(snapshot.row_groups().len());
    for group in snapshot.row_groups() {
        out.i64(group.row_id_start());
        out.count(group.len());
        out.bool(group.is_sealed());
        write_deletions(group.deleted(), group.len(), &mut out);
        for column in group.columns() {
            write_column(column, &mut out)?;
        }
    }
    out.count(roots.len());
    for (handle, root) in roots {
        out.count(handle.columns().len());
        handle.columns().iter().for_each(|column| out.count(*column));
        root.write(&mut out);
    }
    if !by_value.is_empty() {
        refer_to_sets(by_value, &snapshot, &mut out);
    }
    let directory = home.write(ObjectKind::Directory, table.id(), out.as_bytes());
    let directory = directory.inspect_err(|_| home.file().discard(statistics.ptr))?;
    Ok([directory, statistics])
}

/// Writes the sets of columns that an index by value is on, and gives up those of others.
fn write_sets(
    home: &Arc<Home>,
    (table, snapshot): (&Table, &TableSnapshot),
    by_value: &[usize],
    writes: &mut TableWrites,
) -> Result<()> {
    for group in snapshot.row_groups() {
        for (place, column) in group.columns().iter().enumerate() {
            check_interrupt()?;
            let is_wanted = by_value.contains(&place);
            if column.gives_up_sets(is_wanted)
                && let Some(old) = column.take_sets_in_file().filter(Stored::is_referenced)
            {
                writes.unused.push(Arc::clone(old.object()));
                writes.without_sets.insert(table.id());
            }
            if is_wanted && group.is_sealed() {
                column.persist_value_sets(home, table.id())?;
            }
        }
    }
    Ok(())
}

fn refer_to_sets(by_value: &[usize], snapshot: &TableSnapshot, out: &mut ByteWriter) {
    out.count(by_value.len());
    for place in by_value {
        out.count(*place);
        for column in snapshot.row_groups().iter().map(|group| group.column(*place)) {
            match column.sets_in_file() {
                Some(stored) => {
                    out.u8(SETS);
                    stored.ptr().write(out);
                }
                None => out.u8(if column.is_without_value_sets() { WITHOUT_SETS } else { NO_SETS }),
            }
        }
    }
}

fn write_deletions(deleted: Option<&Bitmap>, len: usize, out: &mut ByteWriter) {
    let Some(deleted) = deleted else { return out.u8(0) };
    let count = deleted.count_ones();
    if count <= len / 16 {
        out.u8(1);
        out.count(count);
        let mut next = 0;
        for row in (0..len).filter(|row| deleted.get(*row)) {
            out.count(row - next);
            next = row + 1;
        }
    } else {
        out.u8(2);
        deleted.words()[..len.div_ceil(64)].iter().for_each(|word| out.u64(*word));
    }
}

fn read_deletions(from: &mut ByteReader<'_>, len: usize) -> Result<Option<Bitmap>> {
    match from.u8()? {
        0 => Ok(None),
        1 => {
            let mut deleted = Bitmap::filled(len, false);
            let mut next = 0usize;
            for _ in 0..from.count_of(1)? {
                let row = next.saturating_add(from.count()?);
                if row >= len {
                    return Err(Error::corrupt(format!("deleted row {row} of {len}")));
                }
                deleted.set(row, true);
                next = row + 1;
            }
            Ok(Some(deleted))
        }
        2 => {
            let mut words = (0..len.div_ceil(64)).map(|_| from.u64()).collect::<Result<Vec<u64>>>()?;
            if let (false, Some(last)) = (len.is_multiple_of(64), words.last_mut()) {
                *last &= (1 << (len % 64)) - 1;
            }
            Ok(Some(Bitmap::from_words(words, len)))
        }
        other => Err(Error::corrupt(format!("deletions of kind {other}"))),
    }
}

fn write_statistics(statistics: &StoredStatistics) -> Vec<u8> {
    let mut out = ByteWriter::new();
    out.count(statistics.sketches.len());
    statistics.sketches.iter().for_each(|sketch| out.raw(sketch.registers()));
    out.u64(statistics.sampled_rows);
    write_batch(&statistics.sample, &mut out);
    out.finish()
}

fn read_statistics(bytes: &[u8], schema: &TableSchema) -> Result<StoredStatistics> {
    let mut from = ByteReader::new(bytes);
    let sketches = (0..from.count_of(HyperLogLog::SIZE_BYTES)?)
        .map(|_| HyperLogLog::from_registers(from.raw(HyperLogLog::SIZE_BYTES)?))
        .collect::<Result<Vec<_>>>()?;
    let sampled_rows = from.u64()?;
    let sample = read_batch(&mut from)?;
    from.expect_end()?;
    let types = schema.columns.iter().map(|c| c.ty.clone());
    if sketches.len() != schema.columns.len() || !sample.types().into_iter().eq(types) {
        return Err(Error::corrupt("statistics of other columns than the table has"));
    }
    Ok(StoredStatistics { sketches, sample: Arc::new(sample), sampled_rows })
}

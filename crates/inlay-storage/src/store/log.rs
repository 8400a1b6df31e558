//! The log record of a transaction: everything that has to be done again to the state before it.
//!
//! ```text
//! version u8 = 1
//! dropped: count, then an object number each
//! created tables: count, then number and schema
//! tables: count, then number, count of changes, changes
//! definitions (views, sequences, indexes): count, then each
//! sequences: count, then number and counter
//! ```
//! Row groups that were written to the file before the commit are referred to; all other rows are in the record.

use super::object::{Counter, Object, ObjectId, TableSlot, read_counter, write_counter};
use super::state::State;
use crate::bytes::{ByteReader, ByteWriter, read_of_format};
use crate::column::Column;
use crate::file::ObjectPtr;
use crate::home::{Home, Stored};
use crate::row_set::RowSet;
use crate::schema::TableSchema;
use crate::segment::{Segment, SegmentMeta};
use crate::table::{Alteration, Change, ColumnSource, Piece, Rewritten, Table};
use inlay_types::{Batch, Bitmap, Buffer, Error, Heap, LogicalType, Result, Vector, VectorBuilder};
use std::collections::HashMap;
use std::sync::Arc;

const VERSION: u8 = 1;

/// What a transaction did.
#[derive(Debug, Default)]
pub(super) struct Record {
    pub dropped: Vec<ObjectId>,
    pub created: Vec<(ObjectId, Arc<TableSchema>)>,
    pub tables: Vec<(ObjectId, Vec<Change>)>,
    pub definitions: Vec<Object>,
    pub sequences: Vec<(ObjectId, Counter)>,
}

impl Record {
    /// The record's bytes.
    pub fn encode(&self) -> Result<Vec<u8>> {
        let mut out = ByteWriter::new();
        out.u8(VERSION);
        out.count(self.dropped.len());
        self.dropped.iter().for_each(|id| out.u64(*id));
        out.count(self.created.len());
        for (id, schema) in &self.created {
            out.u64(*id);
            schema.write(&mut out);
        }
        out.count(self.tables.len());
        for (id, changes) in &self.tables {
            out.u64(*id);
            out.count(changes.len());
            for change in changes {
                write_change(change, &mut out)?;
            }
        }
        out.count(self.definitions.len());
        self.definitions.iter().for_each(|object| object.write_definition(&mut out));
        out.count(self.sequences.len());
        for (id, counter) in &self.sequences {
            out.u64(*id);
            write_counter(*counter, &mut out);
        }
        Ok(out.finish())
    }

    /// What [`Record::encode`] wrote, by a database whose file is `home`.
    pub fn decode(bytes: &[u8], home: &Arc<Home>) -> Result<Self> {
        read_of_format(home.file().format(), bytes, |mut from| Self::read(&mut from, home))
    }

    fn read(from: &mut ByteReader<'_>, home: &Arc<Home>) -> Result<Self> {
        match from.u8()? {
            VERSION => {}
            other => return Err(Error::corrupt(format!("log record of version {other}"))),
        }
        let dropped = (0..from.count_of(8)?).map(|_| from.u64()).collect::<Result<_>>()?;
        let created = (0..from.count_of(9)?)
            .map(|_| Ok((from.u64()?, Arc::new(TableSchema::read(from)?))))
            .collect::<Result<_>>()?;
        let table = |from: &mut ByteReader<'_>| {
            let id = from.u64()?;
            let changes = (0..from.count_of(1)?).map(|_| read_change(from, home)).collect::<Result<_>>()?;
            Ok((id, changes))
        };
        let tables = (0..from.count_of(9)?).map(|_| table(from)).collect::<Result<_>>()?;
        let definitions =
            (0..from.count_of(9)?).map(|_| Object::read_definition(from)).collect::<Result<_>>()?;
        let sequences =
            (0..from.count_of(9)?).map(|_| Ok((from.u64()?, read_counter(from)?))).collect::<Result<_>>()?;
        from.expect_end()?;
        Ok(Self { dropped, created, tables, definitions, sequences })
    }

    /// Does everything again. `tables` holds the tables that replaying has forked so far.
    pub fn replay(
        self,
        state: &mut State,
        tables: &mut HashMap<ObjectId, Arc<Table>>,
        home: &Arc<Home>,
    ) -> Result<()> {
        for id in self.dropped {
            state.remove(id);
            tables.remove(&id);
        }
        for (id, schema) in self.created {
            let table =
                Table::create(id, TableSchema::clone(&schema), home.budget().clone(), Some(Arc::clone(home)));
            tables.insert(id, Arc::new(table));
        }
        for (id, changes) in self.tables {
            let mut table = match tables.get(&id) {
                Some(table) => Arc::clone(table),
                None => Arc::new(state.table(id)?.fork()),
            };
            for change in &changes {
                match change {
                    Change::Alter(alteration) => table = Arc::new(table.altered(alteration)?),
                    change => table.apply(change)?,
                }
            }
            table.forget_changes();
            tables.insert(id, Arc::clone(&table));
            state.put(Object::Table(TableSlot::new(table)));
        }
        self.definitions.into_iter().for_each(|object| state.put(object));
        for (id, counter) in self.sequences {
            if let Some(Object::Sequence(sequence)) = state.object(id) {
                sequence.set_counter(counter);
            }
        }
        Ok(())
    }
}

fn write_change(change: &Change, out: &mut ByteWriter) -> Result<()> {
    match change {
        Change::Append { first_id, pieces } => {
            out.u8(1);
            out.i64(*first_id);
            out.count(pieces.len());
            for piece in &**pieces {
                match piece {
                    Piece::Raw(batch) => {
                        out.u8(0);
                        write_batch(batch, out);
                    }
                    Piece::Sealed(columns, len) => {
                        out.u8(1);
                        out.count(*len);
                        out.count(columns.len());
                        for column in columns {
                            write_column(column, out)?;
                        }
                    }
                }
            }
        }
        Change::Delete { ids } => match ids.as_list() {
            Some(list) => {
                out.u8(2);
                write_ids(list, out);
            }
            None => {
                out.u8(7);
                ids.write(out);
            }
        },
        Change::Rewrite { ids, columns, groups } => {
            out.u8(8);
            ids.write(out);
            out.count(columns.len());
            columns.iter().for_each(|column| out.count(*column));
            out.count(groups.len());
            for group in &**groups {
                out.i64(group.first_id);
                group.columns.iter().try_for_each(|column| write_column(column, out))?;
            }
        }
        Change::Update { ids, columns, values } => {
            out.u8(3);
            write_ids(&ids.ids(), out);
            out.count(columns.len());
            for (column, values) in columns.iter().zip(&**values) {
                out.count(*column);
                write_vector(values, out);
            }
        }
        Change::Truncate => out.u8(4),
        Change::Alter(alteration) => {
            out.u8(5);
            alteration.schema.write(out);
            for source in &alteration.columns {
                match source {
                    ColumnSource::Kept(position) => {
                        out.u8(0);
                        out.count(*position);
                    }
                    ColumnSource::Filled(value) => {
                        out.u8(1);
                        out.value(value);
                    }
                    ColumnSource::Converted(groups) => {
                        out.u8(2);
                        out.count(groups.len());
                        for (start, column) in groups {
                            out.i64(*start);
                            write_column(column, out)?;
                        }
                    }
                }
            }
        }
        Change::Compact { groups } => {
            out.u8(6);
            write_ids(groups, out);
        }
    }
    Ok(())
}

fn read_change(from: &mut ByteReader<'_>, home: &Arc<Home>) -> Result<Change> {
    Ok(match from.u8()? {
        1 => {
            let first_id = from.i64()?;
            let pieces = (0..from.count_of(2)?).map(|_| read_piece(from, home)).collect::<Result<_>>()?;
            Change::Append { first_id, pieces }
        }
        2 => Change::Delete { ids: RowSet::from(&*read_ids(from)?) },
        3 => {
            let ids = RowSet::from(&*read_ids(from)?);
            let count = from.count_of(2)?;
            let (mut columns, mut values) = (Vec::with_capacity(count), Vec::with_capacity(count));
            for _ in 0..count {
                columns.push(from.count()?);
                let vector = read_vector(from)?;
                if vector.len() != ids.len() {
                    return Err(Error::corrupt("an update with too few values"));
                }
                values.push(vector);
            }
            Change::Update { ids, columns: columns.into(), values: values.into() }
        }
        4 => Change::Truncate,
        5 => {
            let schema = TableSchema::read(from)?;
            let columns =
                (0..schema.columns.len()).map(|_| read_source(from, home)).collect::<Result<_>>()?;
            Change::Alter(Arc::new(Alteration { schema, columns }))
        }
        6 => Change::Compact { groups: read_ids(from)? },
        7 => Change::Delete { ids: RowSet::read(from)? },
        8 => {
            let ids = RowSet::read(from)?;
            let columns: Arc<[usize]> =
                (0..from.count_of(1)?).map(|_| from.count()).collect::<Result<_>>()?;
            let group = |from: &mut ByteReader<'_>| {
                let first_id = from.i64()?;
                let read = columns.iter().map(|_| read_logged_column(from, home));
                Ok(Rewritten { first_id, columns: read.collect::<Result<_>>()?, before: None })
            };
            let groups = (0..from.count_of(8)?).map(|_| group(from)).collect::<Result<_>>()?;
            Change::Rewrite { ids, columns, groups }
        }
        other => return Err(Error::corrupt(format!("change of kind {other}"))),
    })
}

fn read_piece(from: &mut ByteReader<'_>, home: &Arc<Home>) -> Result<Piece> {
    match from.u8()? {
        0 => Ok(Piece::Raw(read_batch(from)?)),
        1 => {
            let len = from.count()?;
            let columns: Vec<_> =
                (0..from.count_of(2)?).map(|_| read_logged_column(from, home)).collect::<Result<_>>()?;
            if columns.iter().any(|column| column.len() != len) {
                return Err(Error::corrupt("columns of different lengths"));
            }
            Ok(Piece::Sealed(columns, len))
        }
        other => Err(Error::corrupt(format!("piece of kind {other}"))),
    }
}

fn read_source(from: &mut ByteReader<'_>, home: &Arc<Home>) -> Result<ColumnSource> {
    Ok(match from.u8()? {
        0 => ColumnSource::Kept(from.count()?),
        1 => ColumnSource::Filled(from.value()?),
        2 => {
            let group = |from: &mut ByteReader<'_>| Ok((from.i64()?, read_logged_column(from, home)?));
            ColumnSource::Converted((0..from.count_of(8)?).map(|_| group(from)).collect::<Result<_>>()?)
        }
        other => return Err(Error::corrupt(format!("column source {other}"))),
    })
}

/// A column: where it is in the file, or, if it is small or nowhere else, its image.
pub(super) fn write_column(column: &Arc<Column>, out: &mut ByteWriter) -> Result<()> {
    column.meta().write(out);
    match column.stored() {
        Some(stored) => {
            out.u8(1);
            stored.ptr().write(out);
        }
        None => {
            out.u8(0);
            out.sized(&column.segment()?.to_bytes()?);
        }
    }
    Ok(())
}

/// A column of a log record: its object is not known to the file yet.
fn read_logged_column(from: &mut ByteReader<'_>, home: &Arc<Home>) -> Result<Arc<Column>> {
    let column = read_column(from, home, false)?;
    if let Some(stored) = column.stored() {
        home.file().claim(stored.ptr())?;
    }
    Ok(column)
}

/// What [`write_column`] wrote. Objects in the file are referred to by whoever has written this.
pub(super) fn read_column(
    from: &mut ByteReader<'_>,
    home: &Arc<Home>,
    in_statistics: bool,
) -> Result<Arc<Column>> {
    let meta = SegmentMeta::read(from)?;
    match from.u8()? {
        0 => {
            let segment = Segment::from_bytes(meta.ty, from.sized()?, home.budget())?;
            if segment.len() != meta.len {
                return Err(Error::corrupt("a segment of another length than its column"));
            }
            let column = Column::new(segment);
            if in_statistics {
                column.set_in_statistics();
            }
            Ok(column)
        }
        1 => {
            let column =
                Column::in_file(meta, Stored::new(home, ObjectPtr::read(from)?, true), in_statistics);
            home.cache().enter(&column);
            Ok(column)
        }
        other => Err(Error::corrupt(format!("column of kind {other}"))),
    }
}

fn write_ids(ids: &[i64], out: &mut ByteWriter) {
    out.count(ids.len());
    let mut last = 0;
    for id in ids {
        // Ascending ids are close to each other.
        out.count(id.wrapping_sub(last) as u64 as usize);
        last = *id;
    }
}

fn read_ids(from: &mut ByteReader<'_>) -> Result<Arc<[i64]>> {
    let count = from.count_of(1)?;
    let mut ids = Vec::with_capacity(count);
    let mut last = 0i64;
    for position in 0..count {
        let next = last.wrapping_add(from.count()? as u64 as i64);
        if position > 0 && next <= last {
            return Err(Error::corrupt("row ids that do not ascend"));
        }
        ids.push(next);
        last = next;
    }
    Ok(ids.into())
}

/// Rows as they are in memory.
pub(super) fn write_batch(batch: &Batch, out: &mut ByteWriter) {
    out.count(batch.len());
    out.count(batch.columns().len());
    batch.columns().iter().for_each(|column| write_vector(column, out));
}

pub(super) fn read_batch(from: &mut ByteReader<'_>) -> Result<Batch> {
    let len = from.count()?;
    let columns: Vec<Vector> = (0..from.count_of(2)?).map(|_| read_vector(from)).collect::<Result<_>>()?;
    if columns.iter().any(|column| column.len() != len) {
        return Err(Error::corrupt("columns of different lengths"));
    }
    Ok(Batch::new(columns, len))
}

fn write_vector(vector: &Vector, out: &mut ByteWriter) {
    let flat = vector.flatten();
    let (ty, len) = (flat.logical_type(), flat.len());
    out.logical_type(&ty.clone());
    out.count(len);
    let nulls = flat.null_count() > 0;
    out.bool(nulls);
    if nulls {
        let mut word = 0u64;
        for row in 0..len {
            word |= u64::from(!flat.is_null(row)) << (row % 64);
            if row % 64 == 63 || row + 1 == len {
                out.u64(word);
                word = 0;
            }
        }
    }
    if ty.is_view() {
        let heap = flat.heap().buffers();
        for (row, view) in flat.views()[..len].iter().enumerate() {
            out.sized(if flat.is_null(row) { &[] } else { view.bytes(heap) });
        }
    } else {
        out.raw(&flat.data().bytes()[..len * ty.physical().size()]);
    }
}

fn read_vector(from: &mut ByteReader<'_>) -> Result<Vector> {
    let ty = from.logical_type()?;
    let len = from.count()?;
    if len > from.remaining() {
        // Every value takes at least a byte.
        return Err(Error::corrupt(format!("{len} values in {} bytes", from.remaining())));
    }
    let validity = if from.bool()? {
        let words = (0..len.div_ceil(64)).map(|_| from.u64()).collect::<Result<Vec<u64>>>()?;
        Some(Bitmap::from_words(words, len))
    } else {
        None
    };
    if !ty.is_view() {
        let size = len.checked_mul(ty.physical().size()).ok_or_else(|| Error::corrupt("too many values"))?;
        let bytes = from.raw(size)?;
        if ty == LogicalType::Boolean && bytes.iter().any(|byte| *byte > 1) {
            return Err(Error::corrupt("a BOOLEAN that is neither 0 nor 1"));
        }
        let mut vector = Vector::flat(ty, len, Buffer::copy_of(bytes), validity, Heap::default());
        vector.normalize_nulls();
        return Ok(vector);
    }
    let mut builder = VectorBuilder::new(ty.clone(), len);
    for row in 0..len {
        let bytes = from.sized()?;
        if validity.as_ref().is_some_and(|valid| !valid.get(row)) {
            builder.push_null();
        } else if ty == LogicalType::Varchar && std::str::from_utf8(bytes).is_err() {
            return Err(Error::corrupt("text that is not UTF-8"));
        } else {
            builder.push_bytes(bytes);
        }
    }
    Ok(builder.finish())
}

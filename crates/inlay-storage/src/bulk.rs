//! Loading many rows in parallel: workers encode row groups of their own, and all appear at once.
//!
//! Each worker takes appenders from one [`BulkLoad`], each with a sequence number; [`BulkLoad::commit`] puts the rows
//! of all appenders into the table in the order of these numbers. Workers that claim morsels `0, 1, 2, ...` of the
//! source and load each through an appender with that number therefore keep the order of the source. Where order
//! does not matter, one appender per worker does. Short neighbours are joined while loading goes on.

mod open;
mod update;

pub use update::BulkUpdate;

use crate::column::Column;
use crate::row_group::ROW_GROUP_SIZE;
use crate::table::{Piece, Table};
use inlay_types::{Batch, Error, Reservation, Result, Vector};
use open::OpenColumn;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Rows left over at the end of an appender become a row group of their own from here on.
const ROWS_WORTH_SEALING: usize = ROW_GROUP_SIZE / 4;

/// The same behind row groups of the same appender, where they would become one at the end of the load anyway.
const REST_WORTH_SEALING: usize = ROW_GROUP_SIZE / 32;

/// From this many rows on an appender has room for a row group. Those that stay shorter wait for their neighbours, and
/// must not hold the room of a row group each.
const MANY_ROWS: usize = ROWS_WORTH_SEALING;

/// The part of the memory limit that the texts of a row group may have before it is encoded, however few its rows are. All rows of
/// a row group of long texts may be more than there is memory, and they are copied while they are encoded.
const TEXT_SHARE: u64 = 16;
const TEXT_MIN: u64 = 1 << 20;

/// Rows that wait for their neighbours become a row group of their own from this part of that on.
const WAITING_SHARE: usize = 4;

/// Copies of a column that there may be while it is encoded and written.
const SEAL_COPIES: u64 = 2;

/// A load in progress, shared by its workers. Dropping it without [`BulkLoad::commit`] leaves the table unchanged.
#[derive(Clone, Debug)]
pub struct BulkLoad(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    table: Arc<Table>,
    parts: Mutex<BTreeMap<u64, Part>>,
    /// Columns without rows, whose memory the next appenders use, and what is reserved for it.
    spare: Mutex<Vec<(Vec<OpenColumn>, Option<Reservation>)>>,
}

/// What appenders with numbers from its key to `last` have left.
#[derive(Debug)]
struct Part {
    last: u64,
    sealed: Vec<(Vec<Arc<Column>>, usize)>,
    rest: Vec<Batch>,
    rest_rows: usize,
    /// Bytes of the texts of `rest`.
    rest_text: usize,
    /// Of `rest`, given back on drop.
    reservation: Option<Reservation>,
}

/// Collects the rows of one worker or morsel. Rows count once it is finished and the load is committed.
#[derive(Debug)]
pub struct BulkAppender {
    shared: Arc<Shared>,
    sequence: u64,
    open: Vec<OpenColumn>,
    open_rows: usize,
    /// Rows of the row group that is open: fewer than usual if there is no memory for so many.
    rows_max: usize,
    /// Of `open`; made with the first rows.
    reservation: Option<Reservation>,
    sealed: Vec<(Vec<Arc<Column>>, usize)>,
}

impl BulkLoad {
    /// A load into `table`.
    pub fn new(table: Arc<Table>) -> Self {
        Self(Arc::new(Shared { table, parts: Mutex::default(), spare: Mutex::default() }))
    }

    /// An appender whose rows come after those of appenders with smaller numbers. Numbers are used once.
    pub fn appender(&self, sequence: u64) -> BulkAppender {
        let (open, reservation) = self.0.open_columns();
        BulkAppender {
            shared: Arc::clone(&self.0),
            sequence,
            open,
            open_rows: 0,
            rows_max: ROW_GROUP_SIZE,
            reservation,
            sealed: Vec::new(),
        }
    }

    /// Appends the rows of all finished appenders to the table at once, or nothing. Returns their number.
    pub fn commit(self) -> Result<u64> {
        let parts = std::mem::take(&mut *self.0.parts.lock());
        let mut pieces = Vec::new();
        for part in parts.into_values() {
            pieces.extend(part.sealed.into_iter().map(|(columns, len)| Piece::Sealed(columns, len)));
            pieces.extend(part.rest.into_iter().map(Piece::Raw));
        }
        let count = pieces.iter().map(|p| p.len() as u64).sum();
        self.0.table.append_bulk(pieces)?;
        Ok(count)
    }
}

impl BulkAppender {
    /// Adds rows; columns are those of the table. Fails for NULLs in NOT NULL columns.
    pub fn push(&mut self, batch: &Batch) -> Result<()> {
        let batch = self.shared.table.checked(batch)?;
        let mut from = 0;
        while from < batch.len() {
            let left = batch.len() - from;
            if self.open_rows < MANY_ROWS && self.open_rows + left >= MANY_ROWS {
                self.make_room();
            }
            let len = left.min(self.rows_max - self.open_rows);
            for (open, column) in self.open.iter_mut().zip(batch.columns()) {
                open.append(column, from, len);
            }
            self.open_rows += len;
            from += len;
            if self.open_rows == self.rows_max || text_size(&self.open) > self.shared.text_max() {
                self.seal()?;
            }
        }
        match self.reserve_open() {
            // Shorter row groups are better than none.
            Err(refused) if is_refusal(&refused) && self.open_rows >= REST_WORTH_SEALING => {
                self.seal()?;
                self.open = self.shared.new_columns();
                self.reserve_open()
            }
            outcome => outcome,
        }
    }

    /// Room for a whole row group, or, if memory is short, for the rows there are and a few more.
    fn make_room(&mut self) {
        let size: usize = self.open.iter().map(OpenColumn::memory_size).sum();
        let whole = size / self.open_rows.max(1) * ROW_GROUP_SIZE;
        let held = self.reservation.as_ref().map_or(0, Reservation::bytes);
        // Some is needed to encode it, a column at a time.
        let more = (2 * whole as u64).saturating_sub(held);
        self.rows_max = match self.shared.table.budget().yielding().reserve(more) {
            Ok(_) => {
                self.open.iter_mut().for_each(|open| open.reserve(ROW_GROUP_SIZE));
                ROW_GROUP_SIZE
            }
            Err(_) => MANY_ROWS,
        };
    }

    fn reserve_open(&mut self) -> Result<()> {
        self.shared.reserve(&self.open, &mut self.reservation)
    }

    fn seal(&mut self) -> Result<()> {
        let len = std::mem::take(&mut self.open_rows);
        self.sealed.push((seal(&self.shared.table, &mut self.open, &mut self.reservation)?, len));
        Ok(())
    }

    /// Hands the rows over to the load.
    pub fn finish(mut self) -> Result<()> {
        let worth_sealing = if self.sealed.is_empty() { ROWS_WORTH_SEALING } else { REST_WORTH_SEALING };
        let is_long = text_size(&self.open) > self.shared.text_max() / WAITING_SHARE;
        if self.open_rows >= worth_sealing || is_long {
            self.seal()?;
        }
        let rest = self.shared.take_rest(&mut self.open, self.open_rows)?;
        self.reserve_open()?;
        self.shared.spare.lock().push((std::mem::take(&mut self.open), self.reservation.take()));
        self.shared.add(self.sequence, Part { last: self.sequence, sealed: self.sealed, ..rest })
    }
}

impl Shared {
    /// Bytes of the texts of a row group from which on it is encoded.
    fn text_max(&self) -> usize {
        usize::try_from((self.table.budget().limit() / TEXT_SHARE).max(TEXT_MIN)).unwrap_or(usize::MAX)
    }

    /// Columns for rows to come, one for each of the table's, and what is reserved for their room.
    fn open_columns(&self) -> (Vec<OpenColumn>, Option<Reservation>) {
        self.spare.lock().pop().unwrap_or_else(|| (self.new_columns(), None))
    }

    /// Reserves what columns hold.
    fn reserve(&self, open: &[OpenColumn], reservation: &mut Option<Reservation>) -> Result<()> {
        let size: usize = open.iter().map(OpenColumn::memory_size).sum();
        match reservation {
            Some(reservation) => reservation.resize(size as u64)?,
            none => *none = Some(self.table.budget().reserve(size as u64)?),
        }
        Ok(())
    }

    fn new_columns(&self) -> Vec<OpenColumn> {
        self.table.schema().columns.iter().map(|c| OpenColumn::new(c.ty.clone())).collect()
    }

    /// Takes out rows that are not worth a row group, as a part without one.
    fn take_rest(&self, open: &mut [OpenColumn], rows: usize) -> Result<Part> {
        let rest_text = text_size(open);
        let (sealed, rest) = (Vec::new(), Vec::new());
        let mut part = Part { last: 0, sealed, rest, rest_rows: rows, rest_text, reservation: None };
        if rows > 0 {
            let batch = Batch::new(open.iter_mut().map(OpenColumn::take_to_wait).collect(), rows);
            let size: usize = batch.columns().iter().map(Vector::memory_size).sum();
            part.reservation = Some(self.table.budget().reserve(size as u64)?);
            part.rest.push(batch);
        }
        Ok(part)
    }

    /// Enters a part; if it and its neighbours without a gap make up a row group, they are encoded here and now.
    fn add(&self, sequence: u64, part: Part) -> Result<()> {
        let mut parts = self.parts.lock();
        if parts.insert(sequence, part).is_some() {
            return Err(Error::internal(format!("bulk load sequence number {sequence} was used twice")));
        }
        let (mut first, mut rows) = (sequence, parts[&sequence].rest_rows);
        let mut text = parts[&sequence].rest_text;
        // To the left up to and including a part whose row groups precede its rest; to the right until row groups.
        while parts[&first].sealed.is_empty() {
            let Some((&before, part)) = parts.range(..first).next_back() else { break };
            if part.last + 1 != first {
                break;
            }
            (first, rows) = (before, rows + part.rest_rows);
            text += part.rest_text;
        }
        let mut last = sequence;
        while let Some((&after, part)) = parts.range(last + 1..).next() {
            if parts[&last].last + 1 != after || !part.sealed.is_empty() {
                break;
            }
            (last, rows) = (after, rows + part.rest_rows);
            text += part.rest_text;
        }
        if rows < ROW_GROUP_SIZE && text <= self.text_max() {
            return Ok(());
        }
        let run: Vec<u64> = parts.range(first..=last).map(|(key, _)| *key).collect();
        let taken: Vec<Part> = run.iter().filter_map(|key| parts.remove(key)).collect();
        drop(parts);
        let joined = self.join(taken)?;
        self.parts.lock().insert(first, joined);
        Ok(())
    }

    fn join(&self, taken: Vec<Part>) -> Result<Part> {
        let last = taken.last().map_or(0, |part| part.last);
        let (mut open, mut reservation) = self.open_columns();
        let (mut open_rows, mut sealed) = (0, Vec::new());
        let rows = taken.iter().map(|part| part.rest_rows).sum::<usize>().min(ROW_GROUP_SIZE);
        open.iter_mut().for_each(|open| open.reserve(rows));
        for part in taken {
            sealed.extend(part.sealed);
            for batch in part.rest {
                self.reserve(&open, &mut reservation)?;
                let mut from = 0;
                while from < batch.len() {
                    let len = (batch.len() - from).min(ROW_GROUP_SIZE - open_rows);
                    for (open, column) in open.iter_mut().zip(batch.columns()) {
                        open.append(column, from, len);
                    }
                    (from, open_rows) = (from + len, open_rows + len);
                    if open_rows == ROW_GROUP_SIZE || text_size(&open) > self.text_max() {
                        let columns = seal(&self.table, &mut open, &mut reservation)?;
                        sealed.push((columns, std::mem::take(&mut open_rows)));
                    }
                }
            }
        }
        if text_size(&open) > self.text_max() / WAITING_SHARE {
            let columns = seal(&self.table, &mut open, &mut reservation)?;
            sealed.push((columns, std::mem::take(&mut open_rows)));
        }
        let rest = self.take_rest(&mut open, open_rows)?;
        self.spare.lock().push((open, reservation));
        Ok(Part { last, sealed, ..rest })
    }
}

fn text_size(open: &[OpenColumn]) -> usize {
    open.iter().map(OpenColumn::text_size).sum()
}

/// Whether an error says that memory was refused.
fn is_refusal(error: &Error) -> bool {
    matches!(error.root(), Error::OutOfMemory { .. })
}

/// Encodes a row group, and writes it to the file of the table's database if it has one. What is reserved for the columns is
/// given back as they become segments, which are counted by themselves.
fn seal(
    table: &Table,
    columns: &mut [OpenColumn],
    reservation: &mut Option<Reservation>,
) -> Result<Vec<Arc<Column>>> {
    let one = |column: &mut OpenColumn| {
        if let Some(reserved) = reservation {
            reserved.resize(reserved.bytes().saturating_sub(column.memory_size() as u64))?;
        }
        // What encoding and compressing take meanwhile. If it is refused, caches gave what they had.
        let _scratch = table.budget().reserve(SEAL_COPIES * column.memory_size() as u64).ok();
        let column = Column::new(column.seal(table.budget())?);
        if let Some(home) = table.home() {
            column.persist(home, table.id())?;
        }
        Ok(column)
    };
    columns.iter_mut().map(one).collect()
}

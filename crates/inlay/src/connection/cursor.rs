//! The answer of a statement on its way out: row by row, part by part, or all that is left at once.
//!
//! ```text
//! rows that are there (QueryResult) | rows that are computed when they are asked for (Rest)
//!          ^ the next one
//! ```
//! A cursor holds its connection, so that rows can be read as long as there is one: whoever closes it gives that up. Hosts of every
//! kind read through this; what they do with rows begins behind it.

use super::Connection;
use crate::command::Command;
use crate::delivery::Delivery;
use crate::host::Host;
use crate::rest::{Rest, arrow_arrays};
use crate::result::{QueryResult, ResultKind, Row};
use inlay_types::arrow::{ArrowArrayStream, Exporter, StringLayout};
use inlay_types::{Batch, LogicalType, Result, Value};
use std::ops::Range;
use std::sync::Arc;

/// Bytes of rows that are computed when a statement is run; the others are computed when they are asked for.
pub const FIRST_BYTES: usize = 64 << 20;
/// Rows of a record batch that is handed out, about.
pub const ARROW_ROWS: usize = 1 << 17;

/// See the module documentation.
///
/// ```
/// # fn main() -> inlay::Result<()> {
/// let connection = inlay::Database::open_in_memory()?.connect();
/// let mut cursor = connection.stream("SELECT range AS n FROM range(5000)", &Default::default(), None)?;
/// assert_eq!((cursor.names(), cursor.row_count()), (&["n".to_string()][..], Some(5000)));
/// assert_eq!(cursor.next_row(None)?.unwrap().get::<i64>(0)?, 0);
/// let mut rows = 1;
/// while let Some(batch) = cursor.next_batch(None)? {
///     rows += batch.len();
/// }
/// assert_eq!(rows, 5000);
/// # Ok(())
/// # }
/// ```
pub struct Cursor {
    connection: Connection,
    /// Names, types and kind.
    header: QueryResult,
    /// Absent where not all rows were computed when the statement was run.
    row_count: Option<u64>,
    /// The rows that are there.
    first: QueryResult,
    /// Those behind them.
    rest: Option<Rest>,
    /// The next row of those that are there.
    row: usize,
    /// Rows that lie together, the next one among them, and the first of them.
    part: Option<(usize, Batch)>,
    /// How often rows that were there gave way to others.
    turns: u64,
}

/// Rows of an answer that were not read: those that are there, and those behind them.
pub struct Unread {
    /// The rows that are there.
    pub first: QueryResult,
    rest: Option<Rest>,
    connection: Option<Connection>,
}

impl Cursor {
    /// At the first row of an answer.
    pub fn new(connection: Connection, first: QueryResult, rest: Option<Rest>) -> Self {
        let header = first.without_rows();
        let row_count = rest.is_none().then(|| first.row_count() as u64);
        Self { connection, header, row_count, first, rest, row: 0, part: None, turns: 0 }
    }

    /// The rows that are there and were not read, and those that are still to be computed.
    pub fn into_parts(mut self) -> (QueryResult, Option<Rest>) {
        let Unread { first, rest, connection: _ } = self.take_rest();
        (first, rest)
    }

    /// The connection whose answer it is.
    pub fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Names, types and kind, without rows.
    pub fn header(&self) -> &QueryResult {
        &self.header
    }

    /// Names of the columns.
    pub fn names(&self) -> &[String] {
        self.header.names()
    }

    /// Types of the columns.
    pub fn types(&self) -> &[LogicalType] {
        self.header.types()
    }

    /// What kind of answer it is.
    pub fn kind(&self) -> ResultKind {
        self.header.kind()
    }

    /// What was done.
    pub fn command(&self) -> Command {
        self.header.command()
    }

    /// How many rows the statement gave or changed; `None` for a statement that does neither, and while rows are still to be
    /// computed.
    pub fn row_count(&self) -> Option<u64> {
        match self.header.kind() {
            ResultKind::Rows => self.row_count,
            ResultKind::Changed(count) => Some(count),
            ResultKind::Done => None,
        }
    }

    /// How often what was read gave its memory to other rows: what is known by where it lies is another thing then.
    pub fn turns(&self) -> u64 {
        self.turns
    }

    /// Whether all rows that were not read are there.
    pub fn is_complete(&self) -> bool {
        self.rest.is_none()
    }

    /// The values of the next row, if it is the only one of the answer and at hand as values; [`Cursor::skip`] says that it was read.
    pub fn only_row(&self) -> Option<&[Value]> {
        if self.row == 0 && self.rest.is_none() { self.first.only_row() } else { None }
    }

    /// Whether the next row is in memory, so that reading it takes no time.
    pub fn is_at_hand(&self) -> bool {
        let row = self.row;
        self.part.as_ref().is_some_and(|(first, batch)| (*first..*first + batch.len()).contains(&row))
    }

    /// Sees to it that there is a next row, if any is left. Returns whether there is one.
    fn refill(&mut self, host: Option<&Arc<dyn Host>>) -> Result<bool> {
        while self.row == self.first.row_count() {
            let more = self.rest.as_ref().map_or(Ok(None), |rest| rest.next(host))?;
            self.part = None;
            let Some(more) = more else {
                self.rest = None;
                return Ok(false);
            };
            (self.first, self.row) = (more, 0);
            self.turns += 1;
        }
        Ok(true)
    }

    /// Brings the next row into memory. Returns whether there is one. `host` is asked meanwhile whether to end.
    pub fn advance(&mut self, host: Option<&Arc<dyn Host>>) -> Result<bool> {
        if self.is_at_hand() {
            return Ok(true);
        }
        if !self.refill(host)? {
            return Ok(false);
        }
        self.part = Some(self.first.part_at(self.row)?);
        Ok(true)
    }

    /// Up to `most` of the rows not read yet that were computed together; none behind the last.
    pub fn take_some(&mut self, host: Option<&Arc<dyn Host>>, most: usize) -> Result<QueryResult> {
        self.refill(host)?;
        let to = self.first.row_count().min(self.row.saturating_add(most));
        let rows = self.first.slice(self.row..to);
        self.row = to;
        Ok(rows)
    }

    /// The next rows, at most so many: a batch, and which of its rows they are. `None` behind the last. They stay the next ones until
    /// [`Cursor::skip`] says that they were read.
    pub fn peek(
        &mut self,
        host: Option<&Arc<dyn Host>>,
        most: usize,
    ) -> Result<Option<(&Batch, Range<usize>)>> {
        if !self.advance(host)? {
            return Ok(None);
        }
        let Some((first, batch)) = &self.part else { return Ok(None) };
        let from = self.row - first;
        let to = from + (batch.len() - from).min(most);
        Ok(Some((batch, from..to)))
    }

    /// Goes on behind rows that were read: as many as [`Cursor::peek`] showed, or fewer.
    pub fn skip(&mut self, rows: usize) {
        self.row = (self.row + rows).min(self.first.row_count());
    }

    /// The next rows that lie together; `None` behind the last. `host` is asked meanwhile whether to end.
    pub fn next_batch(&mut self, host: Option<&Arc<dyn Host>>) -> Result<Option<Batch>> {
        let Some((batch, rows)) = self.peek(host, usize::MAX)? else { return Ok(None) };
        let next =
            if rows.len() == batch.len() { batch.clone() } else { batch.slice(rows.start, rows.len()) };
        self.skip(next.len());
        Ok(Some(next))
    }

    /// The next row; `None` behind the last.
    pub fn next_row(&mut self, host: Option<&Arc<dyn Host>>) -> Result<Option<Row>> {
        if let Some(row) = self.only_row().map(Row::of_values) {
            self.skip(1);
            return Ok(Some(row));
        }
        let next = self.peek(host, 1)?.map(|(batch, rows)| Row::of(batch, rows.start));
        self.skip(usize::from(next.is_some()));
        Ok(next)
    }

    /// All rows that were not read; none are left behind.
    pub fn take_rest(&mut self) -> Unread {
        let first = std::mem::replace(&mut self.first, self.header.clone());
        let row = std::mem::take(&mut self.row);
        self.part = None;
        let first = if row == 0 { first } else { first.slice(row..first.row_count()) };
        let rest = self.rest.take();
        // Rows in memory need nobody.
        let needs_database = rest.is_some() || first.is_table();
        Unread { first, rest, connection: needs_database.then(|| self.connection.clone()) }
    }

    /// The rows that were not read, all of them computed.
    pub fn into_result(mut self, host: Option<&Arc<dyn Host>>) -> Result<QueryResult> {
        self.take_rest().into_result(host)
    }

    /// The rows that were not read as a stream of Arrow's C interface; each record batch is computed and converted when it is asked
    /// for, by the thread that asks.
    ///
    /// ```
    /// # fn main() -> inlay::Result<()> {
    /// use inlay::types::arrow::{StreamReader, StringLayout};
    /// let connection = inlay::Database::open_in_memory()?.connect();
    /// let cursor = connection.stream("SELECT range AS n FROM range(5000)", &Default::default(), None)?;
    /// let stream = cursor.into_arrow_stream(StringLayout::Utf8);
    /// let rows: usize = StreamReader::new(stream)?.map(|records| records.map_or(0, |records| records.len())).sum();
    /// assert_eq!(rows, 5000);
    /// # Ok(())
    /// # }
    /// ```
    pub fn into_arrow_stream(mut self, strings: StringLayout) -> ArrowArrayStream {
        self.take_rest().into_arrow_stream(strings, ARROW_ROWS)
    }
}

impl std::fmt::Debug for Cursor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Cursor").field(&self.header.names()).finish()
    }
}

impl From<QueryResult> for Unread {
    fn from(first: QueryResult) -> Self {
        Self { first, rest: None, connection: None }
    }
}

impl Unread {
    /// The connection, if rows may still be computed by it.
    pub fn connection(&self) -> Option<&Connection> {
        self.connection.as_ref()
    }

    /// Whether all of them are there.
    pub fn is_complete(&self) -> bool {
        self.rest.is_none()
    }

    /// Computes the rows, of which none is kept.
    pub fn run_to_end(self, host: Option<&Arc<dyn Host>>) -> Result<()> {
        self.rest.map_or(Ok(()), |rest| rest.run_to_end(host))
    }

    /// All rows.
    pub fn into_result(self, host: Option<&Arc<dyn Host>>) -> Result<QueryResult> {
        match self.rest {
            Some(rest) => rest.join(self.first, host),
            None => Ok(self.first),
        }
    }

    /// Brings the rows into the host's memory; `work` says in what form. `host` is asked meanwhile whether to end.
    pub fn delivered<T>(self, host: &Arc<dyn Host>, work: impl FnOnce(Delivery) -> Result<T>) -> Result<T> {
        let Self { first, rest, connection } = self;
        let delivered = work(Delivery::new(first, rest, host));
        // It kept the database open.
        drop(connection);
        delivered
    }

    /// The rows as a stream of record batches of about so many rows, each of which is computed and converted when it is asked for.
    pub fn into_arrow_stream(self, strings: StringLayout, rows: usize) -> ArrowArrayStream {
        let Self { first, rest, connection } = self;
        let exporter = Exporter::new(first.names(), first.types()).with_strings(strings);
        let arrays = arrow_arrays(first, rest, &exporter, rows.max(1));
        exporter.stream_arrays(arrays.inspect(move |_| {
            // It keeps the database open.
            let _open = &connection;
        }))
    }
}

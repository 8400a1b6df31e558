//! Rows on their way into a table: collected as columns, and handed to one INSERT when there are many.
//!
//! What is collected is in no table yet; [`Appender::flush`] puts it there, all of it or nothing. Memory of what is collected is
//! counted by the database's budget.

use super::Connection;
use crate::host::{Host, HostTable, Parameters};
use crate::tables::Over;
use inlay_catalog::TableSource;
use inlay_formats::ColumnSource;
use inlay_kernels::cast::{cast_rows_in_zone, implied_value};
use inlay_types::error::RowValue;
use inlay_types::sql_text as sql;
use inlay_types::{Error, LogicalType, Reservation, Result, Value, Vector, VectorBuilder};
use std::sync::Arc;

/// Rows that are collected before they go into the table.
const ROWS_MAX: usize = 1 << 17;
/// After so many rows their memory is counted anew.
const COUNTED_ROWS: usize = 1 << 10;
/// What the statements of [`Connection::append`] and of appenders call their rows.
pub const APPENDED: &str = "appended rows";

/// Collects rows for a table.
///
/// ```
/// # fn main() -> inlay::Result<()> {
/// let connection = inlay::Database::open_in_memory()?.connect();
/// connection.execute("CREATE TABLE t (id INTEGER, name VARCHAR)")?;
/// let mut appender = connection.appender(["t"], None)?;
/// for id in 0..1000 {
///     appender.push_row(&[id.into(), format!("name {id}").into()], None)?;
/// }
/// assert_eq!(appender.close(None)?, 1000);
/// assert_eq!(connection.execute("SELECT count(*) FROM t")?.value(0, 0)?.to_string(), "1000");
/// # Ok(())
/// # }
/// ```
pub struct Appender {
    connection: Connection,
    /// Takes the rows from the table `source`.
    sql: String,
    source: String,
    names: Vec<String>,
    types: Vec<LogicalType>,
    /// One for each column, or none before the first row.
    builders: Vec<VectorBuilder>,
    /// Values of the row that is not complete.
    begun: Vec<Value>,
    held: Option<Reservation>,
    /// Rows that went into the table.
    appended: u64,
}

impl Connection {
    /// An appender for a table, or for some of its columns.
    pub fn appender<N: AsRef<str>>(
        &self,
        table: impl IntoIterator<Item = N>,
        columns: Option<&[&str]>,
    ) -> Result<Appender> {
        let (table, rows) = (sql::path(table), sql::ident(APPENDED));
        let (listed, into) = match columns {
            Some(columns) => {
                let listed = columns.iter().map(|name| sql::ident(name)).collect::<Vec<_>>().join(", ");
                let into = format!(" ({listed})");
                (listed, into)
            }
            None => ("*".to_string(), String::new()),
        };
        let insert = format!("INSERT INTO {table}{into} SELECT * FROM {rows}");
        Appender::of_query(self, &format!("SELECT {listed} FROM {table}"), &insert, APPENDED, None)
    }

    /// Puts rows into a table, all of them or none; `by_name` says whether their columns are found by name. Gives how many there
    /// were.
    pub fn append<N: AsRef<str>>(
        &self,
        table: impl IntoIterator<Item = N>,
        rows: Arc<dyn TableSource>,
        by_name: bool,
        host: Option<&Arc<dyn Host>>,
    ) -> Result<u64> {
        let by_name = if by_name { "BY NAME " } else { "" };
        let insert =
            format!("INSERT INTO {} {by_name}SELECT * FROM {}", sql::path(table), sql::ident(APPENDED));
        let host = Over::table(APPENDED, HostTable::Rows(rows), host);
        let answer = self.execute_one(&insert, &Parameters::default(), Some(&host))?;
        Ok(answer.changed_rows().unwrap_or(0))
    }
}

impl Appender {
    /// An appender of rows that have the columns of `query`, which the statement `sql` takes from the table `source`.
    pub fn of_query(
        connection: &Connection,
        query: &str,
        sql: &str,
        source: &str,
        host: Option<&Arc<dyn Host>>,
    ) -> Result<Self> {
        let described = connection.describe_target(query, sql, host)?;
        let columns = described.columns.filter(|columns| !columns.is_empty());
        let columns =
            columns.ok_or_else(|| Error::invalid_argument("an appender needs a table with columns"))?;
        let (names, types) = columns.into_iter().unzip();
        Ok(Self {
            connection: connection.clone(),
            sql: sql.to_string(),
            source: source.to_string(),
            names,
            types,
            builders: Vec::new(),
            begun: Vec::new(),
            held: None,
            appended: 0,
        })
    }

    /// Names of the columns.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Types of the columns.
    pub fn types(&self) -> &[LogicalType] {
        &self.types
    }

    /// What the statement calls the rows.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Rows that are collected and in no table yet.
    pub fn pending_rows(&self) -> usize {
        self.builders.first().map_or(0, VectorBuilder::len)
    }

    /// Rows that went into the table so far.
    pub fn appended_rows(&self) -> u64 {
        self.appended
    }

    /// Whether the next row makes it put what is collected into the table, which takes longer than a row.
    pub fn is_nearly_full(&self) -> bool {
        self.pending_rows() + 1 >= ROWS_MAX
    }

    /// Adds a row; values are cast to the types of the columns.
    pub fn push_row(&mut self, row: &[Value], host: Option<&Arc<dyn Host>>) -> Result<()> {
        if !self.begun.is_empty() {
            return Err(self.misfit(self.begun.len()));
        }
        self.add(row)?;
        self.flush_if_full(host)
    }

    /// Adds the next value of a row; see [`Appender::end_row`].
    pub fn push(&mut self, value: Value) -> Result<()> {
        if self.begun.len() == self.types.len() {
            return Err(self.misfit(self.begun.len() + 1));
        }
        self.begun.push(value);
        Ok(())
    }

    /// Ends a row of values that were added one by one.
    pub fn end_row(&mut self, host: Option<&Arc<dyn Host>>) -> Result<()> {
        let row = std::mem::take(&mut self.begun);
        self.add(&row)?;
        self.flush_if_full(host)
    }

    /// Adds rows as columns of one length; values are cast to the types of the columns.
    pub fn push_columns(&mut self, columns: &[Vector], host: Option<&Arc<dyn Host>>) -> Result<()> {
        if columns.len() != self.types.len() || !self.begun.is_empty() {
            return Err(self.misfit(columns.len()));
        }
        let len = columns.first().map_or(0, Vector::len);
        if let Some(index) = columns.iter().position(|column| column.len() != len) {
            let (name, found) = (&self.names[index], columns[index].len());
            let message = format!("column \"{name}\" has {found} rows, the first column {len}");
            return Err(Error::invalid_argument(message));
        }
        let zone = self.connection.host_settings().zone();
        let cast = |(column, ty): (&Vector, &LogicalType)| {
            if column.ty() == ty {
                return Ok(column.clone());
            }
            let mut cast = Vector::empty(ty.clone());
            cast_rows_in_zone(column, ty, false, &zone, &mut cast)?;
            Ok(cast)
        };
        let cast: Vec<Vector> = columns.iter().zip(&self.types).map(cast).collect::<Result<_>>()?;
        self.begin();
        self.builders.iter_mut().zip(&cast).for_each(|(builder, column)| builder.append(column));
        self.count()?;
        self.flush_if_full(host)
    }

    /// Puts what is collected into the table, and then these rows, whose columns have the order of the appender's.
    pub fn append(&mut self, rows: Arc<dyn TableSource>, host: Option<&Arc<dyn Host>>) -> Result<()> {
        self.flush(host)?;
        self.take_in(rows, host)
    }

    /// Puts what is collected into the table: all of it, or nothing, and then it is not collected any more.
    pub fn flush(&mut self, host: Option<&Arc<dyn Host>>) -> Result<()> {
        if !self.begun.is_empty() {
            return Err(self.misfit(self.begun.len()));
        }
        let builders = std::mem::take(&mut self.builders);
        let held = self.held.take();
        if builders.first().is_none_or(VectorBuilder::is_empty) {
            return Ok(());
        }
        let vectors = builders.into_iter().map(VectorBuilder::finish);
        let columns = self.names.iter().cloned().zip(vectors).collect();
        let outcome = self.take_in(Arc::new(ColumnSource::new(&*self.source, columns)?), host);
        drop(held);
        outcome
    }

    /// Forgets what is collected.
    pub fn clear(&mut self) {
        (self.builders, self.begun, self.held) = (Vec::new(), Vec::new(), None);
    }

    /// Puts what is collected into the table, and gives how many rows went there in all.
    pub fn close(mut self, host: Option<&Arc<dyn Host>>) -> Result<u64> {
        self.flush(host)?;
        Ok(self.appended)
    }

    fn misfit(&self, count: usize) -> Error {
        let expected = self.types.len();
        let values = if expected == 1 { "value" } else { "values" };
        Error::invalid_argument(format!(
            "a row of this appender has {expected} {values}, one per column, not {count}"
        ))
    }

    fn begin(&mut self) {
        if self.builders.is_empty() {
            self.builders = self.types.iter().map(|ty| VectorBuilder::new(ty.clone(), 0)).collect();
        }
    }

    fn add(&mut self, row: &[Value]) -> Result<()> {
        if row.len() != self.types.len() {
            return Err(self.misfit(row.len()));
        }
        self.begin();
        let converted: Vec<Option<Value>> = row
            .iter()
            .enumerate()
            .map(|(index, value)| self.converted(value, index))
            .collect::<Result<_>>()?;
        for ((builder, value), converted) in self.builders.iter_mut().zip(row).zip(&converted) {
            builder.push(converted.as_ref().unwrap_or(value))?;
        }
        if self.pending_rows().is_multiple_of(COUNTED_ROWS) { self.count() } else { Ok(()) }
    }

    /// The value as one of the column's type; `None` where it is one.
    fn converted(&self, value: &Value, index: usize) -> Result<Option<Value>> {
        let (ty, name) = (&self.types[index], &self.names[index]);
        if value.is_null() || value.logical_type() == *ty {
            return Ok(None);
        }
        let failed = |error: Error| {
            let row = vec![RowValue { column: index as u32, name: name.clone(), value: value.to_string() }];
            Error::InRow { error: Box::new(error), row }
        };
        let zone = self.connection.host_settings().zone();
        implied_value(value, ty, &zone).map(Some).map_err(failed)
    }

    /// Asks the budget for the memory of what is collected.
    fn count(&mut self) -> Result<()> {
        let bytes = self.builders.iter().map(VectorBuilder::memory_size).sum::<usize>() as u64;
        match &mut self.held {
            Some(held) => held.resize(bytes),
            None => {
                self.held = Some(self.connection.database()?.budget().reserve(bytes)?);
                Ok(())
            }
        }
    }

    fn flush_if_full(&mut self, host: Option<&Arc<dyn Host>>) -> Result<()> {
        if self.pending_rows() >= ROWS_MAX { self.flush(host) } else { Ok(()) }
    }

    fn take_in(&mut self, rows: Arc<dyn TableSource>, host: Option<&Arc<dyn Host>>) -> Result<()> {
        let host = Over::table(&self.source, HostTable::Rows(rows), host);
        let answer = self.connection.execute_one(&self.sql, &Parameters::default(), Some(&host))?;
        self.appended += answer.changed_rows().unwrap_or(0);
        Ok(())
    }
}

impl std::fmt::Debug for Appender {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Appender").field("names", &self.names).field("rows", &self.pending_rows()).finish()
    }
}

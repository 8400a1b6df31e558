//! The engine's session behind the native protocol.
//!
//! All calls come from the connection's own thread. What computes waits for one of the places for statements and gives it back with each piece of
//! an answer, as the other doors do.

use super::chunks::ChunkTable;
use crate::served::Served;
use crate::session::{FIRST_BYTES, Session as ServedSession};
use inlay::types::{Batch, LogicalType, Vector};
use inlay::{
    CommandClass, Connection, Cursor, Error, Extent, Host, HostScope, HostTable, Limits, Parameters,
    PreparedStatement, Result, ResultKind, Script, TableSource,
};
use inlay_protocol::frame::Parameter;
use inlay_protocol::server::{Answer, Answers, Asker, Prepared, Rows, Session, Sink, Statement};
use inlay_protocol::types::WireColumn;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;
use tokio::runtime::Handle;

/// Tables that the client registered, by their names in lower case.
type Registered = Arc<Mutex<HashMap<String, Arc<dyn TableSource>>>>;

/// What a statement asks while it runs: whether its own stream was cancelled (interrupts of the connection would end all that is open), and
/// for tables that the client registered, which its session alone sees.
struct Asking {
    asker: Option<Arc<Asker>>,
    tables: Registered,
}

impl Host for Asking {
    fn find_table(&self, name: &str, _scope: HostScope) -> Result<Option<HostTable>> {
        Ok(self.tables.lock().get(&name.to_lowercase()).map(|rows| HostTable::Rows(Arc::clone(rows))))
    }

    fn gives_tables(&self) -> bool {
        !self.tables.lock().is_empty()
    }

    fn is_interrupted(&self) -> bool {
        self.asker.as_ref().is_some_and(|asker| asker.is_cancelled())
    }

    fn note(&self, message: &str) {
        if let Some(asker) = &self.asker {
            asker.note(message);
        }
    }
}

/// Waits for places, and counts what is done in them.
#[derive(Clone)]
struct Desk {
    served: Arc<Served>,
    runtime: Handle,
}

impl Desk {
    /// Does work in one of the places for statements.
    fn work<T>(&self, work: impl FnOnce() -> Result<T>) -> Result<T> {
        let _place = match self.served.free_statement_place() {
            Some(place) => place,
            None => self.runtime.block_on(self.served.statement_place())?,
        };
        let started = Instant::now();
        let done = work();
        self.served.metrics.ran(started.elapsed(), done.is_ok());
        done
    }
}

/// See the module documentation.
pub struct NativeSession {
    session: ServedSession,
    tables: Registered,
    desk: Desk,
}

impl NativeSession {
    /// A session for a client that was let in.
    pub fn new(session: ServedSession, runtime: Handle) -> Self {
        let desk = Desk { served: Arc::clone(session.served()), runtime };
        Self { session, tables: Arc::default(), desk }
    }

    fn host(&self, asker: Option<&Arc<Asker>>) -> Arc<dyn Host> {
        Arc::new(Asking { asker: asker.cloned(), tables: Arc::clone(&self.tables) })
    }
}

impl Session for NativeSession {
    fn query(&mut self, text: &str, asker: &Arc<Asker>) -> Result<Box<dyn Answers>> {
        let connection = self.session.connection();
        let script = connection.script(text)?;
        Ok(Box::new(Scripted {
            connection: connection.clone(),
            is_single: script.len() == 1,
            script,
            text: text.to_string(),
            host: self.host(Some(asker)),
            desk: self.desk.clone(),
        }))
    }

    fn prepare(&mut self, text: &str) -> Result<Prepared> {
        let statement = self.session.connection().prepare(text)?;
        let host = self.host(None);
        let shape = self.desk.work(|| statement.describe(Some(&host)))?;
        let parameter =
            |shape: inlay::ParameterShape| Parameter { name: shape.name.unwrap_or_default(), ty: shape.ty };
        let column = |(name, ty): (String, LogicalType)| WireColumn::new(name, ty);
        let (tables, desk) = (Arc::clone(&self.tables), self.desk.clone());
        // EXECUTE and CALL may give rows though nothing is known of them.
        let gives_rows = shape.columns.is_some() || !matches!(shape.command.class(), CommandClass::Change);
        Ok(Prepared {
            tag: shape.command.tag().to_string(),
            parameters: shape.parameters.into_iter().map(parameter).collect(),
            columns: shape.columns.map(|columns| columns.into_iter().map(column).collect()),
            statement: Box::new(Repeated { statement, tables, desk, gives_rows }),
        })
    }

    fn append(
        &mut self,
        table: &[String],
        names: &[String],
        columns: &[WireColumn],
        asker: &Arc<Asker>,
    ) -> Result<Box<dyn Sink>> {
        check_json(columns)?;
        let connection = self.session.connection();
        let transaction = connection.transaction()?;
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let names = (!names.is_empty()).then_some(&names[..]);
        let appender = self.desk.work(|| connection.appender(table, names))?;
        if appender.types().len() != columns.len() {
            let (found, wanted) = (columns.len(), appender.types().len());
            let message = format!("rows of {found} columns are appended to {wanted}");
            return Err(Error::invalid_argument(message).with_hint("name the columns that they go to"));
        }
        let (host, desk) = (self.host(Some(asker)), self.desk.clone());
        Ok(Box::new(Appending { appender, transaction, host, desk }))
    }

    fn register(&mut self, name: &str, columns: &[WireColumn]) -> Result<Box<dyn Sink>> {
        check_json(columns)?;
        if name.is_empty() {
            return Err(Error::invalid_argument("a table of the client has no name"));
        }
        let columns = columns.iter().map(|column| (column.name.clone(), column.ty.clone())).collect();
        let tables = Arc::clone(&self.tables);
        Ok(Box::new(Registering { tables, name: name.to_lowercase(), columns, chunks: Vec::new() }))
    }

    fn unregister(&mut self, name: &str) -> Result<bool> {
        Ok(self.tables.lock().remove(&name.to_lowercase()).is_some())
    }

    fn in_transaction(&self) -> bool {
        self.session.in_transaction()
    }

    fn number(&self) -> Option<u64> {
        Some(self.session.number.into())
    }

    fn limits(&self) -> Option<Limits> {
        let connection = self.session.connection();
        connection.limits_since(connection.enter()).ok()
    }

    fn progress(&self) -> Arc<dyn Fn() -> Option<(f64, u64, u64)> + Send + Sync> {
        let connection = self.session.connection().clone();
        Arc::new(move || {
            let progress = connection.progress()?;
            Some((progress.fraction, progress.rows_done, progress.rows_total))
        })
    }
}

/// JSON of a client is text until it was cast, which needs a column of its own.
fn check_json(columns: &[WireColumn]) -> Result<()> {
    let holds_json = |ty: &LogicalType| ty.is_nested() && ty.has_part(&|part| *part == LogicalType::Json);
    match columns.iter().find(|column| holds_json(&column.ty)) {
        Some(column) => Err(Error::unsupported(format!("JSON inside of \"{}\" of a client", column.name))
            .with_hint("send it as VARCHAR")),
        None => Ok(()),
    }
}

fn cast_json(column: &Vector) -> Result<Vector> {
    if *column.ty() != LogicalType::Json {
        return Ok(column.clone());
    }
    let mut json = Vector::empty(LogicalType::Json);
    inlay::cast(&column.clone().reinterpret(LogicalType::Varchar), &LogicalType::Json, false, &mut json)?;
    Ok(json)
}

struct Scripted {
    connection: Connection,
    script: Script,
    text: String,
    is_single: bool,
    host: Arc<dyn Host>,
    desk: Desk,
}

impl Answers for Scripted {
    fn next(&mut self) -> Result<Option<Answer>> {
        let parameters = Parameters::default();
        if self.is_single {
            // Plans of a text of one statement are kept.
            self.is_single = false;
            self.script.skip();
            let cursor = self.desk.work(|| {
                let (first, rest) = self.connection.stream_with(
                    &self.text,
                    Extent::Statement,
                    &parameters,
                    Some(&self.host),
                    FIRST_BYTES,
                )?;
                Ok(Cursor::new(self.connection.clone(), first, rest))
            })?;
            return Ok(Some(answer(cursor, false, &self.host, &self.desk)));
        }
        let (script, host) = (&mut self.script, &self.host);
        let cursor = self.desk.work(|| script.next_streaming(&parameters, Some(host), FIRST_BYTES))?;
        let more = self.script.peek().is_some();
        Ok(cursor.map(|cursor| answer(cursor, more, &self.host, &self.desk)))
    }
}

fn answer(cursor: Cursor, more: bool, host: &Arc<dyn Host>, desk: &Desk) -> Answer {
    let tag = cursor.header().command_tag();
    let changed = cursor.header().changed_rows();
    let rows = (cursor.kind() == ResultKind::Rows).then(|| {
        let columns = cursor.names().iter().zip(cursor.types());
        let columns = columns.map(|(name, ty)| WireColumn::new(name.clone(), ty.clone())).collect();
        let (host, desk) = (Arc::clone(host), desk.clone());
        (columns, Box::new(Streamed { cursor, host, desk }) as Box<dyn Rows>)
    });
    Answer { tag, rows, changed, more }
}

struct Streamed {
    cursor: Cursor,
    host: Arc<dyn Host>,
    desk: Desk,
}

impl Rows for Streamed {
    fn next(&mut self) -> Result<Option<Batch>> {
        let (cursor, host) = (&mut self.cursor, &self.host);
        match cursor.is_complete() {
            // Rows that are there take no time.
            true => cursor.next_batch(Some(host)),
            false => self.desk.work(|| cursor.next_batch(Some(host))),
        }
    }
}

struct Repeated {
    statement: PreparedStatement,
    tables: Registered,
    desk: Desk,
    gives_rows: bool,
}

impl Statement for Repeated {
    fn run(
        &mut self,
        columns: &[WireColumn],
        values: &Batch,
        asker: &Arc<Asker>,
    ) -> Result<Box<dyn Answers>> {
        check_json(columns)?;
        let rows = values.len();
        let values: Vec<Vector> = values.columns().iter().map(cast_json).collect::<Result<_>>()?;
        let set = |row: usize| {
            let mut parameters = Parameters::default();
            for (column, values) in columns.iter().zip(&values) {
                match column.name.as_str() {
                    "" => parameters.positional.push(values.get(row)),
                    name => parameters.named.push((name.to_string(), values.get(row))),
                }
            }
            parameters
        };
        let asking = Asking { asker: Some(Arc::clone(asker)), tables: Arc::clone(&self.tables) };
        let host: Arc<dyn Host> = Arc::new(asking);
        if rows == 1 {
            let (first, rest) =
                self.desk.work(|| self.statement.stream_with(&set(0), Some(&host), FIRST_BYTES))?;
            let cursor = Cursor::new(self.statement.connection().clone(), first, rest);
            return Ok(Box::new(Once(Some(answer(cursor, false, &host, &self.desk)))));
        }
        if self.gives_rows {
            return Err(Error::unsupported("several rows of values for a statement that gives rows")
                .with_hint("run it once for each"));
        }
        let sets: Vec<Parameters> = (0..rows).map(set).collect();
        let result = self.desk.work(|| self.statement.execute_many(&sets, Some(&host)))?;
        let (tag, changed) = (result.command_tag(), result.changed_rows());
        Ok(Box::new(Once(Some(Answer { tag, rows: None, changed, more: false }))))
    }
}

struct Once(Option<Answer>);

impl Answers for Once {
    fn next(&mut self) -> Result<Option<Answer>> {
        Ok(self.0.take())
    }
}

struct Appending {
    appender: inlay::Appender,
    transaction: inlay::Transaction,
    host: Arc<dyn Host>,
    desk: Desk,
}

impl Sink for Appending {
    fn push(&mut self, rows: Batch) -> Result<()> {
        let columns: Vec<Vector> = rows.columns().iter().map(cast_json).collect::<Result<_>>()?;
        let (appender, host) = (&mut self.appender, &self.host);
        self.desk.work(|| appender.push_columns(&columns, Some(host)))
    }

    fn finish(self: Box<Self>) -> Result<u64> {
        let Self { appender, transaction, host, desk } = *self;
        desk.work(|| {
            let rows = appender.close(Some(&host))?;
            transaction.commit()?;
            Ok(rows)
        })
    }
}

struct Registering {
    tables: Registered,
    name: String,
    columns: Vec<(String, LogicalType)>,
    chunks: Vec<Batch>,
}

impl Sink for Registering {
    fn push(&mut self, rows: Batch) -> Result<()> {
        let columns: Vec<Vector> = rows.columns().iter().map(cast_json).collect::<Result<_>>()?;
        self.chunks.push(Batch::new(columns, rows.len()));
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<u64> {
        let rows = self.chunks.iter().map(|chunk| chunk.len() as u64).sum();
        let table = ChunkTable::new(self.columns, self.chunks);
        // What it replaces is let go of behind the lock.
        let earlier = self.tables.lock().insert(self.name, Arc::new(table));
        drop(earlier);
        Ok(rows)
    }
}

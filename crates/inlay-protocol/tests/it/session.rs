//! A session of the protocol over a connection of the facade.

use inlay::types::{Batch, LogicalType, Vector, VectorBuilder};
use inlay::{
    Connection, Cursor, Database, Error, Extent, Host, HostScope, HostTable, Limits, Parameters,
    PreparedStatement, Result, ResultKind, Script, TableSource,
};
use inlay_protocol::frame::{Hello, Parameter};
use inlay_protocol::server::{
    Admission, Answer, Answers, Asker, Gate, Prepared, Rows, Session, Sessions, Sink, Statement,
};
use inlay_protocol::types::WireColumn;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Bytes of rows that are computed before the first are sent: the others are computed while these are on their way.
const FIRST_BYTES: usize = 1 << 20;

/// Lets in whom `admit` says, to one database.
pub struct OneDatabase<A> {
    pub database: Database,
    pub sessions: Sessions,
    pub admit: A,
    pub token: &'static str,
}

impl<A: Fn(&Hello) -> Admission + Sync> Gate for OneDatabase<A> {
    fn admit(&self, hello: &Hello) -> Result<Admission> {
        Ok((self.admit)(hello))
    }

    fn has_token(&self, _hello: &Hello, token: &[u8]) -> Result<bool> {
        Ok(token == self.token.as_bytes())
    }

    fn open(&self, _hello: &Hello) -> Result<Box<dyn Session>> {
        Ok(Box::new(Embedded { connection: self.database.connect(), tables: Arc::default() }))
    }

    fn sessions(&self) -> &Sessions {
        &self.sessions
    }

    fn name(&self) -> String {
        "inlay".to_string()
    }
}

/// Tables of a session, by their names in lower case.
type Registered = Arc<Mutex<HashMap<String, Arc<dyn TableSource>>>>;

fn lock(tables: &Registered) -> MutexGuard<'_, HashMap<String, Arc<dyn TableSource>>> {
    tables.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A statement is asked on its own thread whether it goes on: interrupts of a connection would end all that is open. Tables that the
/// client registered are given by name: those of a connection are seen by the whole database.
struct Asking {
    asker: Option<Arc<Asker>>,
    tables: Registered,
}

impl Host for Asking {
    fn find_table(&self, name: &str, _scope: HostScope) -> Result<Option<HostTable>> {
        Ok(lock(&self.tables).get(&name.to_lowercase()).map(|rows| HostTable::Rows(Arc::clone(rows))))
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

struct Embedded {
    connection: Connection,
    tables: Registered,
}

impl Embedded {
    fn host(&self, asker: Option<&Arc<Asker>>) -> Arc<dyn Host> {
        Arc::new(Asking { asker: asker.cloned(), tables: Arc::clone(&self.tables) })
    }
}

impl Session for Embedded {
    fn query(&mut self, text: &str, asker: &Arc<Asker>) -> Result<Box<dyn Answers>> {
        let script = self.connection.script(text)?;
        Ok(Box::new(Scripted {
            connection: self.connection.clone(),
            is_single: script.len() == 1,
            script,
            text: text.to_string(),
            host: self.host(Some(asker)),
        }))
    }

    fn prepare(&mut self, text: &str) -> Result<Prepared> {
        let statement = self.connection.prepare(text)?;
        let shape = statement.describe(Some(&self.host(None)))?;
        let parameter =
            |shape: inlay::ParameterShape| Parameter { name: shape.name.unwrap_or_default(), ty: shape.ty };
        let column = |(name, ty): (String, LogicalType)| WireColumn::new(name, ty);
        Ok(Prepared {
            tag: shape.command.tag().to_string(),
            parameters: shape.parameters.into_iter().map(parameter).collect(),
            columns: shape.columns.map(|columns| columns.into_iter().map(column).collect()),
            statement: Box::new(Repeated { statement, tables: Arc::clone(&self.tables) }),
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
        let transaction = self.connection.transaction()?;
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let names = (!names.is_empty()).then_some(&names[..]);
        let appender = self.connection.appender(table, names)?;
        Ok(Box::new(Appending { appender, transaction, host: self.host(Some(asker)) }))
    }

    fn register(&mut self, name: &str, columns: &[WireColumn]) -> Result<Box<dyn Sink>> {
        check_json(columns)?;
        let builders = columns.iter().map(|column| VectorBuilder::new(column.ty.clone(), 0)).collect();
        let names = columns.iter().map(|column| column.name.clone()).collect();
        let tables = Arc::clone(&self.tables);
        Ok(Box::new(Registering { tables, name: name.to_lowercase(), names, builders, rows: 0 }))
    }

    fn unregister(&mut self, name: &str) -> Result<bool> {
        Ok(lock(&self.tables).remove(&name.to_lowercase()).is_some())
    }

    fn in_transaction(&self) -> bool {
        self.connection.in_transaction()
    }

    fn limits(&self) -> Option<Limits> {
        self.connection.limits_since(self.connection.enter()).ok()
    }

    fn progress(&self) -> Arc<dyn Fn() -> Option<(f64, u64, u64)> + Send + Sync> {
        let connection = self.connection.clone();
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
        Some(column) => Err(Error::unsupported(format!("JSON inside of \"{}\" of a client", column.name))),
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
}

impl Answers for Scripted {
    fn next(&mut self) -> Result<Option<Answer>> {
        let (parameters, host) = (Parameters::default(), Some(&self.host));
        if self.is_single {
            self.is_single = false;
            let extent = Extent::Script;
            let (first, rest) =
                self.connection.stream_with(&self.text, extent, &parameters, host, FIRST_BYTES)?;
            let cursor = Cursor::new(self.connection.clone(), first, rest);
            return Ok(Some(answer(cursor, false, &self.host)));
        }
        let cursor = self.script.next(&parameters, host)?;
        Ok(cursor.map(|cursor| answer(cursor, self.script.peek().is_some(), &self.host)))
    }
}

fn answer(cursor: Cursor, more: bool, host: &Arc<dyn Host>) -> Answer {
    let tag = cursor.header().command_tag();
    let changed = cursor.header().changed_rows();
    let rows = (cursor.kind() == ResultKind::Rows).then(|| {
        let columns = cursor.names().iter().zip(cursor.types());
        let columns = columns.map(|(name, ty)| WireColumn::new(name.clone(), ty.clone())).collect();
        (columns, Box::new(Streamed { cursor, host: Arc::clone(host) }) as Box<dyn Rows>)
    });
    Answer { tag, rows, changed, more }
}

struct Streamed {
    cursor: Cursor,
    host: Arc<dyn Host>,
}

impl Rows for Streamed {
    fn next(&mut self) -> Result<Option<Batch>> {
        self.cursor.next_batch(Some(&self.host))
    }
}

struct Repeated {
    statement: PreparedStatement,
    tables: Registered,
}

impl Statement for Repeated {
    fn run(
        &mut self,
        columns: &[WireColumn],
        values: &Batch,
        asker: &Arc<Asker>,
    ) -> Result<Box<dyn Answers>> {
        check_json(columns)?;
        let values: Vec<Vector> = values.columns().iter().map(cast_json).collect::<Result<_>>()?;
        let rows = values.first().map_or(1, Vector::len);
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
            let (first, rest) = self.statement.stream_with(&set(0), Some(&host), FIRST_BYTES)?;
            let cursor = Cursor::new(self.statement.connection().clone(), first, rest);
            return Ok(Box::new(Once(Some(answer(cursor, false, &host)))));
        }
        if self.statement.describe(Some(&host))?.columns.is_some() {
            return Err(Error::unsupported("several rows of values for a statement that gives rows"));
        }
        let sets: Vec<Parameters> = (0..rows).map(set).collect();
        let result = self.statement.execute_many(&sets, Some(&host))?;
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
}

impl Sink for Appending {
    fn push(&mut self, rows: Batch) -> Result<()> {
        let columns: Vec<Vector> = rows.columns().iter().map(cast_json).collect::<Result<_>>()?;
        self.appender.push_columns(&columns, Some(&self.host))
    }

    fn finish(self: Box<Self>) -> Result<u64> {
        let Self { appender, transaction, host } = *self;
        let rows = appender.close(Some(&host))?;
        transaction.commit()?;
        Ok(rows)
    }
}

struct Registering {
    tables: Registered,
    name: String,
    names: Vec<String>,
    builders: Vec<VectorBuilder>,
    rows: u64,
}

impl Sink for Registering {
    fn push(&mut self, rows: Batch) -> Result<()> {
        self.rows += rows.len() as u64;
        for (builder, column) in self.builders.iter_mut().zip(rows.columns()) {
            builder.append(&cast_json(column)?);
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<u64> {
        let columns = self.names.into_iter().zip(self.builders.into_iter().map(VectorBuilder::finish));
        let source = inlay::ColumnSource::new("rows of the client", columns.collect())?;
        lock(&self.tables).insert(self.name, Arc::new(source));
        Ok(self.rows)
    }
}

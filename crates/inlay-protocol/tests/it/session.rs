//! A session of the protocol over a connection of the facade.

use inlay::types::{Batch, LogicalType, Vector};
use inlay::{
    Connection, Cursor, Database, Error, Extent, Host, HostScope, HostTable, Limits, Parameters,
    PreparedStatement, Result, ResultKind, Script,
};
use inlay_protocol::frame::{Hello, Parameter};
use inlay_protocol::server::{
    Admission, Answer, Answers, Asker, Gate, Prepared, Rows, Session, Sessions, Sink, Statement,
};
use inlay_protocol::types::WireColumn;
use std::sync::Arc;

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
        Ok(Box::new(Embedded(self.database.connect())))
    }

    fn sessions(&self) -> &Sessions {
        &self.sessions
    }

    fn name(&self) -> String {
        "inlay".to_string()
    }
}

/// A statement is asked on its own thread whether it goes on: interrupts of a connection would end all that is open.
struct Asking(Arc<Asker>);

impl Host for Asking {
    fn find_table(&self, _name: &str, _scope: HostScope) -> Result<Option<HostTable>> {
        Ok(None)
    }

    fn is_interrupted(&self) -> bool {
        self.0.is_cancelled()
    }

    fn note(&self, message: &str) {
        self.0.note(message);
    }
}

fn host(asker: &Arc<Asker>) -> Arc<dyn Host> {
    Arc::new(Asking(Arc::clone(asker)))
}

struct Embedded(Connection);

impl Session for Embedded {
    fn query(&mut self, text: &str, asker: &Arc<Asker>) -> Result<Box<dyn Answers>> {
        let (script, text) = (self.0.script(text)?, text.to_string());
        Ok(Box::new(Scripted {
            connection: self.0.clone(),
            is_single: script.len() == 1,
            script,
            text,
            host: host(asker),
        }))
    }

    fn prepare(&mut self, text: &str) -> Result<Prepared> {
        let statement = self.0.prepare(text)?;
        let shape = statement.describe(None)?;
        let parameter =
            |shape: inlay::ParameterShape| Parameter { name: shape.name.unwrap_or_default(), ty: shape.ty };
        Ok(Prepared {
            tag: shape.command.tag().to_string(),
            parameters: shape.parameters.into_iter().map(parameter).collect(),
            columns: shape
                .columns
                .map(|columns| columns.into_iter().map(|(name, ty)| WireColumn::new(name, ty)).collect()),
            statement: Box::new(Repeated(statement)),
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
        let transaction = self.0.transaction()?;
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let names = (!names.is_empty()).then_some(&names[..]);
        let appender = self.0.appender(table, names)?;
        Ok(Box::new(Appending { appender, transaction, host: host(asker) }))
    }

    fn register(&mut self, name: &str, columns: &[WireColumn]) -> Result<Box<dyn Sink>> {
        check_json(columns)?;
        let builders =
            columns.iter().map(|column| inlay::types::VectorBuilder::new(column.ty.clone(), 0)).collect();
        let names = columns.iter().map(|column| column.name.clone()).collect();
        Ok(Box::new(Registering {
            connection: self.0.clone(),
            name: name.to_string(),
            names,
            builders,
            rows: 0,
        }))
    }

    fn unregister(&mut self, name: &str) -> Result<bool> {
        self.0.unregister(name)
    }

    fn in_transaction(&self) -> bool {
        self.0.in_transaction()
    }

    fn limits(&self) -> Option<Limits> {
        self.0.limits_since(self.0.enter()).ok()
    }

    fn progress(&self) -> Arc<dyn Fn() -> Option<(f64, u64, u64)> + Send + Sync> {
        let connection = self.0.clone();
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

struct Repeated(PreparedStatement);

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
        let host = host(asker);
        if rows == 1 {
            let (first, rest) = self.0.stream_with(&set(0), Some(&host), FIRST_BYTES)?;
            let cursor = Cursor::new(self.0.connection().clone(), first, rest);
            return Ok(Box::new(Once(Some(answer(cursor, false, &host)))));
        }
        if self.0.describe(None)?.columns.is_some() {
            return Err(Error::unsupported("several rows of values for a statement that gives rows"));
        }
        let sets: Vec<Parameters> = (0..rows).map(set).collect();
        let result = self.0.execute_many(&sets, Some(&host))?;
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
    connection: Connection,
    name: String,
    names: Vec<String>,
    builders: Vec<inlay::types::VectorBuilder>,
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
        let columns =
            self.names.into_iter().zip(self.builders.into_iter().map(inlay::types::VectorBuilder::finish));
        let source = inlay::ColumnSource::new("rows of the client", columns.collect())?;
        self.connection.register(&self.name, Arc::new(source))?;
        Ok(self.rows)
    }
}

//! Databases at servers that ATTACH has named: a session there for each transaction here, and its tables as sources of rows.
//!
//! ```text
//! Transactions ---> RemoteSession (BEGIN ... COMMIT on a connection of its own) ---> server
//!   a name      --> RemoteSession::table   columns by a prepared SELECT, kept for the transaction
//!   a plan      --> RemoteSession::query   rows of a query, decoded by whichever workers ask for them
//!   a statement --> RemoteSession::run, append
//! ```
//! What a transaction reads there is one moment. A connection whose transaction was committed waits for the next one; any other is closed, which
//! undoes what it did. Who attached a database lends his password with it: others than him and superusers may not use it.

use super::server::{ServerAddress, told, values_of};
use crate::host::Parameters;
use crate::result::QueryResult;
use inlay_catalog::{
    RemoteTable, ScanRequest, SourceColumn, SourceScan, SourceTask, TableSource, split_name,
};
use inlay_exec::Workers;
use inlay_protocol::WireError;
use inlay_protocol::chunk::ChunkReader;
use inlay_protocol::client::{Appender, Client, ClientError, Prepared, Reply, asking};
use inlay_protocol::types::WireColumn;
use inlay_types::error::ErrorKind;
use inlay_types::limits::{self, Limits};
use inlay_types::process::process_id;
use inlay_types::sql_text as sql;
use inlay_types::{Batch, Error, Interrupt, LogicalType, MemoryBudget, Result, VECTOR_SIZE};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Connections that nobody uses are kept, but no more than so many.
const IDLE_MAX: usize = 8;
/// What statements of several steps are undone by.
const SAVEPOINT: &str = "inlay_statement";

/// What takes rows that are sent.
pub(crate) type Take<'t> = dyn FnMut(Batch) -> Result<()> + 't;

/// A database at a server, under a name here.
pub(crate) struct RemoteDatabase {
    pub name: String,
    pub is_read_only: bool,
    /// Who attached it; absent for whoever may everything.
    pub owner: Option<String>,
    address: ServerAddress,
    idle: Mutex<Vec<Client>>,
    process: u32,
}

impl RemoteDatabase {
    /// Connects to it. `own` is what says of a server that it has the database of this process open.
    pub fn open(
        name: &str,
        url: &str,
        is_read_only: bool,
        owner: Option<String>,
        (zone, own): (&str, &str),
        interrupt: &Interrupt,
    ) -> Result<Self> {
        let access = is_read_only.then_some(inlay_storage::store::AccessMode::ReadOnly);
        let address = interruptible(interrupt, || ServerAddress::new(url, &[], access, zone, Some(own)))?;
        let (name, idle) = (name.to_string(), Mutex::default());
        Ok(Self { name, is_read_only, owner, address, idle, process: process_id() })
    }

    /// Where it is, without what proves who connects.
    pub fn shown(&self) -> String {
        self.address.shown()
    }

    fn client(&self) -> Result<Client> {
        if self.process != process_id() {
            let message = format!("database \"{}\" was attached before the process was forked", self.name);
            return Err(Error::Closed { message }.with_hint("ATTACH it in the child"));
        }
        let idle = self.idle.lock().pop();
        match idle.filter(|client| client.ping().is_ok()) {
            Some(client) => Ok(client),
            None => self.address.connect().map_err(|error| self.named(error)),
        }
    }

    /// An error of the server with the name of the database; `text` is the statement's, if its user wrote it.
    fn error(&self, error: ClientError, text: &str) -> Error {
        let error = told(error, text);
        match error {
            // Places in a text that nobody wrote help nobody.
            Error::At { error, place } if text.is_empty() && place.of.is_empty() => self.named(*error),
            error => self.named(error),
        }
    }

    fn named(&self, error: Error) -> Error {
        match error {
            Error::Told { kind, message, hint, detail } => {
                let message = format!("database \"{}\": {message}", self.name);
                Error::Told { kind, message, hint, detail }
            }
            Error::Closed { message } => {
                Error::Closed { message: format!("database \"{}\": {message}", self.name) }
            }
            Error::At { error, place } => Error::At { error: Box::new(self.named(*error)), place },
            Error::Hinted { error, hint } => Error::Hinted { error: Box::new(self.named(*error)), hint },
            error => error,
        }
    }
}

/// What a transaction does at a server.
pub(crate) struct RemoteSession {
    pub database: Arc<RemoteDatabase>,
    /// Whether the transaction here only reads.
    is_read_only: bool,
    /// Savepoints that were there before anything was asked.
    savepoints: Vec<String>,
    state: Mutex<State>,
    /// Columns of tables that were looked up, by the tables' names in lower case.
    known: Mutex<HashMap<String, Option<Vec<SourceColumn>>>>,
    writes: AtomicBool,
    self_: std::sync::Weak<RemoteSession>,
}

#[derive(Default)]
struct State {
    client: Option<Client>,
    is_begun: bool,
    /// The settings that the session there was told.
    told: Vec<String>,
}

impl RemoteSession {
    /// Nothing is asked yet.
    pub fn new(database: Arc<RemoteDatabase>, is_read_only: bool, savepoints: Vec<String>) -> Arc<Self> {
        let (state, known, writes) = (Mutex::default(), Mutex::default(), AtomicBool::new(false));
        Arc::new_cyclic(|own| Self {
            database,
            is_read_only,
            savepoints,
            state,
            known,
            writes,
            self_: std::sync::Weak::clone(own),
        })
    }

    /// Whether something is changed.
    pub fn has_changes(&self) -> bool {
        self.writes.load(Ordering::Relaxed)
    }

    /// The transaction is about to change something.
    pub fn will_change(&self) -> Result<()> {
        if self.is_read_only || self.database.is_read_only {
            let name = &self.database.name;
            let message = match self.database.is_read_only {
                true => format!("database \"{name}\" is attached to be read alone"),
                false => format!("cannot change database \"{name}\" in a transaction that only reads"),
            };
            return Err(Error::ReadOnly { message });
        }
        self.writes.store(true, Ordering::Relaxed);
        Ok(())
    }

    fn sent(&self, client: &Client, text: &str) -> Result<()> {
        let sent = client.query(text).and_then(Reply::finish);
        sent.map(drop).map_err(|error| self.database.error(error, ""))
    }

    /// The connection, in a transaction.
    fn begun(&self) -> Result<Client> {
        let mut state = self.state.lock();
        let client = match &state.client {
            Some(client) => client.clone(),
            None => state.client.insert(self.database.client()?).clone(),
        };
        if !state.is_begun {
            let is_reader = self.is_read_only || self.database.is_read_only;
            self.sent(&client, if is_reader { "BEGIN TRANSACTION READ ONLY" } else { "BEGIN" })?;
            state.is_begun = true;
            for name in &self.savepoints {
                self.sent(&client, &format!("SAVEPOINT {}", sql::ident(name)))?;
            }
        }
        Ok(client)
    }

    /// The connection: in a transaction where there is one already.
    fn connected(&self, begins: bool) -> Result<Client> {
        if begins {
            return self.begun();
        }
        let mut state = self.state.lock();
        match &state.client {
            Some(client) => Ok(client.clone()),
            None => Ok(state.client.insert(self.database.client()?).clone()),
        }
    }

    /// A table or view; `None` if there is none.
    pub fn table(&self, key: &str, interrupt: &Interrupt) -> Result<Option<Arc<Rows>>> {
        let lower = key.to_lowercase();
        let (schema, name) = split_name(key);
        let table = sql::path([schema, name]);
        let known = self.known.lock().get(&lower).cloned();
        let columns = match known {
            Some(known) => known,
            None => {
                let columns = match self.prepared(&format!("SELECT * FROM {table}"), interrupt) {
                    Ok(found) => Some(columns_of(&found)),
                    Err(error) if is_nowhere(&error) => None,
                    Err(error) => return Err(error),
                };
                self.known.lock().insert(lower, columns.clone());
                columns
            }
        };
        let Some(columns) = columns else { return Ok(None) };
        Ok(Some(Arc::new(Rows { from: From::Table(table), columns, session: self.own()? })))
    }

    fn own(&self) -> Result<Arc<Self>> {
        self.self_.upgrade().ok_or_else(|| Error::internal("a session at a server is gone"))
    }

    fn prepared(&self, text: &str, interrupt: &Interrupt) -> Result<Prepared> {
        interruptible(interrupt, || {
            self.begun()?.prepare(text).map_err(|error| self.database.error(error, ""))
        })
    }

    /// Names of all tables and views, as they are looked up.
    pub fn names(&self, interrupt: &Interrupt) -> Result<Vec<String>> {
        let text = "SELECT schema_name, table_name FROM duckdb_tables() WHERE database_name = current_database() \
                    UNION ALL SELECT schema_name, view_name FROM duckdb_views() \
                    WHERE database_name = current_database() AND NOT internal";
        interruptible(interrupt, || {
            let failed = |error| self.database.error(error, "");
            let mut reply = self.begun()?.query(text).map_err(failed)?;
            let mut names = Vec::new();
            while let Some(batch) = reply.next_batch().map_err(failed)? {
                for row in 0..batch.len() {
                    let (schema, name) = (batch.column(0).get(row), batch.column(1).get(row));
                    names.push(inlay_catalog::qualified(&schema.to_string(), &name.to_string()));
                }
            }
            Ok(names)
        })
    }

    /// The rows of a query whose columns have these names and types; `None` if the server does not take it, or gives others.
    pub fn query(
        &self,
        text: String,
        columns: Vec<SourceColumn>,
        interrupt: &Interrupt,
    ) -> Result<Option<Arc<Rows>>> {
        let prepared = match self.prepared(&text, interrupt) {
            Ok(prepared) => prepared,
            Err(error @ (Error::Interrupted | Error::Closed { .. })) => return Err(error),
            Err(_) => return Ok(None),
        };
        let types = prepared.columns.iter().flatten().map(|column| &column.ty);
        let is_alike = columns.is_empty() || types.eq(columns.iter().map(|column| &column.ty));
        if !is_alike {
            return Ok(None);
        }
        let names = columns_of(&prepared).into_iter().map(|column| column.name).collect();
        Ok(Some(Arc::new(Rows { from: From::Query(text, names), columns, session: self.own()? })))
    }

    /// Tells the session there settings that say what a statement means, unless it was told them.
    pub fn tell(&self, settings: Vec<String>, begins: bool, interrupt: &Interrupt) -> Result<()> {
        if self.state.lock().told == settings {
            return Ok(());
        }
        interruptible(interrupt, || {
            let client = self.connected(begins)?;
            settings.iter().try_for_each(|setting| self.sent(&client, setting))?;
            self.state.lock().told = settings;
            Ok(())
        })
    }

    /// Runs a statement there. `shown` is the text that its user wrote; `begins` says that it is not the only one of its transaction.
    pub fn run(
        &self,
        text: &str,
        shown: &str,
        parameters: &Parameters,
        begins: bool,
        (budget, interrupt, workers): (&MemoryBudget, &Interrupt, Workers),
    ) -> Result<QueryResult> {
        self.known.lock().clear();
        let failed = |error| self.database.error(error, shown);
        let limits = Limits::new(budget.clone(), interrupt.clone());
        let work = || {
            let client = self.connected(begins)?;
            let prepared;
            let mut reply = match parameters.positional.is_empty() && parameters.named.is_empty() {
                true => client.query(text).map_err(failed)?,
                false => {
                    prepared = client.prepare(text).map_err(failed)?;
                    let (columns, values) = values_of(parameters)?;
                    prepared.execute_named(columns, &values).map_err(failed)?
                }
            };
            let Some(columns) = reply.columns() else {
                let done = reply.finish().map_err(failed)?;
                return Ok(done.changed.map_or_else(QueryResult::done, QueryResult::changed));
            };
            let (names, types): (Vec<String>, Vec<LogicalType>) =
                columns.iter().map(|column| (column.name.clone(), column.ty.clone())).unzip();
            let mut batches = Vec::new();
            while let Some(batch) = reply.next_batch().map_err(failed)? {
                batches.push(batch);
            }
            Ok(QueryResult::of_rows(names, types, batches, Some(workers.clone())))
        };
        interruptible(interrupt, || limits::with(limits, work))
    }

    /// Sends rows for a table, all or none of them. `create` is run before.
    pub fn append(
        &self,
        key: &str,
        names: &[String],
        columns: Vec<WireColumn>,
        create: Option<&str>,
        rows: &mut dyn FnMut(&mut Take<'_>) -> Result<()>,
        interrupt: &Interrupt,
    ) -> Result<u64> {
        let failed = |error| self.database.error(error, "");
        let client = interruptible(interrupt, || self.begun())?;
        self.known.lock().clear();
        let (schema, name) = split_name(key);
        let mut work = || {
            if let Some(create) = create {
                self.sent(&client, create)?;
            }
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let mut appender: Appender =
                client.append(&[schema, name], &names, columns.clone()).map_err(failed)?;
            rows(&mut |batch| interruptible(interrupt, || appender.push(batch).map_err(failed)))?;
            appender.finish().map_err(failed)
        };
        interruptible(interrupt, || {
            self.sent(&client, &format!("SAVEPOINT {SAVEPOINT}"))?;
            let outcome = work();
            let end = if outcome.is_ok() { "RELEASE SAVEPOINT" } else { "ROLLBACK TO SAVEPOINT" };
            let ended = self.sent(&client, &format!("{end} {SAVEPOINT}"));
            outcome.and_then(|count| ended.map(|()| count))
        })
    }

    /// Says something about savepoints, if something was asked already.
    pub fn control(&self, text: &str) -> Result<()> {
        let state = self.state.lock();
        match state.client.as_ref().filter(|_| state.is_begun) {
            Some(client) => self.sent(client, text),
            None => Ok(()),
        }
    }

    /// Commits what was done.
    pub fn commit(&self) -> Result<()> {
        let State { client, is_begun, told: _ } = std::mem::take(&mut *self.state.lock());
        let Some(client) = client else { return Ok(()) };
        if is_begun {
            let committed = client.query("COMMIT").and_then(Reply::finish);
            match committed {
                Ok(_) => {}
                Err(ClientError::Wire(WireError::Closed { .. } | WireError::Io { .. }))
                    if self.has_changes() =>
                {
                    let name = &self.database.name;
                    let message = format!(
                        "the connection to database \"{name}\" broke during COMMIT: whether it committed is not known"
                    );
                    return Err(Error::Closed { message }.with_hint("look there; nothing was changed here"));
                }
                Err(error) => return Err(self.database.error(error, "")),
            }
        }
        let mut idle = self.database.idle.lock();
        if idle.len() < IDLE_MAX {
            idle.push(client);
        }
        Ok(())
    }
}

fn columns_of(prepared: &Prepared) -> Vec<SourceColumn> {
    let columns = prepared.columns.iter().flatten();
    columns.map(|column| SourceColumn { name: column.name.clone(), ty: column.ty.clone() }).collect()
}

/// Whether an error says that there is no such table, schema or database.
fn is_nowhere(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::UndefinedTable)
}

/// Does work that waits for a server, and ends it when that is not wanted any more.
pub(crate) fn interruptible<T>(interrupt: &Interrupt, work: impl FnOnce() -> Result<T>) -> Result<T> {
    let wanted = interrupt.clone();
    match asking(Rc::new(move || wanted.is_set()), work) {
        // Why it was interrupted is known here.
        Err(Error::Interrupted) => interrupt.check().and(Err(Error::Interrupted)),
        outcome => outcome,
    }
}

/// What rows are read of.
enum From {
    /// A table's name as SQL.
    Table(String),
    /// A query that gives all columns, and what they are called in it.
    Query(String, Vec<String>),
}

/// Rows at a server.
pub(crate) struct Rows {
    from: From,
    columns: Vec<SourceColumn>,
    session: Arc<RemoteSession>,
}

impl fmt::Debug for Rows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Rows({})", self.description())
    }
}

impl TableSource for Rows {
    fn description(&self) -> String {
        let name = &self.session.database.name;
        match &self.from {
            From::Table(table) => format!("{table} of {name}"),
            From::Query(text, _) => format!("{name}: {text}"),
        }
    }

    fn columns(&self) -> &[SourceColumn] {
        &self.columns
    }

    fn row_count_estimate(&self) -> Option<u64> {
        None
    }

    fn remote(&self) -> Option<RemoteTable> {
        match &self.from {
            From::Table(table) => {
                let database = self.session.database.name.clone();
                Some(RemoteTable { database, table: table.clone() })
            }
            From::Query(..) => None,
        }
    }

    fn narrowed(&self, wanted: &[usize]) -> Option<Arc<dyn TableSource>> {
        let From::Query(text, names) = &self.from else { return None };
        if wanted.len() == self.columns.len() {
            return None;
        }
        let names: Vec<String> =
            wanted.iter().map(|index| names.get(*index).cloned()).collect::<Option<_>>()?;
        let columns = wanted.iter().map(|index| self.columns.get(*index).cloned()).collect::<Option<_>>()?;
        let listed: Vec<String> = names.iter().map(|name| sql::ident(name)).collect();
        let listed = if listed.is_empty() { "1 AS k".to_string() } else { listed.join(", ") };
        let from = From::Query(format!("SELECT {listed} FROM ({text}) AS q"), names);
        Some(Arc::new(Self { from, columns, session: Arc::clone(&self.session) }))
    }

    fn scan(&self, request: ScanRequest) -> Result<Box<dyn SourceScan>> {
        let ScanRequest { columns, budget, interrupt, .. } = request;
        let own = |index: &usize| self.columns.get(*index).map(|column| sql::ident(&column.name));
        let (text, wanted) = match &self.from {
            From::Query(text, _) => (text.clone(), columns),
            From::Table(table) => {
                let items: Vec<String> = columns.iter().filter_map(own).collect();
                let items = if items.is_empty() { "1".to_string() } else { items.join(", ") };
                (format!("SELECT {items} FROM {table}"), (0..columns.len()).collect())
            }
        };
        let session = Arc::clone(&self.session);
        let reply = interruptible(&interrupt, || {
            session.begun()?.query(&text).map_err(|error| session.database.error(error, ""))
        })?;
        let types: Vec<LogicalType> =
            reply.columns().unwrap_or_default().iter().map(|column| column.ty.clone()).collect();
        let limits = Limits::new(budget, interrupt);
        Ok(Box::new(Scan {
            reply: Mutex::new(Some(reply)),
            types: types.into(),
            wanted: wanted.into(),
            session,
            limits,
        }))
    }
}

/// A chunk is a morsel; whoever asks for it decodes it.
struct Scan {
    /// Absent behind its end.
    reply: Mutex<Option<Reply>>,
    types: Arc<[LogicalType]>,
    wanted: Arc<[usize]>,
    session: Arc<RemoteSession>,
    limits: Limits,
}

impl SourceScan for Scan {
    fn next_task(&self) -> Result<Option<SourceTask>> {
        let mut reply = self.reply.lock();
        let Some(open) = reply.as_mut() else { return Ok(None) };
        let next = interruptible(&self.limits.interrupt, || {
            limits::with(self.limits.clone(), || open.next_chunk())
                .map_err(|error| self.session.database.error(error, ""))
        });
        let chunk = match next {
            Ok(Some(chunk)) => chunk,
            ended => {
                reply.take();
                return ended.map(|_| None);
            }
        };
        drop(reply);
        let rows = limits::with(self.limits.clone(), || self.decoded(chunk))?;
        let starts = (0..rows.len()).step_by(VECTOR_SIZE);
        Ok(Some(Box::new(
            starts.map(move |start| Ok(rows.slice(start, VECTOR_SIZE.min(rows.len() - start)))),
        )))
    }
}

impl Scan {
    fn decoded(&self, chunk: ChunkReader) -> Result<Batch> {
        let broken = |error| self.session.database.error(ClientError::Wire(error), "");
        let all = chunk.batch(&self.types).map_err(broken)?;
        let columns = self.wanted.iter().map(|index| all.column(*index).clone()).collect();
        Ok(Batch::new(columns, all.len()))
    }
}

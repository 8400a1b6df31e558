//! A session at a server: statements go there as text, and rows come back in chunks, which are an answer like any other.
//!
//! ```text
//! Connection::run, describe, register --> Far --> inlay_protocol::client --> server
//!            QueryResult, Rest <--------- chunks <-------------------------/
//! ```
//! Texts are read here, so that they mean the same, and each statement is sent by itself, behind blanks in the place of what comes before it in its
//! text: places of errors are those of the text. Tables of the program that a statement names are sent before it, and forgotten behind it.

use crate::command::{Command, CommandClass};
use crate::database::server::{ServerAddress, told, values_of};
use crate::execute::Given;
use crate::host::{Host, HostScope, HostTable, Parameters};
use crate::host_values::vector_of_values;
use crate::rest::{Elsewhere, Rest};
use crate::result::QueryResult;
use crate::statements::statements_of;
use inlay_catalog::{ScanRequest, TableSource};
use inlay_exec::{Progress, Workers, rows_size};
use inlay_protocol::client::{Client, Prepared, Reply, asking};
use inlay_protocol::types::WireColumn;
use inlay_sql::parser::ast;
use inlay_types::error::ErrorKind;
use inlay_types::limits::{self, Limits};
use inlay_types::sql_text as sql;
use inlay_types::{Batch, Error, Interrupt, LogicalType, MemoryBudget, Result, Vector};
use parking_lot::Mutex;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Statements that the server keeps for this session.
const PREPARED_MAX: usize = 64;
/// Bytes before a statement in its text that are sent as blanks.
const BEFORE_MAX: usize = 64 << 10;
/// How deep queries of the program may lie in one another.
const QUERIES_MAX: usize = 50;

/// Names and types of columns.
type Columns = Vec<(String, LogicalType)>;

/// See the module documentation.
pub(super) struct Far {
    address: Arc<ServerAddress>,
    /// Absent before the first statement.
    client: Mutex<Option<Client>>,
    /// By their texts, the newest at the end.
    prepared: Mutex<Vec<(Box<str>, Arc<Prepared>)>>,
    in_transaction: Arc<AtomicBool>,
}

/// What a statement of a session at a server is run with.
pub(super) struct Means<'a> {
    pub budget: &'a MemoryBudget,
    pub workers: Workers,
    /// Which of its objects the host may give for names that the server does not know.
    pub scope: HostScope,
}

/// What was made for one statement at the server.
#[derive(Default)]
struct Lent {
    tables: Vec<String>,
    views: Vec<String>,
}

impl Far {
    pub fn new(address: Arc<ServerAddress>) -> Self {
        let (client, prepared, in_transaction) = Default::default();
        Self { address, client, prepared, in_transaction }
    }

    pub fn in_transaction(&self) -> bool {
        self.in_transaction.load(Ordering::Acquire)
    }

    fn client(&self) -> Result<Client> {
        let mut client = self.client.lock();
        match &*client {
            Some(client) => Ok(client.clone()),
            None => Ok(client.insert(self.address.connect()?).clone()),
        }
    }

    /// How far the running statement is, as the server last said.
    pub fn progress(&self) -> Option<Progress> {
        let client = self.client.try_lock()?.clone()?;
        let (fraction, rows_done, rows_total) = client.progress()?;
        Some(Progress { fraction, rows_done, rows_total })
    }

    /// Ends the session.
    pub fn close(&self) {
        let prepared = std::mem::take(&mut *self.prepared.lock());
        let client = self.client.lock().take();
        drop((prepared, client));
    }

    /// Runs a statement.
    pub fn run(
        &self,
        statement: &ast::Statement,
        given: Given<'_>,
        means: &Means<'_>,
    ) -> Result<QueryResult> {
        let answer = self.with_tables(statement, given, means, |client| {
            let reply = self.ask(client, statement, given.parameters)?;
            self.answer(reply, statement, given, means)
        })?;
        Ok(answer.of_command(Command::of(&statement.kind)))
    }

    /// Runs a statement that gives no rows once for each set of parameters, all or nothing; `None` if it is none of these.
    pub fn run_many(
        &self,
        statement: &ast::Statement,
        sets: &[Parameters],
        given: Given<'_>,
        means: &Means<'_>,
    ) -> Result<Option<QueryResult>> {
        let command = Command::of(&statement.kind);
        let Some(first) = sets.first().filter(|_| command.class() == CommandClass::Change) else {
            return Ok(None);
        };
        let named = |set: &Parameters| set.named.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
        let names = named(first);
        let is_alike =
            |set: &Parameters| set.positional.len() == first.positional.len() && named(set) == names;
        if names.is_empty() && first.positional.is_empty() || !sets.iter().all(is_alike) {
            return Ok(None);
        }
        let count = first.positional.len();
        let column = |index: usize| -> Result<(WireColumn, Vector)> {
            let value = |set: &Parameters| match set.positional.get(index) {
                Some(value) => value.clone(),
                None => set.named[index - count].1.clone(),
            };
            let values = vector_of_values(sets.iter().map(value).collect())?;
            let name = index.checked_sub(count).map_or("", |index| names[index].as_str());
            Ok((WireColumn::new(name, values.logical_type()), values))
        };
        let columns = (0..count + names.len()).map(column).collect::<Result<Vec<_>>>()?;
        let (columns, values): (Vec<WireColumn>, Vec<Vector>) = columns.into_iter().unzip();
        let values = Batch::new(values, sets.len());
        let answer = self.with_tables(statement, given, means, |client| {
            let text = &statement.sql;
            let prepared = self.prepared(client, statement)?;
            if prepared.columns.is_some() {
                return Ok(None);
            }
            let reply =
                prepared.execute_named(columns.clone(), &values).map_err(|error| told(error, text))?;
            self.answer(reply, statement, given, means).map(Some)
        })?;
        Ok(answer.map(|answer| answer.of_command(command)))
    }

    /// Types of a statement's parameters, as far as they are known, those by position first; and its columns if it gives rows.
    pub fn shape(
        &self,
        statement: &ast::Statement,
        given: Given<'_>,
        means: &Means<'_>,
    ) -> Result<(Vec<Option<LogicalType>>, Option<Columns>)> {
        self.with_tables(statement, given, means, |client| {
            let prepared = self.prepared(client, statement)?;
            let columns = prepared.columns.as_ref().map(|columns| {
                columns.iter().map(|column| (column.name.clone(), column.ty.clone())).collect()
            });
            Ok((prepared.parameters.iter().map(|parameter| parameter.ty.clone()).collect(), columns))
        })
    }

    /// Sends rows, which statements of this session see by this name.
    pub fn register(&self, name: &str, source: &dyn TableSource, budget: &MemoryBudget) -> Result<()> {
        let client = self.client()?;
        let interrupt = limits::current().map_or_else(Interrupt::default, |limits| limits.interrupt.clone());
        send_rows(&client, name, source, budget, &interrupt)
    }

    /// Forgets such rows.
    pub fn unregister(&self, name: &str) -> Result<()> {
        self.client()?.unregister(name).map_err(|error| told(error, ""))
    }

    /// Does something with a statement; the tables of the program that it names are there meanwhile.
    fn with_tables<T>(
        &self,
        statement: &ast::Statement,
        given: Given<'_>,
        means: &Means<'_>,
        work: impl Fn(&Client) -> Result<T>,
    ) -> Result<T> {
        let client = self.client()?;
        let (interrupt, wanted) = (given.interrupt.clone(), given.interrupt.clone());
        let limits = Limits::new(means.budget.clone(), interrupt);
        let all = || {
            let mut lent = Lent::default();
            let gives = given.host.filter(|host| host.gives_tables());
            let mut outcome = match gives {
                Some(host) => self
                    .lend(&client, statement.text(), host, HostScope::Given, given, means, &mut lent, 0)
                    .and_then(|_| work(&client)),
                None => work(&client),
            };
            // What nobody else has may be a variable of the program.
            if let (Err(error), Some(host)) = (&outcome, given.host)
                && error.kind() == ErrorKind::UndefinedTable
            {
                match self.lend(&client, statement.text(), host, means.scope, given, means, &mut lent, 0) {
                    Ok(true) => outcome = work(&client),
                    Ok(false) => {}
                    Err(error) => outcome = Err(error),
                }
            }
            for notice in client.take_notices() {
                given.host.inspect(|host| host.note(&notice.message));
            }
            let forgotten = self.forget(&client, lent);
            outcome.and_then(|answer| forgotten.map(|()| answer))
        };
        let outcome = asking(Rc::new(move || wanted.is_set()), || limits::with(limits, all));
        match outcome {
            // Why it was interrupted is known here.
            Err(Error::Interrupted) => given.interrupt.check().and(Err(Error::Interrupted)),
            outcome => outcome,
        }
    }

    /// Makes the program's tables that a text names known to the server; whether there were some.
    #[expect(clippy::too_many_arguments, reason = "it calls itself for queries of the program")]
    fn lend(
        &self,
        client: &Client,
        text: &str,
        host: &dyn Host,
        scope: HostScope,
        given: Given<'_>,
        means: &Means<'_>,
        lent: &mut Lent,
        depth: usize,
    ) -> Result<bool> {
        let mut found = false;
        for name in statements_of(text)?.into_iter().flat_map(|statement| statement.tables) {
            let [name] = &name[..] else { continue };
            let is_known = |known: &String| known.eq_ignore_ascii_case(name);
            if lent.tables.iter().any(is_known) || lent.views.iter().any(is_known) {
                continue;
            }
            match host.find_table(name, scope)? {
                Some(HostTable::Rows(source)) => {
                    send_rows(client, name, &*source, means.budget, given.interrupt)?;
                    lent.tables.push(name.clone());
                }
                Some(HostTable::Query(query)) => {
                    if depth == QUERIES_MAX {
                        return Err(Error::unsupported("a query of the program within so many others"));
                    }
                    self.lend(client, &query, host, scope, given, means, lent, depth + 1)?;
                    let view = format!("CREATE OR REPLACE TEMP VIEW {} AS {query}", sql::ident(name));
                    client.query(&view).and_then(Reply::finish).map_err(|error| told(error, &view))?;
                    lent.views.push(name.clone());
                }
                None => continue,
            }
            found = true;
        }
        Ok(found)
    }

    fn forget(&self, client: &Client, lent: Lent) -> Result<()> {
        for view in lent.views.iter().rev() {
            let drop = format!("DROP VIEW IF EXISTS {}", sql::ident(view));
            client.query(&drop).and_then(Reply::finish).map_err(|error| told(error, &drop))?;
        }
        lent.tables.iter().try_for_each(|name| client.unregister(name).map_err(|error| told(error, "")))
    }

    /// A statement that the server keeps.
    fn prepared(&self, client: &Client, statement: &ast::Statement) -> Result<Arc<Prepared>> {
        let text = padded(statement);
        let mut known = self.prepared.lock();
        if let Some(position) = known.iter().rposition(|(sql, _)| **sql == *text) {
            known[position..].rotate_left(1);
        } else {
            let prepared = client.prepare(&text).map_err(|error| told(error, &statement.sql))?;
            if known.len() == PREPARED_MAX {
                known.remove(0);
            }
            known.push((text.into(), Arc::new(prepared)));
        }
        match known.last() {
            Some((_, prepared)) => Ok(Arc::clone(prepared)),
            None => Err(Error::internal("a prepared statement is not kept")),
        }
    }

    fn ask(&self, client: &Client, statement: &ast::Statement, parameters: &Parameters) -> Result<Reply> {
        let told = |error| told(error, &statement.sql);
        if parameters.positional.is_empty() && parameters.named.is_empty() {
            return client.query(&padded(statement)).map_err(told);
        }
        let prepared = self.prepared(client, statement)?;
        let (columns, values) = values_of(parameters)?;
        prepared.execute_named(columns, &values).map_err(told)
    }

    /// The answer of a statement: all of its rows, or the first of them if the others may come later.
    fn answer(
        &self,
        mut reply: Reply,
        statement: &ast::Statement,
        given: Given<'_>,
        means: &Means<'_>,
    ) -> Result<QueryResult> {
        let told = |error| told(error, &statement.sql);
        let Some(columns) = reply.columns() else {
            let done = reply.finish().map_err(told)?;
            self.in_transaction.store(done.in_transaction, Ordering::Release);
            let answer = match done.changed {
                Some(count) => QueryResult::changed(count),
                None => QueryResult::done(),
            };
            return Ok(answer.of_command(executed(statement, &done.tag)));
        };
        let (names, types): (Vec<String>, Vec<LogicalType>) =
            columns.iter().map(|column| (column.name.clone(), column.ty.clone())).unzip();
        let first_bytes = given.streaming.map_or(usize::MAX, |streaming| streaming.first_bytes);
        let (mut batches, mut bytes) = (Vec::new(), 0);
        while bytes < first_bytes
            && let Some(batch) = reply.next_batch().map_err(told)?
        {
            bytes += rows_size(batch.columns(), batch.len());
            batches.push(batch);
        }
        let result = QueryResult::of_rows(names, types, batches, Some(means.workers.clone()));
        let tag = reply.done().map_or("SELECT", |done| &done.tag);
        let result = result.of_command(executed(statement, tag));
        match (reply.done(), given.streaming) {
            (None, Some(streaming)) => {
                let in_transaction = Arc::clone(&self.in_transaction);
                let rows = Coming { reply, text: statement.sql.to_string(), in_transaction };
                let header = result.without_rows();
                let (budget, interrupt) = (means.budget.clone(), given.interrupt.clone());
                *streaming.rest.lock() = Some(Rest::elsewhere(Box::new(rows), header, budget, interrupt));
            }
            (Some(done), _) => self.in_transaction.store(done.in_transaction, Ordering::Release),
            (None, None) => {}
        }
        Ok(result)
    }
}

/// What an EXECUTE carried out, as its answer's tag says; `Empty` for other statements.
fn executed(statement: &ast::Statement, tag: &str) -> Command {
    if Command::of(&statement.kind) != Command::Execute {
        return Command::Empty;
    }
    let word = tag.split(' ').next().unwrap_or_default();
    let known = [Command::Select, Command::Insert, Command::Update, Command::Delete];
    known.into_iter().find(|command| command.tag() == word).unwrap_or(Command::Empty)
}

/// The rows of an answer that were not read yet.
struct Coming {
    reply: Reply,
    text: String,
    in_transaction: Arc<AtomicBool>,
}

impl Elsewhere for Coming {
    fn next_part(&mut self, bytes_wanted: usize, interrupt: &Interrupt) -> Result<(Vec<Batch>, u64)> {
        let wanted = interrupt.clone();
        let (mut batches, mut bytes) = (Vec::new(), 0);
        let read = asking(Rc::new(move || wanted.is_set()), || {
            while bytes < bytes_wanted
                && let Some(batch) = self.reply.next_batch().map_err(|error| told(error, &self.text))?
            {
                bytes += rows_size(batch.columns(), batch.len());
                batches.push(batch);
            }
            Ok(())
        });
        if let Some(done) = self.reply.done() {
            self.in_transaction.store(done.in_transaction, Ordering::Release);
        }
        match read {
            Ok(()) => Ok((batches, bytes as u64)),
            Err(Error::Interrupted) => interrupt.check().and(Err(Error::Interrupted)),
            Err(error) => Err(error),
        }
    }
}

/// The text of a statement, with blanks in the place of what comes before it, so that places in it are those of the whole text.
fn padded(statement: &ast::Statement) -> String {
    let before = statement.sql.get(..statement.range.0).filter(|before| before.len() <= BEFORE_MAX);
    let blank = |c: char| if c == '\n' { c } else { ' ' };
    before.unwrap_or_default().chars().map(blank).chain(statement.text().chars()).collect()
}

/// Sends the rows of a table of the program.
fn send_rows(
    client: &Client,
    name: &str,
    source: &dyn TableSource,
    budget: &MemoryBudget,
    interrupt: &Interrupt,
) -> Result<()> {
    let told = |error| told(error, "");
    let columns = source.columns();
    let wire = columns.iter().map(|column| WireColumn::new(column.name.clone(), column.ty.clone())).collect();
    let mut rows = client.register(name, wire).map_err(told)?;
    let scan = source.scan(ScanRequest {
        columns: (0..columns.len()).collect(),
        filters: Vec::new(),
        any_of: Vec::new(),
        budget: budget.clone(),
        interrupt: interrupt.clone(),
    })?;
    while let Some(task) = scan.next_task()? {
        for batch in task {
            interrupt.check()?;
            rows.push(batch?).map_err(told)?;
        }
    }
    rows.finish().map(drop).map_err(told)
}

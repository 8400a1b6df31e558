//! A connection: one session of a database, used by one statement at a time.
//!
//! Every call from a host enters through [`Connection::execute_with`], which serialises statements by the session's
//! lock, refuses closed connections and forked processes, and turns a panic into [`Error::Internal`]; whatever
//! happened, the next statement works.

pub mod appender;
pub mod bindings;
mod cluster;
pub mod cursor;
mod described;
mod far;
mod pending;
mod prepared;
mod progress;
mod script;
mod sessions;
mod state;
mod transaction;

use crate::command::Command;
use crate::database::{Database, Listed};
use crate::define::Dump;
use crate::execute::{self, Given};
use crate::profile::Profile;
use crate::rest::{Rest, Streaming};
use crate::result::QueryResult;
use crate::settings::{HostSettings, SessionSettings};
use crate::transactions::{ModesExt, Transactions};
use inlay_catalog::TableSource;
use inlay_catalog::rights::SUPERUSER;
use inlay_exec::{Priority, PriorityCell, Progress, QueryProgress, Team, Workers};
use inlay_sql::parser::ast;
use inlay_sql::with_statement_stack;
use inlay_types::limits::{self, Limits};
use inlay_types::{Error, Interrupt, Interrupts, MemoryBudget, Result};
use parking_lot::{Mutex, RwLock};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

pub use crate::database::SessionInfo;
pub use crate::host::{Entered, Host, HostScope, HostTable, Parameters, interrupt_of};
use crate::host::{caught, check_parameter_count, in_order, poll_of, takes_parameters};
use crate::session::{Nested, OpenTransaction, Session, Text, Who};
use cursor::{Cursor, FIRST_BYTES};
pub use described::Described;
use far::{Far, Means};
pub use pending::Pending;
pub use prepared::{ParameterShape, PreparedStatement, StatementShape};
pub use progress::ProgressWatch;
pub use script::Script;
use sessions::Running;
pub use transaction::Transaction;

/// How long closing a session waits for a statement, which was told to end.
const CLOSING_MAX: Duration = Duration::from_secs(10);

/// How many statements a text may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// Any number; the answer is that of the last one.
    Script,
    /// One, or none. For texts that a host puts together: whatever its parts are, nothing else runs.
    Statement,
}

impl Extent {
    fn check(self, text: &Text) -> Result<()> {
        match (self, &*text.statements) {
            (Self::Statement, [_, second, ..]) => {
                let message =
                    format!("expected one statement, found another one: {}", shortened(second.text()));
                Err(Error::Syntax { message })
            }
            _ => Ok(()),
        }
    }
}

/// The beginning of a text, for a message.
fn shortened(text: &str) -> String {
    const CHARS_MAX: usize = 60;
    match text.char_indices().nth(CHARS_MAX) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_string(),
    }
}

struct Shared {
    /// Until the session is closed: the last one that closes, closes the file.
    database: RwLock<Option<Database>>,
    session: Mutex<Session>,
    budget: MemoryBudget,
    priority: PriorityCell,
    host_settings: HostSettings,
    interrupts: Interrupts,
    progress: Arc<QueryProgress>,
    closed: AtomicBool,
    /// Whether BEGIN opened a transaction, as of the end of the last statement.
    has_transaction: AtomicBool,
    nested: Option<Arc<Nested>>,
    /// Who came, if it was not who opens the file.
    login: Option<Arc<Who>>,
    /// The session's number.
    id: u64,
    /// What it runs now.
    running: Mutex<Option<Running>>,
    /// Where its statements go, if its database is at a server.
    far: Option<Far>,
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.leave();
    }
}

impl Shared {
    /// Lets go of the database, and of what the session registered in it.
    fn leave(&self) {
        let Some(database) = self.database.write().take() else { return };
        if self.nested.is_none() {
            database.leave(self.id);
        }
    }
}

impl Database {
    /// A connection of its own, with its own settings and transaction.
    pub fn connect(&self) -> Connection {
        Connection::new(self.clone(), self.first_settings(), None)
    }

    /// A connection of its own, as a role of the file: it may what the role may. See [`crate::Login`].
    pub fn connect_as(&self, role: &str) -> Result<Connection> {
        let role = role.to_lowercase();
        let who = if role == SUPERUSER { None } else { Some(Arc::new(self.who(&role, None)?)) };
        Ok(Connection::new(self.clone(), self.first_settings(), who))
    }

    /// As [`Database::connect_as`], or without a role as who opens the file, for somebody to whom the program lends its database and nothing else:
    /// statements reach no file, no server, no function and no setting of the program, but for files whose paths begin with `reached`.
    pub fn connect_inside(&self, role: Option<&str>, reached: &str) -> Result<Connection> {
        let role = role.map_or_else(|| SUPERUSER.to_string(), str::to_lowercase);
        let who = Some(Arc::new(self.who(&role, Some(reached.into()))?));
        Ok(Connection::new(self.clone(), self.first_settings(), who))
    }

    fn who(&self, role: &str, inside: Option<Arc<str>>) -> Result<Who> {
        if role != SUPERUSER && !self.has_role(role)? {
            let message = format!("role \"{role}\" does not exist");
            return Err(Error::invalid_argument(message).with_hint("CREATE ROLE makes it"));
        }
        let rights = self.rights_of(&self.main().store.state())?;
        Ok(Who::new(role.into(), role.into(), &rights, inside))
    }
}

/// A session. Cloning makes another handle of the same session; [`Connection::cursor`] makes a new session.
#[derive(Clone)]
pub struct Connection(Arc<Shared>);

impl Connection {
    pub(crate) fn new(database: Database, settings: SessionSettings, who: Option<Arc<Who>>) -> Self {
        let id = database.next_id();
        let progress: Arc<QueryProgress> = Arc::default();
        let mut settings = settings;
        settings.priority = settings.priority.apart();
        settings.host = settings.host.apart();
        settings.host.set_zone(settings.time_zone());
        let priority = settings.priority.clone();
        let team = Arc::new(Team::new(Arc::clone(database.pool()), priority));
        let session = Session { id, progress, who, ..Session::new(settings, team) };
        Self::of_session(database, session)
    }

    /// A connection of a session that was made for it.
    pub(crate) fn of_session(database: Database, session: Session) -> Self {
        let (list, is_nested) = (database.clone(), session.nested.is_some());
        let far = database.server().map(|address| Far::new(Arc::clone(address)));
        let shared = Arc::new(Shared {
            priority: session.settings.priority.clone(),
            host_settings: session.settings.host.clone(),
            budget: database.budget().clone(),
            database: RwLock::new(Some(database)),
            interrupts: Interrupts::default(),
            progress: Arc::clone(&session.progress),
            closed: AtomicBool::new(false),
            has_transaction: AtomicBool::new(session.transaction.is_some()),
            nested: session.nested.clone(),
            login: session.who.clone(),
            id: session.id,
            running: Mutex::default(),
            far,
            session: Mutex::new(session),
        });
        if !is_nested {
            let listed: Arc<dyn Listed> = Arc::<Shared>::clone(&shared);
            list.list(Arc::downgrade(&listed));
        }
        Self(shared)
    }

    /// A new session of the same database, as who came by this one.
    pub fn cursor(&self) -> Result<Connection> {
        self.check_open()?;
        let database = self.database()?;
        Ok(Self::new(database.clone(), database.first_settings(), self.0.login.clone()))
    }

    /// The database, unless the session is closed.
    pub fn database(&self) -> Result<Database> {
        self.0.database.read().clone().ok_or_else(|| self.closed())
    }

    /// Makes a host's object a table of the database. A name means what this session gave it last; sessions that gave it
    /// nothing see what the last one did. A table or view of this name is an error. To a server, the rows are sent now, and its session alone sees
    /// them.
    pub fn register(&self, name: &str, source: Arc<dyn TableSource>) -> Result<()> {
        self.check_open()?;
        if let Some(far) = &self.0.far {
            return self.guarded(|_, _| far.register(name, &*source, &self.0.budget), None);
        }
        self.database()?.register(name, self.0.id, source)
    }

    /// Forgets an object that was registered, first of all the session's own. Returns whether there was one.
    pub fn unregister(&self, name: &str) -> Result<bool> {
        if let Some(far) = &self.0.far {
            return self.guarded(|_, _| far.unregister(name).map(|()| true), None);
        }
        Ok(self.database()?.unregister(name, self.0.id))
    }

    /// Runs the statements of `sql` and returns the last one's answer.
    pub fn execute(&self, sql: &str) -> Result<QueryResult> {
        self.execute_with(sql, &Parameters::default(), None)
    }

    /// Runs the statements of `sql` and returns the last one's answer. Parameters, see [`crate::params!`], are for the last
    /// statement.
    pub fn query(&self, sql: &str, parameters: impl Into<Parameters>) -> Result<QueryResult> {
        self.execute_with(sql, &parameters.into(), None)
    }

    /// As [`Connection::query`], with a host that is asked for tables and whether to end.
    pub fn execute_with(
        &self,
        sql: &str,
        parameters: &Parameters,
        host: Option<&Arc<dyn Host>>,
    ) -> Result<QueryResult> {
        self.execute_streaming(sql, Extent::Script, parameters, host, None)
    }

    /// As [`Connection::execute_with`], for a text of one statement: one of several runs nothing and is an error.
    pub fn execute_one(
        &self,
        sql: &str,
        parameters: &Parameters,
        host: Option<&Arc<dyn Host>>,
    ) -> Result<QueryResult> {
        self.execute_streaming(sql, Extent::Statement, parameters, host, None)
    }

    /// As [`Connection::execute_with`], but of a large result only the first rows, about `first_bytes` of them; the others
    /// are computed when they are asked for, where that makes no difference to them.
    pub fn stream_with(
        &self,
        sql: &str,
        extent: Extent,
        parameters: &Parameters,
        host: Option<&Arc<dyn Host>>,
        first_bytes: usize,
    ) -> Result<(QueryResult, Option<Rest>)> {
        let rest = Mutex::new(None);
        // Rows for a function are there when it has them: what they are read from may end with its call.
        let streaming = self.0.nested.is_none().then_some(Streaming { first_bytes, rest: &rest });
        let first = self.execute_streaming(sql, extent, parameters, host, streaming)?;
        Ok((first, rest.into_inner()))
    }

    /// Runs the statements of a text; the last one's rows are read from the cursor, and what is not there yet is computed then.
    pub fn stream(&self, sql: &str, parameters: &Parameters, host: Option<&Arc<dyn Host>>) -> Result<Cursor> {
        self.stream_extent(sql, Extent::Script, parameters, host)
    }

    /// As [`Connection::stream`], for a text of so many statements.
    pub fn stream_extent(
        &self,
        sql: &str,
        extent: Extent,
        parameters: &Parameters,
        host: Option<&Arc<dyn Host>>,
    ) -> Result<Cursor> {
        let (first, rest) = self.stream_with(sql, extent, parameters, host, FIRST_BYTES)?;
        Ok(Cursor::new(self.clone(), first, rest))
    }

    fn execute_streaming(
        &self,
        sql: &str,
        extent: Extent,
        parameters: &Parameters,
        host: Option<&Arc<dyn Host>>,
        streaming: Option<Streaming<'_>>,
    ) -> Result<QueryResult> {
        self.guarded(
            |session, interrupt| {
                let text = session.texts.get(sql, &self.0.budget)?;
                extent.check(&text)?;
                self.runs(Running::new(&text));
                let host = host.map(|host| &**host);
                self.run_text(session, &text, Given { parameters, host, interrupt, streaming, text: None })
            },
            host,
        )
    }

    /// Runs the statements of a text; parameters and the answer are the last one's.
    fn run_text(&self, session: &mut Session, text: &Text, given: Given<'_>) -> Result<QueryResult> {
        let Some((last, first)) = text.statements.split_last() else {
            return Ok(QueryResult::done().of_command(Command::Empty));
        };
        let none = Parameters::default();
        for statement in first {
            let parameters = if takes_parameters(statement) { given.parameters } else { &none };
            self.run(session, statement, Given { parameters, streaming: None, ..given })?;
        }
        let parameters = &*in_order(last, given.parameters);
        check_parameter_count(last, parameters)?;
        // A kept plan was made for what the names mean to others.
        let keeps = first.is_empty() && !given.host.is_some_and(|host| host.gives_tables());
        self.run(session, last, Given { parameters, text: keeps.then_some(text), ..given })
    }

    /// Runs one statement once for each set of parameters, in one transaction if none is open: all or nothing.
    pub fn execute_many(
        &self,
        sql: &str,
        sets: &[Parameters],
        host: Option<&Arc<dyn Host>>,
    ) -> Result<QueryResult> {
        self.guarded(
            |session, interrupt| {
                let text = session.texts.get(sql, &self.0.budget)?;
                self.runs(Running::new(&text));
                let parameters = &Parameters::default();
                let host = host.map(|host| &**host);
                let given = Given { parameters, host, interrupt, streaming: None, text: Some(&text) };
                self.run_many(session, &text, sets, given)
            },
            host,
        )
    }

    fn run_many(
        &self,
        session: &mut Session,
        text: &Text,
        sets: &[Parameters],
        given: Given<'_>,
    ) -> Result<QueryResult> {
        let [statement] = &*text.statements else {
            return Err(Error::invalid_argument("executemany takes exactly one statement"));
        };
        if let Some(far) = &self.0.far {
            return self.run_many_far(far, session, statement, sets, given);
        }
        let all = |session: &mut Session| {
            sets.iter().try_fold(QueryResult::changed(0), |total, parameters| {
                // One alone may be too short to look.
                given.interrupt.check()?;
                let parameters = &*in_order(statement, parameters);
                check_parameter_count(statement, parameters)?;
                Ok(total.plus(self.run(session, statement, Given { parameters, ..given })?))
            })
        };
        self.begin_if_needed(session, statement, given)?;
        if session.transaction.is_some() {
            return all(session);
        }
        let transactions = Transactions::new(session.settings.modes.options()?, &session.names);
        session.transaction = Some(OpenTransaction::new(transactions, self.database()?.next_id()));
        let outcome = all(session);
        let own = session.transaction.take();
        if let (Ok(_), Some(own)) = (&outcome, own) {
            own.transactions.commit(&self.database()?)?;
        }
        outcome
    }

    fn run(
        &self,
        session: &mut Session,
        statement: &ast::Statement,
        given: Given<'_>,
    ) -> Result<QueryResult> {
        self.begin_if_needed(session, statement, given)?;
        self.carry_out(session, statement, given)
    }

    /// Runs a statement here, or at the server where the database is.
    fn carry_out(
        &self,
        session: &mut Session,
        statement: &ast::Statement,
        given: Given<'_>,
    ) -> Result<QueryResult> {
        let limited = session.settings.timeout.map(|limit| given.interrupt.with_deadline(limit));
        let interrupt = limited.as_ref().unwrap_or(given.interrupt);
        let given = Given { interrupt, ..given };
        let Some(far) = &self.0.far else {
            return execute::statement(&self.database()?, session, statement, given);
        };
        let answer = far.run(statement, given, &self.means(session)?)?;
        if matches!(statement.kind, ast::StatementKind::Set { .. }) {
            // What is set is set on both sides: here it says how rows are shown. What is the server's alone is not known here.
            let given = Given { streaming: None, text: None, ..given };
            let _ = execute::statement(&self.database()?, session, statement, given);
        }
        Ok(answer)
    }

    fn means(&self, session: &Session) -> Result<Means<'_>> {
        let scope = execute::host_scope(&self.database()?, session);
        Ok(Means { budget: &self.0.budget, workers: Workers::of(&session.team), scope })
    }

    /// Whether a transaction is open.
    fn is_begun(&self, session: &Session) -> bool {
        match &self.0.far {
            Some(far) => far.in_transaction(),
            None => session.transaction.is_some(),
        }
    }

    /// Runs a statement for each set of parameters at a server: in one go, or one by one in a transaction.
    fn run_many_far(
        &self,
        far: &Far,
        session: &mut Session,
        statement: &ast::Statement,
        sets: &[Parameters],
        given: Given<'_>,
    ) -> Result<QueryResult> {
        let ordered: Vec<Parameters> =
            sets.iter().map(|parameters| in_order(statement, parameters).into_owned()).collect();
        ordered.iter().try_for_each(|parameters| check_parameter_count(statement, parameters))?;
        self.begin_if_needed(session, statement, given)?;
        let means = self.means(session)?;
        if let Some(answer) = far.run_many(statement, &ordered, given, &means)? {
            return Ok(answer);
        }
        let is_own = !far.in_transaction();
        if is_own {
            self.say(session, "BEGIN", given)?;
        }
        let outcome = ordered.iter().try_fold(QueryResult::changed(0), |total, parameters| {
            Ok(total.plus(self.run(session, statement, Given { parameters, ..given })?))
        });
        if is_own {
            let ended = self.say(session, if outcome.is_ok() { "COMMIT" } else { "ROLLBACK" }, given);
            return outcome.and_then(|answer| ended.map(|()| answer));
        }
        outcome
    }

    /// Runs a text of ours.
    fn say(&self, session: &mut Session, sql: &str, given: Given<'_>) -> Result<()> {
        let text = session.texts.get(sql, &self.0.budget)?;
        let parameters = &Parameters::default();
        let given = Given { parameters, streaming: None, text: None, ..given };
        text.statements.iter().try_for_each(|statement| self.carry_out(session, statement, given).map(drop))
    }

    /// With autocommit off: begins the transaction that a statement is to be in.
    fn begin_if_needed(
        &self,
        session: &mut Session,
        statement: &ast::Statement,
        given: Given<'_>,
    ) -> Result<()> {
        let begins = session.begins_transactions
            && !self.is_begun(session)
            && Command::carried_out(&statement.kind).needs_transaction();
        if begins { self.say(session, "BEGIN", given) } else { Ok(()) }
    }

    /// Notes what the session runs from now on.
    fn runs(&self, running: Running) {
        *self.0.running.lock() = Some(running);
    }

    fn guarded<T>(
        &self,
        work: impl FnOnce(&mut Session, &Interrupt) -> Result<T>,
        host: Option<&Arc<dyn Host>>,
    ) -> Result<T> {
        // Before this waits for another statement, whose interrupt is its own, too.
        let entered = host.and_then(|host| host.entered()).unwrap_or_else(|| self.enter());
        self.check_open()?;
        let mut session = match self.0.session.try_lock() {
            Some(session) => session,
            // This thread is inside of a function that a statement called: waiting for that statement never ends.
            None if limits::current().is_some() => {
                return Err(busy("connection.cursor() gives another one for queries inside of functions"));
            }
            None => self.0.session.lock(),
        };
        // Closed while this waited for another statement.
        self.check_closed()?;
        self.0.interrupts.settle();
        self.check_since(entered)?;
        let poll = host.and_then(poll_of);
        let poll = match &self.0.nested {
            Some(nested) => Some(nested.poll(poll)),
            None => poll,
        };
        let interrupt = self.interrupt_since(entered);
        let interrupt = match poll {
            Some(poll) => interrupt.with_poll(poll),
            None => interrupt,
        };
        let in_transaction = session.transaction.is_some();
        let outcome = caught(|| with_statement_stack(|| work(&mut session, &interrupt)));
        // Whoever sets it does so for one call, however that ends.
        session.is_unasked = false;
        let outcome = outcome.map_err(|error| self.told(&session, error));
        if matches!(outcome, Err(Error::Internal { .. })) && !in_transaction {
            session.transaction = None;
        }
        self.0.has_transaction.store(self.is_begun(&session), Ordering::Release);
        // Rows that wait are not ended by what ended this statement.
        self.0.interrupts.settle();
        self.0.progress.clear();
        drop(session);
        let ran = self.0.running.lock().take();
        drop(ran);
        if self.is_closed() {
            // Who closed it may not have waited for this statement.
            self.let_go();
        }
        outcome
    }

    /// An error as the session may see it: a role that is no superuser may violate constraints of rows that it may not read.
    fn told(&self, session: &Session, error: Error) -> Error {
        let Some(who) = &session.who else { return error };
        let rights = self.database().and_then(|database| database.rights_of(&database.main().store.state()));
        if rights.is_ok_and(|rights| rights.is_superuser(&who.current)) {
            return error;
        }
        error.without_values()
    }

    /// Writes a copy of what is committed into the new file `path`; see [`Database::backup`].
    pub fn backup(&self, path: &str) -> Result<()> {
        self.guarded(|_, _| self.database()?.backup(path), None)
    }

    /// Ends the running statement soon, with [`Error::Interrupted`], calls of a host that were entered before, and rows that wait to be
    /// read, unless a statement comes between; what begins later is not touched. May be called from any thread.
    pub fn interrupt(&self) {
        self.0.interrupts.raise();
    }

    /// Whether both are handles of one session.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// That a host's call begins, which may do much before its statement does.
    pub fn enter(&self) -> Entered {
        Entered(self.0.interrupts.count())
    }

    /// [`Error::Interrupted`] if there was an interrupt since a call was entered.
    pub fn check_since(&self, entered: Entered) -> Result<()> {
        if self.enter() == entered { Ok(()) } else { Err(Error::Interrupted) }
    }

    /// What ends work of a call besides its statements, such as conversions of rows.
    pub fn interrupt_since(&self, entered: Entered) -> Interrupt {
        self.0.interrupts.work_since(entered.0)
    }

    /// The memory and the interrupts of a call's work besides its statements, for [`crate::with_limits`] and for memory that a host
    /// makes of rows.
    pub fn limits_since(&self, entered: Entered) -> Result<Limits> {
        Ok(Limits::new(self.database()?.budget().clone(), self.interrupt_since(entered)))
    }

    /// What queries of this session get when several want the workers at once, those that run among them. May be called
    /// from any thread; `SET priority` does the same between statements.
    pub fn set_priority(&self, priority: Priority) {
        self.0.priority.set(priority);
        if let Ok(database) = self.database() {
            database.pool().rearrange();
        }
    }

    /// How values are exchanged with this session, as SET says. May be called from any thread.
    pub fn host_settings(&self) -> &HostSettings {
        &self.0.host_settings
    }

    /// How far the running query is; `None` while none runs. May be called from any thread, at no cost to the query.
    pub fn progress(&self) -> Option<Progress> {
        match &self.0.far {
            // What was said of a statement that has ended is of no use.
            Some(far) => self.0.running.lock().is_some().then(|| far.progress()).flatten(),
            None => self.0.progress.get(),
        }
    }

    /// What was measured of the session's last query; `None` unless the setting `enable_profiling` was on.
    pub fn profile(&self) -> Result<Option<Profile>> {
        self.guarded(|session, _| Ok(session.profile.lock().clone()), None)
    }

    /// The script of a database, which makes it again together with the rows of its tables.
    pub fn dump(&self, host: Option<&Arc<dyn Host>>) -> Result<Dump> {
        self.database()?.check_here("a dump", "EXPORT DATABASE writes files at the server")?;
        self.guarded(
            |session, interrupt| {
                let (parameters, host) = (&Parameters::default(), host.map(|host| &**host));
                let given = Given { parameters, host, interrupt, streaming: None, text: None };
                crate::define::dump(&self.database()?, session, given)
            },
            host,
        )
    }

    /// How many statements were carried out by plans that were kept of earlier ones.
    pub fn kept_runs(&self) -> u64 {
        self.0.session.lock().kept_runs.load(Ordering::Relaxed)
    }

    /// Whether a transaction is open. A statement that runs has not begun or ended one yet.
    pub fn in_transaction(&self) -> bool {
        self.0.has_transaction.load(Ordering::Acquire)
    }

    /// Ends the session: a running statement is interrupted and waited for, an open transaction rolled back. Later calls fail.
    ///
    /// An error, and nothing is closed, where a function is the caller that the running statement waits for. If a statement
    /// does not end for long, as one whose function waits for another thread that closes, the session ends with it.
    pub fn close(&self) -> Result<()> {
        if self.is_closed() {
            return Ok(());
        }
        if limits::current().is_some() && self.0.session.is_locked() {
            return Err(busy("close it when that has ended"));
        }
        if !self.0.closed.swap(true, Ordering::AcqRel) {
            self.0.interrupts.raise();
            self.let_go();
        }
        Ok(())
    }

    /// Lets go of what a closed session holds, when its statement ends.
    fn let_go(&self) {
        let Some(mut session) = self.0.session.try_lock_for(CLOSING_MAX) else { return };
        *session = Session::closed();
        drop(session);
        if let Some(far) = &self.0.far {
            far.close();
        }
        self.0.has_transaction.store(false, Ordering::Release);
        self.0.leave();
    }

    /// Whether the session was closed.
    pub fn is_closed(&self) -> bool {
        self.0.closed.load(Ordering::Acquire)
    }

    /// Fails if the session was closed.
    pub fn check_closed(&self) -> Result<()> {
        if self.is_closed() { Err(self.closed()) } else { Ok(()) }
    }

    fn check_open(&self) -> Result<()> {
        self.check_closed()?;
        self.database()?.check_process()
    }

    fn closed(&self) -> Error {
        let message = match &self.0.nested {
            Some(nested) => nested.closed(),
            None => "the connection is closed; open another with inlay.connect()".to_string(),
        };
        Error::Closed { message }
    }
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &*self.0.database.read() {
            Some(database) => write!(f, "Connection({database:?})"),
            None => write!(f, "Connection(closed)"),
        }
    }
}

/// A function does with a connection what only its statement's end would allow.
fn busy(advice: &str) -> Error {
    Error::TransactionState {
        message: "this connection runs the statement that called the function".to_string(),
    }
    .with_hint(advice.to_string())
}

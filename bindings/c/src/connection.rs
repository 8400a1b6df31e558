//! Connections: sessions of a database, their transactions and settings.

use crate::database::inlay_database;
use crate::failure::{ErrorOut, guard, inlay_status, plain};
use crate::pointers::{
    Freed, Handle, Made, Out, Text, TextOut, free, given, here, make, owned, put, put_text,
};
use crate::scan::Scan;
use inlay::{Connection, Entered, Error, Host, HostScope, HostTable, Limits, Result};
use parking_lot::RwLock;
use std::cell::Cell;
use std::marker::PhantomData;
use std::ptr;
use std::sync::Arc;

/// A session: one transaction at a time, settings, variables. Several threads may use it; its statements run one after the other.
pub struct inlay_connection {
    process: u32,
    pub(crate) session: Arc<Session>,
}

owned!(inlay_connection);

/// What statements of a connection share.
pub struct Session {
    connection: Connection,
    asked: Arc<Asked>,
    host: Arc<dyn Host>,
}

impl Session {
    fn new(connection: Connection) -> Self {
        let asked: Arc<Asked> = Arc::default();
        let host: Arc<dyn Host> = Arc::<Asked>::clone(&asked);
        Self { connection, asked, host }
    }

    /// Says that this thread is in a call of the connection until the answer is dropped: an interrupt from now on ends it, whatever
    /// it does then. A call within another one began when that did.
    pub fn enter(&self) -> Call<'_> {
        let (earlier, key) = (CALL.get(), self.asked.key());
        let entered = match earlier {
            Some((outer, entered)) if outer == key => entered,
            _ => self.connection.enter(),
        };
        CALL.set(Some((key, entered)));
        Call { session: self, entered, earlier, _of_the_thread: PhantomData }
    }

    /// The program is asked for tables from now on, or is not any more. Gives who was asked before.
    pub fn set_scan(&self, scan: Option<Arc<Scan>>) -> Option<Arc<Scan>> {
        std::mem::replace(&mut *self.asked.scan.write(), scan)
    }
}

/// What statements of a session ask: the program for tables, and when the call began that they belong to.
#[derive(Default)]
struct Asked {
    scan: RwLock<Option<Arc<Scan>>>,
}

impl Asked {
    /// What no other session has as long as this one is there.
    fn key(&self) -> usize {
        ptr::from_ref(self).addr()
    }
}

impl Host for Asked {
    fn find_table(&self, name: &str, _scope: HostScope) -> Result<Option<HostTable>> {
        let scan = self.scan.read().clone();
        scan.map_or(Ok(None), |scan| scan.find(name))
    }

    fn is_interrupted(&self) -> bool {
        false
    }

    fn has_signals(&self) -> bool {
        false
    }

    fn entered(&self) -> Option<Entered> {
        CALL.get().filter(|(key, _)| *key == self.key()).map(|(_, entered)| entered)
    }
}

thread_local! {
    /// The session whose call this thread is in, and when that began.
    static CALL: Cell<Option<(usize, Entered)>> = const { Cell::new(None) };
}

/// A call that this thread is in; see [`Session::enter`].
#[must_use]
pub struct Call<'a> {
    session: &'a Session,
    entered: Entered,
    earlier: Option<(usize, Entered)>,
    _of_the_thread: PhantomData<*const ()>,
}

impl<'a> Call<'a> {
    /// The connection.
    pub fn connection(&self) -> &'a Connection {
        &self.session.connection
    }

    /// Who its statements ask.
    pub fn host(&self) -> Option<&'a Arc<dyn Host>> {
        Some(&self.session.host)
    }

    /// The memory and the interrupts of what it does besides statements.
    pub fn limits(&self) -> Result<Limits> {
        self.session.connection.limits_since(self.entered)
    }
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        CALL.set(self.earlier);
    }
}

/// The session behind a handle.
pub fn of<'a>(connection: Handle<'a, inlay_connection>) -> Result<&'a Arc<Session>> {
    Ok(&given(connection, "connection")?.session)
}

/// Enters a call of the connection behind a handle.
pub fn enter(connection: Handle<'_, inlay_connection>) -> Result<Call<'_>> {
    Ok(of(connection)?.enter())
}

/// How far a statement is.
#[repr(C)]
pub struct inlay_progress {
    /// From 0 to 1.
    pub fraction: f64,
    /// Rows read, as far as estimates know.
    pub rows_done: u64,
    /// Rows that will have been read.
    pub rows_total: u64,
}

impl From<inlay::Progress> for inlay_progress {
    fn from(progress: inlay::Progress) -> Self {
        Self { fraction: progress.fraction, rows_done: progress.rows_done, rows_total: progress.rows_total }
    }
}

/// Opens a connection, with settings and a transaction of its own. To be freed by inlay_disconnect.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_connect(
    database: Handle<'_, inlay_database>,
    connection: Out<'_, Made<inlay_connection>>,
    error: ErrorOut<'_>,
) -> inlay_status {
    guard(error, || {
        make(connection, "connection", || {
            let connection = given(database, "database")?.database.connect();
            // A child of a fork has no database.
            connection.catalog()?;
            Ok(inlay_connection { process: here(), session: Arc::new(Session::new(connection)) })
        })
    })
}

/// Frees a connection. An open transaction is rolled back, for which this waits until a statement that runs has ended. Statements and
/// results of it go on.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_disconnect(connection: Freed<'_, inlay_connection>) {
    if let Some(Some(open)) = &connection
        && open.process == here()
        && open.session.connection.in_transaction()
    {
        // Nobody is there to be told; what failed here was not kept either.
        let _ = crate::failure::caught(|| open.session.connection.rollback());
    }
    free(connection);
}

/// Begins a transaction; an error if one is open.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_begin(connection: Handle<'_, inlay_connection>, error: ErrorOut<'_>) -> inlay_status {
    guard(error, || enter(connection)?.connection().begin())
}

/// Commits the open transaction; an error if none is open.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_commit(
    connection: Handle<'_, inlay_connection>,
    error: ErrorOut<'_>,
) -> inlay_status {
    guard(error, || expect_open(enter(connection)?.connection().commit()?, "commit"))
}

/// Undoes the open transaction; an error if none is open.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_rollback(
    connection: Handle<'_, inlay_connection>,
    error: ErrorOut<'_>,
) -> inlay_status {
    guard(error, || expect_open(enter(connection)?.connection().rollback()?, "roll back"))
}

fn expect_open(was_open: bool, what: &str) -> Result<()> {
    if was_open {
        return Ok(());
    }
    let error = Error::TransactionState { message: format!("there is no transaction to {what}") };
    Err(error.with_hint("inlay_begin opens one"))
}

/// Whether a transaction is open.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_in_transaction(connection: Handle<'_, inlay_connection>) -> bool {
    plain(false, || connection.map(|connection| connection.session.connection.in_transaction()))
}

/// Says whether each statement commits by itself, as it does unless this says otherwise. If not, the first one begins a transaction.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_set_autocommit(
    connection: Handle<'_, inlay_connection>,
    is_on: bool,
    error: ErrorOut<'_>,
) -> inlay_status {
    guard(error, || enter(connection)?.connection().set_autocommit(is_on))
}

/// Whether each statement commits by itself.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_get_autocommit(
    connection: Handle<'_, inlay_connection>,
    is_on: Out<'_, bool>,
    error: ErrorOut<'_>,
) -> inlay_status {
    guard(error, || put(is_on, enter(connection)?.connection().autocommit()?, "is_on"))
}

/// Makes a schema the one where names without a schema are looked up first.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_set_schema(
    connection: Handle<'_, inlay_connection>,
    schema: Text<'_>,
    error: ErrorOut<'_>,
) -> inlay_status {
    guard(error, || enter(connection)?.connection().set_schema(schema.get("schema")?))
}

/// The schema where new tables go. To be freed by inlay_text_free.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_get_schema(
    connection: Handle<'_, inlay_connection>,
    schema: Out<'_, TextOut>,
    error: ErrorOut<'_>,
) -> inlay_status {
    guard(error, || put_text(schema, "schema", || enter(connection)?.connection().schema().map(Some)))
}

/// Gives a setting a value, as SET does.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_set(
    connection: Handle<'_, inlay_connection>,
    name: Text<'_>,
    value: Text<'_>,
    error: ErrorOut<'_>,
) -> inlay_status {
    guard(error, || {
        let call = enter(connection)?;
        call.connection().set(name.get("name")?, &value.get("value")?.into(), call.host())
    })
}

/// The value of a setting as text; NULL if it has none. To be freed by inlay_text_free.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_get(
    connection: Handle<'_, inlay_connection>,
    name: Text<'_>,
    value: Out<'_, TextOut>,
    error: ErrorOut<'_>,
) -> inlay_status {
    guard(error, || {
        let call = enter(connection)?;
        let found = call.connection().get(name.get("name")?, call.host())?;
        put_text(value, "value", || Ok(found.map(|found| found.to_string())))
    })
}

/// The number of the session: current_connection_id() in SQL.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_connection_id(connection: Handle<'_, inlay_connection>) -> u64 {
    plain(0, || connection.map(|connection| connection.session.connection.id()))
}

/// Ends all calls of a connection that have begun soon, with INLAY_ERROR_INTERRUPTED; one that begins later is not touched, unless it
/// reads rows of an answer that waited to be computed. Any thread may call it at any time.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_interrupt(connection: Handle<'_, inlay_connection>) {
    plain((), || connection.map(|connection| connection.session.connection.interrupt()));
}

/// How far the statement is that runs on a connection; false, and nothing is written, if that is not known. Any thread may call it.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_get_progress(
    connection: Handle<'_, inlay_connection>,
    progress: Out<'_, inlay_progress>,
) -> bool {
    plain(false, || {
        let found = connection?.session.connection.progress()?;
        put(progress, found.into(), "progress").ok().map(|()| true)
    })
}

//! Connections: sessions of a database, their transactions and settings.

use crate::database::inlay_database;
use crate::failure::{ErrorOut, guard, inlay_status, plain};
use crate::pointers::{Freed, Handle, Made, Out, Text, TextOut, free, given, here, make, owned, put};
use crate::scan::Scan;
use inlay::{Connection, Error, Host, sql};
use parking_lot::RwLock;
use std::sync::Arc;

/// A session: one transaction at a time, settings, variables. Several threads may use it; its statements run one after the other.
pub struct inlay_connection {
    process: u32,
    pub(crate) session: Arc<Session>,
}

owned!(inlay_connection);

/// What statements of a connection share.
pub struct Session {
    pub connection: Connection,
    pub scan: RwLock<Option<Arc<Scan>>>,
}

impl Session {
    /// Who is asked for tables, if the program is.
    pub fn host(&self) -> Option<Arc<dyn Host>> {
        self.scan.read().clone().map(|scan| scan as Arc<dyn Host>)
    }
}

/// The connection behind a handle.
pub fn of<'a>(connection: Handle<'a, inlay_connection>) -> inlay::Result<&'a Arc<Session>> {
    Ok(&given(connection, "connection")?.session)
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
            let session = Arc::new(Session { connection, scan: RwLock::default() });
            Ok(inlay_connection { process: here(), session })
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
    guard(error, || of(connection)?.connection.begin())
}

/// Commits the open transaction; an error if none is open.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_commit(
    connection: Handle<'_, inlay_connection>,
    error: ErrorOut<'_>,
) -> inlay_status {
    guard(error, || expect_open(of(connection)?.connection.commit()?, "commit"))
}

/// Undoes the open transaction; an error if none is open.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_rollback(
    connection: Handle<'_, inlay_connection>,
    error: ErrorOut<'_>,
) -> inlay_status {
    guard(error, || expect_open(of(connection)?.connection.rollback()?, "roll back"))
}

fn expect_open(was_open: bool, what: &str) -> inlay::Result<()> {
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
    guard(error, || of(connection)?.connection.set_autocommit(is_on))
}

/// Whether each statement commits by itself.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_get_autocommit(
    connection: Handle<'_, inlay_connection>,
    is_on: Out<'_, bool>,
    error: ErrorOut<'_>,
) -> inlay_status {
    guard(error, || put(is_on, of(connection)?.connection.autocommit()?, "is_on"))
}

/// Makes a schema the one where names without a schema are looked up first.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_set_schema(
    connection: Handle<'_, inlay_connection>,
    schema: Text<'_>,
    error: ErrorOut<'_>,
) -> inlay_status {
    guard(error, || of(connection)?.connection.set_schema(schema.get("schema")?))
}

/// The schema where new tables go. To be freed by inlay_text_free.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_get_schema(
    connection: Handle<'_, inlay_connection>,
    schema: Out<'_, TextOut>,
    error: ErrorOut<'_>,
) -> inlay_status {
    guard(error, || put(schema, TextOut::of(&of(connection)?.connection.schema()?), "schema"))
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
        let (name, value) = (sql::ident(name.get("name")?), sql::literal(value.get("value")?));
        of(connection)?.connection.execute(&format!("SET {name} = {value}")).map(drop)
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
        let connection = &of(connection)?.connection;
        let sql = format!("SELECT current_setting({})", sql::literal(name.get("name")?));
        let found = connection.execute(&sql)?.value(0, 0)?;
        let text = if found.is_null() { TextOut::none() } else { TextOut::of(&found.to_string()) };
        put(value, text, "value")
    })
}

/// The number of the session: current_connection_id() in SQL.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_connection_id(connection: Handle<'_, inlay_connection>) -> u64 {
    plain(0, || connection.map(|connection| connection.session.connection.id()))
}

/// Ends the statement that runs on a connection soon, with INLAY_ERROR_INTERRUPTED; one that begins later is not touched. Any thread
/// may call it at any time.
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

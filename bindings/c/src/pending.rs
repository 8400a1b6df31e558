//! Statements that run on a thread of the library's while the program does other things.

use crate::connection::{self, Call, Session, inlay_connection, inlay_progress};
use crate::failure::{ErrorOut, guard, inlay_status, plain};
use crate::pointers::{Freed, Handle, Made, Out, Shared, Text, free, here, make, null, owned, put};
use crate::result::inlay_result;
use crate::statement::{self, inlay_statement};
use inlay::{Host, Parameters, Pending};
use std::sync::Arc;
use std::time::Duration;

/// A statement that was started.
pub struct inlay_pending {
    process: u32,
    session: Arc<Session>,
    pending: Pending,
}

owned!(inlay_pending);

/// Starts something of a session.
fn start(
    session: &Session,
    work: impl FnOnce(&Call<'_>, Option<Arc<dyn Host>>) -> inlay::Result<Pending>,
) -> inlay::Result<Pending> {
    let call = session.enter();
    work(&call, call.host().cloned())
}

/// Starts the statements of a text. To be ended by inlay_pending_finish, or given up by inlay_pending_free.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_start(
    connection: Handle<'_, inlay_connection>,
    sql: Text<'_>,
    pending: Out<'_, Made<inlay_pending>>,
    error: ErrorOut<'_>,
) -> inlay_status {
    guard(error, || {
        make(pending, "pending", || {
            let session = Arc::clone(connection::of(connection)?);
            let pending = start(&session, |call, host| {
                call.connection().start(sql.get("sql")?, Parameters::default(), host)
            })?;
            Ok(inlay_pending { process: here(), session, pending })
        })
    })
}

/// Starts a prepared statement with the values that are bound.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_statement_start(
    statement: Handle<'_, inlay_statement>,
    pending: Out<'_, Made<inlay_pending>>,
    error: ErrorOut<'_>,
) -> inlay_status {
    guard(error, || {
        make(pending, "pending", || {
            let statement = statement::of(statement)?;
            let session = Arc::clone(&statement.session);
            let parameters = statement.bindings.lock().parameters()?.clone();
            let pending = start(&session, |_, host| statement.statement.start(parameters, host))?;
            Ok(inlay_pending { process: here(), session, pending })
        })
    })
}

/// Waits until the statement has ended, but no longer than so many milliseconds. Returns whether it has.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_pending_wait(pending: Handle<'_, inlay_pending>, milliseconds: u64) -> bool {
    // A condition does not wait for ages.
    const LONGEST: u64 = 1000 * 3600 * 24 * 365;
    plain(false, || {
        let most = Duration::from_millis(milliseconds.min(LONGEST));
        pending.map(|pending| pending.pending.wait(most))
    })
}

/// How far it is; false, and nothing is written, if that is not known.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_pending_progress(
    pending: Handle<'_, inlay_pending>,
    progress: Out<'_, inlay_progress>,
) -> bool {
    plain(false, || {
        let found = pending?.pending.progress()?;
        put(progress, found.into(), "progress").ok().map(|()| true)
    })
}

/// Ends it soon, with INLAY_ERROR_INTERRUPTED: this one, whatever else runs on the connection. Any thread may call it.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_pending_interrupt(pending: Handle<'_, inlay_pending>) {
    plain((), || pending.map(|pending| pending.pending.interrupt()));
}

/// Waits for the answer, and frees the statement that was started, whatever came of it. result may be NULL.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_pending_finish(
    pending: Freed<'_, inlay_pending>,
    result: Out<'_, Shared<inlay_result>>,
    error: ErrorOut<'_>,
) -> inlay_status {
    guard(error, || {
        let boxed = pending.and_then(Option::take).ok_or_else(|| null("pending"))?;
        let inlay_pending { process, session, pending } = *boxed;
        if process != here() {
            std::mem::forget((session, pending));
            let message = "the statement was started by the process that this one was forked from";
            return Err(inlay::Error::Closed { message: message.to_string() });
        }
        inlay_result::put(result, Ok(&session), |_| Ok(pending.finish()?.into_parts()))
    })
}

/// Gives a statement up: it is told to end, and its answer is dropped.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_pending_free(pending: Freed<'_, inlay_pending>) {
    free(pending);
}

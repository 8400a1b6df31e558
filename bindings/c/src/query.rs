//! Texts of statements that are run.

use crate::connection::{self, Session, inlay_connection};
use crate::failure::{ErrorOut, guard, inlay_status};
use crate::pointers::{Freed, Handle, Made, Out, Shared, Text, free, given, here, make, null, owned, put_if};
use crate::result::inlay_result;
use inlay::{Extent, FIRST_BYTES, Parameters, Script};
use parking_lot::Mutex;
use std::sync::Arc;

/// The statements of a text, which are run one after the other.
pub struct inlay_script {
    process: u32,
    session: Arc<Session>,
    script: Mutex<Script>,
}

owned!(inlay_script);

/// Runs the statements of a text; the answer is that of the last one. Of a large one the first rows are there, and the others are
/// computed when they are asked for. To be freed by inlay_result_release. result may be NULL: then all that the text does is done,
/// and its rows are dropped.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_query(
    connection: Handle<'_, inlay_connection>,
    sql: Text<'_>,
    result: Out<'_, Shared<inlay_result>>,
    error: ErrorOut<'_>,
) -> inlay_status {
    guard(error, || {
        inlay_result::put(result, connection::of(connection), |call| {
            let sql = sql.get("sql")?;
            call.connection().stream_with(
                sql,
                Extent::Script,
                &Parameters::default(),
                call.host(),
                FIRST_BYTES,
            )
        })
    })
}

/// Runs the statements of a text, and says how many rows the last one changed; 0 for one that changes none. changed may be NULL.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_execute(
    connection: Handle<'_, inlay_connection>,
    sql: Text<'_>,
    changed: Out<'_, u64>,
    error: ErrorOut<'_>,
) -> inlay_status {
    guard(error, || {
        let (call, sql) = (connection::enter(connection)?, sql.get("sql")?);
        let answer = call.connection().execute_with(sql, &Parameters::default(), call.host())?;
        put_if(changed, answer.changed_rows().unwrap_or(0))
    })
}

/// Reads a text, whose statements inlay_script_next runs. To be freed by inlay_script_free.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_script_new(
    connection: Handle<'_, inlay_connection>,
    sql: Text<'_>,
    script: Out<'_, Made<inlay_script>>,
    error: ErrorOut<'_>,
) -> inlay_status {
    guard(error, || {
        make(script, "script", || {
            let session = Arc::clone(connection::of(connection)?);
            let script = Mutex::new(session.enter().connection().script(sql.get("sql")?)?);
            Ok(inlay_script { process: here(), session, script })
        })
    })
}

/// Runs the next statement, and gives its answer; NULL behind the last. After an error the next call runs the statement behind.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_script_next(
    script: Handle<'_, inlay_script>,
    result: Out<'_, Shared<inlay_result>>,
    error: ErrorOut<'_>,
) -> inlay_status {
    guard(error, || {
        let script = given(script, "script")?;
        let result = result.ok_or_else(|| null("result"))?;
        result.write(Shared::none());
        let call = script.session.enter();
        let answer = script.script.lock().next(&Parameters::default(), call.host())?;
        if let Some(cursor) = answer {
            result.write(Shared::of(inlay_result::new(cursor.into_parts(), &call, &script.session)));
        }
        Ok(())
    })
}

/// Frees a script; statements that were not run are not.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_script_free(script: Freed<'_, inlay_script>) {
    free(script);
}

//! Replacement scans: tables that the program has for names that nothing else has.

use crate::connection::{self, inlay_connection};
use crate::failure::{ErrorOut, guard, inlay_status, plain};
use crate::functions::{Destroy, User};
use crate::pointers::{Handle, Own, StreamIn, Text, null, text_of};
use inlay::types::arrow::StreamReader;
use inlay::{ArrowTable, Error, HostTable, Result};
use std::ffi::{c_char, c_void};
use std::sync::Arc;

/// Asked for a table by its name, on the thread that runs the statement. It gives one by inlay_replacement_query or
/// inlay_replacement_arrow, or leaves replacement as it is: then there is no such table.
pub type inlay_replacement_scan = Option<
    unsafe extern "C" fn(user_data: *mut c_void, name: *const c_char, replacement: *mut inlay_replacement),
>;

/// What a name is to mean. It belongs to the library, and is there during the call.
pub struct inlay_replacement {
    name: String,
    table: Result<Option<HostTable>>,
}

/// Who is asked.
pub struct Scan {
    callback: unsafe extern "C" fn(*mut c_void, *const c_char, *mut inlay_replacement),
    user: User,
}

impl Scan {
    /// The program's table of a name.
    pub fn find(&self, name: &str) -> Result<Option<HostTable>> {
        let mut replacement = inlay_replacement { name: name.to_string(), table: Ok(None) };
        let text = text_of(name);
        // SAFETY: the program's function, called as it was declared; both pointers live as long as the call.
        unsafe { (self.callback)(self.user.data(), text.as_ptr(), &raw mut replacement) };
        replacement.table
    }
}

/// Lets a function of the program's be asked for tables that no other thing has the name of, in statements of this connection. A
/// function of NULL ends that. user_data is given to it, and to destroy, if that is not NULL, when it is not asked any more.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_set_replacement_scan(
    connection: Handle<'_, inlay_connection>,
    function: inlay_replacement_scan,
    user_data: *mut c_void,
    destroy: Destroy,
    error: ErrorOut<'_>,
) -> inlay_status {
    // What is given is destroyed whatever happens.
    let user = User::new(user_data, destroy);
    guard(error, || {
        let scan = function.map(|callback| Arc::new(Scan { callback, user }));
        let earlier = connection::of(connection)?.set_scan(scan);
        drop(earlier);
        Ok(())
    })
}

/// The name means this query.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_replacement_query(
    replacement: Own<'_, inlay_replacement>,
    sql: Text<'_>,
    error: ErrorOut<'_>,
) -> inlay_status {
    guard(error, || {
        let replacement = replacement.ok_or_else(|| null("replacement"))?;
        replacement.table = Ok(Some(HostTable::Query(sql.get("sql")?.to_string())));
        Ok(())
    })
}

/// The name means the rows of an Arrow stream, which is read as a whole and released.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_replacement_arrow(
    replacement: Own<'_, inlay_replacement>,
    stream: StreamIn,
    error: ErrorOut<'_>,
) -> inlay_status {
    guard(error, || {
        let stream = StreamReader::new(stream.take()?)?;
        let replacement = replacement.ok_or_else(|| null("replacement"))?;
        let table = ArrowTable::from_stream(&*replacement.name, stream)?;
        replacement.table = Ok(Some(HostTable::Rows(Arc::new(table))));
        Ok(())
    })
}

/// The statement fails with this message.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_replacement_fail(replacement: Own<'_, inlay_replacement>, message: Text<'_>) {
    plain((), || {
        let message = message.get("message").unwrap_or("the program's tables failed");
        replacement?.table = Err(Error::external(message));
        Some(())
    });
}

//! A statement that stays open between batches, on a connection that other statements use meanwhile.
//!
//! rusqlite's statements borrow their connection, and a scan would have to hold it. Here a statement is SQLite's own handle beside a
//! shared connection.
//!
//! Invariants
//! - A connection and its statements are used only under the connection's lock: SQLite is told to bring no locks of its own.
//! - A statement is finalized before the connection that it holds goes.
//! - What a column's bytes point to is read before the next step.

#![expect(unsafe_code, reason = "handles of SQLite's C interface")]

use crate::attached::Session;
use crate::file::of_code;
use inlay::types::{Error, Interrupt, Result};
use rusqlite::Connection;
use rusqlite::ffi;
use std::ffi::{CStr, CString, c_int};
use std::ptr::{self, NonNull};
use std::sync::Arc;

/// A statement that was begun.
pub struct Cursor {
    session: Arc<Session>,
    statement: NonNull<ffi::sqlite3_stmt>,
}

// SAFETY: SQLite is compiled to be used by several threads, and the handle is touched only under the connection's lock.
unsafe impl Send for Cursor {}

/// A row of a statement, until the next step.
pub struct Row<'a>(&'a NonNull<ffi::sqlite3_stmt>);

/// What a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    Null,
    Whole,
    Real,
    Text,
    Blob,
}

impl Cursor {
    /// Prepares a statement.
    pub fn new(session: &Arc<Session>, sql: &str) -> Result<Self> {
        let text = CString::new(sql).map_err(|_| Error::invalid_argument("a name has a zero byte"))?;
        let connection = session.link.connection.lock();
        let mut statement = ptr::null_mut();
        // SAFETY: the connection is open and locked by us, and the text ends with a zero byte.
        let code = unsafe {
            ffi::sqlite3_prepare_v2(connection.handle(), text.as_ptr(), -1, &mut statement, ptr::null_mut())
        };
        match NonNull::new(statement) {
            Some(statement) if code == ffi::SQLITE_OK => {
                drop(connection);
                Ok(Self { session: Arc::clone(session), statement })
            }
            _ => Err(of_code(&session.file, code, &message(&connection))),
        }
    }

    /// Gives rows to `take` until it wants no more; whether there may be more.
    pub fn rows(
        &mut self,
        interrupt: &Interrupt,
        mut take: impl FnMut(Row<'_>) -> Result<bool>,
    ) -> Result<bool> {
        let connection = self.session.link.connection.lock();
        self.session.link.watch.set(interrupt);
        loop {
            // SAFETY: the handle is a statement of this connection, which is locked by us.
            match unsafe { ffi::sqlite3_step(self.statement.as_ptr()) } {
                ffi::SQLITE_ROW => {
                    if !take(Row(&self.statement))? {
                        return Ok(true);
                    }
                }
                ffi::SQLITE_DONE => return Ok(false),
                code => {
                    interrupt.check()?;
                    return Err(of_code(&self.session.file, code, &message(&connection)));
                }
            }
        }
    }
}

impl Drop for Cursor {
    fn drop(&mut self) {
        let _connection = self.session.link.connection.lock();
        // SAFETY: the statement is not finalized yet, and its connection is open and locked by us.
        unsafe { ffi::sqlite3_finalize(self.statement.as_ptr()) };
    }
}

/// What SQLite says of the last failure.
fn message(connection: &Connection) -> String {
    // SAFETY: the connection is open and locked by the caller; the text is copied before anybody else uses it.
    let text = unsafe { CStr::from_ptr(ffi::sqlite3_errmsg(connection.handle())) };
    text.to_string_lossy().into_owned()
}

impl Row<'_> {
    /// What the value of a column is, before it is converted.
    pub fn class(&self, column: c_int) -> Class {
        // SAFETY: the statement stands at a row; a column that is not there is NULL.
        match unsafe { ffi::sqlite3_column_type(self.0.as_ptr(), column) } {
            ffi::SQLITE_INTEGER => Class::Whole,
            ffi::SQLITE_FLOAT => Class::Real,
            ffi::SQLITE_TEXT => Class::Text,
            ffi::SQLITE_BLOB => Class::Blob,
            _ => Class::Null,
        }
    }

    /// A whole number.
    pub fn whole(&self, column: c_int) -> i64 {
        // SAFETY: as in `class`.
        unsafe { ffi::sqlite3_column_int64(self.0.as_ptr(), column) }
    }

    /// A number with a point.
    pub fn real(&self, column: c_int) -> f64 {
        // SAFETY: as in `class`.
        unsafe { ffi::sqlite3_column_double(self.0.as_ptr(), column) }
    }

    /// The bytes of a BLOB, of a text as UTF-8, of a number as text.
    pub fn bytes(&self, column: c_int) -> &[u8] {
        let statement = self.0.as_ptr();
        let is_blob = self.class(column) == Class::Blob;
        // SAFETY: as in `class`. The length is asked for behind the pointer, which converts, and nothing is converted until the
        // next step, which the borrow of the row ends before.
        unsafe {
            let data = match is_blob {
                true => ffi::sqlite3_column_blob(statement, column).cast::<u8>(),
                false => ffi::sqlite3_column_text(statement, column).cast::<u8>(),
            };
            let len = usize::try_from(ffi::sqlite3_column_bytes(statement, column)).unwrap_or(0);
            if data.is_null() { &[] } else { std::slice::from_raw_parts(data, len) }
        }
    }
}

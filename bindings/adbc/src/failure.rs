//! Why a call failed, as ADBC says it: status, SQLSTATE and a message in memory that the caller releases.

#![expect(unsafe_code, reason = "ADBC's errors in C")]

use crate::ffi::{AdbcError, AdbcStatusCode, VENDOR_CODE_PRIVATE_DATA, status};
use inlay::{Error, ErrorKind};
use std::ffi::{CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

/// What a call answers.
pub type Outcome<T> = Result<T, Failure>;

/// An error on its way to the caller.
#[derive(Debug)]
pub struct Failure {
    status: AdbcStatusCode,
    sqlstate: &'static str,
    message: String,
}

impl Failure {
    /// A call with arguments that make no sense.
    pub fn argument(message: impl Into<String>) -> Self {
        Self { status: status::INVALID_ARGUMENT, sqlstate: "22023", message: message.into() }
    }

    /// A call at the wrong time.
    pub fn state(message: impl Into<String>) -> Self {
        Self { status: status::INVALID_STATE, sqlstate: "HY010", message: message.into() }
    }

    /// An option that this driver does not have.
    pub fn no_option(name: &str) -> Self {
        let message = format!("there is no option \"{name}\" here");
        Self { status: status::NOT_IMPLEMENTED, sqlstate: "0A000", message }
    }

    /// An option that has no value.
    pub fn not_set(name: &str) -> Self {
        let message = format!("there is no option \"{name}\" here, or it was not set");
        Self { status: status::NOT_FOUND, sqlstate: "", message }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let kind = error.kind();
        Self { status: status_of(kind), sqlstate: kind.sqlstate(), message: error.to_string() }
    }
}

/// ADBC's status for a kind of error.
fn status_of(kind: ErrorKind) -> AdbcStatusCode {
    match kind {
        ErrorKind::UndefinedTable | ErrorKind::UndefinedColumn | ErrorKind::UndefinedFunction => {
            status::NOT_FOUND
        }
        ErrorKind::Duplicate => status::ALREADY_EXISTS,
        ErrorKind::Login => status::UNAUTHENTICATED,
        ErrorKind::FileAccess | ErrorKind::Forbidden => status::UNAUTHORIZED,
        ErrorKind::StatementTimeout => status::TIMEOUT,
        ErrorKind::Interrupted => status::CANCELLED,
        ErrorKind::Syntax
        | ErrorKind::Ambiguous
        | ErrorKind::TypeMismatch
        | ErrorKind::Grouping
        | ErrorKind::Windowing
        | ErrorKind::Bind
        | ErrorKind::InvalidArgument => status::INVALID_ARGUMENT,
        ErrorKind::InvalidCast
        | ErrorKind::OutOfRange
        | ErrorKind::DivisionByZero
        | ErrorKind::SubqueryRows
        | ErrorKind::Cardinality
        | ErrorKind::MalformedFile => status::INVALID_DATA,
        ErrorKind::NotNull | ErrorKind::Unique | ErrorKind::Check | ErrorKind::ForeignKey => {
            status::INTEGRITY
        }
        ErrorKind::Unsupported => status::NOT_IMPLEMENTED,
        ErrorKind::Closed | ErrorKind::TransactionState | ErrorKind::ReadOnly => status::INVALID_STATE,
        ErrorKind::Io
        | ErrorKind::DiskFull
        | ErrorKind::Corrupt
        | ErrorKind::Locked
        | ErrorKind::Conflict
        | ErrorKind::OutOfMemory => status::IO,
        ErrorKind::External | ErrorKind::Internal => status::INTERNAL,
    }
}

/// Runs the inside of an exported function: its failure, or a panic, goes into `error`, which may be NULL.
pub fn guard(error: *mut AdbcError, call: impl FnOnce() -> Outcome<()>) -> AdbcStatusCode {
    let outcome = catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|panic| {
        drop(panic);
        Err(Error::internal("a panic in the ADBC driver").into())
    });
    let Err(failure) = outcome else { return status::OK };
    // SAFETY: NULL or an error that the caller initialised and lets nobody else use during the call.
    if let Some(error) = unsafe { error.as_mut() } {
        write(error, &failure);
    }
    failure.status
}

fn write(error: &mut AdbcError, failure: &Failure) {
    if let Some(release) = error.release {
        // SAFETY: the caller kept an earlier error in it, whose producer said how to release it.
        unsafe { release(error) }
    }
    let message = CString::new(failure.message.replace('\0', " ")).unwrap_or_default();
    error.message = message.into_raw();
    error.sqlstate = [0; 5];
    for (place, byte) in error.sqlstate.iter_mut().zip(failure.sqlstate.bytes()) {
        *place = byte as c_char;
    }
    error.release = Some(release);
    if error.vendor_code == VENDOR_CODE_PRIVATE_DATA {
        // Not NULL means that there is an error; the details of 1.1.0 are not among what we have.
        error.private_data = error.message.cast();
    }
}

unsafe extern "C" fn release(error: *mut AdbcError) {
    // SAFETY: NULL or an error that the caller owns.
    let Some(error) = (unsafe { error.as_mut() }) else { return };
    if !error.message.is_null() {
        // SAFETY: made by `write` with `CString::into_raw`; NULL afterwards.
        drop(unsafe { CString::from_raw(error.message) });
    }
    error.message = ptr::null_mut();
    error.release = None;
    if error.vendor_code == VENDOR_CODE_PRIVATE_DATA {
        error.private_data = ptr::null_mut();
    }
}

//! Errors: what a function says of why it failed.

use crate::pointers::{Handle, text_of};
use inlay::{Error, ErrorKind, Result};
use std::ffi::{CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

/// Whether a function did what it was asked, or what kind of error it was. The numbers stay what they are.
pub type inlay_status = u32;
/// It did.
pub const INLAY_OK: inlay_status = 0;

/// Where an error is put: NULL, or a pointer that is NULL or holds an earlier error, which is freed.
pub type ErrorOut<'a> = Option<&'a mut Option<Box<inlay_error>>>;

/// Why a function failed. It belongs to the program, which frees it; its texts are there until then, whatever happens to the handles.
pub struct inlay_error {
    kind: ErrorKind,
    text: CString,
    message: CString,
    sqlstate: CString,
    hint: Option<CString>,
    detail: Option<CString>,
    /// Line, column and place in the text.
    place: (u32, u32, u32),
}

impl inlay_error {
    fn new(error: &Error) -> Self {
        let place = error.place().map(|place| (place.line, place.column, place.offset.unwrap_or(0)));
        Self {
            kind: error.kind(),
            text: text_of(&error.to_string()),
            message: text_of(&error.message()),
            sqlstate: text_of(error.sqlstate()),
            hint: error.hint().map(|hint| text_of(&hint)),
            detail: error.detail().map(|detail| text_of(&detail)),
            place: place.unwrap_or_default(),
        }
    }
}

/// The status of an error.
pub fn status_of(error: &Error) -> inlay_status {
    inlay_status::from(error.kind().code())
}

/// What `work` gives; a panic is an error.
pub fn caught<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        Err(Error::internal(text.unwrap_or("a panic without a message")))
    })
}

/// Runs what a function does, and tells how it went.
pub fn guard(error: ErrorOut<'_>, work: impl FnOnce() -> Result<()>) -> inlay_status {
    let (status, made) = match caught(work) {
        Ok(()) => (INLAY_OK, None),
        Err(failed) => (status_of(&failed), error.is_some().then(|| Box::new(inlay_error::new(&failed)))),
    };
    if let Some(place) = error {
        *place = made;
    }
    status
}

/// What a function that cannot fail gives; `otherwise` without the handle.
pub fn plain<T>(otherwise: T, work: impl FnOnce() -> Option<T>) -> T {
    catch_unwind(AssertUnwindSafe(work)).ok().flatten().unwrap_or(otherwise)
}

fn pointer(text: Option<&CString>) -> *const c_char {
    text.map_or(ptr::null(), |text| text.as_ptr())
}

/// The status that the function gave; INLAY_OK for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_error_status(error: Handle<'_, inlay_error>) -> inlay_status {
    error.map_or(INLAY_OK, |error| inlay_status::from(error.kind.code()))
}

/// All that is known of the error as one text: message, hint, row and place. Never NULL, but for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_error_text(error: Handle<'_, inlay_error>) -> *const c_char {
    pointer(error.map(|error| &error.text))
}

/// What happened, without hint, row and place.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_error_message(error: Handle<'_, inlay_error>) -> *const c_char {
    pointer(error.map(|error| &error.message))
}

/// The five characters of SQLSTATE.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_error_sqlstate(error: Handle<'_, inlay_error>) -> *const c_char {
    pointer(error.map(|error| &error.sqlstate))
}

/// What to do about it; NULL if that is not known.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_error_hint(error: Handle<'_, inlay_error>) -> *const c_char {
    pointer(error.and_then(|error| error.hint.as_ref()))
}

/// More about it, as the row that it happened in; NULL if there is nothing.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_error_detail(error: Handle<'_, inlay_error>) -> *const c_char {
    pointer(error.and_then(|error| error.detail.as_ref()))
}

/// The line of the statement's text that it is in, from 1; 0 if that is not known.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_error_line(error: Handle<'_, inlay_error>) -> u32 {
    error.map_or(0, |error| error.place.0)
}

/// The character of that line, from 1; 0 if that is not known.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_error_column(error: Handle<'_, inlay_error>) -> u32 {
    error.map_or(0, |error| error.place.1)
}

/// The character of the whole text, from 1; 0 if that is not known.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_error_offset(error: Handle<'_, inlay_error>) -> u32 {
    error.map_or(0, |error| error.place.2)
}

/// Whether the same transaction may succeed if it is tried again.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_error_is_retryable(error: Handle<'_, inlay_error>) -> bool {
    error.is_some_and(|error| error.kind.is_retryable())
}

/// Frees an error.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_error_free(error: ErrorOut<'_>) {
    if let Some(error) = error {
        *error = None;
    }
}

/// The name of a status, `"UndefinedTable"`; a constant, never NULL.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_status_name(status: inlay_status) -> *const c_char {
    if status == INLAY_OK {
        return c"Ok".as_ptr();
    }
    let known = usize::try_from(status).ok().and_then(|number| NAMES.get(number.checked_sub(1)?));
    known.map_or(c"Unknown".as_ptr(), |name| name.as_ptr())
}

/// Names of all kinds of errors.
static NAMES: std::sync::LazyLock<Vec<CString>> =
    std::sync::LazyLock::new(|| ErrorKind::ALL.iter().map(|kind| text_of(kind.name())).collect());

//! What the arguments of the driver's functions are: handles, texts and outputs behind pointers.
//!
//! What all may rely on, as `adbc.h` promises: a handle is NULL or initialised memory that no other call uses except
//! Cancel, texts are NULL or end in NUL, outputs are NULL or memory for their struct, and all live during the call.

#![expect(unsafe_code, reason = "arguments of C functions")]

use crate::connection::{ConnectionHandle, Session};
use crate::failure::{Failure, Outcome, guard};
use crate::ffi::{AdbcError, AdbcStatusCode, Handle};
use std::ffi::{CStr, c_char};
use std::ptr;
use std::sync::Arc;

pub fn null(what: &str) -> Failure {
    Failure::argument(format!("{what} is a NULL pointer"))
}

/// What a handle points to.
///
/// # Safety
/// `handle` is as the module says, and was given to a function of the same kind of handle only.
pub unsafe fn inside<'a, T>(handle: *mut Handle) -> Outcome<&'a T> {
    // SAFETY: NULL or initialised, as the caller promises.
    let handle = unsafe { handle.as_ref() }.ok_or_else(|| null("the handle"))?;
    // SAFETY: NULL, or a box that `put` made of a `T` and `take_out` has not freed.
    let inside = unsafe { handle.private_data.cast::<T>().as_ref() };
    inside.ok_or_else(|| Failure::state("the handle is not initialised, or was released"))
}

/// Lets a handle point to `value`.
///
/// # Safety
/// `handle` is as the module says.
pub unsafe fn put<T>(handle: *mut Handle, value: T) -> Outcome<()> {
    // SAFETY: NULL or initialised, as the caller promises.
    let handle = unsafe { handle.as_mut() }.ok_or_else(|| null("the handle"))?;
    if !handle.private_data.is_null() {
        return Err(Failure::state("the handle is in use already"));
    }
    handle.private_data = Box::into_raw(Box::new(value)).cast();
    Ok(())
}

/// What a handle pointed to; it points nowhere afterwards.
///
/// # Safety
/// As for [`inside`].
pub unsafe fn take_out<T>(handle: *mut Handle) -> Outcome<Box<T>> {
    // SAFETY: as the caller promises.
    unsafe { inside::<T>(handle) }?;
    // SAFETY: not NULL, or `inside` had failed.
    let data = std::mem::replace(unsafe { &mut (*handle).private_data }, ptr::null_mut());
    // SAFETY: a box that `put` made; the handle has let go of it.
    Ok(unsafe { Box::from_raw(data.cast::<T>()) })
}

/// A text; `None` when it is NULL.
///
/// # Safety
/// `text` is as the module says.
pub unsafe fn text<'a>(what: &str, text: *const c_char) -> Outcome<Option<&'a str>> {
    if text.is_null() {
        return Ok(None);
    }
    // SAFETY: not NULL, and ends in NUL, as the caller promises.
    let bytes = unsafe { CStr::from_ptr(text) };
    bytes.to_str().map(Some).map_err(|_| Failure::argument(format!("{what} is not UTF-8")))
}

/// A text that must not be NULL.
///
/// # Safety
/// As for [`text`].
pub unsafe fn given<'a>(what: &str, pointer: *const c_char) -> Outcome<&'a str> {
    // SAFETY: as the caller promises.
    unsafe { text(what, pointer) }?.ok_or_else(|| null(what))
}

/// Writes an output.
///
/// # Safety
/// `out` is NULL or memory for a `T`, whose old contents nobody owns.
pub unsafe fn give<T>(out: *mut T, value: T) -> Outcome<()> {
    if out.is_null() {
        return Err(null("the output"));
    }
    // SAFETY: not NULL, and memory for a `T`, as the caller promises.
    unsafe { ptr::write(out, value) };
    Ok(())
}

/// Writes the value of an option with its NUL, if it fits, and its size.
///
/// # Safety
/// `value` is NULL or memory for `*length` bytes, `length` NULL or initialised.
pub unsafe fn give_option(option: &str, value: *mut c_char, length: *mut usize) -> Outcome<()> {
    // SAFETY: NULL or initialised, as the caller promises.
    let length = unsafe { length.as_mut() }.ok_or_else(|| null("the length"))?;
    let size = option.len() + 1;
    if *length >= size && !value.is_null() {
        // SAFETY: memory for that many bytes, as the caller promises.
        unsafe {
            ptr::copy_nonoverlapping(option.as_ptr(), value.cast(), option.len());
            *value.add(option.len()) = 0;
        }
    }
    *length = size;
    Ok(())
}

/// Runs the inside of a function of a handle that points to a `T`.
///
/// # Safety
/// As for [`inside`]; `error` is NULL or initialised.
pub unsafe fn on<T>(
    handle: *mut Handle,
    error: *mut AdbcError,
    call: impl FnOnce(&T) -> Outcome<()>,
) -> AdbcStatusCode {
    // SAFETY: as the caller promises.
    guard(error, || call(unsafe { inside::<T>(handle) }?))
}

/// Runs the inside of a function of a connection that is open.
///
/// # Safety
/// As for [`on`].
pub unsafe fn on_session(
    connection: *mut Handle,
    error: *mut AdbcError,
    call: impl FnOnce(Arc<Session>) -> Outcome<()>,
) -> AdbcStatusCode {
    // SAFETY: as the caller promises.
    unsafe { on::<ConnectionHandle>(connection, error, |connection| call(connection.session()?)) }
}

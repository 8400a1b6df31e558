//! What driver managers look for. Libraries that link this crate export it, by `use inlay_adbc as _`: the Python package and the C library.

#![expect(unsafe_code, reason = "the entry of the driver")]

use crate::driver::init;
use crate::ffi::{AdbcError, AdbcStatusCode};
use std::ffi::{c_int, c_void};

/// The entry point by its own name. Fills the AdbcDriver of a driver manager, as adbc.h says.
///
/// # Safety
/// `driver` is NULL or memory for the `AdbcDriver` of that version, `error` NULL or an initialised error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn inlay_adbc_init(
    version: c_int,
    driver: *mut c_void,
    error: *mut AdbcError,
) -> AdbcStatusCode {
    // SAFETY: as the caller promises.
    unsafe { init(version, driver, error) }
}

/// The entry point by the name that is looked for when none was said.
///
/// # Safety
/// As for [`inlay_adbc_init`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn AdbcDriverInit(
    version: c_int,
    driver: *mut c_void,
    error: *mut AdbcError,
) -> AdbcStatusCode {
    // SAFETY: as the caller promises.
    unsafe { init(version, driver, error) }
}

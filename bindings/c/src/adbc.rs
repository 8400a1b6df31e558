//! The driver of ADBC, by the names that driver managers look for.

use inlay_adbc::{AdbcError, AdbcStatusCode};
use std::ffi::{c_int, c_void};

/// The entry point by its own name. Fills the AdbcDriver of a driver manager, as adbc.h says.
///
/// # Safety
/// As for [`inlay_adbc::init`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn inlay_adbc_init(
    version: c_int,
    driver: *mut c_void,
    error: *mut AdbcError,
) -> AdbcStatusCode {
    // SAFETY: as the caller promises.
    unsafe { inlay_adbc::init(version, driver, error) }
}

/// The entry point by the name that is looked for when none was said.
///
/// # Safety
/// As for [`inlay_adbc::init`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn AdbcDriverInit(
    version: c_int,
    driver: *mut c_void,
    error: *mut AdbcError,
) -> AdbcStatusCode {
    // SAFETY: as the caller promises.
    unsafe { inlay_adbc::init(version, driver, error) }
}

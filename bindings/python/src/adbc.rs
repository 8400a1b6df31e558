//! What driver managers of ADBC look for in this library: see `inlay.adbc`.

#![expect(unsafe_code, reason = "the entry of the ADBC driver")]

use inlay_adbc::{AdbcError, AdbcStatusCode};
use std::ffi::{c_int, c_void};

/// The entry point by its own name.
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

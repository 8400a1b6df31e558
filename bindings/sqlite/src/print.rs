//! The printf family. What is variadic is in `print.c`; the names that programs know jump there, as arguments lie.

use crate::pointers::length_of;
use std::ffi::{c_char, c_int, c_void};

unsafe extern "C" {
    fn inlay_mprintf();
    fn inlay_vmprintf();
    fn inlay_snprintf();
    fn inlay_vsnprintf();
    fn inlay_str_appendf();
    fn inlay_str_vappendf();
    fn inlay_config();
    fn inlay_db_config();
    fn inlay_test_control();
    fn inlay_log();
    fn inlay_vtab_config();
    fn inlay_str_new() -> *mut c_void;
    fn inlay_str_finish(text: *mut c_void) -> *mut c_char;
    fn inlay_str_reset(text: *mut c_void);
    fn inlay_str_append(text: *mut c_void, bytes: *const c_char, count: usize);
    fn inlay_str_errcode(text: *mut c_void) -> c_int;
    fn inlay_str_length(text: *mut c_void) -> c_int;
    fn inlay_str_value(text: *mut c_void) -> *mut c_char;
}

/// A function of the interface that is another one of C: all arguments stay where they are.
macro_rules! jump {
    ($($name:ident => $target:ident;)*) => {$(
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub extern "C" fn $name() {
            #[cfg(target_arch = "x86_64")]
            core::arch::naked_asm!("jmp {}", sym $target);
            #[cfg(target_arch = "aarch64")]
            core::arch::naked_asm!("b {}", sym $target);
        }
    )*};
}

jump! {
    sqlite3_mprintf => inlay_mprintf;
    sqlite3_vmprintf => inlay_vmprintf;
    sqlite3_snprintf => inlay_snprintf;
    sqlite3_vsnprintf => inlay_vsnprintf;
    sqlite3_str_appendf => inlay_str_appendf;
    sqlite3_str_vappendf => inlay_str_vappendf;
    sqlite3_config => inlay_config;
    sqlite3_db_config => inlay_db_config;
    sqlite3_test_control => inlay_test_control;
    sqlite3_log => inlay_log;
    sqlite3_vtab_config => inlay_vtab_config;
}

/// A string that grows, which belongs to the program.
#[unsafe(no_mangle)]
pub extern "C" fn sqlite3_str_new(_db: *mut c_void) -> *mut c_void {
    // SAFETY: gives a new object.
    unsafe { inlay_str_new() }
}

/// The text of a string, which is gone then.
#[unsafe(no_mangle)]
pub extern "C" fn sqlite3_str_finish(text: *mut c_void) -> *mut c_char {
    // SAFETY: NULL or a string of the program's, as the interface says; so for those below.
    unsafe { inlay_str_finish(text) }
}

/// Empties a string.
#[unsafe(no_mangle)]
pub extern "C" fn sqlite3_str_reset(text: *mut c_void) {
    // SAFETY: as above.
    unsafe { inlay_str_reset(text) }
}

/// Appends so many bytes.
#[unsafe(no_mangle)]
pub extern "C" fn sqlite3_str_append(text: *mut c_void, bytes: *const c_char, count: c_int) {
    let Ok(count) = usize::try_from(count) else { return };
    // SAFETY: as above.
    unsafe { inlay_str_append(text, bytes, count) }
}

/// Appends a text.
#[unsafe(no_mangle)]
pub extern "C" fn sqlite3_str_appendall(text: *mut c_void, bytes: *const c_char) {
    // SAFETY: as above.
    unsafe { inlay_str_append(text, bytes, length_of(bytes)) }
}

/// Appends a byte so many times.
#[unsafe(no_mangle)]
pub extern "C" fn sqlite3_str_appendchar(text: *mut c_void, count: c_int, byte: c_char) {
    for _ in 0..count {
        // SAFETY: as above.
        unsafe { inlay_str_append(text, &raw const byte, 1) }
    }
}

/// What went wrong with a string.
#[unsafe(no_mangle)]
pub extern "C" fn sqlite3_str_errcode(text: *mut c_void) -> c_int {
    // SAFETY: as above.
    unsafe { inlay_str_errcode(text) }
}

/// Bytes of a string.
#[unsafe(no_mangle)]
pub extern "C" fn sqlite3_str_length(text: *mut c_void) -> c_int {
    // SAFETY: as above.
    unsafe { inlay_str_length(text) }
}

/// The text of a string, which stays.
#[unsafe(no_mangle)]
pub extern "C" fn sqlite3_str_value(text: *mut c_void) -> *mut c_char {
    // SAFETY: as above.
    unsafe { inlay_str_value(text) }
}

//! Memory that programs take and free: the C library's, so that what one side takes the other may free.

use std::ffi::{c_int, c_void};

unsafe extern "C" {
    fn malloc(size: usize) -> *mut c_void;
    fn realloc(memory: *mut c_void, size: usize) -> *mut c_void;
    fn free(memory: *mut c_void);
    fn malloc_usable_size(memory: *mut c_void) -> usize;
}

/// More is no size of one object.
const SIZE_MAX: u64 = 0x7fff_ff00;

/// So many bytes, or NULL.
#[unsafe(no_mangle)]
pub extern "C" fn sqlite3_malloc64(size: u64) -> *mut c_void {
    match usize::try_from(size) {
        // SAFETY: any size may be asked for.
        Ok(bytes) if size > 0 && size <= SIZE_MAX => unsafe { malloc(bytes) },
        _ => std::ptr::null_mut(),
    }
}

/// So many bytes, or NULL.
#[unsafe(no_mangle)]
pub extern "C" fn sqlite3_malloc(size: c_int) -> *mut c_void {
    u64::try_from(size).map_or(std::ptr::null_mut(), |size| sqlite3_malloc64(size))
}

/// Makes memory another size; 0 frees it.
#[unsafe(no_mangle)]
pub extern "C" fn sqlite3_realloc64(memory: *mut c_void, size: u64) -> *mut c_void {
    if memory.is_null() {
        return sqlite3_malloc64(size);
    }
    match usize::try_from(size) {
        Ok(0) => {
            sqlite3_free(memory);
            std::ptr::null_mut()
        }
        // SAFETY: memory of this module, as SQLite's manual asks.
        Ok(bytes) if size <= SIZE_MAX => unsafe { realloc(memory, bytes) },
        _ => std::ptr::null_mut(),
    }
}

/// Makes memory another size; 0 or less frees it.
#[unsafe(no_mangle)]
pub extern "C" fn sqlite3_realloc(memory: *mut c_void, size: c_int) -> *mut c_void {
    sqlite3_realloc64(memory, u64::try_from(size).unwrap_or(0))
}

/// Frees memory; NULL is passed over.
#[unsafe(no_mangle)]
pub extern "C" fn sqlite3_free(memory: *mut c_void) {
    // SAFETY: NULL or memory of this module, as SQLite's manual asks.
    unsafe { free(memory) }
}

/// Bytes of memory.
#[unsafe(no_mangle)]
pub extern "C" fn sqlite3_msize(memory: *mut c_void) -> u64 {
    // SAFETY: NULL or memory of this module, as SQLite's manual asks.
    unsafe { malloc_usable_size(memory) as u64 }
}

/// Bytes in memory that the program frees, with NUL behind them.
pub fn copied(bytes: &[u8]) -> *mut c_void {
    let memory = sqlite3_malloc64(bytes.len() as u64 + 1);
    if !memory.is_null() {
        let place: *mut u8 = memory.cast();
        // SAFETY: there is room for all of them and one more.
        unsafe {
            place.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
            place.add(bytes.len()).write(0);
        }
    }
    memory
}

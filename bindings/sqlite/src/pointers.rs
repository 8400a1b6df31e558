//! What the arguments of the functions are: handles, texts, bytes and places for answers, behind pointers that may be NULL.
//!
//! What all may rely on, as SQLite's manual promises: a pointer is NULL, or points to what its type says for as long as the call takes;
//! a text ends with NUL where no length is beside it; a place for an answer is memory for it.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A handle that is used.
pub type Handle<'a, T> = Option<&'a T>;
/// Frees what a program gave: 0 for what stays, -1 for what is to be copied.
pub type Destructor = usize;

/// Memory that is to be copied now.
pub const TRANSIENT: Destructor = usize::MAX;

/// A pointer of the program's, which it says may be used by any thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Raw(pub *mut c_void);

// SAFETY: it is never followed here, only given back to functions of the program that it came with; SQLite's manual has them called
// by whatever thread uses the connection.
unsafe impl Send for Raw {}
// SAFETY: as above.
unsafe impl Sync for Raw {}

/// Bytes of a text that ends with NUL; `None` for NULL.
pub fn bytes_of<'a>(text: *const c_char) -> Option<&'a [u8]> {
    // SAFETY: not NULL, so a text that ends with NUL, as the module says.
    (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.to_bytes())
}

/// How long a text is.
pub fn length_of(text: *const c_char) -> usize {
    bytes_of(text).map_or(0, <[u8]>::len)
}

/// A text that ends with NUL, with what is no UTF-8 replaced; `None` for NULL.
pub fn text_of(text: *const c_char) -> Option<String> {
    bytes_of(text).map(|bytes| String::from_utf8_lossy(bytes).into_owned())
}

/// So many bytes; none behind NULL.
pub fn slice_of<'a>(bytes: *const c_void, count: usize) -> &'a [u8] {
    if bytes.is_null() || count == 0 || count > isize::MAX as usize {
        return &[];
    }
    // SAFETY: not NULL, and as many bytes as the program says, as the module says.
    unsafe { std::slice::from_raw_parts(bytes.cast(), count) }
}

/// So many bytes to be written.
pub fn slice_to_write<'a>(bytes: *mut c_void, count: usize) -> &'a mut [u8] {
    if bytes.is_null() || count == 0 || count > isize::MAX as usize {
        return &mut [];
    }
    // SAFETY: not NULL, and as many bytes of the program's as it says, as the module says.
    unsafe { std::slice::from_raw_parts_mut(bytes.cast(), count) }
}

/// Bytes of a text of UTF-16 that ends with NUL, or of so many bytes.
pub fn utf16_of(text: *const c_void, bytes: c_int) -> Option<String> {
    if text.is_null() {
        return None;
    }
    let units: *const u16 = text.cast();
    let count = match usize::try_from(bytes) {
        Ok(bytes) => bytes / 2,
        Err(_) => {
            let mut count = 0;
            // SAFETY: ends with NUL, as the module says.
            while unsafe { units.add(count).read_unaligned() } != 0 {
                count += 1;
            }
            count
        }
    };
    // SAFETY: so many units are there.
    let units: Vec<u16> = (0..count).map(|at| unsafe { units.add(at).read_unaligned() }).collect();
    Some(String::from_utf16_lossy(&units))
}

/// A text as UTF-16, with NUL behind it.
pub fn to_utf16(text: &str) -> Vec<u16> {
    text.encode_utf16().chain([0]).collect()
}

/// Puts an answer to its place, if there is one.
pub fn put<T>(place: *mut T, value: T) {
    if !place.is_null() {
        // SAFETY: a place for an answer, as the module says.
        unsafe { place.write(value) }
    }
}

/// A text for C. One that has NUL in it ends before.
pub fn c_text(text: &str) -> CString {
    let end = text.find('\0').unwrap_or(text.len());
    CString::new(&text[..end]).unwrap_or_default()
}

/// Frees what a program gave.
pub fn destroy(data: *mut c_void, destructor: Destructor) {
    if destructor == 0 || destructor == TRANSIENT {
        return;
    }
    // SAFETY: neither of the two numbers that are no functions, so the program's, which is called once for its data.
    unsafe {
        let function: unsafe extern "C" fn(*mut c_void) = std::mem::transmute(destructor);
        function(data);
    }
}

/// What a program gave with a function, and how it is freed.
#[derive(Debug)]
pub struct User {
    pub data: Raw,
    destructor: Destructor,
}

impl User {
    pub fn new(data: *mut c_void, destructor: Destructor) -> Self {
        Self { data: Raw(data), destructor }
    }
}

impl Drop for User {
    fn drop(&mut self) {
        destroy(self.data.0, self.destructor);
    }
}

/// A handle that is made.
pub fn handle<T>(value: T) -> *mut T {
    Box::into_raw(Box::new(value))
}

/// Takes a handle that was made by [`handle`] and that nobody uses any more; nobody is there to be told of a panic.
pub fn release<T>(pointer: *mut T) {
    if !pointer.is_null() {
        // SAFETY: made by `handle`, and given back once, as the module says.
        let value = unsafe { Box::from_raw(pointer) };
        let _ = catch_unwind(AssertUnwindSafe(|| drop(value)));
    }
}

/// What is behind a pointer.
pub fn behind<'a, T>(pointer: *const T) -> Handle<'a, T> {
    // SAFETY: NULL, or a handle that is there during the call, as the module says.
    unsafe { pointer.as_ref() }
}

/// What is behind a pointer, of which this call is the only user.
pub fn behind_mut<'a, T>(pointer: *mut T) -> Option<&'a mut T> {
    // SAFETY: NULL, or an object of ours that only this thread uses during the call.
    unsafe { pointer.as_mut() }
}

/// The pointers of an array.
pub fn pointers_of<'a, T>(first: *const *mut T, count: usize) -> &'a [*mut T] {
    if first.is_null() || count == 0 {
        return &[];
    }
    // SAFETY: not NULL, and as many as the program says, as the module says.
    unsafe { std::slice::from_raw_parts(first, count) }
}

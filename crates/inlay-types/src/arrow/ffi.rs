//! The three structs of the Arrow C data interface.
//!
//! A value of these types owns what it describes: dropping it calls `release`. A struct whose `release` is `None`
//! is released, or was moved away; it owns nothing. `take` moves a struct out of a host's memory, as the
//! specification describes: copy the struct, then mark the source released.

#![expect(unsafe_code, reason = "the C data interface's structs")]

use crate::{Error, Result};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr;

/// Set in [`ArrowSchema::flags`] when values may be NULL.
pub const FLAG_NULLABLE: i64 = 2;

/// Type, name and children of an array.
#[repr(C)]
#[derive(Debug)]
pub struct ArrowSchema {
    /// The type, such as `l` for int64.
    pub format: *const c_char,
    /// The name, or NULL.
    pub name: *const c_char,
    /// Key-value pairs in a binary layout, or NULL.
    pub metadata: *const c_char,
    /// See [`FLAG_NULLABLE`].
    pub flags: i64,
    /// Number of children.
    pub n_children: i64,
    /// The children.
    pub children: *mut *mut ArrowSchema,
    /// Type of the dictionary's values, or NULL.
    pub dictionary: *mut ArrowSchema,
    /// Gives everything back; `None` when released.
    pub release: Option<unsafe extern "C" fn(*mut ArrowSchema)>,
    /// The producer's.
    pub private_data: *mut c_void,
}

impl ArrowSchema {
    /// The schema, which says of fields of these names, however deep, that their values are never NULL.
    pub fn requiring(mut self, names: &[&str]) -> Self {
        self.require(names);
        self
    }

    fn require(&mut self, names: &[&str]) {
        for index in 0..usize::try_from(self.n_children).unwrap_or(0) {
            // SAFETY: a schema has so many children, each of which is there until it is released.
            let child = unsafe { (*self.children.add(index)).as_mut() };
            if let Some(child) = child {
                child.require(names);
            }
        }
        // SAFETY: NULL, or a text that ends with NUL.
        let name = (!self.name.is_null()).then(|| unsafe { CStr::from_ptr(self.name) });
        if name.and_then(|name| name.to_str().ok()).is_some_and(|name| names.contains(&name)) {
            self.flags &= !FLAG_NULLABLE;
        }
    }
}

/// Values of an array.
#[repr(C)]
#[derive(Debug)]
pub struct ArrowArray {
    /// Rows.
    pub length: i64,
    /// NULLs, or -1 when not counted.
    pub null_count: i64,
    /// Rows to skip at the start of each buffer.
    pub offset: i64,
    /// Number of buffers.
    pub n_buffers: i64,
    /// Number of children.
    pub n_children: i64,
    /// The buffers; the first is the validity, or NULL.
    pub buffers: *mut *const c_void,
    /// The children.
    pub children: *mut *mut ArrowArray,
    /// The dictionary's values, or NULL.
    pub dictionary: *mut ArrowArray,
    /// Gives everything back; `None` when released.
    pub release: Option<unsafe extern "C" fn(*mut ArrowArray)>,
    /// The producer's.
    pub private_data: *mut c_void,
}

/// Arrays of one schema, one after the other.
#[repr(C)]
#[derive(Debug)]
pub struct ArrowArrayStream {
    /// Writes the schema; returns 0 or an `errno`.
    pub get_schema: Option<unsafe extern "C" fn(*mut ArrowArrayStream, *mut ArrowSchema) -> c_int>,
    /// Writes the next array, or a released one at the end; returns 0 or an `errno`.
    pub get_next: Option<unsafe extern "C" fn(*mut ArrowArrayStream, *mut ArrowArray) -> c_int>,
    /// What went wrong, or NULL; valid until the next call.
    pub get_last_error: Option<unsafe extern "C" fn(*mut ArrowArrayStream) -> *const c_char>,
    /// Gives everything back; `None` when released.
    pub release: Option<unsafe extern "C" fn(*mut ArrowArrayStream)>,
    /// The producer's.
    pub private_data: *mut c_void,
}

macro_rules! owned_struct {
    ($name:ident, $what:literal) => {
        // SAFETY: the interface lets any thread read and release a struct; it is not tied to its creator.
        unsafe impl Send for $name {}

        impl Drop for $name {
            fn drop(&mut self) {
                if let Some(release) = self.release {
                    // SAFETY: not released, and we are the owner; called once, because the callback clears `release`
                    // and the value is gone afterwards.
                    unsafe { release(self) }
                }
            }
        }

        impl $name {
            /// Moves the struct out of `source`, which is marked released and keeps its memory.
            ///
            /// # Safety
            /// `source` is NULL or points to an initialised struct that nobody else uses during the call.
            pub unsafe fn take(source: *mut Self) -> Result<Self> {
                if source.is_null() {
                    return Err(Error::invalid_argument(concat!($what, " is a NULL pointer")));
                }
                // SAFETY: not NULL, and initialised as the caller promises.
                let taken = unsafe { ptr::replace(source, Self::released()) };
                if taken.release.is_none() {
                    let message = concat!($what, " was released or consumed already; export it again");
                    return Err(Error::invalid_argument(message));
                }
                Ok(taken)
            }
        }
    };
}

owned_struct!(ArrowSchema, "Arrow schema");
owned_struct!(ArrowArray, "Arrow array");
owned_struct!(ArrowArrayStream, "Arrow stream");

// SAFETY: after import an array is only read; `release` needs `&mut`.
unsafe impl Sync for ArrowArray {}

impl ArrowSchema {
    /// What the metadata say about a key, if they do.
    pub(super) fn metadata_value(&self, key: &str) -> Option<String> {
        if self.metadata.is_null() {
            return None;
        }
        let mut at = self.metadata.cast::<u8>();
        let mut take = |size: usize| {
            // SAFETY: the producer promises a count and that many pairs, each text behind its length; only bytes that the
            // lengths announce are read, and they live as long as the schema.
            let bytes = unsafe { std::slice::from_raw_parts(at, size) };
            // SAFETY: at most one behind the end of what was announced.
            at = unsafe { at.add(size) };
            bytes
        };
        let number = |bytes: &[u8]| usize::try_from(i32::from_ne_bytes(bytes.try_into().ok()?)).ok();
        let pairs = number(take(4))?;
        for _ in 0..pairs {
            let size = number(take(4))?;
            let is_it = take(size) == key.as_bytes();
            let size = number(take(4))?;
            let value = take(size);
            if is_it {
                return Some(String::from_utf8_lossy(value).into_owned());
            }
        }
        None
    }

    /// A struct that owns nothing, to be written by a producer.
    pub fn released() -> Self {
        Self {
            format: ptr::null(),
            name: ptr::null(),
            metadata: ptr::null(),
            flags: 0,
            n_children: 0,
            children: ptr::null_mut(),
            dictionary: ptr::null_mut(),
            release: None,
            private_data: ptr::null_mut(),
        }
    }
}

impl ArrowArray {
    /// A struct that owns nothing, to be written by a producer.
    pub fn released() -> Self {
        Self {
            length: 0,
            null_count: 0,
            offset: 0,
            n_buffers: 0,
            n_children: 0,
            buffers: ptr::null_mut(),
            children: ptr::null_mut(),
            dictionary: ptr::null_mut(),
            release: None,
            private_data: ptr::null_mut(),
        }
    }
}

impl ArrowArrayStream {
    /// A struct that owns nothing, to be written by a producer.
    pub fn released() -> Self {
        Self {
            get_schema: None,
            get_next: None,
            get_last_error: None,
            release: None,
            private_data: ptr::null_mut(),
        }
    }
}

//! Streams of Arrow arrays: ours to a host, and a host's to us.

#![expect(unsafe_code, reason = "streams of the C data interface")]

use super::ffi::{ArrowArray, ArrowArrayStream, ArrowSchema};
use super::field::ArrowField;
use super::import::ArrowRecords;
use crate::{Error, Result};
use std::ffi::{CStr, CString, c_char, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

/// Struct arrays to hand out.
type Arrays = Box<dyn Iterator<Item = Result<ArrowArray>> + Send>;

const EIO: c_int = 5;
const ENOMEM: c_int = 12;
const EINVAL: c_int = 22;
const ECANCELED: c_int = if cfg!(target_os = "macos") { 89 } else { 125 };

struct StreamContents {
    schema: Box<dyn Fn() -> ArrowSchema + Send>,
    arrays: Arrays,
    error: Option<CString>,
}

/// A stream over struct arrays of this schema. `arrays` is pulled by the consumer's thread.
pub fn export(
    schema: impl Fn() -> ArrowSchema + Send + 'static,
    arrays: impl Iterator<Item = Result<ArrowArray>> + Send + 'static,
) -> ArrowArrayStream {
    let contents =
        Box::new(StreamContents { schema: Box::new(schema), arrays: Box::new(arrays), error: None });
    ArrowArrayStream {
        get_schema: Some(get_schema),
        get_next: Some(get_next),
        get_last_error: Some(get_last_error),
        release: Some(release),
        private_data: Box::into_raw(contents).cast(),
    }
}

/// Runs one callback of a stream: finds its contents, keeps its error, and lets no panic out.
///
/// # Safety
/// `stream` is NULL or a stream made by [`export`] that nobody else uses during the call.
unsafe fn guarded(
    stream: *mut ArrowArrayStream,
    call: impl FnOnce(&mut StreamContents) -> Result<()>,
) -> c_int {
    // SAFETY: NULL or a stream, as the caller promises.
    let Some(stream) = (unsafe { stream.as_mut() }) else { return EINVAL };
    if stream.release.is_none() {
        return EINVAL;
    }
    // SAFETY: `export` put it there, and `release` has not run.
    let Some(contents) = (unsafe { stream.private_data.cast::<StreamContents>().as_mut() }) else {
        return EINVAL;
    };
    contents.error = None;
    let outcome = catch_unwind(AssertUnwindSafe(|| call(contents)))
        .unwrap_or_else(|_| Err(Error::internal("a panic while an Arrow stream was read")));
    let Err(error) = outcome else { return 0 };
    let text = error.to_string().replace('\0', " ");
    contents.error = CString::new(text).ok();
    match error.root() {
        Error::OutOfMemory { .. } => ENOMEM,
        Error::Interrupted => ECANCELED,
        Error::InvalidArgument { .. } => EINVAL,
        _ => EIO,
    }
}

unsafe extern "C" fn get_schema(stream: *mut ArrowArrayStream, out: *mut ArrowSchema) -> c_int {
    if out.is_null() {
        return EINVAL;
    }
    let write = |contents: &mut StreamContents| {
        let schema = (contents.schema)();
        // SAFETY: not NULL; the consumer passes memory for a struct, whose old contents it does not own.
        unsafe { ptr::write(out, schema) };
        Ok(())
    };
    // SAFETY: the consumer passes the stream it was given.
    unsafe { guarded(stream, write) }
}

unsafe extern "C" fn get_next(stream: *mut ArrowArrayStream, out: *mut ArrowArray) -> c_int {
    if out.is_null() {
        return EINVAL;
    }
    let write = |contents: &mut StreamContents| {
        let array = contents.arrays.next().transpose()?.unwrap_or_else(ArrowArray::released);
        // SAFETY: not NULL; the consumer passes memory for a struct, whose old contents it does not own.
        unsafe { ptr::write(out, array) };
        Ok(())
    };
    // SAFETY: the consumer passes the stream it was given.
    unsafe { guarded(stream, write) }
}

unsafe extern "C" fn get_last_error(stream: *mut ArrowArrayStream) -> *const c_char {
    // SAFETY: NULL or the stream that the consumer was given.
    let Some(stream) = (unsafe { stream.as_ref() }) else { return ptr::null() };
    if stream.release.is_none() {
        return ptr::null();
    }
    // SAFETY: `export` put it there, and `release` has not run.
    let contents = unsafe { stream.private_data.cast::<StreamContents>().as_ref() };
    contents.and_then(|c| c.error.as_ref()).map_or(ptr::null(), |error| error.as_ptr())
}

unsafe extern "C" fn release(stream: *mut ArrowArrayStream) {
    // SAFETY: NULL or a stream that the consumer owns.
    let Some(stream) = (unsafe { stream.as_mut() }) else { return };
    if stream.release.take().is_none() || stream.private_data.is_null() {
        return;
    }
    let contents = std::mem::replace(&mut stream.private_data, ptr::null_mut());
    // SAFETY: made by `export` with `Box::into_raw`; `release` was set, so this is the first call.
    let free = || drop(unsafe { Box::from_raw(contents.cast::<StreamContents>()) });
    // A panic in a drop must not unwind into the host; there is nobody to tell.
    let _ = catch_unwind(AssertUnwindSafe(free));
}

/// Reads a host's stream, array by array.
#[derive(Debug)]
pub struct StreamReader {
    stream: ArrowArrayStream,
    field: ArrowField,
    done: bool,
}

impl StreamReader {
    /// Takes over a stream and reads its schema.
    pub fn new(mut stream: ArrowArrayStream) -> Result<Self> {
        let unusable =
            || Error::invalid_argument("Arrow stream was released or consumed already; export it again");
        if stream.release.is_none() {
            return Err(unusable());
        }
        let get_schema = stream.get_schema.ok_or_else(unusable)?;
        let mut schema = ArrowSchema::released();
        // SAFETY: the stream is ours and not released; `schema` is memory for the struct.
        let code = unsafe { get_schema(&mut stream, &mut schema) };
        if code != 0 {
            return Err(failure(&mut stream, code));
        }
        if schema.release.is_none() {
            return Err(Error::invalid_argument("Arrow stream gave a released schema"));
        }
        let field = ArrowField::read(&schema)?;
        Ok(Self { stream, field, done: false })
    }

    /// Takes the stream out of a host's memory, such as that of a PyCapsule, and reads its schema.
    ///
    /// # Safety
    /// `source` is NULL or points to an initialised stream that nobody else uses during the call.
    pub unsafe fn take(source: *mut ArrowArrayStream) -> Result<Self> {
        // SAFETY: as the caller promises.
        Self::new(unsafe { ArrowArrayStream::take(source) }?)
    }

    /// The stream of a producer that has no infinite dates: the last number of their types is refused, as it would become infinity.
    pub fn without_infinity(mut self) -> Self {
        self.field = self.field.without_infinity();
        self
    }

    /// The type of the stream's arrays.
    pub fn field(&self) -> &ArrowField {
        &self.field
    }

    fn read_next(&mut self) -> Result<Option<ArrowRecords>> {
        let get_next = self.stream.get_next;
        let get_next = get_next.ok_or_else(|| Error::invalid_argument("Arrow stream has no get_next"))?;
        let mut array = ArrowArray::released();
        // SAFETY: the stream is ours and not released; `array` is memory for the struct.
        let code = unsafe { get_next(&mut self.stream, &mut array) };
        if code != 0 {
            return Err(failure(&mut self.stream, code));
        }
        if array.release.is_none() {
            return Ok(None);
        }
        ArrowRecords::import(array, &self.field).map(Some)
    }
}

impl Iterator for StreamReader {
    type Item = Result<ArrowRecords>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        let next = self.read_next().transpose();
        self.done = !matches!(next, Some(Ok(_)));
        next
    }
}

fn failure(stream: &mut ArrowArrayStream, code: c_int) -> Error {
    // SAFETY: the stream is ours and not released.
    let message = stream.get_last_error.map_or(ptr::null(), |get| unsafe { get(stream) });
    let message = if message.is_null() {
        format!("error {code} without a message")
    } else {
        // SAFETY: not NULL; the producer promises a string that ends in NUL and lives until the next call.
        unsafe { CStr::from_ptr(message) }.to_string_lossy().into_owned()
    };
    Error::invalid_argument(format!("Arrow stream failed: {message}"))
}

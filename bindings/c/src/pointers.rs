//! What the arguments of the functions are: handles, texts, arrays and places for answers, behind pointers that may be NULL.
//!
//! What all may rely on, as the header promises: a pointer is NULL, or points to what its type says for as long as the call takes;
//! a text ends with NUL; an array has as many items as the argument beside it says; a place for an answer is memory for it.

use inlay::types::arrow::ArrowArrayStream;
use inlay::types::process::process_id;
use inlay::{Error, Result};
use std::ffi::{CStr, CString, c_char, c_void};
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

/// A handle that is used.
pub type Handle<'a, T> = Option<&'a T>;
/// A handle that is used by one thread.
pub type Own<'a, T> = Option<&'a mut T>;
/// A place for an answer.
pub type Out<'a, T> = Option<&'a mut MaybeUninit<T>>;
/// A handle that is made, or NULL.
pub type Made<T> = Option<Box<T>>;
/// A handle that is freed, or NULL.
pub type Freed<'a, T> = Option<&'a mut Option<Box<T>>>;

/// What is said of a pointer that is NULL.
pub fn null(what: &str) -> Error {
    Error::invalid_argument(format!("{what} is NULL"))
}

/// What is behind a handle.
pub fn given<'a, T>(handle: Handle<'a, T>, what: &str) -> Result<&'a T> {
    handle.ok_or_else(|| null(what))
}

/// Puts an answer to its place.
pub fn put<T>(out: Out<'_, T>, value: T, what: &str) -> Result<()> {
    out.ok_or_else(|| null(what))?.write(value);
    Ok(())
}

/// Puts an answer to its place, if the program has one for it.
pub fn put_if<T>(out: Out<'_, T>, value: T) -> Result<()> {
    if let Some(out) = out {
        out.write(value);
    }
    Ok(())
}

/// Puts a text to its place, which the program frees; NULL is there if there is none.
pub fn put_text(
    out: Out<'_, TextOut>,
    what: &str,
    work: impl FnOnce() -> Result<Option<String>>,
) -> Result<()> {
    // What has no place is not made: nobody would free it.
    let out = out.ok_or_else(|| null(what))?;
    out.write(TextOut::none());
    out.write(work()?.map_or_else(TextOut::none, |text| TextOut::of(&text)));
    Ok(())
}

/// Puts a handle to its place; NULL is there if it could not be made.
pub fn make<T>(out: Out<'_, Made<T>>, what: &str, work: impl FnOnce() -> Result<T>) -> Result<()> {
    make_some(out, what, || work().map(Some))
}

/// As [`make`], where there may be none.
pub fn make_some<T>(
    out: Out<'_, Made<T>>,
    what: &str,
    work: impl FnOnce() -> Result<Option<T>>,
) -> Result<()> {
    let out = out.ok_or_else(|| null(what))?;
    out.write(None);
    out.write(work()?.map(Box::new));
    Ok(())
}

/// A handle that belongs to the process that made it.
pub trait Owned {
    /// The process.
    fn process(&self) -> u32;
}

/// Says that a handle has a field `process`.
macro_rules! owned {
    ($($handle:ty),+ $(,)?) => {
        $(impl crate::pointers::Owned for $handle {
            fn process(&self) -> u32 {
                self.process
            }
        })+
    };
}
pub(crate) use owned;

/// The number of this process, for a handle that is made.
pub fn here() -> u32 {
    process_id()
}

/// Frees a handle, unless it was made by the process that this one was forked from: its threads and files are not ours.
pub fn free<T: Owned>(handle: Freed<'_, T>) {
    let Some(boxed) = handle.and_then(Option::take) else { return };
    if boxed.process() == process_id() {
        drop_caught(boxed);
    } else {
        std::mem::forget(boxed);
    }
}

/// Drops what may run anything; nobody is there to be told of a panic.
pub fn drop_caught<T>(value: T) {
    let _ = catch_unwind(AssertUnwindSafe(|| drop(value)));
}

/// A text, or NULL.
#[repr(transparent)]
pub struct Text<'a>(*const c_char, PhantomData<&'a c_char>);

impl<'a> Text<'a> {
    /// The text.
    pub fn get(&self, what: &str) -> Result<&'a str> {
        self.optional(what)?.ok_or_else(|| null(what))
    }

    /// The text, or `None` for NULL.
    pub fn optional(&self, what: &str) -> Result<Option<&'a str>> {
        if self.0.is_null() {
            return Ok(None);
        }
        // SAFETY: not NULL, so a text that ends with NUL, as the module says.
        let text = unsafe { CStr::from_ptr(self.0) };
        let text = text.to_str().map_err(|_| not_utf8(what))?;
        Ok(Some(text))
    }
}

fn not_utf8(what: &str) -> Error {
    Error::invalid_argument(format!("{what} is not valid UTF-8"))
}

/// The first of some items, or NULL.
#[repr(transparent)]
pub struct Items<'a, T>(*const T, PhantomData<&'a T>);

impl<'a, T> Items<'a, T> {
    /// The items. None may be behind NULL.
    pub fn get(&self, count: usize, what: &str) -> Result<&'a [T]> {
        slice_of(self.0, count, what)
    }
}

impl<'a> Items<'a, c_char> {
    /// So many bytes as text.
    pub fn text(&self, size: usize, what: &str) -> Result<&'a str> {
        std::str::from_utf8(self.bytes(size, what)?).map_err(|_| not_utf8(what))
    }

    /// So many bytes.
    pub fn bytes(&self, size: usize, what: &str) -> Result<&'a [u8]> {
        slice_of(self.0.cast(), size, what)
    }
}

/// Items in memory of the program's.
fn slice_of<'a, T>(first: *const T, count: usize, what: &str) -> Result<&'a [T]> {
    if count == 0 {
        return Ok(&[]);
    }
    if first.is_null() {
        return Err(null(what));
    }
    if count.checked_mul(size_of::<T>()).is_none_or(|size| size > isize::MAX as usize) {
        return Err(Error::invalid_argument(format!("{what} has {count} items, more than memory has")));
    }
    if !first.is_aligned() {
        return Err(Error::invalid_argument(format!("{what} does not lie where values of its type may")));
    }
    // SAFETY: not NULL, aligned, and as many items as the program says, as the module says.
    Ok(unsafe { std::slice::from_raw_parts(first, count) })
}

/// Items behind a pointer of a struct of the program's.
pub fn items_at<'a, T>(first: *const c_void, count: usize, what: &str) -> Result<&'a [T]> {
    slice_of(first.cast(), count, what)
}

/// Bytes behind a pointer of a struct of the program's, which need not be aligned.
pub fn bytes_at<'a>(first: *const c_void, size: usize, what: &str) -> Result<&'a [u8]> {
    slice_of(first.cast(), size, what)
}

/// A text behind a pointer of an array of the program's; `None` for NULL.
pub fn text_at<'a>(text: *const c_char, what: &str) -> Result<Option<&'a str>> {
    Text(text, PhantomData).optional(what)
}

/// A stream of Arrow's that the program gives away.
#[repr(transparent)]
pub struct StreamIn(*mut ArrowArrayStream);

impl StreamIn {
    /// The stream; the program's struct is released from now on.
    pub fn take(&self) -> Result<ArrowArrayStream> {
        // SAFETY: NULL, or a stream as the module says.
        unsafe { ArrowArrayStream::take(self.0) }
    }
}

/// A text that the program frees, or NULL.
#[repr(transparent)]
pub struct TextOut(*mut c_char);

impl TextOut {
    /// No text.
    pub fn none() -> Self {
        Self(ptr::null_mut())
    }

    /// A copy of a text.
    pub fn of(text: &str) -> Self {
        Self(text_of(text).into_raw())
    }

    /// Frees it; NULL is left.
    pub fn free(&mut self) {
        let text = std::mem::replace(&mut self.0, ptr::null_mut());
        if !text.is_null() {
            // SAFETY: made by `of`, and given away here for the first time: NULL is left in its place.
            drop(unsafe { CString::from_raw(text) });
        }
    }
}

/// A text for C. One that has NUL in it ends before.
pub fn text_of(text: &str) -> CString {
    let end = text.find('\0').unwrap_or(text.len());
    CString::new(&text[..end]).unwrap_or_default()
}

/// A handle that several hold, by the pointer that each has.
#[repr(transparent)]
pub struct Shared<T>(*mut T);

impl<T> Shared<T> {
    /// None.
    pub fn none() -> Self {
        Self(ptr::null_mut())
    }

    /// The first to hold it.
    pub fn of(value: T) -> Self {
        Self(Box::into_raw(Box::new(value)))
    }

    /// One lets go of it: NULL is left, and it is freed if `is_last` says so.
    pub fn release(&mut self, is_last: impl FnOnce(&T) -> bool) {
        let value = std::mem::replace(&mut self.0, ptr::null_mut());
        // SAFETY: NULL, or made by `of` and not freed yet, as this one still held it.
        let Some(held) = (unsafe { value.as_ref() }) else { return };
        if is_last(held) {
            // SAFETY: as above, and nobody else holds it.
            drop_caught(unsafe { Box::from_raw(value) });
        }
    }
}

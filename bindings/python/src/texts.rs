//! Columns of Python's texts: arrays of objects, of texts of a fixed width, and of NumPy's StringDType.
//!
//! They are converted when a query reads them, a block at a time: workers take turns with the GIL, and what one has read is
//! worked on while the next one reads. Texts are read where Python keeps them, without an object or a copy between:
//! `PyUnicode_AsUTF8AndSize` gives the bytes of an ASCII text as they lie. Objects lie anywhere in memory, so they are
//! fetched into the cache some steps ahead. Arrays often hold one object many times (pyarrow and pandas make a text once
//! per distinct value), so the view of an object seen before is found by its address, without touching the object.
//!
//! Without a GIL another thread could change the array meanwhile, so that each block's objects are put into a list of our
//! own at first, which holds them.

#![expect(unsafe_code, reason = "texts of Python objects are made in place")]

use crate::errors::external;
use crate::parameters;
use inlay::types::view::HeapBuilder;
use inlay::types::{Bitmap, Buffer, LogicalType, Result, Vector, View};
use inlay::{DeferredColumn, Value};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyList, PySlice};
use std::ops::Range;
use std::ptr::NonNull;

/// Objects whose views are remembered; few enough to stay in the CPU's first cache.
const SEEN: usize = 512;
/// So many objects ahead are fetched into the cache.
const AHEAD: usize = 16;

/// An array of one dimension whose values become VARCHAR.
pub struct Texts {
    array: Py<PyAny>,
    len: usize,
    /// Its values are objects already.
    is_objects: bool,
}

/// The column of an array of texts; `None` unless there is a text. Then all are: what is none becomes one.
pub fn column(array: &Bound<'_, PyAny>, kind: &str) -> PyResult<Option<Texts>> {
    let py = array.py();
    let is_objects = kind == "O";
    if is_objects && !has_text(array)? {
        return Ok(None);
    }
    let array = match is_objects {
        true => py.import("numpy")?.getattr("ascontiguousarray")?.call1((array,))?,
        false => array.clone(),
    };
    Ok(Some(Texts { len: array.len()?, array: array.unbind(), is_objects }))
}

/// Whether a value of an array of objects is a text. Mostly the first one tells.
fn has_text(array: &Bound<'_, PyAny>) -> PyResult<bool> {
    let py = array.py();
    let len = array.len()?;
    for from in (0..len).step_by(SEEN) {
        let block = slice(array, from..len.min(from + SEEN))?.call_method0("tolist")?;
        for object in block.cast::<PyList>()?.iter() {
            if matches!(kind_of(py, object.as_ptr()), Kind::Text(_)) {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

fn slice<'py>(array: &Bound<'py, PyAny>, rows: Range<usize>) -> PyResult<Bound<'py, PyAny>> {
    array.get_item(PySlice::new(array.py(), rows.start as isize, rows.end as isize, 1))
}

impl DeferredColumn for Texts {
    fn ty(&self) -> LogicalType {
        LogicalType::Varchar
    }

    fn len(&self) -> usize {
        self.len
    }

    fn values(&self, rows: Range<usize>) -> Result<Vector> {
        let read = Python::attach(|py| self.read(self.array.bind(py), rows));
        read.map_err(|error| Python::attach(|py| external(py, "cannot read an array of texts", error)))
    }
}

impl Texts {
    fn read(&self, array: &Bound<'_, PyAny>, rows: Range<usize>) -> PyResult<Vector> {
        let py = array.py();
        let len: usize = array.len()?;
        if len != self.len {
            let message = format!("it had {} values, and has {len} now", self.len);
            return Err(crate::errors::misuse(py, message));
        }
        if self.is_objects && has_gil(py)? {
            let interface = array.getattr("__array_interface__")?;
            let (address, _read_only): (usize, bool) = interface.get_item("data")?.extract()?;
            let Some(start) = NonNull::new(address as *mut *mut ffi::PyObject) else {
                return Err(crate::errors::misuse(py, "the array has no memory"));
            };
            // SAFETY: a contiguous array of objects is `len` pointers, among them `rows`; it is alive, and no Python code
            // runs that could change it while this thread is attached and reads.
            let objects = unsafe { std::slice::from_raw_parts(start.as_ptr().add(rows.start), rows.len()) };
            if let Some(texts) = texts_of(py, objects) {
                return Ok(texts);
            }
        }
        let block = slice(array, rows)?;
        let block = if self.is_objects { block } else { block.call_method1("astype", ("O",))? };
        let list = block.call_method0("tolist")?;
        let list = list.cast::<PyList>()?;
        let objects: Vec<*mut ffi::PyObject> = list.iter().map(|object| object.as_ptr()).collect();
        // The list holds the objects, and nobody else knows it.
        match texts_of(py, &objects) {
            Some(texts) => Ok(texts),
            None => mixed(py, list),
        }
    }
}

/// Whether other threads wait while this one reads objects.
fn has_gil(py: Python<'_>) -> PyResult<bool> {
    match py.import("sys")?.getattr_opt("_is_gil_enabled")? {
        Some(is_enabled) => is_enabled.call0()?.extract(),
        None => Ok(true),
    }
}

/// A vector of objects that are texts or missing; `None` if one is neither. The caller holds the objects.
fn texts_of(py: Python<'_>, objects: &[*mut ffi::PyObject]) -> Option<Vector> {
    let len = objects.len();
    let (mut views, mut heap) = (Vec::with_capacity(len), HeapBuilder::new());
    let mut nulls: Vec<usize> = Vec::new();
    let mut seen = vec![(std::ptr::null_mut::<ffi::PyObject>(), View::EMPTY); SEEN];
    for (row, &object) in objects.iter().enumerate() {
        if let Some(&later) = objects.get(row + AHEAD) {
            // Most are seen already where one object stands for many rows.
            if seen[place_of(later)].0 != later {
                prefetch(later.cast());
            }
        }
        let place = place_of(object);
        if seen[place].0 == object && !object.is_null() {
            views.push(seen[place].1);
            continue;
        }
        match kind_of(py, object) {
            Kind::Text(bytes) => {
                let view = heap.push(bytes);
                seen[place] = (object, view);
                views.push(view);
            }
            Kind::Missing => {
                nulls.push(row);
                views.push(View::EMPTY);
            }
            Kind::Other => return None,
        }
    }
    let validity = validity(len, &nulls);
    Some(Vector::flat(LogicalType::Varchar, len, Buffer::from_vec(views), validity, heap.finish()))
}

/// Where the view of an object is remembered. Objects are aligned to 16 bytes.
fn place_of(object: *mut ffi::PyObject) -> usize {
    (object as usize >> 4) % SEEN
}

/// Fetches an object's header and the bytes behind it into the cache.
#[inline]
fn prefetch(object: *const u8) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: fetching is a hint, which no address makes fail.
        unsafe {
            _mm_prefetch::<_MM_HINT_T0>(object.cast());
            _mm_prefetch::<_MM_HINT_T0>(object.wrapping_add(64).cast());
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = object;
}

/// A vector of objects of which some are no texts: they become some, as SQL shows them.
fn mixed(py: Python<'_>, objects: &Bound<'_, PyList>) -> PyResult<Vector> {
    let (mut views, mut heap) = (Vec::with_capacity(objects.len()), HeapBuilder::new());
    let mut nulls: Vec<usize> = Vec::new();
    for (row, object) in objects.iter().enumerate() {
        let view = match kind_of(py, object.as_ptr()) {
            Kind::Text(bytes) => Some(heap.push(bytes)),
            Kind::Missing => None,
            Kind::Other => match parameters::value_or_text(py, &object)? {
                Value::Null => None,
                value => Some(heap.push(value.to_string().as_bytes())),
            },
        };
        nulls.extend(view.is_none().then_some(row));
        views.push(view.unwrap_or(View::EMPTY));
    }
    let len = objects.len();
    let validity = validity(len, &nulls);
    Ok(Vector::flat(LogicalType::Varchar, len, Buffer::from_vec(views), validity, heap.finish()))
}

fn validity(len: usize, nulls: &[usize]) -> Option<Bitmap> {
    if nulls.is_empty() {
        return None;
    }
    let mut words = Bitmap::filled(len, true).words().to_vec();
    for &row in nulls {
        words[row / 64] &= !(1 << (row % 64));
    }
    Some(Bitmap::from_words(words, len))
}

enum Kind<'a> {
    Text(&'a [u8]),
    Missing,
    Other,
}

/// What an object of an array is; NumPy keeps NULL where nothing was assigned, and means None.
fn kind_of<'a>(py: Python<'a>, object: *mut ffi::PyObject) -> Kind<'a> {
    if object.is_null() {
        return Kind::Missing;
    }
    // SAFETY: not NULL, so an object that the caller holds; this thread is attached. The bytes belong to the object.
    unsafe {
        if ffi::PyUnicode_CheckExact(object) != 0 {
            let mut size: ffi::Py_ssize_t = 0;
            let bytes = ffi::PyUnicode_AsUTF8AndSize(object, &mut size);
            if bytes.is_null() {
                // Half a surrogate pair, which is no text of SQL.
                drop(PyErr::take(py));
                return Kind::Other;
            }
            return Kind::Text(std::slice::from_raw_parts(bytes.cast(), size as usize));
        }
        // pandas writes a missing text as NaN.
        let is_nan = || ffi::PyFloat_CheckExact(object) != 0 && ffi::PyFloat_AsDouble(object).is_nan();
        if object == ffi::Py_None() || is_nan() { Kind::Missing } else { Kind::Other }
    }
}

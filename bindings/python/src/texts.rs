//! Columns of Python's texts: arrays of objects, which NumPy makes of its StringDType as well.
//!
//! Texts are read where Python keeps them, without an object or a copy between: `PyUnicode_AsUTF8AndSize` gives the bytes
//! of an ASCII text as they lie. Arrays often hold one object many times (pyarrow and pandas make a text once per
//! distinct value), so the view of an object seen before is found by its address, without touching the object.
//!
//! Without a GIL another thread could change the array meanwhile, so that its values are asked for one by one there.

use inlay::types::view::HeapBuilder;
use inlay::types::{Bitmap, Buffer, LogicalType, Vector, View};
use pyo3::ffi;
use pyo3::prelude::*;
use std::ptr::NonNull;

/// Objects whose views are remembered; few enough to stay in the CPU's first cache.
const SEEN: usize = 512;

/// The column of an array of texts, `None` and NaN, which are NULL; `None` if it holds anything else.
pub fn column(array: &Bound<'_, PyAny>) -> PyResult<Option<Vector>> {
    let py = array.py();
    if !has_gil(py)? {
        return Ok(None);
    }
    let array = py.import("numpy")?.getattr("ascontiguousarray")?.call1((array,))?;
    let len = array.len()?;
    let interface = array.getattr("__array_interface__")?;
    let (address, _read_only): (usize, bool) = interface.get_item("data")?.extract()?;
    let Some(start) = NonNull::new(address as *mut *mut ffi::PyObject) else { return Ok(None) };
    // SAFETY: a contiguous array of objects is that many pointers; it is alive, and no Python code runs that could change
    // it while this thread is attached and reads.
    let objects = unsafe { std::slice::from_raw_parts(start.as_ptr(), len) };
    let (mut views, mut heap) = (Vec::with_capacity(len), HeapBuilder::new());
    let mut nulls: Vec<usize> = Vec::new();
    let mut seen = vec![(std::ptr::null_mut::<ffi::PyObject>(), View::EMPTY); SEEN];
    for &object in objects {
        // Objects are aligned to 16 bytes.
        let (known, view) = &mut seen[(object as usize >> 4) % SEEN];
        if *known == object && !object.is_null() {
            views.push(*view);
            continue;
        }
        match kind_of(py, object) {
            Kind::Text(bytes) => {
                (*known, *view) = (object, heap.push(bytes));
                views.push(*view);
            }
            Kind::Missing => {
                nulls.push(views.len());
                views.push(View::EMPTY);
            }
            Kind::Other => return Ok(None),
        }
    }
    let validity = validity(len, &nulls);
    Ok(Some(Vector::flat(LogicalType::Varchar, len, Buffer::from_vec(views), validity, heap.finish())))
}

/// Whether other threads wait while this one reads objects.
fn has_gil(py: Python<'_>) -> PyResult<bool> {
    match py.import("sys")?.getattr_opt("_is_gil_enabled")? {
        Some(is_enabled) => is_enabled.call0()?.extract(),
        None => Ok(true),
    }
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
    // SAFETY: not NULL, so an object that the array owns; this thread is attached. The bytes belong to the object.
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

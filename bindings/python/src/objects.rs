//! Columns as NumPy arrays of Python objects.
//!
//! Objects go straight into the array's memory: NumPy would look at each one again, to see whether it is a sequence.

#![expect(unsafe_code, reason = "the slots of Python objects")]

use crate::errors::{misuse, unwrapped};
use crate::host;
use crate::numpy::array;
use crate::rows::{ObjectCache, Shown, objects_of};
use inlay::QueryResult;
use inlay::types::{Batch, Buffer, LogicalType, VECTOR_SIZE};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, Ordering};

/// An array of objects that is being filled, and that nobody else has yet.
struct ObjectArray<'py> {
    array: Bound<'py, PyAny>,
    slots: NonNull<*mut pyo3::ffi::PyObject>,
    len: usize,
}

impl<'py> ObjectArray<'py> {
    fn new(py: Python<'py>, len: usize) -> PyResult<Self> {
        let array = py.import("numpy")?.getattr("empty")?.call1((len, "O"))?;
        let interface = array.getattr("__array_interface__")?;
        let (address, _): (usize, bool) = interface.get_item("data")?.extract()?;
        let slots = NonNull::new(address as *mut *mut pyo3::ffi::PyObject);
        let slots = match slots {
            Some(slots) => slots,
            None if len == 0 => NonNull::dangling(),
            None => return Err(misuse(py, "the array has no memory")),
        };
        Ok(Self { array, slots, len })
    }

    /// Puts objects at the places from `from` on. Those behind the array's end are dropped.
    fn put(&mut self, from: usize, objects: Vec<Py<PyAny>>) {
        let py = self.array.py();
        let room = self.len.saturating_sub(from);
        for (index, object) in objects.into_iter().take(room).enumerate() {
            // SAFETY: `from + index < len`, and the array made by `new` has `len` pointers there, each of which is NULL or
            // an object that the array owns.
            let slot = unsafe { self.slots.as_ptr().add(from + index) };
            // SAFETY: as above; the array owns the new object from here on, and the old one is ours.
            let earlier = unsafe { std::ptr::replace(slot, object.into_ptr()) };
            // SAFETY: NULL or an object that was owned by the slot.
            drop(unsafe { Bound::from_owned_ptr_or_opt(py, earlier) });
        }
    }
}

/// Ends a conversion that another thread does not want any more; that thread knows why.
fn check(stop: Option<&AtomicBool>) -> PyResult<()> {
    match stop {
        Some(stop) if stop.load(Ordering::Relaxed) => Err(PyKeyboardInterrupt::new_err("")),
        _ => Ok(()),
    }
}

/// The only column of a result as an array of objects, masked if it has NULLs.
pub fn objects<'py>(
    py: Python<'py>,
    shown: &Shown,
    column: &QueryResult,
    stop: Option<&AtomicBool>,
) -> PyResult<Bound<'py, PyAny>> {
    let len = column.row_count();
    let mut data = ObjectArray::new(py, len)?;
    let mut cache = ObjectCache::default();
    let mut null_rows: Vec<u8> = Vec::new();
    let mut row = 0;
    let mut batches = column.batches();
    // A part of a table is decoded when it is asked for.
    while let Some(batch) = py.detach(|| batches.next()) {
        let batch: Batch = unwrapped(py, batch)?;
        let column = batch.column(0);
        if column.null_count() > 0 && null_rows.is_empty() {
            null_rows.resize(len, 0);
        }
        for from in (0..column.len()).step_by(VECTOR_SIZE) {
            // Into the array bit by bit, so that neither Ctrl-C nor other threads wait for all of it.
            host::pause(py)?;
            check(stop)?;
            let rows = from..column.len().min(from + VECTOR_SIZE);
            let mut objects = Vec::with_capacity(rows.len());
            objects_of(py, shown, column, rows.clone(), &mut cache, &mut objects)?;
            if !null_rows.is_empty() {
                rows.clone().for_each(|at| null_rows[row + at - from] = u8::from(column.is_null(at)));
            }
            data.put(row, objects);
            row += rows.len();
        }
    }
    if null_rows.is_empty() {
        return Ok(data.array);
    }
    let mask = array(py, Buffer::from_vec(null_rows), len, "|b1")?;
    py.import("numpy.ma")?.getattr("MaskedArray")?.call1((data.array, mask))
}

/// Integers of 128 bits as those of 64 bits, if there is no NULL and all fit.
pub fn narrowed(column: &QueryResult) -> inlay::Result<Option<Buffer>> {
    let mut numbers: Vec<i64> = Vec::with_capacity(column.row_count());
    for batch in column.batches() {
        let vector = batch?.column(0).flatten();
        if vector.null_count() > 0 {
            return Ok(None);
        }
        let before = numbers.len();
        match vector.ty() {
            LogicalType::UHugeInt => {
                numbers.extend(vector.values::<u128>().iter().map_while(|&value| i64::try_from(value).ok()));
            }
            _ => numbers.extend(vector.values::<i128>().iter().map_while(|&value| i64::try_from(value).ok())),
        }
        if numbers.len() - before < vector.len() {
            return Ok(None);
        }
    }
    Ok(Some(Buffer::from_vec(numbers)))
}

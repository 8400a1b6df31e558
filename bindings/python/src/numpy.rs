//! Columns as NumPy arrays: over the engine's memory where the layouts agree, converted where they do not.
//!
//! NULLs make an array masked; the slots below the mask hold NaN, NaT or the smallest integer. Strings, blobs and times
//! become object arrays, decimals and 128-bit integers float64, dates datetime64[D], intervals timedelta64[us].

use crate::cursor;
use crate::rows::{DictionaryCache, objects_of};
use inlay::QueryResult;
use inlay::types::datetime::MICROS_PER_DAY;
use inlay::types::{Buffer, Interval, LogicalType, Native, PhysicalType, Vector};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

/// Memory of a column, kept alive by the arrays over it.
#[pyclass(frozen, module = "inlay")]
pub struct ColumnMemory {
    buffer: Buffer,
    len: usize,
    typestr: &'static str,
}

#[pymethods]
impl ColumnMemory {
    /// NumPy's array interface, version 3.
    #[getter]
    fn __array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let interface = PyDict::new(py);
        interface.set_item("version", 3)?;
        interface.set_item("shape", (self.len,))?;
        interface.set_item("typestr", self.typestr)?;
        // Writable: `QueryResult::column` gave us memory that nobody else holds.
        interface.set_item("data", (self.buffer.as_ptr() as usize, false))?;
        Ok(interface)
    }
}

fn array<'py>(
    py: Python<'py>,
    buffer: Buffer,
    len: usize,
    typestr: &'static str,
) -> PyResult<Bound<'py, PyAny>> {
    let memory = Bound::new(py, ColumnMemory { buffer, len, typestr })?;
    py.import("numpy")?.getattr("asarray")?.call1((memory,))
}

/// Column `index` as an array, masked if it has NULLs.
pub fn column<'py>(py: Python<'py>, result: &QueryResult, index: usize) -> PyResult<Bound<'py, PyAny>> {
    let ty = &result.types()[index];
    if ty.is_view() || is_object(ty) {
        return objects(py, result, index);
    }
    let vector = cursor::column(py, result, index)?;
    let (buffer, typestr) = py.detach(|| memory_of(&vector));
    let data = array(py, buffer, vector.len(), typestr)?;
    masked(py, data, &vector)
}

/// Whether a column of a type without a heap becomes an array of objects.
fn is_object(ty: &LogicalType) -> bool {
    matches!(ty, LogicalType::Time | LogicalType::TimeTz | LogicalType::Uuid | LogicalType::Enum(_))
}

/// The array, masked where the column is NULL.
fn masked<'py>(py: Python<'py>, data: Bound<'py, PyAny>, vector: &Vector) -> PyResult<Bound<'py, PyAny>> {
    if vector.null_count() == 0 {
        return Ok(data);
    }
    let mask: Vec<u8> = (0..vector.len()).map(|row| u8::from(vector.is_null(row))).collect();
    let mask = array(py, Buffer::from_vec(mask), vector.len(), "|b1")?;
    py.import("numpy.ma")?.getattr("MaskedArray")?.call1((data, mask))
}

fn objects<'py>(py: Python<'py>, result: &QueryResult, index: usize) -> PyResult<Bound<'py, PyAny>> {
    let mut objects = Vec::with_capacity(result.row_count());
    let mut cache = DictionaryCache::default();
    let mut null_rows: Vec<u8> = Vec::new();
    for batch in result.batches() {
        let column = batch.column(index);
        objects_of(py, column, 0..column.len(), &mut cache, &mut objects)?;
        if column.null_count() > 0 || !null_rows.is_empty() {
            null_rows.resize(objects.len() - column.len(), 0);
            null_rows.extend((0..column.len()).map(|row| u8::from(column.is_null(row))));
        }
    }
    let len = objects.len();
    let numpy = py.import("numpy")?;
    let data = numpy.getattr("empty")?.call1((len, "O"))?;
    data.set_item(pyo3::types::PySlice::full(py), PyList::new(py, objects)?)?;
    if null_rows.is_empty() {
        return Ok(data);
    }
    let mask = array(py, Buffer::from_vec(null_rows), len, "|b1")?;
    py.import("numpy.ma")?.getattr("MaskedArray")?.call1((data, mask))
}

/// The column's memory in NumPy's layout, and what NumPy calls it.
fn memory_of(vector: &Vector) -> (Buffer, &'static str) {
    let own = || vector.data().clone();
    match vector.ty() {
        LogicalType::Boolean => (own(), "|b1"),
        LogicalType::TinyInt => (own(), "|i1"),
        LogicalType::SmallInt => (own(), "<i2"),
        LogicalType::Null | LogicalType::Integer => (own(), "<i4"),
        LogicalType::BigInt => (own(), "<i8"),
        LogicalType::UTinyInt => (own(), "|u1"),
        LogicalType::USmallInt => (own(), "<u2"),
        LogicalType::UInteger => (own(), "<u4"),
        LogicalType::UBigInt => (own(), "<u8"),
        LogicalType::Real => (own(), "<f4"),
        LogicalType::Double => (own(), "<f8"),
        LogicalType::Timestamp | LogicalType::TimestampTz => (own(), "<M8[us]"),
        LogicalType::TimestampS => (own(), "<M8[s]"),
        LogicalType::TimestampMs => (own(), "<M8[ms]"),
        LogicalType::TimestampNs => (own(), "<M8[ns]"),
        LogicalType::Date => {
            let wide = |days: i32| if days == i32::MIN { i64::MIN } else { i64::from(days) };
            (converted(vector, wide), "<M8[D]")
        }
        LogicalType::Interval => (converted(vector, micros_of), "<m8[us]"),
        LogicalType::HugeInt => (nan_where_null(vector, converted(vector, |v: i128| v as f64)), "<f8"),
        LogicalType::UHugeInt => (nan_where_null(vector, converted(vector, |v: u128| v as f64)), "<f8"),
        LogicalType::Decimal { scale, .. } => {
            let divisor = 10f64.powi(i32::from(*scale));
            let values = match vector.physical_type() {
                PhysicalType::I16 => converted(vector, |v: i16| f64::from(v) / divisor),
                PhysicalType::I32 => converted(vector, |v: i32| f64::from(v) / divisor),
                PhysicalType::I64 => converted(vector, |v: i64| v as f64 / divisor),
                _ => converted(vector, |v: i128| v as f64 / divisor),
            };
            (nan_where_null(vector, values), "<f8")
        }
        // These are object arrays; see `column`.
        _ => (own(), "<i8"),
    }
}

fn converted<T: Native, U: Native>(vector: &Vector, convert: impl Fn(T) -> U) -> Buffer {
    Buffer::from_vec(vector.values::<T>().iter().map(|&value| convert(value)).collect::<Vec<U>>())
}

/// An interval has no months in NumPy: each counts 30 days. One that is too long saturates.
fn micros_of(interval: Interval) -> i64 {
    let days = i64::from(interval.months) * 30 + i64::from(interval.days);
    days.saturating_mul(MICROS_PER_DAY).saturating_add(interval.micros)
}

fn nan_where_null(vector: &Vector, values: Buffer) -> Buffer {
    if vector.null_count() == 0 {
        return values;
    }
    let mut values = values.typed::<f64>().to_vec();
    for (row, value) in values.iter_mut().enumerate().filter(|(row, _)| vector.is_null(*row)) {
        debug_assert!(row < vector.len());
        *value = f64::NAN;
    }
    Buffer::from_vec(values)
}

//! Columns as NumPy arrays: over the engine's memory where the layouts agree, converted where they do not. Columns of a
//! table as it is are mapped, not copied.
//!
//! NULLs make an array masked; the slots below the mask hold NaN, NaT or the smallest integer. Strings, blobs and times
//! become object arrays, decimals and 128-bit integers float64, dates datetime64[D], intervals timedelta64[us].

use crate::errors::unwrapped;
use crate::rows::{DictionaryCache, objects_of};
use inlay::types::{Buffer, LogicalType};
use inlay::{HostForm, QueryResult};
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
        // Writable: `QueryResult::host_column` gave us memory that nobody else writes to or sees us write.
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
    let (Some(form), Some(typestr)) = (HostForm::of(ty), typestr_of(ty)) else {
        return objects(py, result, index);
    };
    let read = || {
        let data = result.host_column(index, form)?;
        let nulls = match result.may_have_nulls(index)? {
            true => Some(result.host_column(index, HostForm::Nulls)?),
            false => None,
        };
        Ok((data, nulls.filter(|nulls| nulls.bytes().contains(&1))))
    };
    let (data, nulls) = unwrapped(py, py.detach(read))?;
    let data = array(py, data, result.row_count(), typestr)?;
    match nulls {
        None => Ok(data),
        Some(nulls) => {
            let mask = array(py, nulls, result.row_count(), "|b1")?;
            py.import("numpy.ma")?.getattr("MaskedArray")?.call1((data, mask))
        }
    }
}

fn objects<'py>(py: Python<'py>, result: &QueryResult, index: usize) -> PyResult<Bound<'py, PyAny>> {
    let mut objects = Vec::with_capacity(result.row_count());
    let mut cache = DictionaryCache::default();
    let mut null_rows: Vec<u8> = Vec::new();
    for batch in result.batches() {
        let batch = unwrapped(py, batch)?;
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

/// What NumPy calls the values of a column in its host form; others become arrays of objects.
fn typestr_of(ty: &LogicalType) -> Option<&'static str> {
    Some(match ty {
        LogicalType::Boolean => "|b1",
        LogicalType::TinyInt => "|i1",
        LogicalType::SmallInt => "<i2",
        LogicalType::Null | LogicalType::Integer => "<i4",
        LogicalType::BigInt => "<i8",
        LogicalType::UTinyInt => "|u1",
        LogicalType::USmallInt => "<u2",
        LogicalType::UInteger => "<u4",
        LogicalType::UBigInt => "<u8",
        LogicalType::Real => "<f4",
        LogicalType::Timestamp | LogicalType::TimestampTz => "<M8[us]",
        LogicalType::TimestampS => "<M8[s]",
        LogicalType::TimestampMs => "<M8[ms]",
        LogicalType::TimestampNs => "<M8[ns]",
        LogicalType::Date => "<M8[D]",
        LogicalType::Interval => "<m8[us]",
        LogicalType::Double | LogicalType::HugeInt | LogicalType::UHugeInt | LogicalType::Decimal { .. } => {
            "<f8"
        }
        _ => return None,
    })
}

//! Vectors as what Python functions are called with: NumPy arrays over the engine's memory, Arrow arrays, Series, objects.
//!
//! Arrays over memory that the engine still uses are read-only. Where some rows are NULL, an array is masked. Literals are
//! NumPy scalars, NULL as `numpy.ma.masked`.

use crate::numpy::{Decimals, Strings, packed, read_only, typestr_of};
use crate::rows::{DictionaryCache, objects_of};
use inlay::types::arrow::{ArrowArrayStream, Exporter, StringLayout};
use inlay::types::{Batch, Buffer, LogicalType, VECTOR_SIZE, Vector};
use inlay::{HostForm, write_host_values};
use parking_lot::Mutex;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyList, PySlice};

/// A vector as a NumPy array or scalar.
pub fn array<'py>(
    py: Python<'py>,
    vector: &Vector,
    decimals: Decimals,
    strings: Strings,
) -> PyResult<Bound<'py, PyAny>> {
    if vector.is_constant() && is_nested(vector.ty()) {
        // A list would be taken for values of several rows.
        return array(py, &vector.flatten(), decimals, strings);
    }
    if vector.is_constant() {
        return scalar(py, vector, decimals, strings);
    }
    let nulls =
        if vector.null_count() > 0 { Some(written(vector, HostForm::Nulls, vector.len())) } else { None };
    let data = match form_of(vector.ty(), decimals) {
        Some((form, typestr)) => read_only(py, values(vector, form), vector.len(), typestr)?,
        None => objects(py, vector)?,
    };
    let is_packed =
        strings == Strings::Packed && matches!(vector.ty(), LogicalType::Varchar | LogicalType::Json);
    let array = match nulls {
        Some(nulls) => {
            let mask = read_only(py, nulls, vector.len(), "|b1")?;
            py.import("numpy.ma")?.getattr("MaskedArray")?.call1((data, mask))?
        }
        None => data,
    };
    if is_packed { packed(py, &array) } else { Ok(array) }
}

fn scalar<'py>(
    py: Python<'py>,
    vector: &Vector,
    decimals: Decimals,
    strings: Strings,
) -> PyResult<Bound<'py, PyAny>> {
    if vector.is_constant_null() {
        return py.import("numpy.ma")?.getattr("masked");
    }
    array(py, &vector.slice(0, 1).flatten(), decimals, strings)?.get_item(0)
}

/// How values of a type lie in an array; `None` for objects.
fn form_of(ty: &LogicalType, decimals: Decimals) -> Option<(HostForm, &'static str)> {
    let is_exact = matches!(ty, LogicalType::Decimal { .. } | LogicalType::HugeInt | LogicalType::UHugeInt);
    if is_exact && decimals != Decimals::Float {
        return None;
    }
    Some((HostForm::of(ty)?, typestr_of(ty, HostForm::Days)?))
}

/// The vector's own memory, if it has the form already.
fn values(vector: &Vector, form: HostForm) -> Buffer {
    if vector.is_flat() && form == HostForm::Stored {
        return vector.data().clone();
    }
    written(vector, form, vector.len())
}

fn written(vector: &Vector, form: HostForm, len: usize) -> Buffer {
    let mut buffer = Buffer::zeroed(len * form.width(vector.ty()));
    if let Some(target) = buffer.typed_mut::<u8>() {
        write_host_values(vector, form, target);
    }
    buffer
}

/// Values as Python objects, which are not NULL below a mask but None.
fn objects<'py>(py: Python<'py>, vector: &Vector) -> PyResult<Bound<'py, PyAny>> {
    let data = py.import("numpy")?.getattr("empty")?.call1((vector.len(), "O"))?;
    let mut cache = DictionaryCache::default();
    for from in (0..vector.len()).step_by(VECTOR_SIZE) {
        let to = vector.len().min(from + VECTOR_SIZE);
        let mut objects = Vec::with_capacity(to - from);
        objects_of(py, &None, vector, from..to, &mut cache, &mut objects)?;
        // Assigning a list of lists would be read as a matrix.
        let place = PySlice::new(py, from as isize, to as isize, 1);
        if is_nested(vector.ty()) {
            for (row, object) in (from..to).zip(objects) {
                data.set_item(row, object)?;
            }
        } else {
            data.set_item(place, PyList::new(py, objects)?)?;
        }
    }
    Ok(data)
}

fn is_nested(ty: &LogicalType) -> bool {
    use LogicalType as T;
    matches!(ty, T::List(_) | T::Array(..) | T::Struct(_) | T::Map(_) | T::Union(_))
}

/// The arguments of each row.
pub fn rows(py: Python<'_>, args: &[Vector], len: usize) -> PyResult<Vec<Vec<Py<PyAny>>>> {
    let column = |vector: &Vector| {
        let mut objects = Vec::with_capacity(len);
        objects_of(py, &None, vector, 0..len, &mut DictionaryCache::default(), &mut objects)?;
        Ok(objects.into_iter())
    };
    let mut columns = args.iter().map(column).collect::<PyResult<Vec<_>>>()?;
    Ok((0..len).map(|_| columns.iter_mut().filter_map(Iterator::next).collect()).collect())
}

/// Vectors that an Arrow library takes as one record batch.
#[pyclass(frozen, module = "inlay._inlay")]
pub struct ArgumentStream(Mutex<Option<ArrowArrayStream>>);

impl ArgumentStream {
    /// The vectors as columns `a0`, `a1`, ...
    pub fn new(args: &[Vector], len: usize, strings: StringLayout) -> Self {
        let names: Vec<String> = (0..args.len()).map(|index| format!("a{index}")).collect();
        let types: Vec<LogicalType> = args.iter().map(Vector::logical_type).collect();
        let batch = Batch::new(args.iter().map(Vector::flatten).collect(), len);
        let exporter = Exporter::new(&names, &types).with_strings(strings);
        Self(Mutex::new(Some(exporter.stream(std::iter::once(Ok(batch))))))
    }
}

#[pymethods]
impl ArgumentStream {
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        match self.0.lock().take() {
            Some(stream) => PyCapsule::new_with_value(py, stream, c"arrow_array_stream"),
            None => Err(PyRuntimeError::new_err("these rows were handed out already")),
        }
    }
}

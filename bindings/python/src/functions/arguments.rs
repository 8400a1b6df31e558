//! Vectors as what Python functions are called with: NumPy arrays over the engine's memory, Arrow arrays, Series, objects.
//!
//! Arrays over memory that the engine still uses are read-only. Where some rows are NULL, an array is masked. Literals are
//! NumPy scalars, NULL as `numpy.ma.masked`.

use crate::numpy::{Decimals, Strings, packed, read_only, typestr_of};
use crate::rows::{ObjectCache, Shown, objects_of};
use inlay::external::Kept;
use inlay::types::arrow::{ArrowArrayStream, Exporter, StringLayout};
use inlay::types::{Batch, Buffer, LogicalType, VECTOR_SIZE, Vector};
use inlay::{HostForm, write_host_values};
use parking_lot::Mutex;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyCapsule, PyDict, PyList, PySlice};
use std::any::Any;

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

/// The scalars that the constant arguments of a call became: a model of many megabytes is copied once for a statement.
pub struct Scalars(Vec<PyOnceLock<Py<PyAny>>>);

impl Scalars {
    /// Those of a place where `count` arguments are given; `None` if something else is kept there.
    pub fn of(kept: &Kept, count: usize) -> Option<&Self> {
        let made = || -> Box<dyn Any + Send + Sync> {
            Box::new(Self((0..count).map(|_| PyOnceLock::new()).collect()))
        };
        kept.get_or_init(made).downcast_ref().filter(|scalars: &&Self| scalars.0.len() == count)
    }

    /// The constant argument `index` as [`array`] has it. A list is an array of as many rows as the call has, and not kept.
    pub fn get<'py>(
        &self,
        py: Python<'py>,
        index: usize,
        arg: &Vector,
        decimals: Decimals,
        strings: Strings,
    ) -> PyResult<Bound<'py, PyAny>> {
        if is_nested(arg.ty()) {
            return array(py, arg, decimals, strings);
        }
        let scalar = || array(py, arg, decimals, strings).map(Bound::unbind);
        self.0[index].get_or_try_init(py, scalar).map(|scalar| scalar.bind(py).clone())
    }
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
    write_host_values(vector, form, buffer.make_mut::<u8>());
    buffer
}

/// Values as Python objects, which are not NULL below a mask but None.
fn objects<'py>(py: Python<'py>, vector: &Vector) -> PyResult<Bound<'py, PyAny>> {
    let data = py.import("numpy")?.getattr("empty")?.call1((vector.len(), "O"))?;
    let mut cache = ObjectCache::default();
    let mut before: Option<Py<PyAny>> = None;
    for from in (0..vector.len()).step_by(VECTOR_SIZE) {
        let to = vector.len().min(from + VECTOR_SIZE);
        // The object of the row before comes first: a long value that goes on is the same one.
        let mut objects = Vec::with_capacity(1 + to - from);
        let is_first = before.is_none();
        objects.extend(before.take());
        objects_of(py, &Shown::default(), vector, from..to, &mut cache, &mut objects)?;
        before = objects.last().map(|object| object.clone_ref(py));
        let objects = objects.into_iter().skip(usize::from(!is_first));
        // Assigning a list of lists would be read as a matrix.
        let place = PySlice::new(py, from as isize, to as isize, 1);
        if is_nested(vector.ty()) {
            for (row, object) in (from..to).zip(objects) {
                data.set_item(row, object)?;
            }
        } else {
            data.set_item(place, PyList::new(py, objects.collect::<Vec<_>>())?)?;
        }
    }
    Ok(data)
}

fn is_nested(ty: &LogicalType) -> bool {
    use LogicalType as T;
    matches!(ty, T::List(_) | T::Array(..) | T::Struct(_) | T::Map(_) | T::Union(_))
}

/// The values of each argument as objects, row by row.
pub fn lists<'py>(py: Python<'py>, args: &[Vector], len: usize) -> PyResult<Vec<Bound<'py, PyList>>> {
    let column = |vector: &Vector| {
        let mut objects = Vec::with_capacity(len);
        objects_of(py, &Shown::default(), vector, 0..len, &mut ObjectCache::default(), &mut objects)?;
        PyList::new(py, objects)
    };
    args.iter().map(column).collect()
}

/// Whether values of a type come and go as Python's objects where pandas is: Arrow's would lose an offset, the dict of a map or what
/// a union holds.
pub fn are_objects(ty: &LogicalType) -> bool {
    use LogicalType as T;
    ty.has_part(&|part| matches!(part, T::TimeTz | T::Map(_) | T::Union(_)))
}

/// The vectors, with nothing in the place of those whose values are to be objects, and these by their places.
pub fn apart<'py>(py: Python<'py>, args: &[Vector]) -> PyResult<(Vec<Vector>, Bound<'py, PyDict>)> {
    let (mut rest, objects) = (Vec::with_capacity(args.len()), PyDict::new(py));
    for (index, arg) in args.iter().enumerate() {
        if are_objects(arg.ty()) {
            let array = array(py, &arg.flatten(), Decimals::Objects, Strings::Objects)?;
            objects.set_item(index, array)?;
            rest.push(Vector::nulls(LogicalType::Integer, arg.len()));
        } else {
            rest.push(arg.clone());
        }
    }
    Ok((rest, objects))
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

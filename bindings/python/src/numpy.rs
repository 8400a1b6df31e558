//! Columns as NumPy arrays: over the engine's memory where the layouts agree, converted where they do not. Columns of a
//! table as it is are mapped, not copied.
//!
//! NULLs make an array masked; the slots below the mask hold NaN, NaT or the smallest integer. Strings, blobs and times
//! become object arrays, dates datetime64[D], intervals timedelta64[us]. Decimals become what the caller says: never float64
//! unless asked for; 128-bit integers int64 where all values fit, else objects.

use crate::cursor::Unread;
use crate::errors::{misuse, unwrapped};
use crate::host;
use crate::rows::{DictionaryCache, Zone, objects_of};
use inlay::types::{Buffer, LogicalType, VECTOR_SIZE};
use inlay::{HostColumn, HostForm, QueryResult};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyList, PySlice};

/// Memory of a column, kept alive by the arrays over it.
#[pyclass(frozen, module = "inlay")]
pub struct ColumnMemory {
    buffer: Buffer,
    len: usize,
    typestr: &'static str,
    is_read_only: bool,
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
        interface.set_item("data", (self.buffer.as_ptr() as usize, self.is_read_only))?;
        Ok(interface)
    }
}

/// Writable: `Delivery::into_host_columns` gave us memory that nobody else writes to or sees us write.
fn array<'py>(
    py: Python<'py>,
    buffer: Buffer,
    len: usize,
    typestr: &'static str,
) -> PyResult<Bound<'py, PyAny>> {
    over(py, ColumnMemory { buffer, len, typestr, is_read_only: false })
}

/// An array over memory that the engine uses.
pub fn read_only<'py>(
    py: Python<'py>,
    buffer: Buffer,
    len: usize,
    typestr: &'static str,
) -> PyResult<Bound<'py, PyAny>> {
    over(py, ColumnMemory { buffer, len, typestr, is_read_only: true })
}

fn over(py: Python<'_>, memory: ColumnMemory) -> PyResult<Bound<'_, PyAny>> {
    static AS_ARRAY: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let memory = Bound::new(py, memory)?;
    AS_ARRAY.import(py, "numpy", "asarray")?.call1((memory,))
}

/// What DECIMAL and HUGEINT become.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decimals {
    /// `decimal.Decimal` and `int`: exact.
    Objects,
    /// float64: fast, and rounded.
    Float,
    /// Arrow's decimal128, in data frames: exact and fast.
    Arrow,
}

impl Decimals {
    /// What the argument `decimal` says.
    pub fn of(py: Python<'_>, said: Option<&str>) -> PyResult<Self> {
        match said {
            None | Some("decimal") => Ok(Self::Objects),
            Some("float") => Ok(Self::Float),
            Some("arrow") => Ok(Self::Arrow),
            Some(other) => {
                Err(misuse(py, format!("decimal = {other:?}: expected 'decimal', 'float' or 'arrow'")))
            }
        }
    }
}

/// What texts become.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strings {
    /// `str`.
    Objects,
    /// NumPy's StringDType, whose NULL is NaN.
    Packed,
}

impl Strings {
    /// What the argument `strings` says.
    pub fn of(py: Python<'_>, said: Option<&str>) -> PyResult<Self> {
        match said {
            None | Some("object") => Ok(Self::Objects),
            Some("stringdtype") => Ok(Self::Packed),
            Some(other) => {
                Err(misuse(py, format!("strings = {other:?}: expected 'object' or 'stringdtype'")))
            }
        }
    }
}

fn is_wide(ty: &LogicalType) -> bool {
    matches!(ty, LogicalType::HugeInt | LogicalType::UHugeInt)
}

/// How columns are to become arrays.
pub struct Wanted<'a> {
    pub dates: HostForm,
    pub decimals: Decimals,
    pub strings: Strings,
    pub zone: &'a Zone,
}

/// All columns as arrays, masked if they have NULLs; dates in the form given. Columns for which `leave` says so stay rows.
pub fn columns<'py>(
    py: Python<'py>,
    rows: Unread,
    wanted: &Wanted<'_>,
    leave: impl Fn(&LogicalType) -> bool,
) -> PyResult<Vec<Delivered<'py>>> {
    let dates = wanted.dates;
    let exact = |ty: &LogicalType| {
        wanted.decimals != Decimals::Float && (is_wide(ty) || matches!(ty, LogicalType::Decimal { .. }))
    };
    let types = rows.first.types().to_vec();
    let form = |ty: &LogicalType| match ty {
        ty if leave(ty) || exact(ty) || typestr_of(ty, dates).is_none() => None,
        LogicalType::Date => Some(dates),
        ty => HostForm::of(ty),
    };
    let forms: Vec<Option<HostForm>> = types.iter().map(form).collect();
    let (len, columns) = rows.delivered(py, |delivery| delivery.into_host_columns(&forms))?;
    let column = |(column, ty): (HostColumn, &LogicalType)| match column {
        HostColumn::Values { data, nulls } => {
            let data = array(py, data, len, typestr_of(ty, dates).unwrap_or_default())?;
            let Some(nulls) = nulls else { return Ok(Delivered::Array(data)) };
            let mask = array(py, nulls, len, "|b1")?;
            Ok(Delivered::Array(py.import("numpy.ma")?.getattr("MaskedArray")?.call1((data, mask))?))
        }
        HostColumn::Rows(rows) if leave(ty) => Ok(Delivered::Rows(rows)),
        HostColumn::Rows(rows) => {
            let array = objects(py, wanted.zone, &rows)?;
            Ok(Delivered::Array(match ty {
                ty if is_wide(ty) => narrowed(py, array)?,
                LogicalType::Varchar | LogicalType::Json if wanted.strings == Strings::Packed => {
                    packed(py, &array)?
                }
                _ => array,
            }))
        }
    };
    columns.into_iter().zip(&types).map(column).collect()
}

/// A column that left the engine.
pub enum Delivered<'py> {
    /// As an array.
    Array(Bound<'py, PyAny>),
    /// As a result of this column only.
    Rows(QueryResult),
}

/// Texts as StringDType.
pub fn packed<'py>(py: Python<'py>, array: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let dtypes = py.import("numpy.dtypes")?;
    if !dtypes.hasattr("StringDType")? {
        return Err(misuse(py, "strings = 'stringdtype' needs NumPy 2"));
    }
    let options = PyDict::new(py);
    options.set_item("na_object", f64::NAN)?;
    let dtype = dtypes.getattr("StringDType")?.call((), Some(&options))?;
    if !array.hasattr("mask")? {
        return array.call_method1("astype", (dtype,));
    }
    // Below the mask lies None, which would become a text.
    array.call_method1("filled", (f64::NAN,))?.call_method1("astype", (dtype,))
}

/// Integers as int64, if there is no NULL and all fit.
fn narrowed<'py>(py: Python<'py>, array: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    if array.hasattr("mask")? {
        return Ok(array);
    }
    let integers = py.import("numpy")?.getattr("asarray")?.call1((array.call_method0("tolist")?, "i8"));
    Ok(integers.unwrap_or(array))
}

fn objects<'py>(py: Python<'py>, zone: &Zone, column: &QueryResult) -> PyResult<Bound<'py, PyAny>> {
    let len = column.row_count();
    let data = py.import("numpy")?.getattr("empty")?.call1((len, "O"))?;
    let mut cache = DictionaryCache::default();
    let mut null_rows: Vec<u8> = Vec::new();
    let mut row = 0;
    for batch in column.batches() {
        let batch = unwrapped(py, batch)?;
        let column = batch.column(0);
        if column.null_count() > 0 && null_rows.is_empty() {
            null_rows.resize(len, 0);
        }
        for from in (0..column.len()).step_by(VECTOR_SIZE) {
            // Into the array bit by bit, so that neither Ctrl-C nor other threads wait for all of it.
            host::pause(py)?;
            let rows = from..column.len().min(from + VECTOR_SIZE);
            let mut objects = Vec::with_capacity(rows.len());
            objects_of(py, zone, column, rows.clone(), &mut cache, &mut objects)?;
            if !null_rows.is_empty() {
                rows.clone().for_each(|at| null_rows[row + at - from] = u8::from(column.is_null(at)));
            }
            let place = PySlice::new(py, row as isize, (row + rows.len()) as isize, 1);
            data.set_item(place, PyList::new(py, objects)?)?;
            row += rows.len();
        }
    }
    if null_rows.is_empty() {
        return Ok(data);
    }
    let mask = array(py, Buffer::from_vec(null_rows), len, "|b1")?;
    py.import("numpy.ma")?.getattr("MaskedArray")?.call1((data, mask))
}

/// What NumPy calls the values of a column in its host form; others become arrays of objects.
pub fn typestr_of(ty: &LogicalType, dates: HostForm) -> Option<&'static str> {
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
        LogicalType::Date if dates == HostForm::Midnights => "<M8[us]",
        LogicalType::Date => "<M8[D]",
        LogicalType::Interval => "<m8[us]",
        LogicalType::Double | LogicalType::HugeInt | LogicalType::UHugeInt | LogicalType::Decimal { .. } => {
            "<f8"
        }
        _ => return None,
    })
}

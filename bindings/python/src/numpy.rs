//! Columns as NumPy arrays: over the engine's memory where the layouts agree, converted where they do not. Columns of a
//! table as it is are mapped, not copied.
//!
//! NULLs make an array masked; the slots below the mask hold NaN, NaT or the smallest integer. Strings, blobs and times
//! become object arrays, dates datetime64[D], intervals timedelta64[us]. Decimals become the nearest float64 unless the call or
//! the session says that they stay exact; 128-bit integers int64 where all values fit, else objects. What an array cannot hold
//! is an error.

use crate::cursor::Unread;
use crate::errors::{exception, misuse, unwrapped};
use crate::objects::{narrowed, objects};
use crate::rows::{Shown, Zone};
use inlay::types::{Buffer, LogicalType};
use inlay::{HostColumn, HostForm, QueryResult};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyDict;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

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
pub fn array<'py>(
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
    /// DECIMAL the nearest float64; HUGEINT stays whole numbers.
    Rounded,
    /// Both float64.
    Float,
    /// Arrow's decimal128 in data frames that have it, else `decimal.Decimal`; HUGEINT whole numbers.
    Exact,
    /// `decimal.Decimal` and `int`.
    Objects,
    /// Arrow's decimal128, in data frames, for both.
    Arrow,
}

impl Decimals {
    /// What the argument `decimal` says, or else the session.
    pub fn of(py: Python<'_>, said: Option<&str>, session: inlay::settings::Decimals) -> PyResult<Self> {
        match (said, session) {
            (None, inlay::settings::Decimals::Float) => Ok(Self::Rounded),
            (None, inlay::settings::Decimals::Exact) | (Some("exact"), _) => Ok(Self::Exact),
            (Some("decimal"), _) => Ok(Self::Objects),
            (Some("float"), _) => Ok(Self::Float),
            (Some("arrow"), _) => Ok(Self::Arrow),
            (Some(other), _) => Err(misuse(
                py,
                format!("decimal = {other:?}: expected 'float', 'exact', 'decimal' or 'arrow'"),
            )),
        }
    }

    /// Whether values of a type become doubles.
    pub fn rounds(self, ty: &LogicalType) -> bool {
        match self {
            Self::Rounded => matches!(ty, LogicalType::Decimal { .. }),
            Self::Float => is_wide(ty) || matches!(ty, LogicalType::Decimal { .. }),
            Self::Exact | Self::Objects | Self::Arrow => false,
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
pub struct Wanted {
    pub dates: HostForm,
    pub decimals: Decimals,
    pub strings: Strings,
    pub zone: Zone,
}

impl Wanted {
    /// How values that become objects are shown. Decimals within others become what columns of them do.
    fn shown(&self, py: Python<'_>) -> Shown {
        let zone = self.zone.as_ref().map(|zone| zone.clone_ref(py));
        Shown { zone, rounds: matches!(self.decimals, Decimals::Rounded | Decimals::Float) }
    }
}

/// A column that is not an array yet.
pub struct Unconverted {
    name: String,
    ty: LogicalType,
    len: usize,
    wanted: Arc<Wanted>,
    /// Whether it stays the engine's rows.
    is_left: bool,
    source: Source,
}

enum Source {
    /// A column of a table, and the form that it is to be read in.
    Table(QueryResult, Option<HostForm>),
    Delivered(HostColumn),
}

/// All columns, of which those for which `leave` says so stay rows. What has to be computed is; tables are not read yet.
pub fn columns(
    py: Python<'_>,
    rows: Unread,
    wanted: Wanted,
    leave: impl Fn(&LogicalType) -> bool,
) -> PyResult<Vec<Unconverted>> {
    let exact = |ty: &LogicalType| {
        (is_wide(ty) || matches!(ty, LogicalType::Decimal { .. })) && !wanted.decimals.rounds(ty)
    };
    let form = |ty: &LogicalType| match ty {
        ty if leave(ty) || exact(ty) || typestr_of(ty, wanted.dates).is_none() => None,
        LogicalType::Date => Some(wanted.dates),
        ty => HostForm::of(ty),
    };
    let first = &rows.rows.first;
    let (names, types) = (first.names().to_vec(), first.types().to_vec());
    let forms: Vec<Option<HostForm>> = types.iter().map(form).collect();
    let (len, sources): (usize, Vec<Source>) = if rows.rows.is_complete() && first.is_table() {
        let table = first;
        let column = |(index, form)| Source::Table(table.project(&[index]), form);
        (table.row_count(), forms.into_iter().enumerate().map(column).collect())
    } else {
        let (len, columns) = rows.delivered(py, |delivery| delivery.into_host_columns(&forms))?;
        (len, columns.into_iter().map(Source::Delivered).collect())
    };
    let wanted = Arc::new(wanted);
    let column = |((name, ty), source): ((String, LogicalType), Source)| {
        let is_left = leave(&ty);
        Unconverted { name, ty, len, wanted: Arc::clone(&wanted), is_left, source }
    };
    Ok(names.into_iter().zip(types).zip(sources).map(column).collect())
}

impl Unconverted {
    /// Whether its values are still in a table.
    pub fn is_unread(&self) -> bool {
        matches!(self.source, Source::Table(..))
    }

    /// Reads the values, if they are still in a table.
    pub fn read(&mut self, py: Python<'_>) -> PyResult<()> {
        let delivered = match &self.source {
            Source::Delivered(_) => return Ok(()),
            Source::Table(rows, None) => HostColumn::Rows(unwrapped(py, py.detach(|| rows.read_all()))?),
            Source::Table(rows, Some(form)) => self.delivered(py, rows, Some(*form))?,
        };
        self.source = Source::Delivered(delivered);
        Ok(())
    }

    fn delivered(&self, py: Python<'_>, rows: &QueryResult, form: Option<HostForm>) -> PyResult<HostColumn> {
        let rows = Unread::from(rows.clone());
        let (_, mut columns) = rows.delivered(py, |delivery| delivery.into_host_columns(&[form]))?;
        let missing = || inlay::Error::internal("a column was delivered as no column");
        unwrapped(py, columns.pop().ok_or_else(missing))
    }

    /// The array, or the rows of a column that stays so. `stop` ends it, with an exception that nobody sees.
    pub fn converted<'py>(&self, py: Python<'py>, stop: Option<&AtomicBool>) -> PyResult<Delivered<'py>> {
        let column = match &self.source {
            Source::Table(rows, form) => self.delivered(py, rows, *form)?,
            Source::Delivered(column) => column.clone(),
        };
        let rows = match column {
            HostColumn::Values { form, is_finite, data, nulls } => {
                if !is_finite {
                    self.check(py, form, &data, nulls.as_ref())?;
                }
                let typestr = typestr_of(&self.ty, form).unwrap_or_default();
                let data = array(py, data, self.len, typestr)?;
                let Some(nulls) = nulls else { return Ok(Delivered::Array(data)) };
                let mask = array(py, nulls, self.len, "|b1")?;
                let masked = py.import("numpy.ma")?.getattr("MaskedArray")?.call1((data, mask))?;
                return Ok(Delivered::Array(masked));
            }
            HostColumn::Rows(rows) => rows,
        };
        if self.is_left {
            return Ok(Delivered::Rows(rows));
        }
        if is_wide(&self.ty)
            && let Some(numbers) = unwrapped(py, py.detach(|| narrowed(&rows)))?
        {
            return Ok(Delivered::Array(array(py, numbers, self.len, "<i8")?));
        }
        let array = objects(py, &self.wanted.shown(py), &rows, stop)?;
        let is_text = matches!(self.ty, LogicalType::Varchar | LogicalType::Json);
        Ok(Delivered::Array(match is_text && self.wanted.strings == Strings::Packed {
            true => packed(py, &array)?,
            false => array,
        }))
    }

    /// An error for a value that would become another one.
    fn check(&self, py: Python<'_>, form: HostForm, data: &Buffer, nulls: Option<&Buffer>) -> PyResult<()> {
        let Some((row, what)) = py.detach(|| inlay::misfit(&self.ty, form, data, nulls)) else {
            return Ok(());
        };
        let name = &self.name;
        let fix = match self.ty {
            LogicalType::Interval => String::new(),
            _ => format!("leave out such rows with isfinite(\"{name}\"), or "),
        };
        let message = format!(
            "column \"{name}\" has {what} in row {row}, which no array of NumPy or pandas can hold; \
             {fix}cast the column to VARCHAR"
        );
        Err(exception(py, &inlay::Error::out_of_range(message)))
    }
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

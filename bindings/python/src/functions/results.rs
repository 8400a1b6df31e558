//! What Python functions give as vectors: arrays, masked arrays, lists, scalars, Arrow arrays and Series.
//!
//! `inlay._udf.result` says what an object is. Each then becomes a vector of its natural type, which is cast to the
//! declared one; a value that does not fit is an error with the function, the value and the arguments of its row. A float
//! with a fraction is no integer.

#![expect(unsafe_code, reason = "arrays of the Arrow C interface come back")]

use super::arguments::are_objects;
use super::{PythonFunction, Style, items, owned};
use crate::arrow;
use crate::host;
use crate::parameters;
use crate::register::{self, Nan};
use inlay::types::{Buffer, Error, Heap, LogicalType, Vector, VectorBuilder};
use inlay::{SourceValues, Value, Zone, cast_rows_in_zone, cast_value_in_zone};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use std::sync::Arc;

/// Why a result is none.
pub enum Failure {
    Raised(PyErr),
    Wrong(Error),
}

impl From<PyErr> for Failure {
    fn from(error: PyErr) -> Self {
        Self::Raised(error)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Wrong(error)
    }
}

type Outcome<T> = Result<T, Failure>;

/// What has a value each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Per {
    Row,
    Group,
    /// Any number of values, up to one for each row.
    Piece,
}

impl Per {
    fn name(self) -> &'static str {
        match self {
            Self::Row | Self::Piece => "row",
            Self::Group => "group",
        }
    }
}

/// What a call gave for `args`.
pub struct Given<'a, 'py> {
    pub function: &'a PythonFunction,
    pub args: &'a [Vector],
    pub len: usize,
    pub value: Bound<'py, PyAny>,
    pub per: Per,
}

impl<'py> Given<'_, 'py> {
    /// The rows of the declared type.
    pub fn into_vector(mut self, py: Python<'py>) -> Outcome<Vector> {
        // Nobody else knows the object, so its memory cannot change any more.
        // SAFETY: the object is alive, and this thread is attached.
        let is_ours = unsafe { ffi::Py_REFCNT(self.value.as_ptr()) } == 1;
        if is_ours
            && matches!(self.function.style, Style::Numpy(..))
            && let Some(vector) = owned::vector(&self.value, self.returns(), self.len)?
        {
            return Ok(vector);
        }
        let objects = are_objects(self.returns());
        let normal = py.import("inlay._udf")?.getattr("result")?.call1((&self.value, objects))?;
        let (kind, object): (String, Bound<'py, PyAny>) = normal.extract()?;
        let is_same = object.is(&self.value);
        match kind.as_str() {
            "array" => {
                self.take_len(object.len()?)?;
                let dtype: String = object.getattr("dtype")?.getattr("kind")?.extract()?;
                if dtype == "O" && *self.returns() != LogicalType::Varchar {
                    return self
                        .items(py, object.call_method0("tolist")?.cast::<PyList>().map_err(PyErr::from)?);
                }
                let owns_memory: bool = object.getattr("flags")?.getattr("owndata")?.extract()?;
                let natural = match register::values_of(py, "the result", &object, Nan::IsValue)? {
                    SourceValues::Ready(vector) if is_same && is_ours && owns_memory => vector,
                    SourceValues::Ready(vector) => copied(vector),
                    SourceValues::NanIsNull(vector) => copied(vector),
                    SourceValues::Deferred(column) => column.values(0..self.len)?,
                };
                self.cast(natural)
            }
            "list" => {
                self.take_len(object.len()?)?;
                self.items(py, object.cast::<PyList>().map_err(PyErr::from)?)
            }
            "arrow" => {
                let mut builder: Option<VectorBuilder> = None;
                for records in arrow::import(py, &object)? {
                    let records = records?;
                    let Some(column) = records.columns().first() else { continue };
                    let vector = column.vector(0, column.len())?.flatten();
                    builder
                        .get_or_insert_with(|| VectorBuilder::new(vector.logical_type(), self.len))
                        .append(&vector);
                }
                let natural =
                    builder.map_or_else(|| Vector::empty(self.returns().clone()), VectorBuilder::finish);
                self.take_len(natural.len())?;
                self.cast(natural)
            }
            _ => {
                let value = self.typed(py, &object, None)?;
                Ok(Vector::constant(self.returns().clone(), &value, self.len)?)
            }
        }
    }

    /// The time zone of moments without one. NumPy's are given to functions in UTC, also inside of lists, and come back so.
    fn zone(&self) -> Arc<Zone> {
        match self.function.style {
            Style::Numpy(..) => Zone::utc(),
            Style::Pandas if self.returns().is_nested() => Zone::utc(),
            Style::Arrow | Style::Pandas | Style::Polars | Style::Rows => host::zone(),
        }
    }

    fn returns(&self) -> &LogicalType {
        &self.function.returns
    }

    /// Fails if there are too many or too few values; of a piece, there are as many as are given.
    fn take_len(&mut self, given: usize) -> Outcome<()> {
        let (name, len, per) = (&self.function.name, self.len, self.per.name());
        if given == len {
            if self.per == Per::Piece {
                self.per = Per::Row;
            }
            return Ok(());
        }
        if self.per == Per::Piece && given < len {
            self.len = given;
            return Ok(());
        }
        let fewer = if self.per == Per::Row && given < len {
            "; PYTHON_MAP may give fewer to an aggregate without GROUP BY that reads nothing else"
        } else {
            ""
        };
        Err(Error::external(format!(
            "function \"{name}\" gave {given} values for {len} {per}s; it gives one for each {per}, or a scalar for \
             all{fewer}"
        ))
        .into())
    }

    /// What calls of a function of rows gave, with a value of any kind among them.
    pub fn typed_rows(&self, py: Python<'py>, values: &Bound<'py, PyList>) -> Outcome<Vector> {
        let mut builder = VectorBuilder::new(self.returns().clone(), self.len);
        for (row, value) in values.iter().enumerate() {
            builder.push(&self.typed(py, &value, Some(row))?)?;
        }
        Ok(builder.finish())
    }

    fn items(&self, py: Python<'py>, items: &Bound<'py, PyList>) -> Outcome<Vector> {
        if let Some(vector) = items::vector(items, self.returns()) {
            return Ok(vector);
        }
        let mut builder = VectorBuilder::new(self.returns().clone(), self.len);
        for (row, item) in items.iter().enumerate().take(self.len) {
            // NumPy and pandas write what is missing as NaN.
            let is_missing = item.is_instance_of::<pyo3::types::PyFloat>()
                && !is_float(self.returns())
                && item.ne(&item)?;
            if is_missing {
                builder.push_null();
            } else {
                builder.push(&self.typed(py, &item, Some(row))?)?;
            }
        }
        Ok(builder.finish())
    }

    /// An object as a value of the declared type.
    pub fn typed(&self, py: Python<'py>, object: &Bound<'py, PyAny>, row: Option<usize>) -> Outcome<Value> {
        if has_inner_map(self.returns()) {
            return Ok(parameters::value_as(py, object, self.returns())?);
        }
        let natural = match (self.returns(), object.cast::<PyDict>()) {
            (LogicalType::Map(types), Ok(dict)) => self.map(py, dict, types, row)?,
            _ => parameters::value(py, object)?,
        };
        if natural.is_null() || natural.logical_type() == *self.returns() {
            return Ok(natural);
        }
        match natural.as_f64() {
            Some(number)
                if self.returns().is_integer()
                    && is_float(&natural.logical_type())
                    && number.fract() != 0.0 =>
            {
                Err(self.misfit(&natural, row))
            }
            _ => cast_value_in_zone(&natural, self.returns(), &self.zone())
                .map_err(|_| self.misfit(&natural, row)),
        }
    }

    fn map(
        &self,
        py: Python<'py>,
        dict: &Bound<'py, PyDict>,
        types: &Arc<(LogicalType, LogicalType)>,
        row: Option<usize>,
    ) -> Outcome<Value> {
        let mut entries = Vec::with_capacity(dict.len());
        for item in dict.items().iter() {
            let (key, value): (Bound<'py, PyAny>, Bound<'py, PyAny>) = item.extract()?;
            let cast_to = |value: Value, ty: &LogicalType| {
                if value.is_null() {
                    Ok(value)
                } else {
                    cast_value_in_zone(&value, ty, &self.zone()).map_err(|_| self.misfit(&value, row))
                }
            };
            let key = cast_to(parameters::value(py, &key)?, &types.0)?;
            entries.push((key, cast_to(parameters::value(py, &value)?, &types.1)?));
        }
        Ok(Value::Map { types: Arc::clone(types), entries })
    }

    fn cast(&self, natural: Vector) -> Outcome<Vector> {
        let returns = self.returns();
        if natural.ty() == returns {
            return Ok(natural);
        }
        if natural.null_count() == natural.len() {
            return Ok(Vector::nulls(returns.clone(), natural.len()));
        }
        if returns.is_integer() && is_float(natural.ty()) {
            let is_whole =
                |row: &usize| natural.get(*row).as_f64().is_none_or(|number| number.fract() == 0.0);
            if let Some(row) = (0..natural.len()).find(|row| !is_whole(row)) {
                return Err(self.misfit(&natural.get(row), Some(row)));
            }
        }
        let mut out = Vector::empty(returns.clone());
        let zone = self.zone();
        if let Err(error) = cast_rows_in_zone(&natural, returns, false, &zone, &mut out) {
            let mut tried = Vector::empty(returns.clone());
            let row = match cast_rows_in_zone(&natural, returns, true, &zone, &mut tried) {
                Ok(()) => (0..natural.len()).find(|&row| tried.is_null(row) && !natural.is_null(row)),
                Err(_) => None,
            };
            return Err(match row {
                Some(row) => self.misfit(&natural.get(row), Some(row)),
                None => {
                    let (name, ty) = (&self.function.name, natural.ty());
                    Error::external(format!("function \"{name}\" gave {ty}, not {returns}: {error}")).into()
                }
            });
        }
        Ok(out)
    }

    /// A value that is none of the declared type, with the arguments that it was given for.
    fn misfit(&self, value: &Value, row: Option<usize>) -> Failure {
        let (name, returns) = (&self.function.name, self.returns());
        let shown = if value.logical_type() == LogicalType::Varchar {
            format!("'{value}'")
        } else {
            value.to_string()
        };
        let place = match row {
            Some(group) if self.per == Per::Group => format!(" for group {} of {}", group + 1, self.len),
            Some(value) if self.per == Per::Piece => format!(", value {} of {}", value + 1, self.len),
            Some(row) if self.args.is_empty() => format!(", row {} of {}", row + 1, self.len),
            Some(row) => {
                let args: Vec<String> = self.args.iter().map(|arg| arg.get(row).to_string()).collect();
                format!(" for {name}({}), row {} of {}", args.join(", "), row + 1, self.len)
            }
            None => String::new(),
        };
        Error::external(format!("function \"{name}\" gave {shown}{place}; that is no {returns}")).into()
    }
}

/// Whether a dict may be a map inside of what is given, where it would be taken for a struct.
fn has_inner_map(ty: &LogicalType) -> bool {
    let has_map = |ty: &LogicalType| ty.has_part(&|part| matches!(part, LogicalType::Map(_)));
    match ty {
        LogicalType::Map(types) => has_map(&types.0) || has_map(&types.1),
        ty => has_map(ty),
    }
}

fn is_float(ty: &LogicalType) -> bool {
    matches!(ty, LogicalType::Real | LogicalType::Double)
}

/// The vector in memory of its own, as its memory may change behind our back.
fn copied(vector: Vector) -> Vector {
    if !vector.is_flat() || vector.ty().is_view() {
        return vector;
    }
    let data = Buffer::copy_of(vector.data().bytes());
    let validity = vector.validity().cloned();
    let mut own = Vector::flat(vector.logical_type(), vector.len(), data, validity, Heap::default());
    // What lies below a mask is anything.
    own.normalize_nulls();
    own
}

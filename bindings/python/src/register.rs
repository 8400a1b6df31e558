//! Python objects as tables: data frames, Arrow tables, datasets, arrays, dictionaries and lists.
//!
//! Memory is shared where layouts agree and kept alive by the source; the rest is converted once, here.

#![expect(unsafe_code, reason = "memory of NumPy's arrays, kept by their owners")]

use crate::arrow;
use crate::columns::column_of;
use crate::errors::{exception, forgiven, has, misuse, plain, unwrapped};
use crate::host::{self, tables_of};
use crate::parameters;
use crate::pending::looked_at;
use crate::result::Answer;
use crate::scanned::Scanned;
use crate::texts;
use inlay::settings::HostSettings;
use inlay::types::arrow::StreamReader;
use inlay::types::datetime::{is_date, is_finite_timestamp, is_timestamp};
use inlay::types::{Bitmap, Buffer, EnumType, Heap, Interval, LogicalType, Vector, VectorBuilder};
use inlay::{ArrowTable, ColumnSource, HostTable, QueryResult, SourceValues, TableSource, Value};
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString, PyTuple};
use std::ptr::NonNull;
use std::sync::Arc;

/// A table that Python code holds.
#[pyclass(frozen, module = "inlay._inlay")]
pub struct Table {
    pub source: Arc<dyn TableSource>,
}

/// Tables by the names that a query has for them.
pub type NamedTables = Vec<(String, HostTable)>;

/// The query that an `inlay.Relation` is, and the tables that it names.
pub fn query_of(py: Python<'_>, object: &Bound<'_, PyAny>) -> PyResult<Option<(String, NamedTables)>> {
    if !matches!(kind_of(object)?, Some(Kind::Relation)) {
        return Ok(None);
    }
    let view = object.call_method0(pyo3::intern!(py, "_view"))?;
    let (sql, tables): (String, Bound<'_, PyDict>) = view.extract()?;
    Ok(Some((sql, tables_of(Some(&tables))?)))
}

/// Whether an object can be a table.
pub fn is_table(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(kind_of(object)?.is_some())
}

enum Kind {
    Arrow,
    /// An array of Arrow alone.
    ArrowArray,
    Pandas,
    /// A dataset or scanner of pyarrow, a lazy frame of Polars.
    Scanned,
    Relation,
    Answer,
    /// What `inlay._tables` makes columns of: lists, dictionaries of lists, arrays.
    Values,
}

fn kind_of(object: &Bound<'_, PyAny>) -> PyResult<Option<Kind>> {
    let class = object.get_type();
    let module = class.module().map(|module| plain(&module)).unwrap_or_default();
    let name = class.name().map(|name| plain(&name)).unwrap_or_default();
    let of = |package: &str| module == package || module.starts_with(&format!("{package}."));
    let is_type = object.is_instance_of::<pyo3::types::PyType>();
    Ok(if object.is_instance_of::<Answer>() {
        Some(Kind::Answer)
    } else if of("inlay") && name == "Relation" {
        Some(Kind::Relation)
    } else if of("pandas") && (name == "DataFrame" || name.ends_with("Index")) {
        Some(Kind::Pandas)
    } else if of("polars") && name == "LazyFrame"
        || of("pyarrow") && (name.ends_with("Dataset") || name == "Scanner")
    {
        Some(Kind::Scanned)
    } else if !is_type && has(object, "__arrow_c_stream__")? {
        Some(Kind::Arrow)
    } else if !is_type && has(object, "__arrow_c_array__")? {
        Some(Kind::ArrowArray)
    } else {
        values_kind(object)?
    })
}

/// Whether NumPy makes an array of it.
fn is_array(value: &Bound<'_, PyAny>) -> PyResult<bool> {
    let is_one = has(value, "__array__")? || has(value, "__array_interface__")?;
    Ok(is_one && !value.is_instance_of::<pyo3::types::PyType>())
}

fn is_list(value: &Bound<'_, PyAny>) -> bool {
    value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>()
}

/// Whether it is a column of a dictionary.
fn is_column(value: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(is_list(value) || is_array(value)? || has(value, "__arrow_c_array__")?)
}

/// A dictionary of columns, or what is made one: a list of dictionaries or of columns, an array.
fn values_kind(object: &Bound<'_, PyAny>) -> PyResult<Option<Kind>> {
    let py = object.py();
    if let Ok(dict) = object.cast::<PyDict>() {
        return Ok((!dict.is_empty() && no_column(dict)?.is_none()).then_some(Kind::Values));
    }
    if is_list(object) {
        let Some(first) = forgiven(py, object.get_item(0))? else { return Ok(None) };
        let is_column = is_array(&first)? || has(&first, "__arrow_c_array__")?;
        return Ok((first.is_instance_of::<PyDict>() || is_column).then_some(Kind::Values));
    }
    if !is_array(object)? {
        return Ok(None);
    }
    let shape = forgiven(py, object.getattr_opt("shape"))?.flatten();
    let has_rows = match shape {
        Some(shape) => forgiven(py, shape.len())?.is_some_and(|len| len > 0),
        None => true,
    };
    Ok(has_rows.then_some(Kind::Values))
}

/// What keeps a dictionary from being a table.
fn no_column(dict: &Bound<'_, PyDict>) -> PyResult<Option<String>> {
    for item in dict.items().iter() {
        let (key, value): (Bound<'_, PyAny>, Bound<'_, PyAny>) = item.extract()?;
        if !key.is_instance_of::<PyString>() {
            return Ok(Some(format!("its key {} is no text", plain(&key.repr()?))));
        }
        if !is_column(&value)? {
            let class = plain(&value.get_type().fully_qualified_name()?);
            return Ok(Some(format!("{} is of type {class}, which is no column", plain(&key.repr()?))));
        }
    }
    Ok(None)
}

/// The object as a table that is described as `name`.
pub fn source(
    py: Python<'_>,
    name: &str,
    object: &Bound<'_, PyAny>,
    settings: &HostSettings,
) -> PyResult<Arc<dyn TableSource>> {
    let nan = if settings.nan_as_null() { Nan::IsNull } else { Nan::IsValue };
    if let Ok(table) = object.cast::<Table>() {
        return Ok(Arc::clone(&table.get().source));
    }
    match kind_of(object)? {
        Some(Kind::Arrow) => from_arrow(py, name, object),
        Some(Kind::ArrowArray) => from_arrow_array(py, name, object),
        // Not by Arrow, which has no BIT, UUID and others.
        Some(Kind::Relation) => {
            let rows = object.call_method0(pyo3::intern!(py, "_rows"))?;
            from_result(py, name, rows.cast::<Answer>()?.get().result())
        }
        Some(Kind::Scanned) => Ok(Arc::new(Scanned::new(py, name, object)?)),
        Some(Kind::Answer) => match object.cast::<Answer>() {
            Ok(answer) => from_result(py, name, answer.get().result()),
            Err(error) => Err(error.into()),
        },
        Some(Kind::Values) => {
            if let Ok(dict) = object.cast::<PyDict>()
                && !dict.values().iter().any(|values| is_list(&values))
            {
                return from_columns(py, name, dict, nan);
            }
            let columns = py.import("inlay._tables")?.getattr("columns_of")?.call1((object,))?;
            from_columns(py, name, columns.cast::<PyDict>()?, nan)
        }
        Some(Kind::Pandas) => from_pandas(py, name, object),
        None => {
            if let Ok(dict) = object.cast::<PyDict>()
                && let Some(why) = no_column(dict)?
            {
                return Err(misuse(
                    py,
                    format!("a dictionary is a table if its values are arrays or lists: {why}"),
                ));
            }
            let class = plain(&object.get_type().fully_qualified_name()?);
            let known = "data frames of pandas and Polars, Arrow tables, readers and datasets, objects with \
                         __arrow_c_stream__ or __array_interface__, NumPy arrays, dictionaries of arrays or lists, \
                         lists of dictionaries";
            Err(misuse(py, format!("an object of type {class} cannot be a table; these can: {known}")))
        }
    }
}

fn from_result(py: Python<'_>, name: &str, result: &QueryResult) -> PyResult<Arc<dyn TableSource>> {
    let source = py.detach(|| {
        let column = |(index, name): (usize, &String)| Ok((name.clone(), result.column(index)?));
        let columns = result.names().iter().enumerate().map(column).collect::<inlay::Result<Vec<_>>>()?;
        ColumnSource::new(name, columns)
    });
    Ok(Arc::new(unwrapped(py, source)?))
}

fn from_arrow(py: Python<'_>, name: &str, object: &Bound<'_, PyAny>) -> PyResult<Arc<dyn TableSource>> {
    let tables = py.import("inlay._tables")?;
    tables.getattr("note_read")?.call1((object,))?;
    let words: Vec<Option<Vec<String>>> = tables.getattr("words_of")?.call1((object,))?.extract()?;
    let stream = arrow::import(py, object)?;
    let has_infinity: bool = tables.getattr("has_infinity")?.call1((object,))?.extract()?;
    let stream = if has_infinity { stream } else { stream.without_infinity() };
    typed_table(py, name, stream, words)
}

/// An array alone is a column; of structs, a column for each field.
fn from_arrow_array(py: Python<'_>, name: &str, object: &Bound<'_, PyAny>) -> PyResult<Arc<dyn TableSource>> {
    let (field, records) = arrow::import_array(py, object)?;
    Ok(Arc::new(unwrapped(py, ArrowTable::new(name, &field, vec![records]))?))
}

/// The ENUM of words in their order.
pub fn enum_of(py: Python<'_>, words: Option<Vec<String>>) -> PyResult<Option<LogicalType>> {
    let made = |words: Vec<String>| -> inlay::Result<LogicalType> {
        Ok(LogicalType::Enum(Arc::new(EnumType::new(words)?)))
    };
    unwrapped(py, words.map(made).transpose())
}

/// A table of record batches; columns that have words are ENUMs of them.
fn typed_table(
    py: Python<'_>,
    name: &str,
    stream: StreamReader,
    words: Vec<Option<Vec<String>>>,
) -> PyResult<Arc<dyn TableSource>> {
    let types = words.into_iter().map(|words| enum_of(py, words)).collect::<PyResult<Vec<_>>>()?;
    // Reading may run Python code of a reader on this thread.
    let table = py.detach(|| -> inlay::Result<ArrowTable> {
        Ok(ArrowTable::from_stream(name, stream)?.with_types(types))
    });
    Ok(Arc::new(unwrapped(py, table)?))
}

/// By way of pyarrow, which shares numbers and knows every dtype of pandas; without pyarrow column by column.
fn from_pandas(py: Python<'_>, name: &str, frame: &Bound<'_, PyAny>) -> PyResult<Arc<dyn TableSource>> {
    let frames = py.import("inlay._frames")?;
    let made = frames.getattr("columns_of_pandas")?.call1((frame,))?;
    let (columns, words): (Bound<'_, PyAny>, Vec<Option<Vec<String>>>) = made.extract()?;
    if let Ok(columns) = columns.cast::<PyDict>() {
        return from_columns(py, name, columns, Nan::IsNull);
    }
    // The last moment of pandas is one like others.
    let stream = arrow::import(py, &columns)?.without_infinity();
    typed_table(py, name, stream, words)
}

fn from_columns(
    py: Python<'_>,
    name: &str,
    columns: &Bound<'_, PyDict>,
    nan: Nan,
) -> PyResult<Arc<dyn TableSource>> {
    let columns = looked_at(columns)?;
    let mut vectors = Vec::with_capacity(columns.len());
    // Conversions run Python code, which may change the dictionary.
    for item in columns.items().iter() {
        let (column, values): (String, Bound<'_, PyAny>) = item.extract()?;
        let values = column_of(py, &column, &values, nan)?;
        vectors.push((column, values));
    }
    let source = ColumnSource::new(name, vectors);
    Ok(Arc::new(unwrapped(py, source)?))
}

/// What NaN among floats is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nan {
    IsNull,
    IsValue,
}

/// A NumPy array (or what NumPy makes one of) as a column; masked values are NULL.
pub fn values_of(
    py: Python<'_>,
    column: &str,
    values: &Bound<'_, PyAny>,
    nan: Nan,
) -> PyResult<SourceValues> {
    let numpy = py.import("numpy")?;
    let mask = match values.hasattr("mask")? {
        true => Some(numpy.getattr("ma")?.getattr("getmaskarray")?.call1((values,))?),
        false => None,
    };
    let array = match mask {
        Some(_) => numpy.getattr("ma")?.getattr("getdata")?.call1((values,))?,
        None => numpy.getattr("asarray")?.call1((values,))?,
    };
    let dimensions: usize = array.getattr("ndim")?.extract()?;
    if dimensions != 1 {
        return Err(misuse(py, format!("column \"{column}\" has {dimensions} dimensions, not one")));
    }
    let kind: String = array.getattr("dtype")?.getattr("kind")?.extract()?;
    let is_text = matches!(kind.as_str(), "O" | "U" | "T");
    if is_text
        && mask.is_none()
        && let Some(texts) = texts::column(&array, &kind)?
    {
        return Ok(SourceValues::Deferred(Arc::new(texts)));
    }
    let mut vector = plain_vector(py, column, &array, mask.is_some(), nan)?;
    if let Some(mask) = mask {
        let masked = fixed(py, &mask, LogicalType::Boolean)?;
        let valid = Bitmap::from_fn(vector.len(), |row| masked.values::<u8>()[row] == 0);
        let valid = Bitmap::and_optional(vector.validity(), Some(&valid));
        vector.set_validity(valid);
    }
    if nan == Nan::IsNull && matches!(vector.ty(), LogicalType::Real | LogicalType::Double) {
        return Ok(SourceValues::NanIsNull(vector));
    }
    Ok(vector.into())
}

fn plain_vector(
    py: Python<'_>,
    column: &str,
    array: &Bound<'_, PyAny>,
    is_masked: bool,
    nan: Nan,
) -> PyResult<Vector> {
    let dtype = array.getattr("dtype")?;
    let kind: String = dtype.getattr("kind")?.extract()?;
    let size: usize = dtype.getattr("itemsize")?.extract()?;
    let ty = match (kind.as_str(), size) {
        ("b", _) => LogicalType::Boolean,
        ("i", 1) => LogicalType::TinyInt,
        ("i", 2) => LogicalType::SmallInt,
        ("i", 4) => LogicalType::Integer,
        ("i", 8) => LogicalType::BigInt,
        ("u", 1) => LogicalType::UTinyInt,
        ("u", 2) => LogicalType::USmallInt,
        ("u", 4) => LogicalType::UInteger,
        ("u", 8) => LogicalType::UBigInt,
        ("f", 4) => LogicalType::Real,
        ("f", 8) => LogicalType::Double,
        ("f", _) => {
            let doubles = array.call_method1("astype", ("f8",))?;
            // Of half precision all, of extended precision those that are no others then. NaN is NaN.
            let same = numpy_equal(py, array, &doubles)?;
            return if same {
                fixed(py, &doubles, LogicalType::Double)
            } else {
                Err(unfit(py, column, "DOUBLE"))
            };
        }
        ("M", _) => return moments(py, column, array, &dtype),
        ("m", _) => return intervals(py, column, array, &dtype),
        ("O" | "U" | "S" | "T", _) => return objects(py, column, array, &kind, is_masked, nan),
        _ => {
            let shown = plain(&dtype.str()?);
            return Err(misuse(
                py,
                format!("column \"{column}\" has the dtype {shown}, which SQL has no type for"),
            ));
        }
    };
    fixed(py, array, ty)
}

/// Shares the memory of an array of fixed-width values, if it is contiguous, native and aligned; else of a copy.
fn fixed(py: Python<'_>, array: &Bound<'_, PyAny>, ty: LogicalType) -> PyResult<Vector> {
    let numpy = py.import("numpy")?;
    let order = array.getattr("dtype")?.call_method1("newbyteorder", ("<",))?;
    let array = numpy.getattr("require")?.call1((array, order, vec!["C", "A"]))?;
    let len: usize = array.len()?;
    if len == 0 {
        return Ok(Vector::empty(ty));
    }
    let interface = array.getattr("__array_interface__")?;
    let (address, _read_only): (usize, bool) = interface.get_item("data")?.extract()?;
    // SAFETY: NumPy keeps `len` values of `ty` at this address, aligned and contiguous as required above.
    unsafe { over(array, address, ty, len) }
}

/// The values of an array as a vector over its memory, which keeps the array. Who changes an array that is registered sees
/// the change in later queries.
///
/// # Safety
/// `len` values of `ty` lie at `address`, aligned and one behind the other, as long as the array lives.
pub unsafe fn over(array: Bound<'_, PyAny>, address: usize, ty: LogicalType, len: usize) -> PyResult<Vector> {
    let Some(start) = NonNull::new(address as *mut u8) else {
        return Err(misuse(array.py(), "the array has no memory"));
    };
    let owner: Py<PyAny> = array.unbind();
    // SAFETY: as the caller says; the owner keeps the array.
    let buffer = unsafe { Buffer::foreign(start, len * ty.physical().size(), Box::new(owner)) };
    Ok(Vector::flat(ty, len, buffer, None, Heap::default()))
}

/// NumPy's NaT, and pandas'.
const NAT: i64 = i64::MIN;

fn not_nat(values: &[i64]) -> Option<Bitmap> {
    values.contains(&NAT).then(|| Bitmap::from_fn(values.len(), |row| values[row] != NAT))
}

/// The numbers of an array of moments or lengths of time in another unit; `None` where some would be others.
fn in_unit<'py>(array: &Bound<'py, PyAny>, unit: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
    // NumPy says of some overflows that they are, and wraps others.
    let Some(converted) = forgiven(array.py(), array.call_method1("astype", (unit,)))? else {
        return Ok(None);
    };
    let back = converted.call_method1("astype", (array.getattr("dtype")?,))?.call_method1("view", ("i8",))?;
    // NaT is a number like others here.
    let given = array.call_method1("view", ("i8",))?;
    let same = array.py().import("numpy")?.getattr("array_equal")?.call1((back, given))?;
    if !same.is_truthy()? {
        return Ok(None);
    }
    converted.call_method1("view", ("i8",)).map(Some)
}

fn numpy_equal(py: Python<'_>, left: &Bound<'_, PyAny>, right: &Bound<'_, PyAny>) -> PyResult<bool> {
    let options = PyDict::new(py);
    options.set_item("equal_nan", true)?;
    py.import("numpy")?.getattr("array_equal")?.call((left, right), Some(&options))?.is_truthy()
}

fn unfit(py: Python<'_>, column: &str, ty: &str) -> PyErr {
    let message = format!("column \"{column}\" has values that {ty} cannot hold exactly");
    exception(py, &inlay::Error::out_of_range(message))
}

/// Days are DATE; others TIMESTAMP, or TIMESTAMP_NS if they have nanoseconds.
fn moments(
    py: Python<'_>,
    column: &str,
    array: &Bound<'_, PyAny>,
    dtype: &Bound<'_, PyAny>,
) -> PyResult<Vector> {
    let is_days = dtype.getattr("str")?.extract::<String>()?.ends_with("[D]");
    if is_days {
        let native = array.call_method1("astype", ("M8[D]",))?;
        let numbers = fixed(py, &native.call_method1("view", ("i8",))?, LogicalType::BigInt)?;
        let numbers = numbers.values::<i64>();
        let day_of = |&day: &i64| match day {
            NAT => Some(0),
            day => i32::try_from(day).ok().filter(|&day| is_date(day)),
        };
        let days: Option<Vec<i32>> = numbers.iter().map(day_of).collect();
        let days = days.ok_or_else(|| unfit(py, column, "DATE"))?;
        let mut vector = Vector::from_values(LogicalType::Date, &days);
        vector.set_validity(not_nat(numbers));
        return Ok(vector);
    }
    let (ty, numbers) = match in_unit(array, "M8[us]")? {
        Some(numbers) => (LogicalType::Timestamp, numbers),
        None => match in_unit(array, "M8[ns]")? {
            Some(numbers) => (LogicalType::TimestampNs, numbers),
            None => return Err(unfit(py, column, "TIMESTAMP")),
        },
    };
    let mut vector = fixed(py, &numbers, ty.clone())?;
    let is_inside = |&at: &i64| match ty {
        LogicalType::Timestamp => at == NAT || is_timestamp(at),
        _ => is_finite_timestamp(at),
    };
    if !vector.values::<i64>().iter().all(is_inside) {
        return Err(unfit(py, column, "TIMESTAMP"));
    }
    vector.set_validity(not_nat(vector.values::<i64>()));
    Ok(vector)
}

/// Years and months are months.
fn intervals(
    py: Python<'_>,
    column: &str,
    array: &Bound<'_, PyAny>,
    dtype: &Bound<'_, PyAny>,
) -> PyResult<Vector> {
    let unit: String = dtype.getattr("str")?.extract()?;
    let in_months = unit.ends_with("M]") || unit.ends_with("Y]");
    let numbers = in_unit(array, if in_months { "m8[M]" } else { "m8[us]" })?;
    let numbers = fixed(py, &numbers.ok_or_else(|| unfit(py, column, "INTERVAL"))?, LogicalType::BigInt)?;
    let numbers = numbers.values::<i64>();
    let interval_of = |&number: &i64| match (in_months, number) {
        (_, NAT) => Some(Interval::default()),
        (true, months) => Some(Interval { months: i32::try_from(months).ok()?, days: 0, micros: 0 }),
        (false, micros) => Some(Interval { months: 0, days: 0, micros }),
    };
    let values: Option<Vec<Interval>> = numbers.iter().map(interval_of).collect();
    let values = values.ok_or_else(|| unfit(py, column, "INTERVAL"))?;
    let mut vector = Vector::from_values(LogicalType::Interval, &values);
    vector.set_validity(not_nat(numbers));
    Ok(vector)
}

/// An array of Python objects or of texts. All values become the narrowest type that fits all, in the end VARCHAR.
fn objects(
    py: Python<'_>,
    column: &str,
    array: &Bound<'_, PyAny>,
    kind: &str,
    is_masked: bool,
    nan: Nan,
) -> PyResult<Vector> {
    let items = match kind {
        // Of those that are missing, `tolist` gives what the dtype has for them.
        "T" => array.call_method1("astype", ("O",))?.call_method0("tolist")?,
        _ => array.call_method0("tolist")?,
    };
    let named = |error: PyErr| match error.is_instance_of::<PyException>(py) {
        true => in_column(py, column, error),
        false => error,
    };
    let (mut values, mut not_numbers) = (Vec::with_capacity(array.len()?), Vec::new());
    for item in items.try_iter()? {
        let item = item?;
        let value = parameters::value_among_others(py, &item).map_err(&named)?;
        // pandas writes what is missing as NaN, also beside decimals.
        let missing = value.as_f64().is_some_and(f64::is_nan);
        if missing {
            not_numbers.push(values.len());
        }
        values.push(if missing { Value::Null } else { value });
    }
    let len = values.len();
    let (ty, mut values) = match unwrapped(py, inlay::host_column(values, &host::zone())).map_err(named)? {
        Some(column) => column,
        None if !not_numbers.is_empty() && !is_masked => (LogicalType::Double, vec![Value::Null; len]),
        None => (LogicalType::Varchar, vec![Value::Null; len]),
    };
    // Among floats, NaN may be one, unless a mask says what is missing.
    if ty == LogicalType::Double && !is_masked && nan == Nan::IsValue {
        for row in not_numbers {
            values[row] = Value::Double(f64::NAN);
        }
    }
    let mut builder = VectorBuilder::new(ty, values.len());
    for value in &values {
        builder.push(value).map_err(|error| misuse(py, format!("column \"{column}\": {error}")))?;
    }
    Ok(builder.finish())
}

/// The same exception, whose message begins with the column.
fn in_column(py: Python<'_>, column: &str, error: PyErr) -> PyErr {
    let value = error.value(py);
    let told = value.str().map(|text| plain(&text)).unwrap_or_default();
    let _ = value.setattr("args", (format!("column \"{column}\": {told}"),));
    error
}

/// Registers an object under a name.
pub fn register(
    py: Python<'_>,
    connection: &inlay::Connection,
    name: &str,
    object: &Bound<'_, PyAny>,
) -> PyResult<()> {
    let source = source(py, name, object, connection.host_settings())?;
    // To a server the rows are sent now.
    unwrapped(py, py.detach(|| connection.register(name, source)))
}

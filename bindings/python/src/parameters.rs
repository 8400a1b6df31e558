//! Python values as SQL values: parameters, configuration, cells of object arrays.

use crate::columns;
use crate::errors::{forgiven, has, misuse, plain, unwrapped};
use crate::host;
use crate::stack;
use inlay::types::datetime::{
    MICROS_PER_DAY, MICROS_PER_SECOND, days_from_civil, is_finite_timestamp, is_timestamp,
};
use inlay::types::{Decimal, Field, Interval, LogicalType, MAX_NESTING, TimeTz};
use inlay::{ParameterShape, Parameters, Value};
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::types::{
    PyBool, PyByteArray, PyBytes, PyDate, PyDateAccess, PyDateTime, PyDelta, PyDeltaAccess, PyDict, PyFloat,
    PyInt, PyList, PyMapping, PyMemoryView, PyString, PyTime, PyTimeAccess, PyTuple,
};
use std::borrow::Cow;
use std::sync::Arc;

/// Parameters of `execute` as they were read.
#[derive(Default)]
pub struct Given<'py> {
    values: Parameters,
    /// Those with a list that holds values of several kinds, by their places.
    mixed: Vec<(usize, Bound<'py, PyAny>, Option<PyErr>)>,
}

/// What was seen of lists that hold values of several kinds, which become one.
#[derive(Default)]
struct Mixture {
    is_there: bool,
    /// Why no kind is all of theirs.
    refused: Option<PyErr>,
    /// Whether decimals have more digits than DECIMAL, alone or together.
    is_too_wide: bool,
    /// How many lists and dicts are around what is read.
    depth: usize,
}

impl Mixture {
    /// Reads what is inside of a list or dict; an error where it is nested too deep, or holds itself.
    fn within<T>(&mut self, py: Python<'_>, read: impl FnOnce(&mut Self) -> PyResult<T>) -> PyResult<T> {
        let is_low = stack::is_low();
        if self.depth == MAX_NESTING || is_low {
            let why = match is_low {
                true => "deeper than the stack of this thread reaches".to_string(),
                false => format!("more than {MAX_NESTING} levels deep"),
            };
            let message = format!("a list or dict that is nested {why}, or holds itself, is no value of SQL");
            return Err(misuse(py, message));
        }
        self.depth += 1;
        let read = read(self);
        self.depth -= 1;
        read
    }
}

impl<'py> Given<'py> {
    /// A sequence for `?` and `$1`, a mapping for `$name`, anything else for a single `?`.
    pub fn read(py: Python<'py>, given: Option<&Bound<'py, PyAny>>) -> PyResult<Self> {
        let mut read = Self::default();
        let Some(given) = given.filter(|given| !given.is_none()) else { return Ok(read) };
        if let Ok(mapping) = given.cast::<PyDict>() {
            read.mapping(py, &mapping.items())?;
        } else if let Ok(tuple) = given.cast::<PyTuple>() {
            read.values.positional.reserve(tuple.len());
            tuple.iter_borrowed().try_for_each(|item| read.push(py, &item))?;
        } else if let Ok(list) = given.cast::<PyList>() {
            read.values.positional.reserve(list.len());
            list.iter().try_for_each(|item| read.push(py, &item))?;
        } else if given.cast::<PyMapping>().is_ok() {
            return Self::read(py, Some(py.get_type::<PyDict>().call1((given,))?.as_any()));
        } else if is_scalar(given)? || forgiven(py, given.try_iter())?.is_none() {
            read.push(py, given)?;
        } else {
            given.try_iter()?.try_for_each(|item| read.push(py, &item?))?;
        }
        Ok(read)
    }

    fn mapping(&mut self, py: Python<'py>, items: &Bound<'py, PyList>) -> PyResult<()> {
        if let Some(numbered) = numbered(items)? {
            return numbered.iter().try_for_each(|item| self.push(py, item));
        }
        for (place, item) in items.iter().enumerate() {
            let (name, item): (Bound<'_, PyAny>, Bound<'_, PyAny>) = item.extract()?;
            let Ok(name) = name.extract::<String>() else {
                let shown = name.repr()?;
                let message = format!(
                    "parameters are named by texts, or numbered from 1 without a gap; {shown} is neither"
                );
                return Err(misuse(py, message));
            };
            let value = self.one(py, &item, place)?;
            self.values.named.push((name.trim_start_matches('$').to_string(), value));
        }
        Ok(())
    }

    fn push(&mut self, py: Python<'py>, item: &Bound<'py, PyAny>) -> PyResult<()> {
        let value = self.one(py, item, self.values.positional.len())?;
        self.values.positional.push(value);
        Ok(())
    }

    fn one(&mut self, py: Python<'py>, item: &Bound<'py, PyAny>, place: usize) -> PyResult<Value> {
        let mut mixture = Mixture::default();
        let value = read(py, item, &mut mixture)?;
        if mixture.is_there {
            self.mixed.push((place, item.clone(), mixture.refused));
        }
        Ok(value)
    }

    /// Whether some list holds values of several kinds, which only a document keeps.
    pub fn is_mixed(&self) -> bool {
        !self.mixed.is_empty()
    }

    /// The values; where a statement wants a document, a list of several kinds is one, not a list of texts.
    pub fn for_types(mut self, py: Python<'py>, wanted: &[ParameterShape]) -> PyResult<Parameters> {
        for (place, object, refused) in std::mem::take(&mut self.mixed) {
            let name = self.values.named.get(place).map(|(name, _)| name.as_str());
            let shape = match name {
                Some(name) => wanted.iter().find(|shape| shape.name.as_deref() == Some(name)),
                None => wanted.get(place),
            };
            if shape.and_then(|shape| shape.ty.as_ref()) != Some(&LogicalType::Json) {
                refused.map_or(Ok(()), Err)?;
                continue;
            }
            let mut text = String::new();
            document(py, &object, &mut text)?;
            let (named, positional) = (&mut self.values.named, &mut self.values.positional);
            let value = named.get_mut(place).map(|(_, value)| value).or_else(|| positional.get_mut(place));
            value.into_iter().for_each(|value| *value = Value::Json(std::mem::take(&mut text)));
        }
        Ok(self.values)
    }
}

/// Writes a Python value as JSON, each item of a list as what it is.
fn document(py: Python<'_>, object: &Bound<'_, PyAny>, text: &mut String) -> PyResult<()> {
    if object.is_instance_of::<PyList>() || object.is_instance_of::<PyTuple>() {
        text.push('[');
        for (index, item) in object.try_iter()?.enumerate() {
            text.push_str(if index > 0 { "," } else { "" });
            document(py, &item?, text)?;
        }
        text.push(']');
        return Ok(());
    }
    if let Ok(dict) = object.cast::<PyDict>() {
        text.push('{');
        for (index, item) in dict.items().iter().enumerate() {
            let (name, item): (Bound<'_, PyAny>, Bound<'_, PyAny>) = item.extract()?;
            text.push_str(if index > 0 { "," } else { "" });
            scalar(py, name.str()?.as_any(), text)?;
            text.push(':');
            document(py, &item, text)?;
        }
        text.push('}');
        return Ok(());
    }
    scalar(py, object, text)
}

/// The engine writes lists as JSON; a text alone would be read as a document.
fn scalar(py: Python<'_>, object: &Bound<'_, PyAny>, text: &mut String) -> PyResult<()> {
    let value = value(py, object)?;
    let list = Value::List { element: Arc::new(value.logical_type()), values: vec![value] };
    let written = unwrapped(py, inlay::cast_value(&list, &LogicalType::Json))?.to_string();
    text.push_str(written.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(&written));
    Ok(())
}

/// The values of a mapping from the numbers of `$1`, `$2`, ..., as numbers or as texts, in their order; `None` for another one.
fn numbered<'py>(items: &Bound<'py, PyList>) -> PyResult<Option<Vec<Bound<'py, PyAny>>>> {
    let mut values = vec![None; items.len()];
    for item in items.iter() {
        let (key, item): (Bound<'py, PyAny>, Bound<'py, PyAny>) = item.extract()?;
        let number = match key.cast::<PyString>() {
            Ok(text) => text.to_cow()?.trim_start_matches('$').parse::<usize>().ok(),
            Err(_) => key.extract::<usize>().ok(),
        };
        match number.and_then(|number| values.get_mut(number.checked_sub(1)?)) {
            Some(place) => *place = Some(item),
            None => return Ok(None),
        }
    }
    Ok(if values.is_empty() { None } else { values.into_iter().collect() })
}

fn is_scalar(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(object.is_instance_of::<PyString>()
        || object.is_instance_of::<PyBytes>()
        || object.is_instance_of::<PyByteArray>()
        || object.is_instance_of::<PyMemoryView>()
        || has(object, "as_py")?
        || has(object, "item")? && !has(object, "__len__")?)
}

/// One Python value as a SQL value.
pub fn value(py: Python<'_>, object: &Bound<'_, PyAny>) -> PyResult<Value> {
    let mut mixture = Mixture::default();
    alone(py, object, &mut mixture)
}

/// A value of any kind; what SQL has no value for is the text that Python has for it.
pub fn value_or_text(py: Python<'_>, object: &Bound<'_, PyAny>) -> PyResult<Value> {
    match value(py, object) {
        Err(error) if !is_interrupt(py, &error)? && !has_half_character(object) => {
            Ok(Value::Varchar(plain(&object.str()?)))
        }
        read => read,
    }
}

/// A value of a column that has no texts, whose numbers stay numbers: a Decimal of too many digits is an error.
pub fn value_among_others(py: Python<'_>, object: &Bound<'_, PyAny>) -> PyResult<Value> {
    let mut mixture = Mixture::default();
    let read = read(py, object, &mut mixture);
    let is_too_wide = mixture.is_too_wide;
    match read.and_then(|value| mixture.refused.map_or(Ok(value), Err)) {
        Err(error) if is_too_wide => Err(error),
        Err(_) => value_or_text(py, object),
        read => read,
    }
}

/// Whether an exception says that the call is to end.
fn is_interrupt(py: Python<'_>, error: &PyErr) -> PyResult<bool> {
    let class = py.import("inlay.exceptions")?.getattr("InterruptException")?;
    Ok(!error.is_instance_of::<PyException>(py) || error.value(py).is_instance(&class)?)
}

/// Whether a text, or one in lists and dicts of few levels, is no text of SQL.
fn has_half_character(object: &Bound<'_, PyAny>) -> bool {
    fn is_within(object: &Bound<'_, PyAny>, depth: usize) -> bool {
        if let Ok(text) = object.cast::<PyString>() {
            return text.to_cow().is_err();
        }
        if depth == 0 {
            return false;
        }
        if let Ok(dict) = object.cast::<PyDict>() {
            let (keys, values) = (dict.keys(), dict.values());
            return keys.iter().chain(values.iter()).any(|item| is_within(&item, depth - 1));
        }
        if let Ok(list) = object.cast::<PyList>() {
            return list.iter().any(|item| is_within(&item, depth - 1));
        }
        object.cast::<PyTuple>().is_ok_and(|tuple| tuple.iter().any(|item| is_within(&item, depth - 1)))
    }
    is_within(object, 16)
}

/// A value whose lists have one kind each.
fn alone(py: Python<'_>, object: &Bound<'_, PyAny>, mixture: &mut Mixture) -> PyResult<Value> {
    let mut own = Mixture { depth: mixture.depth, ..Mixture::default() };
    let value = read(py, object, &mut own);
    mixture.is_too_wide |= own.is_too_wide;
    own.refused.map_or(value, Err)
}

/// Like [`value`]; says whether it has a mixture in it.
fn read(py: Python<'_>, object: &Bound<'_, PyAny>, mixture: &mut Mixture) -> PyResult<Value> {
    host::pace(py)?;
    if object.is_none() {
        return Ok(Value::Null);
    }
    if let Ok(truth) = object.cast::<PyBool>() {
        return Ok(Value::Boolean(truth.is_true()));
    }
    if object.is_instance_of::<PyInt>() {
        return integer(py, object);
    }
    if let Ok(number) = object.cast::<PyFloat>() {
        return Ok(Value::Double(number.value()));
    }
    if let Ok(text) = object.cast::<PyString>() {
        return Ok(Value::Varchar(text_of(text)?.into_owned()));
    }
    if let Ok(bytes) = object.cast::<PyBytes>() {
        return Ok(Value::Blob(bytes.as_bytes().to_vec()));
    }
    if object.is_instance_of::<PyByteArray>() || object.is_instance_of::<PyMemoryView>() {
        let bytes = py.get_type::<PyBytes>().call1((object,))?;
        return Ok(Value::Blob(bytes.extract()?));
    }
    if object.is_instance_of::<PyList>() || object.is_instance_of::<PyTuple>() {
        return mixture.within(py, |mixture| list(py, object, mixture));
    }
    if let Ok(dict) = object.cast::<PyDict>() {
        return mixture.within(py, |mixture| structure(py, dict, mixture));
    }
    match temporal(py, object)? {
        Some(value) => Ok(value),
        None => mixture.within(py, |mixture| other(py, object, mixture)),
    }
}

/// A list of values that have one type in common.
fn list(py: Python<'_>, object: &Bound<'_, PyAny>, mixture: &mut Mixture) -> PyResult<Value> {
    let items = object.try_iter()?.map(|item| read(py, &item?, mixture)).collect::<PyResult<Vec<_>>>()?;
    let (count, mut element) = (items.len(), LogicalType::Null);
    for item in &items {
        let ty = item.logical_type();
        mixture.is_there |= !are_alike(&element, &ty);
        element = match inlay::common_host_type(&element, &ty) {
            Ok(Some(common)) => common,
            Ok(None) => {
                let message = format!("a list holds values of the types {element} and {ty}");
                mixture.refused.get_or_insert_with(|| misuse(py, message));
                return Ok(Value::Null);
            }
            // The values may have fewer digits than their types.
            Err(_) => LogicalType::Null,
        };
        if element == LogicalType::Null && ty != LogicalType::Null {
            break;
        }
    }
    match inlay::host_column(items, &host::zone()) {
        Ok(Some((element, values))) => Ok(Value::List { element: Arc::new(element), values }),
        Ok(None) => {
            Ok(Value::List { element: Arc::new(LogicalType::Null), values: vec![Value::Null; count] })
        }
        Err(error) => {
            mixture.is_too_wide = true;
            mixture.refused.get_or_insert_with(|| crate::errors::exception(py, &error));
            Ok(Value::Null)
        }
    }
}

/// How many characters of a text a message has.
const SHOWN: usize = 100;

/// A text of Python, which SQL has as UTF-8.
pub fn text_of<'a>(text: &'a Bound<'_, PyString>) -> PyResult<Cow<'a, str>> {
    text.to_cow().map_err(|_| {
        let shown = text.repr().map(|shown| plain(&shown)).unwrap_or_default();
        let shown: String = shown.chars().take(SHOWN).collect();
        let message = format!(
            "the text {shown} has half of a surrogate pair in it, which is no character: text.encode('utf-8', 'replace').decode() \
             puts a question mark in its place"
        );
        misuse(text.py(), message)
    })
}

/// Whether values of both types are the same in a list of both.
fn are_alike(left: &LogicalType, right: &LogicalType) -> bool {
    let is_null = |ty: &LogicalType| *ty == LogicalType::Null;
    left == right || is_null(left) || is_null(right) || left.is_integer() && right.is_integer()
}

/// A dict with texts as keys is a struct; one with other keys, or none, is a map.
fn structure(py: Python<'_>, dict: &Bound<'_, PyDict>, mixture: &mut Mixture) -> PyResult<Value> {
    let (mut fields, mut values) = (Vec::new(), Vec::new());
    for item in dict.items().iter() {
        let (name, item): (Bound<'_, PyAny>, Bound<'_, PyAny>) = item.extract()?;
        let Ok(name) = name.cast::<PyString>() else { return map(py, dict, mixture) };
        let name = text_of(name)?.into_owned();
        let item = read(py, &item, mixture)?;
        fields.push(Field::new(name, item.logical_type()));
        values.push(item);
    }
    if fields.is_empty() {
        return map(py, dict, mixture);
    }
    Ok(Value::Struct { fields: fields.into(), values })
}

/// A dict as a map from one type to another.
fn map(py: Python<'_>, dict: &Bound<'_, PyDict>, mixture: &mut Mixture) -> PyResult<Value> {
    let (mut types, mut entries) = ((LogicalType::Null, LogicalType::Null), Vec::new());
    for item in dict.items().iter() {
        let (key, item): (Bound<'_, PyAny>, Bound<'_, PyAny>) = item.extract()?;
        let (key, item) = (alone(py, &key, mixture)?, read(py, &item, mixture)?);
        mixture.is_there |= !are_alike(&types.1, &item.logical_type());
        let wider = |known: &LogicalType, new: &Value, what: &str| {
            let new = new.logical_type();
            let message = format!("the {what} of a dict have the types {known} and {new}");
            unwrapped(py, inlay::common_host_type(known, &new))?.ok_or_else(|| misuse(py, message))
        };
        types = (wider(&types.0, &key, "keys")?, wider(&types.1, &item, "values")?);
        entries.push((key, item));
    }
    let zone = host::zone();
    let cast = |(key, item): &(Value, Value)| {
        Ok((inlay::host_value_as(key, &types.0, &zone)?, inlay::host_value_as(item, &types.1, &zone)?))
    };
    let entries = unwrapped(py, entries.iter().map(cast).collect::<inlay::Result<Vec<_>>>())?;
    Ok(Value::Map { types: Arc::new(types), entries })
}

fn integer(py: Python<'_>, object: &Bound<'_, PyAny>) -> PyResult<Value> {
    if let Ok(small) = object.extract::<i64>() {
        return Ok(i32::try_from(small).map_or(Value::BigInt(small), Value::Integer));
    }
    if let Ok(large) = object.extract::<i128>() {
        return Ok(Value::HugeInt(large));
    }
    object.extract::<u128>().map(Value::UHugeInt).map_err(|_| {
        let shown = object.str().map(|text| plain(&text)).unwrap_or_default();
        let error = inlay::Error::out_of_range(format!("the integer {shown} does not fit into 128 bits"));
        crate::errors::exception(py, &error)
    })
}

fn temporal(py: Python<'_>, object: &Bound<'_, PyAny>) -> PyResult<Option<Value>> {
    if let Ok(moment) = object.cast::<PyDateTime>() {
        // pandas.NaT is a datetime that does not equal itself.
        if object.ne(object)? {
            return Ok(Some(Value::Null));
        }
        if !object.is_exact_instance_of::<PyDateTime>()
            && let Some(value) = of_pandas(py, object)?
        {
            return Ok(Some(value));
        }
        return timestamp(py, moment).map(Some);
    }
    if let Ok(date) = object.cast::<PyDate>() {
        return Ok(Some(Value::Date(days_of(date))));
    }
    if let Ok(time) = object.cast::<PyTime>() {
        let offset = object.call_method0("utcoffset")?;
        if let Ok(offset) = offset.cast::<PyDelta>() {
            let seconds = offset.get_days() * 86_400 + offset.get_seconds();
            return Ok(Some(Value::TimeTz(TimeTz { micros: micros_of(time), offset: seconds })));
        }
        return Ok(Some(Value::Time(micros_of(time))));
    }
    if let Ok(delta) = object.cast::<PyDelta>() {
        if !object.is_exact_instance_of::<PyDelta>()
            && let Some(value) = of_pandas(py, object)?
        {
            return Ok(Some(value));
        }
        let seconds = i64::from(delta.get_seconds());
        let micros = seconds * MICROS_PER_SECOND + i64::from(delta.get_microseconds());
        return Ok(Some(Value::Interval(Interval { months: 0, days: delta.get_days(), micros })));
    }
    Ok(None)
}

fn days_of(date: &impl PyDateAccess) -> i32 {
    days_from_civil(date.get_year(), u32::from(date.get_month()), u32::from(date.get_day()))
}

fn micros_of(time: &impl PyTimeAccess) -> i64 {
    let seconds =
        i64::from(time.get_hour()) * 3600 + i64::from(time.get_minute()) * 60 + i64::from(time.get_second());
    seconds * MICROS_PER_SECOND + i64::from(time.get_microsecond())
}

/// A datetime; one with a time zone is a moment.
fn timestamp(py: Python<'_>, moment: &Bound<'_, PyDateTime>) -> PyResult<Value> {
    if moment.getattr("tzinfo")?.is_none() {
        return Ok(Value::Timestamp(i64::from(days_of(moment)) * MICROS_PER_DAY + micros_of(moment)));
    }
    let utc = py.import("datetime")?.getattr("timezone")?.getattr("utc")?;
    let moment = moment.call_method1("astimezone", (utc,))?;
    let moment = moment.cast::<PyDateTime>()?;
    Ok(Value::TimestampTz(i64::from(days_of(moment)) * MICROS_PER_DAY + micros_of(moment)))
}

/// Decimals, NumPy scalars, UUIDs, and an error for everything else.
fn other(py: Python<'_>, object: &Bound<'_, PyAny>, mixture: &mut Mixture) -> PyResult<Value> {
    let class = object.get_type();
    let (module, name) = (plain(&class.module()?), plain(&class.name()?));
    match (module.as_str(), name.as_str()) {
        ("decimal", "Decimal") => decimal(object).inspect_err(|_| mixture.is_too_wide = true),
        ("inlay.value.constant", _) => typed(py, object),
        ("uuid", "UUID") => Ok(Value::Uuid(object.getattr("int")?.extract()?)),
        (_, "NAType" | "NaTType" | "MaskedConstant") => Ok(Value::Null),
        ("numpy", "datetime64") => datetime64(py, object),
        ("numpy", "timedelta64") => timedelta64(py, object),
        ("pyarrow.lib", _) if object.hasattr("as_py")? => {
            columns::scalar(py, &py.import("inlay._tables")?.getattr("table_of_scalar")?.call1((object,))?)
        }
        // Vectors of a model, as lists; masked values are None in them.
        _ if object.hasattr("dtype")? && object.hasattr("tolist")? && object.hasattr("__len__")? => {
            alone(py, &py.import("inlay._tables")?.getattr("list_of")?.call1((object,))?, mixture)
        }
        ("numpy", _) if object.hasattr("item")? && !object.hasattr("__len__")? => {
            let item = object.call_method0("item")?;
            if !item.get_type().is(&class) {
                return alone(py, &item, mixture);
            }
            // Of numbers that Python has no type for: those of more digits than a double.
            let rounded = item.call_method0("__float__")?;
            match rounded.eq(&item)? || item.ne(&item)? {
                true => value(py, &rounded),
                false => Err(unfit(py, object, "DOUBLE")),
            }
        }
        _ if object.hasattr("__index__")? => integer(py, &object.call_method0("__index__")?),
        _ => Err(misuse(py, format!("a value of the Python type {module}.{name} cannot be used in SQL"))),
    }
}

/// An error for a value that SQL has no exact one for.
fn unfit(py: Python<'_>, object: &Bound<'_, PyAny>, ty: &str) -> PyErr {
    let shown = object.str().map(|text| plain(&text)).unwrap_or_default();
    let error = inlay::Error::out_of_range(format!("{ty} has no value that is exactly {shown}"));
    crate::errors::exception(py, &error)
}

/// A scalar of NumPy in another unit, as its number; `None` where that is another value.
fn in_unit(object: &Bound<'_, PyAny>, unit: &str) -> PyResult<Option<i64>> {
    // NumPy says of some overflows that they are, and wraps others.
    let Some(converted) = forgiven(object.py(), object.call_method1("astype", (unit,)))? else {
        return Ok(None);
    };
    let back = converted.call_method1("astype", (object.getattr("dtype")?,))?;
    let is_same = back.eq(object)?;
    let number = converted.call_method1("astype", ("i8",))?.call_method0("item")?.extract()?;
    Ok(is_same.then_some(number))
}

/// A moment of NumPy: TIMESTAMP, or TIMESTAMP_NS if it has nanoseconds.
fn datetime64(py: Python<'_>, object: &Bound<'_, PyAny>) -> PyResult<Value> {
    if object.ne(object)? {
        return Ok(Value::Null);
    }
    if let Some(micros) = in_unit(object, "M8[us]")?.filter(|&micros| is_timestamp(micros)) {
        return Ok(Value::Timestamp(micros));
    }
    match in_unit(object, "M8[ns]")?.filter(|&at| is_finite_timestamp(at)) {
        Some(at) => Ok(Value::TimestampNs(at)),
        None => Err(unfit(py, object, "TIMESTAMP")),
    }
}

/// A length of time of NumPy, in which months and years are no days.
fn timedelta64(py: Python<'_>, object: &Bound<'_, PyAny>) -> PyResult<Value> {
    if object.ne(object)? {
        return Ok(Value::Null);
    }
    let unit = py.import("numpy")?.getattr("datetime_data")?.call1((object.getattr("dtype")?,))?;
    let unit: String = unit.get_item(0)?.extract()?;
    if matches!(unit.as_str(), "Y" | "M") {
        let months = in_unit(object, "m8[M]")?.and_then(|months| i32::try_from(months).ok());
        let months = months.ok_or_else(|| unfit(py, object, "INTERVAL"))?;
        return Ok(Value::Interval(Interval { months, days: 0, micros: 0 }));
    }
    let micros = in_unit(object, "m8[us]")?.filter(|_| unit != "generic");
    let micros = micros.ok_or_else(|| unfit(py, object, "INTERVAL"))?;
    let days = i32::try_from(micros.div_euclid(MICROS_PER_DAY)).map_err(|_| unfit(py, object, "INTERVAL"))?;
    Ok(Value::Interval(Interval { months: 0, days, micros: micros.rem_euclid(MICROS_PER_DAY) }))
}

/// A Timestamp or Timedelta of pandas, which may be farther away and finer than those of Python that they are also.
fn of_pandas(py: Python<'_>, object: &Bound<'_, PyAny>) -> PyResult<Option<Value>> {
    if !object.hasattr("asm8")? {
        return Ok(None);
    }
    let exact = object.getattr("asm8")?;
    if !object.is_instance_of::<PyDateTime>() {
        return timedelta64(py, &exact).map(Some);
    }
    match (datetime64(py, &exact)?, object.getattr("tzinfo")?.is_none()) {
        (Value::Timestamp(micros), false) => Ok(Some(Value::TimestampTz(micros))),
        (Value::TimestampNs(_), false) => Err(unfit(py, object, "TIMESTAMP WITH TIME ZONE")),
        (value, _) => Ok(Some(value)),
    }
}

/// A value of `inlay.value.constant`, which says its type.
fn typed(py: Python<'_>, object: &Bound<'_, PyAny>) -> PyResult<Value> {
    let ty: String = object.getattr("type")?.extract()?;
    let ty = unwrapped(py, inlay::sql::type_of(&ty))?;
    value_as(py, &object.getattr("object")?, &ty)
}

/// One Python value as a SQL value of a type.
pub fn value_as(py: Python<'_>, object: &Bound<'_, PyAny>, ty: &LogicalType) -> PyResult<Value> {
    match ty {
        LogicalType::Map(types) => {
            if let Ok(dict) = object.cast::<PyDict>() {
                let entry = |(key, item)| Ok((value_as(py, &key, &types.0)?, value_as(py, &item, &types.1)?));
                let entries = pairs_of(dict)?.into_iter().map(entry).collect::<PyResult<_>>()?;
                return Ok(Value::Map { types: Arc::clone(types), entries });
            }
        }
        LogicalType::List(element)
            if object.is_instance_of::<PyList>() || object.is_instance_of::<PyTuple>() =>
        {
            let values = object.try_iter()?.map(|item| value_as(py, &item?, element));
            let values = values.collect::<PyResult<_>>()?;
            return Ok(Value::List { element: Arc::clone(element), values });
        }
        LogicalType::Struct(fields) => {
            if let Ok(dict) = object.cast::<PyDict>()
                && dict.len() == fields.len()
            {
                let part = |field: &Field| match dict.get_item(&*field.name)? {
                    Some(item) => value_as(py, &item, &field.ty).map(Some),
                    None => Ok(None),
                };
                let values = fields.iter().map(part).collect::<PyResult<Option<Vec<_>>>>()?;
                if let Some(values) = values {
                    return Ok(Value::Struct { fields: Arc::clone(fields), values });
                }
            }
        }
        LogicalType::Json => {
            let mut mixture = Mixture::default();
            read(py, object, &mut mixture)?;
            if mixture.is_there {
                let mut text = String::new();
                document(py, object, &mut text)?;
                return Ok(Value::Json(text));
            }
        }
        _ => {}
    }
    let plain = value(py, object)?;
    if plain.is_null() || plain.logical_type() == *ty {
        return Ok(plain);
    }
    unwrapped(py, inlay::implied_value(&plain, ty, &host::zone()))
}

// Dicts are gone through as lists of their items: converting a value may run Python code, and without a GIL other threads
// run, which may change the dict.

/// What a dict maps, if it is a map: its own entries, or those that its lists `key` and `value` have side by side.
fn pairs_of<'py>(dict: &Bound<'py, PyDict>) -> PyResult<Vec<(Bound<'py, PyAny>, Bound<'py, PyAny>)>> {
    if dict.len() == 2
        && let (Some(keys), Some(items)) = (dict.get_item("key")?, dict.get_item("value")?)
        && let (Ok(keys), Ok(items)) = (keys.cast::<PyList>(), items.cast::<PyList>())
        && keys.len() == items.len()
    {
        return Ok(keys.iter().zip(items.iter()).collect());
    }
    dict.items().iter().map(|item| item.extract()).collect()
}

/// A finite Decimal of up to 38 digits keeps its scale, one of more is an error; NaN and infinities become DOUBLE.
fn decimal(object: &Bound<'_, PyAny>) -> PyResult<Value> {
    let parts = object.call_method0("as_tuple")?;
    let digits: Vec<u8> = parts.getattr("digits")?.extract()?;
    let Ok(exponent) = parts.getattr("exponent")?.extract::<i64>() else {
        return Ok(Value::Double(object.extract()?));
    };
    let negative: u8 = parts.getattr("sign")?.extract()?;
    Decimal::of_digits(negative == 1, &digits, exponent).map(Value::from).ok_or_else(|| {
        let message = format!(
            "a Decimal of {} digits and exponent {exponent} does not fit into DECIMAL, which has 38 digits: round it, or pass float(...)",
            digits.len()
        );
        misuse(object.py(), message)
    })
}

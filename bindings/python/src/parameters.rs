//! Python values as SQL values: parameters, configuration, cells of object arrays.

use crate::errors::{misuse, unwrapped};
use inlay::types::datetime::{MICROS_PER_DAY, MICROS_PER_SECOND, days_from_civil};
use inlay::types::{Field, Interval, LogicalType, TimeTz};
use inlay::{Parameters, Value};
use pyo3::prelude::*;
use pyo3::types::{
    PyBool, PyByteArray, PyBytes, PyDate, PyDateAccess, PyDateTime, PyDelta, PyDeltaAccess, PyDict, PyFloat,
    PyInt, PyList, PyMapping, PyMemoryView, PyString, PyTime, PyTimeAccess, PyTuple,
};
use std::sync::Arc;

/// Parameters of `execute`: a sequence for `?` and `$1`, a mapping for `$name`, anything else for a single `?`.
pub fn parameters(py: Python<'_>, given: Option<&Bound<'_, PyAny>>) -> PyResult<Parameters> {
    let Some(given) = given.filter(|given| !given.is_none()) else { return Ok(Parameters::default()) };
    if let Ok(mapping) = given.cast::<PyDict>() {
        let items = mapping.items();
        if let Some(positional) = numbered(py, &items)? {
            return Ok(Parameters { positional, named: Vec::new() });
        }
        let named = items.iter().map(|item| {
            let (name, item): (Bound<'_, PyAny>, Bound<'_, PyAny>) = item.extract()?;
            let Ok(name) = name.extract::<String>() else {
                let shown = name.repr()?;
                let message = format!(
                    "parameters are named by texts, or numbered from 1 without a gap; {shown} is neither"
                );
                return Err(misuse(py, message));
            };
            Ok((name.trim_start_matches('$').to_string(), value(py, &item)?))
        });
        return Ok(Parameters { positional: Vec::new(), named: named.collect::<PyResult<_>>()? });
    }
    if let Ok(tuple) = given.cast::<PyTuple>() {
        let mut positional = Vec::with_capacity(tuple.len());
        for item in tuple.iter_borrowed() {
            positional.push(value(py, &item)?);
        }
        return Ok(Parameters { positional, named: Vec::new() });
    }
    if let Ok(list) = given.cast::<PyList>() {
        let mut positional = Vec::with_capacity(list.len());
        for item in list.iter() {
            positional.push(value(py, &item)?);
        }
        return Ok(Parameters { positional, named: Vec::new() });
    }
    if given.cast::<PyMapping>().is_ok() {
        return parameters(py, Some(py.get_type::<PyDict>().call1((given,))?.as_any()));
    }
    if is_scalar(given) || given.try_iter().is_err() {
        return Ok(Parameters { positional: vec![value(py, given)?], named: Vec::new() });
    }
    let positional = given.try_iter()?.map(|item| value(py, &item?)).collect::<PyResult<_>>()?;
    Ok(Parameters { positional, named: Vec::new() })
}

/// The values of a mapping from the numbers of `$1`, `$2`, ..., as numbers or as texts, in their order; `None` for another one.
fn numbered(py: Python<'_>, items: &Bound<'_, PyList>) -> PyResult<Option<Vec<Value>>> {
    let mut values = vec![None; items.len()];
    for item in items.iter() {
        let (key, item): (Bound<'_, PyAny>, Bound<'_, PyAny>) = item.extract()?;
        let number = match key.cast::<PyString>() {
            Ok(text) => text.to_cow()?.trim_start_matches('$').parse::<usize>().ok(),
            Err(_) => key.extract::<usize>().ok(),
        };
        match number.and_then(|number| values.get_mut(number.checked_sub(1)?)) {
            Some(place) => *place = Some(value(py, &item)?),
            None => return Ok(None),
        }
    }
    Ok(if values.is_empty() { None } else { values.into_iter().collect() })
}

fn is_scalar(object: &Bound<'_, PyAny>) -> bool {
    object.is_instance_of::<PyString>()
        || object.is_instance_of::<PyBytes>()
        || object.is_instance_of::<PyByteArray>()
        || object.is_instance_of::<PyMemoryView>()
        || object.hasattr("item").unwrap_or(false) && !object.hasattr("__len__").unwrap_or(true)
}

/// One Python value as a SQL value.
pub fn value(py: Python<'_>, object: &Bound<'_, PyAny>) -> PyResult<Value> {
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
        return Ok(Value::Varchar(text.to_cow()?.into_owned()));
    }
    if let Ok(bytes) = object.cast::<PyBytes>() {
        return Ok(Value::Blob(bytes.as_bytes().to_vec()));
    }
    if object.is_instance_of::<PyByteArray>() || object.is_instance_of::<PyMemoryView>() {
        let bytes = py.get_type::<PyBytes>().call1((object,))?;
        return Ok(Value::Blob(bytes.extract()?));
    }
    if object.is_instance_of::<PyList>() || object.is_instance_of::<PyTuple>() {
        return list(py, object);
    }
    if let Ok(dict) = object.cast::<PyDict>() {
        return structure(py, dict);
    }
    match temporal(py, object)? {
        Some(value) => Ok(value),
        None => other(py, object),
    }
}

/// A list of values that have one type in common.
fn list(py: Python<'_>, object: &Bound<'_, PyAny>) -> PyResult<Value> {
    let items = object.try_iter()?.map(|item| value(py, &item?)).collect::<PyResult<Vec<_>>>()?;
    let mut element = LogicalType::Null;
    for item in &items {
        let ty = item.logical_type();
        element = common(&element, &ty)
            .ok_or_else(|| misuse(py, format!("a list holds values of the types {element} and {ty}")))?;
    }
    // A list without values is cast to whatever list is asked for.
    let cast = |item: &Value| inlay::cast_value(item, &element);
    let values = items.iter().map(cast).collect::<Result<Vec<_>, _>>();
    let values = values.map_err(|error| crate::errors::exception(py, &error))?;
    Ok(Value::List { element: Arc::new(element), values })
}

/// The type that values of two types are held by: that of SQL, or text where plain values have none, as in a column of objects.
fn common(a: &LogicalType, b: &LogicalType) -> Option<LogicalType> {
    let is_plain = |ty: &LogicalType| {
        use LogicalType as T;
        !matches!(ty, T::List(_) | T::Array(..) | T::Struct(_) | T::Map(_) | T::Union(_) | T::Blob)
    };
    inlay::common_type(a, b).or_else(|| (is_plain(a) && is_plain(b)).then_some(LogicalType::Varchar))
}

/// A dict with texts as keys is a struct; one with other keys, or none, is a map.
fn structure(py: Python<'_>, dict: &Bound<'_, PyDict>) -> PyResult<Value> {
    let (mut fields, mut values) = (Vec::new(), Vec::new());
    for item in dict.items().iter() {
        let (name, item): (Bound<'_, PyAny>, Bound<'_, PyAny>) = item.extract()?;
        let Ok(name) = name.extract::<String>() else { return map(py, dict) };
        let item = value(py, &item)?;
        fields.push(Field::new(name, item.logical_type()));
        values.push(item);
    }
    if fields.is_empty() {
        return map(py, dict);
    }
    Ok(Value::Struct { fields: fields.into(), values })
}

/// A dict as a map from one type to another.
fn map(py: Python<'_>, dict: &Bound<'_, PyDict>) -> PyResult<Value> {
    let (mut types, mut entries) = ((LogicalType::Null, LogicalType::Null), Vec::new());
    for item in dict.items().iter() {
        let (key, item): (Bound<'_, PyAny>, Bound<'_, PyAny>) = item.extract()?;
        let (key, item) = (value(py, &key)?, value(py, &item)?);
        let wider = |known: &LogicalType, new: &Value, what: &str| {
            let new = new.logical_type();
            let message = format!("the {what} of a dict have the types {known} and {new}");
            common(known, &new).ok_or_else(|| misuse(py, message))
        };
        types = (wider(&types.0, &key, "keys")?, wider(&types.1, &item, "values")?);
        entries.push((key, item));
    }
    let cast = |(key, item): &(Value, Value)| {
        Ok((inlay::cast_value(key, &types.0)?, inlay::cast_value(item, &types.1)?))
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
        let shown = object.str().map(|text| text.to_string()).unwrap_or_default();
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
fn other(py: Python<'_>, object: &Bound<'_, PyAny>) -> PyResult<Value> {
    let class = object.get_type();
    let (module, name) = (class.module()?.to_string(), class.name()?.to_string());
    match (module.as_str(), name.as_str()) {
        ("decimal", "Decimal") => decimal(object),
        ("inlay.value.constant", _) => typed(py, object),
        ("uuid", "UUID") => Ok(Value::Uuid(object.getattr("int")?.extract()?)),
        (_, "NAType" | "NaTType" | "MaskedConstant") => Ok(Value::Null),
        ("numpy", "datetime64" | "timedelta64") => {
            let is_nat = object.ne(object)?;
            if is_nat {
                return Ok(Value::Null);
            }
            // Beyond microseconds `item` gives a plain number.
            let item =
                object.call_method1("astype", (if name == "datetime64" { "M8[us]" } else { "m8[us]" },))?;
            value(py, &item.call_method0("item")?)
        }
        // Vectors of a model, as lists; masked values are None in them.
        _ if object.hasattr("dtype")? && object.hasattr("tolist")? && object.hasattr("__len__")? => {
            value(py, &py.import("inlay._tables")?.getattr("list_of")?.call1((object,))?)
        }
        ("numpy", _) if object.hasattr("item")? && !object.hasattr("__len__")? => {
            value(py, &object.call_method0("item")?)
        }
        _ if object.hasattr("__index__")? => integer(py, &object.call_method0("__index__")?),
        _ => Err(misuse(py, format!("a value of the Python type {module}.{name} cannot be used in SQL"))),
    }
}

/// A value of `inlay.value.constant`, which says its type.
fn typed(py: Python<'_>, object: &Bound<'_, PyAny>) -> PyResult<Value> {
    let ty: String = object.getattr("type")?.extract()?;
    let ty = unwrapped(py, inlay::type_of(&ty))?;
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
        _ => {}
    }
    let plain = value(py, object)?;
    unwrapped(py, inlay::cast_value(&plain, ty))
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

/// A finite Decimal of up to 38 digits keeps its scale; one of more, NaN and infinities become DOUBLE.
fn decimal(object: &Bound<'_, PyAny>) -> PyResult<Value> {
    let parts = object.call_method0("as_tuple")?;
    let digits: Vec<u8> = parts.getattr("digits")?.extract()?;
    let Ok(exponent) = parts.getattr("exponent")?.extract::<i64>() else {
        return Ok(Value::Double(object.extract()?));
    };
    let negative: u8 = parts.getattr("sign")?.extract()?;
    let scale = (-exponent).max(0);
    let trailing_zeros = exponent.max(0);
    let digit_count = digits.len() as i64 + trailing_zeros;
    let precision = digit_count.max(scale).max(1);
    if precision > 38 {
        return Ok(Value::Double(object.extract()?));
    }
    let mut unscaled = digits.iter().fold(0i128, |number, digit| number * 10 + i128::from(*digit));
    for _ in 0..trailing_zeros {
        unscaled *= 10;
    }
    let unscaled = if negative == 1 { -unscaled } else { unscaled };
    Ok(Value::Decimal { unscaled, precision: precision as u8, scale: scale as u8 })
}

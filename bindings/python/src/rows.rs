//! Rows as Python tuples. A column is converted a batch at a time; a dictionary's values become objects once.

use crate::errors::forgiven;
use inlay::Value;
use inlay::types::datetime::{
    MICROS_PER_DAY, civil_from_days, is_finite_date, is_finite_timestamp, is_timestamp,
};
use inlay::types::nearest::nearest_f64;
use inlay::types::value::write_decimal;
use inlay::types::{Batch, Dictionary, Interval, LogicalType, PhysicalType, TimeTz, Vector, VectorKind};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{
    PyBool, PyBytes, PyDate, PyDateTime, PyDelta, PyDict, PyString, PyTime, PyTuple, PyType, PyTzInfo,
};
use std::ops::Range;

/// The time zone of the session that moments are shown in; none is UTC.
pub type Zone = Option<Py<PyTzInfo>>;

/// How values look as objects.
#[derive(Default)]
pub struct Shown {
    pub zone: Zone,
    /// Whether a decimal is the nearest `float` rather than a `decimal.Decimal`.
    pub rounds: bool,
}

impl Shown {
    /// With decimals as they are.
    pub fn exact(zone: Zone) -> Self {
        Self { zone, rounds: false }
    }
}

/// The zone of a name, as `zoneinfo` knows it; UTC if it does not.
pub fn zone(py: Python<'_>, name: Option<&str>) -> PyResult<Zone> {
    let Some(name) = name.filter(|name| !name.eq_ignore_ascii_case("utc")) else { return Ok(None) };
    match forgiven(py, py.import("zoneinfo")?.getattr("ZoneInfo")?.call1((name,)))? {
        Some(zone) => Ok(Some(zone.cast_into::<PyTzInfo>()?.unbind())),
        None => Ok(None),
    }
}

/// The same moment as a clock of the zone shows it. One that Python cannot hold is a text, or the first or last one.
fn in_zone(py: Python<'_>, moment: Py<PyAny>, zone: &Py<PyTzInfo>) -> PyResult<Py<PyAny>> {
    let bound = moment.bind(py);
    if !bound.is_instance_of::<PyDateTime>() || bound.getattr("tzinfo")?.is_none() {
        return Ok(moment);
    }
    match forgiven(py, bound.call_method1("astimezone", (zone,)))? {
        Some(shown) => Ok(shown.unbind()),
        None => Ok(moment),
    }
}

/// Objects that were made for rows before: of the values of the dictionary seen last, and of decimals.
#[derive(Default)]
pub struct ObjectCache {
    id: u64,
    objects: Vec<Option<Py<PyAny>>>,
    decimals: DecimalCache,
}

/// Decimals by their unscaled values, one at each place: a table of prices has few, and each takes long to make.
#[derive(Default)]
struct DecimalCache {
    places: Vec<Option<(i64, Py<PyAny>)>>,
    taken: usize,
    found: usize,
    made: usize,
    text: String,
}

/// Decimals that are remembered at first, and at most.
const DECIMALS_MIN: usize = 1 << 10;
const DECIMALS_MAX: usize = 1 << 20;
/// So many decimals tell whether values occur again.
const DECIMALS_TRIED: usize = 1 << 16;

impl DecimalCache {
    fn object(&mut self, py: Python<'_>, unscaled: i128, scale: u8) -> PyResult<Py<PyAny>> {
        let Ok(key) = i64::try_from(unscaled) else { return decimal(py, unscaled, scale, &mut self.text) };
        if self.made >= DECIMALS_TRIED && self.found < self.made / 8 {
            self.places = Vec::new();
            return decimal(py, unscaled, scale, &mut self.text);
        }
        if self.taken * 2 >= self.places.len() && self.places.len() < DECIMALS_MAX {
            self.grow();
        }
        let place = self.place_of(key);
        match &self.places[place] {
            Some((known, object)) if *known == key => {
                self.found += 1;
                return Ok(object.clone_ref(py));
            }
            Some(_) => {}
            None => self.taken += 1,
        }
        self.made += 1;
        let object = decimal(py, unscaled, scale, &mut self.text)?;
        self.places[place] = Some((key, object.clone_ref(py)));
        Ok(object)
    }

    /// The number of places is a power of two.
    fn place_of(&self, key: i64) -> usize {
        let mixed = (key as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed >> (64 - self.places.len().trailing_zeros())) as usize
    }

    fn grow(&mut self) {
        let count = (self.places.len() * 4).clamp(DECIMALS_MIN, DECIMALS_MAX);
        let earlier = std::mem::take(&mut self.places);
        self.places.resize_with(count, || None);
        self.taken = 0;
        for (key, object) in earlier.into_iter().flatten() {
            let place = self.place_of(key);
            self.taken += usize::from(self.places[place].is_none());
            self.places[place] = Some((key, object));
        }
    }
}

impl ObjectCache {
    fn object(
        &mut self,
        py: Python<'_>,
        shown: &Shown,
        dictionary: &Dictionary,
        code: usize,
    ) -> PyResult<Py<PyAny>> {
        if self.id != dictionary.id() {
            self.id = dictionary.id();
            self.objects.clear();
            self.objects.resize_with(dictionary.values().len(), || None);
        }
        if let Some(object) = &self.objects[code] {
            return Ok(object.clone_ref(py));
        }
        let object = at(py, shown, dictionary.values(), code)?;
        self.objects[code] = Some(object.clone_ref(py));
        Ok(object)
    }
}

/// Rows of a batch as tuples, behind `out`. `caches` has one cache per column.
pub fn tuples(
    py: Python<'_>,
    shown: &Shown,
    batch: &Batch,
    rows: Range<usize>,
    caches: &mut Vec<ObjectCache>,
    out: &mut Vec<Py<PyTuple>>,
) -> PyResult<()> {
    caches.resize_with(batch.columns().len().max(caches.len()), ObjectCache::default);
    let mut columns = Vec::with_capacity(batch.columns().len());
    for (column, cache) in batch.columns().iter().zip(caches.iter_mut()) {
        let mut objects = Vec::with_capacity(rows.len());
        objects_of(py, shown, column, rows.clone(), cache, &mut objects)?;
        columns.push(objects.into_iter());
    }
    out.reserve(rows.len());
    for _ in rows {
        let row: Vec<Py<PyAny>> = columns.iter_mut().filter_map(Iterator::next).collect();
        out.push(PyTuple::new(py, row)?.unbind());
    }
    Ok(())
}

/// A row of values of the usual types as a tuple; `None` if one of them is of another type, which its column tells how to show.
pub fn plain_tuple(py: Python<'_>, shown: &Shown, row: &[Value]) -> PyResult<Option<Py<PyTuple>>> {
    let is_plain = |value: &Value| {
        matches!(
            value,
            Value::Null
                | Value::Boolean(_)
                | Value::Integer(_)
                | Value::BigInt(_)
                | Value::Double(_)
                | Value::Varchar(_)
        )
    };
    if !row.iter().all(is_plain) {
        return Ok(None);
    }
    let objects = row.iter().map(|value| object(py, shown, value)).collect::<PyResult<Vec<_>>>()?;
    Ok(Some(PyTuple::new(py, objects)?.unbind()))
}

/// Values of a vector as Python objects, behind `out`, which is empty or ends with the object of the row before.
pub fn objects_of(
    py: Python<'_>,
    shown: &Shown,
    vector: &Vector,
    rows: Range<usize>,
    cache: &mut ObjectCache,
    out: &mut Vec<Py<PyAny>>,
) -> PyResult<()> {
    match vector.kind() {
        VectorKind::Constant => {
            let object = if vector.is_null(0) { py.None() } else { at(py, shown, vector, 0)? };
            out.extend(rows.map(|_| object.clone_ref(py)));
        }
        VectorKind::Dictionary(dictionary) => {
            let codes = vector.codes();
            for row in rows {
                let code = codes[row] as usize;
                out.push(if vector.is_null(row) {
                    py.None()
                } else {
                    cache.object(py, shown, dictionary, code)?
                });
            }
        }
        VectorKind::Flat => {
            if let LogicalType::Decimal { scale, .. } = vector.ty()
                && !shown.rounds
            {
                for row in rows {
                    out.push(match vector.is_null(row) {
                        true => py.None(),
                        false => cache.decimals.object(py, vector.stored_i128(row), *scale)?,
                    });
                }
                return Ok(());
            }
            // A value that is repeated for many rows is one object: a short one is its view, a long one lies in one place.
            let ty = vector.ty();
            let is_text = matches!(ty, LogicalType::Varchar | LogicalType::Json | LogicalType::Blob);
            let views = if is_text { vector.views() } else { &[] };
            // A row without a value may have a view of its neighbour's.
            let is_again = |row: usize| {
                views
                    .get(row)
                    .is_some_and(|view| (view.head, view.tail) == (views[row - 1].head, views[row - 1].tail))
                    && !vector.is_null(row - 1)
            };
            for row in rows.clone() {
                let object = match out.last() {
                    _ if vector.is_null(row) => py.None(),
                    Some(last) if row > 0 && is_again(row) => last.clone_ref(py),
                    _ => at(py, shown, vector, row)?,
                };
                out.push(object);
            }
        }
    }
    Ok(())
}

/// The value at physical position `index`, which is not NULL, of a flat or constant vector.
fn at(py: Python<'_>, shown: &Shown, vector: &Vector, index: usize) -> PyResult<Py<PyAny>> {
    match vector.ty() {
        LogicalType::Null => Ok(py.None()),
        LogicalType::Boolean => {
            let truth = vector.values::<u8>()[index] != 0;
            Ok(PyBool::new(py, truth).to_owned().into_any().unbind())
        }
        LogicalType::Real => vector.values::<f32>()[index].into_py_any(py),
        LogicalType::Double => vector.values::<f64>()[index].into_py_any(py),
        LogicalType::Varchar | LogicalType::Json => {
            let bytes = vector.views()[index].bytes(vector.heap().buffers());
            Ok(PyString::new(py, &String::from_utf8_lossy(bytes)).into_any().unbind())
        }
        LogicalType::Blob => {
            let bytes = vector.views()[index].bytes(vector.heap().buffers());
            Ok(PyBytes::new(py, bytes).into_any().unbind())
        }
        LogicalType::Decimal { scale, .. } if shown.rounds => {
            nearest_f64(vector.stored_i128(index), *scale).into_py_any(py)
        }
        LogicalType::Decimal { scale, .. } => {
            decimal(py, vector.stored_i128(index), *scale, &mut String::new())
        }
        LogicalType::Date => date(py, vector.values::<i32>()[index]),
        LogicalType::Time => time(py, vector.values::<i64>()[index]),
        LogicalType::TimeTz => time_tz(py, vector.values::<i64>()[index]),
        LogicalType::Timestamp => timestamp(py, vector.values::<i64>()[index], None),
        LogicalType::TimestampTz => {
            let utc = PyTzInfo::utc(py)?.to_owned();
            let moment = timestamp(py, vector.values::<i64>()[index], Some(&utc))?;
            match &shown.zone {
                Some(zone) => in_zone(py, moment, zone),
                None => Ok(moment),
            }
        }
        LogicalType::TimestampS | LogicalType::TimestampMs | LogicalType::TimestampNs => {
            let at = vector.values::<i64>()[index];
            match vector.ty() {
                LogicalType::TimestampS => coarse(py, &Value::TimestampS(at), at, 1_000_000),
                LogicalType::TimestampMs => coarse(py, &Value::TimestampMs(at), at, 1000),
                _ => nanoseconds(py, at),
            }
        }
        LogicalType::Interval => interval(py, vector.values::<Interval>()[index]),
        LogicalType::UHugeInt => vector.values::<u128>()[index].into_py_any(py),
        LogicalType::TinyInt
        | LogicalType::SmallInt
        | LogicalType::Integer
        | LogicalType::BigInt
        | LogicalType::HugeInt
        | LogicalType::UTinyInt
        | LogicalType::USmallInt
        | LogicalType::UInteger
        | LogicalType::UBigInt => match vector.physical_type() {
            PhysicalType::I32 => vector.values::<i32>()[index].into_py_any(py),
            PhysicalType::I64 => vector.values::<i64>()[index].into_py_any(py),
            _ => vector.stored_i128(index).into_py_any(py),
        },
        _ => object(py, shown, &vector.value_at(index)),
    }
}

/// A value as an object: lists and arrays as lists, structs and maps as dicts (a row without names as a tuple), a union
/// as the value it holds, other types as columns of them give.
pub fn object(py: Python<'_>, shown: &Shown, value: &Value) -> PyResult<Py<PyAny>> {
    let is_nested = matches!(
        value,
        Value::List { .. }
            | Value::Array { .. }
            | Value::Struct { .. }
            | Value::Map { .. }
            | Value::Union { .. }
    );
    if is_nested {
        crate::stack::check(py, "an object")?;
    }
    match value {
        Value::Null => Ok(py.None()),
        Value::Boolean(truth) => Ok(PyBool::new(py, *truth).to_owned().into_any().unbind()),
        Value::Integer(number) => number.into_py_any(py),
        Value::BigInt(number) => number.into_py_any(py),
        Value::Double(number) => number.into_py_any(py),
        Value::Varchar(text) => Ok(PyString::new(py, text).into_any().unbind()),
        Value::List { values, .. } | Value::Array { values, .. } => {
            let items = values.iter().map(|value| object(py, shown, value)).collect::<PyResult<Vec<_>>>()?;
            items.into_py_any(py)
        }
        Value::Struct { values, .. } if value.logical_type().is_tuple() => {
            let items = values.iter().map(|value| object(py, shown, value)).collect::<PyResult<Vec<_>>>()?;
            PyTuple::new(py, items)?.into_py_any(py)
        }
        Value::Struct { fields, values } => {
            let dict = PyDict::new(py);
            for (field, value) in fields.iter().zip(values) {
                dict.set_item(&*field.name, object(py, shown, value)?)?;
            }
            dict.into_py_any(py)
        }
        Value::Map { entries, .. } => {
            let dict = PyDict::new(py);
            // Two keys may have the same nearest double.
            let exact = Shown::exact(shown.zone.as_ref().map(|zone| zone.clone_ref(py)));
            let mut pairs = Vec::with_capacity(entries.len());
            for (key, value) in entries {
                pairs.push((object(py, &exact, key)?, object(py, shown, value)?));
            }
            if pairs.iter().all(|(key, _)| key.bind(py).hash().is_ok()) {
                for (key, value) in pairs {
                    dict.set_item(key, value)?;
                }
            } else {
                // Lists and dicts are keys of no dict; appenders take this form for the map again.
                let (keys, values): (Vec<_>, Vec<_>) = pairs.into_iter().unzip();
                dict.set_item("key", keys)?;
                dict.set_item("value", values)?;
            }
            dict.into_py_any(py)
        }
        Value::Decimal { unscaled, scale, .. } if shown.rounds => {
            nearest_f64(*unscaled, *scale).into_py_any(py)
        }
        Value::Union { value, .. } => object(py, shown, value),
        Value::Uuid(number) => {
            static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
            let arguments = PyDict::new(py);
            arguments.set_item("int", *number)?;
            Ok(CLASS.import(py, "uuid", "UUID")?.call((), Some(&arguments))?.unbind())
        }
        Value::Enum { .. } | Value::Bit(_) | Value::TimeTz(_) => value.to_string().into_py_any(py),
        Value::TimestampS(at) => coarse(py, value, *at, 1_000_000),
        Value::TimestampMs(at) => coarse(py, value, *at, 1000),
        Value::TimestampNs(at) => nanoseconds(py, *at),
        other => match Vector::from_sql_values(other.logical_type(), std::slice::from_ref(other)) {
            Ok(vector) => at(py, shown, &vector, 0),
            Err(error) => Err(crate::errors::exception(py, &error)),
        },
    }
}

/// `text` is memory to write in.
fn decimal(py: Python<'_>, unscaled: i128, scale: u8, text: &mut String) -> PyResult<Py<PyAny>> {
    static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    text.clear();
    write_decimal(text, unscaled, scale);
    Ok(CLASS.import(py, "decimal", "Decimal")?.call1((text.as_str(),))?.unbind())
}

/// Dates that Python cannot hold (before year 1, after 9999) are delivered as text.
fn date(py: Python<'_>, days: i32) -> PyResult<Py<PyAny>> {
    if !is_finite_date(days) {
        let class = py.get_type::<PyDate>();
        return Ok(class.getattr(if days < 0 { "min" } else { "max" })?.unbind());
    }
    let (year, month, day) = civil_from_days(days);
    if !(1..=9999).contains(&year) {
        return Value::Date(days).to_string().into_py_any(py);
    }
    Ok(PyDate::new(py, year, month as u8, day as u8)?.into_any().unbind())
}

/// Hour, minute, second and microsecond.
fn clock(micros: i64) -> (u8, u8, u8, u32) {
    let seconds = micros / 1_000_000;
    ((seconds / 3600) as u8, (seconds / 60 % 60) as u8, (seconds % 60) as u8, (micros % 1_000_000) as u32)
}

fn time(py: Python<'_>, micros: i64) -> PyResult<Py<PyAny>> {
    if !(0..MICROS_PER_DAY).contains(&micros) {
        return Value::Time(micros).to_string().into_py_any(py);
    }
    let (hour, minute, second, micro) = clock(micros);
    Ok(PyTime::new(py, hour, minute, second, micro, None)?.into_any().unbind())
}

/// A time of day with its offset to UTC.
fn time_tz(py: Python<'_>, stored: i64) -> PyResult<Py<PyAny>> {
    let time = TimeTz::from_stored(stored);
    if !(0..MICROS_PER_DAY).contains(&time.micros) {
        return Value::TimeTz(time).to_string().into_py_any(py);
    }
    let (hour, minute, second, micro) = clock(time.micros);
    let zone = PyTzInfo::fixed_offset(py, PyDelta::new(py, 0, time.offset, 0, true)?)?;
    Ok(PyTime::new(py, hour, minute, second, micro, Some(&zone))?.into_any().unbind())
}

/// Moments with a zone are in UTC. Infinity is the last (or first) moment that Python has, as in DuckDB.
fn timestamp(py: Python<'_>, micros: i64, zone: Option<&Bound<'_, PyTzInfo>>) -> PyResult<Py<PyAny>> {
    if !is_finite_timestamp(micros) {
        let class = py.get_type::<PyDateTime>();
        return Ok(class.getattr(if micros < 0 { "min" } else { "max" })?.unbind());
    }
    let (year, month, day) = civil_from_days(micros.div_euclid(MICROS_PER_DAY) as i32);
    if !(1..=9999).contains(&year) {
        let value = if zone.is_some() { Value::TimestampTz(micros) } else { Value::Timestamp(micros) };
        return value.to_string().into_py_any(py);
    }
    let (hour, minute, second, micro) = clock(micros.rem_euclid(MICROS_PER_DAY));
    let moment = PyDateTime::new(py, year, month as u8, day as u8, hour, minute, second, micro, zone)?;
    Ok(moment.into_any().unbind())
}

/// A moment in units of so many microseconds, which reach farther than those: one beyond is a text.
fn coarse(py: Python<'_>, value: &Value, at: i64, micros: i64) -> PyResult<Py<PyAny>> {
    match at.checked_mul(micros).filter(|&at| is_timestamp(at)) {
        Some(at) => timestamp(py, at, None),
        None if is_finite_timestamp(at) => value.to_string().into_py_any(py),
        None => timestamp(py, at, None),
    }
}

/// A datetime has no nanoseconds: a moment that has some is a text.
fn nanoseconds(py: Python<'_>, at: i64) -> PyResult<Py<PyAny>> {
    match is_finite_timestamp(at) {
        true if at % 1000 != 0 => Value::TimestampNs(at).to_string().into_py_any(py),
        true => timestamp(py, at / 1000, None),
        false => timestamp(py, at, None),
    }
}

/// A timedelta has no months: each counts 30 days.
fn interval(py: Python<'_>, interval: Interval) -> PyResult<Py<PyAny>> {
    let days = i64::from(interval.months) * 30
        + i64::from(interval.days)
        + interval.micros.div_euclid(MICROS_PER_DAY);
    let micros = interval.micros.rem_euclid(MICROS_PER_DAY);
    let Ok(days) = i32::try_from(days) else { return Value::Interval(interval).to_string().into_py_any(py) };
    let delta = PyDelta::new(py, days, (micros / 1_000_000) as i32, (micros % 1_000_000) as i32, true)?;
    Ok(delta.into_any().unbind())
}

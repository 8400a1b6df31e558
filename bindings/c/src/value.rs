//! Single values of a result, by row and column. For many, columns are faster.

use crate::calendar::{inlay_date, inlay_time, inlay_timestamp};
use crate::failure::{ErrorOut, guard, inlay_status, plain};
use crate::kinds::{inlay_decimal, inlay_int128, inlay_interval};
use crate::memory::Held;
use crate::pointers::{Handle, Out, null, put, put_if};
use crate::result::{self, inlay_result};
use inlay::types::LogicalType;
use inlay::{Error, Result, Value, cast_value};
use std::ffi::{c_char, c_void};
use std::ptr;

/// The value of a row and column, both from 0.
fn at(result: Handle<'_, inlay_result>, row: usize, column: usize) -> Result<Value> {
    with_value(result, row, column, |value| Ok(value.clone()))
}

/// What `read` gives of the value of a row and column.
fn with_value<T>(
    result: Handle<'_, inlay_result>,
    row: usize,
    column: usize,
    read: impl FnOnce(&Value) -> Result<T>,
) -> Result<T> {
    let result = result::of(result)?;
    result.check_column(column)?;
    let rows = result.whole()?;
    let count = rows.row_count();
    if row >= count {
        return Err(Error::invalid_argument(format!("there is no row {row}: the result has {count}")));
    }
    match rows.only_row() {
        Some(values) => read(&values[column]),
        None => read(&rows.value(row, column)?),
    }
}

/// The value as one of a type; `None` for NULL.
fn cast_at(
    result: Handle<'_, inlay_result>,
    row: usize,
    column: usize,
    ty: &LogicalType,
) -> Result<Option<Value>> {
    with_value(result, row, column, |value| match value {
        Value::Null => Ok(None),
        same if same.logical_type() == *ty => Ok(Some(same.clone())),
        other => cast_value(other, ty).map(Some),
    })
}

/// A whole number of a type that fits, which most are; `None` where a cast has to say what it is.
fn number_at<T: TryFrom<i128>>(
    result: Handle<'_, inlay_result>,
    row: usize,
    column: usize,
) -> Result<Option<T>> {
    with_value(result, row, column, |value| Ok(value.as_i128().and_then(|number| T::try_from(number).ok())))
}

fn misfit(value: &Value, wanted: &str) -> Error {
    Error::type_mismatch(format!("the {} {value} is no {wanted}", value.logical_type()))
}

/// Whether a value is NULL. All functions of values count rows and columns from 0; true also if there is no such value.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_value_is_null(result: Handle<'_, inlay_result>, row: usize, column: usize) -> bool {
    plain(true, || at(result, row, column).ok().map(|value| value.is_null()))
}

/// A value as BOOLEAN; false for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_value_bool(
    result: Handle<'_, inlay_result>,
    row: usize,
    column: usize,
    value: Out<'_, bool>,
    error: ErrorOut<'_>,
) -> inlay_status {
    guard(error, || {
        let found = cast_at(result, row, column, &LogicalType::Boolean)?;
        put(value, matches!(found, Some(Value::Boolean(true))), "value")
    })
}

/// A value as BIGINT; 0 for NULL, an error if it does not fit.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_value_int64(
    result: Handle<'_, inlay_result>,
    row: usize,
    column: usize,
    value: Out<'_, i64>,
    error: ErrorOut<'_>,
) -> inlay_status {
    guard(error, || {
        if let Some(number) = number_at(result, row, column)? {
            return put(value, number, "value");
        }
        let found = cast_at(result, row, column, &LogicalType::BigInt)?;
        put(value, if let Some(Value::BigInt(number)) = found { number } else { 0 }, "value")
    })
}

/// A value as UBIGINT; 0 for NULL, an error if it does not fit.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_value_uint64(
    result: Handle<'_, inlay_result>,
    row: usize,
    column: usize,
    value: Out<'_, u64>,
    error: ErrorOut<'_>,
) -> inlay_status {
    guard(error, || {
        if let Some(number) = number_at(result, row, column)? {
            return put(value, number, "value");
        }
        let found = cast_at(result, row, column, &LogicalType::UBigInt)?;
        put(value, if let Some(Value::UBigInt(number)) = found { number } else { 0 }, "value")
    })
}

/// A value as HUGEINT; 0 for NULL, an error if it does not fit.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_value_int128(
    result: Handle<'_, inlay_result>,
    row: usize,
    column: usize,
    value: Out<'_, inlay_int128>,
    error: ErrorOut<'_>,
) -> inlay_status {
    guard(error, || {
        let found = cast_at(result, row, column, &LogicalType::HugeInt)?;
        let number = if let Some(Value::HugeInt(number)) = found { number } else { 0 };
        put(value, number.into(), "value")
    })
}

/// A value as DOUBLE, the nearest one; 0 for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_value_double(
    result: Handle<'_, inlay_result>,
    row: usize,
    column: usize,
    value: Out<'_, f64>,
    error: ErrorOut<'_>,
) -> inlay_status {
    guard(error, || {
        let found = cast_at(result, row, column, &LogicalType::Double)?;
        put(value, if let Some(Value::Double(number)) = found { number } else { 0.0 }, "value")
    })
}

/// A DECIMAL; 0 for NULL. Whole numbers are decimals without digits behind the point.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_value_decimal(
    result: Handle<'_, inlay_result>,
    row: usize,
    column: usize,
    value: Out<'_, inlay_decimal>,
    error: ErrorOut<'_>,
) -> inlay_status {
    guard(error, || {
        let found = at(result, row, column)?;
        let (unscaled, precision, scale) = match &found {
            Value::Null => (0, 1, 0),
            Value::Decimal { unscaled, precision, scale } => (*unscaled, *precision, *scale),
            other => match cast_value(other, &LogicalType::decimal(38, 0))? {
                Value::Decimal { unscaled, .. } if other.logical_type().is_integer() => (unscaled, 38, 0),
                _ => return Err(misfit(other, "DECIMAL")),
            },
        };
        put(value, inlay_decimal { unscaled: unscaled.into(), precision, scale }, "value")
    })
}

/// A value of any type as text that ends with NUL, as SQL shows it; NULL for NULL. It belongs to the result. size, which may be NULL,
/// is set to the bytes before the end.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_value_text(
    result: Handle<'_, inlay_result>,
    row: usize,
    column: usize,
    text: Out<'_, *const c_char>,
    size: Out<'_, usize>,
    error: ErrorOut<'_>,
) -> inlay_status {
    guard(error, || {
        let (start, len) = kept(result, row, column, true, |value| match value {
            Value::Varchar(text) => Ok(ended(text.as_bytes())),
            other => Ok(ended(other.to_string().as_bytes())),
        })?;
        put_if(size, len)?;
        put(text, start.cast(), "text")
    })
}

/// The bytes of a BLOB, VARCHAR or JSON; NULL for NULL. They belong to the result.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_value_blob(
    result: Handle<'_, inlay_result>,
    row: usize,
    column: usize,
    data: Out<'_, *const c_void>,
    size: Out<'_, usize>,
    error: ErrorOut<'_>,
) -> inlay_status {
    guard(error, || {
        let size = size.ok_or_else(|| null("size"))?;
        let (start, len) = kept(result, row, column, false, |value| match value {
            Value::Blob(bytes) | Value::Bit(bytes) => Ok(ended(bytes)),
            Value::Varchar(text) | Value::Json(text) => Ok(ended(text.as_bytes())),
            other => Err(misfit(other, "BLOB")),
        })?;
        size.write(len);
        put(data, start.cast(), "data")
    })
}

/// Bytes of texts that a result keeps before they are asked of the budget: single rows do not ask.
const FREE_TEXTS: usize = 1 << 16;

/// Bytes of a value that the result keeps, and their number; NULL for NULL.
fn kept(
    result: Handle<'_, inlay_result>,
    row: usize,
    column: usize,
    is_text: bool,
    bytes_of: impl FnOnce(&Value) -> Result<Box<[u8]>>,
) -> Result<(*const u8, usize)> {
    let (handle, result) = (result, result::of(result)?);
    // Fails where it is not to be read as a whole.
    result.whole()?;
    let key = (row, column, is_text);
    if let Some(known) = result.texts.lock().get(key) {
        return Ok((known.as_ptr(), known.len() - 1));
    }
    let bytes =
        with_value(
            handle,
            row,
            column,
            |value| {
                if value.is_null() { Ok(None) } else { bytes_of(value).map(Some) }
            },
        )?;
    let Some(bytes) = bytes else { return Ok((ptr::null(), 0)) };
    let texts = &mut *result.texts.lock();
    let size = bytes.len() + size_of_val(&key) + size_of::<Box<[u8]>>();
    texts.size += size;
    match &mut texts.held {
        Some(held) => held.add(size)?,
        None if texts.size < FREE_TEXTS => {}
        None => texts.held = Some(Held::new(&result.enter().limits()?, texts.size)?),
    }
    let (start, len) = texts.keep(key, bytes);
    Ok((start, len - 1))
}

/// Bytes with NUL behind them.
fn ended(bytes: &[u8]) -> Box<[u8]> {
    let mut copy = Vec::with_capacity(bytes.len() + 1);
    copy.extend_from_slice(bytes);
    copy.push(0);
    copy.into_boxed_slice()
}

/// The day of a DATE or TIMESTAMP, in UTC if it has a zone.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_value_date(
    result: Handle<'_, inlay_result>,
    row: usize,
    column: usize,
    value: Out<'_, inlay_date>,
    error: ErrorOut<'_>,
) -> inlay_status {
    guard(error, || {
        let found = at(result, row, column)?;
        let date = match &found {
            Value::Null => inlay_date::NULL,
            Value::Date(days) => inlay_date::of_days(*days),
            other if other.logical_type().is_timestamp() => inlay_timestamp::of_value(other).date,
            other => return Err(misfit(other, "DATE")),
        };
        put(value, date, "value")
    })
}

/// The time of a TIME, with a zone or not, or of a TIMESTAMP, in UTC if it has a zone.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_value_time(
    result: Handle<'_, inlay_result>,
    row: usize,
    column: usize,
    value: Out<'_, inlay_time>,
    error: ErrorOut<'_>,
) -> inlay_status {
    guard(error, || {
        let found = at(result, row, column)?;
        let is_time =
            matches!(found, Value::Time(_) | Value::TimeTz(_)) || found.logical_type().is_timestamp();
        if !found.is_null() && !is_time {
            return Err(misfit(&found, "TIME"));
        }
        put(value, found.clock().map_or(inlay_time::NULL, Into::into), "value")
    })
}

/// The moment of a TIMESTAMP of any precision, in UTC if it has a zone, or the midnight of a DATE.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_value_timestamp(
    result: Handle<'_, inlay_result>,
    row: usize,
    column: usize,
    value: Out<'_, inlay_timestamp>,
    error: ErrorOut<'_>,
) -> inlay_status {
    guard(error, || {
        let found = at(result, row, column)?;
        let moment = match &found {
            Value::Null => inlay_timestamp::NULL,
            Value::Date(_) => inlay_timestamp::of_value(&found),
            other if other.logical_type().is_timestamp() => inlay_timestamp::of_value(other),
            other => return Err(misfit(other, "TIMESTAMP")),
        };
        put(value, moment, "value")
    })
}

/// An INTERVAL; nothing at all for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_value_interval(
    result: Handle<'_, inlay_result>,
    row: usize,
    column: usize,
    value: Out<'_, inlay_interval>,
    error: ErrorOut<'_>,
) -> inlay_status {
    guard(error, || {
        let interval = match at(result, row, column)? {
            Value::Null => inlay_interval::default(),
            Value::Interval(interval) => interval.into(),
            other => return Err(misfit(&other, "INTERVAL")),
        };
        put(value, interval, "value")
    })
}

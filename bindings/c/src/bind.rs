//! Values of parameters: one function for each type, by the number of the parameter.

use crate::calendar::{inlay_date, inlay_time, inlay_timestamp};
use crate::failure::{ErrorOut, guard, inlay_status};
use crate::kinds::{inlay_decimal, inlay_int128, inlay_interval};
use crate::pointers::{Handle, Items};
use crate::statement::{self, inlay_statement};
use inlay::{Error, Result, Value};
use std::ffi::c_char;

/// Binds what `value` makes.
fn bind(
    statement: Handle<'_, inlay_statement>,
    parameter: usize,
    error: ErrorOut<'_>,
    value: impl FnOnce() -> Result<Value>,
) -> inlay_status {
    guard(error, || {
        let statement = statement::of(statement)?;
        let value =
            value().map_err(|error| Error::invalid_argument(format!("parameter {parameter}: {error}")))?;
        statement.bindings.lock().bind(parameter, value)
    })
}

/// Binds NULL to a parameter, from 1; parameters with names follow those by position. A value stays bound until it is bound anew.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_bind_null(
    statement: Handle<'_, inlay_statement>,
    parameter: usize,
    error: ErrorOut<'_>,
) -> inlay_status {
    bind(statement, parameter, error, || Ok(Value::Null))
}

/// Binds a BOOLEAN.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_bind_bool(
    statement: Handle<'_, inlay_statement>,
    parameter: usize,
    value: bool,
    error: ErrorOut<'_>,
) -> inlay_status {
    bind(statement, parameter, error, || Ok(value.into()))
}

/// Binds a TINYINT.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_bind_int8(
    statement: Handle<'_, inlay_statement>,
    parameter: usize,
    value: i8,
    error: ErrorOut<'_>,
) -> inlay_status {
    bind(statement, parameter, error, || Ok(value.into()))
}

/// Binds a SMALLINT.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_bind_int16(
    statement: Handle<'_, inlay_statement>,
    parameter: usize,
    value: i16,
    error: ErrorOut<'_>,
) -> inlay_status {
    bind(statement, parameter, error, || Ok(value.into()))
}

/// Binds an INTEGER.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_bind_int32(
    statement: Handle<'_, inlay_statement>,
    parameter: usize,
    value: i32,
    error: ErrorOut<'_>,
) -> inlay_status {
    bind(statement, parameter, error, || Ok(value.into()))
}

/// Binds a BIGINT.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_bind_int64(
    statement: Handle<'_, inlay_statement>,
    parameter: usize,
    value: i64,
    error: ErrorOut<'_>,
) -> inlay_status {
    bind(statement, parameter, error, || Ok(value.into()))
}

/// Binds a UTINYINT.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_bind_uint8(
    statement: Handle<'_, inlay_statement>,
    parameter: usize,
    value: u8,
    error: ErrorOut<'_>,
) -> inlay_status {
    bind(statement, parameter, error, || Ok(value.into()))
}

/// Binds a USMALLINT.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_bind_uint16(
    statement: Handle<'_, inlay_statement>,
    parameter: usize,
    value: u16,
    error: ErrorOut<'_>,
) -> inlay_status {
    bind(statement, parameter, error, || Ok(value.into()))
}

/// Binds a UINTEGER.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_bind_uint32(
    statement: Handle<'_, inlay_statement>,
    parameter: usize,
    value: u32,
    error: ErrorOut<'_>,
) -> inlay_status {
    bind(statement, parameter, error, || Ok(value.into()))
}

/// Binds a UBIGINT.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_bind_uint64(
    statement: Handle<'_, inlay_statement>,
    parameter: usize,
    value: u64,
    error: ErrorOut<'_>,
) -> inlay_status {
    bind(statement, parameter, error, || Ok(value.into()))
}

/// Binds a REAL.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_bind_float(
    statement: Handle<'_, inlay_statement>,
    parameter: usize,
    value: f32,
    error: ErrorOut<'_>,
) -> inlay_status {
    bind(statement, parameter, error, || Ok(value.into()))
}

/// Binds a DOUBLE.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_bind_double(
    statement: Handle<'_, inlay_statement>,
    parameter: usize,
    value: f64,
    error: ErrorOut<'_>,
) -> inlay_status {
    bind(statement, parameter, error, || Ok(value.into()))
}

/// Binds a HUGEINT.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_bind_int128(
    statement: Handle<'_, inlay_statement>,
    parameter: usize,
    value: inlay_int128,
    error: ErrorOut<'_>,
) -> inlay_status {
    bind(statement, parameter, error, || Ok(Value::HugeInt(value.into())))
}

/// Binds a DECIMAL.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_bind_decimal(
    statement: Handle<'_, inlay_statement>,
    parameter: usize,
    value: inlay_decimal,
    error: ErrorOut<'_>,
) -> inlay_status {
    bind(statement, parameter, error, || decimal_of(value))
}

/// Binds a VARCHAR of so many bytes, which are copied; NULL is the empty text if size is 0.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_bind_text(
    statement: Handle<'_, inlay_statement>,
    parameter: usize,
    text: Items<'_, c_char>,
    size: usize,
    error: ErrorOut<'_>,
) -> inlay_status {
    bind(statement, parameter, error, || Ok(text.text(size, "the text")?.into()))
}

/// Binds a BLOB of so many bytes, which are copied.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_bind_blob(
    statement: Handle<'_, inlay_statement>,
    parameter: usize,
    data: Items<'_, c_char>,
    size: usize,
    error: ErrorOut<'_>,
) -> inlay_status {
    bind(statement, parameter, error, || Ok(data.bytes(size, "data")?.into()))
}

/// Binds a DATE.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_bind_date(
    statement: Handle<'_, inlay_statement>,
    parameter: usize,
    value: inlay_date,
    error: ErrorOut<'_>,
) -> inlay_status {
    bind(statement, parameter, error, || value.value())
}

/// Binds a TIME.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_bind_time(
    statement: Handle<'_, inlay_statement>,
    parameter: usize,
    value: inlay_time,
    error: ErrorOut<'_>,
) -> inlay_status {
    bind(statement, parameter, error, || value.value())
}

/// Binds a TIMESTAMP.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_bind_timestamp(
    statement: Handle<'_, inlay_statement>,
    parameter: usize,
    value: inlay_timestamp,
    error: ErrorOut<'_>,
) -> inlay_status {
    bind(statement, parameter, error, || value.value())
}

/// Binds a TIMESTAMP WITH TIME ZONE: microseconds since 1970-01-01 UTC.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_bind_timestamptz(
    statement: Handle<'_, inlay_statement>,
    parameter: usize,
    micros: i64,
    error: ErrorOut<'_>,
) -> inlay_status {
    bind(statement, parameter, error, || crate::calendar::timestamptz(micros))
}

/// Binds an INTERVAL.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_bind_interval(
    statement: Handle<'_, inlay_statement>,
    parameter: usize,
    value: inlay_interval,
    error: ErrorOut<'_>,
) -> inlay_status {
    bind(statement, parameter, error, || Ok(Value::Interval(value.into())))
}

/// A DECIMAL whose digits are as many as it says.
pub fn decimal_of(value: inlay_decimal) -> Result<Value> {
    const DIGITS_MAX: u8 = 38;
    let inlay_decimal { unscaled, precision, scale } = value;
    let unscaled = i128::from(unscaled);
    let is_type = (1..=DIGITS_MAX).contains(&precision) && scale <= precision;
    if !is_type || unscaled.unsigned_abs() >= 10u128.pow(u32::from(precision)) {
        let message =
            format!("{unscaled} is no DECIMAL({precision}, {scale}), which has at most {DIGITS_MAX} digits");
        return Err(Error::out_of_range(message));
    }
    Ok(Value::Decimal { unscaled, precision, scale })
}

/// Forgets all values that were bound.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_clear_bindings(
    statement: Handle<'_, inlay_statement>,
    error: ErrorOut<'_>,
) -> inlay_status {
    guard(error, || {
        statement::of(statement)?.bindings.lock().clear();
        Ok(())
    })
}

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

/// Declares a function for each type: its name, what it is given of the value, and the value. `header.py` writes this out as the
/// compiler does.
macro_rules! bind_functions {
    ($($(#[$doc:meta])* $function:ident($($argument:ident: $type:ty),*) $value:expr;)*) => {$(
        $(#[$doc])*
        #[unsafe(no_mangle)]
        pub extern "C" fn $function(
            statement: Handle<'_, inlay_statement>,
            parameter: usize,
            $($argument: $type,)*
            error: ErrorOut<'_>,
        ) -> inlay_status {
            bind(statement, parameter, error, || $value)
        }
    )*};
}

bind_functions! {
    /// Binds NULL to a parameter, from 1; parameters with names follow those by position. A value stays bound until it is bound anew.
    inlay_bind_null() Ok(Value::Null);
    /// Binds a BOOLEAN.
    inlay_bind_bool(value: bool) Ok(value.into());
    /// Binds a TINYINT.
    inlay_bind_int8(value: i8) Ok(value.into());
    /// Binds a SMALLINT.
    inlay_bind_int16(value: i16) Ok(value.into());
    /// Binds an INTEGER.
    inlay_bind_int32(value: i32) Ok(value.into());
    /// Binds a BIGINT.
    inlay_bind_int64(value: i64) Ok(value.into());
    /// Binds a UTINYINT.
    inlay_bind_uint8(value: u8) Ok(value.into());
    /// Binds a USMALLINT.
    inlay_bind_uint16(value: u16) Ok(value.into());
    /// Binds a UINTEGER.
    inlay_bind_uint32(value: u32) Ok(value.into());
    /// Binds a UBIGINT.
    inlay_bind_uint64(value: u64) Ok(value.into());
    /// Binds a REAL.
    inlay_bind_float(value: f32) Ok(value.into());
    /// Binds a DOUBLE.
    inlay_bind_double(value: f64) Ok(value.into());
    /// Binds a HUGEINT.
    inlay_bind_int128(value: inlay_int128) Ok(Value::HugeInt(value.into()));
    /// Binds a DECIMAL.
    inlay_bind_decimal(value: inlay_decimal) decimal_of(value);
    /// Binds a VARCHAR of so many bytes, which are copied; NULL is the empty text if size is 0.
    inlay_bind_text(text: Items<'_, c_char>, size: usize) Ok(text.text(size, "the text")?.into());
    /// Binds a BLOB of so many bytes, which are copied.
    inlay_bind_blob(data: Items<'_, c_char>, size: usize) Ok(data.bytes(size, "data")?.into());
    /// Binds a DATE.
    inlay_bind_date(value: inlay_date) value.value();
    /// Binds a TIME.
    inlay_bind_time(value: inlay_time) value.value();
    /// Binds a TIMESTAMP.
    inlay_bind_timestamp(value: inlay_timestamp) value.value();
    /// Binds a TIMESTAMP WITH TIME ZONE: microseconds since 1970-01-01 UTC.
    inlay_bind_timestamptz(micros: i64) crate::calendar::timestamptz(micros);
    /// Binds an INTERVAL.
    inlay_bind_interval(value: inlay_interval) Ok(Value::Interval(value.into()));
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

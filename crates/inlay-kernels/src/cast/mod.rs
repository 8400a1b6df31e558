//! Conversion of vectors and values between types.

use inlay_types::{Error, LogicalType, Result, Value, Vector};

/// Converts all rows of `input` to type `to`. What cannot be converted is an error, or NULL with `or_null` (TRY_CAST).
pub fn cast(input: &Vector, to: LogicalType, or_null: bool, out: &mut Vector) -> Result<()> {
    let _ = (input, or_null, out);
    Err(Error::internal(format!("cast to {to} is being written")))
}

/// Converts one value to type `to`; NULL stays NULL.
pub fn cast_value(value: &Value, to: LogicalType) -> Result<Value> {
    let one = Vector::constant(value.logical_type(), value, 1)?;
    let mut out = Vector::empty(to);
    cast(&one, to, false, &mut out)?;
    Ok(out.get(0))
}

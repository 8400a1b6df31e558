//! What each conversion means, for one value.

use super::{can_cast, no_cast};
use crate::parse::{self, ParseError};
use inlay_types::error::kept_text;
use inlay_types::nearest::{nearest_f32, nearest_f64, power_of_ten};
use inlay_types::{Error, LogicalType, Result, Value};

/// Converts one value to type `to`; NULL stays NULL.
pub fn cast_value(value: &Value, to: &LogicalType) -> Result<Value> {
    let from = value.logical_type();
    if from == *to || value.is_null() {
        return Ok(value.clone());
    }
    if !can_cast(&from, to) {
        return Err(no_cast(&from, to));
    }
    if super::nested::can_cast_special(&from, to).is_some() {
        return super::nested::cast_special(value, to);
    }
    if let Some(converted) = super::temporal::value_with(value, to, None) {
        return converted;
    }
    match value {
        Value::Varchar(text) => from_text(text, to),
        _ if *to == LogicalType::Varchar => Ok(Value::Varchar(value.to_string())),
        _ => number_to(value, to),
    }
}

pub(super) fn out_of_range(value: &Value, to: &LogicalType) -> Error {
    Error::out_of_range(format!("value {value} is out of range for {to}"))
}

fn invalid(text: &str, to: &LogicalType) -> Error {
    Error::InvalidCast { value: kept_text(text), to: to.to_string() }
}

/// A number as what converts without loss.
enum Number {
    /// `unscaled / 10^scale`
    Scaled(i128, u8),
    Unsigned(u128),
    Float(f64),
}

fn number_of(value: &Value) -> Option<Number> {
    Some(match value {
        Value::Boolean(b) => Number::Scaled(i128::from(*b), 0),
        Value::Real(v) => Number::Float(f64::from(*v)),
        Value::Double(v) => Number::Float(*v),
        Value::Decimal { unscaled, scale, .. } => Number::Scaled(*unscaled, *scale),
        Value::UHugeInt(v) => Number::Unsigned(*v),
        other => Number::Scaled(other.as_i128()?, 0),
    })
}

fn number_to(value: &Value, to: &LogicalType) -> Result<Value> {
    let Some(number) = number_of(value) else { return Err(no_cast(&value.logical_type(), to)) };
    let beyond = || out_of_range(value, to);
    match to {
        LogicalType::Boolean => Ok(Value::Boolean(match number {
            Number::Scaled(unscaled, _) => unscaled != 0,
            Number::Unsigned(v) => v != 0,
            Number::Float(v) => v != 0.0,
        })),
        LogicalType::Double => Ok(Value::Double(float_of(&number))),
        LogicalType::Real => {
            let double = float_of(&number);
            let real = match (value, &number) {
                (Value::Real(v), _) => *v,
                (Value::Decimal { .. }, Number::Scaled(unscaled, scale)) => nearest_f32(*unscaled, *scale),
                _ => double as f32,
            };
            if real.is_infinite() && double.is_finite() { Err(beyond()) } else { Ok(Value::Real(real)) }
        }
        LogicalType::Decimal { precision, scale } => {
            let unscaled = match number {
                Number::Scaled(unscaled, own) => rescale(unscaled, own, *scale),
                Number::Unsigned(v) => i128::try_from(v).ok().and_then(|v| rescale(v, 0, *scale)),
                Number::Float(v) => float_to_scaled(v, *scale),
            };
            let limit = 10u128.pow(u32::from(*precision));
            let unscaled = unscaled.filter(|v| v.unsigned_abs() < limit).ok_or_else(beyond)?;
            Ok(Value::Decimal { unscaled, precision: *precision, scale: *scale })
        }
        LogicalType::UHugeInt => {
            let whole = match number {
                Number::Scaled(unscaled, own) => {
                    rescale(unscaled, own, 0).and_then(|v| u128::try_from(v).ok())
                }
                Number::Unsigned(v) => Some(v),
                Number::Float(v) => {
                    let v = v.round_ties_even();
                    (v >= 0.0 && v < 2f64.powi(128)).then_some(v as u128)
                }
            };
            whole.map(Value::UHugeInt).ok_or_else(beyond)
        }
        _ => {
            let whole = match number {
                Number::Scaled(unscaled, own) => rescale(unscaled, own, 0),
                Number::Unsigned(v) => i128::try_from(v).ok(),
                Number::Float(v) => {
                    let v = v.round_ties_even();
                    (v >= -(2f64.powi(127)) && v < 2f64.powi(127)).then_some(v as i128)
                }
            };
            whole.and_then(|v| Value::from_stored_i128(to, v)).ok_or_else(beyond)
        }
    }
}

fn float_of(number: &Number) -> f64 {
    match number {
        Number::Scaled(unscaled, scale) => nearest_f64(*unscaled, *scale),
        Number::Unsigned(v) => *v as f64,
        Number::Float(v) => *v,
    }
}

/// From one scale to another, rounding half away from zero.
pub fn rescale(unscaled: i128, from: u8, to: u8) -> Option<i128> {
    if to >= from {
        return unscaled.checked_mul(10i128.checked_pow(u32::from(to - from))?);
    }
    let divisor = 10i128.pow(u32::from(from - to));
    let (quotient, rest) = (unscaled / divisor, unscaled % divisor);
    let away = i128::from(rest.abs() >= divisor / 2 && rest != 0);
    Some(quotient + if unscaled < 0 { -away } else { away })
}

/// A float times `10^scale`, rounded half away from zero.
pub(super) fn float_to_scaled(value: f64, scale: u8) -> Option<i128> {
    let scaled = (value * power_of_ten(scale)).round();
    (scaled.abs() < 1e38).then_some(scaled as i128)
}

fn from_text(text: &str, to: &LogicalType) -> Result<Value> {
    let bytes = text.as_bytes();
    let parsed = match to {
        LogicalType::Boolean => parse::boolean(bytes).map(Value::Boolean),
        LogicalType::Double => parse::double(bytes).map(Value::Double),
        LogicalType::Real => parse::real(bytes).map(Value::Real),
        LogicalType::Date => parse::date(bytes).map(Value::Date),
        LogicalType::Time => parse::time(bytes).map(Value::Time),
        LogicalType::Timestamp => parse::timestamp(bytes).map(Value::Timestamp),
        LogicalType::TimestampS => parse::timestamp_seconds(bytes).map(Value::TimestampS),
        LogicalType::TimestampMs => parse::timestamp_millis(bytes).map(Value::TimestampMs),
        LogicalType::TimestampNs => parse::timestamp_nanos(bytes).map(Value::TimestampNs),
        LogicalType::Interval => parse::interval(bytes).map(Value::Interval),
        LogicalType::Blob => blob(bytes).map(Value::Blob),
        LogicalType::Varchar => Some(Value::Varchar(text.to_string())),
        LogicalType::UHugeInt => {
            return parse::unsigned(bytes).map(Value::UHugeInt).map_err(|error| parse_error(error, text, to));
        }
        LogicalType::Decimal { precision, scale } => {
            let unscaled =
                parse::decimal(bytes, *precision, *scale).map_err(|error| parse_error(error, text, to))?;
            Some(Value::Decimal { unscaled, precision: *precision, scale: *scale })
        }
        _ => {
            let number = parse::int(bytes).map_err(|error| parse_error(error, text, to))?;
            let value = Value::from_stored_i128(to, number);
            return value.ok_or_else(|| parse_error(ParseError::OutOfRange, text, to));
        }
    };
    parsed.ok_or_else(|| invalid(text, to))
}

fn parse_error(error: ParseError, text: &str, to: &LogicalType) -> Error {
    match error {
        ParseError::Malformed => invalid(text, to),
        ParseError::OutOfRange => {
            Error::out_of_range(format!("value {} is out of range for {to}", text.trim()))
        }
    }
}

/// Bytes from text: `\xAB` is a byte, other characters are ASCII.
pub(super) fn blob(text: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let [byte, tail @ ..] = rest {
        rest = tail;
        match (byte, tail) {
            (b'\\', [b'x', high, low, after @ ..]) => {
                let digit = |b: &u8| (*b as char).to_digit(16);
                bytes.push((digit(high)? * 16 + digit(low)?) as u8);
                rest = after;
            }
            (b'\\', _) => return None,
            (byte, _) if byte.is_ascii() => bytes.push(*byte),
            _ => return None,
        }
    }
    Some(bytes)
}

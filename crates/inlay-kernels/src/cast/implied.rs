//! Texts that become numbers where nobody wrote a CAST: `id = '7.5'`, `INSERT INTO t VALUES ('7.5')`.
//!
//! A CAST rounds what it is asked to round. Here a text stands for a number of the type, and one that is none is an error, as a
//! word would be: else `id = '7.5'` finds row 8. Likewise a struct on its way into a column loses no field there.

use super::{cast_value, cast_value_in_zone, cast_with};
use crate::function::{NullHandling, ScalarFunction, ScalarKernel, Volatility};
use crate::parse::fraction_digits;
use crate::zone::Zone;
use inlay_types::error::kept_text;
use inlay_types::{Error, Field, LogicalType, Result, Value, Vector};
use std::sync::Arc;

/// Like [`cast_value_in_zone`], but a text that would be rounded to an integer is an error.
pub fn implied_value_in_zone(value: &Value, to: &LogicalType, zone: &Zone) -> Result<Value> {
    match value {
        Value::Varchar(text) if is_rounded(text.as_bytes(), to) => Err(rounded(text, to)),
        _ => cast_value_in_zone(value, to, zone),
    }
}

/// Like [`cast_value`], but a text that would be rounded to an integer is an error, and so is a struct that would lose a field.
pub fn implied_value(value: &Value, to: &LogicalType) -> Result<Value> {
    if let Some(field) = lost_field(&value.logical_type(), to) {
        return Err(loses(&field, to));
    }
    match value {
        Value::Varchar(text) if is_rounded(text.as_bytes(), to) => Err(rounded(text, to)),
        _ => cast_value(value, to),
    }
}

/// The conversion of texts to integers that rounds none; `None` between other types, for which a plain cast does.
pub fn implied(from: &LogicalType, to: &LogicalType) -> Option<ScalarFunction> {
    if *from != LogicalType::Varchar || !to.is_integer() {
        return None;
    }
    let target = to.clone();
    let kernel = move |args: &[&Vector], _: usize, out: &mut Vector| implied_vector(args[0], &target, out);
    let kernel: Arc<dyn ScalarKernel> = Arc::new(kernel);
    Some(ScalarFunction {
        name: "whole_number_of_text".into(),
        arg_types: vec![from.clone()],
        return_type: to.clone(),
        null_handling: NullHandling::Propagate,
        volatility: Volatility::Immutable,
        can_fail: true,
        kernel,
        specialize: None,
        external: None,
    })
}

/// All rows of a vector of texts, of which none may be rounded.
pub fn implied_vector(input: &Vector, to: &LogicalType, out: &mut Vector) -> Result<()> {
    cast_with(input, to, false, None, out)?;
    if !to.is_integer() {
        return Ok(());
    }
    let texts = input.flatten();
    let heap = texts.heap().buffers();
    for (row, view) in texts.views().iter().enumerate() {
        let bytes = view.bytes(heap);
        if !texts.is_null(row) && is_rounded(bytes, to) {
            return Err(rounded(&String::from_utf8_lossy(bytes), to));
        }
    }
    Ok(())
}

/// Whether a number has digits behind the point that numbers of the type do not have.
fn is_rounded(text: &[u8], to: &LogicalType) -> bool {
    to.is_integer() && fraction_digits(text) > 0
}

fn rounded(text: &str, to: &LogicalType) -> Error {
    Error::InvalidCast { value: kept_text(text), to: to.to_string() }
}

/// The name of a field of `from` that `to` does not have, so that a cast leaves it out.
pub fn lost_field(from: &LogicalType, to: &LogicalType) -> Option<String> {
    use LogicalType::{Array, List, Map, Struct};
    match (from, to) {
        (List(from) | Array(from, _), List(to) | Array(to, _)) => lost_field(from, to),
        (Map(from), Map(to)) => lost_field(&from.0, &to.0).or_else(|| lost_field(&from.1, &to.1)),
        (Struct(from), Struct(to)) => {
            let is_unnamed = |fields: &[Field]| fields.iter().all(|field| field.name.is_empty());
            if is_unnamed(from) || is_unnamed(to) {
                return from.iter().zip(to.iter()).find_map(|(from, to)| lost_field(&from.ty, &to.ty));
            }
            from.iter().find_map(|field| {
                match to.iter().find(|target| target.name.eq_ignore_ascii_case(&field.name)) {
                    Some(target) => lost_field(&field.ty, &target.ty),
                    None => Some(field.name.to_string()),
                }
            })
        }
        _ => None,
    }
}

/// The error for a struct that has a field more than the type that it goes into.
pub fn loses(field: &str, to: &LogicalType) -> Error {
    let message = format!("field \"{field}\" of the struct has no place in {to}");
    Error::type_mismatch(message).with_hint("a CAST to that type leaves it out")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_numbers_become_integers() {
        let read = |text: &str| implied_value(&Value::from(text), &LogicalType::Integer);
        for whole in ["7", " 7", "7.0", "7.", "70e-1", "0.7e1", "+7", "0x7"] {
            assert_eq!(read(whole).unwrap(), Value::Integer(7), "{whole:?}");
        }
        assert_eq!(read("0.000").unwrap(), Value::Integer(0));
        for wrong in ["7.5", "7.0001", "75e-1", "0.5", "", "seven", "1e-3"] {
            assert!(read(wrong).is_err(), "{wrong:?}");
        }
        let texts = Vector::from_sql_values(LogicalType::Varchar, &["7".into(), Value::Null, "7.5".into()]);
        let mut out = Vector::empty(LogicalType::BigInt);
        let error = implied_vector(&texts.unwrap(), &LogicalType::BigInt, &mut out).unwrap_err();
        assert_eq!(error.message(), "could not convert '7.5' to BIGINT");
    }
}

//! Texts that become numbers where nobody wrote a CAST: `id = '7.5'`, `INSERT INTO t VALUES ('7.5')`.
//!
//! A CAST rounds what it is asked to round. Here a text stands for a number of the type, and one that is none is an error, as a
//! word would be: else `id = '7.5'` finds row 8. That holds for texts inside of lists, structs and maps, too. Likewise a struct on
//! its way into a column loses no field there.

use super::{cast_value_in_zone, cast_with, nested_text};
use crate::function::{NullHandling, ScalarFunction, ScalarKernel, Volatility};
use crate::parse::fraction_digits;
use crate::zone::Zone;
use inlay_types::error::kept_text;
use inlay_types::{Error, Field, LogicalType, Result, Value, Vector};
use std::sync::Arc;

/// Like [`cast_value_in_zone`], but a text that would be rounded to an integer is an error.
pub fn implied_value_in_zone(value: &Value, to: &LogicalType, zone: &Zone) -> Result<Value> {
    check_value(value, to)?;
    cast_value_in_zone(value, to, zone)
}

/// Like [`implied_value_in_zone`]; a struct that would lose a field is an error, too.
pub fn implied_value(value: &Value, to: &LogicalType, zone: &Zone) -> Result<Value> {
    if let Some(field) = lost_field(&value.logical_type(), to) {
        return Err(loses(&field, to));
    }
    implied_value_in_zone(value, to, zone)
}

/// What looks at values with texts in them on their way to a nested type with integers, and gives them back as they are; `None`
/// where no text could be rounded.
pub fn whole_numbers(from: &LogicalType, to: &LogicalType) -> Option<ScalarFunction> {
    if !to.is_nested() || !may_round(from, to) {
        return None;
    }
    let target = to.clone();
    let kernel = move |args: &[&Vector], _: usize, out: &mut Vector| {
        check_vector(args[0], &target)?;
        *out = args[0].clone();
        Ok(())
    };
    Some(conversion("whole_numbers_of_texts", (from, from), Arc::new(kernel)))
}

/// The conversion of texts to integers that rounds none; `None` between other types, for which a plain cast does.
pub fn implied(from: &LogicalType, to: &LogicalType) -> Option<ScalarFunction> {
    if *from != LogicalType::Varchar || !to.is_integer() {
        return None;
    }
    let target = to.clone();
    let kernel = move |args: &[&Vector], _: usize, out: &mut Vector| implied_vector(args[0], &target, out);
    Some(conversion("whole_number_of_text", (from, to), Arc::new(kernel)))
}

/// A conversion that refuses what would be rounded.
fn conversion(
    name: &'static str,
    (from, to): (&LogicalType, &LogicalType),
    kernel: Arc<dyn ScalarKernel>,
) -> ScalarFunction {
    ScalarFunction {
        name: name.into(),
        arg_types: vec![from.clone()],
        return_type: to.clone(),
        null_handling: NullHandling::Propagate,
        volatility: Volatility::Immutable,
        can_fail: true,
        kernel,
        specialize: None,
        external: None,
    }
}

/// All rows of a vector of texts, of which none may be rounded.
pub fn implied_vector(input: &Vector, to: &LogicalType, out: &mut Vector) -> Result<()> {
    cast_with(input, to, false, None, out)?;
    check_vector(input, to)
}

/// Fails if a text in one of the rows would be rounded.
fn check_vector(input: &Vector, to: &LogicalType) -> Result<()> {
    if !may_round(input.ty(), to) {
        return Ok(());
    }
    if to.is_nested() {
        let rows = if input.is_constant() { input.len().min(1) } else { input.len() };
        return (0..rows).try_for_each(|row| check_value(&input.get(row), to));
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

/// Fails if a text in a value would be rounded.
fn check_value(value: &Value, to: &LogicalType) -> Result<()> {
    if let Value::Varchar(text) = value
        && to.is_nested()
        && may_round(&LogicalType::Varchar, to)
    {
        // What is no value of the type is for the cast to say.
        let parts = nested_text::parse(text, &integers_as_texts(to));
        return parts.map_or(Ok(()), |parts| check_value(&parts, to));
    }
    rounded_part(value, to).map_or(Ok(()), |(text, ty)| Err(rounded(text, ty)))
}

/// Whether values of a type may have texts where those of the other have integers.
fn may_round(from: &LogicalType, to: &LogicalType) -> bool {
    use LogicalType::{Array, List, Map, Struct, Varchar};
    match (from, to) {
        (Varchar, to) => integers_as_texts(to) != *to,
        (List(from) | Array(from, _), List(to) | Array(to, _)) => may_round(from, to),
        (Map(from), Map(to)) => may_round(&from.0, &to.0) || may_round(&from.1, &to.1),
        (Struct(from), Struct(to)) => from
            .iter()
            .enumerate()
            .any(|(at, from)| target(to, from, at).is_some_and(|to| may_round(&from.ty, to))),
        (Struct(from), Map(to)) => from.iter().any(|from| may_round(&from.ty, &to.1)),
        _ => false,
    }
}

/// The type that a field of a struct, at its place, becomes in another.
fn target<'t>(to: &'t [Field], field: &Field, at: usize) -> Option<&'t LogicalType> {
    let found = match field.name.is_empty() || to.iter().all(|to| to.name.is_empty()) {
        true => to.get(at),
        false => to.iter().find(|to| to.name.eq_ignore_ascii_case(&field.name)),
    };
    found.map(|to| &to.ty)
}

/// A type with VARCHAR in the place of integers. The members of a union are no parts here: a text is of the first one that it is a
/// value of.
fn integers_as_texts(ty: &LogicalType) -> LogicalType {
    let field = |field: &Field| Field::new(Arc::clone(&field.name), integers_as_texts(&field.ty));
    match ty {
        ty if ty.is_integer() => LogicalType::Varchar,
        LogicalType::List(element) => LogicalType::list(integers_as_texts(element)),
        LogicalType::Array(element, size) => LogicalType::array(integers_as_texts(element), *size),
        LogicalType::Struct(fields) => LogicalType::Struct(fields.iter().map(field).collect()),
        LogicalType::Map(types) => LogicalType::map(integers_as_texts(&types.0), integers_as_texts(&types.1)),
        other => other.clone(),
    }
}

/// The first text in a value that would be rounded, and to what.
fn rounded_part<'v>(value: &'v Value, to: &'v LogicalType) -> Option<(&'v str, &'v LogicalType)> {
    use LogicalType::{Array, List, Map, Struct};
    match (value, to) {
        (Value::Varchar(text), to) => is_rounded(text.as_bytes(), to).then_some((text, to)),
        (Value::List { values, .. } | Value::Array { values, .. }, List(to) | Array(to, _)) => {
            values.iter().find_map(|value| rounded_part(value, to))
        }
        (Value::Struct { fields, values }, Struct(to)) => fields
            .iter()
            .zip(values)
            .enumerate()
            .find_map(|(at, (field, value))| rounded_part(value, target(to, field, at)?)),
        (Value::Struct { values, .. }, Map(to)) => values.iter().find_map(|value| rounded_part(value, &to.1)),
        (Value::Map { entries, .. }, Map(to)) => entries
            .iter()
            .find_map(|(key, value)| rounded_part(key, &to.0).or_else(|| rounded_part(value, &to.1))),
        _ => None,
    }
}

/// Whether a number has digits behind the point that numbers of the type do not have.
pub(super) fn is_rounded(text: &[u8], to: &LogicalType) -> bool {
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
    use crate::cast::cast_value;

    #[test]
    fn only_whole_numbers_become_integers() {
        let read = |text: &str| implied_value(&Value::from(text), &LogicalType::Integer, &Zone::utc());
        for whole in ["7", " 7", "7.0", "7.", "70e-1", "0.7e1", "+7", "0x7"] {
            assert_eq!(read(whole).unwrap(), Value::Integer(7), "{whole:?}");
        }
        assert_eq!(read("0.000").unwrap(), Value::Integer(0));
        for wrong in ["7.5", "7.0001", "75e-1", "0.5", "", "seven", "1e-3"] {
            assert!(read(wrong).is_err(), "{wrong:?}");
        }
        let list = LogicalType::list(LogicalType::Integer);
        let nested = LogicalType::structure([("n", LogicalType::Integer), ("l", list.clone())]);
        for (text, ty) in [("[1, 2.5]", &list), ("{n: 1, l: [7, 0.1]}", &nested), ("{'n': '1.5'}", &nested)] {
            assert!(implied_value(&Value::from(text), ty, &Zone::utc()).is_err(), "{text}");
            assert!(cast_value(&Value::from(text), ty).is_ok(), "{text}");
        }
        assert!(implied_value(&Value::from("{n: 7.0, l: [8., NULL]}"), &nested, &Zone::utc()).is_ok());
        let texts = Vector::from_sql_values(LogicalType::Varchar, &["7".into(), Value::Null, "7.5".into()]);
        let mut out = Vector::empty(LogicalType::BigInt);
        let error = implied_vector(&texts.unwrap(), &LogicalType::BigInt, &mut out).unwrap_err();
        assert_eq!(error.message(), "could not convert '7.5' to BIGINT");
    }
}

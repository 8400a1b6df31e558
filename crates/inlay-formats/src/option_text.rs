//! Lists, names with types, and paths as they are written in the arguments of table functions and COPY.
//!
//! A list may be bare (`a, b`), or written as in SQL (`['a', 'b']`); names with types as `a INTEGER, b DATE`,
//! `a: INTEGER` or `{'a': 'INTEGER'}`.

use inlay_catalog::near_names;
use inlay_types::logical_type::Field;
use inlay_types::{Error, LogicalType, Result, Value};
use std::sync::Arc;

/// The error for an option that `what` does not have.
pub(crate) fn unknown_option(what: &str, name: &str, known: &[&str]) -> Error {
    let near = near_names(name, known.iter().copied());
    let hint = if near.is_empty() {
        format!("it has {}", known.join(", "))
    } else {
        format!("did you mean {}?", near.join(" or "))
    };
    Error::invalid_argument(format!("{what} has no option \"{name}\"; {hint}"))
}

/// The items of a list; quotes around an item and brackets around the list are taken off.
pub fn list(text: &str) -> Vec<String> {
    split(unbracketed(text), &[',']).into_iter().map(|item| unquoted(item).to_string()).collect()
}

/// Pairs of name and type; `None` as name where only a type is written.
pub(crate) fn typed_names(text: &str) -> Result<Vec<(Option<String>, LogicalType)>> {
    let mut pairs = Vec::new();
    for item in split(unbracketed(text), &[',']) {
        if let Some(ty) = logical_type(unquoted(item)) {
            pairs.push((None, ty));
            continue;
        }
        let parts = split(item, &[':', '=']);
        let (name, ty) = match &parts[..] {
            [name, ty] => (*name, unquoted(ty)),
            _ => item.split_once(' ').unwrap_or((item, "")),
        };
        let ty = logical_type(ty.trim()).ok_or_else(|| unknown_type(item))?;
        pairs.push((Some(unquoted(name).to_string()), ty));
    }
    Ok(pairs)
}

/// As [`typed_names`], of an argument that may also be a struct of types or a list of them.
pub(crate) fn columns_of(name: &str, value: &Value) -> Result<Vec<(Option<String>, LogicalType)>> {
    let typed = |name: Option<String>, ty: &Value| match ty.as_str().map(|text| (text, logical_type(text))) {
        Some((_, Some(ty))) => Ok((name, ty)),
        _ => Err(unknown_type(&ty.to_string())),
    };
    match value {
        Value::Struct { fields, values } => {
            fields.iter().zip(values).map(|(field, ty)| typed(Some(field.name.to_string()), ty)).collect()
        }
        Value::Map { entries, .. } => {
            entries.iter().map(|(key, ty)| typed(Some(key.to_string()), ty)).collect()
        }
        Value::List { values, .. } => values.iter().map(|ty| typed(None, ty)).collect(),
        other => typed_names(text(name, other)?),
    }
}

/// The items of an argument that is a list, or a text as [`list`] reads it.
pub(crate) fn texts_of(name: &str, value: &Value) -> Result<Vec<String>> {
    match value {
        Value::List { values, .. } => values.iter().map(|item| Ok(text(name, item)?.to_string())).collect(),
        other => Ok(list(text(name, other)?)),
    }
}

fn unknown_type(item: &str) -> Error {
    Error::invalid_argument(format!(
        "cannot read \"{item}\" as a column type; write types like 'a INTEGER, b DATE'"
    ))
}

fn unbracketed(text: &str) -> &str {
    let text = text.trim();
    let pair = |open, close| text.strip_prefix(open).and_then(|rest: &str| rest.strip_suffix(close));
    pair('[', ']').or_else(|| pair('{', '}')).unwrap_or(text).trim()
}

fn unquoted(text: &str) -> &str {
    let text = text.trim();
    let pair = |quote| text.strip_prefix(quote).and_then(|rest: &str| rest.strip_suffix(quote));
    pair('\'').or_else(|| pair('"')).unwrap_or(text)
}

/// Splits at separators that are outside of quotes and parentheses; an empty text has no items.
fn split<'a>(text: &'a str, separators: &[char]) -> Vec<&'a str> {
    let (mut items, mut from, mut depth, mut quote) = (Vec::new(), 0, 0, None);
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (Some(open), _) if c == open => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(c),
            (None, '(' | '[') => depth += 1,
            (None, ')' | ']') => depth -= 1,
            (None, _) if depth == 0 && separators.contains(&c) => {
                items.push(text[from..at].trim());
                from = at + c.len_utf8();
            }
            (None, _) => {}
        }
    }
    if !text[from..].trim().is_empty() || !items.is_empty() {
        items.push(text[from..].trim());
    }
    items
}

/// `INTEGER[]`, `STRUCT(a INTEGER, b VARCHAR)`, `MAP(VARCHAR, INTEGER)`.
fn nested_type(name: &str) -> Option<LogicalType> {
    if let Some((element, size)) = name.strip_suffix(']').and_then(|rest| rest.rsplit_once('[')) {
        let element = logical_type(element)?;
        return match size.trim() {
            "" => Some(LogicalType::list(element)),
            size => Some(LogicalType::Array(element.into(), size.parse().ok().filter(|size| *size > 0)?)),
        };
    }
    let (base, parts) = name.strip_suffix(')')?.split_once('(')?;
    let parts = split(parts, &[',']);
    match base.trim().to_ascii_lowercase().as_str() {
        "struct" | "row" => {
            let field = |part: &&str| {
                let at = match part.strip_prefix('"') {
                    Some(rest) => rest.find('"')? + 2,
                    None => part.find(char::is_whitespace)?,
                };
                let (name, ty) = part.split_at(at);
                Some(Field::new(unquoted(name).to_string(), logical_type(ty)?))
            };
            Some(LogicalType::Struct(parts.iter().map(field).collect::<Option<_>>()?))
        }
        "map" => match parts.as_slice() {
            [key, value] => Some(LogicalType::Map(Arc::new((logical_type(key)?, logical_type(value)?)))),
            _ => None,
        },
        _ => None,
    }
}

/// The type that a name such as `decimal(15, 2)` or `varchar(10)` means.
pub fn logical_type(name: &str) -> Option<LogicalType> {
    if let Some(ty) = nested_type(name.trim()) {
        return Some(ty);
    }
    let name = name.trim().to_ascii_lowercase();
    let (base, arguments) = match name.split_once('(') {
        Some((base, rest)) => (base.trim(), Some(rest.strip_suffix(')')?)),
        None => (name.as_str(), None),
    };
    if matches!(base, "decimal" | "numeric" | "dec") {
        let mut numbers = arguments.unwrap_or("18,3").split(',').map(|n| n.trim().parse::<u8>().ok());
        let (precision, scale) = (numbers.next()??, numbers.next().unwrap_or(Some(0))?);
        let fits = (1..=38).contains(&precision) && scale <= precision && numbers.next().is_none();
        return fits.then_some(LogicalType::decimal(precision, scale));
    }
    if arguments.is_some()
        && !matches!(base, "varchar" | "char" | "bpchar" | "character" | "character varying")
    {
        return None;
    }
    Some(match base {
        "boolean" | "bool" | "logical" => LogicalType::Boolean,
        "tinyint" | "int1" => LogicalType::TinyInt,
        "smallint" | "int2" | "short" => LogicalType::SmallInt,
        "integer" | "int" | "int4" | "signed" => LogicalType::Integer,
        "bigint" | "int8" | "long" => LogicalType::BigInt,
        "hugeint" | "int128" => LogicalType::HugeInt,
        "utinyint" | "uint8" => LogicalType::UTinyInt,
        "usmallint" | "uint16" => LogicalType::USmallInt,
        "uinteger" | "uint32" => LogicalType::UInteger,
        "ubigint" | "uint64" => LogicalType::UBigInt,
        "uhugeint" | "uint128" => LogicalType::UHugeInt,
        "real" | "float4" | "float" => LogicalType::Real,
        "double" | "float8" | "double precision" => LogicalType::Double,
        "varchar" | "text" | "string" | "char" | "bpchar" | "character" | "character varying" => {
            LogicalType::Varchar
        }
        "blob" | "bytea" | "binary" | "varbinary" => LogicalType::Blob,
        "date" => LogicalType::Date,
        "time" | "time without time zone" => LogicalType::Time,
        "timestamp" | "datetime" | "timestamp without time zone" => LogicalType::Timestamp,
        "interval" => LogicalType::Interval,
        _ => return None,
    })
}

/// A BOOLEAN argument; 0, 1 and the words are accepted too.
pub(crate) fn boolean(name: &str, value: &Value) -> Result<bool> {
    let read = match value {
        Value::Boolean(b) => Some(*b),
        Value::Varchar(text) => match text.to_ascii_lowercase().as_str() {
            "true" | "on" | "1" | "" => Some(true),
            "false" | "off" | "0" => Some(false),
            _ => None,
        },
        other => other.as_i128().map(|v| v != 0),
    };
    read.ok_or_else(|| {
        Error::invalid_argument(format!("parameter \"{name}\" takes true or false, not {value}"))
    })
}

/// An integer argument.
pub(crate) fn integer(name: &str, value: &Value) -> Result<i64> {
    let read = match value {
        Value::Varchar(text) => text.trim().parse().ok(),
        other => other.as_i128().and_then(|v| i64::try_from(v).ok()),
    };
    read.ok_or_else(|| Error::invalid_argument(format!("parameter \"{name}\" takes an integer, not {value}")))
}

/// A VARCHAR argument.
pub(crate) fn text<'a>(name: &str, value: &'a Value) -> Result<&'a str> {
    value
        .as_str()
        .ok_or_else(|| Error::invalid_argument(format!("parameter \"{name}\" takes a text, not {value}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_read_in_every_notation() {
        let expected = vec![
            (Some("a".to_string()), LogicalType::Integer),
            (Some("b c".to_string()), LogicalType::decimal(15, 2)),
        ];
        for text in ["{'a': 'INTEGER', 'b c': 'DECIMAL(15,2)'}", "a: int, \"b c\": decimal(15, 2)"] {
            assert_eq!(typed_names(text), Ok(expected.clone()), "{text}");
        }
        assert_eq!(
            typed_names("a INTEGER, b VARCHAR(10)"),
            Ok(vec![(Some("a".into()), LogicalType::Integer), (Some("b".into()), LogicalType::Varchar)])
        );
        assert_eq!(
            typed_names("['DATE', bigint]"),
            Ok(vec![(None, LogicalType::Date), (None, LogicalType::BigInt)])
        );
        assert_eq!(list("['x,y', z]"), ["x,y", "z"]);
        assert_eq!(list(""), [] as [&str; 0]);
        assert!(typed_names("a: NOTYPE").is_err() && typed_names("decimal(40,2)").is_err());
    }
}

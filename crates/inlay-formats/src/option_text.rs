//! Lists, names with types, and paths as they are written in the arguments of table functions and COPY.
//!
//! A list may be bare (`a, b`), or written as in SQL (`['a', 'b']`); names with types as `a INTEGER, b DATE`,
//! `a: INTEGER` or `{'a': 'INTEGER'}`.

use inlay_catalog::TypeNames;
use inlay_types::candidates::Candidates;
use inlay_types::logical_type::Field;
use inlay_types::{Error, LogicalType, Result, Value};

/// The error for an option that `what` does not have.
pub(crate) fn unknown_option(what: &str, name: &str, known: &[&str]) -> Error {
    let candidates = Candidates::of(name, known.iter().copied());
    Error::invalid_argument(format!("{what} has no option \"{name}\"{candidates}"))
}

/// The items of a list; quotes around an item and brackets around the list are taken off.
pub fn list(text: &str) -> Vec<String> {
    split(unbracketed(text), &[',']).into_iter().map(|item| unquoted(item).to_string()).collect()
}

/// A column's type, and its name where one is said.
pub(crate) type TypedName = (Option<String>, LogicalType);

/// Pairs of name and type; `None` as name where only a type is written.
pub(crate) fn typed_names(text: &str, types: &TypeNames<'_>) -> Result<Vec<TypedName>> {
    let mut pairs = Vec::new();
    for item in split(unbracketed(text), &[',']) {
        if let Ok(ty) = types(&unquoted_text(item)) {
            pairs.push((None, ty));
            continue;
        }
        let parts = split(item, &[':', '=']);
        let (name, ty) = match &parts[..] {
            [name, ty] => (*name, unquoted_text(ty)),
            _ => named_type(item),
        };
        let ty = types(ty.trim()).map_err(|error| unknown_type(item, &error))?;
        pairs.push((Some(unquoted(name).to_string()), ty));
    }
    Ok(pairs)
}

/// `a INTEGER`, `"a b" INTEGER`.
fn named_type(item: &str) -> (&str, String) {
    let end = match item.strip_prefix('"').and_then(|rest| rest.find('"')) {
        Some(inner) => inner + 2,
        None => item.find(char::is_whitespace).unwrap_or(item.len()),
    };
    let (name, ty) = item.split_at(end);
    (name, ty.to_string())
}

/// As [`typed_names`], of an argument that may also be a struct of types or a list of them. In the place of a type's name, a
/// NULL may stand that has the type.
pub(crate) fn columns_of(name: &str, value: &Value, types: &TypeNames<'_>) -> Result<Vec<TypedName>> {
    let typed = |name: Option<String>, ty: &Value| match ty.as_str() {
        Some(text) => Ok((name, types(text).map_err(|error| unknown_type(text, &error))?)),
        None => Err(Error::invalid_argument(format!("{ty} is no name of a type, such as 'INTEGER'"))),
    };
    match value {
        Value::Struct { fields, values } => {
            let column = |(field, value): (&Field, &Value)| match (value, &field.ty) {
                (Value::Null, ty) if *ty != LogicalType::Null => {
                    Ok((Some(field.name.to_string()), ty.clone()))
                }
                _ => typed(Some(field.name.to_string()), value),
            };
            fields.iter().zip(values).map(column).collect()
        }
        Value::Map { entries, .. } => {
            entries.iter().map(|(key, ty)| typed(Some(key.to_string()), ty)).collect()
        }
        Value::List { values, .. } => values.iter().map(|ty| typed(None, ty)).collect(),
        other => typed_names(text(name, other)?, types),
    }
}

/// The items of an argument that is a list, or a text as [`list`] reads it.
pub(crate) fn texts_of(name: &str, value: &Value) -> Result<Vec<String>> {
    match value {
        Value::List { values, .. } => values.iter().map(|item| Ok(text(name, item)?.to_string())).collect(),
        other => Ok(list(text(name, other)?)),
    }
}

fn unknown_type(item: &str, error: &Error) -> Error {
    Error::invalid_argument(format!("cannot read \"{item}\" as a column type ({error})"))
        .with_hint("write types like 'a INTEGER, b DATE'")
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

/// As [`unquoted`], of a text in which quotes are written twice.
fn unquoted_text(text: &str) -> String {
    let text = text.trim();
    let inner = unquoted(text);
    if inner.len() < text.len() && text.starts_with('\'') {
        inner.replace("''", "'")
    } else {
        inner.to_string()
    }
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

/// A BOOLEAN argument; 0, 1 and the words are accepted too.
pub fn boolean(name: &str, value: &Value) -> Result<bool> {
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

/// A number of bytes, or a text such as `128MB`.
pub(crate) fn size_of_text(name: &str, value: &Value) -> Result<usize> {
    let refused = || Error::invalid_argument(format!("{name} is a size such as '128MB', not {value}"));
    let Some(written) = value.as_str() else {
        return usize::try_from(integer(name, value)?).ok().filter(|&size| size > 0).ok_or_else(refused);
    };
    let written = written.trim().to_ascii_lowercase();
    let digits = written.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(written.len());
    let factor = match written[digits..].trim() {
        "" | "b" | "byte" | "bytes" => 1u64,
        "kb" => 1000,
        "mb" => 1_000_000,
        "gb" => 1_000_000_000,
        "kib" => 1 << 10,
        "mib" => 1 << 20,
        "gib" => 1 << 30,
        _ => return Err(refused()),
    };
    let size = written[..digits].parse::<f64>().map_err(|_| refused())? * factor as f64;
    if size >= 1.0 && size < usize::MAX as f64 { Ok(size as usize) } else { Err(refused()) }
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
    use inlay_sql::parser::parse_type;

    #[test]
    fn columns_are_read_in_every_notation() {
        let expected = vec![
            (Some("a".to_string()), LogicalType::Integer),
            (Some("b c".to_string()), LogicalType::decimal(15, 2)),
        ];
        for text in ["{'a': 'INTEGER', 'b c': 'DECIMAL(15,2)'}", "a: int, \"b c\": decimal(15, 2)"] {
            assert_eq!(typed_names(text, &parse_type), Ok(expected.clone()), "{text}");
        }
        assert_eq!(
            typed_names("a INTEGER, b VARCHAR(10)", &parse_type),
            Ok(vec![(Some("a".into()), LogicalType::Integer), (Some("b".into()), LogicalType::Varchar)])
        );
        assert_eq!(
            typed_names("['DATE', bigint]", &parse_type),
            Ok(vec![(None, LogicalType::Date), (None, LogicalType::BigInt)])
        );
        assert_eq!(list("['x,y', z]"), ["x,y", "z"]);
        assert_eq!(list(""), [] as [&str; 0]);
        assert!(typed_names("decimal(40,2)", &parse_type).is_err());
    }
}

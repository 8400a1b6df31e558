//! Values as SQL text that gives them again, for relations, which are texts.

use inlay::Value;
use inlay::types::LogicalType;
use std::fmt::Write as _;

/// The text of an expression without names that has this value and its type.
pub fn literal(value: &Value) -> String {
    match value {
        Value::Null => "NULL".to_string(),
        Value::Boolean(truth) => truth.to_string(),
        Value::Varchar(text) => quoted(text),
        // `- -5` would begin a comment.
        // Without a type, a number has the narrowest that holds it.
        Value::BigInt(number) if i32::try_from(*number).is_ok() => typed(value),
        Value::HugeInt(number) if i64::try_from(*number).is_ok() => typed(value),
        Value::Integer(_) | Value::BigInt(_) | Value::HugeInt(_) => match value.as_i128() {
            Some(number) if number < 0 => format!("({number})"),
            _ => value.to_string(),
        },
        Value::List { values, element } if values.is_empty() => format!("[]::{}[]", type_text(element)),
        Value::List { values, .. } | Value::Array { values, .. } => list(values),
        Value::Struct { fields, values } => {
            let parts = fields
                .iter()
                .zip(values)
                .map(|(field, value)| format!("{}: {}", quoted(&field.name), literal(value)));
            format!("{{{}}}", parts.collect::<Vec<_>>().join(", "))
        }
        Value::Map { entries, .. } => {
            let (keys, values): (Vec<Value>, Vec<Value>) = entries.iter().cloned().unzip();
            format!("map({}, {})", list(&keys), list(&values))
        }
        other => typed(other),
    }
}

fn typed(value: &Value) -> String {
    format!("{}::{}", quoted(&value.to_string()), type_text(&value.logical_type()))
}

fn list(values: &[Value]) -> String {
    format!("[{}]", values.iter().map(literal).collect::<Vec<_>>().join(", "))
}

fn type_text(ty: &LogicalType) -> String {
    if *ty == LogicalType::Null { "INTEGER".to_string() } else { ty.to_string() }
}

fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    let _ = write!(quoted, "'{}'", text.replace('\'', "''"));
    quoted
}

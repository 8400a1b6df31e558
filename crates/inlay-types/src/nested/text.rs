//! Nested values as text.
//!
//! `[1, NULL]`, `{'a': 1}`, `(1, x)`, `{k=v}`. Texts inside are quoted when they could be misread: when they are empty,
//! read as NULL, begin or end with a space, or hold one of `()[]{},:='"\`; quotes and backslashes in them get a backslash.

use crate::Value;
use std::fmt::Write;

/// Appends the text of a value that stands inside of another, or of a nested value.
pub fn write(out: &mut String, value: &Value) {
    match value {
        Value::List { values, .. } | Value::Array { values, .. } => {
            out.push('[');
            for (index, value) in values.iter().enumerate() {
                comma(out, index);
                write(out, value);
            }
            out.push(']');
        }
        Value::Struct { fields, values } if fields.iter().all(|f| f.name.is_empty()) => {
            out.push('(');
            for (index, value) in values.iter().enumerate() {
                comma(out, index);
                write(out, value);
            }
            // As in Python: brackets around one value alone mean nothing.
            out.push_str(if values.len() == 1 { ",)" } else { ")" });
        }
        Value::Struct { fields, values } => {
            out.push('{');
            for (index, (field, value)) in fields.iter().zip(values).enumerate() {
                comma(out, index);
                write_quoted(out, &field.name);
                out.push_str(": ");
                write(out, value);
            }
            out.push('}');
        }
        Value::Map { entries, .. } => {
            out.push('{');
            for (index, (key, value)) in entries.iter().enumerate() {
                comma(out, index);
                write(out, key);
                out.push('=');
                write(out, value);
            }
            out.push('}');
        }
        Value::Union { value, .. } => write(out, value),
        Value::Null => out.push_str("NULL"),
        Value::Json(text) => out.push_str(text),
        Value::Varchar(text) => write_text(out, text),
        other => write_text(out, &other.to_string()),
    }
}

fn comma(out: &mut String, index: usize) {
    if index > 0 {
        out.push_str(", ");
    }
}

/// Appends text as it stands inside a nested value: quoted when it could be misread.
pub fn write_text(out: &mut String, text: &str) {
    let is_special = |c: char| "()[]{},:='\"\\".contains(c);
    let has_edge = text.starts_with(|c: char| c.is_ascii_whitespace())
        || text.ends_with(|c: char| c.is_ascii_whitespace());
    if text.is_empty() || has_edge || text.eq_ignore_ascii_case("null") || text.contains(is_special) {
        write_quoted(out, text);
    } else {
        out.push_str(text);
    }
}

fn write_quoted(out: &mut String, text: &str) {
    out.push('\'');
    for c in text.chars() {
        if matches!(c, '\'' | '\\') {
            out.push('\\');
        }
        let _ = out.write_char(c);
    }
    out.push('\'');
}

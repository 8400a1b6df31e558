//! Nested values as text.
//!
//! `[1, NULL]`, `{'a': 1}`, `(1, x)`, `{k=v}`. Texts inside are quoted when they could be misread: when they are empty,
//! read as NULL, begin or end with a space, or hold one of `()[]{},:='"\`; quotes and backslashes in them get a backslash.

use super::read::{Sequence, StructLayout, map_parts, value};
use crate::digits::write_integer;
use crate::{LogicalType, Value};
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

/// Appends the text of a packed value, as [`write`] does of the value that it is.
pub fn write_packed(out: &mut String, ty: &LogicalType, bytes: Option<&[u8]>) {
    let Some(bytes) = bytes else { return out.push_str("NULL") };
    match ty {
        LogicalType::List(element) | LogicalType::Array(element, _) => {
            let list = Sequence::new(element, bytes);
            out.push('[');
            for index in 0..list.len() {
                comma(out, index);
                write_packed(out, element, list.get(index));
            }
            out.push(']');
        }
        LogicalType::Struct(fields) if !ty.is_tuple() => {
            let layout = StructLayout::new(fields);
            out.push('{');
            for (index, field) in fields.iter().enumerate() {
                comma(out, index);
                write_quoted(out, &field.name);
                out.push_str(": ");
                write_packed(out, &field.ty, layout.field(bytes, index));
            }
            out.push('}');
        }
        LogicalType::Map(types) => {
            let (keys, values) = map_parts(types, bytes);
            out.push('{');
            for index in 0..keys.len().min(values.len()) {
                comma(out, index);
                write_packed(out, &types.0, keys.get(index));
                out.push('=');
                write_packed(out, &types.1, values.get(index));
            }
            out.push('}');
        }
        LogicalType::Varchar => write_text(out, std::str::from_utf8(bytes).unwrap_or_default()),
        LogicalType::Integer => {
            write_integer(out, bytes.first_chunk().map_or(0, |b| i32::from_le_bytes(*b)).into())
        }
        LogicalType::BigInt => write_integer(out, bytes.first_chunk().map_or(0, |b| i64::from_le_bytes(*b))),
        other => write(out, &value(other, bytes)),
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

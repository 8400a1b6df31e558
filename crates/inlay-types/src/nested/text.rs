//! Nested values as text.
//!
//! `[1, NULL]`, `{'a': 1}`, `(1, x)`, `{k=v}`. Texts inside are quoted when they could be misread: when they are empty,
//! read as NULL, begin or end with a space, or hold one of `()[]{},:='"\`; quotes and backslashes in them get a backslash.

use super::read::{Sequence, StructLayout, map_parts, sixteen, value};
use crate::digits::write_integer;
use crate::value::{write_decimal, write_float};
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

/// How packed values of a type are written, as [`write`] does of the values that they are.
pub enum Writer {
    /// `[1, NULL]`
    List(LogicalType, Box<Writer>),
    /// `{'a': 1}`: names in quotes with a colon.
    Struct(StructLayout, Vec<(String, Writer)>),
    /// `{k=v}`
    Map(Box<(LogicalType, LogicalType)>, Box<(Writer, Writer)>),
    /// VARCHAR.
    Text,
    /// INTEGER.
    Integer,
    /// BIGINT.
    BigInt,
    /// DOUBLE.
    Double,
    /// DECIMAL of a scale.
    Decimal(u8),
    /// BOOLEAN.
    Boolean,
    /// Whatever else: by its value.
    Other(LogicalType),
}

impl Writer {
    /// Of values of a type.
    pub fn of(ty: &LogicalType) -> Self {
        match ty {
            LogicalType::List(element) | LogicalType::Array(element, _) => {
                Self::List((**element).clone(), Box::new(Self::of(element)))
            }
            LogicalType::Struct(fields) if !ty.is_tuple() => {
                let named = fields.iter().enumerate().map(|(index, field)| {
                    let mut name = String::new();
                    comma(&mut name, index);
                    write_quoted(&mut name, &field.name);
                    name.push_str(": ");
                    (name, Self::of(&field.ty))
                });
                Self::Struct(StructLayout::new(fields), named.collect())
            }
            LogicalType::Map(types) => {
                Self::Map(Box::new((**types).clone()), Box::new((Self::of(&types.0), Self::of(&types.1))))
            }
            LogicalType::Varchar => Self::Text,
            LogicalType::Integer => Self::Integer,
            LogicalType::BigInt => Self::BigInt,
            LogicalType::Double => Self::Double,
            LogicalType::Decimal { scale, .. } => Self::Decimal(*scale),
            LogicalType::Boolean => Self::Boolean,
            other => Self::Other(other.clone()),
        }
    }

    /// Appends a value; `NULL` for none.
    pub fn write(&self, bytes: Option<&[u8]>, out: &mut String) {
        let Some(bytes) = bytes else { return out.push_str("NULL") };
        match self {
            Self::List(element, writer) => {
                let list = Sequence::new(element, bytes);
                out.push('[');
                for index in 0..list.len() {
                    comma(out, index);
                    writer.write(list.get(index), out);
                }
                out.push(']');
            }
            Self::Struct(layout, fields) => {
                out.push('{');
                for (index, (name, writer)) in fields.iter().enumerate() {
                    out.push_str(name);
                    writer.write(layout.field(bytes, index), out);
                }
                out.push('}');
            }
            Self::Map(types, writers) => {
                let (keys, values) = map_parts(types, bytes);
                out.push('{');
                for index in 0..keys.len().min(values.len()) {
                    comma(out, index);
                    writers.0.write(keys.get(index), out);
                    out.push('=');
                    writers.1.write(values.get(index), out);
                }
                out.push('}');
            }
            Self::Text => write_text(out, std::str::from_utf8(bytes).unwrap_or_default()),
            Self::Integer => {
                write_integer(out, bytes.first_chunk().map_or(0, |b| i32::from_le_bytes(*b)).into())
            }
            Self::BigInt => write_integer(out, bytes.first_chunk().map_or(0, |b| i64::from_le_bytes(*b))),
            Self::Double => {
                let number = bytes.first_chunk().map_or(0.0, |b| f64::from_le_bytes(*b));
                write_float(out, number, || format!("{number:e}"));
            }
            Self::Decimal(scale) => write_decimal(out, wide(bytes), *scale),
            Self::Boolean => out.push_str(if bytes.first() == Some(&1) { "true" } else { "false" }),
            Self::Other(ty) => write(out, &value(ty, bytes)),
        }
    }
}

/// An integer of any width with its sign.
fn wide(bytes: &[u8]) -> i128 {
    let bits = 8 * bytes.len().min(16) as u32;
    let unused = 128 - bits;
    i128::from_le_bytes(sixteen(bytes)).checked_shl(unused).unwrap_or(0) >> unused.min(127)
}

fn comma(out: &mut String, index: usize) {
    if index > 0 {
        out.push_str(", ");
    }
}

/// Which bytes of a text have it quoted.
const SPECIAL: [bool; 256] = {
    let (mut table, special, mut at) = ([false; 256], b"()[]{},:='\"\\", 0);
    while at < special.len() {
        table[special[at] as usize] = true;
        at += 1;
    }
    table
};

/// Whether a text could be misread inside a nested value.
fn is_misread(text: &[u8]) -> bool {
    let (Some(first), Some(last)) = (text.first(), text.last()) else { return true };
    first.is_ascii_whitespace()
        || last.is_ascii_whitespace()
        || text.iter().any(|byte| SPECIAL[usize::from(*byte)])
        || text.eq_ignore_ascii_case(b"null")
}

/// Appends text as it stands inside a nested value: quoted when it could be misread.
pub fn write_text(out: &mut String, text: &str) {
    if is_misread(text.as_bytes()) {
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

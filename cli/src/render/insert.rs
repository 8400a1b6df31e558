//! INSERT statements, and values as SQL that gives them back.

use super::Answer;
use crate::settings::Settings;
use inlay::Value;
use std::fmt::Write as _;
use std::io::{self, Write};

pub fn write(out: &mut dyn Write, answer: &Answer<'_>, settings: &Settings) -> io::Result<()> {
    let head = insert_head(&quoted_name(&settings.insert_table), settings.headers.then(|| answer.names()));
    let mut line = String::new();
    answer.each_row(|batch, row| {
        line.clear();
        line.push_str(&head);
        for index in 0..answer.types().len() {
            line.push_str(if index == 0 { "" } else { "," });
            write_literal(&mut line, &batch.column(index).get(row));
        }
        line.push_str(");\n");
        out.write_all(line.as_bytes())
    })
}

/// `INSERT INTO t(a,b) VALUES(`, `t` being SQL already.
fn insert_head(table: &str, columns: Option<&[String]>) -> String {
    let columns = columns.map_or_else(String::new, |names| {
        let names: Vec<String> = names.iter().map(|name| quoted_name(name)).collect();
        format!("({})", names.join(","))
    });
    format!("INSERT INTO {table}{columns} VALUES(")
}

/// A name as SQL: in quotes unless it is plain and not reserved.
pub fn quoted_name(name: &str) -> String {
    let is_start = |c: char| c.is_ascii_lowercase() || c == '_';
    let is_plain = name.starts_with(is_start) && name.chars().all(|c| is_start(c) || c.is_ascii_digit());
    if is_plain && !inlay::is_reserved(name) {
        name.to_string()
    } else {
        format!("\"{}\"", name.replace('"', "\"\""))
    }
}

/// A value as SQL that gives it back.
pub fn write_literal(out: &mut String, value: &Value) {
    match value {
        Value::Null => out.push_str("NULL"),
        // As numbers in SQL these would be others, or nothing that goes with the numbers beside them.
        Value::Real(number) if !number.is_finite() || *number == 0.0 && number.is_sign_negative() => {
            typed(out, value)
        }
        Value::Double(number) if !number.is_finite() || *number == 0.0 && number.is_sign_negative() => {
            typed(out, value);
        }
        Value::Decimal { precision: 38, scale: 38, .. } => typed(out, value),
        Value::Union { members, tag, value: own } => {
            let name = members.get(usize::from(*tag)).map_or("", |member| &member.name);
            let _ = write!(out, "union_value(\"{}\" := ", name.replace('"', "\"\""));
            write_literal(out, own);
            let _ = write!(out, ")::{}", value.logical_type());
        }
        value if super::is_bare(value) => {
            let _ = write!(out, "{value}");
        }
        Value::List { values, .. } | Value::Array { values, .. } => {
            out.push('[');
            for (index, element) in values.iter().enumerate() {
                out.push_str(if index == 0 { "" } else { ", " });
                write_literal(out, element);
            }
            out.push(']');
        }
        Value::Struct { fields, values } => {
            out.push('{');
            for (index, (field, value)) in fields.iter().zip(values.iter()).enumerate() {
                out.push_str(if index == 0 { "" } else { ", " });
                text(out, &field.name);
                out.push_str(": ");
                write_literal(out, value);
            }
            out.push('}');
        }
        Value::Map { entries, .. } => {
            out.push_str("MAP {");
            for (index, (key, value)) in entries.iter().enumerate() {
                out.push_str(if index == 0 { "" } else { ", " });
                write_literal(out, key);
                out.push_str(": ");
                write_literal(out, value);
            }
            out.push('}');
        }
        Value::Blob(bytes) => {
            out.push('\'');
            for byte in bytes {
                let _ = write!(out, "\\x{byte:02X}");
            }
            out.push_str("'::BLOB");
        }
        other => text(out, &other.to_string()),
    }
}

/// A text that is cast to the type of the value.
fn typed(out: &mut String, value: &Value) {
    text(out, &value.to_string());
    let _ = write!(out, "::{}", value.logical_type());
}

/// A string literal. One with a NUL or a line break is fine: SQL takes every character but the quote.
fn text(out: &mut String, content: &str) {
    out.push('\'');
    out.push_str(&content.replace('\'', "''"));
    out.push('\'');
}

/// A text as a string literal.
pub fn text_literal(content: &str) -> String {
    let mut out = String::new();
    text(&mut out, content);
    out
}

//! Objects: an array of them, or one per line. Lists, structs and maps are JSON too; what JSON cannot say is a string.

use super::Answer;
use inlay::{Value, compact_json};
use std::fmt::Write as _;
use std::io::{self, Write};

pub fn write_array(out: &mut dyn Write, answer: &Answer<'_>) -> io::Result<()> {
    out.write_all(b"[")?;
    let keys = keys(answer);
    let mut is_first = true;
    let mut line = String::new();
    answer.each_row(|batch, row| {
        line.clear();
        line.push_str(if is_first { "" } else { ",\n" });
        is_first = false;
        object(&mut line, &keys, |index| batch.column(index).get(row));
        out.write_all(line.as_bytes())
    })?;
    out.write_all(b"]\n")
}

pub fn write_lines(out: &mut dyn Write, answer: &Answer<'_>) -> io::Result<()> {
    let keys = keys(answer);
    let mut line = String::new();
    answer.each_row(|batch, row| {
        line.clear();
        object(&mut line, &keys, |index| batch.column(index).get(row));
        line.push('\n');
        out.write_all(line.as_bytes())
    })
}

fn keys(answer: &Answer<'_>) -> Vec<String> {
    let key = |name: &String| {
        let mut text = String::new();
        string(&mut text, name);
        text
    };
    answer.names().iter().map(key).collect()
}

fn object(out: &mut String, keys: &[String], value: impl Fn(usize) -> Value) {
    out.push('{');
    for (index, key) in keys.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        out.push_str(key);
        out.push(':');
        write_value(out, &value(index));
    }
    out.push('}');
}

fn write_value(out: &mut String, value: &Value) {
    match value {
        Value::Null => out.push_str("null"),
        value if super::is_bare(value) => {
            let _ = write!(out, "{value}");
        }
        Value::Json(text) => out.push_str(&compact_json(text)),
        Value::List { values, .. } | Value::Array { values, .. } => {
            out.push('[');
            for (index, element) in values.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_value(out, element);
            }
            out.push(']');
        }
        Value::Struct { fields, values } => {
            out.push('{');
            for (index, (field, value)) in fields.iter().zip(values.iter()).enumerate() {
                if index > 0 {
                    out.push(',');
                }
                string(out, &field.name);
                out.push(':');
                write_value(out, value);
            }
            out.push('}');
        }
        Value::Map { entries, .. } => {
            out.push('{');
            for (index, (key, value)) in entries.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                string(out, &key.to_string());
                out.push(':');
                write_value(out, value);
            }
            out.push('}');
        }
        Value::Union { value, .. } => write_value(out, value),
        other => string(out, &other.to_string()),
    }
}

fn string(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            c if c.is_control() => {
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

//! Names and values as SQL text that means them again, whatever they hold. Whoever puts a statement together takes these.
//!
//! ```
//! use inlay_types::Value;
//! use inlay_types::sql_text::{ident, literal, path};
//! assert_eq!(path(["main", "we\"ird"]), r#""main"."we""ird""#);
//! assert_eq!(format!("DELETE FROM {} WHERE a = {}", ident("t; DROP"), literal("it's")), r#"DELETE FROM "t; DROP" WHERE a = 'it''s'"#);
//! assert_eq!(Value::Date(0).to_sql(), "'1970-01-01'::DATE");
//! ```

use crate::{LogicalType, Value};
use std::fmt::Write;

/// A name in quotes: it means itself, whatever it consists of.
pub fn ident(name: &str) -> String {
    let mut out = String::with_capacity(name.len() + 2);
    write_ident(&mut out, name);
    out
}

/// Appends a name in quotes.
pub fn write_ident(out: &mut String, name: &str) {
    quote(out, name, '"');
}

/// Names in quotes with dots between them: catalog, schema, table.
pub fn path<N: AsRef<str>>(parts: impl IntoIterator<Item = N>) -> String {
    let mut out = String::new();
    for (index, part) in parts.into_iter().enumerate() {
        if index > 0 {
            out.push('.');
        }
        write_ident(&mut out, part.as_ref());
    }
    out
}

/// A text as a literal.
pub fn literal(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    write_literal(&mut out, text);
    out
}

/// Appends a text as a literal. One with a NUL or a line break is fine: SQL takes every character but the quote.
pub fn write_literal(out: &mut String, text: &str) {
    quote(out, text, '\'');
}

fn quote(out: &mut String, text: &str, mark: char) {
    out.push(mark);
    for (index, part) in text.split(mark).enumerate() {
        if index > 0 {
            out.push(mark);
            out.push(mark);
        }
        out.push_str(part);
    }
    out.push(mark);
}

impl Value {
    /// An expression without names that has this value and its type.
    ///
    /// ```
    /// use inlay_types::Value;
    /// assert_eq!(Value::from("it's").to_sql(), "'it''s'");
    /// assert_eq!(Value::BigInt(7).to_sql(), "'7'::BIGINT");
    /// assert_eq!(Value::Integer(-7).to_sql(), "(-7)");
    /// ```
    pub fn to_sql(&self) -> String {
        let mut out = String::new();
        self.write_sql(&mut out);
        out
    }

    /// Appends what [`Value::to_sql`] gives.
    pub fn write_sql(&self, out: &mut String) {
        match self {
            Self::Null => out.push_str("NULL"),
            Self::Boolean(truth) => out.push_str(if *truth { "true" } else { "false" }),
            Self::Varchar(text) => write_literal(out, text),
            Self::Integer(_) | Self::BigInt(_) | Self::HugeInt(_) => match self.as_i128() {
                // Without a type, a number has the narrowest that holds it.
                Some(number) if !is_narrowest(self, number) => write_typed(out, self),
                // `- -5` would begin a comment.
                Some(number) if number < 0 => {
                    let _ = write!(out, "({number})");
                }
                _ => {
                    let _ = write!(out, "{self}");
                }
            },
            Self::Union { .. } => write_union(out, self, &Self::write_sql),
            Self::List { .. } | Self::Array { .. } | Self::Struct { .. } | Self::Map { .. } => {
                write_nested(out, self, &Self::write_sql);
                let ty = self.logical_type();
                if !says_type(self) && !ty.has_part(&|part| *part == LogicalType::Null) {
                    let _ = write!(out, "::{ty}");
                }
            }
            _ => write_typed(out, self),
        }
    }

    /// Appends the value as it may stand where its type is known, as in VALUES of an INSERT: `1.5`, `'2024-02-29'`.
    pub fn write_sql_untyped(&self, out: &mut String) {
        match self {
            Self::Null => out.push_str("NULL"),
            // As numbers in SQL these would be others, or nothing that goes with the numbers beside them.
            Self::Real(number) if !is_bare(f64::from(*number)) => write_typed(out, self),
            Self::Double(number) if !is_bare(*number) => write_typed(out, self),
            Self::Decimal { precision: 38, scale: 38, .. } => write_typed(out, self),
            Self::Blob(bytes) => {
                out.push('\'');
                for byte in bytes {
                    let _ = write!(out, "\\x{byte:02X}");
                }
                out.push_str("'::BLOB");
            }
            Self::Union { .. } => write_union(out, self, &Self::write_sql_untyped),
            Self::List { .. } | Self::Array { .. } | Self::Struct { .. } | Self::Map { .. } => {
                write_nested(out, self, &Self::write_sql_untyped);
            }
            Self::Boolean(_) => {
                let _ = write!(out, "{self}");
            }
            other if other.logical_type().is_numeric() => {
                let _ = write!(out, "{other}");
            }
            other => write_literal(out, &other.to_string()),
        }
    }
}

fn is_bare(number: f64) -> bool {
    number.is_finite() && !(number == 0.0 && number.is_sign_negative())
}

/// Whether a whole number without a type has this value's.
fn is_narrowest(value: &Value, number: i128) -> bool {
    match value {
        Value::BigInt(_) => i32::try_from(number).is_err(),
        Value::HugeInt(_) => i64::try_from(number).is_err(),
        _ => true,
    }
}

/// Whether the text of a nested value has its type without a cast: no list of nothing, no NULL, no array.
fn says_type(value: &Value) -> bool {
    match value {
        Value::Null | Value::Array { .. } => false,
        Value::List { values, .. } => !values.is_empty() && values.iter().all(says_type),
        Value::Struct { values, .. } => values.iter().all(says_type),
        Value::Map { entries, .. } => {
            !entries.is_empty() && entries.iter().all(|(key, value)| says_type(key) && says_type(value))
        }
        _ => true,
    }
}

/// A text that is cast to the type of the value.
fn write_typed(out: &mut String, value: &Value) {
    write_literal(out, &value.to_string());
    let _ = write!(out, "::{}", value.logical_type());
}

type Write1<'a> = dyn Fn(&Value, &mut String) + 'a;

fn write_union(out: &mut String, value: &Value, write: &Write1<'_>) {
    let Value::Union { members, tag, value: own } = value else { return };
    let name = members.get(usize::from(*tag)).map_or("", |member| &member.name);
    out.push_str("union_value(");
    write_ident(out, name);
    out.push_str(" := ");
    write(own, out);
    let _ = write!(out, ")::{}", value.logical_type());
}

fn write_nested(out: &mut String, value: &Value, write: &Write1<'_>) {
    match value {
        Value::List { values, .. } | Value::Array { values, .. } => {
            out.push('[');
            for (index, element) in values.iter().enumerate() {
                out.push_str(if index == 0 { "" } else { ", " });
                write(element, out);
            }
            out.push(']');
        }
        Value::Struct { fields, values } => {
            let is_tuple = fields.iter().all(|field| field.name.is_empty());
            out.push_str(if is_tuple { "row(" } else { "{" });
            for (index, (field, value)) in fields.iter().zip(values).enumerate() {
                out.push_str(if index == 0 { "" } else { ", " });
                if !is_tuple {
                    write_literal(out, &field.name);
                    out.push_str(": ");
                }
                write(value, out);
            }
            out.push(if is_tuple { ')' } else { '}' });
        }
        Value::Map { entries, .. } => {
            out.push_str("MAP {");
            for (index, (key, value)) in entries.iter().enumerate() {
                out.push_str(if index == 0 { "" } else { ", " });
                write(key, out);
                out.push_str(": ");
                write(value, out);
            }
            out.push('}');
        }
        other => write(other, out),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_in_names_and_texts_are_doubled() {
        assert_eq!(ident("\""), "\"\"\"\"");
        assert_eq!(literal("''"), "''''''");
        assert_eq!(path(["a.b", "c"]), "\"a.b\".\"c\"");
        assert_eq!(path(Vec::<&str>::new()), "");
    }

    #[test]
    fn nested_values_say_their_type_where_their_parts_do_not() {
        let list = |values: Vec<Value>| Value::List { element: LogicalType::Integer.into(), values };
        assert_eq!(list(vec![Value::Integer(1)]).to_sql(), "[1]");
        assert_eq!(list(vec![]).to_sql(), "[]::INTEGER[]");
        assert_eq!(list(vec![Value::Null]).to_sql(), "[NULL]::INTEGER[]");
    }
}

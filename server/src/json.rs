//! Values as JSON, exactly: every digit of a number, text as it is.
//!
//! Numbers that JSON has no form for (NaN, infinity) are texts. Decimals and integers of any size are JSON numbers with all their digits; who
//! reads them into doubles loses some, which is why HTTP can be asked for texts (`numbers=text`).

use inlay::types::datetime::is_finite_timestamp;
use inlay::{Value, Zone, compact_json};
use std::fmt::Write;

/// How numbers are written that a double may not hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Numbers {
    /// As numbers, with every digit.
    Exact,
    /// As texts, where a double would hold another number.
    Text,
}

/// Integers up to here are the same as doubles.
const SAFE_INTEGER: u128 = 1 << 53;

/// Writes a value.
pub fn write_json(out: &mut String, value: &Value, zone: &Zone, numbers: Numbers) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Boolean(truth) => out.push_str(if *truth { "true" } else { "false" }),
        Value::TinyInt(_)
        | Value::SmallInt(_)
        | Value::Integer(_)
        | Value::UTinyInt(_)
        | Value::USmallInt(_)
        | Value::UInteger(_) => {
            let _ = write!(out, "{value}");
        }
        Value::BigInt(_) | Value::HugeInt(_) | Value::UBigInt(_) | Value::UHugeInt(_) => {
            let is_safe = value.as_i128().is_some_and(|number| number.unsigned_abs() <= SAFE_INTEGER);
            write_number(out, value, is_safe || numbers == Numbers::Exact);
        }
        Value::Decimal { .. } => write_number(out, value, numbers == Numbers::Exact),
        Value::Real(number) => write_number(out, value, number.is_finite()),
        Value::Double(number) => write_number(out, value, number.is_finite()),
        Value::Varchar(text) => write_text(out, text),
        Value::Json(text) => out.push_str(&compact_json(text)),
        Value::TimestampTz(at) => write_text(out, &moment(*at, zone)),
        Value::Blob(_)
        | Value::Date(_)
        | Value::Time(_)
        | Value::Timestamp(_)
        | Value::Interval(_)
        | Value::TimestampS(_)
        | Value::TimestampMs(_)
        | Value::TimestampNs(_)
        | Value::TimeTz(_)
        | Value::Uuid(_)
        | Value::Bit(_)
        | Value::Enum { .. } => write_text(out, &value.to_string()),
        Value::List { values, .. } | Value::Array { values, .. } => {
            out.push('[');
            for (index, value) in values.iter().enumerate() {
                separate(out, index);
                write_json(out, value, zone, numbers);
            }
            out.push(']');
        }
        Value::Struct { fields, values } => {
            // A row without names is a list.
            let is_named = fields.iter().any(|field| !field.name.is_empty());
            out.push(if is_named { '{' } else { '[' });
            for (index, (field, value)) in fields.iter().zip(values).enumerate() {
                separate(out, index);
                if is_named {
                    write_text(out, &field.name);
                    out.push(':');
                }
                write_json(out, value, zone, numbers);
            }
            out.push(if is_named { '}' } else { ']' });
        }
        Value::Map { entries, .. } => {
            out.push('{');
            for (index, (key, value)) in entries.iter().enumerate() {
                separate(out, index);
                write_text(out, &shown(key, zone));
                out.push(':');
                write_json(out, value, zone, numbers);
            }
            out.push('}');
        }
        Value::Union { value, .. } => write_json(out, value, zone, numbers),
    }
}

fn separate(out: &mut String, index: usize) {
    if index > 0 {
        out.push(',');
    }
}

fn write_number(out: &mut String, value: &Value, is_number: bool) {
    let _ = if is_number { write!(out, "{value}") } else { write!(out, "\"{value}\"") };
}

/// A value as text, moments in the session's zone.
pub fn shown(value: &Value, zone: &Zone) -> String {
    match value {
        Value::TimestampTz(at) => moment(*at, zone),
        other => other.to_string(),
    }
}

/// `2024-02-29 23:59:59.5+01`.
pub fn moment(at: i64, zone: &Zone) -> String {
    let mut text = String::new();
    let offset = if is_finite_timestamp(at) { zone.offset_at(at) } else { 0 };
    inlay::types::datetime::write_timestamp_tz(&mut text, at, offset);
    text
}

/// Writes a text in quotes.
pub fn write_text(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if u32::from(c) < 0x20 => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(sql: &str, numbers: Numbers) -> String {
        let connection = inlay::Database::open_in_memory().unwrap().connect();
        connection.execute("SET TimeZone = 'Europe/Zurich'").unwrap();
        let zone = connection.time_zone().unwrap();
        let value = connection.execute(&format!("SELECT {sql}")).unwrap().value(0, 0).unwrap();
        let mut out = String::new();
        write_json(&mut out, &value, &zone, numbers);
        out
    }

    #[test]
    fn every_digit_is_there() {
        assert_eq!(json("9223372033328793741", Numbers::Exact), "9223372033328793741");
        assert_eq!(json("9223372033328793741", Numbers::Text), "\"9223372033328793741\"");
        assert_eq!(
            json("12345678901234567890.123456789::DECIMAL(38, 9)", Numbers::Exact),
            "12345678901234567890.123456789"
        );
        assert_eq!(json("[0.1::DECIMAL(2, 1), NULL]", Numbers::Text), "[\"0.1\",null]");
        assert_eq!(json("'nan'::DOUBLE", Numbers::Exact), "\"nan\"");
        assert_eq!(
            json("{'a': 1, 'b': [9007199254740993]}", Numbers::Text),
            r#"{"a":1,"b":["9007199254740993"]}"#
        );
        assert_eq!(json("MAP {'k\"': 1.5::DOUBLE}", Numbers::Exact), r#"{"k\"":1.5}"#);
        assert_eq!(
            json("TIMESTAMPTZ '2024-01-01 00:00:00+00'", Numbers::Exact),
            "\"2024-01-01 01:00:00+01\""
        );
        assert_eq!(json("E'{\"a\":\\n 1}'::JSON", Numbers::Exact), "{\"a\":1}");
        assert_eq!(json("chr(1) || chr(10)", Numbers::Exact), "\"\\u0001\\n\"");
    }
}

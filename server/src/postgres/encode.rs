//! Values as PostgreSQL's protocol has them, in text and in binary.
//!
//! Text is what PostgreSQL would print: `t` for true, `1e+20`, `{a,NULL}`, moments in the session's zone. Binary is big-endian; moments count
//! from 2000, numerics are digits to the base of 10,000. Called by `rows` for answers and by `copy` for COPY TO.

use super::types::wire_type;
use crate::json::{self, Numbers};
use inlay::types::datetime::{DATE_INFINITY, TIMESTAMP_INFINITY, is_finite_date, is_finite_timestamp};
use inlay::types::{Interval, LogicalType};
use inlay::{Error, Result, Value, Zone};
use std::fmt::Write;
use std::sync::Arc;

/// Days and microseconds from 1970 to 2000.
pub const EPOCH_DAYS: i32 = 10_957;
pub const EPOCH_MICROS: i64 = 946_684_800_000_000;

/// How values are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Text,
    Binary,
}

impl Format {
    /// By its number in messages.
    pub fn of(number: i16) -> Result<Self> {
        match number {
            0 => Ok(Self::Text),
            1 => Ok(Self::Binary),
            other => Err(Error::invalid_argument(format!("there is no format {other}: 0 is text, 1 binary"))),
        }
    }

    /// Its number in messages.
    pub fn number(self) -> i16 {
        match self {
            Self::Text => 0,
            Self::Binary => 1,
        }
    }
}

/// What of a session decides how values look.
#[derive(Clone, Debug)]
pub struct Look {
    /// Where moments are shown.
    pub zone: Arc<Zone>,
    /// The setting `extra_float_digits`: above 0, as few digits as read back the same.
    pub float_digits: i32,
}

/// Writes a value that is not NULL.
pub fn write_value(
    out: &mut Vec<u8>,
    value: &Value,
    ty: &LogicalType,
    format: Format,
    look: &Look,
) -> Result<()> {
    match format {
        Format::Text => {
            let mut text = String::new();
            write_text(&mut text, value, ty, look);
            out.extend_from_slice(text.as_bytes());
            Ok(())
        }
        Format::Binary => write_binary(out, value, ty, look),
    }
}

/// Whether a type of lists is sent as an array of PostgreSQL's.
fn is_array(ty: &LogicalType) -> bool {
    match ty {
        LogicalType::List(element) | LogicalType::Array(element, _) => !element.is_nested(),
        _ => false,
    }
}

/// Writes a value as text.
pub fn write_text(out: &mut String, value: &Value, ty: &LogicalType, look: &Look) {
    match value {
        Value::Boolean(truth) => out.push(if *truth { 't' } else { 'f' }),
        Value::Real(number) => write_float(out, f64::from(*number), &format!("{number:e}"), 6, look),
        Value::Double(number) => write_float(out, *number, &format!("{number:e}"), 15, look),
        Value::Blob(bytes) => {
            out.push_str("\\x");
            for byte in bytes {
                let _ = write!(out, "{byte:02x}");
            }
        }
        Value::Varchar(text) | Value::Json(text) => out.push_str(text),
        Value::TimestampTz(at) => out.push_str(&json::moment(*at, &look.zone)),
        Value::Interval(interval) => write_interval(out, *interval),
        Value::List { values, element } | Value::Array { values, element } if is_array(ty) => {
            write_array(out, values, element, look);
        }
        Value::List { .. }
        | Value::Array { .. }
        | Value::Struct { .. }
        | Value::Map { .. }
        | Value::Union { .. } => {
            json::write_json(out, value, &look.zone, Numbers::Exact);
        }
        Value::Null
        | Value::TinyInt(_)
        | Value::SmallInt(_)
        | Value::Integer(_)
        | Value::BigInt(_)
        | Value::HugeInt(_)
        | Value::UTinyInt(_)
        | Value::USmallInt(_)
        | Value::UInteger(_)
        | Value::UBigInt(_)
        | Value::UHugeInt(_)
        | Value::Decimal { .. }
        | Value::Date(_)
        | Value::Time(_)
        | Value::Timestamp(_)
        | Value::TimestampS(_)
        | Value::TimestampMs(_)
        | Value::TimestampNs(_)
        | Value::TimeTz(_)
        | Value::Uuid(_)
        | Value::Bit(_)
        | Value::Enum { .. } => {
            let _ = write!(out, "{value}");
        }
    }
}

/// A double as PostgreSQL prints it. `shortest` is it with an exponent, `digits` what the type holds for certain.
fn write_float(out: &mut String, number: f64, shortest: &str, digits: i32, look: &Look) {
    if number.is_nan() {
        return out.push_str("NaN");
    }
    if number.is_infinite() {
        return out.push_str(if number > 0.0 { "Infinity" } else { "-Infinity" });
    }
    let rounded;
    let (written, limit) = if look.float_digits > 0 {
        (shortest, digits)
    } else {
        let digits = (digits + look.float_digits).clamp(1, 17);
        rounded = format!("{number:.*e}", digits as usize - 1);
        (rounded.as_str(), digits)
    };
    let (mantissa, exponent) = written.split_once('e').unwrap_or((written, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    let mantissa =
        if mantissa.contains('.') { mantissa.trim_end_matches('0').trim_end_matches('.') } else { mantissa };
    if exponent < -4 || exponent >= limit {
        let sign = if exponent < 0 { '-' } else { '+' };
        let _ = write!(out, "{mantissa}e{sign}{:02}", exponent.unsigned_abs());
        return;
    }
    let (sign, mantissa) = mantissa.strip_prefix('-').map_or(("", mantissa), |rest| ("-", rest));
    let all: String = mantissa.chars().filter(|c| *c != '.').collect();
    out.push_str(sign);
    if exponent < 0 {
        out.push_str("0.");
        out.extend(std::iter::repeat_n('0', exponent.unsigned_abs() as usize - 1));
        out.push_str(&all);
        return;
    }
    let whole = exponent as usize + 1;
    if all.len() <= whole {
        out.push_str(&all);
        out.extend(std::iter::repeat_n('0', whole - all.len()));
    } else {
        out.push_str(&all[..whole]);
        out.push('.');
        out.push_str(&all[whole..]);
    }
}

/// `1 year 2 mons -3 days +04:05:06.7`.
fn write_interval(out: &mut String, interval: Interval) {
    let start = out.len();
    let mut was_negative = false;
    let mut part = |out: &mut String, count: i32, unit: &str| {
        if count != 0 {
            let space = if out.len() > start { " " } else { "" };
            let plus = if was_negative && count > 0 { "+" } else { "" };
            let plural = if count == 1 { "" } else { "s" };
            let _ = write!(out, "{space}{plus}{count} {unit}{plural}");
            was_negative = count < 0;
        }
    };
    part(out, interval.months / 12, "year");
    part(out, interval.months % 12, "mon");
    part(out, interval.days, "day");
    if interval.micros != 0 || out.len() == start {
        if out.len() > start {
            out.push(' ');
        }
        let sign = match (interval.micros < 0, was_negative) {
            (true, _) => "-",
            (false, true) => "+",
            (false, false) => "",
        };
        let micros = interval.micros.unsigned_abs();
        let seconds = micros / 1_000_000;
        let _ = write!(out, "{sign}{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
        let fraction = format!("{:06}", micros % 1_000_000);
        let fraction = fraction.trim_end_matches('0');
        if !fraction.is_empty() {
            let _ = write!(out, ".{fraction}");
        }
    }
}

/// `{1,NULL,"a b"}`.
fn write_array(out: &mut String, values: &[Value], element: &LogicalType, look: &Look) {
    out.push('{');
    for (index, value) in values.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        if value.is_null() {
            out.push_str("NULL");
            continue;
        }
        let mut text = String::new();
        write_text(&mut text, value, element, look);
        let is_plain = |c: char| !matches!(c, '{' | '}' | ',' | '"' | '\\') && !c.is_whitespace();
        if !text.is_empty() && text.chars().all(is_plain) && !text.eq_ignore_ascii_case("null") {
            out.push_str(&text);
        } else {
            out.push('"');
            for c in text.chars() {
                if matches!(c, '"' | '\\') {
                    out.push('\\');
                }
                out.push(c);
            }
            out.push('"');
        }
    }
    out.push('}');
}

/// Writes the bytes that `write` makes behind their length.
pub fn write_sized(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>) -> Result<()>) -> Result<()> {
    let at = out.len();
    out.extend_from_slice(&[0; 4]);
    write(out)?;
    let len = out.len() - at - 4;
    let len = i32::try_from(len)
        .map_err(|_| Error::out_of_range(format!("a value of {len} bytes does not fit into a message")))?;
    out[at..at + 4].copy_from_slice(&len.to_be_bytes());
    Ok(())
}

fn write_binary(out: &mut Vec<u8>, value: &Value, ty: &LogicalType, look: &Look) -> Result<()> {
    match value {
        Value::Boolean(truth) => out.push(u8::from(*truth)),
        Value::TinyInt(number) => out.extend(i16::from(*number).to_be_bytes()),
        Value::UTinyInt(number) => out.extend(i16::from(*number).to_be_bytes()),
        Value::SmallInt(number) => out.extend(number.to_be_bytes()),
        Value::Integer(number) => out.extend(number.to_be_bytes()),
        Value::USmallInt(number) => out.extend(i32::from(*number).to_be_bytes()),
        Value::BigInt(number) => out.extend(number.to_be_bytes()),
        Value::UInteger(number) => out.extend(i64::from(*number).to_be_bytes()),
        Value::HugeInt(_) | Value::UBigInt(_) | Value::UHugeInt(_) | Value::Decimal { .. } => {
            write_numeric(out, &value.to_string());
        }
        Value::Real(number) => out.extend(number.to_be_bytes()),
        Value::Double(number) => out.extend(number.to_be_bytes()),
        Value::Blob(bytes) => out.extend_from_slice(bytes),
        Value::Date(days) => out.extend(date_since_2000(*days)?.to_be_bytes()),
        Value::Time(micros) => out.extend(micros.to_be_bytes()),
        Value::TimeTz(time) => {
            out.extend(time.micros.to_be_bytes());
            out.extend((-time.offset).to_be_bytes());
        }
        Value::Timestamp(at) | Value::TimestampTz(at) => out.extend(since_2000(*at)?.to_be_bytes()),
        Value::TimestampS(at) => out.extend(moment_of(*at, 1_000_000)?.to_be_bytes()),
        Value::TimestampMs(at) => out.extend(moment_of(*at, 1_000)?.to_be_bytes()),
        Value::TimestampNs(at) => {
            let micros = if is_finite_timestamp(*at) { at.div_euclid(1_000) } else { *at };
            out.extend(since_2000(micros)?.to_be_bytes());
        }
        Value::Interval(interval) => {
            out.extend(interval.micros.to_be_bytes());
            out.extend(interval.days.to_be_bytes());
            out.extend(interval.months.to_be_bytes());
        }
        Value::Uuid(number) => out.extend(number.to_be_bytes()),
        Value::Bit(_) => write_bits(out, &value.to_string()),
        Value::List { values, element } | Value::Array { values, element } if is_array(ty) => {
            return write_binary_array(out, values, element, look);
        }
        Value::Null
        | Value::Varchar(_)
        | Value::Json(_)
        | Value::Enum { .. }
        | Value::List { .. }
        | Value::Array { .. }
        | Value::Struct { .. }
        | Value::Map { .. }
        | Value::Union { .. } => return write_value(out, value, ty, Format::Text, look),
    }
    Ok(())
}

fn date_since_2000(days: i32) -> Result<i32> {
    match days {
        days if is_finite_date(days) => days
            .checked_sub(EPOCH_DAYS)
            .ok_or_else(|| Error::out_of_range(format!("{} is no date of PostgreSQL's", Value::Date(days)))),
        DATE_INFINITY => Ok(i32::MAX),
        _ => Ok(i32::MIN),
    }
}

fn since_2000(at: i64) -> Result<i64> {
    match at {
        at if is_finite_timestamp(at) => at.checked_sub(EPOCH_MICROS).ok_or_else(|| {
            Error::out_of_range(format!("{} is no timestamp of PostgreSQL's", Value::Timestamp(at)))
        }),
        TIMESTAMP_INFINITY => Ok(i64::MAX),
        _ => Ok(i64::MIN),
    }
}

fn moment_of(at: i64, micros: i64) -> Result<i64> {
    if !is_finite_timestamp(at) {
        return since_2000(at);
    }
    let at = at.checked_mul(micros);
    since_2000(at.ok_or_else(|| Error::out_of_range("the moment is no timestamp of PostgreSQL's"))?)
}

/// A decimal number's digits to the base of 10,000.
fn write_numeric(out: &mut Vec<u8>, text: &str) {
    let (sign, text) = text.strip_prefix('-').map_or((0u16, text), |rest| (0x4000, rest));
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let whole = whole.trim_start_matches('0');
    let padded = format!(
        "{}{whole}{fraction}{}",
        "0".repeat((4 - whole.len() % 4) % 4),
        "0".repeat((4 - fraction.len() % 4) % 4)
    );
    let mut groups: Vec<i16> = padded.as_bytes().chunks(4).map(group_of).collect();
    let mut weight = whole.len().div_ceil(4) as i16 - 1;
    while groups.first() == Some(&0) {
        groups.remove(0);
        weight -= 1;
    }
    while groups.last() == Some(&0) {
        groups.pop();
    }
    if groups.is_empty() {
        weight = 0;
    }
    out.extend((groups.len() as i16).to_be_bytes());
    out.extend(weight.to_be_bytes());
    out.extend((if groups.is_empty() { 0 } else { sign }).to_be_bytes());
    out.extend((fraction.len() as u16).to_be_bytes());
    out.extend(groups.iter().flat_map(|group| group.to_be_bytes()));
}

fn group_of(digits: &[u8]) -> i16 {
    digits.iter().fold(0, |number, digit| number * 10 + i16::from(digit.wrapping_sub(b'0') % 10))
}

fn write_bits(out: &mut Vec<u8>, bits: &str) {
    out.extend((bits.len() as i32).to_be_bytes());
    for group in bits.as_bytes().chunks(8) {
        let byte = group
            .iter()
            .enumerate()
            .fold(0u8, |byte, (index, bit)| byte | u8::from(*bit == b'1') << (7 - index));
        out.push(byte);
    }
}

fn write_binary_array(out: &mut Vec<u8>, values: &[Value], element: &LogicalType, look: &Look) -> Result<()> {
    let has_null = values.iter().any(Value::is_null);
    out.extend(i32::from(!values.is_empty()).to_be_bytes());
    out.extend(i32::from(has_null).to_be_bytes());
    out.extend(wire_type(element).oid.to_be_bytes());
    if values.is_empty() {
        return Ok(());
    }
    let count = i32::try_from(values.len())
        .map_err(|_| Error::out_of_range("a list has too many elements for a message"))?;
    out.extend(count.to_be_bytes());
    out.extend(1i32.to_be_bytes());
    for value in values {
        if value.is_null() {
            out.extend((-1i32).to_be_bytes());
        } else {
            write_sized(out, |out| write_binary(out, value, element, look))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(float_digits: i32) -> Look {
        Look { zone: Zone::named("Europe/Zurich").unwrap(), float_digits }
    }

    fn value(sql: &str) -> Value {
        let connection = inlay::Database::open_in_memory().unwrap().connect();
        connection.execute(&format!("SELECT {sql}")).unwrap().value(0, 0).unwrap()
    }

    fn text(sql: &str) -> String {
        let value = value(sql);
        let mut out = String::new();
        write_text(&mut out, &value, &value.logical_type(), &look(1));
        out
    }

    fn binary(sql: &str) -> Vec<u8> {
        let value = value(sql);
        let mut out = Vec::new();
        write_value(&mut out, &value, &value.logical_type(), Format::Binary, &look(1)).unwrap();
        out
    }

    #[test]
    fn text_is_what_postgresql_prints() {
        for (sql, printed) in [
            ("true", "t"),
            ("0.1::DOUBLE + 0.2", "0.30000000000000004"),
            ("1::DOUBLE", "1"),
            ("1e20::DOUBLE", "1e+20"),
            ("1e15::DOUBLE", "1e+15"),
            ("123456789012345::DOUBLE", "123456789012345"),
            ("-0.00012::DOUBLE", "-0.00012"),
            ("0.000012::DOUBLE", "1.2e-05"),
            ("'nan'::DOUBLE", "NaN"),
            ("'-inf'::REAL", "-Infinity"),
            ("0.1::REAL", "0.1"),
            ("1e6::REAL", "1e+06"),
            ("1.50::DECIMAL(5, 2)", "1.50"),
            ("'\\x00\\xff'::BLOB", "\\x00ff"),
            ("DATE '2024-02-29'", "2024-02-29"),
            ("TIMESTAMP '2024-02-29 12:00:00.5'", "2024-02-29 12:00:00.5"),
            ("TIMESTAMPTZ '2024-07-01 00:00:00+00'", "2024-07-01 02:00:00+02"),
            ("INTERVAL '14 months -3 days 04:05:06.7'", "1 year 2 mons -3 days +04:05:06.7"),
            ("INTERVAL '0 days'", "00:00:00"),
            ("[1, NULL]", "{1,NULL}"),
            ("['a b', '', 'NULL', 'q\"']", r#"{"a b","","NULL","q\""}"#),
            ("[[1], [2, 3]]", "[[1],[2,3]]"),
            ("{'a': 1}", r#"{"a":1}"#),
        ] {
            assert_eq!(text(sql), printed, "{sql}");
        }
        let mut out = String::new();
        write_text(&mut out, &Value::Double(0.1 + 0.2), &LogicalType::Double, &look(0));
        assert_eq!(out, "0.3");
    }

    #[test]
    fn binary_is_big_endian() {
        assert_eq!(binary("1::INTEGER"), [0, 0, 0, 1]);
        assert_eq!(binary("DATE '2000-01-02'"), [0, 0, 0, 1]);
        assert_eq!(binary("TIMESTAMP '2000-01-01 00:00:00.000001'"), 1i64.to_be_bytes());
        assert_eq!(binary("TIMESTAMP_S '2000-01-01 00:00:01'"), 1_000_000i64.to_be_bytes());
        assert_eq!(binary("'infinity'::TIMESTAMP"), i64::MAX.to_be_bytes());
        assert_eq!(binary("'-infinity'::DATE"), i32::MIN.to_be_bytes());
        assert_eq!(binary("12345.678::DECIMAL(10, 3)"), [0, 3, 0, 1, 0, 0, 0, 3, 0, 1, 9, 41, 26, 124]);
        assert_eq!(binary("-0.0001::DECIMAL(10, 4)"), [0, 1, 255, 255, 64, 0, 0, 4, 0, 1]);
        assert_eq!(binary("0::DECIMAL(10, 2)"), [0, 0, 0, 0, 0, 0, 0, 2]);
        assert_eq!(binary("10000::HUGEINT"), [0, 1, 0, 1, 0, 0, 0, 0, 0, 1]);
        assert_eq!(binary("'101'::BIT"), [0, 0, 0, 3, 0b1010_0000]);
        assert_eq!(binary("[]::INTEGER[]"), [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 23]);
        assert_eq!(
            binary("[7]::SMALLINT[]"),
            [0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 21, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 2, 0, 7]
        );
    }
}

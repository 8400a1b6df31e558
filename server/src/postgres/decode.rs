//! Values of parameters as clients send them, in text and in binary.
//!
//! Text is cast to the parameter's type as SQL casts it, in the session's zone. Every length is checked before anything is read: what is too short or
//! too long is an error of class 22P03, as PostgreSQL has it.

use super::encode::{EPOCH_DAYS, EPOCH_MICROS, Format};
use super::types::{element_of, oid, parameter_type};
use inlay::types::datetime::{DATE_INFINITY, TIMESTAMP_INFINITY};
use inlay::types::{Decimal, Interval, LogicalType, TimeTz};
use inlay::{Error, Result, Value, Zone, cast_value_in_zone};
use std::sync::Arc;

/// The value of a parameter. `number` is its type as the client was told or told us; `ty` what the statement wants, if that is known.
pub fn value_of(
    bytes: &[u8],
    format: Format,
    number: u32,
    ty: Option<&LogicalType>,
    zone: &Zone,
) -> Result<Value> {
    match format {
        Format::Text => {
            let text = std::str::from_utf8(bytes)
                .map_err(|_| Error::invalid_argument("the value of a parameter is not UTF-8"))?;
            text_value(text, number, ty, zone)
        }
        Format::Binary => binary_value(bytes, number),
    }
}

/// As [`value_of`], of a text.
pub fn text_value(text: &str, number: u32, ty: Option<&LogicalType>, zone: &Zone) -> Result<Value> {
    let declared = parameter_type(number);
    let ty = match (ty, &declared) {
        (Some(ty), _) => Some(ty),
        (None, Some(declared)) => Some(declared),
        (None, None) if number == oid::NUMERIC => return numeric_of_text(text),
        (None, None) => None,
    };
    match ty {
        Some(LogicalType::List(element) | LogicalType::Array(element, _))
            if text.trim_start().starts_with('{') =>
        {
            let values = array_items(text)?;
            let value = |item: Option<String>| match item {
                Some(item) => text_value(&item, 0, Some(element), zone),
                None => Ok(Value::Null),
            };
            let values = values.into_iter().map(value).collect::<Result<Vec<Value>>>()?;
            Ok(Value::List { element: Arc::clone(element), values })
        }
        Some(LogicalType::Blob) => Ok(Value::Blob(bytes_of_text(text)?)),
        Some(LogicalType::Boolean) => match text.trim() {
            "t" | "y" | "1" => Ok(Value::Boolean(true)),
            "f" | "n" | "0" => Ok(Value::Boolean(false)),
            other => cast_value_in_zone(&Value::Varchar(other.to_string()), &LogicalType::Boolean, zone),
        },
        // Java's driver sends a zone with a day, which means nothing to it.
        Some(LogicalType::Date) => {
            let day = without_zone(text).unwrap_or(text).to_string();
            cast_value_in_zone(&Value::Varchar(day), &LogicalType::Date, zone)
        }
        Some(
            ty @ (LogicalType::Timestamp
            | LogicalType::TimestampS
            | LogicalType::TimestampMs
            | LogicalType::TimestampNs),
        ) => {
            let moment = clock_without_zone(text).to_string();
            cast_value_in_zone(&Value::Varchar(moment), ty, zone)
        }
        Some(ty) => cast_value_in_zone(&Value::Varchar(text.to_string()), ty, zone),
        None => Ok(Value::Varchar(text.to_string())),
    }
}

/// `2024-01-02` of `2024-01-02 +01` and `2024-01-02 -03:30`.
fn without_zone(text: &str) -> Option<&str> {
    let (day, zone) = text.trim().split_once(' ')?;
    let digits = zone.strip_prefix(['+', '-'])?;
    (!digits.is_empty() && digits.chars().all(|c| c.is_ascii_digit() || c == ':')).then_some(day)
}

/// `2024-01-02 03:04:05` of `2024-01-02 03:04:05+01`: a timestamp without a zone is what its clock shows, as PostgreSQL has it.
fn clock_without_zone(text: &str) -> &str {
    let text = text.trim();
    let Some(clock) = text.find(':') else { return text };
    let end = text[clock..].find(['+', '-']).map_or(text.len(), |zone| clock + zone);
    text[..end].trim_end_matches(['Z', 'z']).trim_end()
}

/// A decimal of as many digits as the text has.
fn numeric_of_text(text: &str) -> Result<Value> {
    let trimmed = text.trim();
    let plain = trimmed.trim_start_matches(['-', '+']);
    let is_plain = !plain.is_empty()
        && plain.bytes().all(|b| b.is_ascii_digit() || b == b'.')
        && plain.matches('.').count() <= 1;
    if !is_plain {
        return cast_value_in_zone(&Value::Varchar(trimmed.to_string()), &LogicalType::Double, &Zone::utc());
    }
    let (whole, fraction) = plain.split_once('.').unwrap_or((plain, ""));
    let digits: Vec<u8> = whole.bytes().chain(fraction.bytes()).collect();
    decimal_of(trimmed.starts_with('-'), &digits, fraction.len())
}

fn decimal_of(is_negative: bool, digits: &[u8], scale: usize) -> Result<Value> {
    let exponent = i64::try_from(scale).map_or(i64::MIN, |scale| -scale);
    let ascii: Vec<u8> = digits.iter().map(|digit| digit.wrapping_sub(b'0')).collect();
    match Decimal::of_digits(is_negative, &ascii, exponent) {
        Some(decimal) => Ok(Value::Decimal {
            unscaled: decimal.unscaled,
            precision: decimal.precision,
            scale: decimal.scale,
        }),
        None => Err(Error::out_of_range("a numeric of a parameter has more than 38 digits")),
    }
}

/// `\x00ff`, or text in which `\\` and `\000` stand for bytes.
fn bytes_of_text(text: &str) -> Result<Vec<u8>> {
    let wrong = || {
        Error::invalid_argument("the text of a bytea is neither \\x and hexadecimal digits nor escaped bytes")
    };
    if let Some(digits) = text.strip_prefix("\\x") {
        let digit = |byte: &u8| (*byte as char).to_digit(16).map(|digit| digit as u8).ok_or_else(wrong);
        let digits = digits.as_bytes().iter().map(digit).collect::<Result<Vec<u8>>>()?;
        let (pairs, rest) = digits.as_chunks::<2>();
        return if rest.is_empty() {
            Ok(pairs.iter().map(|[high, low]| high << 4 | low).collect())
        } else {
            Err(wrong())
        };
    }
    let (mut bytes, mut rest) = (Vec::with_capacity(text.len()), text.as_bytes());
    while let Some((first, behind)) = rest.split_first() {
        rest = behind;
        if *first != b'\\' {
            bytes.push(*first);
            continue;
        }
        match rest {
            [b'\\', behind @ ..] => {
                bytes.push(b'\\');
                rest = behind;
            }
            [a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', behind @ ..] => {
                bytes.push((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'));
                rest = behind;
            }
            _ => return Err(wrong()),
        }
    }
    Ok(bytes)
}

/// The elements of `{a,NULL,"b c"}`; one dimension only.
fn array_items(text: &str) -> Result<Vec<Option<String>>> {
    let wrong = |what: &str| Error::invalid_argument(format!("the text of an array {what}"));
    let inner = text
        .trim()
        .strip_prefix('{')
        .and_then(|rest| rest.strip_suffix('}'))
        .ok_or_else(|| wrong("is not in braces"))?;
    let mut items = Vec::new();
    if inner.trim().is_empty() {
        return Ok(items);
    }
    let mut chars = inner.chars().peekable();
    loop {
        while chars.next_if(|c| c.is_whitespace()).is_some() {}
        let (mut item, is_quoted) = (String::new(), chars.next_if_eq(&'"').is_some());
        loop {
            match chars.next() {
                Some('"') if is_quoted => break,
                Some('\\') => item.push(chars.next().ok_or_else(|| wrong("ends behind a backslash"))?),
                Some('{' | '}') if !is_quoted => return Err(wrong("has more than one dimension")),
                Some(c) => item.push(c),
                None if is_quoted => return Err(wrong("has a quote that does not end")),
                None => break,
            }
            if !is_quoted && chars.peek() == Some(&',') {
                break;
            }
        }
        let item = if is_quoted { item } else { item.trim_end().to_string() };
        items.push(if !is_quoted && item.eq_ignore_ascii_case("null") { None } else { Some(item) });
        while chars.next_if(|c| c.is_whitespace()).is_some() {}
        match chars.next() {
            None => return Ok(items),
            Some(',') => {}
            Some(_) => return Err(wrong("has something behind a quote")),
        }
    }
}

fn wrong_size(number: u32) -> Error {
    Error::invalid_argument(format!(
        "the binary value of a parameter has not the size of its type, which is number {number}"
    ))
}

fn fixed<const N: usize>(bytes: &[u8], number: u32) -> Result<[u8; N]> {
    bytes.try_into().map_err(|_| wrong_size(number))
}

fn binary_value(bytes: &[u8], number: u32) -> Result<Value> {
    Ok(match number {
        oid::BOOL => Value::Boolean(fixed::<1>(bytes, number)? != [0]),
        oid::INT2 => Value::SmallInt(i16::from_be_bytes(fixed(bytes, number)?)),
        oid::INT4 => Value::Integer(i32::from_be_bytes(fixed(bytes, number)?)),
        oid::INT8 => Value::BigInt(i64::from_be_bytes(fixed(bytes, number)?)),
        oid::OID => Value::BigInt(u32::from_be_bytes(fixed(bytes, number)?).into()),
        oid::FLOAT4 => Value::Real(f32::from_be_bytes(fixed(bytes, number)?)),
        oid::FLOAT8 => Value::Double(f64::from_be_bytes(fixed(bytes, number)?)),
        oid::BYTEA => Value::Blob(bytes.to_vec()),
        oid::DATE => Value::Date(match i32::from_be_bytes(fixed(bytes, number)?) {
            i32::MAX => DATE_INFINITY,
            i32::MIN => -DATE_INFINITY,
            days => days
                .checked_add(EPOCH_DAYS)
                .ok_or_else(|| Error::out_of_range("a date of a parameter is out of range"))?,
        }),
        oid::TIME => {
            let micros = i64::from_be_bytes(fixed(bytes, number)?);
            if !(0..=86_400_000_000).contains(&micros) {
                return Err(Error::out_of_range("a time of a parameter is out of range"));
            }
            Value::Time(micros)
        }
        oid::TIMETZ => {
            let all = fixed::<12>(bytes, number)?;
            let (micros, west) = all.split_at(8);
            let micros = i64::from_be_bytes(fixed(micros, number)?);
            let west = i32::from_be_bytes(fixed(west, number)?);
            if !(0..=86_400_000_000).contains(&micros) || west.unsigned_abs() >= 16 * 3600 {
                return Err(Error::out_of_range("a time of a parameter is out of range"));
            }
            Value::TimeTz(TimeTz { micros, offset: -west })
        }
        oid::TIMESTAMP => Value::Timestamp(moment(i64::from_be_bytes(fixed(bytes, number)?))?),
        oid::TIMESTAMPTZ => Value::TimestampTz(moment(i64::from_be_bytes(fixed(bytes, number)?))?),
        oid::INTERVAL => {
            let all = fixed::<16>(bytes, number)?;
            let (micros, rest) = all.split_at(8);
            let (days, months) = rest.split_at(4);
            Value::Interval(Interval {
                months: i32::from_be_bytes(fixed(months, number)?),
                days: i32::from_be_bytes(fixed(days, number)?),
                micros: i64::from_be_bytes(fixed(micros, number)?),
            })
        }
        oid::UUID => Value::Uuid(u128::from_be_bytes(fixed(bytes, number)?)),
        oid::NUMERIC => numeric(bytes)?,
        oid::JSON => checked_json(bytes)?,
        oid::JSONB => match bytes {
            [1, text @ ..] => checked_json(text)?,
            _ => return Err(wrong_size(number)),
        },
        oid::TEXT | oid::VARCHAR | oid::BPCHAR | oid::NAME | oid::UNKNOWN | 0 => text_of(bytes)?,
        oid::BIT | oid::VARBIT => bits(bytes)?,
        other => match element_of(other) {
            Some(element) => array(bytes, element)?,
            None => {
                return Err(Error::unsupported(format!("a binary parameter of the type number {other}"))
                    .with_hint("send it as text"));
            }
        },
    })
}

fn text_of(bytes: &[u8]) -> Result<Value> {
    let text = std::str::from_utf8(bytes)
        .map_err(|_| Error::invalid_argument("the value of a parameter is not UTF-8"))?;
    Ok(Value::Varchar(text.to_string()))
}

fn checked_json(bytes: &[u8]) -> Result<Value> {
    inlay::cast_value(&text_of(bytes)?, &LogicalType::Json)
}

fn moment(at: i64) -> Result<i64> {
    match at {
        i64::MAX => Ok(TIMESTAMP_INFINITY),
        i64::MIN => Ok(-TIMESTAMP_INFINITY),
        at => at
            .checked_add(EPOCH_MICROS)
            .filter(|at| inlay::types::datetime::is_timestamp(*at))
            .ok_or_else(|| Error::out_of_range("a timestamp of a parameter is out of range")),
    }
}

fn numeric(bytes: &[u8]) -> Result<Value> {
    let (words, rest) = bytes.as_chunks::<2>();
    let words: Vec<i16> = words.iter().map(|word| i16::from_be_bytes(*word)).collect();
    let [count, weight, sign, scale, groups @ ..] = &words[..] else { return Err(wrong_size(oid::NUMERIC)) };
    if !rest.is_empty() || usize::try_from(*count).ok() != Some(groups.len()) || *scale < 0 {
        return Err(wrong_size(oid::NUMERIC));
    }
    let is_negative = match *sign as u16 {
        0 => false,
        0x4000 => true,
        0xC000 => return Ok(Value::Double(f64::NAN)),
        0xD000 => return Ok(Value::Double(f64::INFINITY)),
        0xF000 => return Ok(Value::Double(f64::NEG_INFINITY)),
        _ => return Err(wrong_size(oid::NUMERIC)),
    };
    let too_large = || Error::out_of_range("a numeric of a parameter has more than 38 digits");
    // Digits in front of the point, of which some groups of zeros are not sent.
    let places = (i64::from(*weight) + 1) * 4;
    if !(-40..=40).contains(&places) || groups.len() > 20 || *scale > 38 {
        return if groups.is_empty() { decimal_of(false, b"0", 0) } else { Err(too_large()) };
    }
    let mut digits = "0".repeat(usize::try_from(-places).unwrap_or_default());
    for group in groups {
        if !(0..10_000).contains(group) {
            return Err(wrong_size(oid::NUMERIC));
        }
        digits.push_str(&format!("{group:04}"));
    }
    let whole = usize::try_from(places).unwrap_or_default();
    let wanted = whole + *scale as usize;
    // Groups end behind the last digit that counts, or before it.
    if digits.len() < wanted {
        digits.push_str(&"0".repeat(wanted - digits.len()));
    }
    digits.truncate(wanted);
    let trimmed = digits.trim_start_matches('0');
    let least = (*scale as usize).max(1);
    let kept = trimmed.len().max(least).min(digits.len());
    let digits = if digits.is_empty() { "0" } else { &digits[digits.len() - kept..] };
    decimal_of(is_negative, digits.as_bytes(), *scale as usize)
}

fn bits(bytes: &[u8]) -> Result<Value> {
    let wrong = || wrong_size(oid::VARBIT);
    let (count, bits) = bytes.split_first_chunk::<4>().ok_or_else(wrong)?;
    let count = usize::try_from(i32::from_be_bytes(*count)).map_err(|_| wrong())?;
    if count.div_ceil(8) != bits.len() {
        return Err(wrong());
    }
    let bit = |index: usize| if bits[index / 8] >> (7 - index % 8) & 1 == 1 { '1' } else { '0' };
    let text: String = (0..count).map(bit).collect();
    inlay::cast_value(&Value::Varchar(text), &LogicalType::Bit)
}

fn array(bytes: &[u8], element: u32) -> Result<Value> {
    let wrong = || Error::invalid_argument("the binary array of a parameter does not hold together");
    let mut rest = bytes;
    let mut word = || -> Result<i32> {
        let (word, behind) = rest.split_first_chunk::<4>().ok_or_else(wrong)?;
        rest = behind;
        Ok(i32::from_be_bytes(*word))
    };
    let (dimensions, _has_null, of) = (word()?, word()?, word()? as u32);
    // Arrays are not made of arrays: what is said so would be gone through as deep as it says.
    if element_of(of).is_some() {
        return Err(wrong());
    }
    let ty = parameter_type(element).ok_or_else(|| {
        Error::unsupported(format!("a binary array of the type number {element}"))
            .with_hint("send it as text")
    })?;
    let count = match dimensions {
        0 => 0,
        1 => {
            let count = word()?;
            word()?;
            usize::try_from(count).map_err(|_| wrong())?
        }
        _ => return Err(Error::unsupported("an array of several dimensions as a parameter")),
    };
    // Each element has at least its length.
    if count > rest.len() / 4 {
        return Err(wrong());
    }
    let mut values = Vec::with_capacity(count);
    for _ in 0..count {
        let (len, behind) = rest.split_first_chunk::<4>().ok_or_else(wrong)?;
        rest = behind;
        let len = i32::from_be_bytes(*len);
        if len == -1 {
            values.push(Value::Null);
            continue;
        }
        let len = usize::try_from(len).map_err(|_| wrong())?;
        let (value, behind) = rest.split_at_checked(len).ok_or_else(wrong)?;
        rest = behind;
        values.push(binary_value(value, of)?);
    }
    if !rest.is_empty() {
        return Err(wrong());
    }
    let values = values.iter().map(|value| inlay::cast_value(value, &ty)).collect::<Result<Vec<Value>>>()?;
    Ok(Value::List { element: ty.into(), values })
}

#[cfg(test)]
mod tests {
    use super::super::encode::{Look, write_value};
    use super::super::types::wire_type;
    use super::*;

    #[test]
    fn zones_that_a_type_has_not_say_nothing() {
        for (text, clock) in [
            ("2024-01-02 03:04:05.5+01", "2024-01-02 03:04:05.5"),
            ("2024-01-02T03:04:05-03:30", "2024-01-02T03:04:05"),
            ("2024-01-02 03:04:05Z", "2024-01-02 03:04:05"),
            ("2024-01-02", "2024-01-02"),
            ("infinity", "infinity"),
        ] {
            assert_eq!(clock_without_zone(text), clock);
        }
        assert_eq!(without_zone("2024-01-02 +01"), Some("2024-01-02"));
        assert_eq!(without_zone("2024-01-02 -03:30"), Some("2024-01-02"));
        assert_eq!(without_zone("2024-01-02"), None);
    }

    #[test]
    fn what_is_sent_comes_back() {
        let connection = inlay::Database::open_in_memory().unwrap().connect();
        let look = Look { zone: Zone::named("Asia/Tokyo").unwrap(), float_digits: 1 };
        for sql in [
            "true",
            "-7::SMALLINT",
            "1::INTEGER",
            "9223372036854775807",
            "0.1::REAL",
            "1e300::DOUBLE",
            "'é \" {'",
            "'\\x00\\xff'::BLOB",
            "DATE '1999-12-31'",
            "'infinity'::DATE",
            "TIME '23:59:59.999999'",
            "TIMESTAMP '1969-12-31 23:59:59.9'",
            "TIMESTAMPTZ '2024-01-01 00:00:00+00'",
            "INTERVAL '14 months -3 days 04:05:06.7'",
            "'00112233-4455-6677-8899-aabbccddeeff'::UUID",
            "'[1, {}]'::JSON",
            "'10101010101'::BIT",
            "[1, NULL, 3]",
            "['a b', NULL, '', 'NULL']",
            "[]::DOUBLE[]",
        ] {
            let value = connection.execute(&format!("SELECT {sql}")).unwrap().value(0, 0).unwrap();
            let ty = value.logical_type();
            for format in [Format::Text, Format::Binary] {
                let mut bytes = Vec::new();
                write_value(&mut bytes, &value, &ty, format, &look).unwrap();
                let back = value_of(&bytes, format, wire_type(&ty).oid, Some(&ty), &look.zone).unwrap();
                assert_eq!(back, value, "{sql} {format:?}");
                for len in 0..bytes.len() {
                    let _ = value_of(&bytes[..len], format, wire_type(&ty).oid, Some(&ty), &look.zone);
                }
            }
        }
    }

    #[test]
    fn numerics_keep_their_digits() {
        let look = Look { zone: Zone::utc(), float_digits: 1 };
        let connection = inlay::Database::open_in_memory().unwrap().connect();
        for text in [
            "0",
            "0.00",
            "1",
            "-1",
            "10000",
            "12345.678",
            "0.0001",
            "-0.00010",
            "99999999999999999999999999999999999999",
            "100000000",
        ] {
            let scale = text.split_once('.').map_or(0, |(_, fraction)| fraction.len());
            let value = connection
                .execute(&format!("SELECT '{text}'::DECIMAL(38, {scale})"))
                .unwrap()
                .value(0, 0)
                .unwrap();
            for format in [Format::Text, Format::Binary] {
                let mut bytes = Vec::new();
                write_value(&mut bytes, &value, &value.logical_type(), format, &look).unwrap();
                let back = value_of(&bytes, format, oid::NUMERIC, None, &look.zone).unwrap();
                assert_eq!(back.to_string(), text, "{format:?}");
                for len in 0..bytes.len() {
                    let _ = value_of(&bytes[..len], format, oid::NUMERIC, None, &look.zone);
                }
            }
        }
    }

    #[test]
    fn lengths_that_lie_are_errors() {
        let zone = Zone::utc();
        let array = |count: i32| {
            let mut bytes = Vec::new();
            for word in [1, 0, 23, count, 1] {
                bytes.extend(i32::to_be_bytes(word));
            }
            value_of(&bytes, Format::Binary, 1007, None, &zone)
        };
        assert!(array(i32::MAX).is_err() && array(-1).is_err() && array(1).is_err());
        assert!(value_of(&[0xff; 4], Format::Binary, oid::VARBIT, None, &zone).is_err());
        assert!(
            value_of(&[0x7f, 0xff, 0, 0, 0, 0, 0, 0], Format::Binary, oid::NUMERIC, None, &zone).is_err()
        );
    }
}

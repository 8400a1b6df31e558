//! Functions of PostgreSQL that DuckDB does not have: bytes, names, digits, error functions and clocks.

use super::columns::{Column, TextColumn, write_blob, write_text};
use super::nested::rows::each_known;
use crate::registry::{Function, Overloads, Signature};
use inlay_kernels::apply::{map, per_row};
use inlay_kernels::function::Volatility;
use inlay_kernels::function::kernel;
use inlay_kernels::resolve::{ArgType, ResolveOptions, Resolved};
use inlay_kernels::zone::system_micros;
use inlay_types::LogicalType::{
    self, BigInt, Blob, Decimal, Double, Integer, Null, TimestampTz, UBigInt, Varchar,
};
use inlay_types::{Error, Result, Value, Vector};
use std::time::{Duration, Instant};
use unicode_normalization::UnicodeNormalization;

/// See the module documentation.
pub(super) static FUNCTIONS: &[Function] = &[
    Function::typed(
        "num_nulls",
        &["num_nulls(any, ...) -> INTEGER"],
        |args, _| resolve_nulls(args, true),
        "how many arguments are NULL",
        "num_nulls(1, NULL, 2) = 1",
    )
    .special_nulls(),
    Function::typed(
        "num_nonnulls",
        &["num_nonnulls(any, ...) -> INTEGER"],
        |args, _| resolve_nulls(args, false),
        "how many arguments are not NULL",
        "num_nonnulls(1, NULL, 2) = 2",
    )
    .special_nulls(),
    Function::new(
        "get_byte",
        Overloads::Fixed(&[Signature::new(&[Blob, BigInt], Integer, get_byte)]),
        "a byte of a BLOB by its index from 0",
        "get_byte('abc'::BLOB, 1) = 98",
    )
    .fallible(),
    Function::new(
        "set_byte",
        Overloads::Fixed(&[Signature::new(&[Blob, BigInt, BigInt], Blob, set_byte)]),
        "a BLOB with the byte at an index from 0 replaced",
        "set_byte('abc'::BLOB, 1, 66)::VARCHAR = 'aBc'",
    )
    .fallible(),
    Function::new(
        "convert_from",
        Overloads::Fixed(&[Signature::new(&[Blob, Varchar], Varchar, convert_from)]),
        "the text that bytes in an encoding (UTF8, LATIN1, ASCII) stand for",
        "convert_from('caf\\xE9'::BLOB, 'LATIN1') = 'café'",
    )
    .fallible(),
    Function::new(
        "convert_to",
        Overloads::Fixed(&[Signature::new(&[Varchar, Varchar], Blob, convert_to)]),
        "the bytes of a text in an encoding (UTF8, LATIN1, ASCII)",
        "octet_length(convert_to('café', 'LATIN1')) = 4",
    )
    .fallible(),
    Function::new(
        "erf",
        Overloads::Fixed(&[Signature::new(&[Double], Double, |args, len, out| {
            map(args[0], &Double, len, out, erf)
        })]),
        "error function",
        "round(erf(1), 6) = 0.842701",
    ),
    Function::new(
        "erfc",
        Overloads::Fixed(&[Signature::new(&[Double], Double, |args, len, out| {
            map(args[0], &Double, len, out, erfc)
        })]),
        "1 less the error function, without losing digits",
        "round(erfc(1), 6) = 0.157299",
    ),
    Function::typed(
        "scale",
        &["scale(DECIMAL) -> INTEGER"],
        |args, _| resolve_scale(args, false),
        "number of digits behind the point",
        "scale(8.4100) = 4",
    ),
    Function::typed(
        "min_scale",
        &["min_scale(DECIMAL) -> INTEGER"],
        |args, _| resolve_scale(args, true),
        "number of digits behind the point that are needed",
        "min_scale(8.4100) = 2",
    ),
    Function::typed(
        "parse_ident",
        &["parse_ident(VARCHAR) -> VARCHAR[]"],
        resolve_parse_ident,
        "the parts of a qualified name, in lower case where they are not quoted",
        "parse_ident('\"A b\".C') = '[A b, c]'",
    )
    .fallible(),
    Function::new(
        "unistr",
        Overloads::Fixed(&[Signature::new(&[Varchar], Varchar, unistr)]),
        "a text with \\0041, \\+000041, \\u0041 and \\U00000041 replaced by the characters",
        "unistr('d\\0061t\\u0061') = 'data'",
    )
    .fallible(),
    Function::new(
        "normalize",
        Overloads::Fixed(&[
            Signature::new(&[Varchar], Varchar, normalize),
            Signature::new(&[Varchar, Varchar], Varchar, normalize),
        ]),
        "a text in a normal form of Unicode: NFC, NFD, NFKC or NFKD",
        "length(normalize('é', NFD)) = 2",
    )
    .fallible(),
    Function::typed(
        "sleep_ms",
        &["sleep_ms(BIGINT) -> NULL"],
        |args, _| resolve_sleep(args),
        "waits for some milliseconds",
        "sleep_ms(1) = NULL",
    )
    .volatile(Volatility::Volatile)
    .fallible(),
    Function::typed(
        "clock_timestamp",
        &["clock_timestamp() -> TIMESTAMPTZ"],
        |args, _| resolve_clock(args),
        "the current moment, another one at each call",
        "clock_timestamp() >= now() = true",
    )
    .volatile(Volatility::Volatile),
    Function::typed(
        "current_transaction_id",
        &["current_transaction_id() -> UBIGINT"],
        |args, options| resolve_id(args, options.ids.transaction),
        "the number of the transaction",
        "current_transaction_id() = txid_current() = true",
    )
    .aliases(&["txid_current"])
    .volatile(Volatility::Stable),
    Function::typed(
        "current_query_id",
        &["current_query_id() -> UBIGINT"],
        |args, options| resolve_id(args, options.ids.query),
        "the number of the statement",
        "current_query_id() IS NOT NULL",
    )
    .volatile(Volatility::Stable),
    Function::typed(
        "current_connection_id",
        &["current_connection_id() -> UBIGINT"],
        |args, options| resolve_id(args, options.ids.connection),
        "the number of the connection",
        "current_connection_id() IS NOT NULL",
    )
    .volatile(Volatility::Stable),
    Function::typed(
        "statement_timestamp",
        &["statement_timestamp() -> TIMESTAMPTZ"],
        |args, _| resolve_statement_clock(args),
        "the moment at which the statement began",
        "statement_timestamp() >= transaction_timestamp() = true",
    )
    .volatile(Volatility::Stable),
];

fn resolve_nulls(args: &[ArgType], of_nulls: bool) -> Option<Resolved> {
    if args.is_empty() {
        return None;
    }
    let kernel = kernel(move |args, len, out| {
        out.reset_flat(&Integer, len);
        for (row, target) in out.values_mut::<i32>().iter_mut().enumerate() {
            *target = args.iter().filter(|arg| arg.is_null(row) == of_nulls).count() as i32;
        }
        Ok(())
    });
    let types = args.iter().map(|arg| if arg.ty == Null { Integer } else { arg.ty.clone() }).collect();
    Some(Resolved::infallible(types, Integer, kernel))
}

fn index_of(bytes: &[u8], index: i64) -> Result<usize> {
    usize::try_from(index).ok().filter(|index| *index < bytes.len()).ok_or_else(|| {
        Error::out_of_range(format!("there is no byte {index} in a BLOB of {} bytes", bytes.len()))
    })
}

fn get_byte(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    let (blobs, indexes) = (TextColumn::of(args[0]), Column::<i64>::of(args[1]));
    per_row(args, &Integer, len, out, |row| {
        let bytes = blobs.get(row);
        Ok(i32::from(bytes[index_of(bytes, indexes.get(row))?]))
    })
}

fn set_byte(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    let (blobs, indexes) = (TextColumn::of(args[0]), Column::<i64>::of(args[1]));
    let values = Column::<i64>::of(args[2]);
    write_blob(args, len, out, |row, bytes| {
        bytes.extend_from_slice(blobs.get(row));
        let index = index_of(bytes, indexes.get(row))?;
        bytes[index] = (values.get(row) & 0xFF) as u8;
        Ok(())
    })
}

#[derive(Clone, Copy)]
enum Encoding {
    Utf8,
    Latin1,
    Ascii,
}

impl Encoding {
    fn named(name: &str) -> Result<Self> {
        // More letters than any name of an encoding has.
        let letters = name.chars().filter(|c| c.is_ascii_alphanumeric());
        let plain: String = letters.take(16).collect();
        match plain.to_ascii_lowercase().as_str() {
            "utf8" | "unicode" => Ok(Self::Utf8),
            "latin1" | "iso88591" => Ok(Self::Latin1),
            "sqlascii" | "ascii" | "usascii" => Ok(Self::Ascii),
            _ => {
                let message = format!("the encoding '{}' is unknown", inlay_types::error::shortened(name));
                let hint = "there are UTF8, LATIN1 and ASCII";
                Err(Error::invalid_argument(message).with_hint(hint))
            }
        }
    }
}

fn convert_from(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    let (blobs, encodings) = (TextColumn::of(args[0]), TextColumn::of(args[1]));
    write_text(args, len, out, |row, text| {
        let (bytes, encoding) = (blobs.get(row), Encoding::named(encodings.text(row))?);
        let wrong = |what: &str| Err(Error::invalid_argument(format!("the bytes are no text in {what}")));
        match encoding {
            Encoding::Utf8 if std::str::from_utf8(bytes).is_err() => return wrong("UTF8"),
            Encoding::Ascii if !bytes.is_ascii() => return wrong("ASCII"),
            Encoding::Utf8 | Encoding::Ascii => text.extend_from_slice(bytes),
            Encoding::Latin1 => {
                let read: String = bytes.iter().map(|byte| char::from(*byte)).collect();
                text.extend_from_slice(read.as_bytes());
            }
        }
        Ok(())
    })
}

fn convert_to(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    let (texts, encodings) = (TextColumn::of(args[0]), TextColumn::of(args[1]));
    write_blob(args, len, out, |row, bytes| {
        let text = texts.text(row);
        let limit = match Encoding::named(encodings.text(row))? {
            Encoding::Utf8 => {
                bytes.extend_from_slice(text.as_bytes());
                return Ok(());
            }
            Encoding::Latin1 => 0xFF,
            Encoding::Ascii => 0x7F,
        };
        for c in text.chars() {
            let byte = u8::try_from(u32::from(c)).ok().filter(|byte| *byte <= limit).ok_or_else(|| {
                Error::invalid_argument(format!("the character '{c}' is not in the encoding"))
            })?;
            bytes.push(byte);
        }
        Ok(())
    })
}

/// 2 / sqrt(pi)
const TWO_BY_ROOT_OF_PI: f64 = std::f64::consts::FRAC_2_SQRT_PI;
/// From here on `erfc` is computed, below `erf`.
const CROSSING: f64 = 2.0;

/// The error function: near 0 by a series without cancellation, `x e^(-x^2) sum (2 x^2)^n / (1 3 5 ... (2 n + 1))`.
fn erf(x: f64) -> f64 {
    if x.is_nan() {
        return x;
    }
    if x.abs() >= CROSSING {
        return x.signum() * (1.0 - erfc(x.abs()));
    }
    let (square, mut term, mut sum) = (x * x, x, x);
    for n in 1..200 {
        term *= 2.0 * square / f64::from(2 * n + 1);
        sum += term;
        if term.abs() < sum.abs() * 1e-17 {
            break;
        }
    }
    TWO_BY_ROOT_OF_PI * (-square).exp() * sum
}

/// Its complement: far from 0 by a continued fraction (Abramowitz and Stegun 7.1.14), from its end.
fn erfc(x: f64) -> f64 {
    match () {
        () if x.is_nan() => x,
        () if x < CROSSING => 1.0 - erf(x),
        () if x > 27.3 => 0.0,
        () => {
            let fraction = (1..=120).rev().fold(0.0, |below, n| f64::from(n) / 2.0 / (x + below));
            (-x * x).exp() * TWO_BY_ROOT_OF_PI / 2.0 / (x + fraction)
        }
    }
}

fn resolve_scale(args: &[ArgType], is_minimal: bool) -> Option<Resolved> {
    let [arg] = args else { return None };
    let (ty, scale) = match &arg.ty {
        Decimal { scale, .. } => (arg.ty.clone(), i32::from(*scale)),
        ty if ty.is_integer() => (LogicalType::decimal(38, 0), 0),
        _ => return None,
    };
    let kernel = kernel(move |args, len, out| {
        let flat = args[0].flatten();
        out.reset_flat(&Integer, len);
        for (row, target) in out.values_mut::<i32>().iter_mut().enumerate() {
            let (mut value, mut needed) = (flat.stored_i128(row), scale);
            while is_minimal && needed > 0 && value % 10 == 0 {
                value /= 10;
                needed -= 1;
            }
            *target = needed;
        }
        out.set_validity(inlay_kernels::apply::joint_validity(args, len));
        Ok(())
    });
    Some(Resolved::infallible(vec![ty], Integer, kernel))
}

fn resolve_parse_ident(args: &[ArgType], _: &ResolveOptions) -> Option<Resolved> {
    let [name] = args else { return None };
    if !matches!(name.ty, Varchar | Null) {
        return None;
    }
    let ty = LogicalType::list(Varchar);
    let returns = ty.clone();
    let kernel = kernel(move |args, len, out| {
        each_known(args, &ty, len, out, |args, row, out| {
            let parts = parts_of_name(args.text(0, row).unwrap_or_default())?;
            let parts: Vec<_> = parts.iter().map(|part| Some(part.as_bytes())).collect();
            out.push_list(&Varchar, &parts)
        })
    });
    Some(Resolved::fallible(vec![Varchar], returns, kernel))
}

fn parts_of_name(text: &str) -> Result<Vec<String>> {
    let wrong = || Error::invalid_argument(format!("'{text}' is no qualified name: a, a.b or \"A\".b"));
    let (mut parts, mut rest) = (Vec::new(), text.trim());
    loop {
        let mut part = String::new();
        if let Some(quoted) = rest.strip_prefix('"') {
            rest = quoted;
            loop {
                let end = rest.find('"').ok_or_else(wrong)?;
                part.push_str(&rest[..end]);
                rest = &rest[end + 1..];
                match rest.strip_prefix('"') {
                    Some(behind) => {
                        part.push('"');
                        rest = behind;
                    }
                    None => break,
                }
            }
        } else {
            let end =
                rest.find(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | '$')).unwrap_or(rest.len());
            part = rest[..end].to_lowercase();
            rest = &rest[end..];
            if part.starts_with(|c: char| c.is_ascii_digit() || c == '$') {
                return Err(wrong());
            }
        }
        if part.is_empty() {
            return Err(wrong());
        }
        parts.push(part);
        rest = rest.trim_start();
        match rest.strip_prefix('.') {
            Some(behind) => rest = behind.trim_start(),
            None if rest.is_empty() => return Ok(parts),
            None => return Err(wrong()),
        }
    }
}

fn unistr(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    let texts = TextColumn::of(args[0]);
    write_text(args, len, out, |row, out| {
        let text = texts.text(row);
        let wrong = || {
            Error::invalid_argument(format!(
                "'{text}' has an escape that is no \\0041, \\+000041, \\u0041 or \\U00000041"
            ))
        };
        let mut rest = text;
        let mut high: Option<u32> = None;
        while let Some(at) = rest.find('\\').or(high.map(|_| rest.len())) {
            if high.is_some() && at > 0 {
                return Err(wrong());
            }
            out.extend_from_slice(&rest.as_bytes()[..at]);
            rest = rest.get(at + 1..).ok_or_else(wrong)?;
            if let Some(behind) = rest.strip_prefix('\\') {
                out.push(b'\\');
                rest = behind;
                continue;
            }
            let (skipped, count) = match rest.as_bytes().first() {
                Some(b'+') => (1, 6),
                Some(b'u') => (1, 4),
                Some(b'U') => (1, 8),
                _ => (0, 4),
            };
            let digits = rest.get(skipped..skipped + count).ok_or_else(wrong)?;
            let code = u32::from_str_radix(digits, 16).map_err(|_| wrong())?;
            rest = &rest[skipped + count..];
            let code = match (high.take(), code) {
                (None, 0xD800..0xDC00) => {
                    high = Some(code);
                    continue;
                }
                (None, code) => code,
                (Some(high), 0xDC00..0xE000) => 0x10000 + ((high - 0xD800) << 10) + (code - 0xDC00),
                (Some(_), _) => return Err(wrong()),
            };
            let c = char::from_u32(code).filter(|c| *c != '\0').ok_or_else(wrong)?;
            out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
        }
        out.extend_from_slice(rest.as_bytes());
        Ok(())
    })
}

fn normalize(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    let (texts, forms) = (TextColumn::of(args[0]), args.get(1).map(|form| TextColumn::of(form)));
    write_text(args, len, out, |row, out| {
        let text = texts.text(row);
        let form = forms.as_ref().map_or("NFC", |forms| forms.text(row));
        let normal: String = match form.to_ascii_uppercase().as_str() {
            "NFC" => text.nfc().collect(),
            "NFD" => text.nfd().collect(),
            "NFKC" => text.nfkc().collect(),
            "NFKD" => text.nfkd().collect(),
            _ => {
                let message = format!("the normal form '{form}' is unknown");
                let hint = "there are NFC, NFD, NFKC and NFKD";
                return Err(Error::invalid_argument(message).with_hint(hint));
            }
        };
        out.extend_from_slice(normal.as_bytes());
        Ok(())
    })
}

/// Longest pause without a look at the interrupt flag.
const NAP: Duration = Duration::from_millis(10);

fn resolve_sleep(args: &[ArgType]) -> Option<Resolved> {
    let [arg] = args else { return None };
    if !arg.ty.is_integer() && arg.ty != Null {
        return None;
    }
    let kernel = kernel(|args, len, out| {
        let flat = args[0].flatten();
        let waits = flat.values::<i64>().iter().enumerate().take(len).filter(|(row, _)| !flat.is_null(*row));
        let millis = waits.map(|(_, millis)| (*millis).max(0) as u64).fold(0, u64::saturating_add);
        let (start, whole) = (Instant::now(), Duration::from_millis(millis));
        while let Some(left) = whole.checked_sub(start.elapsed()).filter(|left| !left.is_zero()) {
            inlay_types::limits::check()?;
            std::thread::sleep(left.min(NAP));
        }
        *out = Vector::nulls(Null, len);
        Ok(())
    });
    Some(Resolved::fallible(vec![BigInt], Null, kernel))
}

fn resolve_id(args: &[ArgType], id: u64) -> Option<Resolved> {
    let kernel = kernel(move |_, len, out| {
        *out = Vector::constant(UBigInt, &Value::UBigInt(id), len)?;
        Ok(())
    });
    args.is_empty().then(|| Resolved::infallible(Vec::new(), UBigInt, kernel))
}

fn resolve_clock(args: &[ArgType]) -> Option<Resolved> {
    let kernel = kernel(|_, len, out| {
        *out = Vector::constant(TimestampTz, &Value::TimestampTz(system_micros()), len)?;
        Ok(())
    });
    args.is_empty().then(|| Resolved::infallible(Vec::new(), TimestampTz, kernel))
}

/// Functions are resolved as a statement begins.
fn resolve_statement_clock(args: &[ArgType]) -> Option<Resolved> {
    let now = Value::TimestampTz(system_micros());
    let kernel = kernel(move |_, len, out| {
        *out = Vector::constant(TimestampTz, &now, len)?;
        Ok(())
    });
    args.is_empty().then(|| Resolved::infallible(Vec::new(), TimestampTz, kernel))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_functions_have_their_digits() {
        let cases = [
            (0.5, 0.520_499_877_813_046_5, 0.479_500_122_186_953_5),
            (1.0, 0.842_700_792_949_714_9, 0.157_299_207_050_285_13),
            (2.0, 0.995_322_265_018_952_7, 0.004_677_734_981_047_266),
            (3.0, 0.999_977_909_503_001_4, 2.209_049_699_858_544e-5),
            (10.0, 1.0, 2.088_487_583_762_545e-45),
        ];
        for (x, expected, complement) in cases {
            assert!((erf(x) / expected - 1.0).abs() < 1e-14, "erf({x}) = {}", erf(x));
            assert!((erf(-x) / -expected - 1.0).abs() < 1e-14);
            assert!((erfc(x) / complement - 1.0).abs() < 1e-13, "erfc({x}) = {}", erfc(x));
        }
        assert_eq!((erf(0.0), erfc(0.0), erfc(f64::NEG_INFINITY), erf(f64::INFINITY)), (0.0, 1.0, 2.0, 1.0));
    }
}

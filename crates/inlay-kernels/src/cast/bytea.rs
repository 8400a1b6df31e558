//! Texts that become BLOBs as PostgreSQL writes its bytea: `\x` and two hexadecimal digits for each byte, or the bytes of the text with
//! `\\` and `\ooo` for some. A CAST reads `\x00ff` otherwise, as a zero and two letters, so this is for what is PostgreSQL's.

use crate::function::{NullHandling, ScalarFunction, ScalarKernel, Volatility};
use inlay_types::error::kept_text;
use inlay_types::limits;
use inlay_types::{Error, LogicalType, Result, Value, Vector, VectorBuilder};
use std::sync::Arc;

/// The bytes that a text says.
pub fn bytea(text: &str) -> Result<Vec<u8>> {
    let bytes = match text.strip_prefix("\\x") {
        Some(digits) => hexadecimal(digits.as_bytes()),
        None => escaped(text.as_bytes()),
    };
    bytes.ok_or_else(|| Error::InvalidCast { value: kept_text(text), to: LogicalType::Blob.to_string() })
}

fn hexadecimal(digits: &[u8]) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
    let byte = |pair: &[u8]| match pair {
        [high, low] => Some(digit(*high)? << 4 | digit(*low)?),
        _ => None,
    };
    digits.chunks(2).map(byte).collect()
}

fn escaped(mut rest: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(rest.len());
    let octal = |byte: &u8, most: u8| (b'0'..=most).contains(byte).then(|| byte - b'0');
    while let [byte, tail @ ..] = rest {
        rest = tail;
        match (byte, tail) {
            (b'\\', [b'\\', after @ ..]) => {
                bytes.push(b'\\');
                rest = after;
            }
            (b'\\', [high, middle, low, after @ ..]) => {
                bytes.push(octal(high, b'3')? << 6 | octal(middle, b'7')? << 3 | octal(low, b'7')?);
                rest = after;
            }
            (b'\\', _) => return None,
            (byte, _) => bytes.push(*byte),
        }
    }
    Some(bytes)
}

/// The conversion of texts as a function.
pub fn bytea_of_text() -> ScalarFunction {
    let kernel = |args: &[&Vector], len: usize, out: &mut Vector| {
        let mut builder = VectorBuilder::new(LogicalType::Blob, len);
        for row in 0..len {
            match args[0].get(row) {
                Value::Varchar(text) => {
                    limits::need(text.len())?;
                    builder.push_bytes(&bytea(&text)?);
                }
                _ => builder.push_null(),
            }
        }
        *out = builder.finish();
        Ok(())
    };
    let kernel: Arc<dyn ScalarKernel> = Arc::new(kernel);
    ScalarFunction {
        name: "bytea_of_text".into(),
        arg_types: vec![LogicalType::Varchar],
        return_type: LogicalType::Blob,
        null_handling: NullHandling::Propagate,
        volatility: Volatility::Immutable,
        can_fail: true,
        kernel,
        specialize: None,
        external: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_of_bytea() {
        assert_eq!(bytea("\\x00fF41").unwrap(), [0, 255, 65]);
        assert_eq!(bytea("\\x").unwrap(), []);
        assert_eq!(bytea("").unwrap(), []);
        assert_eq!(bytea("a\\\\b\\000\\377é").unwrap(), b"a\\b\x00\xff\xc3\xa9");
        for wrong in ["\\x0", "\\xgg", "\\1", "\\9zz", "a\\"] {
            assert!(bytea(wrong).is_err(), "{wrong}");
        }
    }
}

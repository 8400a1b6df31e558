//! Strings of bits (BIT) as bytes.
//!
//! ```text
//! [ 7 bits, then 1 if more follow | ... | last 1 to 7 bits, zeros | number of bits in the byte before: u8 ]
//! ```
//! The first bit is the highest of its byte. Equal strings of bits have equal bytes, and bytes have the order of the
//! strings of digits, so that BIT is compared, grouped and sorted as a BLOB is. No bits at all are a single zero byte.

use crate::{Error, Result};

/// Number of bits.
pub fn len(bytes: &[u8]) -> usize {
    let last = bytes.last().copied().unwrap_or(0);
    bytes.len().saturating_sub(2) * 7 + usize::from(last)
}

/// Bit `index`, counted from the left.
pub fn get(bytes: &[u8], index: usize) -> bool {
    bytes.get(index / 7).is_some_and(|byte| byte >> (7 - index % 7) & 1 == 1)
}

/// The bytes of `count` bits.
pub fn from_bits(count: usize, bit: impl Fn(usize) -> bool) -> Vec<u8> {
    let groups = count.div_ceil(7);
    let mut bytes = vec![1u8; groups + 1];
    for (group, byte) in bytes[..groups].iter_mut().enumerate() {
        let first = group * 7;
        *byte = u8::from(group + 1 < groups);
        for index in first..count.min(first + 7) {
            *byte |= u8::from(bit(index)) << (7 - (index - first));
        }
    }
    bytes[groups] = (count - groups.saturating_sub(1) * 7) as u8;
    bytes
}

/// Appends the bits as digits.
pub fn write(out: &mut String, bytes: &[u8]) {
    out.extend((0..len(bytes)).map(|index| if get(bytes, index) { '1' } else { '0' }));
}

/// Reads a string of digits 0 and 1, or `x` and hexadecimal ones, which are four bits each.
pub fn parse(text: &str) -> Result<Vec<u8>> {
    if let Some(digits) = text.strip_prefix('x').filter(|digits| !digits.is_empty()) {
        let nibble = |digit: char| digit.to_digit(16).ok_or(digit);
        return match digits.chars().map(nibble).collect::<std::result::Result<Vec<u32>, char>>() {
            Ok(digits) => {
                Ok(from_bits(digits.len() * 4, |index| digits[index / 4] >> (3 - index % 4) & 1 == 1))
            }
            Err(wrong) => Err(Error::invalid_argument(format!(
                "cannot convert '{}' to BIT: '{wrong}' is no hexadecimal digit",
                crate::error::shortened(text)
            ))),
        };
    }
    if text.is_empty() {
        return Err(Error::invalid_argument(
            "cannot convert an empty string to BIT: at least one digit 0 or 1 is needed",
        ));
    }
    if let Some(wrong) = text.chars().find(|c| !matches!(c, '0' | '1')) {
        let message = format!(
            "cannot convert '{}' to BIT: '{wrong}' is neither 0 nor 1",
            crate::error::shortened(text)
        );
        return Err(Error::invalid_argument(message));
    }
    let digits = text.as_bytes();
    Ok(from_bits(digits.len(), |index| digits[index] == b'1'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_come_back_as_written() {
        let ordered =
            ["0", "00", "0000000000", "000000001", "01", "1", "10", "1000000", "10000000", "100000001", "11"];
        assert_eq!(parse("x0f").unwrap(), parse("00001111").unwrap());
        assert_eq!(parse("xA").unwrap(), parse("1010").unwrap());
        assert!(parse("x").is_err() && parse("xg").is_err() && parse("0x0f").is_err());
        let bytes: Vec<_> = ordered.iter().map(|text| parse(text).unwrap()).collect();
        assert!(bytes.is_sorted());
        for text in ordered {
            let bytes = parse(text).unwrap();
            let mut shown = String::new();
            write(&mut shown, &bytes);
            assert_eq!((shown.as_str(), len(&bytes)), (text, text.len()));
        }
        assert!(parse("").is_err() && parse("012").is_err());
    }
}

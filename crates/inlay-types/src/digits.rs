//! Numbers as digits, without the formatting machinery: exports and casts write millions of them.

#![expect(unsafe_code, reason = "digits that were just written are ASCII")]

use crate::append::{push_eight, push_word};

/// 00 to 99.
const PAIRS: &[u8; 200] =
    b"0001020304050607080910111213141516171819202122232425262728293031323334353637383940414243444546474849\
5051525354555657585960616263646566676869707172737475767778798081828384858687888990919293949596979899";
/// Digits of the largest number.
const DIGITS_MAX: usize = 20;

/// Numbers from this on have more digits than [`short_digits`] gives.
const SHORT_END: u64 = 100_000_000 * 100_000_000;

/// Eight digits, the first one in the lowest byte, not yet as ASCII.
///
/// Source: the number is taken apart in lanes of one word, two halves, four quarters, eight digits, each by a product and a shift; as
/// in Paul Khuong, "How to print integers really fast" (2017).
#[inline(always)]
fn eight_digits(value: u64) -> u64 {
    let halves = (value / 10_000) | ((value % 10_000) << 32);
    let hundreds = ((halves * 10_486) >> 20) & 0x0000_007F_0000_007F;
    let quarters = hundreds | (halves - 100 * hundreds) << 16;
    let tens = ((quarters * 103) >> 10) & 0x000F_000F_000F_000F;
    tens | (quarters - 10 * tens) << 8
}

const ZEROS_8: u64 = 0x3030_3030_3030_3030;
const ZEROS_16: u128 = (ZEROS_8 as u128) << 64 | ZEROS_8 as u128;

/// Eight digits of a number below 10^8 with zeros before it, the first one in the lowest byte.
#[inline(always)]
pub fn padded_word(value: u64) -> u64 {
    eight_digits(value) | ZEROS_8
}

/// The digits of a number of at most 16, the first one in the lowest byte and zeros behind the last one, and how many they are; with
/// zeros before it up to `width` digits.
#[inline(always)]
pub fn short_digits(value: u64, width: usize) -> Option<(u128, usize)> {
    if value >= SHORT_END {
        return None;
    }
    let digits = if value < 100_000_000 {
        u128::from(eight_digits(value)) << 64
    } else {
        u128::from(eight_digits(value / 100_000_000)) | u128::from(eight_digits(value % 100_000_000)) << 64
    };
    // The last digit of 0 is one, too.
    let zeros = (digits | 1 << 127).trailing_zeros() as usize / 8;
    let zeros = zeros.min(16_usize.saturating_sub(width));
    Some(((digits | ZEROS_16) >> (8 * zeros), 16 - zeros))
}

/// A number of at most 8 digits as [`short_digits`] gives them, in one word.
#[inline(always)]
pub fn few_digits(value: i64) -> Option<(u64, usize)> {
    if !(0..100_000_000).contains(&value) {
        return None;
    }
    let digits = eight_digits(value as u64);
    // The last digit of 0 is one, too.
    let zeros = (digits | 1 << 63).trailing_zeros() as usize / 8;
    Some(((digits | ZEROS_8) >> (8 * zeros), 8 - zeros))
}

/// An integer of at most 15 digits as [`short_digits`] gives them, with its sign.
#[inline(always)]
pub fn short_integer(value: i64) -> Option<(u128, usize)> {
    let (digits, len) = short_digits(value.unsigned_abs(), 1)?;
    match value < 0 {
        false => Some((digits, len)),
        true if len < 16 => Some((digits << 8 | u128::from(b'-'), len + 1)),
        true => None,
    }
}

/// Appends an integer.
pub fn write_integer(out: &mut String, value: i64) {
    if value < 0 {
        out.push('-');
    }
    write_padded(out, value.unsigned_abs(), 1);
}

/// Appends an integer to bytes.
#[inline]
pub fn push_integer(out: &mut Vec<u8>, value: i64) {
    if let Some((word, len)) = few_digits(value) {
        return push_eight(out, word, len);
    }
    if let Some((word, len)) = short_integer(value) {
        return push_word(out, word, len);
    }
    if value < 0 {
        out.push(b'-');
    }
    push_padded(out, value.unsigned_abs(), 1);
}

/// Appends a number with zeros before it up to `width` digits, at most 20, to bytes.
#[inline]
pub fn push_padded(out: &mut Vec<u8>, value: u64, width: usize) {
    if width <= 16
        && let Some((digits, len)) = short_digits(value, width)
    {
        return push_word(out, digits, len);
    }
    let (digits, start) = digits_of(value, width);
    out.extend_from_slice(&digits[start..DIGITS_MAX]);
}

/// Appends a number with zeros before it up to `width` digits, at most 20.
pub fn write_padded(out: &mut String, value: u64, width: usize) {
    if width == 2 && value < 100 {
        let at = value as usize * 2;
        // SAFETY: all of `PAIRS` are ASCII digits.
        return out.push_str(unsafe { std::str::from_utf8_unchecked(&PAIRS[at..at + 2]) });
    }
    if width <= 16
        && let Some((digits, len)) = short_digits(value, width)
    {
        let end = out.len() + len;
        let digits = digits.to_le_bytes();
        // SAFETY: all bytes are ASCII digits, or 0.
        out.push_str(unsafe { std::str::from_utf8_unchecked(&digits) });
        return out.truncate(end);
    }
    let (digits, start) = digits_of(value, width);
    // SAFETY: all of `digits` are ASCII digits.
    out.push_str(unsafe { std::str::from_utf8_unchecked(&digits[start..DIGITS_MAX]) });
}

/// The digits of a number with zeros before it, and where they begin.
fn digits_of(mut value: u64, width: usize) -> ([u8; DIGITS_MAX], usize) {
    let mut digits = [b'0'; DIGITS_MAX];
    let mut at = DIGITS_MAX;
    while value >= 100 {
        let pair = (value % 100) as usize * 2;
        value /= 100;
        at -= 2;
        digits[at..at + 2].copy_from_slice(&PAIRS[pair..pair + 2]);
    }
    if value >= 10 {
        let pair = value as usize * 2;
        at -= 2;
        digits[at..at + 2].copy_from_slice(&PAIRS[pair..pair + 2]);
    } else {
        at -= 1;
        digits[at] = b'0' + value as u8;
    }
    (digits, at.min(DIGITS_MAX - width.min(DIGITS_MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_those_of_the_formatter() {
        let mut numbers = vec![0, 1, 9, 10, 99, 100, 101, 999, 12_345, i64::MAX, i64::MIN, -1, -10, -100];
        numbers.extend((0..60).map(|bit| (1i64 << bit) + 7));
        numbers.extend((0..19).flat_map(|power| [-1, 0, 1].map(|by| 10i64.pow(power) + by)));
        numbers.extend((0..19).map(|power| 1 - 10i64.pow(power)));
        numbers.extend((0..40_000).map(|step| step * 257));
        for number in numbers {
            let mut text = String::from("x");
            write_integer(&mut text, number);
            assert_eq!(text, format!("x{number}"));
            let mut bytes = b"x".to_vec();
            push_integer(&mut bytes, number);
            assert_eq!(bytes, text.as_bytes());
            let short = short_integer(number).map(|(word, len)| word.to_le_bytes()[..len].to_vec());
            assert_eq!(short.is_some(), text.len() <= 17);
            assert!(short.is_none_or(|short| short == text.as_bytes()[1..]));
            for width in [0, 1, 2, 4, 9, 15, 16, 17, 20] {
                let mut text = String::new();
                write_padded(&mut text, number.unsigned_abs(), width);
                assert_eq!(text, format!("{:0width$}", number.unsigned_abs()));
                let mut bytes = Vec::new();
                push_padded(&mut bytes, number.unsigned_abs(), width);
                assert_eq!(bytes, text.as_bytes());
            }
        }
        let mut text = String::new();
        write_padded(&mut text, u64::MAX, 3);
        assert_eq!(text, u64::MAX.to_string());
    }
}

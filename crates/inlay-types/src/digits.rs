//! Numbers as digits, without the formatting machinery: exports and casts write millions of them.

#![expect(unsafe_code, reason = "digits that were just written are ASCII")]

/// 00 to 99.
const PAIRS: &[u8; 200] =
    b"0001020304050607080910111213141516171819202122232425262728293031323334353637383940414243444546474849\
5051525354555657585960616263646566676869707172737475767778798081828384858687888990919293949596979899";
/// Digits of the largest number.
const DIGITS_MAX: usize = 20;

/// Appends an integer.
pub fn write_integer(out: &mut String, value: i64) {
    if value < 0 {
        out.push('-');
    }
    write_padded(out, value.unsigned_abs(), 1);
}

/// Appends an integer to bytes.
pub fn push_integer(out: &mut Vec<u8>, value: i64) {
    if let digit @ 0..10 = value {
        return out.push(b'0' + digit as u8);
    }
    if value < 0 {
        out.push(b'-');
    }
    let (digits, start) = digits_of(value.unsigned_abs(), 1);
    push_digits(out, &digits, start);
}

/// Appends a number with zeros before it up to `width` digits, at most 20, to bytes.
pub fn push_padded(out: &mut Vec<u8>, value: u64, width: usize) {
    let (digits, start) = digits_of(value, width);
    push_digits(out, &digits, start);
}

/// Appends the digits from `start` on, and takes back what is behind them: to copy so many bytes needs no call.
#[inline(always)]
fn push_digits(out: &mut Vec<u8>, digits: &[u8; 2 * DIGITS_MAX], start: usize) {
    let end = out.len() + DIGITS_MAX - start;
    if let Some(digits) = digits[start..].first_chunk::<DIGITS_MAX>() {
        out.extend_from_slice(digits);
    }
    out.truncate(end);
}

/// Appends a number with zeros before it up to `width` digits, at most 20.
pub fn write_padded(out: &mut String, value: u64, width: usize) {
    if width == 2 && value < 100 {
        let at = value as usize * 2;
        // SAFETY: all of `PAIRS` are ASCII digits.
        return out.push_str(unsafe { std::str::from_utf8_unchecked(&PAIRS[at..at + 2]) });
    }
    let (digits, start) = digits_of(value, width);
    let end = out.len() + DIGITS_MAX - start;
    if let Some(digits) = digits[start..].first_chunk::<DIGITS_MAX>() {
        // SAFETY: all of `digits` are ASCII digits: so it begins, and what is written to it is.
        out.push_str(unsafe { std::str::from_utf8_unchecked(digits) });
    }
    out.truncate(end);
}

/// The digits of a number with zeros before it, and where they begin; as many bytes are behind them.
#[inline(always)]
fn digits_of(mut value: u64, width: usize) -> ([u8; 2 * DIGITS_MAX], usize) {
    let mut digits = [b'0'; 2 * DIGITS_MAX];
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
        for number in numbers {
            let mut text = String::from("x");
            write_integer(&mut text, number);
            assert_eq!(text, format!("x{number}"));
            let mut bytes = b"x".to_vec();
            push_integer(&mut bytes, number);
            assert_eq!(bytes, text.as_bytes());
            for width in [0, 1, 2, 4, 9, 20] {
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

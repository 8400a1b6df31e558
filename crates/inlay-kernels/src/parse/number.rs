//! Booleans, integers, decimals and floats from text.

use std::borrow::Cow;

/// Why a text is no number of the wanted type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParseError {
    /// Not a number at all.
    Malformed,
    /// A number outside of the type's range.
    OutOfRange,
}

/// The text without surrounding ASCII white space.
pub fn trim(mut text: &[u8]) -> &[u8] {
    while let [b' ' | b'\t' | b'\n' | b'\r', rest @ ..] = text {
        text = rest;
    }
    while let [rest @ .., b' ' | b'\t' | b'\n' | b'\r'] = text {
        text = rest;
    }
    text
}

/// `true`, `false`, `t`, `f`, `yes`, `no`, `y`, `n`, `1`, `0` in any case.
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

/// An integer of up to 128 bits. A fraction is rounded half away from zero, an exponent is applied (`1.5e3`); digits may be
/// grouped (`1_000`) and hexadecimal or binary (`0x1F`, `0b101`).
#[inline]
pub fn int(text: &[u8]) -> Result<i128, ParseError> {
    match short_int(text) {
        Some(number) => Ok(i128::from(number)),
        None => match text {
            [b'0', b'x' | b'X', digits @ ..] => of_radix(digits, 16),
            [b'0', b'b' | b'B', digits @ ..] => of_radix(digits, 2),
            _ => scaled(trim(text), 0),
        },
    }
}

/// Digits of another radix, without sign, perhaps in groups.
fn of_radix(digits: &[u8], radix: u32) -> Result<i128, ParseError> {
    let mut number = 0i128;
    let mut is_behind_digit = false;
    for &byte in digits {
        match char::from(byte).to_digit(radix) {
            Some(digit) => {
                let grown =
                    number.checked_mul(i128::from(radix)).and_then(|n| n.checked_add(i128::from(digit)));
                number = grown.ok_or(ParseError::OutOfRange)?;
                is_behind_digit = true;
            }
            None if byte == b'_' && is_behind_digit => is_behind_digit = false,
            None => return Err(ParseError::Malformed),
        }
    }
    if is_behind_digit { Ok(number) } else { Err(ParseError::Malformed) }
}

/// A plain integer of at most 18 digits, the common case.
#[inline]
fn short_int(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        digits => (false, digits),
    };
    if digits.is_empty() || digits.len() > 18 {
        return None;
    }
    let mut number = 0i64;
    for &byte in digits {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        number = number * 10 + i64::from(digit);
    }
    Some(if negative { -number } else { number })
}

/// A DECIMAL(precision, scale), unscaled; digits behind `scale` are rounded half away from zero.
pub fn decimal(text: &[u8], precision: u8, scale: u8) -> Result<i128, ParseError> {
    if let Some(unscaled) = short_decimal(text, scale) {
        let fits = POWERS.get(usize::from(precision)).is_none_or(|limit| unscaled.unsigned_abs() < *limit);
        return if fits { Ok(i128::from(unscaled)) } else { Err(ParseError::OutOfRange) };
    }
    let unscaled = scaled(trim(text), scale)?;
    if unscaled.unsigned_abs() < 10u128.pow(u32::from(precision.min(38))) {
        Ok(unscaled)
    } else {
        Err(ParseError::OutOfRange)
    }
}

/// Digits of the numbers that are read without 128 bits.
const SHORT_DIGITS: usize = 18;

/// The powers of ten up to so many digits.
const POWERS: [u64; SHORT_DIGITS + 1] = {
    let mut powers = [1; SHORT_DIGITS + 1];
    let mut power = 1;
    while power <= SHORT_DIGITS {
        powers[power] = powers[power - 1] * 10;
        power += 1;
    }
    powers
};

/// Digits with at most one point, [`SHORT_DIGITS`] in all and also when scaled: the common case.
#[inline]
fn short_decimal(text: &[u8], scale: u8) -> Option<i64> {
    let (negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        digits => (false, digits),
    };
    if digits.len() > SHORT_DIGITS + 1 {
        return None;
    }
    // Numbers of one digit more than there may be have room.
    let (mut number, mut behind) = (0u64, None);
    for (at, &byte) in digits.iter().enumerate() {
        let digit = byte.wrapping_sub(b'0');
        if digit <= 9 {
            number = number * 10 + u64::from(digit);
        } else if byte == b'.' && behind.is_none() {
            behind = Some(digits.len() - at - 1);
        } else {
            return None;
        }
    }
    let (seen, behind) = (digits.len() - usize::from(behind.is_some()), behind.unwrap_or(0));
    let missing = usize::from(scale).saturating_sub(behind);
    if seen == 0 || seen + missing > SHORT_DIGITS {
        return None;
    }
    number *= POWERS[missing];
    if let Some(surplus) = behind.checked_sub(usize::from(scale)).filter(|surplus| *surplus > 0) {
        let divisor = POWERS[surplus];
        number = (number + divisor / 2) / divisor;
    }
    let number = number as i64;
    Some(if negative { -number } else { number })
}

/// How many digits a decimal number has behind the point, its exponent applied and without zeros at the end: none in `7.0` and
/// `1.5e1`, two in `0.25`. What is no such number has none.
#[inline]
pub fn fraction_digits(text: &[u8]) -> usize {
    if short_int(text).is_some() || matches!(text, [b'0', b'x' | b'X' | b'b' | b'B', ..]) {
        return 0;
    }
    let text = trim(text);
    let end = text.iter().position(|byte| matches!(byte, b'e' | b'E')).unwrap_or(text.len());
    let (number, power) = text.split_at(end);
    let (mut behind, mut zeros, mut in_fraction, mut is_zero) = (0i64, 0i64, false, true);
    for byte in number {
        match byte {
            b'.' => in_fraction = true,
            b'0'..=b'9' => {
                behind += i64::from(in_fraction);
                zeros = if *byte == b'0' { zeros + 1 } else { 0 };
                is_zero &= *byte == b'0';
            }
            _ => {}
        }
    }
    let power = power.get(1..).unwrap_or_default();
    let power = short_int(power.strip_prefix(b"+").unwrap_or(power)).unwrap_or(0);
    if is_zero { 0 } else { usize::try_from(behind.saturating_sub(zeros).saturating_sub(power)).unwrap_or(0) }
}

/// A trimmed number times `10^scale`, rounded half away from zero.
fn scaled(text: &[u8], scale: u8) -> Result<i128, ParseError> {
    let (negative, magnitude) = signed_magnitude(text, scale)?;
    if negative {
        0i128.checked_sub_unsigned(magnitude).ok_or(ParseError::OutOfRange)
    } else {
        i128::try_from(magnitude).map_err(|_| ParseError::OutOfRange)
    }
}

/// Whether such a number is negative, and its size.
fn signed_magnitude(text: &[u8], scale: u8) -> Result<(bool, u128), ParseError> {
    let (negative, mut rest) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        rest => (false, rest),
    };
    let (mut number, mut exponent, mut digits, mut in_fraction) = (0u128, 0i32, 0usize, false);
    // From the first digit on that does not fit, they only shift the exponent; the first one may be what rounding looks at.
    let mut dropped = None;
    while let [byte, tail @ ..] = rest {
        match byte {
            b'0'..=b'9' => {
                digits += 1;
                let digit = byte - b'0';
                match number.checked_mul(10).and_then(|n| n.checked_add(u128::from(digit))) {
                    Some(grown) if dropped.is_none() => {
                        number = grown;
                        exponent -= i32::from(in_fraction);
                    }
                    Some(_) | None => {
                        dropped = dropped.or(Some(digit));
                        exponent = exponent.saturating_add(i32::from(!in_fraction));
                    }
                }
            }
            b'.' if !in_fraction => in_fraction = true,
            b'_' if digits > 0 && matches!(tail, [b'0'..=b'9', ..]) => {}
            _ => break,
        }
        rest = tail;
    }
    if digits == 0 {
        return Err(ParseError::Malformed);
    }
    match rest {
        [] => {}
        [b'e' | b'E', power @ ..] => {
            let power = short_int(power.strip_prefix(b"+").unwrap_or(power)).ok_or(ParseError::Malformed)?;
            exponent = exponent.saturating_add(power.clamp(-100_000, 100_000) as i32);
        }
        _ => return Err(ParseError::Malformed),
    }
    let power = exponent.saturating_add(i32::from(scale));
    let magnitude = match dropped {
        // With the digit that did not fit it is beyond 128 bits.
        Some(_) if power > 0 => return Err(ParseError::OutOfRange),
        Some(digit) if power == 0 => {
            number.checked_add(u128::from(digit >= 5)).ok_or(ParseError::OutOfRange)?
        }
        Some(_) | None => shift_decimal(number, power)?,
    };
    Ok((negative, magnitude))
}

/// `number * 10^power`, rounded half up.
fn shift_decimal(number: u128, power: i32) -> Result<u128, ParseError> {
    if number == 0 {
        return Ok(0);
    }
    if power >= 0 {
        let factor = 10u128.checked_pow(power.unsigned_abs()).ok_or(ParseError::OutOfRange)?;
        return number.checked_mul(factor).ok_or(ParseError::OutOfRange);
    }
    let Some(divisor) = 10u128.checked_pow(power.unsigned_abs()) else { return Ok(0) };
    Ok(number / divisor + u128::from(number % divisor >= divisor / 2))
}

/// A UHUGEINT.
pub fn unsigned(text: &[u8]) -> Result<u128, ParseError> {
    let text = trim(text);
    let plain = std::str::from_utf8(text).ok().and_then(|t| t.parse().ok());
    match plain {
        Some(number) => Ok(number),
        None => match int(text) {
            // What is greater than any HUGEINT, with a fraction or an exponent.
            Err(ParseError::OutOfRange) => match signed_magnitude(text, 0)? {
                (false, number) | (true, number @ 0) => Ok(number),
                (true, _) => Err(ParseError::OutOfRange),
            },
            found => u128::try_from(found?).map_err(|_| ParseError::OutOfRange),
        },
    }
}

/// A DOUBLE; also `inf`, `infinity`, `nan` in any case.
#[inline]
pub fn double(text: &[u8]) -> Option<f64> {
    fast_float2::parse(text).or_else(|_| fast_float2::parse(&*ungrouped(trim(text)))).ok()
}

/// The text without `_` between digits.
fn ungrouped(text: &[u8]) -> Cow<'_, [u8]> {
    let is_group = |at: usize| {
        let digit = |at: Option<usize>| at.and_then(|at| text.get(at)).is_some_and(u8::is_ascii_digit);
        digit(at.checked_sub(1)) && digit(Some(at + 1))
    };
    if !text.contains(&b'_') {
        return Cow::Borrowed(text);
    }
    let kept = text.iter().enumerate().filter(|&(at, &byte)| byte != b'_' || !is_group(at));
    Cow::Owned(kept.map(|(_, &byte)| byte).collect())
}

/// A REAL; also `inf`, `infinity`, `nan` in any case.
#[inline]
pub fn real(text: &[u8]) -> Option<f32> {
    fast_float2::parse(text).or_else(|_| fast_float2::parse(&*ungrouped(trim(text)))).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_round_and_stay_in_range() {
        assert_eq!(int(b" 12 "), Ok(12));
        assert_eq!(int(b"-9223372036854775808"), Ok(i128::from(i64::MIN)));
        assert_eq!(int(b"2.5"), Ok(3));
        assert_eq!(int(b"-2.5"), Ok(-3));
        assert_eq!(int(b"1e3"), Ok(1000));
        assert_eq!(int(b"1e-3"), Ok(0));
        assert_eq!(int(b"170141183460469231731687303715884105727"), Ok(i128::MAX));
        assert_eq!(int(b"-170141183460469231731687303715884105728"), Ok(i128::MIN));
        assert_eq!(int(b"170141183460469231731687303715884105728"), Err(ParseError::OutOfRange));
        for bad in ["", " ", "-", "abc", "1x", "1.2.3", "e5", "1e", "--1", "."] {
            assert_eq!(int(bad.as_bytes()), Err(ParseError::Malformed), "{bad:?}");
        }
    }

    #[test]
    fn decimals_scale_round_and_stay_in_range() {
        assert_eq!(decimal(b"1.5", 15, 2), Ok(150));
        assert_eq!(decimal(b"-.05", 15, 2), Ok(-5));
        assert_eq!(decimal(b"1.005", 15, 2), Ok(101));
        assert_eq!(decimal(b"-1.005", 15, 2), Ok(-101));
        assert_eq!(decimal(b"1.00499999999999999999999999999999999999999999999", 15, 2), Ok(100));
        assert_eq!(decimal(b"12345.67", 5, 1), Err(ParseError::OutOfRange));
        assert_eq!(decimal(b"99999999999999999999999999999999999999", 38, 0), Ok(10i128.pow(38) - 1));
        assert_eq!(decimal(b"1e38", 38, 0), Err(ParseError::OutOfRange));
        assert_eq!(decimal(b"7", 4, 2), Ok(700));
        assert_eq!(decimal(b"7.", 4, 2), Ok(700));
    }

    #[test]
    fn digits_beyond_128_bits_round_and_overflow() {
        let greatest = "340282366920938463463374607431768211455";
        assert_eq!(unsigned(greatest.as_bytes()), Ok(u128::MAX));
        for beyond in [
            "340282366920938463463374607431768211456",
            "340282366920938463463374607431768211456e0",
            "3402823669209384634633746074317682114560",
            "34028236692093846346337460743176821145.6e1",
        ] {
            assert_eq!(unsigned(beyond.as_bytes()), Err(ParseError::OutOfRange), "{beyond}");
        }
        let expected = 34028236692093846346337460743176821146u128;
        assert_eq!(unsigned(b"34028236692093846346337460743176821145.61"), Ok(expected));
        assert_eq!(decimal(b"5000000000000000000000000000.00000000009", 38, 10), Ok(5 * 10i128.pow(37) + 1));
        assert_eq!(decimal(b"-5000000000000000000000000000.000000000049", 38, 10), Ok(-5 * 10i128.pow(37)));
    }

    /// Short numbers are read another way; both say the same of every number, also around what is short.
    #[test]
    fn short_decimals_are_as_long_ones() {
        let mut state = 1u64;
        let mut below = |bound: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % bound
        };
        let mut short = 0;
        for _ in 0..200_000 {
            let mut text = String::from(["", "-", "+", " "][[0, 0, 1, 1, 2, 3][below(6) as usize]]);
            let len = below(22);
            let point = if below(3) == 0 { u64::MAX } else { below(len + 1) };
            for at in 0..=len {
                if at == point {
                    text.push('.');
                }
                if at < len {
                    // Halves, and many nines, are where rounding goes on.
                    text.push(['0', '9', '5', char::from(b'0' + below(10) as u8)][below(4) as usize]);
                }
            }
            let (precision, scale) = (1 + below(38) as u8, below(20) as u8);
            let limit = 10u128.pow(u32::from(precision));
            let expected = scaled(trim(text.as_bytes()), scale).and_then(|number| {
                if number.unsigned_abs() < limit { Ok(number) } else { Err(ParseError::OutOfRange) }
            });
            assert_eq!(decimal(text.as_bytes(), precision, scale), expected, "{text:?} {precision} {scale}");
            short += u32::from(short_decimal(text.as_bytes(), scale).is_some());
        }
        assert!(short > 50_000, "{short}");
    }

    #[test]
    fn floats_and_booleans() {
        assert_eq!(double(b" 1e3 "), Some(1000.0));
        assert!(double(b"NaN").unwrap().is_nan());
        assert_eq!(double(b"-inf"), Some(f64::NEG_INFINITY));
        assert_eq!(double(b"1,5"), None);
        assert_eq!(boolean(b"True"), Some(true));
        assert_eq!(boolean(b"maybe"), None);
    }
}

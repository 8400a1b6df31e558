//! Values from the text of fields: strict and quick for the forms that files are full of.
//!
//! Every function takes the whole text and returns `None` for anything else; callers then trim, and ask the kernels
//! for rarer forms where a rarer form cannot change a value's meaning.

use inlay_types::datetime::{MICROS_PER_DAY, MICROS_PER_SECOND, days_from_civil, days_in_month};

/// `-12`, of at most 18 digits.
#[inline]
pub(super) fn short_int(text: &[u8]) -> Option<i64> {
    let (negative, digits) = sign(text);
    if digits.is_empty() || digits.len() > 18 {
        return None;
    }
    let mut value = 0i64;
    for &byte in digits {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value * 10 + i64::from(digit);
    }
    Some(if negative { -value } else { value })
}

/// `-12` of any length that fits, also `+12`.
pub(super) fn int(text: &[u8]) -> Option<i128> {
    if let Some(value) = short_int(text) {
        return Some(value.into());
    }
    std::str::from_utf8(text).ok()?.parse().ok()
}

#[inline]
fn sign(text: &[u8]) -> (bool, &[u8]) {
    match text {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    }
}

/// Powers of ten that a double holds exactly.
const TENS: [f64; 16] =
    [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15];

/// A double in any notation. Up to 15 digits are a whole number divided by a power of ten, which rounds once.
#[inline]
pub(super) fn double(text: &[u8]) -> Option<f64> {
    let (negative, digits) = sign(text);
    if digits.len() <= 16
        && let Some((value, scale)) = plain_decimal(digits)
        && value < 1_000_000_000_000_000
    {
        let magnitude = value as f64 / TENS[scale.min(15)];
        return Some(if negative { -magnitude } else { magnitude });
    }
    fast_float2::parse(text).ok()
}

/// Digits with at most one point, at most 18 of them, without sign: the number without its point, and the digits behind it.
#[inline]
fn plain_decimal(text: &[u8]) -> Option<(i64, usize)> {
    let (mut value, mut point) = (0i64, None);
    if text.len() > 19 {
        return None;
    }
    for (at, &byte) in text.iter().enumerate() {
        let digit = byte.wrapping_sub(b'0');
        if digit <= 9 {
            value = value.wrapping_mul(10).wrapping_add(i64::from(digit));
        } else if byte == b'.' && point.is_none() {
            point = Some(at);
        } else {
            return None;
        }
    }
    let digit_count = text.len() - usize::from(point.is_some());
    if digit_count == 0 || digit_count > 18 {
        return None;
    }
    Some((value, point.map_or(0, |at| text.len() - at - 1)))
}

const INT_TENS: [i64; 19] = {
    let mut tens = [1i64; 19];
    let mut index = 1;
    while index < 19 {
        tens[index] = tens[index - 1] * 10;
        index += 1;
    }
    tens
};

/// A decimal with `scale` digits behind the point, unscaled, below `10^precision`; further digits are rounded half
/// away from zero.
#[inline]
pub(super) fn decimal(text: &[u8], precision: u8, scale: u8) -> Option<i128> {
    let (negative, digits) = sign(text);
    let scale_digits = usize::from(scale);
    let quick = plain_decimal(digits).and_then(|(value, found)| match found.cmp(&scale_digits) {
        std::cmp::Ordering::Greater => {
            let power = INT_TENS[found - scale_digits];
            Some(i128::from(value / power + i64::from(value % power >= power - power / 2)))
        }
        _ => i128::from(value).checked_mul(i128::from(*INT_TENS.get(scale_digits - found)?)),
    });
    match quick {
        Some(value) if value < 10i128.pow(u32::from(precision)) => {
            Some(if negative { -value } else { value })
        }
        Some(_) => None,
        None => inlay_kernels::parse::decimal(text, precision, scale).ok(),
    }
}

#[inline]
fn two(text: &[u8], at: usize) -> Option<u32> {
    let (a, b) = (text.get(at)?.wrapping_sub(b'0'), text.get(at + 1)?.wrapping_sub(b'0'));
    (a <= 9 && b <= 9).then(|| u32::from(a) * 10 + u32::from(b))
}

/// `2024-02-29`, as days since 1970-01-01.
#[inline]
pub(super) fn date(text: &[u8]) -> Option<i32> {
    if text.len() != 10 || text[4] != b'-' || text[7] != b'-' {
        return None;
    }
    civil(two(text, 0)? * 100 + two(text, 2)?, two(text, 5)?, two(text, 8)?)
}

fn civil(year: u32, month: u32, day: u32) -> Option<i32> {
    let year = i32::try_from(year).ok()?;
    let fits = (1..=12).contains(&month) && day >= 1 && day <= days_in_month(year, month);
    fits.then(|| days_from_civil(year, month, day))
}

/// `23:59:59` with an optional fraction, as microseconds since midnight.
#[inline]
pub(super) fn time(text: &[u8]) -> Option<i64> {
    if text.len() < 8 || text[2] != b':' || text[5] != b':' {
        return None;
    }
    let (hour, minute, second) = (two(text, 0)?, two(text, 3)?, two(text, 6)?);
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let seconds = i64::from(hour * 3600 + minute * 60 + second);
    Some(seconds * MICROS_PER_SECOND + fraction(&text[8..])?)
}

/// Nothing, or a point and one to nine digits; as microseconds, cut off.
fn fraction(text: &[u8]) -> Option<i64> {
    let digits = match text {
        [] => return Some(0),
        [b'.', digits @ ..] if (1..=9).contains(&digits.len()) => digits,
        _ => return None,
    };
    let nanos = short_int(digits).filter(|&v| v >= 0 && digits[0] != b'-')? * INT_TENS[9 - digits.len()];
    Some(nanos / 1000)
}

/// `2024-02-29 23:59:59` with `T` or a space, a fraction, and `Z`, or a date alone; as microseconds since 1970-01-01.
#[inline]
pub(super) fn timestamp(text: &[u8]) -> Option<i64> {
    let days = i64::from(date(text.get(..10)?)?);
    let within = match &text[10..] {
        [] => 0,
        [b' ' | b'T', rest @ .., b'Z'] | [b' ' | b'T', rest @ ..] => time(rest)?,
        _ => return None,
    };
    Some(days * MICROS_PER_DAY + within)
}

/// `true`, `false`, `t`, `f` in any case.
pub(super) fn boolean(text: &[u8]) -> Option<bool> {
    match text.len() {
        1 => match text[0] {
            b't' | b'T' => Some(true),
            b'f' | b'F' => Some(false),
            _ => None,
        },
        4 => text.eq_ignore_ascii_case(b"true").then_some(true),
        5 => text.eq_ignore_ascii_case(b"false").then_some(false),
        _ => None,
    }
}

/// A date and time in a format as for `strptime`: days since 1970-01-01, microseconds since midnight.
///
/// Knows `%Y %y %m %d %H %I %M %S %f %p %b %B %j %%`, `%F` and `%T`.
pub(super) fn formatted(text: &[u8], format: &str) -> Option<(i32, i64)> {
    let mut fields = Fields { year: 1970, month: 1, day: 1, ..Fields::default() };
    let rest = fields.read(text, format.as_bytes())?;
    if !rest.is_empty() {
        return None;
    }
    let hour = match fields.afternoon {
        Some(_) if !(1..=12).contains(&fields.hour) => return None,
        Some(afternoon) => fields.hour % 12 + if afternoon { 12 } else { 0 },
        None => fields.hour,
    };
    if hour > 23 || fields.minute > 59 || fields.second > 59 {
        return None;
    }
    let days = match fields.day_of_year {
        Some(day) => {
            let first = civil(fields.year, 1, 1)?;
            let days = first + i32::try_from(day).ok()?.checked_sub(1)?;
            (day >= 1 && days < civil(fields.year + 1, 1, 1)?).then_some(days)?
        }
        None => civil(fields.year, fields.month, fields.day)?,
    };
    let seconds = i64::from(hour * 3600 + fields.minute * 60 + fields.second);
    Some((days, seconds * MICROS_PER_SECOND + fields.micros))
}

#[derive(Default)]
struct Fields {
    year: u32,
    month: u32,
    day: u32,
    hour: u32,
    minute: u32,
    second: u32,
    micros: i64,
    day_of_year: Option<u32>,
    afternoon: Option<bool>,
}

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

impl Fields {
    fn read<'a>(&mut self, mut text: &'a [u8], format: &[u8]) -> Option<&'a [u8]> {
        let mut format = format.iter();
        while let Some(&c) = format.next() {
            if c != b'%' {
                text = text.strip_prefix(&[c])?;
                continue;
            }
            match format.next()? {
                b'Y' => self.year = number(&mut text, 4)?,
                b'y' => {
                    let short = number(&mut text, 2)?;
                    self.year = if short < 69 { 2000 + short } else { 1900 + short };
                }
                b'm' => self.month = number(&mut text, 2)?,
                b'd' => self.day = number(&mut text, 2)?,
                b'j' => self.day_of_year = Some(number(&mut text, 3)?),
                b'H' | b'I' => self.hour = number(&mut text, 2)?,
                b'M' => self.minute = number(&mut text, 2)?,
                b'S' => self.second = number(&mut text, 2)?,
                b'f' => {
                    let before = text.len();
                    let value = number(&mut text, 6)?;
                    self.micros = i64::from(value) * INT_TENS[6 - (before - text.len())];
                }
                b'p' => {
                    self.afternoon = Some(text.first()?.eq_ignore_ascii_case(&b'p'));
                    let word = text.get(..2)?;
                    if !word.eq_ignore_ascii_case(b"am") && !word.eq_ignore_ascii_case(b"pm") {
                        return None;
                    }
                    text = &text[2..];
                }
                letter @ (b'b' | b'B') => {
                    let length = |name: &str| if *letter == b'b' { 3 } else { name.len() };
                    let fits = |name: &&str| {
                        text.get(..length(name))
                            .is_some_and(|t| t.eq_ignore_ascii_case(&name.as_bytes()[..length(name)]))
                    };
                    let index = MONTHS.iter().position(fits)?;
                    text = &text[length(MONTHS[index])..];
                    self.month = index as u32 + 1;
                }
                b'F' => text = self.read(text, b"%Y-%m-%d")?,
                b'T' => text = self.read(text, b"%H:%M:%S")?,
                b'%' => text = text.strip_prefix(b"%")?,
                _ => return None,
            }
        }
        Some(text)
    }
}

/// Takes one to `max` digits.
fn number(text: &mut &[u8], max: usize) -> Option<u32> {
    let count = text.iter().take(max).take_while(|b| b.is_ascii_digit()).count();
    let value = short_int(&text[..count])?;
    *text = &text[count..];
    u32::try_from(value).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        assert_eq!(short_int(b"-123456789012345678"), Some(-123_456_789_012_345_678));
        for text in ["", "-", "1.0", "1e3", "0x1", "1234567890123456789", " 1"] {
            assert_eq!(short_int(text.as_bytes()), None, "{text}");
        }
        assert_eq!(int(b"+9223372036854775808"), Some(1 << 63));
        assert_eq!(double(b"-24710.35"), Some(-24710.35));
        assert_eq!(double(b"0.1"), Some(0.1));
        assert_eq!(double(b"1e-7"), Some(1e-7));
        assert_eq!(double(b"123456789.123456789"), Some(123_456_789.123_456_79));
        assert_eq!(double(b"."), None);
        assert_eq!(double(b"1.2.3"), None);
        assert_eq!(decimal(b"-1.005", 15, 2), Some(-101));
        assert_eq!(decimal(b"1.004999", 15, 2), Some(100));
        assert_eq!(decimal(b"7", 3, 2), Some(700));
        assert_eq!(decimal(b"10", 3, 2), None);
    }

    #[test]
    fn points_in_time() {
        assert_eq!(date(b"1970-01-02"), Some(1));
        assert_eq!(date(b"2023-02-29"), None);
        assert_eq!(time(b"00:00:01.5"), Some(1_500_000));
        assert_eq!(time(b"24:00:00"), None);
        assert_eq!(timestamp(b"1970-01-02T00:00:01Z"), Some(MICROS_PER_DAY + MICROS_PER_SECOND));
        assert_eq!(timestamp(b"1970-01-02"), Some(MICROS_PER_DAY));
        assert_eq!(
            formatted(b"2/1/70 1:30 PM", "%d/%m/%y %I:%M %p"),
            Some((1, 13 * 3_600_000_000 + 1_800_000_000))
        );
        assert_eq!(formatted(b"Feb 1970 3", "%b %Y %d"), Some((33, 0)));
        assert_eq!(formatted(b"1970-060", "%Y-%j"), Some((59, 0)));
        assert_eq!(formatted(b"1970-13-01", "%Y-%m-%d"), None);
    }
}

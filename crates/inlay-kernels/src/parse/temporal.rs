//! Dates, times and timestamps from text, as liberal as DuckDB.

use super::trim;
use inlay_types::TimeTz;
use inlay_types::datetime::{
    DATE_INFINITY, MICROS_PER_DAY, MICROS_PER_SECOND, TIMESTAMP_INFINITY, days_from_civil, days_in_month,
    is_timestamp, midnight,
};
use inlay_types::time_tz::MAX_OFFSET;

/// `2024-02-29` (also `2024/2/29`, `-0044-03-15`, `0044-03-15 (BC)`, `infinity`, `epoch`), as days since 1970-01-01.
#[inline]
pub fn date(text: &[u8]) -> Option<i32> {
    if let Some(days) = plain_date(text) {
        return Some(days);
    }
    let text = trim(text);
    if let Some(days) = special_date(text) {
        return Some(days);
    }
    let (days, rest) = date_prefix(text)?;
    // A time behind a date is checked and left out.
    if rest.is_empty() || clock_and_zone(rest).is_some() { Some(days) } else { None }
}

/// Exactly `YYYY-MM-DD`, the common case.
#[inline]
fn plain_date(text: &[u8]) -> Option<i32> {
    let text: &[u8; 10] = text.try_into().ok()?;
    let digit = |at: usize| u32::from(text[at].wrapping_sub(b'0'));
    let all = [0, 1, 2, 3, 5, 6, 8, 9].iter().fold(0, |worst, &at| worst.max(digit(at)));
    if all > 9 || text[4] != b'-' || text[7] != b'-' {
        return None;
    }
    let year = digit(0) * 1000 + digit(1) * 100 + digit(2) * 10 + digit(3);
    civil(year as i32, digit(5) * 10 + digit(6), digit(8) * 10 + digit(9))
}

/// A word that stands for a date.
pub fn special_date(text: &[u8]) -> Option<i32> {
    if !text.iter().rev().take(2).all(u8::is_ascii_alphabetic) {
        return None;
    }
    let (negative, word) = text.strip_prefix(b"-").map_or((false, text), |word| (true, word));
    if word.eq_ignore_ascii_case(b"infinity") || word.eq_ignore_ascii_case(b"inf") {
        return Some(if negative { -DATE_INFINITY } else { DATE_INFINITY });
    }
    (!negative && word.eq_ignore_ascii_case(b"epoch")).then_some(0)
}

fn civil(year: i32, month: u32, day: u32) -> Option<i32> {
    let exists = (1..=12).contains(&month) && day >= 1 && day <= days_in_month(year, month);
    // 5877642-06-25 (BC) to 5881580-07-10 fit into 32 bits.
    let in_range = (-5_877_641, 6, 25) <= (year, month, day) && (year, month, day) <= (5_881_580, 7, 10);
    (exists && in_range).then(|| days_from_civil(year, month, day))
}

/// Up to `max` digits, at most 19, as a number, and what follows; nothing if it is too large.
pub(super) fn digits(text: &[u8], max: usize) -> Option<(u32, &[u8])> {
    let count = text.iter().take(max).take_while(|b| b.is_ascii_digit()).count();
    let number = text[..count].iter().fold(0, |n, b| n * 10 + u64::from(b - b'0'));
    (count > 0).then_some((u32::try_from(number).ok()?, &text[count..]))
}

/// A date and what follows it.
fn date_prefix(text: &[u8]) -> Option<(i32, &[u8])> {
    let (negative, rest) = match text {
        [b'-', rest @ ..] => (true, rest),
        rest => (false, rest),
    };
    let (year, rest) = digits(rest, 7)?;
    let (separator, rest) = rest.split_first().filter(|(b, _)| matches!(b, b'-' | b'/' | b'\\' | b' '))?;
    let (month, rest) = digits(rest, 2)?;
    let rest = rest.strip_prefix(&[*separator])?;
    let (day, rest) = digits(rest, 2)?;
    if rest.first().is_some_and(u8::is_ascii_digit) {
        return None;
    }
    let (is_bc, rest) = match rest.split_at_checked(5) {
        Some((mark, rest)) if mark.eq_ignore_ascii_case(b" (BC)") => (true, rest),
        _ => (false, rest),
    };
    if is_bc && (negative || year == 0) {
        return None;
    }
    let year = if is_bc { 1 - year as i32 } else { year as i32 };
    Some((civil(if negative { -year } else { year }, month, day)?, rest))
}

/// `23:59:59.5`, `23:59`, as microseconds since midnight; a date before it and a zone behind it are left out.
pub fn time(text: &[u8]) -> Option<i64> {
    let text = trim(text);
    let found = match clock_and_zone(text) {
        Some(found) => found,
        None => clock_and_zone(date_prefix(text)?.1)?,
    };
    Some(found.0 / 1000)
}

/// `23:59:59.5+01`; without an offset, that of `offset`. `None`: malformed.
pub fn time_tz(text: &[u8], offset: i32) -> Option<TimeTz> {
    let text = trim(text);
    let (has_date, (nanos, zone)) = match clock_and_zone(text) {
        Some(found) => (false, found),
        None => (true, clock_and_zone(date_prefix(text)?.1)?),
    };
    let micros = nanos / 1000;
    match zone {
        Suffix::None => Some(TimeTz { micros, offset }),
        Suffix::Offset(own) if own.abs() > MAX_OFFSET => None,
        // A moment, shown in UTC.
        Suffix::Offset(own) if has_date => {
            let utc = (micros - i64::from(own) * MICROS_PER_SECOND).rem_euclid(MICROS_PER_DAY);
            Some(TimeTz { micros: utc, offset: 0 })
        }
        Suffix::Offset(own) => Some(TimeTz { micros, offset: own }),
        Suffix::Name(_) => None,
    }
}

/// What stands behind a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Suffix<'a> {
    /// Nothing.
    None,
    /// An offset in seconds; `Z` is 0.
    Offset(i32),
    /// Something that may be the name of a zone.
    Name(&'a [u8]),
}

/// `HH:MM[:SS[.fffffffff]]` with any number of hours, as nanoseconds, and what follows.
pub(super) fn clock(text: &[u8]) -> Option<(i128, &[u8])> {
    let (hours, rest) = digits(text, 10)?;
    let (minutes, mut rest) = digits(rest.strip_prefix(b":")?, 2)?;
    let (mut seconds, mut fraction) = (0, 0);
    if let Some(after) = rest.strip_prefix(b":") {
        // A colon at the end is forgiven, as in DuckDB.
        if !after.is_empty() {
            (seconds, rest) = digits(after, 2)?;
        } else {
            rest = after;
        }
        if let Some(after) = rest.strip_prefix(b".") {
            (fraction, rest) = fraction_nanos(after);
        }
    }
    if minutes > 59 || seconds > 59 {
        return None;
    }
    let whole = i128::from(hours) * 3600 + i128::from(minutes) * 60 + i128::from(seconds);
    Some((whole * 1_000_000_000 + i128::from(fraction), rest))
}

/// Digits behind a point as nanoseconds (further ones are cut off), and what follows.
fn fraction_nanos(text: &[u8]) -> (i64, &[u8]) {
    let count = text.iter().take_while(|b| b.is_ascii_digit()).count();
    let mut nanos = 0;
    for digit in text[..count].iter().chain(std::iter::repeat(&b'0')).take(9) {
        nanos = nanos * 10 + i64::from(digit - b'0');
    }
    (nanos, &text[count..])
}

/// Nanoseconds of a time of day, perhaps behind `T` or spaces, and its zone; to the end of the text.
fn clock_and_zone(text: &[u8]) -> Option<(i64, Suffix<'_>)> {
    let text = match text {
        [b'T' | b't', rest @ ..] if rest.first().is_some_and(u8::is_ascii_digit) => rest,
        rest => trim(rest),
    };
    let (nanos, rest) = clock(text)?;
    let nanos = i64::try_from(nanos).ok().filter(|nanos| *nanos <= MICROS_PER_DAY * 1000)?;
    suffix(rest).map(|suffix| (nanos, suffix))
}

fn suffix(rest: &[u8]) -> Option<Suffix<'_>> {
    let is_apart = rest.first() == Some(&b' ');
    match trim(rest) {
        [] => Some(Suffix::None),
        b"Z" | b"z" => Some(Suffix::Offset(0)),
        word if word.eq_ignore_ascii_case(b"(BC)") => None,
        word @ [b'+' | b'-', ..] => utc_offset(word).map(Suffix::Offset),
        word => {
            let is_name = word.iter().all(|b| b.is_ascii_alphanumeric() || b"/_-+:".contains(b));
            (is_apart && is_name).then_some(Suffix::Name(word))
        }
    }
}

/// `+01`, `-03:30`, `+0530`, `+00:17:30` in seconds.
fn utc_offset(text: &[u8]) -> Option<i32> {
    let (sign, rest) = text.split_first()?;
    let two = |rest: &[u8]| -> Option<i32> {
        let pair = rest.get(..2)?;
        let (number, _) = digits(pair, 2).filter(|_| pair.iter().all(u8::is_ascii_digit))?;
        Some(number as i32)
    };
    let mut seconds = two(rest)? * 3600;
    let mut rest = &rest[2..];
    for unit in [60, 1] {
        if rest.is_empty() {
            break;
        }
        let tail = rest.strip_prefix(b":").unwrap_or(rest);
        seconds += two(tail).filter(|n| *n < 60)? * unit;
        rest = &tail[2..];
    }
    let fits = rest.is_empty() && seconds < 100 * 3600;
    fits.then_some(if *sign == b'-' { -seconds } else { seconds })
}

/// `+2`, `-3:30`, `+0530`, of less than a day, in seconds: what follows `UTC` in a zone's name.
pub fn utc_offset_liberal(text: &[u8]) -> Option<i32> {
    let (sign, rest) = text.split_first().filter(|(b, _)| matches!(b, b'+' | b'-'))?;
    let mut padded = vec![*sign];
    if rest.get(1).is_none_or(|b| *b == b':') {
        padded.push(b'0');
    }
    padded.extend_from_slice(rest);
    utc_offset(&padded).filter(|seconds| seconds.abs() < 86_400)
}

/// A timestamp as written: nanoseconds of a day's clock, its day, and the zone. `None`: malformed.
fn moment(text: &[u8]) -> Option<(i32, i64, Suffix<'_>)> {
    let text = trim_start(text);
    if let Some(days) = special_date(trim(text)) {
        return Some((days, 0, Suffix::None));
    }
    let (days, rest) = date_prefix(text)?;
    if rest.is_empty() {
        return Some((days, 0, Suffix::None));
    }
    let (nanos, suffix) = clock_and_zone(rest)?;
    Some((days, nanos, suffix))
}

fn trim_start(text: &[u8]) -> &[u8] {
    let start = text.iter().position(|b| !b.is_ascii_whitespace()).unwrap_or(text.len());
    &text[start..]
}

/// `2024-02-29 23:59:59.5`, `2024-02-29T23:59:59Z` or `2024-02-29`, as microseconds since 1970-01-01. An offset or zone
/// behind it is left out, as TIMESTAMP has none.
#[inline]
pub fn timestamp(text: &[u8]) -> Option<i64> {
    if let Some(micros) = plain_timestamp(text) {
        return Some(micros);
    }
    let (days, nanos, _) = moment(text)?;
    at_micros(days, nanos)
}

/// Exactly `YYYY-MM-DD HH:MM:SS`, the common case.
#[inline]
fn plain_timestamp(text: &[u8]) -> Option<i64> {
    let text: &[u8; 19] = text.try_into().ok()?;
    let days = plain_date(&text[..10])?;
    let pair = |at: usize| {
        let (tens, ones) = (text[at].wrapping_sub(b'0'), text[at + 1].wrapping_sub(b'0'));
        if tens > 9 || ones > 9 { i64::MAX } else { i64::from(tens * 10 + ones) }
    };
    let (hour, minute, second) = (pair(11), pair(14), pair(17));
    let marks = text[10] == b' ' && text[13] == b':' && text[16] == b':';
    if !marks || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    Some(i64::from(days) * MICROS_PER_DAY + ((hour * 60 + minute) * 60 + second) * MICROS_PER_SECOND)
}

fn at_micros(days: i32, nanos: i64) -> Option<i64> {
    let start = i128::from(days) * i128::from(MICROS_PER_DAY);
    if matches!(midnight(days), Some(TIMESTAMP_INFINITY) | Some(-9_223_372_036_854_775_807)) {
        return midnight(days);
    }
    i64::try_from(start + i128::from(nanos / 1000)).ok().filter(|at| is_timestamp(*at))
}

/// Like [`timestamp`], in nanoseconds.
pub fn timestamp_nanos(text: &[u8]) -> Option<i64> {
    let (days, nanos, _) = moment(text)?;
    match midnight(days) {
        Some(at) if at == TIMESTAMP_INFINITY || at == -TIMESTAMP_INFINITY => return Some(at),
        _ => {}
    }
    let at = i128::from(days) * i128::from(MICROS_PER_DAY) * 1000 + i128::from(nanos);
    i64::try_from(at).ok().filter(|at| at.unsigned_abs() < i64::MAX as u64)
}

/// Like [`timestamp`], in seconds, rounded.
pub fn timestamp_seconds(text: &[u8]) -> Option<i64> {
    timestamp(text).map(|at| if is_timestamp(at) { round_to(at, MICROS_PER_SECOND) } else { at })
}

/// Like [`timestamp`], in milliseconds, rounded.
pub fn timestamp_millis(text: &[u8]) -> Option<i64> {
    timestamp(text).map(|at| if is_timestamp(at) { round_to(at, 1000) } else { at })
}

/// Local microseconds since 1970-01-01 and the zone behind them. Special words are in UTC.
pub fn timestamp_tz(text: &[u8]) -> Option<(i64, Suffix<'_>)> {
    let (days, nanos, suffix) = moment(text)?;
    let is_word = special_date(trim(text)).is_some();
    Some((at_micros(days, nanos)?, if is_word { Suffix::Offset(0) } else { suffix }))
}

/// `at / unit`, rounded half away from zero.
pub fn round_to(at: i64, unit: i64) -> i64 {
    let (quotient, rest) = (at / unit, at % unit);
    quotient + if rest.abs() >= unit - rest.abs() { rest.signum() } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_exist_or_are_refused() {
        assert_eq!(date(b"1970-01-02"), Some(1));
        assert_eq!(date(b" 2024/2/9 "), Some(days_from_civil(2024, 2, 9)));
        assert_eq!(date(b"2024 2 9"), Some(days_from_civil(2024, 2, 9)));
        assert_eq!(date(b"0044-03-15 (BC)"), Some(days_from_civil(-43, 3, 15)));
        assert_eq!(date(b"2024-02-29 10:00:00"), Some(days_from_civil(2024, 2, 29)));
        assert_eq!(date(b"-Infinity"), Some(-DATE_INFINITY));
        assert_eq!(date(b"5881580-07-10"), Some(DATE_INFINITY - 1));
        for bad in [
            "2023-02-29",
            "2024-13-01",
            "2024-00-01",
            "20240101",
            "",
            "2024-01",
            "2024-01-01x",
            "2024-1-1-1",
            "5881580-07-11",
            "2024-01-011",
            "+infinity",
        ] {
            assert_eq!(date(bad.as_bytes()), None, "{bad}");
        }
    }

    #[test]
    fn times_and_timestamps() {
        assert_eq!(time(b"00:00:01.5"), Some(1_500_000));
        assert_eq!(time(b"24:00:00"), Some(MICROS_PER_DAY));
        assert_eq!(time(b"2024-01-01 00:00:01"), Some(1_000_000));
        for bad in ["25:00", "10:60", "10:20:60", "10", "24:00:01", "4294967296:00:00", "9999999999:00"] {
            assert_eq!(time(bad.as_bytes()), None, "{bad}");
        }
        let noon = timestamp(b"2000-01-01 12:00").unwrap();
        for text in [
            "2000-01-01T12:00:00Z",
            "2000-01-01 12:00:00.000000+02:00",
            "2000-01-01 12:00 nonsense",
            " 2000-1-1  12:00:00 UTC ",
        ] {
            assert_eq!(timestamp(text.as_bytes()), Some(noon), "{text}");
        }
        assert_eq!(timestamp(b"2000-01-01"), Some(noon - MICROS_PER_DAY / 2));
        for bad in [
            "2000-01-01 ",
            "2000-01-01T",
            "2000-01-01 10",
            "2000-01-01 12:00:00+2",
            "2000-01-01 4294967308:00",
        ] {
            assert_eq!(timestamp(bad.as_bytes()), None, "{bad}");
        }
        assert_eq!(timestamp_tz(b"2000-01-01 12:00:00-03:30"), Some((noon, Suffix::Offset(-12_600))));
        assert_eq!(timestamp_tz(b"2000-01-01 12:00 CET"), Some((noon, Suffix::Name(b"CET"))));
        assert_eq!(timestamp_nanos(b"1970-01-01 00:00:00.123456789"), Some(123_456_789));
    }
}

//! Dates, times, timestamps and intervals from text.

use super::trim;
use inlay_types::Interval;
use inlay_types::datetime::{MICROS_PER_DAY, MICROS_PER_SECOND, days_from_civil, days_in_month};

/// `2024-02-29` (also `2024/2/29`, `-0044-03-15`, `0044-03-15 (BC)`), as days since 1970-01-01.
#[inline]
pub fn date(text: &[u8]) -> Option<i32> {
    if let Some(days) = plain_date(text) {
        return Some(days);
    }
    let (days, rest) = date_prefix(trim(text))?;
    // A time behind a date is checked and left out.
    if rest.is_empty() || time_of_timestamp(rest).is_some() { Some(days) } else { None }
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

fn civil(year: i32, month: u32, day: u32) -> Option<i32> {
    let exists = (1..=12).contains(&month) && day >= 1 && day <= days_in_month(year, month);
    (exists && (-5_877_641..=5_881_580).contains(&year)).then(|| days_from_civil(year, month, day))
}

/// Up to `max` digits as a number, and what follows.
fn digits(text: &[u8], max: usize) -> Option<(u32, &[u8])> {
    let count = text.iter().take(max).take_while(|b| b.is_ascii_digit()).count();
    let number = text[..count].iter().fold(0, |n, b| n * 10 + u32::from(b - b'0'));
    (count > 0).then(|| (number, &text[count..]))
}

/// A date and what follows it.
fn date_prefix(text: &[u8]) -> Option<(i32, &[u8])> {
    let (negative, rest) = match text {
        [b'-', rest @ ..] => (true, rest),
        rest => (false, rest),
    };
    let (year, rest) = digits(rest, 7)?;
    let (separator, rest) = rest.split_first().filter(|(b, _)| matches!(b, b'-' | b'/' | b'\\'))?;
    let (month, rest) = digits(rest, 2)?;
    let rest = rest.strip_prefix(&[*separator])?;
    let (day, rest) = digits(rest, 2)?;
    let (is_bc, rest) = match rest.strip_prefix(b" (BC)") {
        Some(rest) => (true, rest),
        None => (false, rest),
    };
    let year = if is_bc { 1 - year as i32 } else { year as i32 };
    Some((civil(if negative { -year } else { year }, month, day)?, rest))
}

/// `23:59:59.5`, `23:59`, as microseconds since midnight.
pub fn time(text: &[u8]) -> Option<i64> {
    let (micros, rest) = clock(trim(text))?;
    (rest.is_empty() && micros <= MICROS_PER_DAY).then_some(micros)
}

/// `HH:MM[:SS[.ffffff]]` with any number of hours, and what follows.
fn clock(text: &[u8]) -> Option<(i64, &[u8])> {
    let (hours, rest) = digits(text, 9)?;
    let (minutes, mut rest) = digits(rest.strip_prefix(b":")?, 2)?;
    let (mut seconds, mut fraction) = (0, 0);
    if let Some(after) = rest.strip_prefix(b":") {
        (seconds, rest) = digits(after, 2)?;
        if let Some(after) = rest.strip_prefix(b".") {
            (fraction, rest) = fraction_micros(after);
        }
    }
    if minutes > 59 || seconds > 59 {
        return None;
    }
    let whole = i64::from(hours) * 3600 + i64::from(minutes) * 60 + i64::from(seconds);
    Some((whole * MICROS_PER_SECOND + fraction, rest))
}

/// Digits behind a point as microseconds (further ones are cut off), and what follows.
fn fraction_micros(text: &[u8]) -> (i64, &[u8]) {
    let count = text.iter().take_while(|b| b.is_ascii_digit()).count();
    let mut micros = 0;
    for digit in text[..count].iter().chain(std::iter::repeat(&b'0')).take(6) {
        micros = micros * 10 + i64::from(digit - b'0');
    }
    (micros, &text[count..])
}

/// The part of a timestamp behind the date: `T10:00:00Z`, ` 10:00`. An offset is checked and left out, as TIMESTAMP has no
/// zone.
fn time_of_timestamp(text: &[u8]) -> Option<i64> {
    let text = match text {
        [b'T' | b't' | b' ', rest @ ..] => trim(rest),
        _ => return None,
    };
    if text.is_empty() {
        return Some(0);
    }
    let (micros, rest) = clock(text)?;
    if micros > MICROS_PER_DAY {
        return None;
    }
    let rest = trim(rest);
    let offset = match rest {
        [] | b"Z" | b"z" => return Some(micros),
        _ if rest.eq_ignore_ascii_case(b"UTC") => return Some(micros),
        [b'+' | b'-', offset @ ..] => offset,
        _ => return None,
    };
    let (_, rest) = digits(offset, 2)?;
    let rest = match rest {
        [] => rest,
        [b':', minutes @ ..] => digits(minutes, 2)?.1,
        minutes => digits(minutes, 2)?.1,
    };
    rest.is_empty().then_some(micros)
}

/// `2024-02-29 23:59:59.5`, `2024-02-29T23:59:59Z` or `2024-02-29`, as microseconds since 1970-01-01.
pub fn timestamp(text: &[u8]) -> Option<i64> {
    let (days, rest) = date_prefix(trim(text))?;
    let time = if rest.is_empty() { 0 } else { time_of_timestamp(rest)? };
    i64::from(days).checked_mul(MICROS_PER_DAY)?.checked_add(time)
}

/// `1 year 2 months 3 days 04:05:06.5`, `90 days`, `-1 month`, `1.5 hours`, `1 day ago`.
pub fn interval(text: &[u8]) -> Option<Interval> {
    let mut rest = trim(text);
    if rest.is_empty() {
        return None;
    }
    let mut total = Interval::default();
    let mut negate = false;
    while !rest.is_empty() {
        if rest.eq_ignore_ascii_case(b"ago") {
            negate = true;
            break;
        }
        let (negative, unsigned) = match rest {
            [b'-', tail @ ..] => (true, trim(tail)),
            [b'+', tail @ ..] => (false, trim(tail)),
            tail => (false, tail),
        };
        if let Some((micros, tail)) = clock(unsigned) {
            total.micros = total.micros.checked_add(if negative { -micros } else { micros })?;
            rest = trim(tail);
            continue;
        }
        let (amount, tail) = amount(unsigned)?;
        let amount = if negative { -amount } else { amount };
        let tail = trim(tail);
        let length =
            tail.iter().take_while(|b| b.is_ascii_alphabetic() || **b == b'\xC2' || **b == b'\xB5').count();
        add_unit(&mut total, amount, &tail[..length])?;
        rest = trim(tail[length..].strip_prefix(b",").unwrap_or(&tail[length..]));
    }
    if negate {
        total.months = total.months.checked_neg()?;
        total.days = total.days.checked_neg()?;
        total.micros = total.micros.checked_neg()?;
    }
    Some(total)
}

/// An amount in millionths, and what follows.
fn amount(text: &[u8]) -> Option<(i128, &[u8])> {
    let count = text.iter().take_while(|b| b.is_ascii_digit()).count();
    if count == 0 || count > 18 {
        return None;
    }
    let whole = text[..count].iter().fold(0i128, |n, b| n * 10 + i128::from(b - b'0'));
    let (fraction, rest) = match &text[count..] {
        [b'.', rest @ ..] => fraction_micros(rest),
        rest => (0, rest),
    };
    Some((whole * 1_000_000 + i128::from(fraction), rest))
}

/// Adds `amount` millionths of a unit. Fractions of months become days of 30, fractions of days microseconds.
fn add_unit(total: &mut Interval, amount: i128, unit: &[u8]) -> Option<()> {
    const MILLION: i128 = 1_000_000;
    let lower = unit.to_ascii_lowercase();
    let months = match &*lower {
        b"y" | b"yr" | b"yrs" | b"year" | b"years" => 12,
        b"mon" | b"mons" | b"month" | b"months" => 1,
        b"quarter" | b"quarters" => 3,
        b"dec" | b"decs" | b"decade" | b"decades" => 120,
        b"c" | b"cent" | b"century" | b"centuries" => 1200,
        b"mil" | b"mils" | b"millennium" | b"millenniums" | b"millennia" => 12_000,
        _ => 0,
    };
    let days = match &*lower {
        b"d" | b"day" | b"days" | b"dayofmonth" => 1,
        b"w" | b"week" | b"weeks" => 7,
        _ => 0,
    };
    let micros: i128 = match &*lower {
        b"h" | b"hr" | b"hrs" | b"hour" | b"hours" => 3_600_000_000,
        b"m" | b"min" | b"mins" | b"minute" | b"minutes" => 60_000_000,
        b"s" | b"sec" | b"secs" | b"second" | b"seconds" => 1_000_000,
        b"ms" | b"msec" | b"msecs" | b"millisecond" | b"milliseconds" => 1000,
        b"us" | b"usec" | b"usecs" | b"microsecond" | b"microseconds" => 1,
        _ => 0,
    };
    if months == 0 && days == 0 && micros == 0 {
        return None;
    }
    let month_amount = amount * months;
    let day_amount = amount * days + month_amount % MILLION * 30;
    let micro_amount =
        amount * micros / MILLION + day_amount % MILLION * i128::from(MICROS_PER_DAY) / MILLION;
    total.months = total.months.checked_add(i32::try_from(month_amount / MILLION).ok()?)?;
    total.days = total.days.checked_add(i32::try_from(day_amount / MILLION).ok()?)?;
    total.micros = total.micros.checked_add(i64::try_from(micro_amount).ok()?)?;
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_exist_or_are_refused() {
        assert_eq!(date(b"1970-01-02"), Some(1));
        assert_eq!(date(b" 2024/2/9 "), Some(days_from_civil(2024, 2, 9)));
        assert_eq!(date(b"0044-03-15 (BC)"), Some(days_from_civil(-43, 3, 15)));
        assert_eq!(date(b"2024-02-29 10:00:00"), Some(days_from_civil(2024, 2, 29)));
        for bad in
            ["2023-02-29", "2024-13-01", "2024-00-01", "20240101", "", "2024-01", "2024-01-01x", "2024-1-1-1"]
        {
            assert_eq!(date(bad.as_bytes()), None, "{bad}");
        }
    }

    #[test]
    fn times_and_timestamps() {
        assert_eq!(time(b"00:00:01.5"), Some(1_500_000));
        assert_eq!(time(b"24:00:00"), Some(MICROS_PER_DAY));
        assert_eq!(time(b"25:00"), None);
        assert_eq!(time(b"10:60"), None);
        let noon = timestamp(b"2000-01-01 12:00").unwrap();
        assert_eq!(timestamp(b"2000-01-01T12:00:00Z"), Some(noon));
        assert_eq!(timestamp(b"2000-01-01 12:00:00.000000+02:00"), Some(noon));
        assert_eq!(timestamp(b"2000-01-01 12:00 nonsense"), None);
        assert_eq!(timestamp(b"2000-01-01"), Some(noon - MICROS_PER_DAY / 2));
    }

    #[test]
    fn intervals_add_their_parts() {
        let of = |months, days, micros| Some(Interval { months, days, micros });
        assert_eq!(interval(b"1 year 2 months 3 days 04:05:06.5"), of(14, 3, 14_706_500_000));
        assert_eq!(interval(b"90 days"), of(0, 90, 0));
        assert_eq!(interval(b"-1 month"), of(-1, 0, 0));
        assert_eq!(interval(b"1.5 days"), of(0, 1, MICROS_PER_DAY / 2));
        assert_eq!(interval(b"2 weeks ago"), of(0, -14, 0));
        assert_eq!(interval(b"3"), None);
        assert_eq!(interval(b"3 parsecs"), None);
        assert_eq!(interval(b""), None);
    }
}

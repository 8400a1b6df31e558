//! Intervals from text: units (`1 year 2 months`), clocks (`01:02:03`), ISO 8601 (`P1Y2M`) and years with months (`1-2`).

use super::temporal::{clock, digits};
use super::trim;
use inlay_types::Interval;
use inlay_types::datetime::MICROS_PER_DAY;

/// Parts of a unit that amounts are counted in: a microsecond is less than a part in 10^11 of a day.
const PARTS: i128 = 1_000_000_000_000_000;
const DIGITS: usize = 15;

/// `1 year 2 months 3 days 04:05:06.5`, `90 days`, `-1 month`, `1.5 hours`, `1 day ago`, `@ 1 day`; a bare number is
/// seconds.
pub fn interval(text: &[u8]) -> Option<Interval> {
    let text = trim(text);
    if let Some(interval) = iso(text).or_else(|| years_and_months(text)) {
        return Some(interval);
    }
    let mut rest = trim(text.strip_prefix(b"@").unwrap_or(text));
    if rest.is_empty() {
        return None;
    }
    let mut total = Interval::default();
    while !rest.is_empty() {
        if rest.eq_ignore_ascii_case(b"ago") {
            return negated(total);
        }
        let (negative, unsigned) = sign(rest);
        if let Some((nanos, tail)) = clock(unsigned) {
            let micros = if negative { -(nanos / 1000) } else { nanos / 1000 };
            total.micros = total.micros.checked_add(i64::try_from(micros).ok()?)?;
            rest = trim(tail);
            continue;
        }
        let (amount, tail) = amount(unsigned)?;
        let tail = trim(tail);
        let length = tail.iter().take_while(|b| b.is_ascii_alphabetic()).count();
        let unit: &[u8] = if tail.is_empty() { b"second" } else { &tail[..length] };
        add_unit(&mut total, if negative { -amount } else { amount }, unit)?;
        rest = trim(&tail[length..]);
        rest = trim(rest.strip_prefix(b",").unwrap_or(rest));
    }
    Some(total)
}

fn sign(text: &[u8]) -> (bool, &[u8]) {
    match text {
        [b'-', tail @ ..] => (true, tail),
        [b'+', tail @ ..] => (false, tail),
        tail => (false, tail),
    }
}

fn negated(of: Interval) -> Option<Interval> {
    Some(Interval {
        months: of.months.checked_neg()?,
        days: of.days.checked_neg()?,
        micros: of.micros.checked_neg()?,
    })
}

/// An amount in parts, and what follows.
fn amount(text: &[u8]) -> Option<(i128, &[u8])> {
    let count = text.iter().take_while(|b| b.is_ascii_digit()).count();
    if count == 0 && text.first() != Some(&b'.') || count > 19 {
        return None;
    }
    let whole = text[..count].iter().fold(0i128, |n, b| n * 10 + i128::from(b - b'0'));
    let rest = &text[count..];
    let Some(fraction) = rest.strip_prefix(b".") else { return Some((whole * PARTS, rest)) };
    let digits = fraction.iter().take_while(|b| b.is_ascii_digit()).count();
    if count == 0 && digits == 0 {
        return None;
    }
    let mut parts = 0;
    for digit in fraction[..digits].iter().chain(std::iter::repeat(&b'0')).take(DIGITS) {
        parts = parts * 10 + i128::from(digit - b'0');
    }
    Some((whole * PARTS + parts, &fraction[digits..]))
}

/// `P1Y2M3W4DT5H6M7.5S`
fn iso(text: &[u8]) -> Option<Interval> {
    let (negative, text) = sign(text);
    let mut rest = text.strip_prefix(b"P").or_else(|| text.strip_prefix(b"p"))?;
    let (mut total, mut is_time, mut parts) = (Interval::default(), false, 0);
    while !rest.is_empty() {
        if let [b'T' | b't', tail @ ..] = rest {
            if is_time {
                return None;
            }
            (is_time, rest) = (true, tail);
            continue;
        }
        let (minus, unsigned) = sign(rest);
        let (amount, tail) = amount(unsigned)?;
        let (letter, tail) = tail.split_first()?;
        let unit: &[u8] = match (letter.to_ascii_lowercase(), is_time) {
            (b'y', false) => b"year",
            (b'm', false) => b"month",
            (b'w', false) => b"week",
            (b'd', false) => b"day",
            (b'h', true) => b"hour",
            (b'm', true) => b"minute",
            (b's', true) => b"second",
            _ => return None,
        };
        add_unit(&mut total, if minus { -amount } else { amount }, unit)?;
        (rest, parts) = (tail, parts + 1);
    }
    if parts == 0 {
        return None;
    }
    if negative { negated(total) } else { Some(total) }
}

/// `1-2`: a year and two months.
fn years_and_months(text: &[u8]) -> Option<Interval> {
    let (negative, text) = sign(text);
    let (years, rest) = digits(text, 9)?;
    let (months, rest) = digits(rest.strip_prefix(b"-")?, 2)?;
    if !rest.is_empty() || months > 11 {
        return None;
    }
    let months = (years as i32).checked_mul(12)?.checked_add(months as i32)?;
    Some(Interval { months: if negative { -months } else { months }, days: 0, micros: 0 })
}

/// Months, days and microseconds of one unit; one of them is not 0.
pub fn unit_of(name: &[u8]) -> Option<(i32, i32, i64)> {
    let months = |months| Some((months, 0, 0));
    let micros = |micros| Some((0, 0, micros));
    match &*name.to_ascii_lowercase() {
        b"y" | b"yr" | b"yrs" | b"year" | b"years" => months(12),
        b"mon" | b"mons" | b"month" | b"months" => months(1),
        b"quarter" | b"quarters" => months(3),
        b"dec" | b"decs" | b"decade" | b"decades" => months(120),
        b"c" | b"cent" | b"century" | b"centuries" => months(1200),
        b"mil" | b"mils" | b"millennium" | b"millenniums" | b"millennia" => months(12_000),
        b"d" | b"day" | b"days" | b"dayofmonth" => Some((0, 1, 0)),
        b"w" | b"week" | b"weeks" | b"weekofyear" => Some((0, 7, 0)),
        b"h" | b"hr" | b"hrs" | b"hour" | b"hours" => micros(3_600_000_000),
        b"m" | b"min" | b"mins" | b"minute" | b"minutes" => micros(60_000_000),
        b"s" | b"sec" | b"secs" | b"second" | b"seconds" => micros(1_000_000),
        b"ms" | b"msec" | b"msecs" | b"msecond" | b"mseconds" | b"millisecond" | b"milliseconds" => {
            micros(1000)
        }
        b"us" | b"usec" | b"usecs" | b"usecond" | b"useconds" | b"microsecond" | b"microseconds" => micros(1),
        _ => None,
    }
}

/// Adds `amount` parts of a unit. Fractions of years and longer units become whole months, those of quarters days
/// as well, those of months days of 24 hours and microseconds, those of days microseconds.
fn add_unit(total: &mut Interval, amount: i128, unit: &[u8]) -> Option<()> {
    let (months, days, micros) = unit_of(unit)?;
    let mut month_amount = amount.checked_mul(i128::from(months))?;
    if months > 3 {
        month_amount = rounded(month_amount) * PARTS;
    }
    let mut day_amount = amount * i128::from(days) + month_amount % PARTS * 30;
    if months == 3 {
        day_amount = rounded(day_amount) * PARTS;
    }
    let clock = day_amount % PARTS * i128::from(MICROS_PER_DAY) + amount.checked_mul(i128::from(micros))?;
    let micro_amount = if micros == 1 { clock / PARTS } else { rounded(clock) };
    total.months = total.months.checked_add(i32::try_from(month_amount / PARTS).ok()?)?;
    total.days = total.days.checked_add(i32::try_from(day_amount / PARTS).ok()?)?;
    total.micros = total.micros.checked_add(i64::try_from(micro_amount).ok()?)?;
    Some(())
}

/// Whole units of parts, half away from zero.
fn rounded(parts: i128) -> i128 {
    parts.saturating_add(PARTS / 2 * parts.signum()) / PARTS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_add_their_parts() {
        let of = |months, days, micros| Some(Interval { months, days, micros });
        let cases: [(&str, Option<Interval>); 34] = [
            ("1 year 2 months 3 days 04:05:06.5", of(14, 3, 14_706_500_000)),
            ("90 days", of(0, 90, 0)),
            ("-1 month", of(-1, 0, 0)),
            ("1.5 days", of(0, 1, MICROS_PER_DAY / 2)),
            ("1.7 quarters", of(5, 3, 0)),
            ("1.3 years", of(16, 0, 0)),
            ("1.77777 quarters", of(5, 10, 0)),
            ("0.0000005 seconds", of(0, 0, 1)),
            ("0.0000000005 days", of(0, 0, 43)),
            ("0.0000000004 hours", of(0, 0, 1)),
            ("9999999999999999999 hours", None),
            ("2 weeks ago", of(0, -14, 0)),
            ("1h30m", of(0, 0, 5_400_000_000)),
            ("@ 1 day", of(0, 1, 0)),
            ("1-2", of(14, 0, 0)),
            ("-1-2", of(-14, 0, 0)),
            ("P1Y2M3DT4H5M6.5S", of(14, 3, 14_706_500_000)),
            ("PT0.5S", of(0, 0, 500_000)),
            ("P1W", of(0, 7, 0)),
            ("3", of(0, 0, 3_000_000)),
            ("100:00:00", of(0, 0, 360_000_000_000)),
            ("2562047788:00:54.775807", of(0, 0, i64::MAX)),
            ("-2562047788:00:54.775808", of(0, 0, i64::MIN)),
            ("2562047788:00:54.775808", None),
            ("4294967297:00:00", None),
            ("-9999999999:00", None),
            ("170141183460469231.731687303715884 seconds", None),
            ("P", None),
            ("3 parsecs", None),
            ("", None),
            ("2147483648 days", None),
            ("1 day x", None),
            ("1:61", None),
            ("day", None),
        ];
        for (text, expected) in cases {
            assert_eq!(interval(text.as_bytes()), expected, "{text}");
        }
    }
}

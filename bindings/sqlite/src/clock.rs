//! SQLite's functions of dates and times: a time and what modifiers make of it.

use crate::value::Cell;
use inlay::types::datetime::{civil_from_days, days_from_civil};

const DAY_MS: i64 = 86_400_000;
/// The julian day of 1970-01-01 00:00.
const EPOCH_DAY: f64 = 2_440_587.5;

type Given = Result<Cell, String>;

/// A moment, in milliseconds since 1970.
#[derive(Clone, Copy)]
struct Moment {
    ms: i64,
    /// A number of which modifiers may still say what it counts.
    number: Option<f64>,
}

fn now() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| since.as_millis() as i64)
}

fn of_julian(day: f64) -> i64 {
    ((day - EPOCH_DAY) * DAY_MS as f64).round() as i64
}

/// The digits that a text begins with, so many, and the rest.
fn digits(text: &str, count: usize) -> Option<(i64, &str)> {
    let (number, rest) = text.split_at_checked(count)?;
    number
        .bytes()
        .all(|byte| byte.is_ascii_digit())
        .then(|| number.parse().ok())?
        .map(|number| (number, rest))
}

/// `HH:MM[:SS[.SSS]]` and a zone perhaps, in milliseconds.
fn clock(text: &str) -> Option<i64> {
    let (hours, rest) = digits(text, 2)?;
    let (minutes, mut rest) = digits(rest.strip_prefix(':')?, 2)?;
    let mut ms = (hours * 60 + minutes) * 60_000;
    if hours > 24 || minutes > 59 {
        return None;
    }
    if let Some(behind) = rest.strip_prefix(':') {
        let (seconds, behind) = digits(behind, 2)?;
        if seconds > 59 {
            return None;
        }
        ms += seconds * 1000;
        rest = behind;
        if let Some(fraction) = rest.strip_prefix('.') {
            let end = fraction.find(|c: char| !c.is_ascii_digit()).unwrap_or(fraction.len());
            let value: f64 = format!("0.{}", &fraction[..end]).parse().ok()?;
            ms += (value * 1000.0).round() as i64;
            rest = &fraction[end..];
        }
    }
    match rest.trim() {
        "" | "Z" | "z" => Some(ms),
        zone => {
            let sign = if zone.starts_with('+') {
                -1
            } else if zone.starts_with('-') {
                1
            } else {
                return None;
            };
            let (hours, rest) = digits(&zone[1..], 2)?;
            let (minutes, rest) = digits(rest.strip_prefix(':')?, 2)?;
            rest.is_empty().then_some(ms + sign * (hours * 60 + minutes) * 60_000)
        }
    }
}

fn days(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = (year + (month - 1).div_euclid(12), (month - 1).rem_euclid(12) + 1);
    i64::from(days_from_civil(year as i32, month as u32, 1)) + day - 1
}

fn parsed(text: &str) -> Option<Moment> {
    let text = text.trim();
    let moment = |ms: i64| Some(Moment { ms, number: None });
    if text.eq_ignore_ascii_case("now") {
        return moment(now());
    }
    let date = || {
        let (year, rest) = digits(text, 4)?;
        let (month, rest) = digits(rest.strip_prefix('-')?, 2)?;
        let (day, rest) = digits(rest.strip_prefix('-')?, 2)?;
        if !(1..=12).contains(&month) || !(1..=31).contains(&day) {
            return None;
        }
        let rest = rest.trim_start_matches(['T', ' ']);
        let clock = if rest.is_empty() { 0 } else { clock(rest)? };
        Some(days(year, month, day) * DAY_MS + clock)
    };
    if let Some(ms) = date() {
        return moment(ms);
    }
    if let Some(ms) = clock(text) {
        return moment(days(2000, 1, 1) * DAY_MS + ms);
    }
    let number: f64 = text.parse().ok()?;
    Some(Moment { ms: of_julian(number), number: Some(number) })
}

fn civil(ms: i64) -> (i64, i64, i64) {
    let (year, month, day) = civil_from_days(ms.div_euclid(DAY_MS) as i32);
    (i64::from(year), i64::from(month), i64::from(day))
}

fn modified(moment: Moment, modifier: &str) -> Option<Moment> {
    let text = modifier.trim().to_ascii_lowercase();
    let at = |ms: i64| Some(Moment { ms, number: None });
    let (year, month, _) = civil(moment.ms);
    match text.as_str() {
        "unixepoch" => return at((moment.number? * 1000.0).round() as i64),
        "julianday" => return at(of_julian(moment.number?)),
        "auto" => {
            let number = moment.number;
            let is_julian = number.is_none_or(|number| (0.0..5_373_484.5).contains(&number));
            return if is_julian { at(moment.ms) } else { at((number? * 1000.0).round() as i64) };
        }
        // The clocks of a library are those of UTC.
        "localtime" | "utc" | "subsec" | "subsecond" => return at(moment.ms),
        "start of day" => return at(moment.ms.div_euclid(DAY_MS) * DAY_MS),
        "start of month" => return at(days(year, month, 1) * DAY_MS),
        "start of year" => return at(days(year, 1, 1) * DAY_MS),
        _ => {}
    }
    if let Some(number) = text.strip_prefix("weekday ") {
        let wanted: i64 = number.trim().parse().ok().filter(|day| (0..7).contains(day))?;
        let today = (moment.ms.div_euclid(DAY_MS) + 4).rem_euclid(7);
        return at(moment.ms + (wanted - today).rem_euclid(7) * DAY_MS);
    }
    let split = text.find(|c: char| c.is_ascii_alphabetic() || c == ' ');
    let (number, unit) = match split {
        Some(place) => (&text[..place], text[place..].trim().trim_end_matches('s')),
        None => {
            let sign = if text.starts_with('-') { -1 } else { 1 };
            return at(moment.ms + sign * clock(text.trim_start_matches(['+', '-']))?);
        }
    };
    let number: f64 = number.trim_start_matches('+').parse().ok()?;
    let unit_ms = match unit {
        "day" => DAY_MS,
        "hour" => 3_600_000,
        "minute" => 60_000,
        "second" => 1000,
        "month" | "year" => {
            let months = if unit == "year" { number * 12.0 } else { number };
            let (year, month, day) = civil(moment.ms);
            let whole = months.trunc() as i64;
            let rest = ((months - months.trunc()) * 30.0 * DAY_MS as f64) as i64;
            return at(days(year, month + whole, day) * DAY_MS + moment.ms.rem_euclid(DAY_MS) + rest);
        }
        _ => return None,
    };
    at(moment.ms + (number * unit_ms as f64).round() as i64)
}

/// The moment that arguments mean; `None` for what is no time.
fn moment(args: &[Cell]) -> Option<i64> {
    let text = |cell: &Cell| cell.text().map(|text| String::from_utf8_lossy(&text).into_owned());
    let Some((first, modifiers)) = args.split_first() else { return Some(now()) };
    let mut found = match first {
        Cell::Integer(number) => Moment { ms: of_julian(*number as f64), number: Some(*number as f64) },
        Cell::Real(number) => Moment { ms: of_julian(*number), number: Some(*number) },
        other => parsed(&text(other)?)?,
    };
    for modifier in modifiers {
        found = modified(found, &text(modifier)?)?;
    }
    let (first, last) = (days(-4713, 11, 24) * DAY_MS, days(10_000, 1, 1) * DAY_MS);
    (first..last).contains(&found.ms).then_some(found.ms)
}

/// `strftime(format, time, modifiers...)`.
pub fn strftime(args: &[Cell]) -> Given {
    let Some((format, rest)) = args.split_first() else { return Ok(Cell::Null) };
    match format.text() {
        Some(format) => formatted(&String::from_utf8_lossy(&format), rest),
        None => Ok(Cell::Null),
    }
}

/// A time in a format.
pub fn formatted(format: &str, args: &[Cell]) -> Given {
    let Some(ms) = moment(args) else { return Ok(Cell::Null) };
    let (year, month, day) = civil(ms);
    let clock = ms.rem_euclid(DAY_MS);
    let (hour, minute, second) = (clock / 3_600_000, clock / 60_000 % 60, clock / 1000 % 60);
    let day_of_year = ms.div_euclid(DAY_MS) - days(year, 1, 1);
    let weekday = (ms.div_euclid(DAY_MS) + 4).rem_euclid(7);
    let mut out = String::new();
    let mut chars = format.chars();
    while let Some(c) = chars.next() {
        if c != '%' {
            out.push(c);
            continue;
        }
        out.push_str(&match chars.next() {
            Some('d') => format!("{day:02}"),
            Some('e') => format!("{day:2}"),
            Some('f') => format!("{second:02}.{:03}", clock % 1000),
            Some('F') => format!("{year:04}-{month:02}-{day:02}"),
            Some('H') => format!("{hour:02}"),
            Some('I') => format!("{:02}", (hour + 11) % 12 + 1),
            Some('j') => format!("{:03}", day_of_year + 1),
            Some('J') => crate::value::real_text(ms as f64 / DAY_MS as f64 + EPOCH_DAY),
            Some('m') => format!("{month:02}"),
            Some('M') => format!("{minute:02}"),
            Some('p') => if hour < 12 { "AM" } else { "PM" }.to_string(),
            Some('R') => format!("{hour:02}:{minute:02}"),
            Some('s') => ms.div_euclid(1000).to_string(),
            Some('S') => format!("{second:02}"),
            Some('T') => format!("{hour:02}:{minute:02}:{second:02}"),
            Some('u') => (if weekday == 0 { 7 } else { weekday }).to_string(),
            Some('w') => weekday.to_string(),
            Some('W') => format!("{:02}", (day_of_year + 7 - (weekday + 6) % 7) / 7),
            Some('Y') => format!("{year:04}"),
            Some('%') => "%".to_string(),
            _ => return Ok(Cell::Null),
        });
    }
    Ok(Cell::Text(out))
}

/// `julianday(time, modifiers...)`.
pub fn julianday(args: &[Cell]) -> Given {
    Ok(moment(args).map_or(Cell::Null, |ms| Cell::Real(ms as f64 / DAY_MS as f64 + EPOCH_DAY)))
}

/// `unixepoch(time, modifiers...)`.
pub fn unixepoch(args: &[Cell]) -> Given {
    Ok(moment(args).map_or(Cell::Null, |ms| Cell::Integer(ms.div_euclid(1000))))
}

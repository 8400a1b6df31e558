//! `strptime`: timestamps from text in a format.
//!
//! Spaces of the format stand for any number of spaces but none. Fields that are not given are those of 1900-01-01
//! 00:00:00. The day is given by month and day; where neither is there, by the day of the year, or by a week and a day of it,
//! but not by two of these.

use super::format::{Piece, parse_format};
use super::names::{DAYS, MONTHS};
use super::part::days_since_monday;
use crate::columns::TextColumn;
use inlay_kernels::apply::per_row;
use inlay_kernels::function::kernel;
use inlay_kernels::parse::special_date;
use inlay_kernels::resolve::{ArgType, ResolveOptions, Resolved};
use inlay_kernels::zone::Zone;
use inlay_types::LogicalType::{Null, Timestamp, TimestampNs, TimestampTz, Varchar};
use inlay_types::datetime::{
    MICROS_PER_DAY, TIMESTAMP_INFINITY, days_from_civil, days_in_month, is_timestamp, midnight,
};
use inlay_types::error::{kept_text, shortened};
use inlay_types::{Bitmap, Error, LogicalType, Result, Vector};
use std::sync::Arc;

type Format = Vec<Piece>;

/// What a format's fields make of a text.
fn type_of(formats: &[Format]) -> LogicalType {
    let has = |letters: &[u8]| {
        formats
            .iter()
            .flatten()
            .any(|piece| matches!(piece, Piece::Field(letter, _) if letters.contains(letter)))
    };
    if has(b"zZ") {
        TimestampTz
    } else if has(b"n") {
        TimestampNs
    } else {
        Timestamp
    }
}

/// `strptime(text, format)`; a format that is a literal decides the type.
pub(super) fn resolve(args: &[ArgType], options: &ResolveOptions, or_null: bool) -> Option<Resolved> {
    let [text, format] = args else { return None };
    let is_text = |arg: &ArgType| matches!(arg.ty, Varchar | LogicalType::Json | Null);
    if !is_text(text) || !is_text(format) {
        return None;
    }
    // A mistake in the format is found again, and explained, where the loop reads it.
    let known = format.text.as_ref().and_then(|text| parse_format(text.as_bytes()).ok());
    let ty = known.map_or(Timestamp, |format| type_of(&[format]));
    let (returns, zone) = (ty.clone(), Arc::clone(&options.zone));
    let kernel = kernel(move |args, len, out| strptime(args, &ty, &zone, or_null, len, out));
    Some(Resolved::fallible(vec![Varchar, Varchar], returns, kernel))
}

fn strptime(
    args: &[&Vector],
    ty: &LogicalType,
    zone: &Zone,
    or_null: bool,
    len: usize,
    out: &mut Vector,
) -> Result<()> {
    if inlay_kernels::apply::null_argument(args, ty, len, out) {
        return Ok(());
    }
    let (texts, formats) = (TextColumn::of(args[0]), TextColumn::of(args[1]));
    let constant = if args[1].is_constant() { Some(parse_format(formats.get(0))?) } else { None };
    let is_plain = *ty == Timestamp && constant.as_deref().is_some_and(is_plain);
    let mut failed = Vec::new();
    per_row(args, ty, len, out, |row| {
        let text = texts.get(row);
        if is_plain && let Some(at) = constant.as_deref().and_then(|pieces| read_plain(pieces, text)) {
            return Ok(at);
        }
        let parsed = match &constant {
            Some(pieces) => read(pieces, text, ty, zone),
            None => read(&parse_format(formats.get(row))?, text, ty, zone),
        };
        match parsed {
            Ok(at) => Ok(at),
            Err(_) if or_null => {
                failed.push(row);
                Ok(0)
            }
            Err(why) => {
                let (text, format) =
                    (String::from_utf8_lossy(text), String::from_utf8_lossy(formats.get(row)));
                let to = format!("{ty} by format '{}'{why}", shortened(&format));
                let error = Error::InvalidCast { value: kept_text(&text), to };
                let is_turned = text.contains('%') && !format.contains('%');
                Err(if is_turned {
                    error.with_hint("the text comes first: strptime(text, format)")
                } else {
                    error
                })
            }
        }
    })?;
    if !failed.is_empty() {
        if out.is_constant() {
            *out = Vector::nulls(ty.clone(), len);
            return Ok(());
        }
        let mut validity = out.validity().cloned().unwrap_or_else(|| Bitmap::filled(len, true));
        for row in failed {
            validity.set(row, false);
        }
        out.set_validity(Some(validity));
    }
    Ok(())
}

/// Whether a format begins with a number and has nothing but numbers of dates and clocks, with separators between.
fn is_plain(pieces: &[Piece]) -> bool {
    matches!(pieces.first(), Some(Piece::Field(..)))
        && pieces.iter().all(|piece| match piece {
            Piece::Text(literal) => literal[..] == *b" " || !literal.contains(&b' '),
            Piece::Field(letter, _) => b"YmdHMS".contains(letter),
        })
}

/// Reads by a format that is plain; `None`: that is for [`read`] to say, with the reason.
#[inline]
fn read_plain(pieces: &[Piece], text: &[u8]) -> Option<i64> {
    let (mut year, mut month, mut day, mut clock) = (1900, 1, 1, [0i64; 3]);
    let mut at = 0;
    let digit =
        |at: usize| text.get(at).map(|byte| i64::from(byte.wrapping_sub(b'0'))).filter(|digit| *digit < 10);
    for piece in pieces {
        let letter = match piece {
            Piece::Text(literal) => {
                if !text.get(at..)?.starts_with(literal) {
                    return None;
                }
                at += literal.len();
                continue;
            }
            Piece::Field(letter, _) => *letter,
        };
        let mut number = digit(at)?;
        at += 1;
        for _ in 1..if letter == b'Y' { 4 } else { 2 } {
            let Some(digit) = digit(at) else { break };
            number = number * 10 + digit;
            at += 1;
        }
        match letter {
            b'Y' => year = number as i32,
            b'm' => month = number as u32,
            b'd' => day = number as u32,
            b'H' => clock[0] = number,
            b'M' => clock[1] = number,
            _ => clock[2] = number,
        }
    }
    let [hour, minute, second] = clock;
    let exists = at == text.len()
        && (1..=12).contains(&month)
        && day >= 1
        && day <= days_in_month(year, month)
        && hour < 24
        && minute < 60
        && second < 60;
    // Years have four digits at most.
    let days = i64::from(days_from_civil(year, month, day));
    exists.then_some(days * MICROS_PER_DAY + ((hour * 60 + minute) * 60 + second) * 1_000_000)
}

/// Fields read so far.
struct Fields<'a> {
    year: i32,
    month: Option<u32>,
    day: Option<u32>,
    hour: i64,
    minute: i64,
    second: i64,
    nanos: i64,
    is_afternoon: Option<bool>,
    day_of_year: Option<i32>,
    /// Week of the year, and whether it begins with Sunday (U), Monday (W) or is of ISO (V).
    week: Option<(u8, i32)>,
    /// Days since Monday.
    weekday: Option<i32>,
    offset: Option<i32>,
    zone: Option<&'a [u8]>,
}

/// The value, or why there is none.
fn read(pieces: &[Piece], text: &[u8], ty: &LogicalType, zone: &Zone) -> std::result::Result<i64, String> {
    let text = inlay_kernels::parse::trim(text);
    if let Some(days) = special_date(text) {
        return midnight(days).ok_or_else(String::new);
    }
    let mut f = Fields {
        year: 1900,
        month: None,
        day: None,
        hour: 0,
        minute: 0,
        second: 0,
        nanos: 0,
        is_afternoon: None,
        day_of_year: None,
        week: None,
        weekday: None,
        offset: None,
        zone: None,
    };
    let mut rest = text;
    for piece in pieces {
        rest = match piece {
            Piece::Text(literal) => read_literal(literal, rest),
            Piece::Field(letter, _) => read_field(*letter, &mut f, rest),
        }
        .ok_or_else(String::new)?;
    }
    if !rest.is_empty() {
        return Err(String::new());
    }
    let (days, nanos) = f.moment()?;
    let micros = i64::from(days).checked_mul(MICROS_PER_DAY).and_then(|at| at.checked_add(nanos / 1000));
    let micros = micros.filter(|at| is_timestamp(*at)).ok_or(": out of range")?;
    let offset = i64::from(f.offset.unwrap_or(0)) * 1_000_000;
    match ty {
        TimestampNs => {
            let start = i64::from(days).checked_mul(MICROS_PER_DAY * 1000);
            let at = start.and_then(|at| at.checked_add(nanos)).filter(|at| *at != TIMESTAMP_INFINITY);
            at.ok_or_else(|| ": out of range".to_string())
        }
        TimestampTz => {
            let at = match (f.offset, f.zone) {
                (Some(_), _) => micros.checked_sub(offset),
                (None, Some(name)) => {
                    let name = String::from_utf8_lossy(name);
                    Zone::named(&name).map_err(|error| format!(": {error}"))?.to_utc(micros)
                }
                (None, None) => zone.to_utc(micros),
            };
            at.ok_or_else(|| ": out of range".to_string())
        }
        _ => Ok(micros.saturating_sub(offset)),
    }
}

impl Fields<'_> {
    /// Day and nanoseconds of the day.
    fn moment(&mut self) -> std::result::Result<(i32, i64), String> {
        if let Some(is_afternoon) = self.is_afternoon {
            if self.hour > 12 {
                return Err(String::new());
            }
            self.hour = self.hour % 12 + if is_afternoon { 12 } else { 0 };
        }
        if self.hour > 23 || self.minute > 59 || self.second > 59 {
            return Err(String::new());
        }
        let nanos = ((self.hour * 60 + self.minute) * 60 + self.second) * 1_000_000_000 + self.nanos;
        let new_year = days_from_civil(self.year, 1, 1);
        match (self.month, self.day, self.day_of_year, self.week) {
            (_, _, Some(_), Some(_)) => {
                return Err(": a day of the year and a week say twice which day it is".to_string());
            }
            (None, None, Some(day), None) => return Ok((new_year + day - 1, nanos)),
            (None, None, None, Some((kind, week))) => {
                return Ok((self.day_of_week(new_year, kind, week), nanos));
            }
            _ => {}
        }
        let (month, day) = (self.month.unwrap_or(1), self.day.unwrap_or(1));
        let exists = (1..=12).contains(&month) && day >= 1 && day <= days_in_month(self.year, month);
        if !exists {
            return Err(format!(": there is no date {}-{month}-{day}", self.year));
        }
        Ok((days_from_civil(self.year, month, day), nanos))
    }

    fn day_of_week(&self, new_year: i32, kind: u8, week: i32) -> i32 {
        match kind {
            b'V' => {
                let fourth = new_year + 3;
                fourth - days_since_monday(fourth) + (week - 1) * 7 + self.weekday.unwrap_or(0)
            }
            b'U' => {
                let first = new_year + (6 - days_since_monday(new_year)).rem_euclid(7);
                first + (week - 1) * 7 + self.weekday.map_or(0, |day| (day + 1) % 7)
            }
            _ => {
                let first = new_year + (7 - days_since_monday(new_year)).rem_euclid(7);
                first + (week - 1) * 7 + self.weekday.unwrap_or(0)
            }
        }
    }
}

fn read_literal<'a>(literal: &[u8], text: &'a [u8]) -> Option<&'a [u8]> {
    let (mut literal, mut rest) = (literal, text);
    while let Some((&byte, tail)) = literal.split_first() {
        if byte == b' ' {
            let spaces = rest.iter().take_while(|b| b.is_ascii_whitespace()).count();
            if spaces == 0 {
                return None;
            }
            rest = &rest[spaces..];
            let more = tail.iter().take_while(|b| **b == b' ').count();
            literal = &tail[more..];
            continue;
        }
        rest = rest.strip_prefix(&[byte])?;
        literal = tail;
    }
    Some(rest)
}

/// A number of at most `max` digits, and what follows.
fn number(text: &[u8], max: usize) -> Option<(i64, usize, &[u8])> {
    let count = text.iter().take(max).take_while(|b| b.is_ascii_digit()).count();
    let number = text[..count].iter().fold(0, |n, b| n * 10 + i64::from(b - b'0'));
    (count > 0).then(|| (number, count, &text[count..]))
}

/// Which of the names the text begins with; of the first three letters of them if `short`.
fn named<'a>(text: &'a [u8], names: &[&str], short: bool) -> Option<(usize, &'a [u8])> {
    names.iter().enumerate().find_map(|(index, name)| {
        let name = if short { &name.as_bytes()[..3] } else { name.as_bytes() };
        let (head, rest) = text.split_at_checked(name.len())?;
        head.eq_ignore_ascii_case(name).then_some((index, rest))
    })
}

/// `+01`, `-0330`, `+00:17:30` in seconds, and what follows.
fn offset(text: &[u8]) -> Option<(i32, &[u8])> {
    let (sign, mut rest) = text.split_first().filter(|(b, _)| matches!(b, b'+' | b'-'))?;
    let mut total = 0;
    for (index, unit) in [3600, 60, 1].into_iter().enumerate() {
        let tail = if index > 0 { rest.strip_prefix(b":").unwrap_or(rest) } else { rest };
        match number(tail, 2) {
            Some((value, 2, after)) if index == 0 || value < 60 => {
                total += value as i32 * unit;
                rest = after;
            }
            _ if index == 0 => return None,
            _ => break,
        }
    }
    Some((if *sign == b'-' { -total } else { total }, rest))
}

fn read_field<'a>(letter: u8, f: &mut Fields<'a>, text: &'a [u8]) -> Option<&'a [u8]> {
    match letter {
        b'a' | b'A' => return named(text, &DAYS, letter == b'a').map(|(_, rest)| rest),
        b'b' | b'B' => {
            let (index, rest) = named(text, &MONTHS, letter == b'b')?;
            f.month = Some(index as u32 + 1);
            return Some(rest);
        }
        b'p' => {
            let (head, rest) = text.split_at_checked(2)?;
            f.is_afternoon = Some(match () {
                () if head.eq_ignore_ascii_case(b"AM") => false,
                () if head.eq_ignore_ascii_case(b"PM") => true,
                () => return None,
            });
            return Some(rest);
        }
        b'z' => {
            let (seconds, rest) = offset(text)?;
            f.offset = Some(seconds);
            return Some(rest);
        }
        b'Z' => {
            let is_of_name = |b: &&u8| b.is_ascii_alphanumeric() || b"/_+-".contains(b);
            let length = text.iter().take_while(is_of_name).count();
            f.zone = Some(&text[..length]);
            return (length > 0).then(|| &text[length..]);
        }
        _ => {}
    }
    let max = match letter {
        b'Y' | b'G' => 4,
        b'f' => 6,
        b'g' | b'j' => 3,
        b'n' => 9,
        b'u' | b'w' => 1,
        _ => 2,
    };
    let (value, count, rest) = number(text, max)?;
    match letter {
        b'Y' | b'G' => f.year = value as i32,
        b'y' => f.year = value as i32 + if value < 69 { 2000 } else { 1900 },
        b'm' => f.month = Some(value as u32),
        b'd' => f.day = Some(value as u32),
        b'H' => f.hour = value,
        b'I' if (1..=12).contains(&value) => f.hour = value,
        b'M' => f.minute = value,
        b'S' => f.second = value,
        b'f' | b'g' | b'n' => f.nanos = value * 10i64.pow(9 - count as u32),
        b'j' if (1..=366).contains(&value) => f.day_of_year = Some(value as i32),
        b'u' if (1..=7).contains(&value) => f.weekday = Some(value as i32 - 1),
        b'w' if value < 7 => f.weekday = Some((value as i32 + 6) % 7),
        b'U' | b'W' if value <= 53 && f.week.is_none() => f.week = Some((letter, value as i32)),
        b'V' if (1..=53).contains(&value) && f.week.is_none() => f.week = Some((letter, value as i32)),
        _ => return None,
    }
    Some(rest)
}

//! `strftime` and `strptime`, with the fields of C that DuckDB knows.

use super::make::{DAYS, Days, MONTHS};
use super::part::days_since_monday;
use crate::apply::{null_argument, per_row};
use crate::functions::columns::{TextColumn, write_text};
use crate::registry::{Function, Overloads, Signature};
use inlay_types::LogicalType::{Date, Timestamp, Varchar};
use inlay_types::datetime::{MICROS_PER_DAY, civil_from_days, days_from_civil, days_in_month};
use inlay_types::{Error, Result, Vector};
use std::io::Write;

/// See the module documentation.
pub(in crate::functions) static FUNCTIONS: &[Function] = &[
    Function::new(
        "strftime",
        Overloads::Fixed(&[
            Signature::new(&[Timestamp, Varchar], Varchar, |args, len, out| {
                strftime(args[0], args[1], len, out)
            }),
            Signature::new(&[Date, Varchar], Varchar, |args, len, out| strftime(args[0], args[1], len, out)),
            Signature::new(&[Varchar, Timestamp], Varchar, |args, len, out| {
                strftime(args[1], args[0], len, out)
            }),
            Signature::new(&[Varchar, Date], Varchar, |args, len, out| strftime(args[1], args[0], len, out)),
        ]),
        "a moment as text in a format of %Y, %m, %d, %H, %M, %S, %f and others",
        "strftime(DATE '2024-02-29', '%d.%m.%Y') = '29.02.2024'",
    )
    .fallible(),
    Function::new(
        "strptime",
        Overloads::Fixed(&[Signature::new(&[Varchar, Varchar], Timestamp, strptime)]),
        "the timestamp that a text in a format stands for",
        "strptime('29.02.2024', '%d.%m.%Y') = TIMESTAMP '2024-02-29 00:00:00'",
    )
    .fallible(),
];

/// A piece of a format.
enum Piece {
    Text(Vec<u8>),
    /// The field's letter, and whether numbers are written without leading zeros (`%-d`).
    Field(u8, bool),
}

fn parse_format(format: &[u8]) -> Result<Vec<Piece>> {
    let mut pieces = Vec::new();
    let mut text = Vec::new();
    let mut rest = format.iter();
    while let Some(&byte) = rest.next() {
        if byte != b'%' {
            text.push(byte);
            continue;
        }
        let mut letter = rest.next().copied();
        let is_short = letter == Some(b'-');
        if is_short {
            letter = rest.next().copied();
        }
        match letter {
            Some(b'%') => text.push(b'%'),
            Some(b'x') => pieces.extend(flushed(&mut text, parse_format(b"%Y-%m-%d")?)),
            Some(b'X') => pieces.extend(flushed(&mut text, parse_format(b"%H:%M:%S")?)),
            Some(b'c') => pieces.extend(flushed(&mut text, parse_format(b"%Y-%m-%d %H:%M:%S")?)),
            Some(letter) if b"YmdHMSfgnIpyjaAbBuwUWVGzZ".contains(&letter) => {
                pieces.extend(flushed(&mut text, vec![Piece::Field(letter, is_short)]));
            }
            other => {
                let found = other.map_or(String::new(), |b| (b as char).to_string());
                return Err(Error::invalid_argument(format!(
                    "format '{}' has the unknown field %{found}",
                    String::from_utf8_lossy(format)
                )));
            }
        }
    }
    pieces.extend(flushed(&mut text, Vec::new()));
    Ok(pieces)
}

/// The text so far, then `next`.
fn flushed(text: &mut Vec<u8>, next: Vec<Piece>) -> Vec<Piece> {
    let mut pieces = Vec::new();
    if !text.is_empty() {
        pieces.push(Piece::Text(std::mem::take(text)));
    }
    pieces.extend(next);
    pieces
}

fn strftime(moments: &Vector, formats: &Vector, len: usize, out: &mut Vector) -> Result<()> {
    let args = [moments, formats];
    if null_argument(&args, &Varchar, len, out) {
        return Ok(());
    }
    let (days, texts) = (Days::of(moments), TextColumn::of(formats));
    let constant = if formats.is_constant() { Some(parse_format(texts.get(0))?) } else { None };
    write_text(&args, len, out, |row, text| {
        let (days, micros) = days.get(row);
        match &constant {
            Some(pieces) => write_pieces(pieces, days, micros, text),
            None => write_pieces(&parse_format(texts.get(row))?, days, micros, text),
        }
        Ok(())
    })
}

fn write_pieces(pieces: &[Piece], days: i32, micros: i64, text: &mut Vec<u8>) {
    for piece in pieces {
        match piece {
            Piece::Text(literal) => text.extend_from_slice(literal),
            Piece::Field(letter, is_short) => write_field(*letter, *is_short, days, micros, text),
        }
    }
}

fn write_field(letter: u8, is_short: bool, days: i32, micros: i64, text: &mut Vec<u8>) {
    let (year, month, day) = civil_from_days(days);
    let (hour, minute, second) = (micros / 3_600_000_000, micros / 60_000_000 % 60, micros / 1_000_000 % 60);
    let weekday = days_since_monday(days);
    let day_of_year = days - days_from_civil(year, 1, 1);
    let name = |names: &[&str], index: usize, short: bool| {
        let name = names[index].as_bytes();
        if short { name[..3].to_vec() } else { name.to_vec() }
    };
    let (number, width) = match letter {
        b'Y' => (i64::from(year), 4),
        b'G' => (i64::from(iso(days).0), 4),
        b'y' => (i64::from(year.rem_euclid(100)), 2),
        b'm' => (i64::from(month), 2),
        b'd' => (i64::from(day), 2),
        b'H' => (hour, 2),
        b'I' => ((hour + 11) % 12 + 1, 2),
        b'M' => (minute, 2),
        b'S' => (second, 2),
        b'f' => (micros % 1_000_000, 6),
        b'g' => (micros % 1_000_000 / 1000, 3),
        b'n' => (micros % 1_000_000 * 1000, 9),
        b'j' => (i64::from(day_of_year) + 1, 3),
        b'u' => (i64::from(weekday) + 1, 1),
        b'w' => (i64::from(weekday + 1) % 7, 1),
        // Weeks of the year that begin with Sunday (U) or Monday (W); days before the first are in week 0.
        b'U' => (i64::from(day_of_year + 7 - (weekday + 1) % 7) / 7, 2),
        b'W' => (i64::from(day_of_year + 7 - weekday) / 7, 2),
        b'V' => (i64::from(iso(days).1), 2),
        b'a' => return text.extend(name(&DAYS, weekday as usize, true)),
        b'A' => return text.extend(name(&DAYS, weekday as usize, false)),
        b'b' => return text.extend(name(&MONTHS, month as usize - 1, true)),
        b'B' => return text.extend(name(&MONTHS, month as usize - 1, false)),
        b'p' => return text.extend_from_slice(if hour < 12 { b"AM" } else { b"PM" }),
        b'z' => return text.extend_from_slice(b"+00"),
        _ => return text.extend_from_slice(b"UTC"),
    };
    // Writing to a Vec does not fail.
    let _ = if is_short { write!(text, "{number}") } else { write!(text, "{number:0width$}") };
}

fn iso(days: i32) -> (i32, i32) {
    let thursday = days - days_since_monday(days) + 3;
    let (year, ..) = civil_from_days(thursday);
    (year, (thursday - days_from_civil(year, 1, 1)) / 7 + 1)
}

fn strptime(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    if null_argument(args, &Timestamp, len, out) {
        return Ok(());
    }
    let (texts, formats) = (TextColumn::of(args[0]), TextColumn::of(args[1]));
    let constant = if args[1].is_constant() { Some(parse_format(formats.get(0))?) } else { None };
    per_row(args, &Timestamp, len, out, |row| {
        let text = texts.get(row);
        let parsed = match &constant {
            Some(pieces) => read_pieces(pieces, text),
            None => read_pieces(&parse_format(formats.get(row))?, text),
        };
        parsed.ok_or_else(|| {
            let (text, format) = (String::from_utf8_lossy(text), String::from_utf8_lossy(formats.get(row)));
            Error::InvalidCast { value: text.into_owned(), to: format!("TIMESTAMP by format '{format}'") }
        })
    })
}

/// Fields read so far.
struct Fields {
    year: i32,
    month: u32,
    day: u32,
    hour: i64,
    minute: i64,
    second: i64,
    micros: i64,
    is_afternoon: Option<bool>,
    day_of_year: Option<i32>,
}

fn read_pieces(pieces: &[Piece], text: &[u8]) -> Option<i64> {
    let mut rest = crate::parse::trim(text);
    let mut f = Fields {
        year: 1900,
        month: 1,
        day: 1,
        hour: 0,
        minute: 0,
        second: 0,
        micros: 0,
        is_afternoon: None,
        day_of_year: None,
    };
    for piece in pieces {
        rest = match piece {
            Piece::Text(literal) => rest.strip_prefix(literal.as_slice())?,
            Piece::Field(letter, _) => read_field(*letter, &mut f, rest)?,
        };
    }
    if !rest.is_empty() || !(1..=12).contains(&f.month) || f.day < 1 || f.day > days_in_month(f.year, f.month)
    {
        return None;
    }
    if let Some(is_afternoon) = f.is_afternoon {
        f.hour = f.hour % 12 + if is_afternoon { 12 } else { 0 };
    }
    if f.hour > 23 || f.minute > 59 || f.second > 59 {
        return None;
    }
    let days = match f.day_of_year {
        Some(day) => days_from_civil(f.year, 1, 1) + day - 1,
        None => days_from_civil(f.year, f.month, f.day),
    };
    let time = ((f.hour * 60 + f.minute) * 60 + f.second) * 1_000_000 + f.micros;
    i64::from(days).checked_mul(MICROS_PER_DAY)?.checked_add(time)
}

/// A number of at most `max` digits, and what follows.
fn number(text: &[u8], max: usize) -> Option<(i64, usize, &[u8])> {
    let count = text.iter().take(max).take_while(|b| b.is_ascii_digit()).count();
    let number = text[..count].iter().fold(0, |n, b| n * 10 + i64::from(b - b'0'));
    (count > 0).then(|| (number, count, &text[count..]))
}

fn read_field<'a>(letter: u8, f: &mut Fields, text: &'a [u8]) -> Option<&'a [u8]> {
    let named = |names: &[&str]| -> Option<(usize, &'a [u8])> {
        let fits =
            |name: &str| text.get(..name.len()).is_some_and(|t| t.eq_ignore_ascii_case(name.as_bytes()));
        let whole = names.iter().position(|n| fits(n)).map(|i| (i, &text[names[i].len()..]));
        whole.or_else(|| names.iter().position(|n| fits(&n[..3])).map(|i| (i, &text[3..])))
    };
    match letter {
        b'a' | b'A' => return named(&DAYS).map(|(_, rest)| rest),
        b'b' | b'B' => {
            let (index, rest) = named(&MONTHS)?;
            f.month = index as u32 + 1;
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
        b'm' => f.month = value as u32,
        b'd' => f.day = value as u32,
        b'H' => f.hour = value,
        b'I' if (1..=12).contains(&value) => f.hour = value,
        b'M' => f.minute = value,
        b'S' => f.second = value,
        b'f' => f.micros = value * 10i64.pow(6 - count as u32),
        b'g' => f.micros = value * 10i64.pow(6 - count as u32),
        b'n' => f.micros = value * 10i64.pow(9 - count as u32) / 1000,
        b'j' if (1..=366).contains(&value) => f.day_of_year = Some(value as i32),
        b'u' | b'w' | b'U' | b'W' | b'V' => {}
        _ => return None,
    }
    Some(rest)
}

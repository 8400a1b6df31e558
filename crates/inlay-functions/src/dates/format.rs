//! Formats of dates and times, with the fields of C that DuckDB knows, and `strftime`.

use super::names::{DAYS, Days, MONTHS};
use super::part::{days_since_monday, iso_week};
use super::zoned::to_local;
use crate::columns::{Column, TextColumn, write_text};
use crate::registry::{Function, Loop, Overloads, Signature};
use inlay_kernels::apply::null_argument;
use inlay_kernels::zone::Zone;
use inlay_types::LogicalType::{Date, Timestamp, TimestampNs, TimestampTz, Varchar};
use inlay_types::append::{push_short, push_word};
use inlay_types::datetime::{
    MICROS_PER_DAY, civil_from_days, days_from_civil, is_finite_date, is_finite_timestamp, write_offset,
};
use inlay_types::digits::padded_word;
use inlay_types::{Error, Result, Vector};
use std::io::Write;

const FORWARD: Loop = |args, len, out| strftime(None, args[0], args[1], len, out);
const BACKWARD: Loop = |args, len, out| strftime(None, args[1], args[0], len, out);

/// See the module documentation.
pub(crate) static FUNCTIONS: &[Function] = &[
    Function::new(
        "strftime",
        Overloads::Fixed(&[
            Signature::new(&[Timestamp, Varchar], Varchar, FORWARD),
            Signature::new(&[Date, Varchar], Varchar, FORWARD),
            Signature::new(&[TimestampNs, Varchar], Varchar, FORWARD),
            Signature::zoned(&[TimestampTz, Varchar], Varchar, |zone, args, len, out| {
                strftime(Some(zone), args[0], args[1], len, out)
            }),
            Signature::new(&[Varchar, Timestamp], Varchar, BACKWARD),
            Signature::new(&[Varchar, Date], Varchar, BACKWARD),
            Signature::new(&[Varchar, TimestampNs], Varchar, BACKWARD),
            Signature::zoned(&[Varchar, TimestampTz], Varchar, |zone, args, len, out| {
                strftime(Some(zone), args[1], args[0], len, out)
            }),
        ]),
        "a moment as text in a format of %Y, %m, %d, %H, %M, %S, %f and others",
        "strftime(DATE '2024-02-29', '%d.%m.%Y') = '29.02.2024'",
    )
    .fallible(),
    Function::new(
        "strptime",
        Overloads::Typed {
            shown: &[
                "strptime(VARCHAR, VARCHAR) -> TIMESTAMP",
                "strptime(VARCHAR, VARCHAR[]) -> TIMESTAMP",
            ],
            resolve: |args, options| super::strptime::resolve(args, options, false),
        },
        "the timestamp that a text in a format stands for; with %z or %Z a TIMESTAMPTZ, with %n a TIMESTAMP_NS",
        "strptime('29.02.2024', '%d.%m.%Y') = TIMESTAMP '2024-02-29 00:00:00'",
    )
    .fallible(),
    Function::new(
        "try_strptime",
        Overloads::Typed {
            shown: &[
                "try_strptime(VARCHAR, VARCHAR) -> TIMESTAMP",
                "try_strptime(VARCHAR, VARCHAR[]) -> TIMESTAMP",
            ],
            resolve: |args, options| super::strptime::resolve(args, options, true),
        },
        "the timestamp that a text in a format stands for, NULL if it does not fit",
        "try_strptime('29 2 2024', '%d.%m.%Y') IS NULL",
    )
    .fallible(),
];

/// A piece of a format.
pub(super) enum Piece {
    Text(Vec<u8>),
    /// The field's letter, and whether numbers are written without leading zeros (`%-d`).
    Field(u8, bool),
}

pub(super) fn parse_format(format: &[u8]) -> Result<Vec<Piece>> {
    let refuse = |what: String| {
        let format = String::from_utf8_lossy(format);
        let format = inlay_types::error::shortened(&format);
        Err(Error::invalid_argument(format!("format '{format}' {what}")))
    };
    if format.is_empty() {
        return refuse("is empty".to_string());
    }
    let (mut pieces, mut text) = (Vec::new(), Vec::new());
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
            Some(b'%') if !is_short => text.push(b'%'),
            Some(b'x') if !is_short => pieces.extend(flushed(&mut text, parse_format(b"%Y-%m-%d")?)),
            Some(b'X' | b'T') if !is_short => pieces.extend(flushed(&mut text, parse_format(b"%H:%M:%S")?)),
            Some(b'c') if !is_short => pieces.extend(flushed(&mut text, parse_format(b"%Y-%m-%d %H:%M:%S")?)),
            Some(b'h') if !is_short => pieces.extend(flushed(&mut text, vec![Piece::Field(b'b', false)])),
            Some(letter) if known(letter, is_short) => {
                pieces.extend(flushed(&mut text, vec![Piece::Field(letter, is_short)]));
            }
            None => return refuse("ends in %".to_string()),
            Some(letter) => {
                let dash = if is_short { "-" } else { "" };
                return refuse(format!(
                    "has the unknown field %{dash}{}; fields are %Y %m %d %H %M %S %f %j %a %b %p %z and others",
                    char::from(letter)
                ));
            }
        }
    }
    pieces.extend(flushed(&mut text, Vec::new()));
    Ok(pieces)
}

fn known(letter: u8, is_short: bool) -> bool {
    if is_short { b"dmyHIMSj".contains(&letter) } else { b"YmdHMSfgnIpyjaAbBuwUWVGzZ".contains(&letter) }
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

/// A moment to be written.
#[derive(Clone, Copy)]
struct Moment<'a> {
    days: i32,
    /// Nanoseconds of the day.
    nanos: i64,
    offset: i32,
    zone: &'a str,
}

fn strftime(
    zone: Option<&Zone>,
    moments: &Vector,
    formats: &Vector,
    len: usize,
    out: &mut Vector,
) -> Result<()> {
    let args = [moments, formats];
    if null_argument(&args, &Varchar, len, out) {
        return Ok(());
    }
    let texts = TextColumn::of(formats);
    let constant = if formats.is_constant() { Some(parse_format(texts.get(0))?) } else { None };
    let write = |row: usize, moment: Option<Moment<'_>>, is_negative: bool, text: &mut Vec<u8>| {
        let Some(moment) = moment else {
            text.extend_from_slice(if is_negative { b"-infinity" } else { b"infinity" });
            return Ok(());
        };
        match &constant {
            Some(pieces) => write_pieces(pieces, moment, text),
            None => write_pieces(&parse_format(texts.get(row))?, moment, text),
        }
        Ok(())
    };
    if moments.logical_type() == TimestampNs {
        let values = Column::<i64>::of(moments);
        return write_text(&args, len, out, |row, text| {
            let at = values.get(row);
            let days = at.div_euclid(MICROS_PER_DAY * 1000) as i32;
            let moment = Moment { days, nanos: at.rem_euclid(MICROS_PER_DAY * 1000), offset: 0, zone: "" };
            write(row, is_finite_timestamp(at).then_some(moment), at < 0, text)
        });
    }
    if let Some(zone) = zone {
        let local = to_local(zone, moments)?;
        let (values, local) = (Column::<i64>::of(moments), Days::of(&local));
        return write_text(&args, len, out, |row, text| {
            let (at, (days, micros)) = (values.get(row), local.get(row));
            let moment = Moment { days, nanos: micros * 1000, offset: zone.offset_at(at), zone: zone.name() };
            write(row, is_finite_timestamp(at).then_some(moment), at < 0, text)
        });
    }
    let is_date = *moments.ty() == Date;
    if is_date {
        let days = Column::<i32>::of(moments);
        return write_text(&args, len, out, |row, text| {
            let days = days.get(row);
            let moment = Moment { days, nanos: 0, offset: 0, zone: "" };
            write(row, is_finite_date(days).then_some(moment), days < 0, text)
        });
    }
    let values = Column::<i64>::of(moments);
    write_text(&args, len, out, |row, text| {
        let at = values.get(row);
        let (days, micros) = (at.div_euclid(MICROS_PER_DAY) as i32, at.rem_euclid(MICROS_PER_DAY));
        let moment = Moment { days, nanos: micros * 1000, offset: 0, zone: "" };
        write(row, is_finite_timestamp(at).then_some(moment), at < 0, text)
    })
}

fn write_pieces(pieces: &[Piece], moment: Moment<'_>, text: &mut Vec<u8>) {
    let (year, month, day) = civil_from_days(moment.days);
    let civil = (year, month as usize, day);
    for piece in pieces {
        match piece {
            Piece::Text(literal) => match literal[..] {
                [one] => text.push(one),
                ref more => push_short(text, more),
            },
            Piece::Field(letter, is_short) => write_field(*letter, *is_short, moment, civil, text),
        }
    }
}

fn write_field(
    letter: u8,
    is_short: bool,
    moment: Moment<'_>,
    (year, month, day): (i32, usize, u32),
    text: &mut Vec<u8>,
) {
    let Moment { days, nanos, offset, zone } = moment;
    let seconds = || nanos / 1_000_000_000;
    let fraction = || nanos % 1_000_000_000;
    let weekday = || days_since_monday(days);
    let day_of_year = || days - days_from_civil(year, 1, 1);
    let (number, width) = match letter {
        b'Y' => (i64::from(year), if year < 0 { 0 } else { 4 }),
        b'G' => (i64::from(iso_week(days).0), if iso_week(days).0 < 0 { 0 } else { 4 }),
        b'y' => (i64::from(year.unsigned_abs() % 100), 2),
        b'm' => (month as i64, 2),
        b'd' => (i64::from(day), 2),
        b'H' => (seconds() / 3600, 2),
        b'I' => ((seconds() / 3600 + 11) % 12 + 1, 2),
        b'M' => (seconds() / 60 % 60, 2),
        b'S' => (seconds() % 60, 2),
        b'f' => (fraction() / 1000, 6),
        b'g' => (fraction() / 1_000_000, 3),
        b'n' => (fraction(), 9),
        b'j' => (i64::from(day_of_year()) + 1, 3),
        b'u' => (i64::from(weekday()) + 1, 1),
        b'w' => (i64::from(weekday() + 1) % 7, 1),
        // Weeks of the year that begin with Sunday (U) or Monday (W); days before the first are in week 0.
        b'U' => (i64::from(day_of_year() + 7 - (weekday() + 1) % 7) / 7, 2),
        b'W' => (i64::from(day_of_year() + 7 - weekday()) / 7, 2),
        b'V' => (i64::from(iso_week(days).1), 2),
        b'a' => return push_short(text, &DAYS[weekday() as usize].as_bytes()[..3]),
        b'A' => return push_short(text, DAYS[weekday() as usize].as_bytes()),
        b'b' => return push_short(text, &MONTHS[month - 1].as_bytes()[..3]),
        b'B' => return push_short(text, MONTHS[month - 1].as_bytes()),
        b'p' => return text.extend_from_slice(if seconds() < 43_200 { b"AM" } else { b"PM" }),
        b'z' => {
            let mut written = String::new();
            write_offset(&mut written, offset, true);
            return text.extend_from_slice(written.as_bytes());
        }
        _ => return text.extend_from_slice(zone.as_bytes()),
    };
    write_number(number, if is_short { 0 } else { width }, text);
}

/// Appends a number of at least `width` digits; of a negative one the sign counts as a digit.
fn write_number(number: i64, width: usize, text: &mut Vec<u8>) {
    match (u64::try_from(number), width) {
        (Ok(number @ 0..100), 2) => {
            push_word(text, u128::from(0x3030 | (number / 10) | ((number % 10) << 8)), 2)
        }
        (Ok(number @ 0..10_000), 4) => {
            push_word(text, u128::from(padded_word(number) >> 32), 4);
        }
        // Writing to a Vec does not fail.
        _ => {
            let _ = write!(text, "{number:0width$}");
        }
    }
}

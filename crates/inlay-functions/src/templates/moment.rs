//! Templates of dates and times, and writing by them: `to_char(t, 'FMDay, DD.MM.YYYY HH24:MI')`.
//!
//! Words of a template stand for fields, in upper or lower case; what is no word stands for itself. The rules are those of
//! PostgreSQL's `formatting.c`.

use super::number::{ordinal, quoted};
use crate::dates::names::{DAYS, MONTHS};
use inlay_types::datetime::{civil_from_days, days_from_civil};
use inlay_types::{Error, Result};
use std::fmt::Write;

/// What a word stands for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Field {
    Hour24,
    Hour12,
    Minute,
    Second,
    Millis,
    Micros,
    /// As many digits of the second's fraction.
    Fraction(usize),
    SecondOfDay,
    /// With points or not.
    Meridiem(bool),
    Era(bool),
    YearComma,
    /// The last digits of it.
    Year(usize),
    IsoYear(usize),
    MonthName,
    MonthShort,
    Month,
    MonthRoman,
    DayName,
    DayShort,
    DayOfYear,
    IsoDayOfYear,
    Day,
    /// From 1 for Sunday.
    DayOfWeek,
    /// From 1 for Monday.
    IsoDayOfWeek,
    WeekOfMonth,
    Week,
    IsoWeek,
    Century,
    Julian,
    Quarter,
    Zone,
    ZoneHour,
    ZoneMinute,
    Offset,
    /// The whole template is read as it stands.
    Exact,
}

use Field as F;

/// The words, those that begin with another one first.
const WORDS: [(&str, Field); 54] = [
    ("Y,YYY", F::YearComma),
    ("SSSSS", F::SecondOfDay),
    ("MONTH", F::MonthName),
    ("SSSS", F::SecondOfDay),
    ("YYYY", F::Year(4)),
    ("IYYY", F::IsoYear(4)),
    ("IDDD", F::IsoDayOfYear),
    ("HH24", F::Hour24),
    ("HH12", F::Hour12),
    ("A.M.", F::Meridiem(true)),
    ("P.M.", F::Meridiem(true)),
    ("A.D.", F::Era(true)),
    ("B.C.", F::Era(true)),
    ("YYY", F::Year(3)),
    ("IYY", F::IsoYear(3)),
    ("DAY", F::DayName),
    ("DDD", F::DayOfYear),
    ("FF1", F::Fraction(1)),
    ("FF2", F::Fraction(2)),
    ("FF3", F::Fraction(3)),
    ("FF4", F::Fraction(4)),
    ("FF5", F::Fraction(5)),
    ("FF6", F::Fraction(6)),
    ("MON", F::MonthShort),
    ("TZH", F::ZoneHour),
    ("TZM", F::ZoneMinute),
    ("AM", F::Meridiem(false)),
    ("PM", F::Meridiem(false)),
    ("AD", F::Era(false)),
    ("BC", F::Era(false)),
    ("CC", F::Century),
    ("DD", F::Day),
    ("DY", F::DayShort),
    ("FX", F::Exact),
    ("HH", F::Hour12),
    ("ID", F::IsoDayOfWeek),
    ("IW", F::IsoWeek),
    ("IY", F::IsoYear(2)),
    ("MI", F::Minute),
    ("MM", F::Month),
    ("MS", F::Millis),
    ("OF", F::Offset),
    ("RM", F::MonthRoman),
    ("SS", F::Second),
    ("TZ", F::Zone),
    ("US", F::Micros),
    ("WW", F::Week),
    ("YY", F::Year(2)),
    ("D", F::DayOfWeek),
    ("I", F::IsoYear(1)),
    ("J", F::Julian),
    ("Q", F::Quarter),
    ("W", F::WeekOfMonth),
    ("Y", F::Year(1)),
];

pub(super) const ROMAN: [&str; 12] =
    ["I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII"];

/// How a word is written, and thus names.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Case {
    Upper,
    Capital,
    Lower,
}

/// A field as a template names it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Named {
    pub(super) field: Field,
    /// The word's length, which is how many digits are read.
    pub(super) width: usize,
    case: Case,
    /// `FM` in front: without padding.
    pub(super) fills: bool,
    /// `TH` or `th` behind: whether in lower case.
    pub(super) ordinal: Option<bool>,
}

/// A piece of a template.
#[derive(Clone, Debug)]
pub(super) enum Piece {
    Field(Named),
    /// A character between fields.
    Separator(char),
    /// A letter, or anything in quotes.
    Text(char),
}

/// A template of dates and times.
#[derive(Clone, Debug)]
pub(super) struct Template {
    pub(super) pieces: Vec<Piece>,
    pub(super) is_exact: bool,
}

fn word_at(rest: &str) -> Option<(Field, usize, Case)> {
    WORDS.iter().find_map(|(word, field)| {
        let part = rest.get(..word.len())?;
        if !part.eq_ignore_ascii_case(word) {
            return None;
        }
        let is_lower = |text: &str| !text.bytes().any(|byte| byte.is_ascii_uppercase());
        let has_names = matches!(field, F::MonthName | F::MonthShort | F::DayName | F::DayShort);
        let case = match () {
            () if part == *word => Case::Upper,
            () if is_lower(part) => Case::Lower,
            () if has_names && is_lower(&part[1..]) => Case::Capital,
            () => return None,
        };
        Some((*field, word.len(), case))
    })
}

impl Template {
    pub(super) fn parse(text: &str) -> Self {
        let mut template = Self { pieces: Vec::new(), is_exact: false };
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            if let Some((literal, behind)) = quoted(rest) {
                template.pieces.extend(literal.chars().map(Piece::Text));
                rest = behind;
                continue;
            }
            let prefix = ["FM", "fm", "TM"].into_iter().find(|prefix| rest.starts_with(prefix));
            let word = &rest[prefix.map_or(0, str::len)..];
            let Some((field, width, case)) = word_at(word) else {
                let is_separator = first.is_ascii_punctuation() || first.is_whitespace();
                template.pieces.push(match is_separator {
                    true => Piece::Separator(first),
                    false => Piece::Text(first),
                });
                rest = &rest[first.len_utf8()..];
                continue;
            };
            rest = &word[width..];
            if field == F::Exact {
                template.is_exact = true;
                continue;
            }
            let ordinal = match () {
                () if rest.starts_with("TH") => Some(false),
                () if rest.starts_with("th") => Some(true),
                () => None,
            };
            rest = &rest[if ordinal.is_some() { 2 } else { 0 }..];
            let named = Named { field, width, case, fills: prefix.is_some(), ordinal };
            template.pieces.push(Piece::Field(named));
        }
        template
    }

    pub(super) fn write(&self, moment: &Moment<'_>, out: &mut String) -> Result<()> {
        for piece in &self.pieces {
            match piece {
                Piece::Separator(c) | Piece::Text(c) => out.push(*c),
                Piece::Field(named) => {
                    let start = out.len();
                    write_field(named, moment, out)?;
                    if let Some(is_lower) = named.ordinal
                        && out[start..].ends_with(|c: char| c.is_ascii_digit())
                    {
                        let suffix = ordinal(&out[start..], is_lower);
                        out.push_str(suffix);
                    }
                }
            }
        }
        Ok(())
    }
}

/// A moment or an interval to be written.
pub(super) struct Moment<'a> {
    /// Days since 1970; an interval has none.
    pub(super) date: Option<i32>,
    /// Of an interval: months and days.
    pub(super) span: (i64, i64),
    /// Microseconds of the day, or of an interval.
    pub(super) micros: i64,
    /// The zone's abbreviation and offset.
    pub(super) zone: Option<(&'a str, i32)>,
}

pub(super) fn days_since_monday(days: i32) -> i32 {
    (days + 3).rem_euclid(7)
}

/// The Monday of the first week of a year by ISO 8601.
pub(super) fn iso_start(year: i32) -> i32 {
    let fourth = days_from_civil(year, 1, 4);
    fourth - days_since_monday(fourth)
}

/// Year, week and day of the year by ISO 8601.
fn iso(days: i32) -> (i32, i32, i32) {
    let (year, ..) = civil_from_days(days - days_since_monday(days) + 3);
    let day = days - iso_start(year);
    (year, day / 7 + 1, day + 1)
}

fn cased(text: &str, case: Case) -> String {
    match case {
        Case::Upper => text.to_ascii_uppercase(),
        Case::Capital => text.to_string(),
        Case::Lower => text.to_ascii_lowercase(),
    }
}

fn needs_date() -> Error {
    Error::invalid_argument("an interval has no dates: use YYYY, MM, DD and times of day")
}

/// What a month is called, and how wide it is written; an interval may have none.
fn name_of_month(field: F, month: i64, date: Option<i32>) -> Result<Option<(&'static str, usize)>> {
    let Some(index) = usize::try_from(month - 1).ok().filter(|index| *index < 12) else {
        return if date.is_some() { Err(Error::internal("a month is none")) } else { Ok(None) };
    };
    if field != F::MonthRoman && date.is_none() {
        return Err(needs_date());
    }
    Ok(Some(match field {
        F::MonthName => (MONTHS[index], 9),
        F::MonthShort => (&MONTHS[index][..3], 0),
        _ => (ROMAN[index], 4),
    }))
}

fn write_field(named: &Named, moment: &Moment<'_>, out: &mut String) -> Result<()> {
    let (year, month, day) = match moment.date {
        Some(days) => {
            let (year, month, day) = civil_from_days(days);
            (i64::from(year), i64::from(month), i64::from(day))
        }
        None => (moment.span.0 / 12, moment.span.0 % 12, moment.span.1),
    };
    let seconds = moment.micros / 1_000_000;
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    let fraction = moment.micros % 1_000_000;
    // As written: there is no year 0.
    let written_year = |year: i64| if moment.date.is_some() && year <= 0 { 1 - year } else { year };
    let number = |value: i64, width: usize, out: &mut String| {
        let width = if named.fills { 0 } else { width + usize::from(value < 0) };
        // Writing to a String does not fail.
        let _ = write!(out, "{value:0width$}");
    };
    let name = |text: &str, width: usize, out: &mut String| {
        let width = if named.fills { 0 } else { width };
        let _ = write!(out, "{:<width$}", cased(text, named.case));
    };
    let days = || moment.date.ok_or_else(needs_date);
    let last_digits = |year: i64, count: usize, out: &mut String| {
        let year = written_year(year);
        if count == 4 { number(year, 4, out) } else { number(year % 10i64.pow(count as u32), count, out) }
    };
    match named.field {
        F::Hour24 => number(hour, 2, out),
        F::Hour12 => number(if hour % 12 == 0 { 12 } else { hour % 12 }, 2, out),
        F::Minute => number(minute, 2, out),
        F::Second => number(second, 2, out),
        F::Millis => {
            let _ = write!(out, "{:03}", fraction / 1000);
        }
        F::Micros => {
            let _ = write!(out, "{fraction:06}");
        }
        F::Fraction(count) => {
            let _ = write!(out, "{:0count$}", fraction / 10i64.pow(6 - count as u32));
        }
        F::SecondOfDay => {
            let _ = write!(out, "{seconds}");
        }
        F::Meridiem(has_points) => {
            let text = match (hour.rem_euclid(24) >= 12, has_points) {
                (true, true) => "P.M.",
                (true, false) => "PM",
                (false, true) => "A.M.",
                (false, false) => "AM",
            };
            out.push_str(&cased(text, named.case));
        }
        F::Era(has_points) => {
            days()?;
            let text = match (year <= 0, has_points) {
                (true, true) => "B.C.",
                (true, false) => "BC",
                (false, true) => "A.D.",
                (false, false) => "AD",
            };
            out.push_str(&cased(text, named.case));
        }
        F::YearComma => {
            let year = written_year(year);
            let _ = write!(out, "{},{:03}", year / 1000, year % 1000);
        }
        F::Year(count) => last_digits(year, count, out),
        F::IsoYear(count) => last_digits(i64::from(iso(days()?).0), count, out),
        F::MonthName | F::MonthShort | F::MonthRoman => {
            if let Some((text, width)) = name_of_month(named.field, month, moment.date)? {
                name(text, width, out);
            }
        }
        F::Month => number(month, 2, out),
        F::DayName => name(DAYS[days_since_monday(days()?) as usize], 9, out),
        F::DayShort => name(&DAYS[days_since_monday(days()?) as usize][..3], 0, out),
        F::DayOfYear => {
            let of_year = match moment.date {
                Some(days) => i64::from(days - days_from_civil(year as i32, 1, 1) + 1),
                None => year * 360 + month * 30 + day,
            };
            number(of_year, 3, out);
        }
        F::IsoDayOfYear => number(i64::from(iso(days()?).2), 3, out),
        F::Day => number(day, 2, out),
        F::DayOfWeek => number(i64::from((days_since_monday(days()?) + 1) % 7 + 1), 1, out),
        F::IsoDayOfWeek => number(i64::from(days_since_monday(days()?) + 1), 1, out),
        F::WeekOfMonth => number((day - 1) / 7 + 1, 1, out),
        F::Week => {
            let of_year = days()? - days_from_civil(year as i32, 1, 1);
            number(i64::from(of_year / 7 + 1), 2, out);
        }
        F::IsoWeek => number(i64::from(iso(days()?).1), 2, out),
        F::Century => {
            let century = match () {
                () if moment.date.is_none() => year / 100,
                () if year > 0 => (year - 1) / 100 + 1,
                () => year / 100 - 1,
            };
            number(century, 2, out);
        }
        F::Julian => {
            let _ = write!(out, "{}", i64::from(days()?) + super::JULIAN_OF_1970);
        }
        F::Quarter => {
            if month > 0 {
                number((month - 1) / 3 + 1, 1, out);
            }
        }
        F::Zone | F::ZoneHour | F::ZoneMinute | F::Offset => write_zone(named, moment, out)?,
        F::Exact => {}
    }
    Ok(())
}

fn write_zone(named: &Named, moment: &Moment<'_>, out: &mut String) -> Result<()> {
    if moment.date.is_none() {
        return Err(Error::invalid_argument("an interval has no time zone"));
    }
    // Without a zone there is no abbreviation, and no offset.
    let (abbreviation, offset) = moment.zone.unwrap_or(("", 0));
    let (sign, minutes) = (if offset < 0 { '-' } else { '+' }, offset.abs() / 60);
    let _ = match named.field {
        F::Zone => {
            out.push_str(&match named.case {
                Case::Lower => abbreviation.to_ascii_lowercase(),
                _ => abbreviation.to_string(),
            });
            Ok(())
        }
        F::ZoneHour => write!(out, "{sign}{:02}", minutes / 60),
        F::ZoneMinute => write!(out, "{:02}", minutes % 60),
        _ if minutes % 60 != 0 => write!(out, "{sign}{:02}:{:02}", minutes / 60, minutes % 60),
        _ if named.fills => write!(out, "{sign}{}", minutes / 60),
        _ => write!(out, "{sign}{:02}", minutes / 60),
    };
    Ok(())
}

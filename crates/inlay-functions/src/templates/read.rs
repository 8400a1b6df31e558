//! Reading dates and times by a template: `to_date('29.02.2024', 'DD.MM.YYYY')`.
//!
//! Blanks and separators are taken loosely unless the template says FX: each of the template's matches one of the text or
//! none. Numbers have as many digits as their word has letters, or as many as there are where no digit follows.

use super::moment::{Field as F, Named, Piece, ROMAN, Template, iso_start};
use crate::dates::names::{DAYS, MONTHS};
use inlay_kernels::zone::Zone;
use inlay_types::datetime::{MICROS_PER_DAY, civil_from_days, days_from_civil, days_in_month, midnight};
use inlay_types::{Error, Result};

/// What was read.
#[derive(Default)]
struct Fields {
    year: i64,
    /// With how many digits, if fewer than four.
    is_short_year: bool,
    century: i64,
    month: i64,
    day: i64,
    day_of_year: i64,
    week: i64,
    week_of_month: i64,
    /// From 1 for Monday.
    day_of_week: i64,
    is_iso: bool,
    julian: Option<i64>,
    is_before_christ: bool,
    hour: i64,
    is_twelve: bool,
    is_afternoon: Option<bool>,
    minute: i64,
    second: i64,
    micros: i64,
    second_of_day: Option<i64>,
    zone: Zoned,
}

/// Which zone the text names.
#[derive(Default)]
struct Zoned {
    is_given: bool,
    sign: i64,
    hours: i64,
    minutes: i64,
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    /// Characters of the text skipped beyond those of the template.
    extra: i64,
    fields: Fields,
}

/// The day, and the microseconds of the day, of a text; and its offset to UTC in seconds if it has one.
pub(super) fn read(template: &Template, text: &str) -> Result<(i32, i64, Option<i32>)> {
    let mut reader = Reader { text, at: 0, extra: 0, fields: Fields::default() };
    for (index, piece) in template.pieces.iter().enumerate() {
        if reader.at >= text.len() {
            break;
        }
        let is_field = matches!(piece, Piece::Field(_));
        if !template.is_exact && (is_field || index == 0) {
            reader.skip_blanks();
        }
        match piece {
            Piece::Separator(_) if template.is_exact => reader.skip(),
            Piece::Separator(_) => {
                reader.extra -= 1;
                if reader.next().is_some_and(|c| c.is_whitespace() || c.is_ascii_punctuation()) {
                    reader.skip();
                    reader.extra += 1;
                }
            }
            Piece::Text(_) if template.is_exact || reader.extra <= 0 => reader.skip(),
            Piece::Text(_) => reader.extra -= 1,
            Piece::Field(named) => {
                let takes_all = named.fills || named.ordinal.is_some() || ends(&template.pieces[index + 1..]);
                reader.field(named, takes_all)?;
                if named.ordinal.is_some() {
                    reader.skip();
                    reader.skip();
                }
                if !template.is_exact {
                    reader.extra = 0;
                    reader.skip_blanks();
                }
            }
        }
    }
    let Reader { fields, .. } = reader;
    let (days, micros) = moment_of(&fields, text)?;
    let Zoned { is_given, sign, hours, minutes } = fields.zone;
    let offset = sign * (hours * 3600 + minutes * 60);
    if is_given && offset.abs() >= 16 * 3600 {
        return Err(out_of_range(text));
    }
    Ok((days, micros, is_given.then_some(offset as i32)))
}

/// Whether no digit can follow.
fn ends(behind: &[Piece]) -> bool {
    match behind.first() {
        None => true,
        Some(Piece::Separator(c) | Piece::Text(c)) => !c.is_ascii_digit(),
        Some(Piece::Field(named)) => matches!(
            named.field,
            F::Meridiem(_)
                | F::Era(_)
                | F::MonthName
                | F::MonthShort
                | F::MonthRoman
                | F::DayName
                | F::DayShort
                | F::Zone
                | F::ZoneHour
                | F::Offset
        ),
    }
}

fn out_of_range(text: &str) -> Error {
    Error::out_of_range(format!("'{text}' has a field that is out of range for a date or time"))
}

/// The year that fewer than four digits stand for: the one nearest to 2020.
fn full_year(year: i64) -> i64 {
    match year {
        0..70 => year + 2000,
        70..100 => year + 1900,
        100..520 => year + 2000,
        520..1000 => year + 1000,
        _ => year,
    }
}

impl Reader<'_> {
    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn next(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn skip(&mut self) {
        self.at += self.next().map_or(0, char::len_utf8);
    }

    fn skip_blanks(&mut self) {
        while self.next().is_some_and(char::is_whitespace) {
            self.skip();
            self.extra += 1;
        }
    }

    fn wrong(&self, what: &str) -> Error {
        let rest: String = self.rest().chars().take(20).collect();
        Error::invalid_argument(format!(
            "'{}' does not fit the template: {what} is expected at '{rest}'",
            self.text
        ))
    }

    /// A number of at most `width` digits, or of all there are, and how many characters it has.
    fn number(&mut self, width: usize, takes_all: bool) -> Result<(i64, usize)> {
        self.skip_blanks();
        let rest = self.rest();
        let rest = if takes_all { rest } else { rest.get(..width).unwrap_or(rest) };
        let sign = usize::from(rest.starts_with(['-', '+']));
        let digits = rest[sign..].bytes().take_while(u8::is_ascii_digit).count();
        let count = sign + digits;
        if digits == 0 || !takes_all && count < width {
            return Err(self.wrong(&format!("a number of {width} digits")));
        }
        let value = rest[..count].parse().map_err(|_| out_of_range(self.text))?;
        self.at += count;
        Ok((value, count))
    }

    /// The index of the name, in any case, that the text goes on with.
    fn name<'n>(&mut self, names: impl Iterator<Item = &'n str>, what: &str) -> Result<i64> {
        let mut best: Option<(usize, usize)> = None;
        for (index, name) in names.enumerate() {
            let part = self.rest().get(..name.len()).unwrap_or_default();
            if part.eq_ignore_ascii_case(name) && best.is_none_or(|(_, len)| name.len() > len) {
                best = Some((index, name.len()));
            }
        }
        let (index, len) = best.ok_or_else(|| self.wrong(what))?;
        self.at += len;
        Ok(index as i64)
    }

    fn field(&mut self, named: &Named, takes_all: bool) -> Result<()> {
        let width = match named.field {
            F::Hour24 | F::Hour12 => 2,
            _ => named.width,
        };
        match named.field {
            F::Hour24 => self.fields.hour = self.number(width, takes_all)?.0,
            F::Hour12 => {
                self.fields.hour = self.number(width, takes_all)?.0;
                self.fields.is_twelve = true;
            }
            F::Minute => self.fields.minute = self.number(width, takes_all)?.0,
            F::Second => self.fields.second = self.number(width, takes_all)?.0,
            F::Millis => self.fraction(3, takes_all)?,
            F::Micros => self.fraction(6, takes_all)?,
            F::Fraction(count) => self.fraction(count, takes_all)?,
            F::SecondOfDay => self.fields.second_of_day = Some(self.number(width, takes_all)?.0),
            F::Meridiem(_) => {
                let index = self.name(["am", "pm", "a.m.", "p.m."].into_iter(), "AM or PM")?;
                self.fields.is_afternoon = Some(index % 2 == 1);
                self.fields.is_twelve = true;
            }
            F::Era(_) => {
                let index = self.name(["ad", "bc", "a.d.", "b.c."].into_iter(), "AD or BC")?;
                self.fields.is_before_christ = index % 2 == 1;
            }
            F::YearComma => {
                let (thousands, _) = self.number(1, true)?;
                if self.next() == Some(',') {
                    self.skip();
                }
                self.fields.year = thousands * 1000 + self.number(3, false)?.0;
            }
            F::Year(4) | F::IsoYear(4) => {
                self.fields.year = self.number(width, takes_all)?.0;
                self.fields.is_iso |= matches!(named.field, F::IsoYear(_));
            }
            F::Year(count) | F::IsoYear(count) => {
                let (year, read) = self.number(count, takes_all)?;
                self.fields.year = if read < 4 { full_year(year) } else { year };
                self.fields.is_short_year = count <= 2;
                self.fields.is_iso |= matches!(named.field, F::IsoYear(_));
            }
            F::MonthName => self.fields.month = self.name(MONTHS.into_iter(), "the name of a month")? + 1,
            F::MonthShort => {
                let short = MONTHS.iter().map(|name| &name[..3]);
                self.fields.month = self.name(short, "the short name of a month")? + 1;
            }
            F::MonthRoman => self.fields.month = self.name(ROMAN.into_iter(), "a month in Roman digits")? + 1,
            F::Month => self.fields.month = self.number(width, takes_all)?.0,
            F::DayName => {
                self.fields.day_of_week = self.name(DAYS.into_iter(), "the name of a day")? + 1;
            }
            F::DayShort => {
                let short = DAYS.iter().map(|name| &name[..3]);
                self.fields.day_of_week = self.name(short, "the short name of a day")? + 1;
            }
            F::DayOfYear | F::IsoDayOfYear => {
                self.fields.day_of_year = self.number(3, takes_all)?.0;
                self.fields.is_iso |= named.field == F::IsoDayOfYear;
            }
            F::Day => self.fields.day = self.number(width, takes_all)?.0,
            F::DayOfWeek => self.fields.day_of_week = (self.number(width, takes_all)?.0 + 5) % 7 + 1,
            F::IsoDayOfWeek => {
                self.fields.day_of_week = self.number(1, takes_all)?.0;
                self.fields.is_iso = true;
            }
            F::WeekOfMonth => self.fields.week_of_month = self.number(width, takes_all)?.0,
            F::Week => self.fields.week = self.number(width, takes_all)?.0,
            F::IsoWeek => {
                self.fields.week = self.number(width, takes_all)?.0;
                self.fields.is_iso = true;
            }
            F::Century => self.fields.century = self.number(width, takes_all)?.0,
            F::Julian => self.fields.julian = Some(self.number(width, takes_all)?.0),
            // It does not say which day.
            F::Quarter => drop(self.number(width, takes_all)?),
            F::Zone | F::Offset | F::ZoneHour | F::ZoneMinute => self.zone(named.field)?,
            F::Exact => {}
        }
        Ok(())
    }

    /// A fraction of a second, whose digits count from the point on.
    fn fraction(&mut self, width: usize, takes_all: bool) -> Result<()> {
        let (value, count) = self.number(width, takes_all)?;
        if count > 6 {
            return Err(self.wrong("at most 6 digits of a fraction"));
        }
        // Three digits of US are microseconds all the same; fewer than a field has are tenths and hundredths.
        let unit = 10i64.pow(6 - count.min(6) as u32);
        self.fields.micros += value * unit;
        Ok(())
    }

    fn zone(&mut self, field: F) -> Result<()> {
        if field == F::ZoneMinute {
            self.fields.zone.minutes = self.number(2, true)?.0;
            return Ok(());
        }
        if field == F::Zone && self.next().is_some_and(char::is_alphabetic) {
            let names = ["utc", "gmt", "z"];
            self.name(names.into_iter(), "an offset to UTC such as +01:00, or UTC")?;
            self.fields.zone = Zoned { is_given: true, sign: 1, hours: 0, minutes: 0 };
            return Ok(());
        }
        let before = self.text[..self.at].ends_with('-') && self.extra > 0;
        let sign = match self.next() {
            Some('-') => -1,
            Some('+') => 1,
            _ => 0,
        };
        if sign != 0 {
            self.skip();
        }
        let hours = self.number(2, true)?.0;
        let sign = if sign == 0 { if before { -1 } else { 1 } } else { sign };
        self.fields.zone = Zoned { is_given: true, sign, hours, minutes: 0 };
        if field != F::ZoneHour && self.next() == Some(':') {
            self.skip();
            self.fields.zone.minutes = self.number(2, true)?.0;
        }
        Ok(())
    }
}

/// The year that digits, century and era say, counted with a year 0.
fn year_of(fields: &Fields) -> i64 {
    let century = if fields.is_before_christ { -fields.century } else { fields.century };
    match (fields.year, century) {
        (0, 0) => 0,
        (0, century) if century > 0 => (century - 1) * 100 + 1,
        (0, century) => century * 100 + 1,
        (year, century) if century != 0 && fields.is_short_year => match (year % 100, century > 0) {
            (0, true) => century * 100,
            (0, false) => century * 100 + 1,
            (year, true) => (century - 1) * 100 + year,
            (year, false) => (century + 1) * 100 - year + 1,
        },
        (year, _) => {
            let year = if fields.is_before_christ { -year } else { year };
            if year < 0 { year + 1 } else { year }
        }
    }
}

fn moment_of(fields: &Fields, text: &str) -> Result<(i32, i64)> {
    let wrong = || out_of_range(text);
    let year = i32::try_from(year_of(fields)).ok().filter(|year| year.abs() < 1_000_000).ok_or_else(wrong)?;
    let small =
        |value: i64| i32::try_from(value).ok().filter(|value| value.abs() < 10_000_000).ok_or_else(wrong);
    let mut days = None;
    if let Some(julian) = fields.julian {
        let since_1970 = small(julian)?;
        days = Some(since_1970 - super::JULIAN_OF_1970 as i32);
    }
    let (mut month, mut day, mut day_of_year) = (fields.month, fields.day, fields.day_of_year);
    if fields.week != 0 {
        if fields.is_iso {
            let day = if fields.day_of_week > 0 { fields.day_of_week } else { 1 };
            days = Some(iso_start(year) + small((fields.week - 1) * 7 + day - 1)?);
        } else {
            day_of_year = (fields.week - 1) * 7 + 1;
        }
    }
    if fields.week_of_month != 0 {
        day = (fields.week_of_month - 1) * 7 + 1;
    }
    if day_of_year != 0 && month <= 1 && day <= 1 && days.is_none() {
        if fields.year == 0 && fields.century == 0 {
            let message = format!("'{text}' has a day of the year and no year");
            return Err(Error::invalid_argument(message));
        }
        let start = if fields.is_iso { iso_start(year) } else { days_from_civil(year, 1, 1) };
        days = Some(start + small(day_of_year - 1)?);
    }
    let days = match days {
        Some(days) => {
            let (of_year, ..) = civil_from_days(days);
            if of_year.abs() > 1_000_000 {
                return Err(wrong());
            }
            days
        }
        None => {
            (month, day) = (if month == 0 { 1 } else { month }, if day == 0 { 1 } else { day });
            let month =
                u32::try_from(month).ok().filter(|month| (1..=12).contains(month)).ok_or_else(wrong)?;
            let day = u32::try_from(day).ok().filter(|day| (1..=days_in_month(year, month)).contains(day));
            days_from_civil(year, month, day.ok_or_else(wrong)?)
        }
    };
    Ok((days, time_of(fields, text)?))
}

fn time_of(fields: &Fields, text: &str) -> Result<i64> {
    let (mut hour, mut minute, mut second) = (fields.hour, fields.minute, fields.second);
    if let Some(of_day) = fields.second_of_day {
        (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
    }
    if fields.is_twelve {
        if !(1..=12).contains(&hour) && fields.hour != 0 {
            let message =
                format!("'{text}' has an hour {hour}, which is none of a clock of 12 hours: use HH24");
            return Err(Error::invalid_argument(message));
        }
        match fields.is_afternoon {
            Some(true) if hour < 12 => hour += 12,
            Some(true) => {}
            _ if hour == 12 => hour = 0,
            _ => {}
        }
    }
    let fits = (0..24).contains(&hour) && (0..60).contains(&minute) && (0..60).contains(&second);
    if !fits {
        return Err(out_of_range(text));
    }
    Ok((hour * 3600 + minute * 60 + second) * 1_000_000 + fields.micros)
}

/// The moment, in microseconds since 1970 (UTC), of a text whose clock is that of `zone` unless it says otherwise.
pub(super) fn read_moment(template: &Template, text: &str, zone: &Zone) -> Result<i64> {
    let (days, micros, offset) = read(template, text)?;
    let local =
        midnight(days).and_then(|start| start.checked_add(micros)).ok_or_else(|| out_of_range(text))?;
    match offset {
        Some(offset) => local.checked_sub(i64::from(offset) * 1_000_000),
        None => zone.to_utc(local),
    }
    .filter(|at| at.checked_add(MICROS_PER_DAY).is_some())
    .ok_or_else(|| out_of_range(text))
}

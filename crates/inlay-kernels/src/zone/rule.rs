//! The rule for the years behind a zone's last recorded change: a POSIX TZ text such as `CET-1CEST,M3.5.0,M10.5.0/3`.

use super::tzif::{Kind, padded};
use inlay_types::datetime::{days_from_civil, days_in_month, is_leap_year};

/// Standard time all year, or with summer time.
#[derive(Clone, Debug)]
pub(super) struct Rule {
    standard: Kind,
    summer: Option<(Kind, Change, Change)>,
}

/// A day of a year, and seconds of wall time behind its midnight.
#[derive(Clone, Copy, Debug)]
struct Change {
    day: Day,
    seconds: i32,
}

#[derive(Clone, Copy, Debug)]
enum Day {
    /// 1 to 365; 29 February is never counted.
    Julian(i32),
    /// 0 to 365.
    OfYear(i32),
    /// The `week`-th (5: last) `weekday` (0: Sunday) of `month`.
    Weekday { month: u32, week: u32, weekday: i32 },
}

impl Change {
    /// Seconds since 1970 as a wall clock shows them.
    fn in_year(self, year: i32) -> i64 {
        let new_year = days_from_civil(year, 1, 1);
        let days = match self.day {
            Day::Julian(day) => new_year + day - 1 + i32::from(day >= 60 && is_leap_year(year)),
            Day::OfYear(day) => new_year + day,
            Day::Weekday { month, week, weekday } => {
                let first = days_from_civil(year, month, 1);
                // 1970-01-01 was a Thursday (4).
                let shift = (weekday - (first + 4).rem_euclid(7)).rem_euclid(7);
                let mut day = shift + (week as i32 - 1) * 7;
                while day >= days_in_month(year, month) as i32 {
                    day -= 7;
                }
                first + day
            }
        };
        i64::from(days) * 86_400 + i64::from(self.seconds)
    }
}

impl Rule {
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut reader = Reader { rest: text.as_bytes() };
        let name = reader.name()?;
        let standard = Kind { offset: -reader.offset()?, is_dst: false, abbreviation: name };
        if reader.rest.is_empty() {
            return Some(Self { standard, summer: None });
        }
        let name = reader.name()?;
        let own = if reader.rest.first() == Some(&b',') { None } else { Some(-reader.offset()?) };
        let summer = Kind { offset: own.unwrap_or(standard.offset + 3600), is_dst: true, abbreviation: name };
        let changes = (reader.change()?, reader.change()?);
        Some(Self { standard, summer: Some((summer, changes.0, changes.1)) })
    }

    /// The changes in a year, ascending, as seconds since 1970 (UTC); none without summer time.
    pub(super) fn changes(&self, year: i32) -> Vec<(i64, Kind)> {
        let Some((summer, start, end)) = &self.summer else { return Vec::new() };
        let begin = (start.in_year(year) - i64::from(self.standard.offset), *summer);
        let finish = (end.in_year(year) - i64::from(summer.offset), self.standard);
        if begin.0 < finish.0 { vec![begin, finish] } else { vec![finish, begin] }
    }

    /// Whether there is summer time.
    pub(super) fn has_changes(&self) -> bool {
        self.summer.is_some()
    }

    /// The offset where there is no summer time.
    pub(super) fn standard(&self) -> Kind {
        self.standard
    }
}

struct Reader<'a> {
    rest: &'a [u8],
}

impl Reader<'_> {
    /// Letters, or anything in angle brackets.
    fn name(&mut self) -> Option<[u8; 8]> {
        if let Some(quoted) = self.rest.strip_prefix(b"<") {
            let length = quoted.iter().position(|b| *b == b'>')?;
            self.rest = &quoted[length + 1..];
            return Some(padded(&quoted[..length]));
        }
        let length = self.rest.iter().take_while(|b| b.is_ascii_alphabetic()).count();
        let name = padded(&self.rest[..length]);
        self.rest = &self.rest[length..];
        (length > 0).then_some(name)
    }

    fn number(&mut self) -> Option<i32> {
        let length = self.rest.iter().take(4).take_while(|b| b.is_ascii_digit()).count();
        let number = self.rest[..length].iter().fold(0, |n, b| n * 10 + i32::from(b - b'0'));
        self.rest = &self.rest[length..];
        (length > 0).then_some(number)
    }

    fn skip(&mut self, byte: u8) -> bool {
        let found = self.rest.first() == Some(&byte);
        if found {
            self.rest = &self.rest[1..];
        }
        found
    }

    /// `[+-]hh[:mm[:ss]]` in seconds.
    fn offset(&mut self) -> Option<i32> {
        let sign = if self.skip(b'-') { -1 } else { 1 };
        self.skip(b'+');
        let mut seconds = self.number()? * 3600;
        if self.skip(b':') {
            seconds += self.number()? * 60;
            if self.skip(b':') {
                seconds += self.number()?;
            }
        }
        Some(sign * seconds)
    }

    /// `,M3.5.0/3`, `,J60` or `,59`.
    fn change(&mut self) -> Option<Change> {
        if !self.skip(b',') {
            return None;
        }
        let day = if self.skip(b'M') {
            let month = self.number()?;
            self.skip(b'.');
            let week = self.number()?;
            self.skip(b'.');
            let weekday = self.number()?;
            let fits = (1..=12).contains(&month) && (1..=5).contains(&week) && weekday < 7;
            fits.then_some(Day::Weekday { month: month as u32, week: week as u32, weekday })?
        } else if self.skip(b'J') {
            Day::Julian(self.number()?)
        } else {
            Day::OfYear(self.number()?)
        };
        let seconds = if self.skip(b'/') { self.offset()? } else { 7200 };
        Some(Change { day, seconds })
    }
}

//! Functions of dates, times, timestamps and intervals.
//!
//! Infinite dates and timestamps have no parts: what would read one gives NULL, what moves them gives them back.
//! Functions of TIMESTAMP WITH TIME ZONE are mostly those of TIMESTAMP at local time ([`zoned`]).

pub(super) mod bucket;
pub(super) mod civil;
pub(super) mod clock;
pub(super) mod difference;
pub(super) mod epoch;
pub(super) mod finite;
pub(super) mod format;
pub(super) mod make;
pub(super) mod names;
pub(super) mod part;
mod strptime;
pub(super) mod trunc;
pub(crate) mod zoned;

use inlay_types::{Error, Result};

/// A field of a date or time, as named in `extract`, `date_part`, `date_trunc` and `date_diff`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Millennium,
    Century,
    Decade,
    Year,
    Quarter,
    Month,
    Week,
    Day,
    Hour,
    Minute,
    Second,
    Millisecond,
    Microsecond,
    DayOfWeek,
    IsoDayOfWeek,
    DayOfYear,
    IsoYear,
    YearWeek,
    Era,
    Epoch,
    Julian,
    Timezone,
    TimezoneHour,
    TimezoneMinute,
}

/// One name of each part, for hints.
const NAMES: [&str; 24] = [
    "millennium",
    "century",
    "decade",
    "year",
    "quarter",
    "month",
    "week",
    "day",
    "hour",
    "minute",
    "second",
    "millisecond",
    "microsecond",
    "dow",
    "isodow",
    "doy",
    "isoyear",
    "yearweek",
    "era",
    "epoch",
    "julian",
    "timezone",
    "timezone_hour",
    "timezone_minute",
];

impl Part {
    /// The part of a name in any case.
    pub(crate) fn parse(name: &[u8]) -> Result<Self> {
        if name.len() > NAME_SIZE_MAX {
            return Err(unknown_part(&String::from_utf8_lossy(name)));
        }
        Ok(match &*name.to_ascii_lowercase() {
            b"millennium" | b"millennia" | b"millenniums" | b"millenium" | b"mil" | b"mils" => {
                Self::Millennium
            }
            b"century" | b"centuries" | b"cent" | b"c" => Self::Century,
            b"decade" | b"decades" | b"dec" | b"decs" => Self::Decade,
            b"year" | b"years" | b"yr" | b"yrs" | b"y" => Self::Year,
            b"quarter" | b"quarters" => Self::Quarter,
            b"month" | b"months" | b"mon" | b"mons" => Self::Month,
            b"week" | b"weeks" | b"w" | b"weekofyear" => Self::Week,
            b"day" | b"days" | b"d" | b"dayofmonth" => Self::Day,
            b"hour" | b"hours" | b"hr" | b"hrs" | b"h" => Self::Hour,
            b"minute" | b"minutes" | b"min" | b"mins" | b"m" => Self::Minute,
            b"second" | b"seconds" | b"sec" | b"secs" | b"s" => Self::Second,
            b"millisecond" | b"milliseconds" | b"ms" | b"msec" | b"msecs" | b"mseconds" => Self::Millisecond,
            b"microsecond" | b"microseconds" | b"us" | b"usec" | b"usecs" | b"useconds" => Self::Microsecond,
            b"dow" | b"dayofweek" | b"weekday" => Self::DayOfWeek,
            b"isodow" => Self::IsoDayOfWeek,
            b"doy" | b"dayofyear" => Self::DayOfYear,
            b"isoyear" => Self::IsoYear,
            b"yearweek" => Self::YearWeek,
            b"era" => Self::Era,
            b"epoch" => Self::Epoch,
            b"julian" => Self::Julian,
            b"timezone" => Self::Timezone,
            b"timezone_hour" => Self::TimezoneHour,
            b"timezone_minute" => Self::TimezoneMinute,
            _ => return Err(unknown_part(&String::from_utf8_lossy(name))),
        })
    }

    /// Its name in `NAMES`.
    fn name(self) -> &'static str {
        NAMES[self as usize]
    }

    /// A part of the time of day.
    fn is_clock(self) -> bool {
        matches!(self, Self::Hour | Self::Minute | Self::Second | Self::Millisecond | Self::Microsecond)
    }
}

/// Nobody mistypes a name this long.
const NAME_SIZE_MAX: usize = 64;

fn unknown_part(name: &str) -> Error {
    let lower = if name.len() > NAME_SIZE_MAX { String::new() } else { name.to_ascii_lowercase() };
    let near = NAMES
        .iter()
        .filter(|_| !lower.is_empty())
        .find(|known| inlay_kernels::distance::edit_distance(lower.as_bytes(), known.as_bytes()) <= 2)
        .map_or_else(
            || "there are year, quarter, month, week, day, hour, minute, second and others".to_string(),
            |near| format!("did you mean \"{near}\"?"),
        );
    let name = inlay_types::error::shortened(name);
    Error::invalid_argument(format!("\"{name}\" is no part of a date")).with_hint(near.to_string())
}

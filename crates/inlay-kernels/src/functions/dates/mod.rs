//! Functions of dates, times, timestamps and intervals.

pub(super) mod civil;
pub(super) mod difference;
pub(super) mod format;
pub(super) mod make;
pub(super) mod part;
pub(super) mod trunc;

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
}

impl Part {
    /// The part of a name in any case.
    pub(crate) fn parse(name: &[u8]) -> Result<Self> {
        Ok(match &*name.to_ascii_lowercase() {
            b"millennium" | b"millennia" | b"millenniums" | b"mil" | b"mils" => Self::Millennium,
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
            b"millisecond" | b"milliseconds" | b"ms" | b"msec" | b"msecs" => Self::Millisecond,
            b"microsecond" | b"microseconds" | b"us" | b"usec" | b"usecs" => Self::Microsecond,
            b"dow" | b"dayofweek" | b"weekday" => Self::DayOfWeek,
            b"isodow" => Self::IsoDayOfWeek,
            b"doy" | b"dayofyear" => Self::DayOfYear,
            b"isoyear" => Self::IsoYear,
            b"yearweek" => Self::YearWeek,
            b"era" => Self::Era,
            b"epoch" => Self::Epoch,
            b"julian" => Self::Julian,
            _ => {
                let name = String::from_utf8_lossy(name);
                let message = format!(
                    "\"{name}\" is no part of a date; there are year, quarter, month, week, day, hour, minute, second and others"
                );
                return Err(Error::invalid_argument(message));
            }
        })
    }
}

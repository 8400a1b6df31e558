//! Dates, times, moments and decimals taken apart and put together, for hosts that have types of their own for them.
//!
//! ```
//! use inlay_types::Value;
//! use inlay_types::apart::{Clock, Day, Moment};
//! let day = Day::of(19_782).unwrap();
//! assert_eq!((day.year, day.month, day.day, day.days()), (2024, 2, 29, Some(19_782)));
//! assert_eq!(Value::TimestampMs(-1).moment(), Some(Moment {
//!     day: Day { year: 1969, month: 12, day: 31 },
//!     clock: Clock { hour: 23, minute: 59, second: 59, nanos: 999_000_000 },
//! }));
//! ```

use crate::datetime::{
    MICROS_PER_DAY, civil_from_days, days_from_civil, days_in_month, is_date, is_finite_date,
    is_finite_timestamp, is_timestamp,
};
use crate::logical_type::DECIMAL_MAX_DIGITS;
use crate::{Error, Result, Value};

/// A day of the calendar; years count through zero, which is 1 BC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Day {
    /// The year.
    pub year: i32,
    /// 1 to 12.
    pub month: u8,
    /// 1 to 31.
    pub day: u8,
}

/// A time of day, to the nanosecond; 24:00:00 is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Clock {
    /// 0 to 24.
    pub hour: u8,
    /// 0 to 59.
    pub minute: u8,
    /// 0 to 59.
    pub second: u8,
    /// Behind the second.
    pub nanos: u32,
}

/// A day and a time of day.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Moment {
    /// The day.
    pub day: Day,
    /// The time.
    pub clock: Clock,
}

/// A number and where its point is: `unscaled` by ten to the power of `scale`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Decimal {
    /// All digits.
    pub unscaled: i128,
    /// How many digits there may be.
    pub precision: u8,
    /// How many of them are behind the point.
    pub scale: u8,
}

impl Day {
    /// The day of a DATE; `None` for infinity.
    pub fn of(days: i32) -> Option<Self> {
        is_finite_date(days).then(|| {
            let (year, month, day) = civil_from_days(days);
            Self { year, month: month as u8, day: day as u8 }
        })
    }

    /// Days since 1970-01-01; `None` if there is no such day.
    pub fn days(self) -> Option<i32> {
        let Self { year, month, day } = self;
        let is_day = (1..=12).contains(&month)
            && (-5_877_641..=5_881_580).contains(&year)
            && (1..=days_in_month(year, u32::from(month))).contains(&u32::from(day));
        is_day
            .then(|| days_from_civil(year, u32::from(month), u32::from(day)))
            .filter(|&days| is_date(days) && Self::of(days) == Some(self))
    }
}

impl Clock {
    /// The time of day so many nanoseconds after midnight.
    fn of_nanos(nanos: i64) -> Self {
        let seconds = nanos / 1_000_000_000;
        Self {
            hour: (seconds / 3600) as u8,
            minute: (seconds / 60 % 60) as u8,
            second: (seconds % 60) as u8,
            nanos: (nanos % 1_000_000_000) as u32,
        }
    }

    /// The time of day of a TIME; `None` outside of a day.
    pub fn of(micros: i64) -> Option<Self> {
        (0..=MICROS_PER_DAY).contains(&micros).then(|| Self::of_nanos(micros * 1000))
    }

    /// Microseconds since midnight, nanoseconds cut off; `None` if there is no such time.
    pub fn micros(self) -> Option<i64> {
        let Self { hour, minute, second, nanos } = self;
        let seconds = i64::from(hour) * 3600 + i64::from(minute) * 60 + i64::from(second);
        let micros = seconds * 1_000_000 + i64::from(nanos) / 1000;
        let is_time = minute < 60 && second < 60 && nanos < 1_000_000_000 && micros <= MICROS_PER_DAY;
        is_time.then_some(micros)
    }
}

impl Moment {
    /// A moment of `units` per second since 1970; `None` for infinity.
    pub fn of(at: i64, units: i64) -> Option<Self> {
        if !is_finite_timestamp(at) {
            return None;
        }
        let day = at.div_euclid(units * 86_400);
        let clock = Clock::of_nanos(at.rem_euclid(units * 86_400) * (1_000_000_000 / units));
        Some(Self { day: Day::of(i32::try_from(day).ok()?)?, clock })
    }

    /// Microseconds since 1970, nanoseconds cut off; `None` if that is no TIMESTAMP.
    pub fn micros(self) -> Option<i64> {
        let days = i64::from(self.day.days()?).checked_mul(MICROS_PER_DAY)?;
        days.checked_add(self.clock.micros()?).filter(|&at| is_timestamp(at))
    }
}

impl Decimal {
    /// The number that digits (0 to 9, the first counts most) and an exponent of ten are: `(false, [1, 2], -1)` is 1.2. `None`
    /// if a DECIMAL has not so many digits.
    ///
    /// ```
    /// use inlay_types::apart::Decimal;
    /// let decimal = Decimal::of_digits(true, &[1, 2, 0], -2).unwrap();
    /// assert_eq!((decimal.unscaled, decimal.precision, decimal.scale), (-120, 3, 2));
    /// ```
    pub fn of_digits(is_negative: bool, digits: &[u8], exponent: i64) -> Option<Self> {
        let first = digits.iter().position(|&digit| digit != 0).unwrap_or(digits.len());
        let (scale, zeros) = (exponent.min(0).unsigned_abs(), exponent.max(0).unsigned_abs());
        let given = if first == digits.len() { 0 } else { (digits.len() - first) as u64 };
        let zeros = if given == 0 { 0 } else { zeros };
        let precision = given.checked_add(zeros)?.max(scale).max(1);
        if precision > u64::from(DECIMAL_MAX_DIGITS) || digits.iter().any(|&digit| digit > 9) {
            return None;
        }
        let number = digits[first..].iter().fold(0i128, |number, &digit| number * 10 + i128::from(digit));
        let unscaled = number * 10i128.pow(zeros as u32);
        let unscaled = if is_negative { -unscaled } else { unscaled };
        Some(Self { unscaled, precision: precision as u8, scale: scale as u8 })
    }
}

impl std::str::FromStr for Decimal {
    type Err = Error;

    /// Reads `-12.50`, `1e3`.
    fn from_str(text: &str) -> Result<Self> {
        let misfit = || Error::InvalidCast { value: text.to_string(), to: "DECIMAL".to_string() };
        let (number, exponent) = match text.trim().split_once(['e', 'E']) {
            Some((number, exponent)) => (number, exponent.parse::<i32>().map_err(|_| misfit())?),
            None => (text.trim(), 0),
        };
        let (is_negative, number) = match number.strip_prefix('-') {
            Some(number) => (true, number),
            None => (false, number.strip_prefix('+').unwrap_or(number)),
        };
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let digits: Vec<u8> = whole.bytes().chain(fraction.bytes()).map(|b| b.wrapping_sub(b'0')).collect();
        if digits.is_empty() || digits.iter().any(|&digit| digit > 9) {
            return Err(misfit());
        }
        let exponent = i64::from(exponent) - fraction.len() as i64;
        Self::of_digits(is_negative, &digits, exponent).ok_or_else(|| {
            Error::out_of_range(format!("{text} has more digits than the {DECIMAL_MAX_DIGITS} of a DECIMAL"))
        })
    }
}

impl From<Decimal> for Value {
    fn from(decimal: Decimal) -> Self {
        let Decimal { unscaled, precision, scale } = decimal;
        Self::Decimal { unscaled, precision, scale }
    }
}

impl Value {
    /// The day of a DATE, or of a moment; `None` for others, and for infinity.
    pub fn day(&self) -> Option<Day> {
        match self {
            Self::Date(days) => Day::of(*days),
            other => other.moment().map(|moment| moment.day),
        }
    }

    /// The time of a TIME, with a zone or not, or of a moment; `None` for others, and for infinity.
    pub fn clock(&self) -> Option<Clock> {
        match self {
            Self::Time(micros) => Clock::of(*micros),
            Self::TimeTz(time) => Clock::of(time.micros),
            other => other.moment().map(|moment| moment.clock),
        }
    }

    /// The moment that a TIMESTAMP of any precision is, in UTC if it has a zone; `None` for others, and for infinity.
    pub fn moment(&self) -> Option<Moment> {
        match self {
            Self::TimestampS(at) => Moment::of(*at, 1),
            Self::TimestampMs(at) => Moment::of(*at, 1000),
            Self::Timestamp(at) | Self::TimestampTz(at) => Moment::of(*at, 1_000_000),
            Self::TimestampNs(at) => Moment::of(*at, 1_000_000_000),
            _ => None,
        }
    }

    /// The number that a DECIMAL is.
    pub fn decimal(&self) -> Option<Decimal> {
        match self {
            Self::Decimal { unscaled, precision, scale } => {
                Some(Decimal { unscaled: *unscaled, precision: *precision, scale: *scale })
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datetime::{DATE_INFINITY, TIMESTAMP_INFINITY, TIMESTAMP_MIN};

    #[test]
    fn days_and_moments_come_back_and_infinity_is_none() {
        for days in [0, -1, 19_782, DATE_INFINITY - 1, 1 - DATE_INFINITY] {
            assert_eq!(Day::of(days).and_then(Day::days), Some(days));
        }
        assert_eq!((Day::of(DATE_INFINITY), Day::of(-DATE_INFINITY)), (None, None));
        for at in [0, -1, 1_709_210_096_123_456, TIMESTAMP_MIN, TIMESTAMP_INFINITY - 1] {
            assert_eq!(Value::Timestamp(at).moment().and_then(Moment::micros), Some(at));
        }
        assert_eq!(Value::TimestampTz(-TIMESTAMP_INFINITY).moment(), None);
        assert_eq!(Day { year: 2023, month: 2, day: 29 }.days(), None);
        assert_eq!(Day { year: 2023, month: 13, day: 1 }.days(), None);
        assert_eq!(Day { year: i32::MAX, month: 1, day: 1 }.days(), None);
    }

    #[test]
    fn times_end_at_midnight() {
        assert_eq!(Clock::of(MICROS_PER_DAY).and_then(Clock::micros), Some(MICROS_PER_DAY));
        assert_eq!((Clock::of(MICROS_PER_DAY + 1), Clock::of(-1)), (None, None));
        let clock = Clock { hour: 24, minute: 0, second: 1, nanos: 0 };
        assert_eq!(clock.micros(), None);
    }

    #[test]
    fn decimals_are_read_from_digits_and_text() {
        let read = |text: &str| {
            text.parse::<Decimal>().ok().map(|decimal| (decimal.unscaled, decimal.precision, decimal.scale))
        };
        assert_eq!(read("-12.50"), Some((-1250, 4, 2)));
        assert_eq!(read("0.001"), Some((1, 3, 3)));
        assert_eq!(read("1e3"), Some((1000, 4, 0)));
        assert_eq!(read("0e99"), Some((0, 1, 0)));
        assert_eq!(read("1e38"), None);
        assert_eq!(read(&"9".repeat(38)).map(|read| read.1), Some(38));
        assert_eq!((read(""), read("."), read("1.2.3"), read("x")), (None, None, None, None));
        assert_eq!(Decimal::of_digits(false, &[], 0).map(|zero| zero.precision), Some(1));
    }
}

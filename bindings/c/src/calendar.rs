//! Days and moments taken apart, and put together.

use crate::failure::{ErrorOut, guard, inlay_status};
use crate::pointers::{Out, null};
use inlay::types::datetime::{DATE_INFINITY, TIMESTAMP_INFINITY, is_timestamp};
use inlay::types::{Clock, Day, Moment, TimeTz};
use inlay::{Error, Result, Value};

/// A day of the calendar. A month of 0 is none: the year is INT32_MIN for NULL, INT32_MAX and -INT32_MAX for infinity.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct inlay_date {
    /// The year; 0 is 1 BC.
    pub year: i32,
    /// 1 to 12.
    pub month: u8,
    /// 1 to 31.
    pub day: u8,
}

/// A time of day. An hour of 255 is NULL, or belongs to a day that is none.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct inlay_time {
    /// 0 to 24; at 24 all else is 0.
    pub hour: u8,
    /// 0 to 59.
    pub minute: u8,
    /// 0 to 59.
    pub second: u8,
    /// Behind the second.
    pub nanos: u32,
}

/// A day and a time of day.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct inlay_timestamp {
    /// The day.
    pub date: inlay_date,
    /// The time.
    pub time: inlay_time,
}

impl inlay_date {
    /// What stands for NULL.
    pub const NULL: Self = Self { year: i32::MIN, month: 0, day: 0 };

    /// A DATE.
    pub fn of_days(days: i32) -> Self {
        match Day::of(days) {
            Some(day) => day.into(),
            None => Self::infinite(days < 0),
        }
    }

    fn infinite(is_negative: bool) -> Self {
        Self { year: if is_negative { -i32::MAX } else { i32::MAX }, month: 0, day: 0 }
    }

    fn infinity(self) -> Option<bool> {
        let is_infinite = self.month == 0 && self.day == 0 && self.year.unsigned_abs() == i32::MAX as u32;
        is_infinite.then_some(self.year < 0)
    }

    fn day(self) -> Day {
        Day { year: self.year, month: self.month, day: self.day }
    }

    fn days(self) -> Result<i32> {
        if let Some(is_negative) = self.infinity() {
            return Ok(if is_negative { -DATE_INFINITY } else { DATE_INFINITY });
        }
        self.day().days().ok_or_else(|| {
            Error::out_of_range(format!(
                "there is no day {} of month {} of {}",
                self.day, self.month, self.year
            ))
        })
    }

    /// The DATE.
    pub fn value(self) -> Result<Value> {
        self.days().map(Value::Date)
    }
}

impl inlay_time {
    /// What stands for NULL.
    pub const NULL: Self = Self { hour: u8::MAX, minute: 0, second: 0, nanos: 0 };

    fn clock(self) -> Clock {
        Clock { hour: self.hour, minute: self.minute, second: self.second, nanos: self.nanos }
    }

    /// The TIME.
    pub fn value(self) -> Result<Value> {
        let Self { hour, minute, second, nanos } = self;
        let micros = self.clock().micros();
        let micros = micros.ok_or_else(|| {
            Error::out_of_range(format!("there is no time {hour}:{minute}:{second} with {nanos} nanoseconds"))
        })?;
        Ok(Value::Time(micros))
    }
}

impl inlay_timestamp {
    /// What stands for NULL.
    pub const NULL: Self = Self { date: inlay_date::NULL, time: inlay_time::NULL };

    fn of(at: i64, units: i64) -> Self {
        match Moment::of(at, units) {
            Some(moment) => moment.into(),
            None => Self { date: inlay_date::infinite(at < 0), time: inlay_time::NULL },
        }
    }

    /// A moment or day of any type; infinity if it is neither.
    pub fn of_value(value: &Value) -> Self {
        match (value.moment(), value) {
            (Some(moment), _) => moment.into(),
            (None, Value::Date(days)) => {
                let date = inlay_date::of_days(*days);
                let time = if date.month == 0 {
                    inlay_time::NULL
                } else {
                    inlay_time { hour: 0, ..inlay_time::NULL }
                };
                Self { date, time }
            }
            (None, other) => {
                let is_negative = other.as_stored_i128().is_some_and(|at| at < 0);
                Self { date: inlay_date::infinite(is_negative), time: inlay_time::NULL }
            }
        }
    }

    fn micros(self) -> Result<i64> {
        if let Some(is_negative) = self.date.infinity() {
            return Ok(if is_negative { -TIMESTAMP_INFINITY } else { TIMESTAMP_INFINITY });
        }
        self.date.days()?;
        self.time.value()?;
        let micros = Moment { day: self.date.day(), clock: self.time.clock() }.micros();
        micros.ok_or_else(|| {
            Error::out_of_range(format!("the year {} is too far away for a TIMESTAMP", self.date.year))
        })
    }

    /// The TIMESTAMP.
    pub fn value(self) -> Result<Value> {
        self.micros().map(Value::Timestamp)
    }
}

/// A TIMESTAMP WITH TIME ZONE, if there is one of this number.
pub fn timestamptz(micros: i64) -> Result<Value> {
    if is_timestamp(micros) || micros == TIMESTAMP_INFINITY || micros == -TIMESTAMP_INFINITY {
        return Ok(Value::TimestampTz(micros));
    }
    Err(Error::out_of_range(format!("{micros} microseconds are too far away for a TIMESTAMP WITH TIME ZONE")))
}

impl From<Day> for inlay_date {
    fn from(day: Day) -> Self {
        Self { year: day.year, month: day.month, day: day.day }
    }
}

impl From<Clock> for inlay_time {
    fn from(clock: Clock) -> Self {
        Self { hour: clock.hour, minute: clock.minute, second: clock.second, nanos: clock.nanos }
    }
}

impl From<Moment> for inlay_timestamp {
    fn from(moment: Moment) -> Self {
        Self { date: moment.day.into(), time: moment.clock.into() }
    }
}

/// The day that a DATE is: days since 1970-01-01.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_date_of_days(days: i32) -> inlay_date {
    inlay_date::of_days(days)
}

/// Days since 1970-01-01; an error if there is no such day.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_days_of_date(
    date: inlay_date,
    days: Out<'_, i32>,
    error: ErrorOut<'_>,
) -> inlay_status {
    guard(error, || crate::pointers::put(days, date.days()?, "days"))
}

/// The time that a TIME is: microseconds since midnight; an hour of 255 if there is no such time.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_time_of_micros(micros: i64) -> inlay_time {
    Clock::of(micros).map_or(inlay_time::NULL, Into::into)
}

/// The moment that is so many units after 1970: 1000000 of them per second for a TIMESTAMP, 1 for TIMESTAMP_S, 1000 for TIMESTAMP_MS,
/// 1000000000 for TIMESTAMP_NS. Other numbers give the moment that is none.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_timestamp_of(at: i64, units_per_second: i64) -> inlay_timestamp {
    match units_per_second {
        1 | 1_000 | 1_000_000 | 1_000_000_000 => inlay_timestamp::of(at, units_per_second),
        _ => inlay_timestamp::NULL,
    }
}

/// Microseconds since 1970; an error if there is no such moment. Nanoseconds are cut off.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_micros_of_timestamp(
    timestamp: inlay_timestamp,
    micros: Out<'_, i64>,
    error: ErrorOut<'_>,
) -> inlay_status {
    guard(error, || crate::pointers::put(micros, timestamp.micros()?, "micros"))
}

/// The local time that a TIME WITH TIME ZONE is, of the 64 bits that lie in memory, and the seconds that it is east of UTC.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_timetz_parts(
    stored: i64,
    time: Out<'_, inlay_time>,
    offset: Out<'_, i32>,
    error: ErrorOut<'_>,
) -> inlay_status {
    guard(error, || {
        let parts = TimeTz::from_stored(stored);
        let clock = Clock::of(parts.micros);
        time.ok_or_else(|| null("time"))?.write(clock.map_or(inlay_time::NULL, Into::into));
        offset.ok_or_else(|| null("offset"))?.write(parts.offset);
        Ok(())
    })
}

//! Dates, timestamps and intervals made from numbers, names of days and months, and the current time.

use crate::apply::{map, per_row, try_map};
use crate::function::Volatility;
use crate::functions::columns::{Column, write_text};
use crate::registry::{Function, Overloads, Signature};
use inlay_types::LogicalType::{BigInt, Date, Double, Interval as IntervalType, Time, Timestamp, Varchar};
use inlay_types::datetime::{MICROS_PER_DAY, civil_from_days, days_from_civil, days_in_month};
use inlay_types::{Error, Interval, Result, Value, Vector};
use std::time::{SystemTime, UNIX_EPOCH};

/// Interval of a whole number of units.
macro_rules! to_interval {
    ($months:expr, $days:expr, $micros:expr) => {
        Overloads::Fixed(&[Signature::new(&[BigInt], IntervalType, |args, len, out| {
            to_interval(args, len, out, ($months, $days, $micros))
        })])
    };
}

/// See the module documentation.
pub(in crate::functions) static FUNCTIONS: &[Function] = &[
    Function::new(
        "make_date",
        Overloads::Fixed(&[Signature::new(&[BigInt, BigInt, BigInt], Date, make_date)]),
        "the date of a year, month and day",
        "make_date(2024, 2, 29) = DATE '2024-02-29'",
    )
    .fallible(),
    Function::new(
        "make_timestamp",
        Overloads::Fixed(&[
            Signature::new(&[BigInt, BigInt, BigInt, BigInt, BigInt, Double], Timestamp, make_timestamp),
            Signature::new(&[BigInt], Timestamp, |args, len, out| {
                map(args[0], &Timestamp, len, out, |at: i64| at)
            }),
        ]),
        "the timestamp of year, month, day, hour, minute and second, or of microseconds since 1970",
        "make_timestamp(2024, 2, 29, 10, 11, 12.5) = TIMESTAMP '2024-02-29 10:11:12.5'",
    )
    .fallible(),
    Function::new(
        "make_time",
        Overloads::Fixed(&[Signature::new(&[BigInt, BigInt, Double], Time, make_time)]),
        "the time of hour, minute and second",
        "make_time(10, 11, 12.5) = TIME '10:11:12.5'",
    )
    .fallible(),
    Function::new(
        "to_timestamp",
        Overloads::Fixed(&[Signature::new(&[Double], Timestamp, to_timestamp)]),
        "the timestamp of seconds since 1970",
        "to_timestamp(60) = TIMESTAMP '1970-01-01 00:01:00'",
    )
    .fallible(),
    Function::new(
        "to_years",
        to_interval!(12, 0, 0),
        "an interval of years",
        "to_years(1) = INTERVAL '1 year'",
    )
    .fallible(),
    Function::new(
        "to_quarters",
        to_interval!(3, 0, 0),
        "an interval of quarters",
        "to_quarters(1) = INTERVAL '3 months'",
    )
    .fallible(),
    Function::new(
        "to_months",
        to_interval!(1, 0, 0),
        "an interval of months",
        "to_months(2) = INTERVAL '2 months'",
    )
    .fallible(),
    Function::new(
        "to_weeks",
        to_interval!(0, 7, 0),
        "an interval of weeks",
        "to_weeks(1) = INTERVAL '7 days'",
    )
    .fallible(),
    Function::new("to_days", to_interval!(0, 1, 0), "an interval of days", "to_days(3) = INTERVAL '3 days'")
        .fallible(),
    Function::new(
        "to_hours",
        to_interval!(0, 0, 3_600_000_000),
        "an interval of hours",
        "to_hours(2) = INTERVAL '2 hours'",
    )
    .fallible(),
    Function::new(
        "to_minutes",
        to_interval!(0, 0, 60_000_000),
        "an interval of minutes",
        "to_minutes(2) = INTERVAL '2 minutes'",
    )
    .fallible(),
    Function::new(
        "to_seconds",
        Overloads::Fixed(&[Signature::new(&[Double], IntervalType, |args, len, out| {
            from_float(args, len, out, 1e6)
        })]),
        "an interval of seconds",
        "to_seconds(1.5) = INTERVAL '1.5 seconds'",
    )
    .fallible(),
    Function::new(
        "to_milliseconds",
        Overloads::Fixed(&[Signature::new(&[Double], IntervalType, |args, len, out| {
            from_float(args, len, out, 1e3)
        })]),
        "an interval of milliseconds",
        "to_milliseconds(5) = INTERVAL '5 ms'",
    )
    .fallible(),
    Function::new(
        "to_microseconds",
        to_interval!(0, 0, 1),
        "an interval of microseconds",
        "to_microseconds(5) = INTERVAL '5 us'",
    )
    .fallible(),
    Function::new(
        "monthname",
        Overloads::Fixed(&[
            Signature::new(&[Date], Varchar, month_name),
            Signature::new(&[Timestamp], Varchar, month_name),
        ]),
        "the English name of the month",
        "monthname(DATE '2024-02-05') = 'February'",
    ),
    Function::new(
        "dayname",
        Overloads::Fixed(&[
            Signature::new(&[Date], Varchar, day_name),
            Signature::new(&[Timestamp], Varchar, day_name),
        ]),
        "the English name of the day of the week",
        "dayname(DATE '2024-02-05') = 'Monday'",
    ),
    Function::new(
        "now",
        Overloads::Fixed(&[Signature::new(&[], Timestamp, |_, len, out| now(Timestamp, len, out))]),
        "the current date and time (UTC)",
        "now()",
    )
    .aliases(&["current_timestamp", "localtimestamp", "get_current_timestamp", "transaction_timestamp"])
    .volatile(Volatility::Stable),
    Function::new(
        "current_date",
        Overloads::Fixed(&[Signature::new(&[], Date, |_, len, out| now(Date, len, out))]),
        "the current date (UTC)",
        "current_date",
    )
    .aliases(&["today"])
    .volatile(Volatility::Stable),
    Function::new(
        "current_time",
        Overloads::Fixed(&[Signature::new(&[], Time, |_, len, out| now(Time, len, out))]),
        "the current time of day (UTC)",
        "current_time",
    )
    .aliases(&["localtime", "get_current_time"])
    .volatile(Volatility::Stable),
];

pub(super) const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
pub(super) const DAYS: [&str; 7] =
    ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

fn now(ty: inlay_types::LogicalType, len: usize, out: &mut Vector) -> Result<()> {
    let micros = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_micros() as i64);
    let value = match ty {
        Date => Value::Date(micros.div_euclid(MICROS_PER_DAY) as i32),
        Time => Value::Time(micros.rem_euclid(MICROS_PER_DAY)),
        _ => Value::Timestamp(micros),
    };
    *out = Vector::constant(ty, &value, len)?;
    Ok(())
}

/// Days of a date that exists.
fn checked_date(year: i64, month: i64, day: i64) -> Result<i32> {
    let in_range = (-5_877_641..=5_881_580).contains(&year) && (1..=12).contains(&month);
    let exists = in_range && day >= 1 && day <= i64::from(days_in_month(year as i32, month as u32));
    if !exists {
        return Err(Error::out_of_range(format!("there is no date {year}-{month}-{day}")));
    }
    Ok(days_from_civil(year as i32, month as u32, day as u32))
}

/// Microseconds of a time of day that exists.
fn checked_time(hour: i64, minute: i64, second: f64) -> Result<i64> {
    if !(0..24).contains(&hour) || !(0..60).contains(&minute) || !(0.0..60.0).contains(&second) {
        return Err(Error::out_of_range(format!("there is no time {hour}:{minute}:{second}")));
    }
    Ok((hour * 3600 + minute * 60) * 1_000_000 + (second * 1e6).round() as i64)
}

fn make_date(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    let [y, m, d] = [0, 1, 2].map(|i| Column::<i64>::of(args[i]));
    per_row(args, &Date, len, out, |row| checked_date(y.get(row), m.get(row), d.get(row)))
}

fn make_time(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    let (h, m, s) = (Column::<i64>::of(args[0]), Column::<i64>::of(args[1]), Column::<f64>::of(args[2]));
    per_row(args, &Time, len, out, |row| checked_time(h.get(row), m.get(row), s.get(row)))
}

fn make_timestamp(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    let [y, mo, d, h, mi] = [0, 1, 2, 3, 4].map(|i| Column::<i64>::of(args[i]));
    let s = Column::<f64>::of(args[5]);
    per_row(args, &Timestamp, len, out, |row| {
        let days = i64::from(checked_date(y.get(row), mo.get(row), d.get(row))?);
        let time = checked_time(h.get(row), mi.get(row), s.get(row))?;
        let at = days.checked_mul(MICROS_PER_DAY).and_then(|at| at.checked_add(time));
        at.ok_or_else(|| Error::out_of_range(format!("year {} is out of range for TIMESTAMP", y.get(row))))
    })
}

fn to_timestamp(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    let micros = |seconds: f64| {
        let micros = (seconds * 1e6).round();
        (micros as i64, micros.is_nan() || micros.abs() >= 9.2e18)
    };
    let error =
        |seconds: f64| Error::out_of_range(format!("{seconds} seconds are out of range for TIMESTAMP"));
    try_map(args[0], &Timestamp, len, out, micros, error)
}

fn to_interval(args: &[&Vector], len: usize, out: &mut Vector, unit: (i64, i64, i64)) -> Result<()> {
    let made = move |count: i64| {
        let months = count.checked_mul(unit.0).and_then(|m| i32::try_from(m).ok());
        let days = count.checked_mul(unit.1).and_then(|d| i32::try_from(d).ok());
        match (months, days, count.checked_mul(unit.2)) {
            (Some(months), Some(days), Some(micros)) => (Interval { months, days, micros }, false),
            _ => (Interval::default(), true),
        }
    };
    try_map(args[0], &IntervalType, len, out, made, |n| {
        Error::out_of_range(format!("{n} units are too many for an INTERVAL"))
    })
}

fn from_float(args: &[&Vector], len: usize, out: &mut Vector, micros_per_unit: f64) -> Result<()> {
    let made = move |count: f64| {
        let micros = (count * micros_per_unit).round();
        (Interval { months: 0, days: 0, micros: micros as i64 }, micros.is_nan() || micros.abs() >= 9.2e18)
    };
    try_map(args[0], &IntervalType, len, out, made, |n| {
        Error::out_of_range(format!("{n} units are too many for an INTERVAL"))
    })
}

/// The day of row `row` of a DATE or TIMESTAMP vector.
pub(super) enum Days<'a> {
    Dates(Column<'a, i32>),
    Timestamps(Column<'a, i64>),
}

impl<'a> Days<'a> {
    pub(super) fn of(vector: &'a Vector) -> Self {
        if vector.logical_type() == Date {
            Self::Dates(Column::of(vector))
        } else {
            Self::Timestamps(Column::of(vector))
        }
    }

    /// Day and microseconds of the day.
    pub(super) fn get(&self, row: usize) -> (i32, i64) {
        match self {
            Self::Dates(days) => (days.get(row), 0),
            Self::Timestamps(at) => {
                let at = at.get(row);
                (at.div_euclid(MICROS_PER_DAY) as i32, at.rem_euclid(MICROS_PER_DAY))
            }
        }
    }
}

fn month_name(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    let days = Days::of(args[0]);
    write_text(args, len, out, |row, text| {
        let (_, month, _) = civil_from_days(days.get(row).0);
        text.extend_from_slice(MONTHS[month as usize - 1].as_bytes());
        Ok(())
    })
}

fn day_name(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    let days = Days::of(args[0]);
    write_text(args, len, out, |row, text| {
        text.extend_from_slice(DAYS[super::part::days_since_monday(days.get(row).0) as usize].as_bytes());
        Ok(())
    })
}

//! Dates, times, timestamps and intervals made from numbers.

use super::epoch::from_millis;
use super::zoned::{beyond, checked};
use crate::columns::{Column, TextColumn};
use crate::registry::{Function, Overloads, Signature};
use inlay_kernels::apply::{per_row, try_map};
use inlay_kernels::zone::Zone;
use inlay_types::LogicalType::{
    BigInt, Date, Double, Integer, Interval as IntervalType, Time, Timestamp, TimestampNs, TimestampTz,
    Varchar,
};
use inlay_types::datetime::{MICROS_PER_DAY, days_from_civil, days_in_month, is_date, is_timestamp};
use inlay_types::{Error, Interval, Result, Vector};
use std::sync::Arc;

/// Interval of a whole number of units.
macro_rules! to_interval {
    ($months:expr, $days:expr, $micros:expr) => {
        Overloads::Fixed(&[Signature::new(&[BigInt], IntervalType, |args, len, out| {
            to_interval::<$months, $days, $micros>(args, len, out)
        })])
    };
}

/// See the module documentation.
pub(crate) static FUNCTIONS: &[Function] = &[
    Function::new(
        "make_date",
        Overloads::Fixed(&[
            Signature::new(&[BigInt, BigInt, BigInt], Date, make_date),
            Signature::new(&[Integer], Date, |args, len, out| {
                try_map(
                    args[0],
                    &Date,
                    len,
                    out,
                    |days: i32| (days, !is_date(days)),
                    |days| Error::out_of_range(format!("{days} days since 1970 are out of range for DATE")),
                )
            }),
        ]),
        "the date of a year, month and day, or of days since 1970",
        "make_date(2024, 2, 29) = DATE '2024-02-29'",
    )
    .fallible(),
    Function::new(
        "make_timestamp",
        Overloads::Fixed(&[
            Signature::new(&[BigInt, BigInt, BigInt, BigInt, BigInt, Double], Timestamp, make_timestamp),
            Signature::new(&[BigInt], Timestamp, from_micros),
        ]),
        "the timestamp of year, month, day, hour, minute and second, or of microseconds since 1970",
        "make_timestamp(2024, 2, 29, 10, 11, 12.5) = TIMESTAMP '2024-02-29 10:11:12.5'",
    )
    .fallible(),
    Function::new(
        "make_timestamp_ms",
        Overloads::Fixed(&[Signature::new(&[BigInt], Timestamp, from_millis)]),
        "the timestamp of milliseconds since 1970",
        "make_timestamp_ms(1500) = TIMESTAMP '1970-01-01 00:00:01.5'",
    )
    .fallible(),
    Function::new(
        "make_timestamp_ns",
        Overloads::Fixed(&[Signature::new(&[BigInt], TimestampNs, |args, len, out| {
            let checked = |at: i64| (at, at.unsigned_abs() >= i64::MAX as u64);
            try_map(args[0], &TimestampNs, len, out, checked, |at| {
                Error::out_of_range(format!("{at} nanoseconds since 1970 are out of range for TIMESTAMP_NS"))
            })
        })]),
        "the timestamp of nanoseconds since 1970",
        "make_timestamp_ns(1500) = '1970-01-01 00:00:00.0000015'::TIMESTAMP_NS",
    )
    .fallible(),
    Function::new(
        "make_timestamptz",
        Overloads::Fixed(&[
            Signature::new(&[BigInt, BigInt, BigInt, BigInt, BigInt, Double], TimestampTz, make_timestamp)
                .at_local_time(),
            Signature::new(
                &[BigInt, BigInt, BigInt, BigInt, BigInt, Double, Varchar],
                TimestampTz,
                make_timestamp_in_zone,
            ),
            Signature::new(&[BigInt], TimestampTz, |args, len, out| {
                from_micros(args, len, out)?;
                let made = std::mem::replace(out, Vector::empty(Timestamp));
                *out = made.reinterpret(TimestampTz);
                Ok(())
            }),
        ]),
        "the moment of year, month, day, hour, minute and second in the session's or a named time zone",
        "make_timestamptz(2024, 2, 29, 10, 11, 12.5, 'UTC') = TIMESTAMPTZ '2024-02-29 10:11:12.5+00'",
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
        Overloads::Fixed(&[Signature::new(&[Double], TimestampTz, to_timestamp)]),
        "the moment of seconds since 1970",
        "to_timestamp(60) = TIMESTAMPTZ '1970-01-01 00:01:00+00'",
    )
    .fallible(),
    Function::new(
        "to_millennia",
        to_interval!(12_000, 0, 0),
        "an interval of millennia",
        "to_millennia(1) = INTERVAL '1000 years'",
    )
    .fallible(),
    Function::new(
        "to_centuries",
        to_interval!(1200, 0, 0),
        "an interval of centuries",
        "to_centuries(1) = INTERVAL '100 years'",
    )
    .fallible(),
    Function::new(
        "to_decades",
        to_interval!(120, 0, 0),
        "an interval of decades",
        "to_decades(1) = INTERVAL '10 years'",
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
        "make_interval",
        Overloads::Fixed(&[Signature::new(
            &[Integer, Integer, Integer, Integer, Integer, Integer, Double],
            IntervalType,
            make_interval,
        )]),
        "the interval of years, months, weeks, days, hours, minutes and seconds",
        "make_interval(1, 2, 0, 3, 4, 5, 6.5) = INTERVAL '1 year 2 months 3 days 04:05:06.5'",
    )
    .fallible(),
    Function::new(
        "justify_hours",
        Overloads::Fixed(&[Signature::new(&[IntervalType], IntervalType, |args, len, out| {
            justified(args, len, out, |i| level(i, true, false))
        })]),
        "the interval with 24 hours as a day",
        "justify_hours(INTERVAL '50 hours') = INTERVAL '2 days 2 hours'",
    )
    .fallible(),
    Function::new(
        "justify_days",
        Overloads::Fixed(&[Signature::new(&[IntervalType], IntervalType, |args, len, out| {
            justified(args, len, out, |i| level(i, false, true))
        })]),
        "the interval with 30 days as a month",
        "justify_days(INTERVAL '35 days') = INTERVAL '1 month 5 days'",
    )
    .fallible(),
    Function::new(
        "justify_interval",
        Overloads::Fixed(&[Signature::new(&[IntervalType], IntervalType, |args, len, out| {
            justified(args, len, out, |i| level(i, true, true))
        })]),
        "the interval with 24 hours as a day, 30 days as a month, and one sign",
        "justify_interval(INTERVAL '1 month -1 hour') = INTERVAL '29 days 23 hours'",
    )
    .aliases(&["normalized_interval"])
    .fallible(),
];

/// Days of a date that exists.
fn checked_date(year: i64, month: i64, day: i64) -> Result<i32> {
    let missing = || Error::out_of_range(format!("there is no date {year}-{month}-{day}"));
    let in_range = (-5_877_641..=5_881_580).contains(&year) && (1..=12).contains(&month);
    let exists = in_range && day >= 1 && day <= i64::from(days_in_month(year as i32, month as u32));
    if !exists {
        return Err(missing());
    }
    // At the ends of the range, 32 bits may have wrapped around.
    let days = days_from_civil(year as i32, month as u32, day as u32);
    if is_date(days) && (days > 0) == (year >= 1970) || days == 0 { Ok(days) } else { Err(missing()) }
}

/// Microseconds of a time of day that exists; the second may be 60 and more, as in `make_time(23, 59, 60)`.
fn checked_time(hour: i64, minute: i64, second: f64) -> Result<i64> {
    let missing = || Error::out_of_range(format!("there is no time {hour}:{minute}:{second}"));
    let fits = (0..=24).contains(&hour) && (0..60).contains(&minute) && (0.0..61.0).contains(&second);
    if !fits {
        return Err(missing());
    }
    let micros = (hour * 3600 + minute * 60) * 1_000_000 + (second * 1e6).round() as i64;
    if micros <= MICROS_PER_DAY { Ok(micros) } else { Err(missing()) }
}

fn make_date(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    let [y, m, d] = [0, 1, 2].map(|i| Column::<i64>::of(args[i]));
    per_row(args, &Date, len, out, |row| checked_date(y.get(row), m.get(row), d.get(row)))
}

fn make_time(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    let (h, m, s) = (Column::<i64>::of(args[0]), Column::<i64>::of(args[1]), Column::<f64>::of(args[2]));
    per_row(args, &Time, len, out, |row| checked_time(h.get(row), m.get(row), s.get(row)))
}

/// The local timestamp of the first six arguments at a row.
fn timestamp_at<'a>(args: &[&'a Vector]) -> impl Fn(usize) -> Result<i64> + 'a {
    let [y, mo, d, h, mi] = [0, 1, 2, 3, 4].map(|i| Column::<i64>::of(args[i]));
    let s = Column::<f64>::of(args[5]);
    move |row| {
        let days = i64::from(checked_date(y.get(row), mo.get(row), d.get(row))?);
        let time = checked_time(h.get(row), mi.get(row), s.get(row))?;
        let at = days.checked_mul(MICROS_PER_DAY).and_then(|at| at.checked_add(time));
        checked(at, || format!("year {}", y.get(row)))
    }
}

fn make_timestamp(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    let at = timestamp_at(args);
    per_row(args, &Timestamp, len, out, at)
}

fn make_timestamp_in_zone(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    let (at, names) = (timestamp_at(args), TextColumn::of(args[6]));
    let mut known: Option<(&str, Arc<Zone>)> = None;
    per_row(args, &TimestampTz, len, out, |row| {
        let name = names.text(row);
        if known.as_ref().is_none_or(|(last, _)| *last != name) {
            known = Some((name, Zone::named(name)?));
        }
        let Some((_, zone)) = &known else { return Ok(0) };
        let local = at(row)?;
        zone.to_utc(local).ok_or_else(|| beyond(local, zone))
    })
}

fn from_micros(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    try_map(
        args[0],
        &Timestamp,
        len,
        out,
        |at: i64| (at, !is_timestamp(at)),
        |at| Error::out_of_range(format!("{at} microseconds since 1970 are out of range for TIMESTAMP")),
    )
}

fn to_timestamp(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    let micros = |seconds: f64| {
        let micros = (seconds * 1e6).round();
        (micros as i64, micros.is_nan() || micros.abs() >= 9.2e18)
    };
    let error = |seconds: f64| {
        Error::out_of_range(format!("{seconds} seconds since 1970 are out of range for TIMESTAMPTZ"))
    };
    try_map(args[0], &TimestampTz, len, out, micros, error)
}

/// An interval of so many times as many months, days and microseconds, all but one of which are 0.
fn to_interval<const MONTHS: i64, const DAYS: i64, const MICROS: i64>(
    args: &[&Vector],
    len: usize,
    out: &mut Vector,
) -> Result<()> {
    let made = move |count: i64| {
        let (months, too_many_months) = count.overflowing_mul(MONTHS);
        let (days, too_many_days) = count.overflowing_mul(DAYS);
        let (micros, too_many_micros) = count.overflowing_mul(MICROS);
        let wrong = too_many_months | too_many_days | too_many_micros;
        let (short_months, short_days) = (months as i32, days as i32);
        let is_cut = (i64::from(short_months) != months) | (i64::from(short_days) != days);
        (Interval { months: short_months, days: short_days, micros }, wrong | is_cut)
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

fn make_interval(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    let [years, months, weeks, days, hours, minutes] = [0, 1, 2, 3, 4, 5].map(|i| Column::<i32>::of(args[i]));
    let seconds = Column::<f64>::of(args[6]);
    per_row(args, &IntervalType, len, out, |row| {
        let made = || {
            let months = years.get(row).checked_mul(12)?.checked_add(months.get(row))?;
            let days = weeks.get(row).checked_mul(7)?.checked_add(days.get(row))?;
            let minutes = i64::from(hours.get(row)) * 60 + i64::from(minutes.get(row));
            let rest = (seconds.get(row) * 1e6).round();
            let rest = (rest.abs() < 9e18).then_some(rest as i64)?;
            Some(Interval { months, days, micros: minutes.checked_mul(60_000_000)?.checked_add(rest)? })
        };
        made().ok_or_else(|| Error::out_of_range("these numbers are too large for an INTERVAL".to_string()))
    })
}

fn justified(
    args: &[&Vector],
    len: usize,
    out: &mut Vector,
    level: fn(Interval) -> Option<Interval>,
) -> Result<()> {
    let flagged = move |interval: Interval| {
        let found = level(interval);
        (found.unwrap_or_default(), found.is_none())
    };
    try_map(args[0], &IntervalType, len, out, flagged, |interval| {
        Error::out_of_range(format!("{interval} has more days or months than an INTERVAL holds"))
    })
}

/// Carries hours into days and days into months, as asked for; then all parts get the sign of the largest.
fn level(of: Interval, hours: bool, days: bool) -> Option<Interval> {
    let day = i128::from(MICROS_PER_DAY);
    let mut months = i128::from(of.months);
    let mut total_days = i128::from(of.days);
    let mut micros = i128::from(of.micros);
    if hours {
        total_days += micros / day;
        micros %= day;
    }
    if days {
        months += total_days / 30;
        total_days %= 30;
    }
    if days && months != 0 {
        let lower = total_days * day + micros;
        if hours && lower.signum() == -months.signum() || !hours && total_days.signum() == -months.signum() {
            total_days += 30 * months.signum();
            months -= months.signum();
        }
    }
    if hours && total_days.signum() == -micros.signum() && micros != 0 {
        micros += day * total_days.signum();
        total_days -= total_days.signum();
    }
    Some(Interval {
        months: i32::try_from(months).ok()?,
        days: i32::try_from(total_days).ok()?,
        micros: i64::try_from(micros).ok()?,
    })
}

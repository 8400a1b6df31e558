//! `year(x)` and its siblings, and `date_part(name, x)`.

use super::Part;
pub(super) use super::civil::days_since_monday;
use super::civil::{day_of_year, days_of, map_days, map_fields_of, thursday};
use super::epoch::{epoch_seconds, julian_day};
use super::finite::{hide_infinite, map_finite};
use super::zoned::to_local;
use crate::columns::{Column, TextColumn};
use crate::registry::{Function, Overloads, Signature};
use inlay_kernels::apply::{map, null_argument, per_row, undictionary};
use inlay_kernels::zone::Zone;
use inlay_types::LogicalType::{
    BigInt, Date, Double, Interval as IntervalType, Time, TimeTz as TimeTzType, Timestamp, TimestampNs,
    TimestampTz, Varchar,
};
use inlay_types::datetime::{
    MICROS_PER_DAY, MICROS_PER_SECOND, civil_from_days, days_from_civil, is_finite_date, is_finite_timestamp,
};
use inlay_types::{Error, Interval, Result, TimeTz, Vector};

/// The loop of a part.
macro_rules! part_of {
    ($part:expr) => {
        |args, len, out| date_part($part, args[0], len, out)
    };
}

/// Overloads of one part: for dates and timestamps, and intervals and times if they have it.
macro_rules! part {
    (calendar $part:expr) => {
        Overloads::Fixed(&[
            Signature::new(&[Date], BigInt, part_of!($part)),
            Signature::new(&[Timestamp], BigInt, part_of!($part)),
            Signature::new(&[TimestampTz], BigInt, part_of!($part)).at_local_time(),
        ])
    };
    (both $part:expr) => {
        Overloads::Fixed(&[
            Signature::new(&[Date], BigInt, part_of!($part)),
            Signature::new(&[Timestamp], BigInt, part_of!($part)),
            Signature::new(&[TimestampTz], BigInt, part_of!($part)).at_local_time(),
            Signature::new(&[IntervalType], BigInt, part_of!($part)),
        ])
    };
    (clock $part:expr) => {
        Overloads::Fixed(&[
            Signature::new(&[Date], BigInt, part_of!($part)),
            Signature::new(&[Timestamp], BigInt, part_of!($part)),
            Signature::new(&[TimestampTz], BigInt, part_of!($part)).at_local_time(),
            Signature::new(&[Time], BigInt, part_of!($part)),
            Signature::new(&[TimeTzType], BigInt, part_of!($part)),
            Signature::new(&[IntervalType], BigInt, part_of!($part)),
        ])
    };
}

/// Overloads of a part of the offset; `timezone(x)` has more overloads, see [`super::clock`].
macro_rules! zone_part {
    ($of:expr) => {
        Overloads::Fixed(&[
            Signature::new(&[Timestamp], BigInt, |args, len, out| {
                map_finite(args[0], &BigInt, len, out, |_: i64| 0i64)
            }),
            Signature::zoned(&[TimestampTz], BigInt, |zone, args, len, out| {
                map_finite(args[0], &BigInt, len, out, |at: i64| $of(zone.offset_at(at)))
            }),
            Signature::new(&[Time], BigInt, |args, len, out| map(args[0], &BigInt, len, out, |_: i64| 0i64)),
            Signature::new(&[TimeTzType], BigInt, |args, len, out| {
                map(args[0], &BigInt, len, out, |at: i64| $of(TimeTz::from_stored(at).offset))
            }),
        ])
    };
}
/// See the module documentation.
pub(crate) static FUNCTIONS: &[Function] = &[
    Function::new("year", part!(both Part::Year), "the year", "year(DATE '2024-02-29') = 2024"),
    Function::new("month", part!(both Part::Month), "the month, 1 to 12", "month(DATE '2024-02-29') = 2"),
    Function::new("day", part!(both Part::Day), "the day of the month", "day(DATE '2024-02-29') = 29")
        .aliases(&["dayofmonth"]),
    Function::new(
        "quarter",
        part!(both Part::Quarter),
        "the quarter, 1 to 4",
        "quarter(DATE '2024-02-29') = 1",
    ),
    Function::new(
        "decade",
        part!(both Part::Decade),
        "the year divided by 10",
        "decade(DATE '2024-02-29') = 202",
    ),
    Function::new("century", part!(both Part::Century), "the century", "century(DATE '2000-12-31') = 20"),
    Function::new(
        "millennium",
        part!(both Part::Millennium),
        "the millennium",
        "millennium(DATE '2000-12-31') = 2",
    ),
    Function::new("week", part!(calendar Part::Week), "the ISO week, 1 to 53", "week(DATE '2024-12-30') = 1")
        .aliases(&["weekofyear"]),
    Function::new(
        "isoyear",
        part!(calendar Part::IsoYear),
        "the year of the ISO week",
        "isoyear(DATE '2024-12-30') = 2025",
    ),
    Function::new(
        "yearweek",
        part!(calendar Part::YearWeek),
        "ISO year and week",
        "yearweek(DATE '2024-12-30') = 202501",
    ),
    Function::new(
        "dayofweek",
        part!(calendar Part::DayOfWeek),
        "0 (Sunday) to 6",
        "dayofweek(DATE '2024-02-25') = 0",
    )
    .aliases(&["dow", "weekday"]),
    Function::new(
        "isodow",
        part!(calendar Part::IsoDayOfWeek),
        "1 (Monday) to 7",
        "isodow(DATE '2024-02-25') = 7",
    ),
    Function::new(
        "dayofyear",
        part!(calendar Part::DayOfYear),
        "1 to 366",
        "dayofyear(DATE '2024-12-31') = 366",
    )
    .aliases(&["doy"]),
    Function::new("era", part!(calendar Part::Era), "1 (AD) or 0 (BC)", "era(DATE '2024-02-29') = 1"),
    Function::new("hour", part!(clock Part::Hour), "the hour", "hour(TIME '10:11:12') = 10"),
    Function::new("minute", part!(clock Part::Minute), "the minute", "minute(TIME '10:11:12') = 11"),
    Function::new("second", part!(clock Part::Second), "the whole second", "second(TIME '10:11:12.5') = 12"),
    Function::new(
        "millisecond",
        part!(clock Part::Millisecond),
        "seconds and fraction in milliseconds",
        "millisecond(TIME '10:11:12.5') = 12500",
    )
    .aliases(&["milliseconds"]),
    Function::new(
        "microsecond",
        part!(clock Part::Microsecond),
        "seconds and fraction in microseconds",
        "microsecond(TIME '10:11:12.5') = 12500000",
    )
    .aliases(&["microseconds"]),
    Function::new(
        "nanosecond",
        Overloads::Fixed(&[
            Signature::new(&[Date], BigInt, nanosecond),
            Signature::new(&[Timestamp], BigInt, nanosecond),
            Signature::new(&[TimestampTz], BigInt, nanosecond).at_local_time(),
            Signature::new(&[TimestampNs], BigInt, |args, len, out| {
                map_finite(args[0], &BigInt, len, out, |at: i64| at.rem_euclid(60_000_000_000))
            }),
            Signature::new(&[Time], BigInt, nanosecond),
            Signature::new(&[TimeTzType], BigInt, nanosecond),
            Signature::new(&[IntervalType], BigInt, nanosecond),
        ]),
        "seconds and fraction in nanoseconds",
        "nanosecond(TIME '10:11:12.5') = 12500000000",
    )
    .aliases(&["nanoseconds"]),
    Function::new(
        "timezone_hour",
        zone_part!(timezone_hour_of),
        "the hours of the offset to UTC",
        "timezone_hour(TIMETZ '10:00:00-03:30') = -3",
    ),
    Function::new(
        "timezone_minute",
        zone_part!(timezone_minute_of),
        "the minutes of the offset to UTC",
        "timezone_minute(TIMETZ '10:00:00-03:30') = -30",
    ),
    Function::new(
        "date_part",
        Overloads::Fixed(&[
            Signature::new(&[Varchar, Date], Double, |args, len, out| named_part(None, args, len, out)),
            Signature::new(&[Varchar, Timestamp], Double, |args, len, out| named_part(None, args, len, out)),
            Signature::zoned(&[Varchar, TimestampTz], Double, |zone, args, len, out| {
                named_part(Some(zone), args, len, out)
            }),
            Signature::new(&[Varchar, Time], Double, |args, len, out| named_part(None, args, len, out)),
            Signature::new(&[Varchar, TimeTzType], Double, |args, len, out| named_part(None, args, len, out)),
            Signature::new(&[Varchar, IntervalType], Double, |args, len, out| {
                named_part(None, args, len, out)
            }),
        ]),
        "a named part; see the functions of the parts' names",
        "date_part('month', DATE '2024-02-29') = 2",
    )
    .aliases(&["datepart", "extract"])
    .fallible(),
];

fn timezone_hour_of(offset: i32) -> i64 {
    i64::from(offset / 3600)
}

fn timezone_minute_of(offset: i32) -> i64 {
    i64::from(offset / 60 % 60)
}

fn nanosecond(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    let mut micros = Vector::empty(BigInt);
    date_part(Part::Microsecond, args[0], len, &mut micros)?;
    map(&micros, &BigInt, len, out, |micros: i64| micros.wrapping_mul(1000))
}

/// `part` of a date, timestamp, time or interval vector.
fn date_part(part: Part, input: &Vector, len: usize, out: &mut Vector) -> Result<()> {
    match input.logical_type() {
        Timestamp if part.is_clock() => {
            map_finite(input, &BigInt, len, out, |at: i64| part_of_time(part, at.rem_euclid(MICROS_PER_DAY)))
        }
        Date | Timestamp => part_of_days(part, input, len, out),
        Time => map(input, &BigInt, len, out, |at: i64| part_of_time(part, at)),
        TimeTzType => {
            map(input, &BigInt, len, out, |at: i64| part_of_time(part, TimeTz::from_stored(at).micros))
        }
        IntervalType => map(input, &BigInt, len, out, |i: Interval| part_of_interval(part, i)),
        other => Err(Error::internal(format!("part of {other}"))),
    }
}

/// A part of the days of a DATE or TIMESTAMP vector, by loops without branches.
fn part_of_days(part: Part, input: &Vector, len: usize, out: &mut Vector) -> Result<()> {
    let same = |days: i32| days;
    let week = |y: i32, m: i32, d: i32| i64::from((day_of_year(y, m, d) - 1) / 7 + 1);
    match part {
        Part::Year => fields(input, len, out, same, |y, _, _| i64::from(y)),
        Part::Month => fields(input, len, out, same, |_, m, _| i64::from(m)),
        Part::Day => fields(input, len, out, same, |_, _, d| i64::from(d)),
        Part::Quarter => fields(input, len, out, same, |_, m, _| i64::from(m + 2) / 3),
        Part::Decade => fields(input, len, out, same, |y, _, _| i64::from(y / 10)),
        Part::DayOfYear => fields(input, len, out, same, |y, m, d| i64::from(day_of_year(y, m, d))),
        Part::Week => fields(input, len, out, thursday, week),
        Part::IsoYear => fields(input, len, out, thursday, |y, _, _| i64::from(y)),
        Part::YearWeek => fields(input, len, out, thursday, move |y, m, d| {
            let week = week(y, m, d);
            i64::from(y.wrapping_mul(100)) + if y > 0 { week } else { -week }
        }),
        Part::Century => fields(input, len, out, same, |y, _, _| i64::from(centuries(y, 100))),
        Part::Millennium => fields(input, len, out, same, |y, _, _| i64::from(centuries(y, 1000))),
        Part::Era => fields(input, len, out, same, |y, _, _| i64::from(y > 0)),
        Part::DayOfWeek => by_day(input, len, out, |days, out| {
            map_days(days, out, |days| i64::from(part_of_week(days, false)));
        }),
        Part::IsoDayOfWeek => by_day(input, len, out, |days, out| {
            map_days(days, out, |days| i64::from(part_of_week(days, true)));
        }),
        _ => by_day(input, len, out, |days, out| {
            out.iter_mut().zip(days).for_each(|(out, &days)| *out = part_of_date(part, days));
        }),
    }
}

/// The day of the week: from Sunday, which is 0, or by ISO, to Sunday, which is 7.
#[inline(always)]
fn part_of_week(days: i32, is_iso: bool) -> i32 {
    let from_monday = days_since_monday(days) + 1;
    if from_monday == 7 && !is_iso { 0 } else { from_monday }
}

/// `f(year, month, day)` of what `day` makes of the days of a DATE or TIMESTAMP vector.
fn fields(
    input: &Vector,
    len: usize,
    out: &mut Vector,
    day: impl Fn(i32) -> i32 + Copy,
    f: impl Fn(i32, i32, i32) -> i64 + Copy,
) -> Result<()> {
    by_day(input, len, out, |days, out| map_fields_of(days, out, day, f))
}

/// What `run` makes of the days of a DATE or TIMESTAMP vector.
fn by_day(input: &Vector, len: usize, out: &mut Vector, run: impl FnOnce(&[i32], &mut [i64])) -> Result<()> {
    if null_argument(&[input], &BigInt, len, out) {
        return Ok(());
    }
    let input = undictionary(input);
    let rows = if input.is_constant() { 1 } else { len };
    out.reset_flat(&BigInt, rows);
    run(&days_of(&input, rows), out.values_mut::<i64>());
    inlay_kernels::apply::finish(&[&input], rows, len, out)?;
    hide_infinite(&[&input], len, out);
    Ok(())
}

/// ISO year and week: a week belongs to the year of its Thursday.
pub(super) fn iso_week(days: i32) -> (i32, i32) {
    let thursday = thursday(days);
    let (year, ..) = civil_from_days(thursday);
    (year, thursday.wrapping_sub(days_from_civil(year, 1, 1)) / 7 + 1)
}

fn part_of_date(part: Part, days: i32) -> i64 {
    // What does not ask for the calendar.
    match part {
        Part::DayOfWeek => return i64::from(part_of_week(days, false)),
        Part::IsoDayOfWeek => return i64::from(part_of_week(days, true)),
        _ => {}
    }
    let (year, month, day) = civil_from_days(days);
    i64::from(match part {
        Part::Year => year,
        Part::Month => month as i32,
        Part::Day => day as i32,
        Part::Quarter => (month as i32 + 2) / 3,
        Part::Decade => year / 10,
        Part::Century => centuries(year, 100),
        Part::Millennium => centuries(year, 1000),
        Part::Week => iso_week(days).1,
        Part::IsoYear => iso_week(days).0,
        Part::YearWeek => {
            let (year, week) = iso_week(days);
            year.wrapping_mul(100) + if year > 0 { week } else { -week }
        }
        Part::DayOfWeek => (days_since_monday(days) + 1) % 7,
        Part::IsoDayOfWeek => days_since_monday(days) + 1,
        // Wrapping, because a NULL row may hold any day.
        Part::DayOfYear => days.wrapping_sub(days_from_civil(year, 1, 1)).wrapping_add(1),
        Part::Era => i32::from(year > 0),
        Part::Hour | Part::Minute | Part::Second | Part::Millisecond | Part::Microsecond => 0,
        Part::Timezone | Part::TimezoneHour | Part::TimezoneMinute => 0,
        Part::Epoch => return i64::from(days) * 86_400,
        Part::Julian => return julian_day(days) as i64,
    })
}

/// The century (or millennium) of a year: 2000 is in the 20th, 2001 in the 21st.
fn centuries(year: i32, length: i32) -> i32 {
    if year > 0 { (year - 1) / length + 1 } else { year / length - 1 }
}

fn part_of_time(part: Part, micros: i64) -> i64 {
    match part {
        Part::Hour => micros / (3600 * MICROS_PER_SECOND),
        Part::Minute => micros / (60 * MICROS_PER_SECOND) % 60,
        Part::Second => micros / MICROS_PER_SECOND % 60,
        Part::Millisecond => micros % (60 * MICROS_PER_SECOND) / 1000,
        Part::Microsecond => micros % (60 * MICROS_PER_SECOND),
        Part::Epoch => micros / MICROS_PER_SECOND,
        _ => 0,
    }
}

fn part_of_interval(part: Part, interval: Interval) -> i64 {
    let months = i64::from(interval.months);
    match part {
        Part::Millennium => months / 12_000,
        Part::Century => months / 1200,
        Part::Decade => months / 120,
        Part::Year => months / 12,
        Part::Quarter => months % 12 / 3 + 1,
        Part::Month => months % 12,
        Part::Day => i64::from(interval.days),
        Part::Hour => interval.micros / (3600 * MICROS_PER_SECOND),
        other => part_of_time(other, interval.micros),
    }
}

/// `date_part(name, x)` where the name is not known beforehand; those are bound as functions of their own.
fn named_part(zone: Option<&Zone>, args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    if null_argument(args, &Double, len, out) {
        return Ok(());
    }
    let names = TextColumn::of(args[0]);
    let part = |row: usize| Part::parse(names.get(row));
    let local = match zone {
        Some(zone) => to_local(zone, args[1])?,
        None => std::borrow::Cow::Borrowed(args[1]),
    };
    match local.logical_type() {
        Date => {
            let days = Column::<i32>::of(&local);
            per_row(args, &Double, len, out, |row| {
                let days = days.get(row);
                Ok(match part(row)? {
                    _ if !is_finite_date(days) => 0.0,
                    Part::Julian => julian_day(days),
                    part => part_of_date(part, days) as f64,
                })
            })?;
        }
        IntervalType => {
            let values = Column::<Interval>::of(&local);
            per_row(args, &Double, len, out, |row| {
                let interval = values.get(row);
                Ok(match part(row)? {
                    Part::Epoch => epoch_seconds(interval),
                    part if part.is_clock() || is_long(part) => part_of_interval(part, interval) as f64,
                    part => return Err(no_part(part, "INTERVAL")),
                })
            })?;
        }
        Time | TimeTzType => {
            let (values, is_zoned) = (Column::<i64>::of(&local), local.logical_type() == TimeTzType);
            per_row(args, &Double, len, out, |row| {
                let stored = values.get(row);
                let (micros, offset) = if is_zoned {
                    let at = TimeTz::from_stored(stored);
                    (at.micros, at.offset)
                } else {
                    (stored, 0)
                };
                Ok(match part(row)? {
                    Part::Epoch => micros as f64 / 1e6,
                    Part::Timezone => f64::from(offset),
                    Part::TimezoneHour => timezone_hour_of(offset) as f64,
                    Part::TimezoneMinute => timezone_minute_of(offset) as f64,
                    part if part.is_clock() => part_of_time(part, micros) as f64,
                    part => return Err(no_part(part, "TIME")),
                })
            })?;
        }
        _ => {
            let (values, moments) = (Column::<i64>::of(&local), Column::<i64>::of(args[1]));
            let offset = |row: usize| zone.map_or(0, |zone| zone.offset_at(moments.get(row)));
            per_row(args, &Double, len, out, |row| {
                let at = values.get(row);
                let days = at.div_euclid(MICROS_PER_DAY) as i32;
                Ok(match part(row)? {
                    _ if !is_finite_timestamp(at) => 0.0,
                    Part::Epoch => moments.get(row) as f64 / 1e6,
                    Part::Julian => {
                        julian_day(days) + at.rem_euclid(MICROS_PER_DAY) as f64 / MICROS_PER_DAY as f64
                    }
                    Part::Timezone => f64::from(offset(row)),
                    Part::TimezoneHour => timezone_hour_of(offset(row)) as f64,
                    Part::TimezoneMinute => timezone_minute_of(offset(row)) as f64,
                    part if part.is_clock() => part_of_time(part, at.rem_euclid(MICROS_PER_DAY)) as f64,
                    part => part_of_date(part, days) as f64,
                })
            })?;
        }
    }
    hide_infinite(&[&local], len, out);
    Ok(())
}

/// Parts that intervals have, but of the clock.
fn is_long(part: Part) -> bool {
    matches!(
        part,
        Part::Millennium
            | Part::Century
            | Part::Decade
            | Part::Year
            | Part::Quarter
            | Part::Month
            | Part::Day
    )
}

fn no_part(part: Part, of: &str) -> Error {
    Error::invalid_argument(format!("{of} has no {}", part.name()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Loops over columns of dates and of timestamps give what single days do.
    #[test]
    fn parts_of_columns_are_those_of_single_days() {
        let days: Vec<i32> = (-1_000_000..1_000_000)
            .step_by(1_009)
            .chain(100_000..100_014)
            .chain((-800..800).step_by(1))
            .chain([600_000_000, -600_000_000])
            .collect();
        let near: Vec<i32> = days.iter().copied().filter(|days| days.unsigned_abs() <= 1_000_000).collect();
        let moments: Vec<i64> =
            near.iter().map(|&day| i64::from(day) * MICROS_PER_DAY + 86_399_999_999).collect();
        let columns =
            [(Vector::from_values(Date, &days), &days), (Vector::from_values(Timestamp, &moments), &near)];
        for name in [
            "year",
            "month",
            "day",
            "quarter",
            "decade",
            "century",
            "week",
            "isoyear",
            "yearweek",
            "dow",
            "isodow",
            "doy",
            "era",
            "millennium",
            "julian",
        ] {
            let part = Part::parse(name.as_bytes()).unwrap();
            for (column, days) in &columns {
                let mut out = Vector::empty(BigInt);
                date_part(part, column, days.len(), &mut out).unwrap();
                for (row, &day) in days.iter().enumerate() {
                    assert_eq!(out.values::<i64>()[row], part_of_date(part, day), "{name} of {day}");
                }
            }
        }
    }
}

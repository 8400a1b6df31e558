//! `year(x)` and its siblings, and `date_part(name, x)`.

use super::Part;
use super::civil::map_fields;
use crate::apply::{map, null_argument, per_row, undictionary};
use crate::functions::columns::{Column, TextColumn};
use crate::registry::{Function, Overloads, Signature};
use inlay_types::LogicalType::{BigInt, Date, Double, Interval as IntervalType, Time, Timestamp, Varchar};
use inlay_types::datetime::{MICROS_PER_DAY, MICROS_PER_SECOND, civil_from_days, days_from_civil};
use inlay_types::{Error, Interval, LogicalType, Result, Vector};

/// Overloads of one part: for dates, timestamps and intervals, and times if it is a part of the clock.
macro_rules! part {
    (calendar $part:expr) => {
        Overloads::Fixed(&[
            Signature::new(&[Date], BigInt, |args, len, out| date_part($part, args[0], len, out)),
            Signature::new(&[Timestamp], BigInt, |args, len, out| date_part($part, args[0], len, out)),
        ])
    };
    (both $part:expr) => {
        Overloads::Fixed(&[
            Signature::new(&[Date], BigInt, |args, len, out| date_part($part, args[0], len, out)),
            Signature::new(&[Timestamp], BigInt, |args, len, out| date_part($part, args[0], len, out)),
            Signature::new(&[IntervalType], BigInt, |args, len, out| date_part($part, args[0], len, out)),
        ])
    };
    (clock $part:expr) => {
        Overloads::Fixed(&[
            Signature::new(&[Date], BigInt, |args, len, out| date_part($part, args[0], len, out)),
            Signature::new(&[Timestamp], BigInt, |args, len, out| date_part($part, args[0], len, out)),
            Signature::new(&[Time], BigInt, |args, len, out| date_part($part, args[0], len, out)),
            Signature::new(&[IntervalType], BigInt, |args, len, out| date_part($part, args[0], len, out)),
        ])
    };
}

/// See the module documentation.
pub(in crate::functions) static FUNCTIONS: &[Function] = &[
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
        "epoch",
        Overloads::Fixed(&[
            Signature::new(&[Date], Double, |args, len, out| {
                map(args[0], &Double, len, out, |days: i32| f64::from(days) * 86_400.0)
            }),
            Signature::new(&[Timestamp], Double, seconds),
            Signature::new(&[Time], Double, seconds),
            Signature::new(&[IntervalType], Double, |args, len, out| {
                map(args[0], &Double, len, out, |i: Interval| i.order_key() as f64 / 1e6)
            }),
        ]),
        "seconds since 1970, or in an interval",
        "epoch(TIMESTAMP '1970-01-01 00:01:00') = 60.0",
    ),
    Function::new(
        "julian",
        Overloads::Fixed(&[
            Signature::new(&[Date], Double, |args, len, out| {
                map(args[0], &Double, len, out, |days: i32| f64::from(days) + JULIAN_1970)
            }),
            Signature::new(&[Timestamp], Double, |args, len, out| {
                map(args[0], &Double, len, out, |at: i64| at as f64 / MICROS_PER_DAY as f64 + JULIAN_1970)
            }),
        ]),
        "days since 4714-11-24 BC",
        "julian(DATE '1970-01-01') = 2440588.0",
    ),
    Function::new(
        "epoch_ms",
        Overloads::Fixed(&[
            Signature::new(&[Timestamp], BigInt, |args, len, out| {
                map(args[0], &BigInt, len, out, |at: i64| at.div_euclid(1000))
            }),
            Signature::new(&[BigInt], Timestamp, |args, len, out| {
                map(args[0], &Timestamp, len, out, |ms: i64| ms.saturating_mul(1000))
            }),
        ]),
        "milliseconds since 1970, or the timestamp of them",
        "epoch_ms(TIMESTAMP '1970-01-01 00:00:01') = 1000",
    ),
    Function::new(
        "date_part",
        Overloads::Fixed(&[
            Signature::new(&[Varchar, Date], BigInt, named_part),
            Signature::new(&[Varchar, Timestamp], BigInt, named_part),
            Signature::new(&[Varchar, Time], BigInt, named_part),
            Signature::new(&[Varchar, IntervalType], BigInt, named_part),
        ]),
        "a named part; see the functions of the parts' names",
        "date_part('month', DATE '2024-02-29') = 2",
    )
    .aliases(&["datepart", "extract"])
    .fallible(),
];

/// The Julian day of 1970-01-01.
const JULIAN_1970: f64 = 2_440_588.0;

fn seconds(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    map(args[0], &Double, len, out, |micros: i64| micros as f64 / 1e6)
}

/// `part` of a date, timestamp, time or interval vector.
fn date_part(part: Part, input: &Vector, len: usize, out: &mut Vector) -> Result<()> {
    match input.logical_type() {
        Date => match part {
            Part::Year => fields(input, len, out, |y, _, _| i64::from(y)),
            Part::Month => fields(input, len, out, |_, m, _| i64::from(m)),
            Part::Day => fields(input, len, out, |_, _, d| i64::from(d)),
            Part::Quarter => fields(input, len, out, |_, m, _| i64::from(m + 2) / 3),
            _ => map(input, &BigInt, len, out, |days: i32| part_of_date(part, days)),
        },
        Timestamp => match part {
            Part::Hour | Part::Minute | Part::Second | Part::Millisecond | Part::Microsecond => {
                map(input, &BigInt, len, out, |at: i64| part_of_time(part, at.rem_euclid(MICROS_PER_DAY)))
            }
            Part::Epoch => map(input, &BigInt, len, out, |at: i64| at.div_euclid(MICROS_PER_SECOND)),
            _ => map(input, &BigInt, len, out, |at: i64| {
                part_of_date(part, at.div_euclid(MICROS_PER_DAY) as i32)
            }),
        },
        Time => map(input, &BigInt, len, out, |at: i64| part_of_time(part, at)),
        IntervalType => map(input, &BigInt, len, out, |i: Interval| part_of_interval(part, i)),
        other => Err(Error::internal(format!("part of {other}"))),
    }
}

/// `f(year, month, day)` of a DATE vector.
fn fields(
    input: &Vector,
    len: usize,
    out: &mut Vector,
    f: impl Fn(i32, i32, i32) -> i64 + Copy,
) -> Result<()> {
    if null_argument(&[input], &BigInt, len, out) {
        return Ok(());
    }
    let input = undictionary(input);
    let rows = if input.is_constant() { 1 } else { len };
    out.reset_flat(&BigInt, rows);
    map_fields(&input.values::<i32>()[..rows], out.values_mut::<i64>(), f);
    crate::apply::finish(&[&input], rows, len, out)
}

/// Days since the Monday of the week of `days`, 0 to 6.
pub(super) fn days_since_monday(days: i32) -> i32 {
    // 1970-01-01 was a Thursday.
    (i64::from(days) + 3).rem_euclid(7) as i32
}

/// ISO year and week: a week belongs to the year of its Thursday.
fn iso_week(days: i32) -> (i32, i32) {
    let thursday = days.saturating_sub(days_since_monday(days)).saturating_add(3);
    let (year, ..) = civil_from_days(thursday);
    (year, thursday.wrapping_sub(days_from_civil(year, 1, 1)) / 7 + 1)
}

fn part_of_date(part: Part, days: i32) -> i64 {
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
        Part::Epoch => return i64::from(days) * 86_400,
        Part::Julian => return i64::from(days) + JULIAN_1970 as i64,
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
        Part::Epoch => (interval.order_key() / i128::from(MICROS_PER_SECOND)) as i64,
        other => part_of_time(other, interval.micros),
    }
}

/// `date_part(name, x)`.
fn named_part(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    if null_argument(args, &BigInt, len, out) {
        return Ok(());
    }
    let names = TextColumn::of(args[0]);
    if args[0].is_constant() {
        return date_part(Part::parse(names.get(0))?, args[1], len, out);
    }
    let part = |row: usize| Part::parse(names.get(row));
    match args[1].logical_type() {
        Date => {
            let days = Column::<i32>::of(args[1]);
            per_row(args, &BigInt, len, out, |row| Ok(part_of_date(part(row)?, days.get(row))))
        }
        IntervalType => {
            let values = Column::<Interval>::of(args[1]);
            per_row(args, &BigInt, len, out, |row| Ok(part_of_interval(part(row)?, values.get(row))))
        }
        ty => {
            let values = Column::<i64>::of(args[1]);
            per_row(args, &BigInt, len, out, |row| {
                Ok(part_of_moment(part(row)?, ty.clone(), values.get(row)))
            })
        }
    }
}

fn part_of_moment(part: Part, ty: LogicalType, at: i64) -> i64 {
    let is_clock =
        matches!(part, Part::Hour | Part::Minute | Part::Second | Part::Millisecond | Part::Microsecond);
    if ty == Time || is_clock {
        part_of_time(part, at.rem_euclid(MICROS_PER_DAY))
    } else if part == Part::Epoch {
        at.div_euclid(MICROS_PER_SECOND)
    } else {
        part_of_date(part, at.div_euclid(MICROS_PER_DAY) as i32)
    }
}

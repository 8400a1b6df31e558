//! `date_trunc` and `last_day`: moments rounded down (or up) to a field.

use super::Part;
use super::part::days_since_monday;
use crate::apply::{map, null_argument, per_row};
use crate::functions::columns::{Column, TextColumn};
use crate::registry::{Function, Overloads, Signature};
use inlay_types::LogicalType::{Date, Interval as IntervalType, Timestamp, Varchar};
use inlay_types::datetime::{MICROS_PER_DAY, civil_from_days, days_from_civil, days_in_month};
use inlay_types::{Interval, Result, Vector};

/// See the module documentation.
pub(in crate::functions) static FUNCTIONS: &[Function] = &[
    Function::new(
        "date_trunc",
        Overloads::Fixed(&[
            Signature::new(&[Varchar, Timestamp], Timestamp, trunc_timestamp),
            Signature::new(&[Varchar, Date], Timestamp, trunc_date),
            Signature::new(&[Varchar, IntervalType], IntervalType, trunc_interval),
        ]),
        "the start of the field (year, month, week, day, hour ...) that a moment is in",
        "date_trunc('month', DATE '2024-02-29') = TIMESTAMP '2024-02-01 00:00:00'",
    )
    .aliases(&["datetrunc"])
    .fallible(),
    Function::new(
        "last_day",
        Overloads::Fixed(&[
            Signature::new(&[Date], Date, |args, len, out| map(args[0], &Date, len, out, last_day)),
            Signature::new(&[Timestamp], Date, |args, len, out| {
                map(args[0], &Date, len, out, |at: i64| last_day(at.div_euclid(MICROS_PER_DAY) as i32))
            }),
        ]),
        "the last day of the month",
        "last_day(DATE '2024-02-05') = DATE '2024-02-29'",
    ),
];

fn last_day(days: i32) -> i32 {
    let (year, month, _) = civil_from_days(days);
    days_from_civil(year, month, days_in_month(year, month))
}

/// Microseconds in a part of the clock, if it is one.
pub(super) fn clock_micros(part: Part) -> Option<i64> {
    Some(match part {
        Part::Hour => 3_600_000_000,
        Part::Minute => 60_000_000,
        Part::Second | Part::Epoch => 1_000_000,
        Part::Millisecond => 1000,
        Part::Microsecond => 1,
        _ => return None,
    })
}

fn day_trunc(part: Part, days: i32) -> i32 {
    let (year, month, _) = civil_from_days(days);
    let first = |year: i32, month: u32| days_from_civil(year, month, 1);
    match part {
        Part::Millennium => first(year.div_euclid(1000) * 1000, 1),
        Part::Century => first(year.div_euclid(100) * 100, 1),
        Part::Decade => first(year.div_euclid(10) * 10, 1),
        Part::Year => first(year, 1),
        Part::Quarter => first(year, (month - 1) / 3 * 3 + 1),
        Part::Month => first(year, month),
        Part::Week | Part::YearWeek => days.wrapping_sub(days_since_monday(days)),
        Part::IsoYear => {
            let thursday = days.wrapping_sub(days_since_monday(days)).wrapping_add(3);
            let (iso_year, ..) = civil_from_days(thursday);
            let fourth = days_from_civil(iso_year, 1, 4);
            fourth.wrapping_sub(days_since_monday(fourth))
        }
        _ => days,
    }
}

fn trunc(part: Part, at: i64) -> i64 {
    match clock_micros(part) {
        // Wrapping, because a NULL row may hold any moment.
        Some(unit) => at.div_euclid(unit).wrapping_mul(unit),
        None => {
            i64::from(day_trunc(part, at.div_euclid(MICROS_PER_DAY) as i32)).saturating_mul(MICROS_PER_DAY)
        }
    }
}

/// The part if it is one for all rows.
fn constant_part(args: &[&Vector]) -> Result<Option<Part>> {
    if args[0].is_constant() { Part::parse(TextColumn::of(args[0]).get(0)).map(Some) } else { Ok(None) }
}

fn trunc_timestamp(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    if null_argument(args, &Timestamp, len, out) {
        return Ok(());
    }
    if let Some(part) = constant_part(args)? {
        return map(args[1], &Timestamp, len, out, |at: i64| trunc(part, at));
    }
    let (parts, values) = (TextColumn::of(args[0]), Column::<i64>::of(args[1]));
    per_row(args, &Timestamp, len, out, |row| Ok(trunc(Part::parse(parts.get(row))?, values.get(row))))
}

fn trunc_date(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    if null_argument(args, &Timestamp, len, out) {
        return Ok(());
    }
    let midnight = |part: Part, days: i32| i64::from(day_trunc(part, days)).saturating_mul(MICROS_PER_DAY);
    if let Some(part) = constant_part(args)? {
        return map(args[1], &Timestamp, len, out, |days: i32| midnight(part, days));
    }
    let (parts, values) = (TextColumn::of(args[0]), Column::<i32>::of(args[1]));
    per_row(args, &Timestamp, len, out, |row| Ok(midnight(Part::parse(parts.get(row))?, values.get(row))))
}

fn trunc_interval(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    if null_argument(args, &IntervalType, len, out) {
        return Ok(());
    }
    let (parts, values) = (TextColumn::of(args[0]), Column::<Interval>::of(args[1]));
    per_row(args, &IntervalType, len, out, |row| {
        let value = values.get(row);
        let part = Part::parse(parts.get(row))?;
        let whole = |months: i32| Interval { months: value.months / months * months, days: 0, micros: 0 };
        Ok(match part {
            Part::Millennium => whole(12_000),
            Part::Century => whole(1200),
            Part::Decade => whole(120),
            Part::Year | Part::IsoYear => whole(12),
            Part::Quarter => whole(3),
            Part::Month => whole(1),
            Part::Week | Part::YearWeek => Interval { days: value.days / 7 * 7, micros: 0, ..value },
            _ => match clock_micros(part) {
                Some(unit) => Interval { micros: value.micros / unit * unit, ..value },
                None => Interval { micros: 0, ..value },
            },
        })
    })
}

//! `date_diff` (boundaries crossed), `date_sub` (whole units that fit) and `age`.

use super::Part;
use super::part::days_since_monday;
use super::trunc::clock_micros;
use crate::apply::{null_argument, per_row, zip_simple};
use crate::arithmetic::temporal::shift;
use crate::arithmetic::{Op, resolve_binary};
use crate::functions::columns::{Column, TextColumn};
use crate::registry::{Function, Overloads, Signature};
use inlay_types::LogicalType::{BigInt, Date, Interval as IntervalType, Timestamp, Varchar};
use inlay_types::datetime::{MICROS_PER_DAY, civil_from_days, days_in_month};
use inlay_types::{Interval, LogicalType, Result, Vector};

/// See the module documentation.
pub(in crate::functions) static FUNCTIONS: &[Function] = &[
    Function::new(
        "date_diff",
        Overloads::Fixed(&[
            Signature::new(&[Varchar, Date, Date], BigInt, |args, len, out| {
                difference(args, len, out, crossed)
            }),
            Signature::new(&[Varchar, Timestamp, Timestamp], BigInt, |args, len, out| {
                difference(args, len, out, crossed)
            }),
        ]),
        "how many starts of the field lie between two moments",
        "date_diff('month', DATE '2024-01-31', DATE '2024-02-01') = 1",
    )
    .aliases(&["datediff"])
    .fallible(),
    Function::new(
        "date_sub",
        Overloads::Fixed(&[
            Signature::new(&[Varchar, Date, Date], BigInt, |args, len, out| {
                difference(args, len, out, whole)
            }),
            Signature::new(&[Varchar, Timestamp, Timestamp], BigInt, |args, len, out| {
                difference(args, len, out, whole)
            }),
        ]),
        "how many whole units lie between two moments",
        "date_sub('month', DATE '2024-01-31', DATE '2024-02-28') = 0",
    )
    .aliases(&["datesub"])
    .fallible(),
    Function::new(
        "date_add",
        Overloads::Typed {
            shown: &["date_add(date, interval)", "date_add(timestamp, interval)"],
            resolve: |args, _| resolve_binary(Op::Add, args),
        },
        "a moment moved by an interval",
        "date_add(DATE '2024-01-31', INTERVAL 1 MONTH) = TIMESTAMP '2024-02-29 00:00:00'",
    )
    .fallible(),
    Function::new(
        "age",
        Overloads::Fixed(&[Signature::new(&[Timestamp, Timestamp], IntervalType, |args, len, out| {
            zip_simple(args, &IntervalType, len, out, age)
        })]),
        "years, months, days and time between two moments",
        "age(TIMESTAMP '2024-03-01', TIMESTAMP '2024-01-31') = INTERVAL '1 month 1 day'",
    ),
];

/// BIGINT of a part's name and two dates or timestamps.
fn difference(
    args: &[&Vector],
    len: usize,
    out: &mut Vector,
    count: fn(Part, LogicalType, i64, i64) -> i64,
) -> Result<()> {
    if null_argument(args, &BigInt, len, out) {
        return Ok(());
    }
    let ty = args[1].logical_type();
    let names = TextColumn::of(args[0]);
    let constant = if args[0].is_constant() { Some(Part::parse(names.get(0))?) } else { None };
    let part = |row: usize| constant.map_or_else(|| Part::parse(names.get(row)), Ok);
    if ty == Date {
        let (from, to) = (Column::<i32>::of(args[1]), Column::<i32>::of(args[2]));
        let midnight = |days: i32| i64::from(days).saturating_mul(MICROS_PER_DAY);
        per_row(args, &BigInt, len, out, |row| {
            Ok(count(part(row)?, ty.clone(), midnight(from.get(row)), midnight(to.get(row))))
        })
    } else {
        let (from, to) = (Column::<i64>::of(args[1]), Column::<i64>::of(args[2]));
        per_row(args, &BigInt, len, out, |row| Ok(count(part(row)?, ty.clone(), from.get(row), to.get(row))))
    }
}

fn day_of(at: i64) -> i32 {
    at.div_euclid(MICROS_PER_DAY) as i32
}

/// Months since year 0.
fn month_number(at: i64) -> i64 {
    let (year, month, _) = civil_from_days(day_of(at));
    i64::from(year) * 12 + i64::from(month) - 1
}

/// Months in a part of the calendar, if it is made of months.
fn part_months(part: Part) -> Option<i64> {
    Some(match part {
        Part::Millennium => 12_000,
        Part::Century => 1200,
        Part::Decade => 120,
        Part::Year | Part::IsoYear => 12,
        Part::Quarter => 3,
        Part::Month => 1,
        _ => return None,
    })
}

fn crossed(part: Part, _: LogicalType, from: i64, to: i64) -> i64 {
    if let Some(months) = part_months(part) {
        return month_number(to).div_euclid(months) - month_number(from).div_euclid(months);
    }
    if let Some(unit) = clock_micros(part) {
        return to.div_euclid(unit) - from.div_euclid(unit);
    }
    let monday = |at: i64| i64::from(day_of(at)) - i64::from(days_since_monday(day_of(at)));
    match part {
        Part::Week | Part::YearWeek => (monday(to) - monday(from)) / 7,
        _ => i64::from(day_of(to)) - i64::from(day_of(from)),
    }
}

fn whole(part: Part, _: LogicalType, from: i64, to: i64) -> i64 {
    if let Some(months) = part_months(part) {
        return whole_months(from, to) / months;
    }
    let micros = to.saturating_sub(from);
    match (part, clock_micros(part)) {
        (_, Some(unit)) => micros / unit,
        (Part::Week | Part::YearWeek, None) => micros / (7 * MICROS_PER_DAY),
        (_, None) => micros / MICROS_PER_DAY,
    }
}

/// Months that fit between two moments; negative if `to` is before `from`.
fn whole_months(from: i64, to: i64) -> i64 {
    if to < from {
        return -whole_months(to, from);
    }
    let months = month_number(to) - month_number(from);
    let by = Interval { months: i32::try_from(months).unwrap_or(i32::MAX), days: 0, micros: 0 };
    // The day may be clamped by adding, as in 31 January + 1 month; then the month is not whole.
    let (_, _, from_day) = civil_from_days(day_of(from));
    let (_, _, to_day) = civil_from_days(day_of(to));
    match shift(from, by, 1) {
        Some(moved)
            if moved <= to && (to_day >= from_day || moved.rem_euclid(MICROS_PER_DAY) > 0 && moved < to) =>
        {
            months
        }
        Some(moved) if moved <= to && to_day >= from_day => months,
        _ => (months - 1).max(0),
    }
}

/// The symbolic difference, field by field, borrowing days from the month of the earlier moment (PostgreSQL's rule).
fn age(to: i64, from: i64) -> Interval {
    if to < from {
        let positive = age(from, to);
        return Interval { months: -positive.months, days: -positive.days, micros: -positive.micros };
    }
    let ((y1, m1, d1), (y2, m2, d2)) = (civil_from_days(day_of(from)), civil_from_days(day_of(to)));
    let mut months = (y2 - y1) * 12 + m2 as i32 - m1 as i32;
    let mut days = d2 as i32 - d1 as i32;
    let mut micros = to.rem_euclid(MICROS_PER_DAY) - from.rem_euclid(MICROS_PER_DAY);
    if micros < 0 {
        micros += MICROS_PER_DAY;
        days -= 1;
    }
    if days < 0 {
        days += days_in_month(y1, m1) as i32;
        months -= 1;
    }
    Interval { months, days, micros }
}

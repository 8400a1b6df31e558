//! `date_diff` (boundaries crossed), `date_sub` (whole units that fit) and `age`.
//!
//! With time zones, days and longer units are counted by local calendars, hours and shorter ones in real time.

use super::Part;
use super::civil::{days_of, map_fields};
use super::finite::hide_infinite;
use super::names::Days;
use super::part::iso_week;
use super::trunc::{clock_micros, clock_start, parse_part};
use crate::columns::{Column, TextColumn};
use crate::registry::{Function, Overloads, Signature};
use inlay_kernels::apply::{null_argument, per_row, zip};
use inlay_kernels::arithmetic::{Op, resolve_binary};
use inlay_kernels::zone::Zone;
use inlay_types::LogicalType::{
    BigInt, Date, Interval as IntervalType, Time, Timestamp, TimestampTz, Varchar,
};
use inlay_types::datetime::{
    MICROS_PER_DAY, any_beyond, civil_from_days, days_from_civil, days_in_month, is_finite_date,
    is_finite_timestamp, units_of_moments,
};
use inlay_types::{Error, Interval, Result, Vector};

/// See the module documentation.
pub(crate) static FUNCTIONS: &[Function] = &[
    Function::new(
        "date_diff",
        Overloads::Fixed(&[
            Signature::new(&[Varchar, Date, Date], BigInt, |args, len, out| {
                difference(None, args, len, out, Count::Crossed)
            }),
            Signature::new(&[Varchar, Timestamp, Timestamp], BigInt, |args, len, out| {
                difference(None, args, len, out, Count::Crossed)
            }),
            Signature::new(&[Varchar, Time, Time], BigInt, |args, len, out| {
                clock_difference(args, len, out, |unit, from, to| to / unit - from / unit)
            }),
            Signature::zoned(&[Varchar, TimestampTz, TimestampTz], BigInt, |zone, args, len, out| {
                difference(Some(zone), args, len, out, Count::Crossed)
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
                difference(None, args, len, out, Count::Whole)
            }),
            Signature::new(&[Varchar, Timestamp, Timestamp], BigInt, |args, len, out| {
                difference(None, args, len, out, Count::Whole)
            }),
            Signature::new(&[Varchar, Time, Time], BigInt, |args, len, out| {
                clock_difference(args, len, out, |unit, from, to| (to - from) / unit)
            }),
            Signature::zoned(&[Varchar, TimestampTz, TimestampTz], BigInt, |zone, args, len, out| {
                difference(Some(zone), args, len, out, Count::Whole)
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
            shown: &[
                "date_add(DATE, INTERVAL) -> TIMESTAMP",
                "date_add(TIMESTAMP, INTERVAL) -> TIMESTAMP",
                "date_add(TIMESTAMPTZ, INTERVAL) -> TIMESTAMPTZ",
            ],
            resolve: |args, options| resolve_binary(Op::Add, args, options),
        },
        "a moment moved by an interval",
        "date_add(DATE '2024-01-31', INTERVAL 1 MONTH) = TIMESTAMP '2024-02-29 00:00:00'",
    )
    .fallible(),
    Function::new(
        "age",
        Overloads::Typed {
            shown: &[
                "age(TIMESTAMP) -> INTERVAL",
                "age(TIMESTAMPTZ) -> INTERVAL",
                "age(TIMESTAMP, TIMESTAMP) -> INTERVAL",
                "age(TIMESTAMPTZ, TIMESTAMPTZ) -> INTERVAL",
            ],
            resolve: super::clock::resolve_age,
        },
        "years, months, days and time between two moments, or from a moment to today",
        "age(TIMESTAMP '2024-03-01', TIMESTAMP '2024-01-31') = INTERVAL '1 month 1 day'",
    ),
];

/// A moment: its day, and microseconds of the day. Dates reach further than timestamps do.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
struct At {
    day: i32,
    micros: i64,
}

impl At {
    fn of(timestamp: i64) -> Self {
        Self {
            day: timestamp.div_euclid(MICROS_PER_DAY) as i32,
            micros: timestamp.rem_euclid(MICROS_PER_DAY),
        }
    }

    /// Microseconds from another moment to this one.
    fn since(self, from: Self) -> i128 {
        (i128::from(self.day) - i128::from(from.day)) * i128::from(MICROS_PER_DAY)
            + i128::from(self.micros - from.micros)
    }

    /// Months since year 0.
    fn month_number(self) -> i64 {
        let (year, month, _) = civil_from_days(self.day);
        i64::from(year) * 12 + i64::from(month) - 1
    }
}

/// Two moments: when they are, and what local clocks show.
#[derive(Clone, Copy)]
struct Span<'a> {
    zone: Option<(&'a Zone, i64, i64)>,
    from: At,
    to: At,
    local_from: At,
    local_to: At,
}

/// What is counted between two moments.
#[derive(Clone, Copy, PartialEq)]
enum Count {
    /// Starts of the part.
    Crossed,
    /// Parts that fit.
    Whole,
}

/// BIGINT of a part's name and two dates or timestamps.
fn difference(
    zone: Option<&Zone>,
    args: &[&Vector],
    len: usize,
    out: &mut Vector,
    count: Count,
) -> Result<()> {
    if null_argument(args, &BigInt, len, out) {
        return Ok(());
    }
    let is_date = args[1].logical_type() == Date;
    let names = TextColumn::of(args[0]);
    let parse = |row: usize| parse_part(names.get(row), "a difference");
    let constant = if args[0].is_constant() { Some(parse(0)?) } else { None };
    if let (None, Some(Part::Day), true) = (zone, constant, is_date)
        && args[1..].iter().all(|days| are_near(days))
    {
        return zip(&args[1..], &BigInt, len, out, |from: i32, to: i32| i64::from(to) - i64::from(from));
    }
    if let (None, Some(part)) = (zone, constant)
        && count == Count::Crossed
        && let [Some(from), Some(to)] = [1, 2].map(|index| starts_before(part, args[index], len))
    {
        out.reset_flat(&BigInt, len);
        let rows = out.values_mut::<i64>().iter_mut().zip(to.iter().zip(&from));
        // Divisors that are known need no division.
        if matches!(part, Part::Week | Part::YearWeek) {
            rows.for_each(|(out, (to, from))| *out = (to - from) / 7);
        } else {
            rows.for_each(|(out, (to, from))| *out = to - from);
        }
        return inlay_kernels::apply::finish(args, len, len, out);
    }
    let [from, to] = [1, 2].map(|index| Days::of(args[index]));
    let timestamp =
        |(days, micros): (i32, i64)| i64::from(days).saturating_mul(MICROS_PER_DAY).saturating_add(micros);
    let is_finite = |(days, micros): (i32, i64)| match is_date {
        true => is_finite_date(days),
        false => is_finite_timestamp(timestamp((days, micros))),
    };
    per_row(args, &BigInt, len, out, |row| {
        let part = constant.map_or_else(|| parse(row), Ok)?;
        let (from, to) = (from.get(row), to.get(row));
        if !is_finite(from) || !is_finite(to) {
            return Ok(0);
        }
        let at = |(day, micros): (i32, i64)| At { day, micros };
        let local = |moment: (i32, i64)| match zone {
            Some(zone) => At::of(zone.to_local(timestamp(moment)).unwrap_or(timestamp(moment))),
            None => at(moment),
        };
        let span = Span {
            zone: zone.map(|zone| (zone, timestamp(from), timestamp(to))),
            from: at(from),
            to: at(to),
            local_from: local(from),
            local_to: local(to),
        };
        let counted = match count {
            Count::Crossed => crossed(part, span),
            Count::Whole => whole(part, span),
        };
        counted.ok_or_else(|| {
            Error::out_of_range(format!("a difference in {}s is more than 64 bits count", part.name()))
        })
    })?;
    hide_infinite(args, len, out);
    Ok(())
}

/// Days and moments that are counted by loops: those that no unit overflows.
const DAYS_MAX: i32 = 100_000_000;

/// Of each date or timestamp, how many starts of the part lie before it; days where it is the week. `None`: one by one.
fn starts_before(part: Part, moments: &Vector, len: usize) -> Option<Vec<i64>> {
    let is_date = moments.logical_type() == Date;
    let rows = if moments.is_constant() { 1 } else { len };
    if moments.as_dictionary().is_some() {
        return None;
    }
    let found = match (clock_micros(part), part_months(part)) {
        (Some(unit), _) if !is_date => {
            let values = &moments.values::<i64>()[..rows];
            if any_beyond(values, 1 << 62) {
                return None;
            }
            let mut units = vec![0; rows];
            units_of_moments(values, unit, &mut units);
            units
        }
        (None, months) => {
            let days = days_of(moments, rows);
            if !days.iter().fold(true, |all, days| all & (-DAYS_MAX..DAYS_MAX).contains(days)) {
                return None;
            }
            match (part, months) {
                (Part::Week | Part::YearWeek | Part::Day, _) => days.iter().copied().map(i64::from).collect(),
                (Part::Year | Part::Quarter | Part::Month, Some(months)) => {
                    let mut numbers = vec![0; rows];
                    map_fields(&days, &mut numbers, |y, m, _| i64::from(y) * 12 + i64::from(m) - 1);
                    numbers.into_iter().map(|number| number.div_euclid(months)).collect()
                }
                _ => return None,
            }
        }
        _ => return None,
    };
    let found: Vec<i64> = found;
    Some(if moments.is_constant() { vec![found[0]; len] } else { found })
}

/// Whether dates, which are no dictionary, are not far from 1970.
fn are_near(dates: &Vector) -> bool {
    let is_near = |days: &i32| (-DAYS_MAX..DAYS_MAX).contains(days);
    dates.as_dictionary().is_none()
        && dates.values::<i32>().iter().fold(true, |all, days| all & is_near(days))
}

/// BIGINT of the name of a part of the clock and two times of day.
fn clock_difference(
    args: &[&Vector],
    len: usize,
    out: &mut Vector,
    count: fn(i64, i64, i64) -> i64,
) -> Result<()> {
    let (from, to) = (Column::<i64>::of(args[1]), Column::<i64>::of(args[2]));
    let names = TextColumn::of(args[0]);
    per_row(args, &BigInt, len, out, |row| {
        let unit = clock_micros(Part::parse(names.get(row))?).ok_or_else(|| {
            Error::invalid_argument(format!("TIME has no {}", String::from_utf8_lossy(names.get(row))))
        })?;
        Ok(count(unit, from.get(row), to.get(row)))
    })
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

fn crossed(part: Part, span: Span<'_>) -> Option<i64> {
    let Span { zone, from, to, local_from, local_to } = span;
    let year = |at: At| i64::from(civil_from_days(at.day).0);
    match part {
        Part::Millennium => return Some(year(local_to) / 1000 - year(local_from) / 1000),
        Part::Century => return Some(year(local_to) / 100 - year(local_from) / 100),
        Part::Decade => return Some(year(local_to) / 10 - year(local_from) / 10),
        Part::IsoYear => {
            let iso = |at: At| i64::from(iso_week(at.day).0);
            return Some(iso(local_to) - iso(local_from));
        }
        _ => {}
    }
    if let Some(months) = part_months(part) {
        return Some(
            local_to.month_number().div_euclid(months) - local_from.month_number().div_euclid(months),
        );
    }
    let days = i64::from(local_to.day) - i64::from(local_from.day);
    if let Some(unit) = clock_micros(part) {
        return match zone {
            Some((zone, from, to)) => {
                let start = |at: i64| clock_start(zone, at, unit);
                Some(start(to)?.checked_sub(start(from)?)? / unit)
            }
            // A day has a whole number of each unit.
            None => {
                days.checked_mul(MICROS_PER_DAY / unit)?.checked_add(to.micros / unit - from.micros / unit)
            }
        };
    }
    Some(if matches!(part, Part::Week | Part::YearWeek) { days / 7 } else { days })
}

fn whole(part: Part, span: Span<'_>) -> Option<i64> {
    if let Some(months) = part_months(part) {
        return Some(whole_months(span.local_from, span.local_to) / months);
    }
    if let Some(unit) = clock_micros(part) {
        return i64::try_from(span.to.since(span.from) / i128::from(unit)).ok();
    }
    let days = i64::try_from(span.local_to.since(span.local_from) / i128::from(MICROS_PER_DAY)).ok()?;
    Some(if matches!(part, Part::Week | Part::YearWeek) { days / 7 } else { days })
}

/// Months that fit between two moments; negative if `to` is before `from`. The last day of a shorter month counts as any
/// later day.
fn whole_months(from: At, to: At) -> i64 {
    if to < from {
        return -whole_months(to, from);
    }
    let (year, month, day) = civil_from_days(from.day);
    let (to_year, to_month, to_day) = civil_from_days(to.day);
    let is_last = to_day == days_in_month(to_year, to_month);
    let later_time = from.micros > to.micros;
    let from = if is_last && (day > to_day || (day == to_day && later_time)) {
        let moved = days_from_civil(year, month, to_day.min(days_in_month(year, month)));
        At { day: moved, micros: from.micros }
    } else {
        from
    };
    i64::from(passed(to, from).months)
}

/// The symbolic difference, field by field, borrowing days from the month of the earlier moment (PostgreSQL's rule).
pub(super) fn age(to: i64, from: i64) -> Interval {
    passed(At::of(to), At::of(from))
}

fn passed(to: At, from: At) -> Interval {
    if to < from {
        let positive = passed(from, to);
        return Interval { months: -positive.months, days: -positive.days, micros: -positive.micros };
    }
    let ((y1, m1, d1), (y2, m2, d2)) = (civil_from_days(from.day), civil_from_days(to.day));
    let mut months = (y2 - y1) * 12 + m2 as i32 - m1 as i32;
    let mut days = d2 as i32 - d1 as i32;
    let mut micros = to.micros - from.micros;
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

/// [`age`] by the clocks of a zone, as in DuckDB and PostgreSQL.
pub(super) fn age_zoned(zone: &Zone, to: i64, from: i64) -> Interval {
    age(zone.to_local(to).unwrap_or(to), zone.to_local(from).unwrap_or(from))
}

pub(super) fn ages(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    ages_by(args, len, out, age)
}

pub(super) fn ages_by(
    args: &[&Vector],
    len: usize,
    out: &mut Vector,
    age: impl Fn(i64, i64) -> Interval,
) -> Result<()> {
    let (to, from) = (Column::<i64>::of(args[0]), Column::<i64>::of(args[1]));
    per_row(args, &IntervalType, len, out, |row| {
        let (to, from) = (to.get(row), from.get(row));
        let is_finite = is_finite_timestamp(to) && is_finite_timestamp(from);
        Ok(if is_finite { age(to, from) } else { Interval::default() })
    })?;
    hide_infinite(args, len, out);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Loops count what is counted one by one.
    #[test]
    fn differences_of_columns_are_those_of_pairs() {
        let days: Vec<i32> = (-300_000..300_000).step_by(733).chain([-1, 0, 30, 31, 58, 59, 365]).collect();
        let micros: Vec<i64> = days
            .iter()
            .enumerate()
            .map(|(i, &day)| i64::from(day) * MICROS_PER_DAY + i as i64 * 7_919_000_001)
            .collect();
        let len = days.len();
        let [dates, moments] = [Vector::from_values(Date, &days), Vector::from_values(Timestamp, &micros)];
        let names = ["year", "quarter", "month", "week", "day", "hour", "minute", "second", "millisecond"];
        for (name, column) in names.iter().flat_map(|name| [(name, &dates), (name, &moments)]) {
            let part = Part::parse(name.as_bytes()).unwrap();
            let Some(starts) = starts_before(part, column, len) else {
                assert!(column.logical_type() == Date, "{name}");
                continue;
            };
            let is_date = column.logical_type() == Date;
            let at = |row: usize| if is_date { i64::from(days[row]) * MICROS_PER_DAY } else { micros[row] };
            for row in 0..len {
                let [from, to] = [at(row), at(len - 1 - row)].map(At::of);
                let span = Span { zone: None, from, to, local_from: from, local_to: to };
                let weeks = if *name == "week" { 7 } else { 1 };
                assert_eq!(
                    Some((starts[len - 1 - row] - starts[row]) / weeks),
                    crossed(part, span),
                    "{name} {row}"
                );
            }
        }
        assert_eq!(starts_before(Part::Day, &Vector::from_values(Date, &[i32::MAX]), 1), None);
    }
}

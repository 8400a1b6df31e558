//! `date_trunc` and `last_day`: moments rounded down (or up) to a field.

use super::Part;
use super::civil::{day_of_year, days_since_monday, map_fields};
use super::finite::map_finite;
use super::zoned::beyond;
use crate::columns::{Column, TextColumn};
use crate::registry::{Function, Overloads, Signature};
use inlay_kernels::apply::{null_argument, per_row};
use inlay_kernels::zone::Zone;
use inlay_types::LogicalType::{Date, Interval as IntervalType, Timestamp, TimestampTz, Varchar};
use inlay_types::datetime::{
    MICROS_PER_DAY, any_beyond, civil_from_days, days_from_civil, days_in_month, days_of_micros,
    is_finite_timestamp, is_timestamp, midnight, units_of_moments, write_date, write_timestamp,
};
use inlay_types::{Error, Interval, Result, Vector};

/// See the module documentation.
pub(crate) static FUNCTIONS: &[Function] = &[
    Function::new(
        "date_trunc",
        Overloads::Fixed(&[
            Signature::new(&[Varchar, Timestamp], Timestamp, trunc_timestamp),
            Signature::new(&[Varchar, Date], Timestamp, trunc_date),
            Signature::zoned(&[Varchar, TimestampTz], TimestampTz, trunc_zoned),
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
            Signature::new(&[Date], Date, |args, len, out| map_finite(args[0], &Date, len, out, last_day)),
            Signature::new(&[Timestamp], Date, last_day_of_moment),
            Signature::new(&[TimestampTz], Date, last_day_of_moment).at_local_time(),
        ]),
        "the last day of the month",
        "last_day(DATE '2024-02-05') = DATE '2024-02-29'",
    ),
];

/// The day that a part of the calendar begins with, for each of some days; `None`: by the slower way.
fn day_starts(part: Part, days: &[i32]) -> Option<Vec<i32>> {
    let mut back = vec![0; days.len()];
    match part {
        Part::Month => map_fields(days, &mut back, |_, _, day| i64::from(day - 1)),
        Part::Quarter => map_fields(days, &mut back, |year, month, day| {
            let first = (month - 1) / 3 * 3 + 1;
            i64::from(day_of_year(year, month, day) - day_of_year(year, first, 1))
        }),
        Part::Year => map_fields(days, &mut back, |y, m, d| i64::from(day_of_year(y, m, d) - 1)),
        Part::Week | Part::YearWeek => {
            return Some(days.iter().map(|&day| day.wrapping_sub(days_since_monday(day))).collect());
        }
        Part::Day => return Some(days.to_vec()),
        _ => return None,
    }
    Some(days.iter().zip(back).map(|(day, back)| day.wrapping_sub(back as i32)).collect())
}

/// Days whose midnight is a TIMESTAMP, with centuries to spare at both ends.
const DAYS_MAX: i32 = 100_000_000;

/// The starts of a part of many moments; `None`: one by one, since there is none for a value, or one is no ordinary moment.
fn starts(part: Part, values: &[i64]) -> Option<Vec<i64>> {
    if let Some(unit) = clock_micros(part) {
        if any_beyond(values, 1 << 62) {
            return None;
        }
        let mut starts = vec![0; values.len()];
        units_of_moments(values, unit, &mut starts);
        starts.iter_mut().for_each(|start| *start *= unit);
        return Some(starts);
    }
    let mut days = vec![0; values.len()];
    days_of_micros(values, &mut days);
    midnights(day_starts(part, &days)?, &days)
}

fn midnights(starts: Vec<i32>, days: &[i32]) -> Option<Vec<i64>> {
    let all = days.iter().fold(true, |all, days| all & (-DAYS_MAX..DAYS_MAX).contains(days));
    all.then(|| starts.into_iter().map(|day| i64::from(day) * MICROS_PER_DAY).collect())
}

/// A column of the starts, where they are found for all rows of a plain column at once.
fn write_starts(
    args: &[&Vector],
    constant: Option<Part>,
    len: usize,
    out: &mut Vector,
    starts: impl Fn(Part, &Vector) -> Option<Vec<i64>>,
) -> Result<bool> {
    let Some(found) = constant.filter(|_| args[1].is_flat()).and_then(|part| starts(part, args[1])) else {
        return Ok(false);
    };
    out.reset_flat(&Timestamp, len);
    out.values_mut::<i64>().copy_from_slice(&found[..len]);
    inlay_kernels::apply::finish(&[args[1]], len, len, out)?;
    Ok(true)
}

fn last_day(days: i32) -> i32 {
    let (year, month, _) = civil_from_days(days);
    days_from_civil(year, month, days_in_month(year, month))
}

fn last_day_of_moment(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    map_finite(args[0], &Date, len, out, |at: i64| last_day(at.div_euclid(MICROS_PER_DAY) as i32))
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

/// The first day of the ISO year that a day is in.
fn iso_year_start(days: i32) -> i32 {
    let thursday = days.wrapping_sub(days_since_monday(days)).wrapping_add(3);
    let (iso_year, ..) = civil_from_days(thursday);
    let fourth = days_from_civil(iso_year, 1, 4);
    fourth.wrapping_sub(days_since_monday(fourth))
}

fn day_trunc(part: Part, days: i32) -> i32 {
    let (year, month, _) = civil_from_days(days);
    let first = |year: i32, month: u32| days_from_civil(year, month, 1);
    match part {
        Part::Millennium => first(year / 1000 * 1000, 1),
        Part::Century => first(year / 100 * 100, 1),
        Part::Decade => first(year / 10 * 10, 1),
        Part::Year => first(year, 1),
        Part::Quarter => first(year, (month - 1) / 3 * 3 + 1),
        Part::Month => first(year, month),
        Part::Week | Part::YearWeek => days.wrapping_sub(days_since_monday(days)),
        Part::IsoYear => iso_year_start(days),
        _ => days,
    }
}

/// The part of that name, if moments can be cut to it.
pub(super) fn parse_part(name: &[u8], function: &str) -> Result<Part> {
    match Part::parse(name)? {
        Part::Era | Part::Timezone | Part::TimezoneHour | Part::TimezoneMinute => {
            let name = String::from_utf8_lossy(name);
            Err(Error::invalid_argument(format!("{function} is not possible by \"{name}\"")))
        }
        part => Ok(part),
    }
}

fn trunc(part: Part, at: i64) -> Result<i64> {
    if !is_finite_timestamp(at) {
        return Ok(at);
    }
    let cut = match clock_micros(part) {
        Some(unit) => at.div_euclid(unit).checked_mul(unit),
        None => midnight(day_trunc(part, at.div_euclid(MICROS_PER_DAY) as i32)),
    };
    cut.filter(|at| is_timestamp(*at)).ok_or_else(|| {
        let mut text = String::new();
        write_timestamp(&mut text, at);
        Error::out_of_range(format!("the start of that part of {text} is out of range for TIMESTAMP"))
    })
}

/// The part if it is one for all rows.
fn constant_part(args: &[&Vector]) -> Result<Option<Part>> {
    if args[0].is_constant() {
        parse_part(TextColumn::of(args[0]).get(0), "date_trunc").map(Some)
    } else {
        Ok(None)
    }
}

fn trunc_timestamp(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    if null_argument(args, &Timestamp, len, out) {
        return Ok(());
    }
    let constant = constant_part(args)?;
    if write_starts(args, constant, len, out, |part, moments| starts(part, moments.values()))? {
        return Ok(());
    }
    let (parts, values) = (TextColumn::of(args[0]), Column::<i64>::of(args[1]));
    let part = |row: usize| constant.map_or_else(|| parse_part(parts.get(row), "date_trunc"), Ok);
    per_row(args, &Timestamp, len, out, |row| trunc(part(row)?, values.get(row)))
}

/// Days and longer parts begin by the local calendar. An hour begins where the clock that shows it does: of an hour that
/// clocks show twice each one has its own start.
fn trunc_zoned(zone: &Zone, args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    if null_argument(args, &TimestampTz, len, out) {
        return Ok(());
    }
    let constant = constant_part(args)?;
    let (parts, values) = (TextColumn::of(args[0]), Column::<i64>::of(args[1]));
    per_row(args, &TimestampTz, len, out, |row| {
        let part = constant.map_or_else(|| parse_part(parts.get(row), "date_trunc"), Ok)?;
        let at = values.get(row);
        if !is_finite_timestamp(at) {
            return Ok(at);
        }
        let cut = match clock_micros(part) {
            Some(unit) => clock_start(zone, at, unit).filter(|at| is_timestamp(*at)),
            None => {
                let local = zone.to_local(at).ok_or_else(|| beyond(at, zone))?;
                zone.to_utc(trunc(part, local)?)
            }
        };
        cut.ok_or_else(|| beyond(at, zone))
    })
}

/// When the hour, minute or second began that a clock shows at a moment; `None`: out of range.
pub(super) fn clock_start(zone: &Zone, at: i64, unit: i64) -> Option<i64> {
    at.checked_sub(zone.to_local(at)?.rem_euclid(unit))
}

fn trunc_date(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    if null_argument(args, &Timestamp, len, out) {
        return Ok(());
    }
    let constant = constant_part(args)?;
    let midnights_of = |part, dates: &Vector| midnights(day_starts(part, dates.values())?, dates.values());
    if write_starts(args, constant, len, out, midnights_of)? {
        return Ok(());
    }
    let (parts, values) = (TextColumn::of(args[0]), Column::<i32>::of(args[1]));
    per_row(args, &Timestamp, len, out, |row| {
        let part = constant.map_or_else(|| parse_part(parts.get(row), "date_trunc"), Ok)?;
        let days = values.get(row);
        let cut = if inlay_types::datetime::is_finite_date(days) { day_trunc(part, days) } else { days };
        midnight(cut).ok_or_else(|| {
            let mut text = String::new();
            write_date(&mut text, days);
            Error::out_of_range(format!("the start of that part of {text} is out of range for TIMESTAMP"))
        })
    })
}

fn trunc_interval(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    if null_argument(args, &IntervalType, len, out) {
        return Ok(());
    }
    let (parts, values) = (TextColumn::of(args[0]), Column::<Interval>::of(args[1]));
    per_row(args, &IntervalType, len, out, |row| {
        let value = values.get(row);
        let part = parse_part(parts.get(row), "date_trunc")?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn starts_of_many_moments_are_those_of_each() {
        let days: Vec<i32> = (-800_000..800_000).step_by(1_237).chain([-1, 0, 1, 58, 59, 60]).collect();
        let moments: Vec<i64> =
            days.iter().map(|&day| i64::from(day) * MICROS_PER_DAY + 12_345_678_901).collect();
        for part in [
            Part::Year,
            Part::Quarter,
            Part::Month,
            Part::Week,
            Part::Day,
            Part::Hour,
            Part::Minute,
            Part::Second,
        ] {
            let expected: Vec<i64> = moments.iter().map(|&at| trunc(part, at).unwrap()).collect();
            assert_eq!(starts(part, &moments), Some(expected), "{}", part.name());
        }
        assert_eq!(starts(Part::Century, &moments), None);
        assert_eq!(starts(Part::Month, &[i64::MAX]), None);
        assert_eq!(starts(Part::Hour, &[i64::MIN]), None);
    }
}

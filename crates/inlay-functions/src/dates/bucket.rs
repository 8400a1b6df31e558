//! `time_bucket`: moments rounded down to a multiple of an interval from an origin.
//!
//! Buckets of days and less begin at Monday 2000-01-03, those of months at 2000-01-01, unless an origin is given; an
//! offset moves the buckets. With time zones the count is in UTC, or in a zone that is named.

use crate::columns::{Column, TextColumn};
use crate::registry::{Function, Overloads, Signature};
use inlay_kernels::apply::{null_argument, per_row};
use inlay_kernels::arithmetic::temporal::shift;
use inlay_kernels::zone::Zone;
use inlay_types::LogicalType::{Date, Interval as IntervalType, Time, Timestamp, TimestampTz, Varchar};
use inlay_types::datetime::{
    MICROS_PER_DAY, civil_from_days, day_of, days_from_civil, is_finite_timestamp, midnight,
};
use inlay_types::{Error, Interval, LogicalType, Result, Vector};

/// See the module documentation.
pub(crate) static FUNCTIONS: &[Function] = &[Function::new(
    "time_bucket",
    Overloads::Fixed(&[
        Signature::new(&[IntervalType, Date], Date, |args, len, out| buckets(args, Date, len, out)),
        Signature::new(&[IntervalType, Date, IntervalType], Date, |args, len, out| {
            buckets(args, Date, len, out)
        }),
        Signature::new(&[IntervalType, Date, Date], Date, |args, len, out| buckets(args, Date, len, out)),
        Signature::new(&[IntervalType, Timestamp], Timestamp, |args, len, out| {
            buckets(args, Timestamp, len, out)
        }),
        Signature::new(&[IntervalType, Timestamp, IntervalType], Timestamp, |args, len, out| {
            buckets(args, Timestamp, len, out)
        }),
        Signature::new(&[IntervalType, Timestamp, Timestamp], Timestamp, |args, len, out| {
            buckets(args, Timestamp, len, out)
        }),
        Signature::new(&[IntervalType, TimestampTz], TimestampTz, |args, len, out| {
            buckets(args, TimestampTz, len, out)
        }),
        Signature::new(&[IntervalType, TimestampTz, IntervalType], TimestampTz, |args, len, out| {
            buckets(args, TimestampTz, len, out)
        }),
        Signature::new(&[IntervalType, TimestampTz, TimestampTz], TimestampTz, |args, len, out| {
            buckets(args, TimestampTz, len, out)
        }),
        Signature::new(&[IntervalType, TimestampTz, Varchar], TimestampTz, buckets_in_zone),
        Signature::new(&[IntervalType, Time], Time, |args, len, out| buckets(args, Time, len, out)),
        Signature::new(&[IntervalType, Time, IntervalType], Time, |args, len, out| {
            buckets(args, Time, len, out)
        }),
        Signature::new(&[IntervalType, Time, Time], Time, |args, len, out| buckets(args, Time, len, out)),
    ]),
    "the start of the bucket of that width that a moment is in",
    "time_bucket(INTERVAL '2 weeks', DATE '2024-02-29') = DATE '2024-02-26'",
)
.fallible()];

/// 2000-01-03 00:00:00, a Monday.
const ORIGIN: i64 = ORIGIN_DAY as i64 * MICROS_PER_DAY;
const ORIGIN_DAY: i32 = 10_959;

/// Days that are moments, and finite: some of them.
const FINITE_DAYS: std::ops::Range<i32> = -10_000_000..10_000_000;

/// What the third argument says.
#[derive(Clone, Copy)]
enum Start {
    Default,
    Offset(Interval),
    Origin(i64),
}

fn buckets(args: &[&Vector], ty: LogicalType, len: usize, out: &mut Vector) -> Result<()> {
    if null_argument(args, &ty, len, out) {
        return Ok(());
    }
    let widths = Column::<Interval>::of(args[0]);
    let start = |row: usize| -> Result<Start> {
        let Some(third) = args.get(2) else { return Ok(Start::Default) };
        match third.logical_type() {
            IntervalType => Ok(Start::Offset(Column::<Interval>::of(third).get(row))),
            Date => Ok(Start::Origin(start_of(Column::<i32>::of(third).get(row))?)),
            _ => Ok(Start::Origin(Column::<i64>::of(third).get(row))),
        }
    };
    if ty == Date {
        let days = Column::<i32>::of(args[1]);
        if let [width, _] = args
            && width.is_constant()
            && let Some(width_days) = fixed_days(widths.get(0))
        {
            return per_row(args, &ty, len, out, |row| {
                let day = days.get(row);
                // Of most days in 32 bits, whose division is short.
                let start = || day.checked_sub(day.checked_sub(ORIGIN_DAY)?.rem_euclid(width_days));
                match start().filter(|start| FINITE_DAYS.contains(&day) && FINITE_DAYS.contains(start)) {
                    Some(start) => Ok(start),
                    None => Ok(day_of(bucket(widths.get(0), start_of(day)?, Start::Default)?)),
                }
            });
        }
        return per_row(args, &ty, len, out, |row| {
            let (width, start) = (widths.get(row), start(row)?);
            Ok(day_of(bucket(width, start_of(days.get(row))?, start)?))
        });
    }
    let (moments, is_time) = (Column::<i64>::of(args[1]), ty == Time);
    if let ([width, _], false) = (args, is_time)
        && width.is_constant()
        && let Some(micros) = fixed_micros(widths.get(0))
    {
        return per_row(args, &ty, len, out, |row| {
            let at = moments.get(row);
            let from_origin = at.checked_sub(ORIGIN).filter(|_| is_finite_timestamp(at));
            let start =
                from_origin.and_then(|from| from.checked_sub(from.rem_euclid(micros))?.checked_add(ORIGIN));
            match start {
                Some(start) => Ok(start),
                None => bucket(widths.get(0), at, Start::Default),
            }
        });
    }
    per_row(args, &ty, len, out, |row| {
        let at = bucket(widths.get(row), moments.get(row), start(row)?)?;
        Ok(if is_time { at.rem_euclid(MICROS_PER_DAY) } else { at })
    })
}

/// The width of buckets of days and less in microseconds, if it is one.
fn fixed_micros(width: Interval) -> Option<i64> {
    let micros = i64::from(width.days).checked_mul(MICROS_PER_DAY)?.checked_add(width.micros)?;
    (width.months == 0 && micros > 0).then_some(micros)
}

/// The width of buckets of whole days in days, if it is one.
fn fixed_days(width: Interval) -> Option<i32> {
    let micros = fixed_micros(width)?;
    if micros % MICROS_PER_DAY == 0 { i32::try_from(micros / MICROS_PER_DAY).ok() } else { None }
}

fn buckets_in_zone(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    let (widths, moments) = (Column::<Interval>::of(args[0]), Column::<i64>::of(args[1]));
    let names = TextColumn::of(args[2]);
    let mut known: Option<(&str, std::sync::Arc<Zone>)> = None;
    per_row(args, &TimestampTz, len, out, |row| {
        let name = names.text(row);
        if known.as_ref().is_none_or(|(last, _)| *last != name) {
            known = Some((name, Zone::named(name)?));
        }
        let Some((_, zone)) = &known else { return Ok(0) };
        let local = zone.to_local(moments.get(row)).ok_or_else(beyond)?;
        zone.to_utc(bucket(widths.get(row), local, Start::Default)?).ok_or_else(beyond)
    })
}

fn start_of(days: i32) -> Result<i64> {
    midnight(days).ok_or_else(beyond)
}

fn beyond() -> Error {
    Error::out_of_range("a bucket is out of range for TIMESTAMP".to_string())
}

fn bucket(width: Interval, at: i64, start: Start) -> Result<i64> {
    let is_months = width.months != 0;
    if is_months && (width.days != 0 || width.micros != 0) {
        return Err(Error::invalid_argument(format!(
            "buckets of {width} have no fixed width: months do not go with days or time"
        )));
    }
    let micros = i128::from(width.days) * i128::from(MICROS_PER_DAY) + i128::from(width.micros);
    if width.months < 0 || micros < 0 || !is_months && micros == 0 {
        return Err(Error::invalid_argument(format!(
            "buckets of {width} have no width: it must be positive"
        )));
    }
    if !is_finite_timestamp(at) {
        return Ok(at);
    }
    let (origin, offset) = match start {
        Start::Default => (ORIGIN, None),
        Start::Offset(offset) => (ORIGIN, Some(offset)),
        Start::Origin(origin) if !is_finite_timestamp(origin) => {
            return Err(Error::invalid_argument("the origin of buckets must be finite"));
        }
        Start::Origin(origin) => (origin, None),
    };
    let at = match offset {
        Some(offset) => shift(at, offset, -1).ok_or_else(beyond)?,
        None => at,
    };
    let found = if is_months {
        month_bucket(width.months, at, origin)
    } else {
        let (at, origin) = (i128::from(at), i128::from(origin));
        i64::try_from((at - origin).div_euclid(micros) * micros + origin).ok()
    };
    let found = found.ok_or_else(beyond)?;
    match offset {
        Some(offset) => shift(found, offset, 1).ok_or_else(beyond),
        None => Ok(found),
    }
}

/// Buckets of months begin with a month, whatever the day of the origin is.
fn month_bucket(months: i32, at: i64, origin: i64) -> Option<i64> {
    let number = |at: i64| {
        let (year, month, _) = civil_from_days(day_of(at));
        i64::from(year) * 12 + i64::from(month) - 1
    };
    let first = number(origin);
    let start = (number(at) - first).div_euclid(i64::from(months)) * i64::from(months) + first;
    let year = i32::try_from(start.div_euclid(12)).ok()?;
    midnight(days_from_civil(year, start.rem_euclid(12) as u32 + 1, 1))
}

//! Dates, times, timestamps and intervals.
//!
//! As in DuckDB: DATE + INTERVAL is a TIMESTAMP, DATE - DATE a BIGINT of days, TIMESTAMP - TIMESTAMP an INTERVAL of days
//! and microseconds. Months are added first and clamp the day, then days, then microseconds. What is infinite stays.
//! With time zones, days and months are those of the session's calendar.

use super::Op;
use crate::apply::{try_map, try_zip_plain, zip_simple};
use crate::function::ScalarKernel;
use crate::function::kernel;
use crate::resolve::{ArgType, ResolveOptions, Resolved};
use crate::zone::Zone;
use inlay_types::LogicalType::{
    BigInt, Date, Double, Integer, Interval as IntervalType, Time, TimeTz as TIMETZ, Timestamp, TimestampMs,
    TimestampNs, TimestampS, TimestampTz, Varchar,
};
use inlay_types::datetime::{
    MICROS_PER_DAY, MICROS_PER_SECOND, add_months, is_date, is_finite_date, is_finite_timestamp,
    is_timestamp, midnight, write_date, write_timestamp,
};
use inlay_types::{Error, Interval, LogicalType, Native, TimeTz};
use std::sync::Arc;

/// Resolves an operator of which one side is a date, time, timestamp or interval; `None` for others.
pub(super) fn resolve_binary(
    op: Op,
    left: &ArgType,
    right: &ArgType,
    options: &ResolveOptions,
) -> Option<Resolved> {
    let (l, r) = (side(op, left, right, true), side(op, right, left, false));
    if !l.is_temporal() && !r.is_temporal() {
        return None;
    }
    let is_count = |ty: &LogicalType| {
        let is_small = |a: &&ArgType| a.ty == *ty && a.integer.is_some_and(|n| i32::try_from(n).is_ok());
        ty.is_integer() && crate::coercion::can_cast_implicitly(ty, &Integer)
            || [left, right].iter().any(is_small)
    };
    let zone = || Arc::clone(&options.zone);
    match (op, &l, &r) {
        (Op::Add, Date, r) if is_count(r) => Some(add_days(1)),
        (Op::Add, l, Date) if is_count(l) => Some(swapped(add_days(1))),
        (Op::Subtract, Date, r) if is_count(r) => Some(add_days(-1)),
        (Op::Subtract, Date, Date) => {
            let days = |a: i32, b: i32| i64::from(a) - i64::from(b);
            let kernel = kernel(move |args, len, out| zip_simple(args, &BigInt, len, out, days));
            Some(Resolved::infallible(vec![Date, Date], BigInt, kernel))
        }
        (Op::Add, Date, IntervalType) => Some(shift_date(1)),
        (Op::Add, IntervalType, Date) => Some(swapped(shift_date(1))),
        (Op::Subtract, Date, IntervalType) => Some(shift_date(-1)),
        (Op::Add, Timestamp, IntervalType) => Some(shift_timestamp(1)),
        (Op::Add, IntervalType, Timestamp) => Some(swapped(shift_timestamp(1))),
        (Op::Subtract, Timestamp, IntervalType) => Some(shift_timestamp(-1)),
        (Op::Add, TimestampTz, IntervalType) => Some(shift_moment(zone(), 1)),
        (Op::Add, IntervalType, TimestampTz) => Some(swapped(shift_moment(zone(), 1))),
        (Op::Subtract, TimestampTz, IntervalType) => Some(shift_moment(zone(), -1)),
        (Op::Subtract, TimestampTz, Timestamp | Date | TimestampTz)
        | (Op::Subtract, Timestamp | Date, TimestampTz) => Some(moment_difference(zone())),
        (Op::Subtract, Timestamp | Date, Timestamp | Date) => Some(timestamp_difference()),
        (Op::Add, Date, Time) => Some(date_and_time()),
        (Op::Add, Time, Date) => Some(swapped(date_and_time())),
        (Op::Add, Date, TIMETZ) => Some(date_and_zoned_time()),
        (Op::Add, TIMETZ, Date) => Some(swapped(date_and_zoned_time())),
        (Op::Add, Time, IntervalType) => Some(shift_time(Time, 1)),
        (Op::Add, IntervalType, Time) => Some(swapped(shift_time(Time, 1))),
        (Op::Subtract, Time, IntervalType) => Some(shift_time(Time, -1)),
        (Op::Add, TIMETZ, IntervalType) => Some(shift_time(TIMETZ, 1)),
        (Op::Add, IntervalType, TIMETZ) => Some(swapped(shift_time(TIMETZ, 1))),
        (Op::Subtract, TIMETZ, IntervalType) => Some(shift_time(TIMETZ, -1)),
        (Op::Add, IntervalType, IntervalType) => Some(combine_intervals(op, 1)),
        (Op::Subtract, IntervalType, IntervalType) => Some(combine_intervals(op, -1)),
        (Op::Multiply, IntervalType, r) if r.is_integer() => Some(scale_interval()),
        (Op::Multiply, l, IntervalType) if l.is_integer() => Some(swapped(scale_interval())),
        (Op::Multiply, IntervalType, r) if r.is_numeric() => Some(scale_interval_float()),
        (Op::Multiply, l, IntervalType) if l.is_numeric() => Some(swapped(scale_interval_float())),
        _ => None,
    }
}

/// The type an operand takes: a string literal beside a date, timestamp or interval becomes what the operator asks for;
/// timestamps of other precisions become those of microseconds.
fn side(op: Op, own: &ArgType, other: &ArgType, is_left: bool) -> LogicalType {
    let micros = |ty: &LogicalType| match ty {
        TimestampS | TimestampMs | TimestampNs => Timestamp,
        ty => ty.clone(),
    };
    if !own.is_literal || !matches!(own.ty, Varchar | LogicalType::Null) || !other.ty.is_temporal() {
        return micros(&own.ty);
    }
    match (op, micros(&other.ty)) {
        // A date minus 'x', or 'x' minus a date: the same type. Anything plus 'x': an interval.
        (Op::Subtract, IntervalType) if is_left => Timestamp,
        (Op::Subtract, ty) => ty,
        (Op::Add, IntervalType) => Timestamp,
        (Op::Add, _) => IntervalType,
        (Op::Multiply, IntervalType) => Double,
        _ => own.ty.clone(),
    }
}

/// The same function with its two arguments exchanged.
fn swapped(mut resolved: Resolved) -> Resolved {
    let inner = resolved.kernel;
    resolved.arg_types.reverse();
    resolved.kernel = kernel(move |args, len, out| inner.eval(&[args[1], args[0]], len, out));
    resolved
}

/// A function of two values that may be out of range.
fn checked<A: Native, B: Native, O: Native>(
    args: [LogicalType; 2],
    returns: LogicalType,
    f: impl Fn(A, B) -> Option<O> + Copy + Send + Sync + 'static,
    error: impl Fn(A, B) -> Error + Copy + Send + Sync + 'static,
) -> Resolved {
    let ty = returns.clone();
    let flagged = move |a: A, b: B| {
        let value = f(a, b);
        (value.unwrap_or_default(), value.is_none())
    };
    let kernel = kernel(move |args, len, out| try_zip_plain(args, &ty, len, out, flagged, error));
    Resolved::fallible(args.to_vec(), returns, kernel)
}

/// `INTERVAL / number`.
pub(super) fn resolve_interval_division(right: &ArgType) -> Option<Resolved> {
    if !right.ty.is_numeric() && right.ty != LogicalType::Null {
        return None;
    }
    let divide = |a: Interval, b: f64| if b == 0.0 { None } else { scaled(a, |part| part / b) };
    let error = |a: Interval, b: f64| {
        if b == 0.0 { Error::DivisionByZero } else { overflow(format!("{a} / {b}")) }
    };
    Some(checked([IntervalType, Double], IntervalType, divide, error))
}

/// Unary minus of an interval.
pub(super) fn negate() -> Arc<dyn ScalarKernel> {
    let negated = |a: Interval| match (a.months.checked_neg(), a.days.checked_neg(), a.micros.checked_neg()) {
        (Some(months), Some(days), Some(micros)) => (Interval { months, days, micros }, false),
        _ => (Interval::default(), true),
    };
    kernel(move |args, len, out| {
        try_map(args[0], &IntervalType, len, out, negated, |a| overflow(format!("-({a})")))
    })
}

fn overflow(what: String) -> Error {
    Error::out_of_range(format!("date or time out of range: {what}"))
}

fn date_text(days: i32) -> String {
    let mut text = String::new();
    write_date(&mut text, days);
    text
}

fn timestamp_text(micros: i64) -> String {
    let mut text = String::new();
    write_timestamp(&mut text, micros);
    text
}

fn sign_text(sign: i32) -> char {
    if sign > 0 { '+' } else { '-' }
}

fn add_days(sign: i32) -> Resolved {
    let sum = move |date: i32, days: i32| {
        if !is_finite_date(date) {
            return Some(date);
        }
        date.checked_add(days.checked_mul(sign)?).filter(|days| is_date(*days))
    };
    let error =
        move |date: i32, days: i32| overflow(format!("{} {} {days} days", date_text(date), sign_text(sign)));
    checked([Date, Integer], Date, sum, error)
}

/// A timestamp moved by an interval, if it stays in range.
pub fn shift(timestamp: i64, by: Interval, sign: i32) -> Option<i64> {
    if !is_finite_timestamp(timestamp) {
        return Some(timestamp);
    }
    let mut days = timestamp.div_euclid(MICROS_PER_DAY) as i32;
    let time = timestamp.rem_euclid(MICROS_PER_DAY);
    if by.months != 0 {
        days = add_months(days, by.months.checked_mul(sign)?)?;
    }
    let days = i64::from(days) + i64::from(by.days) * i64::from(sign);
    let micros = by.micros.checked_mul(i64::from(sign))?;
    let total = i128::from(days) * i128::from(MICROS_PER_DAY) + i128::from(time) + i128::from(micros);
    i64::try_from(total).ok().filter(|at| is_timestamp(*at))
}

/// A moment moved by an interval by a zone's calendar, if it stays in range. Months and days keep the time on the clock;
/// of an interval with a negative part the time comes first, then months, then days, as in DuckDB 2.0.
pub fn shift_zoned(zone: &Zone, at: i64, by: Interval, sign: i32) -> Option<i64> {
    if zone.is_utc() && (by.months == 0 || by.micros == 0) || !is_finite_timestamp(at) {
        return shift(at, by, sign);
    }
    let months = by.months.checked_mul(sign)?;
    let days = by.days.checked_mul(sign)?;
    let micros = by.micros.checked_mul(sign.into())?;
    let add_micros = |at: i64| at.checked_add(micros).filter(|at| is_timestamp(*at));
    let add_days = |at: i64| if days == 0 { Some(at) } else { days_later(zone, at, days) };
    let add_months = |at: i64| {
        if months == 0 {
            return Some(at);
        }
        zone.to_utc(shift(zone.to_local(at)?, Interval { months, days: 0, micros: 0 }, 1)?)
    };
    if months < 0 || days < 0 || micros < 0 {
        add_micros(at).and_then(add_months).and_then(add_days)
    } else {
        add_months(at).and_then(add_days).and_then(add_micros)
    }
}

/// The moment some days later at the same time on the clock; behind the gap if the clock skips that time.
fn days_later(zone: &Zone, at: i64, days: i32) -> Option<i64> {
    let target =
        i64::from(days).checked_mul(MICROS_PER_DAY)?.checked_add(at).filter(|at| is_timestamp(*at))?;
    let (before, after) = (zone.offset_at(at), zone.offset_at(target));
    if before == after {
        return Some(target);
    }
    let wall = |at: i64| zone.to_local(at).map(|local| local.rem_euclid(MICROS_PER_DAY));
    let by = i64::from((before - after) % 86_400) * MICROS_PER_SECOND;
    let moved = target.checked_add(by).filter(|at| is_timestamp(*at))?;
    if wall(moved)? != wall(at)? && by < 0 { Some(target) } else { Some(moved) }
}

fn shift_date(sign: i32) -> Resolved {
    let shifted = move |date: i32, by: Interval| shift(midnight(date)?, by, sign);
    let error =
        move |date: i32, by: Interval| overflow(format!("{} {} {by}", date_text(date), sign_text(sign)));
    checked([Date, IntervalType], Timestamp, shifted, error)
}

fn shift_timestamp(sign: i32) -> Resolved {
    let shifted = move |at: i64, by: Interval| shift(at, by, sign);
    let error =
        move |at: i64, by: Interval| overflow(format!("{} {} {by}", timestamp_text(at), sign_text(sign)));
    checked([Timestamp, IntervalType], Timestamp, shifted, error)
}

fn shift_moment(zone: Arc<Zone>, sign: i32) -> Resolved {
    let kernel = kernel(move |args, len, out| {
        let flagged = |at: i64, by: Interval| {
            let moved = shift_zoned(&zone, at, by, sign);
            (moved.unwrap_or_default(), moved.is_none())
        };
        try_zip_plain(args, &TimestampTz, len, out, flagged, |at: i64, by: Interval| {
            overflow(format!("{}+00 {} {by}", timestamp_text(at), sign_text(sign)))
        })
    });
    Resolved::fallible(vec![TimestampTz, IntervalType], TimestampTz, kernel)
}

/// Times wrap around midnight; months and days of the interval do not matter.
fn shift_time(ty: LogicalType, sign: i64) -> Resolved {
    let moved =
        move |at: i64, by: Interval| (at + sign * (by.micros % MICROS_PER_DAY)).rem_euclid(MICROS_PER_DAY);
    let (returns, is_zoned) = (ty.clone(), ty == TIMETZ);
    let shifted = move |at: i64, by: Interval| {
        if !is_zoned {
            return moved(at, by);
        }
        let time = TimeTz::from_stored(at);
        TimeTz { micros: moved(time.micros, by), offset: time.offset }.stored()
    };
    let args = vec![ty.clone(), IntervalType];
    let kernel = kernel(move |args, len, out| zip_simple(args, &ty, len, out, shifted));
    Resolved::infallible(args, returns, kernel)
}

fn infinite(a: i64, b: i64) -> Error {
    if is_finite_timestamp(a) && is_finite_timestamp(b) {
        return overflow(format!("{} - {}", timestamp_text(a), timestamp_text(b)));
    }
    Error::out_of_range("infinite timestamps have no difference".to_string())
}

fn timestamp_difference() -> Resolved {
    let difference = |a: i64, b: i64| {
        if !is_finite_timestamp(a) || !is_finite_timestamp(b) {
            return None;
        }
        let (days, micros) = match a.checked_sub(b) {
            Some(micros) => (micros / MICROS_PER_DAY, micros % MICROS_PER_DAY),
            None => {
                let (micros, day) = (i128::from(a) - i128::from(b), i128::from(MICROS_PER_DAY));
                ((micros / day) as i64, (micros % day) as i64)
            }
        };
        Some(Interval { months: 0, days: days as i32, micros })
    };
    checked([Timestamp, Timestamp], IntervalType, difference, infinite)
}

fn moment_difference(zone: Arc<Zone>) -> Resolved {
    let kernel = kernel(move |args, len, out| {
        let difference = |a: i64, b: i64| {
            let is_finite = is_finite_timestamp(a) && is_finite_timestamp(b);
            (if is_finite { days_between_zoned(&zone, a, b) } else { Interval::default() }, !is_finite)
        };
        try_zip_plain(args, &IntervalType, len, out, difference, infinite)
    });
    Resolved::fallible(vec![TimestampTz, TimestampTz], IntervalType, kernel)
}

fn date_and_time() -> Resolved {
    let sum = |date: i32, time: i64| {
        let start = midnight(date)?;
        if !is_finite_timestamp(start) {
            return Some(start);
        }
        start.checked_add(time).filter(|at| is_timestamp(*at))
    };
    checked([Date, Time], Timestamp, sum, |date: i32, _| overflow(date_text(date)))
}

fn date_and_zoned_time() -> Resolved {
    let sum = |date: i32, stored: i64| {
        let (start, time) = (midnight(date)?, TimeTz::from_stored(stored));
        if !is_finite_timestamp(start) {
            return Some(start);
        }
        let utc = time.micros - i64::from(time.offset) * MICROS_PER_SECOND;
        start.checked_add(utc).filter(|at| is_timestamp(*at))
    };
    checked([Date, TIMETZ], TimestampTz, sum, |date: i32, _| overflow(date_text(date)))
}

fn combine_intervals(op: Op, sign: i32) -> Resolved {
    let sum = move |a: Interval, b: Interval| {
        Some(Interval {
            months: a.months.checked_add(b.months.checked_mul(sign)?)?,
            days: a.days.checked_add(b.days.checked_mul(sign)?)?,
            micros: a.micros.checked_add(b.micros.checked_mul(sign.into())?)?,
        })
    };
    let error = move |a: Interval, b: Interval| op.overflow(&IntervalType, a, b);
    checked([IntervalType, IntervalType], IntervalType, sum, error)
}

fn scale_interval() -> Resolved {
    let product = |a: Interval, b: i64| {
        let small = i32::try_from(b).ok();
        Some(Interval {
            months: small.and_then(|b| a.months.checked_mul(b)).or((a.months == 0).then_some(0))?,
            days: small.and_then(|b| a.days.checked_mul(b)).or((a.days == 0).then_some(0))?,
            micros: a.micros.checked_mul(b)?,
        })
    };
    let error = |a: Interval, b: i64| Op::Multiply.overflow(&IntervalType, a, b);
    checked([IntervalType, BigInt], IntervalType, product, error)
}

/// Each part times or divided by a number; fractions of months become days of 30, fractions of days microseconds.
/// Source: PostgreSQL's `interval_mul`, whose rounding to six digits matters.
fn scaled(a: Interval, scale: impl Fn(f64) -> f64) -> Option<Interval> {
    const DAY: f64 = 86_400.0;
    let rounded = |x: f64| (x * 1e6).round_ties_even() / 1e6;
    let fits = |x: f64, limit: f64| (x.abs() <= limit).then_some(x);
    let limit = f64::from(i32::MAX);
    let months = fits(scale(f64::from(a.months)), limit)?;
    let days = fits(scale(f64::from(a.days)), limit)?;
    let month_days = rounded(months.fract() * 30.0);
    let mut seconds = rounded((days.fract() + month_days.fract()) * DAY);
    let mut whole_days = days.trunc() + month_days.trunc();
    if seconds.abs() >= DAY {
        whole_days += (seconds / DAY).trunc();
        seconds -= (seconds / DAY).trunc() * DAY;
    }
    let whole_days = fits(whole_days, limit)?;
    let micros = (scale(a.micros as f64) + seconds * 1e6).round_ties_even();
    let micros = fits(micros, 9.2e18)?;
    Some(Interval { months: months as i32, days: whole_days as i32, micros: micros as i64 })
}

fn scale_interval_float() -> Resolved {
    let error = |a: Interval, b: f64| Op::Multiply.overflow(&IntervalType, a, b);
    checked([IntervalType, Double], IntervalType, |a: Interval, b: f64| scaled(a, |part| part * b), error)
}

/// TIMESTAMPTZ minus TIMESTAMPTZ: local days, and real time less than a day.
pub fn days_between_zoned(zone: &Zone, to: i64, from: i64) -> Interval {
    if to < from {
        let positive = days_between_zoned(zone, from, to);
        return Interval { months: 0, days: -positive.days, micros: -positive.micros };
    }
    let (Some(local_from), Some(local_to)) = (zone.to_local(from), zone.to_local(to)) else {
        return Interval { months: 0, days: 0, micros: to.saturating_sub(from) };
    };
    let guess = (local_to.saturating_sub(local_from) / MICROS_PER_DAY) as i32;
    let day = |days| Interval { months: 0, days, micros: 0 };
    let days = i32::try_from(whole_by(zone, from, to, guess, day)).unwrap_or_default();
    let start = shift_zoned(zone, from, day(days), 1).unwrap_or(from);
    Interval { months: 0, days, micros: to.saturating_sub(start) }
}

/// The largest count not far above `guess` of steps that lead from `from` to `to` or before it.
fn whole_by(zone: &Zone, from: i64, to: i64, guess: i32, step: impl Fn(i32) -> Interval) -> i64 {
    let mut count = guess.saturating_add(1);
    while count > 0 && shift_zoned(zone, from, step(count), 1).is_none_or(|at| at > to) {
        count -= 1;
        if guess - count > 3 {
            break;
        }
    }
    i64::from(count.max(0))
}

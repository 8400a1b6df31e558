//! Dates, times, timestamps and intervals.
//!
//! As in DuckDB: DATE + INTERVAL is a TIMESTAMP, DATE - DATE a BIGINT of days, TIMESTAMP - TIMESTAMP an INTERVAL of days
//! and microseconds. Months are added first and clamp the day, then days, then microseconds.

use super::{Op, kernel};
use crate::apply::{try_map, try_zip_plain, zip_simple};
use crate::function::ScalarKernel;
use crate::registry::{ArgType, Resolved};
use inlay_types::LogicalType::{BigInt, Date, Double, Integer, Time, Timestamp, Varchar};
use inlay_types::datetime::{MICROS_PER_DAY, add_months, write_date, write_timestamp};
use inlay_types::{Error, Interval, LogicalType};
use std::sync::Arc;

const INTERVAL: LogicalType = LogicalType::Interval;

/// Resolves an operator of which one side is a date, time, timestamp or interval; `None` for others.
pub(super) fn resolve_binary(op: Op, left: &ArgType, right: &ArgType) -> Option<Resolved> {
    let (l, r) = (side(op, left, right, true), side(op, right, left, false));
    let is_count = |ty: LogicalType| {
        ty.is_integer() && crate::coercion::can_cast_implicitly(&ty, &Integer)
            || [left, right].iter().any(|a| a.ty == ty && a.integer.is_some_and(|n| i32::try_from(n).is_ok()))
    };
    match (op, l, r) {
        (Op::Add, Date, r) if is_count(r.clone()) => Some(add_days(Date, Integer, false)),
        (Op::Add, l, Date) if is_count(l.clone()) => Some(add_days(Integer, Date, true)),
        (Op::Subtract, Date, r) if is_count(r.clone()) => Some(subtract_days()),
        (Op::Subtract, Date, Date) => {
            let days = |a: i32, b: i32| i64::from(a) - i64::from(b);
            let kernel = kernel(move |args, len, out| zip_simple(args, &BigInt, len, out, days));
            Some(Resolved::infallible(vec![Date, Date], BigInt, kernel))
        }
        (Op::Add, Date, INTERVAL) => Some(shift_date(false, 1)),
        (Op::Add, INTERVAL, Date) => Some(shift_date(true, 1)),
        (Op::Subtract, Date, INTERVAL) => Some(shift_date(false, -1)),
        (Op::Add, Timestamp, INTERVAL) => Some(shift_timestamp(false, 1)),
        (Op::Add, INTERVAL, Timestamp) => Some(shift_timestamp(true, 1)),
        (Op::Subtract, Timestamp, INTERVAL) => Some(shift_timestamp(false, -1)),
        (Op::Subtract, Timestamp | Date, Timestamp | Date) => {
            let kernel =
                kernel(move |args, len, out| zip_simple(args, &INTERVAL, len, out, timestamp_difference));
            Some(Resolved::infallible(vec![Timestamp, Timestamp], INTERVAL, kernel))
        }
        (Op::Add, Date, Time) => Some(date_and_time(false)),
        (Op::Add, Time, Date) => Some(date_and_time(true)),
        (Op::Add, Time, INTERVAL) => Some(shift_time(false, 1)),
        (Op::Add, INTERVAL, Time) => Some(shift_time(true, 1)),
        (Op::Subtract, Time, INTERVAL) => Some(shift_time(false, -1)),
        (Op::Add, INTERVAL, INTERVAL) => Some(combine_intervals(op, 1)),
        (Op::Subtract, INTERVAL, INTERVAL) => Some(combine_intervals(op, -1)),
        (Op::Multiply, INTERVAL, r) if r.is_integer() => Some(scale_interval(false)),
        (Op::Multiply, l, INTERVAL) if l.is_integer() => Some(scale_interval(true)),
        (Op::Multiply, INTERVAL, r) if r.is_numeric() => Some(scale_interval_float(false)),
        (Op::Multiply, l, INTERVAL) if l.is_numeric() => Some(scale_interval_float(true)),
        _ => None,
    }
}

/// The type an operand takes: a string literal beside a date, timestamp or interval becomes what the operator asks for.
fn side(op: Op, own: &ArgType, other: &ArgType, is_left: bool) -> LogicalType {
    if !own.is_literal || !matches!(own.ty, Varchar | LogicalType::Null) || !other.ty.is_temporal() {
        return own.ty.clone();
    }
    match (op, other.ty.clone()) {
        // A date minus 'x', or 'x' minus a date: the same type. Anything plus 'x': an interval.
        (Op::Subtract, INTERVAL) if is_left => Timestamp,
        (Op::Subtract, ty) => ty,
        (Op::Add, INTERVAL) => Timestamp,
        (Op::Add, _) => INTERVAL,
        (Op::Multiply, INTERVAL) => Double,
        _ => own.ty.clone(),
    }
}

/// `INTERVAL / number`.
pub(super) fn resolve_interval_division(right: &ArgType) -> Option<Resolved> {
    if !right.ty.is_numeric() && right.ty != LogicalType::Null {
        return None;
    }
    let divide = |a: Interval, b: f64| scale_by(a, 1.0 / b);
    let error = |a: Interval, b: f64| {
        if b == 0.0 { Error::DivisionByZero } else { overflow(format!("{a} / {b}")) }
    };
    let kernel = kernel(move |args, len, out| try_zip_plain(args, &INTERVAL, len, out, divide, error));
    Some(Resolved::fallible(vec![INTERVAL, Double], INTERVAL, kernel))
}

/// Unary minus of an interval.
pub(super) fn negate() -> Arc<dyn ScalarKernel> {
    let negated = |a: Interval| {
        let parts = (a.months.checked_neg(), a.days.checked_neg(), a.micros.checked_neg());
        interval_of(parts)
    };
    kernel(move |args, len, out| {
        try_map(args[0], &INTERVAL, len, out, negated, |a| overflow(format!("-({a})")))
    })
}

fn overflow(what: String) -> Error {
    Error::out_of_range(format!("date or time out of range: {what}"))
}

fn interval_of((months, days, micros): (Option<i32>, Option<i32>, Option<i64>)) -> (Interval, bool) {
    match (months, days, micros) {
        (Some(months), Some(days), Some(micros)) => (Interval { months, days, micros }, false),
        _ => (Interval::default(), true),
    }
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

fn add_days(left: LogicalType, right: LogicalType, swap: bool) -> Resolved {
    let sum = |a: i32, b: i32| a.overflowing_add(b);
    let error = move |a: i32, b: i32| {
        let (date, days) = if swap { (b, a) } else { (a, b) };
        overflow(format!("{} + {days} days", date_text(date)))
    };
    let kernel = kernel(move |args, len, out| try_zip_plain(args, &Date, len, out, sum, error));
    Resolved::fallible(vec![left, right], Date, kernel)
}

fn subtract_days() -> Resolved {
    let difference = |a: i32, b: i32| a.overflowing_sub(b);
    let error = |a: i32, b: i32| overflow(format!("{} - {b} days", date_text(a)));
    let kernel = kernel(move |args, len, out| try_zip_plain(args, &Date, len, out, difference, error));
    Resolved::fallible(vec![Date, Integer], Date, kernel)
}

/// A timestamp moved by an interval, if it stays in range.
pub(crate) fn shift(timestamp: i64, by: Interval, sign: i32) -> Option<i64> {
    let mut days = timestamp.div_euclid(MICROS_PER_DAY) as i32;
    let time = timestamp.rem_euclid(MICROS_PER_DAY);
    if by.months != 0 {
        days = add_months(days, by.months.checked_mul(sign)?)?;
    }
    let days = i64::from(days) + i64::from(by.days) * i64::from(sign);
    let micros = by.micros.checked_mul(i64::from(sign))?;
    days.checked_mul(MICROS_PER_DAY)?.checked_add(time)?.checked_add(micros)
}

fn flagged(value: Option<i64>) -> (i64, bool) {
    (value.unwrap_or_default(), value.is_none())
}

fn shift_date(swap: bool, sign: i32) -> Resolved {
    let shifted = move |date: i32, by: Interval| flagged(shift(i64::from(date) * MICROS_PER_DAY, by, sign));
    let error = move |date: i32, by: Interval| {
        overflow(format!("{} {} {by}", date_text(date), if sign > 0 { '+' } else { '-' }))
    };
    if swap {
        let kernel = kernel(move |args, len, out| {
            try_zip_plain(args, &Timestamp, len, out, |a, b| shifted(b, a), |a: Interval, b: i32| error(b, a))
        });
        return Resolved::fallible(vec![INTERVAL, Date], Timestamp, kernel);
    }
    let kernel = kernel(move |args, len, out| try_zip_plain(args, &Timestamp, len, out, shifted, error));
    Resolved::fallible(vec![Date, INTERVAL], Timestamp, kernel)
}

fn shift_timestamp(swap: bool, sign: i32) -> Resolved {
    let shifted = move |at: i64, by: Interval| flagged(shift(at, by, sign));
    let error = move |at: i64, by: Interval| {
        overflow(format!("{} {} {by}", timestamp_text(at), if sign > 0 { '+' } else { '-' }))
    };
    if swap {
        let kernel = kernel(move |args, len, out| {
            try_zip_plain(args, &Timestamp, len, out, |a, b| shifted(b, a), |a: Interval, b: i64| error(b, a))
        });
        return Resolved::fallible(vec![INTERVAL, Timestamp], Timestamp, kernel);
    }
    let kernel = kernel(move |args, len, out| try_zip_plain(args, &Timestamp, len, out, shifted, error));
    Resolved::fallible(vec![Timestamp, INTERVAL], Timestamp, kernel)
}

/// Times wrap around midnight; months and days of the interval do not matter.
fn shift_time(swap: bool, sign: i64) -> Resolved {
    let shifted =
        move |at: i64, by: Interval| (at + sign * (by.micros % MICROS_PER_DAY)).rem_euclid(MICROS_PER_DAY);
    if swap {
        let kernel = kernel(move |args, len, out| zip_simple(args, &Time, len, out, |a, b| shifted(b, a)));
        return Resolved::infallible(vec![INTERVAL, Time], Time, kernel);
    }
    let kernel = kernel(move |args, len, out| zip_simple(args, &Time, len, out, shifted));
    Resolved::infallible(vec![Time, INTERVAL], Time, kernel)
}

fn timestamp_difference(a: i64, b: i64) -> Interval {
    let micros = i128::from(a) - i128::from(b);
    let days = micros / i128::from(MICROS_PER_DAY);
    Interval { months: 0, days: days as i32, micros: (micros % i128::from(MICROS_PER_DAY)) as i64 }
}

fn date_and_time(swap: bool) -> Resolved {
    let sum = |date: i32, time: i64| flagged((i64::from(date) * MICROS_PER_DAY).checked_add(time));
    let error = |date: i32| overflow(date_text(date));
    if swap {
        let kernel = kernel(move |args, len, out| {
            try_zip_plain(args, &Timestamp, len, out, |a: i64, b: i32| sum(b, a), |_, b| error(b))
        });
        return Resolved::fallible(vec![Time, Date], Timestamp, kernel);
    }
    let kernel =
        kernel(move |args, len, out| try_zip_plain(args, &Timestamp, len, out, sum, |a, _| error(a)));
    Resolved::fallible(vec![Date, Time], Timestamp, kernel)
}

fn combine_intervals(op: Op, sign: i32) -> Resolved {
    let sum = move |a: Interval, b: Interval| {
        interval_of((
            b.months.checked_mul(sign).and_then(|m| a.months.checked_add(m)),
            b.days.checked_mul(sign).and_then(|d| a.days.checked_add(d)),
            b.micros.checked_mul(sign.into()).and_then(|m| a.micros.checked_add(m)),
        ))
    };
    let error = move |a: Interval, b: Interval| op.overflow(&INTERVAL, a, b);
    let kernel = kernel(move |args, len, out| try_zip_plain(args, &INTERVAL, len, out, sum, error));
    Resolved::fallible(vec![INTERVAL, INTERVAL], INTERVAL, kernel)
}

fn scale_interval(swap: bool) -> Resolved {
    let product = |a: Interval, b: i64| {
        let small = i32::try_from(b).ok();
        interval_of((
            small.and_then(|b| a.months.checked_mul(b)).or((a.months == 0).then_some(0)),
            small.and_then(|b| a.days.checked_mul(b)).or((a.days == 0).then_some(0)),
            a.micros.checked_mul(b),
        ))
    };
    let error = |a: Interval, b: i64| Op::Multiply.overflow(&INTERVAL, a, b);
    if swap {
        let kernel = kernel(move |args, len, out| {
            try_zip_plain(args, &INTERVAL, len, out, |a, b| product(b, a), |a: i64, b: Interval| error(b, a))
        });
        return Resolved::fallible(vec![BigInt, INTERVAL], INTERVAL, kernel);
    }
    let kernel = kernel(move |args, len, out| try_zip_plain(args, &INTERVAL, len, out, product, error));
    Resolved::fallible(vec![INTERVAL, BigInt], INTERVAL, kernel)
}

/// Each part times `factor`; fractions of months become days of 30, fractions of days microseconds.
fn scale_by(a: Interval, factor: f64) -> (Interval, bool) {
    let months = f64::from(a.months) * factor;
    let days = f64::from(a.days) * factor + months.fract() * 30.0;
    let micros = a.micros as f64 * factor + days.fract() * MICROS_PER_DAY as f64;
    let fits = months.abs() < 2e9 && days.abs() < 2e9 && micros.abs() < 9e18;
    let scaled = Interval { months: months as i32, days: days as i32, micros: micros.round() as i64 };
    (scaled, !fits)
}

fn scale_interval_float(swap: bool) -> Resolved {
    let error = |a: Interval, b: f64| Op::Multiply.overflow(&INTERVAL, a, b);
    if swap {
        let kernel = kernel(move |args, len, out| {
            try_zip_plain(args, &INTERVAL, len, out, |a, b| scale_by(b, a), |a: f64, b: Interval| error(b, a))
        });
        return Resolved::fallible(vec![Double, INTERVAL], INTERVAL, kernel);
    }
    let kernel = kernel(move |args, len, out| try_zip_plain(args, &INTERVAL, len, out, scale_by, error));
    Resolved::fallible(vec![INTERVAL, Double], INTERVAL, kernel)
}

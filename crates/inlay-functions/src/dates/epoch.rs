//! Moments as counts since 1970: `epoch` and its siblings, and `julian`.

use super::finite::map_finite;
use crate::registry::{Function, Overloads, Signature};
use inlay_kernels::apply::{map, try_map};
use inlay_kernels::parse::round_to;
use inlay_types::LogicalType::{
    BigInt, Date, Double, Interval as IntervalType, Time, TimeTz as TimeTzType, Timestamp, TimestampNs,
    TimestampTz,
};
use inlay_types::datetime::{MICROS_PER_DAY, is_timestamp, write_date};
use inlay_types::{Error, Interval, Result, TimeTz, Vector};

/// The Julian day of 1970-01-01.
const JULIAN_1970: f64 = 2_440_588.0;

/// See the module documentation.
pub(crate) static FUNCTIONS: &[Function] = &[
    Function::new(
        "epoch",
        Overloads::Fixed(&[
            Signature::new(&[Date], Double, |args, len, out| {
                map_finite(args[0], &Double, len, out, |days: i32| f64::from(days) * 86_400.0)
            }),
            Signature::new(&[Timestamp], Double, seconds),
            Signature::new(&[TimestampTz], Double, seconds),
            Signature::new(&[Time], Double, |args, len, out| {
                map(args[0], &Double, len, out, |at: i64| at as f64 / 1e6)
            }),
            Signature::new(&[TimeTzType], Double, |args, len, out| {
                map(args[0], &Double, len, out, |at: i64| TimeTz::from_stored(at).micros as f64 / 1e6)
            }),
            Signature::new(&[IntervalType], Double, |args, len, out| {
                map(args[0], &Double, len, out, epoch_seconds)
            }),
        ]),
        "seconds since 1970, of a time since midnight, or in an interval",
        "epoch(TIMESTAMP '1970-01-01 00:01:00') = 60.0",
    ),
    Function::new(
        "epoch_ms",
        Overloads::Fixed(&[
            Signature::new(&[Date], BigInt, |args, len, out| {
                map_finite(args[0], &BigInt, len, out, |days: i32| i64::from(days) * 86_400_000)
            }),
            Signature::new(&[Timestamp], BigInt, millis),
            Signature::new(&[TimestampTz], BigInt, millis),
            Signature::new(&[Time], BigInt, |args, len, out| {
                map(args[0], &BigInt, len, out, |at: i64| at / 1000)
            }),
            Signature::new(&[TimeTzType], BigInt, |args, len, out| {
                map(args[0], &BigInt, len, out, |at: i64| TimeTz::from_stored(at).micros / 1000)
            }),
            Signature::new(&[IntervalType], BigInt, |args, len, out| {
                map(args[0], &BigInt, len, out, |i: Interval| (plain_micros(i) / 1000) as i64)
            }),
            Signature::new(&[BigInt], Timestamp, from_millis),
        ]),
        "milliseconds since 1970, or the timestamp of them",
        "epoch_ms(TIMESTAMP '1970-01-01 00:00:01') = 1000",
    )
    .fallible(),
    Function::new(
        "epoch_us",
        Overloads::Fixed(&[
            Signature::new(&[Date], BigInt, |args, len, out| scaled_days(args, len, out, MICROS_PER_DAY)),
            Signature::new(&[Timestamp], BigInt, micros),
            Signature::new(&[TimestampTz], BigInt, micros),
            Signature::new(&[Time], BigInt, |args, len, out| map(args[0], &BigInt, len, out, |at: i64| at)),
            Signature::new(&[TimeTzType], BigInt, |args, len, out| {
                map(args[0], &BigInt, len, out, |at: i64| TimeTz::from_stored(at).micros)
            }),
            Signature::new(&[IntervalType], BigInt, |args, len, out| scaled_interval(args, len, out, 1)),
        ]),
        "microseconds since 1970",
        "epoch_us(TIMESTAMP '1970-01-01 00:00:01') = 1000000",
    )
    .fallible(),
    Function::new(
        "epoch_ns",
        Overloads::Fixed(&[
            Signature::new(&[Date], BigInt, |args, len, out| {
                scaled_days(args, len, out, MICROS_PER_DAY * 1000)
            }),
            Signature::new(&[Timestamp], BigInt, nanos),
            Signature::new(&[TimestampTz], BigInt, nanos),
            Signature::new(&[TimestampNs], BigInt, micros),
            Signature::new(&[Time], BigInt, |args, len, out| {
                map(args[0], &BigInt, len, out, |at: i64| at.wrapping_mul(1000))
            }),
            Signature::new(&[TimeTzType], BigInt, |args, len, out| {
                map(args[0], &BigInt, len, out, |at: i64| TimeTz::from_stored(at).micros * 1000)
            }),
            Signature::new(&[IntervalType], BigInt, |args, len, out| scaled_interval(args, len, out, 1000)),
        ]),
        "nanoseconds since 1970",
        "epoch_ns(TIMESTAMP '1970-01-01 00:00:01') = 1000000000",
    )
    .fallible(),
    Function::new(
        "julian",
        Overloads::Fixed(&[
            Signature::new(&[Date], Double, |args, len, out| {
                map_finite(args[0], &Double, len, out, julian_day)
            }),
            Signature::new(&[Timestamp], Double, julian_moment),
            Signature::new(&[TimestampTz], Double, julian_moment).at_local_time(),
        ]),
        "days since 4714-11-24 BC",
        "julian(DATE '1970-01-01') = 2440588.0",
    ),
];

pub(super) fn julian_day(days: i32) -> f64 {
    f64::from(days) + JULIAN_1970
}

fn julian_moment(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    map_finite(args[0], &Double, len, out, |at: i64| {
        at.div_euclid(MICROS_PER_DAY) as f64
            + JULIAN_1970
            + at.rem_euclid(MICROS_PER_DAY) as f64 / MICROS_PER_DAY as f64
    })
}

fn seconds(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    map_finite(args[0], &Double, len, out, |micros: i64| micros as f64 / 1e6)
}

/// Rounded half away from zero, as a cast to TIMESTAMP_MS is.
fn millis(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    map_finite(args[0], &BigInt, len, out, |at: i64| round_to(at, 1000))
}

fn micros(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    map_finite(args[0], &BigInt, len, out, |at: i64| at)
}

fn nanos(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    try_map(
        args[0],
        &BigInt,
        len,
        out,
        |at: i64| if at.unsigned_abs() == i64::MAX as u64 { (0, false) } else { at.overflowing_mul(1000) },
        |at| out_of_nanos(&inlay_types::Value::Timestamp(at).to_string()),
    )?;
    super::finite::hide_infinite(args, len, out);
    Ok(())
}

fn scaled_days(args: &[&Vector], len: usize, out: &mut Vector, unit: i64) -> Result<()> {
    let product = move |days: i32| {
        if inlay_types::datetime::is_finite_date(days) {
            i64::from(days).overflowing_mul(unit)
        } else {
            (0, false)
        }
    };
    try_map(args[0], &BigInt, len, out, product, |days| {
        let mut text = String::new();
        write_date(&mut text, days);
        out_of_nanos(&text)
    })?;
    super::finite::hide_infinite(args, len, out);
    Ok(())
}

fn out_of_nanos(what: &str) -> Error {
    Error::out_of_range(format!("{what} since 1970 is more than 64 bits count in this unit"))
}

fn scaled_interval(args: &[&Vector], len: usize, out: &mut Vector, unit: i128) -> Result<()> {
    let product = move |interval: Interval| {
        let value = plain_micros(interval) * unit;
        (value as i64, i64::try_from(value).is_err())
    };
    try_map(args[0], &BigInt, len, out, product, |interval| {
        Error::out_of_range(format!("{interval} is more than 64 bits count in this unit"))
    })
}

/// Microseconds in an interval of months of 30 days, years too: DuckDB counts seconds and smaller units differently.
fn plain_micros(interval: Interval) -> i128 {
    let days = i128::from(interval.months) * 30 + i128::from(interval.days);
    days * i128::from(MICROS_PER_DAY) + i128::from(interval.micros)
}

/// Microseconds in an interval; a year has 365.25 days, a month 30.
fn epoch_micros(interval: Interval) -> i128 {
    let (years, months) = (i128::from(interval.months / 12), i128::from(interval.months % 12));
    let hours = years * 8766 + (months * 30 + i128::from(interval.days)) * 24;
    hours * 3_600_000_000 + i128::from(interval.micros)
}

pub(super) fn epoch_seconds(interval: Interval) -> f64 {
    epoch_micros(interval) as f64 / 1e6
}

pub(super) fn from_millis(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    let micros = |ms: i64| {
        let micros = ms.checked_mul(1000).filter(|at| is_timestamp(*at));
        (micros.unwrap_or_default(), micros.is_none())
    };
    try_map(args[0], &Timestamp, len, out, micros, |ms| {
        Error::out_of_range(format!("{ms} milliseconds since 1970 are out of range for TIMESTAMP"))
    })
}

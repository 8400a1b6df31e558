//! The current time, which is that at which the transaction began, and functions that ask for the session's zone.

use super::difference::{age_zoned, ages, ages_by};
use super::finite::map_finite;
use super::zoned::{beyond, to_local};
use crate::columns::{Column, TextColumn};
use crate::registry::{Function, Overloads, Signature};
use inlay_kernels::apply::{map, null_argument, per_row};
use inlay_kernels::arithmetic::{Op, resolve_binary};
use inlay_kernels::function::Volatility;
use inlay_kernels::function::kernel;
use inlay_kernels::resolve::{ArgType, ResolveOptions, Resolved};
use inlay_kernels::zone::Zone;
use inlay_kernels::zone::system_micros;
use inlay_types::LogicalType::{
    BigInt, Date, Interval as IntervalType, Null, Time, TimeTz as TimeTzType, Timestamp, TimestampTz, Varchar,
};
use inlay_types::datetime::{MICROS_PER_DAY, MICROS_PER_SECOND};
use inlay_types::time_tz::MAX_OFFSET;
use inlay_types::{Error, Interval, LogicalType, Result, TimeTz, Value, Vector};
use std::sync::Arc;

/// A function of the current moment.
macro_rules! current {
    ($name:expr, $shown:expr, $ty:expr, $description:expr) => {
        Function::new(
            $name,
            Overloads::Typed { shown: &[$shown], resolve: |args, options| current(args, options, $ty) },
            $description,
            concat!($name, "() IS NOT NULL"),
        )
        .volatile(Volatility::Stable)
    };
}

/// See the module documentation.
pub(crate) static FUNCTIONS: &[Function] = &[
    current!("now", "now() -> TIMESTAMPTZ", TimestampTz, "the moment at which the transaction began").aliases(&[
        "current_timestamp",
        "get_current_timestamp",
        "transaction_timestamp",
    ]),
    current!("current_date", "current_date() -> DATE", Date, "the current date in the session's time zone")
        .aliases(&["today"]),
    current!(
        "current_time",
        "current_time() -> TIMETZ",
        TimeTzType,
        "the current time of day in the session's time zone, with its offset"
    )
    .aliases(&["get_current_time"]),
    current!(
        "current_localtime",
        "current_localtime() -> TIME",
        Time,
        "the current time of day in the session's time zone"
    )
    .aliases(&["localtime"]),
    current!(
        "current_localtimestamp",
        "current_localtimestamp() -> TIMESTAMP",
        Timestamp,
        "the current date and time in the session's time zone"
    )
    .aliases(&["localtimestamp"]),
    Function::new(
        "ago",
        Overloads::Typed { shown: &["ago(INTERVAL) -> TIMESTAMPTZ"], resolve: resolve_ago },
        "the moment so long before that at which the transaction began",
        "ago(INTERVAL 1 DAY) < now()",
    )
    .volatile(Volatility::Stable)
    .fallible(),
    Function::new(
        "timezone",
        Overloads::Fixed(&[
            Signature::new(&[Varchar, Timestamp], TimestampTz, in_named_zone),
            Signature::new(&[Varchar, TimestampTz], Timestamp, at_named_zone),
            Signature::zoned(&[Varchar, TimeTzType], TimeTzType, time_at_named_zone),
            Signature::new(&[IntervalType, TimeTzType], TimeTzType, time_at_offset),
            Signature::new(&[Timestamp], BigInt, |args, len, out| {
                map_finite(args[0], &BigInt, len, out, |_: i64| 0i64)
            }),
            Signature::zoned(&[TimestampTz], BigInt, |zone, args, len, out| {
                map_finite(args[0], &BigInt, len, out, |at: i64| i64::from(zone.offset_at(at)))
            }),
            Signature::new(&[Time], BigInt, |args, len, out| map(args[0], &BigInt, len, out, |_: i64| 0i64)),
            Signature::new(&[TimeTzType], BigInt, |args, len, out| {
                map(args[0], &BigInt, len, out, |at: i64| i64::from(TimeTz::from_stored(at).offset))
            }),
        ]),
        "a moment as the clocks of a zone show it, what such clocks show as a moment, or the offset to UTC in seconds",
        "timezone('America/New_York', TIMESTAMPTZ '2024-07-01 12:00:00+00') = TIMESTAMP '2024-07-01 08:00:00'",
    )
    .fallible(),
];

/// The current moment as a value of `ty`.
fn current_value(options: &ResolveOptions, ty: &LogicalType) -> Value {
    let now = options.now.unwrap_or_else(system_micros);
    let local = options.zone.to_local(now).unwrap_or(now);
    match ty {
        Date => Value::Date(local.div_euclid(MICROS_PER_DAY) as i32),
        Time => Value::Time(local.rem_euclid(MICROS_PER_DAY)),
        TimeTzType => Value::TimeTz(TimeTz {
            micros: local.rem_euclid(MICROS_PER_DAY),
            offset: options.zone.offset_at(now).clamp(-MAX_OFFSET, MAX_OFFSET),
        }),
        Timestamp => Value::Timestamp(local),
        _ => Value::TimestampTz(now),
    }
}

fn current(args: &[ArgType], options: &ResolveOptions, ty: LogicalType) -> Option<Resolved> {
    if !args.is_empty() {
        return None;
    }
    let (value, returns) = (current_value(options, &ty), ty.clone());
    let kernel = kernel(move |_, len, out| {
        *out = Vector::constant(ty.clone(), &value, len)?;
        Ok(())
    });
    Some(Resolved::infallible(Vec::new(), returns, kernel))
}

fn resolve_ago(args: &[ArgType], options: &ResolveOptions) -> Option<Resolved> {
    let [by] = args else { return None };
    let now = ArgType::of(TimestampTz);
    let resolved = resolve_binary(Op::Subtract, &[now, by.clone()], options)?;
    let moment = current_value(options, &TimestampTz);
    let subtract = resolved.kernel;
    let kernel = kernel(move |args, len, out| {
        let now = Vector::constant(TimestampTz, &moment, len)?;
        subtract.eval(&[&now, args[0]], len, out)
    });
    Some(Resolved::fallible(vec![IntervalType], TimestampTz, kernel))
}

/// `age`: of two moments, or of today's midnight and one.
pub(super) fn resolve_age(args: &[ArgType], options: &ResolveOptions) -> Option<Resolved> {
    let is_moment = |arg: &ArgType| {
        let is_text = arg.ty == Varchar && arg.is_literal;
        is_text || matches!(arg.ty, Date | Null) || arg.ty.is_timestamp()
    };
    if !(1..=2).contains(&args.len()) || !args.iter().all(is_moment) {
        return None;
    }
    let zone = Arc::clone(&options.zone);
    let is_zoned = args.iter().any(|arg| arg.ty == TimestampTz);
    let ty = if is_zoned { TimestampTz } else { Timestamp };
    if args.len() == 2 {
        let kernel = if is_zoned {
            kernel(move |args, len, out| ages_by(args, len, out, |to, from| age_zoned(&zone, to, from)))
        } else {
            kernel(ages)
        };
        return Some(Resolved::infallible(vec![ty.clone(), ty], IntervalType, kernel));
    }
    let Value::Date(today) = current_value(options, &Date) else { return None };
    let midnight = i64::from(today) * MICROS_PER_DAY;
    let today = if is_zoned { zone.to_utc(midnight).unwrap_or(midnight) } else { midnight };
    let ty_of_today = ty.clone();
    let kernel = kernel(move |args, len, out| {
        let to = Vector::constant(
            ty_of_today.clone(),
            &if is_zoned { Value::TimestampTz(today) } else { Value::Timestamp(today) },
            len,
        )?;
        let args = [&to, args[0]];
        if is_zoned {
            ages_by(&args, len, out, |to, from| age_zoned(&zone, to, from))
        } else {
            ages(&args, len, out)
        }
    });
    Some(Resolved::infallible(vec![ty], IntervalType, kernel))
}

/// Looks up zones by name, remembering the last one.
#[derive(Default)]
struct Zones<'a> {
    last: Option<(&'a str, Arc<Zone>)>,
}

impl<'a> Zones<'a> {
    fn get(&mut self, name: &'a str) -> Result<&Zone> {
        if self.last.as_ref().is_none_or(|(last, _)| *last != name) {
            self.last = Some((name, Zone::named(name)?));
        }
        match &self.last {
            Some((_, zone)) => Ok(zone),
            None => Err(Error::internal("a zone was found and is not there")),
        }
    }
}

/// `timestamp AT TIME ZONE name`: the moment at which clocks there show it.
fn in_named_zone(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    let (names, values, mut zones) = (TextColumn::of(args[0]), Column::<i64>::of(args[1]), Zones::default());
    per_row(args, &TimestampTz, len, out, |row| {
        let zone = zones.get(names.text(row))?;
        zone.to_utc(values.get(row)).ok_or_else(|| beyond(values.get(row), zone))
    })
}

/// `timestamptz AT TIME ZONE name`: what clocks there show.
fn at_named_zone(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    if null_argument(args, &Timestamp, len, out) {
        return Ok(());
    }
    let names = TextColumn::of(args[0]);
    if args[0].is_constant() {
        let zone = Zone::named(names.text(0))?;
        *out = to_local(&zone, args[1])?.into_owned();
        return Ok(());
    }
    let (values, mut zones) = (Column::<i64>::of(args[1]), Zones::default());
    per_row(args, &Timestamp, len, out, |row| {
        let zone = zones.get(names.text(row))?;
        zone.to_local(values.get(row)).ok_or_else(|| beyond(values.get(row), zone))
    })
}

fn moved(time: TimeTz, offset: i32) -> i64 {
    let micros = time.micros + i64::from(offset - time.offset) * MICROS_PER_SECOND;
    TimeTz { micros: micros.rem_euclid(MICROS_PER_DAY), offset }.stored()
}

/// A time of day at the offset that the named zone has now.
fn time_at_named_zone(_: &Zone, args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    let (names, values, mut zones) = (TextColumn::of(args[0]), Column::<i64>::of(args[1]), Zones::default());
    let now = system_micros();
    per_row(args, &TimeTzType, len, out, |row| {
        let offset = zones.get(names.text(row))?.offset_at(now);
        Ok(moved(TimeTz::from_stored(values.get(row)), offset))
    })
}

fn time_at_offset(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    let (offsets, values) = (Column::<Interval>::of(args[0]), Column::<i64>::of(args[1]));
    per_row(args, &TimeTzType, len, out, |row| {
        let by = offsets.get(row);
        let seconds = by.micros / MICROS_PER_SECOND;
        let fits = by.months == 0 && by.days == 0 && seconds.abs() <= i64::from(MAX_OFFSET);
        if !fits {
            return Err(Error::out_of_range(format!("{by} is no offset to UTC")));
        }
        Ok(moved(TimeTz::from_stored(values.get(row)), seconds as i32))
    })
}

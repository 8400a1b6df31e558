//! `range` and `generate_series` as lists.

use super::rows::{Output, Part, each_known};
use crate::registry::Function;
use inlay_kernels::arithmetic::{kernel, temporal};
use inlay_kernels::resolve::{ArgType, ResolveOptions, Resolved};
use inlay_types::LogicalType::{BigInt, Date, Interval as IntervalType, Timestamp, TimestampTz};
use inlay_types::limits::{self, Meter};
use inlay_types::{Error, Interval, LogicalType, Result};
use std::sync::Arc;

/// See the module documentation.
pub(crate) static FUNCTIONS: &[Function] = &[
    Function::typed(
        "range",
        &[
            "range(stop) -> BIGINT[]",
            "range(start, stop) -> BIGINT[]",
            "range(start, stop, step) -> BIGINT[]",
            "range(TIMESTAMP, TIMESTAMP, INTERVAL) -> TIMESTAMP[]",
        ],
        |args, options| resolve(args, options, false),
        "a list of numbers or timestamps up to a stop that is not in it",
        "range(2, 5) = '[2, 3, 4]'",
    )
    .special_nulls(),
    Function::typed(
        "generate_series",
        &[
            "generate_series(stop) -> BIGINT[]",
            "generate_series(start, stop) -> BIGINT[]",
            "generate_series(start, stop, step) -> BIGINT[]",
            "generate_series(TIMESTAMP, TIMESTAMP, INTERVAL) -> TIMESTAMP[]",
        ],
        |args, options| resolve(args, options, true),
        "a list of numbers or timestamps up to a stop that may be in it",
        "generate_series(2, 5) = '[2, 3, 4, 5]'",
    )
    .special_nulls(),
];

fn resolve(args: &[ArgType], options: &ResolveOptions, inclusive: bool) -> Option<Resolved> {
    let is_step = |arg: &ArgType| arg.ty == IntervalType;
    if let [start, stop, step] = args
        && is_step(step)
    {
        return resolve_moments([start, stop], options, inclusive);
    }
    let is_number = |arg: &ArgType| arg.ty.is_integer() || arg.ty == LogicalType::Null;
    if args.is_empty() || args.len() > 3 || !args.iter().all(is_number) {
        return None;
    }
    let ty = LogicalType::list(BigInt);
    let (returns, types) = (ty.clone(), vec![BigInt; args.len()]);
    let kernel = kernel(move |args, len, out| {
        each_known(args, &ty, len, out, |args, row, out| {
            let number = |arg: usize| args.int(arg, row).unwrap_or(0);
            let (start, stop) = if args.len() == 1 { (0, number(0)) } else { (number(0), number(1)) };
            let step = if args.len() == 3 { number(2) } else { 1 };
            push_numbers(out, start, stop, step, inclusive)
        })
    });
    Some(Resolved::fallible(types, returns, kernel))
}

/// How many numbers a series has, unless they are far too many.
#[inline]
fn count_of(start: i64, stop: i64, step: i64, inclusive: bool) -> Option<usize> {
    // Divisions of wide numbers are slow, and steps of one need none.
    if step == 1
        && let Some(distance) = stop.checked_sub(start)
    {
        let count = if distance < 0 { 0 } else { distance.unsigned_abs() + u64::from(inclusive) };
        return usize::try_from(count).ok();
    }
    let distance =
        if step > 0 { i128::from(stop) - i128::from(start) } else { i128::from(start) - i128::from(stop) };
    let width = i128::from(step).abs();
    let count = match distance {
        _ if step == 0 => 0,
        ..0 => 0,
        distance if inclusive => distance / width + 1,
        distance => (distance + width - 1) / width,
    };
    usize::try_from(count).ok()
}

fn push_numbers(out: &mut Output, start: i64, stop: i64, step: i64, inclusive: bool) -> Result<()> {
    let count = count_of(start, stop, step, inclusive).filter(|count| i32::try_from(*count).is_ok());
    let count = count.ok_or_else(|| {
        Error::out_of_range(format!(
            "the numbers from {start} to {stop} by {step} are more than the 2,147,483,647 elements of a list"
        ))
    })?;
    out.push_with(|out| {
        limits::room(4 + 8 * count)?;
        limits::grow_at_once(out, 4 + 8 * count)?;
        out.extend_from_slice(&(count as u32).to_le_bytes());
        let mut value = start;
        // Few numbers are written where they lie.
        if count <= FEW {
            let from = out.len();
            out.resize(from + 8 * count, 0);
            for target in out[from..].as_chunks_mut::<8>().0 {
                *target = value.to_le_bytes();
                value = value.wrapping_add(step);
            }
            return Ok(());
        }
        for index in 0..count {
            if index % CHECK_STEPS == CHECK_STEPS - 1 {
                limits::check()?;
            }
            out.extend_from_slice(&value.to_le_bytes());
            value = value.wrapping_add(step);
        }
        Ok(())
    })
}

/// So many numbers are written without a look at the interrupt, or at the room for each.
const FEW: usize = 1 << 10;
/// So many numbers are made between looks at the interrupt.
const CHECK_STEPS: usize = 1 << 20;

/// A list of what the steps give, while the budget lasts; `None` is a step out of range.
fn push_steps(
    out: &mut Output,
    element: &LogicalType,
    steps: impl Iterator<Item = Option<i64>>,
) -> Result<()> {
    let mut meter = Meter::new();
    // The moments, where each lies, and room to grow.
    let mut found: Vec<[u8; 8]> = Vec::new();
    for step in steps {
        let step = step.ok_or_else(|| Error::out_of_range("a series leaves the range of timestamps"))?;
        meter.add(48)?;
        found.push(step.to_le_bytes());
    }
    let parts: Vec<Part<'_>> = found.iter().map(|value| Some(&value[..])).collect();
    out.push_list(element, &parts)
}

fn resolve_moments(bounds: [&ArgType; 2], options: &ResolveOptions, inclusive: bool) -> Option<Resolved> {
    let known = |arg: &&ArgType| {
        arg.ty.is_timestamp() || matches!(arg.ty, Date | LogicalType::Null) || arg.is_literal
    };
    if !bounds.iter().all(known) {
        return None;
    }
    let is_zoned = bounds.iter().any(|arg| arg.ty == TimestampTz);
    let moment = if is_zoned { TimestampTz } else { Timestamp };
    let (ty, zone) = (LogicalType::list(moment.clone()), is_zoned.then(|| Arc::clone(&options.zone)));
    let (returns, types) = (ty.clone(), vec![moment.clone(), moment.clone(), IntervalType]);
    let kernel = kernel(move |args, len, out| {
        let later = |at: i64, by: Interval| match &zone {
            Some(zone) => temporal::shift_zoned(zone, at, by, 1),
            None => temporal::shift(at, by, 1),
        };
        each_known(args, &ty, len, out, |args, row, out| {
            let (start, stop) = (args.int(0, row).unwrap_or(0), args.int(1, row).unwrap_or(0));
            let step = interval(args.get(2, row).unwrap_or_default());
            let direction = direction(step)?;
            if [start, stop].iter().any(|at| matches!(*at, i64::MAX | i64::MIN) || *at == -i64::MAX) {
                return Err(Error::invalid_argument("a series has no infinite bounds"));
            }
            let goes_on = |at: i64| {
                let order = if direction > 0 { at.cmp(&stop) } else { stop.cmp(&at) };
                direction != 0 && (order.is_lt() || (inclusive && order.is_eq()))
            };
            // Each moment is counted from the start, so that months do not lose their days.
            let steps = std::iter::successors(Some(Some(start)), |at| at.map(|at| later(at, step)));
            let steps = steps.take_while(|at| at.is_none_or(goes_on));
            let mut ended = false;
            let steps = steps.take_while(move |at| {
                let goes_on = !ended;
                ended = at.is_none();
                goes_on
            });
            push_steps(out, &moment, steps)
        })
    });
    Some(Resolved::fallible(types, returns, kernel))
}

/// The INTERVAL in these bytes.
fn interval(bytes: &[u8]) -> Interval {
    let word = bytes.first_chunk().map_or(0, |raw| u128::from_le_bytes(*raw));
    Interval { months: word as i32, days: (word >> 32) as i32, micros: (word >> 64) as i64 }
}

/// 1, 0 or -1; an error when some parts go up and others down.
fn direction(step: Interval) -> Result<i64> {
    let parts = [i64::from(step.months), i64::from(step.days), step.micros];
    let (up, down) = (parts.iter().any(|p| *p > 0), parts.iter().any(|p| *p < 0));
    if up && down {
        return Err(Error::invalid_argument("the step of a series goes both up and down"));
    }
    Ok(i64::from(up) - i64::from(down))
}

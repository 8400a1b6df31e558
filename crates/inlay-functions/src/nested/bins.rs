//! `list_histogram(list, bins)`: how many elements fall into each bin. `equi_width_bins`: boundaries between a minimum and a maximum, evenly apart, perhaps at round numbers.
//!
//! Boundaries are counted down from the maximum, so that the last bin holds it; a boundary is the largest value of its
//! bin. Round ones are as in DuckDB: the step is a multiple of 2 or 5 times a power of ten, and the first boundary the
//! next multiple of it; of moments the step is whole months, days, hours or minutes, whatever is small beside it.

use super::element_or_null;
use super::rows::{Args, Output, Part, computed, double, each_known, finish};
use crate::registry::Function;
use inlay_kernels::aggregate::bins::counted;
use inlay_kernels::arithmetic::{kernel, temporal};
use inlay_kernels::coercion::common_type;
use inlay_kernels::resolve::{ArgType, ResolveOptions, Resolved};
use inlay_types::LogicalType::{
    BigInt, Boolean, Date, Double, Integer, Null, SmallInt, Timestamp, TimestampTz, TinyInt, UInteger,
    USmallInt, UTinyInt,
};
use inlay_types::datetime::{civil_from_days, day_of, is_finite_timestamp};
use inlay_types::limits::{self, Meter};
use inlay_types::{Error, Interval, LogicalType, Result, Value, Vector};

/// See the module documentation.
pub(crate) static FUNCTIONS: &[Function] = &[
    Function::typed(
        "equi_width_bins",
        &[
            "equi_width_bins(min BIGINT, max BIGINT, bin_count BIGINT, nice_rounding BOOLEAN) -> BIGINT[]",
            "equi_width_bins(min DOUBLE, max DOUBLE, bin_count BIGINT, nice_rounding BOOLEAN) -> DOUBLE[]",
            "equi_width_bins(min TIMESTAMP, max TIMESTAMP, bin_count BIGINT, nice_rounding BOOLEAN) -> TIMESTAMP[]",
        ],
        resolve,
        "boundaries of bins of one width, perhaps at round numbers, for histogram",
        "equi_width_bins(0, 10, 2, true) = '[5, 10]'",
    )
    .special_nulls(),
    Function::typed(
        "list_histogram",
        &["list_histogram(LIST, bins LIST) -> MAP"],
        |args, _| resolve_histogram(args, false),
        "how many elements fall into each bin, bins given by their upper ends",
        "list_histogram([1, 2, 5], [2, 9]) = '{2=2, 9=1}'",
    )
    .special_nulls()
    .fallible(),
    Function::typed(
        "list_histogram_exact",
        &["list_histogram_exact(LIST, bins LIST) -> MAP"],
        |args, _| resolve_histogram(args, true),
        "how many elements equal each bin",
        "list_histogram_exact([1, 2, 2], [1, 2]) = '{1=1, 2=2}'",
    )
    .special_nulls()
    .fallible(),
];

/// So many times the bytes of a list are those of its values one by one.
const VALUE_RATIO: usize = 6;

fn resolve_histogram(args: &[ArgType], exact: bool) -> Option<Resolved> {
    let [list, bins] = args else { return None };
    let (own, other) = (element_or_null(list)?, element_or_null(bins)?);
    let element = match common_type(&own, &other)? {
        Null => Integer,
        common => common,
    };
    let ty = LogicalType::map(element.clone(), LogicalType::UBigInt);
    let list = LogicalType::list(element.clone());
    let returns = ty.clone();
    let kernel = kernel(move |args, len, out| {
        let (rows, args) = computed(args, len);
        let mut made = Vec::with_capacity(rows);
        let mut meter = Meter::new();
        for row in 0..rows {
            let size: usize = args.iter().map(|arg| arg.slice(row, 1).text_size()).sum();
            let _held = limits::hold(VALUE_RATIO * size)?;
            let bins = args[1].get(row);
            let values = match args[0].get(row) {
                Value::List { values, .. } if !values.iter().all(Value::is_null) => values,
                _ => {
                    made.push(Value::Null);
                    continue;
                }
            };
            if bins.is_null() {
                return Err(Error::invalid_argument("the bins of a histogram are NULL"));
            }
            meter.add(values.len() * 16)?;
            let entries = counted(&element, &bins, &values, exact)?;
            let types = std::sync::Arc::new((element.clone(), LogicalType::UBigInt));
            made.push(Value::Map { types, entries });
        }
        finish(Vector::from_sql_values(ty.clone(), &made)?, rows, len, out)
    });
    Some(Resolved::fallible(vec![list.clone(), list], returns, kernel))
}

/// Most bins that are asked for.
const BINS_MAX: i64 = 1_000_000;
const MICROS_PER_SECOND: i64 = 1_000_000;
const MICROS_PER_MINUTE: i64 = 60 * MICROS_PER_SECOND;
const MICROS_PER_HOUR: i64 = 60 * MICROS_PER_MINUTE;
const MICROS_PER_DAY: i64 = 24 * MICROS_PER_HOUR;

/// What boundaries are computed as.
#[derive(Clone, Copy)]
enum Kind {
    Whole,
    Real,
    Moment,
}

fn resolve(args: &[ArgType], _: &ResolveOptions) -> Option<Resolved> {
    let [low, high, _, _] = args else { return None };
    let is = |arg: &ArgType, kind: fn(&LogicalType) -> bool| arg.ty == Null || kind(&arg.ty);
    let both = |kind: fn(&LogicalType) -> bool| is(low, kind) && is(high, kind);
    let is_whole = |ty: &LogicalType| {
        matches!(ty, TinyInt | SmallInt | Integer | BigInt | UTinyInt | USmallInt | UInteger)
    };
    let is_moment = |ty: &LogicalType| *ty == Date || ty.is_timestamp();
    let (kind, taken) = match () {
        () if both(is_whole) => (Kind::Whole, BigInt),
        () if both(LogicalType::is_numeric) => (Kind::Real, Double),
        () if both(is_moment) && [low, high].iter().any(|arg| arg.ty == TimestampTz) => {
            (Kind::Moment, TimestampTz)
        }
        () if both(is_moment) => (Kind::Moment, Timestamp),
        () => return None,
    };
    let element = match (kind, &high.ty) {
        (Kind::Moment, Date) => Date,
        (Kind::Whole, Integer) => Integer,
        _ => taken.clone(),
    };
    let ty = LogicalType::list(element.clone());
    let (returns, types) = (ty.clone(), vec![taken.clone(), taken, BigInt, Boolean]);
    let kernel = kernel(move |args, len, out| {
        each_known(args, &ty, len, out, |args, row, out| push_bins(kind, &element, args, row, out))
    });
    Some(Resolved::fallible(types, returns, kernel))
}

fn push_bins(kind: Kind, element: &LogicalType, args: &Args, row: usize, out: &mut Output) -> Result<()> {
    let count = args.int(2, row).unwrap_or(0);
    if !(1..=BINS_MAX).contains(&count) {
        let message = format!("equi_width_bins makes 1 to {BINS_MAX} bins, not {count}");
        return Err(Error::invalid_argument(message));
    }
    let is_nice = args.get(3, row).is_some_and(|bytes| bytes != [0]);
    let count = count as usize;
    let mut meter = Meter::new();
    meter.add(count * 16)?;
    let (low, high) = (args.int(0, row).unwrap_or(0), args.int(1, row).unwrap_or(0));
    let mut found: Vec<[u8; 8]> = match kind {
        Kind::Real => {
            let [low, high] = [0, 1].map(|arg| args.get(arg, row).map_or(0.0, double));
            real_bins(low, high, count, is_nice)?.into_iter().map(f64::to_le_bytes).collect()
        }
        Kind::Whole => {
            let bins = whole_bins(low, high, count, is_nice)?;
            if *element == Integer && bins.first().is_some_and(|last| i32::try_from(*last).is_err()) {
                return Err(Error::out_of_range("a bin leaves the range of INTEGER"));
            }
            bins.into_iter().map(i64::to_le_bytes).collect()
        }
        Kind::Moment => {
            if !is_finite_timestamp(low) || !is_finite_timestamp(high) {
                return Err(no_infinity());
            }
            let bins =
                if is_nice { nice_moments(low, high, count)? } else { whole_bins(low, high, count, false)? };
            let as_element = |at: i64| if *element == Date { i64::from(day_of(at)) } else { at };
            bins.into_iter().map(|at| as_element(at).to_le_bytes()).collect()
        }
    };
    found.dedup();
    found.reverse();
    let width = element.physical().size();
    let parts: Vec<Part<'_>> = found.iter().map(|value| value.get(..width)).collect();
    out.push_list(element, &parts)
}

fn wrong_order() -> Error {
    Error::invalid_argument("equi_width_bins: the maximum is less than the minimum")
}

fn no_infinity() -> Error {
    Error::invalid_argument("equi_width_bins has no bins up to infinity or NaN")
}

/// Boundaries from the highest down. Computed in thousandths, so that they are not all rounded the same way.
fn whole_bins(low: i64, high: i64, count: usize, is_nice: bool) -> Result<Vec<i64>> {
    const PARTS: i128 = 1000;
    if high <= low {
        return if high == low { Ok(vec![high]) } else { Err(wrong_order()) };
    }
    let (low, mut at) = (i128::from(low) * PARTS, i128::from(high) * PARTS);
    let (mut step, mut limit) = (((at - low) / count as i128).max(1), count);
    if is_nice {
        let nice = nice_step(step);
        let up = at.div_euclid(nice) + i128::from(at.rem_euclid(nice) != 0);
        if up * nice != low {
            (at, step) = (up * nice, nice);
        }
        // How many there are is no longer exact.
        limit *= 2;
    }
    let mut bins: Vec<i64> = Vec::new();
    while at > low && bins.len() < limit {
        let value =
            i64::try_from(at / PARTS).map_err(|_| Error::out_of_range("a bin leaves the range of BIGINT"))?;
        if bins.last() != Some(&value) {
            bins.push(value);
        }
        at -= step;
    }
    Ok(bins)
}

/// The multiple of 2 or 5 times a power of ten that is nearest.
fn nice_step(step: i128) -> i128 {
    let mut power = 1;
    while power * 10 < step {
        power *= 10;
    }
    let two = if power * 3 <= step { power * 10 } else { power * 2 };
    let five = if power * 2 <= step { power * 5 } else { power };
    let nearest = |unit: i128| (step + unit / 2) / unit * unit;
    let (two, five) = (nearest(two), nearest(five));
    if (step - two).abs() < (step - five).abs() { two.max(1) } else { five.max(1) }
}

fn real_bins(low: f64, high: f64, count: usize, is_nice: bool) -> Result<Vec<f64>> {
    if !low.is_finite() || !high.is_finite() {
        return Err(no_infinity());
    }
    if high <= low {
        return if high == low { Ok(vec![high]) } else { Err(wrong_order()) };
    }
    // The width of all may be above all numbers.
    let mut step = high / count as f64 - low / count as f64;
    if (high - low).is_finite() {
        step = (high - low) / count as f64;
    }
    let power = power_below(step);
    let (mut at, mut limit) = (high, count);
    if is_nice {
        let two = if power * 3.0 <= step { power * 10.0 } else { power * 2.0 };
        let five = if power * 2.0 <= step { power * 5.0 } else { power };
        let [two, five] = [two, five].map(|unit| (step / unit).round() * unit);
        step = if (step - two).abs() < (step - five).abs() { two } else { five };
        at = (high / step).ceil() * step;
        limit *= 2;
    }
    let scale = 10.0 / power;
    let mut bins: Vec<f64> = Vec::new();
    while at > low && at.is_finite() && bins.len() < limit {
        // Sums of fractions are not quite round.
        let value = if is_nice && (at * scale).is_finite() { (at * scale).round() / scale } else { at };
        if value <= low || at - step == at {
            break;
        }
        bins.push(value);
        at -= step;
    }
    if bins.is_empty() {
        bins.push(high);
    }
    Ok(bins)
}

/// The greatest power of ten that is less; of numbers up to one, the greatest that is not more.
fn power_below(number: f64) -> f64 {
    let mut power = 1.0;
    if number < 1.0 {
        while power > number && power > f64::MIN_POSITIVE {
            power /= 10.0;
        }
        return power;
    }
    while power < number {
        power *= 10.0;
    }
    power / 10.0
}

fn nice_moments(low: i64, high: i64, count: usize) -> Result<Vec<i64>> {
    if high < low {
        return Err(wrong_order());
    }
    let step = moment_step(low, high, count as f64);
    let mut at = next_round_moment(high, step);
    let mut bins = Vec::new();
    while at >= low && bins.len() < count {
        bins.push(at);
        at = temporal::shift(at, step, -1)
            .ok_or_else(|| Error::out_of_range("a bin leaves the range of timestamps"))?;
    }
    Ok(bins)
}

/// The width of bins of moments: months, days and time apart, each without what is small beside it.
fn moment_step(low: i64, high: i64, count: f64) -> Interval {
    let ((year, month, day), (high_year, high_month, high_day)) =
        (civil_from_days(day_of(low)), civil_from_days(day_of(high)));
    let time = |at: i64| at.rem_euclid(MICROS_PER_DAY);
    let months = (f64::from(high_year - year) * 12.0 + f64::from(high_month) - f64::from(month)) / count;
    let mut days = (f64::from(high_day) - f64::from(day)) / count;
    let mut micros = (time(high) - time(low)) as f64 / count;
    // Fractions of a unit are counted in the next one: 0.2 months are 6 days.
    if months > 0.0 {
        days += months.fract() * 30.0;
    }
    if days > 0.0 {
        micros += days.fract() * MICROS_PER_DAY as f64;
    }
    let mut step = Interval { months: months as i32, days: days as i32, micros: micros as i64 };
    let rounded = |micros: i64, unit: i64| (micros + unit / 2) / unit * unit;
    step.micros = match step.micros {
        _ if step.months > 0 || step.days >= 5 => 0,
        micros if step.days > 0 || micros >= 6 * MICROS_PER_HOUR => rounded(micros, MICROS_PER_HOUR),
        micros if micros >= MICROS_PER_HOUR => rounded(micros, 15 * MICROS_PER_MINUTE),
        micros if micros >= 10 * MICROS_PER_MINUTE => rounded(micros, MICROS_PER_MINUTE),
        micros if micros >= MICROS_PER_MINUTE => rounded(micros, 15 * MICROS_PER_SECOND),
        micros if micros >= 10 * MICROS_PER_SECOND => rounded(micros, MICROS_PER_SECOND),
        micros => micros,
    };
    if step.months >= 6 {
        step.days = 0;
    }
    let goes_on = step.months > 0 || step.days > 0 || step.micros > 0;
    if goes_on { step } else { Interval { months: 0, days: 0, micros: 1 } }
}

/// `at`, or the next moment that begins a month, a day or what else is small beside the step.
fn next_round_moment(at: i64, step: Interval) -> i64 {
    let up = |unit: i64| at.div_euclid(unit) * unit + if at.rem_euclid(unit) == 0 { 0 } else { unit };
    if step.months >= 12 {
        let (_, _, day) = civil_from_days(day_of(at));
        let is_round = day == 1 && at.rem_euclid(MICROS_PER_DAY) == 0;
        let first = (i64::from(day_of(at)) - i64::from(day) + 1) * MICROS_PER_DAY;
        let month = Interval { months: 1, days: 0, micros: 0 };
        return if is_round { at } else { temporal::shift(first, month, 1).unwrap_or(at) };
    }
    match step {
        Interval { months, days, .. } if months > 0 || days > 0 => up(MICROS_PER_DAY),
        Interval { micros, .. } if micros >= MICROS_PER_HOUR => up(MICROS_PER_HOUR),
        Interval { micros, .. } if micros >= MICROS_PER_MINUTE => up(MICROS_PER_MINUTE),
        Interval { micros, .. } if micros >= MICROS_PER_SECOND => up(MICROS_PER_SECOND),
        _ => at,
    }
}

//! Dates, times and timestamps among each other, from text and to text. A time zone, the session's, decides what
//! clocks show; without one it is UTC.
//!
//! Coarser units round half away from zero; infinity stays infinite.

use super::{cast_value, nested_text, number, settle};
use crate::function::{NullHandling, ScalarFunction, ScalarKernel, Volatility};
use crate::parse::round_to;
use crate::parse::{self, Suffix};
use crate::zone::Zone;
use crate::zone::system_micros;
use inlay_types::LogicalType::{
    Date, Json, Time, TimeTz as TimeTzType, Timestamp, TimestampMs, TimestampNs, TimestampS, TimestampTz,
    Varchar,
};
use inlay_types::datetime::{
    DATE_INFINITY, MICROS_PER_DAY, MICROS_PER_SECOND, TIMESTAMP_INFINITY, any_infinite_timestamp, day_of,
    days_of_micros, is_date, is_finite_date, is_finite_timestamp, is_timestamp, micros_of_day,
    write_timestamp_tz,
};
use inlay_types::error::kept_text;
use inlay_types::limits::Meter;
use inlay_types::logical_type::Field;
use inlay_types::time_tz::MAX_OFFSET;
use inlay_types::view::HeapBuilder;
use inlay_types::{
    Error, LogicalType, Native, PhysicalType, Result, TimeTz, Value, Vector, VectorBuilder, View,
};
use std::sync::Arc;

/// Whether dates, times or timestamps of one type become those of another.
pub(super) fn converts(from: &LogicalType, to: &LogicalType) -> bool {
    match (from, to) {
        (Date, to) => to.is_timestamp(),
        (Time, TimeTzType) | (TimeTzType, Time) => true,
        (from, to) if from.is_timestamp() => to.is_timestamp() || matches!(to, Date | Time | TimeTzType),
        _ => false,
    }
}

/// Whether the session's zone decides what a cast gives.
fn asks_for_zone(from: &LogicalType, to: &LogicalType) -> bool {
    let is_zoned = |ty: &LogicalType| matches!(ty, TimestampTz | TimeTzType);
    match (from, to) {
        _ if from == to => false,
        (from, to) if from.is_nested() || to.is_nested() => has_moments(from) || has_moments(to),
        (TimestampTz, to) => matches!(to, Varchar | Json) || converts(from, to),
        (Varchar, to) => is_zoned(to),
        (from, to) => is_zoned(to) && converts(from, to),
    }
}

fn has_moments(ty: &LogicalType) -> bool {
    ty.has_part(&|part| *part == TimestampTz)
}

/// A type with texts in the place of moments of time.
pub fn with_texts(ty: &LogicalType) -> LogicalType {
    let fields = |fields: &[Field]| {
        fields.iter().map(|f| Field::new(Arc::clone(&f.name), with_texts(&f.ty))).collect()
    };
    match ty {
        TimestampTz => Varchar,
        LogicalType::List(element) => LogicalType::list(with_texts(element)),
        LogicalType::Array(element, size) => LogicalType::array(with_texts(element), *size),
        LogicalType::Struct(own) => LogicalType::Struct(fields(own)),
        LogicalType::Union(own) => LogicalType::Union(fields(own)),
        LogicalType::Map(types) => LogicalType::map(with_texts(&types.0), with_texts(&types.1)),
        other => other.clone(),
    }
}

/// Nested values with moments become texts and documents, and the other way round, by way of values whose moments are texts in
/// the zone. `None` for all other casts.
pub(super) fn by_texts(
    input: &Vector,
    to: &LogicalType,
    or_null: bool,
    zone: &Zone,
    out: &mut Vector,
) -> Option<Result<()>> {
    let from = input.logical_type();
    let is_text = |ty: &LogicalType| matches!(ty, Varchar | Json);
    let is_union = |ty: &LogicalType| matches!(ty, LogicalType::Union(_));
    if from == TimestampTz && *to == Json {
        return Some(documents(input, zone, out));
    }
    // A text is of the first member that it is a value of, which only who reads moments knows.
    if from == Varchar && to.is_nested() && has_moments(to) && to.has_part(&is_union) {
        return Some(unions_of_texts(input, to, or_null, zone, out));
    }
    let between = match (&from, to) {
        (from, to) if from.is_nested() && is_text(to) && has_moments(from) => with_texts(from),
        (from, to) if is_text(from) && to.is_nested() && has_moments(to) => with_texts(to),
        _ => return None,
    };
    let mut texts = Vector::empty(between.clone());
    let made = super::cast_with(input, &between, or_null, Some(zone), &mut texts);
    Some(made.and_then(|()| super::cast_with(&texts, to, or_null, Some(zone), out)))
}

/// Nested values with unions and moments, from texts.
fn unions_of_texts(
    input: &Vector,
    to: &LogicalType,
    or_null: bool,
    zone: &Zone,
    out: &mut Vector,
) -> Result<()> {
    let texts = input.flatten();
    let (mut builder, mut meter) = (VectorBuilder::new(to.clone(), texts.len()), Meter::of_rows());
    for row in 0..texts.len() {
        let text = texts.get(row);
        let Some(text) = text.as_str() else {
            builder.push_null();
            continue;
        };
        super::text::ask_for_value(&texts, row, to)?;
        match nested_text::parse_in_zone(text, to, or_null, zone) {
            Ok(value) => builder.push(&value)?,
            Err(error) if or_null && !error.is_of_statement() => builder.push_null(),
            Err(error) => return Err(error),
        }
        meter.add(text.len())?;
    }
    *out = builder.finish().holding(meter.finish());
    Ok(())
}

/// Moments as JSON: texts in quotes.
fn documents(input: &Vector, zone: &Zone, out: &mut Vector) -> Result<()> {
    let mut texts = Vector::empty(Varchar);
    super::cast_with(input, &Varchar, false, Some(zone), &mut texts)?;
    let texts = texts.flatten();
    let (mut builder, mut document) = (VectorBuilder::new(Json, texts.len()), Vec::new());
    for row in 0..texts.len() {
        if texts.is_null(row) {
            builder.push_null();
            continue;
        }
        document.clear();
        let text = texts.views()[row].bytes(texts.heap().buffers());
        crate::json::values::push_value(&String::from_utf8_lossy(text), false, &mut document);
        builder.push_bytes(&document);
    }
    *out = builder.finish();
    Ok(())
}

/// The cast as a function, if `zone` makes it differ from a plain one.
pub fn cast_in_zone(
    from: &LogicalType,
    to: &LogicalType,
    or_null: bool,
    zone: &Arc<Zone>,
) -> Option<ScalarFunction> {
    if zone.is_utc() || !asks_for_zone(from, to) {
        return None;
    }
    let (zone, target) = (Arc::clone(zone), to.clone());
    let kernel = move |args: &[&Vector], _: usize, out: &mut Vector| {
        super::cast_with(args[0], &target, or_null, Some(&zone), out)
    };
    let kernel: Arc<dyn ScalarKernel> = Arc::new(kernel);
    Some(ScalarFunction {
        name: if or_null { "try_cast_in_zone" } else { "cast_in_zone" }.into(),
        arg_types: vec![from.clone()],
        return_type: to.clone(),
        null_handling: NullHandling::Propagate,
        volatility: Volatility::Immutable,
        can_fail: !or_null,
        kernel,
        specialize: None,
        external: None,
    })
}

/// Like [`cast_value`], in a time zone.
pub fn cast_value_in_zone(value: &Value, to: &LogicalType, zone: &Zone) -> Result<Value> {
    let from = value.logical_type();
    if zone.is_utc() || value.is_null() || !asks_for_zone(&from, to) {
        return cast_value(value, to);
    }
    if from.is_nested() || to.is_nested() || *to == Json {
        let one = Vector::from_sql_values(from, std::slice::from_ref(value))?;
        let mut converted = Vector::empty(to.clone());
        super::cast_with(&one, to, false, Some(zone), &mut converted)?;
        return Ok(converted.get(0));
    }
    value_with(value, to, Some(zone)).unwrap_or_else(|| cast_value(value, to))
}

/// The conversion of a value, if it is one of this module.
pub(super) fn value_with(value: &Value, to: &LogicalType, zone: Option<&Zone>) -> Option<Result<Value>> {
    let from = value.logical_type();
    if let (Value::Varchar(text), TimestampTz) = (value, to) {
        return Some(moment_of_text(text.as_bytes(), zone, to).map(Value::TimestampTz));
    }
    if let (Value::Varchar(text), TimeTzType) = (value, to) {
        let time = parse::time_tz(text.as_bytes(), offset_now(zone)).map(Value::TimeTz);
        return Some(time.ok_or_else(|| invalid(text, to)));
    }
    if let (Value::TimestampTz(at), Varchar) = (value, to) {
        let mut text = String::new();
        write_timestamp_tz(&mut text, *at, zone.map_or(0, |zone| zone.offset_at(*at)));
        return Some(Ok(Value::Varchar(text)));
    }
    if !converts(&from, to) {
        return None;
    }
    let stored = value.as_stored_i128().and_then(|stored| i64::try_from(stored).ok())?;
    let converted = convert(stored, &from, to, zone).and_then(|at| Value::from_stored_i128(to, at.into()));
    let reason =
        if matches!(to, Time | TimeTzType) { "has no time of day as" } else { "is out of range for" };
    Some(converted.ok_or_else(|| Error::out_of_range(format!("value {value} {reason} {to}"))))
}

fn invalid(text: &str, to: &LogicalType) -> Error {
    Error::InvalidCast { value: kept_text(text), to: to.to_string() }
}

fn offset_now(zone: Option<&Zone>) -> i32 {
    zone.map_or(0, |zone| zone.offset_at(system_micros()).clamp(-MAX_OFFSET, MAX_OFFSET))
}

/// The moment that a text says, in the zone if it says none itself.
fn moment_of_text(text: &[u8], zone: Option<&Zone>, to: &LogicalType) -> Result<i64> {
    let shown = || String::from_utf8_lossy(text);
    let (local, suffix) = parse::timestamp_tz(text).ok_or_else(|| invalid(&shown(), to))?;
    let moment = match suffix {
        _ if !is_finite_timestamp(local) => Some(local),
        Suffix::None => zone.map_or(Some(local), |zone| zone.to_utc(local)),
        Suffix::Offset(seconds) => local.checked_sub(i64::from(seconds) * MICROS_PER_SECOND),
        Suffix::Name(name) => Zone::named(&String::from_utf8_lossy(name))?.to_utc(local),
    };
    moment
        .filter(|at| is_timestamp(*at) || !is_finite_timestamp(*at))
        .ok_or_else(|| Error::out_of_range(format!("value {} is out of range for {to}", shown())))
}

/// Units per second.
fn units(ty: &LogicalType) -> i64 {
    match ty {
        TimestampS => 1,
        TimestampMs => 1000,
        TimestampNs => 1_000_000_000,
        _ => MICROS_PER_SECOND,
    }
}

/// A stored value of one type as one of another; `None` where there is none.
fn convert(stored: i64, from: &LogicalType, to: &LogicalType, zone: Option<&Zone>) -> Option<i64> {
    match (from, to) {
        (Time, _) => Some(TimeTz { micros: stored, offset: offset_now(zone) }.stored()),
        (TimeTzType, _) => Some(TimeTz::from_stored(stored).micros),
        (Date, to) => {
            if stored.unsigned_abs() == DATE_INFINITY as u64 {
                return Some(TIMESTAMP_INFINITY * stored.signum());
            }
            let at = stored.checked_mul(86_400)?.checked_mul(units(to)).filter(|at| in_range(*at, to))?;
            if *to == TimestampTz { at_utc(at, zone) } else { Some(at) }
        }
        (TimestampTz, TimestampTz) => Some(stored),
        (TimestampTz, TimeTzType) => {
            let offset = zone.map_or(0, |zone| zone.offset_at(stored)).clamp(-MAX_OFFSET, MAX_OFFSET);
            let local = finite(stored)?.checked_add(i64::from(offset) * MICROS_PER_SECOND)?;
            Some(TimeTz { micros: local.rem_euclid(MICROS_PER_DAY), offset }.stored())
        }
        (TimestampTz, to) => {
            let local = zone.map_or(Some(stored), |zone| zone.to_local(stored))?;
            convert(local, &Timestamp, to, None)
        }
        (from, TimestampTz) => at_utc(convert(stored, from, &Timestamp, None)?, zone),
        (from, TimeTzType) => {
            let moment = at_utc(convert(finite(stored)?, from, &Timestamp, None)?, zone)?;
            convert(moment, &TimestampTz, to, zone)
        }
        (from, Date) => {
            if !is_finite_timestamp(stored) {
                return Some(i64::from(DATE_INFINITY) * stored.signum());
            }
            let days = stored.div_euclid(86_400 * units(from));
            i32::try_from(days).ok().filter(|days| is_date(*days)).map(i64::from)
        }
        (from, Time) => {
            let within = finite(stored)?.rem_euclid(86_400 * units(from));
            Some(match units(from) {
                1_000_000_000 => round_to(within, 1000),
                units => within * (MICROS_PER_SECOND / units),
            })
        }
        (from, to) => {
            if !is_finite_timestamp(stored) {
                return Some(stored);
            }
            let (own, other) = (units(from), units(to));
            let at = if own > other {
                Some(round_to(stored, own / other))
            } else {
                stored.checked_mul(other / own)
            };
            at.filter(|at| in_range(*at, to))
        }
    }
}

fn finite(stored: i64) -> Option<i64> {
    is_finite_timestamp(stored).then_some(stored)
}

fn in_range(at: i64, ty: &LogicalType) -> bool {
    if matches!(ty, Timestamp | TimestampTz) {
        is_timestamp(at)
    } else {
        at.unsigned_abs() < TIMESTAMP_INFINITY as u64
    }
}

fn at_utc(local: i64, zone: Option<&Zone>) -> Option<i64> {
    zone.map_or(Some(local), |zone| zone.to_utc(local))
}

/// The conversion of a flat vector, if it is one of this module.
pub(super) fn flat_with(
    input: &Vector,
    to: &LogicalType,
    or_null: bool,
    zone: Option<&Zone>,
    out: &mut Vector,
) -> Option<Result<()>> {
    let from = input.logical_type();
    match (&from, to) {
        (Varchar, TimestampTz) => {
            return Some(texts(input, to, or_null, zone, out, |text| moment_of_text(text, zone, to).ok()));
        }
        (Varchar, TimeTzType) => {
            let offset = offset_now(zone);
            return Some(texts(input, to, or_null, zone, out, |text| {
                parse::time_tz(text, offset).map(TimeTz::stored)
            }));
        }
        (TimestampTz, Varchar) => return Some(shown(input, zone, out)),
        _ if !converts(&from, to) => return None,
        _ => {}
    }
    let flagged = |at: Option<i64>| (at.unwrap_or_default(), at.is_none());
    let narrow = |at: Option<i64>| (at.unwrap_or_default() as i32, at.is_none());
    let (from, one) = (&from, move |at: i64| at);
    if *to != TimestampTz || zone.is_none() {
        if *from == Date {
            return Some(dates_to_moments(input, to, or_null, out));
        }
        if *from == Timestamp && *to == Date {
            return Some(moments_to_dates(input, or_null, out));
        }
        if *from == Timestamp && *to == Time {
            return Some(moments_to_times(input, or_null, out));
        }
    }
    Some(match (from.physical(), to.physical()) {
        (PhysicalType::I32, _) => {
            rows(input, to, or_null, zone, out, |days: i32| flagged(convert(days.into(), from, to, zone)))
        }
        (_, PhysicalType::I32) => {
            rows(input, to, or_null, zone, out, |at: i64| narrow(convert(one(at), from, to, zone)))
        }
        _ => rows(input, to, or_null, zone, out, |at: i64| flagged(convert(at, from, to, zone))),
    })
}

/// Midnights of days, by a loop without branches.
fn dates_to_moments(input: &Vector, to: &LogicalType, or_null: bool, out: &mut Vector) -> Result<()> {
    let unit = 86_400 * units(to);
    // Each precision reaches as far into the past as into the future.
    let days_max = ((TIMESTAMP_INFINITY - 1) / unit).min(i64::from(DATE_INFINITY)) as u32;
    number::run_wide(input, to, or_null, out, move |days: i32| {
        let infinity = if days > 0 { TIMESTAMP_INFINITY } else { -TIMESTAMP_INFINITY };
        let is_finite = is_finite_date(days);
        let at = if is_finite { i64::from(days).wrapping_mul(unit) } else { infinity };
        (at, is_finite & (days.unsigned_abs() > days_max))
    })
}

/// Days of microseconds, each of which has one.
fn moments_to_dates(input: &Vector, or_null: bool, out: &mut Vector) -> Result<()> {
    out.reset_flat(&Date, input.len());
    let moments = &input.values::<i64>()[..input.len()];
    days_of_micros(moments, out.values_mut::<i32>());
    if any_infinite_timestamp(moments) {
        out.values_mut::<i32>().iter_mut().zip(moments).for_each(|(day, &at)| *day = day_of(at));
    }
    settle(input, &[], or_null, out)
}

/// Times of day, of moments that are finite.
fn moments_to_times(input: &Vector, or_null: bool, out: &mut Vector) -> Result<()> {
    number::run_wide(input, &Time, or_null, out, |at: i64| (micros_of_day(at), !is_finite_timestamp(at)))
}

/// Converts row by row; an error is explained in the zone.
fn rows<A: Native, O: Native>(
    input: &Vector,
    to: &LogicalType,
    or_null: bool,
    zone: Option<&Zone>,
    out: &mut Vector,
    f: impl Fn(A) -> (O, bool),
) -> Result<()> {
    let outcome = number::run(input, to, or_null, out, &f);
    explained(outcome, input, to, zone)
}

/// An error of the conversion without a zone says what that with one makes of the first wrong value.
fn explained(outcome: Result<()>, input: &Vector, to: &LogicalType, zone: Option<&Zone>) -> Result<()> {
    if outcome.is_ok() || zone.is_none() {
        return outcome;
    }
    for row in (0..input.len()).filter(|row| !input.is_null(*row)) {
        if let Some(converted) = value_with(&input.get(row), to, zone) {
            converted?;
        }
    }
    outcome
}

fn texts(
    input: &Vector,
    to: &LogicalType,
    or_null: bool,
    zone: Option<&Zone>,
    out: &mut Vector,
    parse: impl Fn(&[u8]) -> Option<i64>,
) -> Result<()> {
    out.reset_flat(to, input.len());
    let heap = input.heap().buffers();
    let mut failed = Vec::new();
    for (row, (target, view)) in out.values_mut::<i64>().iter_mut().zip(input.views()).enumerate() {
        *target = 0;
        if input.is_null(row) {
            continue;
        }
        match parse(view.bytes(heap)) {
            Some(value) => *target = value,
            None => {
                failed.push(row as u32);
                if !or_null {
                    break;
                }
            }
        }
    }
    let outcome = settle(input, &failed, or_null, out);
    explained(outcome, input, to, zone)
}

/// TIMESTAMPTZ as text.
fn shown(input: &Vector, zone: Option<&Zone>, out: &mut Vector) -> Result<()> {
    let (mut heap, mut text) = (HeapBuilder::new(), String::new());
    let mut views = Vec::with_capacity(input.len());
    for (row, at) in input.values::<i64>().iter().enumerate().take(input.len()) {
        text.clear();
        if !input.is_null(row) {
            write_timestamp_tz(&mut text, *at, zone.map_or(0, |zone| zone.offset_at(*at)));
        }
        views.push(heap.push(text.as_bytes()));
    }
    out.reset_flat(&Varchar, input.len());
    out.values_mut::<View>().copy_from_slice(&views);
    out.set_heap(heap.finish());
    settle(input, &[], false, out)
}

/// Whether a cast of this module, or from text to one of its types, exists.
pub(super) fn exists(from: &LogicalType, to: &LogicalType) -> bool {
    converts(from, to) || *from == Varchar && to.is_temporal()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::can_cast;
    use inlay_types::Bitmap;

    /// Loops over columns give what single values do: at the ends of each type's range, infinite and NULL.
    #[test]
    fn columns_of_dates_and_moments_are_converted_as_single_ones() {
        let limits = [106_751, 106_752, 106_751_991, 106_751_992, DATE_INFINITY - 1, DATE_INFINITY, i32::MAX];
        let days: Vec<i32> =
            limits.into_iter().flat_map(|day| [day, -day]).chain([0, 1, -1, i32::MIN, 19_000]).collect();
        let moments: Vec<i64> = [0, 1, MICROS_PER_DAY - 1, MICROS_PER_DAY, 1 << 60, TIMESTAMP_INFINITY - 1]
            .into_iter()
            .chain([TIMESTAMP_INFINITY, 1_700_000_000_123_456])
            .flat_map(|at| [at, -at])
            .collect();
        let targets = [Timestamp, TimestampS, TimestampMs, TimestampNs, TimestampTz, Date, Time];
        for (from, stored) in [
            (Date, days.iter().map(|&day| i64::from(day)).collect::<Vec<i64>>()),
            (Timestamp, moments.clone()),
        ] {
            for to in targets.iter().filter(|to| converts(&from, to) && **to != from) {
                let mut column = match from {
                    Date => Vector::from_values(Date, &days),
                    _ => Vector::from_values(Timestamp, &moments),
                };
                column.set_validity(Some(Bitmap::from_fn(stored.len(), |row| row % 7 != 3)));
                let mut out = Vector::empty(to.clone());
                flat_with(&column, to, true, None, &mut out).unwrap().unwrap();
                for (row, &at) in stored.iter().enumerate() {
                    let one =
                        convert(at, &from, to, None).and_then(|at| Value::from_stored_i128(to, at.into()));
                    let expected = if row % 7 == 3 { None } else { one };
                    assert_eq!(out.get(row), expected.unwrap_or(Value::Null), "{at} of {from} as {to}");
                }
            }
        }
        let far = Vector::from_values(Date, &[0, DATE_INFINITY - 1]);
        let mut out = Vector::empty(Timestamp);
        let refused = flat_with(&far, &Timestamp, false, None, &mut out).unwrap().unwrap_err().to_string();
        assert!(refused.contains("is out of range for TIMESTAMP"), "{refused}");
    }

    #[test]
    fn zones_decide_what_clocks_show() {
        let zone = Zone::named("Europe/Amsterdam").unwrap();
        let moment =
            |text: &str| cast_value_in_zone(&Value::Varchar(text.to_string()), &TimestampTz, &zone).unwrap();
        let shown = |value: &Value| cast_value_in_zone(value, &Varchar, &zone).unwrap().to_string();
        assert_eq!(shown(&moment("2024-03-31 02:30:00")), "2024-03-31 03:30:00+02");
        assert_eq!(shown(&moment("2024-10-27 02:30:00")), "2024-10-27 02:30:00+01");
        assert_eq!(shown(&moment("2024-10-27 02:30:00+02")), "2024-10-27 02:30:00+02");
        assert_eq!(shown(&moment("2024-07-01 00:00:00 America/New_York")), "2024-07-01 06:00:00+02");
        assert_eq!(shown(&moment("infinity")), "infinity");
        let date = cast_value_in_zone(&moment("2024-07-31 23:30:00+00"), &Date, &zone).unwrap();
        assert_eq!(date.to_string(), "2024-08-01");
        assert!(can_cast(&Varchar, &TimestampTz));
    }
}

//! Quantiles: exact, approximate and of a sample.

use super::{Aggregate, aggregate, concrete, declared};
use inlay_kernels::aggregate::{digest, quantile, reservoir};
use inlay_kernels::function::{AggregateFunction, AggregateRules};
use inlay_kernels::resolve::ArgType;
use inlay_types::LogicalType::{
    self, Date, Decimal, Double, HugeInt, Integer, Interval, Null, Real, SmallInt, Time, Timestamp, UHugeInt,
    UInteger, USmallInt, UTinyInt,
};

static CONTINUOUS: AggregateRules = AggregateRules::new("quantile_cont", quantile::continuous);
static DISCRETE: AggregateRules = AggregateRules::new("quantile_disc", quantile::discrete);
static DEVIATION: AggregateRules = AggregateRules::new("mad", quantile::deviation);
static APPROXIMATE: AggregateRules = AggregateRules::new("approx_quantile", digest::create);
static SAMPLED: AggregateRules = AggregateRules::new("reservoir_quantile", reservoir::create);

pub(super) static TABLE: &[Aggregate] = &[
    aggregate(
        "median",
        &[],
        "median(number) -> number\nmedian(DATE) -> TIMESTAMP\nmedian(TIMESTAMP) -> TIMESTAMP\nmedian(TIME) -> TIME\n\
         median(INTERVAL) -> INTERVAL\nmedian(any) -> any",
        "middle value; between the two middle ones where the type has values between",
        |args| {
            let [arg] = args else { return None };
            let ty = if arg.ty == Null { Double } else { arg.ty.clone() };
            match continuous_type(&ty).or((ty == Interval).then_some(Interval)) {
                Some(ty) => declared("median", &CONTINUOUS, vec![ty.clone()], ty),
                None => declared("median", &DISCRETE, vec![ty.clone()], ty),
            }
        },
    )
    .example("median(x) FROM (VALUES (1), (2), (10)) t(x) = 2.0"),
    aggregate(
        "quantile_cont",
        &["percentile_cont"],
        "quantile_cont(number, fraction) -> number\nquantile_cont(DATE, fraction) -> TIMESTAMP\n\
         quantile_cont(TIMESTAMP, fraction) -> TIMESTAMP\nquantile_cont(TIME, fraction) -> TIME\n\
         quantile_cont(any, fraction[]) -> any[]",
        "value below which a fraction lies, between two values if need be; a negative fraction counts from above",
        |args| {
            let [arg, fraction] = args else { return None };
            let ty = if arg.ty == Null { Double } else { continuous_type(&arg.ty)? };
            with_fraction("quantile_cont", &CONTINUOUS, ty, fraction)
        },
    )
    .constants(&[1])
    .example("quantile_cont(x, 0.5) FROM (VALUES (1), (2)) t(x) = 1.5"),
    aggregate(
        "quantile_disc",
        &["quantile", "percentile_disc"],
        "quantile_disc(any, fraction) -> any\nquantile_disc(any, fraction[]) -> any[]",
        "the first value that a fraction of all values is not above; a negative fraction counts from above",
        |args| {
            let [arg, fraction] = args else { return None };
            with_fraction("quantile_disc", &DISCRETE, concrete(arg.ty.clone()), fraction)
        },
    )
    .constants(&[1])
    .example("quantile_disc(x, 0.5) FROM (VALUES (1), (2), (3)) t(x) = 2"),
    aggregate(
        "mad",
        &[],
        "mad(number) -> number\nmad(DATE) -> INTERVAL\nmad(TIMESTAMP) -> INTERVAL\nmad(TIME) -> INTERVAL",
        "median of the distances to the median",
        |args| {
            let [arg] = args else { return None };
            let ty = if arg.ty == Null { Double } else { continuous_type(&arg.ty)? };
            let result = if ty.is_temporal() { Interval } else { ty.clone() };
            declared("mad", &DEVIATION, vec![ty], result)
        },
    )
    .example("mad(x) FROM (VALUES (1), (2), (9)) t(x) = 1.0"),
    aggregate(
        "approx_quantile",
        &[],
        "approx_quantile(number, fraction) -> number\napprox_quantile(DATE, fraction) -> DATE\n\
         approx_quantile(TIMESTAMP, fraction) -> TIMESTAMP\napprox_quantile(TIME, fraction) -> TIME\n\
         approx_quantile(any, fraction[]) -> any[]",
        "value below which a fraction lies, about, by a t-digest: in little memory",
        |args| {
            let [arg, fraction] = args else { return None };
            let ty = match &arg.ty {
                Null | Real | UHugeInt => Double,
                Date | Time | Timestamp => arg.ty.clone(),
                ty => signed(ty)?,
            };
            with_fraction("approx_quantile", &APPROXIMATE, ty, fraction)
        },
    )
    .constants(&[1])
    .example("approx_quantile(x, 0.5) FROM (VALUES (1), (2), (3)) t(x) = 2"),
    aggregate(
        "reservoir_quantile",
        &[],
        "reservoir_quantile(number, fraction, sample_size) -> number\n\
         reservoir_quantile(number, fraction[], sample_size) -> number[]",
        "quantile of a random sample, of 8192 values if no size is given",
        |args| {
            let [arg, fraction, rest @ ..] = args else { return None };
            let ty = if arg.ty == Null { Double } else { signed(&arg.ty)? };
            let mut function = with_fraction("reservoir_quantile", &SAMPLED, ty, fraction)?;
            match rest {
                [] => {}
                [size] if size.ty.is_integer() => function.arg_types.push(Integer),
                _ => return None,
            }
            Some(function)
        },
    )
    .constants(&[1, 2])
    .example("reservoir_quantile(x, 0.5, 100) FROM (VALUES (1), (2), (3)) t(x) = 2"),
];

/// The type that a type is interpolated in.
fn continuous_type(ty: &LogicalType) -> Option<LogicalType> {
    match ty {
        ty if ty.is_integer() => Some(Double),
        Real | Double | Decimal { .. } | Timestamp | LogicalType::TimestampTz | Time => Some(ty.clone()),
        Date => Some(Timestamp),
        _ => None,
    }
}

/// Numbers, unsigned ones as signed ones that hold them.
fn signed(ty: &LogicalType) -> Option<LogicalType> {
    match ty {
        UTinyInt => Some(SmallInt),
        USmallInt => Some(Integer),
        UInteger => Some(LogicalType::BigInt),
        LogicalType::UBigInt => Some(HugeInt),
        UHugeInt => Some(Double),
        ty if ty.is_numeric() => Some(ty.clone()),
        _ => None,
    }
}

/// The function of a value and a fraction, or a list of fractions, for which there is a list of results.
fn with_fraction(
    name: &'static str,
    rules: &'static AggregateRules,
    ty: LogicalType,
    fraction: &ArgType,
) -> Option<AggregateFunction> {
    if fraction.ty.is_numeric() || fraction.ty == Null {
        return declared(name, rules, vec![ty.clone(), Double], ty);
    }
    let LogicalType::List(element) = &fraction.ty else { return None };
    let fits = element.is_numeric() || **element == Null;
    let fractions = LogicalType::list(Double);
    fits.then(|| declared(name, rules, vec![ty.clone(), fractions], LogicalType::list(ty)))?
}

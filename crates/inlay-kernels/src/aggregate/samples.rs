//! Functions for the tests of accumulators, with the types that the library of functions gives them.

use super::{frequency, list, quantile};
use crate::function::{AggregateFunction, AggregateKind, AggregateRules};
use inlay_types::LogicalType::{self, BigInt, Date, Double, Interval, Timestamp, UBigInt};

static LIST: AggregateRules = AggregateRules::new("list", list::create).ordered();
static TOP: AggregateRules = AggregateRules::new("approx_top_k", frequency::top).ordered();
static HISTOGRAM: AggregateRules = AggregateRules::new("histogram", frequency::histogram);
static CONTINUOUS: AggregateRules = AggregateRules::new("quantile_cont", quantile::continuous);
static DISCRETE: AggregateRules = AggregateRules::new("quantile_disc", quantile::discrete);
static DEVIATION: AggregateRules = AggregateRules::new("mad", quantile::deviation);

/// A function by its name: `list`, `mode`, ... of one argument of this type.
pub fn function(name: &'static str, ty: &LogicalType) -> AggregateFunction {
    let list = LogicalType::list(ty.clone());
    // Values between two dates are moments.
    let between = if *ty == Date { Timestamp } else { ty.clone() };
    let distance = if ty.is_temporal() { Interval } else { ty.clone() };
    let (kind, arg, result) = match name {
        "first" => (AggregateKind::First, ty.clone(), ty.clone()),
        "any_value" => (AggregateKind::AnyValue, ty.clone(), ty.clone()),
        "mode" => (AggregateKind::Mode, ty.clone(), ty.clone()),
        "last" => {
            static LAST: AggregateRules = AggregateRules::new("last", super::pick::last).ordered();
            (AggregateKind::Declared(&LAST), ty.clone(), ty.clone())
        }
        "list" => (AggregateKind::Declared(&LIST), ty.clone(), list),
        "histogram" => {
            (AggregateKind::Declared(&HISTOGRAM), ty.clone(), LogicalType::map(ty.clone(), UBigInt))
        }
        "median" if *ty == Interval => (AggregateKind::Declared(&CONTINUOUS), ty.clone(), ty.clone()),
        "median" => (AggregateKind::Declared(&CONTINUOUS), between.clone(), between),
        "mad" => (AggregateKind::Declared(&DEVIATION), between, distance),
        other => panic!("no sample named {other}"),
    };
    AggregateFunction { name: name.into(), kind, arg_types: vec![arg], return_type: result, external: None }
}

/// The most frequent values of a column of this type.
pub fn top(ty: &LogicalType) -> AggregateFunction {
    AggregateFunction {
        name: "approx_top_k".into(),
        kind: AggregateKind::Declared(&TOP),
        arg_types: vec![ty.clone(), BigInt],
        return_type: LogicalType::list(ty.clone()),
        external: None,
    }
}

/// `quantile_cont` or `quantile_disc` of a column of this type, at one fraction or at a list of them.
pub fn quantile(name: &'static str, ty: &LogicalType, is_list: bool) -> AggregateFunction {
    let (rules, ty) = match (name, ty) {
        ("quantile_cont", Date) => (&CONTINUOUS, Timestamp),
        ("quantile_cont", ty) => (&CONTINUOUS, ty.clone()),
        (_, ty) => (&DISCRETE, ty.clone()),
    };
    let (fraction, result) = match is_list {
        true => (LogicalType::list(Double), LogicalType::list(ty.clone())),
        false => (Double, ty.clone()),
    };
    AggregateFunction {
        name: name.into(),
        kind: AggregateKind::Declared(rules),
        arg_types: vec![ty, fraction],
        return_type: result,
        external: None,
    }
}

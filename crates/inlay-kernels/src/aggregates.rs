//! The table of aggregate functions: names, types and results. Their accumulators are in [`crate::aggregate`].

use crate::function::{AggregateFunction, AggregateKind};
use crate::registry::ArgType;
use inlay_types::LogicalType;
use inlay_types::LogicalType::{BigInt, Boolean, Decimal, Double, HugeInt, Varchar};

/// An aggregate function as declared.
#[derive(Clone, Copy)]
pub struct Aggregate {
    /// Canonical lower-case name.
    pub name: &'static str,
    /// Other names.
    pub aliases: &'static [&'static str],
    /// As shown in messages and the manual.
    pub signature: &'static str,
    /// One line: what it gives.
    pub description: &'static str,
    pub(crate) resolve: fn(&[ArgType]) -> Option<AggregateFunction>,
}

impl Aggregate {
    pub(crate) fn is_called(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name) || self.aliases.iter().any(|a| a.eq_ignore_ascii_case(name))
    }
}

/// All aggregate functions.
pub fn all() -> impl Iterator<Item = &'static Aggregate> {
    AGGREGATES.iter()
}

const fn aggregate(
    name: &'static str,
    aliases: &'static [&'static str],
    signature: &'static str,
    description: &'static str,
    resolve: fn(&[ArgType]) -> Option<AggregateFunction>,
) -> Aggregate {
    Aggregate { name, aliases, signature, description, resolve }
}

static AGGREGATES: &[Aggregate] = &[
    aggregate(
        "count",
        &["count_star"],
        "count(any) -> BIGINT",
        "number of rows, or of values that are not NULL",
        |args| match args {
            [] => made("count_star", AggregateKind::CountStar, vec![], BigInt),
            [arg] => made("count", AggregateKind::Count, vec![arg.ty], BigInt),
            _ => None,
        },
    ),
    aggregate("sum", &[], "sum(number) -> HUGEINT, DECIMAL(38,s) or DOUBLE", "sum of all values", |args| {
        let arg = number(args)?;
        made("sum", AggregateKind::Sum, vec![arg], sum_type(arg))
    }),
    aggregate("avg", &["mean"], "avg(number) -> DOUBLE", "mean of all values", |args| {
        let arg = number(args).filter(|ty| *ty != Boolean)?;
        made("avg", AggregateKind::Avg, vec![arg], Double)
    }),
    aggregate("min", &[], "min(any) -> any", "smallest value", |args| same("min", AggregateKind::Min, args)),
    aggregate("max", &[], "max(any) -> any", "largest value", |args| same("max", AggregateKind::Max, args)),
    aggregate("first", &["arbitrary"], "first(any) -> any", "value of the first row, NULL or not", |args| {
        same("first", AggregateKind::First, args)
    }),
    aggregate("any_value", &[], "any_value(any) -> any", "some value that is not NULL", |args| {
        same("any_value", AggregateKind::AnyValue, args)
    }),
    aggregate(
        "bool_and",
        &["every"],
        "bool_and(BOOLEAN) -> BOOLEAN",
        "whether all values are true",
        |args| boolean("bool_and", AggregateKind::BoolAnd, args),
    ),
    aggregate("bool_or", &[], "bool_or(BOOLEAN) -> BOOLEAN", "whether some value is true", |args| {
        boolean("bool_or", AggregateKind::BoolOr, args)
    }),
    aggregate(
        "stddev_samp",
        &["stddev"],
        "stddev_samp(number) -> DOUBLE",
        "sample standard deviation",
        |args| doubles::<1>("stddev_samp", AggregateKind::StddevSamp, args),
    ),
    aggregate("stddev_pop", &[], "stddev_pop(number) -> DOUBLE", "population standard deviation", |args| {
        doubles::<1>("stddev_pop", AggregateKind::StddevPop, args)
    }),
    aggregate("var_samp", &["variance"], "var_samp(number) -> DOUBLE", "sample variance", |args| {
        doubles::<1>("var_samp", AggregateKind::VarSamp, args)
    }),
    aggregate("var_pop", &[], "var_pop(number) -> DOUBLE", "population variance", |args| {
        doubles::<1>("var_pop", AggregateKind::VarPop, args)
    }),
    aggregate("corr", &[], "corr(y, x) -> DOUBLE", "Pearson's correlation", |args| {
        doubles::<2>("corr", AggregateKind::Corr, args)
    }),
    aggregate("covar_pop", &[], "covar_pop(y, x) -> DOUBLE", "population covariance", |args| {
        doubles::<2>("covar_pop", AggregateKind::CovarPop, args)
    }),
    aggregate("covar_samp", &[], "covar_samp(y, x) -> DOUBLE", "sample covariance", |args| {
        doubles::<2>("covar_samp", AggregateKind::CovarSamp, args)
    }),
    aggregate("product", &[], "product(number) -> DOUBLE", "product of all values", |args| {
        doubles::<1>("product", AggregateKind::Product, args)
    }),
    aggregate(
        "string_agg",
        &["group_concat", "listagg"],
        "string_agg(text, separator) -> VARCHAR",
        "all texts joined by a separator (a comma, if none is given)",
        |args| match args {
            [_] => made("string_agg", AggregateKind::StringAgg, vec![Varchar], Varchar),
            [_, separator] if matches!(separator.ty, Varchar | LogicalType::Null) => {
                made("string_agg", AggregateKind::StringAgg, vec![Varchar, Varchar], Varchar)
            }
            _ => None,
        },
    ),
    aggregate("median", &[], "median(number) -> DOUBLE", "middle value, interpolated", |args| {
        doubles::<1>("median", AggregateKind::Median, args)
    }),
    aggregate(
        "quantile_cont",
        &["percentile_cont"],
        "quantile_cont(number, fraction) -> DOUBLE",
        "value below which a fraction lies, interpolated",
        |args| doubles::<2>("quantile_cont", AggregateKind::QuantileCont, args),
    ),
    aggregate(
        "arg_min",
        &["min_by"],
        "arg_min(value, by) -> value",
        "value of the row with the smallest `by`",
        |args| picked("arg_min", AggregateKind::ArgMin, args),
    ),
    aggregate(
        "arg_max",
        &["max_by"],
        "arg_max(value, by) -> value",
        "value of the row with the largest `by`",
        |args| picked("arg_max", AggregateKind::ArgMax, args),
    ),
    aggregate(
        "approx_count_distinct",
        &[],
        "approx_count_distinct(any) -> BIGINT",
        "number of distinct values, estimated by HyperLogLog",
        |args| match args {
            [arg] => made("approx_count_distinct", AggregateKind::ApproxCountDistinct, vec![arg.ty], BigInt),
            _ => None,
        },
    ),
    aggregate("bit_and", &[], "bit_and(integer) -> integer", "bitwise and of all values", |args| {
        bits("bit_and", AggregateKind::BitAnd, args)
    }),
    aggregate("bit_or", &[], "bit_or(integer) -> integer", "bitwise or of all values", |args| {
        bits("bit_or", AggregateKind::BitOr, args)
    }),
    aggregate("bit_xor", &[], "bit_xor(integer) -> integer", "bitwise exclusive or of all values", |args| {
        bits("bit_xor", AggregateKind::BitXor, args)
    }),
    aggregate("mode", &[], "mode(any) -> any", "most frequent value", |args| {
        same("mode", AggregateKind::Mode, args)
    }),
];

fn made(
    name: &'static str,
    kind: AggregateKind,
    arg_types: Vec<LogicalType>,
    return_type: LogicalType,
) -> Option<AggregateFunction> {
    Some(AggregateFunction { name, kind, arg_types, return_type })
}

/// The type of a bare NULL as an argument is INTEGER.
fn concrete(ty: LogicalType) -> LogicalType {
    if ty == LogicalType::Null { LogicalType::Integer } else { ty }
}

/// The one argument, a number or a truth value.
fn number(args: &[ArgType]) -> Option<LogicalType> {
    let [arg] = args else { return None };
    let ty = concrete(arg.ty);
    if ty == Varchar && arg.is_literal {
        return Some(Double);
    }
    (ty.is_numeric() || ty == Boolean).then_some(ty)
}

fn sum_type(ty: LogicalType) -> LogicalType {
    match ty {
        Decimal { scale, .. } => LogicalType::decimal(38, scale),
        ty if ty.is_float() => Double,
        _ => HugeInt,
    }
}

fn same(name: &'static str, kind: AggregateKind, args: &[ArgType]) -> Option<AggregateFunction> {
    let [arg] = args else { return None };
    let ty = concrete(arg.ty);
    made(name, kind, vec![ty], ty)
}

fn boolean(name: &'static str, kind: AggregateKind, args: &[ArgType]) -> Option<AggregateFunction> {
    let [arg] = args else { return None };
    let fits = matches!(arg.ty, Boolean | LogicalType::Null) || (arg.is_literal && arg.ty == Varchar);
    if fits { made(name, kind, vec![Boolean], Boolean) } else { None }
}

fn doubles<const N: usize>(
    name: &'static str,
    kind: AggregateKind,
    args: &[ArgType],
) -> Option<AggregateFunction> {
    let fit = args
        .iter()
        .all(|a| a.ty.is_numeric() || a.ty == LogicalType::Null || (a.is_literal && a.ty == Varchar));
    if args.len() == N && fit { made(name, kind, vec![Double; N], Double) } else { None }
}

fn bits(name: &'static str, kind: AggregateKind, args: &[ArgType]) -> Option<AggregateFunction> {
    let [arg] = args else { return None };
    let ty = concrete(arg.ty);
    if ty.is_integer() { made(name, kind, vec![ty], ty) } else { None }
}

fn picked(name: &'static str, kind: AggregateKind, args: &[ArgType]) -> Option<AggregateFunction> {
    let [value, by] = args else { return None };
    made(name, kind, vec![concrete(value.ty), concrete(by.ty)], concrete(value.ty))
}

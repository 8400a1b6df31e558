//! The table of aggregate functions: names, types and results. Their accumulators are in [`inlay_kernels::aggregate`].

mod lists;
mod quantiles;
mod statistics;

use inlay_kernels::aggregate::{bit_strings, several, temporal};
use inlay_kernels::function::{AggregateFunction, AggregateKind, AggregateRules};
use inlay_kernels::resolve::ArgType;
use inlay_types::LogicalType;
use inlay_types::LogicalType::{BigInt, Boolean, Decimal, Double, HugeInt, Varchar};

/// An aggregate function as declared.
#[derive(Clone, Copy)]
pub struct Aggregate {
    /// Canonical lower-case name.
    pub name: &'static str,
    /// Other names.
    pub aliases: &'static [&'static str],
    /// As shown in messages and the manual; a line each.
    pub signature: &'static str,
    /// One line: what it gives.
    pub description: &'static str,
    /// A call with its FROM and what it gives, for the manual; see [`crate::manual::Example`].
    pub example: &'static str,
    /// Positions of arguments that must be constant: fractions, separators, numbers of values.
    pub constants: &'static [usize],
    pub(crate) resolve: fn(&[ArgType]) -> Option<AggregateFunction>,
}

impl Aggregate {
    /// The same with an example.
    const fn example(mut self, example: &'static str) -> Self {
        self.example = example;
        self
    }

    /// The same with arguments that must be constant.
    const fn constants(mut self, constants: &'static [usize]) -> Self {
        self.constants = constants;
        self
    }
}

/// All aggregate functions.
pub fn all() -> impl Iterator<Item = &'static Aggregate> {
    [AGGREGATES, statistics::TABLE, quantiles::TABLE, lists::TABLE].into_iter().flatten()
}

const fn aggregate(
    name: &'static str,
    aliases: &'static [&'static str],
    signature: &'static str,
    description: &'static str,
    resolve: fn(&[ArgType]) -> Option<AggregateFunction>,
) -> Aggregate {
    Aggregate { name, aliases, signature, description, example: "", constants: &[], resolve }
}

static AGGREGATES: &[Aggregate] = &[
    aggregate(
        "count",
        &["count_star"],
        "count(any) -> BIGINT",
        "number of rows, or of values that are not NULL",
        |args| match args {
            [] => made("count_star", AggregateKind::CountStar, vec![], BigInt),
            [arg] => made("count", AggregateKind::Count, vec![arg.ty.clone()], BigInt),
            _ => None,
        },
    )
    .example("count(x) FROM (VALUES (1), (NULL), (3)) t(x) = 2"),
    aggregate("sum", &[], "sum(integer) -> HUGEINT\nsum(DECIMAL) -> DECIMAL(38,s)\nsum(float) -> DOUBLE\nsum(INTERVAL) -> INTERVAL", "sum of all values", |args| {
        if let [arg] = args && arg.ty == LogicalType::Interval {
            static RULES: AggregateRules = AggregateRules::new("sum of intervals", temporal::sum);
            return declared("sum", &RULES, vec![LogicalType::Interval], LogicalType::Interval);
        }
        let arg = without_uhugeint(number(args)?);
        let ty = sum_type(arg.clone());
        made("sum", AggregateKind::Sum, vec![arg], ty)
    })
    .example("sum(x) FROM (VALUES (1), (2), (3)) t(x) = 6"),
    aggregate("avg", &["mean"], "avg(number) -> DOUBLE\navg(DATE) -> TIMESTAMP\navg(TIMESTAMP) -> TIMESTAMP\navg(TIME) -> TIME\navg(INTERVAL) -> INTERVAL", "mean of all values", |args| {
        if let Some(function) = temporal_average(args) {
            return Some(function);
        }
        let arg = without_uhugeint(number(args).filter(|ty| *ty != Boolean)?);
        made("avg", AggregateKind::Avg, vec![arg], Double)
    })
    .example("avg(x) FROM (VALUES (1), (2), (6)) t(x) = 3.0"),
    aggregate("min", &[], "min(any) -> any\nmin(any, n) -> any[]", "smallest value; or the n smallest", |args| {
        static RULES: AggregateRules = AggregateRules::new("min of several", several::min);
        if args.len() == 2 { lists::several("min", &RULES, args) } else { same("min", AggregateKind::Min, args) }
    })
        .constants(&[1])
        .example("min(x) FROM (VALUES (3), (1), (2)) t(x) = 1"),
    aggregate("max", &[], "max(any) -> any\nmax(any, n) -> any[]", "largest value; or the n largest", |args| {
        static RULES: AggregateRules = AggregateRules::new("max of several", several::max);
        if args.len() == 2 { lists::several("max", &RULES, args) } else { same("max", AggregateKind::Max, args) }
    })
        .constants(&[1])
        .example("max(x) FROM (VALUES (3), (1), (2)) t(x) = 3"),
    aggregate("first", &["arbitrary"], "first(any) -> any", "value of the first row, NULL or not", |args| {
        same("first", AggregateKind::First, args)
    })
    .example("first(x) FROM (VALUES (3), (1), (2)) t(x) = 3"),
    aggregate("any_value", &[], "any_value(any) -> any", "some value that is not NULL", |args| {
        same("any_value", AggregateKind::AnyValue, args)
    })
    .example("any_value(x) FROM (VALUES (NULL), (2)) t(x) = 2"),
    aggregate(
        "bool_and",
        &["every"],
        "bool_and(BOOLEAN) -> BOOLEAN",
        "whether all values are true",
        |args| boolean("bool_and", AggregateKind::BoolAnd, args),
    )
    .example("bool_and(x > 1) FROM (VALUES (1), (2)) t(x) = false"),
    aggregate("bool_or", &[], "bool_or(BOOLEAN) -> BOOLEAN", "whether some value is true", |args| {
        boolean("bool_or", AggregateKind::BoolOr, args)
    })
    .example("bool_or(x > 1) FROM (VALUES (1), (2)) t(x) = true"),
    aggregate(
        "stddev_samp",
        &["stddev"],
        "stddev_samp(number) -> DOUBLE",
        "sample standard deviation",
        |args| doubles::<1>("stddev_samp", AggregateKind::StddevSamp, args),
    )
    .example("stddev_samp(x) FROM (VALUES (1), (2), (3)) t(x) = 1.0"),
    aggregate("stddev_pop", &[], "stddev_pop(number) -> DOUBLE", "population standard deviation", |args| {
        doubles::<1>("stddev_pop", AggregateKind::StddevPop, args)
    })
    .example("stddev_pop(x) FROM (VALUES (1), (3)) t(x) = 1.0"),
    aggregate("var_samp", &["variance"], "var_samp(number) -> DOUBLE", "sample variance", |args| {
        doubles::<1>("var_samp", AggregateKind::VarSamp, args)
    })
    .example("var_samp(x) FROM (VALUES (1), (2), (3)) t(x) = 1.0"),
    aggregate("var_pop", &[], "var_pop(number) -> DOUBLE", "population variance", |args| {
        doubles::<1>("var_pop", AggregateKind::VarPop, args)
    })
    .example("var_pop(x) FROM (VALUES (1), (3)) t(x) = 1.0"),
    aggregate("corr", &[], "corr(y, x) -> DOUBLE", "Pearson's correlation", |args| {
        doubles::<2>("corr", AggregateKind::Corr, args)
    })
    .example("corr(y, x) FROM (VALUES (1, 2), (2, 4), (3, 6)) t(x, y) = 1.0"),
    aggregate("covar_pop", &[], "covar_pop(y, x) -> DOUBLE", "population covariance", |args| {
        doubles::<2>("covar_pop", AggregateKind::CovarPop, args)
    })
    .example("covar_pop(y, x) FROM (VALUES (1, 2), (3, 6)) t(x, y) = 2.0"),
    aggregate("covar_samp", &[], "covar_samp(y, x) -> DOUBLE", "sample covariance", |args| {
        doubles::<2>("covar_samp", AggregateKind::CovarSamp, args)
    })
    .example("covar_samp(y, x) FROM (VALUES (1, 2), (3, 6)) t(x, y) = 4.0"),
    aggregate("product", &[], "product(number) -> DOUBLE", "product of all values", |args| {
        doubles::<1>("product", AggregateKind::Product, args)
    })
    .example("product(x) FROM (VALUES (2), (3), (4)) t(x) = 24.0"),
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
    )
    .constants(&[1])
    .example("string_agg(x, '-') FROM (VALUES ('a'), ('b')) t(x) = 'a-b'"),
    aggregate(
        "arg_min",
        &["min_by", "argmin"],
        "arg_min(value, by) -> value\narg_min(value, by, n) -> value[]",
        "value of the row with the smallest `by`; or values of the n rows",
        |args| {
            static RULES: AggregateRules = AggregateRules::new("arg_min of several", several::arg_min).ordered();
            match args.len() {
                3 => lists::several("arg_min", &RULES, args),
                _ => picked("arg_min", AggregateKind::ArgMin, args),
            }
        },
    )
    .constants(&[2])
    .example("arg_min(x, y) FROM (VALUES ('a', 2), ('b', 1)) t(x, y) = 'b'"),
    aggregate(
        "arg_max",
        &["max_by", "argmax"],
        "arg_max(value, by) -> value\narg_max(value, by, n) -> value[]",
        "value of the row with the largest `by`; or values of the n rows",
        |args| {
            static RULES: AggregateRules = AggregateRules::new("arg_max of several", several::arg_max).ordered();
            match args.len() {
                3 => lists::several("arg_max", &RULES, args),
                _ => picked("arg_max", AggregateKind::ArgMax, args),
            }
        },
    )
    .constants(&[2])
    .example("arg_max(x, y) FROM (VALUES ('a', 2), ('b', 1)) t(x, y) = 'a'"),
    aggregate(
        "approx_count_distinct",
        &[],
        "approx_count_distinct(any) -> BIGINT",
        "number of distinct values, estimated by HyperLogLog",
        |args| match args {
            [arg] => made("approx_count_distinct", AggregateKind::ApproxCountDistinct, vec![arg.ty.clone()], BigInt),
            _ => None,
        },
    )
    .example("approx_count_distinct(x) FROM (VALUES (1), (2), (2)) t(x) = 2"),
    aggregate("bit_and", &[], "bit_and(integer) -> integer\nbit_and(BIT) -> BIT", "bitwise and of all values", |args| {
        static RULES: AggregateRules = AggregateRules::new("bit_and of BIT", bit_strings::and).idempotent();
        bits("bit_and", AggregateKind::BitAnd, &RULES, args)
    })
    .example("bit_and(x) FROM (VALUES (7), (5)) t(x) = 5"),
    aggregate("bit_or", &[], "bit_or(integer) -> integer\nbit_or(BIT) -> BIT", "bitwise or of all values", |args| {
        static RULES: AggregateRules = AggregateRules::new("bit_or of BIT", bit_strings::or).idempotent();
        bits("bit_or", AggregateKind::BitOr, &RULES, args)
    })
    .example("bit_or(x) FROM (VALUES (4), (1)) t(x) = 5"),
    aggregate("bit_xor", &[], "bit_xor(integer) -> integer\nbit_xor(BIT) -> BIT", "bitwise exclusive or of all values", |args| {
        static RULES: AggregateRules = AggregateRules::new("bit_xor of BIT", bit_strings::xor);
        bits("bit_xor", AggregateKind::BitXor, &RULES, args)
    })
    .example("bit_xor(x) FROM (VALUES (7), (5)) t(x) = 2"),
    aggregate("mode", &[], "mode(any) -> any", "most frequent value", |args| {
        same("mode", AggregateKind::Mode, args)
    })
    .example("mode(x) FROM (VALUES (1), (2), (2)) t(x) = 2"),
];

fn made(
    name: &'static str,
    kind: AggregateKind,
    arg_types: Vec<LogicalType>,
    return_type: LogicalType,
) -> Option<AggregateFunction> {
    Some(AggregateFunction { name: name.into(), kind, arg_types, return_type, external: None })
}

fn declared(
    name: &'static str,
    rules: &'static AggregateRules,
    arg_types: Vec<LogicalType>,
    return_type: LogicalType,
) -> Option<AggregateFunction> {
    made(name, AggregateKind::Declared(rules), arg_types, return_type)
}

fn temporal_average(args: &[ArgType]) -> Option<AggregateFunction> {
    static RULES: AggregateRules = AggregateRules::new("avg of times", temporal::average);
    let [arg] = args else { return None };
    let ty = match &arg.ty {
        LogicalType::Date => LogicalType::Timestamp,
        LogicalType::Timestamp | LogicalType::TimestampTz | LogicalType::Time | LogicalType::Interval => {
            arg.ty.clone()
        }
        _ => return None,
    };
    declared("avg", &RULES, vec![ty.clone()], ty)
}

/// Sums of UHUGEINT are sums of doubles.
fn without_uhugeint(ty: LogicalType) -> LogicalType {
    if ty == LogicalType::UHugeInt { Double } else { ty }
}

/// The type of a bare NULL as an argument is INTEGER.
fn concrete(ty: LogicalType) -> LogicalType {
    if ty == LogicalType::Null { LogicalType::Integer } else { ty }
}

/// The one argument, a number or a truth value.
fn number(args: &[ArgType]) -> Option<LogicalType> {
    let [arg] = args else { return None };
    let ty = concrete(arg.ty.clone());
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
    let ty = concrete(arg.ty.clone());
    made(name, kind, vec![ty.clone()], ty)
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

fn bits(
    name: &'static str,
    kind: AggregateKind,
    of_strings: &'static AggregateRules,
    args: &[ArgType],
) -> Option<AggregateFunction> {
    let [arg] = args else { return None };
    let ty = concrete(arg.ty.clone());
    if ty == LogicalType::Bit {
        return declared(name, of_strings, vec![ty.clone()], ty);
    }
    if ty.is_integer() { made(name, kind, vec![ty.clone()], ty) } else { None }
}

fn picked(name: &'static str, kind: AggregateKind, args: &[ArgType]) -> Option<AggregateFunction> {
    let [value, by] = args else { return None };
    made(name, kind, vec![concrete(value.ty.clone()), concrete(by.ty.clone())], concrete(value.ty.clone()))
}

#[cfg(test)]
mod tests;

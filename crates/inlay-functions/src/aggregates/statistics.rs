//! Statistics over DOUBLE, sums and counts of other kinds.

use super::{Aggregate, aggregate, concrete, declared, doubles, made, number};
use inlay_kernels::aggregate::doubles::{self as state, boxed};
use inlay_kernels::aggregate::moments::Moments;
use inlay_kernels::aggregate::several;
use inlay_kernels::function::{AggregateFunction, AggregateKind, AggregateRules};
use inlay_kernels::resolve::ArgType;
use inlay_types::LogicalType::{self, Boolean, Decimal, Double, HugeInt, UInteger};

/// Declares a function of `N` doubles: rules by name, and how a state is finished.
macro_rules! of_doubles {
    ($args:literal, $name:literal, $state:ty, $finish:path) => {
        |args| {
            static RULES: AggregateRules = AggregateRules::new($name, |f, _| boxed::<$state>(f, $finish));
            doubles::<$args>($name, AggregateKind::Declared(&RULES), args)
        }
    };
}

pub(super) static TABLE: &[Aggregate] = &[
    aggregate(
        "regr_count",
        &[],
        "regr_count(y, x) -> UINTEGER",
        "number of rows where neither value is NULL",
        |args| {
            static RULES: AggregateRules =
                AggregateRules::new("regr_count", |f, _| boxed::<Moments>(f, state::regr_count))
                    .zero_of_nothing();
            let function = doubles::<2>("regr_count", AggregateKind::Declared(&RULES), args)?;
            Some(AggregateFunction { return_type: UInteger, ..function })
        },
    )
    .example("regr_count(y, x) FROM (VALUES (1, 2), (3, NULL)) t(y, x) = 1"),
    aggregate(
        "regr_avgx",
        &[],
        "regr_avgx(y, x) -> DOUBLE",
        "mean of x where neither value is NULL",
        of_doubles!(2, "regr_avgx", Moments, state::regr_avgx),
    )
    .example("regr_avgx(y, x) FROM (VALUES (1, 2), (3, 4)) t(y, x) = 3.0"),
    aggregate(
        "regr_avgy",
        &[],
        "regr_avgy(y, x) -> DOUBLE",
        "mean of y where neither value is NULL",
        of_doubles!(2, "regr_avgy", Moments, state::regr_avgy),
    )
    .example("regr_avgy(y, x) FROM (VALUES (1, 2), (3, 4)) t(y, x) = 2.0"),
    aggregate(
        "regr_sxx",
        &[],
        "regr_sxx(y, x) -> DOUBLE",
        "sum of the squared deviations of x from its mean",
        of_doubles!(2, "regr_sxx", Moments, state::regr_sxx),
    )
    .example("regr_sxx(y, x) FROM (VALUES (1, 2), (3, 4)) t(y, x) = 2.0"),
    aggregate(
        "regr_syy",
        &[],
        "regr_syy(y, x) -> DOUBLE",
        "sum of the squared deviations of y from its mean",
        of_doubles!(2, "regr_syy", Moments, state::regr_syy),
    )
    .example("regr_syy(y, x) FROM (VALUES (1, 2), (3, 4)) t(y, x) = 2.0"),
    aggregate(
        "regr_sxy",
        &[],
        "regr_sxy(y, x) -> DOUBLE",
        "sum of the products of the deviations of x and y",
        of_doubles!(2, "regr_sxy", Moments, state::regr_sxy),
    )
    .example("regr_sxy(y, x) FROM (VALUES (1, 2), (5, 4)) t(y, x) = 4.0"),
    aggregate(
        "regr_slope",
        &[],
        "regr_slope(y, x) -> DOUBLE",
        "slope of the line of least squares",
        of_doubles!(2, "regr_slope", Moments, state::regr_slope),
    )
    .example("regr_slope(y, x) FROM (VALUES (1, 1), (5, 2)) t(y, x) = 4.0"),
    aggregate(
        "regr_intercept",
        &[],
        "regr_intercept(y, x) -> DOUBLE",
        "where the line of least squares meets x = 0",
        of_doubles!(2, "regr_intercept", Moments, state::regr_intercept),
    )
    .example("regr_intercept(y, x) FROM (VALUES (1, 1), (5, 2)) t(y, x) = -3.0"),
    aggregate(
        "regr_r2",
        &[],
        "regr_r2(y, x) -> DOUBLE",
        "square of the correlation: the part of the variance of y that the line explains",
        of_doubles!(2, "regr_r2", Moments, state::regr_r2),
    )
    .example("regr_r2(y, x) FROM (VALUES (1, 1), (5, 2)) t(y, x) = 1.0"),
    aggregate(
        "sem",
        &[],
        "sem(number) -> DOUBLE",
        "standard error of the mean",
        of_doubles!(1, "sem", Moments, state::sem),
    )
    .example("sem(x) FROM (VALUES (1), (1)) t(x) = 0.0"),
    aggregate(
        "skewness",
        &[],
        "skewness(number) -> DOUBLE",
        "skewness of a sample: whether it leans to the left (below 0) or to the right",
        of_doubles!(1, "skewness", state::Shape, state::skewness),
    )
    .example("skewness(x) FROM (VALUES (1), (2), (3)) t(x) = 0.0"),
    aggregate(
        "kurtosis",
        &[],
        "kurtosis(number) -> DOUBLE",
        "excess kurtosis of a sample, without bias",
        of_doubles!(1, "kurtosis", state::Shape, state::kurtosis),
    )
    .example("round(kurtosis(x), 6) FROM (VALUES (1), (2), (3), (4)) t(x) = -1.2"),
    aggregate(
        "kurtosis_pop",
        &[],
        "kurtosis_pop(number) -> DOUBLE",
        "excess kurtosis of a population",
        of_doubles!(1, "kurtosis_pop", state::Shape, state::kurtosis_pop),
    )
    .example("kurtosis_pop(x) FROM (VALUES (1), (3)) t(x) = -2.0"),
    aggregate(
        "fsum",
        &["kahan_sum", "sumkahan", "sumKahan"],
        "fsum(number) -> DOUBLE",
        "sum with what rounding loses added back (Kahan)",
        of_doubles!(1, "fsum", state::Compensated, state::fsum),
    )
    .example("fsum(x) FROM (VALUES (1e16), (1.0), (-1e16)) t(x) = 1.0"),
    aggregate(
        "favg",
        &[],
        "favg(number) -> DOUBLE",
        "mean with what rounding loses added back (Kahan)",
        of_doubles!(1, "favg", state::Compensated, state::favg),
    )
    .example("favg(x) FROM (VALUES (1), (2)) t(x) = 1.5"),
    aggregate(
        "geometric_mean",
        &["geomean"],
        "geometric_mean(number) -> DOUBLE",
        "geometric mean",
        of_doubles!(1, "geometric_mean", state::Logarithms, state::geometric_mean),
    )
    .example("round(geometric_mean(x), 9) FROM (VALUES (2), (8)) t(x) = 4.0"),
    aggregate(
        "weighted_avg",
        &["wavg"],
        "weighted_avg(value, weight) -> DOUBLE",
        "mean of values, each counted as often as its weight says",
        of_doubles!(2, "weighted_avg", state::Weighted, state::weighted_avg),
    )
    .example("weighted_avg(x, w) FROM (VALUES (1, 1), (5, 3)) t(x, w) = 4.0"),
    aggregate(
        "count_if",
        &["countif"],
        "count_if(BOOLEAN) -> HUGEINT",
        "number of rows for which a condition is true",
        |args| {
            let [arg] = args else { return None };
            let fits = matches!(arg.ty, Boolean | LogicalType::Null);
            if fits { made("count_if", AggregateKind::Sum, vec![Boolean], HugeInt) } else { None }
        },
    )
    .example("count_if(x > 1) FROM (VALUES (1), (2), (3)) t(x) = 2"),
    aggregate(
        "sum_no_overflow",
        &[],
        "sum_no_overflow(integer) -> HUGEINT\nsum_no_overflow(DECIMAL) -> DECIMAL(38,s)",
        "sum of all values; here the same as `sum`",
        |args| {
            let arg = number(args).filter(|ty| ty.is_integer() || matches!(ty, Decimal { .. }))?;
            let ty = super::sum_type(arg.clone());
            made("sum_no_overflow", AggregateKind::Sum, vec![arg], ty)
        },
    )
    .example("sum_no_overflow(x) FROM (VALUES (1), (2)) t(x) = 3"),
    aggregate(
        "entropy",
        &[],
        "entropy(any) -> DOUBLE",
        "entropy of the values' frequencies, in bits",
        |args| {
            static RULES: AggregateRules =
                AggregateRules::new("entropy", inlay_kernels::aggregate::frequency::entropy)
                    .zero_of_nothing();
            let [arg] = args else { return None };
            declared("entropy", &RULES, vec![concrete(arg.ty.clone())], Double)
        },
    )
    .example("entropy(x) FROM (VALUES (1), (2), (3), (4)) t(x) = 2.0"),
    aggregate("last", &[], "last(any) -> any", "value of the last row, NULL or not", |args| {
        static RULES: AggregateRules =
            AggregateRules::new("last", inlay_kernels::aggregate::pick::last).ordered();
        one("last", &RULES, args)
    })
    .example("last(x) FROM (VALUES (3), (1), (2)) t(x) = 2"),
    aggregate(
        "arg_min_null",
        &[],
        "arg_min_null(value, by) -> value",
        "value, NULL or not, of the row with the smallest `by`",
        |args| {
            use inlay_kernels::aggregate::pick::arg_min_null;
            static RULES: AggregateRules =
                AggregateRules::new("arg_min_null", arg_min_null).ordered().idempotent();
            by("arg_min_null", &RULES, args)
        },
    )
    .example("arg_min_null(x, y) FROM (VALUES ('a', 2), (NULL, 1)) t(x, y) = NULL"),
    aggregate(
        "arg_max_null",
        &[],
        "arg_max_null(value, by) -> value",
        "value, NULL or not, of the row with the largest `by`",
        |args| {
            use inlay_kernels::aggregate::pick::arg_max_null;
            static RULES: AggregateRules =
                AggregateRules::new("arg_max_null", arg_max_null).ordered().idempotent();
            by("arg_max_null", &RULES, args)
        },
    )
    .example("arg_max_null(x, y) FROM (VALUES ('a', 1), (NULL, 2)) t(x, y) = NULL"),
    aggregate(
        "arg_min_nulls_last",
        &[],
        "arg_min_nulls_last(value, by) -> value\narg_min_nulls_last(value, by, n) -> value[]",
        "value, NULL or not, of the row with the smallest `by`; a row without `by` if there is no other",
        |args| {
            use inlay_kernels::aggregate::pick::arg_min_nulls_last;
            static RULES: AggregateRules =
                AggregateRules::new("arg_min_nulls_last", arg_min_nulls_last).ordered().idempotent();
            static SEVERAL: AggregateRules =
                AggregateRules::new("arg_min_nulls_last of several", several::arg_min_nulls_last).ordered();
            match args.len() {
                3 => super::lists::several("arg_min_nulls_last", &SEVERAL, args),
                _ => by("arg_min_nulls_last", &RULES, args),
            }
        },
    )
    .constants(&[2])
    .example("arg_min_nulls_last(x, y) FROM (VALUES ('a', NULL)) t(x, y) = 'a'"),
    aggregate(
        "arg_max_nulls_last",
        &[],
        "arg_max_nulls_last(value, by) -> value\narg_max_nulls_last(value, by, n) -> value[]",
        "value, NULL or not, of the row with the largest `by`; a row without `by` if there is no other",
        |args| {
            use inlay_kernels::aggregate::pick::arg_max_nulls_last;
            static RULES: AggregateRules =
                AggregateRules::new("arg_max_nulls_last", arg_max_nulls_last).ordered().idempotent();
            static SEVERAL: AggregateRules =
                AggregateRules::new("arg_max_nulls_last of several", several::arg_max_nulls_last).ordered();
            match args.len() {
                3 => super::lists::several("arg_max_nulls_last", &SEVERAL, args),
                _ => by("arg_max_nulls_last", &RULES, args),
            }
        },
    )
    .constants(&[2])
    .example("arg_max_nulls_last(x, y) FROM (VALUES ('a', NULL), ('b', 1)) t(x, y) = 'b'"),
];

/// A function whose result is of its argument's type.
fn one(name: &'static str, rules: &'static AggregateRules, args: &[ArgType]) -> Option<AggregateFunction> {
    let [arg] = args else { return None };
    let ty = concrete(arg.ty.clone());
    declared(name, rules, vec![ty.clone()], ty)
}

/// A value picked by another.
fn by(name: &'static str, rules: &'static AggregateRules, args: &[ArgType]) -> Option<AggregateFunction> {
    let [value, by] = args else { return None };
    let ty = concrete(value.ty.clone());
    declared(name, rules, vec![ty.clone(), concrete(by.ty.clone())], ty)
}

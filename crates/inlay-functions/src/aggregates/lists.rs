//! Aggregates that give lists and maps.

use super::{Aggregate, aggregate, concrete, declared};
use inlay_kernels::aggregate::{downsample, frequency, json, list};
use inlay_kernels::function::{AggregateFunction, AggregateRules};
use inlay_kernels::resolve::ArgType;
use inlay_types::LogicalType::{self, BigInt, HugeInt, UBigInt};

pub(super) static TABLE: &[Aggregate] = &[
    aggregate(
        "list",
        &["array_agg"],
        "list(any) -> any[]",
        "all values, NULLs among them, in the order of the rows",
        |args| {
            static RULES: AggregateRules = AggregateRules::new("list", list::create).ordered();
            let [arg] = args else { return None };
            let ty = concrete(arg.ty.clone());
            declared("list", &RULES, vec![ty.clone()], LogicalType::list(ty))
        },
    )
    .example("list(x) FROM (VALUES (1), (NULL), (3)) t(x) = '[1, NULL, 3]'"),
    aggregate(
        "approx_top_k",
        &[],
        "approx_top_k(any, k) -> any[]",
        "the k most frequent values; of equally frequent ones those that came first",
        |args| {
            static RULES: AggregateRules = AggregateRules::new("approx_top_k", frequency::top).ordered();
            let [arg, k] = args else { return None };
            let ty = concrete(arg.ty.clone());
            let fits = k.ty.is_integer();
            fits.then(|| declared("approx_top_k", &RULES, vec![ty.clone(), BigInt], LogicalType::list(ty)))?
        },
    )
    .constants(&[1])
    .example("approx_top_k(x, 2) FROM (VALUES (1), (2), (3), (3), (2)) t(x) = '[2, 3]'"),
    aggregate(
        "histogram",
        &[],
        "histogram(any) -> MAP(any, UBIGINT)\nhistogram(any, bins[]) -> MAP(any, UBIGINT)",
        "how often each value occurs, by value; or how many values are not above each bin but above the one before",
        |args| match args {
            [arg] => {
                static RULES: AggregateRules = AggregateRules::new("histogram", frequency::histogram);
                let ty = concrete(arg.ty.clone());
                declared("histogram", &RULES, vec![ty.clone()], LogicalType::map(ty, UBigInt))
            }
            _ => {
                static RULES: AggregateRules = AggregateRules::new("histogram of bins", frequency::bins);
                binned("histogram", &RULES, args)
            }
        },
    )
    .constants(&[1])
    .example("histogram(x) FROM (VALUES (2), (1), (2)) t(x) = '{1=1, 2=2}'"),
    aggregate(
        "histogram_exact",
        &[],
        "histogram_exact(any, bins[]) -> MAP(any, UBIGINT)",
        "how many values equal each bin; the last one counts all others",
        |args| {
            static RULES: AggregateRules = AggregateRules::new("histogram_exact", frequency::exact_bins);
            binned("histogram_exact", &RULES, args)
        },
    )
    .constants(&[1])
    .example("histogram_exact(x, [1, 2]) FROM (VALUES (1), (1), (2)) t(x) = '{1=2, 2=1}'"),
    aggregate(
        "bitstring_agg",
        &[],
        "bitstring_agg(integer) -> BIT\nbitstring_agg(integer, min, max) -> BIT",
        "a bit for each number from min to max, 1 where it occurs; without these, from the least to the largest number of all groups",
        |args| {
            static RULES: AggregateRules = AggregateRules::new("bitstring_agg", frequency::bitstring).idempotent();
            let (arg, low, high) = match args {
                [arg] if arg.ty.is_integer() || arg.ty == LogicalType::Null => {
                    return declared("bitstring_agg", &RULES, vec![concrete(arg.ty.clone())], LogicalType::Bit);
                }
                [arg, low, high] => (arg, low, high),
                _ => return None,
            };
            let ty = concrete(arg.ty.clone());
            let fits = ty.is_integer() && low.ty.is_integer() && high.ty.is_integer();
            fits.then(|| declared("bitstring_agg", &RULES, vec![ty, HugeInt, HugeInt], LogicalType::Bit))?
        },
    )
    .constants(&[1, 2])
    .example("bitstring_agg(x, 0, 4) FROM (VALUES (1), (3)) t(x) = '01010'"),
    aggregate(
        "lttb",
        &[],
        "lttb(x, y, n) -> STRUCT(x, y)[]",
        "at most n points, 2 or more, of those in the order of the rows that look like all of them",
        |args| {
            static RULES: AggregateRules = AggregateRules::new("lttb", downsample::create).ordered();
            let [x, y, n] = args else { return None };
            let number = |ty: &LogicalType| match ty {
                LogicalType::Real => Some(LogicalType::Real),
                LogicalType::Null => Some(LogicalType::Double),
                ty => ty.is_numeric().then_some(LogicalType::Double),
            };
            let place = match &x.ty {
                LogicalType::Date => Some(LogicalType::TimestampNs),
                ty if ty.is_timestamp() => Some(ty.clone()),
                ty => number(ty),
            };
            let (x, y) = (place?, number(&y.ty)?);
            let fields = vec![("x".to_string(), x.clone()), ("y".to_string(), y.clone())];
            let points = LogicalType::list(LogicalType::structure(fields));
            n.ty.is_integer().then(|| declared("lttb", &RULES, vec![x, y, BigInt], points))?
        },
    )
    .constants(&[2])
    .example("len(lttb(x, x % 7, 5 ORDER BY x)) FROM range(100) t(x) = 5"),
    aggregate(
        "json_group_array",
        &["json_agg", "jsonb_agg"],
        "json_group_array(any) -> JSON",
        "a JSON array of all values, NULLs among them",
        |args| {
            static RULES: AggregateRules = AggregateRules::new("json_group_array", json::array).ordered();
            document("json_group_array", &RULES, args)
        },
    )
    .example("json_group_array(x) FROM (VALUES (1), (NULL)) t(x) = '[1,null]'"),
    aggregate(
        "json_group_object",
        &["json_object_agg", "jsonb_object_agg"],
        "json_group_object(key, any) -> JSON",
        "a JSON object of all keys and values",
        |args| {
            static RULES: AggregateRules = AggregateRules::new("json_group_object", json::object).ordered();
            document("json_group_object", &RULES, args)
        },
    )
    .example("json_group_object(k, v) FROM (VALUES ('a', 1)) t(k, v) = '{\"a\":1}'"),
    aggregate(
        "json_group_structure",
        &[],
        "json_group_structure(any) -> JSON",
        "the types in all documents together",
        |args| {
            static RULES: AggregateRules = AggregateRules::new("json_group_structure", json::structure);
            document("json_group_structure", &RULES, args)
        },
    )
    .example("json_group_structure(x) FROM (VALUES (1), (2)) t(x) = '\"UBIGINT\"'"),
];

/// A function of values and a list of bins.
fn binned(name: &'static str, rules: &'static AggregateRules, args: &[ArgType]) -> Option<AggregateFunction> {
    let [arg, bins] = args else { return None };
    let LogicalType::List(element) = &bins.ty else { return None };
    let ty = concrete(arg.ty.clone());
    let ty = match inlay_kernels::coercion::common_type(&ty, element) {
        Some(common) if **element != LogicalType::Null => common,
        _ => ty,
    };
    declared(name, rules, vec![ty.clone(), LogicalType::list(ty.clone())], LogicalType::map(ty, UBigInt))
}

/// A function of documents, into which the binder has put each row.
fn document(
    name: &'static str,
    rules: &'static AggregateRules,
    args: &[ArgType],
) -> Option<AggregateFunction> {
    let [_] = args else { return None };
    declared(name, rules, vec![LogicalType::Varchar], LogicalType::Json)
}

/// The first n values: of a value and a number, or of a value, what orders it and a number.
pub(super) fn several(
    name: &'static str,
    rules: &'static AggregateRules,
    args: &[ArgType],
) -> Option<AggregateFunction> {
    let (count, values) = args.split_last()?;
    let fits = count.ty.is_integer() || count.ty == LogicalType::Null;
    let mut types: Vec<LogicalType> = values.iter().map(|arg| concrete(arg.ty.clone())).collect();
    let ty = LogicalType::list(types.first()?.clone());
    types.push(BigInt);
    fits.then(|| declared(name, rules, types, ty))?
}

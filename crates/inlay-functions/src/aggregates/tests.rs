//! Grouped updates, single-group updates and merges of every function agree; and known answers.

mod every;

use crate::registry::resolve_aggregate;
use inlay_kernels::AggregateFunction;
use inlay_kernels::aggregate::{GroupIds, GroupedAccumulator, create};
use inlay_kernels::resolve::ArgType;
use inlay_types::{LogicalType, Result, Value, Vector};

fn function(name: &str, types: &[LogicalType]) -> AggregateFunction {
    resolve_aggregate(name, &types.iter().map(|ty| ArgType::of(ty.clone())).collect::<Vec<_>>()).unwrap()
}

/// The result of one group over these rows.
fn one(name: &str, args: &[(LogicalType, Vec<Value>)]) -> Result<Value> {
    let types: Vec<LogicalType> = args.iter().map(|(ty, _)| ty.clone()).collect();
    let columns: Vec<Vector> =
        args.iter().map(|(ty, v)| Vector::from_sql_values(ty.clone(), v).unwrap()).collect();
    let mut accumulator = create(&function(name, &types), false)?;
    accumulator.resize(1);
    accumulator.update_one(&columns.iter().collect::<Vec<_>>(), args[0].1.len(), 0)?;
    Ok(accumulator.finish(0, 1)?.get(0))
}

fn values(ty: LogicalType, rows: usize, seed: u64, nulls: bool) -> Vec<Value> {
    let mut state = seed | 1;
    let mut next = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 33
    };
    (0..rows)
        .map(|_| {
            let number = next() as i128 % 40 - 20;
            match &ty {
                _ if nulls && next() % 4 == 0 => Value::Null,
                LogicalType::Varchar => Value::Varchar(format!("{} is a number in a string", number.abs())),
                LogicalType::Double => Value::Double(number as f64 / 4.0),
                LogicalType::Real => Value::Real(number as f32 / 4.0),
                LogicalType::Boolean => Value::Boolean(number > 0),
                LogicalType::UInteger => Value::UInteger(number.unsigned_abs() as u32),
                ty => Value::from_stored_i128(ty, number).unwrap(),
            }
        })
        .collect()
}

fn show(value: &Value) -> String {
    if let Value::Double(v) = value { format!("{v:.9}") } else { value.to_string() }
}

fn check(name: &str, types: &[LogicalType], groups: usize, nulls: bool) {
    let rows = 600;
    let function = function(name, types);
    let columns: Vec<Vector> = types
        .iter()
        .enumerate()
        .map(|(i, ty)| {
            let ty = function.arg_types.get(i).unwrap_or(ty);
            Vector::from_sql_values(ty.clone(), &values(ty.clone(), rows, 77 + i as u64, nulls)).unwrap()
        })
        .collect();
    let ids: Vec<u32> = (0..rows).map(|row| ((row * row + row / 3) % groups) as u32).collect();
    let mut halves: Vec<Box<dyn GroupedAccumulator>> = Vec::new();
    for half in [0..rows / 2, rows / 2..rows] {
        let part: Vec<Vector> = columns.iter().map(|c| c.slice(half.start, half.len())).collect();
        let mut accumulator = create(&function, false).unwrap();
        accumulator.resize(groups);
        let ids = GroupIds::new(&ids[half], groups);
        accumulator.update(&part.iter().collect::<Vec<_>>(), ids).unwrap();
        halves.push(accumulator);
    }
    let mut merged = create(&function, false).unwrap();
    merged.resize(groups);
    let all: Vec<u32> = (0..groups as u32).collect();
    for half in &halves {
        merged.merge(&**half, &all, &all).unwrap();
    }
    let merged = merged.finish(0, groups).unwrap();
    assert_eq!(merged.logical_type(), function.return_type, "type of {name}");
    for group in 0..groups {
        let mine: Vec<u32> = (0..rows as u32).filter(|&row| ids[row as usize] == group as u32).collect();
        let part: Vec<Vector> = columns.iter().map(|c| c.take(&mine)).collect();
        let mut accumulator = create(&function, false).unwrap();
        accumulator.resize(1);
        accumulator.update_one(&part.iter().collect::<Vec<_>>(), mine.len(), 0).unwrap();
        let alone = accumulator.finish(0, 1).unwrap().get(0);
        assert_eq!(show(&merged.get(group)), show(&alone), "{name}({types:?}), group {group} of {groups}");
    }
}

#[test]
fn merged_groups_equal_single_ones() {
    use LogicalType::*;
    let decimal = LogicalType::decimal(15, 2);
    let any = [TinyInt, Integer, BigInt, HugeInt, UInteger, Double, Real, decimal, Varchar, Date, Boolean];
    for groups in [1, 3, 40, 150] {
        for nulls in [false, true] {
            check("count", &[], groups, nulls);
            for ty in &any {
                for name in ["count", "min", "max", "first", "any_value", "mode", "approx_count_distinct"] {
                    check(name, std::slice::from_ref(ty), groups, nulls);
                }
                if ty.is_numeric() {
                    for name in ["sum", "avg", "median", "var_samp", "stddev_pop"] {
                        check(name, std::slice::from_ref(ty), groups, nulls);
                    }
                }
            }
            check("bool_and", &[Boolean], groups, nulls);
            check("bool_or", &[Boolean], groups, nulls);
            check("bit_and", &[Integer], groups, nulls);
            check("bit_xor", &[BigInt], groups, nulls);
            check("string_agg", &[Varchar], groups, nulls);
            check("corr", &[Double, Double], groups, nulls);
            check("covar_samp", &[Double, Double], groups, nulls);
        }
    }
}

#[test]
fn sums_are_exact_or_an_error() {
    let big =
        |values: &[i64]| vec![(LogicalType::BigInt, values.iter().map(|&v| Value::BigInt(v)).collect())];
    let max = i64::MAX;
    assert_eq!(one("sum", &big(&[max, max, 1])), Ok(Value::HugeInt(2 * i128::from(max) + 1)));
    assert_eq!(one("sum", &big(&[i64::MIN, i64::MIN])), Ok(Value::HugeInt(2 * i128::from(i64::MIN))));
    assert_eq!(one("avg", &big(&[1, 2, 4])), Ok(Value::Double(7.0 / 3.0)));
    assert_eq!(one("sum", &big(&[])), Ok(Value::Null));
    assert_eq!(one("count", &big(&[])), Ok(Value::BigInt(0)));
    let huge = vec![(LogicalType::HugeInt, vec![Value::HugeInt(i128::MAX), Value::HugeInt(1)])];
    assert_eq!(one("sum", &huge).map_err(|e| e.sqlstate()), Err("22003"));
    let digits = Value::Decimal { unscaled: 10i128.pow(38) - 1, precision: 38, scale: 0 };
    let wide = vec![(LogicalType::decimal(38, 0), vec![digits.clone(), digits])];
    assert_eq!(one("sum", &wide).map_err(|e| e.sqlstate()), Err("22003"));
}

#[test]
fn many_batches_of_large_values_spill() {
    for groups in [2usize, 1000] {
        let mut accumulator = create(&function("sum", &[LogicalType::BigInt]), true).unwrap();
        let ids: Vec<u32> = (0..2000).map(|row| (row % groups) as u32).collect();
        let column = Vector::from_values(LogicalType::BigInt, &vec![1i64 << 55; 2000]);
        for _ in 0..50 {
            accumulator.resize(groups);
            accumulator.update(&[&column], GroupIds::new(&ids, groups)).unwrap();
        }
        let sums = accumulator.finish(0, groups).unwrap();
        let each = (1i128 << 55) * 50 * 2000 / groups as i128;
        assert!(sums.values::<i128>().iter().all(|&sum| sum == each));
    }
}

#[test]
fn known_answers() {
    let doubles = |v: &[f64]| (LogicalType::Double, v.iter().map(|&v| Value::Double(v)).collect::<Vec<_>>());
    let texts = |v: &[&str]| {
        (LogicalType::Varchar, v.iter().map(|v| Value::Varchar((*v).into())).collect::<Vec<_>>())
    };
    assert_eq!(one("median", &[doubles(&[4.0, 1.0, 3.0, 2.0])]), Ok(Value::Double(2.5)));
    assert_eq!(
        one("quantile_cont", &[doubles(&[0.0, 10.0]), doubles(&[0.25, 0.25])]),
        Ok(Value::Double(2.5))
    );
    assert_eq!(one("var_samp", &[doubles(&[1.0, 2.0, 3.0, 4.0])]), Ok(Value::Double(5.0 / 3.0)));
    assert_eq!(one("var_samp", &[doubles(&[1.0])]), Ok(Value::Null));
    assert_eq!(one("var_pop", &[doubles(&[1.0])]), Ok(Value::Double(0.0)));
    assert_eq!(one("max", &[doubles(&[1.0, f64::NAN, 2.0])]).map(|v| v.to_string()), Ok("nan".into()));
    assert_eq!(one("min", &[doubles(&[f64::NAN, 2.0])]), Ok(Value::Double(2.0)));
    assert_eq!(one("mode", &[texts(&["b", "a", "b"])]), Ok(Value::Varchar("b".into())));
    assert_eq!(one("product", &[doubles(&[2.0, 3.0, 4.0])]), Ok(Value::Double(24.0)));
    let by = doubles(&[3.0, 1.0, 2.0]);
    assert_eq!(one("arg_min", &[texts(&["x", "y", "z"]), by.clone()]), Ok(Value::Varchar("y".into())));
    assert_eq!(one("arg_max", &[texts(&["x", "y", "z"]), by]), Ok(Value::Varchar("x".into())));
    let separated = [texts(&["x", "y"]), texts(&[" - ", " - "])];
    assert_eq!(one("string_agg", &separated), Ok(Value::Varchar("x - y".into())));
}

//! Grouped updates, single-group updates and merges of every function agree; and known answers.

use super::sorting::Sizes;
use super::*;
use crate::registry::{ArgType, resolve_aggregate};
use inlay_types::{Interval, LogicalType, Value};

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

/// Keys of all kinds with NULLs, equal ones, and ones that differ in what no prefix shows.
fn key_value(ty: &LogicalType, number: usize) -> Value {
    let floats = [0.0, -0.0, f64::NAN, f64::INFINITY, -1.5, 2.0, f64::NEG_INFINITY];
    let texts = ["", "a", "abcdefgh", "abcdefghi", "abcdefg", "b", "abcdefgh", "abcdefgh\0", "\u{e4}"];
    match ty {
        _ if number % 5 == 3 => Value::Null,
        LogicalType::Double => Value::Double(floats[number * 7 % 11 % floats.len()]),
        LogicalType::Varchar => Value::Varchar(texts[number * 5 % 13 % texts.len()].into()),
        LogicalType::HugeInt => Value::HugeInt((number as i128 * 37 % 11 - 5) << (number % 3 * 40)),
        LogicalType::Interval => Value::Interval(Interval {
            months: (number % 2) as i32,
            days: (number * 3 % 40) as i32,
            micros: (number * 7 % 5) as i64 - 2,
        }),
        // The least and the greatest of all, which have the prefixes of NULL.
        LogicalType::UBigInt => Value::UBigInt([0, 1 << 61, u64::MAX, 1 << 63][number * 13 % 7 % 4]),
        _ => Value::Integer((number * 7 % 9) as i32 - 4),
    }
}

fn compare_keys(a: &Value, b: &Value, key: OrderKey) -> std::cmp::Ordering {
    let ahead = if key.nulls_first { a.is_null() } else { b.is_null() };
    match (a.is_null(), b.is_null()) {
        (true, true) => std::cmp::Ordering::Equal,
        (false, false) if key.descending => b.total_cmp(a),
        (false, false) => a.total_cmp(b),
        _ if ahead => std::cmp::Ordering::Less,
        _ => std::cmp::Ordering::Greater,
    }
}

const KEY_TYPES: [LogicalType; 6] = [
    LogicalType::Double,
    LogicalType::Varchar,
    LogicalType::HugeInt,
    LogicalType::Interval,
    LogicalType::UBigInt,
    LogicalType::Integer,
];

fn order_key(bits: usize) -> OrderKey {
    OrderKey { descending: bits & 1 > 0, nulls_first: bits & 2 > 0 }
}

/// ORDER BY in aggregates has the order of SQL values, whatever the types of the keys; what is equal stays in its order.
#[test]
fn ordered_rows_are_in_the_order_of_their_keys() -> Result<()> {
    const ROWS: usize = 200;
    // By prefixes at once, digit by digit if keys are complete, in chunks, and as a few rows are; the flag is looked at within parts, and at their ends.
    let sizes = [
        Sizes::default(),
        Sizes { parts_min: 1, digits_min: 1, chunk_max: 8, step: 7 },
        Sizes { parts_min: 1, digits_min: usize::MAX, chunk_max: 3, step: 1 },
        Sizes { parts_min: 1, digits_min: usize::MAX, chunk_max: 100, step: 200 },
        Sizes { parts_min: usize::MAX, ..Sizes::default() },
    ];
    let list = function("list", &[LogicalType::Integer]);
    let numbers = Vector::from_values(LogicalType::Integer, &(0..ROWS as i32).collect::<Vec<_>>());
    for (first, second) in KEY_TYPES.iter().flat_map(|a| KEY_TYPES.iter().map(move |b| (a, b))) {
        let key_types = [first.clone(), second.clone()];
        let keys: Vec<Vec<Value>> = (0..2)
            .map(|key| (0..ROWS).map(|row| key_value(&key_types[key], row * (key * 2 + 1))).collect())
            .collect();
        let vectors = [0, 1].map(|key| Vector::from_sql_values(key_types[key].clone(), &keys[key]));
        let [left, right] = vectors;
        let args = [&numbers, &left?, &right?];
        for rules in 0..16 {
            let orders = [order_key(rules), order_key(rules >> 2)];
            let mut expected: Vec<usize> = (0..ROWS).collect();
            expected.sort_by(|&a, &b| {
                let compare = |key: usize| compare_keys(&keys[key][a], &keys[key][b], orders[key]);
                compare(0).then_with(|| compare(1))
            });
            let expected: Vec<Value> = expected.iter().map(|&row| Value::Integer(row as i32)).collect();
            for sizes in sizes {
                let mut accumulator = Ordered::sorting(&list, &key_types, orders.to_vec(), sizes);
                accumulator.resize(1);
                accumulator.update_one(&args, ROWS, 0)?;
                match accumulator.finish(0, 1)?.get(0) {
                    Value::List { values, .. } => {
                        assert_eq!(values, expected, "{key_types:?} {orders:?} {sizes:?}");
                    }
                    other => panic!("a list is {other:?}"),
                }
            }
        }
    }
    Ok(())
}

/// The sizes in use, with keys of many bits: random ones, ascending ones, and ones in order up to the last few.
#[test]
fn many_ordered_rows_are_in_the_order_of_their_keys() -> Result<()> {
    const ROWS: usize = 30_000;
    let list = function("list", &[LogicalType::Integer]);
    let numbers = Vector::from_values(LogicalType::Integer, &(0..ROWS as i32).collect::<Vec<_>>());
    let random = |row: usize| (row as i64).wrapping_mul(0x9E37_79B9_7F4A_7C15_u64 as i64);
    let keys: [fn(usize, i64) -> i64; 5] = [
        |_, random| random,
        |row, _| row as i64 * 1000 - 5_000_000,
        |row, _| (row % (ROWS - 5)) as i64,
        |_, random| random >> 56,
        |_, _| 7,
    ];
    for (first, second) in keys.iter().flat_map(|a| keys.iter().map(move |b| (a, b))) {
        let of = |key: &fn(usize, i64) -> i64| (0..ROWS).map(|row| key(row, random(row))).collect();
        let (first, second): (Vec<i64>, Vec<i64>) = (of(first), of(second));
        // The first bytes are the same, or nearly.
        let texts: Vec<String> = first.iter().map(|number| format!("number {number:021}")).collect();
        let text_values: Vec<Value> = texts.iter().cloned().map(Value::Varchar).collect();
        let text_vector = Vector::from_sql_values(LogicalType::Varchar, &text_values)?;
        let [left, right] = [&first, &second].map(|key| Vector::from_values(LogicalType::BigInt, key));
        for (rules, is_text) in (0..4).flat_map(|rules| [(rules, false), (rules, true)]) {
            let left = if is_text { &text_vector } else { &left };
            let orders = [order_key(rules & 1), order_key(rules >> 1)];
            let types = [left.logical_type(), LogicalType::BigInt];
            let mut accumulator = Ordered::boxed(&list, &types, orders.to_vec());
            accumulator.resize(1);
            accumulator.update_one(&[&numbers, left, &right], ROWS, 0)?;
            let mut expected: Vec<i32> = (0..ROWS as i32).collect();
            expected.sort_by(|&a, &b| {
                let (a, b) = (a as usize, b as usize);
                let one = if is_text { texts[a].cmp(&texts[b]) } else { first[a].cmp(&first[b]) };
                orders[0].directed(one).then_with(|| orders[1].directed(second[a].cmp(&second[b])))
            });
            let Value::List { values, .. } = accumulator.finish(0, 1)?.get(0) else { panic!("no list") };
            assert!(values.into_iter().eq(expected.into_iter().map(Value::Integer)), "{types:?} {orders:?}");
        }
    }
    Ok(())
}

/// A cancelled statement does not sort to the end.
#[test]
fn sorting_is_interrupted() -> Result<()> {
    const ROWS: usize = 300_000;
    let list = function("list", &[LogicalType::BigInt]);
    let random: Vec<i64> =
        (0..ROWS as i64).map(|row| row.wrapping_mul(0x9E37_79B9_7F4A_7C15_u64 as i64)).collect();
    let ascending: Vec<i64> = (0..ROWS as i64).collect();
    let texts: Vec<Value> = random.iter().map(|v| Value::Varchar(v.to_string())).collect();
    let keys = [
        Vector::from_values(LogicalType::BigInt, &random),
        Vector::from_values(LogicalType::BigInt, &ascending),
        Vector::from_sql_values(LogicalType::Varchar, &texts)?,
    ];
    for key in &keys {
        let mut accumulator = Ordered::boxed(&list, &[key.logical_type()], vec![order_key(0)]);
        accumulator.resize(1);
        accumulator.update_one(&[&keys[0], key], ROWS, 0)?;
        let interrupt = inlay_types::Interrupt::new();
        interrupt.set();
        let limits = inlay_types::limits::Limits::new(inlay_types::MemoryBudget::new(u64::MAX), interrupt);
        let result = inlay_types::limits::with(limits, || accumulator.finish(0, 1));
        assert!(matches!(result, Err(inlay_types::Error::Interrupted)));
        accumulator.finish(0, 1)?;
    }
    Ok(())
}

/// `first`, `last` and `any_value` with ORDER BY keep one row of a group, and find what sorting all rows finds.
#[test]
fn foremost_rows_are_those_that_sorting_finds() -> Result<()> {
    const ROWS: usize = 120;
    const GROUPS: usize = 9;
    let renamed = |group: usize| GROUPS - 1 - group;
    let mut key_types: Vec<Vec<LogicalType>> = KEY_TYPES.iter().map(|ty| vec![ty.clone()]).collect();
    key_types.extend(KEY_TYPES.iter().flat_map(|a| KEY_TYPES.iter().map(|b| vec![a.clone(), b.clone()])));
    key_types.push(vec![LogicalType::Integer, LogicalType::Varchar, LogicalType::Double]);
    key_types.push(vec![LogicalType::Varchar, LogicalType::Integer, LogicalType::UBigInt]);
    for (number, types) in key_types.iter().enumerate() {
        // Batches of workers: the morsel, and the rows. Values are NULL now and then, and all different otherwise.
        let batches: Vec<(usize, u32, usize)> =
            [5, 0, 3, 3, 4, 1, 2, 7, 6, 9].iter().enumerate().map(|(i, &m)| (i % 3, m, i)).collect();
        let salt = number * 31;
        let group_of = |batch: usize, row: usize| (batch * 5 + row * row + row / 7 + salt) % (GROUPS - 1);
        let key_of = |key: usize, batch: usize, row: usize| {
            let number = batch * 53 + row * (key * 2 + 1) + salt;
            // Groups in which all keys are NULL, or equal.
            match group_of(batch, row) {
                0 => Value::Null,
                1 => key_value(&types[key], 1),
                _ => key_value(&types[key], number),
            }
        };
        let vectors = |batch: usize| -> Result<Vec<Vector>> {
            let value = |row: usize| {
                let text = format!("value {row} of batch {batch}, not a short one");
                if (row + batch) % 4 == 1 { Value::Null } else { Value::Varchar(text) }
            };
            let mut vectors = vec![Vector::from_sql_values(
                LogicalType::Varchar,
                &(0..ROWS).map(value).collect::<Vec<_>>(),
            )?];
            for (key, ty) in types.iter().enumerate() {
                let values: Vec<Value> = (0..ROWS).map(|row| key_of(key, batch, row)).collect();
                vectors.push(Vector::from_sql_values(ty.clone(), &values)?);
            }
            Ok(vectors)
        };
        let data: Vec<Vec<Vector>> = (0..batches.len()).map(vectors).collect::<Result<_>>()?;
        let order_count = if types.len() == 2 { 16 } else { 4usize.pow(types.len() as u32) };
        for (rules, name) in
            (0..order_count).step_by(types.len()).flat_map(|r| ["first", "last", "any_value"].map(|n| (r, n)))
        {
            let function = function(name, &[LogicalType::Varchar]);
            let orders: Vec<OrderKey> = (0..types.len()).map(|key| order_key(rules >> (2 * key))).collect();
            let run = |make: &dyn Fn() -> Box<dyn GroupedAccumulator>| -> Result<(Vec<Value>, bool)> {
                let mut workers: Vec<_> = (0..3).map(|_| make()).collect();
                for worker in &mut workers {
                    worker.resize(GROUPS);
                }
                for &(worker, morsel, batch) in &batches {
                    workers[worker].start_morsel(morsel);
                    let args: Vec<&Vector> = data[batch].iter().collect();
                    if batch == 4 {
                        workers[worker].update_one(&args, ROWS, 2)?;
                        continue;
                    }
                    let ids: Vec<u32> = (0..ROWS).map(|row| group_of(batch, row) as u32).collect();
                    workers[worker].update(&args, GroupIds::new(&ids, GROUPS))?;
                }
                let mut merged = make();
                merged.resize(GROUPS);
                let source: Vec<u32> = (0..GROUPS as u32).collect();
                let target: Vec<u32> = (0..GROUPS).map(|group| renamed(group) as u32).collect();
                for worker in &workers {
                    merged.merge(&**worker, &source[..4], &target[..4])?;
                    merged.merge(&**worker, &source[4..], &target[4..])?;
                }
                let keeps_rows = merged.kept().is_some();
                let results = merged.finish(0, GROUPS)?;
                Ok(((0..GROUPS).map(|group| results.get(group)).collect(), keeps_rows))
            };
            let sizes = Sizes::default();
            let (expected, keeps_rows) = run(&|| Ordered::sorting(&function, types, orders.clone(), sizes))?;
            assert!(keeps_rows && expected[0].is_null());
            let (found, keeps_rows) = run(&|| Ordered::boxed(&function, types, orders.clone()))?;
            assert!(!keeps_rows);
            assert_eq!(found, expected, "{name} {types:?} {orders:?}");
        }
    }
    Ok(())
}

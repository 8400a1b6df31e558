//! Rows in the order of their keys: what sorting gives, and what keeps one row only.

use super::samples::function;
use super::sorting::Sizes;
use super::*;
use inlay_types::{Error, Interval, LogicalType, Value};

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
    let list = function("list", &LogicalType::Integer);
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
    let list = function("list", &LogicalType::Integer);
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
    let list = function("list", &LogicalType::BigInt);
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
            let function = function(name, &LogicalType::Varchar);
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

/// What another function collected would be taken for this one's.
#[test]
fn accumulators_are_merged_with_those_of_their_function() -> Result<()> {
    let names = ["first", "any_value", "last", "list", "histogram", "mode", "median", "mad"];
    let made = |name| create(&function(name, &LogicalType::Integer), false);
    let speaks = |error: &Error| matches!(error, Error::Internal { message } if message == "accumulators of different functions were merged");
    for name in names {
        for other in names.into_iter().filter(|other| *other != name) {
            let (mut into, mut from) = (made(name)?, made(other)?);
            into.resize(1);
            from.resize(1);
            // Several functions may share an accumulator; those that do not say so.
            let merged = into.merge(&*from, &[0], &[0]);
            assert!(merged.as_ref().err().is_none_or(speaks), "{other} into {name}: {merged:?}");
        }
    }
    let (mut list, median) = (made("list")?, made("median")?);
    let merged = list.merge(&*median, &[], &[]);
    assert!(merged.as_ref().err().is_some_and(speaks), "{merged:?}");
    Ok(())
}

//! Counts against a map of a simple model, in whatever way the rows come.

use super::*;
use crate::aggregate::samples::{self, function};
use inlay_types::limits::{self, Limits};
use inlay_types::{Interrupt, Interval, MemoryBudget};
use std::collections::HashMap;

/// A value of a type, of about `distinct` ones; some are written in several ways.
fn value(ty: &LogicalType, number: usize, distinct: usize) -> Value {
    let place = number * number % distinct;
    let odd = number % 2 == 1;
    match ty {
        _ if number % 11 == 3 => Value::Null,
        LogicalType::Double if place < 2 => Value::Double(if odd { -0.0 } else { 0.0 }),
        LogicalType::Double if place == 2 => Value::Double(if odd { -f64::NAN } else { f64::NAN }),
        LogicalType::Double if place == 3 => Value::Double(f64::NEG_INFINITY),
        LogicalType::Double => Value::Double((place as f64 - 40.0) / 8.0),
        LogicalType::Real if place < 2 => Value::Real(if odd { -0.0 } else { 0.0 }),
        LogicalType::Real if place == 2 => Value::Real(if odd { -f32::NAN } else { f32::NAN }),
        LogicalType::Real => Value::Real((place as f32 - 40.0) / 8.0),
        LogicalType::Varchar if place.is_multiple_of(2) => Value::Varchar(place.to_string()),
        LogicalType::Varchar => Value::Varchar(format!("a text that is no part of its view, {place}")),
        LogicalType::Interval => {
            let days = place as i32;
            let months = if odd { days / 30 } else { 0 };
            Value::Interval(Interval { months, days: days - 30 * months, micros: 0 })
        }
        LogicalType::List(element) => {
            let values = vec![value(element, number, distinct)];
            Value::List { element: element.clone(), values }
        }
        LogicalType::Boolean => Value::Boolean(place.is_multiple_of(2)),
        LogicalType::UTinyInt => Value::UTinyInt(place as u8),
        ty => Value::from_stored_i128(ty, place as i128 - distinct as i128 / 2).unwrap(),
    }
}

/// The same text for equal values.
fn key(value: &Value) -> String {
    match value {
        Value::Double(v) => {
            key(&Value::Varchar(if v.is_nan() { "NaN".into() } else { (v + 0.0).to_string() }))
        }
        Value::Real(v) => key(&Value::Double(f64::from(*v))),
        Value::Interval(interval) => interval.order_key().to_string(),
        Value::List { values, .. } => values.iter().map(key).collect(),
        other => other.to_string(),
    }
}

/// Of each group and value: how often it occurs, and where it was seen first.
#[derive(Default)]
struct Model {
    pairs: HashMap<(u32, String), (u64, usize)>,
}

impl Model {
    /// Adds a row; rows come by place.
    fn add(&mut self, group: u32, value: &Value, place: usize) {
        if !value.is_null() {
            self.pairs.entry((group, key(value))).or_insert((0, place)).0 += 1;
        }
    }

    fn assert_equals(&self, counts: &Counts, groups: u32, hint: &str) {
        let mut found = 0;
        for group in 0..groups {
            let pairs = counts.pairs(group as usize);
            let all = counts.values.gather(pairs);
            // By first: the order is that of the places.
            let mut places: Vec<(u64, usize)> = Vec::new();
            for (row, &pair) in pairs.iter().enumerate() {
                let value = all.get(row);
                let (count, place) = &self.pairs[&(group, key(&value))];
                assert_eq!(counts.counts[pair as usize], *count, "{hint}: {value} in group {group}");
                places.push((counts.firsts[pair as usize], *place));
            }
            places.sort_unstable();
            assert!(places.is_sorted_by_key(|(_, place)| *place), "{hint}: group {group}");
            found += pairs.len();
            let sorted: Vec<Value> = {
                let order = sorted::by_value(counts, pairs).unwrap();
                let values = counts.values.gather(&order);
                (0..order.len()).map(|row| values.get(row)).collect()
            };
            assert!(sorted.is_sorted_by(is_below), "{hint}: group {group} {sorted:?}");
        }
        assert_eq!(found, self.pairs.len(), "{hint}");
    }
}

/// Whether a value is below another.
fn is_below(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Double(a), Value::Double(b)) => crate::aggregate::order::order_floats(*a, *b).is_lt(),
        (Value::Real(a), Value::Real(b)) => {
            crate::aggregate::order::order_floats(f64::from(*a), f64::from(*b)).is_lt()
        }
        _ => a.total_cmp(b).is_lt(),
    }
}

const GROUPS: u32 = 5;

fn group_of(row: usize) -> u32 {
    (row * 7 / 3) as u32 % GROUPS
}

/// Adds rows as morsels of 100 in batches of 40.
fn add(counts: &mut Counts, ty: &LogicalType, rows: &[(usize, Value)]) {
    let mut last = None;
    for part in rows.chunk_by(|(a, _), (b, _)| a / 40 == b / 40 && a / 100 == b / 100) {
        let morsel = part[0].0 / 100;
        if last != Some(morsel) {
            counts.start_morsel(morsel as u32);
            last = Some(morsel);
        }
        let values: Vec<Value> = part.iter().map(|(_, value)| value.clone()).collect();
        let vector = Vector::from_sql_values(ty.clone(), &values).unwrap();
        let ids: Vec<u32> = part.iter().map(|(row, _)| group_of(*row)).collect();
        counts.add(&vector, GroupIds::new(&ids, GROUPS as usize));
    }
}

fn types() -> Vec<LogicalType> {
    use LogicalType::*;
    let list = LogicalType::list(Integer);
    vec![
        Boolean, UTinyInt, TinyInt, SmallInt, Integer, BigInt, Real, Double, HugeInt, Varchar, Interval, list,
    ]
}

#[test]
fn counts_are_those_of_a_map() {
    const ROWS: usize = 3000;
    for (ty, distinct) in types().iter().flat_map(|ty| [3, 90, 1700].map(|distinct| (ty, distinct))) {
        let small = matches!(ty, LogicalType::Boolean | LogicalType::UTinyInt | LogicalType::TinyInt);
        let distinct = if small { distinct.min(120) } else { distinct };
        let rows: Vec<(usize, Value)> = (0..ROWS).map(|row| (row, value(ty, row, distinct))).collect();
        let mut model = Model::default();
        rows.iter().for_each(|(row, value)| model.add(group_of(*row), value, *row));
        let function = function("mode", ty);
        let hint = format!("{ty} of {distinct}");
        // Morsels take turns between two workers, one of which has its own out of order.
        let (mut left, mut right) = (Counts::new(&function), Counts::new(&function));
        let of = |which: usize| rows.iter().filter(move |(row, _)| row / 100 % 2 == which).cloned();
        let mut turned: Vec<Vec<(usize, Value)>> = Vec::new();
        of(1).for_each(|(row, value)| match turned.last_mut() {
            Some(morsel) if morsel[0].0 / 100 == row / 100 => morsel.push((row, value)),
            _ => turned.push(vec![(row, value)]),
        });
        turned.reverse();
        add(&mut left, ty, &of(0).collect::<Vec<_>>());
        add(&mut right, ty, &turned.concat());
        let all: Vec<u32> = (0..GROUPS).collect();

        let mut merged = Counts::new(&function);
        merged.merge(&left, &all, &all).unwrap();
        merged.merge(&right, &all, &all).unwrap();
        model.assert_equals(&merged, GROUPS, &hint);

        // Groups get other numbers, one by one or all at once.
        let renamed: Vec<u32> = all.iter().map(|group| GROUPS - 1 - group).collect();
        let mut turned = Counts::new(&function);
        turned.merge(&left, &all, &renamed).unwrap();
        all.iter().zip(&renamed).for_each(|(from, to)| turned.merge(&right, &[*from], &[*to]).unwrap());
        let mut back = Counts::new(&function);
        back.merge(&turned, &renamed, &all).unwrap();
        model.assert_equals(&back, GROUPS, &hint);

        // Pairs leave, and come back among others.
        let mut restored = Counts::new(&function);
        restored.merge(&left, &all, &all).unwrap();
        let groups = left.kept().groups().to_vec();
        let columns: Vec<Vector> =
            left.kept().columns().iter().map(|column| column.to_vector(0, groups.len())).collect();
        restored.forget();
        assert!(restored.counts.is_empty() && restored.pairs(0).is_empty());
        restored.merge(&right, &all, &all).unwrap();
        let columns: Vec<&Vector> = columns.iter().collect();
        restored.restore(&columns, GroupIds::new(&groups, GROUPS as usize)).unwrap();
        model.assert_equals(&restored, GROUPS, &hint);
    }
}

/// A value is shown as it was written first, and of equally frequent ones the mode is the one that came first.
#[test]
fn the_first_of_equal_values_is_kept() {
    let mut accumulator = mode(&function("mode", &LogicalType::Double));
    let vector = Vector::from_values(LogicalType::Double, &[-0.0, 7.0, 7.0, 0.0, 5.0]);
    accumulator.update(&[&vector], GroupIds::new(&[0, 0, 0, 0, 2], 3)).unwrap();
    let modes = accumulator.finish(0, 3).unwrap();
    assert!(matches!(modes.get(0), Value::Double(v) if v == 0.0 && v.is_sign_negative()));
    assert_eq!((modes.get(1), modes.get(2)), (Value::Null, Value::Double(5.0)));
    // An earlier morsel that comes later.
    accumulator.start_morsel(3);
    accumulator.update(&[&Vector::from_values(LogicalType::Double, &[1.0])], GroupIds::new(&[1], 2)).unwrap();
    accumulator.start_morsel(2);
    accumulator.update(&[&Vector::from_values(LogicalType::Double, &[2.0])], GroupIds::new(&[1], 2)).unwrap();
    assert_eq!(accumulator.finish(1, 1).unwrap().get(0), Value::Double(2.0));
}

#[test]
fn histograms_and_top_values_are_in_order() {
    let types = [LogicalType::Integer, LogicalType::Varchar];
    for (ty, show) in types.iter().zip([|n: i32| Value::Integer(n), |n: i32| Value::Varchar(n.to_string())]) {
        let rows: Vec<Value> = [5, -3, 5, 7, -3, 5].map(show).to_vec();
        let vector = Vector::from_sql_values(ty.clone(), &rows).unwrap();
        let groups = GroupIds::new(&[0, 0, 0, 0, 2, 0], 3);
        let mut accumulator = histogram(&function("histogram", ty), false).unwrap();
        accumulator.update(&[&vector], groups).unwrap();
        let maps = accumulator.finish(0, 3).unwrap();
        let Value::Map { entries, .. } = maps.get(0) else { panic!("a histogram is no MAP") };
        let expected = [(-3, 1), (5, 3), (7, 1)].map(|(n, count)| (show(n), Value::UBigInt(count)));
        assert_eq!(entries, expected);
        assert_eq!(maps.get(1), Value::Null);
        let Value::Map { entries, .. } = maps.get(2) else { panic!("a histogram is no MAP") };
        assert_eq!(entries, [(show(-3), Value::UBigInt(1))]);

        let mut accumulator = top(&samples::top(ty), false).unwrap();
        let k = Vector::constant(LogicalType::BigInt, &Value::BigInt(2), rows.len()).unwrap();
        accumulator.update(&[&vector, &k], groups).unwrap();
        let tops = accumulator.finish(0, 3).unwrap();
        let Value::List { values, .. } = tops.get(0) else { panic!("the top values are no list") };
        assert_eq!(values, [show(5), show(-3)]);
        assert_eq!(tops.get(1), Value::Null);
    }
}

/// Far more values than are sorted at once.
#[test]
fn many_values_are_sorted_and_can_be_stopped() {
    const ROWS: usize = 3 * CHECK_ROWS + 77;
    for ty in [LogicalType::BigInt, LogicalType::Varchar] {
        let mut counts = Counts::new(&function("histogram", &ty));
        let number = |row: usize| (row * 48_271 % 2_147_483_647) as i64;
        for from in (0..ROWS).step_by(VECTOR_SIZE) {
            let part = from..ROWS.min(from + VECTOR_SIZE);
            let vector = if ty == LogicalType::BigInt {
                Vector::from_values(ty.clone(), &part.clone().map(number).collect::<Vec<_>>())
            } else {
                let mut builder = VectorBuilder::new(ty.clone(), part.len());
                part.clone().for_each(|row| builder.push_bytes(format!("{}", number(row)).as_bytes()));
                builder.finish()
            };
            counts.add(&vector, GroupIds::new(&vec![0; part.len()], 1));
        }
        assert_eq!(counts.pairs(0).len(), ROWS);
        let order = sorted::by_value(&counts, counts.pairs(0)).unwrap();
        let values = counts.values.gather(&order);
        assert!((1..ROWS).all(|row| values.get(row - 1).total_cmp(&values.get(row)).is_lt()));
        let limits = Limits::new(MemoryBudget::new(1 << 30), Interrupt::new());
        limits.interrupt.set();
        limits::with(limits, || {
            assert!(sorted::by_value(&counts, counts.pairs(0)).is_err());
            let mut other = Counts::new(&function("histogram", &ty));
            assert!(other.merge(&counts, &[0], &[0]).is_err());
            assert!(other.merge(&counts, &[0], &[1]).is_err());
        });
    }
}

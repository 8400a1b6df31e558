//! The order of rows against a plain sort that compares values.

use super::*;
use inlay_types::{Buffer, Dictionary, LogicalType, Value};

struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

/// Texts of one shape each: few different ones, a common beginning, short ones with zero bytes, long ones, all the same.
fn text(random: &mut Random, shape: usize, row: usize) -> String {
    match shape {
        0 => format!("word {}", random.below(40)),
        1 => format!("Customer#{:09}", random.below(30_000)),
        2 => ["", "\0", "a", "a\0", "a\0b", "ab"][random.below(6) as usize].repeat(1 + row % 2),
        3 => format!("{} and more than twelve bytes {}", random.below(90), random.below(700)),
        4 => "always the same text".to_string(),
        9 => {
            ["Anna", "Bruno", "Élise"][random.below(3) as usize].to_string() + &random.below(3000).to_string()
        }
        // Most bytes at most places, of texts as long as a number or longer.
        10 => (0..random.below(26)).map(|_| char::from(random.below(128) as u8)).collect(),
        11 => (0..8 + random.below(2)).map(|_| char::from(random.below(128) as u8)).collect(),
        _ => format!("{}", random.below(1 << 40)),
    }
}

fn column(random: &mut Random, kind: usize, len: usize, nulls: bool) -> Vector {
    let ty = match kind {
        0..=5 | 9..=11 => LogicalType::Varchar,
        6 => LogicalType::Integer,
        7 => LogicalType::Double,
        _ => LogicalType::HugeInt,
    };
    let values: Vec<Value> = (0..len)
        .map(|row| match kind {
            _ if nulls && random.below(9) == 0 => Value::Null,
            0..=5 | 9..=11 => Value::Varchar(text(random, kind, row)),
            6 => Value::Integer(random.below(700) as i32 - 350),
            7 => Value::Double([f64::NAN, -0.0, 0.0, 1.5, -1.5, f64::INFINITY][random.below(6) as usize]),
            _ => Value::HugeInt(i128::from(random.below(50) as i64 - 25) << 80),
        })
        .collect();
    Vector::from_sql_values(ty, &values).unwrap()
}

fn check(vectors: &[Vector], directions: &[(bool, bool)], threads: usize) {
    let keys: Vec<KeyColumn<'_>> = vectors
        .iter()
        .zip(directions)
        .map(|(vector, &(descending, nulls_first))| KeyColumn { vector, descending, nulls_first })
        .collect();
    let len = vectors[0].len();
    let order = sort(&ExecContext::for_tests(threads), &keys, 1, len).unwrap();
    let compare = |keys: &[KeyColumn<'_>], a: u32, b: u32| {
        let orders = keys.iter().map(|key| key.compare(a, b));
        orders.into_iter().find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
    };
    let mut expected: Vec<u32> = (0..len as u32).collect();
    expected.sort_by(|&a, &b| compare(&keys, a, b));
    assert_eq!(order.rows.as_deref(), Some(&expected[..]));
    let starts = |count: usize| {
        let begins = |&place: &usize| {
            place == 0 || compare(&keys[..count], expected[place - 1], expected[place]).is_ne()
        };
        let places = (0..len).filter(begins).map(|place| place as u32);
        places.chain([len as u32]).collect::<Vec<u32>>()
    };
    assert_eq!(order.partitions, starts(1));
    assert_eq!(order.peers, starts(keys.len()));
}

#[test]
fn rows_are_in_the_order_of_their_values() {
    let mut random = Random(7);
    for (kind, other) in [
        (0, 6),
        (1, 0),
        (2, 3),
        (3, 6),
        (4, 2),
        (5, 1),
        (6, 7),
        (7, 0),
        (8, 3),
        (3, 3),
        (9, 10),
        (10, 9),
        (11, 6),
        (6, 11),
    ] {
        for (len, threads) in [(1, 1), (900, 1), (70_000, 3)] {
            for nulls in [false, true] {
                let vectors = [column(&mut random, kind, len, nulls), column(&mut random, other, len, nulls)];
                check(&vectors, &[(false, nulls), (true, false)], threads);
                check(&vectors, &[(true, false), (false, true)], threads);
            }
        }
    }
}

#[test]
fn dictionaries_are_ranked() {
    let mut random = Random(11);
    let values = column(&mut random, 0, 60, false);
    let codes: Vec<u32> = (0..50_000).map(|_| random.below(60) as u32).collect();
    let dictionary = Dictionary::new(values);
    let vector = Vector::dictionary(dictionary, Buffer::copy_of(&codes), codes.len(), None);
    let vector = sortable(vector);
    assert!(vector.as_dictionary().is_some());
    check(&[vector, column(&mut random, 1, codes.len(), true)], &[(true, true), (false, false)], 2);
}

#[test]
fn digits_sort_as_comparisons_do() {
    for (len, bits) in
        [(0usize, 8), (1, 8), (600, 0), (600, 1), (5_000, 9), (5_000, 17), (5_000, 48), (5_000, 64)]
    {
        let mask = if bits == 64 { u64::MAX } else { (1u64 << bits) - 1 };
        let prefix = |row: usize| (row as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 3 & mask;
        let pairs: Vec<(u64, u32)> = (0..len).map(|row| (prefix(row), row as u32)).collect();
        let wide: Vec<(u128, u32)> = pairs.iter().map(|&(prefix, row)| (u128::from(prefix), row)).collect();
        let mut expected = pairs.clone();
        expected.sort_unstable();
        assert_eq!(sort_pairs(pairs, bits), expected, "{len} {bits}");
        let found: Vec<(u64, u32)> =
            sort_pairs(wide, bits).into_iter().map(|(p, row)| (p as u64, row)).collect();
        assert_eq!(found, expected, "{len} {bits}");
    }
}

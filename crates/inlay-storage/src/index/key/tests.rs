use super::*;
use std::cmp::Ordering;

/// Pseudo-random numbers, the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }

    fn wide(&mut self) -> i128 {
        let any = (i128::from(self.below(u64::MAX)) << 64) | i128::from(self.below(u64::MAX));
        match self.below(4) {
            0 => any,
            1 => i128::from(self.below(4)) - 2,
            2 => any >> self.below(127),
            _ => i128::MAX >> self.below(127),
        }
    }

    fn bytes(&mut self) -> Vec<u8> {
        let alphabet = [0, 0, 1, 0xFE, 0xFF, b'a', b'b'];
        let limit = if self.below(8) == 0 { 40 } else { 6 };
        (0..self.below(limit)).map(|_| alphabet[self.below(alphabet.len() as u64) as usize]).collect()
    }

    fn value(&mut self, ty: LogicalType) -> Value {
        let doubles =
            [0.0, -0.0, f64::NAN, -f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1.5, -1.5, 1e-310, f64::MAX];
        if self.below(8) == 0 {
            return Value::Null;
        }
        let wide = self.wide();
        match ty {
            LogicalType::Null => Value::Null,
            LogicalType::Boolean => Value::Boolean(wide & 1 == 1),
            LogicalType::TinyInt => Value::TinyInt(wide as i8),
            LogicalType::SmallInt => Value::SmallInt(wide as i16),
            LogicalType::Integer => Value::Integer(wide as i32),
            LogicalType::BigInt => Value::BigInt(wide as i64),
            LogicalType::HugeInt => Value::HugeInt(wide),
            LogicalType::UTinyInt => Value::UTinyInt(wide as u8),
            LogicalType::USmallInt => Value::USmallInt(wide as u16),
            LogicalType::UInteger => Value::UInteger(wide as u32),
            LogicalType::UBigInt => Value::UBigInt(wide as u64),
            LogicalType::UHugeInt => Value::UHugeInt(wide as u128),
            LogicalType::Real => Value::Real(doubles[self.below(10) as usize] as f32),
            LogicalType::Double => Value::Double(doubles[self.below(10) as usize]),
            LogicalType::Decimal { precision, scale } => {
                Value::Decimal { unscaled: wide % 10i128.pow(u32::from(precision)), precision, scale }
            }
            LogicalType::Varchar => {
                let text = self.bytes().into_iter().map(|b| if b < 0x80 { b as char } else { 'ÿ' });
                Value::Varchar(text.collect())
            }
            LogicalType::Blob => Value::Blob(self.bytes()),
            LogicalType::Date => Value::Date(wide as i32),
            LogicalType::Time => Value::Time(wide as i64),
            LogicalType::Timestamp => Value::Timestamp(wide as i64),
            LogicalType::Interval => Value::Interval(Interval {
                months: wide as i32 % 3,
                days: (wide >> 40) as i32 % 70,
                micros: wide as i64,
            }),
            other => unreachable!("no random values of {other}"),
        }
    }
}

const TYPES: [LogicalType; 23] = [
    LogicalType::Boolean,
    LogicalType::TinyInt,
    LogicalType::SmallInt,
    LogicalType::Integer,
    LogicalType::BigInt,
    LogicalType::HugeInt,
    LogicalType::UTinyInt,
    LogicalType::USmallInt,
    LogicalType::UInteger,
    LogicalType::UBigInt,
    LogicalType::UHugeInt,
    LogicalType::Real,
    LogicalType::Double,
    LogicalType::decimal(4, 2),
    LogicalType::decimal(9, 0),
    LogicalType::decimal(18, 3),
    LogicalType::decimal(38, 10),
    LogicalType::Varchar,
    LogicalType::Blob,
    LogicalType::Date,
    LogicalType::Time,
    LogicalType::Timestamp,
    LogicalType::Interval,
];

fn compare(left: &[Value], right: &[Value]) -> Ordering {
    left.iter().zip(right).map(|(a, b)| a.total_cmp(b)).find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
}

/// Rows of random values in one to three columns of random types, and their keys.
fn random_rows(random: &mut Random, count: usize) -> (Vec<LogicalType>, Vec<Vec<Value>>, KeyRows) {
    let types: Vec<LogicalType> =
        (0..1 + random.below(3)).map(|_| TYPES[random.below(TYPES.len() as u64) as usize].clone()).collect();
    let rows: Vec<Vec<Value>> =
        (0..count).map(|_| types.iter().map(|ty| random.value(ty.clone())).collect()).collect();
    let columns: Vec<Vector> = types
        .iter()
        .enumerate()
        .map(|(c, ty)| {
            let values: Vec<Value> = rows.iter().map(|row| row[c].clone()).collect();
            Vector::from_sql_values(ty.clone(), &values).unwrap()
        })
        .collect();
    let keys = encode_rows(&columns).unwrap();
    (types, rows, keys)
}

#[test]
fn keys_order_as_values_do_and_are_free_of_prefixes() {
    let mut random = Random(88_172_645_463_325_252);
    for _ in 0..300 {
        let (types, rows, keys) = random_rows(&mut random, 40);
        for (a, left) in rows.iter().enumerate() {
            for (b, right) in rows.iter().enumerate() {
                let order = compare(left, right);
                assert_eq!(keys.key(a).cmp(keys.key(b)), order, "{types:?} {left:?} {right:?}");
                assert!(
                    order.is_eq() || !keys.key(a).starts_with(keys.key(b)),
                    "{types:?} {left:?} {right:?}"
                );
            }
        }
    }
}

#[test]
fn values_and_vectors_of_any_shape_have_the_same_keys() {
    let mut random = Random(123_456_789);
    for _ in 0..200 {
        let (types, rows, keys) = random_rows(&mut random, 20);
        for (index, row) in rows.iter().enumerate() {
            assert_eq!(encode_values(row, &types).unwrap().as_deref(), Some(keys.key(index)));
            let prefix = encode_values(&row[..1], &types).unwrap().unwrap();
            assert!(keys.key(index).starts_with(&prefix));
            assert_eq!(keys.has_null(index), row.iter().any(Value::is_null));
            let constants: Vec<Vector> =
                row.iter().zip(&types).map(|(v, ty)| Vector::constant(ty.clone(), v, 3).unwrap()).collect();
            assert_eq!(encode_rows(&constants).unwrap().key(2), keys.key(index));
        }
    }
}

#[test]
fn order_of_rows_is_that_of_their_keys() {
    let mut random = Random(55);
    for _ in 0..50 {
        let (_, _, keys) = random_rows(&mut random, 60);
        check_order(&keys);
    }
}

#[test]
fn many_rows_are_in_order_whatever_their_keys_have_in_common() {
    let mut random = Random(7);
    let count = 20_000usize;
    let spread = (0..count).map(|_| Some(random.below(u64::MAX) as i64));
    let keys_of = |values: Vec<Option<i64>>| {
        let values: Vec<Value> = values.into_iter().map(|v| v.map_or(Value::Null, Value::BigInt)).collect();
        encode_rows(&[Vector::from_sql_values(LogicalType::BigInt, &values).unwrap()]).unwrap()
    };
    check_order(&keys_of(spread.collect()));
    check_order(&keys_of((0..count).map(|row| Some((row * 7919 % count) as i64)).collect()));
    check_order(&keys_of((0..count).map(|row| (row % 3 > 0).then_some(-((row % 100) as i64))).collect()));
    // Nearly all in one bucket.
    check_order(&keys_of(
        (0..count).map(|row| Some(if row == 9 { i64::MAX } else { -((row % 9000) as i64) })).collect(),
    ));
    let texts = |text: &dyn Fn(usize) -> String| {
        let values: Vec<Value> = (0..count).map(|row| Value::Varchar(text(row))).collect();
        encode_rows(&[Vector::from_sql_values(LogicalType::Varchar, &values).unwrap()]).unwrap()
    };
    check_order(&texts(&|row| format!("Customer#{:09}", row * 7919 % count)));
    check_order(&texts(&|row| "ab\0".repeat(row * 7919 % 50)));
    check_order(&texts(&|row| format!("{}{}", "same ".repeat(row % 7), row * 31 % 5000)));
    check_order(&texts(&|row| if row == 5 { "a".into() } else { "one text that all have in common".into() }));
}

fn check_order(keys: &KeyRows) {
    let order = keys.sorted().unwrap().unwrap_or_else(|| (0..keys.len() as u32).collect());
    let mut expected: Vec<u32> = (0..keys.len() as u32).collect();
    expected.sort_by_key(|row| keys.key(*row as usize));
    assert_eq!(order, expected);
}

#[test]
fn integers_of_other_widths_are_taken_if_they_fit() {
    let types = [LogicalType::Integer];
    let of = |value: Value| encode_values(&[value], &types).unwrap();
    assert_eq!(of(Value::BigInt(-7)), of(Value::Integer(-7)));
    assert_eq!(of(Value::BigInt(1 << 40)), None);
    assert_eq!(of(Value::UHugeInt(u128::MAX)), None);
    assert!(encode_values(&[Value::Varchar("1".into())], &types).is_err());
}

#[test]
fn a_successor_is_above_all_that_begin_so_and_nothing_else() {
    assert_eq!(successor(&[1, 2]), Some(vec![1, 3]));
    assert_eq!(successor(&[1, 0xFF, 0xFF]), Some(vec![2]));
    assert_eq!(successor(&[0xFF]), None);
    assert_eq!(successor(&[]), None);
}

/// Keys of other types would be other keys: whoever makes one is told.
#[test]
fn values_that_a_key_cannot_have_are_defects_not_keys() {
    let int = |values: &[i32]| Vector::from_values(LogicalType::Integer, values);
    let speaks = |error: Error, what: &str| {
        assert!(matches!(&error, Error::Internal { message } if message.contains(what)), "{error}");
    };
    let types = [LogicalType::Integer, LogicalType::Varchar];
    let of_two = encode_rows(&[int(&[1, 2]), int(&[1])]).map(drop);
    speaks(of_two.unwrap_err(), "key columns of different lengths");
    let three = encode_values(&[Value::Null, Value::Null, Value::Null], &types);
    speaks(three.unwrap_err(), "3 values for a key of 2");
    let other = encode_values(&[Value::Varchar("1".into())], &types);
    speaks(other.unwrap_err(), "VARCHAR for a key of INTEGER");
    let scaled = Value::Decimal { unscaled: 10, precision: 4, scale: 1 };
    let other = encode_values(&[scaled], &[LogicalType::decimal(4, 2)]);
    speaks(other.unwrap_err(), "for a key of DECIMAL(4,2)");
    let wrong = check_types(&[int(&[1])], &types);
    speaks(wrong.unwrap_err(), "(INTEGER) for a key of other types");
    let wrong = check_types(&[int(&[1]), int(&[1])], &types);
    speaks(wrong.unwrap_err(), "(INTEGER, INTEGER) for a key of other types");
    assert_eq!(encode_values(&[Value::BigInt(1 << 40)], &types).unwrap(), None, "no row has it");
}

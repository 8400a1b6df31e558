use super::*;
use inlay_types::Dictionary;
use std::cmp::Ordering;

const OPS: [Cmp; 8] =
    [Cmp::Eq, Cmp::NotEq, Cmp::Lt, Cmp::LtEq, Cmp::Gt, Cmp::GtEq, Cmp::Distinct, Cmp::NotDistinct];

fn reference(op: Cmp, l: &Value, r: &Value) -> Option<bool> {
    let nulls = (l.is_null(), r.is_null());
    if nulls.0 || nulls.1 {
        return match op {
            Cmp::Distinct => Some(nulls.0 != nulls.1),
            Cmp::NotDistinct => Some(nulls.0 == nulls.1),
            _ => None,
        };
    }
    let order = l.total_cmp(r);
    Some(match op {
        Cmp::Eq | Cmp::NotDistinct => order == Ordering::Equal,
        Cmp::NotEq | Cmp::Distinct => order != Ordering::Equal,
        Cmp::Lt => order == Ordering::Less,
        Cmp::LtEq => order != Ordering::Greater,
        Cmp::Gt => order == Ordering::Greater,
        Cmp::GtEq => order != Ordering::Less,
    })
}

/// The vector itself, as constants of each of its rows, and as a dictionary with an own order of codes.
fn shapes(values: &[Value], ty: LogicalType) -> Vec<Vector> {
    let flat = Vector::from_sql_values(ty.clone(), values).unwrap();
    let distinct: Vec<Value> = values.iter().filter(|v| !v.is_null()).cloned().collect();
    let mut shapes = vec![flat.clone()];
    for row in [0, 1, 2] {
        shapes.push(Vector::constant(ty.clone(), &values[row], values.len()).unwrap());
    }
    if !distinct.is_empty() {
        let dictionary = Dictionary::new(Vector::from_sql_values(ty, &distinct).unwrap());
        let mut next = 0;
        let codes: Vec<u32> = values
            .iter()
            .map(|v| {
                let code = next;
                next += u32::from(!v.is_null());
                if v.is_null() { 0 } else { code }
            })
            .collect();
        shapes.push(Vector::dictionary(
            dictionary,
            Buffer::copy_of(&codes),
            values.len(),
            flat.validity().cloned(),
        ));
    }
    shapes
}

fn check(ty: LogicalType, left: &[Value], right: &[Value]) {
    for l in shapes(left, ty.clone()) {
        for r in shapes(right, ty.clone()) {
            for op in OPS {
                let mut out = Vector::empty(LogicalType::Boolean);
                compare(op, &l, &r, left.len(), &mut out).unwrap();
                let expected: Vec<Option<bool>> =
                    (0..left.len()).map(|i| reference(op, &l.get(i), &r.get(i))).collect();
                let found: Vec<Option<bool>> = (0..left.len())
                    .map(|i| if let Value::Boolean(b) = out.get(i) { Some(b) } else { None })
                    .collect();
                assert_eq!(found, expected, "{op:?} of {l:?} and {r:?}");
                let all: Vec<u32> =
                    (0..left.len() as u32).filter(|&i| expected[i as usize] == Some(true)).collect();
                let mut rows = vec![99];
                select_compare(op, &l, &r, left.len(), None, &mut rows).unwrap();
                assert_eq!(rows, all);
                let odd: Vec<u32> = (0..left.len() as u32).filter(|i| i % 2 == 1).collect();
                for selection in [&odd[..], &odd[..1], &[]] {
                    select_compare(op, &l, &r, left.len(), Some(selection), &mut rows).unwrap();
                    let kept: Vec<u32> = selection.iter().copied().filter(|i| all.contains(i)).collect();
                    assert_eq!(rows, kept);
                }
            }
        }
    }
}

fn mixed(pool: &[Value], len: usize, step: usize) -> Vec<Value> {
    (0..len).map(|i| pool[(i * step + i / pool.len()) % pool.len()].clone()).collect()
}

#[test]
fn comparisons_agree_with_the_order_of_values() {
    let text = |s: &str| Value::Varchar(s.into());
    let pools: Vec<(LogicalType, Vec<Value>)> = vec![
        (
            LogicalType::Integer,
            vec![Value::Integer(i32::MIN), Value::Integer(-1), Value::Null, Value::Integer(i32::MAX)],
        ),
        (LogicalType::UBigInt, vec![Value::UBigInt(0), Value::UBigInt(u64::MAX), Value::UBigInt(1 << 63)]),
        (LogicalType::HugeInt, vec![Value::HugeInt(i128::MIN), Value::Null, Value::HugeInt(i128::MAX)]),
        (LogicalType::Boolean, vec![Value::Boolean(true), Value::Boolean(false), Value::Null]),
        (
            LogicalType::Double,
            vec![
                Value::Double(0.0),
                Value::Double(-0.0),
                Value::Double(f64::NAN),
                Value::Double(f64::INFINITY),
                Value::Null,
                Value::Double(-1.5),
            ],
        ),
        (
            LogicalType::Varchar,
            vec![
                text(""),
                text("abcd"),
                text("abcde"),
                Value::Null,
                text("a string that is long, ending in a"),
                text("a string that is long, ending in b"),
                text("exactly12byt"),
                text("é"),
            ],
        ),
        (
            LogicalType::Interval,
            vec![
                Value::Interval(Interval { months: 1, days: 0, micros: 0 }),
                Value::Interval(Interval { months: 0, days: 30, micros: 0 }),
                Value::Interval(Interval { months: 0, days: 29, micros: 86_400_000_001 }),
                Value::Null,
            ],
        ),
    ];
    for (ty, pool) in pools {
        let len = pool.len() * 5 + 3;
        check(ty, &mixed(&pool, len, 1), &mixed(&pool, len, 3));
    }
}

#[test]
fn more_rows_than_a_vector_are_compared_as_well() {
    let left: Vec<i64> = (0..5000).collect();
    let left = Vector::from_values(LogicalType::BigInt, &left);
    let right = Vector::constant(LogicalType::BigInt, &Value::BigInt(4990), 5000).unwrap();
    let mut rows = Vec::new();
    select_compare(Cmp::Gt, &left, &right, 5000, None, &mut rows).unwrap();
    assert_eq!(rows, (4991..5000).collect::<Vec<u32>>());
}

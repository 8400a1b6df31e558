use super::*;
use crate::{Field, Value, Vector};
use std::cmp::Ordering;
use std::sync::Arc;

fn list(element: &LogicalType, values: Vec<Value>) -> Value {
    Value::List { element: Arc::new(element.clone()), values }
}

fn text(text: &str) -> Value {
    Value::Varchar(text.into())
}

/// Values of many shapes, two of each type.
pub(crate) fn samples() -> Vec<(LogicalType, Value, Value)> {
    let (int, words) = (LogicalType::Integer, LogicalType::Varchar);
    let ints = LogicalType::list(int.clone());
    let fields: Arc<[Field]> =
        [Field::new("a", int.clone()), Field::new("b", words.clone()), Field::new("c", ints.clone())].into();
    let structure =
        |a: Value, b: Value, c: Value| Value::Struct { fields: fields.clone(), values: vec![a, b, c] };
    let numbers = |n: &[i32]| list(&int, n.iter().map(|&n| Value::Integer(n)).collect());
    let types = Arc::new((words.clone(), ints.clone()));
    let map = |entries: Vec<(Value, Value)>| Value::Map { types: types.clone(), entries };
    let union = |tag, value| Value::Union { members: fields.clone(), tag, value: Box::new(value) };
    let long = "a word that is longer than twelve bytes";
    vec![
        (ints.clone(), numbers(&[1, 2]), list(&int, vec![Value::Integer(1), Value::Null])),
        (
            LogicalType::list(words.clone()),
            list(&words, vec![]),
            list(&words, vec![text(long), Value::Null, text("")]),
        ),
        (
            LogicalType::list(ints.clone()),
            list(&ints, vec![numbers(&[]), numbers(&[7, 8, 9])]),
            list(&ints, vec![numbers(&[1])]),
        ),
        (
            LogicalType::Struct(fields.clone()),
            structure(Value::Integer(1), text(long), numbers(&[1])),
            structure(Value::Null, Value::Null, Value::Null),
        ),
        (
            LogicalType::Map(types.clone()),
            map(vec![]),
            map(vec![(text(long), numbers(&[1])), (text("b"), Value::Null)]),
        ),
        (LogicalType::Union(fields.clone()), union(0, Value::Integer(5)), union(1, text(long))),
        (LogicalType::Union(fields.clone()), union(1, Value::Null), union(2, numbers(&[1, 2, 3, 4]))),
    ]
}

#[test]
fn values_come_back_and_have_one_order() {
    for (ty, a, b) in samples() {
        let rows = [a.clone(), Value::Null, b.clone(), a.clone()];
        let vector = Vector::from_sql_values(ty.clone(), &rows).unwrap();
        assert_eq!((0..4).map(|row| vector.get(row)).collect::<Vec<_>>(), rows, "{ty}");
        let bytes = |row: usize| vector.views()[row].bytes(vector.heap().buffers());
        assert_eq!(bytes(0), bytes(3));
        assert_eq!(compare(&ty, bytes(0), bytes(2)), a.total_cmp(&b), "{ty}");
        assert_eq!(compare(&ty, bytes(0), bytes(3)), Ordering::Equal);
    }
}

#[test]
fn parts_go_out_and_in() {
    for (ty, a, b) in samples() {
        let rows = [a, Value::Null, b];
        let vector = Vector::from_sql_values(ty.clone(), &rows).unwrap();
        let validity = vector.validity();
        let again = match &ty {
            LogicalType::List(_) => {
                let (child, offsets) = unpack_lists(&vector).unwrap();
                pack_lists(&ty, &child, &offsets, validity)
            }
            LogicalType::Struct(_) => {
                let parts = unpack_struct(&vector).unwrap();
                pack_struct(&ty, &parts.iter().collect::<Vec<_>>(), 3, validity)
            }
            LogicalType::Map(_) => {
                let (keys, values, offsets) = unpack_maps(&vector).unwrap();
                pack_maps(&ty, &keys, &values, &offsets, validity)
            }
            _ => {
                let (tags, parts) = unpack_unions(&vector).unwrap();
                pack_unions(&ty, &tags, &parts.iter().collect::<Vec<_>>(), validity)
            }
        };
        let again = again.unwrap();
        assert_eq!((0..3).map(|row| again.get(row)).collect::<Vec<_>>(), rows, "{ty}");
        for row in [0, 2] {
            let bytes = |v: &Vector| v.views()[row].bytes(v.heap().buffers()).to_vec();
            assert_eq!(bytes(&again), bytes(&vector), "{ty}");
        }
    }
}

#[test]
fn floats_are_canonical_and_nulls_are_greatest() {
    let doubles = |values: &[f64]| {
        let values = values.iter().map(|&v| Value::Double(v)).collect();
        list(&LogicalType::Double, values)
    };
    let ty = LogicalType::list(LogicalType::Double);
    let rows = [doubles(&[0.0, f64::NAN]), doubles(&[-0.0, -f64::NAN])];
    let vector = Vector::from_sql_values(ty.clone(), &rows).unwrap();
    let bytes = |row: usize| vector.views()[row].bytes(vector.heap().buffers());
    assert_eq!(bytes(0), bytes(1));
    let null = list(&LogicalType::Double, vec![Value::Null]);
    assert_eq!(doubles(&[f64::NAN]).total_cmp(&null), Ordering::Less);
}

#[test]
fn bytes_of_any_pattern_are_read_without_panic() {
    let mut state = 88_172_645_463_325_252u64;
    for (ty, a, _) in samples() {
        let vector = Vector::from_sql_values(ty.clone(), &[a]).unwrap();
        let whole = vector.views()[0].bytes(vector.heap().buffers()).to_vec();
        for round in 0..2000 {
            let mut bytes = whole.clone();
            bytes.truncate(round % (whole.len() + 1));
            for byte in &mut bytes {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                if state.is_multiple_of(5) {
                    *byte = (state >> 40) as u8;
                }
            }
            let _ = read::value(&ty, &bytes);
            let _ = compare(&ty, &bytes, &whole);
        }
    }
}

#[test]
fn shown_as_duckdb_shows_them() {
    let words = ["a b", "a,b", "", " x", "null", "it's", "x\\y", "(p)"].map(text).to_vec();
    let shown = list(&LogicalType::Varchar, words).to_string();
    assert_eq!(shown, r"[a b, 'a,b', '', ' x', 'null', 'it\'s', 'x\\y', '(p)']");
    assert_eq!(LogicalType::list(LogicalType::array(LogicalType::Integer, 3)).to_string(), "INTEGER[3][]");
    let ty = LogicalType::structure([("a b", LogicalType::Integer), ("c", LogicalType::decimal(4, 1))]);
    assert_eq!(ty.to_string(), "STRUCT(\"a b\" INTEGER, c DECIMAL(4,1))");
}

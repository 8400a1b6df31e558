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
            if let LogicalType::Struct(fields) = &ty {
                let layout = read::StructLayout::new(fields);
                let expected: Vec<_> = (0..fields.len()).map(|field| layout.field(&bytes, field)).collect();
                assert_eq!(read::struct_parts(fields, &bytes).collect::<Vec<_>>(), expected);
                let orders = fields.iter().enumerate().map(|(index, field)| {
                    match (layout.field(&bytes, index), layout.field(&whole, index)) {
                        (Some(left), Some(right)) => compare(&field.ty, left, right),
                        (left, right) => left.is_none().cmp(&right.is_none()),
                    }
                });
                let order = orders.into_iter().find(|order| order.is_ne()).unwrap_or(Ordering::Equal);
                assert_eq!(compare(&ty, &bytes, &whole), order, "{bytes:?}");
            }
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

/// Three values of each type of fixed width.
fn numbers() -> Vec<(LogicalType, [Value; 3])> {
    vec![
        (LogicalType::Boolean, [Value::Boolean(true), Value::Boolean(false), Value::Boolean(true)]),
        (LogicalType::TinyInt, [Value::TinyInt(-1), Value::TinyInt(0), Value::TinyInt(7)]),
        (LogicalType::SmallInt, [Value::SmallInt(-300), Value::SmallInt(0), Value::SmallInt(300)]),
        (LogicalType::Integer, [Value::Integer(i32::MIN), Value::Integer(0), Value::Integer(70_000)]),
        (LogicalType::Date, [Value::Date(-1), Value::Date(0), Value::Date(20_000)]),
        (LogicalType::BigInt, [Value::BigInt(i64::MIN), Value::BigInt(0), Value::BigInt(1 << 40)]),
        (LogicalType::Double, [Value::Double(-0.5), Value::Double(0.0), Value::Double(f64::INFINITY)]),
        (LogicalType::HugeInt, [Value::HugeInt(i128::MIN), Value::HugeInt(0), Value::HugeInt(1 << 100)]),
    ]
}

#[test]
fn parts_of_fixed_width_are_those_of_the_values() {
    for (ty, [a, b, c]) in numbers() {
        let rows = [
            vec![a.clone(), b.clone(), c.clone()],
            vec![],
            vec![b.clone(), Value::Null, c.clone()],
            vec![Value::Null],
            vec![c.clone(); 20],
        ];
        let mut lists: Vec<Value> = rows.iter().map(|row| list(&ty, row.clone())).collect();
        lists.insert(1, Value::Null);
        let mut rows: Vec<Option<Vec<Value>>> = rows.into_iter().map(Some).collect();
        rows.insert(1, None);
        // With and without lists that have NULLs, which are read in another way.
        for chosen in [vec![0, 1, 2, 3, 4, 5], vec![0, 1, 2, 5], vec![0, 2, 5]] {
            let lists: Vec<Value> = chosen.iter().map(|&row| lists[row].clone()).collect();
            let rows: Vec<Option<Vec<Value>>> = chosen.iter().map(|&row| rows[row].clone()).collect();
            let vector = Vector::from_sql_values(LogicalType::list(ty.clone()), &lists).unwrap();
            check_lists(&ty, &vector, &rows, &c);
        }
    }
}

fn check_lists(ty: &LogicalType, vector: &Vector, rows: &[Option<Vec<Value>>], wanted: &Value) {
    let at = |row: usize, index: usize| -> Value {
        rows[row].as_ref().and_then(|row| row.get(index)).cloned().unwrap_or(Value::Null)
    };
    for index in 0..4 {
        let chosen = extract_elements(vector, |_, _| Some(index)).unwrap();
        assert_eq!(chosen.len(), rows.len());
        (0..rows.len()).for_each(|row| assert_eq!(chosen.get(row), at(row, index), "{ty} {row} {index}"));
    }
    let last = extract_elements(vector, |_, count| count.checked_sub(1)).unwrap();
    let none = extract_elements(vector, |_, _| None).unwrap();
    assert_eq!(none.null_count(), rows.len());
    let (elements, offsets) = unpack_lists(vector).unwrap();
    let sizes = lengths(ty, vector);
    let needle = Vector::from_sql_values(ty.clone(), &vec![wanted.clone(); rows.len()]).unwrap();
    let needles = Parts::new(&needle);
    let mut places = Vec::new();
    find_fixed(ty, vector, |row| needles.get(row), |_, place| places.push(place));
    for (row, values) in rows.iter().enumerate() {
        let values = values.clone().unwrap_or_default();
        assert_eq!(last.get(row), values.last().cloned().unwrap_or(Value::Null));
        assert_eq!(sizes[row], values.len() as i64);
        let own: Vec<Value> = (offsets[row]..offsets[row + 1]).map(|i| elements.get(i as usize)).collect();
        assert_eq!(own, values);
        assert_eq!(places[row], values.iter().position(|value| value == wanted), "{ty} {row}");
    }
    let again = pack_lists(vector.ty(), &elements, &offsets, vector.validity()).unwrap();
    (0..rows.len()).for_each(|row| assert_eq!(again.get(row), vector.get(row)));
}

#[test]
fn fields_of_fixed_width_are_those_of_the_values() {
    let types = numbers();
    let fields: Arc<[Field]> = types.iter().map(|(ty, _)| Field::new("f", ty.clone())).collect();
    let value = |choice: usize| Value::Struct {
        fields: fields.clone(),
        values: types
            .iter()
            .enumerate()
            .map(
                |(at, (_, values))| {
                    if (at + choice).is_multiple_of(4) { Value::Null } else { values[choice].clone() }
                },
            )
            .collect(),
    };
    let rows = [value(0), Value::Null, value(1), value(2)];
    let vector = Vector::from_sql_values(LogicalType::Struct(fields.clone()), &rows).unwrap();
    for index in 0..fields.len() {
        let found = extract_field(&vector, index).unwrap();
        for (row, whole) in rows.iter().enumerate() {
            let part =
                if let Value::Struct { values, .. } = whole { values[index].clone() } else { Value::Null };
            assert_eq!(found.get(row), part, "{index} {row}");
        }
    }
}

#[test]
fn parts_of_fixed_width_of_damaged_bytes_are_some_values() {
    let mut state = 1u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as u8
    };
    for (ty, [wanted, ..]) in numbers() {
        let mut builder = crate::VectorBuilder::new(LogicalType::list(ty.clone()), 64);
        for size in 0..64 {
            let bytes: Vec<u8> =
                (0..size).map(|at| if at == 3 { next() & 0x80 } else { next() % 9 }).collect();
            builder.push_bytes(&bytes);
        }
        let vector = builder.finish();
        let (elements, offsets) = unpack_lists(&vector).unwrap();
        assert_eq!(elements.len(), offsets[64] as usize);
        assert_eq!(lengths(&ty, &vector).iter().sum::<i64>(), elements.len() as i64);
        let one = Vector::from_sql_values(ty.clone(), &[wanted]).unwrap();
        let parts = Parts::new(&one);
        let mut found = 0;
        find_fixed(&ty, &vector, |_| parts.get(0), |_, _| found += 1);
        assert_eq!(found, 64);
        let _ = extract_elements(&vector, |_, count| count.checked_sub(1)).unwrap();
    }
}

#[test]
fn pairs_of_bytes_are_stored_as_one() {
    let mut builder = crate::VectorBuilder::new(LogicalType::Blob, 4);
    let rows: [(&[u8], &[u8]); 4] =
        [(b"", b""), (b"1234", b"56789012"), (b"1234", b"567890123"), (b"abcdefghijklmnopqrstuvwxyz", b"")];
    rows.iter().for_each(|(head, tail)| builder.push_pair(head, tail));
    let vector = builder.finish();
    for (row, (head, tail)) in rows.iter().enumerate() {
        assert_eq!(vector.get(row), Value::Blob([*head, *tail].concat()));
    }
}

/// What a packer writes is what single structs are written as, with and without NULLs, and lists in one pass are lists.
#[test]
fn packers_write_what_single_values_are_written_as() {
    use super::write::{StructPacker, push_sequence, push_struct};
    use crate::{Field, LogicalType};
    let fields = [
        Field::new("a", LogicalType::Integer),
        Field::new("b", LogicalType::Varchar),
        Field::new("c", LogicalType::HugeInt),
        Field::new("d", LogicalType::Blob),
        Field::new("e", LogicalType::Boolean),
    ];
    let values: [&[u8]; 5] = [&[1, 2, 3, 4], b"text", &[7; 16], b"", &[1]];
    let packer = StructPacker::new(&fields);
    for mask in 0..32u32 {
        let get = |index: usize| (mask >> index & 1 == 1).then_some(values[index]);
        let (mut found, mut expected) = (vec![9], vec![9]);
        packer.push(get, &mut found).unwrap();
        push_struct(&fields, get, &mut expected).unwrap();
        assert_eq!(found, expected, "{mask}");
        for (element, value) in [(LogicalType::Integer, values[0]), (LogicalType::Varchar, values[1])] {
            let get = |index: usize| (mask >> index & 1 == 1).then_some(value);
            let mut list = Vec::new();
            push_sequence(&element, 5, get, &mut list).unwrap();
            let read = super::Sequence::new(&element, &list);
            let elements: Vec<_> = (0..read.len()).map(|index| read.get(index)).collect();
            assert_eq!(elements, (0..5).map(get).collect::<Vec<_>>(), "{element} {mask}");
            assert_eq!(read.has_no_nulls(), mask == 31);
        }
    }
}

/// The text of a packed value is that of the value.
#[test]
fn packed_values_are_shown_as_values_are() {
    use super::{text, write::push_value};
    use crate::{Field, LogicalType, Value};
    use std::sync::Arc;
    let scalars = [
        Value::Integer(-5),
        Value::BigInt(i64::MIN),
        Value::SmallInt(7),
        Value::Double(1.5),
        Value::Boolean(true),
        Value::Varchar("it's, NULL".into()),
        Value::Varchar("null".into()),
        Value::Varchar(String::new()),
        Value::Date(19_000),
        Value::Null,
    ];
    for scalar in scalars {
        let ty = if scalar.is_null() { LogicalType::Varchar } else { scalar.logical_type() };
        let list = |values| Value::List { element: Arc::new(ty.clone()), values };
        let fields = |names: [&str; 2]| -> Arc<[Field]> {
            names.map(|name| Field::new(name, ty.clone())).to_vec().into()
        };
        let both = vec![scalar.clone(), Value::Null];
        for value in [
            list(both.clone()),
            list(Vec::new()),
            Value::Struct { fields: fields(["a b", "it's"]), values: both.clone() },
            Value::Struct { fields: fields(["", ""]), values: both.clone() },
            Value::Map {
                types: Arc::new((LogicalType::Varchar, ty.clone())),
                entries: vec![(Value::Varchar("k=".into()), scalar.clone())],
            },
        ] {
            let ty = value.logical_type();
            let (mut packed, mut found, mut expected) = (Vec::new(), String::new(), String::new());
            push_value(&ty, &value, &mut packed).unwrap();
            text::Writer::of(&ty).write(Some(&packed), &mut found);
            text::write(&mut expected, &value);
            assert_eq!(found, expected);
            assert_eq!(expected, value.to_string());
        }
    }
}

#[test]
fn packed_values_are_told_from_other_bytes() {
    for (ty, a, b) in samples() {
        let vector = Vector::from_sql_values(ty.clone(), &[a, b]).unwrap();
        for row in 0..2 {
            let bytes = vector.views()[row].bytes(vector.heap().buffers());
            assert!(is_packed(&ty, bytes), "{ty}: {bytes:?}");
            if matches!(ty, LogicalType::Union(_)) {
                // A text in a union goes to the end, wherever that is.
                continue;
            }
            // One byte less or more is no value.
            let longer: Vec<u8> = bytes.iter().copied().chain([0]).collect();
            assert!(
                !is_packed(&ty, &bytes[..bytes.len() - 1]) && !is_packed(&ty, &longer),
                "{ty}: {bytes:?}"
            );
        }
    }
    let labels = |words: &[&str]| LogicalType::Enum(Arc::new(crate::EnumType::new(words.to_vec()).unwrap()));
    let list = |ty: LogicalType| LogicalType::list(ty);
    // One element, of which the label is the second.
    assert!(is_packed(&list(labels(&["a", "b"])), &[1, 0, 0, 0, 1]));
    assert!(!is_packed(&list(labels(&["a"])), &[1, 0, 0, 0, 1]));
    assert!(!is_packed(&list(LogicalType::Boolean), &[1, 0, 0, 0, 2]));
    // A text that is not UTF-8, ends that go back, a member that is not there.
    assert!(!is_packed(&list(LogicalType::Varchar), &[1, 0, 0, 0, 1, 0, 0, 0, 0xFF]));
    assert!(!is_packed(&list(LogicalType::Blob), &[2, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 7]));
    let union = LogicalType::Union([Field::new("a", LogicalType::Integer)].into());
    assert!(is_packed(&union, &[0, 0]) && !is_packed(&union, &[1, 0]) && !is_packed(&union, &[0, 2]));
}

/// Structs that lie in one buffer, in their views, or are NULL, in stretches and mixed; fields of each width.
#[test]
fn fields_of_many_rows_are_those_of_each() {
    let fields: Arc<[Field]> = [
        Field::new("b", LogicalType::Varchar),
        Field::new("n", LogicalType::BigInt),
        Field::new("k", LogicalType::SmallInt),
    ]
    .into();
    let ty = LogicalType::Struct(fields.clone());
    for stretch in [1, 70, 200] {
        let value = |row: usize| {
            let kind = row / stretch % 4;
            let text = if kind == 1 { String::new() } else { "x".repeat(row % 23 + 5) };
            let number =
                if kind == 2 && row.is_multiple_of(3) { Value::Null } else { Value::BigInt(row as i64 * 77) };
            let values = vec![Value::Varchar(text), number, Value::SmallInt(row as i16)];
            if kind == 3 && row.is_multiple_of(2) {
                Value::Null
            } else {
                Value::Struct { fields: fields.clone(), values }
            }
        };
        let structs: Vec<Value> = (0..1000).map(value).collect();
        let vector = Vector::from_sql_values(ty.clone(), &structs).unwrap();
        for (index, _) in fields.iter().enumerate() {
            let found = extract_field(&vector, index).unwrap();
            for (row, whole) in structs.iter().enumerate() {
                let expected = if let Value::Struct { values, .. } = whole {
                    values[index].clone()
                } else {
                    Value::Null
                };
                assert_eq!(found.get(row), expected, "{row} {index} {stretch}");
            }
        }
    }
}

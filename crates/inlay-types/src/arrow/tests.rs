//! Round trips through the C structs, and what broken producers do.

#![expect(unsafe_code, reason = "arrays as a foreign producer makes them")]

use super::*;
use crate::value::Interval;
use crate::{Batch, Bitmap, Buffer, Dictionary, Error, Heap, LogicalType, Result, Value, Vector};

fn names(count: usize) -> Vec<String> {
    (0..count).map(|i| format!("c{i}")).collect()
}

fn values(vector: &Vector) -> Vec<Value> {
    (0..vector.len()).map(|row| vector.get(row)).collect()
}

fn round_trip(vector: &Vector, strings: StringLayout, keep: bool) -> Vector {
    let exporter = Exporter::new(&names(1), &[vector.logical_type()]).with_strings(strings);
    let exporter = if keep { exporter.keep_dictionaries(std::slice::from_ref(vector)) } else { exporter };
    let field = ArrowField::read(&exporter.schema()).unwrap();
    let array = exporter.columns(std::slice::from_ref(vector), vector.len()).unwrap();
    let records = ArrowRecords::import(array, &field).unwrap();
    records.columns()[0].vector(0, vector.len()).unwrap()
}

fn samples() -> Vec<Vector> {
    let long = "a string that does not fit into its view";
    let of = |ty, values: &[Value]| Vector::from_sql_values(ty, values).unwrap();
    let numbers = |ty: LogicalType| {
        let value = |v: i128| Value::from_stored_i128(&ty, v).unwrap();
        of(ty.clone(), &[value(1), Value::Null, value(0), value(1)])
    };
    let mut all: Vec<Vector> = [
        LogicalType::Boolean,
        LogicalType::TinyInt,
        LogicalType::SmallInt,
        LogicalType::Integer,
        LogicalType::BigInt,
        LogicalType::UTinyInt,
        LogicalType::USmallInt,
        LogicalType::UInteger,
        LogicalType::UBigInt,
        LogicalType::Date,
        LogicalType::Time,
        LogicalType::Timestamp,
        LogicalType::decimal(4, 2),
        LogicalType::decimal(9, 2),
        LogicalType::decimal(18, 2),
        LogicalType::decimal(38, 10),
    ]
    .map(numbers)
    .to_vec();
    let interval = Interval { months: 3, days: -1, micros: 1_500_000 };
    all.push(of(LogicalType::Real, &[Value::Real(1.5), Value::Null]));
    all.push(of(LogicalType::Double, &[Value::Double(-2.5), Value::Null]));
    all.push(of(LogicalType::Interval, &[Value::Interval(interval), Value::Null]));
    let text = |s: &str| Value::Varchar(s.to_string());
    let words = [text(""), text("exactly12byt"), Value::Null, text(long), text("ü"), text("thirteen byte")];
    all.push(of(LogicalType::Varchar, &words));
    all.push(of(LogicalType::Blob, &[Value::Blob(vec![0, 255, 3]), Value::Null, Value::Blob(vec![7; 40])]));
    all.push(Vector::constant(LogicalType::Varchar, &text(long), 5).unwrap());
    all.push(Vector::constant(LogicalType::Integer, &Value::Null, 5).unwrap());
    let dictionary = Dictionary::new(of(LogicalType::Varchar, &[text("x"), text(long)]));
    let validity = Bitmap::from_fn(4, |row| row != 2);
    all.push(Vector::dictionary(dictionary, Buffer::copy_of(&[1u32, 0, 0, 1]), 4, Some(validity)));
    all
}

#[test]
fn every_type_round_trips_in_every_layout() {
    for vector in samples() {
        for strings in [StringLayout::View, StringLayout::Utf8, StringLayout::LargeUtf8] {
            for keep in [false, true] {
                let back = round_trip(&vector, strings, keep);
                assert_eq!(back.logical_type(), vector.logical_type());
                assert_eq!(values(&back), values(&vector), "{}", vector.logical_type());
            }
        }
    }
}

#[test]
fn slices_of_imported_columns_are_the_rows_asked_for() {
    let words: Vec<Value> = (0..500)
        .map(|i| if i % 7 == 0 { Value::Null } else { Value::Varchar("word".repeat(i % 9)) })
        .collect();
    let flags: Vec<Value> = (0..500).map(|i| Value::Boolean(i % 3 == 0)).collect();
    let columns = [
        Vector::from_sql_values(LogicalType::Varchar, &words).unwrap(),
        Vector::from_sql_values(LogicalType::Boolean, &flags).unwrap(),
    ];
    for strings in [StringLayout::View, StringLayout::Utf8] {
        let exporter =
            Exporter::new(&names(2), &[LogicalType::Varchar, LogicalType::Boolean]).with_strings(strings);
        let mut array = exporter.columns(&columns, 500).unwrap();
        // A sliced record batch: the parent's offset applies to all children.
        array.offset = 3;
        array.length = 490;
        let field = ArrowField::read(&exporter.schema()).unwrap();
        let records = ArrowRecords::import(array, &field).unwrap();
        for (from, len) in [(0, 490), (1, 100), (61, 67), (128, 64), (489, 1), (5, 0)] {
            let text = records.columns()[0].vector(from, len).unwrap();
            let flag = records.columns()[1].vector(from, len).unwrap();
            assert_eq!(values(&text), words[from + 3..from + 3 + len]);
            assert_eq!(values(&flag), flags[from + 3..from + 3 + len]);
        }
    }
}

#[test]
fn memory_lives_until_the_last_vector_is_dropped() {
    let vector = Vector::from_values(LogicalType::BigInt, &(0..1000i64).collect::<Vec<_>>());
    let address = vector.data().as_ptr();
    let back = round_trip(&vector, StringLayout::View, false);
    assert_eq!(back.data().as_ptr(), address, "values are shared");
    drop(vector);
    let part = back.slice(990, 10);
    drop(back);
    assert_eq!(part.values::<i64>()[9], 999);
}

#[test]
fn streams_deliver_batches_and_errors() {
    let one = Vector::from_values(LogicalType::Integer, &[1i32, 2, 3]);
    let batch = Batch::new(vec![one], 3);
    let exporter = Exporter::new(&["n".to_string()], &[LogicalType::Integer]);
    let items: Vec<Result<Batch>> =
        vec![Ok(batch.clone()), Ok(batch.slice(1, 2)), Err(Error::DivisionByZero)];
    let mut reader = StreamReader::new(exporter.clone().stream(items.into_iter())).unwrap();
    assert_eq!(reader.field().children[0].name, "n");
    assert_eq!(reader.next().unwrap().unwrap().len(), 3);
    let second = reader.next().unwrap().unwrap();
    assert_eq!(values(&second.columns()[0].vector(0, 2).unwrap()), [Value::Integer(2), Value::Integer(3)]);
    let error = reader.next().unwrap().unwrap_err().to_string();
    assert!(error.contains("division by zero"), "{error}");
    assert!(reader.next().is_none());

    let panics = std::iter::from_fn(|| -> Option<Result<Batch>> { panic!("on purpose") });
    let mut reader = StreamReader::new(exporter.stream(panics)).unwrap();
    assert!(reader.next().unwrap().unwrap_err().to_string().contains("internal error"));
}

#[test]
fn broken_structs_are_errors() {
    let mut stream = ArrowArrayStream::released();
    // SAFETY: a released stream and NULL are allowed.
    unsafe {
        assert!(StreamReader::take(&mut stream).is_err());
        assert!(StreamReader::take(std::ptr::null_mut()).is_err());
    }
    let vector = Vector::from_values(LogicalType::BigInt, &[1i64, 2]);
    let exporter = Exporter::new(&names(1), &[LogicalType::BigInt]);
    let field = ArrowField::read(&exporter.schema()).unwrap();
    let array = || exporter.columns(std::slice::from_ref(&vector), 2).unwrap();
    let mut negative = array();
    negative.length = -1;
    assert!(ArrowRecords::import(negative, &field).is_err());
    let mut too_long = array();
    too_long.length = 3;
    assert!(ArrowRecords::import(too_long, &field).is_err());
    let two =
        ArrowField { children: vec![field.children[0].clone(), field.children[0].clone()], ..field.clone() };
    assert!(ArrowRecords::import(array(), &two).is_err());
    let text = ArrowField { ty: ArrowType::Views(LogicalType::Varchar), ..field.children[0].clone() };
    let wrong = ArrowField { children: vec![text], ..field };
    assert!(ArrowRecords::import(array(), &wrong).unwrap().columns()[0].vector(0, 2).is_err());
}

#[test]
fn codes_outside_of_the_dictionary_are_refused_unless_null() {
    let word = Vector::from_sql_values(LogicalType::Varchar, &[Value::Varchar("w".into())]).unwrap();
    let field = ArrowField {
        name: "d".into(),
        ty: ArrowType::Dictionary(
            Box::new(ArrowType::Int(LogicalType::Integer)),
            Box::new(ArrowType::Views(LogicalType::Varchar)),
        ),
        children: vec![ArrowField {
            name: String::new(),
            ty: ArrowType::Views(LogicalType::Varchar),
            children: Vec::new(),
            has_infinity: true,
        }],
        has_infinity: true,
    };
    for (null, fits) in [(1, true), (0, false)] {
        let validity = Bitmap::from_fn(2, |row| row != null);
        let coded =
            Vector::dictionary(Dictionary::new(word.clone()), Buffer::copy_of(&[0u32, 9]), 2, Some(validity));
        let exporter = Exporter::new(&["d".to_string()], &[LogicalType::Varchar])
            .keep_dictionaries(std::slice::from_ref(&coded));
        let records = ArrowRecords::import(exporter.column(0, &coded).unwrap().into_array(), &field).unwrap();
        assert_eq!(records.columns()[0].vector(0, 2).is_ok(), fits);
    }
}

#[test]
fn other_units_and_widths_are_converted() {
    // An int column read under another field of the same width stands for a producer of that type.
    let read = |ty: LogicalType, raw: Buffer, len: usize, as_type: ArrowType| {
        let vector = Vector::flat(ty.clone(), len, raw, None, Heap::default());
        let array = Exporter::new(&names(1), &[ty]).column(0, &vector).unwrap();
        let field = ArrowField { name: "t".into(), ty: as_type, children: Vec::new(), has_infinity: true };
        ArrowRecords::import(array.into_array(), &field).unwrap().columns()[0].vector(0, len)
    };
    let long = |value: i64| Buffer::copy_of(&[value]);
    let one = |ty| read(LogicalType::BigInt, long(-1_500), 1, ty).unwrap().get(0);
    let stamp = |unit, zoned| ArrowType::Timestamp { unit, zoned };
    assert_eq!(one(stamp(TimeUnit::Milli, true)), Value::TimestampTz(-1_500_000));
    assert_eq!(one(stamp(TimeUnit::Milli, false)), Value::TimestampMs(-1_500));
    assert_eq!(one(stamp(TimeUnit::Nano, false)), Value::TimestampNs(-1_500));
    let whole = |value, ty| read(LogicalType::BigInt, long(value), 1, ty).unwrap().get(0);
    assert_eq!(whole(-2_000, stamp(TimeUnit::Nano, true)), Value::TimestampTz(-2));
    assert_eq!(whole(-86_400_000, ArrowType::Date64), Value::Date(-1));
    for (value, ty) in [
        (i64::MAX, stamp(TimeUnit::Second, true)),
        (-1_500, stamp(TimeUnit::Nano, true)),
        (-1_500, ArrowType::Date64),
        (1_500, ArrowType::Time64(TimeUnit::Nano)),
        (86_400_000_001, ArrowType::Time64(TimeUnit::Micro)),
        (-1, ArrowType::Time64(TimeUnit::Micro)),
        (1, ArrowType::Duration(TimeUnit::Nano)),
    ] {
        let refused = read(LogicalType::BigInt, long(value), 1, ty.clone());
        let message = refused.expect_err("a value that cannot be kept").to_string();
        assert!(message.contains("row 0 of column \"t\""), "{ty:?}: {message}");
    }
    let halves = Buffer::copy_of(&[0x3c00u16, 0xc000, 0x7c00, 0x0001]);
    let halves = read(LogicalType::USmallInt, halves, 4, ArrowType::Float16).unwrap();
    assert_eq!(halves.values::<f32>(), &[1.0, -2.0, f32::INFINITY, 1.0 / 16_777_216.0]);
    let decimal = ArrowType::Decimal { precision: 4, scale: 1, zeros: 0, width_bits: 64 };
    let decimal = read(LogicalType::BigInt, long(123), 1, decimal).unwrap().get(0);
    assert_eq!(decimal, Value::Decimal { unscaled: 123, precision: 4, scale: 1 });
    let hundreds = ArrowType::Decimal { precision: 6, scale: 0, zeros: 2, width_bits: 64 };
    let hundreds = read(LogicalType::BigInt, long(-123), 1, hundreds).unwrap().get(0);
    assert_eq!(hundreds, Value::Decimal { unscaled: -12_300, precision: 6, scale: 0 });
    let wide = ArrowType::Decimal { precision: 38, scale: 1, zeros: 0, width_bits: 256 };
    let numbers = Buffer::copy_of(&[-5i128, -1, i128::MAX, 0, 0, 1]);
    let vector = Vector::flat(LogicalType::HugeInt, 6, numbers, None, Heap::default());
    let array = Exporter::new(&names(1), &[LogicalType::HugeInt]).column(0, &vector).unwrap();
    let field = ArrowField { name: "w".into(), ty: wide, children: Vec::new(), has_infinity: true };
    let records = ArrowRecords::import(array.into_array(), &field).unwrap();
    let column = &records.columns()[0];
    let five = Value::Decimal { unscaled: -5, precision: 38, scale: 1 };
    assert_eq!(column.vector(0, 1).unwrap().get(0), five);
    // More than 38 digits, with and without the high half.
    assert!(column.vector(1, 1).is_err() && column.vector(2, 1).is_err());
    let list = ArrowField {
        name: "l".into(),
        ty: ArrowType::Other("list".into()),
        children: Vec::new(),
        has_infinity: true,
    };
    let message = list.logical_type().unwrap_err().to_string();
    assert!(message.contains("\"l\"") && message.contains("list"), "{message}");
}

#[test]
fn nested_values_and_enums_come_back() {
    let mut all: Vec<(LogicalType, Vec<Value>)> = Vec::new();
    for (ty, a, b) in crate::nested::tests::samples() {
        let has_null = !matches!(ty, LogicalType::Union(_));
        let null = has_null.then_some(Value::Null);
        all.push((ty, [a.clone(), b].into_iter().chain(null).chain([a]).collect()));
    }
    let int = LogicalType::Integer;
    let pair = |values: [Value; 2]| Value::Array { element: int.clone().into(), values: values.into() };
    let pairs = [pair([Value::Integer(1), Value::Null]), Value::Null, pair([Value::Null, Value::Integer(4)])];
    all.push((LogicalType::array(int.clone(), 2), pairs.to_vec()));
    for (ty, rows) in all {
        for strings in [StringLayout::View, StringLayout::Utf8, StringLayout::LargeUtf8] {
            let vector = Vector::from_sql_values(ty.clone(), &rows).unwrap();
            let back = round_trip(&vector, strings, true);
            assert_eq!(back.logical_type(), ty);
            assert_eq!(values(&back), values(&vector), "{ty}");
            // A range that begins in the middle.
            let exporter = Exporter::new(&names(1), std::slice::from_ref(&ty)).with_strings(strings);
            let field = ArrowField::read(&exporter.schema()).unwrap();
            let array = exporter.columns(std::slice::from_ref(&vector), vector.len()).unwrap();
            let records = ArrowRecords::import(array, &field).unwrap();
            let part = records.columns()[0].vector(1, 2).unwrap();
            assert_eq!(values(&part), values(&vector)[1..3], "{ty}");
        }
    }
    let words = std::sync::Arc::new(crate::logical_type::EnumType::new(["b", "a"]).unwrap());
    let ty = LogicalType::Enum(words.clone());
    let word = Value::Enum { words, position: 1 };
    let vector = Vector::from_sql_values(ty, &[word, Value::Null]).unwrap();
    let back = round_trip(&vector, StringLayout::View, false);
    assert_eq!(values(&back), [Value::Varchar("a".into()), Value::Null]);
}

#[test]
fn a_schema_says_which_strings_it_wants() {
    let types = [LogicalType::Integer, LogicalType::list(LogicalType::Blob), LogicalType::Varchar];
    for strings in [StringLayout::View, StringLayout::Utf8, StringLayout::LargeUtf8] {
        let exporter = Exporter::new(&names(3), &types).with_strings(strings);
        assert_eq!(ArrowField::read(&exporter.schema()).unwrap().strings(), Some(strings));
    }
    let numbers = Exporter::new(&names(1), &types[..1]);
    assert_eq!(ArrowField::read(&numbers.schema()).unwrap().strings(), None);
}

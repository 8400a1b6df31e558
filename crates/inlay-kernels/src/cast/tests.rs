use super::*;
use inlay_types::{Buffer, Interval};

fn text(s: &str) -> Value {
    Value::Varchar(s.into())
}

fn decimal(unscaled: i128, precision: u8, scale: u8) -> Value {
    Value::Decimal { unscaled, precision, scale }
}

/// One or more values of each type, among them the limits.
fn samples() -> Vec<Value> {
    vec![
        Value::Boolean(true),
        Value::TinyInt(i8::MIN),
        Value::SmallInt(300),
        Value::Integer(-70_000),
        Value::Integer(0),
        Value::BigInt(i64::MIN),
        Value::BigInt(255),
        Value::HugeInt(i128::MAX),
        Value::HugeInt(-1),
        Value::UTinyInt(255),
        Value::USmallInt(65_535),
        Value::UInteger(u32::MAX),
        Value::UBigInt(u64::MAX),
        Value::UHugeInt(u128::MAX),
        Value::UHugeInt(7),
        Value::Real(1.5),
        Value::Real(f32::MAX),
        Value::Double(2.5),
        Value::Double(-3.5),
        Value::Double(1e300),
        Value::Double(f64::NAN),
        Value::Double(127.5),
        Value::Double(9.223372036854776e18),
        decimal(-12_345, 5, 2),
        decimal(150, 4, 2),
        decimal(10i128.pow(17), 18, 3),
        decimal(10i128.pow(37), 38, 10),
        decimal(5, 9, 1),
        text("12"),
        text("-1.5"),
        text("abc"),
        text("2024-02-29"),
        text("2024-02-29 10:11:12.5"),
        text("10:11:12"),
        text("3 days"),
        text("true"),
        Value::Blob(vec![0, 65, 255]),
        Value::Date(19_000),
        Value::Date(i32::MAX),
        Value::Time(1),
        Value::Timestamp(-1),
        Value::Interval(Interval { months: 1, days: 2, micros: 3 }),
    ]
}

fn targets() -> Vec<LogicalType> {
    use LogicalType::*;
    vec![
        Boolean,
        TinyInt,
        SmallInt,
        Integer,
        BigInt,
        HugeInt,
        UTinyInt,
        USmallInt,
        UInteger,
        UBigInt,
        UHugeInt,
        Real,
        Double,
        LogicalType::decimal(3, 1),
        LogicalType::decimal(4, 2),
        LogicalType::decimal(9, 4),
        LogicalType::decimal(15, 2),
        LogicalType::decimal(18, 0),
        LogicalType::decimal(38, 10),
        Varchar,
        Blob,
        Date,
        Time,
        Timestamp,
        Interval,
    ]
}

fn same(a: &Value, b: &Value) -> bool {
    a == b
        || matches!((a, b), (Value::Double(x), Value::Double(y)) if x.is_nan() && y.is_nan())
        || matches!((a, b), (Value::Real(x), Value::Real(y)) if x.is_nan() && y.is_nan())
}

/// Vectors convert as single values do: flat with NULLs, constant, dictionary; failing or giving NULL.
#[test]
fn vectors_convert_as_values_do() {
    for value in samples() {
        let from = value.logical_type();
        let rows = [Value::Null, value.clone(), value.clone()];
        let flat = Vector::from_sql_values(from.clone(), &rows).unwrap();
        let constant = Vector::constant(from.clone(), &value, 3).unwrap();
        let one = Vector::from_sql_values(from.clone(), std::slice::from_ref(&value)).unwrap();
        let codes = Buffer::copy_of(&[0u32, 0, 0]);
        let coded = Vector::dictionary(Dictionary::new(one), codes, 3, flat.validity().cloned());
        for to in targets() {
            let expected = cast_value(&value, &to);
            for input in [&flat, &constant, &coded] {
                let mut out = Vector::empty(to.clone());
                let done = cast(input, &to, false, &mut out);
                match &expected {
                    Ok(expected) => {
                        done.unwrap_or_else(|e| panic!("{value} to {to}: {e}"));
                        assert!(same(&out.get(1), expected), "{value} to {to}: {}", out.get(1));
                        assert_eq!(out.logical_type(), to);
                        assert_eq!(out.get(0).is_null(), input.is_null(0), "{value} to {to}");
                    }
                    Err(error) => assert_eq!(done.unwrap_err(), *error, "{value} ({from}) to {to}"),
                }
                if can_cast(&from, &to) {
                    cast(input, &to, true, &mut out).unwrap();
                    assert_eq!(out.get(2).is_null(), expected.is_err());
                }
            }
        }
    }
}

/// Where no cast exists, a value is an error, and rows without one are NULL, in whichever way they are kept.
#[test]
fn nulls_convert_to_any_type_however_they_are_kept() {
    let mut tried = 0;
    for value in samples() {
        let from = value.logical_type();
        let one = Vector::from_sql_values(from.clone(), std::slice::from_ref(&value)).unwrap();
        let none = Some(Bitmap::filled(2, false));
        let forms = [
            Vector::nulls(from.clone(), 2),
            Vector::from_sql_values(from.clone(), &[Value::Null, Value::Null]).unwrap(),
            Vector::dictionary(Dictionary::new(one), Buffer::copy_of(&[0u32, 0]), 2, none),
            Vector::empty(from.clone()),
        ];
        for to in targets().iter().filter(|to| !can_cast(&from, to)) {
            tried += 1;
            for input in &forms {
                let mut out = Vector::empty(to.clone());
                cast(input, to, false, &mut out).unwrap();
                assert_eq!((out.len(), out.null_count()), (input.len(), input.len()), "{from} to {to}");
                assert_eq!(out.logical_type(), *to);
            }
        }
    }
    assert!(tried > 20, "{tried}");
}

#[test]
fn values_round_and_fail_as_documented() {
    let cases = [
        (decimal(25, 2, 1), LogicalType::Integer, Ok("3")),
        (decimal(-25, 2, 1), LogicalType::Integer, Ok("-3")),
        (Value::Double(2.5), LogicalType::Integer, Ok("2")),
        (Value::Double(1.25), LogicalType::decimal(3, 1), Ok("1.3")),
        (text("2.5"), LogicalType::Integer, Ok("3")),
        (Value::Integer(300), LogicalType::TinyInt, Err("value 300 is out of range for TINYINT")),
        (text("300"), LogicalType::TinyInt, Err("value 300 is out of range for TINYINT")),
        (
            text("abc"),
            LogicalType::Integer,
            Err("could not convert 'abc' to INTEGER; TRY_CAST gives NULL instead"),
        ),
        (
            text("2024-02-30"),
            LogicalType::Date,
            Err("could not convert '2024-02-30' to DATE; TRY_CAST gives NULL instead"),
        ),
        (Value::Double(1e20), LogicalType::Integer, Err("value 1e+20 is out of range for INTEGER")),
        (
            decimal(1_234_567, 7, 2),
            LogicalType::decimal(5, 1),
            Err("value 12345.67 is out of range for DECIMAL(5,1)"),
        ),
        (Value::Date(1), LogicalType::Integer, Err("no cast from DATE to INTEGER")),
        (Value::Date(1), LogicalType::Timestamp, Ok("1970-01-02 00:00:00")),
        (text("a\\x00b"), LogicalType::Blob, Ok("a\\x00b")),
    ];
    for (value, to, expected) in cases {
        let found = cast_value(&value, &to).map(|v| v.to_string()).map_err(|e| e.to_string());
        assert_eq!(found, expected.map(String::from).map_err(String::from), "{value} to {to}");
    }
}

/// What a value becomes may be many times as large: it is counted for as long as it lives, whatever its type.
#[test]
fn what_is_made_of_one_value_is_counted() {
    use inlay_types::limits::{Limits, step, with};
    use inlay_types::{Interrupt, MemoryBudget};
    let bits = Value::Bit(inlay_types::bit::from_bits(4 << 20, |_| true));
    let numbers = text(&format!("[{}1]", "1,".repeat(1 << 19)));
    let cases = [
        (&bits, LogicalType::Varchar),
        (&bits, LogicalType::Json),
        (&numbers, LogicalType::List(std::sync::Arc::new(LogicalType::BigInt))),
        (&numbers, LogicalType::List(std::sync::Arc::new(LogicalType::Varchar))),
        // With an escape: others are shared.
        (&text(&format!("{}\\x00", "x".repeat(1 << 20))), LogicalType::Blob),
    ];
    for (value, to) in cases {
        let mut builder = VectorBuilder::new(value.logical_type(), 1);
        builder.push(value).unwrap();
        let input = builder.finish();
        let budget = MemoryBudget::new(1 << 30);
        let (mut out, limits) = (Vector::empty(to.clone()), Limits::new(budget.clone(), Interrupt::new()));
        with(limits, || step(1, || cast(&input, &to, false, &mut out))).unwrap();
        let size = out.views()[0].len() as u64;
        assert!(size >= 1 << 20 && budget.used() >= size, "{to}: {size} bytes, counted {}", budget.used());
        drop(out);
        assert_eq!(budget.used(), 0, "{to}");
    }
}

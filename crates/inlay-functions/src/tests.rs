//! Functions against DuckDB 2.0's answers, and every function's shapes against each other.

use crate::registry::{Function, Overloads, all_functions, resolve_scalar};
use inlay_kernels::cast::cast_value;
use inlay_kernels::resolve::{ArgType, ResolveOptions};
use inlay_kernels::{NullHandling, ScalarFunction, Volatility};
use inlay_types::{Bitmap, Buffer, Dictionary, Interval, LogicalType, Result, Value, Vector};
use std::sync::Arc;

mod never_fail;

fn text(s: &str) -> Value {
    Value::Varchar(s.into())
}

fn date(s: &str) -> Value {
    cast_value(&text(s), &LogicalType::Date).unwrap()
}

fn timestamp(s: &str) -> Value {
    cast_value(&text(s), &LogicalType::Timestamp).unwrap()
}

fn dec(s: &str, precision: u8, scale: u8) -> Value {
    cast_value(&text(s), &LogicalType::decimal(precision, scale)).unwrap()
}

fn resolved(name: &str, args: &[Value]) -> Result<Arc<ScalarFunction>> {
    let types: Vec<ArgType> = args
        .iter()
        .map(|v| {
            if matches!(v, Value::Integer(_) | Value::Null) {
                ArgType::literal(v)
            } else {
                ArgType::of(v.logical_type())
            }
        })
        .collect();
    resolve_scalar(name, &types, &ResolveOptions::default())
}

/// One call with constant arguments.
fn call(name: &str, args: &[Value]) -> Result<Value> {
    let function = resolved(name, args)?;
    let mut vectors = Vec::new();
    for (value, ty) in args.iter().zip(&function.arg_types) {
        vectors.push(Vector::constant(ty.clone(), &cast_value(value, ty)?, 1)?);
    }
    let mut out = Vector::empty(function.return_type.clone());
    function.kernel.eval(&vectors.iter().collect::<Vec<_>>(), 1, &mut out)?;
    assert_eq!(out.logical_type(), function.return_type, "{name}");
    Ok(out.get(0))
}

fn shown(name: &str, args: &[Value]) -> String {
    match call(name, args) {
        Ok(value) => value.to_string(),
        Err(error) => format!("error: {error}"),
    }
}

#[test]
fn text_functions_answer_as_duckdb() {
    let n = Value::Integer;
    let cases: Vec<(&str, Vec<Value>, &str)> = vec![
        ("substring", vec![text("hello"), n(0), n(3)], "he"),
        ("substring", vec![text("hello"), n(-3), n(2)], "ll"),
        ("substring", vec![text("hello"), n(2)], "ello"),
        ("substring", vec![text("h€llo"), n(2), n(2)], "€l"),
        ("substring", vec![text("hello"), n(2), n(-1)], "h"),
        ("substring", vec![text("hello"), n(99)], ""),
        ("substring", vec![text("a text that is longer than a view"), n(3), n(20)], "text that is longer "),
        ("left", vec![text("hello"), n(-2)], "hel"),
        ("left", vec![text("héllo"), n(2)], "hé"),
        ("right", vec![text("hello"), n(-2)], "llo"),
        ("right", vec![text("hello"), n(2)], "lo"),
        ("lpad", vec![text("x"), n(3), text("ab")], "abx"),
        ("rpad", vec![text("xyz"), n(2), text("a")], "xy"),
        ("split_part", vec![text("a,b,c"), text(","), n(-1)], "c"),
        ("split_part", vec![text("a,b,c"), text(","), n(2)], "b"),
        ("split_part", vec![text("a,b,c"), text(","), n(3)], "c"),
        ("split_part", vec![text("a,b"), text(","), n(5)], ""),
        ("split_part", vec![text("a,b"), text(","), n(0)], ""),
        ("split_part", vec![text("abc"), text(""), n(2)], "b"),
        ("strpos", vec![text("héllo"), text("l")], "3"),
        ("strpos", vec![text("hello"), text("z")], "0"),
        ("repeat", vec![text("ab"), n(3)], "ababab"),
        ("reverse", vec![text("abc")], "cba"),
        ("ascii", vec![text("é")], "233"),
        ("chr", vec![n(8364)], "€"),
        ("trim", vec![text("  a ")], "a"),
        ("trim", vec![text("xxaxx"), text("x")], "a"),
        ("ltrim", vec![text("  a")], "a"),
        ("like", vec![text("a%b"), text("a\\%b"), text("\\")], "true"),
        ("like", vec![text("a"), text("a\\")], "false"),
        ("ilike", vec![text("a"), text("A")], "true"),
        ("concat", vec![Value::Null, text("a"), dec("1.5", 2, 1)], "a1.5"),
        ("concat_ws", vec![text(","), text("a"), Value::Null, text("b")], "a,b"),
        ("||", vec![text("a"), n(1)], "a1"),
        ("||", vec![text("a"), Value::Null], "NULL"),
        ("replace", vec![text("aaa"), text("a"), text("bb")], "bbbbbb"),
        ("replace", vec![text("abc"), text(""), text("x")], "abc"),
        ("translate", vec![text("abc"), text("ab"), text("xy")], "xyc"),
        ("length", vec![text("é")], "1"),
        ("strlen", vec![text("é")], "2"),
        ("regexp_matches", vec![text("abc"), text("b")], "true"),
        ("regexp_full_match", vec![text("abc"), text("b")], "false"),
        ("regexp_replace", vec![text("abcb"), text("b"), text("x")], "axcb"),
        ("regexp_replace", vec![text("abcb"), text("b"), text("x"), text("g")], "axcx"),
        ("regexp_replace", vec![text("abc"), text("(b)"), text("[\\1]")], "a[b]c"),
        ("regexp_extract", vec![text("abc"), text("b(.)"), n(1)], "c"),
        ("regexp_extract", vec![text("abc"), text("x")], ""),
        ("levenshtein", vec![text("abc"), text("abd")], "1"),
        ("upper", vec![text("straße")], "STRAẞE"),
        ("hex", vec![text("abc")], "616263"),
        ("hex", vec![Value::BigInt(255)], "FF"),
        ("contains", vec![text("abc"), text("b")], "true"),
        ("suffix", vec![text("abc"), text("c")], "true"),
        (
            "lpad",
            vec![text("a"), n(5), text("")],
            "error: the text to fill with is empty; give at least one character",
        ),
    ];
    for (name, args, expected) in cases {
        assert_eq!(shown(name, &args), expected, "{name}({args:?})");
    }
}

#[test]
fn numbers_answer_as_duckdb() {
    let n = Value::Integer;
    let d = Value::Double;
    let cases: Vec<(&str, Vec<Value>, &str)> = vec![
        ("+", vec![n(i32::MAX), n(1)], "error: overflow in INTEGER addition: 2147483647 + 1"),
        ("-", vec![n(i32::MIN)], "error: overflow in INTEGER negation: -(-2147483648)"),
        (
            "*",
            vec![Value::BigInt(i64::MAX), Value::BigInt(2)],
            "error: overflow in BIGINT multiplication: 9223372036854775807 * 2",
        ),
        ("*", vec![Value::BigInt(i64::MIN), Value::BigInt(1)], "-9223372036854775808"),
        ("+", vec![Value::TinyInt(127), Value::TinyInt(1)], "error: overflow in TINYINT addition: 127 + 1"),
        ("//", vec![n(-7), n(2)], "-3"),
        ("%", vec![n(-7), n(2)], "-1"),
        ("%", vec![n(7), n(-2)], "1"),
        ("//", vec![n(1), n(0)], "error: division by zero; NULLIF(divisor, 0) gives NULL instead"),
        ("%", vec![n(1), n(0)], "error: division by zero; NULLIF(divisor, 0) gives NULL instead"),
        ("%", vec![dec("1.5", 2, 1), n(0)], "error: division by zero; NULLIF(divisor, 0) gives NULL instead"),
        ("/", vec![n(1), n(2)], "0.5"),
        ("/", vec![n(1), n(0)], "inf"),
        ("*", vec![dec("2.5", 15, 2), dec("0.05", 3, 2)], "0.1250"),
        ("-", vec![n(1), dec("0.05", 15, 2)], "0.95"),
        ("<<", vec![n(1), n(3)], "8"),
        ("~", vec![n(5)], "-6"),
        ("xor", vec![n(5), n(2)], "7"),
        ("ceil", vec![dec("1.5", 2, 1)], "2"),
        ("floor", vec![dec("-1.5", 2, 1)], "-2"),
        ("trunc", vec![dec("-1.7", 2, 1)], "-1"),
        ("round", vec![dec("2.5", 2, 1)], "3"),
        ("round", vec![dec("-2.5", 2, 1)], "-3"),
        ("round", vec![dec("2.345", 15, 3), n(2)], "2.35"),
        ("round", vec![d(2.5)], "3.0"),
        ("round", vec![d(1.005), n(2)], "1.0"),
        ("round", vec![n(1250), n(-2)], "1300"),
        ("round", vec![dec("1234.567", 7, 3), n(-2)], "1200"),
        ("sign", vec![n(-3)], "-1"),
        ("log", vec![n(2), n(8)], "3.0"),
        ("ln", vec![n(0)], "-inf"),
        ("sqrt", vec![n(-1)], "nan"),
        ("gcd", vec![n(12), n(18)], "6"),
        ("lcm", vec![n(4), n(6)], "12"),
        ("factorial", vec![n(5)], "120"),
        ("even", vec![d(3.1)], "4.0"),
        ("greatest", vec![n(1), Value::Null, n(3)], "3"),
        ("least", vec![Value::Null, Value::Null], "NULL"),
        ("least", vec![text("b"), text("a")], "a"),
        ("abs", vec![n(i32::MIN)], "error: overflow in INTEGER abs: abs(-2147483648)"),
        (
            "+",
            vec![text("a"), text("b")],
            "error: no operator + for (VARCHAR, VARCHAR); cast the text to the type meant",
        ),
    ];
    for (name, args, expected) in cases {
        assert_eq!(shown(name, &args), expected, "{name}({args:?})");
    }
}

#[test]
fn json_functions_answer_as_duckdb() {
    let n = Value::Integer;
    let document = || text("{\"a\":[1,2,{\"b\":null}],\"c\":\"x\\\"y\",\"d\":1.50}");
    let cases: Vec<(&str, Vec<Value>, &str)> = vec![
        ("json_extract", vec![document(), text("$.a[0]")], "1"),
        ("->", vec![document(), text("a")], "[1,2,{\"b\":null}]"),
        ("json_extract", vec![document(), text("/a/2/b")], "null"),
        ("json_extract", vec![document(), text("$.a[#-1]")], "{\"b\":null}"),
        ("json_extract", vec![document(), text("e")], "NULL"),
        ("json_extract", vec![document(), text("$.d")], "1.5"),
        ("json_extract", vec![text("[1,2,3]"), n(-1)], "3"),
        ("json_extract", vec![text("[1,2,3]"), text("1")], "NULL"),
        ("json_extract", vec![text("[{\"b\":1},{\"b\":2}]"), text("$[*].b")], "[1, 2]"),
        ("json_extract", vec![Value::Null, text("a")], "NULL"),
        ("->>", vec![document(), text("$.a[2].b")], "NULL"),
        ("->>", vec![document(), text("c")], "x\"y"),
        ("json_value", vec![document(), text("a")], "NULL"),
        ("json_value", vec![document(), text("c")], "\"x\\\"y\""),
        ("json_exists", vec![document(), text("$.a[2].b")], "true"),
        ("json_exists", vec![document(), text("x")], "false"),
        ("json_valid", vec![text("{a:1}")], "false"),
        ("json_valid", vec![text("[1,]")], "true"),
        ("json_type", vec![text("-1")], "BIGINT"),
        ("json_type", vec![text("18446744073709551616")], "DOUBLE"),
        ("json_type", vec![document(), text("a")], "ARRAY"),
        ("json_array_length", vec![document(), text("a")], "3"),
        ("json_array_length", vec![document()], "0"),
        ("json_array_length", vec![document(), text("x")], "NULL"),
        ("json_contains", vec![text("[1,2,[3]]"), text("3")], "true"),
        ("json_contains", vec![text("{\"a\":1}"), text("{\"a\":2}")], "false"),
        (
            "json_structure",
            vec![text("{\"a\":1,\"b\":[\"x\",null],\"f\":[],\"g\":[1,\"a\"],\"h\":[-1,2.5]}")],
            "{\"a\":\"UBIGINT\",\"b\":[\"VARCHAR\"],\"f\":[\"NULL\"],\"g\":[\"JSON\"],\"h\":[\"DOUBLE\"]}",
        ),
        (
            "json_merge_patch",
            vec![text("{\"a\":{\"x\":1}}"), text("{\"a\":{\"y\":2}}")],
            "{\"a\":{\"x\":1,\"y\":2}}",
        ),
        ("json_merge_patch", vec![text("{\"a\":1}"), text("5")], "5"),
        (
            "json_pretty",
            vec![text("{\"a\":[1],\"c\":{}}")],
            "{\n    \"a\": [\n        1\n    ],\n    \"c\": {}\n}",
        ),
        ("to_json", vec![text("a\"b")], "\"a\\\"b\""),
        ("to_json", vec![n(1)], "1"),
        ("json_array", vec![n(1), text("a"), Value::Null, Value::Boolean(true)], "[1,\"a\",null,true]"),
        ("json_object", vec![text("a"), n(1), text("b"), Value::Null], "{\"a\":1,\"b\":null}"),
        ("json", vec![text("{ \"a\" : [ 1 , 2 ] }")], "{\"a\":[1,2]}"),
        (
            "json",
            vec![text("bad")],
            "error: malformed JSON at byte 0: a value cannot begin like this, in 'bad'",
        ),
    ];
    for (name, args, expected) in cases {
        assert_eq!(shown(name, &args), expected, "{name}({args:?})");
    }
}

#[test]
fn types_of_results_are_duckdbs() {
    let t = |ty: LogicalType| ArgType::of(ty);
    let d = LogicalType::decimal(15, 2);
    let one = ArgType::literal(&Value::Integer(1));
    use LogicalType::*;
    let cases: Vec<(&str, Vec<ArgType>, LogicalType)> = vec![
        ("+", vec![t(TinyInt), one.clone()], TinyInt),
        ("+", vec![t(TinyInt), ArgType::literal(&Value::Integer(1000))], Integer),
        ("+", vec![t(UBigInt), t(BigInt)], HugeInt),
        ("-", vec![one.clone(), t(d.clone())], LogicalType::decimal(16, 2)),
        ("*", vec![t(d.clone()), t(LogicalType::decimal(16, 2))], LogicalType::decimal(18, 4)),
        (
            "*",
            vec![t(LogicalType::decimal(18, 4)), t(LogicalType::decimal(16, 2))],
            LogicalType::decimal(18, 6),
        ),
        ("*", vec![t(d.clone()), t(BigInt)], LogicalType::decimal(34, 2)),
        ("*", vec![t(d.clone()), t(LogicalType::decimal(2, 1))], LogicalType::decimal(17, 3)),
        (
            "*",
            vec![t(LogicalType::decimal(18, 10)), t(LogicalType::decimal(18, 10))],
            LogicalType::decimal(36, 20),
        ),
        (
            "+",
            vec![t(LogicalType::decimal(38, 5)), t(LogicalType::decimal(25, 10))],
            LogicalType::decimal(38, 10),
        ),
        ("%", vec![t(d.clone()), one.clone()], d.clone()),
        ("/", vec![t(d.clone()), t(d.clone())], Double),
        ("/", vec![t(Integer), t(Real)], Real),
        ("+", vec![t(d.clone()), t(Real)], Real),
        ("+", vec![t(Date), one.clone()], Date),
        ("+", vec![t(Date), t(Interval)], Timestamp),
        ("-", vec![t(Date), t(Date)], BigInt),
        ("-", vec![t(Date), ArgType::literal(&text("2020-01-01"))], BigInt),
        ("-", vec![t(Timestamp), t(Date)], Interval),
        ("*", vec![t(Interval), t(Integer)], Interval),
        ("+", vec![ArgType::literal(&Value::Null), one.clone()], Integer),
        ("round", vec![t(d.clone()), one.clone()], LogicalType::decimal(15, 1)),
        ("ceil", vec![t(d.clone())], LogicalType::decimal(15, 0)),
        ("floor", vec![t(Integer)], Double),
        ("sign", vec![t(d.clone())], TinyInt),
        ("power", vec![t(Integer), t(Integer)], Double),
        ("greatest", vec![t(d.clone()), one], d.clone()),
        ("year", vec![t(Date)], BigInt),
        ("epoch", vec![t(Timestamp)], Double),
        ("date_trunc", vec![ArgType::literal(&text("month")), t(Date)], Timestamp),
        ("last_day", vec![t(Date)], Date),
    ];
    for (name, args, expected) in cases {
        let function = resolve_scalar(name, &args, &ResolveOptions::default()).unwrap();
        assert_eq!(function.return_type, expected, "{name}({args:?})");
    }
    let ints = [t(Integer), t(Integer)];
    let division =
        resolve_scalar("/", &ints, &ResolveOptions { integer_division: true, ..Default::default() }).unwrap();
    assert_eq!(division.return_type, Integer);
    // No cast stands between TPC-H's columns and their product.
    let product =
        resolve_scalar("*", &[t(d.clone()), t(LogicalType::decimal(16, 2))], &ResolveOptions::default())
            .unwrap();
    assert_eq!(product.arg_types, [d, LogicalType::decimal(16, 2)]);
}

#[test]
fn dates_answer_as_duckdb() {
    let cases: Vec<(&str, Vec<Value>, &str)> = vec![
        ("year", vec![date("2024-02-29")], "2024"),
        ("dow", vec![date("2024-02-25")], "0"),
        ("isodow", vec![date("2024-02-25")], "7"),
        ("week", vec![date("2024-12-30")], "1"),
        ("isoyear", vec![date("2024-12-30")], "2025"),
        ("doy", vec![date("2024-12-30")], "365"),
        ("quarter", vec![date("2024-12-30")], "4"),
        ("decade", vec![date("2024-12-30")], "202"),
        ("century", vec![date("2000-12-30")], "20"),
        ("millennium", vec![date("2000-12-30")], "2"),
        ("epoch", vec![date("2000-12-30")], "978134400.0"),
        ("yearweek", vec![date("2024-12-30")], "202501"),
        ("milliseconds", vec![timestamp("2000-01-01 00:00:01.234567")], "1234"),
        ("second", vec![timestamp("2000-01-01 00:00:01.934567")], "1"),
        ("hour", vec![date("2000-01-01")], "0"),
        ("date_part", vec![text("month"), date("2024-02-29")], "2.0"),
        ("date_trunc", vec![text("week"), date("2024-02-25")], "2024-02-19 00:00:00"),
        ("date_trunc", vec![text("quarter"), timestamp("2024-02-25 10:11:12")], "2024-01-01 00:00:00"),
        ("date_trunc", vec![text("hour"), timestamp("2024-02-25 10:11:12")], "2024-02-25 10:00:00"),
        ("date_trunc", vec![text("century"), date("2024-02-25")], "2000-01-01 00:00:00"),
        ("date_diff", vec![text("month"), date("2020-01-31"), date("2020-02-01")], "1"),
        ("date_diff", vec![text("week"), date("2020-01-31"), date("2020-02-09")], "1"),
        (
            "date_diff",
            vec![text("hour"), timestamp("2020-01-01 10:59:59"), timestamp("2020-01-01 11:00:00")],
            "1",
        ),
        ("date_sub", vec![text("month"), date("2020-01-31"), date("2020-02-28")], "0"),
        ("date_sub", vec![text("year"), date("2020-01-31"), date("2022-01-31")], "2"),
        ("age", vec![timestamp("2020-03-01"), timestamp("2020-01-31")], "1 month 1 day"),
        ("-", vec![timestamp("2020-01-02 10:00:00"), timestamp("2020-01-01 12:00:00")], "22:00:00"),
        ("-", vec![timestamp("2020-03-01"), timestamp("2020-01-01")], "60 days"),
        ("-", vec![date("2020-03-01"), date("2020-01-01")], "60"),
        (
            "+",
            vec![date("2020-01-31"), Value::Interval(Interval { months: 1, days: 0, micros: 0 })],
            "2020-02-29 00:00:00",
        ),
        (
            "*",
            vec![Value::Interval(Interval { months: 1, days: 0, micros: 0 }), Value::Double(1.5)],
            "1 month 15 days",
        ),
        (
            "/",
            vec![Value::Interval(Interval { months: 0, days: 1, micros: 0 }), Value::Integer(2)],
            "12:00:00",
        ),
        ("last_day", vec![date("2024-02-05")], "2024-02-29"),
        (
            "make_date",
            vec![Value::Integer(2024), Value::Integer(2), Value::Integer(30)],
            "error: there is no date 2024-2-30",
        ),
        ("monthname", vec![date("2024-02-05")], "February"),
        ("dayname", vec![date("2024-02-05")], "Monday"),
        ("to_days", vec![Value::Integer(3)], "3 days"),
        ("strftime", vec![date("2024-02-05"), text("%d.%m.%Y %a %j %-d %y")], "05.02.2024 Mon 036 5 24"),
        ("strftime", vec![timestamp("2024-02-05 13:04:05.678"), text("%I %p %f %g")], "01 PM 678000 678"),
        ("strptime", vec![text("5 Feb 24 1PM"), text("%d %b %y %I%p")], "2024-02-05 13:00:00"),
        (
            "strptime",
            vec![text("2024-02-30"), text("%Y-%m-%d")],
            "error: could not convert '2024-02-30' to TIMESTAMP by format '%Y-%m-%d': there is no date 2024-2-30",
        ),
    ];
    for (name, args, expected) in cases {
        assert_eq!(shown(name, &args), expected, "{name}({args:?})");
    }
}

/// Some values of a type, small enough that few functions fail.
fn samples(ty: LogicalType) -> Vec<Value> {
    let cast_all = |texts: &[&str]| texts.iter().map(|t| cast_value(&text(t), &ty).unwrap()).collect();
    match ty {
        LogicalType::Varchar => {
            ["", "abc", "a text longer than twelve bytes", "héllo wörld, again", "b"].map(text).to_vec()
        }
        LogicalType::Blob => vec![Value::Blob(vec![0, 255]), Value::Blob(vec![7; 20])],
        LogicalType::Boolean => vec![Value::Boolean(true), Value::Boolean(false)],
        LogicalType::Date => cast_all(&["2024-02-29", "1969-12-31", "0001-01-01"]),
        LogicalType::Time => cast_all(&["10:11:12.5", "00:00:00"]),
        LogicalType::Timestamp
        | LogicalType::TimestampS
        | LogicalType::TimestampMs
        | LogicalType::TimestampNs
        | LogicalType::TimestampTz => cast_all(&["2024-02-29 10:11:12.5", "1969-12-31 23:59:59"]),
        LogicalType::TimeTz => cast_all(&["10:11:12.5+01", "00:00:00-02:30"]),
        LogicalType::Interval => cast_all(&["1 year 2 days 03:00:00", "-1 month"]),
        LogicalType::Double | LogicalType::Real => cast_all(&["0.5", "-2.5", "3"]),
        _ => cast_all(&["1", "3", "2"]),
    }
}

/// Every overload gives the same for flat, dictionary and constant arguments as row by row, and NULL for NULL unless it decides
/// itself what NULL means.
#[test]
fn shapes_of_arguments_do_not_matter() {
    for function in all_functions() {
        let Overloads::Fixed(signatures) = function.overloads else { continue };
        if function.volatility == Volatility::Volatile {
            continue;
        }
        for signature in signatures.iter().filter(|signature| !signature.args.is_empty()) {
            let kernel = signature.kernel_for(&ResolveOptions::default());
            let (name, nulls) = (function.name, function.null_handling);
            check_shapes(name, signature.args, &signature.returns, nulls, &|args, len, out| {
                kernel.eval(args, len, out)
            });
            if signature.variadic {
                // With more of the last argument, which mix shapes as well.
                let last = signature.args.last().cloned();
                let more: Vec<LogicalType> =
                    signature.args.iter().cloned().chain(std::iter::repeat_n(last, 2).flatten()).collect();
                check_shapes(name, &more, &signature.returns, nulls, &|args, len, out| {
                    kernel.eval(args, len, out)
                });
            }
        }
    }
    for (name, types) in [
        ("+", vec![LogicalType::Integer; 2]),
        ("*", vec![LogicalType::BigInt; 2]),
        ("%", vec![LogicalType::decimal(9, 2); 2]),
        ("*", vec![LogicalType::decimal(15, 2); 2]),
        ("-", vec![LogicalType::Timestamp, LogicalType::Interval]),
        ("-", vec![LogicalType::Double]),
        ("abs", vec![LogicalType::SmallInt]),
        ("||", vec![LogicalType::Varchar; 2]),
        ("round", vec![LogicalType::decimal(15, 2), LogicalType::Integer]),
        ("round", vec![LogicalType::Integer, LogicalType::Integer]),
        ("ceil", vec![LogicalType::decimal(15, 2)]),
        ("sign", vec![LogicalType::HugeInt]),
    ] {
        let args: Vec<ArgType> = types.iter().map(|ty| ArgType::of(ty.clone())).collect();
        let function = resolve_scalar(name, &args, &ResolveOptions::default()).unwrap();
        let kernel = Arc::clone(&function.kernel);
        let nulls = function.null_handling;
        check_shapes(name, &function.arg_types, &function.return_type, nulls, &|args, len, out| {
            kernel.eval(args, len, out)
        });
    }
}

type Run<'a> = &'a dyn Fn(&[&Vector], usize, &mut Vector) -> Result<()>;

fn check_shapes(
    name: &str,
    types: &[LogicalType],
    returns: &LogicalType,
    null_handling: NullHandling,
    run: Run,
) {
    let len = 37;
    let columns: Vec<Vec<Value>> = types
        .iter()
        .enumerate()
        .map(|(index, ty)| {
            let pool = if *ty == LogicalType::Varchar
                && index == 0
                && types.len() > 1
                && matches!(
                    types[1],
                    LogicalType::Date | LogicalType::Timestamp | LogicalType::Time | LogicalType::Interval
                ) {
                vec![text("month"), text("hour")]
            } else {
                samples(ty.clone())
            };
            (0..len)
                .map(|row| {
                    if (row + index) % 7 == 3 {
                        Value::Null
                    } else {
                        pool[row / (index + 1) % pool.len()].clone()
                    }
                })
                .collect()
        })
        .collect();
    // Shape `s` of argument `a`: 0 flat, 1 dictionary, 2 constant.
    for shape in 0..3usize.pow(types.len().min(3) as u32) {
        let kind = |arg: usize| shape / 3usize.pow(arg.min(2) as u32) % 3;
        let vectors: Vec<Vector> =
            (0..types.len()).map(|arg| shaped(types[arg].clone(), &columns[arg], kind(arg))).collect();
        let args: Vec<&Vector> = vectors.iter().collect();
        let mut out = Vector::empty(returns.clone());
        let whole = run(&args, len, &mut out);
        let mut failed = false;
        for row in 0..len {
            let one: Vec<Vector> = vectors
                .iter()
                .zip(types)
                .map(|(v, ty)| Vector::constant(ty.clone(), &v.get(row), 1).unwrap())
                .collect();
            let mut single = Vector::empty(returns.clone());
            match run(&one.iter().collect::<Vec<_>>(), 1, &mut single) {
                Err(_) => failed = true,
                Ok(()) => {
                    let has_null = one.iter().any(|v| v.is_null(0));
                    match null_handling {
                        NullHandling::Propagate => {
                            assert_eq!(single.get(0).is_null(), has_null, "{name}{types:?} row {row}");
                        }
                        NullHandling::Special => {}
                    }
                    if whole.is_ok() {
                        let (found, expected) = (out.get(row), single.get(0));
                        let same = found.to_string() == expected.to_string();
                        assert!(
                            same,
                            "{name}{types:?} shape {shape} row {row}: {found} instead of {expected}"
                        );
                    }
                }
            }
        }
        assert_eq!(whole.is_err(), failed, "{name}{types:?} shape {shape}: {whole:?}");
        if whole.is_ok() {
            assert_eq!((&out.logical_type(), out.len()), (returns, len), "{name}");
        }
    }
}

fn shaped(ty: LogicalType, values: &[Value], kind: usize) -> Vector {
    let flat = Vector::from_sql_values(ty.clone(), values).unwrap();
    match kind {
        0 => flat,
        1 => {
            let mut distinct: Vec<Value> = Vec::new();
            let codes: Vec<u32> = values
                .iter()
                .map(|v| match distinct.iter().position(|d| d == v) {
                    _ if v.is_null() => 0,
                    Some(code) => code as u32,
                    None => {
                        distinct.push(v.clone());
                        distinct.len() as u32 - 1
                    }
                })
                .collect();
            let valid = Bitmap::from_fn(values.len(), |i| !values[i].is_null());
            let dictionary = Dictionary::new(Vector::from_sql_values(ty, &distinct).unwrap());
            Vector::dictionary(dictionary, Buffer::copy_of(&codes), values.len(), Some(valid))
        }
        _ => Vector::constant(ty, &values[0], values.len()).unwrap(),
    }
}

/// Functions over nested values, called as SQL would.
#[test]
fn nested_functions_answer_as_duckdb() {
    let ints = |values: &[i32]| Value::List {
        element: Arc::new(LogicalType::Integer),
        values: values.iter().map(|v| Value::Integer(*v)).collect(),
    };
    let list = ints(&[4, 5, 6]);
    let cases: Vec<(&str, Vec<Value>, &str)> = vec![
        ("list_value", vec![Value::Integer(4), Value::Null], "[4, NULL]"),
        ("list_value", vec![], "[]"),
        ("list_extract", vec![list.clone(), Value::BigInt(-1)], "6"),
        ("list_extract", vec![list.clone(), Value::BigInt(4)], "NULL"),
        ("list_extract", vec![text("hällo"), Value::BigInt(2)], "ä"),
        ("list_slice", vec![list.clone(), Value::BigInt(2), Value::BigInt(9)], "[5, 6]"),
        ("list_slice", vec![text("hällo"), Value::BigInt(-4), Value::BigInt(3)], "äl"),
        ("map", vec![list.clone(), ints(&[1, 2, 3])], "{4=1, 5=2, 6=3}"),
        ("len", vec![list.clone()], "3"),
        ("length", vec![text("abcd")], "4"),
        ("list_concat", vec![list.clone(), ints(&[1])], "[4, 5, 6, 1]"),
        ("concat", vec![text("a"), text("b")], "ab"),
        ("list_sort", vec![list.clone(), text("desc")], "[6, 5, 4]"),
        ("list_sum", vec![list.clone()], "15"),
        ("range", vec![Value::BigInt(3)], "[0, 1, 2]"),
        ("string_split", vec![text("a long text, another"), text(", ")], "[a long text, another]"),
        ("list_zip", vec![list.clone(), ints(&[1])], "[(4, 1), (5, NULL), (6, NULL)]"),
        ("contains", vec![text("abc"), text("b")], "true"),
        ("row", vec![Value::Integer(1), text("a string that is long")], "(1, a string that is long)"),
    ];
    for (name, args, expected) in cases {
        assert_eq!(shown(name, &args), expected, "{name}({args:?})");
    }
}

#[test]
fn names_are_unique_and_unknown_ones_hint_at_near_ones() {
    // A name may stand for texts in one table and for lists in another, not twice in one.
    for table in crate::tables::TABLES {
        let named = |f: &'static Function| std::iter::once(f.name).chain(f.aliases.iter().copied());
        let mut names: Vec<&str> = table.functions.iter().flat_map(named).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count, "a name is declared twice");
    }
    let error =
        resolve_scalar("uper", &[ArgType::of(LogicalType::Varchar)], &ResolveOptions::default()).unwrap_err();
    assert_eq!(error.to_string(), "function \"uper\" does not exist; did you mean upper?");
    let error = resolve_scalar("upper", &[ArgType::of(LogicalType::Integer)], &ResolveOptions::default())
        .unwrap_err();
    assert!(error.to_string().starts_with("no function upper(INTEGER)"), "{error}");
}

/// Loops over elements of fixed width, on rows of all shapes at once, against the general loops row by row.
#[test]
fn lists_of_numbers_answer_by_rows_as_alone() {
    let list = |values: &[Option<i32>]| Value::List {
        element: Arc::new(LogicalType::Integer),
        values: values.iter().map(|value| value.map_or(Value::Null, Value::Integer)).collect(),
    };
    let lists = [
        list(&[Some(1), Some(2), Some(3)]),
        Value::Null,
        list(&[]),
        list(&[Some(3), None]),
        list(&[None]),
        list(&[Some(9); 30]),
    ];
    let ty = LogicalType::list(LogicalType::Integer);
    let vector = Vector::from_sql_values(ty.clone(), &lists).unwrap();
    let contained = |list: &Value, wanted: &Value| match (list, wanted) {
        (Value::Null, _) | (_, Value::Null) => Value::Null,
        (Value::List { values, .. }, wanted) => Value::Boolean(values.contains(wanted)),
        _ => unreachable!("a list"),
    };
    let number = |value: i64| if value < 0 { Value::Null } else { Value::BigInt(value) };
    let contains = resolve_scalar(
        "list_contains",
        &[ArgType::of(ty.clone()), ArgType::of(LogicalType::Integer)],
        &ResolveOptions::default(),
    )
    .unwrap();
    let wanted = [3, 3, 3, 7, 7, 9].map(Value::Integer);
    let flat = Vector::from_sql_values(LogicalType::Integer, &wanted).unwrap();
    let mut with_null = wanted.clone();
    with_null[5] = Value::Null;
    let nulls = Vector::from_sql_values(LogicalType::Integer, &with_null).unwrap();
    let constant = Vector::constant(LogicalType::Integer, &Value::Integer(3), 6).unwrap();
    let null = Vector::constant(LogicalType::Integer, &Value::Null, 6).unwrap();
    let mut out = Vector::empty(LogicalType::Null);
    for (second, values) in [
        (&flat, wanted.clone()),
        (&nulls, with_null),
        (&constant, [3; 6].map(Value::Integer)),
        (&null, [const { Value::Null }; 6]),
    ] {
        contains.kernel.eval(&[&vector, second], 6, &mut out).unwrap();
        for row in 0..6 {
            assert_eq!(out.get(row), contained(&lists[row], &values[row]), "row {row}");
        }
    }
    let one = Vector::constant(ty.clone(), &lists[0], 6).unwrap();
    contains.kernel.eval(&[&one, &flat], 6, &mut out).unwrap();
    assert_eq!((0..6).filter(|&row| out.get(row) == Value::Boolean(true)).count(), 3);
    let len = resolve_scalar("len", &[ArgType::of(ty.clone())], &ResolveOptions::default()).unwrap();
    len.kernel.eval(&[&vector], 6, &mut out).unwrap();
    for (row, size) in [3, -1, 0, 2, 1, 30].into_iter().enumerate() {
        assert_eq!(out.get(row), number(size), "row {row}");
    }
    let twice = resolve_scalar(
        "list_concat",
        &[ArgType::of(ty.clone()), ArgType::of(ty.clone())],
        &ResolveOptions::default(),
    )
    .unwrap();
    twice.kernel.eval(&[&vector, &vector], 6, &mut out).unwrap();
    for (row, shown) in
        ["[1, 2, 3, 1, 2, 3]", "[]", "[]", "[3, NULL, 3, NULL]", "[NULL, NULL]"].iter().enumerate()
    {
        assert_eq!(out.get(row).to_string(), *shown, "row {row}");
    }
    let slice = resolve_scalar(
        "list_slice",
        &[ArgType::of(ty), ArgType::of(LogicalType::BigInt), ArgType::of(LogicalType::BigInt)],
        &ResolveOptions::default(),
    )
    .unwrap();
    let bound = |at: i64| Vector::constant(LogicalType::BigInt, &Value::BigInt(at), 6).unwrap();
    for (from, to, expected) in [
        (2, 3, ["[2, 3]", "NULL", "[]", "[NULL]", "[]", "[9, 9]"]),
        (-2, -1, ["[2, 3]", "NULL", "[]", "[3, NULL]", "[NULL]", "[9, 9]"]),
        (5, 1, ["[]", "NULL", "[]", "[]", "[]", "[]"]),
        (0, 1, ["[1]", "NULL", "[]", "[3]", "[NULL]", "[9]"]),
    ] {
        slice.kernel.eval(&[&vector, &bound(from), &bound(to)], 6, &mut out).unwrap();
        let shown: Vec<String> = (0..6).map(|row| out.get(row).to_string()).collect();
        assert_eq!(shown, expected, "[{from}:{to}]");
    }
}

/// Texts in the view and in the heap, of an ASCII heap or not, asked often enough that the heap is looked through.
#[test]
fn lengths_do_not_depend_on_what_is_known_of_a_heap() {
    let long = "a text that does not fit into its view".to_string();
    let cases = [
        vec!["short".to_string(), long.clone(), "é€𝄞".to_string(), String::new(), "ééé".to_string()],
        vec![long.clone(), format!("{long}é€𝄞"), "жизнь".to_string()],
        vec!["no heap".to_string(), "ü".to_string()],
    ];
    for texts in cases {
        let values: Vec<Value> = texts.iter().map(|words| text(words)).collect();
        let column = Vector::from_sql_values(LogicalType::Varchar, &values).unwrap();
        let function = resolved("length", &values[..1]).unwrap();
        let expected: Vec<Value> =
            texts.iter().map(|words| Value::BigInt(words.chars().count() as i64)).collect();
        for _ in 0..20 {
            let mut out = Vector::empty(function.return_type.clone());
            function.kernel.eval(&[&column], column.len(), &mut out).unwrap();
            let found: Vec<Value> = (0..column.len()).map(|row| out.get(row)).collect();
            assert_eq!(found, expected);
        }
    }
}

#[test]
fn lengths_count_characters_whatever_the_bytes() {
    let pieces = ["a", "é", "€", "𝄞", "0123456789", "жизнь"];
    for count in [0, 1, 2, 3, 7, 8, 9, 30, 700] {
        for start in 0..pieces.len() {
            let words: String = (0..count).map(|i| pieces[(start + i * i) % pieces.len()]).collect();
            let expected = Value::BigInt(words.chars().count() as i64);
            assert_eq!(call("length", &[text(&words)]).unwrap(), expected, "{words}");
        }
    }
}

//! What is not declared to fail for some arguments fails for none: filters move such calls in front of others, where they are
//! computed for rows that were never meant.

use super::resolve_scalar;
use crate::registry::all_functions;
use inlay_kernels::resolve::{ArgType, ResolveOptions};
use inlay_kernels::{ScalarFunction, Volatility};
use inlay_types::datetime::{is_date, is_timestamp};
use inlay_types::limits::{self, Limits};
use inlay_types::{Interrupt, Interval, LogicalType, MemoryBudget, Value, Vector};
use std::collections::HashSet;
use std::sync::Arc;

/// Values at the limits of a type, and odd ones.
fn odd(ty: &LogicalType) -> Vec<Value> {
    let texts = |texts: &[&str]| texts.iter().map(|text| Value::Varchar((*text).to_string())).collect();
    let stored = |values: &[i128]| -> Vec<Value> {
        values.iter().filter_map(|value| Value::from_stored_i128(ty, *value)).collect()
    };
    match ty {
        LogicalType::Varchar => {
            let mut all: Vec<Value> = texts(&[
                "",
                "a",
                "%",
                "[",
                "(",
                "\\",
                "-",
                "{}",
                "null",
                "day",
                "0",
                "9999999999999999999999",
                "é\u{0}\u{10ffff}",
                "2024-13-45",
                "/",
                ".",
                "x=",
                "\"",
            ]);
            all.push(Value::Varchar("long ".repeat(60)));
            all
        }
        LogicalType::Json => ["null", "[]", "{}", "\"\"", "1e400", "[[{\"a\": -0.0}]]"]
            .iter()
            .map(|text| Value::Json((*text).to_string()))
            .collect(),
        LogicalType::Blob => {
            vec![Value::Blob(vec![]), Value::Blob(vec![255, 254, 0]), Value::Blob(vec![7; 40])]
        }
        LogicalType::Bit => ["0", "1", "101010101"]
            .iter()
            .filter_map(|text| inlay_types::bit::parse(text).ok().map(Value::Bit))
            .collect(),
        LogicalType::Boolean => vec![Value::Boolean(false), Value::Boolean(true)],
        LogicalType::Real => [0.0, -0.0, f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MAX, f32::MIN, 0.5]
            .map(Value::Real)
            .to_vec(),
        LogicalType::Double => [
            0.0,
            -0.0,
            f64::NAN,
            f64::INFINITY,
            f64::NEG_INFINITY,
            f64::MAX,
            f64::MIN,
            f64::MIN_POSITIVE,
            0.5,
            -1.5,
        ]
        .map(Value::Double)
        .to_vec(),
        LogicalType::Interval => {
            [(0, 0, 0), (i32::MIN, i32::MIN, i64::MIN), (i32::MAX, i32::MAX, i64::MAX), (-1, 1, -1)]
                .map(|(months, days, micros)| Value::Interval(Interval { months, days, micros }))
                .to_vec()
        }
        LogicalType::Date => stored(&[
            i128::from(i32::MAX),
            -i128::from(i32::MAX),
            0,
            -719_529,
            5_881_580 * 365,
            -5_877_641 * 365,
            i128::from(i32::MAX) - 1,
        ])
        .into_iter()
        .filter(|value| matches!(value, Value::Date(days) if is_date(*days)))
        .collect(),
        LogicalType::Time => stored(&[0, 86_400_000_000, 86_399_999_999]),
        LogicalType::Timestamp | LogicalType::TimestampTz => stored(&[
            i128::from(i64::MAX),
            -i128::from(i64::MAX),
            0,
            -1,
            9_223_372_036_854_775_806,
            -9_223_372_022_400_000_000,
        ])
        .into_iter()
        .filter(|value| matches!(value, Value::Timestamp(at) | Value::TimestampTz(at) if is_timestamp(*at)))
        .collect(),
        LogicalType::List(element) => {
            let values = odd(element).into_iter().chain([Value::Null]).collect();
            [Vec::new(), vec![Value::Null], values]
                .map(|values| Value::List { element: Arc::clone(element), values })
                .to_vec()
        }
        LogicalType::Decimal { precision, .. } => {
            let most = 10i128.pow(u32::from(*precision)) - 1;
            stored(&[-most, most, 0, 1, -1, most / 2])
        }
        ty if ty.is_numeric() => {
            let edges: Vec<i128> = (0..=127)
                .flat_map(|bits| [i128::MAX >> bits, -(i128::MAX >> bits) - 1])
                .filter(|value| Value::from_stored_i128(ty, *value).is_some())
                .collect();
            let edges = [edges.iter().min(), edges.iter().max()].into_iter().flatten().copied();
            stored(&edges.chain([0, 1, -1, 2, 64, 1000]).collect::<Vec<_>>())
        }
        _ => Vec::new(),
    }
}

const TYPES: [LogicalType; 18] = [
    LogicalType::Varchar,
    LogicalType::Integer,
    LogicalType::BigInt,
    LogicalType::Double,
    LogicalType::Date,
    LogicalType::Timestamp,
    LogicalType::Interval,
    LogicalType::Boolean,
    LogicalType::TimestampTz,
    LogicalType::Time,
    LogicalType::Blob,
    LogicalType::Json,
    LogicalType::HugeInt,
    LogicalType::UBigInt,
    LogicalType::TinyInt,
    LogicalType::Real,
    LogicalType::Bit,
    LogicalType::UHugeInt,
];

/// Lists of types of arguments: all of one and two, those of the first few of three.
fn signatures() -> Vec<Vec<LogicalType>> {
    let mut types = TYPES.to_vec();
    types.extend([LogicalType::decimal(18, 3), LogicalType::decimal(38, 10)]);
    types.extend([LogicalType::list(LogicalType::Integer), LogicalType::list(LogicalType::Varchar)]);
    let mut all = vec![Vec::new()];
    all.extend(types.iter().map(|ty| vec![ty.clone()]));
    all.extend(types.iter().flat_map(|a| types.iter().map(|b| vec![a.clone(), b.clone()])));
    let few = &types[..8];
    for a in types.iter() {
        all.extend(few.iter().flat_map(|b| few.iter().map(|c| vec![a.clone(), b.clone(), c.clone()])));
    }
    all
}

/// The first failure of a function for odd values, if there is one. That memory ran out is the statement's failure.
fn failure(function: &ScalarFunction) -> Option<String> {
    const ROWS_MAX: usize = 400;
    let pools: Vec<Vec<Value>> = function.arg_types.iter().map(odd).collect();
    let all: usize = pools.iter().map(Vec::len).product();
    let rows = all.min(ROWS_MAX);
    // A prime step visits all combinations where there are too many.
    let place = |row: usize| if all > ROWS_MAX { row * 7919 % all } else { row };
    let values = |row: usize| {
        let mut at = place(row);
        let value = |pool: &Vec<Value>| {
            let value = pool[at % pool.len()].clone();
            at /= pool.len();
            value
        };
        pools.iter().map(value).collect::<Vec<Value>>()
    };
    let run = |rows: &[Vec<Value>]| {
        let column = |index: usize| {
            let values: Vec<Value> = rows.iter().map(|row| row[index].clone()).collect();
            Vector::from_sql_values(function.arg_types[index].clone(), &values)
        };
        let columns: Vec<Vector> = (0..function.arg_types.len()).map(column).collect::<Result<_, _>>()?;
        let args: Vec<&Vector> = columns.iter().collect();
        function.kernel.eval(&args, rows.len(), &mut Vector::empty(function.return_type.clone()))
    };
    let rows: Vec<Vec<Value>> = (0..rows).map(values).collect();
    let fails = |rows: &[Vec<Value>]| run(rows).err().filter(|error| !error.is_of_statement());
    fails(&rows)?;
    rows.iter().find_map(|row| Some(format!("{row:?}: {}", fails(std::slice::from_ref(row))?)))
}

#[test]
fn functions_that_are_not_declared_to_fail_do_not() {
    let (signatures, mut failures) = (signatures(), Vec::new());
    let mut tried = HashSet::new();
    for declared in all_functions().filter(|declared| declared.volatility != Volatility::Volatile) {
        for types in &signatures {
            let args: Vec<ArgType> = types.iter().map(|ty| ArgType::of(ty.clone())).collect();
            let Ok(function) = resolve_scalar(declared.name, &args, &ResolveOptions::default()) else {
                continue;
            };
            let shown: Vec<String> = function.arg_types.iter().map(ToString::to_string).collect();
            let name = format!("{}({})", declared.name, shown.join(", "));
            if function.can_fail || !tried.insert(name.clone()) {
                continue;
            }
            let limits = Limits::new(MemoryBudget::new(64 << 20), Interrupt::new());
            failures.extend(limits::with(limits, || failure(&function)).map(|what| format!("{name} {what}")));
        }
    }
    assert!(tried.len() > 500, "{} calls were tried", tried.len());
    assert!(failures.is_empty(), "{} of {}:\n{}", failures.len(), tried.len(), failures.join("\n"));
}

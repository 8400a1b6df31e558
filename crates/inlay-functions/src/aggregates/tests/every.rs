//! Every aggregate, with every type that it takes: whatever way its rows go, the result is that of all rows at once.
//!
//! Calls are found by asking each aggregate's own rules about all types, so that a new one is tested by being declared. Ways:
//! - parts that are merged in order, two to five;
//! - groups of a batch, each like its own rows alone;
//! - frames of a window, made of states of blocks of rows;
//! - rows that are kept, put away and brought back, as they are when they go to files;
//! - rows that are read in several passes, where a function can do that.

use crate::aggregates::{self, Aggregate};
use inlay_kernels::aggregate::{GroupIds, GroupedAccumulator, create};
use inlay_kernels::resolve::ArgType;
use inlay_kernels::{AggregateFunction, cast_value};
use inlay_types::{LogicalType, Result, Value, Vector};
use std::collections::HashSet;

const ROWS: usize = 211;

/// What depends on the order of rows or on chance: such results are only asked to be NULL or not.
const APPROXIMATE: &[&str] = &["approx_quantile", "reservoir_quantile"];

/// Types of arguments that rows have.
fn row_types() -> Vec<LogicalType> {
    use LogicalType as T;
    let integers = [T::TinyInt, T::SmallInt, T::Integer, T::BigInt, T::HugeInt];
    let unsigned = [T::UTinyInt, T::USmallInt, T::UInteger, T::UBigInt, T::UHugeInt];
    let moments = [T::Date, T::Time, T::Timestamp, T::TimestampTz, T::TimestampNs, T::TimeTz, T::Interval];
    let others = [
        T::Double,
        T::Real,
        T::Boolean,
        T::Varchar,
        T::Blob,
        T::Bit,
        T::Json,
        T::Uuid,
        T::decimal(4, 1),
        T::decimal(18, 2),
        T::decimal(38, 2),
        T::list(T::Integer),
        T::structure(vec![("a".to_string(), T::Integer), ("b".to_string(), T::Varchar)]),
    ];
    integers.into_iter().chain(unsigned).chain(moments).chain(others).collect()
}

/// Types of a second and third argument of rows, which need not all be tried beside each first one.
fn further_types() -> Vec<LogicalType> {
    vec![
        LogicalType::Integer,
        LogicalType::Double,
        LogicalType::Varchar,
        LogicalType::decimal(18, 2),
        LogicalType::Date,
    ]
}

/// What a constant argument may be.
fn constants() -> Vec<Value> {
    let list = |element: LogicalType, values: Vec<Value>| Value::List { element: element.into(), values };
    vec![
        Value::Integer(3),
        Value::Double(0.25),
        Value::Varchar("-".into()),
        list(LogicalType::Double, vec![Value::Double(0.25), Value::Double(0.5)]),
        list(LogicalType::Integer, vec![Value::Integer(-5), Value::Integer(0), Value::Integer(5)]),
        Value::Integer(-100),
        Value::Integer(100),
        Value::Integer(50),
    ]
}

/// Texts that values of a type are read from; several lists where a function may refuse some.
fn samples(ty: &LogicalType) -> Vec<&'static [&'static str]> {
    use LogicalType as T;
    const JSON: &[&str] = &["1", "\"a\"", "{\"k\": 2}", "[1, 2.5]", "{\"k\": \"x\", \"l\": null}"];
    const OBJECTS: &[&str] = &["{\"k\": 2}", "{\"k\": \"x\", \"l\": null}"];
    const ARRAYS: &[&str] = &["[1]", "[\"a\"]", "[{\"k\": 2}]", "[[1, 2.5]]"];
    match ty {
        T::Varchar => {
            vec![&["b", "", "ab", "a text longer than twelve bytes", "ä", "b"], JSON, OBJECTS, ARRAYS]
        }
        T::Json => vec![JSON, OBJECTS, ARRAYS],
        T::Boolean => vec![&["true", "false", "true"]],
        T::Blob => vec![&["ab", "\\x00\\xFF", "a blob longer than twelve bytes", ""]],
        T::Bit => vec![&["0101", "1100", "0000", "1111"]],
        T::Date => vec![&["2024-02-29", "1969-12-31", "2024-03-01", "2030-01-01"]],
        T::Time => vec![&["10:11:12.5", "00:00:00", "23:59:59"]],
        T::TimeTz => vec![&["10:11:12.5+01", "00:00:00-02:30", "12:00:00+00"]],
        T::Timestamp | T::TimestampNs => {
            vec![&["2024-02-29 10:11:12.5", "1969-12-31 23:59:59", "2024-03-01 00:00:00"]]
        }
        T::TimestampTz => vec![&["2024-02-29 10:11:12.5+00", "1969-12-31 23:59:59+00"]],
        T::Interval => vec![&["1 year 2 days", "-1 month", "03:00:00", "1 day"]],
        T::Uuid => vec![&["3fa85f64-5717-4562-b3fc-2c963f66afa6", "00000000-0000-0000-0000-000000000001"]],
        T::Double | T::Real | T::Decimal { .. } => {
            vec![&["0.5", "-2.5", "3", "-0.5", "12", "7.5"], &["1", "3", "2", "9"]]
        }
        T::List(_) => vec![&["[1, 2]", "[]", "[1, NULL]", "[3]"]],
        T::Struct(_) => vec![&["{'a': 1, 'b': x}", "{'a': 2, 'b': NULL}", "{'a': 1, 'b': a}"]],
        _ => vec![&["1", "3", "2", "9", "0", "7", "3"]],
    }
}

/// A column of an argument, a third of whose rows or none are NULL.
fn column(ty: &LogicalType, position: usize, pool: usize, has_nulls: bool) -> Result<Vector> {
    let pools = samples(ty);
    let texts = pools[pool % pools.len()];
    let value = |row: usize| {
        if has_nulls && (row * 5 + position) % 7 < 2 {
            return Ok(Value::Null);
        }
        let number = row * row / 3 + row * (position + 1);
        cast_value(&Value::Varchar(texts[number % texts.len()].into()), ty)
    };
    Vector::from_sql_values(ty.clone(), &(0..ROWS).map(value).collect::<Result<Vec<_>>>()?)
}

/// An aggregate for arguments of certain types, with columns that it accepts.
struct Call {
    name: &'static str,
    function: AggregateFunction,
    args: Vec<Vector>,
}

impl Call {
    fn shown(&self) -> String {
        format!("{}({:?})", self.name, self.function.arg_types)
    }

    fn accumulator(&self) -> Box<dyn GroupedAccumulator> {
        let mut made = create(&self.function, false).unwrap();
        made.resize(1);
        made
    }

    fn rows(&self, rows: std::ops::Range<usize>) -> Vec<Vector> {
        self.args.iter().map(|arg| arg.slice(rows.start, rows.len())).collect()
    }

    fn add(&self, accumulator: &mut dyn GroupedAccumulator, rows: std::ops::Range<usize>) -> Result<()> {
        let len = rows.len();
        accumulator.update_one(&self.rows(rows).iter().collect::<Vec<_>>(), len, 0)
    }

    /// The result of some rows at once.
    fn plain(&self, rows: std::ops::Range<usize>) -> Result<Value> {
        let mut accumulator = self.accumulator();
        self.add(&mut *accumulator, rows)?;
        Ok(accumulator.finish(0, 1)?.get(0))
    }

    fn expect(&self, found: &Value, rows: std::ops::Range<usize>, way: &str) {
        let expected = self.plain(rows.clone()).unwrap();
        let is_right = if APPROXIMATE.contains(&self.name) {
            found.is_null() == expected.is_null()
        } else {
            is_same(found, &expected)
        };
        assert!(is_right, "{} of rows {rows:?}, {way}: {found} instead of {expected}", self.shown());
    }

    fn merged_parts(&self) {
        for parts in 2..=5 {
            let mut whole = self.accumulator();
            for part in 0..parts {
                let mut own = self.accumulator();
                own.start_morsel(part as u32);
                self.add(&mut *own, part * ROWS / parts..(part + 1) * ROWS / parts).unwrap();
                own.prepare_merge();
                whole.merge(&*own, &[0], &[0]).unwrap();
            }
            let found = whole.finish(0, 1).unwrap();
            assert_eq!(found.logical_type(), self.function.return_type, "{}", self.shown());
            self.expect(&found.get(0), 0..ROWS, &format!("in {parts} parts"));
        }
    }

    /// Groups are stretches of rows, of which the second has none; updates have all of them.
    fn groups(&self) -> (Vec<u32>, Vec<std::ops::Range<usize>>) {
        let ends = [0, 40, 40, 41, 100, ROWS];
        let ranges: Vec<_> = ends.windows(2).map(|pair| pair[0]..pair[1]).collect();
        let ids = ranges.iter().zip(0..).flat_map(|(range, id)| range.clone().map(move |_| id));
        (ids.collect(), ranges)
    }

    fn grouped(&self) {
        let (ids, ranges) = self.groups();
        let mut accumulator = create(&self.function, false).unwrap();
        accumulator.resize(ranges.len());
        let args = self.rows(0..ROWS);
        accumulator.update(&args.iter().collect::<Vec<_>>(), GroupIds::new(&ids, ranges.len())).unwrap();
        let found = accumulator.finish(0, ranges.len()).unwrap();
        for (group, rows) in ranges.into_iter().enumerate() {
            self.expect(&found.get(group), rows, "as one of five groups");
        }
    }

    /// States of blocks of eight rows, of which frames are made as windows make them.
    fn framed(&self) {
        const BLOCK: usize = 8;
        let ids: Vec<u32> = (0..ROWS).map(|row| (row / BLOCK) as u32).collect();
        let count = ROWS.div_ceil(BLOCK);
        let mut blocks = create(&self.function, false).unwrap();
        blocks.resize(count);
        let args = self.rows(0..ROWS);
        blocks.update(&args.iter().collect::<Vec<_>>(), GroupIds::new(&ids, count)).unwrap();
        for (first, end) in [(0, 1), (0, 5), (3, 4), (2, 20), (20, count), (0, count)] {
            let mut frame = self.accumulator();
            for block in first..end {
                frame.merge(&*blocks, &[block as u32], &[0]).unwrap();
            }
            let found = frame.finish(0, 1).unwrap().get(0);
            self.expect(&found, first * BLOCK..(end * BLOCK).min(ROWS), "as a frame of blocks");
        }
    }

    /// Rows are added, put away and brought back, before more of them come.
    fn put_away(&self) {
        let (ids, ranges) = self.groups();
        let mut accumulator = create(&self.function, false).unwrap();
        accumulator.resize(ranges.len());
        let half = ROWS / 2;
        let mut away: Vec<(Vec<Vector>, Vec<u32>)> = Vec::new();
        for (morsel, rows) in [0..half, half..ROWS].into_iter().enumerate() {
            accumulator.start_morsel(morsel as u32);
            let args = self.rows(rows.clone());
            let ids = GroupIds::new(&ids[rows], ranges.len());
            accumulator.update(&args.iter().collect::<Vec<_>>(), ids).unwrap();
            let Some(kept) = accumulator.kept() else { return };
            let len = kept.groups().len();
            let columns = kept.columns().iter().map(|column| column.to_vector(0, len)).collect();
            away.push((columns, kept.groups().to_vec()));
            accumulator.forget_kept();
        }
        for (morsel, (columns, groups)) in away.iter().enumerate() {
            accumulator.start_morsel(morsel as u32);
            let ids = GroupIds::new(groups, ranges.len());
            accumulator.restore(&columns.iter().collect::<Vec<_>>(), ids).unwrap();
        }
        let found = accumulator.finish(0, ranges.len()).unwrap();
        for (group, rows) in ranges.into_iter().enumerate() {
            self.expect(&found.get(group), rows, "put away and brought back");
        }
    }

    fn in_passes(&self) {
        let mut accumulator = self.accumulator();
        self.add(&mut *accumulator, 0..1).unwrap();
        accumulator.forget_kept();
        let Some(mut passes) = accumulator.passes() else { return };
        for _ in 0..100 {
            for rows in [0..70, 70..71, 71..ROWS] {
                let (len, args) = (rows.len(), self.rows(rows));
                passes.add(&args.iter().collect::<Vec<_>>(), len).unwrap();
            }
            if let Some(result) = passes.end().unwrap() {
                return self.expect(&result.get(0), 0..ROWS, "in passes");
            }
        }
        panic!("{} has no result after a hundred passes", self.shown());
    }
}

/// Whether two results are the same but for the rounding of sums.
fn is_same(a: &Value, b: &Value) -> bool {
    let all = |a: &[Value], b: &[Value]| a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_same(a, b));
    let is_near = |a: f64, b: f64, digits: f64| {
        a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= digits * a.abs().max(b.abs()).max(1.0)
    };
    match (a, b) {
        (Value::Double(a), Value::Double(b)) => is_near(*a, *b, 1e-9),
        (Value::Real(a), Value::Real(b)) => is_near(f64::from(*a), f64::from(*b), 1e-5),
        (Value::List { values: a, .. }, Value::List { values: b, .. })
        | (Value::Struct { values: a, .. }, Value::Struct { values: b, .. }) => all(a, b),
        _ => a == b,
    }
}

/// All lists with one of each.
fn product<T: Clone>(choices: &[Vec<T>]) -> Vec<Vec<T>> {
    let longer = |lists: Vec<Vec<T>>, next: &Vec<T>| {
        lists
            .iter()
            .flat_map(|list| next.iter().map(|item| [&list[..], std::slice::from_ref(item)].concat()))
            .collect()
    };
    choices.iter().fold(vec![Vec::new()], longer)
}

/// What stands for an argument: values of rows, or a constant.
#[derive(Clone)]
enum Argument {
    Rows(LogicalType),
    Constant(Value),
}

/// The call for these arguments, if the aggregate takes them and there are rows that it can be computed of.
fn call_of(aggregate: &'static Aggregate, arguments: &[Argument], has_nulls: bool) -> Option<Call> {
    let types: Vec<ArgType> = arguments
        .iter()
        .map(|argument| match argument {
            Argument::Rows(ty) => ArgType::of(ty.clone()),
            Argument::Constant(value) => ArgType::of(value.logical_type()),
        })
        .collect();
    let function = (aggregate.resolve)(&types)?;
    (0..4).find_map(|pool| {
        let made = arguments.iter().enumerate().map(|(position, argument)| {
            let ty = function.arg_types.get(position).cloned();
            let ty = ty.unwrap_or_else(|| types[position].ty.clone());
            match argument {
                // Keys of objects are not NULL.
                Argument::Rows(_) => {
                    column(&ty, position, pool, has_nulls && aggregate.name != "json_group_object")
                }
                Argument::Constant(value) => Vector::constant(ty.clone(), &cast_value(value, &ty)?, ROWS),
            }
        });
        let args = made.collect::<Result<Vec<_>>>().ok()?;
        let call = Call { name: aggregate.name, function: function.clone(), args };
        create(&call.function, false).ok()?;
        call.plain(0..ROWS).is_ok().then_some(call)
    })
}

/// The calls of an aggregate with so many arguments; of a combination of types, the first constants that it accepts.
fn calls_of(aggregate: &'static Aggregate, count: usize, has_nulls: bool) -> Vec<Call> {
    let is_constant = |position: &usize| aggregate.constants.contains(position);
    let of_rows: Vec<Vec<LogicalType>> = (0..count)
        .filter(|position| !is_constant(position))
        .map(|position| if position == 0 { row_types() } else { further_types() })
        .collect();
    let of_constants: Vec<Vec<Value>> = (0..count).filter(is_constant).map(|_| constants()).collect();
    let of_constants = product(&of_constants);
    let mut known = HashSet::new();
    let mut calls = Vec::new();
    for (types, constants) in
        product(&of_rows).iter().flat_map(|types| of_constants.iter().map(move |c| (types, c)))
    {
        let (mut types, mut constants) = (types.iter(), constants.iter());
        let argument = |position: usize| {
            if is_constant(&position) {
                constants.next().cloned().map(Argument::Constant)
            } else {
                types.next().cloned().map(Argument::Rows)
            }
        };
        let arguments: Option<Vec<Argument>> = (0..count).map(argument).collect();
        let Some(call) = arguments.and_then(|arguments| call_of(aggregate, &arguments, has_nulls)) else {
            continue;
        };
        if known.insert(format!("{:?} {}", call.function.arg_types, call.function.return_type)) {
            calls.push(call);
        }
    }
    calls
}

/// How many arguments the signatures of an aggregate have.
fn counts(aggregate: &Aggregate) -> HashSet<usize> {
    let count = |line: &str| {
        let inner = line.split_once('(').map_or("", |(_, rest)| rest.split(") ->").next().unwrap_or(""));
        let mut depth = 0;
        let commas = inner.chars().filter(|c| {
            depth += i32::from(*c == '(') - i32::from(*c == ')');
            *c == ',' && depth == 0
        });
        if inner.is_empty() { 0 } else { commas.count() + 1 }
    };
    match aggregate.name {
        // The binder makes an object of key and value.
        "json_group_object" => HashSet::from([1]),
        _ => aggregate.signature.lines().map(count).collect(),
    }
}

fn check_all(has_nulls: bool) {
    let mut checked = 0;
    for aggregate in aggregates::all() {
        for count in counts(aggregate) {
            let calls = calls_of(aggregate, count, has_nulls);
            assert!(
                !calls.is_empty(),
                "no call of {} with {count} arguments was found: add a type or a constant that it takes\n{}",
                aggregate.name,
                aggregate.signature
            );
            for call in calls {
                call.merged_parts();
                call.grouped();
                call.framed();
                call.put_away();
                call.in_passes();
                checked += 1;
            }
        }
    }
    assert!(checked > 300, "only {checked} calls were found");
}

#[test]
fn whatever_way_rows_go_the_result_is_that_of_all_at_once() {
    check_all(false);
}

#[test]
fn nulls_among_them_go_the_same_ways() {
    check_all(true);
}

/// Columns of NULLs alone, and no rows at all, are results, too.
#[test]
fn nothing_but_nulls_is_merged_as_it_is_alone() {
    for aggregate in aggregates::all() {
        for count in counts(aggregate) {
            let Some(mut call) = calls_of(aggregate, count, true).into_iter().next() else { continue };
            for (position, arg) in call.args.iter_mut().enumerate() {
                if !aggregate.constants.contains(&position) && aggregate.name != "json_group_object" {
                    *arg = Vector::nulls(arg.logical_type(), ROWS);
                }
            }
            call.merged_parts();
            call.framed();
            let empty = call.plain(0..0).unwrap();
            let mut merged = call.accumulator();
            merged.merge(&*call.accumulator(), &[0], &[0]).unwrap();
            assert!(is_same(&merged.finish(0, 1).unwrap().get(0), &empty), "{} of no rows", call.shown());
        }
    }
}

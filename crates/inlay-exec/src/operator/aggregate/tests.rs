//! The operator against a map from keys to values, over key types, workers, table sizes and hints.

use super::*;
use inlay_functions::registry::resolve_aggregate;
use inlay_kernels::resolve::ArgType;
use inlay_sql::plan::{ColumnId, SortKey};
use inlay_types::{Dictionary, VECTOR_SIZE, Value, Vector};
use std::collections::{BTreeMap, BTreeSet};

const TYPES: [LogicalType; 9] = [
    LogicalType::Integer,
    LogicalType::Varchar,
    LogicalType::Varchar,
    LogicalType::BigInt,
    LogicalType::BigInt,
    LogicalType::Double,
    LogicalType::Decimal { precision: 15, scale: 2 },
    LogicalType::Boolean,
    LogicalType::BigInt,
];

struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % limit
    }
}

fn row(random: &mut Random, number: u64, wide: u64) -> Vec<Value> {
    let maybe = |null_every: u64, value: Value, random: &mut Random| {
        if random.below(null_every) == 0 { Value::Null } else { value }
    };
    let small = random.below(40) as i32 - 20;
    let word = ["", "red", "green", "a colour that has a long name", "a colour with another long name"];
    let text = word[random.below(5) as usize].to_string();
    let other = format!("text {}", random.below(wide));
    let key = random.below(wide) as i64 * 1_000_003 - 5;
    let number_value = random.below(1000) as i64 - 500;
    let double = [0.0, -0.0, f64::NAN, 1.5, -2.25][random.below(5) as usize];
    let cents = i128::from(random.below(1_000_000)) - 300_000;
    vec![
        maybe(11, Value::Integer(small), random),
        maybe(13, Value::Varchar(text), random),
        maybe(17, Value::Varchar(other), random),
        Value::BigInt(key),
        maybe(5, Value::BigInt(number_value), random),
        maybe(9, Value::Double(double), random),
        Value::Decimal { unscaled: cents, precision: 15, scale: 2 },
        maybe(4, Value::Boolean(random.below(2) == 0), random),
        Value::BigInt((number / 4) as i64),
    ]
}

fn batch_of(rows: &[Vec<Value>], dictionary: bool) -> Batch {
    let columns = TYPES.iter().enumerate().map(|(index, ty)| {
        let values: Vec<Value> = rows.iter().map(|row| row[index].clone()).collect();
        let flat = Vector::from_sql_values(ty.clone(), &values).unwrap();
        if index == 1 && dictionary { encode(&flat) } else { flat }
    });
    Batch::new(columns.collect(), rows.len())
}

fn encode(flat: &Vector) -> Vector {
    let mut words: Vec<Value> = vec![Value::Varchar("unused".into())];
    let mut codes = Vec::new();
    for row in 0..flat.len() {
        let value = flat.get(row);
        let known = words.iter().position(|word| *word == value);
        codes.push(known.unwrap_or(0) as u32);
        if known.is_none() && !value.is_null() {
            words.push(value);
            codes[row] = words.len() as u32 - 1;
        }
    }
    let dictionary = Dictionary::new(Vector::from_sql_values(LogicalType::Varchar, &words).unwrap());
    let codes = inlay_types::Buffer::copy_of(&codes);
    Vector::dictionary(dictionary, codes, flat.len(), flat.validity().cloned())
}

fn column(index: usize) -> Expr {
    Expr::Column { id: ColumnId(index as u32), ty: TYPES[index].clone() }
}

fn aggregate(name: &str, args: &[usize], distinct: bool, filter: bool) -> AggregateExpr {
    let types: Vec<ArgType> = args.iter().map(|&arg| ArgType::of(TYPES[arg].clone())).collect();
    AggregateExpr {
        function: Arc::new(resolve_aggregate(name, &types).unwrap()),
        args: args.iter().map(|&arg| column(arg)).collect(),
        distinct,
        filter: filter.then(|| column(7)),
        order_by: Vec::new(),
    }
}

fn aggregates() -> Vec<AggregateExpr> {
    let mut ordered = aggregate("string_agg", &[1], false, false);
    ordered.order_by.push(SortKey { expr: column(1), descending: true, nulls_first: false });
    ordered.order_by.push(SortKey { expr: column(4), descending: false, nulls_first: false });
    vec![
        aggregate("count", &[], false, false),
        aggregate("count", &[4], false, false),
        aggregate("sum", &[4], false, false),
        aggregate("avg", &[4], false, false),
        aggregate("min", &[4], false, false),
        aggregate("max", &[2], false, false),
        aggregate("sum", &[6], false, false),
        aggregate("avg", &[6], false, false),
        aggregate("count", &[4], true, false),
        aggregate("sum", &[4], true, false),
        aggregate("count", &[], false, true),
        aggregate("sum", &[4], false, true),
        aggregate("count", &[2], true, true),
        ordered,
    ]
}

fn text(value: &Value) -> String {
    match value {
        Value::Double(v) if *v == 0.0 => "0.0".into(),
        Value::Double(v) => format!("{v:.9}"),
        other => other.to_string(),
    }
}

/// The results of [`aggregates`] over rows of one group.
fn expected(rows: &[&Vec<Value>]) -> Vec<String> {
    let int = |value: &Value| value.as_stored_i128();
    let numbers: Vec<i128> = rows.iter().filter_map(|row| int(&row[4])).collect();
    let cents: Vec<i128> = rows.iter().filter_map(|row| int(&row[6])).collect();
    let distinct: BTreeSet<i128> = numbers.iter().copied().collect();
    let passing: Vec<&&Vec<Value>> = rows.iter().filter(|row| row[7] == Value::Boolean(true)).collect();
    let passing_numbers: Vec<i128> = passing.iter().filter_map(|row| int(&row[4])).collect();
    let texts: BTreeSet<&str> = passing.iter().filter_map(|row| row[2].as_str()).collect();
    let or_null = |some: bool, shown: String| if some { shown } else { "NULL".into() };
    let total = |numbers: &[i128]| or_null(!numbers.is_empty(), numbers.iter().sum::<i128>().to_string());
    let sum: i128 = cents.iter().sum();
    let money = Value::Decimal { unscaled: sum, precision: 38, scale: 2 };
    let mut words: Vec<&str> = rows.iter().filter_map(|row| row[1].as_str()).collect();
    words.sort_unstable_by(|a, b| b.cmp(a));
    let average = numbers.iter().sum::<i128>() as f64 / numbers.len() as f64;
    vec![
        rows.len().to_string(),
        numbers.len().to_string(),
        total(&numbers),
        or_null(!numbers.is_empty(), text(&Value::Double(average))),
        numbers.iter().min().map_or("NULL".into(), |v| v.to_string()),
        rows.iter().filter_map(|row| row[2].as_str()).max().map_or("NULL".into(), str::to_string),
        or_null(!cents.is_empty(), money.to_string()),
        or_null(!cents.is_empty(), text(&Value::Double(sum as f64 / (cents.len() as f64 * 100.0)))),
        distinct.len().to_string(),
        or_null(!distinct.is_empty(), distinct.iter().sum::<i128>().to_string()),
        passing.len().to_string(),
        total(&passing_numbers),
        texts.len().to_string(),
        or_null(!words.is_empty(), words.join(",")),
    ]
}

struct Case {
    keys: Vec<usize>,
    rows: u64,
    wide: u64,
    workers: usize,
    groups_max: usize,
    domains: Vec<Option<KeyDomain>>,
    dictionary: bool,
    disorder: Option<Disorder>,
    /// Which of [`aggregates`], and the rows and groups that the planner expects.
    picked: Vec<usize>,
    expected: Option<(u64, u64)>,
}

/// One row that has another key in column 8.
#[derive(Clone, Copy)]
struct Disorder {
    at: usize,
    key: Option<i64>,
}

fn run(aggregate: &Arc<HashAggregate>, batches: &[Batch], workers: usize) -> Vec<Vec<Value>> {
    let sink = aggregate.sink();
    for worker in 0..workers {
        let mut local = sink.local();
        for batch in batches.iter().skip(worker).step_by(workers) {
            sink.consume(batch.clone(), &mut local).unwrap();
        }
        sink.combine(local).unwrap();
    }
    sink.finalize(&aggregate.context).unwrap();
    let source = aggregate.source();
    source.start(&aggregate.context).unwrap();
    let mut local = source.local();
    let mut rows = Vec::new();
    let mut push = |batch: Batch| {
        assert!(!batch.is_empty() && batch.len() <= inlay_types::VECTOR_SIZE);
        rows.extend(
            (0..batch.len()).map(|row| batch.columns().iter().map(|c| c.get(row)).collect::<Vec<_>>()),
        );
        Ok(Flow::More)
    };
    while source.run_morsel(&mut local, &mut |_| {}, &mut push).unwrap() == Morsel::Pushed {}
    rows
}

fn check(case: &Case) {
    let mut random = Random(0x1234_5678_9ABC_DEF1 ^ case.rows ^ case.wide << 20);
    let mut rows: Vec<Vec<Value>> =
        (0..case.rows).map(|number| row(&mut random, number, case.wide)).collect();
    if let Some(Disorder { at, key }) = case.disorder {
        rows[at][8] = key.map_or(Value::Null, Value::BigInt);
    }
    let batches: Vec<Batch> = rows.chunks(700).map(|part| batch_of(part, case.dictionary)).collect();
    let options = AggregateOptions {
        layout: Layout((0..TYPES.len() as u32).map(ColumnId).collect()),
        groups: case.keys.iter().map(|&key| column(key)).collect(),
        aggregates: case.picked.iter().map(|&index| aggregates()[index].clone()).collect(),
        key_domains: case.domains.clone(),
        estimated_rows: case.expected.map(|(rows, _)| rows),
        estimated_groups: case.expected.map(|(_, groups)| groups),
        groups_wanted: None,
        context: ExecContext::for_tests(2),
    };
    let aggregate = HashAggregate::with_groups_max(options, case.groups_max).unwrap();
    assert_eq!(aggregate.spec.places_size.is_some(), case.expected.is_some());
    let found = run(&aggregate, &batches, case.workers);

    let mut groups: BTreeMap<Vec<String>, Vec<&Vec<Value>>> = BTreeMap::new();
    for row in &rows {
        let key =
            case.keys.iter().map(|&key| if row[key].is_null() { "<null>".into() } else { text(&row[key]) });
        groups.entry(key.collect()).or_default().push(row);
    }
    if case.keys.is_empty() && rows.is_empty() {
        groups.insert(Vec::new(), Vec::new());
    }
    let name = format!("keys {:?}, {} rows, {} workers", case.keys, case.rows, case.workers);
    assert_eq!(found.len(), groups.len(), "groups of {name}");
    for result in found {
        let shown = |v: &Value| if v.is_null() { "<null>".to_string() } else { text(v) };
        let key: Vec<String> = result[..case.keys.len()].iter().map(shown).collect();
        let rows = groups.remove(&key).unwrap_or_else(|| panic!("unexpected key {key:?} of {name}"));
        let values: Vec<String> = result[case.keys.len()..].iter().map(text).collect();
        let all = expected(&rows);
        let expected: Vec<&String> = case.picked.iter().map(|&index| &all[index]).collect();
        assert_eq!(values.iter().collect::<Vec<_>>(), expected, "key {key:?} of {name}");
    }
}

const KEYS: [&[usize]; 14] = [
    &[],
    &[0],
    &[1],
    &[2],
    &[3],
    &[4],
    &[5],
    &[8],
    &[0, 1],
    &[1, 2],
    &[0, 3],
    &[3, 8],
    &[2, 3, 5],
    &[0, 7, 4],
];

fn case(keys: &[usize], rows: u64, wide: u64, workers: usize, groups_max: usize) -> Case {
    Case {
        keys: keys.to_vec(),
        rows,
        wide,
        workers,
        groups_max,
        domains: Vec::new(),
        dictionary: true,
        disorder: None,
        picked: (0..aggregates().len()).collect(),
        expected: None,
    }
}

fn range(low: i128, high: i128) -> Option<KeyDomain> {
    Some(KeyDomain::Range(low, high))
}

#[test]
fn few_rows_agree_with_a_map() {
    for keys in KEYS {
        for rows in [0, 1, 2500] {
            check(&case(keys, rows, 50, 1, GROUPS_MAX));
            check(&case(keys, rows, 3000, 3, GROUPS_MAX));
        }
    }
}

#[test]
fn many_groups_are_partitioned() {
    for keys in [KEYS[3], KEYS[4], KEYS[7], KEYS[11], KEYS[12]] {
        check(&case(keys, 12_000, 20_000, 2, GROUPS_MAX));
    }
}

#[test]
fn full_tables_become_runs_or_partitioned_rows() {
    for keys in [KEYS[3], KEYS[4], KEYS[9], KEYS[10], KEYS[12]] {
        check(&case(keys, 12_000, 30_000, 2, 500));
        check(&case(keys, 12_000, 600, 3, 300));
    }
}

#[test]
fn ranges_are_hints_only() {
    let exact = Case { domains: vec![range(0, 10_000)], ..case(&[8], 36_000, 10, 2, GROUPS_MAX) };
    check(&exact);
    let wrong = Case { domains: vec![range(0, 3000)], ..case(&[8], 20_000, 10, 2, GROUPS_MAX) };
    check(&wrong);
    let both =
        Case { domains: vec![range(-20, 20), range(0, 2000)], ..case(&[0, 8], 20_000, 10, 2, GROUPS_MAX) };
    check(&both);
    let nulls = Case { domains: vec![range(-500, 500)], ..case(&[4], 20_000, 10, 2, GROUPS_MAX) };
    check(&nulls);
    let flat = Case { dictionary: false, ..case(&[1, 0], 20_000, 10, 2, GROUPS_MAX) };
    check(&flat);
}

/// Two numbers of which no range is known are looked up as they are, until one is NULL.
#[test]
fn keys_of_a_domain_are_places() {
    // Keys are -500 to 499, and NULL.
    let base = |workers, picked: &[usize]| Case {
        picked: picked.to_vec(),
        expected: Some((1 << 20, 5000)),
        ..case(&[4], 30_000, 50, workers, GROUPS_MAX)
    };
    for workers in [1, 3] {
        // Sums without NULLs, counts, FILTER with NULLs; then NULLs among arguments, and texts.
        for picked in [&[0, 1, 6, 7, 10, 11][..], &[0, 2, 4], &[0, 5, 6]] {
            // The last three do not have all keys.
            for domain in [(-500, 4000), (-4600, 499), (-499, 4000), (-4600, 498), (400, 5000)] {
                check(&Case { domains: vec![range(domain.0, domain.1)], ..base(workers, picked) });
            }
        }
    }
    // One worker has keys that ascend, another has not.
    let disorder = Some(Disorder { at: 700 * 2 + 1, key: Some(3) });
    let mixed =
        Case { domains: vec![range(0, 7499)], disorder, expected: Some((1 << 20, 7500)), ..base(2, &[0, 6]) };
    check(&Case { keys: vec![8], ..mixed });
}

#[test]
fn two_words_are_keys_without_ranges() {
    for keys in [&[3, 8][..], &[8, 3], &[3, 4], &[4, 3], &[5, 3], &[6, 3], &[3, 7]] {
        for (rows, groups_max) in [(2_500, GROUPS_MAX), (20_000, GROUPS_MAX), (20_000, 500)] {
            for workers in [1, 3] {
                check(&case(keys, rows, 3_000, workers, groups_max));
            }
        }
    }
}

/// Column 8 ascends. Workers take turns, so that their groups overlap at the ends of batches; a late row that does not
/// ascend, or is NULL, leaves all groups as they are.
#[test]
fn keys_that_ascend_are_not_looked_up() {
    let last = |value: Option<i64>| Disorder { at: 30_000, key: value };
    let disorders = [None, Some(7), Some(1 << 40), Some(i64::MIN), Some(i64::MAX)];
    for workers in 1..4 {
        for (rows, groups_max) in [(3_000, GROUPS_MAX), (60_000, GROUPS_MAX), (60_000, 500)] {
            check(&case(&[8], rows, 10, workers, groups_max));
        }
        for (number, disorder) in disorders.into_iter().map(last).enumerate() {
            let groups_max = if (number + workers) % 2 == 0 { GROUPS_MAX } else { 500 };
            check(&Case { disorder: Some(disorder), ..case(&[8], 60_000, 10, workers, groups_max) });
        }
    }
}

#[test]
fn numbers_of_strings_are_hints_only() {
    for count in [0, 3, 20, 5000, 1 << 40] {
        let strings = Some(KeyDomain::Strings(count));
        for keys in [&[1, 0][..], &[1, 8], &[1], &[1, 2, 8], &[2, 1, 0]] {
            let domains: Vec<Option<KeyDomain>> =
                keys.iter().map(|key| if *key <= 2 && *key > 0 { strings } else { None }).collect();
            check(&Case { domains: domains.clone(), ..case(keys, 12_000, 3000, 2, GROUPS_MAX) });
            check(&Case { domains, dictionary: false, ..case(keys, 12_000, 30, 2, 500) });
        }
    }
}

/// Workers number texts in other orders, and have groups that others lack.
#[test]
fn groups_of_arrays_are_joined() {
    for picked in [vec![0, 1, 2, 3, 4, 5, 6, 7, 10, 11, 13], vec![0, 8, 9, 5]] {
        for workers in [2, 3] {
            let mut joined = case(&[0, 1, 2], 40_000, 60, workers, 1 << 20);
            joined.domains = vec![range(-20, 19), Some(KeyDomain::Strings(5)), Some(KeyDomain::Strings(60))];
            joined.picked.clone_from(&picked);
            check(&joined);
            // Texts beyond those that were expected, and a key out of its range.
            joined.domains = vec![range(-20, 18), Some(KeyDomain::Strings(5)), Some(KeyDomain::Strings(40))];
            check(&joined);
        }
    }
    let context = ExecContext::for_tests(2);
    let mut options = options_in(&[0, 1, 2], vec![aggregate("count", &[4], true, false)], &context);
    options.key_domains = vec![range(-20, 19), Some(KeyDomain::Strings(5)), Some(KeyDomain::Strings(60))];
    let mut random = Random(4);
    let rows: Vec<Vec<Value>> = (0..40_000).map(|number| row(&mut random, number, 60)).collect();
    let batches: Vec<Batch> = rows.chunks(700).map(|part| batch_of(part, true)).collect();
    let joins = HashAggregate::new(options).unwrap();
    run(&joins, &batches, 2);
    assert!(matches!(joins.merged.get(), Some(merge::Merged::Joined(_))));
}

#[test]
fn distinct_without_aggregates() {
    let options = |key: usize| AggregateOptions {
        layout: Layout((0..TYPES.len() as u32).map(ColumnId).collect()),
        groups: vec![column(key)],
        aggregates: Vec::new(),
        key_domains: Vec::new(),
        estimated_rows: None,
        estimated_groups: None,
        groups_wanted: None,
        context: ExecContext::for_tests(2),
    };
    let mut random = Random(77);
    let rows: Vec<Vec<Value>> = (0..60_000).map(|number| row(&mut random, number, 1_000_000)).collect();
    let batches: Vec<Batch> = rows.chunks(2048).map(|part| batch_of(part, true)).collect();
    // The second one ascends.
    for key in [3, 8] {
        let distinct: BTreeSet<String> = rows.iter().map(|row| row[key].to_string()).collect();
        let aggregate = HashAggregate::new(options(key)).unwrap();
        let found = run(&aggregate, &batches, 2);
        assert_eq!(found.len(), distinct.len());
        assert_eq!(found.iter().map(|row| row[0].to_string()).collect::<BTreeSet<_>>(), distinct);
    }
}

/// Workers that list what is mostly distinct agree with one that has a table; so do those whose rows repeat later.
#[test]
fn distinct_arguments_are_listed_or_not() {
    let mut random = Random(19);
    let rows: Vec<Vec<Value>> = (0..30_000).map(|number| row(&mut random, number, 1 << 40)).collect();
    let mut batches: Vec<Batch> = rows.chunks(2048).map(|part| batch_of(part, true)).collect();
    for _ in 0..2 {
        let wanted = || {
            vec![
                aggregate("count", &[3], true, false),
                aggregate("sum", &[3], true, true),
                aggregate("count", &[4], true, false),
            ]
        };
        for keys in [&[][..], &[7], &[4], &[8], &[3]] {
            let answer = |context: &ExecContext, workers: usize| {
                let aggregate = HashAggregate::new(options_in(keys, wanted(), context)).unwrap();
                sorted_rows(run(&aggregate, &batches, workers))
            };
            let expected = answer(&ExecContext::for_tests(1), 1);
            for workers in [1, 2, 3] {
                assert!(answer(&ExecContext::for_tests(3), workers) == expected, "{keys:?}, {workers}");
            }
        }
        batches.extend_from_within(..);
        batches.extend_from_within(..);
    }
}

fn options_in(keys: &[usize], aggregates: Vec<AggregateExpr>, context: &ExecContext) -> AggregateOptions {
    AggregateOptions {
        layout: Layout((0..TYPES.len() as u32).map(ColumnId).collect()),
        groups: keys.iter().map(|&key| column(key)).collect(),
        aggregates,
        key_domains: Vec::new(),
        estimated_rows: None,
        estimated_groups: None,
        groups_wanted: None,
        context: context.clone(),
    }
}

fn sorted_rows(rows: Vec<Vec<Value>>) -> Vec<String> {
    let mut rows: Vec<String> =
        rows.iter().map(|row| row.iter().map(text).collect::<Vec<_>>().join("|")).collect();
    rows.sort_unstable();
    rows
}

/// Sums of decimals and integers do not depend on the order of rows, so answers are compared as they are.
#[test]
fn spilled_aggregations_give_the_same_groups() {
    use crate::spill::tests::{TestDirectory, context_with};
    let mut random = Random(5);
    let rows: Vec<Vec<Value>> = (0..40_000).map(|number| row(&mut random, number, 25_000)).collect();
    let batches: Vec<Batch> = rows.chunks(2048).map(|part| batch_of(part, true)).collect();
    for keys in [&[3][..], &[2], &[8], &[2, 0], &[1, 2]] {
        let unlimited =
            HashAggregate::new(options_in(keys, aggregates(), &ExecContext::for_tests(2))).unwrap();
        let expected = sorted_rows(run(&unlimited, &batches, 1));
        for (workers, budget, groups_max) in
            [(1, 0, GROUPS_MAX), (2, 4_000_000, GROUPS_MAX), (3, 12_000_000, 500), (2, 2_000_000, 3_000)]
        {
            let directory = TestDirectory::new();
            let space = directory.space(None);
            let context = context_with(budget, workers, &space);
            let limited =
                HashAggregate::with_groups_max(options_in(keys, aggregates(), &context), groups_max).unwrap();
            let found = sorted_rows(run(&limited, &batches, workers));
            assert!(
                budget > 4_000_000 || limited.spill.get().is_some(),
                "{keys:?}, {budget} bytes: nothing was spilled"
            );
            assert!(found == expected, "{keys:?}, {workers} workers, {budget} bytes");
            assert!(context.budget.peak() <= budget);
            drop(limited);
            assert_eq!((context.budget.used(), space.used()), (0, 0));
        }
    }
}

#[test]
fn distinct_rows_of_everything_spill() {
    use crate::spill::tests::{TestDirectory, context_with};
    let mut random = Random(9);
    let rows: Vec<Vec<Value>> = (0..120_000).map(|number| row(&mut random, number, 90_000)).collect();
    let batches: Vec<Batch> = rows.chunks(2048).map(|part| batch_of(part, true)).collect();
    let aggregates = || {
        vec![
            aggregate("count", &[2], true, false),
            aggregate("max", &[2], true, false),
            aggregate("count", &[], false, false),
            aggregate("sum", &[4], false, true),
            aggregate("count", &[1], true, false),
            aggregate("sum", &[4], true, false),
            aggregate("count", &[2], true, true),
        ]
    };
    let expected = run(
        &HashAggregate::new(options_in(&[], aggregates(), &ExecContext::for_tests(2))).unwrap(),
        &batches,
        1,
    );
    let directory = TestDirectory::new();
    for (workers, budget) in [(1, 0), (3, 3_000_000)] {
        let context = context_with(budget, workers, &directory.space(None));
        let limited = HashAggregate::new(options_in(&[], aggregates(), &context)).unwrap();
        assert_eq!(run(&limited, &batches, workers), expected);
        assert!(limited.spill.get().is_some());
        assert!(context.budget.peak() <= budget);
    }
}

/// Partitions that do not fit are split: far more groups than memory, and one group with most rows.
#[test]
fn large_partitions_are_split() {
    use crate::spill::tests::{TestDirectory, context_with};
    const ROWS: i64 = 1_500_000;
    let key_of = |row: i64| if row % 3 == 0 { row * 7_919 % ROWS } else { 12 };
    let batches: Vec<Batch> = (0..ROWS / 2_000)
        .map(|part| {
            let rows = part * 2_000..(part + 1) * 2_000;
            let keys: Vec<Value> =
                rows.map(|row| Value::Varchar(format!("the key of this row is {}", key_of(row)))).collect();
            let mut columns: Vec<Vector> = TYPES.iter().map(|ty| Vector::nulls(ty.clone(), 2_000)).collect();
            columns[2] = Vector::from_sql_values(LogicalType::Varchar, &keys).unwrap();
            Batch::new(columns, 2_000)
        })
        .collect();
    let directory = TestDirectory::new();
    let context = context_with(300_000, 2, &directory.space(None));
    let count = || vec![aggregate("count", &[], false, false)];
    let limited = HashAggregate::new(options_in(&[2], count(), &context)).unwrap();
    let found = run(&limited, &batches, 2);
    let mut expected: BTreeMap<String, i64> = BTreeMap::new();
    for row in 0..ROWS {
        *expected.entry(format!("the key of this row is {}", key_of(row))).or_default() += 1;
    }
    assert_eq!(found.len(), expected.len());
    for group in &found {
        let Value::Varchar(key) = &group[0] else { unreachable!() };
        assert_eq!(group[1].as_i128(), expected.get(key.as_str()).map(|n| i128::from(*n)));
    }
}

#[test]
fn aggregations_without_room_for_files_fail_cleanly() {
    use crate::spill::tests::{TestDirectory, context_with};
    let mut random = Random(5);
    let rows: Vec<Vec<Value>> = (0..60_000).map(|number| row(&mut random, number, 1_000_000)).collect();
    let batches: Vec<Batch> = rows.chunks(2048).map(|part| batch_of(part, true)).collect();
    let directory = TestDirectory::new();
    let space = directory.space(Some(100_000));
    let outcome = |keys: &[usize], aggregates: Vec<AggregateExpr>| -> Result<()> {
        let context = context_with(10_000, 1, &space);
        let sink = HashAggregate::new(options_in(keys, aggregates, &context))?.sink();
        let mut local = sink.local();
        batches.iter().try_for_each(|batch| sink.consume(batch.clone(), &mut local).map(|_| ()))?;
        sink.combine(local)?;
        sink.finalize(&context)
    };
    let distinct = vec![aggregate("count", &[3], true, true), aggregate("count", &[2], true, true)];
    assert!(matches!(outcome(&[], distinct), Err(Error::DiskFull { .. })));
    assert!(matches!(outcome(&[3], Vec::new()), Err(Error::DiskFull { .. })));
    space.set_limit(None);
    space.broken_at.store(50_000, Ordering::Relaxed);
    assert!(matches!(outcome(&[3], Vec::new()), Err(Error::Io { .. })));
}

#[test]
fn a_table_that_falls_back_to_hashes_finds_all_keys() -> Result<()> {
    // More pairs of wide words than are looked up as such. Among so many, the hashes of some agree in their lower halves.
    const PAIRS: u64 = 560_000;
    let mut table = GroupTable::new(&[LogicalType::UInteger, LogicalType::BigInt], TableHints::default());
    let all: Vec<u64> = (0..PAIRS).collect();
    let mut find_all = || -> Result<Vec<u32>> {
        let (mut groups, mut found) = (Vec::new(), Vec::new());
        for numbers in all.chunks(VECTOR_SIZE) {
            let first: Vec<u32> = numbers.iter().map(|number| (number % 13) as u32).collect();
            let second = |number: &u64| ((number % 100_000) as i64).wrapping_mul(92_233_720_368_540);
            let second: Vec<i64> = numbers.iter().map(second).collect();
            let keys = vec![
                Vector::from_values(LogicalType::UInteger, &first),
                Vector::from_values(LogicalType::BigInt, &second),
            ];
            table.find_or_create(keys, numbers.len(), &mut found)?;
            groups.extend_from_slice(&found);
        }
        Ok(groups)
    };
    let mut groups = find_all()?;
    assert!(find_all()? == groups);
    groups.sort_unstable();
    assert!(groups.into_iter().eq(0..PAIRS as u32));
    Ok(())
}

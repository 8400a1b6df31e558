//! Every kind of join, on either side, against nested loops over single values.

use super::*;
use crate::ExecContext;
use crate::pipeline::{Flow, Morsel};
use inlay_types::{Batch, Buffer, Dictionary, Value, Vector};

struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

/// Columns of each side: an integer key, a second one, a text key, a number.
const TYPES: [LogicalType; 4] =
    [LogicalType::Integer, LogicalType::BigInt, LogicalType::Varchar, LogicalType::SmallInt];

fn side(first: u32) -> JoinSide {
    JoinSide { columns: (first..first + 4).map(ColumnId).collect(), types: TYPES.to_vec() }
}

/// How the keys of a table are drawn.
#[derive(Clone, Copy)]
struct Draw {
    rows: usize,
    /// Number of different keys.
    keys: u64,
    /// Distance between neighbouring keys.
    step: i64,
    /// One value in this many is NULL; none if 0.
    nulls: u64,
    /// Keys ascend, each once.
    unique: bool,
}

type Row = Vec<Value>;

fn table(random: &mut Random, draw: Draw) -> Vec<Row> {
    let mut rows = Vec::new();
    for row in 0..draw.rows {
        let key = |random: &mut Random| {
            let key = if draw.unique { row as i64 } else { random.below(draw.keys) as i64 };
            (key - draw.keys as i64 / 2) * draw.step
        };
        let null = |random: &mut Random, value: Value| {
            if draw.nulls > 0 && random.below(draw.nulls) == 0 { Value::Null } else { value }
        };
        let first = Value::Integer(key(random) as i32);
        let second = Value::BigInt(random.below(3) as i64 * draw.step * 1_000_003);
        let text = format!("{}text of some length {}", random.below(3), random.below(draw.keys.min(5)));
        let text = Value::Varchar(if random.below(2) == 0 { text } else { text[..1].into() });
        let number = Value::SmallInt(random.below(7) as i16);
        rows.push(vec![null(random, first), null(random, second), null(random, text), null(random, number)]);
    }
    rows
}

/// Rows as batches of different sizes and kinds of vectors.
fn batches(random: &mut Random, rows: &[Row]) -> Vec<Batch> {
    let mut batches = Vec::new();
    let mut from = 0;
    while from < rows.len() {
        let len = (1 + random.below(700) as usize).min(rows.len() - from);
        let part = &rows[from..from + len];
        let column = |index: usize| {
            let values: Vec<Value> = part.iter().map(|row| row[index].clone()).collect();
            Vector::from_sql_values(TYPES[index].clone(), &values).unwrap()
        };
        let mut columns: Vec<Vector> = (0..4).map(column).collect();
        if random.below(2) == 0 {
            columns[2] = coded(&columns[2]);
        }
        batches.push(Batch::new(columns, len));
        from += len;
    }
    batches
}

fn coded(flat: &Vector) -> Vector {
    let mut distinct: Vec<Value> =
        (0..flat.len()).map(|row| flat.get(row)).filter(|v| !v.is_null()).collect();
    distinct.sort_by_key(Value::to_string);
    distinct.dedup();
    if distinct.is_empty() {
        return Vector::nulls(flat.logical_type(), flat.len());
    }
    let code = |row| distinct.iter().position(|value| *value == flat.get(row)).unwrap_or(0) as u32;
    let codes: Vec<u32> = (0..flat.len()).map(code).collect();
    let dictionary = Dictionary::new(Vector::from_sql_values(flat.logical_type(), &distinct).unwrap());
    Vector::dictionary(dictionary, Buffer::copy_of(&codes), flat.len(), flat.validity().cloned())
}

/// Runs a join on two workers.
fn run(options: JoinOptions, left: &[Batch], right: &[Batch]) -> Result<Vec<Row>> {
    run_in(&ExecContext::for_tests(2), options, left, right)
}

fn run_in(context: &ExecContext, options: JoinOptions, left: &[Batch], right: &[Batch]) -> Result<Vec<Row>> {
    let (build, probe) = if options.build_left { (left, right) } else { (right, left) };
    let parts = plan_join(options, context)?;
    let mut workers = [parts.build.local(), parts.build.local()];
    for (number, batch) in build.iter().enumerate() {
        let worker = &mut workers[number % 2];
        parts.build.start_morsel(number, worker)?;
        parts.build.consume(batch.clone(), worker)?;
        parts.build.end_morsel(worker)?;
    }
    for worker in workers {
        parts.build.combine(worker)?;
    }
    parts.build.finalize(context)?;
    let mut rows = Vec::new();
    let mut collect = |batch: Batch| {
        assert!((1..=inlay_types::VECTOR_SIZE).contains(&batch.len()));
        rows.extend((0..batch.len()).map(|row| batch.columns().iter().map(|c| c.get(row)).collect::<Row>()));
        Ok(Flow::More)
    };
    let mut workers = [parts.probe.local(), parts.probe.local()];
    for (number, batch) in probe.iter().enumerate() {
        let worker = &mut workers[number / 3 % 2];
        if parts.probe.process(batch.clone(), worker, &mut collect)? == Flow::Done {
            break;
        }
        if number % 3 == 2 {
            parts.probe.flush(worker, &mut collect)?;
        }
    }
    for worker in &mut workers {
        parts.probe.flush(worker, &mut collect)?;
    }
    for source in parts.probe.rest(context)?.into_iter().chain(parts.outer) {
        let morsels = source.start(context)?;
        let mut worker = source.local();
        for _ in 0..=morsels {
            if source.run_morsel(&mut worker, &mut |_| {}, &mut collect)? == Morsel::Exhausted {
                break;
            }
        }
    }
    Ok(rows)
}

/// Conditions of a test: keys by column and whether NULL equals NULL, and whether `left number < right number`.
#[derive(Clone, Debug)]
struct Conditions {
    keys: Vec<(usize, bool)>,
    less: bool,
}

fn options(kind: JoinKind, build_left: bool, conditions: &Conditions) -> JoinOptions {
    let column = |first: u32, index: usize| Expr::Column {
        id: ColumnId(first + index as u32),
        ty: TYPES[index].clone(),
    };
    let key = |&(index, null_equal): &(usize, bool)| JoinKey {
        left: column(0, index),
        right: column(10, index),
        null_equal,
        filter: Some(DynamicFilter::new()),
    };
    let less = Expr::compare(CompareOp::Lt, column(0, 3), column(10, 3));
    let right = (10..14).map(ColumnId);
    let output = (0..4).map(ColumnId);
    let output = match kind {
        JoinKind::Inner | JoinKind::Left | JoinKind::Full | JoinKind::Single => output.chain(right).collect(),
        JoinKind::Semi | JoinKind::Anti => output.collect(),
        JoinKind::Mark(mark) => output.chain([mark]).collect(),
    };
    JoinOptions {
        kind,
        build_left,
        left: side(0),
        right: side(10),
        keys: conditions.keys.iter().map(key).collect(),
        conditions: if conditions.less { vec![less] } else { Vec::new() },
        output,
        filters_applied: false,
    }
}

fn truth(conditions: &Conditions, left: &Row, right: &Row) -> Option<bool> {
    let mut truth = Some(true);
    let mut and = |next: Option<bool>| {
        truth = match (truth, next) {
            (Some(false), _) | (_, Some(false)) => Some(false),
            (None, _) | (_, None) => None,
            _ => Some(true),
        };
    };
    for &(key, null_equal) in &conditions.keys {
        let (left, right) = (&left[key], &right[key]);
        let null = left.is_null() || right.is_null();
        and(if null && !null_equal { None } else { Some(left == right) });
    }
    if conditions.less {
        let null = left[3].is_null() || right[3].is_null();
        and(if null { None } else { Some(left[3].as_i128() < right[3].as_i128()) });
    }
    truth
}

/// What the join hands on, by its definition.
fn expected(kind: JoinKind, conditions: &Conditions, left: &[Row], right: &[Row]) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    let mut right_matched = vec![false; right.len()];
    for one in left {
        let truths: Vec<Option<bool>> = right.iter().map(|other| truth(conditions, one, other)).collect();
        let partners: Vec<usize> = (0..right.len()).filter(|i| truths[*i] == Some(true)).collect();
        let pair = |other: &Row| one.iter().chain(other).cloned().collect::<Row>();
        match kind {
            JoinKind::Single if partners.len() > 1 => return Err(Error::SubqueryRows),
            JoinKind::Inner | JoinKind::Left | JoinKind::Full | JoinKind::Single => {
                rows.extend(partners.iter().map(|i| pair(&right[*i])));
                if partners.is_empty() && kind != JoinKind::Inner {
                    rows.push(pair(&vec![Value::Null; 4]));
                }
                partners.iter().for_each(|i| right_matched[*i] = true);
            }
            JoinKind::Semi if !partners.is_empty() => rows.push(one.clone()),
            JoinKind::Anti if partners.is_empty() => rows.push(one.clone()),
            JoinKind::Semi | JoinKind::Anti => {}
            JoinKind::Mark(_) => {
                let mark = match () {
                    () if !partners.is_empty() => Value::Boolean(true),
                    () if truths.contains(&None) => Value::Null,
                    () => Value::Boolean(false),
                };
                rows.push(one.iter().cloned().chain([mark]).collect());
            }
        }
    }
    if kind == JoinKind::Full {
        let lonely = right.iter().zip(&right_matched).filter(|(_, matched)| !**matched);
        rows.extend(
            lonely.map(|(row, _)| vec![Value::Null; 4].into_iter().chain(row.iter().cloned()).collect()),
        );
    }
    Ok(rows)
}

fn sorted(rows: Result<Vec<Row>>) -> Result<Vec<String>> {
    let mut rows: Vec<String> = rows?.iter().map(|row| format!("{row:?}")).collect();
    rows.sort_unstable();
    Ok(rows)
}

const KINDS: [JoinKind; 7] = [
    JoinKind::Inner,
    JoinKind::Left,
    JoinKind::Full,
    JoinKind::Semi,
    JoinKind::Anti,
    JoinKind::Mark(ColumnId(99)),
    JoinKind::Single,
];

fn check(left: Draw, right: Draw, conditions: &[Conditions], seed: u64) {
    let random = &mut Random(seed);
    let (left, right) = (table(random, left), table(random, right));
    let (left_batches, right_batches) = (batches(random, &left), batches(random, &right));
    for conditions in conditions {
        for kind in KINDS {
            for build_left in [false, true] {
                if build_left && matches!(kind, JoinKind::Mark(_) | JoinKind::Single) {
                    continue;
                }
                let found = sorted(run(options(kind, build_left, conditions), &left_batches, &right_batches));
                let wanted = sorted(expected(kind, conditions, &left, &right));
                assert!(
                    found == wanted,
                    "{kind:?}, build_left {build_left}, {conditions:?}, seed {seed}: {} and {} rows",
                    found.map_or(0, |rows| rows.len()),
                    wanted.map_or(0, |rows| rows.len()),
                );
            }
        }
    }
}

fn all_conditions() -> Vec<Conditions> {
    let lists: [&[(usize, bool)]; 8] = [
        &[(0, false)],
        &[(0, true)],
        &[(2, false)],
        &[(2, true)],
        &[(0, false), (1, false)],
        &[(0, true), (1, false)],
        &[(0, false), (2, true)],
        &[],
    ];
    let both =
        lists.iter().flat_map(|keys| [false, true].map(|less| Conditions { keys: keys.to_vec(), less }));
    both.collect()
}

/// Small keys (arrays), wider ones (bitmaps) and very wide ones (hash tables), with and without NULLs and repetition.
#[test]
fn all_kinds_agree_with_nested_loops() {
    let base = Draw { rows: 150, keys: 60, step: 1, nulls: 9, unique: false };
    let shapes = [
        base,
        Draw { nulls: 0, ..base },
        Draw { step: 5_000, ..base },
        Draw { step: 5_000, nulls: 0, ..base },
        Draw { step: 30_000_000, ..base },
        Draw { step: 30_000_000, nulls: 0, ..base },
    ];
    for (seed, shape) in shapes.into_iter().enumerate() {
        let seed = seed as u64 * 10;
        check(shape, Draw { rows: 90, ..shape }, &all_conditions(), seed);
        check(
            Draw { rows: 200, ..shape },
            Draw { unique: true, rows: 50, ..shape },
            &all_conditions(),
            seed + 1,
        );
        check(
            Draw { rows: 40, unique: true, ..shape },
            Draw { rows: 100, ..shape },
            &all_conditions(),
            seed + 2,
        );
    }
}

#[test]
fn empty_and_tiny_sides() {
    let some = Draw { rows: 30, keys: 10, step: 1, nulls: 5, unique: false };
    for (left, right) in [(0, 30), (30, 0), (0, 0), (1, 30), (30, 1)] {
        check(Draw { rows: left, ..some }, Draw { rows: right, ..some }, &all_conditions(), 7);
    }
}

/// Runs of many candidates cross the blocks of pairs.
#[test]
fn long_runs() {
    let many = Draw { rows: 5_000, keys: 2, step: 1, nulls: 50, unique: false };
    let few = Draw { rows: 4, ..many };
    let conditions = [
        Conditions { keys: vec![(0, false)], less: false },
        Conditions { keys: vec![(0, false)], less: true },
        Conditions { keys: vec![(2, false), (0, false)], less: true },
        Conditions { keys: vec![], less: true },
    ];
    check(few, many, &conditions, 1);
    check(many, few, &conditions, 2);
}

/// Enough rows for every parallel step: keys in order and not, in bitmaps and partitioned hash tables.
#[test]
fn large_builds() {
    const ROWS: i64 = 300_000;
    for (step, shuffled) in [(3i64, false), (3, true), (9_000, false), (9_000, true)] {
        let key_of = |row: i64| if shuffled { row * 7_919 % ROWS * step } else { row * step };
        let make = |from: i64, len: i64| {
            let keys: Vec<i64> = (from..from + len).map(key_of).collect();
            let numbers: Vec<i16> = (from..from + len).map(|row| (row % 1000) as i16).collect();
            let columns = vec![
                Vector::from_values(LogicalType::BigInt, &keys),
                Vector::from_values(LogicalType::SmallInt, &numbers),
            ];
            Batch::new(columns, len as usize)
        };
        let side = |first: u32| JoinSide {
            columns: vec![ColumnId(first), ColumnId(first + 1)],
            types: vec![LogicalType::BigInt, LogicalType::SmallInt],
        };
        let column = |id: u32| Expr::Column { id: ColumnId(id), ty: LogicalType::BigInt };
        let filter = DynamicFilter::new();
        let options = JoinOptions {
            kind: JoinKind::Inner,
            build_left: false,
            left: side(0),
            right: side(10),
            keys: vec![JoinKey {
                left: column(0),
                right: column(10),
                null_equal: false,
                filter: Some(filter.clone()),
            }],
            conditions: Vec::new(),
            output: vec![ColumnId(10), ColumnId(11), ColumnId(1)],
            filters_applied: false,
        };
        let build: Vec<Batch> = (0..ROWS / 2_000).map(|i| make(i * 2_000, 2_000)).collect();
        // Every second probe key is between two build keys.
        let probe: Vec<Batch> = (0..50)
            .map(|i| {
                let keys: Vec<i64> = (0..1_000).map(|k| key_of(i * 1_000 + k / 2) + k % 2).collect();
                let numbers: Vec<i16> = (0..1_000).map(|k| ((i * 1_000 + k / 2) % 1000) as i16).collect();
                let columns = vec![
                    Vector::from_values(LogicalType::BigInt, &keys),
                    Vector::from_values(LogicalType::SmallInt, &numbers),
                ];
                Batch::new(columns, 1_000)
            })
            .collect();
        let rows = run(options, &probe, &build).unwrap();
        assert_eq!(rows.len(), 25_000, "step {step}");
        assert!(rows.iter().all(|row| row[1] == row[2]), "step {step}");
        assert!(!filter.predicates().is_empty());
    }
}

#[test]
fn filters_of_spilled_joins_let_all_partners_through() {
    use crate::spill::tests::{TestDirectory, context_with};
    use inlay_storage::SegmentPredicate;
    let conditions = Conditions { keys: vec![(0, false), (2, false)], less: false };
    let options = options(JoinKind::Inner, false, &conditions);
    let slots: Vec<DynamicFilter> = options.keys.iter().map(|key| key.filter.clone().unwrap()).collect();
    let random = &mut Random(3);
    let rows = table(random, Draw { rows: 2_000, keys: 1_000, step: 3, nulls: 4, unique: false });
    let right = batches(random, &rows);
    let directory = TestDirectory::new();
    run_in(&context_with(0, 2, &directory.space(None)), options, &[], &right).unwrap();
    let [_, SegmentPredicate::KeyBitmap(bitmap)] = slots[0].predicates() else { unreachable!() };
    let keys: std::collections::HashSet<i128> =
        rows.iter().filter(|row| !row[2].is_null()).filter_map(|row| row[0].as_i128()).collect();
    assert_eq!(bitmap.count(), keys.len());
    assert!(matches!(slots[1].predicates(), [SegmentPredicate::Bloom(_)]));
}

#[test]
fn filters_are_exact_where_they_can_be() {
    use inlay_storage::SegmentPredicate;
    let conditions = Conditions { keys: vec![(0, false), (2, false)], less: false };
    let mut options = options(JoinKind::Semi, false, &conditions);
    let slots: Vec<DynamicFilter> = options.keys.iter().map(|key| key.filter.clone().unwrap()).collect();
    options.filters_applied = true;
    let random = &mut Random(3);
    let rows = table(random, Draw { rows: 100, keys: 1_000, step: 3, nulls: 4, unique: false });
    let right = batches(random, &rows);
    run(options, &[], &right).unwrap();
    let [SegmentPredicate::KeyBitmap(bitmap)] = slots[0].predicates() else { unreachable!() };
    // Rows with a NULL in either key are not in it.
    let keys: std::collections::HashSet<i128> =
        rows.iter().filter(|row| !row[2].is_null()).filter_map(|row| row[0].as_i128()).collect();
    assert_eq!(bitmap.count(), keys.len());
    assert!(keys.iter().all(|key| bitmap.contains(*key as i64)));
    assert!(matches!(slots[1].predicates(), [SegmentPredicate::Bloom(_)]));
}

/// General marks compare rows with NULLs with all others, and stay in memory.
fn is_general_mark(kind: JoinKind, conditions: &Conditions) -> bool {
    matches!(kind, JoinKind::Mark(_)) && (conditions.keys.len() > 1 || conditions.less)
}

#[test]
fn spilled_joins_of_all_kinds_agree_with_those_in_memory() {
    use crate::spill::tests::{TestDirectory, context_with};
    let base = Draw { rows: 3_000, keys: 2_000, step: 1, nulls: 9, unique: false };
    let shapes = [
        (Draw { rows: 2_000, ..base }, base),
        (Draw { rows: 1_500, step: 30_000_000, ..base }, Draw { step: 30_000_000, nulls: 0, ..base }),
        (Draw { rows: 0, ..base }, base),
        (Draw { rows: 2_000, ..base }, Draw { unique: true, ..base }),
    ];
    for (seed, (left, right)) in shapes.into_iter().enumerate() {
        let random = &mut Random(seed as u64);
        let (left, right) = (table(random, left), table(random, right));
        let (left, right) = (batches(random, &left), batches(random, &right));
        for conditions in
            all_conditions().iter().filter(|conditions| conditions.keys.iter().any(|key| key.0 == 0))
        {
            for (kind, build_left) in KINDS.into_iter().flat_map(|kind| [(kind, false), (kind, true)]) {
                if build_left && matches!(kind, JoinKind::Mark(_) | JoinKind::Single)
                    || is_general_mark(kind, conditions)
                {
                    continue;
                }
                if conditions.less && seed > 0 {
                    continue;
                }
                let wanted = sorted(run(options(kind, build_left, conditions), &left, &right));
                for budget in if seed == 0 { &[0, 60_000][..] } else { &[30_000] } {
                    let budget = *budget;
                    let directory = TestDirectory::new();
                    let space = directory.space(None);
                    let context = context_with(budget, 2, &space);
                    let found = run_in(&context, options(kind, build_left, conditions), &left, &right);
                    assert!(
                        sorted(found) == wanted,
                        "{kind:?}, build_left {build_left}, {conditions:?}, shape {seed}, {budget} bytes"
                    );
                    assert!(context.budget.peak() <= budget);
                    assert_eq!((context.budget.used(), space.used()), (0, 0));
                }
            }
        }
    }
}

/// Without conditions each row meets each; only joins that tell which stored rows met one keep these in memory.
#[test]
fn nested_loops_keep_their_rows_in_files() {
    use crate::spill::tests::{TestDirectory, context_with};
    let draw = Draw { rows: 60, keys: 10, step: 1, nulls: 5, unique: false };
    let random = &mut Random(21);
    let (few, many) = (table(random, draw), table(random, Draw { rows: 700, ..draw }));
    let (few, many) = (batches(random, &few), batches(random, &many));
    let conditions = Conditions { keys: Vec::new(), less: false };
    for (kind, build_left) in KINDS.into_iter().flat_map(|kind| [(kind, false), (kind, true)]) {
        if build_left && matches!(kind, JoinKind::Mark(_) | JoinKind::Single) {
            continue;
        }
        let (left, right) = if build_left { (&many, &few) } else { (&few, &many) };
        let wanted = sorted(run(options(kind, build_left, &conditions), left, right));
        for budget in [0, 10_000] {
            let directory = TestDirectory::new();
            let space = directory.space(None);
            let context = context_with(budget, 2, &space);
            let found = sorted(run_in(&context, options(kind, build_left, &conditions), left, right));
            let is_tracked = build_left && kind != JoinKind::Inner || kind == JoinKind::Full;
            if !(is_tracked && matches!(found, Err(Error::OutOfMemory { .. }))) {
                assert!(found == wanted, "{kind:?}, build_left {build_left}, {budget} bytes");
            }
            assert_eq!((context.budget.used(), space.used()), (0, 0));
        }
    }
}

/// Rows of one key are no help from partitions: they are taken in blocks, by the kinds that can.
#[test]
fn skewed_builds_are_joined_in_blocks_or_fail_cleanly() {
    use crate::spill::tests::{TestDirectory, context_with};
    let random = &mut Random(12);
    let many = table(random, Draw { rows: 12_000, keys: 2, step: 1, nulls: 0, unique: false });
    let few = table(random, Draw { rows: 40, keys: 4, step: 1, nulls: 5, unique: false });
    let (many, few) = (batches(random, &many), batches(random, &few));
    let conditions = Conditions { keys: vec![(0, false)], less: true };
    let directory = TestDirectory::new();
    let space = directory.space(None);
    for (kind, build_left) in [
        (JoinKind::Inner, false),
        (JoinKind::Inner, true),
        (JoinKind::Left, true),
        (JoinKind::Semi, true),
        (JoinKind::Anti, true),
        (JoinKind::Left, false),
        (JoinKind::Full, false),
    ] {
        let (left, right) = if build_left { (&many, &few) } else { (&few, &many) };
        let wanted = sorted(run(options(kind, build_left, &conditions), left, right));
        let context = context_with(100_000, 1, &space);
        let found = sorted(run_in(&context, options(kind, build_left, &conditions), left, right));
        if matches!((kind, build_left), (JoinKind::Left | JoinKind::Full, false)) {
            assert!(matches!(found, Err(Error::OutOfMemory { .. })), "{kind:?}");
        } else {
            assert!(found == wanted, "{kind:?}, build_left {build_left}");
        }
    }
    space.set_limit(Some(10_000));
    let inner = || options(JoinKind::Inner, true, &conditions);
    let found = run_in(&context_with(0, 1, &space), inner(), &many, &few);
    assert!(matches!(found, Err(Error::DiskFull { .. })));
    space.set_limit(None);
    space.broken_at.store(10_000, std::sync::atomic::Ordering::Relaxed);
    let found = run_in(&context_with(0, 1, &space), inner(), &many, &few);
    assert!(matches!(found, Err(Error::Io { .. })));
    assert_eq!(space.used(), 0);
}

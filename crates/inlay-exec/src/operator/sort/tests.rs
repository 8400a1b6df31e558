//! Sorts against the obvious model: collect the rows, sort them with a comparison function, cut.

use super::*;
use crate::driver;
use crate::operator::materialize::{BufferScan, Materialize};
use crate::operator::values::Values;
use crate::pipeline::Pipeline;
use inlay_sql::plan::{ColumnId, Expr};
use inlay_types::{Value, Vector};
use std::cmp::Ordering as Order;

struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

fn random_value(random: &mut Random, ty: LogicalType) -> Value {
    if random.below(8) == 0 {
        return Value::Null;
    }
    match ty {
        LogicalType::Integer => Value::Integer(random.below(40) as i32 - 20),
        LogicalType::Double => match random.below(6) {
            0 => Value::Double(f64::NAN),
            1 => Value::Double(-0.0),
            _ => Value::Double(random.below(9) as f64 - 4.0),
        },
        LogicalType::HugeInt => Value::HugeInt(i128::from(random.below(9) as i64 - 4) << 70),
        _ => {
            let words =
                ["", "a", "ab", "a string of some length", "a string of some lengtH", "zebra\0", "zebra"];
            Value::Varchar(words[random.below(words.len() as u64) as usize].into())
        }
    }
}

const TYPES: [LogicalType; 4] =
    [LogicalType::Integer, LogicalType::Varchar, LogicalType::Double, LogicalType::HugeInt];

fn compare_rows(keys: &[SortKey], a: &[Value], b: &[Value]) -> Order {
    for key in keys {
        let Expr::Column { id, .. } = &key.expr else { continue };
        let (x, y) = (&a[id.0 as usize], &b[id.0 as usize]);
        let order = match (x.is_null(), y.is_null()) {
            (true, true) => Order::Equal,
            (true, false) => {
                if key.nulls_first {
                    Order::Less
                } else {
                    Order::Greater
                }
            }
            (false, true) => {
                if key.nulls_first {
                    Order::Greater
                } else {
                    Order::Less
                }
            }
            (false, false) if key.descending => y.total_cmp(x),
            (false, false) => x.total_cmp(y),
        };
        if order.is_ne() {
            return order;
        }
    }
    Order::Equal
}

fn sorted(
    rows: &[Vec<Value>],
    keys: &[SortKey],
    limit: Option<u64>,
    offset: u64,
    group_keys: usize,
    threads: usize,
) -> Vec<Vec<Value>> {
    sorted_in(&ExecContext::for_tests(threads), rows, keys, limit, offset, group_keys).unwrap()
}

fn sorted_in(
    context: &ExecContext,
    rows: &[Vec<Value>],
    keys: &[SortKey],
    limit: Option<u64>,
    offset: u64,
    group_keys: usize,
) -> Result<Vec<Vec<Value>>> {
    let columns: Vec<Vector> = (0..TYPES.len())
        .map(|c| {
            let values: Vec<Value> = rows.iter().map(|row| row[c].clone()).collect();
            Vector::from_sql_values(TYPES[c].clone(), &values).unwrap()
        })
        .collect();
    let layout = Layout((0..TYPES.len() as u32).map(ColumnId).collect());
    let options =
        SortOptions { layout, types: TYPES.to_vec(), keys: keys.to_vec(), limit, offset, group_keys };
    let sort = Sort::new(options, context)?;
    // The result is not what is limited here.
    let result =
        Arc::new(Materialize::new(&ExecContext { budget: MemoryBudget::unlimited(), ..context.clone() }));
    let buffer = result.buffer();
    // Through a buffer, which is read in several morsels.
    let input =
        Arc::new(Materialize::new(&ExecContext { budget: MemoryBudget::unlimited(), ..context.clone() }));
    let scan = BufferScan::new(vec![(input.buffer(), (0..TYPES.len()).collect())]);
    let pipelines = [
        Pipeline {
            nodes: vec![0, 0],
            source: Arc::new(Values::new(Batch::new(columns, rows.len()))),
            operators: Vec::new(),
            sink: input,
        },
        Pipeline { nodes: vec![0, 0], source: Arc::new(scan), operators: Vec::new(), sink: sort.clone() },
        Pipeline { nodes: vec![0, 0], source: sort, operators: Vec::new(), sink: result },
    ];
    for pipeline in &pipelines {
        driver::run(pipeline, context, None)?;
    }
    let batches = buffer.batches().unwrap();
    assert!(batches.iter().all(|batch| (1..=VECTOR_SIZE).contains(&batch.len())));
    let rows = batches
        .iter()
        .flat_map(|b| (0..b.len()).map(|row| b.columns().iter().map(|c| c.get(row)).collect::<Vec<_>>()));
    Ok(rows.collect())
}

fn text(rows: &[Vec<Value>]) -> Vec<String> {
    rows.iter().map(|row| format!("{row:?}")).collect()
}

#[test]
fn sorts_agree_with_the_model() {
    let mut random = Random(7);
    for round in 0..30 {
        let count = [0, 1, 5, 3000, 20_000][round % 5];
        let rows: Vec<Vec<Value>> = (0..count)
            .map(|_| TYPES.iter().map(|ty| random_value(&mut random, ty.clone())).collect())
            .collect();
        let keys: Vec<SortKey> = (0..1 + random.below(3))
            .map(|_| {
                let column = random.below(TYPES.len() as u64) as u32;
                SortKey {
                    expr: Expr::Column { id: ColumnId(column), ty: TYPES[column as usize].clone() },
                    descending: random.below(2) == 0,
                    nulls_first: random.below(2) == 0,
                }
            })
            .collect();
        let limit = (round % 3 == 0).then(|| random.below(50));
        let offset = if round % 4 == 0 { random.below(20) } else { 0 };
        let mut expected = rows.clone();
        expected.sort_by(|a, b| compare_rows(&keys, a, b));
        let end = limit.map_or(usize::MAX, |l| (l + offset) as usize).min(expected.len());
        let expected = &expected[(offset as usize).min(end)..end];
        for threads in [1, 3] {
            let found = sorted(&rows, &keys, limit, offset, 0, threads);
            assert_eq!(text(&found), text(expected), "round {round}, {threads} threads, {keys:?}");
        }
    }
}

#[test]
fn limits_apply_to_each_group() {
    let mut random = Random(11);
    let rows: Vec<Vec<Value>> =
        (0..2000).map(|_| TYPES.iter().map(|ty| random_value(&mut random, ty.clone())).collect()).collect();
    let key = |column: u32| SortKey {
        expr: Expr::Column { id: ColumnId(column), ty: TYPES[column as usize].clone() },
        descending: false,
        nulls_first: false,
    };
    let keys = [key(1), key(0)];
    let found = sorted(&rows, &keys, Some(2), 1, 1, 2);
    let mut expected = rows;
    expected.sort_by(|a, b| compare_rows(&keys, a, b));
    let mut place = 0;
    let mut kept = Vec::new();
    for index in 0..expected.len() {
        let same = index > 0 && compare_rows(&keys[..1], &expected[index - 1], &expected[index]).is_eq();
        place = if same { place + 1 } else { 0 };
        if place == 1 || place == 2 {
            kept.push(expected[index].clone());
        }
    }
    assert_eq!(text(&found), text(&kept));
}

fn key(column: u32, descending: bool) -> SortKey {
    let expr = Expr::Column { id: ColumnId(column), ty: TYPES[column as usize].clone() };
    SortKey { expr, descending, nulls_first: descending }
}

fn many_rows(count: usize) -> Vec<Vec<Value>> {
    let random = &mut Random(23);
    (0..count).map(|_| TYPES.iter().map(|ty| random_value(random, ty.clone())).collect()).collect()
}

#[test]
fn spilled_sorts_give_the_same_rows_in_the_same_order() {
    use crate::spill::tests::{TestDirectory, context_with};
    let rows = many_rows(60_000);
    let orders = [
        vec![key(0, false)],
        vec![key(1, true), key(2, false)],
        vec![key(2, false), key(3, true), key(1, false)],
    ];
    for keys in orders {
        let mut expected = rows.clone();
        expected.sort_by(|a, b| compare_rows(&keys, a, b));
        for (limit, offset) in [(None, 0), (None, 777), (Some(40_000), 5)] {
            let end = limit.map_or(usize::MAX, |l: u64| (l + offset) as usize).min(expected.len());
            let expected = text(&expected[offset as usize..end]);
            for (threads, budget) in [(1, 0), (1, 3_000_000), (3, 0), (3, 12_000_000)] {
                let directory = TestDirectory::new();
                let space = directory.space(None);
                let context = context_with(budget, threads, &space);
                let found = sorted_in(&context, &rows, &keys, limit, offset, 0).unwrap();
                assert!(text(&found) == expected, "{keys:?}, limit {limit:?}, {threads} threads, {budget}");
                assert!(context.budget.peak() <= budget);
                assert_eq!((context.budget.used(), space.used()), (0, 0));
            }
        }
    }
}

#[test]
fn spilled_limits_apply_to_each_group() {
    use crate::spill::tests::{TestDirectory, context_with};
    let rows = many_rows(30_000);
    let keys = [key(1, false), key(0, false), key(2, true)];
    for (limit, offset) in [(3, 1), (1_000, 0)] {
        let wanted = sorted(&rows, &keys, Some(limit), offset, 2, 1);
        let directory = TestDirectory::new();
        let context = context_with(1_000_000, 2, &directory.space(None));
        let found = sorted_in(&context, &rows, &keys, Some(limit), offset, 2).unwrap();
        assert!(text(&found) == text(&wanted), "limit {limit}");
    }
}

#[test]
fn full_and_broken_temporary_space_is_a_clean_error() {
    use crate::spill::tests::{TestDirectory, context_with};
    let rows = many_rows(30_000);
    let directory = TestDirectory::new();
    let space = directory.space(Some(100_000));
    let run = || sorted_in(&context_with(0, 2, &space), &rows, &[key(1, false)], None, 0, 0);
    assert!(matches!(run(), Err(Error::DiskFull { .. })));
    space.set_limit(None);
    space.broken_at.store(50_000, Ordering::Relaxed);
    assert!(matches!(run(), Err(Error::Io { .. })));
    assert_eq!(space.used(), 0);
}

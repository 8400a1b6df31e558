//! How fast do scans filter, gather and encode? A Q6-like filter of three ranges over six million rows, its sum, and
//! what a join's bitmap costs. Prints medians and bests of nine runs on one thread; answers are checked against plain loops.

#![allow(clippy::print_stdout, reason = "prints its result")]

use inlay_storage::*;
use inlay_types::{Batch, LogicalType, MemoryBudget, VECTOR_SIZE, Value, Vector};
use std::sync::Arc;
use std::time::Instant;

const ROWS: usize = 6_001_215;

fn main() {
    let mut state = 7u64;
    let mut random = move |limit: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % limit
    };
    let dates: Vec<i32> = (0..ROWS).map(|_| 8036 + random(2526) as i32).collect();
    let discounts: Vec<i64> = (0..ROWS).map(|_| random(11) as i64).collect();
    let quantities: Vec<i64> = (0..ROWS).map(|_| 100 * (1 + random(50) as i64)).collect();
    let prices: Vec<i64> = (0..ROWS).map(|_| 90_000 + random(10_000_000) as i64).collect();
    let parts: Vec<i64> = (0..ROWS).map(|_| 1 + random(200_000) as i64).collect();
    let modes = ["AIR", "FOB", "MAIL", "RAIL", "REG AIR", "SHIP", "TRUCK"];
    let mode_of: Vec<Value> = (0..ROWS).map(|_| Value::Varchar(modes[random(7) as usize].into())).collect();

    let decimal = LogicalType::decimal(15, 2);
    let names = ["shipdate", "discount", "quantity", "price", "partkey", "mode"];
    let types = [LogicalType::Date, decimal, decimal, decimal, LogicalType::BigInt, LogicalType::Varchar];
    let columns = names.iter().zip(types).map(|(name, ty)| ColumnSchema::new(*name, ty)).collect();
    let table = Arc::new(Table::new(TableSchema::new("lineitem", columns), MemoryBudget::unlimited()));
    let batches: Vec<Batch> = (0..ROWS)
        .step_by(VECTOR_SIZE)
        .map(|from| {
            let rows = from..(from + VECTOR_SIZE).min(ROWS);
            let columns = vec![
                Vector::from_values(LogicalType::Date, &dates[rows.clone()]),
                Vector::from_values(decimal, &discounts[rows.clone()]),
                Vector::from_values(decimal, &quantities[rows.clone()]),
                Vector::from_values(decimal, &prices[rows.clone()]),
                Vector::from_values(LogicalType::BigInt, &parts[rows.clone()]),
                Vector::from_sql_values(LogicalType::Varchar, &mode_of[rows.clone()])
                    .unwrap_or_else(|_| Vector::empty(LogicalType::Varchar)),
            ];
            Batch::new(columns, rows.len())
        })
        .collect();
    let loads = if std::env::args().nth(1).as_deref() == Some("load") { 20 } else { 1 };
    for _ in 0..loads {
        table.truncate();
        let started = Instant::now();
        let load = BulkLoad::new(Arc::clone(&table));
        let mut appender = load.appender(0);
        for batch in &batches {
            appender.push(batch).expect("memory is unlimited");
        }
        appender.finish().and_then(|()| load.commit()).expect("memory is unlimited");
        println!("load            {:8.2} ms, {} MB", millis(started), table.snapshot().memory_size() >> 20);
    }
    let snapshot = table.snapshot();
    let first = &snapshot.row_groups()[0];
    let encodings: Vec<&str> = first.columns().iter().map(|s| s.encoding_name()).collect();
    println!("encodings       {encodings:?}");

    let money = |unscaled| Value::Decimal { unscaled, precision: 15, scale: 2 };
    let between = |low, high, high_inclusive| SegmentPredicate::Between {
        low,
        low_inclusive: true,
        high,
        high_inclusive,
    };
    let q6 = vec![
        (0, between(Value::Date(8766), Value::Date(9131), false)),
        (1, between(money(5), money(7), true)),
        (2, SegmentPredicate::Compare(Cmp::Lt, money(2400))),
    ];
    let expected: usize = (0..ROWS)
        .filter(|i| {
            (8766..9131).contains(&dates[*i]) && (5..=7).contains(&discounts[*i]) && quantities[*i] < 2400
        })
        .count();
    report("q6 filter", || count(&snapshot, &q6), expected);

    let mut set = KeyBitmap::new(1, 200_000, 1 << 20).expect("the range is small");
    (1..=200_000).filter(|k| k % 30 == 0).for_each(|k| set.insert(k));
    let expected = parts.iter().filter(|k| **k % 30 == 0).count();
    let bitmap = vec![(4, SegmentPredicate::KeyBitmap(Arc::new(set.clone())))];
    report("key bitmap", || count(&snapshot, &bitmap), expected);
    let mut bloom = BloomFilter::new(6_667);
    (1..=200_000u64).filter(|k| k % 30 == 0).for_each(|k| bloom.insert(inlay_kernels::hash::hash_u64(k)));
    let filter = vec![(4, SegmentPredicate::Bloom(Arc::new(bloom)))];
    let passed = count(&snapshot, &filter);
    println!("bloom passes    {passed} of {expected} + {}", ROWS - expected);
    report("bloom", || count(&snapshot, &filter), passed);
    let mail = [Value::Varchar("MAIL".into()), Value::Varchar("SHIP".into())];
    let in_list = vec![(5, SegmentPredicate::In(mail.to_vec()))];
    let expected = mode_of.iter().filter(|m| mail.contains(m)).count();
    report("mode in list", || count(&snapshot, &in_list), expected);

    let date_only = vec![q6[0].clone()];
    let expected = dates.iter().filter(|d| (8766..9131).contains(*d)).count();
    report("one range", || count(&snapshot, &date_only), expected);
    report(
        "then selected",
        || {
            let (mut total, mut rows, mut kept) = (0, Vec::new(), Vec::new());
            for group in snapshot.row_groups() {
                let date = group.column(0).prepare(&q6[0].1).expect("types fit");
                let price = group
                    .column(3)
                    .prepare(&SegmentPredicate::Compare(Cmp::Gt, money(0)))
                    .expect("types fit");
                let part = group.column(4).prepare(&bitmap[0].1).expect("types fit");
                for from in (0..group.len()).step_by(VECTOR_SIZE) {
                    rows.clear();
                    kept.clear();
                    let range = from..from + VECTOR_SIZE;
                    group
                        .column(0)
                        .filter_prepared(&date, range.clone(), None, &mut rows)
                        .expect("types fit");
                    group
                        .column(3)
                        .filter_prepared(&price, range.clone(), Some(&rows), &mut kept)
                        .expect("types fit");
                    rows.clear();
                    group.column(4).filter_prepared(&part, range, Some(&kept), &mut rows).expect("types fit");
                    total += rows.len();
                }
            }
            total
        },
        (0..ROWS).filter(|i| (8766..9131).contains(&dates[*i]) && parts[*i] % 30 == 0).count(),
    );
    let sum: i64 = prices.iter().sum();
    report("scan and sum", || scan_sum(&snapshot, 3) as usize, sum as usize);
    let sum: i64 = (0..ROWS).filter(|i| (8766..9131).contains(&dates[*i])).map(|i| prices[i]).sum();
    report("gather and sum", || gather_sum(&snapshot, &date_only, 3) as usize, sum as usize);
    let mut out = Vector::empty(LogicalType::Varchar);
    report(
        "scan codes",
        || {
            let mut rows = 0;
            for group in snapshot.row_groups() {
                for from in (0..group.len()).step_by(VECTOR_SIZE) {
                    group.column(5).scan_into(from, VECTOR_SIZE.min(group.len() - from), &mut out);
                    rows += out.codes().len();
                }
            }
            rows
        },
        ROWS,
    );
    let started = Instant::now();
    let statistics = table.statistics();
    println!(
        "statistics      {:8.2} ms, {:.0} distinct parts",
        millis(started),
        statistics.columns[4].distinct_count
    );
}

fn count(snapshot: &TableSnapshot, conjuncts: &[(usize, SegmentPredicate)]) -> usize {
    let (mut total, mut rows) = (0, Vec::new());
    for group in snapshot.row_groups() {
        let Ok(Some(prepared)) = group.prepare(conjuncts) else { continue };
        for from in (0..group.len()).step_by(VECTOR_SIZE) {
            rows.clear();
            group.filter(&prepared, from..from + VECTOR_SIZE, &mut rows).expect("types fit");
            total += rows.len();
        }
    }
    total
}

fn scan_sum(snapshot: &TableSnapshot, column: usize) -> i64 {
    let mut out = Vector::empty(LogicalType::BigInt);
    let mut sum = 0;
    for group in snapshot.row_groups() {
        for from in (0..group.len()).step_by(VECTOR_SIZE) {
            group.column(column).scan_into(from, VECTOR_SIZE.min(group.len() - from), &mut out);
            sum += out.values::<i64>().iter().sum::<i64>();
        }
    }
    sum
}

fn gather_sum(snapshot: &TableSnapshot, conjuncts: &[(usize, SegmentPredicate)], column: usize) -> i64 {
    let (mut out, mut rows, mut sum) = (Vector::empty(LogicalType::BigInt), Vec::new(), 0);
    for group in snapshot.row_groups() {
        let Ok(Some(prepared)) = group.prepare(conjuncts) else { continue };
        for from in (0..group.len()).step_by(VECTOR_SIZE) {
            rows.clear();
            group.filter(&prepared, from..from + VECTOR_SIZE, &mut rows).expect("types fit");
            group.column(column).gather_into(&rows, &mut out);
            sum += out.values::<i64>().iter().sum::<i64>();
        }
    }
    sum
}

fn millis(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1e3
}

fn report(name: &str, mut run: impl FnMut() -> usize, expected: usize) {
    // `filter_speed q6` repeats one question often, for a profiler.
    let chosen = std::env::args().nth(1);
    let runs = if chosen.as_deref() == Some(name) { 999 } else { 9 };
    let mut times: Vec<f64> = (0..runs)
        .map(|_| {
            let started = Instant::now();
            assert_eq!(run(), expected, "{name}");
            millis(started)
        })
        .collect();
    times.sort_by(f64::total_cmp);
    println!("{name:15} {:8.2} ms, best {:.2} ms", times[runs / 2], times[0]);
}

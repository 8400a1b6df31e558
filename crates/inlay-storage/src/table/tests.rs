//! Tables against a list of rows: random appends, deletes, updates and restores; keys; bulk loads.

use super::*;
use crate::bulk::BulkLoad;
use crate::row_group::ROW_GROUP_SIZE;
use crate::schema::ColumnSchema;
use inlay_types::{Bitmap, Buffer, Dictionary, VECTOR_SIZE, Value};
use std::collections::BTreeMap;

fn schema(keys: Vec<Vec<usize>>) -> TableSchema {
    let mut schema = TableSchema::new(
        "t",
        vec![
            ColumnSchema::new("id", LogicalType::BigInt),
            ColumnSchema::new("name", LogicalType::Varchar),
            ColumnSchema::new("amount", LogicalType::decimal(15, 2)),
        ],
    );
    schema.keys = keys;
    schema
}

type Row = Vec<Value>;

fn row(id: i64, variant: u64) -> Row {
    let name = match variant % 4 {
        0 => Value::Null,
        1 => Value::Varchar(format!("n{}", variant % 50)),
        _ => Value::Varchar(format!("a name that is longer than twelve {}", variant % 1000)),
    };
    vec![
        Value::BigInt(id),
        name,
        Value::Decimal { unscaled: i128::from(variant % 100_000), precision: 15, scale: 2 },
    ]
}

fn batch(schema: &TableSchema, rows: &[Row]) -> Batch {
    let column = |(index, column): (usize, &ColumnSchema)| {
        let values: Vec<Value> = rows.iter().map(|r| r[index].clone()).collect();
        Vector::from_sql_values(column.ty.clone(), &values).unwrap()
    };
    Batch::new(schema.columns.iter().enumerate().map(column).collect(), rows.len())
}

/// Live rows by row id.
fn rows_of(snapshot: &TableSnapshot) -> BTreeMap<i64, Row> {
    let mut rows = BTreeMap::new();
    let mut end = i64::MIN;
    for group in snapshot.row_groups() {
        assert!(group.row_id_start() >= end, "row groups overlap");
        end = group.row_ids().end;
        let columns: Vec<Vector> =
            group.columns().iter().map(|s| s.segment().unwrap().scan(0, group.len()).unwrap()).collect();
        let mut live = Vec::new();
        group.live_rows(0..group.len(), &mut live);
        assert_eq!(live.len(), group.live_count());
        for row in live {
            rows.insert(
                group.row_id_start() + i64::from(row),
                columns.iter().map(|c| c.get(row as usize)).collect(),
            );
        }
    }
    assert_eq!(rows.len(), snapshot.row_count());
    rows
}

struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

#[test]
fn random_changes_agree_with_a_list_of_rows() {
    let mut random = Random(42);
    let table = Table::new(schema(vec![]), MemoryBudget::unlimited());
    let mut model: BTreeMap<i64, Row> = BTreeMap::new();
    let mut saved: Vec<(Arc<TableSnapshot>, BTreeMap<i64, Row>)> = Vec::new();
    let mut was_sealed = false;
    for step in 0..150 {
        let ids: Vec<i64> = model.keys().copied().collect();
        let some_ids = |random: &mut Random| -> Vec<i64> {
            let count = random.below(6) as usize * if random.below(8) == 0 { 2000 } else { 1 };
            (0..count)
                .filter(|_| !ids.is_empty())
                .map(|_| ids[random.below(ids.len() as u64) as usize])
                .collect()
        };
        match random.below(10) {
            0..5 => {
                let count = if random.below(12) == 0 { 70_000 } else { random.below(40) };
                let rows: Vec<Row> = (0..count).map(|i| row(i as i64, random.below(1 << 30))).collect();
                let middle = rows.len() / 3;
                let parts = [batch(table.schema(), &rows[..middle]), batch(table.schema(), &rows[middle..])];
                table.append(&parts).unwrap();
                let first = table.locked().next_row_id - count as i64;
                model.extend((first..).zip(rows));
            }
            5..7 => {
                let gone = some_ids(&mut random);
                let distinct: std::collections::HashSet<&i64> = gone.iter().collect();
                assert_eq!(table.delete(&gone).unwrap(), distinct.len() as u64);
                assert_eq!(table.delete(&gone).unwrap(), 0);
                gone.iter().for_each(|id| drop(model.remove(id)));
            }
            7..9 => {
                let mut changed = some_ids(&mut random);
                changed.sort_by_key(|id| id % 7);
                let mut seen = std::collections::HashSet::new();
                changed.retain(|id| seen.insert(*id));
                let rows: Vec<Row> = changed.iter().map(|_| row(0, random.below(1 << 30))).collect();
                let swapped: Vec<Row> = rows.iter().map(|r| vec![r[2].clone(), r[1].clone()]).collect();
                let column = |index: usize, ty| {
                    Vector::from_sql_values(ty, &swapped.iter().map(|r| r[index].clone()).collect::<Vec<_>>())
                        .unwrap()
                };
                let values = Batch::new(
                    vec![column(0, LogicalType::decimal(15, 2)), column(1, LogicalType::Varchar)],
                    rows.len(),
                );
                assert_eq!(table.update(&changed, &[2, 1], &[values]).unwrap(), changed.len() as u64);
                for (id, row) in changed.iter().zip(rows) {
                    let old = model.get_mut(id).unwrap();
                    (old[1], old[2]) = (row[1].clone(), row[2].clone());
                }
            }
            _ if random.below(2) == 0 || saved.is_empty() => saved.push((table.snapshot(), model.clone())),
            _ => {
                let (snapshot, rows) = saved[random.below(saved.len() as u64) as usize].clone();
                table.restore(&snapshot);
                model = rows;
            }
        }
        was_sealed |= table.snapshot().row_groups().iter().any(|g| g.is_sealed());
        if step % 10 == 9 {
            assert!(rows_of(&table.snapshot()) == model, "step {step}");
            let statistics = table.statistics().unwrap();
            assert_eq!(statistics.row_count, model.len() as u64);
            assert!(
                statistics.sample.len()
                    <= crate::statistics::SAMPLE_SIZE.min(model.len().max(statistics.sampled_rows as usize))
            );
        }
    }
    for (snapshot, rows) in &saved {
        assert!(rows_of(snapshot) == *rows, "snapshots never change");
    }
    assert!(was_sealed);
}

#[test]
fn single_inserts_leave_few_chunks_and_seal_in_the_end() {
    let table = Table::new(schema(vec![]), MemoryBudget::unlimited());
    let one = batch(table.schema(), &[row(1, 1)]);
    for _ in 0..3000 {
        table.append(std::slice::from_ref(&one)).unwrap();
    }
    assert!(table.snapshot().row_groups().len() < 16);
    let many: Vec<Row> = (0..ROW_GROUP_SIZE as i64).map(|i| row(i, i as u64)).collect();
    table.append(&[batch(table.schema(), &many)]).unwrap();
    let snapshot = table.snapshot();
    let groups = snapshot.row_groups();
    assert_eq!((groups.len(), groups[0].len(), groups[1].len()), (2, ROW_GROUP_SIZE, 3000));
    assert!(groups[0].is_sealed() && !groups[1].is_sealed());
}

#[test]
fn constraints_reject_the_whole_statement() {
    let mut with_key = schema(vec![vec![0], vec![1, 2]]);
    with_key.columns[0].not_null = true;
    let table = Table::new(with_key, MemoryBudget::unlimited());
    let append = |rows: &[Row]| table.append(&[batch(table.schema(), rows)]);
    append(&[row(1, 5), row(2, 9)]).unwrap();
    let before = rows_of(&table.snapshot());
    let duplicate = append(&[row(3, 13), row(1, 17)]).unwrap_err();
    assert!(duplicate.to_string().contains("duplicate key (id) = (1)"), "{duplicate}");
    assert!(append(&[row(7, 101), row(7, 105)]).is_err(), "duplicates within a statement");
    assert!(append(&[row(8, 5)]).is_err(), "the second key has two columns");
    let null = append(&[vec![Value::Null, Value::Null, Value::Null]]).unwrap_err();
    assert!(null.to_string().contains("\"id\" of table \"t\""), "{null}");
    assert_eq!(rows_of(&table.snapshot()), before);
    // What failed may be tried again; NULL in a key equals nothing.
    append(&[row(7, 100), row(3, 100)]).unwrap();
    assert!(append(&[row(7, 200)]).is_err());

    let ids: Vec<i64> = rows_of(&table.snapshot()).keys().copied().collect();
    let update = |ids: &[i64], values: &[i64]| {
        let values: Vec<Value> = values.iter().map(|v| Value::BigInt(*v)).collect();
        let vector = Vector::from_sql_values(LogicalType::BigInt, &values).unwrap();
        table.update(ids, &[0], &[Batch::new(vec![vector], ids.len())])
    };
    assert!(update(&ids[..1], &[2]).is_err(), "2 is taken");
    assert_eq!(update(&ids[..2], &[2, 1]).unwrap(), 2, "a swap is fine in the end");
    assert!(update(&ids[..2], &[50, 50]).is_err());
    assert_eq!(table.find_by_key(0, &[Value::BigInt(1)]).unwrap(), Some(ids[1]));
    assert_eq!(table.find_by_key(0, &[Value::BigInt(50)]).unwrap(), None);
    let snapshot = table.snapshot();
    table.delete(&ids).unwrap();
    append(&[row(1, 5)]).unwrap();
    table.restore(&snapshot);
    assert!(append(&[row(1, 500)]).is_err(), "restored rows keep their keys");
    append(&[row(100, 501)]).unwrap();
}

#[test]
fn refused_memory_changes_nothing() {
    let budget = MemoryBudget::new(200_000);
    let table = Table::new(schema(vec![]), budget.clone());
    let rows =
        |count: i64| batch(table.schema(), &(0..count).map(|i| row(i, i as u64 * 77)).collect::<Vec<_>>());
    table.append(&[rows(1000)]).unwrap();
    let used = budget.used();
    assert!(matches!(table.append(&[rows(20_000)]), Err(Error::OutOfMemory { .. })));
    assert_eq!((table.row_count(), budget.used()), (1000, used));
    table.append(&[rows(10)]).unwrap();
}

#[test]
fn bulk_loads_keep_the_order_of_their_sequence() {
    for (parts, rows_per_part) in [(3u64, 150_000usize), (40, 9_000), (5, 100), (7, 131_072)] {
        let table = Arc::new(Table::new(
            TableSchema::new("b", vec![ColumnSchema::new("v", LogicalType::BigInt)]),
            MemoryBudget::unlimited(),
        ));
        table.append(&[Batch::new(vec![Vector::from_values(LogicalType::BigInt, &[-1i64])], 1)]).unwrap();
        let load = BulkLoad::new(Arc::clone(&table));
        std::thread::scope(|scope| {
            for worker in 0..2u64 {
                let load = &load;
                scope.spawn(move || {
                    for part in (0..parts).filter(|p| p % 2 == worker) {
                        let mut appender = load.appender(part);
                        let start = part as i64 * rows_per_part as i64;
                        let values: Vec<i64> = (start..start + rows_per_part as i64).collect();
                        for chunk in values.chunks(2048) {
                            let vector = Vector::from_values(LogicalType::BigInt, chunk);
                            appender.push(&Batch::new(vec![vector], chunk.len())).unwrap();
                        }
                        appender.finish().unwrap();
                    }
                });
            }
        });
        assert_eq!(table.row_count(), 1, "nothing shows before the commit");
        let total = parts as usize * rows_per_part;
        assert_eq!(load.commit().unwrap(), total as u64);
        let snapshot = table.snapshot();
        let values: Vec<i64> = snapshot
            .row_groups()
            .iter()
            .flat_map(|g| g.segment(0).unwrap().scan(0, g.len()).unwrap().flatten().values::<i64>().to_vec())
            .collect();
        assert!(values.into_iter().eq(-1..total as i64), "{parts} parts of {rows_per_part}");
        assert!(
            snapshot.row_groups().len() <= total / ROW_GROUP_SIZE + 8,
            "{} groups",
            snapshot.row_groups().len()
        );
    }
}

/// Where there is no memory for whole row groups they become shorter ones.
#[test]
fn bulk_loads_get_on_with_little_memory() {
    let columns = (0..4).map(|number| ColumnSchema::new(format!("c{number}"), LogicalType::BigInt)).collect();
    let budget = MemoryBudget::new(5 << 20);
    let table = Arc::new(Table::new(TableSchema::new("b", columns), budget.clone()));
    let load = BulkLoad::new(Arc::clone(&table));
    let mut appender = load.appender(0);
    let total = 5 * ROW_GROUP_SIZE;
    for from in (0..total).step_by(2048) {
        let values: Vec<i64> = (from..from + 2048).map(|row| row as i64 / 1000).collect();
        let column = Vector::from_values(LogicalType::BigInt, &values);
        appender.push(&Batch::new(vec![column; 4], 2048)).unwrap();
    }
    appender.finish().unwrap();
    assert_eq!(load.commit().unwrap(), total as u64);
    let snapshot = table.snapshot();
    let groups = snapshot.row_groups();
    assert!(groups.len() > 5 && groups.len() <= 20, "{} row groups", groups.len());
    let mut row = 0i64;
    for group in groups {
        let values = group.segment(3).unwrap().scan(0, group.len()).unwrap().flatten();
        for value in values.values::<i64>() {
            assert_eq!(*value, row / 1000);
            row += 1;
        }
    }
}

/// Rows that are left over behind the row groups of many appenders hold no more than they need.
#[test]
fn rests_of_bulk_loads_take_little_memory() {
    let budget = MemoryBudget::new(64 << 20);
    let schema = TableSchema::new("b", vec![ColumnSchema::new("v", LogicalType::BigInt)]);
    let load = BulkLoad::new(Arc::new(Table::new(schema, budget.clone())));
    for part in 0..200 {
        let mut appender = load.appender(part);
        for len in [ROW_GROUP_SIZE, 100] {
            let column = Vector::from_values(LogicalType::BigInt, &vec![part as i64; len]);
            appender.push(&Batch::new(vec![column], len)).unwrap();
        }
        appender.finish().unwrap();
    }
    assert!(budget.used() < 4 << 20, "{} bytes", budget.used());
    assert_eq!(load.commit().unwrap(), 200 * (ROW_GROUP_SIZE as u64 + 100));
}

#[test]
fn bulk_loads_of_codes_keep_their_texts() {
    let ty = LogicalType::Varchar;
    let table = Arc::new(Table::new(
        TableSchema::new("b", vec![ColumnSchema::new("v", ty.clone())]),
        MemoryBudget::unlimited(),
    ));
    let dictionary = |words: &[&str]| {
        let words: Vec<Value> = words.iter().map(|word| Value::Varchar((*word).into())).collect();
        Dictionary::new(Vector::from_sql_values(ty.clone(), &words).unwrap())
    };
    let (few, others) = (dictionary(&["b", "a", "a longer text than a view has"]), dictionary(&["z", "b"]));
    // A flat batch, or codes into one of the dictionaries, some of them NULL.
    let part = |kind: usize, rows: usize| {
        let words = if kind == 1 { &others } else { &few };
        let codes: Vec<u32> = (0..rows).map(|row| (row * row % words.values().len()) as u32).collect();
        let validity = (kind == 2).then(|| Bitmap::from_fn(rows, |row| row % 7 != 3));
        let coded = Vector::dictionary(Arc::clone(words), Buffer::copy_of(&codes), rows, validity);
        if kind == 3 { coded.flatten() } else { coded }
    };
    let mut expected = Vec::new();
    let load = BulkLoad::new(Arc::clone(&table));
    // Whole row groups of codes, changes of the dictionary before and behind their ends, short parts that are joined.
    let plan: [(&[usize], usize); 6] = [
        (&[0], 150_000),
        (&[0, 1], 80_000),
        (&[2, 2, 0], 60_000),
        (&[3, 0], 40_000),
        (&[1], 500),
        (&[0, 2, 3], 20_000),
    ];
    for (number, (kinds, rows)) in plan.into_iter().enumerate() {
        let mut appender = load.appender(number as u64);
        for kind in kinds {
            let vector = part(*kind, rows);
            for from in (0..rows).step_by(2048) {
                let len = (rows - from).min(2048);
                appender.push(&Batch::new(vec![vector.slice(from, len)], len)).unwrap();
            }
            expected.extend((0..rows).map(|row| vector.get(row)));
        }
        appender.finish().unwrap();
    }
    assert_eq!(load.commit().unwrap(), expected.len() as u64);
    let snapshot = table.snapshot();
    let mut rows = expected.into_iter();
    for group in snapshot.row_groups() {
        let column = group.segment(0).unwrap().scan(0, group.len()).unwrap();
        assert!((0..group.len()).all(|row| rows.next() == Some(column.get(row))));
    }
    assert!(rows.next().is_none());
}

#[test]
fn statistics_describe_the_table() {
    let mut unique = schema(vec![]);
    unique.columns[0].unique = true;
    let table = Table::new(unique, MemoryBudget::unlimited());
    let rows: Vec<Row> = (0..10_000).map(|i| row(i, i as u64 % 400)).collect();
    table.append(&[batch(table.schema(), &rows)]).unwrap();
    let statistics = table.statistics().unwrap();
    assert!(Arc::ptr_eq(&statistics, &table.statistics().unwrap()));
    assert_eq!(statistics.row_count, 10_000);
    let id = &statistics.columns[0];
    assert_eq!((&id.min, &id.max), (&Some(Value::BigInt(0)), &Some(Value::BigInt(9999))));
    assert!(id.is_unique && id.distinct_count == 10_000.0);
    assert_eq!(statistics.columns[1].null_count, 2_500);
    let distinct = statistics.columns[2].distinct_count;
    assert!((380.0..=400.0).contains(&distinct), "{distinct}");
    assert_eq!(statistics.sample.len(), crate::statistics::SAMPLE_SIZE);
    let sampled = statistics.sample.column(0);
    let mean = (0..sampled.len()).filter_map(|i| sampled.get(i).as_f64()).sum::<f64>() / sampled.len() as f64;
    assert!((4_500.0..5_500.0).contains(&mean), "{mean}");
}

#[test]
fn forks_keep_keys_apart() {
    let table = Table::new(schema(vec![vec![0]]), MemoryBudget::unlimited());
    let append = |table: &Table, ids: &[i64]| {
        let rows: Vec<Row> = ids.iter().map(|id| row(*id, 9)).collect();
        table.append(&[batch(table.schema(), &rows)])
    };
    append(&table, &[1, 2, 3]).unwrap();
    let fork = table.fork();
    append(&fork, &[10, 11]).unwrap();
    assert!(append(&fork, &[1]).is_err() && append(&fork, &[11]).is_err());
    append(&table, &[11]).unwrap();
    assert!(append(&table, &[3]).is_err() && append(&table, &[11]).is_err());

    let transaction = table.fork();
    transaction.delete(&[0]).unwrap();
    append(&transaction, &[1, 20]).unwrap();
    transaction.changes().iter().for_each(|change| table.apply(change).unwrap());
    for taken in [1, 2, 3, 11, 20] {
        assert!(append(&table, &[taken]).is_err(), "{taken} is taken");
    }
    append(&table, &[10, 21]).unwrap();
    assert_eq!(table.row_count(), 7);
}

#[test]
fn ascending_keys_need_no_map_and_are_enforced_all_the_same() {
    for ids in [vec![1, 2, 3, 5], vec![1, 2, 2, 3], vec![3, 1, 2], vec![2, 1, 2]] {
        let table = Table::new(schema(vec![vec![0]]), MemoryBudget::unlimited());
        let rows: Vec<Row> = ids.iter().map(|id| row(*id, 1)).collect();
        let is_distinct = ids.iter().collect::<std::collections::HashSet<_>>().len() == ids.len();
        assert_eq!(table.append(&[batch(table.schema(), &rows)]).is_ok(), is_distinct, "{ids:?}");
        assert_eq!(!table.indexes.is_known(&[0]), ids.is_sorted() && is_distinct, "{ids:?}");
        if is_distinct {
            assert!(table.append(&[batch(table.schema(), &[row(2, 1)])]).is_err());
            table.append(&[batch(table.schema(), &[row(4, 1)])]).unwrap();
        }
    }
}

fn values_of(rows: &[Row], index: usize, ty: LogicalType) -> Vector {
    Vector::from_sql_values(ty, &rows.iter().map(|r| r[index].clone()).collect::<Vec<_>>()).unwrap()
}

/// Lookups through indexes agree with looking at every row, in tables and forks that change in all ways, forks that were
/// taken before an index was built included.
#[test]
fn lookups_agree_with_reading_every_row() {
    let mut random = Random(77);
    let mut table = Table::new(schema(vec![vec![0]]), MemoryBudget::unlimited());
    table.add_secondary_index(&[1]);
    table.add_secondary_index(&[2, 1]);
    let first: Vec<Row> = (0..11_000).map(|i| row(i, random.below(1 << 30))).collect();
    table.append(&[batch(table.schema(), &first)]).unwrap();
    let mut next_id = 11_000;
    for step in 0..120 {
        let fork = table.fork();
        let rebuilt = random.below(2) == 0;
        if rebuilt {
            // The origin gets its index when the fork has changed already, or only the fork does.
            fork.append(&[batch(table.schema(), &[row(next_id, random.below(1 << 30))])]).unwrap();
            next_id += 1;
            table.find_rows(&[1], &[Value::Varchar("n1".into())]).unwrap();
        }
        let mark = fork.mark();
        for _ in 0..random.below(4) {
            let ids: Vec<i64> = rows_of(&fork.snapshot()).keys().copied().collect();
            let some: Vec<i64> = {
                let mut some: Vec<i64> =
                    (0..random.below(5)).map(|_| ids[random.below(ids.len() as u64) as usize]).collect();
                some.sort_unstable();
                some.dedup();
                some
            };
            match random.below(4) {
                0 => {
                    let rows: Vec<Row> = (0..3).map(|i| row(next_id + i, random.below(1 << 30))).collect();
                    next_id += 3;
                    fork.append(&[batch(fork.schema(), &rows)]).unwrap();
                }
                1 => drop(fork.delete(&some).unwrap()),
                2 => {
                    let rows: Vec<Row> = some.iter().map(|_| row(0, random.below(1 << 30))).collect();
                    let values = Batch::new(vec![values_of(&rows, 1, LogicalType::Varchar)], rows.len());
                    fork.update(&some, &[1], &[values]).unwrap();
                }
                _ if random.below(4) == 0 => fork.rewind(&mark),
                _ if random.below(10) == 0 => {
                    let starts: Vec<i64> =
                        fork.snapshot().row_groups().iter().map(|g| g.row_id_start()).collect();
                    fork.compact(&starts).unwrap();
                    fork.forget_changes();
                }
                _ => {}
            }
        }
        if random.below(3) > 0 {
            fork.forget_changes();
            table = fork;
        }
        if step % 4 == 0 {
            check_lookups(&table, &mut random);
        }
    }
}

fn check_lookups(table: &Table, random: &mut Random) {
    use crate::predicate::{Cmp, SegmentPredicate};
    let rows = rows_of(&table.snapshot());
    for _ in 0..5 {
        let (_, wanted) = rows.iter().nth(random.below(rows.len() as u64) as usize).unwrap();
        for columns in [vec![0], vec![1], vec![2, 1]] {
            let values: Vec<Value> = columns.iter().map(|c: &usize| wanted[*c].clone()).collect();
            let equal = |row: &Row| {
                columns.iter().all(|c| !row[*c].is_null() && row[*c].total_cmp(&wanted[*c]).is_eq())
            };
            let expected: Vec<i64> = rows.iter().filter(|(_, row)| equal(row)).map(|(id, _)| *id).collect();
            if columns == [0] && !values[0].is_null() {
                // As it is: by zone maps, or by the index.
                let snapshot = table.snapshot();
                let found = table.find_by_columns(&snapshot, &columns, &values).unwrap();
                assert_eq!(found.as_ref(), Some(&expected), "{values:?}");
                let keys = values_of(&[wanted.clone(), row(-3, 0)], 0, LogicalType::BigInt);
                assert_eq!(table.find_by_keys(&snapshot, &columns, &[keys]).unwrap(), found);
            }
            assert_eq!(table.find_rows(&columns, &values).unwrap(), Some(expected), "{columns:?} {values:?}");
        }
        let Some(low) = wanted[0].as_stored_i128() else { continue };
        let range = SegmentPredicate::Between {
            low: Value::BigInt(low as i64),
            low_inclusive: false,
            high: Value::BigInt(low as i64 + 40),
            high_inclusive: true,
        };
        let found = table.few_candidates(&table.snapshot(), &[(0, range)], &[]).unwrap().unwrap();
        let is_in = |row: &Row| row[0].as_stored_i128().is_some_and(|id| id > low && id <= low + 40);
        let expected: Vec<i64> = rows.iter().filter(|(_, row)| is_in(row)).map(|(id, _)| *id).collect();
        assert!(expected.iter().all(|id| found.contains(id)) && found.is_sorted());
        let several = [
            (2, SegmentPredicate::In(vec![wanted[2].clone(), row(0, 5)[2].clone()])),
            (1, SegmentPredicate::Compare(Cmp::Eq, wanted[1].clone())),
        ];
        if let Some(found) = table.few_candidates(&table.snapshot(), &several, &[]).unwrap() {
            let same = |row: &Row| !wanted[1].is_null() && row[1] == wanted[1] && row[2] == wanted[2];
            assert!(rows.iter().filter(|(_, row)| same(row)).all(|(id, _)| found.contains(id)));
        }
        let all = [(0, SegmentPredicate::Compare(Cmp::GtEq, Value::BigInt(-5)))];
        assert_eq!(table.few_candidates(&table.snapshot(), &all, &[]).unwrap(), None, "not few");
    }
}

#[test]
fn an_old_snapshot_is_not_looked_up_in_an_index_that_lacks_its_rows() {
    use crate::predicate::{Cmp, SegmentPredicate};
    let table = Table::new(schema(vec![]), MemoryBudget::unlimited());
    let rows: Vec<Row> = (0..12_000).map(|i| row(i * 7_919 % 12_000, i as u64)).collect();
    table.append(&[batch(table.schema(), &rows)]).unwrap();
    let before = table.snapshot();
    table.delete(&[7]).unwrap();
    table.add_secondary_index(&[0]);
    let condition = [(0, SegmentPredicate::Compare(Cmp::Eq, rows[7][0].clone()))];
    assert_eq!(table.few_candidates(&table.snapshot(), &condition, &[]).unwrap(), Some(vec![]));
    assert_eq!(table.few_candidates(&before, &condition, &[]).unwrap(), None);
}

#[test]
fn keys_that_ascend_need_no_index() {
    let table = Table::new(schema(vec![vec![0]]), MemoryBudget::unlimited());
    let rows: Vec<Row> = (0..300_000).map(|i| row(2 * i, i as u64)).collect();
    for rows in rows.chunks(50_000) {
        table.append(&[batch(table.schema(), rows)]).unwrap();
    }
    let find = |key: i64| table.find_by_key(0, &[Value::BigInt(key)]).unwrap();
    let append = |key: i64| table.append(&[batch(table.schema(), &[row(key, 1)])]);
    assert_eq!((find(0), find(131_074), find(599_998)), (Some(0), Some(65_537), Some(299_999)));
    assert_eq!((find(1), find(-2), find(600_000)), (None, None, None));
    table.delete(&[4]).unwrap();
    assert_eq!(find(8), None);
    append(8).unwrap();
    assert_eq!(find(8), Some(300_000));
    let clash = append(10).unwrap_err().to_string();
    assert!(clash.contains("(id) = (10)"), "{clash}");
    append(700_000).unwrap();
    let keys = |keys: &[i64]| Batch::new(vec![Vector::from_values(LogicalType::BigInt, keys)], keys.len());
    table.update(&[20], &[0], &[keys(&[41])]).unwrap();
    assert!(table.update(&[20], &[0], &[keys(&[42])]).is_err());
    table.update(&[20], &[0], &[keys(&[41])]).unwrap();
    assert_eq!((find(40), find(41)), (None, Some(20)));
    assert!(!table.indexes.is_known(&[0]));
    // Several at once, and not ascending: now an index says whether they are new.
    assert!(table.append(&[batch(table.schema(), &[row(5, 1), row(41, 1)])]).is_err());
    table.append(&[batch(table.schema(), &[row(7, 1), row(5, 1)])]).unwrap();
    assert!(table.indexes.is_known(&[0]));
    assert_eq!((find(41), find(5), find(8)), (Some(20), Some(300_003), Some(300_000)));
}

/// Values that grow evenly are at their places, where others with the same value may lie beside: only a key has one of each.
#[test]
fn several_values_are_found_at_their_places_if_they_are_keys() {
    use crate::predicate::SegmentPredicate;
    let wanted = |values: &[i64]| {
        let values = values.iter().map(|value| Value::BigInt(*value)).chain([Value::Null]);
        [(0, SegmentPredicate::In(values.collect()))]
    };
    let filled = |keys: Vec<Vec<usize>>, step: i64| {
        let table = Table::new(schema(keys), MemoryBudget::unlimited());
        let rows: Vec<Row> = (0..300_000).map(|i| row(i / step, i as u64)).collect();
        table.append(&[batch(table.schema(), &rows)]).unwrap();
        table
    };
    let unique = filled(vec![vec![0]], 1);
    unique.delete(&[7]).unwrap();
    let find = |table: &Table, values: &[i64]| {
        table.few_candidates(&table.snapshot(), &wanted(values), &[]).unwrap()
    };
    assert_eq!(find(&unique, &[299_999, 5, 5, 7, -1, 131_072]), Some(vec![5, 131_072, 299_999]));
    assert!(!unique.indexes.is_known(&[0]));
    let absent: Vec<i64> = (300_000..300_040).collect();
    assert_eq!(find(&unique, &absent), Some(vec![]));
    let twice = filled(vec![], 2);
    twice.add_secondary_index(&[0]);
    assert_eq!(find(&twice, &[3, 140_000]), Some(vec![6, 7, 280_000, 280_001]));
}

#[test]
fn live_rows_are_known_by_position_and_by_id() {
    let table = Table::new(schema(vec![]), MemoryBudget::unlimited());
    let rows: Vec<Row> = (0..300_000).map(|i| row(i, i as u64)).collect();
    table.append(&[batch(table.schema(), &rows)]).unwrap();
    let gone: Vec<i64> = (0..3).chain([131_071, 131_072, 200_000, 299_999]).collect();
    for deleted in [&[][..], &gone] {
        table.delete(deleted).unwrap();
        let snapshot = table.snapshot();
        let live = super::rows::LiveRows::of(&snapshot);
        let ids: Vec<i64> = (0..300_000).filter(|id| !deleted.contains(id)).collect();
        assert_eq!(live.count, ids.len());
        assert!(ids.iter().enumerate().all(|(at, id)| live.id(at) == *id && live.position(*id) == Some(at)));
        let absent = deleted.iter().chain(&[-1, 300_000]);
        assert!(absent.copied().all(|id| live.position(id).is_none()));
        let column = live.gather(&snapshot, 0, LogicalType::BigInt).unwrap();
        assert_eq!(column.len(), ids.len());
        assert!((0..ids.len()).step_by(997).all(|at| column.get(at) == Value::BigInt(ids[at])));
    }
}

#[test]
fn small_tables_get_no_index_for_a_lookup() {
    let table = Table::new(schema(vec![vec![0]]), MemoryBudget::unlimited());
    table.add_secondary_index(&[1]);
    table.append(&[batch(table.schema(), &[row(1, 1), row(2, 5)])]).unwrap();
    assert_eq!(table.find_rows(&[1], &[Value::Varchar("n1".into())]).unwrap(), None);
    assert_eq!(table.find_rows(&[2], &[row(0, 1)[2].clone()]).unwrap(), None, "nobody wants an index on it");
    assert_eq!(table.find_by_key(0, &[Value::BigInt(2)]).unwrap(), Some(1));
}

/// Keys that nobody declared are those that ascend through all row groups, whatever was deleted; other columns are not.
#[test]
fn columns_that_ascend_are_found() {
    let ascends = |table: &Table| -> Vec<bool> {
        let snapshot = table.snapshot();
        (0..table.schema().columns.len()).map(|column| snapshot.ascends(column).unwrap()).collect()
    };
    let types = [LogicalType::BigInt, LogicalType::Date, LogicalType::BigInt, LogicalType::Double];
    let columns = types.iter().enumerate().map(|(i, ty)| ColumnSchema::new(format!("c{i}"), ty.clone()));
    let table = Table::new(TableSchema::new("t", columns.collect()), MemoryBudget::unlimited());
    let add = |from: i64, rows: i64| {
        for start in (from..from + rows).step_by(VECTOR_SIZE) {
            let numbers = start..(from + rows).min(start + VECTOR_SIZE as i64);
            let column = |ty: &LogicalType, value: &dyn Fn(i64) -> Value| {
                let values: Vec<Value> = numbers.clone().map(value).collect();
                Vector::from_sql_values(ty.clone(), &values).unwrap()
            };
            let vectors = vec![
                column(&types[0], &|i| Value::BigInt(3 * i - 50_000)),
                column(&types[1], &|i| Value::Date(i as i32)),
                column(&types[2], &|i| Value::BigInt(if i == 150_000 { 149_999 } else { i })),
                column(&types[3], &|i| Value::Double(i as f64)),
            ];
            let len = vectors[0].len();
            table.append(&[Batch::new(vectors, len)]).unwrap();
        }
    };
    assert_eq!(ascends(&table), [true, true, true, true], "no row, no duplicate");
    add(0, 300_000);
    assert!(table.snapshot().row_groups().len() > 2);
    assert_eq!(ascends(&table), [true, true, false, false]);
    table.delete(&[7, 150_000]).unwrap();
    assert_eq!(ascends(&table), [true, true, false, false]);
    add(299_999, 1);
    assert_eq!(ascends(&table), [false, false, false, false], "the last row once more");
}

/// Of large values a sample has a few, and of long texts the beginnings.
#[test]
fn a_sample_of_large_values_is_small() {
    let columns = vec![ColumnSchema::new("b", LogicalType::Blob), ColumnSchema::new("j", LogicalType::Json)];
    let table = Table::new(TableSchema::new("t", columns), MemoryBudget::unlimited());
    let blobs: Vec<Value> = (0..100u8).map(|number| Value::Blob(vec![number; 100_000])).collect();
    let documents: Vec<Value> =
        (0..100).map(|number| Value::Json(format!("\"{}\"", "x".repeat(number * 1_000)))).collect();
    let blobs = Vector::from_sql_values(LogicalType::Blob, &blobs).unwrap();
    let documents = Vector::from_sql_values(LogicalType::Json, &documents).unwrap();
    table.append(&[Batch::new(vec![blobs, documents], 100)]).unwrap();
    let sample = Arc::clone(&table.statistics().unwrap().sample);
    let bytes: usize = sample.columns().iter().map(Vector::text_size).sum();
    assert!(sample.len() >= 64 && bytes <= 1 << 20, "{bytes} bytes of {} rows", sample.len());
    assert!(matches!(sample.column(0).get(0), Value::Blob(bytes) if bytes.len() == 4_096));
    assert!((0..sample.len()).any(|row| sample.column(1).is_null(row)));
    assert!((0..sample.len()).any(|row| !sample.column(1).is_null(row)));
}

/// Rows of another shape would be read as others.
#[test]
fn rows_that_do_not_fit_the_table_are_defects_not_rows() {
    let table = Table::new(schema(vec![]), MemoryBudget::unlimited());
    table.append(&[batch(table.schema(), &[row(1, 1)])]).unwrap();
    let speaks = |error: Error, what: &str| {
        assert!(matches!(&error, Error::Internal { message } if message.contains(what)), "{error}");
    };
    let ids = Vector::from_values(LogicalType::BigInt, &[7i64]);
    let narrow = table.append(&[Batch::new(vec![ids.clone()], 1)]);
    speaks(narrow.unwrap_err(), "1 columns for the 3 of table \"t\"");
    let names = Vector::nulls(LogicalType::Varchar, 1);
    let swapped = table.append(&[Batch::new(vec![names, ids.clone(), ids.clone()], 1)]);
    speaks(swapped.unwrap_err(), "VARCHAR for column \"id\" of \"t\", which is BIGINT");
    let fewer = table.update(&[0, 1], &[0], &[Batch::new(vec![ids], 1)]);
    speaks(fewer.unwrap_err(), "2 row ids for 1 rows of new values");
    let kept = rows_of(&table.snapshot());
    assert_eq!(kept.into_values().collect::<Vec<_>>(), [row(1, 1)]);
}

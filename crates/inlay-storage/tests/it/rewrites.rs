//! Changes of so many rows that row groups get new columns: beside other transactions, and after the database is opened again.

use inlay_storage::io::{Disk, SimulatedDisk};
use inlay_storage::store::{Store, StoreOptions, Transaction, TransactionOptions};
use inlay_storage::{BulkUpdate, ColumnSchema, TableSchema};
use inlay_types::{Batch, LogicalType, MemoryBudget, Value, Vector};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

const ROWS: i64 = 300_000;

/// Rows by their value of "a", which nobody changes.
type Content = BTreeMap<i64, (i64, String)>;

fn open(disk: &Arc<dyn Disk>) -> Arc<Store> {
    Store::open(disk, Path::new("/a.db"), StoreOptions::default(), MemoryBudget::unlimited()).unwrap()
}

fn bigints(values: &[i64]) -> Vector {
    Vector::from_values(LogicalType::BigInt, values)
}

fn texts(values: impl Iterator<Item = String>) -> Vector {
    let values: Vec<Value> = values.map(Value::Varchar).collect();
    Vector::from_sql_values(LogicalType::Varchar, &values).unwrap()
}

fn rows(ids: std::ops::Range<i64>) -> Batch {
    let a: Vec<i64> = ids.collect();
    let b: Vec<i64> = a.iter().map(|a| a * 3).collect();
    Batch::new(vec![bigints(&a), bigints(&b), texts(a.iter().map(|a| format!("t{}", a % 50)))], a.len())
}

fn model(ids: std::ops::Range<i64>) -> Content {
    ids.map(|a| (a, (a * 3, format!("t{}", a % 50)))).collect()
}

fn begin(store: &Arc<Store>) -> Transaction {
    store.begin(TransactionOptions::default()).unwrap()
}

fn create(store: &Arc<Store>) -> u64 {
    let column = |name: &str, ty| ColumnSchema::new(name, ty);
    let columns = vec![
        column("a", LogicalType::BigInt),
        column("b", LogicalType::BigInt),
        column("c", LogicalType::Varchar),
    ];
    let transaction = begin(store);
    let table = transaction.create_table(TableSchema::new("t", columns)).unwrap();
    table.append(&[rows(0..ROWS)]).unwrap();
    transaction.commit().unwrap();
    table.id()
}

/// Sets "b" and "c" of rows in pieces that come in an order of their own.
fn update(transaction: &Transaction, model: &mut Content, table: u64, ids: &[i64], sign: i64) {
    let own = transaction.table_to_write(table).unwrap();
    let update = BulkUpdate::new(own, vec![1, 2]);
    let pieces: Vec<&[i64]> = ids.chunks(1_000).collect();
    for piece in pieces.iter().rev() {
        let b: Vec<i64> = piece.iter().map(|id| sign * id).collect();
        let c = texts(piece.iter().map(|id| format!("new {}", id % 9 * sign)));
        update.push(piece, &[bigints(&b), c]).unwrap();
    }
    transaction.claim_rows(table, &update.rows()).unwrap();
    assert_eq!(update.commit().unwrap(), ids.len() as u64);
    for id in ids {
        model.insert(*id, (sign * id, format!("new {}", id % 9 * sign)));
    }
}

fn content(store: &Store, table: u64) -> Content {
    let snapshot = store.state().table(table).unwrap().snapshot();
    let mut found = Content::new();
    for group in snapshot.row_groups() {
        let columns: Vec<_> = (0..3).map(|column| group.segment(column).unwrap()).collect();
        for row in (0..group.len()).filter(|row| !group.is_deleted(*row)) {
            let values: Vec<Value> = columns.iter().map(|column| column.get(row)).collect();
            let [Value::BigInt(a), Value::BigInt(b), Value::Varchar(c)] = &values[..] else { unreachable!() };
            assert!(found.insert(*a, (*b, c.to_string())).is_none(), "{a} twice");
        }
    }
    found
}

/// The content is the model's now, after the log was replayed, and after a checkpoint.
fn check(disk: &Arc<dyn Disk>, store: Arc<Store>, table: u64, model: &Content) {
    let same = |store: &Store, when: &str| {
        assert!(content(store, table) == *model, "another content {when}");
        assert_eq!(store.verify().unwrap(), Vec::<String>::new(), "{when}");
    };
    same(&store, "at once");
    drop(store);
    let store = open(disk);
    same(&store, "after the log was replayed");
    store.checkpoint().unwrap();
    same(&store, "after a checkpoint");
    drop(store);
    same(&open(disk), "from the file");
}

fn disk() -> Arc<dyn Disk> {
    simulated().1
}

fn simulated() -> (Arc<SimulatedDisk>, Arc<dyn Disk>) {
    let disk = Arc::new(SimulatedDisk::new(1));
    (Arc::clone(&disk), disk)
}

fn log_size(disk: &SimulatedDisk) -> usize {
    disk.file(Path::new("/a.db.wal")).unwrap().len()
}

#[test]
fn new_columns_are_what_was_written_whatever_the_order_of_the_rows() {
    for ids in [
        (0..ROWS).collect::<Vec<i64>>(),
        (0..ROWS).filter(|id| id % 3 == 0).collect(),
        // A few rows here, many there.
        (0..ROWS).filter(|id| *id < 90_000 && id % 2 == 0 || id % 1_000 == 7).collect(),
        (140_000..150_000).collect(),
        (0..40).collect(),
    ] {
        let (simulated, disk) = simulated();
        let store = open(&disk);
        let table = create(&store);
        store.checkpoint().unwrap();
        let mut model = model(0..ROWS);
        let transaction = begin(&store);
        update(&transaction, &mut model, table, &ids, -1);
        transaction.commit().unwrap();
        let logged = log_size(&simulated);
        assert!(logged < 500_000, "{logged} bytes of log for {} rows", ids.len());
        drop(transaction);
        check(&disk, store, table, &model);
    }
}

#[test]
fn many_deleted_rows_take_a_bit_each_of_the_log() {
    let (simulated, disk) = simulated();
    let store = open(&disk);
    let table = create(&store);
    store.checkpoint().unwrap();
    let ids: Vec<i64> = (0..ROWS).filter(|id| id % 4 > 0).collect();
    let transaction = begin(&store);
    assert_eq!(transaction.table_to_write(table).unwrap().delete(&ids).unwrap(), ids.len() as u64);
    transaction.commit().unwrap();
    assert!(log_size(&simulated) < 200_000, "{} bytes", log_size(&simulated));
    drop(transaction);
    let mut model = model(0..ROWS);
    model.retain(|id, _| id % 4 == 0);
    check(&disk, store, table, &model);
}

/// Both orders of two transactions that change different rows of the same row groups.
#[test]
fn others_that_change_other_rows_of_the_row_groups_are_kept() {
    let odds: Vec<i64> = (0..ROWS).filter(|id| id % 2 == 1).collect();
    let evens: Vec<i64> = (0..ROWS).filter(|id| id % 8 == 0).collect();
    for few in [false, true] {
        for first_commits_first in [false, true] {
            let disk = disk();
            let store = open(&disk);
            let table = create(&store);
            store.checkpoint().unwrap();
            let mut model = model(0..ROWS);
            let (first, second) = (begin(&store), begin(&store));
            update(&first, &mut model, table, &odds, -1);
            let others = if few { &evens[..10] } else { &evens };
            update(&second, &mut model, table, others, -2);
            let inserted = if few { ROWS..ROWS + 3 } else { ROWS..ROWS + 9_000 };
            second.table_to_write(table).unwrap().append(&[rows(inserted.clone())]).unwrap();
            model.extend(self::model(inserted));
            let order = if first_commits_first { [&first, &second] } else { [&second, &first] };
            order.iter().for_each(|transaction| transaction.commit().unwrap());
            drop((first, second));
            check(&disk, store, table, &model);
        }
    }
}

/// Rows of the transaction itself get other ids when others have added rows meanwhile, and some share a row group with older ones.
#[test]
fn rows_that_were_added_before_move_with_their_new_columns() {
    for open_tail in [0, 6_000] {
        let disk = disk();
        let store = open(&disk);
        let table = create(&store);
        let before = begin(&store);
        before.table_to_write(table).unwrap().append(&[rows(ROWS..ROWS + open_tail)]).unwrap();
        before.commit().unwrap();
        drop(before);
        store.checkpoint().unwrap();
        let end = ROWS + open_tail;
        let mut model = model(0..end + 25_000);

        let (first, second) = (begin(&store), begin(&store));
        first.table_to_write(table).unwrap().append(&[rows(end..end + 20_000)]).unwrap();
        second.table_to_write(table).unwrap().append(&[rows(end + 20_000..end + 25_000)]).unwrap();
        let ids: Vec<i64> = (200_000..end + 20_000).filter(|id| id % 5 > 0).collect();
        update(&first, &mut model, table, &ids, -3);
        second.commit().unwrap();
        first.commit().unwrap();
        drop((first, second));
        check(&disk, store, table, &model);
    }
}

/// What is rolled back leaves the file as it was, and who changes the same rows fails.
#[test]
fn undone_and_refused_updates_leave_nothing() {
    let disk = disk();
    let store = open(&disk);
    let table = create(&store);
    store.checkpoint().unwrap();
    let mut model = model(0..ROWS);
    let ids: Vec<i64> = (0..ROWS).collect();
    let transaction = begin(&store);
    transaction.savepoint("here");
    update(&transaction, &mut model.clone(), table, &ids, -1);
    transaction.rollback_to("here").unwrap();
    update(&transaction, &mut model, table, &ids[..200_000], -2);

    let other = begin(&store);
    let own = other.table_to_write(table).unwrap();
    let late = BulkUpdate::new(own, vec![1]);
    late.push(&[199_999], &[bigints(&[0])]).unwrap();
    assert_eq!(other.claim_rows(table, &late.rows()).unwrap_err().sqlstate(), "40001");
    drop((late, other));
    transaction.commit().unwrap();
    drop(transaction);
    check(&disk, store, table, &model);
}

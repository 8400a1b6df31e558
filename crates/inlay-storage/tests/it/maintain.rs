//! Compaction, verification, copies and rescue of databases on a simulated disk.

use inlay_storage::file::{BLOCK_SIZE, ObjectKind, salvage};
use inlay_storage::io::{Disk, SimulatedDisk};
use inlay_storage::store::{Store, StoreOptions, TransactionOptions};
use inlay_storage::{ColumnSchema, TableSchema};
use inlay_types::{Batch, LogicalType, MemoryBudget, Result, Value, Vector};
use std::path::Path;
use std::sync::Arc;

const PATH: &str = "/a.db";

fn open_with(disk: &Arc<dyn Disk>, path: &str, options: StoreOptions) -> Result<Arc<Store>> {
    Store::open(disk, Path::new(path), options, MemoryBudget::unlimited())
}

fn open(disk: &Arc<dyn Disk>, path: &str) -> Arc<Store> {
    open_with(disk, path, StoreOptions::default()).unwrap()
}

fn schema(name: &str) -> TableSchema {
    let column = |name: &str| ColumnSchema::new(name, LogicalType::BigInt);
    TableSchema::new(name, vec![column("a"), column("b")])
}

/// Numbers that no encoding makes small.
fn scrambled(seed: i64, from: i64, count: usize) -> Batch {
    let value = |i: i64| (i + seed).wrapping_mul(0x9E37_79B9_7F4A_7C15_u64 as i64).rotate_left(17);
    let a: Vec<i64> = (from..from + count as i64).collect();
    let b: Vec<i64> = a.iter().map(|i| value(*i)).collect();
    let column = |values: &[i64]| Vector::from_values(LogicalType::BigInt, values);
    Batch::new(vec![column(&a), column(&b)], count)
}

fn create(store: &Arc<Store>, name: &str, rows: usize) -> u64 {
    let transaction = store.begin(TransactionOptions::default()).unwrap();
    let table = transaction.create_table(schema(name)).unwrap();
    for from in (0..rows).step_by(100_000) {
        table.append(&[scrambled(0, from as i64, 100_000.min(rows - from))]).unwrap();
    }
    transaction.commit().unwrap();
    table.id()
}

fn delete(store: &Arc<Store>, table: u64, ids: &[i64]) {
    let transaction = store.begin(TransactionOptions::default()).unwrap();
    transaction.table_to_write(table).unwrap().delete(ids).unwrap();
    transaction.commit().unwrap();
}

/// Values of column "a".
fn values(store: &Store, table: u64) -> Vec<i64> {
    let snapshot = store.state().table(table).unwrap().snapshot();
    let mut found = Vec::new();
    for group in snapshot.row_groups() {
        let segment = group.segment(0).unwrap();
        for row in (0..group.len()).filter(|row| !group.is_deleted(*row)) {
            match segment.get(row) {
                Value::BigInt(value) => found.push(value),
                other => unreachable!("{other}"),
            }
        }
    }
    found
}

fn blocks(disk: &SimulatedDisk, path: &str) -> u64 {
    disk.file(Path::new(path)).unwrap().len() as u64 / BLOCK_SIZE
}

fn simulated() -> (Arc<SimulatedDisk>, Arc<dyn Disk>) {
    let disk = Arc::new(SimulatedDisk::new(1));
    (Arc::clone(&disk), disk)
}

#[test]
fn deleting_half_of_the_rows_gives_almost_half_of_the_file_back() {
    let (simulated, disk) = simulated();
    let store = open(&disk, PATH);
    let table = create(&store, "t", 300_000);
    store.checkpoint().unwrap();
    let before = blocks(&simulated, PATH);
    delete(&store, table, &(0..300_000).filter(|id| id % 2 == 1).collect::<Vec<i64>>());
    store.checkpoint().unwrap();
    let after = blocks(&simulated, PATH);
    assert!(after * 10 <= before * 6, "{before} blocks became {after}");
    let expected: Vec<i64> = (0..300_000).step_by(2).collect();
    assert_eq!(values(&store, table), expected);
    assert_eq!(store.verify().unwrap(), Vec::<String>::new());
    drop(store);
    let store = open(&disk, PATH);
    assert_eq!(values(&store, table), expected);
    assert_eq!(store.verify().unwrap(), Vec::<String>::new());
}

#[test]
fn updating_every_row_again_and_again_does_not_let_the_file_grow() {
    let (simulated, disk) = simulated();
    let store = open(&disk, PATH);
    let table = create(&store, "t", 150_000);
    store.checkpoint().unwrap();
    let fresh = blocks(&simulated, PATH);
    let ids: Vec<i64> = (0..150_000).collect();
    for round in 0..5 {
        let transaction = store.begin(TransactionOptions::default()).unwrap();
        let values = scrambled(round, 0, ids.len());
        let values = Batch::new(vec![values.column(1).clone()], ids.len());
        transaction.table_to_write(table).unwrap().update(&ids, &[1], &[values]).unwrap();
        transaction.commit().unwrap();
        drop(transaction);
        store.checkpoint().unwrap();
    }
    let after = blocks(&simulated, PATH);
    assert!(after <= fresh * 2, "{fresh} blocks became {after}");
    assert_eq!(store.verify().unwrap(), Vec::<String>::new());
}

#[test]
fn compaction_leaves_tables_alone_that_a_transaction_changes() {
    let (_, disk) = simulated();
    let store = open(&disk, PATH);
    let table = create(&store, "t", 1000);
    let open_transaction = store.begin(TransactionOptions::default()).unwrap();
    open_transaction.table_to_write(table).unwrap().append(&[scrambled(0, 5000, 1)]).unwrap();
    delete(&store, table, &(0..900).collect::<Vec<i64>>());
    store.compact(true).unwrap();
    let rows = |store: &Store| store.state().table(table).unwrap().snapshot().total_rows();
    assert_eq!(rows(&store), 1000);
    open_transaction.commit().unwrap();
    store.compact(true).unwrap();
    assert_eq!(rows(&store), 101);
}

#[test]
fn a_compaction_is_replayed_from_the_log_with_what_came_after_it() {
    let (simulated, disk) = simulated();
    let store = open(&disk, PATH);
    let table = create(&store, "t", 200_000);
    delete(&store, table, &(0..150_000).collect::<Vec<i64>>());
    store.compact(false).unwrap();
    let snapshot = store.state().table(table).unwrap().snapshot();
    assert_eq!(snapshot.total_rows(), 50_000);
    let first = snapshot.row_groups()[0].row_id_start();
    delete(&store, table, &[first, first + 1]);
    let expected: Vec<i64> = (150_002..200_000).collect();
    assert_eq!(values(&store, table), expected);
    let files = simulated.snapshot();
    let copy: Arc<dyn Disk> = Arc::new(SimulatedDisk::with_files(files, 2));
    assert_eq!(values(&open(&copy, PATH), table), expected);
}

#[test]
fn power_may_fail_at_any_moment_of_a_vacuum() {
    let run = |cut: Option<usize>| -> (Arc<SimulatedDisk>, usize, usize) {
        let (simulated, disk) = simulated();
        let store = open(&disk, PATH);
        let tables: Vec<u64> = (0..4).map(|i| create(&store, &format!("t{i}"), 3000)).collect();
        store.checkpoint().unwrap();
        delete(&store, tables[0], &(0..3000).collect::<Vec<i64>>());
        delete(&store, tables[2], &(0..1500).map(|i| 2 * i).collect::<Vec<i64>>());
        let from = simulated.calls();
        if let Some(cut) = cut {
            simulated.cut_power_at(cut);
        }
        let _ = store.vacuum();
        let to = simulated.calls();
        (simulated, from, to)
    };
    let (_, from, to) = run(None);
    for cut in from..to {
        let (cut_disk, ..) = run(Some(cut));
        let disk: Arc<dyn Disk> = Arc::new(cut_disk.after_power_cut(cut as u64));
        let store = open(&disk, PATH);
        let state = store.state();
        let table = |name: &str| state.relation(name).unwrap().id();
        assert_eq!(values(&store, table("t0")), Vec::<i64>::new(), "cut at {cut}");
        assert_eq!(values(&store, table("t1")), (0..3000).collect::<Vec<i64>>(), "cut at {cut}");
        assert_eq!(values(&store, table("t2")), (0..1500).map(|i| 2 * i + 1).collect::<Vec<i64>>());
        assert_eq!(store.verify().unwrap(), Vec::<String>::new(), "cut at {cut}");
    }
}

#[test]
fn readers_keep_what_they_see_while_the_file_is_packed() {
    let (_, disk) = simulated();
    let store = open(&disk, PATH);
    let first = create(&store, "first", 100_000);
    let second = create(&store, "second", 100_000);
    drop(store);
    let store = open(&disk, PATH);
    let reader = store.begin(TransactionOptions::default()).unwrap();
    let transaction = store.begin(TransactionOptions::default()).unwrap();
    transaction.drop_object(first).unwrap();
    transaction.commit().unwrap();
    store.vacuum().unwrap();
    store.vacuum().unwrap();
    assert_eq!(reader.state().table(first).unwrap().snapshot().row_count(), 100_000);
    let segment = reader.state().table(first).unwrap().snapshot().row_groups()[0].segment(1).unwrap();
    assert_eq!(segment.len(), 100_000);
    assert_eq!(values(&store, second), (0..100_000).collect::<Vec<i64>>());
    assert_eq!(store.verify().unwrap(), Vec::<String>::new());
}

/// The first block of a segment of a table.
fn segment_block(disk: &Arc<dyn Disk>, table: u64) -> u64 {
    let mut found = Vec::new();
    salvage(&**disk, Path::new(PATH), &mut |object| {
        if object.kind == ObjectKind::Segment && object.owner == table {
            found.push(object.ptr.block);
        }
        Ok(())
    })
    .unwrap();
    found[0]
}

fn flip(disk: &SimulatedDisk, offset: u64) {
    let mut bytes = disk.file(Path::new(PATH)).unwrap();
    bytes[offset as usize] ^= 0x40;
    disk.set_file(Path::new(PATH), bytes);
}

#[test]
fn a_damaged_segment_is_named_and_the_rest_is_recovered() {
    let (simulated, disk) = simulated();
    let store = open(&disk, PATH);
    let broken = create(&store, "broken", 200_000);
    let whole = create(&store, "whole", 5000);
    drop(store);
    flip(&simulated, segment_block(&disk, broken) * BLOCK_SIZE + 1000);
    let store = open(&disk, PATH);
    let problems = store.verify().unwrap();
    assert_eq!(problems.len(), 1, "{problems:?}");
    for part in ["\"broken\"", "column \"", "block ", PATH] {
        assert!(problems[0].contains(part), "{part} in {problems:?}");
    }
    drop(store);
    let report = Store::recover(&disk, Path::new(PATH), Path::new("/new.db")).unwrap();
    assert!(!report.is_complete());
    let lost = report.objects.iter().find(|object| object.object == "table \"broken\"").unwrap();
    assert!(lost.lost.contains("rows in 1 row groups"), "{lost:?}");
    let recovered = open(&disk, "/new.db");
    assert_eq!(recovered.verify().unwrap(), Vec::<String>::new());
    assert_eq!(values(&recovered, whole), (0..5000).collect::<Vec<i64>>());
    assert!([68_928, 131_072].contains(&values(&recovered, broken).len()));
}

#[test]
fn without_headers_and_catalog_tables_are_found_by_their_frames() {
    let (simulated, disk) = simulated();
    let store = open(&disk, PATH);
    let table = create(&store, "t", 5000);
    drop(store);
    let mut bytes = simulated.file(Path::new(PATH)).unwrap();
    bytes[..2 * BLOCK_SIZE as usize].fill(0x55);
    simulated.set_file(Path::new(PATH), bytes);
    assert!(open_with(&disk, PATH, StoreOptions::default()).is_err());
    let report = Store::recover(&disk, Path::new(PATH), Path::new("/new.db")).unwrap();
    assert!(!report.is_complete());
    assert_eq!(values(&open(&disk, "/new.db"), table), (0..5000).collect::<Vec<i64>>());
}

#[test]
fn a_log_is_recovered_with_its_file() {
    let (simulated, disk) = simulated();
    let store = open(&disk, PATH);
    let table = create(&store, "t", 5000);
    store.checkpoint().unwrap();
    delete(&store, table, &[0, 1, 2]);
    let copy: Arc<dyn Disk> = Arc::new(SimulatedDisk::with_files(simulated.snapshot(), 2));
    let report = Store::recover(&copy, Path::new(PATH), Path::new("/new.db")).unwrap();
    assert!(report.is_complete(), "{report:?}");
    assert_eq!(values(&open(&copy, "/new.db"), table), (3..5000).collect::<Vec<i64>>());
}

#[test]
fn a_backup_is_the_committed_state_and_a_database_of_its_own() {
    let (_, disk) = simulated();
    let store = open(&disk, PATH);
    let table = create(&store, "t", 150_000);
    store.checkpoint().unwrap();
    delete(&store, table, &[5]);
    let pending = store.begin(TransactionOptions::default()).unwrap();
    pending.table_to_write(table).unwrap().delete(&[6]).unwrap();
    store.backup(&disk, Path::new("/backup.db")).unwrap();
    let error = store.backup(&disk, Path::new("/backup.db")).unwrap_err();
    assert!(error.to_string().contains("exists already"), "{error}");
    pending.commit().unwrap();
    let copy = open(&disk, "/backup.db");
    let expected: Vec<i64> = (0..150_000).filter(|id| *id != 5).collect();
    assert_eq!(values(&copy, table), expected);
    assert_eq!(copy.verify().unwrap(), Vec::<String>::new());
    delete(&copy, table, &[7]);
    drop(copy);
    assert_eq!(values(&open(&disk, "/backup.db"), table).len(), 149_998);
    assert_eq!(values(&store, table).len(), 149_998);
}

//! The rows of each value in the file: written by checkpoints, read instead of made, moved, given up, made anew where they are damaged.

use super::tests::{change, check_space, disk, open, with_database};
use super::*;
use crate::io::{Disk, Fault, OpenMode, SimulatedDisk};
use crate::predicate::{Cmp, SegmentPredicate};
use crate::row_group::{ROW_GROUP_SIZE, RowGroup};
use crate::schema::{ColumnSchema, TableSchema};
use crate::store::{IndexDefinition, IndexKind};
use inlay_types::{Batch, LogicalType, Value, Vector};
use std::path::Path;

const KINDS: i64 = 50;
const ROWS: i64 = ROW_GROUP_SIZE as i64 + 10;

fn rows(ids: std::ops::Range<i64>) -> Batch {
    let ids: Vec<i64> = ids.collect();
    let kinds: Vec<i64> = ids.iter().map(|id| id * 7919 % 131_071 % KINDS).collect();
    let columns = [&ids, &kinds].map(|values| Vector::from_values(LogicalType::BigInt, values));
    Batch::new(columns.to_vec(), ids.len())
}

/// A committed table of a full row group and a few rows, with an index by value on its kinds. Returns table and index.
fn create(store: &Arc<Store>, name: &str) -> (ObjectId, ObjectId) {
    let columns = ["id", "kind"].map(|name| ColumnSchema::new(name, LogicalType::BigInt)).to_vec();
    let transaction = store.begin(Default::default()).unwrap();
    let table = transaction.create_table(TableSchema::new(name, columns)).unwrap();
    table.append(&[rows(0..ROWS)]).unwrap();
    let id = transaction.take_id();
    let index = IndexDefinition {
        id,
        name: format!("{name}_sets"),
        table: table.id(),
        columns: vec![1],
        unique: false,
        kind: IndexKind::Bitmap,
    };
    transaction.put(Object::Index(Arc::new(index))).unwrap();
    transaction.commit().unwrap();
    (table.id(), id)
}

fn first_group(store: &Store, table: ObjectId) -> Arc<RowGroup> {
    Arc::clone(&store.state().table(table).unwrap().snapshot().row_groups()[0])
}

/// How many rows have a kind, as the sets say; `None` if there are none.
fn counted(store: &Store, table: ObjectId, kind: i64) -> Option<u32> {
    let table = store.state().table(table).unwrap();
    let sets = table.value_sets_or_ask(&table.snapshot().row_groups()[0], 1).unwrap()?;
    let predicate = SegmentPredicate::Compare(Cmp::Eq, Value::BigInt(kind));
    Some(sets.chosen(&predicate).unwrap().count())
}

fn expected(kind: i64) -> u32 {
    (0..ROW_GROUP_SIZE as i64).filter(|id| id * 7919 % 131_071 % KINDS == kind).count() as u32
}

fn place(store: &Store, table: ObjectId) -> Option<ObjectPtr> {
    first_group(store, table).column(1).sets_in_file().map(|stored| stored.ptr())
}

#[test]
fn sets_are_written_once_and_read_instead_of_made() {
    let disk = disk();
    let store = open(&disk);
    let (table, index) = create(&store, "t");
    assert_eq!(place(&store, table), None);
    store.checkpoint().unwrap();
    check_space(&store);
    let written = place(&store, table);
    assert!(written.is_some());
    assert_eq!(store.verify().unwrap(), Vec::<String>::new());
    drop(store);

    let store = open(&disk);
    assert_eq!(place(&store, table), written);
    assert_eq!(counted(&store, table, 7), Some(expected(7)), "at the first look");
    assert!(first_group(&store, table).column(1).is_absent(), "the column was not read");
    // Rows that are added leave the sets of a full row group where they are.
    change(&store, |transaction| {
        transaction.table_to_write(table).unwrap().append(&[rows(ROWS..ROWS + 5)]).unwrap();
    });
    store.checkpoint().unwrap();
    check_space(&store);
    assert_eq!(place(&store, table), written);
    assert_eq!(store.home().unwrap().file().format(), FORMAT_VERSION_BITMAP);

    change(&store, |transaction| transaction.drop_object(index).unwrap());
    store.checkpoint().unwrap();
    assert_eq!(place(&store, table), None);
    check_space(&store);
    assert_eq!(store.verify().unwrap(), Vec::<String>::new());
    drop(store);
    let store = open(&disk);
    assert_eq!(place(&store, table), None);
    check_space(&store);
}

#[test]
fn sets_go_with_their_table() {
    let disk = disk();
    let store = open(&disk);
    let (table, _) = create(&store, "t");
    store.checkpoint().unwrap();
    assert!(place(&store, table).is_some());
    change(&store, |transaction| transaction.drop_object(table).unwrap());
    store.checkpoint().unwrap();
    check_space(&store);
    assert_eq!(store.verify().unwrap(), Vec::<String>::new());
}

#[test]
fn damaged_sets_are_told_and_made_anew() {
    let disk = disk();
    let store = open(&disk);
    let (table, _) = create(&store, "t");
    store.checkpoint().unwrap();
    let ptr = place(&store, table).unwrap();
    drop(store);
    let file = disk.open(Path::new("t.db"), OpenMode::ReadWrite).unwrap();
    file.write_at(&[0xA5; 8], ptr.block * 4096 + 100).unwrap();
    drop(file);

    let store = open(&disk);
    let problems = store.verify().unwrap();
    assert!(problems.len() == 1 && problems[0].contains("column \"kind\""), "{problems:?}");
    for _ in 0..3 {
        let found = counted(&store, table, 7);
        assert!(found.is_none_or(|found| found == expected(7)));
    }
    assert_eq!(counted(&store, table, 7), Some(expected(7)));
    store.checkpoint().unwrap();
    check_space(&store);
    assert_eq!(store.verify().unwrap(), Vec::<String>::new());
    drop(store);
    let store = open(&disk);
    assert_eq!(counted(&store, table, 7), Some(expected(7)));
}

#[test]
fn a_full_disk_at_any_write_of_a_checkpoint_leaves_sets_right() {
    let mut failed = 0;
    for calls_before in 0..24 {
        let simulated = SimulatedDisk::new(1);
        let disk = with_database(simulated.clone());
        let store = open(&disk);
        let (table, index) = create(&store, "t");
        store.checkpoint().unwrap();
        let (other, _) = create(&store, "other");
        if calls_before % 2 == 0 {
            change(&store, |transaction| transaction.drop_object(index).unwrap());
        }
        simulated.fail_from(simulated.calls() + calls_before, Fault::NoSpace);
        failed += u32::from(store.checkpoint().is_err());
        simulated.repair();
        // Where it is the header that failed, nothing is committed any more until the file is opened again.
        if store.checkpoint().is_ok() {
            assert_eq!(store.verify().unwrap(), Vec::<String>::new(), "{calls_before}");
            check_space(&store);
        }
        drop(store);
        let store = open(&disk);
        for _ in 0..3 {
            let found = counted(&store, other, 7);
            assert!(found.is_none_or(|found| found == expected(7)));
        }
        assert_eq!(store.verify().unwrap(), Vec::<String>::new(), "{calls_before}");
        // The log may have been all that knew of the index.
        store.checkpoint().unwrap();
        assert_eq!(place(&store, table).is_none(), calls_before % 2 == 0);
        assert_eq!(store.verify().unwrap(), Vec::<String>::new(), "{calls_before}");
        check_space(&store);
    }
    assert!(failed > 5, "{failed}");
}

#[test]
fn a_power_cut_at_any_moment_of_a_checkpoint_leaves_sets_right() {
    for calls_before in 0..24u64 {
        let simulated = SimulatedDisk::new(calls_before);
        let disk = with_database(simulated.clone());
        let store = open(&disk);
        let (table, index) = create(&store, "t");
        store.checkpoint().unwrap();
        if calls_before % 3 == 0 {
            change(&store, |transaction| transaction.drop_object(index).unwrap());
        }
        create(&store, "other");
        simulated.cut_power_at(simulated.calls() + calls_before as usize);
        drop(store.checkpoint());
        drop(store);
        let disk: Arc<dyn Disk> = Arc::new(simulated.after_power_cut(calls_before));
        let store = open(&disk);
        assert_eq!(store.verify().unwrap(), Vec::<String>::new(), "{calls_before}");
        for _ in 0..3 {
            let found = counted(&store, table, 7);
            assert!(found.is_none_or(|found| found == expected(7)));
        }
        store.checkpoint().unwrap();
        check_space(&store);
    }
}

#[test]
fn vacuum_moves_sets() {
    let disk = disk();
    let store = open(&disk);
    let (filler, _) = create(&store, "filler");
    store.checkpoint().unwrap();
    let (table, _) = create(&store, "t");
    store.checkpoint().unwrap();
    let before = place(&store, table).unwrap();
    change(&store, |transaction| transaction.drop_object(filler).unwrap());
    store.vacuum().unwrap();
    check_space(&store);
    let after = place(&store, table).unwrap();
    assert!(after.block < before.block, "{before:?} {after:?}");
    assert_eq!(store.verify().unwrap(), Vec::<String>::new());
    drop(store);
    let store = open(&disk);
    assert_eq!(place(&store, table), Some(after));
    assert_eq!(counted(&store, table, 7), Some(expected(7)));
}

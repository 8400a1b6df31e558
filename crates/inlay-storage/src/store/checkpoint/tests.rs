//! Indexes in the file: what checkpoints write of them, and what is there after the database was opened again.

use super::*;
use crate::file::BlockFile;
use crate::io::{Disk, Fault, MemoryDisk, OpenMode, SimulatedDisk};
use crate::schema::{ColumnSchema, TableSchema};
use crate::store::{IndexDefinition, IndexKind, StoreOptions, Transaction};
use crate::table::{Alteration, ColumnSource};
use inlay_types::limits::{self, Limits};
use inlay_types::{Batch, Interrupt, LogicalType, MemoryBudget, Value, Vector};
use std::path::Path;
use std::sync::atomic::{AtomicIsize, Ordering};

const ROWS: i64 = 12_000;

/// A disk with an empty database.
pub(super) fn disk() -> Arc<dyn Disk> {
    with_database(MemoryDisk::new())
}

pub(super) fn with_database(disk: impl Disk + 'static) -> Arc<dyn Disk> {
    drop(BlockFile::create(&disk, Path::new("t.db")).unwrap());
    Arc::new(disk)
}

pub(super) fn open(disk: &Arc<dyn Disk>) -> Arc<Store> {
    Store::open(disk, Path::new("t.db"), StoreOptions::default(), MemoryBudget::unlimited()).unwrap()
}

/// Ids, and what they are looked up by besides: 100 ids have one group.
fn rows(ids: impl Iterator<Item = i64>) -> Batch {
    let ids: Vec<i64> = ids.collect();
    let groups: Vec<i64> = ids.iter().map(|id| id / 100).collect();
    let columns = [&ids, &groups].map(|values| Vector::from_values(LogicalType::BigInt, values));
    Batch::new(columns.to_vec(), ids.len())
}

/// A committed table of ids in no order, with an index on its groups.
fn create(store: &Arc<Store>) -> ObjectId {
    let columns = ["id", "team"].map(|name| ColumnSchema::new(name, LogicalType::BigInt)).to_vec();
    let mut schema = TableSchema::new("t", columns);
    schema.keys = vec![vec![0]];
    let transaction = store.begin(Default::default()).unwrap();
    let table = transaction.create_table(schema).unwrap();
    table.append(&[rows((0..ROWS).map(|i| i * 7919 % ROWS))]).unwrap();
    let id = transaction.take_id();
    let index = IndexDefinition {
        id,
        name: "i".into(),
        table: table.id(),
        columns: vec![1],
        unique: false,
        kind: IndexKind::Art,
    };
    transaction.put(Object::Index(Arc::new(index))).unwrap();
    transaction.commit().unwrap();
    table.id()
}

pub(super) fn change(store: &Arc<Store>, work: impl FnOnce(&Transaction)) {
    let transaction = store.begin(Default::default()).unwrap();
    work(&transaction);
    transaction.commit().unwrap();
}

fn find(store: &Store, table: ObjectId, column: usize, value: i64) -> Option<Vec<i64>> {
    let table = store.state().table(table).unwrap();
    table.find_rows(&[column], &[Value::BigInt(value)]).unwrap()
}

/// Every block of the file is reached or free, and none both.
pub(super) fn check_space(store: &Store) {
    let mut reached = store.index_pages().unwrap();
    let done = store.checkpointed.lock();
    reached.extend(done.catalog.iter().map(|catalog| catalog.ptr));
    for in_file in done.tables.values() {
        reached.extend(in_file.objects(store.home().unwrap()).unwrap().iter().map(|object| object.ptr));
    }
    let problems = store.home().unwrap().file().verify_space(&reached);
    assert!(problems.is_empty(), "{problems:?}");
}

#[test]
fn indexes_are_found_again_and_only_changed_pages_are_written() {
    let disk = disk();
    let store = open(&disk);
    let table = create(&store);
    let team: Vec<i64> = find(&store, table, 1, 5).unwrap();
    assert_eq!(team.len(), 100);
    store.checkpoint().unwrap();
    check_space(&store);
    let first: HashSet<ObjectPtr> = store.index_pages().unwrap().into_iter().collect();
    assert!(first.len() > 50, "{} pages", first.len());
    drop(store);

    let store = open(&disk);
    let handles = store.state().table(table).unwrap().index_handles();
    assert_eq!(handles.len(), 2);
    assert!(handles.iter().all(|handle| handle.opened().is_none()), "nothing is read before it is needed");
    drop(handles);
    assert_eq!(find(&store, table, 1, 5), Some(team));
    assert_eq!(find(&store, table, 0, 17).unwrap().len(), 1);
    change(&store, |transaction| {
        let table = transaction.table_to_write(table).unwrap();
        assert!(table.append(&[rows(std::iter::once(17))]).is_err(), "the key is taken");
        table.append(&[rows(ROWS..ROWS + 3)]).unwrap();
    });
    store.checkpoint().unwrap();
    check_space(&store);
    let second: HashSet<ObjectPtr> = store.index_pages().unwrap().into_iter().collect();
    let written = second.difference(&first).count();
    assert!((1..=10).contains(&written), "{written} pages written");
    drop(store);

    let store = open(&disk);
    assert_eq!(find(&store, table, 1, ROWS / 100).unwrap().len(), 3);
    change(&store, |transaction| transaction.drop_object(table).unwrap());
    store.checkpoint().unwrap();
    assert!(store.index_pages().unwrap().is_empty());
    check_space(&store);
}

#[test]
fn rows_of_the_log_are_entered_when_a_database_is_opened_again() {
    let disk = disk();
    let store = open(&disk);
    let table = create(&store);
    find(&store, table, 1, 5).unwrap();
    store.checkpoint().unwrap();
    change(&store, |transaction| {
        let table = transaction.table_to_write(table).unwrap();
        table.append(&[rows(ROWS..ROWS + 3)]).unwrap();
        let gone = table.find_rows(&[1], &[Value::BigInt(5)]).unwrap().unwrap();
        table.delete(&gone[..40]).unwrap();
    });
    // The process dies: no checkpoint.
    store.fail(&Error::internal("the end"));
    drop(store);
    let store = open(&disk);
    assert_eq!(find(&store, table, 1, ROWS / 100).unwrap().len(), 3);
    assert_eq!(find(&store, table, 1, 5).unwrap().len(), 60);
}

#[test]
fn stale_entries_go_when_nobody_needs_them() {
    let disk = disk();
    let store = open(&disk);
    let table = create(&store);
    store.checkpoint().unwrap();
    let reader = store.begin(Default::default()).unwrap();
    let old = reader.state().table(table).unwrap();
    change(&store, |transaction| {
        let table = transaction.table_to_write(table).unwrap();
        // Rows stay where they are, so that the index does.
        let ids: Vec<i64> = (0..ROWS).collect();
        for round in 1..3 {
            let keys: Vec<i64> = ids.iter().map(|id| (round + 1) * ROWS - 1 - id).collect();
            let keys = Vector::from_values(LogicalType::BigInt, &keys);
            table.update(&ids, &[0], &[Batch::new(vec![keys], ids.len())]).unwrap();
        }
    });
    let entries = || store.state().table(table).unwrap().index_handles()[0].index().unwrap().len();
    store.checkpoint().unwrap();
    assert_eq!(entries(), 3 * ROWS as u64, "a transaction may look for them");
    assert_eq!(old.find_rows(&[0], &[Value::BigInt(17)]).unwrap().map(|ids| ids.len()), Some(1));
    drop((old, reader));
    change(&store, |transaction| {
        let table = transaction.table_to_write(table).unwrap();
        table.append(&[rows(std::iter::once(ROWS))]).unwrap();
    });
    store.checkpoint().unwrap();
    assert_eq!(entries(), ROWS as u64 + 1);
    change(&store, |transaction| {
        let table = transaction.table_to_write(table).unwrap();
        table.append(&[rows(std::iter::once(ROWS + 1))]).unwrap();
    });
    store.checkpoint().unwrap();
    check_space(&store);
    drop(store);
    let store = open(&disk);
    assert_eq!(find(&store, table, 0, ROWS).unwrap().len(), 1);
    check_space(&store);
}

#[test]
fn a_full_disk_at_any_write_of_a_checkpoint_leaves_indexes_as_they_were() {
    let mut went_on = 0;
    for calls_before in (0..150).step_by(7) {
        let simulated = SimulatedDisk::new(1);
        let disk = with_database(simulated.clone());
        let store = open(&disk);
        let table = create(&store);
        store.checkpoint().unwrap();
        let add = |first: i64| {
            change(&store, |transaction| {
                let table = transaction.table_to_write(table).unwrap();
                table.append(&[rows((first..first + 500).map(|i| i * 131))]).unwrap();
            });
        };
        add(ROWS);
        simulated.fail_from(simulated.calls() + calls_before, Fault::NoSpace);
        let outcome = store.checkpoint();
        simulated.repair();
        assert_eq!(find(&store, table, 0, ROWS * 131).unwrap().len(), 1);
        // Where it is the header that failed, or behind it the log, nothing is committed any more.
        let is_behind = store.home().unwrap().file().root().lsn < store.state().lsn();
        if outcome.is_err() && is_behind && store.checkpoint().is_ok() {
            went_on += 1;
            add(ROWS + 500);
            store.checkpoint().unwrap();
            assert_eq!(find(&store, table, 0, (ROWS + 500) * 131).unwrap().len(), 1);
            check_space(&store);
        }
        drop(store);
        let store = open(&disk);
        assert_eq!(find(&store, table, 0, ROWS * 131).unwrap().len(), 1);
        assert_eq!(find(&store, table, 0, 17).unwrap().len(), 1);
    }
    assert!(went_on > 1, "{went_on}");
}

/// A database in which the pages of an index lie behind what is about to be free.
fn with_index_at_the_end(store: &Arc<Store>) -> ObjectId {
    let columns = ["id", "team"].map(|name| ColumnSchema::new(name, LogicalType::BigInt)).to_vec();
    let transaction = store.begin(Default::default()).unwrap();
    let filler = transaction.create_table(TableSchema::new("filler", columns)).unwrap();
    let scrambled = (0..100_000i64).map(|i| i.wrapping_mul(0x9E37_79B9_7F4A_7C15_u64 as i64));
    filler.append(&[rows(scrambled)]).unwrap();
    transaction.commit().unwrap();
    let filler = filler.id();
    store.checkpoint().unwrap();
    let table = create(store);
    find(store, table, 1, 5).unwrap();
    store.checkpoint().unwrap();
    change(store, |transaction| transaction.drop_object(filler).unwrap());
    table
}

#[test]
fn vacuum_moves_the_pages_of_indexes() {
    let disk = disk();
    let store = open(&disk);
    let table = with_index_at_the_end(&store);
    let blocks = |store: &Store| store.home().unwrap().file().space().block_count;
    let before: HashSet<ObjectPtr> = store.index_pages().unwrap().into_iter().collect();
    let size_before = blocks(&store);
    store.vacuum().unwrap();
    check_space(&store);
    let after: HashSet<ObjectPtr> = store.index_pages().unwrap().into_iter().collect();
    assert!(after.len() == before.len() && after.is_disjoint(&before), "all pages moved");
    assert!(blocks(&store) * 2 < size_before, "{size_before} blocks became {}", blocks(&store));
    assert!(after.iter().all(|page| page.end() <= blocks(&store)));
    assert_eq!(find(&store, table, 1, 5).unwrap().len(), 100);
    // What moved is not written again.
    change(&store, |transaction| {
        let table = transaction.table_to_write(table).unwrap();
        table.append(&[rows(ROWS..ROWS + 3)]).unwrap();
    });
    store.checkpoint().unwrap();
    check_space(&store);
    let last: HashSet<ObjectPtr> = store.index_pages().unwrap().into_iter().collect();
    assert!((1..=10).contains(&last.difference(&after).count()));
    drop(store);
    let store = open(&disk);
    assert_eq!(find(&store, table, 0, 17).unwrap().len(), 1);
    assert_eq!(find(&store, table, 1, ROWS / 100).unwrap().len(), 3);
    check_space(&store);
}

#[test]
fn a_full_disk_at_any_write_of_a_vacuum_leaves_indexes_as_they_were() {
    for calls_before in (0..200).step_by(13) {
        let simulated = SimulatedDisk::new(1);
        let disk = with_database(simulated.clone());
        let store = open(&disk);
        let table = with_index_at_the_end(&store);
        store.checkpoint().unwrap();
        simulated.fail_from(simulated.calls() + calls_before, Fault::NoSpace);
        let outcome = store.vacuum();
        simulated.repair();
        assert_eq!(find(&store, table, 0, 17).unwrap().len(), 1);
        assert_eq!(store.verify().unwrap(), Vec::<String>::new());
        if calls_before % 2 == 0 {
            change_beside(&store);
        }
        if outcome.is_err() && store.vacuum().is_ok() {
            check_space(&store);
        }
        drop(store);
        let store = open(&disk);
        assert_eq!(find(&store, table, 0, 17).unwrap().len(), 1);
        assert_eq!(find(&store, table, 1, 5).unwrap().len(), 100);
        check_space(&store);
    }
}

/// Checkpoints to which the table of [`with_index_at_the_end`] is as it was: what they write lies where something is free.
fn change_beside(store: &Arc<Store>) {
    let columns = ["id", "team"].map(|name| ColumnSchema::new(name, LogicalType::BigInt)).to_vec();
    for _ in 0..3 {
        let transaction = store.begin(Default::default()).unwrap();
        let beside = transaction.create_table(TableSchema::new("beside", columns.clone())).unwrap();
        beside.append(&[rows((0..20_000i64).map(|i| i * 7919 % 20_011))]).unwrap();
        transaction.commit().unwrap();
        let beside = beside.id();
        store.checkpoint().unwrap();
        assert_eq!(store.verify().unwrap(), Vec::<String>::new());
        change(store, |transaction| transaction.drop_object(beside).unwrap());
    }
}

/// Does work whose flag goes up at the look with this number.
fn cancelled_at<R>(look: isize, work: impl FnOnce() -> R) -> R {
    let left = AtomicIsize::new(look);
    let poll = move || left.fetch_sub(1, Ordering::Relaxed) <= 0;
    let interrupt = Interrupt::new().with_poll(Arc::new(poll));
    limits::with(Limits::new(MemoryBudget::unlimited(), interrupt), work)
}

/// A checkpoint that is cancelled when it moves pages leaves directories that refer to where these were; the next one may be
/// cancelled before it moves anything.
#[test]
fn vacuums_that_are_cancelled_at_any_moment_leave_indexes_as_they_were() {
    let mut cancelled = 0;
    for moment in 0..60 {
        let disk = disk();
        let store = open(&disk);
        let table = with_index_at_the_end(&store);
        cancelled += u32::from(cancelled_at(moment, || store.vacuum()).is_err());
        assert_eq!(store.verify().unwrap(), Vec::<String>::new());
        change(&store, |transaction| {
            transaction.create_table(TableSchema::new("other", Vec::new())).unwrap();
        });
        cancelled += u32::from(cancelled_at(moment * 7 % 12, || store.checkpoint()).is_err());
        assert_eq!(store.verify().unwrap(), Vec::<String>::new(), "{moment}");
        change_beside(&store);
        assert_eq!(find(&store, table, 0, 17).unwrap().len(), 1);
        drop(store);
        let store = open(&disk);
        assert_eq!(store.verify().unwrap(), Vec::<String>::new());
        assert_eq!(find(&store, table, 0, 17).unwrap().len(), 1);
        assert_eq!(find(&store, table, 1, 5).unwrap().len(), 100);
    }
    assert!(cancelled > 30, "{cancelled}");
}

/// Flips a byte of a table's statistics in the file.
fn damage_statistics(disk: &Arc<dyn Disk>, statistics: ObjectPtr) {
    let file = disk.open(Path::new("t.db"), OpenMode::ReadWrite).unwrap();
    let (mut byte, place) = ([0u8], statistics.block * crate::file::BLOCK_SIZE + 200);
    file.read_at(&mut byte, place).unwrap();
    file.write_at(&[!byte[0]], place).unwrap();
}

#[test]
fn a_table_outlives_its_statistics() {
    let disk = disk();
    let store = open(&disk);
    let table = create(&store);
    store.checkpoint().unwrap();
    let statistics = store.checkpointed.lock().tables[&table].statistics.clone().unwrap().ptr;
    drop(store);
    damage_statistics(&disk, statistics);

    let store = open(&disk);
    let problems = store.verify().unwrap();
    assert!(matches!(&problems[..], [only] if only.contains("table \"t\", statistics")), "{problems:?}");
    let found = store.state().table(table).unwrap();
    assert_eq!(found.row_count(), ROWS as usize);
    assert!(found.statistics().unwrap().columns[1].distinct_count > 50.0, "made anew from the rows");
    drop(found);
    // The table did not change, but the next checkpoint writes what the file lacks.
    store.checkpoint().unwrap();
    assert!(store.verify().unwrap().is_empty());
    check_space(&store);
    drop(store);

    let store = open(&disk);
    assert!(!store.state().table(table).unwrap().lacks_statistics());
    assert!(store.verify().unwrap().is_empty());
}

#[test]
fn a_table_that_lacks_statistics_can_be_altered_and_vacuumed() {
    let disk = disk();
    let store = open(&disk);
    let table = create(&store);
    store.checkpoint().unwrap();
    let statistics = store.checkpointed.lock().tables[&table].statistics.clone().unwrap().ptr;
    drop(store);
    damage_statistics(&disk, statistics);

    let store = open(&disk);
    store.vacuum().unwrap();
    assert!(store.verify().unwrap().is_empty(), "VACUUM reads every table");
    let statistics = store.checkpointed.lock().tables[&table].statistics.clone().unwrap().ptr;
    drop(store);
    damage_statistics(&disk, statistics);

    let store = open(&disk);
    change(&store, |transaction| {
        let before = transaction.state().table(table).unwrap();
        let mut schema = before.schema().clone();
        schema.columns.push(ColumnSchema::new("more", LogicalType::Varchar));
        let filled = ColumnSource::Filled(Value::Varchar("x".into()));
        let columns = vec![ColumnSource::Kept(0), ColumnSource::Kept(1), filled];
        transaction.alter_table(table, Alteration { schema, columns }).unwrap();
    });
    drop(store);
    let store = open(&disk);
    assert!(store.verify().unwrap().is_empty());
    let statistics = store.state().table(table).unwrap().statistics().unwrap();
    assert!((statistics.columns[2].distinct_count - 1.0).abs() < 0.1);
}

/// Columns that change their places, are made or go: statistics follow, and no segment is read for those that stay.
#[test]
fn statistics_follow_the_columns_of_an_altered_table() {
    let disk = disk();
    let store = open(&disk);
    let table = create(&store);
    store.checkpoint().unwrap();
    drop(store);

    let store = open(&disk);
    change(&store, |transaction| {
        let before = transaction.state().table(table).unwrap();
        let mut schema = before.schema().clone();
        schema.columns.swap(0, 1);
        schema.columns[0].name = "word".into();
        schema.columns[0].ty = LogicalType::Varchar;
        schema.keys = Vec::new();
        let columns = vec![ColumnSource::Filled(Value::Varchar("x".into())), ColumnSource::Kept(1)];
        schema.columns[1].name = "team".into();
        transaction.alter_table(table, Alteration { schema, columns }).unwrap();
    });
    let check = |store: &Store| {
        let table = store.state().table(table).unwrap();
        let statistics = table.statistics().unwrap();
        let types = table.schema().columns.iter().map(|column| column.ty.clone());
        assert!(statistics.sample.types().into_iter().eq(types));
        assert!((statistics.columns[0].distinct_count - 1.0).abs() < 0.1);
        let teams = statistics.columns[1].distinct_count;
        assert!((100.0..140.0).contains(&teams), "{teams} of 120");
    };
    check(&store);
    let altered = store.state().table(table).unwrap();
    let snapshot = altered.snapshot();
    let is_read = |group: &Arc<crate::row_group::RowGroup>| group.column(1).resident().is_some();
    assert!(!snapshot.row_groups().iter().any(is_read), "the sketch and the sample were there");
    drop((altered, snapshot));
    drop(store);
    let store = open(&disk);
    check(&store);
    assert!(store.verify().unwrap().is_empty());
}

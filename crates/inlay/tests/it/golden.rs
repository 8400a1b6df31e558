//! Files of earlier formats: they open, hold what they held, and are of the newest format afterwards.
//!
//! `tests/golden/v1.sql` made `v1.inlay`, by the last program of format 1; `v1-log.sql` then made `v1-log.inlay.wal`, the log of a
//! process that was killed. The same statements, run now, say what has to be there.

use crate::support::amount;
use crate::support::cases;
use crate::support::disk::{self, Files, PATH, WAL};
use crate::support::dump::{self, Dump};
use crate::support::folder::{self, Folder};
use crate::support::sql;
use inlay::Database;
use inlay_storage::io::{Disk, Fault, RealDisk};
use inlay_storage::store::{IndexDefinition, IndexKind, Object, Store, StoreOptions};
use inlay_types::MemoryBudget;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

const READ_ONLY: &[(&str, &str)] = &[("access_mode", "read_only")];
/// Where a header has the number of its format.
const VERSION: std::ops::Range<usize> = 16..20;

fn golden(name: &str) -> Vec<u8> {
    fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name)).unwrap()
}

/// The file alone, and with the log of a killed process.
fn files(with_log: bool) -> Files {
    let mut files: Files = BTreeMap::from([(PATH.into(), golden("v1.inlay"))]);
    if with_log {
        files.insert(WAL.into(), golden("v1-log.inlay.wal"));
    }
    files
}

fn seen(database: &Database) -> Dump {
    dump::dump(&database.connect(), &database.name()).unwrap()
}

/// What the statements lead to.
fn expected(with_log: bool) -> Dump {
    let folder = Folder::new("golden");
    let database = sql::open(&folder.file("db.inlay"), &[]).unwrap();
    let connection = database.connect();
    let scripts = if with_log { &["v1.sql", "v1-log.sql"][..] } else { &["v1.sql"] };
    for script in scripts {
        for statement in String::from_utf8(golden(script)).unwrap().lines() {
            connection.execute(statement).unwrap_or_else(|error| panic!("{statement}: {error}"));
        }
    }
    seen(&database)
}

fn expect(database: &Database, expected: &Dump, place: &str) {
    if let Some(difference) = dump::difference(&seen(database), expected) {
        panic!("{place}: {difference}");
    }
    sql::verify(&database.connect()).unwrap_or_else(|problem| panic!("{place}: {problem}"));
}

#[test]
fn a_file_of_format_1_is_read_as_it_is_and_upgraded_when_it_is_opened_for_writing() {
    for with_log in [false, true] {
        let (folder, expected) = (Folder::new("golden"), expected(with_log));
        let path = folder.file("db.inlay");
        for (name, bytes) in files(with_log) {
            fs::write(folder.file(name.to_str().unwrap()), bytes).unwrap();
        }
        for _ in 0..2 {
            let reader = sql::open(&path, READ_ONLY).unwrap();
            expect(&reader, &expected, "read");
        }
        assert_eq!(fs::read(&path).unwrap(), golden("v1.inlay"), "reading writes nothing");
        let database = sql::open(&path, &[]).unwrap();
        expect(&database, &expected, "upgraded");
        database.connect().execute("UPDATE plain SET r = 'new' WHERE d = 50").unwrap();
        database.connect().execute("CREATE TABLE named (a INTEGER, CONSTRAINT own UNIQUE (a))").unwrap();
        let expected = seen(&database);
        // What a kill leaves.
        let copy = folder.file("copy.inlay");
        folder::copy_database(&path, &copy);
        drop(database);
        for path in [path, copy] {
            let bytes = fs::read(&path).unwrap();
            let newest = [&bytes[VERSION], &bytes[4096..][VERSION]].map(|b| b[0]).into_iter().max();
            assert_eq!(newest, Some(2));
            let database = sql::open(&path, &[]).unwrap();
            expect(&database, &expected, "opened again");
        }
    }
}

#[test]
fn power_cuts_and_full_disks_while_a_file_is_upgraded_lose_nothing() {
    for with_log in [false, true] {
        let expected = expected(with_log);
        let calls = {
            let disk = disk::holding(files(with_log));
            drop(disk::open(&disk, &[]).unwrap());
            disk.calls()
        };
        let numbers = cases::sample(calls, amount("INLAY_UPGRADE_CASES", 40));
        cases::run("upgrade", &numbers, |call| {
            let disk = disk::holding(files(with_log));
            disk.cut_power_at(call);
            drop(disk::open(&disk, &[]));
            for seed in 0..2 {
                let place = format!("power cut at call {call} of {calls}, {seed}");
                let disk = Arc::new(disk.after_power_cut(seed));
                let database = disk::open(&disk, &[]).map_err(|error| format!("{place}: {error}"))?;
                expect(&database, &expected, &place);
            }
            let disk = disk::holding(files(with_log));
            disk.fail_from(call, Fault::Full);
            let place = format!("full disk from call {call} of {calls} on");
            match disk::open(&disk, &[]) {
                Ok(database) => expect(&database, &expected, &place),
                Err(error) => assert_eq!(error.sqlstate(), "53100", "{place}: {error}"),
            }
            disk.repair();
            let database = disk::open(&disk, &[]).map_err(|error| format!("{place}: {error}"))?;
            expect(&database, &expected, &place);
            Ok(())
        });
    }
}

/// Earlier versions could leave an index behind when its table was dropped at the same time.
#[test]
fn an_index_of_no_table_hides_nothing_else() {
    let folder = Folder::new("golden");
    let path = folder.file("db.inlay");
    {
        let database = sql::open(&path, &[]).unwrap();
        database.connect().execute("CREATE TABLE t (a INTEGER); CREATE INDEX i ON t (a)").unwrap();
    }
    let disk: Arc<dyn Disk> = Arc::new(RealDisk);
    let store =
        Store::open(&disk, Path::new(&path), StoreOptions::default(), MemoryBudget::unlimited()).unwrap();
    let transaction = store.begin(Default::default()).unwrap();
    let id = transaction.take_id();
    let index = IndexDefinition {
        id,
        name: "lost".to_string(),
        table: id + 1000,
        columns: vec![0],
        unique: false,
        kind: IndexKind::Art,
    };
    transaction.put(Object::Index(Arc::new(index))).unwrap();
    transaction.commit().unwrap();
    drop((transaction, store));
    let database = sql::open(&path, &[]).unwrap();
    let connection = database.connect();
    for query in ["SELECT index_name FROM duckdb_indexes()", "SELECT indexname FROM pg_indexes"] {
        assert_eq!(sql::rows(&connection, query).unwrap(), [["'i'"]], "{query}");
    }
    assert!(sql::verify(&connection).unwrap_err().contains("is of no table"));
    connection.execute("DROP INDEX lost; CHECKPOINT").unwrap();
    sql::verify(&connection).unwrap();
}

//! A full disk: the statement fails, everything else goes on, and so do changes as soon as there is room.

use crate::support::disk::{self, SimulatedDisk};
use crate::support::sql;
use inlay::{Connection, Database};
use inlay_storage::io::Fault;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const SETUP: &[&str] = &[
    "CREATE TABLE item (id INTEGER PRIMARY KEY, name VARCHAR)",
    "CREATE INDEX item_name ON item (name)",
    "INSERT INTO item SELECT range, 'item ' || CAST(range AS VARCHAR) FROM range(0, 100)",
    "CREATE SEQUENCE counter",
    "CHECKPOINT",
    "UPDATE item SET name = 'seven' WHERE id = 7",
];

/// Each needs a record of its own, which is larger than what the log has room for.
const STATEMENTS: &[&str] = &[
    "INSERT INTO item SELECT range, repeat('x', 4000) FROM range(1000, 1400)",
    "INSERT INTO item SELECT range, 'bulk' FROM range(1000, 201000)",
    "UPDATE item SET name = repeat('y', 20000) WHERE id >= 0",
    "CREATE TABLE other AS SELECT range AS a, repeat('z', 3000) AS b FROM range(0, 500)",
];

/// What changes no content.
const UPKEEP: &[&str] = &[
    "CHECKPOINT",
    "VACUUM",
    "CREATE INDEX item_both ON item (name, id)",
    "CREATE INDEX item_sets ON item USING bitmap (name, id)",
];

const QUERIES: &[&str] = &[
    "SELECT count(*), min(id), max(id), sum(length(name)) FROM item",
    "SELECT id FROM item WHERE name = 'seven'",
    "SELECT name FROM item WHERE id = 42",
    "SELECT count(*) FROM information_schema.tables",
];

fn content(connection: &Connection) -> Vec<sql::Rows> {
    QUERIES.iter().map(|query| sql::rows(connection, query).unwrap()).collect()
}

fn opened(disk: &Arc<SimulatedDisk>) -> Database {
    disk::open(disk, &[("checkpoint_threshold", "1GB")]).unwrap()
}

#[test]
fn each_kind_of_statement_fails_cleanly_and_succeeds_when_there_is_room() {
    for statement in STATEMENTS {
        // The disk is full from the first, second, ... call on.
        for call in 0..12 {
            let disk = disk::empty(5);
            let database = opened(&disk);
            let connection = database.connect();
            for sql in SETUP {
                connection.execute(sql).unwrap();
            }
            let before = content(&connection);
            disk.fail_from(disk.calls() + call, Fault::Full);
            let outcome = connection.execute(statement).map(|_| ());
            let Err(error) = outcome else { continue };
            let place = format!("{statement}, call {call}");
            assert_eq!(error.sqlstate(), "53100", "{place}: {error}");
            assert_eq!(content(&connection), before, "{place}");
            // Still no room; then there is.
            assert_eq!(connection.execute(statement).map(|_| ()).unwrap_err().sqlstate(), "53100", "{place}");
            disk.repair();
            connection.execute("INSERT INTO item VALUES (-1, 'small')").unwrap();
            connection.execute("DELETE FROM item WHERE id = -1").unwrap();
            assert_eq!(content(&connection), before, "{place}");
            connection.execute(statement).unwrap_or_else(|error| panic!("{place}: {error}"));
            let after = content(&connection);
            assert_ne!(after, before, "{place}");
            sql::verify(&connection).unwrap_or_else(|problem| panic!("{place}: {problem}"));
            // What a kill and what a power cut leave.
            for disk in [disk::holding(disk.snapshot()), Arc::new(disk.after_power_cut(call as u64))] {
                let database = opened(&disk);
                assert_eq!(content(&database.connect()), after, "{place}");
                sql::verify(&database.connect()).unwrap();
            }
            connection.execute("CHECKPOINT").unwrap();
            sql::verify(&connection).unwrap();
            assert_eq!(content(&connection), after, "{place}");
        }
    }
}

#[test]
fn upkeep_that_has_no_room_can_wait() {
    for statement in UPKEEP {
        for call in 0..40 {
            let disk = disk::empty(5);
            let database = opened(&disk);
            let connection = database.connect();
            for sql in SETUP.iter().chain(&STATEMENTS[..1]) {
                connection.execute(sql).unwrap();
            }
            let before = content(&connection);
            disk.fail_from(disk.calls() + call, Fault::Full);
            let outcome = connection.execute(statement).map(|_| ());
            let Err(error) = outcome else { continue };
            let place = format!("{statement}, call {call}");
            assert_eq!(error.sqlstate(), "53100", "{place}: {error}");
            assert_eq!(content(&connection), before, "{place}");
            disk.repair();
            connection.execute("INSERT INTO item VALUES (-1, 'small')").unwrap();
            connection.execute("DELETE FROM item WHERE id = -1").unwrap();
            connection.execute(statement).unwrap_or_else(|error| panic!("{place}: {error}"));
            assert_eq!(content(&connection), before, "{place}");
            sql::verify(&connection).unwrap_or_else(|problem| panic!("{place}: {problem}"));
            for disk in [disk::holding(disk.snapshot()), Arc::new(disk.after_power_cut(call as u64))] {
                let database = opened(&disk);
                assert_eq!(content(&database.connect()), before, "{place}");
                sql::verify(&database.connect()).unwrap();
            }
        }
    }
}

/// A dropped index and a new one are what they were.
#[test]
fn definitions_come_back_when_there_was_no_room_to_drop_them() {
    let disk = disk::empty(6);
    let database = opened(&disk);
    let connection = database.connect();
    for sql in SETUP {
        connection.execute(sql).unwrap();
    }
    disk.fail_from(disk.calls(), Fault::Full);
    connection.execute("BEGIN").unwrap();
    connection.execute("DROP INDEX item_name").unwrap();
    connection.execute("CREATE TABLE big AS SELECT repeat('z', 3000) AS b FROM range(0, 500)").ok();
    let failed = connection.execute("COMMIT").map(|_| ());
    if connection.in_transaction() {
        connection.execute("ROLLBACK").unwrap();
    }
    disk.repair();
    assert!(failed.is_err());
    assert_eq!(sql::rows(&connection, "SELECT id FROM item WHERE name = 'seven'").unwrap(), [["7"]]);
    connection.execute("DROP INDEX item_name").unwrap();
    assert_eq!(sql::rows(&connection, "SELECT id FROM item WHERE name = 'seven'").unwrap(), [["7"]]);
}

/// Threads insert while the disk is full now and then. What was acknowledged is there, and nothing else.
#[test]
fn threads_go_on_when_there_is_room_and_lose_nothing() {
    let disk = disk::empty(8);
    let database = opened(&disk);
    database
        .connect()
        .execute("CREATE TABLE t (thread BIGINT, number BIGINT, text VARCHAR, UNIQUE (thread, number))")
        .unwrap();
    let (acknowledged, failed) = (AtomicU64::new(0), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let connection = database.connect();
            let (acknowledged, failed) = (&acknowledged, &failed);
            scope.spawn(move || {
                for number in 0..150 {
                    let insert = format!("INSERT INTO t VALUES ({thread}, {number}, repeat('x', 5000))");
                    while let Err(error) = connection.execute(&insert) {
                        assert_eq!(error.sqlstate(), "53100", "{error}");
                        failed.fetch_add(1, Ordering::Relaxed);
                        std::thread::yield_now();
                    }
                    acknowledged.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        scope.spawn(|| {
            for _ in 0..60 {
                disk.fail_from(disk.calls() + 3, Fault::Full);
                std::thread::sleep(std::time::Duration::from_millis(2));
                disk.repair();
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
        });
    });
    disk.repair();
    let expected = vec![vec!["600".to_string(), (4 * 149 * 150 / 2).to_string()]];
    let found =
        |database: &Database| sql::rows(&database.connect(), "SELECT count(*), sum(number) FROM t").unwrap();
    assert_eq!(found(&database), expected, "{} failed", failed.load(Ordering::Relaxed));
    sql::verify(&database.connect()).unwrap();
    for disk in [disk::holding(disk.snapshot()), Arc::new(disk.after_power_cut(3))] {
        let database = opened(&disk);
        assert_eq!(found(&database), expected);
        sql::verify(&database.connect()).unwrap();
    }
    assert!(failed.load(Ordering::Relaxed) > 0, "the disk was never full");
}

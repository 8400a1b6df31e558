//! VACUUM, CHECKPOINT, PRAGMA verify, CALL recover and backups, through SQL.

use crate::support::disk::{self, PATH};
use crate::support::sql;

const BLOCK: usize = 4096;

fn blocks(disk: &disk::SimulatedDisk) -> usize {
    let files = disk.snapshot();
    files.iter().find(|(path, _)| path.ends_with(PATH)).unwrap().1.len() / BLOCK
}

fn one(connection: &inlay::Connection, query: &str) -> i64 {
    sql::number(connection, query).unwrap()
}

#[test]
fn a_checkpoint_gives_back_what_deleted_rows_took() {
    let disk = disk::empty(1);
    let database = disk::open(&disk, &[]).unwrap();
    let connection = database.connect();
    let run = |text: &str| connection.execute(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    run("CREATE TABLE t AS SELECT range AS n, hash(range) AS m FROM range(0, 300000)");
    run("CHECKPOINT");
    let before = blocks(&disk);
    run("DELETE FROM t WHERE n % 2 = 0");
    run("CHECKPOINT");
    let after = blocks(&disk);
    assert!(after * 10 <= before * 6, "{before} blocks became {after}");
    assert_eq!(one(&connection, "SELECT count(*) FROM t"), 150_000);
    assert_eq!(sql::verify(&connection), Ok(()));
    run("DELETE FROM t WHERE n % 100 <> 1");
    run("VACUUM");
    assert!(blocks(&disk) * 10 < after, "{after} blocks became {}", blocks(&disk));
    assert_eq!(one(&connection, "SELECT count(*) FROM t"), 3000);
    assert_eq!(sql::verify(&connection), Ok(()));
}

#[test]
fn automatic_checkpoints_keep_an_updated_table_small() {
    let disk = disk::empty(2);
    let database = disk::open(&disk, &[("checkpoint_threshold", "1MB")]).unwrap();
    let connection = database.connect();
    connection
        .execute("CREATE TABLE t AS SELECT range AS n, hash(range) AS m FROM range(0, 100000)")
        .unwrap();
    connection.execute("CHECKPOINT").unwrap();
    let fresh = blocks(&disk);
    for round in 0..8 {
        connection.execute(&format!("UPDATE t SET m = hash(n + {round})")).unwrap();
        assert!(blocks(&disk) <= 3 * fresh, "{fresh} blocks became {} on the way", blocks(&disk));
    }
    connection.execute("CHECKPOINT").unwrap();
    assert!(blocks(&disk) <= 2 * fresh, "{fresh} blocks became {}", blocks(&disk));
    assert_eq!(sql::verify(&connection), Ok(()));
}

#[test]
fn an_open_transaction_is_not_disturbed_by_a_vacuum() {
    let disk = disk::empty(3);
    let database = disk::open(&disk, &[]).unwrap();
    let (one_side, other) = (database.connect(), database.connect());
    one_side.execute("CREATE TABLE t AS SELECT range AS n FROM range(0, 5000)").unwrap();
    one_side.execute("DELETE FROM t WHERE n < 2000").unwrap();
    other.execute("BEGIN").unwrap();
    other.execute("UPDATE t SET n = -1 WHERE n = 4000").unwrap();
    one_side.execute("VACUUM").unwrap();
    other.execute("COMMIT").unwrap();
    assert_eq!(one(&one_side, "SELECT count(*) FROM t WHERE n = -1"), 1);
    one_side.execute("VACUUM").unwrap();
    assert_eq!(one(&one_side, "SELECT count(*) FROM t"), 3000);
    assert_eq!(sql::verify(&one_side), Ok(()));
}

/// A checkpoint that a transaction asks for moves no rows from under it.
#[test]
fn a_transaction_that_makes_a_checkpoint_can_change_its_rows() {
    let disk = disk::empty(3);
    let database = disk::open(&disk, &[]).unwrap();
    let connection = database.connect();
    connection.execute("CREATE TABLE t AS SELECT range AS n FROM range(0, 140000)").unwrap();
    connection.execute("INSERT INTO t VALUES (-1); ALTER TABLE t ALTER n SET DEFAULT 2").unwrap();
    connection.execute("BEGIN; CHECKPOINT").unwrap();
    connection.execute("DELETE FROM t WHERE n >= 100").unwrap();
    connection.execute("COMMIT").unwrap();
    assert_eq!(one(&connection, "SELECT count(*) FROM t"), 101);
    connection.execute("CHECKPOINT").unwrap();
    assert_eq!(sql::verify(&connection), Ok(()));
}

#[test]
fn a_backup_and_a_recovered_file_hold_the_same_rows() {
    let disk = disk::empty(4);
    let database = disk::open(&disk, &[]).unwrap();
    let connection = database.connect();
    connection.execute("CREATE TABLE t (n INTEGER PRIMARY KEY, s VARCHAR)").unwrap();
    connection.execute("INSERT INTO t SELECT range, 'text ' || range FROM range(0, 2000)").unwrap();
    connection.execute("CREATE VIEW v AS SELECT count(*) AS c FROM t").unwrap();
    connection.backup("copy.inlay").unwrap();
    assert!(connection.backup("copy.inlay").unwrap_err().to_string().contains("exists already"));
    let report = connection.execute("CALL recover('copy.inlay', 'new.inlay')").unwrap();
    assert_eq!(report.names(), ["object", "recovered", "lost"]);
    for path in ["copy.inlay", "new.inlay"] {
        let copy = inlay::Database::open_on(disk.clone(), path, &[]).unwrap().connect();
        assert_eq!(one(&copy, "SELECT c FROM v"), 2000);
        assert!(copy.execute("INSERT INTO t VALUES (5, 'twice')").is_err());
        assert_eq!(sql::verify(&copy), Ok(()));
    }
}

//! Two transactions that define things at once: both are committed only if that is what they would have made one after the
//! other, in some order.
//!
//! Each pair of [`CHANGES`] runs in two sessions on one small database, the first commits before the second. If both
//! succeed, the database as a script, with its rows, is that of one order; if one fails, it says 40001 and the other
//! one's is there. Either way `PRAGMA verify` finds nothing, and the opened file holds the same. `INLAY_PAIR_CASES` sets
//! how many pairs are tried (0: all).

use crate::support::disk::{self, Files};
use crate::support::{amount, cases, sql};
use inlay::Connection;
use std::sync::Arc;

const CONFIG: &[(&str, &str)] = &[("threads", "1")];

const SETUP: &[&str] = &[
    "CREATE SCHEMA w",
    "CREATE SCHEMA bare",
    "CREATE TYPE mood AS ENUM ('a', 'b')",
    "CREATE SEQUENCE loose",
    "CREATE MACRO m(x) AS x + 1",
    "CREATE TABLE p (k INTEGER PRIMARY KEY, x INTEGER)",
    "INSERT INTO p VALUES (1, 10), (2, 20)",
    "CREATE TABLE c (k INTEGER, p INTEGER REFERENCES p (k))",
    "CREATE TABLE t (a INTEGER, d INTEGER, b INTEGER)",
    "INSERT INTO t VALUES (1, 2, 3), (4, 5, 6)",
    "CREATE TABLE free (a INTEGER)",
    "CREATE INDEX t_b ON t (b)",
    "CREATE INDEX t_sum ON t ((a + b))",
    "CREATE VIEW v AS SELECT a FROM t",
    "CREATE MATERIALIZED VIEW mv AS SELECT a FROM t",
    "CREATE TABLE owned (i SERIAL, x INTEGER)",
    "INSERT INTO owned (x) VALUES (1)",
    "COMMENT ON COLUMN t.b IS 'column'",
    "CREATE TABLE w.inside (a INTEGER)",
];

/// What transactions do; statements apart by `;`.
const CHANGES: &[&str] = &[
    "DROP TABLE t",
    "CREATE INDEX n ON t (a)",
    "CREATE INDEX n ON t USING bitmap (a, d)",
    "CREATE UNIQUE INDEX n ON t (a)",
    "CREATE INDEX n ON t ((a * 2))",
    "CREATE INDEX n ON t ((a + b))",
    "DROP INDEX t_b",
    "DROP INDEX t_sum",
    "ALTER INDEX t_b RENAME TO t_b9",
    "ALTER TABLE t DROP COLUMN d",
    "ALTER TABLE t RENAME TO t9",
    "ALTER TABLE t RENAME COLUMN b TO b9",
    "ALTER TABLE t ADD COLUMN z INTEGER DEFAULT 1",
    "ALTER TABLE t ALTER d TYPE VARCHAR",
    "ALTER TABLE t ALTER d SET NOT NULL",
    "ALTER TABLE t ADD COLUMN z INTEGER DEFAULT nextval('loose')",
    "ALTER TABLE t ALTER d SET DEFAULT nextval('loose')",
    "ALTER TABLE t ADD CHECK (a > 0)",
    "CREATE TABLE n (a INTEGER DEFAULT nextval('loose'))",
    "CREATE TABLE n (a INTEGER DEFAULT (nextval('loose') + 1))",
    "DROP SEQUENCE loose",
    "ALTER SEQUENCE loose RENAME TO loose9",
    "ALTER SEQUENCE loose INCREMENT BY 5",
    "CREATE TABLE n2 (k INTEGER REFERENCES p (k))",
    "ALTER TABLE free ADD FOREIGN KEY (a) REFERENCES p (k)",
    "DROP TABLE p CASCADE",
    "DROP TABLE c; DROP TABLE p",
    "ALTER TABLE p RENAME TO p9",
    "ALTER TABLE p RENAME COLUMN k TO k9",
    "DROP TABLE c",
    "INSERT INTO c VALUES (1, 1)",
    "DELETE FROM p WHERE k = 1",
    "CREATE VIEW n3 AS SELECT a FROM t",
    "CREATE OR REPLACE VIEW v AS SELECT b FROM t",
    "DROP VIEW v",
    "ALTER VIEW v RENAME TO v9",
    "CREATE TABLE bare.n (a INTEGER)",
    "CREATE TABLE bare.n AS SELECT 1 AS one",
    "CREATE VIEW bare.n AS SELECT 1 AS one",
    "CREATE SEQUENCE bare.n",
    "CREATE MACRO bare.n(x) AS x",
    "CREATE TYPE bare.n AS INTEGER",
    "ALTER TABLE free SET SCHEMA bare",
    "DROP SCHEMA bare",
    "DROP SCHEMA w CASCADE",
    "CREATE INDEX n ON w.inside (a)",
    "INSERT INTO w.inside VALUES (1)",
    "CREATE TABLE n4 (m mood)",
    "DROP TYPE mood",
    "CREATE MACRO n5(x) AS m(x)",
    "DROP MACRO m",
    "CREATE OR REPLACE MACRO m(x) AS x + 2",
    "CREATE VIEW n6 AS SELECT m(1) AS one",
    "CREATE TABLE n7 (a INTEGER DEFAULT m(1))",
    "COMMENT ON TABLE t IS 'new'",
    "COMMENT ON COLUMN t.b IS 'new'",
    "COMMENT ON COLUMN t.d IS 'new'",
    "COMMENT ON VIEW v IS 'new'",
    "COMMENT ON INDEX t_b IS 'new'",
    "INSERT INTO t VALUES (7, 8, 9)",
    "UPDATE t SET d = 0 WHERE a = 1",
    "TRUNCATE t",
    "INSERT INTO owned (x) VALUES (2)",
    "DROP TABLE owned",
    "ALTER TABLE owned RENAME TO owned9",
    "ALTER TABLE owned RENAME COLUMN i TO i9",
    "TRUNCATE owned RESTART IDENTITY",
    "REFRESH MATERIALIZED VIEW mv",
    "DROP MATERIALIZED VIEW mv",
    "CREATE TABLE n8 AS SELECT a FROM t",
    "CREATE OR REPLACE TABLE free (b INTEGER)",
    "DROP TABLE free",
    "CREATE TABLE t9 (x INTEGER)",
    "CREATE TABLE p9 (x INTEGER)",
    // Changes of no rows, beside one that is there.
    "DELETE FROM t WHERE a > 99; INSERT INTO free VALUES (1)",
    "UPDATE t SET b = 0 WHERE a > 99; INSERT INTO free VALUES (1)",
    "INSERT INTO t SELECT * FROM t WHERE a > 99; INSERT INTO free VALUES (1)",
    "DELETE FROM p WHERE k > 99; DELETE FROM c; INSERT INTO free VALUES (1)",
    "INSERT INTO p VALUES (1, 0) ON CONFLICT DO NOTHING; INSERT INTO free VALUES (1)",
    "MERGE INTO t USING (SELECT 99 AS a) s ON t.a = s.a WHEN MATCHED THEN DELETE; INSERT INTO free VALUES (1)",
    "SAVEPOINT s; INSERT INTO t VALUES (7, 8, 9); ROLLBACK TO s; INSERT INTO free VALUES (1)",
    "SAVEPOINT s; ALTER TABLE t ADD COLUMN y INTEGER; ROLLBACK TO s; INSERT INTO free VALUES (1)",
    "SAVEPOINT s; DROP TABLE t; ROLLBACK TO s; INSERT INTO free VALUES (1)",
];

fn opened(files: Files) -> Result<(Arc<disk::SimulatedDisk>, inlay::Database), String> {
    let disk = disk::holding(files);
    let database = disk::open(&disk, CONFIG).map_err(|error| format!("opening: {error}"))?;
    Ok((disk, database))
}

/// What a session came to.
#[derive(Clone, Debug, PartialEq)]
enum Outcome {
    Done,
    Conflict,
    Failed(String),
}

fn attempt(connection: &Connection, statements: &str) -> Outcome {
    for statement in statements.split(';').map(str::trim) {
        if let Err(error) = connection.execute(statement) {
            return match sql::is_conflict(&error) {
                true => Outcome::Conflict,
                false => Outcome::Failed(format!("{statement}: {error} ({})", error.sqlstate())),
            };
        }
    }
    Outcome::Done
}

/// Begins a transaction and does everything but COMMIT; rolled back if that fails.
fn begun(connection: &Connection, statements: &str) -> Outcome {
    let outcome = match attempt(connection, "BEGIN") {
        Outcome::Done => attempt(connection, statements),
        other => other,
    };
    if outcome != Outcome::Done && connection.in_transaction() {
        let _ = connection.execute("ROLLBACK");
    }
    outcome
}

/// Everything that the database defines and holds, in an order that does not tell when it was made.
fn content(connection: &Connection) -> Result<Vec<String>, String> {
    let dump = connection.dump(None).map_err(|error| format!("the script: {error}"))?;
    let texts = [&dump.schema, &dump.rest].into_iter().flat_map(|text| text.split(";\n"));
    let mut content: Vec<String> = texts.map(|text| text.trim().trim_end_matches(';').to_string()).collect();
    for table in &dump.tables {
        let rows =
            sql::rows(connection, &format!("SELECT * FROM {}", table.name)).map_err(|e| e.to_string())?;
        content.push(format!("{}: {rows:?}", table.name));
    }
    // Counters of sequences never go back, whatever becomes of who took a value.
    let is_counter = |text: &str| text.contains(" RESTART WITH ") || text.starts_with("SELECT setval(");
    content.retain(|text| !text.is_empty() && !is_counter(text));
    content.sort();
    Ok(content)
}

/// What the database holds after these, one after the other; `None` if one of them does not work then.
fn one_after_the_other(files: &Files, changes: &[&str]) -> Result<Option<Vec<String>>, String> {
    let (_disk, database) = opened(files.clone())?;
    let connection = database.connect();
    for change in changes {
        let worked =
            begun(&connection, change) == Outcome::Done && attempt(&connection, "COMMIT") == Outcome::Done;
        if !worked {
            return Ok(None);
        }
    }
    content(&connection).map(Some)
}

fn run_pair(files: &Files, first: &str, second: &str) -> Result<(), String> {
    let (disk, database) = opened(files.clone())?;
    let (one, other) = (database.connect(), database.connect());
    let outcomes = [begun(&one, first), begun(&other, second)];
    let commit = |connection: &Connection, outcome: Outcome| match outcome {
        Outcome::Done => attempt(connection, "COMMIT"),
        failed => failed,
    };
    let [one_begun, other_begun] = outcomes;
    let outcomes = [commit(&one, one_begun), commit(&other, other_begun)];
    if let Some(failed) = outcomes.iter().find(|outcome| matches!(outcome, Outcome::Failed(_))) {
        return Err(format!("{failed:?}"));
    }
    let expected = match &outcomes {
        [Outcome::Done, Outcome::Done] => {
            let orders = [[first, second], [second, first]];
            orders.iter().map(|order| one_after_the_other(files, order)).collect::<Result<Vec<_>, _>>()?
        }
        [Outcome::Done, _] => vec![one_after_the_other(files, &[first])?],
        [_, Outcome::Done] => vec![one_after_the_other(files, &[second])?],
        _ => return Err("both failed".to_string()),
    };
    let found = content(&one)?;
    if !expected.iter().flatten().any(|expected| *expected == found) {
        let expected: Vec<_> = expected.into_iter().flatten().collect();
        return Err(format!("{outcomes:?} leave {found:?}\nwhich no order does: {expected:?}"));
    }
    sql::verify(&one).map_err(|found| format!("PRAGMA verify: {found}"))?;
    drop((one, other, database));
    let database = disk::open(&disk, CONFIG).map_err(|error| format!("opening again: {error}"))?;
    let connection = database.connect();
    sql::verify(&connection).map_err(|found| format!("opened again: PRAGMA verify: {found}"))?;
    match content(&connection)? == found {
        true => Ok(()),
        false => Err(format!("opened again: {:?} in place of {found:?}", content(&connection)?)),
    }
}

/// The files of a closed database that everything begins with.
fn base() -> Files {
    let disk = disk::empty(1);
    let database = disk::open(&disk, CONFIG).unwrap();
    let connection = database.connect();
    for statement in SETUP {
        connection.execute(statement).unwrap_or_else(|error| panic!("{statement}: {error}"));
    }
    drop((connection, database));
    disk.snapshot()
}

#[test]
fn definitions_made_at_once_are_those_of_some_order() {
    let files = base();
    for change in CHANGES {
        let alone = one_after_the_other(&files, &[change]).unwrap();
        assert!(alone.is_some(), "{change} does not even work alone");
    }
    let numbers = cases::sample(CHANGES.len() * CHANGES.len(), amount("INLAY_PAIR_CASES", 450));
    cases::run("pairs", &numbers, |number| {
        let (first, second) = (CHANGES[number / CHANGES.len()], CHANGES[number % CHANGES.len()]);
        run_pair(&files, first, second).map_err(|problem| format!("{first} | {second}: {problem}"))
    });
}

//! Rows that INSERTs append one by one in a transaction: everybody who looks sees them, and what ends a statement, a savepoint or the
//! transaction ends them as it ends others.

use crate::support::folder::{Folder, copy_database};
use inlay::{Connection, Database, Parameters, PreparedStatement, Value};

fn connect() -> Connection {
    let connection = Database::open_in_memory().unwrap().connect();
    connection
        .execute("CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER DEFAULT 7, s VARCHAR NOT NULL, CHECK (a < 1000))")
        .unwrap();
    connection
}

/// An INSERT whose plan is kept.
fn insert(connection: &Connection) -> PreparedStatement {
    connection.prepare("INSERT INTO t VALUES (?, ?, ?)").unwrap()
}

fn row(id: i32) -> Parameters {
    [Value::Integer(id), Value::Integer(id % 10), Value::Varchar(format!("the text of {id}"))].into()
}

fn one(connection: &Connection, sql: &str) -> String {
    connection.execute(sql).unwrap().value(0, 0).unwrap().to_string()
}

fn add(statement: &PreparedStatement, ids: impl IntoIterator<Item = i32>) {
    ids.into_iter().for_each(|id| assert_eq!(statement.execute(&row(id)).unwrap().changed_rows(), Some(1)));
}

#[test]
fn statements_of_the_transaction_see_them() {
    let connection = connect();
    let insert = insert(&connection);
    connection.execute("BEGIN").unwrap();
    add(&insert, 0..100);
    assert_eq!(one(&connection, "SELECT count(*), max(s) FROM t"), "100");
    add(&insert, 100..200);
    assert_eq!(one(&connection, "SELECT s FROM t WHERE id = 150"), "the text of 150");
    connection.execute("UPDATE t SET a = 500 WHERE id = 199; DELETE FROM t WHERE id < 10").unwrap();
    add(&insert, 200..300);
    assert_eq!(one(&connection, "SELECT sum(a) FROM t WHERE id >= 190"), "986");
    connection.execute("INSERT INTO t SELECT id + 1000, a, s FROM t").unwrap();
    add(&insert, 300..310);
    connection.execute("COMMIT").unwrap();
    assert_eq!(one(&connection, "SELECT count(*) FROM t"), "590");
}

#[test]
fn a_statement_that_fails_leaves_those_before() {
    let connection = connect();
    let insert = insert(&connection);
    connection.execute("BEGIN").unwrap();
    add(&insert, 0..50);
    let fails = |row: [Value; 3], state: &str| {
        assert_eq!(insert.execute(&row.into()).unwrap_err().sqlstate(), state);
    };
    let text = || Value::from("x");
    fails([Value::Integer(49), Value::Integer(1), text()], "23505");
    fails([Value::Integer(60), Value::Integer(1), Value::Null], "23502");
    fails([Value::Integer(61), Value::Integer(1000), text()], "23514");
    fails([Value::Integer(62), Value::from("none"), text()], "22018");
    add(&insert, 50..60);
    fails([Value::Integer(0), Value::Integer(1), text()], "23505");
    connection.execute("COMMIT").unwrap();
    assert_eq!(one(&connection, "SELECT count(*) FROM t"), "60");
    assert_eq!(one(&connection, "SELECT max(id) FROM t"), "59");
}

#[test]
fn savepoints_and_rollback_undo_them() {
    let connection = connect();
    let insert = insert(&connection);
    connection.execute("BEGIN").unwrap();
    add(&insert, 0..10);
    connection.execute("SAVEPOINT first").unwrap();
    add(&insert, 10..20);
    connection.execute("SAVEPOINT second").unwrap();
    add(&insert, 20..30);
    connection.execute("ROLLBACK TO second").unwrap();
    add(&insert, 25..27);
    assert_eq!(one(&connection, "SELECT list(id) FROM t WHERE id >= 18"), "[18, 19, 25, 26]");
    connection.execute("ROLLBACK TO first").unwrap();
    add(&insert, 10..12);
    connection.execute("RELEASE first; COMMIT").unwrap();
    assert_eq!(one(&connection, "SELECT list(id) FROM t"), "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]");
    connection.execute("BEGIN").unwrap();
    add(&insert, 100..200);
    connection.execute("ROLLBACK").unwrap();
    assert_eq!(one(&connection, "SELECT count(*) FROM t"), "12");
    add(&insert, 100..110);
    assert_eq!(one(&connection, "SELECT count(*) FROM t"), "22");
}

#[test]
fn the_same_key_of_two_connections_is_committed_once() {
    let connection = connect();
    let other = connection.cursor().unwrap();
    let (first, second) = (insert(&connection), insert(&other));
    for (own, others, commits) in [(0..10, 20..30, true), (40..50, 49..60, false)] {
        connection.execute("BEGIN").unwrap();
        other.execute("BEGIN").unwrap();
        add(&first, own.clone());
        add(&second, others.clone());
        assert_eq!(one(&other, &format!("SELECT count(*) FROM t WHERE id = {}", others.start)), "1");
        connection.execute("COMMIT").unwrap();
        assert_eq!(other.execute("COMMIT").is_ok(), commits);
        let rows = format!("SELECT count(*) FROM t WHERE id BETWEEN {} AND {}", own.start, others.end);
        assert_eq!(one(&connection, &rows), if commits { "20" } else { "10" });
    }
}

#[test]
fn tables_that_are_altered_have_them() {
    let connection = connect();
    let insert = insert(&connection);
    connection.execute("BEGIN").unwrap();
    add(&insert, 0..20);
    connection.execute("ALTER TABLE t ADD COLUMN more BIGINT DEFAULT 5").unwrap();
    assert!(insert.execute(&row(20)).is_err(), "a value is missing");
    let wider = connection.prepare("INSERT INTO t VALUES (?, ?, ?, 6)").unwrap();
    add(&wider, 20..30);
    connection.execute("CREATE INDEX t_a ON t (a)").unwrap();
    add(&wider, 30..40);
    assert_eq!(one(&connection, "SELECT count(*) FROM t WHERE a = 3"), "4");
    connection.execute("ALTER TABLE t DROP COLUMN s").unwrap();
    connection.execute("COMMIT").unwrap();
    assert_eq!(one(&connection, "SELECT sum(more) FROM t"), "220");
}

#[test]
fn many_become_row_groups_and_any_order_of_keys_is_unique() {
    let connection = connect();
    let insert = insert(&connection);
    connection.execute("BEGIN").unwrap();
    add(&insert, 0..140_000);
    assert_eq!(one(&connection, "SELECT count(DISTINCT id) FROM t"), "140000");
    let scattered = (0..5000).map(|step| 200_000 + step * 7919 % 5003);
    add(&insert, scattered.clone());
    for taken in [0, 139_999, 200_000, 204_999] {
        assert_eq!(insert.execute(&row(taken)).unwrap_err().sqlstate(), "23505", "{taken}");
    }
    connection.execute("COMMIT").unwrap();
    assert_eq!(one(&connection, "SELECT count(DISTINCT id) FROM t"), "145000");
    assert_eq!(one(&connection, "SELECT count(*) FROM t WHERE id = 204999"), "1");
}

#[test]
fn foreign_keys_and_returned_rows_are_as_before() {
    let connection = connect();
    connection.execute("CREATE TABLE child (id INTEGER REFERENCES t (id), x INTEGER UNIQUE)").unwrap();
    let (parent, child) =
        (insert(&connection), connection.prepare("INSERT INTO child VALUES (?, ?)").unwrap());
    let returning = connection.prepare("INSERT INTO t VALUES (?, 1, 'r') RETURNING id + 1").unwrap();
    connection.execute("BEGIN").unwrap();
    for id in 0..20 {
        add(&parent, [id]);
        child.execute(&[Value::Integer(id), Value::Integer(id)].into()).unwrap();
        let orphan = child.execute(&[Value::Integer(id + 1), Value::Integer(id + 1)].into());
        assert_eq!(orphan.unwrap_err().sqlstate(), "23503");
        let returned = returning.execute(&[Value::Integer(1000 + id)].into()).unwrap();
        assert_eq!(returned.value(0, 0).unwrap(), Value::Integer(1001 + id));
    }
    connection.execute("COMMIT").unwrap();
    assert_eq!(one(&connection, "SELECT count(*) FROM child"), "20");
    assert_eq!(one(&connection, "SELECT count(*) FROM t"), "40");
}

#[test]
fn they_are_in_the_log() {
    let folder = Folder::new("open-rows");
    let (path, copy) = (folder.file("t.inlay"), folder.file("copy.inlay"));
    let connection = Database::open(&path, &[]).unwrap().connect();
    connection.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER, s VARCHAR)").unwrap();
    let statement = insert(&connection);
    statement.execute_many(&(0..6000).map(row).collect::<Vec<_>>(), None).unwrap();
    connection.execute("BEGIN").unwrap();
    add(&statement, 6000..6010);
    // What is not committed is not in a copy of the files; what is committed is, without a checkpoint.
    copy_database(&path, &copy);
    let reopened = Database::open(&copy, &[]).unwrap().connect();
    assert_eq!(one(&reopened, "SELECT sum(id) FROM t"), (0..6000).sum::<i64>().to_string());
    assert_eq!(reopened.execute("INSERT INTO t VALUES (5999, 1, '')").unwrap_err().sqlstate(), "23505");
}

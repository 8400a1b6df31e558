//! What a transaction that stays open costs while others change what it reads: the version that it reads, once.

use crate::alone;
use crate::memory::{MIB, open, status};
use inlay::{Connection, Database, Parameters, Value};

const ROWS: i64 = 20_000;
/// Bytes of a changed text.
const TEXT: u64 = 100;

fn number(connection: &Connection, sql: &str) -> i64 {
    let result = connection.execute(sql).unwrap();
    result.value(0, 0).unwrap().to_string().parse().unwrap()
}

fn fill(database: &Database) -> Connection {
    let connection = database.connect();
    connection.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER, s VARCHAR)").unwrap();
    let rows = format!("INSERT INTO t SELECT i, -1, repeat('x', 100) FROM range({ROWS}) r(i)");
    connection.execute(&rows).unwrap();
    connection
}

/// Gives rows, one after the other, another text and number.
fn update(connection: &Connection, numbers: std::ops::Range<i64>) {
    for number in numbers {
        let text = Value::Varchar(format!("{number:0100}"));
        let positional = vec![text, Value::BigInt(number), Value::BigInt(number * 7919 % ROWS)];
        let parameters = Parameters { positional, named: Vec::new() };
        let sql = "UPDATE t SET s = ?, n = ? WHERE id = ?";
        connection.execute_with(sql, &parameters, None).unwrap();
    }
}

/// A transaction that has read the table.
fn reader(database: &Database) -> Connection {
    let reader = database.connect();
    reader.execute("BEGIN").unwrap();
    assert_eq!(number(&reader, "SELECT count(*) FROM t"), ROWS);
    reader
}

/// Changed rows cost an open reader about their bytes, and nothing when it has ended.
#[test]
fn a_reader_that_stays_open_costs_what_was_changed() {
    let _guard = alone();
    let database = open(100 * MIB);
    let connection = fill(&database);
    update(&connection, 0..1_000);
    let reader = reader(&database);
    let before = status("VmRSS:");
    let count = 30_000;
    update(&connection, 1_000..1_000 + count);
    let grown = status("VmRSS:").saturating_sub(before);
    assert!(grown < 3 * TEXT * count as u64, "{grown} bytes");
    assert_eq!(number(&reader, "SELECT count(*) FROM t WHERE n < 1000 AND (n = -1) = (s LIKE 'x%')"), ROWS);
    assert_eq!(number(&connection, "SELECT min(n) FROM t"), 1_000 + count - ROWS);
}

/// Nobody has to add a row, or to make a checkpoint.
#[test]
fn what_a_reader_kept_goes_when_it_ends() {
    let _guard = alone();
    let limit = 64 * MIB;
    let database = open(limit);
    let connection = database.connect();
    connection.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, s VARCHAR)").unwrap();
    connection.execute("INSERT INTO t SELECT i, repeat('x', 1000) || i FROM range(5000) r(i)").unwrap();
    // Each of these has a version of its own, until there is no room for more.
    let mut readers = Vec::new();
    let refused = (0..100).find_map(|number| {
        let reader = database.connect();
        reader.execute("BEGIN").unwrap();
        reader.execute("SELECT count(*) FROM t").unwrap();
        readers.push(reader);
        let all = format!("UPDATE t SET s = repeat('{}', 1000) || id", number % 10);
        connection.execute(&all).err()
    });
    assert_eq!(refused.map(|error| error.sqlstate()), Some("53200"));
    for reader in readers {
        reader.execute("ROLLBACK").unwrap();
    }
    let more = connection.execute("UPDATE t SET s = repeat('z', 1000) || id");
    assert!(more.is_ok(), "{:?}", more.err());
}

/// Several readers at different moments each see theirs, and those in between cost only their versions.
#[test]
fn readers_of_several_moments_each_see_theirs() {
    let _guard = alone();
    let database = open(100 * MIB);
    let connection = fill(&database);
    let before = status("VmRSS:");
    let mut readers: Vec<Connection> = Vec::new();
    for round in 0..20 {
        readers.push(reader(&database));
        update(&connection, round * 500..(round + 1) * 500);
    }
    let grown = status("VmRSS:").saturating_sub(before);
    assert!(grown < 24 * MIB, "{grown} bytes");
    for (round, reader) in readers.iter().enumerate() {
        let newest = number(reader, "SELECT max(n) FROM t");
        assert_eq!(newest, if round == 0 { -1 } else { round as i64 * 500 - 1 });
    }
    for reader in readers.drain(..).rev().step_by(2) {
        reader.execute("COMMIT").unwrap();
    }
    update(&connection, 10_000..10_100);
    assert_eq!(number(&connection, "SELECT max(n) FROM t"), 10_099);
}

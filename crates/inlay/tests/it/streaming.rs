//! Results that are computed while they are read: the same rows as at once, as of their statement, in bounded memory.

use crate::support::folder::Folder;
use inlay::{Connection, Database, Error, Parameters, QueryResult, Rest, Value};

/// A table of 300,000 rows, and another of 1,000.
fn database() -> Connection {
    let connection = Database::open_in_memory().unwrap().connect();
    connection
        .execute(
            "CREATE TABLE t AS SELECT i, i % 1000 AS k, 'text ' || i AS s FROM range(300000) r(i);
             CREATE TABLE u AS SELECT i * 2 AS k, i::VARCHAR AS name FROM range(1000) r(i)",
        )
        .unwrap();
    connection
}

fn streamed(connection: &Connection, sql: &str, first_bytes: usize) -> (QueryResult, Option<Rest>) {
    connection.stream_with(sql, inlay::Extent::Script, &Parameters::default(), None, first_bytes).unwrap()
}

fn rows_of(result: &QueryResult) -> Vec<Vec<Value>> {
    let row = |row| (0..result.types().len()).map(|column| result.value(row, column).unwrap()).collect();
    (0..result.row_count()).map(row).collect()
}

/// All rows, and in how many parts they came.
fn read(first: QueryResult, rest: Option<Rest>) -> (Vec<Vec<Value>>, usize) {
    let (mut rows, mut parts) = (rows_of(&first), 1);
    while let Some(part) = rest.as_ref().and_then(|rest| rest.next(None).unwrap()) {
        assert!(part.row_count() > 0);
        rows.extend(rows_of(&part));
        parts += 1;
    }
    (rows, parts)
}

#[test]
fn parts_put_together_are_the_whole_result() {
    let connection = database();
    let queries = [
        "SELECT i + 1, s FROM t WHERE k <> 7",
        "SELECT t.i, u.name FROM t JOIN u USING (k)",
        "SELECT t.i, u.name FROM t FULL JOIN u USING (k) WHERE t.k IS NULL OR t.k < 500",
        "SELECT t.i, n FROM t LEFT JOIN (SELECT k, name AS n FROM u) USING (k)",
        "SELECT i, s FROM t ORDER BY s DESC",
        "SELECT s, count(*), min(i) FROM t GROUP BY s ORDER BY 3",
        "SELECT i, sum(i) OVER (PARTITION BY k ORDER BY i) FROM t ORDER BY i",
        "SELECT i + 0 AS i FROM t LIMIT 200000 OFFSET 50000",
        "SELECT i + 0 AS i FROM t WHERE i < 100 LIMIT 5000",
        "SELECT i, s FROM t WHERE k > 3 UNION ALL SELECT k, name FROM u",
        "SELECT i, x FROM t, unnest([i, i + 1]) v(x)",
        "SELECT a.i, b.i FROM range(600) a(i), range(500) b(i) WHERE a.i <> b.i",
        "SELECT i FROM range(1000000) r(i)",
        "SELECT s FROM t WHERE i < 0",
    ];
    for threads in [1, 4] {
        connection.execute(&format!("SET threads = {threads}")).unwrap();
        for query in queries {
            let expected = rows_of(&connection.execute(query).unwrap());
            let (first, rest) = streamed(&connection, query, 100_000);
            let (found, parts) = read(first, rest);
            let is_large = expected.len() > 100_000;
            assert!(found == expected, "{query}: {} rows, not {}", found.len(), expected.len());
            assert_eq!(parts > 1, is_large, "{query} with {threads} threads: {parts} parts");
            let (first, rest) = streamed(&connection, query, 100_000);
            let joined = rest.map_or(first.clone(), |rest| rest.join(first, None).unwrap());
            assert!(rows_of(&joined) == expected, "{query}, joined");
        }
    }
}

#[test]
fn rows_are_those_of_the_statement() {
    let connection = database();
    let query = "SELECT i, s FROM t WHERE k < 900";
    let expected = rows_of(&connection.execute(query).unwrap());
    let (first, rest) = streamed(&connection, query, 1000);
    assert!(rest.is_some());
    connection.execute("DELETE FROM t WHERE i % 2 = 0").unwrap();
    connection.execute("UPDATE t SET s = 'changed'; DROP TABLE t").unwrap();
    assert!(read(first, rest).0 == expected);
}

#[test]
fn what_leaves_traces_is_carried_out_at_once() {
    let connection = database();
    connection.execute("CREATE SEQUENCE numbers").unwrap();
    let (first, rest) = streamed(&connection, "SELECT nextval('numbers'), s FROM t", 1000);
    assert!(rest.is_none());
    assert_eq!(first.row_count(), 300_000);
    let next = connection.execute("SELECT nextval('numbers')").unwrap().value(0, 0).unwrap();
    assert_eq!(next, Value::BigInt(300_001));
    let (first, rest) = streamed(&connection, "INSERT INTO t SELECT * FROM t RETURNING i", 1000);
    assert!(rest.is_none());
    assert_eq!(first.row_count(), 300_000);
    connection.execute("SET statement_timeout = '1h'").unwrap();
    assert!(streamed(&connection, "SELECT i + 1 FROM t", 1000).1.is_none());
}

#[test]
fn errors_come_where_their_rows_are_and_stay() {
    let connection = database();
    let (first, rest) = streamed(&connection, "SELECT 1 // (i - 290000) FROM t", 1000);
    assert!(first.row_count() > 0);
    let rest = rest.unwrap();
    let failure = loop {
        match rest.next(None) {
            Ok(part) => assert!(part.is_some(), "the rows end before the row that fails"),
            Err(error) => break error,
        }
    };
    assert!(matches!(failure.root(), Error::DivisionByZero), "{failure}");
    assert_eq!(rest.next(None).map(|_| ()), Err(failure));
}

#[test]
fn a_closed_database_says_so() {
    let connection = database();
    let (_, rest) = streamed(&connection, "SELECT i + 1 FROM t", 1000);
    connection.close().unwrap();
    let error = rest.unwrap().next(None).unwrap_err();
    assert!(matches!(error.root(), Error::Closed { .. }), "{error}");
}

#[test]
fn interrupting_ends_what_is_read_and_nothing_else() {
    let connection = database();
    let (_, rest) = streamed(&connection, "SELECT i + 1 FROM t", 1000);
    let (_, other) = streamed(&connection, "SELECT i + 2 FROM t", 1000);
    connection.interrupt();
    let (rest, other) = (rest.unwrap(), other.unwrap());
    // Rows that are there already come first.
    let failure = loop {
        match rest.next(None) {
            Ok(part) => assert!(part.is_some()),
            Err(error) => break error,
        }
    };
    assert_eq!(failure, Error::Interrupted);
    while other.next(None).unwrap().is_some() {}
}

#[test]
fn results_larger_than_memory_are_read_and_written() {
    let connection = database();
    connection.execute("SET memory_limit = '64MB'").unwrap();
    let query = "SELECT a.i, b.i AS j, a.s FROM t a, range(40) b(i) WHERE a.i + b.i >= 0";
    let (first, rest) = streamed(&connection, query, 1000);
    let (mut count, rest) = (first.row_count(), rest.unwrap());
    while let Some(part) = rest.next(None).unwrap() {
        count += part.row_count();
    }
    assert_eq!(count, 12_000_000);
    drop(rest);
    let (first, rest) = streamed(&connection, query, 1000);
    let refused = rest.unwrap().join(first, None);
    assert!(matches!(refused.map(|_| ()), Err(Error::OutOfMemory { .. })));
    let folder = Folder::new("streaming");
    let copied = connection.execute(&format!("COPY ({query}) TO '{}'", folder.file("rows.csv"))).unwrap();
    assert_eq!(copied.value(0, 0).unwrap(), Value::BigInt(12_000_000));
}

/// What a program keeps is missing for others, until it lets go of it.
#[test]
fn rows_that_were_put_together_stay_counted() {
    let database = Database::open_in_memory().unwrap();
    let connection = database.connect();
    let before = database.memory_used();
    for sql in [
        // Waits, and is put together by who reads it; does not wait, and is put together by the statement.
        "SELECT range AS i, 'a text that is long ' || range AS s FROM range(500000)",
        "SELECT random() AS i, 'a text that is long ' || range AS s FROM range(500000)",
    ] {
        let (first, rest) = streamed(&connection, sql, 1 << 20);
        let all = match rest {
            Some(rest) => rest.join(first, None).unwrap(),
            None => first,
        };
        assert_eq!(all.row_count(), 500_000);
        let (used, one) = (database.memory_used(), all.slice(7..8));
        assert!(used > before + (8 << 20), "{used} bytes in use");
        drop(all);
        assert_eq!(database.memory_used(), used, "a row shares the memory of all");
        assert!(one.value(0, 1).unwrap().to_string().starts_with("a text"));
        drop(one);
        assert!(database.memory_used() < before + (1 << 20), "{} bytes in use", database.memory_used());
    }
}

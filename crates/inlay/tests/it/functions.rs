//! Functions of a host in a language made for this test: a body is `add N`, `total`, `fail` or `wide`.

use inlay::external::{Callee, ExternalFunction, FunctionDefinition, Kept, Language};
use inlay::types::{LogicalType, Vector};
use inlay::{Connection, Database, Error, Value};
use std::sync::{Arc, Mutex};

type Calls = Arc<Mutex<Vec<usize>>>;

/// Notes how many rows each call has.
#[derive(Debug)]
struct Toy {
    body: String,
    calls: Calls,
}

impl ExternalFunction for Toy {
    fn call(&self, args: &[Vector], len: usize, _kept: &Kept) -> inlay::Result<Vector> {
        self.calls.lock().unwrap().push(len);
        let given = |row: usize| args[0].get(row).as_i128().map(|value| value as i64);
        let value: Box<dyn Fn(usize) -> Option<i64>> = match self.body.trim().split_once(' ') {
            Some(("add", number)) => {
                let number: i64 = number.parse().unwrap();
                Box::new(move |row| given(row).map(|value| value + number))
            }
            _ if self.body.trim() == "total" => {
                let total = (0..len).filter_map(given).sum();
                Box::new(move |_| Some(total))
            }
            _ => return Err(Error::external("it fails")),
        };
        let values: Vec<Value> = (0..len).map(|row| value(row).map_or(Value::Null, Value::BigInt)).collect();
        Vector::from_sql_values(LogicalType::BigInt, &values)
    }
}

struct ToyLanguage(Calls);

impl Language for ToyLanguage {
    fn check(&self, definition: &FunctionDefinition) -> inlay::Result<()> {
        match definition.body.trim() {
            "" => Err(Error::Syntax { message: "an empty body".into() }),
            _ => Ok(()),
        }
    }

    fn prepare(&self, definition: &FunctionDefinition) -> inlay::Result<Callee> {
        Ok(Callee::Scalar(Arc::new(Toy { body: definition.body.clone(), calls: Arc::clone(&self.0) })))
    }
}

fn connected() -> (Connection, Calls) {
    let database = Database::open_in_memory().unwrap();
    let calls = Calls::default();
    database.set_language("toy", Arc::new(ToyLanguage(Arc::clone(&calls))));
    let connection = database.connect();
    for sql in [
        "SET allow_python = true",
        "SET threads = 1",
        "CREATE FUNCTION inc(x BIGINT) RETURNS BIGINT LANGUAGE TOY_MAP AS $$add 1$$",
        "CREATE FUNCTION ten(x BIGINT) RETURNS BIGINT LANGUAGE TOY_MAP IMMUTABLE AS $$add 10$$",
        "CREATE FUNCTION total(x BIGINT) RETURNS BIGINT LANGUAGE TOY AS $$total$$",
        "CREATE FUNCTION fails(x BIGINT) RETURNS BIGINT LANGUAGE TOY_MAP AS $$fail$$",
        "CREATE TABLE t AS SELECT i, i % 10 AS g FROM range(100000) r(i)",
    ] {
        connection.execute(sql).unwrap();
    }
    (connection, calls)
}

/// The only value of a query's answer, and how many rows each call had.
fn ask(connection: &Connection, calls: &Calls, sql: &str) -> (String, Vec<usize>) {
    calls.lock().unwrap().clear();
    let answer = connection.execute(sql).unwrap_or_else(|error| panic_of(sql, &error));
    let value = answer.value(0, 0).unwrap().to_string();
    (value, std::mem::take(&mut *calls.lock().unwrap()))
}

fn panic_of(sql: &str, error: &Error) -> inlay::QueryResult {
    panic!("{sql}: {error}")
}

fn error_of(connection: &Connection, sql: &str) -> String {
    connection.execute(sql).err().map_or_else(|| format!("{sql} gave no error"), |error| error.to_string())
}

/// Many rows are called at a time, and all of them once.
#[test]
fn calls_have_chunks_of_many_rows() {
    let (connection, calls) = connected();
    for sql in [
        "SELECT sum(inc(i)) FROM t",
        "SELECT sum(x) FROM (SELECT inc(i) AS x FROM t)",
        "SELECT count(*) FROM t WHERE inc(i) > 0",
        "SELECT count(*) FROM (SELECT inc(i) AS k FROM t GROUP BY k)",
        "SELECT i FROM t ORDER BY inc(i) DESC LIMIT 1",
        "SELECT max(s) FROM (SELECT sum(inc(i)) OVER (PARTITION BY g) AS s FROM t)",
    ] {
        let (_, calls) = ask(&connection, &calls, sql);
        assert_eq!(calls.iter().sum::<usize>(), 100_000, "{sql}");
        assert!(calls.len() <= 8, "{sql}: {calls:?}");
    }
    let (sum, calls) = ask(&connection, &calls, "SELECT sum(inc(inc(i)) + inc(i)) FROM t");
    assert_eq!(sum, "9999900000".to_string().parse::<i64>().map(|sum| (sum + 300_000).to_string()).unwrap());
    assert_eq!(calls.iter().sum::<usize>(), 200_000, "inc(i) is computed once");
}

/// A function of whole columns is called once, wherever rows can be gathered, and refused elsewhere.
#[test]
fn whole_columns_are_one_call() {
    let (connection, calls) = connected();
    connection.execute("SET threads = 2").unwrap();
    for (sql, value, rows) in [
        ("SELECT max(total(i)) FROM t", "4999950000", 100_000),
        ("SELECT max(total(i)) FROM t WHERE i < 5", "10", 5),
        ("SELECT count(*) FROM t WHERE i < 5 AND total(i) = 10", "5", 5),
        ("SELECT total(inc(i)) FROM t WHERE g = 0 ORDER BY ALL LIMIT 1", "499960000", 10_000),
        ("SELECT total(7)", "7", 1),
    ] {
        let (found, calls) = ask(&connection, &calls, sql);
        assert_eq!((found.as_str(), calls.last()), (value, Some(&rows)), "{sql}");
    }
    for sql in [
        "SELECT list_transform([1, 2], x -> total(x))",
        "SELECT count(*) FROM t a JOIN t b ON total(a.i) + b.i = 5",
        "CREATE TABLE c (x BIGINT CHECK (total(x) > 0)); INSERT INTO c VALUES (1)",
    ] {
        assert!(error_of(&connection, sql).contains("takes whole columns"), "{}", error_of(&connection, sql));
    }
}

/// A branch that no row reaches calls nothing.
#[test]
fn guards_keep_rows_from_calls() {
    let (connection, calls) = connected();
    for (sql, rows) in [
        ("SELECT max(CASE WHEN i < 7 THEN inc(i) END) FROM t", 7),
        ("SELECT max(CASE WHEN i >= 7 THEN 0 ELSE inc(i) END) FROM t", 7),
        ("SELECT count(*) FROM t WHERE i < 9 AND inc(i) > 0", 9),
        ("SELECT count(*) FILTER (i < 9 AND inc(i) > 0) FROM t", 9),
        ("SELECT sum(inc(i)) FILTER (i < 9) FROM t", 9),
        ("SELECT max(coalesce(nullif(i, 5), inc(i))) FROM t", 1),
        ("SELECT max(CASE WHEN i < 0 THEN fails(i) ELSE i END) FROM t", 0),
        ("SELECT max(CASE WHEN i > 0 THEN CASE WHEN 100 / i > 30 THEN inc(i) END END) FROM t", 3),
        ("SELECT list_sum(list_transform([1, 2, 3], x -> CASE WHEN x > 2 THEN inc(x) ELSE 0 END))", 1),
    ] {
        let (_, calls) = ask(&connection, &calls, sql);
        assert_eq!(calls.iter().sum::<usize>(), rows, "{sql}: {calls:?}");
    }
}

/// The optimizer and commit call nothing, kept plans hold no calls.
#[test]
fn nothing_is_called_but_by_rows() {
    let (connection, calls) = connected();
    ask(&connection, &calls, "EXPLAIN SELECT * FROM t WHERE ten(i) = 10 AND ten(5) = 15");
    let (_, seen) = ask(&connection, &calls, "EXPLAIN SELECT ten(1) + ten(2)");
    assert!(seen.is_empty());
    connection.execute("SET plan_cache = 'eager'").unwrap();
    connection.execute("CREATE TABLE k (i BIGINT PRIMARY KEY)").unwrap();
    connection.execute("INSERT INTO k VALUES (1), (2)").unwrap();
    for _ in 0..3 {
        assert_eq!(ask(&connection, &calls, "SELECT ten(i) FROM k WHERE i = 1").0, "11");
    }
    connection
        .execute("CREATE OR REPLACE FUNCTION ten(x BIGINT) RETURNS BIGINT LANGUAGE TOY_MAP AS $$add 20$$")
        .unwrap();
    assert_eq!(ask(&connection, &calls, "SELECT ten(i) FROM k WHERE i = 1").0, "21");
    let other = connection.cursor().unwrap();
    connection.execute("BEGIN").unwrap();
    ask(&connection, &calls, "SELECT count(*) FROM k WHERE ten(i) = 22");
    connection.execute("INSERT INTO t VALUES (-1, 0)").unwrap();
    other.execute("UPDATE t SET g = 11 WHERE i = 5").unwrap();
    calls.lock().unwrap().clear();
    connection.execute("COMMIT").unwrap();
    assert!(calls.lock().unwrap().is_empty());
}

/// Chunks give way to the memory limit; whole columns cannot.
#[test]
fn memory_is_the_databases() {
    let (connection, calls) = connected();
    connection.execute("SET memory_limit = '4MB'").unwrap();
    let (sum, seen) = ask(&connection, &calls, "SELECT sum(inc(i)) FROM range(3000000) r(i)");
    assert_eq!((sum.as_str(), seen.iter().sum::<usize>()), ("4500001500000", 3_000_000));
    let error = error_of(&connection, "SELECT max(total(i)) FROM range(3000000) r(i)");
    assert!(error.contains("out of memory"), "{error}");
}

/// What fails, fails with a reason.
#[test]
fn errors_name_the_function() {
    let (connection, _) = connected();
    for (sql, message) in [
        ("SELECT fails(i) FROM t", "it fails"),
        ("SELECT inc('x')", "could not convert 'x' to BIGINT"),
        ("SELECT inc(1, 2)", "no function inc(INTEGER, INTEGER)"),
        ("SELECT inc(DISTINCT 1)", "is a scalar function"),
        ("SELECT incc(1)", "did you mean \"inc\"?"),
        ("CREATE FUNCTION f(x BIGINT) RETURNS BIGINT LANGUAGE TOY_MAP AS $$ $$", "an empty body"),
        ("CREATE FUNCTION f(x BIGINT) RETURNS BIGINT LANGUAGE COBOL AS $$ $$", "cannot be written in"),
        ("CREATE INDEX ix ON t (inc(i))", "may be replaced"),
        ("SET allow_python = false; SELECT inc(1)", "SET allow_python = true"),
    ] {
        let error = error_of(&connection, sql);
        assert!(error.contains(message), "{sql}: {error}");
    }
    let plain = Database::open_in_memory().unwrap().connect();
    plain.execute("SET allow_python = true").unwrap();
    plain.execute("CREATE FUNCTION p(x INT) RETURNS INT LANGUAGE PYTHON { return x }").unwrap();
    assert!(error_of(&plain, "SELECT p(1)").contains("this host brings no such language"));
}

//! Connections of the facade to a server: the same calls and results as embedded.

use crate::support::server;
use inlay::types::{LogicalType, Value};
use inlay::{
    ColumnSource, Connection, Database, ErrorKind, Extent, Host, Parameters, ResultKind, Tables, params,
};
use inlay_server::Server;
use std::sync::Arc;
use std::time::Duration;

fn connect(server: &Server) -> Connection {
    Database::open(&format!("inlay://ann@{}", server.native.unwrap()), &[]).unwrap().connect()
}

fn rows(connection: &Connection, sql: &str) -> Vec<String> {
    let answer = connection.execute(sql).unwrap();
    answer.rows().map(|row| format!("{:?}", row.unwrap().values())).collect()
}

/// What a statement of either connection says.
fn said(connection: &Connection, sql: &str) -> String {
    match connection.execute(sql) {
        Ok(answer) => {
            let rows: Vec<String> = answer.rows().map(|row| format!("{:?}", row.unwrap().values())).collect();
            format!("{} {:?} {:?} {rows:?}", answer.command_tag(), answer.names(), answer.types())
        }
        Err(error) => format!("{:?} {} {error}", error.kind(), error.sqlstate()),
    }
}

#[test]
fn statements_say_what_they_say_embedded() {
    let server = server();
    let (far, here) = (connect(&server), Database::open_in_memory().unwrap().connect());
    for sql in [
        "SELECT 1 AS a, 'x' AS b, NULL AS c",
        "",
        "CREATE TABLE t (a INTEGER PRIMARY KEY, b VARCHAR)",
        "INSERT INTO t VALUES (1, 'one'), (2, NULL)",
        "INSERT INTO t VALUES (3, 'three') RETURNING a + 1 AS next",
        "FROM t ORDER BY a DESC",
        "UPDATE t SET b = 'x' WHERE a > 1",
        "DELETE FROM t WHERE a = 3",
        "SELECT x FROM t",
        "SELECT *\nFROM t\nWHERE nothing = 1",
        "SELEC 1",
        "SELECT a FROM nowhere",
        "INSERT INTO t VALUES (1, 'again')",
        "SELECT 1; SELECT a,\n b, x FROM t",
        "SELECT CAST(b AS INTEGER) FROM t WHERE a = 1",
        "SELECT 1 // 0",
        "BEGIN; INSERT INTO t VALUES (9, 'nine'); ROLLBACK",
        "SELECT count(*) FROM t",
        "PREPARE p AS SELECT a + $1 AS s FROM t ORDER BY a",
        "EXECUTE p(10)",
        "SHOW TABLES",
        "SELECT TIMESTAMPTZ '2026-01-01 00:00:00+00' AS m",
        "SET VARIABLE v = 7",
        "SELECT getvariable('v') AS v",
        "COMMIT",
        "SELECT [1, NULL], {'a': 1}, MAP {'k': 2}, 1.50, DATE '2026-02-03', INTERVAL 3 DAY, 'a'::BLOB, uuid('00000000-0000-0000-0000-0000000000ff')",
    ] {
        assert_eq!(said(&far, sql), said(&here, sql), "{sql}");
    }
}

#[test]
fn values_prepared_statements_and_many_sets_go_there() {
    let server = server();
    let far = connect(&server);
    let answer = far.query("SELECT ? + 1, ?, ?", params![41, "text", Option::<i64>::None]).unwrap();
    let values = answer.rows().next().unwrap().unwrap().values().to_vec();
    assert_eq!(values, [Value::Integer(42), Value::Varchar("text".to_string()), Value::Null]);
    let answer = far.query("SELECT $x || $y", params! { x: "a", y: "b" }).unwrap();
    assert_eq!(answer.value(0, 0).unwrap().to_string(), "ab");
    assert_eq!(far.query("SELECT ?", params![]).unwrap_err().kind(), ErrorKind::InvalidArgument);
    far.execute("CREATE TABLE t (id BIGINT PRIMARY KEY, name VARCHAR)").unwrap();
    let insert = far.prepare("INSERT INTO t VALUES (?, ?)").unwrap();
    let shape = insert.describe(None).unwrap();
    assert_eq!(shape.parameters[0].ty, Some(LogicalType::BigInt));
    let sets: Vec<Parameters> = (0..1000).map(|id| params![id, format!("n{id}")]).collect();
    assert_eq!(insert.execute_many(&sets, None).unwrap().kind(), ResultKind::Changed(1000));
    // All or nothing.
    let sets: Vec<Parameters> = [2000, 2001, 5].map(|id| params![id, "x"]).to_vec();
    assert_eq!(insert.execute_many(&sets, None).unwrap_err().kind(), ErrorKind::Unique);
    assert_eq!(rows(&far, "SELECT count(*) FROM t"), ["[BigInt(1000)]"]);
    let find = far.prepare("SELECT name FROM t WHERE id = ?").unwrap();
    assert_eq!(find.describe(None).unwrap().columns.unwrap()[0].1, LogicalType::Varchar);
    for id in [0, 7, 999] {
        let found = find.execute(&params![id]).unwrap();
        assert_eq!(found.value(0, 0).unwrap().to_string(), format!("n{id}"));
    }
}

#[test]
fn transactions_and_sessions_are_apart() {
    let server = server();
    let (far, other) = (connect(&server), connect(&server));
    far.execute("CREATE TABLE t (a INTEGER)").unwrap();
    far.begin().unwrap();
    assert!(far.in_transaction() && far.begin().is_err());
    far.execute("INSERT INTO t VALUES (1)").unwrap();
    assert_eq!(rows(&other, "SELECT count(*) FROM t"), ["[BigInt(0)]"]);
    let inner = far.transaction().unwrap();
    far.execute("INSERT INTO t VALUES (2)").unwrap();
    inner.rollback().unwrap();
    assert!(far.commit().unwrap() && !far.in_transaction() && !far.commit().unwrap());
    assert_eq!(rows(&other, "FROM t"), ["[Integer(1)]"]);
    far.set_autocommit(false).unwrap();
    far.execute("INSERT INTO t VALUES (3)").unwrap();
    assert!(far.in_transaction() && far.rollback().unwrap());
    let cursor = far.cursor().unwrap();
    cursor.execute("CREATE TEMP TABLE mine (a INTEGER)").unwrap();
    assert!(far.execute("FROM mine").is_err());
    assert_eq!((far.catalog().unwrap(), far.schema().unwrap()), ("memory".to_string(), "main".to_string()));
    far.close().unwrap();
    assert_eq!(far.execute("SELECT 1").unwrap_err().kind(), ErrorKind::Closed);
}

#[test]
fn rows_go_there_and_come_back_in_parts() {
    let server = server();
    let far = connect(&server);
    let column = inlay::vector_of_values((0..5000).map(Value::from).collect()).unwrap();
    let source = Arc::new(ColumnSource::new("mine", vec![("a".to_string(), column)]).unwrap());
    far.register("mine", source.clone()).unwrap();
    assert_eq!(rows(&far, "SELECT sum(a)::BIGINT FROM mine"), ["[BigInt(12497500)]"]);
    assert!(far.unregister("mine").unwrap());
    assert_eq!(far.execute("FROM mine").unwrap_err().kind(), ErrorKind::UndefinedTable);
    let host: Arc<dyn Host> = Arc::new(Tables::one("given", source.clone()));
    let answer = far.execute_with("SELECT count(*) FROM given", &params![], Some(&host)).unwrap();
    assert_eq!(answer.value(0, 0).unwrap().to_string(), "5000");
    assert!(far.execute("FROM given").is_err());
    far.execute("CREATE TABLE t (a INTEGER)").unwrap();
    assert_eq!(far.append(["t"], source, false, None).unwrap(), 5000);
    let mut appender = far.appender(["t"], None).unwrap();
    (0..10).for_each(|a| appender.push_row(&[a.into()], None).unwrap());
    assert_eq!(appender.close(None).unwrap(), 10);
    assert_eq!(rows(&far, "SELECT count(*) FROM t"), ["[BigInt(5010)]"]);
    let (first, rest) = far
        .stream_with("SELECT range AS n FROM range(3000000)", Extent::Script, &params![], None, 1 << 20)
        .unwrap();
    let rest = rest.expect("not all of it is there");
    // Others run meanwhile.
    assert_eq!(rows(&far, "SELECT 1"), ["[Integer(1)]"]);
    let mut count = first.row_count();
    while let Some(more) = rest.next(None).unwrap() {
        count += more.row_count();
    }
    assert_eq!(count, 3_000_000);
}

#[test]
fn what_runs_is_interrupted_and_progress_is_told() {
    let server = server();
    let far = connect(&server);
    let slow = "SELECT count(*) FROM range(1000000) a, range(1000000) b WHERE (a.range * b.range) % 7 = 3";
    let other = far.clone();
    let thread = std::thread::spawn(move || {
        let mut seen = false;
        for _ in 0..500 {
            seen |= other.progress().is_some();
            if seen {
                break;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        other.interrupt();
        seen
    });
    assert_eq!(far.execute(slow).unwrap_err().kind(), ErrorKind::Interrupted);
    assert!(thread.join().unwrap(), "progress was told");
    far.execute("SET statement_timeout = '50ms'").unwrap();
    assert_eq!(far.execute(slow).unwrap_err().sqlstate(), "57014");
    far.execute("RESET statement_timeout").unwrap();
    assert_eq!(rows(&far, "SELECT 1"), ["[Integer(1)]"]);
}

#[test]
fn what_cannot_work_says_so() {
    let server = server();
    let far = connect(&server);
    let error = far.backup("x").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().contains("backup() over a connection to a server"), "{error}");
    let error = far.dump(None).map(drop).unwrap_err();
    assert!(error.hint().is_some_and(|hint| hint.contains("EXPORT DATABASE")), "{error}");
    let database = |address: &str| Database::open(address, &[]).err().unwrap();
    assert_eq!(database("inlay://127.0.0.1:1").kind(), ErrorKind::Closed);
    assert_eq!(database("inlay://").kind(), ErrorKind::InvalidArgument);
    assert_eq!(database(&format!("inlay://ann@{}/nowhere", server.native.unwrap())).sqlstate(), "22023");
    server.stop();
    assert_eq!(far.execute("SELECT 1").unwrap_err().kind(), ErrorKind::Closed);
}

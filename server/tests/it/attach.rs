//! ATTACH of a database at a server: what is read there, what is sent, and whose it is.

use crate::support::{options, server};
use inlay::types::Value;
use inlay::{Connection, Database, Error, ErrorKind, params};
use inlay_server::{Options, Server};
use std::time::{Duration, Instant};

fn rows(connection: &Connection, sql: &str) -> Vec<String> {
    let answer = connection.execute(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    let row = |row: Result<inlay::Row, Error>| {
        row.unwrap().values().iter().map(Value::to_string).collect::<Vec<_>>().join("|")
    };
    answer.rows().map(row).collect()
}

fn plan(connection: &Connection, sql: &str) -> String {
    rows(connection, &format!("EXPLAIN {sql}")).join("\n")
}

fn failure(connection: &Connection, sql: &str) -> Error {
    match connection.execute(sql) {
        Ok(_) => panic!("{sql} did not fail"),
        Err(error) => error,
    }
}

fn at(server: &Server) -> Connection {
    Database::open(&format!("inlay://{}", server.native.unwrap()), &[]).unwrap().connect()
}

/// A database here, with that of a server attached as `remote`.
fn attached(server: &Server) -> Connection {
    let here = Database::open_in_memory().unwrap().connect();
    here.execute(&format!("ATTACH 'inlay://{}/memory' AS remote", server.native.unwrap())).unwrap();
    here
}

fn filled() -> (Server, Connection, Connection) {
    let server = server();
    let there = at(&server);
    for sql in [
        "CREATE TABLE t (a INTEGER PRIMARY KEY, b VARCHAR, c DOUBLE)",
        "INSERT INTO t SELECT i, 'g' || i % 3, i / 4 FROM range(10000) AS r(i)",
        "CREATE VIEW v AS SELECT b, count(*) AS n FROM t GROUP BY b",
        "CREATE SCHEMA s",
        "CREATE TABLE s.u (a INTEGER, d DATE, l INTEGER[], p STRUCT(x INTEGER, y VARCHAR))",
        "INSERT INTO s.u VALUES (1, DATE '2026-01-02', [1, NULL], {'x': 1, 'y': 'one'}), (NULL, NULL, NULL, NULL)",
    ] {
        there.execute(sql).unwrap();
    }
    let here = attached(&server);
    (server, there, here)
}

#[test]
fn tables_and_views_are_read_and_joined() {
    let (_server, _, here) = filled();
    for (sql, wanted) in [
        ("SELECT count(*), min(a), max(b) FROM remote.t", vec!["10000|0|g2"]),
        ("SELECT * FROM remote.v ORDER BY b", vec!["g0|3334", "g1|3333", "g2|3333"]),
        ("FROM remote.main.t WHERE a = 7", vec!["7|g1|1.75"]),
        (
            "SELECT a, d, l, p FROM remote.s.u ORDER BY a NULLS LAST",
            vec!["1|2026-01-02|[1, NULL]|{'x': 1, 'y': one}", "NULL|NULL|NULL|NULL"],
        ),
        ("SELECT count(*) FROM remote.t AS x JOIN remote.t AS y ON x.a = y.a + 1", vec!["9999"]),
        (
            "SELECT a FROM remote.t WHERE a IN (SELECT i * 1000 FROM range(3) AS r(i)) ORDER BY a",
            vec!["0", "1000", "2000"],
        ),
        (
            "SELECT b, sum(a) FROM remote.t WHERE a < 100 GROUP BY b HAVING sum(a) > 1650 ORDER BY b",
            vec!["g0|1683"],
        ),
        ("SELECT a FROM remote.t ORDER BY c DESC, a LIMIT 3 OFFSET 1", vec!["9998", "9997", "9996"]),
        ("SELECT t.b, n FROM remote.t JOIN remote.v ON t.b = v.b WHERE a = 5", vec!["g2|3333"]),
        (
            "SELECT upper(b) || '!' FROM remote.t WHERE b LIKE 'g%' AND a BETWEEN 1 AND 2 ORDER BY 1",
            vec!["G1!", "G2!"],
        ),
        ("SELECT count(DISTINCT b) FILTER (WHERE a > 5), avg(c) FROM remote.t WHERE a < 8", vec!["2|0.875"]),
        ("SELECT a FROM remote.t WHERE a < 2 UNION ALL SELECT 100 ORDER BY 1", vec!["0", "1", "100"]),
        (
            "SELECT (SELECT max(a) FROM remote.t AS y WHERE y.b = x.b) FROM remote.v AS x ORDER BY x.b",
            vec!["9999", "9997", "9998"],
        ),
        ("SELECT row_number() OVER (ORDER BY a DESC), a FROM remote.t WHERE a < 2", vec!["1|1", "2|0"]),
        ("SELECT count(*) FROM remote.t WHERE b = 'none'", vec!["0"]),
        ("SELECT a FROM remote.t LIMIT 0", vec![]),
    ] {
        assert_eq!(rows(&here, sql), wanted, "{sql}\n{}", plan(&here, sql));
    }
    here.execute("CREATE TABLE names (b VARCHAR, name VARCHAR)").unwrap();
    here.execute("INSERT INTO names VALUES ('g0', 'zero'), ('g9', 'nine')").unwrap();
    let joined = "SELECT name, count(*) FROM names JOIN remote.t USING (b) GROUP BY name";
    assert_eq!(rows(&here, joined), ["zero|3334"]);
    assert_eq!(here.query("SELECT b FROM remote.t WHERE a = ?", params![4]).unwrap().row_count(), 1);
}

#[test]
fn what_a_server_can_do_is_sent_there() {
    let (_server, _, here) = filled();
    for (sql, sent) in [
        ("SELECT b FROM remote.t WHERE a > 9000", r#"remote: SELECT "c1" FROM (SELECT "a" AS c0, "b" AS c1"#),
        ("SELECT b FROM remote.t WHERE a > 9000", r#"FROM "main"."t" WHERE ("a" > 9000)"#),
        ("SELECT b, sum(c) FROM remote.t GROUP BY b", "GROUP BY"),
        ("SELECT * FROM remote.t LIMIT 5", "LIMIT 5"),
        ("SELECT * FROM remote.t ORDER BY a LIMIT 5", "NULLS LAST LIMIT 5"),
        ("SELECT x.a FROM remote.t AS x JOIN remote.s.u AS y ON x.a = y.a", "JOIN"),
        ("SELECT x.a FROM remote.t AS x WHERE EXISTS (FROM remote.s.u AS y WHERE x.a = y.a)", "EXISTS"),
    ] {
        let shown = plan(&here, sql);
        assert!(shown.contains(sent), "{sql}: {sent}\n{shown}");
        assert!(!shown.contains("HashJoin") && !shown.contains("Aggregate"), "{sql}\n{shown}");
    }
    // What would mean something else there, or is of this side alone, stays here.
    for sql in ["SELECT a FROM remote.t WHERE random() < 2", "SELECT a FROM remote.t WHERE c < epoch(now())"]
    {
        let shown = plan(&here, sql);
        assert!(!shown.contains("random(") || !shown.contains("WHERE"), "{shown}");
        assert_eq!(rows(&here, &format!("SELECT count(*) FROM ({sql})")), ["10000"]);
    }
    here.execute("CREATE TABLE local (a INTEGER)").unwrap();
    let append = plan(&here, "INSERT INTO remote.t SELECT a, 'x', 0 FROM local");
    assert!(append.contains("Append to t of remote") && append.contains("Scan local"), "{append}");
    let file = plan(&here, "INSERT INTO remote.t SELECT a, getvariable('v'), 0 FROM remote.t");
    assert!(file.contains("Append to t of remote"), "{file}");
    assert!(plan(&here, "DELETE FROM remote.t WHERE a = 1").contains("Send to remote: DELETE FROM"));
    assert!(
        plan(&here, "INSERT INTO remote.t SELECT i, 'x', 0 FROM range(3) AS r(i), range(2)")
            .contains("Send to remote: INSERT")
    );
}

#[test]
fn statements_change_the_database_there() {
    let (_server, there, here) = filled();
    here.execute("CREATE TABLE local (x BIGINT, y VARCHAR)").unwrap();
    here.execute("INSERT INTO local VALUES (20000, 'a'), (20001, NULL)").unwrap();
    let changed =
        |sql: &str| here.execute(sql).unwrap_or_else(|error| panic!("{sql}: {error}")).changed_rows();
    assert_eq!(changed("INSERT INTO remote.t (a, b) SELECT x, y FROM local"), Some(2));
    assert_eq!(
        changed(
            "WITH w AS (SELECT max(x) + 1 AS m FROM local) INSERT INTO remote.t BY NAME SELECT m AS a FROM w"
        ),
        Some(1)
    );
    assert_eq!(changed("INSERT INTO remote.t VALUES (30000, 'v', 1)"), Some(1));
    assert_eq!(
        rows(&there, "SELECT a, b, c FROM t WHERE a >= 20000 ORDER BY a"),
        ["20000|a|NULL", "20001|NULL|NULL", "20002|NULL|NULL", "30000|v|1.0",]
    );
    assert_eq!(changed("UPDATE remote.t SET b = 'new' WHERE a >= 20000"), Some(4));
    assert_eq!(rows(&here, "DELETE FROM remote.t WHERE a >= 20000 RETURNING a % 10 AS d, b").len(), 4);
    assert_eq!(changed("CREATE TABLE remote.copied AS SELECT *, [x] AS l FROM local"), Some(2));
    assert_eq!(rows(&there, "FROM copied ORDER BY x"), ["20000|a|[20000]", "20001|NULL|[20001]"]);
    assert_eq!(
        changed("CREATE OR REPLACE TABLE remote.copied AS SELECT a FROM remote.t WHERE a < 3"),
        Some(3)
    );
    here.execute("CREATE VIEW remote.w AS SELECT a + 1 AS b FROM remote.copied").unwrap();
    assert_eq!(rows(&here, "SELECT sum(b) FROM remote.w"), ["6"]);
    here.execute("ALTER TABLE remote.copied ADD COLUMN z INTEGER DEFAULT 5").unwrap();
    assert_eq!(rows(&here, "SELECT z FROM remote.copied LIMIT 1"), ["5"]);
    here.execute("DROP VIEW remote.w").unwrap();
    here.execute("DROP TABLE remote.copied").unwrap();
    assert_eq!(failure(&here, "FROM remote.copied").kind(), ErrorKind::UndefinedTable);
    // Large enough to be sent in parts, and from there to there.
    assert_eq!(
        changed(
            "CREATE TABLE remote.large AS SELECT i AS a, repeat('x', 20) AS b FROM range(300000) AS r(i)"
        ),
        Some(300000)
    );
    assert_eq!(rows(&here, "SELECT count(*), sum(length(b)) FROM remote.large"), ["300000|6000000"]);
    assert_eq!(
        changed(
            "INSERT INTO remote.large SELECT l.a, y FROM remote.large AS l JOIN local ON l.a + 20000 = x"
        ),
        Some(2)
    );
    here.execute("CREATE TABLE back AS FROM remote.large").unwrap();
    assert_eq!(rows(&here, "SELECT count(*), count(DISTINCT a) FROM back"), ["300002|300000"]);
    // USE makes its names those of statements.
    here.execute("USE remote").unwrap();
    assert_eq!(changed("INSERT INTO large VALUES (1, 'used')"), Some(1));
    assert_eq!(rows(&here, "SELECT a FROM large WHERE b = 'used'"), ["1"]);
    here.execute("USE memory").unwrap();
    // What reads both sides to change one is refused by name.
    let error = failure(&here, "DELETE FROM remote.t USING local WHERE t.a = local.x");
    assert!(error.to_string().contains("CREATE TABLE remote.copy AS"), "{error}");
    for sql in ["CHECKPOINT remote", "EXPORT DATABASE remote TO 'x'", "CREATE MACRO remote.m(a) AS a"] {
        assert_eq!(failure(&here, sql).kind(), ErrorKind::Unsupported, "{sql}");
    }
}

#[test]
fn a_transaction_sees_one_moment_and_changes_one_database() {
    let (_server, there, here) = filled();
    here.execute("BEGIN").unwrap();
    assert_eq!(rows(&here, "SELECT count(*) FROM remote.t"), ["10000"]);
    there.execute("INSERT INTO t VALUES (50000, 'there', 0)").unwrap();
    assert_eq!(rows(&here, "SELECT count(*) FROM remote.t"), ["10000"]);
    here.execute("COMMIT").unwrap();
    assert_eq!(rows(&here, "SELECT count(*) FROM remote.t"), ["10001"]);
    here.execute("BEGIN").unwrap();
    here.execute("DELETE FROM remote.t").unwrap();
    assert_eq!(rows(&here, "SELECT count(*) FROM remote.t"), ["0"]);
    assert_eq!(rows(&there, "SELECT count(*) FROM t"), ["10001"]);
    let error = failure(&here, "CREATE TABLE own (a INTEGER)");
    assert_eq!(error.kind(), ErrorKind::TransactionState);
    assert!(error.to_string().contains("COMMIT it before \"memory\" is changed"), "{error}");
    here.execute("CREATE TEMP TABLE own AS FROM remote.v").unwrap();
    here.execute("ROLLBACK").unwrap();
    assert_eq!(rows(&there, "SELECT count(*) FROM t"), ["10001"]);
    // Savepoints are those of both.
    here.execute("BEGIN").unwrap();
    here.execute("SAVEPOINT one").unwrap();
    here.execute("DELETE FROM remote.t WHERE a < 10").unwrap();
    here.execute("ROLLBACK TO one").unwrap();
    here.execute("DELETE FROM remote.t WHERE a >= 50000").unwrap();
    // A statement that fails leaves the transaction as it was.
    assert_eq!(
        failure(&here, "INSERT INTO remote.t SELECT 1, 'x', 0 FROM range(5)").kind(),
        ErrorKind::Unique
    );
    here.execute("COMMIT").unwrap();
    assert_eq!(rows(&there, "SELECT count(*) FROM t"), ["10000"]);
    here.execute("BEGIN TRANSACTION READ ONLY").unwrap();
    assert_eq!(failure(&here, "DELETE FROM remote.t").kind(), ErrorKind::ReadOnly);
    here.execute("ROLLBACK").unwrap();
    // A conflict there is one here.
    here.execute("BEGIN").unwrap();
    here.execute("UPDATE remote.t SET c = 1 WHERE a = 1").unwrap();
    assert_eq!(failure(&there, "BEGIN; UPDATE t SET c = 2 WHERE a = 1").kind(), ErrorKind::Conflict);
    here.execute("COMMIT").unwrap();
}

#[test]
fn a_server_that_goes_is_named() {
    let (server, there, here) = filled();
    here.execute("BEGIN").unwrap();
    here.execute("DELETE FROM remote.t WHERE a = 1").unwrap();
    drop(there);
    server.stop();
    let error = failure(&here, "COMMIT");
    assert_eq!(error.kind(), ErrorKind::Closed);
    assert!(error.to_string().contains("\"remote\""), "{error}");
    assert!(failure(&here, "FROM remote.t").to_string().contains("\"remote\""));
    assert_eq!(rows(&here, "SELECT 1"), ["1"]);
    here.execute("DETACH remote").unwrap();
}

#[test]
fn a_statement_is_interrupted_and_goes_on() {
    let (_server, _, here) = filled();
    here.execute("SET statement_timeout = '300ms'").unwrap();
    let begun = Instant::now();
    let error = failure(
        &here,
        "SELECT count(*) FROM remote.t AS x JOIN remote.t AS y ON x.a < y.a + 100000 JOIN remote.t AS z ON z.a < y.a + 100000",
    );
    assert_eq!(error.sqlstate(), "57014", "{error}");
    assert!(begun.elapsed() < Duration::from_secs(30));
    here.execute("RESET statement_timeout").unwrap();
    assert_eq!(rows(&here, "SELECT count(*) FROM remote.t"), ["10000"]);
}

#[test]
fn passwords_are_in_no_text() {
    let (server, _, here) = filled();
    let address = server.native.unwrap();
    let url = format!("inlay://ann:secret@{address}/memory");
    here.execute(&format!("ATTACH '{url}' AS other (TYPE inlay, READ_ONLY)")).unwrap();
    let listed =
        rows(&here, "SELECT database_name, path, readonly FROM duckdb_databases() WHERE NOT internal");
    assert_eq!(
        listed,
        [
            "memory|NULL|false".to_string(),
            format!("remote|inlay://{address}/memory|false"),
            format!("other|inlay://{address}/memory|true")
        ]
    );
    assert_eq!(failure(&here, "DELETE FROM other.t").kind(), ErrorKind::ReadOnly);
    for sql in [
        format!("ATTACH '{url}' AS other"),
        format!("ATTACH '{url}' AS x (TYPE sqlite)"),
        format!("ATTACH '{url}' AS x (NOTHING 1)"),
        format!("ATTACH '{url}' AS x SOME"),
        format!("ATTACH 'inlay://ann:secret@{address}/nowhere' AS x"),
        "ATTACH 'inlay://ann:secret@127.0.0.1:1/x' AS x".to_string(),
        format!("ATTACH 'inlay://ann:secret@{address}:x' AS x"),
        "SELECT * FROM other.nowhere".to_string(),
    ] {
        let error = failure(&here, &sql);
        assert!(!error.to_string().contains("secret"), "{sql}: {error}");
    }
    assert!(!plan(&here, "FROM other.t").contains("secret"));
}

#[test]
fn errors_there_say_where_they_are() {
    let (_server, _, here) = filled();
    let error = failure(&here, "UPDATE remote.t SET b = 1,\n nothing = 2");
    assert_eq!(error.kind(), ErrorKind::UndefinedColumn);
    let text = error.to_string();
    assert!(text.contains("database \"remote\"") && text.contains("line 2"), "{text}");
    let error = failure(&here, "SELECT CAST(b AS INTEGER) FROM remote.t WHERE a < 3");
    assert!(error.to_string().contains("database \"remote\""), "{error}");
    assert_eq!(failure(&here, "FROM remote.nowhere").kind(), ErrorKind::UndefinedTable);
    assert_eq!(failure(&here, "FROM remote.nowhere.t").kind(), ErrorKind::Bind);
    assert_eq!(failure(&here, "INSERT INTO remote.t SELECT 1 FROM range(2)").kind(), ErrorKind::Bind);
}

#[test]
fn a_server_does_not_attach_itself() {
    let server = Server::start(Options { allows_files: true, statements_max: 1, ..options() }).unwrap();
    let there = at(&server);
    let error = failure(&there, &format!("ATTACH 'inlay://{}' AS self", server.native.unwrap()));
    assert!(error.to_string().contains("is the database that this statement runs in"), "{error}");
    // Without the option, statements reach no other server.
    let closed = crate::support::server();
    let error = failure(&at(&closed), &format!("ATTACH 'inlay://{}' AS other", server.native.unwrap()));
    assert_eq!(error.sqlstate(), "42501", "{error}");
}

#[test]
fn who_attaches_lends_to_nobody() {
    let (server, _, _) = filled();
    let target = server.native.unwrap();
    let hub = Database::open_in_memory().unwrap();
    let admin = hub.connect();
    for sql in ["CREATE USER ann PASSWORD 'a'", "CREATE USER bob PASSWORD 'b'", "GRANT inlay_network TO ann"]
    {
        admin.execute(sql).unwrap();
    }
    let (ann, bob) = (hub.connect_as("ann").unwrap(), hub.connect_as("bob").unwrap());
    let attach = |name: &str| format!("ATTACH 'inlay://{target}/memory' AS {name}");
    assert_eq!(failure(&bob, &attach("mine")).kind(), ErrorKind::Forbidden);
    ann.execute(&attach("mine")).unwrap();
    assert_eq!(rows(&ann, "SELECT count(*) FROM mine.t"), ["10000"]);
    ann.execute("INSERT INTO mine.t VALUES (60000, 'ann', 0)").unwrap();
    for sql in ["FROM mine.t", "DELETE FROM mine.t", "INSERT INTO mine.t VALUES (1)", "DETACH mine"] {
        assert_eq!(failure(&bob, sql).kind(), ErrorKind::Forbidden, "{sql}");
    }
    assert_eq!(
        rows(&bob, "SELECT count(*) FROM information_schema.tables WHERE table_catalog = 'mine'"),
        ["0"]
    );
    assert_eq!(rows(&admin, "SELECT count(*) FROM mine.t"), ["10001"]);
    ann.execute("DETACH mine").unwrap();
}

/// A statement that is sent as text means what it means here.
#[test]
fn settings_of_this_side_go_along() {
    let (_server, there, here) = filled();
    there.execute("CREATE TABLE m (id INTEGER, a TIMESTAMPTZ, s VARCHAR)").unwrap();
    there.execute("INSERT INTO m VALUES (7, TIMESTAMPTZ '2020-01-01 00:30:00+00', 'B')").unwrap();
    here.execute("SET timezone = 'Asia/Tokyo'").unwrap();
    here.execute("UPDATE remote.m SET a = date_trunc('day', a)").unwrap();
    assert_eq!(rows(&there, "SELECT epoch(a)::BIGINT FROM m"), ["1577804400"]);
    here.execute("DELETE FROM remote.m WHERE extract(hour FROM a) = 15").unwrap();
    here.execute("DELETE FROM remote.m WHERE s = 'b' OR id / 2 = 3").unwrap();
    assert_eq!(rows(&there, "SELECT count(*) FROM m"), ["1"]);
    here.execute("SET integer_division = true").unwrap();
    here.execute("UPDATE remote.m SET s = (id / 2)::VARCHAR").unwrap();
    assert_eq!(rows(&there, "SELECT s FROM m"), ["3"]);
    here.execute("UPDATE remote.m SET s = 'B'").unwrap();
    here.execute("SET default_collation = 'nocase'").unwrap();
    here.execute("DELETE FROM remote.m WHERE s = 'b'").unwrap();
    assert_eq!(rows(&there, "SELECT count(*) FROM m"), ["0"]);
    // A macro of the same name there may be another one.
    here.execute("CREATE MACRO mine() AS 'here'").unwrap();
    there.execute("CREATE MACRO mine() AS 'there'").unwrap();
    here.execute("INSERT INTO remote.m SELECT 1, NULL, mine()").unwrap();
    assert_eq!(rows(&there, "SELECT s FROM m"), ["here"]);
    failure(&here, "UPDATE remote.m SET s = mine() || 'x'");
}

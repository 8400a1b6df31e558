//! Schemas, macros, types, materialised views and comments in files: reopened, copied, exported, rolled back.

use crate::support::folder::Folder;
use inlay::{Connection, Database};

const STATEMENTS: &[&str] = &[
    "CREATE SCHEMA s",
    "CREATE SEQUENCE s.q START 7",
    "CREATE MACRO s.half(x) AS x // 2",
    "CREATE MACRO twice(x, n := 2) AS x * n, (x, n, m) AS x * n * m",
    "CREATE MACRO few(n) AS TABLE SELECT * FROM range(n) r(i)",
    "CREATE TYPE mood AS ENUM ('sad', 'it''s ok')",
    "CREATE TABLE t (a INTEGER, b VARCHAR, CONSTRAINT own PRIMARY KEY (a))",
    "CREATE TABLE s.t (a INTEGER REFERENCES t (a), b INTEGER DEFAULT nextval('s.q'))",
    "INSERT INTO t VALUES (1, 'one'), (2, 'two')",
    "INSERT INTO s.t (a) VALUES (1), (2)",
    "CREATE INDEX ix ON s.t (b)",
    "CREATE VIEW s.v AS SELECT a, twice(a, 10) AS b FROM t",
    "CREATE MATERIALIZED VIEW m AS SELECT count(*) AS n FROM s.v",
    "CREATE VIEW over_m AS SELECT n + 1 AS n FROM m",
    "COMMENT ON TABLE s.t IS 'it''s a table'",
    "COMMENT ON COLUMN t.b IS 'a column'",
    "COMMENT ON MACRO twice IS 'a macro'",
];

const CHECKS: &[(&str, &str)] = &[
    ("SELECT twice(4), twice(4, n := 5), twice(1, 2, 3)", "8|20|6"),
    ("SELECT sum(i) FROM few(4)", "6"),
    ("SELECT b FROM s.t ORDER BY b", "7;8"),
    ("SELECT n FROM over_m", "3"),
    ("SELECT sum(b) FROM s.v", "30"),
    ("SELECT labels FROM inlay_types() WHERE type_name = 'mood'", "[sad, it's ok]"),
    ("SELECT comment FROM inlay_tables() WHERE schema_name = 's'", "it's a table"),
    (
        "SELECT comment FROM inlay_columns() WHERE table_name = 't' AND column_name = 'b' AND schema_name = 'main'",
        "a column",
    ),
    ("SELECT index_name FROM inlay_indexes()", "ix"),
    ("SELECT constraint_name FROM inlay_constraints() WHERE constraint_type = 'PRIMARY KEY'", "own"),
];

fn rows(connection: &Connection, sql: &str) -> String {
    let result = connection.execute(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    let row = |row: usize| {
        let cells: Vec<String> =
            (0..result.names().len()).map(|column| result.value(row, column).unwrap().to_string()).collect();
        cells.join("|")
    };
    (0..result.row_count()).map(row).collect::<Vec<_>>().join(";")
}

fn make(connection: &Connection) {
    for sql in STATEMENTS {
        connection.execute(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
}

fn check(connection: &Connection) {
    for (sql, expected) in CHECKS {
        assert_eq!(rows(connection, sql), *expected, "{sql}");
    }
    assert!(connection.execute("INSERT INTO s.t VALUES (9, 9)").is_err(), "the foreign key holds");
}

#[test]
fn objects_are_there_when_the_file_is_opened_again() {
    let folder = Folder::new("objects");
    let path = folder.file("a.inlay");
    for checkpoint in [false, true] {
        {
            let connection = Database::open(&path, &[]).unwrap().connect();
            if !checkpoint {
                make(&connection);
            } else {
                connection.execute("CHECKPOINT").unwrap();
            }
        }
        check(&Database::open(&path, &[]).unwrap().connect());
    }
    let connection = Database::open(&path, &[]).unwrap().connect();
    let copy = folder.file("copy.inlay");
    connection.backup(&copy).unwrap();
    check(&Database::open(&copy, &[]).unwrap().connect());
    assert_eq!(rows(&connection, "PRAGMA verify").matches("damaged").count(), 0);
}

#[test]
fn objects_come_back_from_an_export() {
    let folder = Folder::new("objects-export");
    let from = Database::open_in_memory().unwrap().connect();
    make(&from);
    from.execute(&format!("EXPORT DATABASE '{}' (FORMAT parquet)", folder.file("out"))).unwrap();
    let to = Database::open_in_memory().unwrap().connect();
    to.execute(&format!("IMPORT DATABASE '{}'", folder.file("out"))).unwrap();
    check(&to);
}

#[test]
fn a_rollback_undoes_objects() {
    let connection = Database::open_in_memory().unwrap().connect();
    connection.execute("BEGIN").unwrap();
    make(&connection);
    check(&connection);
    connection.execute("ROLLBACK").unwrap();
    assert_eq!(rows(&connection, "SELECT count(*) FROM inlay_tables()"), "0");
    assert!(connection.execute("SELECT twice(1)").is_err());
    make(&connection);
    connection.execute("DROP SCHEMA s CASCADE").unwrap();
    assert!(connection.execute("SELECT * FROM s.t").is_err());
    assert_eq!(rows(&connection, "SELECT count(*) FROM t"), "2");
}

#[test]
fn other_connections_see_what_is_committed_and_no_temporary_objects() {
    let database = Database::open_in_memory().unwrap();
    let (one, other) = (database.connect(), database.connect());
    one.execute("BEGIN").unwrap();
    one.execute("CREATE MACRO f(x) AS x + 1").unwrap();
    assert!(other.execute("SELECT f(1)").is_err());
    one.execute("COMMIT").unwrap();
    assert_eq!(rows(&other, "SELECT f(1)"), "2");
    one.execute("CREATE TEMP TABLE mine (a INTEGER)").unwrap();
    one.execute("CREATE TEMP MACRO g(x) AS x").unwrap();
    one.execute("CREATE TEMP VIEW w AS SELECT 1").unwrap();
    one.execute("CREATE TEMP SEQUENCE z").unwrap();
    for sql in ["SELECT * FROM mine", "SELECT g(1)", "SELECT * FROM w", "SELECT nextval('z')"] {
        assert!(one.execute(sql).is_ok(), "{sql}");
        assert!(other.execute(sql).is_err(), "{sql}");
    }
    // Two make the same thing.
    one.execute("BEGIN").unwrap();
    other.execute("BEGIN").unwrap();
    one.execute("CREATE SCHEMA both").unwrap();
    other.execute("CREATE SCHEMA both").unwrap();
    one.execute("COMMIT").unwrap();
    assert!(other.execute("COMMIT").is_err());
}

/// Keys that are left to COMMIT hold in the file and over its log, and two connections cannot both take one.
#[test]
fn deferred_keys_hold_in_files_and_between_connections() {
    let folder = Folder::new("deferred");
    let path = folder.file("d.inlay");
    let count = |connection: &Connection| {
        let answer = connection.execute("SELECT count(*) || '|' || count(DISTINCT k) FROM t").unwrap();
        answer.value(0, 0).unwrap().to_string()
    };
    let open = || Database::open(&path, &[]).unwrap();
    {
        let database = open();
        let connection = database.connect();
        connection
            .execute("CREATE TABLE t (k INTEGER PRIMARY KEY DEFERRABLE INITIALLY DEFERRED, v INTEGER)")
            .unwrap();
        connection.execute("INSERT INTO t SELECT range, range FROM range(1000)").unwrap();
        connection.execute("CHECKPOINT").unwrap();
        // In the log with rows that shared a key in between.
        for sql in ["BEGIN", "UPDATE t SET k = 5", "UPDATE t SET k = v + 1", "COMMIT"] {
            connection.execute(sql).unwrap();
        }
        std::fs::copy(&path, folder.file("copy.inlay")).unwrap();
        for entry in std::fs::read_dir(folder.path()).unwrap() {
            let from = entry.unwrap().path();
            let name = from.file_name().unwrap().to_str().unwrap().to_string();
            if name.starts_with("d.inlay") {
                std::fs::copy(&from, folder.file(&name.replacen("d.inlay", "copy.inlay", 1))).unwrap();
            }
        }
        let copy = Database::open(&folder.file("copy.inlay"), &[]).unwrap();
        assert_eq!(count(&copy.connect()), "1000|1000");
    }
    let database = open();
    let (one, other) = (database.connect(), database.connect());
    assert_eq!(count(&one), "1000|1000");
    one.execute("BEGIN").unwrap();
    other.execute("BEGIN").unwrap();
    one.execute("INSERT INTO t VALUES (5000, 1)").unwrap();
    other.execute("INSERT INTO t VALUES (5000, 2)").unwrap();
    one.execute("COMMIT").unwrap();
    let error = other.execute("COMMIT").err().unwrap();
    assert_eq!(error.sqlstate(), "40001", "{error}");
    let error = other.execute("INSERT INTO t VALUES (1000, 0)").err().unwrap();
    assert_eq!(error.sqlstate(), "23505", "{error}");
    assert_eq!(count(&other), "1001|1001");
}

//! Kept plans: which statements have them, what makes them void, and that they give what binding anew gives.

use crate::support::random::Random;
use inlay::{Connection, Database, Parameters, PreparedStatement, QueryResult, Value};
use std::collections::HashMap;

fn connect() -> Connection {
    Database::open(":memory:", &[]).unwrap().connect()
}

fn run(connection: &Connection, sql: &str, parameters: &[Value]) -> Result<Vec<Vec<String>>, String> {
    let parameters = Parameters { positional: parameters.to_vec(), named: Vec::new() };
    let outcome = connection.execute_with(sql, &parameters, None);
    outcome.map(|result| rows(&result)).map_err(|error| format!("{} {error}", error.sqlstate()))
}

fn rows(result: &QueryResult) -> Vec<Vec<String>> {
    let value = |row, column| {
        let value = result.value(row, column).unwrap();
        if value.is_null() { "NULL".to_string() } else { value.to_string() }
    };
    (0..result.row_count())
        .map(|row| (0..result.types().len()).map(|column| value(row, column)).collect())
        .collect()
}

fn int(value: i32) -> Value {
    Value::Integer(value)
}

fn text(value: &str) -> Value {
    Value::Varchar(value.to_string())
}

const TABLE: &str =
    "CREATE TABLE t (id INTEGER PRIMARY KEY, d DATE UNIQUE, a INTEGER, x DOUBLE, s VARCHAR DEFAULT 'none',
    n NUMERIC(8, 2), CHECK (a < 1000))";

/// Runs a statement three times; says how often a kept plan carried it out.
fn runs_kept(connection: &Connection, sql: &str, sets: &[&[Value]]) -> u64 {
    let before = connection.kept_runs();
    for set in sets {
        run(connection, sql, set).unwrap();
    }
    connection.kept_runs() - before
}

/// A prepared statement has a plan from its first run on; it belongs to its connection, and names are looked up late.
#[test]
fn prepared_statements_are_run_many_times() {
    let connection = connect();
    let query = connection.prepare("SELECT a FROM t WHERE id = $id").unwrap();
    let named = |id| Parameters { positional: Vec::new(), named: vec![("id".to_string(), int(id))] };
    assert_eq!((query.parameter_count(), query.parameter_names()), (0, &["id".to_string()][..]));
    assert_eq!(query.execute(&named(1)).unwrap_err().sqlstate(), "42P01");
    connection.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER)").unwrap();
    let insert = connection.prepare("INSERT INTO t VALUES (?, ?)").unwrap();
    let set = |id| Parameters { positional: vec![int(id), int(10 * id)], named: Vec::new() };
    insert.execute_many(&(0..10).map(set).collect::<Vec<_>>(), None).unwrap();
    assert_eq!(connection.kept_runs(), 10);
    assert_eq!(rows(&query.execute(&named(7)).unwrap()), [["70"]]);
    assert_eq!(connection.kept_runs(), 11);
    assert!(insert.execute_many(&[set(10), set(3)], None).is_err());
    assert!(rows(&query.execute(&named(10)).unwrap()).is_empty(), "all or none");
    assert!(query.execute(&Parameters::default()).is_err());
    let both =
        connection.prepare("SELECT a + $more::INTEGER * 0 FROM t WHERE id = $id AND a >= $more").unwrap();
    for (names, expected) in [(["id", "more"], "70"), (["more", "id"], "70"), (["id", "more"], "70")] {
        let named = names.map(|name| (name.to_string(), int(if name == "id" { 7 } else { 1 })));
        let answer = both.execute(&Parameters { positional: Vec::new(), named: named.to_vec() });
        assert_eq!(rows(&answer.unwrap()), [[expected]]);
    }
    let several = connection.prepare("SELECT 1; SELECT 2").unwrap_err().to_string();
    assert!(several.contains("exactly one statement, not 2"), "{several}");
    connection.close().unwrap();
    assert!(query.execute(&named(1)).is_err());
}

/// What is repeated is carried out by a kept plan from the second time on.
#[test]
fn statements_about_few_rows_have_plans() {
    let connection = connect();
    connection.execute(TABLE).unwrap();
    let insert = "INSERT INTO t VALUES (?, ?, ?, ?, ?, ?)";
    for id in 0..100 {
        let day = Value::Date(id);
        run(&connection, insert, &[int(id), day, int(id % 7), Value::Double(0.5), text("s"), int(id)])
            .unwrap();
    }
    assert_eq!(connection.kept_runs(), 99);
    connection.execute("CREATE INDEX t_a ON t (a)").unwrap();
    let point = |id| [int(id)];
    let cases: &[(&str, &[&[Value]])] = &[
        ("SELECT * FROM t WHERE id = ?", &[&point(1), &point(2), &point(200)]),
        ("SELECT id + 1, s || 'x' FROM t WHERE id = $1 AND a >= 0", &[&point(1), &point(2), &point(3)]),
        ("SELECT 1, 'x' AS y", &[&[], &[], &[]]),
        (
            "SELECT ?, ? + 1.5::DOUBLE",
            &[&[int(1), Value::Double(1.0)], &[int(7), Value::Double(2.0)], &[int(1), Value::Double(0.0)]],
        ),
        ("SELECT a FROM t AS other WHERE 5 = other.id", &[&[], &[], &[]]),
        (
            "SELECT s FROM t WHERE d = ?",
            &[&[text("1970-01-05")], &[text("1970-01-06")], &[text("1980-01-01")]],
        ),
        (
            "SELECT s, ? FROM t WHERE id IN (?, ?)",
            &[&[int(1), int(2), int(3)], &[int(1), int(4), int(4)], &[int(1), int(4), int(4)]],
        ),
        (
            "UPDATE t SET x = x * ? WHERE id = ?",
            &[&[Value::Double(2.0), int(2)], &[Value::Double(1.0), int(9)], &[Value::Double(1.0), int(9)]],
        ),
        (
            "UPDATE t SET s = ?, n = ? WHERE id = ? RETURNING id, n",
            &[
                &[text("a"), Value::Double(2.346), int(2)],
                &[text("b"), Value::Double(0.0), int(9)],
                &[text("b"), Value::Double(1.0), int(9)],
            ],
        ),
        ("DELETE FROM t WHERE id = ?", &[&point(1), &point(2), &point(200)]),
        ("DELETE FROM t WHERE id = ? RETURNING *", &[&point(11), &point(12), &point(200)]),
    ];
    for (sql, sets) in cases {
        assert_eq!(runs_kept(&connection, sql, sets), 2, "{sql}");
    }
}

/// What could be something else the next time has no plan.
#[test]
fn other_statements_have_none() {
    let connection = connect();
    connection.execute(TABLE).unwrap();
    connection
        .execute("INSERT INTO t SELECT i, DATE '1970-01-01' + i::INT, 1, 1, 's', 1 FROM range(50) r(i)")
        .unwrap();
    connection.execute("SET VARIABLE v = 1").unwrap();
    connection.execute("CREATE SEQUENCE q").unwrap();
    connection.execute("ATTACH ':memory:' AS other; CREATE TABLE other.t (i INTEGER)").unwrap();
    for sql in [
        "SELECT now()",
        "SELECT random()",
        "SELECT nextval('q')",
        "SELECT getvariable('v')",
        "SELECT current_query_id()",
        "SELECT error('x') IS NULL WHERE false",
        "SELECT now() FROM t WHERE id = 1",
        "SELECT random() FROM t WHERE id = 1",
        "SELECT nextval('q') FROM t WHERE id = 1",
        "SELECT current_setting('threads') FROM t WHERE id = 1",
        "SELECT getvariable('v') FROM t WHERE id = 1",
        "SELECT current_date FROM t WHERE id = 1",
        "SELECT a FROM t WHERE id = 1 AND x < random()",
        "SELECT count(*), now() FROM t",
        "SELECT count(*) FROM t JOIN t AS u USING (id) WHERE random() > 0.5",
        "SELECT sum(nextval('q')) FROM t",
        "SELECT count(*) FROM t, range(3)",
        "SELECT count(*) FROM t USING SAMPLE 3 ROWS",
        "SELECT count(*) FROM t WHERE a > getvariable('v')",
        "SELECT count(*) FROM duckdb_tables()",
        "SELECT count(*) FROM other.t",
        "SELECT count(*) FROM (DESCRIBE other.t)",
        "SELECT count(*) FROM (SHOW DATABASES)",
        "SELECT count(*) FROM (SHOW ALL TABLES)",
        "SELECT count(*) FROM (DESCRIBE FROM range(3))",
    ] {
        assert_eq!(runs_kept(&connection, sql, &[&[], &[], &[]]), 0, "{sql}");
    }
    connection.execute("SET plan_cache = off").unwrap();
    assert_eq!(runs_kept(&connection, "SELECT * FROM t WHERE id = 1", &[&[], &[], &[]]), 0);
}

/// Other queries are planned once, as long as they have no parameters and no row changes.
#[test]
fn queries_have_plans_until_rows_change() {
    let connection = connect();
    connection.execute(TABLE).unwrap();
    let rows =
        "INSERT INTO t SELECT i, DATE '1970-01-01' + i::INT, i % 5, 1, 's' || i % 3, 1 FROM range(50) r(i)";
    connection.execute(rows).unwrap();
    for sql in [
        "SELECT count(*) FROM t WHERE id = 1",
        "SELECT (SELECT 1) FROM t WHERE id = 1",
        "SELECT rowid FROM t WHERE rowid = 1",
        "SELECT a FROM t WHERE s = 's'",
        "SELECT a FROM t WHERE id + 0 = 1",
        "SELECT s, sum(a) FROM t GROUP BY s ORDER BY ALL",
        "SELECT t.a, count(*) FROM t JOIN t AS u ON t.a = u.id GROUP BY t.a HAVING count(*) > 1 ORDER BY 1 LIMIT 2",
        "SELECT id, row_number() OVER (PARTITION BY s ORDER BY id) FROM t QUALIFY rank() OVER (ORDER BY id) < 4",
        "WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r WHERE i < (SELECT count(*) FROM t)) SELECT max(i) FROM r",
        "SELECT id FROM t WHERE EXISTS (SELECT 1 FROM t AS u WHERE u.a = t.id) EXCEPT SELECT 3",
    ] {
        let answers: Vec<_> = (0..4).map(|_| run(&connection, sql, &[]).unwrap()).collect();
        assert!(answers.windows(2).all(|two| two[0] == two[1]), "{sql}");
        assert_eq!(runs_kept(&connection, sql, &[&[], &[], &[]]), 3, "{sql}");
    }
    let sql = "SELECT s, count(*), max(a) FROM t GROUP BY s ORDER BY s";
    let other = connection.cursor().unwrap();
    let mut before = Vec::new();
    for (who, change) in [
        (&connection, "UPDATE t SET a = 77 WHERE id = 3"),
        (&other, "UPDATE t SET a = 78 WHERE id = 3"),
        (&connection, "BEGIN; DELETE FROM t WHERE id = 3"),
        (&connection, "INSERT INTO t (id, d) VALUES (1000, DATE '2000-01-01')"),
        (&connection, "ROLLBACK"),
        (&other, "TRUNCATE t"),
    ] {
        who.execute(change).unwrap();
        let found: Vec<_> = (0..3).map(|_| run(&connection, sql, &[]).unwrap()).collect();
        assert!(found.iter().all(|rows| *rows == found[0]), "{change}");
        assert_ne!(found[0], before, "{change}");
        before = found[0].clone();
    }
}

/// A plan that is kept does not keep the rows that it was made for, once they are changed.
#[test]
fn plans_of_queries_hold_no_old_rows() {
    let connection = connect();
    connection.execute("CREATE TABLE t AS SELECT hash(i) AS h FROM range(1000000) r(i)").unwrap();
    let sql = "SELECT min(h), max(h) FROM t";
    runs_kept(&connection, sql, &[&[], &[], &[]]);
    let database = connection.database().unwrap();
    let used = || database.memory_used();
    let full = used();
    let other = connection.cursor().unwrap();
    other.execute("DROP TABLE t").unwrap();
    assert!(used() + 4_000_000 < full, "{} of {full} bytes are still used", used());
}

/// A plan is void when what its names mean changes.
#[test]
fn changes_of_names_make_plans_void() {
    let connection = connect();
    let (point, query) = ("SELECT * FROM t WHERE id = ?", "SELECT DISTINCT * FROM t WHERE id = 1");
    let answer = |sql: &str| {
        if !sql.is_empty() {
            connection.execute(sql).unwrap();
        }
        for _ in 0..3 {
            assert_eq!(run(&connection, point, &[int(1)]).ok(), run(&connection, query, &[]).ok(), "{sql}");
        }
        run(&connection, point, &[int(1)])
    };
    let is = |sql: &str, row: &[&str]| {
        let expected: Vec<Vec<String>> = vec![row.iter().map(|value| value.to_string()).collect()];
        assert_eq!(answer(sql), Ok(expected), "{sql}");
    };
    connection.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER)").unwrap();
    is("INSERT INTO t VALUES (1, 10)", &["1", "10"]);
    is("UPDATE t SET a = 11 WHERE id = 1", &["1", "11"]);
    is("ALTER TABLE t ADD COLUMN b VARCHAR DEFAULT 'x'", &["1", "11", "x"]);
    is("ALTER TABLE t DROP COLUMN a", &["1", "x"]);
    is("ALTER TABLE t RENAME COLUMN b TO c", &["1", "x"]);
    is("ALTER TABLE t ALTER COLUMN c TYPE BLOB USING encode(c)", &["1", "x"]);
    is(
        "DROP TABLE t; CREATE TABLE t (id VARCHAR PRIMARY KEY, z DATE); INSERT INTO t VALUES ('1', '2000-01-02')",
        &["1", "2000-01-02"],
    );
    is(
        "CREATE TEMP TABLE t (id INTEGER PRIMARY KEY, z TEXT); INSERT INTO temp.t VALUES (1, 'temporary')",
        &["1", "temporary"],
    );
    is("DROP TABLE temp.t", &["1", "2000-01-02"]);
    is("ALTER TABLE t RENAME TO u; CREATE VIEW t AS SELECT id, 'view' AS v FROM u", &["1", "view"]);
    is("CREATE OR REPLACE VIEW t AS SELECT id::INTEGER AS id, 'other' AS v FROM u", &["1", "other"]);
    is(
        "DROP VIEW t; CREATE TABLE t (id INTEGER PRIMARY KEY, m INTEGER); INSERT INTO t VALUES (1, 1)",
        &["1", "1"],
    );
    is(
        "CREATE SCHEMA s; CREATE TABLE s.t (id INTEGER PRIMARY KEY, m INTEGER); INSERT INTO s.t VALUES (1, 2); SET search_path = 's'",
        &["1", "2"],
    );
    is("SET search_path = ''", &["1", "1"]);
    is(
        "ATTACH ':memory:' AS other; CREATE TABLE other.t (id INTEGER PRIMARY KEY, m INTEGER); INSERT INTO other.t VALUES (1, 3); USE other",
        &["1", "3"],
    );
    is("USE memory; DETACH other", &["1", "1"]);
    is(
        "BEGIN; DROP TABLE t; CREATE TABLE t (id INTEGER PRIMARY KEY, k VARCHAR); INSERT INTO t VALUES (1, 'in')",
        &["1", "in"],
    );
    is("ROLLBACK", &["1", "1"]);
    let other = connection.cursor().unwrap();
    other.execute("ALTER TABLE t ADD COLUMN late INTEGER DEFAULT 9").unwrap();
    is("", &["1", "1", "9"]);
    other.execute("DROP TABLE t").unwrap();
    assert!(answer("").is_err());
    let kept = connection.kept_runs();
    assert!(kept > 100, "only {kept} runs were kept");
}

/// Values that take part in the meaning of a statement, or do not fit it, are seen.
#[test]
fn values_of_other_kinds_are_bound_anew() {
    let connection = connect();
    connection.execute("CREATE TABLE t (id TINYINT PRIMARY KEY, d DATE, r REAL)").unwrap();
    connection.execute("INSERT INTO t SELECT i, DATE '2000-01-01' + i::INT, i FROM range(100) r(i)").unwrap();
    let query = "SELECT id FROM t WHERE id = ?";
    let found = |value: Value| run(&connection, query, &[value]).map(|rows| rows.len());
    for _ in 0..3 {
        assert_eq!(found(int(5)), Ok(1));
        assert_eq!(found(int(500)), Ok(0));
        assert_eq!(found(Value::BigInt(1 << 40)), Ok(0));
        assert_eq!(found(Value::Double(5.0)), Ok(1));
        assert_eq!(found(Value::Double(5.5)), Ok(0));
        assert_eq!(found(text("5")), Ok(1));
        assert!(found(text("five")).is_err());
        assert_eq!(found(Value::Null), Ok(0));
        assert_eq!(found(Value::Boolean(true)), Ok(1));
    }
    assert!(run(&connection, query, &[]).is_err());
    let sum = "SELECT id + ? FROM t WHERE id = 100 - 1";
    for value in [int(1), int(100), int(1), int(1 << 20)] {
        let outcome = run(&connection, sum, std::slice::from_ref(&value));
        connection.execute("SET plan_cache = off").unwrap();
        assert_eq!(outcome, run(&connection, sum, &[value]));
        connection.execute("SET plan_cache = on").unwrap();
    }
}

/// One of several databases to which the same is done: how it keeps plans, and two connections.
struct Side {
    mode: &'static str,
    connections: [Connection; 2],
    prepared: [HashMap<String, PreparedStatement>; 2],
}

impl Side {
    fn new(mode: &'static str) -> Self {
        let first = connect();
        let connections = [first.cursor().unwrap(), first];
        let setting = if mode == "prepared" { "on" } else { mode };
        connections.iter().for_each(|c| drop(c.execute(&format!("SET plan_cache = '{setting}'")).unwrap()));
        Self { mode, connections, prepared: Default::default() }
    }

    fn run(&mut self, number: usize, sql: &str, values: &[Value]) -> Result<Vec<Vec<String>>, String> {
        let connection = &self.connections[number];
        let is_one = !sql.contains(';');
        let mut found = if self.mode == "prepared" && is_one {
            let prepared = &mut self.prepared[number];
            let statement =
                prepared.entry(sql.to_string()).or_insert_with(|| connection.prepare(sql).unwrap());
            let parameters = Parameters { positional: values.to_vec(), named: Vec::new() };
            let outcome = statement.execute(&parameters);
            outcome.map(|result| rows(&result)).map_err(|error| format!("{} {error}", error.sqlstate()))
        } else {
            run(connection, sql, values)
        };
        if let Ok(rows) = &mut found {
            rows.sort();
        }
        found
    }

    fn in_transaction(&self, number: usize) -> bool {
        self.connections[number].in_transaction()
    }
}

const SCHEMA: &str = "
    CREATE TABLE t (id INTEGER PRIMARY KEY, k VARCHAR, d DATE, a INTEGER CHECK (a < 30), x DOUBLE, n DECIMAL(8, 2),
        g INTEGER GENERATED ALWAYS AS (a * 2), UNIQUE (k, d));
    CREATE INDEX t_a ON t (a);
    CREATE TABLE c (id INTEGER PRIMARY KEY, t INTEGER REFERENCES t (id) ON DELETE CASCADE, s TINYINT DEFAULT 3);
    CREATE VIEW v AS SELECT id, a FROM t";

/// Statements with the kinds of their parameters: an id, a key, a day, a number, any value.
const STATEMENTS: &[(&str, &str)] = &[
    ("SELECT * FROM t WHERE id = ?", "i"),
    ("SELECT id, a + ?, x FROM t WHERE id = ? AND a >= ?", "nin"),
    ("SELECT k || '!', upper(k) FROM t WHERE k = ? AND d = ?", "kd"),
    ("SELECT id FROM t WHERE k = ? AND a < 20", "k"),
    ("SELECT id, g FROM t WHERE a BETWEEN ? AND ?", "nn"),
    ("SELECT id, a FROM t WHERE id IN (?, ?, ?)", "iii"),
    ("SELECT a, rowid >= 0 FROM t WHERE a = ? AND x <> ?", "nn"),
    ("SELECT * FROM v WHERE id = ?", "i"),
    ("SELECT ?, id FROM t WHERE id = ? OR id = 3", "ni"),
    ("SELECT count(*) FROM t WHERE a = ?", "n"),
    ("SELECT * FROM c WHERE id = ?", "i"),
    ("SELECT count(*), sum(a), max(x) FROM t", ""),
    ("SELECT k, count(*) FROM t JOIN c ON c.t = t.id GROUP BY k", ""),
    ("SELECT * FROM v WHERE id > 3 ORDER BY ALL LIMIT 4", ""),
    ("SELECT t.id, s FROM t LEFT JOIN c ON c.t = t.id WHERE s IS NULL OR s > 2", ""),
    ("SELECT id, row_number() OVER (ORDER BY a, id) FROM t", ""),
    ("INSERT INTO t (id, k, d, a, x, n) VALUES (?, ?, ?, ?, ?, ?)", "ikdnnn"),
    ("INSERT INTO t (id, a) VALUES (?, ?) RETURNING *", "in"),
    ("INSERT INTO c (id, t) VALUES (?, ?)", "ii"),
    ("INSERT INTO c VALUES (?, ?, ?)", "iin"),
    ("UPDATE t SET a = ? WHERE id = ?", "ni"),
    ("UPDATE t SET a = a + 1, x = x / ?, n = ? WHERE id = ?", "nni"),
    ("UPDATE t SET id = ? WHERE id = ? RETURNING id, g", "ii"),
    ("UPDATE t SET k = ?, d = ? WHERE a = ?", "kdn"),
    ("UPDATE c SET t = ? WHERE id = ?", "ii"),
    ("DELETE FROM t WHERE id = ?", "i"),
    ("DELETE FROM t WHERE k = ? AND d = ? RETURNING id", "kd"),
    ("DELETE FROM c WHERE id = ? AND s < 100", "i"),
];

const CHANGES: &[&str] = &[
    "ALTER TABLE t ADD COLUMN IF NOT EXISTS late INTEGER DEFAULT 5",
    "ALTER TABLE t DROP COLUMN IF EXISTS late",
    "DROP INDEX IF EXISTS t_a",
    "CREATE INDEX IF NOT EXISTS t_a ON t (a)",
    "CREATE OR REPLACE VIEW v AS SELECT id, a, k FROM t",
    "CREATE OR REPLACE VIEW v AS SELECT id + 1 AS id, x FROM t",
    "CREATE TEMP TABLE IF NOT EXISTS c (id VARCHAR PRIMARY KEY, t INTEGER, s INTEGER)",
    "DROP TABLE IF EXISTS temp.c",
    "SET integer_division = true",
    "SET integer_division = false",
    "SET dialect = 'sqlite'",
    "SET dialect = 'inlay'",
];

fn value_of(kind: char, random: &mut Random) -> Value {
    if random.once_in(15) {
        return Value::Null;
    }
    let small = random.between(0, 40) as i32;
    match (kind, random.below(12)) {
        ('k', _) => text(["a", "b", "c", "d"][random.below(4) as usize]),
        ('d', 0) => text("no day"),
        ('d', 1..6) => text(&format!("2000-01-{:02}", 1 + random.below(4))),
        ('d', 6) => Value::Timestamp(946_684_800_000_000 + random.between(0, 2) * 43_200_000_000),
        ('d', _) => Value::Date(10_957 + random.below(4) as i32),
        (_, 0) => Value::Double(f64::from(small)),
        (_, 1) => Value::Double(f64::from(small) + 0.5),
        (_, 2) => Value::BigInt(i64::from(small) << random.below(40)),
        (_, 3) => text(&small.to_string()),
        (_, 4) => Value::Decimal { unscaled: i128::from(small * 10), precision: 5, scale: 1 },
        _ => int(small),
    }
}

/// The same statements on databases that keep plans in different ways give the same answers, errors among them.
#[test]
fn plans_change_no_answer() {
    let mut kept = 0;
    for seed in 0..16 {
        let mut random = Random::of(&[seed]);
        let mut sides = ["off", "on", "eager", "prepared"].map(Side::new);
        let mut history = Vec::new();
        let mut all = |number: usize, sql: &str, values: &[Value], sides: &mut [Side; 4]| {
            history.push(format!("{number}: {sql} {values:?}"));
            let expected = sides[0].run(number, sql, values);
            for side in &mut sides[1..] {
                let found = side.run(number, sql, values);
                assert_eq!(found, expected, "{}, seed {seed}:\n{}", side.mode, history.join("\n"));
            }
        };
        all(0, SCHEMA, &[], &mut sides);
        for _ in 0..400 {
            let number = random.below(2) as usize;
            let (own, other) = (sides[0].in_transaction(number), sides[0].in_transaction(1 - number));
            match random.below(16) {
                0 if !own => {
                    let mode = ["BEGIN", "BEGIN ISOLATION LEVEL REPEATABLE READ"][random.below(2) as usize];
                    all(number, mode, &[], &mut sides);
                }
                0..3 if own => {
                    let end =
                        ["COMMIT", "ROLLBACK", "SAVEPOINT s", "ROLLBACK TO s"][random.below(4) as usize];
                    all(number, end, &[], &mut sides);
                }
                3 if !other => {
                    all(number, CHANGES[random.below(CHANGES.len() as u64) as usize], &[], &mut sides);
                }
                _ => {
                    // A statement of its own would wait for the other transaction.
                    if other && !own {
                        all(number, "BEGIN", &[], &mut sides);
                    }
                    let (sql, kinds) = STATEMENTS[random.below(STATEMENTS.len() as u64) as usize];
                    let values: Vec<Value> = kinds.chars().map(|kind| value_of(kind, &mut random)).collect();
                    all(number, sql, &values, &mut sides);
                }
            }
        }
        for number in 0..2 {
            all(number, "COMMIT", &[], &mut sides);
        }
        all(0, "SELECT * FROM t; SELECT * FROM main.c", &[], &mut sides);
        kept += sides[1].connections.iter().map(Connection::kept_runs).sum::<u64>();
    }
    assert!(kept > 800, "only {kept} runs were kept");
}

/// What a change by key read is checked at COMMIT, although the row that it changes is not noted as read.
#[test]
fn changes_by_key_are_serial() {
    let update = "UPDATE t SET a = $1 WHERE id = $2";
    let delete = "DELETE FROM t WHERE id = $1 AND a < 100";
    // What a transaction does, what another one does meanwhile, and how the first ends.
    type Case<'a> = (&'a str, &'a [Value], &'a str, Result<(), &'a str>);
    let cases: [Case<'_>; 8] = [
        (update, &[int(5), int(1)], "UPDATE t SET a = 9 WHERE id = 2", Ok(())),
        (update, &[int(5), int(1)], "INSERT INTO t (id, a) VALUES (77, 1)", Ok(())),
        (update, &[int(5), int(1)], "DELETE FROM t WHERE id = 3", Ok(())),
        // There was no such row, and now there is one.
        (update, &[int(5), int(77)], "INSERT INTO t (id, a) VALUES (77, 1)", Err("40001")),
        (update, &[int(5), int(77)], "UPDATE t SET id = 77 WHERE id = 2", Err("40001")),
        (delete, &[int(1)], "UPDATE t SET a = 9 WHERE id = 2", Ok(())),
        // The row had a value that the condition leaves out.
        (delete, &[int(3)], "UPDATE t SET a = 9 WHERE id = 3", Err("40001")),
        (delete, &[int(3)], "UPDATE t SET a = 9 WHERE id = 2", Ok(())),
    ];
    for (sql, values, meanwhile, expected) in cases {
        let database = Database::open(":memory:", &[]).unwrap();
        let (one, other) = (database.connect(), database.connect());
        run(&one, "SET plan_cache = 'eager'", &[]).unwrap();
        run(&one, "CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER)", &[]).unwrap();
        run(&one, "CREATE TABLE log (n INTEGER)", &[]).unwrap();
        run(&one, "INSERT INTO t VALUES (1, 10), (2, 20), (3, 300)", &[]).unwrap();
        run(&one, "BEGIN", &[]).unwrap();
        assert_eq!(runs_kept(&one, sql, &[values]), 1, "{sql}");
        run(&one, "INSERT INTO log VALUES (1)", &[]).unwrap();
        run(&other, meanwhile, &[]).unwrap();
        let ended = run(&one, "COMMIT", &[]).map(drop).map_err(|error| error[..5].to_string());
        assert_eq!(ended, expected.map_err(str::to_string), "{sql} beside {meanwhile}");
    }
    // Rows that are about to change stop others at once, from both sides.
    let database = Database::open(":memory:", &[]).unwrap();
    let (one, other) = (database.connect(), database.connect());
    run(&one, "CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER)", &[]).unwrap();
    run(&one, "INSERT INTO t VALUES (1, 10)", &[]).unwrap();
    run(&one, "BEGIN", &[]).unwrap();
    run(&one, update, &[int(5), int(1)]).unwrap();
    assert!(run(&other, update, &[int(6), int(1)]).unwrap_err().starts_with("40001"));
    run(&one, "COMMIT", &[]).unwrap();
    assert_eq!(run(&other, "SELECT a FROM t", &[]).unwrap(), [["5"]]);
}

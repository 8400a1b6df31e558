//! Indexes by value: every query answers with them as without, whatever happened to the rows; and the file says by its version that
//! it has one.

use crate::support::folder::{self, Folder};
use crate::support::random::Random;
use crate::support::sql;
use inlay::{Connection, Database};
use std::fs;

/// More than a row group, so that some rows are sealed and some are not.
const SETUP: &[&str] = &[
    "CREATE TABLE t AS SELECT i::INTEGER AS id, CASE WHEN hash(i) % 11 = 0 THEN NULL ELSE (hash(i) % 7)::INTEGER END AS a, \
     ['red', 'green', 'blue', NULL, 'a colour that is longer than a view'][1 + (hash(i + 1) % 5)::INTEGER] AS b, \
     DATE '2020-01-01' + (i // 900)::INTEGER AS c, hash(i) % 3 = 0 AS d, (hash(i + 2) % 40)::UTINYINT AS e, \
     (hash(i + 3) % 1000 / 7)::DECIMAL(9, 2) AS price FROM range(300000) r(i)",
    "CREATE INDEX sets ON t USING bitmap (a, b, c, d)",
    "CREATE INDEX others ON t USING bitmap (e)",
];

const COLUMNS: &[&str] = &["a", "b", "c", "d", "e", "price"];

fn predicate(random: &mut Random) -> String {
    let a = random.between(-1, 8);
    match random.below(18) {
        0 => format!("a = {a}"),
        1 => format!("a <> {a}"),
        2 => format!("a BETWEEN {} AND {a}", a - 2),
        3 => format!("a IN ({a}, {}, NULL)", a + 2),
        4 => "a IS NULL".to_string(),
        5 => "b IS NOT NULL".to_string(),
        6 => format!(
            "b = '{}'",
            ["red", "green", "none", "a colour that is longer than a view"][random.below(4) as usize]
        ),
        7 => "b LIKE '%e%'".to_string(),
        8 => "b > 'blue'".to_string(),
        9 => format!("c >= DATE '2020-03-01' + {}", random.below(300)),
        10 => format!("c = DATE '2020-01-01' + {}", random.below(400)),
        11 => "d".to_string(),
        12 => "NOT d".to_string(),
        13 => format!("e < {}", random.below(42)),
        14 => format!("e IN (1, 2, 3, {})", random.below(42)),
        15 => format!("a IS DISTINCT FROM {a}"),
        16 => format!("price < {}", random.below(150)),
        _ => format!("a + e > {}", random.below(50)),
    }
}

fn condition(random: &mut Random, depth: u64) -> String {
    match random.below(if depth == 0 { 1 } else { 6 }) {
        1 => format!("({} AND {})", condition(random, depth - 1), condition(random, depth - 1)),
        2 => format!("({} OR {})", condition(random, depth - 1), condition(random, depth - 1)),
        3 => format!("NOT ({})", condition(random, depth - 1)),
        _ => predicate(random),
    }
}

fn query(random: &mut Random) -> String {
    let filter = match random.below(5) {
        0 => String::new(),
        depth => format!(" WHERE {}", condition(random, depth - 1)),
    };
    let column = |random: &mut Random| COLUMNS[random.below(5) as usize];
    let aggregate = |random: &mut Random| {
        let of = column(random);
        match random.below(7) {
            0 => format!("count({of})"),
            1 => format!("min({of})"),
            2 => format!("max({of})"),
            3 => format!("count(DISTINCT {of})"),
            4 => "sum(price)".to_string(),
            _ => "count(*)".to_string(),
        }
    };
    let keys: Vec<&str> = (0..random.below(3)).map(|_| column(random)).collect();
    let made: Vec<String> =
        (0..random.below(3) + u64::from(keys.is_empty())).map(|_| aggregate(random)).collect();
    if random.once_in(6) {
        return format!("SELECT id, {} FROM t{filter} ORDER BY id LIMIT 20", column(random));
    }
    let items: Vec<String> = keys.iter().map(|key| key.to_string()).chain(made).collect();
    let groups = if keys.is_empty() { String::new() } else { format!(" GROUP BY {}", keys.join(", ")) };
    format!("SELECT {} FROM t{filter}{groups} ORDER BY ALL", items.join(", "))
}

fn compare(connection: &Connection, random: &mut Random, queries: u64, place: &str) {
    for _ in 0..queries {
        let query = query(random);
        let answer = |use_them: bool| {
            connection.execute(&format!("SET enable_bitmap_indexes = {use_them}")).unwrap();
            sql::rows(connection, &query).unwrap_or_else(|error| panic!("{place}: {query}: {error}"))
        };
        let expected = answer(false);
        // Sets that are not there are made when they were asked for a few times.
        for round in 0..3 {
            assert_eq!(answer(true), expected, "{place}, round {round}: {query}");
        }
    }
}

fn setup(database: &Database) -> Connection {
    let connection = database.connect();
    SETUP.iter().for_each(|statement| drop(connection.execute(statement).unwrap()));
    connection
}

const CHANGES: &[&str] = &[
    "DELETE FROM t WHERE id % 97 = 5",
    "UPDATE t SET a = 3, b = NULL WHERE id % 1009 = 0",
    "UPDATE t SET a = 99 WHERE id = 7",
    "INSERT INTO t SELECT id + 1000000, a + 1, 'new', c, d, e, price FROM t WHERE id < 500",
    "UPDATE t SET c = c + 1 WHERE id BETWEEN 1000 AND 140000",
    "DELETE FROM t WHERE id BETWEEN 131072 AND 262143",
    "INSERT INTO t SELECT id + 2000000, a, b, c, NOT d, e, price FROM t",
    "ALTER TABLE t ADD COLUMN f INTEGER DEFAULT 1",
    "DROP INDEX others",
];

#[test]
fn every_query_answers_with_them_as_without() {
    for path in [None, Some("db.inlay")] {
        let folder = Folder::new("value_indexes");
        let path = path.map_or(":memory:".to_string(), |name| folder.file(name));
        let database = sql::open(&path, &[]).unwrap();
        let connection = setup(&database);
        let mut random = Random::of(&[path.len() as u64]);
        compare(&connection, &mut random, 60, "made");
        for change in CHANGES {
            connection.execute(change).unwrap();
            compare(&connection, &mut random, 10, change);
        }
        connection.execute("CHECKPOINT").unwrap();
        compare(&connection, &mut random, 20, "checkpoint");
        if path != ":memory:" {
            drop((connection, database));
            let database = sql::open(&path, &[]).unwrap();
            let connection = database.connect();
            sql::number(&connection, "SELECT count(*) FROM t WHERE a = 3 AND b = 'red'").unwrap();
            let known = "SELECT sum(memory_size)::BIGINT FROM inlay_indexes() WHERE index_name = 'sets'";
            assert!(sql::number(&connection, known).unwrap() > 0, "read from the file at the first look");
            compare(&connection, &mut random, 30, "opened again");
            sql::verify(&connection).unwrap();
        }
    }
}

/// A transaction sees its own rows, and others those from before.
#[test]
fn each_transaction_counts_what_it_sees() {
    let database = sql::open(":memory:", &[]).unwrap();
    let (writer, reader) = (setup(&database), database.connect());
    let count = |connection: &Connection| {
        sql::number(connection, "SELECT count(*) FROM t WHERE a = 3 AND b = 'red'").unwrap()
    };
    let before = count(&reader);
    writer.execute("BEGIN; DELETE FROM t WHERE a = 3 AND b = 'red' AND id < 100000").unwrap();
    assert!(count(&writer) < before);
    assert_eq!(count(&reader), before);
    writer.execute("UPDATE t SET b = 'red' WHERE a = 3").unwrap();
    assert!(count(&writer) > before);
    assert_eq!(count(&reader), before);
    writer.execute("ROLLBACK").unwrap();
    assert_eq!(count(&writer), before);
}

/// The newest version of the format that the headers of a file say.
fn version(path: &str) -> u8 {
    let bytes = fs::read(path).unwrap();
    bytes[16].max(bytes[4096 + 16])
}

#[test]
fn a_file_says_by_its_version_that_it_has_one_even_while_the_log_alone_knows() {
    let folder = Folder::new("value_index_version");
    let (path, copy) = (folder.file("db.inlay"), folder.file("copy.inlay"));
    let database = sql::open(&path, &[]).unwrap();
    let connection = database.connect();
    connection.execute("CREATE TABLE t AS SELECT range % 5 AS a FROM range(1000)").unwrap();
    connection.execute("CREATE INDEX tree ON t (a)").unwrap();
    connection.execute("CHECKPOINT").unwrap();
    assert_eq!(version(&path), 2);
    connection.execute("CREATE INDEX sets ON t USING bitmap (a)").unwrap();
    assert_eq!(version(&path), 3, "before the log has it");
    // What a kill leaves.
    folder::copy_database(&path, &copy);
    let restored = sql::open(&copy, &[]).unwrap();
    let kinds = "SELECT index_name, index_type FROM inlay_indexes() ORDER BY 1";
    assert_eq!(sql::rows(&restored.connect(), kinds).unwrap(), [["'sets'", "'bitmap'"], ["'tree'", "'art'"]]);
    drop(restored);
    assert_eq!(version(&copy), 3);
    connection.execute("DROP INDEX sets").unwrap();
    drop((connection, database));
    let database = sql::open(&path, &[]).unwrap();
    database
        .connect()
        .execute("INSERT INTO t VALUES (1); CHECKPOINT; INSERT INTO t VALUES (1); CHECKPOINT")
        .unwrap();
    drop(database);
    assert_eq!(version(&path), 2, "without one, older programs can read it again");
}

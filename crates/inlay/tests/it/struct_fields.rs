//! Structs that are stored by their fields: read whole and field by field they are what was put in, whatever happened to the rows; a
//! file says by its version that it has some; and files that have them packed go on as before.
//!
//! `tests/golden/packed.sql` made `packed.inlay`, by the last program that packed all structs.

use crate::support::dump::{self, Dump};
use crate::support::folder::{self, Folder};
use crate::support::random::Random;
use crate::support::sql;
use inlay::{Connection, Database};
use std::fs;
use std::path::Path;

/// What a row's struct is made of, as columns.
const PARTS: &str =
    "id INTEGER, there BOOLEAN, a INTEGER, b VARCHAR, inner_there BOOLEAN, x BIGINT, y DOUBLE, z VARCHAR[]";
/// A struct of them.
const MADE: &str =
    "CASE WHEN there THEN {'a': a, 'b': b, 'c': CASE WHEN inner_there THEN {'x': x, 'y': y, 'z': z} END} END";
const TYPE: &str = "STRUCT(a INTEGER, b VARCHAR, c STRUCT(x BIGINT, y DOUBLE, z VARCHAR[]))";

/// The parts of rows, some of which are NULL on each level; `salt` gives other rows.
fn parts(ids: std::ops::Range<i64>, salt: u64) -> String {
    let part = |number: u64, nulls: u64, value: &str| {
        let value = value.replace('?', &format!("hash(i + {})", salt * 100 + number));
        format!("CASE WHEN hash(i + {}) % {nulls} > 0 THEN {value} END", salt * 100 + number + 50)
    };
    format!(
        "SELECT i::INTEGER, hash(i + {salt}) % 9 > 0, {}, {}, hash(i + {salt} + 7) % 5 > 0, {}, {}, {} FROM range({}, {}) r(i)",
        part(1, 6, "(? % 100)::INTEGER"),
        part(2, 7, "['', 'short', 'a text of more than twelve bytes', (?)::VARCHAR][1 + (? % 4)::INTEGER]"),
        part(3, 8, "i * 1000 + (? % 7)::BIGINT"),
        part(4, 9, "(? % 64)::DOUBLE / 8"),
        part(5, 3, "['z', NULL, (? % 5)::VARCHAR]"),
        ids.start,
        ids.end,
    )
}

/// Queries of a table `?` with `id` and a struct `s`.
const QUERIES: &[&str] = &[
    "SELECT id, s FROM ?",
    "SELECT id, s.a, s.b, s.c.x, s.c.y, s.c.z FROM ?",
    "SELECT id, s.c FROM ?",
    "SELECT id, s.c, s.c.x, s FROM ? WHERE s.a < 50 AND s.c.x > 100000",
    "SELECT sum(s.a), count(s.b), min(s.c.y), max(s.c.x), count(s), count(s.c), count(*) FROM ?",
    "SELECT id FROM ? WHERE s.a BETWEEN 20 AND 30 OR s.b = ''",
    "SELECT id, s.b FROM ? WHERE s.b IN ('short', 'a text of more than twelve bytes') AND s.a IS NOT NULL",
    "SELECT id FROM ? WHERE s IS NULL",
    "SELECT id FROM ? WHERE s.c IS NULL AND s IS NOT NULL",
    "SELECT id FROM ? WHERE s.c.y IS NULL AND s.a % 2 = 0",
    "SELECT id, s FROM ? WHERE s.c.x < 1500000 ORDER BY s.a DESC NULLS LAST, id LIMIT 50",
    "SELECT s.a, count(*), sum(s.c.x) FROM ? GROUP BY s.a",
    "SELECT s.c.z, count(*), count(DISTINCT s) FROM ? GROUP BY ALL",
    "SELECT count(DISTINCT s.c) FROM ?",
    "SELECT l.id, r.s.b FROM ? l LEFT JOIN ? r ON l.s.a = r.id AND r.s.c.x > 10",
    "SELECT l.id, r.id FROM ? l JOIN ? r ON l.s.c.x = r.s.c.x AND l.s.b = r.s.b",
    "SELECT id, t.s.a FROM (SELECT * FROM ? UNION ALL SELECT * FROM ? WHERE s.b = 'short') t",
    "SELECT id, list_filter(s.c.z, v -> v <> s.b) FROM ? WHERE s.c.z IS NOT NULL",
    "SELECT id, s.a + lag(s.a) OVER (PARTITION BY s.b ORDER BY id) FROM ?",
    "SELECT id FROM ? WHERE s.a = (SELECT max(s.a) FROM ?)",
    "SELECT id FROM ? WHERE s = (SELECT min(s) FROM ? WHERE s.a > 90)",
];

/// Compares the stored structs with those that are made of the columns each time.
fn compare(connection: &Connection, place: &str) {
    for query in QUERIES {
        let answer = |table: &str| {
            let query = query.replace('?', table);
            sql::rows(connection, &query).unwrap_or_else(|error| panic!("{place}: {query}: {error}"))
        };
        let (found, expected) = (answer("stored"), answer("made"));
        if found != expected {
            let wrong = found.iter().zip(&expected).find(|(found, expected)| found != expected);
            panic!("{place}: {query}: {} rows for {}: {wrong:?}", found.len(), expected.len());
        }
    }
}

struct Pair {
    path: String,
    open: Option<(Database, Connection)>,
}

impl Pair {
    fn new(folder: &Folder) -> Self {
        let mut pair = Self { path: folder.file("db.inlay"), open: None };
        pair.reopen();
        pair.run(&format!("CREATE TABLE flat ({PARTS})"));
        pair.run(&format!("CREATE TABLE stored (id INTEGER, s {TYPE})"));
        pair.run(&format!("CREATE VIEW made AS SELECT id, {MADE} AS s FROM flat"));
        pair
    }

    fn connection(&self) -> &Connection {
        &self.open.as_ref().unwrap().1
    }

    fn run(&self, statement: &str) {
        self.connection().execute(statement).unwrap_or_else(|error| panic!("{statement}: {error}"));
    }

    fn reopen(&mut self) {
        self.open = None;
        let database = sql::open(&self.path, &[]).unwrap();
        let connection = database.connect();
        self.open = Some((database, connection));
    }

    fn insert(&self, ids: std::ops::Range<i64>, salt: u64) {
        self.run(&format!("INSERT INTO flat {}", parts(ids.clone(), salt)));
        let range = format!("id >= {} AND id < {}", ids.start, ids.end);
        self.run(&format!("INSERT INTO stored SELECT id, {MADE} FROM flat WHERE {range}"));
    }

    fn update(&self, condition: &str, ids: std::ops::Range<i64>, salt: u64) {
        self.run(&format!("CREATE TEMP TABLE new_parts ({PARTS})"));
        self.run(&format!("INSERT INTO new_parts {}", parts(ids, salt)));
        let set = "there = n.there, a = n.a, b = n.b, inner_there = n.inner_there, x = n.x, y = n.y, z = n.z";
        self.run(&format!(
            "UPDATE flat SET {set} FROM new_parts n WHERE flat.id = n.id AND flat.id {condition}"
        ));
        self.run(&format!(
            "UPDATE stored SET s = n.s FROM (SELECT id, {MADE} AS s FROM new_parts) n WHERE stored.id = n.id AND stored.id {condition}"
        ));
        self.run("DROP TABLE new_parts");
    }

    fn delete(&self, condition: &str) {
        self.run(&format!("DELETE FROM flat WHERE id {condition}"));
        self.run(&format!("DELETE FROM stored WHERE id {condition}"));
    }
}

#[test]
fn rows_are_what_was_put_in_whatever_happened_to_them() {
    let folder = Folder::new("struct_fields");
    let mut random = Random::of(&[0x57_2C_7F]);
    let mut pair = Pair::new(&folder);
    let mut end = 4_000;
    pair.insert(0..end, 1);
    compare(pair.connection(), "loaded");
    let kinds = "SELECT DISTINCT compression FROM pragma_storage_info('stored') WHERE column_name = 's'";
    assert_eq!(sql::rows(pair.connection(), kinds).unwrap(), [["'fields'"]]);
    for round in 0..14u64 {
        let place = format!("round {round}");
        match if round < 8 { round } else { random.below(8) } {
            0 => pair.reopen(),
            1 => pair.update("% 700 = 3", 0..end, 10 + round),
            2 => pair.delete(&format!("% 90 = {}", random.below(90))),
            3 => {
                // A few at a time, which stay packed for now.
                (0..3).for_each(|more| pair.insert(end + more * 40..end + more * 40 + 40, 20 + round));
                end += 120;
            }
            4 => pair.run("CHECKPOINT"),
            5 => pair.update(&format!("% 3 = {}", random.below(3)), 0..end, 30 + round),
            6 => {
                pair.insert(end..end + 3_000, 40 + round);
                end += 3_000;
            }
            _ => {
                pair.run("VACUUM");
                pair.run("CHECKPOINT");
                pair.reopen();
            }
        }
        compare(pair.connection(), &place);
        sql::verify(pair.connection()).unwrap_or_else(|problem| panic!("{place}: {problem}"));
    }
}

#[test]
fn indexes_and_alterations_see_the_fields() {
    let folder = Folder::new("struct_fields");
    let mut pair = Pair::new(&folder);
    pair.insert(0..3_000, 1);
    pair.run("CREATE INDEX of_field ON stored ((s.c.x))");
    pair.run("CREATE INDEX by_id ON stored (id)");
    compare(pair.connection(), "indexed");
    pair.update("= 77", 0..3_000, 5);
    pair.run("ALTER TABLE stored ADD COLUMN other INTEGER DEFAULT 3");
    pair.run("ALTER TABLE stored DROP COLUMN other");
    compare(pair.connection(), "with and without another column");
    pair.run("CHECKPOINT");
    pair.reopen();
    compare(pair.connection(), "opened again");
    pair.run("ALTER TABLE stored ADD COLUMN taken INTEGER");
    pair.run("UPDATE stored SET taken = s.a");
    let differ = "SELECT count(*) FROM stored WHERE taken IS DISTINCT FROM s.a";
    assert_eq!(sql::number(pair.connection(), differ).unwrap(), 0);
    pair.run("CREATE TABLE copied AS SELECT * FROM stored");
    let differ =
        "SELECT count(*) FROM stored JOIN copied USING (id) WHERE stored.s IS DISTINCT FROM copied.s";
    assert_eq!(sql::number(pair.connection(), differ).unwrap(), 0);
    pair.run("ALTER TABLE copied ALTER s TYPE VARCHAR");
    let differ = "SELECT count(*) FROM stored JOIN copied USING (id) WHERE stored.s::VARCHAR IS DISTINCT FROM copied.s";
    assert_eq!(sql::number(pair.connection(), differ).unwrap(), 0);
}

#[test]
fn a_wide_struct_comes_back_in_a_transaction_and_after_it() {
    let folder = Folder::new("struct_fields");
    let path = folder.file("db.inlay");
    let database = sql::open(&path, &[]).unwrap();
    let connection = database.connect();
    let fields = |of: &dyn Fn(usize) -> String| (0..40).map(of).collect::<Vec<_>>().join(", ");
    let made = fields(&|f| format!("'f{f}': CASE WHEN i % {} > 0 THEN i * {f} % 1009 END", f + 2));
    connection.execute("BEGIN").unwrap();
    connection
        .execute(&format!("CREATE TABLE wide AS SELECT i, {{{made}}} AS w FROM range(5000) r(i)"))
        .unwrap();
    let sums = format!("SELECT {} FROM wide", fields(&|f| format!("sum(w.f{f})")));
    let direct = fields(&|f| format!("sum(CASE WHEN i % {} > 0 THEN i * {f} % 1009 END)", f + 2));
    let expected = sql::rows(&connection, &format!("SELECT {direct} FROM range(5000) r(i)")).unwrap();
    assert_eq!(sql::rows(&connection, &sums).unwrap(), expected, "inside of the transaction");
    connection.execute("COMMIT").unwrap();
    drop((connection, database));
    let database = sql::open(&path, &[]).unwrap();
    let connection = database.connect();
    assert_eq!(sql::rows(&connection, &sums).unwrap(), expected);
    let made = made.replace("'f", "f").replace("':", " :=");
    let differ = format!("SELECT count(*) FROM wide WHERE w IS DISTINCT FROM struct_pack({made})");
    assert_eq!(sql::number(&connection, &differ).unwrap(), 0);
}

/// The newest version of the format that the headers of a file say.
fn version(path: &str) -> u8 {
    let bytes = fs::read(path).unwrap();
    bytes[16].max(bytes[4096 + 16])
}

#[test]
fn a_file_says_by_its_version_that_it_has_structs_by_fields_even_while_the_log_alone_knows() {
    let folder = Folder::new("struct_fields_version");
    let (path, copy) = (folder.file("db.inlay"), folder.file("copy.inlay"));
    let database = sql::open(&path, &[]).unwrap();
    let connection = database.connect();
    connection.execute("CREATE TABLE few AS SELECT {'a': range} AS s FROM range(500)").unwrap();
    connection.execute("CHECKPOINT").unwrap();
    assert_eq!(version(&path), 2, "packed structs are nothing new");
    connection.execute("CREATE TABLE many AS SELECT {'a': range} AS s FROM range(40000)").unwrap();
    assert_eq!(version(&path), 4, "before the log has it");
    // What a kill leaves.
    folder::copy_database(&path, &copy);
    let sum = "SELECT sum(s.a) FROM many";
    {
        let restored = sql::open(&copy, &[]).unwrap();
        assert_eq!(sql::number(&restored.connect(), sum).unwrap(), 39999 * 20000);
        restored.connect().execute("INSERT INTO few VALUES ({'a': 1}); CHECKPOINT").unwrap();
    }
    {
        // Nobody looks at the table.
        let restored = sql::open(&copy, &[]).unwrap();
        restored.connect().execute("INSERT INTO few VALUES ({'a': 1}); CHECKPOINT").unwrap();
    }
    assert_eq!(version(&copy), 4);
    let again = folder.file("again.inlay");
    connection
        .execute(&format!("ATTACH '{again}' AS again; COPY FROM DATABASE db TO again; DETACH again"))
        .unwrap();
    assert_eq!(version(&again), 4);
    connection.execute("DROP TABLE many").unwrap();
    drop((connection, database));
    let database = sql::open(&path, &[]).unwrap();
    let connection = database.connect();
    connection.execute("SELECT sum(s.a) FROM few").unwrap();
    connection
        .execute("INSERT INTO few VALUES ({'a': 1}); CHECKPOINT; INSERT INTO few VALUES (NULL); CHECKPOINT")
        .unwrap();
    drop((connection, database));
    assert_eq!(version(&path), 2, "without one, older programs can read it again");
}

fn golden(name: &str) -> Vec<u8> {
    fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name)).unwrap()
}

fn seen(database: &Database) -> Dump {
    dump::dump(&database.connect(), &database.name()).unwrap()
}

#[test]
fn a_file_with_packed_structs_holds_what_it_held_and_is_rewritten_by_and_by() {
    let folder = Folder::new("struct_fields");
    let path = folder.file("db.inlay");
    fs::write(&path, golden("packed.inlay")).unwrap();
    let expected = {
        let database = sql::open(&folder.file("expected.inlay"), &[]).unwrap();
        let connection = database.connect();
        for statement in String::from_utf8(golden("packed.sql")).unwrap().lines() {
            connection.execute(statement).unwrap_or_else(|error| panic!("{statement}: {error}"));
        }
        drop(connection);
        seen(&database)
    };
    let fields = "SELECT id, s.a, s.b, s.c.x, s.c.y, s.c.z, s.d FROM boxes WHERE s.a < 70 AND s.c.x > 5000";
    let database = sql::open(&path, &[]).unwrap();
    let connection = database.connect();
    assert_eq!(dump::difference(&seen(&database), &expected), None);
    let before = sql::rows(&connection, fields).unwrap();
    assert!(before.len() > 500);
    let kinds = "SELECT DISTINCT compression FROM pragma_storage_info('boxes') WHERE column_name = 's'";
    assert!(!sql::rows(&connection, kinds).unwrap().contains(&vec!["'fields'".to_string()]));
    // A row of it changes, and the column is written anew.
    connection.execute("UPDATE boxes SET s = s WHERE id = 20; CHECKPOINT").unwrap();
    assert_eq!(version(&path), 4);
    drop((connection, database));
    let database = sql::open(&path, &[]).unwrap();
    let connection = database.connect();
    assert_eq!(sql::rows(&connection, fields).unwrap(), before);
    assert!(sql::rows(&connection, kinds).unwrap().contains(&vec!["'fields'".to_string()]));
    assert_eq!(dump::difference(&seen(&database), &expected), None);
    sql::verify(&connection).unwrap();
}

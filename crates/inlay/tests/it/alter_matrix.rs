//! ALTER TABLE of every kind, at every moment of a file's life: the table is what a plain model says after each step, is
//! verified, and can be read when the file is opened again.
//!
//! A case is a kind of ALTER ([`kinds`]), what the table has besides its columns ([`SHAPES`]), how many rows it has
//! ([`SIZES`]), and what happens around the statement ([`MOMENTS`]). `INLAY_ALTER_CASES` sets how many cases are tried,
//! `INLAY_ALTER_LARGE_CASES` how many with several row groups (0: all of them).

use crate::support::disk::{self, SimulatedDisk};
use crate::support::{amount, cases, sql};
use inlay::{Connection, Database};
use std::collections::BTreeSet;
use std::sync::Arc;

const CONFIG: &[(&str, &str)] = &[("threads", "1")];
/// Ids of rows that are inserted later begin here.
const LATER: i64 = 1_000_000;

/// No rows, a few, more than a sample and a vector have.
const SIZES: [i64; 3] = [0, 3, 3_000];
/// Two row groups.
const LARGE: i64 = 140_000;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Shape {
    Plain,
    /// Has a primary key, indexes and a view.
    Keyed,
    /// Has an index on an expression; rows were deleted and changed.
    Changed,
}

const SHAPES: [Shape; 3] = [Shape::Plain, Shape::Keyed, Shape::Changed];

#[derive(Clone, Copy, Debug)]
enum Moment {
    SameSession,
    Reopened,
    Checkpointed,
    Killed,
    InTransaction,
    RolledBack,
    ToSavepoint,
    BesideReader,
    BesideWriter,
    Twice,
    ChangedAfter,
}

const MOMENTS: [Moment; 11] = [
    Moment::SameSession,
    Moment::Reopened,
    Moment::Checkpointed,
    Moment::Killed,
    Moment::InTransaction,
    Moment::RolledBack,
    Moment::ToSavepoint,
    Moment::BesideReader,
    Moment::BesideWriter,
    Moment::Twice,
    Moment::ChangedAfter,
];

/// The text of a value by the id of its row.
type Value = Arc<dyn Fn(i64) -> String + Send + Sync>;

fn value(of: impl Fn(i64) -> String + Send + Sync + 'static) -> Value {
    Arc::new(of)
}

fn always(text: &'static str) -> Value {
    value(move |_| text.to_string())
}

#[derive(Clone)]
struct Column {
    name: &'static str,
    value: Value,
    /// What a row gets that is inserted with nothing but its id.
    inserted: Value,
}

/// What the table has to hold.
#[derive(Clone)]
struct Model {
    table: &'static str,
    columns: Vec<Column>,
    ids: BTreeSet<i64>,
}

impl Model {
    fn new(rows: i64) -> Self {
        let column = |name, value, inserted| Column { name, value, inserted };
        let null = || always("NULL");
        let columns = vec![
            column("id", value(|i| i.to_string()), value(|i| i.to_string())),
            column("n", value(|i| if i % 7 == 3 { "NULL".into() } else { (i * 10).to_string() }), null()),
            column("s", value(|i| format!("'s{}'", i % 50)), null()),
            column("r", value(|i| pair("a", i)), always("{'a': 8, 'b': 9}")),
            column("g", value(|i| (i * 2).to_string()), value(|i| (i * 2).to_string())),
            column("z", value(|i| (i % 3).to_string()), always("0")),
        ];
        Self { table: "t", columns, ids: (0..rows).collect() }
    }

    fn at(&self, name: &str) -> usize {
        self.columns.iter().position(|column| column.name == name).unwrap()
    }

    fn has(&self, name: &str) -> bool {
        self.columns.iter().any(|column| column.name == name)
    }

    /// Puts other values in the place of a column's.
    fn map(&mut self, name: &str, change: impl Fn(String) -> String + Send + Sync + 'static) {
        let at = self.at(name);
        let change = Arc::new(change);
        let changed = |old: Value| {
            let change = Arc::clone(&change);
            value(move |i| change(old(i)))
        };
        let column = &mut self.columns[at];
        column.value = changed(Arc::clone(&column.value));
    }

    /// As [`Model::map`]; also for rows that are inserted later.
    fn map_all(&mut self, name: &str, change: fn(String) -> String) {
        self.map(name, change);
        let at = self.at(name);
        let old = Arc::clone(&self.columns[at].inserted);
        self.columns[at].inserted = value(move |i| change(old(i)));
    }

    fn add(&mut self, name: &'static str, text: &'static str) {
        self.columns.push(Column { name, value: always(text), inserted: always(text) });
    }

    fn remove(&mut self, name: &str) {
        self.columns.remove(self.at(name));
    }

    fn insert(&mut self, ids: &[i64]) {
        let new: Arc<BTreeSet<i64>> = Arc::new(ids.iter().copied().collect());
        for column in &mut self.columns {
            let (old, inserted) = (Arc::clone(&column.value), Arc::clone(&column.inserted));
            let new = Arc::clone(&new);
            column.value = value(move |i| if new.contains(&i) { inserted(i) } else { old(i) });
        }
        self.ids.extend(ids);
    }

    /// Rows that are compared one by one.
    fn is_shown(id: i64) -> bool {
        id < 40 || id % 10_007 == 0 || id >= LATER
    }

    fn rows(&self) -> Vec<Vec<String>> {
        let shown = self.ids.iter().filter(|id| Self::is_shown(**id));
        let mut rows: Vec<Vec<String>> =
            shown.map(|id| self.columns.iter().map(|column| (column.value)(*id)).collect()).collect();
        rows.sort();
        rows
    }
}

fn pair(first: &str, i: i64) -> String {
    if i % 11 == 5 { "NULL".into() } else { format!("{{'{first}': {i}, 'b': {}}}", -i) }
}

fn quoted(text: String) -> String {
    if text == "NULL" { text } else { format!("'{text}'") }
}

/// A kind of ALTER: its text with `{t}` for the table, and what it does to the model.
struct Kind {
    sql: &'static str,
    apply: fn(&mut Model),
}

fn kind(sql: &'static str, apply: fn(&mut Model)) -> Kind {
    Kind { sql, apply }
}

fn kinds() -> Vec<Kind> {
    vec![
        kind("ALTER TABLE {t} ALTER n TYPE VARCHAR", |m| m.map_all("n", quoted)),
        kind("ALTER TABLE {t} ALTER n TYPE BIGINT", |_| {}),
        kind("ALTER TABLE {t} ALTER n TYPE DECIMAL(14, 2)", |m| m.map_all("n", decimal)),
        kind("ALTER TABLE {t} ALTER n TYPE INTEGER USING n + 1", |m| m.map("n", increased)),
        kind("ALTER TABLE {t} ALTER n TYPE VARCHAR USING 'n' || z", |m| {
            let z = Arc::clone(&m.columns[m.at("z")].value);
            let at = m.at("n");
            m.columns[at].value = value(move |i| format!("'n{}'", z(i)));
        }),
        kind("ALTER TABLE {t} ALTER s TYPE VARCHAR USING upper(s)", |m| m.map("s", |s| s.to_uppercase())),
        kind("ALTER TABLE {t} ALTER s TYPE INTEGER USING length(s)", |m| m.map("s", length)),
        kind("ALTER TABLE {t} ALTER z TYPE TINYINT", |_| {}),
        kind("ALTER TABLE {t} ALTER r TYPE VARCHAR", |m| m.map_all("r", struct_text)),
        kind("ALTER TABLE {t} ADD COLUMN c INTEGER", |m| m.add("c", "NULL")),
        kind("ALTER TABLE {t} ADD COLUMN c VARCHAR DEFAULT 'new'", |m| m.add("c", "'new'")),
        kind("ALTER TABLE {t} ADD COLUMN c INTEGER NOT NULL DEFAULT 3", |m| m.add("c", "3")),
        kind("ALTER TABLE {t} ADD COLUMN c INTEGER GENERATED ALWAYS AS (id + 1) STORED", |m| {
            let next = value(|i| (i + 1).to_string());
            m.columns.push(Column { name: "c", value: Arc::clone(&next), inserted: next });
        }),
        kind("ALTER TABLE {t} DROP COLUMN n", |m| m.remove("n")),
        kind("ALTER TABLE {t} DROP COLUMN s", |m| m.remove("s")),
        kind("ALTER TABLE {t} DROP COLUMN g", |m| m.remove("g")),
        kind("ALTER TABLE {t} DROP COLUMN z", |m| m.remove("z")),
        kind("ALTER TABLE {t} RENAME COLUMN n TO m", |m| {
            let at = m.at("n");
            m.columns[at].name = "m";
        }),
        kind("ALTER TABLE {t} RENAME TO u", |m| m.table = "u"),
        kind("ALTER TABLE {t} ADD COLUMN r.c INTEGER DEFAULT 5", |m| {
            m.map("r", |r| with_field(&r, "5"));
            let at = m.at("r");
            m.columns[at].inserted = always("{'a': 8, 'b': 9, 'c': NULL}");
        }),
        kind("ALTER TABLE {t} DROP COLUMN r.a", |m| m.map_all("r", without_first)),
        kind("ALTER TABLE {t} RENAME COLUMN r.a TO k", |m| m.map_all("r", |r| r.replace("'a'", "'k'"))),
        kind("ALTER TABLE {t} ALTER z SET NOT NULL", |_| {}),
        kind("ALTER TABLE {t} ALTER id DROP NOT NULL", |_| {}),
        kind("ALTER TABLE {t} ALTER n SET DEFAULT 42", |m| {
            let at = m.at("n");
            m.columns[at].inserted = always("42");
        }),
        kind("ALTER TABLE {t} ALTER z DROP DEFAULT", |m| {
            let at = m.at("z");
            m.columns[at].inserted = always("NULL");
        }),
        kind("ALTER TABLE {t} ADD PRIMARY KEY (id)", |_| {}),
        kind("ALTER TABLE {t} ADD CONSTRAINT only_one UNIQUE (id, s)", |_| {}),
        kind("ALTER TABLE {t} ADD CONSTRAINT positive CHECK (id >= 0)", |_| {}),
        kind("ALTER TABLE {t} DROP COLUMN n, ADD COLUMN c VARCHAR DEFAULT 'new'", |m| {
            m.remove("n");
            m.add("c", "'new'");
        }),
        kind("ALTER TABLE {t} ALTER n TYPE VARCHAR, DROP COLUMN z, ADD COLUMN c INTEGER DEFAULT 1", |m| {
            m.map_all("n", quoted);
            m.remove("z");
            m.add("c", "1");
        }),
    ]
}

fn decimal(text: String) -> String {
    if text == "NULL" { text } else { format!("{text}.00") }
}

fn increased(text: String) -> String {
    text.parse::<i64>().map_or(text, |number| (number + 1).to_string())
}

fn length(text: String) -> String {
    if text == "NULL" { text } else { (text.len() - 2).to_string() }
}

fn struct_text(text: String) -> String {
    if text == "NULL" { text } else { format!("'{text}'") }
}

fn with_field(text: &str, field: &str) -> String {
    text.strip_suffix('}').map_or(text.to_string(), |head| format!("{head}, 'c': {field}}}"))
}

fn without_first(text: String) -> String {
    text.split_once(", ").map_or(text.clone(), |(_, rest)| format!("{{{rest}"))
}

/// ALTERs that these tables refuse, as something is computed from the column or a key needs it.
fn is_refused(kind: &Kind, shape: Shape, error: &inlay::Error) -> bool {
    let of_text = kind.sql.contains(" ALTER s ") || kind.sql.contains(" DROP COLUMN s");
    let of_key = kind.sql.contains("PRIMARY KEY") || kind.sql.contains("DROP NOT NULL");
    let is_expected = match shape {
        Shape::Plain => false,
        Shape::Keyed => of_key,
        Shape::Changed => of_text,
    };
    is_expected && error.sqlstate().starts_with("42")
}

/// A database on a disk, with what its table has to hold.
struct Place {
    disk: Arc<SimulatedDisk>,
    database: Option<Database>,
    connection: Option<Connection>,
    model: Model,
    shape: Shape,
}

type Checked = Result<(), String>;

impl Place {
    fn new(shape: Shape, rows: i64) -> Result<Self, String> {
        let disk = disk::empty(1);
        let mut place = Self { disk, database: None, connection: None, model: Model::new(rows), shape };
        place.open()?;
        place.run(
            "CREATE TABLE t (id INTEGER, n INTEGER, s VARCHAR, r STRUCT(a INTEGER, b INTEGER) DEFAULT {'a': 8, 'b': 9}, \
             g INTEGER GENERATED ALWAYS AS (id * 2) STORED, z BIGINT DEFAULT 0)",
        )?;
        place.run(&format!(
            "INSERT INTO t (id, n, s, r, z) SELECT range, CASE WHEN range % 7 <> 3 THEN range * 10 END, \
             's' || (range % 50), CASE WHEN range % 11 <> 5 THEN {{'a': range, 'b': -range}} END, range % 3 \
             FROM range({rows})"
        ))?;
        match shape {
            Shape::Plain => {}
            Shape::Keyed => {
                place.run("ALTER TABLE t ADD PRIMARY KEY (id)")?;
                place.run("CREATE INDEX t_n ON t (n)")?;
                place.run("CREATE INDEX t_sz ON t (s, z)")?;
                place.run("CREATE VIEW v AS SELECT id, z FROM t")?;
            }
            Shape::Changed => {
                place.run("CREATE INDEX t_upper ON t (upper(s))")?;
                place.delete()?;
                place.update()?;
            }
        }
        place.check("made")?;
        Ok(place)
    }

    fn connection(&self) -> &Connection {
        self.connection.as_ref().unwrap()
    }

    fn other(&self) -> Connection {
        self.database.as_ref().unwrap().connect()
    }

    fn open(&mut self) -> Checked {
        let database = disk::open(&self.disk, CONFIG).map_err(|error| format!("opening: {error}"))?;
        self.connection = Some(database.connect());
        self.database = Some(database);
        Ok(())
    }

    /// Closes the database and opens it again.
    fn reopen(&mut self) -> Checked {
        (self.connection, self.database) = (None, None);
        self.open()?;
        self.check("opened again")
    }

    /// Goes on with the files as they are now, as after the process was killed.
    fn kill(&mut self) -> Checked {
        let files = self.disk.snapshot();
        (self.connection, self.database) = (None, None);
        self.disk = disk::holding(files);
        self.open()?;
        self.check("opened after a kill")
    }

    fn run(&self, statement: &str) -> Checked {
        run_in(self.connection(), statement)
    }

    /// Does the ALTER, if this table takes it.
    fn alter(&mut self, kind: &Kind) -> Checked {
        let statement = kind.sql.replace("{t}", self.model.table);
        match self.connection().execute(&statement) {
            Ok(_) => (kind.apply)(&mut self.model),
            Err(error) if is_refused(kind, self.shape, &error) => {}
            Err(error) => return Err(format!("{statement}: {error} ({})", error.sqlstate())),
        }
        Ok(())
    }

    fn insert(&mut self) -> Checked {
        let first = LATER.max(self.model.ids.last().map_or(0, |last| last + 1));
        let ids = [first, first + 1, first + 2];
        self.run(&format!(
            "INSERT INTO {} (id) VALUES ({first}), ({}), ({})",
            self.model.table, ids[1], ids[2]
        ))?;
        self.model.insert(&ids);
        Ok(())
    }

    fn delete(&mut self) -> Checked {
        self.run(&format!("DELETE FROM {} WHERE id % 4 = 1", self.model.table))?;
        self.model.ids.retain(|id| id % 4 != 1);
        Ok(())
    }

    fn update(&mut self) -> Checked {
        if self.model.has("z") {
            self.run(&format!("UPDATE {} SET z = 9 WHERE id % 6 = 2", self.model.table))?;
            let at = self.model.at("z");
            let old = Arc::clone(&self.model.columns[at].value);
            let ids: BTreeSet<i64> = self.model.ids.iter().copied().filter(|id| id % 6 == 2).collect();
            self.model.columns[at].value =
                value(move |i| if ids.contains(&i) { "9".to_string() } else { old(i) });
        }
        Ok(())
    }

    fn check(&self, when: &str) -> Checked {
        compare(self.connection(), &self.model, self.shape)
            .map_err(|problem| format!("{when}: {problem}"))?;
        if self.connection().in_transaction() {
            return Ok(());
        }
        sql::verify(self.connection()).map_err(|found| format!("{when}: PRAGMA verify: {found}"))
    }
}

fn run_in(connection: &Connection, statement: &str) -> Checked {
    let outcome = connection.execute(statement);
    outcome.map(drop).map_err(|error| format!("{statement}: {error} ({})", error.sqlstate()))
}

/// Compares the table with the model: rows, their number, and how many have a value, for each column.
fn compare(connection: &Connection, model: &Model, shape: Shape) -> Checked {
    let table = model.table;
    let statement = format!("SELECT * FROM {table} WHERE id < 40 OR id % 10007 = 0 OR id >= {LATER}");
    let answer = connection
        .execute(&statement)
        .map_err(|error| format!("{statement}: {error} ({})", error.sqlstate()))?;
    let names: Vec<&str> = model.columns.iter().map(|column| column.name).collect();
    if answer.names() != names {
        return Err(format!("columns {:?} in place of {names:?}", answer.names()));
    }
    let (found, expected) = (sql::rows_of(&answer), model.rows());
    if let Some(at) = (0..found.len().max(expected.len())).find(|at| found.get(*at) != expected.get(*at)) {
        return Err(format!("row {:?} in place of {:?}", found.get(at), expected.get(at)));
    }
    let number =
        |statement: &str| sql::number(connection, statement).map_err(|e| format!("{statement}: {e}"));
    if number(&format!("SELECT count(*) FROM {table}"))? != model.ids.len() as i64 {
        return Err("another number of rows".to_string());
    }
    let Some(first) = model.ids.first() else { return Ok(()) };
    for column in &model.columns {
        let text = (column.value)(*first);
        if text == "NULL" || text.contains('{') {
            continue;
        }
        let expected = model.ids.iter().filter(|id| (column.value)(**id) == text).count() as i64;
        let found = number(&format!("SELECT count(*) FROM {table} WHERE {} = {text}", column.name))?;
        if found != expected {
            return Err(format!("{found} rows in place of {expected} with {} = {text}", column.name));
        }
    }
    if shape == Shape::Keyed && table == "t" && model.has("z") {
        let of_view = number("SELECT count(*) FROM v WHERE id >= 0")?;
        if of_view != model.ids.len() as i64 {
            return Err(format!("the view has {of_view} rows"));
        }
    }
    Ok(())
}

/// One case: makes the table, alters it at the moment, and looks at it after each step.
fn run_case(altered: &Kind, shape: Shape, rows: i64, moment: Moment) -> Checked {
    let mut place = Place::new(shape, rows)?;
    match moment {
        Moment::SameSession => {
            place.alter(altered)?;
            place.check("altered")?;
            place.insert()?;
            place.check("inserted")?;
        }
        Moment::Reopened => {
            place.reopen()?;
            place.alter(altered)?;
            place.check("altered")?;
        }
        Moment::Checkpointed => {
            place.run("CHECKPOINT")?;
            place.reopen()?;
            place.alter(altered)?;
            place.run("CHECKPOINT")?;
            place.check("checkpoint")?;
            place.insert()?;
        }
        Moment::Killed => {
            place.reopen()?;
            place.alter(altered)?;
            place.kill()?;
            place.insert()?;
            place.kill()?;
        }
        Moment::InTransaction => {
            place.reopen()?;
            place.run("BEGIN")?;
            place.insert()?;
            place.alter(altered)?;
            place.check("in the transaction")?;
            place.insert()?;
            place.update()?;
            place.delete()?;
            place.check("after all changes")?;
            place.run("COMMIT")?;
            place.kill()?;
        }
        Moment::RolledBack => {
            place.reopen()?;
            let before = place.model.clone();
            place.run("BEGIN")?;
            place.alter(altered)?;
            place.insert()?;
            place.check("in the transaction")?;
            place.run("ROLLBACK")?;
            place.model = before;
            place.check("rolled back")?;
            place.insert()?;
        }
        Moment::ToSavepoint => {
            place.run("BEGIN")?;
            place.insert()?;
            place.run("SAVEPOINT here")?;
            let before = place.model.clone();
            place.alter(altered)?;
            place.insert()?;
            place.run("ROLLBACK TO here")?;
            place.model = before;
            place.check("back at the savepoint")?;
            place.alter(altered)?;
            place.run("COMMIT")?;
            place.check("altered again")?;
        }
        Moment::BesideReader => {
            place.reopen()?;
            let (reader, before) = (place.other(), place.model.clone());
            run_in(&reader, "BEGIN")?;
            compare(&reader, &before, shape)?;
            place.alter(altered)?;
            place.insert()?;
            compare(&reader, &before, shape).map_err(|problem| format!("the reader: {problem}"))?;
            run_in(&reader, "COMMIT")?;
            compare(&reader, &place.model, shape).map_err(|problem| format!("afterwards: {problem}"))?;
        }
        Moment::BesideWriter => {
            place.reopen()?;
            let writer = place.other();
            run_in(&writer, "BEGIN")?;
            run_in(&writer, &format!("INSERT INTO t (id) VALUES ({LATER})"))?;
            place.alter(altered)?;
            match writer.execute("COMMIT") {
                Ok(_) => place.model.insert(&[LATER]),
                Err(error) if sql::is_conflict(&error) => {}
                Err(error) => return Err(format!("COMMIT of the writer: {error} ({})", error.sqlstate())),
            }
            place.check("both are done")?;
        }
        Moment::Twice => {
            place.reopen()?;
            place.alter(altered)?;
            let add = kind("ALTER TABLE {t} ADD COLUMN later INTEGER DEFAULT 6", |m| m.add("later", "6"));
            let retype = kind("ALTER TABLE {t} ALTER later TYPE VARCHAR", |m| m.map_all("later", quoted));
            place.alter(&add)?;
            place.check("altered twice")?;
            place.reopen()?;
            place.alter(&retype)?;
            place.check("altered three times")?;
        }
        Moment::ChangedAfter => {
            place.reopen()?;
            place.alter(altered)?;
            place.update()?;
            place.delete()?;
            place.insert()?;
            place.kill()?;
            place.run("VACUUM")?;
            place.check("vacuumed")?;
        }
    }
    place.reopen()?;
    place.reopen()
}

#[test]
fn altered_tables_are_what_they_should_be_at_every_moment_of_a_file() {
    let kinds = kinds();
    let count = kinds.len() * SHAPES.len() * SIZES.len() * MOMENTS.len();
    let numbers = cases::sample(count, amount("INLAY_ALTER_CASES", 300));
    cases::run("alter", &numbers, |number| {
        let (kind, number) = (&kinds[number % kinds.len()], number / kinds.len());
        let (moment, number) = (MOMENTS[number % MOMENTS.len()], number / MOMENTS.len());
        let (shape, size) = (SHAPES[number % SHAPES.len()], SIZES[number / SHAPES.len()]);
        run_case(kind, shape, size, moment)
            .map_err(|problem| format!("{} ({shape:?}, {size} rows, {moment:?}): {problem}", kind.sql))
    });
}

#[test]
fn altered_tables_of_several_row_groups_are_what_they_should_be() {
    let kinds = kinds();
    let numbers =
        cases::sample(kinds.len() * SHAPES.len() * MOMENTS.len(), amount("INLAY_ALTER_LARGE_CASES", 6));
    cases::run("alter large", &numbers, |number| {
        let (kind, number) = (&kinds[number % kinds.len()], number / kinds.len());
        let (shape, moment) = (SHAPES[number % SHAPES.len()], MOMENTS[number / SHAPES.len()]);
        run_case(kind, shape, LARGE, moment)
            .map_err(|problem| format!("{} ({shape:?}, {moment:?}): {problem}", kind.sql))
    });
}

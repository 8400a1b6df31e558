//! What the process that is going to be killed does, and the model that says what has to be there afterwards.
//!
//! Each thread owns some tables and runs transactions numbered 1, 2, 3, ...; what number N does follows from the seed,
//! the thread and the model of what N - 1 left, so that the parent can tell the exact content after every N without
//! having watched. Each transaction writes its number into `progress`: the number found there says which content is
//! due. The tables `account` and `journal` are everyone's, and there the threads collide.

use super::random::Random;
use super::sql::{self, Rows};
use inlay::Connection;
use std::collections::BTreeMap;

/// Accounts that all threads move money between.
pub const ACCOUNTS: i64 = 50;
const BALANCE: i64 = 1000;
const IDS: i64 = 200;
/// An id moves this far when its key is changed.
const MOVED: i64 = 1000;

/// Statements that make the tables of `threads` threads.
pub fn setup(threads: u64) -> Vec<String> {
    let mut statements = vec![
        "CREATE TABLE progress (thread INTEGER PRIMARY KEY, number BIGINT)".to_string(),
        format!("INSERT INTO progress SELECT range, 0 FROM range(0, {threads})"),
        "CREATE TABLE account (id INTEGER PRIMARY KEY, balance BIGINT NOT NULL)".to_string(),
        format!("INSERT INTO account SELECT range, {BALANCE} FROM range(0, {ACCOUNTS})"),
        "CREATE TABLE journal (thread INTEGER, number BIGINT, source INTEGER, target INTEGER, amount BIGINT)"
            .to_string(),
        "CREATE INDEX journal_thread ON journal (thread)".to_string(),
    ];
    for thread in 0..threads {
        statements
            .push(format!("CREATE TABLE rows_{thread} (id BIGINT PRIMARY KEY, value BIGINT, text VARCHAR)"));
        statements.push(format!("CREATE INDEX rows_{thread}_value ON rows_{thread} (value)"));
        statements
            .push(format!("CREATE INDEX rows_{thread}_upper ON rows_{thread} (upper(text)) WHERE value > 0"));
        statements.push(format!("CREATE TABLE bulk_{thread} (n BIGINT, value BIGINT, word VARCHAR)"));
    }
    statements
}

/// One transaction: its statements, run between BEGIN and COMMIT unless it is a single one without them.
#[derive(Debug)]
pub struct Planned {
    /// The statements.
    pub statements: Vec<String>,
    /// Whether BEGIN and COMMIT go around them.
    pub explicit: bool,
}

impl Planned {
    /// The statements with BEGIN and COMMIT around them if they need it.
    pub fn framed(&self) -> impl Iterator<Item = &str> {
        let (begin, commit) = if self.explicit { (Some("BEGIN"), Some("COMMIT")) } else { (None, None) };
        begin.into_iter().chain(self.statements.iter().map(String::as_str)).chain(commit)
    }
}

/// A table that DDL makes, changes and drops.
#[derive(Debug, Default)]
struct Extra {
    rows: i64,
    columns: Vec<ExtraColumn>,
    indexed: bool,
}

/// A column with one value in every row, as a number or a text.
#[derive(Debug)]
struct ExtraColumn {
    /// N of its name `cN`.
    name: i64,
    value: i64,
    is_text: bool,
    not_null: bool,
}

impl ExtraColumn {
    fn new(number: i64) -> Self {
        Self { name: number, value: number, is_text: false, not_null: false }
    }
}

impl Extra {
    /// Changes a column by ALTER TABLE: its type, its name, whether it may be NULL, or another one in its place.
    fn change_column(&mut self, at: usize, new: i64, random: &mut Random) -> String {
        let column = &mut self.columns[at];
        let old = column.name;
        match random.below(4) {
            0 => {
                column.is_text = !column.is_text;
                format!("ALTER c{old} TYPE {}", if column.is_text { "VARCHAR" } else { "BIGINT" })
            }
            1 => {
                column.name = new;
                format!("RENAME COLUMN c{old} TO c{new}")
            }
            2 => {
                column.not_null = !column.not_null;
                format!("ALTER c{old} {} NOT NULL", if column.not_null { "SET" } else { "DROP" })
            }
            _ => {
                self.columns.remove(at);
                self.columns.push(ExtraColumn::new(new));
                format!("DROP COLUMN c{old}, ADD COLUMN c{new} BIGINT DEFAULT {new}")
            }
        }
    }
}

/// What the tables of one thread hold.
#[derive(Debug)]
pub struct Model {
    seed: u64,
    thread: u64,
    /// Number of the last transaction.
    pub number: u64,
    rows: BTreeMap<i64, (Option<i64>, String)>,
    /// `low..high` of n with one value, and where the next begins.
    bulk: Vec<(i64, i64, i64)>,
    bulk_end: i64,
    extra: Option<Extra>,
    view: Option<u64>,
    /// Count, sum of numbers, of number times amount, of number times source.
    journal: [i128; 4],
    /// Change of each account by this thread.
    moved: BTreeMap<i64, i64>,
}

impl Model {
    /// Before the first transaction.
    pub fn new(seed: u64, thread: u64) -> Self {
        Self {
            seed,
            thread,
            number: 0,
            rows: BTreeMap::new(),
            bulk: Vec::new(),
            bulk_end: 0,
            extra: None,
            view: None,
            journal: [0; 4],
            moved: BTreeMap::new(),
        }
    }

    /// The model after transaction `number`.
    pub fn advance_to(&mut self, number: u64) {
        while self.number < number {
            self.next();
        }
    }

    /// Plans the next transaction and becomes what it leaves.
    pub fn next(&mut self) -> Planned {
        self.number += 1;
        let mut random = Random::of(&[self.seed, self.thread, self.number]);
        let progress = format!("UPDATE progress SET number = {} WHERE thread = {}", self.number, self.thread);
        if random.once_in(10) {
            return Planned { statements: vec![progress], explicit: false };
        }
        let mut statements = match random.below(20) {
            0..=5 => self.insert(&mut random),
            6..=8 => self.upsert(&mut random),
            9..=11 => self.update(&mut random),
            12..=13 => self.delete(&mut random),
            14 => self.bulk_insert(&mut random),
            15 => self.bulk_change(&mut random),
            16..=17 => self.define(&mut random),
            _ => self.savepoint(&mut random),
        };
        if random.below(5) < 3 {
            statements.extend(self.transfer(&mut random));
        }
        let place = random.below(statements.len() as u64 + 1) as usize;
        // What comes between a savepoint and the way back to it is undone.
        let is_undone = statements.iter().any(|statement| statement.starts_with("SAVEPOINT"));
        statements.insert(if is_undone { 0 } else { place.min(statements.len()) }, progress);
        Planned { statements, explicit: true }
    }

    fn insert(&mut self, random: &mut Random) -> Vec<String> {
        let mut values = Vec::new();
        for _ in 0..=random.below(8) {
            let (id, value, text) = new_row(random);
            if let std::collections::btree_map::Entry::Vacant(entry) = self.rows.entry(id) {
                values.push(literal(id, value, &text));
                entry.insert((value, text));
            }
        }
        if values.is_empty() {
            return self.update(random);
        }
        let returning = if random.once_in(4) { " RETURNING id" } else { "" };
        vec![format!("INSERT INTO rows_{} VALUES {}{returning}", self.thread, values.join(", "))]
    }

    fn upsert(&mut self, random: &mut Random) -> Vec<String> {
        let replaces = random.below(3) > 0;
        let mut values = BTreeMap::new();
        for _ in 0..=random.below(6) {
            let (id, value, text) = new_row(random);
            values.insert(id, (value, text));
        }
        let list: Vec<String> = values.iter().map(|(id, (value, text))| literal(*id, *value, text)).collect();
        for (id, row) in values {
            if replaces {
                self.rows.insert(id, row);
            } else {
                self.rows.entry(id).or_insert(row);
            }
        }
        let action = if replaces {
            "DO UPDATE SET value = excluded.value, text = excluded.text"
        } else {
            "DO NOTHING"
        };
        vec![format!("INSERT INTO rows_{} VALUES {} ON CONFLICT (id) {action}", self.thread, list.join(", "))]
    }

    fn update(&mut self, random: &mut Random) -> Vec<String> {
        let (low, high, add) = (random.between(0, IDS), random.between(0, IDS), random.between(-9, 10));
        let (low, high) = (low.min(high), low.max(high));
        for (_, (value, _)) in self.rows.range_mut(low..=high) {
            *value = value.map(|value| value + add);
        }
        let mut statements = vec![format!(
            "UPDATE rows_{} SET value = value + ({add}) WHERE id BETWEEN {low} AND {high}",
            self.thread
        )];
        // A key that changes leaves one place of the index and takes another.
        if let Some((&id, _)) = self.rows.range(low..IDS).next()
            && !self.rows.contains_key(&(id + MOVED))
        {
            let row = self.rows.remove(&id).unwrap();
            self.rows.insert(id + MOVED, row);
            statements.push(format!("UPDATE rows_{} SET id = id + {MOVED} WHERE id = {id}", self.thread));
        }
        statements
    }

    fn delete(&mut self, random: &mut Random) -> Vec<String> {
        let low = random.between(0, IDS + MOVED);
        let high = low + random.between(0, 60);
        self.rows.retain(|id, _| !(low..=high).contains(id));
        vec![format!("DELETE FROM rows_{} WHERE id BETWEEN {low} AND {high}", self.thread)]
    }

    fn bulk_insert(&mut self, random: &mut Random) -> Vec<String> {
        let count = match random.below(20) {
            0 => 150_000,
            1..=6 => 20_000,
            _ => 500,
        };
        let (low, high, value) = (self.bulk_end, self.bulk_end + count, random.between(0, 1000));
        let mut statements = Vec::new();
        if self.bulk.iter().map(|(low, high, _)| high - low).sum::<i64>() > 400_000 {
            self.bulk.clear();
            let clear = if random.once_in(2) { "TRUNCATE" } else { "DELETE FROM" };
            statements.push(format!("{clear} bulk_{}", self.thread));
        }
        self.bulk.push((low, high, value));
        self.bulk_end = high;
        statements.push(format!(
            "INSERT INTO bulk_{} SELECT range, {value}, 'w' || CAST(range % 100 AS VARCHAR) FROM range({low}, {high})",
            self.thread
        ));
        statements
    }

    fn bulk_change(&mut self, random: &mut Random) -> Vec<String> {
        let low = random.between(0, self.bulk_end + 1);
        let high = low + random.between(1, 30_000);
        let add = random.once_in(2).then(|| random.between(1, 9));
        let mut changed = Vec::new();
        for &(from, to, value) in &self.bulk {
            for (from, to, inside) in
                [(from, to.min(low), false), (from.max(low), to.min(high), true), (from.max(high), to, false)]
            {
                match (inside, add) {
                    _ if from >= to => {}
                    (false, _) => changed.push((from, to, value)),
                    (true, Some(add)) => changed.push((from, to, value + add)),
                    (true, None) => {}
                }
            }
        }
        self.bulk = changed;
        let place = format!("WHERE n >= {low} AND n < {high}");
        vec![match add {
            Some(add) => format!("UPDATE bulk_{} SET value = value + {add} {place}", self.thread),
            None => format!("DELETE FROM bulk_{} {place}", self.thread),
        }]
    }

    fn define(&mut self, random: &mut Random) -> Vec<String> {
        let (thread, number) = (self.thread, self.number);
        if random.once_in(5) {
            self.view = if self.view.is_some() && random.once_in(2) { None } else { Some(number) };
            return vec![match self.view {
                None => format!("DROP VIEW view_{thread}"),
                Some(number) => format!(
                    "CREATE OR REPLACE VIEW view_{thread} AS SELECT {number} AS made, count(*) AS n FROM rows_{thread}"
                ),
            }];
        }
        let Some(extra) = &mut self.extra else {
            let rows = random.between(1, 2000);
            self.extra = Some(Extra { rows, ..Extra::default() });
            return vec![format!("CREATE TABLE extra_{thread} AS SELECT range AS a FROM range(0, {rows})")];
        };
        let name = format!("extra_{thread}");
        let new = number as i64;
        vec![match random.below(12) {
            0..=1 if extra.columns.len() < 4 => {
                extra.columns.push(ExtraColumn::new(new));
                format!("ALTER TABLE {name} ADD COLUMN c{new} BIGINT DEFAULT {new}")
            }
            2 if !extra.columns.is_empty() => {
                let column = extra.columns.remove(random.below(extra.columns.len() as u64) as usize);
                format!("ALTER TABLE {name} DROP COLUMN c{}", column.name)
            }
            5..=8 if !extra.columns.is_empty() => {
                let at = random.below(extra.columns.len() as u64) as usize;
                format!("ALTER TABLE {name} {}", extra.change_column(at, new, random))
            }
            3 => {
                extra.indexed = !extra.indexed;
                if extra.indexed {
                    format!("CREATE INDEX {name}_a ON {name} ((a % 10), a)")
                } else {
                    format!("DROP INDEX {name}_a")
                }
            }
            4 => {
                self.extra = None;
                format!("DROP TABLE {name}")
            }
            _ => {
                let (low, count) = (extra.rows, random.between(1, 300));
                extra.rows += count;
                format!("INSERT INTO {name} (a) SELECT range FROM range({low}, {})", low + count)
            }
        }]
    }

    /// What happens behind a savepoint that is rolled back to leaves nothing.
    fn savepoint(&mut self, random: &mut Random) -> Vec<String> {
        let mut statements = vec![
            "SAVEPOINT here".to_string(),
            format!("DELETE FROM rows_{}", self.thread),
            format!("INSERT INTO rows_{} VALUES (-{}, 0, 'never')", self.thread, self.number),
            format!("CREATE TABLE never_{} (a INTEGER)", self.thread),
            "ROLLBACK TO SAVEPOINT here".to_string(),
        ];
        statements.extend(self.insert(random));
        statements
    }

    fn transfer(&mut self, random: &mut Random) -> Vec<String> {
        let (source, target) = (random.between(0, ACCOUNTS), random.between(0, ACCOUNTS));
        let amount = random.between(1, 100);
        *self.moved.entry(source).or_default() -= amount;
        *self.moved.entry(target).or_default() += amount;
        let number = i128::from(self.number);
        for (sum, term) in
            self.journal.iter_mut().zip([1, number, number * i128::from(amount), number * i128::from(source)])
        {
            *sum += term;
        }
        vec![
            format!("UPDATE account SET balance = balance - {amount} WHERE id = {source}"),
            format!("INSERT INTO journal VALUES ({}, {number}, {source}, {target}, {amount})", self.thread),
            format!("UPDATE account SET balance = balance + {amount} WHERE id = {target}"),
        ]
    }

    /// Compares this thread's tables with the model.
    pub fn compare(&self, connection: &Connection) -> Result<(), String> {
        let (thread, said) = (self.thread, |what: &str, found: &Rows, expected: &Rows| {
            let place = found.iter().zip(expected).position(|(left, right)| left != right);
            let row = |rows: &Rows| place.and_then(|place| rows.get(place)).cloned();
            Err(format!(
                "{what}_{} after transaction {}: {} rows, {} expected; first difference {:?}, expected {:?}",
                self.thread,
                self.number,
                found.len(),
                expected.len(),
                row(found),
                row(expected)
            ))
        });
        let queries = [
            ("rows", format!("SELECT * FROM rows_{thread}"), self.expected_rows()),
            (
                "bulk",
                format!(
                    "SELECT count(*), coalesce(sum(n), 0), coalesce(sum(value), 0), coalesce(sum(n * value), 0), \
                     coalesce(sum(CASE WHEN word = 'w' || CAST(n % 100 AS VARCHAR) THEN 0 ELSE 1 END), 0) \
                     FROM bulk_{thread}"
                ),
                self.expected_bulk(),
            ),
            (
                "journal",
                format!(
                    "SELECT count(*), coalesce(sum(number), 0), coalesce(sum(number * amount), 0), \
                     coalesce(sum(number * source), 0) FROM journal WHERE thread = {thread}"
                ),
                vec![self.journal.iter().map(ToString::to_string).collect()],
            ),
            ("extra", format!("SELECT * FROM extra_{thread}"), self.expected_extra()),
            ("view", format!("SELECT * FROM view_{thread}"), self.expected_view()),
            ("never", format!("SELECT * FROM never_{thread}"), absent()),
        ];
        for (what, query, expected) in queries {
            let found = match sql::rows(connection, &query) {
                Err(error) if error.sqlstate() == "42P01" => absent(),
                other => other.map_err(|error| format!("{query}: {error}"))?,
            };
            if found != expected {
                return said(what, &found, &expected);
            }
        }
        self.compare_indexes(connection)
    }

    /// The same rows by key and by secondary index.
    fn compare_indexes(&self, connection: &Connection) -> Result<(), String> {
        for (id, (value, text)) in self.rows.iter().step_by(17) {
            let row = vec![id.to_string(), nullable(*value), format!("'{text}'")];
            let by_key = format!("SELECT * FROM rows_{} WHERE id = {id}", self.thread);
            let by_value = format!("{} AND value = {}", by_key, value.unwrap_or_default());
            for (query, due) in [(by_key, true), (by_value, value.is_some())] {
                let found = sql::rows(connection, &query).map_err(|error| format!("{query}: {error}"))?;
                let right = if due { found == [row.clone()] } else { found.is_empty() };
                if !right {
                    return Err(format!("{query} answers {found:?}, expected {row:?}"));
                }
            }
        }
        Ok(())
    }

    fn expected_rows(&self) -> Rows {
        let row = |(id, (value, text)): (&i64, &(Option<i64>, String))| {
            vec![id.to_string(), nullable(*value), format!("'{text}'")]
        };
        sorted(self.rows.iter().map(row).collect())
    }

    fn expected_bulk(&self) -> Rows {
        let mut sums = [0i128; 5];
        for &(low, high, value) in &self.bulk {
            let (low, high, value) = (i128::from(low), i128::from(high), i128::from(value));
            let numbers = (low + high - 1) * (high - low) / 2;
            for (sum, term) in
                sums.iter_mut().zip([high - low, numbers, value * (high - low), value * numbers, 0])
            {
                *sum += term;
            }
        }
        vec![sums.iter().map(ToString::to_string).collect()]
    }

    fn expected_extra(&self) -> Rows {
        let Some(extra) = &self.extra else { return absent() };
        let text = |column: &ExtraColumn| match column.is_text {
            true => format!("'{}'", column.value),
            false => column.value.to_string(),
        };
        let row = |a: i64| std::iter::once(a.to_string()).chain(extra.columns.iter().map(text)).collect();
        sorted((0..extra.rows).map(row).collect())
    }

    fn expected_view(&self) -> Rows {
        match self.view {
            Some(number) => vec![vec![number.to_string(), self.rows.len().to_string()]],
            None => absent(),
        }
    }
}

/// Compares the accounts with what all threads moved.
pub fn compare_accounts(connection: &Connection, models: &[Model]) -> Result<(), String> {
    let balance = |id: i64| {
        BALANCE + models.iter().map(|model| model.moved.get(&id).copied().unwrap_or(0)).sum::<i64>()
    };
    let expected = sorted((0..ACCOUNTS).map(|id| vec![id.to_string(), balance(id).to_string()]).collect());
    let found = sql::rows(connection, "SELECT * FROM account").map_err(|error| error.to_string())?;
    if found == expected { Ok(()) } else { Err(format!("accounts are {found:?}, expected {expected:?}")) }
}

/// What stands for a table or view that does not exist.
fn absent() -> Rows {
    vec![vec!["absent".to_string()]]
}

fn sorted(mut rows: Rows) -> Rows {
    rows.sort();
    rows
}

fn nullable(value: Option<i64>) -> String {
    value.map_or("NULL".to_string(), |value| value.to_string())
}

fn literal(id: i64, value: Option<i64>, text: &str) -> String {
    format!("({id}, {}, '{text}')", nullable(value))
}

fn new_row(random: &mut Random) -> (i64, Option<i64>, String) {
    let id = random.between(0, IDS);
    let value = (!random.once_in(8)).then(|| random.between(-1000, 1000));
    let length = if random.once_in(10) { random.below(400) } else { random.below(24) };
    (id, value, (0..length).map(|_| char::from(b'a' + random.below(26) as u8)).collect())
}

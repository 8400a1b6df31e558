//! `kill -9` at random instants of a process that runs all statements of the language, in transactions of several connections.
//!
//! The process ([`all_worker`]) draws statements from a grammar (`support/statements.txt`) and tells each before it begins and
//! how it ended. What was acknowledged is done once more, by another database that is never killed; what the killed file holds
//! then has to equal that, or that and the statement under way. It also has to verify, and an export of it to be the same
//! database. `INLAY_CRASH_ALL` sets how many kills.

use crate::support::dump::{self, Dump};
use crate::support::folder::{self, Folder};
use crate::support::grammar::{Catalog, Grammar};
use crate::support::random::Random;
use crate::support::{amount, report, seed, sql};
use inlay::{Connection, Database, Host, HostScope, HostTable, Parameters, Value};
use inlay_sql::parser::ast::{ObjectStatement, StatementKind};
use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

const CONNECTIONS: usize = 3;
/// A file is used for this many kills.
const ROUNDS_PER_FILE: u64 = 12;
/// Small, so that checkpoints happen all the time.
const CONFIG: &[(&str, &str)] = &[("checkpoint_threshold", "128KB"), ("threads", "2")];
/// Never killed, so it need not wait for the disk; without checkpoints, whose compactions stand in the way of transactions.
const CALM: &[(&str, &str)] = &[("synchronous", "off"), ("checkpoint_threshold", "1TB"), ("threads", "2")];

/// A statement of a connection, and how it ended.
#[derive(Clone, Debug)]
struct Step {
    connection: usize,
    sql: String,
    /// Absent for the one that the kill came upon. Whether it succeeded, and whether a transaction is open since.
    end: Option<(bool, bool)>,
    message: String,
}

#[derive(Debug, Default)]
struct Counts {
    kills: u64,
    statements: u64,
    failed: u64,
    recovered_unacknowledged: u64,
    numbers_skipped: u64,
    exports: u64,
}

#[test]
fn a_process_killed_amid_any_statement_loses_nothing_and_exports_the_same() {
    let (kills, seed) = (amount("INLAY_CRASH_ALL", 12), seed());
    let mut counts = Counts::default();
    let mut file = 0;
    while counts.kills < kills {
        let rounds = ROUNDS_PER_FILE.min(kills - counts.kills);
        one_file(Random::of(&[seed, file, 9]).next(), rounds, &mut counts);
        file += 1;
        if kills > 100 {
            println!("{} of {kills} kills, {counts:?}", counts.kills);
        }
    }
    report(
        "kill amid all statements",
        &[
            ("kills", counts.kills),
            ("files", file),
            ("statements", counts.statements),
            ("failed_as_they_should", counts.failed),
            ("recovered_unacknowledged", counts.recovered_unacknowledged),
            ("sequences_skipped_a_number", counts.numbers_skipped),
            ("lost", 0),
            ("refused", 0),
            ("exports_equal", counts.exports),
        ],
    );
    assert!(counts.statements > 0, "no process was alive long enough to run anything");
}

/// What the statements need besides the database: a folder each, with the same files.
fn prepared(folder: &Folder, name: &str) -> String {
    let place = folder.file(name);
    fs::create_dir_all(format!("{place}/given")).unwrap();
    fs::write(format!("{place}/numbers.csv"), "1\n2\n3\n").unwrap();
    fs::write(format!("{place}/given/schema.sql"), "CREATE TABLE imported (n INTEGER);\n").unwrap();
    fs::write(format!("{place}/given/load.sql"), "INSERT INTO imported VALUES (1), (2);\n").unwrap();
    place
}

/// Kills `rounds` processes that work on one file.
fn one_file(seed: u64, rounds: u64, counts: &mut Counts) {
    let folder = Folder::new("kill-all");
    let (work, calm, copy) =
        (prepared(&folder, "work"), prepared(&folder, "calm"), prepared(&folder, "copy"));
    let mut random = Random::of(&[seed, 1]);
    drop(sql::open(&format!("{work}/x.inlay"), CONFIG).unwrap());
    for round in 0..rounds {
        let steps = run_and_kill(&work, Random::of(&[seed, round]).next(), &mut random);
        counts.kills += 1;
        counts.statements += steps.iter().filter(|step| matches!(step.end, Some((true, _)))).count() as u64;
        counts.failed += steps.iter().filter(|step| matches!(step.end, Some((false, _)))).count() as u64;
        for name in ["x.inlay", "side.inlay"] {
            folder::copy_database(&format!("{work}/{name}"), &format!("{copy}/{name}"));
        }
        let checked = if random.once_in(2) { &work } else { &copy };
        check(checked, &calm, &steps, counts).unwrap_or_else(|problem| {
            let told: Vec<String> = steps.iter().map(told).collect();
            let path = folder.file("steps.txt");
            fs::write(&path, told.join("\n")).unwrap();
            let last = told[told.len().saturating_sub(12)..].join("\n");
            panic!("seed {seed}, kill {round} of this file: {problem}\n(all steps: {path})\n{last}");
        });
    }
}

fn told(step: &Step) -> String {
    let end = match step.end {
        None => "killed".to_string(),
        Some((true, _)) => "ok".to_string(),
        Some((false, _)) => step.message.clone(),
    };
    format!("{}: {} -- {end}", step.connection, step.sql)
}

/// Lets a process work for a random time and kills it. Gives what it told.
fn run_and_kill(place: &str, seed: u64, random: &mut Random) -> Vec<Step> {
    let mut child = folder::start("crash_all::all_worker", &format!("all|{place}|{seed}"));
    let (out, mut err) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
    let reader = std::thread::spawn(move || {
        let mut lines = BufReader::new(out);
        let (mut line, mut steps) = (String::new(), Vec::new());
        // The kill may tear the last line: what is torn was not told.
        while lines.read_line(&mut line).is_ok_and(|length| length > 0) {
            if line.ends_with('\n') {
                note(&line, &mut steps);
            }
            line.clear();
        }
        steps
    });
    let longest = 2u64 << random.between(3, 10);
    std::thread::sleep(Duration::from_micros(4000 + random.below(longest * 1000)));
    let died = child.try_wait().unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    let steps = reader.join().unwrap();
    let mut message = String::new();
    let _ = err.read_to_string(&mut message);
    if let Some(status) = died {
        let last: Vec<String> = steps.iter().rev().take(5).map(told).collect();
        panic!("seed {seed}: the process ended by itself, {status}\n{message}\n{last:#?}");
    }
    steps
}

fn note(line: &str, steps: &mut Vec<Step>) {
    let Some((what, rest)) = folder::told(line).and_then(|told| told.split_once(' ')) else { return };
    let (first, rest) = rest.split_once(' ').unwrap_or((rest, ""));
    match (what, steps.last_mut()) {
        ("begin", _) => steps.push(Step {
            connection: first.parse().unwrap(),
            sql: rest.to_string(),
            end: None,
            message: String::new(),
        }),
        ("ok" | "error", Some(step)) => {
            step.end = Some((what == "ok", first == "open"));
            step.message = rest.to_string();
        }
        _ => {}
    }
}

/// Does the acknowledged steps once more, and compares all that is in the file.
fn check(place: &str, calm: &str, steps: &[Step], counts: &mut Counts) -> Result<(), String> {
    let database =
        sql::open(&format!("{place}/x.inlay"), CONFIG).map_err(|error| format!("does not open: {error}"))?;
    let connection = database.connect();
    attach(&connection, place)?;
    sql::verify(&connection).map_err(|error| format!("PRAGMA verify: {error}"))?;
    let found = all_of(&connection)?;
    drop(connection);

    let expected_by = sql::open(&format!("{calm}/x.inlay"), CALM).map_err(|error| error.to_string())?;
    let connections: Vec<Connection> = (0..CONNECTIONS).map(|_| expected_by.connect()).collect();
    for step in steps {
        let Some((succeeded, is_open)) = step.end else { continue };
        let connection = &connections[step.connection];
        let is_conflict =
            step.message.starts_with("40001") || step.message.contains("can only be rolled back");
        if !succeeded && is_conflict {
            // Checkpoints that compact tables stand in the way of transactions now and then, and not here.
            if !is_open && connection.in_transaction() {
                connection.execute("ROLLBACK").map_err(|error| error.to_string())?;
            }
            continue;
        }
        // Within a transaction they move no rows, and what it sees is fixed from then on.
        if succeeded && !is_open && is_upkeep(&step.sql) {
            continue;
        }
        if !succeeded && is_upkeep(&step.sql) && step.message.starts_with("57014") {
            continue;
        }
        // Those that failed as well: they may have taken numbers from sequences.
        let result = run(connection, &step.sql, calm);
        if succeeded != result.is_ok() || is_open != connection.in_transaction() {
            return Err(format!("in the killed process: {}; without a kill: {result:?}", told(step)));
        }
        if step.message.starts_with("XX") {
            return Err(told(step));
        }
    }
    let expected = seen(&expected_by, calm)?;
    let difference = dump::difference(&certain(&found), &certain(&expected));
    if let Some(difference) = difference {
        // Perhaps the last one came through.
        let last = steps.last().filter(|step| step.end.is_none());
        let with_last = match last {
            Some(last) => {
                let _ = run(&connections[last.connection], &last.sql, calm);
                let after = seen(&expected_by, calm)?;
                (dump::difference(&certain(&found), &certain(&after)), Some(after))
            }
            None => (Some("there is none".to_string()), None),
        };
        match with_last {
            (None, _) => counts.recovered_unacknowledged += 1,
            // Or a statement that was tried again took a number twice.
            (Some(with_last), after) => {
                let is_but_numbers = |expected: &Dump| {
                    dump::difference(&unnumbered(&found), &unnumbered(&certain(expected))).is_none()
                };
                if !is_but_numbers(&expected) && !after.as_ref().is_some_and(is_but_numbers) {
                    return Err(format!("{difference}; with the last statement: {with_last}"));
                }
                counts.numbers_skipped += 1;
            }
        }
    }
    drop(connections);
    drop(expected_by);
    drop(database);
    exports_the_same(place)?;
    counts.exports += 1;
    // Numbers that sequences gave to nobody in the end may be given again or not: from here on both go on alike.
    for name in ["x.inlay", "side.inlay"] {
        folder::copy_database(&format!("{place}/{name}"), &format!("{calm}/{name}"));
    }
    Ok(())
}

/// Whether a statement only changes how the file is written.
fn is_upkeep(sql: &str) -> bool {
    ["CHECKPOINT", "FORCE CHECKPOINT", "VACUUM"].iter().any(|word| sql.starts_with(word))
}

/// What has to be the same. The last numbers that sequences gave are there only if somebody committed them.
fn certain(dump: &Dump) -> Dump {
    let mut dump = dump.clone();
    for (kind, rows) in &mut dump {
        if kind.ends_with("sequences") {
            rows.iter_mut().for_each(|row| drop(row.remove(dump::LAST_VALUE)));
        }
    }
    dump
}

/// Without the values of columns that take numbers from a sequence: a statement that meets a checkpoint is done again from its
/// start, and a sequence does not give a number twice.
fn unnumbered(dump: &Dump) -> Dump {
    let mut dump = certain(dump);
    for prefix in ["", "side: "] {
        let columns = dump.get(&format!("{prefix}columns")).cloned().unwrap_or_default();
        for column in columns.iter().filter(|column| column[6].contains("nextval")) {
            let [schema, table] = [0, 1].map(|part| column[part].trim_matches('\''));
            let index = column[2].parse::<usize>().unwrap() - 1;
            if let Some(rows) = dump.get_mut(&format!("{prefix}rows of {schema}.{table}")) {
                rows.iter_mut().for_each(|row| row[index] = "a number".to_string());
                rows.sort();
            }
        }
    }
    dump
}

/// Attaches the other file, if it is there.
fn attach(connection: &Connection, place: &str) -> Result<(), String> {
    if fs::exists(format!("{place}/side.inlay")).unwrap() {
        let attach = format!("ATTACH IF NOT EXISTS '{place}/side.inlay' AS side");
        connection.execute(&attach).map_err(|error| format!("{attach}: {error}"))?;
    }
    Ok(())
}

/// What somebody sees who connects now.
fn seen(database: &Database, place: &str) -> Result<Dump, String> {
    let connection = database.connect();
    attach(&connection, place)?;
    all_of(&connection)
}

/// All that is in the file, and in the other one if it is attached.
fn all_of(connection: &Connection) -> Result<Dump, String> {
    let mut found = dump::dump(connection, "x")?;
    let side = dump::dump(connection, "side")?;
    found.extend(side.into_iter().map(|(key, rows)| (format!("side: {key}"), rows)));
    Ok(found)
}

/// An export is imported into a new file, which then holds the same.
fn exports_the_same(place: &str) -> Result<(), String> {
    let (from, export, new) = (format!("{place}/from"), format!("{place}/export"), format!("{place}/new"));
    for folder in [&from, &export, &new] {
        let _ = fs::remove_dir_all(folder);
    }
    fs::create_dir_all(&from).unwrap();
    fs::create_dir_all(&new).unwrap();
    folder::copy_database(&format!("{place}/x.inlay"), &format!("{from}/x.inlay"));
    let database = sql::open(&format!("{from}/x.inlay"), CALM).map_err(|error| error.to_string())?;
    let connection = database.connect();
    without_broken_views(&connection).map_err(|error| format!("before EXPORT: {error}"))?;
    connection
        .execute(&format!("EXPORT DATABASE '{export}' (FORMAT parquet)"))
        .map_err(|error| format!("EXPORT: {error}"))?;
    let imported = sql::open(&format!("{new}/x.inlay"), CALM).map_err(|error| error.to_string())?;
    let other = imported.connect();
    other.execute(&format!("IMPORT DATABASE '{export}'")).map_err(|error| format!("IMPORT: {error}"))?;
    let (expected, found) = (dump::dump(&connection, "x")?, dump::dump(&other, "x")?);
    if let Some(difference) = dump::difference(&certain(&found), &certain(&expected)) {
        return Err(format!("imported from an export: {difference}"));
    }
    // Sequences go on alike.
    for row in &expected["sequences"] {
        let name = format!("{}.{}", row[0].trim_matches('\''), row[1].trim_matches('\''));
        let next = format!("SELECT nextval('{name}')");
        let [next, expected] = [&other, &connection].map(|connection| {
            sql::rows(connection, &next).unwrap_or_else(|error| vec![vec![error.sqlstate().to_string()]])
        });
        if next != expected {
            return Err(format!(
                "imported from an export: sequence {name} gives {next:?}, expected {expected:?}"
            ));
        }
    }
    Ok(())
}

/// Drops views whose tables are gone or have other columns, which nobody can make again, and has materialised ones hold what
/// their queries give.
fn without_broken_views(connection: &Connection) -> inlay::Result<()> {
    let names = |query: &str| -> inlay::Result<Vec<String>> {
        let rows = sql::rows(connection, query)?;
        Ok(rows
            .iter()
            .map(|row| format!("{}.{}", row[0].trim_matches('\''), row[1].trim_matches('\'')))
            .collect())
    };
    loop {
        let mut is_whole = true;
        for view in names(
            "SELECT schema_name, view_name FROM duckdb_views() WHERE database_name = 'x' AND NOT internal",
        )? {
            if connection.execute(&format!("SELECT * FROM {view}")).is_err() {
                connection.execute(&format!("DROP VIEW {view}"))?;
                is_whole = false;
            }
        }
        let of_rows = "SELECT schema_name, table_name, sql FROM duckdb_tables() WHERE database_name = 'x' \
                       AND is_materialized_view";
        for row in sql::rows(connection, of_rows)? {
            // Made anew, for what its query gives may have other types by now.
            let anew = row[2].trim_matches('\'').replacen("CREATE", "CREATE OR REPLACE", 1);
            if connection.execute(&anew).is_err() {
                let name = format!("{}.{}", row[0].trim_matches('\''), row[1].trim_matches('\''));
                connection.execute(&format!("DROP MATERIALIZED VIEW {name}"))?;
                is_whole = false;
            }
        }
        if is_whole {
            return Ok(());
        }
    }
}

/// Runs a statement of the grammar; `{dir}` is a folder.
fn run(connection: &Connection, sql: &str, place: &str) -> inlay::Result<()> {
    let Some(rest) = sql.strip_prefix("MANY ") else {
        return connection.execute(&sql.replace("{dir}", place)).map(drop);
    };
    // One prepared statement for many rows.
    let words: Vec<&str> = rest.split(' ').collect();
    let (table, column, count) = (words[0], words[1], words[2].parse::<i64>().unwrap_or(0));
    let prepared = connection.prepare(&format!("INSERT INTO {table} ({column}) VALUES (?)"))?;
    let sets: Vec<_> = (0..count)
        .map(|number| Parameters { positional: vec![Value::BigInt(number)], named: Vec::new() })
        .collect();
    prepared.execute_many(&sets, None).map(drop)
}

/// The process that works until it is killed.
#[test]
fn all_worker() {
    let Some(arguments) = folder::role().filter(|arguments| arguments[0] == "all") else { return };
    let (place, seed) = (arguments[1].clone(), arguments[2].parse().unwrap());
    let database = sql::open(&format!("{place}/x.inlay"), CONFIG).unwrap();
    let connections: Vec<Connection> = (0..CONNECTIONS).map(|_| database.connect()).collect();
    let mut worker = Worker::new(connections, place, seed);
    loop {
        worker.step(&mut |told| folder::tell(told), &mut |_, _| {});
    }
}

/// Cancels a statement at its look with this number.
struct Cancelling(AtomicU64);

impl Host for Cancelling {
    fn find_table(&self, _: &str, _: HostScope) -> inlay::Result<Option<HostTable>> {
        Ok(None)
    }

    fn is_interrupted(&self) -> bool {
        let less_one = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
        less_one.is_err()
    }

    fn patience(&self) -> Duration {
        Duration::ZERO
    }
}

struct Worker {
    connections: Vec<Connection>,
    /// What each of them sees, unless that is to be looked at again.
    catalogs: Vec<Option<Catalog>>,
    place: String,
    random: Random,
    grammar: Grammar,
}

impl Worker {
    fn new(connections: Vec<Connection>, place: String, seed: u64) -> Self {
        let catalogs = vec![None; connections.len()];
        Self { connections, catalogs, place, random: Random::of(&[seed, 3]), grammar: Grammar::read() }
    }

    /// One statement of one connection.
    fn step(&mut self, tell: &mut dyn FnMut(&str), done: &mut dyn FnMut(&[usize], &inlay::Result<()>)) {
        let index = self.random.below(self.connections.len() as u64) as usize;
        if self.random.once_in(30) {
            self.tidy_up(index, tell);
        }
        let connection = &self.connections[index];
        let others =
            self.connections.iter().enumerate().any(|(other, c)| other != index && c.in_transaction());
        if others && !connection.in_transaction() {
            // One that is not in a transaction would wait for those that are.
            let _ = self.run(index, "BEGIN", tell);
        }
        let catalog = match &self.catalogs[index] {
            Some(known) => known.clone(),
            None => match Catalog::read(&self.connections[index], "x") {
                Ok(catalog) => self.catalogs[index].insert(catalog).clone(),
                // After a conflict nothing else can be done.
                Err(_) => {
                    let _ = self.run(index, "ROLLBACK", tell);
                    return;
                }
            },
        };
        let generated = self.grammar.statement(&catalog, &mut self.random);
        let result = self.run(index, &generated.sql, tell);
        done(&generated.ways, &result);
        let changes_rows = ["INSERT", "UPDATE", "DELETE", "MERGE", "MANY", "WITH"]
            .iter()
            .any(|word| generated.sql.starts_with(word));
        if !changes_rows {
            self.catalogs = vec![None; self.connections.len()];
        }
    }

    /// Upkeep where no transaction is open, which seldom happens by itself.
    fn tidy_up(&mut self, index: usize, tell: &mut dyn FnMut(&str)) {
        for other in 0..self.connections.len() {
            if self.connections[other].in_transaction() && self.run(other, "COMMIT", tell).is_err() {
                self.catalogs = vec![None; self.connections.len()];
            }
        }
        let sql = ["VACUUM", "CHECKPOINT", "FORCE CHECKPOINT"][self.random.below(3) as usize];
        let _ = self.run(index, sql, tell);
    }

    /// A third of the upkeep is cancelled at some moment: the next one goes on from there.
    fn run(&mut self, index: usize, sql: &str, tell: &mut dyn FnMut(&str)) -> inlay::Result<()> {
        tell(&format!("begin {index} {sql}"));
        let connection = &self.connections[index];
        let result = if is_upkeep(sql) && self.random.once_in(3) {
            let host: Arc<dyn Host> = Arc::new(Cancelling(AtomicU64::new(self.random.below(40))));
            connection.execute_with(sql, &Parameters::default(), Some(&host)).map(drop)
        } else {
            run(connection, sql, &self.place)
        };
        let open = if connection.in_transaction() { "open" } else { "none" };
        match &result {
            Ok(()) => tell(&format!("ok {open}")),
            Err(error) => {
                let message = error.to_string().replace('\n', " ");
                tell(&format!("error {open} {} {message}", error.sqlstate()));
            }
        }
        result
    }
}

/// The grammar reaches the whole language: each of its ways succeeds now and then, and each kind of statement there is comes up.
#[test]
fn the_grammar_has_all_statements() {
    let folder = Folder::new("grammar");
    let place = prepared(&folder, "work");
    let database = sql::open(&format!("{place}/x.inlay"), CALM).unwrap();
    let connections = (0..CONNECTIONS).map(|_| database.connect()).collect();
    let mut worker = Worker::new(connections, place, 1);
    let grammar = Grammar::read();
    let (mut succeeded, mut kinds) = (vec![0u32; grammar.way_count], BTreeSet::new());
    let mut counts = [0u32; 2];
    for _ in 0..amount("INLAY_GRAMMAR_STEPS", 3000) {
        let mut sql = String::new();
        worker.step(
            &mut |told| {
                if let Some(begun) = told.strip_prefix("begin ") {
                    sql = begun[2..].to_string();
                } else if let Some(error) = told.strip_prefix("error ") {
                    assert!(!error.contains(" XX"), "{sql}: {error}");
                }
            },
            &mut |ways, result| {
                counts[usize::from(result.is_err())] += 1;
                if result.is_ok() {
                    ways.iter().for_each(|way| succeeded[*way] += 1);
                }
            },
        );
        if let Ok(statement) = inlay_sql::parser::parse_statement(&sql.replace("{dir}", "/tmp")) {
            kinds.insert(kind_of(&statement.kind));
        }
    }
    let never: Vec<&str> =
        (0..grammar.way_count).filter(|way| succeeded[*way] == 0).map(|way| grammar.way(way)).collect();
    println!("{counts:?} statements succeeded and failed; ways that never did: {never:#?}");
    let missing: Vec<&str> = KINDS.iter().copied().filter(|kind| !kinds.contains(kind)).collect();
    assert!(missing.is_empty(), "no statement of {missing:?}");
    assert!(never.len() * 10 < grammar.way_count, "{never:#?}");
    assert!(counts[0] > counts[1], "most fail: {counts:?}");
}

/// Every kind of statement.
const KINDS: &[&str] = &[
    "query",
    "create table",
    "create view",
    "create index",
    "create sequence",
    "drop",
    "alter table",
    "rename view",
    "alter sequence",
    "with",
    "changing with",
    "insert",
    "update",
    "delete",
    "merge",
    "truncate",
    "copy",
    "call",
    "set",
    "pragma",
    "explain",
    "begin",
    "commit",
    "rollback",
    "set transaction",
    "set constraints",
    "savepoint",
    "rollback to",
    "release",
    "show tables",
    "show databases",
    "show",
    "describe",
    "summarize",
    "show all tables",
    "checkpoint",
    "analyze",
    "create secret",
    "drop secret",
    "load",
    "vacuum",
    "attach",
    "detach",
    "use",
    "export",
    "import",
    "copy database",
    "create schema",
    "create macro",
    "create type",
    "create materialized view",
    "refresh",
    "drop object",
    "comment",
    "rename",
    "set schema",
    "alter type",
    "prepare",
    "execute",
    "deallocate",
    "set variable",
    "role",
    "create trigger",
    "drop trigger",
];

/// The kind of a statement. A new one is to come up in the grammar, too.
fn kind_of(statement: &StatementKind) -> &'static str {
    use StatementKind as Kind;
    match statement {
        Kind::Query(_) => "query",
        Kind::CreateTable(_) => "create table",
        Kind::CreateView(_) => "create view",
        Kind::CreateIndex(_) => "create index",
        Kind::CreateSequence(_) => "create sequence",
        Kind::Drop { .. } => "drop",
        Kind::AlterTable { .. } => "alter table",
        Kind::RenameView { .. } => "rename view",
        Kind::AlterSequence(_) => "alter sequence",
        Kind::With { .. } => "with",
        Kind::ChangingWith(_) => "changing with",
        Kind::Insert(_) => "insert",
        Kind::Update(_) => "update",
        Kind::Delete(_) => "delete",
        Kind::Merge(_) => "merge",
        Kind::Truncate { .. } => "truncate",
        Kind::Copy(_) => "copy",
        Kind::Call(_) => "call",
        Kind::Set { .. } => "set",
        Kind::Pragma { .. } => "pragma",
        Kind::Explain { .. } => "explain",
        Kind::Begin(_) => "begin",
        Kind::Commit => "commit",
        Kind::Rollback => "rollback",
        Kind::SetTransaction { .. } => "set transaction",
        Kind::SetConstraints { .. } => "set constraints",
        Kind::Savepoint(_) => "savepoint",
        Kind::RollbackTo(_) => "rollback to",
        Kind::Release(_) => "release",
        Kind::ShowTables { .. } => "show tables",
        Kind::ShowDatabases => "show databases",
        Kind::Show { .. } => "show",
        Kind::Describe(_) => "describe",
        Kind::Summarize(_) => "summarize",
        Kind::ShowAllTables => "show all tables",
        Kind::Checkpoint { .. } => "checkpoint",
        Kind::Analyze { .. } => "analyze",
        Kind::CreateSecret { .. } => "create secret",
        Kind::DropSecret { .. } => "drop secret",
        Kind::Load => "load",
        Kind::Owner => "owner",
        Kind::Notice(_) => "notice",
        Kind::Vacuum { .. } => "vacuum",
        Kind::Attach { .. } => "attach",
        Kind::Detach { .. } => "detach",
        Kind::Use(_) => "use",
        Kind::ExportDatabase { .. } => "export",
        Kind::ImportDatabase { .. } => "import",
        Kind::CopyDatabase { .. } => "copy database",
        Kind::Object(object) => object_kind(object),
    }
}

fn object_kind(statement: &ObjectStatement) -> &'static str {
    match statement {
        ObjectStatement::CreateSchema { .. } => "create schema",
        ObjectStatement::CreateMacro { .. } => "create macro",
        ObjectStatement::CreateType { .. } => "create type",
        ObjectStatement::CreateMaterializedView { .. } => "create materialized view",
        ObjectStatement::Refresh { .. } => "refresh",
        ObjectStatement::Drop { .. } => "drop object",
        ObjectStatement::Comment { .. } => "comment",
        ObjectStatement::Rename { .. } => "rename",
        ObjectStatement::SetSchema { .. } => "set schema",
        ObjectStatement::AlterType { .. } => "alter type",
        ObjectStatement::Prepare { .. } => "prepare",
        ObjectStatement::Execute { .. } => "execute",
        ObjectStatement::Deallocate { .. } => "deallocate",
        ObjectStatement::SetVariable { .. } => "set variable",
        ObjectStatement::Role(_) => "role",
        ObjectStatement::CreateTrigger(_) => "create trigger",
        ObjectStatement::DropTrigger { .. } => "drop trigger",
        // It needs a language of the host, and there is none here.
        ObjectStatement::CreateFunction(_) => "create function",
    }
}

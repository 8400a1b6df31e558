//! Runs the sqllogictest files: SQLite's corpus in `tests/slt`, and our own by feature in `tests/sql`.
//!
//! ```text
//! statement ok | statement error [part of the message] | statement count N, and the SQL
//! query TYPES [nosort|rowsort|valuesort] [label], the SQL, ----, and the values one per line
//! hash-threshold N | halt | skipif NAME | onlyif NAME
//! ```
//! `I` prints as `%d`, `R` as `%.3f`, `T` as text; we count as `postgresql`. In our own files a row may also be one line,
//! its values apart by tabs. `__TEST_DIR__` is an empty folder that goes away with the run of the file.
//!
//! Our own files give the same answers however they are computed: without the optimizer, on one and several threads, with
//! batches of two rows, and with little memory. `configurations` runs a quarter of the files in each of these;
//! `INLAY_SLT_CONFIGURATIONS=all` every file in each, `='tiny batches'` every file in one.
//!
//! `INLAY_SLT` names files or folders, with commas between, that are run instead of all these: each by its path (absolute, from the
//! root of the repository, or from where cargo is started) or by a part of it, such as `window/leaders`. With
//! `INLAY_SLT_CONFIGURATIONS` they are run in these, otherwise as they are. A file's settings are those of its folder; a file from
//! elsewhere has the corpus' with `INLAY_SLT_SETTINGS=corpus`, or none.

mod find;

use crate::support::folder::Folder;
use inlay::{Connection, Database, QueryResult, ResultKind, Value};
use md5::{Digest, Md5};
use std::collections::HashMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

const ENGINE: &str = "postgresql";
const FAILURES_SHOWN: usize = 8;

#[test]
fn sqlite_corpus() {
    if chosen().is_none() {
        run_all("the corpus", &find::corpus(), &[]);
    }
}

#[test]
fn features() {
    if chosen().is_none() {
        run_all("as they are", &find::features(), &[]);
    }
}

/// The files that `INLAY_SLT` names.
#[test]
fn chosen_files() {
    let Some(wanted) = chosen() else { return };
    let matching = |part| find::matching(part).unwrap_or_else(|problem| panic!("INLAY_SLT: {problem}"));
    let files: Vec<PathBuf> = wanted.split(',').flat_map(matching).collect();
    match chosen_configurations() {
        None => run_all("as they are", &files, &[]),
        Some(chosen) => {
            let ran = chosen.iter().filter(|configuration| configuration.run(&files)).count();
            assert!(ran > 0, "every file is an exception");
        }
    }
}

fn chosen() -> Option<String> {
    std::env::var("INLAY_SLT").ok().filter(|wanted| !wanted.is_empty())
}

/// A way to compute answers, and the files whose subject is what it changes.
struct Configuration {
    name: &'static str,
    settings: &'static [&'static str],
    /// Ends of the paths, each with the reason.
    exceptions: &'static [(&'static str, &'static str)],
}

const CONFIGURATIONS: &[Configuration] = &[
    Configuration {
        name: "no optimizer",
        settings: &["SET disabled_optimizers = 'all'"],
        exceptions: &[
            ("select/explain.slt", "shows optimized plans"),
            ("settings/settings.slt", "shows and resets the setting"),
        ],
    },
    Configuration {
        name: "one thread",
        settings: &["SET threads = 1"],
        exceptions: &[("settings/settings.slt", "shows and resets the setting")],
    },
    Configuration {
        name: "four threads",
        settings: &["SET threads = 4"],
        exceptions: &[
            ("settings/settings.slt", "shows and resets the setting"),
            (
                "window/memory.slt",
                "has a memory limit that what four workers hold for a while does not fit into",
            ),
        ],
    },
    Configuration {
        name: "tiny batches",
        settings: &["SET debug_batch_rows = 2"],
        exceptions: &[
            ("settings/settings.slt", "shows and resets the setting"),
            ("aggregate/quantiles.slt", "sums floats, whose last digit depends on the batches"),
            ("window/memory.slt", "has a memory limit that batches of two rows do not fit into"),
        ],
    },
    Configuration {
        name: "little memory",
        settings: &["SET memory_limit = '24MB'"],
        exceptions: &[
            ("settings/settings.slt", "shows and resets the setting"),
            ("aggregate/quantiles.slt", "holds all values of a quantile of a million rows"),
            ("aggregate/rows.slt", "holds a text and a list of 300,000 rows"),
            ("functions/formats.slt", "makes a text of 100 MB"),
            ("window/leaders.slt", "has a table in memory that is larger"),
            (
                "dml/many_rows.slt",
                "changes all rows of tables in memory that fit into it once, with their indexes",
            ),
            ("window/large.slt", "has partitions of hundreds of thousands of rows, which are held in memory"),
            ("files/writing.slt", "reads a file of 9 MB as one text"),
            (
                "group/aggregate_clauses.slt",
                "keeps the distinct rows of several aggregates over 300,000 rows",
            ),
        ],
    },
    Configuration {
        name: "kept plans",
        settings: &["SET plan_cache = 'eager'"],
        exceptions: &[("settings/settings.slt", "shows and resets the setting")],
    },
];

impl Configuration {
    /// Runs those of the files that are no exceptions; says whether there are any.
    fn run(&self, files: &[PathBuf]) -> bool {
        let mut taken = Vec::new();
        for path in files {
            match self.exceptions.iter().find(|(end, _)| path.ends_with(end)) {
                None => taken.push(path.clone()),
                Some((end, reason)) => println!("{}: {end} is left out: it {reason}", self.name),
            }
        }
        if !taken.is_empty() {
            run_all(self.name, &taken, self.settings);
        }
        !taken.is_empty()
    }
}

/// A share is one file of this many.
const SHARE: usize = 4;

#[test]
fn configurations() {
    if chosen().is_some() {
        return;
    }
    let files = find::features();
    if let Some(chosen) = chosen_configurations() {
        for configuration in chosen {
            configuration.run(&files);
        }
        return;
    }
    for (number, configuration) in CONFIGURATIONS.iter().enumerate() {
        // Which file goes where stays as it is while files come and go.
        let sum = |path: &PathBuf| find::shown(path).bytes().map(usize::from).sum::<usize>();
        let is_in_share = |path: &&PathBuf| sum(path) % SHARE == number % SHARE;
        configuration.run(&files.iter().filter(is_in_share).cloned().collect::<Vec<_>>());
    }
}

/// What `INLAY_SLT_CONFIGURATIONS` names, if it is there.
fn chosen_configurations() -> Option<Vec<&'static Configuration>> {
    let wanted = std::env::var("INLAY_SLT_CONFIGURATIONS").ok().filter(|wanted| !wanted.is_empty())?;
    let chosen: Vec<_> = CONFIGURATIONS
        .iter()
        .filter(|configuration| wanted == "all" || wanted == configuration.name)
        .collect();
    let names: Vec<_> = CONFIGURATIONS.iter().map(|configuration| configuration.name).collect();
    assert!(!chosen.is_empty(), "INLAY_SLT_CONFIGURATIONS={wanted} is not known: all, {}", names.join(", "));
    Some(chosen)
}

/// Runs files, two at a time, each in a database of its own.
fn run_all(how: &str, files: &[PathBuf], settings: &[&str]) {
    let next = std::sync::atomic::AtomicUsize::new(0);
    let reports = std::sync::Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                    let Some(path) = files.get(index) else { return };
                    let report = run_file(path, settings);
                    reports.lock().unwrap().push(report);
                }
            });
        }
    });
    let mut failed = String::new();
    let mut passed = 0;
    for report in reports.into_inner().unwrap() {
        passed += report.passed;
        if !report.failures.is_empty() {
            let _ = writeln!(
                failed,
                "{}: {} passed, {} failed",
                report.path,
                report.passed,
                report.failures.len()
            );
            for failure in report.failures.iter().take(FAILURES_SHOWN) {
                let _ = writeln!(failed, "{failure}\n");
            }
        }
    }
    println!("{how}: {} files, {passed} records passed", files.len());
    assert!(failed.is_empty(), "{how}: {failed}");
}

struct Report {
    path: String,
    passed: usize,
    failures: Vec<String>,
}

/// Runs a file with its own settings and those of a configuration.
fn run_file(path: &Path, settings: &[&str]) -> Report {
    let folder = Folder::new("slt");
    let text = std::fs::read_to_string(path).unwrap().replace("__TEST_DIR__", folder.path());
    // Answers do not depend on where the machine is.
    let zone = [("timezone".to_string(), Value::Varchar("UTC".into()))];
    let connection = Database::open(":memory:", &zone).unwrap().connect();
    for setting in find::settings_of(path).iter().chain(settings) {
        connection.execute(setting).unwrap();
    }
    let mut report = Report { path: find::shown(path), passed: 0, failures: Vec::new() };
    let mut labels = HashMap::new();
    for record in records(&text) {
        if record.halts {
            break;
        }
        match check(&connection, &record, &mut labels) {
            Ok(()) => report.passed += 1,
            Err(problem) => {
                let sql = record.sql.trim();
                report.failures.push(format!("{}:{}: {problem}\n  {sql}", report.path, record.line));
            }
        }
    }
    report
}

/// One record that applies to us.
struct Record<'a> {
    line: usize,
    head: Vec<&'a str>,
    sql: String,
    expected: Vec<&'a str>,
    halts: bool,
}

fn records(text: &str) -> Vec<Record<'_>> {
    let mut records = Vec::new();
    let mut lines = text.lines().enumerate().peekable();
    let mut applies = true;
    while let Some((number, line)) = lines.next() {
        let line = line.split(" #").next().unwrap_or(line);
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            [] | ["hash-threshold", ..] => {}
            [word, ..] if word.starts_with('#') => {}
            ["skipif", engine, ..] => applies &= *engine != ENGINE,
            ["onlyif", engine, ..] => applies &= *engine == ENGINE,
            ["halt", ..] => {
                if applies {
                    records.push(Record {
                        line: number + 1,
                        head: words,
                        sql: String::new(),
                        expected: Vec::new(),
                        halts: true,
                    });
                }
                applies = true;
            }
            ["statement" | "query", ..] => {
                let mut record = Record {
                    line: number + 1,
                    head: words,
                    sql: String::new(),
                    expected: Vec::new(),
                    halts: false,
                };
                let mut in_answer = false;
                while let Some((_, line)) = lines.next_if(|(_, line)| !line.trim().is_empty()) {
                    if !in_answer && line.trim_end() == "----" {
                        in_answer = true;
                    } else if in_answer {
                        record.expected.push(line);
                    } else {
                        record.sql.push_str(line);
                        record.sql.push('\n');
                    }
                }
                if applies {
                    records.push(record);
                }
                applies = true;
            }
            other => panic!("line {}: unknown directive {other:?}", number + 1),
        }
    }
    records
}

fn check(
    connection: &Connection,
    record: &Record<'_>,
    labels: &mut HashMap<String, String>,
) -> Result<(), String> {
    let outcome = connection.execute(&record.sql);
    match (record.head.as_slice(), outcome) {
        (["statement", "error", part @ ..], Err(error)) => {
            let wanted = part.join(" ");
            let text = error.to_string();
            let fits = text.contains(&wanted) && record.expected.iter().all(|line| text.contains(line));
            if fits && error.sqlstate() != "XX000" { Ok(()) } else { Err(format!("another error: {text}")) }
        }
        (["statement", "error", ..], Ok(_)) => Err("succeeded, but an error was expected".to_string()),
        (["statement", "ok"], Ok(_)) => Ok(()),
        (["statement", "count", wanted], Ok(result)) => match result.kind() {
            ResultKind::Changed(count) if count.to_string() == *wanted => Ok(()),
            other => Err(format!("{other:?}, expected {wanted} changed rows")),
        },
        (["query", types, rest @ ..], Ok(result)) => check_query(record, types, rest, &result, labels),
        (_, Err(error)) => Err(format!("error: {error}")),
        (head, Ok(_)) => Err(format!("unknown record {head:?}")),
    }
}

fn check_query(
    record: &Record<'_>,
    types: &str,
    rest: &[&str],
    result: &QueryResult,
    labels: &mut HashMap<String, String>,
) -> Result<(), String> {
    if types.len() != result.types().len() {
        return Err(format!("{} columns, expected {}", result.types().len(), types.len()));
    }
    let (sort, label) = match rest {
        [mode @ ("nosort" | "rowsort" | "valuesort"), label @ ..] => (*mode, label.first()),
        other => ("nosort", other.first()),
    };
    let mut rows = printed_rows(result, types);
    if sort == "rowsort" {
        rows.sort();
    }
    let mut values: Vec<&str> = rows.iter().flatten().map(String::as_str).collect();
    if sort == "valuesort" {
        values.sort_unstable();
    }
    let hash = hash_of(&values);
    if let Some(label) = label {
        let known = labels.entry((*label).to_string()).or_insert_with(|| hash.clone());
        if *known != hash {
            return Err(format!("another result than before under the label {label}"));
        }
    }
    let hashed = match record.expected.as_slice() {
        [line] => line
            .split_once(" values hashing to ")
            .and_then(|(n, hash)| Some((n.parse::<usize>().ok()?, hash))),
        _ => None,
    };
    if let Some((count, wanted)) = hashed {
        if values.len() != count {
            return Err(format!("{} values, expected {count}", values.len()));
        }
        return if hash == wanted.trim() {
            Ok(())
        } else {
            Err(format!("hash {hash}, expected {wanted}: {}", head_of(&values)))
        };
    }
    let lines: Vec<String> = rows.iter().map(|row| row.join("\t")).collect();
    let expected: Vec<&str> = record.expected.iter().map(|line| line.trim_end_matches('\r')).collect();
    if values == expected || (types.len() > 1 && sort != "valuesort" && lines == expected) {
        return Ok(());
    }
    Err(format!("values {}, expected {}", head_of(&values), head_of(&expected)))
}

fn head_of(values: &[&str]) -> String {
    let shown: Vec<&str> = values.iter().copied().take(24).collect();
    format!("({}) [{}{}]", values.len(), shown.join(" | "), if values.len() > 24 { " | ..." } else { "" })
}

fn hash_of(values: &[&str]) -> String {
    let mut hash = Md5::new();
    for value in values {
        hash.update(value.as_bytes());
        hash.update(b"\n");
    }
    hash.finalize().iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn printed_rows(result: &QueryResult, types: &str) -> Vec<Vec<String>> {
    let mut rows = Vec::with_capacity(result.row_count());
    for batch in result.batches() {
        let batch = batch.expect("the rows can be read");
        for row in 0..batch.len() {
            let values =
                types.chars().enumerate().map(|(column, kind)| printed(&batch.column(column).get(row), kind));
            rows.push(values.collect());
        }
    }
    rows
}

fn printed(value: &Value, kind: char) -> String {
    if value.is_null() {
        return "NULL".to_string();
    }
    match kind {
        'I' => integer_text(value),
        'R' => match value.as_f64().or_else(|| value.as_str().and_then(|text| text.parse().ok())) {
            Some(number) => format!("{number:.3}"),
            None => value.to_string(),
        },
        _ => {
            let text = value.to_string();
            if text.is_empty() {
                return "(empty)".to_string();
            }
            text.chars().map(|c| if (' '..='~').contains(&c) || !c.is_ascii() { c } else { '@' }).collect()
        }
    }
}

/// As `%d` prints it: the fraction is cut off, and a text counts as far as it is a number.
fn integer_text(value: &Value) -> String {
    match value {
        Value::Boolean(truth) => u8::from(*truth).to_string(),
        Value::Decimal { unscaled, scale, .. } => (unscaled / 10i128.pow(u32::from(*scale))).to_string(),
        Value::Real(_) | Value::Double(_) => {
            value.as_f64().map_or_else(String::new, |v| (v.trunc() as i128).to_string())
        }
        Value::Varchar(text) => {
            let digits = text.find(|c: char| !c.is_ascii_digit() && c != '-').unwrap_or(text.len());
            text[..digits].parse::<i128>().unwrap_or(0).to_string()
        }
        other => other.to_string(),
    }
}

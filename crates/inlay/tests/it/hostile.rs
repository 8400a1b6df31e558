//! Hostile statements: an answer or an error in time that grows with the text, on a stack of 256 KiB.
//!
//! Most tests do not care which: what counts is that every statement ends, that none overflows the stack or takes time
//! that is quadratic (these texts are so long that such a test would not end), and that no error is a defect of ours.
//! `INLAY_HOSTILE_TIMES=1` and `--nocapture` show how long each takes.

use inlay::{Database, Error};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const STACK_BYTES: usize = 256 << 10;
const DEPTH: usize = 1_000_000;
const COUNT: usize = 100_000;

/// Runs texts, made one at a time, on a small stack; says for each whether it had an answer.
fn outcomes(texts: Vec<Box<dyn FnOnce() -> String + Send>>) -> Vec<bool> {
    let thread = std::thread::Builder::new().stack_size(STACK_BYTES);
    let shows_times = std::env::var_os("INLAY_HOSTILE_TIMES").is_some();
    let work = move || {
        let connection = Database::open_in_memory().unwrap().connect();
        let mut answers = Vec::new();
        for text in texts {
            let sql = text();
            let head: String = sql.chars().take(70).collect();
            let start = Instant::now();
            let outcome = connection.execute(&sql);
            if shows_times {
                let error = outcome.as_ref().err().map(|error| error.to_string());
                let error: String = error.unwrap_or_default().chars().take(80).collect();
                eprintln!("{:>7} ms  {head}  {error}", start.elapsed().as_millis());
            }
            if let Err(error) = &outcome {
                assert!(!matches!(error.root(), Error::Internal { .. }), "{head}: {error}");
                // Showing an error must not take long either.
                assert!(error.to_string().len() < 100_000, "{head}: a long message");
            }
            answers.push(outcome.is_ok());
        }
        answers
    };
    thread.spawn(work).unwrap().join().unwrap()
}

macro_rules! texts {
    ($($text:expr),* $(,)?) => { vec![$(Box::new(move || $text) as Box<dyn FnOnce() -> String + Send>),*] };
}

fn all_are(expected: bool, texts: Vec<Box<dyn FnOnce() -> String + Send>>) {
    let count = texts.len();
    assert_eq!(outcomes(texts), vec![expected; count]);
}

fn deep(open: &str, middle: &str, close: &str) -> String {
    nested(open, middle, close, DEPTH)
}

fn nested(open: &str, middle: &str, close: &str, times: usize) -> String {
    format!("SELECT {}{middle}{}", open.repeat(times), close.repeat(times))
}

fn listed(item: impl Fn(usize) -> String, separator: &str, times: usize) -> String {
    let mut text = String::new();
    for index in 0..times {
        if index > 0 {
            text.push_str(separator);
        }
        text.push_str(&item(index));
    }
    text
}

fn number(index: usize) -> String {
    index.to_string()
}

#[test]
fn a_million_levels_of_expressions_are_an_error() {
    all_are(
        false,
        texts![
            deep("(", "1", ")"),
            deep("(", "", ""),
            format!("/* */ {}", deep("(", "1", ")")),
            deep("- ", "1", ""),
            deep("+-", "1", ""),
            deep("NOT ", "true", ""),
            deep("~", "1", ""),
            deep("abs(", "1", ")"),
            deep("coalesce(1,", "1", ")"),
            deep("CASE WHEN true THEN ", "1", " END"),
            deep("CASE WHEN false THEN 1 ELSE ", "1", " END"),
            deep("CASE ", "", ""),
            format!("/* */ {}", deep("CASE WHEN true THEN ", "1", " END")),
            deep("(SELECT ", "1", ")"),
            deep("EXISTS (SELECT ", "1", ")"),
            deep("1 IN (SELECT ", "1", ")"),
            deep("1 BETWEEN 0 AND ", "1", ""),
            deep("2 ^ ", "1", ""),
            deep("", "1", "::INTEGER"),
            deep("CAST(", "1", " AS INTEGER)"),
            deep("", "1", " IS NULL"),
            deep("", "1", " IN (1)"),
            deep("", "'a'", " COLLATE NOCASE"),
            deep("", "now()", " AT TIME ZONE 'UTC'"),
            deep("", "a", ".a"),
            deep("", "(1)", ".abs()"),
            deep("", "'{}'::JSON", "->'a'"),
            deep("", "[1]", "[1]"),
            deep("", "[1]", "[1:2]"),
            deep("sum(", "1", ") OVER ()"),
            deep("list_transform([1], lambda x: ", "1", ")"),
            format!("SELECT list_transform([1], {}1)", "lambda x: ".repeat(DEPTH)),
        ],
    );
}

#[test]
fn a_million_levels_of_values_and_types_are_an_error() {
    all_are(
        false,
        texts![
            deep("[", "1", "]"),
            deep("[", "", ""),
            deep("{'a':", "1", "}"),
            deep("row(", "1", ")"),
            deep("MAP {'a':", "1", "}"),
            format!("SELECT NULL::INTEGER{}", "[]".repeat(DEPTH)),
            format!("SELECT NULL::INTEGER{}", "[3]".repeat(DEPTH)),
            format!("CREATE TABLE deep(a INTEGER{})", "[]".repeat(DEPTH)),
            format!("SELECT NULL::{}INTEGER{}", "STRUCT(a ".repeat(DEPTH), ")".repeat(DEPTH)),
            format!("SELECT NULL::{}INTEGER{}", "MAP(INTEGER,".repeat(DEPTH), ")".repeat(DEPTH)),
            format!("SELECT json_extract('{}{}', '$[0]')", "[".repeat(DEPTH), "]".repeat(DEPTH)),
        ],
    );
    outcomes(texts![
        format!("SELECT '{}{}'::JSON", "[".repeat(DEPTH), "]".repeat(DEPTH)),
        format!("SELECT json_valid('{}1{}')", "{\"a\":".repeat(DEPTH), "}".repeat(DEPTH)),
        format!("SELECT json_structure('{}{}')", "[".repeat(DEPTH), "]".repeat(DEPTH)),
        format!("SELECT json_extract('{{}}', '${}')", ".a".repeat(DEPTH)),
        format!("SELECT json_extract('{{}}', '{}')", "/a".repeat(DEPTH)),
        format!("SELECT try_cast('{}{}' AS INTEGER[])", "[".repeat(DEPTH), "]".repeat(DEPTH)),
        format!("SELECT '{}{}'::STRUCT(a VARCHAR)", "{a:".repeat(DEPTH), "}".repeat(DEPTH)),
        format!("SELECT {}", "9".repeat(DEPTH)),
        format!("SELECT 0.{}", "1".repeat(DEPTH)),
        format!("SELECT 1e{}", "1".repeat(DEPTH)),
        format!("SELECT '{}'::INTEGER", "9".repeat(DEPTH)),
        format!("SELECT '{}'::DOUBLE", "9".repeat(DEPTH)),
        format!("SELECT '0.{}'::DECIMAL(10, 3)", "9".repeat(DEPTH)),
        format!("SELECT {}", "a".repeat(DEPTH)),
        format!("SELECT '{}'", "''".repeat(DEPTH)),
        format!("SELECT \"{}\"", "\"\"".repeat(DEPTH)),
    ]);
}

#[test]
fn a_million_levels_of_queries_are_an_error() {
    all_are(
        false,
        texts![
            format!("SELECT * FROM {}range(1){}", "(SELECT * FROM ".repeat(DEPTH), ")".repeat(DEPTH)),
            format!("SELECT * FROM {}range(1){}", "(".repeat(DEPTH), ")".repeat(DEPTH)),
            format!("FROM {}t{}", "(PIVOT ".repeat(DEPTH), " ON a USING sum(b))".repeat(DEPTH)),
            format!("FROM t{}", " PIVOT (sum(a) FOR b IN (1))".repeat(DEPTH)),
            format!("{}SELECT 1{}", "WITH a AS (".repeat(DEPTH), ") SELECT * FROM a".repeat(DEPTH)),
            format!("SELECT 1 GROUP BY {}1{}", "ROLLUP (".repeat(DEPTH), ")".repeat(DEPTH)),
            format!("SELECT 1 GROUP BY GROUPING SETS {}1{}", "(".repeat(DEPTH), ")".repeat(DEPTH)),
            format!("CREATE MACRO m(a) AS {}a{}", "(".repeat(DEPTH), ")".repeat(DEPTH)),
            format!("CREATE TABLE q(a INTEGER CHECK ({}a{}))", "(".repeat(DEPTH), ")".repeat(DEPTH)),
            format!("CREATE TABLE q(a INTEGER DEFAULT {}1{})", "(".repeat(DEPTH), ")".repeat(DEPTH)),
            format!("{}SELECT 1", "EXPLAIN ".repeat(DEPTH)),
            format!("{}SELECT 1", "PREPARE a AS ".repeat(DEPTH)),
            format!("{}SELECT 1", "DESCRIBE ".repeat(DEPTH)),
            format!("SELECT 1 {}", "/*".repeat(DEPTH)),
        ],
    );
    outcomes(texts![
        format!("{}{}SELECT 1", "/*".repeat(DEPTH), "*/".repeat(DEPTH)),
        format!("{}SELECT 1", ";".repeat(DEPTH)),
        format!("{}SELECT x", "\n".repeat(DEPTH)),
        format!("SELECT x -- {}", "a".repeat(DEPTH)),
    ]);
}

#[test]
fn patterns_end() {
    outcomes(texts![
        format!("SELECT repeat('a', 100) LIKE '{}%b'", "%a".repeat(DEPTH)),
        format!("SELECT repeat('a', 1000000) LIKE '{}b'", "%_".repeat(DEPTH)),
        format!("SELECT repeat('a', 100000) LIKE '{}b'", "%aa".repeat(20_000)),
        format!("SELECT repeat('a', 100000) ILIKE '{}b'", "%aa".repeat(20_000)),
        format!("SELECT repeat('a', 100000) GLOB '{}b'", "*aa".repeat(20_000)),
        format!("SELECT 'a' SIMILAR TO '{}a{}'", "(".repeat(DEPTH), ")".repeat(DEPTH)),
        format!("SELECT regexp_matches('a', '{}a{}')", "(".repeat(DEPTH), ")".repeat(DEPTH)),
        format!("SELECT regexp_matches('a', '{}')", "a*".repeat(DEPTH)),
        format!("SELECT regexp_matches('a', '{}b')", "a|".repeat(DEPTH)),
        "SELECT regexp_matches('a', '((((a{100}){100}){100}){100})')".to_string(),
        "SELECT regexp_matches(repeat('a', 100000), '(a*)*b')".to_string(),
        "SELECT regexp_replace(repeat('a', 100000), '(a|aa)+$', 'b', 'g')".to_string(),
    ]);
}

#[test]
fn depths_that_are_allowed_need_no_stack_of_the_caller() {
    all_are(
        true,
        texts![
            nested("(", "1", ")", 200),
            nested("abs(", "1", ")", 100),
            nested("- ", "1", "", 200),
            nested("CASE WHEN true THEN ", "1", " END", 100),
            nested("(SELECT ", "1", ")", 50),
            format!("SELECT * FROM {}range(1){}", "(SELECT * FROM ".repeat(50), ")".repeat(50)),
            format!(
                "WITH c0 AS (SELECT 1), {} SELECT * FROM c500",
                listed(|i| format!("c{} AS (SELECT * FROM c{i})", i + 1), ", ", 500)
            ),
        ],
    );
}

#[test]
fn a_million_values_have_an_answer() {
    all_are(
        true,
        texts![
            format!("SELECT 1 IN ({})", listed(number, ",", DEPTH)),
            format!("SELECT 'a' IN ({})", listed(|i| format!("'{i}'"), ",", DEPTH)),
            format!("SELECT count(*) FROM range(10) t(i) WHERE i IN ({})", listed(number, ",", DEPTH)),
            format!("SELECT count(*) FROM range(10) t(i) WHERE i NOT IN ({})", listed(number, ",", DEPTH)),
            format!(
                "SELECT count(*) FROM range(10) t(i) WHERE i::DOUBLE IN ({})",
                listed(|i| format!("{i}e0"), ",", COUNT)
            ),
            format!("SELECT 1 IN ({})", listed(|_| "NULL".to_string(), ",", DEPTH)),
            format!("SELECT count(*) FROM (VALUES {}) t(a)", listed(|i| format!("({i})"), ",", DEPTH)),
        ],
    );
    outcomes(texts![
        format!("EXPLAIN SELECT count(*) FROM range(10) t(i) WHERE i IN ({})", listed(number, ",", DEPTH)),
        format!("SELECT 1 IN ({}, 'x')", listed(number, ",", DEPTH)),
        format!("SELECT (1, 2) IN ({})", listed(|i| format!("({i}, {i})"), ",", COUNT)),
    ]);
}

#[test]
fn long_chains_end() {
    let condition = |condition: String| format!("SELECT count(*) FROM range(10) t(i) WHERE {condition}");
    all_are(
        true,
        texts![
            format!("SELECT {}", listed(|_| "true".into(), " AND ", 40_000)),
            condition(listed(|i| format!("i = {i}"), " OR ", 40_000)),
            condition(listed(|i| format!("i <> {}", i + 10), " AND ", 10_000)),
        ],
    );
    outcomes(texts![
        condition(listed(|i| format!("i > {i}"), " OR ", 10_000)),
        condition(listed(|i| format!("i BETWEEN {i} AND {i}"), " OR ", 10_000)),
        condition(listed(|i| format!("(i = {i} AND i <> {})", i + 1), " OR ", 10_000)),
        condition(listed(|i| format!("(i = {i} OR i <> {})", i + 1), " AND ", 10_000)),
        condition(listed(|i| format!("i::VARCHAR LIKE '%{i}'"), " OR ", 10_000)),
        format!("EXPLAIN {}", condition(listed(|i| format!("i BETWEEN {i} AND {i}"), " OR ", 5_000))),
    ]);
    all_are(
        false,
        texts![
            format!("SELECT {}", listed(|_| "true".into(), " AND ", COUNT)),
            format!("SELECT {}", listed(|_| "true".into(), " OR ", COUNT)),
            format!("SELECT {}", listed(|_| "1".into(), " + ", COUNT)),
            format!("SELECT {}", listed(|_| "'a'".into(), " || ", COUNT)),
            format!("SELECT {} FROM range(3) t(i)", listed(|_| "i".into(), " + ", COUNT)),
        ],
    );
}

#[test]
fn many_columns_end() {
    all_are(
        false,
        texts![
            format!("SELECT {}", listed(number, ",", COUNT)),
            format!("SELECT DISTINCT {}", listed(|i| format!("{i} AS c{i}"), ",", COUNT)),
            format!("CREATE TABLE wide({})", listed(|i| format!("c{i} INTEGER"), ",", COUNT)),
            format!("CREATE TABLE wide({})", listed(|i| format!("c{i} INTEGER UNIQUE"), ",", COUNT)),
            format!(
                "CREATE TABLE wide({})",
                listed(|i| format!("c{i} INTEGER CHECK (c{i} > 0)"), ",", COUNT)
            ),
            format!("CREATE TABLE wide AS SELECT {}", listed(|i| format!("{i} AS c{i}"), ",", COUNT)),
            format!("INSERT INTO missing VALUES ({})", listed(number, ",", COUNT)),
            format!("SELECT count(*) FROM range(1) t({})", listed(|i| format!("c{i}"), ",", COUNT)),
            format!(
                "SELECT count(*) FROM range(3) t(i) GROUP BY {}",
                listed(|i| format!("i + {i}"), ",", COUNT)
            ),
            format!("SELECT * FROM range(3) t(i) ORDER BY {}", listed(|i| format!("i + {i}"), ",", COUNT)),
            format!(
                "SELECT sum(i) OVER (PARTITION BY {}) FROM range(3) t(i)",
                listed(|i| format!("i + {i}"), ",", COUNT)
            ),
            format!("SELECT {{{}}}", listed(|i| format!("'c{i}': {i}"), ",", COUNT)),
            format!("SELECT NULL::STRUCT({})", listed(|i| format!("c{i} INTEGER"), ",", COUNT)),
        ],
    );
    all_are(
        true,
        texts![
            format!("SELECT {}", listed(number, ",", 10_000)),
            format!("SELECT {} FROM range(3) t(i)", listed(|i| format!("i + {i} AS c{i}"), ",", 5_000)),
            format!("CREATE TABLE wide({})", listed(|i| format!("c{i} INTEGER"), ",", 5_000)),
            format!("INSERT INTO wide VALUES ({})", listed(number, ",", 5_000)),
            "SELECT c4999 FROM wide".to_string(),
            format!("CREATE TYPE labels AS ENUM ({})", listed(|i| format!("'{i}'"), ",", COUNT)),
            format!("SELECT coalesce({})", listed(|_| "NULL".into(), ",", COUNT)),
            format!("SELECT concat({})", listed(|_| "'a'".into(), ",", COUNT)),
        ],
    );
}

#[test]
fn many_set_operations_end() {
    for operation in ["UNION ALL", "UNION", "INTERSECT", "EXCEPT"] {
        all_are(false, texts![listed(|i| format!("SELECT {i}"), &format!(" {operation} "), COUNT)]);
    }
    all_are(true, texts![listed(|i| format!("SELECT {i}"), " UNION ALL ", 500)]);
    outcomes(texts![
        listed(|i| format!("(SELECT {i})"), " UNION ALL ", COUNT),
        listed(|i| format!("VALUES ({i})"), " UNION ALL ", COUNT),
    ]);
}

#[test]
fn many_joins_and_ctes_end() {
    let joined = |kind: &'static str| {
        move || {
            format!(
                "SELECT count(*) FROM range(1) t{}",
                listed(|i| format!(" {kind} range(1) t{i}"), "", COUNT)
            )
        }
    };
    all_are(
        false,
        vec![
            Box::new(joined("CROSS JOIN")),
            Box::new(joined("NATURAL JOIN")),
            Box::new(joined("POSITIONAL JOIN")),
            Box::new(joined(",")),
            Box::new(|| format!("SELECT 1 FROM {}", listed(|i| format!("missing{i}"), ", ", COUNT))),
            Box::new(|| {
                format!("WITH {} SELECT * FROM c0", listed(|i| format!("c{i} AS (SELECT {i})"), ", ", COUNT))
            }),
            Box::new(|| {
                let chain = listed(|i| format!("c{} AS (SELECT * FROM c{i})", i + 1), ", ", COUNT);
                format!("WITH c0 AS (SELECT 1), {chain} SELECT * FROM c1")
            }),
        ],
    );
    all_are(
        true,
        texts![format!("SELECT count(*) FROM {}", listed(|i| format!("range(1) t{i}"), ", ", 100))],
    );
}

#[test]
fn many_branches_rows_and_parameters_end() {
    let case = |branch: fn(usize) -> String| {
        format!("SELECT count(CASE {} END) FROM range(10) t(i)", listed(branch, " ", COUNT))
    };
    all_are(
        true,
        texts![
            case(|i| format!("WHEN i = {i} THEN {i}")),
            format!("SELECT CASE {} END", listed(|i| format!("WHEN false THEN {i}"), " ", COUNT)),
            "CREATE TABLE rows(a INTEGER, b VARCHAR)".to_string(),
            format!("INSERT INTO rows VALUES {}", listed(|i| format!("({i}, '{i}')"), ",", COUNT)),
            format!("INSERT INTO rows VALUES {}", listed(|i| format!("({i}, DEFAULT)"), ",", COUNT)),
        ],
    );
    all_are(
        false,
        texts![
            format!(
                "INSERT INTO rows VALUES {}, ('x', 'y')",
                listed(|i| format!("({i}, '{i}')"), ",", COUNT)
            ),
            format!(
                "SELECT count(*) FROM (VALUES {}, (1, 2)) t(a)",
                listed(|i| format!("({i})"), ",", COUNT)
            ),
            format!("SELECT {}", listed(|_| "?".into(), ",", COUNT)),
            format!("SELECT {}", listed(|i| format!("${}", i + 1), ",", COUNT)),
            listed(|_| "SELECT ?".into(), ";", COUNT),
        ],
    );
}

#[test]
fn many_statements_end() {
    outcomes(texts![
        listed(|i| format!("SELECT {i}"), ";", COUNT),
        format!("{}SELECT x", "SELECT 1;\n".repeat(COUNT)),
        "BEGIN;".repeat(COUNT),
    ]);
}

#[test]
fn definitions_upon_definitions_end() {
    let chained = |first: &str, next: &dyn Fn(usize) -> String, count: usize, last: &str| {
        format!("{first};{};{last}", listed(next, ";", count))
    };
    let views = chained(
        "CREATE VIEW v0 AS SELECT 1 AS x",
        &|i| format!("CREATE VIEW v{} AS SELECT * FROM v{i}", i + 1),
        200,
        "SELECT * FROM v200",
    );
    let doubled = chained(
        "CREATE VIEW w0 AS SELECT 1 AS x",
        &|i| format!("CREATE VIEW w{} AS SELECT a.x FROM w{i} a, w{i} b", i + 1),
        40,
        "SELECT * FROM w40",
    );
    let macros = chained(
        "CREATE MACRO m0(a) AS a",
        &|i| format!("CREATE MACRO m{}(a) AS m{i}(a) + m{i}(a)", i + 1),
        60,
        "SELECT m60(1)",
    );
    let arguments = format!("CREATE MACRO twice(a) AS a + a; {}", nested("twice(", "1", ")", 60));
    let aliases = format!("SELECT 1 AS a0, {}", listed(|i| format!("a{i} + a{i} AS a{}", i + 1), ", ", 40));
    outcomes(texts![views, doubled, macros, arguments, aliases]);
}

/// Statements that would never end or would take all memory are ended by the budget.
#[test]
fn bombs_end_by_the_budget() {
    let statements = [
        "SELECT length(repeat('a', 1000000000000))",
        "SELECT length(lpad('a', 2000000000, 'b'))",
        "SELECT length(printf('%2000000000d', 1))",
        "SELECT len(range(1000000000000))",
        "SELECT len(generate_series(1, 10000000000))",
        "SELECT length(string_agg(repeat('a', 100000), ',')) FROM range(100000)",
        "SELECT len(list(repeat('a', 100000))) FROM range(100000)",
        "SELECT length(replace(repeat('a', 10000000), 'a', repeat('b', 1000)))",
        "SELECT len(list_resize([1], 1000000000000))",
        "SELECT len(repeat([1], 10000000000))",
        "SELECT * FROM generate_series(1, 1000000000000)",
        "SELECT a.range FROM range(1000000) a, range(1000000) b",
    ];
    let thread = std::thread::Builder::new().stack_size(STACK_BYTES);
    let work = move || {
        let connection = Database::open_in_memory().unwrap().connect();
        connection.execute("SET memory_limit = '200MB'").unwrap();
        for sql in statements {
            let Err(error) = connection.execute(sql) else { panic!("{sql} has an answer") };
            assert!(!matches!(error.root(), Error::Internal { .. }), "{sql}: {error}");
        }
    };
    thread.spawn(work).unwrap().join().unwrap();
}

/// Statements that take no memory are ended by an interrupt.
#[test]
fn endless_statements_can_be_interrupted() {
    let statements = [
        "SELECT count(*) FROM range(1000000000000)",
        "SELECT count(*) FROM range(1000000) a, range(1000000) b WHERE a.range + b.range = -1",
        "WITH RECURSIVE r AS (SELECT 1 AS x UNION ALL SELECT 1 FROM r) SELECT count(*) FROM r",
        "SELECT list_sum(list_transform(range(10000000), lambda x: list_sum(range(x))))",
        "SELECT levenshtein(repeat('a', 1000000), repeat('b', 1000000))",
    ];
    for sql in statements {
        let connection = Database::open_in_memory().unwrap().connect();
        let (interrupter, done) = (connection.clone(), Arc::new(AtomicBool::new(false)));
        let is_done = Arc::clone(&done);
        let stop = std::thread::spawn(move || {
            while !is_done.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(100));
                interrupter.interrupt();
            }
        });
        let outcome = connection.execute(sql);
        done.store(true, Ordering::Relaxed);
        stop.join().unwrap();
        assert!(outcome.is_err(), "{sql} has an answer");
    }
}

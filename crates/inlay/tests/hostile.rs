//! Hostile statements: an answer or an error in time that grows with the text, on a stack of 256 KiB.

#![allow(clippy::unwrap_used, reason = "a test program: it reports and fails")]

use inlay::Database;
use std::time::{Duration, Instant};

const STACK_BYTES: usize = 256 << 10;
/// Far more than a statement takes, and far less than one that is quadratic.
const TIME_MAX: Duration = Duration::from_secs(60);

/// Runs statements on a small stack; says for each whether it had an answer.
fn answers(statements: Vec<String>) -> Vec<bool> {
    let thread = std::thread::Builder::new().stack_size(STACK_BYTES);
    let work = move || {
        let connection = Database::open_in_memory().unwrap().connect();
        let mut answers = Vec::new();
        for sql in statements {
            let start = Instant::now();
            answers.push(connection.execute(&sql).is_ok());
            let head: String = sql.chars().take(60).collect();
            assert!(start.elapsed() < TIME_MAX, "{head}... took {:?}", start.elapsed());
        }
        answers
    };
    thread.spawn(work).unwrap().join().unwrap()
}

fn nested(open: &str, middle: &str, close: &str, times: usize) -> String {
    format!("SELECT {}{middle}{}", open.repeat(times), close.repeat(times))
}

fn listed(item: impl Fn(usize) -> String, separator: &str, times: usize) -> String {
    (0..times).map(item).collect::<Vec<_>>().join(separator)
}

#[test]
fn a_million_levels_are_an_error() {
    let depth = 1_000_000;
    let statements = vec![
        nested("(", "1", ")", depth),
        nested("(", "", "", depth),
        nested("- ", "1", "", depth),
        nested("NOT ", "true", "", depth),
        nested("~", "1", "", depth),
        nested("abs(", "1", ")", depth),
        nested("CASE WHEN true THEN ", "1", " END", depth),
        nested("CASE ", "", "", depth),
        nested("(SELECT ", "1", ")", depth),
        nested("[", "", "", depth),
        nested("", "a", ".a", depth),
        nested("", "(1)", ".abs()", depth),
        nested("", "1", "::INTEGER", depth),
        nested("", "1", " IS NULL", depth),
        format!("SELECT * FROM {}range(1){}", "(SELECT * FROM ".repeat(depth), ")".repeat(depth)),
        format!("FROM {}t{}", "(PIVOT ".repeat(depth), " ON a USING sum(b))".repeat(depth)),
    ];
    let count = statements.len();
    assert_eq!(answers(statements), vec![false; count]);
}

#[test]
fn depths_that_are_allowed_need_no_stack_of_the_caller() {
    let statements = vec![
        nested("(", "1", ")", 200),
        nested("abs(", "1", ")", 100),
        nested("- ", "1", "", 200),
        nested("CASE WHEN true THEN ", "1", " END", 100),
        nested("(SELECT ", "1", ")", 50),
        format!("SELECT * FROM {}range(1){}", "(SELECT * FROM ".repeat(50), ")".repeat(50)),
    ];
    let count = statements.len();
    assert_eq!(answers(statements), vec![true; count]);
}

#[test]
fn long_lists_take_linear_time() {
    let number = |i: usize| i.to_string();
    let statements = vec![
        format!("SELECT 1 IN ({})", listed(number, ",", 300_000)),
        format!("SELECT 'a' IN ({})", listed(|i| format!("'{i}'"), ",", 300_000)),
        format!("SELECT {}", listed(|_| "true".into(), " AND ", 40_000)),
        format!(
            "SELECT count(*) FROM range(10) t(i) WHERE {}",
            listed(|i| format!("i = {i}"), " OR ", 20_000)
        ),
        format!("SELECT {}", listed(number, ",", 10_000)),
        format!("SELECT count(*) FROM (VALUES {}) t(a)", listed(|i| format!("({i})"), ",", 100_000)),
        format!("SELECT count(*) FROM {}", listed(|i| format!("range(1) t{i}"), ", ", 60)),
    ];
    let count = statements.len();
    assert_eq!(answers(statements), vec![true; count]);
}

#[test]
fn lists_beyond_the_limits_are_errors() {
    let statements = vec![
        format!("SELECT {}", listed(|i| i.to_string(), ",", 100_000)),
        listed(|_| "SELECT 1".into(), " UNION ALL ", 100_000),
        format!("SELECT {}", listed(|_| "true".into(), " AND ", 100_000)),
        format!("SELECT {}", listed(|_| "true".into(), " OR ", 100_000)),
        format!("SELECT {}", listed(|_| "1".into(), " + ", 100_000)),
    ];
    let count = statements.len();
    assert_eq!(answers(statements), vec![false; count]);
}

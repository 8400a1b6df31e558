//! Times statements of files, for profiling: `cargo run --release --example probe -- RUNS FILE...`.
//!
//! A file is one text, or, if its name ends in `.list`, a statement per line. `INLAY_PROBE_STACK` is the size of
//! the calling thread's stack in KiB. Times are in milliseconds: the best of all runs.

#![expect(clippy::print_stdout, reason = "a program, not the engine")]

use inlay::{Connection, Database, Error, Result};
use std::time::Instant;

fn main() -> Result<()> {
    let kib = std::env::var("INLAY_PROBE_STACK").ok().and_then(|kib| kib.parse().ok()).unwrap_or(1024_usize);
    let thread = std::thread::Builder::new().stack_size(kib << 10);
    let thread = thread.spawn(run).map_err(|e| Error::io("cannot start", "a thread", &e))?;
    thread.join().map_err(|_| Error::internal("a statement panicked"))?
}

fn run() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let runs = args.first().and_then(|runs| runs.parse().ok()).unwrap_or(1);
    let connection = Database::open_in_memory()?.connect();
    for path in args.iter().skip(1) {
        let text = std::fs::read_to_string(path).map_err(|e| Error::io("cannot read", path, &e))?;
        if path.ends_with(".list") {
            text.lines()
                .filter(|line| !line.trim().is_empty())
                .for_each(|sql| time(&connection, sql, sql, runs));
        } else {
            time(&connection, path, &text, runs);
        }
    }
    Ok(())
}

fn time(connection: &Connection, name: &str, sql: &str, runs: usize) {
    let mut best = f64::INFINITY;
    let mut outcome = String::new();
    for _ in 0..runs {
        let started = Instant::now();
        outcome = match connection.execute(sql) {
            Ok(result) => {
                let first = if result.row_count() > 0 && !result.names().is_empty() {
                    result
                        .value(0, 0)
                        .map_or_else(|e| e.to_string(), |value| value.to_string())
                        .chars()
                        .take(30)
                        .collect()
                } else {
                    String::new()
                };
                format!("{} rows {first}", result.row_count())
            }
            Err(error) => error.to_string().lines().next().unwrap_or_default().chars().take(90).collect(),
        };
        best = best.min(started.elapsed().as_secs_f64() * 1e3);
    }
    println!("{best:9.1} ms  {name}  ->  {outcome}");
}

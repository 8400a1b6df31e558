//! Times the TPC-H queries in-process, for profiling: `cargo run --release --example tpch -- [SF] [RUNS] [QUERY...]`.
//! `INLAY_TPCH_FILE` names a database file to use, `INLAY_TPCH_MEMORY` a memory limit.

#![expect(clippy::print_stdout, reason = "a program, not the engine")]

use inlay::{Database, Error, Result, Value};
use std::time::Instant;

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let number = |index: usize, default: f64| args.get(index).and_then(|a| a.parse().ok()).unwrap_or(default);
    let (sf, runs) = (number(0, 0.01), number(1, 3.0) as usize);
    let path = std::env::var("INLAY_TPCH_FILE").unwrap_or_else(|_| ":memory:".to_string());
    let memory = std::env::var("INLAY_TPCH_MEMORY").ok();
    let config: Vec<_> =
        memory.into_iter().map(|limit| ("memory_limit".to_string(), Value::Varchar(limit))).collect();
    let started = Instant::now();
    let database = Database::open(&path, &config)?;
    println!("opened in {:?}", started.elapsed());
    let connection = database.connect();
    let started = Instant::now();
    if connection.execute("SHOW TABLES")?.row_count() == 0 {
        connection.execute(&format!("CALL tpch_dbgen(sf := {sf})"))?;
        println!("generated SF {sf} in {:?}", started.elapsed());
        let started = Instant::now();
        connection.execute("CHECKPOINT")?;
        println!("checkpoint in {:?}", started.elapsed());
    }
    let wanted: Vec<usize> = args.iter().skip(2).filter_map(|a| a.parse().ok()).collect();
    let mut logs = Vec::new();
    for query in 1..=22 {
        if !wanted.is_empty() && !wanted.contains(&query) {
            continue;
        }
        let path = format!("tests/tpch/queries/q{query:02}.sql");
        let sql = std::fs::read_to_string(&path).map_err(|e| Error::io("cannot read", path, &e))?;
        let mut times = Vec::new();
        let mut rows = 0;
        for _ in 0..runs {
            let started = Instant::now();
            match connection.execute(&sql) {
                Ok(result) => rows = result.row_count(),
                Err(error) => {
                    println!("Q{query:<2} {error}");
                    break;
                }
            }
            times.push(started.elapsed().as_secs_f64() * 1e3);
        }
        times.sort_by(f64::total_cmp);
        if let Some(median) = times.get(times.len() / 2) {
            println!("Q{query:<2} {median:9.2} ms  {rows} rows");
            logs.push(median.ln());
        }
    }
    println!("geometric mean {:.2} ms", (logs.iter().sum::<f64>() / logs.len() as f64).exp());
    Ok(())
}

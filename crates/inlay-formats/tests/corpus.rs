//! Reads the nasty files of `tests/csv/cases.txt`, each also cut into blocks everywhere and with several workers.
//!
//! ```text
//! === name                  what is nasty
//! why: ...                  where we answer otherwise than DuckDB: the reason
//! options: skip=1           as in read_csv(..)
//! bytes: a,b\n1,\xff\n      the file, with escapes
//! columns: a BIGINT, ...    what it is read as, or
//! error: part of a message
//! 1 | x                     rows, with escapes
//! ```

#![expect(clippy::unwrap_used, reason = "a test program")]

use inlay_catalog::{ScanRequest, TableSource};
use inlay_types::{Interrupt, MemoryBudget, Result, Value};
use std::sync::{Arc, Mutex};

#[derive(Debug, Default)]
struct Case {
    name: String,
    options: Vec<(String, Value)>,
    bytes: Vec<u8>,
    expected: Vec<String>,
}

fn unescaped(text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte != b'\\' {
            out.push(byte);
            continue;
        }
        match bytes.next().unwrap() {
            b'n' => out.push(b'\n'),
            b'r' => out.push(b'\r'),
            b't' => out.push(b'\t'),
            b'x' => {
                let digits = [bytes.next().unwrap(), bytes.next().unwrap()];
                out.push(u8::from_str_radix(std::str::from_utf8(&digits).unwrap(), 16).unwrap());
            }
            // `\{2100:x}` is a character many times.
            b'{' => {
                let spec: Vec<u8> = bytes.by_ref().take_while(|byte| *byte != b'}').collect();
                let spec = String::from_utf8(spec).unwrap();
                let (count, what) = spec.split_once(':').unwrap();
                out.extend(unescaped(what).repeat(count.parse().unwrap()));
            }
            other => out.push(other),
        }
    }
    out
}

/// A line with what is there many times (`\{100:x}`) written out, its other escapes as they are.
fn repeated(line: &str) -> String {
    let Some((before, rest)) = line.split_once("\\{") else { return line.to_string() };
    let (spec, after) = rest.split_once('}').unwrap();
    let (count, what) = spec.split_once(':').unwrap();
    format!("{before}{}{}", what.repeat(count.parse().unwrap()), repeated(after))
}

fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '|' => out.push_str("\\|"),
            c if (c as u32) < 32 || c as u32 == 127 => out.push_str(&format!("\\x{:02x}", c as u32)),
            c => out.push(c),
        }
    }
    out
}

/// `a=1; b='x'; c=['x', 'y']`.
fn options(text: &str) -> Vec<(String, Value)> {
    let value = |text: &str| match text.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\'')) {
        Some(inner) => Value::Varchar(inner.replace("''", "'")),
        None if text == "true" || text == "false" => Value::Boolean(text == "true"),
        None => text.parse().map_or_else(|_| Value::Varchar(text.to_string()), Value::BigInt),
    };
    let option = |item: &str| {
        let (name, text) = item.split_once('=').unwrap();
        (name.trim().to_string(), value(text.trim()))
    };
    text.split("; ").filter(|item| !item.is_empty()).map(option).collect()
}

fn cases() -> Vec<Case> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/csv/cases.txt");
    let mut cases: Vec<Case> = Vec::new();
    for line in std::fs::read_to_string(path).unwrap().lines() {
        if let Some(name) = line.strip_prefix("=== ") {
            cases.push(Case { name: name.to_string(), ..Case::default() });
            continue;
        }
        let Some(case) = cases.last_mut() else { continue };
        if let Some(given) = line.strip_prefix("options: ") {
            case.options = options(given);
        } else if let Some(bytes) = line.strip_prefix("bytes: ") {
            case.bytes = unescaped(bytes);
        } else if !line.is_empty() && !line.starts_with("why: ") {
            case.expected.push(repeated(line));
        }
    }
    cases
}

/// The rows of a source, read by several workers; in order.
fn rows(source: &Arc<dyn TableSource>, workers: usize) -> Result<Vec<String>> {
    let request = ScanRequest {
        columns: (0..source.columns().len()).collect(),
        filters: Vec::new(),
        any_of: Vec::new(),
        budget: MemoryBudget::unlimited(),
        interrupt: Interrupt::new(),
    };
    let scan = source.scan(request)?;
    let tasks = Mutex::new(0);
    let found = Mutex::new(Vec::new());
    let work = || -> Result<()> {
        loop {
            let (number, task) = {
                let mut next = tasks.lock().unwrap();
                let Some(task) = scan.next_task()? else { return Ok(()) };
                *next += 1;
                (*next, task)
            };
            let mut rows = Vec::new();
            for batch in task {
                let batch = batch?;
                for row in 0..batch.len() {
                    let values: Vec<String> =
                        batch.columns().iter().map(|column| escaped(&column.get(row).to_string())).collect();
                    rows.push(values.join(" | "));
                }
            }
            found.lock().unwrap().push((number, rows));
        }
    };
    let outcomes: Vec<Result<()>> = std::thread::scope(|scope| {
        let handles: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        handles.into_iter().map(|handle| handle.join().unwrap()).collect()
    });
    outcomes.into_iter().collect::<Result<()>>()?;
    let mut found = found.into_inner().unwrap();
    found.sort();
    Ok(found.into_iter().flat_map(|(_, rows)| rows).collect())
}

/// What the file of a case is read as.
fn answer(path: &str, case: &Case, buffer: Option<i64>, workers: usize) -> Vec<String> {
    let mut options = case.options.clone();
    options.extend(buffer.map(|size| ("buffer_size".to_string(), Value::BigInt(size))));
    let reader = inlay_formats::text_reader("read_csv", &Arc::default(), &Arc::default()).unwrap();
    let read = || -> Result<Vec<String>> {
        let source =
            reader.bind(&[Value::Varchar(path.to_string())], &options, &inlay_sql::parser::parse_type)?;
        let columns: Vec<String> = source
            .columns()
            .iter()
            .map(|column| escaped(&format!("{} {}", column.name, column.ty)))
            .collect();
        let mut lines = vec![format!("columns: {}", columns.join(", "))];
        lines.extend(rows(&source, workers)?);
        Ok(lines)
    };
    read()
        .unwrap_or_else(|error| vec![format!("error: {}", escaped(&error.to_string().replace(path, "FILE")))])
}

fn is_as_expected(found: &[String], expected: &[String]) -> bool {
    match expected.first().and_then(|line| line.strip_prefix("error: ")) {
        Some(part) => found.first().is_some_and(|line| line.starts_with("error: ") && line.contains(part)),
        None => found == expected,
    }
}

#[test]
fn nasty_files_are_read_right_however_they_are_cut() {
    let cases = cases();
    assert!(cases.len() >= 200, "{} cases", cases.len());
    let path = std::env::temp_dir().join(format!("inlay-corpus-{}.csv", std::process::id()));
    let shown = path.to_str().unwrap();
    let mut failed = Vec::new();
    for case in &cases {
        std::fs::write(&path, &case.bytes).unwrap();
        let whole = answer(shown, case, None, 1);
        if !is_as_expected(&whole, &case.expected) {
            failed.push(format!(
                "=== {}\n{}\n--- expected\n{}\n",
                case.name,
                whole.join("\n"),
                case.expected.join("\n")
            ));
            continue;
        }
        let sizes: &[i64] =
            if case.bytes.len() > 5000 { &[999, 4096] } else { &[1, 2, 3, 5, 8, 21, 64, 1000] };
        for &size in sizes {
            for workers in [1, 3] {
                let cut = answer(shown, case, Some(size), workers);
                let same = whole == cut || whole[0].starts_with("error: ") && cut[0].starts_with("error: ");
                if !same {
                    let (whole, cut) = (whole.join("\n"), cut.join("\n"));
                    failed
                        .push(format!("=== {} in blocks of {size}\n{cut}\n--- whole\n{whole}\n", case.name));
                }
            }
        }
    }
    std::fs::remove_file(&path).unwrap();
    if let Some(out) = std::env::var_os("INLAY_CORPUS_OUT") {
        std::fs::write(out, failed.join("\n")).unwrap();
    }
    let some: Vec<String> = failed.iter().take(10).cloned().collect();
    assert!(failed.is_empty(), "{} of {} failed\n{}", failed.len(), cases.len(), some.join("\n"));
}

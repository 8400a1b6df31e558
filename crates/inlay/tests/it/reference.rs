//! The reference in `docs/reference`: what it shows runs, and its list of functions is made from the registry.
//!
//! `cargo test -p inlay --test it reference:: -- --ignored` writes `functions.md` and `settings.md` anew.

use crate::support::folder::Folder;
use inlay::Database;
use inlay::manual::{self, Category};
use inlay::settings::Scope;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference")
}

#[test]
fn every_block_runs() {
    let pages =
        ["statements.md", "types.md"].map(|page| std::fs::read_to_string(folder().join(page)).unwrap());
    // Whoever runs this has a folder of his own for what the examples write.
    let own = Folder::new("manual");
    let text = pages.join("\n").replace("/tmp/", &own.file(""));
    let mut wrong = Vec::new();
    let mut count = 0;
    for block in text.split("```sql\n").skip(1) {
        let block = block.split("```").next().unwrap_or("");
        let connection = Database::open_in_memory().unwrap().connect();
        count += 1;
        if let Err(error) = connection.execute(block) {
            wrong.push(format!("{block}\n{error}"));
        }
    }
    assert!(wrong.is_empty() && count > 10, "{} of {count} blocks fail:\n{}", wrong.len(), wrong.join("\n"));
}

/// A cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

fn functions() -> String {
    let mut chapters: BTreeMap<Category, Vec<manual::Entry>> = BTreeMap::new();
    let (mut names, mut overloads) = (0, 0);
    for entry in manual::all() {
        names += 1 + entry.aliases.len();
        overloads += entry.signatures.len().max(1) * (1 + entry.aliases.len());
        chapters.entry(entry.category).or_default().push(entry);
    }
    let mut out = String::from("# Functions\n\n");
    let _ = writeln!(
        out,
        "Made from the registry by `cargo test -p inlay --test it reference:: -- --ignored`. {names} names, {overloads} \
         overloads. Every example is run by a test.\n"
    );
    for (category, mut entries) in chapters {
        entries.sort_by_key(|entry| entry.name);
        let _ = writeln!(out, "## {}\n", category.name());
        let _ = writeln!(out, "| Name | Signatures | What it gives | Example |\n|---|---|---|---|");
        for entry in entries {
            let mut name = format!("`{}`", cell(entry.name));
            for alias in entry.aliases {
                let _ = write!(name, ", `{}`", cell(alias));
            }
            let signatures: Vec<String> =
                entry.signatures.iter().map(|signature| format!("`{}`", cell(signature))).collect();
            let example = match entry.example.result {
                Some(result) => format!("`{}` is `{}`", cell(entry.example.call), cell(result)),
                None if entry.example.call.is_empty() => String::new(),
                None => format!("`{}`", cell(entry.example.call)),
            };
            let signatures = signatures.join("<br>");
            let _ = writeln!(out, "| {name} | {signatures} | {} | {example} |", cell(entry.description));
        }
        out.push('\n');
    }
    out
}

/// What differs from machine to machine is said in words.
fn default_of(name: &str, value: Option<String>) -> String {
    match name {
        "threads" => "all cores".to_string(),
        "memory_limit" => "80 % of the memory".to_string(),
        "resident_limit" => "20 % of the memory".to_string(),
        "temp_directory" => "the system's".to_string(),
        "timezone" => "the machine's".to_string(),
        _ => value
            .filter(|value| !value.is_empty())
            .map_or_else(String::new, |value| format!("`{}`", cell(&value))),
    }
}

fn settings() -> String {
    let connection = Database::open_in_memory().unwrap().connect();
    let mut out = String::from(
        "# Settings\n\nMade from the engine's list by `cargo test -p inlay --test it reference:: -- --ignored`.\n\n\
         `SET name = value` sets, `RESET name` and `RESET ALL` give the defaults back, `SHOW name`, `SHOW ALL` and \
         `current_setting('name')` tell. What a database is opened with (`inlay.connect(path, config={...})`) is what its \
         connections start with.\n\n| Name | Holds for | Default | What it does |\n|---|---|---|---|\n",
    );
    for setting in inlay::settings::SETTINGS {
        let answer =
            connection.execute(&format!("SELECT current_setting('{}')::VARCHAR", setting.name)).unwrap();
        let default = default_of(setting.name, answer.value(0, 0).unwrap().as_str().map(str::to_string));
        let scope = match setting.scope {
            Scope::Database => "the database",
            Scope::Session => "the connection",
        };
        let _ = writeln!(out, "| `{}` | {scope} | {default} | {} |", setting.name, cell(setting.description));
    }
    out.push_str(
        "\n`schema` and `search_path` name the schemas in which names are looked up. Settings of PostgreSQL and DuckDB that only \
         tune those engines (`work_mem`, `preserve_insertion_order`, ...) are taken and change nothing; of those that say how \
         text is read (`client_encoding`, `datestyle`, ...) only the value that holds here is taken.\n",
    );
    out
}

#[test]
#[ignore = "writes docs/reference"]
fn write_pages() {
    std::fs::write(folder().join("functions.md"), functions()).unwrap();
    std::fs::write(folder().join("settings.md"), settings()).unwrap();
}

#[test]
fn pages_are_those_of_the_engine() {
    for (page, made) in [("functions.md", functions()), ("settings.md", settings())] {
        let kept = std::fs::read_to_string(folder().join(page)).unwrap();
        assert!(kept == made, "{page} is old: cargo test -p inlay --test it reference:: -- --ignored");
    }
}

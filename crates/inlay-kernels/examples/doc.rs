#![allow(missing_docs)]
use inlay_kernels::manual::{self, Category};
use std::collections::BTreeMap;
use std::fmt::Write;
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
        "Made from the registry by `cargo test -p inlay --test reference -- --ignored`. {names} names, {overloads} \
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


fn main() { std::fs::write("/tmp/inlay/types_functions.md", functions()).unwrap(); }

//! Puts the docstrings of `_inlay.pyi` where `doc!` finds them, so that `help()` and type checkers show the same text.
//!
//! `OUT_DIR/docs/Class.method` holds one each; `OUT_DIR/docs.rs` lists them all, for methods that are made in Python.

use std::collections::BTreeMap;
use std::path::Path;
use std::{env, fs};

const STUBS: &str = "python/inlay/_inlay.pyi";
/// The class whose methods several others have.
const SHARED: &str = "_Fetch";

fn main() -> std::io::Result<()> {
    println!("cargo::rerun-if-changed={STUBS}");
    println!("cargo::rerun-if-changed=build.rs");
    let stubs = fs::read_to_string(STUBS)?;
    let out = env::var("OUT_DIR").map_err(std::io::Error::other)?;
    let folder = Path::new(&out).join("docs");
    fs::create_dir_all(&folder)?;
    let mut list = String::from("&[\n");
    for (name, text) in docstrings(&stubs) {
        fs::write(folder.join(&name), &text)?;
        list.push_str(&format!("    ({name:?}, {text:?}),\n"));
    }
    list.push(']');
    fs::write(Path::new(&out).join("docs.rs"), list)
}

/// Docstrings by the names of what they describe: `connect`, `Connection`, `Connection.execute`.
fn docstrings(stubs: &str) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let (mut class, mut subject) = (String::new(), String::new());
    let mut heirs = Vec::new();
    let mut lines = stubs.lines();
    while let Some(line) = lines.next() {
        let code = line.trim_start();
        let is_inner = code.len() < line.len();
        if let Some(rest) = line.strip_prefix("class ") {
            class = name_of(rest);
            if rest.contains(&format!("({SHARED})")) {
                heirs.push(class.clone());
            }
            subject.clone_from(&class);
        } else if let Some(rest) = code.strip_prefix("def ") {
            let name = name_of(rest);
            subject = if is_inner { format!("{class}.{name}") } else { name };
        } else if let Some(first) = code.strip_prefix("\"\"\"") {
            let margin = line.len() - code.len();
            let mut text = first.to_string();
            while !text.ends_with("\"\"\"") {
                let Some(next) = lines.next() else { break };
                text.push('\n');
                text.push_str(next.get(margin..).unwrap_or_default());
            }
            let text = text.trim_end_matches("\"\"\"").trim();
            assert!(
                !text.contains('\\'),
                "the docstring of {subject} has a backslash, which Python would read: {STUBS}"
            );
            if !subject.is_empty() {
                found.insert(std::mem::take(&mut subject), text.to_string());
            }
        }
    }
    let shared: Vec<_> = found
        .iter()
        .filter_map(|(name, text)| Some((name.strip_prefix(SHARED)?.to_string(), text.clone())))
        .collect();
    for (heir, (name, text)) in heirs.iter().flat_map(|heir| shared.iter().map(move |one| (heir, one))) {
        found.entry(format!("{heir}{name}")).or_insert_with(|| text.clone());
    }
    found.retain(|name, _| !name.starts_with('_'));
    found
}

/// The identifier that a definition begins with.
fn name_of(definition: &str) -> String {
    definition.chars().take_while(|letter| letter.is_alphanumeric() || *letter == '_').collect()
}

//! The shape of the code: modules of the facade import one way, crates have the edges that they may have, files are not too long.
//! `docs/architecture.md` shows the same floors, word by word.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// The modules of the facade from the ground up: each imports only those of floors below its own, and none beside it.
const FLOORS: &[(&str, &[&str])] = &[
    ("what hosts bring along", &["conditions", "functions", "host", "host_values", "registered"]),
    (
        "what data and statements are",
        &["chunk", "columns", "command", "profile", "text", "triggers", "types"],
    ),
    ("the machine, and what is read", &["reads", "resources", "table_rows"]),
    ("what is set, what a text says", &["settings", "statements", "tables"]),
    ("answers", &["result"]),
    ("a database, rows to come", &["database", "render", "rest"]),
    ("its transactions, rows to arrays", &["delivery", "transactions"]),
    ("a session", &["session"]),
    ("what there is", &["system"]),
    ("one statement carried out", &["execute", "sql"]),
    ("a family of statements each, who may", &["change", "maintain", "procedure", "remote", "rights"]),
    ("those that change rows on the way", &["define", "kept"]),
    ("what a program holds", &["connection"]),
    ("queries inside of functions", &["calling"]),
];

/// Crates and those that they may use, as `docs/architecture.md` says.
const CRATES: &[(&str, &[&str])] = &[
    ("crates/inlay-types", &[]),
    ("crates/inlay-kernels", &["inlay-types"]),
    ("crates/inlay-functions", &["inlay-types", "inlay-kernels"]),
    ("crates/inlay-rowsets", &["inlay-types"]),
    ("crates/inlay-storage", &["inlay-types", "inlay-rowsets"]),
    ("crates/inlay-catalog", &["inlay-types", "inlay-storage"]),
    (
        "crates/inlay-sql",
        &["inlay-types", "inlay-kernels", "inlay-functions", "inlay-storage", "inlay-catalog"],
    ),
    (
        "crates/inlay-exec",
        &["inlay-types", "inlay-kernels", "inlay-rowsets", "inlay-storage", "inlay-catalog", "inlay-sql"],
    ),
    ("crates/inlay-spark", &["inlay-types", "inlay-kernels", "inlay-catalog", "inlay-sql"]),
    (
        "crates/inlay-formats",
        &["inlay-types", "inlay-kernels", "inlay-functions", "inlay-storage", "inlay-catalog"],
    ),
    (
        "crates/inlay",
        &[
            "inlay-types",
            "inlay-kernels",
            "inlay-functions",
            "inlay-storage",
            "inlay-catalog",
            "inlay-sql",
            "inlay-exec",
            "inlay-spark",
            "inlay-formats",
            "inlay-protocol",
        ],
    ),
    ("crates/inlay-protocol", &["inlay-types"]),
    ("crates/inlay-sqlite-files", &["inlay"]),
    ("server", &["inlay", "inlay-protocol"]),
    ("cli", &["inlay", "inlay-server", "inlay-sqlite-files"]),
    ("bindings/adbc", &["inlay"]),
    ("bindings/c", &["inlay", "inlay-adbc"]),
    ("bindings/python", &["inlay", "inlay-adbc", "inlay-cli", "inlay-sqlite-files"]),
    ("bindings/sqlite", &["inlay"]),
];

/// Lines that a file has at most, and those that have more, with the reason.
const LINES_MAX: usize = 900;
const LONG_FILES: &[(&str, &str)] = &[];

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Rust files below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// The text of a file without its tests and comments.
fn code(path: &Path) -> String {
    let text = std::fs::read_to_string(path).unwrap();
    let code = text.split("#[cfg(test)]").next().unwrap_or("");
    let lines = code.lines().map(|line| line.split("//").next().unwrap_or(""));
    lines.collect::<Vec<_>>().join("\n")
}

/// The modules of the facade that a text names by `crate::`.
fn imports(code: &str) -> BTreeSet<String> {
    let named = code.match_indices("crate::").filter(|(at, _)| !code[..*at].ends_with('$'));
    let word = |(at, found): (usize, &str)| {
        let rest = &code[at + found.len()..];
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        rest[..end].to_string()
    };
    named.map(word).collect()
}

/// What each module of the facade imports, and where.
fn graph() -> BTreeMap<String, BTreeMap<String, String>> {
    let source = root().join("crates/inlay/src");
    let mut graph: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
    for path in files(&source) {
        let inside = path.strip_prefix(&source).unwrap().to_string_lossy().replace('\\', "/");
        let module = inside.split('/').next().unwrap_or("").trim_end_matches(".rs").to_string();
        if module == "lib" || inside.ends_with("tests.rs") {
            continue;
        }
        let found = graph.entry(module.clone()).or_default();
        for import in imports(&code(&path)).into_iter().filter(|import| *import != module) {
            found.entry(import).or_insert_with(|| inside.clone());
        }
    }
    graph
}

#[test]
fn modules_of_the_facade_import_one_way() {
    let floor = |module: &str| FLOORS.iter().position(|(_, modules)| modules.contains(&module));
    let graph = graph();
    let mut wrong = String::new();
    for (module, imports) in &graph {
        let Some(own) = floor(module) else {
            let _ = writeln!(wrong, "{module} has no floor: name it in FLOORS, and in docs/architecture.md");
            continue;
        };
        for (import, place) in imports {
            match floor(import) {
                Some(other) if other < own => {}
                Some(_) => {
                    let _ = writeln!(wrong, "{place}: {module} imports {import}, which is no floor below");
                }
                None => {
                    let _ = writeln!(wrong, "{place}: crate::{import} is no module; name the one it is from");
                }
            }
        }
    }
    let all = FLOORS.iter().flat_map(|(_, modules)| *modules);
    for module in all.filter(|module| !graph.contains_key(**module)) {
        let _ = writeln!(wrong, "there is no module {module}");
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

#[test]
fn the_picture_of_the_modules_is_in_the_documents() {
    let mut picture = String::new();
    for (what, modules) in FLOORS.iter().rev() {
        let line = format!("{:<58}{what}", modules.join(", "));
        let _ = writeln!(picture, "{}", line.trim_end());
    }
    let page = std::fs::read_to_string(root().join("docs/architecture.md")).unwrap();
    assert!(page.contains(&picture), "docs/architecture.md has another picture than this:\n{picture}");
}

#[test]
fn crates_use_those_that_they_may() {
    let mut wrong = String::new();
    for (folder, allowed) in CRATES {
        let text = std::fs::read_to_string(root().join(folder).join("Cargo.toml")).unwrap();
        let mut section = "";
        for line in text.lines() {
            if line.starts_with('[') {
                section = line;
            }
            let name = line.split(['.', ' ', '=']).next().unwrap_or("");
            let is_ours = name == "inlay" || name.starts_with("inlay-");
            if section == "[dependencies]" && is_ours && !allowed.contains(&name) {
                let _ = writeln!(wrong, "{folder} uses {name}");
            }
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

#[test]
fn files_have_one_subject() {
    let mut wrong = String::new();
    for (folder, _) in CRATES {
        for path in files(&root().join(folder).join("src")) {
            let lines = std::fs::read_to_string(&path).unwrap().lines().count();
            let name = path.strip_prefix(root()).unwrap().to_string_lossy().replace('\\', "/");
            let is_known = LONG_FILES.iter().any(|(known, _)| *known == name);
            if lines > LINES_MAX && !is_known {
                let _ = writeln!(
                    wrong,
                    "{name} has {lines} lines, more than {LINES_MAX}: look for a second subject"
                );
            }
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

/// `make test` names the test programs, since those that measure the process run beside other work.
#[test]
fn every_test_program_is_run_by_make_test() {
    let makefile = std::fs::read_to_string(root().join("Makefile")).unwrap();
    let named: BTreeSet<&str> = makefile
        .lines()
        .filter(|line| line.contains("cargo test") && line.contains("--quiet --test "))
        .flat_map(|line| line.split("--test ").skip(1))
        .filter_map(|rest| rest.split_whitespace().next())
        .collect();
    let packages = CRATES.iter().map(|(folder, _)| root().join(folder).join("tests"));
    for folder in packages.filter(|folder| folder.is_dir()) {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let is_program =
                path.extension().is_some_and(|extension| extension == "rs") || path.join("main.rs").is_file();
            let name = path.file_stem().and_then(|stem| stem.to_str()).unwrap();
            assert!(!is_program || named.contains(name), "{} is in no line of the Makefile", path.display());
        }
    }
}

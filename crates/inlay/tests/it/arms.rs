//! What is counted in the sources, so that it does not grow unseen.

use std::path::{Path, PathBuf};

/// Most match arms `_ =>` per crate. A new variant falls into such an arm without a word: where it may really be anything that is
/// right, elsewhere each variant is written down. Who needs one more says so here; who takes some out lowers the number.
const WILDCARDS_MAX: &[(&str, usize)] = &[
    ("inlay", 94),
    ("inlay-catalog", 7),
    ("inlay-exec", 107),
    ("inlay-formats", 111),
    ("inlay-functions", 165),
    ("inlay-kernels", 129),
    ("inlay-protocol", 12),
    ("inlay-rowsets", 0),
    ("inlay-spark", 28),
    ("inlay-sql", 389),
    ("inlay-sqlite-files", 7),
    ("inlay-storage", 106),
    ("inlay-types", 77),
];

#[test]
fn wildcard_arms_do_not_grow() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    for (name, most) in WILDCARDS_MAX {
        let found: usize = sources(&crates.join(name).join("src")).iter().map(|path| wildcards(path)).sum();
        assert!(
            found <= *most,
            "{name} has {found} arms `_ =>`, and no more than {most} are meant: write the variants down"
        );
    }
}

/// Rust files below a folder that are no tests.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let is_test = path.file_stem().is_some_and(|stem| stem == "tests");
        if is_test {
            continue;
        }
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found
}

fn wildcards(path: &Path) -> usize {
    let text = std::fs::read_to_string(path).unwrap();
    let code = text.split("\n#[cfg(test)]\nmod tests {").next().unwrap_or(&text);
    code.lines().filter(|line| line.trim_start().starts_with("_ =>")).count()
}

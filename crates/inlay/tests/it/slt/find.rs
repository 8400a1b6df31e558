//! The files of the tests: all of a folder, or those that somebody names, and the settings that belong to them.

use std::path::{Path, PathBuf};

/// Folders of test files, from the root of the repository, each with the settings that its files are written for.
const CORPUS: (&str, &[&str]) = ("tests/slt", &["SET integer_division = true"]);
const FEATURES: (&str, &[&str]) = ("tests/sql", &[]);

/// SQLite's corpus.
pub fn corpus() -> Vec<PathBuf> {
    files_at(&repository().join(CORPUS.0))
}

/// Our own files.
pub fn features() -> Vec<PathBuf> {
    files_at(&repository().join(FEATURES.0))
}

/// The settings of a file. One that is ours in no way has those that `INLAY_SLT_SETTINGS` names.
pub fn settings_of(path: &Path) -> &'static [&'static str] {
    let is_below = |folder: &str| {
        let folder = repository().join(folder).canonicalize();
        folder.and_then(|folder| Ok(path.canonicalize()?.starts_with(folder))).unwrap_or(false)
    };
    for (folder, settings) in [CORPUS, FEATURES] {
        if is_below(folder) {
            return settings;
        }
    }
    match std::env::var("INLAY_SLT_SETTINGS").as_deref() {
        Ok("corpus") => CORPUS.1,
        Ok("") | Err(_) => &[],
        Ok(other) => panic!("INLAY_SLT_SETTINGS={other} is not known: corpus, or nothing"),
    }
}

/// The path as reports show it: from the root of the repository, if it is below.
pub fn shown(path: &Path) -> String {
    path.strip_prefix(repository()).unwrap_or(path).to_string_lossy().into_owned()
}

/// The files that a text means: a path of a file or folder, or else a part of the path of a file in the repository. Parts that
/// are whole names, without the extension if need be, count before others.
pub fn matching(wanted: &str) -> Result<Vec<PathBuf>, String> {
    // Cargo starts tests in the folder of their package, and the shell tells where it was started itself.
    let started = std::env::var_os("PWD").map(PathBuf::from);
    let places = [Some(repository()), started, std::env::current_dir().ok()];
    for place in places.into_iter().flatten() {
        let files = files_at(&place.join(wanted));
        if !files.is_empty() {
            return Ok(files);
        }
    }
    let part = wanted.trim_start_matches("./").trim_matches('/');
    let all = [features(), corpus()].concat();
    let names: Vec<Name> = all.iter().map(|path| Name::of(path)).collect();
    for fits in [Name::ends_with, Name::has_names, Name::contains] {
        let files: Vec<PathBuf> = all
            .iter()
            .zip(&names)
            .filter(|(_, name)| fits(name, part))
            .map(|(path, _)| path.clone())
            .collect();
        if !files.is_empty() && !part.is_empty() {
            return Ok(files);
        }
    }
    Err(format!(
        "\"{wanted}\" is no test file or folder of them, from {} or where cargo was started, and no part of the path of one below \
         {} or {}{}",
        repository().display(),
        FEATURES.0,
        CORPUS.0,
        hint(part, &names)
    ))
}

/// How a file is called: its path from the root of the repository, with and without the extension.
struct Name {
    whole: String,
    stem: String,
}

impl Name {
    fn of(path: &Path) -> Self {
        let whole = shown(path);
        let stem = shown(&path.with_extension(""));
        Self { whole, stem }
    }

    fn ends_with(&self, part: &str) -> bool {
        let ends = |name: &str| format!("/{name}").ends_with(&format!("/{part}"));
        ends(&self.whole) || ends(&self.stem)
    }

    fn has_names(&self, part: &str) -> bool {
        format!("/{}/", self.stem).contains(&format!("/{part}/"))
    }

    fn contains(&self, part: &str) -> bool {
        self.whole.contains(part)
    }

    /// The last so many names of the path, with the extension or without.
    fn end(&self, count: usize, has_extension: bool) -> &str {
        let name = if has_extension { &self.whole } else { &self.stem };
        let start = name.rmatch_indices('/').nth(count - 1).map_or(0, |(at, _)| at + 1);
        &name[start..]
    }
}

/// Names near to one that was not found: as many folders and the file, or else the file alone.
fn hint(part: &str, names: &[Name]) -> String {
    let file = part.rsplit('/').next().unwrap_or(part);
    for (part, count) in [(part, part.split('/').count()), (file, 1)] {
        let near = inlay::near_names(part, names.iter().map(|name| name.end(count, file.contains('.'))));
        if !near.is_empty() {
            return format!("; near names: {}", near.join(", "));
        }
    }
    String::new()
}

fn repository() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.ancestors().nth(2).expect("the package is in crates/inlay").to_path_buf()
}

/// The file itself, or the test files below a folder, the largest first.
fn files_at(path: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    if path.is_file() {
        files.push(path.to_path_buf());
    } else if path.is_dir() {
        collect(path, &mut files);
    }
    files.sort_by_key(|path| std::cmp::Reverse(std::fs::metadata(path).map_or(0, |m| m.len())));
    files
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|e| e == "test" || e == "slt") {
            files.push(path);
        }
    }
}

#[test]
fn files_are_found_by_paths_and_parts_of_them() {
    let found = |wanted: &str| -> Vec<String> {
        let mut files: Vec<String> = matching(wanted).unwrap().iter().map(|path| shown(path)).collect();
        files.sort();
        files
    };
    let leaders = repository().join("tests/sql/window/leaders.slt");
    for wanted in [
        "tests/sql/window/leaders.slt",
        "./tests/sql/window/leaders.slt",
        leaders.to_str().unwrap(),
        "window/leaders.slt",
        "window/leaders",
        "sql/window/leaders",
        "leaders.slt",
        "dow/lead",
    ] {
        assert_eq!(found(wanted), ["tests/sql/window/leaders.slt"], "{wanted}");
    }
    // A whole name is found before those that it is a part of.
    assert_eq!(found("json"), ["tests/sql/files/json.slt", "tests/sql/functions/json.slt"]);
    assert_eq!(found("tests/sql/window").len(), found("window").len());
    assert!(found("window").iter().all(|name| name.starts_with("tests/sql/window/")));
    assert_eq!(found("tests/sql").len(), features().len());
    assert_eq!(found("slt_good_1"), ["tests/slt/index/random/1000/slt_good_1.test"]);
}

#[test]
fn what_is_not_found_is_named_with_near_names() {
    for (wanted, near) in [
        ("window/leadres.slt", "near names: \"window/leaders.slt\""),
        ("window/leadres", "near names: \"window/leaders\""),
        ("widnow/leaders", "near names: \"window/leaders\""),
        ("somewhere/else/leadres", "near names: \"leaders\""),
        ("tests/sql/window/leadres.slt", "near names: \"tests/sql/window/leaders.slt\""),
    ] {
        let error = matching(wanted).unwrap_err();
        assert!(error.contains(&format!("\"{wanted}\"")) && error.contains(near), "{error}");
    }
    // A folder without test files, and what is like no name.
    for wanted in ["crates/inlay/src", "a name that no file has"] {
        assert!(matching(wanted).is_err(), "{wanted}");
    }
}

#[test]
fn files_have_the_settings_of_their_folder() {
    let settings = |path: &str| settings_of(&repository().join(path));
    assert_eq!(settings("tests/slt/select2.test"), CORPUS.1);
    assert_eq!(settings("tests/sql/window/leaders.slt"), FEATURES.1);
    assert_eq!(settings("tests/sql/../slt/select2.test"), CORPUS.1);
}

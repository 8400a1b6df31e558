//! Which files a path argument means: a path, a list of paths, a pattern with `*`, `?`, `[a-z]` and `**`, or a folder, which
//! means the files of the reader's kind in it and below.

use crate::files::Files;
use crate::option_text;
use inlay_catalog::access::Door;
use inlay_types::{Error, Result, Value};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The files named by the arguments of a reader, patterns expanded and sorted; at least one, all of them in reach.
pub(crate) fn expand(function: &str, args: &[Value], access: &Arc<Files>) -> Result<Vec<String>> {
    let paths = found(function, args, access, Missing::Nothing)?;
    if paths.is_empty() {
        return Err(Error::invalid_argument(format!("{function} needs the path of a file")));
    }
    Ok(paths)
}

/// As [`expand`]; that nothing matches a pattern is an answer, too.
pub(crate) fn expand_or_none(function: &str, args: &[Value], access: &Arc<Files>) -> Result<Vec<String>> {
    found(function, args, access, Missing::Patterns)
}

/// As [`expand`]; that nothing matches is an answer, too, and so is a path that nothing is at.
pub(crate) fn matching(function: &str, args: &[Value], access: &Arc<Files>) -> Result<Vec<String>> {
    found(function, args, access, Missing::Anything)
}

/// What may name no file at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Missing {
    Nothing,
    Patterns,
    Anything,
}

fn found(function: &str, args: &[Value], access: &Arc<Files>, missing: Missing) -> Result<Vec<String>> {
    let mut paths = Vec::new();
    let args = args.iter().flat_map(|arg| match arg {
        Value::List { values, .. } => values.as_slice(),
        one => std::slice::from_ref(one),
    });
    for arg in args {
        let Some(text) = arg.as_str() else {
            return Err(Error::invalid_argument(format!("{function} takes paths, not {arg}")));
        };
        if access.is_elsewhere(text) {
            expand_url(text, &mut paths, access, missing)?;
            continue;
        }
        let looks_listed = text.trim_start().starts_with('[') && text.trim_end().ends_with(']');
        // Of a path out of reach it is not said whether something is there.
        let items = if looks_listed && !access.exists(text).unwrap_or(false) {
            option_text::list(text)
        } else {
            vec![text.to_string()]
        };
        for item in items {
            if access.is_elsewhere(&item) {
                expand_url(&item, &mut paths, access, missing)?;
            } else {
                expand_one(function, &item, &mut paths, access, missing)?;
            }
        }
    }
    Ok(paths)
}

/// The objects of a bucket, or the host's files, that a pattern matches; or a web address, in which `?` has another meaning.
fn expand_url(url: &str, paths: &mut Vec<String>, access: &Arc<Files>, missing: Missing) -> Result<()> {
    access.ask(Door::Read(url))?;
    if !access.is_bucket(url) || !is_pattern(url) {
        if missing != Missing::Anything || access.about(url).is_ok() {
            paths.push(url.to_string());
        }
        return Ok(());
    }
    let found = access.list(url, usize::MAX)?;
    if found.is_empty() && missing == Missing::Nothing {
        let error = std::io::Error::new(std::io::ErrorKind::NotFound, "no file matches the pattern");
        return Err(Error::io("cannot open", url, &error));
    }
    for path in &found {
        access.ask(Door::Read(path))?;
    }
    paths.extend(found);
    Ok(())
}

/// How the files of a reader's kind end, of which a folder may be full; none for readers of whatever there is.
fn endings(function: &str) -> &'static [&'static str] {
    let readers: [(&str, &[&str]); 4] = [
        ("csv", &["csv", "tsv"]),
        ("json", &["json", "jsonl", "ndjson"]),
        ("parquet", &["parquet"]),
        ("arrow", &["arrow", "arrows", "feather", "ipc"]),
    ];
    let own = readers.iter().find(|(kind, _)| function.contains(kind));
    own.map_or(&[], |(_, endings)| *endings)
}

fn is_pattern(text: &str) -> bool {
    text.contains(['*', '?', '['])
}

/// The files on disk that a pattern matches; nothing is looked at, and no folder listed, that is out of reach.
fn expand_one(
    function: &str,
    path: &str,
    paths: &mut Vec<String>,
    access: &Files,
    missing: Missing,
) -> Result<()> {
    let endings = endings(function);
    if !endings.is_empty() && access.is_folder(path).unwrap_or(false) {
        let before = paths.len();
        let folder = path.trim_end_matches('/');
        for ending in endings {
            for packed in ["", ".gz", ".zst"] {
                let mut found = Vec::new();
                let name = format!("*.{ending}{packed}");
                let segments = ["**", name.as_str()];
                walk(
                    Path::new(if folder.is_empty() { "/" } else { folder }),
                    &segments,
                    &mut found,
                    access,
                    0,
                )?;
                paths.extend(found);
            }
        }
        paths[before..].sort();
        if paths.len() == before && missing == Missing::Nothing {
            let message = format!("no file in this folder ends in .{}", endings.join(" or ."));
            let error = std::io::Error::new(std::io::ErrorKind::NotFound, message);
            return Err(Error::io("cannot read", path, &error));
        }
        return Ok(());
    }
    // A name may look like a pattern.
    if !is_pattern(path) || access.exists(path).unwrap_or(false) {
        access.ask(Door::Read(path))?;
        if missing != Missing::Anything || access.exists(path)? {
            paths.push(path.to_string());
        }
        return Ok(());
    }
    let absolute = path.starts_with('/');
    let segments: Vec<&str> = path.split('/').filter(|s| !s.is_empty()).collect();
    let mut found = Vec::new();
    let start = if absolute { PathBuf::from("/") } else { PathBuf::new() };
    walk(&start, &segments, &mut found, access, 0)?;
    if found.is_empty() && missing == Missing::Nothing {
        let error = std::io::Error::new(std::io::ErrorKind::NotFound, "no file matches the pattern");
        return Err(Error::io("cannot open", path, &error));
    }
    found.sort();
    found.dedup();
    paths.extend(found);
    Ok(())
}

/// Deepest folder that `**` enters; guards against loops of links.
const DEPTH_MAX: usize = 64;

fn walk(
    folder: &Path,
    segments: &[&str],
    found: &mut Vec<String>,
    access: &Files,
    depth: usize,
) -> Result<()> {
    let Some((segment, rest)) = segments.split_first() else { return Ok(()) };
    if *segment == "**" {
        walk(folder, rest, found, access, depth)?;
        for child in children(folder, access)? {
            if depth < DEPTH_MAX && access.is_folder(&text_of(&child))? {
                walk(&child, segments, found, access, depth + 1)?;
            }
        }
        return Ok(());
    }
    let matching: Vec<PathBuf> = if is_pattern(segment) {
        let fits = |child: &PathBuf| {
            child
                .file_name()
                .and_then(|n| n.to_str())
                .is_some_and(|name| matches(segment.as_bytes(), name.as_bytes()))
        };
        children(folder, access)?.into_iter().filter(fits).collect()
    } else {
        vec![folder.join(segment)]
    };
    for child in matching {
        if !rest.is_empty() {
            walk(&child, rest, found, access, depth)?;
            continue;
        }
        let path = text_of(&child);
        if access.is_file(&path)? {
            found.push(path);
        }
    }
    Ok(())
}

fn text_of(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// What is in a folder; nothing in what is none.
fn children(folder: &Path, access: &Files) -> Result<Vec<PathBuf>> {
    let folder_or_here = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let names = access.names(&text_of(folder_or_here))?;
    Ok(names.into_iter().map(|name| folder.join(name)).collect())
}

/// Whether a name fits a pattern without `/`. Names that begin with a dot fit only patterns that do.
fn matches(pattern: &[u8], name: &[u8]) -> bool {
    if name.first() == Some(&b'.') && pattern.first() != Some(&b'.') {
        return false;
    }
    fits(pattern, name)
}

/// Whether a path fits a pattern; `**` stands for any number of folders.
pub(crate) fn fits_path(pattern: &str, path: &str) -> bool {
    let pattern: Vec<&str> = pattern.split('/').collect();
    let path: Vec<&str> = path.split('/').collect();
    // Which beginnings of the path fit the pattern so far.
    let mut fitting = vec![false; path.len() + 1];
    fitting[0] = true;
    for (index, part) in pattern.iter().enumerate() {
        let mut next = vec![false; path.len() + 1];
        for at in 0..=path.len() {
            if *part == "**" {
                // At the end it stands for the file, too.
                let is_last = index + 1 == pattern.len();
                next[at] = (fitting[at] && !is_last) || (at > 0 && (next[at - 1] || fitting[at - 1]));
            } else {
                next[at] = at > 0 && fitting[at - 1] && fits(part.as_bytes(), path[at - 1].as_bytes());
            }
        }
        fitting = next;
    }
    fitting[path.len()]
}

/// Walks both, going back to the last star when stuck, so that time is at most the product of the lengths.
fn fits(pattern: &[u8], name: &[u8]) -> bool {
    let (mut p, mut n) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        if pattern.get(p) == Some(&b'*') {
            star = Some((p, n));
            p += 1;
        } else if let Some(next) = one(pattern, p, name[n]) {
            (p, n) = (next, n + 1);
        } else if let Some((at, from)) = star {
            (p, n) = (at + 1, from + 1);
            star = Some((at, from + 1));
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|&c| c == b'*')
}

/// The position behind the pattern's item at `p` if it accepts `byte`.
fn one(pattern: &[u8], p: usize, byte: u8) -> Option<usize> {
    match *pattern.get(p)? {
        b'?' => Some(p + 1),
        b'[' => {
            let close = pattern[p + 1..].iter().position(|&c| c == b']')? + p + 1;
            let (negated, mut set) = match &pattern[p + 1..close] {
                [b'!' | b'^', rest @ ..] => (true, rest),
                set => (false, set),
            };
            let mut hit = false;
            while let [low, rest @ ..] = set {
                if let [b'-', high, after @ ..] = rest {
                    hit |= (*low..=*high).contains(&byte);
                    set = after;
                } else {
                    hit |= *low == byte;
                    set = rest;
                }
            }
            (hit != negated).then_some(close + 1)
        }
        c => (c == byte).then_some(p + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_fit_paths() {
        for (pattern, path, expected) in [
            ("a/*.csv", "a/b.csv", true),
            ("a/*.csv", "a/b/c.csv", false),
            ("a/**/*.csv", "a/c.csv", true),
            ("a/**/*.csv", "a/b/c/d.csv", true),
            ("a/**", "a/b/c.csv", true),
            ("a/**", "a", false),
            ("**/y=1/*", "x=1/y=1/f", true),
            ("**/y=1/*", "y=2/f", false),
            ("a.csv", "a.csv", true),
        ] {
            assert_eq!(fits_path(pattern, path), expected, "{pattern} {path}");
        }
    }

    #[test]
    fn patterns_fit_names() {
        let fits = |pattern: &str, name: &str| matches(pattern.as_bytes(), name.as_bytes());
        assert!(fits("*.csv", "a.csv") && fits("a?[0-9].csv", "ab7.csv") && fits("*a*b*", "xxaxxbxx"));
        assert!(!fits("*.csv", "a.csvx") && !fits("[!a]b", "ab") && !fits("*", ".hidden") && !fits("[", "x"));
    }
}

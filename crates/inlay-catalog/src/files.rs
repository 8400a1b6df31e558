//! Which files SQL may touch: all of them, or only those in directories that the host names.
//!
//! A host that runs SQL of strangers switches files off (`enable_external_access`). Readers, COPY, ATTACH, EXPORT and
//! the like ask [`FileAccess::check`] before they open a path; the database's own files and its spilled rows do not.
//! Switching files on again takes a new database.

use inlay_types::{Error, Result};
use parking_lot::RwLock;
use std::path::{Component, Path, PathBuf};

/// What a database lets its statements read and write.
#[derive(Debug, Default)]
pub struct FileAccess {
    rules: RwLock<Rules>,
}

#[derive(Debug, Default)]
struct Rules {
    is_restricted: bool,
    directories: Vec<PathBuf>,
    files: Vec<PathBuf>,
}

impl FileAccess {
    /// Whether every file may be touched.
    pub fn is_unrestricted(&self) -> bool {
        !self.rules.read().is_restricted
    }

    /// From now on only the allowed files may be touched.
    pub fn restrict(&self) {
        self.rules.write().is_restricted = true;
    }

    /// Directories whose files, at any depth, may be touched though access is restricted.
    pub fn directories(&self) -> Vec<String> {
        self.rules.read().directories.iter().map(|path| path.display().to_string()).collect()
    }

    /// Files that may be touched though access is restricted.
    pub fn files(&self) -> Vec<String> {
        self.rules.read().files.iter().map(|path| path.display().to_string()).collect()
    }

    /// Replaces the allowed directories.
    pub fn allow_directories(&self, paths: &[String]) {
        self.rules.write().directories = paths.iter().map(|path| resolved(Path::new(path))).collect();
    }

    /// Replaces the allowed files.
    pub fn allow_files(&self, paths: &[String]) {
        self.rules.write().files = paths.iter().map(|path| resolved(Path::new(path))).collect();
    }

    /// An error unless `path` may be touched.
    pub fn check(&self, path: &str) -> Result<()> {
        let rules = self.rules.read();
        if !rules.is_restricted {
            return Ok(());
        }
        let asked = resolved(Path::new(path));
        let is_allowed = rules.files.contains(&asked)
            || rules.directories.iter().any(|directory| asked.starts_with(directory));
        if is_allowed { Ok(()) } else { Err(Error::FileAccess { path: path.to_string() }) }
    }
}

/// A URL as it is compared: scheme and host in lower case. One whose way goes back (`..`) or is spelled so that a server may
/// take it for such is like no other.
fn resolved_url(url: &str) -> Option<PathBuf> {
    let (scheme, rest) = url.split_once("://")?;
    if scheme.len() < 2 || !scheme.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return None;
    }
    let plain = rest.to_ascii_lowercase().replace("%2e", ".");
    let goes_back = plain.split(['/', '?']).any(|part| matches!(part, "." | ".."));
    if goes_back || ["\\", "%5c", "%2f"].iter().any(|odd| plain.contains(odd)) {
        return Some(PathBuf::new());
    }
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let (scheme, host) = (scheme.to_ascii_lowercase(), host.to_ascii_lowercase());
    Some(PathBuf::from(format!("{scheme}://{host}/{path}")))
}

/// The path without links, `.` and `..`, as far as it exists: a link in an allowed directory leads nowhere else.
fn resolved(path: &Path) -> PathBuf {
    if let Some(url) = path.to_str().and_then(resolved_url) {
        return url;
    }
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    let mut known = PathBuf::new();
    for component in absolute.components() {
        match component {
            Component::ParentDir => {
                known.pop();
            }
            Component::CurDir => {}
            other => known.push(other),
        }
        if let Ok(real) = known.canonicalize() {
            known = real;
        }
    }
    known
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_allowed_files_are_in_reach() {
        let access = FileAccess::default();
        access.check("/anything").unwrap();
        access.allow_directories(&["/data/in".to_string()]);
        access.allow_files(&["/data/one.csv".to_string()]);
        access.restrict();
        access.check("/data/in/deep/x.csv").unwrap();
        access.check("/data/one.csv").unwrap();
        for path in
            ["/data/in/../two.csv", "/data/inside/x.csv", "/data", "x.csv", "/data/one.csv/x/../../two"]
        {
            let error = access.check(path).unwrap_err();
            assert_eq!(error.sqlstate(), "42501", "{path}");
        }
    }

    #[test]
    fn urls_are_in_reach_below_those_that_are_allowed() {
        let access = FileAccess::default();
        access.allow_directories(&["https://Data.org/in/".to_string(), "s3://bucket".to_string()]);
        access.restrict();
        for url in ["https://data.org/in/x.csv?a=b", "HTTPS://DATA.org/in/deep/x", "s3://bucket/a/*.csv"] {
            access.check(url).unwrap();
        }
        for url in [
            "https://data.org/other",
            "http://data.org/in/x",
            "https://data.org.evil/in/x",
            "https://data.org@evil/in/x",
            "https://data.org/in/../x",
            "https://data.org/in/%2e%2E/x",
            "https://data.org/in/..%2fx",
            "https://data.org/in\\..\\x",
            "s3://bucket2/a",
        ] {
            assert!(access.check(url).is_err(), "{url}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn links_lead_nowhere_else() {
        let place = std::env::temp_dir().join(format!("inlay-access-{}", std::process::id()));
        std::fs::create_dir_all(&place).unwrap();
        let link = place.join("link");
        let _ = std::fs::remove_file(&link);
        std::os::unix::fs::symlink("/etc", &link).unwrap();
        let access = FileAccess::default();
        access.allow_directories(&[place.display().to_string()]);
        access.restrict();
        access.check(&place.join("new.csv").display().to_string()).unwrap();
        assert!(access.check(&link.join("passwd").display().to_string()).is_err());
        std::fs::remove_dir_all(&place).unwrap();
    }
}

//! Doors: all by which statements get out of their database, and the one place that decides who may pass.
//!
//! A host that runs SQL of strangers shuts doors: `enable_external_access = false` (but for `allowed_directories` and
//! `allowed_paths`), `allow_network = false`, `allow_python`, `lock_configuration = true`, or all at once by `sandbox`. What is
//! about to pass one says which by [`Access::ask`]; nobody else knows the rules.
//!
//! ```text
//! readers, COPY, globs, folders  -> formats::Files --+
//! ATTACH, recover, verify        -> GuardedDisk -----+-> Access::way  -> Way: a file or folder, held
//! EXPORT, IMPORT, AS 'file.py'   -> formats::Files --+        |
//! URLs and redirects             -> formats::Files ---------> Access::ask
//! Python variables, stored code, settings, secrets ---------> Access::ask
//! ```
//! Not asked are the database's own file and log, which the host opened, its spilled rows, which lie where the host or an
//! allowed SET says, and what the host hands over itself: registered tables, functions and file systems (their paths are asked).
//!
//! Invariants
//! - A restricted statement reaches a path only through a [`Way`], which holds the folder: what is done is done to what was
//!   decided about, whatever becomes of the names meanwhile.
//! - Whether something is there is said only of what may be reached: asking comes before looking.
//! - Doors shut; none opens again before the database is opened anew.

#[cfg(unix)]
mod beneath;
mod guarded_disk;
mod place;
mod way;

pub use guarded_disk::GuardedDisk;
pub use way::{How, Way};

use inlay_types::{Error, Result};
use parking_lot::RwLock;
use place::place_of;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// What a statement wants from outside of its database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Door<'a> {
    /// To read the file at a path or URL, or to know of it.
    Read(&'a str),
    /// To make, change or remove the file at a path or URL.
    Write(&'a str),
    /// To know the names in a folder.
    List(&'a str),
    /// To make a folder.
    MakeFolder(&'a str),
    /// To use the database in a file, with the code that may be in it.
    Attach(&'a str),
    /// To ask the server of a URL, which is given as it may be shown.
    Network(&'a str),
    /// To see variables of the program.
    HostVariables,
    /// To run a function whose code is in the database.
    StoredCode(&'a str),
    /// To make such a function.
    NewCode(&'a str),
    /// To make or drop a secret; `uses_host` if it takes credentials of the host, or sends some to a place of its own.
    Secret {
        /// Its name.
        name: &'a str,
        /// Whether it reaches beyond what it says.
        uses_host: bool,
    },
    /// To change a setting.
    Setting(&'a str),
}

/// What a database lets its statements do.
#[derive(Debug, Default)]
pub struct Access {
    rules: RwLock<Rules>,
    network_off: AtomicBool,
    python_on: AtomicBool,
    is_locked: AtomicBool,
    is_sandbox: AtomicBool,
}

#[derive(Debug, Default)]
struct Rules {
    is_restricted: bool,
    directories: Vec<PathBuf>,
    files: Vec<PathBuf>,
}

impl Rules {
    fn allows(&self, place: &Path) -> bool {
        self.files.iter().any(|file| file == place)
            || self.directories.iter().any(|directory| place.starts_with(directory))
    }
}

/// Settings that say what else may be reached, or where requests go: they are fixed once access is restricted.
const OF_DOORS: [&str; 12] = [
    "allowed_directories",
    "allowed_paths",
    "ca_cert_file",
    "enable_server_cert_verification",
    "http_proxy",
    "http_proxy_password",
    "http_proxy_username",
    "python_enable_replacements",
    "python_scan_all_frames",
    "s3_endpoint",
    "s3_url_style",
    "s3_use_ssl",
];

impl Access {
    /// An error unless the statement may pass.
    pub fn ask(&self, door: Door<'_>) -> Result<()> {
        let forbidden = |message: String| Err(Error::Forbidden { message });
        match door {
            Door::Read(path) | Door::Write(path) | Door::List(path) | Door::MakeFolder(path) => {
                self.reached(path).map(|_| ())
            }
            Door::Attach(path) => {
                let is_restricted = self.reached(path)?.is_some();
                if is_restricted && self.allows_python() {
                    return forbidden(format!(
                        "\"{path}\" cannot be attached: enable_external_access is off, and allow_python would let code in it run"
                    ));
                }
                Ok(())
            }
            Door::Network(url) if !self.allows_network() => Err(Error::Io {
                action: "cannot open",
                path: url.to_string(),
                message: "allow_network is off for this database".to_string(),
            }),
            Door::HostVariables if !self.is_unrestricted() => forbidden(
                "variables of the program are out of reach: enable_external_access is off".to_string(),
            ),
            Door::StoredCode(name) if !self.allows_python() => forbidden(format!(
                "function \"{name}\" is code in the database that may not run; SET allow_python = true lets it (allow_r is the same)"
            )),
            Door::NewCode(name) if !self.is_unrestricted() && self.allows_python() => forbidden(format!(
                "function \"{name}\" cannot be created: enable_external_access is off, and allow_python would let its code do \
                 everything"
            )),
            Door::Secret { name, .. } if self.is_locked() => Err(Error::invalid_argument(format!(
                "secret \"{name}\" cannot be changed: lock_configuration fixed the settings"
            ))),
            Door::Secret { name, uses_host: true } if !self.is_unrestricted() => forbidden(format!(
                "secret \"{name}\" cannot be created: enable_external_access is off, so that secrets take no credentials of \
                 the host (PROVIDER credential_chain) and name no ENDPOINT; the host may create it before"
            )),
            Door::Setting(name) => self.may_set(name),
            Door::Network(_)
            | Door::HostVariables
            | Door::StoredCode(_)
            | Door::NewCode(_)
            | Door::Secret { .. } => Ok(()),
        }
    }

    fn may_set(&self, name: &str) -> Result<()> {
        if self.is_locked() {
            let message = format!("{name} cannot be set: lock_configuration fixed the settings");
            return Err(Error::invalid_argument(message));
        }
        if !self.is_unrestricted() && OF_DOORS.contains(&name) {
            let message = format!("{name} has to be set before enable_external_access is switched off");
            return Err(Error::invalid_argument(message));
        }
        Ok(())
    }

    /// The way to a file or folder on disk, if the statement may go it.
    pub fn way(&self, door: Door<'_>) -> Result<Way> {
        let (path, action) = match door {
            Door::Read(path) => (path, "cannot open"),
            Door::List(path) => (path, "cannot list"),
            Door::Write(path) => (path, "cannot write"),
            Door::MakeFolder(path) => (path, "cannot create"),
            _ => return Err(Error::internal(format!("{door:?} is no way to a file"))),
        };
        match self.reached(path)? {
            None => Ok(Way::plain(path)),
            Some(place) => Way::held(&place).map_err(|error| Error::io(action, path, &error)),
        }
    }

    /// Makes a folder and those around it; of these only what the statement may make.
    pub fn make_folders(&self, path: &str) -> Result<()> {
        let failed = |error: &std::io::Error| Error::io("cannot create", path, error);
        match self.reached(path)? {
            None => std::fs::create_dir_all(path).map_err(|error| failed(&error)),
            Some(place) => {
                let may_make = |folder: &Path| self.rules.read().allows(folder);
                way::make_folders(&place, &may_make).map_err(|error| failed(&error))
            }
        }
    }

    /// The place of a path that may be reached; nothing where all may.
    fn reached(&self, path: &str) -> Result<Option<PathBuf>> {
        if self.is_unrestricted() {
            return Ok(None);
        }
        // Links are looked at without the lock.
        let place = place_of(path);
        match place.filter(|place| self.rules.read().allows(place)) {
            Some(place) => Ok(Some(place)),
            None => Err(Error::FileAccess { path: path.to_string() }),
        }
    }

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
    pub fn allow_directories(&self, paths: &[String]) -> Result<()> {
        let places = places_of("allowed_directories", paths)?;
        self.rules.write().directories = places;
        Ok(())
    }

    /// Replaces the allowed files.
    pub fn allow_files(&self, paths: &[String]) -> Result<()> {
        let places = places_of("allowed_paths", paths)?;
        self.rules.write().files = places;
        Ok(())
    }

    /// Whether files behind a network may be touched.
    pub fn allows_network(&self) -> bool {
        !self.network_off.load(Ordering::Relaxed)
    }

    /// From now on no file behind a network may be touched.
    pub fn forbid_network(&self) {
        self.network_off.store(true, Ordering::Relaxed);
    }

    /// Whether code that is stored in the database may run.
    pub fn allows_python(&self) -> bool {
        self.python_on.load(Ordering::Relaxed)
    }

    /// Says whether code that is stored in the database may run. It cannot be allowed where access is restricted.
    pub fn set_python(&self, allowed: bool) -> Result<()> {
        if allowed && !self.is_unrestricted() && !self.allows_python() {
            return Err(Error::invalid_argument(
                "allow_python cannot be switched on while enable_external_access is \
                 off, because Python code reads and writes files",
            )
            .with_hint("open the database with it instead"));
        }
        self.python_on.store(allowed, Ordering::Relaxed);
        Ok(())
    }

    /// Whether settings are fixed.
    pub fn is_locked(&self) -> bool {
        self.is_locked.load(Ordering::Relaxed)
    }

    /// Fixes the settings, or not yet.
    pub fn set_locked(&self, locked: bool) {
        self.is_locked.store(locked, Ordering::Relaxed);
    }

    /// Whether all doors were shut at once.
    pub fn is_sandbox(&self) -> bool {
        self.is_sandbox.load(Ordering::Relaxed)
    }

    /// Shuts all doors but those to allowed files, and fixes the settings.
    pub fn shut(&self) -> Result<()> {
        if self.allows_python() {
            return Err(Error::invalid_argument(
                "sandbox and allow_python exclude each other: code in SQL does what the process can",
            )
            .with_hint("register functions of the host instead, as by create_function"));
        }
        self.restrict();
        self.set_locked(true);
        self.is_sandbox.store(true, Ordering::Relaxed);
        Ok(())
    }
}

/// The places of allowed paths.
fn places_of(setting: &str, paths: &[String]) -> Result<Vec<PathBuf>> {
    let place = |path: &String| {
        place_of(path).ok_or_else(|| {
            Error::invalid_argument(format!("{setting}: '{path}' is no path that could be told from others"))
        })
    };
    paths.iter().map(place).collect()
}

#[cfg(test)]
mod tests;

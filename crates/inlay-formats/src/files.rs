//! How the statements of a database reach files: those on disk, those of file systems that the host registered, and with the
//! feature `remote` those behind `http://` and `s3://`.
//!
//! Everything that opens, lists or writes a file that SQL names goes through [`Files`], which holds what may be touched, the
//! network settings, the secrets and the open connections of one database. Which of the worlds a path belongs to is
//! decided here and nowhere else; whether it may be touched, by [`Access`].

use crate::host::{self, HostFiles, Hosts};
use crate::ranges::{self, RangeSource, Ranges};
use crate::remote::secrets::Secrets;
use crate::remote::settings::NetworkSettings;
use crate::remote::{self, Remote};
use inlay_catalog::access::{Access, Door, How, Way};
use inlay_types::candidates::near_names;
use inlay_types::{Error, MemoryBudget, Result};
use parking_lot::RwLock;
use std::ffi::OsString;
use std::fs::{File, FileType};
use std::io::{self, ErrorKind, Read, Seek};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::SystemTime;

use remote::is_url;

/// What a database lets its statements reach, and how.
#[derive(Debug)]
pub struct Files {
    access: Arc<Access>,
    network: RwLock<NetworkSettings>,
    secrets: Secrets,
    budget: MemoryBudget,
    /// Where files go that have to be read as a whole and are large.
    folder: RwLock<PathBuf>,
    /// How many there were.
    temporaries: AtomicU64,
    remote: Remote,
    hosts: Hosts,
}

impl Default for Files {
    fn default() -> Self {
        Self::new(MemoryBudget::unlimited())
    }
}

/// What is known of a file that is not opened.
#[derive(Clone, Copy, Debug)]
pub(crate) struct About {
    pub size: u64,
    pub modified: Option<SystemTime>,
}

/// A file that is read from its beginning, or from anywhere.
pub(crate) trait Seekable: Read + Seek + Send + Sync {}

impl<T: Read + Seek + Send + Sync> Seekable for T {}

/// Whether there is no folder of a name, or none that may be seen.
fn is_no_folder(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::PermissionDenied)
}

/// What a reader is going to look at first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum First {
    Beginning,
    End,
}

impl Files {
    /// Files of a database, whose budget what is held of them counts against.
    pub fn new(budget: MemoryBudget) -> Self {
        Self {
            access: Arc::default(),
            network: RwLock::default(),
            secrets: Secrets::default(),
            budget,
            folder: RwLock::new(std::env::temp_dir()),
            temporaries: AtomicU64::new(0),
            remote: Remote::default(),
            hosts: Hosts::default(),
        }
    }

    /// What statements may do.
    pub fn access(&self) -> &Arc<Access> {
        &self.access
    }

    /// An error unless the statement may pass; of a URL of a network, by that, too.
    pub fn ask(&self, door: Door<'_>) -> Result<()> {
        if let Door::Read(path) | Door::Write(path) | Door::List(path) = door
            && is_url(path)
            && self.hosts.of(path).is_none()
        {
            self.access.ask(Door::Network(&remote::shown(path)))?;
        }
        self.access.ask(door)
    }

    /// What SET said of the network.
    pub fn network(&self) -> NetworkSettings {
        self.network.read().clone()
    }

    /// Changes what SET says of the network; connections are made anew.
    pub fn change_network<T>(&self, change: impl FnOnce(&mut NetworkSettings) -> Result<T>) -> Result<T> {
        let mut settings = self.network.write();
        let mut changed = settings.clone();
        let answer = change(&mut changed)?;
        *settings = changed;
        self.remote.forget();
        Ok(answer)
    }

    /// Credentials.
    pub fn secrets(&self) -> &Secrets {
        &self.secrets
    }

    /// Memory of the database.
    pub(crate) fn budget(&self) -> &MemoryBudget {
        &self.budget
    }

    /// Where temporary files go.
    pub(crate) fn folder(&self) -> PathBuf {
        self.folder.read().clone()
    }

    /// Says where temporary files go.
    pub fn set_folder(&self, folder: PathBuf) {
        *self.folder.write() = folder;
    }

    pub(crate) fn remote(&self) -> &Remote {
        &self.remote
    }

    /// Lets statements reach the files of a file system of the host, whose paths begin with one of the protocols.
    pub fn register_host(&self, protocols: Vec<String>, files: Arc<dyn HostFiles>) -> Result<()> {
        self.hosts.register(protocols, files)
    }

    /// Forgets the host's file system for a protocol; whether there was one.
    pub fn unregister_host(&self, protocol: &str) -> bool {
        self.hosts.unregister(protocol)
    }

    /// The host's file systems, by the first protocol of each.
    pub fn hosts(&self) -> Vec<String> {
        self.hosts.names()
    }

    /// Whether the host has a file system for a protocol.
    pub fn has_host(&self, protocol: &str) -> bool {
        self.hosts.has(protocol)
    }

    /// Whether the file at a path may be read when the statement is over.
    pub(crate) fn may_wait(&self, path: &str) -> bool {
        self.hosts.of(path).is_none()
    }

    /// Whether a path names no file of the disk.
    pub fn is_elsewhere(&self, path: &str) -> bool {
        is_url(path) || self.hosts.of(path).is_some()
    }

    /// Whether a path that is elsewhere names one of files that can be listed and written.
    pub(crate) fn is_bucket(&self, path: &str) -> bool {
        remote::is_bucket(path) || self.hosts.of(path).is_some()
    }

    /// The files elsewhere that a pattern matches, sorted; `count_max` of them are enough.
    pub(crate) fn list(self: &Arc<Self>, pattern: &str, count_max: usize) -> Result<Vec<String>> {
        self.ask(Door::List(pattern))?;
        let Some(host) = self.hosts.of(pattern) else { return remote::list(self, pattern, count_max) };
        let mut found = host.list(pattern).map_err(|error| Error::io("cannot list", pattern, &error))?;
        found.sort();
        Ok(found)
    }

    /// Writes a file on disk to a path elsewhere.
    pub(crate) fn upload(self: &Arc<Self>, path: &str, file: &File) -> Result<()> {
        self.ask(Door::Write(path))?;
        match self.hosts.of(path) {
            Some(host) => host::upload(&*host, path, file),
            None => remote::upload(self, path, file),
        }
    }

    /// The file at `path` for reading ranges; folders are errors.
    pub(crate) fn ranges(self: &Arc<Self>, path: &str, first: First) -> Result<Arc<dyn RangeSource>> {
        self.ask(Door::Read(path))?;
        match self.hosts.of(path) {
            Some(host) => host::open(host, path),
            None if is_url(path) => remote::open(self, path, first),
            None => ranges::local(path, self.open(path)?),
        }
    }

    /// The file at `path` for reading from anywhere, by a position of its own.
    pub(crate) fn seekable(self: &Arc<Self>, path: &str, first: First) -> Result<Box<dyn Seekable>> {
        Ok(if self.is_elsewhere(path) {
            Box::new(Ranges::new(self.ranges(path, first)?))
        } else {
            Box::new(self.open(path)?)
        })
    }

    /// What is known of the file at `path`.
    pub(crate) fn about(self: &Arc<Self>, path: &str) -> Result<About> {
        self.ask(Door::Read(path))?;
        if let Some(host) = self.hosts.of(path) {
            return host::about(&*host, path);
        }
        if is_url(path) {
            return remote::about(self, path);
        }
        let there = self.on_disk(path)?.about().map_err(|error| Error::io("cannot read", path, &error))?;
        Ok(About { size: there.len(), modified: there.modified().ok() })
    }

    /// The way to a file on disk that is read.
    fn on_disk(&self, path: &str) -> Result<Way> {
        self.access.way(Door::Read(path))
    }

    /// Whether something is at a path on disk.
    pub(crate) fn exists(&self, path: &str) -> Result<bool> {
        Ok(self.kind(path)?.is_some())
    }

    /// Whether a file is at a path on disk.
    pub(crate) fn is_file(&self, path: &str) -> Result<bool> {
        Ok(self.kind(path)?.is_some_and(|kind| kind.is_file()))
    }

    /// Whether a folder is at a path on disk.
    pub(crate) fn is_folder(&self, path: &str) -> Result<bool> {
        Ok(self.kind(path)?.is_some_and(|kind| kind.is_dir()))
    }

    /// What is at a path on disk; nothing where it cannot be seen.
    fn kind(&self, path: &str) -> Result<Option<FileType>> {
        match self.on_disk(path) {
            Ok(way) => Ok(way.about().ok().map(|about| about.file_type())),
            // A folder on the way is missing.
            Err(Error::Io { .. }) => Ok(None),
            Err(refusal) => Err(refusal),
        }
    }

    /// Names in a folder on disk; none where there is no folder, or it must not be seen. That a folder which is there cannot be
    /// read is an error: a pattern would miss files without a word.
    pub(crate) fn names(&self, folder: &str) -> Result<Vec<OsString>> {
        let way = match self.access.way(Door::List(folder)) {
            Ok(way) => way,
            Err(Error::Io { .. }) => return Ok(Vec::new()),
            Err(refusal) => return Err(refusal),
        };
        match way.names() {
            Err(error) if is_no_folder(error.kind()) => Ok(Vec::new()),
            names => names.map_err(|error| Error::io("cannot list", folder, &error)),
        }
    }

    /// What is at a path that is no table, if that can be seen: how to read it, or files with names like it.
    pub fn advice(&self, path: &str) -> Option<String> {
        if self.is_elsewhere(path) || path.is_empty() {
            return None;
        }
        let looks_like_path = path.contains(['.', '/', '\\']);
        match self.kind(path).ok()? {
            Some(kind) if kind.is_dir() => Some(format!(
                "it is a folder; its files are read as in '{}/*.csv'",
                path.trim_end_matches('/')
            )),
            Some(_) => Some(format!(
                "the file of this name is read by read_csv('{path}'), read_json, read_parquet, read_arrow, read_xlsx or \
                 read_text"
            )),
            None if !looks_like_path => None,
            None => Some(match self.near(path) {
                Some(near) => format!("there is no such file either; did you mean '{near}'?"),
                None => "there is no such file either".to_string(),
            }),
        }
    }

    /// A file beside a missing one, whose name is like it.
    fn near(&self, path: &str) -> Option<String> {
        let (folder, name) = path.rsplit_once('/').map_or(("", path), |(folder, name)| (folder, name));
        let listed = match folder {
            "" if path.starts_with('/') => "/",
            "" => ".",
            folder => folder,
        };
        let names = self.names(listed).ok()?;
        let names: Vec<&str> = names.iter().filter_map(|name| name.to_str()).collect();
        let near = near_names(name, names.into_iter()).into_iter().next()?;
        let near = near.trim_matches('"');
        Some(if path.contains('/') { format!("{folder}/{near}") } else { near.to_string() })
    }

    /// Why a file could not be opened; of a missing one, which file is like it.
    pub(crate) fn not_opened(&self, path: &str, error: &io::Error) -> Error {
        match Error::io("cannot open", path, error) {
            Error::Io { action, path, message } if error.kind() == io::ErrorKind::NotFound => {
                let near = self.near(&path).map(|near| format!("; did you mean \"{near}\"?"));
                Error::Io { action, path, message: message + &near.unwrap_or_default() }
            }
            other => other,
        }
    }

    /// Opens a file on disk; folders are errors.
    pub(crate) fn open(&self, path: &str) -> Result<File> {
        let failed = |error: &io::Error| self.not_opened(path, error);
        let file = self.on_disk(path)?.open(How::Read).map_err(|error| failed(&error))?;
        if file.metadata().map_err(|error| failed(&error))?.is_dir() {
            let error = io::Error::new(
                io::ErrorKind::IsADirectory,
                format!(
                    "is a folder, not a file; its files are read as in '{}/*.csv'",
                    path.trim_end_matches('/')
                ),
            );
            return Err(Error::io("cannot read", path, &error));
        }
        Ok(file)
    }

    /// Whether what is at a path on disk can be read only once.
    #[cfg(unix)]
    pub(crate) fn is_pipe(&self, path: &str) -> Result<bool> {
        use std::os::unix::fs::FileTypeExt;
        Ok(self.on_disk(path)?.about().is_ok_and(|there| {
            let kind = there.file_type();
            kind.is_fifo() || kind.is_char_device() || kind.is_socket()
        }))
    }

    #[cfg(not(unix))]
    pub(crate) fn is_pipe(&self, path: &str) -> Result<bool> {
        self.access.ask(Door::Read(path)).map(|()| false)
    }

    /// The text of a file on disk of at most so many bytes.
    pub fn read_text(&self, path: &str, size_max: u64) -> Result<String> {
        let failed = |error: &io::Error| Error::io("cannot read", path, error);
        let way = self.on_disk(path)?;
        let size = way.about().map_err(|error| failed(&error))?.len();
        if size > size_max {
            let message = format!("\"{path}\" has {size} bytes");
            let hint = format!("a text has at most {size_max}");
            return Err(Error::invalid_argument(message).with_hint(hint));
        }
        way.read_text().map_err(|error| failed(&error))
    }

    /// Writes a small file to disk.
    pub fn write_text(&self, path: &str, text: &str) -> Result<()> {
        let written = self.access.way(Door::Write(path))?.write(text.as_bytes());
        written.map_err(|error| Error::io("cannot write", path, &error))
    }

    /// A new file without a name; it is gone when it is closed.
    pub(crate) fn temporary(&self) -> Result<File> {
        let folder = self.folder();
        let failed = |error: &io::Error| Error::io("cannot write", folder.to_string_lossy(), error);
        std::fs::create_dir_all(&folder).map_err(|error| failed(&error))?;
        remote::temporary_in(&folder, &self.temporaries).map_err(|error| failed(&error))
    }
}

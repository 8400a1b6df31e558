//! How the statements of a database reach files: those on disk, those of file systems that the host registered, and with the
//! feature `remote` those behind `http://` and `s3://`.
//!
//! Everything that opens, lists or writes a file that SQL names goes through [`Files`], which holds what may be touched, the
//! network settings, the secrets and the open connections of one database. Which of the worlds a path belongs to is
//! decided here and nowhere else.

use crate::host::{self, HostFiles, Hosts};
use crate::ranges::{self, RangeSource, Ranges};
use crate::remote::secrets::Secrets;
use crate::remote::settings::NetworkSettings;
use crate::remote::{self, Remote};
use inlay_catalog::FileAccess;
use inlay_types::{Error, MemoryBudget, Result};
use parking_lot::RwLock;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::SystemTime;

use remote::is_url;

/// What a database lets its statements reach, and how.
#[derive(Debug)]
pub struct Files {
    access: FileAccess,
    network_off: AtomicBool,
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
            access: FileAccess::default(),
            network_off: AtomicBool::new(false),
            network: RwLock::default(),
            secrets: Secrets::default(),
            budget,
            folder: RwLock::new(std::env::temp_dir()),
            temporaries: AtomicU64::new(0),
            remote: Remote::default(),
            hosts: Hosts::default(),
        }
    }

    /// Which files may be touched.
    pub fn access(&self) -> &FileAccess {
        &self.access
    }

    /// An error unless `path` may be touched.
    pub fn check(&self, path: &str) -> Result<()> {
        if is_url(path) && self.hosts.of(path).is_none() {
            self.check_network(path)?;
        }
        self.access.check(path)
    }

    fn check_network(&self, url: &str) -> Result<()> {
        if self.allows_network() {
            return Ok(());
        }
        let url = remote::shown(url);
        Err(Error::Io {
            action: "cannot open",
            path: url,
            message: "allow_network is off for this database".to_string(),
        })
    }

    /// Whether files behind a network may be touched.
    pub fn allows_network(&self) -> bool {
        !self.network_off.load(Ordering::Relaxed)
    }

    /// From now on no file behind a network may be touched.
    pub fn forbid_network(&self) {
        self.network_off.store(true, Ordering::Relaxed);
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
    pub(crate) fn is_elsewhere(&self, path: &str) -> bool {
        is_url(path) || self.hosts.of(path).is_some()
    }

    /// Whether a path that is elsewhere names one of files that can be listed and written.
    pub(crate) fn is_bucket(&self, path: &str) -> bool {
        remote::is_bucket(path) || self.hosts.of(path).is_some()
    }

    /// The files elsewhere that a pattern matches, sorted; `count_max` of them are enough.
    pub(crate) fn list(self: &Arc<Self>, pattern: &str, count_max: usize) -> Result<Vec<String>> {
        let Some(host) = self.hosts.of(pattern) else { return remote::list(self, pattern, count_max) };
        let mut found = host.list(pattern).map_err(|error| Error::io("cannot list", pattern, &error))?;
        found.sort();
        Ok(found)
    }

    /// Writes a file on disk to a path elsewhere.
    pub(crate) fn upload(self: &Arc<Self>, path: &str, file: &File) -> Result<()> {
        match self.hosts.of(path) {
            Some(host) => host::upload(&*host, path, file),
            None => remote::upload(self, path, file),
        }
    }

    /// The file at `path` for reading ranges; folders are errors.
    pub(crate) fn ranges(self: &Arc<Self>, path: &str, first: First) -> Result<Arc<dyn RangeSource>> {
        match self.hosts.of(path) {
            Some(host) => host::open(host, path),
            None if is_url(path) => remote::open(self, path, first),
            None => ranges::open(path),
        }
    }

    /// The file at `path` for reading from anywhere, by a position of its own.
    pub(crate) fn seekable(self: &Arc<Self>, path: &str, first: First) -> Result<Box<dyn Seekable>> {
        Ok(if self.is_elsewhere(path) {
            Box::new(Ranges::new(self.ranges(path, first)?))
        } else {
            Box::new(crate::input::open(path)?)
        })
    }

    /// What is known of the file at `path`.
    pub(crate) fn about(self: &Arc<Self>, path: &str) -> Result<About> {
        if let Some(host) = self.hosts.of(path) {
            return host::about(&*host, path);
        }
        if is_url(path) {
            return remote::about(self, path);
        }
        let there = std::fs::metadata(path).map_err(|error| Error::io("cannot read", path, &error))?;
        Ok(About { size: there.len(), modified: there.modified().ok() })
    }

    /// A new file without a name; it is gone when it is closed.
    pub(crate) fn temporary(&self) -> Result<File> {
        let folder = self.folder();
        let failed = |error: &io::Error| Error::io("cannot write", folder.to_string_lossy(), error);
        std::fs::create_dir_all(&folder).map_err(|error| failed(&error))?;
        remote::temporary_in(&folder, &self.temporaries).map_err(|error| failed(&error))
    }
}

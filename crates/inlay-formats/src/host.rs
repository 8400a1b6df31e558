//! Files that the host program reaches for the engine, by the protocol that their paths begin with: `memory://a.csv`.

use crate::files::About;
use crate::ranges::{RangeSource, check_range};
use bytes::Bytes;
use inlay_types::{Error, Result};
use parking_lot::RwLock;
use std::fmt;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::sync::Arc;
use std::time::SystemTime;

/// A file system of the host. Several workers ask it at once.
pub trait HostFiles: Send + Sync + fmt::Debug {
    /// Size in bytes and time of the last change of the file at `path`.
    fn about(&self, path: &str) -> io::Result<(u64, Option<SystemTime>)>;
    /// Bytes `start .. start + len` of the file at `path`.
    fn read(&self, path: &str, start: u64, len: usize) -> io::Result<Vec<u8>>;
    /// Paths, with their protocol, of the files that a pattern matches.
    fn list(&self, pattern: &str) -> io::Result<Vec<String>>;
    /// Writes a file, in place of one that is there.
    fn write(&self, path: &str, content: &mut dyn Read) -> io::Result<()>;
}

/// The file systems of one database.
#[derive(Debug, Default)]
pub(crate) struct Hosts(RwLock<Vec<Host>>);

/// A file system, and the protocols whose files it has.
#[derive(Debug)]
struct Host {
    protocols: Vec<String>,
    files: Arc<dyn HostFiles>,
}

impl Host {
    fn has(&self, protocol: &str) -> bool {
        self.protocols.iter().any(|known| known.eq_ignore_ascii_case(protocol))
    }
}

impl Hosts {
    /// Adds a file system, in place of one for its first protocol.
    pub fn register(&self, protocols: Vec<String>, files: Arc<dyn HostFiles>) -> Result<()> {
        let is_word = |word: &String| {
            !word.is_empty() && word.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-._".contains(&b))
        };
        let (Some(name), true) = (protocols.first(), protocols.iter().all(is_word)) else {
            return Err(Error::invalid_argument(
                "a file system needs a protocol, such as \"memory\" for paths like memory://a.csv",
            ));
        };
        self.unregister(name);
        self.0.write().push(Host { protocols, files });
        Ok(())
    }

    /// Removes the file system for a protocol; whether there was one.
    pub fn unregister(&self, protocol: &str) -> bool {
        let mut hosts = self.0.write();
        let before = hosts.len();
        let removed: Vec<Host> = hosts.extract_if(.., |host| host.has(protocol)).collect();
        let found = hosts.len() < before;
        drop(hosts);
        // The host's own code may run when the last reference goes.
        drop(removed);
        found
    }

    /// The first protocol of each.
    pub fn names(&self) -> Vec<String> {
        self.0.read().iter().filter_map(|host| host.protocols.first().cloned()).collect()
    }

    /// Whether there is a file system for a protocol.
    pub fn has(&self, protocol: &str) -> bool {
        self.0.read().iter().any(|host| host.has(protocol))
    }

    /// The file system that a path belongs to.
    pub fn of(&self, path: &str) -> Option<Arc<dyn HostFiles>> {
        let (protocol, _) = path.split_once("://")?;
        self.0.read().iter().find(|host| host.has(protocol)).map(|host| Arc::clone(&host.files))
    }
}

/// What is known of a file.
pub(crate) fn about(host: &dyn HostFiles, path: &str) -> Result<About> {
    let (size, modified) = host.about(path).map_err(|error| Error::io("cannot open", path, &error))?;
    Ok(About { size, modified })
}

/// A file for reading ranges.
pub(crate) fn open(host: Arc<dyn HostFiles>, path: &str) -> Result<Arc<dyn RangeSource>> {
    let About { size, modified } = about(&*host, path)?;
    Ok(Arc::new(HostFile { host, path: path.to_string(), size, modified }))
}

/// Writes a file on disk to the host's.
pub(crate) fn upload(host: &dyn HostFiles, path: &str, mut file: &File) -> Result<()> {
    let sent = file.seek(SeekFrom::Start(0)).and_then(|_| host.write(path, &mut file));
    sent.map_err(|error| Error::io("cannot write", path, &error))
}

struct HostFile {
    host: Arc<dyn HostFiles>,
    path: String,
    size: u64,
    modified: Option<SystemTime>,
}

impl RangeSource for HostFile {
    fn size(&self) -> u64 {
        self.size
    }

    fn read(&self, start: u64, len: usize) -> io::Result<Bytes> {
        check_range(self.size, start, len)?;
        let bytes = self.host.read(&self.path, start, len)?;
        if bytes.len() != len {
            let message = format!("it gave {} bytes of {len}; the file may have changed", bytes.len());
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, message));
        }
        Ok(Bytes::from(bytes))
    }

    fn modified(&self) -> Option<SystemTime> {
        self.modified
    }

    fn is_remote(&self) -> bool {
        true
    }

    // Workers need the host for each read, and who asks for rows later may keep it from answering: Python's lock.
    fn may_wait(&self) -> bool {
        false
    }
}

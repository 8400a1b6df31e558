//! What a header says of the log, so that a file is never taken for whole without the log that it needs.
//!
//! A log lies beside its file under a name, and names can be lost: a file is moved, copied or found by another of its
//! hard links. The first commit after each checkpoint therefore notes in the newest header, in place, that there is a
//! log and which transaction it holds; the next checkpoint ends that. Files that were written before there was such a
//! note have zeroes there, which say nothing.

use super::BlockFile;
use super::header::Header;
use crate::bytes::{ByteReader, ByteWriter};
use inlay_types::{Error, Result};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Bytes of the longest name: from its size on to the checksum of the header.
const NAME_MAX: usize = 366;

/// What a header says of the log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogMark {
    /// The salt of the log that was written when this was noted; 0 if nothing was noted.
    pub salt: u64,
    /// A transaction that this log holds durably. The file needs a log if it is beyond the root's.
    pub lsn: u64,
    /// The name of the file that the log lies beside, while it is needed. Absent if it does not fit.
    name: Option<Arc<str>>,
}

impl LogMark {
    /// A log that is needed: it has transaction `lsn`, and lies beside the file of this name.
    pub fn needed(salt: u64, lsn: u64, path: &Path) -> Self {
        let name = path.to_str().filter(|name| !name.is_empty() && name.len() <= NAME_MAX).map(Arc::from);
        Self { salt, lsn, name }
    }

    /// A log that has nothing that the file lacks.
    pub fn covered(salt: u64) -> Self {
        Self { salt, lsn: 0, name: None }
    }

    /// The name of the file that the log lies beside.
    pub fn path(&self) -> Option<PathBuf> {
        self.name.as_deref().map(PathBuf::from)
    }

    pub(super) fn write(&self, out: &mut ByteWriter) {
        let name = self.name.as_deref().unwrap_or_default();
        out.u64(self.salt);
        out.u64(self.lsn);
        out.u16(name.len() as u16);
        out.raw(name.as_bytes());
    }

    pub(super) fn read(from: &mut ByteReader<'_>) -> Result<Self> {
        let (salt, lsn, size) = (from.u64()?, from.u64()?, usize::from(from.u16()?));
        let name = match size {
            0 => None,
            1..=NAME_MAX => Some(from.raw(size)?),
            _ => return Err(Error::corrupt("a name that is longer than a header")),
        };
        let name = name.map(std::str::from_utf8).transpose();
        let name = name.map_err(|_| Error::corrupt("a name that is not UTF-8"))?.map(Arc::from);
        Ok(Self { salt, lsn, name })
    }
}

impl BlockFile {
    /// What the newest header that was read or published says of the log.
    pub fn log_mark(&self) -> LogMark {
        self.published.lock().log.clone()
    }

    /// A number for what the newest header leads to, which a log that is made for it repeats.
    pub fn fingerprint(&self) -> u64 {
        self.published.lock().fingerprint()
    }

    /// Whether the header says that the log with this salt is needed.
    pub fn expects_log(&self, salt: u64) -> bool {
        self.marked.load(Ordering::SeqCst) == salt
    }

    /// Sees to it that the header says that the log with this salt is needed, durably, before a commit is acknowledged that
    /// is in the log alone. `log` is what it has to say. Only the first commit after a checkpoint has to wait for that.
    pub fn expect_log(&self, salt: u64, log: &dyn Fn() -> Result<LogMark>) -> Result<()> {
        if self.expects_log(salt) {
            return Ok(());
        }
        let mut published = self.published.lock();
        if self.expects_log(salt) {
            return Ok(());
        }
        self.expect_writable()?;
        let log = log()?;
        if log.lsn <= published.root.lsn || self.marked.load(Ordering::SeqCst) == log.salt {
            // A checkpoint went by, or the log was renewed and somebody else was first.
            return Ok(());
        }
        let header = Header { log, ..published.clone() };
        self.write_header(&header)?;
        self.sync()?;
        self.marked.store(header.log.salt, Ordering::SeqCst);
        *published = header;
        Ok(())
    }

    /// Renews the log by `renew`, which is given the number of what the header leads to; it stays that meanwhile.
    pub fn renew_log(&self, renew: impl FnOnce(u64) -> Result<()>) -> Result<()> {
        let published = self.published.lock();
        renew(published.fingerprint())
    }
}

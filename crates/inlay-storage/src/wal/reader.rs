//! Following the log of a database that another process writes.

use super::format::{Chain, LogHeader};
use super::scan::{Scanner, Step, read_header};
use crate::io::{Disk, DiskFile, FileIdentity, OpenMode};
use inlay_types::{Error, Result};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Reads what is committed since, again and again, and changes nothing.
#[derive(Debug)]
pub struct WalReader {
    disk: Arc<dyn Disk>,
    path: PathBuf,
    name: String,
    database_id: u128,
    lsn: u64,
    open: Option<Followed>,
}

#[derive(Debug)]
struct Followed {
    identity: FileIdentity,
    file: Arc<dyn DiskFile>,
    chain: Chain,
}

/// How far a reader came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Poll {
    /// It knows every transaction up to this one, the newest there is.
    UpTo(u64),
    /// The log begins after what the reader knows: a checkpoint took the rest into the database file, whose newest
    /// root has to be read, and [`WalReader::advance_to`] be called with its number.
    Behind,
}

impl WalReader {
    /// A reader that knows every transaction up to `after_lsn`. The log need not exist yet.
    pub fn open(disk: &Arc<dyn Disk>, path: &Path, database_id: u128, after_lsn: u64) -> Self {
        let name = path.display().to_string();
        Self { disk: disk.clone(), path: path.to_path_buf(), name, database_id, lsn: after_lsn, open: None }
    }

    /// The last transaction that was seen.
    pub fn lsn(&self) -> u64 {
        self.lsn
    }

    /// Says that the transactions up to `lsn` are known from elsewhere.
    pub fn advance_to(&mut self, lsn: u64) {
        self.lsn = self.lsn.max(lsn);
    }

    /// Visits every transaction since, in order. An incomplete end is left for the next time.
    pub fn poll(&mut self, visit: &mut dyn FnMut(u64, &[u8]) -> Result<()>) -> Result<Poll> {
        let failed = |error: &std::io::Error| Error::io("cannot read", &self.name, error);
        let identity = self.disk.identity(&self.path).map_err(|error| failed(&error))?;
        let Some(identity) = identity else {
            self.open = None;
            return Ok(Poll::UpTo(self.lsn));
        };
        if self.open.as_ref().is_none_or(|open| open.identity != identity) {
            let file = match self.disk.open(&self.path, OpenMode::ReadOnly) {
                Ok(file) => file,
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                    return Ok(Poll::UpTo(self.lsn));
                }
                Err(error) => return Err(failed(&error)),
            };
            let Some(header) = read_header(&*file, &self.name)? else { return Ok(Poll::UpTo(self.lsn)) };
            expect_database(&header, self.database_id, &self.name)?;
            self.open = Some(Followed { identity, file, chain: Chain::new(header) });
        }
        let Some(open) = &mut self.open else { return Ok(Poll::UpTo(self.lsn)) };
        if open.chain.log.start_lsn > self.lsn {
            return Ok(Poll::Behind);
        }
        let mut scanner = Scanner::new(&*open.file, &self.name, open.chain)?;
        while let Step::Record(body) = scanner.next()? {
            let lsn = scanner.chain.last_lsn;
            if lsn > self.lsn {
                visit(lsn, &body)?;
                self.lsn = lsn;
            }
            open.chain = scanner.chain;
        }
        Ok(Poll::UpTo(self.lsn))
    }
}

/// Refuses the log of another database.
pub(super) fn expect_database(header: &LogHeader, database_id: u128, name: &str) -> Result<()> {
    if header.database_id == database_id {
        return Ok(());
    }
    Err(Error::corrupt(format!(
        "\"{name}\" is the log of another database ({:032x}, not {database_id:032x}); move it away if it lies here by \
         mistake",
        header.database_id
    )))
}

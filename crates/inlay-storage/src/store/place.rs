//! A file, its log and its name, while the database is open.
//!
//! Everything is written through handles, which mean the file and the log whatever happens to their names. But the log
//! is found by its name after a crash, so nothing is committed while the names lead elsewhere, and no log is renewed:
//! that gives a name to a new file. A checkpoint goes on: it puts everything into the file, which needs no log then.

use super::{Durable, Store};
use crate::file::LogMark;
use crate::io::Leads;
use crate::wal::Synchronous;
use inlay_types::{Error, Result};

impl Durable {
    /// Before commit `lsn` of `epoch`, which is in the log alone, is acknowledged: the header says that there is a log.
    pub fn expect_log(&self, epoch: usize, lsn: u64) -> Result<()> {
        self.home.file().expect_log(self.wal.salt(), &|| {
            self.wal.sync_in(epoch, lsn, Synchronous::Full)?;
            let (salt, last) = self.wal.durable_end()?;
            Ok(LogMark::needed(salt, last, self.place.path()))
        })
    }

    /// What a header with all transactions up to `lsn` has to say of the log. Those behind it are made durable first,
    /// however durable commits are, for the header says that they are there.
    pub fn log_mark_at(&self, lsn: u64) -> Result<LogMark> {
        self.wal.sync_all()?;
        let (salt, last) = self.wal.durable_end()?;
        Ok(if last > lsn { LogMark::needed(salt, last, self.place.path()) } else { LogMark::covered(salt) })
    }

    /// Forgets the records up to `lsn`, which are in the file. A log that is not beside the file any more stays as it is.
    pub fn renew_log(&self, lsn: u64) -> Result<()> {
        if self.place.leads()? != Leads::Here {
            return Ok(());
        }
        self.home.file().renew_log(|base| self.wal.restart(lsn, base))
    }

    /// Fails if what is committed now would not be found again after a crash.
    fn expect_names(&self) -> Result<()> {
        let name = self.place.name();
        let what = match self.place.leads()? {
            Leads::Here => None,
            Leads::Nowhere => Some("was moved or removed"),
            Leads::Elsewhere => Some("is another file now, and the one that was opened was moved or removed"),
        };
        if let Some(what) = what {
            return Err(Error::ReadOnly {
                message: format!(
                    "\"{name}\" {what} while the database was open, so nothing is committed that its log would be needed \
                     for: what was committed is safe. Give the file its name back, or close the database, which puts \
                     everything into the file, and open it by its new name"
                ),
            });
        }
        let log = self.wal.path().display();
        match self.wal.leads()? {
            Leads::Here => Ok(()),
            Leads::Nowhere => Err(Error::ReadOnly {
                message: format!(
                    "\"{log}\", the log of \"{name}\", was moved or removed while the database was open: what was committed \
                     is safe, and CHECKPOINT puts it into the file and makes a new log"
                ),
            }),
            Leads::Elsewhere => Err(Error::ReadOnly {
                message: format!(
                    "\"{log}\", the log of \"{name}\", was replaced by another file while the database was open: what was \
                     committed is safe. Close the database, which puts it into the file, and look whose log it is"
                ),
            }),
        }
    }
}

impl Store {
    /// Fails if a commit would be lost because the file or the log has lost its name.
    pub(super) fn check_names(&self) -> Result<()> {
        self.durable.as_ref().map_or(Ok(()), Durable::expect_names)
    }
}

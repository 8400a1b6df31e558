//! Following the log of a database that another process writes.

use super::format::Chain;
use super::scan::{Scanner, Step, read_header};
use super::tie::Tie;
use crate::io::{Disk, DiskFile, FileIdentity, OpenMode};
use inlay_types::{Error, Result};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Reads what is committed since, again and again, and changes nothing.
#[derive(Debug)]
pub struct WalReader {
    disk: Arc<dyn Disk>,
    /// Absent while no name is known that the log would have.
    path: Option<PathBuf>,
    name: String,
    tie: Tie,
    lsn: u64,
    open: Option<Followed>,
}

#[derive(Debug)]
struct Followed {
    identity: FileIdentity,
    file: Arc<dyn DiskFile>,
    chain: Chain,
    /// Whether what is behind the end was looked at.
    is_examined: bool,
}

/// How far a reader came.
#[derive(Clone, Debug, PartialEq)]
pub enum Poll {
    /// It knows every transaction up to this one, the newest there is.
    UpTo(u64),
    /// The log begins after what the reader knows: a checkpoint took the rest into the database file, whose newest
    /// root has to be read, and [`WalReader::advance_to`] be called with its number.
    Behind,
    /// The log is not that of the file, is damaged, or lacks what the file says it has. Both change while they are read: to be
    /// believed when it stays so.
    Unfit(Error),
}

impl WalReader {
    /// A reader that knows every transaction that is in a file. The log need not exist yet.
    pub fn open(disk: &Arc<dyn Disk>, path: Option<&Path>, tie: Tie) -> Self {
        let lsn = tie.lsn;
        let (disk, name) = (Arc::clone(disk), String::new());
        let mut reader = Self { disk, path: None, name, tie: Tie::default(), lsn, open: None };
        reader.set_place(path, tie);
        reader
    }

    /// What the file says of its log by now, and the name that this has. Without a name, a log that is open is followed.
    pub fn set_place(&mut self, path: Option<&Path>, tie: Tie) {
        self.path = path.map(Path::to_path_buf);
        self.name = path.map_or_else(|| format!("{}.wal", tie.file), |path| path.display().to_string());
        self.tie = tie;
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
        if let Some(unfit) = self.follow_name()? {
            return Ok(Poll::Unfit(unfit));
        }
        let Some(open) = &mut self.open else { return Ok(self.end("does not exist")) };
        if open.chain.log.start_lsn > self.lsn {
            return Ok(Poll::Behind);
        }
        let mut scanner = Scanner::new(&*open.file, &self.name, open.chain)?;
        let mut is_second_look = false;
        loop {
            let step = scanner.next()?;
            let problem = match step {
                Step::Record(body) => {
                    let lsn = scanner.chain.last_lsn;
                    if lsn > self.lsn {
                        visit(lsn, &body)?;
                        self.lsn = lsn;
                    }
                    open.chain = scanner.chain;
                    is_second_look = false;
                    continue;
                }
                Step::Damaged => scanner.damage(),
                Step::Incomplete if open.is_examined => break,
                // Once: what comes later was written while this read along.
                Step::Incomplete => match scanner.expect_torn() {
                    Ok(()) => {
                        open.is_examined = true;
                        break;
                    }
                    Err(damage) => damage,
                },
            };
            // The record may have been on its way.
            if is_second_look {
                return Ok(Poll::Unfit(problem));
            }
            is_second_look = true;
            scanner = Scanner::new(&*open.file, &self.name, open.chain)?;
        }
        Ok(self.end("ends before them"))
    }

    /// How far the reader came, if that is as far as the file says that it could.
    fn end(&self, found: &str) -> Poll {
        if self.tie.needs_log() && self.lsn < self.tie.expected {
            return Poll::Unfit(self.tie.missing(&self.name, found));
        }
        Poll::UpTo(self.lsn)
    }

    /// Opens the log that the name leads to, if it is another one than before; an error to be returned if it does not fit.
    fn follow_name(&mut self) -> Result<Option<Error>> {
        let Some(path) = &self.path else { return Ok(None) };
        let failed = |error: &std::io::Error| Error::io("cannot read", &self.name, error);
        let Some(identity) = self.disk.identity(path).map_err(|error| failed(&error))? else {
            self.open = None;
            return Ok(None);
        };
        if self.open.as_ref().is_some_and(|open| open.identity == identity) {
            return Ok(None);
        }
        self.open = None;
        let file = match self.disk.open(path, OpenMode::ReadOnly) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed(&error)),
        };
        let Some(header) = read_header(&*file, &self.name)? else { return Ok(None) };
        let chain = Chain::new(header);
        if self.tie.fits(&header) {
            self.open = Some(Followed { identity: file.identity(), file, chain, is_examined: false });
            return Ok(None);
        }
        let is_blank = Scanner::new(&*file, &self.name, chain)?.is_blank()?;
        let is_later = header.database_id == self.tie.database_id && header.start_lsn > self.lsn;
        Ok((!is_blank || is_later).then(|| self.tie.foreign(&self.name, &header)))
    }
}

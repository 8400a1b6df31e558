//! The write-ahead log: one record for each transaction, durable before the commit is acknowledged.
//!
//! [`Wal::append`] gives a record its number (LSN) and puts it into a buffer; [`Wal::sync_to`] returns when it is as
//! durable as asked for. Whoever comes first writes and syncs for all that wait: group commit.
//!
//! Invariants
//! - Records are numbered without gaps and chained by checksums; a record is in the file completely or not at all.
//! - After a failed write or sync the log takes nothing more, and everyone who waits fails.
//! - A log file is made beside the old one, durable, and then renamed over it, so there is always one complete log.
//!
//! docs/format.md specifies the bytes and argues why damage and a torn end can be told apart.

mod format;
mod reader;
mod scan;
#[cfg(test)]
mod tests;

pub use reader::{Poll, WalReader};

use crate::io::{Disk, DiskFile, OpenMode};
use format::{Chain, LogHeader, in_sectors, offset_of};
use inlay_types::{Error, Result};
use parking_lot::{Condvar, Mutex, MutexGuard};
use reader::expect_database;
use scan::{Scanner, Step, read_header};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Number of a transaction in the log: 1, 2, 3, ...
pub type Lsn = u64;

/// What a commit waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Synchronous {
    /// Until the record is on the disk: it survives a power cut.
    #[default]
    Full,
    /// Until the operating system has it: it survives the end of the process, and a power cut takes at most the last
    /// transactions since the last sync.
    Normal,
    /// For nothing: the end of the process takes at most the last transactions.
    Off,
}

/// With [`Synchronous::Off`], records are written when there are as many bytes.
const BUFFER_SIZE: usize = 64 << 10;
/// The file grows by zeroes in such steps: a sync that only overwrites need not make a new size durable.
const GROWTH_MIN: u64 = 128 << 10;
const GROWTH_MAX: u64 = 1 << 20;
/// A log is copied in parts of this size.
const COPY_SIZE: usize = 1 << 20;

/// A log that is open for writing.
#[derive(Debug)]
pub struct Wal {
    disk: Arc<dyn Disk>,
    path: PathBuf,
    name: String,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    file: Arc<dyn DiskFile>,
    /// The end of all records, written or not.
    chain: Chain,
    /// Records that are not written, and their position.
    pending: Vec<u8>,
    pending_from: u64,
    /// Size of the file, with the zeroes at its end.
    file_size: u64,
    written_lsn: Lsn,
    durable_lsn: Lsn,
    /// Somebody writes for all.
    is_busy: bool,
    failure: Option<Error>,
}

impl Wal {
    /// Makes a new, durable log; the first record will have number `after_lsn + 1`. Replaces what is there.
    pub fn create(disk: &Arc<dyn Disk>, path: &Path, database_id: u128, after_lsn: Lsn) -> Result<Self> {
        let log = LogHeader { database_id, salt: disk.random(), start_lsn: after_lsn };
        let (file, chain) = write_log(&**disk, path, log, &mut |_| Ok(None))?;
        put_in_place(&**disk, path)?;
        Self::of(disk, path, file, chain)
    }

    /// For a new database: makes a log in the place of one without records, which a database that was deleted left behind.
    /// Any other stays, and [`Wal::open`] refuses it.
    pub fn replace_blank(disk: &Arc<dyn Disk>, path: &Path, database_id: u128, after_lsn: Lsn) -> Result<()> {
        let name = path.display().to_string();
        let failed = |error: &io::Error| Error::io("cannot open", &name, error);
        if !disk.exists(path).map_err(|error| failed(&error))? {
            return Ok(());
        }
        let file = disk.open(path, OpenMode::ReadOnly).map_err(|error| failed(&error))?;
        if let Some(log) = read_header(&*file, &name)?
            && Scanner::new(&*file, &name, Chain::new(log))?.is_blank()?
        {
            Self::create(disk, path, database_id, after_lsn)?;
        }
        Ok(())
    }

    /// Opens the log, or makes one if there is none, and replays every record after `after_lsn` in order.
    ///
    /// An incomplete record at the end is forgotten. Damage, a log of another database, and a log that begins after
    /// `after_lsn + 1` are errors; what was replayed until then must be forgotten too.
    pub fn open(
        disk: &Arc<dyn Disk>,
        path: &Path,
        database_id: u128,
        after_lsn: Lsn,
        replay: &mut dyn FnMut(Lsn, &[u8]) -> Result<()>,
    ) -> Result<Self> {
        let name = path.display().to_string();
        let failed = |error: &io::Error| Error::io("cannot open", &name, error);
        if !disk.exists(path).map_err(|error| failed(&error))? {
            return Self::create(disk, path, database_id, after_lsn);
        }
        let file = disk.open(path, OpenMode::ReadWrite).map_err(|error| failed(&error))?;
        let Some(log) = read_header(&*file, &name)? else {
            return Self::create(disk, path, database_id, after_lsn);
        };
        expect_database(&log, database_id, &name)?;
        if log.start_lsn > after_lsn {
            return Err(Error::corrupt(format!(
                "\"{name}\" begins after transaction {}, and the database ends with {after_lsn}: one of them is an old \
                 copy",
                log.start_lsn
            )));
        }
        let mut scanner = Scanner::new(&*file, &name, Chain::new(log))?;
        loop {
            match scanner.next()? {
                Step::Record(body) if scanner.chain.last_lsn > after_lsn => {
                    replay(scanner.chain.last_lsn, &body)?;
                }
                Step::Record(_) => {}
                Step::Incomplete => break,
                Step::Damaged => return Err(scanner.damage()),
            }
        }
        scanner.expect_torn()?;
        // Written anew, for what was read may be in the system's cache alone if a sync failed before, and what is
        // behind the end must be zeroes.
        let chain = scanner.chain;
        let wal = Self::of(disk, path, file, chain)?;
        wal.restart(after_lsn)?;
        Ok(wal)
    }

    fn of(disk: &Arc<dyn Disk>, path: &Path, file: Arc<dyn DiskFile>, chain: Chain) -> Result<Self> {
        let name = path.display().to_string();
        let file_size = file.size().map_err(|error| Error::io("cannot read", &name, &error))?;
        let state = State {
            file,
            chain,
            pending: Vec::new(),
            pending_from: chain.position,
            file_size,
            written_lsn: chain.last_lsn,
            durable_lsn: chain.last_lsn,
            is_busy: false,
            failure: None,
        };
        let (state, changed) = (Mutex::new(state), Condvar::new());
        Ok(Self { disk: disk.clone(), path: path.to_path_buf(), name, state, changed })
    }

    /// The last number that was given.
    pub fn last_lsn(&self) -> Lsn {
        self.state.lock().chain.last_lsn
    }

    /// Every transaction up to this one survives a power cut.
    pub fn durable_lsn(&self) -> Lsn {
        self.state.lock().durable_lsn
    }

    /// Bytes of the log, without the zeroes at its end.
    pub fn size(&self) -> u64 {
        offset_of(self.state.lock().chain.position)
    }

    /// The path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Why nothing more can be logged, if so.
    pub fn failure(&self) -> Option<Error> {
        self.state.lock().failure.clone()
    }

    /// Puts a record into the buffer and numbers it.
    pub fn append(&self, body: &[u8]) -> Result<Lsn> {
        let mut state = self.state.lock();
        let state = &mut *state;
        state.expect_whole()?;
        state.chain.append(body, state.durable_lsn, &mut state.pending);
        Ok(state.chain.last_lsn)
    }

    /// Returns when the records up to `lsn` are as durable as asked for. After an error it is unknown whether they are.
    pub fn sync_to(&self, lsn: Lsn, synchronous: Synchronous) -> Result<()> {
        let mut state = self.state.lock();
        loop {
            let is_done = match synchronous {
                Synchronous::Full => state.durable_lsn >= lsn,
                Synchronous::Normal => state.written_lsn >= lsn,
                Synchronous::Off => state.written_lsn >= lsn || state.pending.len() < BUFFER_SIZE,
            };
            if is_done {
                return Ok(());
            }
            if let Some(cause) = &state.failure {
                return Err(cause.clone());
            }
            if state.is_busy {
                self.changed.wait(&mut state);
            } else {
                self.write_for_all(&mut state, synchronous == Synchronous::Full);
            }
        }
    }

    /// Writes what is pending, with the lock released meanwhile, and syncs it.
    fn write_for_all(&self, state: &mut MutexGuard<'_, State>, sync: bool) {
        state.is_busy = true;
        let stream = std::mem::take(&mut state.pending);
        let (from, to) = (state.pending_from, state.chain.position);
        state.pending_from = to;
        let (file, log, last_lsn) = (state.file.clone(), state.chain.log, state.chain.last_lsn);
        let file_size = state.file_size;
        let result = MutexGuard::unlocked(state, || -> io::Result<u64> {
            let size = write_stream(&*file, &log, from, &stream, file_size)?;
            if sync {
                file.sync()?;
            }
            Ok(size)
        });
        state.is_busy = false;
        match result {
            Ok(file_size) => {
                state.file_size = file_size;
                state.written_lsn = last_lsn;
                if sync {
                    state.durable_lsn = last_lsn;
                }
            }
            Err(error) => state.failure = Some(Error::io("cannot write the log", &self.name, &error)),
        }
        self.changed.notify_all();
    }

    /// Reads all that was written and fails if it is not what was written.
    pub fn verify(&self) -> Result<()> {
        let mut state = self.state.lock();
        while state.is_busy {
            self.changed.wait(&mut state);
        }
        let log = state.chain.log;
        if read_header(&*state.file, &self.name)? != Some(log) {
            return Err(Error::corrupt(format!(
                "\"{}\": the log's header is not the one it was opened with",
                self.name
            )));
        }
        let mut scanner = Scanner::new(&*state.file, &self.name, Chain::new(log))?;
        while scanner.chain.last_lsn < state.written_lsn {
            let Step::Record(_) = scanner.next()? else { return Err(scanner.damage()) };
        }
        Ok(())
    }

    /// Forgets the records up to `after_lsn`, which a checkpoint took into the database file.
    ///
    /// A failure before the new log took the place of the old one changes nothing, and the log can be used as before.
    pub fn restart(&self, after_lsn: Lsn) -> Result<()> {
        let mut state = self.state.lock();
        // Others may append while the lock is released.
        while state.is_busy || !state.pending.is_empty() {
            state.expect_whole()?;
            if state.is_busy {
                self.changed.wait(&mut state);
            } else {
                self.write_for_all(&mut state, false);
            }
        }
        state.expect_whole()?;
        // Appending goes on in the new log, so nothing is appended while the records are copied.
        let state = &mut *state;
        let start_lsn = after_lsn.max(state.chain.log.start_lsn);
        let log = LogHeader { database_id: state.chain.log.database_id, salt: self.disk.random(), start_lsn };
        let last = state.chain.last_lsn;
        let mut scanner = Scanner::new(&*state.file, &self.name, Chain::new(state.chain.log))?;
        let mut next = |_: &Chain| -> Result<Option<Vec<u8>>> {
            while scanner.chain.last_lsn < last {
                match scanner.next()? {
                    Step::Record(body) if scanner.chain.last_lsn > start_lsn => return Ok(Some(body)),
                    Step::Record(_) => {}
                    Step::Incomplete | Step::Damaged => return Err(scanner.damage()),
                }
            }
            Ok(None)
        };
        let (file, chain) = write_log(&*self.disk, &self.path, log, &mut next)?;
        if let Err(error) = put_in_place(&*self.disk, &self.path) {
            state.failure = Some(error.clone());
            return Err(error);
        }
        let size = file.size().map_err(|error| Error::io("cannot read", &self.name, &error))?;
        state.file = file;
        state.chain = chain;
        state.pending_from = chain.position;
        state.file_size = size;
        state.written_lsn = chain.last_lsn;
        state.durable_lsn = chain.last_lsn;
        self.changed.notify_all();
        Ok(())
    }
}

impl State {
    fn expect_whole(&self) -> Result<()> {
        match &self.failure {
            None => Ok(()),
            Some(cause) => Err(Error::ReadOnly {
                message: format!(
                    "the database takes no more changes, for its log failed ({cause}); what was committed is safe: mend \
                     the cause and open it again"
                ),
            }),
        }
    }
}

fn path_beside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_os_string();
    name.push(".new");
    PathBuf::from(name)
}

/// Writes a log with the records that `next` gives beside the path of the log, durably.
fn write_log(
    disk: &dyn Disk,
    path: &Path,
    log: LogHeader,
    next: &mut dyn FnMut(&Chain) -> Result<Option<Vec<u8>>>,
) -> Result<(Arc<dyn DiskFile>, Chain)> {
    let beside = path_beside(path);
    let name = beside.display().to_string();
    let failed = |error: io::Error| Error::io("cannot write", &name, &error);
    let file = disk.open(&beside, OpenMode::Truncate).map_err(failed)?;
    let mut chain = Chain::new(log);
    file.write_at(&log.to_bytes(), 0).map_err(failed)?;
    let mut stream = Vec::new();
    let mut from = chain.position;
    let mut ends = false;
    while !ends {
        match next(&chain)? {
            // Everything in a new log is durable before anybody sees it.
            Some(body) => chain.append(&body, chain.last_lsn, &mut stream),
            None => ends = true,
        }
        if ends || stream.len() >= COPY_SIZE {
            file.write_at(&in_sectors(&log, from, &stream), offset_of(from)).map_err(failed)?;
            stream.clear();
            from = chain.position;
        }
    }
    file.sync().map_err(failed)?;
    Ok((file, chain))
}

/// Gives the log that was written beside it the path of the log.
fn put_in_place(disk: &dyn Disk, path: &Path) -> Result<()> {
    disk.rename(&path_beside(path), path)
        .and_then(|()| disk.sync_directory(path))
        .map_err(|error| Error::io("cannot replace", path.display().to_string(), &error))
}

/// Writes records, and zeroes behind them when the file has to grow. Returns the size of the file.
fn write_stream(
    file: &dyn DiskFile,
    log: &LogHeader,
    from: u64,
    stream: &[u8],
    file_size: u64,
) -> io::Result<u64> {
    if stream.is_empty() {
        return Ok(file_size);
    }
    let mut bytes = in_sectors(log, from, stream);
    let offset = offset_of(from);
    let end = offset + bytes.len() as u64;
    if end <= file_size {
        file.write_at(&bytes, offset)?;
        return Ok(file_size);
    }
    let records_size = bytes.len();
    let growth = (end / 4).clamp(GROWTH_MIN, GROWTH_MAX);
    let grown = (end + growth).next_multiple_of(4096);
    bytes.resize((grown - offset) as usize, 0);
    match file.write_at(&bytes, offset) {
        Ok(()) => Ok(grown),
        // There may be room for the records without the zeroes.
        Err(error) if error.kind() == io::ErrorKind::StorageFull => {
            file.write_at(&bytes[..records_size], offset)?;
            Ok(file.size()?.max(end))
        }
        Err(error) => Err(error),
    }
}

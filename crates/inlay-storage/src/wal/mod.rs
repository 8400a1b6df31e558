//! The write-ahead log: one record for each transaction, durable before the commit is acknowledged.
//!
//! [`Wal::append`] gives a record its number (LSN) and puts it into a buffer; [`Wal::sync_to`] returns when it is as
//! durable as asked for. Whoever comes first writes and syncs for all that wait: group commit.
//!
//! Invariants
//! - Records are numbered without gaps and chained by checksums; a record is in the file completely or not at all.
//! - After a failed sync the log takes nothing more, and everyone who waits fails: what the disk has of it is not known. A
//!   failed write, for want of room or whatever reason, is no such failure if the file has zeroes there as before. The
//!   records that were not written are forgotten, their numbers are given again, and who waits for them fails (*epochs*
//!   tell the old ones from the new). Room is taken by zeroes first, and the first sector of what is written comes last, so
//!   that nobody who reads the log meets a record that is forgotten.
//! - A log file is made beside the old one, durable, and then renamed over it, so there is always one complete log.
//! - A log serves the file that it was made for ([`Tie`]) and no other. It is locked while it is open, and a name is given
//!   to a new log only if it leads to the one that this takes the place of, or to nothing.
//!
//! docs/format.md specifies the bytes and argues why damage and a torn end can be told apart.

mod format;
mod reader;
mod scan;
#[cfg(test)]
mod tests;
mod tie;

pub use reader::{Poll, WalReader};
pub use tie::Tie;

use crate::io::{Disk, DiskFile, FileIdentity, Leads, LockKind, OpenMode, Place, WRITER_LOCK, is_full};
use format::{Chain, LogHeader, SECTOR, in_sectors, offset_of};
use inlay_types::{Error, Result};
use parking_lot::{Condvar, Mutex, MutexGuard};
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
    place: Place,
    /// The end of all records, written or not.
    chain: Chain,
    /// Records that are not written, and their position.
    pending: Vec<u8>,
    pending_from: u64,
    /// Size of the file, with the zeroes at its end.
    file_size: u64,
    /// The end of the records that are written.
    written: Chain,
    durable_lsn: Lsn,
    /// The end of the records that were acknowledged, be they written or not.
    promised: Chain,
    /// For each write that failed: the last record that stayed. Their number is the epoch.
    kept: Vec<Lsn>,
    /// Why the last of these writes failed.
    unwritten: Option<Error>,
    /// Somebody writes for all.
    is_busy: bool,
    failure: Option<Error>,
}

impl Wal {
    /// Makes a new, durable log for a file; the first record will have the number behind the file's.
    ///
    /// It takes the place of the log `replaced`, or of none: whatever else has the name stays.
    pub fn create(
        disk: &Arc<dyn Disk>,
        path: &Path,
        tie: &Tie,
        replaced: Option<FileIdentity>,
    ) -> Result<Self> {
        let log = LogHeader {
            database_id: tie.database_id,
            salt: disk.random(),
            start_lsn: tie.lsn,
            base: tie.base,
        };
        let (file, chain) = write_log(&**disk, path, log, &mut |_| Ok(None))?;
        expect_name_of(&**disk, path, replaced)?;
        put_in_place(&**disk, path)?;
        Self::of(disk, path, file, chain)
    }

    /// Before a database is made in `file`: fails if its log would be one that has transactions, of a database that was here.
    pub fn expect_no_orphan(disk: &Arc<dyn Disk>, path: &Path, file: &Path) -> Result<()> {
        let name = path.display().to_string();
        let Some(found) = open_if_there(&**disk, path, OpenMode::ReadOnly)? else { return Ok(()) };
        let locks = WRITER_LOCK..WRITER_LOCK + 1;
        if found.is_locked(locks).map_err(|error| Error::io("cannot examine", &name, &error))? {
            return Err(tie::in_use(&name));
        }
        match read_header(&*found, &name)? {
            Some(log) if !Scanner::new(&*found, &name, Chain::new(log))?.is_blank()? => {
                Err(tie::orphan(&name, file, &log))
            }
            _ => Ok(()),
        }
    }

    /// Whether there is a log of this name and it belongs to the file.
    pub fn is_there(disk: &Arc<dyn Disk>, path: &Path, tie: &Tie) -> Result<bool> {
        let name = path.display().to_string();
        let Some(file) = open_if_there(&**disk, path, OpenMode::ReadOnly)? else { return Ok(false) };
        Ok(read_header(&*file, &name)?.is_some_and(|log| tie.fits(&log)))
    }

    /// Opens the log of a file, or makes one if there is none, and replays in order every record that the file lacks.
    ///
    /// An incomplete record at the end is forgotten. Damage, a log with transactions of another file, one that begins
    /// after what the file has, and one that lacks what the file says it has are errors; what was replayed until then
    /// must be forgotten too.
    pub fn open(
        disk: &Arc<dyn Disk>,
        path: &Path,
        tie: &Tie,
        replay: &mut dyn FnMut(Lsn, &[u8]) -> Result<()>,
    ) -> Result<Self> {
        let name = path.display().to_string();
        let Some(file) = open_if_there(&**disk, path, OpenMode::ReadWrite)? else {
            return Self::unless_needed(disk, path, tie, "does not exist", None);
        };
        lock(&*file, &name)?;
        let there = Some(file.identity());
        let Some(log) = read_header(&*file, &name)? else {
            return Self::unless_needed(disk, path, tie, "is empty", there);
        };
        let mut scanner = Scanner::new(&*file, &name, Chain::new(log))?;
        if log.database_id == tie.database_id && log.start_lsn > tie.lsn {
            return Err(Error::corrupt(format!(
                "\"{name}\" begins after transaction {}, and the database ends with {}: one of them is an old copy",
                log.start_lsn, tie.lsn
            )));
        }
        if !tie.fits(&log) {
            return match scanner.is_blank()? {
                // It has nothing: whose it was does not matter.
                true => Self::unless_needed(disk, path, tie, "is another one, without transactions", there),
                false => Err(tie.foreign(&name, &log)),
            };
        }
        loop {
            match scanner.next()? {
                Step::Record(body) if scanner.chain.last_lsn > tie.lsn => {
                    replay(scanner.chain.last_lsn, &body)?;
                }
                Step::Record(_) => {}
                Step::Incomplete => break,
                Step::Damaged => return Err(scanner.damage()),
            }
        }
        scanner.expect_torn()?;
        tie.expect_end(&name, scanner.chain.last_lsn)?;
        // Written anew, for what was read may be in the system's cache alone if a sync failed before, and what is
        // behind the end must be zeroes.
        let chain = scanner.chain;
        let wal = Self::of(disk, path, file, chain)?;
        wal.restart(tie.lsn, tie.base)?;
        Ok(wal)
    }

    /// Makes a log, unless the file says that there is one.
    fn unless_needed(
        disk: &Arc<dyn Disk>,
        path: &Path,
        tie: &Tie,
        found: &str,
        replaced: Option<FileIdentity>,
    ) -> Result<Self> {
        if tie.needs_log() {
            return Err(tie.missing(&path.display().to_string(), found));
        }
        Self::create(disk, path, tie, replaced)
    }

    fn of(disk: &Arc<dyn Disk>, path: &Path, file: Arc<dyn DiskFile>, chain: Chain) -> Result<Self> {
        let name = path.display().to_string();
        let file_size = file.size().map_err(|error| Error::io("cannot read", &name, &error))?;
        let state = State {
            place: Place::new(disk, path, file.identity()),
            file,
            chain,
            pending: Vec::new(),
            pending_from: chain.position,
            file_size,
            written: chain,
            durable_lsn: chain.last_lsn,
            promised: chain,
            kept: Vec::new(),
            unwritten: None,
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

    /// The number that tells this log from those before it.
    pub fn salt(&self) -> u64 {
        self.state.lock().chain.log.salt
    }

    /// Whether the log is found by its name.
    pub fn leads(&self) -> Result<Leads> {
        let place = self.state.lock().place.clone();
        place.leads()
    }

    /// Removes the log of a file that is closed, if the name still leads to it. Everything in it is in the file.
    pub fn remove(&self) -> Result<()> {
        let state = self.state.lock();
        if state.place.leads()? != Leads::Here {
            return Ok(());
        }
        self.disk
            .remove(&self.path)
            .and_then(|()| self.disk.sync_directory(&self.path))
            .map_err(|error| Error::io("cannot remove", &self.name, &error))
    }

    /// Makes everything that was appended durable, or forgets it.
    pub fn sync_all(&self) -> Result<()> {
        let (epoch, last) = {
            let state = self.state.lock();
            (state.kept.len(), state.chain.last_lsn)
        };
        match self.sync_in(epoch, last, Synchronous::Full) {
            // Those that stayed are written, but for ones that were acknowledged already.
            Err(_) if self.has_forgotten(epoch, last) => {
                let (epoch, last) = {
                    let state = self.state.lock();
                    (state.kept.len(), state.chain.last_lsn)
                };
                self.sync_in(epoch, last, Synchronous::Full)
            }
            synced => synced,
        }
    }

    /// The log's salt and its last durable transaction, for the file to note. A log that failed may be another one than its
    /// name leads to, and nothing may be noted of it.
    pub fn durable_end(&self) -> Result<(u64, Lsn)> {
        let state = self.state.lock();
        state.expect_whole()?;
        Ok((state.chain.log.salt, state.durable_lsn))
    }

    /// Why nothing more can be logged, if so.
    pub fn failure(&self) -> Option<Error> {
        self.state.lock().failure.clone()
    }

    /// How often records were forgotten because they could not be written, and, if that is more often than `known`, the last
    /// record that stayed.
    pub fn epoch(&self, known: usize) -> (usize, Option<Lsn>) {
        let state = self.state.lock();
        (state.kept.len(), state.kept.get(known).copied())
    }

    /// Whether a record, which was numbered in `epoch`, was forgotten since.
    pub fn has_forgotten(&self, epoch: usize, lsn: Lsn) -> bool {
        self.state.lock().kept.get(epoch).is_some_and(|kept| lsn > *kept)
    }

    /// Puts a record into the buffer and numbers it.
    #[cfg(test)]
    pub fn append(&self, body: &[u8]) -> Result<Lsn> {
        self.append_in(self.epoch(0).0, body)
    }

    /// Puts a record into the buffer and numbers it. Fails if records before it have been forgotten, which the caller, who
    /// knows of `epoch`, took for being there.
    pub fn append_in(&self, epoch: usize, body: &[u8]) -> Result<Lsn> {
        let mut state = self.state.lock();
        let state = &mut *state;
        state.expect_whole()?;
        if let (true, Some(cause)) = (epoch < state.kept.len(), &state.unwritten) {
            return Err(cause.clone());
        }
        state.chain.append(body, state.durable_lsn, &mut state.pending);
        Ok(state.chain.last_lsn)
    }

    /// Returns when the records up to `lsn` are as durable as asked for. After an error it is unknown whether they are.
    #[cfg(test)]
    pub fn sync_to(&self, lsn: Lsn, synchronous: Synchronous) -> Result<()> {
        self.sync_in(self.epoch(0).0, lsn, synchronous)
    }

    /// Returns when the records up to `lsn`, which was given in `epoch`, are as durable as asked for. After an error it is
    /// unknown whether they are, unless [`Wal::has_forgotten`] says that they are not.
    pub fn sync_in(&self, epoch: usize, lsn: Lsn, synchronous: Synchronous) -> Result<()> {
        let mut state = self.state.lock();
        let failures = state.kept.len();
        loop {
            let is_forgotten = state.kept.get(epoch).is_some_and(|kept| lsn > *kept);
            let was_not_written = state.kept.len() > failures && lsn > state.written.last_lsn;
            let is_promised = synchronous == Synchronous::Off && lsn <= state.promised.last_lsn;
            if let (true, Some(cause)) = (is_forgotten || (was_not_written && !is_promised), &state.unwritten)
            {
                return Err(cause.clone());
            }
            let is_done = match synchronous {
                Synchronous::Full => state.durable_lsn >= lsn,
                Synchronous::Normal => state.written.last_lsn >= lsn,
                Synchronous::Off => is_promised || state.pending.len() < BUFFER_SIZE,
            };
            if is_done {
                if lsn > state.promised.last_lsn {
                    state.promised = if lsn <= state.written.last_lsn { state.written } else { state.chain };
                }
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
        let (from, end) = (state.pending_from, state.chain);
        state.pending_from = end.position;
        let (file, file_size) = (state.file.clone(), state.file_size);
        let result = MutexGuard::unlocked(state, || -> std::result::Result<u64, Unwritten> {
            let size = write_stream(&*file, &end.log, from, &stream, file_size)?;
            if sync {
                file.sync().map_err(Unwritten::unknown)?;
            }
            Ok(size)
        });
        state.is_busy = false;
        match result {
            Ok(file_size) => {
                state.file_size = file_size;
                state.written = end;
                if sync {
                    state.durable_lsn = end.last_lsn;
                }
            }
            Err(unwritten) => {
                let error = Error::io("cannot write the log", &self.name, &unwritten.error);
                if unwritten.is_clean {
                    state.forget_unwritten(stream, from, error);
                } else {
                    state.failure = Some(error);
                }
            }
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
        while scanner.chain.last_lsn < state.written.last_lsn {
            let Step::Record(_) = scanner.next()? else { return Err(scanner.damage()) };
        }
        Ok(())
    }

    /// Forgets the records up to `after_lsn`, which a checkpoint took into the database file.
    ///
    /// The new one is made for the state of the file that has the number `base`. A failure before it took the place of the
    /// old one changes nothing, and the log can be used as before.
    pub fn restart(&self, after_lsn: Lsn, base: u64) -> Result<()> {
        let mut state = self.state.lock();
        // Others may append while the lock is released.
        let failures = state.kept.len();
        while state.is_busy || !state.pending.is_empty() {
            state.expect_whole()?;
            if let (true, Some(cause)) = (state.kept.len() > failures, &state.unwritten) {
                return Err(cause.clone());
            }
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
        let database_id = state.chain.log.database_id;
        let log = LogHeader { database_id, salt: self.disk.random(), start_lsn, base };
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
        let (file, chain) = write_log(&*self.disk, &self.path, log, &mut next).inspect_err(|error| {
            // Half a log takes room that may be wanting.
            if !matches!(error, Error::Locked { .. }) {
                let _ = self.disk.remove(&path_beside(&self.path));
            }
        })?;
        expect_name_of(&*self.disk, &self.path, Some(state.file.identity()))?;
        if let Err(error) = put_in_place(&*self.disk, &self.path) {
            state.failure = Some(error.clone());
            return Err(error);
        }
        let size = file.size().map_err(|error| Error::io("cannot read", &self.name, &error))?;
        state.place = Place::new(&self.disk, &self.path, file.identity());
        state.file = file;
        state.chain = chain;
        state.pending_from = chain.position;
        state.file_size = size;
        (state.written, state.promised) = (chain, chain);
        state.durable_lsn = chain.last_lsn;
        self.changed.notify_all();
        Ok(())
    }
}

impl State {
    /// Forgets the records of `stream`, from position `from`, which could not be written, and those behind them. What was
    /// acknowledged already stays, to be written later.
    fn forget_unwritten(&mut self, mut stream: Vec<u8>, from: u64, cause: Error) {
        stream.append(&mut self.pending);
        self.chain =
            if self.promised.last_lsn > self.written.last_lsn { self.promised } else { self.written };
        stream.truncate((self.chain.position - from) as usize);
        (self.pending, self.pending_from) = (stream, from);
        self.kept.push(self.chain.last_lsn);
        self.unwritten = Some(cause);
    }

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
    let file = disk.open(&beside, OpenMode::Create).map_err(failed)?;
    lock(&*file, &name)?;
    file.set_size(0).map_err(failed)?;
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

/// Before a log takes the place of `log`: fails if its name leads to another file by now.
fn expect_name_of(disk: &dyn Disk, path: &Path, log: Option<FileIdentity>) -> Result<()> {
    let name = path.display().to_string();
    let found = disk.identity(path).map_err(|error| Error::io("cannot examine", &name, &error))?;
    if found.is_none() || found == log {
        return Ok(());
    }
    let _ = disk.remove(&path_beside(path));
    Err(Error::Locked {
        message: format!(
            "\"{name}\" is another file than the log that was opened, and stays as it is: somebody put it there. What was \
             committed is safe; close the database and look whose log it is"
        ),
    })
}

/// Opens a file if there is one.
fn open_if_there(disk: &dyn Disk, path: &Path, mode: OpenMode) -> Result<Option<Arc<dyn DiskFile>>> {
    match disk.open(path, mode) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::io("cannot open", path.display().to_string(), &error)),
    }
}

/// Keeps a log from being taken by whoever opens another file that is found beside it.
fn lock(file: &dyn DiskFile, name: &str) -> Result<()> {
    match file.try_lock(WRITER_LOCK, LockKind::Exclusive) {
        Ok(true) => Ok(()),
        Ok(false) => Err(tie::in_use(name)),
        Err(error) => Err(Error::io("cannot lock", name, &error)),
    }
}

/// Why records were not written.
struct Unwritten {
    error: io::Error,
    /// The file has zeroes where they would be.
    is_clean: bool,
}

impl Unwritten {
    fn unknown(error: io::Error) -> Self {
        Self { error, is_clean: false }
    }

    fn clean(error: io::Error) -> Self {
        Self { error, is_clean: true }
    }
}

/// Writes records, and before them zeroes as far as the file has to grow. Returns the size of the file.
fn write_stream(
    file: &dyn DiskFile,
    log: &LogHeader,
    from: u64,
    stream: &[u8],
    file_size: u64,
) -> std::result::Result<u64, Unwritten> {
    if stream.is_empty() {
        return Ok(file_size);
    }
    let bytes = in_sectors(log, from, stream);
    let offset = offset_of(from);
    let end = offset + bytes.len() as u64;
    let file_size = if end <= file_size { file_size } else { grow(file, file_size, end)? };
    // Without its first sector the rest is no record, for whoever reads.
    let in_first = (SECTOR - offset % SECTOR).min(bytes.len() as u64);
    let (first, rest) = bytes.split_at(in_first as usize);
    let written = match rest {
        [] => Ok(()),
        rest => file.write_at(rest, offset + in_first),
    };
    let Err(error) = written.and_then(|()| file.write_at(first, offset)) else { return Ok(file_size) };
    // There are disks that need room for what is overwritten. Nothing of it may come back after a power cut.
    match write_zeroes(file, offset, end).1.and_then(|()| file.sync()) {
        Ok(()) => Err(Unwritten::clean(error)),
        Err(_) => Err(Unwritten::unknown(error)),
    }
}

/// Writes zeroes from the end of the file to `end` and, if there is room, on from there. Returns the size of the file.
fn grow(file: &dyn DiskFile, file_size: u64, end: u64) -> std::result::Result<u64, Unwritten> {
    let growth = (end / 4).clamp(GROWTH_MIN, GROWTH_MAX);
    let grown = (end + growth).next_multiple_of(4096);
    let (reached, outcome) = write_zeroes(file, file_size, grown);
    match outcome {
        Ok(()) => Ok(grown),
        Err(_) if reached >= end => Ok(reached),
        Err(error) if is_full(&error) && write_zeroes(file, reached, end).1.is_ok() => Ok(end),
        Err(error) => {
            // Others want for the room, too. What fails here is written over by the next record.
            let _ = file.set_size(file_size);
            Err(Unwritten::clean(error))
        }
    }
}

/// Writes zeroes, in parts, and says how far it came.
fn write_zeroes(file: &dyn DiskFile, from: u64, to: u64) -> (u64, io::Result<()>) {
    let zeroes = vec![0; (to - from).min(COPY_SIZE as u64) as usize];
    let mut at = from;
    while at < to {
        let size = (to - at).min(COPY_SIZE as u64);
        if let Err(error) = file.write_at(&zeroes[..size as usize], at) {
            return (at, Err(error));
        }
        at += size;
    }
    (at, Ok(()))
}

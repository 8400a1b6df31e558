//! Opening a database: the last checkpoint from the file, then the transactions of the log behind it.

use super::checkpoint::Checkpointed;
use super::commit::stored_columns;
use super::log::Record;
use super::object::ObjectId;
use super::state::State;
use super::{Durable, Store};
use crate::file::{BlockFile, FORMAT_VERSION, Root};
use crate::home::{Home, Stored};
use crate::io::{Disk, FileIdentity, Leads, Place};
use crate::table::Table;
use crate::wal::{Poll, Synchronous, Tie, Wal, WalReader};
use inlay_types::{Error, MemoryBudget, Result};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Weak};
use std::time::Duration;

/// Whether a database may be changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum AccessMode {
    /// Yes; no other process may.
    #[default]
    ReadWrite,
    /// No; another process may change it meanwhile, and this one sees what it commits.
    ReadOnly,
}

/// How to open a database.
#[derive(Clone, Copy, Debug)]
pub struct StoreOptions {
    /// Whether it may be changed.
    pub access: AccessMode,
    /// How durable a commit is when it returns.
    pub synchronous: Synchronous,
    /// Size of the log in bytes from which on a commit makes a checkpoint.
    pub checkpoint_threshold: u64,
}

impl Default for StoreOptions {
    fn default() -> Self {
        Self { access: AccessMode::default(), synchronous: Synchronous::Full, checkpoint_threshold: 16 << 20 }
    }
}

/// The log of the database in `path`.
pub(super) fn wal_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".wal");
    PathBuf::from(name)
}

/// The name of a file without links: its log and whatever else belongs to it lies beside that.
pub(super) fn resolved(disk: &Arc<dyn Disk>, path: &Path) -> Result<PathBuf> {
    disk.resolve(path).map_err(|error| Error::io("cannot open", path.display().to_string(), &error))
}

/// What the header of a file says of its log, which lies beside the name `path`.
pub(super) fn tie_of(file: &BlockFile, path: &Path) -> Tie {
    let mark = file.log_mark();
    let name = file.path().display().to_string();
    let other = mark.path().filter(|other| other != path && other != file.path());
    Tie {
        database_id: file.database_id(),
        lsn: file.root().lsn,
        salt: mark.salt,
        expected: mark.lsn,
        base: file.fingerprint(),
        file: name,
        log_was: other.map(|other| wal_path(&other).display().to_string()),
    }
}

/// The name of an open file that its log lies beside: a file with several hard links has one log, and the header says by
/// which name it is found while it is needed.
pub(super) fn logged_path(disk: &Arc<dyn Disk>, file: &BlockFile, path: &Path) -> Result<PathBuf> {
    let mark = file.log_mark();
    let needed = mark.lsn > file.root().lsn;
    let Some(noted) = mark.path().filter(|noted| needed && noted != path) else {
        return Ok(path.to_path_buf());
    };
    let is_link = Place::new(disk, &noted, file.identity()).leads().is_ok_and(|leads| leads == Leads::Here);
    // A log that cannot be read is told of by who opens it.
    let is_there = |path: &Path| Wal::is_there(disk, &wal_path(path), &tie_of(file, path)).unwrap_or(false);
    let is_along = is_link && !is_there(&noted) && is_there(path);
    Ok(if is_link && !is_along { noted } else { path.to_path_buf() })
}

/// Opens a file for writing, which is created if there is none. The name leads to it when it is locked, so that nobody
/// else is about to use the same log.
fn open_by_name(disk: &Arc<dyn Disk>, path: &Path) -> Result<(Arc<BlockFile>, Root)> {
    let may_create = || Wal::expect_no_orphan(disk, &wal_path(path), path);
    for _ in 0..NAMES_TRIED_MAX {
        let exists = disk
            .exists(path)
            .map_err(|error| Error::io("cannot open", path.display().to_string(), &error))?;
        if !exists {
            may_create()?;
        }
        let (file, root) = BlockFile::open_unless(&**disk, path, false, &may_create)?;
        if Place::new(disk, path, file.identity()).leads()? == Leads::Here {
            return Ok((file, root));
        }
    }
    let message = format!("\"{}\" leads to another file each time it is opened", path.display());
    Err(Error::Locked { message })
}

/// How often a name is opened that leads to another file behind our back.
const NAMES_TRIED_MAX: usize = 10;

/// What replaying a log has made of a state.
struct Replay {
    home: Arc<Home>,
    state: State,
    tables: HashMap<ObjectId, Arc<Table>>,
    logged: Vec<Stored>,
}

impl Replay {
    fn apply(&mut self, lsn: u64, body: &[u8]) -> Result<()> {
        let record = Record::decode(body, &self.home)?;
        for column in record.tables.iter().flat_map(|(_, changes)| changes).flat_map(stored_columns) {
            column.set_committed(lsn);
            self.logged.push(column);
        }
        record.replay(&mut self.state, &mut self.tables, &self.home)?;
        self.state.lsn = lsn;
        Ok(())
    }
}

impl Store {
    /// Opens the database in a file; one that may be written is created if there is none.
    pub fn open(
        disk: &Arc<dyn Disk>,
        path: &Path,
        options: StoreOptions,
        budget: MemoryBudget,
    ) -> Result<Arc<Self>> {
        if options.access == AccessMode::ReadOnly {
            return Self::open_to_read(disk, path, budget);
        }
        let path = &resolved(disk, path)?;
        let (file, root) = open_by_name(disk, path)?;
        let path = &logged_path(disk, &file, path)?;
        let place = Place::new(disk, path, file.identity());
        let home = Home::new(Arc::clone(&file), budget.clone());
        let (state, checkpointed, next_id) = Self::read_catalog(&home, &root)?;
        let mut replay =
            Replay { home: Arc::clone(&home), state, tables: HashMap::new(), logged: Vec::new() };
        let tie = tie_of(&file, path);
        let wal = Wal::open(disk, &wal_path(path), &tie, &mut |lsn, body| replay.apply(lsn, body))?;
        let durable = Durable {
            home,
            wal,
            place,
            synchronous: Mutex::new(options.synchronous),
            checkpoint_threshold: AtomicU64::new(options.checkpoint_threshold),
        };
        let Replay { state, logged, .. } = replay;
        let store = Self::of(budget, Some(durable), None, state, checkpointed, next_id);
        store.commits.lock().logged = logged;
        let store = Arc::new(store);
        if store.home().is_some_and(|home| home.file().format() < FORMAT_VERSION) {
            // A log has records of one format.
            store.checkpoint()?;
        }
        match store.checkpoint_if_due() {
            // It can wait until there is room: everything is in the log.
            Err(Error::DiskFull { .. }) => {}
            done => done?,
        }
        Ok(store)
    }

    fn open_to_read(disk: &Arc<dyn Disk>, path: &Path, budget: MemoryBudget) -> Result<Arc<Self>> {
        let reader = Reader {
            disk: Arc::clone(disk),
            path: resolved(disk, path)?,
            following: Mutex::default(),
            budget: budget.clone(),
        };
        let (following, state) = reader.start()?;
        *reader.following.lock() = Some(following);
        let store = Self::of(budget, None, Some(reader), state, Checkpointed::default(), 1);
        Ok(Arc::new(store))
    }

    /// Which file it is, and what is alive until it is closed; `None` in memory.
    pub fn identity(&self) -> Option<(FileIdentity, Weak<()>)> {
        let file = match &self.durable {
            Some(durable) => Arc::clone(&durable.home),
            None => self.reader.as_ref().and_then(Reader::home)?,
        };
        Some((file.file().identity(), file.file().opened()))
    }

    /// Closes the database: puts everything into the file, so that the next opening has no log to replay. An error
    /// loses nothing: the log has it.
    pub fn close(&self) -> Result<()> {
        if self.durable.is_none() || self.check_writable().is_err() {
            return Ok(());
        }
        self.checkpoint()
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        // Whatever fails here is in the log.
        let is_closed = self.close().is_ok();
        if let Some(durable) = self.durable.as_ref().filter(|_| is_closed && self.check_writable().is_ok()) {
            // Everything is in the file, whose header says so: nobody needs the log. The file is locked until it is gone.
            let _ = durable.wal.remove();
        }
    }
}

/// What a process that only reads knows of a file that another may be writing.
#[derive(Debug)]
pub(super) struct Reader {
    disk: Arc<dyn Disk>,
    path: PathBuf,
    following: Mutex<Option<Following>>,
    budget: MemoryBudget,
}

#[derive(Debug)]
struct Following {
    home: Arc<Home>,
    wal: WalReader,
}

impl Reader {
    pub fn name(&self) -> String {
        self.path.display().to_string()
    }

    /// Opens the file at its newest header and replays the log behind it.
    fn start(&self) -> Result<(Following, State)> {
        let (file, root) = BlockFile::open(&*self.disk, &self.path, true)?;
        let home = Home::new(file, self.budget.clone());
        let mut following = self.following(home, &root)?;
        let state = self.newest(&mut following, Some(root), State::default())?;
        Ok((following, state))
    }

    fn following(&self, home: Arc<Home>, root: &Root) -> Result<Following> {
        let mut wal = WalReader::open(&self.disk, None, Tie { lsn: root.lsn, ..Tie::default() });
        self.place(home.file(), &mut wal)?;
        Ok(Following { home, wal })
    }

    /// Tells who follows the log what the file says of it by now, and where it is.
    fn place(&self, file: &BlockFile, wal: &mut WalReader) -> Result<()> {
        let path = logged_path(&self.disk, file, &self.path)?;
        // A log beside another file is not ours.
        let is_here = Place::new(&self.disk, &path, file.identity()).leads()? == Leads::Here;
        wal.set_place(is_here.then(|| wal_path(&path)).as_deref(), tie_of(file, &path));
        Ok(())
    }

    fn home(&self) -> Option<Arc<Home>> {
        self.following.lock().as_ref().map(|following| Arc::clone(&following.home))
    }

    /// What does not hold in the file at the generation that is read, and in the log behind it.
    pub fn verify(&self) -> Result<Vec<String>> {
        let slot = self.following.lock();
        let Some(following) = &*slot else { return Err(Error::internal("a reader that follows nothing")) };
        let root = following.home.file().root();
        let mut problems = super::maintain::verify_root(&following.home, &root)?;
        let mut wal = self.following(Arc::clone(&following.home), &root)?.wal;
        match wal.poll(&mut |_, _| Ok(())) {
            Ok(Poll::UpTo(_) | Poll::Behind) => {}
            Ok(Poll::Unfit(error)) | Err(error) => problems.push(error.to_string()),
        }
        Ok(problems)
    }

    /// Makes what the writing process committed visible in `store`.
    pub fn follow(&self, store: &Store) -> Result<()> {
        let mut slot = self.following.lock();
        let Some(following) = &mut *slot else {
            return Err(Error::internal("a reader that follows nothing"));
        };
        let root = following.home.file().refresh()?;
        self.place(following.home.file(), &mut following.wal)?;
        let known = store.state();
        // What was replayed before an error was seen and is not there: everything is read anew.
        let is_ahead = following.wal.lsn() != known.lsn;
        let root = root.or_else(|| is_ahead.then(|| following.home.file().root()));
        let has_root = root.is_some();
        let state = self.newest(following, root, State::clone(&known))?;
        if has_root || state.lsn > known.lsn {
            *store.visible.write() = Arc::new(state);
        }
        Ok(())
    }

    /// The newest state: from a root, if there is a new one, and the log behind it.
    fn newest(&self, following: &mut Following, mut root: Option<Root>, mut state: State) -> Result<State> {
        let mut unfit = 0;
        for _ in 0..ROOTS_TRIED_MAX {
            if let Some(root) = root {
                *following = self.following(following.home.at_newest_generation(), &root)?;
                state = Store::read_catalog(&following.home, &root)?.0;
            }
            let home = Arc::clone(&following.home);
            let mut replay = Replay { home, state, tables: HashMap::new(), logged: Vec::new() };
            let end = following.wal.poll(&mut |lsn, body| replay.apply(lsn, body))?;
            state = replay.state;
            match end {
                Poll::UpTo(_) => return Ok(state),
                // A checkpoint went by between the root and the log.
                Poll::Behind => root = following.home.file().refresh()?,
                Poll::Unfit(error) => {
                    unfit += 1;
                    if unfit == UNFIT_MAX {
                        return Err(error);
                    }
                    // The writing process may have been between the header and the log.
                    std::thread::sleep(UNFIT_PAUSE);
                    root = following.home.file().refresh()?;
                    self.place(following.home.file(), &mut following.wal)?;
                }
            }
        }
        Err(Error::Locked {
            message: format!("\"{}\" changes faster than it can be read; try again", self.name()),
        })
    }
}

/// A log that does not fit the file is looked at this often, with pauses between, before that is believed.
const UNFIT_MAX: usize = 20;
const UNFIT_PAUSE: Duration = Duration::from_millis(1);
/// A reader that meets this many checkpoints in a row gives up.
const ROOTS_TRIED_MAX: usize = 100;

//! Opening a database: the last checkpoint from the file, then the transactions of the log behind it.

use super::checkpoint::Checkpointed;
use super::commit::stored_columns;
use super::log::Record;
use super::object::ObjectId;
use super::state::State;
use super::{Durable, Store};
use crate::file::{BlockFile, Root};
use crate::home::{Home, Stored};
use crate::io::Disk;
use crate::table::Table;
use crate::wal::{Poll, Synchronous, Wal, WalReader};
use inlay_types::{Error, MemoryBudget, Result};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

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
        let exists = disk
            .exists(path)
            .map_err(|error| Error::io("cannot open", path.display().to_string(), &error))?;
        let (file, root) = if exists {
            BlockFile::open(&**disk, path, false)?
        } else {
            let file = BlockFile::create(&**disk, path)?;
            let root = file.root();
            Wal::replace_blank(disk, &wal_path(path), file.database_id(), root.lsn)?;
            (file, root)
        };
        let home = Home::new(Arc::clone(&file), budget.clone());
        let (state, checkpointed, next_id) = Self::read_catalog(&home, &root)?;
        let mut replay =
            Replay { home: Arc::clone(&home), state, tables: HashMap::new(), logged: Vec::new() };
        let wal = Wal::open(disk, &wal_path(path), file.database_id(), root.lsn, &mut |lsn, body| {
            replay.apply(lsn, body)
        })?;
        let durable = Durable {
            home,
            wal,
            synchronous: Mutex::new(options.synchronous),
            checkpoint_threshold: AtomicU64::new(options.checkpoint_threshold),
        };
        let Replay { state, logged, .. } = replay;
        let store = Self::of(budget, Some(durable), None, state, checkpointed, next_id);
        store.commits.lock().logged = logged;
        let store = Arc::new(store);
        store.checkpoint_if_due()?;
        Ok(store)
    }

    fn open_to_read(disk: &Arc<dyn Disk>, path: &Path, budget: MemoryBudget) -> Result<Arc<Self>> {
        let reader = Reader {
            disk: Arc::clone(disk),
            path: path.to_path_buf(),
            following: Mutex::default(),
            budget: budget.clone(),
        };
        let (following, state) = reader.start()?;
        *reader.following.lock() = Some(following);
        let store = Self::of(budget, None, Some(reader), state, Checkpointed::default(), 1);
        Ok(Arc::new(store))
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
        let _ = self.close();
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
        let mut following = self.following(home, &root);
        let state = self.newest(&mut following, Some(root), State::default())?;
        Ok((following, state))
    }

    fn following(&self, home: Arc<Home>, root: &Root) -> Following {
        let database_id = home.file().database_id();
        let wal = WalReader::open(&self.disk, &wal_path(&self.path), database_id, root.lsn);
        Following { home, wal }
    }

    /// What does not hold in the file at the generation that is read, and in the log behind it.
    pub fn verify(&self) -> Result<Vec<String>> {
        let slot = self.following.lock();
        let Some(following) = &*slot else { return Err(Error::internal("a reader that follows nothing")) };
        let root = following.home.file().root();
        let mut problems = super::maintain::verify_root(&following.home, &root)?;
        let mut wal = self.following(Arc::clone(&following.home), &root).wal;
        if let Err(error) = wal.poll(&mut |_, _| Ok(())) {
            problems.push(error.to_string());
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
        let known = store.state();
        let has_root = root.is_some();
        let state = self.newest(following, root, State::clone(&known))?;
        if has_root || state.lsn > known.lsn {
            *store.visible.write() = Arc::new(state);
        }
        Ok(())
    }

    /// The newest state: from a root, if there is a new one, and the log behind it.
    fn newest(&self, following: &mut Following, mut root: Option<Root>, mut state: State) -> Result<State> {
        for _ in 0..ROOTS_TRIED_MAX {
            if let Some(root) = root {
                *following = self.following(following.home.at_newest_generation(), &root);
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
            }
        }
        Err(Error::Locked {
            message: format!("\"{}\" changes faster than it can be read; try again", self.name()),
        })
    }
}

/// A reader that meets this many checkpoints in a row gives up.
const ROOTS_TRIED_MAX: usize = 100;

//! A database: its newest committed state, the transactions on it, and, unless it lives in memory, its file and log.
//!
//! ```text
//! begin  -> Transaction on the newest visible State
//! commit -> checks, rebase, log record    (under the lock of commits)
//!        -> one sync for all that wait    (no lock)
//!        -> the State becomes visible
//! checkpoint -> segments, directories, catalog into the file; header; shorter log
//! ```
//! Invariants
//! - States are numbered by the commits they contain; a state is visible once all of its commits are durable.
//! - A commit that could not be written to the log, as on a full disk, is taken back ([`retreat`]), and the next one is tried.
//!   After a failed sync, or a failed write of a header, nothing more is committed until the database is opened again; reads
//!   go on.
//!
//! [`object`] and [`state`]: what there is. [`transaction`], [`commit`], [`history`], [`intents`]: who may change it.
//! [`log`], [`directory`], [`checkpoint`], [`maintain`]: how it is kept.

mod checkpoint;
mod commit;
mod definition;
mod directory;
mod forked_map;
mod history;
mod intents;
mod log;
mod maintain;
mod object;
mod open;
mod place;
mod retreat;
mod state;
mod transaction;

pub use definition::{Definition, DefinitionKind};
pub use maintain::{Recovered, RecoveryReport};
pub use object::{
    Counter, IndexDefinition, IndexKind, Object, ObjectId, Sequence, SequenceOptions, TableSlot, View,
};
pub use open::{AccessMode, StoreOptions};
pub use state::{CatalogMark, State, name_key};
pub use transaction::{Isolation, RowPredicate, Transaction, TransactionOptions};

use crate::file::SpaceUse;
use crate::home::{Home, Stored};
use crate::io::Place;
use crate::wal::{Synchronous, Wal};
use checkpoint::Checkpointed;
use history::History;
use inlay_types::process::process_id;
use inlay_types::{Error, MemoryBudget, Result};
use intents::Intents;
use parking_lot::{Mutex, RwLock};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A database. See the module documentation.
#[derive(Debug)]
pub struct Store {
    budget: MemoryBudget,
    /// Absent for a database in memory.
    durable: Option<Durable>,
    /// Present when the file is only read.
    reader: Option<open::Reader>,
    commits: Mutex<Commits>,
    visible: RwLock<Arc<State>>,
    /// Open transactions by the commit they began after.
    active: Mutex<BTreeMap<u64, usize>>,
    intents: Intents,
    next_id: AtomicU64,
    next_transaction: AtomicU64,
    checkpointed: Mutex<Checkpointed>,
    /// Why nothing can be committed any more.
    failure: Mutex<Option<String>>,
    /// The process that opened it.
    process: u32,
}

/// The file and log of a database that may be written.
#[derive(Debug)]
struct Durable {
    /// Closed before the file, whose lock is the one that others wait for.
    wal: Wal,
    home: Arc<Home>,
    /// The name that the file and, beside it, the log are found by.
    place: Place,
    synchronous: Mutex<Synchronous>,
    /// Size of the log in bytes from which on a commit makes a checkpoint.
    checkpoint_threshold: AtomicU64,
}

/// The newest state, and what came before it as far as anybody needs it.
#[derive(Debug)]
struct Commits {
    tip: Arc<State>,
    history: History,
    /// Objects that log records since the last checkpoint refer to.
    logged: Vec<Stored>,
    /// Bytes of those that took the place of others, which the next checkpoint gives back.
    rewritten: u64,
    /// The states that may not be durable yet, ascending.
    unsure: VecDeque<Unsure>,
    /// How often commits were taken back because the disk was full, as far as `tip` knows.
    epoch: usize,
}

/// A commit that is taken back if the disk has no room for its record.
#[derive(Debug)]
struct Unsure {
    state: Arc<State>,
    /// What it was the first to refer to.
    objects: Vec<Stored>,
    rewritten: u64,
}

impl Store {
    /// A new database in memory.
    pub fn in_memory(budget: MemoryBudget) -> Arc<Self> {
        Arc::new(Self::of(budget, None, None, State::default(), Checkpointed::default(), 1))
    }

    fn of(
        budget: MemoryBudget,
        durable: Option<Durable>,
        reader: Option<open::Reader>,
        state: State,
        checkpointed: Checkpointed,
        next_id: ObjectId,
    ) -> Self {
        let next_id = next_id.max(state.next_id());
        let state = Arc::new(state);
        Self {
            budget,
            durable,
            reader,
            commits: Mutex::new(Commits {
                tip: Arc::clone(&state),
                history: History::default(),
                logged: Vec::new(),
                rewritten: 0,
                unsure: VecDeque::new(),
                epoch: 0,
            }),
            visible: RwLock::new(state),
            active: Mutex::default(),
            intents: Intents::default(),
            next_id: AtomicU64::new(next_id),
            next_transaction: AtomicU64::new(1),
            checkpointed: Mutex::new(checkpointed),
            failure: Mutex::default(),
            process: process_id(),
        }
    }

    /// The use of the blocks of its file and the size of its log in bytes; `None` in memory.
    pub fn space(&self) -> Option<(SpaceUse, u64)> {
        let home = self.home()?;
        let log = self.durable.as_ref().map_or(0, |durable| durable.wal.size());
        Some((home.file().space(), log))
    }

    /// The budget of its tables.
    pub fn budget(&self) -> &MemoryBudget {
        &self.budget
    }

    fn home(&self) -> Option<&Arc<Home>> {
        self.durable.as_ref().map(|durable| &durable.home)
    }

    /// Whether it lives in memory only.
    pub fn is_in_memory(&self) -> bool {
        self.durable.is_none() && self.reader.is_none()
    }

    /// Whether it is open for reading only.
    pub fn is_read_only(&self) -> bool {
        self.reader.is_some()
    }

    /// The newest visible state.
    pub fn state(&self) -> Arc<State> {
        Arc::clone(&self.visible.read())
    }

    /// Begins a transaction on the newest visible state.
    pub fn begin(self: &Arc<Self>, options: TransactionOptions) -> Result<Transaction> {
        if let Some(reader) = &self.reader {
            reader.follow(self)?;
        }
        let number = self.next_transaction.fetch_add(1, Ordering::Relaxed);
        let mut active = self.active.lock();
        let base = self.state();
        *active.entry(base.lsn).or_default() += 1;
        drop(active);
        Ok(Transaction::new(Arc::clone(self), number, base, options))
    }

    /// Ends a transaction that began after commit `lsn`.
    fn end(&self, number: u64, lsn: u64) {
        self.intents.release(number);
        let mut active = self.active.lock();
        let mut is_last = false;
        if let Some(count) = active.get_mut(&lsn) {
            *count -= 1;
            is_last = *count == 0;
            if is_last {
                active.remove(&lsn);
            }
        }
        drop(active);
        if is_last {
            self.tidy_history();
        }
    }

    fn take_id(&self) -> ObjectId {
        self.next_id.fetch_add(1, Ordering::Relaxed)
    }

    fn next_id(&self) -> ObjectId {
        self.next_id.load(Ordering::Relaxed)
    }

    /// Whether this process opened it, and not the one that it was forked from.
    pub fn is_of_this_process(&self) -> bool {
        self.process == process_id()
    }

    /// Fails when nothing can be committed.
    pub fn check_writable(&self) -> Result<()> {
        if !self.is_of_this_process() {
            // The file belongs to the parent, which goes on writing it. No lock is looked at: a thread that is not here
            // may have held it.
            let message = "this database was opened before the process was forked; open it in the child";
            return Err(Error::Closed { message: message.to_string() });
        }
        if let Some(reader) = &self.reader {
            let message = format!(
                "\"{}\" is open for reading only; connect without read_only to change it",
                reader.name()
            );
            return Err(Error::ReadOnly { message });
        }
        match &*self.failure.lock() {
            Some(reason) => Err(Error::ReadOnly {
                message: format!("the database takes no changes until it is opened again, because {reason}"),
            }),
            None => Ok(()),
        }
    }

    /// From now on nothing is committed: what is on the disk is not known.
    fn fail(&self, error: &Error) {
        self.failure.lock().get_or_insert_with(|| format!("writing failed: {error}"));
    }

    /// Before a record refers to segments in the file, they must be durable there.
    fn sync_written_segments(&self, inner: &transaction::Inner) -> Result<()> {
        let Some(durable) = &self.durable else { return Ok(()) };
        let changes = inner.tables.values().flat_map(|table| table.changes());
        if changes.into_iter().all(|change| commit::stored_columns(&change).is_empty()) {
            return Ok(());
        }
        durable.home.file().sync().inspect_err(|error| self.fail(error))
    }

    /// Waits until a state is durable, and makes it visible.
    fn make_durable(&self, state: Arc<State>) -> Result<()> {
        if let Some(durable) = &self.durable {
            // The header says nothing of a log that is not durable.
            let is_expected = durable.home.file().expects_log(durable.wal.salt());
            let synchronous = if is_expected { *durable.synchronous.lock() } else { Synchronous::Full };
            durable.wal.sync_in(state.epoch, state.lsn, synchronous).inspect_err(|error| {
                // If it could not be written, the commit is not there, and the next one may be luckier.
                if !durable.wal.has_forgotten(state.epoch, state.lsn) {
                    self.fail(error);
                }
            })?;
            durable.expect_log(state.epoch, state.lsn).inspect_err(|error| self.fail(error))?;
        }
        let mut visible = self.visible.write();
        if visible.lsn < state.lsn {
            *visible = state;
        }
        drop(visible);
        // Whoever holds it now forgets more in a moment.
        if let (true, Some(commits)) = (self.durable.is_some(), self.commits.try_lock()) {
            self.forget_sure(commits);
        }
        Ok(())
    }

    /// Makes a checkpoint if the log, or what it refers to instead of having it, has grown enough. Called after a commit; a
    /// failure is reported by the next one.
    pub fn checkpoint_if_due(&self) -> Result<()> {
        let Some(durable) = &self.durable else { return Ok(()) };
        let rewritten = self.commits.lock().rewritten;
        if durable.wal.size() + rewritten < durable.checkpoint_threshold.load(Ordering::Relaxed)
            || self.checkpointed.is_locked()
        {
            return Ok(());
        }
        self.checkpoint()
    }

    /// Sets how durable a commit is when it returns.
    pub fn set_synchronous(&self, synchronous: Synchronous) {
        if let Some(durable) = &self.durable {
            *durable.synchronous.lock() = synchronous;
        }
    }

    /// Sets the size of the log in bytes from which on a commit makes a checkpoint.
    pub fn set_checkpoint_threshold(&self, bytes: u64) {
        if let Some(durable) = &self.durable {
            durable.checkpoint_threshold.store(bytes, Ordering::Relaxed);
        }
    }
}

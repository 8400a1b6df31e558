//! A database: names and rows, workers, a memory budget. It is gone with its last handle.

use crate::connection::Connection;
use crate::settings::{self, DatabaseSettings, SessionSettings};
use inlay_catalog::{Catalog, TableSource};
use inlay_exec::WorkerPool;
use inlay_types::{Error, Interrupt, MemoryBudget, Result, Value};
use parking_lot::{Mutex, MutexGuard};
use std::sync::Arc;
use std::time::Duration;

/// How long a writer waits for its turn before it looks whether it was interrupted.
const TURN_WAIT: Duration = Duration::from_millis(20);

/// A database. Cloning makes another handle.
#[derive(Clone)]
pub struct Database(Arc<Shared>);

struct Shared {
    catalog: Arc<Catalog>,
    pool: Arc<WorkerPool>,
    budget: MemoryBudget,
    settings: DatabaseSettings,
    /// Held by a statement that changes rows or names, and by COMMIT.
    writer: Mutex<()>,
    process: u32,
}

impl Database {
    /// Opens a database. `":memory:"` and the empty path are a new one in memory.
    pub fn open(path: &str, config: &[(String, Value)]) -> Result<Self> {
        if !matches!(path, "" | ":memory:") {
            return Err(Error::Unsupported {
                feature: format!("the database file \"{path}\""),
                alternative: Some("durable files come next, use \":memory:\" until then".to_string()),
            });
        }
        let budget = MemoryBudget::unlimited();
        let database = Self(Arc::new(Shared {
            catalog: Arc::new(Catalog::new(inlay_formats::table_functions(), budget.clone())),
            pool: Arc::new(WorkerPool::new()),
            settings: DatabaseSettings::new(budget.clone()),
            budget,
            writer: Mutex::new(()),
            process: std::process::id(),
        }));
        let mut session = SessionSettings::default();
        for (name, value) in config {
            settings::set(name, Some(value), &database.0.settings, &mut session)?;
        }
        Ok(database)
    }

    /// A new database in memory.
    pub fn open_in_memory() -> Result<Self> {
        Self::open(":memory:", &[])
    }

    /// A connection of its own, with its own settings and transaction.
    pub fn connect(&self) -> Connection {
        Connection::new(self.clone())
    }

    /// Makes a host's object a table. An earlier object of this name is replaced, a table or view is not.
    pub fn register(&self, name: &str, source: Arc<dyn TableSource>) -> Result<()> {
        self.check_process()?;
        self.0.catalog.register(name, source)
    }

    /// Forgets a registered object. Returns whether there was one.
    pub fn unregister(&self, name: &str) -> bool {
        self.0.catalog.unregister(name)
    }

    /// Bytes in use now.
    pub fn memory_used(&self) -> u64 {
        self.0.budget.used()
    }

    pub(crate) fn catalog(&self) -> &Arc<Catalog> {
        &self.0.catalog
    }

    pub(crate) fn pool(&self) -> &Arc<WorkerPool> {
        &self.0.pool
    }

    pub(crate) fn budget(&self) -> &MemoryBudget {
        &self.0.budget
    }

    pub(crate) fn settings(&self) -> &DatabaseSettings {
        &self.0.settings
    }

    /// Waits for this writer's turn.
    pub(crate) fn write_turn(&self, interrupt: &Interrupt) -> Result<MutexGuard<'_, ()>> {
        loop {
            if let Some(turn) = self.0.writer.try_lock_for(TURN_WAIT) {
                return Ok(turn);
            }
            interrupt.check()?;
        }
    }

    /// An error in a child that was forked after the database was opened: its workers are gone.
    pub(crate) fn check_process(&self) -> Result<()> {
        if self.0.process == std::process::id() {
            return Ok(());
        }
        Err(Error::Closed {
            message: "this database was opened before the process was forked; open one in the child"
                .to_string(),
        })
    }
}

impl std::fmt::Debug for Database {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Database(:memory:)")
    }
}

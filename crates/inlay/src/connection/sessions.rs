//! The sessions of a database: what each runs, and how one is ended by its number.

use super::{Connection, Shared};
use crate::database::{Database, Listed};
use crate::kept::Text;
use inlay_exec::Progress;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// A session of a database, as [`Database::sessions`] saw it.
///
/// ```
/// # fn main() -> inlay::Result<()> {
/// let database = inlay::Database::open_in_memory()?;
/// let (one, other) = (database.connect(), database.connect());
/// other.execute("BEGIN")?;
/// let sessions = database.sessions();
/// assert_eq!(sessions.iter().map(|session| session.id).collect::<Vec<_>>(), [one.id(), other.id()]);
/// assert_eq!((sessions[1].is_in_transaction, &sessions[1].statement), (true, &None));
/// assert!(database.interrupt(one.id()) && !database.interrupt(99));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct SessionInfo {
    /// Its number: [`Connection::id`], and `current_connection_id()` in SQL.
    pub id: u64,
    /// The text that it runs now.
    pub statement: Option<String>,
    /// Since when.
    pub running_for: Option<Duration>,
    /// Whether BEGIN opened a transaction, as of the end of the last statement.
    pub is_in_transaction: bool,
    /// How far the running query is.
    pub progress: Option<Progress>,
}

/// What a session runs.
pub(super) struct Running {
    text: Arc<Text>,
    since: Instant,
}

impl Running {
    pub fn new(text: &Arc<Text>) -> Self {
        Self { text: Arc::clone(text), since: Instant::now() }
    }
}

impl Listed for Shared {
    fn info(&self) -> SessionInfo {
        let running = self.running.lock();
        SessionInfo {
            id: self.id,
            statement: running.as_ref().map(|running| running.text.sql.to_string()),
            running_for: running.as_ref().map(|running| running.since.elapsed()),
            is_in_transaction: self.has_transaction.load(Ordering::Acquire),
            progress: self.progress.get(),
        }
    }

    fn interrupt(&self) {
        self.interrupt.set();
    }
}

impl Connection {
    /// The session's number, which no other session of the database has.
    pub fn id(&self) -> u64 {
        self.0.id
    }
}

impl Database {
    /// The open sessions, by their numbers. Connections of functions that a statement calls are none of their own.
    pub fn sessions(&self) -> Vec<SessionInfo> {
        let mut infos: Vec<SessionInfo> = self.listed().iter().map(|session| session.info()).collect();
        infos.sort_by_key(|info| info.id);
        infos
    }

    /// Ends what a session runs soon, as [`Connection::interrupt`] does. Returns whether there is such a session.
    pub fn interrupt(&self, session: u64) -> bool {
        let found = self.listed().into_iter().find(|listed| listed.info().id == session);
        found.is_some_and(|listed| {
            listed.interrupt();
            true
        })
    }
}

//! The sessions of a database: what each runs, and how one is ended by its number.

use super::{Connection, Shared};
use crate::database::{Database, Listed, SessionInfo};
use crate::session::Text;
use inlay_types::passwords::without_passwords;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

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
            statement: running.as_ref().map(|running| without_passwords(running.text.shown()).into_owned()),
            running_for: running.as_ref().map(|running| running.since.elapsed()),
            is_in_transaction: self.has_transaction.load(Ordering::Acquire),
            progress: self.progress.get(),
        }
    }

    fn interrupt(&self) {
        self.interrupts.raise();
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

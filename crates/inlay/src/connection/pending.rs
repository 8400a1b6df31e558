//! A statement that runs on a thread of its own, for hosts that do other things meanwhile and look now and then how it is.

use super::cursor::Cursor;
use super::{Connection, PreparedStatement};
use crate::host::{Entered, Host, HostScope, HostTable, PATIENCE, Parameters};
use inlay_exec::Progress;
use inlay_types::{Error, Result};
use parking_lot::{Condvar, Mutex};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// A statement that was started. One that is dropped is told to end.
///
/// ```
/// # fn main() -> inlay::Result<()> {
/// use std::time::Duration;
/// let connection = inlay::Database::open_in_memory()?.connect();
/// let pending = connection.start("SELECT count(*) FROM range(1000000)", Default::default(), None)?;
/// while !pending.wait(Duration::from_millis(10)) {
///     println!("{:?}", pending.progress());
/// }
/// let mut answer = pending.finish()?;
/// assert_eq!(answer.next_row(None)?.unwrap().get::<i64>(0)?, 1_000_000);
/// # Ok(())
/// # }
/// ```
pub struct Pending {
    connection: Connection,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    /// What it gave, once it has ended and until somebody has it.
    outcome: Mutex<Option<Result<Cursor>>>,
    ended: Condvar,
    is_stopped: AtomicBool,
}

impl Connection {
    /// Starts the statements of a text, as [`Connection::stream`] runs them. `host` is asked on the thread that runs them.
    pub fn start(&self, sql: &str, parameters: Parameters, host: Option<Arc<dyn Host>>) -> Result<Pending> {
        let (connection, sql) = (self.clone(), sql.to_string());
        Pending::of(self, host, move |host| connection.stream(&sql, &parameters, Some(host)))
    }
}

impl PreparedStatement {
    /// Starts it, as [`Connection::start`] does.
    pub fn start(&self, parameters: Parameters, host: Option<Arc<dyn Host>>) -> Result<Pending> {
        let statement = self.clone();
        Pending::of(self.connection(), host, move |host| statement.stream(&parameters, Some(host)))
    }
}

impl Pending {
    fn of(
        connection: &Connection,
        host: Option<Arc<dyn Host>>,
        work: impl FnOnce(&Arc<dyn Host>) -> Result<Cursor> + Send + 'static,
    ) -> Result<Self> {
        let entered = connection.enter();
        connection.check_open()?;
        let shared: Arc<Shared> = Arc::default();
        let (told, connection) = (Arc::clone(&shared), connection.clone());
        let run = move || {
            let host: Arc<dyn Host> = Arc::new(Stoppable { host, entered, shared: Arc::clone(&told) });
            let outcome = work(&host);
            *told.outcome.lock() = Some(outcome);
            told.ended.notify_all();
        };
        let thread = std::thread::Builder::new().name("inlay statement".to_string()).spawn(run);
        thread.map_err(|error| Error::Io {
            action: "cannot start",
            path: "a thread for the statement".to_string(),
            message: error.to_string(),
        })?;
        Ok(Self { connection, shared })
    }

    /// Whether it has ended.
    pub fn is_ready(&self) -> bool {
        self.shared.outcome.lock().is_some()
    }

    /// Waits until it has ended, but not longer than a time. Returns whether it has.
    pub fn wait(&self, most: Duration) -> bool {
        let mut outcome = self.shared.outcome.lock();
        if outcome.is_none() {
            self.shared.ended.wait_for(&mut outcome, most);
        }
        outcome.is_some()
    }

    /// How far it is; `None` where that is not known.
    pub fn progress(&self) -> Option<Progress> {
        self.connection.progress()
    }

    /// Ends it soon, with [`Error::Interrupted`].
    pub fn interrupt(&self) {
        self.shared.is_stopped.store(true, Ordering::Release);
    }

    /// Waits for its answer.
    pub fn finish(self) -> Result<Cursor> {
        let mut outcome = self.shared.outcome.lock();
        loop {
            if let Some(outcome) = outcome.take() {
                return outcome;
            }
            self.shared.ended.wait(&mut outcome);
        }
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        self.interrupt();
    }
}

impl std::fmt::Debug for Pending {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pending").field("is_ready", &self.is_ready()).finish()
    }
}

/// The host of a statement that can be stopped.
struct Stoppable {
    host: Option<Arc<dyn Host>>,
    /// When it was started: an interrupt may come before it runs.
    entered: Entered,
    shared: Arc<Shared>,
}

impl Host for Stoppable {
    fn find_table(&self, name: &str, scope: HostScope) -> Result<Option<HostTable>> {
        self.host.as_ref().map_or(Ok(None), |host| host.find_table(name, scope))
    }

    fn gives_tables(&self) -> bool {
        self.host.as_ref().is_some_and(|host| host.gives_tables())
    }

    fn is_interrupted(&self) -> bool {
        self.shared.is_stopped.load(Ordering::Acquire)
            || self.host.as_ref().is_some_and(|host| host.is_interrupted())
    }

    fn patience(&self) -> Duration {
        self.host.as_ref().map_or(PATIENCE, |host| host.patience())
    }

    fn entered(&self) -> Option<Entered> {
        Some(self.entered)
    }

    fn view_is_kept(&self, name: &str, sql: &str) {
        if let Some(host) = &self.host {
            host.view_is_kept(name, sql);
        }
    }

    fn note(&self, message: &str) {
        if let Some(host) = &self.host {
            host.note(message);
        }
    }
}

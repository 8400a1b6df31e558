//! A client's session: a connection of the engine, whose statements run on threads that may block.
//!
//! ```text
//! door (task)            Session::run             thread that may block
//! PostgreSQL, HTTP, ... --- work ---------------> Call: connection + host (notices, interrupts)
//!                       <-- rows of one piece ---  Cursor, read until PIECE_BYTES are there
//! ```
//! What always holds:
//! - A door asks for one piece of an answer after the other and has the next one made while it sends the one before, so that never more than two are in
//!   memory, and no thread waits for a client.
//! - A call that is dropped, because its client went away, is interrupted; so is one that a client asks to end by the session's number and secret.
//! - Statements of one session run one after the other; several answers of it may be open at once, as cursors that nobody reads.
//! - Statements wait for one of the places for them; what lets a client in, ends something or sends what is computed needs none.
//!
//! Every door uses this and nothing else of the engine: PostgreSQL's and HTTP here, and one for the columnar protocol, which makes pieces of chunks.

use crate::served::Served;
use inlay::{Connection, Entered, Error, Host, HostScope, HostTable, Result};
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::OwnedSemaphorePermit;

/// Bytes of rows that are made at once.
pub const PIECE_BYTES: usize = 256 << 10;
/// Bytes of rows that the engine computes when a statement is run; the others are computed when they are asked for.
pub const FIRST_BYTES: usize = 1 << 20;
/// Notices that are kept of one statement.
const NOTICES_MAX: usize = 100;

/// See the module documentation.
pub struct Session {
    connection: Connection,
    served: Arc<Served>,
    /// By which a client that wants a statement to end says whose.
    pub number: u32,
    /// What only it knows.
    pub secret: [u8; 4],
    notices: Arc<Mutex<Vec<String>>>,
    /// One of the places for sessions.
    _place: OwnedSemaphorePermit,
}

/// Work of a session, on the thread that does it.
pub struct Call {
    /// The engine's session.
    pub connection: Connection,
    /// To be given to every statement.
    pub host: Arc<dyn Host>,
}

/// Takes notices, and knows when the call began: an interrupt since then ends it, also before its statement began.
struct CallHost {
    entered: Entered,
    notices: Arc<Mutex<Vec<String>>>,
}

impl Host for CallHost {
    fn find_table(&self, _name: &str, _scope: HostScope) -> Result<Option<HostTable>> {
        Ok(None)
    }

    fn is_interrupted(&self) -> bool {
        false
    }

    fn has_signals(&self) -> bool {
        false
    }

    fn entered(&self) -> Option<Entered> {
        Some(self.entered)
    }

    fn note(&self, message: &str) {
        let mut notices = self.notices.lock();
        if notices.len() < NOTICES_MAX {
            notices.push(message.to_string());
        }
    }
}

/// Interrupts what runs, unless it is told that it ended.
struct Ending<'a> {
    connection: &'a Connection,
    has_ended: bool,
}

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        if !self.has_ended {
            self.connection.interrupt();
        }
    }
}

impl Session {
    pub(crate) fn new(
        connection: Connection,
        served: Arc<Served>,
        number: u32,
        secret: [u8; 4],
        place: OwnedSemaphorePermit,
    ) -> Self {
        Self { connection, served, number, secret, notices: Arc::default(), _place: place }
    }

    /// Does work on a thread that may block, in one of the places for statements. Dropping this interrupts it.
    pub async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Call) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let place = self.served.statement_place().await?;
        self.run_apart(move |call| {
            let _place = place;
            work(call)
        })
        .await
    }

    /// The same without a place: for what is short, or brings its place along.
    pub async fn run_apart<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Call) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let host = CallHost { entered: self.connection.enter(), notices: Arc::clone(&self.notices) };
        let call = Call { connection: self.connection.clone(), host: Arc::new(host) };
        let mut ending = Ending { connection: &self.connection, has_ended: false };
        let started = Instant::now();
        let done = tokio::task::spawn_blocking(move || work(&call)).await;
        ending.has_ended = true;
        self.served.metrics.ran(started.elapsed(), matches!(done, Ok(Ok(_))));
        done.unwrap_or_else(|error| Err(Error::internal(format!("a statement's thread ended: {error}"))))
    }

    /// The engine's session, for a door that has threads of its own.
    pub fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Ends what runs soon.
    pub fn interrupt(&self) {
        self.connection.interrupt();
    }

    /// Whether a transaction is open.
    pub fn in_transaction(&self) -> bool {
        self.connection.in_transaction()
    }

    /// What statements wanted to have said since the last call.
    pub fn take_notices(&self) -> Vec<String> {
        std::mem::take(&mut self.notices.lock())
    }

    /// What is served.
    pub fn served(&self) -> &Arc<Served> {
        &self.served
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.served.forget(self.number);
        self.connection.interrupt();
        let connection = self.connection.clone();
        // Closing waits for the statement that was interrupted, and rolls back: not on a thread that others wait for.
        match tokio::runtime::Handle::try_current() {
            Ok(runtime) => drop(runtime.spawn_blocking(move || connection.close())),
            Err(_) => drop(connection.close()),
        }
    }
}

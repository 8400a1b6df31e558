//! The server's end of a connection, blocking, over anything that reads and writes and any session that answers.
//!
//! ```text
//! reading thread:  frames -> Cancel, Ping, Grow at once; others -> channel (bounded)
//! calling thread:  channel -> statements; open results in turns, a chunk each -> encoding, sending threads -> socket
//! ```
//! What is open shares the socket in turns, so that several results flow at once; none is ahead of the client by more chunks than the client
//! allowed. Whoever serves brings a [`Gate`], which knows users and opens a [`Session`]; nothing here knows SQL.

mod connection;
mod login;
mod open;
mod outlet;

pub use connection::{Control, Link, listen, serve};

use crate::frame::{Frame, Hello, Parameter, Report};
use crate::scram::Verifier;
use crate::types::WireColumn;
use inlay_types::limits::Limits;
use inlay_types::{Batch, Error};
use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::TcpListener;
#[cfg(unix)]
use std::os::unix::net::UnixListener;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Bytes of a frame at most, unless the gate says otherwise.
pub const FRAME_MAX: u32 = 256 << 20;
/// Most results and appends that a connection may have open at once.
pub const STREAMS_MAX: usize = 1024;

/// The engine's result.
pub type Outcome<T> = Result<T, Error>;

/// How a client is let in.
pub enum Admission {
    /// It is known by where it comes from.
    Open,
    /// By a password.
    Scram(Verifier),
    /// By a token, which [`Gate::has_token`] looks at.
    Token,
}

/// Who may come in, and what for.
pub trait Gate: Sync {
    /// How this client shows who it is. Of users that do not exist, too: [`Verifier::nobody`].
    fn admit(&self, hello: &Hello) -> Outcome<Admission>;

    /// Whether a token is this user's.
    fn has_token(&self, hello: &Hello, token: &[u8]) -> Outcome<bool>;

    /// Opens a session for a client that was let in.
    fn open(&self, hello: &Hello) -> Outcome<Box<dyn Session>>;

    /// The sessions that are open.
    fn sessions(&self) -> &Sessions;

    /// What the server calls itself.
    fn name(&self) -> String;

    /// What a client should know of it, which Ready says.
    fn settings(&self) -> Vec<(String, String)> {
        Vec::new()
    }

    /// Bytes of a frame at most, however large a buffer a client asks for.
    fn frame_max(&self) -> u32 {
        FRAME_MAX
    }
}

/// What statements are run by. All calls come from one thread.
pub trait Session {
    /// Reads a text of statements, which are run one by one as their answers are asked for.
    fn query(&mut self, text: &str, asker: &Arc<Asker>) -> Outcome<Box<dyn Answers>>;

    /// Reads a statement that is going to be repeated.
    fn prepare(&mut self, text: &str) -> Outcome<Prepared>;

    /// Takes rows for a table: all of them or none.
    fn append(
        &mut self,
        table: &[String],
        names: &[String],
        columns: &[WireColumn],
        asker: &Arc<Asker>,
    ) -> Outcome<Box<dyn Sink>>;

    /// Takes rows of a table that statements of this session see by this name.
    fn register(&mut self, name: &str, columns: &[WireColumn]) -> Outcome<Box<dyn Sink>>;

    /// Forgets such a table; whether there was one.
    fn unregister(&mut self, name: &str) -> Outcome<bool>;

    /// Whether a transaction is open.
    fn in_transaction(&self) -> bool;

    /// Its number, if it has one that no other session of the server has.
    fn number(&self) -> Option<u64> {
        None
    }

    /// The memory that frames and chunks of this session are counted in.
    fn limits(&self) -> Option<Limits>;

    /// What says how far the running statement is: a part from 0 to 1, rows read, rows to be read.
    fn progress(&self) -> Arc<dyn Fn() -> Option<(f64, u64, u64)> + Send + Sync>;
}

/// A statement that was read.
pub struct Prepared {
    /// What runs it.
    pub statement: Box<dyn Statement>,
    /// What it does, as `SELECT`.
    pub tag: String,
    /// What it takes.
    pub parameters: Vec<Parameter>,
    /// What it gives.
    pub columns: Option<Vec<WireColumn>>,
}

/// A prepared statement.
pub trait Statement {
    /// Runs it once for each row of values. Several rows are for statements that give none.
    fn run(
        &mut self,
        columns: &[WireColumn],
        values: &Batch,
        asker: &Arc<Asker>,
    ) -> Outcome<Box<dyn Answers>>;
}

/// The answers of a text, one for each statement.
pub trait Answers {
    /// Runs the next statement; `None` behind the last.
    fn next(&mut self) -> Outcome<Option<Answer>>;
}

/// The answer of a statement.
pub struct Answer {
    /// What was done, as `SELECT` or `INSERT 0 2`.
    pub tag: String,
    /// Columns and rows, if it gives some.
    pub rows: Option<(Vec<WireColumn>, Box<dyn Rows>)>,
    /// Rows that it changed.
    pub changed: Option<u64>,
    /// Whether other statements follow.
    pub more: bool,
}

/// The rows of an answer.
pub trait Rows {
    /// The next rows.
    fn next(&mut self) -> Outcome<Option<Batch>>;
}

/// What takes rows.
pub trait Sink {
    /// Takes rows.
    fn push(&mut self, rows: Batch) -> Outcome<()>;

    /// All rows were taken: how many there are now.
    fn finish(self: Box<Self>) -> Outcome<u64>;
}

type Teller = dyn Fn(u32, &Frame) + Send + Sync;

/// What a statement asks and tells while it runs.
pub struct Asker {
    stream: u32,
    cancelled: AtomicBool,
    tell: Arc<Teller>,
}

impl Asker {
    /// Whether the client does not want the statement any more.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// Something that whoever wrote the statement should know.
    pub fn note(&self, message: &str) {
        (self.tell)(self.stream, &Frame::Notice(Report::notice(message)));
    }

    fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }
}

/// The statements of a connection that may be cancelled.
pub(crate) struct Askers {
    tell: Arc<Teller>,
    open: Mutex<HashMap<u32, Arc<Asker>>>,
}

impl Askers {
    fn new(tell: Arc<Teller>) -> Self {
        Self { tell, open: Mutex::new(HashMap::new()) }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u32, Arc<Asker>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// That of a stream, which is new if it was not there.
    fn of(&self, stream: u32) -> Arc<Asker> {
        let new =
            || Arc::new(Asker { stream, cancelled: AtomicBool::new(false), tell: Arc::clone(&self.tell) });
        Arc::clone(self.lock().entry(stream).or_insert_with(new))
    }

    fn close(&self, stream: u32) {
        self.lock().remove(&stream);
    }

    fn cancel(&self, stream: u32) {
        if let Some(asker) = self.lock().get(&stream) {
            asker.cancel();
        }
    }

    fn cancel_all(&self) {
        self.lock().values().for_each(|asker| asker.cancel());
    }
}

/// Keys and statements of sessions, by their numbers.
type OpenSessions = HashMap<u64, ([u8; 16], Arc<Askers>)>;

/// The sessions of a server, so that one connection can cancel what another one runs.
#[derive(Default)]
pub struct Sessions {
    next: AtomicU64,
    open: Mutex<OpenSessions>,
}

impl Sessions {
    fn lock(&self) -> MutexGuard<'_, OpenSessions> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn enter(&self, number: Option<u64>, key: [u8; 16], askers: Arc<Askers>) -> u64 {
        let number = number.unwrap_or_else(|| self.next.fetch_add(1, Ordering::Relaxed) + 1);
        self.lock().insert(number, (key, askers));
        number
    }

    fn leave(&self, session: u64) {
        self.lock().remove(&session);
    }

    /// Ends what a session runs, if the key is its own. Whoever asks is not told.
    pub fn cancel(&self, session: u64, key: &[u8; 16]) {
        let open = self.lock();
        let found = open.get(&session).filter(|(own, _)| {
            // All bytes are looked at, so that the time does not tell how many are right.
            own.iter().zip(key).fold(0, |all, (own, given)| all | (own ^ given)) == 0
        });
        if let Some((_, askers)) = found {
            askers.cancel_all();
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.lock().len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A half of a socket that is read.
pub type Input = Box<dyn Read + Send>;
/// A half of a socket that is written.
pub type Output = Box<dyn Write + Send>;

/// What connections come from.
pub trait Accepts: Sync {
    /// Waits for the next connection.
    fn accept_one(&self) -> std::io::Result<(Input, Output, Link)>;
}

impl Accepts for TcpListener {
    fn accept_one(&self) -> std::io::Result<(Input, Output, Link)> {
        let (socket, peer) = self.accept()?;
        socket.set_nodelay(true)?;
        let (reader, whole) = (socket.try_clone()?, socket.try_clone()?);
        // It may be closed already.
        let close = Arc::new(move || drop(whole.shutdown(std::net::Shutdown::Both)));
        Ok((
            Box::new(reader),
            Box::new(socket),
            Link { is_local: peer.ip().is_loopback(), close, control: Arc::default() },
        ))
    }
}

#[cfg(unix)]
impl Accepts for UnixListener {
    fn accept_one(&self) -> std::io::Result<(Input, Output, Link)> {
        let (socket, _) = self.accept()?;
        let (reader, whole) = (socket.try_clone()?, socket.try_clone()?);
        let close = Arc::new(move || drop(whole.shutdown(std::net::Shutdown::Both)));
        Ok((Box::new(reader), Box::new(socket), Link { is_local: true, close, control: Arc::default() }))
    }
}

//! The client's end of a connection, blocking.
//!
//! ```no_run
//! # fn main() -> Result<(), inlay_protocol::client::ClientError> {
//! use inlay_protocol::client::Client;
//! let client = Client::connect("inlay://ana:secret@localhost/sales")?;
//! let mut reply = client.query("SELECT * FROM orders")?;
//! while let Some(batch) = reply.next_batch()? {
//!     println!("{} rows of {} columns", batch.len(), batch.columns().len());
//! }
//! # Ok(())
//! # }
//! ```
//! Several replies may be open: what arrives for one while another is read waits in its inbox, which the window that the server was given
//! bounds. Windows are refilled when half of them is read, so that no result waits for a round trip. Several threads may wait for answers: one of
//! them reads for all. Whoever waits may be asked now and then whether it still wants to ([`asking`]).

mod appender;
mod reply;
mod socket;
mod url;
mod waiting;

pub use appender::Appender;
pub use reply::{Canceller, Reply};
pub use url::{DEFAULT_PORT, Place, Url};
pub use waiting::asking;

use crate::chunk::ChunkWriter;
use crate::column::Effort;
use crate::compression::{Compression, LZ4, ZSTD};
use crate::controller::Controller;
use crate::frame::{
    Frame, FrameHeader, Hello, Kind, Method, Parameter, Ready, Report, put_execute, put_frame,
};
use crate::transport::{FrameReader, FrameWriter};
use crate::types::WireColumn;
use crate::{FRAME_SLACK, LOGIN_FRAME_MAX, VERSION, WireError, scram};
use inlay_types::process::process_id;
use inlay_types::{Batch, Buffer, LogicalType};
use socket::{Input, Output};
use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Chunks of a result that the server may send before the client read any.
const WINDOW: u32 = 16;
/// Bytes of frames that are sent while results are still on their way; for larger ones these are read first.
const SMALL: usize = 16 << 10;
/// Bytes of a frame at most, however large a row the server announces.
pub const FRAME_MAX: usize = 1 << 30;

/// What went wrong: with the statement, or with the connection.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// What the server said.
    #[error("{0}")]
    Server(Box<Report>),
    /// The connection, or what came over it.
    #[error(transparent)]
    Wire(#[from] WireError),
}

impl ClientError {
    /// Five characters.
    pub fn sqlstate(&self) -> &str {
        match self {
            Self::Server(report) => report.sqlstate(),
            Self::Wire(error) => error.sqlstate(),
        }
    }
}

impl From<inlay_types::Error> for ClientError {
    fn from(error: inlay_types::Error) -> Self {
        Self::Wire(error.into())
    }
}

/// The result of what a client does.
pub type Outcome<T> = Result<T, ClientError>;

/// A connection to a server. Clones share it.
#[derive(Clone)]
pub struct Client(Arc<Shared>);

struct Shared {
    inbound: Mutex<Inbound>,
    /// Something arrived, or nobody reads.
    arrived: Condvar,
    outbound: Mutex<Outbound>,
    ready: Ready,
    url: Url,
    next_stream: AtomicU32,
    next_statement: AtomicU32,
    /// Whose connection it is: a child that was forked has the socket, too, and says nothing on it.
    process: u32,
}

/// What is read, by whoever waits for something.
struct Inbound {
    /// Absent while a thread reads.
    reader: Option<FrameReader<Input>>,
    received: u64,
    inboxes: HashMap<u32, Inbox>,
    notices: Vec<Report>,
    /// What the server last said about how far a statement is.
    progress: Option<(f64, u64, u64)>,
    /// Why nothing comes any more.
    broken: Option<String>,
}

/// What arrived for a stream and was not asked for yet.
#[derive(Default)]
struct Inbox {
    waiting: VecDeque<Arrived>,
    /// Nobody wants it: what comes is dropped up to the last frame.
    is_dropped: bool,
    /// The server was told that it is not wanted.
    is_cancelled: bool,
    /// Chunks that the server may still send.
    expected: u32,
}

/// A frame of a stream.
pub(crate) enum Arrived {
    Chunk(Buffer, usize),
    Frame(Frame),
}

pub(crate) struct Outbound {
    writer: FrameWriter<Output>,
    chunks: ChunkWriter,
    controller: Controller,
    out: Vec<u8>,
}

impl Client {
    /// Connects to `inlay://user:password@host:port/database`, or `inlay+unix:///path/to/socket?db=name&user=name`.
    pub fn connect(url: &str) -> Outcome<Self> {
        let url = Url::parse(url)?;
        Self::at(url)
    }

    /// The same for an address that was read.
    pub fn at(url: Url) -> Outcome<Self> {
        let (input, output, is_local) = socket::open(&url)?;
        Self::over(input, output, is_local, url)
    }

    /// Where it is connected to.
    pub fn url(&self) -> &Url {
        &self.0.url
    }

    /// The same over halves of a connection that is there.
    fn over(input: Input, output: Output, is_local: bool, url: Url) -> Outcome<Self> {
        let mut reader = FrameReader::new(input, LOGIN_FRAME_MAX);
        let mut writer = FrameWriter::new(output, LOGIN_FRAME_MAX, LOGIN_FRAME_MAX);
        writer.magic();
        let hello = Hello {
            versions: (VERSION, VERSION),
            chunk_size: url.chunk_size,
            features: if is_local { 0 } else { LZ4 | ZSTD },
            user: url.user.clone(),
            database: url.database.clone(),
            application: url.application.clone(),
            settings: url.settings.clone(),
        };
        writer.frame(0, &Frame::Hello(hello))?;
        reader.magic()?;
        let ready = log_in(&mut reader, &mut writer, &url)?;
        let limit = ready.chunk_size as usize + FRAME_SLACK;
        reader.set_limit(limit);
        writer.set_limits(limit, ready.frame_max as usize);
        let controller = Controller::new(is_local, ready.features);
        let outbound = Outbound { writer, chunks: ChunkWriter::default(), controller, out: Vec::new() };
        let inbound = Inbound {
            reader: Some(reader),
            received: 0,
            inboxes: HashMap::new(),
            notices: Vec::new(),
            progress: None,
            broken: None,
        };
        Ok(Self(Arc::new(Shared {
            inbound: Mutex::new(inbound),
            arrived: Condvar::new(),
            outbound: Mutex::new(outbound),
            ready,
            url,
            next_stream: AtomicU32::new(1),
            next_statement: AtomicU32::new(1),
            process: process_id(),
        })))
    }

    /// What the server said of itself and of the session.
    pub fn ready(&self) -> &Ready {
        &self.0.ready
    }

    /// Runs statements; the reply is at the first one's answer.
    pub fn query(&self, text: &str) -> Outcome<Reply> {
        let frame = Frame::Query { window: WINDOW, text: text.to_string() };
        let stream = self.0.begin(WINDOW, &frame)?;
        Reply::begin(Arc::clone(&self.0), stream)
    }

    /// Reads a statement that is going to be repeated.
    pub fn prepare(&self, text: &str) -> Outcome<Prepared> {
        let number = self.0.next_statement.fetch_add(1, Ordering::Relaxed);
        let stream = self.0.begin(0, &Frame::Prepare { statement: number, text: text.to_string() })?;
        let answer = self.0.next(stream);
        self.0.close(stream);
        match answer? {
            Arrived::Frame(Frame::Prepared { statement: _, tag, parameters, columns }) => {
                Ok(Prepared { shared: Arc::clone(&self.0), number, tag, parameters, columns })
            }
            Arrived::Frame(Frame::Error(report)) => Err(ClientError::Server(Box::new(report))),
            other => Err(other.unexpected()),
        }
    }

    /// Rows for a table: all of them or none. `names` are the table's columns that they go to; none: all.
    pub fn append(&self, table: &[&str], names: &[&str], columns: Vec<WireColumn>) -> Outcome<Appender> {
        let texts = |texts: &[&str]| texts.iter().map(ToString::to_string).collect();
        let frame = Frame::Append { table: texts(table), names: texts(names), columns: columns.clone() };
        Appender::begin(Arc::clone(&self.0), &frame, &columns)
    }

    /// Rows of a table that statements of this session see by this name.
    pub fn register(&self, name: &str, columns: Vec<WireColumn>) -> Outcome<Appender> {
        let frame = Frame::Register { name: name.to_string(), columns: columns.clone() };
        Appender::begin(Arc::clone(&self.0), &frame, &columns)
    }

    /// Forgets a table that was registered.
    pub fn unregister(&self, name: &str) -> Outcome<()> {
        self.0.ask(&Frame::CloseTable(name.to_string())).map(drop)
    }

    /// Whether the server is there.
    pub fn ping(&self) -> Outcome<()> {
        let stream = self.0.open(0);
        let sent = self.0.send(stream, &Frame::Ping(u64::from(stream)));
        self.0.or_close(stream, sent)?;
        let answer = self.0.next(stream);
        self.0.close(stream);
        match answer? {
            Arrived::Frame(Frame::Pong(_)) => Ok(()),
            other => Err(other.unexpected()),
        }
    }

    /// Ends what the session runs, over a connection of its own: also from another thread or another process.
    pub fn cancel(&self) -> Outcome<()> {
        let (_, output, _) = socket::open(&self.0.url)?;
        let mut writer = FrameWriter::new(output, LOGIN_FRAME_MAX, LOGIN_FRAME_MAX);
        writer.magic();
        let (session, key) = (self.0.ready.session, self.0.ready.key);
        Ok(writer.frame(0, &Frame::CancelSession { session, key })?)
    }

    /// What the server noted since this was asked last.
    pub fn take_notices(&self) -> Vec<Report> {
        std::mem::take(&mut self.0.inbound().notices)
    }

    /// How far the running statement is, as far as the server said: a part of 1, rows read, rows to read. It says so if the URL has
    /// `progress_ms`.
    pub fn progress(&self) -> Option<(f64, u64, u64)> {
        self.0.inbound().progress
    }

    /// Bytes of frames that were received.
    pub fn received(&self) -> u64 {
        self.0.inbound().received
    }

    /// Bytes that were sent.
    pub fn sent(&self) -> u64 {
        self.0.outbound().writer.sent
    }
}

/// Shows who the client is, as the server asks.
fn log_in(reader: &mut FrameReader<Input>, writer: &mut FrameWriter<Output>, url: &Url) -> Outcome<Ready> {
    let mut scram = None;
    let mut step = 0;
    let mut is_proven = true;
    loop {
        match reader.expect()?.1 {
            Frame::Ready(ready) if is_proven => return Ok(ready),
            Frame::Challenge(Method::Token, _) => {
                let token = url.token.clone().unwrap_or_default().into_bytes();
                writer.frame(0, &Frame::Auth(Method::Token, token))?;
            }
            Frame::Challenge(Method::Scram, message) => {
                let password = url.password.as_deref().unwrap_or_default();
                let client = match &mut scram {
                    Some(client) => client,
                    None => scram.insert(scram::Client::new(password)?),
                };
                match step {
                    0 => {
                        is_proven = false;
                        writer.frame(0, &Frame::Auth(Method::Scram, client.first()))?;
                    }
                    1 => writer.frame(0, &Frame::Auth(Method::Scram, client.last(&message)?))?,
                    _ => {
                        client.check(&message)?;
                        is_proven = true;
                    }
                }
                step += 1;
            }
            Frame::Error(report) => return Err(ClientError::Server(Box::new(report))),
            other => {
                return Err(
                    WireError::malformed(format!("{:?}, where the login goes on", other.kind())).into()
                );
            }
        }
    }
}

impl Arrived {
    fn unexpected(self) -> ClientError {
        let kind = match self {
            Self::Chunk(..) => Kind::Chunk,
            Self::Frame(frame) => frame.kind(),
        };
        WireError::malformed(format!("{kind:?} where the answer of another frame was expected")).into()
    }

    /// Whether nothing follows on the stream.
    fn is_last(&self) -> bool {
        match self {
            Self::Frame(Frame::Done(done)) => !done.more,
            Self::Frame(Frame::Error(_)) => true,
            Self::Frame(_) | Self::Chunk(..) => false,
        }
    }
}

impl Shared {
    fn inbound(&self) -> MutexGuard<'_, Inbound> {
        self.inbound.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn outbound(&self) -> MutexGuard<'_, Outbound> {
        self.outbound.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A stream that was not used before.
    fn open(&self, window: u32) -> u32 {
        let mut inbound = self.inbound();
        loop {
            let stream = self.next_stream.fetch_add(1, Ordering::Relaxed);
            if stream != 0 && !inbound.inboxes.contains_key(&stream) {
                inbound.inboxes.insert(stream, Inbox { expected: window, ..Inbox::default() });
                return stream;
            }
        }
    }

    /// Nothing comes on the stream any more.
    fn close(&self, stream: u32) {
        self.inbound().inboxes.remove(&stream);
    }

    /// Opens a stream by a frame.
    fn begin(self: &Arc<Self>, window: u32, frame: &Frame) -> Outcome<u32> {
        let stream = self.open(window);
        let sent = self.send(stream, frame);
        self.or_close(stream, sent).map(|()| stream)
    }

    /// Closes a stream whose first frame did not leave: what the server never heard of would be waited for by [`Shared::settle`].
    fn or_close(&self, stream: u32, sent: Outcome<()>) -> Outcome<()> {
        if sent.is_err() {
            self.close(stream);
        }
        sent
    }

    fn send(self: &Arc<Self>, stream: u32, frame: &Frame) -> Outcome<()> {
        let mut bytes = Vec::new();
        frame.write(stream, &mut bytes)?;
        self.send_bytes(stream, &bytes, 0)
    }

    /// Sends a frame that is there as bytes, with a chunk in it whose body has so many when it is not compressed.
    fn send_bytes(self: &Arc<Self>, stream: u32, bytes: &[u8], body: usize) -> Outcome<()> {
        if self.process != process_id() {
            let reason = "it is of the process that this one was forked from".to_string();
            return Err(WireError::Closed { reason }.into());
        }
        if bytes.len() > SMALL {
            self.settle(stream)?;
        }
        self.outbound().framed(stream, bytes, body)
    }

    /// Sends a frame whose answer is Done, and waits for that.
    fn ask(self: &Arc<Self>, frame: &Frame) -> Outcome<crate::frame::Done> {
        let stream = self.begin(0, frame)?;
        let answer = self.next(stream);
        self.close(stream);
        match answer? {
            Arrived::Frame(Frame::Done(done)) => Ok(done),
            Arrived::Frame(Frame::Error(report)) => Err(ClientError::Server(Box::new(report))),
            other => Err(other.unexpected()),
        }
    }

    /// The next frame of a stream.
    fn next(self: &Arc<Self>, stream: u32) -> Outcome<Arrived> {
        loop {
            let mut inbound = self.inbound();
            if let Some(arrived) = inbound.inboxes.entry(stream).or_default().waiting.pop_front() {
                return Ok(arrived);
            }
            self.read(inbound, stream)?;
        }
    }

    /// Reads what results on other streams may still send, so that the server does not wait for this client while this client waits for
    /// the server: both may send much then.
    fn settle(self: &Arc<Self>, own: u32) -> Outcome<()> {
        loop {
            let inbound = self.inbound();
            let mut others = inbound.inboxes.iter().filter(|(stream, _)| **stream != own);
            if !others.any(|(_, inbox)| inbox.expected > 0) {
                return Ok(());
            }
            self.read(inbound, own)?;
        }
    }

    /// Reads a frame, for whomever it is; or waits a while for the thread that reads. `stream` is what the thread waits for.
    fn read(self: &Arc<Self>, mut inbound: MutexGuard<'_, Inbound>, stream: u32) -> Outcome<()> {
        if let Some(reason) = &inbound.broken {
            return Err(WireError::Closed { reason: reason.clone() }.into());
        }
        let Some(mut reader) = inbound.reader.take() else {
            let waited = self.arrived.wait_timeout(inbound, waiting::PATIENCE);
            drop(waited);
            if waiting::is_unwanted() {
                self.cancel_once(stream);
            }
            return Ok(());
        };
        drop(inbound);
        let own = Arc::clone(self);
        let read = waiting::meanwhile(
            move || own.cancel_once(stream),
            || {
                let frame = reader.read()?.ok_or(WireError::Closed { reason: String::new() })?;
                let (FrameHeader { kind, stream, size: _ }, payload) = frame;
                let arrived = match kind {
                    Kind::Chunk => Arrived::Chunk(payload, reader.limit()),
                    _ => Arrived::Frame(Frame::read(kind, payload.bytes())?),
                };
                if let Arrived::Frame(Frame::Grow(size)) = &arrived {
                    if *size > FRAME_MAX as u64 {
                        return Err(WireError::TooLarge { size: *size, limit: FRAME_MAX as u64 });
                    }
                    reader.set_limit(*size as usize);
                }
                Ok((stream, arrived))
            },
        );
        let mut inbound = self.inbound();
        inbound.received = reader.received;
        inbound.reader = Some(reader);
        self.arrived.notify_all();
        let taken =
            read.map_err(ClientError::from).and_then(|(stream, arrived)| inbound.take(stream, arrived));
        if let Err(error) = &taken {
            inbound.broken = Some(error.to_string());
        }
        taken
    }

    /// Tells the server that a stream is not wanted, unless it was told.
    fn cancel_once(&self, stream: u32) {
        // Who reads never waits for who writes: the next time will do.
        let Ok(mut outbound) = self.outbound.try_lock() else { return };
        {
            let mut inbound = self.inbound();
            let Some(inbox) = inbound.inboxes.get_mut(&stream) else { return };
            if std::mem::replace(&mut inbox.is_cancelled, true) {
                return;
            }
        }
        // A connection that broke says so to whoever waits.
        let _ = outbound.writer.frame(stream, &Frame::Cancel);
    }

    /// The server may send so many chunks more.
    fn allow(self: &Arc<Self>, stream: u32, chunks: u32) -> Outcome<()> {
        if let Some(inbox) = self.inbound().inboxes.get_mut(&stream) {
            inbox.expected += chunks;
        }
        self.send(stream, &Frame::Window(chunks))
    }

    /// Nobody reads the stream any more.
    fn drop_stream(self: &Arc<Self>, stream: u32) {
        {
            let mut inbound = self.inbound();
            let Some(inbox) = inbound.inboxes.get_mut(&stream) else { return };
            let is_over = inbox.waiting.iter().any(Arrived::is_last);
            (inbox.is_dropped, inbox.waiting) = (true, VecDeque::new());
            if is_over {
                inbound.inboxes.remove(&stream);
                return;
            }
        }
        // A connection that broke says so to the next one who asks.
        let _ = self.send(stream, &Frame::Cancel);
    }
}

impl Inbound {
    /// Takes a frame that arrived.
    fn take(&mut self, stream: u32, arrived: Arrived) -> Outcome<()> {
        match arrived {
            Arrived::Frame(Frame::Grow(_)) => {}
            Arrived::Frame(Frame::Notice(report)) => self.notices.push(report),
            Arrived::Frame(Frame::Progress { fraction, rows, of }) => {
                self.progress = Some((fraction, rows, of))
            }
            Arrived::Frame(Frame::Error(report)) if stream == 0 || report.is_fatal => {
                return Err(ClientError::Server(Box::new(report)));
            }
            Arrived::Frame(Frame::Goodbye(reason)) => return Err(WireError::Closed { reason }.into()),
            arrived => self.deliver(stream, arrived),
        }
        Ok(())
    }

    fn deliver(&mut self, stream: u32, arrived: Arrived) {
        // What is for nobody is of a stream that was dropped.
        let Some(inbox) = self.inboxes.get_mut(&stream) else { return };
        match &arrived {
            Arrived::Chunk(..) => inbox.expected = inbox.expected.saturating_sub(1),
            last if last.is_last() => inbox.expected = 0,
            Arrived::Frame(_) => {}
        }
        match (inbox.is_dropped, arrived.is_last()) {
            (false, _) => inbox.waiting.push_back(arrived),
            (true, true) => drop(self.inboxes.remove(&stream)),
            (true, false) => {}
        }
    }
}

impl Outbound {
    /// Sends a frame that is there as bytes. One that the server does not take fails alone.
    fn framed(&mut self, stream: u32, bytes: &[u8], body: usize) -> Outcome<()> {
        Ok(self.writer.framed_of(stream, bytes, body).map_err(refused)?)
    }

    /// Sends rows.
    pub(crate) fn chunk(&mut self, stream: u32, types: &[LogicalType], batches: &[Batch]) -> Outcome<()> {
        let how = self.controller.choose();
        let effort = if how == Compression::None { Effort::Fast } else { Effort::Small };
        let (out, chunks) = (&mut self.out, &mut self.chunks);
        out.clear();
        let written =
            put_frame(out, Kind::Chunk, stream, |out| chunks.write(types, batches, how, effort, out))?;
        self.controller.compressed(how, written.body, written.packed, written.compressing.as_secs_f64());
        let begun = Instant::now();
        self.writer.framed_of(stream, out, written.body).map_err(refused)?;
        self.controller.sent(out.len(), begun.elapsed().as_secs_f64());
        Ok(())
    }
}

/// What a writer says of a frame above the server's limit, which whoever runs the server can raise.
fn refused(error: WireError) -> WireError {
    match error {
        WireError::TooLarge { size, limit } => WireError::Refused { size, limit },
        error @ (WireError::Malformed { .. }
        | WireError::Refused { .. }
        | WireError::Unreachable { .. }
        | WireError::Io { .. }
        | WireError::Closed { .. }
        | WireError::Engine(_)) => error,
    }
}

/// A statement that the server keeps, for as long as this lives.
pub struct Prepared {
    shared: Arc<Shared>,
    number: u32,
    /// What it does, as `SELECT`.
    pub tag: String,
    /// What it takes.
    pub parameters: Vec<Parameter>,
    /// What it gives.
    pub columns: Option<Vec<WireColumn>>,
}

impl Prepared {
    /// Runs it once for each row of `values`, whose columns are its parameters by position.
    pub fn execute(&self, values: &Batch) -> Outcome<Reply> {
        let columns = values.types().into_iter().map(|ty| WireColumn::new("", ty)).collect();
        self.execute_named(columns, values)
    }

    /// The same with columns that are parameters by name, where they have one.
    pub fn execute_named(&self, columns: Vec<WireColumn>, values: &Batch) -> Outcome<Reply> {
        let types: Vec<LogicalType> = columns.iter().map(|column| column.ty.clone()).collect();
        let frame = Frame::Execute { statement: self.number, window: WINDOW, columns, chunk: 0 };
        let (mut bytes, mut body) = (Vec::new(), 0);
        let stream = self.shared.open(WINDOW);
        let written = put_execute(&mut bytes, stream, &frame, |out| {
            let values = std::slice::from_ref(values);
            let written =
                ChunkWriter::default().write(&types, values, Compression::None, Effort::Fast, out)?;
            body = written.body;
            Ok(())
        });
        self.shared.or_close(stream, written.map_err(ClientError::from))?;
        let sent = self.shared.send_bytes(stream, &bytes, body);
        self.shared.or_close(stream, sent)?;
        Reply::begin(Arc::clone(&self.shared), stream)
    }
}

impl Drop for Prepared {
    fn drop(&mut self) {
        let stream = self.shared.open(0);
        let asked = self.shared.send(stream, &Frame::CloseStatement(self.number));
        // Its answer is for nobody.
        match asked {
            Ok(()) => {
                if let Some(inbox) = self.shared.inbound().inboxes.get_mut(&stream) {
                    inbox.is_dropped = true;
                }
            }
            Err(_) => self.shared.close(stream),
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        if self.process != process_id() {
            return;
        }
        let goodbye = Frame::Goodbye(String::new());
        let outbound = self.outbound.get_mut().unwrap_or_else(PoisonError::into_inner);
        // The server sees the socket's end as well.
        let _ = outbound.writer.frame(0, &goodbye);
    }
}

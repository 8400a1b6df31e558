//! A connection, from its first byte to its last.

use super::login::{self, Agreed};
use super::open::{Incoming, Outgoing, Step};
use super::outlet::{Opening, Outlet};
use super::{Askers, Gate, Outcome, STREAMS_MAX, Session, Sink, Statement};
use crate::chunk::ChunkReader;
use crate::controller::Controller;
use crate::frame::{Done, Frame, FrameHeader, Kind, Report};
use crate::transport::{FrameReader, FrameWriter};
use crate::types::WireColumn;
use crate::{FRAME_SLACK, LOGIN_FRAME_MAX, Result, WireError};
use inlay_types::{Buffer, Error, limits};
use std::collections::{BTreeMap, HashMap};
use std::io::{Read, Write};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TryRecvError, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Frames that wait for the calling thread. The next one waits in the socket.
const WAITING_MAX: usize = 8;

/// Where a connection comes from, and how it is ended.
pub struct Link {
    /// Whether the client is on this machine: nothing is compressed then.
    pub is_local: bool,
    /// Closes both directions, so that the reading thread ends.
    pub close: Arc<dyn Fn() + Send + Sync>,
    /// By which it is ended in order.
    pub control: Arc<Control>,
}

/// Ends a connection in order: when its statement and its transaction are over. Closing the link does not wait.
#[derive(Default)]
pub struct Control {
    is_ending: AtomicBool,
    /// Wakes the calling thread, once the login is over.
    wake: Mutex<Option<SyncSender<Event>>>,
}

impl Control {
    /// The connection ends as soon as nothing is open on it.
    pub fn finish(&self) {
        self.is_ending.store(true, Ordering::Release);
        if let Some(wake) = &*self.wake.lock().unwrap_or_else(PoisonError::into_inner) {
            // A thread that has much to do looks by itself.
            let _ = wake.try_send(Event::Wake);
        }
    }

    fn woken_by(&self, wake: Option<SyncSender<Event>>) {
        *self.wake.lock().unwrap_or_else(PoisonError::into_inner) = wake;
    }
}

pub(super) type Writer<W> = Arc<Mutex<FrameWriter<W>>>;

/// What the reading thread found.
enum Event {
    Frame(FrameHeader, Buffer),
    /// The client is gone, or what it sent is no protocol.
    End(Result<()>),
    /// Whoever serves wants something.
    Wake,
}

/// Serves a client until one of both ends the connection. An error says why it ended, if it was not in order.
pub fn serve<R, W>(reader: R, writer: W, gate: &dyn Gate, link: &Link) -> Result<()>
where
    R: Read + Send,
    W: Write + Send + 'static,
{
    let mut reader = FrameReader::new(reader, LOGIN_FRAME_MAX);
    let writer = Arc::new(Mutex::new(FrameWriter::new(writer, LOGIN_FRAME_MAX, usize::MAX)));
    lock(&writer).magic();
    let outcome = admitted(&mut reader, &writer, gate, link);
    if let Err(error) = &outcome {
        let report = Report { is_fatal: true, ..Report::of(error) };
        // A client that is gone is told nothing.
        let _ = lock(&writer).frame(0, &Frame::Error(report));
    }
    (link.close)();
    outcome
}

pub(super) fn lock<W>(writer: &Mutex<FrameWriter<W>>) -> std::sync::MutexGuard<'_, FrameWriter<W>> {
    writer.lock().unwrap_or_else(PoisonError::into_inner)
}

fn admitted<R, W>(reader: &mut FrameReader<R>, writer: &Writer<W>, gate: &dyn Gate, link: &Link) -> Result<()>
where
    R: Read + Send,
    W: Write + Send + 'static,
{
    let Some(hello) = login::hello(reader, gate)? else { return Ok(()) };
    let told = Arc::clone(writer);
    let askers = Arc::new(Askers::new(Arc::new(move |stream, frame: &Frame| {
        // Notices of a client that is gone are dropped.
        let _ = lock(&told).frame(stream, frame);
    })));
    let mut login_writer = lock(writer);
    let agreed = login::let_in(reader, &mut login_writer, gate, hello, &askers)?;
    drop(login_writer);
    let (session, frame_max) = (agreed.number, gate.frame_max() as usize);
    let outcome = run(reader, writer, link, agreed, &askers, frame_max);
    gate.sessions().leave(session);
    outcome
}

/// Runs the three threads of a connection: this one, the reading one, and one that tells of progress if the client wants that.
fn run<R, W>(
    reader: &mut FrameReader<R>,
    writer: &Writer<W>,
    link: &Link,
    agreed: Agreed,
    askers: &Arc<Askers>,
    frame_max: usize,
) -> Result<()>
where
    R: Read + Send,
    W: Write + Send + 'static,
{
    let limits = agreed.session.limits();
    let wanted = agreed.hello.settings.iter().find(|(name, _)| name == "progress_ms");
    let pause =
        wanted.and_then(|(_, value)| value.parse().ok()).map(|ms: u64| Duration::from_millis(ms.max(10)));
    let (progress, running) = (agreed.session.progress(), Arc::new(AtomicU32::new(0)));
    let (events, arrived) = sync_channel(WAITING_MAX);
    link.control.woken_by(Some(events.clone()));
    let (over, ended) = channel::<()>();
    let size_max = Arc::new(std::sync::atomic::AtomicUsize::new(agreed.chunk_size + FRAME_SLACK));
    std::thread::scope(|threads| {
        let (limit, told) = (Arc::clone(&size_max), Arc::clone(writer));
        let reading_limits = limits.clone();
        threads.spawn(move || {
            let mut work = || read(reader, &told, askers, &events, &limit, frame_max);
            let outcome = match reading_limits {
                Some(limits) => limits::with(limits, work),
                None => work(),
            };
            askers.cancel_all();
            // Nobody waits for it if the other thread ended first.
            let _ = events.send(Event::End(outcome));
        });
        if let Some(pause) = pause {
            let running = Arc::clone(&running);
            threads.spawn(move || tell_progress(&ended, pause, &running, askers, &*progress));
        }
        let controller = Controller::new(link.is_local, agreed.features);
        let mut connection = Connection {
            outlet: Outlet::new(writer, threads, limits.clone(), controller),
            askers,
            control: &link.control,
            chunk_size: agreed.chunk_size,
            size_max,
            session: agreed.session,
            statements: HashMap::new(),
            outgoing: BTreeMap::new(),
            incoming: HashMap::new(),
            openings: 0,
            last: 0,
            running,
        };
        let mut work = || connection.run(&arrived);
        let outcome = match limits {
            Some(limits) => limits::with(limits, work),
            None => work(),
        };
        link.control.woken_by(None);
        let outcome = match outcome {
            Ok(End::Gone) => {
                // Nobody reads what is still on its way.
                (link.close)();
                let _ = connection.outlet.finish();
                Ok(())
            }
            Ok(End::Told) => connection.outlet.finish(),
            Err(error) => {
                // What was being sent comes before what went wrong.
                let _ = connection.outlet.finish();
                let report = Report { is_fatal: true, ..Report::of(&error) };
                let _ = lock(writer).frame(0, &Frame::Error(report));
                Err(error)
            }
        };
        drop((arrived, over));
        (link.close)();
        outcome
    })
}

/// How a connection ended in order.
enum End {
    /// The client went.
    Gone,
    /// The client was told that the server ends.
    Told,
}

/// Tells how far the running statement is, until the connection ends.
fn tell_progress(
    ended: &Receiver<()>,
    pause: Duration,
    running: &AtomicU32,
    askers: &Askers,
    progress: &(dyn Fn() -> Option<(f64, u64, u64)> + Send + Sync),
) {
    while ended.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
        let stream = running.load(Ordering::Relaxed);
        if stream != 0
            && let Some((fraction, rows, of)) = progress()
        {
            (askers.tell)(stream, &Frame::Progress { fraction, rows, of });
        }
    }
}

/// Reads frames until the connection ends. What must not wait for statements is done here.
fn read<R: Read, W: Write>(
    reader: &mut FrameReader<R>,
    writer: &Writer<W>,
    askers: &Askers,
    events: &SyncSender<Event>,
    limit: &std::sync::atomic::AtomicUsize,
    frame_max: usize,
) -> Result<()> {
    while let Some((header, payload)) = reader.read()? {
        match header.kind {
            Kind::Cancel => askers.cancel(header.stream),
            Kind::Query | Kind::Execute | Kind::Append | Kind::Register => drop(askers.of(header.stream)),
            Kind::Goodbye => return Ok(()),
            Kind::Ping => {
                if let Frame::Ping(number) = Frame::read(header.kind, payload.bytes())? {
                    lock(writer).frame(header.stream, &Frame::Pong(number))?;
                }
                continue;
            }
            Kind::Grow => {
                if let Frame::Grow(size) = Frame::read(header.kind, payload.bytes())? {
                    if size > frame_max as u64 {
                        return Err(WireError::TooLarge { size, limit: frame_max as u64 });
                    }
                    reader.set_limit(size as usize);
                    limit.store(size as usize, Ordering::Relaxed);
                }
                continue;
            }
            Kind::Hello | Kind::Auth | Kind::Prepare | Kind::Close | Kind::Finish | Kind::CancelSession => {}
            Kind::Window | Kind::Chunk | Kind::Pong => {}
            Kind::Challenge | Kind::Ready | Kind::Header | Kind::Done | Kind::Error => {}
            Kind::Notice | Kind::Progress | Kind::Prepared => {}
        }
        if events.send(Event::Frame(header, payload)).is_err() {
            return Ok(());
        }
    }
    Ok(())
}

/// The calling thread's side.
struct Connection<'scope, 'env, W> {
    outlet: Outlet<'scope, 'env, W>,
    askers: &'env Askers,
    control: &'env Control,
    chunk_size: usize,
    /// Bytes of a chunk's body that comes in.
    size_max: Arc<std::sync::atomic::AtomicUsize>,
    session: Box<dyn Session>,
    statements: HashMap<u32, Box<dyn Statement>>,
    outgoing: BTreeMap<u32, Outgoing>,
    incoming: HashMap<u32, Incoming>,
    /// How many streams were opened.
    openings: u64,
    /// The stream that was served last.
    last: u32,
    running: Arc<AtomicU32>,
}

impl<W: Write + Send> Connection<'_, '_, W> {
    fn run(&mut self, arrived: &Receiver<Event>) -> Result<End> {
        loop {
            self.settle()?;
            if self.may_end() {
                return self.say_farewell();
            }
            // What arrived comes first, so that what is cancelled is not computed.
            let event = match arrived.try_recv() {
                Ok(event) => Some(event),
                Err(TryRecvError::Disconnected) => return Ok(End::Gone),
                Err(TryRecvError::Empty) => None,
            };
            let event = match (event, self.next_stream()) {
                (Some(event), _) => event,
                (None, Some(stream)) => {
                    self.step(stream)?;
                    continue;
                }
                (None, None) => match arrived.recv() {
                    Ok(event) => event,
                    Err(_) => return Ok(End::Gone),
                },
            };
            match event {
                Event::Frame(header, payload) => {
                    // What failed meanwhile ended before this came.
                    self.settle()?;
                    self.handle(header, &payload)?;
                }
                Event::End(Ok(())) => return Ok(End::Gone),
                Event::End(Err(WireError::Io { .. } | WireError::Closed { .. })) => return Ok(End::Gone),
                Event::End(Err(error)) => return Err(error),
                Event::Wake => {}
            }
        }
    }

    /// Forgets results that ended since they could not be sent.
    fn settle(&mut self) -> Result<()> {
        for opening in self.outlet.failures()? {
            if self.outgoing.get(&opening.stream).is_some_and(|open| open.opening == opening) {
                self.outgoing.remove(&opening.stream);
                self.askers.close(opening.stream);
            }
        }
        Ok(())
    }

    /// Whether the server ends, and nothing is open here.
    fn may_end(&self) -> bool {
        self.control.is_ending.load(Ordering::Acquire)
            && self.outgoing.is_empty()
            && self.incoming.is_empty()
            && !self.session.in_transaction()
    }

    fn say_farewell(&mut self) -> Result<End> {
        let message = "the server ends; connect again when it is back".to_string();
        let report = Report { is_fatal: true, sqlstate: *b"57P01", message, ..Report::default() };
        self.send(0, &Frame::Error(report))?;
        Ok(End::Told)
    }

    /// Another opening of a stream.
    fn open(&mut self, stream: u32) -> Opening {
        self.openings += 1;
        Opening { stream, number: self.openings }
    }

    /// The open result whose turn it is.
    fn next_stream(&self) -> Option<u32> {
        let behind = self.outgoing.range(self.last.saturating_add(1)..);
        let mut in_turns = behind.chain(self.outgoing.range(..=self.last));
        in_turns.find(|(_, open)| open.can_go_on()).map(|(stream, _)| *stream)
    }

    /// Sends a frame that belongs to no result.
    fn send(&mut self, stream: u32, frame: &Frame) -> Result<()> {
        self.outlet.frame(Opening { stream, number: 0 }, frame)
    }

    /// Ends a stream by an error; the connection goes on.
    fn fail(&mut self, stream: u32, error: &WireError) -> Result<()> {
        let opening =
            self.outgoing.remove(&stream).map_or(Opening { stream, number: 0 }, |open| open.opening);
        self.askers.close(stream);
        self.outlet.frame(opening, &Frame::Error(Report::of(error)))
    }

    /// The end of a stream that is no result.
    fn done(&mut self, stream: u32, tag: &str, changed: Option<u64>) -> Result<()> {
        self.askers.close(stream);
        let in_transaction = self.session.in_transaction();
        let done = Done { in_transaction, tag: tag.to_string(), changed, ..Done::default() };
        self.send(stream, &Frame::Done(done))
    }

    /// Goes on with an open result by one frame.
    fn step(&mut self, stream: u32) -> Result<()> {
        self.last = stream;
        let Some(open) = self.outgoing.get_mut(&stream) else { return Ok(()) };
        let opening = open.opening;
        self.running.store(stream, Ordering::Relaxed);
        let step = open.step(self.chunk_size);
        self.running.store(0, Ordering::Relaxed);
        match step {
            Ok(Step::Header(columns)) => self.outlet.frame(opening, &Frame::Header(columns)),
            Ok(Step::Chunk { types, batches, before }) => {
                match self.outlet.chunk(opening, before, types, batches) {
                    // What cannot be sent is this result's failure; a socket that broke is everybody's.
                    Err(error @ (WireError::TooLarge { .. } | WireError::Engine(_))) => {
                        self.fail(stream, &error)
                    }
                    other => other,
                }
            }
            Ok(Step::Done { tag, rows, changed, more }) => {
                if !more {
                    self.outgoing.remove(&stream);
                    self.askers.close(stream);
                }
                let in_transaction = self.session.in_transaction();
                let done = Done { in_transaction, more, tag, rows, changed };
                self.outlet.frame(opening, &Frame::Done(done))
            }
            Err(error) => self.fail(stream, &error),
        }
    }

    /// Does what a frame asks for.
    fn handle(&mut self, header: FrameHeader, payload: &Buffer) -> Result<()> {
        let stream = header.stream;
        if header.kind == Kind::Chunk {
            return self.take_rows(stream, payload);
        }
        match Frame::read(header.kind, payload.bytes())? {
            Frame::Query { window, text } => {
                self.check_new(stream)?;
                let asker = self.askers.of(stream);
                match self.session.query(&text, &asker) {
                    Ok(answers) => {
                        let opening = self.open(stream);
                        self.outgoing.insert(stream, Outgoing::new(opening, answers, asker, window));
                    }
                    Err(error) => self.fail(stream, &error.into())?,
                }
                Ok(())
            }
            Frame::Prepare { statement, text } => self.prepare(stream, statement, &text),
            Frame::Execute { statement, window, columns, chunk } => {
                self.check_new(stream)?;
                let rows = payload.slice(chunk, payload.size() - chunk);
                self.execute(stream, statement, window, &columns, &rows)
            }
            Frame::CloseStatement(statement) => {
                self.statements.remove(&statement);
                self.done(stream, "", None)
            }
            Frame::CloseTable(name) => match self.session.unregister(&name) {
                Ok(_) => self.done(stream, "", None),
                Err(error) => self.fail(stream, &error.into()),
            },
            Frame::Append { table, names, columns } => {
                self.check_new(stream)?;
                let asker = self.askers.of(stream);
                let sink = self.session.append(&table, &names, &columns, &asker);
                self.begin_rows(stream, sink, &columns, "APPEND")
            }
            Frame::Register { name, columns } => {
                self.check_new(stream)?;
                let sink = self.session.register(&name, &columns);
                self.begin_rows(stream, sink, &columns, "REGISTER")
            }
            Frame::Finish => match self.incoming.remove(&stream) {
                // The client was told when it failed.
                Some(Incoming { sink: None, .. }) => Ok(()),
                Some(rows) => {
                    let tag = rows.tag;
                    match rows.finish() {
                        Ok(count) => self.done(stream, tag, Some(count)),
                        Err(error) => self.fail(stream, &error),
                    }
                }
                None => Err(WireError::malformed("the end of rows that nobody announced")),
            },
            Frame::Cancel => self.cancel(stream),
            Frame::Window(chunks) => {
                if let Some(open) = self.outgoing.get_mut(&stream) {
                    open.allow(chunks);
                }
                Ok(())
            }
            Frame::Pong(_) => Ok(()),
            other => Err(WireError::malformed(format!("{:?} from a client that is logged in", other.kind()))),
        }
    }

    /// A stream's number is the client's choice, but not one that is open.
    fn check_new(&self, stream: u32) -> Result<()> {
        if stream == 0 || self.outgoing.contains_key(&stream) || self.incoming.contains_key(&stream) {
            return Err(WireError::malformed(format!("stream {stream}, which is open already")));
        }
        if self.outgoing.len() + self.incoming.len() >= STREAMS_MAX {
            let message =
                format!("more than {STREAMS_MAX} results and appends are open; read or cancel some first");
            return Err(Error::invalid_argument(message).into());
        }
        Ok(())
    }

    fn prepare(&mut self, stream: u32, statement: u32, text: &str) -> Result<()> {
        if self.statements.len() >= STREAMS_MAX && !self.statements.contains_key(&statement) {
            let message = format!("more than {STREAMS_MAX} statements are prepared; close some first");
            return self.fail(stream, &Error::invalid_argument(message).into());
        }
        match self.session.prepare(text) {
            Ok(prepared) => {
                let super::Prepared { statement: runs, tag, parameters, columns } = prepared;
                self.statements.insert(statement, runs);
                self.send(stream, &Frame::Prepared { statement, tag, parameters, columns })
            }
            Err(error) => self.fail(stream, &error.into()),
        }
    }

    fn execute(
        &mut self,
        stream: u32,
        statement: u32,
        window: u32,
        columns: &[WireColumn],
        rows: &Buffer,
    ) -> Result<()> {
        let types: Vec<_> = columns.iter().map(|column| column.ty.clone()).collect();
        let size_max = self.size_max.load(Ordering::Relaxed);
        let values = ChunkReader::new(rows, size_max).and_then(|chunk| chunk.batch(&types));
        let asker = self.askers.of(stream);
        let Some(statement) = self.statements.get_mut(&statement) else {
            let error = Error::invalid_argument(format!(
                "no statement {statement} is prepared; it may have been closed"
            ));
            return self.fail(stream, &error.into());
        };
        let answers = values.and_then(|values| Ok(statement.run(columns, &values, &asker)?));
        match answers {
            Ok(answers) => {
                let opening = self.open(stream);
                self.outgoing.insert(stream, Outgoing::new(opening, answers, asker, window));
                Ok(())
            }
            Err(error) => self.fail(stream, &error),
        }
    }

    /// Rows are going to come on a stream, or were refused.
    fn begin_rows(
        &mut self,
        stream: u32,
        sink: Outcome<Box<dyn Sink>>,
        columns: &[WireColumn],
        tag: &'static str,
    ) -> Result<()> {
        let types = columns.iter().map(|column| column.ty.clone()).collect();
        let asker = self.askers.of(stream);
        let (sink, error) = match sink {
            Ok(sink) => (Some(sink), None),
            Err(error) => (None, Some(error)),
        };
        self.incoming.insert(stream, Incoming { sink, types, asker, tag });
        match error {
            Some(error) => self.fail(stream, &error.into()),
            None => Ok(()),
        }
    }

    fn take_rows(&mut self, stream: u32, payload: &Buffer) -> Result<()> {
        let Some(rows) = self.incoming.get_mut(&stream) else {
            return Err(WireError::malformed(format!("rows on stream {stream}, which takes none")));
        };
        let size_max = self.size_max.load(Ordering::Relaxed);
        let batch = ChunkReader::new(payload, size_max).and_then(|chunk| chunk.batch(&rows.types));
        match batch.and_then(|batch| rows.push(batch)) {
            Ok(()) => Ok(()),
            Err(error) => {
                // What still comes is read and dropped, up to Finish.
                rows.sink = None;
                self.fail(stream, &error)
            }
        }
    }

    /// The client does not want a stream any more. One that ended meanwhile was answered.
    fn cancel(&mut self, stream: u32) -> Result<()> {
        if let Some(rows) = self.incoming.remove(&stream) {
            if rows.sink.is_none() {
                return Ok(());
            }
            return self.fail(stream, &Error::Interrupted.into());
        }
        if self.outgoing.contains_key(&stream) {
            return self.fail(stream, &Error::Interrupted.into());
        }
        Ok(())
    }
}

/// Serves connections of a listener, a thread each, until told to stop: for tests and small programs.
pub fn listen<S: super::Accepts>(listener: &S, gate: &dyn Gate, stop: &AtomicBool) -> std::io::Result<()> {
    std::thread::scope(|threads| {
        while !stop.load(Ordering::Relaxed) {
            let (reader, writer, link) = listener.accept_one()?;
            if stop.load(Ordering::Relaxed) {
                break;
            }
            threads.spawn(move || {
                // Why it ended was told to the client.
                let _ = serve(reader, writer, gate, &link);
            });
        }
        Ok(())
    })
}

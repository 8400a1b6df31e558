//! What leaves a connection: at once while nothing is on its way, else in order behind the chunks that are being made.
//!
//! ```text
//! calling thread: computes rows --> frames and chunks in order ----------------> sending thread --> socket
//!                               \-> chunks --> encoding threads --> a slot each --^
//! ```
//! Computing, encoding and sending overlap. What is on its way is bounded by the queue, so that no result is in memory as a whole. The threads
//! are there from the second chunk of an answer on: short answers are sent by the thread that made them.

use super::connection::{Writer, lock};
use crate::chunk::{ChunkWriter, Written};
use crate::column::Effort;
use crate::compression::Compression;
use crate::controller::Controller;
use crate::frame::{Frame, Kind, Report, put_frame};
use crate::{Result, WireError};
use inlay_types::limits::{self, Limits};
use inlay_types::{Batch, LogicalType};
use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{Scope, ScopedJoinHandle};
use std::time::Instant;

/// Chunks that are on their way besides those being encoded.
const WAITING_MAX: usize = 2;
/// Threads that encode the chunks of a connection, at most.
const ENCODERS_MAX: usize = 4;
/// Chunks of an answer that the calling thread sends by itself.
const ALONE_MAX: u32 = 1;

/// Which opening of a stream something belongs to: a client may use its number again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Opening {
    pub(super) stream: u32,
    pub(super) number: u64,
}

/// Rows of a chunk.
struct Rows {
    types: Arc<[LogicalType]>,
    batches: Vec<Batch>,
}

/// A chunk as bytes.
struct Encoded {
    bytes: Vec<u8>,
    written: Written,
}

/// What is to be sent next.
enum Leaving {
    Frame(Opening, Frame),
    Chunk(Opening, Receiver<Result<Encoded>>),
}

/// Rows to be encoded, and where to.
type Task = (u32, Rows, SyncSender<Result<Encoded>>);

/// What the threads share with the calling one.
struct State {
    controller: Mutex<Controller>,
    /// Memory of chunks that were sent.
    spare: Mutex<Vec<Vec<u8>>>,
    /// Frames and chunks that were not sent yet.
    on_the_way: AtomicUsize,
    /// Results that ended since a chunk of theirs could not be sent; their clients were told.
    failed: Mutex<Vec<Opening>>,
    has_failed: AtomicBool,
    /// Why nothing leaves any more.
    broken: Mutex<Option<WireError>>,
    is_broken: AtomicBool,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// See the module documentation.
pub(super) struct Outlet<'scope, 'env, W> {
    writer: &'env Writer<W>,
    threads: &'scope Scope<'scope, 'env>,
    limits: Option<Limits>,
    state: Arc<State>,
    chunks: ChunkWriter,
    pipeline: Option<Pipeline<'scope>>,
}

struct Pipeline<'scope> {
    leaving: SyncSender<Leaving>,
    tasks: SyncSender<Task>,
    sending: ScopedJoinHandle<'scope, ()>,
}

impl<'scope, 'env, W: Write + Send> Outlet<'scope, 'env, W> {
    pub(super) fn new(
        writer: &'env Writer<W>,
        threads: &'scope Scope<'scope, 'env>,
        limits: Option<Limits>,
        controller: Controller,
    ) -> Self {
        let state = Arc::new(State {
            controller: Mutex::new(controller),
            spare: Mutex::default(),
            on_the_way: AtomicUsize::new(0),
            failed: Mutex::default(),
            has_failed: AtomicBool::new(false),
            broken: Mutex::default(),
            is_broken: AtomicBool::new(false),
        });
        Self { writer, threads, limits, state, chunks: ChunkWriter::default(), pipeline: None }
    }

    /// Results that ended by what could not be sent, since this was asked last; an error if nothing can be sent any more.
    pub(super) fn failures(&self) -> Result<Vec<Opening>> {
        if self.state.is_broken.load(Ordering::Acquire)
            && let Some(error) = locked(&self.state.broken).take()
        {
            return Err(error);
        }
        if !self.state.has_failed.swap(false, Ordering::AcqRel) {
            return Ok(Vec::new());
        }
        Ok(std::mem::take(&mut *locked(&self.state.failed)))
    }

    /// Whether a result ended by what could not be sent, which the calling thread does not know yet.
    fn has_failed(&self, opening: Opening) -> bool {
        self.state.has_failed.load(Ordering::Acquire) && locked(&self.state.failed).contains(&opening)
    }

    fn pipeline_in_use(&self) -> Option<&Pipeline<'scope>> {
        let is_busy = self.state.on_the_way.load(Ordering::Acquire) > 0;
        self.pipeline.as_ref().filter(|_| is_busy)
    }

    /// Sends a frame, behind what is on its way.
    pub(super) fn frame(&self, opening: Opening, frame: &Frame) -> Result<()> {
        match self.pipeline_in_use() {
            Some(pipeline) => self.enqueue(pipeline, Leaving::Frame(opening, frame.clone())),
            None if self.has_failed(opening) => Ok(()),
            None => lock(self.writer).frame(opening.stream, frame),
        }
    }

    fn enqueue(&self, pipeline: &Pipeline<'scope>, leaving: Leaving) -> Result<()> {
        self.state.on_the_way.fetch_add(1, Ordering::AcqRel);
        let gone = |_| WireError::Closed { reason: "the sending thread ended".to_string() };
        pipeline.leaving.send(leaving).map_err(gone)
    }

    /// Sends rows, compressed as the link wants it; `before` are the chunks of the same answer that were sent.
    pub(super) fn chunk(
        &mut self,
        opening: Opening,
        before: u32,
        types: Arc<[LogicalType]>,
        batches: Vec<Batch>,
    ) -> Result<()> {
        let rows = Rows { types, batches };
        if self.has_failed(opening) {
            return Ok(());
        }
        if before < ALONE_MAX && self.pipeline_in_use().is_none() {
            let encoded = encode(&self.state, &mut self.chunks, opening.stream, &rows)?;
            return send(&self.state, self.writer, opening.stream, encoded);
        }
        if self.pipeline.is_none() {
            self.pipeline = Some(self.start());
        }
        let Some(pipeline) = &self.pipeline else { return Ok(()) };
        let (slot, encoded) = sync_channel(1);
        self.enqueue(pipeline, Leaving::Chunk(opening, encoded))?;
        let gone = |_| WireError::Closed { reason: "the encoding threads ended".to_string() };
        pipeline.tasks.send((opening.stream, rows, slot)).map_err(gone)
    }

    fn start(&self) -> Pipeline<'scope> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let encoders = (cores / 2).clamp(1, ENCODERS_MAX);
        let (leaving, next) = sync_channel(encoders + WAITING_MAX);
        let (tasks, task) = sync_channel::<Task>(encoders + WAITING_MAX);
        let task = Arc::new(Mutex::new(task));
        for _ in 0..encoders {
            let (state, task, limits) = (Arc::clone(&self.state), Arc::clone(&task), self.limits.clone());
            self.threads.spawn(move || within(limits, || encode_all(&state, &task)));
        }
        let (state, writer, limits) = (Arc::clone(&self.state), self.writer, self.limits.clone());
        let sending = self.threads.spawn(move || within(limits, || send_all(&state, writer, &next)));
        Pipeline { leaving, tasks, sending }
    }

    /// Waits until all that is on its way was sent; why that failed, if it did.
    pub(super) fn finish(mut self) -> Result<()> {
        if let Some(Pipeline { leaving, tasks, sending }) = self.pipeline.take() {
            drop((leaving, tasks));
            if sending.join().is_err() {
                return Err(inlay_types::Error::internal("the sending thread of a connection ended").into());
            }
        }
        self.failures().map(drop)
    }
}

fn within(limits: Option<Limits>, work: impl FnOnce()) {
    match limits {
        Some(limits) => limits::with(limits, work),
        None => work(),
    }
}

fn encode(state: &State, chunks: &mut ChunkWriter, stream: u32, rows: &Rows) -> Result<Encoded> {
    let how = locked(&state.controller).choose();
    let effort = if how == Compression::None { Effort::Fast } else { Effort::Small };
    let mut bytes = locked(&state.spare).pop().unwrap_or_default();
    bytes.clear();
    let Rows { types, batches } = rows;
    let written =
        put_frame(&mut bytes, Kind::Chunk, stream, |out| chunks.write(types, batches, how, effort, out))?;
    let seconds = written.compressing.as_secs_f64();
    locked(&state.controller).compressed(how, written.body, written.packed, seconds);
    Ok(Encoded { bytes, written })
}

fn send<W: Write>(state: &State, writer: &Writer<W>, stream: u32, encoded: Encoded) -> Result<()> {
    let Encoded { bytes, written } = encoded;
    let begun = Instant::now();
    let sent = lock(writer).framed_of(stream, &bytes, written.body);
    locked(&state.controller).sent(bytes.len(), begun.elapsed().as_secs_f64());
    let mut spare = locked(&state.spare);
    if spare.len() < WAITING_MAX {
        spare.push(bytes);
    }
    sent
}

fn encode_all(state: &State, tasks: &Mutex<Receiver<Task>>) {
    let mut chunks = ChunkWriter::default();
    loop {
        let next = locked(tasks).recv();
        let Ok((stream, rows, slot)) = next else { return };
        let encoded = match state.is_broken.load(Ordering::Relaxed) {
            true => Err(WireError::Closed { reason: String::new() }),
            false => encode(state, &mut chunks, stream, &rows),
        };
        // Rows are let go of here: who sends need not wait for that.
        drop(rows);
        // Nobody waits for it where the result failed.
        let _ = slot.send(encoded);
    }
}

/// Sends what comes, in order. What belongs to a result that failed is dropped, and everything once the socket broke.
fn send_all<W: Write>(state: &State, writer: &Writer<W>, next: &Receiver<Leaving>) {
    let mut failed: Vec<Opening> = Vec::new();
    while let Ok(leaving) = next.recv() {
        let opening = match &leaving {
            Leaving::Frame(opening, _) | Leaving::Chunk(opening, _) => *opening,
        };
        let is_wanted = !failed.contains(&opening) && !state.is_broken.load(Ordering::Relaxed);
        if is_wanted && let Err(error) = send_one(state, writer, leaving) {
            match error {
                // What cannot be sent is this result's failure; a socket that broke is everybody's.
                WireError::TooLarge { .. } | WireError::Engine(_) => {
                    failed.push(opening);
                    // A socket that breaks now is found out by the next frame.
                    let _ = lock(writer).frame(opening.stream, &Frame::Error(Report::of(&error)));
                    locked(&state.failed).push(opening);
                    state.has_failed.store(true, Ordering::Release);
                }
                WireError::Malformed { .. }
                | WireError::Refused { .. }
                | WireError::Unreachable { .. }
                | WireError::Io { .. }
                | WireError::Closed { .. } => {
                    *locked(&state.broken) = Some(error);
                    state.is_broken.store(true, Ordering::Release);
                }
            }
        }
        if state.on_the_way.fetch_sub(1, Ordering::AcqRel) == 1 {
            // Whatever comes now was made by who knows of the failures.
            failed.clear();
        }
    }
}

fn send_one<W: Write>(state: &State, writer: &Writer<W>, leaving: Leaving) -> Result<()> {
    match leaving {
        Leaving::Frame(opening, frame) => lock(writer).frame(opening.stream, &frame),
        Leaving::Chunk(opening, slot) => {
            let gone = |_| inlay_types::Error::internal("an encoding thread ended");
            let encoded = slot.recv().map_err(gone)??;
            send(state, writer, opening.stream, encoded)
        }
    }
}

//! A worker process as its host sees it.

use super::channel::Channel;
use super::memory::Region;
use super::wire::{self, Packer, Reader, Taking, Unpacker, Writer, not_understood};
use super::{Request, Source, Spec};
use crate::functions::aggregate::Form;
use inlay::current_limits;
use inlay::types::process::process_id;
use inlay::types::{Error, Interrupt, LogicalType, Reservation, Result, Vector};
use pyo3::prelude::*;
use std::collections::HashSet;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Between two looks at whether a statement is to end.
const PAUSE: Duration = Duration::from_millis(10);
/// How long a worker has to end a call that was interrupted.
pub const GRACE: Duration = Duration::from_millis(60);
/// How long a worker has to start.
const START_MAX: Duration = Duration::from_secs(60);
/// How long one that closed its socket has to end.
const END_MAX: Duration = Duration::from_millis(200);
/// Least and largest memory that is kept from one call to the next.
const REGION_MIN: usize = 1 << 20;
const REGION_KEPT_MAX: usize = 1 << 26;

/// Kibibytes that a worker's allocator takes at a time where its memory is limited.
const ARENA_KIB: &str = "16384";

/// What the first byte of a message says.
pub mod kind {
    pub const DEFINE: u8 = b'F';
    pub const CALL: u8 = b'C';
    pub const CANCEL: u8 = b'X';
    pub const READY: u8 = b'S';
    pub const DONE: u8 = b'D';
    pub const WRONG: u8 = b'W';
    pub const RAISED: u8 = b'R';
    pub const INTERRUPTED: u8 = b'I';
}

/// Why a call has no values.
pub enum Failed {
    /// The function's fault, or the statement's end.
    Call(Error),
    /// An exception of the function: what is told, its bytes, its traceback.
    Raised { message: String, data: Vec<u8>, traceback: String },
    /// The process is gone.
    Gone(String),
}

impl From<Error> for Failed {
    fn from(error: Error) -> Self {
        Self::Call(error)
    }
}

/// Memory for arguments, accounted for.
struct Arguments {
    region: Region,
    _reserved: Option<Reservation>,
}

/// A process that serves one call at a time.
pub struct Worker {
    child: Child,
    channel: Channel,
    /// Functions that it was sent.
    known: HashSet<u64>,
    arguments: Option<Arguments>,
    answers: Option<Arc<Region>>,
    calls: u64,
    /// Bytes of memory that it may have, 0 for any.
    pub limit: u64,
    /// Who started it.
    host: u32,
    /// It does not answer any more, or was told to end.
    pub is_broken: bool,
}

impl Worker {
    /// Starts one and waits until it is ready.
    pub fn start(limit: u64, interrupt: &Interrupt) -> Result<Self> {
        let command = Python::attach(|py| -> PyResult<Vec<String>> {
            py.import("inlay._worker")?.getattr("command")?.call1((limit,))?.extract()
        });
        let command =
            command.map_err(|error| not_started(&Python::attach(|py| error.value(py).to_string())))?;
        let Some((program, arguments)) = command.split_first() else {
            return Err(not_started("there is no interpreter"));
        };
        let (channel, other) = Channel::pair().map_err(|error| not_started(&error.to_string()))?;
        // A group of its own, so that Ctrl-C in a terminal reaches the host alone.
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::from(other)).process_group(0);
        if limit > 0 {
            // Address space that the allocator takes ahead of need would count.
            command.env("MIMALLOC_ARENA_RESERVE", ARENA_KIB);
        }
        let child = command.spawn();
        // With it goes this process's copy of the other end.
        drop(command);
        let child = child.map_err(|error| not_started(&format!("{program}: {error}")))?;
        let mut worker = Self {
            child,
            channel,
            known: HashSet::new(),
            arguments: None,
            answers: None,
            calls: 0,
            limit,
            host: process_id(),
            is_broken: false,
        };
        let started = Instant::now();
        loop {
            match worker.channel.wait(PAUSE) {
                Ok(true) => break,
                Ok(false) => interrupt.check()?,
                Err(error) => return Err(not_started(&error.to_string())),
            }
            if started.elapsed() > START_MAX {
                return Err(not_started(&format!("it was not ready after {} s", START_MAX.as_secs())));
            }
        }
        match worker.channel.receive() {
            Ok((message, None)) if message.first() == Some(&kind::READY) => Ok(worker),
            _ => {
                let how = worker.ended();
                let memory = match limit {
                    0 => String::new(),
                    limit => format!(", python_worker_memory is {limit} bytes"),
                };
                Err(not_started(&format!("it {how}; what it says is on the standard error{memory}")))
            }
        }
    }

    /// Whether it waits for a request, as far as can be seen: nothing came that nobody asked for, and it is not gone.
    pub fn is_waiting(&self) -> bool {
        !self.is_broken && matches!(self.channel.wait(Duration::ZERO), Ok(false))
    }

    /// Has it call a function.
    pub fn call(
        &mut self,
        spec: &Spec,
        request: Request<'_>,
        interrupt: &Interrupt,
    ) -> std::result::Result<Vector, Failed> {
        if self.known.insert(spec.number) {
            self.channel.send(&definition(spec), None).map_err(|_| self.gone())?;
        }
        let mut args: Vec<Vector> = request.args.iter().map(wire::prepared).collect();
        args.extend(request.ends.map(|ends| Vector::from_values(LogicalType::UInteger, ends)));
        let is_new = self.make_room(wire::size_of(&args))?;
        self.calls += 1;
        let mut message = Writer::default();
        message.byte(kind::CALL);
        message.number(self.calls);
        message.number(spec.number);
        message.number(request.len as u64);
        message.number(request.args.len() as u64);
        message.number(request.ends.map_or(0, <[u32]>::len) as u64);
        if let Err(error) = self.pack(&args, &mut message) {
            // The worker does not know of memory that was not sent.
            self.arguments = None;
            return Err(error.into());
        }
        let Some(arguments) = &self.arguments else { return Err(not_understood().into()) };
        let descriptor = is_new.then(|| arguments.region.fd());
        self.channel.send(&message.done(), descriptor).map_err(|_| self.gone())?;
        self.wait(interrupt)?;
        let (message, descriptor) = self.channel.receive().map_err(|_| self.gone())?;
        if let Some(descriptor) = descriptor {
            let region = Region::open(descriptor).map_err(|error| Error::external(error.to_string()))?;
            self.answers = Some(Arc::new(region));
        }
        let answer = self.answer(&message, spec, request.values());
        if self.arguments.as_ref().is_some_and(|held| held.region.size() > REGION_KEPT_MAX) {
            self.arguments = None;
        }
        // The flag may have gone up while the last of it was computed.
        interrupt.check()?;
        answer
    }

    fn pack(&mut self, args: &[Vector], message: &mut Writer) -> Result<()> {
        let arguments = self.arguments.as_mut().ok_or_else(not_understood)?;
        let mut packer = Packer::new(arguments.region.bytes_mut());
        args.iter().try_for_each(|arg| packer.column(arg, message))
    }

    /// Memory for arguments; whether it is new to the worker.
    fn make_room(&mut self, size: usize) -> Result<bool> {
        if self.arguments.as_ref().is_some_and(|held| held.region.size() >= size) {
            return Ok(false);
        }
        self.arguments = None;
        let size = size.next_power_of_two().max(REGION_MIN);
        let reserved = match current_limits() {
            Some(limits) => Some(limits.budget.reserve(size as u64)?),
            None => None,
        };
        let region = Region::create(size)
            .map_err(|error| Error::external(format!("no memory to share with worker processes: {error}")))?;
        self.arguments = Some(Arguments { region, _reserved: reserved });
        Ok(true)
    }

    /// Waits for the answer, or until the statement ends.
    fn wait(&mut self, interrupt: &Interrupt) -> std::result::Result<(), Failed> {
        let mut asked: Option<(Instant, Error)> = None;
        loop {
            if self.channel.wait(PAUSE).map_err(|_| self.gone())? {
                return Ok(());
            }
            match &asked {
                None => {
                    let Err(error) = interrupt.check() else { continue };
                    let mut message = Writer::default();
                    message.byte(kind::CANCEL);
                    message.number(self.calls);
                    self.channel.send(&message.done(), None).map_err(|_| self.gone())?;
                    asked = Some((Instant::now(), error));
                }
                Some((since, _)) if since.elapsed() > GRACE => {
                    self.is_broken = true;
                    let error = asked.take().map_or(Error::Interrupted, |(_, error)| error);
                    return Err(error.into());
                }
                Some(_) => {}
            }
        }
    }

    fn answer(&mut self, message: &[u8], spec: &Spec, len: usize) -> std::result::Result<Vector, Failed> {
        let mut message = Reader::new(message);
        let kind = message.byte()?;
        if message.flag()? {
            // The function keeps an array that lies in it.
            self.arguments = None;
        }
        match kind {
            kind::DONE => {
                let answers = self.answers.as_ref().ok_or_else(not_understood)?;
                let mut known = |_: &str| Ok::<LogicalType, Error>(spec.returns.clone());
                Ok(Unpacker::new(answers, Taking::Copied).column(&mut message, len, &mut known)?)
            }
            kind::WRONG => Err(Error::external(message.text()?).into()),
            kind::RAISED => {
                let text = message.text()?;
                let (data, traceback) = (message.bytes()?.to_vec(), message.text()?);
                let message = match self.limit {
                    limit if limit > 0 && text.contains("MemoryError") => {
                        format!("{text}; python_worker_memory is {limit} bytes")
                    }
                    _ => text,
                };
                Err(Failed::Raised { message, data, traceback })
            }
            kind::INTERRUPTED => Err(Error::Interrupted.into()),
            _ => Err(not_understood().into()),
        }
    }

    /// How a process that does not answer any more ended.
    fn gone(&mut self) -> Failed {
        Failed::Gone(self.ended())
    }

    fn ended(&mut self) -> String {
        self.is_broken = true;
        let started = Instant::now();
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) => return told(status),
                Ok(None) if started.elapsed() < END_MAX => std::thread::sleep(Duration::from_millis(2)),
                _ => return "stopped answering".to_string(),
            }
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // A child that was forked has a copy of this, and the process is not its own.
        if self.host == process_id() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

fn not_started(why: &str) -> Error {
    Error::external(format!("no worker process could be started: {why}"))
}

fn told(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("ended with code {code}"),
        (None, Some(9)) => "was killed (signal 9)".to_string(),
        (None, Some(11)) => "crashed (signal 11)".to_string(),
        (None, Some(6)) => "aborted (signal 6)".to_string(),
        (None, Some(signal)) => format!("was ended by signal {signal}"),
        (None, None) => "ended".to_string(),
    }
}

fn definition(spec: &Spec) -> Vec<u8> {
    let mut message = Writer::default();
    message.byte(kind::DEFINE);
    message.number(spec.number);
    message.text(&spec.name);
    message.number(spec.options.len() as u64);
    for (name, value) in &spec.options {
        message.text(name);
        message.text(value);
    }
    message.text(&spec.returns.to_string());
    message.flag(spec.forgives);
    message.flag(spec.refuses_null);
    message.text(spec.form.map_or("", Form::word));
    match &spec.source {
        Source::Text { parameters, is_variadic, body } => {
            message.byte(b't');
            message.number(parameters.len() as u64);
            parameters.iter().for_each(|parameter| message.text(parameter));
            message.flag(*is_variadic);
            message.text(body);
        }
        Source::Callable { kind, data } => {
            message.byte(b'c');
            message.text(kind);
            message.bytes(data);
        }
    }
    message.done()
}

//! The worker: one thread reads requests, the main thread calls functions.

use super::channel::{Channel, leave};
use super::memory::Region;
use super::process::kind;
use super::wire::{self, Packer, Reader, Taking, Unpacker, Writer, not_understood};
use super::{Source, Spec};
use crate::functions::aggregate::{Form, PythonAggregate};
use crate::functions::results::{Failure, Per};
use crate::functions::style::Options;
use crate::functions::turns::Turns;
use crate::functions::{PythonFunction, message_of, watch};
use inlay::external::{GroupedRows, Kept};
use inlay::types::{Error, Interrupt, LogicalType, Result, Vector};
use parking_lot::Mutex;
use pyo3::prelude::*;
use std::collections::HashMap;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::parent_id;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

/// Between two looks at whether the host is still the parent.
const PAUSE: Duration = Duration::from_secs(1);
const REGION_MIN: usize = 1 << 20;

type Request = (Vec<u8>, Option<OwnedFd>);

/// The call that runs, by its number.
type Running = Arc<Mutex<Option<(u64, Interrupt)>>>;

/// What `inlay._worker.main` runs.
#[pyclass(frozen, module = "inlay._inlay", name = "_WorkerServer")]
pub struct WorkerServer(Channel);

#[pymethods]
impl WorkerServer {
    /// Requests come over the socket that is the standard input.
    #[new]
    fn new() -> PyResult<Self> {
        let socket = std::io::stdin().as_fd().try_clone_to_owned()?;
        Ok(Self(Channel::new(UnixStream::from(socket))))
    }

    /// Serves until the host is gone.
    fn run(&self, py: Python<'_>) -> PyResult<()> {
        let running: Running = Arc::default();
        let (sender, receiver) = channel();
        let (own, noted) = (self.0.again()?, Arc::clone(&running));
        std::thread::Builder::new()
            .name("inlay-requests".into())
            .spawn(move || read(&own, &sender, &noted))?;
        self.0.send(&[kind::READY], None)?;
        let receiver = Mutex::new(receiver);
        let mut server = Server { running, ..Server::default() };
        while let Some((message, descriptor)) = py.detach(|| next(&receiver)) {
            let answered = server.serve(py, &message, descriptor);
            let (answer, descriptor) = match answered {
                Ok(Some(answer)) => answer,
                Ok(None) => continue,
                Err(error) => (server.refused(&error), false),
            };
            let region = server.answers.as_ref().filter(|_| descriptor);
            if self.0.send(&answer, region.map(Region::fd)).is_err() {
                break;
            }
        }
        Ok(())
    }
}

fn next(receiver: &Mutex<Receiver<Request>>) -> Option<Request> {
    receiver.lock().recv().ok()
}

/// Reads requests, and ends the process when nobody sends them any more, whatever it does then.
fn read(channel: &Channel, sender: &Sender<Request>, running: &Running) {
    let host = parent_id();
    loop {
        match channel.wait(PAUSE) {
            Ok(true) => {}
            Ok(false) if parent_id() == host => continue,
            // Somebody else has a copy of the host's end.
            Ok(false) | Err(_) => leave(),
        }
        let Ok(request) = channel.receive() else { leave() };
        if request.0.first() == Some(&kind::CANCEL) {
            let number = Reader::new(request.0.get(1..).unwrap_or_default()).number();
            if let Some((call, interrupt)) = &*running.lock()
                && number.is_ok_and(|number| number == *call)
            {
                interrupt.set();
            }
        } else if sender.send(request).is_err() {
            leave();
        }
    }
}

fn wrong(error: &Error, keeps: bool) -> Vec<u8> {
    let mut message = Writer::default();
    message.byte(kind::WRONG);
    message.flag(keeps);
    message.text(&error.to_string());
    message.done()
}

#[derive(Default)]
struct Server {
    /// What was sent of functions, until they are called, and then they.
    specs: HashMap<u64, Spec>,
    functions: HashMap<u64, Served>,
    types: HashMap<String, LogicalType>,
    arguments: Option<Arc<Region>>,
    answers: Option<Region>,
    running: Running,
}

impl Server {
    /// The answer, and whether memory that the host does not know goes with it.
    fn serve(
        &mut self,
        py: Python<'_>,
        message: &[u8],
        descriptor: Option<OwnedFd>,
    ) -> Result<Option<(Vec<u8>, bool)>> {
        let mut message = Reader::new(message);
        match message.byte()? {
            kind::DEFINE => {
                let spec = read_spec(&mut message)?;
                self.specs.insert(spec.number, spec);
                Ok(None)
            }
            kind::CALL => {
                if let Some(descriptor) = descriptor {
                    let region = Region::open(descriptor);
                    self.arguments =
                        Some(Arc::new(region.map_err(|error| Error::external(error.to_string()))?));
                }
                self.call(py, &mut message).map(Some)
            }
            _ => Err(not_understood()),
        }
    }

    fn function(&mut self, py: Python<'_>, number: u64) -> std::result::Result<(), Failure> {
        if self.functions.contains_key(&number) {
            return Ok(());
        }
        let spec = self.specs.remove(&number).ok_or_else(not_understood)?;
        let made = made(py, &spec);
        if made.is_err() {
            // The next call is told the same.
            self.specs.insert(number, spec);
        }
        self.functions.insert(number, made?);
        Ok(())
    }

    fn call(&mut self, py: Python<'_>, message: &mut Reader<'_>) -> Result<(Vec<u8>, bool)> {
        let (call, number) = (message.number()?, message.number()?);
        let (len, count, groups) = (message.size()?, message.size()?, message.size()?);
        let memory = self.arguments.clone().ok_or_else(not_understood)?;
        let name = match (self.functions.get(&number), self.specs.get(&number)) {
            (Some(function), _) => function.name().to_string(),
            (None, Some(spec)) => spec.name.clone(),
            (None, None) => return Err(not_understood()),
        };
        let unpacker = Unpacker::new(&memory, Taking::InPlace);
        let types = &mut self.types;
        let mut known = |text: &str| match types.get(text) {
            Some(ty) => Ok(ty.clone()),
            None => {
                let ty = inlay::sql::type_of(text)?;
                types.insert(text.to_string(), ty.clone());
                Ok(ty)
            }
        };
        let mut args: Vec<Vector> =
            (0..count).map(|_| unpacker.column(message, len, &mut known)).collect::<Result<_>>()?;
        if groups > 0 {
            // Where groups end comes last.
            args.push(unpacker.column(message, groups, &mut known)?);
        }
        let interrupt = Interrupt::new();
        *self.running.lock() = Some((call, interrupt.clone()));
        let outcome = match self.function(py, number) {
            Ok(()) => {
                let function = self.functions.get(&number).ok_or_else(not_understood)?;
                watch::watched(py, &interrupt, || function.called(py, &args, len, &interrupt))
            }
            Err(failure) => Ok((Err(failure), false)),
        };
        *self.running.lock() = None;
        let outcome = match outcome {
            Ok((Err(_), true)) => return Ok((self.ended(args, memory), false)),
            Ok((outcome, _)) => outcome,
            Err(error) => Err(Failure::Raised(error)),
        };
        self.answer(py, &name, outcome, args, memory)
    }

    /// The answer to a call that went wrong outside of the function.
    fn refused(&mut self, error: &Error) -> Vec<u8> {
        // The host does not know of memory that was not sent.
        self.answers = None;
        let keeps = self.arguments.as_ref().is_none_or(|memory| Arc::strong_count(memory) > 1);
        if keeps {
            self.arguments = None;
        }
        wrong(error, keeps)
    }

    /// The answer to a call that was interrupted.
    fn ended(&mut self, args: Vec<Vector>, memory: Arc<Region>) -> Vec<u8> {
        drop(args);
        vec![kind::INTERRUPTED, u8::from(self.keeps(memory))]
    }

    /// Whether somebody has an array that lies in the arguments' memory; then that is theirs.
    fn keeps(&mut self, memory: Arc<Region>) -> bool {
        drop(memory);
        let keeps = self.arguments.as_ref().is_none_or(|memory| Arc::strong_count(memory) > 1);
        if keeps {
            self.arguments = None;
        }
        keeps
    }

    fn answer(
        &mut self,
        py: Python<'_>,
        name: &str,
        outcome: std::result::Result<Vector, Failure>,
        args: Vec<Vector>,
        memory: Arc<Region>,
    ) -> Result<(Vec<u8>, bool)> {
        match outcome {
            Ok(values) => {
                let values = wire::prepared(&values);
                let is_new = self.make_room(wire::size_of(std::slice::from_ref(&values)))?;
                let answers = self.answers.as_mut().ok_or_else(not_understood)?;
                let mut column = Writer::default();
                Packer::new(answers.bytes_mut()).column(&values, &mut column)?;
                drop((values, args));
                let mut message = vec![kind::DONE, u8::from(self.keeps(memory))];
                message.extend(column.done());
                Ok((message, is_new))
            }
            Err(Failure::Wrong(error)) => {
                drop(args);
                Ok((wrong(&error, self.keeps(memory)), false))
            }
            Err(Failure::Raised(error)) => {
                if let Some(traceback) = error.traceback(py) {
                    let _ = error.value(py).setattr("__traceback__", traceback);
                }
                let text = message_of(name, &error);
                let failure = py.import("inlay._worker").and_then(|module| module.getattr("failure"));
                let told = failure.and_then(|failure| failure.call1((error.value(py),))?.extract());
                let (data, traceback): (Vec<u8>, String) = told.unwrap_or_default();
                // Frames of its traceback hold the arguments.
                let _ = error.value(py).setattr("__traceback__", py.None());
                drop((args, error));
                let mut message = Writer::default();
                message.byte(kind::RAISED);
                message.flag(self.keeps(memory));
                message.text(&text);
                message.bytes(&data);
                message.text(&traceback);
                Ok((message.done(), false))
            }
        }
    }

    fn make_room(&mut self, size: usize) -> Result<bool> {
        if self.answers.as_ref().is_some_and(|region| region.size() >= size) {
            return Ok(false);
        }
        self.answers = None;
        let region = Region::create(size.next_power_of_two().max(REGION_MIN));
        let region = region.map_err(|error| {
            Error::external(format!("no memory to share the values of a worker process: {error}"))
        })?;
        self.answers = Some(region);
        Ok(true)
    }
}

/// What is called.
enum Served {
    Scalar(Box<PythonFunction>),
    Aggregate(PythonAggregate),
}

impl Served {
    fn name(&self) -> &str {
        match self {
            Self::Scalar(function) => &function.name,
            Self::Aggregate(aggregate) => &aggregate.function.name,
        }
    }

    /// The values of rows, or of groups whose ends are the last argument.
    fn called(
        &self,
        py: Python<'_>,
        args: &[Vector],
        len: usize,
        interrupt: &Interrupt,
    ) -> std::result::Result<Vector, Failure> {
        match self {
            Self::Scalar(function) => function.called(py, args, len, &Kept::new(), Per::Row),
            Self::Aggregate(aggregate) => {
                let (ends, args) = args.split_last().ok_or_else(not_understood)?;
                let ends = ends.values::<u32>();
                let is_sound = ends.is_sorted() && ends.last().is_some_and(|&end| end as usize == len);
                if !is_sound {
                    return Err(not_understood().into());
                }
                aggregate.called(py, GroupedRows { args, ends }, interrupt)
            }
        }
    }
}

fn read_spec(message: &mut Reader<'_>) -> Result<Spec> {
    let (number, name) = (message.number()?, message.text()?);
    let count = message.size()?;
    let options = (0..count).map(|_| Ok((message.text()?, message.text()?))).collect::<Result<Vec<_>>>()?;
    let returns = inlay::sql::type_of(&message.text()?)?;
    let (forgives, refuses_null) = (message.flag()?, message.flag()?);
    let form = match message.text()?.as_str() {
        "" => None,
        word => Some(Form::of(word)?),
    };
    let source = match message.byte()? {
        b't' => {
            let count = message.size()?;
            let parameters = (0..count).map(|_| message.text()).collect::<Result<Vec<_>>>()?;
            Source::Text { parameters, is_variadic: message.flag()?, body: message.text()? }
        }
        b'c' => Source::Callable { kind: message.text()?, data: message.bytes()?.to_vec() },
        _ => return Err(not_understood()),
    };
    Ok(Spec { number, name, source, options, returns, forgives, refuses_null, form })
}

fn made(py: Python<'_>, spec: &Spec) -> std::result::Result<Served, Failure> {
    let callable = match &spec.source {
        Source::Text { parameters, is_variadic, body } => {
            let module = py.import("inlay._udf")?;
            let text = (&spec.name, parameters.clone(), *is_variadic, body);
            match spec.form {
                None => module.getattr("compiled")?.call1(text)?,
                Some(_) => module.getattr("compiled_aggregate")?.call1(text)?.get_item(1)?,
            }
        }
        Source::Callable { kind, data } => {
            py.import("inlay._worker")?.getattr("unpacked")?.call1((kind, data.as_slice()))?
        }
    };
    let function = PythonFunction {
        name: spec.name.clone(),
        callable: callable.unbind(),
        style: Options::of(&spec.name, &spec.options)?.style,
        returns: spec.returns.clone(),
        forgives: spec.forgives,
        queries: false,
        refuses_null: spec.refuses_null,
        remote: None,
        turns: Turns::default(),
    };
    Ok(match spec.form {
        None => Served::Scalar(Box::new(function)),
        Some(form) => Served::Aggregate(PythonAggregate { function: Arc::new(function), form }),
    })
}

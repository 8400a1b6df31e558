//! `read_arrow`: files of Arrow's own format, with a footer (`.arrow`, `.feather`) or as streams (`.arrows`).
//!
//! A file with a footer is read by all workers, a record batch each; a stream from its beginning to its end, by one at a
//! time. Only the wanted columns are converted. Which of the two a file is, its first bytes say.

use crate::files::{Files, First, Seekable};
use crate::parquet::bridge;
use crate::per_file::{PerFile, check_alike};
use crate::quiet::caught;
use crate::remote::shown;
use crate::stored::{NOTE, Restored, noted};
use crate::{arrow_check, ranges};
use arrow_array::{Array, RecordBatch};
use arrow_ipc::reader::{FileReader, StreamReader};
use arrow_schema::{ArrowError, Schema};
use inlay_catalog::{
    ScanRequest, SourceColumn, SourceScan, SourceTask, TableFunction, TableSource, TypeNames,
};
use inlay_types::arrow::{ArrowField, ArrowRecords};
use inlay_types::{Batch, Error, Reservation, Result, VECTOR_SIZE, Value, limits};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::fmt;
use std::io::{BufReader, Read, Seek};
use std::sync::Arc;

/// The function, under one of its names.
#[derive(Debug)]
pub struct ReadArrow {
    name: &'static str,
    access: Arc<Files>,
}

impl ReadArrow {
    /// The reader of files that `access` allows.
    pub fn new(name: &'static str, access: &Arc<Files>) -> Self {
        Self { name, access: Arc::clone(access) }
    }
}

impl TableFunction for ReadArrow {
    fn name(&self) -> &'static str {
        self.name
    }

    fn bind(
        &self,
        args: &[Value],
        named: &[(String, Value)],
        types: &TypeNames<'_>,
    ) -> Result<Arc<dyn TableSource>> {
        let (per_file, named) = PerFile::take(named, types)?;
        let files = per_file.files(self.name, args, &self.access)?;
        if let Some((name, _)) = named.first() {
            let known = ["filename", "hive_partitioning", "hive_types", "union_by_name"];
            return Err(crate::option_text::unknown_option(self.name, name, &known));
        }
        per_file.open(files, &|paths: &[String]| ArrowFiles::open(&self.access, paths, types))
    }

    fn folder_columns(
        &self,
        args: &[Value],
        named: &[(String, Value)],
        types: &TypeNames<'_>,
    ) -> Result<Vec<String>> {
        PerFile::folder_columns(self.name, args, named, types, &self.access)
    }
}

type Buffered = BufReader<Box<dyn Seekable>>;

/// A file that is being read.
enum Reader {
    File(Box<FileReader<Buffered>>),
    Stream(Box<StreamReader<Buffered>>),
}

fn malformed(path: &str, message: impl fmt::Display) -> Error {
    Error::MalformedFile { path: path.to_string(), line: None, message: message.to_string() }
}

/// Runs a call into the arrow crates, which may panic on damaged files.
fn guarded<T>(path: &str, call: impl FnOnce() -> std::result::Result<T, ArrowError>) -> Result<T> {
    ranges::telling(|| match caught(call) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => Err(malformed(path, format!("the Arrow file cannot be read: {error}"))),
        Err(_) => Err(malformed(path, "the Arrow file is damaged: reading it failed an internal check")),
    })
}

impl Reader {
    fn open(file: &ArrowFile, columns: Option<Vec<usize>>) -> Result<Self> {
        let (path, files) = (&file.path, &file.files);
        // Dictionaries are read at once.
        let _held = limits::hold(usize::try_from(file.sizes.kept).unwrap_or(usize::MAX))?;
        let failed = |error: &std::io::Error| Error::io("cannot read", &**path, error);
        let mut file: Buffered = BufReader::new(match &file.remote {
            Some(bytes) => Box::new(ranges::Ranges::new(Arc::clone(bytes))),
            None => Box::new(files.open(path)?),
        });
        let mut first = Vec::new();
        ranges::telling(|| {
            file.by_ref().take(6).read_to_end(&mut first).map_err(|error| failed(&error))?;
            file.rewind().map_err(|error| failed(&error))
        })?;
        match first.as_slice() {
            b"ARROW1" => Ok(Self::File(Box::new(guarded(path, || FileReader::try_new(file, columns))?))),
            [0xff, 0xff, 0xff, 0xff, ..] => {
                Ok(Self::Stream(Box::new(guarded(path, || StreamReader::try_new(file, columns))?)))
            }
            _ => Err(malformed(path, "the file is no Arrow file, nor a stream of Arrow's format")),
        }
    }

    fn schema(&self) -> Arc<Schema> {
        match self {
            Self::File(reader) => reader.schema(),
            Self::Stream(reader) => reader.schema(),
        }
    }

    /// The next record batch, for which memory is asked before it is unpacked.
    fn next(&mut self, file: &ArrowFile) -> Result<Option<RecordBatch>> {
        let _held = limits::hold(file.sizes.total())?;
        guarded(&file.path, || match self {
            Self::File(reader) => reader.next().transpose(),
            Self::Stream(reader) => reader.next().transpose(),
        })
    }
}

/// A file of Arrow's format.
struct ArrowFile {
    path: String,
    /// Record batches; `None` of a stream.
    batch_count: Option<usize>,
    files: Arc<Files>,
    /// What it says of itself, which memory is asked for by.
    sizes: arrow_check::Sizes,
    /// A file behind a network stays open.
    remote: Option<Arc<dyn ranges::RangeSource>>,
}

/// Arrow files of one schema.
struct ArrowFiles {
    files: Arc<[ArrowFile]>,
    columns: Vec<SourceColumn>,
    row_count_estimate: u64,
}

impl ArrowFiles {
    fn open(access: &Arc<Files>, paths: &[String], types: &TypeNames<'_>) -> Result<Arc<dyn TableSource>> {
        let (mut columns, mut restored): (Vec<SourceColumn>, Vec<SourceColumn>) = Default::default();
        let (mut files, mut size) = (Vec::with_capacity(paths.len()), 0);
        for (index, path) in paths.iter().enumerate() {
            let bytes = access.ranges(path, First::Beginning)?;
            let check = || arrow_check::check(bytes.as_ref()).map_err(ArrowError::ParseError);
            let sizes = guarded(path, check)?;
            size += bytes.size();
            let remote = access.is_elsewhere(path).then_some(bytes);
            let (path_of, files_of) = (path.clone(), Arc::clone(access));
            let mut file = ArrowFile { path: path_of, batch_count: None, files: files_of, sizes, remote };
            let reader = Reader::open(&file, None)?;
            let own = columns_of(path, &reader.schema())?;
            let mut was = own.clone();
            if let Some(note) = reader.schema().metadata().get(NOTE) {
                noted(note, &mut was, types);
            }
            if index == 0 {
                (columns, restored) = (own, was);
            } else if columns != own || restored != was {
                check_alike((&paths[0], &restored), (path, &was))?;
                let one = |path: &String| {
                    Ok((path.clone(), Self::open(access, std::slice::from_ref(path), types)?))
                };
                return PerFile::joined(paths.iter().map(one).collect::<Result<_>>()?);
            }
            file.batch_count = match &reader {
                Reader::File(reader) => Some(reader.num_batches()),
                Reader::Stream(_) => None,
            };
            files.push(file);
        }
        // About eight bytes per value.
        let row_count_estimate = size / (8 * columns.len().max(1) as u64);
        let source = Self { files: files.into(), columns, row_count_estimate };
        Ok(Restored::around(Arc::new(source), restored))
    }
}

fn columns_of(path: &str, schema: &Schema) -> Result<Vec<SourceColumn>> {
    let field = bridge::field_of(schema)?;
    let column = |(index, field): (usize, &ArrowField)| {
        let name = if field.name.is_empty() { format!("column{index}") } else { field.name.clone() };
        let ty =
            field.logical_type().map_err(|error| malformed(path, format!("column \"{name}\": {error}")))?;
        Ok(SourceColumn { name, ty })
    };
    field.children.iter().enumerate().map(column).collect()
}

impl fmt::Debug for ArrowFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ArrowFiles({})", self.description())
    }
}

impl TableSource for ArrowFiles {
    fn description(&self) -> String {
        let shown: Vec<String> =
            self.files.iter().take(3).map(|file| format!("'{}'", shown(&file.path))).collect();
        let more = if self.files.len() > 3 { ", ..." } else { "" };
        format!("read_arrow({}{more})", shown.join(", "))
    }

    fn columns(&self) -> &[SourceColumn] {
        &self.columns
    }

    fn row_count_estimate(&self) -> Option<u64> {
        Some(self.row_count_estimate)
    }

    fn may_wait(&self) -> bool {
        self.files.iter().all(|file| file.remote.as_ref().is_none_or(|bytes| bytes.may_wait()))
    }

    fn scan(&self, request: ScanRequest) -> Result<Box<dyn SourceScan>> {
        // Columns are read once each, in the order of the file; without any, the first tells the number of rows.
        let mut read = request.columns.clone();
        read.sort_unstable();
        read.dedup();
        if read.is_empty() && !self.columns.is_empty() {
            read.push(0);
        }
        // All of them are in `read`, in which each comes once: their place is the number of those before.
        let places =
            request.columns.iter().map(|column| read.partition_point(|known| known < column)).collect();
        Ok(Box::new(ArrowScan {
            files: Arc::clone(&self.files),
            read,
            places,
            open: Mutex::default(),
            request,
        }))
    }
}

struct ArrowScan {
    files: Arc<[ArrowFile]>,
    /// Columns of the files that are read, and where in these each wanted one is.
    read: Vec<usize>,
    places: Arc<[usize]>,
    open: Mutex<Open>,
    request: ScanRequest,
}

#[derive(Default)]
struct Open {
    next_file: usize,
    /// The next record batch of the file, and its stream.
    next_batch: usize,
    stream: Option<Reader>,
    /// Of the current file.
    idle: Idle,
}

/// Readers of a file that no worker uses.
type Idle = Arc<Mutex<Vec<Reader>>>;

impl ArrowScan {
    fn task(&self, file: usize, records: Records) -> SourceTask {
        Box::new(ArrowTask {
            files: Arc::clone(&self.files),
            file,
            records,
            places: Arc::clone(&self.places),
            at: 0,
            request: self.request.clone(),
            reservation: None,
        })
    }
}

impl SourceScan for ArrowScan {
    fn next_task(&self) -> Result<Option<SourceTask>> {
        let mut open = self.open.lock();
        loop {
            self.request.interrupt.check()?;
            let number_of_file = open.next_file;
            let Some(file) = self.files.get(number_of_file) else { return Ok(None) };
            match file.batch_count {
                Some(count) if open.next_batch < count => {
                    let number = open.next_batch;
                    open.next_batch += 1;
                    let later =
                        Records::Later { number, read: self.read.clone(), idle: Arc::clone(&open.idle) };
                    return Ok(Some(self.task(number_of_file, later)));
                }
                Some(_) => open.idle = Idle::default(),
                None => {
                    let mut stream = match open.stream.take() {
                        Some(stream) => stream,
                        None => Reader::open(file, Some(self.read.clone()))?,
                    };
                    if let Some(records) = stream.next(file)? {
                        open.stream = Some(stream);
                        return Ok(Some(self.task(number_of_file, Records::Read(records))));
                    }
                }
            }
            open.next_file += 1;
            open.next_batch = 0;
        }
    }
}

/// A record batch, read or to be read.
enum Records {
    Later { number: usize, read: Vec<usize>, idle: Idle },
    Read(RecordBatch),
    Columns(ArrowRecords),
    Done,
}

struct ArrowTask {
    files: Arc<[ArrowFile]>,
    file: usize,
    records: Records,
    places: Arc<[usize]>,
    at: usize,
    request: ScanRequest,
    reservation: Option<Reservation>,
}

impl ArrowTask {
    fn next_batch(&mut self) -> Result<Option<Batch>> {
        self.request.interrupt.check()?;
        let file = &self.files[self.file];
        let path = &file.path;
        loop {
            match std::mem::replace(&mut self.records, Records::Done) {
                Records::Later { number, read, idle } => {
                    let taken = idle.lock().pop();
                    let mut reader = taken.map_or_else(|| Reader::open(file, Some(read)), Ok)?;
                    if let Reader::File(reader) = &mut reader {
                        guarded(path, || reader.set_index(number))?;
                    }
                    let records = reader.next(file)?;
                    idle.lock().push(reader);
                    self.records =
                        Records::Read(records.ok_or_else(|| malformed(path, "the file has changed"))?);
                }
                Records::Read(records) => {
                    self.reservation = Some(self.request.budget.reserve(memory_size(&records))?);
                    let field = bridge::field_of(&records.schema())?;
                    let columns =
                        bridge::records_of(records, &field).map_err(|error| malformed(path, error))?;
                    self.records = Records::Columns(columns);
                }
                Records::Columns(records) => {
                    let len = VECTOR_SIZE.min(records.len() - self.at);
                    if len == 0 {
                        return Ok(None);
                    }
                    let columns = records.columns();
                    let vectors = self.places.iter().map(|&place| columns[place].vector(self.at, len));
                    let batch = Batch::new(vectors.collect::<Result<_>>()?, len);
                    self.at += len;
                    self.records = Records::Columns(records);
                    return Ok(Some(batch));
                }
                Records::Done => return Ok(None),
            }
        }
    }
}

/// Bytes that a record batch keeps alive. Its columns share what was read at once, which counts once.
fn memory_size(records: &RecordBatch) -> u64 {
    let mut sizes = HashMap::new();
    let mut parts: Vec<_> = records.columns().iter().map(|column| column.to_data()).collect();
    while let Some(part) = parts.pop() {
        for buffer in part.buffers().iter().chain(part.nulls().map(|nulls| nulls.buffer())) {
            sizes.insert(buffer.data_ptr(), buffer.capacity() as u64);
        }
        parts.extend(part.child_data().iter().cloned());
    }
    sizes.values().sum()
}

impl Iterator for ArrowTask {
    type Item = Result<Batch>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_batch().transpose()
    }
}

//! Writing results to files: the targets of `COPY ... TO`.
//!
//! A writer fills a temporary file beside the target and renames it in [`FileWriter::finish`]; a query that fails
//! leaves the target as it was.

mod archive;
mod arrow;
mod csv;
mod json;
mod layout;
mod names;
mod packed;
mod parquet;
mod partition;
mod series;
mod xlsx;

use self::layout::Layout;
use self::partition::{Folder, PartitionWriter};
use self::series::{FolderWriter, Kind, WithRows};

use crate::Parallel;
use crate::files::Files;
use crate::input::unpacked_name;
use crate::stored::{StoredWriter, note, stored_type};
use inlay_catalog::access::{Door, How, Way};
use inlay_kernels::cast::{cast_value, cast_value_in_zone};
use inlay_kernels::zone::Zone;
use inlay_types::discard::discard;
use inlay_types::size_limit::OutputFile;
use inlay_types::{Batch, Error, LogicalType, Result, Value, limits};
use parking_lot::Mutex;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Takes the rows of a result, in order.
pub trait FileWriter: Send {
    /// Writes batches of the columns that the writer was opened for; threads share the work.
    fn write(&mut self, batches: &[Batch], parallel: Parallel<'_>) -> Result<()>;
    /// Bytes that are made and not written yet.
    fn waiting(&self) -> u64 {
        0
    }
    /// Completes the file and puts it in its place; returns the number of rows.
    fn finish(self: Box<Self>, parallel: Parallel<'_>) -> Result<u64>;
}

/// What `make` gives for each number below `count`, in order.
pub(crate) fn made<T: Send>(
    parallel: Parallel<'_>,
    count: usize,
    make: impl Fn(usize) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let slots: Vec<Mutex<Option<T>>> = (0..count).map(|_| Mutex::default()).collect();
    parallel(count, &|index| {
        // Of many rows, whose texts and trees are made one after the other.
        let made = limits::step(usize::MAX, || make(index))?;
        *slots[index].lock() = Some(made);
        Ok(())
    })?;
    let taken = slots.into_iter().map(|slot| slot.into_inner());
    taken.map(|made| made.ok_or_else(|| Error::internal("a part of a file was not made"))).collect()
}

/// What a writer is opened for: a file, and the names and types of its columns.
#[derive(Clone, Copy, Debug)]
pub struct Destination<'a> {
    /// How files are reached.
    pub files: &'a Arc<Files>,
    /// The file.
    pub path: &'a str,
    /// Names of the columns.
    pub names: &'a [String],
    /// Their types.
    pub types: &'a [LogicalType],
    /// Takes down what is written.
    pub account: &'a Arc<Account>,
}

/// What was written: bytes, and the files that are in their places.
#[derive(Debug, Default)]
pub struct Account {
    bytes: Arc<AtomicU64>,
    files: Mutex<Vec<String>>,
}

impl Account {
    /// Bytes that were written to files, complete or not.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Paths of the files that are complete.
    pub fn files(&self) -> Vec<String> {
        self.files.lock().clone()
    }

    /// Adds what another one took down.
    fn add(&self, other: &Self) {
        self.bytes.fetch_add(other.bytes(), Ordering::Relaxed);
        self.files.lock().extend(other.files());
    }
}

/// Opens a writer. The option `format` (`csv`, `json`, `parquet`, `arrow` or `xlsx`) decides; without it the file's extension.
/// Options have lower-case names.
pub fn open_writer(to: &Destination<'_>, options: &[(String, Value)]) -> Result<Box<dyn FileWriter>> {
    let given = options.iter().find(|(name, _)| name == "format").and_then(|(_, value)| value.as_str());
    let extension = Path::new(unpacked_name(to.path)).extension().and_then(|e| e.to_str()).unwrap_or("csv");
    let format = given.unwrap_or(extension).to_ascii_lowercase();
    let (mut layout, others) = Layout::read(options)?;
    if !layout.is_folder() && layout.writes_empty {
        return open_single(to, &format, &others);
    }
    let kind = Kind {
        files: Arc::clone(to.files),
        names: to.names.to_vec(),
        types: to.types.to_vec(),
        extension: layout.extension.clone().unwrap_or_else(|| format_name(&format).to_string()),
        format,
        options: others,
        bytes_max: layout.bytes_max,
        rows_max: layout.rows_max,
        account: Arc::clone(to.account),
    };
    if !layout.is_folder() {
        return Ok(Box::new(WithRows::new(kind, to.path)));
    }
    let path = to.path.trim_end_matches(['/', '\\']);
    let by = layout.by.take();
    let folder = Folder { files: to.files, path, is_divided: by.is_some() && layout.is_hive };
    folder.prepare(layout.may_exist, layout.empties)?;
    let Some(by) = by else {
        if !to.files.is_elsewhere(path) {
            to.files.access().make_folders(path)?;
        }
        return Ok(Box::new(FolderWriter::new(&kind, layout, path)));
    };
    Ok(Box::new(PartitionWriter::new(kind, layout, &by, path)?))
}

/// Opens a writer of one file.
fn open_single(
    to: &Destination<'_>,
    format: &str,
    options: &[(String, Value)],
) -> Result<Box<dyn FileWriter>> {
    let given = options.iter().any(|(name, _)| name == "format");
    let others: Vec<(String, Value)> = options.iter().filter(|(name, _)| name != "format").cloned().collect();
    let is_parquet = matches!(format, "parquet" | "pq");
    Ok(match format {
        "arrow" | "feather" | "ipc" | "arrows" | "parquet" | "pq" => {
            let stored: Vec<LogicalType> = to.types.iter().map(|ty| stored_type(ty, !is_parquet)).collect();
            let note = note(to.names, to.types, &stored);
            let within = Destination { types: &stored, ..*to };
            let inner: Box<dyn FileWriter> = if is_parquet {
                Box::new(parquet::ParquetWriter::open(&within, &others, note)?)
            } else {
                Box::new(arrow::ArrowWriter::open(&within, &others, format == "arrows", note)?)
            };
            if stored == to.types {
                inner
            } else {
                Box::new(StoredWriter { inner, names: to.names.to_vec(), types: stored })
            }
        }
        "xlsx" => Box::new(xlsx::ExcelWriter::open(to, &others)?),
        "json" | "ndjson" | "jsonl" => Box::new(json::JsonWriter::open(to, &others)?),
        "csv" | "tsv" | "tbl" | "txt" => Box::new(csv::CsvWriter::open(to, &others)?),
        _ if !given => Box::new(csv::CsvWriter::open(to, &others)?),
        other => {
            return Err(Error::Unsupported {
                feature: format!("writing the format {other}"),
                alternative: Some("use FORMAT csv, json, parquet, arrow or xlsx".to_string()),
            });
        }
    })
}

/// The format whose files these are; CSV where nothing says.
fn format_name(format: &str) -> &'static str {
    match format {
        "parquet" | "pq" => "parquet",
        "arrow" | "feather" | "ipc" => "arrow",
        "arrows" => "arrows",
        "json" | "ndjson" | "jsonl" => "json",
        "xlsx" => "xlsx",
        _ => "csv",
    }
}

/// A file that appears under its name only when it is complete, and is removed otherwise. What is there and is no file, as
/// `/dev/stdout` or a pipe, is written to as it is; a file for a bucket is written to disk and sent when it is complete.
#[derive(Debug)]
struct Target {
    path: String,
    place: Place,
    account: Arc<Account>,
}

#[derive(Debug)]
enum Place {
    Stream,
    /// The file that takes the target's place.
    Beside(Temporary),
    Bucket(Arc<Files>, File),
}

/// A file that is removed, unless it was renamed.
#[derive(Debug)]
struct Temporary {
    way: Way,
    /// Where it is going to be.
    target: Way,
    /// Keeps the file until its name is gone; see [`discard`].
    file: Option<File>,
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // The file is of no use; that it stays behind is all that can go wrong.
        let _ = self.way.remove();
        if let Some(file) = self.file.take() {
            discard(file);
        }
    }
}

impl Target {
    fn create(to: &Destination<'_>) -> Result<(Self, OutputFile)> {
        to.files.ask(Door::Write(to.path))?;
        if to.files.is_elsewhere(to.path) {
            return Self::remote(to);
        }
        let path = Path::new(to.path);
        let failed = |error: &std::io::Error| Error::io("cannot write", to.path, error);
        let target = to.files.access().way(Door::Write(to.path))?;
        let there = target.about().ok().map(|about| about.file_type());
        let name = path.file_name().and_then(|n| n.to_str()).unwrap_or_default();
        if name.is_empty() || there.is_some_and(|there| there.is_dir()) {
            let error = std::io::Error::new(std::io::ErrorKind::IsADirectory, "is a folder, not a file");
            return Err(failed(&error));
        }
        let is_stream = there.is_some_and(|there| !there.is_file() && !there.is_symlink());
        if is_stream || is_descriptor(path) {
            let file = match standard_stream(to.path) {
                Some(stream) => stream,
                None => target.open(How::Append),
            };
            let file = file.map_err(|error| failed(&error))?;
            return Ok(Self::of(to, Place::Stream, file));
        }
        // Two threads may write a file of this name at once.
        let thread = format!("{:?}", std::thread::current().id());
        let thread: String = thread.chars().filter(char::is_ascii_digit).collect();
        let way = target.beside(&format!(".{name}.{}.{thread}.part", std::process::id()));
        let file = match way.open(How::New) {
            // What a process of this number left behind, or somebody put there: it is not written to.
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
                way.remove().and_then(|()| way.open(How::New))
            }
            opened => opened,
        };
        let file = file.map_err(|error| failed(&error))?;
        let temporary = Temporary { way, target, file: file.try_clone().ok() };
        Ok(Self::of(to, Place::Beside(temporary), file))
    }

    fn of(to: &Destination<'_>, place: Place, file: File) -> (Self, OutputFile) {
        let file = OutputFile::counted(file, Arc::clone(&to.account.bytes));
        (Self { path: to.path.to_string(), place, account: Arc::clone(to.account) }, file)
    }

    fn remote(to: &Destination<'_>) -> Result<(Self, OutputFile)> {
        if !to.files.is_bucket(to.path) {
            return Err(Error::Unsupported {
                feature: "writing to a web address".to_string(),
                alternative: Some("write to s3:// or to a file".to_string()),
            });
        }
        if to.path.ends_with('/') {
            let error = std::io::Error::new(std::io::ErrorKind::IsADirectory, "is a folder, not a file");
            return Err(Error::io("cannot write", to.path, &error));
        }
        let failed = |error: std::io::Error| Error::io("cannot write", to.path, &error);
        let file = to.files.temporary()?;
        let written = file.try_clone().map_err(failed)?;
        Ok(Self::of(to, Place::Bucket(Arc::clone(to.files), file), written))
    }

    fn error(&self, error: &std::io::Error) -> Error {
        Error::io("cannot write", &*self.path, error)
    }

    /// An error of a crate that writes: that of the system beneath it, if there is one.
    fn failure(&self, error: &(dyn std::error::Error + 'static)) -> Error {
        let mut cause = Some(error);
        while let Some(known) = cause {
            if let Some(system) = known.downcast_ref::<std::io::Error>() {
                return self.error(system);
            }
            cause = known.source();
        }
        self.refusal(error.to_string())
    }

    fn refusal(&self, message: String) -> Error {
        Error::Io { action: "cannot write", path: self.path.clone(), message }
    }

    /// Puts the file, which is complete and closed, in its place.
    fn publish(mut self) -> Result<()> {
        match &mut self.place {
            Place::Stream => {}
            Place::Beside(temporary) => {
                temporary.file = None;
                temporary.way.rename(&temporary.target).map_err(|error| self.error(&error))?;
            }
            Place::Bucket(files, file) => files.upload(&self.path, file)?,
        }
        self.account.files.lock().push(self.path);
        Ok(())
    }
}

/// Whether a path names something that the process has open, which may be a file and is written to as it is. Other files below
/// `/dev`, such as those of `/dev/shm`, are files.
fn is_descriptor(path: &Path) -> bool {
    ["/dev/stdout", "/dev/stderr"].iter().any(|name| path == Path::new(name))
        || ["/dev/fd", "/proc/self/fd"].iter().any(|folder| path.starts_with(folder))
}

/// The process' own stream of this name. Opened by its name it would be another opening, with a place of its own in a file that
/// several programs write to one after the other.
fn standard_stream(path: &str) -> Option<std::io::Result<File>> {
    #[cfg(unix)]
    {
        use std::os::fd::AsFd;
        let of = |name: &str, stream: &dyn AsFd| {
            (path == name).then(|| stream.as_fd().try_clone_to_owned().map(File::from))
        };
        of("/dev/stdout", &std::io::stdout()).or_else(|| of("/dev/stderr", &std::io::stderr()))
    }
    #[cfg(not(unix))]
    {
        let _ = path;
        None
    }
}

/// Fails at a value of a UNION whose text would be read as that of another member: the text does not say which it is of.
fn check_members(name: &str, ty: &LogicalType, value: &Value, zone: Option<&Zone>) -> Result<()> {
    if value.is_null() || !ty.has_part(&|part| matches!(part, LogicalType::Union(_))) {
        return Ok(());
    }
    let cast = |value: &Value, to: &LogicalType| {
        zone.map_or_else(|| cast_value(value, to), |zone| cast_value_in_zone(value, to, zone))
    };
    let read = cast(value, &LogicalType::Varchar).and_then(|text| cast(&text, ty));
    if read.is_ok_and(|read| read.total_cmp(value).is_eq()) {
        return Ok(());
    }
    let message = format!("column \"{name}\": the text of {value} would be read as another member of {ty}");
    let hint = "write the format parquet or json, or a column for each member";
    Err(Error::invalid_argument(message).with_hint(hint))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A writer of a file on disk.
    pub(crate) fn opened(
        path: &str,
        names: &[String],
        types: &[LogicalType],
        options: &[(String, Value)],
    ) -> Result<Box<dyn FileWriter>> {
        open_writer(
            &Destination { files: &Arc::default(), path, names, types, account: &Arc::default() },
            options,
        )
    }

    /// Runs tasks on the calling thread.
    pub(crate) fn alone(count: usize, work: &(dyn Fn(usize) -> Result<()> + Sync)) -> Result<()> {
        (0..count).try_for_each(work)
    }

    /// Writes all batches; returns the number of rows.
    pub(crate) fn written(
        path: &str,
        names: &[String],
        types: &[LogicalType],
        batches: impl Iterator<Item = Result<Batch>>,
        options: &[(String, Value)],
    ) -> Result<u64> {
        let mut writer = opened(path, names, types, options)?;
        for batch in batches {
            writer.write(&[batch?], &alone)?;
        }
        writer.finish(&alone)
    }
}

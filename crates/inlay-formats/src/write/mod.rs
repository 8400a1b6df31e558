//! Writing results to files: the targets of `COPY ... TO`.
//!
//! A writer fills a temporary file beside the target and renames it in [`FileWriter::finish`]; a query that fails
//! leaves the target as it was.

mod arrow;
mod csv;
mod json;
mod packed;
mod parquet;
mod partition;
mod xlsx;

use crate::input::unpacked_name;
use inlay_types::{Batch, Error, LogicalType, Result, Value};
use std::fs::File;
use std::path::{Path, PathBuf};

/// Takes the rows of a result, in order.
pub trait FileWriter: Send {
    /// Writes a batch of the columns that the writer was opened for.
    fn write(&mut self, batch: &Batch) -> Result<()>;
    /// Completes the file and puts it in its place; returns the number of rows.
    fn finish(self: Box<Self>) -> Result<u64>;
}

/// Opens a writer for columns of these names and types. The option `format` (`csv`, `json`, `parquet`, `arrow` or `xlsx`) decides;
/// without it the file's extension. Options have lower-case names.
pub fn open_writer(
    path: &str,
    names: &[String],
    types: &[LogicalType],
    options: &[(String, Value)],
) -> Result<Box<dyn FileWriter>> {
    let given = options.iter().find(|(name, _)| name == "format").and_then(|(_, value)| value.as_str());
    let extension = Path::new(unpacked_name(path)).extension().and_then(|e| e.to_str()).unwrap_or("csv");
    let others: Vec<(String, Value)> = options.iter().filter(|(name, _)| name != "format").cloned().collect();
    let format = given.unwrap_or(extension).to_ascii_lowercase();
    if let Some(writer) =
        partition::PartitionWriter::open(path, &format_name(&format), names, types, &others)?
    {
        return Ok(Box::new(writer));
    }
    match format.as_str() {
        "arrow" | "feather" | "ipc" | "arrows" => {
            Ok(Box::new(arrow::ArrowWriter::open(path, names, types, &others, format == "arrows")?))
        }
        "parquet" | "pq" => Ok(Box::new(parquet::ParquetWriter::open(path, names, types, &others)?)),
        "xlsx" => Ok(Box::new(xlsx::ExcelWriter::open(path, names, types, &others)?)),
        "json" | "ndjson" | "jsonl" => Ok(Box::new(json::JsonWriter::open(path, names, types, &others)?)),
        "csv" | "tsv" | "tbl" | "txt" => Ok(Box::new(csv::CsvWriter::open(path, names, types, &others)?)),
        _ if given.is_none() => Ok(Box::new(csv::CsvWriter::open(path, names, types, &others)?)),
        other => Err(Error::Unsupported {
            feature: format!("writing the format {other}"),
            alternative: Some("use FORMAT csv, json, parquet, arrow or xlsx".to_string()),
        }),
    }
}

/// The format whose files these are; CSV where nothing says.
fn format_name(format: &str) -> String {
    match format {
        "parquet" | "pq" => "parquet",
        "arrow" | "feather" | "ipc" => "arrow",
        "arrows" => "arrows",
        "json" | "ndjson" | "jsonl" => "json",
        "xlsx" => "xlsx",
        _ => "csv",
    }
    .to_string()
}

/// Writes all batches to a CSV file; returns the number of rows.
pub fn write_csv(
    path: &str,
    names: &[String],
    types: &[LogicalType],
    batches: impl Iterator<Item = Result<Batch>>,
    options: &[(String, Value)],
) -> Result<u64> {
    write_all(Box::new(csv::CsvWriter::open(path, names, types, options)?), batches)
}

/// Writes all batches to a Parquet file; returns the number of rows.
pub fn write_parquet(
    path: &str,
    names: &[String],
    types: &[LogicalType],
    batches: impl Iterator<Item = Result<Batch>>,
    options: &[(String, Value)],
) -> Result<u64> {
    write_all(Box::new(parquet::ParquetWriter::open(path, names, types, options)?), batches)
}

fn write_all(mut writer: Box<dyn FileWriter>, batches: impl Iterator<Item = Result<Batch>>) -> Result<u64> {
    for batch in batches {
        writer.write(&batch?)?;
    }
    writer.finish()
}

/// A file that appears under its name only when it is complete, and is removed otherwise. What is there and is no file, as
/// `/dev/stdout` or a pipe, is written to as it is.
#[derive(Debug)]
struct Target {
    path: PathBuf,
    temporary: PathBuf,
    done: bool,
}

impl Target {
    fn create(path: &str) -> Result<(Self, File)> {
        let path = PathBuf::from(path);
        let name = path.file_name().and_then(|n| n.to_str()).unwrap_or_default();
        // Two threads may write a file of this name at once.
        let thread = format!("{:?}", std::thread::current().id());
        let thread: String = thread.chars().filter(char::is_ascii_digit).collect();
        let temporary = path.with_file_name(format!(".{name}.{}.{thread}.part", std::process::id()));
        let shown = path.to_string_lossy();
        if name.is_empty() || path.is_dir() {
            let error = std::io::Error::new(std::io::ErrorKind::IsADirectory, "is a folder, not a file");
            return Err(Error::io("cannot write", shown, &error));
        }
        let is_stream = std::fs::metadata(&path).is_ok_and(|there| !there.is_file() && !there.is_dir());
        if is_stream || path.starts_with("/dev") {
            let file = File::options().append(true).open(&path);
            let file = file.map_err(|e| Error::io("cannot write", shown, &e))?;
            return Ok((Self { path, temporary: PathBuf::new(), done: true }, file));
        }
        let file = File::create(&temporary).map_err(|e| Error::io("cannot write", shown, &e))?;
        Ok((Self { path, temporary, done: false }, file))
    }

    fn error(&self, error: &std::io::Error) -> Error {
        Error::io("cannot write", self.path.to_string_lossy(), error)
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
        Error::Io { action: "cannot write", path: self.path.to_string_lossy().into_owned(), message }
    }

    fn publish(mut self) -> Result<()> {
        if self.done {
            return Ok(());
        }
        std::fs::rename(&self.temporary, &self.path).map_err(|e| self.error(&e))?;
        self.done = true;
        Ok(())
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        if !self.done {
            // The file is of no use; that it stays behind is all that can go wrong.
            let _ = std::fs::remove_file(&self.temporary);
        }
    }
}

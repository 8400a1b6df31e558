//! Parquet files as a table: `read_parquet('*.parquet')`.
//!
//! A morsel is a row group; each is read on its own handle of the file, for the wanted columns only. Row groups that
//! the footer's statistics rule out are not read. Text arrives as views into the decoded pages and is not copied;
//! decimals of up to 18 digits arrive in 32 or 64 bits.

pub mod about;
pub(crate) mod bridge;
mod prune;

use crate::option_text::boolean;
use crate::paths;
use crate::per_file::PerFile;
use arrow_array::RecordBatch;
use arrow_schema::{DataType, Field, Schema};
use inlay_catalog::{
    FileAccess, ScanRequest, SourceColumn, SourceFilter, SourceScan, SourceTask, TableFunction, TableSource,
};
use inlay_types::arrow::{ArrowField, ArrowRecords};
use inlay_types::{Batch, Error, Interrupt, Reservation, Result, VECTOR_SIZE, Value};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
};
use prune::Bounds;
use std::fmt;
use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Rows decoded at once.
const DECODE_ROWS: usize = 4 * VECTOR_SIZE;

/// `read_parquet`, under one of its names.
#[derive(Debug)]
pub struct ReadParquet {
    name: &'static str,
    access: Arc<FileAccess>,
}

impl ReadParquet {
    /// The reader of files that `access` allows.
    pub fn new(name: &'static str, access: &Arc<FileAccess>) -> Self {
        Self { name, access: Arc::clone(access) }
    }
}

impl TableFunction for ReadParquet {
    fn name(&self) -> &'static str {
        self.name
    }

    fn bind(&self, args: &[Value], named: &[(String, Value)]) -> Result<Arc<dyn TableSource>> {
        let (per_file, named) = PerFile::take(named)?;
        for (name, value) in &named {
            match name.as_str() {
                // Text is text here already; accepted because scripts pass it.
                "binary_as_string" if !boolean(name, value)? => {}
                "format" => {}
                _ => {
                    return Err(Error::invalid_argument(format!(
                        "{} has no parameter \"{name}\"",
                        self.name
                    )));
                }
            }
        }
        let files = paths::expand(self.name, args, &self.access)?;
        per_file.open(files, &|paths: &[String]| Ok(Arc::new(ParquetSource::open(paths.to_vec())?)))
    }
}

/// Parquet files of one schema.
pub struct ParquetSource {
    files: Arc<[ParquetFile]>,
    columns: Vec<SourceColumn>,
    row_count: u64,
}

struct ParquetFile {
    path: String,
    metadata: ArrowReaderMetadata,
}

impl fmt::Debug for ParquetSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ParquetSource({}, {} rows)", self.description(), self.row_count)
    }
}

fn malformed(path: &str, message: impl fmt::Display) -> Error {
    Error::MalformedFile { path: path.to_string(), line: None, message: message.to_string() }
}

/// Runs a call into the parquet crate, which may panic on damaged files.
fn guarded<T>(path: &str, call: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(call))
        .unwrap_or_else(|_| Err(malformed(path, "the file is damaged: reading it failed an internal check")))
}

impl ParquetFile {
    fn open(path: String) -> Result<Self> {
        let file = crate::input::open(&path)?;
        let options = || ArrowReaderOptions::new().with_skip_arrow_metadata(true);
        let metadata = guarded(&path, || {
            let found = ArrowReaderMetadata::load(&file, options()).map_err(|e| malformed(&path, e))?;
            let wanted = Arc::new(our_schema(found.schema()));
            ArrowReaderMetadata::try_new(Arc::clone(found.metadata()), options().with_schema(wanted))
                .map_err(|e| malformed(&path, e))
        })?;
        Ok(Self { path, metadata })
    }
}

impl ParquetFile {
    /// Where row groups have a column that has no parts.
    fn leaf_of(&self, column: usize) -> Option<usize> {
        let schema = self.metadata.parquet_schema();
        let is_it = |leaf: &usize| schema.get_column_root_idx(*leaf) == column;
        let leaf = (0..schema.num_columns()).find(is_it)?;
        (schema.column(leaf).path().parts().len() == 1).then_some(leaf)
    }
}

/// The schema that columns are to be read as: text as views, decimals as narrow as ours.
fn our_schema(schema: &Schema) -> Schema {
    let field = |field: &Arc<Field>| {
        let ty = match field.data_type() {
            DataType::Utf8 | DataType::LargeUtf8 => DataType::Utf8View,
            DataType::Binary | DataType::LargeBinary => DataType::BinaryView,
            DataType::Decimal128(precision @ 1..=9, scale) => DataType::Decimal32(*precision, *scale),
            DataType::Decimal128(precision @ 10..=18, scale) => DataType::Decimal64(*precision, *scale),
            _ => return Arc::clone(field),
        };
        Arc::new(field.as_ref().clone().with_data_type(ty))
    };
    Schema::new_with_metadata(
        schema.fields().iter().map(field).collect::<Vec<_>>(),
        schema.metadata().clone(),
    )
}

impl ParquetSource {
    /// Reads the footers of all files.
    pub fn open(paths: Vec<String>) -> Result<Self> {
        let files = paths.into_iter().map(ParquetFile::open).collect::<Result<Vec<_>>>()?;
        let Some(first) = files.first() else {
            return Err(Error::invalid_argument("read_parquet needs the path of a file"));
        };
        let columns = columns_of(first)?;
        for file in &files[1..] {
            let other = columns_of(file)?;
            if other != columns {
                let message = format!(
                    "the file has other columns than \"{}\"; read files of different columns one by one",
                    first.path
                );
                return Err(malformed(&file.path, message));
            }
        }
        let rows = |file: &ParquetFile| {
            u64::try_from(file.metadata.metadata().file_metadata().num_rows()).unwrap_or(0)
        };
        let row_count = files.iter().map(rows).sum();
        Ok(Self { files: Arc::from(files), columns, row_count })
    }

    /// The row groups that filters leave, as file and number.
    fn row_groups(&self, filters: &[SourceFilter]) -> Vec<(usize, usize)> {
        let mut left = Vec::new();
        for (index, file) in self.files.iter().enumerate() {
            for (number, group) in file.metadata.metadata().row_groups().iter().enumerate() {
                let rows = u64::try_from(group.num_rows()).unwrap_or(0);
                let may_match = filters.iter().all(|filter| {
                    let leaf = file.leaf_of(filter.column).and_then(|leaf| group.columns().get(leaf));
                    let statistics = leaf.and_then(|chunk| chunk.statistics());
                    let ty = self.columns[filter.column].ty.clone();
                    statistics.is_none_or(|s| Bounds::of(s, ty, rows).may_match(&filter.predicate))
                });
                if may_match && rows > 0 {
                    left.push((index, number));
                }
            }
        }
        left
    }
}

fn columns_of(file: &ParquetFile) -> Result<Vec<SourceColumn>> {
    let field = bridge::field_of(file.metadata.schema())?;
    let column =
        |field: &ArrowField| Ok(SourceColumn { name: field.name.clone(), ty: field.logical_type()? });
    field.children.iter().map(column).collect()
}

impl TableSource for ParquetSource {
    fn description(&self) -> String {
        let shown: Vec<String> = self.files.iter().take(3).map(|f| format!("'{}'", f.path)).collect();
        let more = if self.files.len() > 3 { ", ..." } else { "" };
        format!("read_parquet({}{more})", shown.join(", "))
    }

    fn columns(&self) -> &[SourceColumn] {
        &self.columns
    }

    fn row_count_estimate(&self) -> Option<u64> {
        Some(self.row_count)
    }

    fn may_wait(&self) -> bool {
        true
    }

    fn scan(&self, request: ScanRequest) -> Result<Box<dyn SourceScan>> {
        Ok(Box::new(ParquetScan {
            files: Arc::clone(&self.files),
            row_groups: self.row_groups(&request.filters),
            next: AtomicUsize::new(0),
            request,
        }))
    }
}

struct ParquetScan {
    files: Arc<[ParquetFile]>,
    row_groups: Vec<(usize, usize)>,
    next: AtomicUsize,
    request: ScanRequest,
}

impl SourceScan for ParquetScan {
    fn next_task(&self) -> Result<Option<SourceTask>> {
        self.request.interrupt.check()?;
        let Some(&(index, number)) = self.row_groups.get(self.next.fetch_add(1, Ordering::Relaxed)) else {
            return Ok(None);
        };
        let file = &self.files[index];
        let group = file.metadata.metadata().row_group(number);
        if self.request.columns.is_empty() {
            return Ok(Some(counted(usize::try_from(group.num_rows()).unwrap_or(0))));
        }
        let mut roots = self.request.columns.clone();
        roots.sort_unstable();
        roots.dedup();
        let positions = self.request.columns.iter().filter_map(|c| roots.binary_search(c).ok()).collect();
        let schema = file.metadata.parquet_schema();
        let is_read = |leaf: &usize| roots.binary_search(&schema.get_column_root_idx(*leaf)).is_ok();
        let leaves = (0..group.num_columns()).filter(is_read);
        let size: i64 = leaves.map(|leaf| group.column(leaf).uncompressed_size().max(0)).sum();
        let reservation = self.request.budget.reserve(u64::try_from(size).unwrap_or(0))?;
        // A handle of its own: handles that are cloned share their position.
        let handle = File::open(&file.path).map_err(|e| Error::io("cannot open", &file.path, &e))?;
        let metadata = file.metadata.clone();
        let reader = guarded(&file.path, || {
            let mask = ProjectionMask::roots(metadata.parquet_schema(), roots);
            ParquetRecordBatchReaderBuilder::new_with_metadata(handle, metadata)
                .with_row_groups(vec![number])
                .with_projection(mask)
                .with_batch_size(DECODE_ROWS)
                .build()
                .map_err(|e| malformed(&file.path, e))
        })?;
        Ok(Some(Box::new(RowGroupTask {
            path: file.path.clone(),
            reader,
            positions,
            current: None,
            interrupt: self.request.interrupt.clone(),
            failed: false,
            _reservation: reservation,
        })))
    }
}

/// Rows without columns.
fn counted(rows: usize) -> SourceTask {
    let batch = move |from: usize| Ok(Batch::new(Vec::new(), VECTOR_SIZE.min(rows - from)));
    Box::new((0..rows).step_by(VECTOR_SIZE).map(batch))
}

struct RowGroupTask {
    path: String,
    reader: ParquetRecordBatchReader,
    /// Of the wanted columns among those that are read.
    positions: Vec<usize>,
    /// Decoded rows, and how many of them are handed out.
    current: Option<(ArrowRecords, usize)>,
    interrupt: Interrupt,
    failed: bool,
    _reservation: Reservation,
}

impl RowGroupTask {
    fn read_batch(&mut self) -> Result<Option<Batch>> {
        self.interrupt.check()?;
        loop {
            if let Some((records, done)) = &mut self.current {
                let len = VECTOR_SIZE.min(records.len() - *done);
                if len > 0 {
                    let column = |&position: &usize| records.columns()[position].vector(*done, len);
                    let columns = self.positions.iter().map(column).collect::<Result<Vec<_>>>()?;
                    *done += len;
                    return Ok(Some(Batch::new(columns, len)));
                }
            }
            let (path, reader) = (&self.path, &mut self.reader);
            let next: Option<RecordBatch> =
                guarded(path, || reader.next().transpose().map_err(|e| malformed(path, e)))?;
            let Some(batch) = next else { return Ok(None) };
            let field = bridge::field_of(&batch.schema())?;
            self.current = Some((bridge::records_of(batch, &field)?, 0));
        }
    }
}

impl Iterator for RowGroupTask {
    type Item = Result<Batch>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        let next = self.read_batch().transpose();
        self.failed = !matches!(next, Some(Ok(_)));
        next
    }
}

#[cfg(test)]
mod tests;

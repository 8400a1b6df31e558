//! A running scan: row groups, or parts of large ones, as morsels; columns of filters before the others.

use super::bridge;
use super::decode::{Column, Layout};
use super::pages::{Chunk, Refusal};
use super::select::Selection;
use super::{ParquetFile, guarded, indexes, malformed};
use crate::ranges::{RangeSource, Together};
use arrow_array::RecordBatch;
use inlay_catalog::{ScanRequest, SourceColumn, SourceFilter, SourceScan, SourceTask};
use inlay_types::arrow::ArrowRecords;
use inlay_types::{Batch, Error, Interrupt, LogicalType, Reservation, Result, VECTOR_SIZE, Vector};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder, RowSelection, RowSelector,
};
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Rows of a morsel: larger row groups are cut, so that several workers read them.
const MORSEL_ROWS: usize = 1 << 17;
/// Most morsels that a row group is cut into.
const PARTS_MAX: usize = 4096;
/// Rows that the arrow reader decodes at once.
const DECODE_ROWS: usize = 4 * VECTOR_SIZE;
/// Memory that a column of a row group is taken to need at most beside what is read of it at once: a page and a dictionary.
const PAGES_SIZE: u64 = 4 << 20;

/// Some rows of a row group, or all of them.
#[derive(Debug)]
struct Part {
    file: usize,
    row_group: usize,
    rows: Range<usize>,
    /// Whether the row group has others.
    is_cut: bool,
}

pub(super) struct ParquetScan {
    files: Arc<[ParquetFile]>,
    columns: Arc<[SourceColumn]>,
    parts: Vec<Part>,
    next: AtomicUsize,
    request: ScanRequest,
}

impl ParquetScan {
    /// A scan of row groups, given as file and number.
    pub fn new(
        files: &Arc<[ParquetFile]>,
        columns: &Arc<[SourceColumn]>,
        row_groups: Vec<(usize, usize)>,
        request: ScanRequest,
    ) -> Self {
        let mut parts = Vec::with_capacity(row_groups.len());
        for (file, row_group) in row_groups {
            let group = files[file].metadata.metadata().row_group(row_group);
            let rows = usize::try_from(group.num_rows()).unwrap_or(0);
            // Parts would each ask a server for the same pages.
            let is_cut = rows >= 2 * MORSEL_ROWS && !files[file].bytes.is_remote();
            // A damaged file may say that it has any number of rows.
            let step = if is_cut { MORSEL_ROWS.max(rows / PARTS_MAX) } else { rows.max(1) };
            let part = |from| Part { file, row_group, rows: from..rows.min(from + step), is_cut };
            parts.extend((0..rows).step_by(step).map(part));
        }
        Self {
            files: Arc::clone(files),
            columns: Arc::clone(columns),
            parts,
            next: AtomicUsize::new(0),
            request,
        }
    }
}

impl SourceScan for ParquetScan {
    fn next_task(&self) -> Result<Option<SourceTask>> {
        let (file, part) = loop {
            self.request.interrupt.check()?;
            let Some(part) = self.parts.get(self.next.fetch_add(1, Ordering::Relaxed)) else {
                return Ok(None);
            };
            let file = &self.files[part.file];
            let filters = &self.request.filters;
            if guarded(&file.path, || Ok(indexes::may_match(file, part.row_group, &self.columns, filters)))? {
                break (file, part);
            }
        };
        if self.request.columns.is_empty() {
            return Ok(Some(counted(part.rows.len())));
        }
        let task = guarded(&file.path, || RowGroupTask::open(file, part, &self.columns, &self.request))?;
        Ok(Some(Box::new(task)))
    }
}

/// Rows without columns.
fn counted(rows: usize) -> SourceTask {
    let batch = move |from: usize| Ok(Batch::new(Vec::new(), VECTOR_SIZE.min(rows - from)));
    Box::new((0..rows).step_by(VECTOR_SIZE).map(batch))
}

/// How a wanted column is read.
enum Reading {
    Decoded(Box<Column>),
    /// Its position among the columns of the arrow reader.
    ByArrow(usize),
    /// The number of the row in its file, beginning with that of the row group.
    Numbered(i64),
}

/// Where the columns of a row group are read from. Of a remote file, those of the filters come together, and so do the others
/// when the first of them is wanted.
struct Sources {
    filtered: Vec<usize>,
    filters: Arc<dyn RangeSource>,
    others: Arc<dyn RangeSource>,
}

impl Sources {
    fn of(file: &ParquetFile, number: usize, roots: &[usize], request: &ScanRequest) -> Self {
        let filtered: Vec<usize> = request.filters.iter().map(|filter| filter.column).collect();
        if !file.bytes.is_remote() {
            let (filters, others) = (Arc::clone(&file.bytes), Arc::clone(&file.bytes));
            return Self { filtered, filters, others };
        }
        let group = file.metadata.metadata().row_group(number);
        let schema = file.metadata.parquet_schema();
        let together = |is_wanted: &dyn Fn(&usize) -> bool| {
            let columns = group.columns().iter().enumerate();
            let wanted = columns.filter(|(leaf, _)| {
                let root = schema.get_column_root_idx(*leaf);
                roots.contains(&root) && is_wanted(&root)
            });
            let ranges = wanted.filter_map(|(_, column)| Chunk::range_at_once(file.bytes.as_ref(), column));
            Together::over(&file.bytes, ranges.collect())
        };
        let filters = together(&|root| filtered.contains(root));
        let others = together(&|root| !filtered.contains(root));
        Self { filtered, filters, others }
    }

    fn of_column(&self, root: usize) -> &Arc<dyn RangeSource> {
        if self.filtered.contains(&root) { &self.filters } else { &self.others }
    }
}

struct RowGroupTask {
    path: String,
    names: Vec<String>,
    /// The wanted columns, each once.
    columns: Vec<Reading>,
    by_arrow: Option<ByArrow>,
    /// Of the columns of batches among those that are read.
    positions: Vec<usize>,
    /// Conditions, with the column they are over.
    filters: Vec<(usize, SourceFilter)>,
    selection: Selection,
    /// Ranges of rows that the page index rules out, ascending.
    ruled_out: VecDeque<Range<usize>>,
    /// The row that is read next, and the one behind the last.
    row: usize,
    rows: usize,
    interrupt: Interrupt,
    failed: bool,
    _reservation: Reservation,
}

impl RowGroupTask {
    fn open(
        file: &ParquetFile,
        part: &Part,
        columns: &[SourceColumn],
        request: &ScanRequest,
    ) -> Result<Self> {
        let number = part.row_group;
        let group = file.metadata.metadata().row_group(number);
        let mut roots = request.columns.clone();
        roots.sort_unstable();
        roots.dedup();
        let sources = Sources::of(file, number, &roots, request);
        let mut readings = Vec::with_capacity(roots.len());
        let mut arrow_roots = Vec::new();
        let mut size = 0;
        for &root in &roots {
            if root >= file.metadata.schema().fields().len() {
                let groups = &file.metadata.metadata().row_groups()[..number];
                readings.push(Reading::Numbered(groups.iter().map(|group| group.num_rows()).sum()));
                continue;
            }
            let leaf = file.leaf_of(root);
            let layout = leaf
                .and_then(|leaf| Layout::of(group.column(leaf), &columns[root].ty, file.is_as_stored(root)));
            let (Some(leaf), Some(layout)) = (leaf, layout) else {
                readings.push(Reading::ByArrow(arrow_roots.len()));
                arrow_roots.push(root);
                continue;
            };
            let chunk = group.column(leaf);
            size += if part.is_cut { 0 } else { Chunk::size_at_once(file.bytes.as_ref(), chunk) }
                + u64::try_from(chunk.uncompressed_size()).unwrap_or(0).min(PAGES_SIZE);
            let ty = columns[root].ty.clone();
            let column = Column::open(sources.of_column(root), group, leaf, layout, ty, !part.is_cut)
                .map_err(|message| malformed(&file.path, message))?;
            readings.push(Reading::Decoded(Box::new(column)));
        }
        let schema = file.metadata.parquet_schema();
        let is_read = |leaf: &usize| arrow_roots.contains(&schema.get_column_root_idx(*leaf));
        let leaves = (0..group.num_columns()).filter(is_read);
        let by_arrow_size: u64 =
            leaves.map(|leaf| u64::try_from(group.column(leaf).uncompressed_size()).unwrap_or(0)).sum();
        // Of a row group that is cut, as much as its part takes.
        let share = part.rows.len() as f64 / group.num_rows().max(1) as f64;
        size += (by_arrow_size as f64 * share) as u64;
        let reservation = request.budget.reserve(size)?;
        let by_arrow = match arrow_roots.is_empty() {
            true => None,
            false => Some(ByArrow::open(file, &sources.others, part, arrow_roots)?),
        };
        let position = |column: usize| roots.binary_search(&column).ok();
        let filters = request.filters.iter();
        let mut task = Self {
            path: file.path.clone(),
            names: roots.iter().map(|&root| columns[root].name.clone()).collect(),
            columns: readings,
            by_arrow,
            positions: request.columns.iter().filter_map(|&column| position(column)).collect(),
            filters: filters.filter_map(|f| Some((position(f.column)?, f.clone()))).collect(),
            selection: Selection::default(),
            ruled_out: indexes::ruled_out(file, number, columns, &request.filters).into(),
            row: part.rows.start,
            rows: part.rows.end,
            interrupt: request.interrupt.clone(),
            failed: false,
            _reservation: reservation,
        };
        task.skip_all(part.rows.start);
        Ok(task)
    }

    /// The next batch with rows that may satisfy the filters.
    fn read_batch(&mut self) -> Result<Option<Batch>> {
        while self.row < self.rows {
            self.interrupt.check()?;
            let len = VECTOR_SIZE.min(self.rows - self.row);
            let rows = self.row..self.row + len;
            self.row += len;
            if self.is_ruled_out(&rows) {
                self.skip_all(len);
                continue;
            }
            let mut vectors: Vec<Option<Vector>> = vec![None; self.columns.len()];
            self.selection.reset();
            let mut is_empty = false;
            for index in 0..self.filters.len() {
                let column = self.filters[index].0;
                let vector = match vectors[column].take() {
                    Some(vector) => vector,
                    None => self.read_column(column, len)?,
                };
                is_empty = !self.selection.narrow(&self.filters[index].1.predicate, &vector)?;
                vectors[column] = Some(vector);
                if is_empty {
                    break;
                }
            }
            for (index, vector) in vectors.iter_mut().enumerate() {
                match (vector.is_none(), is_empty) {
                    (true, true) => self.skip_column(index, len),
                    (true, false) => *vector = Some(self.read_column(index, len)?),
                    (false, _) => {}
                }
            }
            if let Some(by_arrow) = &mut self.by_arrow {
                by_arrow.row += len;
            }
            if is_empty {
                continue;
            }
            let column = |&position: &usize| {
                vectors[position].clone().ok_or_else(|| Error::internal("a column that was not read"))
            };
            let columns = self.positions.iter().map(column).collect::<Result<Vec<_>>>()?;
            return Ok(Some(Batch::new(columns, len)));
        }
        Ok(None)
    }

    fn is_ruled_out(&mut self, rows: &Range<usize>) -> bool {
        while self.ruled_out.front().is_some_and(|range| range.end <= rows.start) {
            self.ruled_out.pop_front();
        }
        self.ruled_out.front().is_some_and(|range| range.start <= rows.start && rows.end <= range.end)
    }

    fn skip_all(&mut self, len: usize) {
        for index in 0..self.columns.len() {
            self.skip_column(index, len);
        }
        if let Some(by_arrow) = &mut self.by_arrow {
            by_arrow.row += len;
        }
    }

    fn read_column(&mut self, index: usize, len: usize) -> Result<Vector> {
        match &mut self.columns[index] {
            Reading::Decoded(column) => column.read(len).map_err(|message| {
                let message = || format!("column \"{}\": {message}", self.names[index]);
                column.refused_or(|| malformed(&self.path, message()))
            }),
            Reading::ByArrow(position) => {
                let by_arrow = self.by_arrow.as_mut();
                let by_arrow = by_arrow.ok_or_else(|| Error::internal("no reader of nested columns"))?;
                by_arrow.read(*position, len, &self.path)
            }
            Reading::Numbered(first) => {
                let end = *first + self.row as i64;
                let numbers: Vec<i64> = (end - len as i64..end).collect();
                Ok(Vector::from_values(LogicalType::BigInt, &numbers))
            }
        }
    }

    fn skip_column(&mut self, index: usize, len: usize) {
        if let Reading::Decoded(column) = &mut self.columns[index] {
            column.skip(len);
        }
    }
}

impl Iterator for RowGroupTask {
    type Item = Result<Batch>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        let path = self.path.clone();
        let next = guarded(&path, || self.read_batch()).transpose();
        self.failed = !matches!(next, Some(Ok(_)));
        next
    }
}

const FEWER_ROWS: &str = "it has fewer rows than its footer says";

/// The columns that the arrow reader decodes.
struct ByArrow {
    reader: ParquetRecordBatchReader,
    refusal: Refusal,
    /// Decoded rows, and which row of the group the first of them is.
    current: Option<(ArrowRecords, usize)>,
    /// The row of the group that batches have come to.
    row: usize,
    decoded: usize,
}

impl ByArrow {
    fn open(
        file: &ParquetFile,
        source: &Arc<dyn RangeSource>,
        part: &Part,
        roots: Vec<usize>,
    ) -> Result<Self> {
        let metadata = file.metadata.clone();
        let mask = ProjectionMask::roots(metadata.parquet_schema(), roots);
        let rows = vec![RowSelector::skip(part.rows.start), RowSelector::select(part.rows.len())];
        let chunk = Chunk::file(source);
        let refusal = chunk.refusal();
        let reader = ParquetRecordBatchReaderBuilder::new_with_metadata(chunk, metadata)
            .with_row_groups(vec![part.row_group])
            .with_row_selection(RowSelection::from(rows))
            .with_projection(mask)
            .with_batch_size(DECODE_ROWS)
            .build()
            .map_err(|e| refusal.or(|| malformed(&file.path, e)))?;
        Ok(Self { reader, refusal, current: None, row: 0, decoded: part.rows.start })
    }

    /// `len` rows of a column from the current row on. Batches do not cross what is decoded at once.
    fn read(&mut self, position: usize, len: usize, path: &str) -> Result<Vector> {
        loop {
            if let Some((records, first)) = &self.current
                && self.row < first + records.len()
            {
                let from = self.row - first;
                if from + len > records.len() {
                    return Err(malformed(path, FEWER_ROWS)); // A batch ends early only where the file does.
                }
                return records.columns()[position].vector(from, len);
            }
            self.current = None;
            let next: Option<RecordBatch> =
                self.reader.next().transpose().map_err(|e| self.refusal.or(|| malformed(path, e)))?;
            let batch = next.ok_or_else(|| malformed(path, FEWER_ROWS))?;
            let rows = batch.num_rows();
            let field = bridge::field_of(&batch.schema())?;
            self.current = Some((bridge::records_of(batch, &field)?, self.decoded));
            self.decoded += rows;
        }
    }
}

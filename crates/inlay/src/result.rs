//! What a statement delivers.

use crate::columns;
use inlay_exec::WorkerPool;
use inlay_types::{Batch, Error, LogicalType, Result, Value, Vector};
use std::ops::Range;
use std::sync::Arc;

/// What kind of answer a result is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResultKind {
    /// Rows of a query.
    Rows,
    /// A statement changed this many rows; they are also delivered as a row with the column `Count`.
    Changed(u64),
    /// A statement without an answer.
    Done,
}

/// Names, types and rows. Rows are in memory and belong to the result; cloning shares them.
#[derive(Clone)]
pub struct QueryResult {
    names: Arc<[String]>,
    types: Arc<[LogicalType]>,
    batches: Arc<Vec<Batch>>,
    row_count: usize,
    kind: ResultKind,
    workers: Option<(Arc<WorkerPool>, usize)>,
}

impl QueryResult {
    /// Rows of a query. `workers`: who joins long columns, and how many of them.
    pub(crate) fn rows(
        names: Vec<String>,
        types: Vec<LogicalType>,
        batches: Vec<Batch>,
        workers: Option<(Arc<WorkerPool>, usize)>,
    ) -> Self {
        let row_count = batches.iter().map(Batch::len).sum();
        let (names, types) = (names.into(), types.into());
        Self { names, types, batches: Arc::new(batches), row_count, kind: ResultKind::Rows, workers }
    }

    /// The answer of a statement without rows.
    pub(crate) fn done() -> Self {
        Self { kind: ResultKind::Done, ..Self::rows(Vec::new(), Vec::new(), Vec::new(), None) }
    }

    /// The answer of a statement that changed rows.
    pub(crate) fn changed(count: u64) -> Self {
        let column = Vector::from_values(LogicalType::BigInt, &[count as i64]);
        let batch = Batch::new(vec![column], 1);
        let rows = Self::rows(vec!["Count".to_string()], vec![LogicalType::BigInt], vec![batch], None);
        Self { kind: ResultKind::Changed(count), ..rows }
    }

    /// One VARCHAR column with a row per text.
    pub(crate) fn lines(name: &str, lines: impl Iterator<Item = String>) -> Result<Self> {
        let values: Vec<Value> = lines.map(Value::Varchar).collect();
        let chunks = values.chunks(inlay_types::VECTOR_SIZE);
        let batch = |chunk: &[Value]| {
            let column = Vector::from_sql_values(LogicalType::Varchar, chunk)?;
            Ok(Batch::new(vec![column], chunk.len()))
        };
        let batches = chunks.map(batch).collect::<Result<Vec<Batch>>>()?;
        Ok(Self::rows(vec![name.to_string()], vec![LogicalType::Varchar], batches, None))
    }

    /// What kind of answer this is.
    pub fn kind(&self) -> ResultKind {
        self.kind
    }

    /// Column names.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Column types.
    pub fn types(&self) -> &[LogicalType] {
        &self.types
    }

    /// The rows, in order, in batches of at most [`inlay_types::VECTOR_SIZE`].
    pub fn batches(&self) -> &[Batch] {
        &self.batches
    }

    /// Number of rows.
    pub fn row_count(&self) -> usize {
        self.row_count
    }

    /// One value.
    ///
    /// Panics when there is no such row or column.
    pub fn value(&self, row: usize, column: usize) -> Value {
        let mut row = row;
        for batch in self.batches.iter() {
            if row < batch.len() {
                return batch.column(column).get(row);
            }
            row -= batch.len();
        }
        assert!(row < self.row_count, "row outside of result");
        Value::Null
    }

    /// Column `index` of all rows as one flat vector that nobody else holds, with the host's NA in NULL slots.
    pub fn column(&self, index: usize) -> Result<Vector> {
        self.column_of(index, 0..self.batches.len())
    }

    /// Column `index` of some batches, as [`QueryResult::column`].
    pub fn column_of(&self, index: usize, batches: Range<usize>) -> Result<Vector> {
        let ty = self
            .types
            .get(index)
            .ok_or_else(|| Error::invalid_argument(format!("no column {index}")))?
            .clone();
        let parts: Vec<&Vector> = self.batches[batches].iter().map(|batch| batch.column(index)).collect();
        match &self.workers {
            Some((pool, threads)) => columns::join(ty, &parts, pool, *threads),
            None => columns::join(ty, &parts, &WorkerPool::new(), 1),
        }
    }

    /// The rows from row `row` of batch `batch` on.
    pub fn from_row(&self, batch: usize, row: usize) -> QueryResult {
        if (batch, row) == (0, 0) {
            return self.clone();
        }
        let mut batches = self.batches.get(batch..).unwrap_or_default().to_vec();
        if row > 0
            && let Some(first) = batches.first_mut()
        {
            *first = first.slice(row, first.len() - row);
        }
        let row_count = batches.iter().map(Batch::len).sum();
        Self { batches: Arc::new(batches), row_count, ..self.clone() }
    }

    /// Ranges of batches with about `rows` rows each; at least one range.
    pub fn chunks(&self, rows: usize) -> Vec<Range<usize>> {
        let mut ranges = Vec::new();
        let (mut start, mut held) = (0, 0);
        for (index, batch) in self.batches.iter().enumerate() {
            held += batch.len();
            if held >= rows {
                ranges.push(start..index + 1);
                (start, held) = (index + 1, 0);
            }
        }
        if start < self.batches.len() || ranges.is_empty() {
            ranges.push(start..self.batches.len());
        }
        ranges
    }
}

impl std::fmt::Debug for QueryResult {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "QueryResult({} rows of {:?})", self.row_count, self.names)
    }
}

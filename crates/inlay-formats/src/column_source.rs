//! Whole columns in memory as a table: NumPy arrays, or a materialised result.
//!
//! A column is a vector, of which a scan takes slices, or one that the host converts when it is read: a block of rows at a
//! time, by several workers at once, while others go on with what was read. Blocks are kept from the second scan on: what
//! is loaded once is not held twice.

use crate::morsel::morsel_rows;
use inlay_catalog::{ScanRequest, SourceColumn, SourceScan, SourceTask, TableSource};
use inlay_types::{Batch, Bitmap, Error, Interrupt, LogicalType, Result, VECTOR_SIZE, Vector};
use std::fmt;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

/// Rows that a deferred column converts at once. Morsels begin at multiples of it.
const BLOCK_ROWS: usize = 8 * VECTOR_SIZE;

/// A column that is converted when it is read.
pub trait DeferredColumn: Send + Sync {
    /// The type of its values.
    fn ty(&self) -> LogicalType;
    /// How many there are.
    fn len(&self) -> usize;
    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// The values of these rows. Called by several workers at once.
    fn values(&self, rows: Range<usize>) -> Result<Vector>;
}

/// The values of a column.
#[derive(Clone)]
pub enum SourceValues {
    /// A vector of any length.
    Ready(Vector),
    /// Floats of which NaN is NULL, which is looked for when they are read: a host may change them until then.
    NanIsNull(Vector),
    /// Converted when it is read.
    Deferred(Arc<dyn DeferredColumn>),
}

impl From<Vector> for SourceValues {
    fn from(vector: Vector) -> Self {
        Self::Ready(vector)
    }
}

impl SourceValues {
    /// How many there are.
    pub fn len(&self) -> usize {
        match self {
            Self::Ready(vector) | Self::NanIsNull(vector) => vector.len(),
            Self::Deferred(column) => column.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn ty(&self) -> LogicalType {
        match self {
            Self::Ready(vector) | Self::NanIsNull(vector) => vector.logical_type(),
            Self::Deferred(column) => column.ty(),
        }
    }
}

/// Named columns of one length, which may be any.
pub struct ColumnSource {
    description: String,
    columns: Vec<SourceColumn>,
    shared: Arc<Shared>,
}

/// What scans share.
struct Shared {
    columns: Vec<Column>,
    row_count: usize,
    scan_count: AtomicUsize,
}

struct Column {
    values: SourceValues,
    /// Of a deferred column, its blocks that were converted for a second scan.
    kept: Box<[OnceLock<Vector>]>,
}

impl ColumnSource {
    /// A table of these columns. `description` is what EXPLAIN shows.
    pub fn new<V: Into<SourceValues>>(
        description: impl Into<String>,
        columns: Vec<(String, V)>,
    ) -> Result<Self> {
        let columns: Vec<(String, SourceValues)> =
            columns.into_iter().map(|(name, values)| (name, values.into())).collect();
        let row_count = columns.first().map_or(0, |(_, values)| values.len());
        if let Some((name, values)) = columns.iter().find(|(_, values)| values.len() != row_count) {
            return Err(Error::invalid_argument(format!(
                "column \"{name}\" has {} rows, the first column {row_count}",
                values.len()
            )));
        }
        let column =
            |(name, values): &(String, SourceValues)| SourceColumn { name: name.clone(), ty: values.ty() };
        let described = columns.iter().map(column).collect();
        let columns = columns.into_iter().map(|(_, values)| Column::new(values)).collect();
        let shared = Arc::new(Shared { columns, row_count, scan_count: AtomicUsize::new(0) });
        Ok(Self { description: description.into(), columns: described, shared })
    }
}

impl Column {
    fn new(values: SourceValues) -> Self {
        let blocks = match &values {
            SourceValues::Ready(_) | SourceValues::NanIsNull(_) => 0,
            SourceValues::Deferred(column) => column.len().div_ceil(BLOCK_ROWS),
        };
        Self { values, kept: (0..blocks).map(|_| OnceLock::new()).collect() }
    }

    /// The values of rows of one block.
    fn values(&self, rows: Range<usize>, keep: bool) -> Result<Vector> {
        match &self.values {
            SourceValues::Ready(vector) => Ok(vector.slice(rows.start, rows.len())),
            SourceValues::NanIsNull(vector) => Ok(without_nan(vector.slice(rows.start, rows.len()))),
            SourceValues::Deferred(column) => {
                let whole = rows.start.is_multiple_of(BLOCK_ROWS)
                    && (rows.len() == BLOCK_ROWS || rows.end == column.len());
                let Some(kept) = self.kept.get(rows.start / BLOCK_ROWS).filter(|_| keep && whole) else {
                    return column.values(rows);
                };
                if let Some(known) = kept.get() {
                    return Ok(known.clone());
                }
                let values = column.values(rows)?;
                Ok(kept.get_or_init(|| values).clone())
            }
        }
    }
}

/// The vector with NULL in the place of NaN.
fn without_nan(mut vector: Vector) -> Vector {
    let valid = match vector.ty() {
        LogicalType::Real => numbers(vector.values::<f32>(), |value| value.is_nan()),
        LogicalType::Double => numbers(vector.values::<f64>(), |value| value.is_nan()),
        _ => None,
    };
    if valid.is_some() {
        vector.set_validity(Bitmap::and_optional(vector.validity(), valid.as_ref()));
    }
    vector
}

/// Which of the values are numbers; `None` if all are.
fn numbers<T: Copy>(values: &[T], is_nan: impl Fn(T) -> bool) -> Option<Bitmap> {
    let any = values.chunks(64).any(|chunk| chunk.iter().fold(false, |any, &value| any | is_nan(value)));
    any.then(|| Bitmap::from_fn(values.len(), |row| !is_nan(values[row])))
}

impl fmt::Debug for ColumnSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ColumnSource({}, {} rows)", self.description, self.shared.row_count)
    }
}

impl TableSource for ColumnSource {
    fn description(&self) -> String {
        self.description.clone()
    }

    fn columns(&self) -> &[SourceColumn] {
        &self.columns
    }

    fn row_count_estimate(&self) -> Option<u64> {
        Some(self.shared.row_count as u64)
    }

    fn scan(&self, request: ScanRequest) -> Result<Box<dyn SourceScan>> {
        Ok(Box::new(ColumnScan {
            keep: self.shared.scan_count.fetch_add(1, Ordering::Relaxed) > 0,
            shared: Arc::clone(&self.shared),
            wanted: Arc::from(request.columns),
            morsel_rows: morsel_rows(self.shared.row_count),
            next: AtomicUsize::new(0),
            interrupt: request.interrupt,
        }))
    }
}

/// Morsels that workers claim one after the other.
struct ColumnScan {
    shared: Arc<Shared>,
    wanted: Arc<[usize]>,
    morsel_rows: usize,
    next: AtomicUsize,
    keep: bool,
    interrupt: Interrupt,
}

impl SourceScan for ColumnScan {
    fn next_task(&self) -> Result<Option<SourceTask>> {
        let from = self.next.fetch_add(1, Ordering::Relaxed).saturating_mul(self.morsel_rows);
        if from >= self.shared.row_count {
            return Ok(None);
        }
        let end = (from + self.morsel_rows).min(self.shared.row_count);
        let (shared, wanted) = (Arc::clone(&self.shared), Arc::clone(&self.wanted));
        let (interrupt, keep) = (self.interrupt.clone(), self.keep);
        Ok(Some(Box::new(Morsel { shared, wanted, keep, interrupt, from, end, block: None })))
    }
}

/// The rows of a morsel, batch by batch.
struct Morsel {
    shared: Arc<Shared>,
    wanted: Arc<[usize]>,
    keep: bool,
    interrupt: Interrupt,
    /// The next row, and the one behind the last.
    from: usize,
    end: usize,
    /// The block that the next row is in, and its first row.
    block: Option<(usize, Vec<Vector>)>,
}

impl Morsel {
    fn next_batch(&mut self) -> Result<Batch> {
        self.interrupt.check()?;
        let first = self.from / BLOCK_ROWS * BLOCK_ROWS;
        if self.block.as_ref().is_none_or(|(start, _)| *start != first) {
            let rows = first..(first + BLOCK_ROWS).min(self.end);
            let values = |&index: &usize| self.shared.columns[index].values(rows.clone(), self.keep);
            self.block = Some((first, self.wanted.iter().map(values).collect::<Result<_>>()?));
        }
        let len = VECTOR_SIZE.min(self.end - self.from);
        let vectors = self.block.iter().flat_map(|(_, vectors)| vectors);
        let vectors = vectors.map(|vector| vector.slice(self.from - first, len)).collect();
        self.from += len;
        Ok(Batch::new(vectors, len))
    }
}

impl Iterator for Morsel {
    type Item = Result<Batch>;

    fn next(&mut self) -> Option<Self::Item> {
        (self.from < self.end).then(|| self.next_batch())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arrow_source::ArrowTable;
    use inlay_types::arrow::{Exporter, StreamReader};
    use inlay_types::{Interrupt, LogicalType, MemoryBudget, Value};

    /// Numbers, and how often they were asked for.
    struct Counted(usize, AtomicUsize);

    impl DeferredColumn for Counted {
        fn ty(&self) -> LogicalType {
            LogicalType::Integer
        }

        fn len(&self) -> usize {
            self.0
        }

        fn values(&self, rows: Range<usize>) -> Result<Vector> {
            self.1.fetch_add(rows.len(), Ordering::Relaxed);
            let values: Vec<i32> = rows.map(|row| row as i32).collect();
            Ok(Vector::from_values(LogicalType::Integer, &values))
        }
    }

    #[test]
    fn nan_is_null_where_it_is_read_as_such() {
        let doubles = Vector::from_values(LogicalType::Double, &[1.0, f64::NAN, 3.0]);
        let floats = Vector::from_values(LogicalType::Real, &[f32::NAN, 2.0, 3.0]);
        for (vector, null) in [(doubles, 1), (floats, 0)] {
            let read = without_nan(vector.clone());
            let nulls: Vec<usize> = (0..3).filter(|&row| read.is_null(row)).collect();
            assert_eq!(nulls, [null]);
            // What is NULL already stays so.
            let mut holed = vector;
            holed.set_validity(Some(Bitmap::from_fn(3, |row| row != 2)));
            assert_eq!(without_nan(holed).null_count(), 2);
        }
        let whole = Vector::from_values(LogicalType::Double, &[1.0, 2.0]);
        assert!(without_nan(whole).validity().is_none());
    }

    #[test]
    fn deferred_columns_are_converted_once_a_scan_and_kept_from_the_second_on() {
        for count in [0, 1, BLOCK_ROWS, 3 * BLOCK_ROWS + 5, 200_000] {
            let deferred = Arc::new(Counted(count, AtomicUsize::new(0)));
            let values: Vec<i32> = (0..count as i32).collect();
            let columns = vec![
                ("a".to_string(), SourceValues::Deferred(Arc::clone(&deferred) as Arc<dyn DeferredColumn>)),
                ("b".to_string(), Vector::from_values(LogicalType::Integer, &values).into()),
            ];
            let source = ColumnSource::new("t", columns).unwrap();
            for scan in 1..=3 {
                let expected: Vec<Vec<Value>> =
                    values.iter().map(|&value| vec![Value::Integer(value), Value::Integer(value)]).collect();
                assert_eq!(rows(&source, vec![1, 0]), expected);
                assert_eq!(
                    deferred.1.load(Ordering::Relaxed),
                    scan.min(2) * count,
                    "{count} rows, scan {scan}"
                );
            }
            assert_eq!(rows(&source, vec![1]).len(), count);
        }
    }

    fn rows(source: &dyn TableSource, columns: Vec<usize>) -> Vec<Vec<Value>> {
        let request = ScanRequest {
            columns,
            filters: Vec::new(),
            any_of: Vec::new(),
            budget: MemoryBudget::unlimited(),
            interrupt: Interrupt::new(),
        };
        let scan = source.scan(request).unwrap();
        let mut rows = Vec::new();
        while let Some(task) = scan.next_task().unwrap() {
            for batch in task {
                let batch = batch.unwrap();
                assert!(batch.len() <= inlay_types::VECTOR_SIZE);
                rows.extend((0..batch.len()).map(|r| batch.columns().iter().map(|c| c.get(r)).collect()));
            }
        }
        rows
    }

    #[test]
    fn columns_and_their_arrow_stream_scan_alike() {
        let count = 150_000;
        let numbers = Vector::from_values(LogicalType::BigInt, &(0..count).collect::<Vec<i64>>());
        let words: Vec<Value> = (0..count).map(|i| Value::Varchar("ab".repeat(i as usize % 12))).collect();
        let words = Vector::from_sql_values(LogicalType::Varchar, &words).unwrap();
        let names = ["n".to_string(), "w".to_string()];
        let columns = names.iter().cloned().zip([numbers.clone(), words.clone()]).collect();
        let source = ColumnSource::new("columns", columns).unwrap();
        let whole = Batch::new(vec![numbers, words], count as usize);
        let batches =
            vec![Ok(whole.slice(0, 70_001)), Ok(whole.slice(70_001, 9)), Ok(whole.slice(70_010, 79_990))];
        let exporter = Exporter::new(&names, &whole.types());
        let arrow = StreamReader::new(exporter.stream(batches.into_iter())).unwrap();
        let arrow = ArrowTable::from_stream("arrow", arrow).unwrap();
        assert_eq!(arrow.columns(), source.columns());
        let expected = rows(&source, vec![1, 0]);
        assert_eq!(expected.len(), count as usize);
        assert_eq!(expected[77_777][1], Value::BigInt(77_777));
        assert!(rows(&arrow, vec![1, 0]) == expected);
        assert_eq!(rows(&arrow, vec![]).len(), count as usize);
    }

    #[test]
    fn columns_of_different_lengths_are_refused() {
        let short = Vector::from_values(LogicalType::Integer, &[1i32]);
        let long = Vector::from_values(LogicalType::Integer, &[1i32, 2]);
        assert!(ColumnSource::new("c", vec![("a".into(), short), ("b".into(), long)]).is_err());
    }
}

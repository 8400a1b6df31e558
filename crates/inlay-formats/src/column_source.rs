//! Whole columns in memory as a table: NumPy arrays, or a materialised result.

use crate::morsel::{ChunkScan, Piece};
use inlay_catalog::{ScanRequest, SourceColumn, SourceScan, TableSource};
use inlay_types::{Batch, Error, Result, Vector};
use std::fmt;
use std::sync::Arc;

/// Named vectors of one length, which may be any. A scan slices them.
pub struct ColumnSource {
    description: String,
    columns: Vec<SourceColumn>,
    vectors: Arc<[Vector]>,
    row_count: usize,
}

impl ColumnSource {
    /// A table of these columns. `description` is what EXPLAIN shows.
    pub fn new(description: impl Into<String>, columns: Vec<(String, Vector)>) -> Result<Self> {
        let row_count = columns.first().map_or(0, |(_, vector)| vector.len());
        if let Some((name, vector)) = columns.iter().find(|(_, vector)| vector.len() != row_count) {
            return Err(Error::invalid_argument(format!(
                "column \"{name}\" has {} rows, the first column {row_count}",
                vector.len()
            )));
        }
        let (names, vectors): (Vec<String>, Vec<Vector>) = columns.into_iter().unzip();
        let types = vectors.iter().map(Vector::logical_type);
        let columns = names.into_iter().zip(types).map(|(name, ty)| SourceColumn { name, ty }).collect();
        Ok(Self { description: description.into(), columns, vectors: Arc::from(vectors), row_count })
    }
}

impl fmt::Debug for ColumnSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ColumnSource({}, {} rows)", self.description, self.row_count)
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
        Some(self.row_count as u64)
    }

    fn scan(&self, request: ScanRequest) -> Result<Box<dyn SourceScan>> {
        let (vectors, wanted) = (Arc::clone(&self.vectors), request.columns);
        let read = move |piece: Piece| {
            let part = |&index: &usize| vectors[index].slice(piece.from, piece.len);
            Ok(Batch::new(wanted.iter().map(part).collect(), piece.len))
        };
        Ok(Box::new(ChunkScan::new(std::iter::once(self.row_count), request.interrupt, Arc::new(read))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arrow_source::ArrowTable;
    use inlay_types::arrow::{Exporter, StreamReader};
    use inlay_types::{Interrupt, LogicalType, MemoryBudget, Value};

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

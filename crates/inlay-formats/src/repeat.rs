//! `repeat(value, count)` and `repeat_row(values, ..., num_rows := count)`: the same row many times.

use crate::morsel::{ChunkScan, Piece};
use inlay_catalog::{
    ScanRequest, SourceColumn, SourceScan, SourceTask, TableFunction, TableSource, TypeNames,
};
use inlay_types::{Batch, Error, Interrupt, LogicalType, Result, VECTOR_SIZE, Value, Vector};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Rows that a worker takes at a time.
const MORSEL_ROWS: u64 = 32 * VECTOR_SIZE as u64;

/// One of the two functions.
#[derive(Debug)]
pub struct Repeat {
    name: &'static str,
    is_row: bool,
}

impl Repeat {
    /// `repeat`.
    pub const VALUE: Self = Self { name: "repeat", is_row: false };
    /// `repeat_row`.
    pub const ROW: Self = Self { name: "repeat_row", is_row: true };

    fn wrong(&self) -> Error {
        Error::invalid_argument(match self.is_row {
            true => "repeat_row takes values and num_rows: repeat_row(1, 'a', num_rows := 3)",
            false => "repeat takes a value and a number of rows: repeat('a', 3)",
        })
    }

    fn count(&self, value: &Value) -> Result<u64> {
        let count = value.as_i128().and_then(|count| u64::try_from(count).ok());
        let wrong = || format!("{}: {value} rows: expected a number of at least 0", self.name);
        count.ok_or_else(|| Error::invalid_argument(wrong()))
    }
}

impl TableFunction for Repeat {
    fn name(&self) -> &'static str {
        self.name
    }

    fn bind(
        &self,
        args: &[Value],
        named: &[(String, Value)],
        _: &TypeNames<'_>,
    ) -> Result<Arc<dyn TableSource>> {
        let (row, count) = match (self.is_row, args, named) {
            (false, [value, count], []) => (std::slice::from_ref(value), count),
            (true, [_, ..], [(name, count)]) if name == "num_rows" => (args, count),
            _ => return Err(self.wrong()),
        };
        let count = self.count(count)?;
        let mut columns = Vec::with_capacity(row.len());
        for (index, value) in row.iter().enumerate() {
            let ty = match value.logical_type() {
                LogicalType::Null => LogicalType::Integer,
                ty => ty,
            };
            let name = if self.is_row { format!("column{index}") } else { value.to_string() };
            columns.push(SourceColumn { name, ty });
        }
        Ok(Arc::new(Repeated { name: self.name, columns, row: row.to_vec(), count }))
    }
}

/// A row and how often it is there.
#[derive(Clone, Debug)]
struct Repeated {
    name: &'static str,
    columns: Vec<SourceColumn>,
    row: Vec<Value>,
    count: u64,
}

impl TableSource for Repeated {
    fn description(&self) -> String {
        let shown: Vec<String> = self.row.iter().map(Value::to_string).collect();
        format!("{}({}, {})", self.name, shown.join(", "), self.count)
    }

    fn columns(&self) -> &[SourceColumn] {
        &self.columns
    }

    fn row_count_estimate(&self) -> Option<u64> {
        Some(self.count)
    }

    fn scan(&self, request: ScanRequest) -> Result<Box<dyn SourceScan>> {
        let vector =
            |&index: &usize| Vector::constant(self.columns[index].ty.clone(), &self.row[index], VECTOR_SIZE);
        let vectors: Vec<Vector> = request.columns.iter().map(vector).collect::<Result<_>>()?;
        let full = Arc::new(Batch::new(vectors, VECTOR_SIZE));
        Ok(Box::new(RepeatScan {
            full,
            given: AtomicU64::new(0),
            count: self.count,
            interrupt: request.interrupt,
        }))
    }
}

struct RepeatScan {
    full: Arc<Batch>,
    given: AtomicU64,
    count: u64,
    interrupt: Interrupt,
}

impl SourceScan for RepeatScan {
    fn next_task(&self) -> Result<Option<SourceTask>> {
        self.interrupt.check()?;
        let claimed = self.given.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |given| {
            (given < self.count).then(|| given + MORSEL_ROWS.min(self.count - given))
        });
        let Ok(from) = claimed else { return Ok(None) };
        let rows = MORSEL_ROWS.min(self.count - from) as usize;
        let full = Arc::clone(&self.full);
        let read = move |piece: Piece| Ok(full.slice(0, piece.len));
        ChunkScan::new(std::iter::once(rows), self.interrupt.clone(), Arc::new(read)).next_task()
    }
}

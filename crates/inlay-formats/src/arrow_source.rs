//! A host's Arrow data as a table: record batches of pyarrow, Polars, pandas, R.
//!
//! The batches are kept alive as long as the table. A scan shares what lies as our vectors do and converts the rest
//! vector by vector, for the columns a query wants and in all workers.

use crate::morsel::{ChunkScan, Piece};
use inlay_catalog::{ScanRequest, SourceColumn, SourceScan, SourceTask, TableSource};
use inlay_types::arrow::{ArrowField, ArrowRecords, ArrowType, StreamReader};
use inlay_types::{Batch, Error, Interrupt, LogicalType, Result, VECTOR_SIZE, Vector};
use parking_lot::Mutex;
use std::fmt;
use std::sync::Arc;

/// Record batches of one schema.
pub struct ArrowTable {
    description: String,
    columns: Vec<SourceColumn>,
    records: Arc<[ArrowRecords]>,
    row_count: usize,
    /// Types of columns that are converted when they are read.
    types: Arc<[Option<LogicalType>]>,
}

impl ArrowTable {
    /// A table of all batches of a stream. `description` is what EXPLAIN shows. A column of a type that no column
    /// can have is an error.
    pub fn from_stream(description: impl Into<String>, mut stream: StreamReader) -> Result<Self> {
        let records = stream.by_ref().collect::<Result<Vec<_>>>()?;
        Self::new(description, stream.field(), records)
    }

    /// A table of `records`, all of type `field`.
    pub fn new(
        description: impl Into<String>,
        field: &ArrowField,
        records: Vec<ArrowRecords>,
    ) -> Result<Self> {
        let columns = columns_of(field)?;
        if records.iter().any(|r| r.columns().len() != columns.len()) {
            return Err(Error::internal("Arrow record batches do not fit their schema"));
        }
        let row_count = records.iter().map(ArrowRecords::len).sum();
        let (records, types) = (Arc::from(records), Arc::default());
        Ok(Self { description: description.into(), columns, records, row_count, types })
    }

    /// The table with some columns of other types, to which they are converted when they are read: one type or none for
    /// each column.
    pub fn with_types(mut self, types: Vec<Option<LogicalType>>) -> Self {
        for (column, ty) in self.columns.iter_mut().zip(&types) {
            if let Some(ty) = ty {
                column.ty = ty.clone();
            }
        }
        self.types = types.into();
        self
    }

    /// Number of rows.
    pub fn row_count(&self) -> usize {
        self.row_count
    }
}

/// The columns of record batches of a type; each array of another type than a struct is a column.
fn columns_of(field: &ArrowField) -> Result<Vec<SourceColumn>> {
    let fields =
        if field.ty == ArrowType::Struct { &field.children[..] } else { std::slice::from_ref(field) };
    let column = |(index, field): (usize, &ArrowField)| {
        let name = if field.name.is_empty() { format!("column{index}") } else { field.name.clone() };
        Ok(SourceColumn { name, ty: field.logical_type()? })
    };
    fields.iter().enumerate().map(column).collect()
}

impl fmt::Debug for ArrowTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ArrowTable({}, {} rows)", self.description, self.row_count)
    }
}

impl TableSource for ArrowTable {
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
        let (records, types) = (Arc::clone(&self.records), Arc::clone(&self.types));
        let lens: Vec<usize> = records.iter().map(ArrowRecords::len).collect();
        let wanted = request.columns;
        let read = move |piece: Piece| {
            let columns = records[piece.chunk].columns();
            let vectors = wanted.iter().map(|&index| {
                let vector = columns[index].vector(piece.from, piece.len)?;
                let Some(Some(ty)) = types.get(index) else { return Ok(vector) };
                let mut converted = Vector::empty(ty.clone());
                inlay_kernels::cast(&vector, ty, false, &mut converted)?;
                Ok(converted)
            });
            Ok(Batch::new(vectors.collect::<Result<_>>()?, piece.len))
        };
        Ok(Box::new(ChunkScan::new(lens.into_iter(), request.interrupt, Arc::new(read))))
    }
}

/// Record batches that are read while they are scanned, which can be done once. At no time is more of them in memory
/// than workers have in hand.
pub struct ArrowStreamTable {
    description: String,
    columns: Vec<SourceColumn>,
    /// Until it is scanned.
    stream: Mutex<Option<StreamReader>>,
}

impl ArrowStreamTable {
    /// A table of what is left of a stream. `description` is what EXPLAIN shows.
    pub fn new(description: impl Into<String>, stream: StreamReader) -> Result<Self> {
        let columns = columns_of(stream.field())?;
        Ok(Self { description: description.into(), columns, stream: Mutex::new(Some(stream)) })
    }
}

impl fmt::Debug for ArrowStreamTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ArrowStreamTable({})", self.description)
    }
}

impl TableSource for ArrowStreamTable {
    fn description(&self) -> String {
        self.description.clone()
    }

    fn columns(&self) -> &[SourceColumn] {
        &self.columns
    }

    fn row_count_estimate(&self) -> Option<u64> {
        None
    }

    fn scan(&self, request: ScanRequest) -> Result<Box<dyn SourceScan>> {
        let Some(stream) = self.stream.lock().take() else {
            let message = format!(
                "the rows of {} were read already, and a stream can be read only once",
                self.description
            );
            return Err(Error::invalid_argument(message));
        };
        let (stream, width) = (Mutex::new(stream), self.columns.len());
        let interrupt = request.interrupt;
        Ok(Box::new(StreamScan { stream, width, wanted: request.columns.into(), interrupt }))
    }
}

struct StreamScan {
    stream: Mutex<StreamReader>,
    width: usize,
    wanted: Arc<[usize]>,
    interrupt: Interrupt,
}

impl SourceScan for StreamScan {
    fn next_task(&self) -> Result<Option<SourceTask>> {
        let records = {
            let mut stream = self.stream.lock();
            loop {
                self.interrupt.check()?;
                match stream.next().transpose()? {
                    None => return Ok(None),
                    Some(records) if records.is_empty() => {}
                    Some(records) => break records,
                }
            }
        };
        if records.columns().len() != self.width {
            return Err(Error::invalid_argument("an Arrow record batch does not fit the stream's schema"));
        }
        let (wanted, interrupt) = (Arc::clone(&self.wanted), self.interrupt.clone());
        let batches = (0..records.len()).step_by(VECTOR_SIZE).map(move |from| {
            interrupt.check()?;
            let len = VECTOR_SIZE.min(records.len() - from);
            let vectors = wanted.iter().map(|&index| records.columns()[index].vector(from, len));
            Ok(Batch::new(vectors.collect::<Result<_>>()?, len))
        });
        Ok(Some(Box::new(batches)))
    }
}

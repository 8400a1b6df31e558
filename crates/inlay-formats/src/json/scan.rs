//! Chunks of documents into batches: cut by whoever asks next, read by all workers.

use super::split::{Chunk, Format, Splitter};
use super::texts::TextForms;
use crate::input::InputFile;
use inlay_catalog::{ScanRequest, SourceScan, SourceTask};
use inlay_kernels::json::documents::RowReader;
use inlay_types::{Batch, Error, Interrupt, LogicalType, Reservation, Result, VECTOR_SIZE};
use parking_lot::Mutex;
use std::sync::Arc;

/// What to do about a document that does not fit.
const FIX: &str = "; say columns = {name: type} or sample_size = -1, or ignore_errors = true for NULL";

pub(super) struct JsonScan {
    files: Arc<[InputFile]>,
    format: Format,
    reader: Arc<RowReader>,
    conversion: Arc<Conversion>,
    open: Mutex<Open>,
    request: ScanRequest,
}

/// What becomes of the columns that are read: their types, and how some are written.
pub(super) struct Conversion {
    pub forms: TextForms,
    pub types: Vec<LogicalType>,
}

#[derive(Default)]
struct Open {
    next_file: usize,
    splitter: Option<Splitter>,
}

impl JsonScan {
    pub fn new(
        files: Arc<[InputFile]>,
        format: Format,
        reader: RowReader,
        conversion: Conversion,
        request: ScanRequest,
    ) -> Self {
        let (reader, conversion) = (Arc::new(reader), Arc::new(conversion));
        Self { files, format, reader, conversion, open: Mutex::default(), request }
    }

    /// The next chunk, and the number of its file.
    fn next_chunk(&self) -> Result<Option<(Chunk, usize)>> {
        let mut open = self.open.lock();
        loop {
            if let Some(splitter) = &mut open.splitter {
                if let Some(chunk) = splitter.next_chunk()? {
                    return Ok(Some((chunk, open.next_file - 1)));
                }
                open.splitter = None;
            }
            self.request.interrupt.check()?;
            let Some(file) = self.files.get(open.next_file) else { return Ok(None) };
            let splitter = Splitter::new(file.read()?, &file.path, self.format);
            open.splitter = Some(splitter.tolerant(self.reader.ignore_errors));
            open.next_file += 1;
        }
    }
}

impl SourceScan for JsonScan {
    fn next_task(&self) -> Result<Option<SourceTask>> {
        self.request.interrupt.check()?;
        let Some((chunk, file)) = self.next_chunk()? else { return Ok(None) };
        let reservation = self.request.budget.reserve(chunk.size() as u64)?;
        Ok(Some(Box::new(JsonTask {
            chunk,
            path: self.files[file].path.clone(),
            at: 0,
            reader: Arc::clone(&self.reader),
            conversion: Arc::clone(&self.conversion),
            interrupt: self.request.interrupt.clone(),
            _reservation: reservation,
        })))
    }
}

struct JsonTask {
    chunk: Chunk,
    path: String,
    at: usize,
    reader: Arc<RowReader>,
    conversion: Arc<Conversion>,
    interrupt: Interrupt,
    _reservation: Reservation,
}

impl JsonTask {
    fn batch(&self, from: usize, len: usize) -> Result<Batch> {
        self.interrupt.check()?;
        let documents = (from..from + len).map(|index| self.chunk.document(index));
        let read = self
            .reader
            .read(documents)
            .map_err(|(index, error)| self.chunk.error(from + index, &self.path, &error, FIX))?;
        let mut columns = Vec::with_capacity(read.len());
        for (column, ty) in read.into_iter().zip(&self.conversion.types) {
            let texts = column.clone();
            let (column, bad) = self.conversion.forms.converted(column, ty)?;
            if let Some(row) = bad.filter(|_| !self.reader.ignore_errors) {
                let message = format!("\"{}\" is no {ty} in the form that is said", texts.get(row));
                let error = Error::invalid_argument(message);
                return Err(self.chunk.error(from + row, &self.path, &error, FIX));
            }
            columns.push(column);
        }
        Ok(Batch::new(columns, len))
    }
}

impl Iterator for JsonTask {
    type Item = Result<Batch>;

    fn next(&mut self) -> Option<Self::Item> {
        let (from, len) = (self.at, VECTOR_SIZE.min(self.chunk.len() - self.at));
        if len == 0 {
            return None;
        }
        self.at += len;
        Some(self.batch(from, len))
    }
}

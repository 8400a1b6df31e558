//! A running scan of CSV files: workers claim blocks and read the wanted columns from them.

use super::convert::{ColumnReader, Fields, ReadRules};
use super::index::{Indexer, Malformed, Records};
use super::reader::{Block, BlockPool, BlockReader, check_beginning, line_of};
use super::sniff::first_record;
use inlay_catalog::{ScanRequest, SourceScan, SourceTask};
use inlay_types::{Batch, Error, Interrupt, LogicalType, Reservation, Result, VECTOR_SIZE, Vector};
use parking_lot::Mutex;
use std::sync::Arc;

/// What the workers of a scan share.
#[derive(Debug)]
pub(super) struct Plan {
    pub files: Arc<[String]>,
    pub columns: Vec<(String, LogicalType)>,
    pub detected: Vec<bool>,
    pub has_header: bool,
    pub skip: u64,
    pub ignore_errors: bool,
    pub indexer: Indexer,
    pub rules: ReadRules,
}

/// Blocks handed out one by one.
pub(super) struct CsvScan {
    plan: Arc<Plan>,
    wanted: Arc<[ColumnReader]>,
    reader: Mutex<BlockReader>,
    pool: BlockPool,
    request: ScanRequest,
}

impl CsvScan {
    pub fn new(plan: Arc<Plan>, request: ScanRequest) -> Self {
        let reader = |&field: &usize| ColumnReader { ty: plan.columns[field].1.clone(), field };
        let wanted = request.columns.iter().map(reader).collect();
        let pool = BlockPool::default();
        let reader = Mutex::new(BlockReader::new(
            Arc::clone(&plan.files),
            plan.rules.dialect.clone(),
            Arc::clone(&pool),
        ));
        Self { plan, wanted, reader, pool, request }
    }
}

impl SourceScan for CsvScan {
    fn next_task(&self) -> Result<Option<SourceTask>> {
        self.request.interrupt.check()?;
        let Some(block) = self.reader.lock().next_block()? else { return Ok(None) };
        let reservation = self.request.budget.reserve(block.bytes.capacity() as u64)?;
        let dialect = &self.plan.rules.dialect;
        let mut at = first_record(&block, self.plan.skip, dialect);
        if block.is_first {
            check_beginning(&self.plan.files[block.file], &block.bytes)?;
            if self.plan.has_header {
                at = self.plan.skip_header(&block, at)?;
            }
        }
        let has_quotes = dialect.quote.is_some_and(|quote| memchr::memchr(quote, &block.bytes).is_some());
        Ok(Some(Box::new(CsvTask {
            is_utf8: std::str::from_utf8(&block.bytes).is_ok(),
            has_quotes,
            at,
            block,
            records: Records::default(),
            plan: Arc::clone(&self.plan),
            wanted: Arc::clone(&self.wanted),
            interrupt: self.request.interrupt.clone(),
            pool: Arc::clone(&self.pool),
            failed: false,
            _reservation: reservation,
        })))
    }
}

struct CsvTask {
    plan: Arc<Plan>,
    wanted: Arc<[ColumnReader]>,
    block: Block,
    at: usize,
    has_quotes: bool,
    is_utf8: bool,
    records: Records,
    interrupt: Interrupt,
    pool: BlockPool,
    failed: bool,
    _reservation: Reservation,
}

impl Iterator for CsvTask {
    type Item = Result<Batch>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.failed && self.at < self.block.bytes.len() {
            match self.read_batch() {
                Ok(batch) if batch.is_empty() => {}
                Ok(batch) => return Some(Ok(batch)),
                Err(error) => {
                    self.failed = true;
                    return Some(Err(error));
                }
            }
        }
        None
    }
}

impl Drop for CsvTask {
    fn drop(&mut self) {
        let bytes = std::mem::take(&mut self.block.bytes);
        let mut pool = self.pool.lock();
        if pool.len() < 16 {
            pool.push(bytes);
        }
    }
}

impl CsvTask {
    fn read_batch(&mut self) -> Result<Batch> {
        self.interrupt.check()?;
        let indexer = &self.plan.indexer;
        let bytes = &self.block.bytes;
        self.at = indexer
            .next(bytes, self.at, VECTOR_SIZE, self.has_quotes, &mut self.records)
            .map_err(|(at, what)| self.plan.malformed(&self.block, at, what))?;
        let fields = Fields {
            bytes,
            records: &self.records,
            width: indexer.width,
            rules: &self.plan.rules,
            is_utf8: self.is_utf8,
        };
        let (mut columns, mut bad): (Vec<Vector>, Vec<u32>) =
            (Vec::with_capacity(self.wanted.len()), Vec::new());
        for reader in self.wanted.iter() {
            let before = bad.len();
            columns.push(reader.read(&fields, &mut bad));
            if bad.len() > before && !self.plan.ignore_errors {
                return Err(self.plan.no_value(&self.block, &fields, bad[before] as usize, reader));
            }
        }
        let batch = Batch::new(columns, fields.len());
        if bad.is_empty() {
            return Ok(batch);
        }
        bad.sort_unstable();
        bad.dedup();
        let good: Vec<u32> = (0..batch.len() as u32).filter(|row| bad.binary_search(row).is_err()).collect();
        Ok(batch.take(&good))
    }
}

/// Characters of a line or value shown in an error.
const SHOWN_MAX: usize = 80;

impl Plan {
    /// Where the record behind the header begins. All files have the same number of columns.
    fn skip_header(&self, block: &Block, from: usize) -> Result<usize> {
        let mut at = from;
        while let Some((fields, next)) = self.rules.dialect.split(&block.bytes, at) {
            if fields.len() == 1 && fields[0].is_empty() {
                at = next;
                continue;
            }
            if block.file > 0 && fields.len() != self.columns.len() {
                let message = format!(
                    "the file has {} columns, \"{}\" has {}; read files of different columns one by one",
                    fields.len(),
                    self.files[0],
                    self.columns.len()
                );
                return Err(Error::MalformedFile {
                    path: self.files[block.file].clone(),
                    line: Some(1),
                    message,
                });
            }
            return Ok(next);
        }
        Ok(block.bytes.len())
    }

    fn error(&self, block: &Block, at: usize, message: String) -> Error {
        let path = self.files[block.file].clone();
        let line = line_of(&path, block.offset + at as u64, self.rules.dialect.newline);
        Error::MalformedFile { path, line, message }
    }

    fn malformed(&self, block: &Block, at: usize, what: Malformed) -> Error {
        let line = block.bytes[at..].split(|&b| b == self.rules.dialect.newline).next().unwrap_or_default();
        let line = shown(line);
        let delimiter = self.rules.dialect.delimiter as char;
        let message = match what {
            Malformed::Fields(found) => {
                let wanted = self.columns.len();
                let fix = if found < wanted {
                    "use null_padding = true to fill the line with NULL, ignore_errors = true to leave it out"
                } else {
                    "use ignore_errors = true to leave the line out, or give another delimiter or quote"
                };
                let fields = if wanted == 1 { "field" } else { "fields" };
                format!(
                    "expected {wanted} {fields} separated by '{delimiter}', found {found} in: {line}; {fix}"
                )
            }
            Malformed::Unclosed => {
                format!(
                    "a quoted value is not closed: {line}; close it, or use quote = '' if quotes are ordinary"
                )
            }
            Malformed::AfterQuote => format!(
                "text follows a closing quote: {line}; double quotes inside of quotes, use quote = '' if quotes are \
                 ordinary, or ignore_errors = true to leave the line out"
            ),
        };
        self.error(block, at, message)
    }

    fn no_value(&self, block: &Block, fields: &Fields<'_>, row: usize, reader: &ColumnReader) -> Error {
        let (name, ty) = &self.columns[reader.field];
        let at = fields.records.starts[row] as usize;
        let text = shown(fields.raw(row, reader.field).unwrap_or_default());
        let message = if *ty == LogicalType::Varchar {
            format!(
                "column \"{name}\": '{text}' is not UTF-8; convert the file, or use ignore_errors = true to leave the \
                 line out"
            )
        } else if self.detected[reader.field] {
            format!(
                "column \"{name}\": '{text}' is no {ty}, the type detected from the first lines; use \
                 types = '{name}: VARCHAR', sample_size = -1 to look at all lines, or ignore_errors = true to leave \
                 the line out"
            )
        } else {
            format!(
                "column \"{name}\": '{text}' is no {ty}; change the type, name the text as nullstr, or use \
                 ignore_errors = true to leave the line out"
            )
        };
        self.error(block, at, message)
    }
}

fn shown(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let text = text.trim_end();
    let short: String = text.chars().take(SHOWN_MAX).collect();
    if short.len() < text.len() { format!("{short}...") } else { short }
}

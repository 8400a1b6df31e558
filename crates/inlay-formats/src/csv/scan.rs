//! A running scan of CSV files: workers claim blocks and read the wanted columns from them.

use super::convert::{ColumnReader, Fields, ReadRules};
use super::index::{Indexer, Malformed, Records};
use super::options::RejectOptions;
use super::reader::{Block, BlockPool, BlockReader, ReadSizes, line_of};
use crate::input::InputFile;
use crate::rejects::{Reject, RejectKind, ScanRejects, ScannedFile, SessionFiles};
use inlay_catalog::{ScanRequest, SourceScan, SourceTask};
use inlay_types::{
    Batch, Error, Interrupt, LogicalType, Reservation, Result, VECTOR_SIZE, Vector, View, limits,
};
use parking_lot::Mutex;
use std::sync::Arc;

/// What the workers of a scan share.
#[derive(Debug)]
pub(super) struct Plan {
    pub files: Arc<[InputFile]>,
    pub columns: Vec<(String, LogicalType)>,
    pub detected: Vec<bool>,
    /// How each column is read.
    pub readers: Vec<ColumnReader>,
    pub has_header: bool,
    /// Whether names of headers have to be those of the first file.
    pub names: Option<Vec<String>>,
    pub has_return: bool,
    pub sizes: ReadSizes,
    pub ignore_errors: bool,
    pub indexer: Indexer,
    pub rules: ReadRules,
    pub rejects: RejectOptions,
    pub given: String,
    pub session: Arc<SessionFiles>,
}

/// Blocks handed out one by one.
pub(super) struct CsvScan {
    plan: Arc<Plan>,
    wanted: Arc<[ColumnReader]>,
    /// Read only for their errors: which lines are left out does not depend on what is asked for.
    checked: Arc<[ColumnReader]>,
    rejects: Option<Arc<ScanRejects>>,
    reader: Mutex<BlockReader>,
    pool: BlockPool,
    request: ScanRequest,
}

impl CsvScan {
    pub fn new(plan: Arc<Plan>, request: ScanRequest) -> Result<Self> {
        let wanted = request.columns.iter().map(|&field| plan.readers[field].clone()).collect();
        let is_checked = |field: &usize| plan.ignore_errors && !request.columns.contains(field);
        let checked: Vec<usize> = (0..plan.columns.len()).filter(is_checked).collect();
        let checked = checked.into_iter().map(|field| plan.readers[field].clone()).collect();
        let rejects = if plan.ignore_errors {
            let names = (plan.rejects.errors_table.as_str(), plan.rejects.scans_table.as_str());
            let rejects = &plan.rejects;
            Some(Arc::new(ScanRejects::begin(
                &plan.session,
                names,
                rejects.limit,
                rejects.stores,
                &request.budget,
            )?))
        } else {
            None
        };
        let pool = BlockPool::default();
        let reader = Mutex::new(BlockReader::new(
            Arc::clone(&plan.files),
            plan.rules.dialect.clone(),
            &plan.sizes,
            plan.ignore_errors,
            Arc::clone(&pool),
        ));
        Ok(Self { plan, wanted, checked, rejects, reader, pool, request })
    }
}

impl SourceScan for CsvScan {
    fn next_task(&self) -> Result<Option<SourceTask>> {
        self.request.interrupt.check()?;
        let Some(block) = self.reader.lock().next_block()? else { return Ok(None) };
        let reservation = self.request.budget.reserve(block.bytes.capacity() as u64)?;
        let dialect = &self.plan.rules.dialect;
        let at = if block.is_first && self.plan.has_header { self.plan.skip_header(&block)? } else { 0 };
        let has_quotes = dialect.quote.is_some_and(|quote| memchr::memchr(quote, &block.bytes).is_some());
        Ok(Some(Box::new(CsvTask {
            is_utf8: std::str::from_utf8(&block.bytes).is_ok(),
            has_quotes,
            at,
            lines: (0, block.lines),
            block,
            records: Records::default(),
            plan: Arc::clone(&self.plan),
            wanted: Arc::clone(&self.wanted),
            checked: Arc::clone(&self.checked),
            rejects: self.rejects.clone(),
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
    checked: Arc<[ColumnReader]>,
    rejects: Option<Arc<ScanRejects>>,
    block: Block,
    at: usize,
    /// A position in the block, and the lines of the file in front of it.
    lines: (usize, u64),
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
        // Which column each bad row is bad in.
        let mut failed: Vec<(u32, usize)> = Vec::new();
        for (index, reader) in self.wanted.iter().chain(self.checked.iter()).enumerate() {
            let before = bad.len();
            let held = limits::hold(fields.size_of(reader.field) + fields.len() * size_of::<View>())?;
            let column = reader.read(&fields, &mut bad).holding(held);
            if bad.len() > before && !self.plan.ignore_errors {
                return Err(self.plan.no_value(&self.block, &fields, bad[before] as usize, reader));
            }
            failed.extend(bad[before..].iter().map(|&row| (row, reader.field)));
            if index < self.wanted.len() {
                columns.push(column);
            }
        }
        let batch = Batch::new(columns, fields.len());
        if let Some(rejects) =
            self.rejects.as_ref().filter(|_| !(failed.is_empty() && self.records.skipped.is_empty()))
        {
            failed.sort_unstable();
            failed.dedup();
            let lines = self.plan.rejected(&self.block, &fields, &failed, &mut self.lines);
            rejects.add(self.block.file as u64, || self.plan.about(self.block.file), lines)?;
        }
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
    /// Where the record behind the header begins. All files have the columns of the first.
    fn skip_header(&self, block: &Block) -> Result<usize> {
        let dialect = &self.rules.dialect;
        let (mut at, mut fields) = (0, Vec::new());
        while let Some(split) = dialect.record(&block.bytes, at, &mut fields) {
            let is_hash_line =
                dialect.skips_hash_lines && block.bytes[at] == b'#' && fields.len() != self.columns.len();
            if fields.is_empty() || fields.len() == 1 && fields[0].is_empty() || is_hash_line {
                at = split.next;
                continue;
            }
            if block.file > 0
                && let Some(names) = &self.names
            {
                let mut scratch = Vec::new();
                let text = |field: &std::ops::Range<usize>| {
                    let text = dialect.unquoted(&block.bytes[field.clone()], &mut scratch);
                    String::from_utf8_lossy(text).trim().to_string()
                };
                let own: Vec<String> = fields.iter().map(text).collect();
                if own != *names {
                    return Err(self.other_header(block, &own, names));
                }
            }
            return Ok(split.next);
        }
        Ok(block.bytes.len())
    }

    fn other_header(&self, block: &Block, own: &[String], names: &[String]) -> Error {
        let message = format!(
            "its columns are {}, those of \"{}\" are {}",
            shown(own.join(", ").as_bytes()),
            self.files[0].path,
            shown(names.join(", ").as_bytes())
        );
        let hint = "use union_by_name = true to read files of different columns";
        Error::MalformedFile { path: self.files[block.file].path.clone(), line: Some(1), message }
            .with_hint(hint)
    }

    fn error(&self, block: &Block, at: usize, message: String) -> Error {
        let file = &self.files[block.file];
        let line = line_of(file, block.offset + at as u64, self.rules.dialect.newline);
        Error::MalformedFile { path: file.path.clone(), line, message }
    }

    /// How a file was read.
    fn about(&self, file: usize) -> ScannedFile {
        let dialect = &self.rules.dialect;
        let byte = |byte: Option<u8>| byte.map_or("(empty)".to_string(), |byte| char::from(byte).to_string());
        let columns = self.columns.iter().map(|(name, ty)| format!("'{name}': '{ty}'")).collect::<Vec<_>>();
        let newline = match (dialect.newline, self.has_return) {
            (b'\r', _) => "\\r",
            (_, true) => "\\r\\n",
            _ => "\\n",
        };
        ScannedFile {
            path: self.files[file].path.clone(),
            delimiter: String::from_utf8_lossy(&dialect.delimiter).into_owned(),
            quote: byte(dialect.quote),
            escape: byte(dialect.escape.or(dialect.quote)),
            newline: newline.to_string(),
            skip: u32::try_from(self.sizes.skip).unwrap_or(u32::MAX),
            has_header: self.has_header,
            columns: format!("{{{}}}", columns.join(",")),
            date_format: self.rules.date_format.clone(),
            timestamp_format: self.rules.timestamp_format.clone(),
            given: self.given.clone(),
        }
    }

    /// Lines that are left out: malformed ones, and those with a value that is none (`failed`: row and column).
    fn rejected(
        &self,
        block: &Block,
        fields: &Fields<'_>,
        failed: &[(u32, usize)],
        lines: &mut (usize, u64),
    ) -> Vec<Reject> {
        let mut found: Vec<(usize, Reject)> = Vec::with_capacity(failed.len() + fields.records.skipped.len());
        for &(row, column) in failed {
            let row = row as usize;
            let start = fields.records.starts[row] as usize;
            let end = fields.records.ends[(row + 1) * fields.width - 1] as usize;
            let position = fields.position(row, column);
            let text = shown(fields.raw(row, column).unwrap_or_default());
            let (name, ty) = &self.columns[column];
            let (kind, message) = if *ty == LogicalType::Varchar {
                (RejectKind::Encoding, "Invalid unicode (byte sequence mismatch) detected.".to_string())
            } else {
                let message = format!(
                    "Error when converting column \"{name}\". Could not convert string \"{text}\" to '{ty}'"
                );
                (RejectKind::Cast, message)
            };
            found.push((start, self.reject(block, start, end, position, (kind, message), Some(column))));
        }
        let mut parts = Vec::new();
        for skipped in &fields.records.skipped {
            let (start, end) = (skipped.start as usize, skipped.end as usize);
            let width = self.columns.len();
            let split = self.rules.dialect.record(&block.bytes, start, &mut parts);
            let (kind, message, position, column) = match skipped.what {
                Malformed::Fields(count) => {
                    let message = format!("Expected Number of Columns: {width} Found: {count}");
                    if count < width {
                        (RejectKind::MissingColumns, message, end, Some(count))
                    } else {
                        let last = parts.get(width - 1).map_or(start, |part| part.end);
                        (RejectKind::TooManyColumns, message, last, None)
                    }
                }
                Malformed::Unclosed | Malformed::AfterQuote => {
                    let column = split.map_or(Some(parts.len()), |split| split.broken);
                    let message = "Value with unterminated quote found.".to_string();
                    (RejectKind::UnquotedValue, message, start, column)
                }
                Malformed::Long(size) => {
                    let max = self.indexer.size_max;
                    let message =
                        format!("Maximum line size of {max} bytes exceeded. Actual Size:{size} bytes.");
                    (RejectKind::LineSize, message, start, None)
                }
            };
            let mut reject = self.reject(block, start, end, position, (kind, message), column);
            if kind == RejectKind::MissingColumns {
                // DuckDB counts the last column that is there, and names the first that is not.
                reject.column -= 1;
            }
            found.push((start, reject));
        }
        found.sort_by_key(|(start, _)| *start);
        let newline = self.rules.dialect.newline;
        for (start, reject) in &mut found {
            if *start > lines.0 {
                lines.1 += memchr::memchr_iter(newline, &block.bytes[lines.0..*start]).count() as u64;
                lines.0 = *start;
            }
            reject.line = lines.1 + 1;
        }
        found.into_iter().map(|(_, reject)| reject).collect()
    }

    fn reject(
        &self,
        block: &Block,
        start: usize,
        end: usize,
        position: usize,
        (kind, message): (RejectKind, String),
        column: Option<usize>,
    ) -> Reject {
        let line = &block.bytes[start..end.min(start + self.rejects.line_size).max(start)];
        let name = column.and_then(|column| self.columns.get(column)).map(|(name, _)| name.clone());
        Reject {
            line: 0,
            // From 1, too.
            line_position: block.offset + start as u64 + 1,
            position: block.offset + position as u64 + 1,
            column: column.map_or(self.columns.len(), |column| column) as u64 + 1,
            column_name: name,
            kind,
            text: String::from_utf8_lossy(line).into_owned(),
            message,
        }
    }

    fn malformed(&self, block: &Block, at: usize, what: Malformed) -> Error {
        let line = block.bytes[at..].split(|&b| b == self.rules.dialect.newline).next().unwrap_or_default();
        let line = shown(line);
        let delimiter = String::from_utf8_lossy(&self.rules.dialect.delimiter);
        let (message, hint) = match what {
            Malformed::Fields(found) => {
                let wanted = self.columns.len();
                let fix = if found < wanted {
                    "use null_padding = true to fill the line with NULL, store_rejects = true to leave it out and see it \
                     in reject_errors"
                } else {
                    "give another delim or quote, or use store_rejects = true to leave the line out and see it in \
                     reject_errors"
                };
                let fields = if wanted == 1 { "field" } else { "fields" };
                let message = format!(
                    "expected {wanted} {fields} separated by '{delimiter}', found {found} in: {line}"
                );
                (message, fix)
            }
            Malformed::Unclosed => (
                format!("a quoted value is not closed: {line}"),
                "close it, or use strict_mode = false or quote = '' if quotes are ordinary",
            ),
            Malformed::AfterQuote => (
                format!("text follows a closing quote: {line}"),
                "double quotes inside of quotes, use strict_mode = false or quote = '' if quotes are ordinary, or \
                 store_rejects = true to leave the line out and see it in reject_errors",
            ),
            Malformed::Long(size) => {
                let max = self.indexer.size_max;
                let message = format!("the line has {size} bytes, more than max_line_size, which is {max}");
                return self.error(block, at, message);
            }
        };
        self.error(block, at, message).with_hint(hint)
    }

    fn no_value(&self, block: &Block, fields: &Fields<'_>, row: usize, reader: &ColumnReader) -> Error {
        let (name, ty) = &self.columns[reader.field];
        let at = fields.records.starts[row] as usize;
        let text = shown(fields.raw(row, reader.field).unwrap_or_default());
        let (what, hint) = if *ty == LogicalType::Varchar {
            let hint = "say the encoding, as encoding = 'latin-1', or use store_rejects = true to leave the line out";
            ("not UTF-8".to_string(), hint.to_string())
        } else if self.detected[reader.field] {
            let hint = format!(
                "use types = '{name}: VARCHAR', sample_size = -1 to look at all lines, or store_rejects = true to leave \
                 the line out"
            );
            (format!("no {ty}, the type detected from the first lines"), hint)
        } else {
            let hint = "change the type, name the text as nullstr, or use store_rejects = true to leave the line out";
            (format!("no {ty}"), hint.to_string())
        };
        self.error(block, at, format!("column \"{name}\": '{text}' is {what}")).with_hint(hint)
    }
}

fn shown(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let text = text.trim_end();
    let short: String = text.chars().take(SHOWN_MAX).collect();
    if short.len() < text.len() { format!("{short}...") } else { short }
}

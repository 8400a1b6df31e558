//! What a session remembers of the files it reads: lines that were left out, as tables, and pipes that it has begun to read.
//!
//! `store_rejects = true` notes every line that a reader leaves out in `reject_errors`, and the files it read in
//! `reject_scans`, with DuckDB's columns. `ignore_errors = true` notes the first ones: no line is lost unseen.

use crate::column_source::ColumnSource;
use crate::input::Pipes;
use inlay_catalog::TableSource;
use inlay_types::logical_type::EnumType;
use inlay_types::{Error, LogicalType, MemoryBudget, Reservation, Result, Value, Vector};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;

/// Lines of a scan that are noted though the user did not ask for it.
pub(crate) const UNASKED_MAX: u64 = 10_000;

/// What is wrong with a line, in DuckDB's words.
const KINDS: [&str; 7] = [
    "CAST",
    "MISSING COLUMNS",
    "TOO MANY COLUMNS",
    "UNQUOTED VALUE",
    "LINE SIZE OVER MAXIMUM",
    "INVALID ENCODING",
    "INVALID STATE",
];

/// What is wrong with a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RejectKind {
    Cast,
    MissingColumns,
    TooManyColumns,
    UnquotedValue,
    LineSize,
    Encoding,
    /// More lines than are noted.
    Others,
}

/// A line that was left out.
#[derive(Clone, Debug)]
pub(crate) struct Reject {
    pub line: u64,
    pub line_position: u64,
    pub position: u64,
    /// From 1.
    pub column: u64,
    pub column_name: Option<String>,
    pub kind: RejectKind,
    pub text: String,
    pub message: String,
}

/// A file that was read with lines left out.
#[derive(Clone, Debug)]
pub(crate) struct ScannedFile {
    pub path: String,
    pub delimiter: String,
    pub quote: String,
    pub escape: String,
    pub newline: String,
    pub skip: u32,
    pub has_header: bool,
    pub columns: String,
    pub date_format: Option<String>,
    pub timestamp_format: Option<String>,
    pub given: String,
}

/// What one connection remembers of its files.
#[derive(Default)]
pub struct SessionFiles {
    pub(crate) pipes: Pipes,
    rejects: Mutex<Rejects>,
}

impl std::fmt::Debug for SessionFiles {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SessionFiles")
    }
}

#[derive(Default)]
struct Rejects {
    last_scan: u64,
    tables: Vec<Tables>,
}

/// A pair of tables.
struct Tables {
    errors_name: String,
    scans_name: String,
    errors: Vec<(u64, u64, Reject)>,
    scans: Vec<(u64, u64, ScannedFile)>,
    reservation: Option<Reservation>,
    /// The last scan whose lines were noted though nobody asked for it; the next one takes its place.
    unasked: Option<u64>,
}

impl SessionFiles {
    /// The table of rejects called `name`.
    pub fn table(&self, name: &str) -> Option<Result<Arc<dyn TableSource>>> {
        let mut rejects = self.rejects.lock();
        let is = |known: &str| known.eq_ignore_ascii_case(name);
        let tables =
            rejects.tables.iter_mut().find(|tables| is(&tables.errors_name) || is(&tables.scans_name))?;
        let columns = if is(&tables.errors_name) { tables.errors() } else { tables.scans() };
        Some(
            columns
                .and_then(|columns| Ok(Arc::new(ColumnSource::new(name, columns)?) as Arc<dyn TableSource>)),
        )
    }

    /// Forgets a table of rejects; whether there was one.
    pub fn drop_table(&self, name: &str) -> bool {
        let mut rejects = self.rejects.lock();
        let is = |known: &str| known.eq_ignore_ascii_case(name);
        let mut found = false;
        for tables in &mut rejects.tables {
            if is(&tables.errors_name) {
                found = true;
                tables.errors = Vec::new();
                tables.reservation = None;
                tables.errors_name = String::new();
            } else if is(&tables.scans_name) {
                found = true;
                tables.scans = Vec::new();
                tables.scans_name = String::new();
            }
        }
        rejects.tables.retain(|tables| !(tables.errors_name.is_empty() && tables.scans_name.is_empty()));
        found
    }

    /// A number for a scan, and its tables.
    fn begin(&self, errors_name: &str, scans_name: &str, stores: bool) -> u64 {
        let mut rejects = self.rejects.lock();
        rejects.last_scan += 1;
        let scan = rejects.last_scan;
        let is = |known: &str, name: &str| known.eq_ignore_ascii_case(name);
        // One of the pair may have been dropped.
        if let Some(known) = rejects.tables.iter_mut().find(|known| {
            is(&known.errors_name, errors_name)
                || known.errors_name.is_empty() && is(&known.scans_name, scans_name)
        }) {
            known.errors_name = errors_name.to_string();
            known.scans_name = scans_name.to_string();
        } else {
            rejects.tables.push(Tables {
                errors_name: errors_name.to_string(),
                scans_name: scans_name.to_string(),
                errors: Vec::new(),
                scans: Vec::new(),
                reservation: None,
                unasked: None,
            });
        }
        if let Some(tables) = rejects.tables_of(errors_name).filter(|_| !stores) {
            tables.forget_unasked();
            tables.unasked = Some(scan);
        }
        scan
    }
}

impl Rejects {
    fn tables_of(&mut self, errors_name: &str) -> Option<&mut Tables> {
        self.tables.iter_mut().find(|tables| tables.errors_name.eq_ignore_ascii_case(errors_name))
    }
}

type Columns = Vec<(String, Vector)>;

/// Name and type of a column, and its value in a row.
type FieldOf<T> = (&'static str, LogicalType, fn(&T) -> Value);

/// One column of each field, of rows.
fn columns_of<T>(rows: &[T], fields: &[FieldOf<T>]) -> Result<Columns> {
    let column = |(name, ty, value): &FieldOf<T>| {
        let values: Vec<Value> = rows.iter().map(value).collect();
        Ok(((*name).to_string(), Vector::from_sql_values(ty.clone(), &values)?))
    };
    fields.iter().map(column).collect()
}

fn optional(text: &Option<String>) -> Value {
    text.clone().map_or(Value::Null, Value::Varchar)
}

/// Bytes that a noted line takes.
fn size_of(reject: &Reject) -> u64 {
    (reject.text.len() + reject.message.len() + 160) as u64
}

impl Tables {
    fn forget_unasked(&mut self) {
        let Some(old) = self.unasked.take() else { return };
        let freed: u64 =
            self.errors.iter().filter(|(scan, ..)| *scan == old).map(|(_, _, reject)| size_of(reject)).sum();
        self.errors.retain(|(scan, ..)| *scan != old);
        self.scans.retain(|(scan, ..)| *scan != old);
        if let Some(held) = &mut self.reservation {
            // Less memory is always to be had.
            let _ = held.resize(held.bytes().saturating_sub(freed));
        }
    }

    fn errors(&mut self) -> Result<Columns> {
        use LogicalType::{UBigInt, Varchar};
        self.errors.sort_by_key(|(scan, file, reject)| (*scan, *file, reject.line_position, reject.column));
        let kinds = LogicalType::Enum(Arc::new(EnumType::new(KINDS)?));
        type Row = (u64, u64, Reject);
        let mut columns = columns_of::<Row>(
            &self.errors,
            &[
                ("scan_id", UBigInt, |(scan, _, _)| Value::UBigInt(*scan)),
                ("file_id", UBigInt, |(_, file, _)| Value::UBigInt(*file)),
                ("line", UBigInt, |(_, _, reject)| Value::UBigInt(reject.line)),
                ("line_byte_position", UBigInt, |(_, _, reject)| Value::UBigInt(reject.line_position)),
                ("byte_position", UBigInt, |(_, _, reject)| Value::UBigInt(reject.position)),
                ("column_idx", UBigInt, |(_, _, reject)| Value::UBigInt(reject.column)),
                ("column_name", Varchar, |(_, _, reject)| optional(&reject.column_name)),
                ("error_type", Varchar, |(_, _, reject)| {
                    Value::Varchar(KINDS[reject.kind as usize].to_string())
                }),
                ("csv_line", Varchar, |(_, _, reject)| Value::Varchar(reject.text.clone())),
                ("error_message", Varchar, |(_, _, reject)| Value::Varchar(reject.message.clone())),
            ],
        )?;
        let mut kind = Vector::empty(kinds.clone());
        inlay_kernels::cast(&columns[7].1, &kinds, false, &mut kind)?;
        columns[7].1 = kind;
        Ok(columns)
    }

    fn scans(&mut self) -> Result<Columns> {
        use LogicalType::{Boolean, UBigInt, UInteger, Varchar};
        self.scans.sort_by_key(|(scan, file, _)| (*scan, *file));
        type Row = (u64, u64, ScannedFile);
        columns_of::<Row>(
            &self.scans,
            &[
                ("scan_id", UBigInt, |(scan, _, _)| Value::UBigInt(*scan)),
                ("file_id", UBigInt, |(_, file, _)| Value::UBigInt(*file)),
                ("file_path", Varchar, |(_, _, file)| Value::Varchar(file.path.clone())),
                ("delimiter", Varchar, |(_, _, file)| Value::Varchar(file.delimiter.clone())),
                ("quote", Varchar, |(_, _, file)| Value::Varchar(file.quote.clone())),
                ("escape", Varchar, |(_, _, file)| Value::Varchar(file.escape.clone())),
                ("newline_delimiter", Varchar, |(_, _, file)| Value::Varchar(file.newline.clone())),
                ("skip_rows", UInteger, |(_, _, file)| Value::UInteger(file.skip)),
                ("has_header", Boolean, |(_, _, file)| Value::Boolean(file.has_header)),
                ("columns", Varchar, |(_, _, file)| Value::Varchar(file.columns.clone())),
                ("date_format", Varchar, |(_, _, file)| optional(&file.date_format)),
                ("timestamp_format", Varchar, |(_, _, file)| optional(&file.timestamp_format)),
                ("user_arguments", Varchar, |(_, _, file)| Value::Varchar(file.given.clone())),
            ],
        )
    }
}

/// Notes of a running scan.
pub(crate) struct ScanRejects {
    session: Arc<SessionFiles>,
    errors_name: String,
    scan: u64,
    /// Of one file.
    limit: u64,
    stores: bool,
    budget: MemoryBudget,
    /// Noted lines and all lines, by file.
    counts: Mutex<HashMap<u64, (u64, u64)>>,
}

impl ScanRejects {
    pub fn begin(
        session: &Arc<SessionFiles>,
        (errors_name, scans_name): (&str, &str),
        limit: u64,
        stores: bool,
        budget: &MemoryBudget,
    ) -> Result<Self> {
        {
            let mut rejects = session.rejects.lock();
            let clash = rejects.tables_of(errors_name).is_some_and(|known| {
                !known.scans_name.eq_ignore_ascii_case(scans_name) && !known.scans_name.is_empty()
            });
            if clash {
                let message = format!("\"{errors_name}\" goes with another rejects_scan in this session");
                let hint = "choose another rejects_table";
                return Err(Error::invalid_argument(message).with_hint(hint));
            }
        }
        let scan = session.begin(errors_name, scans_name, stores);
        Ok(Self {
            session: Arc::clone(session),
            errors_name: errors_name.to_string(),
            scan,
            limit: if stores { limit } else { UNASKED_MAX },
            stores,
            budget: budget.clone(),
            counts: Mutex::default(),
        })
    }

    /// Notes lines of a file that were left out; `about` says how it was read.
    pub fn add(&self, file: u64, about: impl FnOnce() -> ScannedFile, lines: Vec<Reject>) -> Result<()> {
        if lines.is_empty() {
            return Ok(());
        }
        let mut counts = self.counts.lock();
        let is_first = !counts.contains_key(&file);
        let (noted, all) = counts.entry(file).or_default();
        let left = if self.limit == 0 { u64::MAX } else { self.limit.saturating_sub(*noted) };
        let taken = usize::try_from(left).unwrap_or(usize::MAX).min(lines.len());
        *noted += taken as u64;
        *all += lines.len() as u64;
        let total = *all;
        let (scan, is_full) = (self.scan, taken < lines.len() && !self.stores);
        let mut rejects = self.session.rejects.lock();
        let Some(tables) = rejects.tables_of(&self.errors_name) else { return Ok(()) };
        let size = lines[..taken].iter().map(size_of).sum();
        match &mut tables.reservation {
            Some(held) => held.grow(size)?,
            None => tables.reservation = Some(self.budget.reserve(size)?),
        }
        if is_first {
            tables.scans.push((scan, file, about()));
        }
        if is_full {
            let others = total - self.limit;
            let known = tables.errors.iter_mut().find(|(known, of, reject)| {
                *known == scan && *of == file && reject.kind == RejectKind::Others
            });
            let message = format!(
                "and {others} further lines of the file were left out; store_rejects = true notes all of them"
            );
            match known {
                Some((_, _, reject)) => reject.message = message,
                None => {
                    let last = Reject {
                        line: 0,
                        line_position: u64::MAX,
                        position: u64::MAX,
                        column: 0,
                        column_name: None,
                        kind: RejectKind::Others,
                        text: String::new(),
                        message,
                    };
                    tables.errors.push((scan, file, last));
                }
            }
        }
        tables.errors.extend(lines.into_iter().take(taken).map(|reject| (scan, file, reject)));
        Ok(())
    }
}

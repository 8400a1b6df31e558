//! The rows of a table as batches.
//!
//! One cursor reads a table from its first row to its last. Conditions that mean the same in SQLite are pushed into it, so that its
//! indexes find rows by a key; the engine filters again.

use crate::attached::Begun;
use crate::cursor::{Class, Cursor, Row};
use crate::file::{quoted, whole};
use crate::tables::{Column, Kind, Read, Table};
use inlay::types::datetime::{civil_from_days, days_from_civil};
use inlay::types::{Batch, Error, Interrupt, Reservation, Result, VECTOR_SIZE, Value, VectorBuilder};
use inlay::{Comparison, Condition, ScanRequest, SourceColumn, SourceScan, SourceTask, TableSource};
use parking_lot::Mutex;
use std::ffi::c_int;
use std::fmt;
use std::sync::Arc;

/// Constants of an IN that are pushed, and bytes of texts in a batch.
const PUSHED_MAX: usize = 1000;
const BATCH_BYTES: usize = 8 << 20;
/// Characters of a value in an error.
const SHOWN_MAX: usize = 40;
const MICROS: f64 = 1e6;
const DAY_SECONDS: i64 = 86_400;

/// A table of a file.
pub struct Scanned {
    table: Arc<Table>,
    columns: Vec<SourceColumn>,
    begun: Arc<Begun>,
    file: String,
}

impl Scanned {
    pub fn new(table: Arc<Table>, begun: Arc<Begun>, file: String) -> Self {
        Self { columns: table.source_columns(), table, begun, file }
    }

    /// The statement that reads what is wanted; the row's number is its last column.
    fn sql(&self, request: &ScanRequest) -> String {
        let mut wanted: Vec<String> =
            request.columns.iter().map(|&index| quoted(&self.table.columns[index].name)).collect();
        wanted.push(self.table.row_number.unwrap_or("NULL").to_string());
        let pushed: Vec<String> = request
            .filters
            .iter()
            .flat_map(inlay::conditions)
            .filter_map(|condition| pushed(self.table.columns.get(condition.column)?, &condition))
            .collect();
        let mut sql = format!("SELECT {} FROM {}", wanted.join(", "), quoted(&self.table.name));
        if !pushed.is_empty() && self.table.kind == Kind::Table {
            sql.push_str(" WHERE ");
            sql.push_str(&pushed.join(" AND "));
        }
        sql
    }
}

/// A condition as SQLite's SQL, if every row that satisfies ours satisfies it.
fn pushed(column: &Column, condition: &Condition<'_>) -> Option<String> {
    let name = quoted(&column.name);
    let constant = |value: &&Value| match (column.read, value) {
        (Read::Whole, value) => whole(value).map(|number| number.to_string()),
        // Other collations find more, and more than equality does not hold for them.
        (Read::Text, Value::Varchar(text)) if column.has_text_affinity() && !text.contains('\0') => {
            Some(format!("'{}'", text.replace('\'', "''")))
        }
        _ => None,
    };
    let constants: Option<Vec<String>> = condition.constants.iter().map(constant).collect();
    let constants = constants.filter(|constants| constants.len() <= PUSHED_MAX)?;
    match (condition.comparison, constants.as_slice()) {
        (Comparison::IsNull | Comparison::IsNotNull, []) => {
            Some(format!("{name} {}", condition.comparison.sql()))
        }
        (Comparison::In, constants) => Some(format!("{name} IN ({})", constants.join(", "))),
        (Comparison::Eq, [constant]) => Some(format!("{name} = {constant}")),
        (comparison, [constant]) if column.read == Read::Whole => {
            Some(format!("{name} {} {constant}", comparison.sql()))
        }
        _ => None,
    }
}

impl fmt::Debug for Scanned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Scanned({})", self.table.name)
    }
}

impl TableSource for Scanned {
    fn description(&self) -> String {
        format!("\"{}\" of {}", self.table.name, self.file)
    }

    fn columns(&self) -> &[SourceColumn] {
        &self.columns
    }

    fn is_of_file(&self) -> bool {
        true
    }

    fn row_count_estimate(&self) -> Option<u64> {
        // Numbers of rows have gaps, and seldom more gaps than rows.
        self.table.last_row.and_then(|last| u64::try_from(last).ok())
    }

    fn scan(&self, request: ScanRequest) -> Result<Box<dyn SourceScan>> {
        let session = self.begun.session(&request.interrupt)?;
        let cursor = Cursor::new(&session, &self.sql(&request))?;
        let held = request.budget.reserve(0)?;
        Ok(Box::new(Scan(Mutex::new(Some(Rows {
            cursor,
            table: Arc::clone(&self.table),
            file: self.file.clone(),
            columns: request.columns,
            interrupt: request.interrupt,
            held,
            count: 0,
            is_over: false,
        })))))
    }
}

/// All rows are one task.
struct Scan(Mutex<Option<Rows>>);

impl SourceScan for Scan {
    fn next_task(&self) -> Result<Option<SourceTask>> {
        Ok(self.0.lock().take().map(|rows| Box::new(rows) as SourceTask))
    }
}

struct Rows {
    cursor: Cursor,
    table: Arc<Table>,
    file: String,
    /// The columns that are read.
    columns: Vec<usize>,
    interrupt: Interrupt,
    held: Reservation,
    /// Rows so far.
    count: u64,
    is_over: bool,
}

impl Iterator for Rows {
    type Item = Result<Batch>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_over {
            return None;
        }
        let batch = self.batch();
        self.is_over |= batch.is_err();
        match batch {
            Ok(batch) if batch.is_empty() => None,
            batch => Some(batch),
        }
    }
}

impl Rows {
    fn batch(&mut self) -> Result<Batch> {
        self.interrupt.check()?;
        let Self { cursor, table, file, columns, interrupt, held, count, is_over } = self;
        held.resize((columns.len() * VECTOR_SIZE * size_of::<u128>()) as u64)?;
        let read: Vec<(c_int, &Column)> = columns
            .iter()
            .enumerate()
            .map(|(place, &index)| (place as c_int, &table.columns[index]))
            .collect();
        let mut builders: Vec<VectorBuilder> =
            read.iter().map(|(_, column)| VectorBuilder::new(column.read.ty(), VECTOR_SIZE)).collect();
        let (mut len, mut bytes) = (0, 0);
        let has_more = cursor.rows(interrupt, |row| {
            *count += 1;
            for ((place, column), builder) in read.iter().zip(&mut builders) {
                let added = value(&row, *place, column.read, builder, held)?;
                bytes += added.ok_or_else(|| {
                    misfit(
                        &row,
                        *place,
                        column,
                        Place { file, table, number: columns.len() as c_int, count: *count },
                    )
                })?;
            }
            len += 1;
            Ok(len < VECTOR_SIZE && bytes < BATCH_BYTES)
        })?;
        *is_over = !has_more;
        Ok(Batch::new(builders.into_iter().map(VectorBuilder::finish).collect(), len))
    }
}

/// Appends a value; how many bytes it has, and nothing if it does not fit.
fn value(
    row: &Row<'_>,
    place: c_int,
    read: Read,
    builder: &mut VectorBuilder,
    held: &mut Reservation,
) -> Result<Option<usize>> {
    match (read, row.class(place)) {
        (_, Class::Null) => builder.push_null(),
        (Read::Whole, Class::Whole) => builder.push_native(row.whole(place)),
        (Read::Double, Class::Real) => builder.push_native(row.real(place)),
        (Read::Double, Class::Whole) => {
            let (number, near) = (row.whole(place), row.whole(place) as f64);
            if near as i128 != i128::from(number) {
                return Ok(None);
            }
            builder.push_native(near);
        }
        (Read::Text | Read::Blob, _) => {
            let bytes = row.bytes(place);
            if read == Read::Text && std::str::from_utf8(bytes).is_err() {
                return Ok(None);
            }
            held.grow(bytes.len() as u64)?;
            builder.push_bytes(bytes);
            return Ok(Some(bytes.len()));
        }
        (Read::Date | Read::Timestamp, Class::Text) => {
            if push_plain(row.bytes(place), read, builder) {
                return Ok(Some(0));
            }
            let Ok(text) = std::str::from_utf8(row.bytes(place)) else { return Ok(None) };
            match inlay::cast_value(&Value::Varchar(text.to_string()), &read.ty()) {
                Ok(value) => builder.push(&value)?,
                Err(_) => return Ok(None),
            }
        }
        // Seconds since 1970, as DuckDB has it.
        (Read::Date | Read::Timestamp, class @ (Class::Whole | Class::Real)) => {
            let seconds = if class == Class::Whole { row.whole(place) as f64 } else { row.real(place) };
            let micros = (seconds * MICROS).round();
            // Years of six digits, far within the range of both types.
            if micros.is_nan() || micros.abs() > 8e18 {
                return Ok(None);
            }
            match read {
                Read::Date => {
                    let days = (micros as i64).div_euclid(DAY_SECONDS * MICROS as i64);
                    let Ok(days) = i32::try_from(days) else { return Ok(None) };
                    builder.push_native(days);
                }
                Read::Whole | Read::Double | Read::Text | Read::Blob | Read::Timestamp => {
                    builder.push_native(micros as i64);
                }
            }
        }
        (Read::Whole | Read::Double | Read::Date | Read::Timestamp, _) => return Ok(None),
    }
    Ok(Some(0))
}

/// Appends a date as `2024-05-06`, or a timestamp as `2024-05-06 07:08:09`; false if it is written otherwise.
fn push_plain(text: &[u8], read: Read, builder: &mut VectorBuilder) -> bool {
    let number = |at: usize, len: usize| -> Option<u32> {
        text.get(at..at + len)?
            .iter()
            .try_fold(0, |number, byte| byte.is_ascii_digit().then(|| number * 10 + u32::from(byte - b'0')))
    };
    let is = |at: usize, signs: &[u8]| text.get(at).is_some_and(|sign| signs.contains(sign));
    let day = || -> Option<i32> {
        let (year, month, day) = (number(0, 4)? as i32, number(5, 2)?, number(8, 2)?);
        let days = days_from_civil(year, month, day);
        let is_day = year > 0 && is(4, b"-") && is(7, b"-") && civil_from_days(days) == (year, month, day);
        is_day.then_some(days)
    };
    let time = || -> Option<i64> {
        let (hour, minute, second) = (number(11, 2)?, number(14, 2)?, number(17, 2)?);
        let is_time =
            is(10, b" T") && is(13, b":") && is(16, b":") && hour < 24 && minute < 60 && second < 60;
        is_time.then(|| i64::from((hour * 60 + minute) * 60 + second))
    };
    match (read, text.len()) {
        (Read::Date, 10) => day().map(|days| builder.push_native(days)).is_some(),
        (Read::Timestamp, 19) => {
            let seconds = day().and_then(|days| Some(i64::from(days) * DAY_SECONDS + time()?));
            seconds.map(|seconds| builder.push_native(seconds * MICROS as i64)).is_some()
        }
        (Read::Whole | Read::Double | Read::Text | Read::Blob | Read::Date | Read::Timestamp, _) => false,
    }
}

/// Where a value is.
struct Place<'a> {
    file: &'a str,
    table: &'a Table,
    /// Where the row's number stands.
    number: c_int,
    count: u64,
}

/// That a value is not of its column's type.
fn misfit(row: &Row<'_>, place: c_int, column: &Column, at: Place<'_>) -> Error {
    let (class, shown) = match row.class(place) {
        Class::Null => ("NULL", String::new()),
        Class::Whole => ("INTEGER", row.whole(place).to_string()),
        Class::Real => ("REAL", row.real(place).to_string()),
        Class::Text => ("TEXT", format!("'{}'", shown(&String::from_utf8_lossy(row.bytes(place))))),
        Class::Blob => ("BLOB", format!("of {} bytes", row.bytes(place).len())),
    };
    let number = match at.table.row_number {
        Some(name) => format!("{name} {}", row.whole(at.number)),
        None => format!("row {}", at.count),
    };
    let (table, name, ty) = (quoted(&at.table.name), quoted(&column.name), column.read.ty());
    let said = match column.declared.as_str() {
        "" => "has no declared type and is, by its first rows,".to_string(),
        declared => format!("is declared {declared} and read as"),
    };
    let message = format!("column {table}.{name} {said} {ty}, which the {class} {shown} is not ({number})");
    let hint = match column.read {
        Read::Text => "only BLOB columns have bytes that are no text: cast or repair them with SQLite",
        Read::Whole | Read::Double | Read::Blob | Read::Date | Read::Timestamp => {
            "SET sqlite_all_varchar = true, then ATTACH it again: all columns are texts, to be cast"
        }
    };
    Error::MalformedFile { path: at.file.to_string(), line: None, message }.with_hint(hint)
}

fn shown(text: &str) -> String {
    match text.char_indices().nth(SHOWN_MAX) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_string(),
    }
}

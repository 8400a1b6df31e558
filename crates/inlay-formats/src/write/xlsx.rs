//! Excel workbooks from batches.
//!
//! A workbook is made in memory and written when its last row came: Excel's files name their parts first. Numbers that an
//! Excel number does not hold exactly are written as text, so that no digit is lost, and so are times before 1900, after 9999, and
//! between milliseconds.

use super::{Destination, FileWriter, Target, check_members};
use crate::Parallel;
use crate::excel::TABLE_NAME;
use crate::option_text::{boolean, integer, text, unknown_option};
use inlay_types::limits::{self, Meter};
use inlay_types::size_limit::OutputFile;
use inlay_types::{Batch, Error, Result, Value};
use rust_xlsxwriter::utility::row_col_to_cell_absolute;
use rust_xlsxwriter::{Format, Formula, Workbook, Worksheet, XlsxError};
use std::io::{self, Seek, SeekFrom, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Rows of a sheet.
const ROWS_MAX: u32 = 1 << 20;
const COLUMNS_MAX: usize = 1 << 14;
/// Integers up to here are exact in a double.
const EXACT_MAX: i128 = 1 << 53;
/// Excel's number of 1970-01-01, and its first day that is not one off.
const EPOCH_DAYS: i64 = 25_569;
const FIRST_DAY: i64 = 61;
/// 9999-12-31, Excel's last day.
const LAST_DAY: i64 = 2_958_465;
const DAY_MICROS: i64 = 86_400_000_000;

const OPTIONS: [&str; 3] = ["header", "sheet", "sheet_row_limit"];

pub(super) struct ExcelWriter {
    target: Target,
    file: OutputFile,
    book: Workbook,
    formats: [Format; 3],
    names: Vec<String>,
    /// The row that is written next, and how many there may be.
    row: u32,
    row_limit: u32,
    rows: u64,
    sheet: String,
    /// First and last row, first and last column of the cells that have something in them.
    filled: Option<[u32; 4]>,
    /// Of what the workbook takes until it is written.
    meter: Meter,
}

/// Bytes that a cell takes beside its text: its place in two trees, and its value.
const CELL_SIZE: usize = 256;
/// So many rows are put into the workbook between looks at the interrupt.
const CHECK_ROWS: u64 = 1 << 10;

impl ExcelWriter {
    pub(super) fn open(to: &Destination<'_>, options: &[(String, Value)]) -> Result<Self> {
        let (mut header, mut sheet, mut row_limit) = (false, "Sheet1".to_string(), ROWS_MAX);
        for (name, value) in options {
            match name.as_str() {
                "header" => header = boolean(name, value)?,
                "sheet" => sheet = text(name, value)?.to_string(),
                "sheet_row_limit" => {
                    let limit = u32::try_from(integer(name, value)?).ok();
                    row_limit = limit.filter(|limit| (1..=ROWS_MAX).contains(limit)).ok_or_else(|| {
                        Error::invalid_argument(format!("sheet_row_limit is 1 to {ROWS_MAX}, not {value}"))
                    })?;
                }
                other => return Err(unknown_option("COPY TO an Excel file", other, &OPTIONS)),
            }
        }
        if to.types.len() > COLUMNS_MAX {
            let message = format!("an Excel sheet has at most {COLUMNS_MAX} columns, not {}", to.types.len());
            return Err(Error::invalid_argument(message));
        }
        let mut book = Workbook::new();
        let named = book.add_worksheet().set_name(&sheet).map_err(|error| {
            Error::invalid_argument(format!("\"{sheet}\" is no name of an Excel sheet: {error}"))
        })?;
        // Formulas are written for empty texts only.
        named.set_formula_result_default("");
        let (target, file) = Target::create(to)?;
        let formats = ["yyyy-mm-dd", "hh:mm:ss", "yyyy-mm-dd hh:mm:ss"];
        let mut writer = Self {
            target,
            file,
            book,
            formats: formats.map(|format| Format::new().set_num_format(format)),
            names: to.names.to_vec(),
            row: 0,
            row_limit,
            rows: 0,
            sheet,
            filled: None,
            meter: Meter::of_rows(),
        };
        if header {
            for (column, name) in to.names.iter().enumerate() {
                writer.cell(column, &Value::Varchar(name.clone()))?;
            }
            writer.row += 1;
        }
        Ok(writer)
    }

    fn cell(&mut self, column: usize, value: &Value) -> Result<()> {
        // A text lies in the table of texts, twice, and another time in the file's part.
        self.meter.add(CELL_SIZE + 6 * value.as_str().map_or(0, str::len))?;
        let place = (self.row, column as u16);
        if !value.is_null() {
            let (row, column) = (self.row, column as u32);
            let [top, bottom, left, right] = self.filled.get_or_insert([row, row, column, column]);
            (*bottom, *top) = ((*bottom).max(row), (*top).min(row));
            (*left, *right) = ((*left).min(column), (*right).max(column));
        }
        let formats = &self.formats;
        let sheet = self.book.worksheet_from_index(0);
        let written = sheet.and_then(|sheet| write_cell(sheet, place, value, formats));
        written.map_err(|error| {
            let place = format!("row {} of column \"{}\"", self.rows + 1, self.names[column]);
            self.target.refusal(format!("{place}: {error}"))
        })
    }
}

impl ExcelWriter {
    /// Names the cells of the table where those that have something in them do not show it: a sheet has no rows and columns of NULLs
    /// at its edge.
    fn name_table(&mut self) -> Result<()> {
        let Some(last_row) = self.row.checked_sub(1) else { return Ok(()) };
        let last_column = (self.names.len() as u32).saturating_sub(1);
        if self.filled == Some([0, last_row, 0, last_column]) {
            return Ok(());
        }
        let corner = |row: u32, column: u32| row_col_to_cell_absolute(row, column as u16);
        let sheet = self.sheet.replace('\'', "''");
        let cells = format!("='{sheet}'!{}:{}", corner(0, 0), corner(last_row, last_column));
        let named = self.book.define_name(TABLE_NAME, &cells);
        named.map(|_| ()).map_err(|error| self.target.failure(&error))
    }
}

/// Writes a value as what Excel has for it.
fn write_cell(
    sheet: &mut Worksheet,
    (row, column): (u32, u16),
    value: &Value,
    formats: &[Format; 3],
) -> std::result::Result<(), XlsxError> {
    let [date, time, timestamp] = formats;
    let days = |micros: i64| {
        let (days, rest) = (micros.div_euclid(DAY_MICROS) + EPOCH_DAYS, micros.rem_euclid(DAY_MICROS));
        let is_exact = (FIRST_DAY..=LAST_DAY).contains(&days) && rest % 1000 == 0;
        is_exact.then_some(days as f64 + rest as f64 / DAY_MICROS as f64)
    };
    let shown = match value {
        Value::Null => return Ok(()),
        Value::Boolean(value) => return sheet.write_boolean(row, column, *value).map(|_| ()),
        Value::Date(value) if (FIRST_DAY..=LAST_DAY).contains(&(i64::from(*value) + EPOCH_DAYS)) => {
            Some(((i64::from(*value) + EPOCH_DAYS) as f64, Some(date)))
        }
        Value::Time(micros) if *micros < DAY_MICROS && micros % 1000 == 0 => {
            Some((*micros as f64 / DAY_MICROS as f64, Some(time)))
        }
        Value::Timestamp(micros) => days(*micros).map(|days| (days, Some(timestamp))),
        Value::TimestampS(seconds) => {
            seconds.checked_mul(1_000_000).and_then(days).map(|days| (days, Some(timestamp)))
        }
        Value::TimestampMs(millis) => {
            millis.checked_mul(1000).and_then(days).map(|days| (days, Some(timestamp)))
        }
        Value::TimestampNs(nanos) if nanos % 1000 == 0 => {
            days(nanos / 1000).map(|days| (days, Some(timestamp)))
        }
        Value::Real(_) | Value::Double(_) => value.as_f64().filter(|v| v.is_finite()).map(|v| (v, None)),
        Value::Decimal { unscaled, .. } if unscaled.abs() <= EXACT_MAX => {
            value.to_string().parse().ok().map(|number: f64| (number, None))
        }
        other if other.logical_type().is_integer() => {
            other.as_i128().filter(|v| v.abs() <= EXACT_MAX).map(|v| (v as f64, None))
        }
        _ => None,
    };
    match shown {
        Some((number, Some(format))) => sheet.write_number_with_format(row, column, number, format)?,
        Some((number, None)) => sheet.write_number(row, column, number)?,
        None => match value.to_string() {
            // A cell that holds an empty text is an empty cell; a formula may give one.
            text if text.is_empty() => sheet.write_formula(row, column, Formula::new("=\"\""))?,
            text => sheet.write_string(row, column, text)?,
        },
    };
    Ok(())
}

/// The file, to which nothing is written any more once the statement is cancelled.
struct WhileWanted<'a>(&'a mut OutputFile);

impl Write for WhileWanted<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        limits::check().map_err(|error| io::Error::other(error.to_string()))?;
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl Seek for WhileWanted<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.0.seek(to)
    }
}

impl FileWriter for ExcelWriter {
    fn write(&mut self, batches: &[Batch], _: Parallel<'_>) -> Result<()> {
        for (batch, row) in batches.iter().flat_map(|batch| (0..batch.len()).map(move |row| (batch, row))) {
            if self.row >= self.row_limit {
                let message = format!(
                    "an Excel sheet holds {} rows; write fewer by LIMIT, or another format",
                    self.row_limit
                );
                return Err(Error::invalid_argument(message));
            }
            for (column, vector) in batch.columns().iter().enumerate() {
                let value = vector.get(row);
                check_members(&self.names[column], vector.ty(), &value)?;
                self.cell(column, &value)?;
            }
            self.row += 1;
            self.rows += 1;
            if self.rows.is_multiple_of(CHECK_ROWS) {
                limits::check()?;
            }
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>, _: Parallel<'_>) -> Result<u64> {
        self.name_table()?;
        let file = WhileWanted(&mut self.file);
        let saved = catch_unwind(AssertUnwindSafe(|| self.book.save_to_writer(file)));
        limits::check()?;
        match saved {
            Ok(Ok(())) => {}
            Ok(Err(error)) => return Err(self.target.failure(&error)),
            Err(_) => return Err(Error::internal("a panic while an Excel file was written")),
        }
        self.target.publish()?;
        Ok(self.rows)
    }
}

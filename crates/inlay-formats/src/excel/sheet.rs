//! The cells of a sheet, row by row, and which of them are the table.

use super::Options;
use super::cell::{Cell, Shape};
use super::directory::kept_size;
use crate::files::{Files, First, Seekable};
use crate::quiet::caught;
use crate::ranges;
use calamine::{CellErrorType, DataRef, Reader, Xlsx};
use inlay_types::{Error, Result, limits};
use std::io::BufReader;
use std::sync::Arc;

/// Rows and columns of the largest sheet.
const ROWS_MAX: u32 = 1 << 20;
const COLUMNS_MAX: u32 = 1 << 14;
/// Days between the two epochs that Excel knows.
const DAYS_TO_1904: f64 = 1462.0;

pub(super) fn malformed(path: &str, message: impl Into<String>) -> Error {
    Error::MalformedFile { path: path.to_string(), line: None, message: message.into() }
}

/// A rectangle of cells; rows and columns count from 0, ends are inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Range {
    pub first_row: u32,
    pub last_row: u32,
    pub first_column: u32,
    pub last_column: u32,
}

impl Range {
    /// Reads `A1:C9`, `A:C` (columns), `3:9` (rows), or with an open end `A2:C` or `B1:9`.
    pub fn parse(text: &str) -> Result<Self> {
        let refused = || {
            Error::invalid_argument(
                "parameter \"range\" is as 'A1:C9', 'A:C', '3:9' or 'A2:C', the upper left corner first",
            )
            .with_hint(format!("not '{text}'"))
        };
        let (from, to) = text.split_once(':').ok_or_else(refused)?;
        let (from, to) = (corner(from).ok_or_else(refused)?, corner(to).ok_or_else(refused)?);
        let range = Self {
            first_row: from.0.unwrap_or(0),
            last_row: to.0.unwrap_or(ROWS_MAX - 1),
            first_column: from.1.unwrap_or(0),
            last_column: to.1.unwrap_or(COLUMNS_MAX - 1),
        };
        // An end may be open where the beginning is not: `A2:V` reaches to the last row.
        let is_alike = (to.0.is_none() || from.0.is_some()) && (to.1.is_none() || from.1.is_some());
        let fits = range.first_row <= range.last_row && range.first_column <= range.last_column;
        if is_alike && fits { Ok(range) } else { Err(refused()) }
    }
}

/// Row and column of `C9`, `$C$9`, `C` or `9`.
fn corner(text: &str) -> Option<(Option<u32>, Option<u32>)> {
    let text = text.trim().replace('$', "");
    let digits = text.find(|c: char| c.is_ascii_digit()).unwrap_or(text.len());
    let (letters, digits) = text.split_at(digits);
    let mut column: u32 = 0;
    for letter in letters.bytes() {
        if !letter.is_ascii_alphabetic() {
            return None;
        }
        column = column.checked_mul(26)?.checked_add(u32::from(letter.to_ascii_uppercase() - b'A') + 1)?;
    }
    let row = if digits.is_empty() { None } else { Some(digits.parse::<u32>().ok()?.checked_sub(1)?) };
    let column = column.checked_sub(1);
    let is_inside = row.is_none_or(|row| row < ROWS_MAX) && column.is_none_or(|column| column < COLUMNS_MAX);
    (is_inside && (row.is_some() || column.is_some())).then_some((row, column))
}

/// The name of a cell, such as `C9`.
pub(super) fn reference(row: u32, column: u32) -> String {
    let mut letters = Vec::new();
    let mut rest = column + 1;
    while rest > 0 {
        letters.push(b'A' + ((rest - 1) % 26) as u8);
        rest = (rest - 1) / 26;
    }
    let letters: String = letters.iter().rev().map(|&letter| char::from(letter)).collect();
    format!("{letters}{}", row + 1)
}

/// Takes a row's number and its cells by column; says whether it wants more rows.
type TakeRow<'a> = &'a mut dyn FnMut(u32, Vec<(u32, Cell)>) -> Result<bool>;

/// A sheet that was gone through.
pub(super) struct Walked {
    pub name: String,
    /// The cells that the workbook calls [`TABLE_NAME`], if they are in this sheet.
    pub table: Option<Range>,
}

/// What a workbook of ours calls the cells of its table, where those that have something in them do not show it: rows or columns at
/// its edge are NULL.
pub(crate) const TABLE_NAME: &str = "inlay_table";

/// Goes through the rows of a sheet that have cells; the first sheet if none is named.
pub(super) fn walk(files: &Arc<Files>, path: &str, sheet: Option<&str>, take: TakeRow<'_>) -> Result<Walked> {
    // Opened here for the errors of files that are not there.
    let file = files.seekable(path, First::End)?;
    let call = || walk_file(path, file, sheet, take);
    ranges::telling(|| {
        caught(call).unwrap_or_else(|_| {
            Err(malformed(path, "the file is damaged: reading it failed an internal check"))
        })
    })
}

fn walk_file(
    path: &str,
    mut file: Box<dyn Seekable>,
    sheet: Option<&str>,
    take: TakeRow<'_>,
) -> Result<Walked> {
    let kept = kept_size(&mut file).map_err(|error| Error::io("cannot read", path, &error))?;
    // Texts lie apart from each other once they are read.
    let _held = limits::hold(usize::try_from(kept.saturating_mul(2)).unwrap_or(usize::MAX))?;
    let failed = |error: calamine::XlsxError| malformed(path, format!("it is no readable workbook: {error}"));
    let mut book: Xlsx<BufReader<Box<dyn Seekable>>> = Xlsx::new(BufReader::new(file)).map_err(failed)?;
    let names = book.sheet_names();
    let name = match sheet {
        None => names.first().cloned().ok_or_else(|| malformed(path, "the workbook has no sheets"))?,
        Some(wanted) => {
            let known = names.iter().find(|name| name.as_str() == wanted);
            let known = known.or_else(|| names.iter().find(|name| name.eq_ignore_ascii_case(wanted)));
            known.cloned().ok_or_else(|| {
                malformed(path, format!("it has no sheet \"{wanted}\""))
                    .with_hint(format!("it has {}", names.join(", ")))
            })?
        }
    };
    let table = book.defined_names().iter().find(|(known, _)| known == TABLE_NAME);
    let table = table.and_then(|(_, cells)| range_in(cells, &name));
    let walked = Walked { name: name.clone(), table };
    let epoch = if book.has_1904_epoch() { DAYS_TO_1904 } else { 0.0 };
    let mut cells = book.worksheet_cells_reader(&name).map_err(failed)?;
    let shapes: Vec<Shape> = cells
        .styles()
        .iter()
        .map(|style| {
            let format = style.number_format.as_ref();
            format.map_or(Shape::Date, |format| Shape::of_format(&format.format_code, format.format_id))
        })
        .collect();
    let mut row: Vec<(u32, Cell)> = Vec::new();
    let mut number = 0;
    while let Some((cell, style)) = cells.next_cell_with_style_id().map_err(failed)? {
        let (at, column) = cell.get_position();
        if at >= ROWS_MAX || column >= COLUMNS_MAX || at < number {
            let message = format!("cell {} lies outside of the sheet or out of order", reference(at, column));
            return Err(malformed(path, message));
        }
        if at != number && !row.is_empty() && !take(number, std::mem::take(&mut row))? {
            return Ok(walked);
        }
        number = at;
        let shape = shapes.get(style).copied().unwrap_or(Shape::Timestamp);
        if let Some(cell) = cell_of(cell.get_value(), shape, epoch) {
            row.push((column, cell));
        }
    }
    if !row.is_empty() {
        take(number, row)?;
    }
    Ok(walked)
}

/// The cells of a reference such as `'May 24'!$A$1:$C$9`, if they are in the sheet.
fn range_in(reference: &str, sheet: &str) -> Option<Range> {
    let (of, cells) = reference.rsplit_once('!')?;
    let of = of
        .strip_prefix('\'')
        .and_then(|of| of.strip_suffix('\''))
        .map_or(of.into(), |of| of.replace("''", "'"));
    let cells = if cells.contains(':') { cells.to_string() } else { format!("{cells}:{cells}") };
    (of == sheet).then(|| Range::parse(&cells).ok()).flatten()
}

/// The rows and columns that have cells, and those of [`TABLE_NAME`]; `None` of an empty sheet.
pub(super) fn used(files: &Arc<Files>, path: &str, sheet: Option<&str>) -> Result<Option<Used>> {
    let mut used: Option<Range> = None;
    let walked = walk(files, path, sheet, &mut |row, cells| {
        for (column, _) in cells {
            let known = used.get_or_insert(Range {
                first_row: row,
                last_row: row,
                first_column: column,
                last_column: column,
            });
            known.last_row = row;
            known.first_column = known.first_column.min(column);
            known.last_column = known.last_column.max(column);
        }
        Ok(true)
    })?;
    let Some(table) = walked.table else {
        return Ok(used.map(|cells| Used { cells, is_named: false }));
    };
    let cells = used.map_or(table, |used| Range {
        first_row: used.first_row.min(table.first_row),
        last_row: used.last_row.max(table.last_row),
        first_column: used.first_column.min(table.first_column),
        last_column: used.last_column.max(table.last_column),
    });
    Ok(Some(Used { cells, is_named: true }))
}

/// The table of a sheet.
pub(super) struct Used {
    pub cells: Range,
    /// Whether rows at its edge may be empty.
    pub is_named: bool,
}

/// A cell of ours; `None` if it is empty.
fn cell_of(cell: &DataRef<'_>, shape: Shape, epoch: f64) -> Option<Cell> {
    Some(match cell {
        DataRef::Empty => return None,
        DataRef::Int(value) => Cell::Number(*value as f64, Shape::Number),
        DataRef::Float(value) => Cell::Number(*value, Shape::Number),
        DataRef::String(text) => Cell::Text(text.clone()),
        DataRef::SharedString(text) => Cell::Text((*text).to_string()),
        DataRef::Bool(value) => Cell::Bool(*value),
        DataRef::DateTime(value) => {
            let days = value.as_f64();
            let days = if matches!(shape, Shape::Time | Shape::Duration) { days } else { days + epoch };
            Cell::Number(days, shape)
        }
        DataRef::DateTimeIso(text) | DataRef::DurationIso(text) => Cell::Text(text.clone()),
        DataRef::Error(error) => Cell::Error(shown(error)),
    })
}

fn shown(error: &CellErrorType) -> String {
    error.to_string()
}

/// A part of the table.
pub(super) enum Step<'a> {
    /// The row with the names.
    Header,
    /// A row and its number.
    Row(u32, &'a [Option<Cell>]),
}

/// Finds the table among the rows of a sheet.
pub(super) struct Region {
    range: Option<Range>,
    header: Option<bool>,
    stop_at_empty: bool,
    /// First and last column, when the first row was found.
    columns: Option<(u32, u32)>,
    names: Vec<String>,
    /// Whether empty rows at the end of the range are rows.
    is_filled: bool,
    /// The row that follows the last one seen.
    next_row: u32,
    is_over: bool,
}

impl Region {
    pub fn new(options: &Options) -> Self {
        Self {
            range: options.range,
            header: options.header,
            stop_at_empty: options.stop_at_empty.unwrap_or(options.range.is_none()),
            is_filled: options.is_filled,
            columns: None,
            names: Vec::new(),
            next_row: 0,
            is_over: false,
        }
    }

    /// Whether no later row belongs to the table.
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// Number of columns, 0 until the first row was seen.
    pub fn width(&self) -> usize {
        self.columns.map_or(0, |(first, last)| (last - first) as usize + 1)
    }

    /// Where the first column lies in the sheet.
    pub fn first_column(&self) -> u32 {
        self.columns.map_or(0, |(first, _)| first)
    }

    /// Names of the columns, each another one.
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::with_capacity(self.names.len());
        for name in &self.names {
            let is_known = |names: &[String], name: &str| {
                names.iter().any(|known| known.to_lowercase() == name.to_lowercase())
            };
            let mut unique = name.clone();
            let mut number = 0;
            while is_known(&names, &unique) {
                number += 1;
                unique = format!("{name}_{number}");
            }
            names.push(unique);
        }
        names
    }

    /// Takes a row with cells and tells `step` what it means, and the empty rows before it.
    pub fn take(
        &mut self,
        row: u32,
        cells: Vec<(u32, Cell)>,
        step: &mut dyn FnMut(Step<'_>) -> Result<()>,
    ) -> Result<()> {
        if self.is_over || self.range.is_some_and(|range| row < range.first_row) {
            return Ok(());
        }
        if self.range.is_some_and(|range| row > range.last_row) {
            self.is_over = true;
            return Ok(());
        }
        let Some((first, last)) = self.columns else {
            return self.begin(row, &cells, step);
        };
        let cells = between(cells, first, last);
        if self.stop_at_empty && (row > self.next_row || cells.iter().all(Option::is_none)) {
            self.is_over = true;
            return Ok(());
        }
        let empty = vec![None; self.width()];
        for missing in self.next_row..row {
            step(Step::Row(missing, &empty))?;
        }
        self.next_row = row + 1;
        step(Step::Row(row, &cells))
    }

    /// Tells `step` the empty rows behind the last one that has cells, where they belong to the table.
    pub fn finish(&mut self, step: &mut dyn FnMut(Step<'_>) -> Result<()>) -> Result<()> {
        let Some(range) = self.range.filter(|_| self.is_filled) else { return Ok(()) };
        if self.columns.is_none() {
            self.begin(range.first_row, &[], step)?;
        }
        let empty = vec![None; self.width()];
        for missing in self.next_row..=range.last_row {
            step(Step::Row(missing, &empty))?;
        }
        self.next_row = range.last_row + 1;
        Ok(())
    }

    /// The first row of the table.
    fn begin(
        &mut self,
        row: u32,
        cells: &[(u32, Cell)],
        step: &mut dyn FnMut(Step<'_>) -> Result<()>,
    ) -> Result<()> {
        let (first, last) = match self.range {
            // Columns without end are those that the first row has.
            Some(range) if range.last_column == COLUMNS_MAX - 1 => {
                let last = cells.iter().map(|(column, _)| *column).max().unwrap_or(range.first_column);
                (range.first_column, last.max(range.first_column))
            }
            Some(range) => (range.first_column, range.last_column),
            None => {
                let mut columns: Vec<u32> = cells.iter().map(|(column, _)| *column).collect();
                columns.sort_unstable();
                let first = columns.first().copied().unwrap_or(0);
                let is_next = |(offset, column): &(usize, &u32)| **column == first + *offset as u32;
                let count = columns.iter().enumerate().take_while(is_next).count();
                (first, first + (count.max(1) - 1) as u32)
            }
        };
        self.columns = Some((first, last));
        let start = self.range.map_or(row, |range| range.first_row);
        self.next_row = row + 1;
        let in_row = between(cells.to_vec(), first, last);
        let empty = vec![None; self.width()];
        let head = if start == row { &in_row } else { &empty };
        let is_text = |cell: &Option<Cell>| matches!(cell, None | Some(Cell::Text(_)));
        let guessed = || head.iter().any(Option::is_some) && head.iter().all(is_text);
        let has_header = self.header.unwrap_or_else(guessed);
        let name = |(index, cell): (usize, &Option<Cell>)| match cell {
            Some(cell) if has_header => cell.to_string(),
            _ => reference(start, first + index as u32),
        };
        self.names = head.iter().enumerate().map(name).collect();
        if has_header {
            step(Step::Header)?;
        }
        if start < row && self.stop_at_empty {
            self.is_over = true;
            return Ok(());
        }
        for missing in start + u32::from(has_header)..row {
            step(Step::Row(missing, &empty))?;
        }
        if start < row || !has_header { step(Step::Row(row, &in_row)) } else { Ok(()) }
    }
}

/// The cells of a row between two columns.
fn between(cells: Vec<(u32, Cell)>, first: u32, last: u32) -> Vec<Option<Cell>> {
    let mut row = vec![None; (last - first) as usize + 1];
    for (column, cell) in cells {
        if (first..=last).contains(&column) {
            row[(column - first) as usize] = Some(cell);
        }
    }
    row
}

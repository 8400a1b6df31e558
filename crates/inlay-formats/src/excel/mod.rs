//! Excel workbooks as tables: `read_xlsx('book.xlsx')`.
//!
//! The calamine crate unpacks a workbook and finds its cells; which of them are the table, and of what types its columns
//! are, is found out here: all rows and columns that have something in them, so that no row is lost. Empty rows among them are rows of
//! NULLs, unless `stop_at_empty` ends the table there. A sheet is walked while the function is bound, once to its end for its size and
//! once up to where all types are known, and again by a scan. One worker reads a sheet; several files are read in parallel.
//!
//! Types follow the first cell of a column: numbers are DOUBLE, those shown as dates DATE, TIME or TIMESTAMP, and text is
//! VARCHAR. A later cell that its column's type does not hold is an error that names it.

mod cell;
mod directory;
mod sheet;

pub(crate) use sheet::TABLE_NAME;

use crate::files::Files;
use crate::option_text::{boolean, text};
use crate::per_file::PerFile;
use cell::Cell;
use inlay_catalog::{
    ScanRequest, SourceColumn, SourceScan, SourceTask, TableFunction, TableSource, TypeNames,
};
use inlay_types::{Batch, Error, LogicalType, Reservation, Result, VECTOR_SIZE, Value, VectorBuilder};
use sheet::{Range, Region, Step};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const PARAMETERS: [&str; 7] =
    ["sheet", "range", "header", "all_varchar", "ignore_errors", "empty_as_varchar", "stop_at_empty"];

/// What is asked for of a workbook.
#[derive(Clone, Debug, Default)]
pub(crate) struct Options {
    sheet: Option<String>,
    range: Option<Range>,
    header: Option<bool>,
    all_varchar: bool,
    ignore_errors: bool,
    empty_as_varchar: bool,
    stop_at_empty: Option<bool>,
    /// Whether empty rows at the end of the range are rows.
    is_filled: bool,
    /// Names and types of the columns, where a table says them (COPY FROM).
    columns: Vec<(Option<String>, LogicalType)>,
}

impl Options {
    fn read(function: &str, named: &[(String, Value)], types: &TypeNames<'_>) -> Result<Self> {
        let mut options = Self::default();
        for (name, value) in named {
            match name.to_ascii_lowercase().as_str() {
                "sheet" | "layer" => options.sheet = Some(text(name, value)?.to_string()),
                "range" => options.range = Some(Range::parse(text(name, value)?)?),
                "header" => options.header = Some(boolean(name, value)?),
                "all_varchar" => options.all_varchar = boolean(name, value)?,
                "ignore_errors" => options.ignore_errors = boolean(name, value)?,
                "empty_as_varchar" => options.empty_as_varchar = boolean(name, value)?,
                "stop_at_empty" => options.stop_at_empty = Some(boolean(name, value)?),
                "columns" => options.columns = crate::option_text::columns_of(name, value, types)?,
                other => return Err(crate::option_text::unknown_option(function, other, &PARAMETERS)),
            }
        }
        Ok(options)
    }
}

/// `read_xlsx`.
#[derive(Debug)]
pub struct ReadExcel {
    access: Arc<Files>,
}

impl ReadExcel {
    /// The reader of files that `access` allows.
    pub fn new(access: &Arc<Files>) -> Self {
        Self { access: Arc::clone(access) }
    }
}

impl TableFunction for ReadExcel {
    fn name(&self) -> &'static str {
        "read_xlsx"
    }

    fn bind(
        &self,
        args: &[Value],
        named: &[(String, Value)],
        types: &TypeNames<'_>,
    ) -> Result<Arc<dyn TableSource>> {
        let (per_file, named) = PerFile::take(named, types)?;
        let options = Options::read(self.name(), &named, types)?;
        let files = per_file.files(self.name(), args, &self.access)?;
        let open = |paths: &[String]| match paths.first() {
            Some(path) => Ok(Arc::new(Workbook::open(&self.access, path, &options)?) as Arc<dyn TableSource>),
            None => Err(Error::invalid_argument("read_xlsx needs the path of a file")),
        };
        if files.len() > 1 { per_file.open_each(files, &open) } else { per_file.open(files, &open) }
    }

    fn folder_columns(
        &self,
        args: &[Value],
        named: &[(String, Value)],
        types: &TypeNames<'_>,
    ) -> Result<Vec<String>> {
        PerFile::folder_columns(self.name(), args, named, types, &self.access)
    }
}

/// A sheet of a workbook.
#[derive(Clone, Debug)]
struct Workbook {
    files: Arc<Files>,
    path: String,
    options: Options,
    columns: Vec<SourceColumn>,
    /// Where the first of them lies in the sheet.
    first_column: u32,
}

impl Workbook {
    fn open(files: &Arc<Files>, path: &str, options: &Options) -> Result<Self> {
        let mut options = options.clone();
        if options.range.is_none() && options.stop_at_empty != Some(true) {
            let used = sheet::used(files, path, options.sheet.as_deref())?;
            options.is_filled = used.as_ref().is_some_and(|used| used.is_named);
            options.range = used.map(|used| used.cells);
        }
        let mut region = Region::new(&options);
        let mut types: Vec<Option<LogicalType>> = Vec::new();
        let mut is_first = true;
        let sheet = sheet::walk(files, path, options.sheet.as_deref(), &mut |row, cells| {
            region.take(row, cells, &mut |step| {
                let Step::Row(_, cells) = step else { return Ok(()) };
                types.resize(cells.len(), None);
                for (ty, cell) in types.iter_mut().zip(cells.iter()) {
                    let empty = is_first && options.empty_as_varchar;
                    let found = match cell {
                        Some(cell) => Some(cell.ty()),
                        None => empty.then_some(LogicalType::Varchar),
                    };
                    *ty = ty.take().or(found);
                }
                is_first = false;
                Ok(())
            })?;
            let is_known = !types.is_empty() && types.iter().all(Option::is_some);
            let is_enough = is_known || (options.all_varchar && region.width() > 0);
            Ok(!region.is_over() && !is_enough)
        })?;
        options.sheet = Some(sheet.name);
        if !region.is_over() {
            region.finish(&mut |_| Ok(()))?;
        }
        types.resize(region.width(), None);
        let names = region.names();
        if names.is_empty() {
            return Err(sheet::malformed(path, "the sheet is empty")
                .with_hint("sheet = '...' reads another one, range = 'A1:C9' a part"));
        }
        let columns = names.into_iter().zip(types).enumerate().map(|(index, (name, ty))| {
            if let Some((given, ty)) = options.columns.get(index) {
                return SourceColumn { name: given.clone().unwrap_or(name), ty: ty.clone() };
            }
            let ty = match ty {
                _ if options.all_varchar => LogicalType::Varchar,
                Some(ty) => ty,
                None if options.empty_as_varchar => LogicalType::Varchar,
                None => LogicalType::Double,
            };
            SourceColumn { name, ty }
        });
        let columns: Vec<SourceColumn> = columns.collect();
        if !options.columns.is_empty() && options.columns.len() != columns.len() {
            let message =
                format!("the sheet has {} columns, the table {}", columns.len(), options.columns.len());
            return Err(
                sheet::malformed(path, message).with_hint("range = 'A1:C9' says which cells are meant")
            );
        }
        let (files, path) = (Arc::clone(files), path.to_string());
        Ok(Self { files, path, options, columns, first_column: region.first_column() })
    }

    /// All rows as batches of the wanted columns.
    fn batches(&self, request: &ScanRequest) -> Result<Vec<(Batch, Reservation)>> {
        let mut region = Region::new(&self.options);
        let mut rows = Rows::new(self, request);
        sheet::walk(&self.files, &self.path, self.options.sheet.as_deref(), &mut |row, cells| {
            region.take(row, cells, &mut |step| match step {
                Step::Header => Ok(()),
                Step::Row(row, cells) => rows.push(row, cells),
            })?;
            Ok(!region.is_over())
        })?;
        region.finish(&mut |step| match step {
            Step::Header => Ok(()),
            Step::Row(row, cells) => rows.push(row, cells),
        })?;
        rows.finish()
    }
}

impl TableSource for Workbook {
    fn description(&self) -> String {
        format!("read_xlsx('{}')", self.path)
    }

    fn columns(&self) -> &[SourceColumn] {
        &self.columns
    }

    fn row_count_estimate(&self) -> Option<u64> {
        None
    }

    fn scan(&self, request: ScanRequest) -> Result<Box<dyn SourceScan>> {
        Ok(Box::new(ExcelScan { book: self.clone(), request, is_taken: AtomicBool::new(false) }))
    }
}

struct ExcelScan {
    book: Workbook,
    request: ScanRequest,
    is_taken: AtomicBool,
}

impl SourceScan for ExcelScan {
    fn next_task(&self) -> Result<Option<SourceTask>> {
        self.request.interrupt.check()?;
        if self.is_taken.swap(true, Ordering::Relaxed) {
            return Ok(None);
        }
        let (book, request) = (self.book.clone(), self.request.clone());
        Ok(Some(Box::new(ReadWhenAsked { book, request, batches: None })))
    }
}

/// The rows of a sheet, which is read when the first of them is asked for.
struct ReadWhenAsked {
    book: Workbook,
    request: ScanRequest,
    batches: Option<std::vec::IntoIter<(Batch, Reservation)>>,
}

impl Iterator for ReadWhenAsked {
    type Item = Result<Batch>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.batches.is_none() {
            match self.book.batches(&self.request) {
                Ok(batches) => self.batches = Some(batches.into_iter()),
                Err(error) => {
                    self.batches = Some(Vec::new().into_iter());
                    return Some(Err(error));
                }
            }
        }
        // What is reserved for a batch is given back when it is handed out.
        self.batches.as_mut()?.next().map(|(batch, _held)| Ok(batch))
    }
}

/// Rows on their way to batches.
struct Rows<'a> {
    book: &'a Workbook,
    request: &'a ScanRequest,
    builders: Vec<VectorBuilder>,
    len: usize,
    batches: Vec<(Batch, Reservation)>,
}

impl<'a> Rows<'a> {
    fn new(book: &'a Workbook, request: &'a ScanRequest) -> Self {
        let mut rows = Self { book, request, builders: Vec::new(), len: 0, batches: Vec::new() };
        rows.builders = rows.new_builders();
        rows
    }

    fn new_builders(&self) -> Vec<VectorBuilder> {
        let builder = |&column: &usize| VectorBuilder::new(self.book.columns[column].ty.clone(), VECTOR_SIZE);
        self.request.columns.iter().map(builder).collect()
    }

    fn push(&mut self, row: u32, cells: &[Option<Cell>]) -> Result<()> {
        for (builder, &column) in self.builders.iter_mut().zip(&self.request.columns) {
            let ty = &self.book.columns[column].ty;
            let value = match cells.get(column).and_then(Option::as_ref) {
                None => Value::Null,
                Some(cell) => match cell.value(ty) {
                    Some(value) => value,
                    None if self.book.options.ignore_errors => Value::Null,
                    None => return Err(self.unfit(row, column, cell, ty)),
                },
            };
            builder.push(&value)?;
        }
        self.len += 1;
        if self.len == VECTOR_SIZE { self.flush() } else { Ok(()) }
    }

    fn unfit(&self, row: u32, column: usize, cell: &Cell, ty: &LogicalType) -> Error {
        let place = sheet::reference(row, column as u32 + self.book.first_column);
        let sheet = self.book.options.sheet.as_deref().unwrap_or_default();
        let message = format!(
            "cell {place} of sheet \"{sheet}\" has {cell}, which is no {ty} as the column \"{}\"",
            self.book.columns[column].name
        );
        sheet::malformed(&self.book.path, message)
            .with_hint("all_varchar = true reads text, ignore_errors = true makes it NULL")
    }

    fn flush(&mut self) -> Result<()> {
        self.request.interrupt.check()?;
        let builders = self.new_builders();
        let columns = std::mem::replace(&mut self.builders, builders);
        let batch = Batch::new(columns.into_iter().map(VectorBuilder::finish).collect(), self.len);
        let size: usize = batch.columns().iter().map(inlay_types::Vector::memory_size).sum();
        self.batches.push((batch, self.request.budget.reserve(size as u64)?));
        self.len = 0;
        Ok(())
    }

    fn finish(mut self) -> Result<Vec<(Batch, Reservation)>> {
        if self.len > 0 {
            self.flush()?;
        }
        Ok(self.batches)
    }
}

#[cfg(test)]
mod tests;

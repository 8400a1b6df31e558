//! CSV files as a table: `read_csv('a.csv')`, with everything about the file found out that is not said.
//!
//! ```text
//! dialect, sniff   delimiter, quote, header             while binding, from the first lines
//! candidates       types
//! reader           files cut into blocks of whole records, in order, one worker at a time
//! index            where records and fields are in a block, with SIMD
//! convert, parse   columns of vectors from fields, one loop per type
//! ```
//! No row is dropped and no value changed silently: a line with another number of fields, or a value that is not of
//! its column's type, is an error that names file, line, column and the way out, unless `ignore_errors` is set, which
//! notes what it leaves out ([`crate::rejects`]).

mod candidates;
mod convert;
mod dialect;
mod header;
mod index;
mod mask;
mod options;
mod parse;
mod reader;
mod scan;
mod sniff;
pub mod sniff_csv;

pub use dialect::Dialect;
pub use options::CsvOptions;

use crate::files::Files;
use crate::input::InputFile;
use crate::per_file::PerFile;
use crate::rejects::SessionFiles;
use crate::remote::shown;
use convert::{ColumnReader, ReadRules};
use index::Indexer;
use inlay_catalog::{ScanRequest, SourceColumn, SourceScan, TableFunction, TableSource, TypeNames};
use inlay_kernels::common_type;
use inlay_types::{Error, LogicalType, Result, Value};
use reader::ReadSizes;
use scan::{CsvScan, Plan};
use sniff::{Schema, sniff};
use std::sync::Arc;

/// `read_csv`, under one of its names.
#[derive(Debug)]
pub struct ReadCsv {
    name: &'static str,
    access: Arc<Files>,
    session: Arc<SessionFiles>,
}

impl ReadCsv {
    /// The reader of files that `access` allows; `session` remembers the lines that are left out.
    pub fn new(name: &'static str, access: &Arc<Files>, session: &Arc<SessionFiles>) -> Self {
        Self { name, access: Arc::clone(access), session: Arc::clone(session) }
    }
}

impl TableFunction for ReadCsv {
    fn name(&self) -> &'static str {
        self.name
    }

    fn bind(
        &self,
        args: &[Value],
        named: &[(String, Value)],
        types: &TypeNames<'_>,
    ) -> Result<Arc<dyn TableSource>> {
        let (per_file, named) = PerFile::take(named, types)?;
        let files = per_file.files(self.name, args, &self.access)?;
        let options = CsvOptions::read(&named, types)?;
        let open = |paths: &[String]| -> Result<Arc<dyn TableSource>> {
            Ok(Arc::new(CsvSource::open(&self.access, paths, &options, &self.session)?))
        };
        // Files whose columns have other names or another order than those of the first are read one by one.
        if files.len() > 1 && !per_file.is_asked() && !self.have_same_columns(&files, &options)? {
            return per_file.open_each(files, &open);
        }
        per_file.open(files, &open)
    }

    fn folder_columns(
        &self,
        args: &[Value],
        named: &[(String, Value)],
        types: &TypeNames<'_>,
    ) -> Result<Vec<String>> {
        PerFile::folder_columns(self.name, args, named, types, &self.access)
    }
}

/// Files, besides the first, whose beginning is looked at before they are read.
const SNIFFED_FILES: usize = 10;

impl ReadCsv {
    /// Whether the first files have the same header.
    fn have_same_columns(&self, paths: &[String], options: &CsvOptions) -> Result<bool> {
        if options.columns.is_some() || options.header == Some(false) || !options.names.is_empty() {
            return Ok(true);
        }
        // The names alone are wanted.
        let options = CsvOptions { sample_size: Some(100), ..options.clone() };
        let mut first: Option<Schema> = None;
        for path in paths.iter().take(SNIFFED_FILES) {
            let schema = sniff(&input_of(&self.access, path, &options, &self.session)?, &options)?;
            let Some(known) = &first else {
                first = Some(schema);
                continue;
            };
            let names = schema.columns.iter().map(|(name, _)| name);
            let same = known.columns.iter().map(|(name, _)| name).eq(names);
            if known.has_header && schema.has_header && !same {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

fn input_of(
    access: &Arc<Files>,
    path: &str,
    options: &CsvOptions,
    session: &SessionFiles,
) -> Result<InputFile> {
    InputFile::new(access, path, (options.compression, options.encoding), &session.pipes)
}

/// CSV files of one schema.
#[derive(Debug)]
pub struct CsvSource {
    columns: Vec<SourceColumn>,
    plan: Arc<Plan>,
    row_count_estimate: u64,
}

impl CsvSource {
    /// Looks at the first files and settles names and types of the columns.
    pub fn open(
        access: &Arc<Files>,
        paths: &[String],
        options: &CsvOptions,
        session: &Arc<SessionFiles>,
    ) -> Result<Self> {
        let input = |path: &String| input_of(access, path, options, session);
        let files = paths.iter().map(input).collect::<Result<Arc<[_]>>>()?;
        let Some(first) = files.first() else {
            return Err(Error::invalid_argument("read_csv needs the path of a file"));
        };
        let mut size = 0;
        for file in files.iter() {
            size += file.size()?.unwrap_or(1 << 20);
        }
        let mut schema = sniff(first, options)?;
        for file in files.iter().take(SNIFFED_FILES).skip(1) {
            schema.widen(sniff(file, options)?);
        }
        let row_count_estimate = (size as f64 / schema.mean_size.max(1.0)) as u64;
        let columns =
            schema.columns.iter().map(|(name, ty)| SourceColumn { name: name.clone(), ty: ty.clone() });
        let columns = columns.collect();
        let plan = plan_of(files, schema, options, session);
        Ok(Self { columns, plan: Arc::new(plan), row_count_estimate })
    }

    /// How the files separate and quote.
    pub fn dialect(&self) -> &Dialect {
        &self.plan.rules.dialect
    }
}

fn plan_of(
    files: Arc<[InputFile]>,
    schema: Schema,
    options: &CsvOptions,
    session: &Arc<SessionFiles>,
) -> Plan {
    let reader =
        |(field, ((name, ty), format)): (usize, (&(String, LogicalType), &Option<String>))| ColumnReader {
            ty: ty.clone(),
            field,
            format: format.clone(),
            is_not_null: options.force_not_null.iter().any(|known| known.eq_ignore_ascii_case(name)),
        };
    let readers = schema.columns.iter().zip(&schema.formats).enumerate().map(reader).collect();
    let checks_names = schema.has_header && options.columns.is_none() && options.names.is_empty();
    let indexer = Indexer {
        dialect: schema.dialect.clone(),
        width: schema.columns.len(),
        pad: options.null_padding,
        skip_malformed: options.ignore_errors,
        size_max: options.line_size_max.unwrap_or(usize::MAX),
    };
    Plan {
        files,
        names: (checks_names && schema.header.len() == schema.columns.len()).then_some(schema.header),
        columns: schema.columns,
        detected: schema.detected,
        readers,
        has_header: schema.has_header,
        has_return: schema.has_return,
        sizes: ReadSizes::of(options),
        ignore_errors: options.ignore_errors,
        indexer,
        rules: ReadRules::new(schema.dialect, options),
        rejects: options.rejects.clone(),
        given: options.given.clone(),
        session: Arc::clone(session),
    }
}

impl Schema {
    /// Types that take the values of another file, too.
    fn widen(&mut self, other: Schema) {
        if self.columns.len() != other.columns.len() {
            return;
        }
        for (index, (_, ty)) in other.columns.into_iter().enumerate() {
            let own = &mut self.columns[index].1;
            if !self.detected[index] || *own == ty && self.formats[index] == other.formats[index] {
                continue;
            }
            *own = match common_type(own, &ty) {
                Some(common)
                    if self.formats[index] == other.formats[index] && *own != LogicalType::Varchar =>
                {
                    common
                }
                _ => LogicalType::Varchar,
            };
        }
    }
}

impl TableSource for CsvSource {
    fn description(&self) -> String {
        let shown: Vec<String> =
            self.plan.files.iter().take(3).map(|f| format!("'{}'", shown(&f.path))).collect();
        let more = if self.plan.files.len() > 3 { ", ..." } else { "" };
        format!("read_csv({}{more})", shown.join(", "))
    }

    fn columns(&self) -> &[SourceColumn] {
        &self.columns
    }

    fn row_count_estimate(&self) -> Option<u64> {
        Some(self.row_count_estimate)
    }

    fn may_wait(&self) -> bool {
        !self.plan.ignore_errors && self.plan.files.iter().all(InputFile::may_wait)
    }

    fn scan(&self, request: ScanRequest) -> Result<Box<dyn SourceScan>> {
        Ok(Box::new(CsvScan::new(Arc::clone(&self.plan), request)?))
    }
}

#[cfg(test)]
mod tests;

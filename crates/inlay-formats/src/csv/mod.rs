//! CSV files as a table: `read_csv('a.csv')`, with everything about the file found out that is not said.
//!
//! ```text
//! dialect, sniff   delimiter, quote, header, types      while binding, from the first lines
//! reader           files cut into blocks of whole records, in order, one worker at a time
//! index            where records and fields are in a block, with SIMD
//! convert, parse   columns of vectors from fields, one loop per type
//! ```
//! No row is dropped and no value changed silently: a line with another number of fields, or a value that is not of
//! its column's type, is an error that names file, line, column and the way out, unless `ignore_errors` is set.

mod convert;
mod dialect;
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
pub(crate) use reader::open as open_file;

use crate::paths;
use crate::per_file::PerFile;
use convert::ReadRules;
use index::Indexer;
use inlay_catalog::{FileAccess, ScanRequest, SourceColumn, SourceScan, TableFunction, TableSource};
use inlay_types::{Error, Result, Value};
use scan::{CsvScan, Plan};
use std::sync::Arc;

/// `read_csv`, under one of its names.
#[derive(Debug)]
pub struct ReadCsv {
    name: &'static str,
    access: Arc<FileAccess>,
}

impl ReadCsv {
    /// The reader of files that `access` allows.
    pub fn new(name: &'static str, access: &Arc<FileAccess>) -> Self {
        Self { name, access: Arc::clone(access) }
    }
}

impl TableFunction for ReadCsv {
    fn name(&self) -> &'static str {
        self.name
    }

    fn bind(&self, args: &[Value], named: &[(String, Value)]) -> Result<Arc<dyn TableSource>> {
        let files = paths::expand(self.name, args, &self.access)?;
        let (per_file, named) = PerFile::take(named)?;
        let options = CsvOptions::read(&named)?;
        per_file.open(files, &|paths: &[String]| Ok(Arc::new(CsvSource::open(paths.to_vec(), &options)?)))
    }
}

/// CSV files of one schema.
#[derive(Debug)]
pub struct CsvSource {
    columns: Vec<SourceColumn>,
    plan: Arc<Plan>,
    row_count_estimate: u64,
}

impl CsvSource {
    /// Looks at the first file and settles names and types of the columns.
    pub fn open(files: Vec<String>, options: &CsvOptions) -> Result<Self> {
        let files: Arc<[String]> = Arc::from(files);
        if files.is_empty() {
            return Err(Error::invalid_argument("read_csv needs the path of a file"));
        }
        let mut size = 0;
        for path in files.iter() {
            let metadata = reader::open(path)?.metadata().map_err(|e| Error::io("cannot read", path, &e))?;
            size += metadata.len();
        }
        let schema = sniff::sniff(&files, options)?;
        let indexer = Indexer {
            dialect: schema.dialect.clone(),
            width: schema.columns.len(),
            pad: options.null_padding,
            skip_malformed: options.ignore_errors,
        };
        let columns = schema
            .columns
            .iter()
            .map(|(name, ty)| SourceColumn { name: name.clone(), ty: ty.clone() })
            .collect();
        let plan = Plan {
            files,
            columns: schema.columns,
            detected: schema.detected,
            has_header: schema.has_header,
            skip: options.skip,
            ignore_errors: options.ignore_errors,
            indexer,
            rules: ReadRules::new(schema.dialect, options),
        };
        let row_count_estimate = (size as f64 / schema.mean_size.max(1.0)) as u64;
        Ok(Self { columns, plan: Arc::new(plan), row_count_estimate })
    }

    /// How the files separate and quote.
    pub fn dialect(&self) -> &Dialect {
        &self.plan.rules.dialect
    }
}

impl TableSource for CsvSource {
    fn description(&self) -> String {
        let shown: Vec<String> = self.plan.files.iter().take(3).map(|f| format!("'{f}'")).collect();
        let more = if self.plan.files.len() > 3 { ", ..." } else { "" };
        format!("read_csv({}{more})", shown.join(", "))
    }

    fn columns(&self) -> &[SourceColumn] {
        &self.columns
    }

    fn row_count_estimate(&self) -> Option<u64> {
        Some(self.row_count_estimate)
    }

    fn scan(&self, request: ScanRequest) -> Result<Box<dyn SourceScan>> {
        Ok(Box::new(CsvScan::new(Arc::clone(&self.plan), request)))
    }
}

#[cfg(test)]
mod tests;

//! JSON files as tables: `read_json('a.json')`, with columns and types found out from the documents.
//!
//! ```text
//! split    where documents begin and end: lines, one after the other, or the elements of one array
//! options  what a user may say
//! texts    dates and numbers that are written as texts in a form of their own
//! scan     documents into vectors, a chunk of the file per morsel
//! ```
//! Documents that are objects give a column per key; other documents are one column `json`. A document that is malformed
//! or of another type than its column is an error with file and line, unless `ignore_errors` is set.

mod options;
mod scan;
mod split;
mod texts;

use crate::files::Files;
use crate::input::InputFile;
use crate::per_file::PerFile;
use crate::rejects::SessionFiles;
use crate::remote::shown;
use inlay_catalog::{ScanRequest, SourceColumn, SourceScan, TableFunction, TableSource, TypeNames};
use inlay_kernels::json::documents::{Keys, RowReader, Shape};
use inlay_kernels::json::sample::Sample;
use inlay_types::{Error, LogicalType, Result, Value};
use options::{JsonOptions, Records};
use scan::{Conversion, JsonScan};
use split::Splitter;
use std::collections::HashSet;
use std::sync::Arc;

/// `read_json`, under one of its names.
#[derive(Debug)]
pub struct ReadJson {
    name: &'static str,
    access: Arc<Files>,
    session: Arc<SessionFiles>,
}

/// The names, and whether each gives whole documents.
pub const NAMES: [(&str, bool); 7] = [
    ("read_json", false),
    ("read_json_auto", false),
    ("read_ndjson", false),
    ("read_ndjson_auto", false),
    ("read_json_objects", true),
    ("read_json_objects_auto", true),
    ("read_ndjson_objects", true),
];

impl ReadJson {
    /// The reader of files that `access` allows.
    pub fn new(name: &'static str, access: &Arc<Files>, session: &Arc<SessionFiles>) -> Self {
        Self { name, access: Arc::clone(access), session: Arc::clone(session) }
    }
}

impl TableFunction for ReadJson {
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
        let options = JsonOptions::read(self.name, &named, types)?;
        per_file.open(files, &|paths: &[String]| {
            let file = |path: &String| {
                let ways = (options.compression, options.encoding);
                InputFile::new(&self.access, path, ways, &self.session.pipes)
            };
            let files = paths.iter().map(file).collect::<Result<_>>()?;
            Ok(Arc::new(self.source(files, &options)?))
        })
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

impl ReadJson {
    fn source(&self, files: Arc<[InputFile]>, options: &JsonOptions) -> Result<JsonFiles> {
        let is_whole = NAMES.iter().any(|(name, whole)| *name == self.name && *whole);
        let (columns, has_more) = match (&options.columns, is_whole) {
            (_, true) => (vec![Column::whole(LogicalType::Json)], false),
            (Some(given), _) => {
                (given.iter().map(|(name, ty)| Column::of_key(name, name, ty.clone())).collect(), false)
            }
            (None, _) => {
                let (mut found, has_more) = found_columns(&files, options)?;
                options.forms.find(&files, options, &mut found)?;
                (found, has_more)
            }
        };
        let found: Option<Arc<HashSet<String>>> =
            has_more.then(|| Arc::new(columns.iter().filter_map(|column| column.key.clone()).collect()));
        let shown = |column: &Column| SourceColumn { name: column.name.clone(), ty: column.ty.clone() };
        let shown = columns.iter().map(shown).collect();
        Ok(JsonFiles {
            name: self.name,
            files,
            columns: columns.into(),
            shown,
            found,
            options: options.clone(),
        })
    }
}

/// A column and where it is in a document.
#[derive(Clone, Debug)]
struct Column {
    name: String,
    /// `None`: it is the document.
    key: Option<String>,
    ty: LogicalType,
}

impl Column {
    fn whole(ty: LogicalType) -> Self {
        Self { name: "json".to_string(), key: None, ty }
    }

    fn of_key(name: &str, key: &str, ty: LogicalType) -> Self {
        Self { name: name.to_string(), key: Some(key.to_string()), ty }
    }
}

/// Files, at most, whose first documents are looked at.
const FILES_MAX: usize = 32;

/// Columns from the first documents of the first files; whether there are others.
fn found_columns(files: &Arc<[InputFile]>, options: &JsonOptions) -> Result<(Vec<Column>, bool)> {
    let mut sample = Sample::new(options.depth_max);
    let files_max = if options.sample_size == usize::MAX { usize::MAX } else { FILES_MAX };
    let mut has_more = files.len() > files_max;
    for file in files.iter().take(files_max) {
        let mut left = options.sample_size;
        let path = &file.path;
        let mut documents = Splitter::new(file.look()?, path, options.format).tolerant(options.ignore_errors);
        while let Some(chunk) = documents.next_chunk()? {
            has_more |= chunk.len() > left;
            for index in 0..chunk.len().min(left) {
                match sample.add(chunk.document(index)) {
                    Ok(()) => {}
                    Err(_) if options.ignore_errors => {}
                    Err(error) => return Err(chunk.error(index, path, &error, "")),
                }
            }
            left = left.saturating_sub(chunk.len());
            if left == 0 {
                // Whether this was the last chunk is not known without reading on.
                has_more = true;
                break;
            }
        }
    }
    let rules = options.maps;
    let is_map = |keys: &Keys| options.records == Records::Auto && keys.map_of(rules).is_some();
    let keys = match sample.finish()? {
        Shape::Object(keys) if options.records != Records::No && !keys.is_empty() && !is_map(&keys) => keys,
        Shape::Object(_) | Shape::Unknown | Shape::Any | Shape::Plain(_) | Shape::List(_)
            if options.records == Records::Yes =>
        {
            let message = "records = true wants objects, and the documents are not";
            let hint = "records = 'auto' reads any";
            return Err(Error::MalformedFile {
                path: files[0].path.clone(),
                line: None,
                message: message.to_string(),
            }
            .with_hint(hint));
        }
        other => return Ok((vec![Column::whole(other.logical_type(rules))], has_more)),
    };
    let mut taken: HashSet<String> = HashSet::new();
    let column = |(key, shape): (String, Shape)| {
        let mut name = key.clone();
        let mut number = 1;
        while !taken.insert(name.to_lowercase()) {
            name = format!("{key}_{number}");
            number += 1;
        }
        Column::of_key(&name, &key, shape.logical_type(rules))
    };
    Ok((keys.into_fields().map(column).collect(), has_more))
}

/// JSON files of one schema.
#[derive(Debug)]
struct JsonFiles {
    name: &'static str,
    files: Arc<[InputFile]>,
    columns: Arc<[Column]>,
    shown: Vec<SourceColumn>,
    /// The keys of all columns, if there are documents that no column was found from.
    found: Option<Arc<HashSet<String>>>,
    options: JsonOptions,
}

impl TableSource for JsonFiles {
    fn description(&self) -> String {
        let shown: Vec<String> =
            self.files.iter().take(3).map(|file| format!("'{}'", shown(&file.path))).collect();
        let more = if self.files.len() > 3 { ", ..." } else { "" };
        format!("{}({}{more})", self.name, shown.join(", "))
    }

    fn columns(&self) -> &[SourceColumn] {
        &self.shown
    }

    fn row_count_estimate(&self) -> Option<u64> {
        // About a hundred bytes per document and ten per column.
        let sizes = self.files.iter().map(|file| file.size().ok().flatten().unwrap_or(0));
        Some(sizes.sum::<u64>() / (50 + 10 * self.columns.len() as u64))
    }

    fn may_wait(&self) -> bool {
        self.files.iter().all(InputFile::may_wait)
    }

    fn scan(&self, request: ScanRequest) -> Result<Box<dyn SourceScan>> {
        let forms = &self.options.forms;
        let column = |&index: &usize| {
            let column = &self.columns[index];
            (column.key.clone(), forms.type_read(&column.ty))
        };
        let reader = RowReader {
            columns: request.columns.iter().map(column).collect(),
            ignore_errors: self.options.ignore_errors,
            found: self.found.clone(),
        };
        let types = request.columns.iter().map(|&index| self.columns[index].ty.clone()).collect();
        let conversion = Conversion { forms: forms.clone(), types };
        let files = Arc::clone(&self.files);
        Ok(Box::new(JsonScan::new(files, self.options.format, reader, conversion, request)))
    }
}

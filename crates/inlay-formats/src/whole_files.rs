//! `read_text` and `read_blob`: a row for each file with all that it holds. `glob`: the names of files.
//!
//! A file is opened when its row is read, and only read if its content is asked for.

use crate::files::{Files, First};
use crate::option_text::boolean;
use crate::paths;
use crate::ranges::{self, Ranges};
use crate::remote::shown;
use inlay_catalog::{
    ScanRequest, SourceColumn, SourceScan, SourceTask, TableFunction, TableSource, TypeNames,
};
use inlay_types::view::HeapBuilder;
use inlay_types::{Batch, Buffer, Error, LogicalType, MemoryBudget, Result, Value, Vector};
use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::UNIX_EPOCH;

/// What a function gives of files.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Kind {
    /// Content as text.
    Text,
    /// Content as bytes.
    Blob,
    /// Names alone.
    Names,
}

/// One of the three functions.
#[derive(Debug)]
pub struct WholeFiles {
    kind: Kind,
    access: Arc<Files>,
}

impl WholeFiles {
    /// The function over files that `access` allows.
    pub fn new(kind: Kind, access: &Arc<Files>) -> Self {
        Self { kind, access: Arc::clone(access) }
    }
}

impl TableFunction for WholeFiles {
    fn name(&self) -> &'static str {
        match self.kind {
            Kind::Text => "read_text",
            Kind::Blob => "read_blob",
            Kind::Names => "glob",
        }
    }

    fn bind(
        &self,
        args: &[Value],
        named: &[(String, Value)],
        _: &TypeNames<'_>,
    ) -> Result<Arc<dyn TableSource>> {
        let mut may_be_empty = false;
        for (name, value) in named {
            if self.kind == Kind::Names || !name.eq_ignore_ascii_case("allow_empty") {
                return Err(Error::invalid_argument(format!("{} has no parameter \"{name}\"", self.name())));
            }
            may_be_empty = boolean(name, value)?;
        }
        let column = |(name, ty): (&str, LogicalType)| SourceColumn { name: name.to_string(), ty };
        let (paths, columns) = match self.kind {
            Kind::Names => {
                (paths::matching(self.name(), args, &self.access)?, vec![("file", LogicalType::Varchar)])
            }
            kind => {
                let content = if kind == Kind::Text { LogicalType::Varchar } else { LogicalType::Blob };
                let columns = vec![
                    ("filename", LogicalType::Varchar),
                    ("content", content),
                    ("size", LogicalType::BigInt),
                    ("last_modified", LogicalType::TimestampTz),
                ];
                let paths = if may_be_empty {
                    paths::expand_or_none(self.name(), args, &self.access)?
                } else {
                    paths::expand(self.name(), args, &self.access)?
                };
                (paths, columns)
            }
        };
        let columns = columns.into_iter().map(column).collect();
        let access = Arc::clone(&self.access);
        Ok(Arc::new(FileRows { name: self.name(), kind: self.kind, access, paths: paths.into(), columns }))
    }
}

/// Files as rows.
#[derive(Clone, Debug)]
struct FileRows {
    name: &'static str,
    kind: Kind,
    access: Arc<Files>,
    paths: Arc<[String]>,
    columns: Vec<SourceColumn>,
}

impl TableSource for FileRows {
    fn description(&self) -> String {
        let shown: Vec<String> = self.paths.iter().take(3).map(|path| format!("'{}'", shown(path))).collect();
        let more = if self.paths.len() > 3 { ", ..." } else { "" };
        format!("{}({}{more})", self.name, shown.join(", "))
    }

    fn columns(&self) -> &[SourceColumn] {
        &self.columns
    }

    fn row_count_estimate(&self) -> Option<u64> {
        Some(self.paths.len() as u64)
    }

    fn scan(&self, request: ScanRequest) -> Result<Box<dyn SourceScan>> {
        Ok(Box::new(FilesScan { files: self.clone(), request, next: AtomicUsize::new(0) }))
    }
}

struct FilesScan {
    files: FileRows,
    request: ScanRequest,
    next: AtomicUsize,
}

impl SourceScan for FilesScan {
    fn next_task(&self) -> Result<Option<SourceTask>> {
        self.request.interrupt.check()?;
        let Some(path) = self.files.paths.get(self.next.fetch_add(1, Ordering::Relaxed)).cloned() else {
            return Ok(None);
        };
        let (kind, types) = (self.files.kind, self.files.columns.iter().map(|column| column.ty.clone()));
        let (types, request) = (types.collect::<Vec<_>>(), self.request.clone());
        let files = Arc::clone(&self.files.access);
        Ok(Some(Box::new(std::iter::once_with(move || {
            let file = Opened { files: &files, path: &path, kind, budget: &request.budget };
            let columns = request.columns.iter().map(|&index| file.column(index, &types[index]));
            Ok(Batch::new(columns.collect::<Result<_>>()?, 1))
        }))))
    }
}

struct Opened<'a> {
    files: &'a Arc<Files>,
    path: &'a str,
    kind: Kind,
    budget: &'a MemoryBudget,
}

impl Opened<'_> {
    fn column(&self, column: usize, ty: &LogicalType) -> Result<Vector> {
        let value = match column {
            0 => Value::Varchar(self.path.to_string()),
            1 => return self.content(ty),
            2 => Value::BigInt(self.files.about(self.path)?.size as i64),
            _ => {
                let modified = self.files.about(self.path)?.modified;
                let since = modified.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
                since.map_or(Value::Null, |since| Value::TimestampTz(since.as_micros() as i64))
            }
        };
        Vector::from_sql_values(ty.clone(), &[value])
    }

    /// All that is in the file, which is counted as long as it lives.
    fn content(&self, ty: &LogicalType) -> Result<Vector> {
        let failed = |error: std::io::Error| Error::io("cannot read", self.path, &error);
        let (mut bytes, held);
        if self.files.is_elsewhere(self.path) {
            let file = self.files.ranges(self.path, First::Beginning)?;
            held = self.budget.reserve(file.size())?;
            let mut read = Vec::with_capacity(usize::try_from(file.size()).unwrap_or(0));
            ranges::telling(|| Ranges::new(file).read_to_end(&mut read).map_err(failed))?;
            bytes = read;
        } else {
            let size = self.files.about(self.path)?.size;
            held = self.budget.reserve(size)?;
            // What is behind the size that was told shows at once, or the file grew.
            let mut read = Vec::with_capacity(usize::try_from(size).unwrap_or(0).saturating_add(1));
            self.files.open(self.path)?.read_to_end(&mut read).map_err(failed)?;
            bytes = read;
        }
        if let (Kind::Text, Err(error)) = (self.kind, std::str::from_utf8(&bytes)) {
            let error = Error::MalformedFile {
                path: self.path.to_string(),
                line: None,
                message: format!("byte {} is not UTF-8 text", error.valid_up_to()),
            };
            return Err(error.with_hint("read_blob reads any file"));
        }
        let mut heap = HeapBuilder::new();
        let view = heap.push_from(&mut bytes);
        let made = Vector::flat(ty.clone(), 1, Buffer::from_vec(vec![view]), None, heap.finish());
        Ok(made.holding(Some(held)))
    }
}

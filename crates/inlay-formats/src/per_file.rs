//! Files read one by one, with what only their names say: `filename`, the columns of hive partitions
//! (`year=2024/month=5/x.parquet`), and `union_by_name` over files of different columns.
//!
//! `schema` says the columns itself, and which of a file's columns each is.
//!
//! A reader that is asked for any of these, or whose paths have partitions, is opened once per file; a batch of a file is then
//! completed by columns that are the same for all its rows. Files whose partitions a filter rules out are not read.

use crate::column_source::ColumnSource;
use crate::files::Files;
use crate::option_text::{boolean, columns_of};
use crate::paths;
use crate::stored;
use inlay_catalog::{
    ScanRequest, SourceColumn, SourceFilter, SourceScan, SourceTask, TableSource, TypeNames,
};
use inlay_kernels::json::value::quote;
use inlay_kernels::parse::{self, Suffix};
use inlay_kernels::{can_cast, cast_value, common_type};
use inlay_storage::SegmentPredicate;
use inlay_types::{Batch, Error, LogicalType, Result, Value, Vector, VectorBuilder};
use parking_lot::Mutex;
use std::sync::Arc;

/// Opens files as one source.
pub(crate) type OpenFiles<'a> = &'a dyn Fn(&[String]) -> Result<Arc<dyn TableSource>>;

/// What hive writes for NULL.
const NULL_PARTITION: &str = "__HIVE_DEFAULT_PARTITION__";

/// What readers call the number of each row in its file.
pub(crate) const ROW_NUMBER: &str = "file_row_number";

/// What is asked for of files one by one.
#[derive(Clone, Debug, Default)]
pub(crate) struct PerFile {
    filename: Option<String>,
    hive: Option<bool>,
    union_by_name: bool,
    autocast: bool,
    allow_empty: bool,
    types: Vec<(Option<String>, LogicalType)>,
    schema: Option<Vec<SchemaColumn>>,
    /// Columns that `column_statistics` says something of.
    described: Vec<String>,
}

/// A column that `schema` describes.
#[derive(Clone, Debug)]
struct SchemaColumn {
    /// What the file calls it: its name, or [`field_id_name`] of the number that it has there.
    key: String,
    name: String,
    ty: LogicalType,
    /// Its value in files that do not have it.
    default: Value,
}

/// What a column is called that `schema` knows by its field number.
pub(crate) fn field_id_name(id: i128) -> String {
    format!("\0{id}")
}

impl PerFile {
    /// Takes its options out of those of a reader.
    pub fn take(named: &[(String, Value)], types: &TypeNames<'_>) -> Result<(Self, Vec<(String, Value)>)> {
        let mut options = Self { autocast: true, ..Self::default() };
        let mut others = Vec::with_capacity(named.len());
        for (name, value) in named {
            match name.to_ascii_lowercase().as_str() {
                "filename" => {
                    options.filename = match value {
                        Value::Varchar(text) if boolean(name, value).is_err() => Some(text.clone()),
                        _ => boolean(name, value)?.then(|| "filename".to_string()),
                    }
                }
                "hive_partitioning" => options.hive = Some(boolean(name, value)?),
                "hive_types" => options.types = columns_of(name, value, types)?,
                "hive_types_autocast" => options.autocast = boolean(name, value)?,
                "allow_empty" => options.allow_empty = boolean(name, value)?,
                "union_by_name" => options.union_by_name = boolean(name, value)?,
                "schema" => options.schema = Some(schema_of(value, types)?),
                "column_statistics" => options.described = described_of(value)?,
                _ => others.push((name.clone(), value.clone())),
            }
        }
        if options.schema.is_some() && (options.union_by_name || options.hive == Some(true)) {
            let message = "schema is not for union_by_name = true or hive_partitioning = true";
            return Err(Error::invalid_argument(message));
        }
        Ok((options, others))
    }

    /// Whether columns are to be called by [`field_id_name`] of their numbers.
    pub fn wants_field_ids(&self) -> bool {
        self.schema.iter().flatten().any(|column| column.key.starts_with('\0'))
    }

    /// Whether files have to be read one by one whatever they are.
    pub fn is_asked(&self) -> bool {
        self.filename.is_some() || self.union_by_name
    }

    /// The files that the arguments of a reader name; none only where that is allowed.
    pub fn files(&self, function: &str, args: &[Value], access: &Arc<Files>) -> Result<Vec<String>> {
        if self.allow_empty {
            paths::expand_or_none(function, args, access)
        } else {
            paths::expand(function, args, access)
        }
    }

    /// The source of files: one for all of them, or one for each.
    pub fn open(&self, paths: Vec<String>, open: OpenFiles<'_>) -> Result<Arc<dyn TableSource>> {
        self.described(self.open_as(paths, open, self.is_asked())?)
    }

    /// The source of files, one for each: their columns are matched by name.
    pub fn open_each(&self, paths: Vec<String>, open: OpenFiles<'_>) -> Result<Arc<dyn TableSource>> {
        self.described(self.open_as(paths, open, true)?)
    }

    /// The source, if it has the columns that something was said of.
    fn described(&self, source: Arc<dyn TableSource>) -> Result<Arc<dyn TableSource>> {
        match self.described.iter().find(|name| place_of(source.columns(), name).is_none()) {
            Some(name) => {
                let message = format!("column_statistics: the files have no column \"{name}\"");
                Err(Error::invalid_argument(message))
            }
            None => Ok(source),
        }
    }

    fn open_as(
        &self,
        paths: Vec<String>,
        open: OpenFiles<'_>,
        is_each: bool,
    ) -> Result<Arc<dyn TableSource>> {
        if paths.is_empty() && self.allow_empty {
            // Nothing says what columns there are; DuckDB's name for it.
            let empty = ("empty".to_string(), Vector::empty(LogicalType::Boolean));
            return Ok(Arc::new(ColumnSource::new("no files", vec![empty])?));
        }
        if let Some(schema) = &self.schema {
            let open = |path: String| Ok((open(std::slice::from_ref(&path))?, path));
            let files = paths.into_iter().map(open).collect::<Result<Vec<_>>>()?;
            return Ok(Arc::new(self.by_schema(schema, files)));
        }
        let (keys, partitions) = self.partitions(&paths)?;
        let is_hive = !keys.is_empty();
        if !is_each && !is_hive {
            return open(&paths);
        }
        let mut files = Vec::with_capacity(paths.len());
        for (index, path) in paths.into_iter().enumerate() {
            let source = open(std::slice::from_ref(&path))?;
            let values = if is_hive { partitions[index].clone() } else { Vec::new() };
            files.push((path, source, values));
        }
        self.assemble(files, &keys).map(|source| Arc::new(source) as Arc<dyn TableSource>)
    }

    /// The columns that the folders of files say, and their values for each file; none unless all files have the same.
    fn partitions(&self, paths: &[String]) -> Result<(Vec<String>, Vec<Partitions>)> {
        if self.hive == Some(false) || self.schema.is_some() {
            return Ok(Default::default());
        }
        let partitions: Vec<Partitions> = paths.iter().map(|path| partitions_of(path)).collect();
        let keys: Vec<String> = partitions
            .first()
            .map_or_else(Vec::new, |first| first.iter().map(|(key, _)| key.clone()).collect());
        if partitions.iter().all(|of| of.iter().map(|(key, _)| key).eq(keys.iter())) {
            return Ok((keys, partitions));
        }
        if self.hive == Some(true) {
            let message = "the files have different hive partitions";
            let hint = "hive_partitioning = false reads them without";
            return Err(Error::invalid_argument(message).with_hint(hint));
        }
        Ok(Default::default())
    }

    /// What [`inlay_catalog::TableFunction::folder_columns`] is of a reader.
    pub fn folder_columns(
        function: &str,
        args: &[Value],
        named: &[(String, Value)],
        types: &TypeNames<'_>,
        access: &Arc<Files>,
    ) -> Result<Vec<String>> {
        let (per_file, _) = Self::take(named, types)?;
        Ok(per_file.partitions(&per_file.files(function, args, access)?)?.0)
    }

    /// Files whose columns are those of a schema.
    fn by_schema(
        &self,
        schema: &[SchemaColumn],
        files: Vec<(Arc<dyn TableSource>, String)>,
    ) -> FilesOneByOne {
        let shown = |column: &SchemaColumn| SourceColumn { name: column.name.clone(), ty: column.ty.clone() };
        let mut columns: Vec<SourceColumn> = schema.iter().map(shown).collect();
        // Numbers that the reader adds to rows are nobody's columns.
        let number = |file: &Arc<dyn TableSource>| place_of(file.columns(), ROW_NUMBER);
        let numbers = files.first().and_then(|(file, _)| number(file)).is_some();
        if numbers {
            columns.push(SourceColumn { name: ROW_NUMBER.to_string(), ty: LogicalType::BigInt });
        }
        if let Some(name) = &self.filename {
            columns.push(SourceColumn { name: name.clone(), ty: LogicalType::Varchar });
        }
        let one = |(source, path): (Arc<dyn TableSource>, String)| {
            let part = |column: &SchemaColumn| {
                let place = place_of(source.columns(), &column.key);
                place.map_or_else(|| Part::Constant(column.default.clone()), Part::Read)
            };
            let mut parts: Vec<Part> = schema.iter().map(part).collect();
            if numbers {
                parts.push(number(&source).map_or(Part::Constant(Value::Null), Part::Read));
            }
            if self.filename.is_some() {
                parts.push(Part::Constant(Value::Varchar(path)));
            }
            OneFile { source, parts, quotes: false }
        };
        FilesOneByOne { files: files.into_iter().map(one).collect(), columns }
    }

    /// Files of the same columns, which may have different types.
    pub fn joined(files: Vec<(String, Arc<dyn TableSource>)>) -> Result<Arc<dyn TableSource>> {
        let files = files.into_iter().map(|(path, source)| (path, source, Vec::new())).collect();
        Ok(Arc::new(Self::default().assemble(files, &[])?))
    }

    fn assemble(&self, files: Vec<Opened>, keys: &[String]) -> Result<FilesOneByOne> {
        let mut columns: Vec<SourceColumn> = Vec::new();
        for (index, (path, source, _)) in files.iter().enumerate() {
            if index > 0 && !self.union_by_name {
                let missing =
                    columns.iter().find(|column| place_of(source.columns(), &column.name).is_none());
                if let Some(missing) = missing {
                    return Err(Error::MalformedFile {
                        path: path.clone(),
                        line: None,
                        message: format!("it has no column \"{}\", as '{}' has", missing.name, files[0].0),
                    }
                    .with_hint("union_by_name = true makes it NULL here"));
                }
            }
            for column in source.columns() {
                match place_of(&columns, &column.name) {
                    None if index > 0 && !self.union_by_name => {}
                    None => columns.push(column.clone()),
                    Some(place) if columns[place].ty != column.ty => {
                        let both = [&columns[place].ty, &column.ty];
                        let is_json = both.contains(&&LogicalType::Json);
                        let otherwise = if is_json { LogicalType::Json } else { LogicalType::Varchar };
                        columns[place].ty = match common_type(both[0], both[1]) {
                            // The text of a document is not the text in it.
                            None | Some(LogicalType::Varchar) => otherwise,
                            Some(common) => common,
                        };
                    }
                    Some(_) => {}
                }
            }
        }
        if let Some(name) = &self.filename
            && (place_of(&columns, name).is_some() || keys.iter().any(|key| key.eq_ignore_ascii_case(name)))
        {
            let message = format!("the files have a column \"{name}\", which the option filename adds");
            let hint = "filename = 'another name' calls that one otherwise";
            return Err(Error::invalid_argument(message).with_hint(hint));
        }
        let filename = self.filename.as_ref().map(|name| {
            columns.push(SourceColumn { name: name.clone(), ty: LogicalType::Varchar });
            columns.len() - 1
        });
        let mut hive = Vec::with_capacity(keys.len());
        for (number, key) in keys.iter().enumerate() {
            let given = self.types.iter().find(|(name, _)| name.as_deref() == Some(key.as_str()));
            let ty = match given {
                Some((_, ty)) => ty.clone(),
                None if self.autocast => {
                    type_of(files.iter().filter_map(|(_, _, values)| values[number].1.as_deref()))
                }
                None => LogicalType::Varchar,
            };
            let place = place_of(&columns, key).unwrap_or_else(|| {
                columns.push(SourceColumn { name: key.clone(), ty: ty.clone() });
                columns.len() - 1
            });
            columns[place].ty = ty;
            hive.push(place);
        }
        let mut made = Vec::with_capacity(files.len());
        for (path, source, values) in files {
            let mut parts: Vec<Part> = Vec::with_capacity(columns.len());
            for (place, column) in columns.iter().enumerate() {
                let number = hive.iter().position(|known| *known == place);
                parts.push(match (number, filename == Some(place)) {
                    (_, true) => Part::Constant(Value::Varchar(path.clone())),
                    (Some(number), _) => Part::Constant(match &values[number].1 {
                        None => Value::Null,
                        Some(text) => cast_value(&Value::Varchar(text.clone()), &column.ty)?,
                    }),
                    _ => place_of(source.columns(), &column.name)
                        .map_or(Part::Constant(Value::Null), Part::Read),
                });
            }
            made.push(OneFile { source, parts, quotes: true });
        }
        Ok(FilesOneByOne { files: made.into(), columns })
    }
}

/// The columns of the option `schema`: a map of field numbers or names to `{name, type, default_value}`.
fn schema_of(value: &Value, types: &TypeNames<'_>) -> Result<Vec<SchemaColumn>> {
    let refused = || {
        Error::invalid_argument(format!(
            "schema is a map of field numbers, or of names, as in map {{1: {{name: 'a', type: 'BIGINT', \
             default_value: NULL}}}}, not {value}"
        ))
    };
    let Value::Map { entries, .. } = value else { return Err(refused()) };
    let mut columns: Vec<SchemaColumn> = Vec::with_capacity(entries.len());
    for (key, entry) in entries {
        let Value::Struct { fields, values } = entry else { return Err(refused()) };
        let named: Vec<&str> = fields.iter().map(|field| &*field.name).collect();
        let ([name, ty, default], ["name", "type", "default_value"]) = (&values[..], &named[..]) else {
            return Err(refused());
        };
        let (Some(name), Some(text)) = (name.as_str(), ty.as_str()) else { return Err(refused()) };
        let ty = types(text).map_err(|error| {
            let message = format!("schema: there is no type \"{text}\" for \"{name}\" ({error})");
            Error::invalid_argument(message)
        })?;
        let key = match (key.as_str(), key.as_i128()) {
            (Some(name), _) => name.to_string(),
            (None, Some(id)) if key.logical_type().is_integer() => field_id_name(id),
            _ => return Err(refused()),
        };
        let default = cast_value(default, &ty).map_err(|error| {
            Error::invalid_argument(format!("schema: the default_value of \"{name}\": {error}"))
        })?;
        if columns.iter().any(|known| known.name.eq_ignore_ascii_case(name)) {
            return Err(Error::invalid_argument(format!("schema has two columns \"{name}\"")));
        }
        columns.push(SchemaColumn { key, name: name.to_string(), ty, default });
    }
    if columns.is_empty() { Err(refused()) } else { Ok(columns) }
}

/// The columns that `column_statistics` says something of. It is a hint for optimizers that know nothing of files; what is
/// in these is found out.
fn described_of(value: &Value) -> Result<Vec<String>> {
    let is_map = |value: &Value| matches!(value, Value::Struct { .. } | Value::Map { .. } | Value::Null);
    let (names, values): (Vec<String>, Vec<&Value>) = match value {
        Value::Null => Default::default(),
        Value::Struct { fields, values } => {
            (fields.iter().map(|field| field.name.to_string()).collect(), values.iter().collect())
        }
        Value::Map { entries, .. } => entries.iter().map(|(name, value)| (name.to_string(), value)).unzip(),
        _ => (Vec::new(), vec![value]),
    };
    if values.into_iter().all(is_map) {
        return Ok(names);
    }
    Err(Error::invalid_argument(format!(
        "column_statistics is a map of columns to statistics, as in {{a: {{min: 1, max: 9, null_count: 0}}}}, not {value}"
    )))
}

/// What the folders of a file say: columns and their values, NULL among them.
type Partitions = Vec<(String, Option<String>)>;

/// Path, its source, its partitions.
type Opened = (String, Arc<dyn TableSource>, Partitions);

fn place_of(columns: &[SourceColumn], name: &str) -> Option<usize> {
    columns.iter().position(|column| column.name.to_lowercase() == name.to_lowercase())
}

/// Texts as documents that are these texts.
fn as_documents(texts: &Vector) -> Result<Vector> {
    let mut builder = VectorBuilder::new(LogicalType::Json, texts.len());
    for row in 0..texts.len() {
        let Value::Varchar(text) = texts.get(row) else {
            builder.push_null();
            continue;
        };
        let mut document = String::new();
        quote(&text, &mut document);
        builder.push(&Value::Json(document))?;
    }
    Ok(builder.finish())
}

/// Fails where a file has not the columns of the first one, in whatever order and of types that go together.
pub fn check_alike(first: (&str, &[SourceColumn]), other: (&str, &[SourceColumn])) -> Result<()> {
    let ((first_path, known), (path, columns)) = (first, other);
    let fault = |message: String, hint: &'static str| {
        let path = path.to_string();
        Err(Error::MalformedFile { path, line: None, message }.with_hint(hint))
    };
    for column in known {
        let name = &column.name;
        let Some(place) = place_of(columns, name) else {
            let message = format!("it has no column \"{name}\", as '{first_path}' has");
            return fault(message, "union_by_name = true makes it NULL here");
        };
        let ty = &columns[place].ty;
        if common_type(&column.ty, ty).is_none() {
            let message =
                format!("its column \"{name}\" is of type {ty}, that of '{first_path}' of {}", column.ty);
            return fault(message, "union_by_name = true makes both VARCHAR");
        }
    }
    match columns.iter().find(|column| place_of(known, &column.name).is_none()) {
        None => Ok(()),
        Some(surplus) => {
            let message = format!("it has a column \"{}\", which '{first_path}' has not", surplus.name);
            fault(message, "union_by_name = true reads it, too")
        }
    }
}

/// `key=value` of the folders of a path.
fn partitions_of(path: &str) -> Partitions {
    let Some((folders, _)) = path.rsplit_once(['/', '\\']) else { return Vec::new() };
    let pair = |folder: &str| {
        let (key, value) = folder.split_once('=')?;
        // As it stands: the text of the same letters has one of them escaped.
        Some((decoded(key), (value != NULL_PARTITION).then(|| decoded(value))))
    };
    folders.split(['/', '\\']).filter_map(pair).collect()
}

/// `%41` is `A`.
fn decoded(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len());
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let code = text.get(at + 1..at + 3).filter(|_| bytes[at] == b'%');
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(byte) => {
                out.push(byte);
                at += 3;
            }
            None => {
                out.push(bytes[at]);
                at += 1;
            }
        }
    }
    String::from_utf8(out).unwrap_or_else(|_| text.to_string())
}

/// The type that all values of a partition can be read as.
fn type_of<'a>(values: impl Iterator<Item = &'a str> + Clone) -> LogicalType {
    // A cast takes more: fractions that it rounds, times that it cuts off.
    let is_written_so = |value: &str, ty: &LogicalType| match ty {
        LogicalType::BigInt => {
            let digits = value.strip_prefix('-').unwrap_or(value);
            // Digits behind a zero are rather a name, as in CSV: `zip=01234`.
            let is_code = digits.len() > 1 && digits.starts_with('0');
            !digits.is_empty() && !is_code && digits.bytes().all(|byte| byte.is_ascii_digit())
        }
        LogicalType::Date => !value.contains(':'),
        LogicalType::Timestamp | LogicalType::TimestampTz => {
            let suffix = parse::timestamp_tz(value.as_bytes()).map(|(_, suffix)| suffix);
            matches!(suffix, Some(Suffix::None)) == (*ty == LogicalType::Timestamp)
        }
        _ => true,
    };
    let fits = |ty: &LogicalType| {
        values.clone().all(|value| {
            is_written_so(value, ty) && cast_value(&Value::Varchar(value.to_string()), ty).is_ok()
        })
    };
    let known = [LogicalType::BigInt, LogicalType::Date, LogicalType::Timestamp, LogicalType::TimestampTz];
    known.into_iter().find(|ty| fits(ty)).unwrap_or(LogicalType::Varchar)
}

/// Where a column of a file's rows comes from.
#[derive(Debug)]
enum Part {
    Read(usize),
    Constant(Value),
}

#[derive(Debug)]
struct OneFile {
    source: Arc<dyn TableSource>,
    parts: Vec<Part>,
    /// Whether texts beside documents of other files are documents that are these texts, rather than read as some.
    quotes: bool,
}

#[derive(Debug)]
struct FilesOneByOne {
    files: Arc<[OneFile]>,
    columns: Vec<SourceColumn>,
}

impl TableSource for FilesOneByOne {
    fn description(&self) -> String {
        let first = self.files.first().map_or_else(String::new, |file| file.source.description());
        match self.files.len() {
            0 | 1 => first,
            count => format!("{first} and {} more files", count - 1),
        }
    }

    fn columns(&self) -> &[SourceColumn] {
        &self.columns
    }

    fn row_count_estimate(&self) -> Option<u64> {
        self.files.iter().map(|file| file.source.row_count_estimate()).sum()
    }

    fn may_wait(&self) -> bool {
        self.files.iter().all(|file| file.source.may_wait())
    }

    fn scan(&self, request: ScanRequest) -> Result<Box<dyn SourceScan>> {
        let types = request.columns.iter().map(|&column| self.columns[column].ty.clone()).collect();
        Ok(Box::new(OneByOne {
            files: Arc::clone(&self.files),
            types,
            request,
            open: Mutex::new(Open { next: 0, scan: None }),
        }))
    }
}

struct OneByOne {
    files: Arc<[OneFile]>,
    /// Of the wanted columns.
    types: Arc<[LogicalType]>,
    request: ScanRequest,
    open: Mutex<Open>,
}

struct Open {
    next: usize,
    scan: Option<Box<dyn SourceScan>>,
}

impl OneByOne {
    /// Whether filters of its partitions leave a file in.
    fn is_wanted(&self, file: &OneFile) -> bool {
        self.request.filters.iter().all(|filter| match &file.parts[filter.column] {
            Part::Constant(value) => may_hold(&filter.predicate, value),
            Part::Read(_) => true,
        })
    }

    fn start(&self, file: &OneFile) -> Result<Box<dyn SourceScan>> {
        let read = |column: &usize| match file.parts[*column] {
            Part::Read(place) => Some(place),
            Part::Constant(_) => None,
        };
        // A filter is of the column's type in the whole; a file's own may be another.
        let filters = self.request.filters.iter().filter_map(|filter| {
            let place = read(&filter.column)?;
            let wanted = self.request.columns.iter().position(|column| *column == filter.column);
            let is_same = wanted.is_some_and(|wanted| self.types[wanted] == file.source.columns()[place].ty);
            is_same.then(|| SourceFilter { column: place, predicate: filter.predicate.clone() })
        });
        file.source.scan(ScanRequest {
            columns: self.request.columns.iter().filter_map(read).collect(),
            filters: filters.collect(),
            any_of: Vec::new(),
            budget: self.request.budget.clone(),
            interrupt: self.request.interrupt.clone(),
        })
    }
}

impl SourceScan for OneByOne {
    fn next_task(&self) -> Result<Option<SourceTask>> {
        let mut open = self.open.lock();
        loop {
            self.request.interrupt.check()?;
            if let Some(scan) = &open.scan {
                if let Some(task) = scan.next_task()? {
                    let (files, index) = (Arc::clone(&self.files), open.next - 1);
                    let (columns, types) = (self.request.columns.clone(), Arc::clone(&self.types));
                    let complete =
                        move |batch: Result<Batch>| completed(&batch?, &files[index], &columns, &types);
                    return Ok(Some(Box::new(task.map(complete))));
                }
                open.scan = None;
            }
            let Some(file) = self.files.get(open.next) else { return Ok(None) };
            open.next += 1;
            if self.is_wanted(file) {
                open.scan = Some(self.start(file)?);
            }
        }
    }
}

/// A batch of a file with all wanted columns, of their types.
fn completed(batch: &Batch, file: &OneFile, wanted: &[usize], types: &[LogicalType]) -> Result<Batch> {
    let mut read = 0;
    let mut columns = Vec::with_capacity(wanted.len());
    for (column, ty) in wanted.iter().zip(types) {
        columns.push(match &file.parts[*column] {
            Part::Constant(value) => Vector::constant(ty.clone(), value, batch.len())?,
            Part::Read(_) => {
                let own = batch.column(read);
                read += 1;
                if own.logical_type() == *ty {
                    own.clone()
                } else if own.null_count() == own.len() {
                    // Of a column that has no values, the type says nothing.
                    Vector::constant(ty.clone(), &Value::Null, batch.len())?
                } else if file.quotes
                    && (own.logical_type(), ty) == (LogicalType::Varchar, &LogicalType::Json)
                {
                    as_documents(own)?
                } else if can_cast(&own.logical_type(), ty) {
                    let mut converted = Vector::empty(ty.clone());
                    inlay_kernels::cast(own, ty, false, &mut converted)?;
                    converted
                } else {
                    // Parts that have no values, as the elements of empty lists.
                    stored::converted(own, ty)?
                }
            }
        });
    }
    Ok(Batch::new(columns, batch.len()))
}

/// Whether a value may satisfy a predicate.
fn may_hold(predicate: &SegmentPredicate, value: &Value) -> bool {
    use SegmentPredicate as P;
    let is_like = |other: &Value| other.logical_type() == value.logical_type();
    match predicate {
        P::IsNull => value.is_null(),
        P::IsNotNull => !value.is_null(),
        _ if value.is_null() => false,
        P::Compare(op, other) if is_like(other) => op.holds(value.total_cmp(other)),
        P::Between { low, high, .. } if is_like(low) && is_like(high) => {
            value.total_cmp(low).is_ge() && value.total_cmp(high).is_le()
        }
        P::In(values) if values.iter().all(|other| other.is_null() || is_like(other)) => {
            values.iter().any(|other| !other.is_null() && value.total_cmp(other).is_eq())
        }
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_have_partitions_and_texts_types() {
        let of = |key: &str, value: Option<&str>| (key.to_string(), value.map(str::to_string));
        assert_eq!(
            partitions_of("/data/year=2024/city=S%C3%A3o%20P/x=__HIVE_DEFAULT_PARTITION__/a=1.csv"),
            [of("year", Some("2024")), of("city", Some("São P")), of("x", None)]
        );
        assert_eq!(partitions_of("a=1.csv"), []);
        assert_eq!(type_of(["1", "22"].into_iter()), LogicalType::BigInt);
        assert_eq!(type_of(["01234", "501"].into_iter()), LogicalType::Varchar);
        assert_eq!(type_of(["0", "-10"].into_iter()), LogicalType::BigInt);
        assert_eq!(type_of(["2024-01-01"].into_iter()), LogicalType::Date);
        assert_eq!(type_of(["1", "x"].into_iter()), LogicalType::Varchar);
        assert_eq!(type_of(["1.5"].into_iter()), LogicalType::Varchar);
        assert_eq!(type_of(["2024-01-01 05:00:00"].into_iter()), LogicalType::Timestamp);
        assert_eq!(type_of(["2024-01-01 05:00:00+00"].into_iter()), LogicalType::TimestampTz);
        assert_eq!(partitions_of("x=%5F_HIVE_DEFAULT_PARTITION__/a"), [of("x", Some(NULL_PARTITION))]);
    }
}

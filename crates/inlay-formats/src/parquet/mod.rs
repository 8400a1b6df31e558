//! Parquet files as a table: `read_parquet('*.parquet')`.
//!
//! A morsel is a row group or a part of a large one, of which the wanted columns are read. Row groups that the footer's statistics or the Bloom
//! filters of columns rule out are not read, nor are pages by the page index. Of the others, the columns of the filters are
//! read first, and rows of the others are passed over where no row of a batch satisfies them.
//!
//! Most columns are decoded by [`decode`], nested ones and those of rare encodings by the parquet crate's arrow reader.
//! Text arrives as views into the decoded pages and is not copied; decimals of up to 18 digits arrive in 32 or 64 bits.

pub mod about;
pub(crate) mod bridge;
mod decode;
mod indexes;
pub(crate) mod intervals;
mod pages;
mod prune;
mod scan;
mod select;

use crate::files::{Files, First};
use crate::option_text::{boolean, columns_of as columns_of_option, integer, text, unknown_option};
use crate::per_file::{PerFile, ROW_NUMBER, check_alike, field_id_name};
use crate::quiet::caught;
use crate::ranges::{self, RangeSource};
use crate::remote::shown;
use crate::stored::{NOTE, Restored, noted, restores};
use arrow_schema::{DataType, Field, Schema, TimeUnit};
use inlay_catalog::{
    ClusterFiles, ScanRequest, SourceColumn, SourceFilter, SourceScan, TableFunction, TableSource, TypeNames,
};
use inlay_types::arrow::ArrowField;
use inlay_types::logical_type;
use inlay_types::{Error, LogicalType, Result, Value};
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use parquet::basic::Type as PhysicalType;
use parquet::schema::types::{SchemaDescriptor, Type};
use prune::Bounds;
use std::fmt;
use std::sync::Arc;

/// `read_parquet`, under one of its names.
#[derive(Debug)]
pub struct ReadParquet {
    name: &'static str,
    access: Arc<Files>,
}

impl ReadParquet {
    /// The reader of files that `access` allows.
    pub fn new(name: &'static str, access: &Arc<Files>) -> Self {
        Self { name, access: Arc::clone(access) }
    }
}

impl TableFunction for ReadParquet {
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
        let options =
            Options { by_field_id: per_file.wants_field_ids(), ..Options::read(self.name, &named, types)? };
        let files = per_file.files(self.name, args, &self.access)?;
        let source = per_file.open(files, &|paths: &[String]| {
            let files = paths.iter().map(|path| ParquetFile::open(&self.access, path.clone(), &options));
            source_of(files.collect::<Result<_>>()?, &options, types)
        })?;
        Ok(settled(source))
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

/// What is asked for of Parquet files.
#[derive(Clone, Debug, Default)]
struct Options {
    /// Bytes of which the file does not say what they are become text.
    binary_as_string: bool,
    /// A last column with the number of each row in its file, from 0.
    file_row_number: bool,
    /// Columns are called by [`field_id_name`] of the numbers that the file has for them.
    by_field_id: bool,
    /// INT96 becomes TIMESTAMP_NS, not TIMESTAMP.
    int96_as_nanoseconds: bool,
    /// The types of the columns that rows are going to be put into.
    targets: Vec<LogicalType>,
    /// Intervals are left as the file has them.
    as_written: bool,
    /// What the optimizer is to take for the number of rows.
    explicit_cardinality: Option<u64>,
}

const PARAMETERS: [&str; 11] = [
    "binary_as_string",
    "file_row_number",
    "explicit_cardinality",
    "int96_as",
    "schema",
    "column_statistics",
    "filename",
    "union_by_name",
    "hive_partitioning",
    "hive_types",
    "allow_empty",
];

impl Options {
    fn read(function: &str, named: &[(String, Value)], types: &TypeNames<'_>) -> Result<Self> {
        let mut options = Self::default();
        for (name, value) in named {
            match name.to_ascii_lowercase().as_str() {
                "columns" => {
                    options.targets =
                        columns_of_option(name, value, types)?.into_iter().map(|(_, ty)| ty).collect();
                }
                "binary_as_string" => options.binary_as_string = boolean(name, value)?,
                "file_row_number" => options.file_row_number = boolean(name, value)?,
                "explicit_cardinality" => {
                    let rows = u64::try_from(integer(name, value)?).ok().filter(|&rows| rows > 0);
                    let refused = || Error::invalid_argument("explicit_cardinality must be positive");
                    options.explicit_cardinality = Some(rows.ok_or_else(refused)?);
                }
                "int96_as" => {
                    options.int96_as_nanoseconds = match text(name, value)?.to_ascii_lowercase().as_str() {
                        "timestamp" => false,
                        "timestamp_ns" => true,
                        other => {
                            let message = format!("int96_as is timestamp or timestamp_ns, not '{other}'");
                            return Err(Error::invalid_argument(message));
                        }
                    }
                }
                // What the file says is found out; accepted because scripts pass it.
                "can_have_nan" | "debug_use_openssl" => {
                    boolean(name, value)?;
                }
                "format" | "compression" | "parquet_version" | "prefetch_strategy" => {}
                "utf8_validation" if value.as_str().is_some_and(|way| way.eq_ignore_ascii_case("strict")) => {
                }
                "utf8_validation" => {
                    let feature = format!("utf8_validation = '{value}'");
                    let alternative = Some("read the column as BLOB".to_string());
                    return Err(Error::Unsupported { feature, alternative });
                }
                "encryption_config" => {
                    return Err(Error::Unsupported {
                        feature: "reading encrypted Parquet files".to_string(),
                        alternative: Some("decrypt them with the program that wrote them".to_string()),
                    });
                }
                other => return Err(unknown_option(function, other, &PARAMETERS)),
            }
        }
        Ok(options)
    }
}

/// Parquet files of one schema.
pub struct ParquetSource {
    files: Arc<[ParquetFile]>,
    columns: Arc<[SourceColumn]>,
    row_count: u64,
    /// Read without options that other readers do not know.
    is_plain: bool,
}

struct ParquetFile {
    path: String,
    bytes: Arc<dyn RangeSource>,
    metadata: ArrowReaderMetadata,
    /// Columns as the file's schema says them, with intervals, which are read as bytes. A type that no value has is NULL.
    declared: Vec<SourceColumn>,
}

impl fmt::Debug for ParquetSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ParquetSource({}, {} rows)", self.description(), self.row_count)
    }
}

fn malformed(path: &str, message: impl fmt::Display) -> Error {
    Error::MalformedFile { path: path.to_string(), line: None, message: message.to_string() }
}

fn encrypted(path: &str) -> Error {
    Error::Unsupported {
        feature: format!("the encrypted Parquet file '{path}'"),
        alternative: Some("decrypt it with the program that wrote it".to_string()),
    }
}

/// Runs a call into the parquet crate, which may panic on damaged files.
fn guarded<T>(path: &str, call: impl FnOnce() -> Result<T>) -> Result<T> {
    ranges::telling(|| {
        caught(call).unwrap_or_else(|_| {
            Err(malformed(path, "the file is damaged: reading it failed an internal check"))
        })
    })
}

impl ParquetFile {
    fn open(access: &Arc<Files>, path: String, wanted: &Options) -> Result<Self> {
        let bytes = access.ranges(&path, First::End)?;
        let tail = bytes.size().checked_sub(4).and_then(|start| bytes.read(start, 4).ok());
        if tail.is_some_and(|tail| &tail[..] == b"PARE") {
            return Err(encrypted(&path));
        }
        let options = || ArrowReaderOptions::new().with_skip_arrow_metadata(true);
        let metadata = guarded(&path, || {
            let found = ArrowReaderMetadata::load(&pages::Chunk::file(&bytes), options())
                .map_err(|e| malformed(&path, e))?;
            if wanted.as_written || !intervals::has_intervals(found.parquet_schema()) {
                return with_our_schema(&path, &found, wanted).map(|metadata| (metadata, None));
            }
            let declared = Arc::new(our_schema(found.schema(), found.parquet_schema(), wanted));
            let bytes = intervals::as_bytes(found.metadata()).map_err(|e| malformed(&path, e))?;
            let found =
                ArrowReaderMetadata::try_new(Arc::new(bytes), options()).map_err(|e| malformed(&path, e))?;
            with_our_schema(&path, &found, wanted).map(|metadata| (metadata, Some(declared)))
        })?;
        let (metadata, declared) = metadata;
        let declared = bridge::field_of(declared.as_deref().unwrap_or(metadata.schema()))?;
        let column = |(field, arrow): (&ArrowField, &Arc<Field>)| -> Result<SourceColumn> {
            let ty = with_nulls(&field.logical_type()?, arrow.data_type());
            Ok(SourceColumn { name: field.name.clone(), ty })
        };
        let declared = declared.children.iter().zip(metadata.schema().fields()).map(column);
        let declared = declared.collect::<Result<Vec<_>>>()?;
        Ok(Self { path, bytes, metadata, declared })
    }
}

impl ParquetFile {
    /// Where row groups have a column that has no parts.
    fn leaf_of(&self, column: usize) -> Option<usize> {
        let schema = self.metadata.parquet_schema();
        let is_it = |leaf: &usize| schema.get_column_root_idx(*leaf) == column;
        let leaf = (0..schema.num_columns()).find(is_it)?;
        (schema.column(leaf).path().parts().len() == 1).then_some(leaf)
    }
}

impl ParquetFile {
    /// Whether values of a time lie in the file as they do in vectors.
    fn is_as_stored(&self, column: usize) -> bool {
        let schema = self.metadata.schema();
        matches!(
            schema.fields().get(column).map(|field| field.data_type()),
            Some(
                DataType::Timestamp(_, None)
                    | DataType::Timestamp(TimeUnit::Microsecond, Some(_))
                    | DataType::Time64(TimeUnit::Microsecond)
            )
        )
    }
}

fn with_our_schema(path: &str, found: &ArrowReaderMetadata, wanted: &Options) -> Result<ArrowReaderMetadata> {
    let schema = Arc::new(our_schema(found.schema(), found.parquet_schema(), wanted));
    let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true).with_schema(schema);
    ArrowReaderMetadata::try_new(Arc::clone(found.metadata()), options).map_err(|e| malformed(path, e))
}

/// A type in which parts that have no values but NULL are of the type NULL.
fn with_nulls(ty: &LogicalType, arrow: &DataType) -> LogicalType {
    match (ty, arrow) {
        (_, DataType::Null) => LogicalType::Null,
        (LogicalType::List(element), DataType::List(field) | DataType::LargeList(field)) => {
            LogicalType::list(with_nulls(element, field.data_type()))
        }
        (LogicalType::Struct(fields), DataType::Struct(arrow)) => {
            let field = |(field, arrow): (&logical_type::Field, &Arc<Field>)| {
                logical_type::Field::new(Arc::clone(&field.name), with_nulls(&field.ty, arrow.data_type()))
            };
            LogicalType::Struct(fields.iter().zip(arrow).map(field).collect())
        }
        (ty, _) => ty.clone(),
    }
}

/// A type whose parts that nothing is known of are INTEGER.
fn without_nulls(ty: &LogicalType) -> LogicalType {
    match ty {
        LogicalType::Null => LogicalType::Integer,
        LogicalType::List(element) => LogicalType::list(without_nulls(element)),
        LogicalType::Struct(fields) => {
            let field = |field: &logical_type::Field| {
                logical_type::Field::new(Arc::clone(&field.name), without_nulls(&field.ty))
            };
            LogicalType::Struct(fields.iter().map(field).collect())
        }
        other => other.clone(),
    }
}

/// A source whose columns have types.
fn settled(source: Arc<dyn TableSource>) -> Arc<dyn TableSource> {
    let column =
        |column: &SourceColumn| SourceColumn { name: column.name.clone(), ty: without_nulls(&column.ty) };
    let columns = source.columns().iter().map(column).collect();
    Restored::around(source, columns)
}

/// Files as one source, whose columns are what was written, not what that is stored as. Where the same columns are of types that
/// go together, files are read one by one.
fn source_of(
    files: Vec<ParquetFile>,
    options: &Options,
    types: &TypeNames<'_>,
) -> Result<Arc<dyn TableSource>> {
    let restored = |file: &ParquetFile| -> Result<Vec<SourceColumn>> {
        let mut columns = columns_of(file, options)?;
        for (column, declared) in columns.iter_mut().zip(&file.declared) {
            column.ty = declared.ty.clone();
        }
        let pairs = file.metadata.metadata().file_metadata().key_value_metadata();
        let note = pairs.and_then(|pairs| pairs.iter().find(|pair| pair.key == NOTE));
        if let Some(note) = note.and_then(|note| note.value.as_ref()) {
            noted(note, &mut columns, types);
        }
        if options.targets.len() == columns.len() {
            for (column, target) in columns.iter_mut().zip(&options.targets) {
                let has_union = target.has_part(&|part| matches!(part, LogicalType::Union(_)));
                if has_union && restores(&column.ty, target) {
                    column.ty = target.clone();
                }
            }
        }
        Ok(columns)
    };
    let columns = files.iter().map(restored).collect::<Result<Vec<_>>>()?;
    let Some(first) = columns.first() else {
        return Err(Error::invalid_argument("read_parquet needs the path of a file"));
    };
    if columns.iter().all(|other| other == first) {
        let mut columns = first.clone();
        let source = ParquetSource::new(files, options)?;
        columns.extend(source.columns().iter().skip(columns.len()).cloned());
        return Ok(Restored::around(Arc::new(source), columns));
    }
    for (file, other) in files.iter().zip(&columns) {
        check_alike((&files[0].path, first), (&file.path, other))?;
    }
    let mut opened = Vec::with_capacity(files.len());
    for (file, mut columns) in files.into_iter().zip(columns) {
        let path = file.path.clone();
        let source = ParquetSource::new(vec![file], options)?;
        columns.extend(source.columns().iter().skip(columns.len()).cloned());
        opened.push((path, Restored::around(Arc::new(source), columns)));
    }
    PerFile::joined(opened)
}

/// The schema that columns are to be read as: text as views, decimals as narrow as ours.
fn our_schema(schema: &Schema, file: &SchemaDescriptor, options: &Options) -> Schema {
    let field = |(index, field): (usize, &Arc<Field>)| {
        let stored = file.root_schema().get_fields().get(index).filter(|stored| stored.is_primitive());
        let (width, is_int96) = stored.map_or((0, false), |stored| match stored.as_ref() {
            Type::PrimitiveType { type_length, physical_type, .. } => {
                (*type_length, *physical_type == PhysicalType::INT96)
            }
            Type::GroupType { .. } => (0, false),
        });
        let ty = match field.data_type() {
            DataType::Utf8 | DataType::LargeUtf8 => DataType::Utf8View,
            // Nanoseconds reach from 1677 to 2262 only.
            DataType::Timestamp(_, zone) if is_int96 && !options.int96_as_nanoseconds => {
                DataType::Timestamp(TimeUnit::Microsecond, zone.clone())
            }
            DataType::Binary | DataType::LargeBinary if options.binary_as_string => DataType::Utf8View,
            DataType::Binary | DataType::LargeBinary => DataType::BinaryView,
            // Some writers give all decimals as many bytes as the longest have.
            DataType::Decimal128(precision @ 1..=9, scale) if width <= 4 => {
                DataType::Decimal32(*precision, *scale)
            }
            DataType::Decimal128(precision @ 1..=18, scale) if width <= 8 => {
                DataType::Decimal64(*precision, *scale)
            }
            _ => return Arc::clone(field),
        };
        Arc::new(field.as_ref().clone().with_data_type(ty))
    };
    Schema::new_with_metadata(
        schema.fields().iter().enumerate().map(field).collect::<Vec<_>>(),
        schema.metadata().clone(),
    )
}

impl ParquetSource {
    /// Files whose columns are alike.
    fn new(files: Vec<ParquetFile>, options: &Options) -> Result<Self> {
        let Some(first) = files.first() else {
            return Err(Error::invalid_argument("read_parquet needs the path of a file"));
        };
        for file in &files {
            if file.metadata.metadata().row_groups().iter().any(|group| group.num_rows() < 0) {
                return Err(malformed(&file.path, "a row group says that it has fewer than no rows"));
            }
        }
        let mut columns = columns_of(first, options)?;
        let rows = |file: &ParquetFile| {
            u64::try_from(file.metadata.metadata().file_metadata().num_rows()).unwrap_or(0)
        };
        let row_count = options.explicit_cardinality.unwrap_or_else(|| files.iter().map(rows).sum());
        if options.file_row_number {
            columns.push(SourceColumn { name: ROW_NUMBER.to_string(), ty: LogicalType::BigInt });
        }
        let is_plain = !(options.file_row_number
            || options.by_field_id
            || options.int96_as_nanoseconds
            || options.binary_as_string);
        Ok(Self { files: Arc::from(files), columns: columns.into(), row_count, is_plain })
    }

    /// The row groups that filters leave, as file and number.
    fn row_groups(&self, filters: &[SourceFilter]) -> Vec<(usize, usize)> {
        let mut left = Vec::new();
        for (index, file) in self.files.iter().enumerate() {
            for (number, group) in file.metadata.metadata().row_groups().iter().enumerate() {
                let rows = u64::try_from(group.num_rows()).unwrap_or(0);
                let may_match = filters.iter().all(|filter| {
                    let leaf = file.leaf_of(filter.column).and_then(|leaf| group.columns().get(leaf));
                    let statistics = leaf.and_then(|chunk| chunk.statistics());
                    let ty = self.columns[filter.column].ty.clone();
                    let is_as_stored = file.is_as_stored(filter.column);
                    statistics
                        .is_none_or(|s| Bounds::of(s, ty, is_as_stored, rows).may_match(&filter.predicate))
                });
                if may_match && rows > 0 {
                    left.push((index, number));
                }
            }
        }
        left
    }
}

fn columns_of(file: &ParquetFile, options: &Options) -> Result<Vec<SourceColumn>> {
    let field = bridge::field_of(file.metadata.schema())?;
    let stored = file.metadata.parquet_schema().root_schema().get_fields();
    let name_of = |index: usize, field: &ArrowField| {
        let info = stored.get(index).map(|stored| stored.get_basic_info()).filter(|info| info.has_id());
        match info {
            Some(info) if options.by_field_id => field_id_name(i128::from(info.id())),
            _ => field.name.clone(),
        }
    };
    let column = |(index, field): (usize, &ArrowField)| {
        Ok(SourceColumn { name: name_of(index, field), ty: field.logical_type()? })
    };
    field.children.iter().enumerate().map(column).collect()
}

impl TableSource for ParquetSource {
    fn description(&self) -> String {
        let shown: Vec<String> = self.files.iter().take(3).map(|f| format!("'{}'", shown(&f.path))).collect();
        let more = if self.files.len() > 3 { ", ..." } else { "" };
        format!("read_parquet({}{more})", shown.join(", "))
    }

    fn columns(&self) -> &[SourceColumn] {
        &self.columns
    }

    fn row_count_estimate(&self) -> Option<u64> {
        Some(self.row_count)
    }

    fn may_wait(&self) -> bool {
        self.files.iter().all(|file| file.bytes.may_wait())
    }

    fn cluster_files(&self) -> Option<ClusterFiles> {
        // A path that is not shown as it is has a secret in it.
        let is_plain = self.is_plain && self.files.iter().all(|file| shown(&file.path) == *file.path);
        let paths = self.files.iter().map(|file| file.path.clone()).collect();
        is_plain.then_some(ClusterFiles { format: "parquet", paths, options: Vec::new() })
    }

    fn known_row_count(&self) -> Option<u64> {
        let groups = self.files.iter().flat_map(|file| file.metadata.metadata().row_groups());
        groups.map(|group| u64::try_from(group.num_rows()).ok()).sum()
    }

    fn known_extreme(&self, column: usize, greatest: bool) -> Option<Value> {
        let ty = &self.columns.get(column)?.ty;
        let mut found = Value::Null;
        for file in self.files.iter() {
            let leaf = file.leaf_of(column)?;
            for group in file.metadata.metadata().row_groups() {
                let rows = u64::try_from(group.num_rows()).ok()?;
                if rows == 0 {
                    continue;
                }
                let statistics = group.columns().get(leaf)?.statistics()?;
                let bounds = Bounds::of(statistics, ty.clone(), file.is_as_stored(column), rows);
                let value = bounds.extreme(statistics, greatest)?;
                let is_better = match found.total_cmp(&value) {
                    _ if value.is_null() => false,
                    _ if found.is_null() => true,
                    order => {
                        if greatest {
                            order.is_lt()
                        } else {
                            order.is_gt()
                        }
                    }
                };
                if is_better {
                    found = value;
                }
            }
        }
        Some(found)
    }

    fn scan(&self, request: ScanRequest) -> Result<Box<dyn SourceScan>> {
        let row_groups = self.row_groups(&request.filters);
        Ok(Box::new(scan::ParquetScan::new(&self.files, &self.columns, row_groups, request)))
    }
}

#[cfg(test)]
mod tests;

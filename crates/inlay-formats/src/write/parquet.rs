//! Parquet files from batches.
//!
//! UUID and JSON columns are written with their logical types, and statistics with every page and row group; Bloom filters
//! are asked for.

use super::{Destination, FileWriter, Target, made};
use crate::Parallel;
use crate::option_text::{boolean, integer, size_of_text, text, unknown_option};
use crate::parquet::bridge;
use crate::parquet::intervals::with_intervals;
use crate::stored::{INTERVAL_SIZE, NOTE, interval_bytes};
use arrow_array::builder::FixedSizeBinaryBuilder;
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::extension::{Json, Uuid};
use arrow_schema::{DataType, Field, Fields, Schema};
use inlay_types::arrow::Exporter;
use inlay_types::size_limit::OutputFile;
use inlay_types::{Batch, Error, LogicalType, Result, Value, Vector};
use parking_lot::Mutex;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::arrow::arrow_writer::{
    ArrowColumnChunk, ArrowColumnWriter, ArrowRowGroupWriterFactory, compute_leaves,
};
use parquet::arrow::{
    ARROW_SCHEMA_META_KEY, ArrowSchemaConverter, ArrowWriter, PARQUET_FIELD_ID_META_KEY, encode_arrow_schema,
};
use parquet::basic::{Compression, GzipLevel, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{WriterProperties, WriterPropertiesBuilder, WriterVersion};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{ColumnPath, SchemaDescriptor};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// Rows of a row group unless `row_group_size` says otherwise; DuckDB's number.
const ROW_GROUP_SIZE: usize = 122_880;
/// Rows that a row group of a limited size takes before the size of its rows is known.
const ROWS_UNSEEN: usize = 2048;
/// How often a Bloom filter says that a value may be there which is not.
const FALSE_POSITIVES: f64 = 0.01;

const OPTIONS: [&str; 11] = [
    "compression",
    "compression_level",
    "row_group_size",
    "row_group_size_bytes",
    "write_bloom_filter",
    "bloom_filter_false_positive_ratio",
    "dictionary_size_limit",
    "string_dictionary_page_size_limit",
    "parquet_version",
    "kv_metadata",
    "field_ids",
];

/// Columns whose values hardly repeat have no dictionary: so many rows per value, at least, or as many values as
/// `dictionary_size_limit` says. Judged by at most so many rows of the first that are written.
const ROWS_PER_VALUE: usize = 3;
const JUDGED_ROWS: usize = 1 << 15;

pub(super) struct ParquetWriter {
    target: Target,
    exporter: Exporter,
    schema: Arc<Schema>,
    /// Positions of columns of intervals.
    intervals: Vec<usize>,
    /// The file before the first row.
    fresh: Option<(OutputFile, Properties)>,
    open: Option<OpenFile>,
    rows: u64,
}

/// What options say.
struct Properties {
    builder: WriterPropertiesBuilder,
    /// Most values of a dictionary.
    dictionary_limit: Option<usize>,
}

/// The file once its first rows are known.
struct OpenFile {
    schema: Arc<Schema>,
    writer: SerializedFileWriter<OutputFile>,
    columns: ArrowRowGroupWriterFactory,
    group: OpenGroup,
}

/// The row group that is being written.
#[derive(Default)]
struct OpenGroup {
    /// By field of the schema: the writers of its leaves. Empty before the first row.
    fields: Vec<Mutex<Vec<ArrowColumnWriter>>>,
    rows: usize,
}

/// `pairs` are what the file says of itself.
fn properties(options: &[(String, Value)], mut pairs: Vec<KeyValue>) -> Result<Properties> {
    let mut builder = WriterProperties::builder().set_created_by("inlay".to_string());
    let (mut codec, mut level) = ("snappy".to_string(), None);
    let (mut rows, mut bytes) = (ROW_GROUP_SIZE, None);
    let (mut filters, mut false_positives) = (false, FALSE_POSITIVES);
    let mut dictionary_limit = None;
    for (name, value) in options {
        let positive = || {
            let number = usize::try_from(integer(name, value)?).ok().filter(|&number| number > 0);
            number.ok_or_else(|| Error::invalid_argument(format!("{name} must be positive")))
        };
        match name.as_str() {
            "compression" | "codec" => codec = text(name, value)?.to_ascii_lowercase(),
            "compression_level" => level = Some(integer(name, value)?),
            "row_group_size" | "chunk_size" => rows = positive()?,
            "row_group_size_bytes" => bytes = Some(size_of_text(name, value)?),
            "write_bloom_filter" => filters = boolean(name, value)?,
            "bloom_filter_false_positive_ratio" => {
                filters = true;
                let ratio = value.as_f64().filter(|ratio| *ratio > 0.0 && *ratio < 1.0);
                false_positives = ratio.ok_or_else(|| {
                    Error::invalid_argument(format!("{name} is a number between 0 and 1, not {value}"))
                })?;
            }
            "dictionary_size_limit" => {
                dictionary_limit = Some(usize::try_from(integer(name, value)?).unwrap_or(0));
            }
            "string_dictionary_page_size_limit" => {
                builder = builder.set_dictionary_page_size_limit(positive()?);
            }
            "parquet_version" => {
                builder =
                    builder.set_writer_version(match text(name, value)?.to_ascii_lowercase().as_str() {
                        "v1" => WriterVersion::PARQUET_1_0,
                        "v2" => WriterVersion::PARQUET_2_0,
                        other => {
                            let message = format!("parquet_version is V1 or V2, not '{other}'");
                            return Err(Error::invalid_argument(message));
                        }
                    });
            }
            // Is part of the schema.
            "field_ids" => {}
            "kv_metadata" => pairs.extend(pairs_of(name, value)?),
            other => return Err(unknown_option("COPY TO a Parquet file", other, &OPTIONS)),
        }
    }
    builder = builder
        .set_key_value_metadata((!pairs.is_empty()).then_some(pairs))
        .set_compression(compression(&codec, level)?)
        .set_max_row_group_row_count(Some(rows))
        .set_max_row_group_bytes(bytes);
    let builder = if filters { with_filters(builder, rows, false_positives) } else { builder };
    Ok(Properties { builder, dictionary_limit })
}

/// Bloom filters for all columns; those of few values shrink when they are written.
fn with_filters(builder: WriterPropertiesBuilder, rows: usize, ratio: f64) -> WriterPropertiesBuilder {
    builder.set_bloom_filter_fpp(ratio).set_bloom_filter_max_ndv(rows as u64)
}

fn compression(codec: &str, level: Option<i64>) -> Result<Compression> {
    let refused = |range: &str| {
        Error::invalid_argument(format!(
            "compression_level {} is outside of {range} of {codec}",
            level.unwrap_or_default()
        ))
    };
    Ok(match (codec, level) {
        ("zstd", None) => Compression::ZSTD(ZstdLevel::default()),
        ("zstd", Some(given)) => {
            let known = i32::try_from(given).ok().and_then(|given| ZstdLevel::try_new(given).ok());
            Compression::ZSTD(known.ok_or_else(|| refused("the levels 1 to 22"))?)
        }
        ("gzip", None) => Compression::GZIP(GzipLevel::default()),
        ("gzip", Some(given)) => {
            let known = u32::try_from(given).ok().and_then(|given| GzipLevel::try_new(given).ok());
            Compression::GZIP(known.ok_or_else(|| refused("the levels 0 to 9"))?)
        }
        ("snappy" | "lz4" | "lz4_raw" | "uncompressed" | "none", Some(_)) => {
            let message = format!("compression_level is for zstd and gzip, not {codec}");
            return Err(Error::invalid_argument(message));
        }
        ("snappy", None) => Compression::SNAPPY,
        ("lz4" | "lz4_raw", None) => Compression::LZ4_RAW,
        ("uncompressed" | "none", None) => Compression::UNCOMPRESSED,
        (other, _) => {
            return Err(Error::invalid_argument(format!("compression \"{other}\" is not known"))
                .with_hint("use snappy, zstd, gzip, lz4 or uncompressed"));
        }
    })
}

/// Keys and values of a struct or map.
fn pairs_of(name: &str, value: &Value) -> Result<Vec<KeyValue>> {
    let pair = |key: String, value: &Value| match value {
        Value::Blob(bytes) => KeyValue::new(key, String::from_utf8_lossy(bytes).into_owned()),
        other => KeyValue::new(key, other.to_string()),
    };
    match value {
        Value::Struct { fields, values } => {
            Ok(fields.iter().zip(values).map(|(field, value)| pair(field.name.to_string(), value)).collect())
        }
        Value::Map { entries, .. } => {
            Ok(entries.iter().map(|(key, value)| pair(key.to_string(), value)).collect())
        }
        other => Err(Error::invalid_argument(format!(
            "{name} takes keys and values, as in {{author: 'Ann'}}, not {other}"
        ))),
    }
}

/// The schema with the logical types that Arrow has as extensions.
fn extended(schema: &Schema, types: &[LogicalType]) -> Schema {
    let field = |(field, ty): (&Arc<Field>, &LogicalType)| match ty {
        LogicalType::Uuid => {
            Arc::new(Field::new(field.name(), DataType::FixedSizeBinary(16), true).with_extension_type(Uuid))
        }
        LogicalType::Interval => {
            let ty = DataType::FixedSizeBinary(INTERVAL_SIZE as i32);
            Arc::new(field.as_ref().clone().with_data_type(ty))
        }
        LogicalType::Json => Arc::new(field.as_ref().clone().with_extension_type(Json::default())),
        _ => Arc::clone(field),
    };
    Schema::new(schema.fields().iter().zip(types).map(field).collect::<Vec<_>>())
}

/// The schema that readers are told, in which texts and bytes are no views: few functions of other libraries take those.
fn told(schema: &Schema) -> Schema {
    let fields: Fields = schema.fields().iter().map(told_field).collect();
    Schema::new_with_metadata(fields, schema.metadata().clone())
}

fn told_field(field: &Arc<Field>) -> Arc<Field> {
    Arc::new(field.as_ref().clone().with_data_type(told_type(field.data_type())))
}

fn told_type(ty: &DataType) -> DataType {
    match ty {
        DataType::Utf8View => DataType::Utf8,
        DataType::BinaryView => DataType::Binary,
        DataType::List(element) => DataType::List(told_field(element)),
        DataType::FixedSizeList(element, size) => DataType::FixedSizeList(told_field(element), *size),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(told_field).collect()),
        DataType::Map(entries, sorted) => DataType::Map(told_field(entries), *sorted),
        DataType::Dictionary(codes, words) => DataType::Dictionary(codes.clone(), Box::new(told_type(words))),
        other => other.clone(),
    }
}

/// The schema with the numbers that the option `field_ids` gives to columns: `{a: 1, b: 2}`, or 'auto' for 0, 1, ...
fn numbered(schema: &Schema, option: &Value) -> Result<Schema> {
    let refused = || {
        Error::invalid_argument(format!(
            "field_ids is 'auto', or numbers of columns, as in {{a: 1, b: 2}}, not {option}"
        ))
    };
    let pairs: Vec<(String, Option<i32>)> = match option {
        Value::Varchar(text) if text.eq_ignore_ascii_case("auto") => {
            let names = schema.fields().iter().map(|field| field.name().clone());
            names.zip((0..).map(Some)).collect()
        }
        Value::Struct { fields, values } => {
            let number = |value: &Value| value.as_i128().and_then(|id| i32::try_from(id).ok());
            fields.iter().zip(values).map(|(field, id)| (field.name.to_string(), number(id))).collect()
        }
        _ => return Err(refused()),
    };
    let mut fields: Vec<Arc<Field>> = schema.fields().iter().cloned().collect();
    for (name, id) in pairs {
        let id = id.ok_or_else(refused)?;
        let Some(field) = fields.iter_mut().find(|field| field.name().eq_ignore_ascii_case(&name)) else {
            return Err(Error::invalid_argument(format!("field_ids: there is no column \"{name}\"")));
        };
        let mut metadata = field.metadata().clone();
        metadata.insert(PARQUET_FIELD_ID_META_KEY.to_string(), id.to_string());
        *field = Arc::new(field.as_ref().clone().with_metadata(metadata));
    }
    Ok(Schema::new_with_metadata(fields, schema.metadata().clone()))
}

/// The 16 bytes of each UUID.
fn uuids(vector: &Vector) -> Result<ArrayRef> {
    let mut builder = FixedSizeBinaryBuilder::with_capacity(vector.len(), 16);
    for row in 0..vector.len() {
        match vector.get(row) {
            Value::Uuid(uuid) => builder
                .append_value(uuid.to_be_bytes())
                .map_err(|e| Error::internal(format!("a UUID of other than 16 bytes: {e}")))?,
            _ => builder.append_null(),
        }
    }
    Ok(Arc::new(builder.finish()))
}

/// The 12 bytes of each interval.
fn intervals_of(vector: &Vector, name: &str) -> Result<ArrayRef> {
    let mut builder = FixedSizeBinaryBuilder::with_capacity(vector.len(), INTERVAL_SIZE as i32);
    for row in 0..vector.len() {
        let interval = match vector.get(row) {
            Value::Interval(interval) => interval,
            Value::Null => {
                builder.append_null();
                continue;
            }
            other => return Err(Error::internal(format!("{other} in a column of INTERVAL"))),
        };
        let bytes = interval_bytes(interval).ok_or_else(|| {
            Error::invalid_argument(format!(
                "column \"{name}\": a Parquet file does not hold the INTERVAL {}, \
                 only such as are not negative and end at a millisecond",
                Value::Interval(interval)
            ))
            .with_hint("cast it to VARCHAR")
        })?;
        let appended = builder.append_value(bytes);
        appended.map_err(|e| Error::internal(format!("an interval of other than 12 bytes: {e}")))?;
    }
    Ok(Arc::new(builder.finish()))
}

/// The schema of the file, in which some columns are intervals.
fn stored_schema(
    schema: &Schema,
    intervals: &[usize],
) -> std::result::Result<SchemaDescriptor, ParquetError> {
    let stored = ArrowSchemaConverter::new().convert(schema)?;
    if intervals.is_empty() {
        return Ok(stored);
    }
    Ok(SchemaDescriptor::new(with_intervals(stored.root_schema(), intervals)?))
}

impl ParquetWriter {
    /// `note` is what the file says of its columns' types.
    pub(super) fn open(
        to: &Destination<'_>,
        options: &[(String, Value)],
        note: Option<String>,
    ) -> Result<Self> {
        let has_interval = |ty: &LogicalType| ty.has_part(&|part| *part == LogicalType::Interval);
        let mut types = to.types.iter();
        if let Some(index) = types.position(|ty| ty.is_nested() && has_interval(ty)) {
            return Err(Error::Unsupported {
                feature: format!(
                    "column \"{}\" of type {} in a Parquet file",
                    to.names[index], to.types[index]
                ),
                alternative: Some("cast it to VARCHAR".to_string()),
            });
        }
        let exporter = Exporter::new(to.names, to.types);
        let mut schema = extended(&bridge::schema_of(exporter.schema())?, to.types);
        if let Some((_, ids)) = options.iter().find(|(name, _)| name == "field_ids") {
            schema = numbered(&schema, ids)?;
        }
        let pairs = [
            note.map(|note| KeyValue::new(NOTE.to_string(), note)),
            Some(KeyValue::new(ARROW_SCHEMA_META_KEY.to_string(), encode_arrow_schema(&told(&schema)))),
        ];
        let properties = properties(options, pairs.into_iter().flatten().collect())?;
        let schema = Arc::new(schema);
        let (target, file) = Target::create(to)?;
        let is_interval =
            |(index, ty): (usize, &LogicalType)| (*ty == LogicalType::Interval).then_some(index);
        let intervals = to.types.iter().enumerate().filter_map(is_interval).collect();
        Ok(Self { target, exporter, schema, intervals, fresh: Some((file, properties)), open: None, rows: 0 })
    }

    /// Begins the file as suits its first rows, unless that is done.
    fn begin(&mut self, first: &[Batch]) -> Result<()> {
        if let Some((file, Properties { mut builder, dictionary_limit })) = self.fresh.take() {
            for (index, field) in self.schema.fields().iter().enumerate() {
                if !has_dictionary(first, index, dictionary_limit) {
                    let path = ColumnPath::new(vec![field.name().clone()]);
                    builder = builder.set_column_dictionary_enabled(path, false);
                }
            }
            if dictionary_limit == Some(0) {
                builder = builder.set_dictionary_enabled(false);
            }
            let writer = stored_schema(&self.schema, &self.intervals).and_then(|stored| {
                let options = ArrowWriterOptions::new()
                    .with_properties(builder.build())
                    .with_parquet_schema(stored)
                    .with_skip_arrow_metadata(true);
                ArrowWriter::try_new_with_options(file, Arc::clone(&self.schema), options)
            });
            let parts = writer.and_then(ArrowWriter::into_serialized_writer);
            let (writer, columns) = parts.map_err(|e| self.target.failure(&e))?;
            let schema = Arc::clone(&self.schema);
            self.open = Some(OpenFile { schema, writer, columns, group: OpenGroup::default() });
        }
        Ok(())
    }

    /// A batch as Arrow's arrays.
    fn records(&self, batch: &Batch) -> Result<RecordBatch> {
        let records = bridge::record_batch_of(self.exporter.batch(batch)?, self.exporter.schema())?;
        let mut columns = records.columns().to_vec();
        for ((array, vector), name) in columns.iter_mut().zip(batch.columns()).zip(self.schema.fields()) {
            let name = name.name();
            match vector.ty() {
                LogicalType::Uuid => *array = uuids(vector)?,
                LogicalType::Interval => *array = intervals_of(vector, name)?,
                _ => {}
            }
        }
        let records = RecordBatch::try_new(Arc::clone(&self.schema), columns);
        records.map_err(|e| Error::internal(format!("columns do not fit their schema: {e}")))
    }
}

/// Whether a column's values repeat so often that a dictionary of them is worth it.
fn has_dictionary(batches: &[Batch], column: usize, limit: Option<usize>) -> bool {
    let (mut hashes, mut rows): (Vec<u64>, usize) = (Vec::new(), 0);
    if batches.first().is_none_or(|batch| batch.column(column).logical_type().is_nested()) {
        return true;
    }
    // Some from everywhere, as they may be sorted.
    let total: usize = batches.iter().map(Batch::len).sum();
    for batch in batches.iter().step_by(total.div_ceil(JUDGED_ROWS).max(1)) {
        let vector = batch.column(column);
        let from = hashes.len();
        hashes.resize(from + batch.len(), 0);
        inlay_types::hash::hash(vector, batch.len(), &mut hashes[from..]);
        rows += batch.len() - vector.null_count();
    }
    hashes.sort_unstable();
    hashes.dedup();
    hashes.len() <= limit.unwrap_or(rows / ROWS_PER_VALUE + 1)
}

impl OpenFile {
    /// Rows that the open row group still takes; none if it is full.
    fn room(&self) -> usize {
        let properties = self.writer.properties();
        let rows = properties
            .max_row_group_row_count()
            .map_or(usize::MAX, |most| most.saturating_sub(self.group.rows));
        let Some(most) = properties.max_row_group_bytes() else { return rows };
        let sizes = self.group.fields.iter().flat_map(|field| {
            field.lock().iter().map(ArrowColumnWriter::get_estimated_total_bytes).collect::<Vec<usize>>()
        });
        let bytes: usize = sizes.sum();
        match bytes.checked_div(self.group.rows) {
            // Nothing is known of the size of rows.
            None => rows.min(ROWS_UNSEEN),
            Some(row) => rows.min(most.saturating_sub(bytes) / row.max(1)),
        }
    }

    /// Writes rows to the open row group, of which it takes so many. Threads share the columns.
    fn add(&mut self, records: &[RecordBatch], target: &Target, parallel: Parallel<'_>) -> Result<()> {
        if self.group.fields.is_empty() {
            self.group = self.opened_group(target)?;
        }
        let (open, schema) = (&self.group, &self.schema);
        // What takes longest is begun first: texts, lists and structs.
        let mut order: Vec<usize> = (0..schema.fields().len()).collect();
        order.sort_by_key(|index| schema.field(*index).data_type().primitive_width().is_some());
        parallel(order.len(), &|place| {
            let index = order[place];
            let field = schema.field(index);
            let mut writers = open.fields[index].lock();
            let write = AssertUnwindSafe(|| -> std::result::Result<(), ParquetError> {
                for records in records {
                    let leaves = compute_leaves(field, records.column(index))?;
                    writers.iter_mut().zip(&leaves).try_for_each(|(writer, leaf)| writer.write(leaf))?;
                }
                Ok(())
            });
            guarded(write, target)
        })?;
        self.group.rows += records.iter().map(RecordBatch::num_rows).sum::<usize>();
        Ok(())
    }

    fn opened_group(&self, target: &Target) -> Result<OpenGroup> {
        let writers = self.columns.create_column_writers(self.writer.flushed_row_groups().len());
        let writers = writers.map_err(|e| target.failure(&e))?;
        let mut fields: Vec<Mutex<Vec<ArrowColumnWriter>>> =
            self.schema.fields().iter().map(|_| Mutex::default()).collect();
        for (leaf, writer) in writers.into_iter().enumerate() {
            fields[self.writer.schema_descr().get_column_root_idx(leaf)].get_mut().push(writer);
        }
        Ok(OpenGroup { fields, rows: 0 })
    }

    /// Completes the open row group.
    fn flush(&mut self, target: &Target, parallel: Parallel<'_>) -> Result<()> {
        let OpenGroup { fields, rows } = std::mem::take(&mut self.group);
        if rows == 0 {
            return Ok(());
        }
        let chunks = made(parallel, fields.len(), |index| {
            let writers = std::mem::take(&mut *fields[index].lock());
            let close = AssertUnwindSafe(|| writers.into_iter().map(ArrowColumnWriter::close).collect());
            guarded::<Vec<ArrowColumnChunk>>(close, target)
        })?;
        let writer = &mut self.writer;
        let append = AssertUnwindSafe(|| {
            let mut group = writer.next_row_group()?;
            chunks.into_iter().flatten().try_for_each(|chunk| chunk.append_to_row_group(&mut group))?;
            group.close().map(|_| ())
        });
        guarded(append, target)
    }
}

/// Writing goes on after an error.
fn not_begun() -> Error {
    Error::internal("a Parquet file that could not be begun")
}

/// What a crate gives; a panic inside of it is an error.
fn guarded<T>(
    work: AssertUnwindSafe<impl FnOnce() -> std::result::Result<T, ParquetError>>,
    target: &Target,
) -> Result<T> {
    match catch_unwind(work) {
        Ok(outcome) => outcome.map_err(|error| target.failure(&error)),
        Err(_) => Err(Error::internal("a panic while a Parquet file was written")),
    }
}

impl FileWriter for ParquetWriter {
    fn write(&mut self, batches: &[Batch], parallel: Parallel<'_>) -> Result<()> {
        let mut waiting: VecDeque<RecordBatch> =
            made(parallel, batches.len(), |index| self.records(&batches[index]))?.into();
        self.begin(batches)?;
        let Some(file) = &mut self.open else { return Err(not_begun()) };
        while !waiting.is_empty() {
            let mut room = file.room();
            if room == 0 {
                file.flush(&self.target, parallel)?;
                continue;
            }
            let mut taken = Vec::new();
            while room > 0
                && let Some(records) = waiting.pop_front()
            {
                let len = records.num_rows().min(room);
                if len < records.num_rows() {
                    waiting.push_front(records.slice(len, records.num_rows() - len));
                }
                taken.push(records.slice(0, len));
                room -= len;
            }
            file.add(&taken, &self.target, parallel)?;
        }
        self.rows += batches.iter().map(|batch| batch.len() as u64).sum::<u64>();
        Ok(())
    }

    fn finish(mut self: Box<Self>, parallel: Parallel<'_>) -> Result<u64> {
        self.begin(&[])?;
        let Self { target, open, rows, .. } = *self;
        let Some(mut file) = open else { return Err(not_begun()) };
        file.flush(&target, parallel)?;
        file.writer.close().map_err(|e| target.failure(&e))?;
        target.publish()?;
        Ok(rows)
    }
}

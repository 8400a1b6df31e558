//! What the footers of Parquet files say, as rows: `parquet_metadata`, `parquet_schema`, `parquet_file_metadata` and
//! `parquet_kv_metadata`, with DuckDB's columns.
//!
//! Footers are read when the function is bound; no page of data is touched.

use super::{Options, ParquetFile, columns_of, prune::Bounds};
use crate::column_source::ColumnSource;
use crate::files::Files;
use crate::paths;
use inlay_catalog::{TableFunction, TableSource, TypeNames};
use inlay_types::{Error, LogicalType, Result, Value, Vector};
use parquet::basic::{ConvertedType, Repetition};
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::schema::types::Type;
use std::sync::Arc;

type Columns = Vec<(&'static str, LogicalType)>;
type Rows = Vec<Vec<Value>>;
/// Appends the rows of a file.
type RowsOf = fn(&ParquetFile, &mut Rows) -> Result<()>;

/// Bytes behind the footer: its size and the magic number.
const FOOTER_END_BYTES: u64 = 8;

/// Which of the functions.
#[derive(Clone, Copy, Debug)]
pub enum About {
    /// A row for each column of each row group.
    RowGroups,
    /// A row for each node of the schema.
    Schema,
    /// A row for each file.
    File,
    /// A row for each pair of key and value that the writer left.
    Pairs,
}

/// One of the functions.
#[derive(Debug)]
pub struct AboutParquet {
    about: About,
    access: Arc<Files>,
}

impl AboutParquet {
    /// The function over files that `access` allows.
    pub fn new(about: About, access: &Arc<Files>) -> Self {
        Self { about, access: Arc::clone(access) }
    }
}

impl TableFunction for AboutParquet {
    fn name(&self) -> &'static str {
        match self.about {
            About::RowGroups => "parquet_metadata",
            About::Schema => "parquet_schema",
            About::File => "parquet_file_metadata",
            About::Pairs => "parquet_kv_metadata",
        }
    }

    fn bind(
        &self,
        args: &[Value],
        named: &[(String, Value)],
        _: &TypeNames<'_>,
    ) -> Result<Arc<dyn TableSource>> {
        if let Some((name, _)) = named.first() {
            return Err(Error::invalid_argument(format!("{} has no parameter \"{name}\"", self.name())));
        }
        let (columns, rows_of): (Columns, RowsOf) = match self.about {
            About::RowGroups => (row_group_columns(), row_groups),
            About::Schema => (schema_columns(), schema),
            About::File => (file_columns(), file),
            About::Pairs => (pair_columns(), pairs),
        };
        let mut rows: Rows = Vec::new();
        for path in paths::expand(self.name(), args, &self.access)? {
            let options = Options { as_written: true, ..Options::default() };
            rows_of(&ParquetFile::open(&self.access, path, &options)?, &mut rows)?;
        }
        let mut vectors = Vec::with_capacity(columns.len());
        for (index, (name, ty)) in columns.into_iter().enumerate() {
            let values: Vec<Value> = rows.iter().map(|row| row[index].clone()).collect();
            vectors.push((name.to_string(), Vector::from_sql_values(ty, &values)?));
        }
        Ok(Arc::new(ColumnSource::new(format!("{}()", self.name()), vectors)?))
    }
}

fn text(text: impl Into<String>) -> Value {
    Value::Varchar(text.into())
}

fn number(number: impl TryInto<i64>) -> Value {
    number.try_into().map_or(Value::Null, Value::BigInt)
}

fn optional<T: TryInto<i64>>(value: Option<T>) -> Value {
    value.map_or(Value::Null, number)
}

fn page_type() -> LogicalType {
    LogicalType::structure(vec![
        ("page_type".to_string(), LogicalType::Varchar),
        ("encoding".to_string(), LogicalType::Varchar),
        ("count".to_string(), LogicalType::Integer),
    ])
}

fn row_group_columns() -> Columns {
    use LogicalType::{BigInt, Blob, Boolean, Double, Varchar};
    let bounds = ["xmin", "xmax", "ymin", "ymax", "zmin", "zmax", "mmin", "mmax"];
    let bounds = bounds.map(|name| (name.to_string(), Double)).to_vec();
    vec![
        ("file_name", Varchar),
        ("row_group_id", BigInt),
        ("row_group_num_rows", BigInt),
        ("row_group_num_columns", BigInt),
        ("row_group_bytes", BigInt),
        ("column_id", BigInt),
        ("file_offset", BigInt),
        ("num_values", BigInt),
        ("path_in_schema", Varchar),
        ("type", Varchar),
        ("stats_min", Varchar),
        ("stats_max", Varchar),
        ("stats_null_count", BigInt),
        ("stats_distinct_count", BigInt),
        ("stats_min_value", Varchar),
        ("stats_max_value", Varchar),
        ("compression", Varchar),
        ("encodings", Varchar),
        ("index_page_offset", BigInt),
        ("dictionary_page_offset", BigInt),
        ("data_page_offset", BigInt),
        ("total_compressed_size", BigInt),
        ("total_uncompressed_size", BigInt),
        ("key_value_metadata", LogicalType::map(Blob, Blob)),
        ("bloom_filter_offset", BigInt),
        ("bloom_filter_length", BigInt),
        ("min_is_exact", Boolean),
        ("max_is_exact", Boolean),
        ("row_group_compressed_bytes", BigInt),
        ("geo_bbox", LogicalType::structure(bounds)),
        ("geo_types", LogicalType::list(Varchar)),
        ("encoding_stats", LogicalType::list(page_type())),
        ("stats_nan_count", BigInt),
    ]
}

fn row_groups(file: &ParquetFile, rows: &mut Rows) -> Result<()> {
    let types = columns_of(file, &Options::default())?;
    let empty = Arc::new((LogicalType::Blob, LogicalType::Blob));
    for (number_of_group, group) in file.metadata.metadata().row_groups().iter().enumerate() {
        for (index, chunk) in group.columns().iter().enumerate() {
            let root = file.metadata.parquet_schema().get_column_root_idx(index);
            let is_flat = chunk.column_path().parts().len() == 1;
            let ty = types.get(root).filter(|_| is_flat).map(|column| column.ty.clone());
            let statistics = chunk.statistics();
            let bounds = statistics
                .zip(ty)
                .map(|(statistics, ty)| Bounds::of(statistics, ty, file.is_as_stored(root), 0));
            let shown = |value: Option<&Value>| value.map_or(Value::Null, |value| text(value.to_string()));
            let min = shown(bounds.as_ref().and_then(Bounds::min));
            let max = shown(bounds.as_ref().and_then(Bounds::max));
            let is_exact = |exact: Option<bool>| exact.map_or(Value::Null, Value::Boolean);
            rows.push(vec![
                text(&file.path),
                number(number_of_group),
                number(group.num_rows()),
                number(group.num_columns()),
                number(group.total_byte_size()),
                number(index),
                number(chunk.file_offset()),
                number(chunk.num_values()),
                text(chunk.column_path().parts().join(", ")),
                text(format!("{:?}", chunk.column_type())),
                min.clone(),
                max.clone(),
                optional(statistics.and_then(|statistics| statistics.null_count_opt())),
                optional(statistics.and_then(|statistics| statistics.distinct_count_opt())),
                min,
                max,
                text(compression(chunk)),
                text(
                    chunk.encodings().map(|encoding| format!("{encoding:?}")).collect::<Vec<_>>().join(", "),
                ),
                optional(chunk.index_page_offset()),
                optional(chunk.dictionary_page_offset()),
                number(chunk.data_page_offset()),
                number(chunk.compressed_size()),
                number(chunk.uncompressed_size()),
                Value::Map { types: Arc::clone(&empty), entries: Vec::new() },
                optional(chunk.bloom_filter_offset()),
                optional(chunk.bloom_filter_length()),
                is_exact(statistics.map(|statistics| statistics.min_is_exact())),
                is_exact(statistics.map(|statistics| statistics.max_is_exact())),
                number(group.compressed_size()),
                Value::Null,
                Value::Null,
                pages(chunk),
                Value::Null,
            ]);
        }
    }
    Ok(())
}

/// The name of a codec, without its level.
fn compression(chunk: &ColumnChunkMetaData) -> String {
    let name = format!("{:?}", chunk.compression());
    name.split('(').next().unwrap_or(&name).to_string()
}

fn pages(chunk: &ColumnChunkMetaData) -> Value {
    let Some(statistics) = chunk.page_encoding_stats() else { return Value::Null };
    let LogicalType::Struct(fields) = page_type() else { return Value::Null };
    let page = |page: &parquet::file::metadata::PageEncodingStats| Value::Struct {
        fields: Arc::clone(&fields),
        values: vec![
            text(format!("{:?}", page.page_type)),
            text(format!("{:?}", page.encoding)),
            Value::Integer(page.count),
        ],
    };
    Value::List { element: Arc::new(page_type()), values: statistics.iter().map(page).collect() }
}

fn schema_columns() -> Columns {
    use LogicalType::{BigInt, Varchar};
    vec![
        ("file_name", Varchar),
        ("name", Varchar),
        ("type", Varchar),
        ("type_length", Varchar),
        ("repetition_type", Varchar),
        ("num_children", BigInt),
        ("converted_type", Varchar),
        ("scale", BigInt),
        ("precision", BigInt),
        ("field_id", BigInt),
        ("logical_type", Varchar),
        ("duckdb_type", Varchar),
        ("column_id", BigInt),
    ]
}

fn schema(file: &ParquetFile, rows: &mut Rows) -> Result<()> {
    let types = columns_of(file, &Options::default())?;
    let root = file.metadata.parquet_schema().root_schema();
    let mut number_of_node = 0;
    rows.push(node(file, root, None, &mut number_of_node));
    for (index, field) in root.get_fields().iter().enumerate() {
        let ty = types.get(index).map(|column| column.ty.to_string());
        rows.push(node(file, field, ty, &mut number_of_node));
        // Below a column, depth first; a stack, for files may nest as they like.
        let mut open: Vec<&Type> = children(field).rev().collect();
        while let Some(inner) = open.pop() {
            rows.push(node(file, inner, None, &mut number_of_node));
            open.extend(children(inner).rev());
        }
    }
    Ok(())
}

fn children(node: &Type) -> impl DoubleEndedIterator<Item = &Type> {
    let fields = if node.is_group() { node.get_fields() } else { &[] };
    fields.iter().map(|field| &**field)
}

fn node(file: &ParquetFile, node: &Type, ty: Option<String>, next: &mut i64) -> Vec<Value> {
    let info = node.get_basic_info();
    let (physical, length, scale, precision) = match node {
        Type::PrimitiveType { physical_type, type_length, scale, precision, .. } => {
            let is_decimal = info.converted_type() == ConvertedType::DECIMAL || *precision > 0;
            (
                text(format!("{physical_type:?}")),
                if *type_length > 0 { text(type_length.to_string()) } else { Value::Null },
                if is_decimal { number(*scale) } else { Value::Null },
                if is_decimal { number(*precision) } else { Value::Null },
            )
        }
        Type::GroupType { .. } => (Value::Null, Value::Null, Value::Null, Value::Null),
    };
    let repetition = if info.has_repetition() { info.repetition() } else { Repetition::REQUIRED };
    let converted = match info.converted_type() {
        ConvertedType::NONE => Value::Null,
        converted => text(format!("{converted:?}")),
    };
    let number_of_node = *next;
    *next += 1;
    vec![
        text(&file.path),
        text(node.name()),
        physical,
        length,
        text(format!("{repetition:?}")),
        if node.is_group() { number(node.get_fields().len()) } else { Value::Null },
        converted,
        scale,
        precision,
        if info.has_id() { number(info.id()) } else { Value::Null },
        info.logical_type_ref()
            .map_or(Value::Null, |logical| text(logical_text(&format!("{logical:?}"), node))),
        ty.map_or(Value::Null, text),
        number(number_of_node),
    ]
}

/// A logical type as DuckDB writes it, from how the parquet crate does.
fn logical_text(written: &str, node: &Type) -> String {
    let name = written.split('(').next().unwrap_or(written);
    let adjusted = u8::from(written.contains("is_adjusted_to_u_t_c: true"));
    let unit = |unit: &str, made: &str| {
        format!("{unit}={}", if written.contains(&format!("unit: {unit}")) { made } else { "<null>" })
    };
    match (name, node) {
        ("Decimal", Type::PrimitiveType { scale, precision, .. }) => {
            format!("DecimalType(scale={scale}, precision={precision})")
        }
        ("Time" | "Timestamp", _) => format!(
            "{name}Type(isAdjustedToUTC={adjusted}, unit=TimeUnit({}, {}, {}))",
            unit("MILLIS", "MilliSeconds()"),
            unit("MICROS", "MicroSeconds()"),
            unit("NANOS", "NanoSeconds()")
        ),
        ("Uuid", _) => "UUIDType()".to_string(),
        _ => format!("{name}Type()"),
    }
}

fn file_columns() -> Columns {
    use LogicalType::{BigInt, UBigInt, Varchar};
    vec![
        ("file_name", Varchar),
        ("created_by", Varchar),
        ("num_rows", BigInt),
        ("num_row_groups", BigInt),
        ("format_version", BigInt),
        ("encryption_algorithm", Varchar),
        ("footer_signing_key_metadata", Varchar),
        ("file_size_bytes", UBigInt),
        ("footer_size", UBigInt),
        ("column_orders", LogicalType::list(Varchar)),
    ]
}

fn file(file: &ParquetFile, rows: &mut Rows) -> Result<()> {
    let about = file.metadata.metadata();
    let size = file.bytes.size();
    let orders = about.file_metadata().column_orders();
    let orders = orders.map_or(Value::Null, |orders| Value::List {
        element: Arc::new(LogicalType::Varchar),
        values: orders.iter().map(|order| text(format!("{order:?}"))).collect(),
    });
    rows.push(vec![
        text(&file.path),
        about.file_metadata().created_by().map_or(Value::Null, text),
        number(about.file_metadata().num_rows()),
        number(about.num_row_groups()),
        number(about.file_metadata().version()),
        Value::Null,
        Value::Null,
        Value::UBigInt(size),
        footer_size(file).map_or(Value::Null, Value::UBigInt),
        orders,
    ]);
    Ok(())
}

/// The size of a footer, which stands behind it.
fn footer_size(file: &ParquetFile) -> Option<u64> {
    let bytes = file.bytes.read(file.bytes.size().checked_sub(FOOTER_END_BYTES)?, 4).ok()?;
    Some(u64::from(u32::from_le_bytes(*bytes.first_chunk()?)))
}

fn pair_columns() -> Columns {
    vec![("file_name", LogicalType::Varchar), ("key", LogicalType::Blob), ("value", LogicalType::Blob)]
}

fn pairs(file: &ParquetFile, rows: &mut Rows) -> Result<()> {
    let pairs = file.metadata.metadata().file_metadata().key_value_metadata();
    for pair in pairs.into_iter().flatten() {
        let value = pair.value.as_ref().map(|value| Value::Blob(value.clone().into_bytes()));
        rows.push(vec![
            text(&file.path),
            Value::Blob(pair.key.clone().into_bytes()),
            value.unwrap_or(Value::Null),
        ]);
    }
    Ok(())
}

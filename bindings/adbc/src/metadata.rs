//! What there is: catalogs, schemas, tables, columns and constraints, as the nested tables that ADBC describes; and what
//! the driver is.

use crate::failure::{Failure, Outcome};
use crate::union;
use inlay::types::arrow::export::{array_of, schema_of};
use inlay::types::arrow::ffi::FLAG_NULLABLE;
use inlay::types::arrow::{ArrowArrayStream, ArrowSchema, Exporter, StringLayout, stream};
use inlay::types::{Buffer, LogicalType};
use inlay::{Connection, Parameters, QueryResult, Value, sql};

/// The version of ADBC that this is a driver of.
const ADBC_VERSION: i64 = 1_001_000;

/// A value of GetInfo.
enum Info {
    Text(&'static str),
    Truth(bool),
    Number(i64),
}

/// `ADBC_INFO_...`: vendor's name and version, SQL, Substrait; driver's name and version, ADBC's version.
const INFOS: [(u32, Info); 7] = [
    (0, Info::Text("Inlay")),
    (1, Info::Text(env!("CARGO_PKG_VERSION"))),
    (3, Info::Truth(true)),
    (4, Info::Truth(false)),
    (100, Info::Text("ADBC driver of Inlay")),
    (101, Info::Text(env!("CARGO_PKG_VERSION"))),
    (103, Info::Number(ADBC_VERSION)),
];

/// Facts about the driver: those of `codes` that are known, or all.
pub fn info(codes: Option<&[u32]>) -> Outcome<ArrowArrayStream> {
    let infos: Vec<&(u32, Info)> =
        INFOS.iter().filter(|(code, _)| codes.is_none_or(|codes| codes.contains(code))).collect();
    let value = |(_, info): &&(u32, Info)| match info {
        Info::Text(text) => (0, Value::Varchar((*text).to_string())),
        Info::Truth(truth) => (1, Value::Boolean(*truth)),
        Info::Number(number) => (2, Value::BigInt(*number)),
    };
    let union = union::array(&members(), infos.iter().map(value).collect())?;
    let codes: Vec<u32> = infos.iter().map(|(code, _)| *code).collect();
    let names = array_of(codes.len(), 0, vec![None, Some(Buffer::from_vec(codes))], Vec::new(), None);
    let rows = array_of(infos.len(), 0, vec![None], vec![names, union], None);
    Ok(stream::export(info_schema, std::iter::once(Ok(rows))))
}

/// The members of the union of GetInfo.
fn members() -> [(&'static str, LogicalType); 6] {
    let numbers = LogicalType::list(LogicalType::Integer);
    [
        ("string_value", LogicalType::Varchar),
        ("bool_value", LogicalType::Boolean),
        ("int64_value", LogicalType::BigInt),
        ("int32_bitmask", LogicalType::Integer),
        ("string_list", LogicalType::list(LogicalType::Varchar)),
        ("int32_to_int32_list_map", LogicalType::map(LogicalType::Integer, numbers)),
    ]
}

fn info_schema() -> ArrowSchema {
    let code = schema_of("I", "info_name", 0, Vec::new(), None);
    let union = union::schema("info_value", FLAG_NULLABLE, &members());
    schema_of("+s", "", 0, vec![code, union], None)
}

/// Fields of the nested tables that ADBC describes as "not null".
pub const REQUIRED: [&str; 7] = [
    "table_name",
    "table_type",
    "column_name",
    "constraint_type",
    "constraint_column_names",
    "fk_table",
    "fk_column_name",
];

/// Kinds of tables, as GetObjects names them.
const TABLE_TYPES: &str = "SELECT unnest(['BASE TABLE', 'LOCAL TEMPORARY', 'VIEW']) AS table_type";

/// The kinds of tables.
pub fn table_types(engine: &Connection) -> Outcome<QueryResult> {
    Ok(engine.execute(TABLE_TYPES)?)
}

/// The columns of a table or view.
pub fn table_schema(
    engine: &Connection,
    catalog: Option<&str>,
    schema: Option<&str>,
    table: &str,
) -> Outcome<ArrowSchema> {
    let parts = [catalog, schema, Some(table)].into_iter().flatten().filter(|part| !part.is_empty());
    let path = sql::path(parts);
    let described = engine.describe_with(
        &format!("SELECT * FROM {path}"),
        inlay::Extent::Statement,
        &Parameters::default(),
        None,
    )?;
    let (names, types): (Vec<_>, Vec<_>) = described.columns.unwrap_or_default().into_iter().unzip();
    Ok(Exporter::new(&names, &types).with_strings(StringLayout::Utf8).schema())
}

/// What GetObjects is asked for. Names are patterns of LIKE.
#[derive(Default)]
pub struct Wanted<'a> {
    pub catalog: Option<&'a str>,
    pub schema: Option<&'a str>,
    pub table: Option<&'a str>,
    pub column: Option<&'a str>,
    /// Kinds of tables; none is all.
    pub table_types: Option<Vec<&'a str>>,
}

/// How deep GetObjects looks.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Depth {
    Catalogs,
    Schemas,
    Tables,
    Columns,
}

impl Depth {
    /// `ADBC_OBJECT_DEPTH_...`.
    pub fn of(number: i32) -> Outcome<Self> {
        match number {
            0 => Ok(Self::Columns),
            1 => Ok(Self::Catalogs),
            2 => Ok(Self::Schemas),
            3 => Ok(Self::Tables),
            _ => Err(Failure::argument(format!("depth {number}: expected 0, 1, 2 or 3"))),
        }
    }
}

const USAGE: &str =
    "STRUCT(fk_catalog VARCHAR, fk_db_schema VARCHAR, fk_table VARCHAR, fk_column_name VARCHAR)";
const COLUMN: &str = "STRUCT(column_name VARCHAR, ordinal_position INTEGER, remarks VARCHAR, xdbc_data_type SMALLINT, \
    xdbc_type_name VARCHAR, xdbc_column_size INTEGER, xdbc_decimal_digits SMALLINT, xdbc_num_prec_radix SMALLINT, \
    xdbc_nullable SMALLINT, xdbc_column_def VARCHAR, xdbc_sql_data_type SMALLINT, xdbc_datetime_sub SMALLINT, \
    xdbc_char_octet_length INTEGER, xdbc_is_nullable VARCHAR, xdbc_scope_catalog VARCHAR, xdbc_scope_schema VARCHAR, \
    xdbc_scope_table VARCHAR, xdbc_is_autoincrement BOOLEAN, xdbc_is_generatedcolumn BOOLEAN)";

/// The condition that a name matches a pattern, which becomes a parameter. An empty pattern means what has no name.
pub fn like(parameters: &mut Parameters, column: &str, pattern: Option<&str>) -> String {
    match pattern {
        None => "true".to_string(),
        Some("") => "false".to_string(),
        Some(pattern) => {
            parameters.positional.push(Value::Varchar(pattern.to_string()));
            format!("{column} LIKE ${}", parameters.positional.len())
        }
    }
}

/// Catalogs and what is in them.
pub fn objects(engine: &Connection, depth: Depth, wanted: &Wanted<'_>) -> Outcome<QueryResult> {
    let mut parameters = Parameters::default();
    let mut like = |column: &str, pattern: Option<&str>| like(&mut parameters, column, pattern);
    let constraint = format!(
        "STRUCT(constraint_name VARCHAR, constraint_type VARCHAR, constraint_column_names VARCHAR[], \
         constraint_column_usage {USAGE}[])"
    );
    let table = format!(
        "STRUCT(table_name VARCHAR, table_type VARCHAR, table_columns {COLUMN}[], table_constraints {constraint}[])"
    );
    let schema = format!("STRUCT(db_schema_name VARCHAR, db_schema_tables {table}[])");
    let catalogs = like("catalog_name", wanted.catalog);
    let if_deep = |least: Depth, sql: String, ty: &str| {
        if depth >= least { format!("({sql})::{ty}[]") } else { format!("NULL::{ty}[]") }
    };
    let columns = if_deep(Depth::Columns, columns_sql(&like("c.column_name", wanted.column)), COLUMN);
    let constraints = if_deep(Depth::Columns, CONSTRAINTS.to_string(), &constraint);
    let mut tables = like("t.table_name", wanted.table);
    if let Some(types) = &wanted.table_types {
        let names: Vec<String> = types.iter().map(|ty| sql::literal(ty)).collect();
        tables = format!("{tables} AND t.table_type IN ('', {})", names.join(", "));
    }
    let tables = format!(
        "SELECT coalesce(list({{table_name: t.table_name, table_type: t.table_type, table_columns: {columns}, \
         table_constraints: {constraints}}} ORDER BY t.table_name), []) FROM information_schema.tables t \
         WHERE t.table_catalog = s.catalog_name AND t.table_schema = s.schema_name AND {tables}"
    );
    let tables = if_deep(Depth::Tables, tables, &table);
    let schemas = format!(
        "SELECT coalesce(list({{db_schema_name: s.schema_name, db_schema_tables: {tables}}} ORDER BY s.schema_name), []) \
         FROM information_schema.schemata s WHERE s.catalog_name = d.catalog_name AND {}",
        like("s.schema_name", wanted.schema)
    );
    let schemas = if_deep(Depth::Schemas, schemas, &schema);
    let sql = format!(
        "SELECT d.catalog_name, {schemas} AS catalog_db_schemas FROM \
         (SELECT DISTINCT catalog_name FROM information_schema.schemata WHERE {catalogs}) d ORDER BY 1"
    );
    Ok(engine.execute_with(&sql, &parameters, None)?)
}

fn columns_sql(condition: &str) -> String {
    let nothing =
        |names: &[&str]| names.iter().map(|name| format!("{name}: NULL")).collect::<Vec<_>>().join(", ");
    format!(
        "SELECT coalesce(list({{column_name: c.column_name, ordinal_position: c.ordinal_position, \
         remarks: c.\"COLUMN_COMMENT\", xdbc_data_type: NULL, xdbc_type_name: c.data_type, \
         xdbc_column_size: coalesce(c.character_maximum_length, c.numeric_precision), \
         xdbc_decimal_digits: c.numeric_scale, xdbc_num_prec_radix: c.numeric_precision_radix, \
         xdbc_nullable: (c.is_nullable = 'YES')::INTEGER, xdbc_column_def: c.column_default, {}, \
         xdbc_is_nullable: c.is_nullable, {}, xdbc_is_generatedcolumn: c.is_generated <> 'NEVER'}} \
         ORDER BY c.ordinal_position), []) FROM information_schema.columns c \
         WHERE c.table_catalog = t.table_catalog AND c.table_schema = t.table_schema AND c.table_name = t.table_name \
         AND {condition}",
        nothing(&["xdbc_sql_data_type", "xdbc_datetime_sub", "xdbc_char_octet_length"]),
        nothing(&["xdbc_scope_catalog", "xdbc_scope_schema", "xdbc_scope_table", "xdbc_is_autoincrement"]),
    )
}

/// NOT NULL is a property of columns in ADBC.
const CONSTRAINTS: &str = "SELECT coalesce(list({constraint_name: k.constraint_name, constraint_type: k.constraint_type, \
    constraint_column_names: (SELECT coalesce(list(u.column_name ORDER BY u.ordinal_position), []) \
    FROM information_schema.key_column_usage u WHERE u.table_catalog = k.table_catalog \
    AND u.table_schema = k.table_schema AND u.table_name = k.table_name AND u.constraint_name = k.constraint_name), \
    constraint_column_usage: (SELECT list({fk_catalog: r.table_catalog, fk_db_schema: r.table_schema, \
    fk_table: r.table_name, fk_column_name: r.column_name}) FROM information_schema.constraint_column_usage r \
    WHERE r.constraint_catalog = k.constraint_catalog AND r.constraint_schema = k.constraint_schema \
    AND r.constraint_name = k.constraint_name AND r.constraint_type = 'FOREIGN KEY')} ORDER BY k.constraint_name), []) \
    FROM information_schema.table_constraints k WHERE k.table_catalog = t.table_catalog \
    AND k.table_schema = t.table_schema AND k.table_name = t.table_name \
    AND k.constraint_type IN ('PRIMARY KEY', 'UNIQUE', 'CHECK', 'FOREIGN KEY') \
    AND NOT (k.constraint_type = 'CHECK' AND k.constraint_name LIKE '%_not_null')";

//! GetStatistics and GetStatisticNames: numbers of rows, NULLs and distinct values, smallest and largest values.
//!
//! They are computed when they are asked for, by one query per table, in the connection's transaction.

use crate::connection::Session;
use crate::failure::Outcome;
use crate::metadata::like;
use crate::union::{self, Member};
use inlay::types::arrow::export::{array_of, schema_of};
use inlay::types::arrow::ffi::FLAG_NULLABLE;
use inlay::types::arrow::{ArrowArray, ArrowArrayStream, ArrowSchema, Exporter, StringLayout, stream};
use inlay::types::{Buffer, LogicalType, Vector};
use inlay::{Parameters, Value, sql};

/// `ADBC_STATISTIC_..._KEY`.
const DISTINCT_COUNT: i16 = 1;
const MAX_VALUE: i16 = 3;
const MIN_VALUE: i16 = 4;
const NULL_COUNT: i16 = 5;
const ROW_COUNT: i16 = 6;

/// Tables that are asked about, by patterns of LIKE.
pub struct Asked<'a> {
    pub catalog: Option<&'a str>,
    pub schema: Option<&'a str>,
    pub table: Option<&'a str>,
    /// Whether numbers of distinct values may be estimated.
    pub approximate: bool,
}

/// Statistics of the tables that match, one row per catalog.
pub fn statistics(session: &Session, asked: &Asked<'_>) -> Outcome<ArrowArrayStream> {
    let mut catalogs: Vec<Catalog> = Vec::new();
    for place in places(session, asked)? {
        let found = of_table(session, &place, asked.approximate)?;
        let Place { catalog, schema, .. } = place;
        match catalogs.last_mut() {
            Some(last) if last.name == catalog => match last.schemas.last_mut() {
                Some((name, all)) if *name == schema => all.extend(found),
                _ => last.schemas.push((schema, found)),
            },
            _ => catalogs.push(Catalog { name: catalog, schemas: vec![(schema, found)] }),
        }
    }
    let rows = rows_of(catalogs)?;
    Ok(stream::export(schema, std::iter::once(Ok(rows))))
}

/// Names of statistics that only this driver has: none.
pub fn names() -> ArrowArrayStream {
    let schema = || {
        let name = schema_of("u", "statistic_name", 0, Vec::new(), None);
        let key = schema_of("s", "statistic_key", 0, Vec::new(), None);
        schema_of("+s", "", 0, vec![name, key], None)
    };
    stream::export(schema, std::iter::empty())
}

/// Where a table is.
struct Place {
    catalog: String,
    schema: String,
    table: String,
}

/// One statistic of a table, or of one of its columns.
struct Statistic {
    table: String,
    column: Option<String>,
    key: i16,
    value: (i8, Value),
    is_approximate: bool,
}

/// The schemas of a catalog in which there are tables that were asked for.
struct Catalog {
    name: String,
    schemas: Vec<(String, Vec<Statistic>)>,
}

/// The tables that match, in order.
fn places(session: &Session, asked: &Asked<'_>) -> Outcome<Vec<Place>> {
    let mut parameters = Parameters::default();
    let conditions = [
        like(&mut parameters, "table_catalog", asked.catalog),
        like(&mut parameters, "table_schema", asked.schema),
        like(&mut parameters, "table_name", asked.table),
    ];
    let sql = format!(
        "SELECT table_catalog, table_schema, table_name FROM information_schema.tables \
         WHERE table_type IN ('BASE TABLE', 'LOCAL TEMPORARY') AND {} ORDER BY ALL",
        conditions.join(" AND ")
    );
    let found = session.engine.execute_with(&sql, &parameters, None)?;
    let mut places = Vec::with_capacity(found.row_count());
    for row in 0..found.row_count() {
        let text = |column| Ok::<_, inlay::Error>(found.value(row, column)?.to_string());
        places.push(Place { catalog: text(0)?, schema: text(1)?, table: text(2)? });
    }
    Ok(places)
}

/// All statistics of a table and its columns.
fn of_table(session: &Session, place: &Place, approximate: bool) -> Outcome<Vec<Statistic>> {
    let path = sql::path([&place.catalog, &place.schema, &place.table]);
    let none = Parameters::default();
    let described = session.engine.describe_with(
        &format!("SELECT * FROM {path}"),
        inlay::Extent::Statement,
        &none,
        None,
    )?;
    // Nested values have no order that other systems share.
    let columns: Vec<String> = described
        .columns
        .unwrap_or_default()
        .into_iter()
        .filter(|(_, ty)| !ty.is_nested())
        .map(|(name, _)| name)
        .collect();
    let mut items = vec!["count(*)".to_string()];
    for name in columns.iter().map(|name| sql::ident(name)) {
        let distinct = match approximate {
            true => format!("approx_count_distinct({name})"),
            false => format!("count(DISTINCT {name})"),
        };
        items.extend([format!("count({name})"), distinct, format!("min({name})"), format!("max({name})")]);
    }
    let answer =
        session.engine.execute_with(&format!("SELECT {} FROM {path}", items.join(", ")), &none, None)?;
    let number = |index: usize| Ok::<_, inlay::Error>(answer.value(0, index)?.as_i128().unwrap_or(0) as i64);
    let row_count = number(0)?;
    let statistic = |column: Option<&String>, key: i16, value: (i8, Value)| Statistic {
        table: place.table.clone(),
        column: column.cloned(),
        key,
        value,
        is_approximate: approximate && key == DISTINCT_COUNT,
    };
    let mut found = vec![statistic(None, ROW_COUNT, (INT64, Value::BigInt(row_count)))];
    for (index, column) in columns.iter().enumerate() {
        let first = 1 + 4 * index;
        let nulls = Value::BigInt(row_count - number(first)?);
        found.push(statistic(Some(column), NULL_COUNT, (INT64, nulls)));
        found.push(statistic(Some(column), DISTINCT_COUNT, (INT64, Value::BigInt(number(first + 1)?))));
        for (key, at) in [(MIN_VALUE, first + 2), (MAX_VALUE, first + 3)] {
            found.extend(member_of(&answer.value(0, at)?).map(|value| statistic(Some(column), key, value)));
        }
    }
    Ok(found)
}

/// Members of the union of values.
const INT64: i8 = 0;
const UINT64: i8 = 1;
const FLOAT64: i8 = 2;
const BINARY: i8 = 3;

fn members() -> [Member; 4] {
    [
        ("int64", LogicalType::BigInt),
        ("uint64", LogicalType::UBigInt),
        ("float64", LogicalType::Double),
        ("binary", LogicalType::Blob),
    ]
}

/// An extreme value as a member of the union: numbers as they are, others as the bytes of their text.
fn member_of(value: &Value) -> Option<(i8, Value)> {
    if value.is_null() {
        return None;
    }
    Some(match value.logical_type() {
        LogicalType::UBigInt => (UINT64, value.clone()),
        LogicalType::Real | LogicalType::Double => (FLOAT64, Value::Double(value.as_f64()?)),
        LogicalType::Blob => (BINARY, value.clone()),
        ty if ty.is_integer() => match i64::try_from(value.as_i128()?) {
            Ok(number) => (INT64, Value::BigInt(number)),
            Err(_) => (BINARY, Value::Blob(value.to_string().into_bytes())),
        },
        _ => (BINARY, Value::Blob(value.to_string().into_bytes())),
    })
}

fn schema() -> ArrowSchema {
    let plain = |format: &str, name: &str, flags: i64| schema_of(format, name, flags, Vec::new(), None);
    let statistic = vec![
        plain("u", "table_name", 0),
        plain("u", "column_name", FLAG_NULLABLE),
        plain("s", "statistic_key", 0),
        union::schema("statistic_value", 0, &members()),
        plain("b", "statistic_is_approximate", 0),
    ];
    let statistics =
        schema_of("+l", "db_schema_statistics", 0, vec![schema_of("+s", "item", 0, statistic, None)], None);
    let schemas = vec![plain("u", "db_schema_name", FLAG_NULLABLE), statistics];
    let schemas =
        schema_of("+l", "catalog_db_schemas", 0, vec![schema_of("+s", "item", 0, schemas, None)], None);
    schema_of("+s", "", 0, vec![plain("u", "catalog_name", FLAG_NULLABLE), schemas], None)
}

fn rows_of(catalogs: Vec<Catalog>) -> Outcome<ArrowArray> {
    let catalog_names = catalogs.iter().map(|catalog| text(&catalog.name)).collect::<Vec<_>>();
    let schema_counts: Vec<usize> = catalogs.iter().map(|catalog| catalog.schemas.len()).collect();
    let schemas: Vec<(String, Vec<Statistic>)> =
        catalogs.into_iter().flat_map(|catalog| catalog.schemas).collect();
    let schema_names = schemas.iter().map(|(name, _)| text(name)).collect::<Vec<_>>();
    let statistic_counts: Vec<usize> = schemas.iter().map(|(_, all)| all.len()).collect();
    let statistics: Vec<Statistic> = schemas.into_iter().flat_map(|(_, all)| all).collect();
    let statistics = list(&statistic_counts, statistics_array(statistics)?);
    let schemas = structs(schema_names.len(), vec![column(LogicalType::Varchar, &schema_names)?, statistics]);
    let schemas = list(&schema_counts, schemas);
    Ok(structs(catalog_names.len(), vec![column(LogicalType::Varchar, &catalog_names)?, schemas]))
}

fn statistics_array(statistics: Vec<Statistic>) -> Outcome<ArrowArray> {
    let all = |value: fn(&Statistic) -> Value| statistics.iter().map(value).collect::<Vec<Value>>();
    let tables = column(LogicalType::Varchar, &all(|one| text(&one.table)))?;
    let columns = all(|one| one.column.as_deref().map_or(Value::Null, text));
    let columns = column(LogicalType::Varchar, &columns)?;
    let keys = column(LogicalType::SmallInt, &all(|one| Value::SmallInt(one.key)))?;
    let approximate = column(LogicalType::Boolean, &all(|one| Value::Boolean(one.is_approximate)))?;
    let count = statistics.len();
    let values = union::array(&members(), statistics.into_iter().map(|one| one.value).collect())?;
    Ok(structs(count, vec![tables, columns, keys, values, approximate]))
}

fn text(text: &str) -> Value {
    Value::Varchar(text.to_string())
}

fn column(ty: LogicalType, values: &[Value]) -> Outcome<ArrowArray> {
    let exporter =
        Exporter::new(&[String::new()], std::slice::from_ref(&ty)).with_strings(StringLayout::Utf8);
    Ok(exporter.column(0, &Vector::from_sql_values(ty, values)?)?.into_array())
}

fn structs(len: usize, fields: Vec<ArrowArray>) -> ArrowArray {
    array_of(len, 0, vec![None], fields, None)
}

/// Lists of so many elements each.
fn list(counts: &[usize], elements: ArrowArray) -> ArrowArray {
    let mut offsets = vec![0i32];
    let mut end = 0;
    for count in counts {
        end += *count as i32;
        offsets.push(end);
    }
    array_of(counts.len(), 0, vec![None, Some(Buffer::from_vec(offsets))], vec![elements], None)
}

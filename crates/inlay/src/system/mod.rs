//! System tables: what there is, as rows.
//!
//! `inlay_tables()` and its siblings are functions in FROM, each also called `duckdb_tables()` and readable without the
//! parentheses. They are made of the state that the statement sees, when it is bound. `information_schema`,
//! `pg_catalog` and `sqlite_master` are views over them ([`views`]), which exist in every database and in no file.

mod constraints;
mod functions;
mod gather;
mod machine;
pub(crate) mod names;
mod postgres;
mod resident;
mod roles;
mod secrets;
mod storage_info;
mod tables;
mod triggers;
mod types;
mod views;

use inlay_catalog::{
    CatalogEntry, Definition, DefinitionKind, SYSTEM, SYSTEM_SCHEMAS, TableFunction, TableSource, TypeNames,
    ViewEntry, qualified, split_name,
};
use inlay_formats::ColumnSource;
use inlay_storage::Table;
use inlay_types::{Error, LogicalType, Result, Value, Vector};
pub use machine::{is_reserved, keyword_names};
use names::Names;
use std::sync::Arc;
use storage_info::StorageInfo;

/// A system table; [`system_table!`] makes them.
struct SystemTable {
    /// Behind `inlay_` and `duckdb_`.
    name: &'static str,
    columns: &'static [(&'static str, ColumnType)],
    /// The values of each row, in the order of the columns.
    rows: fn(&gather::Gather<'_>) -> Vec<Vec<Value>>,
}

/// Declares a system table by its columns: a row is a struct with a value for each, so that none is left out or in the place of another.
/// `Row = "name" by function { column: Type, field as "column": Type }`, where the function gathers the rows.
macro_rules! system_table {
    ($row:ident = $name:literal by $rows:ident { $($column:ident $(as $shown:literal)? : $ty:ident),* $(,)? }) => {
        pub(super) struct $row {
            $($column: inlay_types::Value),*
        }

        impl $row {
            pub(super) const TABLE: $crate::system::SystemTable = $crate::system::SystemTable {
                name: $name,
                columns: &[$(
                    ($crate::system::column_name!($column $($shown)?), $crate::system::ColumnType::$ty)
                ),*],
                rows: |gather| $rows(gather).into_iter().map(|row| vec![$(row.$column),*]).collect(),
            };
        }
    };
}
/// The name of a column, which the field may have to spell in another way.
macro_rules! column_name {
    ($column:ident) => {
        stringify!($column)
    };
    ($column:ident $shown:literal) => {
        $shown
    };
}
use {column_name, system_table};

/// What a column of a system table holds.
#[derive(Clone, Copy)]
enum ColumnType {
    /// VARCHAR.
    Text,
    /// BIGINT.
    Big,
    /// INTEGER.
    Small,
    /// BOOLEAN.
    Truth,
    /// DOUBLE.
    Share,
    /// VARCHAR[].
    Texts,
}

impl ColumnType {
    fn logical(self) -> LogicalType {
        match self {
            Self::Text => LogicalType::Varchar,
            Self::Big => LogicalType::BigInt,
            Self::Small => LogicalType::Integer,
            Self::Truth => LogicalType::Boolean,
            Self::Share => LogicalType::Double,
            Self::Texts => LogicalType::list(LogicalType::Varchar),
        }
    }
}

/// A system table as a function in FROM: its rows are those of the statement that named it.
struct SystemFunction {
    name: &'static str,
    source: Arc<dyn TableSource>,
}

impl TableFunction for SystemFunction {
    fn name(&self) -> &'static str {
        self.name
    }

    fn bind(
        &self,
        args: &[Value],
        named: &[(String, Value)],
        _: &TypeNames<'_>,
    ) -> Result<Arc<dyn TableSource>> {
        if !args.is_empty() || !named.is_empty() {
            let message = format!("inlay_{}() takes no arguments", self.name);
            return Err(Error::invalid_argument(message));
        }
        Ok(Arc::clone(&self.source))
    }
}

fn table_named(name: &str) -> Option<&'static SystemTable> {
    let name = name.to_lowercase();
    let own = name.strip_prefix("inlay_").or_else(|| name.strip_prefix("duckdb_"))?;
    tables::TABLES.iter().find(|table| table.name == own)
}

/// Tables that DuckDB has as functions, which show everything, and as views, which show what users made.
const WITHOUT_INTERNAL: [&str; 5] = ["columns", "databases", "schemas", "tables", "views"];

fn source_of(table: &SystemTable, names: &Names<'_>, is_view: bool) -> Result<Arc<dyn TableSource>> {
    let mut rows = (table.rows)(&gather::Gather { names });
    if is_view
        && WITHOUT_INTERNAL.contains(&table.name)
        && let Some(internal) = table.columns.iter().position(|(name, _)| *name == "internal")
    {
        rows.retain(|row| row.get(internal) != Some(&Value::Boolean(true)));
    }
    let mut rows: Vec<_> = rows.into_iter().map(Vec::into_iter).collect();
    let mut columns = Vec::with_capacity(table.columns.len());
    for (name, ty) in table.columns {
        // Rows have a value for each column, as `system_table!` makes them.
        let values: Vec<Value> = rows.iter_mut().filter_map(Iterator::next).collect();
        columns.push(((*name).to_string(), Vector::from_sql_values(ty.logical(), &values)?));
    }
    Ok(Arc::new(ColumnSource::new(format!("inlay_{}()", table.name), columns)?))
}

/// The system table of a name, as a function.
pub(crate) fn function(names: &Names<'_>, name: &str) -> Option<Arc<dyn TableFunction>> {
    if name.eq_ignore_ascii_case(StorageInfo::NAME) {
        return Some(Arc::new(storage_info(names)));
    }
    let table = table_named(name)?;
    let source = names.noted(source_of(table, names, false))?;
    Some(Arc::new(SystemFunction { name: table.name, source }))
}

/// A stored table by its name, with or without schema and database.
pub(crate) fn table_named_in(names: &Names<'_>, name: &str) -> Result<Arc<Table>> {
    storage_info(names).table(name)
}

fn storage_info(names: &Names<'_>) -> StorageInfo {
    let seen = gather::Gather { names }.databases().into_iter();
    let states = seen.map(|seen| (seen.name, seen.state)).collect();
    StorageInfo { path: names.transactions.search_path(names.database), states }
}

/// The macro of the system that a name stands for.
pub(crate) fn macro_named(kind: DefinitionKind, name: &str) -> Option<Arc<Definition>> {
    let (name, sql) = views::find_macro(kind, name)?;
    Some(Arc::new(Definition { id: 0, kind, name: name.to_string(), owner: None, sql: sql.to_string() }))
}

/// Names of all system functions.
pub(crate) fn function_names() -> Vec<&'static str> {
    tables::FUNCTION_NAMES.iter().map(String::as_str).chain([StorageInfo::NAME]).collect()
}

/// What a name stands for that nothing else has; `schema.name` for one in a schema of system tables.
pub(crate) fn entry(names: &Names<'_>, key: &str) -> Option<(String, CatalogEntry)> {
    let (schema, name) = split_name(key);
    let is_system = SYSTEM_SCHEMAS.iter().any(|known| known.eq_ignore_ascii_case(schema));
    let schemas: &[&str] = if is_system { &[schema] } else { &["main", "pg_catalog"] };
    for schema in schemas {
        if let Some(view) = views::find(schema, if is_system { name } else { key }) {
            let entry = ViewEntry {
                name: qualified(schema, &view.0.to_lowercase()),
                aliases: Vec::new(),
                sql: view.1.to_string(),
            };
            return Some((SYSTEM.to_string(), CatalogEntry::View(Arc::new(entry))));
        }
    }
    let table = if is_system { None } else { table_named(key) }?;
    let is_view = key.to_lowercase().starts_with("duckdb_");
    let source = names.noted(source_of(table, names, is_view))?;
    Some((SYSTEM.to_string(), CatalogEntry::Registered(source)))
}

/// Schema, name and text of each view of the system.
pub(crate) fn all_views() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    views::all().map(|(schema, name, sql)| (*schema, *name, *sql))
}

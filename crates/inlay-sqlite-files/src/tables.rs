//! What a file says of its tables and views.
//!
//! Types follow DuckDB's reader: what is declared decides, by SQLite's rules of affinity and some words more. Where nothing is
//! declared, as in `CREATE TABLE t (a, b)` and for expressions in views, the first rows decide: DuckDB makes BLOBs of all these.

use crate::file::{failed, quoted};
use inlay::types::{LogicalType, Result};
use inlay::{ForeignFile, SourceColumn};
use rusqlite::Connection;
use rusqlite::types::Type;

/// Rows that are looked at for types that are not declared.
const SAMPLE_ROWS: usize = 1000;

/// What a name of the file stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Table,
    View,
    /// A table of a module, such as full text search.
    Virtual,
}

/// How values of a column are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Read {
    Whole,
    Double,
    Text,
    Blob,
    Date,
    Timestamp,
}

impl Read {
    /// The type that it gives.
    pub fn ty(self) -> LogicalType {
        match self {
            Self::Whole => LogicalType::BigInt,
            Self::Double => LogicalType::Double,
            Self::Text => LogicalType::Varchar,
            Self::Blob => LogicalType::Blob,
            Self::Date => LogicalType::Date,
            Self::Timestamp => LogicalType::Timestamp,
        }
    }

    /// What a declared type is read as; nothing where none is declared.
    fn declared(declared: &str) -> Option<Self> {
        let words = declared.to_ascii_lowercase();
        let has = |words_of: &[&str]| words_of.iter().any(|word| words.contains(word));
        Some(match words.trim() {
            "" => return None,
            _ if has(&["int", "bool"]) => Self::Whole,
            _ if has(&["char", "clob", "text"]) => Self::Text,
            _ if has(&["blob"]) => Self::Blob,
            _ if has(&["real", "floa", "doub"]) => Self::Double,
            "date" => Self::Date,
            _ if has(&["time"]) => Self::Timestamp,
            _ if has(&["dec", "num"]) => Self::Double,
            _ => Self::Text,
        })
    }
}

/// A column.
#[derive(Clone, Debug)]
pub struct Column {
    pub name: String,
    /// As it was declared; empty if it was not.
    pub declared: String,
    pub read: Read,
    pub not_null: bool,
    pub default: Option<String>,
    /// Its place in the primary key, from 1; 0 if it is not in it.
    pub key: usize,
    /// It is computed.
    pub is_generated: bool,
}

impl Column {
    /// Whether SQLite keeps all numbers in it as texts.
    pub fn has_text_affinity(&self) -> bool {
        let words = self.declared.to_ascii_lowercase();
        !words.contains("int") && ["char", "clob", "text"].iter().any(|word| words.contains(word))
    }
}

/// A table or view.
#[derive(Clone, Debug)]
pub struct Table {
    pub name: String,
    pub kind: Kind,
    pub columns: Vec<Column>,
    /// What its rows are numbered by, if they are.
    pub row_number: Option<&'static str>,
    /// The statement that made it.
    pub sql: String,
    /// The greatest number of a row.
    pub last_row: Option<i64>,
    /// Whether columns without a declared type have got one.
    pub is_typed: bool,
}

impl Table {
    /// Columns as the engine sees them.
    pub fn source_columns(&self) -> Vec<SourceColumn> {
        let column = |column: &Column| SourceColumn { name: column.name.clone(), ty: column.read.ty() };
        self.columns.iter().map(column).collect()
    }

    /// The one column of an INTEGER PRIMARY KEY, which numbers the rows.
    pub fn numbered_by(&self) -> Option<&Column> {
        let mut keys = self.columns.iter().filter(|column| column.key > 0);
        let (key, None) = (keys.next()?, keys.next()) else { return None };
        (self.row_number.is_some() && key.declared.eq_ignore_ascii_case("integer")).then_some(key)
    }
}

/// Tables and views, and remarks on those that cannot be read.
pub fn tables(
    connection: &Connection,
    file: &ForeignFile,
    only: Option<&str>,
) -> Result<(Vec<Table>, Vec<String>)> {
    let (mut found, mut remarks) = (Vec::new(), Vec::new());
    for (name, kind, has_rows_numbered, sql) in names(connection).map_err(|error| failed(file, &error))? {
        if only.is_some_and(|only| !only.eq_ignore_ascii_case(&name)) {
            continue;
        }
        file.interrupt.check()?;
        match columns(connection, &name) {
            Ok(columns) if columns.is_empty() => remarks.push(format!("\"{name}\" has no columns")),
            Ok(columns) => {
                let mut table =
                    Table { name, kind, columns, row_number: None, sql, last_row: None, is_typed: false };
                table.row_number = row_number(&table, has_rows_numbered);
                found.push(described(connection, file, table)?);
            }
            // A view of what is gone, a module that is not there.
            Err(error) if is_of_definition(&error) => {
                let word = if kind == Kind::View { "view" } else { "table" };
                remarks.push(format!("{word} \"{name}\" is left out, as SQLite cannot read it: {error}"));
            }
            Err(error) => return Err(failed(file, &error)),
        }
    }
    Ok((found, remarks))
}

fn is_of_definition(error: &rusqlite::Error) -> bool {
    error.sqlite_error().is_some_and(|code| code.extended_code == rusqlite::ffi::SQLITE_ERROR)
}

/// Name, kind, whether rows have numbers, and text.
fn names(connection: &Connection) -> rusqlite::Result<Vec<(String, Kind, bool, String)>> {
    let sql = "SELECT l.name, l.type, l.wr, coalesce(s.sql, '') FROM pragma_table_list AS l \
               JOIN sqlite_schema AS s ON s.name = l.name AND s.type IN ('table', 'view') \
               WHERE l.schema = 'main' AND l.name NOT LIKE 'sqlite~_%' ESCAPE '~' ORDER BY s.rowid";
    let mut statement = connection.prepare(sql)?;
    let rows = statement.query_map([], |row| {
        let kind: String = row.get(1)?;
        Ok((row.get(0)?, kind, row.get::<_, i64>(2)? == 0, row.get(3)?))
    })?;
    let mut names = Vec::new();
    for row in rows {
        let (name, kind, has_rows_numbered, sql) = row?;
        let kind = match kind.as_str() {
            "table" => Kind::Table,
            "view" => Kind::View,
            "virtual" => Kind::Virtual,
            // What a module keeps behind its tables.
            _ => continue,
        };
        names.push((name, kind, has_rows_numbered && kind == Kind::Table, sql));
    }
    Ok(names)
}

fn columns(connection: &Connection, table: &str) -> rusqlite::Result<Vec<Column>> {
    let sql = "SELECT name, type, \"notnull\", dflt_value, pk, hidden FROM pragma_table_xinfo(?1)";
    let mut statement = connection.prepare(sql)?;
    let rows = statement.query_map([table], |row| {
        let declared: Option<String> = row.get(1)?;
        let declared = declared.unwrap_or_default();
        let hidden: i64 = row.get(5)?;
        let column = Column {
            name: row.get(0)?,
            read: Read::declared(&declared).unwrap_or(Read::Blob),
            declared,
            not_null: row.get::<_, i64>(2)? != 0,
            default: row.get(3)?,
            key: row.get::<_, i64>(4)?.try_into().unwrap_or(0),
            is_generated: hidden > 1,
        };
        // Hidden ones of modules are arguments.
        Ok((hidden != 1).then_some(column))
    })?;
    rows.filter_map(rusqlite::Result::transpose).collect()
}

/// What the rows of a table are numbered by: a name that no column has taken.
fn row_number(table: &Table, has_rows_numbered: bool) -> Option<&'static str> {
    let is_taken = |name: &&str| table.columns.iter().any(|column| column.name.eq_ignore_ascii_case(name));
    ["rowid", "_rowid_", "oid"].into_iter().find(|name| has_rows_numbered && !is_taken(name))
}

/// A table, with what its rows say of it.
fn described(connection: &Connection, file: &ForeignFile, mut table: Table) -> Result<Table> {
    if file.all_varchar {
        table.columns.iter_mut().for_each(|column| column.read = Read::Text);
    }
    if let Some(number) = table.row_number {
        let sql = format!("SELECT max({number}) FROM {}", quoted(&table.name));
        table.last_row =
            connection.query_row(&sql, [], |row| row.get(0)).map_err(|error| failed(file, &error))?;
    }
    match table.kind {
        _ if file.all_varchar => {}
        Kind::Table => by_rows(connection, &mut table).map_err(|error| failed(file, &error))?,
        // A module that fails may not be needed.
        Kind::Virtual => drop(by_rows(connection, &mut table)),
        Kind::View => {}
    }
    Ok(table)
}

/// Decides columns that have no declared type by the first rows.
pub fn by_rows(connection: &Connection, table: &mut Table) -> rusqlite::Result<()> {
    table.is_typed = true;
    let open: Vec<usize> = (0..table.columns.len())
        .filter(|&index| Read::declared(&table.columns[index].declared).is_none())
        .collect();
    if open.is_empty() {
        return Ok(());
    }
    let names: Vec<String> = open.iter().map(|&index| quoted(&table.columns[index].name)).collect();
    let sql = format!("SELECT {} FROM {} LIMIT {SAMPLE_ROWS}", names.join(", "), quoted(&table.name));
    let mut statement = connection.prepare(&sql)?;
    let mut rows = statement.query([])?;
    let mut seen: Vec<Option<Read>> = vec![None; open.len()];
    while let Some(row) = rows.next()? {
        for (place, seen) in seen.iter_mut().enumerate() {
            *seen = match (row.get_ref(place)?.data_type(), *seen) {
                (Type::Null, before) => before,
                (Type::Integer, None) => Some(Read::Whole),
                (Type::Integer, Some(Read::Double))
                | (Type::Real, None | Some(Read::Whole | Read::Double)) => Some(Read::Double),
                (Type::Integer, Some(Read::Whole)) => Some(Read::Whole),
                (Type::Text, None | Some(Read::Text)) => Some(Read::Text),
                (Type::Integer | Type::Real | Type::Text | Type::Blob, _) => Some(Read::Blob),
            };
        }
    }
    for (index, seen) in open.into_iter().zip(seen) {
        table.columns[index].read = seen.unwrap_or(Read::Blob);
    }
    Ok(())
}

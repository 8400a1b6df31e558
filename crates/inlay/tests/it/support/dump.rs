//! Everything that a database holds, as text: what to compare, whatever way it came to be.

use super::sql::{self, Rows};
use inlay::Connection;
use std::collections::BTreeMap;

/// What there is of each kind, by a text that says which.
pub type Dump = BTreeMap<String, Rows>;

/// Definitions, by the query that lists them; `{}` is the database.
const DEFINITIONS: &[(&str, &str)] = &[
    (
        "schemas",
        "SELECT schema_name, comment FROM duckdb_schemas() WHERE database_name = '{}' AND NOT internal",
    ),
    (
        "tables",
        "SELECT schema_name, table_name, comment, is_materialized_view FROM duckdb_tables() WHERE database_name = '{}' \
         AND NOT temporary",
    ),
    (
        "columns",
        "SELECT schema_name, table_name, column_index, column_name, data_type, is_nullable, column_default, is_generated, \
         generation_expression, identity_generation, comment FROM duckdb_columns() WHERE database_name = '{}' AND NOT internal",
    ),
    (
        "constraints",
        "SELECT schema_name, table_name, constraint_type, constraint_text, constraint_name, is_deferrable, \
         initially_deferred FROM duckdb_constraints() WHERE database_name = '{}'",
    ),
    (
        "indexes",
        "SELECT schema_name, index_name, table_name, is_unique, sql, comment FROM duckdb_indexes() \
         WHERE database_name = '{}'",
    ),
    (
        "sequences",
        "SELECT schema_name, sequence_name, start_value, min_value, max_value, increment_by, cycle, last_value, comment \
         FROM duckdb_sequences() WHERE database_name = '{}' AND NOT temporary",
    ),
    (
        "views",
        "SELECT schema_name, view_name, sql, comment FROM duckdb_views() WHERE database_name = '{}' AND NOT internal \
         AND NOT temporary",
    ),
    (
        "types",
        "SELECT schema_name, type_name, logical_type, labels, comment FROM duckdb_types() WHERE database_name = '{}' \
         AND NOT internal",
    ),
    (
        "macros",
        "SELECT schema_name, function_name, function_type, parameters, macro_definition, comment FROM duckdb_functions() \
         WHERE database_name = '{}' AND NOT internal",
    ),
    (
        "rights",
        "SELECT schema_name, object_name, object_type, column_name, grantee, privilege_type, is_grantable FROM inlay_privileges() \
         WHERE database_name = '{}' AND object_type <> 'database'",
    ),
];

/// Where a row of "sequences" has the last number that was given.
pub const LAST_VALUE: usize = 7;

/// What a connection sees of a database that is open or attached.
pub fn dump(connection: &Connection, database: &str) -> Result<Dump, String> {
    let mut found = Dump::new();
    for (kind, query) in DEFINITIONS {
        let query = query.replace("{}", database);
        let rows = sql::rows(connection, &query).map_err(|error| format!("{query}: {error}"))?;
        found.insert((*kind).to_string(), rows);
    }
    let names = |rows: &Rows| -> Vec<String> {
        rows.iter()
            .map(|row| format!("{}.{}", row[0].trim_matches('\''), row[1].trim_matches('\'')))
            .collect()
    };
    let tables = names(&found["tables"]);
    for relation in tables.iter().cloned().chain(names(&found["views"])) {
        let query = format!("SELECT * FROM {database}.{relation}");
        // A view whose table is gone, or has other columns now, has an error for its rows.
        let rows = match sql::rows(connection, &query) {
            Ok(rows) => rows,
            Err(error) if !tables.contains(&relation) => vec![vec![error.sqlstate().to_string()]],
            Err(error) => return Err(format!("{query}: {error}")),
        };
        found.insert(format!("rows of {relation}"), rows);
    }
    Ok(found)
}

/// Where two dumps first differ.
pub fn difference(found: &Dump, expected: &Dump) -> Option<String> {
    for key in found.keys().chain(expected.keys()) {
        let (left, right) = (found.get(key), expected.get(key));
        let (Some(left), Some(right)) = (left, right) else {
            return Some(format!("{key}: found {left:?}, expected {right:?}"));
        };
        let at = (0..left.len().max(right.len())).find(|&row| left.get(row) != right.get(row));
        if let Some(row) = at {
            return Some(format!(
                "{key}, row {row} of {} and {}: found {:?}, expected {:?}",
                left.len(),
                right.len(),
                left.get(row),
                right.get(row)
            ));
        }
    }
    None
}

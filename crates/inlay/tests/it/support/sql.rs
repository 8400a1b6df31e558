//! Answers as text, and what an error means to the test that got it.

use inlay::{Connection, Database, Error, QueryResult, ResultKind, Value};

/// Rows as text, sorted: tables are multisets.
pub type Rows = Vec<Vec<String>>;

/// Opens a database file with settings written as texts.
pub fn open(path: &str, config: &[(&str, &str)]) -> inlay::Result<Database> {
    Database::open(path, &settings(config))
}

/// Settings as the API takes them.
pub fn settings(config: &[(&str, &str)]) -> Vec<(String, Value)> {
    config.iter().map(|(name, value)| ((*name).to_string(), Value::Varchar((*value).to_string()))).collect()
}

/// The rows of a query, sorted.
pub fn rows(connection: &Connection, sql: &str) -> inlay::Result<Rows> {
    connection.execute(sql).map(|result| rows_of(&result))
}

/// The rows of a result, sorted; none for a statement that answers none.
pub fn rows_of(result: &QueryResult) -> Rows {
    if result.kind() != ResultKind::Rows {
        return Vec::new();
    }
    let mut rows: Rows = (0..result.row_count())
        .map(|row| {
            (0..result.names().len()).map(|column| text(&result.value(row, column).unwrap())).collect()
        })
        .collect();
    rows.sort();
    rows
}

/// The first value of a query as a number; NULL is 0.
pub fn number(connection: &Connection, sql: &str) -> inlay::Result<i64> {
    let result = connection.execute(sql)?;
    Ok(match result.value(0, 0)? {
        Value::Null => 0,
        value => value.to_string().parse().unwrap_or_else(|_| panic!("{sql} answers {value}")),
    })
}

fn text(value: &Value) -> String {
    match value {
        Value::Null => "NULL".to_string(),
        Value::Varchar(text) => format!("'{text}'"),
        other => other.to_string(),
    }
}

/// Whether an error asks to retry the transaction.
pub fn is_conflict(error: &Error) -> bool {
    error.sqlstate() == "40001"
}

/// Runs `work` in a transaction until no conflict gets in its way. Counts the conflicts.
pub fn retried<T>(
    connection: &Connection,
    conflicts: &mut u64,
    mut work: impl FnMut(&Connection) -> inlay::Result<T>,
) -> inlay::Result<T> {
    loop {
        let attempt = connection.execute("BEGIN").and_then(|_| work(connection)).and_then(|value| {
            connection.execute("COMMIT")?;
            Ok(value)
        });
        match attempt {
            Ok(value) => return Ok(value),
            Err(error) => {
                if connection.in_transaction() {
                    connection.execute("ROLLBACK")?;
                }
                if !is_conflict(&error) {
                    return Err(error);
                }
                *conflicts += 1;
            }
        }
    }
}

/// What `PRAGMA verify` found: nothing, or what it says.
pub fn verify(connection: &Connection) -> Result<(), String> {
    let result = connection.execute("PRAGMA verify").map_err(|error| error.to_string())?;
    let found = rows_of(&result);
    if found.is_empty() || found == [["'ok'"]] { Ok(()) } else { Err(format!("{found:?}")) }
}

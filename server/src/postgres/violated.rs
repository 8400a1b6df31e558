//! Which constraint a row violates, as fields of an error that object-relational mappers and tools read.
//!
//! The engine's messages name the table, and the constraint or the column; of a key they name its columns, and the catalog knows what it is called.

use super::message::Violated;
use crate::session::Call;
use inlay::{Error, ErrorKind, sql};

/// Whether an error is about a constraint.
pub fn is_violation(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Unique | ErrorKind::Check | ErrorKind::ForeignKey | ErrorKind::NotNull)
}

/// What stands in quotes behind a word.
fn behind(message: &str, word: &str) -> Option<String> {
    let (_, rest) = message.split_once(&format!("{word} \""))?;
    rest.split_once('"').map(|(name, _)| name.to_string())
}

/// The names in a message of the engine's.
pub fn named_in(message: &str) -> Violated {
    let table = behind(message, "table");
    let (schema, table) = match table.as_deref().and_then(|table| table.rsplit_once('.')) {
        Some((schema, table)) => (Some(schema.to_string()), Some(table.to_string())),
        None => (None, table),
    };
    let constraint = behind(message, "constraint").or_else(|| behind(message, "foreign key"));
    // Whoever may not read the values is not told them.
    let key = message
        .strip_prefix("duplicate key (")
        .and_then(|rest| rest.split_once(") = (").or_else(|| rest.split_once(") violates the uniqueness")));
    // Until the catalog says what it is called, a key is known by its columns.
    let column = behind(message, "column").or_else(|| key.map(|(columns, _)| columns.to_string()));
    Violated { schema, table, column, constraint }
}

/// The name of a key that is known by its columns, and the schema of the table.
pub fn complete(call: &Call, known: Violated) -> Violated {
    let Violated { schema, table, column, constraint } = known;
    let Some(name) = table.clone() else { return Violated { schema, table, column, constraint } };
    let is_here = format!(
        "table_name = {} AND database_name IN (current_database(), 'temp') AND schema_name = {}",
        sql::literal(&name),
        schema.as_deref().map_or("current_schema()".to_string(), sql::literal)
    );
    let first = |query: &str| -> Option<String> {
        let answer = call.connection.execute(query).ok()?;
        let row = answer.rows().next()?.ok()?;
        row.get(0).ok()
    };
    let schema = schema.or_else(|| first(&format!("SELECT schema_name FROM inlay_tables() WHERE {is_here}")));
    if constraint.is_some() {
        return Violated { schema, table, column: None, constraint };
    }
    let key = column.as_deref().and_then(|columns| {
        let columns = sql::literal(&format!("[{columns}]"));
        first(&format!(
            "SELECT constraint_name FROM inlay_constraints()
             WHERE {is_here} AND constraint_column_names = {columns} AND constraint_type IN ('PRIMARY KEY', 'UNIQUE')
             UNION ALL SELECT index_name FROM inlay_indexes() WHERE {is_here} AND expressions = {columns} AND is_unique"
        ))
    });
    match key {
        Some(key) => Violated { schema, table, column: None, constraint: Some(key) },
        None => Violated { schema, table, column, constraint },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_the_engine_have_names() {
        let names = |message: &str| {
            let Violated { schema, table, column, constraint } = named_in(message);
            [schema, table, column, constraint].map(Option::unwrap_or_default)
        };
        assert_eq!(
            names("duplicate key (a, b) = (1, 2) violates the uniqueness of table \"s.t\""),
            ["s", "t", "a, b", ""]
        );
        assert_eq!(
            names("duplicate key (a, b) violates the uniqueness of table \"t\""),
            ["", "t", "a, b", ""]
        );
        assert_eq!(names("CHECK constraint \"c\" of table \"t\" is violated by (a = 1)"), ["", "t", "", "c"]);
        assert_eq!(names("NULL in column \"a\" of table \"t\", which is NOT NULL"), ["", "t", "a", ""]);
        assert_eq!(
            names("foreign key \"f\" of table \"t\" is violated: (a) = (7) is not in table \"u\""),
            ["", "t", "", "f"]
        );
    }
}

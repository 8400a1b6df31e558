//! What there is: tables, columns, indexes, functions, and the statements that made them.

use super::{one, usage};
use crate::session::{Done, Session, said};
use inlay::sql;

pub fn tables(session: &mut Session, words: &[String]) -> Done {
    let relations =
        "SELECT database_name, schema_name, table_name AS name FROM inlay_tables() WHERE NOT internal
        UNION ALL SELECT database_name, schema_name, view_name FROM inlay_views() WHERE NOT internal";
    list_names(session, "tables", words, relations)
}

pub fn views(session: &mut Session, words: &[String]) -> Done {
    let views = "SELECT database_name, schema_name, view_name AS name FROM inlay_views() WHERE NOT internal";
    list_names(session, "views", words, views)
}

/// Names side by side, with schema and database where they are not the current ones.
fn list_names(session: &mut Session, command: &str, words: &[String], relations: &str) -> Done {
    let pattern = match words {
        [] => "%".to_string(),
        [pattern] => like(pattern),
        _ => return usage(command),
    };
    let sql = format!(
        "SELECT CASE WHEN database_name = current_database() OR database_name = 'temp' THEN '' ELSE database_name || '.' END
             || CASE WHEN schema_name IN (current_schema(), 'main') THEN '' ELSE schema_name || '.' END || name AS shown
         FROM ({relations}) WHERE name ILIKE {} ORDER BY lower(shown)",
        sql::literal(&pattern)
    );
    let names: Vec<String> = session.texts(&sql)?.into_iter().flatten().collect();
    if names.is_empty() {
        return Ok(());
    }
    let width = if session.output.is_terminal() {
        crossterm::terminal::size().map_or(80, |(columns, _)| usize::from(columns))
    } else {
        80
    };
    session.print(&side_by_side(&names, width))
}

/// Names in columns, down first.
fn side_by_side(names: &[String], width: usize) -> String {
    use unicode_width::UnicodeWidthStr;
    let widest = names.iter().map(|name| name.width()).max().unwrap_or(0) + 2;
    let columns = (width / widest).max(1);
    let rows = names.len().div_ceil(columns);
    let line = |row: usize| {
        let cells = (row..names.len()).step_by(rows).map(|index| &names[index]);
        let padded: String =
            cells.map(|name| format!("{name}{}", " ".repeat(widest - name.width()))).collect();
        padded.trim_end().to_string()
    };
    (0..rows).map(line).collect::<Vec<_>>().join("\n")
}

/// A pattern of LIKE from what was typed: one of LIKE, or one with `*` and `?`.
fn like(pattern: &str) -> String {
    pattern.replace('*', "%").replace('?', "_")
}

pub fn databases(session: &mut Session, words: &[String]) -> Done {
    if !words.is_empty() {
        return usage("databases");
    }
    let result = session.query(
        "SELECT database_name AS name, path AS file, readonly AS read_only FROM inlay_databases() WHERE NOT internal ORDER BY database_oid",
    )?;
    session.show_table(&result)
}

pub fn columns(session: &mut Session, words: &[String]) -> Done {
    let name = one("columns", words)?;
    let result = session.query(&format!("DESCRIBE {}", sql::table_path(name)?))?;
    session.show_table(&result)
}

pub fn indexes(session: &mut Session, words: &[String]) -> Done {
    let filter = match words {
        [] => String::new(),
        [table] => format!("WHERE table_name ILIKE {}", sql::literal(&like(table))),
        _ => return usage("indexes"),
    };
    let result = session.query(&format!(
        "SELECT schema_name AS schema, table_name AS table, index_name AS index, is_unique AS unique, expressions
         FROM inlay_indexes() {filter} ORDER BY 1, 2, 3"
    ))?;
    session.show_table(&result)
}

/// `.schema [PATTERN]`: tables, then what belongs to them; each statement ends with a semicolon.
pub fn schema(session: &mut Session, words: &[String]) -> Done {
    let pattern = match words {
        [] => "%".to_string(),
        [pattern] => like(pattern),
        _ => return usage("schema"),
    };
    let (schema, name) = pattern.split_once('.').unwrap_or(("%", &pattern));
    let (schema, name) = (sql::literal(schema), sql::literal(name));
    let all = session.texts(&format!(
        "SELECT sql FROM (
            SELECT 0 AS kind, database_oid, schema_oid AS place, sequence_name AS name, schema_name, sequence_name AS own, sql FROM inlay_sequences()
            UNION ALL SELECT 1, database_oid, schema_oid, table_name, schema_name, table_name, sql FROM inlay_tables() WHERE NOT internal
            UNION ALL SELECT 1, database_oid, schema_oid, table_name, schema_name, index_name, sql FROM inlay_indexes()
            UNION ALL SELECT 2, database_oid, schema_oid, view_name, schema_name, view_name, sql FROM inlay_views() WHERE NOT internal)
         WHERE sql IS NOT NULL AND name ILIKE {name} AND schema_name ILIKE {schema}
         ORDER BY database_oid, kind, place, name, sql LIKE 'CREATE%INDEX%', own"
    ))?;
    let ended = |row: Vec<String>| {
        let text = row.concat();
        if text.trim_end().ends_with(';') { text } else { format!("{text};") }
    };
    let statements: Vec<String> = all.into_iter().map(ended).collect();
    if statements.is_empty() { Ok(()) } else { session.print(&statements.join("\n")) }
}

pub fn functions_command(session: &mut Session, words: &[String]) -> Done {
    match words {
        [] => functions(session, "%"),
        [pattern] => functions(session, &like(pattern)),
        _ => usage("functions"),
    }
}

/// `.functions`, `\df`: functions whose name is like the pattern, or else whose description has it.
pub fn functions(session: &mut Session, pattern: &str) -> Done {
    let pattern = if pattern.contains(['%', '_']) { pattern.to_string() } else { format!("%{pattern}%") };
    let pattern = sql::literal(&pattern);
    let result = session.query(&format!(
        "SELECT signature, function_type AS kind, coalesce(description, '') AS description FROM inlay_functions()
         WHERE function_name ILIKE {pattern} ORDER BY function_name, signature"
    ))?;
    if result.row_count() == 0 {
        return said(format!("no function is called like {pattern}"));
    }
    session.show_table(&result)
}

/// `\d name`: columns, indexes and constraints of a table or view.
pub fn describe(session: &mut Session, name: &str) -> Done {
    let parts = sql::table_parts(name)?;
    let columns = session.query(&format!("DESCRIBE {}", sql::path(&parts)))?;
    session.show_table(&columns)?;
    let is_own = |column: &str| {
        let own = parts.last().map_or("", String::as_str);
        format!("lower({column}) = lower({})", sql::literal(own))
    };
    let (table, view) = (is_own("table_name"), is_own("view_name"));
    let lines = session.texts(&format!(
        "SELECT sql FROM inlay_indexes() WHERE {table}
         UNION ALL SELECT constraint_text FROM inlay_constraints() WHERE {table} AND constraint_type <> 'NOT NULL'
         UNION ALL SELECT sql FROM inlay_views() WHERE {view} AND NOT internal"
    ))?;
    let lines: Vec<String> = lines.into_iter().map(|row| format!("    {}", row.concat())).collect();
    if lines.is_empty() { Ok(()) } else { session.print(&lines.join("\n")) }
}

/// `\d`, `\dt`, `\dv`: relations of these kinds.
pub fn list_relations(session: &mut Session, kinds: &[&str], pattern: &str) -> Done {
    let kinds: Vec<String> = kinds.iter().map(|kind| sql::literal(kind)).collect();
    let result = session.query(&format!(
        "SELECT schema, name, type FROM (
            SELECT schema_name AS schema, table_name AS name, CASE WHEN is_materialized_view THEN 'materialized view' ELSE 'table' END AS type
                FROM inlay_tables() WHERE NOT internal
            UNION ALL SELECT schema_name, view_name, 'view' FROM inlay_views() WHERE NOT internal
            UNION ALL SELECT schema_name, sequence_name, 'sequence' FROM inlay_sequences()
            UNION ALL SELECT schema_name, index_name, 'index' FROM inlay_indexes())
         WHERE type IN ({}) AND name ILIKE {} ORDER BY 1, 2",
        kinds.join(", "),
        sql::literal(&like(pattern))
    ))?;
    if result.row_count() == 0 {
        return session.print("nothing of that kind");
    }
    session.show_table(&result)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_listed_down_first() {
        let names: Vec<String> = ["a", "bb", "ccc", "d", "e"].map(String::from).to_vec();
        assert_eq!(side_by_side(&names, 11), "a    d\nbb   e\nccc");
        assert_eq!(side_by_side(&names, 3), "a\nbb\nccc\nd\ne");
    }
}

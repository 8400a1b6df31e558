//! `sqlite_sequence`: the greatest number that a row of each table with AUTOINCREMENT ever had, so that none is given twice.
//!
//! The greatest number of the rows that are there is in the table itself. So a row of `sqlite_sequence` is written only when it is about to
//! be needed: before rows are deleted, and before the program looks at `sqlite_sequence`. INSERT costs nothing more.

use crate::connection::Db;
use crate::failure::Outcome;
use crate::lexer::{Token, ident};
use crate::schema::{Table, qualified};
use std::sync::Arc;

/// The table.
const NAME: &str = "sqlite_sequence";

/// Whether a name is that of the table.
pub fn is_it(name: &str) -> bool {
    name.eq_ignore_ascii_case(NAME)
}

/// Makes the table, with the first AUTOINCREMENT of a file.
pub fn make(db: &Arc<Db>) -> Outcome<()> {
    if db.table(Some("main"), NAME)?.is_some() {
        return Ok(());
    }
    let path = qualified(Some("main"), NAME);
    db.run(&format!("CREATE TABLE {path} (name VARCHAR, seq BIGINT)"))?;
    db.keep_text("TABLE", &path, "CREATE TABLE sqlite_sequence(name,seq)")
}

/// The tables whose rows of `sqlite_sequence` have to be right before a statement runs.
pub fn needed(db: &Arc<Db>, tokens: &[Token<'_>], target: Option<&Table>) -> Outcome<Vec<Arc<Table>>> {
    let looks = tokens.iter().filter_map(Token::name).any(|name| is_it(&name));
    let deletes = target.is_some() && tokens.iter().any(|token| token.is_any(&["delete", "replace"]));
    if !looks && !deletes || db.table(Some("main"), NAME)?.is_none() {
        return Ok(Vec::new());
    }
    let is_gone = |table: &Arc<Table>| {
        target.is_some_and(|target| target.name.eq_ignore_ascii_case(&table.name))
            || table.foreign_keys.iter().any(|key| key.on_delete.eq_ignore_ascii_case("cascade"))
    };
    let all = counted(db)?;
    Ok(all.into_iter().filter(|table| looks || is_gone(table)).collect())
}

/// The tables with AUTOINCREMENT.
fn counted(db: &Arc<Db>) -> Outcome<Vec<Arc<Table>>> {
    let sql = "SELECT table_name FROM inlay_tables() WHERE NOT temporary \
               AND lower(comment) LIKE '%autoincrement%' ORDER BY table_name";
    let mut found = Vec::new();
    for row in db.rows(sql, Vec::new())? {
        let Some(name) = row.first().map(ToString::to_string) else { continue };
        found.extend(db.table(Some("main"), &name)?.filter(|table| table.autoincrement));
    }
    Ok(found)
}

/// Writes how far the tables are.
pub fn settle(db: &Arc<Db>, tables: &[Arc<Table>]) -> Outcome<()> {
    let path = qualified(Some("main"), NAME);
    for table in tables {
        let rowid = ident(table.rowid_name().unwrap_or("rowid"));
        let own = qualified(Some("main"), &table.name);
        let name = crate::lexer::literal(&table.name);
        let changed = format!(
            "UPDATE {path} SET seq = (SELECT max({rowid}) FROM {own}) WHERE name = {name} AND seq < (SELECT max({rowid}) FROM {own})"
        );
        let made = format!(
            "INSERT INTO {path} SELECT {name}, m FROM (SELECT max({rowid}) AS m FROM {own}) \
             WHERE m IS NOT NULL AND NOT EXISTS (SELECT 1 FROM {path} WHERE name = {name})"
        );
        db.run(&changed)?;
        db.run(&made)?;
    }
    Ok(())
}

/// The greatest number that is noted of a table.
pub fn noted(db: &Db, table: &Table) -> Outcome<i128> {
    if !table.autoincrement || db.table(Some("main"), NAME)?.is_none() {
        return Ok(0);
    }
    let sql = format!("SELECT max(seq) FROM {} WHERE name = $1", qualified(Some("main"), NAME));
    let rows = db.rows(&sql, vec![table.name.as_str().into()])?;
    Ok(rows.first().and_then(|row| row.first()).and_then(inlay::Value::as_i128).unwrap_or(0))
}

/// What forgets a table that is dropped.
pub fn forgotten(table: &Table) -> String {
    let name = crate::lexer::literal(&table.name);
    format!("DELETE FROM {} WHERE name = {name}", qualified(Some("main"), NAME))
}

/// What gives a table another name.
pub fn renamed(table: &Table, new: &str) -> String {
    let (old, new) = (crate::lexer::literal(&table.name), crate::lexer::literal(new));
    format!("UPDATE {} SET name = {new} WHERE name = {old}", qualified(Some("main"), NAME))
}

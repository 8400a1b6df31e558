//! What there is: tables looked up, PRAGMA statements, and their functions in FROM.

use crate::compile::{Compiled, Output, Work};
use crate::connection::Db;
use crate::failure::{ERROR, Outcome, failed};
use crate::hooks;
use crate::lexer::{Kind, Walk, ident, written};
use crate::schema::{Column, MARK, Table, near};
use crate::value::Cell;
use inlay::Value;
use std::sync::Arc;

fn text(value: &Value) -> String {
    if value.is_null() { String::new() } else { value.to_string() }
}

/// Which database a schema's name means, as a condition.
fn place(schema: Option<&str>) -> String {
    match schema.map(str::to_lowercase).as_deref() {
        None => "(database_name = current_database() OR temporary)".to_string(),
        Some("main") => "database_name = current_database() AND NOT temporary".to_string(),
        Some("temp") => "temporary".to_string(),
        Some(other) => format!("lower(database_name) = {}", crate::lexer::literal(other)),
    }
}

/// Looks a table or view up.
pub fn load(db: &Db, schema: Option<&str>, name: &str) -> Outcome<Option<Table>> {
    let place = place(schema);
    let sql = format!(
        "SELECT table_name, comment, temporary, false, table_oid, database_name FROM inlay_tables() WHERE lower(table_name) = lower($1) AND {place}
         UNION ALL SELECT view_name, comment, temporary, true, view_oid, database_name FROM inlay_views()
         WHERE NOT internal AND lower(view_name) = lower($1) AND {place} ORDER BY 3 DESC LIMIT 1"
    );
    let found = db.rows(&sql, vec![name.into()])?;
    let Some([own, comment, temporary, view, oid, database]) =
        found.first().and_then(|row| <&[Value; 6]>::try_from(&row[..]).ok())
    else {
        return Ok(None);
    };
    let is_view = *view == Value::Boolean(true);
    let sql = "SELECT column_name, data_type, NOT is_nullable, column_default FROM inlay_columns()
               WHERE table_oid = $1 AND database_name = $2 AND table_name = $3 ORDER BY column_index";
    let columns = db.rows(sql, vec![oid.clone(), database.clone(), own.clone()])?;
    let columns: Vec<Column> = columns
        .iter()
        .map(|row| {
            let ty = text(&row[1]);
            let mut column = Column::of_engine(text(&row[0]), &ty, row[2] == Value::Boolean(true));
            column.default = (!row[3].is_null()).then(|| text(&row[3]));
            column
        })
        .collect();
    let given = match comment {
        Value::Varchar(comment) => comment.strip_prefix(MARK).map(str::to_string),
        _ => None,
    };
    let mut table = match given.as_deref().filter(|_| !is_view).and_then(|given| db.table_of_text(given)) {
        Some(mut table) => {
            for column in &mut table.columns {
                let known = columns.iter().find(|known| known.name.eq_ignore_ascii_case(&column.name));
                column.engine = known.and_then(|known| known.engine.clone());
            }
            table
        }
        None => Table { columns, ..Table::default() },
    };
    if table.text.is_none() && !is_view {
        keys_of_engine(db, &text(own), &mut table)?;
    }
    table.name = text(own);
    table.text = given;
    table.is_view = is_view;
    table.temporary = *temporary == Value::Boolean(true);
    Ok(Some(table))
}

/// Keys of a table that was made in another language.
fn keys_of_engine(db: &Db, name: &str, table: &mut Table) -> Outcome<()> {
    let sql = "SELECT column_name FROM inlay_key_columns()
               WHERE table_name = $1 AND constraint_type = 'PRIMARY KEY' ORDER BY ordinal_position";
    let names: Vec<String> = db.rows(sql, vec![name.into()])?.iter().map(|row| text(&row[0])).collect();
    for (place, name) in names.iter().enumerate() {
        if let Some(index) = table.position(name) {
            table.columns[index].key = place + 1;
        }
    }
    if let [only] = &names[..] {
        let position = table.position(only);
        table.rowid = position.filter(|index| table.columns[*index].engine.as_deref() == Some("BIGINT"));
    }
    if !names.is_empty() {
        table.keys.push((names, true));
    }
    Ok(())
}

/// Names of all tables, as they were made.
pub fn tables(db: &Db) -> Outcome<Vec<Arc<Table>>> {
    let sql = "SELECT table_name FROM inlay_tables() WHERE database_name = current_database() OR temporary ORDER BY table_oid";
    let names = db.rows(sql, Vec::new())?;
    let mut found = Vec::new();
    for row in names {
        found.extend(db.table(None, &text(&row[0]))?);
    }
    Ok(found)
}

type Rows = Vec<Vec<Cell>>;

fn cell(value: impl Into<String>) -> Cell {
    Cell::Text(value.into())
}

fn number(value: usize) -> Cell {
    Cell::Integer(value as i64)
}

fn optional(value: Option<&String>) -> Cell {
    value.map_or(Cell::Null, |value| cell(value.clone()))
}

fn table_info(table: &Table, hidden: bool) -> Rows {
    let shown = table.columns.iter().filter(|column| hidden || column.hidden == 0);
    let row = |(index, column): (usize, &Column)| {
        let mut row = vec![
            number(index),
            cell(column.name.clone()),
            cell(column.declared.clone().unwrap_or_default()),
            number(usize::from(column.not_null)),
            optional(column.default.as_ref()),
            number(column.key),
        ];
        if hidden {
            row.push(number(usize::from(column.hidden)));
        }
        row
    };
    shown.enumerate().map(row).collect()
}

/// An index: its name, whether it is unique, where it comes from, whether it has a condition, and its columns.
struct Index {
    name: String,
    unique: bool,
    origin: &'static str,
    partial: bool,
    columns: Vec<Option<String>>,
}

fn indexes(db: &Db, table: &Table) -> Outcome<Vec<Index>> {
    let sql = "SELECT index_name, is_unique, comment, sql FROM inlay_indexes() WHERE lower(table_name) = lower($1) ORDER BY index_oid DESC";
    let mut found = Vec::new();
    for row in db.rows(sql, vec![table.name.as_str().into()])? {
        let given = text(&row[2]);
        let written = given.strip_prefix(MARK).map_or_else(|| text(&row[3]), str::to_string);
        let (tokens, _) = crate::lexer::statement(&written);
        let inner = tokens
            .iter()
            .position(|token| token.is_sign("("))
            .and_then(|start| Walk { tokens: &tokens, at: start }.parenthesised().map(<[_]>::to_vec));
        let columns = inner.map_or_else(Vec::new, |inner| {
            let column =
                |part: &[crate::lexer::Token<'_>]| match part.first().and_then(crate::lexer::Token::name) {
                    Some(name) if part.get(1).is_none_or(|next| next.is_any(&["asc", "desc", "collate"])) => {
                        Some(name)
                    }
                    _ => None,
                };
            crate::lexer::parts(&inner).into_iter().map(column).collect()
        });
        let partial = tokens.iter().any(|token| token.is("where"));
        found.push(Index {
            name: text(&row[0]),
            unique: row[1] == Value::Boolean(true),
            origin: "c",
            partial,
            columns,
        });
    }
    let automatic = table.keys.iter().filter(|(names, is_primary)| {
        let is_rowid = table
            .rowid_name()
            .is_some_and(|name| matches!(&names[..], [only] if only.eq_ignore_ascii_case(name)));
        !(*is_primary && is_rowid)
    });
    let mut automatic: Vec<Index> = automatic
        .enumerate()
        .map(|(place, (names, is_primary))| Index {
            name: format!("sqlite_autoindex_{}_{}", table.name, place + 1),
            unique: true,
            origin: if *is_primary { "pk" } else { "u" },
            partial: false,
            columns: names.iter().cloned().map(Some).collect(),
        })
        .collect();
    automatic.reverse();
    found.extend(automatic);
    Ok(found)
}

fn index_list(db: &Db, table: &Table) -> Outcome<Rows> {
    let row = |(place, index): (usize, Index)| {
        let (unique, partial) = (number(usize::from(index.unique)), number(usize::from(index.partial)));
        vec![number(place), cell(index.name), unique, cell(index.origin), partial]
    };
    Ok(indexes(db, table)?.into_iter().enumerate().map(row).collect())
}

fn index_info(db: &Db, name: &str, more: bool) -> Outcome<Rows> {
    let mut rows = Vec::new();
    for table in tables(db)? {
        for index in indexes(db, &table)?.into_iter().filter(|index| index.name.eq_ignore_ascii_case(name)) {
            for (place, column) in index.columns.iter().enumerate() {
                let position = column.as_ref().and_then(|column| table.position(column));
                let id = position.map_or(Cell::Integer(-2), number);
                let mut row = vec![number(place), id, optional(column.as_ref())];
                if more {
                    row.extend([number(0), cell("BINARY"), number(1)]);
                }
                rows.push(row);
            }
            if more {
                let place = number(index.columns.len());
                rows.push(vec![place, Cell::Integer(-1), Cell::Null, number(0), cell("BINARY"), number(0)]);
            }
        }
    }
    Ok(rows)
}

fn foreign_keys(table: &Table) -> Rows {
    let mut rows = Vec::new();
    for (id, key) in table.foreign_keys.iter().rev().enumerate() {
        for (place, column) in key.columns.iter().enumerate() {
            rows.push(vec![
                number(id),
                number(place),
                cell(key.table.clone()),
                cell(column.clone()),
                optional(key.referenced.get(place)),
                cell(key.on_update.clone()),
                cell(key.on_delete.clone()),
                cell("NONE"),
            ]);
        }
    }
    rows
}

fn databases(db: &Db) -> Outcome<Rows> {
    let file = db.filename.to_string_lossy().into_owned();
    let mut rows = vec![vec![number(0), cell("main"), cell(file)]];
    let sql = "SELECT database_name, path FROM inlay_databases() WHERE NOT internal AND database_name != current_database() ORDER BY database_oid";
    for (place, row) in db.rows(sql, Vec::new())?.iter().enumerate() {
        rows.push(vec![number(place + 2), cell(text(&row[0])), cell(text(&row[1]))]);
    }
    Ok(rows)
}

fn table_list(db: &Db) -> Outcome<Rows> {
    let sql =
        "SELECT table_name, false FROM inlay_tables() WHERE database_name = current_database() OR temporary
               UNION ALL SELECT view_name, true FROM inlay_views() WHERE NOT internal";
    let mut rows = Vec::new();
    for row in db.rows(sql, Vec::new())? {
        let Some(table) = db.table(None, &text(&row[0]))? else { continue };
        rows.push(vec![
            cell(if table.temporary { "temp" } else { "main" }),
            cell(table.name.clone()),
            cell(if table.is_view { "view" } else { "table" }),
            number(table.columns.len()),
            number(usize::from(table.without_rowid)),
            number(0),
        ]);
    }
    Ok(rows)
}

fn functions(db: &Db) -> Outcome<Rows> {
    let sql = "SELECT DISTINCT function_name, CASE function_type WHEN 'aggregate' THEN 'a' ELSE 's' END FROM inlay_functions()
               WHERE function_type IN ('scalar', 'aggregate') AND NOT starts_with(function_name, 'sqlite_') ORDER BY 1";
    let row = |row: &Vec<Value>| {
        vec![cell(text(&row[0])), number(1), cell(text(&row[1])), cell("utf8"), Cell::Integer(-1), number(0)]
    };
    Ok(db.rows(sql, Vec::new())?.iter().map(row).collect())
}

/// Columns of PRAGMAs that give rows of several, by name.
const COLUMNS: [(&str, &[&str]); 15] = [
    ("table_info", &["cid", "name", "type", "notnull", "dflt_value", "pk"]),
    ("table_xinfo", &["cid", "name", "type", "notnull", "dflt_value", "pk", "hidden"]),
    ("table_list", &["schema", "name", "type", "ncol", "wr", "strict"]),
    ("index_list", &["seq", "name", "unique", "origin", "partial"]),
    ("index_info", &["seqno", "cid", "name"]),
    ("index_xinfo", &["seqno", "cid", "name", "desc", "coll", "key"]),
    ("foreign_key_list", &["id", "seq", "table", "from", "to", "on_update", "on_delete", "match"]),
    ("foreign_key_check", &["table", "rowid", "parent", "fkid"]),
    ("database_list", &["seq", "name", "file"]),
    ("function_list", &["name", "builtin", "type", "enc", "narg", "flags"]),
    ("collation_list", &["seq", "name"]),
    ("module_list", &["name"]),
    ("pragma_list", &["name"]),
    ("compile_options", &["compile_options"]),
    ("wal_checkpoint", &["busy", "log", "checkpointed"]),
];

/// PRAGMAs that have a value, and the one that they have at first. Those that nothing here depends on are kept as they are set.
const VALUES: [(&str, &str); 35] = [
    ("user_version", "0"),
    ("application_id", "0"),
    ("schema_version", "1"),
    ("data_version", "1"),
    ("foreign_keys", "0"),
    ("journal_mode", "wal"),
    ("synchronous", "2"),
    ("busy_timeout", "0"),
    ("cache_size", "-2000"),
    ("page_size", "4096"),
    ("page_count", "1"),
    ("max_page_count", "1073741823"),
    ("freelist_count", "0"),
    ("encoding", "UTF-8"),
    ("auto_vacuum", "0"),
    ("locking_mode", "normal"),
    ("temp_store", "0"),
    ("mmap_size", "0"),
    ("wal_autocheckpoint", "1000"),
    ("journal_size_limit", "-1"),
    ("recursive_triggers", "0"),
    ("defer_foreign_keys", "0"),
    ("ignore_check_constraints", "0"),
    ("legacy_alter_table", "0"),
    ("case_sensitive_like", "0"),
    ("secure_delete", "0"),
    ("query_only", "0"),
    ("read_uncommitted", "0"),
    ("reverse_unordered_selects", "0"),
    ("automatic_index", "1"),
    ("cell_size_check", "0"),
    ("checkpoint_fullfsync", "0"),
    ("fullfsync", "0"),
    ("trusted_schema", "1"),
    ("writable_schema", "0"),
];

/// PRAGMAs that do something, or that check something and find it well.
const DEEDS: [&str; 8] = [
    "integrity_check",
    "quick_check",
    "optimize",
    "shrink_memory",
    "incremental_vacuum",
    "analysis_limit",
    "threads",
    "hard_heap_limit",
];

/// Reads PRAGMA behind its word.
pub fn compile(db: &Arc<Db>, walk: &mut Walk<'_, '_>, compiled: &mut Compiled) -> Outcome<()> {
    let Some((schema, name)) = walk.path() else { return Err(near(walk.peek())) };
    let name = name.to_lowercase();
    let mut argument = None;
    if walk.sign("=") {
        let rest = &walk.tokens[walk.at..];
        argument = Some(value_of(rest));
        walk.at = walk.tokens.len();
    } else if let Some(inner) = walk.parenthesised() {
        argument = Some(value_of(inner));
    }
    if let Some(token) = walk.peek() {
        return Err(near(Some(token)));
    }
    hooks::authorize(db, 19, Some(&name), argument.as_deref())?;
    let sets = VALUES.iter().any(|(known, _)| *known == name) && argument.is_some();
    let silent = sets
        && !matches!(
            name.as_str(),
            "journal_mode"
                | "locking_mode"
                | "busy_timeout"
                | "mmap_size"
                | "max_page_count"
                | "journal_size_limit"
                | "wal_autocheckpoint"
        );
    let own = COLUMNS.iter().find(|(known, _)| *known == name);
    compiled.columns = match own {
        Some((_, columns)) => columns.iter().map(|column| Output::named(column)).collect(),
        None if silent => Vec::new(),
        None if name == "busy_timeout" => vec![Output::named("timeout")],
        None if VALUES.iter().any(|(known, _)| *known == name) || DEEDS.contains(&name.as_str()) => {
            vec![Output::named(&name)]
        }
        // As SQLite: what it does not know does nothing.
        None => Vec::new(),
    };
    compiled.work = Work::Pragma { schema, name, argument };
    Ok(())
}

/// The value behind `=` or in parentheses.
fn value_of(tokens: &[crate::lexer::Token<'_>]) -> String {
    match tokens {
        [only] => only.name().unwrap_or_else(|| only.text.to_string()),
        [first, .., last] if first.kind != Kind::Blank => {
            let _ = last;
            tokens.iter().map(|token| token.text).collect::<Vec<_>>().concat()
        }
        _ => written("", tokens).to_string(),
    }
}

/// The rows of a PRAGMA, which is carried out.
pub fn run(db: &Arc<Db>, schema: Option<&str>, name: &str, argument: Option<&str>) -> Outcome<Rows> {
    if COLUMNS.iter().any(|(known, _)| *known == name) {
        return listed(db, schema, name, argument);
    }
    match name {
        "integrity_check" | "quick_check" => verified(db),
        "user_version" | "application_id" => version(db, name, argument),
        _ => match VALUES.iter().find(|(known, _)| *known == name) {
            Some((_, initial)) => value(db, name, argument, initial),
            None => Ok(Vec::new()),
        },
    }
}

/// What the engine finds wrong with its file, or `ok`.
fn verified(db: &Arc<Db>) -> Outcome<Rows> {
    let rows = db.rows("PRAGMA verify", Vec::new())?;
    Ok(rows.iter().map(|row| row.iter().take(1).map(Cell::of).collect()).collect())
}

/// Rows that refer to none, of all tables or of one: the table, the row's number, the table that is referred to, and which key it is.
fn foreign_key_check(db: &Arc<Db>, only: Option<&Arc<Table>>) -> Outcome<Rows> {
    let all = match only {
        Some(table) => vec![Arc::clone(table)],
        None => tables(db)?,
    };
    let mut found = Vec::new();
    for table in all {
        for (id, key) in table.foreign_keys.iter().rev().enumerate() {
            let parent = db.table(None, &key.table)?;
            let primary = || -> Vec<String> {
                let keys = parent.iter().flat_map(|parent| &parent.keys);
                keys.filter(|(_, is_primary)| *is_primary).flat_map(|(names, _)| names.clone()).collect()
            };
            let referenced = if key.referenced.is_empty() { primary() } else { key.referenced.clone() };
            let held: Vec<String> =
                key.columns.iter().map(|column| format!("c.{} IS NOT NULL", ident(column))).collect();
            let same: Vec<String> = key
                .columns
                .iter()
                .zip(&referenced)
                .map(|(column, other)| format!("p.{} = c.{}", ident(other), ident(column)))
                .collect();
            let missing = match parent {
                Some(parent) if referenced.len() == key.columns.len() => format!(
                    " AND NOT EXISTS (SELECT 1 FROM {} AS p WHERE {})",
                    ident(&parent.name),
                    same.join(" AND ")
                ),
                Some(_) => {
                    return Err(failed(
                        ERROR,
                        format!("foreign key mismatch - \"{}\" referencing \"{}\"", table.name, key.table),
                    ));
                }
                None => String::new(),
            };
            let rowid = table
                .rowid_name()
                .map_or_else(|| "c.rowid + 1".to_string(), |name| format!("c.{}", ident(name)));
            let sql = format!(
                "SELECT {rowid} FROM {} AS c WHERE {}{missing} ORDER BY 1",
                ident(&table.name),
                held.join(" AND ")
            );
            for row in db.rows(&sql, Vec::new())? {
                let row_number =
                    if table.without_rowid { Cell::Null } else { row.first().map_or(Cell::Null, Cell::of) };
                found.push(vec![cell(table.name.clone()), row_number, cell(key.table.clone()), number(id)]);
            }
        }
    }
    Ok(found)
}

/// The rows of a PRAGMA that gives a list.
fn listed(db: &Arc<Db>, schema: Option<&str>, name: &str, argument: Option<&str>) -> Outcome<Rows> {
    let found = argument.map_or(Ok(None), |argument| db.table(schema, argument));
    Ok(match (name, found?) {
        ("table_info", Some(table)) => table_info(&table, false),
        ("table_xinfo", Some(table)) => table_info(&table, true),
        ("index_list", Some(table)) => index_list(db, &table)?,
        ("foreign_key_list", Some(table)) => foreign_keys(&table),
        ("index_info" | "index_xinfo", _) => match argument {
            Some(index) => index_info(db, index, name == "index_xinfo")?,
            None => Vec::new(),
        },
        ("table_list", None) => table_list(db)?,
        ("table_list", Some(table)) => {
            let all = table_list(db)?;
            all.into_iter().filter(|row| row.get(1) == Some(&cell(table.name.clone()))).collect()
        }
        ("foreign_key_check", found) => foreign_key_check(db, found.as_ref())?,
        ("database_list", _) => databases(db)?,
        ("function_list", _) => functions(db)?,
        ("collation_list", _) => ["RTRIM", "NOCASE", "BINARY"]
            .iter()
            .enumerate()
            .map(|(place, name)| vec![number(place), cell(*name)])
            .collect(),
        ("pragma_list", _) => {
            let mut names: Vec<&str> =
                COLUMNS.iter().map(|(name, _)| *name).chain(VALUES.iter().map(|(name, _)| *name)).collect();
            names.sort_unstable();
            names.into_iter().map(|name| vec![cell(name)]).collect()
        }
        ("compile_options", _) => vec![vec![cell("THREADSAFE=1")]],
        ("wal_checkpoint", _) => {
            db.run("CHECKPOINT")?;
            vec![vec![number(0), number(0), number(0)]]
        }
        _ => Vec::new(),
    })
}

/// A number that belongs to the file. It is kept as the comment of the database.
fn version(db: &Arc<Db>, name: &str, argument: Option<&str>) -> Outcome<Rows> {
    let rows = db
        .rows("SELECT comment FROM inlay_databases() WHERE database_name = current_database()", Vec::new())?;
    let comment = rows.first().map(|row| text(&row[0])).unwrap_or_default();
    let known = comment.strip_prefix(MARK).unwrap_or_default();
    let mut pairs: Vec<(String, i64)> = known
        .split(' ')
        .filter_map(|pair| pair.split_once('='))
        .map(|(key, value)| (key.to_string(), value.parse().unwrap_or(0)))
        .collect();
    let Some(argument) = argument else {
        let value = pairs.iter().find(|(key, _)| key == name).map_or(0, |(_, value)| *value);
        return Ok(vec![vec![Cell::Integer(value)]]);
    };
    pairs.retain(|(key, _)| key != name);
    pairs.push((name.to_string(), crate::value::integer_of(argument)));
    let made: Vec<String> = pairs.iter().map(|(key, value)| format!("{key}={value}")).collect();
    let database = db.rows("SELECT current_database()", Vec::new())?;
    let database = database.first().map(|row| text(&row[0])).unwrap_or_default();
    db.keep_text("DATABASE", &crate::lexer::ident(&database), &made.join(" "))?;
    Ok(Vec::new())
}

fn truth(text: &str) -> bool {
    matches!(text.to_ascii_lowercase().as_str(), "1" | "on" | "yes" | "true")
        || text.parse::<i64>().is_ok_and(|number| number != 0)
}

/// A PRAGMA that has a value.
fn value(db: &Arc<Db>, name: &str, argument: Option<&str>, initial: &str) -> Outcome<Rows> {
    let as_cell = |text: &str| text.parse().map_or_else(|_| cell(text), Cell::Integer);
    let is_autocommit = db.is_autocommit();
    let in_memory = db.filename.is_empty();
    let mut state = db.state.lock();
    match (name, argument) {
        // As SQLite: not within a transaction.
        ("foreign_keys", Some(to)) => {
            if is_autocommit {
                state.foreign_keys = truth(to);
            }
            Ok(Vec::new())
        }
        ("foreign_keys", None) => Ok(vec![vec![number(usize::from(state.foreign_keys))]]),
        ("busy_timeout", to) => {
            if let Some(to) = to {
                state.busy_ms = u64::try_from(crate::value::integer_of(to)).unwrap_or(0);
            }
            Ok(vec![vec![Cell::Integer(state.busy_ms as i64)]])
        }
        // The file is Inlay's, with its log: what is asked for is said, and changes nothing.
        ("journal_mode", Some(to)) => {
            let to = if in_memory { "memory".to_string() } else { to.to_lowercase() };
            state.told.insert(name.to_string(), to.clone());
            Ok(vec![vec![cell(to)]])
        }
        ("journal_mode", None) if in_memory => Ok(vec![vec![cell("memory")]]),
        // Nothing here would heed it.
        ("case_sensitive_like" | "ignore_check_constraints", Some(to)) if truth(to) => {
            Err(failed(ERROR, format!("PRAGMA {name} is not supported by Inlay")))
        }
        ("encoding" | "page_count" | "freelist_count" | "schema_version" | "data_version", Some(_)) => {
            Ok(Vec::new())
        }
        ("synchronous", Some(to)) => {
            let level = match to.to_ascii_lowercase().as_str() {
                "off" | "0" => ("off", "0"),
                "normal" | "1" => ("normal", "1"),
                "extra" | "3" => ("full", "3"),
                _ => ("full", "2"),
            };
            state.told.insert(name.to_string(), level.1.to_string());
            drop(state);
            db.run(&format!("SET synchronous = '{}'", level.0)).map(|()| Vec::new())
        }
        (_, Some(to)) => {
            let flag = initial == "0" || initial == "1";
            let to = match to.to_ascii_lowercase().as_str() {
                "on" | "yes" | "true" if flag => "1".to_string(),
                "off" | "no" | "false" if flag => "0".to_string(),
                _ => to.to_string(),
            };
            state.told.insert(name.to_string(), to.clone());
            let shows = matches!(
                name,
                "locking_mode" | "mmap_size" | "max_page_count" | "journal_size_limit" | "wal_autocheckpoint"
            );
            Ok(if shows { vec![vec![as_cell(&to)]] } else { Vec::new() })
        }
        (_, None) => Ok(vec![vec![as_cell(state.told.get(name).map_or(initial, String::as_str))]]),
    }
}

/// A `pragma_` function: its columns and rows. Without an argument that is known, where it takes one, the rows of all, the argument in front.
pub fn function(db: &Arc<Db>, name: &str, argument: Option<&str>) -> Option<(Vec<String>, Rows)> {
    if let Some((_, columns)) = COLUMNS.iter().find(|(known, _)| *known == name) {
        let names = columns.iter().map(ToString::to_string).collect();
        let takes = matches!(
            name,
            "table_info" | "table_xinfo" | "index_list" | "foreign_key_list" | "index_info" | "index_xinfo"
        );
        if !takes || argument.is_some() {
            return Some((names, listed(db, None, name, argument).ok()?));
        }
        let mut rows = Vec::new();
        for table in tables(db).ok()? {
            let keys = match name.starts_with("index_i") || name.starts_with("index_x") {
                true => indexes(db, &table).ok()?.into_iter().map(|index| index.name).collect(),
                false => vec![table.name.clone()],
            };
            for key in keys {
                for row in listed(db, None, name, Some(&key)).ok()? {
                    rows.push(std::iter::once(cell(key.clone())).chain(row).collect());
                }
            }
        }
        return Some((names, rows));
    }
    let (_, initial) = VALUES.iter().find(|(known, _)| *known == name)?;
    let rows = match name {
        "user_version" | "application_id" => version(db, name, None),
        _ => value(db, name, None, initial),
    };
    Some((vec![name.to_string()], rows.ok()?))
}

//! CREATE, ALTER, DROP, ATTACH and their like: the engine's statement, and the text that is kept of what it made.

use crate::compile::Work;
use crate::connection::Db;
use crate::failure::{ERROR, Outcome, failed};
use crate::lexer::{Token, Walk, ident, literal, parts, written};
use crate::respell::Respell;
use crate::schema::{CreateTable, near, qualified};
use std::sync::Arc;

/// What is done.
pub enum Definition {
    Table(Box<CreateTable>),
    /// Statements, and the text to be kept: kind and name of what it is of.
    Statements {
        all: Vec<String>,
        text: Option<(&'static str, String, String)>,
    },
    /// ALTER TABLE, after which the table has another text.
    Alter {
        sql: String,
        /// The table as SQL, as it is called then.
        path: String,
        text: Option<String>,
    },
    /// A view that is there already stays.
    Detach(String),
    Backup(String),
}

fn refused(what: &str) -> Outcome<Work> {
    Err(failed(ERROR, format!("{what} are not supported by Inlay")))
}

fn statements(all: Vec<String>) -> Work {
    Work::Define(Box::new(Definition::Statements { all, text: None }))
}

/// Reads a definition.
pub fn compile(db: &Arc<Db>, sql: &str, tokens: &[Token<'_>], respell: &mut Respell<'_>) -> Outcome<Work> {
    if let Some(create) = CreateTable::read(sql, tokens, respell)? {
        if !create.if_not_exists
            && create.query.is_none()
            && let Some(known) = db.table(create.schema.as_deref().or(Some("main")), &create.table.name)?
            && !create.table.temporary
        {
            let kind = if known.is_view { "view" } else { "table" };
            return Err(failed(ERROR, format!("{kind} {} already exists", known.name)));
        }
        return Ok(Work::Define(Box::new(Definition::Table(Box::new(create)))));
    }
    let mut walk = Walk::new(tokens);
    walk.at = 1;
    match tokens[0].text.to_ascii_lowercase().as_str() {
        "create" => create(db, sql, walk, respell),
        "drop" => drop_object(db, walk),
        "alter" => alter(db, sql, walk, respell),
        "attach" => {
            walk.word("database");
            let rest = &tokens[walk.at..];
            let place = rest.iter().position(|token| token.is("as")).ok_or_else(|| near(None))?;
            let name = rest.get(place + 1).and_then(Token::name).ok_or_else(|| near(None))?;
            let path = match &rest[..place] {
                [path] if path.name().is_some() => path.name().unwrap_or_default(),
                _ => return refused("expressions as names of files"),
            };
            let path = if path.is_empty() { ":memory:".to_string() } else { path };
            Ok(statements(vec![format!("ATTACH {} AS {}", literal(&path), ident(&name))]))
        }
        "detach" => {
            walk.word("database");
            let name = walk.name().ok_or_else(|| near(walk.peek()))?;
            Ok(Work::Define(Box::new(Definition::Detach(name))))
        }
        "vacuum" => match walk.tokens.iter().position(|token| token.is("into")) {
            Some(place) => {
                let path = tokens.get(place + 1).and_then(Token::name).ok_or_else(|| near(None))?;
                Ok(Work::Define(Box::new(Definition::Backup(path))))
            }
            None => Ok(statements(vec!["CHECKPOINT".to_string()])),
        },
        _ => Ok(Work::Nothing),
    }
}

fn create(db: &Arc<Db>, sql: &str, mut walk: Walk<'_, '_>, respell: &mut Respell<'_>) -> Outcome<Work> {
    let tokens = walk.tokens;
    let temporary = walk.word("temp") || walk.word("temporary");
    let unique = walk.word("unique");
    if walk.word("index") {
        let exists = if walk.words(&["if", "not", "exists"]) { "IF NOT EXISTS " } else { "" };
        let (schema, name) = walk.path().ok_or_else(|| near(walk.peek()))?;
        // What is there stays, and the text of it.
        if !exists.is_empty() && has_index(db, schema.as_deref(), &name)? {
            return Ok(Work::Nothing);
        }
        if !walk.word("on") {
            return Err(near(walk.peek()));
        }
        let table = walk.name().ok_or_else(|| near(walk.peek()))?;
        let inner = walk.parenthesised().ok_or_else(|| near(walk.peek()))?;
        let mut keys = Vec::new();
        for part in parts(inner) {
            let kept: Vec<Token<'_>> =
                part.iter().filter(|token| !token.is_any(&["asc", "desc"])).copied().collect();
            let is_name = kept.len() == 1 || kept.get(1).is_some_and(|next| next.is("collate"));
            let text = respell.tokens(&kept)?;
            keys.push(match kept.first().and_then(Token::name).filter(|_| is_name && kept.len() == 1) {
                Some(name) => ident(&name),
                None if is_name => text,
                None => format!("({text})"),
            });
        }
        let condition = respell.tokens(&tokens[walk.at..])?;
        let unique = if unique { "UNIQUE " } else { "" };
        let engine = format!(
            "CREATE {unique}INDEX {exists}{} ON {} ({}){condition}",
            ident(&name),
            qualified(schema.as_deref(), &table),
            keys.join(", ")
        );
        let text = Some(("INDEX", qualified(schema.as_deref(), &name), written(sql, tokens).to_string()));
        return Ok(Work::Define(Box::new(Definition::Statements { all: vec![engine], text })));
    }
    if walk.word("view") {
        let exists = if walk.words(&["if", "not", "exists"]) { "IF NOT EXISTS " } else { "" };
        let (schema, name) = walk.path().ok_or_else(|| near(walk.peek()))?;
        let place = schema.as_deref().or(if temporary { Some("temp") } else { None });
        if !exists.is_empty() && db.table(place, &name)?.is_some() {
            return Ok(Work::Nothing);
        }
        let columns = match walk.parenthesised() {
            Some(inner) => {
                let names: Vec<String> = parts(inner)
                    .iter()
                    .filter_map(|part| part.first().and_then(Token::name))
                    .map(|name| ident(&name))
                    .collect();
                format!(" ({})", names.join(", "))
            }
            None => String::new(),
        };
        if !walk.word("as") {
            return Err(near(walk.peek()));
        }
        let query = respell.tokens(&tokens[walk.at..])?;
        let kind = if temporary { "TEMP " } else { "" };
        let path = qualified(schema.as_deref(), &name);
        let engine = format!("CREATE {kind}VIEW {exists}{path}{columns} AS{query}");
        let text = Some(("VIEW", path, written(sql, tokens).to_string()));
        return Ok(Work::Define(Box::new(Definition::Statements { all: vec![engine], text })));
    }
    match () {
        () if walk.word("trigger") => refused("triggers"),
        () if walk.word("virtual") => refused("virtual tables"),
        () => Err(near(walk.peek())),
    }
}

fn has_index(db: &Arc<Db>, schema: Option<&str>, name: &str) -> Outcome<bool> {
    let place = match schema {
        Some(schema) if schema.eq_ignore_ascii_case("main") => {
            " AND database_name = current_database()".to_string()
        }
        Some(schema) if !schema.eq_ignore_ascii_case("temp") => {
            format!(" AND lower(database_name) = lower({})", literal(schema))
        }
        _ => String::new(),
    };
    let sql = format!("SELECT 1 FROM inlay_indexes() WHERE lower(index_name) = lower($1){place}");
    Ok(!db.rows(&sql, vec![name.into()])?.is_empty())
}

fn drop_object(db: &Arc<Db>, mut walk: Walk<'_, '_>) -> Outcome<Work> {
    let kinds = [("table", "TABLE"), ("view", "VIEW"), ("index", "INDEX"), ("trigger", "TRIGGER")];
    let Some((word, kind)) = kinds.iter().find(|(word, _)| walk.word(word)) else {
        return Err(near(walk.peek()));
    };
    let if_exists = walk.words(&["if", "exists"]);
    let (schema, name) = walk.path().ok_or_else(|| near(walk.peek()))?;
    if let Some(token) = walk.peek() {
        return Err(near(Some(token)));
    }
    let shown = schema.as_ref().map_or_else(|| name.clone(), |schema| format!("{schema}.{name}"));
    match *word {
        "trigger" if if_exists => return Ok(Work::Nothing),
        "trigger" => return Err(failed(ERROR, format!("no such trigger: {shown}"))),
        "index" => {
            let known = db.rows(
                "SELECT 1 FROM inlay_indexes() WHERE lower(index_name) = lower($1)",
                vec![name.as_str().into()],
            )?;
            if known.is_empty() && !if_exists {
                return Err(failed(ERROR, format!("no such index: {shown}")));
            }
        }
        _ => match db.table(schema.as_deref(), &name)? {
            None if !if_exists => return Err(failed(ERROR, format!("no such {word}: {shown}"))),
            Some(table) if table.is_view != (*word == "view") => {
                let other = if table.is_view { "VIEW" } else { "TABLE" };
                return Err(failed(
                    ERROR,
                    format!("use DROP {other} to delete {} {name}", other.to_lowercase()),
                ));
            }
            _ => {}
        },
    }
    let exists = if if_exists { "IF EXISTS " } else { "" };
    let mut all = vec![format!("DROP {kind} {exists}{}", qualified(schema.as_deref(), &name))];
    if *word == "table" {
        if crate::sequences::is_it(&name) {
            return Err(failed(ERROR, format!("table {name} may not be dropped")));
        }
        let counted =
            db.table(schema.as_deref(), &name)?.filter(|table| table.autoincrement && !table.temporary);
        all.extend(counted.map(|table| crate::sequences::forgotten(&table)));
    }
    Ok(statements(all))
}

fn alter(db: &Arc<Db>, sql: &str, mut walk: Walk<'_, '_>, respell: &mut Respell<'_>) -> Outcome<Work> {
    if !walk.word("table") {
        return Err(near(walk.peek()));
    }
    let (schema, name) = walk.path().ok_or_else(|| near(walk.peek()))?;
    let Some(table) = db.table(schema.as_deref(), &name)? else {
        return Err(failed(ERROR, format!("no such table: {name}")));
    };
    let path = qualified(schema.as_deref(), &table.name);
    let given = table.text.clone();
    let tokens = walk.tokens;
    let made = |sql: String, path: String, text: Option<String>| {
        Ok(Work::Define(Box::new(Definition::Alter { sql, path, text })))
    };
    if walk.words(&["rename", "to"]) {
        let new = walk.name().ok_or_else(|| near(walk.peek()))?;
        if db.table(schema.as_deref(), &new)?.is_some() {
            return Err(failed(
                ERROR,
                format!("there is already another table or index with this name: {new}"),
            ));
        }
        let text = given.map(|given| renamed_table(&given, &new));
        let counted = if table.autoincrement && !table.temporary {
            format!("; {}", crate::sequences::renamed(&table, &new))
        } else {
            String::new()
        };
        return made(
            format!("ALTER TABLE {path} RENAME TO {}{counted}", ident(&new)),
            qualified(schema.as_deref(), &new),
            text,
        );
    }
    if walk.word("rename") {
        walk.word("column");
        let old = walk.name().ok_or_else(|| near(walk.peek()))?;
        if table.position(&old).is_none() {
            return Err(failed(ERROR, format!("no such column: \"{old}\"")));
        }
        walk.word("to");
        let new = walk.name().ok_or_else(|| near(walk.peek()))?;
        let text = given.map(|given| renamed_column(&given, &old, &new));
        return made(
            format!("ALTER TABLE {path} RENAME COLUMN {} TO {}", ident(&old), ident(&new)),
            path,
            text,
        );
    }
    if walk.word("add") {
        walk.word("column");
        let definition = written(sql, &tokens[walk.at..]);
        // As a table of this column alone, whose parts are what is added.
        let alone = format!("CREATE TABLE \"t\" ({definition})");
        let (own, _) = crate::lexer::statement(&alone);
        let create = CreateTable::read(&alone, &own, respell)?.ok_or_else(|| near(None))?;
        let column = create.engine_sql(false);
        let column = column.trim_start_matches("CREATE TABLE \"t\" (").trim_end_matches(')');
        let column = if column.matches('(').count() > column.matches(')').count() {
            format!("{column})")
        } else {
            column.to_string()
        };
        let text = given.map(|given| match given.rfind(')') {
            Some(end) => format!("{}, {definition}{}", &given[..end], &given[end..]),
            None => given,
        });
        return made(format!("ALTER TABLE {path} ADD COLUMN {column}"), path.clone(), text);
    }
    if walk.word("drop") {
        walk.word("column");
        let old = walk.name().ok_or_else(|| near(walk.peek()))?;
        if table.position(&old).is_none() {
            return Err(failed(ERROR, format!("no such column: \"{old}\"")));
        }
        let text = given.map(|given| without_column(&given, &old));
        return made(format!("ALTER TABLE {path} DROP COLUMN {}", ident(&old)), path.clone(), text);
    }
    Err(near(walk.peek()))
}

/// A text as SQLite keeps it: the words in front of the name are CREATE and the kind alone.
pub fn kept_text(text: &str) -> String {
    let (tokens, _) = crate::lexer::statement(text);
    let mut walk = Walk::new(&tokens);
    let mut head = Vec::new();
    while let Some(token) = walk
        .peek()
        .filter(|token| token.is_any(&["create", "temp", "temporary", "unique", "table", "index", "view"]))
    {
        if !token.is_any(&["temp", "temporary"]) {
            head.push(token.text.to_ascii_uppercase());
        }
        walk.at += 1;
    }
    walk.words(&["if", "not", "exists"]);
    if walk.nth(1).is_some_and(|next| next.is_sign(".")) {
        walk.at += 2;
    }
    match walk.peek() {
        Some(name) if !head.is_empty() => format!("{} {}", head.join(" "), &text[name.at..]),
        _ => text.to_string(),
    }
}

fn renamed_table(text: &str, new: &str) -> String {
    let (tokens, _) = crate::lexer::statement(text);
    let mut walk = Walk::new(&tokens);
    while walk
        .peek()
        .is_some_and(|token| token.is_any(&["create", "temp", "temporary", "table", "if", "not", "exists"]))
    {
        walk.at += 1;
    }
    walk.path();
    match walk.at.checked_sub(1).and_then(|last| tokens.get(last)) {
        Some(name) => format!("{}{}{}", &text[..name.at], ident(new), &text[name.end()..]),
        None => text.to_string(),
    }
}

/// A name as it may stand in a text.
fn shown(name: &str) -> String {
    let is_plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && !name.is_empty()
        && !name.as_bytes()[0].is_ascii_digit()
        && !crate::absent::is_keyword(name);
    if is_plain { name.to_string() } else { ident(name) }
}

/// The text of a table with another name of a column: where it is made, in keys, and in expressions.
fn renamed_column(text: &str, old: &str, new: &str) -> String {
    let (tokens, _) = crate::lexer::statement(text);
    let open = tokens.iter().position(|token| token.is_sign("(")).unwrap_or(0);
    let inner = Walk { tokens: &tokens, at: open }.parenthesised().unwrap_or_default();
    let name = shown(new);
    let mut out = String::new();
    let mut at = 0;
    for part in parts(inner) {
        let is_constraint = part.first().is_some_and(|first| {
            first.is_any(&["primary", "unique", "check", "foreign"])
                && part.get(1).is_some_and(|next| next.is("key") || next.is_sign("("))
                || first.is("constraint")
        });
        // Words of types, defaults and other tables are no columns of this one.
        let (mut depth, mut has_columns) = (0usize, false);
        for (index, token) in part.iter().enumerate() {
            let is_old = token.is_name() && token.name().is_some_and(|known| known.eq_ignore_ascii_case(old));
            if token.is_sign("(") {
                depth += 1;
            } else if token.is_sign(")") {
                depth = depth.saturating_sub(1);
            } else if depth == 0 && (index > 0 || is_constraint) {
                if token.is_any(&["check", "as", "key", "unique"]) {
                    has_columns = true;
                } else if token.is_any(&["references", "default", "collate", "constraint"]) {
                    has_columns = false;
                }
                continue;
            } else if is_old
                && (depth == 0 || has_columns && !part.get(index + 1).is_some_and(|next| next.is_sign("(")))
            {
                out.push_str(&text[at..token.at]);
                out.push_str(&name);
                at = token.end();
            }
        }
    }
    out.push_str(&text[at..]);
    out
}

fn without_column(text: &str, old: &str) -> String {
    let (tokens, _) = crate::lexer::statement(text);
    let Some(open) = tokens.iter().position(|token| token.is_sign("(")) else { return text.to_string() };
    let Some(inner) = (Walk { tokens: &tokens, at: open }).parenthesised() else { return text.to_string() };
    let kept: Vec<&str> = parts(inner)
        .into_iter()
        .filter(|part| part.first().and_then(Token::name).is_none_or(|name| !name.eq_ignore_ascii_case(old)))
        .map(|part| written(text, part))
        .collect();
    let end = inner.last().map_or(tokens[open].end(), Token::end);
    format!("{}{}{}", &text[..tokens[open].end()], kept.join(", "), &text[end..])
}

impl Definition {
    /// Carries it out, as a whole or not at all.
    pub fn run(&self, db: &Arc<Db>) -> Outcome<()> {
        crate::hooks::before_change(db)?;
        match self {
            Self::Detach(name) => {
                db.run(&format!("DETACH {}", ident(name))).map_err(|failure| match failure.code {
                    ERROR => failed(ERROR, format!("no such database: {name}")),
                    _ => failure,
                })?;
                return db.schema_changed();
            }
            Self::Backup(path) => return Ok(db.engine()?.backup(path)?),
            Self::Statements { all, text: None } => {
                all.iter().try_for_each(|sql| db.run(sql))?;
                db.schema_changed()?;
                crate::hooks::after_change(db);
                return Ok(());
            }
            Self::Table(_) | Self::Statements { .. } | Self::Alter { .. } => {}
        }
        let own = db.is_autocommit();
        if own {
            db.run("BEGIN")?;
        }
        let outcome = self.changes(db);
        if own {
            let end = if outcome.is_ok() { "COMMIT" } else { "ROLLBACK" };
            db.run(end)?;
        }
        db.schema_changed()?;
        crate::hooks::after_change(db);
        outcome
    }

    fn changes(&self, db: &Arc<Db>) -> Outcome<()> {
        match self {
            Self::Table(create) => make_table(db, create),
            Self::Statements { all, text } => {
                all.iter().try_for_each(|sql| db.run(sql))?;
                text.as_ref().map_or(Ok(()), |(kind, path, text)| db.keep_text(kind, path, text))
            }
            Self::Alter { sql, path, text } => {
                db.run(sql)?;
                text.as_ref().map_or(Ok(()), |text| db.keep_text("TABLE", path, text))
            }
            Self::Detach(_) | Self::Backup(_) => Ok(()),
        }
    }
}

fn make_table(db: &Arc<Db>, create: &CreateTable) -> Outcome<()> {
    let place = create.schema.as_deref().or(if create.table.temporary { Some("temp") } else { None });
    if create.if_not_exists && db.table(place, &create.table.name)?.is_some() {
        return Ok(());
    }
    let path = qualified(create.schema.as_deref(), &create.table.name);
    let with_references = db.state.lock().foreign_keys;
    match db.run(&create.engine_sql(with_references)) {
        // What it refers to may be made later: then it is not checked.
        Err(_) if with_references && !create.table.foreign_keys.is_empty() => {
            db.run(&create.engine_sql(false))?
        }
        outcome => outcome?,
    }
    if create.query.is_some() {
        let sql = format!(
            "SELECT column_name, data_type FROM inlay_columns() WHERE table_name = {} ORDER BY column_index",
            literal(&create.table.name)
        );
        let rows = db.rows(&sql, Vec::new())?;
        let word = |ty: &str| match ty {
            "BIGINT" | "INTEGER" | "HUGEINT" | "BOOLEAN" => "INT",
            "DOUBLE" => "REAL",
            "VARCHAR" => "TEXT",
            "BLOB" => "BLOB",
            _ => "NUM",
        };
        let columns: Vec<String> = rows
            .iter()
            .map(|row| format!("{} {}", shown(&row[0].to_string()), word(&row[1].to_string())))
            .collect();
        return db.keep_text(
            "TABLE",
            &path,
            &format!("CREATE TABLE {}({})", shown(&create.table.name), columns.join(",")),
        );
    }
    if create.table.autoincrement && place.is_none_or(|place| place.eq_ignore_ascii_case("main")) {
        crate::sequences::make(db)?;
    }
    create.table.text.as_ref().map_or(Ok(()), |text| db.keep_text("TABLE", &path, text))
}

//! Statements of SQLite's language made ready: what runs, and what is known of its columns.

use crate::connection::Db;
use crate::failure::{ERROR, Outcome, failed};
use crate::hooks;
use crate::insert::{Given, LastId, insert, updated};
use crate::lexer::{Kind, Token, Walk, ident, parts, written};
use crate::pointers::c_text;
use crate::respell::{Hidden, Names, Parameters, PragmaRows, Respell};
use crate::schema::{Table, near};
use crate::value::Cell;
use inlay::PreparedStatement;
use std::ffi::CString;
use std::sync::Arc;

/// A column that a statement gives.
#[derive(Clone, Debug, Default)]
pub struct Output {
    pub name: CString,
    pub declared: Option<CString>,
    pub table: Option<CString>,
    pub origin: Option<CString>,
}

impl Output {
    pub fn named(name: &str) -> Self {
        Self { name: c_text(name), ..Self::default() }
    }
}

/// What a statement does when it runs.
pub enum Work {
    /// The engine's statement.
    Engine(Box<Engine>),
    /// Rows of a PRAGMA, which is carried out when it runs.
    Pragma {
        schema: Option<String>,
        name: String,
        argument: Option<String>,
    },
    Begin,
    Commit,
    Rollback,
    Savepoint(String),
    Release(String),
    RollbackTo(String),
    /// Something is made, changed or dropped.
    Define(Box<crate::define::Definition>),
    /// Nothing is to be done here.
    Nothing,
}

/// A statement of the engine.
pub struct Engine {
    pub prepared: PreparedStatement,
    pub hidden: Vec<Hidden>,
    pub given: Option<Given>,
    pub last: Option<LastId>,
    pub changes: bool,
    /// An error ends the transaction: OR ROLLBACK.
    pub rolls_back: bool,
    /// What the program is told of each row that is changed, whose numbers the statement then gives.
    pub told: Option<hooks::Told>,
    /// Tables of which `sqlite_sequence` has to say how far they are before it runs.
    pub counted: Vec<Arc<Table>>,
}

/// A statement that is ready.
pub struct Compiled {
    pub work: Work,
    pub parameters: Parameters,
    pub columns: Vec<Output>,
    pub is_read_only: bool,
    /// 1 for EXPLAIN, 2 for EXPLAIN QUERY PLAN.
    pub explains: i32,
    /// As of which version of names.
    pub generation: u64,
}

/// Makes a statement ready.
pub fn compile(db: &Arc<Db>, sql: &str, tokens: &[Token<'_>]) -> Outcome<Compiled> {
    if let Some(bad) = tokens.iter().find(|token| token.kind == Kind::Bad) {
        return Err(failed(ERROR, format!("unrecognized token: \"{}\"", bad.text)));
    }
    let mut depth = 0usize;
    for token in tokens {
        match token.text {
            "(" => depth += 1,
            ")" => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > crate::respell::DEPTH_MAX {
            return Err(crate::respell::too_deep());
        }
    }
    refuse_files(db, tokens)?;
    let parameters = Parameters::of(tokens)?;
    let generation = db.generation()?;
    let mut compiled = Compiled {
        work: Work::Nothing,
        parameters,
        columns: Vec::new(),
        is_read_only: true,
        explains: 0,
        generation,
    };
    let Some(first) = tokens.first() else { return Ok(compiled) };
    let mut walk = Walk::new(tokens);
    walk.at = 1;
    let lower = first.text.to_ascii_lowercase();
    match lower.as_str() {
        "begin" => {
            let _ = walk.word("deferred") || walk.word("immediate") || walk.word("exclusive");
            transaction(&mut walk)?;
            hooks::authorize(db, 22, Some("BEGIN"), None)?;
            compiled.work = Work::Begin;
        }
        "commit" | "end" => {
            transaction(&mut walk)?;
            hooks::authorize(db, 22, Some("COMMIT"), None)?;
            compiled.work = Work::Commit;
        }
        "rollback" => {
            walk.word("transaction");
            compiled.work = match walk.word("to") {
                true => {
                    walk.word("savepoint");
                    let name = end_of_name(&mut walk)?;
                    hooks::authorize(db, 32, Some("ROLLBACK"), Some(&name))?;
                    Work::RollbackTo(name)
                }
                false => {
                    ended(&walk)?;
                    hooks::authorize(db, 22, Some("ROLLBACK"), None)?;
                    Work::Rollback
                }
            };
        }
        "savepoint" => {
            let name = end_of_name(&mut walk)?;
            hooks::authorize(db, 32, Some("BEGIN"), Some(&name))?;
            compiled.work = Work::Savepoint(name);
        }
        "release" => {
            walk.word("savepoint");
            let name = end_of_name(&mut walk)?;
            hooks::authorize(db, 32, Some("RELEASE"), Some(&name))?;
            compiled.work = Work::Release(name);
        }
        "pragma" => crate::pragma::compile(db, &mut walk, &mut compiled)?,
        "create" | "drop" | "alter" | "attach" | "detach" | "vacuum" | "analyze" | "reindex" => {
            compiled.is_read_only = false;
            let names = names_of(db, tokens, true)?;
            hooks::authorize_definition(db, tokens, &names)?;
            let (functions, collations) = db.registered_names();
            let pragma = pragma_rows(db);
            let names = Names {
                tables: names,
                functions: &functions,
                collations: &collations,
                pragma: &pragma,
                defines: true,
            };
            let mut respell = Respell::new(tokens, names, &compiled.parameters);
            compiled.work = crate::define::compile(db, sql, tokens, &mut respell)?;
        }
        "explain" => {
            compiled.explains = if walk.words(&["query", "plan"]) { 2 } else { 1 };
            if walk.peek().is_none() {
                return Err(failed(ERROR, "incomplete input"));
            }
            let rest = &tokens[walk.at..];
            engine(db, sql, rest, "EXPLAIN ", &mut compiled)?;
        }
        "select" | "values" | "with" | "insert" | "replace" | "update" | "delete" => {
            engine(db, sql, tokens, "", &mut compiled)?;
        }
        _ => return Err(near(Some(first))),
    }
    Ok(compiled)
}

fn transaction(walk: &mut Walk<'_, '_>) -> Outcome<()> {
    if walk.word("transaction") && walk.peek().is_some() {
        walk.name();
    }
    ended(walk)
}

fn ended(walk: &Walk<'_, '_>) -> Outcome<()> {
    walk.peek().map_or(Ok(()), |token| Err(near(Some(token))))
}

fn end_of_name(walk: &mut Walk<'_, '_>) -> Outcome<String> {
    let name = walk.name().ok_or_else(|| near(walk.peek()))?;
    ended(walk).map(|()| name)
}

/// What gives the rows of `pragma_` functions.
fn pragma_rows(db: &Arc<Db>) -> impl Fn(&str, Option<&str>) -> Option<PragmaRows> + use<'_> {
    move |name, argument| {
        let (columns, rows) = crate::pragma::function(db, name, argument)?;
        let row = |row: Vec<Cell>| row.iter().map(sql_of).collect::<Vec<_>>();
        Some((columns, rows.into_iter().map(row).collect()))
    }
}

/// A value as Inlay's.
pub fn sql_of(cell: &Cell) -> String {
    cell.value().to_sql()
}

/// Whether a name in the place of a table is one of a file, which the engine would read; for SQLite it is none.
fn is_file(db: &Db, tokens: &[Token<'_>], name: &str) -> Outcome<bool> {
    if !name.contains(['.', '/', '*', '?', '\\']) {
        return Ok(false);
    }
    let is_query = tokens.windows(2).any(|pair| {
        pair[0].name().is_some_and(|known| known.eq_ignore_ascii_case(name))
            && (pair[1].is("as") && tokens.iter().any(|token| token.is("with")) || pair[1].is_sign("("))
    });
    Ok(!is_query && db.table(None, name)?.is_none())
}

/// Fails if a statement calls what reads files: SQLite has no such functions, and programs pass on statements of others.
fn refuse_files(db: &Db, tokens: &[Token<'_>]) -> Outcome<()> {
    for (at, token) in tokens.iter().enumerate().filter(|(_, token)| token.is_name()) {
        let before = at.checked_sub(1).map(|before| &tokens[before]);
        if token.kind != Kind::Word && before.is_some_and(|before| before.is("in")) {
            let name = token.name().unwrap_or_default();
            if is_file(db, tokens, &name)? {
                return Err(failed(ERROR, format!("no such table: {name}")));
            }
        }
        if !tokens.get(at + 1).is_some_and(|next| next.is_sign("(")) {
            continue;
        }
        let name = token.name().unwrap_or_default();
        let lower = name.to_ascii_lowercase();
        let reads = ["read_", "parquet_", "sniff_", "scan_"].iter().any(|start| lower.starts_with(start));
        let lists = lower == "glob"
            && Walk { tokens, at: at + 1 }.parenthesised().is_some_and(|inner| parts(inner).len() == 1);
        let is_own = || db.registered_names().0.keys().any(|(known, _)| *known == lower);
        // Columns stand in parentheses behind a table or a query that is named.
        let is_list = before.is_some_and(|before| {
            before.is_any(&["into", "table", "exists", "with", "recursive", "references", "on"])
        });
        let is_query = || {
            let mut walk = Walk { tokens, at: at + 1 };
            walk.parenthesised().is_some() && walk.word("as") && walk.sign("(")
        };
        if (reads || lists) && !is_list && !is_query() && !is_own() {
            return Err(failed(ERROR, format!("no such function: {name}")));
        }
    }
    Ok(())
}

/// Tables and views that a statement mentions.
fn names_of(db: &Db, tokens: &[Token<'_>], defines: bool) -> Outcome<Vec<Arc<Table>>> {
    let mut found: Vec<Arc<Table>> = Vec::new();
    let mut expects = false;
    let mut in_from = false;
    let mut at = 0;
    while at < tokens.len() {
        let token = &tokens[at];
        let is_operator = at.checked_sub(1).is_some_and(|before| tokens[before].is("distinct"));
        if token.is("from") && is_operator {
            // IS DISTINCT FROM
        } else if token.is_any(&["from", "join", "into"])
            || token.is("update") && (at == 0 || tokens[at - 1].is_sign(")"))
        {
            (expects, in_from) = (true, true);
        } else if defines && token.is("on")
            || token.is("table") && tokens.first().is_some_and(|first| first.is("alter"))
        {
            expects = true;
        } else if token.is_any(&["or", "abort", "fail", "ignore", "replace", "rollback"]) && expects {
            // UPDATE OR IGNORE t
        } else if token.is_sign(",") && in_from {
            expects = true;
        } else if token.is_sign("(") {
            // A join in parentheses, or a query that has a FROM of its own.
        } else if expects && token.name().is_some() {
            let mut walk = Walk { tokens, at };
            let is_target = at.checked_sub(1).is_some_and(|before| tokens[before].is("into"));
            if let Some((schema, name)) = walk.path() {
                at = walk.at - 1;
                let is_call = !is_target && walk.peek().is_some_and(|next| next.is_sign("("));
                if schema.is_none() && !is_call && is_file(db, tokens, &name)? {
                    return Err(failed(ERROR, format!("no such table: {name}")));
                }
                if let Some(table) = db.table(schema.as_deref(), &name)?.filter(|_| !is_call)
                    && !found.iter().any(|known| Arc::ptr_eq(known, &table))
                {
                    found.push(table);
                }
            }
            expects = false;
        } else if token.is_any(&[
            "where", "group", "order", "having", "limit", "select", "set", "values", "union", "on", "using",
        ]) {
            (expects, in_from) = (false, false);
        }
        at += 1;
    }
    Ok(found)
}

fn engine(
    db: &Arc<Db>,
    sql: &str,
    tokens: &[Token<'_>],
    prefix: &str,
    compiled: &mut Compiled,
) -> Outcome<()> {
    let moved = with_moved(tokens);
    let tokens = moved.as_deref().unwrap_or(tokens);
    let tables = names_of(db, tokens, false)?;
    let first = tokens
        .iter()
        .find(|token| token.is_any(&["select", "insert", "replace", "update", "delete", "values"]));
    let is = |word: &str| tokens.first().is_some_and(|first| first.is(word));
    let changes = first.is_some_and(|_| {
        is("insert") || is("replace") || is("update") || is("delete") || is("with") && changes_in_with(tokens)
    });
    compiled.is_read_only = !changes;
    hooks::authorize_statement(db, tokens, &tables, changes)?;
    let (functions, collations) = db.registered_names();
    let pragma = pragma_rows(db);
    let names = Names {
        tables: tables.clone(),
        functions: &functions,
        collations: &collations,
        pragma: &pragma,
        defines: false,
    };
    let mut respell = Respell::new(tokens, names, &compiled.parameters);
    let (mut given, mut last) = (None, None);
    let text = if (is("insert") || is("replace"))
        && tokens.get(1).is_some_and(|next| next.is("into") || next.is("or"))
    {
        let made = insert(db, tokens, &mut respell)?;
        (given, last) = (Some(made.given), Some(made.last));
        made.sql
    } else if let Some(place) = place_of_update(tokens) {
        let mut rest = &tokens[place + 1..];
        if rest.first().is_some_and(|token| token.is("or")) {
            let action = rest.get(1).filter(|action| !action.is_any(&["abort", "rollback"]));
            if let Some(action) = action {
                let action = action.text.to_ascii_uppercase();
                return Err(failed(ERROR, format!("UPDATE OR {action} is not supported by Inlay")));
            }
            rest = rest.get(2..).unwrap_or_default();
        }
        let mut walk = Walk::new(rest);
        let (schema, name) = walk.path().ok_or_else(|| near(walk.peek()))?;
        let with = respell.tokens(&tokens[..place])?;
        match db.table(schema.as_deref(), &name)? {
            Some(table) => {
                let path = crate::schema::qualified(schema.as_deref(), &name);
                let (values, text) = updated(db, &table, path, rest, &mut respell)?;
                given = Some(values).filter(|given| !given.values.is_empty());
                format!("{with} {text}")
            }
            None => format!("{with} UPDATE{}", respell.tokens(rest)?),
        }
    } else {
        respell.tokens(tokens)?
    };
    let hidden = std::mem::take(&mut respell.hidden);
    let told = if changes && prefix.is_empty() { told(db, tokens)? } else { None };
    let returned = told.as_ref().map_or(String::new(), |(_, rowid)| format!(" RETURNING {}", ident(rowid)));
    let told = told.map(|(told, _)| told);
    let counted =
        crate::sequences::needed(db, tokens, target(db, tokens)?.as_ref().map(|(_, table)| &**table))?;
    let engine = db.engine()?;
    let prepared = engine.prepare(&format!("{prefix}{text}{returned}"))?;
    let shape = match (prepared.describe(None), &given) {
        // A literal may be none of its column's type, which may still become another.
        (Err(error), Some(given)) if error.kind() == inlay::ErrorKind::InvalidCast => {
            given.settle_literals(db)?;
            prepared.describe(None)?
        }
        (shape, _) => shape?,
    };
    if let Some(columns) = shape.columns.filter(|_| told.is_none()) {
        let names: Vec<String> = columns.into_iter().map(|(name, _)| name).collect();
        compiled.columns = if prefix.is_empty() {
            outputs(sql, tokens, names, &tables)
        } else {
            names.iter().map(|name| Output::named(name)).collect()
        };
    }
    let rolls_back =
        tokens.get(1).is_some_and(|or| or.is("or")) && tokens.get(2).is_some_and(|what| what.is("rollback"));
    compiled.work =
        Work::Engine(Box::new(Engine { prepared, hidden, given, last, changes, rolls_back, told, counted }));
    Ok(())
}

/// What the program wants to be told of the rows that a statement changes, and what they are numbered by: of tables with an INTEGER
/// PRIMARY KEY, if the statement does not give rows of its own.
fn told(db: &Arc<Db>, tokens: &[Token<'_>]) -> Outcome<Option<(hooks::Told, String)>> {
    if !hooks::wants_updates(db) || tokens.iter().any(|token| token.is("returning")) {
        return Ok(None);
    }
    let action = match tokens.get(start_of(tokens)) {
        Some(first) if first.is("delete") => hooks::DELETED,
        Some(first) if first.is("update") => hooks::UPDATED,
        _ => hooks::INSERTED,
    };
    let Some((schema, table)) = target(db, tokens)? else { return Ok(None) };
    let told = |rowid: &str| (hooks::Told::new(action, schema.as_deref(), &table.name), rowid.to_string());
    Ok(table.rowid_name().map(told))
}

/// Where the statement begins that WITH may stand before.
fn start_of(tokens: &[Token<'_>]) -> usize {
    let is_with = tokens.first().is_some_and(|first| first.is("with"));
    if is_with { behind_with(tokens).unwrap_or(0) } else { 0 }
}

/// The table whose rows a statement changes, and its schema as it is written.
fn target(db: &Arc<Db>, tokens: &[Token<'_>]) -> Outcome<Option<(Option<String>, Arc<Table>)>> {
    let start = start_of(tokens);
    if !tokens.get(start).is_some_and(|first| first.is_any(&["insert", "replace", "update", "delete"])) {
        return Ok(None);
    }
    let mut walk = Walk { tokens, at: start + 1 };
    if walk.word("or") {
        walk.at += 1;
    }
    let _ = walk.word("into") || walk.word("from");
    let Some((schema, name)) = walk.path() else { return Ok(None) };
    Ok(db.table(schema.as_deref(), &name)?.map(|table| (schema, table)))
}

/// Where UPDATE stands, if that is what the statement does.
fn place_of_update(tokens: &[Token<'_>]) -> Option<usize> {
    match tokens.first() {
        Some(first) if first.is("update") => Some(0),
        Some(first) if first.is("with") => behind_with(tokens).filter(|place| tokens[*place].is("update")),
        _ => None,
    }
}

/// What stands behind WITH and what it names.
fn behind_with(tokens: &[Token<'_>]) -> Option<usize> {
    let mut depth = 0usize;
    for (at, token) in tokens.iter().enumerate() {
        match token.text {
            "(" => depth += 1,
            ")" => depth = depth.saturating_sub(1),
            _ if depth == 0
                && token.is_any(&["select", "values", "insert", "replace", "update", "delete"])
                && at.checked_sub(1).is_some_and(|before| tokens[before].is_sign(")")) =>
            {
                return Some(at);
            }
            _ => {}
        }
    }
    None
}

/// `WITH ... INSERT INTO t SELECT` as `INSERT INTO t WITH ... SELECT`, which is the same and is numbered as any INSERT.
fn with_moved<'a>(tokens: &[Token<'a>]) -> Option<Vec<Token<'a>>> {
    let is_with = tokens.first().is_some_and(|first| first.is("with"));
    let start = behind_with(tokens).filter(|place| {
        is_with && tokens.get(*place).is_some_and(|token| token.is_any(&["insert", "replace"]))
    })?;
    let mut walk = Walk { tokens, at: start + 1 };
    if walk.word("or") {
        walk.at += 1;
    }
    if !walk.word("into") {
        return None;
    }
    walk.path()?;
    if walk.word("as") {
        walk.name();
    }
    walk.parenthesised();
    let behind = &tokens[walk.at..];
    Some([&tokens[start..walk.at], &tokens[..start], behind].concat())
}

/// Whether the statement behind WITH changes rows.
fn changes_in_with(tokens: &[Token<'_>]) -> bool {
    let mut depth = 0usize;
    for token in tokens {
        match token.text {
            "(" => depth += 1,
            ")" => depth = depth.saturating_sub(1),
            _ if depth == 0 && token.is_any(&["insert", "update", "delete", "replace"]) => return true,
            _ if depth == 0 && token.is("select") => return false,
            _ => {}
        }
    }
    false
}

/// What an item of a list of columns is.
enum Item<'a> {
    Star,
    Named(String),
    /// A column, by its last name.
    Column(String),
    Text(&'a str),
}

fn item<'a>(sql: &'a str, tokens: &[Token<'_>]) -> Item<'a> {
    let Some((last, before)) = tokens.split_last() else { return Item::Text("") };
    if last.is_sign("*") && before.last().is_none_or(|before| before.is_sign(".")) {
        return Item::Star;
    }
    let is_alias = match before.last() {
        Some(before) if before.is("as") => last.name().is_some(),
        Some(before) => {
            let ends = match before.kind {
                Kind::Sign => before.text == ")",
                Kind::Word => {
                    before.is("end")
                        || !before.is_any(&["not", "is", "and", "or", "like", "collate", "distinct", "null"])
                }
                Kind::Number | Kind::Text | Kind::Quoted | Kind::Name | Kind::Parameter | Kind::Blob => true,
                Kind::Blank | Kind::Bad => false,
            };
            ends && last.is_name() && !last.is_any(&["end", "null", "isnull", "notnull"])
                || ends && last.kind == Kind::Text
        }
        None => false,
    };
    if let (true, Some(name)) = (is_alias, last.name()) {
        return Item::Named(name);
    }
    let is_path = tokens.iter().enumerate().all(|(index, token)| match index % 2 {
        0 => token.is_name(),
        _ => token.is_sign("."),
    });
    let is_constant =
        last.is_any(&["null", "true", "false", "current_timestamp", "current_date", "current_time"]);
    match last.name().filter(|_| is_path && !is_constant) {
        Some(name) => Item::Column(name),
        None => Item::Text(written(sql, tokens)),
    }
}

/// The items of the list that gives a statement's columns.
fn items<'a>(sql: &'a str, tokens: &[Token<'_>]) -> Vec<Item<'a>> {
    let mut depth = 0usize;
    let mut start = None;
    let mut end = tokens.len();
    for (index, token) in tokens.iter().enumerate() {
        match token.text {
            "(" => depth += 1,
            ")" => depth = depth.saturating_sub(1),
            _ if depth > 0 => {}
            _ if start.is_none() && token.is_any(&["select", "returning"]) => start = Some(index + 1),
            _ if start.is_some()
                && token.is_any(&[
                    "from",
                    "where",
                    "group",
                    "order",
                    "limit",
                    "union",
                    "except",
                    "intersect",
                    "having",
                    "window",
                ]) =>
            {
                end = index;
                break;
            }
            _ => {}
        }
    }
    let Some(start) = start else { return Vec::new() };
    let mut list = tokens.get(start..end).unwrap_or_default();
    while list.first().is_some_and(|first| first.is("distinct") || first.is("all")) {
        list = &list[1..];
    }
    parts(list).into_iter().map(|part| item(sql, part)).collect()
}

/// The columns of a statement, called as SQLite does: by alias, by column, or by the text of the expression.
fn outputs(sql: &str, tokens: &[Token<'_>], names: Vec<String>, tables: &[Arc<Table>]) -> Vec<Output> {
    let returns =
        tokens.first().is_some_and(|first| first.is_any(&["insert", "replace", "update", "delete"]));
    let list = match (returns, tokens.iter().rposition(|token| token.is("returning"))) {
        (true, Some(place)) => items(sql, &tokens[place..]),
        (true, None) => Vec::new(),
        (false, _) => items(sql, tokens),
    };
    let stars = list.iter().filter(|item| matches!(item, Item::Star)).count();
    let fits = stars == 0 && list.len() == names.len() || stars == 1 && list.len() <= names.len() + 1;
    let mut expanded: Vec<Option<&Item<'_>>> = Vec::with_capacity(names.len());
    if fits {
        for item in &list {
            match item {
                Item::Star => expanded.extend(std::iter::repeat_n(None, names.len() + 1 - list.len())),
                other => expanded.push(Some(other)),
            }
        }
    } else {
        expanded.resize(names.len(), None);
    }
    let output = |(name, item): (String, Option<&Item<'_>>)| {
        let (shown, column) = match item {
            None | Some(Item::Star) => (name.clone(), Some(name)),
            Some(Item::Named(alias)) => (alias.clone(), None),
            Some(Item::Column(column)) => (name, Some(column.clone())),
            Some(Item::Text(text)) => ((*text).to_string(), None),
        };
        let found = column.and_then(|column| {
            tables.iter().find_map(|table| table.column(&column).map(|known| (table, known.clone())))
        });
        match found {
            Some((table, column)) => Output {
                name: c_text(&shown),
                declared: column.declared.as_deref().map(c_text),
                table: Some(c_text(&table.name)),
                origin: Some(c_text(&column.name)),
            },
            None => Output::named(&shown),
        }
    };
    names.into_iter().zip(expanded).map(output).collect()
}

//! INSERT, and what values go into which columns: the number of a new row, and values that decide the type of a column.

use crate::connection::Db;
use crate::failure::{ERROR, MISMATCH, Outcome, failed};
use crate::lexer::{Kind, Token, Walk, ident, parts};
use crate::respell::{Hidden, Respell};
use crate::schema::{Affinity, Column, Table, near, qualified};
use crate::value::{Cell, numeric_of, prefix_of};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Where a value of a column comes from.
#[derive(Clone, Debug)]
pub enum Origin {
    /// A parameter, by its number from 1.
    Parameter(usize),
    /// A literal.
    Literal(Cell),
}

/// Values on their way into columns of a table.
#[derive(Clone, Debug)]
pub struct Given {
    pub table: Arc<Table>,
    /// The table as SQL.
    pub path: String,
    /// The same in lower case, by which numbers of new rows are known.
    pub key: String,
    /// Positions of columns, and where their values come from.
    pub values: Vec<(usize, Origin)>,
}

/// How the row number of the last new row is known.
#[derive(Clone, Debug, PartialEq)]
pub enum LastId {
    /// The table has no column for it.
    OfTable,
    /// It was a parameter that the program does not see, the so manieth.
    Hidden(usize),
    /// It was a literal.
    Literal(i64),
    /// Rows of a query, numbered from a parameter on.
    FromHidden(usize),
    /// It has to be looked up.
    Greatest,
}

/// INSERT, as the engine's.
pub struct Insert {
    pub sql: String,
    pub given: Given,
    pub last: LastId,
}

/// The number of a parameter token, or the value of a literal.
fn origin(tokens: &[Token<'_>], respell: &Respell<'_>) -> Option<Origin> {
    let (is_negative, token) = match tokens {
        [only] => (false, only),
        [sign, only] if sign.is_sign("-") => (true, only),
        _ => return None,
    };
    let cell = match token.kind {
        Kind::Parameter if !is_negative => return respell.parameters.number(token).map(Origin::Parameter),
        Kind::Number => {
            let text = if is_negative { format!("-{}", token.text) } else { token.text.to_string() };
            match text.parse::<i64>() {
                Ok(number) => Cell::Integer(number),
                Err(_) => Cell::Real(text.parse().ok()?),
            }
        }
        Kind::Text => Cell::Text(token.name()?),
        Kind::Blob => Cell::Blob(Vec::new()),
        Kind::Word if token.is("null") => Cell::Null,
        Kind::Blank | Kind::Word | Kind::Quoted | Kind::Name | Kind::Parameter | Kind::Sign | Kind::Bad => {
            return None;
        }
    };
    Some(Origin::Literal(cell))
}

/// A value of the kind that an expression has, as far as that is known without a row.
fn sample(db: &Db, expression: &str, from: &str) -> Option<Cell> {
    let prepared = db.engine().ok()?.prepare(&format!("SELECT {expression}{from}")).ok()?;
    let columns = prepared.describe(None).ok()?.columns?;
    sample_of(&columns.first()?.1)
}

/// A value of a kind.
fn sample_of(ty: &inlay::types::LogicalType) -> Option<Cell> {
    use inlay::types::LogicalType as T;
    match ty {
        T::Varchar => Some(Cell::Text("x".to_string())),
        T::Blob => Some(Cell::Blob(Vec::new())),
        T::Double | T::Real | T::Decimal { .. } => Some(Cell::Real(0.5)),
        other if other.is_integer() || *other == T::Boolean => Some(Cell::Integer(1)),
        _ => None,
    }
}

/// An expression on its way into a column: a number with a fraction is none for integers.
fn fitted(
    db: &Db,
    table: &Table,
    index: usize,
    text: String,
    from: &str,
    given: &mut Vec<(usize, Origin)>,
) -> String {
    let column = &table.columns[index];
    if column.is_flexible() {
        given.extend(sample(db, &text, from).map(|cell| (index, Origin::Literal(cell))));
        return text;
    }
    let is_integer = column.engine.as_deref().unwrap_or_else(|| column.engine_type()) == "BIGINT";
    match is_integer && !matches!(sample(db, &text, from), Some(Cell::Integer(_))) {
        true => format!(
            "sqlite_fit_integer({text}, {})",
            crate::lexer::literal(&format!("{}.{}", table.name, column.name))
        ),
        false => text,
    }
}

/// Values that UPDATE gives columns, and its text as the engine's.
pub fn updated(
    db: &Db,
    table: &Arc<Table>,
    path: String,
    tokens: &[Token<'_>],
    respell: &mut Respell<'_>,
) -> Outcome<(Given, String)> {
    let mut values = Vec::new();
    let mut list = Vec::new();
    let set = tokens.iter().position(|token| token.is("set")).map_or(tokens.len(), |place| place + 1);
    let behind = &tokens[set..];
    let mut depth = 0usize;
    let end = behind.iter().position(|token| {
        depth = token.depth_behind(depth);
        depth == 0 && token.is_any(&["where", "from", "returning", "order", "limit"])
    });
    let end = end.unwrap_or(behind.len());
    let from = format!(" FROM {path}");
    for part in parts(&behind[..end]) {
        let column = match part {
            [name, sign, ..] if sign.is_sign("=") => name.name().and_then(|name| table.position(&name)),
            _ => None,
        };
        let Some(column) = column else {
            list.push(respell.tokens(part)?);
            continue;
        };
        let value = part.get(2..).unwrap_or_default();
        let mut text = respell.tokens(value)?;
        match origin(value, respell) {
            Some(origin) => values.push((column, origin)),
            None => text = fitted(db, table, column, text, &from, &mut values),
        }
        list.push(format!("{} = {text}", ident(&table.columns[column].name)));
    }
    let (head, rest) = (respell.tokens(&tokens[..set])?, respell.tokens(&behind[end..])?);
    let key = path.to_lowercase();
    Ok((
        Given { table: Arc::clone(table), path, key, values },
        format!("UPDATE{head} {}{rest}", list.join(", ")),
    ))
}

/// What INSERT is, read from its tokens.
struct Head<'a, 't> {
    or: &'static str,
    table: Arc<Table>,
    path: String,
    alias: String,
    /// Positions of the columns that values are given for.
    targets: Vec<usize>,
    has_list: bool,
    source: &'t [Token<'a>],
    rest: &'t [Token<'a>],
}

fn head<'a, 't>(db: &Db, tokens: &'t [Token<'a>]) -> Outcome<Head<'a, 't>> {
    let mut walk = Walk::new(tokens);
    let replaces = walk.word("replace");
    let mut action = String::new();
    if !replaces {
        walk.word("insert");
        if walk.word("or") {
            action = walk.name().unwrap_or_default().to_lowercase();
        }
    }
    if !walk.word("into") {
        return Err(near(walk.peek()));
    }
    let Some((schema, name)) = walk.path() else { return Err(near(walk.peek())) };
    let Some(table) = db.table(schema.as_deref(), &name)? else {
        return Err(failed(ERROR, format!("no such table: {}", shown(schema.as_deref(), &name))));
    };
    if table.is_view {
        return Err(failed(ERROR, format!("cannot modify {name} because it is a view")));
    }
    let alias = match walk.word("as") {
        true => format!(" AS {}", ident(&walk.name().unwrap_or_default())),
        false => String::new(),
    };
    let mut targets: Vec<usize> =
        (0..table.columns.len()).filter(|index| table.columns[*index].hidden == 0).collect();
    let has_list = walk.peek().is_some_and(|token| token.is_sign("("));
    if has_list {
        let Some(inner) = walk.parenthesised() else { return Err(near(None)) };
        targets.clear();
        for part in parts(inner) {
            let Some(column) = part.first().and_then(Token::name) else { return Err(near(part.first())) };
            let position = table.position(&column).or_else(|| {
                let is_number = matches!(column.to_ascii_lowercase().as_str(), "rowid" | "oid" | "_rowid_");
                table.rowid.filter(|_| is_number)
            });
            let Some(position) = position else {
                return Err(failed(ERROR, format!("table {name} has no column named {column}")));
            };
            targets.push(position);
        }
    }
    let mut depth = 0usize;
    let start = walk.at;
    let end = tokens.iter().enumerate().skip(start).position(|(index, token)| {
        depth = token.depth_behind(depth);
        let is_conflict = token.is("on") && tokens.get(index + 1).is_some_and(|next| next.is("conflict"));
        depth == 0 && (is_conflict || token.is("returning"))
    });
    let end = end.map_or(tokens.len(), |length| start + length);
    let or = match action.as_str() {
        // Without a key nothing can be replaced.
        "replace" if !table.keys.is_empty() => " OR REPLACE",
        "" if replaces && !table.keys.is_empty() => " OR REPLACE",
        "ignore" => " OR IGNORE",
        _ => "",
    };
    let path = qualified(schema.as_deref(), &table.name);
    Ok(Head { or, table, path, alias, targets, has_list, source: &tokens[start..end], rest: &tokens[end..] })
}

fn shown(schema: Option<&str>, name: &str) -> String {
    schema.map_or_else(|| name.to_string(), |schema| format!("{schema}.{name}"))
}

/// Reads INSERT.
pub fn insert(db: &Db, tokens: &[Token<'_>], respell: &mut Respell<'_>) -> Outcome<Insert> {
    let head = head(db, tokens)?;
    let (path, key) = (head.path.clone(), head.path.to_lowercase());
    let mut given = Given { table: Arc::clone(&head.table), path, key, values: Vec::new() };
    let first = head.source.first();
    let (columns, source, last) = if first.is_some_and(|first| first.is("values")) {
        values(db, &head, respell, &mut given)?
    } else if first.is_some_and(|first| first.is("default")) {
        match head.table.rowid {
            Some(rowid) => {
                (vec![rowid], format!(" VALUES ({})", respell.hidden(Hidden::NextId)), LastId::Hidden(0))
            }
            None => (Vec::new(), " DEFAULT VALUES".to_string(), LastId::OfTable),
        }
    } else {
        query(db, &head, respell, &mut given)?
    };
    let names: Vec<String> = columns.iter().map(|index| ident(&head.table.columns[*index].name)).collect();
    let list = if names.is_empty() { String::new() } else { format!(" ({})", names.join(", ")) };
    let rest = respell.tokens(head.rest)?;
    let sql = format!("INSERT{} INTO {}{}{list}{source}{rest}", head.or, head.path, head.alias);
    Ok(Insert { sql, given, last })
}

fn values(
    db: &Db,
    head: &Head<'_, '_>,
    respell: &mut Respell<'_>,
    given: &mut Given,
) -> Outcome<(Vec<usize>, String, LastId)> {
    let mut walk = Walk::new(head.source);
    walk.word("values");
    let rowid = head.table.rowid;
    let place = rowid.and_then(|rowid| head.targets.iter().position(|target| *target == rowid));
    let mut columns = head.targets.clone();
    if let (Some(rowid), None) = (rowid, place) {
        columns.insert(0, rowid);
    }
    let mut last = if rowid.is_some() { LastId::Greatest } else { LastId::OfTable };
    let mut rows = Vec::new();
    loop {
        let Some(inner) = walk.parenthesised() else { return Err(near(walk.peek())) };
        let items = parts(inner);
        check_width(head, items.len())?;
        let mut row = Vec::with_capacity(columns.len());
        if rowid.is_some() && place.is_none() {
            last = LastId::Hidden(respell.hidden.len());
            row.push(respell.hidden(Hidden::NextId));
        }
        for (index, item) in items.iter().enumerate() {
            let from = origin(item, respell);
            if Some(index) == place {
                let (text, id) = number(item, from.as_ref(), respell)?;
                row.push(text);
                last = id;
                continue;
            }
            let mut text = respell.tokens(item)?;
            match from {
                Some(from) => given.values.push((head.targets[index], from)),
                None => text = fitted(db, &head.table, head.targets[index], text, "", &mut given.values),
            }
            row.push(text);
        }
        rows.push(format!("({})", row.join(", ")));
        if !walk.sign(",") {
            break;
        }
    }
    if walk.peek().is_some() {
        return Err(near(walk.peek()));
    }
    Ok((columns, format!(" VALUES {}", rows.join(", ")), last))
}

/// The value of the column that is the row's number.
fn number(item: &[Token<'_>], from: Option<&Origin>, respell: &mut Respell<'_>) -> Outcome<(String, LastId)> {
    let place = respell.hidden.len();
    Ok(match from {
        Some(Origin::Parameter(number)) => (respell.hidden(Hidden::IdOr(*number)), LastId::Hidden(place)),
        Some(Origin::Literal(Cell::Null)) => (respell.hidden(Hidden::NextId), LastId::Hidden(place)),
        Some(Origin::Literal(Cell::Integer(id))) => (id.to_string(), LastId::Literal(*id)),
        Some(Origin::Literal(Cell::Text(text))) if text.trim().parse::<i64>().is_err() => {
            return Err(failed(MISMATCH, "datatype mismatch"));
        }
        Some(Origin::Literal(_)) | None => {
            let next = respell.hidden(Hidden::NextId);
            (format!("coalesce({}, {next})", respell.tokens(item)?), LastId::Greatest)
        }
    })
}

fn check_width(head: &Head<'_, '_>, found: usize) -> Outcome<()> {
    let wanted = head.targets.len();
    if wanted == found {
        return Ok(());
    }
    let name = &head.table.name;
    Err(failed(
        ERROR,
        match head.has_list {
            true => format!("{found} values for {wanted} columns"),
            false => format!("table {name} has {wanted} columns but {found} values were supplied"),
        },
    ))
}

/// Rows of a query, which are numbered on their way.
fn query(
    db: &Db,
    head: &Head<'_, '_>,
    respell: &mut Respell<'_>,
    given: &mut Given,
) -> Outcome<(Vec<usize>, String, LastId)> {
    if head.source.is_empty() {
        return Err(near(head.rest.first()));
    }
    let text = respell.tokens(head.source)?;
    let shape = db.engine()?.prepare(text.trim_start())?.describe(None)?.columns.unwrap_or_default();
    check_width(head, shape.len())?;
    let mut items = Vec::with_capacity(shape.len());
    let mut is_plain = true;
    let place = head.table.rowid.and_then(|rowid| head.targets.iter().position(|target| *target == rowid));
    let hidden = respell.hidden.len();
    let next =
        head.table.rowid.map(|_| format!("{} + row_number() OVER () - 1", respell.hidden(Hidden::NextId)));
    for (index, ((_, ty), target)) in shape.iter().zip(&head.targets).enumerate() {
        let (name, column) = (format!("c{index}"), &head.table.columns[*target]);
        let engine = column.engine.as_deref().unwrap_or_else(|| column.engine_type());
        let cell = sample_of(ty);
        items.push(match (&next, &cell) {
            (Some(next), _) if Some(index) == place => format!("coalesce({name}, {next})"),
            (_, Some(Cell::Integer(_))) if engine == "BIGINT" => name,
            _ if engine == "BIGINT" && !column.is_flexible() => {
                is_plain = false;
                format!(
                    "sqlite_fit_integer({name}, {})",
                    crate::lexer::literal(&format!("{}.{}", head.table.name, column.name))
                )
            }
            (_, Some(cell)) if column.is_flexible() => {
                given.values.push((*target, Origin::Literal(cell.clone())));
                name
            }
            _ => name,
        });
    }
    let names: Vec<String> = (0..shape.len()).map(|index| format!("c{index}")).collect();
    let source =
        |items: &[String]| format!(" SELECT {} FROM ({text}) AS s({})", items.join(", "), names.join(", "));
    Ok(match (head.table.rowid, next, place) {
        (Some(rowid), Some(next), None) => {
            let mut columns = head.targets.clone();
            columns.insert(0, rowid);
            items.insert(0, next);
            (columns, source(&items), LastId::FromHidden(hidden))
        }
        (Some(_), _, _) => (head.targets.clone(), source(&items), LastId::Greatest),
        (None, _, _) if is_plain => (head.targets.clone(), text, LastId::OfTable),
        (None, _, _) => (head.targets.clone(), source(&items), LastId::OfTable),
    })
}

/// What becomes of a column for a value.
enum Fit {
    /// The column takes it.
    Yes,
    /// It takes it as another value, which SQLite makes of it, too.
    As(Cell),
    /// The column has to be of another type, which may hold what it has.
    Widen(&'static str),
    /// The column has to be of another type, if it has nothing yet.
    Become(&'static str),
    No,
}

fn fit(column: &Column, cell: &Cell) -> Fit {
    let engine = column.engine.as_deref().unwrap_or_else(|| column.engine_type());
    let flexible = column.is_flexible();
    if let (Cell::Text(text), Affinity::Integer | Affinity::Real | Affinity::Numeric) =
        (cell, column.affinity)
    {
        let trimmed = text.trim();
        if !trimmed.is_empty() && prefix_of(trimmed).len() == trimmed.len() && engine != "VARCHAR" {
            let number = numeric_of(trimmed);
            return match fit(column, &number) {
                Fit::Yes => Fit::As(number),
                other => other,
            };
        }
    }
    let otherwise = |ty: &'static str| if flexible { Fit::Become(ty) } else { Fit::No };
    match (cell, engine) {
        (Cell::Null, _) | (Cell::Integer(_), "BIGINT" | "DOUBLE" | "BOOLEAN") | (Cell::Real(_), "DOUBLE") => {
            Fit::Yes
        }
        (Cell::Text(_), "VARCHAR") | (Cell::Blob(_), "BLOB") => Fit::Yes,
        (Cell::Integer(_), "VARCHAR") if column.affinity == Affinity::Text => Fit::Yes,
        (Cell::Real(real), "VARCHAR") if column.affinity == Affinity::Text => {
            Fit::As(Cell::Text(crate::value::real_text(*real)))
        }
        (Cell::Real(real), "BIGINT")
            if real.fract() == 0.0 && real.abs() < 9.0e18 && column.affinity != Affinity::Blob =>
        {
            Fit::As(Cell::Integer(*real as i64))
        }
        (Cell::Real(_), "BIGINT") if flexible => Fit::Widen("DOUBLE"),
        (Cell::Integer(_), _) => otherwise("BIGINT"),
        (Cell::Real(_), _) => otherwise("DOUBLE"),
        (Cell::Text(_), _) => otherwise("VARCHAR"),
        (Cell::Blob(_), _) => otherwise("BLOB"),
    }
}

impl Given {
    /// As [`Given::settle`], of the literals alone.
    pub fn settle_literals(&self, db: &Db) -> Outcome<()> {
        let literals = self.values.iter().filter(|(_, origin)| matches!(origin, Origin::Literal(_)));
        let alone = Self { values: literals.cloned().collect(), ..self.clone() };
        alone.settle(db, &mut []).map(drop)
    }

    /// Sees to it that the columns take the values. Changes bound values into those that SQLite makes of them; gives whether columns
    /// have other types now.
    pub fn settle(&self, db: &Db, bound: &mut [Cell]) -> Outcome<bool> {
        let mut changed = false;
        // What this statement made of columns so far, and whether it has a value for them: the table is known as it was before.
        let mut decided: HashMap<usize, &'static str> = HashMap::new();
        let mut seen: HashSet<usize> = HashSet::new();
        let mut uses: Option<HashMap<usize, usize>> = None;
        for (index, origin) in &self.values {
            let known = &self.table.columns[*index];
            let now =
                decided.get(index).map(|ty| Column { engine: Some((*ty).to_string()), ..known.clone() });
            let column = now.as_ref().unwrap_or(known);
            let cell = match origin {
                Origin::Parameter(number) => bound.get(number - 1).cloned().unwrap_or(Cell::Null),
                Origin::Literal(cell) => cell.clone(),
            };
            let refused = || {
                let declared = column.engine.as_deref().unwrap_or_else(|| column.engine_type());
                let message = format!(
                    "column {}.{} of type {declared} cannot hold {}",
                    self.table.name,
                    column.name,
                    cell.sql()
                );
                failed(MISMATCH, message)
            };
            let is_first =
                column.is_flexible() && cell != Cell::Null && seen.insert(*index) || !column.is_flexible();
            match fit(column, &cell) {
                Fit::Yes => {}
                Fit::As(other) => {
                    if let Origin::Parameter(number) = origin {
                        // One value cannot be two.
                        let uses = uses.get_or_insert_with(|| self.uses());
                        if uses.get(number).is_some_and(|count| *count > 1) {
                            return Err(failed(
                                MISMATCH,
                                format!(
                                    "parameter {number} is used more than once, and column {}.{} needs {} as {}",
                                    self.table.name,
                                    column.name,
                                    cell.sql(),
                                    other.sql()
                                ),
                            ));
                        }
                        bound[number - 1] = other;
                    }
                }
                Fit::Widen(ty) => {
                    changed |= self.alter(db, &column.name, ty)?;
                    decided.insert(*index, ty);
                }
                Fit::Become(_) if !is_first => return Err(refused()),
                Fit::Become(ty) => {
                    let name = ident(&column.name);
                    let held = db.rows(
                        &format!("SELECT 1 FROM {} WHERE {name} IS NOT NULL LIMIT 1", self.path),
                        Vec::new(),
                    )?;
                    if !held.is_empty() {
                        return Err(refused());
                    }
                    changed |= self.alter(db, &column.name, ty)?;
                    decided.insert(*index, ty);
                }
                Fit::No => return Err(refused()),
            }
        }
        Ok(changed)
    }

    /// How often each parameter is a value of a column.
    fn uses(&self) -> HashMap<usize, usize> {
        let mut found = HashMap::new();
        for (_, origin) in &self.values {
            if let Origin::Parameter(number) = origin {
                *found.entry(*number).or_default() += 1;
            }
        }
        found
    }

    fn alter(&self, db: &Db, column: &str, ty: &str) -> Outcome<bool> {
        db.run(&format!("ALTER TABLE {} ALTER COLUMN {} TYPE {ty}", self.path, ident(column)))?;
        db.schema_changed()?;
        Ok(true)
    }
}

impl Db {
    /// The number that the next row of a table gets.
    pub fn next_id(&self, given: &Given) -> Outcome<i64> {
        if let Some(known) = self.state.lock().next_ids.get(&given.key) {
            return Ok(*known);
        }
        let name = ident(given.table.rowid_name().unwrap_or("rowid"));
        let rows = self.rows(&format!("SELECT max({name}) FROM {}", given.path), Vec::new())?;
        let greatest = rows.first().and_then(|row| row.first()).and_then(inlay::Value::as_i128).unwrap_or(0);
        let greatest = greatest.max(crate::sequences::noted(self, &given.table)?);
        i64::try_from(greatest + 1).map_err(|_| failed(crate::failure::FULL, "database or disk is full"))
    }
}

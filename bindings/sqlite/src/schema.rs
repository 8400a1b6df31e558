//! What tables are in SQLite's language: their columns with the words of their types, keys and references, as the text of CREATE TABLE says;
//! and that text as Inlay's.
//!
//! The text as given is kept as the comment of what it made, behind [`MARK`], so that it lives and dies with it.

use crate::failure::{ERROR, Outcome, failed};
use crate::lexer::{Kind, Token, Walk, ident, literal, parts, written};
use crate::respell::Respell;

/// What comments that hold texts begin with.
pub const MARK: &str = "sqlite: ";

/// What values of a column are turned into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Affinity {
    Integer,
    Real,
    Text,
    Numeric,
    Blob,
}

impl Affinity {
    /// SQLite's rules, section 3.1 of its page on types.
    pub fn of(declared: &str) -> Self {
        let upper = declared.to_ascii_uppercase();
        let has = |part: &str| upper.contains(part);
        match () {
            () if has("INT") => Self::Integer,
            () if has("CHAR") || has("CLOB") || has("TEXT") => Self::Text,
            () if has("BLOB") || upper.trim().is_empty() => Self::Blob,
            () if has("REAL") || has("FLOA") || has("DOUB") => Self::Real,
            () => Self::Numeric,
        }
    }
}

/// A column.
#[derive(Clone, Debug)]
pub struct Column {
    pub name: String,
    /// The words of its type.
    pub declared: Option<String>,
    pub affinity: Affinity,
    pub not_null: bool,
    /// The text of its default.
    pub default: Option<String>,
    /// Its place in the primary key, from 1.
    pub key: usize,
    pub collation: Option<String>,
    /// 0, 2 for a generated column that is virtual, 3 for one that is stored.
    pub hidden: u8,
    /// The type that the engine has for it now.
    pub engine: Option<String>,
}

impl Column {
    /// A column of which only the type in the engine is known.
    pub fn of_engine(name: String, ty: &str, not_null: bool) -> Self {
        let affinity = match ty {
            "BIGINT" | "INTEGER" | "BOOLEAN" | "SMALLINT" | "TINYINT" => Affinity::Integer,
            "DOUBLE" | "REAL" => Affinity::Real,
            "VARCHAR" => Affinity::Text,
            "BLOB" => Affinity::Blob,
            _ => Affinity::Numeric,
        };
        Self {
            name,
            declared: Some(ty.to_string()),
            affinity,
            not_null,
            default: None,
            key: 0,
            collation: None,
            hidden: 0,
            engine: Some(ty.to_string()),
        }
    }

    /// The type that the engine has for it at first.
    pub fn engine_type(&self) -> &'static str {
        let upper = self.declared.as_deref().unwrap_or_default().to_ascii_uppercase();
        match self.affinity {
            Affinity::Integer => "BIGINT",
            Affinity::Real => "DOUBLE",
            Affinity::Text => "VARCHAR",
            Affinity::Numeric if upper.contains("BOOL") => "BIGINT",
            Affinity::Numeric if upper.contains("DATE") || upper.contains("TIME") => "VARCHAR",
            // Digits behind the point are declared.
            Affinity::Numeric if upper.contains(',') => "DOUBLE",
            Affinity::Numeric => "BIGINT",
            Affinity::Blob if upper.is_empty() => self.default_type(),
            Affinity::Blob => "BLOB",
        }
    }

    /// The type of the default, for a column without one.
    fn default_type(&self) -> &'static str {
        let default = self.default.as_deref().unwrap_or_default();
        match () {
            () if default.parse::<i64>().is_ok() => "BIGINT",
            () if default.parse::<f64>().is_ok() => "DOUBLE",
            () => "VARCHAR",
        }
    }

    /// Whether the first value decides what type the engine has for it.
    pub fn is_flexible(&self) -> bool {
        matches!(self.affinity, Affinity::Numeric | Affinity::Blob) && self.hidden == 0
    }
}

/// A reference to another table.
#[derive(Clone, Debug, Default)]
pub struct ForeignKey {
    pub columns: Vec<String>,
    pub table: String,
    pub referenced: Vec<String>,
    pub on_update: String,
    pub on_delete: String,
}

/// A table, or a view.
#[derive(Clone, Debug, Default)]
pub struct Table {
    pub name: String,
    pub columns: Vec<Column>,
    /// The column that is the row's number.
    pub rowid: Option<usize>,
    pub without_rowid: bool,
    pub autoincrement: bool,
    pub is_view: bool,
    pub temporary: bool,
    /// Columns of its keys, and whether it is the primary one.
    pub keys: Vec<(Vec<String>, bool)>,
    pub foreign_keys: Vec<ForeignKey>,
    /// The text that made it.
    pub text: Option<String>,
}

impl Table {
    pub fn position(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.name.eq_ignore_ascii_case(name))
    }

    pub fn column(&self, name: &str) -> Option<&Column> {
        self.position(name).map(|index| &self.columns[index])
    }

    pub fn rowid_name(&self) -> Option<&str> {
        self.rowid.map(|index| self.columns[index].name.as_str())
    }
}

/// CREATE TABLE, taken apart.
pub struct CreateTable {
    pub schema: Option<String>,
    pub if_not_exists: bool,
    pub table: Table,
    /// Columns and constraints as Inlay's; `None` for a query.
    parts: Vec<String>,
    references: Vec<String>,
    pub query: Option<String>,
}

const CONSTRAINTS: [&str; 10] = [
    "constraint",
    "primary",
    "not",
    "null",
    "unique",
    "check",
    "default",
    "collate",
    "references",
    "generated",
];

impl CreateTable {
    /// Reads the tokens of CREATE TABLE; of another statement gives `None`.
    pub fn read(sql: &str, tokens: &[Token<'_>], respell: &mut Respell<'_>) -> Outcome<Option<Self>> {
        let mut walk = Walk::new(tokens);
        if !walk.word("create") {
            return Ok(None);
        }
        let temporary = walk.word("temp") || walk.word("temporary");
        if !walk.word("table") {
            return Ok(None);
        }
        let if_not_exists = walk.words(&["if", "not", "exists"]);
        let Some((schema, name)) = walk.path() else { return Err(near(walk.peek())) };
        let temporary =
            temporary || schema.as_deref().is_some_and(|schema| schema.eq_ignore_ascii_case("temp"));
        let table =
            Table { name, temporary, text: Some(written(sql, tokens).to_string()), ..Table::default() };
        let mut made =
            Self { schema, if_not_exists, table, parts: Vec::new(), references: Vec::new(), query: None };
        if walk.word("as") {
            // Its rows stay, not the query.
            respell.stays = false;
            made.query = Some(respell.tokens(&tokens[walk.at..])?);
            return Ok(Some(made));
        }
        let Some(inner) = walk.parenthesised() else { return Err(near(walk.peek())) };
        for part in parts(inner) {
            made.part(sql, part, respell)?;
        }
        while walk.at < tokens.len() {
            if walk.words(&["without", "rowid"]) {
                made.table.without_rowid = true;
            } else if !walk.word("strict") && !walk.sign(",") {
                return Err(near(walk.peek()));
            }
        }
        made.finish()?;
        Ok(Some(made))
    }

    fn part(&mut self, sql: &str, tokens: &[Token<'_>], respell: &mut Respell<'_>) -> Outcome<()> {
        let Some(first) = tokens.first() else { return Err(failed(ERROR, "near \")\": syntax error")) };
        let is_constraint = first.is_any(&["primary", "unique", "check", "foreign"])
            && tokens.get(1).is_some_and(|next| next.is("key") || next.is_sign("("))
            || first.is("constraint");
        if is_constraint { self.constraint(sql, tokens, respell) } else { self.column(sql, tokens, respell) }
    }

    fn column(&mut self, sql: &str, tokens: &[Token<'_>], respell: &mut Respell<'_>) -> Outcome<()> {
        let mut walk = Walk::new(tokens);
        let Some(name) = walk.name() else { return Err(near(tokens.first())) };
        let start = walk.at;
        while walk.peek().is_some_and(|token| !(token.is_any(&CONSTRAINTS) || token.is("as"))) {
            if walk.peek().is_some_and(|token| token.is_sign("(")) {
                if walk.parenthesised().is_none() {
                    return Err(near(walk.peek()));
                }
            } else if walk.peek().is_some_and(|token| token.kind == Kind::Sign) {
                return Err(near(walk.peek()));
            } else {
                walk.at += 1;
            }
        }
        let words = &tokens[start..walk.at];
        let declared: Option<String> = (!words.is_empty()).then(|| match words {
            [one] => one.name().unwrap_or_else(|| one.text.to_string()),
            _ => written(sql, words).to_string(),
        });
        let affinity = Affinity::of(declared.as_deref().unwrap_or_default());
        let mut column = Column {
            name: name.clone(),
            declared,
            affinity,
            not_null: false,
            default: None,
            key: 0,
            collation: None,
            hidden: 0,
            engine: None,
        };
        let mut rest = String::new();
        let mut given = String::new();
        while walk.peek().is_some() {
            if walk.word("constraint") {
                given = walk.name().map(|name| format!(" CONSTRAINT {}", ident(&name))).unwrap_or_default();
            } else if walk.words(&["primary", "key"]) {
                let _ = walk.word("asc") || walk.word("desc");
                conflict(&mut walk)?;
                self.table.autoincrement |= walk.word("autoincrement");
                column.key = 1;
                self.table.keys.push((vec![name.clone()], true));
            } else if walk.words(&["not", "null"]) {
                conflict(&mut walk)?;
                column.not_null = true;
                rest.push_str(" NOT NULL");
            } else if walk.word("null") {
                conflict(&mut walk)?;
            } else if walk.word("unique") {
                conflict(&mut walk)?;
                self.table.keys.push((vec![name.clone()], false));
                rest.push_str(" UNIQUE");
            } else if walk.word("check") {
                let Some(inner) = walk.parenthesised() else { return Err(near(walk.peek())) };
                self.parts.push(check(sql, inner, std::mem::take(&mut given), respell)?);
            } else if walk.word("default") {
                let (text, value) = default(sql, &mut walk, respell)?;
                column.default = Some(text);
                rest.push_str(&format!(" DEFAULT {value}"));
            } else if walk.word("collate") {
                let collation = walk.name().unwrap_or_default();
                match collation.to_ascii_lowercase().as_str() {
                    "nocase" => rest.push_str(" COLLATE NOCASE"),
                    "binary" | "rtrim" => {}
                    _ => return Err(respell.no_collation(&collation)),
                }
                column.collation = Some(collation);
            } else if walk.word("references") {
                self.references(vec![name.clone()], &mut walk);
            } else if walk.words(&["generated", "always", "as"]) || walk.word("as") {
                let Some(inner) = walk.parenthesised() else { return Err(near(walk.peek())) };
                column.hidden = if walk.word("stored") { 3 } else { 2 };
                walk.word("virtual");
                rest.push_str(&format!(" GENERATED ALWAYS AS ({}) STORED", respell.tokens(inner)?));
            } else {
                return Err(near(walk.peek()));
            }
        }
        let ty = column.engine_type();
        self.parts.insert(self.table.columns.len(), format!("{} {ty}{rest}", ident(&name)));
        if self.table.position(&name).is_some() {
            return Err(failed(ERROR, format!("duplicate column name: {name}")));
        }
        self.table.columns.push(column);
        Ok(())
    }

    fn constraint(&mut self, sql: &str, tokens: &[Token<'_>], respell: &mut Respell<'_>) -> Outcome<()> {
        let mut walk = Walk::new(tokens);
        let mut given = String::new();
        if walk.word("constraint") {
            given = walk.name().map(|name| format!("CONSTRAINT {} ", ident(&name))).unwrap_or_default();
        }
        let is_primary = walk.words(&["primary", "key"]);
        if is_primary || walk.word("unique") {
            let Some(inner) = walk.parenthesised() else { return Err(near(walk.peek())) };
            conflict(&mut walk)?;
            let names: Vec<String> =
                parts(inner).iter().filter_map(|part| part.first().and_then(Token::name)).collect();
            if is_primary {
                for (place, name) in names.iter().enumerate() {
                    if let Some(index) = self.table.position(name) {
                        self.table.columns[index].key = place + 1;
                    }
                }
            } else {
                let list: Vec<String> = names.iter().map(|name| ident(name)).collect();
                self.parts.push(format!("{given}UNIQUE ({})", list.join(", ")));
            }
            self.table.keys.push((names, is_primary));
        } else if walk.word("check") {
            let Some(inner) = walk.parenthesised() else { return Err(near(walk.peek())) };
            self.parts.push(check(sql, inner, given, respell)?);
        } else if walk.words(&["foreign", "key"]) {
            let Some(inner) = walk.parenthesised() else { return Err(near(walk.peek())) };
            let names = parts(inner).iter().filter_map(|part| part.first().and_then(Token::name)).collect();
            walk.word("references");
            self.references(names, &mut walk);
        } else {
            return Err(near(walk.peek()));
        }
        Ok(())
    }

    fn references(&mut self, columns: Vec<String>, walk: &mut Walk<'_, '_>) {
        let mut key = ForeignKey {
            columns,
            table: walk.name().unwrap_or_default(),
            on_update: "NO ACTION".to_string(),
            on_delete: "NO ACTION".to_string(),
            ..ForeignKey::default()
        };
        if let Some(inner) = walk.parenthesised() {
            key.referenced =
                parts(inner).iter().filter_map(|part| part.first().and_then(Token::name)).collect();
        }
        loop {
            if walk.word("on") {
                let of_update = walk.word("update");
                let _ = of_update || walk.word("delete");
                let action = [
                    (&["set", "null"][..], "SET NULL"),
                    (&["set", "default"][..], "SET DEFAULT"),
                    (&["cascade"][..], "CASCADE"),
                    (&["restrict"][..], "RESTRICT"),
                    (&["no", "action"][..], "NO ACTION"),
                ];
                let found =
                    action.iter().find(|(words, _)| walk.words(words)).map_or("NO ACTION", |(_, text)| text);
                if of_update {
                    key.on_update = found.to_string();
                } else {
                    key.on_delete = found.to_string();
                }
            } else if walk.word("match") {
                walk.at += 1;
            } else if walk.words(&["not", "deferrable"]) || walk.word("deferrable") {
                if walk.word("initially") {
                    walk.at += 1;
                }
            } else {
                break;
            }
        }
        let list = |names: &[String]| names.iter().map(|name| ident(name)).collect::<Vec<_>>().join(", ");
        let mut text = format!("FOREIGN KEY ({}) REFERENCES {}", list(&key.columns), ident(&key.table));
        if !key.referenced.is_empty() {
            text.push_str(&format!(" ({})", list(&key.referenced)));
        }
        for (event, action) in [("UPDATE", &key.on_update), ("DELETE", &key.on_delete)] {
            if action != "NO ACTION" {
                text.push_str(&format!(" ON {event} {action}"));
            }
        }
        self.references.push(text);
        self.table.foreign_keys.push(key);
    }

    /// Finds the column that is the row's number, and writes the primary key.
    fn finish(&mut self) -> Outcome<()> {
        let primary: Vec<Vec<String>> = self
            .table
            .keys
            .iter()
            .filter(|(_, is_primary)| *is_primary)
            .map(|(names, _)| names.clone())
            .collect();
        let Some(names) = primary.first() else { return Ok(()) };
        if primary.len() > 1 {
            return Err(failed(
                ERROR,
                format!("table \"{}\" has more than one primary key", self.table.name),
            ));
        }
        let list: Vec<String> = names.iter().map(|name| ident(name)).collect();
        self.parts.push(format!("PRIMARY KEY ({})", list.join(", ")));
        if let ([only], false) = (&names[..], self.table.without_rowid) {
            let position = self.table.position(only);
            let is_integer = position.is_some_and(|index| {
                let declared = self.table.columns[index].declared.as_deref();
                declared.is_some_and(|words| words.eq_ignore_ascii_case("integer"))
            });
            self.table.rowid = position.filter(|_| is_integer);
        }
        if self.table.autoincrement && self.table.rowid.is_none() {
            return Err(failed(ERROR, "AUTOINCREMENT is only allowed on an INTEGER PRIMARY KEY"));
        }
        Ok(())
    }

    /// It as Inlay's.
    pub fn engine_sql(&self, with_references: bool) -> String {
        let temporary = if self.table.temporary { "TEMP " } else { "" };
        let exists = if self.if_not_exists { "IF NOT EXISTS " } else { "" };
        let name = qualified(self.schema.as_deref(), &self.table.name);
        let head = format!("CREATE {temporary}TABLE {exists}{name}");
        match &self.query {
            Some(query) => format!("{head} AS{query}"),
            None => {
                let mut all = self.parts.clone();
                if with_references {
                    all.extend(self.references.iter().cloned());
                }
                format!("{head} ({})", all.join(", "))
            }
        }
    }
}

/// A name with its schema; those of tables that last no longer than the connection need none.
pub fn qualified(schema: Option<&str>, name: &str) -> String {
    match schema {
        Some(schema) if !schema.eq_ignore_ascii_case("temp") => format!("{}.{}", ident(schema), ident(name)),
        _ => ident(name),
    }
}

/// A word that stands where none may.
pub fn near(token: Option<&Token<'_>>) -> crate::failure::Failure {
    match token {
        Some(token) => failed(ERROR, format!("near \"{}\": syntax error", token.text)),
        None => failed(ERROR, "incomplete input"),
    }
}

/// Passes `ON CONFLICT ABORT`, which is what happens; another action is none of the engine's keys.
fn conflict(walk: &mut Walk<'_, '_>) -> Outcome<()> {
    if walk.words(&["on", "conflict"]) && !walk.word("abort") {
        let action = walk.peek().ok_or_else(|| near(None))?.text.to_ascii_uppercase();
        return Err(failed(
            ERROR,
            format!("ON CONFLICT {action} of a key or column is not supported by Inlay"),
        ));
    }
    Ok(())
}

/// A CHECK, which is called by its own text where it has no name.
fn check(sql: &str, inner: &[Token<'_>], given: String, respell: &mut Respell<'_>) -> Outcome<String> {
    let given = if given.is_empty() { format!("CONSTRAINT {}", ident(written(sql, inner))) } else { given };
    Ok(format!("{} CHECK ({})", given.trim(), respell.tokens(inner)?))
}

/// The value of DEFAULT: its text, and as Inlay's.
fn default(sql: &str, walk: &mut Walk<'_, '_>, respell: &mut Respell<'_>) -> Outcome<(String, String)> {
    let start = walk.at;
    if let Some(inner) = walk.parenthesised() {
        return Ok((written(sql, inner).to_string(), format!("({})", respell.tokens(inner)?)));
    }
    let _ = walk.sign("-") || walk.sign("+");
    let Some(value) = walk.peek() else { return Err(near(None)) };
    walk.at += 1;
    let tokens = &walk.tokens[start..walk.at];
    let text = written(sql, tokens).to_string();
    let is_word = value.kind == Kind::Word
        && !value.is_any(&["null", "true", "false", "current_timestamp", "current_date", "current_time"]);
    let made = match value.kind {
        Kind::Quoted | Kind::Name => literal(&value.name().unwrap_or_default()),
        _ if is_word => literal(value.text),
        _ => respell.tokens(tokens)?,
    };
    Ok((text, made))
}

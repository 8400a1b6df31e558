//! SQLite's spelling of statements as Inlay's: what the two languages write in different ways, token by token.
//!
//! What differs in meaning is the engine's (`SET dialect = 'sqlite'`), or a function of [`crate::library`]. The text that is made runs
//! and is seen by nobody: errors are SQLite's, and what is stored is the text as it was given.

use crate::failure::{ERROR, Outcome, failed};
use crate::lexer::{Kind, Token, closing, ident, literal, parts};
use crate::rowids::NO_ALIAS;
use crate::schema::Table;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// The time of CURRENT_TIMESTAMP and its siblings.
const CLOCKS: [(&str, &str); 3] =
    [("current_timestamp", "%Y-%m-%d %H:%M:%S"), ("current_date", "%Y-%m-%d"), ("current_time", "%H:%M:%S")];

/// Functions that are ours, by the names that SQLite has for them.
const OWN: [(&str, &str); 21] = [
    ("typeof", "sqlite_typeof"),
    ("strftime", "sqlite_strftime"),
    ("date", "sqlite_date"),
    ("time", "sqlite_time"),
    ("datetime", "sqlite_datetime"),
    ("julianday", "sqlite_julianday"),
    ("unixepoch", "sqlite_unixepoch"),
    ("printf", "sqlite_printf"),
    ("format", "sqlite_printf"),
    ("hex", "sqlite_hex"),
    ("quote", "sqlite_quote"),
    ("char", "sqlite_char"),
    ("random", "sqlite_random"),
    ("randomblob", "sqlite_randomblob"),
    ("zeroblob", "sqlite_zeroblob"),
    ("length", "sqlite_length"),
    ("soundex", "sqlite_soundex"),
    ("sqlite_version", "sqlite_library_version"),
    ("sqlite_source_id", "sqlite_library_source"),
    ("sqlite_compileoption_used", "sqlite_option_used"),
    ("sqlite_compileoption_get", "sqlite_option_get"),
];

/// What a parameter that the program does not see is given when the statement runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hidden {
    /// `last_insert_rowid()`
    LastRowid,
    /// `changes()`
    Changes,
    /// `total_changes()`
    TotalChanges,
    /// The next id of the table that rows are inserted into.
    NextId,
    /// What is bound to a parameter, or the next id where that is NULL.
    IdOr(usize),
}

/// The parameters of a statement, in order of their numbers.
#[derive(Clone, Debug, Default)]
pub struct Parameters {
    /// Names with their sign; `None` for `?`.
    pub names: Vec<Option<String>>,
    /// Numbers from 1, by where the token begins.
    numbers: HashMap<usize, usize>,
}

/// Expressions that lie deeper in others are an error, as in SQLite: they would take all of the stack.
pub const DEPTH_MAX: usize = 1000;

pub fn too_deep() -> crate::failure::Failure {
    failed(ERROR, format!("Expression tree is too large (maximum depth {DEPTH_MAX})"))
}

/// More parameters are an error.
const PARAMETERS_MAX: usize = 32766;

impl Parameters {
    /// The number of a token.
    pub fn number(&self, token: &Token<'_>) -> Option<usize> {
        self.numbers.get(&token.at).copied()
    }

    pub fn of(tokens: &[Token<'_>]) -> Outcome<Self> {
        let mut found = Self::default();
        for token in tokens.iter().filter(|token| token.kind == Kind::Parameter) {
            let given = found.names.iter().position(|name| name.as_deref() == Some(token.text));
            let number = match (token.text.strip_prefix('?'), given) {
                (_, Some(known)) => known + 1,
                (Some(""), None) | (None, None) => found.names.len() + 1,
                (Some(digits), None) => digits.parse().unwrap_or(0),
            };
            if number == 0 || number > PARAMETERS_MAX {
                return Err(failed(
                    ERROR,
                    format!("variable number must be between ?1 and ?{PARAMETERS_MAX}"),
                ));
            }
            if found.names.len() < number {
                found.names.resize(number, None);
            }
            if token.text != "?" {
                found.names[number - 1] = Some(token.text.to_string());
            }
            found.numbers.insert(token.at, number);
        }
        Ok(found)
    }
}

/// Rows of a `pragma_` function: its columns, and the values of each row as SQL.
pub type PragmaRows = (Vec<String>, Vec<Vec<String>>);

/// What names of a statement mean.
pub struct Names<'a> {
    /// Tables and views that it mentions, by lower-case name.
    pub tables: Vec<Arc<Table>>,
    /// The program's functions: lower-case name and number of arguments (-1 for any) to the engine's name.
    pub functions: &'a HashMap<(String, i32), String>,
    /// Collations that the program made, by lower-case name.
    pub collations: &'a HashSet<String>,
    /// Rows of a `pragma_` function: columns, and the values of each row as SQL; of all tables if it has no argument that is known.
    pub pragma: &'a dyn Fn(&str, Option<&str>) -> Option<PragmaRows>,
    /// Names in double quotes are names, whatever there is.
    pub defines: bool,
}

/// A statement being respelled.
pub struct Respell<'a> {
    pub names: Names<'a>,
    pub parameters: &'a Parameters,
    pub hidden: Vec<Hidden>,
    words: HashSet<String>,
    rowids: crate::rowids::Rowids,
    /// What is made stays in the file, so it must mean the same for every process.
    pub stays: bool,
    depth: usize,
}

impl<'a> Respell<'a> {
    pub fn new(tokens: &[Token<'_>], names: Names<'a>, parameters: &'a Parameters) -> Self {
        let bare = tokens.iter().enumerate().filter(|(at, token)| {
            let is_alias = at.checked_sub(1).is_some_and(|before| tokens[before].is("as"));
            let is_cte = tokens.get(at + 1).is_some_and(|next| next.is("as"));
            token.kind == Kind::Word || (is_alias || is_cte) && token.is_name()
        });
        let mut words: HashSet<String> =
            bare.filter_map(|(_, token)| token.name()).map(|name| name.to_lowercase()).collect();
        // The table of all tables is the engine's, and has its columns.
        if tokens.iter().filter_map(Token::name).any(|name| is_schema_table(&name)) {
            words.extend(["type", "name", "tbl_name", "rootpage", "sql", SCHEMA_TABLE].map(str::to_string));
        }
        for table in &names.tables {
            words.insert(table.name.to_lowercase());
            words.extend(table.columns.iter().map(|column| column.name.to_lowercase()));
        }
        let is_schema = names.tables.is_empty() && words.contains(SCHEMA_TABLE);
        let rowids = crate::rowids::rowids(tokens, &names.tables, is_schema);
        let stays = names.defines;
        Self { names, parameters, hidden: Vec::new(), words, rowids, stays, depth: 0 }
    }

    /// A parameter for a value that the statement is given when it runs.
    pub fn hidden(&mut self, value: Hidden) -> String {
        self.hidden.push(value);
        format!("${}", self.parameters.names.len() + self.hidden.len())
    }

    /// Some tokens as Inlay's.
    pub fn tokens(&mut self, tokens: &[Token<'_>]) -> Outcome<String> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(too_deep());
        }
        let made = self.flat(tokens);
        self.depth -= 1;
        made
    }

    fn flat(&mut self, tokens: &[Token<'_>]) -> Outcome<String> {
        let mut out = String::new();
        let mut at = 0;
        while at < tokens.len() {
            let (text, next) = self.one(tokens, at)?;
            if !text.is_empty() {
                let touches = at > 0 && tokens[at - 1].end() == tokens[at].at;
                let is_sign = |c: Option<char>| c.is_none_or(|c| matches!(c, '(' | ')' | ',' | '.'));
                if !(touches && (is_sign(out.chars().last()) || is_sign(text.chars().next()))) {
                    out.push(' ');
                }
                out.push_str(&text);
            }
            at = next;
        }
        Ok(out)
    }

    /// The token at a place, and where to go on.
    fn one(&mut self, tokens: &[Token<'_>], at: usize) -> Outcome<(String, usize)> {
        let token = &tokens[at];
        let next = at + 1;
        if let Some((text, count)) = self.rowids.get(&token.at) {
            return text.clone().map(|text| (text, at + count));
        }
        Ok(match token.kind {
            Kind::Word => return self.word(tokens, at),
            Kind::Quoted => (self.double_quoted(tokens, at), next),
            Kind::Name => (ident(&token.name().unwrap_or_default()), next),
            Kind::Text if is_name_place(tokens, at) => (ident(&token.name().unwrap_or_default()), next),
            Kind::Text => (token.text.to_string(), next),
            Kind::Blob => (blob(token.text), next),
            Kind::Number => (number(token.text), next),
            Kind::Parameter => {
                let number = self.parameters.numbers.get(&token.at).copied().unwrap_or(0);
                (format!("${number}"), next)
            }
            Kind::Sign if token.text == "==" => ("=".to_string(), next),
            Kind::Sign | Kind::Blank => (token.text.to_string(), next),
            Kind::Bad => return Err(failed(ERROR, format!("unrecognized token: \"{}\"", token.text))),
        })
    }

    fn double_quoted(&self, tokens: &[Token<'_>], at: usize) -> String {
        let name = tokens[at].name().unwrap_or_default();
        let touches_dot =
            |index: Option<usize>| index.and_then(|i| tokens.get(i)).is_some_and(|t| t.is_sign("."));
        let is_name = self.names.defines
            || touches_dot(at.checked_sub(1))
            || touches_dot(Some(at + 1))
            || is_name_place(tokens, at)
            || tokens.get(at + 1).is_some_and(|next| next.is_sign("("))
            || self.words.contains(&name.to_lowercase());
        if is_name { ident(&name) } else { literal(&name) }
    }

    fn word(&mut self, tokens: &[Token<'_>], at: usize) -> Outcome<(String, usize)> {
        let (token, lower) = (&tokens[at], tokens[at].text.to_ascii_lowercase());
        let is =
            |ahead: usize, words: &[&str]| tokens.get(at + ahead).is_some_and(|token| token.is_any(words));
        let before = at.checked_sub(1).map(|before| &tokens[before]);
        let same = || Ok((token.text.to_string(), at + 1));
        if before.is_some_and(|before| before.is_sign(".")) {
            return same();
        }
        if tokens.get(at + 1).is_some_and(|next| next.is_sign("(")) && !before.is_some_and(|b| b.is("into")) {
            return self.call(&lower, tokens, at);
        }
        match lower.as_str() {
            "like" => Ok(("ILIKE".to_string(), at + 1)),
            "isnull" => Ok(("IS NULL".to_string(), at + 1)),
            "notnull" => Ok(("IS NOT NULL".to_string(), at + 1)),
            "not" if is(1, &["null"]) && !self.names.defines && before.is_some_and(is_operand) => {
                Ok(("IS NOT NULL".to_string(), at + 2))
            }
            "not" if is(1, &["indexed"]) => Ok((String::new(), at + 2)),
            "indexed" if is(1, &["by"]) => Ok((String::new(), at + 3)),
            "is" if is(1, &["null", "true", "false", "distinct"]) => same(),
            "is" if is(1, &["not"]) && is(2, &["null", "true", "false", "distinct"]) => same(),
            "is" if is(1, &["not"]) => Ok(("IS DISTINCT FROM".to_string(), at + 2)),
            "is" => Ok(("IS NOT DISTINCT FROM".to_string(), at + 1)),
            "in" if tokens.get(at + 1).is_some_and(Token::is_name) => {
                let mut walk = crate::lexer::Walk { tokens, at: at + 1 };
                let path =
                    walk.path().map(|(schema, name)| crate::schema::qualified(schema.as_deref(), &name));
                Ok((format!("IN (SELECT * FROM {})", path.unwrap_or_default()), walk.at))
            }
            "inner" if is(1, &["join"]) => Ok((String::new(), at + 1)),
            "join"
                if !before.is_some_and(|before| before.is_any(&BEFORE_JOIN))
                    && !has_condition(&tokens[at + 1..]) =>
            {
                Ok(("CROSS JOIN".to_string(), at + 1))
            }
            "collate" => self.collate(tokens, at),
            "limit" => self.limit(tokens, at),
            "pragma" => same(),
            _ if lower.starts_with("pragma_") => self.pragma(&lower, tokens, at, at + 1, None),
            _ => match CLOCKS.iter().find(|(name, _)| *name == lower) {
                Some((_, format)) => Ok((clock(format), at + 1)),
                None => same(),
            },
        }
    }

    fn collate(&self, tokens: &[Token<'_>], at: usize) -> Outcome<(String, usize)> {
        let Some(name) = tokens.get(at + 1).and_then(Token::name) else {
            return Ok(("COLLATE".to_string(), at + 1));
        };
        match name.to_ascii_lowercase().as_str() {
            // Written, as the column may have another one.
            "binary" | "rtrim" => Ok(("COLLATE BINARY".to_string(), at + 2)),
            "nocase" => Ok(("COLLATE NOCASE".to_string(), at + 2)),
            _ => Err(self.no_collation(&name)),
        }
    }

    /// What is said of a collation that the engine has not.
    pub fn no_collation(&self, name: &str) -> crate::failure::Failure {
        let message = match self.names.collations.contains(&name.to_ascii_lowercase()) {
            true => format!("collation {name} of the program cannot be used in a statement"),
            false => format!("no such collation sequence: {name}"),
        };
        failed(ERROR, message)
    }

    /// `LIMIT a, b`, and limits that are none.
    fn limit(&mut self, tokens: &[Token<'_>], at: usize) -> Outcome<(String, usize)> {
        let mut depth = 0usize;
        let mut comma = None;
        let mut end = at + 1;
        while end < tokens.len() {
            let token = &tokens[end];
            if token.is_sign("(") {
                depth += 1;
            } else if depth == 0 && (token.is_sign(")") || token.is_any(&["offset", "returning", "union"])) {
                break;
            } else if token.is_sign(")") {
                depth -= 1;
            } else if token.is_sign(",") && depth == 0 {
                comma = Some(end);
            }
            end += 1;
        }
        let is_none = |tokens: &[Token<'_>]| tokens.first().is_some_and(|token| token.is_sign("-"));
        match comma {
            Some(comma) => {
                let (offset, count) = (self.tokens(&tokens[at + 1..comma])?, &tokens[comma + 1..end]);
                let count =
                    if is_none(count) { String::new() } else { format!("LIMIT{} ", self.tokens(count)?) };
                Ok((format!("{count}OFFSET{offset}"), end))
            }
            None if is_none(&tokens[at + 1..end]) => Ok((String::new(), end)),
            None => Ok((format!("LIMIT{}", self.tokens(&tokens[at + 1..end])?), end)),
        }
    }

    /// A name with a parenthesis behind it.
    fn call(&mut self, lower: &str, tokens: &[Token<'_>], at: usize) -> Outcome<(String, usize)> {
        let Some(length) = closing(&tokens[at + 1..]) else {
            return Ok((tokens[at].text.to_string(), at + 1));
        };
        let (inner, end) = (&tokens[at + 2..at + 1 + length], at + 2 + length);
        let arguments = if inner.is_empty() { Vec::new() } else { parts(inner) };
        let count = i32::try_from(arguments.len()).unwrap_or(-1);
        let named = |count: i32| self.names.functions.get(&(lower.to_string(), count)).cloned();
        if let Some(own) = named(count).or_else(|| named(-1)) {
            if self.stays {
                return Err(unstored(&format!("{lower}() of the program")));
            }
            return Ok((format!("{}({})", ident(&own), self.tokens(inner)?), end));
        }
        if let Some((name, _)) = self.names.functions.keys().find(|(name, _)| name == lower) {
            return Err(failed(ERROR, format!("wrong number of arguments to function {name}()")));
        }
        if lower.starts_with("pragma_") {
            return self.pragma(lower, tokens, at, end, arguments.first().copied());
        }
        let is_windowed = tokens.get(end).is_some_and(|next| next.is_any(&["over", "filter"]));
        Ok(match (lower, &arguments[..]) {
            ("cast", _) => (self.cast(inner)?, end),
            ("last_insert_rowid" | "changes" | "total_changes", []) if self.stays => {
                return Err(unstored(&format!("{lower}()")));
            }
            ("last_insert_rowid", []) => (self.hidden(Hidden::LastRowid), end),
            ("changes", []) => (self.hidden(Hidden::Changes), end),
            ("total_changes", []) => (self.hidden(Hidden::TotalChanges), end),
            ("likely" | "unlikely", [one]) | ("likelihood", [one, _]) => {
                (format!("({})", self.tokens(one)?), end)
            }
            ("iif" | "if", [condition, yes, no]) => {
                let (condition, yes, no) = (self.tokens(condition)?, self.tokens(yes)?, self.tokens(no)?);
                (format!("(CASE WHEN{condition} THEN{yes} ELSE{no} END)"), end)
            }
            ("max" | "min", [_, _, ..]) => {
                let values = arguments.iter().map(|one| self.tokens(one)).collect::<Outcome<Vec<_>>>()?;
                // Each is written twice, so that those in others grow fast.
                if values.iter().map(String::len).sum::<usize>() > ARGUMENTS_SIZE_MAX {
                    return Err(failed(ERROR, format!("the arguments of {lower}() are too long")));
                }
                let nulls: Vec<String> = values.iter().map(|value| format!("({value}) IS NULL")).collect();
                let function = if lower == "max" { "greatest" } else { "least" };
                (
                    format!(
                        "(CASE WHEN {} THEN NULL ELSE {function}({}) END)",
                        nulls.join(" OR "),
                        values.join(",")
                    ),
                    end,
                )
            }
            ("total", [one]) if !is_windowed => {
                (format!("coalesce(sum(CAST({} AS DOUBLE)), 0e0)", self.tokens(one)?), end)
            }
            ("group_concat", [first, ..]) => {
                let distinct = first.first().is_some_and(|token| token.is("distinct"));
                let value = self.tokens(if distinct { &first[1..] } else { first })?;
                let rest = arguments[1..].iter().map(|one| Ok(format!(",{}", self.tokens(one)?)));
                let rest = rest.collect::<Outcome<Vec<_>>>()?.concat();
                let distinct = if distinct { "DISTINCT " } else { "" };
                (format!("group_concat({distinct}CAST({value} AS VARCHAR){rest})"), end)
            }
            ("glob", [pattern, text]) => {
                (format!("({} GLOB {})", self.tokens(text)?, self.tokens(pattern)?), end)
            }
            ("like", [pattern, text]) => {
                (format!("({} ILIKE {})", self.tokens(text)?, self.tokens(pattern)?), end)
            }
            ("count", []) => ("count(*)".to_string(), end),
            ("in", []) => ("IN (SELECT NULL WHERE 1 = 0)".to_string(), end),
            _ => match OWN.iter().find(|(name, _)| *name == lower) {
                Some((_, own)) => (format!("{own}({})", self.tokens(inner)?), end),
                // Not a function of its own: the parenthesis is read as any.
                None if lower == "like" => ("ILIKE".to_string(), at + 1),
                None if is_keyword_before_parenthesis(lower) => {
                    let name = match lower {
                        "is" => "IS NOT DISTINCT FROM",
                        _ => tokens[at].text,
                    };
                    if lower == "limit" {
                        return self.limit(tokens, at);
                    }
                    (name.to_string(), at + 1)
                }
                None => (tokens[at].text.to_string(), at + 1),
            },
        })
    }

    /// CAST by SQLite's rules: of a text it takes the number that it begins with.
    fn cast(&mut self, inner: &[Token<'_>]) -> Outcome<String> {
        let mut depth = 0usize;
        let mut place = None;
        for (index, token) in inner.iter().enumerate() {
            match token.text {
                "(" => depth += 1,
                ")" => depth = depth.saturating_sub(1),
                _ if depth == 0 && token.is("as") => place = Some(index),
                _ => {}
            }
        }
        let Some(place) = place else { return Err(failed(ERROR, "near \")\": syntax error")) };
        let declared: Vec<&str> = inner[place + 1..].iter().map(|token| token.text).collect();
        let value = self.tokens(&inner[..place])?;
        Ok(match crate::schema::Affinity::of(&declared.join(" ")) {
            crate::schema::Affinity::Integer => format!("sqlite_to_integer({value})"),
            crate::schema::Affinity::Real => format!("sqlite_to_real({value})"),
            crate::schema::Affinity::Numeric => format!("sqlite_to_numeric({value})"),
            crate::schema::Affinity::Text => format!("sqlite_to_text({value})"),
            crate::schema::Affinity::Blob => format!("sqlite_to_blob({value})"),
        })
    }

    /// A `pragma_` function as the rows that it gives.
    fn pragma(
        &mut self,
        lower: &str,
        tokens: &[Token<'_>],
        at: usize,
        end: usize,
        argument: Option<&[Token<'_>]>,
    ) -> Outcome<(String, usize)> {
        if self.stays {
            return Err(unstored(lower));
        }
        let name = lower.trim_start_matches("pragma_");
        let known = match argument {
            Some([only]) if matches!(only.kind, Kind::Text) => only.name(),
            _ => None,
        };
        let Some((columns, rows)) = (self.names.pragma)(name, known.as_deref()) else {
            return Err(failed(ERROR, format!("no such table: {}", tokens[at].text)));
        };
        let depends = argument.filter(|_| known.is_none());
        let list = columns.iter().map(|column| ident(column)).collect::<Vec<_>>().join(", ");
        // Rows of all tables have the table in front.
        let all = if depends.is_some() { format!("\"tbl\", {list}") } else { list.clone() };
        let width = columns.len() + usize::from(depends.is_some());
        let empty = vec![vec!["NULL".to_string(); width]];
        let given = if rows.is_empty() { &empty } else { &rows };
        let values: Vec<String> = given.iter().map(|row| format!("({})", row.join(", "))).collect();
        let condition = match depends {
            Some(argument) => format!(" WHERE \"tbl\" = ({})", self.tokens(argument)?),
            None if rows.is_empty() => " WHERE false".to_string(),
            None => String::new(),
        };
        let has_alias =
            tokens.get(end).is_some_and(|next| next.is("as") || next.is_name() && !next.is_any(&NO_ALIAS));
        let alias = if has_alias { String::new() } else { format!(" AS {}", ident(lower)) };
        Ok((
            format!("(SELECT {list} FROM (VALUES {}) AS v({all}){condition}){alias}", values.join(", ")),
            end,
        ))
    }
}

/// The longest text of the arguments of `max` or `min`.
const ARGUMENTS_SIZE_MAX: usize = 1 << 20;

/// What only this connection knows.
fn unstored(what: &str) -> crate::failure::Failure {
    failed(ERROR, format!("{what} cannot be used in a definition"))
}

/// Words in front of JOIN that say what it is.
const BEFORE_JOIN: [&str; 7] = ["left", "right", "full", "outer", "natural", "cross", "asof"];

/// Whether the join whose table comes next has ON or USING.
fn has_condition(tokens: &[Token<'_>]) -> bool {
    let mut depth = 0usize;
    for token in tokens {
        match token.text {
            "(" => depth += 1,
            ")" if depth == 0 => return false,
            ")" => depth -= 1,
            _ if depth > 0 => {}
            _ if token.is_any(&["on", "using"]) => return true,
            _ if token.is_sign(",")
                || token.is_any(&["join", "where", "group", "order", "limit", "union", "having"]) =>
            {
                return false;
            }
            _ => {}
        }
    }
    false
}

/// What stands for the table of all tables among the words of a statement.
const SCHEMA_TABLE: &str = "sqlite_master";

fn is_schema_table(name: &str) -> bool {
    let names = ["sqlite_master", "sqlite_schema", "sqlite_temp_master", "sqlite_temp_schema"];
    names.iter().any(|known| name.eq_ignore_ascii_case(known))
}

/// Words that a parenthesis may follow though they are no functions.
fn is_keyword_before_parenthesis(lower: &str) -> bool {
    matches!(
        lower,
        "is" | "limit"
            | "in"
            | "not"
            | "and"
            | "or"
            | "values"
            | "on"
            | "as"
            | "select"
            | "where"
            | "from"
            | "exists"
    )
}

/// Whether something can end with a token that an operator follows.
fn is_operand(token: &Token<'_>) -> bool {
    match token.kind {
        Kind::Word => !token.is_any(&[
            "and", "or", "not", "where", "on", "having", "when", "then", "else", "case", "select", "is",
            "all", "distinct", "by", "between", "like", "in", "from", "values", "using",
        ]),
        Kind::Sign => token.text == ")",
        Kind::Quoted | Kind::Name | Kind::Text | Kind::Blob | Kind::Number | Kind::Parameter => true,
        Kind::Blank | Kind::Bad => false,
    }
}

/// Whether a text at this place is a name.
fn is_name_place(tokens: &[Token<'_>], at: usize) -> bool {
    let words = ["as", "from", "join", "into", "table", "update", "index", "view"];
    let is_operator = at.checked_sub(2).is_some_and(|before| tokens[before].is("distinct"));
    !is_operator && at.checked_sub(1).is_some_and(|before| tokens[before].is_any(&words))
}

/// A moment of now, in UTC as SQLite has it.
fn clock(format: &str) -> String {
    format!("strftime(now() AT TIME ZONE 'UTC', '{format}')")
}

fn blob(text: &str) -> String {
    let digits = text.get(2..text.len() - 1).unwrap_or_default();
    let bytes: Vec<String> =
        digits.as_bytes().chunks(2).map(|pair| format!("\\x{}", String::from_utf8_lossy(pair))).collect();
    format!("('{}'::BLOB)", bytes.concat())
}

/// A number as Inlay's: what has a point or an exponent is a DOUBLE, and what is no BIGINT, too.
fn number(text: &str) -> String {
    if let Some(digits) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        return u64::from_str_radix(digits, 16)
            .map_or_else(|_| text.to_string(), |bits| (bits as i64).to_string());
    }
    if text.contains(['e', 'E']) {
        return if text.starts_with('.') {
            format!("0{text}")
        } else {
            text.replace(".e", "e").replace(".E", "E")
        };
    }
    if text.contains('.') {
        return format!("{}{}e0", if text.starts_with('.') { "0" } else { "" }, text.trim_end_matches('.'));
    }
    if text.parse::<i64>().is_ok() || text == "9223372036854775808" {
        text.to_string()
    } else {
        format!("{text}e0")
    }
}

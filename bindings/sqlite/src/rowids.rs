//! What stands for the number of a row: `rowid`, `oid` and `_rowid_` are the column of an INTEGER PRIMARY KEY, or the place in the table.
//!
//! Which table is meant is read from the tables that each query of a statement names, before anything is respelled.

use crate::failure::{ERROR, Outcome, failed};
use crate::lexer::{Kind, Token, Walk, ident};
use crate::schema::Table;
use std::collections::HashMap;
use std::sync::Arc;

/// By where a name begins: what it is for the engine, and how many tokens it has.
pub type Rowids = HashMap<usize, (Outcome<String>, usize)>;

/// A query, or the statement around it.
#[derive(Default)]
struct Scope {
    parent: Option<usize>,
    /// Tables, by what the query calls them.
    sources: Vec<(String, Arc<Table>)>,
}

/// What may come next.
#[derive(Clone, Copy, Default)]
struct State {
    /// A table.
    expects: bool,
    in_from: bool,
    /// A column of the result.
    in_items: bool,
}

/// Words behind a table that are not its alias.
pub(crate) const NO_ALIAS: [&str; 33] = [
    "where",
    "order",
    "group",
    "having",
    "limit",
    "join",
    "inner",
    "left",
    "right",
    "full",
    "outer",
    "cross",
    "natural",
    "on",
    "union",
    "except",
    "intersect",
    "using",
    "set",
    "values",
    "default",
    "select",
    "indexed",
    "not",
    "returning",
    "window",
    "offset",
    "as",
    "with",
    "replace",
    "from",
    "do",
    "asof",
];

fn is_rowid(name: &str) -> bool {
    ["rowid", "oid", "_rowid_"].iter().any(|known| name.eq_ignore_ascii_case(known))
}

/// The queries of a statement, by token, and whether a token is in a list of results.
fn scopes(tokens: &[Token<'_>], tables: &[Arc<Table>]) -> (Vec<Scope>, Vec<(usize, bool)>) {
    let mut scopes = vec![Scope::default()];
    let mut places = vec![(0, false); tokens.len()];
    let mut open: Vec<(usize, State)> = Vec::new();
    let (mut current, mut state) = (0, State::default());
    let inserts = tokens.iter().take(1).any(|first| first.is_any(&["insert", "replace"]));
    let mut at = 0;
    while at < tokens.len() {
        let token = &tokens[at];
        places[at] = (current, state.in_items);
        if token.is_sign("(") {
            open.push((current, state));
            state.in_items = false;
            if tokens.get(at + 1).is_some_and(|next| next.is_any(&["select", "with", "values"])) {
                scopes.push(Scope { parent: Some(current), ..Scope::default() });
                (current, state) = (scopes.len() - 1, State::default());
            }
        } else if token.is_sign(")") {
            (current, state) = open.pop().unwrap_or((0, State::default()));
            state.expects = false;
        } else if token.is_any(&["union", "except", "intersect"]) {
            scopes.push(Scope { parent: scopes[current].parent, ..Scope::default() });
            (current, state) = (scopes.len() - 1, State::default());
        } else if token.is("select") {
            // The rows of INSERT know nothing of the table that they go into.
            if inserts && open.is_empty() && current == 0 {
                scopes.push(Scope::default());
                current = scopes.len() - 1;
            }
            state = State { in_items: true, ..State::default() };
        } else if token.is("returning") {
            if open.is_empty() && inserts {
                current = 0;
            }
            state = State { in_items: true, ..State::default() };
        } else if token.is("on") && tokens.get(at + 1).is_some_and(|next| next.is("conflict")) {
            (current, state) = (0, State::default());
        } else if token.is_any(&["from", "join", "into"]) {
            let is_operator = at.checked_sub(1).is_some_and(|before| tokens[before].is("distinct"));
            if !is_operator {
                state = State { expects: true, in_from: true, in_items: false };
            }
        } else if token.is("update") && (at == 0 || tokens[at - 1].is_sign(")")) {
            state.expects = true;
        } else if token.is_any(&["or", "abort", "fail", "ignore", "replace", "rollback"]) && state.expects {
            // UPDATE OR ROLLBACK t
        } else if token.is_sign(",") && state.in_from {
            state.expects = true;
        } else if token.is_any(&["where", "group", "order", "having", "limit", "set", "values", "window"]) {
            state = State::default();
        } else if token.is_any(&["on", "using"]) {
            state.expects = false;
        } else if state.expects && token.name().is_some() {
            state.expects = false;
            let mut walk = Walk { tokens, at };
            if let Some((_, name)) = walk.path() {
                let is_as = walk.word("as");
                let alias = walk.peek().filter(|next| is_as || next.is_name() && !next.is_any(&NO_ALIAS));
                let called = alias.and_then(Token::name).unwrap_or_else(|| name.clone());
                let known = tables.iter().filter(|table| table.name.eq_ignore_ascii_case(&name));
                scopes[current].sources.extend(known.map(|table| (called.clone(), Arc::clone(table))));
                let end = walk.at + usize::from(alias.is_some());
                while at + 1 < end {
                    at += 1;
                    places[at] = (current, false);
                }
            }
        }
        at += 1;
    }
    (scopes, places)
}

/// Whether a name in a list of results is the alias of what stands before it.
fn is_alias(before: &Token<'_>) -> bool {
    match before.kind {
        Kind::Word => {
            !before.is_any(&[
                "select",
                "distinct",
                "all",
                "returning",
                "not",
                "and",
                "or",
                "is",
                "like",
                "glob",
            ]) && !before
                .is_any(&["case", "when", "then", "else", "between", "in", "collate", "match", "escape"])
        }
        Kind::Sign => before.text == ")",
        Kind::Quoted | Kind::Name | Kind::Text | Kind::Number | Kind::Parameter | Kind::Blob => true,
        Kind::Blank | Kind::Bad => false,
    }
}

/// Finds the names of row numbers in a statement. `is_schema` if it reads the table of all tables alone.
pub fn rowids(tokens: &[Token<'_>], tables: &[Arc<Table>], is_schema: bool) -> Rowids {
    let mut found = Rowids::new();
    let names_one = |token: &Token<'_>| token.is_name() && token.name().is_some_and(|name| is_rowid(&name));
    if !tokens.iter().any(names_one) {
        return found;
    }
    let (scopes, places) = scopes(tokens, tables);
    for (at, token) in tokens.iter().enumerate() {
        if !names_one(token) || tokens.get(at + 1).is_some_and(|next| next.is_sign("(") || next.is_sign("."))
        {
            continue;
        }
        let dot = |place: usize| tokens.get(place).is_some_and(|token| token.is_sign("."));
        let start = match at {
            4.. if dot(at - 1) && dot(at - 3) => at - 4,
            2.. if dot(at - 1) => at - 2,
            _ => at,
        };
        let qualifier = if start < at { tokens[at - 2].name() } else { None };
        let before = start.checked_sub(1).map(|before| &tokens[before]);
        let (scope, in_items) = places[at];
        if before.is_some_and(|before| before.is("as") || in_items && is_alias(before)) {
            continue;
        }
        let of = |scope: usize| -> Vec<&Arc<Table>> {
            let sources = scopes[scope].sources.iter().filter(|(called, table)| {
                qualifier.as_ref().is_none_or(|name| called.eq_ignore_ascii_case(name)) && !table.is_view
            });
            sources.map(|(_, table)| table).collect()
        };
        let mut meant = Vec::new();
        let mut around = Some(scope);
        while let Some(scope) = around.filter(|_| meant.is_empty()) {
            meant = of(scope);
            around = scopes[scope].parent;
        }
        if qualifier.as_ref().is_some_and(|name| name.eq_ignore_ascii_case("excluded")) && meant.is_empty() {
            meant = scopes[0].sources.iter().map(|(_, table)| table).collect();
        }
        let name = token.name().unwrap_or_default();
        let Some(first) = meant.first() else {
            // Its rows come in the order in which they were made.
            if is_schema && qualifier.is_none() && token.kind == Kind::Word {
                found.insert(token.at, (Ok("(1 + 0)".to_string()), 1));
            }
            continue;
        };
        if meant.iter().any(|table| table.position(&name).is_some()) {
            continue;
        }
        let key = first.rowid_name();
        let is_clear = match qualifier {
            Some(_) => meant.iter().all(|table| table.rowid_name() == key),
            None => meant.len() == 1,
        };
        let path: String = tokens[start..at]
            .iter()
            .map(|token| if token.kind == Kind::Word { token.text.to_string() } else { quoted(token) })
            .collect();
        let is_item = in_items
            && before
                .is_some_and(|b| b.is_any(&["select", "distinct", "all", "returning"]) || b.is_sign(","))
            && tokens.get(at + 1).is_none_or(|next| {
                next.is_any(&["from", "where", "union", "except", "intersect", "order", "limit"])
                    || [",", ")"].iter().any(|sign| next.is_sign(sign))
            });
        let text = match key {
            _ if !is_clear => Err(failed(ERROR, format!("ambiguous column name: {name}"))),
            Some(key) => Ok(format!("{path}{}", ident(key))),
            None if is_item => Ok(format!("({path}rowid + 1) AS rowid")),
            None => Ok(format!("({path}rowid + 1)")),
        };
        found.insert(tokens[start].at, (text, at + 1 - start));
    }
    found
}

fn quoted(token: &Token<'_>) -> String {
    token.name().map_or_else(|| token.text.to_string(), |name| ident(&name))
}

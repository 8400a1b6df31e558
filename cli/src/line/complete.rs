//! Completion: commands and their arguments, names of the catalog, functions, words of the language, files.
//!
//! Where a name of a table is expected (behind FROM, JOIN, INTO and the like) tables come first; elsewhere the columns
//! of the tables that the statement names. Inside of quotes files are completed.

use super::names::{Names, SharedNames};
use super::tokens::{Kind, Token, tokens};
use crate::dot::COMMANDS;
use crate::session::home;
use crate::settings::MODES;
use inlay::sql;
use reedline::{Completer, Span, Suggestion};
use std::path::Path;

/// More are not shown: who sees so many types another letter.
const SUGGESTIONS_MAX: usize = 200;

/// Completes what is typed.
pub struct SqlCompleter {
    pub names: SharedNames,
}

/// Something to complete with.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Candidate {
    text: String,
    description: Option<String>,
    /// Whether a space follows.
    is_whole: bool,
}

impl Candidate {
    fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), description: None, is_whole: true }
    }

    fn described(text: impl Into<String>, description: &str) -> Self {
        Self { text: text.into(), description: Some(description.to_string()), is_whole: true }
    }

    fn open(self) -> Self {
        Self { is_whole: false, ..self }
    }
}

impl Completer for SqlCompleter {
    fn complete(&mut self, line: &str, pos: usize) -> Vec<Suggestion> {
        let Some(before) = line.get(..pos) else { return Vec::new() };
        let Ok(names) = self.names.read() else { return Vec::new() };
        let (start, found) =
            if before.starts_with(['.', '\\']) { command(&names, before) } else { sql(&names, before, line) };
        let suggestion = |candidate: Candidate| Suggestion {
            value: candidate.text,
            description: candidate.description,
            span: Span::new(start, pos),
            append_whitespace: candidate.is_whole,
            ..Suggestion::default()
        };
        found.into_iter().take(SUGGESTIONS_MAX).map(suggestion).collect()
    }
}

/// A command's name, or its argument.
fn command(names: &Names, before: &str) -> (usize, Vec<Candidate>) {
    let Some(blank) = before.find(char::is_whitespace) else {
        let is_begun = |name: &&str| name.starts_with(&before[1..]);
        let dotted = COMMANDS.iter().filter(|command| is_begun(&command.name));
        let found = dotted.map(|command| Candidate::described(format!(".{}", command.name), command.help));
        return (0, if before.starts_with('.') { found.collect() } else { Vec::new() });
    };
    let start = before.rfind(char::is_whitespace).map_or(blank, |at| at) + 1;
    let word = &before[start..];
    let name = before[1..blank].to_lowercase();
    let found = match name.as_str() {
        "mode" => MODES.iter().map(|(name, _, help)| Candidate::described(*name, help)).collect(),
        "tables" | "schema" | "columns" | "dump" | "indexes" | "views" | "d" | "dt" | "dv" => {
            table_names(names)
        }
        "functions" | "df" => {
            names.functions.iter().map(|f| Candidate::described(&f.name, &f.description)).collect()
        }
        "help" => COMMANDS.iter().map(|command| Candidate::described(command.name, command.help)).collect(),
        "read" | "open" | "import" | "output" | "once" | "cd" | "backup" | "verify" | "recover" | "i"
        | "o" | "c" => {
            let mut all = files(word.trim_start_matches(['\'', '"']));
            if name == "import" {
                all.extend(table_names(names));
            }
            all
        }
        _ => match COMMANDS.iter().find(|command| command.name == name) {
            Some(command) if command.arguments.contains('|') => command
                .arguments
                .split('|')
                .filter(|w| w.chars().all(char::is_lowercase))
                .map(Candidate::new)
                .collect(),
            _ => Vec::new(),
        },
    };
    (start, beginning(found, word))
}

fn table_names(names: &Names) -> Vec<Candidate> {
    names.tables.iter().map(|(_, name)| Candidate::new(name)).collect()
}

/// Those that begin with a text, case aside; each once.
fn beginning(candidates: Vec<Candidate>, text: &str) -> Vec<Candidate> {
    let wanted = text.trim_start_matches('"').to_lowercase();
    let mut kept: Vec<Candidate> = Vec::new();
    for candidate in candidates {
        let is_begun = candidate.text.trim_start_matches('"').to_lowercase().starts_with(&wanted);
        if is_begun && !kept.iter().any(|known| known.text == candidate.text) {
            kept.push(candidate);
        }
    }
    kept
}

/// A place in a statement.
fn sql(names: &Names, before: &str, line: &str) -> (usize, Vec<Candidate>) {
    let all = tokens(before);
    let from = all.iter().rposition(|token| token.text == ";").map_or(0, |at| at + 1);
    let all = &all[from..];
    let nothing = (before.len(), Vec::new());
    let (rest, word, start) = match all.split_last() {
        Some((last, _)) if last.kind == Kind::String && !last.is_closed => {
            let inside = last.text.trim_start_matches(['e', 'E']).trim_start_matches('\'');
            return (before.len() - inside.len(), files(inside));
        }
        Some((last, _)) if last.kind == Kind::Comment => return nothing,
        Some((last, rest)) if last.kind == Kind::Word || (last.kind == Kind::Name && !last.is_closed) => {
            (rest, last.text, last.start)
        }
        _ => (all, "", before.len()),
    };
    let solid: Vec<&Token<'_>> =
        rest.iter().filter(|token| !matches!(token.kind, Kind::Space | Kind::Comment)).collect();
    let statement = statement_around(line, before.len());
    if let [.., qualifier, dot] = solid.as_slice()
        && dot.text == "."
    {
        return (start, beginning(members(names, bare(qualifier.text), &sources(statement)), word));
    }
    let previous = solid.last().map_or(String::new(), |token| token.text.to_lowercase());
    let found = candidates(names, &previous, &solid, word, statement);
    (start, beginning(found, word))
}

fn candidates(
    names: &Names,
    previous: &str,
    solid: &[&Token<'_>],
    word: &str,
    statement: &str,
) -> Vec<Candidate> {
    let mut found = Vec::new();
    if matches!(previous, "set" | "pragma" | "reset") {
        return names.settings.iter().map(Candidate::new).collect();
    }
    let wants_table = matches!(
        previous,
        "from"
            | "join"
            | "into"
            | "update"
            | "table"
            | "describe"
            | "summarize"
            | "view"
            | "show"
            | "truncate"
            | "references"
    ) || (previous == "," && last_clause(solid) == "from");
    if wants_table {
        found.extend(
            names.tables.iter().map(|(schema, name)| Candidate::described(sql::short_ident(name), schema)),
        );
        found.extend(
            names.schemas.iter().map(|name| Candidate::described(sql::short_ident(name), "schema").open()),
        );
        let table_functions = names.functions.iter().filter(|function| function.kind.starts_with("table"));
        found.extend(
            table_functions.map(|f| Candidate::described(format!("{}(", f.name), &f.description).open()),
        );
        found.extend(keywords(names, word));
        return found;
    }
    let sources = sources(statement);
    let is_named = |table: &str| sources.iter().any(|(name, _)| name.eq_ignore_ascii_case(table));
    let columns = names.columns.iter().filter(|column| is_named(&column.table));
    found.extend(columns.map(|column| Candidate::described(sql::short_ident(&column.name), &column.ty)));
    found.extend(
        sources.iter().filter_map(|(_, alias)| alias.clone()).map(|alias| Candidate::new(alias).open()),
    );
    if word.is_empty() {
        return found;
    }
    found.extend(keywords(names, word));
    let functions = names.functions.iter();
    found.extend(functions.map(|f| Candidate::described(format!("{}(", f.name), &f.description).open()));
    found.extend(
        names.tables.iter().map(|(schema, name)| Candidate::described(sql::short_ident(name), schema)),
    );
    found
}

/// The last of the words that begin a clause.
fn last_clause(solid: &[&Token<'_>]) -> String {
    const CLAUSES: [&str; 9] = ["select", "from", "where", "group", "having", "order", "set", "values", "on"];
    let words = solid.iter().rev().map(|token| token.text.to_lowercase());
    words.into_iter().find(|word| CLAUSES.contains(&word.as_str())).unwrap_or_default()
}

/// Words of the language in the case that was begun.
fn keywords(names: &Names, word: &str) -> Vec<Candidate> {
    let is_lower = word.chars().any(char::is_lowercase);
    let mut words: Vec<&str> = names.keywords.iter().copied().collect();
    words.sort_unstable();
    words
        .into_iter()
        .map(|word| Candidate::new(if is_lower { word.to_string() } else { word.to_uppercase() }))
        .collect()
}

/// What may stand behind `qualifier.`: columns of a table or alias, tables of a schema.
fn members(names: &Names, qualifier: &str, sources: &[(String, Option<String>)]) -> Vec<Candidate> {
    let is_alias =
        |alias: &Option<String>| alias.as_ref().is_some_and(|alias| alias.eq_ignore_ascii_case(qualifier));
    let table = sources.iter().find(|(_, alias)| is_alias(alias)).map_or(qualifier, |(name, _)| name);
    let columns = names.columns.iter().filter(|column| column.table.eq_ignore_ascii_case(table));
    let mut found: Vec<Candidate> =
        columns.map(|column| Candidate::described(sql::short_ident(&column.name), &column.ty)).collect();
    let tables = names.tables.iter().filter(|(schema, _)| schema.eq_ignore_ascii_case(qualifier));
    found.extend(tables.map(|(schema, name)| Candidate::described(sql::short_ident(name), schema)));
    found
}

/// The statement that a place is in.
fn statement_around(line: &str, place: usize) -> &str {
    let all = tokens(line);
    let ends = || all.iter().filter(|token| token.text == ";").map(|token| token.start);
    let start = ends().take_while(|end| *end < place).last().map_or(0, |end| end + 1);
    let end = ends().find(|end| *end >= place).unwrap_or(line.len());
    &line[start..end]
}

/// The tables that a statement names, with their aliases.
fn sources(statement: &str) -> Vec<(String, Option<String>)> {
    let all = tokens(statement);
    let solid: Vec<&Token<'_>> =
        all.iter().filter(|token| !matches!(token.kind, Kind::Space | Kind::Comment)).collect();
    let is_name =
        |at: usize| solid.get(at).is_some_and(|token| matches!(token.kind, Kind::Word | Kind::Name));
    let mut found = Vec::new();
    for (index, token) in solid.iter().enumerate() {
        let word = token.text.to_lowercase();
        let begins = matches!(word.as_str(), "from" | "join" | "into" | "update" | "table")
            || (word == "," && last_clause(&solid[..index]) == "from");
        if !begins || !is_name(index + 1) {
            continue;
        }
        let mut at = index + 1;
        while solid.get(at + 1).is_some_and(|token| token.text == ".") && is_name(at + 2) {
            at += 2;
        }
        let name = bare(solid[at].text).to_string();
        let mut next = at + 1;
        if solid.get(next).is_some_and(|token| token.text.eq_ignore_ascii_case("as")) {
            next += 1;
        }
        let is_alias = is_name(next) && !inlay::is_reserved(solid[next].text);
        found.push((name, is_alias.then(|| bare(solid[next].text).to_string())));
    }
    found
}

fn bare(name: &str) -> &str {
    name.trim_matches('"')
}

/// Files and directories whose path begins so.
fn files(begun: &str) -> Vec<Candidate> {
    let (directory, name) = begun.rfind('/').map_or(("", begun), |at| begun.split_at(at + 1));
    let place = match (directory.strip_prefix("~/"), home()) {
        (Some(rest), Some(home)) => home.join(rest),
        _ if directory.is_empty() => Path::new(".").to_path_buf(),
        _ => Path::new(directory).to_path_buf(),
    };
    let Ok(entries) = std::fs::read_dir(place) else { return Vec::new() };
    let mut found: Vec<Candidate> = entries
        .filter_map(Result::ok)
        .filter_map(|entry| {
            let own = entry.file_name().into_string().ok()?;
            let is_hidden = own.starts_with('.') && !name.starts_with('.');
            if is_hidden || !own.starts_with(name) {
                return None;
            }
            let end = if entry.path().is_dir() { "/" } else { "" };
            Some(Candidate::new(format!("{directory}{own}{end}")).open())
        })
        .collect();
    found.sort_by(|left, right| left.text.cmp(&right.text));
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::line::names::{Column, Function};
    use std::sync::{Arc, RwLock};

    fn completer() -> SqlCompleter {
        let column =
            |table: &str, name: &str| Column { table: table.into(), name: name.into(), ty: "INTEGER".into() };
        let function = |name: &str, kind: &str| Function {
            name: name.into(),
            kind: kind.into(),
            description: "d".into(),
        };
        let names = Names {
            functions: vec![function("sum", "aggregate"), function("read_csv", "table")],
            keywords: ["select", "from", "set", "where"].into_iter().collect(),
            settings: vec!["threads".into()],
            tables: vec![
                ("main".into(), "trips".into()),
                ("s".into(), "stops".into()),
                ("main".into(), "Odd one".into()),
            ],
            schemas: vec!["main".into(), "s".into()],
            columns: vec![column("trips", "city"), column("trips", "km"), column("stops", "city_id")],
            ..Names::default()
        };
        SqlCompleter { names: Arc::new(RwLock::new(names)) }
    }

    /// Completes at the `|`.
    fn at(text: &str) -> Vec<String> {
        let pos = text.find('|').unwrap();
        let line = text.replace('|', "");
        completer()
            .complete(&line, pos)
            .into_iter()
            .map(|s| format!("{}{}", &line[..s.span.start], s.value))
            .collect()
    }

    #[test]
    fn tables_behind_from_and_columns_of_named_tables() {
        assert_eq!(at("SELECT * FROM tr|"), ["SELECT * FROM trips"]);
        assert_eq!(at("SELECT c| FROM trips"), ["SELECT city"]);
        assert_eq!(at("SELECT t.k| FROM trips t"), ["SELECT t.km"]);
        assert_eq!(at("SELECT * FROM s.|"), ["SELECT * FROM s.stops"]);
        assert_eq!(at("SELECT * FROM trips, st|"), ["SELECT * FROM trips, stops"]);
        assert_eq!(at("SELECT * FROM Od|"), ["SELECT * FROM \"Odd one\""]);
        assert_eq!(at("SELECT 1; SELECT ci| FROM stops"), ["SELECT 1; SELECT city_id"]);
    }

    #[test]
    fn words_keep_their_case_and_functions_open_a_bracket() {
        assert_eq!(at("sel|"), ["select"]);
        assert_eq!(at("SEL|"), ["SELECT"]);
        assert_eq!(at("SELECT su|"), ["SELECT sum("]);
        assert_eq!(at("SELECT * FROM read|"), ["SELECT * FROM read_csv("]);
        assert_eq!(at("SET th|"), ["SET threads"]);
    }

    #[test]
    fn commands_and_their_arguments() {
        assert_eq!(at(".mar|"), Vec::<String>::new());
        assert_eq!(at(".mod|"), [".mode"]);
        assert_eq!(at(".mode mark|"), [".mode markdown"]);
        assert_eq!(at(".schema tr|"), [".schema trips"]);
        assert_eq!(at(".timer o|"), [".timer on", ".timer off"]);
    }

    #[test]
    fn files_inside_of_quotes() {
        assert_eq!(at("SELECT * FROM 'Cargo.to|"), ["SELECT * FROM 'Cargo.toml"]);
        assert_eq!(at(".read Cargo.to|"), [".read Cargo.toml"]);
        assert_eq!(at("SELECT * FROM 'sr|"), ["SELECT * FROM 'src/"]);
        assert_eq!(at("SELECT 1 -- se|"), Vec::<String>::new());
    }
}

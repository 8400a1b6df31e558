//! Statements of other systems that dumps bring along. Those that cannot matter here give a notice, a row that says why; those that
//! would be missed are refused with what there is in their place. None is a syntax error.
//!
//! | Written | What comes |
//! | --- | --- |
//! | SECURITY LABEL, LOCK TABLE, CREATE EXTENSION, ALTER TABLE ... CLUSTER ON | a notice |
//! | CREATE RULE, CREATE DOMAIN, ALTER TABLE ... ATTACH PARTITION | what to write instead |
//!
//! What has another form here is in [`super::postgres`].

use super::Reader;
use super::ast::StatementKind;
use inlay_types::{Error, Result};
use sqlparser::tokenizer::Token;

/// What becomes of a statement.
#[derive(Clone, Copy)]
enum Outcome {
    /// It is passed over, and says this.
    Notice(&'static str),
    /// There is no such thing; what there is instead.
    Refused(&'static str, &'static str),
}

use Outcome::{Notice, Refused};

const ROLES: &str = "no effect: rights are granted on what there is, GRANT says them";
const BUILT_IN: &str = "no effect: there are no extensions of PostgreSQL here";
const LOCKS: &str = "no effect: each transaction sees one state of all tables, and conflicts show at COMMIT";
const LAYOUT: &str = "no effect: how tables are laid out and kept up is not said by statements";
const UNKNOWN_KIND: &str = "no effect: comments are on tables, views, columns, indexes, sequences, schemas, types, macros and the database";
const REPLICATION: &str = "no effect: there is no replication";
const STATISTICS: &str = "no effect: statistics are always kept";
const NO_TRIGGERS: &str =
    "write what it does as statements of their own, or as a generated column, a CHECK or ON DELETE CASCADE";
const NO_DOMAINS: &str = "CREATE TYPE name AS type names a type, and a CHECK belongs to each column";
const NO_PARTITIONS: &str =
    "leave the clause out: row groups out of range are passed over anyway; one table holds all partitions";

/// The first words of statements, and what becomes of them. Longer ones stand before those that they begin with.
const STATEMENTS: &[(&[&str], Outcome)] = &[
    (&["alter", "default", "privileges"], Notice(ROLES)),
    (&["set", "session", "authorization"], Notice(ROLES)),
    (&["security", "label"], Notice(ROLES)),
    (&["create", "extension"], Notice(BUILT_IN)),
    (&["alter", "extension"], Notice(BUILT_IN)),
    (&["drop", "extension"], Notice(BUILT_IN)),
    (&["create", "procedural", "language"], Notice(BUILT_IN)),
    (&["create", "trusted"], Notice(BUILT_IN)),
    (&["create", "language"], Notice(BUILT_IN)),
    (&["comment", "on", "extension"], Notice(BUILT_IN)),
    (&["comment", "on", "access"], Notice(UNKNOWN_KIND)),
    (&["comment", "on", "aggregate"], Notice(UNKNOWN_KIND)),
    (&["comment", "on", "cast"], Notice(UNKNOWN_KIND)),
    (&["comment", "on", "collation"], Notice(UNKNOWN_KIND)),
    (&["comment", "on", "constraint"], Notice(UNKNOWN_KIND)),
    (&["comment", "on", "conversion"], Notice(UNKNOWN_KIND)),
    (&["comment", "on", "domain"], Notice(UNKNOWN_KIND)),
    (&["comment", "on", "event"], Notice(UNKNOWN_KIND)),
    (&["comment", "on", "foreign"], Notice(UNKNOWN_KIND)),
    (&["comment", "on", "language"], Notice(UNKNOWN_KIND)),
    (&["comment", "on", "large"], Notice(UNKNOWN_KIND)),
    (&["comment", "on", "operator"], Notice(UNKNOWN_KIND)),
    (&["comment", "on", "policy"], Notice(UNKNOWN_KIND)),
    (&["comment", "on", "procedural"], Notice(UNKNOWN_KIND)),
    (&["comment", "on", "procedure"], Notice(UNKNOWN_KIND)),
    (&["comment", "on", "publication"], Notice(UNKNOWN_KIND)),
    (&["comment", "on", "role"], Notice(UNKNOWN_KIND)),
    (&["comment", "on", "rule"], Notice(UNKNOWN_KIND)),
    (&["comment", "on", "server"], Notice(UNKNOWN_KIND)),
    (&["comment", "on", "statistics"], Notice(UNKNOWN_KIND)),
    (&["comment", "on", "subscription"], Notice(UNKNOWN_KIND)),
    (&["comment", "on", "tablespace"], Notice(UNKNOWN_KIND)),
    (&["comment", "on", "text"], Notice(UNKNOWN_KIND)),
    (&["comment", "on", "trigger"], Notice(UNKNOWN_KIND)),
    (&["lock"], Notice(LOCKS)),
    (&["unlock", "tables"], Notice(LOCKS)),
    (&["create", "statistics"], Notice(STATISTICS)),
    (&["alter", "statistics"], Notice(STATISTICS)),
    (&["drop", "statistics"], Notice(STATISTICS)),
    (&["analyze", "sqlite_master"], Notice(STATISTICS)),
    (&["analyze", "sqlite_schema"], Notice(STATISTICS)),
    (&["reindex"], Notice(LAYOUT)),
    (&["cluster"], Notice(LAYOUT)),
    (&["create", "publication"], Notice(REPLICATION)),
    (&["alter", "publication"], Notice(REPLICATION)),
    (&["drop", "publication"], Notice(REPLICATION)),
    (&["create", "subscription"], Notice(REPLICATION)),
    (&["alter", "subscription"], Notice(REPLICATION)),
    (&["drop", "subscription"], Notice(REPLICATION)),
    (&["create", "policy"], Refused("row level security", "a view with a WHERE shows some of the rows")),
    (&["alter", "policy"], Refused("row level security", "a view with a WHERE shows some of the rows")),
    (&["drop", "policy"], Refused("row level security", "a view with a WHERE shows some of the rows")),
    (&["create", "constraint", "trigger"], Refused("a trigger of a constraint", NO_TRIGGERS)),
    (&["create", "event", "trigger"], Refused("a trigger of an event", NO_TRIGGERS)),
    (&["create", "rule"], Refused("a rule", NO_TRIGGERS)),
    (&["create", "or", "replace", "rule"], Refused("a rule", NO_TRIGGERS)),
    (&["create", "procedure"], Refused("a procedure", "CREATE MACRO names an expression or a query")),
    (
        &["create", "or", "replace", "procedure"],
        Refused("a procedure", "CREATE MACRO names an expression or a query"),
    ),
    (&["create", "domain"], Refused("a domain", NO_DOMAINS)),
    (&["alter", "domain"], Refused("a domain", NO_DOMAINS)),
    (&["drop", "domain"], Refused("a domain", NO_DOMAINS)),
    (
        &["create", "database"],
        Refused("CREATE DATABASE", "ATTACH 'file' AS name opens a database, or makes it"),
    ),
    (&["alter", "database"], Refused("ALTER DATABASE", "ATTACH 'file' AS name gives a database its name")),
    (
        &["drop", "database"],
        Refused("DROP DATABASE", "DETACH name closes a database; its file is the system's to delete"),
    ),
    (&["create", "tablespace"], Refused("a tablespace", "ATTACH 'file' AS name keeps tables elsewhere")),
    (&["create", "collation"], Refused("CREATE COLLATION", "PRAGMA collations lists those that are there")),
    (&["create", "cast"], Refused("CREATE CAST", "a macro converts what a CAST does not")),
    (&["create", "conversion"], Refused("CREATE CONVERSION", "texts are UTF-8")),
    (&["create", "operator"], Refused("CREATE OPERATOR", "a macro has a name")),
    (&["create", "transform"], Refused("CREATE TRANSFORM", "a macro converts values")),
    (
        &["create", "access", "method"],
        Refused("CREATE ACCESS METHOD", "CREATE INDEX makes indexes of the kind there is"),
    ),
    (
        &["create", "text", "search"],
        Refused("CREATE TEXT SEARCH", "LIKE, regexp_matches and the distances of texts search texts"),
    ),
    (
        &["create", "server"],
        Refused("a foreign server", "ATTACH reads databases, and read_parquet, read_csv and others files"),
    ),
    (
        &["create", "foreign"],
        Refused("a foreign table", "a view over read_parquet, read_csv and others reads files"),
    ),
    (
        &["import", "foreign"],
        Refused("a foreign table", "a view over read_parquet, read_csv and others reads files"),
    ),
    (
        &["create", "virtual"],
        Refused("a virtual table of SQLite", "a table, or a view over a table function, holds the rows"),
    ),
    (&["do"], Refused("DO", "write its statements one by one")),
    (
        &["discard"],
        Refused("DISCARD", "RESET ALL and DEALLOCATE ALL do it; temporary tables end with the connection"),
    ),
    (&["listen"], Refused("LISTEN", "a table holds messages, and its readers ask for new rows")),
    (&["unlisten"], Refused("UNLISTEN", "a table holds messages, and its readers ask for new rows")),
    (&["notify"], Refused("NOTIFY", "a table holds messages, and its readers ask for new rows")),
    (&["delimiter"], Refused("DELIMITER of MySQL's client", "a semicolon ends each statement")),
];

/// What ALTER does to a table, index, sequence or view behind its name.
const ACTIONS: &[(&[&str], Outcome)] = &[
    (&["replica", "identity"], Notice(REPLICATION)),
    (&["cluster", "on"], Notice(LAYOUT)),
    (&["set", "without"], Notice(LAYOUT)),
    (&["set", "logged"], Notice(LAYOUT)),
    (&["set", "unlogged"], Notice(LAYOUT)),
    (&["set", "tablespace"], Notice(LAYOUT)),
    (&["set", "access", "method"], Notice(LAYOUT)),
    (&["set", "("], Notice(LAYOUT)),
    (&["reset", "("], Notice(LAYOUT)),
    (&["disable", "keys"], Notice(LAYOUT)),
    (&["enable", "keys"], Notice(LAYOUT)),
    (&["disable", "trigger"], Notice("no effect: triggers always work, and foreign keys are always checked")),
    (&["enable", "trigger"], Notice("no effect: triggers always work, and foreign keys are always checked")),
    (&["disable", "row", "level", "security"], Notice(ROLES)),
    (
        &["enable", "row", "level", "security"],
        Refused("row level security", "a view with a WHERE shows some of the rows"),
    ),
    (
        &["force", "row", "level", "security"],
        Refused("row level security", "a view with a WHERE shows some of the rows"),
    ),
    (&["enable", "rule"], Refused("a rule", NO_TRIGGERS)),
    (&["disable", "rule"], Refused("a rule", NO_TRIGGERS)),
    (&["attach", "partition"], Refused("a partition", NO_PARTITIONS)),
    (&["detach", "partition"], Refused("a partition", NO_PARTITIONS)),
    (
        &["inherit"],
        Refused("a table that inherits", "CREATE TABLE t (LIKE parent INCLUDING ALL, ...) takes its columns"),
    ),
    (&["validate", "constraint"], Notice("no effect: constraints are checked when they are added")),
];

/// What ALTER COLUMN sets of a column, that its table does not have here.
const COLUMN_ACTIONS: [&str; 4] = ["statistics", "storage", "compression", "("];

impl Reader<'_> {
    /// Reads a statement of this module; `keyword` is its first word.
    pub(super) fn elsewhere(&mut self, keyword: &str) -> Result<Option<StatementKind>> {
        // What runs most often is asked about least.
        if matches!(keyword, "SELECT" | "INSERT" | "UPDATE" | "DELETE" | "WITH" | "FROM" | "VALUES" | "(") {
            return Ok(None);
        }
        let is_of_mysql = self.nth_word_is(0, "set") && self.nth_token_begins(1, '@');
        let known =
            STATEMENTS.iter().find(|(words, _)| self.has_words(0, words)).map(|(_, outcome)| *outcome);
        let outcome = match known {
            _ if is_of_mysql => Refused(
                "a variable of MySQL",
                "SET VARIABLE name = value keeps a value for getvariable('name')",
            ),
            Some(outcome) => outcome,
            None if self.has_words(0, &["set", "names"]) => self.names_of_mysql(),
            None => match self.altered_elsewhere() {
                Some(Notice(_)) if self.has_further_action() => Refused(
                    "an action without effect among several of an ALTER",
                    "write the others as a statement of their own",
                ),
                Some(outcome) => outcome,
                None => return Ok(None),
            },
        };
        match outcome {
            Notice(message) => {
                while !self.at_end() {
                    self.parser.next_token();
                }
                Ok(Some(StatementKind::Notice(message)))
            }
            Refused(feature, instead) => {
                let pos = self.pos();
                let (feature, alternative) = (feature.to_string(), Some(instead.to_string()));
                Err(Error::Unsupported { feature, alternative }.at(pos.line, pos.column, self.sql))
            }
        }
    }

    /// `SET NAMES utf8mb4`.
    fn names_of_mysql(&self) -> Outcome {
        let name = self.parser.peek_nth_token_ref(2).token.to_string().to_lowercase();
        let is_utf8 = name.trim_matches(['\'', '"']).starts_with("utf8");
        match is_utf8 {
            true => Notice("no effect: texts are UTF-8"),
            false => Refused("a text that is not UTF-8", "convert the file, and write SET NAMES 'utf8'"),
        }
    }

    /// What becomes of an ALTER with a single action, if that is one of [`ACTIONS`].
    fn altered_elsewhere(&self) -> Option<Outcome> {
        let kinds: [&[&str]; 5] =
            [&["table"], &["index"], &["sequence"], &["view"], &["materialized", "view"]];
        let kind = kinds.iter().find(|words| self.nth_word_is(0, "alter") && self.has_words(1, words))?;
        let mut at = 1 + kind.len();
        at += if self.has_words(at, &["if", "exists"]) { 2 } else { 0 };
        at += usize::from(self.nth_word_is(at, "only"));
        let token = |at: usize| &self.parser.peek_nth_token_ref(at).token;
        while matches!(token(at), Token::Word(_)) && *token(at + 1) == Token::Period {
            at += 2;
        }
        at += 1 + usize::from(*token(at + 1) == Token::Mul);
        if let Some((_, outcome)) = ACTIONS.iter().find(|(words, _)| self.has_words(at, words)) {
            return Some(*outcome);
        }
        if !self.nth_word_is(at, "alter") {
            return None;
        }
        at += 1 + usize::from(self.nth_word_is(at + 1, "column"));
        let is_set = self.nth_word_is(at + 1, "set") || self.nth_word_is(at + 1, "reset");
        let is_known = COLUMN_ACTIONS.iter().any(|word| self.has_words(at + 2, &[word]));
        (is_set && is_known).then_some(Notice(LAYOUT))
    }

    /// Whether a comma outside of parentheses stands in the statement.
    fn has_further_action(&self) -> bool {
        let (mut depth, mut at) = (0usize, 0);
        loop {
            match self.parser.peek_nth_token_ref(at).token {
                Token::EOF | Token::SemiColon => return false,
                Token::LParen => depth += 1,
                Token::RParen => depth = depth.saturating_sub(1),
                Token::Comma if depth == 0 => return true,
                ref _other => {}
            }
            at += 1;
        }
    }

    /// Whether these words stand at a place; `(` is one.
    fn has_words(&self, at: usize, words: &[&str]) -> bool {
        words.iter().enumerate().all(|(index, word)| match *word {
            "(" => self.parser.peek_nth_token_ref(at + index).token == Token::LParen,
            word => self.nth_word_is(at + index, word),
        })
    }

    fn nth_token_begins(&self, at: usize, first: char) -> bool {
        self.parser.peek_nth_token_ref(at).token.to_string().starts_with(first)
    }
}

//! What the commonest slips in SQL meant.

use inlay_types::candidates::near_names;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::Token;

/// Words that a query goes on with.
const CLAUSES: [&str; 23] = [
    "FROM",
    "WHERE",
    "GROUP",
    "HAVING",
    "ORDER",
    "LIMIT",
    "OFFSET",
    "QUALIFY",
    "WINDOW",
    "UNION",
    "EXCEPT",
    "INTERSECT",
    "JOIN",
    "LEFT",
    "RIGHT",
    "INNER",
    "CROSS",
    "USING",
    "VALUES",
    "SELECT",
    "RETURNING",
    "BETWEEN",
    "ILIKE",
];

/// Words that a statement begins with.
const STATEMENTS: [&str; 20] = [
    "SELECT",
    "INSERT",
    "UPDATE",
    "DELETE",
    "CREATE",
    "ALTER",
    "DROP",
    "FROM",
    "WITH",
    "VALUES",
    "MERGE",
    "COPY",
    "EXPLAIN",
    "DESCRIBE",
    "SUMMARIZE",
    "ATTACH",
    "BEGIN",
    "COMMIT",
    "ROLLBACK",
    "PRAGMA",
];

/// The message where a statement should have ended, and what may have been meant.
pub(super) fn at_end(parser: &Parser) -> (String, Option<String>) {
    let found = &parser.peek_token_ref().token;
    let end = parser.get_current_index();
    let message = format!("expected the end of the statement, found \"{found}\"");
    (message, advice(parser, end, found))
}

fn advice(parser: &Parser, last: usize, found: &Token) -> Option<String> {
    if *found == Token::Comma {
        // LIMIT 5, 10 of MySQL and SQLite: the first number is the offset.
        let tokens = significant(parser, last);
        if let [offset @ (Token::Number(..) | Token::Placeholder(_)), word, ..] = tokens.as_slice()
            && is_word(word, "LIMIT")
        {
            let limit = parser.peek_nth_token_ref(1).token.clone();
            let order = if limit.to_string() == "?" { "; the offset comes last" } else { "" };
            return Some(format!("write LIMIT {limit} OFFSET {offset}{order}"));
        }
        return None;
    }
    // A misspelt word is what was found, or was taken for a name in front of it.
    let before = significant(parser, last).into_iter().next();
    let meant = |token: &Token| {
        let Token::Word(word) = token else { return None };
        let is_clause = CLAUSES.iter().any(|clause| word.value.eq_ignore_ascii_case(clause));
        if word.quote_style.is_some() || is_clause {
            return None;
        }
        near_names(&word.value, CLAUSES.into_iter()).first().map(|near| near.trim_matches('"').to_string())
    };
    if is_word(found, "PARTITION") {
        return Some("one table holds all partitions, and row groups out of range are passed over: leave the clause out".into());
    }
    if before.as_ref().is_some_and(|before| is_word(before, "MOD")) {
        return Some("% gives the remainder of a division".into());
    }
    let meant = before.as_ref().and_then(meant).or_else(|| meant(found))?;
    Some(format!("did you mean {meant}?"))
}

/// The tokens up to the one at `last`, backwards, without white space; the last four.
fn significant(parser: &Parser, last: usize) -> Vec<Token> {
    let tokens = (0..=last).rev().map(|index| parser.token_at(index).token.clone());
    tokens.filter(|token| !matches!(token, Token::Whitespace(_))).take(4).collect()
}

fn is_word(token: &Token, wanted: &str) -> bool {
    matches!(token, Token::Word(word) if word.quote_style.is_none() && word.value.eq_ignore_ascii_case(wanted))
}

/// A message of the crate, in which tokens may stand as its own structures.
pub(super) fn without_structs(message: &str) -> String {
    if message.ends_with("found `") {
        return format!("{message}; names are in double quotes here, as \"name\", not as `name` in MySQL");
    }
    if message == "expected an SQL statement, found \\" {
        return format!("{message}; commands with a backslash are psql's and the shell's, not SQL");
    }
    if let Some(first) = message.strip_prefix("expected an SQL statement, found ") {
        let near = near_names(first, STATEMENTS.into_iter());
        let hint = near.first().map(|near| format!("; did you mean {}?", near.trim_matches('"')));
        return format!("{message}{}", hint.unwrap_or_default());
    }
    let Some(rest) = message.strip_prefix("No infix parser for token ") else { return message.to_string() };
    // Word(Word { value: "DIV", quote_style: None, keyword: DIV })
    let word = rest.split_once("value: \"").and_then(|(_, rest)| rest.split_once('"')).map(|(word, _)| word);
    match word {
        Some(word) if word.eq_ignore_ascii_case("div") => {
            format!("\"{word}\" is no operator; // divides whole numbers")
        }
        Some(word) => format!("\"{word}\" is no operator"),
        None => format!("{rest} is no operator"),
    }
}

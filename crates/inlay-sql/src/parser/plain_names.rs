//! Words of the language that stand where only a name can: they become names in quotes, whatever the crate takes them for.
//!
//! | Written | Which words |
//! | --- | --- |
//! | `t.w`, `s.w`, `x.w()` | any |
//! | `OVER (w ...)` | any but those that begin a clause of a window |
//! | `, w = 1`, `, w`, `, w FROM` | those at which the crate thinks that a list has ended |
//! | `exists`, `interval`, `trim` | if nothing follows that they would need |
//!
//! Which words these are was found by trying all of `duckdb_keywords()` in every place that takes a name.

use super::spelling::{is_blank, is_word};
use inlay_types::keywords;
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Word};

/// Words behind which an expression begins.
const BEFORE_EXPRESSIONS: [&str; 16] = [
    "select",
    "distinct",
    "where",
    "by",
    "and",
    "or",
    "not",
    "case",
    "when",
    "then",
    "else",
    "on",
    "having",
    "qualify",
    "in",
    "returning",
];

/// Puts such words into quotes.
pub(super) fn quoted(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    // The last two tokens that are not white space; the nearest first.
    let mut before: [Option<usize>; 2] = [None; 2];
    for at in 0..tokens.len() {
        if is_blank(&tokens[at]) {
            continue;
        }
        if is_name(&tokens, at, before)
            && let Token::Word(word) = &mut tokens[at].token
        {
            word.quote_style = Some('"');
            word.keyword = Keyword::NoKeyword;
        }
        before = [Some(at), before[0]];
    }
    tokens
}

fn is_name(tokens: &[TokenWithSpan], at: usize, [last, second]: [Option<usize>; 2]) -> bool {
    let Token::Word(word) = &tokens[at].token else { return false };
    if word.quote_style.is_some() || word.keyword == Keyword::NoKeyword {
        return false;
    }
    let token = |index: Option<usize>| index.map(|index| &tokens[index]);
    let (last, second) = (token(last), token(second));
    match last.map(|last| &last.token) {
        Some(Token::Period) => return true,
        Some(Token::LParen) if second.is_some_and(|second| is_word(second, "over")) => return is_base(word),
        _ => {}
    }
    let next = || tokens[at + 1..].iter().find(|token| !is_blank(token)).map(|token| &token.token);
    let is_behind_comma = || matches!(last.map(|last| &last.token), Some(Token::Comma));
    match word.keyword {
        Keyword::CLUSTER | Keyword::EXCLUDE | Keyword::EXPLAIN | Keyword::VIEW => is_behind_comma(),
        Keyword::VALUES => is_behind_comma() && !matches!(next(), Some(Token::LParen)),
        // A sign may begin the amount of an interval.
        Keyword::EXISTS | Keyword::TRIM => {
            let ends = |next: &Token| matches!(next, Token::Plus | Token::Minus) || ends_name(next);
            begins_expression(last) && next().is_none_or(ends)
        }
        Keyword::INTERVAL => {
            begins_expression(last) && next().is_none_or(ends_name) && !is_within_map(&tokens[..at])
        }
        _ => false,
    }
}

/// Whether the innermost open parenthesis is that of `MAP(key, value)`.
fn is_within_map(before: &[TokenWithSpan]) -> bool {
    let mut depth = 0usize;
    for (index, token) in before.iter().enumerate().rev() {
        match token.token {
            Token::RParen => depth += 1,
            Token::LParen if depth == 0 => {
                return before[..index]
                    .iter()
                    .rev()
                    .find(|token| !is_blank(token))
                    .is_some_and(|t| is_word(t, "map"));
            }
            Token::LParen => depth -= 1,
            _ => {}
        }
    }
    false
}

/// Whether an expression, and no type, begins behind a token.
fn begins_expression(last: Option<&TokenWithSpan>) -> bool {
    last.is_some_and(|last| match &last.token {
        Token::LParen | Token::Comma | Token::LBracket => true,
        Token::Word(_) => BEFORE_EXPRESSIONS.iter().any(|word| is_word(last, word)),
        Token::DoubleColon | Token::Period | Token::SemiColon => false,
        _ => true,
    })
}

/// Whether a name has ended in front of a token, which no amount and no argument begins with.
fn ends_name(next: &Token) -> bool {
    match next {
        Token::LParen
        | Token::SingleQuotedString(_)
        | Token::EscapedStringLiteral(_)
        | Token::DollarQuotedString(_)
        | Token::Colon
        | Token::AtSign
        | Token::Number(..)
        | Token::Placeholder(_)
        | Token::Minus
        | Token::Plus => false,
        Token::Word(word) => matches!(
            word.keyword,
            Keyword::FROM
                | Keyword::IS
                | Keyword::IN
                | Keyword::AND
                | Keyword::OR
                | Keyword::AS
                | Keyword::THEN
                | Keyword::END
                | Keyword::ASC
                | Keyword::DESC
                | Keyword::USING
                | Keyword::LIKE
                | Keyword::BETWEEN
                | Keyword::UNION
        ),
        _ => true,
    }
}

/// Whether a word behind the parenthesis of a window is the name of another window.
fn is_base(word: &Word) -> bool {
    let begins =
        ["partition", "order", "rows", "range", "groups", "select", "with", "from", "values", "table"];
    let begins = begins.iter().any(|begins| word.value.eq_ignore_ascii_case(begins));
    !begins && !keywords::is_reserved(&word.value)
}

//! Tables as arguments: `f(TABLE t PARTITION BY k, 3)` as `f((SELECT * FROM t), 3, partition_by := k)`.
//!
//! A table may be a call that has tables as arguments itself. PARTITION BY may stand behind a query in parentheses, too.

use super::spelling::{is_blank, is_word};
use sqlparser::tokenizer::{Span, Token, TokenWithSpan, Whitespace};

pub(super) fn respell(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    if !tokens.iter().any(|token| is_word(token, "table") || is_word(token, "partition")) {
        return tokens;
    }
    // From behind, so that what stands inside of a table's own call is done first.
    for index in (0..tokens.len()).rev() {
        if is_word(&tokens[index], "table") {
            table(&mut tokens, index);
        }
    }
    for index in (0..tokens.len()).rev() {
        if is_word(&tokens[index], "partition") {
            partition(&mut tokens, index);
        }
    }
    tokens
}

fn before(tokens: &[TokenWithSpan], index: usize) -> Option<&Token> {
    tokens[..index].iter().rev().find(|token| !is_blank(token)).map(|token| &token.token)
}

/// The next token that is not blank, from `index` on.
fn next(tokens: &[TokenWithSpan], index: usize) -> Option<usize> {
    (index..tokens.len()).find(|&at| !is_blank(&tokens[at]))
}

fn is_token(tokens: &[TokenWithSpan], index: Option<usize>, wanted: &Token) -> bool {
    index.is_some_and(|index| tokens[index].token == *wanted)
}

/// The parenthesis that closes the one at `open`, or, if there is none at `open`, the one around.
fn closing(tokens: &[TokenWithSpan], open: usize) -> Option<usize> {
    let mut depth = 0usize;
    let from = open + usize::from(is_token(tokens, (open < tokens.len()).then_some(open), &Token::LParen));
    for (index, token) in tokens.iter().enumerate().skip(from) {
        match token.token {
            Token::LParen => depth += 1,
            Token::RParen if depth == 0 => return Some(index),
            Token::RParen => depth -= 1,
            Token::SemiColon | Token::EOF => return None,
            _ => {}
        }
    }
    None
}

fn at(span: Span, tokens: impl IntoIterator<Item = Token>) -> Vec<TokenWithSpan> {
    let blank = Token::Whitespace(Whitespace::Space);
    tokens
        .into_iter()
        .flat_map(|token| [token, blank.clone()])
        .map(|token| TokenWithSpan { token, span })
        .collect()
}

/// Words in front of a parenthesis that holds a query, not arguments.
const BEFORE_QUERY: [&str; 22] = [
    "in",
    "exists",
    "any",
    "all",
    "some",
    "as",
    "from",
    "join",
    "lateral",
    "union",
    "except",
    "intersect",
    "select",
    "distinct",
    "not",
    "and",
    "or",
    "where",
    "into",
    "array",
    "materialized",
    "on",
];

/// Whether the columns of CREATE TABLE follow `tokens`, one of which may be called `table`.
fn declares_columns(tokens: &[TokenWithSpan]) -> bool {
    let start = tokens.iter().rposition(|token| token.token == Token::SemiColon).map_or(0, |end| end + 1);
    let mut words = tokens[start..].iter().filter(|token| matches!(token.token, Token::Word(_)));
    words.next().is_some_and(|first| is_word(first, "create"))
        && words.clone().take(4).any(|word| is_word(word, "table"))
        && !words.any(|word| is_word(word, "select") || is_word(word, "from"))
}

/// Whether a call's argument begins at `index`: `(TABLE t)` alone is a query.
fn is_argument(tokens: &[TokenWithSpan], index: usize) -> bool {
    let Some(place) = tokens[..index].iter().rposition(|token| !is_blank(token)) else { return false };
    if declares_columns(&tokens[..place]) {
        return false;
    }
    match tokens[place].token {
        Token::Comma | Token::Assignment | Token::RArrow => true,
        Token::LParen => match tokens[..place].iter().rfind(|token| !is_blank(token)) {
            Some(name) => {
                matches!(name.token, Token::Word(_)) && !BEFORE_QUERY.iter().any(|word| is_word(name, word))
            }
            None => false,
        },
        _ => false,
    }
}

/// The last token of the table whose name begins at `first`.
fn end_of_table(tokens: &[TokenWithSpan], first: usize) -> Option<usize> {
    let mut last = first;
    loop {
        if !matches!(tokens[last].token, Token::Word(_)) {
            return None;
        }
        let Some(dot) = next(tokens, last + 1).filter(|&dot| tokens[dot].token == Token::Period) else {
            break;
        };
        last = next(tokens, dot + 1)?;
    }
    match next(tokens, last + 1).filter(|&open| tokens[open].token == Token::LParen) {
        Some(open) => closing(tokens, open),
        None => Some(last),
    }
}

fn table(tokens: &mut Vec<TokenWithSpan>, index: usize) {
    if !is_argument(tokens, index) {
        return;
    }
    let Some(last) = next(tokens, index + 1).and_then(|first| end_of_table(tokens, first)) else { return };
    let behind = next(tokens, last + 1);
    let ends = is_token(tokens, behind, &Token::RParen) || is_token(tokens, behind, &Token::Comma);
    if !ends && !behind.is_some_and(|behind| is_word(&tokens[behind], "partition")) {
        return;
    }
    let (begin, end) = (tokens[index].span, tokens[last].span);
    tokens.splice(last + 1..=last, at(end, [Token::RParen]));
    let select = [Token::LParen, Token::make_keyword("SELECT"), Token::Mul, Token::make_keyword("FROM")];
    tokens.splice(index..=index, at(begin, select));
}

/// `(...) PARTITION BY key` or `(...) PARTITION BY (key, key)`, the keys moved to the end of the call as an argument.
fn partition(tokens: &mut Vec<TokenWithSpan>, index: usize) {
    if !matches!(before(tokens, index), Some(Token::RParen)) {
        return;
    }
    let Some(by) = next(tokens, index + 1).filter(|&by| is_word(&tokens[by], "by")) else { return };
    let Some(first) = next(tokens, by + 1) else { return };
    let last = match tokens[first].token {
        Token::LParen => closing(tokens, first),
        _ => end_of_table(tokens, first),
    };
    let Some(last) = last else { return };
    let Some(close) = closing(tokens, last + 1) else { return };
    let span = tokens[index].span;
    let mut argument = at(span, [Token::Comma, Token::make_word("partition_by", None), Token::Assignment]);
    argument.extend_from_slice(&tokens[first..=last]);
    tokens.splice(close..close, argument);
    tokens.drain(index..=last);
}

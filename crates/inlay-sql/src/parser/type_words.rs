//! Types within types that the crate does not read: `MAP(VARCHAR, INTEGER[])`, `ROW(a INTEGER)`.
//!
//! The crate reads `MAP(VARCHAR, INTEGER)` as a name with words behind it. Parts that are more than a word become texts
//! here, which are read as types of their own afterwards; ROW is the crate's STRUCT. Both words are functions as well,
//! so what stands in front tells whether a type is meant.

use super::dialect::InlayDialect;
use sqlparser::ast::DataType;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer};

/// Words that an expression, rather than a type, follows.
const BEFORE_EXPRESSIONS: [&str; 44] = [
    "all",
    "and",
    "any",
    "as",
    "asc",
    "between",
    "by",
    "call",
    "case",
    "check",
    "default",
    "distinct",
    "else",
    "escape",
    "except",
    "exists",
    "filter",
    "from",
    "glob",
    "having",
    "if",
    "ilike",
    "in",
    "insert",
    "intersect",
    "is",
    "join",
    "lateral",
    "like",
    "limit",
    "not",
    "offset",
    "on",
    "or",
    "qualify",
    "returning",
    "select",
    "set",
    "similar",
    "then",
    "to",
    "union",
    "values",
    "when",
];
const ALSO_BEFORE_EXPRESSIONS: [&str; 6] = ["where", "using", "some", "order", "execute", "apply"];
/// Words behind which an object is named, unless they are themselves the name of a column.
const BEFORE_NAMES: [&str; 11] = [
    "table",
    "view",
    "into",
    "update",
    "macro",
    "function",
    "index",
    "column",
    "rename",
    "describe",
    "summarize",
];

/// Rewrites the tokens of a text.
pub(super) fn respell(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let is_wanted = |token: &TokenWithSpan| is_word(token, "map") || is_word(token, "row");
    if !tokens.iter().any(is_wanted) {
        return tokens;
    }
    let mut out: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len());
    let mut at = 0;
    while at < tokens.len() {
        let open = next_solid(&tokens, at + 1).filter(|open| tokens[*open].token == Token::LParen);
        if let Some(open) = open.filter(|_| is_wanted(&tokens[at]) && is_type(&tokens[..at])) {
            if is_word(&tokens[at], "row") {
                out.push(TokenWithSpan { token: Token::make_keyword("STRUCT"), span: tokens[at].span });
                at += 1;
                continue;
            }
            if let Some((parts, end)) = parts_of(&tokens, open) {
                out.push(tokens[at].clone());
                out.push(tokens[open].clone());
                for (index, part) in parts.into_iter().enumerate() {
                    let span = part.first().map_or(tokens[open].span, |token| token.span);
                    if index > 0 {
                        out.push(TokenWithSpan { token: Token::Comma, span });
                    }
                    out.push(TokenWithSpan { token: Token::SingleQuotedString(text_of(part)), span });
                }
                out.push(tokens[end].clone());
                at = end + 1;
                continue;
            }
        }
        out.push(tokens[at].clone());
        at += 1;
    }
    out
}

/// Reads the text of a type.
pub(super) fn parse(text: &str) -> Result<DataType, ParserError> {
    let tokens = Tokenizer::new(&InlayDialect, text).tokenize_with_location()?;
    let mut parser = Parser::new(&InlayDialect).with_tokens_with_locations(respell(tokens));
    let parsed = parser.parse_data_type()?;
    parser.expect_token(&Token::EOF).map(|_| parsed)
}

fn is_word(token: &TokenWithSpan, expected: &str) -> bool {
    matches!(&token.token, Token::Word(word) if word.quote_style.is_none() && word.value.eq_ignore_ascii_case(expected))
}

fn is_blank(token: &TokenWithSpan) -> bool {
    matches!(token.token, Token::Whitespace(_))
}

fn next_solid(tokens: &[TokenWithSpan], from: usize) -> Option<usize> {
    (from..tokens.len()).find(|&index| !is_blank(&tokens[index]))
}

/// Whether a type stands behind these tokens.
fn is_type(before: &[TokenWithSpan]) -> bool {
    let mut solid = before.iter().rev().filter(|token| !is_blank(token));
    let Some(last) = solid.next() else { return true };
    match &last.token {
        Token::DoubleColon => true,
        // CAST(x AS type), CREATE TYPE name AS type; not an alias, a macro or a query.
        Token::Word(_) if is_word(last, "as") => {
            solid.next();
            solid.next().is_some_and(|token| is_word(token, "type")) || is_in_cast(before)
        }
        Token::Word(word) if word.quote_style.is_none() => {
            if BEFORE_NAMES.iter().any(|expected| word.value.eq_ignore_ascii_case(expected)) {
                let before = solid.next().map(|token| &token.token);
                return matches!(before, Some(Token::LParen | Token::Comma));
            }
            let mut words = BEFORE_EXPRESSIONS.iter().chain(&ALSO_BEFORE_EXPRESSIONS);
            !words.any(|expected| word.value.eq_ignore_ascii_case(expected))
        }
        Token::Word(_) => true,
        _ => false,
    }
}

/// Whether the innermost open parenthesis is that of a CAST.
fn is_in_cast(before: &[TokenWithSpan]) -> bool {
    let mut depth = 0usize;
    for (index, token) in before.iter().enumerate().rev() {
        match token.token {
            Token::RParen => depth += 1,
            Token::LParen if depth == 0 => {
                let mut solid = before[..index].iter().rev().filter(|token| !is_blank(token));
                return solid
                    .next()
                    .is_some_and(|token| is_word(token, "cast") || is_word(token, "try_cast"));
            }
            Token::LParen => depth -= 1,
            _ => {}
        }
    }
    false
}

/// The parts of `( .. , .. )` and the place of its end, if one of two parts is more than a word.
fn parts_of(tokens: &[TokenWithSpan], open: usize) -> Option<(Vec<&[TokenWithSpan]>, usize)> {
    let mut parts = Vec::new();
    let (mut depth, mut start) = (0usize, open + 1);
    for index in open..tokens.len() {
        match tokens[index].token {
            Token::LParen | Token::LBracket => depth += 1,
            Token::RParen | Token::RBracket => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    parts.push(&tokens[start..index]);
                    let is_short =
                        |part: &[TokenWithSpan]| part.iter().filter(|token| !is_blank(token)).count() == 1;
                    let is_plain = parts.iter().all(|part| is_short(part));
                    return (parts.len() == 2 && !is_plain).then_some((parts, index));
                }
            }
            Token::Comma if depth == 1 => {
                parts.push(&tokens[start..index]);
                start = index + 1;
            }
            Token::SemiColon | Token::EOF => return None,
            _ => {}
        }
    }
    None
}

fn text_of(tokens: &[TokenWithSpan]) -> String {
    let mut text = String::new();
    for token in tokens {
        match &token.token {
            Token::Whitespace(_) => text.push(' '),
            Token::Word(word) => match word.quote_style {
                Some(quote) => {
                    let doubled = word.value.replace(quote, &format!("{quote}{quote}"));
                    text.push_str(&format!("{quote}{doubled}{quote}"));
                }
                None => text.push_str(&word.value),
            },
            Token::SingleQuotedString(inner) => {
                text.push_str(&format!("'{}'", inner.replace('\'', "''")));
            }
            other => text.push_str(&other.to_string()),
        }
    }
    text.trim().to_string()
}

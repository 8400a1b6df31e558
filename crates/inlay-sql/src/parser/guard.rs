//! Limits on the token stream, checked before anything recursive sees it.
//!
//! `sqlparser` bounds its own recursion, but builds a tree as deep as a chain of operators is long
//! (`1 + 1 + 1 ...`), and dropping that tree recurses. So the longest chain is bounded here.

use inlay_types::{Error, Result};
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Location, Token, TokenWithSpan};

/// Most operators in a row, without a comma or parenthesis between them.
const CHAIN_MAX: usize = 50_000;
/// Deepest nesting of parentheses.
const PARENTHESES_MAX: usize = 900;

/// What one walk over the tokens finds out.
pub(super) struct Scan {
    /// Places of the `?` placeholders, in order.
    pub(super) marks: Vec<Location>,
}

/// Walks over the tokens once.
pub(super) fn scan(tokens: &[TokenWithSpan], sql: &str) -> Result<Scan> {
    let mut marks = Vec::new();
    let mut chains: Vec<usize> = vec![0];
    let mut cases = 0usize;
    for TokenWithSpan { token, span } in tokens {
        let place = |message: String| {
            Error::Syntax { message }.at(span.start.line as u32, span.start.column as u32, sql)
        };
        match token {
            Token::Whitespace(_) => {}
            Token::Placeholder(text) if text == "?" => marks.push(span.start),
            Token::LParen | Token::LBracket | Token::LBrace => {
                chains.push(0);
                if chains.len() > PARENTHESES_MAX {
                    return Err(place(format!("parentheses nest deeper than {PARENTHESES_MAX} levels")));
                }
            }
            Token::RParen | Token::RBracket | Token::RBrace => {
                chains.pop();
                if chains.is_empty() {
                    chains.push(0);
                }
            }
            // A CASE nests like a parenthesis; without this, `sqlparser` takes seconds to refuse a deep one.
            Token::Word(word) if word.keyword == Keyword::CASE && word.quote_style.is_none() => {
                cases += 1;
                if cases > PARENTHESES_MAX {
                    return Err(place(format!("CASE nests deeper than {PARENTHESES_MAX} levels")));
                }
            }
            Token::Word(word) if word.keyword == Keyword::END && word.quote_style.is_none() => {
                cases = cases.saturating_sub(1);
            }
            Token::Comma => set_last(&mut chains, 0),
            Token::SemiColon => {
                chains.clear();
                chains.push(0);
            }
            token if continues_chain(token) => {
                let length = chains.last().map_or(0, |length| length + 1);
                if length > CHAIN_MAX {
                    return Err(place(format!("more than {CHAIN_MAX} operators in a row")));
                }
                set_last(&mut chains, length);
            }
            _ => {}
        }
    }
    Ok(Scan { marks })
}

fn set_last(chains: &mut [usize], length: usize) {
    if let Some(last) = chains.last_mut() {
        *last = length;
    }
}

/// Whether a token makes the tree one level deeper.
fn continues_chain(token: &Token) -> bool {
    match token {
        Token::Word(word) => matches!(
            word.keyword,
            Keyword::AND
                | Keyword::OR
                | Keyword::NOT
                | Keyword::IS
                | Keyword::IN
                | Keyword::BETWEEN
                | Keyword::LIKE
                | Keyword::ILIKE
                | Keyword::UNION
                | Keyword::EXCEPT
                | Keyword::INTERSECT
                | Keyword::JOIN
                | Keyword::NOTNULL
        ),
        Token::Number(..)
        | Token::SingleQuotedString(_)
        | Token::Placeholder(_)
        | Token::Period
        | Token::EOF
        | Token::HexStringLiteral(_) => false,
        _ => true,
    }
}

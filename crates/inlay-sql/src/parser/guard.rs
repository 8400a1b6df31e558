//! Limits on the token stream, checked before anything recursive sees it.
//!
//! `sqlparser` bounds its own recursion, but builds a tree as deep as a chain of operators is long
//! (`1 + 1 + 1 ...`), and dropping that tree recurses. So the longest chain is bounded here.

use super::limits::{CHAIN_MAX, OPERATORS_MAX, PARENTHESES_MAX};
use inlay_types::{Error, Result};
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Location, Token, TokenWithSpan};

/// Longest name; error messages repeat names.
const NAME_BYTES_MAX: usize = 10_000;

/// What one walk over the tokens finds out.
pub(super) struct Scan {
    /// Places of the `?` placeholders, in order.
    pub(super) marks: Vec<Location>,
    /// Where each semicolon ends.
    pub(super) semicolons: Vec<Location>,
}

/// Walks over the tokens once.
pub(super) fn scan(tokens: &[TokenWithSpan], sql: &str) -> Result<Scan> {
    let (mut marks, mut semicolons) = (Vec::new(), Vec::new());
    let mut chains: Vec<Chain> = vec![Chain::default()];
    let mut cases = 0usize;
    for TokenWithSpan { token, span } in tokens {
        let place = |message: String| {
            Error::Syntax { message }.at(span.start.line as u32, span.start.column as u32, sql)
        };
        match token {
            Token::Whitespace(_) => {}
            Token::Placeholder(text) if text == "?" => marks.push(span.start),
            Token::LParen | Token::LBracket | Token::LBrace => {
                // `a[1][2]` and `INTEGER[][]` nest like operators.
                if *token == Token::LBracket
                    && let Some(chain) = chains.last_mut()
                {
                    chain.operators += 1;
                    if chain.operators > OPERATORS_MAX {
                        return Err(place(format!("more than {OPERATORS_MAX} operators in a row")));
                    }
                }
                chains.push(Chain::default());
                if chains.len() > PARENTHESES_MAX {
                    return Err(place(format!("parentheses nest deeper than {PARENTHESES_MAX} levels")));
                }
            }
            Token::RParen | Token::RBracket | Token::RBrace => {
                chains.pop();
                if chains.is_empty() {
                    chains.push(Chain::default());
                }
            }
            Token::Word(word) if word.value.len() > NAME_BYTES_MAX => {
                return Err(place(format!(
                    "a name of {} bytes is longer than {NAME_BYTES_MAX}",
                    word.value.len()
                )));
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
            Token::Comma => set_last(&mut chains, Chain::default()),
            Token::SemiColon => {
                semicolons.push(span.end);
                chains.clear();
                chains.push(Chain::default());
            }
            token => {
                let mut chain = chains.last().copied().unwrap_or_default();
                match link(token) {
                    Link::None => {}
                    Link::Separator => chain.operators = 0,
                    Link::Logical => chain = Chain { logical: chain.logical + 1, operators: 0 },
                    Link::Operator => chain.operators += 1,
                }
                if chain.logical > CHAIN_MAX || chain.operators > OPERATORS_MAX {
                    let most = if chain.logical > CHAIN_MAX { CHAIN_MAX } else { OPERATORS_MAX };
                    return Err(place(format!("more than {most} operators in a row")));
                }
                set_last(&mut chains, chain);
            }
        }
    }
    Ok(Scan { marks, semicolons })
}

/// Operators since the last comma or parenthesis.
#[derive(Clone, Copy, Default)]
struct Chain {
    /// AND, OR, UNION and the like.
    logical: usize,
    /// Others, since the last of those.
    operators: usize,
}

/// What a token does to a chain.
enum Link {
    None,
    /// An operand of its own begins.
    Separator,
    Logical,
    Operator,
}

fn set_last(chains: &mut [Chain], chain: Chain) {
    if let Some(last) = chains.last_mut() {
        *last = chain;
    }
}

/// Whether a token makes the tree one level deeper.
fn link(token: &Token) -> Link {
    match token {
        Token::Word(word) if word.quote_style.is_none() => match word.keyword {
            Keyword::AND | Keyword::OR | Keyword::UNION | Keyword::EXCEPT | Keyword::INTERSECT => {
                Link::Logical
            }
            Keyword::JOIN => Link::Logical,
            Keyword::WHEN | Keyword::THEN | Keyword::ELSE | Keyword::SELECT | Keyword::FROM => {
                Link::Separator
            }
            Keyword::NOT
            | Keyword::IS
            | Keyword::IN
            | Keyword::BETWEEN
            | Keyword::LIKE
            | Keyword::ILIKE
            | Keyword::GLOB
            | Keyword::SIMILAR
            | Keyword::COLLATE
            // AT TIME ZONE
            | Keyword::ZONE
            | Keyword::PIVOT
            | Keyword::UNPIVOT
            | Keyword::NOTNULL => Link::Operator,
            _ => Link::None,
        },
        Token::Word(_)
        | Token::Whitespace(_)
        | Token::Number(..)
        | Token::SingleQuotedString(_)
        | Token::Placeholder(_)
        | Token::EOF
        | Token::HexStringLiteral(_) => Link::None,
        _ => Link::Operator,
    }
}

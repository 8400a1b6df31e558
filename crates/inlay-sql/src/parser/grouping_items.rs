//! Items of ROLLUP, CUBE and GROUPING SETS that begin with a parenthesis, for `sqlparser`.
//!
//! The crate takes such a parenthesis for one around a list of items. Where it is a query, `ROLLUP ((SELECT 1), b)`, or
//! ends before the item does, `CUBE ((a + 1) * 2, b)`, [`arrange`] puts another pair around the item.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

/// An open parenthesis.
#[derive(Default)]
struct Level {
    /// It holds items.
    has_items: bool,
    /// It is what an item of the level around it begins with.
    begins_item: bool,
    /// Where the item that is being read begins.
    item: Option<usize>,
    /// The parenthesis that the item begins with is closed.
    closed: bool,
    /// The item needs another pair.
    wants_pair: bool,
}

/// Tokens with the missing parentheses put in. One pass.
pub(super) fn arrange(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    if !tokens.iter().any(|token| takes_items(&token.token)) {
        return tokens;
    }
    let pairs = missing_pairs(&tokens);
    if pairs.is_empty() {
        return tokens;
    }
    let mut inserted: Vec<(usize, Token)> = Vec::with_capacity(2 * pairs.len());
    for (from, to) in pairs {
        inserted.push((from, Token::LParen));
        inserted.push((to, Token::RParen));
    }
    inserted.sort_by_key(|(place, _)| *place);
    let mut inserted = inserted.into_iter().peekable();
    let mut arranged = Vec::with_capacity(tokens.len() + inserted.len());
    for (place, token) in tokens.into_iter().enumerate() {
        while let Some((_, parenthesis)) = inserted.next_if(|(before, _)| *before == place) {
            arranged.push(TokenWithSpan { token: parenthesis, span: token.span });
        }
        arranged.push(token);
    }
    arranged
}

/// Where pairs of parentheses are to be put: before which tokens.
fn missing_pairs(tokens: &[TokenWithSpan]) -> Vec<(usize, usize)> {
    let mut levels: Vec<Level> = Vec::new();
    let mut pairs = Vec::new();
    let (mut behind_word, mut begins_item) = (false, false);
    let significant = tokens.iter().enumerate().filter(|(_, t)| !matches!(t.token, Token::Whitespace(_)));
    for (place, TokenWithSpan { token, .. }) in significant {
        let was_opener = std::mem::replace(&mut begins_item, false);
        let ends_item = matches!(token, Token::Comma | Token::RParen);
        let depth = levels.len();
        if was_opener && begins_query(token) && depth >= 2 {
            levels[depth - 2].wants_pair = true;
        }
        if let Some(level) = levels.last_mut().filter(|level| level.has_items) {
            match level.item {
                Some(from) if ends_item => {
                    if level.wants_pair {
                        pairs.push((from, place));
                    }
                    *level = Level { has_items: true, begins_item: level.begins_item, ..Level::default() };
                }
                Some(_) => level.wants_pair |= level.closed,
                None if ends_item => {}
                None => {
                    level.item = Some(place);
                    begins_item = *token == Token::LParen;
                }
            }
        }
        match token {
            Token::LParen => levels.push(Level { has_items: behind_word, begins_item, ..Level::default() }),
            Token::RParen => {
                let closed = levels.pop().is_some_and(|level| level.begins_item);
                if let Some(level) = levels.last_mut().filter(|_| closed) {
                    level.closed = true;
                }
            }
            _ => {}
        }
        behind_word = takes_items(token);
    }
    pairs
}

fn takes_items(token: &Token) -> bool {
    let Token::Word(word) = token else { return false };
    word.quote_style.is_none() && matches!(word.keyword, Keyword::ROLLUP | Keyword::CUBE | Keyword::SETS)
}

fn begins_query(token: &Token) -> bool {
    let Token::Word(word) = token else { return false };
    let words = [Keyword::SELECT, Keyword::WITH, Keyword::VALUES, Keyword::FROM];
    word.quote_style.is_none() && words.contains(&word.keyword)
}

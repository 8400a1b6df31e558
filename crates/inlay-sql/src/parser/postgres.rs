//! What stands in dumps of PostgreSQL and says nothing here, or something that has another form.
//!
//! | Written | Read as |
//! | --- | --- |
//! | `SELECT pg_catalog.set_config('name', 'value', false)` | `SET name = 'value'` |
//! | `nextval('s'::regclass)` | `nextval('s')` |
//! | `AS IDENTITY (SEQUENCE NAME s START WITH 1)` | `AS IDENTITY (START WITH 1)` |

use super::Reader;
use super::ast::{Expr, ExprKind, Ident, Literal, StatementKind};
use super::spelling::{is_blank, is_word};
use inlay_types::Result;
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

impl Reader<'_> {
    /// Whether an ALTER ends with `OWNER TO role`, whatever it is of.
    pub(super) fn gives_owner(&self) -> bool {
        let (mut at, mut depth) = (1, 0usize);
        loop {
            match &self.parser.peek_nth_token_ref(at).token {
                Token::EOF | Token::SemiColon => return false,
                Token::LParen => depth += 1,
                Token::RParen => depth = depth.saturating_sub(1),
                Token::Word(_)
                    if depth == 0 && self.nth_word_is(at, "owner") && self.nth_word_is(at + 1, "to") =>
                {
                    // A column may be called so.
                    let renames =
                        ["rename", "column", "constraint"].iter().any(|word| self.nth_word_is(at - 1, word));
                    let is_word = matches!(self.parser.peek_nth_token_ref(at + 2).token, Token::Word(_));
                    let end = &self.parser.peek_nth_token_ref(at + 3).token;
                    return !renames && is_word && matches!(end, Token::EOF | Token::SemiColon);
                }
                _ => {}
            }
            at += 1;
        }
    }

    /// `SELECT [pg_catalog.]set_config('name', 'value', false)` and nothing else.
    pub(super) fn set_config(&mut self) -> Result<Option<StatementKind>> {
        let first = 1 + 2 * usize::from(self.nth_word_is(1, "pg_catalog"));
        if !self.nth_word_is(first, "set_config") {
            return Ok(None);
        }
        let token = |at: usize| &self.parser.peek_nth_token_ref(first + at).token;
        let punctuation = [(1, Token::LParen), (3, Token::Comma), (5, Token::Comma), (7, Token::RParen)];
        let is_call = punctuation.iter().all(|(at, wanted)| token(*at) == wanted)
            && self.nth_word_is(first + 6, "false")
            && matches!(token(8), Token::EOF | Token::SemiColon);
        let (Token::SingleQuotedString(name), Token::SingleQuotedString(value)) = (token(2), token(4)) else {
            return Ok(None);
        };
        if !is_call {
            return Ok(None);
        }
        let (name, value) = (name.clone(), value.clone());
        for _ in 0..first {
            self.parser.next_token();
        }
        let pos = self.pos();
        while !self.at_end() {
            self.parser.next_token();
        }
        let value = Expr { kind: ExprKind::Literal(Literal::String(value)), pos };
        Ok(Some(StatementKind::Set { name: Ident { value: name, pos }, value: Some(value) }))
    }
}

/// Takes out `::regclass` behind a text, and `SEQUENCE NAME s` of an identity column.
pub(super) fn respell(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let is_wanted = |token: &TokenWithSpan| is_word(token, "regclass") || is_word(token, "sequence");
    let mut at = 0;
    while let Some(found) = (at..tokens.len()).find(|&index| is_wanted(&tokens[index])) {
        at = found + 1;
        let before = |from: usize| (0..from).rev().find(|&index| !is_blank(&tokens[index]));
        let behind = |from: usize| (from + 1..tokens.len()).find(|&index| !is_blank(&tokens[index]));
        let Some(previous) = before(found) else { continue };
        if is_word(&tokens[found], "regclass") {
            let is_text = before(previous)
                .is_some_and(|text| matches!(tokens[text].token, Token::SingleQuotedString(_)));
            if tokens[previous].token == Token::DoubleColon && is_text {
                tokens.drain(previous..=found);
                at = previous;
            }
            continue;
        }
        let is_identity = tokens[previous].token == Token::LParen
            && before(previous).is_some_and(|word| is_keyword(&tokens[word], Keyword::IDENTITY));
        let Some(name) = behind(found).filter(|&name| is_identity && is_word(&tokens[name], "name")) else {
            continue;
        };
        let mut end = name;
        while let Some(next) = behind(end) {
            let is_part = tokens[end].token == Token::Period || end == name;
            if !(is_part && matches!(tokens[next].token, Token::Word(_))
                || tokens[next].token == Token::Period)
            {
                break;
            }
            end = next;
        }
        tokens.drain(found..=end);
        at = found;
    }
    starts_last(tokens)
}

/// `IDENTITY (START WITH 1 INCREMENT BY 2 CACHE 1)` with START behind what the crate reads before it.
fn starts_last(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let mut at = 0;
    while let Some(found) = (at..tokens.len()).find(|&index| is_keyword(&tokens[index], Keyword::IDENTITY)) {
        at = found + 1;
        let solid = |from: usize| (from..tokens.len()).find(|&index| !is_blank(&tokens[index]));
        let Some(open) = solid(at).filter(|&open| tokens[open].token == Token::LParen) else { continue };
        let Some(close) = (open..tokens.len()).find(|&index| tokens[index].token == Token::RParen) else {
            break;
        };
        let Some(start) = (open..close).find(|&index| is_word(&tokens[index], "start")) else { continue };
        let is_number = |index: &usize| matches!(tokens[*index].token, Token::Number(..));
        let Some(number) = (start..close).find(is_number) else { continue };
        let end = (number..close)
            .find(|&index| is_word(&tokens[index], "cache") || is_word(&tokens[index], "cycle"))
            .unwrap_or(close);
        let no = (number..end).rev().find(|&index| !is_blank(&tokens[index]));
        let end = no.filter(|&no| is_word(&tokens[no], "no")).unwrap_or(end);
        if end > number + 1 {
            // A blank stands in front of what comes next.
            tokens[start..end].rotate_left(number + 1 - start);
        }
        at = close;
    }
    tokens
}

fn is_keyword(token: &TokenWithSpan, keyword: Keyword) -> bool {
    matches!(&token.token, Token::Word(word) if word.keyword == keyword && word.quote_style.is_none())
}

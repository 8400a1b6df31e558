//! What stands in dumps of PostgreSQL and in the queries of its tools, and says nothing here, or something that has another form.
//!
//! | Written | Read as |
//! | --- | --- |
//! | `SELECT pg_catalog.set_config('name', 'value', false)` | `SET name = 'value'` |
//! | `nextval('s'::regclass)` | `nextval('s')` |
//! | `'t'::regclass`, `$1::regclass`, `x::regclass::oid` | `regclass_number('t')`: what `pg_class` calls `oid` |
//! | `c.oid::regclass`, `x::regclass::text` | `regclass_name(c.oid)` |
//! | `x::regtype`, `x::regnamespace` | in the same way |
//! | `x::regrole`, `x::regproc` | `pg_get_userbyid(x)`, `x::text` |
//! | `format('%I: %s', a, b)` | `concat(quote_ident(a), ': ', b)`; with `{}` it is another function |
//! | `AS IDENTITY (SEQUENCE NAME s START WITH 1)` | `AS IDENTITY (START WITH 1)` |

use super::Reader;
use super::ast::{Expr, ExprKind, Ident, Literal, Pos, StatementKind};
use super::convert::Context;
use super::expr::{call, cast};
use super::spelling::{is_blank, is_word};
use inlay_types::{LogicalType, Result};
use sqlparser::ast;
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

/// What a number of PostgreSQL's catalog is of, which its tools turn into names and back by casts.
#[derive(Clone, Copy)]
enum Numbered {
    Class,
    Type,
    Schema,
    Role,
    Function,
}

/// What types of numbers are called.
const NUMBERED: &[(&str, Numbered)] = &[
    ("regclass", Numbered::Class),
    ("regtype", Numbered::Type),
    ("regnamespace", Numbered::Schema),
    ("regrole", Numbered::Role),
    ("regproc", Numbered::Function),
    ("regprocedure", Numbered::Function),
    ("regoper", Numbered::Function),
    ("regoperator", Numbered::Function),
];

impl Numbered {
    fn of(ty: &ast::DataType) -> Option<Self> {
        if matches!(ty, ast::DataType::Regclass) {
            return Some(Self::Class);
        }
        let ast::DataType::Custom(name, modifiers) = ty else { return None };
        let mut parts = name.0.iter().rev().map(|part| part.as_ident().map(|ident| ident.value.as_str()));
        let last = parts.next()??;
        let is_its_schema =
            |schema: Option<&str>| schema.is_some_and(|name| name.eq_ignore_ascii_case("pg_catalog"));
        if !modifiers.is_empty() || name.0.len() > 2 || !parts.all(is_its_schema) {
            return None;
        }
        NUMBERED.iter().find(|(known, _)| known.eq_ignore_ascii_case(last)).map(|(_, numbered)| *numbered)
    }

    fn number(self, of: Expr) -> Expr {
        let pos = of.pos;
        // A name comes as a parameter, whatever the type of the number.
        let is_open = matches!(of.kind, ExprKind::Parameter(_));
        let of = if is_open { cast(of, LogicalType::Varchar, pos) } else { of };
        match self {
            Self::Class => call("regclass_number", vec![of], pos),
            Self::Type => call("regtype_number", vec![of], pos),
            Self::Schema => call("regnamespace_number", vec![of], pos),
            // There are no numbers of these to look up.
            Self::Role => cast(of, LogicalType::BigInt, pos),
            Self::Function => cast(of, LogicalType::Varchar, pos),
        }
    }

    fn name(self, of: Expr) -> Expr {
        let pos = of.pos;
        match self {
            Self::Class => call("regclass_name", vec![of], pos),
            Self::Type => call("regtype_name", vec![of], pos),
            Self::Schema => call("regnamespace_name", vec![of], pos),
            Self::Role => call("pg_get_userbyid", vec![of], pos),
            Self::Function => cast(of, LogicalType::Varchar, pos),
        }
    }
}

/// The pieces of a call of PostgreSQL's `format`: texts and arguments in turn; `None` if it is none, or has not as many arguments as places.
pub(super) fn format_pieces(arguments: &[Expr]) -> Option<Vec<Expr>> {
    let (first, values) = arguments.split_first()?;
    let ExprKind::Literal(Literal::String(pattern)) = &first.kind else { return None };
    if pattern.contains('{') || !["%s", "%I", "%L"].iter().any(|place| pattern.contains(place)) {
        return None;
    }
    let text = |text: String| Expr { kind: ExprKind::Literal(Literal::String(text)), pos: first.pos };
    let (mut pieces, mut plain) = (vec![text(String::new())], String::new());
    let (mut chars, mut values) = (pattern.chars(), values.iter());
    while let Some(c) = chars.next() {
        if c != '%' {
            plain.push(c);
            continue;
        }
        let kind = chars.next()?;
        if kind == '%' {
            plain.push('%');
            continue;
        }
        let value = cast(values.next()?.clone(), LogicalType::Varchar, first.pos);
        pieces.push(text(std::mem::take(&mut plain)));
        let quoted = [('s', None), ('I', Some("quote_ident")), ('L', Some("quote_nullable"))];
        let (_, quotes) = quoted.iter().find(|(known, _)| *known == kind)?;
        pieces.push(match quotes {
            Some(function) => call(function, vec![value], first.pos),
            None => value,
        });
    }
    pieces.push(text(plain));
    values.next().is_none().then_some(pieces)
}

fn inside(expr: &ast::Expr) -> &ast::Expr {
    let mut expr = expr;
    while let ast::Expr::Nested(inner) = expr {
        expr = inner;
    }
    expr
}

impl Context<'_, '_> {
    /// A cast to `regclass` and the like, or of such a cast to a text or a number; `None` if it is another one.
    pub(super) fn catalog_cast(
        &self,
        expr: &ast::Expr,
        ty: &ast::DataType,
        pos: Pos,
    ) -> Result<Option<Expr>> {
        if let Some(numbered) = Numbered::of(ty) {
            let is_column =
                matches!(inside(expr), ast::Expr::Identifier(_) | ast::Expr::CompoundIdentifier(_));
            let of = self.expr(expr.clone())?;
            return Ok(Some(if is_column { numbered.name(of) } else { numbered.number(of) }));
        }
        let ast::Expr::Cast { expr: inner, data_type, format: None, .. } = inside(expr) else {
            return Ok(None);
        };
        let Some(numbered) = Numbered::of(data_type) else { return Ok(None) };
        let to = self.data_type(ty).map_err(|error| self.at(error, pos))?;
        let of = self.expr((**inner).clone())?;
        if to == LogicalType::Varchar {
            return Ok(Some(numbered.name(of)));
        }
        Ok(to.is_integer().then(|| cast(numbered.number(of), to, pos)))
    }
}

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

/// Takes out `::regclass` behind the text that names a sequence, and `SEQUENCE NAME s` of an identity column.
pub(super) fn respell(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let is_wanted = |token: &TokenWithSpan| is_word(token, "regclass") || is_word(token, "sequence");
    let mut at = 0;
    while let Some(found) = (at..tokens.len()).find(|&index| is_wanted(&tokens[index])) {
        at = found + 1;
        let before = |from: usize| (0..from).rev().find(|&index| !is_blank(&tokens[index]));
        let behind = |from: usize| (from + 1..tokens.len()).find(|&index| !is_blank(&tokens[index]));
        let Some(previous) = before(found) else { continue };
        if is_word(&tokens[found], "regclass") {
            let is_text = before(previous).is_some_and(|text| {
                let is_call = before(text).filter(|&open| tokens[open].token == Token::LParen);
                let function = is_call.and_then(before).map(|function| &tokens[function]);
                matches!(tokens[text].token, Token::SingleQuotedString(_))
                    && function.is_some_and(|function| {
                        ["nextval", "currval", "setval"].iter().any(|name| is_word(function, name))
                    })
            });
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

//! Pieces of the grammar that `sqlparser` does not read with our dialect, lifted out of its tokens or written its way.
//!
//! - `AS [NOT] MATERIALIZED (`: taken out; remembered by the place of the closing parenthesis.
//! - `USING KEY (columns)` of a CTE: taken out; remembered as MATERIALIZED is.
//! - `USING SAMPLE ...`: taken out; remembered by the place of the SELECT (or leading FROM) that it belongs to.
//! - `TABLESAMPLE ...`: taken out; a mark is left in its place, a sample of as many rows as its number says.
//! - `TABLE t` as a query is written `FROM t`: the crate drops what follows it.
//! - `LIMIT n PERCENT` is written `LIMIT n %`, whatever n is.
//!
//! A text without these words is not walked over twice.

use super::ast::{Ident, Sample, SampleMethod, SampleSize};
use super::convert::pos_of;
use inlay_types::{Error, Result};
use sqlparser::tokenizer::{Location, Span, Token, TokenWithSpan};
use std::collections::HashMap;

/// What was taken out of the tokens of a text.
#[derive(Default)]
pub(super) struct Lifted {
    /// `AS MATERIALIZED` or `AS NOT MATERIALIZED`, by the closing parenthesis of the CTE.
    pub(super) materialized: HashMap<Location, bool>,
    /// `USING KEY`, by the closing parenthesis of the CTE.
    pub(super) keys: HashMap<Location, Vec<Ident>>,
    /// `USING SAMPLE`, by the SELECT.
    pub(super) samples: HashMap<Location, Sample>,
    /// `TABLESAMPLE`, by its number.
    pub(super) table_samples: Vec<Sample>,
}

/// Takes the pieces out.
pub(super) fn lift(tokens: Vec<TokenWithSpan>, sql: &str) -> Result<(Vec<TokenWithSpan>, Lifted)> {
    const WORDS: [&str; 6] = ["KEY", "TABLE", "MATERIALIZED", "SAMPLE", "TABLESAMPLE", "PERCENT"];
    let is_wanted = |token: &TokenWithSpan| WORDS.iter().any(|word| is_word(token, word));
    if !tokens.iter().any(is_wanted) {
        return Ok((tokens, Lifted::default()));
    }
    let mut lifter = Lifter { tokens: &tokens, sql, at: 0, out: Vec::with_capacity(tokens.len()) };
    let lifted = lifter.run()?;
    let out = lifter.out;
    Ok((out, lifted))
}

/// What is open at a level of parentheses.
#[derive(Default)]
struct Level {
    /// The SELECT or leading FROM that a sample would belong to.
    select: Option<Location>,
    /// The parenthesis follows `AS [NOT] MATERIALIZED`.
    materialized: Option<bool>,
    /// The parenthesis is the CTE's that USING KEY stands before.
    keys: Option<Vec<Ident>>,
}

struct Lifter<'a> {
    tokens: &'a [TokenWithSpan],
    sql: &'a str,
    at: usize,
    out: Vec<TokenWithSpan>,
}

fn is_word(token: &TokenWithSpan, wanted: &str) -> bool {
    matches!(&token.token, Token::Word(word) if word.quote_style.is_none() && word.value.eq_ignore_ascii_case(wanted))
}

impl Lifter<'_> {
    fn run(&mut self) -> Result<Lifted> {
        let mut lifted = Lifted::default();
        let mut levels = vec![Level::default()];
        let mut materialized = None;
        let mut keys = None;
        let mut in_limit: Option<usize> = None;
        while let Some(token) = self.tokens.get(self.at) {
            let start = token.span.start;
            let level_select = levels.last().and_then(|level| level.select);
            match &token.token {
                Token::LParen => {
                    levels.push(Level { select: None, materialized: materialized.take(), keys: keys.take() })
                }
                Token::RParen => {
                    let level = if levels.len() > 1 { levels.pop() } else { None };
                    if let Some(level) = level {
                        level.materialized.map(|value| lifted.materialized.insert(start, value));
                        level.keys.map(|keys| lifted.keys.insert(start, keys));
                    }
                }
                Token::SemiColon => levels = vec![Level::default()],
                Token::Word(_) if is_word(token, "AS") => {
                    if let Some(value) = self.materialized() {
                        self.out.push(token.clone());
                        materialized = Some(value);
                        continue;
                    }
                }
                Token::Word(_) if is_word(token, "USING") && self.starts_keys() => {
                    self.skip(2);
                    keys = Some(self.keys()?);
                    continue;
                }
                Token::Word(_) if is_word(token, "USING") && self.next_is(1, "SAMPLE") => {
                    let Some(select) = level_select else {
                        return Err(self.error("USING SAMPLE stands behind a SELECT"));
                    };
                    self.skip(2);
                    let sample = self.sample()?;
                    lifted.samples.insert(select, sample);
                    // The text of a statement, which views keep, ends behind its last token.
                    let end = self.end();
                    let is_blank = |token: &&mut TokenWithSpan| matches!(token.token, Token::Whitespace(_));
                    if let Some(last) = self.out.iter_mut().rev().find(|token| !is_blank(token)) {
                        last.span.end = end;
                    }
                    continue;
                }
                Token::Word(_) if is_word(token, "TABLESAMPLE") => {
                    self.out.push(token.clone());
                    self.skip(1);
                    let sample = self.sample()?;
                    let number = Token::Number(lifted.table_samples.len().to_string(), false);
                    let span = Span { start, end: self.end() };
                    self.out.push(TokenWithSpan { token: number, span });
                    lifted.table_samples.push(sample);
                    continue;
                }
                Token::Word(_) if is_word(token, "TABLE") && self.begins_query() => {
                    if level_select.is_none() {
                        set_select(&mut levels, Some(start));
                    }
                    self.out.push(TokenWithSpan { token: Token::make_keyword("FROM"), span: token.span });
                    self.at += 1;
                    continue;
                }
                Token::Word(_) if is_word(token, "PERCENT") && in_limit == Some(0) => {
                    self.out.push(TokenWithSpan { token: Token::Mod, span: token.span });
                    self.at += 1;
                    continue;
                }
                Token::Word(_) if is_word(token, "SELECT") => set_select(&mut levels, Some(start)),
                Token::Word(_) if is_word(token, "FROM") && level_select.is_none() => {
                    set_select(&mut levels, Some(start));
                }
                Token::Word(_)
                    if ["UNION", "INTERSECT", "EXCEPT"].iter().any(|word| is_word(token, word)) =>
                {
                    set_select(&mut levels, None);
                }
                _ => {}
            }
            in_limit = match (&token.token, in_limit) {
                (Token::Word(_), _) => is_word(token, "LIMIT").then_some(0),
                (Token::SemiColon | Token::Comma, _) => None,
                (Token::LParen, Some(depth)) => Some(depth + 1),
                (Token::RParen, Some(depth)) => usize::checked_sub(depth, 1),
                (_, within) => within,
            };
            self.out.push(token.clone());
            self.at += 1;
        }
        Ok(lifted)
    }

    /// At AS: whether `[NOT] MATERIALIZED (` follows, and which; then goes on to the parenthesis.
    fn materialized(&mut self) -> Option<bool> {
        let (value, count) = match (self.next_is(1, "NOT"), self.next_is(1, "MATERIALIZED")) {
            (true, _) if self.next_is(2, "MATERIALIZED") => (false, 3),
            (_, true) => (true, 2),
            _ => return None,
        };
        let next = self.place(count);
        if self.tokens.get(next)?.token != Token::LParen {
            return None;
        }
        self.at = next;
        Some(value)
    }

    /// Whether the word here stands where a query begins, with a name behind it.
    fn begins_query(&self) -> bool {
        let before = self.out.iter().rev().find(|token| !matches!(token.token, Token::Whitespace(_)));
        let fits = |token: &TokenWithSpan| {
            const WORDS: [&str; 7] = ["UNION", "ALL", "EXCEPT", "INTERSECT", "AS", "EXPLAIN", "ANALYZE"];
            matches!(token.token, Token::LParen | Token::SemiColon)
                || WORDS.iter().any(|word| is_word(token, word))
        };
        // AS TABLE and a query is a table macro.
        let is_name = |token: &TokenWithSpan| {
            const QUERIES: [&str; 4] = ["SELECT", "WITH", "FROM", "VALUES"];
            matches!(token.token, Token::Word(_)) && !QUERIES.iter().any(|word| is_word(token, word))
        };
        // Behind the parenthesis of the last query of a WITH.
        let ends_with = |token: &TokenWithSpan| {
            token.token == Token::RParen && self.out.iter().any(|token| is_word(token, "WITH"))
        };
        let begins = before.is_none_or(|token| fits(token) || ends_with(token));
        begins && self.tokens.get(self.place(1)).is_some_and(is_name)
    }

    /// Index of the token `count` tokens further, white space not counted.
    fn place(&self, count: usize) -> usize {
        let mut index = self.at;
        let is_blank = |index: usize| {
            self.tokens.get(index).is_some_and(|token| matches!(token.token, Token::Whitespace(_)))
        };
        for _ in 0..count {
            index += 1;
            while is_blank(index) {
                index += 1;
            }
        }
        index
    }

    fn next_is(&self, count: usize, word: &str) -> bool {
        self.tokens.get(self.place(count)).is_some_and(|token| is_word(token, word))
    }

    /// Whether `USING KEY (` is here; a table may be called key.
    fn starts_keys(&self) -> bool {
        let behind = self.tokens.get(self.place(2)).map(|token| &token.token);
        self.next_is(1, "KEY") && behind == Some(&Token::LParen)
    }

    /// Where the last token before this one ends, white space not counted.
    fn end(&self) -> Location {
        let before = self.tokens.get(..self.at).unwrap_or_default();
        let last = before.iter().rev().find(|token| !matches!(token.token, Token::Whitespace(_)));
        last.map_or(Location { line: 0, column: 0 }, |token| token.span.end)
    }

    fn skip(&mut self, count: usize) {
        self.at = self.place(count);
    }

    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at).map(|token| &token.token)
    }

    fn error(&self, message: &str) -> Error {
        let error = Error::Syntax { message: message.to_string() };
        match self.tokens.get(self.at).or(self.tokens.last()) {
            Some(token) => {
                let pos = pos_of(token.span.start);
                error.at(pos.line, pos.column, self.sql)
            }
            None => error,
        }
    }

    fn expect(&mut self, wanted: &Token) -> Result<()> {
        if self.peek() != Some(wanted) {
            return Err(self.error(&format!("expected {wanted} in the sample")));
        }
        self.advance();
        Ok(())
    }

    /// Goes on to the next token that is not white space; blanks are kept for what follows.
    fn advance(&mut self) {
        self.at += 1;
        while matches!(self.peek(), Some(Token::Whitespace(_))) {
            self.at += 1;
        }
    }

    /// `(a, b)`
    fn keys(&mut self) -> Result<Vec<Ident>> {
        const WANTED: &str = "USING KEY takes names of columns in parentheses: USING KEY (a, b)";
        let mut keys = Vec::new();
        loop {
            self.advance();
            let Some(TokenWithSpan { token: Token::Word(word), span }) = self.tokens.get(self.at) else {
                return Err(self.error(WANTED));
            };
            keys.push(Ident { value: word.value.clone(), pos: pos_of(span.start) });
            self.advance();
            match self.peek() {
                Some(Token::Comma) => {}
                Some(Token::RParen) => break,
                _ => return Err(self.error(WANTED)),
            }
        }
        self.advance();
        Ok(keys)
    }

    /// `method (size) [REPEATABLE (seed)]` or `size [(method [, seed])]`.
    fn sample(&mut self) -> Result<Sample> {
        let mut sample = Sample { method: None, size: SampleSize::Rows(0), seed: None };
        let start = self.at;
        if matches!(self.peek(), Some(Token::Word(_))) {
            sample.method = Some(self.method()?);
            self.expect(&Token::LParen)?;
            sample.size = self.size()?;
            self.expect(&Token::RParen)?;
        } else {
            let in_parentheses = self.peek() == Some(&Token::LParen);
            if in_parentheses {
                self.advance();
            }
            sample.size = self.size()?;
            if in_parentheses {
                self.expect(&Token::RParen)?;
            } else if self.peek() == Some(&Token::LParen) {
                self.advance();
                sample.method = Some(self.method()?);
                if self.peek() == Some(&Token::Comma) {
                    self.advance();
                    sample.seed = Some(self.seed()?);
                }
                self.expect(&Token::RParen)?;
            }
        }
        if self.tokens.get(self.at).is_some_and(|token| is_word(token, "REPEATABLE")) {
            self.advance();
            self.expect(&Token::LParen)?;
            sample.seed = Some(self.seed()?);
            self.expect(&Token::RParen)?;
        }
        // As in PostgreSQL, these take a percentage.
        let says_rows = self.tokens[start..self.at].iter().any(|token| is_word(token, "ROWS"));
        if let (Some(SampleMethod::Bernoulli | SampleMethod::System), SampleSize::Rows(number)) =
            (sample.method, sample.size)
        {
            if says_rows || number > 100 {
                return Err(self.error(
                    "a sample of a number of rows is taken with reservoir; bernoulli and system take a percentage",
                ));
            }
            sample.size = SampleSize::Percent(number as f64);
        }
        // What follows must not run into the token before.
        Ok(sample)
    }

    fn method(&mut self) -> Result<SampleMethod> {
        let Some(Token::Word(word)) = self.peek() else {
            return Err(self.error("expected reservoir, bernoulli or system"));
        };
        let method = match word.value.to_lowercase().as_str() {
            "reservoir" => SampleMethod::Reservoir,
            "bernoulli" => SampleMethod::Bernoulli,
            "system" => SampleMethod::System,
            _ => return Err(self.error("expected reservoir, bernoulli or system")),
        };
        self.advance();
        Ok(method)
    }

    fn number(&mut self) -> Result<String> {
        let Some(Token::Number(text, _)) = self.peek() else {
            return Err(self.error("expected a number in the sample"));
        };
        let text = text.replace('_', "");
        self.advance();
        Ok(text)
    }

    fn seed(&mut self) -> Result<u64> {
        let text = self.number()?;
        text.parse().map_err(|_| self.error("the seed of a sample is an integer"))
    }

    fn size(&mut self) -> Result<SampleSize> {
        let text = self.number()?;
        let is_percent = self.peek() == Some(&Token::Mod)
            || self.tokens.get(self.at).is_some_and(|token| is_word(token, "PERCENT"));
        if is_percent {
            let share: f64 = text.parse().map_err(|_| self.error("expected a number in the sample"))?;
            if !(0.0..=100.0).contains(&share) {
                return Err(self.error("a sample takes 0 to 100 percent"));
            }
            self.advance();
            return Ok(SampleSize::Percent(share));
        }
        if self.tokens.get(self.at).is_some_and(|token| is_word(token, "ROWS")) {
            self.advance();
        }
        let rows =
            text.parse().map_err(|_| self.error("a sample takes a whole number of rows, or a percentage"))?;
        Ok(SampleSize::Rows(rows))
    }
}

fn set_select(levels: &mut [Level], place: Option<Location>) {
    if let Some(level) = levels.last_mut() {
        level.select = place;
    }
}

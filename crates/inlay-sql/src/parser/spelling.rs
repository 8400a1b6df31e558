//! Other spellings of what there is: CREATE RECURSIVE VIEW, MERGE ... USING (columns), CREATE TABLE t (x, y) AS.

use super::Reader;
use super::ast::{CreateView, StatementKind};
use super::define::on_existing;
use inlay_types::Result;
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Whitespace, Word};

impl Reader<'_> {
    /// Tells `CREATE [OR REPLACE] [TEMP] RECURSIVE VIEW` from other CREATEs.
    pub(super) fn starts_recursive_view(&self) -> bool {
        let after_replace = if self.nth_word_is(1, "or") { 3 } else { 1 };
        let is_temporary = ["temp", "temporary"].iter().any(|word| self.nth_word_is(after_replace, word));
        self.nth_word_is(after_replace + usize::from(is_temporary), "recursive")
    }

    /// `CREATE RECURSIVE VIEW v (a, b) AS query` as `CREATE VIEW v AS WITH RECURSIVE v (a, b) AS (query) FROM v`.
    pub(super) fn recursive_view(&mut self) -> Result<StatementKind> {
        self.parser.next_token();
        let or_replace = self.words(&["or", "replace"]);
        let temporary = self.word("temp") || self.word("temporary");
        self.word("recursive");
        self.expect_word("view")?;
        let if_not_exists = self.words(&["if", "not", "exists"]);
        let name = self.object_name()?;
        let columns = self
            .parenthesised(|reader| Ok(format!("\"{}\"", reader.identifier()?.value.replace('"', "\"\""))))?;
        self.expect_word("as")?;
        let start = self.offset(self.pos());
        // Read once here for the places of its mistakes, and again as a part of the whole.
        self.parsed_query()?;
        let body = self.written(start, self.offset(self.end_pos()))?;
        let own = format!("\"{}\"", name.last().replace('"', "\"\""));
        let query_text =
            format!("WITH RECURSIVE {own} ({}) AS ({body}) SELECT * FROM {own}", columns.join(", "));
        let StatementKind::Query(query) = super::parse_statement(&query_text)?.kind else {
            return self.syntax("a query");
        };
        let on_existing = on_existing(or_replace, if_not_exists)?;
        let view = CreateView { name, temporary, on_existing, columns: Vec::new(), query, query_text };
        Ok(StatementKind::CreateView(Box::new(view)))
    }
}

/// Rewrites the tokens of what the crate does not read.
pub(super) fn respell(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let tokens = trims_and_stars(super::postgres::respell(super::table_arguments::respell(tokens)));
    super::type_words::respell(super::like::respell(collated_types(untyped_columns(name_columns(
        super::merge::respell(merge_using(pivots(fetched(stars_and_compression(tokens))))),
    )))))
}

pub(super) fn is_word(token: &TokenWithSpan, expected: &str) -> bool {
    matches!(&token.token, Token::Word(word) if word.quote_style.is_none() && word.value.eq_ignore_ascii_case(expected))
}

pub(super) fn is_blank(token: &TokenWithSpan) -> bool {
    matches!(token.token, Token::Whitespace(_))
}

/// `TRIM(TRAILING FROM x)` is `TRIM(TRAILING x)`, and `GROUP BY *` and `ORDER BY *` are of ALL.
fn trims_and_stars(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let before = |tokens: &[TokenWithSpan], at: usize| (0..at).rev().find(|&index| !is_blank(&tokens[index]));
    for at in 0..tokens.len() {
        let is_from = is_keyword(&tokens[at], Keyword::FROM);
        if !is_from && tokens[at].token != Token::Mul {
            continue;
        }
        let Some(mut last) = before(&tokens, at) else { continue };
        if !is_from {
            let clause = before(&tokens, last).filter(|_| is_keyword(&tokens[last], Keyword::BY));
            let is_clause = |word| clause.is_some_and(|clause| is_keyword(&tokens[clause], word));
            if is_clause(Keyword::GROUP) || is_clause(Keyword::ORDER) {
                tokens[at].token = Token::make_keyword("ALL");
            }
            continue;
        }
        if ["leading", "trailing", "both"].iter().any(|side| is_word(&tokens[last], side)) {
            let Some(behind) = before(&tokens, last) else { continue };
            last = behind;
        }
        let is_trim = |name: usize| is_word(&tokens[name], "trim");
        if tokens[last].token == Token::LParen && before(&tokens, last).is_some_and(is_trim) {
            tokens[at].token = Token::Whitespace(Whitespace::Space);
        }
    }
    tokens
}

/// `* EXCEPT (a)` is `* EXCLUDE (a)`, and `USING COMPRESSION rle` behind a column says nothing here.
fn stars_and_compression(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let is_wanted =
        |token: &TokenWithSpan| is_keyword(token, Keyword::EXCEPT) || is_word(token, "compression");
    let mut at = 0;
    while let Some(found) = (at..tokens.len()).find(|&index| is_wanted(&tokens[index])) {
        at = found + 1;
        let before = (0..found).rev().find(|&index| !is_blank(&tokens[index]));
        let next = (at..tokens.len()).find(|&index| !is_blank(&tokens[index]));
        let (Some(before), Some(next)) = (before, next) else { continue };
        if is_word(&tokens[found], "compression") {
            let is_method = matches!(tokens[next].token, Token::Word(_) | Token::SingleQuotedString(_));
            if is_keyword(&tokens[before], Keyword::USING) && is_method {
                tokens.drain(before..=next);
                at = before;
            }
        } else if tokens[before].token == Token::Mul && tokens[next].token == Token::LParen {
            // `SELECT * EXCEPT (SELECT ...)` has no FROM in front.
            let inner = tokens[next + 1..].iter().find(|token| !is_blank(token));
            let queries = [Keyword::SELECT, Keyword::WITH, Keyword::FROM, Keyword::VALUES, Keyword::TABLE];
            if !inner.is_some_and(|inner| queries.iter().any(|&word| is_keyword(inner, word))) {
                tokens[found].token = Token::make_keyword("EXCLUDE");
            }
        }
    }
    tokens
}

/// PIVOT_WIDER and PIVOT_LONGER are PIVOT and UNPIVOT.
fn pivots(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    for index in 0..tokens.len() {
        let keyword = match () {
            () if is_word(&tokens[index], "pivot_wider") => "PIVOT",
            () if is_word(&tokens[index], "pivot_longer") => "UNPIVOT",
            () => continue,
        };
        let before = tokens[..index].iter().rev().find(|token| !is_blank(token));
        let begins = before.is_none_or(|token| {
            matches!(token.token, Token::LParen | Token::SemiColon) || is_keyword(token, Keyword::AS)
        });
        if begins {
            tokens[index].token = Token::make_keyword(keyword);
        }
    }
    tokens
}

/// In `CREATE TABLE t (x, y) AS query` the crate wants types behind the names: [`UNTYPED`].
fn name_columns(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let mut at = 0;
    while let Some(table) = (at..tokens.len()).find(|&index| is_keyword(&tokens[index], Keyword::TABLE)) {
        at = table + 1;
        let Some(open) = (at..tokens.len()).find(|&index| tokens[index].token == Token::LParen) else {
            break;
        };
        // CREATE ... TABLE [IF NOT EXISTS] name (
        let mut behind = tokens[at..open].iter().filter(|token| !is_blank(token));
        let is_of_name = |token: &TokenWithSpan| {
            matches!(token.token, Token::Word(_) | Token::Period) && !is_keyword(token, Keyword::AS)
        };
        if !behind.all(is_of_name) {
            continue;
        }
        let Some((names, end)) = names_in_parentheses(&tokens, open) else { continue };
        let next = tokens[end + 1..].iter().find(|token| !is_blank(token));
        if !next.is_some_and(|token| is_keyword(token, Keyword::AS)) {
            continue;
        }
        let mut list = Vec::with_capacity(names.len() * 4);
        for name in names {
            let span = name.span;
            if !list.is_empty() {
                list.push(TokenWithSpan { token: Token::Comma, span });
            }
            list.push(name);
            list.push(TokenWithSpan { token: Token::Whitespace(Whitespace::Space), span });
            let word = Word { value: UNTYPED.to_string(), quote_style: None, keyword: Keyword::NoKeyword };
            list.push(TokenWithSpan { token: Token::Word(word), span });
        }
        at = open + 1 + list.len();
        tokens.splice(open + 1..end, list);
    }
    tokens
}

/// The type that stands for that of a generated column's expression.
pub(super) const UNTYPED: &str = "(untyped)";

/// Gives generated columns without a type, as `c AS (a + b)` and `c GENERATED ALWAYS AS (a + b)`, the type [`UNTYPED`].
fn untyped_columns(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let is_table = |token: &TokenWithSpan| is_keyword(token, Keyword::TABLE);
    if !tokens.iter().any(is_table) {
        return tokens;
    }
    let solid =
        |tokens: &[TokenWithSpan], from: usize| (from..tokens.len()).find(|&index| !is_blank(&tokens[index]));
    let mut at = 0;
    while let Some(name) = (at..tokens.len()).find(|&index| matches!(tokens[index].token, Token::Word(_))) {
        at = name + 1;
        let before = tokens[..name].iter().rev().find(|token| !is_blank(token));
        let begins = before.is_some_and(|token| {
            matches!(token.token, Token::LParen | Token::Comma)
                || is_keyword(token, Keyword::COLUMN)
                || is_keyword(token, Keyword::ADD)
                || is_keyword(token, Keyword::EXISTS)
        });
        let Some(next) = solid(&tokens, at).filter(|_| begins) else { continue };
        let Some(behind) = solid(&tokens, next + 1) else { break };
        let computes = is_keyword(&tokens[next], Keyword::AS) && tokens[behind].token == Token::LParen;
        let generates =
            is_keyword(&tokens[next], Keyword::GENERATED) && is_keyword(&tokens[behind], Keyword::ALWAYS);
        // `(x AS (SELECT ...))` is a WITH query.
        let is_query = solid(&tokens, behind + 1).is_some_and(|inner| {
            [Keyword::SELECT, Keyword::WITH, Keyword::FROM, Keyword::VALUES]
                .iter()
                .any(|&word| is_keyword(&tokens[inner], word))
        });
        if (computes && !is_query && is_in_definition(&tokens[..name])) || generates {
            let span = tokens[name].span;
            let word = Word { value: UNTYPED.to_string(), quote_style: None, keyword: Keyword::NoKeyword };
            let blank = TokenWithSpan { token: Token::Whitespace(Whitespace::Space), span };
            tokens.splice(name + 1..name + 1, [blank, TokenWithSpan { token: Token::Word(word), span }]);
            at = name + 3;
        }
    }
    tokens
}

/// Whether what follows is a column of CREATE TABLE name ( or of ALTER TABLE ... ADD.
pub(super) fn is_in_definition(before: &[TokenWithSpan]) -> bool {
    let mut depth = 0usize;
    for (index, token) in before.iter().enumerate().rev() {
        match &token.token {
            Token::RParen => depth += 1,
            Token::LParen if depth > 0 => depth -= 1,
            Token::LParen => {
                // CREATE ... TABLE [IF NOT EXISTS] name (
                let words = before[..index].iter().rev().filter(|token| !is_blank(token));
                let mut words =
                    words.take_while(|token| matches!(token.token, Token::Word(_) | Token::Period));
                return words.any(|token| is_keyword(token, Keyword::TABLE));
            }
            Token::SemiColon => return false,
            _ if depth == 0 && is_keyword(token, Keyword::ALTER) => return true,
            _ => {}
        }
    }
    false
}

/// Writes `MERGE INTO t USING s USING (a, b)` as `... ON t.a = s.a AND t.b = s.b`, which the crate reads.
fn merge_using(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let mut at = 0;
    while let Some(merge) = (at..tokens.len()).find(|&index| is_keyword(&tokens[index], Keyword::MERGE)) {
        at = merge + 1;
        let Some(first) = next_using(&tokens, at) else { continue };
        let Some(second) = next_using(&tokens, first + 1) else { continue };
        let (Some(target), Some(source)) = (name_before(&tokens, first), name_before(&tokens, second)) else {
            continue;
        };
        let Some((columns, end)) = names_in_parentheses(&tokens, second + 1) else { continue };
        let condition = condition(&target, &source, &columns, &tokens[second]);
        at = second + condition.len();
        tokens.splice(second..=end, condition);
    }
    tokens
}

/// Writes `ALTER a TYPE VARCHAR COLLATE x` as `... TYPE VARCHAR USING a COLLATE x`, which the crate reads.
fn collated_types(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let first = tokens.iter().find(|token| !is_blank(token));
    if !first.is_some_and(|token| is_keyword(token, Keyword::ALTER)) {
        return tokens;
    }
    let mut at = 0;
    while let Some(word) = (at..tokens.len()).find(|&index| is_keyword(&tokens[index], Keyword::TYPE)) {
        at = word + 1;
        let before = tokens[..word].iter().rev().filter(|token| !is_blank(token));
        let mut before =
            before.skip_while(|token| is_keyword(token, Keyword::DATA) || is_keyword(token, Keyword::SET));
        let Some(column) = before.next().filter(|token| matches!(token.token, Token::Word(_))).cloned()
        else {
            continue;
        };
        let ends = |index: &usize| {
            matches!(tokens[*index].token, Token::Comma | Token::SemiColon | Token::EOF)
                || [Keyword::USING, Keyword::COLLATE].iter().any(|&word| is_keyword(&tokens[*index], word))
        };
        let end = (at..tokens.len()).find(ends).filter(|&end| is_keyword(&tokens[end], Keyword::COLLATE));
        let Some(collate) = end else { continue };
        let span = tokens[collate].span;
        let blank = TokenWithSpan { token: Token::Whitespace(Whitespace::Space), span };
        let using = TokenWithSpan { token: Token::make_keyword("USING"), span };
        tokens.splice(collate..collate, [using, blank.clone(), column, blank]);
        at = collate + 5;
    }
    tokens
}

/// Writes `FETCH FIRST (n) ROWS` without the parentheses around a single number or parameter, and `FETCH FIRST (a + b) ROWS
/// ONLY` as `LIMIT (a + b)`: the crate reads a value there.
fn fetched(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let mut at = 0;
    while let Some(fetch) = (at..tokens.len()).find(|&index| is_keyword(&tokens[index], Keyword::FETCH)) {
        at = fetch + 1;
        let solid: Vec<usize> =
            (at..tokens.len()).filter(|&index| !is_blank(&tokens[index])).take(2).collect();
        let [first, open] = solid.as_slice() else { break };
        let is_first = [Keyword::FIRST, Keyword::NEXT].iter().any(|&word| is_keyword(&tokens[*first], word));
        if !is_first || tokens[*open].token != Token::LParen {
            continue;
        }
        let Some(close) = closing(&tokens, *open) else { break };
        let inner: Vec<usize> = (open + 1..close).filter(|&index| !is_blank(&tokens[index])).collect();
        if let [only] = inner.as_slice()
            && matches!(tokens[*only].token, Token::Number(..) | Token::Placeholder(_))
        {
            let value = tokens[*only].clone();
            tokens.splice(open..=&close, [value]);
            continue;
        }
        let behind: Vec<usize> =
            (close + 1..tokens.len()).filter(|&index| !is_blank(&tokens[index])).take(2).collect();
        if let [rows, only] = behind.as_slice()
            && [Keyword::ROW, Keyword::ROWS].iter().any(|&word| is_keyword(&tokens[*rows], word))
            && is_keyword(&tokens[*only], Keyword::ONLY)
        {
            tokens.drain(close + 1..=*only);
            let span = tokens[fetch].span;
            tokens.splice(fetch..=*first, [TokenWithSpan { token: Token::make_keyword("LIMIT"), span }]);
        }
    }
    tokens
}

/// Where the parenthesis at `open` is closed.
fn closing(tokens: &[TokenWithSpan], open: usize) -> Option<usize> {
    let mut depth = 0usize;
    for (index, token) in tokens.iter().enumerate().skip(open) {
        match token.token {
            Token::LParen => depth += 1,
            Token::RParen => {
                depth -= 1;
                if depth == 0 {
                    return Some(index);
                }
            }
            _ => {}
        }
    }
    None
}

pub(super) fn is_keyword(token: &TokenWithSpan, keyword: Keyword) -> bool {
    matches!(&token.token, Token::Word(word) if word.quote_style.is_none() && word.keyword == keyword)
}

/// The next USING of the statement, outside of parentheses and before its first WHEN.
fn next_using(tokens: &[TokenWithSpan], from: usize) -> Option<usize> {
    let mut depth = 0usize;
    for (index, token) in tokens.iter().enumerate().skip(from) {
        match &token.token {
            Token::LParen => depth += 1,
            Token::RParen => depth = depth.saturating_sub(1),
            Token::SemiColon => return None,
            _ if depth > 0 => {}
            _ if is_keyword(token, Keyword::WHEN) || is_keyword(token, Keyword::ON) => return None,
            _ if is_keyword(token, Keyword::USING) => return Some(index),
            _ => {}
        }
    }
    None
}

/// The table or alias that ends before `index`; `(a, b)` behind an alias is passed over.
fn name_before(tokens: &[TokenWithSpan], index: usize) -> Option<Word> {
    let mut depth = 0usize;
    for token in tokens[..index].iter().rev() {
        match &token.token {
            Token::Whitespace(_) => {}
            Token::RParen => depth += 1,
            Token::LParen => depth = depth.checked_sub(1)?,
            _ if depth > 0 => {}
            Token::Word(word) => return Some(word.clone()),
            _ => return None,
        }
    }
    None
}

/// `(a, b)` and the index of its end.
fn names_in_parentheses(tokens: &[TokenWithSpan], from: usize) -> Option<(Vec<TokenWithSpan>, usize)> {
    let mut names = Vec::new();
    let solid = tokens.iter().enumerate().skip(from);
    let mut solid = solid.filter(|(_, token)| !matches!(token.token, Token::Whitespace(_)));
    if solid.next()?.1.token != Token::LParen {
        return None;
    }
    loop {
        let (_, name) = solid.next()?;
        if !matches!(name.token, Token::Word(_)) {
            return None;
        }
        names.push(name.clone());
        match solid.next()? {
            (end, token) if token.token == Token::RParen => return Some((names, end)),
            (_, token) if token.token == Token::Comma => {}
            _ => return None,
        }
    }
}

fn condition(
    target: &Word,
    source: &Word,
    columns: &[TokenWithSpan],
    place: &TokenWithSpan,
) -> Vec<TokenWithSpan> {
    let at = |token: Token| TokenWithSpan { token, span: place.span };
    let mut out = Vec::with_capacity(columns.len() * 8);
    for (index, column) in columns.iter().enumerate() {
        out.push(at(Token::make_keyword(if index == 0 { "ON" } else { "AND" })));
        for (side, name) in [target, source].into_iter().enumerate() {
            if side == 1 {
                out.push(at(Token::Eq));
            }
            out.push(TokenWithSpan { token: Token::Word(name.clone()), span: column.span });
            out.push(TokenWithSpan { token: Token::Period, span: column.span });
            out.push(column.clone());
        }
    }
    out
}

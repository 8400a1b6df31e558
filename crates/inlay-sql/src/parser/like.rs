//! `LIKE table` among the columns of CREATE TABLE: on its way through the crate it is a column of a name that says what to take, with
//! the table in the place of a collation.
//!
//! ```text
//! (LIKE a.b INCLUDING ALL EXCLUDING INDEXES, c INTEGER)
//! ("(like):comments,constraints,defaults,generated,identity" (untyped) COLLATE a.b, c INTEGER)
//! ```

use super::ast::{LikeParts, ObjectName, TableLike};
use super::convert::{Context, pos_of};
use super::spelling::{UNTYPED, is_blank, is_in_definition, is_word};
use inlay_types::{Error, Result};
use sqlparser::ast;
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Whitespace, Word};

/// What the name of such a column begins with.
const MARK: &str = "(like):";

/// Parts of a table that INCLUDING names; the last three say nothing here.
const PARTS: [&str; 9] = [
    "comments",
    "constraints",
    "defaults",
    "generated",
    "identity",
    "indexes",
    "compression",
    "statistics",
    "storage",
];

/// Rewrites what stands between `(` or `,` and `,` or `)`.
pub(super) fn respell(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let is_like = |token: &TokenWithSpan| is_word(token, "like");
    let mut at = 0;
    while let Some(like) = (at..tokens.len()).find(|&index| is_like(&tokens[index])) {
        at = like + 1;
        let before = tokens[..like].iter().rev().find(|token| !is_blank(token));
        let begins = before.is_some_and(|token| matches!(token.token, Token::LParen | Token::Comma));
        if !begins || !is_in_definition(&tokens[..like]) {
            continue;
        }
        let Some((name, parts, end)) = clause(&tokens, at) else { continue };
        let span = tokens[like].span;
        let word = |value: String, quote_style, keyword| TokenWithSpan {
            token: Token::Word(Word { value, quote_style, keyword }),
            span,
        };
        let blank = TokenWithSpan { token: Token::Whitespace(Whitespace::Space), span };
        let mut column = vec![
            word(format!("{MARK}{}", parts.join(",")), Some('"'), Keyword::NoKeyword),
            blank.clone(),
            word(UNTYPED.to_string(), None, Keyword::NoKeyword),
            blank.clone(),
            TokenWithSpan { token: Token::make_keyword("COLLATE"), span },
            blank,
        ];
        column.extend(name);
        at = like + column.len();
        tokens.splice(like..end, column);
    }
    tokens
}

/// The table, what is taken of it, and where the clause ends; `None` if it is no such clause.
fn clause(tokens: &[TokenWithSpan], from: usize) -> Option<(Vec<TokenWithSpan>, Vec<&'static str>, usize)> {
    let solid = |from: usize| (from..tokens.len()).find(|&index| !is_blank(&tokens[index]));
    let (mut name, mut end) = (Vec::new(), from);
    loop {
        let word = solid(end).filter(|&word| matches!(tokens[word].token, Token::Word(_)))?;
        name.push(tokens[word].clone());
        end = word + 1;
        let Some(point) = solid(end).filter(|&point| tokens[point].token == Token::Period) else { break };
        name.push(tokens[point].clone());
        end = point + 1;
    }
    let mut parts: Vec<&'static str> = Vec::new();
    while let Some(word) = solid(end) {
        let includes = is_word(&tokens[word], "including");
        if !includes && !is_word(&tokens[word], "excluding") {
            break;
        }
        let part = solid(word + 1)?;
        let named: Vec<&'static str> = match is_word(&tokens[part], "all") {
            true => PARTS.to_vec(),
            false => PARTS.iter().filter(|known| is_word(&tokens[part], known)).copied().collect(),
        };
        if named.is_empty() {
            break;
        }
        parts.retain(|known| !named.contains(known));
        if includes {
            parts.extend(named);
        }
        end = part + 1;
    }
    Some((name, parts, end))
}

impl Context<'_, '_> {
    /// The clause that a column stands for.
    pub(super) fn table_like(&self, column: &ast::ColumnDef, behind: usize) -> Result<Option<TableLike>> {
        let Some(parts) = column.name.value.strip_prefix(MARK) else { return Ok(None) };
        let (Some(ast::ColumnOption::Collation(name)), others) = (
            column.options.first().map(|option| &option.option),
            column.options.get(1..).unwrap_or_default(),
        ) else {
            return Ok(None);
        };
        if !others.is_empty() {
            let message = "behind LIKE and its INCLUDING and EXCLUDING nothing is said of columns";
            return Err(self.at(Error::Syntax { message: message.into() }, pos_of(column.name.span.start)));
        }
        let table: ObjectName = self.object_name(name)?;
        let has = |part: &str| parts.split(',').any(|known| known == part);
        let parts = LikeParts {
            comments: has("comments"),
            constraints: has("constraints"),
            defaults: has("defaults"),
            generated: has("generated"),
            identity: has("identity"),
            indexes: has("indexes"),
        };
        Ok(Some(TableLike { table, behind, parts }))
    }
}

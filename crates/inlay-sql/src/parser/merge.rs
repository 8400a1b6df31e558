//! Actions of MERGE that the crate does not read: UPDATE and INSERT of all columns, BY NAME or not, `INSERT DEFAULT VALUES`, and ERROR.
//!
//! [`respell`] writes them as ones that it does, of a column that no text can name; [`mark`] finds it again.

use super::ast::{Expr, ExprKind, Literal, Pos};
use super::spelling::{is_blank, is_keyword, is_word};
use sqlparser::ast;
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Word};

/// What such an action is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    UpdateByName,
    InsertByName,
    Defaults,
    Error,
}

/// The names of the columns.
const MARKS: [(&str, Mark); 4] = [
    ("\0update", Mark::UpdateByName),
    ("\0insert", Mark::InsertByName),
    ("\0defaults", Mark::Defaults),
    ("\0error", Mark::Error),
];

/// What the column of an action stands for, if it is one of these.
pub(super) fn mark(column: &ast::ObjectName) -> Option<Mark> {
    let [part] = column.0.as_slice() else { return None };
    let name = &part.as_ident()?.value;
    MARKS.iter().find(|(known, _)| known == name).map(|(_, mark)| *mark)
}

/// What the one assignment of an action stands for, if it is one of these.
pub(super) fn mark_of(assignments: &[ast::Assignment]) -> Option<Mark> {
    let [ast::Assignment { target: ast::AssignmentTarget::ColumnName(column), .. }] = assignments else {
        return None;
    };
    mark(column)
}

/// `condition`, which fails where it held: `CASE WHEN condition THEN error(message)::BOOLEAN ELSE false END`.
pub(super) fn failing(condition: Option<Expr>, message: Option<Expr>, pos: Pos) -> Expr {
    let error = super::expr::call("error", message.into_iter().collect(), pos);
    let fails = Expr {
        kind: ExprKind::Cast {
            expr: Box::new(error),
            data_type: inlay_types::LogicalType::Boolean,
            try_cast: false,
        },
        pos,
    };
    let Some(condition) = condition else { return fails };
    let otherwise = Expr { kind: ExprKind::Literal(Literal::Boolean(false)), pos };
    let branches = vec![(condition, fails)];
    Expr { kind: ExprKind::Case { operand: None, branches, otherwise: Some(Box::new(otherwise)) }, pos }
}

/// Writes `THEN UPDATE` as `THEN UPDATE SET *`, `THEN INSERT` as `THEN INSERT *`, and the other actions with their marks.
pub(super) fn respell(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    if !tokens.iter().any(|token| is_keyword(token, Keyword::MERGE)) {
        return tokens;
    }
    let mut at = 0;
    while let Some(then) = (at..tokens.len()).find(|&index| is_keyword(&tokens[index], Keyword::THEN)) {
        at = then + 1;
        let Some(action) = solid(&tokens, at) else { break };
        if let Some((end, written)) = written_action(&tokens, then, action) {
            let span = tokens[action].span;
            tokens.splice(action..end, written.into_iter().map(|token| TokenWithSpan { token, span }));
        }
    }
    tokens
}

/// The first token from `from` on that is no blank.
fn solid(tokens: &[TokenWithSpan], from: usize) -> Option<usize> {
    (from..tokens.len()).find(|&index| !is_blank(&tokens[index]))
}

/// Whether an action ends in front of a token.
fn ends(token: &TokenWithSpan) -> bool {
    matches!(token.token, Token::SemiColon | Token::EOF)
        || [Keyword::WHEN, Keyword::RETURNING].iter().any(|&word| is_keyword(token, word))
}

/// Where the action that begins at a token ends, and how it is written.
fn written_action(tokens: &[TokenWithSpan], then: usize, action: usize) -> Option<(usize, Vec<Token>)> {
    let words = |words: &[Keyword]| {
        let mut end = action + 1;
        for &word in words {
            end = solid(tokens, end).filter(|&index| is_keyword(&tokens[index], word))? + 1;
        }
        solid(tokens, end).is_none_or(|next| ends(&tokens[next])).then_some(end)
    };
    let zero = || vec![Token::Number("0".into(), false)];
    let update = is_keyword(&tokens[action], Keyword::UPDATE);
    if update || is_keyword(&tokens[action], Keyword::INSERT) {
        if let Some(end) = words(&[]) {
            let all = if update { vec!["UPDATE", "SET"] } else { vec!["INSERT"] };
            return Some((end, spaced(all.into_iter().map(Token::make_keyword).chain([Token::Mul]))));
        }
        if let Some(end) = words(&[Keyword::BY, Keyword::NAME]) {
            let mark = if update { Mark::UpdateByName } else { Mark::InsertByName };
            return Some((end, marked(mark, update, zero())));
        }
        let end = words(&[Keyword::DEFAULT, Keyword::VALUES]).filter(|_| !update)?;
        return Some((end, marked(Mark::Defaults, false, zero())));
    }
    // A condition may have `THEN error(...)` of CASE in it.
    let next = solid(tokens, action + 1);
    if !is_word(&tokens[action], "error") || next.is_some_and(|next| tokens[next].token == Token::LParen) {
        return None;
    }
    let end = (action + 1..tokens.len()).find(|&index| ends(&tokens[index])).unwrap_or(tokens.len());
    let message: Vec<Token> = tokens[action + 1..end].iter().map(|token| token.token.clone()).collect();
    let is_given = message.iter().any(|token| !matches!(token, Token::Whitespace(_)));
    let standard =
        vec![Token::SingleQuotedString("a row of MERGE is one for which THEN ERROR stands".into())];
    let message = if is_given { message } else { standard };
    Some((end, marked(Mark::Error, !inserts(tokens, then), message)))
}

/// Whether the clause of a THEN is NOT MATCHED, which can only insert.
fn inserts(tokens: &[TokenWithSpan], then: usize) -> bool {
    let Some(matched) = (0..then).rev().find(|&index| is_keyword(&tokens[index], Keyword::MATCHED)) else {
        return false;
    };
    let is_not = (0..matched).rev().find(|&index| !is_blank(&tokens[index]));
    let by = solid(tokens, matched + 1).filter(|&by| is_keyword(&tokens[by], Keyword::BY));
    let by_source = by.and_then(|by| solid(tokens, by + 1)).is_some_and(|of| is_word(&tokens[of], "source"));
    is_not.is_some_and(|not| is_keyword(&tokens[not], Keyword::NOT)) && !by_source
}

/// `UPDATE SET mark = value`, or `INSERT (mark) VALUES (value)`.
fn marked(mark: Mark, update: bool, value: Vec<Token>) -> Vec<Token> {
    let name = MARKS.iter().find(|(_, known)| *known == mark).map_or("", |(name, _)| name);
    let name = Token::Word(Word { value: name.into(), quote_style: Some('"'), keyword: Keyword::NoKeyword });
    let keyword = Token::make_keyword;
    let mut tokens = if update {
        vec![keyword("UPDATE"), keyword("SET"), name, Token::Eq]
    } else {
        vec![keyword("INSERT"), Token::LParen, name, Token::RParen, keyword("VALUES"), Token::LParen]
    };
    tokens.extend(value);
    if !update {
        tokens.push(Token::RParen);
    }
    spaced(tokens)
}

/// Tokens with a blank behind each.
fn spaced(tokens: impl IntoIterator<Item = Token>) -> Vec<Token> {
    let space = || Token::Whitespace(sqlparser::tokenizer::Whitespace::Space);
    tokens.into_iter().flat_map(|token| [token, space()]).collect()
}

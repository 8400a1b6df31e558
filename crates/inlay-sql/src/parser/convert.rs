//! What the conversion from `sqlparser`'s tree shares: places, names, parameters and the depth limit.

use super::ast::{Ident, ObjectName, Parameter, Pos, TableAlias};
use inlay_types::{Error, Result};
use sqlparser::ast;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::{Location, Token, TokenWithSpan};
use std::cell::{Cell, RefCell};
use std::sync::Arc;

/// Deepest nesting of expressions and queries in a statement (chains of AND and OR count once).
pub(super) const DEPTH_MAX: usize = 1000;

/// What is known about the statement being converted.
pub(super) struct Context<'c, 'p> {
    /// The whole text.
    pub(super) sql: &'c str,
    /// Holds the tokens.
    pub(super) parser: &'c Parser<'p>,
    /// Places of all `?` in the text, in order.
    pub(super) marks: &'c Arc<[Location]>,
    /// Tokens kept aside, by the number in their place.
    pub(super) pieces: &'c Arc<[Vec<TokenWithSpan>]>,
    /// The byte at which each line starts.
    pub(super) line_starts: &'c Arc<[usize]>,
    /// Pieces of the text that are not among the parser's tokens.
    pub(super) lifted: &'c Arc<super::lift::Lifted>,
    /// Literals that are not among the tokens, by the number in their place.
    pub(super) constants: &'c Arc<[Arc<super::ast::Constants>]>,
    /// Index of the statement's first token.
    pub(super) first_token: usize,
    /// How many of `marks` stand before the statement.
    pub(super) marks_before: usize,
    /// How deep the conversion is now.
    pub(super) depth: Cell<usize>,
    /// The WINDOW clauses of the SELECTs around, innermost last.
    pub(super) windows: RefCell<Vec<super::window::NamedWindows>>,
}

/// Valid SQL that this version does not run.
pub(super) fn unsupported(feature: impl Into<String>) -> Error {
    Error::unsupported(feature)
}

pub(super) fn pos_of(location: Location) -> Pos {
    let clip = |n: u64| u32::try_from(n).unwrap_or(u32::MAX);
    Pos { line: clip(location.line), column: clip(location.column) }
}

impl Context<'_, '_> {
    /// `error` with its place in the text.
    pub(super) fn at(&self, error: Error, pos: Pos) -> Error {
        error.at(pos.line, pos.column, self.sql)
    }

    /// Fails when nesting is too deep; otherwise runs `inner` one level deeper.
    pub(super) fn deeper<T>(&self, inner: impl FnOnce() -> Result<T>) -> Result<T> {
        let depth = self.depth.get() + 1;
        if depth > DEPTH_MAX {
            return Err(too_deep());
        }
        self.depth.set(depth);
        let result = inner();
        self.depth.set(depth - 1);
        result
    }

    pub(super) fn ident(&self, ident: ast::Ident) -> Ident {
        Ident { pos: pos_of(ident.span.start), value: ident.value }
    }

    pub(super) fn idents(&self, idents: Vec<ast::Ident>) -> Vec<Ident> {
        idents.into_iter().map(|ident| self.ident(ident)).collect()
    }

    pub(super) fn object_name(&self, name: &ast::ObjectName) -> Result<ObjectName> {
        let mut parts = Vec::with_capacity(name.0.len());
        let mut is_string = false;
        for part in &name.0 {
            match part {
                ast::ObjectNamePart::Identifier(ident) => {
                    is_string = ident.quote_style == Some('\'');
                    parts.push(self.ident(ident.clone()));
                }
                ast::ObjectNamePart::Function(_) => return Err(unsupported("a function as part of a name")),
            }
        }
        if parts.is_empty() {
            return Err(Error::Syntax { message: "a name is missing".into() });
        }
        let is_string = is_string && parts.len() == 1;
        Ok(ObjectName { parts, is_string })
    }

    pub(super) fn table_alias(&self, alias: Option<ast::TableAlias>) -> Result<Option<TableAlias>> {
        let Some(alias) = alias else { return Ok(None) };
        if alias.at.is_some() {
            return Err(unsupported("AT behind a table alias"));
        }
        let columns = alias.columns.into_iter().map(|column| self.ident(column.name)).collect();
        Ok(Some(TableAlias { name: self.ident(alias.name), columns }))
    }

    /// The parameter that the placeholder `text` at `location` stands for.
    pub(super) fn parameter(&self, text: &str, location: Location) -> Result<Parameter> {
        if text == "?" {
            let index = self.marks.partition_point(|mark| *mark < location);
            return Ok(Parameter::Position(index + 1 - self.marks_before.min(index)));
        }
        let name = text.trim_start_matches(['$', '?', ':', '@']);
        match name.parse::<usize>() {
            Ok(0) => Err(Error::Syntax { message: "parameters count from $1".into() }),
            Ok(number) if number > usize::from(u16::MAX) => {
                Err(Error::Syntax { message: format!("parameter {text} is above the limit of 65535") })
            }
            Ok(number) => Ok(Parameter::Position(number)),
            Err(_) if name.is_empty() => Err(Error::Syntax { message: format!("unexpected {text}") }),
            Err(_) => Ok(Parameter::Name(name.to_string())),
        }
    }

    /// Index of the first token of the statement that starts at or behind `pos`.
    pub(super) fn token_index(&self, pos: Pos) -> usize {
        let (mut low, mut high) = (self.first_token, self.parser.index());
        while low < high {
            let middle = low + (high - low) / 2;
            if pos_of(self.parser.token_at(middle).span.start) < pos {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// Place of the operator in front of its right operand: the nearest token before `right` that `is_operator`.
    pub(super) fn operator_pos(&self, right: Pos, is_operator: impl Fn(&Token) -> bool) -> Option<Pos> {
        const TOKENS_SEARCHED_MAX: usize = 16;
        let end = self.token_index(right);
        let start = end.saturating_sub(TOKENS_SEARCHED_MAX).max(self.first_token);
        (start..end)
            .rev()
            .map(|index| self.parser.token_at(index))
            .find(|token| is_operator(&token.token))
            .map(|token| pos_of(token.span.start))
    }
}

/// The error for text that nests deeper than the engine goes.
pub(super) fn too_deep() -> Error {
    Error::Syntax { message: format!("the statement nests deeper than {DEPTH_MAX} levels") }
}

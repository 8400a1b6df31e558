//! PIVOT, UNPIVOT, and statements in FROM: read from the tokens that [`super::rewrite`] kept aside.

use super::ast::{
    ExprKind, Ident, Pivot, PivotColumn, SelectItem, StatementKind, TableAlias, TableRef, Unpivot,
    UnpivotColumn,
};
use super::convert::{Context, pos_of};
use super::{PARSER_RECURSION_MAX, Reader, dialect, parse_error};
use inlay_types::{Error, Result};
use sqlparser::ast;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::Token;
use std::sync::Arc;

/// Binds tighter than IN.
const PRECEDENCE_IN: u8 = 20;

impl Context<'_, '_> {
    /// The number of a piece from the arguments of its call.
    pub(super) fn piece_number(&self, args: &[ast::FunctionArg]) -> Result<usize> {
        match args {
            [ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(ast::Expr::Value(value)))] => {
                match &value.value {
                    ast::Value::Number(digits, _) => digits.parse().ok(),
                    _ => None,
                }
            }
            _ => None,
        }
        .ok_or_else(|| Error::internal("a piece of a statement without its number"))
    }

    fn piece_reader(&self, number: usize) -> Result<Reader<'_>> {
        let tokens = self.pieces.get(number).cloned();
        let tokens = tokens.ok_or_else(|| Error::internal("a piece of a statement is missing"))?;
        let parser = Parser::new(&dialect::InlayDialect)
            .with_recursion_limit(PARSER_RECURSION_MAX)
            .with_tokens_with_locations(tokens);
        Ok(Reader {
            parser,
            sql: self.sql,
            shared_sql: Arc::from(""),
            marks: Arc::clone(self.marks),
            semicolons: Arc::from([]),
            ends: Arc::from([]),
            line_starts: Arc::clone(self.line_starts),
            pieces: Arc::clone(self.pieces),
            lifted: Arc::clone(self.lifted),
            constants: Arc::clone(self.constants),
            last_offset: Default::default(),
            outer: Some((self.marks_before, self.depth.get())),
        })
    }

    /// What stands in FROM: a simplified PIVOT or UNPIVOT, DESCRIBE, SUMMARIZE or SHOW.
    pub(super) fn piece(&self, number: usize, alias: Option<TableAlias>) -> Result<TableRef> {
        self.deeper(|| {
            let mut reader = self.piece_reader(number)?;
            let table = if reader.word("pivot") || reader.word("pivot_wider") {
                TableRef::Pivot(Box::new(reader.pivot(alias)?))
            } else if reader.word("unpivot") || reader.word("pivot_longer") {
                TableRef::Unpivot(Box::new(reader.unpivot(alias)?))
            } else {
                let statement = Box::new(reader.described()?);
                TableRef::Show { statement, alias }
            };
            if reader.at_end() { Ok(table) } else { reader.syntax("the end of the clause") }
        })
    }

    /// `table PIVOT (..)` and `table UNPIVOT (..)`.
    pub(super) fn pivot_operator(
        &self,
        table: ast::TableFactor,
        number: usize,
        alias: Option<TableAlias>,
    ) -> Result<TableRef> {
        let source = self.table_factor(table)?;
        self.deeper(|| {
            let mut reader = self.piece_reader(number)?;
            if reader.word("pivot") {
                Ok(TableRef::Pivot(Box::new(reader.pivot_clause(source, alias)?)))
            } else {
                reader.expect_word("unpivot")?;
                Ok(TableRef::Unpivot(Box::new(reader.unpivot_clause(source, alias)?)))
            }
        })
    }
}

impl Reader<'_> {
    /// DESCRIBE, SUMMARIZE or SHOW.
    pub(super) fn described(&mut self) -> Result<StatementKind> {
        if self.nth_word_is(0, "show") {
            self.show()
        } else if self.nth_word_is(0, "summarize") {
            self.summarize()
        } else {
            self.describe()
        }
    }

    /// Behind PIVOT: `t ON c IN (..), d USING sum(x) AS s GROUP BY y`.
    fn pivot(&mut self, alias: Option<TableAlias>) -> Result<Pivot> {
        let pos = self.pos();
        let source = self.source()?;
        let on = if self.word("on") { self.pivot_list(Self::pivot_column)? } else { Vec::new() };
        let aggregates = if self.word("using") { self.items()? } else { Vec::new() };
        let group_by = self.pivot_groups()?;
        Ok(Pivot { source, on, aggregates, group_by, alias, pos })
    }

    /// `(sum(x) FOR c IN (..) d IN (..) GROUP BY y)`.
    fn pivot_clause(&mut self, source: TableRef, alias: Option<TableAlias>) -> Result<Pivot> {
        let pos = self.pos();
        self.expect(&Token::LParen)?;
        let aggregates = self.items()?;
        self.expect_word("for")?;
        let mut on = vec![self.pivot_column()?];
        while !self.nth_word_is(0, "group") && self.parser.peek_token_ref().token != Token::RParen {
            on.push(self.pivot_column()?);
        }
        let group_by = self.pivot_groups()?;
        self.expect(&Token::RParen)?;
        Ok(Pivot { source, on, aggregates, group_by, alias, pos })
    }

    /// Behind UNPIVOT: `t ON a, (b, c) AS d INTO NAME n VALUE v`.
    fn unpivot(&mut self, alias: Option<TableAlias>) -> Result<Unpivot> {
        let pos = self.pos();
        let mut include_nulls = self.words(&["include", "nulls"]);
        let source = self.source()?;
        include_nulls |= self.words(&["include", "nulls"]);
        let _ = self.words(&["exclude", "nulls"]);
        self.expect_word("on")?;
        let columns = self.unpivot_columns()?;
        let ident = |value: &str| Ident { value: value.into(), pos };
        let (mut name, mut values) = (ident("name"), vec![ident("value")]);
        if self.word("into") {
            self.expect_word("name")?;
            name = self.identifier()?;
            self.expect_word("value")?;
            values = self.pivot_list(Self::identifier)?;
        }
        Ok(Unpivot { source, columns, name, values, include_nulls, alias, pos })
    }

    /// `[INCLUDE NULLS] (v FOR n IN (a, b))`.
    fn unpivot_clause(&mut self, source: TableRef, alias: Option<TableAlias>) -> Result<Unpivot> {
        let pos = self.pos();
        let include_nulls = self.words(&["include", "nulls"]);
        let _ = self.words(&["exclude", "nulls"]);
        self.expect(&Token::LParen)?;
        let values = if self.parser.peek_token_ref().token == Token::LParen {
            self.parenthesised(Self::identifier)?
        } else {
            vec![self.identifier()?]
        };
        self.expect_word("for")?;
        let name = self.identifier()?;
        self.expect_word("in")?;
        self.expect(&Token::LParen)?;
        let columns = self.unpivot_columns()?;
        self.expect(&Token::RParen)?;
        self.expect(&Token::RParen)?;
        Ok(Unpivot { source, columns, name, values, include_nulls, alias, pos })
    }

    fn source(&mut self) -> Result<TableRef> {
        let first_token = self.next_index();
        let table = self.parser.parse_table_factor().map_err(|error| parse_error(&error, self.sql))?;
        self.context(first_token).table_factor(table)
    }

    /// `item, item`; a comma in front of the end, or of the next clause, separates nothing.
    fn pivot_list<T>(&mut self, mut item: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        let mut items = vec![item(self)?];
        while self.parser.consume_token(&Token::Comma)
            && !self.at_end()
            && self.parser.peek_token_ref().token != Token::RParen
            && !["using", "group", "into", "for"].iter().any(|word| self.nth_word_is(0, word))
        {
            items.push(item(self)?);
        }
        Ok(items)
    }

    /// `*` or an expression with or without an alias; the words of PIVOT are no aliases.
    fn item(&mut self) -> Result<SelectItem> {
        if self.parser.peek_token_ref().token == Token::Mul {
            let first_token = self.next_index();
            let item = self.parser.parse_select_item().map_err(|error| parse_error(&error, self.sql))?;
            return self.context(first_token).select_item(item);
        }
        let expr = self.expression()?;
        let ends = ["for", "group", "using", "into", "in", "on"].iter().any(|word| self.nth_word_is(0, word));
        let is_name = matches!(self.parser.peek_token_ref().token, Token::Word(_)) && !ends;
        let alias = if self.word("as") || is_name { Some(self.identifier()?) } else { None };
        Ok(SelectItem::Expr { expr, alias })
    }

    /// Expressions with or without aliases.
    fn items(&mut self) -> Result<Vec<SelectItem>> {
        self.pivot_list(Self::item)
    }

    /// `c`, `c IN (1, 2 AS two)`, `c IN (SELECT ..)`.
    fn pivot_column(&mut self) -> Result<PivotColumn> {
        let first_token = self.next_index();
        let expr = self.parser.parse_subexpr(PRECEDENCE_IN).map_err(|error| parse_error(&error, self.sql))?;
        let expr = self.context(first_token).expr(expr)?;
        let (mut values, mut query) = (None, None);
        if self.word("in") {
            self.expect(&Token::LParen)?;
            if self.nth_word_is(0, "select") || self.nth_word_is(0, "from") || self.nth_word_is(0, "with") {
                query = Some(self.parsed_query()?);
            } else {
                values = Some(self.items()?);
            }
            self.expect(&Token::RParen)?;
        }
        Ok(PivotColumn { expr, values, query })
    }

    fn pivot_groups(&mut self) -> Result<Option<Vec<super::ast::Expr>>> {
        if !self.word("group") {
            return Ok(None);
        }
        self.expect_word("by")?;
        if self.word("all") {
            return Ok(None);
        }
        Ok(Some(self.pivot_list(Self::expression)?))
    }

    fn unpivot_columns(&mut self) -> Result<Vec<UnpivotColumn>> {
        let mut columns = Vec::new();
        for item in self.items()? {
            match item {
                SelectItem::Expr { expr, alias } => {
                    let exprs = match expr.kind {
                        ExprKind::Row(items) => items,
                        kind => vec![super::ast::Expr { kind, pos: expr.pos }],
                    };
                    columns.push(UnpivotColumn { exprs, alias });
                }
                star @ SelectItem::Star { pos, .. } => {
                    let selection = super::ast::ColumnSelection::Star(Box::new(star));
                    let all = super::ast::Columns { selection, unpacked: false, bare: false };
                    let kind = ExprKind::Columns(Box::new(all));
                    columns.push(UnpivotColumn { exprs: vec![super::ast::Expr { kind, pos }], alias: None });
                }
            }
        }
        Ok(columns)
    }

    /// `SUMMARIZE table`, `SUMMARIZE query`.
    pub(super) fn summarize(&mut self) -> Result<StatementKind> {
        self.parser.next_token();
        Ok(StatementKind::Summarize(self.table_or_query()?))
    }

    /// A query, or a table's name for all of its rows.
    pub(super) fn table_or_query(&mut self) -> Result<Box<super::ast::Query>> {
        let _ = self.word("table");
        let is_query = self.parser.peek_token_ref().token == Token::LParen
            || ["select", "with", "from", "values"].iter().any(|word| self.nth_word_is(0, word));
        if is_query {
            return self.parsed_query();
        }
        let pos = pos_of(self.parser.peek_token_ref().span.start);
        let select = super::query::select_star(vec![self.source()?], pos);
        Ok(Box::new(super::ast::Query::of(super::ast::QueryBody::Select(Box::new(select)))))
    }
}

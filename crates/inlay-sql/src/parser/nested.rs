//! Syntax of nested values: `[1, 2]`, `[x + 1 FOR x IN l IF x > 0]`, `{'a': 1}`, `MAP {'k': 1}`, `l[1]`, `l[1:2]`, `s.a`, `lambda x: x + 1`.
//!
//! All become calls, whose functions say what types go together; only a lambda is a node of its own. Calls named
//! [`SUBSCRIPT`] and [`SLICE`] are resolved by the type of what they stand behind.

use super::ast::{
    Expr, ExprKind, FunctionCall, Ident, Literal, Pos, Query, QueryBody, Select, SelectItem, TableRef,
};
use super::convert::{Context, DEPTH_MAX, pos_of, unsupported};
use super::expr::{call, start_of};
use inlay_types::{Error, Result};
use sqlparser::ast::{self, AccessExpr};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;

/// `x[i]`
pub(crate) const SUBSCRIPT: &str = "[]";
/// `x[from:to:step]`
pub(crate) const SLICE: &str = "[:]";
/// `[x FOR x IN l]`: a call of the expression, the list, perhaps the condition.
const COMPREHENSION: &str = "[for]";

/// `-` as a bound of a slice.
const ABSENT: &str = "-";

type Parsed = std::result::Result<ast::Expr, ParserError>;

/// Values that begin with a bracket, a brace or a word of their own.
pub(super) fn parse_prefix(parser: &mut Parser) -> Option<Parsed> {
    let [first, second, third] = parser.peek_tokens_ref::<3>().map(|token| &token.token);
    let parse: fn(&mut Parser) -> Parsed = match (first, second) {
        (Token::LBracket, _) => list,
        (Token::LBrace, _) => structure,
        (Token::Word(word), Token::LBrace) if word.keyword == Keyword::MAP => map,
        (Token::Word(word), Token::Word(_))
            if is_lambda(word) && matches!(third, Token::Comma | Token::Colon) =>
        {
            return Some(lambda(parser));
        }
        (Token::SingleQuotedString(_), Token::LBracket) => {
            |parser| parser.parse_value().map(ast::Expr::Value)
        }
        // The sign alone: no bound.
        (Token::Minus, Token::Colon | Token::RBracket) => return Some(absent_bound(parser)),
        _ => return None,
    };
    Some(parse(parser).and_then(|root| parser.parse_compound_expr(root, Vec::new())))
}

fn absent_bound(parser: &mut Parser) -> Parsed {
    let span = parser.next_token().span;
    Ok(ast::Expr::Value(ast::Value::Placeholder(ABSENT.into()).with_span(span)))
}

fn is_lambda(word: &sqlparser::tokenizer::Word) -> bool {
    word.quote_style.is_none() && word.value.eq_ignore_ascii_case("lambda")
}

/// The names of functions that take `x -> ..` for a lambda; elsewhere it looks into JSON.
pub(super) fn takes_lambda(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let name = name.strip_prefix("list_").or_else(|| name.strip_prefix("array_")).unwrap_or(&name);
    matches!(name, "transform" | "apply" | "filter" | "reduce")
}

fn list(parser: &mut Parser) -> Parsed {
    let span = parser.peek_token_ref().span;
    parser.expect_token(&Token::LBracket)?;
    let mut elem = Vec::new();
    while !parser.consume_token(&Token::RBracket) {
        elem.push(parser.parse_expr()?);
        if elem.len() == 1 && parser.parse_keyword(Keyword::FOR) {
            let result = elem.swap_remove(0);
            return comprehension(parser, result, span);
        }
        if !parser.consume_token(&Token::Comma) {
            parser.expect_token(&Token::RBracket)?;
            break;
        }
    }
    Ok(ast::Expr::Array(ast::Array { elem, named: false }))
}

/// What follows FOR: `x, i IN list IF condition]`.
fn comprehension(parser: &mut Parser, result: ast::Expr, span: sqlparser::tokenizer::Span) -> Parsed {
    let params = parser.parse_comma_separated(Parser::parse_identifier)?;
    parser.expect_keyword_is(Keyword::IN)?;
    let list = parser.parse_expr()?;
    let condition = parser.parse_keyword(Keyword::IF).then(|| parser.parse_expr()).transpose()?;
    parser.expect_token(&Token::RBracket)?;
    let result = lambda_of(params.clone(), result);
    let condition = condition.map(|condition| lambda_of(params, condition));
    let args = [list, result].into_iter().chain(condition).collect();
    Ok(super::friendly::plain_call(COMPREHENSION, span, args))
}

fn lambda_of(params: Vec<ast::Ident>, body: ast::Expr) -> ast::Expr {
    let params = params.into_iter().map(|name| ast::LambdaFunctionParameter { name, data_type: None });
    ast::Expr::Lambda(ast::LambdaFunction {
        params: ast::OneOrManyWithParens::Many(params.collect()),
        body: Box::new(body),
        syntax: ast::LambdaSyntax::LambdaKeyword,
    })
}

/// `lambda x, y: body`
fn lambda(parser: &mut Parser) -> Parsed {
    parser.advance_token();
    let params = parser.parse_comma_separated(Parser::parse_identifier)?;
    parser.expect_token(&Token::Colon)?;
    Ok(lambda_of(params, parser.parse_expr()?))
}

/// `{'a': 1, b: 2}`
fn structure(parser: &mut Parser) -> Parsed {
    parser.expect_token(&Token::LBrace)?;
    let mut fields = Vec::new();
    while !parser.consume_token(&Token::RBrace) {
        let key = parser.parse_identifier()?;
        parser.expect_token(&Token::Colon)?;
        fields.push(ast::DictionaryField { key, value: Box::new(parser.parse_expr()?) });
        if !parser.consume_token(&Token::Comma) {
            parser.expect_token(&Token::RBrace)?;
            break;
        }
    }
    Ok(ast::Expr::Dictionary(fields))
}

/// `MAP {key: value}`
fn map(parser: &mut Parser) -> Parsed {
    parser.advance_token();
    parser.expect_token(&Token::LBrace)?;
    let mut entries = Vec::new();
    while !parser.consume_token(&Token::RBrace) {
        let key = Box::new(parser.parse_expr()?);
        parser.expect_token(&Token::Colon)?;
        entries.push(ast::MapEntry { key, value: Box::new(parser.parse_expr()?) });
        if !parser.consume_token(&Token::Comma) {
            parser.expect_token(&Token::RBrace)?;
            break;
        }
    }
    Ok(ast::Expr::Map(ast::Map { entries }))
}

fn named(name: &str, arguments: Vec<Expr>, named: Vec<(Ident, Expr)>, pos: Pos) -> Expr {
    let Expr { kind: ExprKind::Function(made), pos } = call(name, arguments, pos) else {
        return call(name, Vec::new(), pos);
    };
    Expr { kind: ExprKind::Function(FunctionCall { named, ..made }), pos }
}

fn lambda_node(params: Vec<Ident>, body: Expr) -> Expr {
    let pos = params.first().map_or(body.pos, |param| param.pos);
    Expr { kind: ExprKind::Lambda { params, body: Box::new(body) }, pos }
}

impl Context<'_, '_> {
    /// A value written with brackets or braces, or a lambda; anything else is given back.
    pub(super) fn nested_value(
        &self,
        expr: ast::Expr,
        pos: Pos,
    ) -> Result<std::result::Result<Expr, ast::Expr>> {
        Ok(Ok(match expr {
            ast::Expr::Array(array) => call("list_value", self.exprs(array.elem)?, pos),
            ast::Expr::Dictionary(fields) => {
                let field =
                    |field: ast::DictionaryField| Ok((self.ident(field.key), self.expr(*field.value)?));
                let fields = fields.into_iter().map(field).collect::<Result<Vec<_>>>()?;
                named("struct_pack", Vec::new(), fields, pos)
            }
            ast::Expr::Map(map) => {
                let (keys, values): (Vec<_>, Vec<_>) =
                    map.entries.into_iter().map(|entry| (*entry.key, *entry.value)).unzip();
                let keys = call("list_value", self.exprs(keys)?, pos);
                call("map", vec![keys, call("list_value", self.exprs(values)?, pos)], pos)
            }
            ast::Expr::Lambda(lambda) => {
                let params = match lambda.params {
                    ast::OneOrManyWithParens::One(param) => vec![param],
                    ast::OneOrManyWithParens::Many(params) => params,
                };
                let params = params.into_iter().map(|param| self.ident(param.name)).collect();
                lambda_node(params, self.expr(*lambda.body)?)
            }
            ast::Expr::CompoundFieldAccess { root, access_chain } => {
                self.access_chain(*root, access_chain)?
            }
            other => return Ok(Err(other)),
        }))
    }

    /// `root.f(x).a[1][2:3]`: what stands in front of a point or bracket is the first argument.
    fn access_chain(&self, root: ast::Expr, chain: Vec<AccessExpr>) -> Result<Expr> {
        let start = start_of(&root);
        if chain.len() + self.depth.get() > DEPTH_MAX {
            return Err(super::convert::too_deep());
        }
        let mut value = self.expr(root)?;
        for access in chain {
            value = match access {
                AccessExpr::Dot(ast::Expr::Function(function)) => {
                    let mut made = self.function(function)?;
                    made.arguments.insert(0, value);
                    let pos = made.name.pos;
                    Expr { kind: ExprKind::Function(made), pos }
                }
                AccessExpr::Dot(ast::Expr::Identifier(name)) => field(value, self.ident(name)),
                AccessExpr::Dot(ast::Expr::CompoundIdentifier(names)) => {
                    names.into_iter().fold(value, |value, name| field(value, self.ident(name)))
                }
                AccessExpr::Dot(other) => {
                    let message = format!("{other} behind a point: a field or a function is expected");
                    return Err(self.at(Error::Syntax { message }, start));
                }
                AccessExpr::Subscript(subscript) => self.subscript(value, subscript)?,
            };
        }
        Ok(value)
    }

    fn subscript(&self, value: Expr, subscript: ast::Subscript) -> Result<Expr> {
        let pos = value.pos;
        match subscript {
            ast::Subscript::Index { index } => {
                if let Some(constants) = self.constants_of(&index) {
                    let message = "expected :, found ,".into();
                    return Err(self.at(Error::Syntax { message }, constants.first_comma()));
                }
                Ok(call(SUBSCRIPT, vec![value, self.expr(index)?], pos))
            }
            ast::Subscript::Slice { lower_bound, upper_bound, stride } => {
                // What is left out is an empty list, as NULL gives NULL.
                let bound = |bound: Option<ast::Expr>| match bound.filter(|bound| !is_absent(bound)) {
                    None => Ok(call("list_value", Vec::new(), pos)),
                    Some(bound) => self.expr(bound),
                };
                let mut arguments = vec![value, bound(lower_bound)?, bound(upper_bound)?];
                arguments.extend(stride.map(|stride| self.expr(stride)).transpose()?);
                Ok(call(SLICE, arguments, pos))
            }
        }
    }

    /// What a call written by this module stands for, or the call again.
    pub(super) fn comprehension_or_call(
        &self,
        function: ast::Function,
    ) -> Result<std::result::Result<Expr, ast::Function>> {
        match function.name.0.as_slice() {
            [ast::ObjectNamePart::Identifier(name)] if name.value == COMPREHENSION => {}
            [ast::ObjectNamePart::Identifier(name)]
                if name.quote_style.is_none()
                    && name.value.eq_ignore_ascii_case("array")
                    && matches!(function.args, ast::FunctionArguments::Subquery(_)) =>
            {
                return self.array_of_query(function).map(Ok);
            }
            _ => return Ok(Err(function)),
        }
        let pos = pos_of(ast::Spanned::span(&function.name).start);
        let mut parts = self.function(function)?.arguments.into_iter();
        let (Some(list), Some(result)) = (parts.next(), parts.next()) else {
            return Err(Error::internal("a comprehension without its parts"));
        };
        Ok(Ok(match parts.next() {
            None => call("list_transform", vec![list, result], pos),
            Some(condition) => filtered_comprehension(list, result, condition, pos),
        }))
    }

    /// `ARRAY(SELECT ..)`
    fn array_of_query(&self, function: ast::Function) -> Result<Expr> {
        let pos = pos_of(ast::Spanned::span(&function.name).start);
        let ast::FunctionArguments::Subquery(query) = function.args else {
            return Err(self.at(unsupported("ARRAY of this"), pos));
        };
        let from = TableRef::Subquery { query: self.query(*query)?, alias: None, lateral: false };
        let first = Expr { kind: ExprKind::Position(1), pos };
        let empty = call("list_value", Vec::new(), pos);
        let all = call("coalesce", vec![call("list", vec![first], pos), empty], pos);
        let items = vec![SelectItem::Expr { expr: all, alias: None }];
        let select = Select { items, ..super::query::select_star(vec![from], pos) };
        let query = Query::of(QueryBody::Select(Box::new(select)));
        Ok(Expr { kind: ExprKind::Subquery(Box::new(query)), pos })
    }
}

fn is_absent(expr: &ast::Expr) -> bool {
    matches!(expr, ast::Expr::Value(value) if matches!(&value.value, ast::Value::Placeholder(text) if text == ABSENT))
}

/// The field `name` of `value`.
pub(crate) fn field(value: Expr, name: Ident) -> Expr {
    let pos = name.pos;
    let text = Expr { kind: ExprKind::Literal(Literal::String(name.value)), pos };
    call("struct_extract", vec![value, text], pos)
}

/// Where the condition sees no position, elements that do not fulfil it are dropped first; else condition and result
/// are computed for all.
fn filtered_comprehension(list: Expr, result: Expr, condition: Expr, pos: Pos) -> Expr {
    let (ExprKind::Lambda { params, body: result }, ExprKind::Lambda { body: condition, .. }) =
        (&result.kind, &condition.kind)
    else {
        return call("list_transform", vec![list, result, condition], pos);
    };
    if params.len() == 1 {
        let kept = call("list_filter", vec![list, lambda_node(params.clone(), (**condition).clone())], pos);
        return call("list_transform", vec![kept, lambda_node(params.clone(), (**result).clone())], pos);
    }
    let ident = |name: &str| Ident { value: name.into(), pos };
    let pair = vec![(ident("filter"), (**condition).clone()), (ident("result"), (**result).clone())];
    let pairs = lambda_node(params.clone(), named("struct_pack", Vec::new(), pair, pos));
    let part = |name: &str| {
        let element = Expr { kind: ExprKind::Column(vec![ident("element")]), pos };
        lambda_node(vec![ident("element")], field(element, ident(name)))
    };
    let kept = call("list_filter", vec![call("list_transform", vec![list, pairs], pos), part("filter")], pos);
    call("list_transform", vec![kept, part("result")], pos)
}

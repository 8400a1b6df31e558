//! DuckDB's friendly expressions: `COLUMNS(..)`, `#1`, `x GLOB y`, `BETWEEN SYMMETRIC`, chains of calls.
//!
//! Where the crate's tree has no node of its own, these are calls with names that nobody can write (see
//! [`super::rewrite`]), which become nodes of our tree here.

use super::ast::{ColumnSelection, Columns, Expr, ExprKind, Ident, Literal, SelectItem};
use super::convert::{Context, pos_of};
use super::rewrite::{STAR_CALL, UNPACK_CALL};
use inlay_types::{Error, Result};
use sqlparser::ast::{self, FunctionArg, FunctionArgExpr};
use sqlparser::dialect::Precedence;
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Span, Token, Word};

type Parsed = std::result::Result<ast::Expr, ParserError>;

/// Binds tighter than `^`, looser than `::`: a sign belongs to the number behind it.
const PRECEDENCE_SIGN: u8 = 46;
const PRECEDENCE_LIKE: u8 = 19;
const PRECEDENCE_BETWEEN: u8 = 20;
const PRECEDENCE_STARTS_WITH: u8 = 21;

/// Expressions that begin in a way that the crate does not know.
pub(super) fn parse_prefix(parser: &mut Parser) -> Option<Parsed> {
    let [first, second] = parser.peek_tokens_ref::<2>();
    match (&first.token, &second.token) {
        // The crate tries to read a type first, which takes most of the time for a long list.
        (Token::Number(..) | Token::SingleQuotedString(_), _) => {
            Some(parser.parse_value().map(ast::Expr::Value))
        }
        // `TIMESTAMP_NS '...'`: a type that the crate knows by no keyword.
        (Token::Word(word), Token::SingleQuotedString(_))
            if word.keyword == Keyword::NoKeyword && word.quote_style.is_none() =>
        {
            Some(typed_text(parser))
        }
        (Token::Word(word), next) if is_plain_name(word, next) => {
            let ident =
                ast::Ident { value: word.value.clone(), quote_style: word.quote_style, span: first.span };
            parser.advance_token();
            Some(Ok(ast::Expr::Identifier(ident)))
        }
        (Token::Sharp, Token::Number(digits, _)) => {
            let value = ast::Value::Placeholder(format!("#{digits}")).with_span(first.span);
            parser.advance_token();
            parser.advance_token();
            Some(Ok(ast::Expr::Value(value)))
        }
        (Token::Minus, _) => Some(sign(parser, ast::UnaryOperator::Minus)),
        (Token::Plus, _) => Some(sign(parser, ast::UnaryOperator::Plus)),
        (Token::AtSign, _) => Some(sign(parser, ast::UnaryOperator::PGAbs)),
        (Token::Word(word), Token::LParen) if word.quote_style.is_none() && is_columns(&word.value) => {
            Some(columns_call(parser))
        }
        _ => None,
    }
}

/// Whether a word in front of `next` can only be a name.
fn is_plain_name(word: &Word, next: &Token) -> bool {
    (word.keyword == Keyword::NoKeyword || word.quote_style.is_some())
        && matches!(
            next,
            Token::Comma
                | Token::RParen
                | Token::EOF
                | Token::SemiColon
                | Token::Eq
                | Token::Neq
                | Token::Lt
                | Token::LtEq
                | Token::Gt
                | Token::GtEq
                | Token::Plus
                | Token::Minus
                | Token::Mul
                | Token::Div
                | Token::Period
                | Token::StringConcat
        )
}

fn typed_text(parser: &mut Parser) -> Parsed {
    let name = ast::ObjectName(vec![ast::ObjectNamePart::Identifier(parser.parse_identifier()?)]);
    Ok(ast::Expr::TypedString(ast::TypedString {
        data_type: ast::DataType::Custom(name, Vec::new()),
        value: parser.parse_value()?,
        uses_odbc_syntax: false,
    }))
}

fn sign(parser: &mut Parser, op: ast::UnaryOperator) -> Parsed {
    parser.advance_token();
    let expr = Box::new(parser.parse_subexpr(PRECEDENCE_SIGN)?);
    Ok(ast::Expr::UnaryOp { op, expr })
}

fn is_columns(name: &str) -> bool {
    name.eq_ignore_ascii_case("columns") || name == STAR_CALL || name == UNPACK_CALL
}

fn columns_call(parser: &mut Parser) -> Parsed {
    let name = parser.parse_identifier()?;
    parser.expect_token(&Token::LParen)?;
    let is_lambda =
        parser.peek_keyword(Keyword::LAMBDA) && parser.peek_nth_token_ref(2).token == Token::Colon;
    let args = if is_lambda || parser.peek_nth_token_ref(1).token == Token::Arrow {
        if is_lambda {
            parser.advance_token();
        }
        let parameter = parser.parse_identifier()?;
        parser.advance_token();
        vec![FunctionArg::Named {
            name: parameter,
            arg: FunctionArgExpr::Expr(parser.parse_expr()?),
            operator: ast::FunctionArgOperator::RightArrow,
        }]
    } else {
        let unnamed = |argument| FunctionArg::Unnamed(argument);
        match parser.parse_wildcard_expr()? {
            ast::Expr::Wildcard(star) => {
                let options = parser.parse_wildcard_additional_options(star.0)?;
                vec![unnamed(FunctionArgExpr::WildcardWithOptions(options))]
            }
            ast::Expr::QualifiedWildcard(table, star) => {
                let options = parser.parse_wildcard_additional_options(star.0)?;
                let table = unnamed(FunctionArgExpr::QualifiedWildcard(table));
                vec![table, unnamed(FunctionArgExpr::WildcardWithOptions(options))]
            }
            expr => vec![unnamed(FunctionArgExpr::Expr(expr))],
        }
    };
    parser.expect_token(&Token::RParen)?;
    Ok(call_of(name, args))
}

fn call_of(name: ast::Ident, args: Vec<FunctionArg>) -> ast::Expr {
    ast::Expr::Function(ast::Function {
        name: ast::ObjectName(vec![ast::ObjectNamePart::Identifier(name)]),
        uses_odbc_syntax: false,
        parameters: ast::FunctionArguments::None,
        args: ast::FunctionArguments::List(ast::FunctionArgumentList {
            duplicate_treatment: None,
            args,
            clauses: Vec::new(),
        }),
        filter: None,
        null_treatment: None,
        over: None,
        within_group: Vec::new(),
    })
}

pub(super) fn plain_call(name: &str, span: Span, args: Vec<ast::Expr>) -> ast::Expr {
    let args = args.into_iter().map(|arg| FunctionArg::Unnamed(FunctionArgExpr::Expr(arg)));
    call_of(ast::Ident::with_span(span, name), args.collect())
}

fn negated_if(negated: bool, expr: ast::Expr) -> ast::Expr {
    if negated { ast::Expr::UnaryOp { op: ast::UnaryOperator::Not, expr: Box::new(expr) } } else { expr }
}

/// Operators that the crate does not know.
pub(super) fn parse_infix(parser: &mut Parser, left: &ast::Expr) -> Option<Parsed> {
    let [first, second, third] = parser.peek_tokens_ref::<3>();
    let keyword = |token: &Token| match token {
        Token::Word(word) if word.quote_style.is_none() => word.keyword,
        _ => Keyword::NoKeyword,
    };
    let negated = keyword(&first.token) == Keyword::NOT;
    let (operator, behind) = if negated { (second, third) } else { (first, second) };
    let span = operator.span;
    match (&operator.token, keyword(&operator.token)) {
        (Token::Word(word), _) if !negated && word.value.eq_ignore_ascii_case("isnull") => {
            parser.advance_token();
            Some(Ok(ast::Expr::IsNull(Box::new(left.clone()))))
        }
        (Token::Overlap, _) if !negated => {
            Some(binary_call(parser, left.clone(), "&&", span, false, PRECEDENCE_STARTS_WITH))
        }
        (Token::Sharp, _) if !negated => {
            Some(binary_call(parser, left.clone(), "#", span, false, PRECEDENCE_STARTS_WITH))
        }
        (Token::CaretAt, _) if !negated => Some(starts_with(parser, left.clone())),
        (_, Keyword::GLOB) => Some(binary_call(parser, left.clone(), "~~~", span, negated, PRECEDENCE_LIKE)),
        (_, Keyword::IN) if behind.token != Token::LParen => {
            Some(in_list(parser, left.clone(), span, negated))
        }
        (_, Keyword::BETWEEN) if matches!(&behind.token, Token::Word(word) if word.value.eq_ignore_ascii_case("symmetric")) => {
            Some(between_symmetric(parser, left.clone(), span, negated))
        }
        _ => None,
    }
}

fn skip(parser: &mut Parser, tokens: usize) {
    (0..tokens).for_each(|_| parser.advance_token());
}

fn starts_with(parser: &mut Parser, left: ast::Expr) -> Parsed {
    parser.advance_token();
    let right = Box::new(parser.parse_subexpr(PRECEDENCE_STARTS_WITH)?);
    Ok(ast::Expr::BinaryOp { left: Box::new(left), op: ast::BinaryOperator::PGStartsWith, right })
}

fn binary_call(
    parser: &mut Parser,
    left: ast::Expr,
    name: &str,
    span: Span,
    negated: bool,
    precedence: u8,
) -> Parsed {
    skip(parser, 1 + usize::from(negated));
    let right = parser.parse_subexpr(precedence)?;
    Ok(negated_if(negated, plain_call(name, span, vec![left, right])))
}

/// `x IN list`, without parentheses.
fn in_list(parser: &mut Parser, left: ast::Expr, span: Span, negated: bool) -> Parsed {
    skip(parser, 1 + usize::from(negated));
    let list = parser.parse_subexpr(PRECEDENCE_BETWEEN)?;
    Ok(negated_if(negated, plain_call("contains", span, vec![list, left])))
}

/// `x BETWEEN SYMMETRIC a AND b` as a call, since `x` is computed once and compared with both.
fn between_symmetric(parser: &mut Parser, left: ast::Expr, span: Span, negated: bool) -> Parsed {
    skip(parser, 2 + usize::from(negated));
    let low = parser.parse_subexpr(parser_precedence(parser))?;
    parser.expect_keyword_is(Keyword::AND)?;
    let high = parser.parse_subexpr(parser_precedence(parser))?;
    Ok(negated_if(negated, plain_call("between_symmetric", span, vec![left, low, high])))
}

fn parser_precedence(_: &Parser) -> u8 {
    use sqlparser::dialect::Dialect;
    super::dialect::InlayDialect.prec_value(Precedence::Between)
}

impl Context<'_, '_> {
    /// The node for a call that stands for `COLUMNS`, or the call again.
    pub(super) fn columns_or_call(
        &self,
        function: ast::Function,
    ) -> Result<std::result::Result<ExprKind, ast::Function>> {
        let name = match function.name.0.as_slice() {
            [ast::ObjectNamePart::Identifier(name)]
                if name.quote_style.is_none() && is_columns(&name.value) =>
            {
                name.clone()
            }
            _ => return Ok(Err(function)),
        };
        let pos = pos_of(name.span.start);
        let wrong = || {
            let message = "COLUMNS takes *, a pattern, a list of names, or a condition on the name";
            self.at(Error::bind(message), pos)
        };
        let ast::FunctionArguments::List(list) = function.args else { return Err(wrong()) };
        let mut arguments = list.args.into_iter();
        let selection = match (arguments.next(), arguments.next()) {
            (Some(FunctionArg::Named { name, arg: FunctionArgExpr::Expr(body), .. }), None) => {
                let item = ast::SelectItem::Wildcard(ast::WildcardAdditionalOptions::default());
                ColumnSelection::Where {
                    star: Box::new(self.select_item(item)?),
                    parameter: self.ident(name),
                    condition: Box::new(self.expr(body)?),
                }
            }
            (Some(FunctionArg::Unnamed(FunctionArgExpr::WildcardWithOptions(options))), None) => {
                ColumnSelection::Star(Box::new(self.select_item(ast::SelectItem::Wildcard(options))?))
            }
            (
                Some(FunctionArg::Unnamed(FunctionArgExpr::QualifiedWildcard(table))),
                Some(FunctionArg::Unnamed(FunctionArgExpr::WildcardWithOptions(options))),
            ) => {
                let table = ast::SelectItemQualifiedWildcardKind::ObjectName(table);
                let item = ast::SelectItem::QualifiedWildcard(table, options);
                ColumnSelection::Star(Box::new(self.select_item(item)?))
            }
            (Some(FunctionArg::Unnamed(FunctionArgExpr::Expr(ast::Expr::Array(list)))), None) => {
                let text = |expr: Expr| match expr.kind {
                    ExprKind::Literal(Literal::String(value)) => Ok(Ident { value, pos: expr.pos }),
                    _ => Err(wrong()),
                };
                let names = self.exprs(list.elem)?.into_iter().map(text).collect::<Result<_>>()?;
                ColumnSelection::Names(names)
            }
            (Some(FunctionArg::Unnamed(FunctionArgExpr::Expr(pattern))), None) => {
                match self.expr(pattern)?.kind {
                    ExprKind::Literal(Literal::String(pattern)) => ColumnSelection::Pattern(pattern),
                    _ => return Err(wrong()),
                }
            }
            _ => return Err(wrong()),
        };
        let columns =
            Columns { selection, unpacked: name.value == UNPACK_CALL, bare: name.value == STAR_CALL };
        Ok(Ok(ExprKind::Columns(Box::new(columns))))
    }

    /// `* LIKE 'pattern'`: a condition that stands on a star selects columns by their names.
    pub(super) fn star_condition(&self, mut expr: Expr) -> Expr {
        let pos = expr.pos;
        let parameter = Ident { value: "column_name".into(), pos };
        let Some(star) = take_bare_star(&mut expr, &parameter) else { return expr };
        let condition = Box::new(expr);
        let selection = ColumnSelection::Where { star: Box::new(star), parameter, condition };
        let columns = Columns { selection, unpacked: false, bare: false };
        Expr { kind: ExprKind::Columns(Box::new(columns)), pos }
    }
}

/// Puts `parameter` in the place of the star that the leftmost operand of a condition is.
fn take_bare_star(expr: &mut Expr, parameter: &Ident) -> Option<SelectItem> {
    match &mut expr.kind {
        ExprKind::Columns(columns) if columns.bare => {
            let ColumnSelection::Star(star) = &mut columns.selection else { return None };
            let star = (**star).clone();
            expr.kind = ExprKind::Column(vec![parameter.clone()]);
            Some(star)
        }
        ExprKind::Like { expr, .. } | ExprKind::Not(expr) => take_bare_star(expr, parameter),
        ExprKind::Binary { left, .. } => take_bare_star(left, parameter),
        ExprKind::Function(call) => call.arguments.first_mut().and_then(|arg| take_bare_star(arg, parameter)),
        _ => None,
    }
}

//! The grammar switches of `sqlparser` that make up Inlay's dialect: DuckDB's, with PostgreSQL's operator
//! precedence where the crate's default differs.

use sqlparser::ast;
use sqlparser::dialect::{Dialect, DuckDbDialect, Precedence};
use sqlparser::keywords::{self, Keyword};
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;
use std::any::TypeId;

/// Binds tighter than `*`, looser than `::`.
const PRECEDENCE_POWER: u8 = 45;

/// Stands for the percent sign behind a number: the crate has no such operator, and Inlay none with this sign.
pub(super) const PERCENT: ast::UnaryOperator = ast::UnaryOperator::DoubleAt;

/// Inlay's dialect.
#[derive(Debug)]
pub(super) struct InlayDialect;

impl Dialect for InlayDialect {
    // What the crate ties to DuckDB by type rather than by switch holds here too.
    fn dialect(&self) -> TypeId {
        TypeId::of::<DuckDbDialect>()
    }

    fn is_identifier_start(&self, ch: char) -> bool {
        ch.is_alphabetic() || ch == '_' || is_pictograph(ch)
    }

    fn is_identifier_part(&self, ch: char) -> bool {
        // Some pictures are several characters that a joiner or a selector ties together.
        ch.is_alphanumeric()
            || ch == '$'
            || ch == '_'
            || is_pictograph(ch)
            || matches!(ch, '\u{200D}' | '\u{FE0F}')
    }

    fn is_delimited_identifier_start(&self, ch: char) -> bool {
        ch == '"'
    }

    fn identifier_quote_style(&self, _identifier: &str) -> Option<char> {
        Some('"')
    }

    // The crate knows E'...' behind PostgreSQL's dialect only.
    fn parse_prefix(&self, parser: &mut Parser) -> Option<Result<ast::Expr, ParserError>> {
        if let Some(parsed) = super::nested::parse_prefix(parser) {
            return Some(parsed);
        }
        match parser.peek_token_ref().token {
            Token::EscapedStringLiteral(_) => Some(parser.parse_value().map(ast::Expr::Value)),
            Token::Word(ref word) if word.quote_style.is_none() => {
                let keyword = word.keyword;
                let [_, second, third] = parser.peek_tokens_ref::<3>().map(|token| &token.token);
                match (keyword, second, third) {
                    (Keyword::GROUPING, Token::Word(sets), Token::LParen)
                        if sets.keyword == Keyword::SETS =>
                    {
                        Some(parse_sets(parser, 2).map(ast::Expr::GroupingSets))
                    }
                    (Keyword::CUBE, Token::LParen, _) => Some(parse_sets(parser, 1).map(ast::Expr::Cube)),
                    (Keyword::ROLLUP, Token::LParen, _) => Some(parse_sets(parser, 1).map(ast::Expr::Rollup)),
                    _ => super::friendly::parse_prefix(parser),
                }
            }
            // The crate knows a subquery by the SELECT or WITH behind its parenthesis.
            Token::LParen if begins_values(parser) || begins_set_operation(parser) => {
                parser.advance_token();
                let query = parser.parse_query().and_then(|query| {
                    parser.expect_token(&Token::RParen)?;
                    Ok(ast::Expr::Subquery(query))
                });
                Some(query)
            }
            // `GROUP BY ()`: one group.
            Token::LParen if parser.peek_nth_token_ref(1).token == Token::RParen => {
                parser.advance_token();
                parser.advance_token();
                Some(Ok(ast::Expr::Tuple(Vec::new())))
            }
            _ => super::friendly::parse_prefix(parser),
        }
    }

    // `IN ((SELECT ...), ...)` is a list; the crate takes what follows a parenthesis and reads as a query for a subquery.
    fn parse_infix(
        &self,
        parser: &mut Parser,
        expr: &ast::Expr,
        _precedence: u8,
    ) -> Option<Result<ast::Expr, ParserError>> {
        if let Some(parsed) = super::friendly::parse_infix(parser, expr) {
            return Some(parsed);
        }
        if let Some(parsed) = parse_quantified_values(parser, expr) {
            return Some(parsed);
        }
        let is_word =
            |token: &Token, keyword: Keyword| matches!(token, Token::Word(word) if word.keyword == keyword);
        let [first, second, third, fourth] = parser.peek_tokens_ref::<4>().map(|token| &token.token);
        // `LIMIT 10%`: nothing that could be divided by follows.
        if *first == Token::Mod {
            let ends = matches!(second, Token::EOF | Token::SemiColon | Token::RParen)
                || [Keyword::OFFSET, Keyword::FETCH, Keyword::FOR].iter().any(|word| is_word(second, *word));
            return ends.then(|| {
                parser.next_token();
                Ok(ast::Expr::UnaryOp { op: PERCENT, expr: Box::new(expr.clone()) })
            });
        }
        let negated = is_word(first, Keyword::NOT);
        let [operator, open, inner] = if negated { [second, third, fourth] } else { [first, second, third] };
        if !is_word(operator, Keyword::IN) || *open != Token::LParen || *inner != Token::LParen {
            return None;
        }
        Some(parse_in(parser, expr.clone(), negated))
    }

    // The crate reads the options of an identity in one order only, and NO CYCLE as CYCLE.
    fn parse_column_option(
        &self,
        parser: &mut Parser,
    ) -> Result<Option<Result<Option<ast::ColumnOption>, ParserError>>, ParserError> {
        use Keyword as K;
        if parser.parse_one_of_keywords(&[K::AUTOINCREMENT, K::AUTO_INCREMENT]).is_some() {
            return Ok(Some(Ok(Some(ast::ColumnOption::Generated {
                generated_as: ast::GeneratedAs::ByDefault,
                sequence_options: Some(Vec::new()),
                generation_expr: None,
                generation_expr_mode: None,
                generated_keyword: true,
            }))));
        }
        let always = parser.parse_keywords(&[K::GENERATED, K::ALWAYS, K::AS, K::IDENTITY]);
        if !always && !parser.parse_keywords(&[K::GENERATED, K::BY, K::DEFAULT, K::AS, K::IDENTITY]) {
            return Ok(None);
        }
        Ok(Some(identity_options(parser).map(|options| {
            Some(ast::ColumnOption::Generated {
                generated_as: if always { ast::GeneratedAs::Always } else { ast::GeneratedAs::ByDefault },
                sequence_options: Some(options),
                generation_expr: None,
                generation_expr_mode: None,
                generated_keyword: true,
            })
        })))
    }

    fn get_next_precedence(&self, parser: &Parser) -> Option<Result<u8, ParserError>> {
        match parser.peek_token_ref().token {
            Token::Caret => Some(Ok(PRECEDENCE_POWER)),
            // It separates, in slices, structs, maps and lambdas.
            Token::Colon => Some(Ok(self.prec_unknown())),
            Token::CustomBinaryOperator(ref operator) if operator == super::rewrite::ALIAS_OPERATOR => {
                Some(Ok(1))
            }
            Token::Word(ref word)
                if word.quote_style.is_none() && word.value.eq_ignore_ascii_case("isnull") =>
            {
                Some(Ok(self.prec_value(Precedence::Is)))
            }
            // All operators without a rank of their own have one, and go from left to right.
            Token::Pipe | Token::Ampersand | Token::Sharp | Token::HashArrow | Token::HashLongArrow => {
                Some(Ok(self.prec_value(Precedence::PgOther)))
            }
            Token::StringConcat | Token::ShiftLeft | Token::ShiftRight | Token::CaretAt => {
                Some(Ok(self.prec_value(Precedence::PgOther)))
            }
            _ => None,
        }
    }

    fn prec_value(&self, precedence: Precedence) -> u8 {
        match precedence {
            Precedence::Colon => self.prec_unknown(),
            other => DuckDbDialect {}.prec_value(other),
        }
    }

    // The word of ON CONFLICT is no alias of the last item of INSERT ... SELECT.
    fn is_column_alias(&self, keyword: &Keyword, _parser: &mut Parser) -> bool {
        match keyword {
            Keyword::ON => false,
            Keyword::CLUSTER | Keyword::EXPLAIN | Keyword::VIEW | Keyword::VALUES => true,
            // Of other systems.
            Keyword::TOP | Keyword::SORT | Keyword::DISTRIBUTE => true,
            other => !keywords::RESERVED_FOR_COLUMN_ALIAS.contains(other),
        }
    }

    fn is_table_alias(&self, keyword: &Keyword, _parser: &mut Parser) -> bool {
        use Keyword as K;
        let is_free = matches!(
            keyword,
            K::CLUSTER | K::CONNECT | K::EXPLAIN | K::PARTITION | K::SAMPLE | K::START | K::VIEW
        );
        is_free || !keywords::RESERVED_FOR_TABLE_ALIAS.contains(keyword)
    }

    fn supports_trailing_commas(&self) -> bool {
        true
    }

    fn supports_array_typedef_with_brackets(&self) -> bool {
        true
    }

    fn supports_parens_around_table_factor(&self) -> bool {
        true
    }

    fn supports_factorial_operator(&self) -> bool {
        true
    }

    fn supports_unicode_string_literal(&self) -> bool {
        true
    }

    fn supports_filter_during_aggregation(&self) -> bool {
        true
    }

    fn supports_window_clause_named_window_reference(&self) -> bool {
        true
    }

    fn supports_window_function_null_treatment_arg(&self) -> bool {
        true
    }

    fn supports_bitwise_shift_operators(&self) -> bool {
        true
    }

    fn supports_named_fn_args_with_assignment_operator(&self) -> bool {
        true
    }

    fn supports_named_fn_args_with_rarrow_operator(&self) -> bool {
        true
    }

    fn allow_extract_single_quotes(&self) -> bool {
        true
    }

    fn allow_extract_custom(&self) -> bool {
        true
    }

    fn supports_from_first_select(&self) -> bool {
        true
    }

    fn supports_order_by_all(&self) -> bool {
        true
    }

    fn supports_select_wildcard_exclude(&self) -> bool {
        true
    }

    fn supports_select_wildcard_replace(&self) -> bool {
        true
    }

    fn supports_select_wildcard_rename(&self) -> bool {
        true
    }

    fn supports_notnull_operator(&self) -> bool {
        true
    }

    fn supports_comma_separated_trim(&self) -> bool {
        true
    }

    fn supports_numeric_literal_underscores(&self) -> bool {
        true
    }

    fn supports_string_escape_constant(&self) -> bool {
        true
    }

    fn supports_nested_comments(&self) -> bool {
        true
    }

    fn supports_values_as_table_factor(&self) -> bool {
        true
    }

    fn supports_left_associative_joins_without_parens(&self) -> bool {
        true
    }

    fn supports_alter_column_type_using(&self) -> bool {
        true
    }

    fn supports_in_empty_list(&self) -> bool {
        false
    }

    fn supports_string_literal_concatenation_with_newline(&self) -> bool {
        true
    }

    fn supports_create_index_with_clause(&self) -> bool {
        true
    }

    fn supports_subquery_as_function_arg(&self) -> bool {
        true
    }
}

fn parse_in(parser: &mut Parser, expr: ast::Expr, negated: bool) -> Result<ast::Expr, ParserError> {
    let _ = parser.parse_keyword(Keyword::NOT);
    parser.expect_keyword_is(Keyword::IN)?;
    parser.expect_token(&Token::LParen)?;
    let subquery = parser.maybe_parse(|parser| {
        let query = parser.parse_query()?;
        parser.expect_token(&Token::RParen)?;
        Ok(query)
    })?;
    let expr = Box::new(expr);
    if let Some(subquery) = subquery {
        return Ok(ast::Expr::InSubquery { expr, subquery, negated });
    }
    let list = parser.parse_comma_separated(Parser::parse_expr)?;
    parser.expect_token(&Token::RParen)?;
    Ok(ast::Expr::InList { expr, list, negated })
}

/// Pictures are parts of names; quotation marks, dashes and signs of mathematics from a word processor are mistakes.
fn is_pictograph(ch: char) -> bool {
    matches!(ch, '\u{2600}'..='\u{27BF}' | '\u{2B00}'..='\u{2BFF}' | '\u{1F000}'..='\u{1FAFF}')
}

/// `= ANY (VALUES ...)`, which the crate takes for the call of a function.
fn parse_quantified_values(parser: &mut Parser, left: &ast::Expr) -> Option<Result<ast::Expr, ParserError>> {
    use ast::BinaryOperator as Op;
    let [first, second, third, fourth] = parser.peek_tokens_ref::<4>().map(|token| &token.token);
    let comparisons = [
        (Token::Eq, Op::Eq),
        (Token::DoubleEq, Op::Eq),
        (Token::Neq, Op::NotEq),
        (Token::Lt, Op::Lt),
        (Token::LtEq, Op::LtEq),
        (Token::Gt, Op::Gt),
        (Token::GtEq, Op::GtEq),
    ];
    let (_, compare_op) = comparisons.into_iter().find(|(token, _)| token == first)?;
    let word = |token: &Token| {
        let Token::Word(word) = token else { return Keyword::NoKeyword };
        if word.quote_style.is_none() { word.keyword } else { Keyword::NoKeyword }
    };
    let quantifier = word(second);
    let is_quantified = matches!(quantifier, Keyword::ANY | Keyword::SOME | Keyword::ALL);
    if !is_quantified || *third != Token::LParen || word(fourth) != Keyword::VALUES {
        return None;
    }
    (0..3).for_each(|_| parser.advance_token());
    let left = Box::new(left.clone());
    let query = parser.parse_query().and_then(|query| {
        parser.expect_token(&Token::RParen)?;
        Ok(Box::new(ast::Expr::Subquery(query)))
    });
    Some(query.map(|right| {
        if quantifier == Keyword::ALL {
            ast::Expr::AllOp { left, compare_op, right }
        } else {
            ast::Expr::AnyOp { left, compare_op, right, is_some: quantifier == Keyword::SOME }
        }
    }))
}

/// `(VALUES (1))`
fn begins_values(parser: &Parser) -> bool {
    let [_, second, third] = parser.peek_tokens_ref::<3>().map(|token| &token.token);
    matches!(second, Token::Word(word) if word.keyword == Keyword::VALUES && word.quote_style.is_none())
        && *third == Token::LParen
}

/// `((SELECT 1) UNION SELECT 2)`
fn begins_set_operation(parser: &Parser) -> bool {
    let [_, second, third] = parser.peek_tokens_ref::<3>().map(|token| &token.token);
    let is_query = matches!(third, Token::Word(word) if matches!(word.keyword,
        Keyword::SELECT | Keyword::WITH | Keyword::FROM | Keyword::VALUES));
    if *second != Token::LParen || !is_query {
        return false;
    }
    let (mut depth, mut closed) = (0usize, false);
    for ahead in 0..LOOKED_AT_MAX {
        match parser.peek_nth_token_no_skip(ahead).token {
            Token::Whitespace(_) => {}
            Token::EOF => return false,
            token if closed => {
                return matches!(token, Token::Word(word) if matches!(word.keyword,
                    Keyword::UNION | Keyword::INTERSECT | Keyword::EXCEPT));
            }
            Token::LParen => depth += 1,
            Token::RParen => {
                depth = depth.saturating_sub(1);
                closed = depth == 1;
            }
            _ => {}
        }
    }
    false
}

/// Tokens of a query in parentheses within parentheses that are looked at for what follows it.
const LOOKED_AT_MAX: usize = 10_000;

/// Whether an element is a list in parentheses: no query, and nothing follows the closing one.
fn begins_with_list(parser: &Parser) -> bool {
    let [first, second] = parser.peek_tokens_ref::<2>().map(|token| &token.token);
    let is_query = matches!(second, Token::Word(word) if matches!(word.keyword,
        Keyword::SELECT | Keyword::WITH | Keyword::FROM | Keyword::VALUES));
    if *first != Token::LParen || is_query {
        return false;
    }
    let (mut depth, mut closed) = (0usize, false);
    for ahead in 0.. {
        match parser.peek_nth_token_no_skip(ahead).token {
            Token::Whitespace(_) => {}
            Token::EOF => return false,
            token if closed => return matches!(token, Token::Comma | Token::RParen),
            Token::LParen => depth += 1,
            Token::RParen => {
                depth -= 1;
                closed = depth == 0;
            }
            _ => {}
        }
    }
    false
}

/// The elements of GROUPING SETS, CUBE or ROLLUP, behind so many words.
fn parse_sets(parser: &mut Parser, words: usize) -> Result<Vec<Vec<ast::Expr>>, ParserError> {
    (0..words).for_each(|_| parser.advance_token());
    parser.expect_token(&Token::LParen)?;
    let elements = parser.parse_comma_separated(|parser| {
        if !begins_with_list(parser) {
            return Ok(vec![parser.parse_expr()?]);
        }
        parser.advance_token();
        if parser.consume_token(&Token::RParen) {
            return Ok(Vec::new());
        }
        let exprs = parser.parse_comma_separated(Parser::parse_expr)?;
        parser.expect_token(&Token::RParen)?;
        Ok(exprs)
    })?;
    parser.expect_token(&Token::RParen)?;
    Ok(elements)
}

fn identity_options(parser: &mut Parser) -> Result<Vec<ast::SequenceOptions>, ParserError> {
    use ast::SequenceOptions as O;
    let mut options = Vec::new();
    if !parser.consume_token(&Token::LParen) {
        return Ok(options);
    }
    while !parser.consume_token(&Token::RParen) {
        options.push(if parser.parse_keyword(Keyword::START) {
            let with = parser.parse_keyword(Keyword::WITH);
            O::StartWith(parser.parse_number()?, with)
        } else if parser.parse_keyword(Keyword::INCREMENT) {
            let by = parser.parse_keyword(Keyword::BY);
            O::IncrementBy(parser.parse_number()?, by)
        } else if parser.parse_keyword(Keyword::MINVALUE) {
            O::MinValue(Some(parser.parse_number()?))
        } else if parser.parse_keyword(Keyword::MAXVALUE) {
            O::MaxValue(Some(parser.parse_number()?))
        } else if parser.parse_keywords(&[Keyword::NO, Keyword::MINVALUE]) {
            O::MinValue(None)
        } else if parser.parse_keywords(&[Keyword::NO, Keyword::MAXVALUE]) {
            O::MaxValue(None)
        } else if parser.parse_keywords(&[Keyword::NO, Keyword::CYCLE]) {
            O::Cycle(false)
        } else if parser.parse_keyword(Keyword::CYCLE) {
            O::Cycle(true)
        } else if parser.parse_keyword(Keyword::CACHE) {
            O::Cache(parser.parse_number()?)
        } else {
            return parser.expected_ref("an option of the identity column", parser.peek_token_ref());
        });
    }
    Ok(options)
}

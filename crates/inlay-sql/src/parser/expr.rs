//! Expressions: `sqlparser`'s to ours.
//!
//! Special forms that are functions in disguise (SUBSTRING FROM FOR, TRIM, POSITION IN, CEIL ...) become
//! calls here, so that the binder sees one kind of call.

use super::ast::{
    BinaryOp, Constants, Expr, ExprKind, FunctionCall, Ident, Literal, OrderItem, Pos, UnaryOp,
};
use super::convert::{Context, pos_of, unsupported};
use inlay_types::error::shortened;
use inlay_types::{Error, LogicalType, Result};
use sqlparser::ast::{self, BinaryOperator, UnaryOperator};
use sqlparser::tokenizer::Token;
use std::sync::Arc;

/// What is wrong with `f(x IGNORE NULLS)` alone.
const NULLS_NEED_OVER: &str = "IGNORE NULLS and RESPECT NULLS need OVER: f(x IGNORE NULLS) OVER (ORDER BY y)";

impl Context<'_, '_> {
    pub(super) fn expr(&self, expr: ast::Expr) -> Result<Expr> {
        self.deeper(|| self.expr_inner(expr))
    }

    fn boxed(&self, expr: ast::Expr) -> Result<Box<Expr>> {
        self.expr(expr).map(Box::new)
    }

    pub(super) fn exprs(&self, exprs: Vec<ast::Expr>) -> Result<Vec<Expr>> {
        exprs.into_iter().map(|expr| self.list_item(expr)).collect()
    }

    /// An item of a list, where many literals may stand for themselves.
    fn list_item(&self, expr: ast::Expr) -> Result<Expr> {
        match self.constants_of(&expr) {
            Some(constants) => {
                Ok(Expr { pos: start_of(&expr), kind: ExprKind::Constants(Arc::clone(constants)) })
            }
            None => self.expr(expr),
        }
    }

    /// The literals that a placeholder stands for.
    pub(super) fn constants_of(&self, expr: &ast::Expr) -> Option<&Arc<Constants>> {
        match expr {
            ast::Expr::Value(ast::ValueWithSpan { value: ast::Value::Placeholder(text), .. }) => {
                self.constants.get(super::constants::number_of(text)?)
            }
            _ => None,
        }
    }

    fn expr_inner(&self, expr: ast::Expr) -> Result<Expr> {
        use ast::Expr as E;
        let pos = start_of(&expr);
        if let Some(constants) = self.constants_of(&expr) {
            // In parentheses that are no list.
            return Ok(Expr { kind: ExprKind::Row(constants.exprs().collect()), pos });
        }
        let kind = match expr {
            E::Nested(inner) => return self.expr_inner(*inner),
            E::BinaryOp { left, op: op @ (BinaryOperator::And | BinaryOperator::Or), right } => {
                let chain = self.chain(*left, *right, &op)?;
                if op == BinaryOperator::And { ExprKind::And(chain) } else { ExprKind::Or(chain) }
            }
            E::BinaryOp { left, op, right } => return self.binary(*left, op, *right, pos),
            E::UnaryOp { op, expr } => return self.unary(op, *expr, pos),
            E::Interval(interval) => return self.interval(interval, pos),
            E::Identifier(ident) if is_default(&ident) => ExprKind::Default,
            E::Identifier(ident) => ExprKind::Column(vec![self.ident(ident)]),
            E::CompoundIdentifier(idents) => ExprKind::Column(self.idents(idents)),
            E::Value(value) => self.value(value)?,
            E::TypedString(typed) => {
                // `b'101'`
                let is_bits = matches!(&typed.data_type, ast::DataType::Custom(name, _)
                    if name.to_string().eq_ignore_ascii_case("b"));
                let data_type = if is_bits { LogicalType::Bit } else { self.data_type(&typed.data_type)? };
                let shown = typed.value.to_string();
                let Some(text) = typed.value.into_string() else {
                    let message =
                        format!("{data_type} stands in front of a text; write {shown}::{data_type}");
                    return Err(self.at(Error::Syntax { message }, pos));
                };
                ExprKind::Literal(Literal::Typed(data_type, text))
            }
            E::IsDistinctFrom(left, right) => self.binary_kind(BinaryOp::DistinctFrom, *left, *right)?,
            E::IsNotDistinctFrom(left, right) => {
                self.binary_kind(BinaryOp::NotDistinctFrom, *left, *right)?
            }
            E::IsNull(expr) | E::IsUnknown(expr) => self.is_null(*expr, false)?,
            E::IsNotNull(expr) | E::IsNotUnknown(expr) => self.is_null(*expr, true)?,
            E::IsTrue(expr) => self.is_bool(*expr, true, false)?,
            E::IsNotTrue(expr) => self.is_bool(*expr, true, true)?,
            E::IsFalse(expr) => self.is_bool(*expr, false, false)?,
            E::IsNotFalse(expr) => self.is_bool(*expr, false, true)?,
            E::InList { expr, list, negated } => {
                ExprKind::InList { expr: self.boxed(*expr)?, list: self.exprs(list)?, negated }
            }
            E::InSubquery { expr, subquery, negated } => {
                ExprKind::InSubquery { expr: self.boxed(*expr)?, query: self.query(*subquery)?, negated }
            }
            E::Between { expr, negated, low, high } => ExprKind::Between {
                expr: self.boxed(*expr)?,
                low: self.boxed(*low)?,
                high: self.boxed(*high)?,
                negated,
            },
            E::Like { negated, any: false, expr, pattern, escape_char } => {
                self.like(*expr, *pattern, escape_char, negated, false)?
            }
            E::ILike { negated, any: false, expr, pattern, escape_char } => {
                self.like(*expr, *pattern, escape_char, negated, true)?
            }
            E::SimilarTo { negated, expr, pattern, escape_char: None } => {
                let matched = call("regexp_full_match", vec![self.expr(*expr)?, self.expr(*pattern)?], pos);
                if negated { ExprKind::Not(Box::new(matched)) } else { return Ok(matched) }
            }
            E::AnyOp { left, compare_op, right, .. } => self.quantified(*left, compare_op, *right, false)?,
            E::AllOp { left, compare_op, right } => self.quantified(*left, compare_op, *right, true)?,
            E::Exists { subquery, negated } => ExprKind::Exists { query: self.query(*subquery)?, negated },
            E::Subquery(query) => ExprKind::Subquery(self.query(*query)?),
            E::Tuple(items) => ExprKind::Row(self.exprs(items)?),
            other => return self.form(other, pos),
        };
        Ok(Expr { kind, pos })
    }

    /// Expressions that begin with a word of their own, and calls.
    fn form(&self, expr: ast::Expr, pos: Pos) -> Result<Expr> {
        use ast::Expr as E;
        let kind = match expr {
            E::Cast { kind, expr, data_type, format: None } => {
                match self.catalog_cast(&expr, &data_type, pos)? {
                    Some(looked_up) => return Ok(looked_up),
                    None => ExprKind::Cast {
                        expr: self.boxed(*expr)?,
                        data_type: self.data_type(&data_type).map_err(|error| self.at(error, pos))?,
                        try_cast: matches!(kind, ast::CastKind::TryCast | ast::CastKind::SafeCast),
                    },
                }
            }
            E::Case { operand, conditions, else_result, .. } => {
                let branches = conditions
                    .into_iter()
                    .map(|when| Ok((self.expr(when.condition)?, self.expr(when.result)?)));
                ExprKind::Case {
                    branches: branches.collect::<Result<_>>()?,
                    operand: operand.map(|expr| self.boxed(*expr)).transpose()?,
                    otherwise: else_result.map(|expr| self.boxed(*expr)).transpose()?,
                }
            }
            E::Extract { field, expr, .. } => {
                let field = Ident { value: field.to_string().trim_matches('\'').to_ascii_lowercase(), pos };
                ExprKind::Extract { field, expr: self.boxed(*expr)? }
            }
            E::Function(function) => match self.columns_or_call(function)? {
                Ok(columns) => columns,
                Err(function) => match self.comprehension_or_call(function)? {
                    Ok(value) => return Ok(value),
                    Err(function) => self.call(function)?,
                },
            },
            E::Collate { expr, collation } => {
                ExprKind::Collate { expr: self.boxed(*expr)?, collation: collation.to_string() }
            }
            E::AtTimeZone { timestamp, time_zone } => {
                return Ok(call("timezone", vec![self.expr(*time_zone)?, self.expr(*timestamp)?], pos));
            }
            other => {
                return match self.nested_value(other, pos)? {
                    Ok(value) => Ok(value),
                    Err(other) => self.disguised_call(other, pos),
                };
            }
        };
        Ok(Expr { kind, pos })
    }

    fn is_null(&self, expr: ast::Expr, negated: bool) -> Result<ExprKind> {
        Ok(ExprKind::IsNull { expr: self.boxed(expr)?, negated })
    }

    fn is_bool(&self, expr: ast::Expr, value: bool, negated: bool) -> Result<ExprKind> {
        Ok(ExprKind::IsBool { expr: self.boxed(expr)?, value, negated })
    }

    /// Special syntax that stands for a plain function call.
    fn disguised_call(&self, expr: ast::Expr, pos: Pos) -> Result<Expr> {
        let (name, arguments) = match expr {
            ast::Expr::Ceil {
                expr,
                field: ast::CeilFloorKind::DateTimeField(ast::DateTimeField::NoDateTime),
            } => ("ceil", vec![*expr]),
            ast::Expr::Floor {
                expr,
                field: ast::CeilFloorKind::DateTimeField(ast::DateTimeField::NoDateTime),
            } => ("floor", vec![*expr]),
            ast::Expr::Position { expr, r#in } => ("strpos", vec![*r#in, *expr]),
            ast::Expr::Substring { expr, substring_from, substring_for, .. } => {
                let one = ast::Expr::value(ast::Value::Number("1".into(), false));
                let from = substring_from.map_or(one, |from| *from);
                ("substring", [*expr, from].into_iter().chain(substring_for.map(|length| *length)).collect())
            }
            ast::Expr::Trim { expr, trim_where, trim_what, trim_characters } => {
                let name = match trim_where {
                    None | Some(ast::TrimWhereField::Both) => "trim",
                    Some(ast::TrimWhereField::Leading) => "ltrim",
                    Some(ast::TrimWhereField::Trailing) => "rtrim",
                };
                let what =
                    trim_what.map(|what| *what).into_iter().chain(trim_characters.into_iter().flatten());
                (name, std::iter::once(*expr).chain(what).collect())
            }
            ast::Expr::Overlay { expr, overlay_what, overlay_from, overlay_for } => {
                let parts = [*expr, *overlay_what, *overlay_from];
                ("overlay", parts.into_iter().chain(overlay_for.map(|count| *count)).collect())
            }
            ast::Expr::GroupingSets(_) | ast::Expr::Cube(_) | ast::Expr::Rollup(_) => {
                return Err(self.at(unsupported("GROUPING SETS, CUBE or ROLLUP"), pos));
            }
            ast::Expr::Wildcard(_) | ast::Expr::QualifiedWildcard(..) => {
                return Err(
                    self.at(Error::bind("* is only possible directly behind SELECT and in count(*)"), pos)
                );
            }
            other => return Err(self.at(unsupported(format!("the expression {other}")), pos)),
        };
        Ok(call(name, self.exprs(arguments)?, pos))
    }

    /// The operands of a chain of AND or OR; its left spine is walked by a loop, because it may be long.
    fn chain(&self, left: ast::Expr, right: ast::Expr, chained: &BinaryOperator) -> Result<Vec<Expr>> {
        let mut operands = vec![right];
        let mut spine = left;
        loop {
            match spine {
                ast::Expr::BinaryOp { left, op, right } if op == *chained => {
                    operands.push(*right);
                    spine = *left;
                }
                other => {
                    operands.push(other);
                    break;
                }
            }
        }
        operands.into_iter().rev().map(|operand| self.expr(operand)).collect()
    }

    fn binary_kind(&self, op: BinaryOp, left: ast::Expr, right: ast::Expr) -> Result<ExprKind> {
        Ok(ExprKind::Binary { op, left: self.boxed(left)?, right: self.boxed(right)? })
    }

    fn binary(&self, left: ast::Expr, op: BinaryOperator, right: ast::Expr, pos: Pos) -> Result<Expr> {
        let text = op.to_string();
        let pos = self.operator_pos(start_of(&right), |token| is_token(token, &text)).unwrap_or(pos);
        let (negated, insensitive) = match op {
            BinaryOperator::PGLikeMatch => (false, false),
            BinaryOperator::PGNotLikeMatch => (true, false),
            BinaryOperator::PGILikeMatch => (false, true),
            BinaryOperator::PGNotILikeMatch => (true, true),
            BinaryOperator::Arrow | BinaryOperator::LongArrow => {
                let name = if op == BinaryOperator::Arrow { "->" } else { "->>" };
                return Ok(call(name, vec![self.expr(left)?, self.expr(right)?], pos));
            }
            BinaryOperator::HashArrow | BinaryOperator::HashLongArrow => {
                return Ok(call(&text, vec![self.expr(left)?, self.expr(right)?], pos));
            }
            BinaryOperator::AtArrow
            | BinaryOperator::ArrowAt
            | BinaryOperator::AtQuestion
            | BinaryOperator::AtAt
            | BinaryOperator::Spaceship => {
                return Ok(call(&text, vec![self.expr(left)?, self.expr(right)?], pos));
            }
            BinaryOperator::PGRegexIMatch | BinaryOperator::PGRegexNotIMatch => {
                let option = Expr { kind: ExprKind::Literal(Literal::String("i".into())), pos };
                let matched = call("regexp_matches", vec![self.expr(left)?, self.expr(right)?, option], pos);
                if op == BinaryOperator::PGRegexIMatch {
                    return Ok(matched);
                }
                return Ok(Expr { kind: ExprKind::Not(Box::new(matched)), pos });
            }
            _ => {
                let Some(op) = binary_operator(&op) else {
                    return Err(self.at(unsupported(format!("the operator {op}")), pos));
                };
                return Ok(Expr { kind: self.binary_kind(op, left, right)?, pos });
            }
        };
        Ok(Expr { kind: self.like(left, right, None, negated, insensitive)?, pos })
    }

    fn unary(&self, op: UnaryOperator, operand: ast::Expr, inner_pos: Pos) -> Result<Expr> {
        let text = op.to_string();
        let pos = self.operator_pos(inner_pos, |token| is_token(token, &text)).unwrap_or(inner_pos);
        let kind = match op {
            UnaryOperator::Not => ExprKind::Not(self.boxed(operand)?),
            UnaryOperator::Plus => ExprKind::Unary { op: UnaryOp::Plus, expr: self.boxed(operand)? },
            UnaryOperator::BitwiseNot => ExprKind::Unary { op: UnaryOp::BitNot, expr: self.boxed(operand)? },
            UnaryOperator::PGAbs => return Ok(call("abs", vec![self.expr(operand)?], pos)),
            UnaryOperator::PGPostfixFactorial => {
                return Ok(call("factorial", vec![self.expr(operand)?], pos));
            }
            UnaryOperator::Minus => match self.expr(operand)? {
                // The smallest integers have no positive counterpart, so a sign belongs to the number.
                Expr { kind: ExprKind::Literal(Literal::Number(digits)), .. } if !digits.starts_with('-') => {
                    ExprKind::Literal(Literal::Number(format!("-{digits}")))
                }
                other => ExprKind::Unary { op: UnaryOp::Negate, expr: Box::new(other) },
            },
            other => return Err(self.at(unsupported(format!("the operator {other}")), pos)),
        };
        Ok(Expr { kind, pos })
    }

    fn like(
        &self,
        expr: ast::Expr,
        pattern: ast::Expr,
        escape: Option<Box<ast::Expr>>,
        negated: bool,
        case_insensitive: bool,
    ) -> Result<ExprKind> {
        Ok(ExprKind::Like {
            expr: self.boxed(expr)?,
            pattern: self.boxed(pattern)?,
            escape: escape.map(|escape| self.boxed(*escape)).transpose()?,
            negated,
            case_insensitive,
        })
    }

    fn quantified(
        &self,
        left: ast::Expr,
        op: BinaryOperator,
        right: ast::Expr,
        all: bool,
    ) -> Result<ExprKind> {
        let pos = start_of(&left);
        let op = binary_operator(&op).filter(|op| op.is_comparison()).ok_or_else(|| {
            self.at(Error::bind(format!("{op} does not go with ANY or ALL: use a comparison")), pos)
        })?;
        let expr = self.boxed(left)?;
        let mut right = right;
        while let ast::Expr::Nested(inner) = right {
            right = *inner;
        }
        match right {
            ast::Expr::Subquery(query) => {
                Ok(ExprKind::Quantified { expr, op, all, query: self.query(*query)? })
            }
            // `x = ANY (ARRAY[a, b])` is `x IN (a, b)`, as dumps of PostgreSQL write it, also in CHECK.
            ast::Expr::Array(array)
                if !array.elem.is_empty()
                    && matches!((op, all), (BinaryOp::Equal, false) | (BinaryOp::NotEqual, true)) =>
            {
                let list = self.exprs(array.elem)?;
                Ok(ExprKind::InList { expr, list, negated: all })
            }
            // `x = ANY (list)` looks among the list's elements.
            list => {
                let list = self.expr(list)?;
                let elements = call("unnest", vec![list], pos);
                let select = super::ast::Select {
                    items: vec![super::ast::SelectItem::Expr { expr: elements, alias: None }],
                    ..super::query::select_star(Vec::new(), pos)
                };
                let body = super::ast::QueryBody::Select(Box::new(select));
                let query = Box::new(super::ast::Query::of(body));
                Ok(ExprKind::Quantified { expr, op, all, query })
            }
        }
    }

    fn value(&self, value: ast::ValueWithSpan) -> Result<ExprKind> {
        let location = value.span.start;
        let literal = match value.value {
            ast::Value::Null => Literal::Null,
            ast::Value::Boolean(value) => Literal::Boolean(value),
            ast::Value::Number(digits, _) => Literal::Number(digits.replace('_', "")),
            ast::Value::HexStringLiteral(digits) => {
                let bytes = blob_from_hex(&digits).ok_or_else(|| {
                    let message =
                        format!("x'{}' is not an even number of hexadecimal digits", shortened(&digits));
                    self.at(Error::Syntax { message }, pos_of(location))
                })?;
                Literal::Blob(bytes)
            }
            ast::Value::Placeholder(text) if text.starts_with('#') => {
                return match text.trim_start_matches('#').parse() {
                    Ok(number) => Ok(ExprKind::Position(number)),
                    Err(_) => Err(self.at(Error::bind(format!("{text} is no position")), pos_of(location))),
                };
            }
            ast::Value::Placeholder(text) if text.starts_with(':') => {
                let message = format!("expected a value, found \"{text}\"");
                let hint = "a parameter is written :name or $name";
                return Err(self.at(Error::Syntax { message }.with_hint(hint), pos_of(location)));
            }
            ast::Value::Placeholder(text) => {
                let parameter = self.parameter(&text, location).map_err(|e| self.at(e, pos_of(location)))?;
                return Ok(ExprKind::Parameter(parameter));
            }
            ast::Value::SingleQuotedString(text)
            | ast::Value::EscapedStringLiteral(text)
            | ast::Value::NationalStringLiteral(text)
            | ast::Value::UnicodeStringLiteral(text) => Literal::String(text),
            ast::Value::DollarQuotedString(text) => Literal::String(text.value),
            other => return Err(self.at(unsupported(format!("the literal {other}")), pos_of(location))),
        };
        Ok(ExprKind::Literal(literal))
    }

    /// `INTERVAL '3' MONTH` and `INTERVAL 3 MONTH` become text that the interval type reads; any other
    /// amount becomes a call of `to_months(amount)`. Of a fraction of a unit above seconds only the whole part counts.
    fn interval(&self, interval: ast::Interval, pos: Pos) -> Result<Expr> {
        if interval.last_field.is_some() {
            return Err(self.at(unsupported("INTERVAL from one field TO another"), pos));
        }
        let unit = interval.leading_field.map(|field| field.to_string().to_ascii_lowercase());
        let amount = self.expr(*interval.value)?;
        let text = match (&amount.kind, &unit) {
            (ExprKind::Literal(Literal::String(text)), None) => text.clone(),
            (ExprKind::Literal(Literal::String(text) | Literal::Number(text)), Some(unit)) => {
                let text = text.trim();
                match text.parse::<f64>() {
                    Ok(number) if !keeps_fraction(unit) && text.contains(['.', 'e', 'E']) => {
                        format!("{:.0} {unit}", number.trunc())
                    }
                    _ => format!("{text} {unit}"),
                }
            }
            (_, Some(unit)) => {
                let plural = if unit.ends_with('s') { unit.clone() } else { format!("{unit}s") };
                let plural = match plural.as_str() {
                    "centurys" => "centuries".to_string(),
                    "millenniums" => "millennia".to_string(),
                    _ => plural,
                };
                let amount = if keeps_fraction(unit) {
                    cast(amount, LogicalType::Double, pos)
                } else {
                    let is_time = ["hour", "minute", "microsecond"].iter().any(|time| unit.starts_with(time));
                    let whole = call("trunc", vec![cast(amount, LogicalType::Double, pos)], pos);
                    cast(whole, if is_time { LogicalType::BigInt } else { LogicalType::Integer }, pos)
                };
                return Ok(call(&format!("to_{plural}"), vec![amount], pos));
            }
            (_, None) => return Ok(cast(amount, LogicalType::Interval, pos)),
        };
        Ok(Expr { kind: ExprKind::Literal(Literal::Typed(LogicalType::Interval, text)), pos })
    }

    /// A call; `name := value` arguments are kept apart, `name = value` is a comparison.
    pub(super) fn function(&self, function: ast::Function) -> Result<FunctionCall> {
        let mut name = self.object_name(&function.name)?;
        let pos = name.pos();
        let refuse = |feature: &str| Err(self.at(unsupported(feature), pos));
        if function.over.is_some() {
            return refuse("OVER in this place");
        }
        if function.null_treatment.is_some() {
            return Err(self.at(Error::Syntax { message: NULLS_NEED_OVER.into() }, pos));
        }
        let Some(last) = name.parts.pop() else { return refuse("a call without a name") };
        // `column.f()` is `f(column)`, but `main.f()` is a function of a schema.
        let receiver = std::mem::take(&mut name.parts);
        let receiver = if receiver.first().is_some_and(is_system_schema) || receiver.is_empty() {
            None
        } else {
            Some(Expr { kind: ExprKind::Column(receiver), pos })
        };
        let name = last;
        let mut call = FunctionCall {
            name,
            arguments: receiver.into_iter().collect(),
            named: Vec::new(),
            star: false,
            distinct: false,
            filter: function.filter.map(|filter| self.boxed(*filter)).transpose()?,
            order_by: Vec::new(),
        };
        match function.args {
            ast::FunctionArguments::None => {}
            ast::FunctionArguments::Subquery(query) => {
                call.arguments.push(Expr { kind: ExprKind::Subquery(self.query(*query)?), pos });
            }
            ast::FunctionArguments::List(list) => {
                call.distinct = list.duplicate_treatment == Some(ast::DuplicateTreatment::Distinct);
                for argument in list.args {
                    self.function_argument(argument, &mut call)?;
                }
                for clause in list.clauses {
                    match clause {
                        ast::FunctionArgumentClause::OrderBy(items) => {
                            call.order_by = self.order_items(items)?
                        }
                        ast::FunctionArgumentClause::IgnoreOrRespectNulls(_) => {
                            return Err(self.at(Error::Syntax { message: NULLS_NEED_OVER.into() }, pos));
                        }
                        other => return refuse(&format!("{other} in a call")),
                    }
                }
            }
        }
        if !function.within_group.is_empty() {
            self.within_group(&mut call, function.within_group)?;
        }
        Ok(call)
    }

    /// Adds one argument to `call`.
    pub(super) fn function_argument(
        &self,
        argument: ast::FunctionArg,
        call: &mut FunctionCall,
    ) -> Result<()> {
        let (name, value) = match argument {
            ast::FunctionArg::Unnamed(value) => (None, value),
            ast::FunctionArg::Named { name, arg, .. } => (Some(self.ident(name)), arg),
            ast::FunctionArg::ExprNamed { name, .. } => {
                return Err(self.at(unsupported("an expression as argument name"), start_of(&name)));
            }
        };
        match (name, value) {
            (Some(name), ast::FunctionArgExpr::Expr(value)) => call.named.push((name, self.expr(value)?)),
            (None, ast::FunctionArgExpr::Expr(value)) => call.arguments.push(self.expr(value)?),
            (None, ast::FunctionArgExpr::Wildcard) => call.star = true,
            _ => return Err(self.at(unsupported("a qualified * as argument"), call.name.pos)),
        }
        Ok(())
    }

    pub(super) fn order_items(&self, items: Vec<ast::OrderByExpr>) -> Result<Vec<OrderItem>> {
        items.into_iter().map(|item| self.order_item(item)).collect()
    }
}

pub(super) fn call(name: &str, arguments: Vec<Expr>, pos: Pos) -> Expr {
    let name = Ident { value: name.to_string(), pos };
    let call = FunctionCall {
        name,
        arguments,
        named: vec![],
        star: false,
        distinct: false,
        filter: None,
        order_by: vec![],
    };
    Expr { kind: ExprKind::Function(call), pos }
}

pub(super) fn cast(expr: Expr, data_type: LogicalType, pos: Pos) -> Expr {
    Expr { kind: ExprKind::Cast { expr: Box::new(expr), data_type, try_cast: false }, pos }
}

fn is_default(ident: &ast::Ident) -> bool {
    ident.quote_style.is_none() && ident.value.eq_ignore_ascii_case("default")
}

/// Units of an interval that have fractions.
fn keeps_fraction(unit: &str) -> bool {
    unit.starts_with("second") || unit.starts_with("millisecond")
}

fn is_token(token: &Token, operator: &str) -> bool {
    match token {
        Token::Word(word) => word.quote_style.is_none() && word.value.eq_ignore_ascii_case(operator),
        Token::Whitespace(_) | Token::SingleQuotedString(_) | Token::Number(..) => false,
        other => other.to_string() == operator,
    }
}

fn binary_operator(op: &BinaryOperator) -> Option<BinaryOp> {
    Some(match op {
        BinaryOperator::Plus => BinaryOp::Add,
        BinaryOperator::Minus => BinaryOp::Subtract,
        BinaryOperator::Multiply => BinaryOp::Multiply,
        BinaryOperator::Divide => BinaryOp::Divide,
        BinaryOperator::DuckIntegerDivide | BinaryOperator::MyIntegerDivide => BinaryOp::IntegerDivide,
        BinaryOperator::Modulo => BinaryOp::Modulo,
        BinaryOperator::BitwiseXor | BinaryOperator::PGExp => BinaryOp::Power,
        BinaryOperator::StringConcat => BinaryOp::Concat,
        BinaryOperator::Eq => BinaryOp::Equal,
        BinaryOperator::NotEq => BinaryOp::NotEqual,
        BinaryOperator::Lt => BinaryOp::Less,
        BinaryOperator::LtEq => BinaryOp::LessEqual,
        BinaryOperator::Gt => BinaryOp::Greater,
        BinaryOperator::GtEq => BinaryOp::GreaterEqual,
        BinaryOperator::BitwiseAnd => BinaryOp::BitAnd,
        BinaryOperator::BitwiseOr => BinaryOp::BitOr,
        BinaryOperator::PGBitwiseShiftLeft => BinaryOp::ShiftLeft,
        BinaryOperator::PGBitwiseShiftRight => BinaryOp::ShiftRight,
        BinaryOperator::PGRegexMatch => BinaryOp::RegexMatch,
        BinaryOperator::PGRegexNotMatch => BinaryOp::RegexNotMatch,
        BinaryOperator::PGStartsWith => BinaryOp::StartsWith,
        _ => return None,
    })
}

fn blob_from_hex(digits: &str) -> Option<Vec<u8>> {
    let nibbles: Option<Vec<u8>> = digits.chars().map(|c| c.to_digit(16).map(|digit| digit as u8)).collect();
    let nibbles = nibbles.filter(|nibbles| nibbles.len().is_multiple_of(2))?;
    Some(nibbles.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect())
}

/// Where an expression begins, found along its leftmost branch.
pub(super) fn start_of(expr: &ast::Expr) -> Pos {
    use sqlparser::ast::Spanned;
    let mut expr = expr;
    loop {
        expr = match expr {
            ast::Expr::Identifier(ident) => return pos_of(ident.span.start),
            ast::Expr::CompoundIdentifier(idents) => {
                return idents.first().map_or(Pos::default(), |ident| pos_of(ident.span.start));
            }
            ast::Expr::Value(value) => return pos_of(value.span.start),
            ast::Expr::TypedString(typed) => return pos_of(typed.value.span.start),
            ast::Expr::Function(function) => return pos_of(function.name.span().start),
            ast::Expr::Case { case_token, .. } => return pos_of(case_token.0.span.start),
            ast::Expr::Wildcard(token) => return pos_of(token.0.span.start),
            ast::Expr::Subquery(query) | ast::Expr::Exists { subquery: query, .. } => {
                return super::query::start_of_query(query);
            }
            ast::Expr::Tuple(items) => match items.first() {
                Some(first) => first,
                None => return Pos::default(),
            },
            ast::Expr::Interval(interval) => &interval.value,
            ast::Expr::Nested(inner)
            | ast::Expr::IsNull(inner)
            | ast::Expr::IsNotNull(inner)
            | ast::Expr::IsTrue(inner)
            | ast::Expr::IsNotTrue(inner)
            | ast::Expr::IsFalse(inner)
            | ast::Expr::IsNotFalse(inner)
            | ast::Expr::IsUnknown(inner)
            | ast::Expr::IsNotUnknown(inner)
            | ast::Expr::IsDistinctFrom(inner, _)
            | ast::Expr::IsNotDistinctFrom(inner, _)
            | ast::Expr::BinaryOp { left: inner, .. }
            | ast::Expr::AnyOp { left: inner, .. }
            | ast::Expr::AllOp { left: inner, .. }
            | ast::Expr::UnaryOp { expr: inner, .. }
            | ast::Expr::InList { expr: inner, .. }
            | ast::Expr::InSubquery { expr: inner, .. }
            | ast::Expr::Between { expr: inner, .. }
            | ast::Expr::Like { expr: inner, .. }
            | ast::Expr::ILike { expr: inner, .. }
            | ast::Expr::SimilarTo { expr: inner, .. }
            | ast::Expr::Cast { expr: inner, .. }
            | ast::Expr::Extract { expr: inner, .. }
            | ast::Expr::Ceil { expr: inner, .. }
            | ast::Expr::Floor { expr: inner, .. }
            | ast::Expr::Position { expr: inner, .. }
            | ast::Expr::Substring { expr: inner, .. }
            | ast::Expr::Trim { expr: inner, .. }
            | ast::Expr::Collate { expr: inner, .. }
            | ast::Expr::CompoundFieldAccess { root: inner, .. }
            | ast::Expr::AtTimeZone { timestamp: inner, .. } => inner,
            ast::Expr::Array(array) => match array.elem.first() {
                Some(first) => first,
                None => return Pos::default(),
            },
            ast::Expr::Dictionary(fields) => {
                return fields.first().map_or(Pos::default(), |field| pos_of(field.key.span.start));
            }
            _ => return Pos::default(),
        };
    }
}

/// A schema of which no name needs to be looked up there.
pub(super) fn is_system_schema(part: &Ident) -> bool {
    let schemas = ["main", "pg_catalog", "information_schema", "system"];
    schemas.iter().any(|schema| part.value.eq_ignore_ascii_case(schema))
}

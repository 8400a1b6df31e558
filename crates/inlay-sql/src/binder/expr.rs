//! Scalar expressions.

use super::coerce::{arg_type, without_null_columns};
use super::constants::{constant_list, expanded};
use super::nested::fields_behind;
use super::scope::Resolved;
use super::sqlite::is_product_of_text;
use super::subquery::compare_op;
use super::{Binder, with_stack};
use crate::parser::ast::{self, BinaryOp, Constants, ExprKind, Literal, Pos, UnaryOp};
use crate::plan::{CompareOp, Expr};
use inlay_functions::registry::{resolve_scalar, scalar_exists};
use inlay_kernels::function::Volatility;
use inlay_types::{Error, LogicalType, Result, Value};
use std::borrow::Cow;

impl Binder<'_> {
    /// Binds one expression.
    pub(super) fn expr(&mut self, expr: &ast::Expr) -> Result<Expr> {
        with_stack(|| self.expr_inner(expr))
    }

    pub(super) fn exprs(&mut self, exprs: &[ast::Expr]) -> Result<Vec<Expr>> {
        super::constants::expanded(exprs).iter().map(|expr| self.expr(expr)).collect()
    }

    fn expr_inner(&mut self, expr: &ast::Expr) -> Result<Expr> {
        let pos = expr.pos;
        match &expr.kind {
            ExprKind::Column(parts) => self.named_value(parts),
            ExprKind::Literal(value) => self.literal(value, pos),
            ExprKind::Parameter(parameter) => self.parameter(parameter, pos),
            ExprKind::Unary { op, expr } => self.unary(*op, expr, pos),
            ExprKind::Binary { op, left, right } => self.binary(*op, left, right, pos),
            ExprKind::And(items) => Ok(Expr::And(self.conditions(items, "AND")?)),
            ExprKind::Or(items) => Ok(Expr::Or(self.conditions(items, "OR")?)),
            ExprKind::Not(inner) => {
                let input = self.condition(inner, "NOT")?;
                Ok(Expr::Not(Box::new(input)))
            }
            ExprKind::IsNull { expr, negated } => Ok(negate_if(*negated, self.is_null(expr, pos)?)),
            ExprKind::IsBool { expr, value, negated } => {
                let input = self.condition(expr, "IS TRUE and IS FALSE")?;
                let op = if *negated { CompareOp::Distinct } else { CompareOp::NotDistinct };
                Ok(Expr::compare(op, input, Expr::boolean(*value)))
            }
            ExprKind::InList { expr, list, negated } => {
                Ok(negate_if(*negated, self.in_list(expr, list, pos)?))
            }
            ExprKind::InSubquery { expr, query, negated } => {
                self.not_in_lambda(pos)?;
                Ok(negate_if(*negated, self.any(expr, BinaryOp::Equal, query, pos)?))
            }
            ExprKind::Between { expr, low, high, negated } => {
                Ok(negate_if(*negated, self.between(expr, low, high, pos)?))
            }
            ExprKind::Like { expr, pattern, escape, negated, case_insensitive } => {
                let like = self.like(expr, pattern, escape.as_deref(), *case_insensitive, pos)?;
                Ok(negate_if(*negated, like))
            }
            ExprKind::Quantified { expr, op, all, query } => {
                self.not_in_lambda(pos)?;
                if *all { self.all(expr, *op, query, pos) } else { self.any(expr, *op, query, pos) }
            }
            ExprKind::Cast { expr, data_type, try_cast } => {
                let input = self.expr(expr)?;
                let data_type = self.known_type(data_type, pos)?;
                self.explicit_cast(input, data_type, *try_cast, pos)
            }
            ExprKind::Extract { field, expr } => {
                let input = self.expr(expr)?;
                self.extract(&field.value, input, pos)
            }
            ExprKind::Function(call) => self.function_call(call, pos),
            ExprKind::Window(call) => self.outside_of_lambdas(|binder| binder.window_call(call, pos)),
            ExprKind::Case { operand, branches, otherwise } => {
                self.case(operand.as_deref(), branches, otherwise.as_deref(), pos)
            }
            ExprKind::Exists { query, negated } => {
                let exists = self.outside_of_lambdas(|binder| binder.exists(query, pos))?;
                Ok(negate_if(*negated, exists))
            }
            ExprKind::RowQuery { query, column, count } => self.row_query(query, *column, *count, pos),
            ExprKind::Subquery(query) => self.outside_of_lambdas(|binder| binder.scalar_subquery(query, pos)),
            ExprKind::Given(number) => self.given_value(*number, pos),
            ExprKind::Position(number) => {
                let (_, id) = self.position(*number, pos)?;
                self.note_use(self.scopes.len().saturating_sub(1), id, pos);
                Ok(self.column(id))
            }
            ExprKind::Columns(_) => {
                let message = "COLUMNS stands behind SELECT, DISTINCT ON, WHERE and ORDER BY only";
                Err(self.at(Error::bind(message), pos))
            }
            ExprKind::Collate { expr, collation } => {
                let value = self.expr(expr)?;
                self.with_collation(value, collation, pos)
            }
            ExprKind::Row(items) => {
                let items = self.exprs(items)?;
                self.call("row", items, pos)
            }
            ExprKind::Lambda { .. } => {
                let message =
                    "a lambda stands only behind the list of list_transform, list_filter and list_reduce";
                Err(self.at(Error::bind(message), pos))
            }
            ExprKind::Constants(_) => Err(Error::internal("literals that stand in no list")),
            ExprKind::Default => {
                Err(self.at(Error::bind("DEFAULT is only possible as a value of INSERT or UPDATE"), pos))
            }
        }
    }

    fn unary(&mut self, op: UnaryOp, expr: &ast::Expr, pos: Pos) -> Result<Expr> {
        let input = self.expr(expr)?;
        match op {
            UnaryOp::Plus => Ok(input),
            UnaryOp::Negate => self.call("-", vec![input], pos),
            UnaryOp::BitNot => self.call("~", vec![input], pos),
        }
    }

    fn is_null(&mut self, expr: &ast::Expr, pos: Pos) -> Result<Expr> {
        let input = self.expr(expr)?;
        let is_bare = input.ty() == LogicalType::Null;
        let input = if is_bare { self.cast_to(input, LogicalType::Integer, pos)? } else { input };
        Ok(Expr::IsNull(Box::new(input)))
    }

    fn between(&mut self, expr: &ast::Expr, low: &ast::Expr, high: &ast::Expr, pos: Pos) -> Result<Expr> {
        let collation = self.collation_of(&[expr, low, high])?;
        let input = self.expr(expr)?;
        let (low, high) = (self.expr(low)?, self.expr(high)?);
        let input = self.collated(input, &collation, pos)?;
        let low = self.collated(low, &collation, pos)?;
        let high = self.collated(high, &collation, pos)?;
        self.once(vec![input, low, high], |binder, values| {
            let [input, low, high] = taken(values)?;
            let from = binder.comparison(CompareOp::GtEq, input.clone(), low, pos)?;
            let to = binder.comparison(CompareOp::LtEq, input, high, pos)?;
            Ok(Expr::And(vec![from, to]))
        })
    }

    fn like(
        &mut self,
        expr: &ast::Expr,
        pattern: &ast::Expr,
        escape: Option<&ast::Expr>,
        case_insensitive: bool,
        pos: Pos,
    ) -> Result<Expr> {
        let mut args = vec![self.expr(expr)?, self.expr(pattern)?];
        let name = match (case_insensitive, escape) {
            (false, None) => "~~",
            (true, None) => "~~*",
            (false, Some(_)) => "like_escape",
            (true, Some(_)) => "ilike_escape",
        };
        if let Some(escape) = escape {
            args.push(self.expr(escape)?);
        }
        let args = self.searched(name, args, pos)?;
        self.call(name, args, pos)
    }

    /// What a name means: a parameter, a column, a field of either, or something of the session.
    fn named_value(&mut self, parts: &[ast::Ident]) -> Result<Expr> {
        if let Some(parameter) = self.lambda_parameter(parts)? {
            return Ok(parameter);
        }
        if let Some(value) = self.trigger_value(parts)? {
            return Ok(value);
        }
        if let Some((first, fields)) = parts.split_first()
            && let Some(argument) = self.macro_argument(std::slice::from_ref(first))?
        {
            return fields_behind(self, argument, fields);
        }
        match self.resolve(parts) {
            Ok(Resolved::Column(id)) => Ok(self.column(id)),
            Ok(Resolved::Entry(index)) => {
                self.aliased(index, parts.first().map_or(Pos::default(), |part| part.pos))
            }
            Err(error) => match self.session_value(parts) {
                Some(value) => Ok(value),
                None => match self.field_of_column(parts)? {
                    Some(field) => Ok(field),
                    None => self.row_of_table(parts)?.ok_or(error),
                },
            },
        }
    }

    /// Subqueries that would have to read a lambda's parameter.
    pub(super) fn not_in_lambda(&self, pos: Pos) -> Result<()> {
        if self.lambdas.is_empty() {
            return Ok(());
        }
        Err(self.at(Error::unsupported("a comparison with a subquery inside of a lambda"), pos))
    }

    /// An expression that must be a condition.
    pub(super) fn condition(&mut self, expr: &ast::Expr, place: &str) -> Result<Expr> {
        let bound = self.expr(expr)?;
        self.boolean(bound, expr.pos, place)
    }

    fn conditions(&mut self, items: &[ast::Expr], place: &str) -> Result<Vec<Expr>> {
        items.iter().map(|item| self.condition(item, place)).collect()
    }

    fn literal(&self, literal: &Literal, pos: Pos) -> Result<Expr> {
        if let Literal::Typed(ty, text) = literal {
            let ty = self.known_type(ty, pos)?;
            let text = Value::Varchar(text.clone());
            // What cannot be read fails where rows reach it.
            return Ok(match self.cast_literal(&text, &ty) {
                Ok(value) => Expr::literal(value),
                Err(_) => self.cast_of(Expr::literal(text), ty, false, pos),
            });
        }
        Ok(Expr::literal(match literal {
            Literal::Null => Value::Null,
            Literal::Boolean(value) => Value::Boolean(*value),
            Literal::Number(text) => {
                let value = self.placed(number(text), pos)?;
                if self.is_sqlite() { Self::sqlite_number(value) } else { value }
            }
            Literal::String(text) => Value::Varchar(text.clone()),
            Literal::Blob(bytes) => Value::Blob(bytes.clone()),
            Literal::Typed(_, text) => Value::Varchar(text.clone()),
        }))
    }

    fn parameter(&self, parameter: &ast::Parameter, pos: Pos) -> Result<Expr> {
        let (positional, named) = (self.context.parameters, self.context.named_parameters);
        let (found, name) = match parameter {
            ast::Parameter::Position(number) => {
                let index = number.checked_sub(1);
                (index.and_then(|index| Some((index, positional.get(index)?))), number.to_string())
            }
            ast::Parameter::Name(name) => {
                let index = named.iter().position(|(given, _)| given == name);
                (index.map(|index| (positional.len() + index, &named[index].1)), name.clone())
            }
        };
        match found {
            Some((number, value)) => self.slot_or_literal(number, value),
            None => Err(self
                .at(Error::invalid_argument(format!("no value was given for the parameter ${name}")), pos)),
        }
    }

    fn binary(&mut self, op: BinaryOp, left: &ast::Expr, right: &ast::Expr, pos: Pos) -> Result<Expr> {
        if let (true, Some(lefts), Some(rights)) = (op.is_comparison(), left.row_items(), right.row_items()) {
            return self.row_comparison(op, lefts, rights, pos);
        }
        let collation = if op.is_comparison() { self.collation_of(&[left, right])? } else { None };
        let (left, right) = (self.expr(left)?, self.expr(right)?);
        if op.is_comparison() {
            let (left, right) =
                (self.collated(left, &collation, pos)?, self.collated(right, &collation, pos)?);
            return self.comparison(compare_op(op), left, right, pos);
        }
        let is_product_of_text = self.is_sqlite() && is_product_of_text(op, [&left, &right]);
        let (left, right) =
            if self.is_sqlite() { self.sqlite_operands(op, left, right, pos)? } else { (left, right) };
        match op {
            BinaryOp::RegexMatch => self.call("regexp_matches", vec![left, right], pos),
            BinaryOp::RegexNotMatch => {
                let matched = self.call("regexp_matches", vec![left, right], pos)?;
                Ok(Expr::Not(Box::new(matched)))
            }
            BinaryOp::StartsWith => {
                let args = self.searched("starts_with", vec![left, right], pos)?;
                self.call("starts_with", args, pos)
            }
            BinaryOp::Power => self.call("pow", vec![left, right], pos),
            _ => {
                let args = self.searched(op.symbol(), vec![left, right], pos)?;
                let value = self.call(op.symbol(), args, pos)?;
                if !is_product_of_text || value.ty() != LogicalType::Double {
                    return Ok(value);
                }
                // To SQLite a text that is no number is a whole zero, which has no sign.
                self.call("+", vec![value, Expr::literal(Value::Double(0.0))], pos)
            }
        }
    }

    /// `(a, b) op (c, d)`, compared from left to right.
    fn row_comparison(
        &mut self,
        op: BinaryOp,
        lefts: &[ast::Expr],
        rights: &[ast::Expr],
        pos: Pos,
    ) -> Result<Expr> {
        self.same_width(lefts.len(), rights.len(), pos)?;
        let mut values = self.exprs(lefts)?;
        values.extend(self.exprs(rights)?);
        let width = lefts.len();
        self.once(values, |binder, mut values| {
            let rights = values.split_off(width.min(values.len()));
            binder.rows_compared(op, values.into_iter().zip(rights).collect(), pos)
        })
    }

    pub(super) fn rows_compared(&mut self, op: BinaryOp, pairs: Vec<(Expr, Expr)>, pos: Pos) -> Result<Expr> {
        let each = |binder: &Self, op: CompareOp, pairs: &[(Expr, Expr)]| {
            let compare = |(l, r): &(Expr, Expr)| binder.comparison(op, l.clone(), r.clone(), pos);
            pairs.iter().map(compare).collect::<Result<Vec<_>>>()
        };
        match compare_op(op) {
            op @ (CompareOp::Eq | CompareOp::NotDistinct) => Ok(Expr::and(each(self, op, &pairs)?)),
            op @ (CompareOp::NotEq | CompareOp::Distinct) => Ok(or(each(self, op, &pairs)?)),
            op => {
                let strict = match op {
                    CompareOp::LtEq => CompareOp::Lt,
                    CompareOp::GtEq => CompareOp::Gt,
                    other => other,
                };
                let mut alternatives = Vec::with_capacity(pairs.len());
                for (index, (left, right)) in pairs.iter().enumerate() {
                    let own = if index + 1 == pairs.len() { op } else { strict };
                    let mut conjuncts = each(self, CompareOp::Eq, &pairs[..index])?;
                    conjuncts.push(self.comparison(own, left.clone(), right.clone(), pos)?);
                    alternatives.push(Expr::and(conjuncts));
                }
                Ok(or(alternatives))
            }
        }
    }

    fn same_width(&self, left: usize, right: usize, pos: Pos) -> Result<()> {
        if left == right {
            return Ok(());
        }
        let message = format!("cannot compare a row of {left} with a row of {right} values");
        Err(self.at(Error::type_mismatch(message), pos))
    }

    fn in_list(&mut self, input: &ast::Expr, list: &[ast::Expr], pos: Pos) -> Result<Expr> {
        let row = input.row_items();
        let constants = constant_list(list).filter(|_| row.is_none());
        let list = if constants.is_some() { Cow::Borrowed(list) } else { expanded(list) };
        if let Some(lefts) = row {
            let bound = self.exprs(lefts)?;
            return self.once(bound, |binder, bound| {
                let mut alternatives = Vec::with_capacity(list.len());
                for item in list.iter() {
                    let Some(rights) = item.row_items() else {
                        let error = Error::type_mismatch("a row is IN a list of rows only");
                        return Err(binder.at(error, item.pos));
                    };
                    binder.same_width(bound.len(), rights.len(), item.pos)?;
                    let pairs = bound.iter().cloned().zip(binder.exprs(rights)?);
                    let equal =
                        pairs.map(|(left, right)| binder.comparison(CompareOp::Eq, left, right, item.pos));
                    alternatives.push(Expr::and(equal.collect::<Result<_>>()?));
                }
                Ok(or(alternatives))
            });
        }
        let written: Vec<&ast::Expr> = std::iter::once(input).chain(list.iter()).collect();
        let mut collation = self.collation_of(&written)?;
        let bound = self.expr(input)?;
        if collation.is_none() && self.implied_collation(&bound).is_some() {
            collation = self.implied_steps(&bound, pos)?;
        }
        if let Some(constants) = constants.filter(|constants| self.compares_by_kind(&bound, constants)) {
            let items = (0..constants.len()).map(|index| self.constant_value(constants, index));
            let items = items.map(|value| value.map(literal_of)).collect::<Result<_>>()?;
            return self.equals_one_of(bound, items, pos);
        }
        let list = match constants {
            Some(constants) if collation.is_none() && self.implied_steps(&bound, pos)?.is_none() => {
                return self.in_constants(bound, constants, pos);
            }
            _ => expanded(&list),
        };
        let mut items = self.exprs(&list)?;
        if collation.is_none()
            && let Some(item) = items.iter().find(|item| self.implied_collation(item).is_some())
        {
            collation = self.implied_steps(item, pos)?;
        }
        if collation.is_none() {
            collation = self.implied_steps(&bound, pos)?;
        }
        let bound = self.collated(bound, &collation, pos)?;
        if collation.is_some() {
            let collated = items.into_iter().map(|item| self.collated(item, &collation, pos));
            items = collated.collect::<Result<_>>()?;
        }
        if let [only] = items.as_slice() {
            return self.comparison(CompareOp::Eq, bound, only.clone(), pos);
        }
        if mixes_texts(std::iter::once(&bound).chain(&items)) {
            return self.equals_one_of(bound, items, pos);
        }
        // A type that every comparison on its own would use, or the one in which all meet.
        let all = || std::iter::once(&bound).chain(&items);
        let ty = self.common_type_of(all(), pos, "IN")?;
        let ty = if ty == LogicalType::Null { LogicalType::Integer } else { ty };
        let bound = self.cast_to(bound, ty.clone(), pos)?;
        let list = items
            .into_iter()
            .zip(list.iter())
            .map(|(item, written)| self.cast_to(item, ty.clone(), written.pos));
        Ok(Expr::InList { input: Box::new(bound), list: list.collect::<Result<_>>()? })
    }

    /// Whether a text is looked for among literals of other types.
    fn compares_by_kind(&self, input: &Expr, constants: &Constants) -> bool {
        let is_text = input.ty() == LogicalType::Varchar && !matches!(input, Expr::Literal { .. });
        let is_other = |index| {
            !constants.is_string(index)
                && self
                    .constant_value(constants, index)
                    .is_ok_and(|value| is_read_from_text(&value.logical_type()))
        };
        is_text && (0..constants.len()).any(is_other)
    }

    /// `input IN (items)` where texts meet other types: what is equal to one is among all, and `=` reads the text as the other.
    fn equals_one_of(&mut self, input: Expr, items: Vec<Expr>, pos: Pos) -> Result<Expr> {
        self.once(vec![input], |binder, input| {
            let equal = items.into_iter().map(|item| {
                let input =
                    input.first().cloned().ok_or_else(|| Error::internal("a value that is computed once"))?;
                binder.comparison(CompareOp::Eq, input, item, pos)
            });
            Ok(or(equal.collect::<Result<_>>()?))
        })
    }

    /// A written CAST. Numbers stay unconverted here: what was cast has the type asked for, no narrower one.
    pub(super) fn explicit_cast(
        &self,
        input: Expr,
        ty: LogicalType,
        or_null: bool,
        pos: Pos,
    ) -> Result<Expr> {
        if input.ty() == ty {
            return Ok(match input {
                // The cast makes it a value of this type rather than a literal as written.
                Expr::Literal { value: Value::Null, .. } => Expr::Literal { value: Value::Null, ty },
                number @ Expr::Literal { .. } if ty.is_numeric() => self.cast_of(number, ty, or_null, pos),
                other => other,
            });
        }
        if input.ty() == LogicalType::Null {
            if let Some(slots) = self.context.slots {
                slots.notes(&input, &ty);
            }
            return match super::coerce::calls(&input) {
                true => self.cast_to(input, ty, pos),
                false => Ok(Expr::Literal { value: Value::Null, ty }),
            };
        }
        if let Expr::Literal { value, .. } = &input {
            if value.is_null() {
                return Ok(Expr::Literal { value: Value::Null, ty });
            }
            if !ty.is_integer()
                && !ty.is_decimal()
                && let Ok(value) = self.cast_literal(value, &ty)
            {
                return Ok(Expr::Literal { value, ty });
            }
        }
        Ok(self.cast_of(input, ty, or_null, pos))
    }

    fn case(
        &mut self,
        operand: Option<&ast::Expr>,
        branches: &[(ast::Expr, ast::Expr)],
        otherwise: Option<&ast::Expr>,
        pos: Pos,
    ) -> Result<Expr> {
        let Some(operand) = operand else { return self.case_branches(None, branches, otherwise, pos) };
        let operand = self.expr(operand)?;
        self.once(vec![operand], |binder, mut operand| {
            binder.case_branches(operand.pop(), branches, otherwise, pos)
        })
    }

    fn case_branches(
        &mut self,
        operand: Option<Expr>,
        branches: &[(ast::Expr, ast::Expr)],
        otherwise: Option<&ast::Expr>,
        pos: Pos,
    ) -> Result<Expr> {
        let mut conditions = Vec::with_capacity(branches.len());
        let mut values = Vec::with_capacity(branches.len() + 1);
        for (when, then) in branches {
            conditions.push(match &operand {
                None => self.condition(when, "WHEN")?,
                Some(operand) => {
                    let value = self.expr(when)?;
                    self.comparison(CompareOp::Eq, operand.clone(), value, when.pos)?
                }
            });
            values.push((self.expr(then)?, then.pos));
        }
        values.push(match otherwise {
            Some(otherwise) => (self.expr(otherwise)?, otherwise.pos),
            None => (Expr::literal(Value::Null), pos),
        });
        self.case_of(conditions, values, pos)
    }

    /// A CASE with bound parts; `values` has one more than `conditions`, for ELSE.
    pub(super) fn case_of(&self, conditions: Vec<Expr>, values: Vec<(Expr, Pos)>, pos: Pos) -> Result<Expr> {
        // Fields that only some values have follow those of ELSE, as in DuckDB.
        let is_nested = values.iter().any(|(value, _)| value.ty().is_nested());
        let front = values.last().filter(|_| is_nested);
        let ty =
            self.common_type_of(front.into_iter().chain(&values).map(|(value, _)| value), pos, "CASE")?;
        // A call without a type, of error(), must be made all the same.
        if ty == LogicalType::Null && values.iter().all(|(value, _)| matches!(value, Expr::Literal { .. })) {
            return Ok(Expr::literal(Value::Null));
        }
        let ty = super::coerce::concrete(ty);
        let mut values = values
            .into_iter()
            .map(|(value, pos)| self.cast_where_reached(value, ty.clone(), pos))
            .collect::<Result<Vec<_>>>()?;
        let otherwise = values.pop().ok_or_else(|| Error::internal("a CASE without values"))?;
        let branches = conditions.into_iter().zip(values).collect();
        Ok(Expr::Case { branches, otherwise: Box::new(otherwise), ty })
    }

    /// Arguments that become JSON, with texts in the place of moments, as the session's clocks show them.
    fn shown_moments(&self, args: Vec<Expr>, pos: Pos) -> Result<Vec<Expr>> {
        let shown = |arg: Expr| {
            let ty = arg.ty();
            if self.context.options.zone.is_utc() {
                return Ok(arg);
            }
            self.cast_to(arg, inlay_kernels::cast::with_texts(&ty), pos)
        };
        args.into_iter().map(shown).collect()
    }

    /// A call of a scalar function or operator with bound arguments.
    pub(super) fn call(&self, name: &str, args: Vec<Expr>, pos: Pos) -> Result<Expr> {
        let name = of_documents(name, &args);
        let args: Vec<Expr> = args.into_iter().map(without_null_columns).collect();
        // Text behind an untyped NULL is no text yet.
        let is_untyped = |arg: &Expr| arg.ty() == LogicalType::Null;
        if name == "||"
            && args.iter().any(is_untyped)
            && args.iter().all(|arg| is_untyped(arg) || arg.ty() == LogicalType::Varchar)
        {
            return Ok(Expr::literal(Value::Null));
        }
        let mut args = if WRITE_JSON.contains(&name) { self.shown_moments(args, pos)? } else { args };
        if AGGREGATE_LISTS.contains(&name) {
            // What the aggregate takes besides the list is a literal, such as a list of fractions.
            for arg in args.iter_mut().skip(2) {
                if let Ok(Some(value)) = super::constant::evaluate(arg) {
                    *arg = Expr::Literal { value, ty: arg.ty() };
                }
            }
        }
        let types: Vec<_> = args.iter().map(arg_type).collect();
        let function = match resolve_scalar(name, &types, &self.context.options) {
            // Of a NULL without a type nothing is known: neither is what a function of lists or maps gives for it.
            Err(Error::UndefinedFunction { .. })
                if args.first().is_some_and(is_untyped) && scalar_exists(name) =>
            {
                return Ok(Expr::literal(Value::Null));
            }
            // What is no document yet becomes one, as where a reader found a STRUCT in a file.
            Err(Error::UndefinedFunction { .. })
                if READ_JSON.contains(&name) && args.first().is_some_and(becomes_document) =>
            {
                let mut args = args;
                let document = args.remove(0);
                args.insert(0, self.call("to_json", vec![document], pos)?);
                return self.call(name, args, pos);
            }
            found => self.placed(found, pos)?,
        };
        let args =
            args.into_iter().zip(&function.arg_types).map(|(arg, ty)| self.cast_to(arg, ty.clone(), pos));
        let args = args.collect::<Result<Vec<_>>>()?;
        let is_constant = args.iter().all(|arg| matches!(arg, Expr::Literal { .. }));
        let folds =
            is_constant && function.return_type.is_temporal() && function.volatility == Volatility::Immutable;
        let call = Expr::Call { function, args, place: self.place(pos) };
        // `DATE '...' + INTERVAL '...'` is a literal for all that follows, so that it adapts to the other side.
        if folds && let Ok(Some(value)) = super::constant::evaluate(&call) {
            return Ok(Expr::Literal { value, ty: call.ty() });
        }
        Ok(call)
    }
}

/// What an operator is called that means something of documents, as PostgreSQL's of JSONB do.
fn of_documents<'n>(name: &'n str, args: &[Expr]) -> &'n str {
    let is_json = |arg: &Expr| arg.ty() == LogicalType::Json;
    match (name, args) {
        ("@>", args) if args.iter().any(is_json) => "jsonb_contains",
        ("<@", args) if args.iter().any(is_json) => "jsonb_contained",
        ("-", [document, _]) if is_json(document) => "jsonb_delete",
        _ => name,
    }
}

/// Functions that aggregate the elements of a list by the function that they name.
const AGGREGATE_LISTS: [&str; 5] =
    ["aggregate", "array_aggr", "array_aggregate", "list_aggr", "list_aggregate"];

/// Functions that read parts of a document.
const READ_JSON: [&str; 13] = [
    "->",
    "->>",
    "json",
    "json_array_length",
    "json_contains",
    "json_exists",
    "json_extract",
    "json_extract_path",
    "json_extract_path_text",
    "json_extract_string",
    "json_keys",
    "json_type",
    "json_value",
];

/// Whether a value is neither a document nor the text of one.
fn becomes_document(arg: &Expr) -> bool {
    !matches!(arg.ty(), LogicalType::Varchar | LogicalType::Json | LogicalType::Null | LogicalType::Blob)
}

/// Functions that write their arguments as JSON.
const WRITE_JSON: [&str; 7] =
    ["to_json", "to_jsonb", "json_quote", "row_to_json", "array_to_json", "json_array", "json_object"];

/// `expr` or its negation.
fn negate_if(negated: bool, expr: Expr) -> Expr {
    if negated { Expr::Not(Box::new(expr)) } else { expr }
}

/// As many values as were given to be computed once.
pub(super) fn taken<const N: usize>(values: Vec<Expr>) -> Result<[Expr; N]> {
    values.try_into().map_err(|_| Error::internal("values that are computed once are missing"))
}

/// The disjunction of one or more.
fn or(mut disjuncts: Vec<Expr>) -> Expr {
    if disjuncts.len() == 1 { disjuncts.swap_remove(0) } else { Expr::Or(disjuncts) }
}

/// The value of a number as written: INTEGER, BIGINT or HUGEINT by size, DECIMAL with a point, DOUBLE with an exponent.
pub(super) fn number(text: &str) -> Result<Value> {
    let invalid = || Error::Syntax { message: format!("{text} is not a number") };
    if text.contains(['e', 'E']) {
        return text.parse().map(Value::Double).map_err(|_| invalid());
    }
    if let Some((whole, fraction)) = text.split_once('.') {
        let digits = whole.trim_start_matches('-').len() + fraction.len();
        let unscaled = format!("{whole}{fraction}").parse::<i128>();
        return match (unscaled, u8::try_from(fraction.len())) {
            (Ok(unscaled), Ok(scale)) if digits <= 38 => {
                Ok(Value::Decimal { unscaled, precision: digits.max(1) as u8, scale })
            }
            _ => text.parse().map(Value::Double).map_err(|_| invalid()),
        };
    }
    if let Ok(value) = text.parse::<i32>() {
        Ok(Value::Integer(value))
    } else if let Ok(value) = text.parse::<i64>() {
        Ok(Value::BigInt(value))
    } else if let Ok(value) = text.parse::<i128>() {
        Ok(Value::HugeInt(value))
    } else if let Ok(value) = text.parse::<u128>() {
        Ok(Value::UHugeInt(value))
    } else {
        text.parse().map(Value::Double).map_err(|_| invalid())
    }
}

fn literal_of(value: Value) -> Expr {
    let ty = value.logical_type();
    Expr::Literal { value, ty }
}

/// Whether a text beside a value of this type is read as one.
fn is_read_from_text(ty: &LogicalType) -> bool {
    ty.is_numeric() || ty.is_temporal() || matches!(ty, LogicalType::Boolean | LogicalType::Uuid)
}

/// Whether there are texts that are no literals, which adapt, and values that texts are read as.
fn mixes_texts<'e>(values: impl Iterator<Item = &'e Expr> + Clone) -> bool {
    let is_text = |value: &Expr| value.ty() == LogicalType::Varchar && !matches!(value, Expr::Literal { .. });
    values.clone().any(is_text) && values.clone().any(|value| is_read_from_text(&value.ty()))
}

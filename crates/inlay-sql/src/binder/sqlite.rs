//! What SQLite's dialect (`SET dialect = 'sqlite'`) means by what is written the same: asked where the binder looks at such a node
//! anyway, and only in this dialect.
//!
//! - Numbers without a point are BIGINT, and a division by zero is NULL.
//! - Operands of arithmetic are numbers: truth values are 0 and 1, and a text is the number that it begins with, or 0.
//! - A column of UNION and its like has numbers or texts: SQLite keeps the type of each value, which would be lost.
//! - A number and a text compare as SQLite's affinities have it; a text that is no number is greater than all.
//! - An integer and a number with a point compare as the quantities they are, not as the nearest DOUBLEs.
//! - Columns that are neither grouped nor aggregated are those of some row of the group; beside a single MIN or MAX of the row
//!   that has it.

use super::Binder;
use super::coerce::exact;
use super::expr::taken;
use crate::parser::ast::{BinaryOp, Pos};
use crate::plan::{AggregateExpr, ColumnId, CompareOp, Expr};
use inlay_functions::registry::resolve_aggregate;
use inlay_kernels::resolve::{ArgType, Dialect};
use inlay_types::{Error, LogicalType, Result, Value};
use std::sync::Arc;

/// The number that a text begins with.
const LEADING_NUMBER: &str = r"^[ \t\n\x0B\f\r]*([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)";
/// Below, every integer is a DOUBLE.
const EXACT: f64 = (1u64 << 53) as f64;

impl Binder<'_> {
    /// Whether the session speaks SQLite's dialect.
    pub(super) fn is_sqlite(&self) -> bool {
        self.context.options.dialect == Dialect::Sqlite
    }

    /// A literal number.
    pub(super) fn sqlite_number(value: Value) -> Value {
        match value {
            Value::Integer(number) => Value::BigInt(i64::from(number)),
            other => other,
        }
    }

    /// The operands of an operator as it takes them.
    pub(super) fn sqlite_operands(
        &mut self,
        op: BinaryOp,
        left: Expr,
        right: Expr,
        pos: Pos,
    ) -> Result<(Expr, Expr)> {
        use BinaryOp as B;
        if !matches!(op, B::Add | B::Subtract | B::Multiply | B::Divide | B::Modulo) {
            return Ok((left, right));
        }
        let (left, right) = (self.sqlite_operand(left, pos)?, self.sqlite_operand(right, pos)?);
        if !matches!(op, B::Divide | B::Modulo)
            || matches!(&right, Expr::Literal { value, .. } if !is_zero(value))
        {
            return Ok((left, right));
        }
        let divisor = self.once_computed(vec![right], |binder, values| {
            let [divisor] = taken(values)?;
            let is_zero =
                binder.comparison(CompareOp::Eq, divisor.clone(), Expr::literal(Value::BigInt(0)), pos)?;
            binder.case_of(vec![is_zero], vec![(Expr::literal(Value::Null), pos), (divisor, pos)], pos)
        })?;
        Ok((left, divisor))
    }

    fn sqlite_operand(&mut self, operand: Expr, pos: Pos) -> Result<Expr> {
        if operand.ty() == LogicalType::Boolean {
            return Ok(self.cast_of(operand, LogicalType::BigInt, false, pos));
        }
        if operand.ty() != LogicalType::Varchar {
            return Ok(operand);
        }
        if let Some(Value::Varchar(text)) = literal_of(&operand).filter(|_| self.sample(&operand).is_none()) {
            return Ok(Expr::literal(leading_number(&text)));
        }
        self.once_computed(vec![operand], |binder, values| {
            let [text] = taken(values)?;
            let literal = |text: &str| Expr::literal(Value::Varchar(text.to_string()));
            let group = Expr::literal(Value::BigInt(1));
            let first =
                binder.call("regexp_extract", vec![text.clone(), literal(LEADING_NUMBER), group], pos)?;
            let number = binder.cast_of(first, LogicalType::Double, true, pos);
            let zero = Expr::literal(Value::Double(0.0));
            let branches = vec![(zero, pos), (number.clone(), pos)];
            binder.case_of(vec![unread(text, number)], branches, pos)
        })
    }

    /// An error if a column has texts on one side of UNION and its like, and numbers on the other.
    pub(super) fn check_sqlite_sides(&self, sides: &[Expr; 2], name: &str, keyword: &str) -> Result<()> {
        let is_number = |expr: &Expr| expr.ty().is_numeric() || expr.ty() == LogicalType::Boolean;
        let is_text = |expr: &Expr| expr.ty() == LogicalType::Varchar;
        let [one, other] = sides;
        let is_mixed = is_number(one) && is_text(other) || is_text(one) && is_number(other);
        if !is_mixed || !self.is_sqlite() {
            return Ok(());
        }
        let message = format!(
            "column \"{name}\" of {keyword} has texts on one side and numbers on the other: SQLite keeps the type of each value, \
             and a column has one here"
        );
        Err(Error::type_mismatch(message).with_hint("CAST one of the sides"))
    }

    /// The comparison of a number with a text; `None` if it is none.
    pub(super) fn sqlite_comparison(
        &self,
        op: CompareOp,
        left: &Expr,
        right: &Expr,
        pos: Pos,
    ) -> Result<Option<Expr>> {
        let is_number = |expr: &Expr| expr.ty().is_numeric() || expr.ty() == LogicalType::Boolean;
        let is_text = |expr: &Expr| expr.ty() == LogicalType::Varchar;
        let literal = |expr: &Expr| self.sample(expr).or_else(|| literal_of(expr));
        let (number, text, flipped) = match () {
            () if is_number(left) && is_text(right) => (left, right, false),
            () if is_text(left) && is_number(right) => (right, left, true),
            () => return Ok(self.sqlite_numbers(op, left, right, pos)),
        };
        let compare = |number: Expr, text: Expr| match flipped {
            false => Expr::compare(op, number, text),
            true => Expr::compare(op, text, number),
        };
        // What becomes of it depends on the text: a plan for any text there is none.
        if self.sample(text).is_some() {
            return Err(Error::unsupported("a slot for a text beside a number"));
        }
        match (literal(number), literal(text)) {
            (_, Some(Value::Null)) => {
                Ok(Some(Expr::Literal { value: Value::Null, ty: LogicalType::Boolean }))
            }
            // A constant beside a column of texts is a text.
            (Some(_), None) => {
                let number = self.cast_to(number.clone(), LogicalType::Varchar, pos)?;
                Ok(Some(compare(number, text.clone())))
            }
            // A text beside a column of numbers is a number, if it is one.
            (None, Some(Value::Varchar(written))) => {
                if let Ok(whole) = written.trim().parse::<i64>() {
                    let value = Value::BigInt(whole);
                    let ty = number.ty();
                    let other = exact(&value, &ty).map_or(Expr::literal(value), Expr::literal);
                    let (left, right) =
                        if flipped { (other, number.clone()) } else { (number.clone(), other) };
                    return self.comparison(op, left, right, pos).map(Some);
                }
                if let Ok(real) = written.trim().parse::<f64>() {
                    let number = self.cast_to(number.clone(), LogicalType::Double, pos)?;
                    return Ok(Some(compare(number, Expr::literal(Value::Double(real)))));
                }
                Ok(Some(constant(op, flipped, number.clone())))
            }
            (Some(_), Some(_)) => Ok(Some(constant(op, flipped, number.clone()))),
            (None, _) => {
                let read = self.cast_of(text.clone(), LogicalType::Double, true, pos);
                let beyond = constant(op, flipped, number.clone());
                let is_unread = unread(text.clone(), read.clone());
                let (one, other) = if flipped { (&read, number) } else { (number, &read) };
                let compared = self.comparison(op, one.clone(), other.clone(), pos)?;
                let branches = vec![(beyond, pos), (compared, pos)];
                self.case_of(vec![is_unread], branches, pos).map(Some)
            }
        }
    }

    /// The comparison of an integer of 64 bits with a number with a point where the nearest DOUBLE may hide a difference; `None`
    /// if they are none. What rounds to less is less; where both round to one number, this number is an integer.
    fn sqlite_numbers(&self, op: CompareOp, left: &Expr, right: &Expr, pos: Pos) -> Option<Expr> {
        use CompareOp as C;
        let is_wide = |expr: &Expr| matches!(expr.ty(), LogicalType::BigInt | LogicalType::UBigInt);
        let is_real = |expr: &Expr| matches!(expr.ty(), LogicalType::Double | LogicalType::Real);
        let (whole, real, op) = match () {
            () if is_wide(left) && is_real(right) => (left, right, op),
            () if is_real(left) && is_wide(right) => (right, left, op.flipped()),
            () => return None,
        };
        let is_near = |expr: &Expr| {
            let value = literal_of(expr).filter(|_| self.sample(expr).is_none());
            value.is_some_and(|value| value.as_f64().is_none_or(|value| value.abs() < EXACT))
        };
        if is_near(whole) || is_near(real) || whole.is_volatile() || real.is_volatile() {
            return None;
        }
        let as_double = |expr: &Expr| match expr.ty() == LogicalType::Double {
            true => expr.clone(),
            false => self.cast_of(expr.clone(), LogicalType::Double, false, pos),
        };
        let as_whole = |expr: &Expr| self.cast_of(expr.clone(), LogicalType::HugeInt, true, pos);
        let rounded = |op: C| Expr::compare(op, as_double(whole), as_double(real));
        let exactly = |op: C| Expr::compare(op, as_whole(whole), as_whole(real));
        let strictly = |within: C, beyond: C| {
            Expr::And(vec![rounded(within), Expr::Or(vec![rounded(beyond), exactly(op)])])
        };
        Some(match op {
            C::Eq | C::NotDistinct => Expr::And(vec![rounded(op), exactly(op)]),
            C::NotEq | C::Distinct => Expr::Or(vec![rounded(op), exactly(op)]),
            C::Lt | C::LtEq => strictly(C::LtEq, C::Lt),
            C::Gt | C::GtEq => strictly(C::GtEq, C::Gt),
        })
    }

    /// Aggregates for columns that are neither grouped nor aggregated, and the columns that take their place.
    pub(super) fn sqlite_bare_columns(
        &mut self,
        bare: Vec<ColumnId>,
        aggregates: &mut Vec<(ColumnId, AggregateExpr)>,
    ) -> Result<Vec<(ColumnId, Expr)>> {
        let is_extreme = |aggregate: &AggregateExpr| {
            matches!(&*aggregate.function.name, "max" | "min") && aggregate.args.len() == 1
        };
        let mut extremes = aggregates.iter().filter(|(_, aggregate)| is_extreme(aggregate));
        let only = extremes.next().filter(|(_, only)| !only.distinct && only.filter.is_none());
        let only = only.filter(|_| extremes.next().is_none());
        let extreme = only.and_then(|(_, only)| {
            let pairs = [("max", "arg_max_null"), ("min", "arg_min_null")];
            let (_, name) = pairs.into_iter().find(|(name, _)| *name == &*only.function.name)?;
            Some((name, only.args[0].clone()))
        });
        let mut replaced = Vec::with_capacity(bare.len());
        for id in bare {
            let column = self.column(id);
            let (name, args) = match &extreme {
                Some((name, key)) => (*name, vec![column.clone(), key.clone()]),
                None => ("first", vec![column.clone()]),
            };
            let types: Vec<ArgType> = args.iter().map(|arg| ArgType::of(arg.ty())).collect();
            let function = Arc::new(resolve_aggregate(name, &types)?);
            let made = self.columns.copy_of(id);
            aggregates.push((
                made,
                AggregateExpr { function, args, distinct: false, filter: None, order_by: Vec::new() },
            ));
            replaced.push((made, column));
        }
        Ok(replaced)
    }
}

fn literal_of(expr: &Expr) -> Option<Value> {
    if let Expr::Literal { value, .. } = expr { Some(value.clone()) } else { None }
}

/// Whether an operator multiplies or divides what is read from a text, which may be a zero with a sign.
pub(super) fn is_product_of_text(op: BinaryOp, operands: [&Expr; 2]) -> bool {
    matches!(op, BinaryOp::Multiply | BinaryOp::Divide | BinaryOp::Modulo)
        && operands.iter().any(|operand| operand.ty() == LogicalType::Varchar)
}

/// The number that a text begins with, 0 if it begins with none.
fn leading_number(text: &str) -> Value {
    let text = text.trim_start();
    let digits = |from: usize| text[from..].bytes().take_while(u8::is_ascii_digit).count();
    let sign = |at: usize| usize::from(matches!(text.as_bytes().get(at), Some(b'+' | b'-')));
    let whole = sign(0) + digits(sign(0));
    if let Ok(number) = text[..whole].parse::<i64>()
        && !matches!(text.as_bytes().get(whole), Some(b'.' | b'e' | b'E'))
    {
        return Value::BigInt(number);
    }
    let mut end = whole;
    if text.as_bytes().get(end) == Some(&b'.') {
        end += 1 + digits(end + 1);
    }
    if matches!(text.as_bytes().get(end), Some(b'e' | b'E')) {
        let exponent = end + 1 + sign(end + 1);
        end = if digits(exponent) == 0 { end } else { exponent + digits(exponent) };
    }
    text[..end].parse::<f64>().map_or(Value::BigInt(0), Value::Double)
}

/// Whether a text is there and no number.
fn unread(text: Expr, number: Expr) -> Expr {
    let is_none = |expr: Expr| Expr::IsNull(Box::new(expr));
    Expr::And(vec![Expr::Not(Box::new(is_none(text))), is_none(number)])
}

fn is_zero(value: &Value) -> bool {
    value.is_null() || value.as_f64() == Some(0.0)
}

/// What comparing a number with a text that is none gives: the number is less, unless it is NULL.
fn constant(op: CompareOp, flipped: bool, number: Expr) -> Expr {
    use CompareOp as C;
    let holds = match op {
        C::Eq => false,
        C::NotEq => true,
        C::Lt | C::LtEq => !flipped,
        C::Gt | C::GtEq => flipped,
        C::Distinct => return Expr::literal(Value::Boolean(true)),
        C::NotDistinct => return Expr::literal(Value::Boolean(false)),
    };
    Expr::compare(if holds { C::Eq } else { C::NotEq }, number.clone(), number)
}

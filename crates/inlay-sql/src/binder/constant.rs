//! Values of constant expressions: LIMIT, arguments of table functions and procedures, settings.

use super::subquery::{attach, free_columns};
use super::{Binder, Output};
use crate::parser::ast::{self, Pos};
use crate::plan::{CompareOp, Expr, Plan};
use inlay_kernels::cast_value;
use inlay_types::{Error, LogicalType, Result, Value, Vector, limits};
use std::cmp::Ordering;

impl Binder<'_> {
    /// The value of an expression without columns; `place` is for the error if there are some.
    pub(super) fn constant(&mut self, expr: &ast::Expr, place: &str) -> Result<Value> {
        let pos = expr.pos;
        let (bound, pending) = self.isolated(|binder| binder.expr(expr))?;
        if !pending.is_empty() {
            return Err(self.at(Error::unsupported(format!("a subquery in {place}")), pos));
        }
        self.evaluate(&bound, pos, place)
    }

    /// As [`Binder::constant`]; what a query gives, or cannot be folded, is computed now.
    pub(super) fn constant_now(&mut self, expr: &ast::Expr, place: &str) -> Result<Value> {
        let pos = expr.pos;
        let (bound, pending) = self.isolated(|binder| binder.expr(expr))?;
        let is_open = !bound.columns().is_empty() && pending.is_empty();
        if pending.is_empty() && (is_open || !matches!(evaluate(&bound), Ok(None))) {
            return self.evaluate(&bound, pos, place);
        }
        let Some(run) = self.context.run else {
            return Err(self.at(Error::unsupported(format!("a subquery in {place}")), pos));
        };
        let id = self.columns.add("argument", super::coerce::concrete(bound.ty()));
        let bound = self.cast_to(bound, self.columns.ty(id), pos)?;
        let plan = attach(Plan::single_row(), pending, &self.columns).project(vec![(id, bound)]);
        if !free_columns(&plan).is_empty() {
            return Err(
                self.at(Error::bind(format!("{place} must be constant: it may not read columns")), pos)
            );
        }
        let rows = self.rows_of(run, &plan, &[Output { id, name: "argument".into() }]);
        let value = self.placed(rows, pos)?.into_iter().flatten().next();
        value.ok_or_else(|| Error::internal("a query of one row gave none"))
    }

    /// The value of a bound expression without columns.
    pub(super) fn evaluate(&self, expr: &Expr, pos: Pos, place: &str) -> Result<Value> {
        match evaluate(expr) {
            Ok(Some(value)) => Ok(value),
            Ok(None) => {
                Err(self.at(Error::bind(format!("{place} must be constant: it may not read columns")), pos))
            }
            Err(error) => Err(self.at(error, pos)),
        }
    }

    /// The number behind LIMIT or OFFSET; `None` for NULL.
    pub(super) fn row_count(&mut self, expr: &ast::Expr, place: &'static str) -> Result<Option<u64>> {
        let value = self.constant(expr, place)?;
        if value.is_null() {
            return Ok(None);
        }
        let value = self.placed(cast_value(&value, &LogicalType::BigInt), expr.pos)?;
        match value {
            Value::BigInt(count) => match u64::try_from(count) {
                Ok(count) => Ok(Some(count)),
                Err(_) => Err(self.at(Error::out_of_range(format!("{place} {count} is negative")), expr.pos)),
            },
            _ => Ok(None),
        }
    }
}

/// Bytes that a constant may have which a statement has to know before it runs.
const CONSTANT_SIZE_MAX: u64 = 1 << 24;
/// So many times its bytes the value of a list takes.
const VALUE_RATIO: usize = 6;

/// The value of `expr`, or `None` if it reads columns.
pub(super) fn evaluate(expr: &Expr) -> Result<Option<Value>> {
    let truth = |value: Value| match value {
        Value::Boolean(value) => Some(value),
        _ => None,
    };
    let from_truth = |value: Option<bool>| Some(value.map_or(Value::Null, Value::Boolean));
    Ok(match expr {
        Expr::Column { .. } => None,
        Expr::Literal { value, .. } => Some(value.clone()),
        Expr::Cast { input, ty, or_null, .. } => match (evaluate(input)?, or_null) {
            (None, _) => None,
            (Some(value), false) => Some(cast_value(&value, ty)?),
            (Some(value), true) => match cast_value(&value, ty) {
                Err(error) if error.root().is_of_values() => Some(Value::Null),
                value => Some(value?),
            },
        },
        Expr::Call { function, args, .. } => {
            let mut vectors = Vec::with_capacity(args.len());
            for (arg, ty) in args.iter().zip(&function.arg_types) {
                let Some(value) = evaluate(arg)? else { return Ok(None) };
                vectors.push(Vector::constant(ty.clone(), &value, 1)?);
            }
            let mut out = Vector::empty(function.return_type.clone());
            let vectors: Vec<&Vector> = vectors.iter().collect();
            limits::bounded(CONSTANT_SIZE_MAX, || function.kernel.eval(&vectors, 1, &mut out))?;
            let _room = limits::hold(VALUE_RATIO * out.text_size())?;
            Some(out.get(0))
        }
        Expr::Compare { op, left, right } => {
            let (Some(left), Some(right)) = (evaluate(left)?, evaluate(right)?) else { return Ok(None) };
            Some(compare(*op, &left, &right))
        }
        Expr::Not(input) => match evaluate(input)? {
            None => None,
            Some(value) => from_truth(truth(value).map(|value| !value)),
        },
        Expr::IsNull(input) => evaluate(input)?.map(|value| Value::Boolean(value.is_null())),
        Expr::And(inputs) | Expr::Or(inputs) => {
            let decisive = matches!(expr, Expr::Or(_));
            let mut result = Some(!decisive);
            for input in inputs {
                let Some(value) = evaluate(input)? else { return Ok(None) };
                match truth(value) {
                    Some(value) if value == decisive => return Ok(Some(Value::Boolean(decisive))),
                    Some(_) => {}
                    None => result = None,
                }
            }
            from_truth(result)
        }
        Expr::InList { input, list } => {
            let Some(wanted) = evaluate(input)? else { return Ok(None) };
            let mut result = Some(false);
            for item in list {
                let Some(item) = evaluate(item)? else { return Ok(None) };
                match truth(compare(CompareOp::Eq, &wanted, &item)) {
                    Some(true) => return Ok(Some(Value::Boolean(true))),
                    Some(false) => {}
                    None => result = None,
                }
            }
            from_truth(result)
        }
        Expr::InConstants { input, list } => {
            let Some(wanted) = evaluate(input)? else { return Ok(None) };
            let wanted = Vector::constant(list.values().logical_type(), &wanted, 1)?;
            Some(list.contains(&wanted, 1).get(0))
        }
        Expr::Case { branches, otherwise, .. } => {
            for (condition, value) in branches {
                let Some(condition) = evaluate(condition)? else { return Ok(None) };
                if truth(condition) == Some(true) {
                    return evaluate(value);
                }
            }
            evaluate(otherwise)?
        }
        Expr::Lambda(_) => return Ok(None),
        Expr::Coalesce { args, .. } => {
            for arg in args {
                match evaluate(arg)? {
                    Some(Value::Null) => {}
                    other => return Ok(other),
                }
            }
            Some(Value::Null)
        }
    })
}

fn compare(op: CompareOp, left: &Value, right: &Value) -> Value {
    let distinct = matches!(op, CompareOp::Distinct | CompareOp::NotDistinct);
    if !distinct && (left.is_null() || right.is_null()) {
        return Value::Null;
    }
    let order = left.total_cmp(right);
    Value::Boolean(match op {
        CompareOp::Eq | CompareOp::NotDistinct => order == Ordering::Equal,
        CompareOp::NotEq | CompareOp::Distinct => order != Ordering::Equal,
        CompareOp::Lt => order == Ordering::Less,
        CompareOp::LtEq => order != Ordering::Greater,
        CompareOp::Gt => order == Ordering::Greater,
        CompareOp::GtEq => order != Ordering::Less,
    })
}

//! The operators `+ - * / // %`, negation and bit operations: which types they take, and their loops.
//!
//! Integers and decimals fail on overflow; `//` and `%` of integers and decimals fail on zero ([`Error::DivisionByZero`]),
//! as does `/` under `integer_division`. Otherwise `/` is a division of floats, which follows IEEE 754 (`1 / 0` is inf),
//! as in DuckDB 2.0. Decimals: addition keeps the larger scale and gains a digit; a product adds scales, and precisions
//! up to 18 if both sides fit into 64 bits (checked), else up to 38.

mod decimal;
mod float;
mod integer;
pub mod temporal;

use crate::coercion::common_type;
pub use crate::function::{ScalarKernel, kernel};
use crate::resolve::{ArgType, ResolveOptions, Resolved};
use inlay_types::{Error, LogicalType, PhysicalType, Vector};
use std::sync::Arc;

/// An arithmetic operator of two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `//`: truncating.
    IntegerDivide,
    /// `%`
    Modulo,
}

impl Op {
    fn noun(self) -> &'static str {
        match self {
            Self::Add => "addition",
            Self::Subtract => "subtraction",
            Self::Multiply => "multiplication",
            Self::IntegerDivide => "division",
            Self::Modulo => "modulo",
        }
    }

    fn symbol(self) -> &'static str {
        match self {
            Self::Add => "+",
            Self::Subtract => "-",
            Self::Multiply => "*",
            Self::IntegerDivide => "//",
            Self::Modulo => "%",
        }
    }

    /// The error of `left op right`, both as text, in type `ty`.
    fn overflow(self, ty: &LogicalType, left: impl ToString, right: impl ToString) -> Error {
        let (left, right) = (left.to_string(), right.to_string());
        Error::out_of_range(format!("overflow in {ty} {}: {left} {} {right}", self.noun(), self.symbol()))
    }
}

/// Resolves a binary operator; `None` when the types do not fit.
pub fn resolve_binary(op: Op, args: &[ArgType], options: &ResolveOptions) -> Option<Resolved> {
    let [left, right] = args else { return None };
    if let Some(temporal) = temporal::resolve_binary(op, left, right, options) {
        return Some(temporal);
    }
    let (left, right) = operand_types(left, right)?;
    if left.is_decimal() && right.is_decimal() {
        return decimal::resolve(op, left, right);
    }
    let mut common = common_type(&left, &right)?;
    if common.is_decimal() {
        return decimal::resolve(op, decimal_of(left)?, decimal_of(right)?);
    }
    if common == LogicalType::Null {
        common = LogicalType::BigInt;
    }
    if !common.is_numeric() {
        return None;
    }
    let kernel = if common.is_float() {
        float::kernel_by_type(op, common.clone())
    } else {
        integer::kernel_by_type(op, common.clone())
    };
    Some(Resolved::fallible(vec![common.clone(); 2], common, kernel))
}

/// Resolves `/`.
pub fn resolve_divide(args: &[ArgType], options: &ResolveOptions) -> Option<Resolved> {
    let [left, right] = args else { return None };
    if left.ty == LogicalType::Interval {
        return temporal::resolve_interval_division(right);
    }
    let (left, right) = operand_types(left, right)?;
    if !left.is_numeric() || !right.is_numeric() {
        return None;
    }
    if options.integer_division && left.is_integer() && right.is_integer() {
        return resolve_binary(Op::IntegerDivide, args, options);
    }
    let is_real = (left == LogicalType::Real && right != LogicalType::Double)
        || (right == LogicalType::Real && left != LogicalType::Double);
    let ty = if is_real { LogicalType::Real } else { LogicalType::Double };
    Some(Resolved::infallible(vec![ty.clone(); 2], ty.clone(), float::divide(ty)))
}

/// Resolves unary minus.
pub fn resolve_negate(args: &[ArgType]) -> Option<Resolved> {
    let [arg] = args else { return None };
    let ty = match &arg.ty {
        LogicalType::Null => LogicalType::BigInt,
        LogicalType::Varchar if arg.is_literal => LogicalType::Double,
        ty => ty.clone(),
    };
    let kernel: Arc<dyn ScalarKernel> = match &ty {
        LogicalType::Interval => temporal::negate(),
        LogicalType::Real | LogicalType::Double => float::negate(ty.clone()),
        LogicalType::Decimal { .. } => {
            return Some(Resolved::infallible(vec![ty.clone()], ty.clone(), decimal::negate(ty)));
        }
        ty if ty.is_integer() => integer::negate(ty.clone()),
        _ => return None,
    };
    Some(Resolved::fallible(vec![ty.clone()], ty, kernel))
}

/// Resolves unary plus: the number as it is.
pub fn resolve_plus(arg: &ArgType) -> Option<Resolved> {
    let ty = if arg.ty == LogicalType::Null { LogicalType::BigInt } else { arg.ty.clone() };
    let same = |args: &[&Vector], _: usize, out: &mut Vector| {
        *out = args[0].clone();
        Ok(())
    };
    (ty.is_numeric() || ty == LogicalType::Interval)
        .then(|| Resolved::infallible(vec![ty.clone()], ty, kernel(same)))
}

/// Resolves `abs`.
pub fn resolve_abs(args: &[ArgType]) -> Option<Resolved> {
    let [arg] = args else { return None };
    let ty = match &arg.ty {
        LogicalType::Null => LogicalType::BigInt,
        LogicalType::Varchar if arg.is_literal => LogicalType::Double,
        ty => ty.clone(),
    };
    let kernel = match &ty {
        LogicalType::Real | LogicalType::Double => float::abs(ty.clone()),
        LogicalType::Decimal { .. } => {
            return Some(Resolved::infallible(vec![ty.clone()], ty.clone(), decimal::abs(ty)));
        }
        ty if ty.is_integer() => integer::abs(ty.clone()),
        _ => return None,
    };
    Some(Resolved::fallible(vec![ty.clone()], ty, kernel))
}

pub use decimal::scale_of;
pub use integer::{BitOp, resolve_bits, resolve_complement};

/// The types of both operands with literals adapted to the other side.
pub fn operand_types(left: &ArgType, right: &ArgType) -> Option<(LogicalType, LogicalType)> {
    let (l, r) = (left.adapted_to(&right.ty), right.adapted_to(&left.ty));
    let is_operand = |ty: LogicalType| ty.is_numeric() || ty == LogicalType::Null;
    (is_operand(l.clone()) && is_operand(r.clone())).then_some((l, r))
}

fn decimal_of(ty: LogicalType) -> Option<LogicalType> {
    match ty {
        LogicalType::Null => Some(LogicalType::decimal(1, 0)),
        LogicalType::Decimal { .. } => Some(ty),
        other => other.integer_as_decimal(),
    }
}

/// What stands for a type that a kernel was not made for.
fn unexpected(physical: PhysicalType) -> Arc<dyn ScalarKernel> {
    kernel(move |_, _, _| Err(Error::internal(format!("no arithmetic on {physical:?}"))))
}

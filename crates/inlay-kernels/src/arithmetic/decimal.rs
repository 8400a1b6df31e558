//! DECIMAL: integers under a scale. Operands arrive in the carrier of the result.
//!
//! Additions whose precision is not capped cannot overflow and are not checked. Products of 64-bit operands look at the
//! extremes of both sides first: if their product fits, the loop multiplies without checks (and vectorises).

use super::integer::Checked;
use super::{Op, unexpected};
use crate::apply::{map, null_argument, try_zip, try_zip_plain, undictionary, zip};
use crate::function::ScalarKernel;
use crate::function::kernel;
use crate::resolve::Resolved;
use inlay_types::logical_type::{DECIMAL_I64_DIGITS, DECIMAL_MAX_DIGITS};
use inlay_types::multiversion;
use inlay_types::value::write_decimal;
use inlay_types::{Error, LogicalType, PhysicalType, Result, Vector};
use std::sync::Arc;

macro_rules! with_decimal {
    ($ty:expr, $f:ident ( $($arg:expr),* )) => {
        match $ty.physical() {
            PhysicalType::I16 => $f::<i16>($($arg),*),
            PhysicalType::I32 => $f::<i32>($($arg),*),
            PhysicalType::I64 => $f::<i64>($($arg),*),
            PhysicalType::I128 => $f::<i128>($($arg),*),
            other => unexpected(other),
        }
    };
}

/// Resolves an operator of two decimals; `None` if the types do not fit, as when a product needs more than 38 digits
/// behind the point.
pub(super) fn resolve(op: Op, left: LogicalType, right: LogicalType) -> Option<Resolved> {
    let (
        LogicalType::Decimal { precision: p1, scale: s1 },
        LogicalType::Decimal { precision: p2, scale: s2 },
    ) = (left.clone(), right.clone())
    else {
        return None;
    };
    let digits = (p1 - s1).max(p2 - s2);
    match op {
        Op::Add | Op::Subtract => {
            let scale = s1.max(s2);
            let precision = digits + scale + 1;
            let ty = LogicalType::decimal(precision.min(DECIMAL_MAX_DIGITS), scale);
            let args = vec![operand(left, scale, ty.clone()), operand(right, scale, ty.clone())];
            if precision > DECIMAL_MAX_DIGITS {
                return Some(Resolved::fallible(args, ty.clone(), checked_sum(op, ty)));
            }
            Some(Resolved::infallible(args, ty.clone(), with_decimal!(ty, plain_sum(op, ty))))
        }
        Op::Multiply => {
            let scale = s1 + s2;
            if scale > DECIMAL_MAX_DIGITS {
                return None;
            }
            let needed = p1 + p2;
            let fits_i64 = p1.max(p2) <= DECIMAL_I64_DIGITS && scale < DECIMAL_I64_DIGITS;
            let precision =
                if fits_i64 { needed.min(DECIMAL_I64_DIGITS) } else { needed.min(DECIMAL_MAX_DIGITS) };
            let ty = LogicalType::decimal(precision, scale);
            let args = vec![operand(left, s1, ty.clone()), operand(right, s2, ty.clone())];
            if needed <= precision {
                return Some(Resolved::infallible(args, ty.clone(), with_decimal!(ty, plain_product(ty))));
            }
            Some(Resolved::fallible(args, ty.clone(), checked_product(ty, s1, s2)))
        }
        Op::Modulo => {
            let scale = s1.max(s2);
            let ty = LogicalType::decimal((digits + scale).min(DECIMAL_MAX_DIGITS), scale);
            let args = vec![operand(left, scale, ty.clone()), operand(right, scale, ty.clone())];
            Some(Resolved::fallible(args, ty.clone(), with_decimal!(ty, remainder(ty))))
        }
        Op::IntegerDivide => {
            let ty = LogicalType::Double;
            Some(Resolved::fallible(vec![ty.clone(); 2], ty.clone(), super::float::kernel_by_type(op, ty)))
        }
    }
}

/// The type an operand is cast to: of the wanted scale, in the carrier of `result`. Its own, if it is that already, so that
/// no cast stands between a column and the operator.
fn operand(own: LogicalType, scale: u8, result: LogicalType) -> LogicalType {
    let (LogicalType::Decimal { precision, scale: own_scale }, LogicalType::Decimal { precision: wide, .. }) =
        (own.clone(), result.clone())
    else {
        return result;
    };
    if own.physical() == result.physical() && own_scale == scale {
        own
    } else {
        LogicalType::decimal(wide.max(precision - own_scale + scale).min(DECIMAL_MAX_DIGITS), scale)
    }
}

fn plain_sum<T: Checked>(op: Op, ty: LogicalType) -> Arc<dyn ScalarKernel> {
    if op == Op::Add {
        kernel(move |args, len, out| zip(args, &ty, len, out, |a: T, b: T| a.add(b).0))
    } else {
        kernel(move |args, len, out| zip(args, &ty, len, out, |a: T, b: T| a.sub(b).0))
    }
}

const LIMIT_I128: i128 = 10i128.pow(38) - 1;
const LIMIT_I64: i64 = 10i64.pow(18) - 1;

/// Sums in 38 digits.
fn checked_sum(op: Op, ty: LogicalType) -> Arc<dyn ScalarKernel> {
    let scale = scale_of(ty.clone());
    let sum = move |a: i128, b: i128| {
        let (value, wrong) = if op == Op::Add { a.add(b) } else { a.sub(b) };
        (value, wrong || value.unsigned_abs() > LIMIT_I128 as u128)
    };
    kernel(move |args, len, out| {
        try_zip(args, &ty, len, out, sum, |a, b| op.overflow(&ty, text(a, scale), text(b, scale)))
    })
}

fn plain_product<T: Checked>(ty: LogicalType) -> Arc<dyn ScalarKernel> {
    kernel(move |args, len, out| zip(args, &ty, len, out, |a: T, b: T| a.mul(b).0))
}

fn checked_product(ty: LogicalType, left_scale: u8, right_scale: u8) -> Arc<dyn ScalarKernel> {
    if ty.physical() == PhysicalType::I64 {
        return kernel(move |args, len, out| {
            multiply_i64(args, &ty, len, out, LIMIT_I64, |a, b| {
                Op::Multiply.overflow(&ty, text(a.into(), left_scale), text(b.into(), right_scale))
            })
        });
    }
    let product = |a: i128, b: i128| {
        let (value, wrong) = Checked::mul(a, b);
        (value, wrong || value.unsigned_abs() > LIMIT_I128 as u128)
    };
    kernel(move |args, len, out| {
        try_zip(args, &ty, len, out, product, |a, b| {
            Op::Multiply.overflow(&ty, text(a, left_scale), text(b, right_scale))
        })
    })
}

/// `args[0] * args[1]` in 64 bits, where results beyond `±limit` are errors.
pub(super) fn multiply_i64(
    args: &[&Vector],
    ty: &LogicalType,
    len: usize,
    out: &mut Vector,
    limit: i64,
    error: impl Fn(i64, i64) -> Error,
) -> Result<()> {
    if null_argument(args, &ty.clone(), len, out) {
        return Ok(());
    }
    let (left, right) = (undictionary(args[0]), undictionary(args[1]));
    let args = [&*left, &*right];
    let largest = magnitude(left.values::<i64>()) * magnitude(right.values::<i64>());
    if largest <= limit.unsigned_abs().into() {
        return zip(&args, ty, len, out, |a: i64, b: i64| a.wrapping_mul(b));
    }
    let product = |a: i64, b: i64| {
        let (value, wrong) = a.overflowing_mul(b);
        // -2^63 is a BIGINT; decimals stop far before it.
        (value, wrong | (value.unsigned_abs() > limit.unsigned_abs() + u64::from(limit == i64::MAX)))
    };
    try_zip(&args, ty, len, out, product, error)
}

/// The largest absolute value.
fn magnitude(values: &[i64]) -> u128 {
    let (low, high) = extremes(values);
    u128::from(low.unsigned_abs().max(high.unsigned_abs()))
}

multiversion! {
    fn extremes[](values: &[i64]) -> (i64, i64) {
        let (mut low, mut high) = (0i64, 0i64);
        for &value in values {
            low = low.min(value);
            high = high.max(value);
        }
        (low, high)
    }
}

fn remainder<T: Checked>(ty: LogicalType) -> Arc<dyn ScalarKernel> {
    kernel(move |args, len, out| try_zip_plain(args, &ty, len, out, T::rem, |_, _| Error::DivisionByZero))
}

fn negate_of<T: Checked>(ty: LogicalType) -> Arc<dyn ScalarKernel> {
    kernel(move |args, len, out| map(args[0], &ty, len, out, |a: T| a.neg().0))
}

/// Unary minus; decimals are symmetric, so nothing overflows.
pub(super) fn negate(ty: LogicalType) -> Arc<dyn ScalarKernel> {
    with_decimal!(ty, negate_of(ty))
}

fn abs_of<T: Checked>(ty: LogicalType) -> Arc<dyn ScalarKernel> {
    kernel(move |args, len, out| map(args[0], &ty, len, out, |a: T| a.abs().0))
}

/// Magnitude.
pub(super) fn abs(ty: LogicalType) -> Arc<dyn ScalarKernel> {
    with_decimal!(ty, abs_of(ty))
}

/// Digits behind the point of a DECIMAL; 0 for other types.
pub fn scale_of(ty: LogicalType) -> u8 {
    if let LogicalType::Decimal { scale, .. } = ty { scale } else { 0 }
}

fn text(unscaled: i128, scale: u8) -> String {
    let mut text = String::new();
    write_decimal(&mut text, unscaled, scale);
    text
}

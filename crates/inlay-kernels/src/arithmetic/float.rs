//! REAL and DOUBLE, by IEEE 754: nothing fails but `//` by zero.

use super::{Op, unexpected};
use crate::apply::{map, try_zip_plain, zip, zip_simple};
use crate::function::ScalarKernel;
use crate::function::kernel;
use inlay_types::{Error, LogicalType, Native, PhysicalType};
use std::ops::{Add, Div, Mul, Neg, Rem, Sub};
use std::sync::Arc;

pub trait Float:
    Native
    + PartialEq
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Rem<Output = Self>
    + Neg<Output = Self>
{
    fn magnitude(self) -> Self;
}

impl Float for f32 {
    #[inline(always)]
    fn magnitude(self) -> Self {
        self.abs()
    }
}

impl Float for f64 {
    #[inline(always)]
    fn magnitude(self) -> Self {
        self.abs()
    }
}

macro_rules! with_float {
    ($ty:expr, $f:ident ( $($arg:expr),* )) => {
        match $ty.physical() {
            PhysicalType::F32 => $f::<f32>($($arg),*),
            PhysicalType::F64 => $f::<f64>($($arg),*),
            other => unexpected(other),
        }
    };
}

fn kernel_of<T: Float>(op: Op, ty: LogicalType) -> Arc<dyn ScalarKernel> {
    match op {
        Op::Add => kernel(move |args, len, out| zip(args, &ty, len, out, |a: T, b: T| a + b)),
        Op::Subtract => kernel(move |args, len, out| zip(args, &ty, len, out, |a: T, b: T| a - b)),
        Op::Multiply => kernel(move |args, len, out| zip(args, &ty, len, out, |a: T, b: T| a * b)),
        Op::Modulo => kernel(move |args, len, out| zip_simple(args, &ty, len, out, |a: T, b: T| a % b)),
        Op::IntegerDivide => {
            let quotient = |a: T, b: T| (a / b, b == T::default());
            kernel(move |args, len, out| {
                try_zip_plain(args, &ty, len, out, quotient, |_, _| Error::DivisionByZero)
            })
        }
    }
}

/// The kernel of `op` for two floats of type `ty`.
pub(super) fn kernel_by_type(op: Op, ty: LogicalType) -> Arc<dyn ScalarKernel> {
    with_float!(ty, kernel_of(op, ty))
}

fn divide_of<T: Float>(ty: LogicalType) -> Arc<dyn ScalarKernel> {
    kernel(move |args, len, out| zip(args, &ty, len, out, |a: T, b: T| a / b))
}

/// `/`
pub(super) fn divide(ty: LogicalType) -> Arc<dyn ScalarKernel> {
    with_float!(ty, divide_of(ty))
}

fn negate_of<T: Float>(ty: LogicalType) -> Arc<dyn ScalarKernel> {
    kernel(move |args, len, out| map(args[0], &ty, len, out, |a: T| -a))
}

/// Unary minus.
pub(super) fn negate(ty: LogicalType) -> Arc<dyn ScalarKernel> {
    with_float!(ty, negate_of(ty))
}

fn abs_of<T: Float>(ty: LogicalType) -> Arc<dyn ScalarKernel> {
    kernel(move |args, len, out| map(args[0], &ty, len, out, T::magnitude))
}

/// Magnitude.
pub(super) fn abs(ty: LogicalType) -> Arc<dyn ScalarKernel> {
    with_float!(ty, abs_of(ty))
}

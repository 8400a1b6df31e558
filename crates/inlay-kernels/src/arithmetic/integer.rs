//! Integers of 8 to 128 bits, signed and unsigned. Results are checked; checks are flags, not branches.

use super::{Op, unexpected};
use crate::apply::{map, try_map, try_zip, try_zip_plain, zip_simple};
use crate::coercion::common_type;
use crate::function::ScalarKernel;
use crate::function::kernel;
use crate::resolve::{ArgType, Resolved};
use inlay_types::{Error, LogicalType, Native, PhysicalType};
use std::sync::Arc;

/// An integer with arithmetic that returns the wrapped result and whether it is wrong.
pub trait Checked: Native + std::fmt::Display + Eq {
    fn add(self, other: Self) -> (Self, bool);
    fn sub(self, other: Self) -> (Self, bool);
    fn mul(self, other: Self) -> (Self, bool);
    fn div(self, other: Self) -> (Self, bool);
    fn rem(self, other: Self) -> (Self, bool);
    fn neg(self) -> (Self, bool);
    fn abs(self) -> (Self, bool);
    fn shl(self, by: Self) -> (Self, bool);
    fn shr(self, by: Self) -> Self;
}

macro_rules! checked_division {
    ($t:ty) => {
        #[inline(always)]
        fn div(self, other: Self) -> (Self, bool) {
            match self.checked_div(other) {
                Some(value) => (value, false),
                None => (0, true),
            }
        }
        #[inline(always)]
        fn rem(self, other: Self) -> (Self, bool) {
            if other == 0 { (0, true) } else { (self.wrapping_rem(other), false) }
        }
        #[inline(always)]
        fn shl(self, by: Self) -> (Self, bool) {
            // DuckDB: a negative number or count is an error, as is a result that loses bits.
            #[allow(unused_comparisons)]
            let negative = self < 0 || by < 0;
            if negative {
                return (0, true);
            }
            if by >= <$t>::BITS as $t {
                return (0, self != 0);
            }
            let shifted = self << by;
            (shifted, shifted >> by != self)
        }
        #[inline(always)]
        fn shr(self, by: Self) -> Self {
            #[allow(unused_comparisons)]
            let outside = by < 0 || by >= <$t>::BITS as $t;
            if outside { 0 } else { self >> by }
        }
    };
}

macro_rules! checked_signed {
    ($($t:ty, $wide:ty);*) => { $(
        impl Checked for $t {
            #[inline(always)]
            fn add(self, other: Self) -> (Self, bool) {
                let sum = self.wrapping_add(other);
                (sum, (self ^ sum) & (other ^ sum) < 0)
            }
            #[inline(always)]
            fn sub(self, other: Self) -> (Self, bool) {
                let difference = self.wrapping_sub(other);
                (difference, (self ^ other) & (self ^ difference) < 0)
            }
            #[inline(always)]
            fn mul(self, other: Self) -> (Self, bool) {
                // A wider product keeps the loop free of flag registers.
                let product = <$wide>::from(self) * <$wide>::from(other);
                (product as $t, product != <$wide>::from(product as $t))
            }
            #[inline(always)]
            fn neg(self) -> (Self, bool) {
                (self.wrapping_neg(), self == <$t>::MIN)
            }
            #[inline(always)]
            fn abs(self) -> (Self, bool) {
                (self.wrapping_abs(), self == <$t>::MIN)
            }
            checked_division!($t);
        }
    )* };
}
checked_signed!(i8, i32; i16, i32; i32, i64);

macro_rules! checked_wide {
    ($($t:ty, $product:path);*) => { $(
        impl Checked for $t {
            #[inline(always)]
            fn add(self, other: Self) -> (Self, bool) {
                let sum = self.wrapping_add(other);
                (sum, (self ^ sum) & (other ^ sum) < 0)
            }
            #[inline(always)]
            fn sub(self, other: Self) -> (Self, bool) {
                let difference = self.wrapping_sub(other);
                (difference, (self ^ other) & (self ^ difference) < 0)
            }
            #[inline(always)]
            fn mul(self, other: Self) -> (Self, bool) {
                $product(self, other)
            }
            #[inline(always)]
            fn neg(self) -> (Self, bool) {
                (self.wrapping_neg(), self == <$t>::MIN)
            }
            #[inline(always)]
            fn abs(self) -> (Self, bool) {
                (self.wrapping_abs(), self == <$t>::MIN)
            }
            checked_division!($t);
        }
    )* };
}
checked_wide!(i64, i64::overflowing_mul; i128, product_i128);

/// Most numbers have no more than 64 bits, and one instruction multiplies these.
#[inline(always)]
fn product_i128(left: i128, right: i128) -> (i128, bool) {
    let (low_left, low_right) = (i128::from(left as i64), i128::from(right as i64));
    if low_left == left && low_right == right {
        (low_left * low_right, false)
    } else {
        left.overflowing_mul(right)
    }
}

macro_rules! checked_unsigned {
    ($($t:ty),*) => { $(
        impl Checked for $t {
            #[inline(always)]
            fn add(self, other: Self) -> (Self, bool) {
                let sum = self.wrapping_add(other);
                (sum, sum < self)
            }
            #[inline(always)]
            fn sub(self, other: Self) -> (Self, bool) {
                (self.wrapping_sub(other), self < other)
            }
            #[inline(always)]
            fn mul(self, other: Self) -> (Self, bool) {
                self.overflowing_mul(other)
            }
            #[inline(always)]
            fn neg(self) -> (Self, bool) {
                (self.wrapping_neg(), self != 0)
            }
            #[inline(always)]
            fn abs(self) -> (Self, bool) {
                (self, false)
            }
            checked_division!($t);
        }
    )* };
}
checked_unsigned!(u8, u16, u32, u64, u128);

/// Calls a generic function with the carrier of an integer type.
macro_rules! with_integer {
    ($ty:expr, $f:ident ( $($arg:expr),* )) => {
        match $ty.physical() {
            PhysicalType::I8 => $f::<i8>($($arg),*),
            PhysicalType::I16 => $f::<i16>($($arg),*),
            PhysicalType::I32 => $f::<i32>($($arg),*),
            PhysicalType::I64 => $f::<i64>($($arg),*),
            PhysicalType::I128 => $f::<i128>($($arg),*),
            PhysicalType::U8 => $f::<u8>($($arg),*),
            PhysicalType::U16 => $f::<u16>($($arg),*),
            PhysicalType::U32 => $f::<u32>($($arg),*),
            PhysicalType::U64 => $f::<u64>($($arg),*),
            PhysicalType::U128 => $f::<u128>($($arg),*),
            other => unexpected(other),
        }
    };
}

/// The kernel of `op` for two integers of type `ty`.
pub(super) fn kernel_of<T: Checked>(op: Op, ty: LogicalType) -> Arc<dyn ScalarKernel> {
    macro_rules! checked {
        ($run:ident, $f:expr) => {
            kernel(move |args, len, out| $run(args, &ty, len, out, $f, |a: T, b: T| op.overflow(&ty, a, b)))
        };
    }
    let division = move |ty: &LogicalType, a: T, b: T| {
        if b == T::default() { Error::DivisionByZero } else { op.overflow(ty, a, b) }
    };
    match op {
        Op::Add => checked!(try_zip, T::add),
        Op::Subtract => checked!(try_zip, T::sub),
        Op::Multiply if ty == LogicalType::BigInt => kernel(move |args, len, out| {
            let overflow = |a: i64, b: i64| op.overflow(&ty, a, b);
            super::decimal::multiply_i64(args, &ty, len, out, i64::MAX, overflow)
        }),
        Op::Multiply => checked!(try_zip, T::mul),
        Op::IntegerDivide => kernel(move |args, len, out| {
            try_zip_plain(args, &ty, len, out, T::div, |a, b| division(&ty, a, b))
        }),
        Op::Modulo => kernel(move |args, len, out| {
            try_zip_plain(args, &ty, len, out, T::rem, |a, b| division(&ty, a, b))
        }),
    }
}

pub(super) fn kernel_by_type(op: Op, ty: LogicalType) -> Arc<dyn ScalarKernel> {
    with_integer!(ty, kernel_of(op, ty))
}

fn negate_of<T: Checked>(ty: LogicalType) -> Arc<dyn ScalarKernel> {
    kernel(move |args, len, out| {
        let error = |a: T| Error::out_of_range(format!("overflow in {ty} negation: -({a})"));
        try_map(args[0], &ty, len, out, T::neg, error)
    })
}

/// Unary minus.
pub(super) fn negate(ty: LogicalType) -> Arc<dyn ScalarKernel> {
    with_integer!(ty, negate_of(ty))
}

fn abs_of<T: Checked>(ty: LogicalType) -> Arc<dyn ScalarKernel> {
    kernel(move |args, len, out| {
        let error = |a: T| Error::out_of_range(format!("overflow in {ty} abs: abs({a})"));
        try_map(args[0], &ty, len, out, T::abs, error)
    })
}

/// Magnitude.
pub(super) fn abs(ty: LogicalType) -> Arc<dyn ScalarKernel> {
    with_integer!(ty, abs_of(ty))
}

/// An operation on bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BitOp {
    /// `&`
    And,
    /// `|`
    Or,
    /// `xor`
    Xor,
    /// `<<`
    ShiftLeft,
    /// `>>`
    ShiftRight,
}

fn bits_of<T>(op: BitOp, ty: LogicalType) -> Arc<dyn ScalarKernel>
where
    T: Checked + std::ops::BitAnd<Output = T> + std::ops::BitOr<Output = T> + std::ops::BitXor<Output = T>,
{
    match op {
        BitOp::And => kernel(move |args, len, out| zip_simple(args, &ty, len, out, |a: T, b: T| a & b)),
        BitOp::Or => kernel(move |args, len, out| zip_simple(args, &ty, len, out, |a: T, b: T| a | b)),
        BitOp::Xor => kernel(move |args, len, out| zip_simple(args, &ty, len, out, |a: T, b: T| a ^ b)),
        BitOp::ShiftLeft => kernel(move |args, len, out| {
            let overflow =
                |a: T, b: T| Error::out_of_range(format!("overflow in {ty} left shift: {a} << {b}"));
            try_zip_plain(args, &ty, len, out, T::shl, overflow)
        }),
        BitOp::ShiftRight => kernel(move |args, len, out| zip_simple(args, &ty, len, out, T::shr)),
    }
}

/// Resolves `& | << >>` and xor.
pub fn resolve_bits(op: BitOp, args: &[ArgType]) -> Option<Resolved> {
    let [left, right] = args else { return None };
    let (left, right) = super::operand_types(left, right)?;
    let ty = match common_type(&left, &right)? {
        LogicalType::Null => LogicalType::BigInt,
        ty => ty,
    };
    if !ty.is_integer() {
        return None;
    }
    Some(Resolved::fallible(vec![ty.clone(); 2], ty.clone(), with_integer!(ty, bits_of(op, ty))))
}

fn complement_of<T: Checked + std::ops::Not<Output = T>>(ty: LogicalType) -> Arc<dyn ScalarKernel> {
    kernel(move |args, len, out| map(args[0], &ty, len, out, |a: T| !a))
}

/// Resolves `~`.
pub fn resolve_complement(args: &[ArgType]) -> Option<Resolved> {
    let [arg] = args else { return None };
    let ty = if arg.ty == LogicalType::Null { LogicalType::BigInt } else { arg.ty.clone() };
    ty.is_integer()
        .then(|| Resolved::infallible(vec![ty.clone()], ty.clone(), with_integer!(ty, complement_of(ty))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_of_128_bits_are_those_that_overflow_as_they_should() {
        let ends = [0, 1, 2, 10, i128::from(i32::MAX), i128::from(i64::MAX), 1 << 64, 1 << 96, i128::MAX];
        let numbers: Vec<i128> =
            ends.iter().flat_map(|&end| [end, -end, end.wrapping_add(1), -1 - end]).collect();
        for &left in &numbers {
            for &right in &numbers {
                let (product, wrong) = Checked::mul(left, right);
                assert_eq!(wrong, left.checked_mul(right).is_none(), "{left} * {right}");
                assert_eq!(product, left.wrapping_mul(right), "{left} * {right}");
            }
        }
    }
}

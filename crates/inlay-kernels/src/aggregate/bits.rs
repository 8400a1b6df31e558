//! `bool_and`, `bool_or`, `bit_and`, `bit_or`, `bit_xor`, `product`.

use super::GroupedAccumulator;
use super::fold::{Fold, Folding};
use crate::function::{AggregateFunction, AggregateKind};
use inlay_types::{Error, Native, PhysicalType, Result};
use std::marker::PhantomData;
use std::ops::{BitAnd, BitOr, BitXor};

/// Integers without bits set, and with all bits set.
trait Integer: Native + BitAnd<Output = Self> + BitOr<Output = Self> + BitXor<Output = Self> {
    const ZERO: Self;
    const ONES: Self;
}
macro_rules! integer {
    ($($t:ty),*) => { $( impl Integer for $t { const ZERO: Self = 0; const ONES: Self = !0; } )* };
}
integer!(i8, i16, i32, i64, i128, u8, u16, u32, u64, u128);

macro_rules! bit_fold {
    ($name:ident, $empty:expr, $op:tt) => {
        struct $name<T>(PhantomData<T>);
        impl<T: Integer> Fold for $name<T> {
            type Input = T;
            type State = T;
            type Output = T;
            fn empty() -> T {
                $empty
            }
            #[inline(always)]
            fn add(state: &mut T, value: T) {
                *state = *state $op value;
            }
            fn merge(state: &mut T, other: &T) {
                Self::add(state, *other);
            }
            fn result(state: &T) -> T {
                *state
            }
        }
    };
}
bit_fold!(And, T::ONES, &);
bit_fold!(Or, T::ZERO, |);
bit_fold!(Xor, T::ZERO, ^);

/// `bool_and`: TRUE is 1, so the empty state is 1, not all bits.
struct BoolAnd;
impl Fold for BoolAnd {
    type Input = u8;
    type State = u8;
    type Output = u8;
    fn empty() -> u8 {
        1
    }
    #[inline(always)]
    fn add(state: &mut u8, value: u8) {
        *state &= value;
    }
    fn merge(state: &mut u8, other: &u8) {
        *state &= other;
    }
    fn result(state: &u8) -> u8 {
        *state
    }
}

struct Product;
impl Fold for Product {
    type Input = f64;
    type State = f64;
    type Output = f64;
    fn empty() -> f64 {
        1.0
    }
    #[inline(always)]
    fn add(state: &mut f64, value: f64) {
        *state *= value;
    }
    fn merge(state: &mut f64, other: &f64) {
        *state *= other;
    }
    fn result(state: &f64) -> f64 {
        *state
    }
}

pub(super) fn create(function: &AggregateFunction, total: bool) -> Result<Box<dyn GroupedAccumulator>> {
    let ty = function.return_type.clone();
    let carrier = function.arg_types[0].physical();
    macro_rules! by_carrier {
        ($fold:ident) => {
            match carrier {
                PhysicalType::I8 => Ok(Folding::<$fold<i8>>::boxed(ty, total)),
                PhysicalType::I16 => Ok(Folding::<$fold<i16>>::boxed(ty, total)),
                PhysicalType::I32 => Ok(Folding::<$fold<i32>>::boxed(ty, total)),
                PhysicalType::I64 => Ok(Folding::<$fold<i64>>::boxed(ty, total)),
                PhysicalType::I128 => Ok(Folding::<$fold<i128>>::boxed(ty, total)),
                PhysicalType::U8 | PhysicalType::Bool => Ok(Folding::<$fold<u8>>::boxed(ty, total)),
                PhysicalType::U16 => Ok(Folding::<$fold<u16>>::boxed(ty, total)),
                PhysicalType::U32 => Ok(Folding::<$fold<u32>>::boxed(ty, total)),
                PhysicalType::U64 => Ok(Folding::<$fold<u64>>::boxed(ty, total)),
                PhysicalType::U128 => Ok(Folding::<$fold<u128>>::boxed(ty, total)),
                PhysicalType::F32 | PhysicalType::F64 | PhysicalType::View | PhysicalType::Interval => {
                    Err(unsupported(function))
                }
            }
        };
    }
    match function.kind {
        AggregateKind::BoolAnd => Ok(Folding::<BoolAnd>::boxed(ty, total)),
        AggregateKind::BoolOr => Ok(Folding::<Or<u8>>::boxed(ty, total)),
        AggregateKind::BitAnd => by_carrier!(And),
        AggregateKind::BitOr => by_carrier!(Or),
        AggregateKind::BitXor => by_carrier!(Xor),
        AggregateKind::Product if carrier == PhysicalType::F64 => Ok(Folding::<Product>::boxed(ty, total)),
        _ => Err(unsupported(function)),
    }
}

/// No accumulator for these argument types: the registry promised more than there is.
pub(super) fn unsupported(function: &AggregateFunction) -> Error {
    let types: Vec<String> = function.arg_types.iter().map(|ty| ty.to_string()).collect();
    Error::unsupported(format!("aggregate {}({})", function.name, types.join(", ")))
}

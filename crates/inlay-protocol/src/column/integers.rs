//! Integers of any width as what they are above the least of them.

use inlay_types::{Bitmap, Native, PhysicalType};

/// A carrier that frames of reference are made of.
pub(super) trait Integer: Native + Ord {
    /// As the widest of them.
    fn widest(self) -> i128;
    /// What it is above `base`, cut to 64 bits.
    fn above(self, base: Self) -> u64;
    /// The inverse, whatever `offset` is.
    fn from_base(base: Self, offset: u64) -> Self;
    /// The carrier's part of a number.
    fn cut(number: i128) -> Self;
}

macro_rules! integer {
    ($($t:ty as $u:ty),*) => { $(
        impl Integer for $t {
            fn widest(self) -> i128 { self as i128 }
            #[inline(always)]
            fn above(self, base: Self) -> u64 { self.wrapping_sub(base) as $u as u64 }
            #[inline(always)]
            fn from_base(base: Self, offset: u64) -> Self { base.wrapping_add(offset as $t) }
            fn cut(number: i128) -> Self { number as $t }
        }
    )* };
}
integer!(
    i8 as u8,
    i16 as u16,
    i32 as u32,
    i64 as u64,
    i128 as u128,
    u8 as u8,
    u16 as u16,
    u32 as u32,
    u64 as u64,
    u128 as u128
);

/// The least and the greatest of the values that are not NULL.
pub(super) fn range<T: Integer>(values: &[T], validity: Option<&Bitmap>) -> Option<(T, T)> {
    let mut valid = match validity {
        None => {
            let first = *values.first()?;
            // Several at a time, none of which waits for another.
            let (eights, rest) = values.as_chunks::<8>();
            let (mut least, mut most) = ([first; 8], [first; 8]);
            for eight in eights {
                for lane in 0..8 {
                    least[lane] = least[lane].min(eight[lane]);
                    most[lane] = most[lane].max(eight[lane]);
                }
            }
            let least = least.iter().chain(rest).fold(first, |least, value| least.min(*value));
            return Some((least, most.iter().chain(rest).fold(first, |most, value| most.max(*value))));
        }
        Some(validity) => {
            values.iter().enumerate().filter(|(row, _)| validity.get(*row)).map(|(_, value)| *value)
        }
    };
    let first = valid.next()?;
    Some(valid.fold((first, first), |(least, most), value| (least.min(value), most.max(value))))
}

/// Whether frames of reference are made of a carrier.
pub(super) fn is_integer(physical: PhysicalType) -> bool {
    match physical {
        PhysicalType::I8 | PhysicalType::I16 | PhysicalType::I32 | PhysicalType::I64 | PhysicalType::I128 => {
            true
        }
        PhysicalType::U8 | PhysicalType::U16 | PhysicalType::U32 | PhysicalType::U64 | PhysicalType::U128 => {
            true
        }
        PhysicalType::Bool | PhysicalType::F32 | PhysicalType::F64 => false,
        PhysicalType::View | PhysicalType::Interval => false,
    }
}

//! Group keys as small numbers: each key column becomes a digit, and the digits of a row one number.
//!
//! ```text
//! integer column   digit = value - min + 1   (0 for NULL), at most range + 1
//! string column    digit = number given to the string when first seen (0 for NULL)
//! code of a row    digit[0] * stride[0] + digit[1] * stride[1] + ...
//! ```
//! With small radices the code indexes an array (`direct`), with larger ones it is a packed key (`packed`). A value outside of
//! its range makes the batch a misfit before anything was changed; the table then chooses another encoding.

use crate::operator::hash_join::keys;
use crate::operator::interner::Interner;
use inlay_types::{LogicalType, Native, PhysicalType, Vector};

/// Why a batch cannot be encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Misfit {
    /// An integer is outside of its range.
    Range,
    /// There are more distinct strings than digits.
    Strings,
    /// Keys do not ascend.
    Order,
}

/// How a column becomes digits.
#[derive(Debug)]
pub(super) enum Digits {
    /// Values `min ..= min + range`, as 64-bit words.
    Int {
        min: u64,
        range: u64,
    },
    Strings(Box<Interner>),
}

impl Digits {
    /// Number of digits, with that of NULL.
    pub(super) fn radix(&self) -> u128 {
        match self {
            Self::Int { range, .. } => u128::from(*range) + 2,
            Self::Strings(interner) => interner.capacity() as u128 + 1,
        }
    }

    /// Bytes held.
    pub(super) fn memory_size(&self) -> usize {
        match self {
            Self::Int { .. } => 0,
            Self::Strings(interner) => interner.memory_size(),
        }
    }
}

/// Whether values of a type can be digits by their 64-bit words.
pub(super) fn is_word(ty: &LogicalType) -> bool {
    keys::is_word(ty.physical())
}

/// Least word and range of all values of a type, for types of up to 32 bits.
pub(super) fn type_range(ty: &LogicalType) -> Option<(u64, u64)> {
    match ty.physical() {
        PhysicalType::Bool => Some((0, 1)),
        PhysicalType::U8 => Some((0, u64::from(u8::MAX))),
        PhysicalType::I8 => Some((i8::MIN as i64 as u64, u64::from(u8::MAX))),
        PhysicalType::U16 => Some((0, u64::from(u16::MAX))),
        PhysicalType::I16 => Some((i16::MIN as i64 as u64, u64::from(u16::MAX))),
        PhysicalType::U32 | PhysicalType::F32 => Some((0, u64::from(u32::MAX))),
        PhysicalType::I32 => Some((i32::MIN as i64 as u64, u64::from(u32::MAX))),
        _ => None,
    }
}

/// A carrier as a 64-bit word that keeps differences.
pub(super) trait Word: Native {
    fn word(self) -> u64;
}
macro_rules! word {
    ($($t:ty: $value:ident => $word:expr),*) => { $(
        impl Word for $t {
            #[inline(always)]
            fn word(self) -> u64 {
                let $value = self;
                $word
            }
        }
    )* };
}
word!(i8: v => v as i64 as u64, i16: v => v as i64 as u64, i32: v => v as i64 as u64, i64: v => v as u64,
    u8: v => u64::from(v), u16: v => u64::from(v), u32: v => u64::from(v), u64: v => v,
    f32: v => u64::from(v.to_bits()), f64: v => v.to_bits());

/// Runs `$body` with `$values` bound to the words' carrier slice of a flat vector.
macro_rules! with_words {
    ($vector:expr, $values:ident, $body:expr, $otherwise:expr) => {
        match $vector.physical_type() {
            PhysicalType::Bool | PhysicalType::U8 => with_words!(@ u8, $vector, $values, $body),
            PhysicalType::I8 => with_words!(@ i8, $vector, $values, $body),
            PhysicalType::I16 => with_words!(@ i16, $vector, $values, $body),
            PhysicalType::I32 => with_words!(@ i32, $vector, $values, $body),
            PhysicalType::I64 => with_words!(@ i64, $vector, $values, $body),
            PhysicalType::U16 => with_words!(@ u16, $vector, $values, $body),
            PhysicalType::U32 => with_words!(@ u32, $vector, $values, $body),
            PhysicalType::U64 => with_words!(@ u64, $vector, $values, $body),
            PhysicalType::F32 => with_words!(@ f32, $vector, $values, $body),
            PhysicalType::F64 => with_words!(@ f64, $vector, $values, $body),
            PhysicalType::I128 | PhysicalType::U128 | PhysicalType::View | PhysicalType::Interval => $otherwise,
        }
    };
    (@ $t:ty, $vector:expr, $values:ident, $body:expr) => {{
        let $values = $vector.values::<$t>();
        $body
    }};
}

pub(super) use with_words;

/// Least word and range of the values of a flat vector; `None` if there are none. Signed values are ordered as such.
pub(super) fn observed_range(vector: &Vector) -> Option<(u64, u64)> {
    fn bounds<T: Word>(values: &[T], vector: &Vector) -> Option<(i64, i64)> {
        let mut bounds = None;
        for (row, &value) in values.iter().enumerate() {
            if vector.validity().is_some() && vector.is_null(row) {
                continue;
            }
            let word = value.word() as i64;
            let (low, high) = bounds.get_or_insert((word, word));
            *low = (*low).min(word);
            *high = (*high).max(word);
        }
        bounds
    }
    let bounds = with_words!(vector, values, bounds(values, vector), None);
    bounds.map(|(low, high)| (low as u64, (high as u64).wrapping_sub(low as u64)))
}

/// Adds `digit * stride` of each row to `codes` (or sets it, if `first`).
pub(super) fn add_digits(
    digits: &mut Digits,
    stride: u64,
    key: &Vector,
    first: bool,
    codes: &mut [u64],
) -> Result<(), Misfit> {
    match digits {
        Digits::Int { min, range } => {
            let (min, range) = (*min, *range);
            with_words!(
                key,
                values,
                int_digits(values, key, min, range, stride, first, codes),
                Err(Misfit::Range)
            )
        }
        Digits::Strings(interner) => {
            interner.add_digits(key, stride, first, codes).map_err(|_| Misfit::Strings)
        }
    }
}

fn int_digits<T: Word>(
    values: &[T],
    key: &Vector,
    min: u64,
    range: u64,
    stride: u64,
    first: bool,
    codes: &mut [u64],
) -> Result<(), Misfit> {
    let mut largest = 0;
    if let Some(validity) = key.validity() {
        for (row, (code, &value)) in codes.iter_mut().zip(values).enumerate() {
            let valid = validity.get(row);
            let offset = if valid { value.word().wrapping_sub(min) } else { 0 };
            largest = largest.max(offset);
            let digit = if valid { offset.wrapping_add(1) } else { 0 };
            *code = (if first { 0 } else { *code }).wrapping_add(digit.wrapping_mul(stride));
        }
    } else if first {
        for (code, &value) in codes.iter_mut().zip(values) {
            let offset = value.word().wrapping_sub(min);
            largest = largest.max(offset);
            *code = offset.wrapping_add(1).wrapping_mul(stride);
        }
    } else {
        for (code, &value) in codes.iter_mut().zip(values) {
            let offset = value.word().wrapping_sub(min);
            largest = largest.max(offset);
            *code = code.wrapping_add(offset.wrapping_add(1).wrapping_mul(stride));
        }
    }
    if largest <= range { Ok(()) } else { Err(Misfit::Range) }
}

/// Calls `f(row, word)` for each row of a flat vector of words.
pub(super) fn for_words(vector: &Vector, mut f: impl FnMut(usize, u64)) {
    with_words!(vector, values, values.iter().enumerate().for_each(|(row, &value)| f(row, value.word())), {});
}

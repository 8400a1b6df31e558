//! Join keys as numbers.
//!
//! If all keys of a join are carried as integers of up to 64 bits and the product of their ranges (as the build side
//! has them) fits, the keys of a row become one number, its slot:
//!
//! ```text
//! slot = sum over keys of (key - min) * stride        NULL, where it equals NULL: range
//! ```
//! Rows of the probe side with a key outside of the ranges have no slot, and no partner. Otherwise keys are hashed, and
//! candidates compared key by key.
//!
//! Invariant: two rows with slots have the same slot exactly if their keys are equal.

use crate::dispatch::multiversion;
use crate::expression::{Layout, Program, ProgramState};
use inlay_sql::plan::Expr;
use inlay_types::{Batch, Native, PhysicalType, Result, Vector, VectorKind};

/// The slot of a row that can have no partner.
pub(crate) const NO_SLOT: u64 = u64::MAX;
/// As [`NO_SLOT`], for indexes with 32-bit slots.
pub(crate) const NO_SLOT_32: u32 = u32::MAX;

/// The expressions of one side's keys.
pub(crate) struct KeyPrograms {
    programs: Vec<Program>,
}

/// A worker's scratch for [`KeyPrograms`].
pub(crate) struct KeyStates(Vec<ProgramState>);

impl KeyPrograms {
    /// Compiles keys over batches of `layout`.
    pub fn compile<'a>(keys: impl Iterator<Item = &'a Expr>, layout: &Layout) -> Result<Self> {
        Ok(Self { programs: keys.map(|key| Program::compile(key, layout)).collect::<Result<_>>()? })
    }

    /// Scratch for one worker.
    pub fn states(&self) -> KeyStates {
        KeyStates(self.programs.iter().map(Program::state).collect())
    }

    /// The keys of a batch.
    pub fn eval(&self, states: &mut KeyStates, batch: &Batch) -> Result<Vec<Vector>> {
        self.programs.iter().zip(&mut states.0).map(|(program, state)| program.eval(state, batch)).collect()
    }
}

/// Whether values of a carrier are told apart by words of 64 bits.
pub(crate) fn is_word(carrier: PhysicalType) -> bool {
    is_narrow_integer(carrier) || matches!(carrier, PhysicalType::F32 | PhysicalType::F64)
}

/// Whether values of a carrier are integers of up to 64 bits.
pub(crate) fn is_narrow_integer(carrier: PhysicalType) -> bool {
    match carrier {
        PhysicalType::Bool
        | PhysicalType::I8
        | PhysicalType::I16
        | PhysicalType::I32
        | PhysicalType::I64
        | PhysicalType::U8
        | PhysicalType::U16
        | PhysicalType::U32
        | PhysicalType::U64 => true,
        PhysicalType::I128
        | PhysicalType::U128
        | PhysicalType::F32
        | PhysicalType::F64
        | PhysicalType::View
        | PhysicalType::Interval => false,
    }
}

/// Smallest and largest value of a key on the build side.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeyRange {
    /// Smallest value; above `max` as long as there is none.
    pub min: i64,
    /// Largest value.
    pub max: i64,
}

impl KeyRange {
    /// Of no values.
    pub const EMPTY: Self = Self { min: i64::MAX, max: i64::MIN };

    /// Whether there is no value.
    pub fn is_empty(self) -> bool {
        self.min > self.max
    }

    /// Both ranges together.
    pub fn union(self, other: Self) -> Self {
        Self { min: self.min.min(other.min), max: self.max.max(other.max) }
    }

    /// `max - min`; 0 if empty.
    pub fn span(self) -> u64 {
        if self.is_empty() { 0 } else { self.max.wrapping_sub(self.min) as u64 }
    }

    /// The range of a vector of narrow integers. NULLs are left out.
    pub fn of(vector: &Vector) -> Self {
        if vector.is_empty() || vector.is_constant_null() {
            return Self::EMPTY;
        }
        match vector.kind() {
            VectorKind::Dictionary(_) => Self::of(&vector.flatten()),
            VectorKind::Flat | VectorKind::Constant => with_integers!(vector, range_of(vector)),
        }
    }
}

/// Calls a generic function with the carrier of a flat or constant vector of narrow integers.
macro_rules! with_integers {
    ($vector:expr, $function:ident($($arg:expr),*)) => {
        match $vector.physical_type() {
            PhysicalType::I8 => $function::<i8>($($arg),*),
            PhysicalType::I16 => $function::<i16>($($arg),*),
            PhysicalType::I32 => $function::<i32>($($arg),*),
            PhysicalType::Bool | PhysicalType::U8 => $function::<u8>($($arg),*),
            PhysicalType::U16 => $function::<u16>($($arg),*),
            PhysicalType::U32 => $function::<u32>($($arg),*),
            PhysicalType::U64 => $function::<u64>($($arg),*),
            // The others are no narrow integers; callers have checked.
            PhysicalType::I64
            | PhysicalType::I128
            | PhysicalType::U128
            | PhysicalType::F32
            | PhysicalType::F64
            | PhysicalType::View
            | PhysicalType::Interval => $function::<i64>($($arg),*),
        }
    };
}
use with_integers;

/// An integer as `i64`. `u64` keeps its bits: equality is what matters.
trait Widen: Native {
    fn widen(self) -> i64;
}

macro_rules! widen {
    ($($t:ty),*) => { $(
        impl Widen for $t {
            #[inline(always)]
            fn widen(self) -> i64 {
                self as i64
            }
        }
    )* };
}
widen!(i8, i16, i32, i64, u8, u16, u32, u64);

fn range_of<T: Widen>(vector: &Vector) -> KeyRange {
    let values = vector.values::<T>();
    match vector.validity() {
        Some(validity) if !vector.is_constant() && vector.null_count() > 0 => {
            let valid =
                values.iter().enumerate().filter(|(row, _)| validity.get(*row)).map(|(_, v)| v.widen());
            valid.fold(KeyRange::EMPTY, |range, v| KeyRange { min: range.min.min(v), max: range.max.max(v) })
        }
        Some(_) | None => range_of_values(values),
    }
}

multiversion! {
    fn range_of_values[T: Widen](values: &[T]) -> KeyRange {
        let (mut min, mut max) = (i64::MAX, i64::MIN);
        for value in values {
            min = min.min(value.widen());
            max = max.max(value.widen());
        }
        KeyRange { min, max }
    }
}

/// One key's part in the slot.
#[derive(Clone, Copy, Debug)]
struct Part {
    min: i64,
    span: u64,
    stride: u64,
    /// The place of NULL behind the values, if NULL equals NULL.
    null: Option<u64>,
}

/// How keys become slots. See the module documentation.
#[derive(Clone, Debug)]
pub(crate) struct SlotEncoding {
    parts: Vec<Part>,
    domain: u64,
}

impl SlotEncoding {
    /// The encoding of keys in these ranges, where `null_equal[k]` says whether NULL equals NULL in key `k`. `None` if
    /// the product of the ranges does not fit.
    pub fn new(ranges: &[KeyRange], null_equal: &[bool]) -> Option<Self> {
        let mut domain: u64 = 1;
        let mut parts = Vec::with_capacity(ranges.len());
        for (range, &null_equal) in ranges.iter().zip(null_equal).rev() {
            let span = range.span();
            let values = u128::from(span) + 1 + u128::from(null_equal);
            parts.push(Part { min: range.min, span, stride: domain, null: null_equal.then(|| span + 1) });
            let product = u128::from(domain) * values;
            // The largest slot must stay below NO_SLOT.
            domain = u64::try_from(product).ok().filter(|product| *product < i64::MAX as u64)?;
        }
        parts.reverse();
        Some(Self { parts, domain })
    }

    /// Number of slots.
    pub fn domain(&self) -> u64 {
        self.domain
    }

    /// If there is one key whose NULLs match nothing: its value in slot 0.
    pub fn single_min(&self) -> Option<i64> {
        match self.parts[..] {
            [Part { min, null: None, .. }] => Some(min),
            _ => None,
        }
    }

    /// The slots of rows with these keys; `domain` is below [`NO_SLOT_32`].
    pub fn encode_32(&self, keys: &[Vector], scratch: &mut Vec<u64>, slots: &mut Vec<u32>) {
        debug_assert!(self.domain < u64::from(NO_SLOT_32));
        if let ([part], [key]) = (&self.parts[..], keys)
            && key.is_flat()
            && (key.validity().is_none() || key.null_count() == 0)
        {
            slots.resize(key.len(), 0);
            let span = part.span as u32;
            match key.physical_type() {
                PhysicalType::I32 => return narrow_i32(key.values(), part.min, span, slots),
                PhysicalType::I64 => return narrow_i64(key.values(), part.min, span, slots),
                _ => {}
            }
        }
        self.encode_64(keys, scratch);
        slots.resize(scratch.len(), 0);
        truncate(scratch, slots);
    }

    /// The slots of rows with these keys.
    pub fn encode_64(&self, keys: &[Vector], slots: &mut Vec<u64>) {
        let len = keys.first().map_or(0, Vector::len);
        slots.resize(len, 0);
        slots.truncate(len);
        let mut more = Vec::new();
        for (index, (part, key)) in self.parts.iter().zip(keys).enumerate() {
            if index == 0 {
                offsets(key, part, slots);
                if part.stride > 1 {
                    scale(slots, part.stride);
                }
            } else {
                more.resize(len, 0);
                offsets(key, part, &mut more);
                add_scaled(slots, &more, part.stride);
            }
        }
    }
}

/// The places of one key's values, counted from its minimum.
fn offsets(key: &Vector, part: &Part, out: &mut [u64]) {
    let null = part.null.unwrap_or(NO_SLOT);
    match key.kind() {
        VectorKind::Constant => {
            let mut one = [null];
            if !key.is_constant_null() {
                with_integers!(key, offsets_of(key, part, &mut one));
            }
            out.fill(one[0]);
        }
        VectorKind::Dictionary(_) => offsets(&key.flatten(), part, out),
        VectorKind::Flat => {
            with_integers!(key, offsets_of(key, part, out));
            if let Some(validity) = key.validity() {
                for (index, &word) in validity.words().iter().enumerate().take(out.len().div_ceil(64)) {
                    let mut nulls = !word;
                    while nulls != 0 {
                        let row = index * 64 + nulls.trailing_zeros() as usize;
                        if row >= out.len() {
                            break;
                        }
                        out[row] = null;
                        nulls &= nulls - 1;
                    }
                }
            }
        }
    }
}

fn offsets_of<T: Widen>(key: &Vector, part: &Part, out: &mut [u64]) {
    offsets_of_values::<T>(key.values::<T>(), part.min, part.span, out);
}

multiversion! {
    fn offsets_of_values[T: Widen](values: &[T], min: i64, span: u64, out: &mut [u64]) {
        for (out, value) in out.iter_mut().zip(values) {
            let offset = value.widen().wrapping_sub(min) as u64;
            *out = if offset <= span { offset } else { NO_SLOT };
        }
    }
}

multiversion! {
    fn scale[](slots: &mut [u64], stride: u64) {
        for slot in slots {
            *slot = if *slot == NO_SLOT { NO_SLOT } else { slot.wrapping_mul(stride) };
        }
    }
}

multiversion! {
    fn add_scaled[](slots: &mut [u64], more: &[u64], stride: u64) {
        for (slot, &offset) in slots.iter_mut().zip(more) {
            let sum = slot.wrapping_add(offset.wrapping_mul(stride));
            *slot = if *slot == NO_SLOT || offset == NO_SLOT { NO_SLOT } else { sum };
        }
    }
}

multiversion! {
    fn truncate[](wide: &[u64], slots: &mut [u32]) {
        for (slot, &wide) in slots.iter_mut().zip(wide) {
            *slot = if wide == NO_SLOT { NO_SLOT_32 } else { wide as u32 };
        }
    }
}

multiversion! {
    fn narrow_i32[](values: &[i32], min: i64, span: u32, slots: &mut [u32]) {
        // The minimum is one of the build side's values of the same carrier. Distances of two i32 fit into u32.
        let min = min as i32;
        for (slot, &value) in slots.iter_mut().zip(values) {
            let offset = value.wrapping_sub(min) as u32;
            *slot = if value >= min && offset <= span { offset } else { NO_SLOT_32 };
        }
    }
}

multiversion! {
    fn narrow_i64[](values: &[i64], min: i64, span: u32, slots: &mut [u32]) {
        for (slot, &value) in slots.iter_mut().zip(values) {
            let offset = value.wrapping_sub(min) as u64;
            *slot = if offset <= u64::from(span) { offset as u32 } else { NO_SLOT_32 };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use inlay_types::{LogicalType, Value};

    #[test]
    fn slots_are_equal_exactly_for_equal_keys() {
        let ints = |values: &[Option<i32>]| {
            let values: Vec<Value> = values.iter().map(|v| v.map_or(Value::Null, Value::Integer)).collect();
            Vector::from_sql_values(LogicalType::Integer, &values).unwrap()
        };
        let ranges = [KeyRange { min: -5, max: 5 }, KeyRange { min: 100, max: 103 }];
        let encoding = SlotEncoding::new(&ranges, &[false, true]).unwrap();
        assert_eq!(encoding.domain(), 11 * 5);
        let keys = [ints(&[Some(-5), Some(5), Some(6), Some(0), None, Some(5)]), {
            ints(&[Some(100), Some(103), Some(100), None, Some(100), Some(99)])
        }];
        let mut slots = Vec::new();
        encoding.encode_64(&keys, &mut slots);
        assert_eq!(slots, [0, 53, NO_SLOT, 29, NO_SLOT, NO_SLOT]);
        let mut narrow = Vec::new();
        encoding.encode_32(&keys, &mut slots, &mut narrow);
        assert_eq!(narrow[..4], [0, 53, NO_SLOT_32, 29]);
    }

    #[test]
    fn whole_ranges_have_no_encoding_and_limits_are_kept() {
        assert!(SlotEncoding::new(&[KeyRange { min: i64::MIN, max: i64::MAX }], &[false]).is_none());
        let encoding =
            SlotEncoding::new(&[KeyRange { min: i64::from(i32::MIN), max: -2 }], &[false]).unwrap();
        let key = Vector::from_values(LogicalType::Integer, &[i32::MIN, -2, -1, i32::MAX]);
        let (mut wide, mut slots) = (Vec::new(), Vec::new());
        encoding.encode_32(std::slice::from_ref(&key), &mut wide, &mut slots);
        assert_eq!(slots, [0, 0x7FFF_FFFE, NO_SLOT_32, NO_SLOT_32]);
        assert!(KeyRange::of(&Vector::nulls(LogicalType::Integer, 3)).is_empty());
    }
}

//! The loops under scans: range and bitmap tests over encoded values to bit masks, masks to row positions, and
//! decoding. The crate's only `unsafe` is in this folder.
//!
//! A mask has one bit per row, least significant first. Tests *and* their result into a mask, so several conjuncts
//! over several columns are joined before any position is written. Bits behind the last row are clear before, and
//! therefore after.
//!
//! Each loop is chosen once per call by what the CPU has: AVX-512 written out in [`avx512`], else portable code in
//! [`portable`], compiled again for AVX2 where that helps. The portable code is the reference in tests.

#![expect(unsafe_code, reason = "loops compiled for a level of the CPU")]

#[cfg(target_arch = "x86_64")]
mod avx512;
mod encode;
mod portable;
#[cfg(test)]
mod tests;

pub(crate) use encode::{clear_nulls, float_ranges, hash_lanes, mix_hashes, offsets, ranges, without_nulls};

use crate::BloomFilter;
use inlay_types::Native;
use inlay_types::hash::hash_u64;

/// What the CPU offers.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    /// No more than the target's baseline.
    Portable,
    /// AVX2 and BMI2: portable code, compiled for wider registers.
    Avx2,
    /// AVX-512 F, BW, DQ, VL.
    Avx512,
}

/// The best level of this CPU. Detection is cached by the standard library.
#[cfg(target_arch = "x86_64")]
#[inline]
pub(crate) fn level() -> Level {
    let has_bits = is_x86_feature_detected!("bmi2") && is_x86_feature_detected!("popcnt");
    if has_bits
        && is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl")
    {
        return Level::Avx512;
    }
    if has_bits && is_x86_feature_detected!("avx2") { Level::Avx2 } else { Level::Portable }
}

/// An unsigned word that encoded values are compared as.
pub(crate) trait Lane: Native + Ord {
    fn from_u64(value: u64) -> Self;
    fn to_u64(self) -> u64;
    fn wrapping_sub(self, other: Self) -> Self;
}

macro_rules! lane {
    ($($t:ty),*) => { $(
        impl Lane for $t {
            #[inline(always)]
            fn from_u64(value: u64) -> Self {
                value as $t
            }
            #[inline(always)]
            fn to_u64(self) -> u64 {
                self as u64
            }
            #[inline(always)]
            fn wrapping_sub(self, other: Self) -> Self {
                <$t>::wrapping_sub(self, other)
            }
        }
    )* };
}
lane!(u8, u16, u32, u64);

/// Encoded values as unsigned words of one width.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Lanes<'a> {
    U8(&'a [u8]),
    U16(&'a [u16]),
    U32(&'a [u32]),
    U64(&'a [u64]),
}

/// Calls a generic function with the slice in `Lanes`.
macro_rules! with_lanes {
    ($lanes:expr, $values:ident => $body:expr) => {
        match $lanes {
            Lanes::U8($values) => $body,
            Lanes::U16($values) => $body,
            Lanes::U32($values) => $body,
            Lanes::U64($values) => $body,
        }
    };
}
pub(crate) use with_lanes;

impl Lanes<'_> {
    pub fn get(self, row: usize) -> u64 {
        with_lanes!(self, values => values[row].to_u64())
    }
}

/// Lanes from `low` on, `span` more of them, perhaps negated: `(lane - low <= span) != negate`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LaneRange {
    pub low: u64,
    pub span: u64,
    pub negate: bool,
}

impl LaneRange {
    #[inline(always)]
    pub fn contains<L: Lane>(self, lane: L) -> bool {
        (lane.wrapping_sub(L::from_u64(self.low)) <= L::from_u64(self.span)) != self.negate
    }
}

/// Lanes whose bit is set: lane `low + i` (for `i <= span`) has bit `first_bit + i` of `words`; others have none.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LaneBits<'a> {
    pub low: u64,
    pub span: u64,
    pub first_bit: u64,
    pub words: &'a [u64],
}

impl LaneBits<'_> {
    /// Whether the bits of all lanes exist; checked once so that loops need not.
    fn is_in_bounds(&self) -> bool {
        self.first_bit.checked_add(self.span).is_some_and(|last| last / 64 < self.words.len() as u64)
    }

    #[inline(always)]
    pub fn contains<L: Lane>(&self, lane: L) -> bool {
        let relative = lane.wrapping_sub(L::from_u64(self.low)).to_u64();
        if relative > self.span {
            return false;
        }
        let bit = self.first_bit + relative;
        self.words[(bit / 64) as usize] >> (bit % 64) & 1 == 1
    }
}

/// Floats between two bounds, and perhaps NaN.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct FloatRange<F> {
    pub low: F,
    pub high: F,
    pub nan: bool,
    pub negate: bool,
}

impl<F: Copy + PartialOrd> FloatRange<F> {
    #[inline(always)]
    pub fn contains(&self, value: F) -> bool {
        // A value that is not ordered with itself is NaN.
        let is_nan = value.partial_cmp(&value).is_none();
        ((value >= self.low && value <= self.high) || (self.nan && is_nan)) != self.negate
    }
}

/// Words of a mask for `rows` rows.
#[inline]
pub(crate) fn mask_words(rows: usize) -> usize {
    rows.div_ceil(64)
}

fn check_mask(rows: usize, mask: &[u64]) {
    assert!(mask.len() >= mask_words(rows), "mask is shorter than its rows");
}

/// Ands into `mask` whether each lane is in `range`.
pub(crate) fn and_range(lanes: Lanes<'_>, range: LaneRange, mask: &mut [u64]) {
    #[cfg(target_arch = "x86_64")]
    if level() == Level::Avx512 {
        with_lanes!(lanes, values => check_mask(values.len(), mask));
        // SAFETY: the CPU has AVX-512; the mask covers the lanes.
        return unsafe { avx512::and_range(lanes, range, mask) };
    }
    with_lanes!(lanes, values => portable::and_range(values, range, mask));
}

/// Ands into `mask` whether each lane's bit is set.
pub(crate) fn and_bits(lanes: Lanes<'_>, bits: LaneBits<'_>, mask: &mut [u64]) {
    assert!(bits.is_in_bounds(), "lanes outside of the key bitmap");
    #[cfg(target_arch = "x86_64")]
    if let (Lanes::U8(values), true) =
        (lanes, level() == Level::Avx512 && is_x86_feature_detected!("avx512vbmi"))
    {
        let mut table = [0u64; 4];
        for relative in 0..=bits.span.min(255) {
            let lane = (bits.low + relative) as u8;
            table[usize::from(lane / 64)] |= u64::from(bits.contains(lane)) << (lane % 64);
        }
        check_mask(values.len(), mask);
        // SAFETY: the CPU has these features; the mask covers the lanes.
        return unsafe { avx512::and_table(values, table, mask) };
    }
    #[cfg(target_arch = "x86_64")]
    if level() == Level::Avx512 && avx512::can_gather_bits(&bits) {
        with_lanes!(lanes, values => check_mask(values.len(), mask));
        // SAFETY: the CPU has AVX-512, bits are in bounds and their numbers fit into 32 bits, the mask covers the lanes.
        match lanes {
            Lanes::U8(values) => return unsafe { avx512::and_bits_u8(values, bits, mask) },
            Lanes::U16(values) => return unsafe { avx512::and_bits_u16(values, bits, mask) },
            Lanes::U32(values) => return unsafe { avx512::and_bits_u32(values, bits, mask) },
            Lanes::U64(_) => {}
        }
    }
    with_lanes!(lanes, values => portable::and_each(values.len(), mask, |row| bits.contains(values[row])));
}

/// Ands into `mask` whether each float is in `range`.
pub(crate) fn and_doubles(values: &[f64], range: FloatRange<f64>, mask: &mut [u64]) {
    check_mask(values.len(), mask);
    #[cfg(target_arch = "x86_64")]
    if level() == Level::Avx512 {
        // SAFETY: the CPU has AVX-512; the mask covers the values.
        return unsafe { avx512::and_doubles(values, range, mask) };
    }
    portable::and_words(values, mask, |v| range.contains(v));
}

/// As [`and_doubles`], for REAL.
pub(crate) fn and_reals(values: &[f32], range: FloatRange<f32>, mask: &mut [u64]) {
    check_mask(values.len(), mask);
    #[cfg(target_arch = "x86_64")]
    if level() == Level::Avx512 {
        // SAFETY: the CPU has AVX-512; the mask covers the values.
        return unsafe { avx512::and_reals(values, range, mask) };
    }
    portable::and_words(values, mask, |v| range.contains(v));
}

/// Ands into `mask` what `holds` says of each row; asked only where the bit is still set.
#[inline]
pub(crate) fn and_each(rows: usize, mask: &mut [u64], holds: impl FnMut(usize) -> bool) {
    portable::and_each(rows, mask, holds);
}

/// Appends `base + i` for each set bit `i`.
pub(crate) fn push_positions(mask: &[u64], base: u32, out: &mut Vec<u32>) {
    #[cfg(target_arch = "x86_64")]
    if level() == Level::Avx512 {
        // SAFETY: the CPU has AVX-512.
        return unsafe { avx512::push_positions(mask, base, out) };
    }
    portable::push_positions(mask, base, out);
}

/// Appends those of `rows` whose lane is in `range`.
///
/// Panics when a row is outside of the lanes.
pub(crate) fn select_range(lanes: Lanes<'_>, range: LaneRange, rows: &[u32], out: &mut Vec<u32>) {
    let _largest = check_rows(rows, with_lanes!(lanes, values => values.len()));
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the CPU has AVX-512; rows are inside.
    if level() == Level::Avx512 && unsafe { avx512::select_range(lanes, range, rows, _largest, out) } {
        return;
    }
    // SAFETY: rows are inside.
    with_lanes!(lanes, values => select(rows, out, |row| range.contains(unsafe { *values.get_unchecked(row) })));
}

/// Appends those of `rows` whose lane's bit is set.
///
/// Panics when a row is outside of the lanes.
pub(crate) fn select_bits(lanes: Lanes<'_>, bits: LaneBits<'_>, rows: &[u32], out: &mut Vec<u32>) {
    assert!(bits.is_in_bounds(), "lanes outside of the key bitmap");
    let _largest = check_rows(rows, with_lanes!(lanes, values => values.len()));
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the CPU has AVX-512; rows and bits are inside.
    if level() == Level::Avx512 && unsafe { avx512::select_bits(lanes, bits, rows, _largest, out) } {
        return;
    }
    with_lanes!(lanes, values => select(rows, out, |row| {
        // SAFETY: rows are inside. A lane outside of the bits reads the first of them, in bounds as all are, and is
        // then left out, without a branch that would be hard to predict.
        unsafe {
            let lane = *values.get_unchecked(row);
            let relative = lane.wrapping_sub(Lane::from_u64(bits.low)).to_u64();
            let inside = relative <= bits.span;
            let bit = bits.first_bit + if inside { relative } else { 0 };
            inside & (*bits.words.get_unchecked((bit / 64) as usize) >> (bit % 64) & 1 == 1)
        }
    }));
}

/// Appends those of `rows` for which `holds`; writes every row and keeps some, so there is no branch.
#[inline(always)]
pub(crate) fn select(rows: &[u32], out: &mut Vec<u32>, mut holds: impl FnMut(usize) -> bool) {
    let start = out.len();
    out.resize(start + rows.len(), 0);
    let target = &mut out[start..];
    let mut count = 0;
    for &row in rows {
        // `count` grows by at most one per row, so it is below the number of rows.
        target[count] = row;
        count += usize::from(holds(row as usize));
    }
    out.truncate(start + count);
}

/// The largest of some rows; panics when it is not below `len`.
#[inline(always)]
fn check_rows(rows: &[u32], len: usize) -> u32 {
    let largest = rows.iter().fold(0, |m, r| m.max(*r));
    assert!(rows.is_empty() || (largest as usize) < len, "row outside of segment");
    largest
}

/// Runs a loop compiled for the CPU's level. The loop must be `#[inline(always)]` to be compiled again.
macro_rules! compiled_for_level {
    ($(#[$meta:meta])* pub(crate) fn $name:ident<$($param:ident: $bound:path),*>($($arg:ident: $ty:ty),*) as $loop_name:path) => {
        $(#[$meta])*
        pub(crate) fn $name<$($param: $bound),*>($($arg: $ty),*) {
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,bmi2,popcnt")]
                fn on_avx512<$($param: $bound),*>($($arg: $ty),*) {
                    $loop_name($($arg),*)
                }
                #[target_feature(enable = "avx2,bmi2,popcnt")]
                fn on_avx2<$($param: $bound),*>($($arg: $ty),*) {
                    $loop_name($($arg),*)
                }
                match level() {
                    // SAFETY: the CPU has these features.
                    Level::Avx512 => return unsafe { on_avx512($($arg),*) },
                    // SAFETY: the CPU has these features.
                    Level::Avx2 => return unsafe { on_avx2($($arg),*) },
                    Level::Portable => {}
                }
            }
            $loop_name($($arg),*)
        }
    };
}

pub(crate) use compiled_for_level;

/// A value that is a base plus an unsigned offset.
pub(crate) trait FromOffset: Native {
    fn plus(self, offset: u64) -> Self;
    /// The offset from `base`, at least its low bits.
    fn minus(self, base: Self) -> u64;
}

macro_rules! from_offset {
    ($($t:ty),*) => { $(
        impl FromOffset for $t {
            #[inline(always)]
            fn plus(self, offset: u64) -> Self {
                self.wrapping_add(offset as $t)
            }
            #[inline(always)]
            fn minus(self, base: Self) -> u64 {
                self.wrapping_sub(base) as u64
            }
        }
    )* };
}
from_offset!(u8, u16, u32, u64, i8, i16, i32, i64, i128);

compiled_for_level! {
    /// `out[i] = base + offsets[i]`. Slices are of one length.
    pub(crate) fn decode<T: FromOffset, L: Lane>(base: T, offsets: &[L], out: &mut [T]) as decode_loop
}

#[inline(always)]
fn decode_loop<T: FromOffset, L: Lane>(base: T, offsets: &[L], out: &mut [T]) {
    for (value, offset) in out.iter_mut().zip(offsets) {
        *value = base.plus(offset.to_u64());
    }
}

compiled_for_level! {
    /// `out[i] = base + offset i` of a block of the codec of packed integers, of up to 32 bits.
    pub(crate) fn unpack_u32<T: crate::codec::Word>(packed: &[u8], width: usize, base: T, out: &mut [T]) as crate::codec::packed::unpack_u32_loop
}

compiled_for_level! {
    /// As [`unpack_u32`], up to 64 bits.
    pub(crate) fn unpack_u64<T: crate::codec::Word>(packed: &[u8], width: usize, base: T, out: &mut [T]) as crate::codec::packed::unpack_u64_loop
}

compiled_for_level! {
    /// `out[i] = base + offsets[rows[i]]`.
    ///
    /// Panics when a row is outside of the offsets.
    pub(crate) fn decode_rows<T: FromOffset, L: Lane>(base: T, offsets: &[L], rows: &[u32], out: &mut [T]) as decode_rows_loop
}

#[inline(always)]
fn decode_rows_loop<T: FromOffset, L: Lane>(base: T, offsets: &[L], rows: &[u32], out: &mut [T]) {
    check_rows(rows, offsets.len());
    for (value, row) in out.iter_mut().zip(rows) {
        // SAFETY: every row was checked above.
        *value = base.plus(unsafe { offsets.get_unchecked(*row as usize) }.to_u64());
    }
}

/// How a lane becomes the stored 64-bit word: its top bit `sign` extended, then `base` added.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WordOfLane {
    pub sign: u64,
    pub base: u64,
}

impl WordOfLane {
    /// The word of a lane.
    #[inline(always)]
    pub fn word(self, lane: u64) -> u64 {
        (lane ^ self.sign).wrapping_sub(self.sign).wrapping_add(self.base)
    }
}

compiled_for_level! {
    /// `out[i]` is 1 if a Bloom filter of these words, a power of two of them, may hold the word of `lanes[i]`, else 0.
    pub(crate) fn test_bloom<L: Lane>(lanes: &[L], of_lane: WordOfLane, filter: &[u64], out: &mut [u8]) as bloom_loop
}

#[inline(always)]
fn bloom_loop<L: Lane>(lanes: &[L], of_lane: WordOfLane, filter: &[u64], out: &mut [u8]) {
    assert!(filter.len().is_power_of_two(), "bloom filter has an odd size");
    let last = filter.len() - 1;
    for (holds, lane) in out.iter_mut().zip(lanes) {
        let (place, bits) = BloomFilter::place(hash_u64(of_lane.word(lane.to_u64())));
        // SAFETY: `last` has ones in all places of an index, so the number is at most `last`.
        let word = unsafe { *filter.get_unchecked(place & last) };
        *holds = u8::from(word & bits == bits);
    }
}

/// Ands into `mask` whether each byte is not zero.
pub(crate) fn and_bytes(bytes: &[u8], mask: &mut [u64]) {
    and_range(Lanes::U8(bytes), LaneRange { low: 0, span: 0, negate: true }, mask);
}

//! The loops of [`super`] for AVX-512 (F, BW, DQ, VL).
//!
//! Every function needs those features; slices are read through whole-register loads that stay inside a chunk of 64
//! values, and the last, partial chunk is copied to a padded array first.

#![expect(unsafe_code, reason = "instructions of the CPU")]

use super::{FloatRange, LaneBits, LaneRange, Lanes};
use std::arch::x86_64::*;

/// 0 or all ones: what a mask is xor-ed with to negate it.
fn flip(negate: bool) -> u64 {
    if negate { u64::MAX } else { 0 }
}

/// Asks for the memory that the next vector of this column will read here: scans alternate between columns, each for
/// one vector, which the CPU's own prefetching across 4 KiB pages does not foresee. Measured: Q6's filter 4.3 -> 3.3 ms.
#[inline]
#[target_feature(enable = "avx512f")]
fn prefetch_next_vector<T>(chunk: &[T]) {
    for line in 0..size_of_val(chunk).div_ceil(64) {
        let next = chunk.as_ptr().wrapping_add(inlay_types::VECTOR_SIZE).cast::<i8>().wrapping_add(line * 64);
        _mm_prefetch::<_MM_HINT_T0>(next);
    }
}

/// Calls `$word_of` for each 64 values, as `&[T; 64]`, the last ones padded with zeros, and ands its result in.
macro_rules! and_chunks {
    ($values:expr, $mask:expr, $chunk:ident: $ty:ty => $word_of:expr) => {{
        let mut chunks = $values.chunks_exact(64);
        let mut words = $mask.iter_mut();
        for ($chunk, word) in (&mut chunks).zip(&mut words) {
            *word &= $word_of;
        }
        let rest = chunks.remainder();
        if let (false, Some(word)) = (rest.is_empty(), words.next()) {
            let mut padded = [<$ty>::default(); 64];
            padded[..rest.len()].copy_from_slice(rest);
            let $chunk: &[$ty] = &padded;
            *word &= $word_of;
        }
    }};
}

macro_rules! and_range_of {
    ($name:ident, $ty:ty, $signed:ty, $lanes:literal, $set1:ident, $sub:ident, $compare:ident) => {
        #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
        fn $name(values: &[$ty], range: LaneRange, mask: &mut [u64]) {
            let low = $set1(range.low as $signed);
            let span = $set1(range.span as $signed);
            let flip = flip(range.negate);
            and_chunks!(values, mask, chunk: $ty => {
                let mut word = 0u64;
                prefetch_next_vector(chunk);
                for part in 0..64 / $lanes {
                    // SAFETY: the chunk has 64 values, of which this register takes a part.
                    let lanes = unsafe { _mm512_loadu_si512(chunk.as_ptr().add(part * $lanes).cast()) };
                    word |= u64::from($compare($sub(lanes, low), span)) << (part * $lanes);
                }
                word ^ flip
            });
        }
    };
}
and_range_of!(and_range_u8, u8, i8, 64, _mm512_set1_epi8, _mm512_sub_epi8, _mm512_cmple_epu8_mask);
and_range_of!(and_range_u16, u16, i16, 32, _mm512_set1_epi16, _mm512_sub_epi16, _mm512_cmple_epu16_mask);
and_range_of!(and_range_u32, u32, i32, 16, _mm512_set1_epi32, _mm512_sub_epi32, _mm512_cmple_epu32_mask);
and_range_of!(and_range_u64, u64, i64, 8, _mm512_set1_epi64, _mm512_sub_epi64, _mm512_cmple_epu64_mask);

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
pub(super) fn and_range(lanes: Lanes<'_>, range: LaneRange, mask: &mut [u64]) {
    match lanes {
        Lanes::U8(values) => and_range_u8(values, range, mask),
        Lanes::U16(values) => and_range_u16(values, range, mask),
        Lanes::U32(values) => and_range_u32(values, range, mask),
        Lanes::U64(values) => and_range_u64(values, range, mask),
    }
}

macro_rules! and_floats_of {
    ($name:ident, $ty:ty, $lanes:literal, $set1:ident, $load:ident, $compare:ident) => {
        #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
        pub(super) fn $name(values: &[$ty], range: FloatRange<$ty>, mask: &mut [u64]) {
            let (low, high) = ($set1(range.low), $set1(range.high));
            let (flip, nan) = (flip(range.negate), flip(range.nan));
            and_chunks!(values, mask, chunk: $ty => {
                let mut word = 0u64;
                prefetch_next_vector(chunk);
                for part in 0..64 / $lanes {
                    // SAFETY: the chunk has 64 values, of which this register takes a part.
                    let floats = unsafe { $load(chunk.as_ptr().add(part * $lanes)) };
                    let inside = $compare::<_CMP_GE_OQ>(floats, low) & $compare::<_CMP_LE_OQ>(floats, high);
                    let unordered = u64::from($compare::<_CMP_UNORD_Q>(floats, floats)) & nan;
                    word |= (u64::from(inside) | unordered) << (part * $lanes);
                }
                word ^ flip
            });
        }
    };
}
and_floats_of!(and_doubles, f64, 8, _mm512_set1_pd, _mm512_loadu_pd, _mm512_cmp_pd_mask);
and_floats_of!(and_reals, f32, 16, _mm512_set1_ps, _mm512_loadu_ps, _mm512_cmp_ps_mask);

/// Whether bit numbers fit into the 32-bit lanes of a gather.
pub(super) fn can_gather_bits(bits: &LaneBits<'_>) -> bool {
    bits.low <= u64::from(u32::MAX)
        && bits.span <= u64::from(u32::MAX)
        && bits.first_bit <= u64::from(u32::MAX)
        && bits.first_bit + bits.span <= u64::from(u32::MAX)
}

/// The numbers of the bits of 16 lanes, and which of the lanes in `active` have one.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn numbers_of_16(lanes: __m512i, active: u16, width_mask: u32, bits: &LaneBits<'_>) -> (__m512i, u16) {
    let difference = _mm512_sub_epi32(lanes, _mm512_set1_epi32(bits.low as i32));
    // Lanes narrower than 32 bits wrap around in their own width.
    let relative = _mm512_and_si512(difference, _mm512_set1_epi32(width_mask as i32));
    let inside = _mm512_mask_cmple_epu32_mask(active, relative, _mm512_set1_epi32(bits.span as i32));
    (_mm512_add_epi32(relative, _mm512_set1_epi32(bits.first_bit as i32)), inside)
}

/// Which of the bits with these numbers, of those in `inside`, are set in the words that hold them.
#[inline]
#[target_feature(enable = "avx512f")]
fn set_in_words(words: __m512i, numbers: __m512i, inside: u16) -> u16 {
    let bit = _mm512_sllv_epi32(_mm512_set1_epi32(1), _mm512_and_si512(numbers, _mm512_set1_epi32(31)));
    _mm512_mask_test_epi32_mask(inside, words, bit)
}

/// Which of 16 lanes, of those in `active`, have their bit set.
///
/// # Safety
/// All bits of `bits` are in bounds.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
unsafe fn bits_of_16(lanes: __m512i, active: u16, width_mask: u32, bits: &LaneBits<'_>) -> u16 {
    let (numbers, inside) = numbers_of_16(lanes, active, width_mask, bits);
    let word_numbers = _mm512_srli_epi32::<5>(numbers);
    let (zero, base) = (_mm512_setzero_si512(), bits.words.as_ptr().cast());
    // SAFETY: only lanes inside are read, whose bits are in bounds; a 64-bit word is two little-endian 32-bit ones.
    let words = unsafe { _mm512_mask_i32gather_epi32::<4>(zero, inside, word_numbers, base) };
    set_in_words(words, numbers, inside)
}

/// 512 neighbouring bits in a register: foreign keys mostly lie as their rows were inserted, so that those of 64 rows
/// are near each other, and a register is permuted in the time of one of a gather's sixteen loads.
#[derive(Clone, Copy)]
struct Window {
    words: __m512i,
    /// Number of its first 32-bit word.
    base: u32,
}

impl Window {
    /// Lanes from the first to the last that a window is tried for: wherever the first one lies in its word, all fit.
    const REACH: u32 = 480;

    /// The window that begins where the lane `first` has its bit, if there is one.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn at(first: u32, width_mask: u32, bits: &LaneBits<'_>) -> Option<Self> {
        let relative = u64::from(first.wrapping_sub(bits.low as u32) & width_mask);
        let word = ((bits.first_bit + relative) / 32) as usize;
        if relative > bits.span || word + 16 > bits.words.len() * 2 {
            return None;
        }
        // SAFETY: 16 words of 32 bits from this one on are inside, as checked.
        let words = unsafe { _mm512_loadu_si512(bits.words.as_ptr().cast::<i32>().add(word).cast()) };
        Some(Self { words, base: word as u32 })
    }

    /// Which of 16 lanes, of those in `active`, have their bit set, and which have theirs elsewhere.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    fn bits_of_16(self, lanes: __m512i, active: u16, width_mask: u32, bits: &LaneBits<'_>) -> (u16, u16) {
        let (numbers, inside) = numbers_of_16(lanes, active, width_mask, bits);
        let places = _mm512_sub_epi32(_mm512_srli_epi32::<5>(numbers), _mm512_set1_epi32(self.base as i32));
        let here = _mm512_mask_cmplt_epu32_mask(inside, places, _mm512_set1_epi32(16));
        let words = _mm512_permutexvar_epi32(places, self.words);
        (set_in_words(words, numbers, here), inside & !here)
    }
}

macro_rules! and_bits_of {
    ($name:ident, $ty:ty, $load:expr) => {
        /// # Safety
        /// All bits of `bits` are in bounds.
        #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
        pub(super) unsafe fn $name(values: &[$ty], bits: LaneBits<'_>, mask: &mut [u64]) {
            let width_mask = u32::MAX >> (32 - <$ty>::BITS);
            let mut chunks = values.chunks_exact(64);
            let mut words = mask.iter_mut();
            let test = |chunk: &[$ty], word: &mut u64| {
                let (first, last) = (u32::from(chunk[0]), u32::from(chunk[63]));
                let is_near = last.wrapping_sub(first) < Window::REACH;
                let window = if is_near { Window::at(first, width_mask, &bits) } else { None };
                let mut found = 0u64;
                for part in 0..4 {
                    let mut active = (*word >> (part * 16)) as u16;
                    if active == 0 {
                        continue;
                    }
                    // SAFETY: the chunk has 64 values, of which this takes 16.
                    let lanes = unsafe { $load(chunk.as_ptr().add(part * 16)) };
                    let mut set = 0;
                    if let Some(window) = window {
                        (set, active) = window.bits_of_16(lanes, active, width_mask, &bits);
                    }
                    if active != 0 {
                        // SAFETY: bits are in bounds.
                        set |= unsafe { bits_of_16(lanes, active, width_mask, &bits) };
                    }
                    found |= u64::from(set) << (part * 16);
                }
                *word = found;
            };
            for (chunk, word) in (&mut chunks).zip(&mut words) {
                test(chunk, word);
            }
            let rest = chunks.remainder();
            if let (false, Some(word)) = (rest.is_empty(), words.next()) {
                let mut padded = [0; 64];
                padded[..rest.len()].copy_from_slice(rest);
                test(&padded, word);
            }
        }
    };
}
and_bits_of!(and_bits_u8, u8, |p: *const u8| _mm512_cvtepu8_epi32(_mm_loadu_si128(p.cast())));
and_bits_of!(and_bits_u16, u16, |p: *const u16| _mm512_cvtepu16_epi32(_mm256_loadu_si256(p.cast())));
and_bits_of!(and_bits_u32, u32, |p: *const u32| _mm512_loadu_si512(p.cast()));

/// `0, 1, ..., 15`.
#[inline]
#[target_feature(enable = "avx512f")]
fn ascending() -> __m512i {
    _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,bmi2,popcnt")]
pub(super) fn push_positions(mask: &[u64], base: u32, out: &mut Vec<u32>) {
    let total: usize = mask.iter().map(|w| w.count_ones() as usize).sum();
    // A register is stored whole, so up to 15 values behind the last one are written.
    out.reserve(total + 16);
    let ascending = ascending();
    let mut len = out.len();
    for (index, &word) in mask.iter().enumerate() {
        if word == 0 {
            continue;
        }
        let first = base.wrapping_add(index as u32 * 64);
        for part in 0..4 {
            let chosen = (word >> (part * 16)) as u16;
            let positions =
                _mm512_add_epi32(_mm512_set1_epi32(first.wrapping_add(part * 16) as i32), ascending);
            let packed = _mm512_maskz_compress_epi32(chosen, positions);
            // SAFETY: `len` grew by the bits passed, so 16 more values fit into what was reserved.
            unsafe { _mm512_storeu_si512(out.as_mut_ptr().add(len).cast(), packed) };
            len += chosen.count_ones() as usize;
        }
    }
    // SAFETY: values below `len` were written, and it is within the capacity.
    unsafe { out.set_len(len) };
}

/// Sixteen lanes, those of rows in `active`, read as whole 32-bit words and shifted into place.
///
/// # Safety
/// The words with all active rows are inside the memory at `base`; rows are below 2^30.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
unsafe fn lanes_of_rows<const LANE_BYTES: i32>(base: *const i32, rows: __m512i, active: u16) -> __m512i {
    let zero = _mm512_setzero_si512();
    let (word, shift) = match LANE_BYTES {
        1 => (
            _mm512_srli_epi32::<2>(rows),
            _mm512_slli_epi32::<3>(_mm512_and_si512(rows, _mm512_set1_epi32(3))),
        ),
        2 => (
            _mm512_srli_epi32::<1>(rows),
            _mm512_slli_epi32::<4>(_mm512_and_si512(rows, _mm512_set1_epi32(1))),
        ),
        _ => (rows, zero),
    };
    // SAFETY: as the caller promises.
    let words = unsafe { _mm512_mask_i32gather_epi32::<4>(zero, active, word, base) };
    let width_mask = u32::MAX >> (32 - 8 * LANE_BYTES);
    _mm512_and_si512(_mm512_srlv_epi32(words, shift), _mm512_set1_epi32(width_mask as i32))
}

/// Whether the 32-bit words that hold the lanes of rows up to `largest` are inside `values`.
fn words_are_inside<T>(values: &[T], largest: u32) -> bool {
    let last_byte = (largest as usize + 1) * size_of::<T>() - 1;
    (last_byte | 3) < size_of_val(values) && largest < 1 << 30
}

/// Appends the rows whose lanes `test` chooses, sixteen at a time.
///
/// # Safety
/// Every row is inside `values`, and so are the 32-bit words that hold their lanes.
#[inline(always)]
unsafe fn select_rows<T, const LANE_BYTES: i32>(
    values: &[T],
    rows: &[u32],
    out: &mut Vec<u32>,
    test: impl Fn(__m512i, u16) -> u16,
) {
    out.reserve(rows.len() + 16);
    let mut len = out.len();
    for sixteen in rows.chunks(16) {
        let active = u16::MAX >> (16 - sixteen.len());
        // SAFETY: the caller of this inlined function has AVX-512. Only active positions are read; their lanes are
        // inside (caller). At most the rows passed were kept so far, so 16 more values fit into what was reserved.
        unsafe {
            let positions = _mm512_maskz_loadu_epi32(active, sixteen.as_ptr().cast());
            let lanes = lanes_of_rows::<LANE_BYTES>(values.as_ptr().cast(), positions, active);
            let chosen = test(lanes, active);
            _mm512_storeu_si512(
                out.as_mut_ptr().add(len).cast(),
                _mm512_maskz_compress_epi32(chosen, positions),
            );
            len += chosen.count_ones() as usize;
        }
    }
    // SAFETY: values below `len` were written, and it is within the capacity.
    unsafe { out.set_len(len) };
}

macro_rules! select_of {
    ($range:ident, $bits:ident, $ty:ty) => {
        /// # Safety
        /// Every row is inside `values`, and so are the 32-bit words that hold their lanes.
        #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,bmi2,popcnt")]
        unsafe fn $range(values: &[$ty], range: LaneRange, rows: &[u32], out: &mut Vec<u32>) {
            let width_mask = _mm512_set1_epi32((u32::MAX >> (32 - <$ty>::BITS)) as i32);
            let low = _mm512_set1_epi32(range.low as i32);
            let span = _mm512_and_si512(_mm512_set1_epi32(range.span as i32), width_mask);
            let flip = flip(range.negate) as u16;
            let test = |lanes, active| {
                let relative = _mm512_and_si512(_mm512_sub_epi32(lanes, low), width_mask);
                (_mm512_cmple_epu32_mask(relative, span) ^ flip) & active
            };
            // SAFETY: as the caller promises.
            unsafe { select_rows::<$ty, { size_of::<$ty>() as i32 }>(values, rows, out, test) };
        }

        /// # Safety
        /// As above, and all bits of `bits` are in bounds, with numbers below 2^32.
        #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,bmi2,popcnt")]
        unsafe fn $bits(values: &[$ty], bits: LaneBits<'_>, rows: &[u32], out: &mut Vec<u32>) {
            // SAFETY: as the caller promises.
            let test =
                |lanes, active| unsafe { bits_of_16(lanes, active, u32::MAX >> (32 - <$ty>::BITS), &bits) };
            // SAFETY: as the caller promises.
            unsafe { select_rows::<$ty, { size_of::<$ty>() as i32 }>(values, rows, out, test) };
        }
    };
}
select_of!(select_range_u8, select_bits_u8, u8);
select_of!(select_range_u16, select_bits_u16, u16);
select_of!(select_range_u32, select_bits_u32, u32);

/// Does [`super::select_range`] if it can; `largest` is the largest of `rows`, and inside.
///
/// # Safety
/// The CPU has AVX-512 F, BW, DQ, VL, BMI2 and POPCNT.
pub(super) unsafe fn select_range(
    lanes: Lanes<'_>,
    range: LaneRange,
    rows: &[u32],
    largest: u32,
    out: &mut Vec<u32>,
) -> bool {
    // SAFETY: features by the caller, bounds checked here.
    unsafe {
        match lanes {
            Lanes::U8(values) if words_are_inside(values, largest) => {
                select_range_u8(values, range, rows, out)
            }
            Lanes::U16(values) if words_are_inside(values, largest) => {
                select_range_u16(values, range, rows, out)
            }
            Lanes::U32(values) if words_are_inside(values, largest) => {
                select_range_u32(values, range, rows, out)
            }
            _ => return false,
        }
    }
    true
}

/// Does [`super::select_bits`] if it can.
///
/// # Safety
/// As for [`select_range`], and all bits of `bits` are in bounds.
pub(super) unsafe fn select_bits(
    lanes: Lanes<'_>,
    bits: LaneBits<'_>,
    rows: &[u32],
    largest: u32,
    out: &mut Vec<u32>,
) -> bool {
    if !can_gather_bits(&bits) {
        return false;
    }
    // SAFETY: features by the caller, bounds checked here and by the caller.
    unsafe {
        match lanes {
            Lanes::U8(values) if words_are_inside(values, largest) => select_bits_u8(values, bits, rows, out),
            Lanes::U16(values) if words_are_inside(values, largest) => {
                select_bits_u16(values, bits, rows, out)
            }
            Lanes::U32(values) if words_are_inside(values, largest) => {
                select_bits_u32(values, bits, rows, out)
            }
            _ => return false,
        }
    }
    true
}

/// One-byte lanes against a table of all 256 answers, held in four registers.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi")]
pub(super) fn and_table(values: &[u8], table: [u64; 4], mask: &mut [u64]) {
    let [t0, t1, t2, t3] = table.map(|word| _mm512_movm_epi8(word));
    and_chunks!(values, mask, chunk: u8 => {
        prefetch_next_vector(chunk);
        // SAFETY: the chunk has 64 values.
        let lanes = unsafe { _mm512_loadu_si512(chunk.as_ptr().cast()) };
        let low = _mm512_movepi8_mask(_mm512_permutex2var_epi8(t0, lanes, t1));
        let high = _mm512_movepi8_mask(_mm512_permutex2var_epi8(t2, lanes, t3));
        let is_high = _mm512_movepi8_mask(lanes);
        (low & !is_high) | (high & is_high)
    });
}

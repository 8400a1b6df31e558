//! Choosing the widest vector instructions that the CPU has, once per process, and the few loops that name them.
//!
//! [`multiversion!`] compiles a loop three times (x86-64 baseline, AVX2, AVX-512) and jumps to the best; elsewhere it
//! is the plain function. Loops are written so that they autovectorise; only [`positions`] uses intrinsics.

#![expect(unsafe_code, reason = "loops compiled for a level of the CPU, and its instructions")]

use std::sync::atomic::{AtomicU8, Ordering};

/// What the CPU can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Level {
    /// Nothing beyond what the target promises.
    Baseline = 1,
    /// AVX2, BMI, FMA (x86-64-v3).
    Avx2 = 2,
    /// AVX-512 F, BW, CD, DQ, VL (x86-64-v4).
    Avx512 = 3,
}

/// The CPU's level; detected at the first call.
#[inline(always)]
pub fn level() -> Level {
    static LEVEL: AtomicU8 = AtomicU8::new(0);
    match LEVEL.load(Ordering::Relaxed) {
        1 => Level::Baseline,
        2 => Level::Avx2,
        3 => Level::Avx512,
        _ => {
            let level = detect();
            LEVEL.store(level as u8, Ordering::Relaxed);
            level
        }
    }
}

#[cold]
fn detect() -> Level {
    #[cfg(target_arch = "x86_64")]
    {
        let avx2 = is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("lzcnt")
            && is_x86_feature_detected!("popcnt")
            && is_x86_feature_detected!("fma");
        let avx512 = avx2
            && is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512cd")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl");
        if avx512 {
            return Level::Avx512;
        }
        if avx2 {
            return Level::Avx2;
        }
    }
    Level::Baseline
}

/// Defines a function that runs compiled for the CPU's level. Generics stand in brackets: `fn name[T: Native](..)`.
#[macro_export]
macro_rules! multiversion {
    ($(#[$meta:meta])* $vis:vis fn $name:ident [$($generics:tt)*] ($($arg:ident : $ty:ty),* $(,)?)
        $(-> $ret:ty)? $body:block) => {
        $(#[$meta])*
        // Of the module that calls the macro: it calls nothing but these three, on a CPU that has what they are compiled for.
        #[allow(unsafe_code)]
        #[allow(clippy::too_many_arguments)]
        $vis fn $name<$($generics)*>($($arg: $ty),*) $(-> $ret)? {
            #[inline(always)]
            #[allow(clippy::too_many_arguments)]
            fn body<$($generics)*>($($arg: $ty),*) $(-> $ret)? $body
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx2,bmi1,bmi2,lzcnt,popcnt,fma")]
                #[allow(clippy::too_many_arguments)]
                fn avx512<$($generics)*>($($arg: $ty),*) $(-> $ret)? {
                    body($($arg),*)
                }
                #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt,fma")]
                #[allow(clippy::too_many_arguments)]
                fn avx2<$($generics)*>($($arg: $ty),*) $(-> $ret)? {
                    body($($arg),*)
                }
                match $crate::simd::level() {
                    // SAFETY: `level` found these features on this CPU.
                    $crate::simd::Level::Avx512 => return unsafe { avx512($($arg),*) },
                    // SAFETY: as above.
                    $crate::simd::Level::Avx2 => return unsafe { avx2($($arg),*) },
                    $crate::simd::Level::Baseline => {}
                }
            }
            body($($arg),*)
        }
    };
}
/// Packs bytes of 0 and 1 into bits, 64 per word; `words` gets `bytes.len()` bits, the last word zero-padded.
pub fn pack_bits(bytes: &[u8], words: &mut [u64]) {
    let (chunks, rest) = bytes.as_chunks::<64>();
    pack_chunks(chunks, words);
    if !rest.is_empty() {
        let mut last = [0u8; 64];
        last[..rest.len()].copy_from_slice(rest);
        words[chunks.len()] = pack_word(&last);
    }
}

multiversion! {
    fn pack_chunks[](chunks: &[[u8; 64]], words: &mut [u64]) {
        for (chunk, word) in chunks.iter().zip(words) {
            *word = pack_word(chunk);
        }
    }
}

#[inline(always)]
fn pack_word(chunk: &[u8; 64]) -> u64 {
    let mut word = 0u64;
    for (index, eight) in chunk.as_chunks::<8>().0.iter().enumerate() {
        // The product gathers the eight low bits in its highest byte. Bytes are 0 or 1, but at NULLs they may be anything.
        let low_bits = u64::from_le_bytes(*eight) & 0x0101_0101_0101_0101;
        let bits = low_bits.wrapping_mul(0x0102_0408_1020_4080) >> 56;
        word |= bits << (index * 8);
    }
    word
}

/// Clears `out` and fills it with the positions of the set bits below `len`, ascending.
pub fn positions(words: &[u64], len: usize, out: &mut Vec<u32>) {
    out.clear();
    // One register of slack, so that whole registers can be stored.
    out.reserve(len + 64);
    let whole = len / 64;
    let tail = if len.is_multiple_of(64) { 0 } else { words[whole] & ((1u64 << (len % 64)) - 1) };
    let target = out.as_mut_ptr();
    let mut count = 0;
    #[cfg(target_arch = "x86_64")]
    if level() == Level::Avx512 {
        for (index, &word) in words[..whole].iter().chain(std::iter::once(&tail)).enumerate() {
            // SAFETY: AVX-512 is there; `count <= index * 64 <= len`, and `reserve` left room for 64 beyond `len`.
            count += unsafe { append_avx512(word, (index * 64) as u32, target.add(count)) };
        }
        // SAFETY: `count` values were written, at most `len`.
        unsafe { out.set_len(count) };
        return;
    }
    for (index, &word) in words[..whole].iter().chain(std::iter::once(&tail)).enumerate() {
        let mut bits = word;
        while bits != 0 {
            // SAFETY: as many values as set bits are written, at most `len + 64`, which `reserve` made room for.
            unsafe { target.add(count).write((index * 64) as u32 + bits.trailing_zeros()) };
            count += 1;
            bits &= bits - 1;
        }
    }
    // SAFETY: `count` values were written.
    unsafe { out.set_len(count) };
}

/// Writes `base + position` of each set bit to `target`; returns how many. May write 64 values in all.
///
/// # Safety
/// `target` is valid for writing 64 values.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,popcnt")]
unsafe fn append_avx512(word: u64, base: u32, target: *mut u32) -> usize {
    use std::arch::x86_64::{
        __m512i, _mm512_add_epi32, _mm512_maskz_compress_epi32, _mm512_set1_epi32, _mm512_setr_epi32,
        _mm512_storeu_si512,
    };
    if word == 0 {
        return 0;
    }
    let lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    let mut at = _mm512_add_epi32(lanes, _mm512_set1_epi32(base as i32));
    let mut count = 0;
    for quarter in 0..4 {
        let mask = (word >> (quarter * 16)) as u16;
        let packed = _mm512_maskz_compress_epi32(mask, at);
        // SAFETY: `count <= quarter * 16`, so the 16 values end within the 64 that the caller vouches for.
        unsafe { _mm512_storeu_si512(target.add(count).cast::<__m512i>(), packed) };
        count += mask.count_ones() as usize;
        at = _mm512_add_epi32(at, _mm512_set1_epi32(16));
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_those_of_the_set_bytes() {
        for len in [0usize, 1, 15, 63, 64, 65, 128, 1000, 2048] {
            for step in [1usize, 2, 3, 64, 5000] {
                let bytes: Vec<u8> = (0..len).map(|i| u8::from((i * 7) % step == 0)).collect();
                let mut words = vec![0u64; len.div_ceil(64)];
                pack_bits(&bytes, &mut words);
                let mut rows = Vec::new();
                positions(&words, len, &mut rows);
                let expected: Vec<u32> = (0..len as u32).filter(|&i| bytes[i as usize] == 1).collect();
                assert_eq!(rows, expected);
            }
        }
    }
}

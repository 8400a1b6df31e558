//! Finding a short text in many short texts.
//!
//! `memchr::memmem` is made for long haystacks; its set-up costs more than searching a comment of 50 bytes. Here the
//! needle's first and last byte are compared with 32 or 64 places at a time, and only where both fit the rest is.
//! Source: Muła, "SIMD-friendly algorithms for substring searching".

#![expect(unsafe_code, reason = "instructions of the CPU")]

#[cfg(target_arch = "x86_64")]
use inlay_types::simd::{Level, level};
use memchr::memmem;

/// A text to look for, prepared.
pub(crate) struct Finder {
    needle: Vec<u8>,
    long: memmem::Finder<'static>,
}

impl Finder {
    pub(crate) fn new(needle: &[u8]) -> Self {
        Self { needle: needle.to_vec(), long: memmem::Finder::new(needle).into_owned() }
    }

    /// The text to look for.
    pub(crate) fn needle(&self) -> &[u8] {
        &self.needle
    }

    /// Bytes looked for.
    pub(crate) fn len(&self) -> usize {
        self.needle.len()
    }

    /// Where the needle first occurs.
    #[inline]
    pub(crate) fn find(&self, haystack: &[u8]) -> Option<usize> {
        #[cfg(target_arch = "x86_64")]
        if haystack.len() <= 256 && !self.needle.is_empty() {
            if haystack.len() < self.needle.len() {
                return None;
            }
            match level() {
                // SAFETY: the CPU has AVX-512; the haystack is not shorter than the needle, which is not empty.
                Level::Avx512 => return unsafe { find_avx512(haystack, &self.needle) },
                // SAFETY: the CPU has AVX2; lengths as above, and the needle has two bytes or more.
                Level::Avx2 if self.needle.len() >= 2 => return unsafe { find_avx2(haystack, &self.needle) },
                Level::Avx2 | Level::Baseline => {}
            }
        }
        if let [byte] = *self.needle {
            return memchr::memchr(byte, haystack);
        }
        self.long.find(haystack)
    }
}

/// Where texts are searched without regard to the case of ASCII letters, as they lie.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Caseless {
    /// The text is there.
    Found(usize),
    /// It is not.
    Missing,
    /// The CPU has no instructions for it.
    Unknown,
}

impl Finder {
    /// Where the needle, which is ASCII in lower case, first occurs in any case.
    #[inline]
    pub(crate) fn find_caseless(&self, haystack: &[u8]) -> Caseless {
        if haystack.len() < self.needle.len() {
            return Caseless::Missing;
        }
        #[cfg(target_arch = "x86_64")]
        if level() == Level::Avx512 && !self.needle.is_empty() {
            // SAFETY: the CPU has AVX-512; the haystack is not shorter than the needle, which is not empty.
            let found = unsafe { find_caseless_avx512(haystack, &self.needle) };
            return found.map_or(Caseless::Missing, Caseless::Found);
        }
        Caseless::Unknown
    }
}

/// [`find_avx512`] of what is made lower case in registers.
///
/// # Safety
/// `haystack.len() >= needle.len() >= 1`.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,bmi1,bmi2")]
unsafe fn find_caseless_avx512(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    use std::arch::x86_64::{_mm512_mask_cmpeq_epi8_mask, _mm512_maskz_loadu_epi8, _mm512_set1_epi8};
    let span = needle.len() - 1;
    let places = haystack.len() - span;
    let first = _mm512_set1_epi8(needle[0] as i8);
    let last = _mm512_set1_epi8(needle[span] as i8);
    let mut at = 0;
    while at < places {
        let lanes = if places - at >= 64 { u64::MAX } else { (1 << (places - at)) - 1 };
        let start = haystack.as_ptr();
        // SAFETY: lanes of the mask are places, whose byte and the one `span` further on lie in the haystack; others
        // are not read.
        let (heads, tails) = unsafe {
            let heads = _mm512_maskz_loadu_epi8(lanes, start.add(at).cast());
            (heads, _mm512_maskz_loadu_epi8(lanes, start.add(at + span).cast()))
        };
        let mut found = _mm512_mask_cmpeq_epi8_mask(lanes, lower_avx512(heads), first);
        found = _mm512_mask_cmpeq_epi8_mask(found, lower_avx512(tails), last);
        while found != 0 {
            let place = at + found.trailing_zeros() as usize;
            let inside = haystack.get(place + 1..place + span).unwrap_or_default();
            let wanted = needle.get(1..span).unwrap_or_default();
            if inside.iter().zip(wanted).all(|(byte, wanted)| byte.to_ascii_lowercase() == *wanted) {
                return Some(place);
            }
            found &= found - 1;
        }
        at += 64;
    }
    None
}

/// ASCII letters in lower case, other bytes as they are.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw")]
#[inline]
fn lower_avx512(bytes: std::arch::x86_64::__m512i) -> std::arch::x86_64::__m512i {
    use std::arch::x86_64::{
        _mm512_cmplt_epu8_mask, _mm512_mask_add_epi8, _mm512_set1_epi8, _mm512_sub_epi8,
    };
    let from_a = _mm512_sub_epi8(bytes, _mm512_set1_epi8(b'A' as i8));
    let are_upper = _mm512_cmplt_epu8_mask(from_a, _mm512_set1_epi8(26));
    _mm512_mask_add_epi8(bytes, are_upper, bytes, _mm512_set1_epi8(32))
}

/// 64 places at a time; the last ones through a mask, so that nothing behind the haystack is read.
///
/// # Safety
/// `haystack.len() >= needle.len() >= 1`.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,bmi1,bmi2")]
unsafe fn find_avx512(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    use std::arch::x86_64::{_mm512_mask_cmpeq_epi8_mask, _mm512_maskz_loadu_epi8, _mm512_set1_epi8};
    let span = needle.len() - 1;
    let places = haystack.len() - span;
    let first = _mm512_set1_epi8(needle[0] as i8);
    let last = _mm512_set1_epi8(needle[span] as i8);
    let mut at = 0;
    while at < places {
        let lanes = if places - at >= 64 { u64::MAX } else { (1 << (places - at)) - 1 };
        let start = haystack.as_ptr();
        // SAFETY: lanes of the mask are places, whose byte and the one `span` further on lie in the haystack; others
        // are not read.
        let (heads, tails) = unsafe {
            let heads = _mm512_maskz_loadu_epi8(lanes, start.add(at).cast());
            (heads, _mm512_maskz_loadu_epi8(lanes, start.add(at + span).cast()))
        };
        let mut found = _mm512_mask_cmpeq_epi8_mask(lanes, heads, first);
        found = _mm512_mask_cmpeq_epi8_mask(found, tails, last);
        while found != 0 {
            let place = at + found.trailing_zeros() as usize;
            // SAFETY: the needle fits behind every place; of one of a byte nothing is read.
            if unsafe { equal_avx512(start.add(place + 1), needle.as_ptr().add(1), span.saturating_sub(1)) } {
                return Some(place);
            }
            found &= found - 1;
        }
        at += 64;
    }
    None
}

/// Whether two ranges are equal. A call of `memcmp` would cost more than the few bytes: all of [`find_avx512`]'s registers would
/// lie on the stack meanwhile, across cache lines, depending on the thread's stack.
///
/// # Safety
/// Both ranges of `len` bytes can be read.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,bmi1,bmi2")]
#[inline]
unsafe fn equal_avx512(one: *const u8, other: *const u8, len: usize) -> bool {
    use std::arch::x86_64::{_mm512_cmpneq_epi8_mask, _mm512_maskz_loadu_epi8};
    let mut at = 0;
    while at < len {
        let lanes = if len - at >= 64 { u64::MAX } else { (1 << (len - at)) - 1 };
        // SAFETY: lanes of the mask are inside of both ranges; others are not read.
        let differ = unsafe {
            let one = _mm512_maskz_loadu_epi8(lanes, one.add(at).cast());
            _mm512_cmpneq_epi8_mask(one, _mm512_maskz_loadu_epi8(lanes, other.add(at).cast()))
        };
        if differ != 0 {
            return false;
        }
        at += 64;
    }
    true
}

/// 32 places at a time; the last 32 may overlap those before.
///
/// # Safety
/// `haystack.len() >= needle.len() >= 2`.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1")]
unsafe fn find_avx2(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    use std::arch::x86_64::{
        __m256i, _mm256_and_si256, _mm256_cmpeq_epi8, _mm256_loadu_si256, _mm256_movemask_epi8,
        _mm256_set1_epi8,
    };
    let span = needle.len() - 1;
    let places = haystack.len() - span;
    if places < 32 {
        return (0..places).find(|&place| {
            haystack[place] == needle[0]
                && haystack[place + span] == needle[span]
                && haystack[place..=place + span] == *needle
        });
    }
    let first = _mm256_set1_epi8(needle[0] as i8);
    let last = _mm256_set1_epi8(needle[span] as i8);
    let mut next = 0;
    while next < places {
        let at = next.min(places - 32);
        let start = haystack.as_ptr();
        // SAFETY: reads bytes `at .. at + 32` and the same `span` further on; `at + 32 + span <= haystack.len()`.
        let (heads, tails) = unsafe {
            let heads = _mm256_loadu_si256(start.add(at).cast::<__m256i>());
            (heads, _mm256_loadu_si256(start.add(at + span).cast::<__m256i>()))
        };
        let both = _mm256_and_si256(_mm256_cmpeq_epi8(heads, first), _mm256_cmpeq_epi8(tails, last));
        let mut found = _mm256_movemask_epi8(both) as u32;
        while found != 0 {
            let place = at + found.trailing_zeros() as usize;
            if haystack[place + 1..place + span] == needle[1..span] {
                return Some(place);
            }
            found &= found - 1;
        }
        next = at + 32;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_in_any_case_what_is_there_in_lower_case() {
        let haystack: Vec<u8> = (0..200u32).map(|i| b"aAbB[@zZ\xC3`{"[(i * i % 11) as usize]).collect();
        for length in [1, 2, 3, 5, 12, 40, 65, 66, 67] {
            for start in [0, 1, 31, 64, 100] {
                let mut needle = haystack[start..start + length].to_ascii_lowercase();
                for end in [0, length, 10, 64, 65, 128, 200] {
                    let hay = &haystack[..end];
                    let expected = memmem::find(&hay.to_ascii_lowercase(), &needle);
                    let expected = expected.map_or(Caseless::Missing, Caseless::Found);
                    let found = Finder::new(&needle).find_caseless(hay);
                    assert!(found == expected || found == Caseless::Unknown, "{found:?} {expected:?}");
                }
                needle.push(b'!');
                assert!(!matches!(Finder::new(&needle).find_caseless(&haystack), Caseless::Found(_)));
            }
        }
    }

    #[test]
    fn finds_what_a_plain_search_finds() {
        let haystack: Vec<u8> = (0..300u32).map(|i| b'a' + (i * i % 7) as u8).collect();
        for length in [0, 1, 2, 3, 5, 12, 40, 65, 66, 67, 140] {
            for start in [0, 1, 30, 31, 32, 33, 100, 150] {
                let mut needle = haystack[start..start + length].to_vec();
                for end in [length, 10, 64, 255, 256, 300] {
                    let hay = &haystack[..end.min(300)];
                    let expected = memmem::find(hay, &needle);
                    assert_eq!(Finder::new(&needle).find(hay), expected);
                    assert_eq!(Finder::new(&needle).find(&[]), memmem::find(&[], &needle));
                    #[cfg(target_arch = "x86_64")]
                    if level() != Level::Baseline && needle.len() >= 2 && hay.len() >= needle.len() {
                        // SAFETY: the CPU has AVX2; lengths are checked.
                        assert_eq!(unsafe { find_avx2(hay, &needle) }, expected);
                    }
                }
                needle.push(b'!');
                assert_eq!(Finder::new(&needle).find(&haystack), None);
                assert_eq!(Finder::new(&needle).find(&haystack[..60]), None);
            }
        }
    }
}

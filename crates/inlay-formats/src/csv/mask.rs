//! Where in 64 bytes certain bytes are, as bits. The one place of this crate with SIMD.

#![expect(unsafe_code, reason = "instructions of the CPU")]

/// Bytes looked at in one step.
pub(super) const BLOCK: usize = 64;

/// Bits at positions that hold `needle`.
#[inline(always)]
pub(super) fn equal(block: &[u8; BLOCK], needle: u8) -> u64 {
    imp::equal(block, needle)
}

#[cfg(target_arch = "x86_64")]
mod imp {
    use super::BLOCK;
    use std::arch::x86_64::{_mm_cmpeq_epi8, _mm_loadu_si128, _mm_movemask_epi8, _mm_set1_epi8};

    #[inline(always)]
    pub(super) fn equal(block: &[u8; BLOCK], needle: u8) -> u64 {
        let mut bits = 0;
        for (index, sixteen) in block.chunks_exact(16).enumerate() {
            // SAFETY: SSE2 is part of x86-64; the load reads the 16 bytes of `sixteen` at any alignment.
            let found = unsafe {
                let bytes = _mm_loadu_si128(sixteen.as_ptr().cast());
                _mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_set1_epi8(needle as i8)))
            };
            bits |= u64::from(found as u32) << (index * 16);
        }
        bits
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod imp {
    use super::BLOCK;

    const LOW: u64 = 0x7f7f_7f7f_7f7f_7f7f;

    #[inline(always)]
    pub(super) fn equal(block: &[u8; BLOCK], needle: u8) -> u64 {
        let pattern = u64::from(needle).wrapping_mul(0x0101_0101_0101_0101);
        let mut bits = 0;
        for (index, eight) in block.chunks_exact(8).enumerate() {
            let mut raw = [0; 8];
            raw.copy_from_slice(eight);
            let differs = u64::from_le_bytes(raw) ^ pattern;
            // The top bit of each byte that is zero, without carries between bytes.
            let zero = !(((differs & LOW) + LOW) | differs | LOW);
            bits |= ((zero >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56) << (index * 8);
        }
        bits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_where_the_byte_is() {
        let block: [u8; BLOCK] = std::array::from_fn(|i| (i * 37 % 11) as u8 | (0x80 * (i % 2) as u8));
        for needle in [0u8, 1, 0x80, 0x85, 200] {
            let expected = (0..BLOCK).fold(0u64, |bits, i| bits | u64::from(block[i] == needle) << i);
            assert_eq!(equal(&block, needle), expected);
        }
    }
}

//! Numbers of any number of bits, packed: value `i` takes bits `i * bits ..` of little-endian words.

/// Appends `values` with `bits` bits each, 1 to 64, padded to whole bytes of words where `bits` is not 8, 16, 32 or 64.
pub(crate) fn pack(values: impl ExactSizeIterator<Item = u64>, bits: u32, out: &mut Vec<u8>) {
    let start = out.len();
    match bits {
        8 => out.extend(values.map(|value| value as u8)),
        16 => {
            out.resize(start + values.len() * 2, 0);
            out[start..]
                .as_chunks_mut()
                .0
                .iter_mut()
                .zip(values)
                .for_each(|(two, v)| *two = (v as u16).to_le_bytes());
        }
        32 => {
            out.resize(start + values.len() * 4, 0);
            out[start..]
                .as_chunks_mut()
                .0
                .iter_mut()
                .zip(values)
                .for_each(|(four, v)| *four = (v as u32).to_le_bytes());
        }
        _ => pack_any(values, bits, out),
    }
}

fn pack_any(values: impl Iterator<Item = u64>, bits: u32, out: &mut Vec<u8>) {
    let mask = u64::MAX >> (64 - bits);
    let (mut word, mut filled) = (0u64, 0);
    for value in values {
        let value = value & mask;
        word |= value << filled;
        filled += bits;
        if filled >= 64 {
            out.extend_from_slice(&word.to_le_bytes());
            filled -= 64;
            word = if filled == 0 { 0 } else { value >> (bits - filled) };
        }
    }
    if filled > 0 {
        out.extend_from_slice(&word.to_le_bytes());
    }
}

/// Bytes that `count` values take; `None` beyond all sizes.
pub(crate) fn size(count: usize, bits: u32) -> Option<usize> {
    match bits {
        8 | 16 | 32 => count.checked_mul(bits as usize / 8),
        _ => Some(count.checked_mul(bits as usize)?.div_ceil(64) * 8),
    }
}

/// Calls `each` with the `count` values of `bytes`, which are [`size`] of them.
#[inline(always)]
pub(crate) fn unpack(bytes: &[u8], bits: u32, count: usize, mut each: impl FnMut(u64)) {
    match bits {
        8 => bytes.iter().for_each(|byte| each(u64::from(*byte))),
        16 => bytes.as_chunks().0.iter().for_each(|two| each(u64::from(u16::from_le_bytes(*two)))),
        32 => bytes.as_chunks().0.iter().for_each(|four| each(u64::from(u32::from_le_bytes(*four)))),
        _ => {
            let words = bytes.as_chunks::<8>().0;
            let mask = u64::MAX >> (64 - bits);
            let (mut word, mut shift) = (0, 0);
            for _ in 0..count {
                let low = u64::from_le_bytes(words[word]) >> shift;
                let value = if shift + bits > 64 {
                    low | u64::from_le_bytes(words[word + 1]) << (64 - shift)
                } else {
                    low
                };
                each(value & mask);
                shift += bits;
                if shift >= 64 {
                    shift -= 64;
                    word += 1;
                }
            }
        }
    }
}

/// Bits that the largest of the values needs, at least one.
pub(crate) fn needed(largest: u64) -> u32 {
    (64 - largest.leading_zeros()).max(1)
}

/// The same as a number of bits that whole bytes have: these are packed without shifts.
pub(crate) fn rounded(bits: u32) -> u32 {
    match bits {
        0..=8 => 8,
        9..=16 => 16,
        17..=32 => 32,
        33.. => 64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_width_comes_back() {
        for bits in 1..=64u32 {
            for count in [0usize, 1, 2, 63, 64, 65, 200] {
                let mask = u64::MAX >> (64 - bits);
                let values: Vec<u64> =
                    (0..count as u64).map(|i| i.wrapping_mul(0x9E37_79B9_7F4A_7C15) & mask).collect();
                let mut packed = Vec::new();
                pack(values.iter().copied(), bits, &mut packed);
                assert_eq!(Some(packed.len()), size(count, bits), "{bits} bits");
                let mut found = Vec::new();
                unpack(&packed, bits, count, |value| found.push(value));
                assert_eq!(found, values, "{bits} bits");
            }
        }
        assert_eq!((needed(0), needed(1), needed(255), needed(256), needed(u64::MAX)), (1, 1, 8, 9, 64));
    }
}

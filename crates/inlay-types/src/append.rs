//! Few bytes appended without a call: keys, numbers, names and most texts are shorter than what a call of `memmove` costs.
//!
//! Copies of known sizes are a load and a store each. Two of them that overlap cover every length between one and two of them, so
//! that nothing but the bytes asked for is read or written.

#![expect(unsafe_code, reason = "bytes written behind the end of a vector, into room that was made for them")]

/// Bytes that are copied without a call.
pub const SHORT: usize = 64;

/// Appends bytes: at most [`SHORT`] of them without a call.
#[inline(always)]
pub fn push_short(out: &mut Vec<u8>, bytes: &[u8]) {
    let len = bytes.len();
    if len > SHORT {
        return out.extend_from_slice(bytes);
    }
    if out.capacity() - out.len() < len {
        out.reserve(len);
    }
    let end = out.len();
    // SAFETY: there is room for `len` bytes behind `end`; each copy lies within the `len` bytes of both, which are of different
    // allocations, and together they write all of them.
    unsafe {
        let (from, to) = (bytes.as_ptr(), out.as_mut_ptr().add(end));
        if len >= 32 {
            copy::<32>(from, to);
            copy::<32>(from.add(len - 32), to.add(len - 32));
        } else if len >= 16 {
            copy::<16>(from, to);
            copy::<16>(from.add(len - 16), to.add(len - 16));
        } else if len >= 8 {
            copy::<8>(from, to);
            copy::<8>(from.add(len - 8), to.add(len - 8));
        } else if len >= 4 {
            copy::<4>(from, to);
            copy::<4>(from.add(len - 4), to.add(len - 4));
        } else if len >= 2 {
            copy::<2>(from, to);
            copy::<2>(from.add(len - 2), to.add(len - 2));
        } else if len == 1 {
            *to = *from;
        }
        out.set_len(end + len);
    }
}

/// Appends the lowest `len` bytes of a number, at most 16, the lowest first.
#[inline(always)]
pub fn push_word(out: &mut Vec<u8>, word: u128, len: usize) {
    if out.capacity() - out.len() < 16 {
        out.reserve(16);
    }
    let (end, raw) = (out.len(), word.to_le_bytes());
    // SAFETY: there is room for 16 bytes behind `end`, all of which are written; not more of them count.
    unsafe {
        copy::<16>(raw.as_ptr(), out.as_mut_ptr().add(end));
        out.set_len(end + len.min(16));
    }
}

/// Appends the lowest `len` bytes of a number, at most 8, the lowest first.
#[inline(always)]
pub fn push_eight(out: &mut Vec<u8>, word: u64, len: usize) {
    if out.capacity() - out.len() < 8 {
        out.reserve(8);
    }
    let (end, raw) = (out.len(), word.to_le_bytes());
    // SAFETY: there is room for 8 bytes behind `end`, all of which are written; not more of them count.
    unsafe {
        copy::<8>(raw.as_ptr(), out.as_mut_ptr().add(end));
        out.set_len(end + len.min(8));
    }
}

/// # Safety
/// `N` bytes may be read and written there, which do not overlap.
#[inline(always)]
unsafe fn copy<const N: usize>(from: *const u8, to: *mut u8) {
    // SAFETY: as the caller says.
    unsafe { std::ptr::copy_nonoverlapping(from, to, N) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_lengths_are_appended_as_a_slice_is() {
        for before in [0, 1, 31] {
            for len in 0..140 {
                let bytes: Vec<u8> = (0..len).map(|index| index as u8 ^ 0xA5).collect();
                // Full, with room, and growing.
                for room in [0, 3, 200] {
                    let mut found = Vec::with_capacity(before + room);
                    found.resize(before, 7);
                    let mut expected = found.clone();
                    push_short(&mut found, &bytes);
                    expected.extend_from_slice(&bytes);
                    assert_eq!(found, expected, "{len} bytes behind {before}");
                }
            }
        }
    }

    #[test]
    fn words_are_appended_from_their_lowest_byte() {
        let word = 0x0F0E_0D0C_0B0A_0908_0706_0504_0302_0100u128;
        for len in 0..=17 {
            let (mut found, mut expected) = (b"before".to_vec(), b"before".to_vec());
            push_word(&mut found, word, len);
            expected.extend(0..len.min(16) as u8);
            assert_eq!(found, expected);
            if len <= 9 {
                let mut found = b"before".to_vec();
                push_eight(&mut found, word as u64, len);
                assert_eq!(found, expected[..6 + len.min(8)]);
            }
        }
    }
}

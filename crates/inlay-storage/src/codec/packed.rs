//! Blocks of 1,024 integers as offsets from a base, in as few bits as all but a few of them need.
//!
//! ```text
//! block:  width u8 | exceptions u8 | base size u8 | base, zigzag, that many bytes | packed offsets
//!         when there are exceptions: size u8 | position u16 each | high part of the offset, that many bytes each
//! ```
//! Offsets are taken modulo 2^64 from the smallest value, as signed or unsigned numbers, whichever spans less; so a
//! stream need not say which it holds, and decompressing into narrower words simply cuts.
//!
//! A whole block is packed vertically: value `i` lies in lane `i % LANES` of row `i / LANES`, and the rows of one lane
//! are packed into consecutive words of that lane (32 lanes of u32 up to 32 bits, 16 lanes of u64 above). So values
//! come out in order, every step of the loop does the same to all lanes, and one loop serves every width. The last,
//! shorter block of a stream is packed tightly, bit after bit.
//!
//! Sources: Zukowski et al., "Super-Scalar RAM-CPU Cache Compression" (PFOR, ICDE 2006); Lemire, Boytsov, "Decoding
//! billions of integers per second through vectorization" (2015), for the vertical layout; Afroozeh, Boncz, FastLanes
//! (VLDB 2023), without its transposition.

use super::Word;
use crate::{ByteReader, ByteWriter, simd};
use inlay_types::{Error, Result};

/// Values in a whole block.
pub const BLOCK: usize = 1024;
const EXCEPTIONS_MAX: usize = 255;

/// How a block is packed.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    base: u64,
    width: usize,
    /// Bytes of the high parts of exceptions.
    exception_size: usize,
    /// Bytes of the block.
    pub size: usize,
}

/// The best way to pack `values`, at most [`BLOCK`] of them.
pub fn analyze(values: &[u64]) -> Plan {
    let base = base_of(values);
    let mut widths = [0usize; 65];
    for value in values {
        widths[bits_of(value.wrapping_sub(base))] += 1;
    }
    let widest = (0..=64).rev().find(|w| widths[*w] > 0).unwrap_or(0);
    let header = 3 + base_size(base);
    let mut best =
        Plan { base, width: widest, exception_size: 0, size: header + packed_size(values.len(), widest) };
    let mut exceptions = 0;
    for width in (0..widest).rev() {
        exceptions += widths[width + 1];
        if exceptions > EXCEPTIONS_MAX {
            break;
        }
        let exception_size = (widest - width).div_ceil(8);
        let size = header + packed_size(values.len(), width) + 1 + exceptions * (2 + exception_size);
        if size < best.size {
            best = Plan { base, width, exception_size, size };
        }
    }
    best
}

fn base_of(values: &[u64]) -> u64 {
    let Some(&first) = values.first() else { return 0 };
    let (mut low, mut high) = (first, first);
    let (mut signed_low, mut signed_high) = (first as i64, first as i64);
    for &value in values {
        low = low.min(value);
        high = high.max(value);
        signed_low = signed_low.min(value as i64);
        signed_high = signed_high.max(value as i64);
    }
    if high - low <= signed_high.wrapping_sub(signed_low) as u64 { low } else { signed_low as u64 }
}

fn bits_of(value: u64) -> usize {
    64 - value.leading_zeros() as usize
}

fn packed_size(count: usize, width: usize) -> usize {
    (count * width).div_ceil(8)
}

fn zigzag(value: u64) -> u64 {
    value << 1 ^ ((value as i64) >> 63) as u64
}

fn unzigzag(value: u64) -> u64 {
    value >> 1 ^ (value & 1).wrapping_neg()
}

fn base_size(base: u64) -> usize {
    bits_of(zigzag(base)).div_ceil(8)
}

/// Appends the size of a number and that many bytes, small for numbers near zero.
pub fn write_number(value: u64, out: &mut ByteWriter) {
    let size = base_size(value);
    out.u8(size as u8);
    out.raw(&zigzag(value).to_le_bytes()[..size]);
}

/// Takes what [`write_number`] wrote.
pub fn read_number(reader: &mut ByteReader<'_>) -> Result<u64> {
    let size = usize::from(reader.u8()?);
    Ok(unzigzag(little_endian(reader.raw(size)?)?))
}

fn little_endian(bytes: &[u8]) -> Result<u64> {
    let mut raw = [0u8; 8];
    raw.get_mut(..bytes.len())
        .ok_or_else(|| Error::corrupt("a number of more than 8 bytes"))?
        .copy_from_slice(bytes);
    Ok(u64::from_le_bytes(raw))
}

/// Appends a block of at most [`BLOCK`] values, packed as [`analyze`] said.
pub fn compress(values: &[u64], plan: Plan, out: &mut ByteWriter) {
    let mut offsets = [0u64; BLOCK];
    let mut exceptions = Vec::new();
    let mask = mask_of(plan.width);
    for (row, (offset, value)) in offsets.iter_mut().zip(values).enumerate() {
        let whole = value.wrapping_sub(plan.base);
        *offset = whole & mask;
        if whole > mask {
            exceptions.push((row as u16, whole >> plan.width));
        }
    }
    out.u8(plan.width as u8);
    out.u8(exceptions.len() as u8);
    write_number(plan.base, out);
    if values.len() < BLOCK {
        pack_tightly(&offsets[..values.len()], plan.width, out);
    } else if plan.width <= 32 {
        pack_lanes::<u32, 32>(&offsets, plan.width, out);
    } else {
        pack_lanes::<u64, 16>(&offsets, plan.width, out);
    }
    if !exceptions.is_empty() {
        out.u8(plan.exception_size as u8);
        exceptions.iter().for_each(|(row, _)| out.u16(*row));
        exceptions.iter().for_each(|(_, high)| out.raw(&high.to_le_bytes()[..plan.exception_size]));
    }
}

/// Takes a block of `out.len()` values, at most [`BLOCK`].
pub fn decompress<T: Word>(reader: &mut ByteReader<'_>, out: &mut [T]) -> Result<()> {
    let width = usize::from(reader.u8()?);
    let exceptions = usize::from(reader.u8()?);
    if width > 64 || out.len() > BLOCK || exceptions > 0 && width == 64 {
        return Err(Error::corrupt(format!("integers of {width} bits with {exceptions} exceptions")));
    }
    let base = read_number(reader)?;
    let packed = reader.raw(packed_size(out.len(), width))?;
    if out.len() < BLOCK {
        unpack_tightly(packed, width, T::cut(base), out);
    } else if width <= 32 {
        simd::unpack_u32(packed, width, T::cut(base), out);
    } else {
        simd::unpack_u64(packed, width, T::cut(base), out);
    }
    if exceptions > 0 {
        let size = usize::from(reader.u8()?);
        let rows = reader.raw(exceptions * 2)?;
        let highs = reader.raw(exceptions * size)?;
        if size > 8 {
            return Err(Error::corrupt("a number of more than 8 bytes"));
        }
        for index in 0..exceptions {
            let row = usize::from(u16::from_le_bytes([rows[2 * index], rows[2 * index + 1]]));
            let high = &highs[index * size..(index + 1) * size];
            let high = high.iter().rev().fold(0u64, |number, byte| number << 8 | u64::from(*byte));
            let value =
                out.get_mut(row).ok_or_else(|| Error::corrupt("an exception outside of its block"))?;
            *value = value.plus(T::cut(high << width));
        }
    }
    Ok(())
}

fn mask_of(width: usize) -> u64 {
    if width >= 64 { u64::MAX } else { (1 << width) - 1 }
}

fn pack_tightly(offsets: &[u64], width: usize, out: &mut ByteWriter) {
    let (mut pending, mut bits) = (0u128, 0);
    for offset in offsets {
        pending |= u128::from(*offset) << bits;
        bits += width;
        while bits >= 8 {
            out.u8(pending as u8);
            pending >>= 8;
            bits -= 8;
        }
    }
    if bits > 0 {
        out.u8(pending as u8);
    }
}

fn unpack_tightly<T: Word>(packed: &[u8], width: usize, base: T, out: &mut [T]) {
    let (mut pending, mut bits) = (0u128, 0);
    let mut bytes = packed.iter();
    let mask = mask_of(width);
    for value in out {
        while bits < width {
            pending |= u128::from(bytes.next().copied().unwrap_or(0)) << bits;
            bits += 8;
        }
        *value = base.plus(T::cut(pending as u64 & mask));
        pending >>= width;
        bits -= width;
    }
}

/// A word of a vertical block.
pub trait LaneWord: Word + std::ops::BitOr<Output = Self> + std::ops::BitAnd<Output = Self> {
    const BITS: usize;
    /// The word as it lies in a file.
    type Raw: Copy;
    /// Whole words of `bytes`.
    fn raw_words(bytes: &[u8]) -> &[Self::Raw];
    fn of(raw: Self::Raw) -> Self;
    fn shift_left(self, bits: usize) -> Self;
    fn shift_right(self, bits: usize) -> Self;
}

macro_rules! lane_word {
    ($($t:ty),*) => { $(
        impl LaneWord for $t {
            const BITS: usize = <$t>::BITS as usize;
            type Raw = [u8; size_of::<$t>()];
            #[inline(always)]
            fn raw_words(bytes: &[u8]) -> &[Self::Raw] {
                bytes.as_chunks().0
            }
            #[inline(always)]
            fn of(raw: Self::Raw) -> Self {
                <$t>::from_le_bytes(raw)
            }
            #[inline(always)]
            fn shift_left(self, bits: usize) -> Self {
                self << bits
            }
            #[inline(always)]
            fn shift_right(self, bits: usize) -> Self {
                self >> bits
            }
        }
    )* };
}
lane_word!(u32, u64);

fn pack_lanes<W: LaneWord, const LANES: usize>(offsets: &[u64; BLOCK], width: usize, out: &mut ByteWriter) {
    let mut words = [[W::default(); LANES]; 65];
    for (row, offsets) in offsets.chunks(LANES).enumerate() {
        let (word, shift) = (row * width / W::BITS, row * width % W::BITS);
        for (lane, offset) in offsets.iter().enumerate() {
            words[word][lane] = words[word][lane] | W::cut(*offset).shift_left(shift);
            if shift + width > W::BITS {
                words[word + 1][lane] = W::cut(offset >> (W::BITS - shift));
            }
        }
    }
    for word in words[..width].iter().flatten() {
        out.raw(&word.widen().to_le_bytes()[..size_of::<W>()]);
    }
}

/// `out[i] = base + offset i` of a whole block of up to 32 bits; for [`simd`], which compiles it for the CPU.
#[inline(always)]
pub fn unpack_u32_loop<T: Word>(packed: &[u8], width: usize, base: T, out: &mut [T]) {
    unpack_lanes::<u32, 32, T>(packed, width, base, out);
}

/// As [`unpack_u32_loop`], up to 64 bits.
#[inline(always)]
pub fn unpack_u64_loop<T: Word>(packed: &[u8], width: usize, base: T, out: &mut [T]) {
    unpack_lanes::<u64, 16, T>(packed, width, base, out);
}

/// Loops over arrays of a row's lanes and nothing else: iterators that are not inlined into a function for another CPU than
/// the crate's are calls, one for each value.
#[inline(always)]
fn unpack_lanes<W: LaneWord, const LANES: usize, T: Word>(
    packed: &[u8],
    width: usize,
    base: T,
    out: &mut [T],
) {
    if width == 0 {
        out.fill(base);
        return;
    }
    let words: &[[W::Raw; LANES]] = W::raw_words(packed).as_chunks().0;
    let rows: &mut [[T; LANES]] = out.as_chunks_mut().0;
    let mask = W::cut(mask_of(width));
    let mut row = 0;
    while row < rows.len() {
        let (word, shift) = (row * width / W::BITS, row * width % W::BITS);
        let out = &mut rows[row];
        let low = words[word];
        let mut lane = 0;
        if shift + width <= W::BITS {
            while lane < LANES {
                let offset = W::of(low[lane]).shift_right(shift) & mask;
                out[lane] = base.plus(T::cut(offset.widen()));
                lane += 1;
            }
        } else {
            let high = words[word + 1];
            while lane < LANES {
                let low = W::of(low[lane]).shift_right(shift);
                let offset = (low | W::of(high[lane]).shift_left(W::BITS - shift)) & mask;
                out[lane] = base.plus(T::cut(offset.widen()));
                lane += 1;
            }
        }
        row += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_of_every_width_come_back_into_every_word() {
        let mut random = 0x1234_5678_9ABC_DEF1u64;
        let mut next = || {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            random
        };
        for width in 0..=64 {
            for len in [1, 5, 31, 700, 1023, BLOCK] {
                let mask = mask_of(width);
                let base = next() >> (width % 60);
                let mut values: Vec<u64> = (0..len).map(|_| base.wrapping_add(next() & mask)).collect();
                if len > 200 {
                    values[3] = next();
                    values[len - 1] = next();
                }
                let plan = analyze(&values);
                let mut writer = ByteWriter::new();
                compress(&values, plan, &mut writer);
                assert!(writer.len() <= plan.size + 1);
                let mut wide = vec![0u64; len];
                let mut reader = ByteReader::new(writer.as_bytes());
                decompress(&mut reader, &mut wide).unwrap();
                reader.expect_end().unwrap();
                assert_eq!(wide, values, "width {width}");
                let mut narrow = vec![0u16; len];
                decompress(&mut ByteReader::new(writer.as_bytes()), &mut narrow).unwrap();
                assert!(narrow.iter().zip(&values).all(|(a, b)| *a == *b as u16));
                let mut middle = vec![0u32; len];
                decompress(&mut ByteReader::new(writer.as_bytes()), &mut middle).unwrap();
                assert!(middle.iter().zip(&values).all(|(a, b)| *a == *b as u32));
            }
        }
    }

    #[test]
    fn outliers_and_signs_do_not_widen_a_block() {
        let mut values: Vec<u64> = (0..BLOCK as u64).map(|i| i % 8).collect();
        values[17] = u64::MAX >> 3;
        assert!(analyze(&values).size < 430);
        let signed: Vec<u64> = (0..BLOCK as i64).map(|i| (i % 8 - 4) as u64).collect();
        assert!(analyze(&signed).size < 400);
    }
}

//! Streams of floats, given and taken as their bits, so that every NaN and zero comes back as it was.
//!
//! ```text
//! 0 bits  integer stream of the bits: blocks share their exponents, so real numbers lose a few bits each
//! 1 ALP   blocks: exponent u8 | factor u8 | exceptions u16 | packed integers | position u16 each | bits each
//! 2 zstd  size | frame of the bits
//! ```
//! ALP turns decimals that were stored as floats back into integers: `n = round(v * 10^e * 10^-f)`, where
//! `n * 10^f * 10^-e` has to give the very bits of `v`; else the value is an exception. A few pairs of exponent and
//! factor are found on a sample of the column, and the best of them on a sample of each block.
//!
//! Source: Afroozeh, Kuffó, Boncz, "ALP: Adaptive Lossless floating-Point Compression" (SIGMOD 2024). Departs from it
//! where it has ALP-RD for real doubles: packing their bits from a base comes near it and needs no other format.

use super::packed::{self, BLOCK};
use super::{Word, integers};
use crate::{ByteReader, ByteWriter};
use inlay_types::{Error, Result};

const BITS: u8 = 0;
const ALP: u8 = 1;
const ZSTD: u8 = 2;

/// Blocks that are looked at before a kind is chosen.
const SAMPLE_BLOCKS: usize = 8;
/// Values of a block that pairs are tried on.
const SAMPLE_VALUES: usize = 32;
/// Pairs that are tried for every block.
const PAIRS_MAX: usize = 5;
const ZSTD_LEVEL: i32 = 3;
/// A slower kind has to be smaller than this part of the faster.
const ALP_PART: f64 = 0.95;
const ZSTD_PART: f64 = 0.75;

/// Bits of a float.
pub trait FloatBits: Word {
    /// Powers of ten that are tried.
    const EXPONENT_MAX: usize;
    /// The integer that [`FloatBits::decimal`] makes these bits of.
    fn integer(self, pair: Pair) -> Option<i64>;
    fn decimal(integer: i64, pair: Pair) -> Self;
}

/// Exponent and factor: powers of ten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair {
    exponent: usize,
    factor: usize,
}

const TENS: [f64; 19] =
    [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18];
const TENTHS: [f64; 19] = [
    1e-0, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10, 1e-11, 1e-12, 1e-13, 1e-14, 1e-15,
    1e-16, 1e-17, 1e-18,
];

macro_rules! float_bits {
    ($bits:ty as $float:ty, exponents to $max:literal, mantissa of $mantissa:literal bits) => {
        impl FloatBits for $bits {
            const EXPONENT_MAX: usize = $max;

            #[inline(always)]
            fn integer(self, pair: Pair) -> Option<i64> {
                // Adding and taking away this number rounds to an integer.
                const ROUND: $float = (3u64 << ($mantissa - 1)) as $float;
                const LIMIT: $float = (1u64 << ($mantissa - 1)) as $float;
                let value = <$float>::from_bits(self);
                let scaled = value * TENS[pair.exponent] as $float * TENTHS[pair.factor] as $float;
                let integer = ((scaled + ROUND) - ROUND) as i64;
                (scaled.abs() < LIMIT && Self::decimal(integer, pair) == self).then_some(integer)
            }

            #[inline(always)]
            fn decimal(integer: i64, pair: Pair) -> Self {
                (integer as $float * TENS[pair.factor] as $float * TENTHS[pair.exponent] as $float).to_bits()
            }
        }
    };
}
float_bits!(u64 as f64, exponents to 18, mantissa of 52 bits);
float_bits!(u32 as f32, exponents to 10, mantissa of 23 bits);

/// The kind that is smallest, judged by a sample, and the pairs for ALP.
fn analyze<F: FloatBits>(values: &[F]) -> (u8, Vec<Pair>) {
    let blocks = values.len().div_ceil(BLOCK);
    let step = (blocks / SAMPLE_BLOCKS).max(1);
    let sample: Vec<&[F]> = values.chunks(BLOCK).step_by(step).collect();
    let pairs = pairs_of(&sample);
    let (mut bits, mut alp, mut raw) = (0, ByteWriter::new(), Vec::new());
    for block in &sample {
        bits += packed::analyze(&widened(block)).size;
        compress_alp(block, &pairs, &mut alp);
        raw.extend(block.iter().flat_map(|v| v.widen().to_le_bytes().into_iter().take(size_of::<F>())));
    }
    let (kind, size) =
        if (alp.len() as f64) < bits as f64 * ALP_PART { (ALP, alp.len()) } else { (BITS, bits) };
    let zstd = zstd::bulk::compress(&raw, ZSTD_LEVEL).map_or(f64::INFINITY, |z| z.len() as f64);
    (if zstd < size as f64 * ZSTD_PART { ZSTD } else { kind }, pairs)
}

fn widened<F: Word>(values: &[F]) -> Vec<u64> {
    values.iter().map(|v| v.widen()).collect()
}

/// Values spread over a block.
fn sample_of<F: Word>(block: &[F]) -> impl Iterator<Item = F> + '_ {
    block.iter().step_by((block.len() / SAMPLE_VALUES).max(1)).copied()
}

/// The pairs that are best for one of the blocks each, most frequent first.
fn pairs_of<F: FloatBits>(blocks: &[&[F]]) -> Vec<Pair> {
    let all: Vec<Pair> = (0..=F::EXPONENT_MAX)
        .flat_map(|exponent| (0..=exponent).map(move |factor| Pair { exponent, factor }))
        .collect();
    let mut found: Vec<(Pair, usize)> = Vec::new();
    for block in blocks {
        let Some(best) = best_pair(block, &all) else { continue };
        match found.iter_mut().find(|(pair, _)| *pair == best) {
            Some((_, count)) => *count += 1,
            None => found.push((best, 1)),
        }
    }
    found.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    found.into_iter().take(PAIRS_MAX).map(|(pair, _)| pair).collect()
}

fn best_pair<F: FloatBits>(block: &[F], pairs: &[Pair]) -> Option<Pair> {
    pairs.iter().copied().min_by_key(|pair| {
        let (mut low, mut high, mut exceptions, mut count) = (i64::MAX, i64::MIN, 0, 0);
        for value in sample_of(block) {
            count += 1;
            match value.integer(*pair) {
                Some(integer) => (low, high) = (low.min(integer), high.max(integer)),
                None => exceptions += 1,
            }
        }
        let width = if low > high { 0 } else { 64 - high.wrapping_sub(low).leading_zeros() as usize };
        count * width + exceptions * (size_of::<F>() + 2) * 8
    })
}

/// Appends a stream of floats.
pub fn compress<F: FloatBits>(values: &[F], out: &mut ByteWriter) -> Result<()> {
    let (kind, pairs) = analyze(values);
    out.u8(kind);
    match kind {
        ALP => values.chunks(BLOCK).for_each(|block| compress_alp(block, &pairs, out)),
        ZSTD => {
            let raw: Vec<u8> = values
                .iter()
                .flat_map(|v| v.widen().to_le_bytes().into_iter().take(size_of::<F>()))
                .collect();
            let frame = zstd::bulk::compress(&raw, ZSTD_LEVEL)
                .map_err(|error| Error::internal(format!("zstd cannot compress: {error}")))?;
            out.sized(&frame);
        }
        _ => integers::compress(&widened(values), out),
    }
    Ok(())
}

fn compress_alp<F: FloatBits>(block: &[F], pairs: &[Pair], out: &mut ByteWriter) {
    let pair = best_pair(block, pairs).unwrap_or(Pair { exponent: 0, factor: 0 });
    let integers: Vec<Option<i64>> = block.iter().map(|v| v.integer(pair)).collect();
    // Exceptions take a place that costs nothing.
    let filler = integers.iter().flatten().next().copied().unwrap_or(0);
    let words: Vec<u64> = integers.iter().map(|i| i.unwrap_or(filler) as u64).collect();
    let exceptions: Vec<usize> = (0..block.len()).filter(|row| integers[*row].is_none()).collect();
    out.u8(pair.exponent as u8);
    out.u8(pair.factor as u8);
    out.u16(exceptions.len() as u16);
    packed::compress(&words, packed::analyze(&words), out);
    exceptions.iter().for_each(|row| out.u16(*row as u16));
    exceptions.iter().for_each(|row| out.raw(&block[*row].widen().to_le_bytes()[..size_of::<F>()]));
}

/// Takes a stream of `out.len()` floats.
pub fn decompress<F: FloatBits>(reader: &mut ByteReader<'_>, out: &mut [F]) -> Result<()> {
    match reader.u8()? {
        BITS => integers::decompress(reader, out),
        ALP => out.chunks_mut(BLOCK).try_for_each(|block| decompress_alp(reader, block)),
        ZSTD => {
            let mut raw = vec![0u8; size_of_val(out)];
            let size = zstd::bulk::decompress_to_buffer(reader.sized()?, &mut raw[..]).ok();
            if size != Some(raw.len()) {
                return Err(Error::corrupt("compressed floats that do not give what they should"));
            }
            copy_words(&raw, out.iter_mut());
            Ok(())
        }
        kind => Err(Error::corrupt(format!("float stream of kind {kind}"))),
    }
}

/// Sets words from their little-endian bytes.
fn copy_words<'a, F: Word>(bytes: &[u8], words: impl Iterator<Item = &'a mut F>) {
    for (word, bytes) in words.zip(bytes.chunks_exact(size_of::<F>())) {
        let mut raw = [0u8; 8];
        raw[..bytes.len()].copy_from_slice(bytes);
        *word = F::cut(u64::from_le_bytes(raw));
    }
}

fn decompress_alp<F: FloatBits>(reader: &mut ByteReader<'_>, block: &mut [F]) -> Result<()> {
    let pair = Pair { exponent: usize::from(reader.u8()?), factor: usize::from(reader.u8()?) };
    if pair.exponent > F::EXPONENT_MAX || pair.factor > F::EXPONENT_MAX {
        return Err(Error::corrupt("a power of ten that floats do not have"));
    }
    let exceptions = usize::from(reader.u16()?);
    let mut words = [0u64; BLOCK];
    packed::decompress(reader, &mut words[..block.len()])?;
    for (value, word) in block.iter_mut().zip(&words) {
        *value = F::decimal(*word as i64, pair);
    }
    let rows = reader.raw(exceptions * 2)?;
    let bits = reader.raw(exceptions * size_of::<F>())?;
    for (row, bits) in rows.chunks_exact(2).zip(bits.chunks_exact(size_of::<F>())) {
        let row = usize::from(u16::from_le_bytes([row[0], row[1]]));
        let value = block.get_mut(row).ok_or_else(|| Error::corrupt("an exception outside of its block"))?;
        copy_words(bits, std::iter::once(value));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip<F: FloatBits + std::fmt::Debug>(values: &[F]) -> (u8, usize) {
        let mut writer = ByteWriter::new();
        compress(values, &mut writer).unwrap();
        let mut back = vec![F::default(); values.len()];
        let mut reader = ByteReader::new(writer.as_bytes());
        decompress(&mut reader, &mut back).unwrap();
        reader.expect_end().unwrap();
        assert_eq!(back, values);
        for at in 0..writer.len().min(400) {
            let mut damaged = writer.as_bytes().to_vec();
            damaged[at] ^= 1 << (at % 8);
            let _ = decompress(&mut ByteReader::new(&damaged), &mut back);
            let _ = decompress(&mut ByteReader::new(&damaged[..at]), &mut back);
        }
        (writer.as_bytes()[0], writer.len())
    }

    #[test]
    fn decimals_become_integers_and_every_bit_comes_back() {
        let mut random = 0x1234_5678_9ABC_DEF1u64;
        let mut next = || {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            random
        };
        let mut prices: Vec<u64> =
            (0..5000).map(|_| ((next() % 10_000_000) as f64 / 100.0).to_bits()).collect();
        let (kind, size) = round_trip(&prices);
        assert!(kind == ALP && size < 5000 * 26 / 8, "{size}");
        for (row, odd) in [f64::NAN, -0.0, f64::INFINITY, 1e300, f64::from_bits(1), -1.5].iter().enumerate() {
            prices[row * 700] = odd.to_bits();
        }
        let (kind, size) = round_trip(&prices);
        assert!(kind == ALP && size < 5000 * 27 / 8, "{size}");
        let small: Vec<u32> = (0..5000).map(|_| ((next() % 1000) as f32 / 10.0).to_bits()).collect();
        let (kind, size) = round_trip(&small);
        assert!(kind == ALP && size < 5000 * 12 / 8, "{size}");
        let real: Vec<u64> = (0..5000).map(|_| (1.0 + next() as f64 / u64::MAX as f64).to_bits()).collect();
        let (kind, size) = round_trip(&real);
        assert!(kind == BITS && size < 5000 * 7, "{size}");
        let few: Vec<u64> = (0..7).map(|_| next()).collect();
        let repeated: Vec<u64> = (0..5000).map(|i| few[i % 7]).collect();
        assert_eq!(round_trip(&repeated).0, ZSTD);
        assert_eq!(round_trip::<u64>(&[]).0, BITS);
        let noise: Vec<u32> = (0..3000).map(|_| next() as u32).collect();
        assert_eq!(round_trip(&noise).0, BITS);
    }
}

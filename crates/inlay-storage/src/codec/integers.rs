//! Streams of integers of up to 64 bits.
//!
//! ```text
//! 0 constant  one number
//! 1 packed    blocks, see `packed`
//! 2 delta     blocks of differences from the value before, each block behind its first value
//! 3 runs      number of runs | stream of values | stream of lengths
//! 4 scaled    factor | first value | stream of how many factors each value is from the first
//! ```
//! Signed numbers are compressed sign-extended. Differences need no zigzag, as blocks are packed from a signed base.
//! Scaling is for whole numbers in a DECIMAL. Streams inside of streams go two levels deep.

use super::Word;
use super::packed::{self, BLOCK};
use crate::{ByteReader, ByteWriter};
use inlay_types::{Error, Result};

const CONSTANT: u8 = 0;
const PACKED: u8 = 1;
const DELTA: u8 = 2;
const RUNS: u8 = 3;
const SCALED: u8 = 4;

/// Blocks that are looked at before a kind is chosen.
const SAMPLE_BLOCKS: usize = 8;
/// Streams inside of streams.
const DEPTH_MAX: usize = 2;
/// Fewer values are not worth scaling.
const SCALED_VALUES_MIN: usize = 256;
/// Runs shorter than this on average are not tried.
const RUN_LENGTH_MIN: usize = 4;

/// The kind of stream that is smallest, judged by a sample.
fn analyze(values: &[u64], depth: usize) -> u8 {
    let changes = values.windows(2).filter(|pair| pair[0] != pair[1]).count();
    if changes == 0 {
        return CONSTANT;
    }
    if depth < DEPTH_MAX && values.len() >= SCALED_VALUES_MIN && factor_of(values) > 1 {
        return SCALED;
    }
    let blocks = values.len().div_ceil(BLOCK);
    let step = (blocks / SAMPLE_BLOCKS).max(1);
    let (mut rows, mut packed, mut delta) = (0, 0, 0);
    for block in values.chunks(BLOCK).step_by(step) {
        rows += block.len();
        packed += packed::analyze(block).size;
        delta += packed::analyze(&differences(block)).size + 4;
    }
    let runs = changes + 1;
    if depth < DEPTH_MAX && runs * RUN_LENGTH_MIN <= values.len() {
        // A run costs about as much as a packed value and two bytes of length.
        let run = packed as f64 / rows as f64 + 2.0;
        if run * (runs as f64) < packed.min(delta) as f64 * (values.len() as f64 / rows as f64) {
            return RUNS;
        }
    }
    // Packed blocks decompress faster.
    if delta * 10 < packed * 9 { DELTA } else { PACKED }
}

/// Differences from the value before; the first is that of the second value, which costs nothing.
fn differences(block: &[u64]) -> Vec<u64> {
    let mut deltas: Vec<u64> = block.windows(2).map(|pair| pair[1].wrapping_sub(pair[0])).collect();
    deltas.insert(0, deltas.first().copied().unwrap_or(0));
    deltas
}

/// The greatest number that all differences are multiples of.
fn factor_of(values: &[u64]) -> u64 {
    let mut factor = 0u64;
    for value in values {
        let (mut a, mut b) = (factor, (value.wrapping_sub(values[0]) as i64).unsigned_abs());
        while b > 0 {
            (a, b) = (b, a % b);
        }
        factor = a;
        if factor == 1 {
            break;
        }
    }
    if factor > i64::MAX as u64 { 1 } else { factor.max(1) }
}

/// Appends a stream of `values`.
pub fn compress(values: &[u64], out: &mut ByteWriter) {
    compress_at(values, 0, out);
}

fn compress_at(values: &[u64], depth: usize, out: &mut ByteWriter) {
    let kind = analyze(values, depth);
    out.u8(kind);
    match kind {
        CONSTANT => packed::write_number(values.first().copied().unwrap_or(0), out),
        PACKED => {
            for block in values.chunks(BLOCK) {
                packed::compress(block, packed::analyze(block), out);
            }
        }
        DELTA => {
            for block in values.chunks(BLOCK) {
                let deltas = differences(block);
                packed::write_number(block[0].wrapping_sub(deltas[0]), out);
                packed::compress(&deltas, packed::analyze(&deltas), out);
            }
        }
        SCALED => {
            let (factor, first) = (factor_of(values), values[0]);
            packed::write_number(factor, out);
            packed::write_number(first, out);
            let factors = |value: &u64| (value.wrapping_sub(first) as i64 / factor as i64) as u64;
            compress_at(&values.iter().map(factors).collect::<Vec<u64>>(), depth + 1, out);
        }
        _ => {
            let (runs, lengths) = runs_of(values);
            out.count(runs.len());
            compress_at(&runs, depth + 1, out);
            compress_at(&lengths, depth + 1, out);
        }
    }
}

/// The value and the length of each run.
fn runs_of(values: &[u64]) -> (Vec<u64>, Vec<u64>) {
    values.chunk_by(|a, b| a == b).map(|run| (run[0], run.len() as u64)).unzip()
}

/// Takes a stream of `out.len()` values.
pub fn decompress<T: Word>(reader: &mut ByteReader<'_>, out: &mut [T]) -> Result<()> {
    decompress_at(reader, 0, out)
}

fn decompress_at<T: Word>(reader: &mut ByteReader<'_>, depth: usize, out: &mut [T]) -> Result<()> {
    match reader.u8()? {
        CONSTANT => out.fill(T::cut(packed::read_number(reader)?)),
        PACKED => {
            for block in out.chunks_mut(BLOCK) {
                packed::decompress(reader, block)?;
            }
        }
        DELTA => {
            for block in out.chunks_mut(BLOCK) {
                let mut value = T::cut(packed::read_number(reader)?);
                packed::decompress(reader, block)?;
                for delta in block {
                    value = value.plus(*delta);
                    *delta = value;
                }
            }
        }
        SCALED if depth < DEPTH_MAX => {
            let factor = packed::read_number(reader)?;
            let first = T::cut(packed::read_number(reader)?);
            decompress_at(reader, depth + 1, out)?;
            for value in out {
                *value = first.plus(T::cut(value.widen().wrapping_mul(factor)));
            }
        }
        RUNS if depth < DEPTH_MAX => {
            let count = reader.count()?;
            if count > out.len() {
                return Err(Error::corrupt(format!("{count} runs of {} values", out.len())));
            }
            let mut values = vec![T::default(); count];
            decompress_at(reader, depth + 1, &mut values)?;
            let mut lengths = vec![0u32; count];
            decompress_at(reader, depth + 1, &mut lengths)?;
            let mut rest = out;
            for (value, length) in values.into_iter().zip(lengths) {
                let (run, behind) = rest
                    .split_at_mut_checked(length as usize)
                    .ok_or_else(|| Error::corrupt("runs beyond the last value"))?;
                run.fill(value);
                rest = behind;
            }
            if !rest.is_empty() {
                return Err(Error::corrupt("runs that end before the last value"));
            }
        }
        kind => return Err(Error::corrupt(format!("integer stream of kind {kind}"))),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip(values: &[u64]) -> (u8, usize) {
        let mut writer = ByteWriter::new();
        compress(values, &mut writer);
        let mut back = vec![1u64; values.len()];
        let mut reader = ByteReader::new(writer.as_bytes());
        decompress(&mut reader, &mut back).unwrap();
        reader.expect_end().unwrap();
        assert_eq!(back, values);
        for len in 0..writer.len() {
            let _ = decompress(&mut ByteReader::new(&writer.as_bytes()[..len]), &mut back);
        }
        (writer.as_bytes()[0], writer.len())
    }

    #[test]
    fn each_kind_is_chosen_where_it_is_smallest() {
        assert_eq!(round_trip(&[]).0, CONSTANT);
        assert_eq!(round_trip(&[7; 5000]).0, CONSTANT);
        let random: Vec<u64> = (0..5000u64).map(|i| i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 44).collect();
        assert_eq!(round_trip(&random).0, PACKED);
        let ascending: Vec<u64> = (0..5000u64).map(|i| i * 97 + i % 3).collect();
        let (kind, size) = round_trip(&ascending);
        assert!(kind == DELTA && size < 2000, "{size}");
        let runs: Vec<u64> = (0..5000u64).map(|i| (i / 100).wrapping_mul(0x9E37_79B9_7F4A_7C15)).collect();
        let (kind, size) = round_trip(&runs);
        assert!(kind == RUNS && size < 600, "{size}");
        let signed: Vec<u64> = (0..5000i64).map(|i| (i % 11 - 5) as u64).collect();
        assert!(round_trip(&signed).1 < 2700);
        let whole: Vec<u64> = random.iter().map(|v| (v % 50 * 100).wrapping_sub(700)).collect();
        let (kind, size) = round_trip(&whole);
        assert!(kind == SCALED && size < 3900, "{size}");
        let far: Vec<u64> = (0..300).map(|i| if i % 7 == 0 { 0 } else { 1 << 63 }).collect();
        round_trip(&far);
    }
}

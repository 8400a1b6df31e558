//! Streams of bits: validity.
//!
//! ```text
//! 0 constant  one byte, 0 or 1
//! 1 plain     words of 64 bits
//! 2 runs      first bit | number of runs | stream of their lengths
//! ```

use super::integers;
use crate::{ByteReader, ByteWriter};
use inlay_types::{Bitmap, Error, Result};

const CONSTANT: u8 = 0;
const PLAIN: u8 = 1;
const RUNS: u8 = 2;

/// Runs longer than this on average are smaller than plain words.
const RUN_LENGTH_MIN: usize = 24;

/// Lengths of the runs of equal bits, unless there are too many.
fn analyze(bitmap: &Bitmap) -> Option<Vec<u64>> {
    let mut lengths = Vec::new();
    let mut start = 0;
    for row in 1..bitmap.len() {
        if bitmap.get(row) != bitmap.get(row - 1) {
            lengths.push((row - start) as u64);
            start = row;
            if lengths.len() * RUN_LENGTH_MIN > bitmap.len() {
                return None;
            }
        }
    }
    lengths.push((bitmap.len() - start) as u64);
    Some(lengths)
}

/// Appends a stream of the bits.
pub fn compress(bitmap: &Bitmap, out: &mut ByteWriter) {
    let first = !bitmap.is_empty() && bitmap.get(0);
    match analyze(bitmap) {
        Some(lengths) if lengths.len() == 1 => {
            out.u8(CONSTANT);
            out.bool(first);
        }
        Some(lengths) => {
            out.u8(RUNS);
            out.bool(first);
            out.count(lengths.len());
            integers::compress(&lengths, out);
        }
        None => {
            out.u8(PLAIN);
            bitmap.words()[..bitmap.len().div_ceil(64)].iter().for_each(|word| out.u64(*word));
        }
    }
}

/// Takes a stream of `len` bits. Bits behind the last are clear.
pub fn decompress(reader: &mut ByteReader<'_>, len: usize) -> Result<Bitmap> {
    let mut words = vec![0u64; len.div_ceil(64)];
    match reader.u8()? {
        CONSTANT if reader.bool()? => set(&mut words, 0..len),
        CONSTANT => {}
        PLAIN => {
            for word in &mut words {
                *word = reader.u64()?;
            }
            if let (false, Some(last)) = (len.is_multiple_of(64), words.last_mut()) {
                *last &= (1 << (len % 64)) - 1;
            }
        }
        RUNS => {
            let mut bit = reader.bool()?;
            let count = reader.count()?;
            if count > len {
                return Err(Error::corrupt(format!("{count} runs of {len} bits")));
            }
            let mut lengths = vec![0u32; count];
            integers::decompress(reader, &mut lengths)?;
            let mut start = 0;
            for length in lengths {
                let end = start + length as usize;
                if end > len {
                    return Err(Error::corrupt("runs beyond the last bit"));
                }
                if bit {
                    set(&mut words, start..end);
                }
                (start, bit) = (end, !bit);
            }
            if start != len {
                return Err(Error::corrupt("runs that end before the last bit"));
            }
        }
        kind => return Err(Error::corrupt(format!("bit stream of kind {kind}"))),
    }
    Ok(Bitmap::from_words(words, len))
}

fn set(words: &mut [u64], rows: std::ops::Range<usize>) {
    if rows.is_empty() {
        return;
    }
    let (first, last) = (rows.start / 64, (rows.end - 1) / 64);
    let low = u64::MAX << (rows.start % 64);
    let high = u64::MAX >> (63 - (rows.end - 1) % 64);
    if first == last {
        words[first] |= low & high;
        return;
    }
    words[first] |= low;
    words[first + 1..last].fill(u64::MAX);
    words[last] |= high;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_of_every_kind_come_back() {
        type Case = (u8, fn(usize) -> bool);
        let cases: [Case; 5] = [
            (CONSTANT, |_| true),
            (CONSTANT, |_| false),
            (PLAIN, |i| i % 3 == 0),
            (RUNS, |i| i % 500 < 70),
            (RUNS, |i| i != 77),
        ];
        for (kind, bit) in cases {
            for len in [1, 64, 1000, 4096] {
                let bitmap = Bitmap::from_fn(len, bit);
                let mut writer = ByteWriter::new();
                compress(&bitmap, &mut writer);
                assert!(writer.as_bytes()[0] == kind || len < 1000);
                let back = decompress(&mut ByteReader::new(writer.as_bytes()), len).unwrap();
                assert!((0..len).all(|i| back.get(i) == bit(i)));
                assert_eq!(back.count_ones(), bitmap.count_ones());
            }
        }
    }
}

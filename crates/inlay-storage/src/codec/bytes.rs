//! Streams of bytes: the strings of a column, one after the other.
//!
//! ```text
//! 0 plain | 1 FSST, see `fsst` | 2 zstd, one frame        each: size, and that many bytes
//! ```
//! zstd is taken where it saves a quarter against FSST, which decompresses twice as fast or more. Every kind has a
//! limit to how much it may expand, so that a damaged size cannot make a reader allocate without end.

use super::fsst;
use crate::{ByteReader, ByteWriter};
use inlay_types::{Error, Result};

const PLAIN: u8 = 0;
const FSST: u8 = 1;
const ZSTD: u8 = 2;

/// Bytes that are looked at before a kind is chosen, in how many pieces.
const SAMPLE_SIZE: usize = 128 << 10;
const SAMPLE_PIECES: usize = 4;
const ZSTD_LEVEL: i32 = 3;
/// zstd has to be smaller than this part of FSST.
const ZSTD_PART: f64 = 0.75;
/// Compressed bytes have to be fewer than this part of the plain ones.
const PLAIN_PART: f64 = 0.95;
/// How many bytes a byte of zstd may stand for.
const ZSTD_EXPANSION_MAX: usize = 1024;

/// Bytes that [`decompress`] may write behind the last.
pub const SLACK: usize = 8;

/// The kind that is smallest, judged by a sample, and the table for FSST that it gave.
fn analyze(bytes: &[u8]) -> (u8, fsst::Table) {
    let sample = sample(bytes);
    let table = fsst::Table::train(&sample);
    let fsst = table.size_of(&sample) as f64;
    let zstd = zstd::bulk::compress(&sample, ZSTD_LEVEL).map_or(f64::INFINITY, |z| z.len() as f64);
    let plain = sample.len() as f64 * PLAIN_PART;
    let kind = if zstd < fsst.min(plain) * ZSTD_PART {
        ZSTD
    } else if fsst < plain {
        FSST
    } else {
        PLAIN
    };
    (kind, table)
}

fn sample(bytes: &[u8]) -> Vec<u8> {
    if bytes.len() <= SAMPLE_SIZE {
        return bytes.to_vec();
    }
    let piece = SAMPLE_SIZE / SAMPLE_PIECES;
    let step = (bytes.len() - piece) / (SAMPLE_PIECES - 1);
    (0..SAMPLE_PIECES).flat_map(|i| &bytes[i * step..i * step + piece]).copied().collect()
}

/// Appends a stream of `bytes`.
pub fn compress(bytes: &[u8], out: &mut ByteWriter) -> Result<()> {
    let (mut kind, table) = analyze(bytes);
    let mut compressed = Vec::new();
    if kind == ZSTD {
        compressed = zstd::bulk::compress(bytes, ZSTD_LEVEL)
            .map_err(|error| Error::internal(format!("zstd cannot compress: {error}")))?;
        if bytes.len() > limit_of(ZSTD, compressed.len()) {
            kind = FSST;
        }
    }
    if kind == FSST {
        compressed = fsst::compress(bytes, &table);
    }
    if kind != PLAIN && compressed.len() >= bytes.len() {
        kind = PLAIN;
    }
    out.u8(kind);
    out.sized(if kind == PLAIN { bytes } else { &compressed });
    Ok(())
}

/// How many bytes `size` bytes of a kind may stand for.
fn limit_of(kind: u8, size: usize) -> usize {
    match kind {
        FSST => size.saturating_mul(8),
        ZSTD => size.saturating_mul(ZSTD_EXPANSION_MAX),
        _ => size,
    }
}

/// A stream whose bytes are not decompressed yet.
#[derive(Debug)]
pub struct Stream<'a> {
    kind: u8,
    bytes: &'a [u8],
}

impl<'a> Stream<'a> {
    /// Takes a stream that has to hold `size` bytes; fails when that many cannot be in it.
    pub fn read(reader: &mut ByteReader<'a>, size: usize) -> Result<Self> {
        let (kind, bytes) = (reader.u8()?, reader.sized()?);
        if kind > ZSTD {
            return Err(Error::corrupt(format!("byte stream of kind {kind}")));
        }
        if size > limit_of(kind, bytes.len()) {
            return Err(Error::corrupt(format!("{size} bytes from a stream of {}", bytes.len())));
        }
        Ok(Self { kind, bytes })
    }

    /// Fills `out` except for the last [`SLACK`] bytes, whose contents are then unspecified.
    pub fn decompress(&self, out: &mut [u8]) -> Result<()> {
        let size = out.len().saturating_sub(SLACK);
        let written = match self.kind {
            PLAIN => {
                let whole = self.bytes.len() == size;
                if whole {
                    out[..size].copy_from_slice(self.bytes);
                }
                whole.then_some(size)
            }
            FSST => Some(fsst::decompress(self.bytes, out)?),
            _ => zstd::bulk::decompress_to_buffer(self.bytes, &mut out[..size]).ok(),
        };
        if written == Some(size) {
            Ok(())
        } else {
            Err(Error::corrupt("compressed bytes that do not give what they should"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_of_every_kind_come_back_and_no_damage_panics() {
        let words = ["furiously ", "express ", "deposits ", "sleep ", "carefully "];
        let line = "regular deposits sleep after the furiously even accounts, and then ";
        let mut random = 0x9E37_79B9_7F4A_7C15u64;
        let mut next = || {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            random
        };
        let noise: Vec<u8> = (0..3000).map(|_| next() as u8).collect();
        let names: Vec<u8> =
            (0..3000).flat_map(|_| format!("Customer#{:09}", next() % 1_000_000_000).into_bytes()).collect();
        let text: Vec<u8> = (0..9000).flat_map(|_| words[next() as usize % 5].bytes()).collect();
        let mut kinds = Vec::new();
        let lines: Vec<u8> = (0..3000).flat_map(|_| format!("{line}{}", next() % 10).into_bytes()).collect();
        for bytes in [Vec::new(), noise, names, text, lines, vec![7; 200_000]] {
            let mut writer = ByteWriter::new();
            compress(&bytes, &mut writer).unwrap();
            let image = writer.finish();
            kinds.push(image[0]);
            let mut back = vec![0; bytes.len() + SLACK];
            let stream = Stream::read(&mut ByteReader::new(&image), bytes.len()).unwrap();
            stream.decompress(&mut back).unwrap();
            assert_eq!(back[..bytes.len()], bytes);
            for _ in 0..300 {
                let mut damaged = image.clone();
                let at = next() as usize % damaged.len();
                damaged[at] ^= 1 << (next() % 8);
                if let Ok(stream) = Stream::read(&mut ByteReader::new(&damaged), bytes.len()) {
                    let _ = stream.decompress(&mut back);
                }
            }
        }
        assert!([PLAIN, FSST, ZSTD].iter().all(|kind| kinds.contains(kind)), "{kinds:?}");
    }
}

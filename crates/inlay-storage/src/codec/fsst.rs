//! FSST: frequent byte strings of up to eight bytes become one byte.
//!
//! ```text
//! number of symbols u8 | length of each | their bytes | codes
//! ```
//! A code below 255 is a symbol; 255 announces a byte that stands for itself. Strings of a column are compressed as
//! one sequence of bytes, so symbols may reach across the end of a string.
//!
//! The table is trained on a sample in rounds: the sample is compressed with the table so far, symbols and pairs of
//! neighbours are counted, and those that would save most become the next table.
//!
//! Source: Boncz, Neumann, Leis, "FSST: Fast Random Access String Compression" (VLDB 2020). Departs from it in
//! compressing streams, without random access to single strings.

use inlay_types::{Error, Result};
use std::collections::HashMap;

/// Codes from here on do not exist; this one escapes a byte.
const ESCAPE: u8 = 255;
const SYMBOLS_MAX: usize = 255;
const SYMBOL_SIZE_MAX: usize = 8;
/// Bytes of a sample that tables are trained on, in pieces of [`PIECE_SIZE`] spread over it.
const TRAINING_SIZE: usize = 32 << 10;
const PIECE_SIZE: usize = 512;
const ROUNDS: usize = 5;
const HASH_BITS: u32 = 11;
/// Codes inside of a table: below it bytes that stand for themselves, above it symbols.
const SYMBOL_BASE: u16 = 256;

/// Up to eight bytes, in the low end of `bytes`; the rest is zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Symbol {
    bytes: u64,
    len: usize,
}

impl Symbol {
    fn matches(self, word: u64) -> bool {
        word & mask_of(self.len) == self.bytes
    }

    /// Both in a row, as far as eight bytes reach.
    fn joined(self, next: Self) -> Self {
        let len = (self.len + next.len).min(SYMBOL_SIZE_MAX);
        let bytes =
            if self.len == SYMBOL_SIZE_MAX { self.bytes } else { self.bytes | next.bytes << (8 * self.len) };
        Self { bytes: bytes & mask_of(len), len }
    }
}

fn mask_of(len: usize) -> u64 {
    if len >= 8 { u64::MAX } else { (1 << (8 * len)) - 1 }
}

/// A set of symbols, arranged for finding the longest one at the front of eight bytes.
#[derive(Debug)]
pub struct Table {
    symbols: Vec<Symbol>,
    /// By the first two bytes: symbol of two bytes, else of one byte, else the byte itself.
    short: Vec<u16>,
    /// By a hash of the first three bytes: one symbol of three or more, `u16::MAX` for none.
    long: Vec<u16>,
}

impl Table {
    fn new() -> Self {
        Self {
            symbols: Vec::new(),
            short: (0..=u16::MAX).map(|pair| pair & 0xFF).collect(),
            long: vec![u16::MAX; 1 << HASH_BITS],
        }
    }

    /// A table of symbols, best first. Of long ones that fall into one place the first is kept.
    fn of(candidates: impl Iterator<Item = Symbol>) -> Self {
        let mut table = Self::new();
        for symbol in candidates {
            if table.symbols.len() == SYMBOLS_MAX {
                break;
            }
            let code = SYMBOL_BASE + table.symbols.len() as u16;
            match symbol.len {
                0 => continue,
                1 => {
                    for second in 0..=255usize {
                        let slot = &mut table.short[second << 8 | symbol.bytes as usize];
                        if *slot < SYMBOL_BASE {
                            *slot = code;
                        }
                    }
                }
                2 => table.short[symbol.bytes as usize] = code,
                _ => {
                    let slot = &mut table.long[place(symbol.bytes)];
                    if *slot != u16::MAX {
                        continue;
                    }
                    *slot = code;
                }
            }
            table.symbols.push(symbol);
        }
        table
    }

    /// The symbol or byte at the front of `word`, of which `left` bytes exist; and its length.
    #[inline(always)]
    fn find(&self, word: u64, left: usize) -> (u16, usize) {
        let long = self.long[place(word)];
        if long != u16::MAX {
            let symbol = self.symbols[usize::from(long - SYMBOL_BASE)];
            if symbol.matches(word) && symbol.len <= left {
                return (long, symbol.len);
            }
        }
        let short = self.short[(word & 0xFFFF) as usize];
        if short < SYMBOL_BASE {
            return (short, 1);
        }
        let len = self.symbols[usize::from(short - SYMBOL_BASE)].len;
        if len <= left { (short, len) } else { ((word & 0xFF) as u16, 1) }
    }

    fn symbol(&self, code: u16) -> Symbol {
        match code.checked_sub(SYMBOL_BASE) {
            Some(index) => self.symbols[usize::from(index)],
            None => Symbol { bytes: u64::from(code), len: 1 },
        }
    }

    fn codes<'a>(&'a self, bytes: &'a [u8]) -> impl Iterator<Item = u16> + 'a {
        let mut position = 0;
        std::iter::from_fn(move || {
            let rest = &bytes[position..];
            if rest.is_empty() {
                return None;
            }
            let (code, len) = self.find(front(rest), rest.len());
            position += len;
            Some(code)
        })
    }

    /// A table for data of which `sample` is typical.
    pub fn train(sample: &[u8]) -> Self {
        let step = (sample.len() / (TRAINING_SIZE / PIECE_SIZE)).max(PIECE_SIZE);
        let pieces: Vec<&[u8]> = (0..sample.len())
            .step_by(step)
            .map(|at| &sample[at..(at + PIECE_SIZE).min(sample.len())])
            .collect();
        let mut table = Self::new();
        for round in 0..ROUNDS {
            table = table.improved(&pieces, round + 1 == ROUNDS);
        }
        table
    }

    /// The next table: symbols, and pairs of neighbours, by what they save. A last round makes no new pairs.
    fn improved(&self, pieces: &[&[u8]], is_last: bool) -> Self {
        let mut singles = vec![0u32; 512];
        let mut pairs = vec![0u16; 512 * 512];
        for piece in pieces {
            let mut before: Option<usize> = None;
            for code in self.codes(piece) {
                let code = usize::from(code);
                let symbol = self.symbol(code as u16);
                let first = (symbol.bytes & 0xFF) as usize;
                singles[code] += 1;
                // The first byte of a longer symbol is counted too, so that short symbols are not lost.
                if symbol.len > 1 {
                    singles[first] += 1;
                }
                if let Some(before) = before {
                    pairs[before * 512 + code] = pairs[before * 512 + code].saturating_add(1);
                    if symbol.len > 1 {
                        pairs[before * 512 + first] = pairs[before * 512 + first].saturating_add(1);
                    }
                }
                before = Some(code);
            }
        }
        let mut gains: HashMap<Symbol, u64> = HashMap::new();
        for (code, &count) in singles.iter().enumerate().filter(|(_, count)| **count > 0) {
            let symbol = self.symbol(code as u16);
            // A byte without a symbol costs two, so single bytes are worth more than their length.
            let weight = if symbol.len == 1 { 8 } else { symbol.len as u64 };
            *gains.entry(symbol).or_default() += weight * u64::from(count);
            if is_last || symbol.len == SYMBOL_SIZE_MAX {
                continue;
            }
            let next = pairs[code * 512..(code + 1) * 512].iter().enumerate();
            for (second, &count) in next.filter(|(_, count)| **count > 1) {
                let joined = symbol.joined(self.symbol(second as u16));
                *gains.entry(joined).or_default() += joined.len as u64 * u64::from(count);
            }
        }
        let mut gains: Vec<(u64, Symbol)> = gains.into_iter().map(|(symbol, gain)| (gain, symbol)).collect();
        gains.sort_unstable_by(|a, b| b.cmp(a));
        Self::of(gains.into_iter().map(|(_, symbol)| symbol))
    }

    /// Bytes of `bytes` compressed with this table, and of the table.
    pub fn size_of(&self, bytes: &[u8]) -> usize {
        self.table_size()
            + self.codes(bytes).map(|code| if code < SYMBOL_BASE { 2 } else { 1 }).sum::<usize>()
    }

    fn table_size(&self) -> usize {
        1 + self.symbols.len() + self.symbols.iter().map(|s| s.len).sum::<usize>()
    }
}

fn place(word: u64) -> usize {
    let hash = (word as u32 & 0xFF_FFFF).wrapping_mul(0x9E37_79B1);
    (hash >> (32 - HASH_BITS)) as usize
}

/// The first eight bytes; zeroes where there are fewer.
#[inline(always)]
fn front(bytes: &[u8]) -> u64 {
    match bytes.first_chunk::<8>() {
        Some(chunk) => u64::from_le_bytes(*chunk),
        None => {
            let mut raw = [0u8; 8];
            raw[..bytes.len()].copy_from_slice(bytes);
            u64::from_le_bytes(raw)
        }
    }
}

/// The table and the codes of `bytes`.
pub fn compress(bytes: &[u8], table: &Table) -> Vec<u8> {
    let mut out = Vec::with_capacity(table.table_size() + bytes.len() / 2);
    out.push(table.symbols.len() as u8);
    out.extend(table.symbols.iter().map(|s| s.len as u8));
    for symbol in &table.symbols {
        out.extend_from_slice(&symbol.bytes.to_le_bytes()[..symbol.len]);
    }
    for code in table.codes(bytes) {
        match code.checked_sub(SYMBOL_BASE) {
            Some(code) => out.push(code as u8),
            None => out.extend_from_slice(&[ESCAPE, code as u8]),
        }
    }
    out
}

/// Writes to the front of `out` and returns how many bytes; more than eight bytes beyond its end is an error, and up
/// to eight bytes behind the last are overwritten.
pub fn decompress(compressed: &[u8], out: &mut [u8]) -> Result<usize> {
    let too_short = || Error::corrupt("FSST data ends inside of its symbols");
    let (&count, rest) = compressed.split_first().ok_or_else(too_short)?;
    let (lengths, mut rest) = rest.split_at_checked(usize::from(count)).ok_or_else(too_short)?;
    let mut symbols = [[0u8; 8]; 256];
    let mut sizes = [0u8; 256];
    for ((symbol, size), &len) in symbols.iter_mut().zip(&mut sizes).zip(lengths) {
        let (bytes, behind) = rest.split_at_checked(usize::from(len)).ok_or_else(too_short)?;
        symbol.get_mut(..bytes.len()).ok_or_else(too_short)?.copy_from_slice(bytes);
        (*size, rest) = (len, behind);
    }
    let mut position = 0;
    let mut codes = rest.iter();
    while let Some(&code) = codes.next() {
        let (word, len) = if code == ESCAPE {
            let byte = *codes.next().ok_or_else(too_short)?;
            ([byte, 0, 0, 0, 0, 0, 0, 0], 1)
        } else {
            (symbols[usize::from(code)], usize::from(sizes[usize::from(code)]))
        };
        let target = out.get_mut(position..).and_then(|rest| rest.first_chunk_mut::<8>());
        *target.ok_or_else(|| Error::corrupt("FSST data longer than its strings"))? = word;
        position += len;
    }
    Ok(position)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_shrinks_to_half_and_comes_back() {
        let words =
            ["the ", "furiously ", "special ", "requests ", "wake ", "quickly. ", "pending ", "ideas "];
        let mut state = 1u64;
        let text: Vec<u8> = (0..20_000)
            .flat_map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                words[(state >> 40) as usize % words.len()].bytes()
            })
            .collect();
        let table = Table::train(&text);
        let compressed = compress(&text, &table);
        assert!(compressed.len() * 4 < text.len(), "{} of {}", compressed.len(), text.len());
        assert_eq!(compressed.len(), table.size_of(&text));
        let mut back = vec![0; text.len() + 8];
        assert_eq!(decompress(&compressed, &mut back).unwrap(), text.len());
        assert_eq!(back[..text.len()], text);
        assert!(decompress(&compressed, &mut back[..text.len() - 20]).is_err());
    }

    #[test]
    fn any_bytes_come_back() {
        for len in [0usize, 1, 2, 7, 8, 9, 1000] {
            let bytes: Vec<u8> = (0..len).map(|i| (i * i) as u8).collect();
            let compressed = compress(&bytes, &Table::train(&bytes));
            let mut back = vec![0; len + 8];
            assert_eq!(decompress(&compressed, &mut back).unwrap(), len);
            assert_eq!(back[..len], bytes);
        }
    }
}

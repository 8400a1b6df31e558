//! MD5 of many short texts at once: each step of the algorithm is done for one text a lane.
//!
//! A step needs the one before, so that a single text keeps the CPU waiting; sixteen fill its registers. What is longer than a
//! block is left to the md-5 crate. Source: RFC 1321.

use super::columns::TextColumn;
use inlay_types::{Result, Vector, limits, multiversion};
use md5::{Digest, Md5};

/// Texts at once.
const LANES: usize = 16;
/// Bytes of a text that are one block with the bit and the length behind them.
const SHORT_MAX: usize = 55;
/// Bytes of a longer text that are digested between two looks at the interrupt.
const DIGESTED_AT_ONCE: usize = 1 << 22;

type Lane = [u32; LANES];

/// Of each step, the whole part of the sine of its number times 2^32.
const SINES: [u32; 64] = [
    0xD76A_A478,
    0xE8C7_B756,
    0x2420_70DB,
    0xC1BD_CEEE,
    0xF57C_0FAF,
    0x4787_C62A,
    0xA830_4613,
    0xFD46_9501,
    0x6980_98D8,
    0x8B44_F7AF,
    0xFFFF_5BB1,
    0x895C_D7BE,
    0x6B90_1122,
    0xFD98_7193,
    0xA679_438E,
    0x49B4_0821,
    0xF61E_2562,
    0xC040_B340,
    0x265E_5A51,
    0xE9B6_C7AA,
    0xD62F_105D,
    0x0244_1453,
    0xD8A1_E681,
    0xE7D3_FBC8,
    0x21E1_CDE6,
    0xC337_07D6,
    0xF4D5_0D87,
    0x455A_14ED,
    0xA9E3_E905,
    0xFCEF_A3F8,
    0x676F_02D9,
    0x8D2A_4C8A,
    0xFFFA_3942,
    0x8771_F681,
    0x6D9D_6122,
    0xFDE5_380C,
    0xA4BE_EA44,
    0x4BDE_CFA9,
    0xF6BB_4B60,
    0xBEBF_BC70,
    0x289B_7EC6,
    0xEAA1_27FA,
    0xD4EF_3085,
    0x0488_1D05,
    0xD9D4_D039,
    0xE6DB_99E5,
    0x1FA2_7CF8,
    0xC4AC_5665,
    0xF429_2244,
    0x432A_FF97,
    0xAB94_23A7,
    0xFC93_A039,
    0x655B_59C3,
    0x8F0C_CC92,
    0xFFEF_F47D,
    0x8584_5DD1,
    0x6FA8_7E4F,
    0xFE2C_E6E0,
    0xA301_4314,
    0x4E08_11A1,
    0xF753_7E82,
    0xBD3A_F235,
    0x2AD7_D2BB,
    0xEB86_D391,
];
/// By how many bits each step of four rotates, by round.
const ROTATIONS: [[u32; 4]; 4] = [[7, 12, 17, 22], [5, 9, 14, 20], [4, 11, 16, 23], [6, 10, 15, 21]];
/// The first word of the message of each round, and how far the next one is.
const ORDERS: [(usize, usize); 4] = [(0, 1), (1, 5), (5, 3), (0, 7)];
const START: [u32; 4] = [0x6745_2301, 0xEFCD_AB89, 0x98BA_DCFE, 0x1032_5476];

/// The digest of each of the first rows; of NULL that of the empty text.
pub(super) fn digests(texts: &Vector, rows: usize) -> Result<Vec<[u8; 16]>> {
    limits::need(rows.saturating_mul(16))?;
    let (source, mut found) = (TextColumn::of(texts), vec![[0; 16]; rows]);
    let mut block = Block::new();
    for row in 0..rows {
        let text = if texts.is_null(row) { &[] } else { source.get(row) };
        if text.len() > SHORT_MAX {
            found[row] = long_digest(text)?;
            continue;
        }
        block.add(row, text);
        if block.len == LANES {
            block.finish(&mut found);
        }
    }
    block.finish(&mut found);
    Ok(found)
}

fn long_digest(text: &[u8]) -> Result<[u8; 16]> {
    let mut state = Md5::new();
    for part in text.chunks(DIGESTED_AT_ONCE) {
        state.update(part);
        if part.len() == DIGESTED_AT_ONCE {
            limits::check()?;
        }
    }
    Ok(state.finalize().into())
}

/// Texts that wait for others.
struct Block {
    /// Word by word.
    message: [Lane; 16],
    rows: [usize; LANES],
    len: usize,
}

impl Block {
    fn new() -> Self {
        Self { message: [[0; LANES]; 16], rows: [0; LANES], len: 0 }
    }

    fn add(&mut self, row: usize, text: &[u8]) {
        let mut bytes = [0; 64];
        bytes[..text.len()].copy_from_slice(text);
        bytes[text.len()] = 0x80;
        bytes[56..].copy_from_slice(&(8 * text.len() as u64).to_le_bytes());
        for (word, raw) in self.message.iter_mut().zip(bytes.as_chunks().0) {
            word[self.len] = u32::from_le_bytes(*raw);
        }
        self.rows[self.len] = row;
        self.len += 1;
    }

    fn finish(&mut self, found: &mut [[u8; 16]]) {
        if self.len == 0 {
            return;
        }
        let words = digest_lanes(&self.message);
        for (lane, &row) in self.rows[..self.len].iter().enumerate() {
            for (target, word) in found[row].as_chunks_mut().0.iter_mut().zip(&words) {
                *target = word[lane].to_le_bytes();
            }
        }
        self.len = 0;
    }
}

multiversion! {
    /// The digest of the message of each lane.
    fn digest_lanes[](message: &[Lane; 16]) -> [Lane; 4] {
        let [mut a, mut b, mut c, mut d] = START.map(|word| [word; LANES]);
        macro_rules! round {
            ($round:literal, $f:expr) => {
                for four in 0..4 {
                    let word = |step: usize| {
                        let (first, distance) = ORDERS[$round];
                        &message[(first + distance * (4 * four + step)) % 16]
                    };
                    let (sines, by) = (&SINES[16 * $round + 4 * four..][..4], &ROTATIONS[$round]);
                    step(&mut a, [&b, &c, &d], word(0), sines[0], by[0], $f);
                    step(&mut d, [&a, &b, &c], word(1), sines[1], by[1], $f);
                    step(&mut c, [&d, &a, &b], word(2), sines[2], by[2], $f);
                    step(&mut b, [&c, &d, &a], word(3), sines[3], by[3], $f);
                }
            };
        }
        round!(0, |b, c, d| d ^ b & (c ^ d));
        round!(1, |b, c, d| c ^ d & (b ^ c));
        round!(2, |b, c, d| b ^ c ^ d);
        round!(3, |b, c, d| c ^ (b | !d));
        let mut words = [a, b, c, d];
        for (word, start) in words.iter_mut().zip(START) {
            word.iter_mut().for_each(|word| *word = word.wrapping_add(start));
        }
        words
    }
}

#[inline(always)]
fn step(
    a: &mut Lane,
    [b, c, d]: [&Lane; 3],
    word: &Lane,
    sine: u32,
    by: u32,
    f: impl Fn(u32, u32, u32) -> u32,
) {
    for lane in 0..LANES {
        let sum = a[lane].wrapping_add(f(b[lane], c[lane], d[lane]));
        let sum = sum.wrapping_add(sine).wrapping_add(word[lane]);
        a[lane] = b[lane].wrapping_add(sum.rotate_left(by));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use inlay_types::{LogicalType, Value};

    #[test]
    fn digests_of_many_texts_are_those_of_single_ones() {
        // Of each length around a block, in an order in which short ones wait for each other; every seventh is NULL.
        let texts: Vec<String> =
            (0..150).map(|row| "aé\u{7f}zQ7 ".chars().cycle().take(row * 37 % 130).collect()).collect();
        let values: Vec<Value> = texts
            .iter()
            .enumerate()
            .map(|(row, text)| if row % 7 == 3 { Value::Null } else { Value::Varchar(text.clone()) })
            .collect();
        for len in [0, 1, 15, 16, 17, 150] {
            let vector = Vector::from_sql_values(LogicalType::Varchar, &values[..len]).unwrap();
            let found = digests(&vector, len).unwrap();
            for (row, digest) in found.iter().enumerate() {
                let text = if row % 7 == 3 { "" } else { &texts[row] };
                assert_eq!(*digest, <[u8; 16]>::from(Md5::digest(text)), "{text}");
            }
        }
    }
}

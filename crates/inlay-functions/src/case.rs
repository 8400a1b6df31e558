//! Texts in another case: ASCII as bytes, many at once, other letters one by one, most of them looked up.

use super::columns::rewrite_short;
use inlay_types::append::{push_short, push_word};
use inlay_types::{Result, Vector};
use std::sync::OnceLock;

pub(super) fn lower(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    static TABLE: OnceLock<CaseTable> = OnceLock::new();
    let table = TABLE.get_or_init(|| case_table(lower_of));
    rewrite_short(
        args,
        len,
        out,
        |word, _| flipped(word, b'A'),
        |source, text| {
            change_case(source, text, b'A', |c| in_case(table, c, lower_of));
        },
    )
}

pub(super) fn upper(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    static TABLE: OnceLock<CaseTable> = OnceLock::new();
    let table = TABLE.get_or_init(|| case_table(upper_of));
    rewrite_short(
        args,
        len,
        out,
        |word, _| flipped(word, b'a'),
        |source, text| {
            change_case(source, text, b'a', |c| in_case(table, c, upper_of));
        },
    )
}

/// A byte of each of a number of 16 bytes.
const ONES: u128 = u128::MAX / 0xFF;

/// The bytes of an ASCII text with the 26 letters from `first` on in the other case; `None` if it is not ASCII.
#[inline]
pub(super) fn flipped(word: u128, first: u8) -> Option<u128> {
    let high = ONES << 7;
    // The highest bit of a byte says whether it is at least `first`, and whether it is beyond the last letter: no sum leaves its byte.
    let from_first = word.wrapping_add(ONES * u128::from(0x80 - first));
    let beyond = word.wrapping_add(ONES * u128::from(0x80 - first - 26));
    (word & high == 0).then_some(word ^ ((from_first ^ beyond) & high) >> 2)
}

/// Characters below this are looked up: those of most languages with letters.
const CASE_TABLE_SIZE: usize = 0x600;

type CaseTable = Box<[char]>;

fn case_table(of: fn(char) -> char) -> CaseTable {
    (0..CASE_TABLE_SIZE as u32).map(|code| char::from_u32(code).map_or('\0', of)).collect()
}

#[inline]
fn in_case(table: &[char], c: char, of: fn(char) -> char) -> char {
    table.get(c as usize).copied().unwrap_or_else(|| of(c))
}

/// Appends a text in another case: ASCII letters eight at once, `first` and the 25 behind it; the other characters one by one.
#[inline]
fn change_case(mut rest: &[u8], text: &mut Vec<u8>, first: u8, other: impl Fn(char) -> char) {
    loop {
        let (word, size) = match rest.first_chunk::<8>() {
            Some(eight) => (u64::from_le_bytes(*eight), 8),
            None => (rest.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)), rest.len()),
        };
        let plain = ((word & HIGH).trailing_zeros() as usize / 8).min(size);
        push_word(text, u128::from(flipped_eight(word, first)), plain);
        rest = &rest[plain..];
        if plain < size {
            rest = push_others(rest, text, &other);
        }
        if rest.is_empty() {
            return;
        }
    }
}

/// The highest bit of each byte.
const HIGH: u64 = u64::MAX / 0xFF * 0x80;

/// Eight bytes with the 26 letters from `first` on in the other case; those that are not ASCII may become anything.
#[inline(always)]
fn flipped_eight(word: u64, first: u8) -> u64 {
    let (ones, ascii) = (u64::MAX / 0xFF, word & !HIGH);
    let from_first = ascii + ones * u64::from(0x80 - first);
    let beyond = ascii + ones * u64::from(0x80 - first - 26);
    word ^ ((from_first ^ beyond) & HIGH) >> 2
}

/// Appends the characters up to the next ASCII one in another case, and gives what is behind them.
#[inline]
fn push_others<'a>(mut rest: &'a [u8], text: &mut Vec<u8>, other: &impl Fn(char) -> char) -> &'a [u8] {
    loop {
        let (c, size) = match *rest {
            // Two bytes, as letters of most languages have them.
            [lead @ 0xC2..=0xDF, next @ 0x80..=0xBF, ..] => {
                (char::from_u32(u32::from(lead & 0x1F) << 6 | u32::from(next & 0x3F)), 2)
            }
            [lead, ..] if !lead.is_ascii() => {
                let size = if lead < 0xF0 { 3 } else { 4 };
                let read = rest.get(..size).and_then(|bytes| std::str::from_utf8(bytes).ok());
                (read.and_then(|text| text.chars().next()), size)
            }
            [..] => return rest,
        };
        // Texts are UTF-8.
        let Some(c) = c else { return &[] };
        push(other(c), text);
        rest = &rest[size..];
    }
}

/// A character's lower case where that is one character, as Unicode's simple mapping has it.
fn lower_of(c: char) -> char {
    let mut lower = c.to_lowercase();
    match (lower.next(), lower.next()) {
        (Some(only), None) => only,
        // I with a dot.
        _ if c == '\u{130}' => 'i',
        _ => c,
    }
}

/// A character's upper case where that is one character, as Unicode's simple mapping has it.
fn upper_of(c: char) -> char {
    let mut upper = c.to_uppercase();
    match (upper.next(), upper.next(), c as u32) {
        (Some(only), None, _) => only,
        (_, _, 0xDF) => '\u{1E9E}',
        // Greek letters with an iota below.
        (_, _, 0x1F80..=0x1F87 | 0x1F90..=0x1F97 | 0x1FA0..=0x1FA7) => {
            char::from_u32(c as u32 + 8).unwrap_or(c)
        }
        (_, _, 0x1FB3 | 0x1FC3 | 0x1FF3) => char::from_u32(c as u32 + 9).unwrap_or(c),
        _ => c,
    }
}

#[inline]
fn push(c: char, text: &mut Vec<u8>) {
    let code = c as u32;
    if (0x80..0x800).contains(&code) {
        return push_word(text, u128::from((code >> 6 | 0xC0) | (code & 0x3F | 0x80) << 8), 2);
    }
    push_short(text, c.encode_utf8(&mut [0; 4]).as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Characters of one to four bytes at every place of a word.
    #[test]
    fn texts_change_case_as_their_characters_do() {
        let pieces = ["a", "Zz", "ab cd-EF", "Ä", "ß", "İ", "ÿ", "ﬁ", "ẞ", "日", "𐐀", "😀", "ŉ", "[@`{", ""];
        let mut state = 7usize;
        for round in 0..4000 {
            let mut source = String::new();
            for _ in 0..round % 9 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                source.push_str(pieces[(state >> 33) % pieces.len()]);
            }
            for (first, of) in [(b'A', lower_of as fn(char) -> char), (b'a', upper_of)] {
                let mut found = b"before".to_vec();
                change_case(source.as_bytes(), &mut found, first, of);
                let expected: String = "before".chars().chain(source.chars().map(of)).collect();
                assert_eq!(String::from_utf8(found).unwrap(), expected, "{source}");
            }
        }
    }

    #[test]
    fn letters_change_case_sixteen_at_once() {
        for start in 0..=0x70u8 {
            let bytes: [u8; 16] = std::array::from_fn(|index| start + index as u8);
            let word = u128::from_le_bytes(bytes);
            let expected = |change: fn(&u8) -> u8| {
                bytes.is_ascii().then(|| u128::from_le_bytes(bytes.map(|byte| change(&byte))))
            };
            assert_eq!(flipped(word, b'a'), expected(u8::to_ascii_uppercase), "{start}");
            assert_eq!(flipped(word, b'A'), expected(u8::to_ascii_lowercase), "{start}");
        }
    }
}

//! Texts in another case: ASCII as bytes, many at once, other letters one by one, most of them looked up.

use super::columns::rewrite_short;
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
            change_case(source, text, <[u8]>::make_ascii_lowercase, |c| in_case(table, c, lower_of));
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
            change_case(source, text, <[u8]>::make_ascii_uppercase, |c| in_case(table, c, upper_of));
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

/// Appends a text in another case: ASCII as bytes, what lies between as characters.
#[inline]
fn change_case(mut rest: &str, text: &mut Vec<u8>, ascii: impl Fn(&mut [u8]), other: impl Fn(char) -> char) {
    loop {
        let plain = ascii_prefix(rest.as_bytes());
        let start = text.len();
        text.extend_from_slice(&rest.as_bytes()[..plain]);
        ascii(&mut text[start..]);
        rest = &rest[plain..];
        let mut chars = rest.chars();
        loop {
            match chars.clone().next() {
                None => return,
                Some(c) if c.is_ascii() => break,
                Some(c) => push(other(c), text),
            }
            chars.next();
        }
        rest = chars.as_str();
    }
}

/// How many of the first bytes are ASCII.
#[inline]
fn ascii_prefix(bytes: &[u8]) -> usize {
    let mut at = 0;
    while let Some(word) = bytes.get(at..).and_then(|rest| rest.first_chunk::<8>()) {
        let high = u64::from_le_bytes(*word) & 0x8080_8080_8080_8080;
        if high != 0 {
            return at + high.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    at + bytes[at..].iter().position(|byte| !byte.is_ascii()).unwrap_or(bytes.len() - at)
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

fn push(c: char, text: &mut Vec<u8>) {
    text.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

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

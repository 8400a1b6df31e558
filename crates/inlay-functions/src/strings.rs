//! Functions of text. Positions and lengths count characters (Unicode scalar values) from 1, as in SQL.

use super::case::{lower, upper};
use super::columns::{
    Column, TextColumn, map_text, per_distinct, rewrite_short, slice_text, write_blob, write_text,
    write_text_or_null,
};
use crate::registry::{Function, Overloads, Signature};
use inlay_kernels::apply::per_row;
use inlay_kernels::resolve::{ArgType, ResolveOptions, Resolved};
use inlay_types::LogicalType::{BigInt, Blob, Boolean, Integer, Varchar};
use inlay_types::append::push_short;
use inlay_types::limits::{self, Meter};
use inlay_types::view::INLINE_LIMIT;
use inlay_types::{Error, LogicalType, Result, Vector, View};
use memchr::memmem;
use std::collections::HashMap;
use std::sync::Arc;
use unicode_segmentation::UnicodeSegmentation;

/// See the module documentation.
pub(super) static FUNCTIONS: &[Function] = &[
    Function::new(
        "length",
        Overloads::Fixed(&[
            Signature::new(&[Varchar], BigInt, length),
            Signature::new(&[Blob], BigInt, byte_length),
        ]),
        "number of characters",
        "length('abc') = 3",
    )
    .aliases(&["len", "char_length", "character_length"]),
    Function::new(
        "strlen",
        Overloads::Fixed(&[
            Signature::new(&[Varchar], BigInt, byte_length),
            Signature::new(&[Blob], BigInt, byte_length),
        ]),
        "number of bytes",
        "strlen('é') = 2",
    )
    .aliases(&["octet_length"]),
    Function::new("bit_length", Overloads::Fixed(&BIT_LENGTH), "number of bits", "bit_length('abc') = 24"),
    Function::new("lower", Overloads::Fixed(&LOWER), "the text in lower case", "lower('ABC') = 'abc'")
        .aliases(&["lcase"]),
    Function::new("upper", Overloads::Fixed(&UPPER), "the text in upper case", "upper('abc') = 'ABC'")
        .aliases(&["ucase"]),
    Function::new(
        "reverse",
        Overloads::Fixed(&REVERSE),
        "the characters in reverse",
        "reverse('abc') = 'cba'",
    ),
    Function::new(
        "substring",
        Overloads::Fixed(&[
            Signature::new(&[Varchar, BigInt], Varchar, substring),
            Signature::new(&[Varchar, BigInt, BigInt], Varchar, substring),
        ]),
        "characters from a position, counted from 1 (or from the end, if negative)",
        "substring('hello', 2, 3) = 'ell'",
    )
    .aliases(&["substr"]),
    Function::new(
        "left",
        Overloads::Fixed(&[Signature::new(&[Varchar, BigInt], Varchar, left)]),
        "the first characters; all but the last ones, if the number is negative",
        "left('hello', 2) = 'he'",
    ),
    Function::new(
        "right",
        Overloads::Fixed(&[Signature::new(&[Varchar, BigInt], Varchar, right)]),
        "the last characters; all but the first ones, if the number is negative",
        "right('hello', 2) = 'lo'",
    ),
    Function::new(
        "trim",
        Overloads::Fixed(&TRIM),
        "without the given characters (spaces) at both ends",
        "trim('  a ') = 'a'",
    )
    .aliases(&["btrim"]),
    Function::new(
        "ltrim",
        Overloads::Fixed(&LTRIM),
        "without the given characters (spaces) at the start",
        "ltrim('xxa', 'x') = 'a'",
    ),
    Function::new(
        "rtrim",
        Overloads::Fixed(&RTRIM),
        "without the given characters (spaces) at the end",
        "rtrim('a  ') = 'a'",
    ),
    Function::new(
        "concat",
        Overloads::Typed { shown: &["concat(any, ...)"], resolve: resolve_concat_all },
        "all arguments one behind the other; NULL counts as empty",
        "concat('a', 1, NULL) = 'a1'",
    )
    .special_nulls(),
    Function::new(
        "concat_ws",
        Overloads::Typed { shown: &["concat_ws(separator, any, ...)"], resolve: resolve_concat_ws },
        "the other arguments joined by the first; NULLs are left out",
        "concat_ws(', ', 'a', NULL, 'b') = 'a, b'",
    )
    .special_nulls(),
    Function::new(
        "||",
        Overloads::Typed { shown: &["text || any"], resolve: resolve_concat },
        "two texts one behind the other",
        "'a' || 'b' = 'ab'",
    ),
    Function::new(
        "replace",
        Overloads::Fixed(&[Signature::new(&[Varchar, Varchar, Varchar], Varchar, replace)]),
        "every occurrence of a text replaced by another",
        "replace('hello', 'l', 'L') = 'heLLo'",
    ),
    Function::new(
        "translate",
        Overloads::Fixed(&[Signature::new(&[Varchar, Varchar, Varchar], Varchar, translate)]),
        "characters replaced one by one",
        "translate('abc', 'ab', 'xy') = 'xyc'",
    ),
    Function::new(
        "strpos",
        Overloads::Fixed(&[Signature::new(&[Varchar, Varchar], BigInt, strpos)]),
        "position of the first occurrence, 0 if there is none",
        "strpos('hello', 'l') = 3",
    )
    .aliases(&["instr", "position"]),
    Function::new(
        "contains",
        Overloads::Fixed(&CONTAINS),
        "whether a text occurs in another",
        "contains('hello', 'ell') = true",
    ),
    Function::new(
        "starts_with",
        Overloads::Fixed(&STARTS_WITH),
        "whether a text begins with another",
        "starts_with('hello', 'he') = true",
    )
    .aliases(&["prefix", "^@"]),
    Function::new(
        "ends_with",
        Overloads::Fixed(&ENDS_WITH),
        "whether a text ends with another",
        "ends_with('abc', 'c') = true",
    )
    .aliases(&["suffix"]),
    Function::new(
        "repeat",
        Overloads::Fixed(&[
            Signature::new(&[Varchar, BigInt], Varchar, repeat),
            Signature::new(&[Blob, BigInt], Blob, repeat_blob),
        ]),
        "a text several times",
        "repeat('ab', 2) = 'abab'",
    )
    .fallible(),
    Function::new(
        "lpad",
        Overloads::Fixed(&[
            Signature::new(&[Varchar, Integer], Varchar, lpad),
            Signature::new(&[Varchar, Integer, Varchar], Varchar, lpad),
        ]),
        "cut or filled at the start to a length",
        "lpad('7', 3, '0') = '007'",
    )
    .fallible(),
    Function::new(
        "rpad",
        Overloads::Fixed(&[
            Signature::new(&[Varchar, Integer], Varchar, rpad),
            Signature::new(&[Varchar, Integer, Varchar], Varchar, rpad),
        ]),
        "cut or filled at the end to a length",
        "rpad('7', 3, '0') = '700'",
    )
    .fallible(),
    Function::new(
        "split_part",
        Overloads::Fixed(&[Signature::new(&[Varchar, Varchar, BigInt], Varchar, split_part)]),
        "one part of a separated text, counted from 1 (or from the end, if negative)",
        "split_part('a,b,c', ',', 2) = 'b'",
    ),
    Function::new(
        "ascii",
        Overloads::Fixed(&[Signature::new(&[Varchar], Integer, ascii)]),
        "code point of the first character, 0 if there is none",
        "ascii('Ω') = 937",
    ),
    Function::new(
        "unicode",
        Overloads::Fixed(&[Signature::new(&[Varchar], Integer, unicode)]),
        "code point of the first character, -1 if there is none",
        "unicode('ü') = 252",
    )
    .aliases(&["ord"]),
    Function::new(
        "chr",
        Overloads::Fixed(&[Signature::new(&[Integer], Varchar, chr)]),
        "the character of a code point",
        "chr(97) = 'a'",
    )
    .fallible(),
];

static LOWER: [Signature; 1] = [Signature::new(&[Varchar], Varchar, lower)];
static UPPER: [Signature; 1] = [Signature::new(&[Varchar], Varchar, upper)];
static REVERSE: [Signature; 1] = [Signature::new(&[Varchar], Varchar, reverse)];
static BIT_LENGTH: [Signature; 1] = [Signature::new(&[Varchar], BigInt, bit_length)];
static TRIM: [Signature; 2] =
    [Signature::new(&[Varchar], Varchar, trim), Signature::new(&[Varchar, Varchar], Varchar, trim)];
static LTRIM: [Signature; 2] =
    [Signature::new(&[Varchar], Varchar, ltrim), Signature::new(&[Varchar, Varchar], Varchar, ltrim)];
static RTRIM: [Signature; 2] =
    [Signature::new(&[Varchar], Varchar, rtrim), Signature::new(&[Varchar, Varchar], Varchar, rtrim)];
static CONTAINS: [Signature; 1] = [Signature::new(&[Varchar, Varchar], Boolean, contains)];
static STARTS_WITH: [Signature; 1] = [Signature::new(&[Varchar, Varchar], Boolean, starts_with)];
static ENDS_WITH: [Signature; 1] = [Signature::new(&[Varchar, Varchar], Boolean, ends_with)];

/// Longest text that a function makes from a number: 1 GiB.
pub(super) const TEXT_SIZE_MAX: usize = 1 << 30;

fn too_long(function: &str, size: usize) -> Error {
    Error::out_of_range(format!("{function} would make a text of {size} bytes"))
        .with_hint(format!("at most {TEXT_SIZE_MAX} are possible"))
}

/// Number of characters: bytes that do not continue one. Eight bytes at a time, each counting its continuations in a
/// byte of its own.
#[inline]
pub(super) fn count_characters(bytes: &[u8]) -> usize {
    const PAIRS: u64 = 0x00FF_00FF_00FF_00FF;
    let total = |counts: u64| {
        let pairs = (counts & PAIRS) + (counts >> 8 & PAIRS);
        (pairs.wrapping_mul(0x0001_0001_0001_0001) >> 48) as usize
    };
    let (words, rest) = bytes.as_chunks::<8>();
    let block =
        |words: &[[u8; 8]]| total(words.iter().map(|word| continuations(u64::from_le_bytes(*word))).sum());
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    let continued: usize = words.chunks(255).map(block).sum();
    bytes.len() - continued - total(continuations(u64::from_le_bytes(last)))
}

/// Byte offset of character `index`, or the length if there are fewer.
#[inline]
fn offset_of(bytes: &[u8], index: usize) -> usize {
    let (mut at, mut left) = (0, index);
    // Words that end before the character does not begin.
    while let Some(word) = bytes.get(at..).and_then(|rest| rest.first_chunk::<8>()) {
        let continued = continuations(u64::from_le_bytes(*word));
        let begun = 8 - (continued.wrapping_mul(0x0101_0101_0101_0101) >> 56) as usize;
        if begun > left {
            break;
        }
        left -= begun;
        at += 8;
    }
    for (offset, &byte) in bytes[at..].iter().enumerate() {
        if (byte as i8) >= -0x40 {
            if left == 0 {
                return at + offset;
            }
            left -= 1;
        }
    }
    bytes.len()
}

fn length(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    per_distinct(args, BigInt, len, out, |args, len, out| {
        let Some(texts) = args.first().filter(|texts| texts.is_flat() && has_ascii_heap(texts)) else {
            return map_text(args, BigInt, len, out, |bytes| count_characters(bytes) as i64);
        };
        inlay_kernels::apply::map(texts, &BigInt, len, out, |view: View| {
            // Only the bytes in the view may continue a character.
            let own = if view.is_inline() { u64::MAX } else { 0 };
            let continued = continuations(view.head & own & PREFIX) + continuations(view.tail & own);
            // The highest byte of the product is the sum of all: not every CPU can count bits.
            view.len() as i64 - (continued.wrapping_mul(0x0101_0101_0101_0101) >> 56) as i64
        })
    })
}

/// Whether the heap of a flat vector has only ASCII.
fn has_ascii_heap(texts: &Vector) -> bool {
    texts.heap().is_ascii(texts.views().iter().map(View::len).sum())
}

/// The part of a view's head that holds bytes of the text.
const PREFIX: u64 = 0xFFFF_FFFF_0000_0000;

/// 1 in each of eight bytes that continues a character: 10xxxxxx.
#[inline]
fn continuations(word: u64) -> u64 {
    word >> 7 & !word >> 6 & 0x0101_0101_0101_0101
}

fn byte_length(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    map_text(args, BigInt, len, out, |bytes| bytes.len() as i64)
}

fn bit_length(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    map_text(args, BigInt, len, out, |bytes| bytes.len() as i64 * 8)
}

fn first_code(args: &[&Vector], len: usize, out: &mut Vector, none: i32) -> Result<()> {
    map_text(args, Integer, len, out, |bytes| first_character(bytes).map_or(none, |c| c as i32))
}

fn first_character(bytes: &[u8]) -> Option<char> {
    let size = match bytes.first()? {
        0..=0x7F => 1,
        0x80..=0xDF => 2,
        0xE0..=0xEF => 3,
        0xF0.. => 4,
    };
    std::str::from_utf8(bytes.get(..size)?).ok()?.chars().next()
}

fn ascii(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    first_code(args, len, out, 0)
}

fn unicode(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    first_code(args, len, out, -1)
}

/// Characters as people see them keep their order inside.
fn reverse(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    let short = |word: u128, size: usize| {
        let is_ascii = word & (u128::MAX / 0xFF * 0x80) == 0;
        // What is empty has no bits to move.
        (is_ascii && size > 0).then(|| word.swap_bytes() >> (8 * (16 - size)))
    };
    rewrite_short(args, len, out, short, |source, text| {
        if source.is_ascii() {
            text.extend(source.iter().rev());
        } else {
            let source = std::str::from_utf8(source).unwrap_or_default();
            source.graphemes(true).rev().for_each(|g| text.extend_from_slice(g.as_bytes()));
        }
    })
}

/// Bytes `start .. end` of characters `from .. to`, where `from <= to`.
fn character_range(bytes: &[u8], from: usize, to: usize) -> (usize, usize) {
    // Most text is ASCII, where characters are bytes; looking at the part that is read is enough.
    let reach = to.min(bytes.len());
    if bytes[..reach].is_ascii() {
        return (from.min(bytes.len()), reach);
    }
    let start = offset_of(bytes, from);
    (start, start + offset_of(&bytes[start..], to - from))
}

/// Characters `first .. last` that a position and a count mean. Positions count from 1; 0 is the place before the first
/// character; negative ones count from the end. A negative count takes the characters before the position.
pub(super) fn span(from: i64, count: Option<i64>, characters: impl FnOnce() -> i64) -> (i64, i64) {
    let first = if from < 0 { from.saturating_add(characters()).saturating_add(1) } else { from };
    let last = count.map_or(i64::MAX, |count| first.saturating_add(count));
    let (first, last) = if last < first { (last, first) } else { (first, last) };
    (first.max(1) - 1, last.max(1) - 1)
}

fn substring(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    let from = Column::<i64>::of(args[1]);
    let count = args.get(2).map(|arg| Column::<i64>::of(arg));
    slice_text(args, len, out, |row, bytes| {
        let count = count.as_ref().map(|count| count.get(row));
        let (first, last) = span(from.get(row), count, || count_characters(bytes) as i64);
        character_range(bytes, first as usize, last as usize)
    })
}

fn left(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    let count = Column::<i64>::of(args[1]);
    slice_text(args, len, out, |row, bytes| {
        let count = count.get(row);
        let kept =
            if count >= 0 { count } else { (count_characters(bytes) as i64).saturating_add(count).max(0) };
        character_range(bytes, 0, kept as usize)
    })
}

fn right(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    let count = Column::<i64>::of(args[1]);
    slice_text(args, len, out, |row, bytes| {
        let count = count.get(row);
        let skipped = if count >= 0 {
            (count_characters(bytes) as i64).saturating_sub(count).max(0)
        } else {
            count.saturating_neg()
        };
        (offset_of(bytes, skipped as usize), bytes.len())
    })
}

fn trimmed(args: &[&Vector], len: usize, out: &mut Vector, at_start: bool, at_end: bool) -> Result<()> {
    let set = args.get(1).map(|arg| TextColumn::of(arg));
    slice_text(args, len, out, |row, bytes| {
        let text = std::str::from_utf8(bytes).unwrap_or_default();
        let set = set.as_ref().map_or(" ", |set| set.text(row));
        let is_cut = |c: char| set.contains(c);
        let kept = if at_start { text.trim_start_matches(is_cut) } else { text };
        let start = text.len() - kept.len();
        let kept = if at_end { kept.trim_end_matches(is_cut) } else { kept };
        (start, start + kept.len())
    })
}

fn trim(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    trimmed(args, len, out, true, true)
}

fn ltrim(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    trimmed(args, len, out, true, false)
}

fn rtrim(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    trimmed(args, len, out, false, true)
}

/// Texts, and where some of them are NULL, the vector that tells which.
fn nullable_texts<'a>(args: &[&'a Vector]) -> Vec<(TextColumn<'a>, Option<&'a Vector>)> {
    args.iter().map(|arg| (TextColumn::of(arg), (arg.null_count() > 0).then_some(*arg))).collect()
}

fn concat(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    let parts = nullable_texts(args);
    write_text_or_null(args, len, out, |row, text| {
        limits::grow_at_once(text, parts.iter().map(|(part, _)| part.view(row).len()).sum())?;
        for (part, nullable) in &parts {
            if nullable.is_none_or(|arg| !arg.is_null(row)) {
                push_short(text, part.get(row));
            }
        }
        Ok(true)
    })
}

fn concat_ws(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    let (parts, separator) = (nullable_texts(&args[1..]), TextColumn::of(args[0]));
    let is_separated = args[0].null_count() == 0;
    write_text_or_null(args, len, out, |row, text| {
        if !is_separated && args[0].is_null(row) {
            return Ok(false);
        }
        let separator = separator.get(row);
        let separators = separator.len().saturating_mul(parts.len());
        limits::grow_at_once(
            text,
            parts.iter().map(|(part, _)| part.view(row).len()).sum::<usize>() + separators,
        )?;
        let mut is_first = true;
        for (part, nullable) in &parts {
            if nullable.is_some_and(|arg| arg.is_null(row)) {
                continue;
            }
            if !is_first {
                push_short(text, separator);
            }
            push_short(text, part.get(row));
            is_first = false;
        }
        Ok(true)
    })
}

fn join(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    let (left, right) = (TextColumn::of(args[0]), TextColumn::of(args[1]));
    write_text(args, len, out, |row, text| {
        limits::grow_at_once(text, left.get(row).len() + right.get(row).len())?;
        push_short(text, left.get(row));
        push_short(text, right.get(row));
        Ok(())
    })
}

fn join_blobs(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    let (left, right) = (TextColumn::of(args[0]), TextColumn::of(args[1]));
    write_blob(args, len, out, |row, bytes| {
        limits::grow_at_once(bytes, left.get(row).len() + right.get(row).len())?;
        push_short(bytes, left.get(row));
        push_short(bytes, right.get(row));
        Ok(())
    })
}

/// Anything, as text.
fn resolve_concat_all(args: &[ArgType], _: &ResolveOptions) -> Option<Resolved> {
    (!args.is_empty()).then(|| Resolved::infallible(vec![Varchar; args.len()], Varchar, Arc::new(concat)))
}

/// A separator and anything, as text.
fn resolve_concat_ws(args: &[ArgType], _: &ResolveOptions) -> Option<Resolved> {
    (args.len() >= 2).then(|| Resolved::infallible(vec![Varchar; args.len()], Varchar, Arc::new(concat_ws)))
}

/// Text and anything give text, as does NULL; two blobs give a blob.
fn resolve_concat(args: &[ArgType], _: &ResolveOptions) -> Option<Resolved> {
    let [left, right] = args else { return None };
    if left.ty == Blob && right.ty == Blob {
        return Some(Resolved::infallible(vec![Blob, Blob], Blob, Arc::new(join_blobs)));
    }
    let is_text = |arg: &ArgType| matches!(arg.ty, Varchar | LogicalType::Json | LogicalType::Null);
    // Anything that is one value is taken as text, as in DuckDB: `1 || 2` is '12', and bits are '101'.
    let is_plain = |arg: &ArgType| !arg.ty.is_nested();
    (is_text(left) || is_text(right) || is_plain(left) && is_plain(right))
        .then(|| Resolved::infallible(vec![Varchar, Varchar], Varchar, Arc::new(join)))
}

fn replace(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    per_distinct(args, Varchar, len, out, |args, len, out| {
        let (source, from, to) = (TextColumn::of(args[0]), TextColumn::of(args[1]), TextColumn::of(args[2]));
        let is_one = args[1].is_constant() && !args[1].is_constant_null();
        let finder = is_one.then(|| super::find::Finder::new(from.get(0)));
        write_text(args, len, out, |row, text| {
            let (source, from, to) = (source.get(row), from.get(row), to.get(row));
            match &finder {
                _ if from.is_empty() => text.extend_from_slice(source),
                Some(finder) => replace_all(source, from.len(), to, |rest| finder.find(rest), text)?,
                None => {
                    let finder = memmem::Finder::new(from);
                    replace_all(source, from.len(), to, |rest| finder.find(rest), text)?;
                }
            }
            Ok(())
        })
    })
}

/// Appends `source` with `to` for each part of `size` bytes that `find` finds first in what is left.
#[inline]
fn replace_all(
    source: &[u8],
    size: usize,
    to: &[u8],
    find: impl Fn(&[u8]) -> Option<usize>,
    text: &mut Vec<u8>,
) -> Result<()> {
    let (mut rest, mut meter) = (source, Meter::new());
    while let Some(at) = find(rest) {
        meter.add(at + to.len())?;
        text.extend_from_slice(&rest[..at]);
        text.extend_from_slice(to);
        rest = &rest[at + size..];
    }
    text.extend_from_slice(rest);
    Ok(())
}

fn translate(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    let (source, from, to) = (TextColumn::of(args[0]), TextColumn::of(args[1]), TextColumn::of(args[2]));
    write_text(args, len, out, |row, text| {
        let mut encoded = [0; 4];
        let (source, from, to) = (source.text(row), from.text(row), to.text(row));
        // Alphabets may be long, too.
        let is_short = from.len() <= SHORT_ALPHABET;
        let mut known: HashMap<char, Option<char>> = HashMap::new();
        if !is_short {
            limits::room(from.len().saturating_mul(2 * size_of::<(char, Option<char>)>()))?;
            let mut replacements = to.chars();
            for c in from.chars() {
                let replacement = replacements.next();
                known.entry(c).or_insert(replacement);
            }
        }
        for (number, c) in source.chars().enumerate() {
            if number % CHECKED_CHARS == CHECKED_CHARS - 1 {
                limits::check()?;
            }
            let kept = if is_short {
                from.chars().position(|f| f == c).map_or(Some(c), |index| to.chars().nth(index))
            } else {
                known.get(&c).copied().unwrap_or(Some(c))
            };
            if let Some(c) = kept {
                text.extend_from_slice(c.encode_utf8(&mut encoded).as_bytes());
            }
        }
        Ok(())
    })
}

/// Alphabets of so many bytes are looked through for each character.
const SHORT_ALPHABET: usize = 64;
/// So many characters are replaced between looks at the interrupt.
const CHECKED_CHARS: usize = 1 << 18;

fn strpos(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    per_distinct(args, BigInt, len, out, |args, len, out| {
        let (source, needle) = (TextColumn::of(args[0]), TextColumn::of(args[1]));
        let is_ascii = args[0].is_flat() && has_ascii_heap(args[0]);
        let is_one = args[1].is_constant() && !args[1].is_constant_null();
        let finder = is_one.then(|| super::find::Finder::new(needle.get(0)));
        per_row(args, &BigInt, len, out, |row| {
            source.prefetch_ahead(row);
            let source = source.get(row);
            let found = match &finder {
                Some(finder) => finder.find(source),
                None => memmem::find(source, needle.get(row)),
            };
            // Texts that are longer than a view lie in the heap.
            let is_plain = is_ascii && source.len() > INLINE_LIMIT;
            let before = |at: usize| if is_plain { at } else { count_characters(&source[..at]) };
            Ok(found.map_or(0, |at| before(at) as i64 + 1))
        })
    })
}

/// BOOLEAN of two texts; a constant second one is prepared once and the first read once per distinct value.
fn test(args: &[&Vector], len: usize, out: &mut Vector, holds: fn(&[u8], &[u8]) -> bool) -> Result<()> {
    if args[1].is_constant() && !args[1].is_constant_null() {
        let second = TextColumn::of(args[1]);
        let second = second.get(0);
        return inlay_kernels::apply::predicate(args[0], len, out, |bytes| holds(bytes, second));
    }
    let (first, second) = (TextColumn::of(args[0]), TextColumn::of(args[1]));
    per_row(args, &Boolean, len, out, |row| Ok(u8::from(holds(first.get(row), second.get(row)))))
}

fn contains(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    if args[1].is_constant() && !args[1].is_constant_null() {
        let second = TextColumn::of(args[1]);
        let finder = super::find::Finder::new(second.get(0));
        return inlay_kernels::apply::predicate(args[0], len, out, |bytes| finder.find(bytes).is_some());
    }
    test(args, len, out, |text, part| memmem::find(text, part).is_some())
}

fn starts_with(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    test(args, len, out, |text, part| text.starts_with(part))
}

fn ends_with(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    test(args, len, out, |text, part| text.ends_with(part))
}

fn repeated(source: &[u8], count: i64, text: &mut Vec<u8>) -> Result<()> {
    let count = count.max(0) as usize;
    let size = source.len().saturating_mul(count);
    if size > TEXT_SIZE_MAX {
        return Err(too_long("repeat", size));
    }
    if size <= REPEATED_SHORT {
        (0..count).for_each(|_| text.extend_from_slice(source));
        return Ok(());
    }
    Meter::new().add(size)?;
    limits::grow_at_once(text, size)?;
    let start = text.len();
    if size > 0 {
        text.extend_from_slice(source);
    }
    // What is there is copied behind itself, always whole texts.
    let at_once = (REPEATED_AT_ONCE / source.len().max(1)).max(1) * source.len();
    while text.len() - start < size {
        let have = text.len() - start;
        let more = have.min(at_once).min(size - have);
        text.extend_from_within(start..start + more);
        if more >= at_once {
            limits::check()?;
        }
    }
    Ok(())
}

/// Texts of so many bytes are not asked for.
const REPEATED_SHORT: usize = 64;

/// So many bytes are repeated between looks at the interrupt, or one text if that is longer.
const REPEATED_AT_ONCE: usize = 1 << 24;

fn repeat(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    let (source, count) = (TextColumn::of(args[0]), Column::<i64>::of(args[1]));
    write_text(args, len, out, |row, text| repeated(source.get(row), count.get(row), text))
}

fn repeat_blob(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    let (source, count) = (TextColumn::of(args[0]), Column::<i64>::of(args[1]));
    write_blob(args, len, out, |row, bytes| repeated(source.get(row), count.get(row), bytes))
}

fn pad(args: &[&Vector], len: usize, out: &mut Vector, at_start: bool) -> Result<()> {
    let (source, width) = (TextColumn::of(args[0]), Column::<i32>::of(args[1]));
    let fill = args.get(2).map(|arg| TextColumn::of(arg));
    write_text(args, len, out, |row, text| {
        let (source, width) = (source.get(row), width.get(row).max(0) as usize);
        let have = count_characters(source);
        if have >= width {
            text.extend_from_slice(&source[..offset_of(source, width)]);
            return Ok(());
        }
        let fill = fill.as_ref().map_or(" ", |fill| fill.text(row));
        if fill.is_empty() {
            let message = "the text to fill with is empty";
            let hint = "give at least one character";
            return Err(Error::invalid_argument(message).with_hint(hint));
        }
        if width > TEXT_SIZE_MAX / 4 {
            return Err(too_long("lpad or rpad", width));
        }
        Meter::new().add(width * 4)?;
        if !at_start {
            text.extend_from_slice(source);
        }
        let mut encoded = [0; 4];
        for c in fill.chars().cycle().take(width - have) {
            text.extend_from_slice(c.encode_utf8(&mut encoded).as_bytes());
        }
        if at_start {
            text.extend_from_slice(source);
        }
        Ok(())
    })
}

fn lpad(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    pad(args, len, out, true)
}

fn rpad(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    pad(args, len, out, false)
}

fn split_part(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    let (separator, index) = (TextColumn::of(args[1]), Column::<i64>::of(args[2]));
    slice_text(args, len, out, |row, bytes| part_range(bytes, separator.get(row), index.get(row)))
}

/// The bounds of part `index` of a separated text; an empty range if there is none.
fn part_range(bytes: &[u8], separator: &[u8], index: i64) -> (usize, usize) {
    if separator.is_empty() {
        // Each character is a part.
        let (first, last) = span(index, Some(1), || count_characters(bytes) as i64);
        return if index == 0 { (0, 0) } else { character_range(bytes, first as usize, last as usize) };
    }
    let wanted = match index {
        0 => return (0, 0),
        index if index > 0 => index - 1,
        index => memmem::find_iter(bytes, separator).count() as i64 + 1 + index,
    };
    if wanted < 0 {
        return (0, 0);
    }
    let mut start = 0;
    for (number, at) in memmem::find_iter(bytes, separator).enumerate() {
        if number as i64 == wanted {
            return (start, at);
        }
        start = at + separator.len();
        if number as i64 + 1 == wanted && memmem::find(&bytes[start..], separator).is_none() {
            return (start, bytes.len());
        }
    }
    if wanted == 0 { (start, bytes.len()) } else { (0, 0) }
}

fn chr(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    let codes = Column::<i32>::of(args[0]);
    write_text(args, len, out, |row, text| {
        let code = codes.get(row);
        let c = u32::try_from(code).ok().and_then(char::from_u32);
        let c = c.ok_or_else(|| Error::invalid_argument(format!("chr: {code} is no Unicode code point")))?;
        text.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
        Ok(())
    })
}

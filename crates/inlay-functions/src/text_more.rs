//! Functions of text that read or make it for people: bars, sizes, quotes, paths, graphemes, accents.

use super::columns::{Column, TextColumn, map_text, rewrite, slice_text, write_text, write_text_or_null};
use crate::registry::{Function, Overloads, Signature};
use inlay_types::LogicalType::{BigInt, Boolean, Double, UBigInt, Varchar};
use inlay_types::digits::push_padded;
use inlay_types::{Error, Result, Vector};
use std::sync::OnceLock;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;
use unicode_segmentation::UnicodeSegmentation;

/// See the module documentation.
pub(super) static FUNCTIONS: &[Function] = &[
    Function::new(
        "bar",
        Overloads::Fixed(&[
            Signature::new(&[Double, Double, Double], Varchar, bar),
            Signature::new(&[Double, Double, Double, Double], Varchar, bar),
        ]),
        "a band as long as a number lies between a minimum and a maximum, in a width of 80 or as given",
        "bar(5, 0, 20, 10) = '██▌       '",
    )
    .fallible(),
    Function::new(
        "format_bytes",
        Overloads::Fixed(&[Signature::new(&[BigInt], Varchar, binary_size)]),
        "a number of bytes in KiB, MiB and so on",
        "format_bytes(16000) = '15.6 KiB'",
    )
    .aliases(&["formatreadablesize", "pg_size_pretty"]),
    Function::new(
        "formatreadabledecimalsize",
        Overloads::Fixed(&[Signature::new(&[BigInt], Varchar, decimal_size)]),
        "a number of bytes in kB, MB and so on",
        "formatReadableDecimalSize(16000) = '16.0 kB'",
    ),
    Function::new(
        "parse_formatted_bytes",
        Overloads::Fixed(&[Signature::new(&[Varchar], UBigInt, parse_size)]),
        "the number of bytes that a text such as '1.5 KiB' means",
        "parse_formatted_bytes('1.5KB') = 1500",
    )
    .fallible(),
    Function::new(
        "initcap",
        Overloads::Fixed(&[Signature::new(&[Varchar], Varchar, initcap)]),
        "the first letter of each word in upper case, the others in lower case",
        "initcap('hello WORLD') = 'Hello World'",
    ),
    Function::new(
        "overlay",
        Overloads::Fixed(&[
            Signature::new(&[Varchar, Varchar, BigInt], Varchar, overlay),
            Signature::new(&[Varchar, Varchar, BigInt, BigInt], Varchar, overlay),
        ]),
        "a text with another in place of characters from a position (as many as the other has, or as given)",
        "overlay('Txxxxas', 'hom', 2, 4) = 'Thomas'",
    ),
    Function::new(
        "quote_ident",
        Overloads::Fixed(&[Signature::new(&[Varchar], Varchar, quote_ident)]),
        "a name as SQL writes it, in quotes where needed",
        "quote_ident('a b') = '\"a b\"'",
    ),
    Function::new(
        "quote_literal",
        Overloads::Fixed(&[Signature::new(&[Varchar], Varchar, quote_literal)]),
        "a text as SQL writes it",
        "quote_literal('it''s') = '''it''''s'''",
    ),
    Function::new(
        "quote_nullable",
        Overloads::Fixed(&[Signature::new(&[Varchar], Varchar, quote_nullable)]),
        "a text as SQL writes it, NULL as the text NULL",
        "quote_nullable(NULL) = 'NULL'",
    )
    .special_nulls(),
    Function::new(
        "left_grapheme",
        Overloads::Fixed(&[Signature::new(&[Varchar, BigInt], Varchar, left_grapheme)]),
        "the first characters as people see them; all but the last ones, if the number is negative",
        "left_grapheme('e\u{301}te\u{301}', 1) = 'e\u{301}'",
    ),
    Function::new(
        "right_grapheme",
        Overloads::Fixed(&[Signature::new(&[Varchar, BigInt], Varchar, right_grapheme)]),
        "the last characters as people see them; all but the first ones, if the number is negative",
        "right_grapheme('e\u{301}te\u{301}', 1) = 'e\u{301}'",
    ),
    Function::new(
        "length_grapheme",
        Overloads::Fixed(&[Signature::new(&[Varchar], BigInt, length_grapheme)]),
        "number of characters as people see them",
        "length_grapheme('e\u{301}te\u{301}') = 3",
    ),
    Function::new(
        "substring_grapheme",
        Overloads::Fixed(&[
            Signature::new(&[Varchar, BigInt], Varchar, substring_grapheme),
            Signature::new(&[Varchar, BigInt, BigInt], Varchar, substring_grapheme),
        ]),
        "characters as people see them, from a position counted from 1 (or from the end, if negative)",
        "substring_grapheme('e\u{301}te\u{301}', 2, 1) = 't'",
    ),
    Function::new(
        "strip_accents",
        Overloads::Fixed(&[Signature::new(&[Varchar], Varchar, strip_accents)]),
        "the letters without accents",
        "strip_accents('mühleisen') = 'muhleisen'",
    ),
    Function::new(
        "nfc_normalize",
        Overloads::Fixed(&[Signature::new(&[Varchar], Varchar, nfc_normalize)]),
        "letters and their accents as one code point where there is one (Unicode NFC)",
        "nfc_normalize('e\u{301}') = 'é'",
    ),
    Function::new(
        "parse_filename",
        Overloads::Fixed(&[
            Signature::new(&[Varchar], Varchar, parse_filename),
            Signature::new(&[Varchar, Varchar], Varchar, parse_filename),
            Signature::new(&[Varchar, Boolean], Varchar, parse_filename_trimmed),
            Signature::new(&[Varchar, Boolean, Varchar], Varchar, parse_filename_trimmed),
        ]),
        "the last part of a path; TRUE leaves the extension out; a separator may be named",
        "parse_filename('path/to/file.csv', true) = 'file'",
    )
    .fallible(),
    Function::new(
        "parse_dirname",
        Overloads::Fixed(&[
            Signature::new(&[Varchar], Varchar, parse_dirname),
            Signature::new(&[Varchar, Varchar], Varchar, parse_dirname),
        ]),
        "the first folder of a path",
        "parse_dirname('path/to/file.csv') = 'path'",
    )
    .fallible(),
    Function::new(
        "parse_dirpath",
        Overloads::Fixed(&[
            Signature::new(&[Varchar], Varchar, parse_dirpath),
            Signature::new(&[Varchar, Varchar], Varchar, parse_dirpath),
        ]),
        "all folders of a path",
        "parse_dirpath('path/to/file.csv') = 'path/to'",
    )
    .fallible(),
];

/// Widest band.
const BAR_MAX: f64 = 1000.0;

fn bar(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    let [x, low, high] = [0, 1, 2].map(|arg| Column::<f64>::of(args[arg]));
    let width = args.get(3).map(|arg| Column::<f64>::of(arg));
    write_text(args, len, out, |row, text| {
        let width = width.as_ref().map_or(80.0, |width| width.get(row));
        if !(1.0..=BAR_MAX).contains(&width) {
            return Err(Error::out_of_range(format!("bar: the width is 1 to {BAR_MAX}, not {width}")));
        }
        let (low, high) = (low.get(row), high.get(row));
        if !low.is_finite() || !high.is_finite() || low >= high {
            return Err(Error::out_of_range(format!(
                "bar: the minimum {low} is not below the maximum {high}"
            )));
        }
        let x = x.get(row);
        let share = if x.is_nan() { 0.0 } else { ((x - low) / (high - low)).clamp(0.0, 1.0) };
        let eighths = (share * width * 8.0) as usize;
        for _ in 0..eighths / 8 {
            text.extend_from_slice("█".as_bytes());
        }
        let mut used = eighths / 8;
        if !eighths.is_multiple_of(8) {
            let part = [' ', '▏', '▎', '▍', '▌', '▋', '▊', '▉'][eighths % 8];
            text.extend_from_slice(part.encode_utf8(&mut [0; 4]).as_bytes());
            used += 1;
        }
        text.extend(std::iter::repeat_n(b' ', (width as usize).saturating_sub(used)));
        Ok(())
    })
}

/// One digit behind the point, cut off.
fn push_size(bytes: i64, base: u64, units: &[&str], text: &mut Vec<u8>) {
    let magnitude = bytes.unsigned_abs();
    if bytes < 0 {
        text.push(b'-');
    }
    if magnitude < base {
        push_padded(text, magnitude, 1);
        return text.extend_from_slice(if magnitude == 1 { b" byte" } else { b" bytes" });
    }
    let (mut power, mut unit) = (base, 0);
    // No unit is so large that the next power is no number of 64 bits.
    while unit + 1 < units.len() && magnitude / power >= base {
        power *= base;
        unit += 1;
    }
    push_padded(text, magnitude / power, 1);
    // The fraction is that of whole smaller units, as DuckDB says: 410 KiB are 0.4 MiB, and what is less is 0.3.
    let smaller = magnitude % power / (power / base);
    text.extend_from_slice(&[b'.', b'0' + (smaller * 10 / base) as u8, b' ']);
    text.extend_from_slice(units[unit].as_bytes());
}

fn binary_size(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    let bytes = Column::<i64>::of(args[0]);
    write_text(args, len, out, |row, text| {
        push_size(bytes.get(row), 1024, &["KiB", "MiB", "GiB", "TiB", "PiB"], text);
        Ok(())
    })
}

fn decimal_size(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    let bytes = Column::<i64>::of(args[0]);
    write_text(args, len, out, |row, text| {
        push_size(bytes.get(row), 1000, &["kB", "MB", "GB", "TB", "PB"], text);
        Ok(())
    })
}

fn parse_size(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    let source = TextColumn::of(args[0]);
    inlay_kernels::apply::per_row(args, &UBigInt, len, out, |row| {
        let text = source.text(row);
        size_of_text(text).ok_or_else(|| {
            Error::invalid_argument(format!("'{text}' is no size"))
                .with_hint("write a number and a unit, such as '1.5 KiB'")
        })
    })
}

fn size_of_text(text: &str) -> Option<u64> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let number: f64 = text[..end].parse().ok()?;
    let (base, exponent) = match text[end..].trim().to_ascii_lowercase().as_str() {
        "" | "b" | "byte" | "bytes" => (1.0f64, 0),
        "kb" | "k" | "kilobyte" | "kilobytes" => (1000.0, 1),
        "mb" | "m" | "megabyte" | "megabytes" => (1000.0, 2),
        "gb" | "g" | "gigabyte" | "gigabytes" => (1000.0, 3),
        "tb" | "t" | "terabyte" | "terabytes" => (1000.0, 4),
        "kib" => (1024.0, 1),
        "mib" => (1024.0, 2),
        "gib" => (1024.0, 3),
        "tib" => (1024.0, 4),
        _ => return None,
    };
    let bytes = number * base.powi(exponent);
    (bytes < u64::MAX as f64).then_some(bytes as u64)
}

fn initcap(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    rewrite(args, len, out, |source, text| {
        let mut in_word = false;
        let mut made = String::new();
        for c in source.chars() {
            if in_word {
                made.extend(c.to_lowercase());
            } else {
                made.extend(c.to_uppercase());
            }
            in_word = c.is_alphanumeric();
        }
        text.extend_from_slice(made.as_bytes());
    })
}

fn overlay(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    let (source, other) = (TextColumn::of(args[0]), TextColumn::of(args[1]));
    let from = Column::<i64>::of(args[2]);
    let count = args.get(3).map(|arg| Column::<i64>::of(arg));
    write_text(args, len, out, |row, text| {
        let (source, other) = (source.text(row), other.text(row));
        let count = match &count {
            Some(count) if count.get(row) >= 0 => count.get(row),
            _ => other.chars().count() as i64,
        };
        // What lies before the first character is replaced without a trace.
        let from = from.get(row).saturating_sub(1);
        let until = from.saturating_add(count).max(0);
        let from = from.max(0);
        let offset = |index: i64| {
            let index = usize::try_from(index).unwrap_or(usize::MAX);
            source.char_indices().nth(index).map_or(source.len(), |(at, _)| at)
        };
        text.extend_from_slice(&source.as_bytes()[..offset(from)]);
        text.extend_from_slice(other.as_bytes());
        text.extend_from_slice(&source.as_bytes()[offset(until.max(from))..]);
        Ok(())
    })
}

fn quoted(source: &str, quote: u8, text: &mut Vec<u8>) {
    text.push(quote);
    for byte in source.bytes() {
        if byte == quote {
            text.push(quote);
        }
        text.push(byte);
    }
    text.push(quote);
}

fn quote_ident(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    rewrite(args, len, out, |source, text| {
        let is_plain = source.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
            && !source.starts_with(|c: char| c.is_ascii_digit())
            && !source.is_empty();
        if is_plain {
            text.extend_from_slice(source.as_bytes());
        } else {
            quoted(source, b'"', text);
        }
    })
}

fn quote_literal(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    rewrite(args, len, out, |source, text| quoted(source, b'\'', text))
}

fn quote_nullable(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    let source = TextColumn::of(args[0]);
    write_text_or_null(args, len, out, |row, text| {
        if args[0].is_null(row) {
            text.extend_from_slice(b"NULL");
        } else {
            quoted(source.text(row), b'\'', text);
        }
        Ok(true)
    })
}

/// Byte offsets at which what people see as characters begin, and the end.
fn grapheme_bounds(bytes: &[u8]) -> Vec<usize> {
    let text = std::str::from_utf8(bytes).unwrap_or_default();
    let mut bounds: Vec<usize> = text.grapheme_indices(true).map(|(at, _)| at).collect();
    bounds.push(text.len());
    bounds
}

fn length_grapheme(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    map_text(args, BigInt, len, out, |bytes| grapheme_bounds(bytes).len() as i64 - 1)
}

fn left_grapheme(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    let count = Column::<i64>::of(args[1]);
    slice_text(args, len, out, |row, bytes| {
        let bounds = grapheme_bounds(bytes);
        let have = bounds.len() as i64 - 1;
        let count = count.get(row);
        let kept = if count >= 0 { count.min(have) } else { have.saturating_add(count).max(0) };
        (0, bounds[kept as usize])
    })
}

fn right_grapheme(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    let count = Column::<i64>::of(args[1]);
    slice_text(args, len, out, |row, bytes| {
        let bounds = grapheme_bounds(bytes);
        let have = bounds.len() as i64 - 1;
        let count = count.get(row);
        let skipped =
            if count >= 0 { have.saturating_sub(count).max(0) } else { count.saturating_neg().min(have) };
        (bounds[skipped as usize], bytes.len())
    })
}

fn substring_grapheme(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    let from = Column::<i64>::of(args[1]);
    let count = args.get(2).map(|arg| Column::<i64>::of(arg));
    slice_text(args, len, out, |row, bytes| {
        let bounds = grapheme_bounds(bytes);
        let have = bounds.len() as i64 - 1;
        let count = count.as_ref().map(|count| count.get(row));
        let (first, last) = super::strings::span(from.get(row), count, || have);
        (bounds[first.min(have) as usize], bounds[last.min(have) as usize])
    })
}

fn strip_accents(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    rewrite(args, len, out, |source, text| {
        if source.is_ascii() {
            return text.extend_from_slice(source.as_bytes());
        }
        let start = text.len();
        if !strip_latin(source, text) {
            text.truncate(start);
            text.extend_from_slice(stripped(source).as_bytes());
        }
    })
}

fn stripped(source: &str) -> String {
    source.nfd().filter(|c| !is_combining_mark(*c)).nfc().collect()
}

/// What stands in front of the first mark that is put on letters. Such a character is never put together with others.
const MARKS_BEGIN: char = '\u{300}';

/// Appends a text of letters in front of [`MARKS_BEGIN`] without accents, letter by letter; whether it is such a one.
fn strip_latin(source: &str, text: &mut Vec<u8>) -> bool {
    static LETTERS: OnceLock<Vec<String>> = OnceLock::new();
    let letters =
        LETTERS.get_or_init(|| ('\0'..MARKS_BEGIN).map(|c| stripped(c.encode_utf8(&mut [0; 4]))).collect());
    let mut rest = source;
    loop {
        let plain = rest.bytes().take_while(u8::is_ascii).count();
        text.extend_from_slice(&rest.as_bytes()[..plain]);
        let Some(c) = rest[plain..].chars().next() else { return true };
        let Some(letter) = letters.get(c as usize) else { return false };
        text.extend_from_slice(letter.as_bytes());
        rest = &rest[plain + c.len_utf8()..];
    }
}

fn nfc_normalize(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    rewrite(args, len, out, |source, text| {
        let normal: String = source.nfc().collect();
        text.extend_from_slice(normal.as_bytes());
    })
}

/// Which bytes separate the parts of a path.
pub(super) fn separators(name: &str) -> Result<&'static [u8]> {
    match name {
        "system" | "forward_slash" => Ok(b"/"),
        "both_slash" | "default" => Ok(b"/\\"),
        "backslash" => Ok(b"\\"),
        other => Err(Error::invalid_argument(format!(
            "the separator of a path is 'system', 'both_slash', 'forward_slash' or 'backslash', not '{other}'"
        ))),
    }
}

/// A part of each path; the last argument may name the separator.
fn path_part(
    args: &[&Vector],
    separator: Option<&Vector>,
    len: usize,
    out: &mut Vector,
    part: impl Fn(usize, &[u8], &[u8]) -> (usize, usize),
) -> Result<()> {
    let source = TextColumn::of(args[0]);
    let separator = separator.map(TextColumn::of);
    write_text(args, len, out, |row, text| {
        let named = separator.as_ref().map_or("default", |separator| separator.text(row));
        let set = separators(named)?;
        let bytes = source.get(row);
        let (start, end) = part(row, bytes, set);
        text.extend_from_slice(&bytes[start..end]);
        Ok(())
    })
}

fn last_separator(bytes: &[u8], set: &[u8]) -> Option<usize> {
    bytes.iter().rposition(|b| set.contains(b))
}

fn parse_filename(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    path_part(args, args.get(1).copied(), len, out, |_, bytes, set| {
        (last_separator(bytes, set).map_or(0, |at| at + 1), bytes.len())
    })
}

fn parse_filename_trimmed(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    let trims = Column::<u8>::of(args[1]);
    path_part(args, args.get(2).copied(), len, out, |row, bytes, set| {
        let start = last_separator(bytes, set).map_or(0, |at| at + 1);
        let dot = bytes[start..].iter().rposition(|b| *b == b'.').filter(|_| trims.get(row) != 0);
        (start, dot.map_or(bytes.len(), |dot| start + dot))
    })
}

fn parse_dirname(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    path_part(args, args.get(1).copied(), len, out, |_, bytes, set| {
        let end = bytes.iter().position(|b| set.contains(b));
        (0, end.map_or(0, |end| end.max(1)))
    })
}

fn parse_dirpath(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    path_part(args, args.get(1).copied(), len, out, |_, bytes, set| match last_separator(bytes, set) {
        // The root alone has nothing above it.
        Some(0) if bytes.len() == 1 => (0, 1),
        last => (0, last.unwrap_or(0)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_lose_their_accents_as_whole_texts_do() {
        let latin: String = ('\0'..MARKS_BEGIN).collect();
        let pairs = "éa\u{1f0} ǖÅ ß";
        for (source, is_latin) in [
            (&*latin, true),
            (pairs, true),
            ("", true),
            ("e\u{301}", false),
            ("Å\u{212b}", false),
            ("ä 日", false),
        ] {
            let mut text = Vec::new();
            assert_eq!(strip_latin(source, &mut text), is_latin, "{source}");
            if is_latin {
                assert_eq!(String::from_utf8(text).unwrap(), stripped(source));
            }
        }
    }

    #[test]
    fn sizes_have_the_largest_unit_that_is_not_below_one() {
        let sizes = [0, 1, -1, 1023, 1024, 1536, 1 << 20, (1 << 50) - 1, i64::MAX, i64::MIN, 999, 1_000_000];
        for bytes in sizes {
            for (base, units) in
                [(1024u64, ["KiB", "MiB", "GiB", "TiB", "PiB"]), (1000, ["kB", "MB", "GB", "TB", "PB"])]
            {
                let mut text = Vec::new();
                push_size(bytes, base, &units, &mut text);
                let (sign, magnitude) = (if bytes < 0 { "-" } else { "" }, u128::from(bytes.unsigned_abs()));
                let unit = (1..=5).rev().find(|unit| magnitude >= u128::from(base).pow(*unit));
                let expected = match unit {
                    None if magnitude == 1 => format!("{sign}1 byte"),
                    None => format!("{sign}{magnitude} bytes"),
                    Some(unit) => {
                        let tenths = magnitude * 10 / u128::from(base).pow(unit);
                        format!("{sign}{}.{} {}", tenths / 10, tenths % 10, units[unit as usize - 1])
                    }
                };
                assert_eq!(String::from_utf8(text).unwrap(), expected);
            }
        }
    }
}

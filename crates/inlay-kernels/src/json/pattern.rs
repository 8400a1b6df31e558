//! Parts of documents that look like one seen before: a column's documents mostly have the same keys in the same order.
//!
//! A pattern is the bytes of a document around its texts, numbers and words. Another document that has the same bytes there, and
//! any text, number or word in between, is well-formed as the first one was, and what a path leads to stands between the same bytes: so
//! neither keys nor brackets are looked at one by one. Documents of no known pattern are passed over by [`super::scan`], which decides
//! what a document is; a pattern is learnt from one that is understood, and given up where documents do not repeat.

use super::scan::{Place, Scanned, found_part, part_at, part_of_checked, scalar_end, scalars_of};
use super::value::Path;

/// Patterns that are tried, and bytes and pieces of a document of which one is learnt at most.
const PATTERNS_MAX: usize = 4;
const BYTES_MAX: usize = 1 << 14;
const PIECES_MAX: usize = 256;
/// Documents of no known pattern cost as much as so many others gain; with nothing left, patterns are given up.
const CREDIT: u32 = 64;
const MISS: u32 = 8;
/// Bytes of a piece.
const WIDTH: usize = 16;

/// Finds what one path leads to in one document after the other.
#[derive(Debug)]
pub struct PartFinder {
    patterns: Vec<Pattern>,
    credit: u32,
    /// Whether documents are known to be well-formed.
    are_checked: bool,
}

impl Default for PartFinder {
    fn default() -> Self {
        Self { patterns: Vec::new(), credit: CREDIT, are_checked: false }
    }
}

impl PartFinder {
    /// For documents that have been looked at before: nothing behind the part is of interest.
    pub fn of_checked() -> Self {
        Self { are_checked: true, ..Self::default() }
    }

    /// What [`part_at`] gives. The path is the same in all calls.
    pub fn part_at<'a>(&mut self, document: &'a [u8], path: Option<&Path>) -> Scanned<'a> {
        for (index, pattern) in self.patterns.iter().enumerate() {
            if let Some(found) = pattern.part(document, self.are_checked) {
                self.credit = CREDIT.min(self.credit + 1);
                self.patterns.swap(0, index);
                return found;
            }
        }
        let found = match path {
            Some(path) if self.are_checked => part_of_checked(document, path),
            Some(_) | None => part_at(document, path),
        };
        if self.credit > 0 && document.len() <= BYTES_MAX {
            self.learn(document, found);
        }
        found
    }

    fn learn(&mut self, document: &[u8], found: Scanned<'_>) {
        self.credit = self.credit.saturating_sub(MISS);
        if self.credit == 0 {
            self.patterns.clear();
            return;
        }
        let part = match found {
            Scanned::Part(raw) => {
                // It lies in the document.
                let from = raw.text.as_ptr().addr() - document.as_ptr().addr();
                Some((from, from + raw.text.len()))
            }
            Scanned::Nothing => None,
            Scanned::Unknown => return,
        };
        if let Some(pattern) = Pattern::of(document, part) {
            self.patterns.truncate(PATTERNS_MAX - 1);
            self.patterns.insert(0, pattern);
        }
    }
}

/// Up to 16 bytes that are the same in all documents of a pattern, and whether a text, number or word stands behind them.
#[derive(Debug)]
struct Piece {
    word: u128,
    mask: u128,
    len: usize,
    has_scalar: bool,
}

impl Piece {
    fn new(bytes: &[u8], has_scalar: bool) -> Self {
        let mut word = [0; WIDTH];
        word[..bytes.len()].copy_from_slice(bytes);
        let mask = if bytes.is_empty() { 0 } else { u128::MAX >> (8 * (WIDTH - bytes.len())) };
        Self { word: u128::from_le_bytes(word), mask, len: bytes.len(), has_scalar }
    }

    #[inline(always)]
    fn is_at(&self, document: &[u8], at: usize) -> bool {
        let Some(rest) = document.get(at..) else { return false };
        match rest.first_chunk::<WIDTH>() {
            Some(chunk) => u128::from_le_bytes(*chunk) & self.mask == self.word,
            None => {
                let same = rest.iter().zip(self.word.to_le_bytes()).take(self.len);
                rest.len() >= self.len && same.into_iter().all(|(byte, known)| *byte == known)
            }
        }
    }
}

/// A place in a document: so many bytes behind the beginning of a piece.
#[derive(Clone, Copy, Debug)]
struct Edge {
    piece: usize,
    offset: usize,
}

#[derive(Debug)]
pub(super) struct Pattern {
    pieces: Vec<Piece>,
    /// Where the part begins and ends, if there is one.
    part: Option<(Edge, Edge)>,
}

impl Pattern {
    /// That of a document which is well-formed, and whose part lies there.
    pub(super) fn of(document: &[u8], part: Option<(usize, usize)>) -> Option<Self> {
        let (mut pieces, mut starts, mut at) = (Vec::new(), Vec::new(), 0);
        let mut add = |from: usize, to: usize, has_scalar: bool| {
            let bytes = document.get(from..to)?;
            let count = bytes.len().div_ceil(WIDTH).max(1);
            for (index, start) in (from..).step_by(WIDTH).take(count).enumerate() {
                let end = to.min(start + WIDTH);
                pieces.push(Piece::new(document.get(start..end)?, has_scalar && index + 1 == count));
                starts.push(start);
            }
            (pieces.len() <= PIECES_MAX).then_some(())
        };
        for (from, to) in scalars_of(document, PIECES_MAX)? {
            add(at, from, true)?;
            at = to;
        }
        add(at, document.len(), false)?;
        let edge = |place: usize| {
            let piece = starts.partition_point(|start| *start <= place).checked_sub(1)?;
            Some(Edge { piece, offset: place - starts[piece] })
        };
        let part = match part {
            Some((from, to)) => Some((edge(from)?, edge(to)?)),
            None => None,
        };
        Some(Self { pieces, part })
    }

    /// Gives the places of the texts, numbers and words of a document of this pattern, and whether each is plain; whether it is one.
    pub(super) fn scalars(&self, document: &[u8], places: &mut Vec<Place>) -> bool {
        places.clear();
        let mut at = 0;
        for piece in &self.pieces {
            if !piece.is_at(document, at) {
                return false;
            }
            at += piece.len;
            if piece.has_scalar {
                let Some((end, is_plain)) = scalar_end(document, at) else { return false };
                places.push((at, end, is_plain));
                at = end;
            }
        }
        at == document.len()
    }

    /// The part of a document of this pattern; `None`: it is of another one. What is behind the part is not looked at where documents are
    /// checked.
    #[inline]
    fn part<'a>(&self, document: &'a [u8], is_checked: bool) -> Option<Scanned<'a>> {
        let nowhere = Edge { piece: usize::MAX, offset: 0 };
        let (first, last) = self.part.unwrap_or((nowhere, nowhere));
        let (mut at, mut from, mut is_plain, mut place) = (0, 0, true, None);
        for (index, piece) in self.pieces.iter().enumerate() {
            if !piece.is_at(document, at) {
                return None;
            }
            if index == last.piece {
                let to = at + last.offset;
                place = Some(match index == first.piece {
                    true => (at + first.offset, to, true),
                    false => (from, to, is_plain),
                });
                if is_checked {
                    break;
                }
            }
            if index == first.piece {
                (from, is_plain) = (at + first.offset, true);
            }
            at += piece.len;
            if piece.has_scalar {
                let (end, is_plain_scalar) = scalar_end(document, at)?;
                (at, is_plain) = (end, is_plain & is_plain_scalar);
            }
        }
        match place {
            Some(place) if is_checked || at == document.len() => Some(found_part(document, place)),
            None if at == document.len() => Some(Scanned::Nothing),
            Some(_) | None => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATHS: &[&str] =
        &["$", "$.a", "$.b.c", "$.l", "$.l[1]", "$.l[0].x", "$[2]", "$.é", "$.a[-1]", "$.b"];

    /// Documents of several patterns, of one with other values, and damaged ones.
    fn documents() -> Vec<String> {
        let mut documents = Vec::new();
        for number in 0..40u64 {
            let text = "t\"\\é".chars().cycle().take(number as usize % 23).collect::<String>();
            let escaped = text.replace('\\', "\\\\").replace('"', "\\\"");
            let value = ["null", "true", "false", "1.5", "-0", "12345678901234567890"][number as usize % 6];
            documents.extend([
                format!("{{\"a\": {number}, \"b\": {{\"c\": \"{escaped}\"}}, \"l\": [{value}, {number}]}}"),
                format!(" {{ \"l\" : [ {{\"x\" : {value}}} , \"{escaped}\" ] , \"a\":{number} }} "),
                format!("[{value},\"{number}\",{{}},[],[[{number}]]]"),
                format!("{{\"a\": [{}], \"é\": {{}}}}", vec!["7"; number as usize % 5].join(", ")),
                format!("{{\"a key that is longer than a piece of sixteen bytes\": {value}, \"a\": \"{escaped}\"}}"),
                value.to_string(),
                format!("\"{escaped}\""),
                format!("{{\"a\": {number}, \"b\": {{\"c\": \"{escaped}\"}}, \"l\": [{value} {number}]}}"),
                format!("{{\"a\": 0{number}, \"b\": {{\"c\": \"{escaped}\"}}, \"l\": [{value}, {number}]}}"),
                format!("{{\"a\": {number}, \"b\": {{\"c\": \"{escaped}\"}}, \"l\": [{value}, {number}]}} x"),
                format!("{{\"a\": {number}, \"b\": {{\"c\": \"{escaped}\"}}, \"l\": [{value}, {number}]"),
                format!("{{\"a\": nul, \"b\": {{\"c\": \"\t{escaped}\"}}, \"l\": [{value}, {number}]}}"),
            ]);
        }
        documents
    }

    #[test]
    fn parts_are_those_that_scanning_finds() {
        let documents = documents();
        let orders: [Vec<&String>; 2] = [
            documents.iter().collect(),
            (0..12).flat_map(|kind| documents.iter().skip(kind).step_by(12)).collect(),
        ];
        for path in PATHS.iter().map(|path| Path::parse(path).unwrap()) {
            for order in &orders {
                let mut finder = PartFinder::default();
                for text in order {
                    let found = finder.part_at(text.as_bytes(), Some(&path));
                    assert_eq!(found, part_at(text.as_bytes(), Some(&path)), "{text} {path:?}");
                }
                let mut finder = PartFinder::of_checked();
                for text in order {
                    let expected = part_at(text.as_bytes(), Some(&path));
                    if expected != Scanned::Unknown {
                        assert_eq!(finder.part_at(text.as_bytes(), Some(&path)), expected, "{text} {path:?}");
                    }
                }
            }
        }
    }

    /// What one byte can do to a document of a known pattern, and every cut.
    #[test]
    fn damage_is_seen() {
        let text = "{\"a\": 17, \"b\": {\"c\": \"text\"}, \"l\": [true, -5, null]}";
        let path = Path::parse("$.b.c").unwrap();
        for at in 0..text.len() {
            for byte in *b"\"\\{}[],:0 a\n-.e" {
                let mut damaged = text.as_bytes().to_vec();
                damaged[at] = byte;
                let mut finder = PartFinder::default();
                finder.part_at(text.as_bytes(), Some(&path));
                assert_eq!(
                    finder.part_at(&damaged, Some(&path)),
                    part_at(&damaged, Some(&path)),
                    "{at} {byte}"
                );
                let cut = &text.as_bytes()[..at];
                assert_eq!(finder.part_at(cut, Some(&path)), part_at(cut, Some(&path)), "{at}");
            }
        }
    }

    #[test]
    fn patterns_are_found_again_and_given_up() {
        let path = Path::parse("$.a").unwrap();
        let mut finder = PartFinder::default();
        for number in 0..100 {
            finder.part_at(format!("{{\"a\": {number}}}").as_bytes(), Some(&path));
        }
        assert_eq!((finder.patterns.len(), finder.credit), (1, CREDIT));
        for number in 0..100 {
            finder.part_at(format!("{{\"a\": 1, \"b{number}\": 2}}").as_bytes(), Some(&path));
        }
        assert_eq!((finder.patterns.len(), finder.credit), (0, 0));
    }
}

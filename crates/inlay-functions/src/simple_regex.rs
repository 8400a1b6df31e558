//! Expressions that are read once from left to right, as those that take addresses and lines of logs apart mostly are:
//! anchored at the start, made of texts, classes that are repeated, and optional parts, with groups around them. What
//! general engines find out about groups by a search that remembers where it was is known here when a byte is looked at.
//!
//! A repetition of a class takes all bytes that it can: what stands behind it cannot begin with one of them, or the
//! expression is not simple. Only optional parts are tried with and without; few may be in an expression.
//! The match is that of the regex crate: of the first alternative that fits, greedy.

use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Class, Dot, Hir, HirKind, Look, Repetition};
use std::ops::Range;

/// An expression with more optional parts takes too long when none fits.
const OPTIONAL_MAX: usize = 4;

/// Which bytes are in a class. All bytes of characters beyond ASCII are, or none.
type Bytes = Box<[bool; 256]>;

#[derive(Debug)]
enum Item {
    Text(Text),
    One(Bytes),
    Loop {
        bytes: Bytes,
        min: usize,
        max: usize,
    },
    /// At least so many characters up to this one, or the end.
    Until {
        stop: u8,
        min: usize,
    },
    /// The place of a group's start (2 * group) or end.
    Save(usize),
    /// So many items behind it may be left out.
    Optional(usize),
    /// May be left out, but is there if the text goes on with it: nothing behind it begins alike.
    OptionalText(Text),
    End,
}

/// A text to be compared, up to eight bytes of it at once.
#[derive(Debug)]
struct Text {
    bytes: Vec<u8>,
    /// The first bytes, and which bits of eight bytes they are.
    first: u64,
    mask: u64,
}

impl Text {
    fn new(bytes: &[u8]) -> Self {
        let (mut first, mut mask) = ([0; 8], [0; 8]);
        for (index, byte) in bytes.iter().take(8).enumerate() {
            (first[index], mask[index]) = (*byte, u8::MAX);
        }
        Self { bytes: bytes.to_vec(), first: u64::from_le_bytes(first), mask: u64::from_le_bytes(mask) }
    }

    #[inline]
    fn begins(&self, text: &[u8]) -> bool {
        match text.first_chunk() {
            Some(word) if self.bytes.len() <= 8 => u64::from_le_bytes(*word) & self.mask == self.first,
            _ => text.starts_with(&self.bytes),
        }
    }
}

/// How many bytes there are before `byte`, or all. A few are mostly few: those are looked at here, eight at once.
#[inline]
fn bytes_before(byte: u8, text: &[u8]) -> usize {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let wanted = ONES * u64::from(byte);
    let mut at = 0;
    while at < 64
        && let Some(word) = text[at..].first_chunk()
    {
        let differing = u64::from_le_bytes(*word) ^ wanted;
        // The lowest bit that is set is in the first byte that does not differ.
        let equal = differing.wrapping_sub(ONES) & !differing & ONES << 7;
        if equal != 0 {
            return at + equal.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    match at {
        64.. => at + memchr::memchr(byte, &text[at..]).unwrap_or(text.len() - at),
        _ => at + text[at..].iter().take_while(|other| **other != byte).count(),
    }
}

/// What may stand behind the items.
#[derive(Debug, PartialEq)]
enum Tail {
    Anything,
    /// The match goes on to the end of the text, where no line ends.
    Line,
    /// The match goes on to the end of the text.
    Text,
}

/// See the module documentation.
#[derive(Debug)]
pub(super) struct SimpleRegex {
    items: Vec<Item>,
    tail: Tail,
    groups: usize,
}

/// Where the groups of a match are; the whole match is group 0.
#[derive(Debug, Default)]
pub(super) struct Places(Vec<Option<usize>>);

impl Places {
    /// The part of `text` that a group matched.
    pub fn group<'t>(&self, group: usize, text: &'t [u8]) -> Option<&'t [u8]> {
        text.get(self.range(group)?)
    }

    /// Where a group is, if it is in the match.
    pub fn range(&self, group: usize) -> Option<Range<usize>> {
        Some((*self.0.get(2 * group)?)?..(*self.0.get(2 * group + 1)?)?)
    }

    /// Where the whole match ends.
    pub fn end(&self) -> usize {
        self.0.get(1).copied().flatten().unwrap_or(0)
    }
}

/// Whether there is a match; [`Outcome::Unknown`] if only a general engine can say.
#[derive(Debug, PartialEq)]
pub(super) enum Outcome {
    Found,
    Absent,
    Unknown,
}

impl SimpleRegex {
    /// The expression if it is simple.
    pub fn new(pattern: &str, ignore_case: bool) -> Option<Self> {
        let hir = ParserBuilder::new().case_insensitive(ignore_case).build().parse(pattern).ok()?;
        let groups = hir.properties().explicit_captures_len() + 1;
        let HirKind::Concat(parts) = hir.kind() else { return None };
        let [first, parts @ ..] = parts.as_slice() else { return None };
        if *first.kind() != HirKind::Look(Look::Start) {
            return None;
        }
        let is_end = |part: &Hir| *part.kind() == HirKind::Look(Look::End);
        let (parts, tail) = match parts {
            [parts @ .., dots, end] if is_end(end) && repeats(dots, Dot::AnyCharExceptLF) => {
                (parts, Tail::Line)
            }
            [parts @ .., dots, end] if is_end(end) && repeats(dots, Dot::AnyChar) => (parts, Tail::Text),
            parts => (parts, Tail::Anything),
        };
        let mut items = Vec::new();
        parts.iter().try_for_each(|part| emit(part, &mut items))?;
        let simple = Self { items, tail, groups };
        simple.is_simple().then(|| simple.with_clear_options())
    }

    /// Whether a match goes on to the end of the text.
    pub fn takes_all(&self) -> bool {
        self.tail != Tail::Anything
    }

    /// Whether it matters that no line ends in the text.
    pub fn takes_line(&self) -> bool {
        self.tail == Tail::Line
    }

    /// Finds the match, which begins where the text does. `is_line`: no line ends in the text; it is looked at otherwise.
    pub fn find(&self, text: &[u8], is_line: bool, places: &mut Places) -> Outcome {
        places.0.clear();
        places.0.resize(2 * self.groups, None);
        let Some(end) = self.run(text, 0, 0, &mut places.0) else { return Outcome::Absent };
        if !is_line && self.tail == Tail::Line && end + bytes_before(b'\n', &text[end..]) < text.len() {
            // A shorter match of the items might leave other lines.
            return Outcome::Unknown;
        }
        let end = if self.tail == Tail::Anything { end } else { text.len() };
        (places.0[0], places.0[1]) = (Some(0), Some(end));
        Outcome::Found
    }

    /// Matches the items from number `item` on at `at`; where they end.
    fn run(
        &self,
        text: &[u8],
        mut item: usize,
        mut at: usize,
        places: &mut [Option<usize>],
    ) -> Option<usize> {
        while let Some(next) = self.items.get(item) {
            item += 1;
            match next {
                Item::Text(wanted) => {
                    if !wanted.begins(&text[at..]) {
                        return None;
                    }
                    at += wanted.bytes.len();
                }
                Item::One(bytes) => {
                    if !bytes[usize::from(*text.get(at)?)] {
                        return None;
                    }
                    at += 1;
                }
                Item::Loop { bytes, min, max } => {
                    let taken = text[at..].iter().take(*max).take_while(|byte| bytes[usize::from(**byte)]);
                    let count = taken.count();
                    if count < *min {
                        return None;
                    }
                    at += count;
                }
                Item::Until { stop, min } => {
                    let count = bytes_before(*stop, &text[at..]);
                    if count < *min {
                        return None;
                    }
                    at += count;
                }
                Item::Save(place) => places[*place] = Some(at),
                Item::OptionalText(wanted) => {
                    if wanted.begins(&text[at..]) {
                        at += wanted.bytes.len();
                    }
                }
                Item::Optional(count) => {
                    if let Some(end) = self.run(text, item, at, places) {
                        return Some(end);
                    }
                    // Only items behind this one were tried.
                    for tried in &self.items[item..] {
                        if let Item::Save(place) = tried {
                            places[*place] = None;
                        }
                    }
                    item += count;
                }
                Item::End if at < text.len() => return None,
                Item::End => {}
            }
        }
        Some(at)
    }

    fn is_simple(&self) -> bool {
        let optional = self.items.iter().filter(|item| matches!(item, Item::Optional(_))).count();
        optional <= OPTIONAL_MAX
            && self.items.iter().enumerate().all(|(position, item)| match item {
                Item::Loop { bytes, .. } => !self.may_go_on(position, |byte| bytes[byte]),
                Item::Until { stop, .. } => !self.may_go_on(position, |byte| byte != usize::from(*stop)),
                _ => true,
            })
    }

    /// Optional texts that need not be tried with and without are known as such.
    fn with_clear_options(mut self) -> Self {
        for position in (0..self.items.len()).rev() {
            let [Item::Optional(1), Item::Text(text), ..] = &self.items[position..] else { continue };
            let first = text.bytes.first().copied();
            // What ends here, or may be empty, fits with and without: the longer is the match.
            if !self.may_go_on(position + 1, |byte| Some(byte) == first.map(usize::from)) {
                if let Item::Text(text) = self.items.remove(position + 1) {
                    self.items[position] = Item::OptionalText(text);
                }
                for (before, item) in self.items[..position].iter_mut().enumerate() {
                    match item {
                        Item::Optional(count) if before + *count > position => *count -= 1,
                        _ => {}
                    }
                }
            }
        }
        self
    }

    /// Whether what stands behind a repetition may begin with a byte that is repeated.
    fn may_go_on(&self, position: usize, is_repeated: impl Fn(usize) -> bool) -> bool {
        let mut behind = [false; 256];
        self.add_first(position + 1, &mut behind);
        (0..256).any(|byte| behind[byte] && is_repeated(byte))
    }

    /// Adds the bytes that the items from a position on may begin with.
    fn add_first(&self, position: usize, first: &mut [bool; 256]) {
        let mut add =
            |bytes: &[bool; 256]| first.iter_mut().zip(bytes).for_each(|(first, is_in)| *first |= is_in);
        match self.items.get(position) {
            None | Some(Item::End) => {}
            Some(Item::Text(text)) => {
                if let Some(byte) = text.bytes.first() {
                    first[usize::from(*byte)] = true;
                }
            }
            Some(Item::OptionalText(text)) => {
                if let Some(byte) = text.bytes.first() {
                    first[usize::from(*byte)] = true;
                }
                self.add_first(position + 1, first);
            }
            Some(Item::One(bytes)) => add(bytes),
            Some(Item::Loop { bytes, min, .. }) => {
                add(bytes);
                if *min == 0 {
                    self.add_first(position + 1, first);
                }
            }
            Some(Item::Until { stop, min }) => {
                let behind = first[usize::from(*stop)];
                first.fill(true);
                first[usize::from(*stop)] = behind;
                if *min == 0 {
                    self.add_first(position + 1, first);
                }
            }
            Some(Item::Save(_)) => self.add_first(position + 1, first),
            Some(Item::Optional(count)) => {
                self.add_first(position + 1, first);
                self.add_first(position + 1 + count, first);
            }
        }
    }
}

/// Whether a part is any number of these characters.
fn repeats(part: &Hir, dot: Dot) -> bool {
    matches!(part.kind(), HirKind::Repetition(Repetition { min: 0, max: None, sub, .. }) if **sub == Hir::dot(dot))
}

fn emit(part: &Hir, items: &mut Vec<Item>) -> Option<()> {
    match part.kind() {
        HirKind::Empty => {}
        HirKind::Literal(literal) => items.push(Item::Text(Text::new(&literal.0))),
        HirKind::Class(class) => items.push(Item::One(ascii(class)?)),
        HirKind::Look(Look::End) => items.push(Item::End),
        HirKind::Capture(capture) => {
            let group = capture.index as usize;
            items.push(Item::Save(2 * group));
            emit(&capture.sub, items)?;
            items.push(Item::Save(2 * group + 1));
        }
        HirKind::Concat(parts) => parts.iter().try_for_each(|part| emit(part, items))?,
        HirKind::Repetition(repetition) if repetition.greedy => emit_repetition(repetition, items)?,
        _ => return None,
    }
    Some(())
}

fn emit_repetition(repetition: &Repetition, items: &mut Vec<Item>) -> Option<()> {
    if (repetition.min, repetition.max) == (0, Some(1)) {
        let position = items.len();
        items.push(Item::Optional(0));
        emit(&repetition.sub, items)?;
        items[position] = Item::Optional(items.len() - position - 1);
        return Some(());
    }
    let HirKind::Class(class) = repetition.sub.kind() else { return None };
    let bytes = match repetition.max {
        // So many characters or more are as many bytes or more.
        None if repetition.min < 2 => bytes_of(class)?,
        _ => ascii(class)?,
    };
    let (min, max) = (repetition.min as usize, repetition.max.map_or(usize::MAX, |max| max as usize));
    let mut stops = (0..=u8::MAX).filter(|byte| !bytes[usize::from(*byte)]);
    items.push(match (stops.next(), stops.next()) {
        (Some(stop), None) if max == usize::MAX => Item::Until { stop, min },
        _ => Item::Loop { bytes, min, max },
    });
    Some(())
}

/// The bytes of a class of ASCII characters.
fn ascii(class: &Class) -> Option<Bytes> {
    bytes_of(class).filter(|bytes| !bytes[0x80])
}

/// The bytes of a class that has all characters beyond ASCII, or none.
fn bytes_of(class: &Class) -> Option<Bytes> {
    let Class::Unicode(class) = class else { return None };
    let mut bytes = Box::new([false; 256]);
    for range in class.ranges() {
        let (start, end) = (range.start() as u32, range.end() as u32);
        if end >= 0x80 && (start > 0x80 || end != char::MAX as u32) {
            return None;
        }
        bytes[start as usize..=end.min(0xFF) as usize].fill(true);
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use regex::bytes::Regex;

    /// Groups as the regex crate has them, for texts put together of what the expressions are about.
    #[test]
    fn simple_expressions_match_as_the_library_says() {
        let patterns = [
            r"^https?://(?:www\.)?([^/]+)/.*$",
            r"^(https?)://(www\.)?([^/:]+)(?::([0-9]+))?(/[^?]*)?$",
            r"^([a-z]+)(?:=([^;]*))?;",
            r"^(w)?(ww)?w?/(.*)$",
            r"^([^/]*)/?$",
            r"^[0-9]{2,3}-([0-9])",
            r"^(?s)(a*)b.*$",
            r"^(é+|x)?(ü)$",
            r"^[wh]?w",
            r"^(w(w)?)?([^w]*)",
            r"^(http(?:s)?(?:://)?)?(?:www\.)?([^/:]*)(?::8)?0?/?$",
            r"^(?:a(?:b)?(?:=)?;?)?([^;a]*);?$",
            r"^https?:?(?://www\.w?)?",
        ];
        let words = [
            "http", "https", "://", "www.", "w", "ww", "/", "a", "b", "é", "ü", ":80", "=", ";", "\n", "?",
            "12-3", ".",
        ];
        let mut state = 0x2545_F491_4F6C_DD1D_u64;
        let mut next = |below: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % below
        };
        let (mut simple_ones, mut found) = (0, 0);
        for pattern in patterns {
            let regex = Regex::new(pattern).unwrap();
            let Some(simple) = SimpleRegex::new(pattern, false) else { continue };
            simple_ones += 1;
            let mut places = Places::default();
            for _ in 0..20_000 {
                let mut text = if next(2) == 0 { "http://www.".to_string() } else { String::new() };
                (0..next(7)).for_each(|_| text.push_str(words[next(words.len())]));
                let text = text.as_bytes();
                let expected = regex.captures(text);
                let is_line = !text.contains(&b'\n') && next(2) == 0;
                match simple.find(text, is_line, &mut places) {
                    Outcome::Unknown => {}
                    Outcome::Absent => assert!(expected.is_none(), "{pattern} {text:?}"),
                    Outcome::Found => {
                        let expected = expected.unwrap();
                        found += 1;
                        for group in 0..regex.captures_len() {
                            let wanted = expected.get(group).map(|group| group.as_bytes());
                            assert_eq!(places.group(group, text), wanted, "{pattern} {group} {text:?}");
                        }
                        assert_eq!(places.end(), expected.get(0).unwrap().end());
                    }
                }
            }
        }
        assert!(simple_ones >= 7 && found > 10_000, "{simple_ones} {found}");
    }

    #[test]
    fn what_needs_a_search_is_not_simple() {
        for pattern in ["a+", "^a+a", "^(a|b)+", "^.*b", "^[^a]{2}", "^a??b", "^(ab)*", r"^\bx", "^(?m)a$"] {
            assert!(SimpleRegex::new(pattern, false).is_none(), "{pattern}");
        }
    }
}

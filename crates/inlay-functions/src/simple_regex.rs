//! Expressions that are read once from left to right, as those that take addresses and lines of logs apart mostly are:
//! made of texts, classes that are repeated, and optional parts, with groups around them, at the start of the text or anywhere
//! in it. What general engines find out about groups by a search that remembers where it was is known here when a byte is
//! looked at.
//!
//! A repetition of a class mostly takes all bytes that it can, as what stands behind it cannot begin with one of them. Where it
//! can, fewer are tried, as are optional parts, and other places where the match may begin: what that takes is counted, and
//! [`Outcome::Unknown`] before it is much more than the text is long.
//! Classes that have some of the characters beyond ASCII, as `\d` and `\w` do, are known as far as texts are ASCII.
//! The match is that of the regex crate: of the first place and the first alternative that fit, greedy.

use memchr::memmem;
use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Class, Dot, Hir, HirKind, Look, Repetition};
use std::ops::Range;

/// An expression with more optional parts takes too long when none fits.
const OPTIONAL_MAX: usize = 4;

/// Longer expressions are better read by a general engine, as no step of it looks at a byte twice.
const ITEMS_MAX: usize = 64;

/// Bytes of a text in which places are looked for where a byte of a class lies; a general engine may know a rarer text of the
/// expression to go by.
const CLASS_TEXT_MAX: usize = 1024;

/// Steps for each byte of a text, and for each text: looks at a byte and items that are tried.
const STEPS_PER_BYTE: usize = 16;
const STEPS_PER_TEXT: usize = 256;

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
        /// What stands behind may begin with one of the bytes.
        goes_back: bool,
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

/// Where a match may begin.
#[derive(Debug)]
enum Start {
    /// With the text.
    Text,
    /// Where this text is.
    Literal(Box<memmem::Finder<'static>>),
    /// At one of these bytes. If `skips`, there is none within a run of them when there is none where the run begins.
    Class { bytes: Bytes, skips: bool },
}

/// See the module documentation.
#[derive(Debug)]
pub(super) struct SimpleRegex {
    start: Start,
    items: Vec<Item>,
    tail: Tail,
    /// What a text ends with that has a match: most others are known by their last byte.
    ending: Vec<u8>,
    groups: usize,
    /// Nothing is known about other texts.
    needs_ascii: bool,
}

/// How many steps there are left to look for matches in one text.
#[derive(Debug, Default)]
pub(super) struct Steps(usize);

impl Steps {
    /// For a text of so many bytes.
    pub fn of(bytes: usize) -> Self {
        Self(STEPS_PER_TEXT.saturating_add(bytes.saturating_mul(STEPS_PER_BYTE)))
    }

    /// `None` when there are none left, then and ever after.
    #[inline]
    fn spend(&mut self, count: usize) -> Option<()> {
        self.0 = self.0.saturating_sub(count);
        (self.0 > 0).then_some(())
    }
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

    /// Where the whole match begins.
    pub fn start(&self) -> usize {
        self.0.first().copied().flatten().unwrap_or(0)
    }

    /// Where the whole match ends.
    pub fn end(&self) -> usize {
        self.0.get(1).copied().flatten().unwrap_or(0)
    }
}

/// A text while an expression is tried in it.
struct Attempt<'a> {
    text: &'a [u8],
    steps: &'a mut Steps,
    places: &'a mut [Option<usize>],
}

impl Attempt<'_> {
    #[inline]
    fn save(&mut self, place: usize, at: Option<usize>) {
        if let Some(saved) = self.places.get_mut(place) {
            *saved = at;
        }
    }
}

/// Whether a byte goes on with a character.
fn is_continuation(byte: u8) -> bool {
    byte & 0xC0 == 0x80
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
        let whole = std::slice::from_ref(&hir);
        let parts = if let HirKind::Concat(parts) = hir.kind() { parts.as_slice() } else { whole };
        let (is_anchored, parts) = match parts {
            [first, parts @ ..] if *first.kind() == HirKind::Look(Look::Start) => (true, parts),
            parts => (false, parts),
        };
        let is_end = |part: &Hir| *part.kind() == HirKind::Look(Look::End);
        let (parts, tail) = match parts {
            [parts @ .., dots, end] if is_end(end) && repeats(dots, Dot::AnyCharExceptLF) => {
                (parts, Tail::Line)
            }
            [parts @ .., dots, end] if is_end(end) && repeats(dots, Dot::AnyChar) => (parts, Tail::Text),
            parts => (parts, Tail::Anything),
        };
        let mut emitter = Emitter { items: Vec::new(), needs_ascii: false };
        parts.iter().try_for_each(|part| emitter.emit(part))?;
        let Emitter { items, needs_ascii } = emitter;
        let ending = ending_of(&items);
        let mut simple = Self { start: Start::Text, items, tail, ending, groups, needs_ascii };
        if !simple.settle_loops() {
            return None;
        }
        if !is_anchored {
            simple.start = simple.first_place()?;
        }
        Some(simple.with_clear_options())
    }

    /// Whether it knows only texts of ASCII.
    pub fn needs_ascii(&self) -> bool {
        self.needs_ascii
    }

    /// Whether a match is the whole text.
    pub fn takes_all(&self) -> bool {
        self.tail != Tail::Anything && matches!(self.start, Start::Text)
    }

    /// Whether it matters that no line ends in the text.
    pub fn takes_line(&self) -> bool {
        self.tail == Tail::Line
    }

    /// Finds the first match that begins at byte `from` or behind it. `is_line`: no line ends in the text; it is looked at
    /// otherwise.
    pub fn find(
        &self,
        text: &[u8],
        from: usize,
        is_line: bool,
        steps: &mut Steps,
        places: &mut Places,
    ) -> Outcome {
        // An empty one has no place in memory, and a comparison that looks there is slow.
        if !self.ending.is_empty() && !text.ends_with(&self.ending) {
            return Outcome::Absent;
        }
        if self.needs_ascii && !text.is_ascii() {
            return Outcome::Unknown;
        }
        places.0.clear();
        places.0.resize(2 * self.groups, None);
        let mut attempt = Attempt { text, steps, places: &mut places.0 };
        let found = match &self.start {
            Start::Text if from > 0 => return Outcome::Absent,
            Start::Text => self.run(&mut attempt, 0, 0).map(|end| (0, end)),
            Start::Literal(finder) => self.run_at_literal(finder, &mut attempt, from),
            Start::Class { .. } if text.len() > CLASS_TEXT_MAX => return Outcome::Unknown,
            Start::Class { bytes, skips } => self.run_at_class(bytes, *skips, &mut attempt, from),
        };
        if attempt.steps.0 == 0 {
            return Outcome::Unknown;
        }
        let Some((start, end)) = found else { return Outcome::Absent };
        if !is_line && self.tail == Tail::Line && end + bytes_before(b'\n', &text[end..]) < text.len() {
            // A shorter match of the items might leave other lines.
            return Outcome::Unknown;
        }
        let end = if self.tail == Tail::Anything { end } else { text.len() };
        (places.0[0], places.0[1]) = (Some(start), Some(end));
        Outcome::Found
    }

    /// Where the first match begins and ends of those that begin with a text.
    fn run_at_literal(
        &self,
        finder: &memmem::Finder<'_>,
        attempt: &mut Attempt<'_>,
        from: usize,
    ) -> Option<(usize, usize)> {
        let mut at = from;
        loop {
            at += finder.find(attempt.text.get(at..)?)?;
            attempt.steps.spend(1)?;
            if let Some(end) = self.run(attempt, 0, at) {
                return Some((at, end));
            }
            at += 1;
        }
    }

    /// Where the first match begins and ends of those that begin with a byte of a class.
    fn run_at_class(
        &self,
        bytes: &[bool; 256],
        skips: bool,
        attempt: &mut Attempt<'_>,
        from: usize,
    ) -> Option<(usize, usize)> {
        let (text, mut at) = (attempt.text, from);
        let is_in = |byte: &u8| bytes[usize::from(*byte)];
        loop {
            at += text.get(at..)?.iter().position(is_in)?;
            attempt.steps.spend(1)?;
            // No match begins within a character.
            if !is_continuation(text[at])
                && let Some(end) = self.run(attempt, 0, at)
            {
                return Some((at, end));
            }
            at += if skips { text[at..].iter().take_while(|byte| is_in(byte)).count() } else { 1 };
        }
    }

    /// Matches the items from number `item` on at `at`; where they end.
    fn run(&self, attempt: &mut Attempt<'_>, mut item: usize, mut at: usize) -> Option<usize> {
        let text = attempt.text;
        while let Some(next) = self.items.get(item) {
            item += 1;
            match next {
                Item::Text(wanted) => {
                    attempt.steps.spend(1 + wanted.bytes.len() / 8)?;
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
                Item::Loop { bytes, min, max, goes_back } => {
                    let taken = text[at..].iter().take(*max).take_while(|byte| bytes[usize::from(**byte)]);
                    let count = taken.count();
                    attempt.steps.spend(1 + count)?;
                    if *goes_back {
                        return (*min..=count).rev().find_map(|count| {
                            attempt.steps.spend(1).and_then(|()| self.run(attempt, item, at + count))
                        });
                    }
                    if count < *min {
                        return None;
                    }
                    at += count;
                }
                Item::Until { stop, min } => {
                    let count = bytes_before(*stop, &text[at..]);
                    attempt.steps.spend(1 + count / 8)?;
                    if count < *min {
                        return None;
                    }
                    at += count;
                }
                Item::Save(place) => attempt.save(*place, Some(at)),
                Item::OptionalText(wanted) => {
                    attempt.steps.spend(1 + wanted.bytes.len() / 8)?;
                    if wanted.begins(&text[at..]) {
                        at += wanted.bytes.len();
                    }
                }
                Item::Optional(count) => {
                    attempt.steps.spend(1)?;
                    if let Some(end) = self.run(attempt, item, at) {
                        return Some(end);
                    }
                    // Only items behind this one were tried.
                    for tried in &self.items[item..] {
                        if let Item::Save(place) = tried {
                            attempt.save(*place, None);
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

    /// Finds out which repetitions have to be tried with fewer bytes; whether the expression is simple.
    fn settle_loops(&mut self) -> bool {
        let optional = self.items.iter().filter(|item| matches!(item, Item::Optional(_))).count();
        if optional > OPTIONAL_MAX || self.items.len() > ITEMS_MAX {
            return false;
        }
        for position in 0..self.items.len() {
            let may_go_on = match &self.items[position] {
                Item::Loop { bytes, .. } => self.may_go_on(position, |byte| bytes[byte]),
                Item::Until { stop, .. } => self.may_go_on(position, |byte| byte != usize::from(*stop)),
                Item::Text(_)
                | Item::One(_)
                | Item::Save(_)
                | Item::Optional(_)
                | Item::OptionalText(_)
                | Item::End => false,
            };
            if !may_go_on {
                continue;
            }
            // Characters beyond ASCII would have to be given back as a whole.
            let Item::Loop { bytes, goes_back, .. } = &mut self.items[position] else { return false };
            if bytes[0x80] {
                return false;
            }
            *goes_back = true;
        }
        true
    }

    /// Where a match may begin that need not begin with the text; `None` if it may be empty.
    fn first_place(&self) -> Option<Start> {
        if self.smallest(0) == 0 {
            return None;
        }
        let mut items = self.items.iter().filter(|item| !matches!(item, Item::Save(_)));
        let first = items.next();
        if let Some(Item::Text(text)) = first
            && text.bytes.len() > 1
        {
            return Some(Start::Literal(Box::new(memmem::Finder::new(&text.bytes).into_owned())));
        }
        // From each byte of a run the repetition ends where the run does.
        let skips = matches!(
            first,
            Some(
                Item::Loop { min: 1.., max: usize::MAX, goes_back: false, .. } | Item::Until { min: 1.., .. }
            )
        );
        let mut bytes = Box::new([false; 256]);
        self.add_first(0, &mut bytes);
        Some(Start::Class { bytes, skips })
    }

    /// Bytes of the shortest text that the items from a position on match.
    fn smallest(&self, position: usize) -> usize {
        let (mut size, mut rest) = (0, &self.items[position..]);
        while let [item, behind @ ..] = rest {
            rest = behind;
            size += match item {
                Item::Text(text) => text.bytes.len(),
                Item::One(_) => 1,
                Item::Loop { min, .. } | Item::Until { min, .. } => *min,
                Item::Optional(count) => {
                    rest = &rest[*count..];
                    0
                }
                Item::Save(_) | Item::OptionalText(_) | Item::End => 0,
            };
        }
        size
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

/// The text in front of the end of the text, if that is what an expression ends with, whichever way it is matched.
fn ending_of(items: &[Item]) -> Vec<u8> {
    let is_skipped = |place: usize| {
        let covers =
            |(before, item): (usize, &Item)| matches!(item, Item::Optional(count) if place <= before + count);
        items[..place].iter().enumerate().any(covers)
    };
    let Some((Item::End, items_before)) = items.split_last() else { return Vec::new() };
    let last = items_before.iter().rposition(|item| !matches!(item, Item::Save(_)));
    match last.map(|place| (place, &items[place])) {
        Some((place, Item::Text(text))) if !is_skipped(place) && !is_skipped(items.len() - 1) => {
            text.bytes.clone()
        }
        _ => Vec::new(),
    }
}

/// Whether a part is any number of these characters.
fn repeats(part: &Hir, dot: Dot) -> bool {
    matches!(part.kind(), HirKind::Repetition(Repetition { min: 0, max: None, sub, .. }) if **sub == Hir::dot(dot))
}

/// The items of an expression while they are found.
struct Emitter {
    items: Vec<Item>,
    needs_ascii: bool,
}

impl Emitter {
    fn emit(&mut self, part: &Hir) -> Option<()> {
        match part.kind() {
            HirKind::Empty => {}
            HirKind::Literal(literal) => self.items.push(Item::Text(Text::new(&literal.0))),
            HirKind::Class(class) => {
                let bytes = self.ascii(class)?;
                self.items.push(Item::One(bytes));
            }
            HirKind::Look(Look::End) => self.items.push(Item::End),
            HirKind::Capture(capture) => {
                let group = capture.index as usize;
                self.items.push(Item::Save(2 * group));
                self.emit(&capture.sub)?;
                self.items.push(Item::Save(2 * group + 1));
            }
            HirKind::Concat(parts) => parts.iter().try_for_each(|part| self.emit(part))?,
            HirKind::Repetition(repetition) if repetition.greedy => self.emit_repetition(repetition)?,
            _ => return None,
        }
        Some(())
    }

    fn emit_repetition(&mut self, repetition: &Repetition) -> Option<()> {
        if (repetition.min, repetition.max) == (0, Some(1)) {
            let position = self.items.len();
            self.items.push(Item::Optional(0));
            self.emit(&repetition.sub)?;
            self.items[position] = Item::Optional(self.items.len() - position - 1);
            return Some(());
        }
        let bytes = if let HirKind::Literal(literal) = repetition.sub.kind() {
            let [byte] = *literal.0 else { return None };
            let mut bytes = Box::new([false; 256]);
            bytes[usize::from(byte)] = true;
            bytes
        } else {
            let HirKind::Class(class) = repetition.sub.kind() else { return None };
            match repetition.max {
                // So many characters or more are as many bytes or more.
                None if repetition.min < 2 => self.bytes_of(class)?,
                None | Some(_) => self.ascii(class)?,
            }
        };
        let (min, max) = (repetition.min as usize, repetition.max.map_or(usize::MAX, |max| max as usize));
        let mut stops = (0..=u8::MAX).filter(|byte| !bytes[usize::from(*byte)]);
        self.items.push(match (stops.next(), stops.next()) {
            (Some(stop), None) if max == usize::MAX => Item::Until { stop, min },
            _ => Item::Loop { bytes, min, max, goes_back: false },
        });
        Some(())
    }

    /// The ASCII characters of a class.
    fn ascii(&mut self, class: &Class) -> Option<Bytes> {
        let mut bytes = self.bytes_of(class)?;
        self.needs_ascii |= bytes[0x80];
        bytes[0x80..].fill(false);
        Some(bytes)
    }

    /// The bytes of a class that has all characters beyond ASCII, or none; else of its ASCII characters.
    fn bytes_of(&mut self, class: &Class) -> Option<Bytes> {
        let Class::Unicode(class) = class else { return None };
        let mut bytes = Box::new([false; 256]);
        for range in class.ranges() {
            let (start, end) = (range.start() as usize, range.end() as usize);
            if start < 0x80 {
                bytes[start..=end.min(0x7F)].fill(true);
            }
            if start <= 0x80 && end == char::MAX as usize {
                bytes[0x80..].fill(true);
            } else if end >= 0x80 {
                self.needs_ascii = true;
            }
        }
        Some(bytes)
    }
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
            r"[a-z]+:",
            r"([a-z]+)/([^/]+)",
            r"w[a-z]*b",
            r"[a-z]+w",
            r"([0-9]+)-?([0-9])$",
            r"[^;]+;",
            r"[^é]+ü",
            r"\d+-(\d)",
            r"(\w+)[/=](\w)?",
            r"://(www\.)?([a-z]*)(\w)b",
            r"[a-z]{2,3}",
            r"[a-z]{2,3}w",
            r".ü?/",
            r"(?i)WWW\.(k*)",
            r"ü(.*)$",
            r"[ab]?=[ab]?(w+)w?w",
            r"=$",
            r"a?(b[a-z]*)?(?:w=)?/",
            r"[a-z]+w$",
            r"^(a|b)?(w)$",
            r"w(\w)?(b)?$",
            r"w(b$)?",
            r"w(?:[a-z]*=$)?",
            r"(\w+)ü$",
            r"\A(?:[a-z]*b[a-z]*)\z",
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
        let (mut simple_ones, mut found, mut known) = (0, 0, 0);
        for pattern in patterns {
            let regex = Regex::new(pattern).unwrap();
            let Some(simple) = SimpleRegex::new(pattern, false) else { continue };
            simple_ones += 1;
            let mut places = Places::default();
            for _ in 0..20_000 {
                let mut text = if next(2) == 0 { "http://www.".to_string() } else { String::new() };
                (0..next(7)).for_each(|_| text.push_str(words[next(words.len())]));
                let text = text.as_bytes();
                // As behind a match, which ends with a character.
                let from = [0, text.len() / 2][next(2)];
                let from = if text.get(from).is_some_and(|byte| is_continuation(*byte)) { 0 } else { from };
                let expected = regex.captures_at(text, from);
                let is_line = !text.contains(&b'\n') && next(2) == 0;
                let mut steps = Steps::of(text.len());
                let outcome = simple.find(text, from, is_line, &mut steps, &mut places);
                known += usize::from(outcome != Outcome::Unknown);
                match outcome {
                    Outcome::Unknown => {}
                    Outcome::Absent => assert!(expected.is_none(), "{pattern} {text:?}"),
                    Outcome::Found => {
                        let expected = expected.unwrap();
                        found += 1;
                        for group in 0..regex.captures_len() {
                            let wanted = expected.get(group).map(|group| group.as_bytes());
                            assert_eq!(places.group(group, text), wanted, "{pattern} {group} {text:?}");
                        }
                        let whole = expected.get(0).unwrap();
                        assert_eq!((places.start(), places.end()), (whole.start(), whole.end()), "{pattern}");
                    }
                }
            }
        }
        assert!(simple_ones > 26 && known > 400_000 && found > 50_000, "{simple_ones} {known} {found}");
    }

    #[test]
    fn what_needs_a_search_is_not_simple() {
        for pattern in
            ["^(ab|cd)+", "^.*b", "a*", "(a|bc)", "^a??b", "^(ab)*", r"^\bx", "^(?m)a$", "a{3}{40}b"]
        {
            assert!(SimpleRegex::new(pattern, false).is_none(), "{pattern}");
        }
    }

    /// What would take a time that grows with the square of a text is left to a general engine.
    #[test]
    fn steps_are_bounded() {
        let text = [b'a'; 1000];
        let find = |pattern: &str, text: &[u8]| {
            let simple = SimpleRegex::new(pattern, false).unwrap();
            simple.find(text, 0, false, &mut Steps::of(text.len()), &mut Places::default())
        };
        assert_eq!(find("[a-z]+b", &text), Outcome::Unknown);
        assert_eq!(find("aa[a-z]*1", &text), Outcome::Unknown);
        assert_eq!(find("[a-z]+1", &text), Outcome::Absent);
        assert_eq!(find("[a-z]+a$", &text), Outcome::Found);
        assert_eq!(find("[a-z]+1", &[b'a'; CLASS_TEXT_MAX + 1]), Outcome::Unknown);
    }
}

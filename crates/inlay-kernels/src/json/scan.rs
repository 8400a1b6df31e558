//! Parts of documents without trees: a document is passed over once, and the place of the wanted part kept.
//!
//! The whole document is checked while it is passed over, since one that is malformed is an error wherever the fault is. Whatever
//! is rare (escaped keys, `\u`, `NaN`, deep nesting, paths with `*`) and whatever is wrong is left to [`super::value::Json`]: then
//! nothing is found out, which [`Scanned::Unknown`] says.
//!
//! Documents are bytes here: those of a VARCHAR are UTF-8, and of the others only the part that is wanted is looked at.

use super::value::{Path, Step};

/// Deepest nesting that is passed over.
const DEPTH_MAX: usize = 100;

/// What passing over a document found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scanned<'a> {
    /// A part as it is written.
    Part(Raw<'a>),
    /// The document is well-formed, and the path leads nowhere.
    Nothing,
    /// It has to be read into a tree.
    Unknown,
}

/// A part as it is written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Raw<'a> {
    /// Its text.
    pub text: &'a str,
    /// Whether it is written as [`super::value::Json::write`] would, but for spaces.
    pub is_plain: bool,
}

impl<'a> Raw<'a> {
    /// The text between the quotes of one without escapes.
    pub fn plain_text(&self) -> Option<&'a str> {
        if !self.is_plain { None } else { self.text.strip_prefix('"')?.strip_suffix('"') }
    }

    /// Items of an array, 0 of anything else; `None`: its tree knows.
    pub fn item_count(&self) -> Option<usize> {
        if !self.text.starts_with('[') {
            return Some(0);
        }
        // It is well-formed: without other parts inside there is a comma between each two items.
        if let Some(inside) = self.text.as_bytes().get(1..self.text.len() - 1)
            && !inside.iter().fold(false, |found, byte| found | matches!(byte, b'"' | b'[' | b'{'))
        {
            let is_empty = inside.iter().all(|byte| is_space(*byte));
            return Some(inside.iter().filter(|byte| **byte == b',').count() + usize::from(!is_empty));
        }
        let mut scanner = Scanner::new(self.text);
        let mut count = 0;
        scanner.items(0, |scanner| {
            count += 1;
            scanner.skip(1)
        })?;
        Some(count)
    }

    /// Appends it without spaces, if it is plain.
    pub fn write(&self, out: &mut Vec<u8>) -> bool {
        if !self.is_plain {
            return false;
        }
        let text = self.text.as_bytes();
        // There are no spaces around it.
        let is_scalar = !matches!(text.first(), Some(b'{' | b'['));
        if is_scalar || !text.iter().fold(false, |found, byte| found | is_space(*byte)) {
            out.extend_from_slice(text);
            return true;
        }
        let start = out.len();
        out.resize(start + text.len(), 0);
        let (target, mut written, mut is_inside) = (&mut out[start..], 0, false);
        for &byte in text {
            // In texts, which have no quotes inside, spaces stay.
            is_inside ^= byte == b'"';
            target[written] = byte;
            written += usize::from(is_inside || !is_space(byte));
        }
        out.truncate(start + written);
        true
    }
}

/// A document that is neither an array nor an object, if it is plain: as it is written, without spaces around it.
pub fn plain_scalar(document: &[u8]) -> Option<&[u8]> {
    let Scanned::Part(raw) = part(document, &[]) else { return None };
    (raw.is_plain && !raw.text.starts_with(['{', '['])).then_some(raw.text.as_bytes())
}

/// Whether a document is a value that [`plain_scalar`] gave or has it somewhere; `None`: its tree knows.
pub fn contains_scalar(document: &[u8], scalar: &[u8]) -> Option<bool> {
    let (mut found, mut is_known) = (false, true);
    let (end, _) = passed_over_with(document, 0, 0, |from, to, is_plain| {
        let value = &document[from..to];
        found |= value == scalar;
        // A number that is written otherwise is another one, a text may be the same.
        is_known &= is_plain || !value.starts_with(b"\"") || !scalar.starts_with(b"\"");
    })?;
    (behind_space(document, end) == document.len() && is_known).then_some(found)
}

#[inline(always)]
pub(super) fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
}

/// Whether a text is a document; `None`: it has to be read to know.
pub fn is_document(document: &[u8]) -> Option<bool> {
    match part(document, &[]) {
        Scanned::Part(_) => Some(true),
        Scanned::Nothing | Scanned::Unknown => None,
    }
}

/// Keys of a document that is an object, none of anything else; `None`: its tree knows.
pub fn keys_of(document: &[u8]) -> Option<Vec<&[u8]>> {
    let mut scanner = Scanner::of_bytes(document);
    let mut keys = Vec::new();
    scanner.space();
    if scanner.peek()? == b'{' {
        scanner.members(0, |scanner, name| {
            keys.push(name);
            scanner.skip(1)
        })?;
    } else {
        scanner.skip(0)?;
    }
    scanner.is_at_end().then_some(keys)
}

/// The keys of a document that is an object of at most `N` members; `None`: [`keys_of`] knows.
#[inline]
pub fn few_keys_of<'a, const N: usize>(document: &'a [u8], keys: &mut [&'a [u8]; N]) -> Option<usize> {
    let (mut at, mut count) = (behind_space(document, 0), 0);
    if *document.get(at)? != b'{' {
        return None;
    }
    at = behind_space(document, at + 1);
    if *document.get(at)? != b'}' {
        loop {
            let (name, value) = key_at(document, at)?;
            *keys.get_mut(count)? = name;
            count += 1;
            at = behind_space(document, behind_member(document, value, 1)?);
            match *document.get(at)? {
                b',' => at = behind_space(document, at + 1),
                byte => {
                    (byte == b'}').then_some(())?;
                    break;
                }
            }
        }
    }
    (behind_space(document, at + 1) == document.len()).then_some(count)
}

/// The part of a document that a path leads to; the whole document by none.
pub fn part_at<'a>(document: &'a [u8], path: Option<&Path>) -> Scanned<'a> {
    match path {
        Some(path) if path.is_many() || path.is_pointer() => Scanned::Unknown,
        Some(path) => part(document, path.steps()),
        None => part(document, &[]),
    }
}

/// The part that a path leads to in a document that is known to be well-formed: it is passed over up to there.
pub fn part_of_checked<'a>(document: &'a [u8], path: &Path) -> Scanned<'a> {
    if path.is_many() || path.is_pointer() {
        return Scanned::Unknown;
    }
    let mut scanner = Scanner { stops: true, ..Scanner::of_bytes(document) };
    let found = scanner.find(path.steps(), 0);
    match scanner.stopped_at.or(found.flatten()) {
        Some(place) => found_part(document, place),
        None if found.is_some() => Scanned::Nothing,
        None => Scanned::Unknown,
    }
}

fn part<'a>(document: &'a [u8], steps: &[Step]) -> Scanned<'a> {
    let mut scanner = Scanner::of_bytes(document);
    let Some(found) = scanner.find(steps, 0) else { return Scanned::Unknown };
    scanner.space();
    if scanner.at != document.len() {
        return Scanned::Unknown;
    }
    match found {
        Some(place) => found_part(document, place),
        None => Scanned::Nothing,
    }
}

pub(super) fn found_part(document: &[u8], (from, to, is_plain): Place) -> Scanned<'_> {
    match std::str::from_utf8(&document[from..to]) {
        Ok(text) => Scanned::Part(Raw { text, is_plain }),
        Err(_) => Scanned::Unknown,
    }
}

/// Where a part lies, and whether it is plain.
pub(super) type Place = (usize, usize, bool);

/// A place in a document.
#[derive(Clone)]
pub(super) struct Scanner<'a> {
    bytes: &'a [u8],
    /// The same if it is known to be UTF-8.
    text: Option<&'a str>,
    pub(super) at: usize,
    /// Whether what was passed over is written as it would be.
    is_plain: bool,
    /// Whether what follows the part that is looked for is not of interest; and where that lies.
    stops: bool,
    stopped_at: Option<Place>,
}

impl<'a> Scanner<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text: Some(text), ..Self::of_bytes(text.as_bytes()) }
    }

    pub(super) fn of_bytes(bytes: &'a [u8]) -> Self {
        Self { bytes, text: None, at: 0, is_plain: true, stops: false, stopped_at: None }
    }

    /// Whether nothing but space is left.
    pub(super) fn is_at_end(&mut self) -> bool {
        self.space();
        self.at == self.bytes.len()
    }

    /// Passes over a value, which begins here.
    pub(super) fn raw(&mut self, depth: usize) -> Option<Raw<'a>> {
        let (from, before) = (self.at, std::mem::replace(&mut self.is_plain, true));
        self.skip(depth)?;
        let is_plain = std::mem::replace(&mut self.is_plain, before);
        let text = match self.text {
            Some(text) => text.get(from..self.at)?,
            None => std::str::from_utf8(self.bytes.get(from..self.at)?).ok()?,
        };
        Some(Raw { text, is_plain })
    }

    #[inline(always)]
    pub(super) fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    #[inline(always)]
    pub(super) fn space(&mut self) {
        self.at = behind_space(self.bytes, self.at);
    }

    #[inline(always)]
    fn eat(&mut self, byte: u8) -> bool {
        self.space();
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    /// Passes over a value and tells where the part of it lies that steps lead to; `None`: that cannot be said.
    fn find(&mut self, steps: &[Step], depth: usize) -> Option<Option<Place>> {
        self.space();
        let Some((step, rest)) = steps.split_first() else {
            let (from, before) = (self.at, std::mem::replace(&mut self.is_plain, true));
            self.skip(depth)?;
            let is_plain = std::mem::replace(&mut self.is_plain, before);
            let place = (from, self.at, is_plain);
            if self.stops {
                self.stopped_at = Some(place);
                return None;
            }
            return Some(Some(place));
        };
        match (step, self.peek()?) {
            (Step::Key(key), b'{') => self.find_member(key, rest, depth),
            (Step::Index(index), b'[') if *index >= 0 => {
                let mut found = None;
                let mut place = 0;
                self.items(depth, |scanner| {
                    place += 1;
                    if place - 1 != *index {
                        return scanner.skip(depth + 1);
                    }
                    found = scanner.find(rest, depth + 1)?;
                    Some(())
                })?;
                Some(found)
            }
            (Step::Key(_) | Step::Index(0..), _) => self.skip(depth).map(|()| None),
            (Step::Index(_) | Step::End(_) | Step::Members | Step::Items | Step::All | Step::Deep, _) => None,
        }
    }

    /// Passes over an object and tells where the part lies that steps lead to from its first member of a name.
    fn find_member(&mut self, key: &str, steps: &[Step], depth: usize) -> Option<Option<Place>> {
        if depth > DEPTH_MAX {
            return None;
        }
        let (bytes, key) = (self.bytes, key.as_bytes());
        let (mut found, mut is_known) = (None, false);
        let mut at = behind_space(bytes, self.at + 1);
        if *bytes.get(at)? == b'}' {
            self.at = at + 1;
            return Some(None);
        }
        loop {
            let (name, value) = key_at(bytes, at)?;
            // The first of several members of a name is meant.
            if !is_known && is_name(name, key) {
                is_known = true;
                self.at = value;
                found = self.find(steps, depth + 1)?;
            } else {
                self.at = behind_member(bytes, value, depth + 1)?;
            }
            at = behind_space(bytes, self.at);
            match *bytes.get(at)? {
                b',' => at = behind_space(bytes, at + 1),
                b'}' => {
                    self.at = at + 1;
                    return Some(found);
                }
                _ => return None,
            }
        }
    }

    /// Passes over a value.
    pub(super) fn skip(&mut self, depth: usize) -> Option<()> {
        let (end, is_plain) = passed_over(self.bytes, self.at, depth)?;
        self.at = end;
        self.is_plain &= is_plain;
        Some(())
    }

    /// The name of the next member of an object, in front of whose value this stands then; within, `None` behind the last one. The first
    /// one is that of the object that begins here.
    pub(super) fn next_member(&mut self, depth: usize, is_first: bool) -> Option<Option<&'a [u8]>> {
        if is_first {
            self.at += 1;
            if depth > DEPTH_MAX {
                return None;
            }
            if self.eat(b'}') {
                return Some(None);
            }
        } else if self.is_end(b'}')? {
            return Some(None);
        }
        let (name, value) = key_at(self.bytes, self.at)?;
        self.at = behind_space(self.bytes, value);
        Some(Some(name))
    }

    /// Passes over a whole number of at most 18 digits that is written as it would be.
    pub(super) fn integer(&mut self) -> Option<i64> {
        let bytes = self.bytes.get(self.at..)?;
        let is_negative = bytes.first() == Some(&b'-');
        let digits = &bytes[usize::from(is_negative)..];
        let (mut number, mut count) = (0, 0);
        while let Some(digit) =
            digits.get(count).map(|byte| byte.wrapping_sub(b'0')).filter(|digit| *digit < 10)
        {
            if count == 18 {
                return None;
            }
            number = number * 10 + i64::from(digit);
            count += 1;
        }
        let has_zero = digits.first() == Some(&b'0') && (is_negative || count > 1);
        if count == 0 || has_zero || matches!(digits.get(count), Some(b'.' | b'e' | b'E')) {
            return None;
        }
        self.at += count + usize::from(is_negative);
        Some(if is_negative { -number } else { number })
    }

    /// An object; `member` passes over the value of a name.
    pub(super) fn members(
        &mut self,
        depth: usize,
        mut member: impl FnMut(&mut Self, &'a [u8]) -> Option<()>,
    ) -> Option<()> {
        self.at += 1;
        if depth > DEPTH_MAX {
            return None;
        }
        while !self.eat(b'}') {
            if self.peek()? != b'"' {
                return None;
            }
            let (bytes, from, was_plain) =
                (self.bytes, self.at + 1, std::mem::replace(&mut self.is_plain, true));
            self.string()?;
            if !self.is_plain {
                return None;
            }
            self.is_plain = was_plain;
            let name = &bytes[from..self.at - 1];
            if !self.eat(b':') {
                return None;
            }
            member(self, name)?;
            if self.is_end(b'}')? {
                break;
            }
        }
        Some(())
    }

    /// An array; `item` passes over an item.
    pub(super) fn items(
        &mut self,
        depth: usize,
        mut item: impl FnMut(&mut Self) -> Option<()>,
    ) -> Option<()> {
        self.at += 1;
        if depth > DEPTH_MAX {
            return None;
        }
        while !self.eat(b']') {
            item(self)?;
            if self.is_end(b']')? {
                break;
            }
        }
        Some(())
    }

    /// Passes over a comma, or the end. A comma before the end is not written again, so that nothing is said of it.
    fn is_end(&mut self, end: u8) -> Option<bool> {
        if self.eat(b',') {
            self.space();
            return (self.peek() != Some(end)).then_some(false);
        }
        self.eat(end).then_some(true)
    }

    /// A text. One with escapes is not plain.
    fn string(&mut self) -> Option<()> {
        let (end, is_plain) = text_end(self.bytes, self.at)?;
        self.at = end;
        self.is_plain &= is_plain;
        Some(())
    }
}

/// Where a member's value ends: most are texts and numbers.
#[inline(always)]
fn behind_member(bytes: &[u8], at: usize, depth: usize) -> Option<usize> {
    let at = behind_space(bytes, at);
    let first = *bytes.get(at)?;
    let (end, _) = if first == b'"' {
        text_end(bytes, at)?
    } else if matches!(first, b'-' | b'0'..=b'9') {
        number_end(bytes, at)?
    } else {
        passed_over(bytes, at, depth)?
    };
    Some(end)
}

/// Where the value that begins at `at`, or behind spaces, ends, and whether it is plain. What lies in it is told apart without
/// recursion: the lowest bit of `open` says whether an object is open or an array, those above whether the ones around it are.
fn passed_over(bytes: &[u8], at: usize, depth: usize) -> Option<(usize, bool)> {
    passed_over_with(bytes, at, depth, |_, _, _| {})
}

/// The same; `scalar` gets where each value lies that is neither an array nor an object, and whether it is plain.
#[inline(always)]
fn passed_over_with(
    bytes: &[u8],
    mut at: usize,
    depth: usize,
    mut scalar: impl FnMut(usize, usize, bool),
) -> Option<(usize, bool)> {
    let (mut open, mut levels, mut is_plain) = (0u128, 0, true);
    loop {
        at = behind_space(bytes, at);
        match *bytes.get(at)? {
            b'"' => {
                let (end, is_plain_text) = text_end(bytes, at)?;
                scalar(at, end, is_plain_text);
                at = end;
                is_plain &= is_plain_text;
            }
            byte @ (b'{' | b'[') => {
                if depth + levels > DEPTH_MAX {
                    return None;
                }
                let is_object = byte == b'{';
                at = behind_space(bytes, at + 1);
                if *bytes.get(at)? == byte + 2 {
                    at += 1;
                } else {
                    levels += 1;
                    open = open << 1 | u128::from(is_object);
                    if is_object {
                        at = behind_key(bytes, at)?;
                    }
                    continue;
                }
            }
            b'-' | b'0'..=b'9' => {
                let (end, is_plain_number) = number_end(bytes, at)?;
                scalar(at, end, is_plain_number);
                at = end;
                is_plain &= is_plain_number;
            }
            b't' | b'f' | b'n' => {
                let end = word_end(bytes, at)?;
                scalar(at, end, true);
                at = end;
            }
            _ => return None,
        }
        loop {
            if levels == 0 {
                return Some((at, is_plain));
            }
            let is_object = open & 1 == 1;
            let end = if is_object { b'}' } else { b']' };
            at = behind_space(bytes, at);
            let byte = *bytes.get(at)?;
            at += 1;
            if byte == b',' {
                at = behind_space(bytes, at);
                // A comma before the end is not written again, so that nothing is said of it.
                if *bytes.get(at)? == end {
                    return None;
                }
                if is_object {
                    at = behind_key(bytes, at)?;
                }
                break;
            }
            if byte != end {
                return None;
            }
            levels -= 1;
            open >>= 1;
        }
    }
}

#[inline(always)]
pub(super) fn behind_space(bytes: &[u8], mut at: usize) -> usize {
    while let Some(&byte) = bytes.get(at)
        && byte <= b' '
        && is_space(byte)
    {
        at += 1;
    }
    at
}

/// The key whose quote is at `at`, and where its value begins, or the space before it. Keys are plain.
#[inline]
fn key_at(bytes: &[u8], at: usize) -> Option<(&[u8], usize)> {
    if *bytes.get(at)? != b'"' {
        return None;
    }
    let (end, is_plain) = text_end(bytes, at)?;
    let colon = behind_space(bytes, end);
    (is_plain && *bytes.get(colon)? == b':').then_some((&bytes[at + 1..end - 1], colon + 1))
}

fn behind_key(bytes: &[u8], at: usize) -> Option<usize> {
    key_at(bytes, at).map(|(_, value)| value)
}

/// Where the word that begins at `at` ends.
#[inline]
fn word_end(bytes: &[u8], at: usize) -> Option<usize> {
    let rest = bytes.get(at..)?;
    let four = rest.first_chunk::<4>()?;
    if four == b"true" || four == b"null" {
        return Some(at + 4);
    }
    rest.starts_with(b"false").then_some(at + 5)
}

/// Where the text, number or word that begins at `at` ends, and whether it is plain.
#[inline(always)]
pub(super) fn scalar_end(bytes: &[u8], at: usize) -> Option<(usize, bool)> {
    let first = *bytes.get(at)?;
    if first == b'"' {
        text_end(bytes, at)
    } else if first == b'-' || first.is_ascii_digit() {
        number_end(bytes, at)
    } else {
        word_end(bytes, at).map(|end| (end, true))
    }
}

/// Where the texts, numbers and words of a document lie; `None`: it is not passed over, or has more than `most`.
pub(super) fn scalars_of(document: &[u8], most: usize) -> Option<Vec<(usize, usize)>> {
    let mut scalars = Vec::new();
    let (end, _) = passed_over_with(document, 0, 0, |from, to, _| {
        if scalars.len() <= most {
            scalars.push((from, to));
        }
    })?;
    (behind_space(document, end) == document.len() && scalars.len() <= most).then_some(scalars)
}

/// Where the number that begins at `at` ends, and whether it is written as it would be: whole numbers of 64 bits are, but -0.
#[inline]
fn number_end(bytes: &[u8], from: usize) -> Option<(usize, bool)> {
    let digits_end = |from: usize| {
        let end = from + digit_prefix(bytes.get(from..)?);
        (end > from).then_some(end)
    };
    let is_negative = bytes[from] == b'-';
    let first = from + usize::from(is_negative);
    let mut at = digits_end(first)?;
    let count = at - first;
    let has_zero = bytes[first] == b'0';
    if count > 1 && has_zero {
        return None;
    }
    let mut is_plain = count <= 18 && !(is_negative && has_zero);
    if let Some(b'.' | b'e' | b'E') = bytes.get(at) {
        is_plain = false;
        if bytes[at] == b'.' {
            at = digits_end(at + 1)?;
        }
        if matches!(bytes.get(at), Some(b'e' | b'E')) {
            at += 1;
            at += usize::from(matches!(bytes.get(at), Some(b'+' | b'-')));
            at = digits_end(at)?;
        }
    }
    Some((at, is_plain))
}

/// How many of the first bytes are digits, eight at a time.
#[inline(always)]
fn digit_prefix(bytes: &[u8]) -> usize {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let mut at = 0;
    while let Some(chunk) = bytes.get(at..).and_then(|rest| rest.first_chunk::<8>()) {
        // Digits become 0 to 9; the highest bit of others is set, or gets set when 118 is added. No sum leaves the byte of a digit, and
        // those above the first other byte do not matter.
        let word = u64::from_le_bytes(*chunk) ^ (ONES * u64::from(b'0'));
        let others = (word | word.wrapping_add(ONES * (128 - 10))) & (ONES << 7);
        if others != 0 {
            return at + others.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    at + bytes[at..].iter().take_while(|byte| byte.is_ascii_digit()).count()
}

/// Where the text whose quote is at `at` ends, and whether it has no escapes.
#[inline]
fn text_end(bytes: &[u8], at: usize) -> Option<(usize, bool)> {
    let (mut at, mut is_plain) = (at + 1, true);
    loop {
        at += plain_prefix(bytes.get(at..)?);
        match *bytes.get(at)? {
            b'"' => return Some((at + 1, is_plain)),
            b'\\' => {
                is_plain = false;
                let escaped = *bytes.get(at + 1)?;
                if !matches!(escaped, b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') {
                    return None;
                }
                at += 2;
            }
            byte if byte < b' ' => return None,
            _ => at += 1,
        }
    }
}

/// Whether a name is the one that is meant: short ones are compared without a call.
#[inline(always)]
pub(super) fn is_name(name: &[u8], meant: &[u8]) -> bool {
    if name.len() != meant.len() || name.len() > 16 {
        return name == meant;
    }
    let word = |bytes: &[u8; 8]| u64::from_le_bytes(*bytes);
    let ends = |bytes: &[u8]| Some((word(bytes.first_chunk()?), word(bytes.last_chunk()?)));
    if let (Some(ends), Some(meant_ends)) = (ends(name), ends(meant)) {
        return ends == meant_ends;
    }
    name.iter().zip(meant).fold(0, |differs, (a, b)| differs | (a ^ b)) == 0
}

/// How many of the first bytes are neither quotes, escapes nor control characters, eight at a time: the others are looked at one by
/// one.
#[inline]
pub fn plain_prefix(bytes: &[u8]) -> usize {
    const LOW: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x8080_8080_8080_8080;
    // A byte of `word` that is 0 has its highest bit in the result, and no byte before it has.
    let zeros = |word: u64| word.wrapping_sub(LOW) & !word & HIGH;
    let mut at = 0;
    while let Some(chunk) = bytes.get(at..).and_then(|rest| rest.first_chunk::<8>()) {
        let word = u64::from_le_bytes(*chunk);
        let quotes = zeros(word ^ (LOW * u64::from(b'"')));
        let escapes = zeros(word ^ (LOW * u64::from(b'\\')));
        let controls = word.wrapping_sub(LOW * 32) & !word & HIGH;
        let special = quotes | escapes | controls;
        if special != 0 {
            return at + special.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    at
}

#[cfg(test)]
mod tests;

//! Parts of documents without trees: a document is passed over once, and the place of the wanted part kept.
//!
//! The whole document is checked while it is passed over, since one that is malformed is an error wherever the fault is. Whatever
//! is rare (escaped keys, `\u`, `NaN`, deep nesting, paths with `*`) and whatever is wrong is left to [`super::value::Json`]: then
//! nothing is found out, which [`Scanned::Unknown`] says.

use super::value::{Path, Step};

/// Deepest nesting that is passed over.
const DEPTH_MAX: usize = 100;

/// What passing over a document found.
#[derive(Debug, PartialEq)]
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
        let mut scanner = Scanner { bytes: self.text.as_bytes(), at: 0, is_plain: true };
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
        let mut rest = self.text.as_bytes();
        // In texts spaces stay: what lies between two quotes is copied as it is.
        while let Some(quote) = rest.iter().position(|byte| *byte == b'"') {
            push_without_spaces(&rest[..quote], out);
            let length = rest[quote + 1..].iter().position(|byte| *byte == b'"').map_or(0, |end| end + 1);
            out.extend_from_slice(&rest[quote..=quote + length]);
            rest = &rest[quote + length + 1..];
        }
        push_without_spaces(rest, out);
        true
    }
}

fn push_without_spaces(text: &[u8], out: &mut Vec<u8>) {
    out.extend(text.iter().filter(|byte| !is_space(**byte)));
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
}

/// Whether a text is a document; `None`: it has to be read to know.
pub fn is_document(text: &str) -> Option<bool> {
    match part(text, &[]) {
        Scanned::Part(_) => Some(true),
        Scanned::Nothing | Scanned::Unknown => None,
    }
}

/// The part of a document that a path leads to; the whole document by none.
pub fn part_at<'a>(text: &'a str, path: Option<&Path>) -> Scanned<'a> {
    match path {
        Some(path) if path.is_many() || path.is_pointer() => Scanned::Unknown,
        Some(path) => part(text, path.steps()),
        None => part(text, &[]),
    }
}

fn part<'a>(text: &'a str, steps: &[Step]) -> Scanned<'a> {
    let mut scanner = Scanner { bytes: text.as_bytes(), at: 0, is_plain: true };
    let Some(found) = scanner.find(steps, 0) else { return Scanned::Unknown };
    scanner.space();
    if scanner.at != text.len() {
        return Scanned::Unknown;
    }
    match found {
        Some((from, to, is_plain)) => Scanned::Part(Raw { text: &text[from..to], is_plain }),
        None => Scanned::Nothing,
    }
}

/// Where a part lies, and whether it is plain.
type Place = (usize, usize, bool);

struct Scanner<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Whether what was passed over is written as it would be.
    is_plain: bool,
}

impl Scanner<'_> {
    #[inline(always)]
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    #[inline(always)]
    fn space(&mut self) {
        while self.peek().is_some_and(is_space) {
            self.at += 1;
        }
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
            return Some(Some((from, self.at, is_plain)));
        };
        match (step, self.peek()?) {
            (Step::Key(key), b'{') => {
                let mut found = None;
                let mut is_known = false;
                self.members(depth, |scanner, name| {
                    // The first of several members of a name is meant.
                    if is_known || name != key.as_bytes() {
                        return scanner.skip(depth + 1);
                    }
                    is_known = true;
                    found = scanner.find(rest, depth + 1)?;
                    Some(())
                })?;
                Some(found)
            }
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

    /// Passes over a value.
    fn skip(&mut self, depth: usize) -> Option<()> {
        self.space();
        match self.peek()? {
            b'"' => self.string(),
            b'{' => self.members(depth, |scanner, _| scanner.skip(depth + 1)),
            b'[' => self.items(depth, |scanner| scanner.skip(depth + 1)),
            b'-' | b'0'..=b'9' => self.number(),
            b't' => self.word(b"true"),
            b'f' => self.word(b"false"),
            b'n' => self.word(b"null"),
            _ => None,
        }
    }

    fn word(&mut self, word: &[u8]) -> Option<()> {
        let found = self.bytes[self.at..].starts_with(word);
        self.at += word.len();
        found.then_some(())
    }

    /// An object; `member` passes over the value of a name.
    fn members(
        &mut self,
        depth: usize,
        mut member: impl FnMut(&mut Self, &[u8]) -> Option<()>,
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
    fn items(&mut self, depth: usize, mut item: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
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

    fn number(&mut self) -> Option<()> {
        let from = self.at;
        self.at += usize::from(self.peek() == Some(b'-'));
        let first = self.at;
        self.digits()?;
        let count = self.at - first;
        if count > 1 && self.bytes[first] == b'0' {
            return None;
        }
        let is_whole = !matches!(self.peek(), Some(b'.' | b'e' | b'E'));
        // Whole numbers of 64 bits are written as they are, but -0.
        self.is_plain &= is_whole && count <= 18 && &self.bytes[from..self.at] != b"-0";
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            self.at += usize::from(matches!(self.peek(), Some(b'+' | b'-')));
            self.digits()?;
        }
        Some(())
    }

    fn digits(&mut self) -> Option<()> {
        let from = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        (self.at > from).then_some(())
    }

    /// A text. One with escapes is not plain.
    fn string(&mut self) -> Option<()> {
        self.at += 1;
        loop {
            self.at += plain_prefix(&self.bytes[self.at..]);
            match self.peek()? {
                b'"' => {
                    self.at += 1;
                    return Some(());
                }
                b'\\' => {
                    self.is_plain = false;
                    matches!(
                        self.bytes.get(self.at + 1)?,
                        b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't'
                    )
                    .then_some(())?;
                    self.at += 2;
                }
                byte if byte < b' ' => return None,
                _ => self.at += 1,
            }
        }
    }
}

/// How many of the first bytes are neither quotes, escapes nor control characters, eight at a time: the others are looked at one by
/// one.
#[inline]
fn plain_prefix(bytes: &[u8]) -> usize {
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
mod tests {
    use super::super::value::Json;
    use super::*;

    fn written(json: &Json<'_>) -> String {
        let mut out = String::new();
        json.write(&mut out);
        out
    }

    /// What trees say of the part: its text, or that there is none, or that the document is malformed.
    fn by_tree(text: &str, path: &Path) -> Option<Option<String>> {
        let document = Json::parse(text).ok()?;
        Some(path.find(&document).first().map(|part| written(part)))
    }

    const PATHS: &[&str] =
        &["$", "$.a", "$.b.c", "a", "$.l[1]", "$.l[0].x", "$[2]", "$.\"a b\"", "$.é", "$.a[-1]", "$.a[#-1]"];

    fn check(text: &str) {
        for path in PATHS {
            let path = Path::parse(path).unwrap();
            let expected = by_tree(text, &path);
            match part_at(text, Some(&path)) {
                Scanned::Unknown => {}
                Scanned::Nothing => assert_eq!(expected, Some(None), "{text} {path:?}"),
                Scanned::Part(raw) => {
                    let tree = Json::parse(raw.text).unwrap();
                    assert_eq!(expected, Some(Some(written(&tree))), "{text} {path:?}");
                    let mut out = Vec::new();
                    if raw.write(&mut out) {
                        assert_eq!(String::from_utf8(out).unwrap(), written(&tree), "{text} {path:?}");
                    }
                    let items = if let Json::Array(items) = &tree { items.len() } else { 0 };
                    assert!(raw.item_count().is_none_or(|count| count == items), "{text}");
                    if let Some(plain) = raw.plain_text() {
                        assert_eq!(tree, Json::Text(plain.into()), "{text}");
                    }
                }
            }
        }
        if let Some(is_document) = is_document(text) {
            assert_eq!(is_document, Json::parse(text).is_ok(), "{text}");
        }
    }

    #[test]
    fn parts_are_those_of_trees() {
        let documents = [
            r#"{"a": 1, "b": {"c": "t1"}, "l": [1, {"x": [2, 3]}]}"#,
            r#" { "a" : -0 , "a" : 2 , "b" : { "c" : "with \"quotes\" and \\ " } } "#,
            r#"{"a b": 1.50, "é": "ü", "l": [{"x": 1e5}, 12345678901234567890, null, true, false]}"#,
            r#"{"a": [1, 2, 3,], "l": []}"#,
            r#"{"a": "\u0041", "b": NaN}"#,
            r#"[1, "two", {"a": {}}, [[]], -5]"#,
            r#"{"a": 01}"#,
            r#"{"a": 1} x"#,
            r#"{"a" 1}"#,
            r#"{a: 1}"#,
            "{\"a\": \"tab\there\"}",
            r#""a text of more than eight bytes, with a quote \" in it""#,
            "",
            "tru",
            r#"{"a": 5, "b": "unended"#,
        ];
        for text in documents {
            check(text);
            // Every damage that one byte can do, and every cut.
            for at in 0..text.len() {
                if let Some(cut) = text.get(..at) {
                    check(cut);
                }
                for byte in *b"\"\\{}[],:0 a\n-.e" {
                    let mut damaged = text.as_bytes().to_vec();
                    damaged[at] = byte;
                    if let Ok(damaged) = String::from_utf8(damaged) {
                        check(&damaged);
                    }
                }
            }
        }
        check(&"[".repeat(1000));
        check(&format!("{}{}", "[".repeat(300), "]".repeat(300)));
    }

    #[test]
    fn most_documents_need_no_tree() {
        let text = r#"{"a": 1, "b": {"c": "t1"}, "l": [1, 2.5, null]}"#;
        let part = |path: &str| part_at(text, Some(&Path::parse(path).unwrap()));
        assert_eq!(part("$.b.c"), Scanned::Part(Raw { text: "\"t1\"", is_plain: true }));
        assert_eq!(part("$.l"), Scanned::Part(Raw { text: "[1, 2.5, null]", is_plain: false }));
        assert_eq!(part("$.x"), Scanned::Nothing);
    }
}

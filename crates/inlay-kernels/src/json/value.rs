//! JSON documents as trees: reading, writing, and paths into them.

use super::members::join_members;
use super::number::is_exact;
use super::scan::plain_prefix;
use inlay_types::append::push_short;
use inlay_types::digits::{write_integer, write_padded};
use inlay_types::limits::{self, Meter};
use inlay_types::{Error, Result};
use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::Write;

/// Deepest nesting that is read.
const DEPTH_MAX: usize = 500;

/// A document or a part of one.
#[derive(Clone, Debug, PartialEq)]
pub enum Json<'a> {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A whole number from 0 on.
    Unsigned(u64),
    /// A whole number below 0.
    Negative(i64),
    /// Any other number.
    Real(f64),
    /// A number with more digits than a double tells apart, as it is written.
    Digits(&'a str),
    /// A text without its quotes.
    Text(Cow<'a, str>),
    /// An array.
    Array(Vec<Json<'a>>),
    /// An object, its members in their order.
    Object(Vec<(Cow<'a, str>, Json<'a>)>),
}

impl<'a> Json<'a> {
    /// Reads a document.
    pub fn parse(text: &'a str) -> Result<Self> {
        match Self::parse_once(text) {
            // Trees of other rows may be gone.
            Err(Error::OutOfMemory { .. }) if limits::forget() => Self::parse_once(text),
            parsed => parsed,
        }
    }

    fn parse_once(text: &'a str) -> Result<Self> {
        let mut reader = Reader { text, at: 0, meter: Meter::of_rows(), refused: None };
        let read = reader.value(0).and_then(|value| {
            reader.space();
            if reader.at == text.len() { Ok(value) } else { Err("something follows the document") }
        });
        if let Some(refused) = reader.refused {
            return Err(refused);
        }
        // The tree lives as long as the step that it is read for.
        limits::keep(reader.meter.finish());
        read.map_err(|reason| {
            let shown: String = text.chars().take(60).collect();
            Error::invalid_argument(format!("malformed JSON at byte {}: {reason}, in '{shown}'", reader.at))
        })
    }

    /// As `json_type` names it.
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::Null => "NULL",
            Self::Bool(_) => "BOOLEAN",
            Self::Unsigned(_) => "UBIGINT",
            Self::Negative(_) => "BIGINT",
            Self::Real(_) | Self::Digits(_) => "DOUBLE",
            Self::Text(_) => "VARCHAR",
            Self::Array(_) => "ARRAY",
            Self::Object(_) => "OBJECT",
        }
    }

    /// The document without spaces.
    pub fn write(&self, out: &mut String) {
        match self {
            Self::Null => out.push_str("null"),
            Self::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
            Self::Unsigned(value) => write_padded(out, *value, 1),
            Self::Negative(value) => write_integer(out, *value),
            Self::Real(value) => write_real(*value, out),
            Self::Digits(digits) => out.push_str(digits),
            Self::Text(text) => quote(text, out),
            Self::Array(items) => {
                out.push('[');
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    item.write(out);
                }
                out.push(']');
            }
            Self::Object(members) => {
                out.push('{');
                for (index, (key, value)) in members.iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    quote(key, out);
                    out.push(':');
                    value.write(out);
                }
                out.push('}');
            }
        }
    }

    /// The document with a line for each part, each level four spaces to the right.
    pub fn write_pretty(&self, level: usize, out: &mut String) {
        let line = |out: &mut String, level: usize| {
            out.push('\n');
            out.extend(std::iter::repeat_n("    ", level));
        };
        match self {
            Self::Array(items) if !items.is_empty() => {
                out.push('[');
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    line(out, level + 1);
                    item.write_pretty(level + 1, out);
                }
                line(out, level);
                out.push(']');
            }
            Self::Object(members) if !members.is_empty() => {
                out.push('{');
                for (index, (key, value)) in members.iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    line(out, level + 1);
                    quote(key, out);
                    out.push_str(": ");
                    value.write_pretty(level + 1, out);
                }
                line(out, level);
                out.push('}');
            }
            other => other.write(out),
        }
    }

    /// Whether `part` is like this document or a part of it: an array whose items are like some of its items, an object whose
    /// members are like those of the same names, or the same value. `fuel` bounds the comparisons; where it is used up the
    /// answer means nothing.
    pub fn contains(&self, part: &Json<'_>, fuel: &mut u32) -> bool {
        self.is_like(part, fuel)
            || match self {
                Self::Array(items) => items.iter().any(|item| item.contains(part, fuel)),
                Self::Object(members) => members.iter().any(|(_, value)| value.contains(part, fuel)),
                _ => false,
            }
    }

    /// Whether this document has all that `part` has, at the same places, as PostgreSQL's `@>` has it: an array at the top has single
    /// values, too. `fuel` is how many parts are compared at most.
    pub fn contains_from_top(&self, part: &Json<'_>, fuel: &mut u32) -> bool {
        match (self, part) {
            (Self::Array(_), Json::Array(_) | Json::Object(_)) => self.is_like(part, fuel),
            (Self::Array(items), part) => items.iter().any(|item| item == part),
            _ => self.is_like(part, fuel),
        }
    }

    fn is_like(&self, part: &Json<'_>, fuel: &mut u32) -> bool {
        *fuel = fuel.saturating_sub(1);
        if *fuel == 0 {
            return false;
        }
        match (self, part) {
            (Self::Array(items), Json::Array(wanted)) => {
                wanted.iter().all(|wanted| items.iter().any(|item| item.is_like(wanted, fuel)))
            }
            (Self::Object(members), Json::Object(wanted)) => {
                // Only names that are looked for are worth a place: objects with many members are asked for a few.
                let mut named: HashMap<&str, Vec<&Json<'_>>> =
                    wanted.iter().map(|(key, _)| (&**key, Vec::new())).collect();
                for (name, value) in members {
                    named.get_mut(&**name).into_iter().for_each(|values| values.push(value));
                }
                let known = |key: &str| named.get(key).map_or(&[][..], Vec::as_slice);
                wanted.iter().all(|(key, part)| known(key).iter().any(|value| value.is_like(part, fuel)))
            }
            (own, part) => own == part,
        }
    }

    /// The document with what `patch` says (RFC 7396).
    pub fn merged(self, patch: Json<'a>) -> Json<'a> {
        let Json::Object(changes) = patch else { return patch };
        let members = if let Json::Object(members) = self { members } else { Vec::new() };
        Json::Object(join_members(members, changes, |own, change| match change {
            Json::Null => None,
            change => Some(own.unwrap_or(Json::Null).merged(change)),
        }))
    }
}

/// A number as JavaScript writes it, and with a fraction.
pub fn write_real(value: f64, out: &mut String) {
    if value.is_nan() {
        out.push_str("NaN");
    } else if value.is_infinite() {
        out.push_str(if value > 0.0 { "Infinity" } else { "-Infinity" });
    } else if value != 0.0 && !(1e-6..1e21).contains(&value.abs()) {
        let _ = write!(out, "{value:e}");
    } else {
        let _ = write!(out, "{value}");
        if value.fract() == 0.0 {
            out.push_str(".0");
        }
    }
}

/// A text as a JSON string.
pub fn quote(text: &str, out: &mut String) {
    out.push('"');
    if !has_special(text.as_bytes()) {
        out.push_str(text);
        out.push('"');
        return;
    }
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            c if c < ' ' => {
                let _ = write!(out, "\\u{:04X}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

/// Whether a text has something to be escaped.
fn has_special(text: &[u8]) -> bool {
    const ONES: u64 = u64::MAX / 0xFF;
    // The highest bit of a byte, if any byte is zero, or below the second number: of the first that is.
    let below = |word: u64, end: u64| word.wrapping_sub(ONES * end) & !word & (ONES << 7);
    let is_special = |word: u64| {
        let (quote, escape) = (word ^ (ONES * u64::from(b'"')), word ^ (ONES * u64::from(b'\\')));
        (below(word, 0x20) | below(quote, 1) | below(escape, 1)) != 0
    };
    let Some(last) = text.last_chunk::<8>() else {
        let spaces = ONES * u64::from(b' ');
        return is_special(text.iter().fold(spaces, |word, byte| word << 8 | u64::from(*byte)));
    };
    // The last eight may have been looked at.
    let mut words = text.as_chunks::<8>().0.iter().chain([last]);
    words.any(|word| is_special(u64::from_le_bytes(*word)))
}

/// A text as a JSON string; most have nothing to be escaped.
pub fn quote_bytes(text: &[u8], out: &mut Vec<u8>) {
    if has_special(text) {
        let mut quoted = String::new();
        quote(&String::from_utf8_lossy(text), &mut quoted);
        return out.extend_from_slice(quoted.as_bytes());
    }
    out.push(b'"');
    push_short(out, text);
    out.push(b'"');
}

/// The members of a document that is an object, each value as it is written. None of any other.
pub fn raw_members(text: &str) -> Result<Vec<(Cow<'_, str>, &str)>> {
    let mut reader = Reader { text, at: 0, meter: Meter::of_rows(), refused: None };
    let members = reader.raw_members();
    reader.refused.map_or(Ok(members), Err)
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    /// Counts the values read, each of which takes more than its text may, and what is made of them as much again.
    meter: Meter,
    /// Why reading ended that is not the text's fault.
    refused: Option<Error>,
}

type Read<T> = std::result::Result<T, &'static str>;

impl<'a> Reader<'a> {
    fn raw_members(&mut self) -> Vec<(Cow<'a, str>, &'a str)> {
        let mut members = Vec::new();
        if !self.eat(b'{') {
            return members;
        }
        while !self.eat(b'}') {
            self.space();
            let Ok(key) = self.string() else { return members };
            if !self.eat(b':') {
                return members;
            }
            self.space();
            let start = self.at;
            if self.value(0).is_err() {
                return members;
            }
            members.push((key, &self.text[start..self.at]));
            self.eat(b',');
        }
        members
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn space(&mut self) {
        while self.peek().is_some_and(|b| b" \t\r\n".contains(&b)) {
            self.at += 1;
        }
    }

    fn eat(&mut self, byte: u8) -> bool {
        self.space();
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn value(&mut self, depth: usize) -> Read<Json<'a>> {
        self.space();
        if depth > DEPTH_MAX {
            return Err("it is nested too deeply");
        }
        if let Err(refused) = self.meter.add(4 * size_of::<Json<'_>>()) {
            self.refused = Some(refused);
            return Err("it was not read to its end");
        }
        match self.peek() {
            None => Err("the text ends too early"),
            Some(b'"') => self.string().map(Json::Text),
            Some(b'[') => self.array(depth),
            Some(b'{') => self.object(depth),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(_) => self.word(),
        }
    }

    fn word(&mut self) -> Read<Json<'a>> {
        for (word, value) in [("null", Json::Null), ("true", Json::Bool(true)), ("false", Json::Bool(false))]
        {
            if self.text[self.at..].starts_with(word) {
                self.at += word.len();
                return Ok(value);
            }
        }
        self.not_finite(1.0).ok_or("a value cannot begin like this")
    }

    /// `NaN`, `Inf` and `Infinity` in any case, which DuckDB reads and writes as numbers.
    fn not_finite(&mut self, sign: f64) -> Option<Json<'a>> {
        let rest = &self.text.as_bytes()[self.at..];
        let words = [("infinity", f64::INFINITY), ("inf", f64::INFINITY), ("nan", f64::NAN)];
        let begins =
            |word: &str| rest.get(..word.len()).is_some_and(|b| b.eq_ignore_ascii_case(word.as_bytes()));
        let (word, value) = words.into_iter().find(|(word, _)| begins(word))?;
        self.at += word.len();
        Some(Json::Real(value * sign))
    }

    fn array(&mut self, depth: usize) -> Read<Json<'a>> {
        self.at += 1;
        let mut items = Vec::new();
        while !self.eat(b']') {
            items.push(self.value(depth + 1)?);
            if !self.eat(b',') {
                if self.eat(b']') {
                    break;
                }
                return Err("a comma or ] is missing");
            }
        }
        Ok(Json::Array(items))
    }

    fn object(&mut self, depth: usize) -> Read<Json<'a>> {
        self.at += 1;
        let mut members = Vec::new();
        while !self.eat(b'}') {
            self.space();
            if self.peek() != Some(b'"') {
                return Err("a key in quotes is missing");
            }
            let key = self.string()?;
            if !self.eat(b':') {
                return Err("a colon is missing");
            }
            let value = self.value(depth + 1)?;
            // Members are larger than values, which were counted.
            if let Err(refused) = self.meter.add(2 * size_of::<Json<'_>>()) {
                self.refused = Some(refused);
                return Err("it was not read to its end");
            }
            members.push((key, value));
            if !self.eat(b',') {
                if self.eat(b'}') {
                    break;
                }
                return Err("a comma or } is missing");
            }
        }
        Ok(Json::Object(members))
    }

    fn number(&mut self) -> Read<Json<'a>> {
        let start = self.at;
        self.at += usize::from(self.peek() == Some(b'-'));
        let digits = self.at;
        if self.at > start
            && self.peek().is_some_and(|b| b.is_ascii_alphabetic())
            && let Some(value) = self.not_finite(-1.0)
        {
            return Ok(value);
        }
        self.digits()?;
        if self.text.as_bytes()[digits] == b'0' && self.at > digits + 1 {
            return Err("a number begins with 0");
        }
        let mut is_whole = true;
        if self.peek() == Some(b'.') {
            is_whole = false;
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            is_whole = false;
            self.at += 1;
            self.at += usize::from(matches!(self.peek(), Some(b'+' | b'-')));
            self.digits()?;
        }
        let text = &self.text[start..self.at];
        if is_whole {
            if let Ok(value) = text.parse() {
                return Ok(Json::Unsigned(value));
            }
            if let Ok(value) = text.parse() {
                return Ok(Json::Negative(value));
            }
        }
        let value: f64 = text.parse().map_err(|_| "a number is malformed")?;
        Ok(if is_exact(text, value) { Json::Real(value) } else { Json::Digits(text) })
    }

    fn digits(&mut self) -> Read<()> {
        let start = self.at;
        while self.peek().is_some_and(|b| b.is_ascii_digit()) {
            self.at += 1;
        }
        if self.at > start { Ok(()) } else { Err("a digit is missing") }
    }

    fn string(&mut self) -> Read<Cow<'a, str>> {
        self.at += 1;
        let start = self.at;
        let mut made: Option<String> = None;
        let mut copied = start;
        loop {
            // Behind an escape at the end of the text there is nothing.
            self.at += self.text.as_bytes().get(self.at..).map_or(0, plain_prefix);
            match self.peek() {
                None => return Err("a text has no quote at its end"),
                Some(b'"') => break,
                Some(b'\\') => {
                    let made = made.get_or_insert_default();
                    made.push_str(&self.text[copied..self.at]);
                    self.at += 1;
                    let c = self.escape()?;
                    made.push(c);
                    copied = self.at;
                }
                Some(byte) if byte < b' ' => return Err("a control character stands in a text"),
                Some(_) => self.at += 1,
            }
        }
        let rest = &self.text[copied..self.at];
        self.at += 1;
        Ok(match made {
            None => Cow::Borrowed(rest),
            Some(mut made) => {
                made.push_str(rest);
                Cow::Owned(made)
            }
        })
    }

    fn escape(&mut self) -> Read<char> {
        let byte = self.peek().ok_or("the text ends behind \\")?;
        self.at += 1;
        Ok(match byte {
            b'"' | b'\\' | b'/' => char::from(byte),
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                let high = self.unit()?;
                let code = if (0xD800..0xDC00).contains(&high) {
                    if !self.text[self.at..].starts_with("\\u") {
                        return Err("half of a surrogate pair is missing");
                    }
                    self.at += 2;
                    let low = self.unit()?;
                    if !(0xDC00..0xE000).contains(&low) {
                        return Err("half of a surrogate pair is missing");
                    }
                    0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00)
                } else {
                    high
                };
                char::from_u32(code).ok_or("half of a surrogate pair is missing")?
            }
            _ => return Err("an escape is unknown"),
        })
    }

    fn unit(&mut self) -> Read<u32> {
        let digits = self.text.get(self.at..self.at + 4).filter(|d| d.bytes().all(|b| b.is_ascii_hexdigit()));
        let unit = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
        self.at += 4;
        unit.ok_or("\\u needs four hexadecimal digits")
    }
}

/// A step of a path.
#[derive(Debug, PartialEq)]
pub enum Step {
    /// A member by its key.
    Key(String),
    /// From the end, if negative.
    Index(i64),
    /// As many items before the end: `[#-1]` is the last one, `[#]` behind it.
    End(i64),
    /// All members of an object: `.*`.
    Members,
    /// All items of an array: `[*]`.
    Items,
    /// Both, behind `..`.
    All,
    /// This part and all parts of it.
    Deep,
}

/// A path: `$.a[0].*`, `/a/0`, or one key.
#[derive(Debug, PartialEq)]
pub struct Path {
    steps: Vec<Step>,
    /// Whether parts of an array are named by number in keys, as in `/a/0`.
    is_pointer: bool,
}

impl Path {
    /// The path of an array's item.
    pub fn index(index: i64) -> Self {
        Self { steps: vec![Step::Index(index)], is_pointer: false }
    }

    /// Its steps from the whole document on.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Whether keys may be numbers of items.
    pub fn is_pointer(&self) -> bool {
        self.is_pointer
    }

    /// Whether it may lead to several parts.
    pub fn is_many(&self) -> bool {
        self.steps.iter().any(|step| matches!(step, Step::Members | Step::Items | Step::All | Step::Deep))
    }

    /// The path that a text describes.
    pub fn parse(text: &str) -> Result<Self> {
        limits::need(2 * text.len())?;
        if let Some(pointer) = text.strip_prefix('/') {
            let keys = pointer.split('/').map(|key| Step::Key(key.replace("~1", "/").replace("~0", "~")));
            return Ok(Self { steps: keys.collect(), is_pointer: true });
        }
        let Some(mut rest) = text.strip_prefix('$') else {
            let steps = if text.is_empty() { Vec::new() } else { vec![Step::Key(text.to_string())] };
            return Ok(Self { steps, is_pointer: false });
        };
        let mut steps = Vec::new();
        let wrong = || {
            Error::invalid_argument(format!("'{text}' is no JSON path"))
                .with_hint("it looks like $.key[0], $.* or /key/0")
        };
        while let Some(first) = rest.chars().next() {
            rest = &rest[first.len_utf8()..];
            match first {
                '.' if rest.starts_with('.') => {
                    steps.push(Step::Deep);
                    rest = if rest[1..].starts_with(['[', '*']) || rest.len() > 1 {
                        rest
                    } else {
                        return Err(wrong());
                    };
                    if rest[1..].starts_with('[') {
                        rest = &rest[1..];
                    }
                }
                '.' if rest.starts_with('*') => {
                    steps.push(if steps.last() == Some(&Step::Deep) { Step::All } else { Step::Members });
                    rest = &rest[1..];
                }
                '.' if rest.starts_with('"') => {
                    let (key, behind) = quoted_key(rest).ok_or_else(wrong)?;
                    steps.push(Step::Key(key));
                    rest = behind;
                }
                '.' => {
                    let end = rest.find(['.', '[']).unwrap_or(rest.len());
                    if end == 0 {
                        return Err(wrong());
                    }
                    steps.push(Step::Key(rest[..end].to_string()));
                    rest = &rest[end..];
                }
                '[' if rest.trim_start().starts_with(['"', '\'']) => {
                    let (key, behind) = quoted_key(rest.trim_start()).ok_or_else(wrong)?;
                    steps.push(Step::Key(key));
                    rest = behind.trim_start().strip_prefix(']').ok_or_else(wrong)?;
                }
                '[' => {
                    let end = rest.find(']').ok_or_else(wrong)?;
                    let inner = rest[..end].trim();
                    rest = &rest[end + 1..];
                    steps.push(match inner {
                        "*" => Step::Items,
                        number => {
                            let read = |number: &str| match number.starts_with('+') {
                                true => Err(wrong()),
                                false => number.parse::<i64>().map_err(|_| wrong()),
                            };
                            match number.strip_prefix('#') {
                                None => Step::Index(read(number)?),
                                Some("") => Step::End(0),
                                // Only items in front of the end can be there.
                                Some(back) if back.starts_with('-') => {
                                    Step::End(read(back)?.saturating_neg())
                                }
                                Some(_) => return Err(wrong()),
                            }
                        }
                    });
                }
                _ => return Err(wrong()),
            }
        }
        Ok(Self { steps, is_pointer: false })
    }

    /// All parts that the path leads to, in the document's order.
    pub fn find<'j, 'a>(&self, document: &'j Json<'a>) -> Vec<&'j Json<'a>> {
        let mut found = vec![document];
        for step in &self.steps {
            let mut next = Vec::new();
            for part in found {
                self.step(step, part, &mut next);
            }
            found = next;
        }
        found
    }

    fn step<'j, 'a>(&self, step: &Step, part: &'j Json<'a>, next: &mut Vec<&'j Json<'a>>) {
        match (step, part) {
            (Step::Key(key), Json::Object(members)) => {
                next.extend(members.iter().find(|(name, _)| name == key).map(|(_, value)| value));
            }
            (Step::Key(key), Json::Array(items)) if self.is_pointer => {
                next.extend(key.parse::<usize>().ok().and_then(|index| items.get(index)));
            }
            (Step::Index(index), Json::Array(items)) => {
                let index = if *index < 0 { index.saturating_add(items.len() as i64) } else { *index };
                next.extend(usize::try_from(index).ok().and_then(|index| items.get(index)));
            }
            (Step::End(back), Json::Array(items)) => {
                let index = usize::try_from((items.len() as i64).saturating_sub(*back));
                next.extend(index.ok().and_then(|index| items.get(index)));
            }
            (Step::All | Step::Items, Json::Array(items)) => next.extend(items),
            (Step::All | Step::Members, Json::Object(members)) => {
                next.extend(members.iter().map(|(_, value)| value))
            }
            (Step::Deep, part) => {
                next.push(part);
                match part {
                    Json::Array(items) => items.iter().for_each(|item| self.step(step, item, next)),
                    Json::Object(members) => {
                        members.iter().for_each(|(_, value)| self.step(step, value, next));
                    }
                    _ => {}
                }
            }
            _ => {}
        }
    }
}

/// A key in quotes, in which a backslash stands before quotes and backslashes, and what follows.
fn quoted_key(text: &str) -> Option<(String, &str)> {
    let mut chars = text.char_indices();
    let (_, quote) = chars.next()?;
    let mut key = String::new();
    while let Some((at, c)) = chars.next() {
        match c {
            c if c == quote => return Some((key, &text[at + c.len_utf8()..])),
            '\\' => match chars.next()? {
                (_, escaped) if escaped == quote || escaped == '\\' => key.push(escaped),
                (_, other) => key.extend(['\\', other]),
            },
            c => key.push(c),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(text: &str) -> String {
        Json::parse(text).map_or_else(
            |error| error.to_string(),
            |json| {
                let mut out = String::new();
                json.write(&mut out);
                out
            },
        )
    }

    #[test]
    fn documents_are_read_and_written() {
        let cases = [
            ("{ \"a\" : [ 1 , -2, 1.50, 1e3 ] }", "{\"a\":[1,-2,1.5,1000.0]}"),
            ("\"\\u00fc\\ud83d\\ude00\\n\"", "\"ü😀\\n\""),
            ("[1,]", "[1]"),
            ("[]", "[]"),
            (" null ", "null"),
        ];
        for (text, expected) in cases {
            assert_eq!(written(text), expected, "{text}");
        }
        for text in ["", "{a:1}", "01", "[1", "\"\\u12\"", "1 2", "nul", "\"a", "\"a\\", "{\"a\"}", "-", "1."]
        {
            assert!(Json::parse(text).is_err(), "{text}");
        }
        assert!(Json::parse(&"[".repeat(100_000)).is_err());
    }

    #[test]
    fn paths_lead_to_parts() {
        let document = Json::parse("{\"a\":[{\"b\":1},{\"b\":2}],\"c.d\":3}").unwrap();
        let cases = [
            ("$.a[0].b", "1"),
            ("$.a[-1].b", "2"),
            ("$.a[#-2].b", "1"),
            ("/a/1/b", "2"),
            ("c.d", "3"),
            ("$.\"c.d\"", "3"),
            ("$['c.d']", "3"),
            ("$.a[*].b", "1 2"),
            ("$..b", "1 2"),
            ("$.x", ""),
            ("$.a[7]", ""),
        ];
        for (path, expected) in cases {
            let found = Path::parse(path).unwrap();
            let texts: Vec<String> = found
                .find(&document)
                .into_iter()
                .map(|json| {
                    let mut out = String::new();
                    json.write(&mut out);
                    out
                })
                .collect();
            assert_eq!(texts.join(" "), expected, "{path}");
        }
        for path in ["$.", "$x", "$[", "$[a]", "$.."] {
            assert!(Path::parse(path).is_err(), "{path}");
        }
    }
}

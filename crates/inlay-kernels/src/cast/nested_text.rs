//! Nested values from text: `[1, NULL]`, `{'a': 1}`, `{a=1}`, `(1, x)`, `{k=v}`; and whether text is JSON.
//!
//! A part is cut out up to the comma or bracket that ends it, quotes and brackets inside it skipped, and converted on
//! its own, so one reader serves all types. Depth is bounded by that of the type.

use super::{cast_value, cast_value_in_zone};
use crate::zone::Zone;
use inlay_types::error::kept_text;
use inlay_types::logical_type::Field;
use inlay_types::nested::write::push_value;
use inlay_types::{Error, LogicalType, Result, Value, limits};
use std::collections::HashSet;

fn wrong(text: &str, to: &LogicalType) -> Error {
    Error::InvalidCast { value: kept_text(text), to: to.to_string() }
}

/// The value of a nested type that `text` writes.
pub(super) fn parse(text: &str, to: &LogicalType) -> Result<Value> {
    Reading { or_null: false, zone: None }.parse(text, to)
}

/// The same with NULL for each part that cannot be converted, as in DuckDB.
pub(super) fn parse_or_null(text: &str, to: &LogicalType) -> Result<Value> {
    Reading { or_null: true, zone: None }.parse(text, to)
}

/// The same with moments that say no offset in a time zone.
pub(super) fn parse_in_zone(text: &str, to: &LogicalType, or_null: bool, zone: &Zone) -> Result<Value> {
    Reading { or_null, zone: Some(zone) }.parse(text, to)
}

/// Looks, now and then, whether the statement goes on: a text may have millions of parts.
fn go_on(parts: usize) -> Result<()> {
    if parts & 0xfff == 0xfff { limits::check() } else { Ok(()) }
}

/// How parts are read.
#[derive(Clone, Copy)]
struct Reading<'z> {
    /// Parts that cannot be converted are NULL.
    or_null: bool,
    /// Moments without an offset are of this zone.
    zone: Option<&'z Zone>,
}

impl Reading<'_> {
    /// A text as a value that is not nested.
    fn value(self, text: String, to: &LogicalType) -> Result<Value> {
        let text = Value::Varchar(text);
        self.zone.map_or_else(|| cast_value(&text, to), |zone| cast_value_in_zone(&text, to, zone))
    }

    fn parse(self, text: &str, to: &LogicalType) -> Result<Value> {
        let error = || wrong(text, to);
        let body = |open: char, close: char| text.trim().strip_prefix(open)?.strip_suffix(close);
        match to {
            LogicalType::List(element) if text.trim_start().starts_with('{') => {
                let values = self.array_of_postgres(text, element).ok_or_else(error)??;
                Ok(Value::List { element: element.clone(), values })
            }
            LogicalType::Array(element, size) if text.trim_start().starts_with('{') => {
                let values = self.array_of_postgres(text, element).ok_or_else(error)??;
                if values.len() != *size as usize {
                    return Err(error());
                }
                Ok(Value::Array { element: element.clone(), values })
            }
            LogicalType::List(element) => {
                let parts = split(body('[', ']').ok_or_else(error)?, b",").ok_or_else(error)?;
                let item = |(index, part): (usize, &&str)| {
                    go_on(index)?;
                    self.item(part, element)
                };
                let values = parts.iter().enumerate().map(item).collect::<Result<_>>()?;
                Ok(Value::List { element: element.clone(), values })
            }
            LogicalType::Array(element, size) => {
                let parts = split(body('[', ']').ok_or_else(error)?, b",").ok_or_else(error)?;
                if parts.len() != *size as usize {
                    return Err(error());
                }
                let values = parts.iter().map(|part| self.item(part, element)).collect::<Result<_>>()?;
                Ok(Value::Array { element: element.clone(), values })
            }
            LogicalType::Struct(fields) => self.structure(text, fields, to),
            LogicalType::Map(types) => {
                let (mut entries, mut known) = (Vec::new(), HashSet::new());
                for (key, value) in pairs(body('{', '}').ok_or_else(error)?, b"=:").ok_or_else(error)? {
                    let key = Self { or_null: false, ..self }.item(key, &types.0)?;
                    if key.is_null() {
                        return Err(error());
                    }
                    let mut bytes = Vec::new();
                    push_value(&types.0, &key, &mut bytes)?;
                    if !known.insert(bytes) {
                        return Err(error());
                    }
                    entries.push((key, self.item(value, &types.1)?));
                    go_on(entries.len())?;
                }
                Ok(Value::Map { types: types.clone(), entries })
            }
            LogicalType::Union(members) => {
                let fits = members
                    .iter()
                    .enumerate()
                    .filter(|(_, member)| !super::implied::is_rounded(text.as_bytes(), &member.ty))
                    .find_map(|(at, member)| Some((at, self.value(text.to_string(), &member.ty).ok()?)));
                let (at, value) = fits.ok_or_else(error)?;
                Ok(Value::Union { members: members.clone(), tag: at as u8, value: Box::new(value) })
            }
            _ => Err(error()),
        }
    }

    /// The elements of `{a,"b c",NULL,{..}}`, as PostgreSQL writes arrays: only `"` quotes there, and a backslash protects what is
    /// behind it. `None` for what is no such text.
    fn array_of_postgres(self, text: &str, element: &LogicalType) -> Option<Result<Vec<Value>>> {
        let mut rest = text.trim().strip_prefix('{')?.strip_suffix('}')?.trim();
        let mut values = Vec::new();
        while !rest.is_empty() {
            let (item, is_quoted, behind) = array_item(rest)?;
            let value = match () {
                () if !is_quoted && item.eq_ignore_ascii_case("null") => Ok(Value::Null),
                // Not as a CAST reads it.
                () if *element == LogicalType::Blob => super::bytea(&item).map(Value::Blob),
                () if element.is_nested() => self.parse(&item, element),
                () => self.value(item, element),
            };
            values.push(match value {
                Err(error) if self.or_null && !error.is_of_statement() => Value::Null,
                Err(error) => return Some(Err(error)),
                Ok(value) => value,
            });
            if let Err(error) = go_on(values.len()) {
                return Some(Err(error));
            }
            rest = match behind.strip_prefix(',') {
                // There is an element behind a comma.
                Some(behind) if behind.trim().is_empty() => return None,
                Some(behind) => behind.trim_start(),
                None if behind.is_empty() => behind,
                None => return None,
            };
        }
        Some(Ok(values))
    }

    fn structure(self, text: &str, fields: &std::sync::Arc<[Field]>, to: &LogicalType) -> Result<Value> {
        let error = || wrong(text, to);
        let body = |open: char, close: char| text.trim().strip_prefix(open)?.strip_suffix(close);
        let mut values = vec![Value::Null; fields.len()];
        if let Some(body) = body('(', ')') {
            let body = if fields.len() == 1 { body.strip_suffix(',').unwrap_or(body) } else { body };
            let parts = split(body, b",").ok_or_else(error)?;
            if parts.len() != fields.len() && !(self.or_null && parts.len() < fields.len()) {
                return Err(error());
            }
            for ((value, part), field) in values.iter_mut().zip(parts).zip(fields.iter()) {
                *value = self.item(part, &field.ty)?;
            }
            return Ok(Value::Struct { fields: fields.clone(), values });
        }
        for (name, value) in pairs(body('{', '}').ok_or_else(error)?, b":=").ok_or_else(error)? {
            let name = unquoted(name);
            let at = fields.iter().position(|f| f.name.eq_ignore_ascii_case(&name)).ok_or_else(error)?;
            values[at] = self.item(value, &fields[at].ty)?;
        }
        Ok(Value::Struct { fields: fields.clone(), values })
    }

    /// One part as a value: NULL, quoted or plain.
    fn item(self, text: &str, to: &LogicalType) -> Result<Value> {
        let text = text.trim();
        if text.eq_ignore_ascii_case("null") {
            return Ok(Value::Null);
        }
        // The text of a member that is no list may be in quotes, as it would be without the union.
        let is_quoted_member = matches!(to, LogicalType::Union(_)) && text.starts_with(['\'', '"']);
        let found = match to.is_nested() {
            true if is_quoted_member => self.parse(&unquoted(text), to),
            true => self.parse(text, to),
            false => self.value(unquoted(text), to),
        };
        match found {
            Err(error) if self.or_null && !error.is_of_statement() => Ok(Value::Null),
            found => found,
        }
    }
}

/// The first element of the inside of an array as PostgreSQL writes it, whether it is in quotes, and what is behind it.
fn array_item(text: &str) -> Option<(String, bool, &str)> {
    let (mut item, mut depth, mut in_quotes, mut is_quoted) = (String::new(), 0usize, false, false);
    let mut characters = text.char_indices();
    while let Some((at, c)) = characters.next() {
        let is_inside = depth > 0;
        match c {
            '\\' => {
                // In an array inside of this one it is still to be read.
                item.extend(is_inside.then_some(c));
                item.push(characters.next()?.1);
            }
            // A text in quotes is an element as a whole.
            '"' if !is_inside && !in_quotes && (is_quoted || !item.is_empty()) => return None,
            '"' => {
                in_quotes = !in_quotes;
                is_quoted |= !is_inside;
                item.extend(is_inside.then_some(c));
            }
            ',' if !in_quotes && !is_inside => {
                let item = if is_quoted { item } else { item.trim_end().to_string() };
                return (is_quoted || !item.is_empty()).then_some((item, is_quoted, &text[at..]));
            }
            _ if is_quoted && !in_quotes && !is_inside => {
                if !c.is_whitespace() {
                    return None;
                }
            }
            _ => {
                depth += usize::from(c == '{' && !in_quotes);
                depth = depth.checked_sub(usize::from(c == '}' && !in_quotes))?;
                item.push(c);
            }
        }
    }
    let item = if is_quoted { item } else { item.trim_end().to_string() };
    (!in_quotes && depth == 0 && (is_quoted || !item.is_empty())).then_some((item, is_quoted, ""))
}

/// The text without the quotes around it, if there are any, and without the backslashes that protect characters: any in quotes,
/// quotes elsewhere. What is in brackets stays as it is written.
fn unquoted(text: &str) -> String {
    let text = text.trim();
    let inner = ['\'', '"'].iter().find_map(|&quote| {
        (text.len() >= 2).then(|| text.strip_prefix(quote)?.strip_suffix(quote)).flatten()
    });
    if inner.is_none() && text.starts_with(['[', '{', '(']) {
        return text.to_string();
    }
    let mut out = String::with_capacity(text.len());
    let mut chars = inner.unwrap_or(text).chars().peekable();
    while let Some(c) = chars.next() {
        let protects = match chars.peek() {
            Some(next) => inner.is_some() || matches!(next, '\'' | '"'),
            None => inner.is_some(),
        };
        if c == '\\' && protects {
            out.extend(chars.next());
        } else {
            out.push(c);
        }
    }
    out
}

/// Positions of separators outside of quotes and brackets; `None` when those do not match.
fn separators(text: &str, separators: &[u8]) -> Option<Vec<usize>> {
    let (mut open, mut quote, mut escaped) = (Vec::new(), None, false);
    let mut found = Vec::new();
    for (at, &byte) in text.as_bytes().iter().enumerate() {
        if escaped {
            escaped = false;
            continue;
        }
        match (byte, quote) {
            (b'\\', Some(_)) => escaped = true,
            (b'\\', None) => escaped = matches!(text.as_bytes().get(at + 1), Some(b'\'' | b'"')),
            (_, Some(end)) => quote = if byte == end { None } else { quote },
            (b'\'' | b'"', None) => quote = Some(byte),
            (b'[', None) => open.push(b']'),
            (b'{', None) => open.push(b'}'),
            (b'(', None) => open.push(b')'),
            (b']' | b'}' | b')', None) if open.pop() != Some(byte) => return None,
            (b']' | b'}' | b')', None) => {}
            _ if open.is_empty() && separators.contains(&byte) => found.push(at),
            _ => {}
        }
    }
    (open.is_empty() && quote.is_none() && !escaped).then_some(found)
}

/// The parts between separators; none of a blank text.
fn split<'a>(text: &'a str, by: &[u8]) -> Option<Vec<&'a str>> {
    if text.trim().is_empty() {
        return Some(Vec::new());
    }
    let mut parts = Vec::new();
    let mut from = 0;
    for at in separators(text, by)? {
        parts.push(&text[from..at]);
        from = at + 1;
    }
    parts.push(&text[from..]);
    Some(parts)
}

/// Names and values between commas. A comma in front of the separator is part of the name: `{a,b: 1}`.
fn pairs<'a>(text: &'a str, by: &[u8]) -> Option<Vec<(&'a str, &'a str)>> {
    if text.trim().is_empty() {
        return Some(Vec::new());
    }
    let (mut found, mut from, mut middle) = (Vec::new(), 0, None);
    for at in separators(text, &[b",", by].concat())?.into_iter().chain([text.len()]) {
        match text.as_bytes().get(at) {
            Some(byte) if *byte != b',' => middle = middle.or(Some(at)),
            end => match middle.take() {
                Some(place) => {
                    found.push((&text[from..place], &text[place + 1..at]));
                    from = at + 1;
                }
                None if end.is_none() => return None,
                None => {}
            },
        }
    }
    Some(found)
}

/// An error with the place when `text` is not JSON. Reads without recursion, so depth costs no stack.
pub(super) fn check_json(text: &str) -> Result<()> {
    let mut reader = Json { bytes: text.as_bytes(), at: 0 };
    if reader.document().is_some() {
        return Ok(());
    }
    let message = format!("malformed JSON at byte {} of {}", reader.at.min(text.len()), text.len());
    Err(Error::invalid_argument(message))
}

struct Json<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Json<'_> {
    fn peek(&mut self) -> Option<u8> {
        while self.bytes.get(self.at).is_some_and(|b| matches!(b, b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
        self.bytes.get(self.at).copied()
    }

    fn take(&mut self, byte: u8) -> Option<()> {
        (self.peek()? == byte).then(|| self.at += 1)
    }

    fn document(&mut self) -> Option<()> {
        // Closing brackets still owed.
        let mut open: Vec<u8> = Vec::new();
        loop {
            let is_opened = match self.peek()? {
                b'[' | b'{' => {
                    open.push(self.bytes[self.at]);
                    self.at += 1;
                    true
                }
                _ => {
                    self.scalar()?;
                    false
                }
            };
            if is_opened {
                let is_object = open.last() == Some(&b'{');
                let close = if is_object { b'}' } else { b']' };
                if self.peek()? != close {
                    if is_object {
                        self.name()?;
                    }
                    continue;
                }
            }
            // A value ended, or a bracket closes: go up while brackets close.
            loop {
                let Some(&kind) = open.last() else {
                    return if self.peek().is_none() { Some(()) } else { None };
                };
                let close = if kind == b'{' { b'}' } else { b']' };
                match self.peek()? {
                    b if b == close => {
                        self.at += 1;
                        open.pop();
                    }
                    b',' => {
                        self.at += 1;
                        if kind == b'{' {
                            self.name()?;
                        }
                        break;
                    }
                    _ => return None,
                }
            }
        }
    }

    fn name(&mut self) -> Option<()> {
        self.peek()?;
        self.string()?;
        self.take(b':')
    }

    fn scalar(&mut self) -> Option<()> {
        match self.peek()? {
            b'"' => self.string(),
            b't' => self.word(b"true"),
            b'f' => self.word(b"false"),
            b'n' if self.bytes[self.at..].starts_with(b"null") => self.word(b"null"),
            _ => self.number(),
        }
    }

    fn word(&mut self, word: &[u8]) -> Option<()> {
        self.bytes[self.at..].starts_with(word).then(|| self.at += word.len())
    }

    fn string(&mut self) -> Option<()> {
        self.take(b'"')?;
        loop {
            let byte = *self.bytes.get(self.at)?;
            self.at += 1;
            match byte {
                b'"' => return Some(()),
                0..=0x1F => return None,
                b'\\' => {
                    let escape = *self.bytes.get(self.at)?;
                    self.at += 1;
                    if escape == b'u' {
                        let digits = self.bytes.get(self.at..self.at + 4)?;
                        digits.iter().all(u8::is_ascii_hexdigit).then_some(())?;
                        self.at += 4;
                    } else if !b"\"\\/bfnrt".contains(&escape) {
                        return None;
                    }
                }
                _ => {}
            }
        }
    }

    fn digits(&mut self) -> Option<usize> {
        let from = self.at;
        while self.bytes.get(self.at).is_some_and(u8::is_ascii_digit) {
            self.at += 1;
        }
        (self.at > from).then_some(self.at - from)
    }

    fn number(&mut self) -> Option<()> {
        if self.bytes.get(self.at) == Some(&b'-') {
            self.at += 1;
        }
        // As DuckDB: NaN and infinity are numbers.
        for word in [&b"infinity"[..], b"inf", b"nan"] {
            let found = self.bytes.get(self.at..self.at + word.len());
            if found.is_some_and(|found| found.eq_ignore_ascii_case(word)) {
                self.at += word.len();
                return Some(());
            }
        }
        let leading_zero = self.bytes.get(self.at) == Some(&b'0');
        let count = self.digits()?;
        if leading_zero && count > 1 {
            return None;
        }
        if self.bytes.get(self.at) == Some(&b'.') {
            self.at += 1;
            self.digits()?;
        }
        if self.bytes.get(self.at).is_some_and(|b| matches!(b, b'e' | b'E')) {
            self.at += 1;
            if self.bytes.get(self.at).is_some_and(|b| matches!(b, b'+' | b'-')) {
                self.at += 1;
            }
            self.digits()?;
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_told_from_what_is_not() {
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        for good in [
            "1",
            "-0.5e+3",
            "null",
            "[]",
            "{}",
            r#"{"a": [1, {"b": "\u00e9\n"}], "c": true}"#,
            &deep,
            " [1 ] ",
        ] {
            assert!(check_json(good).is_ok(), "{good}");
        }
        for bad in
            ["", "01", "1.", "[1,]", "{a: 1}", "[1", "]", r#"{"a"}"#, "1 2", "\"\\x\"", "nul", "{\"a\":1,}"]
        {
            assert!(check_json(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn nested_text_is_read_as_it_is_shown() {
        let ints = LogicalType::list(LogicalType::Integer);
        let structure = LogicalType::structure([("a", ints.clone()), ("b", LogicalType::Varchar)]);
        let map = LogicalType::map(LogicalType::Varchar, LogicalType::Integer);
        let cases = [
            (&ints, "[1, NULL, 3]"),
            (&ints, "[]"),
            (&structure, r"{'a': [1, 2], 'b': 'it\'s'}"),
            (&structure, "{'a': NULL, 'b': x y}"),
            (&map, "{a=1, 'b c,'=NULL}"),
        ];
        for (ty, text) in cases {
            assert_eq!(parse(text, ty).unwrap().to_string(), text);
        }
        assert_eq!(parse("{a=[1],b=2}", &structure).unwrap().to_string(), "{'a': [1], 'b': 2}");
        for bad in ["[1", "1]", "[1,,2]", "[x]", "[1]]"] {
            assert!(parse(bad, &ints).is_err(), "{bad}");
        }
    }
}

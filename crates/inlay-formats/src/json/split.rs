//! Where the documents of a file begin and end, found without reading what is in them.

use crate::input::Input;
use inlay_kernels::json::scan::plain_prefix;
use inlay_types::{Error, Reservation, Result, limits};
use std::ops::Range;

/// How documents stand in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    /// An array's elements if the file begins with one, else one after the other.
    Auto,
    /// One per line.
    Lines,
    /// The elements of one array.
    Array,
    /// One after the other.
    Unstructured,
}

/// Bytes that are read at once, at least.
const READ_SIZE: usize = 1 << 20;
/// Documents of a chunk, at most.
const DOCUMENTS_MAX: usize = 16 * inlay_types::VECTOR_SIZE;

/// Whole documents, with the text around them.
#[derive(Debug, Default)]
pub(super) struct Chunk {
    text: String,
    documents: Vec<Range<usize>>,
    /// The line at which the text begins, from 1.
    line: u64,
}

impl Chunk {
    pub fn len(&self) -> usize {
        self.documents.len()
    }

    pub fn size(&self) -> usize {
        self.text.len()
    }

    pub fn document(&self, index: usize) -> &str {
        &self.text[self.documents[index].clone()]
    }

    /// An error about a document.
    pub fn error(&self, index: usize, path: &str, error: &Error, fix: &str) -> Error {
        if matches!(error.root(), Error::OutOfMemory { .. } | Error::Interrupted) {
            return error.root().clone();
        }
        let before = &self.text.as_bytes()[..self.documents[index].start];
        let line = self.line + before.iter().filter(|byte| **byte == b'\n').count() as u64;
        Error::MalformedFile {
            path: path.to_string(),
            line: Some(line),
            message: format!("{}{fix}", error.root()),
        }
    }
}

/// What stands at a place of the text.
enum Found {
    Document(Range<usize>),
    /// More bytes are needed to tell.
    Cut,
    End,
}

/// What comes next in the file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Start,
    Documents,
    Elements,
    Behind,
}

/// A file, cut into chunks of whole documents.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Last {
    Bracket,
    Comma,
    Value,
}

pub(super) struct Splitter {
    input: Input,
    path: String,
    format: Format,
    bytes: Vec<u8>,
    /// Where the next document is looked for.
    at: usize,
    at_end: bool,
    place: Place,
    /// What was read last of an array.
    last: Last,
    line: u64,
    /// Whether documents that are none are passed over, for which they have to stand on lines of their own.
    is_tolerant: bool,
    /// Of a long document that is being read.
    held: Option<Reservation>,
}

impl Splitter {
    pub fn new(input: Input, path: &str, format: Format) -> Self {
        Self {
            input,
            path: path.to_string(),
            format,
            bytes: Vec::new(),
            at: 0,
            at_end: false,
            place: Place::Start,
            last: Last::Bracket,
            line: 1,
            is_tolerant: false,
            held: None,
        }
    }

    /// With `ignore_errors`, a file that is not said to be otherwise has a document per line if its first line is one: where
    /// a document that is none ends, nobody knows.
    pub fn tolerant(mut self, is_tolerant: bool) -> Self {
        self.is_tolerant = is_tolerant;
        self
    }

    /// Whether the line that begins here is a whole object; `None` if its end is not there yet.
    fn is_line_of_its_own(&self) -> Option<bool> {
        let rest = &self.bytes[self.at..];
        let line = match memchr::memchr(b'\n', rest) {
            Some(end) => &rest[..end],
            None if self.at_end => rest,
            None => return None,
        };
        let is_whole = end_of_value(line).is_some_and(|end| line[end..].iter().all(u8::is_ascii_whitespace));
        Some(is_whole && line.starts_with(b"{"))
    }

    /// The next documents; `None` behind the last one.
    pub fn next_chunk(&mut self) -> Result<Option<Chunk>> {
        let mut documents = Vec::new();
        loop {
            if self.place == Place::Start && !self.begin()? {
                return Ok(None);
            }
            match self.next_document()? {
                Found::Document(range) => {
                    self.at = range.end;
                    self.last = Last::Value;
                    documents.push(range);
                    if documents.len() == DOCUMENTS_MAX {
                        return self.taken(documents).map(Some);
                    }
                }
                Found::Cut if !documents.is_empty() => return self.taken(documents).map(Some),
                Found::Cut if self.at_end => return Err(self.malformed("a document does not end")),
                Found::Cut => self.more()?,
                Found::End if documents.is_empty() => return Ok(None),
                Found::End => return self.taken(documents).map(Some),
            }
        }
    }

    /// Takes the bytes up to the last document out.
    fn taken(&mut self, documents: Vec<Range<usize>>) -> Result<Chunk> {
        let rest = self.bytes.split_off(self.at);
        let taken = std::mem::replace(&mut self.bytes, rest);
        self.held = None;
        self.at = 0;
        let line = self.line;
        self.line += count_lines(&taken);
        let text = String::from_utf8(taken).map_err(|error| {
            let at = error.utf8_error().valid_up_to();
            let before = error.as_bytes()[..at].iter().filter(|byte| **byte == b'\n').count() as u64;
            Error::MalformedFile {
                path: self.path.clone(),
                line: Some(line + before),
                message: "the text is not UTF-8".to_string(),
            }
            .with_hint("convert the file before reading it")
        })?;
        Ok(Chunk { text, documents, line })
    }

    fn malformed(&self, what: &str) -> Error {
        let before = self.bytes[..self.at.min(self.bytes.len())].iter();
        Error::MalformedFile {
            path: self.path.clone(),
            line: Some(self.line + before.filter(|byte| **byte == b'\n').count() as u64),
            message: format!("malformed JSON: {what}"),
        }
    }

    /// Reads on; twice as much for each time that a document did not end.
    fn more(&mut self) -> Result<()> {
        let size = READ_SIZE.max(self.bytes.len());
        if self.bytes.len() > READ_SIZE {
            // Where it is, and where it moves to.
            self.held = None;
            self.held = limits::hold(self.bytes.capacity() + self.bytes.len() + size)?;
            limits::grow_counted(&mut self.bytes, size)?;
        }
        self.at_end = self.input.fill(size, &mut self.bytes)? == 0;
        Ok(())
    }

    /// Looks at how the file begins; whether there is something in it.
    fn begin(&mut self) -> Result<bool> {
        loop {
            if self.at == 0 && self.bytes.starts_with(&[0xef, 0xbb, 0xbf]) {
                self.at = 3;
            }
            self.pass_space();
            match self.bytes.get(self.at) {
                None if self.at_end => return Ok(false),
                None => self.more()?,
                Some(first) => {
                    let is_array = *first == b'[';
                    if self.format == Format::Array && !is_array {
                        return Err(self.malformed("format = 'array' wants a file that begins with ["));
                    }
                    if self.is_tolerant && self.format == Format::Auto && !is_array {
                        match self.is_line_of_its_own() {
                            Some(true) => self.format = Format::Lines,
                            Some(false) => {}
                            None => {
                                self.more()?;
                                continue;
                            }
                        }
                    }
                    self.place = Place::Documents;
                    if is_array && matches!(self.format, Format::Auto | Format::Array) {
                        self.place = Place::Elements;
                        self.at += 1;
                    }
                    return Ok(true);
                }
            }
        }
    }

    fn pass_space(&mut self) {
        while self.bytes.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
    }

    fn next_document(&mut self) -> Result<Found> {
        self.pass_space();
        match (self.place, self.bytes.get(self.at)) {
            (Place::Behind, None) | (Place::Documents, None) if self.at_end => return Ok(Found::End),
            (_, None) => return Ok(Found::Cut),
            (Place::Behind, Some(_)) => return Err(self.malformed("something follows the array")),
            (Place::Elements, Some(b']')) => {
                self.at += 1;
                self.place = Place::Behind;
                return self.next_document();
            }
            (Place::Elements, Some(b',')) => {
                if self.last != Last::Value && !self.is_tolerant {
                    return Err(self.malformed("a comma with no value in front of it"));
                }
                self.last = Last::Comma;
                self.at += 1;
                return self.next_document();
            }
            (Place::Elements, Some(_)) if self.last == Last::Value && !self.is_tolerant => {
                return Err(self.malformed("no comma stands between two values"));
            }
            _ => {}
        }
        if self.format == Format::Lines {
            return Ok(match memchr::memchr(b'\n', &self.bytes[self.at..]) {
                Some(length) => Found::Document(self.at..self.at + length),
                None if self.at_end => Found::Document(self.at..self.bytes.len()),
                None => Found::Cut,
            });
        }
        Ok(match end_of_value(&self.bytes[self.at..]) {
            Some(length) => Found::Document(self.at..self.at + length.max(1)),
            None if self.at_end && !matches!(self.bytes[self.at], b'{' | b'[' | b'"') => {
                Found::Document(self.at..self.bytes.len())
            }
            None => Found::Cut,
        })
    }
}

/// The length of the value that bytes begin with; `None` if they end before it does.
fn end_of_value(bytes: &[u8]) -> Option<usize> {
    match bytes.first()? {
        b'{' | b'[' => {
            let (mut at, mut depth) = (0, 0usize);
            loop {
                match bytes.get(at)? {
                    b'{' | b'[' => depth += 1,
                    b'}' | b']' => {
                        depth -= 1;
                        if depth == 0 {
                            return Some(at + 1);
                        }
                    }
                    b'"' => at += end_of_text(&bytes[at..])? - 1,
                    _ => {}
                }
                at += 1;
            }
        }
        b'"' => end_of_text(bytes),
        _ => bytes.iter().position(|byte| byte.is_ascii_whitespace() || b",]}{[".contains(byte)),
    }
}

/// The length of the text in quotes that bytes begin with. Most are too short for a search that is made for long ones.
fn end_of_text(bytes: &[u8]) -> Option<usize> {
    let mut at = 1;
    loop {
        at += plain_prefix(bytes.get(at..)?);
        let byte = *bytes.get(at)?;
        if byte == b'"' {
            return Some(at + 1);
        }
        at += if byte == b'\\' { 2 } else { 1 };
    }
}

/// Ends of lines in a text, counted in bytes for as long as they suffice.
fn count_lines(text: &[u8]) -> u64 {
    let count = |part: &[u8]| part.iter().fold(0u8, |count, byte| count + u8::from(*byte == b'\n'));
    text.chunks(usize::from(u8::MAX)).map(|part| u64::from(count(part))).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_end_where_they_should() {
        let end = |text: &str| end_of_value(text.as_bytes());
        assert_eq!(end(r#"{"a":"}\"{"} {"#), Some(12));
        assert_eq!(end("[1,[2]],"), Some(7));
        assert_eq!(end(r#""a\\" 1"#), Some(5));
        assert_eq!(end("12,"), Some(2));
        assert_eq!(end("12"), None);
        assert_eq!(end(r#"{"a":1"#), None);
        assert_eq!(end(r#""a\"#), None);
        assert_eq!(end("{\"a tab\tand more than eight bytes\": \"\\\\\"}x"), Some(41));
    }

    #[test]
    fn lines_are_counted() {
        for len in [0, 1, 254, 255, 256, 1000] {
            let text = vec![b'\n'; len];
            assert_eq!(count_lines(&text), len as u64);
            assert_eq!(count_lines(&vec![b'n'; len]), 0);
        }
    }
}

//! Bytes of COPY as records of fields, as they come: a record may come in many pieces, and a piece have many records.

use super::layout::{Header, Kind, Layout, SIGNATURE};
use inlay::{Error, Result};
use std::borrow::Cow;

/// A value.
#[derive(Debug, PartialEq)]
pub enum Field<'a> {
    Null,
    Text(Cow<'a, str>),
    Binary(&'a [u8]),
}

/// See the module documentation.
pub struct Records {
    layout: Layout,
    names: Vec<String>,
    /// What came and is no complete record.
    buffer: Vec<u8>,
    /// How much of it was gone through.
    scanned: usize,
    /// Whether that ended inside of quotes.
    in_quotes: bool,
    /// Records so far.
    line: u64,
    /// Whether the end was said.
    is_over: bool,
    /// Whether what stands in front of the rows is behind.
    is_begun: bool,
    record_max: usize,
}

impl Records {
    pub fn new(layout: &Layout, names: Vec<String>, record_max: usize) -> Self {
        Self {
            layout: layout.clone(),
            names,
            buffer: Vec::new(),
            scanned: 0,
            in_quotes: false,
            line: 0,
            is_over: false,
            is_begun: false,
            record_max,
        }
    }

    /// Takes bytes, and gives the records that are complete now to `each`, with their numbers.
    pub fn feed(
        &mut self,
        bytes: &[u8],
        is_last: bool,
        mut each: impl FnMut(&[Field<'_>], u64) -> Result<()>,
    ) -> Result<()> {
        self.buffer.extend_from_slice(bytes);
        let buffer = std::mem::take(&mut self.buffer);
        let mut rest = &buffer[..];
        while !self.is_over {
            let taken = match self.layout.kind {
                Kind::Binary => self.binary(rest, &mut each)?,
                Kind::Text | Kind::Csv => self.line(rest, is_last, &mut each)?,
            };
            match taken {
                Some(len) => rest = &rest[len..],
                None => break,
            }
        }
        if self.is_over {
            return Ok(());
        }
        if is_last && (self.layout.kind == Kind::Binary || !rest.is_empty()) {
            return Err(self.malformed(if self.in_quotes {
                "unterminated CSV quoted field"
            } else {
                "the rows end too early"
            }));
        }
        if rest.len() > self.record_max {
            return Err(self.malformed(&format!(
                "a record is longer than {} bytes, the most that is taken",
                self.record_max
            )));
        }
        self.buffer = rest.to_vec();
        Ok(())
    }

    fn malformed(&self, message: &str) -> Error {
        Error::MalformedFile {
            path: "COPY FROM STDIN".to_string(),
            line: Some(self.line + 1),
            message: message.to_string(),
        }
    }

    /// The record at the front of lines; how long it is with its line's end.
    fn line(
        &mut self,
        rest: &[u8],
        is_last: bool,
        each: &mut impl FnMut(&[Field<'_>], u64) -> Result<()>,
    ) -> Result<Option<usize>> {
        let end = match self.end_of_line(rest) {
            Some(end) => end,
            None if is_last && !rest.is_empty() && !self.in_quotes => rest.len(),
            None => return Ok(None),
        };
        self.scanned = 0;
        let record = &rest[..end];
        let record = record.strip_suffix(b"\r").unwrap_or(record);
        let len = (end + 1).min(rest.len());
        self.line += 1;
        if record == b"\\." {
            self.is_over = true;
            return Ok(Some(len));
        }
        let text = std::str::from_utf8(record).map_err(|_| self.malformed("it is not UTF-8"))?;
        let fields = if self.layout.kind == Kind::Csv { self.csv(text) } else { self.text(text)? };
        if !std::mem::replace(&mut self.is_begun, true) && self.layout.header != Header::No {
            self.check_header(&fields)?;
            return Ok(Some(len));
        }
        each(&fields, self.line)?;
        Ok(Some(len))
    }

    /// The place of the end of the line, going on where it was looked for before.
    fn end_of_line(&mut self, rest: &[u8]) -> Option<usize> {
        let Layout { kind, quote, escape, .. } = self.layout;
        let mut at = self.scanned;
        while let Some(byte) = rest.get(at) {
            match *byte {
                b'\n' if !self.in_quotes => return Some(at),
                // What is escaped ends nothing; where it has not come yet it is looked at again.
                b'\\' if kind == Kind::Text => {
                    if at + 1 == rest.len() {
                        break;
                    }
                    at += 1;
                }
                byte if kind == Kind::Csv && self.in_quotes && byte == escape && escape != quote => {
                    if at + 1 == rest.len() {
                        break;
                    }
                    at += 1;
                }
                byte if kind == Kind::Csv && byte == quote => self.in_quotes = !self.in_quotes,
                _ => {}
            }
            at += 1;
        }
        self.scanned = at.min(rest.len());
        None
    }

    fn check_header(&self, fields: &[Field<'_>]) -> Result<()> {
        let is_same =
            |(field, name): (&Field<'_>, &String)| matches!(field, Field::Text(text) if text == name);
        let matches = fields.len() == self.names.len() && fields.iter().zip(&self.names).all(is_same);
        if self.layout.header == Header::Match && !matches {
            return Err(
                self.malformed(&format!("the header is not that of the columns, {}", self.names.join(", ")))
            );
        }
        Ok(())
    }

    fn text<'a>(&self, record: &'a str) -> Result<Vec<Field<'a>>> {
        let (delimiter, mut fields, mut start, mut at) = (self.layout.delimiter, Vec::new(), 0, 0);
        let bytes = record.as_bytes();
        while at < bytes.len() {
            match bytes[at] {
                b'\\' => at += 2,
                byte if byte == delimiter => {
                    fields.push(self.text_field(&record[start..at])?);
                    at += 1;
                    start = at;
                }
                _ => at += 1,
            }
        }
        fields.push(self.text_field(&record[start..])?);
        Ok(fields)
    }

    fn text_field<'a>(&self, raw: &'a str) -> Result<Field<'a>> {
        if raw == self.layout.null {
            return Ok(Field::Null);
        }
        if !raw.contains('\\') {
            return Ok(Field::Text(raw.into()));
        }
        let (mut out, mut rest) = (Vec::with_capacity(raw.len()), raw.as_bytes());
        while let Some((first, behind)) = rest.split_first() {
            rest = behind;
            if *first != b'\\' {
                out.push(*first);
                continue;
            }
            let Some((escaped, behind)) = rest.split_first() else { break };
            rest = behind;
            let digits = |rest: &[u8], base: u32, most: usize| {
                rest.iter().take(most).take_while(|byte| (**byte as char).is_digit(base)).count()
            };
            let number = |digits: &[u8], base: u32| {
                digits
                    .iter()
                    .fold(0u32, |number, digit| number * base + (*digit as char).to_digit(base).unwrap_or(0))
                    as u8
            };
            out.push(match escaped {
                b'b' => 8,
                b'f' => 12,
                b'n' => b'\n',
                b'r' => b'\r',
                b't' => b'\t',
                b'v' => 11,
                b'0'..=b'7' => {
                    let more = digits(rest, 8, 2);
                    let value = (u32::from(escaped - b'0') << (3 * more)) as u8 | number(&rest[..more], 8);
                    rest = &rest[more..];
                    value
                }
                b'x' if digits(rest, 16, 2) > 0 => {
                    let more = digits(rest, 16, 2);
                    let value = number(&rest[..more], 16);
                    rest = &rest[more..];
                    value
                }
                other => *other,
            });
        }
        let text = String::from_utf8(out).map_err(|_| self.malformed("an escaped value is not UTF-8"))?;
        Ok(Field::Text(text.into()))
    }

    fn csv<'a>(&self, record: &'a str) -> Vec<Field<'a>> {
        let Layout { delimiter, quote, escape, .. } = self.layout;
        let (bytes, mut fields, mut at) = (record.as_bytes(), Vec::new(), 0);
        loop {
            let (start, mut quoted, mut was_quoted) = (at, None::<Vec<u8>>, false);
            let mut in_quotes = false;
            while let Some(&byte) = bytes.get(at) {
                if in_quotes
                    && byte == escape
                    && bytes.get(at + 1).is_some_and(|next| *next == quote || *next == escape)
                {
                    quoted.get_or_insert_default().push(bytes[at + 1]);
                    at += 2;
                    continue;
                }
                if byte == quote {
                    // What stood before the quote belongs to the value, too.
                    quoted.get_or_insert_with(|| bytes[start..at].to_vec());
                    (in_quotes, was_quoted) = (!in_quotes, true);
                } else if byte == delimiter && !in_quotes {
                    break;
                } else if let Some(quoted) = &mut quoted {
                    quoted.push(byte);
                }
                at += 1;
            }
            let raw = &record[start..at];
            fields.push(match quoted {
                // Signs are single bytes, so that what is between them is whole.
                Some(text) => Field::Text(String::from_utf8_lossy(&text).into_owned().into()),
                None if raw == self.layout.null && !was_quoted => Field::Null,
                None => Field::Text(raw.into()),
            });
            if at >= bytes.len() {
                return fields;
            }
            at += 1;
        }
    }

    /// The record at the front of binary rows; how long it is.
    fn binary(
        &mut self,
        rest: &[u8],
        each: &mut impl FnMut(&[Field<'_>], u64) -> Result<()>,
    ) -> Result<Option<usize>> {
        if !self.is_begun {
            // Signature and flags, and so many bytes that nobody has to know.
            let Some((head, _)) = rest.split_at_checked(SIGNATURE.len()) else { return Ok(None) };
            if head[..15] != SIGNATURE[..15] {
                return Err(self.malformed("the signature or the flags of binary rows are not those of COPY"));
            }
            let more = u32::from_be_bytes([head[15], head[16], head[17], head[18]]) as usize;
            let len = SIGNATURE.len() + more;
            if more > self.record_max {
                return Err(self.malformed("what stands in front of binary rows is too long"));
            }
            if rest.len() < len {
                return Ok(None);
            }
            self.is_begun = true;
            return Ok(Some(len));
        }
        let Some((count, _)) = rest.split_first_chunk::<2>() else { return Ok(None) };
        let count = i16::from_be_bytes(*count);
        if count == -1 {
            self.is_over = true;
            return Ok(Some(2));
        }
        let count = usize::try_from(count).map_err(|_| self.malformed("a row has less than no values"))?;
        let (mut fields, mut at) = (Vec::with_capacity(count.min(self.names.len())), 2);
        for _ in 0..count {
            let Some(len) = rest.get(at..).and_then(|rest| rest.first_chunk::<4>()) else { return Ok(None) };
            at += 4;
            let len = i32::from_be_bytes(*len);
            if len == -1 {
                fields.push(Field::Null);
                continue;
            }
            let len =
                usize::try_from(len).map_err(|_| self.malformed("a value has a length below nothing"))?;
            if len > self.record_max {
                return Err(self.malformed(&format!(
                    "a value is longer than {} bytes, the most that is taken",
                    self.record_max
                )));
            }
            let Some(bytes) = rest.get(at..at + len) else { return Ok(None) };
            fields.push(Field::Binary(bytes));
            at += len;
        }
        self.line += 1;
        each(&fields, self.line)?;
        Ok(Some(at))
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::scan::Words;
    use super::*;

    /// The records of bytes that come in pieces of a size.
    fn records(options: &str, bytes: &[u8], size: usize) -> Result<Vec<Vec<Option<String>>>> {
        let layout = Layout::read(&mut Words::new(options))?;
        let mut records = Records::new(&layout, vec!["a".to_string(), "b".to_string()], 100);
        let mut found = Vec::new();
        let mut each = |fields: &[Field<'_>], _| {
            let text = |field: &Field<'_>| match field {
                Field::Null => None,
                Field::Text(text) => Some(text.to_string()),
                Field::Binary(bytes) => Some(format!("{bytes:?}")),
            };
            found.push(fields.iter().map(text).collect());
            Ok(())
        };
        for piece in bytes.chunks(size.max(1)) {
            records.feed(piece, false, &mut each)?;
        }
        records.feed(b"", true, &mut each)?;
        Ok(found)
    }

    fn same_in_all_pieces(options: &str, bytes: &[u8]) -> Vec<Vec<Option<String>>> {
        let whole = records(options, bytes, bytes.len()).unwrap();
        for size in 1..bytes.len() {
            assert_eq!(records(options, bytes, size).unwrap(), whole, "pieces of {size}");
        }
        whole
    }

    fn some(text: &str) -> Option<String> {
        Some(text.to_string())
    }

    #[test]
    fn text_is_read_in_any_pieces() {
        let found =
            same_in_all_pieces("", b"1\t\\N\n\\\\N\ta\\tb\\\nc\r\n\\x41\\101\\q\t\xc3\xa9\n\\.\nleft");
        assert_eq!(
            found,
            [vec![some("1"), None], vec![some("\\N"), some("a\tb\nc")], vec![some("AAq"), some("é")]]
        );
        assert_eq!(same_in_all_pieces("", b"1\t2"), [vec![some("1"), some("2")]]);
        assert!(records("", &[b'x'; 200], 50).is_err());
        assert!(records("", b"\xff\t1\n", 9).is_err());
    }

    #[test]
    fn csv_is_read_in_any_pieces() {
        let found = same_in_all_pieces("CSV HEADER", b"a,b\n1,\n\"\",\"x\"\"\n,y\"\nz\"q\"z,\xc3\xa9\n");
        assert_eq!(
            found,
            [vec![some("1"), None], vec![some(""), some("x\"\n,y")], vec![some("zqz"), some("é")]]
        );
        let found = same_in_all_pieces("(FORMAT csv, ESCAPE '\\', NULL 'n')", b"\"a\\\"b\",n\n\"n\",\n");
        assert_eq!(found, [vec![some("a\"b"), None], vec![some("n"), some("")]]);
        assert!(records("CSV", b"\"a\n", 9).is_err());
        assert!(records("(FORMAT csv, HEADER match)", b"a,c\n", 9).is_err());
    }

    #[test]
    fn binary_is_read_in_any_pieces() {
        let mut bytes = SIGNATURE.to_vec();
        bytes.extend([0, 2, 0, 0, 0, 1, 7, 255, 255, 255, 255, 255, 255]);
        assert_eq!(same_in_all_pieces("BINARY", &bytes), [vec![some("[7]"), None]]);
        for len in 0..bytes.len() {
            assert!(records("BINARY", &bytes[..len], 7).is_err());
        }
        let mut bytes = SIGNATURE.to_vec();
        bytes.extend([0, 2, 0x7f, 255, 255, 255]);
        assert!(records("BINARY", &bytes, 9).is_err());
    }
}

//! Messages of PostgreSQL's protocol, version 3: what a client says, read with every length looked at, and what it is told.
//!
//! Written here and not by the crate pgwire: its decoders (0.42) panic at messages that are too short, and read past the end of one into the next
//! (docs/decisions/0033-server.md).

use inlay::{Error, Result};

/// The largest message before a client is known, and of those that carry no text.
pub const SMALL_MAX: usize = 10_000;

/// What a client says once it is known.
#[derive(Debug, PartialEq)]
pub enum Frontend<'a> {
    Query(&'a str),
    Parse {
        name: &'a str,
        sql: &'a str,
        types: Vec<u32>,
    },
    Bind(Bind<'a>),
    Describe(Target, &'a str),
    Execute {
        portal: &'a str,
        rows_max: u32,
    },
    Close(Target, &'a str),
    Flush,
    Sync,
    Terminate,
    CopyData(&'a [u8]),
    CopyDone,
    CopyFail(&'a str),
    /// An answer to a question for a password, where nobody asked.
    Password,
    /// A call of a function by its number, which clients gave up long ago.
    FunctionCall,
}

#[derive(Debug, PartialEq)]
pub struct Bind<'a> {
    pub portal: &'a str,
    pub statement: &'a str,
    pub formats: Vec<i16>,
    pub values: Vec<Option<&'a [u8]>>,
    pub result_formats: Vec<i16>,
}

/// What Describe and Close are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    Statement,
    Portal,
}

/// The largest message of a kind; `None` if there is no such kind.
pub fn size_max(kind: u8, large: usize) -> Option<usize> {
    match kind {
        b'Q' | b'P' | b'B' | b'd' => Some(large),
        b'D' | b'E' | b'C' | b'H' | b'S' | b'X' | b'c' | b'f' | b'p' => Some(SMALL_MAX),
        b'F' => Some(large),
        _ => None,
    }
}

/// A message that does not hold together, which ends the session: what comes behind it cannot be trusted.
pub fn broken(what: &str) -> Error {
    Error::invalid_argument(format!("protocol violation: {what}"))
}

/// The rest of a message.
pub struct Reader<'a>(pub &'a [u8]);

impl<'a> Reader<'a> {
    pub fn bytes(&mut self, len: usize) -> Result<&'a [u8]> {
        let (bytes, rest) = self.0.split_at_checked(len).ok_or_else(|| broken("a message ends too early"))?;
        self.0 = rest;
        Ok(bytes)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let (bytes, rest) = self.0.split_first_chunk().ok_or_else(|| broken("a message ends too early"))?;
        self.0 = rest;
        Ok(*bytes)
    }

    pub fn u8(&mut self) -> Result<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    pub fn u16(&mut self) -> Result<u16> {
        self.array().map(u16::from_be_bytes)
    }

    pub fn i32(&mut self) -> Result<i32> {
        self.array().map(i32::from_be_bytes)
    }

    /// A text up to a zero byte.
    pub fn text(&mut self) -> Result<&'a str> {
        let end = self.0.iter().position(|byte| *byte == 0).ok_or_else(|| broken("a text does not end"))?;
        let text = self.bytes(end)?;
        self.u8()?;
        std::str::from_utf8(text).map_err(|_| broken("a text is not UTF-8"))
    }

    /// As many of something as a number in front says, each of `size` bytes at least.
    fn several<T>(&mut self, size: usize, mut each: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        let count = usize::from(self.u16()?);
        if count * size > self.0.len() {
            return Err(broken("a message ends too early"));
        }
        (0..count).map(|_| each(self)).collect()
    }

    pub fn end(self) -> Result<()> {
        if self.0.is_empty() { Ok(()) } else { Err(broken("a message is longer than what it says")) }
    }
}

fn target(reader: &mut Reader<'_>) -> Result<Target> {
    match reader.u8()? {
        b'S' => Ok(Target::Statement),
        b'P' => Ok(Target::Portal),
        _ => Err(broken("neither a statement nor a portal is meant")),
    }
}

/// Reads the body of a message.
pub fn read(kind: u8, body: &[u8]) -> Result<Frontend<'_>> {
    let mut reader = Reader(body);
    let message = match kind {
        b'Q' => Frontend::Query(reader.text()?),
        b'P' => {
            let (name, sql) = (reader.text()?, reader.text()?);
            let types = reader.several(4, |reader| reader.i32().map(|number| number as u32))?;
            Frontend::Parse { name, sql, types }
        }
        b'B' => Frontend::Bind(bind(&mut reader)?),
        b'D' => Frontend::Describe(target(&mut reader)?, reader.text()?),
        b'E' => {
            let portal = reader.text()?;
            // Nothing, and less than nothing, is no limit.
            Frontend::Execute { portal, rows_max: u32::try_from(reader.i32()?).unwrap_or(0) }
        }
        b'C' => Frontend::Close(target(&mut reader)?, reader.text()?),
        b'H' => Frontend::Flush,
        b'S' => Frontend::Sync,
        b'X' => Frontend::Terminate,
        b'd' => return Ok(Frontend::CopyData(body)),
        b'c' => Frontend::CopyDone,
        b'f' => Frontend::CopyFail(reader.text()?),
        b'p' => return Ok(Frontend::Password),
        b'F' => return Ok(Frontend::FunctionCall),
        _ => return Err(broken("there is no such message")),
    };
    reader.end()?;
    Ok(message)
}

fn bind<'a>(reader: &mut Reader<'a>) -> Result<Bind<'a>> {
    let (portal, statement) = (reader.text()?, reader.text()?);
    let format = |reader: &mut Reader<'a>| reader.u16().map(|number| number as i16);
    let formats = reader.several(2, format)?;
    let values = reader.several(4, |reader| {
        let len = reader.i32()?;
        match usize::try_from(len) {
            Ok(len) => reader.bytes(len).map(Some),
            Err(_) if len == -1 => Ok(None),
            Err(_) => Err(broken("a value has a length below nothing")),
        }
    })?;
    let result_formats = reader.several(2, format)?;
    Ok(Bind { portal, statement, formats, values, result_formats })
}

/// Writes a message: its kind, its length, and what `body` writes.
pub fn write(out: &mut Vec<u8>, kind: u8, body: impl FnOnce(&mut Vec<u8>)) {
    out.push(kind);
    let at = out.len();
    out.extend_from_slice(&[0; 4]);
    body(out);
    // Callers that write values looked at their sizes.
    let len = u32::try_from(out.len() - at).unwrap_or(u32::MAX);
    out[at..at + 4].copy_from_slice(&len.to_be_bytes());
}

/// Writes a text and the zero byte that ends it; one inside would end it early.
pub fn put_text(out: &mut Vec<u8>, text: &str) {
    out.extend(text.bytes().filter(|byte| *byte != 0));
    out.push(0);
}

/// A message that is nothing but a number, behind which may be bytes.
pub fn write_authentication(out: &mut Vec<u8>, code: i32, data: &[u8]) {
    write(out, b'R', |out| {
        out.extend(code.to_be_bytes());
        out.extend_from_slice(data);
    });
}

pub fn write_parameter(out: &mut Vec<u8>, name: &str, value: &str) {
    write(out, b'S', |out| {
        put_text(out, name);
        put_text(out, value);
    });
}

pub fn write_complete(out: &mut Vec<u8>, tag: &str) {
    write(out, b'C', |out| put_text(out, tag));
}

/// A column of rows to come.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    pub name: String,
    pub ty: super::types::WireType,
    pub format: i16,
}

pub fn write_row_description(out: &mut Vec<u8>, fields: &[Field]) -> Result<()> {
    let count = field_count(fields.len())?;
    write(out, b'T', |out| {
        out.extend(count.to_be_bytes());
        for field in fields {
            put_text(out, &field.name);
            out.extend(0i32.to_be_bytes());
            out.extend(0i16.to_be_bytes());
            out.extend(field.ty.oid.to_be_bytes());
            out.extend(field.ty.size.to_be_bytes());
            out.extend(field.ty.modifier.to_be_bytes());
            out.extend(field.format.to_be_bytes());
        }
    });
    Ok(())
}

/// How many columns a message may speak of.
pub fn field_count(count: usize) -> Result<i16> {
    i16::try_from(count).map_err(|_| {
        Error::out_of_range(format!(
            "{count} columns are more than a message of PostgreSQL's protocol can have, which is {}",
            i16::MAX
        ))
    })
}

/// Whether messages that came end with Terminate.
pub fn is_farewell(input: &[u8]) -> bool {
    let (mut rest, mut kind) = (input, None);
    while let Some((head, behind)) = rest.split_first_chunk::<5>() {
        let [first, length @ ..] = *head;
        let Some(more) =
            (u32::from_be_bytes(length) as usize).checked_sub(4).and_then(|len| behind.get(len..))
        else {
            return false;
        };
        (rest, kind) = (more, Some(first));
    }
    rest.is_empty() && kind == Some(b'X')
}

/// How bad something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    Error,
    Fatal,
}

impl Severity {
    fn word(self) -> &'static str {
        match self {
            Self::Error => "ERROR",
            Self::Fatal => "FATAL",
        }
    }
}

/// What went wrong: severity, code, message, and what is known besides.
pub struct Failure<'a> {
    pub severity: Severity,
    pub code: &'a str,
    pub message: &'a str,
    pub detail: Option<&'a str>,
    pub hint: Option<&'a str>,
    /// The character in the text of the statement, from 1.
    pub position: Option<u32>,
    /// The constraint that a row violates, if it is one.
    pub violated: Option<&'a Violated>,
}

/// What a row does not keep to, as far as it has a name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Violated {
    pub schema: Option<String>,
    pub table: Option<String>,
    pub column: Option<String>,
    pub constraint: Option<String>,
}

pub fn write_failure(out: &mut Vec<u8>, failure: &Failure<'_>) {
    write(out, b'E', |out| {
        let mut field = |kind: u8, text: &str| {
            out.push(kind);
            put_text(out, text);
        };
        field(b'S', failure.severity.word());
        field(b'V', failure.severity.word());
        field(b'C', failure.code);
        field(b'M', failure.message);
        if let Some(detail) = failure.detail {
            field(b'D', detail);
        }
        if let Some(hint) = failure.hint {
            field(b'H', hint);
        }
        if let Some(position) = failure.position {
            field(b'P', &position.to_string());
        }
        if let Some(violated) = failure.violated {
            let Violated { schema, table, column, constraint } = violated;
            for (kind, name) in [(b's', schema), (b't', table), (b'c', column), (b'n', constraint)] {
                if let Some(name) = name {
                    field(kind, name);
                }
            }
        }
        out.push(0);
    });
}

/// Codes of PostgreSQL's for what this door says itself: the engine's errors have their own.
const OWN_CODES: &[(&str, &str, &str)] = &[
    ("protocol violation: ", "", "08P01"),
    ("COPY from stdin failed: ", "", "57014"),
    ("prepared statement \"", "\" does not exist", "26000"),
    ("portal \"", "\" does not exist", "34000"),
    ("cursor \"", "\" does not exist", "34000"),
    ("prepared statement \"", "\" already exists", "42P05"),
    ("portal \"", "\" already exists", "42P03"),
    ("cursor \"", "\" already exists", "42P03"),
];

/// The code of an error with a message.
fn code_of<'a>(error: &'a Error, message: &str) -> &'a str {
    let own = OWN_CODES.iter().find(|(start, end, _)| message.starts_with(start) && message.ends_with(end));
    own.map_or(error.sqlstate(), |(_, _, code)| code)
}

/// An error of the engine's.
pub fn write_error(out: &mut Vec<u8>, severity: Severity, error: &Error, violated: Option<&Violated>) {
    let (message, detail, hint) = (error.message(), error.detail(), error.hint());
    // A place in the text of a view is none in the statement's own.
    let position = error.place().filter(|place| place.of.is_empty()).and_then(|place| place.offset);
    write_failure(
        out,
        &Failure {
            severity,
            code: code_of(error, &message),
            message: &message,
            detail: detail.as_deref(),
            hint: hint.as_deref(),
            position,
            violated,
        },
    );
}

pub fn write_notice(out: &mut Vec<u8>, message: &str) {
    write(out, b'N', |out| {
        for (kind, text) in [(b'S', "NOTICE"), (b'V', "NOTICE"), (b'C', "00000"), (b'M', message)] {
            out.push(kind);
            put_text(out, text);
        }
        out.push(0);
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bind_message() -> Vec<u8> {
        let mut body = b"p\0s\0".to_vec();
        body.extend([0, 1, 0, 1]);
        body.extend([0, 2, 0, 0, 0, 2, b'h', b'i', 0xff, 0xff, 0xff, 0xff]);
        body.extend([0, 0]);
        body
    }

    #[test]
    fn messages_are_read() {
        assert_eq!(read(b'Q', b"SELECT 1\0").unwrap(), Frontend::Query("SELECT 1"));
        let body = bind_message();
        let Frontend::Bind(bind) = read(b'B', &body).unwrap() else { unreachable!("a Bind was written") };
        assert_eq!((bind.portal, bind.statement, bind.formats), ("p", "s", vec![1]));
        assert_eq!(bind.values, [Some(&b"hi"[..]), None]);
        assert_eq!(read(b'E', b"\0\0\0\0\x05").unwrap(), Frontend::Execute { portal: "", rows_max: 5 });
        assert_eq!(read(b'E', b"\0\xff\xff\xff\xff").unwrap(), Frontend::Execute { portal: "", rows_max: 0 });
    }

    #[test]
    fn what_is_cut_off_is_an_error_and_no_panic() {
        let mut parse = b"s\0SELECT $1\0".to_vec();
        parse.extend([0, 1, 0, 0, 0, 23]);
        for (kind, body) in
            [(b'B', bind_message()), (b'P', parse), (b'Q', b"SELECT 1\0".to_vec()), (b'D', b"Sx\0".to_vec())]
        {
            assert!(read(kind, &body).is_ok());
            for len in 0..body.len() {
                assert!(read(kind, &body[..len]).is_err(), "{} of {} bytes", kind as char, len);
            }
            let longer: Vec<u8> = body.iter().copied().chain([0]).collect();
            assert!(read(kind, &longer).is_err());
        }
    }

    /// Whatever comes, nothing panics.
    #[test]
    fn mutated_messages_are_read_or_refused() {
        let mut seed = 0x9e37_79b9_7f4a_7c15u64;
        let mut random = || {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            seed as usize
        };
        let mut parse = b"s\0SELECT $1\0".to_vec();
        parse.extend([0, 1, 0, 0, 0, 23]);
        let seeds = [bind_message(), parse, b"Sx\0".to_vec(), b"p\0\0\0\0\x05".to_vec()];
        for _ in 0..100_000 {
            let mut body = seeds[random() % seeds.len()].clone();
            for _ in 0..1 + random() % 4 {
                let at = random() % body.len();
                match random() % 3 {
                    0 => body[at] = random() as u8,
                    1 => body.truncate(at.max(1)),
                    _ => body.insert(at, random() as u8),
                }
            }
            let _ = read(b"QPBDECFf?"[random() % 9], &body);
        }
    }

    #[test]
    fn a_good_bye_is_the_last_message() {
        let (query, end) = (b"Q\0\0\0\x06X\0", b"X\0\0\0\x04");
        assert!(is_farewell(end) && is_farewell(&[&query[..], end].concat()));
        assert!(!is_farewell(b"") && !is_farewell(query) && !is_farewell(&[&end[..], query].concat()));
        assert!(!is_farewell(&[&query[..], &end[..4]].concat()) && !is_farewell(b"X\0\0\0\0"));
        assert!(!is_farewell(b"X\xff\xff\xff\xff"));
    }

    #[test]
    fn lengths_that_lie_are_errors() {
        let mut body = b"\0\0".to_vec();
        body.extend([0xff, 0xff]);
        assert!(read(b'B', &body).is_err());
        let mut body = b"\0\0\0\0".to_vec();
        body.extend([0, 1, 0x7f, 0xff, 0xff, 0xff, 0, 0]);
        assert!(read(b'B', &body).is_err());
        assert!(read(b'Q', b"\xff\0").is_err());
        assert_eq!(size_max(b'Z', 1), None);
    }
}

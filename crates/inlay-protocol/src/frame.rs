//! Frames: what both ends say to each other, without I/O.
//!
//! ```text
//! [ kind u8 | 0 u8 | 0 u16 | stream u32 | size of the payload u32 ] [ payload ]
//! ```
//! Kinds below 0x40 are a client's, those below 0x80 a server's, others anybody's. A stream is a statement and its answer, or rows that a
//! client sends; its number is the client's choice. Stream 0 is the connection. `docs/protocol.md` has each payload byte by byte.

use crate::types::{WireColumn, put_columns, put_type, read_columns, read_type};
use crate::wire::{Reader, pad, put_bytes, put_str};
use crate::{Result, WireError};
use inlay_types::LogicalType;

/// Bytes of a frame's header.
pub const HEADER: usize = 12;

macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident = $number:literal),+ $(,)?) => {
        /// What a frame is.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum Kind { $($(#[$doc])* $name = $number),+ }

        impl Kind {
            /// All of them.
            pub const ALL: &[Kind] = &[$(Kind::$name),+];
        }
    };
}

kinds! {
    /// The client's first frame.
    Hello = 0x01,
    /// The client's part of a login.
    Auth = 0x02,
    /// A text of statements.
    Query = 0x03,
    /// A statement that is to be repeated.
    Prepare = 0x04,
    /// A prepared statement, with values.
    Execute = 0x05,
    /// A prepared statement or a registered table is not needed any more.
    Close = 0x06,
    /// Rows for a table are going to follow.
    Append = 0x07,
    /// Rows of a table of this session are going to follow.
    Register = 0x08,
    /// All rows were sent.
    Finish = 0x09,
    /// The stream's statement, or its rows, are not wanted any more.
    Cancel = 0x0A,
    /// On a connection of its own: what a session runs is to end.
    CancelSession = 0x0B,
    /// So many chunks more may be sent.
    Window = 0x0C,
    /// The server's part of a login.
    Challenge = 0x41,
    /// The login is over.
    Ready = 0x42,
    /// Columns of a result.
    Header = 0x43,
    /// A statement is over.
    Done = 0x44,
    /// It failed.
    Error = 0x45,
    /// Something to know of a statement that goes on.
    Notice = 0x46,
    /// How far a statement is.
    Progress = 0x47,
    /// A statement was prepared.
    Prepared = 0x48,
    /// Rows.
    Chunk = 0x81,
    /// The next frames are larger than agreed.
    Grow = 0x82,
    /// Answered by Pong.
    Ping = 0x83,
    /// See Ping.
    Pong = 0x84,
    /// The sender is about to close the connection.
    Goodbye = 0x85,
}

/// The beginning of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameHeader {
    /// What it is.
    pub kind: Kind,
    /// What it belongs to.
    pub stream: u32,
    /// Bytes of the payload.
    pub size: u32,
}

impl FrameHeader {
    /// Reads one, and refuses a payload above `limit`.
    pub fn read(bytes: &[u8; HEADER], limit: usize) -> Result<Self> {
        let mut reader = Reader::new(bytes, "a frame's header");
        let (number, zero, reserved) = (reader.u8()?, reader.u8()?, reader.u16()?);
        let (stream, size) = (reader.u32()?, reader.u32()?);
        let Some(kind) = Kind::ALL.iter().find(|kind| **kind as u8 == number) else {
            return Err(WireError::malformed(format!(
                "a frame of kind {number:#04x}, which version 1 does not have"
            )));
        };
        if zero != 0 || reserved != 0 {
            return Err(WireError::malformed(format!(
                "{zero:#x}, {reserved:#x} in a frame's header, where 0 is to be"
            )));
        }
        if size as usize > limit {
            return Err(WireError::TooLarge { size: u64::from(size), limit: limit as u64 });
        }
        Ok(Self { kind: *kind, stream, size })
    }

    fn bytes(kind: Kind, stream: u32, size: u32) -> [u8; HEADER] {
        let mut bytes = [0; HEADER];
        bytes[0] = kind as u8;
        bytes[4..8].copy_from_slice(&stream.to_le_bytes());
        bytes[8..12].copy_from_slice(&size.to_le_bytes());
        bytes
    }
}

/// Appends a frame whose payload `write` appends.
pub fn put_frame<T>(
    out: &mut Vec<u8>,
    kind: Kind,
    stream: u32,
    write: impl FnOnce(&mut Vec<u8>) -> Result<T>,
) -> Result<T> {
    let start = out.len();
    out.resize(start + HEADER, 0);
    let outcome = write(out);
    let size = out.len() - start - HEADER;
    match (outcome, u32::try_from(size)) {
        (Ok(done), Ok(size)) => {
            out[start..start + HEADER].copy_from_slice(&FrameHeader::bytes(kind, stream, size));
            Ok(done)
        }
        (outcome, _) => {
            out.truncate(start);
            outcome.and(Err(WireError::TooLarge { size: size as u64, limit: u64::from(u32::MAX) }))
        }
    }
}

/// How a client shows who it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Method {
    /// SCRAM-SHA-256 (RFC 5802, RFC 7677), without channel binding.
    Scram = 1,
    /// A token that the server knows.
    Token = 2,
}

impl Method {
    fn read(reader: &mut Reader<'_>) -> Result<Self> {
        match reader.u8()? {
            1 => Ok(Self::Scram),
            2 => Ok(Self::Token),
            other => Err(reader.wrong(format_args!("method {other} of showing who one is"))),
        }
    }
}

/// The client's first frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hello {
    /// The first and the last version that it speaks.
    pub versions: (u16, u16),
    /// Bytes of a chunk, at most, in both directions.
    pub chunk_size: u32,
    /// Compressions that it knows.
    pub features: u32,
    /// Who it is.
    pub user: String,
    /// The database that it wants; empty: the server's first.
    pub database: String,
    /// What program it is.
    pub application: String,
    /// Settings for the session.
    pub settings: Vec<(String, String)>,
}

/// What the server answers when it knows who the client is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ready {
    /// The version that is spoken from now on.
    pub version: u16,
    /// Bytes of a chunk.
    pub chunk_size: u32,
    /// Bytes of a frame, at most, though it was asked for by Grow.
    pub frame_max: u32,
    /// Compressions that both know.
    pub features: u32,
    /// The session's number, and what shows on another connection that it is one's own.
    pub session: u64,
    /// See `session`.
    pub key: [u8; 16],
    /// What the server is.
    pub server: String,
    /// Settings that the client should know.
    pub settings: Vec<(String, String)>,
}

/// Something that went wrong, or that somebody should know.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Report {
    /// The server closes the connection.
    pub is_fatal: bool,
    /// Five characters; 00000 for notices.
    pub sqlstate: [u8; 5],
    /// What is wrong.
    pub message: String,
    /// More of it.
    pub detail: String,
    /// What helps.
    pub hint: String,
    /// Place in the statement's text, counted in characters from 1; 0: none.
    pub offset: u32,
    /// Line, from 1; 0: none.
    pub line: u32,
    /// Column in characters, from 1; 0: none.
    pub column: u32,
    /// The text of that line.
    pub line_text: String,
    /// Whose text it is; empty: the statement's own.
    pub of: String,
}

impl Report {
    /// The report of an error.
    pub fn of(error: &WireError) -> Self {
        let mut report = Self { message: error.to_string(), ..Self::default() };
        report.sqlstate.copy_from_slice(error.sqlstate().as_bytes().first_chunk::<5>().unwrap_or(b"XX000"));
        if let WireError::Engine(error) = error {
            report.message = error.message();
            report.detail = error.detail().unwrap_or_default();
            report.hint = error.hint().map(|hint| hint.into_owned()).unwrap_or_default();
            if let Some(place) = error.place() {
                report.offset = place.offset.unwrap_or(0);
                (report.line, report.column) = (place.line, place.column);
                (report.line_text, report.of) = (place.text.clone(), place.of.clone());
            }
        }
        report
    }

    /// A notice.
    pub fn notice(message: impl Into<String>) -> Self {
        Self { sqlstate: *b"00000", message: message.into(), ..Self::default() }
    }

    /// The five characters.
    pub fn sqlstate(&self) -> &str {
        std::str::from_utf8(&self.sqlstate).unwrap_or("XX000")
    }
}

impl std::fmt::Display for Report {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)?;
        if !self.hint.is_empty() {
            write!(f, "; {}", self.hint)?;
        }
        if self.line > 0 {
            write!(f, "\nline {}, column {}: {}", self.line, self.column, self.line_text)?;
        }
        Ok(())
    }
}

/// The end of a statement that succeeded.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Done {
    /// Whether the session is in a transaction.
    pub in_transaction: bool,
    /// Whether answers of other statements of the same text follow on this stream.
    pub more: bool,
    /// What was done, as `INSERT 0 2`.
    pub tag: String,
    /// Rows that were sent.
    pub rows: Option<u64>,
    /// Rows that were changed.
    pub changed: Option<u64>,
}

/// A parameter of a prepared statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its name; empty: it has a position.
    pub name: String,
    /// The type that it is converted to, if there is one.
    pub ty: Option<LogicalType>,
}

/// A frame but Chunk, whose payload is read by [`crate::chunk::ChunkReader`].
#[derive(Clone, Debug, PartialEq)]
pub enum Frame {
    /// See [`Hello`].
    Hello(Hello),
    /// The client's next message of a method.
    Auth(Method, Vec<u8>),
    /// Statements; chunks at most that may be sent before a Window frame, or 0: as many as the socket takes.
    Query {
        /// See above.
        window: u32,
        /// The statements.
        text: String,
    },
    /// A statement to be known by a number.
    Prepare {
        /// The client's choice.
        statement: u32,
        /// The statement.
        text: String,
    },
    /// Runs a prepared statement once for each row of a chunk.
    Execute {
        /// Its number.
        statement: u32,
        /// As for Query.
        window: u32,
        /// Names (empty: by position) and types of the values.
        columns: Vec<WireColumn>,
        /// Where in the payload the chunk begins.
        chunk: usize,
    },
    /// A prepared statement is closed.
    CloseStatement(u32),
    /// A registered table is closed.
    CloseTable(String),
    /// Rows for a table follow.
    Append {
        /// Catalog, schema and name, as far as given.
        table: Vec<String>,
        /// Columns of the table that they go to; none: all.
        names: Vec<String>,
        /// Their types.
        columns: Vec<WireColumn>,
    },
    /// Rows of a table of this session follow.
    Register {
        /// What statements call it.
        name: String,
        /// Its columns.
        columns: Vec<WireColumn>,
    },
    /// All rows were sent.
    Finish,
    /// The stream is not wanted any more.
    Cancel,
    /// What a session runs is to end.
    CancelSession {
        /// The session.
        session: u64,
        /// What Ready said.
        key: [u8; 16],
    },
    /// So many chunks more.
    Window(u32),
    /// The server's next message of a method.
    Challenge(Method, Vec<u8>),
    /// See [`Ready`].
    Ready(Ready),
    /// Columns of a result.
    Header(Vec<WireColumn>),
    /// See [`Done`].
    Done(Done),
    /// See [`Report`].
    Error(Report),
    /// See [`Report`].
    Notice(Report),
    /// How far a statement is.
    Progress {
        /// From 0 to 1; negative: not known.
        fraction: f64,
        /// Rows read.
        rows: u64,
        /// Rows that will have been read; 0: not known.
        of: u64,
    },
    /// A statement was prepared.
    Prepared {
        /// Its number.
        statement: u32,
        /// What it does, as `SELECT`.
        tag: String,
        /// What it takes.
        parameters: Vec<Parameter>,
        /// What it gives, if it gives rows.
        columns: Option<Vec<WireColumn>>,
    },
    /// The receiver needs a buffer of so many bytes.
    Grow(u64),
    /// Answered with the same number.
    Ping(u64),
    /// See Ping.
    Pong(u64),
    /// Why the connection is closed.
    Goodbye(String),
}

impl Frame {
    /// What it is.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Hello(_) => Kind::Hello,
            Self::Auth(..) => Kind::Auth,
            Self::Query { .. } => Kind::Query,
            Self::Prepare { .. } => Kind::Prepare,
            Self::Execute { .. } => Kind::Execute,
            Self::CloseStatement(_) | Self::CloseTable(_) => Kind::Close,
            Self::Append { .. } => Kind::Append,
            Self::Register { .. } => Kind::Register,
            Self::Finish => Kind::Finish,
            Self::Cancel => Kind::Cancel,
            Self::CancelSession { .. } => Kind::CancelSession,
            Self::Window(_) => Kind::Window,
            Self::Challenge(..) => Kind::Challenge,
            Self::Ready(_) => Kind::Ready,
            Self::Header(_) => Kind::Header,
            Self::Done(_) => Kind::Done,
            Self::Error(_) => Kind::Error,
            Self::Notice(_) => Kind::Notice,
            Self::Progress { .. } => Kind::Progress,
            Self::Prepared { .. } => Kind::Prepared,
            Self::Grow(_) => Kind::Grow,
            Self::Ping(_) => Kind::Ping,
            Self::Pong(_) => Kind::Pong,
            Self::Goodbye(_) => Kind::Goodbye,
        }
    }

    /// Appends the frame. Behind that of Execute a chunk is appended by [`put_execute`].
    pub fn write(&self, stream: u32, out: &mut Vec<u8>) -> Result<()> {
        put_frame(out, self.kind(), stream, |out| {
            self.write_payload(out);
            Ok(())
        })
    }

    fn write_payload(&self, out: &mut Vec<u8>) {
        let start = out.len();
        match self {
            Self::Hello(hello) => put_hello(out, hello),
            Self::Auth(method, message) | Self::Challenge(method, message) => {
                out.push(*method as u8);
                put_bytes(out, message);
            }
            Self::Query { window, text } => {
                put_u32(out, *window);
                put_str(out, text);
            }
            Self::Prepare { statement, text } => {
                put_u32(out, *statement);
                put_str(out, text);
            }
            Self::Execute { statement, window, columns, chunk: _ } => {
                put_u32(out, *statement);
                put_u32(out, *window);
                put_columns(out, columns);
                pad(out, start, 16);
            }
            Self::CloseStatement(statement) => {
                out.push(1);
                put_u32(out, *statement);
            }
            Self::CloseTable(name) => {
                out.push(2);
                put_str(out, name);
            }
            Self::Append { table, names, columns } => {
                put_texts(out, table);
                put_texts(out, names);
                put_columns(out, columns);
            }
            Self::Register { name, columns } => {
                put_str(out, name);
                put_columns(out, columns);
            }
            Self::Finish | Self::Cancel => {}
            Self::CancelSession { session, key } => {
                out.extend_from_slice(&session.to_le_bytes());
                out.extend_from_slice(key);
            }
            Self::Window(chunks) => put_u32(out, *chunks),
            Self::Ready(ready) => put_ready(out, ready),
            Self::Header(columns) => put_columns(out, columns),
            Self::Done(done) => put_done(out, done),
            Self::Error(report) | Self::Notice(report) => put_report(out, report),
            Self::Progress { fraction, rows, of } => {
                out.extend_from_slice(&fraction.to_le_bytes());
                out.extend_from_slice(&rows.to_le_bytes());
                out.extend_from_slice(&of.to_le_bytes());
            }
            Self::Prepared { statement, tag, parameters, columns } => {
                put_u32(out, *statement);
                put_str(out, tag);
                put_u32(out, parameters.len() as u32);
                for parameter in parameters {
                    put_str(out, &parameter.name);
                    out.push(u8::from(parameter.ty.is_some()));
                    parameter.ty.iter().for_each(|ty| put_type(out, ty));
                }
                out.push(u8::from(columns.is_some()));
                columns.iter().for_each(|columns| put_columns(out, columns));
            }
            Self::Grow(number) | Self::Ping(number) | Self::Pong(number) => {
                out.extend_from_slice(&number.to_le_bytes());
            }
            Self::Goodbye(reason) => put_str(out, reason),
        }
    }

    /// The frame of a payload. Chunks are no such frame.
    pub fn read(kind: Kind, payload: &[u8]) -> Result<Self> {
        let reader = &mut Reader::new(payload, "a frame");
        let frame = match kind {
            Kind::Hello => Self::Hello(read_hello(reader)?),
            Kind::Auth => Self::Auth(Method::read(reader)?, reader.bytes()?.to_vec()),
            Kind::Challenge => Self::Challenge(Method::read(reader)?, reader.bytes()?.to_vec()),
            Kind::Query => Self::Query { window: reader.u32()?, text: reader.str()?.to_string() },
            Kind::Prepare => Self::Prepare { statement: reader.u32()?, text: reader.str()?.to_string() },
            Kind::Execute => return read_execute(reader),
            Kind::Close => match reader.u8()? {
                1 => Self::CloseStatement(reader.u32()?),
                2 => Self::CloseTable(reader.str()?.to_string()),
                other => return Err(reader.wrong(format_args!("kind {other} of what is closed"))),
            },
            Kind::Append => {
                let (table, names) = (read_texts(reader)?, read_texts(reader)?);
                Self::Append { table, names, columns: read_columns(reader)? }
            }
            Kind::Register => {
                Self::Register { name: reader.str()?.to_string(), columns: read_columns(reader)? }
            }
            Kind::Finish => Self::Finish,
            Kind::Cancel => Self::Cancel,
            Kind::CancelSession => Self::CancelSession { session: reader.u64()?, key: reader.key()? },
            Kind::Window => Self::Window(reader.u32()?),
            Kind::Ready => Self::Ready(read_ready(reader)?),
            Kind::Header => Self::Header(read_columns(reader)?),
            Kind::Done => Self::Done(read_done(reader)?),
            Kind::Error => Self::Error(read_report(reader)?),
            Kind::Notice => Self::Notice(read_report(reader)?),
            Kind::Progress => {
                Self::Progress { fraction: reader.f64()?, rows: reader.u64()?, of: reader.u64()? }
            }
            Kind::Prepared => read_prepared(reader)?,
            Kind::Chunk => return Err(reader.wrong("rows where none are expected")),
            Kind::Grow => Self::Grow(reader.u64()?),
            Kind::Ping => Self::Ping(reader.u64()?),
            Kind::Pong => Self::Pong(reader.u64()?),
            Kind::Goodbye => Self::Goodbye(reader.str()?.to_string()),
        };
        reader.end()?;
        Ok(frame)
    }
}

/// Appends an Execute frame, whose chunk `write` appends.
pub fn put_execute(
    out: &mut Vec<u8>,
    stream: u32,
    execute: &Frame,
    write: impl FnOnce(&mut Vec<u8>) -> Result<()>,
) -> Result<()> {
    put_frame(out, Kind::Execute, stream, |out| {
        execute.write_payload(out);
        write(out)
    })
}

fn put_u32(out: &mut Vec<u8>, number: u32) {
    out.extend_from_slice(&number.to_le_bytes());
}

fn put_texts(out: &mut Vec<u8>, texts: &[String]) {
    put_u32(out, texts.len() as u32);
    texts.iter().for_each(|text| put_str(out, text));
}

fn read_texts(reader: &mut Reader<'_>) -> Result<Vec<String>> {
    let count = reader.u32()? as usize;
    let count = reader.count(count, 4)?;
    inlay_types::limits::need(count.saturating_mul(size_of::<String>()))?;
    (0..count).map(|_| reader.str().map(str::to_string)).collect()
}

fn put_pairs(out: &mut Vec<u8>, pairs: &[(String, String)]) {
    put_u32(out, pairs.len() as u32);
    for (name, value) in pairs {
        put_str(out, name);
        put_str(out, value);
    }
}

fn read_pairs(reader: &mut Reader<'_>) -> Result<Vec<(String, String)>> {
    let count = reader.u32()? as usize;
    let count = reader.count(count, 8)?;
    (0..count).map(|_| Ok((reader.str()?.to_string(), reader.str()?.to_string()))).collect()
}

fn put_hello(out: &mut Vec<u8>, hello: &Hello) {
    out.extend_from_slice(&hello.versions.0.to_le_bytes());
    out.extend_from_slice(&hello.versions.1.to_le_bytes());
    put_u32(out, hello.chunk_size);
    put_u32(out, hello.features);
    put_str(out, &hello.user);
    put_str(out, &hello.database);
    put_str(out, &hello.application);
    put_pairs(out, &hello.settings);
}

fn read_hello(reader: &mut Reader<'_>) -> Result<Hello> {
    Ok(Hello {
        versions: (reader.u16()?, reader.u16()?),
        chunk_size: reader.u32()?,
        features: reader.u32()?,
        user: reader.str()?.to_string(),
        database: reader.str()?.to_string(),
        application: reader.str()?.to_string(),
        settings: read_pairs(reader)?,
    })
}

fn put_ready(out: &mut Vec<u8>, ready: &Ready) {
    out.extend_from_slice(&ready.version.to_le_bytes());
    out.extend_from_slice(&[0; 2]);
    put_u32(out, ready.chunk_size);
    put_u32(out, ready.frame_max);
    put_u32(out, ready.features);
    out.extend_from_slice(&ready.session.to_le_bytes());
    out.extend_from_slice(&ready.key);
    put_str(out, &ready.server);
    put_pairs(out, &ready.settings);
}

fn read_ready(reader: &mut Reader<'_>) -> Result<Ready> {
    let (version, zero) = (reader.u16()?, reader.u16()?);
    if zero != 0 {
        return Err(reader.wrong("bytes that are to be 0 and are not"));
    }
    Ok(Ready {
        version,
        chunk_size: reader.u32()?,
        frame_max: reader.u32()?,
        features: reader.u32()?,
        session: reader.u64()?,
        key: reader.key()?,
        server: reader.str()?.to_string(),
        settings: read_pairs(reader)?,
    })
}

fn put_done(out: &mut Vec<u8>, done: &Done) {
    let flags = [done.in_transaction, done.more, done.rows.is_some(), done.changed.is_some()];
    put_u32(out, flags.iter().enumerate().map(|(bit, set)| u32::from(*set) << bit).sum());
    put_str(out, &done.tag);
    out.extend_from_slice(&done.rows.unwrap_or(0).to_le_bytes());
    out.extend_from_slice(&done.changed.unwrap_or(0).to_le_bytes());
}

fn read_done(reader: &mut Reader<'_>) -> Result<Done> {
    let flags = reader.u32()?;
    if flags > 0xF {
        return Err(reader.wrong(format_args!("flags {flags:#x} of Done")));
    }
    let tag = reader.str()?.to_string();
    let (rows, changed) = (reader.u64()?, reader.u64()?);
    Ok(Done {
        in_transaction: flags & 1 != 0,
        more: flags & 2 != 0,
        tag,
        rows: (flags & 4 != 0).then_some(rows),
        changed: (flags & 8 != 0).then_some(changed),
    })
}

fn put_report(out: &mut Vec<u8>, report: &Report) {
    out.push(u8::from(report.is_fatal));
    out.extend_from_slice(&report.sqlstate);
    put_str(out, &report.message);
    put_str(out, &report.detail);
    put_str(out, &report.hint);
    put_u32(out, report.offset);
    put_u32(out, report.line);
    put_u32(out, report.column);
    put_str(out, &report.line_text);
    put_str(out, &report.of);
}

fn read_report(reader: &mut Reader<'_>) -> Result<Report> {
    let flags = reader.u8()?;
    let mut sqlstate = [0; 5];
    sqlstate.copy_from_slice(reader.take(5)?);
    if flags > 1 || !sqlstate.iter().all(u8::is_ascii_alphanumeric) {
        return Err(reader.wrong(format_args!("an error of flags {flags} and SQLSTATE {sqlstate:?}")));
    }
    Ok(Report {
        is_fatal: flags == 1,
        sqlstate,
        message: reader.str()?.to_string(),
        detail: reader.str()?.to_string(),
        hint: reader.str()?.to_string(),
        offset: reader.u32()?,
        line: reader.u32()?,
        column: reader.u32()?,
        line_text: reader.str()?.to_string(),
        of: reader.str()?.to_string(),
    })
}

fn read_execute(reader: &mut Reader<'_>) -> Result<Frame> {
    let (statement, window) = (reader.u32()?, reader.u32()?);
    let columns = read_columns(reader)?;
    let chunk = reader.position().next_multiple_of(16);
    reader.take(chunk - reader.position())?;
    Ok(Frame::Execute { statement, window, columns, chunk })
}

fn read_flag(reader: &mut Reader<'_>) -> Result<bool> {
    match reader.u8()? {
        0 => Ok(false),
        1 => Ok(true),
        other => Err(reader.wrong(format_args!("{other}, where 0 or 1 is to be,"))),
    }
}

fn read_prepared(reader: &mut Reader<'_>) -> Result<Frame> {
    let (statement, tag) = (reader.u32()?, reader.str()?.to_string());
    let count = reader.u32()? as usize;
    let count = reader.count(count, 5)?;
    inlay_types::limits::need(count.saturating_mul(size_of::<Parameter>()))?;
    let mut parameters = Vec::with_capacity(count);
    for _ in 0..count {
        let name = reader.str()?.to_string();
        let ty = if read_flag(reader)? { Some(read_type(reader, 1)?) } else { None };
        parameters.push(Parameter { name, ty });
    }
    let columns = if read_flag(reader)? { Some(read_columns(reader)?) } else { None };
    Ok(Frame::Prepared { statement, tag, parameters, columns })
}

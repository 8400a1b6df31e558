//! Rows of an answer as messages, a piece at a time: made on a thread that may block, sent by the client's task.

use super::copy::layout::Layout;
use super::encode::{Format, Look, write_sized, write_value};
use super::message::{Field, field_count};
use super::scan::{Word, Words};
use super::types::{WireType, oid, wire_type};
use crate::session::{Call, PIECE_BYTES};
use inlay::types::{LogicalType, PhysicalType};
use inlay::{Chunk, Command, CommandClass, Cursor, Error, QueryResult, Result, ResultKind, Value};

/// Rows that are encoded before the size of a piece is looked at.
const STEP_ROWS: usize = 256;

/// An answer on its way.
pub struct Rows {
    cursor: Cursor,
    form: Form,
    look: Look,
    /// Rows that were made since the client asked.
    made: u64,
    /// Whether rows are gone over and not sent.
    is_skipped: bool,
    /// What a statement is called that may have nothing but notices to give.
    notice_of: Option<String>,
}

/// How rows are written.
enum Form {
    /// As messages of rows, with a format for each column.
    Rows(Vec<Format>),
    /// As COPY has them; whether what stands in front is still to be written.
    Copied(Layout, bool),
}

/// A piece of an answer.
pub struct Piece {
    pub bytes: Vec<u8>,
    /// The rows behind it; none where it was the last.
    pub rest: Option<Rows>,
    /// What was done, if it was the last.
    pub tag: String,
    /// Rows that were made since the client asked.
    pub made: u64,
    /// The failure that it ends with: rows before it are sent nevertheless.
    pub failure: Option<Error>,
}

/// How the columns of an answer are announced.
pub fn fields_of(names: &[String], types: &[LogicalType], formats: &[Format]) -> Vec<Field> {
    let columns = names.iter().zip(types).enumerate();
    columns
        .map(|(index, (name, ty))| {
            let format = formats.get(index).copied().unwrap_or(Format::Text);
            Field { name: name.clone(), ty: catalog_type(name, ty), format: format.number() }
        })
        .collect()
}

/// What a column is sent as. Columns of the catalog that are vectors of numbers in PostgreSQL are lists here: tools take them apart by their form, and
/// asyncpg asks in a circle for a type of arrays that it does not know before it has asked.
fn catalog_type(name: &str, ty: &LogicalType) -> WireType {
    let vector = |oid| WireType { oid, size: -1, modifier: -1 };
    match (name, ty) {
        ("attrtypoids", LogicalType::List(element)) if **element == LogicalType::BigInt => vector(oid::OIDS),
        ("indkey" | "indoption", LogicalType::List(element)) if **element == LogicalType::SmallInt => {
            vector(oid::INT2VECTOR)
        }
        ("indclass" | "indcollation", LogicalType::List(element)) if **element == LogicalType::BigInt => {
            vector(oid::OIDVECTOR)
        }
        (_, ty) => wire_type(ty),
    }
}

/// Whether a column is sent as numbers with spaces between them, where it is sent as text.
fn is_vector(name: &str, ty: &LogicalType) -> bool {
    matches!(catalog_type(name, ty).oid, oid::INT2VECTOR | oid::OIDVECTOR)
}

/// `1 2 3`.
fn write_vector(out: &mut Vec<u8>, value: &Value) {
    let Value::List { values, .. } = value else { return };
    for (index, value) in values.iter().enumerate() {
        if index > 0 {
            out.push(b' ');
        }
        out.extend_from_slice(value.to_string().as_bytes());
    }
}

/// A format for each column, as a client names one for each, one for all, or none.
pub fn formats_for(given: &[i16], columns: usize) -> Result<Vec<Format>> {
    match given {
        [] => Ok(vec![Format::Text; columns]),
        [one] => Ok(vec![Format::of(*one)?; columns]),
        several if several.len() == columns => several.iter().map(|number| Format::of(*number)).collect(),
        several => {
            Err(super::message::broken(&format!("{} formats are given for {columns} columns", several.len())))
        }
    }
}

impl Rows {
    pub fn new(cursor: Cursor, formats: Vec<Format>, look: Look) -> Self {
        Self { cursor, form: Form::Rows(formats), look, made: 0, is_skipped: false, notice_of: None }
    }

    /// Rows that COPY sends.
    pub fn copied(cursor: Cursor, layout: Layout, look: Look) -> Self {
        Self { cursor, form: Form::Copied(layout, true), look, made: 0, is_skipped: false, notice_of: None }
    }

    /// Names, types and kind.
    pub fn header(&self) -> &QueryResult {
        self.cursor.header()
    }

    /// Whether there are columns.
    pub fn has_columns(&self) -> bool {
        self.cursor.kind() == ResultKind::Rows && !self.is_notice()
    }

    /// Whether its rows are what a statement says that has no effect here: to clients, such are notices.
    fn is_notice(&self) -> bool {
        self.notice_of.is_some() && self.cursor.names().first().is_some_and(|name| name == "notice")
    }

    /// Says which statement it is the answer of, if that may be one that only says why it has no effect.
    pub fn may_be_notice(&mut self, text: &str) {
        self.notice_of = notice_of(text);
    }

    /// Begins to count anew, for a client that asks for more.
    pub fn again(&mut self) {
        self.made = 0;
        self.is_skipped = false;
    }

    /// Rows that were made since the client asked.
    pub fn made(&self) -> u64 {
        self.made
    }

    /// Goes over the rows that are asked for next, without sending them.
    pub fn skips(&mut self) {
        self.is_skipped = true;
    }

    /// Takes other formats; text if there are none.
    pub fn set_formats(&mut self, formats: Option<&[Format]>) {
        let columns = self.cursor.types().len();
        let format = |index| formats.and_then(|formats| formats.get(index)).copied().unwrap_or(Format::Text);
        self.form = Form::Rows((0..columns).map(format).collect());
    }

    /// Makes the next piece, of so many rows since the client asked at most.
    pub fn piece(mut self, call: &Call, rows_max: Option<u64>) -> Piece {
        let mut bytes = Vec::new();
        match self.fill(call, rows_max, &mut bytes) {
            Ok(true) => {
                let (tag, made) = (self.tag(), self.made);
                Piece { bytes, rest: None, tag, made, failure: None }
            }
            Ok(false) => Piece { bytes, rest: Some(self), tag: String::new(), made: 0, failure: None },
            Err(error) => Piece { bytes, rest: None, tag: String::new(), made: 0, failure: Some(error) },
        }
    }

    /// Whether so many rows were made as the client asked for.
    pub fn is_full(&self, rows_max: Option<u64>) -> bool {
        rows_max.is_some_and(|most| self.made >= most)
    }

    /// Whether the answer has ended.
    fn fill(&mut self, call: &Call, rows_max: Option<u64>, out: &mut Vec<u8>) -> Result<bool> {
        if self.is_notice() {
            while let Some((batch, rows)) = self.cursor.peek(Some(&call.host), STEP_ROWS)? {
                let chunk = Chunk::new(&batch.slice(rows.start, rows.len()));
                for row in 0..chunk.len() {
                    call.host.note(&chunk.column(0)?.value(row).to_string());
                }
                self.cursor.skip(chunk.len());
            }
        }
        if !self.has_columns() {
            return Ok(true);
        }
        if let Form::Copied(layout, is_first @ true) = &mut self.form {
            *is_first = false;
            layout.write_head(out, self.cursor.names());
        }
        let vectors: Vec<bool> = match &self.form {
            Form::Rows(formats) => {
                let columns = self.cursor.names().iter().zip(self.cursor.types()).zip(formats);
                columns.map(|((name, ty), format)| *format == Format::Text && is_vector(name, ty)).collect()
            }
            Form::Copied(..) => Vec::new(),
        };
        while out.len() < PIECE_BYTES && !self.is_full(rows_max) {
            let left = rows_max.map_or(u64::MAX, |most| most - self.made);
            let most = STEP_ROWS.min(usize::try_from(left).unwrap_or(usize::MAX));
            let Some((batch, rows)) = self.cursor.peek(Some(&call.host), most)? else {
                if let Form::Copied(layout, _) = &self.form {
                    layout.write_foot(out, self.made == 0);
                }
                return Ok(true);
            };
            let count = rows.len();
            let chunk = || Chunk::new(&batch.slice(rows.start, count));
            match &self.form {
                _ if self.is_skipped => {}
                Form::Rows(formats) => write_rows(out, &chunk(), formats, &vectors, &self.look)?,
                Form::Copied(layout, _) => layout.write_rows(out, &chunk(), &self.look, self.made == 0)?,
            }
            self.cursor.skip(count);
            self.made += count as u64;
        }
        Ok(false)
    }

    /// What was done, as a client is told.
    fn tag(&self) -> String {
        let (header, command, made) = (self.cursor.header(), self.cursor.command(), self.made);
        if let Form::Copied(..) = self.form {
            return format!("COPY {made}");
        }
        if let Some(name) = self.notice_of.as_ref().filter(|_| self.is_notice()) {
            return name.clone();
        }
        match (header.kind(), command.class()) {
            (ResultKind::Rows, _) if command == Command::Insert => format!("INSERT 0 {made}"),
            (ResultKind::Rows, CommandClass::Change) => format!("{} {made}", command.tag()),
            (ResultKind::Rows, CommandClass::Query)
                if matches!(command, Command::Select | Command::Describe | Command::Summarize) =>
            {
                format!("SELECT {made}")
            }
            (ResultKind::Rows, _) => command.tag().to_string(),
            (ResultKind::Changed(_) | ResultKind::Done, _) => header.command_tag(),
        }
    }
}

/// First words of statements that have no effect here, with as many of them as PostgreSQL calls such a statement by.
const WITHOUT_EFFECT: &[(&str, usize)] = &[
    ("grant", 1),
    ("revoke", 1),
    ("lock", 2),
    ("alter", 2),
    ("create", 2),
    ("drop", 2),
    ("comment", 1),
    ("reassign", 2),
    ("security", 2),
    ("cluster", 1),
    ("reindex", 1),
    ("set", 1),
    ("reset", 1),
];

/// What PostgreSQL calls a statement that has no effect here; `None` if the text is another one.
pub fn notice_of(text: &str) -> Option<String> {
    let mut words = Words::new(text);
    let mut word = || match words.next() {
        Ok(Some(Word::Plain(word))) => Some(word),
        Ok(_) | Err(_) => None,
    };
    let first = word()?;
    let (_, count) = WITHOUT_EFFECT.iter().find(|(known, _)| *known == first)?;
    let second = if *count > 1 { word() } else { None };
    let name = second.map_or(first.clone(), |second| format!("{first} {second}"));
    Some(if first == "lock" { "LOCK TABLE".to_string() } else { name.to_uppercase() })
}

/// Writes rows. An error leaves none of a half-written one behind.
fn write_rows(
    out: &mut Vec<u8>,
    chunk: &Chunk,
    formats: &[Format],
    vectors: &[bool],
    look: &Look,
) -> Result<()> {
    let count = field_count(chunk.column_count())?;
    let columns = (0..chunk.column_count()).map(|index| chunk.column(index)).collect::<Result<Vec<_>>>()?;
    for row in 0..chunk.len() {
        let start = out.len();
        out.push(b'D');
        let done = write_sized_all(out, |out| {
            out.extend(count.to_be_bytes());
            for ((column, format), is_vector) in columns.iter().zip(formats).zip(vectors) {
                if column.is_null(row) {
                    out.extend((-1i32).to_be_bytes());
                    continue;
                }
                if *is_vector {
                    write_sized(out, |out| {
                        write_vector(out, &column.value(row));
                        Ok(())
                    })?;
                    continue;
                }
                let is_text = matches!(column.ty(), LogicalType::Varchar | LogicalType::Json)
                    && column.layout() == PhysicalType::View;
                match column.bytes(row).filter(|_| is_text) {
                    Some(bytes) => write_sized(out, |out| {
                        out.extend_from_slice(bytes);
                        Ok(())
                    })?,
                    None => write_sized(out, |out| {
                        write_value(out, &column.value(row), column.ty(), *format, look)
                    })?,
                }
            }
            Ok(())
        });
        if let Err(error) = done {
            out.truncate(start);
            return Err(error);
        }
    }
    Ok(())
}

/// As `write_sized`, where the length counts itself.
fn write_sized_all(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>) -> Result<()>) -> Result<()> {
    let at = out.len();
    write_sized(out, write)?;
    let len = out.len() - at;
    let len = i32::try_from(len)
        .map_err(|_| Error::out_of_range(format!("a row of {len} bytes does not fit into a message")))?;
    out[at..at + 4].copy_from_slice(&len.to_be_bytes());
    Ok(())
}

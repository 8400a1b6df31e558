//! Rows of an answer as messages, a piece at a time: made on a thread that may block, sent by the client's task.

use super::copy::layout::Layout;
use super::encode::{Format, Look, write_sized, write_value};
use super::message::{Field, field_count};
use super::types::wire_type;
use crate::session::{Call, PIECE_BYTES};
use inlay::types::{LogicalType, PhysicalType};
use inlay::{Chunk, Command, CommandClass, Cursor, Error, QueryResult, Result, ResultKind};

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
            Field { name: name.clone(), ty: wire_type(ty), format: format.number() }
        })
        .collect()
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
        Self { cursor, form: Form::Rows(formats), look, made: 0, is_skipped: false }
    }

    /// Rows that COPY sends.
    pub fn copied(cursor: Cursor, layout: Layout, look: Look) -> Self {
        Self { cursor, form: Form::Copied(layout, true), look, made: 0, is_skipped: false }
    }

    /// Names, types and kind.
    pub fn header(&self) -> &QueryResult {
        self.cursor.header()
    }

    /// Whether there are columns.
    pub fn has_columns(&self) -> bool {
        self.cursor.kind() == ResultKind::Rows
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
        if !self.has_columns() {
            return Ok(true);
        }
        if let Form::Copied(layout, is_first @ true) = &mut self.form {
            *is_first = false;
            layout.write_head(out, self.cursor.names());
        }
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
                Form::Rows(formats) => write_rows(out, &chunk(), formats, &self.look)?,
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

/// Writes rows. An error leaves none of a half-written one behind.
fn write_rows(out: &mut Vec<u8>, chunk: &Chunk, formats: &[Format], look: &Look) -> Result<()> {
    let count = field_count(chunk.column_count())?;
    let columns = (0..chunk.column_count()).map(|index| chunk.column(index)).collect::<Result<Vec<_>>>()?;
    for row in 0..chunk.len() {
        let start = out.len();
        out.push(b'D');
        let done = write_sized_all(out, |out| {
            out.extend(count.to_be_bytes());
            for (column, format) in columns.iter().zip(formats) {
                if column.is_null(row) {
                    out.extend((-1i32).to_be_bytes());
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

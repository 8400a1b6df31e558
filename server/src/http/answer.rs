//! Answers as JSON, a JSON object a line, CSV and Markdown, a piece at a time.
//!
//! The status is said before the last row is known. So an error behind the first piece ends the body without its last chunk, which no client takes for the
//! end; JSON says before what it was.

use super::failure::Failure;
use super::query::Format;
use super::sessions::Lease;
use crate::json::{Numbers, shown, write_json, write_text};
use crate::metrics::count;
use crate::session::{Call, PIECE_BYTES};
use bytes::Bytes;
use futures_util::stream::{self, Stream};
use inlay::{Chunk, Cursor, Error, Result, ResultKind, Value, Zone};
use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

/// Rows that are written before the size of a piece is looked at.
const STEP_ROWS: usize = 256;

/// How long the last piece before an error has to leave.
const LAST_WORDS: Duration = Duration::from_millis(50);

/// How an answer looks.
pub struct Shape {
    pub format: Format,
    pub numbers: Numbers,
    pub zone: Arc<Zone>,
}

/// An answer on its way.
pub struct Answer {
    cursor: Cursor,
    shape: Shape,
    rows: u64,
}

/// What is left to be sent.
enum Left {
    /// A piece that is made, and the answer behind it.
    Piece(String, Answer),
    Rows(Answer),
    /// An error that was said in the last piece.
    Broken(Error),
    Nothing,
}

impl Answer {
    pub fn new(cursor: Cursor, shape: Shape) -> Self {
        Self { cursor, shape, rows: 0 }
    }

    pub fn has_rows(&self) -> bool {
        self.cursor.kind() == ResultKind::Rows
    }

    pub fn content_type(&self) -> &'static str {
        match self.shape.format {
            Format::Json => "application/json",
            Format::NdJson => "application/x-ndjson",
            Format::Csv => "text/csv; charset=utf-8; header=present",
            Format::Markdown => "text/markdown; charset=utf-8",
            Format::Arrow | Format::Parquet => "application/octet-stream",
        }
    }

    /// Makes the first piece; the rest is absent where that was all.
    pub fn first(mut self, call: &Call) -> Result<(String, Option<Self>)> {
        let mut out = String::new();
        if !self.has_rows() {
            self.write_done(&mut out);
            return Ok((out, None));
        }
        self.write_head(&mut out);
        let is_all = self.fill(call, &mut out)?;
        Ok((out, (!is_all).then_some(self)))
    }

    /// What a statement without rows did.
    fn write_done(&self, out: &mut String) {
        let header = self.cursor.header();
        match self.shape.format {
            Format::Json | Format::NdJson => {
                let _ = write!(out, "{{\"command\":\"{}\"", header.command().tag());
                if let Some(changed) = header.changed_rows() {
                    let _ = write!(out, ",\"changed\":{changed}");
                }
                out.push_str("}\n");
            }
            Format::Csv | Format::Markdown | Format::Arrow | Format::Parquet => {}
        }
    }

    fn write_head(&self, out: &mut String) {
        let (names, types) = (self.cursor.names(), self.cursor.types());
        match self.shape.format {
            Format::Json => {
                out.push_str("{\"columns\":[");
                for (index, (name, ty)) in names.iter().zip(types).enumerate() {
                    out.push_str(if index > 0 { ",{\"name\":" } else { "{\"name\":" });
                    write_text(out, name);
                    out.push_str(",\"type\":");
                    write_text(out, &ty.to_string());
                    out.push('}');
                }
                out.push_str("],\"rows\":[");
            }
            Format::Csv => {
                for (index, name) in names.iter().enumerate() {
                    separate(out, index, ',');
                    write_csv(out, name);
                }
                out.push_str("\r\n");
            }
            Format::Markdown => {
                for name in names {
                    out.push_str("| ");
                    write_cell(out, name);
                    out.push(' ');
                }
                out.push_str("|\n");
                for ty in types {
                    out.push_str(if ty.is_numeric() { "|---:" } else { "|---" });
                }
                out.push_str("|\n");
            }
            Format::NdJson | Format::Arrow | Format::Parquet => {}
        }
    }

    fn write_foot(&self, out: &mut String) {
        if self.shape.format == Format::Json {
            let _ = writeln!(out, "],\"row_count\":{}}}", self.rows);
        }
    }

    /// Writes rows until a piece is full; whether they were the last.
    fn fill(&mut self, call: &Call, out: &mut String) -> Result<bool> {
        let names = self.cursor.header().unique_names();
        while out.len() < PIECE_BYTES {
            let Some((batch, rows)) = self.cursor.peek(Some(&call.host), STEP_ROWS)? else {
                self.write_foot(out);
                return Ok(true);
            };
            let chunk = Chunk::new(&batch.slice(rows.start, rows.len()));
            for row in 0..chunk.len() {
                self.write_row(out, &names, &chunk, row)?;
                self.rows += 1;
            }
            self.cursor.skip(chunk.len());
        }
        Ok(false)
    }

    fn write_row(&self, out: &mut String, names: &[String], chunk: &Chunk, row: usize) -> Result<()> {
        let Shape { format, numbers, zone } = &self.shape;
        out.push_str(match format {
            Format::Json if self.rows == 0 => "\n[",
            Format::Json => ",\n[",
            Format::NdJson => "{",
            Format::Csv | Format::Markdown | Format::Arrow | Format::Parquet => "",
        });
        for (index, name) in names.iter().enumerate() {
            let value = chunk.column(index)?.value(row);
            match format {
                Format::Json => {
                    separate(out, index, ',');
                    write_json(out, &value, zone, *numbers);
                }
                Format::NdJson => {
                    separate(out, index, ',');
                    write_text(out, name);
                    out.push(':');
                    write_json(out, &value, zone, *numbers);
                }
                Format::Csv => {
                    separate(out, index, ',');
                    write_csv_value(out, &value, zone);
                }
                Format::Markdown => {
                    out.push_str("| ");
                    if !value.is_null() {
                        write_cell(out, &shown(&value, zone));
                    }
                    out.push(' ');
                }
                Format::Arrow | Format::Parquet => {}
            }
        }
        out.push_str(match format {
            Format::Json => "]",
            Format::NdJson => "}\n",
            Format::Csv => "\r\n",
            Format::Markdown => "|\n",
            Format::Arrow | Format::Parquet => "",
        });
        Ok(())
    }

    /// The body: the first piece, and one after the other behind it, each made when the one before was taken.
    pub fn stream(self, session: Lease, first: String) -> impl Stream<Item = Result<Bytes>> + Send {
        stream::unfold((session, Left::Piece(first, self)), |(session, left)| async move {
            let (piece, left) = match left {
                Left::Piece(piece, answer) => (piece, Left::Rows(answer)),
                Left::Rows(answer) => next(&session, answer).await,
                Left::Broken(error) => {
                    // The connection is closed at once: what was said last goes first.
                    tokio::time::sleep(LAST_WORDS).await;
                    return Some((Err(error), (session, Left::Nothing)));
                }
                Left::Nothing => return None,
            };
            count(&session.served().metrics.sent_bytes, piece.len() as u64);
            Some((Ok(Bytes::from(piece)), (session, left)))
        })
    }
}

/// The next piece, and what is left behind it.
async fn next(session: &Lease, answer: Answer) -> (String, Left) {
    let is_json = matches!(answer.shape.format, Format::Json | Format::NdJson);
    let made = session
        .run(move |call| {
            let (mut answer, mut out) = (answer, String::new());
            Ok(match answer.fill(call, &mut out) {
                Ok(true) => (out, Left::Nothing),
                Ok(false) => (out, Left::Rows(answer)),
                Err(error) => {
                    if is_json {
                        out.push('\n');
                        out.push_str(Failure::of(&error).text());
                    }
                    (out, Left::Broken(error))
                }
            })
        })
        .await;
    made.unwrap_or_else(|error| (String::new(), Left::Broken(error)))
}

fn separate(out: &mut String, index: usize, separator: char) {
    if index > 0 {
        out.push(separator);
    }
}

/// A value of CSV (RFC 4180): NULL is nothing, an empty text is a pair of quotes.
fn write_csv_value(out: &mut String, value: &Value, zone: &Zone) {
    match value {
        Value::Null => {}
        Value::Varchar(text) => write_csv(out, text),
        Value::List { .. }
        | Value::Array { .. }
        | Value::Struct { .. }
        | Value::Map { .. }
        | Value::Union { .. } => {
            let mut text = String::new();
            write_json(&mut text, value, zone, Numbers::Exact);
            write_csv(out, &text);
        }
        _ => write_csv(out, &shown(value, zone)),
    }
}

fn write_csv(out: &mut String, text: &str) {
    if !text.is_empty() && !text.contains(['"', ',', '\n', '\r']) {
        return out.push_str(text);
    }
    out.push('"');
    out.push_str(&text.replace('"', "\"\""));
    out.push('"');
}

/// A text that stays in its cell of Markdown.
fn write_cell(out: &mut String, text: &str) {
    for c in text.chars() {
        match c {
            '|' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("<br>"),
            '\r' => {}
            c => out.push(c),
        }
    }
}

//! COPY from and to the client, in text, CSV and binary.
//!
//! Rows that come are parsed as they come and go into the table in parts, within a transaction or a savepoint of their own: all of them, or none.
//! Never more is in memory than a part of the table's rows and the record that is not complete. Rows that go are an answer like any other, but for
//! their layout ([`layout`]).

pub mod layout;
pub mod records;

use super::decode::{text_value, value_of};
use super::encode::Format;
use super::message::{self, Frontend, broken};
use super::rows::Rows;
use super::scan::{Word, Words};
use super::types::wire_type;
use super::{Client, Sent, look_of};
use crate::session::{Call, FIRST_BYTES};
use inlay::types::LogicalType;
use inlay::{Appender, Error, Extent, Parameters, Result, Transaction, Value, Zone, sql};
use layout::{Header, Kind, Layout};
use records::{Field, Records};
use std::io;
use std::sync::Arc;

/// Bytes of rows that are taken from the client before they are parsed.
const PART_BYTES: usize = 256 << 10;

/// A COPY.
#[derive(Clone, Debug, PartialEq)]
pub struct Copy {
    what: What,
    layout: Layout,
}

#[derive(Clone, Debug, PartialEq)]
enum What {
    /// From the client into a table, or some of its columns.
    In { table: Vec<String>, columns: Vec<String> },
    /// The rows of a query to the client.
    Out { query: String },
}

impl Copy {
    /// The statement behind the word COPY, if it is one from or to the client.
    pub fn of(words: Words<'_>) -> Result<Option<Self>> {
        let mut words = words;
        if words.takes_sign('(') {
            let query = words.bracketed()?.to_string();
            if !(words.takes("to") && words.takes("stdout")) {
                return Ok(None);
            }
            let layout = Layout::read(&mut words)?;
            return Ok(Some(Self { what: What::Out { query }, layout }));
        }
        let is_binary = words.clone().takes("binary") && {
            let mut ahead = words.clone();
            ahead.takes("binary")
                && !ahead.takes("from")
                && !ahead.takes("to")
                && !ahead.takes_sign('(')
                && !ahead.takes_sign('.')
        };
        if is_binary {
            words.takes("binary");
        }
        let mut table = vec![words.name()?];
        while words.takes_sign('.') {
            table.push(words.name()?);
        }
        let mut columns = Vec::new();
        if words.takes_sign('(') {
            loop {
                columns.push(words.name()?);
                if !words.takes_sign(',') {
                    break;
                }
            }
            if !words.takes_sign(')') {
                return Err(Error::Syntax {
                    message: "expected a bracket behind the columns of COPY".to_string(),
                });
            }
        }
        let what = if words.takes("from") && words.takes("stdin") {
            What::In { table, columns }
        } else if words.takes("to") && words.takes("stdout") {
            let list: Vec<String> = columns.iter().map(|column| sql::ident(column)).collect();
            let list = if list.is_empty() { "*".to_string() } else { list.join(", ") };
            What::Out { query: format!("SELECT {list} FROM {}", sql::path(&table)) }
        } else {
            return Ok(None);
        };
        let mut layout = Layout::read(&mut words)?;
        if is_binary {
            layout.kind = Kind::Binary;
        }
        Ok(Some(Self { what, layout }))
    }
}

/// Rows on their way into a table.
struct Incoming {
    appender: Appender,
    /// Ended by hand: one that is dropped is rolled back.
    transaction: Transaction,
    types: Vec<LogicalType>,
    records: Records,
    zone: Arc<Zone>,
    table: String,
    rows: u64,
}

impl Incoming {
    fn begin(
        call: &Call,
        table: &[String],
        columns: &[String],
        layout: &Layout,
        record_max: usize,
    ) -> Result<Self> {
        let zone = call.connection.time_zone()?;
        let transaction = call.connection.transaction()?;
        let columns: Option<Vec<&str>> =
            (!columns.is_empty()).then(|| columns.iter().map(String::as_str).collect());
        let appender = call.connection.appender(table.iter().map(String::as_str), columns.as_deref())?;
        let types = appender.types().to_vec();
        let names = appender.names().to_vec();
        let records = Records::new(layout, names, record_max);
        Ok(Self { appender, transaction, types, records, zone, table: table.join("."), rows: 0 })
    }

    /// Takes bytes that came; whether they were the last.
    fn take(&mut self, call: &Call, bytes: &[u8], is_last: bool) -> Result<()> {
        let Self { appender, types, records, zone, table, rows, .. } = self;
        records.feed(bytes, is_last, |fields, line| {
            let malformed = |message: String| Error::MalformedFile {
                path: format!("COPY {table}"),
                line: Some(line),
                message,
            };
            if fields.len() < types.len() {
                return Err(malformed(format!(
                    "missing data for column \"{}\"",
                    appender.names()[fields.len()]
                )));
            }
            if fields.len() > types.len() {
                return Err(malformed("extra data after last expected column".to_string()));
            }
            for (index, (field, ty)) in fields.iter().zip(&*types).enumerate() {
                let value = value_of_field(field, ty, zone).map_err(|error| {
                    error.with_hint(format!(
                        "in line {line}, column \"{}\" of COPY {table}",
                        appender.names()[index]
                    ))
                })?;
                appender.push(value)?;
            }
            *rows += 1;
            appender.end_row(Some(&call.host))
        })
    }

    fn finish(self, call: &Call) -> Result<u64> {
        let Self { appender, transaction, rows, .. } = self;
        appender.close(Some(&call.host))?;
        transaction.commit()?;
        Ok(rows)
    }
}

fn value_of_field(field: &Field<'_>, ty: &LogicalType, zone: &Zone) -> Result<Value> {
    match field {
        Field::Null => Ok(Value::Null),
        Field::Text(text) => text_value(text, 0, Some(ty), zone),
        Field::Binary(bytes) => value_of(bytes, Format::Binary, wire_type(ty).oid, Some(ty), zone),
    }
}

impl Client {
    pub async fn copy(&mut self, copy: Copy) -> io::Result<Result<String>> {
        match copy.what {
            What::In { table, columns } => self.copy_in(table, columns, copy.layout).await,
            What::Out { query } => self.copy_out(query, copy.layout).await,
        }
    }

    async fn copy_out(&mut self, query: String, layout: Layout) -> io::Result<Result<String>> {
        let given = layout.clone();
        let rows = self
            .work(move |call| {
                let look = look_of(call)?;
                let none = Parameters::default();
                let (first, rest) = call.connection.stream_with(
                    &query,
                    Extent::Statement,
                    &none,
                    Some(&call.host),
                    FIRST_BYTES,
                )?;
                let cursor = inlay::Cursor::new(call.connection.clone(), first, rest);
                Ok(Rows::copied(cursor, given, look))
            })
            .await?;
        let rows = match rows {
            Ok(rows) => rows,
            Err(error) => return Ok(Err(error)),
        };
        if !rows.has_columns() {
            return Ok(Err(Error::Bind {
                message: "COPY TO STDOUT takes a query that gives rows".to_string(),
            }));
        }
        let started = self.copy_response(b'H', layout.kind, rows.header().types().len());
        if let Err(error) = started {
            return Ok(Err(error));
        }
        Ok(match self.send(rows, None).await? {
            Ok(Sent::All(tag, _)) => {
                message::write(&mut self.wire.output, b'c', |_| ());
                Ok(tag)
            }
            Ok(Sent::Some(_)) => Err(Error::internal("a part of COPY was asked for")),
            Err(error) => Err(error),
        })
    }

    /// Says that rows are to come, in which direction and layout.
    fn copy_response(&mut self, kind: u8, layout: Kind, columns: usize) -> Result<()> {
        let count = message::field_count(columns)?;
        let format = i16::from(layout == Kind::Binary);
        message::write(&mut self.wire.output, kind, |out| {
            out.push(format as u8);
            out.extend(count.to_be_bytes());
            (0..columns).for_each(|_| out.extend(format.to_be_bytes()));
        });
        Ok(())
    }

    async fn copy_in(
        &mut self,
        table: Vec<String>,
        columns: Vec<String>,
        layout: Layout,
    ) -> io::Result<Result<String>> {
        let (kind, record_max) = (layout.kind, self.session.served().options.message_bytes_max);
        let begun =
            self.work(move |call| Incoming::begin(call, &table, &columns, &layout, record_max)).await?;
        let mut incoming = match begun {
            Ok(incoming) => incoming,
            Err(error) => return Ok(Err(error)),
        };
        if let Err(error) = self.copy_response(b'G', kind, incoming.types.len()) {
            return Ok(Err(error));
        }
        loop {
            let (part, end) = match self.copy_part().await? {
                Ok(part) => part,
                Err(error) => {
                    self.undone(incoming).await?;
                    return Ok(Err(error));
                }
            };
            let taken = self
                .work(move |call| {
                    match incoming.take(call, &part, end) {
                        Ok(()) if end => Ok((None, incoming.finish(call)?)),
                        Ok(()) => Ok((Some(incoming), 0)),
                        // Dropped here, it is undone on this thread.
                        Err(error) => Err(error),
                    }
                })
                .await?;
            incoming = match taken {
                Ok((None, rows)) => return Ok(Ok(format!("COPY {rows}"))),
                Ok((Some(incoming), _)) => incoming,
                Err(error) => return Ok(Err(error)),
            };
        }
    }

    async fn undone(&mut self, incoming: Incoming) -> io::Result<()> {
        self.work(move |_| {
            drop(incoming);
            Ok(())
        })
        .await
        .map(drop)
    }

    /// The next bytes of rows, and whether they are the last.
    async fn copy_part(&mut self) -> io::Result<Result<(Vec<u8>, bool)>> {
        let mut part = Vec::new();
        loop {
            let Some((kind, body)) = self.next_message().await? else {
                // The client is told why before it is left.
                self.wire.flush().await?;
                return Err(io::Error::from(io::ErrorKind::UnexpectedEof));
            };
            match message::read(kind, &body) {
                Ok(Frontend::CopyData(bytes)) => part.extend_from_slice(bytes),
                Ok(Frontend::CopyDone) => return Ok(Ok((part, true))),
                Ok(Frontend::CopyFail(why)) => {
                    let message = format!("COPY from stdin failed: {why}");
                    return Ok(Err(Error::External { message, cause: None }));
                }
                Ok(Frontend::Flush | Frontend::Sync) => {}
                // It goes, and what came of the rows is undone with its session.
                Ok(Frontend::Terminate) => return Err(io::Error::from(io::ErrorKind::UnexpectedEof)),
                Ok(_) => return Ok(Err(broken("only rows may come during COPY"))),
                Err(error) => return Ok(Err(error)),
            }
            // More that has come already is taken along.
            let has_more = self.wire.input.first() == Some(&b'd')
                && self.wire.peek_u32(1).is_some_and(|len| self.wire.input.len() > len as usize);
            if !has_more || part.len() >= PART_BYTES {
                return Ok(Ok((part, false)));
            }
        }
    }
}

/// The next word as the truth that an option of COPY takes; none is yes.
pub fn truth(words: &mut Words<'_>) -> Result<Option<Header>> {
    let mut ahead = words.clone();
    let found = match ahead.next()? {
        Some(Word::Plain(word) | Word::Text(word)) => match word.to_lowercase().as_str() {
            "true" | "on" => Some(Header::Yes),
            "false" | "off" => Some(Header::No),
            "match" => Some(Header::Match),
            _ => None,
        },
        Some(Word::Number(1)) => Some(Header::Yes),
        Some(Word::Number(0)) => Some(Header::No),
        Some(Word::Quoted(_) | Word::Number(_) | Word::Sign(_)) | None => None,
    };
    if found.is_some() {
        *words = ahead;
    }
    Ok(found)
}

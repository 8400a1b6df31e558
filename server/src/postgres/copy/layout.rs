//! How rows of COPY look: the options of the statement, in PostgreSQL's new form and in its old one, and rows written so.

use super::super::encode::{Format, Look, write_sized, write_text, write_value};
use super::super::message;
use super::super::scan::Words;
use super::truth;
use inlay::{Chunk, Error, Result};

/// What binary rows begin with: a signature, no flags, no more.
pub const SIGNATURE: &[u8] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Text,
    Csv,
    Binary,
}

/// Whether the first row is the names of the columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Header {
    No,
    Yes,
    /// They have to be those of the table.
    Match,
}

/// See the module documentation.
#[derive(Clone, Debug, PartialEq)]
pub struct Layout {
    pub kind: Kind,
    pub delimiter: u8,
    pub null: String,
    pub header: Header,
    pub quote: u8,
    pub escape: u8,
    /// Whether all values but NULL are in quotes.
    quotes_all: bool,
}

/// Options as they are given.
#[derive(Default)]
struct Given {
    kind: Option<Kind>,
    delimiter: Option<String>,
    null: Option<String>,
    header: Option<Header>,
    quote: Option<String>,
    escape: Option<String>,
    quotes_all: bool,
}

impl Layout {
    /// Reads the options up to the end of the statement.
    pub fn read(words: &mut Words<'_>) -> Result<Self> {
        words.takes("with");
        let mut given = Given::default();
        if words.takes_sign('(') {
            loop {
                given.option(words, true)?;
                if !words.takes_sign(',') {
                    break;
                }
            }
            if !words.takes_sign(')') {
                return Err(wrong("expected a bracket behind the options of COPY"));
            }
        } else {
            while !words.is_over() {
                given.option(words, false)?;
            }
        }
        words.end()?;
        given.layout()
    }
}

fn wrong(message: impl Into<String>) -> Error {
    Error::Syntax { message: message.into() }
}

impl Given {
    /// Takes an option. In the old form kinds are words of their own, and AS may stand before a value.
    fn option(&mut self, words: &mut Words<'_>, is_new: bool) -> Result<()> {
        let name = words.name()?;
        let mut value = || {
            words.takes("as");
            words.value()
        };
        match name.as_str() {
            "format" if is_new => self.kind = Some(kind_of(&value()?)?),
            "csv" if !is_new => self.kind = Some(Kind::Csv),
            "binary" if !is_new => self.kind = Some(Kind::Binary),
            "text" if !is_new => self.kind = Some(Kind::Text),
            "delimiter" | "delimiters" => self.delimiter = Some(value()?),
            "null" => self.null = Some(value()?),
            "quote" => self.quote = Some(value()?),
            "escape" => self.escape = Some(value()?),
            "header" => self.header = Some(truth(words)?.unwrap_or(Header::Yes)),
            "encoding" => {
                let encoding = value()?.to_lowercase();
                if !matches!(encoding.as_str(), "utf8" | "utf-8" | "unicode") {
                    return Err(
                        Error::unsupported(format!("COPY in the encoding {encoding}")).with_hint("UTF8 is")
                    );
                }
            }
            "freeze" => drop(truth(words)?),
            "force_quote" if words.takes_sign('*') => self.quotes_all = true,
            other => {
                let known = "FORMAT, DELIMITER, NULL, HEADER, QUOTE, ESCAPE, ENCODING and FORCE_QUOTE *";
                return Err(Error::unsupported(format!("the option {other} of COPY"))
                    .with_hint(format!("there are {known}")));
            }
        }
        Ok(())
    }

    fn layout(self) -> Result<Layout> {
        let kind = self.kind.unwrap_or(Kind::Text);
        let sign = |name: &str, given: Option<String>, default: u8| match given.as_deref().map(str::as_bytes)
        {
            None => Ok(default),
            Some([one]) if !matches!(one, b'\n' | b'\r' | b'\\') || kind == Kind::Csv => Ok(*one),
            Some(_) => {
                Err(Error::invalid_argument(format!("{name} of COPY must be a single one-byte character")))
            }
        };
        let quote = sign("QUOTE", self.quote, b'"')?;
        let layout = Layout {
            kind,
            delimiter: sign("DELIMITER", self.delimiter, if kind == Kind::Csv { b',' } else { b'\t' })?,
            null: self
                .null
                .unwrap_or_else(|| if kind == Kind::Csv { String::new() } else { "\\N".to_string() }),
            header: self.header.unwrap_or(Header::No),
            quote,
            escape: sign("ESCAPE", self.escape, quote)?,
            quotes_all: self.quotes_all,
        };
        if kind == Kind::Csv && layout.delimiter == layout.quote {
            return Err(Error::invalid_argument("DELIMITER and QUOTE of COPY must be different"));
        }
        Ok(layout)
    }
}

fn kind_of(text: &str) -> Result<Kind> {
    match text.to_lowercase().as_str() {
        "text" => Ok(Kind::Text),
        "csv" => Ok(Kind::Csv),
        "binary" => Ok(Kind::Binary),
        other => Err(Error::unsupported(format!("COPY from or to the client as {other}"))
            .with_hint("text, csv and binary are")),
    }
}

impl Layout {
    /// Writes what stands in front of the rows.
    pub fn write_head(&self, out: &mut Vec<u8>, names: &[String]) {
        match (self.kind, self.header) {
            // It goes with the first row: clients take a message for a row.
            (Kind::Binary, _) => {}
            (Kind::Text | Kind::Csv, Header::No) => {}
            (Kind::Text | Kind::Csv, Header::Yes | Header::Match) => message::write(out, b'd', |out| {
                for (index, name) in names.iter().enumerate() {
                    self.write_field(out, index, Some(name));
                }
                out.push(b'\n');
            }),
        }
    }

    /// Writes what stands behind them; whether there were any says where the signature was.
    pub fn write_foot(&self, out: &mut Vec<u8>, is_empty: bool) {
        if self.kind == Kind::Binary {
            message::write(out, b'd', |out| {
                out.extend_from_slice(if is_empty { SIGNATURE } else { &[] });
                out.extend((-1i16).to_be_bytes());
            });
        }
    }

    fn write_field(&self, out: &mut Vec<u8>, index: usize, text: Option<&str>) {
        if index > 0 {
            out.push(self.delimiter);
        }
        match (text, self.kind) {
            (None, _) => out.extend_from_slice(self.null.as_bytes()),
            (Some(text), Kind::Csv) => self.write_csv(out, text),
            (Some(text), Kind::Text | Kind::Binary) => self.write_escaped(out, text),
        }
    }

    fn write_csv(&self, out: &mut Vec<u8>, text: &str) {
        let is_sign =
            |byte: u8| byte == self.delimiter || byte == self.quote || matches!(byte, b'\n' | b'\r');
        if !self.quotes_all && text != self.null && text != "\\." && !text.bytes().any(is_sign) {
            return out.extend_from_slice(text.as_bytes());
        }
        out.push(self.quote);
        for byte in text.bytes() {
            if byte == self.quote || byte == self.escape {
                out.push(self.escape);
            }
            out.push(byte);
        }
        out.push(self.quote);
    }

    fn write_escaped(&self, out: &mut Vec<u8>, text: &str) {
        for byte in text.bytes() {
            match byte {
                b'\\' => out.extend_from_slice(b"\\\\"),
                b'\n' => out.extend_from_slice(b"\\n"),
                b'\r' => out.extend_from_slice(b"\\r"),
                b'\t' => out.extend_from_slice(b"\\t"),
                8 => out.extend_from_slice(b"\\b"),
                11 => out.extend_from_slice(b"\\v"),
                12 => out.extend_from_slice(b"\\f"),
                byte if byte == self.delimiter => out.extend_from_slice(&[b'\\', byte]),
                byte => out.push(byte),
            }
        }
    }

    /// Writes rows, each as a message; `is_first` if none were written before.
    pub fn write_rows(&self, out: &mut Vec<u8>, chunk: &Chunk, look: &Look, is_first: bool) -> Result<()> {
        let count = message::field_count(chunk.column_count())?;
        let columns =
            (0..chunk.column_count()).map(|index| chunk.column(index)).collect::<Result<Vec<_>>>()?;
        let mut text = String::new();
        for row in 0..chunk.len() {
            let mut failure = None;
            let start = out.len();
            message::write(out, b'd', |out| {
                if self.kind == Kind::Binary {
                    out.extend_from_slice(if is_first && row == 0 { SIGNATURE } else { &[] });
                    out.extend(count.to_be_bytes());
                }
                for (index, column) in columns.iter().enumerate() {
                    let (value, ty) = (column.value(row), column.ty());
                    if self.kind == Kind::Binary {
                        let written = if value.is_null() {
                            out.extend((-1i32).to_be_bytes());
                            Ok(())
                        } else {
                            write_sized(out, |out| write_value(out, &value, ty, Format::Binary, look))
                        };
                        failure = failure.take().or(written.err());
                        continue;
                    }
                    text.clear();
                    if !value.is_null() {
                        write_text(&mut text, &value, ty, look);
                    }
                    self.write_field(out, index, (!value.is_null()).then_some(&text));
                }
                if self.kind != Kind::Binary {
                    out.push(b'\n');
                }
            });
            let len = out.len() - start;
            if failure.is_none() && i32::try_from(len).is_err() {
                failure =
                    Some(Error::out_of_range(format!("a row of {len} bytes does not fit into a message")));
            }
            if let Some(error) = failure {
                out.truncate(start);
                return Err(error);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_those_of_both_forms() {
        let read = |text: &str| Layout::read(&mut Words::new(text));
        let new = read(
            "WITH (FORMAT csv, HEADER, DELIMITER ';', NULL 'x', QUOTE '\"', ESCAPE '\\', FORCE_QUOTE *)",
        )
        .unwrap();
        assert_eq!(
            (new.kind, new.header, new.delimiter, new.null.as_str(), new.escape),
            (Kind::Csv, Header::Yes, b';', "x", b'\\')
        );
        let old = read("with csv header delimiter as ';' null 'x'").unwrap();
        assert_eq!(
            (old.kind, old.header, old.delimiter, old.null.as_str()),
            (Kind::Csv, Header::Yes, b';', "x")
        );
        assert_eq!(read("BINARY").unwrap().kind, Kind::Binary);
        assert_eq!(read("(FORMAT 'binary')").unwrap().kind, Kind::Binary);
        assert_eq!(read("(DELIMITER E'\\t', HEADER false)").unwrap(), read("").unwrap());
        for text in [
            "(FORMAT parquet)",
            "(DELIMITER 'ab')",
            "(NONSENSE 1)",
            "(FORMAT csv",
            "csv; SELECT 1",
            "(ENCODING 'latin1')",
        ] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}

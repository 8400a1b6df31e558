//! Rows as JSON objects, column by column as far as types allow.

use super::packed::Writer;
use super::value::{quote, quote_bytes};
use crate::cast::shown;
use inlay_types::{Batch, LogicalType, Result, Vector};

/// Appends rows as objects.
#[derive(Debug)]
pub struct ObjectWriter {
    /// By column: what comes before its value, `{"name":` or `,"name":`.
    keys: Vec<String>,
}

/// A column whose values are written.
enum Written<'a> {
    /// Texts as they are.
    Plain(Vector),
    /// Texts to be quoted.
    Quoted(Vector),
    /// Nested values from their bytes.
    Packed(Writer, Vector),
    /// Values of other types, one by one.
    Values(&'a Vector),
}

impl ObjectWriter {
    /// A writer of objects with these keys.
    pub fn new(names: &[String]) -> Self {
        let key = |(index, name): (usize, &String)| {
            let mut key = if index == 0 { "{" } else { "," }.to_string();
            quote(name, &mut key);
            key.push(':');
            key
        };
        Self { keys: names.iter().enumerate().map(key).collect() }
    }

    /// Appends the rows of a batch, each between `before` and `behind`.
    pub fn write(&self, batch: &Batch, (before, behind): (&str, &str), out: &mut Vec<u8>) -> Result<()> {
        let columns = batch.columns().iter().map(Written::of).collect::<Result<Vec<Written<'_>>>>()?;
        for row in 0..batch.len() {
            out.extend_from_slice(before.as_bytes());
            if columns.is_empty() {
                out.push(b'{');
            }
            for (key, column) in self.keys.iter().zip(&columns) {
                out.extend_from_slice(key.as_bytes());
                column.write(row, out);
            }
            out.push(b'}');
            out.extend_from_slice(behind.as_bytes());
        }
        Ok(())
    }
}

impl<'a> Written<'a> {
    fn of(column: &'a Vector) -> Result<Self> {
        let ty = column.ty();
        Ok(match ty {
            // Not all numbers are in JSON as they are displayed.
            LogicalType::Real | LogicalType::Double | LogicalType::Null | LogicalType::Json => {
                Self::Values(column)
            }
            LogicalType::List(_) | LogicalType::Array(..) | LogicalType::Struct(_) | LogicalType::Map(_) => {
                Self::Packed(Writer::of(ty), column.flatten())
            }
            ty if ty.is_nested() => Self::Values(column),
            ty if super::values::is_plain(ty) => Self::Plain(shown(column)?),
            _ => Self::Quoted(shown(column)?),
        })
    }

    fn write(&self, row: usize, out: &mut Vec<u8>) {
        match self {
            Self::Plain(texts) | Self::Quoted(texts) | Self::Packed(_, texts) if texts.is_null(row) => {
                out.extend_from_slice(b"null")
            }
            Self::Packed(writer, packed) => {
                writer.write(Some(packed.views()[row].bytes(packed.heap().buffers())), out);
            }
            Self::Plain(texts) => out.extend_from_slice(texts.views()[row].bytes(texts.heap().buffers())),
            Self::Quoted(texts) => quote_bytes(texts.views()[row].bytes(texts.heap().buffers()), out),
            Self::Values(column) => {
                let mut text = String::new();
                super::values::write(&column.get(row), &mut text);
                out.extend_from_slice(text.as_bytes());
            }
        }
    }
}

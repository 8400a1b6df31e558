//! JSON files from batches: an object per line, or one array of them.

use super::{FileWriter, Target};
use crate::option_text::{boolean, unknown_option};
use inlay_kernels::documents::write_object;
use inlay_types::{Batch, LogicalType, Result, Value};
use std::fs::File;
use std::io::{BufWriter, Write};

/// Bytes collected before they are written.
const FLUSH_SIZE: usize = 1 << 20;

#[derive(Debug)]
pub(super) struct JsonWriter {
    target: Target,
    file: BufWriter<File>,
    names: Vec<String>,
    types: Vec<LogicalType>,
    /// One array, not a line per row.
    array: bool,
    text: String,
    rows: u64,
}

impl JsonWriter {
    pub(super) fn open(
        path: &str,
        names: &[String],
        types: &[LogicalType],
        options: &[(String, Value)],
    ) -> Result<Self> {
        let mut array = false;
        for (name, value) in options {
            match name.as_str() {
                "array" => array = boolean(name, value)?,
                other => return Err(unknown_option("COPY TO a JSON file", other, &["array"])),
            }
        }
        let (target, file) = Target::create(path)?;
        let text = if array { "[\n\t".to_string() } else { String::new() };
        let (names, types) = (names.to_vec(), types.to_vec());
        Ok(Self { target, file: BufWriter::new(file), names, types, array, text, rows: 0 })
    }

    fn flush(&mut self) -> Result<()> {
        self.file.write_all(self.text.as_bytes()).map_err(|error| self.target.error(&error))?;
        self.text.clear();
        Ok(())
    }
}

impl FileWriter for JsonWriter {
    fn write(&mut self, batch: &Batch) -> Result<()> {
        for (column, ty) in batch.columns().iter().zip(&self.types) {
            column.expect_type(ty)?;
        }
        for row in 0..batch.len() {
            if self.array && self.rows > 0 {
                self.text.push_str(",\n\t");
            }
            let values = batch.columns().iter().map(|column| column.get(row));
            write_object(self.names.iter().map(String::as_str).zip(values), &mut self.text);
            if !self.array {
                self.text.push('\n');
            }
            self.rows += 1;
            if self.text.len() >= FLUSH_SIZE {
                self.flush()?;
            }
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<u64> {
        if self.array {
            self.text.push_str("\n]\n");
        }
        self.flush()?;
        self.file.flush().map_err(|error| self.target.error(&error))?;
        self.target.publish()?;
        Ok(self.rows)
    }
}

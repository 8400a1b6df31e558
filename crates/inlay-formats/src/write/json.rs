//! JSON files from batches: an object per line, or one array of them.

use super::packed::{Output, Packing};
use super::{Destination, FileWriter, Target};
use crate::option_text::{boolean, unknown_option};
use inlay_kernels::documents::write_object;
use inlay_types::{Batch, LogicalType, Result, Value};

/// Bytes collected before they are written.
const FLUSH_SIZE: usize = 1 << 20;

#[derive(Debug)]
pub(super) struct JsonWriter {
    target: Target,
    file: Output,
    names: Vec<String>,
    types: Vec<LogicalType>,
    /// One array, not a line per row.
    array: bool,
    text: String,
    rows: u64,
}

impl JsonWriter {
    pub(super) fn open(to: &Destination<'_>, options: &[(String, Value)]) -> Result<Self> {
        let (mut array, mut packing) = (false, Packing::of_path(to.path));
        for (name, value) in options {
            match name.as_str() {
                "array" => array = boolean(name, value)?,
                name if packing.set(name, value)? => {}
                other => {
                    let known = ["array", "compression", "compression_level"];
                    return Err(unknown_option("COPY TO a JSON file", other, &known));
                }
            }
        }
        let (target, file) = Target::create(to)?;
        let file = packing.output(file, &target)?;
        let text = if array { "[\n\t".to_string() } else { String::new() };
        let (names, types) = (to.names.to_vec(), to.types.to_vec());
        Ok(Self { target, file, names, types, array, text, rows: 0 })
    }

    fn flush(&mut self) -> Result<()> {
        self.file.write(self.text.as_bytes()).map_err(|error| self.target.error(&error))?;
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
        let Self { target, file, rows, .. } = *self;
        file.finish().map_err(|error| target.error(&error))?;
        target.publish()?;
        Ok(rows)
    }
}

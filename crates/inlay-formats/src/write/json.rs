//! JSON files from batches: an object per line, or one array of them.

use super::packed::{Packing, TextFile};
use super::{Destination, FileWriter, Target};
use crate::Parallel;
use crate::option_text::{boolean, unknown_option};
use inlay_kernels::json::objects::ObjectWriter;
use inlay_types::{Batch, LogicalType, Result, Value};

/// What comes between the objects of an array.
const BETWEEN: &str = ",\n\t";

#[derive(Debug)]
pub(super) struct JsonWriter {
    target: Target,
    file: TextFile,
    objects: ObjectWriter,
    types: Vec<LogicalType>,
    /// One array, not a line per row.
    array: bool,
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
        let mut file = packing.output(file, &target)?;
        if array {
            file.push(b"[\n\t".to_vec());
        }
        let (objects, types) = (ObjectWriter::new(to.names), to.types.to_vec());
        Ok(Self { target, file, objects, types, array, rows: 0 })
    }
}

impl FileWriter for JsonWriter {
    fn waiting(&self) -> u64 {
        self.file.waiting()
    }

    fn write(&mut self, batches: &[Batch], parallel: Parallel<'_>) -> Result<()> {
        let around = if self.array { (BETWEEN, "") } else { ("", "\n") };
        let Self { target, file, objects, types, .. } = self;
        let is_first = self.array && self.rows == 0;
        file.push_rows((parallel, target), batches, |number, batch| {
            let mut text = Vec::new();
            for (column, ty) in batch.columns().iter().zip(&*types) {
                column.expect_type(ty)?;
            }
            objects.write(batch, around, &mut text)?;
            if is_first && number == 0 {
                text.drain(..BETWEEN.len().min(text.len()));
            }
            Ok(text)
        })?;
        self.rows += batches.iter().map(|batch| batch.len() as u64).sum::<u64>();
        Ok(())
    }

    fn finish(mut self: Box<Self>, _: Parallel<'_>) -> Result<u64> {
        if self.array {
            self.file.push(b"\n]\n".to_vec());
        }
        let Self { target, file, rows, .. } = *self;
        file.finish().map_err(|error| target.error(&error))?;
        target.publish()?;
        Ok(rows)
    }
}

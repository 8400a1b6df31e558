//! Files of Arrow's own format from batches: with a footer (`.arrow`, `.feather`), or streams (`.arrows`).

use super::{Destination, FileWriter, Target};
use crate::Parallel;
use crate::option_text::{integer, text, unknown_option};
use crate::parquet::bridge;
use crate::stored::NOTE;
use arrow_array::RecordBatch;
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{IpcWriteOptions, StreamWriter};
use arrow_schema::ArrowError;
use inlay_types::arrow::{Exporter, StringLayout};
use inlay_types::size_limit::OutputFile;
use inlay_types::{Batch, Error, LogicalType, Result, Value, Vector, VectorBuilder};
use std::io::BufWriter;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Rows of a record batch unless `row_group_size` says otherwise.
const BATCH_ROWS: usize = 122_880;
/// Bytes of one, then, about: rows may be large.
const BATCH_SIZE: usize = 16 << 20;

enum Writer {
    File(Box<arrow_ipc::writer::FileWriter<BufWriter<OutputFile>>>),
    Stream(Box<StreamWriter<BufWriter<OutputFile>>>),
}

impl Writer {
    fn write(&mut self, records: &RecordBatch) -> std::result::Result<(), ArrowError> {
        match self {
            Self::File(writer) => writer.write(records),
            Self::Stream(writer) => writer.write(records),
        }
    }

    fn finish(self) -> std::result::Result<(), ArrowError> {
        let mut file = match self {
            Self::File(mut writer) => writer.finish().and_then(|()| writer.into_inner())?,
            Self::Stream(mut writer) => writer.finish().and_then(|()| writer.into_inner())?,
        };
        std::io::Write::flush(&mut file).map_err(ArrowError::from)
    }
}

pub(super) struct ArrowWriter {
    target: Target,
    writer: Writer,
    exporter: Exporter,
    /// Rows that make no batch of the file yet. Joined here and not as Arrow arrays, which would leave words of enums out
    /// that no row has: a file has one dictionary for all batches.
    open: Vec<VectorBuilder>,
    open_rows: usize,
    open_size: usize,
    size_max: usize,
    batch_rows: usize,
    rows: u64,
}

impl ArrowWriter {
    pub(super) fn open(
        to: &Destination<'_>,
        options: &[(String, Value)],
        is_stream: bool,
        note: Option<String>,
    ) -> Result<Self> {
        let (mut compression, mut batch_rows, mut size_max) = (None, BATCH_ROWS, BATCH_SIZE);
        for (name, value) in options {
            match name.as_str() {
                "compression" | "codec" => compression = compression_of(text(name, value)?)?,
                "row_group_size" | "chunk_size" => {
                    size_max = usize::MAX;
                    batch_rows = usize::try_from(integer(name, value)?)
                        .ok()
                        .filter(|rows| *rows > 0)
                        .ok_or_else(|| Error::invalid_argument(format!("{name} must be positive")))?;
                }
                other => {
                    return Err(unknown_option(
                        "COPY TO an Arrow file",
                        other,
                        &["compression", "row_group_size"],
                    ));
                }
            }
        }
        // Few functions of other libraries take views.
        let exporter = Exporter::new(to.names, to.types).with_strings(StringLayout::Utf8);
        let mut schema = bridge::schema_of(exporter.schema())?;
        schema.metadata.extend(note.map(|note| (NOTE.to_string(), note)));
        let (target, file) = Target::create(to)?;
        let failed = |error: ArrowError| failure(&target, &error);
        let options = IpcWriteOptions::default().try_with_compression(compression).map_err(failed)?;
        let file = BufWriter::new(file);
        let writer = if is_stream {
            let writer = StreamWriter::try_new_with_options(file, &schema, options).map_err(failed)?;
            Writer::Stream(Box::new(writer))
        } else {
            let writer = arrow_ipc::writer::FileWriter::try_new_with_options(file, &schema, options);
            Writer::File(Box::new(writer.map_err(failed)?))
        };
        let open = builders(to.types);
        Ok(Self { target, writer, exporter, open, open_rows: 0, open_size: 0, size_max, batch_rows, rows: 0 })
    }

    fn write_open(&mut self) -> Result<()> {
        if self.open_rows == 0 {
            return Ok(());
        }
        let types: Vec<LogicalType> = self.open.iter().map(VectorBuilder::logical_type).collect();
        let open = std::mem::replace(&mut self.open, builders(&types));
        let rows = std::mem::take(&mut self.open_rows);
        self.open_size = 0;
        self.write_batch(&Batch::new(open.into_iter().map(VectorBuilder::finish).collect(), rows))
    }

    /// Writes rows as one record batch, or as several where their texts are more than its offsets reach.
    fn write_batch(&mut self, batch: &Batch) -> Result<()> {
        let array = match self.exporter.batch(batch) {
            Err(Error::OutOfRange { .. }) if batch.len() > 1 => {
                let middle = batch.len() / 2;
                self.write_batch(&batch.slice(0, middle))?;
                return self.write_batch(&batch.slice(middle, batch.len() - middle));
            }
            array => array?,
        };
        let records = bridge::record_batch_of(array, self.exporter.schema())?;
        let write = AssertUnwindSafe(|| self.writer.write(&records));
        match catch_unwind(write) {
            Ok(outcome) => outcome.map_err(|error| failure(&self.target, &error)),
            Err(_) => Err(Error::internal("a panic while an Arrow file was written")),
        }
    }
}

/// Bytes that a column's values take of a builder.
fn size_of_values(column: &Vector) -> usize {
    column.len() * column.physical_type().size() + column.text_size()
}

fn builders(types: &[LogicalType]) -> Vec<VectorBuilder> {
    types.iter().map(|ty| VectorBuilder::new(ty.clone(), 0)).collect()
}

fn compression_of(name: &str) -> Result<Option<CompressionType>> {
    match name.to_ascii_lowercase().as_str() {
        "lz4" => Ok(Some(CompressionType::LZ4_FRAME)),
        "zstd" => Ok(Some(CompressionType::ZSTD)),
        "none" | "uncompressed" => Ok(None),
        other => {
            let message = format!("compression \"{other}\" is not known");
            let hint = "use lz4, zstd or uncompressed";
            Err(Error::invalid_argument(message).with_hint(hint))
        }
    }
}

fn failure(target: &Target, error: &ArrowError) -> Error {
    match error {
        ArrowError::IoError(_, cause) => target.error(cause),
        other => target.failure(other),
    }
}

impl FileWriter for ArrowWriter {
    fn write(&mut self, batches: &[Batch], _: Parallel<'_>) -> Result<()> {
        for batch in batches {
            self.rows += batch.len() as u64;
            self.open_rows += batch.len();
            self.open.iter_mut().zip(batch.columns()).for_each(|(open, column)| open.append(column));
            self.open_size += batch.columns().iter().map(size_of_values).sum::<usize>();
            if self.open_rows >= self.batch_rows || self.open_size >= self.size_max {
                self.write_open()?;
            }
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>, _: Parallel<'_>) -> Result<u64> {
        self.write_open()?;
        let Self { target, writer, rows, .. } = *self;
        writer.finish().map_err(|error| failure(&target, &error))?;
        target.publish()?;
        Ok(rows)
    }
}

//! Parquet files from batches.

use super::{FileWriter, Target};
use crate::option_text::{integer, text, unknown_option};
use crate::parquet::bridge;
use arrow_array::RecordBatch;
use inlay_types::arrow::Exporter;
use inlay_types::{Batch, Error, LogicalType, Result, Value};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, GzipLevel, ZstdLevel};
use parquet::file::properties::WriterProperties;
use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// Rows of a row group unless `row_group_size` says otherwise; DuckDB's number.
const ROW_GROUP_SIZE: usize = 122_880;

pub(super) struct ParquetWriter {
    target: Target,
    writer: ArrowWriter<File>,
    exporter: Exporter,
    rows: u64,
}

fn properties(options: &[(String, Value)]) -> Result<WriterProperties> {
    let mut compression = Compression::SNAPPY;
    let mut row_group_size = ROW_GROUP_SIZE;
    for (name, value) in options {
        match name.as_str() {
            "compression" | "codec" => {
                compression = match text(name, value)?.to_ascii_lowercase().as_str() {
                    "snappy" => Compression::SNAPPY,
                    "zstd" => Compression::ZSTD(ZstdLevel::default()),
                    "gzip" => Compression::GZIP(GzipLevel::default()),
                    "lz4" | "lz4_raw" => Compression::LZ4_RAW,
                    "uncompressed" | "none" => Compression::UNCOMPRESSED,
                    other => {
                        return Err(Error::invalid_argument(format!(
                            "compression \"{other}\" is not known; use snappy, zstd, gzip, lz4 or uncompressed"
                        )));
                    }
                }
            }
            "row_group_size" => {
                row_group_size = usize::try_from(integer(name, value)?)
                    .ok()
                    .filter(|&rows| rows > 0)
                    .ok_or_else(|| Error::invalid_argument("row_group_size must be positive"))?;
            }
            other => {
                return Err(unknown_option(
                    "COPY TO a Parquet file",
                    other,
                    &["compression", "row_group_size"],
                ));
            }
        }
    }
    let builder = WriterProperties::builder().set_compression(compression);
    Ok(builder.set_max_row_group_row_count(Some(row_group_size)).set_created_by("inlay".to_string()).build())
}

impl ParquetWriter {
    pub(super) fn open(
        path: &str,
        names: &[String],
        types: &[LogicalType],
        options: &[(String, Value)],
    ) -> Result<Self> {
        if let Some(index) = types.iter().position(|ty| *ty == LogicalType::Interval) {
            return Err(Error::Unsupported {
                feature: format!("column \"{}\" of type INTERVAL in a Parquet file", names[index]),
                alternative: Some("cast it to VARCHAR".to_string()),
            });
        }
        let properties = properties(options)?;
        let exporter = Exporter::new(names, types);
        let schema = Arc::new(bridge::schema_of(exporter.schema())?);
        let (target, file) = Target::create(path)?;
        let writer = ArrowWriter::try_new(file, schema, Some(properties)).map_err(|e| failure(&target, e))?;
        Ok(Self { target, writer, exporter, rows: 0 })
    }
}

fn failure(target: &Target, error: impl std::fmt::Display) -> Error {
    Error::Io {
        action: "cannot write",
        path: target.path.to_string_lossy().into_owned(),
        message: error.to_string(),
    }
}

impl FileWriter for ParquetWriter {
    fn write(&mut self, batch: &Batch) -> Result<()> {
        let records: RecordBatch =
            bridge::record_batch_of(self.exporter.batch(batch)?, self.exporter.schema())?;
        let write = AssertUnwindSafe(|| self.writer.write(&records).map_err(|e| failure(&self.target, e)));
        catch_unwind(write)
            .unwrap_or_else(|_| Err(Error::internal("a panic while a Parquet file was written")))?;
        self.rows += batch.len() as u64;
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<u64> {
        let Self { target, writer, rows, .. } = *self;
        writer.close().map_err(|e| failure(&target, e))?;
        target.publish()?;
        Ok(rows)
    }
}

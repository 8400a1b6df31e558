//! Between the arrow crates' arrays, which the parquet crate speaks, and ours: the C structs of both are the same.

#![expect(unsafe_code, reason = "arrays of the arrow crate are taken over by the C interface")]

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi, to_ffi};
use arrow_array::{Array, RecordBatch, StructArray};
use arrow_schema::{ArrowError, Schema};
use inlay_types::arrow::{ArrowArray, ArrowField, ArrowRecords, ArrowSchema};
use inlay_types::{Error, Result};

const _: () = assert!(size_of::<FFI_ArrowArray>() == size_of::<ArrowArray>());
const _: () = assert!(size_of::<FFI_ArrowSchema>() == size_of::<ArrowSchema>());

fn defect(error: &ArrowError) -> Error {
    Error::internal(format!("arrow arrays do not convert: {error}"))
}

/// The fields of a schema.
pub(crate) fn field_of(schema: &Schema) -> Result<ArrowField> {
    // Names of the interface end at a NUL byte, so that they cannot have one.
    let mut schema = FFI_ArrowSchema::try_from(schema).map_err(|error| Error::Unsupported {
        feature: format!("a file with such a schema ({error})"),
        alternative: Some("rename the column with the program that wrote it".to_string()),
    })?;
    // SAFETY: both are the struct of the C data interface; `take` leaves `schema` released, so that it is dropped once.
    let schema = unsafe { ArrowSchema::take((&raw mut schema).cast()) }?;
    ArrowField::read(&schema)
}

/// A record batch as columns of ours, sharing its memory.
pub(crate) fn records_of(batch: RecordBatch, field: &ArrowField) -> Result<ArrowRecords> {
    let (mut array, _) = to_ffi(&StructArray::from(batch).into_data()).map_err(|e| defect(&e))?;
    // SAFETY: both are the struct of the C data interface; `take` leaves `array` released, so that it is dropped once.
    let array = unsafe { ArrowArray::take((&raw mut array).cast()) }?;
    ArrowRecords::import(array, field)
}

/// An exported struct array as a record batch.
pub(crate) fn record_batch_of(mut array: ArrowArray, mut schema: ArrowSchema) -> Result<RecordBatch> {
    // SAFETY: both are the struct of the C data interface; `from_raw` leaves ours released, so that it is dropped once.
    let array = unsafe { FFI_ArrowArray::from_raw((&raw mut array).cast()) };
    // SAFETY: as above.
    let schema = unsafe { FFI_ArrowSchema::from_raw((&raw mut schema).cast()) };
    // SAFETY: `Exporter` makes arrays that fit their schema.
    let data = unsafe { from_ffi(array, &schema) }.map_err(|e| defect(&e))?;
    Ok(RecordBatch::from(StructArray::from(data)))
}

/// The schema of an exporter.
pub(crate) fn schema_of(mut schema: ArrowSchema) -> Result<Schema> {
    // SAFETY: as in `record_batch_of`.
    let schema = unsafe { FFI_ArrowSchema::from_raw((&raw mut schema).cast()) };
    Schema::try_from(&schema).map_err(|e| defect(&e))
}

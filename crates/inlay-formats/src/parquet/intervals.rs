//! Intervals in Parquet files: 12 bytes of months, days and milliseconds.
//!
//! The arrow reader and writer of the parquet crate know intervals of months, or of days and milliseconds, but none of both: they
//! are read and written as bytes here, behind a schema that is changed in these places alone ([`crate::stored`] converts the values).

use crate::stored::INTERVAL_SIZE;
use parquet::basic::{ConvertedType, Type as PhysicalType};
use parquet::errors::Result;
use parquet::file::metadata::{FileMetaData, ParquetMetaData, ParquetMetaDataBuilder};
use parquet::schema::types::{SchemaDescriptor, Type, TypePtr};
use std::sync::Arc;

/// Whether any column has intervals.
pub(super) fn has_intervals(schema: &SchemaDescriptor) -> bool {
    schema.columns().iter().any(|leaf| leaf.converted_type() == ConvertedType::INTERVAL)
}

/// The metadata of a file whose intervals are bytes.
pub(super) fn as_bytes(metadata: &ParquetMetaData) -> Result<ParquetMetaData> {
    let file = metadata.file_metadata();
    let schema = SchemaDescriptor::new(without_intervals(file.schema_descr().root_schema())?);
    let file = FileMetaData::new(
        file.version(),
        file.num_rows(),
        file.created_by().map(str::to_string),
        file.key_value_metadata().cloned(),
        Arc::new(schema),
        file.column_orders().cloned(),
    );
    Ok(ParquetMetaDataBuilder::new(file).set_row_groups(metadata.row_groups().to_vec()).build())
}

fn without_intervals(ty: &Type) -> Result<TypePtr> {
    if let Type::GroupType { .. } = ty {
        let fields = ty.get_fields().iter().map(|field| without_intervals(field)).collect::<Result<_>>()?;
        return regrouped(ty, fields);
    }
    let is_interval = ty.get_basic_info().converted_type() == ConvertedType::INTERVAL;
    if is_interval { bytes(ty, ConvertedType::NONE) } else { Ok(Arc::new(ty.clone())) }
}

/// The schema of a file in which some columns of 12 bytes are intervals.
pub(crate) fn with_intervals(root: &Type, columns: &[usize]) -> Result<TypePtr> {
    let field = |(index, field): (usize, &TypePtr)| match columns.contains(&index) {
        true => bytes(field, ConvertedType::INTERVAL),
        false => Ok(Arc::clone(field)),
    };
    regrouped(root, root.get_fields().iter().enumerate().map(field).collect::<Result<_>>()?)
}

fn bytes(ty: &Type, converted: ConvertedType) -> Result<TypePtr> {
    let info = ty.get_basic_info();
    let built = Type::primitive_type_builder(ty.name(), PhysicalType::FIXED_LEN_BYTE_ARRAY)
        .with_length(INTERVAL_SIZE as i32)
        .with_repetition(info.repetition())
        .with_converted_type(converted)
        .with_id(info.has_id().then(|| info.id()))
        .build()?;
    Ok(Arc::new(built))
}

fn regrouped(group: &Type, fields: Vec<TypePtr>) -> Result<TypePtr> {
    let info = group.get_basic_info();
    let mut builder = Type::group_type_builder(group.name())
        .with_converted_type(info.converted_type())
        .with_logical_type(info.logical_type_ref().cloned())
        .with_id(info.has_id().then(|| info.id()))
        .with_fields(fields);
    if info.has_repetition() {
        builder = builder.with_repetition(info.repetition());
    }
    Ok(Arc::new(builder.build()?))
}

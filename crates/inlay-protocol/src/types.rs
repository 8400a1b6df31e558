//! Types and columns in frames.
//!
//! A type is a byte, and behind it what the type is made of. The numbers are fixed: they are not those of the enum.

use crate::wire::{Reader, put_str};
use crate::{Result, WireError};
use inlay_types::logical_type::{DECIMAL_MAX_DIGITS, MAX_FIELDS, MAX_NESTING};
use inlay_types::{EnumType, Field, LogicalType};
use std::sync::Arc;

/// A column of a result, of parameters or of rows that are sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WireColumn {
    /// Its name.
    pub name: String,
    /// Whether there may be NULLs in it: chunks of others have no masks.
    pub nullable: bool,
    /// Its type.
    pub ty: LogicalType,
}

impl WireColumn {
    /// A column that may hold NULLs.
    pub fn new(name: impl Into<String>, ty: LogicalType) -> Self {
        Self { name: name.into(), nullable: true, ty }
    }
}

/// Most columns of a chunk: they are counted in 16 bits there.
pub const COLUMNS_MAX: usize = u16::MAX as usize;

const DECIMAL: u8 = 14;
const ENUM: u8 = 29;
const LIST: u8 = 30;
const ARRAY: u8 = 31;
const STRUCT: u8 = 32;
const MAP: u8 = 33;
const UNION: u8 = 34;

/// Types without parameters.
const PLAIN: &[(u8, LogicalType)] = &[
    (0, LogicalType::Null),
    (1, LogicalType::Boolean),
    (2, LogicalType::TinyInt),
    (3, LogicalType::SmallInt),
    (4, LogicalType::Integer),
    (5, LogicalType::BigInt),
    (6, LogicalType::HugeInt),
    (7, LogicalType::UTinyInt),
    (8, LogicalType::USmallInt),
    (9, LogicalType::UInteger),
    (10, LogicalType::UBigInt),
    (11, LogicalType::UHugeInt),
    (12, LogicalType::Real),
    (13, LogicalType::Double),
    (15, LogicalType::Varchar),
    (16, LogicalType::Blob),
    (17, LogicalType::Date),
    (18, LogicalType::Time),
    (19, LogicalType::Timestamp),
    (20, LogicalType::Interval),
    (21, LogicalType::TimestampS),
    (22, LogicalType::TimestampMs),
    (23, LogicalType::TimestampNs),
    (24, LogicalType::TimestampTz),
    (25, LogicalType::TimeTz),
    (26, LogicalType::Uuid),
    (27, LogicalType::Bit),
    (28, LogicalType::Json),
];

/// Appends a type.
pub fn put_type(out: &mut Vec<u8>, ty: &LogicalType) {
    if let Some((tag, _)) = PLAIN.iter().find(|(_, plain)| plain == ty) {
        out.push(*tag);
        return;
    }
    match ty {
        LogicalType::Decimal { precision, scale } => out.extend_from_slice(&[DECIMAL, *precision, *scale]),
        LogicalType::Enum(words) => {
            out.push(ENUM);
            out.extend_from_slice(&(words.values().len() as u32).to_le_bytes());
            words.values().iter().for_each(|word| put_str(out, word));
        }
        LogicalType::List(element) => {
            out.push(LIST);
            put_type(out, element);
        }
        LogicalType::Array(element, size) => {
            out.push(ARRAY);
            out.extend_from_slice(&size.to_le_bytes());
            put_type(out, element);
        }
        LogicalType::Struct(fields) => put_fields(out, STRUCT, fields),
        LogicalType::Union(members) => put_fields(out, UNION, members),
        LogicalType::Map(types) => {
            out.push(MAP);
            put_type(out, &types.0);
            put_type(out, &types.1);
        }
        // Those of the list above.
        plain => debug_assert!(PLAIN.iter().any(|(_, known)| known == plain), "{plain} has no number"),
    }
}

fn put_fields(out: &mut Vec<u8>, tag: u8, fields: &[Field]) {
    out.push(tag);
    out.extend_from_slice(&(fields.len() as u32).to_le_bytes());
    for field in fields {
        put_str(out, &field.name);
        put_type(out, &field.ty);
    }
}

/// Reads a type that lies `depth` types deep.
pub(crate) fn read_type(reader: &mut Reader<'_>, depth: usize) -> Result<LogicalType> {
    if depth > MAX_NESTING {
        return Err(reader.wrong(format_args!("a type nested more than {MAX_NESTING} levels deep")));
    }
    let tag = reader.u8()?;
    if let Some((_, plain)) = PLAIN.iter().find(|(known, _)| *known == tag) {
        return Ok(plain.clone());
    }
    match tag {
        DECIMAL => {
            let (precision, scale) = (reader.u8()?, reader.u8()?);
            if precision == 0 || precision > DECIMAL_MAX_DIGITS || scale > precision {
                return Err(reader.wrong(format_args!("DECIMAL({precision},{scale})")));
            }
            Ok(LogicalType::decimal(precision, scale))
        }
        ENUM => {
            let count = reader.u32()? as usize;
            let count = reader.count(count, 4)?;
            inlay_types::limits::need(count.saturating_mul(2 * size_of::<Arc<str>>()))?;
            let words = (0..count).map(|_| reader.str().map(Arc::from)).collect::<Result<Vec<Arc<str>>>>()?;
            Ok(LogicalType::Enum(Arc::new(EnumType::new(words)?)))
        }
        LIST => Ok(LogicalType::list(read_type(reader, depth + 1)?)),
        ARRAY => {
            let size = reader.u32()?;
            Ok(LogicalType::array(read_type(reader, depth + 1)?, size))
        }
        STRUCT => Ok(LogicalType::Struct(read_fields(reader, depth, MAX_FIELDS)?)),
        UNION => Ok(LogicalType::Union(read_fields(reader, depth, 256)?)),
        MAP => Ok(LogicalType::map(read_type(reader, depth + 1)?, read_type(reader, depth + 1)?)),
        unknown => Err(reader.wrong(format_args!("type {unknown}, which version 1 does not have"))),
    }
}

fn read_fields(reader: &mut Reader<'_>, depth: usize, most: usize) -> Result<Arc<[Field]>> {
    let count = reader.u32()? as usize;
    let count = reader.count(count, 5)?;
    if count == 0 || count > most {
        return Err(reader.wrong(format_args!("{count} fields, where 1 to {most} may be")));
    }
    let mut fields = Vec::with_capacity(count);
    for _ in 0..count {
        let name = reader.str()?;
        fields.push(Field::new(name, read_type(reader, depth + 1)?));
    }
    Ok(fields.into())
}

/// Appends how many columns there are, and each.
pub fn put_columns(out: &mut Vec<u8>, columns: &[WireColumn]) {
    out.extend_from_slice(&(columns.len() as u32).to_le_bytes());
    for column in columns {
        put_str(out, &column.name);
        out.push(u8::from(column.nullable));
        put_type(out, &column.ty);
    }
}

pub(crate) fn read_columns(reader: &mut Reader<'_>) -> Result<Vec<WireColumn>> {
    let count = reader.u32()? as usize;
    let count = reader.count(count, 6)?;
    if count > COLUMNS_MAX {
        return Err(WireError::malformed(format!("{count} columns are above the limit of {COLUMNS_MAX}")));
    }
    inlay_types::limits::need(count.saturating_mul(size_of::<WireColumn>()))?;
    let mut columns = Vec::with_capacity(count);
    for _ in 0..count {
        let name = reader.str()?.to_string();
        let flags = reader.u8()?;
        if flags > 1 {
            return Err(reader.wrong(format_args!("flags {flags:#x} of a column")));
        }
        columns.push(WireColumn { name, nullable: flags == 1, ty: read_type(reader, 1)? });
    }
    Ok(columns)
}

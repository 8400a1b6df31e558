//! What is known of a segment without reading it; table directories hold it for every segment on disk.

use super::fields::{self, ROWS_MIN};
use super::{Encoding, Segment};
use crate::zone_map::has_bounds;
use crate::{ByteReader, ByteWriter, ZoneMap};
use inlay_types::{Error, LogicalType, Result, Value};
use std::sync::Arc;

/// Strings of zone maps are cut to about this many bytes.
pub(super) const BOUND_SIZE_MAX: usize = 64;

/// Type, rows, NULLs and range of a segment.
#[derive(Clone, Debug, PartialEq)]
pub struct SegmentMeta {
    /// The SQL type.
    pub ty: LogicalType,
    /// Number of rows.
    pub len: usize,
    /// Number of NULLs.
    pub null_count: usize,
    /// Range of the values. Long strings are bounds: no value is below or above them.
    pub zone_map: ZoneMap,
    /// Of a struct that is stored by its fields, or will be when it is written: what is known of each. Otherwise empty.
    pub fields: Vec<FieldMeta>,
}

/// What is known of a field of a struct that is stored by its fields.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldMeta {
    /// Range of the values; without ends where they are not known.
    pub zone_map: ZoneMap,
    /// As [`SegmentMeta::fields`].
    pub fields: Vec<FieldMeta>,
}

/// In the place of the flag of a smallest value, which structs do not have: what is known of the fields follows.
const FIELDS: u8 = 2;

const HAS_NULL: u8 = 1;
const HAS_VALUE: u8 = 2;
const HAS_ENDS: u8 = 4;
const HAS_FIELDS: u8 = 8;

impl FieldMeta {
    /// Of a field of which nothing is known.
    fn unknown() -> Self {
        let zone_map = ZoneMap { min: None, max: None, has_null: true, has_value: true };
        Self { zone_map, fields: Vec::new() }
    }

    fn of(segment: &Segment) -> Self {
        Self { zone_map: segment.zone_map.clone(), fields: fields_of(segment) }
    }

    fn write(&self, out: &mut ByteWriter) {
        let zone = &self.zone_map;
        let ends = lower_bound(zone.min.clone()).zip(upper_bound(zone.max.clone()));
        let flag = |is_set: bool, flag: u8| if is_set { flag } else { 0 };
        out.u8(flag(zone.has_null, HAS_NULL)
            | flag(zone.has_value, HAS_VALUE)
            | flag(ends.is_some(), HAS_ENDS)
            | flag(!self.fields.is_empty(), HAS_FIELDS));
        if let Some((min, max)) = ends {
            out.value(&min);
            out.value(&max);
        }
        self.fields.iter().for_each(|field| field.write(out));
    }

    fn read(reader: &mut ByteReader<'_>, ty: &LogicalType) -> Result<Self> {
        let flags = reader.u8()?;
        let is_set = |flag: u8| flags & flag != 0;
        let (mut min, mut max) = (None, None);
        if is_set(HAS_ENDS) {
            (min, max) = (Some(reader.value()?), Some(reader.value()?));
        }
        let fits = |end: &Option<Value>| {
            end.as_ref().is_none_or(|end| has_bounds(ty) && is_set(HAS_VALUE) && end.logical_type() == *ty)
        };
        if flags >= 16 || !fits(&min) || !fits(&max) {
            return Err(Error::corrupt("a zone map that does not fit its field"));
        }
        let fields = if is_set(HAS_FIELDS) { read_fields(reader, ty)? } else { Vec::new() };
        let zone_map = ZoneMap { min, max, has_null: is_set(HAS_NULL), has_value: is_set(HAS_VALUE) };
        Ok(Self { zone_map, fields })
    }
}

/// What is known of each field of a type, which is nested as deep as types are.
fn read_fields(reader: &mut ByteReader<'_>, ty: &LogicalType) -> Result<Vec<FieldMeta>> {
    let Some(fields) = fields::of_type(ty) else {
        return Err(Error::corrupt(format!("fields of {ty}")));
    };
    fields.iter().map(|field| FieldMeta::read(reader, &field.ty)).collect()
}

fn fields_of(segment: &Segment) -> Vec<FieldMeta> {
    let of_parts = |parts: &[Arc<Segment>]| parts.iter().map(|part| FieldMeta::of(part)).collect();
    match (segment.parts(), &segment.encoding, fields::of_type(&segment.ty)) {
        (Some(parts), _, _) => of_parts(parts),
        // What its rows are when it is written is not known yet.
        (None, Encoding::Patched(_), Some(fields)) if segment.len >= ROWS_MIN => {
            vec![FieldMeta::unknown(); fields.len()]
        }
        (None, _, _) => Vec::new(),
    }
}

impl SegmentMeta {
    /// Appends the fields. Long strings of the zone map are cut: the smallest down, the largest up.
    pub fn write(&self, out: &mut ByteWriter) {
        out.logical_type(&self.ty.clone());
        out.count(self.len);
        out.count(self.null_count);
        if !self.fields.is_empty() {
            out.u8(FIELDS);
            return self.fields.iter().for_each(|field| field.write(out));
        }
        out.option(lower_bound(self.zone_map.min.clone()).as_ref(), ByteWriter::value);
        out.option(upper_bound(self.zone_map.max.clone()).as_ref(), ByteWriter::value);
    }

    /// Takes what [`SegmentMeta::write`] wrote.
    pub fn read(reader: &mut ByteReader<'_>) -> Result<Self> {
        let ty = reader.logical_type()?;
        let (len, null_count) = (reader.count()?, reader.count()?);
        let has_value = null_count < len;
        if reader.peek() == Some(FIELDS) {
            reader.u8()?;
            if null_count > len {
                return Err(Error::corrupt("a zone map that does not fit its column"));
            }
            let zone_map = ZoneMap { min: None, max: None, has_null: null_count > 0, has_value };
            let fields = read_fields(reader, &ty)?;
            return Ok(Self { ty, len, null_count, zone_map, fields });
        }
        let min = reader.option(ByteReader::value)?;
        let max = reader.option(ByteReader::value)?;
        let fits = |v: &Option<Value>| match v {
            None => !has_value || !has_bounds(&ty),
            Some(v) => has_value && has_bounds(&ty) && (v.logical_type() == ty || ty == LogicalType::Null),
        };
        if null_count > len || !fits(&min) || !fits(&max) {
            return Err(Error::corrupt("a zone map that does not fit its column"));
        }
        let zone_map = ZoneMap { min, max, has_null: null_count > 0, has_value };
        Ok(Self { ty, len, null_count, zone_map, fields: Vec::new() })
    }
}

impl Segment {
    /// What is known of this segment without reading it.
    pub fn meta(&self) -> SegmentMeta {
        SegmentMeta {
            ty: self.ty.clone(),
            len: self.len,
            null_count: self.null_count,
            zone_map: self.zone_map.clone(),
            fields: fields_of(self),
        }
    }
}

/// A smallest value; a shorter string that is not above it, when it is long.
pub(super) fn lower_bound(value: Option<Value>) -> Option<Value> {
    let value = value?;
    Some(cut(&value).unwrap_or(value))
}

/// A largest value; a shorter string that is above it, when it is long and there is one.
pub(super) fn upper_bound(value: Option<Value>) -> Option<Value> {
    let value = value?;
    Some(raised(&value).unwrap_or(value))
}

/// The beginning of a long string.
fn cut(value: &Value) -> Option<Value> {
    match value {
        Value::Varchar(text) if text.len() > BOUND_SIZE_MAX => {
            let end = (0..=BOUND_SIZE_MAX).rev().find(|end| text.is_char_boundary(*end))?;
            Some(Value::Varchar(text[..end].to_string()))
        }
        Value::Blob(bytes) if bytes.len() > BOUND_SIZE_MAX => {
            Some(Value::Blob(bytes[..BOUND_SIZE_MAX].to_vec()))
        }
        _ => None,
    }
}

/// A short string above all that begin like a long one.
fn raised(value: &Value) -> Option<Value> {
    match cut(value)? {
        Value::Varchar(mut text) => {
            // The last character that has a next one is raised; what follows it is cut.
            while let Some(last) = text.pop() {
                let next = (u32::from(last) + 1..=u32::from(char::MAX)).find_map(char::from_u32);
                if let Some(next) = next {
                    text.push(next);
                    return Some(Value::Varchar(text));
                }
            }
            None
        }
        Value::Blob(mut bytes) => {
            while let Some(last) = bytes.pop() {
                if let Some(next) = last.checked_add(1) {
                    bytes.push(next);
                    return Some(Value::Blob(bytes));
                }
            }
            None
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use inlay_types::{MemoryBudget, Vector};

    #[test]
    fn bounds_of_long_strings_hold_their_values() {
        let texts = ["a".repeat(100), "ü".repeat(60), "\u{10FFFF}".repeat(40), "z\u{D7FF}".repeat(40)];
        for text in texts {
            let value = Value::Varchar(text.clone());
            let column =
                Vector::from_sql_values(LogicalType::Varchar, &[value.clone(), Value::Null]).unwrap();
            let meta = Segment::encode(&column, &MemoryBudget::unlimited()).unwrap().meta();
            let mut writer = ByteWriter::new();
            meta.write(&mut writer);
            let mut reader = ByteReader::new(writer.as_bytes());
            let read = SegmentMeta::read(&mut reader).unwrap();
            reader.expect_end().unwrap();
            assert!((read.ty, read.len, read.null_count) == (meta.ty, 2, 1));
            let zone = read.zone_map;
            assert!(zone.min.unwrap().total_cmp(&value).is_le());
            assert!(zone.max.unwrap().total_cmp(&value).is_ge());
        }
        let meta = SegmentMeta {
            ty: LogicalType::Blob,
            len: 1,
            null_count: 0,
            zone_map: ZoneMap {
                min: Some(Value::Blob(vec![255; 100])),
                max: Some(Value::Blob(vec![255; 100])),
                has_null: false,
                has_value: true,
            },
            fields: Vec::new(),
        };
        let mut writer = ByteWriter::new();
        meta.write(&mut writer);
        let read = SegmentMeta::read(&mut ByteReader::new(writer.as_bytes())).unwrap();
        assert_eq!(read.zone_map.max, meta.zone_map.max);
    }
}

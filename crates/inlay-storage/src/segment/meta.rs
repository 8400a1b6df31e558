//! What is known of a segment without reading it; table directories hold it for every segment on disk.

use super::Segment;
use crate::zone_map::has_bounds;
use crate::{ByteReader, ByteWriter, ZoneMap};
use inlay_types::{Error, LogicalType, Result, Value};

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
}

impl SegmentMeta {
    /// Appends the fields. Long strings of the zone map are cut: the smallest down, the largest up.
    pub fn write(&self, out: &mut ByteWriter) {
        out.logical_type(&self.ty.clone());
        out.count(self.len);
        out.count(self.null_count);
        out.option(lower_bound(self.zone_map.min.clone()).as_ref(), ByteWriter::value);
        out.option(upper_bound(self.zone_map.max.clone()).as_ref(), ByteWriter::value);
    }

    /// Takes what [`SegmentMeta::write`] wrote.
    pub fn read(reader: &mut ByteReader<'_>) -> Result<Self> {
        let ty = reader.logical_type()?;
        let (len, null_count) = (reader.count()?, reader.count()?);
        let min = reader.option(ByteReader::value)?;
        let max = reader.option(ByteReader::value)?;
        let has_value = null_count < len;
        let fits = |v: &Option<Value>| match v {
            None => !has_value || !has_bounds(&ty),
            Some(v) => has_value && has_bounds(&ty) && (v.logical_type() == ty || ty == LogicalType::Null),
        };
        if null_count > len || !fits(&min) || !fits(&max) {
            return Err(Error::corrupt("a zone map that does not fit its column"));
        }
        let zone_map = ZoneMap { min, max, has_null: null_count > 0, has_value };
        Ok(Self { ty, len, null_count, zone_map })
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
        };
        let mut writer = ByteWriter::new();
        meta.write(&mut writer);
        let read = SegmentMeta::read(&mut ByteReader::new(writer.as_bytes())).unwrap();
        assert_eq!(read.zone_map.max, meta.zone_map.max);
    }
}

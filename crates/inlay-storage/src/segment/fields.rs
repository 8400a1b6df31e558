//! A struct by its fields: a segment for each, with an encoding, a zone map and NULLs of its own, so that a field is read and filtered
//! without the others. A row is packed ([`inlay_types::nested`]) when somebody wants it whole.
//!
//! Invariants
//! - There is a part for each field of the type, in order, each with a row per row.
//! - Where the struct is NULL all fields are: part `i` is what `struct_extract` makes of the rows.
//!
//! Small columns stay packed, as do structs in the table's open tail, where each row would be looked after field by field, and those
//! of files that were written before there was this encoding. [`Segment::field`] finds a field's segment where there is one;
//! [`extract`] takes it out of packed rows.

use super::encode::{self, Effort};
use super::{Encoding, Segment};
use crate::predicate::SegmentPredicate;
use inlay_types::logical_type::Field;
use inlay_types::nested::{FieldRows, StructRows, extract_field, pack_struct, unpack_rows};
use inlay_types::{Bitmap, Error, LogicalType, MemoryBudget, Result, VECTOR_SIZE, Value, Vector};
use std::ops::Range;
use std::sync::Arc;

/// Fewer rows stay packed: a segment per field has a beginning of its own.
pub(super) const ROWS_MIN: usize = 1_024;

/// The segments of the fields.
#[derive(Debug)]
pub(super) struct Fields {
    parts: Vec<Arc<Segment>>,
}

/// The fields of a type, if it is a struct.
pub(super) fn of_type(ty: &LogicalType) -> Option<&Arc<[Field]>> {
    let LogicalType::Struct(fields) = ty else { return None };
    Some(fields)
}

impl Fields {
    /// The fields of a column of structs that is worth it; `None` for others, and where all rows are equal.
    pub fn of(column: &Vector, budget: &MemoryBudget) -> Result<Option<Self>> {
        let Some(fields) = of_type(column.ty()).filter(|_| column.len() >= ROWS_MIN) else { return Ok(None) };
        let flat = column.flatten();
        let mut parts = Vec::with_capacity(fields.len());
        for index in 0..fields.len() {
            let part = encode::encoded(&extract_field(&flat, index)?, Effort::Best, budget)?;
            parts.push(Arc::new(part));
        }
        let is_constant = |part: &Arc<Segment>| matches!(part.encoding, Encoding::Constant(_));
        let are_equal = column.null_count() == 0 && parts.iter().all(is_constant);
        Ok((!are_equal).then_some(Self { parts }))
    }

    /// Fields that were stored; `None` when they do not make `len` rows, or say something of rows that are NULL.
    pub fn from_parts(parts: Vec<Segment>, validity: Option<&Bitmap>, len: usize) -> Option<Self> {
        let is_null = |row: &usize| validity.is_some_and(|validity| !validity.get(*row));
        let fits = |part: &Segment| part.len == len && (0..len).filter(is_null).all(|row| part.is_null(row));
        parts.iter().all(fits).then(|| Self { parts: parts.into_iter().map(Arc::new).collect() })
    }

    pub fn parts(&self) -> &[Arc<Segment>] {
        &self.parts
    }

    pub fn memory_size(&self) -> usize {
        self.parts.iter().map(|part| part.memory_size()).sum()
    }

    pub fn reserved_bytes(&self) -> u64 {
        self.parts.iter().map(|part| part.reserved_bytes()).sum()
    }

    /// A row that is not NULL.
    pub fn get(&self, ty: &LogicalType, row: usize) -> Value {
        let values = self.parts.iter().map(|part| part.get(row)).collect();
        of_type(ty).map_or(Value::Null, |fields| Value::Struct { fields: Arc::clone(fields), values })
    }

    /// Rows, packed, of which `read` reads a field.
    pub fn pack(
        &self,
        ty: &LogicalType,
        len: usize,
        validity: Option<&Bitmap>,
        read: impl Fn(&Segment) -> Result<Vector>,
    ) -> Result<Vector> {
        let parts = self.parts.iter().map(|part| read(part)).collect::<Result<Vec<Vector>>>()?;
        pack_struct(ty, &parts.iter().collect::<Vec<_>>(), len, validity)
    }
}

/// A field of packed structs, by the positions that lead to it.
pub fn extract(structs: &Vector, path: &[usize]) -> Result<Vector> {
    let Some((first, rest)) = path.split_first() else { return Ok(structs.clone()) };
    extract(&extract_field(structs, *first)?, rest)
}

impl Segment {
    /// The segments of the fields, if a struct is stored by them.
    pub(super) fn parts(&self) -> Option<&[Arc<Segment>]> {
        match &self.encoding {
            Encoding::Fields(fields) => Some(fields.parts()),
            Encoding::Plain(_)
            | Encoding::Constant(_)
            | Encoding::Dictionary { .. }
            | Encoding::Frame { .. }
            | Encoding::Runs(_)
            | Encoding::Patched(_) => None,
        }
    }

    /// The segment of a field, by the positions that lead to it, if it is stored as one.
    pub(crate) fn stored_field(&self, path: &[usize]) -> Option<&Arc<Segment>> {
        let (first, rest) = path.split_first()?;
        let part = self.parts()?.get(*first)?;
        if rest.is_empty() { Some(part) } else { part.stored_field(rest) }
    }

    /// The rows of a field, by the positions that lead to it, as a segment: that which is stored, or one that costs little to make.
    /// `None` if rows are packed.
    pub fn field(&self, path: &[usize], budget: &MemoryBudget) -> Result<Option<Arc<Segment>>> {
        let Some((first, rest)) = path.split_first() else {
            return Err(Error::internal("a field without a name"));
        };
        match &self.encoding {
            Encoding::Fields(fields) => {
                let Some(part) = fields.parts().get(*first) else {
                    return Err(Error::internal(format!("field {first} of {}", self.ty)));
                };
                if rest.is_empty() { Ok(Some(Arc::clone(part))) } else { part.field(rest, budget) }
            }
            Encoding::Constant(value) => {
                let one = extract(&value.slice(0, self.len.min(1)), path)?;
                let value = if one.is_empty() { Value::Null } else { one.get(0) };
                let all = Vector::constant(one.logical_type(), &value, self.len)?;
                Ok(Some(Arc::new(Segment::encode_plain(&all, budget)?)))
            }
            Encoding::Patched(overlay) => overlay.field(path, budget),
            Encoding::Plain(_) | Encoding::Dictionary { .. } | Encoding::Frame { .. } | Encoding::Runs(_) => {
                Ok(None)
            }
        }
    }

    /// Rows of structs field by field; those that are stored so are not packed in between.
    pub fn struct_rows(&self, start: usize, len: usize) -> Result<StructRows> {
        let Some(parts) = self.parts() else { return unpack_rows(&self.scan(start, len)?) };
        let rows = |part: &Arc<Segment>| {
            Ok(match of_type(&part.ty) {
                Some(_) => FieldRows::Struct(part.struct_rows(start, len)?),
                None => FieldRows::Vector(part.scan(start, len)?),
            })
        };
        let fields = parts.iter().map(rows).collect::<Result<_>>()?;
        let validity = self.validity.as_ref().map(|validity| validity.slice(start, len));
        Ok(StructRows { len, validity, fields })
    }

    /// As [`Segment::filter`] by a field of packed rows.
    pub fn filter_field(
        &self,
        path: &[usize],
        predicate: &SegmentPredicate,
        range: Range<usize>,
        selection: Option<&[u32]>,
        budget: &MemoryBudget,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        let count = selection.map_or(range.len(), <[u32]>::len);
        let mut found = Vec::new();
        for from in (0..count).step_by(VECTOR_SIZE) {
            let len = VECTOR_SIZE.min(count - from);
            let listed = selection.map(|rows| &rows[from..from + len]);
            let rows = match listed {
                Some(rows) => self.gather(rows)?,
                None => self.scan(range.start + from, len)?,
            };
            found.clear();
            let field = Segment::encode_plain(&extract(&rows, path)?, budget)?;
            field.filter(predicate, 0..len, None, &mut found)?;
            match listed {
                Some(rows) => out.extend(found.iter().map(|place| rows[*place as usize])),
                None => out.extend(found.iter().map(|place| (range.start + from) as u32 + place)),
            }
        }
        Ok(())
    }
}

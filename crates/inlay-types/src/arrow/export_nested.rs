//! Lists, structs, maps, unions and enums as Arrow arrays.

use super::export::{StringLayout, array_of, flat_array, format_of, schema_of};
use super::ffi::{ArrowArray, ArrowSchema, FLAG_NULLABLE};
use crate::nested::{FieldRows, StructRows, unpack_lists, unpack_maps, unpack_struct, unpack_unions};
use crate::{Bitmap, Buffer, Error, LogicalType, PhysicalType, Result, Vector};
use std::borrow::Cow;

/// Arrow's type ids of unions have 8 bits with a sign.
const MEMBERS_MAX: usize = 127;

/// The schema of a column or part of type `ty`.
pub(super) fn field_schema(ty: &LogicalType, name: &str, strings: StringLayout) -> ArrowSchema {
    nullable(ty, name, strings, FLAG_NULLABLE)
}

fn nullable(ty: &LogicalType, name: &str, strings: StringLayout, flags: i64) -> ArrowSchema {
    let fields = |fields: &[crate::logical_type::Field]| -> Vec<ArrowSchema> {
        let name = |(index, field): (usize, &crate::logical_type::Field)| {
            if field.name.is_empty() {
                Cow::Owned(format!("f{}", index + 1))
            } else {
                Cow::Owned(field.name.to_string())
            }
        };
        fields.iter().enumerate().map(|part| field_schema(&part.1.ty, &name(part), strings)).collect()
    };
    match ty {
        LogicalType::List(element) => {
            schema_of("+l", name, flags, vec![field_schema(element, "item", strings)], None)
        }
        LogicalType::Array(element, size) => {
            schema_of(&format!("+w:{size}"), name, flags, vec![field_schema(element, "item", strings)], None)
        }
        LogicalType::Struct(parts) => schema_of("+s", name, flags, fields(parts), None),
        LogicalType::Map(types) => {
            let key = nullable(&types.0, "key", strings, 0);
            let entries = vec![key, field_schema(&types.1, "value", strings)];
            schema_of("+m", name, flags, vec![schema_of("+s", "entries", 0, entries, None)], None)
        }
        LogicalType::Union(members) => {
            let ids: Vec<String> = (0..members.len()).map(|id| id.to_string()).collect();
            schema_of(&format!("+us:{}", ids.join(",")), name, flags, fields(members), None)
        }
        LogicalType::Enum(_) => {
            let codes = match ty.physical() {
                PhysicalType::U8 => "C",
                PhysicalType::U16 => "S",
                _ => "I",
            };
            let words = schema_of(&format_of(&LogicalType::Varchar, strings), "", 0, Vec::new(), None);
            schema_of(codes, name, flags, Vec::new(), Some(words))
        }
        _ => schema_of(&format_of(ty, strings), name, flags, Vec::new(), None),
    }
}

/// The array of a flat vector of one of these types; `None` for other types.
pub(super) fn nested_array(vector: &Vector, strings: StringLayout) -> Result<Option<ArrowArray>> {
    let len = vector.len();
    let null_count = vector.null_count();
    let validity = || vector.validity().filter(|_| null_count > 0).map(|v| v.buffer().clone());
    let part = |part: &Vector| flat_array(&part.flatten(), strings);
    Ok(Some(match vector.ty() {
        LogicalType::List(_) => {
            let (child, offsets) = unpack_lists(vector)?;
            array_of(len, null_count, vec![validity(), Some(signed(&offsets)?)], vec![part(&child)?], None)
        }
        LogicalType::Array(_, size) => {
            let (child, offsets) = unpack_lists(vector)?;
            // A NULL has its places, too.
            let mut rows = Vec::with_capacity(len * *size as usize);
            for (row, &start) in offsets.iter().take(len).enumerate() {
                rows.extend((0..*size).map(|at| if vector.is_null(row) { None } else { Some(start + at) }));
            }
            array_of(len, null_count, vec![validity()], vec![part(&picked(&child, &rows))?], None)
        }
        LogicalType::Struct(_) => {
            let parts = unpack_struct(vector)?.iter().map(part).collect::<Result<_>>()?;
            array_of(len, null_count, vec![validity()], parts, None)
        }
        LogicalType::Map(_) => {
            let (keys, values, offsets) = unpack_maps(vector)?;
            let entries = array_of(keys.len(), 0, vec![None], vec![part(&keys)?, part(&values)?], None);
            array_of(len, null_count, vec![validity(), Some(signed(&offsets)?)], vec![entries], None)
        }
        LogicalType::Union(members) => {
            if members.len() > MEMBERS_MAX {
                let message = format!("a UNION of more than {MEMBERS_MAX} members as Arrow");
                return Err(Error::unsupported(message));
            }
            let (tags, parts) = unpack_unions(vector)?;
            let parts = parts.iter().map(part).collect::<Result<_>>()?;
            array_of(len, 0, vec![Some(Buffer::from_vec(tags))], parts, None)
        }
        LogicalType::Enum(words) => {
            let mut builder = crate::VectorBuilder::new(LogicalType::Varchar, words.values().len());
            words.values().iter().for_each(|word| builder.push_bytes(word.as_bytes()));
            let words = flat_array(&builder.finish(), strings)?;
            array_of(len, null_count, vec![validity(), Some(vector.data().clone())], Vec::new(), Some(words))
        }
        _ => return Ok(None),
    }))
}

/// The array of rows of structs that are not packed.
pub(super) fn struct_array(rows: &StructRows, strings: StringLayout) -> Result<ArrowArray> {
    let part = |part: &FieldRows| match part {
        FieldRows::Vector(vector) => flat_array(&vector.flatten(), strings),
        FieldRows::Struct(rows) => struct_array(rows, strings),
    };
    let parts = rows.fields.iter().map(part).collect::<Result<_>>()?;
    let null_count = rows.validity.as_ref().map_or(0, |validity| rows.len - validity.count_ones());
    let validity =
        rows.validity.as_ref().filter(|_| null_count > 0).map(|validity| validity.buffer().clone());
    Ok(array_of(rows.len, null_count, vec![validity], parts, None))
}

/// Rows of `vector`, or NULL.
fn picked(vector: &Vector, rows: &[Option<u32>]) -> Vector {
    if vector.is_empty() {
        return Vector::nulls(vector.logical_type(), rows.len()).flatten();
    }
    let places: Vec<u32> = rows.iter().map(|row| row.unwrap_or(0)).collect();
    let mut taken = vector.take(&places).flatten();
    if rows.iter().any(Option::is_none) {
        let valid = Bitmap::from_fn(rows.len(), |row| rows[row].is_some());
        taken.set_validity(Bitmap::and_optional(taken.validity(), Some(&valid)));
    }
    taken
}

fn signed(offsets: &[u32]) -> Result<Buffer> {
    if offsets.last().is_some_and(|&end| end > i32::MAX as u32) {
        return Err(Error::out_of_range("more than 2^31 elements do not fit into one Arrow list array"));
    }
    Ok(Buffer::copy_of(offsets))
}

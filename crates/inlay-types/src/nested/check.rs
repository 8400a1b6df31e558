//! Whether bytes are a packed value of a type.
//!
//! Readers give some value for bytes of any pattern. Whoever takes packed values from outside (a segment of a file) asks here
//! first, so that what readers make of other bytes is shown to nobody.

use super::read::u32_at;
use super::{HAS_NULLS, fixed_width};
use crate::{Field, LogicalType};

/// Whether `bytes` are a packed value of `ty`: of its size, with ends in order, texts in UTF-8, and members and labels that
/// the type has. Takes time by the number of elements that have no fixed width.
pub fn is_packed(ty: &LogicalType, bytes: &[u8]) -> bool {
    match ty {
        LogicalType::List(element) => sequence(element, bytes).is_some(),
        LogicalType::Array(element, size) => sequence(element, bytes) == Some(*size as usize),
        LogicalType::Struct(fields) => structure(fields, bytes),
        LogicalType::Map(types) => map(types, bytes),
        LogicalType::Union(members) => match bytes {
            [tag, 0] => usize::from(*tag) < members.len(),
            [tag, 1, value @ ..] => {
                members.get(usize::from(*tag)).is_some_and(|member| is_packed(&member.ty, value))
            }
            _ => false,
        },
        LogicalType::Varchar | LogicalType::Json => std::str::from_utf8(bytes).is_ok(),
        LogicalType::Blob | LogicalType::Bit => true,
        other => fixed_width(other) == Some(bytes.len()) && has_value(other, bytes),
    }
}

/// Whether a value of fixed width is one of the type; of most, all patterns are.
fn has_value(ty: &LogicalType, bytes: &[u8]) -> bool {
    match ty {
        LogicalType::Boolean => bytes.iter().all(|byte| *byte <= 1),
        LogicalType::Enum(words) => {
            let mut code = [0; 4];
            code[..bytes.len()].copy_from_slice(bytes);
            words.get(u32::from_le_bytes(code)).is_some()
        }
        _ => true,
    }
}

fn looks_at_values(ty: &LogicalType) -> bool {
    matches!(ty, LogicalType::Boolean | LogicalType::Enum(_))
}

fn map(types: &(LogicalType, LogicalType), bytes: &[u8]) -> bool {
    let Some(rest) = bytes.get(4..) else { return false };
    let Some((keys, values)) = rest.split_at_checked(u32_at(bytes, 0) as usize) else { return false };
    let count = sequence(&types.0, keys);
    count.is_some() && count == sequence(&types.1, values)
}

/// The number of elements of a packed sequence, if it is one.
fn sequence(element: &LogicalType, bytes: &[u8]) -> Option<usize> {
    let (header, rest) = (u32_at(bytes, 0), bytes.get(4..)?);
    let count = (header & !HAS_NULLS) as usize;
    let validity_size = if header & HAS_NULLS == 0 { 0 } else { count.div_ceil(8) };
    let (validity, rest) = rest.split_at_checked(validity_size)?;
    let is_valid = |index: usize| validity_size == 0 || validity[index / 8] >> (index % 8) & 1 == 1;
    let is_right = match fixed_width(element) {
        Some(width) => {
            rest.len() == count.checked_mul(width)?
                && (!looks_at_values(element)
                    || rest.chunks_exact(width).enumerate().all(|(index, value)| {
                        // A NULL slot is zero, which need not be a label.
                        !is_valid(index) || has_value(element, value)
                    }))
        }
        None => others(rest, count, |index, value| match is_valid(index) {
            true => is_packed(element, value),
            false => value.is_empty(),
        }),
    };
    is_right.then_some(count)
}

fn structure(fields: &[Field], bytes: &[u8]) -> bool {
    let Some((validity, mut rest)) = bytes.split_at_checked(fields.len().div_ceil(8)) else { return false };
    let is_valid = |index: usize| validity[index / 8] >> (index % 8) & 1 == 1;
    let mut others_of = Vec::new();
    for (index, field) in fields.iter().enumerate() {
        let Some(width) = fixed_width(&field.ty) else {
            others_of.push(index);
            continue;
        };
        let Some((value, behind)) = rest.split_at_checked(width) else { return false };
        rest = behind;
        if is_valid(index) && !has_value(&field.ty, value) {
            return false;
        }
    }
    others(rest, others_of.len(), |place, value| match others_of[place] {
        index if is_valid(index) => is_packed(&fields[index].ty, value),
        _ => value.is_empty(),
    })
}

/// Whether `bytes` are `count` ends, and the values up to these, each as `is_right` wants it.
fn others(bytes: &[u8], count: usize, is_right: impl Fn(usize, &[u8]) -> bool) -> bool {
    let Some((ends, data)) = count.checked_mul(4).and_then(|size| bytes.split_at_checked(size)) else {
        return false;
    };
    let mut from = 0;
    (0..count).all(|index| {
        let to = u32_at(ends, index * 4) as usize;
        let value = data.get(from..to);
        from = to;
        value.is_some_and(|value| is_right(index, value))
    }) && from == data.len()
}

//! Order of packed values: element by element, NULL above everything, the shorter list first; structs field by field,
//! maps pair by pair, unions by member first. Floats, intervals and strings compare as everywhere.

use super::fixed_width;
use super::read::{Sequence, bit_at, interval, map_parts, part, sixteen, stored, u32_at, union_parts};
use crate::{Field, LogicalType, PhysicalType};
use std::cmp::Ordering;

/// Order of two packed values of type `ty`, neither of them NULL.
pub fn compare(ty: &LogicalType, left: &[u8], right: &[u8]) -> Ordering {
    match ty {
        LogicalType::List(element) | LogicalType::Array(element, _) => {
            sequences(element, Sequence::new(element, left), Sequence::new(element, right))
        }
        LogicalType::Struct(fields) => structs(fields, left, right),
        LogicalType::Map(types) => {
            let ((k, v), (l, w)) = (map_parts(types, left), map_parts(types, right));
            let pair = |index: usize| {
                optional(&types.0, k.get(index), l.get(index))
                    .then_with(|| optional(&types.1, v.get(index), w.get(index)))
            };
            let both = k.len().min(l.len());
            (0..both).map(pair).find(|order| order.is_ne()).unwrap_or_else(|| k.len().cmp(&l.len()))
        }
        LogicalType::Union(members) => {
            let ((tag, a), (other, b)) = (union_parts(left), union_parts(right));
            let values = || members.get(usize::from(tag)).map_or(Ordering::Equal, |m| optional(&m.ty, a, b));
            tag.cmp(&other).then_with(values)
        }
        _ => plain(ty.physical(), left, right),
    }
}

/// The first field decides mostly: where the others lie is worked out when they are reached.
fn structs(fields: &[Field], left: &[u8], right: &[u8]) -> Ordering {
    let validity_size = fields.len().div_ceil(8);
    let mut fixed = validity_size;
    // Ends and bytes of fields without fixed width, and how many of these there were.
    let (mut ends, mut data, mut other) = (0, 0, 0);
    for (index, field) in fields.iter().enumerate() {
        let width = fixed_width(&field.ty);
        if width.is_none() && other == 0 {
            let widths = || fields.iter().map(|field| fixed_width(&field.ty));
            ends = validity_size + widths().flatten().sum::<usize>();
            data = ends + 4 * widths().filter(Option::is_none).count();
        }
        let place = |bytes: &[u8]| match width {
            Some(width) => (fixed, fixed + width),
            None => {
                let from = if other == 0 { 0 } else { u32_at(bytes, ends + 4 * other - 4) };
                (data + from as usize, data + u32_at(bytes, ends + 4 * other) as usize)
            }
        };
        let order = match (bit_at(left, index), bit_at(right, index)) {
            (true, true) => {
                let ((from, to), (other_from, other_to)) = (place(left), place(right));
                let (left, right) = (part(left, from, to), part(right, other_from, other_to));
                if matches!(field.ty, LogicalType::Varchar | LogicalType::Blob) {
                    left.cmp(right)
                } else if width.is_some() {
                    plain(field.ty.physical(), left, right)
                } else {
                    compare(&field.ty, left, right)
                }
            }
            (left, right) => right.cmp(&left),
        };
        if order.is_ne() {
            return order;
        }
        match width {
            Some(width) => fixed += width,
            None => other += 1,
        }
    }
    Ordering::Equal
}

fn optional(ty: &LogicalType, left: Option<&[u8]>, right: Option<&[u8]>) -> Ordering {
    match (left, right) {
        (Some(left), Some(right)) => compare(ty, left, right),
        (left, right) => left.is_none().cmp(&right.is_none()),
    }
}

fn sequences(element: &LogicalType, left: Sequence<'_>, right: Sequence<'_>) -> Ordering {
    let both = left.len().min(right.len());
    let pair = |index: usize| optional(element, left.get(index), right.get(index));
    (0..both).map(pair).find(|order| order.is_ne()).unwrap_or_else(|| left.len().cmp(&right.len()))
}

fn plain(physical: PhysicalType, left: &[u8], right: &[u8]) -> Ordering {
    let floats = |a: f64, b: f64| a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()));
    let double = |bytes: &[u8]| f64::from_bits(u128::from_le_bytes(sixteen(bytes)) as u64);
    match physical {
        PhysicalType::View => left.cmp(right),
        PhysicalType::F64 => floats(double(left), double(right)),
        PhysicalType::F32 => {
            floats(f32::from_bits(u32_at(left, 0)).into(), f32::from_bits(u32_at(right, 0)).into())
        }
        PhysicalType::Interval => interval(left).order_key().cmp(&interval(right).order_key()),
        PhysicalType::U128 => u128::from_le_bytes(sixteen(left)).cmp(&u128::from_le_bytes(sixteen(right))),
        other => stored(other, left).cmp(&stored(other, right)),
    }
}

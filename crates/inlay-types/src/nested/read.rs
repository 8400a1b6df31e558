//! Reading packed values.

use super::{HAS_NULLS, fixed_width};
use crate::{Field, Interval, LogicalType, PhysicalType, Value};
use std::sync::Arc;

/// Little-endian number at `at`; 0 behind the end.
#[inline]
pub(super) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).map_or(0, |b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
}

#[inline]
pub(super) fn bit_at(bytes: &[u8], index: usize) -> bool {
    bytes.get(index / 8).is_some_and(|byte| byte >> (index % 8) & 1 == 1)
}

/// Bytes from `from` to `to` as far as they are there.
#[inline]
pub(super) fn part(bytes: &[u8], from: usize, to: usize) -> &[u8] {
    let from = from.min(bytes.len());
    &bytes[from..to.clamp(from, bytes.len())]
}

/// The elements of a list, or the keys or values of a map.
#[derive(Clone, Copy, Debug)]
pub struct Sequence<'a> {
    count: usize,
    validity: Option<&'a [u8]>,
    width: Option<usize>,
    /// Ends of the elements, when they have no fixed width.
    ends: &'a [u8],
    data: &'a [u8],
}

impl<'a> Sequence<'a> {
    /// The packed elements of type `element`.
    #[inline]
    pub fn new(element: &LogicalType, bytes: &'a [u8]) -> Self {
        Self::of_width(fixed_width(element), bytes)
    }

    /// The packed elements of a type of this width, if it has one.
    #[inline]
    pub fn of_width(width: Option<usize>, bytes: &'a [u8]) -> Self {
        let header = u32_at(bytes, 0);
        let mut count = (header & !HAS_NULLS) as usize;
        // Each element takes at least a bit.
        count = count.min(bytes.len().saturating_mul(8));
        let validity_size = if header & HAS_NULLS == 0 { 0 } else { count.div_ceil(8) };
        let validity = (validity_size > 0).then(|| part(bytes, 4, 4 + validity_size));
        let rest = part(bytes, 4 + validity_size, bytes.len());
        match width {
            Some(width) => count = count.min(rest.len() / width),
            None => count = count.min(rest.len() / 4),
        }
        let ends_size = if width.is_some() { 0 } else { count * 4 };
        let (ends, data) = rest.split_at(ends_size);
        Self { count, validity, width, ends, data }
    }

    /// Number of elements.
    #[inline]
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Whether element `index` is NULL.
    #[inline]
    pub fn is_null(&self, index: usize) -> bool {
        self.validity.is_some_and(|validity| !bit_at(validity, index))
    }

    /// Whether no element is NULL.
    #[inline]
    pub fn has_no_nulls(&self) -> bool {
        self.validity.is_none()
    }

    /// The packed bytes of element `index`, NULL or not.
    #[inline]
    pub fn bytes(&self, index: usize) -> &'a [u8] {
        match self.width {
            Some(width) => part(self.data, index * width, (index + 1) * width),
            None => {
                let from = if index == 0 { 0 } else { u32_at(self.ends, index * 4 - 4) as usize };
                part(self.data, from, u32_at(self.ends, index * 4) as usize)
            }
        }
    }

    /// The packed bytes of element `index`; `None` when it is NULL.
    #[inline]
    pub fn get(&self, index: usize) -> Option<&'a [u8]> {
        (!self.is_null(index)).then(|| self.bytes(index))
    }

    /// Elements without fixed width, none of which is NULL: their ends, and all their bytes.
    #[inline]
    pub fn plain_texts(&self) -> Option<(&'a [[u8; 4]], &'a [u8])> {
        (self.width.is_none() && self.validity.is_none()).then_some((self.ends.as_chunks().0, self.data))
    }

    /// All elements of fixed width, back to back.
    #[inline]
    pub fn fixed(&self) -> Option<&'a [u8]> {
        self.width.map(|width| part(self.data, 0, self.count * width))
    }
}

/// Keys and values of a map.
pub fn map_parts<'a>(types: &(LogicalType, LogicalType), bytes: &'a [u8]) -> (Sequence<'a>, Sequence<'a>) {
    let split = 4 + u32_at(bytes, 0) as usize;
    (Sequence::new(&types.0, part(bytes, 4, split)), Sequence::new(&types.1, part(bytes, split, bytes.len())))
}

/// Keys and values of a map as the packed lists that they are.
pub fn map_lists(bytes: &[u8]) -> (&[u8], &[u8]) {
    let split = 4 + u32_at(bytes, 0) as usize;
    (part(bytes, 4, split), part(bytes, split, bytes.len()))
}

/// Where the parts of a struct lie.
#[derive(Clone, Debug)]
pub struct StructLayout {
    /// Offset and width of each fixed field; position among the others of each other one.
    places: Vec<Place>,
    /// Where the ends of the other fields begin.
    ends: usize,
    others: usize,
}

#[derive(Clone, Copy, Debug)]
enum Place {
    Fixed(usize, usize),
    Other(usize),
}

impl StructLayout {
    /// The layout of a struct of these fields.
    pub fn new(fields: &[Field]) -> Self {
        let (mut offset, mut others) = (fields.len().div_ceil(8), 0);
        let mut place = |field: &Field| match fixed_width(&field.ty) {
            Some(width) => {
                offset += width;
                Place::Fixed(offset - width, width)
            }
            None => {
                others += 1;
                Place::Other(others - 1)
            }
        };
        let places = fields.iter().map(&mut place).collect();
        Self { places, ends: offset, others }
    }

    /// Offset and width of a field of fixed width.
    pub(super) fn fixed(&self, index: usize) -> Option<(usize, usize)> {
        match self.places.get(index)? {
            Place::Fixed(offset, width) => Some((*offset, *width)),
            Place::Other(_) => None,
        }
    }

    /// The packed bytes of a field; `None` when it is NULL.
    #[inline]
    pub fn field<'a>(&self, bytes: &'a [u8], index: usize) -> Option<&'a [u8]> {
        if !bit_at(bytes, index) {
            return None;
        }
        Some(match self.places.get(index)? {
            Place::Fixed(offset, width) => part(bytes, *offset, offset + width),
            Place::Other(position) => {
                let data = part(bytes, self.ends + self.others * 4, bytes.len());
                let end = |position: usize| u32_at(bytes, self.ends + position * 4) as usize;
                part(data, if *position == 0 { 0 } else { end(position - 1) }, end(*position))
            }
        })
    }
}

/// The packed bytes of all fields of a struct in order, `None` for NULL: for who looks at one struct, whose layout is not worth memory.
pub(super) fn struct_parts<'a>(
    fields: &'a [Field],
    bytes: &'a [u8],
) -> impl Iterator<Item = Option<&'a [u8]>> + 'a {
    let widths = || fields.iter().map(|field| fixed_width(&field.ty));
    let ends = fields.len().div_ceil(8) + widths().flatten().sum::<usize>();
    let others = widths().filter(Option::is_none).count();
    let data = part(bytes, ends + 4 * others, bytes.len());
    let (mut fixed, mut end_at, mut from) = (fields.len().div_ceil(8), ends, 0);
    widths().enumerate().map(move |(index, width)| {
        let own = match width {
            Some(width) => {
                fixed += width;
                part(bytes, fixed - width, fixed)
            }
            None => {
                let (start, end) = (from, u32_at(bytes, end_at) as usize);
                (from, end_at) = (end, end_at + 4);
                part(data, start, end)
            }
        };
        bit_at(bytes, index).then_some(own)
    })
}

/// Which member a union holds, and its bytes unless it is NULL.
pub fn union_parts(bytes: &[u8]) -> (u8, Option<&[u8]>) {
    let tag = bytes.first().copied().unwrap_or(0);
    (tag, (bytes.get(1) == Some(&1)).then(|| part(bytes, 2, bytes.len())))
}

/// The packed bytes of a value of fixed width, widened to 16; zeros where they end early.
pub(crate) fn sixteen(bytes: &[u8]) -> [u8; 16] {
    let mut raw = [0u8; 16];
    let size = bytes.len().min(16);
    raw[..size].copy_from_slice(&bytes[..size]);
    raw
}

/// The integer in the packed bytes of a type carried by integers.
pub(super) fn stored(physical: PhysicalType, bytes: &[u8]) -> i128 {
    let word = i128::from_le_bytes(sixteen(bytes));
    match physical {
        PhysicalType::I8 => i128::from(word as i8),
        PhysicalType::I16 => i128::from(word as i16),
        PhysicalType::I32 => i128::from(word as i32),
        PhysicalType::I64 => i128::from(word as i64),
        _ => word,
    }
}

pub(super) fn interval(bytes: &[u8]) -> Interval {
    let word = u128::from_le_bytes(sixteen(bytes));
    Interval { months: word as i32, days: (word >> 32) as i32, micros: (word >> 64) as i64 }
}

/// The value of type `ty` in these bytes.
pub fn value(ty: &LogicalType, bytes: &[u8]) -> Value {
    let text = || String::from_utf8_lossy(bytes).into_owned();
    match ty {
        LogicalType::Null => Value::Null,
        LogicalType::Real => Value::Real(f32::from_bits(u32_at(bytes, 0))),
        LogicalType::Double => Value::Double(f64::from_bits(u128::from_le_bytes(sixteen(bytes)) as u64)),
        LogicalType::Interval => Value::Interval(interval(bytes)),
        LogicalType::UHugeInt => Value::UHugeInt(u128::from_le_bytes(sixteen(bytes))),
        LogicalType::Varchar => Value::Varchar(text()),
        LogicalType::Json => Value::Json(text()),
        LogicalType::Blob => Value::Blob(bytes.to_vec()),
        LogicalType::Bit => Value::Bit(bytes.to_vec()),
        LogicalType::List(element) => {
            Value::List { element: Arc::clone(element), values: elements(element, bytes) }
        }
        LogicalType::Array(element, _) => {
            Value::Array { element: Arc::clone(element), values: elements(element, bytes) }
        }
        LogicalType::Struct(fields) => {
            let layout = StructLayout::new(fields);
            let field = |(index, field): (usize, &Field)| optional(&field.ty, layout.field(bytes, index));
            Value::Struct {
                fields: Arc::clone(fields),
                values: fields.iter().enumerate().map(field).collect(),
            }
        }
        LogicalType::Map(types) => {
            let (keys, values) = map_parts(types, bytes);
            let entry = |index| (optional(&types.0, keys.get(index)), optional(&types.1, values.get(index)));
            let count = keys.len().min(values.len());
            Value::Map { types: Arc::clone(types), entries: (0..count).map(entry).collect() }
        }
        LogicalType::Union(members) => {
            let (tag, inner) = union_parts(bytes);
            let value = members.get(usize::from(tag)).map_or(Value::Null, |m| optional(&m.ty, inner));
            let tag = if usize::from(tag) < members.len() { tag } else { 0 };
            Value::Union { members: Arc::clone(members), tag, value: Box::new(value) }
        }
        // A label that the type does not have is in bytes of another pattern only, which `is_packed` refuses.
        other => Value::from_stored_i128(other, stored(other.physical(), bytes)).unwrap_or(Value::Null),
    }
}

fn optional(ty: &LogicalType, bytes: Option<&[u8]>) -> Value {
    bytes.map_or(Value::Null, |bytes| value(ty, bytes))
}

fn elements(element: &LogicalType, bytes: &[u8]) -> Vec<Value> {
    let sequence = Sequence::new(element, bytes);
    (0..sequence.len()).map(|index| optional(element, sequence.get(index))).collect()
}

//! Packing: canonical bytes of parts.

use super::{HAS_NULLS, fixed_width};
use crate::append::push_short;
use crate::limits::{self, Pace};
use crate::{Error, Field, LogicalType, PhysicalType, Result, Value};

/// Appends a value of fixed width from its bytes in memory, in canonical form.
pub(super) fn push_fixed(physical: PhysicalType, bytes: &[u8], out: &mut Vec<u8>) {
    match physical {
        PhysicalType::F64 => {
            let mut raw = [0; 8];
            raw.copy_from_slice(&bytes[..8]);
            let value = f64::from_le_bytes(raw);
            let canonical = if value.is_nan() { f64::NAN } else { value + 0.0 };
            out.extend_from_slice(&canonical.to_le_bytes());
        }
        PhysicalType::F32 => {
            let mut raw = [0; 4];
            raw.copy_from_slice(&bytes[..4]);
            let value = f32::from_le_bytes(raw);
            let canonical = if value.is_nan() { f32::NAN } else { value + 0.0 };
            out.extend_from_slice(&canonical.to_le_bytes());
        }
        _ => out.extend_from_slice(bytes),
    }
}

/// Appends the packed sequence of `count` elements. `get` gives the canonical bytes of an element, `None` for NULL.
pub fn push_sequence<'a>(
    element: &LogicalType,
    count: usize,
    get: impl Fn(usize) -> Option<&'a [u8]> + Copy,
    out: &mut Vec<u8>,
) -> Result<()> {
    if push_without_nulls(element, count, get, out)? {
        return Ok(());
    }
    let mut has_nulls = false;
    for part in limits::steps(count) {
        has_nulls = has_nulls || part?.any(|index| get(index).is_none());
    }
    let header = u32::try_from(count).ok().filter(|count| count & HAS_NULLS == 0);
    let header = header.ok_or_else(|| Error::out_of_range("a list has more than 2,147,483,647 elements"))?;
    let fixed_size = fixed_width(element).map_or(0, |width| count.saturating_mul(width));
    limits::grow_at_once(out, fixed_size + count.div_ceil(8) + 4)?;
    out.extend_from_slice(&(header | if has_nulls { HAS_NULLS } else { 0 }).to_le_bytes());
    if has_nulls {
        push_validity(count, |index| get(index).is_some(), out);
    }
    if let Some(width) = fixed_width(element) {
        for part in limits::steps(count) {
            for index in part? {
                match get(index) {
                    Some(bytes) => out.extend_from_slice(bytes),
                    None => out.resize(out.len() + width, 0),
                }
            }
        }
        return Ok(());
    }
    push_others((0..count).map(get), out)
}

/// More elements are asked for before they are written.
const FEW_ELEMENTS: usize = 1024;

/// Bytes of a sequence that is packed in one pass.
const ONE_PASS_MAX: usize = 1 << 20;

/// Appends the packed sequence in one pass if it has few elements, none of which is NULL, and few bytes; whether it did.
#[inline]
fn push_without_nulls<'a>(
    element: &LogicalType,
    count: usize,
    get: impl Fn(usize) -> Option<&'a [u8]>,
    out: &mut Vec<u8>,
) -> Result<bool> {
    if count > FEW_ELEMENTS {
        return Ok(false);
    }
    let start = out.len();
    out.extend_from_slice(&(count as u32).to_le_bytes());
    let ends = out.len();
    let is_fixed = fixed_width(element).is_some();
    if !is_fixed {
        out.resize(ends + count * 4, 0);
    }
    let first = out.len();
    for index in 0..count {
        // What is large is asked for as a whole.
        let bytes = get(index).filter(|bytes| out.len() - start + bytes.len() <= ONE_PASS_MAX);
        let Some(bytes) = bytes else {
            out.truncate(start);
            return Ok(false);
        };
        push_short(out, bytes);
        if !is_fixed {
            let end = size(out.len() - first)?;
            out[ends + index * 4..ends + index * 4 + 4].copy_from_slice(&end.to_le_bytes());
        }
    }
    Ok(true)
}

/// Appends the ends of values without fixed width, then their bytes.
fn push_others<'a>(values: impl Iterator<Item = Option<&'a [u8]>> + Clone, out: &mut Vec<u8>) -> Result<()> {
    let (mut end, mut total, mut pace) = (0usize, 0usize, Pace::new());
    for value in values.clone() {
        pace.step()?;
        total += value.map_or(0, <[u8]>::len) + 4;
    }
    limits::grow_at_once(out, total)?;
    for value in values.clone() {
        pace.step()?;
        end += value.map_or(0, <[u8]>::len);
        out.extend_from_slice(&size(end)?.to_le_bytes());
    }
    for bytes in values.flatten() {
        pace.steps(1 + bytes.len() / 64)?;
        push_short(out, bytes);
    }
    Ok(())
}

fn push_validity(count: usize, valid: impl Fn(usize) -> bool, out: &mut Vec<u8>) {
    let from = out.len();
    out.resize(from + count.div_ceil(8), 0);
    for index in (0..count).filter(|&index| valid(index)) {
        out[from + index / 8] |= 1 << (index % 8);
    }
}

/// A size in 32 bits.
pub(super) fn size(bytes: usize) -> Result<u32> {
    u32::try_from(bytes).map_err(|_| Error::out_of_range("a nested value has more than 4 GiB"))
}

/// Appends the packed struct. `get` gives the canonical bytes of a field, `None` for NULL.
pub fn push_struct<'a>(
    fields: &[Field],
    get: impl Fn(usize) -> Option<&'a [u8]> + Copy,
    out: &mut Vec<u8>,
) -> Result<()> {
    push_validity(fields.len(), |index| get(index).is_some(), out);
    for (index, field) in fields.iter().enumerate() {
        let Some(width) = fixed_width(&field.ty) else { continue };
        match get(index) {
            Some(bytes) => out.extend_from_slice(bytes),
            None => out.resize(out.len() + width, 0),
        }
    }
    let others = fields.iter().enumerate().filter(|(_, field)| fixed_width(&field.ty).is_none());
    push_others(others.map(|(index, _)| get(index)), out)
}

/// Packs structs of the same fields, of which it knows the places.
#[derive(Clone, Debug)]
pub struct StructPacker {
    /// Widths of the fields that have one.
    widths: Vec<Option<usize>>,
    /// Where the ends of the other fields lie, and where their bytes begin.
    ends: usize,
    texts: usize,
}

impl StructPacker {
    /// Of structs of these fields.
    pub fn new(fields: &[Field]) -> Self {
        let widths: Vec<Option<usize>> = fields.iter().map(|field| fixed_width(&field.ty)).collect();
        let ends = fields.len().div_ceil(8) + widths.iter().flatten().sum::<usize>();
        let texts = ends + 4 * widths.iter().filter(|width| width.is_none()).count();
        Self { widths, ends, texts }
    }

    /// Bytes of a packed struct beside those of fields without fixed width.
    pub fn fixed_size(&self) -> usize {
        self.texts
    }

    /// Appends a packed struct, as [`push_struct`] does.
    pub fn push<'a>(&self, get: impl Fn(usize) -> Option<&'a [u8]>, out: &mut Vec<u8>) -> Result<()> {
        let start = out.len();
        out.resize(start + self.texts, 0);
        let (mut fixed, mut end) = (start + self.widths.len().div_ceil(8), start + self.ends);
        for (index, width) in self.widths.iter().enumerate() {
            let value = get(index);
            if value.is_some() {
                out[start + index / 8] |= 1 << (index % 8);
            }
            let bytes = value.unwrap_or_default();
            if let Some(width) = width {
                out[fixed..fixed + bytes.len()].copy_from_slice(bytes);
                fixed += width;
                continue;
            }
            if out.capacity() - out.len() < bytes.len() {
                // Room for all that follow, so that what is large moves once.
                let rest = (index..self.widths.len()).filter(|field| self.widths[*field].is_none());
                limits::grow_at_once(out, rest.filter_map(&get).map(<[u8]>::len).sum())?;
            }
            push_short(out, bytes);
            let written = size(out.len() - start - self.texts)?;
            out[end..end + 4].copy_from_slice(&written.to_le_bytes());
            end += 4;
        }
        Ok(())
    }
}

/// Where the parts of packed structs lie, for who writes each part once it is known.
#[derive(Clone, Debug)]
pub struct FieldPlaces(StructPacker);

impl FieldPlaces {
    /// Of structs of these fields.
    pub fn new(fields: &[Field]) -> Self {
        Self(StructPacker::new(fields))
    }

    /// Appends a packed struct. `part` appends the canonical bytes of a field in the order of the fields, and says whether there are
    /// any, or NULL; `None` ends it, with some of the struct written.
    pub fn push(
        &self,
        out: &mut Vec<u8>,
        mut part: impl FnMut(usize, &mut Vec<u8>) -> Option<bool>,
    ) -> Option<()> {
        let StructPacker { widths, ends, texts } = &self.0;
        let start = out.len();
        out.resize(start + texts, 0);
        let (mut fixed, mut end) = (start + widths.len().div_ceil(8), start + ends);
        for (index, width) in widths.iter().enumerate() {
            let before = out.len();
            if part(index, out)? {
                out[start + index / 8] |= 1 << (index % 8);
            }
            match width {
                Some(width) => {
                    // What was appended belongs in front of what is there.
                    let size = (out.len() - before).min(*width);
                    let (fields, appended) = out.split_at_mut(before);
                    copy_few(&mut fields[fixed..fixed + size], &appended[..size]);
                    out.truncate(before);
                    fixed += width;
                }
                None => {
                    let written = u32::try_from(out.len() - start - texts).ok()?;
                    out[end..end + 4].copy_from_slice(&written.to_le_bytes());
                    end += 4;
                }
            }
        }
        Some(())
    }
}

/// Copies as many bytes, mostly those of a number: without a call.
#[inline(always)]
fn copy_few(to: &mut [u8], from: &[u8]) {
    if let (Ok(to), Ok(from)) = (<&mut [u8; 8]>::try_from(&mut *to), <&[u8; 8]>::try_from(from)) {
        *to = *from;
    } else if let (Ok(to), Ok(from)) = (<&mut [u8; 4]>::try_from(&mut *to), <&[u8; 4]>::try_from(from)) {
        *to = *from;
    } else {
        to.copy_from_slice(from);
    }
}

/// Puts the ends of the elements of a sequence, which lie from `at` to the end, in front of them.
pub fn insert_ends(ends: &[u32], at: usize, out: &mut Vec<u8>) {
    let size = insert_gap(4 * ends.len(), at, out);
    for (place, end) in out[at..at + size].as_chunks_mut().0.iter_mut().zip(ends) {
        *place = end.to_le_bytes();
    }
}

/// Gives a sequence, of which nothing but this is missing and which lies from `start` to the end, its validity: the elements at
/// the positions `nulls` are NULL.
pub fn insert_validity(nulls: &[u32], start: usize, out: &mut Vec<u8>) {
    let Some(header) =
        out.get(start..).and_then(|rest| rest.first_chunk()).map(|raw| u32::from_le_bytes(*raw))
    else {
        return;
    };
    if nulls.is_empty() {
        return;
    }
    let (count, at) = (header as usize, start + 4);
    insert_gap(count.div_ceil(8), at, out);
    for index in 0..count {
        out[at + index / 8] |= 1 << (index % 8);
    }
    nulls.iter().for_each(|&index| out[at + index as usize / 8] &= !(1 << (index % 8)));
    out[start..at].copy_from_slice(&(header | HAS_NULLS).to_le_bytes());
}

/// Moves what lies behind `at` to make room for `size` bytes, which become zero.
fn insert_gap(size: usize, at: usize, out: &mut Vec<u8>) -> usize {
    let end = out.len();
    out.resize(end + size, 0);
    out.copy_within(at..end, at + size);
    out[at..at + size].fill(0);
    size
}

/// Appends the packed sequence of `count` elements without fixed width, none of which is NULL, as `push` appends one after the other.
/// They have about `size_all` bytes, which are asked for first.
pub fn push_appended(
    (count, size_all): (usize, usize),
    mut push: impl FnMut(usize, &mut Vec<u8>) -> Result<()>,
    out: &mut Vec<u8>,
) -> Result<()> {
    let header = u32::try_from(count).ok().filter(|count| count & HAS_NULLS == 0);
    let header = header.ok_or_else(|| Error::out_of_range("a list has more than 2,147,483,647 elements"))?;
    limits::grow_at_once(out, 4 + count * size_of::<u32>() + size_all)?;
    out.extend_from_slice(&header.to_le_bytes());
    let ends = out.len();
    out.resize(ends + count * size_of::<u32>(), 0);
    let first = out.len();
    for index in 0..count {
        push(index, out)?;
        let end = size(out.len() - first)?;
        out[ends + index * 4..ends + index * 4 + 4].copy_from_slice(&end.to_le_bytes());
        if index & 0xffff == 0xffff {
            limits::check()?;
        }
    }
    Ok(())
}

fn wrong(ty: &LogicalType, value: &Value) -> Error {
    Error::internal(format!("{} value where {ty} is expected", value.logical_type()))
}

/// Packs each value; `None` where it is NULL.
fn packed<'v>(values: impl Iterator<Item = (&'v LogicalType, &'v Value)>) -> Result<Vec<Option<Vec<u8>>>> {
    let one = |(ty, value): (&LogicalType, &Value)| {
        if value.is_null() {
            return Ok(None);
        }
        let mut bytes = Vec::new();
        push_value(ty, value, &mut bytes)?;
        Ok(Some(bytes))
    };
    values.map(one).collect()
}

/// Appends the packed sequence of values, of which there may be a great many.
fn push_values(element: &LogicalType, values: &[Value], out: &mut Vec<u8>) -> Result<()> {
    if let Some(width) = fixed_width(element) {
        let vector = crate::Vector::from_sql_values(element.clone(), values)?;
        let mut bytes = Vec::with_capacity(values.len() * width);
        vector.data().bytes().chunks_exact(width).take(values.len()).for_each(|one| {
            push_fixed(element.physical(), one, &mut bytes);
        });
        let get = |index: usize| {
            (!vector.is_null(index)).then(|| bytes.get(index * width..(index + 1) * width)).flatten()
        };
        return push_sequence(element, values.len(), get, out);
    }
    fn text(value: &Value) -> Option<&[u8]> {
        match value {
            Value::Varchar(text) | Value::Json(text) => Some(text.as_bytes()),
            Value::Blob(bytes) | Value::Bit(bytes) => Some(bytes),
            _ => None,
        }
    }
    if !element.is_nested() && values.iter().all(|value| value.is_null() || text(value).is_some()) {
        return push_sequence(element, values.len(), |index| text(&values[index]), out);
    }
    let parts = packed(values.iter().map(|value| (element, value)))?;
    push_sequence(element, parts.len(), |index| parts[index].as_deref(), out)
}

/// Appends the canonical bytes of a value of type `ty`, which is not NULL.
pub fn push_value(ty: &LogicalType, value: &Value, out: &mut Vec<u8>) -> Result<()> {
    match (ty, value) {
        (LogicalType::List(element), Value::List { values, .. })
        | (LogicalType::Array(element, _), Value::Array { values, .. }) => push_values(element, values, out),
        (LogicalType::Struct(fields), Value::Struct { values, .. }) if fields.len() == values.len() => {
            let parts = packed(fields.iter().map(|f| &f.ty).zip(values))?;
            push_struct(fields, |index| parts[index].as_deref(), out)
        }
        (LogicalType::Map(types), Value::Map { entries, .. }) => {
            let keys = packed(entries.iter().map(|(key, _)| (&types.0, key)))?;
            let values = packed(entries.iter().map(|(_, value)| (&types.1, value)))?;
            push_map(types, keys.len(), |i| keys[i].as_deref(), |i| values[i].as_deref(), out)
        }
        (LogicalType::Union(members), Value::Union { tag, value, .. }) => {
            let member = members.get(usize::from(*tag)).ok_or_else(|| wrong(ty, value))?;
            out.extend_from_slice(&[*tag, u8::from(!value.is_null())]);
            if value.is_null() { Ok(()) } else { push_value(&member.ty, value, out) }
        }
        (_, Value::Varchar(text) | Value::Json(text)) if ty.is_view() && !ty.is_nested() => {
            out.extend_from_slice(text.as_bytes());
            Ok(())
        }
        (_, Value::Blob(bytes) | Value::Bit(bytes)) if ty.is_view() && !ty.is_nested() => {
            out.extend_from_slice(bytes);
            Ok(())
        }
        _ if ty.is_view() => Err(wrong(ty, value)),
        _ => {
            let one = crate::Vector::from_sql_values(ty.clone(), std::slice::from_ref(value))?;
            let physical = ty.physical();
            push_fixed(physical, &one.data().bytes()[..physical.size()], out);
            Ok(())
        }
    }
}

/// Appends the packed map of `count` pairs.
pub fn push_map<'a>(
    types: &(LogicalType, LogicalType),
    count: usize,
    key: impl Fn(usize) -> Option<&'a [u8]> + Copy,
    value: impl Fn(usize) -> Option<&'a [u8]> + Copy,
    out: &mut Vec<u8>,
) -> Result<()> {
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    push_sequence(&types.0, count, key, out)?;
    let keys_size = size(out.len() - start - 4)?;
    out[start..start + 4].copy_from_slice(&keys_size.to_le_bytes());
    push_sequence(&types.1, count, value, out)
}

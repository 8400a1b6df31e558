//! Casts from, to and between nested types, ENUM, UUID, BIT and JSON.
//!
//! Lists, arrays, structs and maps are converted part by part, whole vectors of parts at a time; structs by the names of
//! their fields, unions by the names of their members. With `or_null` a part that cannot be converted is NULL, not the whole value, as in DuckDB.

use super::{can_cast, cast_with, nested_text, no_cast};
use crate::coercion::nearest_member;
use crate::zone::Zone;
use inlay_types::error::kept_text;
use inlay_types::logical_type::Field;
use inlay_types::nested::{
    extract_field, pack_lists, pack_maps, pack_struct, pack_unions, unpack_lists, unpack_maps, unpack_unions,
};
use inlay_types::{Error, LogicalType, Result, Value, Vector, VectorBuilder, bit};

/// Whether this file knows the cast; `None` when neither type is one of its own.
pub(super) fn can_cast_special(from: &LogicalType, to: &LogicalType) -> Option<bool> {
    use LogicalType::{
        Array, Bit, Blob, Boolean, Double, Enum, Json, List, Map, Real, Struct, UHugeInt, Union, Uuid,
        Varchar,
    };
    Some(match (from, to) {
        (Array(_, a), Array(_, b)) if a != b => false,
        (List(a) | Array(a, _), List(b) | Array(b, _)) => can_cast(a, b),
        (Struct(a), Struct(b)) => sources(a, b).is_some(),
        (Map(a), Map(b)) => can_cast(&a.0, &b.0) && can_cast(&a.1, &b.1),
        (Struct(fields), Map(types)) => are_entries(fields, types),
        (Enum(_), Enum(_)) => true,
        (Varchar, to) if is_special(to) => true,
        (from, Varchar) if is_special(from) => true,
        (from, Bit) | (Bit, from) if from.is_integer() => true,
        (Blob | Boolean | Real | Double, Bit) | (Bit, Blob | Boolean | Real | Double) => true,
        (Uuid, Blob | UHugeInt) | (Blob | UHugeInt, Uuid) => true,
        (Json, _) | (_, Json) => true,
        (Union(from), Union(members)) => places(from, members).is_some(),
        (from, Union(members)) => members.iter().any(|member| can_cast(from, &member.ty)),
        (from, to) if is_special(from) || is_special(to) => {
            matches!((from, to), (Json, Json) | (Uuid, Uuid) | (Bit, Bit))
        }
        _ => return None,
    })
}

fn is_special(ty: &LogicalType) -> bool {
    use LogicalType::{Bit, Enum, Json, Uuid};
    ty.is_nested() || matches!(ty, Bit | Enum(_) | Json | Uuid)
}

/// Whether a list becomes a list, which may have elements of any type.
pub(super) fn is_list_to_list(from: &LogicalType, to: &LogicalType) -> bool {
    use LogicalType::{Array, List};
    match (from, to) {
        (Array(_, a), Array(_, b)) => a == b,
        (List(_) | Array(..), List(_) | Array(..)) => true,
        _ => false,
    }
}

/// Whether fields may be the entries of a map: their names keys, and their values alike.
fn are_entries(fields: &[Field], (key, value): &(LogicalType, LogicalType)) -> bool {
    let is_entry = |field: &Field| !field.name.is_empty() && can_cast(&field.ty, value);
    can_cast(&LogicalType::Varchar, key) && fields.iter().all(is_entry)
}

/// For each field of the target the source field it is made of; `None` when nothing fits. Fields are found by name;
/// rows without names by position.
fn sources(from: &[Field], to: &[Field]) -> Option<Vec<Option<usize>>> {
    let unnamed = |fields: &[Field]| fields.iter().all(|field| field.name.is_empty());
    if unnamed(from) || unnamed(to) {
        let fits = from.len() == to.len() && from.iter().zip(to).all(|(a, b)| can_cast(&a.ty, &b.ty));
        return fits.then(|| (0..to.len()).map(Some).collect());
    }
    let source = |field: &Field| from.iter().position(|f| f.name.eq_ignore_ascii_case(&field.name));
    let found: Vec<Option<usize>> = to.iter().map(source).collect();
    let fits = |(at, field): (&Option<usize>, &Field)| at.is_none_or(|at| can_cast(&from[at].ty, &field.ty));
    (found.iter().any(Option::is_some) && found.iter().zip(to).all(fits)).then_some(found)
}

/// Casts of whole vectors that go part by part; `None` for all others.
pub(super) fn cast_parts(
    input: &Vector,
    to: &LogicalType,
    or_null: bool,
    zone: Option<&Zone>,
) -> Option<Result<Vector>> {
    use LogicalType::{Array, List, Map, Struct, Union};
    Some(match (input.ty(), to) {
        (List(_) | Array(..), List(element) | Array(element, _)) => lists(input, element, to, or_null, zone),
        (Struct(from), Struct(fields)) => structs(input, (from, fields), to, or_null, zone),
        (Map(_), Map(types)) => maps(input, types, to, or_null, zone),
        (Struct(fields), Map(types)) => entries(input, (fields, types), to, or_null, zone),
        (Union(from), Union(members)) => unions(input, (from, members), to, or_null, zone),
        _ => return None,
    })
}

/// A nested value of text or JSON with NULL for the parts that cannot be converted; `None` for all other casts.
pub(super) fn parts_or_null(value: &Value, to: &LogicalType) -> Option<Result<Value>> {
    let parsed = match value {
        Value::Varchar(text) if to.is_nested() => nested_text::parse_or_null(text, to),
        Value::Json(text) if to.is_nested() => crate::json::values::parse_or_null(text, to),
        _ => return None,
    };
    Some(match parsed {
        Err(error) if !error.is_of_statement() => Ok(Value::Null),
        parsed => parsed,
    })
}

fn lists(
    input: &Vector,
    element: &LogicalType,
    to: &LogicalType,
    or_null: bool,
    zone: Option<&Zone>,
) -> Result<Vector> {
    let flat = input.flatten();
    let (child, offsets) = unpack_lists(&flat)?;
    let mut converted = Vector::empty(element.clone());
    cast_with(&child, element, or_null, zone, &mut converted)?;
    let mut validity = flat.validity().cloned();
    if let LogicalType::Array(_, size) = to {
        for row in (0..flat.len()).filter(|&row| !flat.is_null(row)) {
            let count = offsets[row + 1] - offsets[row];
            if count == *size {
                continue;
            }
            if !or_null {
                let message = format!("a list of {count} elements does not fit into an array of {size}");
                return Err(Error::invalid_argument(message));
            }
            let all = || inlay_types::Bitmap::filled(flat.len(), true);
            validity.get_or_insert_with(all).set(row, false);
        }
    }
    pack_lists(to, &converted, &offsets, validity.as_ref())
}

fn structs(
    input: &Vector,
    (from, fields): (&[Field], &[Field]),
    to: &LogicalType,
    or_null: bool,
    zone: Option<&Zone>,
) -> Result<Vector> {
    let found = sources(from, fields).ok_or_else(|| no_cast(input.ty(), to))?;
    let flat = input.flatten();
    let mut parts = Vec::with_capacity(fields.len());
    for (at, field) in found.into_iter().zip(fields) {
        let mut part = Vector::nulls(field.ty.clone(), flat.len());
        if let Some(at) = at {
            cast_with(&extract_field(&flat, at)?, &field.ty, or_null, zone, &mut part)?;
        }
        parts.push(part);
    }
    pack_struct(to, &parts.iter().collect::<Vec<_>>(), flat.len(), flat.validity())
}

/// For each member of a union the member of the target that it becomes: that of its name. `None` when one has none.
fn places(from: &[Field], to: &[Field]) -> Option<Vec<u8>> {
    let place = |member: &Field| {
        let at = to.iter().position(|target| target.name.eq_ignore_ascii_case(&member.name))?;
        can_cast(&member.ty, &to[at].ty).then_some(at as u8)
    };
    from.iter().map(place).collect()
}

fn unions(
    input: &Vector,
    (from, members): (&[Field], &[Field]),
    to: &LogicalType,
    or_null: bool,
    zone: Option<&Zone>,
) -> Result<Vector> {
    let places = places(from, members).ok_or_else(|| no_cast(input.ty(), to))?;
    let flat = input.flatten();
    let (mut tags, held) = unpack_unions(&flat)?;
    let mut parts: Vec<Vector> =
        members.iter().map(|member| Vector::nulls(member.ty.clone(), flat.len())).collect();
    for (part, &place) in held.iter().zip(&places) {
        let place = usize::from(place);
        cast_with(part, &members[place].ty, or_null, zone, &mut parts[place])?;
    }
    tags.iter_mut().for_each(|tag| *tag = places[usize::from(*tag)]);
    pack_unions(to, &tags, &parts.iter().collect::<Vec<_>>(), flat.validity())
}

/// Structs as maps: from the names of their fields to the values.
fn entries(
    input: &Vector,
    (fields, types): (&[Field], &(LogicalType, LogicalType)),
    to: &LogicalType,
    or_null: bool,
    zone: Option<&Zone>,
) -> Result<Vector> {
    let flat = input.flatten();
    let key = |field: &Field| super::cast_value(&Value::Varchar(field.name.to_string()), &types.0);
    let names = match fields.iter().map(key).collect::<Result<Vec<_>>>() {
        Ok(names) => names,
        Err(_) if or_null => return Ok(Vector::nulls(to.clone(), flat.len())),
        Err(error) => return Err(error),
    };
    let mut parts = Vec::with_capacity(fields.len());
    for at in 0..fields.len() {
        let mut part = Vector::empty(types.1.clone());
        cast_with(&extract_field(&flat, at)?, &types.1, or_null, zone, &mut part)?;
        parts.push(part);
    }
    let count = flat.len() * fields.len();
    let mut keys = VectorBuilder::new(types.0.clone(), count);
    let mut values = VectorBuilder::new(types.1.clone(), count);
    let mut offsets = vec![0u32];
    let mut end = 0u32;
    for row in 0..flat.len() {
        if !flat.is_null(row) {
            for (name, part) in names.iter().zip(&parts) {
                keys.push(name)?;
                values.push(&part.get(row))?;
                end += 1;
            }
        }
        offsets.push(end);
    }
    pack_maps(to, &keys.finish(), &values.finish(), &offsets, flat.validity())
}

fn maps(
    input: &Vector,
    types: &(LogicalType, LogicalType),
    to: &LogicalType,
    or_null: bool,
    zone: Option<&Zone>,
) -> Result<Vector> {
    let flat = input.flatten();
    let (keys, values, offsets) = unpack_maps(&flat)?;
    let (mut k, mut v) = (Vector::empty(types.0.clone()), Vector::empty(types.1.clone()));
    cast_with(&values, &types.1, or_null, zone, &mut v)?;
    match cast_with(&keys, &types.0, false, zone, &mut k) {
        Ok(()) => pack_maps(to, &k, &v, &offsets, flat.validity()),
        Err(_) if or_null && flat.len() > 1 => map_by_map(&flat, types, to, zone),
        Err(_) if or_null => Ok(Vector::nulls(to.clone(), flat.len())),
        Err(error) => Err(error),
    }
}

/// A key cannot be NULL: a map with a key that cannot be converted is NULL as a whole.
fn map_by_map(
    flat: &Vector,
    types: &(LogicalType, LogicalType),
    to: &LogicalType,
    zone: Option<&Zone>,
) -> Result<Vector> {
    let mut builder = VectorBuilder::new(to.clone(), flat.len());
    for row in 0..flat.len() {
        builder.append(&maps(&flat.slice(row, 1), types, to, true, zone)?);
    }
    Ok(builder.finish())
}

fn invalid(value: &Value, to: &LogicalType) -> Error {
    Error::InvalidCast { value: kept_text(&value.to_string()), to: to.to_string() }
}

/// One value, not NULL, from or to a type of this file; the cast exists.
pub(super) fn cast_special(value: &Value, to: &LogicalType) -> Result<Value> {
    if let Value::Varchar(text) = value {
        return from_text(text, to);
    }
    match (value, to) {
        (Value::Json(_), LogicalType::Varchar | LogicalType::Json) => {}
        (Value::Json(text), to) => return crate::json::values::parse(text, to),
        (value, LogicalType::Json) => {
            let mut text = String::new();
            crate::json::values::write(value, &mut text);
            return Ok(Value::Json(text));
        }
        _ => {}
    }
    if *to == LogicalType::Varchar {
        return Ok(Value::Varchar(value.to_string()));
    }
    match (value, to) {
        (Value::Enum { .. }, _) => from_text(&value.to_string(), to),
        (Value::Bit(bits), _) => from_bits(bits, to).ok_or_else(|| invalid(value, to)),
        (Value::Uuid(number), LogicalType::Blob) => Ok(Value::Blob(number.to_be_bytes().to_vec())),
        (Value::Uuid(number), LogicalType::UHugeInt) => Ok(Value::UHugeInt(*number)),
        (Value::UHugeInt(number), LogicalType::Uuid) => Ok(Value::Uuid(*number)),
        (Value::Blob(bytes), LogicalType::Uuid) => {
            let bytes = bytes.as_slice().try_into().map_err(|_| invalid(value, to))?;
            Ok(Value::Uuid(u128::from_be_bytes(bytes)))
        }
        (Value::Blob(bytes), LogicalType::Bit) if bytes.is_empty() => Err(invalid(value, to)),
        (Value::Blob(bytes), LogicalType::Bit) => {
            let is_set = |index: usize| bytes[index / 8] >> (7 - index % 8) & 1 == 1;
            Ok(Value::Bit(bit::from_bits(bytes.len() * 8, is_set)))
        }
        (_, LogicalType::Bit) => {
            let stored = match value {
                Value::Boolean(truth) => i128::from(*truth),
                Value::Real(number) => i128::from(number.to_bits()),
                Value::Double(number) => i128::from(number.to_bits()),
                _ => value.as_i128().ok_or_else(|| invalid(value, to))?,
            };
            let width = value.logical_type().physical().size() * 8;
            Ok(Value::Bit(bit::from_bits(width, |index| stored >> (width - 1 - index) & 1 == 1)))
        }
        (_, LogicalType::Union(members)) if !matches!(value, Value::Union { .. }) => {
            let from = value.logical_type();
            let (at, found) = match nearest_member(&from, members) {
                Some((at, _)) => (at, super::cast_value(value, &members[at].ty)?),
                None => exact_member(value, &from, members, to)?,
            };
            Ok(Value::Union { members: members.clone(), tag: at as u8, value: Box::new(found) })
        }
        _ => {
            let one = Vector::from_sql_values(value.logical_type(), std::slice::from_ref(value))?;
            match cast_parts(&one, to, false, None) {
                Some(converted) => Ok(converted?.get(0)),
                None => Err(no_cast(&value.logical_type(), to)),
            }
        }
    }
}

/// The first member of a union that holds a value as it is, where none is as wide as its type: it comes back from there. A date holds
/// no moments, so that midnight is of the same member as noon.
fn exact_member(
    value: &Value,
    from: &LogicalType,
    members: &[Field],
    to: &LogicalType,
) -> Result<(usize, Value)> {
    if !members.iter().any(|member| can_cast(from, &member.ty)) {
        return Err(no_cast(from, to));
    }
    let held = |(at, member): (usize, &Field)| {
        let found = super::cast_value(value, &member.ty).ok()?;
        let comes_back = || super::cast_value(&found, from).is_ok_and(|back| back.total_cmp(value).is_eq());
        let is_held = member.ty == LogicalType::Varchar || (member.ty != LogicalType::Date && comes_back());
        is_held.then_some((at, found))
    };
    members.iter().enumerate().find_map(held).ok_or_else(|| {
        invalid(value, to)
            .with_hint("no member holds it as it is; union_value(member := CAST(...)) names one")
    })
}

fn from_bits(bits: &[u8], to: &LogicalType) -> Option<Value> {
    let count = bit::len(bits);
    if *to == LogicalType::Blob {
        // The first byte has what does not fill a byte.
        let skipped = (8 - count % 8) % 8;
        let is_set = |place: usize| place >= skipped && bit::get(bits, place - skipped);
        let byte =
            |at: usize| (at * 8..at * 8 + 8).fold(0, |byte, place| byte << 1 | u8::from(is_set(place)));
        return Some(Value::Blob((0..count.div_ceil(8)).map(byte).collect()));
    }
    let width = to.physical().size() * 8;
    if count > width {
        return None;
    }
    let word = (0..count).fold(0u128, |word, index| word << 1 | u128::from(bit::get(bits, index)));
    match to {
        LogicalType::Boolean if word <= 1 => return Some(Value::Boolean(word == 1)),
        LogicalType::Boolean => return None,
        LogicalType::Real => return Some(Value::Real(f32::from_bits(word as u32))),
        LogicalType::Double => return Some(Value::Double(f64::from_bits(word as u64))),
        _ => {}
    }
    // A full-width string of bits is the number's two's complement.
    let is_signed = matches!(
        to,
        LogicalType::TinyInt
            | LogicalType::SmallInt
            | LogicalType::Integer
            | LogicalType::BigInt
            | LogicalType::HugeInt
    );
    let stored = match (is_signed, width) {
        (true, 8) => i128::from(word as i8),
        (true, 16) => i128::from(word as i16),
        (true, 32) => i128::from(word as i32),
        (true, 64) => i128::from(word as i64),
        _ => word as i128,
    };
    Value::from_stored_i128(to, stored)
}

/// A value of one of this file's types from its text.
fn from_text(text: &str, to: &LogicalType) -> Result<Value> {
    let wrong = || Error::InvalidCast { value: kept_text(text), to: to.to_string() };
    match to {
        LogicalType::Enum(words) => {
            let position = words.position(text).ok_or_else(wrong)?;
            Ok(Value::Enum { position, words: words.clone() })
        }
        LogicalType::Uuid => uuid(text).map(Value::Uuid).ok_or_else(wrong),
        LogicalType::Bit => Ok(Value::Bit(bit::parse(text)?)),
        LogicalType::Json => {
            nested_text::check_json(text)?;
            Ok(Value::Json(text.to_string()))
        }
        LogicalType::Varchar => Ok(Value::Varchar(text.to_string())),
        _ => nested_text::parse(text, to),
    }
}

/// 32 hexadecimal digits with hyphens between groups of four, possibly in braces.
fn uuid(text: &str) -> Option<u128> {
    let text = text.strip_prefix('{').map_or(Some(text), |rest| rest.strip_suffix('}'))?;
    let mut number = 0u128;
    let mut digits = 0;
    for byte in text.bytes() {
        if byte == b'-' && digits > 0 && digits % 4 == 0 {
            continue;
        }
        number = number << 4 | u128::from((byte as char).to_digit(16)?);
        digits += 1;
        if digits > 32 {
            return None;
        }
    }
    (digits == 32).then_some(number)
}

//! Types with all their parts.

use crate::failure::{ErrorOut, guard, inlay_status, plain};
use crate::kinds::{INLAY_TYPE_NULL, digits_of, id_of, inlay_type_id};
use crate::pointers::{Freed, Handle, Made, Out, Text, free, here, make, owned, text_of};
use inlay::types::LogicalType;
use std::ffi::{CString, c_char};
use std::ptr;

/// A type, which may be made of others: elements of lists and arrays, keys and values of maps, fields of structs, members of unions.
pub struct inlay_type {
    process: u32,
    ty: LogicalType,
    text: CString,
    parts: Vec<inlay_type>,
    /// Of fields and members; words of an ENUM.
    names: Vec<CString>,
}

owned!(inlay_type);

impl inlay_type {
    /// A type as a handle.
    pub fn new(ty: LogicalType) -> Self {
        let part = |ty: &LogicalType| Self::new(ty.clone());
        let (parts, names) = match &ty {
            LogicalType::List(element) | LogicalType::Array(element, _) => (vec![part(element)], Vec::new()),
            LogicalType::Map(types) => (vec![part(&types.0), part(&types.1)], Vec::new()),
            LogicalType::Struct(fields) | LogicalType::Union(fields) => (
                fields.iter().map(|field| part(&field.ty)).collect(),
                fields.iter().map(|field| text_of(&field.name)).collect(),
            ),
            LogicalType::Enum(words) => {
                (Vec::new(), words.values().iter().map(|word| text_of(word)).collect())
            }
            _ => (Vec::new(), Vec::new()),
        };
        let text = text_of(&ty.to_string());
        Self { process: here(), ty, text, parts, names }
    }
}

/// Reads a type as SQL writes it: "DECIMAL(12, 2)", "STRUCT(a INTEGER, b VARCHAR[])". To be freed by inlay_type_free.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_type_parse(
    text: Text<'_>,
    type_: Out<'_, Made<inlay_type>>,
    error: ErrorOut<'_>,
) -> inlay_status {
    guard(error, || make(type_, "type", || Ok(inlay_type::new(inlay::sql::type_of(text.get("text")?)?))))
}

/// The number of a type.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_type_get_id(type_: Handle<'_, inlay_type>) -> inlay_type_id {
    type_.map_or(INLAY_TYPE_NULL, |ty| id_of(&ty.ty))
}

/// The type as SQL writes it; it belongs to the type.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_type_text(type_: Handle<'_, inlay_type>) -> *const c_char {
    type_.map_or(ptr::null(), |ty| ty.text.as_ptr())
}

/// Of a DECIMAL: how many digits there may be; 0 for others.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_type_precision(type_: Handle<'_, inlay_type>) -> u8 {
    type_.map_or(0, |ty| digits_of(&ty.ty).0)
}

/// Of a DECIMAL: how many digits are behind the point; 0 for others.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_type_scale(type_: Handle<'_, inlay_type>) -> u8 {
    type_.map_or(0, |ty| digits_of(&ty.ty).1)
}

/// Of an ARRAY: how many elements each has; of an ENUM: how many words there are; else how many types it is made of.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_type_size(type_: Handle<'_, inlay_type>) -> usize {
    plain(0, || {
        let ty = type_?;
        Some(match &ty.ty {
            LogicalType::Array(_, size) => *size as usize,
            LogicalType::Enum(words) => words.values().len(),
            _ => ty.parts.len(),
        })
    })
}

/// A type that it is made of, from 0; NULL if there is none. It belongs to the type.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_type_part(type_: Handle<'_, inlay_type>, part: usize) -> *const inlay_type {
    type_.and_then(|ty| ty.parts.get(part)).map_or(ptr::null(), ptr::from_ref)
}

/// The name of a field or member, or a word of an ENUM, from 0; NULL if there is none. It belongs to the type.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_type_part_name(type_: Handle<'_, inlay_type>, part: usize) -> *const c_char {
    type_.and_then(|ty| ty.names.get(part)).map_or(ptr::null(), |name| name.as_ptr())
}

/// Frees a type.
#[unsafe(no_mangle)]
pub extern "C" fn inlay_type_free(type_: Freed<'_, inlay_type>) {
    free(type_);
}

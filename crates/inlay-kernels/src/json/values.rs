//! Values as JSON, and JSON as values.
//!
//! Lists and rows without names are arrays, structs, maps and unions are objects. Reading takes the parts that the type asks
//! for; what becomes of the others, and of parts that are missing, says [`Fit`]. Depth is bounded by that of the type.

use super::compact::compact;
use super::members::{Member, Places, places};
use super::value::{Json, quote, quote_bytes, write_real};
use crate::cast::cast_value;
use inlay_types::LogicalType::{self, Boolean, Varchar};
use inlay_types::append::push_short;
use inlay_types::error::kept_text;
use inlay_types::logical_type::Field;
use inlay_types::{Error, Result, Value};
use std::sync::Arc;

/// How well a document has to fit a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fit {
    /// A part that is no value of its type is NULL, not an error.
    or_null: bool,
    /// Each key of an object has a field, unless its value is null, and is there once: a CAST leaves out nothing that was written.
    all_keys: bool,
    /// Each field has a key.
    all_fields: bool,
}

impl Fit {
    /// Readers of files: other keys are passed over, and missing ones are NULL.
    pub const PARTS: Self = Self { or_null: false, all_keys: false, all_fields: false };
    /// TRY_CAST and `json_transform`.
    pub const OR_NULL: Self = Self { or_null: true, ..Self::PARTS };
    /// CAST, and readers that found out the type from documents.
    pub const ALL_KEYS: Self = Self { all_keys: true, ..Self::PARTS };
    /// `json_transform_strict`, whose structure names the parts that are wanted.
    pub const ALL_FIELDS: Self = Self { all_fields: true, ..Self::PARTS };

    /// Whether keys that have no field are passed over.
    pub(super) fn passes_keys(self) -> bool {
        !self.all_keys
    }

    /// Whether fields without a key are NULL.
    pub(super) fn passes_fields(self) -> bool {
        !self.all_fields
    }

    /// What is wrong with an object of these members; `place_of` says where a key is first.
    fn fault(
        self,
        members: &[Member<'_>],
        place_of: &dyn Fn(&str) -> Option<usize>,
        fields: &[Field],
    ) -> Option<String> {
        if self.all_fields
            && let Some(missing) = fields.iter().find(|field| place_of(&field.name).is_none())
        {
            return Some(format!("the key \"{}\" is missing", missing.name));
        }
        if !self.all_keys {
            return None;
        }
        let known = Places::new(fields.len(), |at| &*fields[at].name);
        members.iter().enumerate().find_map(|(at, (name, part))| match known.first(name) {
            None if *part == Json::Null => None,
            None => Some(format!(
                "there is no field for the key \"{name}\"; json_transform(document, structure) takes the parts that are named"
            )),
            Some(_) if place_of(name) != Some(at) => Some(format!("the key \"{name}\" is there twice")),
            Some(_) => None,
        })
    }
}

/// Appends a value as JSON.
pub fn write(shown: &Value, out: &mut String) {
    let list = |values: &[Value], out: &mut String| {
        out.push('[');
        for (index, item) in values.iter().enumerate() {
            out.push_str(if index > 0 { "," } else { "" });
            write(item, out);
        }
        out.push(']');
    };
    let member = |index: usize, key: &str, item: &Value, out: &mut String| {
        out.push_str(if index > 0 { "," } else { "" });
        quote(key, out);
        out.push(':');
        write(item, out);
    };
    match shown {
        Value::Null => out.push_str("null"),
        Value::Json(text) => out.push_str(&compact(text)),
        Value::List { values, .. } | Value::Array { values, .. } => list(values, out),
        Value::Struct { fields, values } if fields.iter().all(|field| field.name.is_empty()) => {
            list(values, out)
        }
        Value::Struct { fields, values } => {
            out.push('{');
            for (index, (field, item)) in fields.iter().zip(values).enumerate() {
                member(index, &field.name, item, out);
            }
            out.push('}');
        }
        Value::Map { entries, .. } => {
            out.push('{');
            for (index, (key, item)) in entries.iter().enumerate() {
                member(index, &key.to_string(), item, out);
            }
            out.push('}');
        }
        Value::Union { members, tag, value } => {
            out.push('{');
            let name = members.get(usize::from(*tag)).map_or("", |member| &member.name);
            member(0, name, value, out);
            out.push('}');
        }
        other => {
            let mut text = Vec::new();
            push_value(&other.to_string(), is_plain(&other.logical_type()), &mut text);
            out.push_str(&String::from_utf8_lossy(&text));
        }
    }
}

/// The value of type `ty` that a document's text describes.
pub fn parse(text: &str, ty: &LogicalType) -> Result<Value> {
    as_type(&Json::parse(text)?, ty, Fit::ALL_KEYS)
}

/// The same with NULL for parts that do not fit.
pub fn parse_or_null(text: &str, ty: &LogicalType) -> Result<Value> {
    as_type(&Json::parse(text)?, ty, Fit::OR_NULL)
}

/// A document as text.
pub fn text_of(json: &Json<'_>) -> String {
    let mut text = String::new();
    json.write(&mut text);
    text
}

/// A part as a value of type `ty`, or an error where it does not fit.
pub fn as_type(json: &Json<'_>, ty: &LogicalType, fit: Fit) -> Result<Value> {
    let each = |items: &[Json<'_>], ty: &LogicalType| {
        items.iter().map(|item| as_type(item, ty, fit)).collect::<Result<Vec<Value>>>()
    };
    let wrong = || Error::InvalidCast { value: kept_text(&text_of(json)), to: ty.to_string() };
    let found = match (ty, json) {
        (_, Json::Null) => Ok(Value::Null),
        (LogicalType::List(element), Json::Array(items)) => {
            Ok(Value::List { element: element.clone(), values: each(items, element)? })
        }
        (LogicalType::Array(element, size), Json::Array(items)) if items.len() == *size as usize => {
            Ok(Value::Array { element: element.clone(), values: each(items, element)? })
        }
        (LogicalType::Struct(fields), Json::Object(members)) => {
            let places = places(members);
            if let Some(fault) = fit.fault(members, &|name| places.first(name), fields) {
                return Err(wrong().with_hint(fault));
            }
            let part = |field: &Field| {
                let found = places.first(&field.name).and_then(|at| members.get(at));
                found.map_or(Ok(Value::Null), |(_, part)| as_type(part, &field.ty, fit))
            };
            Ok(Value::Struct {
                fields: fields.clone(),
                values: fields.iter().map(part).collect::<Result<_>>()?,
            })
        }
        (LogicalType::Struct(fields), Json::Array(items)) if ty.is_tuple() && items.len() == fields.len() => {
            let parts = items.iter().zip(fields.iter()).map(|(item, field)| as_type(item, &field.ty, fit));
            Ok(Value::Struct { fields: fields.clone(), values: parts.collect::<Result<_>>()? })
        }
        (LogicalType::Map(types), Json::Object(members)) => {
            let entry = |(key, part): &(std::borrow::Cow<'_, str>, Json<'_>)| {
                let key = cast_value(&Value::Varchar(key.to_string()), &types.0)?;
                Ok((key, as_type(part, &types.1, fit)?))
            };
            members
                .iter()
                .map(entry)
                .collect::<Result<_>>()
                .map(|entries| Value::Map { types: types.clone(), entries })
        }
        (LogicalType::Union(members), part) => member_of(members, part, fit),
        (LogicalType::Json, other) => Ok(Value::Json(text_of(other))),
        (Varchar, Json::Text(text)) => Ok(Value::Varchar(text.to_string())),
        (Varchar, other) => Ok(Value::Varchar(text_of(other))),
        (ty, _) if ty.is_nested() => Err(wrong()),
        (ty, Json::Text(text)) => cast_value(&Value::Varchar(text.to_string()), ty),
        (ty, Json::Bool(flag)) => cast_value(&Value::Boolean(*flag), ty),
        (ty, Json::Unsigned(number)) => cast_value(&Value::UBigInt(*number), ty),
        (ty, Json::Negative(number)) => cast_value(&Value::BigInt(*number), ty),
        (ty, Json::Real(number)) => cast_value(&Value::Double(*number), ty),
        (ty, Json::Digits(digits)) => cast_value(&Value::Varchar((*digits).to_string()), ty),
        (_, Json::Array(_) | Json::Object(_)) => Err(wrong()),
    };
    if fit.or_null { Ok(found.unwrap_or(Value::Null)) } else { found }
}

/// A value of a UNION: `{"member": value}`, as [`write`] writes it, or the value of the first member that it fits.
fn member_of(members: &Arc<[Field]>, part: &Json<'_>, fit: Fit) -> Result<Value> {
    let value = |tag: usize, value: Value| Value::Union {
        members: Arc::clone(members),
        // A UNION has at most 256 members.
        tag: tag as u8,
        value: Box::new(value),
    };
    if let Json::Object(parts) = part
        && let [(name, part)] = parts.as_slice()
        && let Some(tag) = members.iter().position(|member| member.name.eq_ignore_ascii_case(name))
    {
        return Ok(value(tag, as_type(part, &members[tag].ty, fit)?));
    }
    let fits = members.iter().enumerate().find_map(|(tag, member)| {
        as_type(part, &member.ty, Fit { or_null: false, ..fit }).ok().map(|part| value(tag, part))
    });
    fits.ok_or_else(|| Error::InvalidCast {
        value: text_of(part),
        to: LogicalType::Union(Arc::clone(members)).to_string(),
    })
}

/// Whether a value of the type is written without quotes.
pub fn is_plain(ty: &LogicalType) -> bool {
    ty.is_numeric() || matches!(ty, Boolean | LogicalType::Json)
}

/// Appends a value's text as JSON.
pub fn push_value(value: &str, plain: bool, text: &mut Vec<u8>) {
    let special = match value {
        "nan" => "NaN",
        "inf" => "Infinity",
        "-inf" => "-Infinity",
        other => other,
    };
    if plain {
        // Numbers have exponents where documents have them, as where they are read and written again.
        match special.contains('e').then(|| special.parse::<f64>()) {
            Some(Ok(number)) if number.is_finite() => {
                let mut written = String::new();
                write_real(number, &mut written);
                push_short(text, written.as_bytes());
            }
            _ => push_short(text, special.as_bytes()),
        }
    } else {
        quote_bytes(value.as_bytes(), text);
    }
}

/// The types in a document that is an array, without the brackets: of its items together.
pub fn structure_of(array: &str) -> Result<String> {
    let mut out = String::new();
    Json::parse(array)?.structure().write(&mut out);
    Ok(out.get(1..out.len().saturating_sub(1)).unwrap_or_default().to_string())
}

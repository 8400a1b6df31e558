//! Nested values as JSON and JSON as nested values.
//!
//! Lists and rows without names are arrays, structs, maps and unions are objects. Reading takes the parts that the type asks
//! for: fields that are missing are NULL, others are passed over. Depth is bounded by that of the type.

use crate::nested::rows::{Output, Part, each, each_known};
use crate::registry::{Function, Overloads};
use inlay_kernels::function::{ScalarKernel, kernel};
use inlay_kernels::json::packed::Writer;
use inlay_kernels::json::scan::{Scanned, few_keys_of, keys_of, part_at};
use inlay_kernels::json::typed::Typed;
use inlay_kernels::json::value::{Json, Path};
use inlay_kernels::json::values::{Fit, as_type};
use inlay_kernels::resolve::{ArgType, ResolveOptions, Resolved};
use inlay_types::LogicalType::{self, Varchar};
use inlay_types::logical_type::Field;
use inlay_types::nested::fixed_width;
use inlay_types::nested::write::{push_sequence, push_value};
use inlay_types::{Error, Result, Value, Vector};
use std::sync::Arc;

/// See the module documentation.
pub(crate) static FUNCTIONS: &[Function] = &[
    Function::new(
        "to_json",
        Overloads::Typed {
            shown: &["to_json(LIST or STRUCT or MAP or UNION) -> JSON"],
            resolve: resolve_to_json,
        },
        "a nested value as JSON",
        "to_json({'a': [1, NULL]}) = '{\"a\":[1,null]}'",
    )
    .aliases(&["json_quote", "row_to_json", "array_to_json", "to_jsonb"])
    .special_nulls(),
    Function::new(
        "json_array",
        Overloads::Typed {
            shown: &["json_array(any, ...) -> JSON"],
            resolve: |args, _| resolve_made(args, false),
        },
        "a JSON array of values, some of them nested",
        "json_array([1], 'a') = '[[1],\"a\"]'",
    )
    .aliases(&["json_build_array", "jsonb_build_array"])
    .special_nulls(),
    Function::new(
        "json_object",
        Overloads::Typed {
            shown: &["json_object(key, any, ...) -> JSON"],
            resolve: |args, _| resolve_made(args, true),
        },
        "a JSON object of keys and values, some of them nested",
        "json_object('a', [1, 2]) = '{\"a\":[1,2]}'",
    )
    .aliases(&["json_build_object", "jsonb_build_object"])
    .special_nulls(),
    Function::new(
        "json_keys",
        Overloads::Typed {
            shown: &["json_keys(VARCHAR) -> VARCHAR[]", "json_keys(VARCHAR, path) -> VARCHAR[]"],
            resolve: resolve_keys,
        },
        "the keys of an object",
        "json_keys('{\"a\": 1, \"b\": 2}') = '[a, b]'",
    )
    .special_nulls(),
    Function::new(
        "json_transform",
        Overloads::Explained {
            shown: &["json_transform(VARCHAR, structure) -> any"],
            resolve: |args, _| resolve_transform(args, Fit::OR_NULL),
        },
        "a document as a value of the type that a structure describes; NULL where a part does not fit",
        "json_transform('{\"a\": [1, 2]}', '{\"a\": [\"INTEGER\"]}') = '{''a'': [1, 2]}'",
    )
    .aliases(&["from_json"])
    .special_nulls(),
    Function::new(
        "json_transform_strict",
        Overloads::Explained {
            shown: &["json_transform_strict(VARCHAR, structure) -> any"],
            resolve: |args, _| resolve_transform(args, Fit::ALL_FIELDS),
        },
        "a document as a value of the type that a structure describes; every part has to be there and to fit",
        "json_transform_strict('{\"a\": 1}', '{\"a\": \"INTEGER\"}') = '{''a'': 1}'",
    )
    .aliases(&["from_json_strict"])
    .special_nulls(),
];

fn resolve_to_json(args: &[ArgType], _: &ResolveOptions) -> Option<Resolved> {
    let [source] = args else { return None };
    if !source.ty.is_nested() {
        return None;
    }
    let writer = Writer::of(&source.ty);
    let kernel = kernel(move |args, len, out| {
        each_known(args, &LogicalType::Json, len, out, |args, row, out| {
            out.push_with(|text| {
                writer.write(args.get(0, row), text);
                Ok(())
            })
        })
    });
    Some(Resolved::infallible(vec![source.ty.clone()], LogicalType::Json, kernel))
}

/// `json_array` and `json_object` with at least one nested argument.
fn resolve_made(args: &[ArgType], is_object: bool) -> Option<Resolved> {
    if !args.iter().any(|arg| arg.ty.is_nested()) || (is_object && args.len() % 2 == 1) {
        return None;
    }
    let is_key = move |arg: usize| is_object && arg.is_multiple_of(2);
    let taken = |(index, arg): (usize, &ArgType)| if is_key(index) { Varchar } else { arg.ty.clone() };
    let types: Vec<LogicalType> = args.iter().enumerate().map(taken).collect();
    let writers: Vec<Writer> = types.iter().map(Writer::of).collect();
    Some(Resolved::fallible(types, LogicalType::Json, made(writers, is_object)))
}

/// The arguments, those that are written as texts of numbers as texts.
pub(super) fn with_texts(args: &[&Vector], writers: &[Writer]) -> Result<Vec<Vector>> {
    let one = |(arg, writer): (&&Vector, &Writer)| match writer {
        Writer::Number => {
            let mut texts = Vector::empty(Varchar);
            inlay_kernels::cast::cast(arg, &Varchar, false, &mut texts)?;
            Ok(texts)
        }
        _ => Ok((*arg).clone()),
    };
    args.iter().zip(writers).map(one).collect()
}

/// A document of the arguments: an object of keys and values by turns, or an array.
pub(super) fn made(writers: Vec<Writer>, is_object: bool) -> Arc<dyn ScalarKernel> {
    let is_key = move |arg: usize| is_object && arg.is_multiple_of(2);
    kernel(move |args: &[&Vector], len: usize, out: &mut Vector| {
        if args.is_empty() {
            let mut one = Output::new(&LogicalType::Json);
            one.push(Some(if is_object { b"{}" } else { b"[]" }))?;
            return inlay_kernels::apply::make_constant(&one.finish(), len, out);
        }
        let texts = with_texts(args, &writers)?;
        each(&texts.iter().collect::<Vec<_>>(), &LogicalType::Json, len, out, |args, row, out| {
            out.push_with(|text| {
                text.push(if is_object { b'{' } else { b'[' });
                for (arg, writer) in writers.iter().enumerate() {
                    let part = args.get(arg, row);
                    if part.is_none() && is_key(arg) {
                        return Err(Error::invalid_argument("json_object: a key is NULL"));
                    }
                    if arg > 0 {
                        text.push(if is_object && !is_key(arg) { b':' } else { b',' });
                    }
                    writer.write(part, text);
                }
                text.push(if is_object { b'}' } else { b']' });
                Ok(())
            })
        })
    })
}

pub(super) fn is_text(arg: &ArgType) -> bool {
    matches!(arg.ty, Varchar | LogicalType::Json | LogicalType::Null)
}

/// Keys of an object that need no memory of their own.
const KEYS_FEW: usize = 16;

fn resolve_keys(args: &[ArgType], _: &ResolveOptions) -> Option<Resolved> {
    if !(1..=2).contains(&args.len()) || !args.iter().all(is_text) {
        return None;
    }
    let ty = LogicalType::list(Varchar);
    let returns = ty.clone();
    let kernel = kernel(move |args, len, out| {
        each_known(args, &ty, len, out, |args, row, out| {
            let bytes = args.get(0, row).unwrap_or_default();
            let path = args.text(1, row).map(Path::parse).transpose()?;
            let object = match &path {
                None => Some(bytes),
                Some(path) => match part_at(bytes, Some(path)) {
                    Scanned::Nothing => return out.push(None),
                    Scanned::Part(raw) => Some(raw.text.as_bytes()),
                    Scanned::Unknown => None,
                },
            };
            let mut few = [&[][..]; KEYS_FEW];
            if let Some(count) = object.and_then(|object| few_keys_of(object, &mut few)) {
                return out.push_with(|out| push_sequence(&Varchar, count, |index| Some(few[index]), out));
            }
            if let Some(keys) = object.and_then(keys_of) {
                let key = |index: usize| Some(keys[index]);
                return out.push_with(|out| push_sequence(&Varchar, keys.len(), key, out));
            }
            let document = Json::parse(args.text(0, row).unwrap_or_default())?;
            let part = match &path {
                None => Some(&document),
                Some(path) => path.find(&document).first().copied(),
            };
            let Some(part) = part else { return out.push(None) };
            let keys: Vec<Part<'_>> = match part {
                Json::Object(members) => members.iter().map(|(key, _)| Some(key.as_bytes())).collect(),
                _ => Vec::new(),
            };
            out.push_list(&Varchar, &keys)
        })
    });
    Some(Resolved::fallible(vec![Varchar; args.len()], returns, kernel))
}

fn resolve_transform(args: &[ArgType], fit: Fit) -> Result<Option<Resolved>> {
    let [document, structure] = args else { return Ok(None) };
    if !is_text(document) {
        return Ok(None);
    }
    let Some(structure) = &structure.text else {
        return Err(Error::bind("the structure of a document has to be a literal"));
    };
    let ty = described(&Json::parse(structure)?)?;
    ty.check_depth()?;
    let (returns, typed, is_fixed) = (ty.clone(), Typed::of(&ty, fit), fixed_width(&ty).is_some());
    let kernel = kernel(move |vectors: &[&Vector], len: usize, out: &mut Vector| {
        let mut bytes = Vec::new();
        each_known(vectors, &ty, len, out, |args, row, out| {
            let document = args.get(0, row).unwrap_or_default();
            let mut found = None;
            if is_fixed {
                bytes.clear();
                found = typed.push_bytes(document, &mut bytes);
                if found == Some(true) {
                    return out.push(Some(&bytes));
                }
            } else {
                // Written where it lies.
                let write = |out: &mut Vec<u8>| {
                    found = typed.push_bytes(document, out);
                    Ok(found == Some(true))
                };
                if out.try_push_with(write)? {
                    return Ok(());
                }
            }
            if found == Some(false) {
                return out.push(None);
            }
            let text = args.text(0, row).unwrap_or_default();
            match as_type(&Json::parse(text)?, &ty, fit)? {
                Value::Null => out.push(None),
                found => out.push_with(|out| push_value(&ty, &found, out)),
            }
        })
    });
    Ok(Some(Resolved::fallible(vec![Varchar, Varchar], returns, kernel)))
}

/// The type that a structure describes: a name, a list of one structure, or an object of structures.
fn described(structure: &Json<'_>) -> Result<LogicalType> {
    match structure {
        Json::Text(name) => named(name),
        Json::Array(items) => match &items[..] {
            [item] => Ok(LogicalType::list(described(item)?)),
            _ => Err(Error::bind("a structure's array holds one structure: that of the elements")),
        },
        Json::Object(members) if !members.is_empty() => {
            let field = |(key, part): &(std::borrow::Cow<'_, str>, Json<'_>)| {
                Ok(Field::new(key.to_string(), described(part)?))
            };
            Ok(LogicalType::Struct(members.iter().map(field).collect::<Result<_>>()?))
        }
        _ => Err(Error::bind("a structure is the name of a type, an array or an object of structures")),
    }
}

/// The type of a name as it stands in a structure.
fn named(name: &str) -> Result<LogicalType> {
    use LogicalType as T;
    let upper = name.trim().to_ascii_uppercase();
    if let Some(element) = upper.strip_suffix("[]") {
        return Ok(LogicalType::list(named(element)?));
    }
    if let Some(sizes) = upper.strip_prefix("DECIMAL(").and_then(|rest| rest.strip_suffix(')')) {
        let mut parts = sizes.split(',').map(|part| part.trim().parse::<u8>());
        if let (Some(Ok(precision @ 1..=38)), scale, None) = (parts.next(), parts.next(), parts.next())
            && let Ok(scale) = scale.unwrap_or(Ok(0))
            && scale <= precision
        {
            return Ok(T::decimal(precision, scale));
        }
    }
    Ok(match &*upper {
        "BOOLEAN" | "BOOL" => T::Boolean,
        "TINYINT" => T::TinyInt,
        "SMALLINT" => T::SmallInt,
        "INTEGER" | "INT" => T::Integer,
        "BIGINT" => T::BigInt,
        "HUGEINT" => T::HugeInt,
        "UTINYINT" => T::UTinyInt,
        "USMALLINT" => T::USmallInt,
        "UINTEGER" => T::UInteger,
        "UBIGINT" => T::UBigInt,
        "UHUGEINT" => T::UHugeInt,
        "FLOAT" | "REAL" => T::Real,
        "DOUBLE" => T::Double,
        "DECIMAL" => T::decimal(18, 3),
        "VARCHAR" | "TEXT" | "STRING" => Varchar,
        "DATE" => T::Date,
        "TIME" => T::Time,
        "TIMESTAMP" => T::Timestamp,
        "TIMESTAMPTZ" | "TIMESTAMP WITH TIME ZONE" => T::TimestampTz,
        "INTERVAL" => T::Interval,
        "UUID" => T::Uuid,
        "JSON" => T::Json,
        "NULL" | "\"NULL\"" => T::Null,
        _ => return Err(Error::bind(format!("a structure names the type \"{name}\", which is unknown"))),
    })
}

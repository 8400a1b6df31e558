//! Operators of PostgreSQL's JSONB on documents: `@>`, `<@` and `-`, and those without a sign here under the names that they have
//! there as functions.

use super::nested::is_text;
use crate::nested::rows::each_known;
use crate::registry::Function;
use inlay_kernels::function::kernel;
use inlay_kernels::json::value::Json;
use inlay_kernels::json::values::text_of;
use inlay_kernels::resolve::{ArgType, Resolved};
use inlay_types::LogicalType::{self, BigInt, Boolean, Null, Varchar};
use inlay_types::nested::Sequence;
use inlay_types::{Error, Result};

/// See the module documentation.
pub(crate) static FUNCTIONS: &[Function] = &[
    Function::typed(
        "jsonb_contains",
        &["jsonb_contains(JSON, JSON) -> BOOLEAN", "JSON @> JSON"],
        |args, _| resolve_contains(args, false),
        "whether a document has all that another has, from its top on: members of objects and items of arrays, in any order",
        "jsonb_contains('{\"a\":[1,2],\"b\":3}', '{\"a\":[2]}') = true",
    )
    .special_nulls()
    .fallible(),
    Function::typed(
        "jsonb_contained",
        &["jsonb_contained(JSON, JSON) -> BOOLEAN", "JSON <@ JSON"],
        |args, _| resolve_contains(args, true),
        "whether another document has all that a document has",
        "jsonb_contained('[2]', '[1,2]') = true",
    )
    .special_nulls()
    .fallible(),
    Function::typed(
        "jsonb_exists",
        &["jsonb_exists(JSON, VARCHAR) -> BOOLEAN"],
        |args, _| resolve_exists(args, Wanted::One),
        "whether a text is a key of an object, or an item of an array",
        "jsonb_exists('{\"a\":1}', 'a') = true",
    )
    .special_nulls()
    .fallible(),
    Function::typed(
        "jsonb_exists_any",
        &["jsonb_exists_any(JSON, VARCHAR[]) -> BOOLEAN"],
        |args, _| resolve_exists(args, Wanted::Any),
        "whether one of several texts is a key of an object, or an item of an array",
        "jsonb_exists_any('{\"a\":1}', ['b', 'a']) = true",
    )
    .special_nulls()
    .fallible(),
    Function::typed(
        "jsonb_exists_all",
        &["jsonb_exists_all(JSON, VARCHAR[]) -> BOOLEAN"],
        |args, _| resolve_exists(args, Wanted::All),
        "whether all of several texts are keys of an object, or items of an array",
        "jsonb_exists_all('{\"a\":1}', ['b', 'a']) = false",
    )
    .special_nulls()
    .fallible(),
    Function::typed(
        "jsonb_delete",
        &["jsonb_delete(JSON, VARCHAR or BIGINT or VARCHAR[]) -> JSON", "JSON - VARCHAR"],
        |args, _| resolve_delete(args),
        "a document without the member of a key, the item at a position from 0, or the texts that are such items",
        "jsonb_delete('{\"a\":1,\"b\":2}', 'a') = '{\"b\":2}'",
    )
    .special_nulls()
    .fallible(),
];

/// Parts compared for one row, so that nested arrays cannot take forever.
const COMPARISONS_MAX: u32 = 1 << 24;

fn resolve_contains(args: &[ArgType], reversed: bool) -> Option<Resolved> {
    let [left, right] = args else { return None };
    if !is_text(left) || !is_text(right) {
        return None;
    }
    let kernel = kernel(move |args, len, out| {
        each_known(args, &Boolean, len, out, |args, row, out| {
            let (whole, part) = if reversed { (1, 0) } else { (0, 1) };
            let mut whole = Json::parse(args.text(whole, row).unwrap_or_default())?;
            let mut part = Json::parse(args.text(part, row).unwrap_or_default())?;
            [&mut whole, &mut part].into_iter().for_each(as_whole_numbers);
            let mut fuel = COMPARISONS_MAX;
            let found = whole.contains_from_top(&part, &mut fuel);
            if fuel == 0 {
                return Err(Error::out_of_range("the documents are too large and too deep to compare"));
            }
            out.push_bool(found)
        })
    });
    Some(Resolved::fallible(vec![Varchar, Varchar], Boolean, kernel))
}

/// Numbers without a fraction as whole ones: for JSONB `1.0` is `1`.
fn as_whole_numbers(json: &mut Json<'_>) {
    /// Up to here each whole number is a double.
    const EXACT_MAX: f64 = 9_007_199_254_740_992.0;
    match json {
        Json::Real(number) if number.fract() == 0.0 && number.abs() < EXACT_MAX => {
            let whole = *number as i64;
            *json = u64::try_from(whole).map_or(Json::Negative(whole), Json::Unsigned);
        }
        Json::Array(items) => items.iter_mut().for_each(as_whole_numbers),
        Json::Object(members) => members.iter_mut().for_each(|(_, value)| as_whole_numbers(value)),
        Json::Null
        | Json::Bool(_)
        | Json::Unsigned(_)
        | Json::Negative(_)
        | Json::Real(_)
        | Json::Digits(_)
        | Json::Text(_) => {}
    }
}

/// Whether a text is a key or an item of a document.
fn has(document: &Json<'_>, wanted: &str) -> bool {
    match document {
        Json::Object(members) => members.iter().any(|(key, _)| key == wanted),
        Json::Array(items) => items.iter().any(|item| matches!(item, Json::Text(text) if text == wanted)),
        Json::Text(text) => text == wanted,
        Json::Null
        | Json::Bool(_)
        | Json::Unsigned(_)
        | Json::Negative(_)
        | Json::Real(_)
        | Json::Digits(_) => false,
    }
}

/// How many of several texts have to be there.
#[derive(Clone, Copy, PartialEq)]
enum Wanted {
    One,
    Any,
    All,
}

fn resolve_exists(args: &[ArgType], wanted: Wanted) -> Option<Resolved> {
    let [document, key] = args else { return None };
    let is_list = wanted != Wanted::One;
    let fits = match &key.ty {
        LogicalType::List(element) => is_list && matches!(**element, Varchar | Null),
        Varchar => !is_list,
        ty => *ty == Null,
    };
    if !is_text(document) || !fits {
        return None;
    }
    let kernel = kernel(move |args, len, out| {
        each_known(args, &Boolean, len, out, |args, row, out| {
            let document = Json::parse(args.text(0, row).unwrap_or_default())?;
            if !is_list {
                return out.push_bool(has(&document, args.text(1, row).unwrap_or_default()));
            }
            let mut keys = texts(args.get(1, row).unwrap_or_default()).into_iter();
            out.push_bool(match wanted {
                Wanted::All => keys.all(|key| has(&document, &key)),
                Wanted::One | Wanted::Any => keys.any(|key| has(&document, &key)),
            })
        })
    });
    let keys = if is_list { LogicalType::list(Varchar) } else { Varchar };
    Some(Resolved::fallible(vec![Varchar, keys], Boolean, kernel))
}

/// The texts of a list, without NULLs.
fn texts(bytes: &[u8]) -> Vec<String> {
    let parts = Sequence::new(&Varchar, bytes);
    let text = |index| String::from_utf8_lossy(parts.bytes(index)).into_owned();
    (0..parts.len()).filter(|&index| !parts.is_null(index)).map(text).collect()
}

fn resolve_delete(args: &[ArgType]) -> Option<Resolved> {
    let [document, key] = args else { return None };
    let taken = match &key.ty {
        LogicalType::List(element) if matches!(**element, Varchar | Null) => LogicalType::list(Varchar),
        Varchar | Null => Varchar,
        ty if ty.is_integer() => BigInt,
        _ => return None,
    };
    if !is_text(document) {
        return None;
    }
    let by = taken.clone();
    let kernel = kernel(move |args, len, out| {
        each_known(args, &LogicalType::Json, len, out, |args, row, out| {
            let mut document = Json::parse(args.text(0, row).unwrap_or_default())?;
            let bytes = args.get(1, row).unwrap_or_default();
            if by == BigInt {
                let position = i64::from_le_bytes(bytes.try_into().unwrap_or_default());
                remove_at(&mut document, position)?;
            } else {
                let keys = match by == Varchar {
                    true => vec![args.text(1, row).unwrap_or_default().to_string()],
                    false => texts(bytes),
                };
                remove(&mut document, &keys)?;
            }
            out.push(Some(text_of(&document).as_bytes()))
        })
    });
    Some(Resolved::fallible(vec![Varchar, taken], LogicalType::Json, kernel))
}

fn remove(document: &mut Json<'_>, keys: &[String]) -> Result<()> {
    let is_gone = |text: &str| keys.iter().any(|key| key == text);
    match document {
        Json::Object(members) => members.retain(|(key, _)| !is_gone(key)),
        Json::Array(items) => items.retain(|item| !matches!(item, Json::Text(text) if is_gone(text))),
        Json::Null
        | Json::Bool(_)
        | Json::Unsigned(_)
        | Json::Negative(_)
        | Json::Real(_)
        | Json::Digits(_)
        | Json::Text(_) => {
            return Err(Error::invalid_argument("jsonb_delete takes an object or an array"));
        }
    }
    Ok(())
}

fn remove_at(document: &mut Json<'_>, position: i64) -> Result<()> {
    let Json::Array(items) = document else {
        return Err(Error::invalid_argument("jsonb_delete by a position takes an array"));
    };
    let count = i64::try_from(items.len()).unwrap_or(i64::MAX);
    let index = if position < 0 { position.checked_add(count) } else { Some(position) };
    if let Some(index) = index.and_then(|index| usize::try_from(index).ok()).filter(|&at| at < items.len()) {
        items.remove(index);
    }
    Ok(())
}

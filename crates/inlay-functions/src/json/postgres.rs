//! Functions of JSON with PostgreSQL's paths: lists of keys and positions, as in `'{a, 0}'`.

use super::nested::is_text;
use crate::nested::rows::{Args, each_known};
use crate::registry::Function;
use inlay_kernels::function::kernel;
use inlay_kernels::json::value::Json;
use inlay_kernels::json::values::text_of;
use inlay_kernels::resolve::{ArgType, ResolveOptions, Resolved};
use inlay_types::LogicalType::{self, Boolean, Null, Varchar};
use inlay_types::logical_type::Field;
use inlay_types::nested::{Sequence, write::push_struct};
use inlay_types::{Error, Result};
use std::borrow::Cow;

/// See the module documentation.
pub(crate) static FUNCTIONS: &[Function] = &[
    Function::typed(
        "#>",
        &["JSON #> VARCHAR[] -> JSON"],
        |args, _| resolve_part(args, LogicalType::Json),
        "the part of a document at a list of keys and positions",
        "'{\"a\":[1,2]}'::JSON #> ['a', '1'] = '2'",
    )
    .special_nulls()
    .fallible(),
    Function::typed(
        "#>>",
        &["JSON #>> VARCHAR[] -> VARCHAR"],
        |args, _| resolve_part(args, Varchar),
        "the part of a document at a list of keys and positions, as text without quotes",
        "'{\"a\":[\"x\"]}'::JSON #>> ['a', '0'] = 'x'",
    )
    .special_nulls()
    .fallible(),
    Function::typed(
        "jsonb_set",
        &["jsonb_set(JSON, VARCHAR[] path, JSON value, BOOLEAN create) -> JSON"],
        |args, _| resolve_change(args, false),
        "a document with the part at a list of keys replaced, or added unless the fourth argument is false",
        "jsonb_set('{\"a\":[1,2]}', ['a', '0'], '9') = '{\"a\":[9,2]}'",
    )
    .special_nulls()
    .fallible(),
    Function::typed(
        "jsonb_insert",
        &["jsonb_insert(JSON, VARCHAR[] path, JSON value, BOOLEAN behind) -> JSON"],
        |args, _| resolve_change(args, true),
        "a document with a member added, or an item in front of that at a position, or behind it",
        "jsonb_insert('{\"a\":[1,2]}', ['a', '0'], '9') = '{\"a\":[9,1,2]}'",
    )
    .special_nulls()
    .fallible(),
    Function::typed(
        "json_typeof",
        &["json_typeof(JSON) -> VARCHAR"],
        resolve_typeof,
        "the type of a document: object, array, string, number, boolean or null",
        "json_typeof('[1]') = 'array'",
    )
    .aliases(&["jsonb_typeof"])
    .special_nulls()
    .fallible(),
    Function::typed(
        "json_each_text",
        &["json_each_text(JSON) -> STRUCT(key VARCHAR, value VARCHAR)[]"],
        resolve_each,
        "the members of an object, with their values as texts; a table in FROM",
        "json_each_text('{\"a\":1}')[1].value = '1'",
    )
    .aliases(&["jsonb_each_text"])
    .special_nulls()
    .fallible(),
];

/// Texts, and the list of texts, as which `'{a,b}'` is read as well.
fn is_path(arg: &ArgType) -> bool {
    match &arg.ty {
        LogicalType::List(element) => element.is_integer() || matches!(**element, Varchar | Null),
        Varchar => arg.is_literal,
        ty => *ty == Null,
    }
}

/// The steps of a path.
fn steps<'a>(args: &'a Args, row: usize, is_list: bool) -> Vec<Cow<'a, str>> {
    let bytes = args.get(1, row).unwrap_or_default();
    if !is_list {
        let text = std::str::from_utf8(bytes).unwrap_or_default().trim();
        let inner = text.strip_prefix('{').and_then(|text| text.strip_suffix('}')).unwrap_or(text);
        let part = |part: &'a str| Cow::Borrowed(part.trim().trim_matches('"'));
        return if inner.is_empty() { Vec::new() } else { inner.split(',').map(part).collect() };
    }
    let parts = Sequence::new(&Varchar, bytes);
    (0..parts.len()).map(|index| String::from_utf8_lossy(parts.bytes(index))).collect()
}

/// The index that a text names in a list of so many items, from the end if negative.
fn index_of(step: &str, len: usize) -> Option<usize> {
    let index: i64 = step.trim().parse().ok()?;
    let index = if index < 0 { index.checked_add(i64::try_from(len).ok()?)? } else { index };
    usize::try_from(index).ok()
}

fn taken(path: &ArgType) -> (LogicalType, bool) {
    let is_list = path.ty != Varchar;
    (if is_list { LogicalType::list(Varchar) } else { Varchar }, is_list)
}

fn resolve_part(args: &[ArgType], ty: LogicalType) -> Option<Resolved> {
    let [document, path] = args else { return None };
    if !is_text(document) || !is_path(path) {
        return None;
    }
    let (path_ty, is_list) = taken(path);
    let returns = ty.clone();
    let kernel = kernel(move |args, len, out| {
        each_known(args, &ty, len, out, |args, row, out| {
            let document = Json::parse(args.text(0, row).unwrap_or_default())?;
            let mut part = &document;
            for step in steps(args, row, is_list) {
                let next = match part {
                    Json::Object(members) => {
                        members.iter().find(|(key, _)| *key == step).map(|(_, value)| value)
                    }
                    Json::Array(items) => index_of(&step, items.len()).and_then(|index| items.get(index)),
                    _ => None,
                };
                let Some(next) = next else { return out.push(None) };
                part = next;
            }
            match (part, ty == Varchar) {
                (Json::Null, true) => out.push(None),
                (Json::Text(text), true) => out.push(Some(text.as_bytes())),
                (part, _) => out.push(Some(text_of(part).as_bytes())),
            }
        })
    });
    Some(Resolved::fallible(vec![Varchar, path_ty], returns, kernel))
}

fn resolve_change(args: &[ArgType], inserts: bool) -> Option<Resolved> {
    let [document, path, value, rest @ ..] = args else { return None };
    let is_flag = rest.iter().all(|flag| matches!(flag.ty, Boolean | Null));
    if !is_text(document) || !is_path(path) || !is_text(value) || rest.len() > 1 || !is_flag {
        return None;
    }
    let (path_ty, is_list) = taken(path);
    let mut types = vec![Varchar, path_ty, Varchar];
    types.extend(rest.iter().map(|_| Boolean));
    let has_flag = !rest.is_empty();
    let kernel = kernel(move |args, len, out| {
        each_known(args, &LogicalType::Json, len, out, |args, row, out| {
            let mut document = Json::parse(args.text(0, row).unwrap_or_default())?;
            let value = Json::parse(args.text(2, row).unwrap_or_default())?;
            let flag = has_flag.then(|| args.get(3, row).is_some_and(|bytes| bytes.first() == Some(&1)));
            let steps = steps(args, row, is_list);
            if let Some((last, before)) = steps.split_last()
                && let Some(parent) = part_at(&mut document, before)
            {
                if inserts {
                    insert(parent, last, value, flag.unwrap_or(false))?;
                } else {
                    set(parent, last, value, flag.unwrap_or(true));
                }
            }
            out.push(Some(text_of(&document).as_bytes()))
        })
    });
    Some(Resolved::fallible(types, LogicalType::Json, kernel))
}

fn part_at<'j, 'a>(document: &'j mut Json<'a>, steps: &[Cow<'_, str>]) -> Option<&'j mut Json<'a>> {
    let mut part = document;
    for step in steps {
        part = match part {
            Json::Object(members) => {
                members.iter_mut().find(|(key, _)| key == step).map(|(_, value)| value)?
            }
            Json::Array(items) => {
                let index = index_of(step, items.len())?;
                items.get_mut(index)?
            }
            _ => return None,
        };
    }
    Some(part)
}

fn set<'a>(parent: &mut Json<'a>, step: &str, value: Json<'a>, creates: bool) {
    match parent {
        Json::Object(members) => match members.iter_mut().find(|(key, _)| key == step) {
            Some((_, own)) => *own = value,
            None if creates => members.push((Cow::Owned(step.to_string()), value)),
            None => {}
        },
        Json::Array(items) => match (index_of(step, items.len()), step.trim().starts_with('-')) {
            (Some(index), _) if index < items.len() => items[index] = value,
            (Some(_), _) if creates => items.push(value),
            // Before the first item.
            (None, true) if creates => items.insert(0, value),
            _ => {}
        },
        _ => {}
    }
}

fn insert<'a>(parent: &mut Json<'a>, step: &str, value: Json<'a>, behind: bool) -> Result<()> {
    match parent {
        Json::Object(members) => {
            if members.iter().any(|(key, _)| key == step) {
                let message = format!("jsonb_insert: there is a member \"{step}\"");
                let hint = "replace it with jsonb_set";
                return Err(Error::invalid_argument(message).with_hint(hint));
            }
            members.push((Cow::Owned(step.to_string()), value));
        }
        Json::Array(items) => {
            let place = match index_of(step, items.len()) {
                Some(index) if index < items.len() => index + usize::from(behind),
                Some(_) => items.len(),
                None => 0,
            };
            items.insert(place, value);
        }
        _ => {}
    }
    Ok(())
}

fn resolve_typeof(args: &[ArgType], _: &ResolveOptions) -> Option<Resolved> {
    let [document] = args else { return None };
    if !is_text(document) {
        return None;
    }
    let kernel = kernel(|args, len, out| {
        each_known(args, &Varchar, len, out, |args, row, out| {
            let name: &str = match Json::parse(args.text(0, row).unwrap_or_default())? {
                Json::Null => "null",
                Json::Bool(_) => "boolean",
                Json::Unsigned(_) | Json::Negative(_) | Json::Real(_) | Json::Digits(_) => "number",
                Json::Text(_) => "string",
                Json::Array(_) => "array",
                Json::Object(_) => "object",
            };
            out.push(Some(name.as_bytes()))
        })
    });
    Some(Resolved::fallible(vec![Varchar], Varchar, kernel))
}

fn resolve_each(args: &[ArgType], _: &ResolveOptions) -> Option<Resolved> {
    let [document] = args else { return None };
    if !is_text(document) {
        return None;
    }
    let fields = vec![Field::new("key", Varchar), Field::new("value", Varchar)];
    let element = LogicalType::Struct(fields.clone().into());
    let ty = LogicalType::list(element.clone());
    let returns = ty.clone();
    let kernel = kernel(move |args, len, out| {
        each_known(args, &ty, len, out, |args, row, out| {
            let Json::Object(members) = Json::parse(args.text(0, row).unwrap_or_default())? else {
                return Err(Error::invalid_argument("json_each_text takes an object"));
            };
            let mut packed = Vec::with_capacity(members.len());
            for (key, value) in &members {
                let value = match value {
                    Json::Null => None,
                    Json::Text(text) => Some(text.to_string()),
                    other => Some(text_of(other)),
                };
                let parts = [Some(key.as_bytes()), value.as_ref().map(String::as_bytes)];
                let mut bytes = Vec::new();
                push_struct(&fields, |index| parts[index], &mut bytes)?;
                packed.push(bytes);
            }
            let parts: Vec<_> = packed.iter().map(|bytes| Some(bytes.as_slice())).collect();
            out.push_list(&element, &parts)
        })
    });
    Some(Resolved::fallible(vec![Varchar], returns, kernel))
}

//! Documents with parts set, inserted, replaced and removed, merged, compared and put in order.
//!
//! A path leads to one part; `$[#]` is behind the last item of an array. What cannot be done (a key of an array, an item
//! beyond the end) leaves the document as it is, as in DuckDB and SQLite.

use super::nested::is_text;
use crate::columns::{TextColumn, write_bytes};
use crate::registry::{Function, Overloads, Signature};
use inlay_kernels::apply::joint_validity;
use inlay_kernels::function::kernel;
use inlay_kernels::json::members::{join_members, places};
use inlay_kernels::json::value::{Json, Path, Step};
use inlay_kernels::resolve::{ArgType, Resolved};
use inlay_types::LogicalType::{self, Varchar};
use inlay_types::{Bitmap, Error, Result, Vector};
use std::borrow::Cow;

/// See the module documentation.
pub(crate) static FUNCTIONS: &[Function] = &[
    Function::typed(
        "json_set",
        &["json_set(JSON, path, any, ...) -> JSON"],
        |args, _| resolve_set(args, Change::Set),
        "a document with the part at a path replaced, or added if it is not there; texts are read as JSON",
        "json_set('{\"a\":1}', '$.b', 2) = '{\"a\":1,\"b\":2}'",
    )
    .fallible(),
    Function::typed(
        "json_insert",
        &["json_insert(JSON, path, any, ...) -> JSON"],
        |args, _| resolve_set(args, Change::Insert),
        "a document with a part added at a path, unless there is one; texts are read as JSON",
        "json_insert('{\"a\":1}', '$.a', 2) = '{\"a\":1}'",
    )
    .fallible(),
    Function::typed(
        "json_replace",
        &["json_replace(JSON, path, any, ...) -> JSON"],
        |args, _| resolve_set(args, Change::Replace),
        "a document with the part at a path replaced, if there is one; texts are read as JSON",
        "json_replace('{\"a\":1}', '$.a', [2]) = '{\"a\":[2]}'",
    )
    .fallible(),
    Function::typed(
        "json_remove",
        &["json_remove(JSON, path, ...) -> JSON"],
        |args, _| resolve_remove(args),
        "a document without the parts at paths",
        "json_remove('{\"a\":1,\"b\":2}', '$.a') = '{\"b\":2}'",
    )
    .fallible(),
    Function::new(
        "json_strip_nulls",
        Overloads::Fixed(&[Signature::new(&[Varchar], LogicalType::Json, strip_nulls)]),
        "a document without the members of objects that are null",
        "json_strip_nulls('{\"a\":null,\"b\":[null]}') = '{\"b\":[null]}'",
    )
    .aliases(&["jsonb_strip_nulls"])
    .fallible(),
    Function::new(
        "json_deep_merge",
        Overloads::Fixed(&[Signature::new(&[Varchar, Varchar], LogicalType::Json, deep_merge).variadic()]),
        "a document with the members of others, objects within objects merged too; null changes nothing",
        "json_deep_merge('{\"a\":{\"b\":1}}', '{\"a\":{\"c\":2}}') = '{\"a\":{\"b\":1,\"c\":2}}'",
    )
    .fallible(),
    Function::new(
        "json_merge_patch_diff",
        Overloads::Fixed(&[Signature::new(&[Varchar, Varchar], LogicalType::Json, patch_diff)]),
        "the patch with which json_merge_patch makes the second document of the first",
        "json_merge_patch_diff('{\"a\":1,\"b\":2}', '{\"b\":3}') = '{\"a\":null,\"b\":3}'",
    )
    .special_nulls()
    .fallible(),
    Function::new(
        "json_normalize",
        Overloads::Fixed(&[Signature::new(&[Varchar], Varchar, normalize)]),
        "a document with the members of objects in the order of their keys",
        "json_normalize('{\"b\":1,\"a\":2}') = '{\"a\":2,\"b\":1}'",
    )
    .fallible(),
];

#[derive(Clone, Copy, PartialEq)]
enum Change {
    Set,
    Insert,
    Replace,
}

/// A path that leads to one part.
fn single(text: &str, function: &str) -> Result<Path> {
    let path = Path::parse(text)?;
    if path.is_many() {
        let message = format!("{function}: the path '{text}' leads to several parts");
        let hint = "name one";
        return Err(Error::invalid_argument(message).with_hint(hint));
    }
    Ok(path)
}

/// A document per row made of the first document by `change`, which is given the row.
fn changed(
    args: &[&Vector],
    ty: LogicalType,
    len: usize,
    out: &mut Vector,
    change: impl for<'a> Fn(Json<'a>, usize, &[TextColumn<'a>]) -> Result<Json<'a>>,
) -> Result<()> {
    let columns: Vec<TextColumn<'_>> = args.iter().map(|arg| TextColumn::of(arg)).collect();
    write_bytes(ty, args, len, out, |row, text| {
        let document = change(Json::parse(columns[0].text(row))?, row, &columns)?;
        super::push(&document, text);
        Ok(())
    })
}

fn resolve_set(args: &[ArgType], change: Change) -> Option<Resolved> {
    let [document, changes @ ..] = args else { return None };
    if !is_text(document) || changes.is_empty() || changes.len() % 2 == 1 {
        return None;
    }
    let mut types = vec![Varchar];
    for pair in changes.chunks(2) {
        if !is_text(&pair[0]) {
            return None;
        }
        types.extend([Varchar, LogicalType::Json]);
    }
    let name = match change {
        Change::Set => "json_set",
        Change::Insert => "json_insert",
        Change::Replace => "json_replace",
    };
    let kernel = kernel(move |args, len, out| {
        changed(args, LogicalType::Json, len, out, |mut document, row, columns| {
            for pair in columns[1..].chunks(2) {
                let path = single(pair[0].text(row), name)?;
                set(&mut document, path.steps(), path.is_pointer(), Json::parse(pair[1].text(row))?, change);
            }
            Ok(document)
        })
    });
    Some(Resolved::fallible(types, LogicalType::Json, kernel))
}

/// Sets the part at `steps`, which are few: a path is as deep as its text is long, and stops where the document does.
fn set<'a>(
    mut part: &mut Json<'a>,
    mut steps: &[Step],
    is_pointer: bool,
    mut value: Json<'a>,
    change: Change,
) {
    while let [step, rest @ ..] = steps {
        match place(part, step, is_pointer) {
            Place::Found(index) => {
                let Some(next) = item_mut(part, index) else { return };
                part = next;
                steps = rest;
            }
            Place::None => return,
            Place::New if change == Change::Replace => return,
            Place::New => {
                for step in rest.iter().rev() {
                    value = match step {
                        Step::Key(key) => Json::Object(vec![(Cow::Owned(key.clone()), value)]),
                        Step::Index(0) | Step::End(0) => Json::Array(vec![value]),
                        _ => return,
                    };
                }
                match (part, step) {
                    (Json::Array(items), _) => items.push(value),
                    (Json::Object(members), Step::Key(key)) => members.push((Cow::Owned(key.clone()), value)),
                    _ => {}
                }
                return;
            }
        }
    }
    if change != Change::Insert {
        *part = value;
    }
}

/// Where a step leads.
enum Place {
    Found(usize),
    /// Nothing is there, but something can be.
    New,
    None,
}

fn place(part: &Json<'_>, step: &Step, is_pointer: bool) -> Place {
    match (part, step) {
        (Json::Object(members), Step::Key(key)) => {
            members.iter().position(|(name, _)| name == key).map_or(Place::New, Place::Found)
        }
        (Json::Array(items), step) => {
            let index = match step {
                Step::Index(index) if *index < 0 => index.saturating_add(items.len() as i64),
                Step::Index(index) => *index,
                Step::End(back) => (items.len() as i64).saturating_sub(*back),
                // Behind the last item.
                Step::Key(key) if is_pointer && key == "-" => items.len() as i64,
                Step::Key(key) if is_pointer => key.parse().unwrap_or(-1),
                Step::Key(_) | Step::Members | Step::Items | Step::All | Step::Deep => -1,
            };
            match usize::try_from(index) {
                Ok(index) if index < items.len() => Place::Found(index),
                Ok(index) if index == items.len() => Place::New,
                _ => Place::None,
            }
        }
        _ => Place::None,
    }
}

fn item_mut<'j, 'a>(part: &'j mut Json<'a>, index: usize) -> Option<&'j mut Json<'a>> {
    match part {
        Json::Array(items) => items.get_mut(index),
        Json::Object(members) => members.get_mut(index).map(|(_, value)| value),
        _ => None,
    }
}

fn resolve_remove(args: &[ArgType]) -> Option<Resolved> {
    if args.len() < 2 || !args.iter().all(is_text) {
        return None;
    }
    let kernel = kernel(move |args, len, out| {
        let columns: Vec<TextColumn<'_>> = args.iter().map(|arg| TextColumn::of(arg)).collect();
        let removed = |row: usize| -> Result<Option<Json<'_>>> {
            let mut document = Json::parse(columns[0].text(row))?;
            for path in &columns[1..] {
                let path = single(path.text(row), "json_remove")?;
                if path.steps().is_empty() {
                    return Ok(None);
                }
                remove(&mut document, path.steps(), path.is_pointer());
            }
            Ok(Some(document))
        };
        let validity = inlay_kernels::apply::joint_validity(args, len);
        crate::columns::write_bytes_or_null(LogicalType::Json, args, len, out, |row, text| {
            if validity.as_ref().is_some_and(|v| !v.get(row)) {
                return Ok(false);
            }
            Ok(removed(row)?.map(|document| super::push(&document, text)).is_some())
        })
    });
    Some(Resolved::fallible(vec![Varchar; args.len()], LogicalType::Json, kernel))
}

fn remove(mut part: &mut Json<'_>, steps: &[Step], is_pointer: bool) {
    let Some((last, before)) = steps.split_last() else { return };
    for step in before {
        let Place::Found(index) = place(part, step, is_pointer) else { return };
        let Some(next) = item_mut(part, index) else { return };
        part = next;
    }
    if let Place::Found(index) = place(part, last, is_pointer) {
        match part {
            Json::Array(items) => drop(items.remove(index)),
            Json::Object(members) => drop(members.remove(index)),
            _ => {}
        }
    }
}

fn strip_nulls(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    changed(args, LogicalType::Json, len, out, |document, _, _| Ok(without_nulls(document)))
}

/// Depth is bounded by that of documents.
fn without_nulls(document: Json<'_>) -> Json<'_> {
    match document {
        Json::Array(items) => Json::Array(items.into_iter().map(without_nulls).collect()),
        Json::Object(members) => {
            let kept = members.into_iter().filter(|(_, value)| *value != Json::Null);
            Json::Object(kept.map(|(key, value)| (key, without_nulls(value))).collect())
        }
        other => other,
    }
}

fn deep_merge(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    changed(args, LogicalType::Json, len, out, |document, row, columns| {
        columns[1..]
            .iter()
            .try_fold(document, |document, other| Ok(merged(document, Json::parse(other.text(row))?)))
    })
}

fn merged<'a>(document: Json<'a>, other: Json<'a>) -> Json<'a> {
    match (document, other) {
        (document, Json::Null) => document,
        (Json::Object(members), Json::Object(others)) => {
            Json::Object(join_members(members, others, |own, value| match own {
                Some(own) => Some(merged(own, value)),
                None => Some(value),
            }))
        }
        (_, other) => other,
    }
}

fn patch_diff(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    let [old, new] = [0, 1].map(|index| TextColumn::of(args[index]));
    let [is_old, is_new] = [0, 1].map(|index| joint_validity(&args[index..=index], len));
    let is_there =
        |validity: &Option<Bitmap>, row| validity.as_ref().is_none_or(|validity| validity.get(row));
    crate::columns::write_bytes_or_null(LogicalType::Json, args, len, out, |row, text| {
        if !is_there(&is_new, row) {
            return Ok(false);
        }
        let new = Json::parse(new.text(row))?;
        // What is made of nothing is the document itself, as json_merge_patch has it.
        let document = match is_there(&is_old, row) {
            true => difference(Json::parse(old.text(row))?, new),
            false => new,
        };
        super::push(&document, text);
        Ok(true)
    })
}

/// What a merge patch says to make `new` of `old`.
fn difference<'a>(old: Json<'a>, new: Json<'a>) -> Json<'a> {
    let (Json::Object(before), Json::Object(after)) = (&old, &new) else { return new };
    let mut changes = Vec::new();
    let (old_places, new_places) = (places(before), places(after));
    for (key, _) in before {
        if new_places.first(key).is_none() {
            changes.push((key.clone(), Json::Null));
        }
    }
    for (key, value) in after {
        match old_places.first(key).map(|at| &before[at].1) {
            None => changes.push((key.clone(), value.clone())),
            Some(old) if old == value => {}
            Some(old) => changes.push((key.clone(), difference(old.clone(), value.clone()))),
        }
    }
    Json::Object(changes)
}

fn normalize(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    changed(args, Varchar, len, out, |document, _, _| Ok(sorted(document)))
}

fn sorted(document: Json<'_>) -> Json<'_> {
    match document {
        Json::Array(items) => Json::Array(items.into_iter().map(sorted).collect()),
        Json::Object(members) => {
            let mut members: Vec<_> = members.into_iter().map(|(key, value)| (key, sorted(value))).collect();
            members.sort_by(|a, b| a.0.cmp(&b.0));
            Json::Object(members)
        }
        other => other,
    }
}

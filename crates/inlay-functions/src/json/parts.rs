//! Several parts of a document at once: functions with a list of paths, or with a path that has a `*` or `..`.
//!
//! Both give a list: with paths one element for each, NULL where it leads nowhere; with a wildcard one for each part found.
//! Whether a path has a wildcard decides the type of the result, so it is looked at only where it is a literal.

use super::nested::is_text;
use crate::nested::rows::{Part, each_known};
use crate::registry::Function;
use inlay_kernels::function::kernel;
use inlay_kernels::json::pattern::PartFinder;
use inlay_kernels::json::scan::{Raw, Scanned, part_at};
use inlay_kernels::json::value::{Json, Path};
use inlay_kernels::json::values::text_of;
use inlay_kernels::resolve::{ArgType, Resolved};
use inlay_types::LogicalType::{self, Boolean, UBigInt, Varchar};
use inlay_types::nested::{Sequence, write::push_sequence};
use inlay_types::{Result, limits};

/// Bytes that a path of a few steps takes.
const PATH_BYTES: usize = 96;

/// What is wanted of each part.
#[derive(Clone, Copy, PartialEq)]
enum Wanted {
    Document,
    Text,
    Scalar,
    Exists,
    Type,
    Length,
    Keys,
}

/// See the module documentation.
pub(crate) static FUNCTIONS: &[Function] = &[
    Function::typed(
        "json_extract",
        &["json_extract(VARCHAR, LIST of paths) -> JSON[]", "json_extract(VARCHAR, path with *) -> JSON[]"],
        |args, _| resolve(args, Wanted::Document),
        "the parts of a document at paths",
        "json_extract('{\"a\": 1}', ['$.a', '$.b']) = '[1, NULL]'",
    )
    .special_nulls()
    .fallible()
    .aliases(&["json_extract_path", "->", "json_query"]),
    Function::typed(
        "json_extract_string",
        &[
            "json_extract_string(VARCHAR, LIST of paths) -> VARCHAR[]",
            "json_extract_string(VARCHAR, path with *) -> VARCHAR[]",
        ],
        |args, _| resolve(args, Wanted::Text),
        "the parts of a document at paths, as texts without quotes",
        "json_extract_string('{\"a\": \"x\"}', ['$.a', '$.b']) = '[x, NULL]'",
    )
    .special_nulls()
    .fallible()
    .aliases(&["json_extract_path_text", "->>"]),
    Function::typed(
        "json_value",
        &["json_value(VARCHAR, LIST of paths) -> VARCHAR[]", "json_value(VARCHAR, path with *) -> VARCHAR[]"],
        |args, _| resolve(args, Wanted::Scalar),
        "the parts of a document at paths; NULL for arrays and objects",
        "json_value('[1, [2]]', '$[*]') = '[1, NULL]'",
    )
    .special_nulls()
    .fallible(),
    Function::typed(
        "json_exists",
        &[
            "json_exists(VARCHAR, LIST of paths) -> BOOLEAN[]",
            "json_exists(VARCHAR, path with *) -> BOOLEAN[]",
        ],
        |args, _| resolve(args, Wanted::Exists),
        "whether paths lead to parts of a document",
        "json_exists('{\"a\": 1}', ['$.a', '$.b']) = '[true, false]'",
    )
    .special_nulls()
    .fallible(),
    Function::typed(
        "json_type",
        &["json_type(VARCHAR, LIST of paths) -> VARCHAR[]", "json_type(VARCHAR, path with *) -> VARCHAR[]"],
        |args, _| resolve(args, Wanted::Type),
        "the types of the parts of a document at paths",
        "json_type('[1, \"a\"]', '$[*]') = '[UBIGINT, VARCHAR]'",
    )
    .special_nulls()
    .fallible(),
    Function::typed(
        "json_array_length",
        &[
            "json_array_length(VARCHAR, LIST of paths) -> UBIGINT[]",
            "json_array_length(VARCHAR, path with *) -> UBIGINT[]",
        ],
        |args, _| resolve(args, Wanted::Length),
        "numbers of items of the arrays at paths",
        "json_array_length('[[1, 2], []]', '$[*]') = '[2, 0]'",
    )
    .special_nulls()
    .fallible(),
    Function::typed(
        "json_keys",
        &[
            "json_keys(VARCHAR, LIST of paths) -> VARCHAR[][]",
            "json_keys(VARCHAR, path with *) -> VARCHAR[][]",
        ],
        |args, _| resolve(args, Wanted::Keys),
        "the keys of the objects at paths",
        "json_keys('[{\"a\": 1}, {}]', '$[*]') = '[[a], []]'",
    )
    .special_nulls()
    .fallible(),
];

/// Paths of a row, the first ones, that learn what documents look like, which takes some memory each.
const FINDERS_MAX: usize = 32;

fn element(wanted: Wanted) -> LogicalType {
    match wanted {
        Wanted::Document => LogicalType::Json,
        Wanted::Text | Wanted::Scalar | Wanted::Type => Varchar,
        Wanted::Exists => Boolean,
        Wanted::Length => UBigInt,
        Wanted::Keys => LogicalType::list(Varchar),
    }
}

fn resolve(args: &[ArgType], wanted: Wanted) -> Option<Resolved> {
    let [document, path] = args else { return None };
    if !is_text(document) {
        return None;
    }
    let wildcard = path.text.as_deref().and_then(|text| Path::parse(text).ok()).filter(Path::is_many);
    let paths = match &path.ty {
        LogicalType::List(element) if matches!(**element, Varchar | LogicalType::Null) => {
            LogicalType::list(Varchar)
        }
        Varchar if wildcard.is_some() => Varchar,
        _ => return None,
    };
    let element = element(wanted);
    let ty = LogicalType::list(element.clone());
    let returns = ty.clone();
    let kernel = kernel(move |args, len, out| {
        // The paths of the row before, which are mostly those of all rows.
        let (mut known, mut read, mut finders) = (Vec::new(), Vec::new(), Vec::new());
        let (mut bytes, mut ends): (Vec<u8>, Vec<(usize, bool)>) = (Vec::new(), Vec::new());
        each_known(args, &ty, len, out, |args, row, out| {
            let document = args.get(0, row).unwrap_or_default();
            let text = || args.text(0, row).unwrap_or_default();
            if let Some(path) = &wildcard {
                let document = Json::parse(text())?;
                let found = path.find(&document);
                let mut parts = Vec::with_capacity(found.len());
                for part in found {
                    let mut bytes = Vec::new();
                    let is_there = push_part(Some(part), wanted, &mut bytes)?;
                    parts.push(is_there.then_some(bytes));
                }
                return push(&element, parts, out);
            }
            let paths = args.get(1, row).unwrap_or_default();
            if known != paths || read.is_empty() {
                let list = Sequence::new(&Varchar, paths);
                let path = |index| Path::parse(std::str::from_utf8(list.bytes(index)).unwrap_or_default());
                limits::need(list.len().saturating_mul(PATH_BYTES))?;
                read = (0..list.len()).map(path).collect::<Result<Vec<Path>>>()?;
                known = paths.to_vec();
                finders.clear();
                finders.resize_with(read.len().min(FINDERS_MAX), PartFinder::of_checked);
                finders.iter_mut().take(1).for_each(|first| *first = PartFinder::default());
            }
            if read.is_empty() {
                Json::parse(text())?;
            }
            bytes.clear();
            ends.clear();
            // The first look at a document checks all of it.
            let mut is_checked = false;
            for (index, path) in read.iter().enumerate() {
                let found = match finders.get_mut(index).filter(|_| is_checked || index == 0) {
                    Some(finder) => finder.part_at(document, Some(path)),
                    None => part_at(document, Some(path)),
                };
                is_checked |= found != Scanned::Unknown;
                let known = match found {
                    Scanned::Part(raw) => push_raw(raw, wanted, &mut bytes),
                    Scanned::Nothing | Scanned::Unknown => None,
                };
                let is_there = match (known, found) {
                    (Some(is_there), _) => is_there,
                    (None, Scanned::Nothing) => push_part(None, wanted, &mut bytes)?,
                    (None, Scanned::Part(raw)) => {
                        push_part(Some(&Json::parse(raw.text)?), wanted, &mut bytes)?
                    }
                    (None, Scanned::Unknown) => {
                        let document = Json::parse(text())?;
                        push_part(path.find(&document).first().copied(), wanted, &mut bytes)?
                    }
                };
                ends.push((bytes.len(), is_there));
            }
            let part = |index: usize| {
                let from = if index == 0 { 0 } else { ends[index - 1].0 };
                let (to, is_there) = ends[index];
                is_there.then(|| &bytes[from..to])
            };
            out.push_with(|out| push_sequence(&element, ends.len(), part, out))
        })
    });
    Some(Resolved::fallible(vec![Varchar, paths], returns, kernel))
}

fn push(
    element: &LogicalType,
    parts: Vec<Option<Vec<u8>>>,
    out: &mut crate::nested::rows::Output,
) -> Result<()> {
    let parts: Vec<Part<'_>> = parts.iter().map(Option::as_deref).collect();
    out.push_list(element, &parts)
}

/// Appends what is wanted of a part as it is written; whether there is something, or NULL. `None`: its tree knows.
fn push_raw(raw: Raw<'_>, wanted: Wanted, out: &mut Vec<u8>) -> Option<bool> {
    match wanted {
        Wanted::Document => super::raw_json(raw, out),
        Wanted::Text => super::raw_plain(raw, out),
        Wanted::Scalar | Wanted::Exists | Wanted::Type | Wanted::Length | Wanted::Keys => None,
    }
}

/// Appends the bytes of what is wanted of a part; whether there is something, or NULL.
fn push_part(part: Option<&Json<'_>>, wanted: Wanted, out: &mut Vec<u8>) -> Result<bool> {
    if wanted == Wanted::Exists {
        out.push(u8::from(part.is_some()));
        return Ok(true);
    }
    let Some(part) = part else { return Ok(false) };
    match (wanted, part) {
        (Wanted::Text | Wanted::Scalar, Json::Null) => return Ok(false),
        (Wanted::Text, Json::Text(text)) => out.extend_from_slice(text.as_bytes()),
        (Wanted::Scalar, Json::Array(_) | Json::Object(_)) => return Ok(false),
        (Wanted::Type, part) => out.extend_from_slice(part.type_name().as_bytes()),
        (Wanted::Length, part) => {
            let count = if let Json::Array(items) = part { items.len() } else { 0 };
            out.extend_from_slice(&(count as u64).to_le_bytes());
        }
        (Wanted::Keys, part) => {
            let members: &[_] = if let Json::Object(members) = part { members } else { &[] };
            push_sequence(&Varchar, members.len(), |index| Some(members[index].0.as_bytes()), out)?;
        }
        (_, part) => out.extend_from_slice(text_of(part).as_bytes()),
    }
    Ok(true)
}

//! Several parts of a document at once: functions with a list of paths, or with a path that has a `*` or `..`.
//!
//! Both give a list: with paths one element for each, NULL where it leads nowhere; with a wildcard one for each part found.
//! Whether a path has a wildcard decides the type of the result, so it is looked at only where it is a literal.

use super::nested::is_text;
use crate::nested::rows::{Part, each_known};
use crate::registry::Function;
use inlay_kernels::function::kernel;
use inlay_kernels::json::scan::{Scanned, part_at};
use inlay_kernels::json::value::{Json, Path};
use inlay_kernels::json::values::text_of;
use inlay_kernels::resolve::{ArgType, Resolved};
use inlay_types::LogicalType::{self, Boolean, UBigInt, Varchar};
use inlay_types::nested::{Sequence, write::push_value};
use inlay_types::{Result, Value};

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
        let (mut known, mut read) = (Vec::new(), Vec::new());
        each_known(args, &ty, len, out, |args, row, out| {
            let text = args.text(0, row).unwrap_or_default();
            if let Some(path) = &wildcard {
                let document = Json::parse(text)?;
                let found = path.find(&document);
                let parts = found.into_iter().map(|part| part_of(Some(part), wanted));
                return push(&element, parts.collect::<Result<_>>()?, out);
            }
            let paths = args.get(1, row).unwrap_or_default();
            if known != paths || read.is_empty() {
                let list = Sequence::new(&Varchar, paths);
                let path = |index| Path::parse(std::str::from_utf8(list.bytes(index)).unwrap_or_default());
                read = (0..list.len()).map(path).collect::<Result<Vec<Path>>>()?;
                known = paths.to_vec();
            }
            if read.is_empty() {
                Json::parse(text)?;
            }
            let mut parts = Vec::with_capacity(read.len());
            for path in &read {
                parts.push(match part_at(text, Some(path)) {
                    Scanned::Nothing => part_of(None, wanted)?,
                    Scanned::Part(raw) => part_of(Some(&Json::parse(raw.text)?), wanted)?,
                    Scanned::Unknown => part_of(path.find(&Json::parse(text)?).first().copied(), wanted)?,
                });
            }
            push(&element, parts, out)
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

/// The bytes of what is wanted of a part; `None` for NULL.
fn part_of(part: Option<&Json<'_>>, wanted: Wanted) -> Result<Option<Vec<u8>>> {
    if wanted == Wanted::Exists {
        return Ok(Some(vec![u8::from(part.is_some())]));
    }
    let Some(part) = part else { return Ok(None) };
    Ok(match (wanted, part) {
        (Wanted::Text | Wanted::Scalar, Json::Null) => None,
        (Wanted::Text, Json::Text(text)) => Some(text.as_bytes().to_vec()),
        (Wanted::Scalar, Json::Array(_) | Json::Object(_)) => None,
        (Wanted::Type, part) => Some(part.type_name().as_bytes().to_vec()),
        (Wanted::Length, part) => {
            let count = if let Json::Array(items) = part { items.len() } else { 0 };
            Some((count as u64).to_le_bytes().to_vec())
        }
        (Wanted::Keys, part) => {
            let members: &[_] = if let Json::Object(members) = part { members } else { &[] };
            let values = members.iter().map(|(key, _)| Value::Varchar(key.to_string())).collect();
            let mut bytes = Vec::new();
            let ty = LogicalType::list(Varchar);
            push_value(&ty, &Value::List { element: std::sync::Arc::new(Varchar), values }, &mut bytes)?;
            Some(bytes)
        }
        (_, part) => Some(text_of(part).into_bytes()),
    })
}

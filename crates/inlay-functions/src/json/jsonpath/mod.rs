//! Functions of JSON with paths of the SQL standard as PostgreSQL has them (`$.a[*] ? (@.x > 3)`): `jsonb_path_query` and its kin.
//!
//! DuckDB's paths, which `json_extract` takes, are in `inlay_kernels::json::value`. [`parse`] reads a path into a tree, [`evaluate`] follows it through
//! a document. A path that does not change is read once.
//!
//! Source: PostgreSQL 16, `jsonpath_gram.y` and `jsonpath_exec.c`. Departures: quotients are doubles rather than numerics
//! of 16 digits and more, there is no `.datetime()`, and the ids of `.keyvalue()` count objects.

mod evaluate;
mod number;
mod parse;

use super::nested::is_text;
use crate::nested::rows::each_known;
use crate::registry::Function;
use evaluate::{Found, Query, Stop};
use inlay_kernels::function::kernel;
use inlay_kernels::json::value::Json;
use inlay_kernels::json::values::text_of;
use inlay_kernels::resolve::{ArgType, Resolved};
use inlay_types::LogicalType::{self, Boolean, Null, Varchar};
use inlay_types::{Error, limits};
use parse::{Expr, Path};

/// What is wanted of the parts that a path leads to.
#[derive(Clone, Copy, PartialEq)]
enum Wanted {
    /// Whether there are any.
    Exists,
    /// The one truth value.
    Match,
    /// All, as an array.
    Array,
    First,
}

/// See the module documentation.
pub(crate) static FUNCTIONS: &[Function] = &[
    Function::typed(
        "jsonb_path_exists",
        &["jsonb_path_exists(JSON, path, JSON vars, BOOLEAN silent) -> BOOLEAN"],
        |args, _| resolve(args, Wanted::Exists, false),
        "whether a path of the SQL standard leads to a part of a document",
        "jsonb_path_exists('{\"a\":[1,5]}', '$.a[*] ? (@ > $min)', '{\"min\":3}') = true",
    )
    .aliases(&["jsonb_path_exists_tz"])
    .special_nulls()
    .fallible(),
    Function::typed(
        "jsonb_path_match",
        &["jsonb_path_match(JSON, path, JSON vars, BOOLEAN silent) -> BOOLEAN"],
        |args, _| resolve(args, Wanted::Match, false),
        "whether the condition that a path of the SQL standard is holds for a document",
        "jsonb_path_match('{\"a\":[1,5]}', 'exists($.a[*] ? (@ > 3))') = true",
    )
    .aliases(&["jsonb_path_match_tz"])
    .special_nulls()
    .fallible(),
    Function::typed(
        "jsonb_path_query_array",
        &["jsonb_path_query_array(JSON, path, JSON vars, BOOLEAN silent) -> JSON"],
        |args, _| resolve(args, Wanted::Array, false),
        "an array of the parts of a document that a path of the SQL standard leads to",
        "jsonb_path_query_array('{\"a\":[1,5,7]}', '$.a[*] ? (@ > 3)') = '[5,7]'",
    )
    .aliases(&["jsonb_path_query_array_tz"])
    .special_nulls()
    .fallible(),
    Function::typed(
        "jsonb_path_query_first",
        &["jsonb_path_query_first(JSON, path, JSON vars, BOOLEAN silent) -> JSON"],
        |args, _| resolve(args, Wanted::First, false),
        "the first part of a document that a path of the SQL standard leads to",
        "jsonb_path_query_first('{\"a\":[1,5,7]}', '$.a[last].type()') = '\"number\"'",
    )
    .aliases(&["jsonb_path_query_first_tz"])
    .special_nulls()
    .fallible(),
    Function::typed(
        "@?",
        &["JSON @? path -> BOOLEAN"],
        |args, _| resolve(args, Wanted::Exists, true),
        "whether a path of the SQL standard leads to a part of a document; NULL where it cannot be followed",
        "'{\"a\":[1,5]}'::JSON @? '$.a[*] ? (@ > 3)' = true",
    )
    .special_nulls()
    .fallible(),
    Function::typed(
        "@@",
        &["JSON @@ path -> BOOLEAN"],
        |args, _| resolve(args, Wanted::Match, true),
        "whether the condition that a path of the SQL standard is holds for a document; NULL where that is not known",
        "'{\"a\":[1,5]}'::JSON @@ '$.a[*] > 3' = true",
    )
    .special_nulls()
    .fallible(),
];

fn resolve(args: &[ArgType], wanted: Wanted, is_operator: bool) -> Option<Resolved> {
    let [document, path, rest @ ..] = args else { return None };
    let known = match rest {
        [] => true,
        [_, ..] if is_operator => false,
        [vars] => is_text(vars),
        [vars, silent] => is_text(vars) && matches!(silent.ty, Boolean | Null),
        _ => false,
    };
    if !known || !is_text(document) || !is_text(path) {
        return None;
    }
    let mut types = vec![Varchar, Varchar];
    types.extend([Varchar, Boolean].into_iter().take(rest.len()));
    let ty = match wanted {
        Wanted::Exists | Wanted::Match => Boolean,
        Wanted::Array | Wanted::First => LogicalType::Json,
    };
    let (returns, count) = (ty.clone(), args.len());
    let kernel = kernel(move |args, len, out| {
        let mut last: Option<(String, Path)> = None;
        each_known(args, &ty, len, out, |args, row, out| {
            let text = args.text(1, row).unwrap_or_default();
            if last.as_ref().is_none_or(|(known, _)| known != text) {
                limits::need(2 * text.len())?;
                last = Some((text.to_string(), Path::parse(text)?));
            }
            let Some((_, path)) = &last else { return Err(Error::internal("a path that was read")) };
            let document = Json::parse(args.text(0, row).unwrap_or_default())?;
            let vars =
                if count > 2 { Some(Json::parse(args.text(2, row).unwrap_or_default())?) } else { None };
            if !matches!(vars, None | Some(Json::Object(_))) {
                return Err(Error::invalid_argument("the variables of a JSON path are an object"));
            }
            let is_silent =
                is_operator || count > 3 && args.get(3, row).is_some_and(|bytes| bytes.first() == Some(&1));
            let query = Query::new(path, &document, vars.as_ref());
            match answer(&query, &path.root, wanted) {
                Ok(Answer::Truth(truth)) => match truth {
                    Some(truth) => out.push_bool(truth),
                    None => out.push(None),
                },
                Ok(Answer::Parts(parts)) if wanted == Wanted::Array => out.push_with(|bytes| {
                    bytes.push(b'[');
                    for (index, part) in parts.iter().enumerate() {
                        if index > 0 {
                            bytes.push(b',');
                        }
                        bytes.extend_from_slice(text_of(part).as_bytes());
                    }
                    bytes.push(b']');
                    Ok(())
                }),
                Ok(Answer::Parts(parts)) => match parts.first() {
                    Some(part) => out.push(Some(text_of(part).as_bytes())),
                    None => out.push(None),
                },
                Err(Stop::Broken(error)) => Err(error),
                Err(_) if is_silent && wanted == Wanted::Array => out.push(Some(b"[]")),
                Err(_) if is_silent => out.push(None),
                Err(Stop::Failed(message)) => {
                    Err(Error::invalid_argument(format!("JSON path '{}': {message}", shown(text))))
                }
                Err(Stop::Enough) => out.push_bool(true),
            }
        })
    });
    Some(Resolved::fallible(types, returns, kernel))
}

enum Answer<'j> {
    Truth(Option<bool>),
    Parts(Vec<Found<'j>>),
}

fn answer<'j>(query: &Query<'j>, root: &'j Expr, wanted: Wanted) -> std::result::Result<Answer<'j>, Stop> {
    if wanted == Wanted::Exists {
        return query.exists(root).map(|exists| Answer::Truth(Some(exists)));
    }
    let parts = query.all(root)?;
    if wanted != Wanted::Match {
        return Ok(Answer::Parts(parts));
    }
    match parts.as_slice() {
        [only] => match &**only {
            Json::Bool(truth) => Ok(Answer::Truth(Some(*truth))),
            Json::Null => Ok(Answer::Truth(None)),
            _ => Err(Stop::Failed("a single truth value is expected".to_string())),
        },
        _ => Err(Stop::Failed("a single truth value is expected".to_string())),
    }
}

/// A path as messages show it.
fn shown(text: &str) -> String {
    const SHOWN_MAX: usize = 60;
    match text.char_indices().nth(SHOWN_MAX) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_string(),
    }
}

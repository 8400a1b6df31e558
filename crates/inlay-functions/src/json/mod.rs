//! Functions of JSON, which lies in texts.
//!
//! A document is passed over once per row and call ([`inlay_kernels::json::scan`]), or read into a tree; a path that is constant is
//! read once. What is not there is NULL.

pub(super) mod jsonpath;
pub(super) mod modify;
pub(crate) mod nested;
pub(super) mod operators;
pub(super) mod parts;
pub(super) mod postgres;
pub(super) mod rows;

use super::columns::{Column, TextColumn, write_bytes, write_bytes_or_null};
use crate::nested::rows::each_known;
use crate::registry::{Function, Overloads, Signature};
use inlay_kernels::apply::{joint_validity, per_row};
use inlay_kernels::function::kernel;
use inlay_kernels::json::packed::Writer;
use inlay_kernels::json::patch::Patch;
use inlay_kernels::json::pattern::PartFinder;
use inlay_kernels::json::scan::{Raw, Scanned, contains_scalar, part_at, plain_scalar};
use inlay_kernels::json::value::{Json, Path};
use inlay_kernels::json::values::is_plain;
use inlay_kernels::resolve::{ArgType, ResolveOptions, Resolved};
use inlay_types::LogicalType::{BigInt, Boolean, Json as JsonType, UBigInt, Varchar};
use inlay_types::{Error, LogicalType, Result, Vector};

/// See the module documentation.
pub(super) static FUNCTIONS: &[Function] = &[
    Function::new(
        "json",
        Overloads::Fixed(&[Signature::new(&[Varchar], JsonType, json)]),
        "a document, checked and without spaces",
        "json('{ \"a\": [1, 2] }') = '{\"a\":[1,2]}'",
    )
    .fallible(),
    Function::new(
        "json_valid",
        Overloads::Fixed(&[Signature::new(&[Varchar], Boolean, json_valid)]),
        "whether a text is JSON",
        "json_valid('{a: 1}') = false",
    ),
    Function::new(
        "json_extract",
        Overloads::Fixed(&[
            Signature::new(&[Varchar, Varchar], JsonType, extract_json),
            Signature::new(&[Varchar, BigInt], JsonType, extract_json_item),
        ]),
        "the part of a document at a path ($.key[0], /key/0), a key or an index; a list for paths with *",
        "json_extract('{\"a\":[1,{\"b\":2}]}', '$.a[1]') = '{\"b\":2}'",
    )
    .aliases(&["json_extract_path", "->", "json_query"])
    .special_nulls()
    .fallible(),
    Function::new(
        "json_extract_string",
        Overloads::Fixed(&[
            Signature::new(&[Varchar, Varchar], Varchar, extract_text),
            Signature::new(&[Varchar, BigInt], Varchar, extract_text_item),
        ]),
        "the part of a document at a path, a key or an index, as text without quotes",
        "json_extract_string('{\"a\":\"x\"}', '$.a') = 'x'",
    )
    .aliases(&["json_extract_path_text", "->>"])
    .special_nulls()
    .fallible(),
    Function::new(
        "json_value",
        Overloads::Fixed(&[
            Signature::new(&[Varchar, Varchar], Varchar, json_value),
            Signature::new(&[Varchar, BigInt], Varchar, json_value_item),
        ]),
        "the part of a document at a path; NULL if it is an array or object",
        "json_value('{\"a\":1}', '$.a') = '1'",
    )
    .special_nulls()
    .fallible(),
    Function::new(
        "json_exists",
        Overloads::Fixed(&[Signature::new(&[Varchar, Varchar], Boolean, json_exists)]),
        "whether a path leads to a part of a document",
        "json_exists('{\"a\":null}', '$.a') = true",
    )
    .fallible(),
    Function::new(
        "json_contains",
        Overloads::Fixed(&[Signature::new(&[Varchar, Varchar], Boolean, json_contains)]),
        "whether a document contains another",
        "json_contains('{\"a\":1,\"b\":2}', '{\"a\":1}') = true",
    )
    .fallible(),
    Function::new(
        "json_type",
        Overloads::Fixed(&[
            Signature::new(&[Varchar], Varchar, json_type),
            Signature::new(&[Varchar, Varchar], Varchar, json_type),
        ]),
        "the type of a document or of a part: OBJECT, ARRAY, VARCHAR, UBIGINT, BIGINT, DOUBLE, BOOLEAN or NULL",
        "json_type('[1, 2]') = 'ARRAY'",
    )
    .special_nulls()
    .fallible(),
    Function::new(
        "json_array_length",
        Overloads::Fixed(&[
            Signature::new(&[Varchar], UBigInt, json_array_length),
            Signature::new(&[Varchar, Varchar], UBigInt, json_array_length),
        ]),
        "number of items of an array, 0 for anything else",
        "json_array_length('[1, 2, 3]') = 3",
    )
    .aliases(&["jsonb_array_length"])
    .special_nulls()
    .fallible(),
    Function::new(
        "json_structure",
        Overloads::Fixed(&[Signature::new(&[Varchar], JsonType, json_structure)]),
        "the types in a document",
        "json_structure('{\"a\":[1,2.5]}') = '{\"a\":[\"DOUBLE\"]}'",
    )
    .fallible(),
    Function::new(
        "json_pretty",
        Overloads::Fixed(&[Signature::new(&[Varchar], Varchar, json_pretty)]),
        "a document with a line for each part",
        "replace(json_pretty('[1]'), chr(10), '|') = '[|    1|]'",
    )
    .aliases(&["jsonb_pretty"])
    .fallible(),
    Function::new(
        "json_merge_patch",
        Overloads::Fixed(&[Signature::new(&[Varchar, Varchar], JsonType, json_merge_patch).variadic()]),
        "a document with the members of another, and without those that are null there",
        "json_merge_patch('{\"a\":1,\"b\":2}', '{\"a\":null,\"c\":3}') = '{\"b\":2,\"c\":3}'",
    )
    .special_nulls()
    .fallible(),
    Function::new(
        "to_json",
        Overloads::Typed { shown: &["to_json(any) -> JSON"], resolve: resolve_to_json },
        "a value as JSON",
        "to_json('a\"b') = '\"a\\\"b\"'",
    )
    .aliases(&["json_quote", "to_jsonb"]),
    Function::new(
        "json_array",
        Overloads::Typed { shown: &["json_array(any, ...) -> JSON"], resolve: resolve_array },
        "an array of the arguments",
        "json_array(1, 'a', NULL) = '[1,\"a\",null]'",
    )
    .aliases(&["json_build_array", "jsonb_build_array"])
    .special_nulls(),
    Function::new(
        "json_object",
        Overloads::Typed { shown: &["json_object(key, any, ...) -> JSON"], resolve: resolve_object },
        "an object of keys and values by turns",
        "json_object('a', 1, 'b', 'x') = '{\"a\":1,\"b\":\"x\"}'",
    )
    .aliases(&["json_build_object", "jsonb_build_object"])
    .special_nulls(),
];

fn push(json: &Json<'_>, text: &mut Vec<u8>) {
    let mut out = String::new();
    json.write(&mut out);
    text.extend_from_slice(out.as_bytes());
}

/// A text of each document.
fn rewritten(
    ty: LogicalType,
    args: &[&Vector],
    len: usize,
    out: &mut Vector,
    write: impl Fn(Json<'_>, &mut Vec<u8>),
) -> Result<()> {
    let source = TextColumn::of(args[0]);
    write_bytes(ty, args, len, out, |row, text| {
        write(Json::parse(source.text(row))?, text);
        Ok(())
    })
}

fn json(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    let (source, mut finder) = (TextColumn::of(args[0]), PartFinder::default());
    write_bytes(JsonType, args, len, out, |row, text| {
        if !matches!(finder.part_at(source.get(row), None), Scanned::Part(raw) if raw.write(text)) {
            push(&Json::parse(source.text(row))?, text);
        }
        Ok(())
    })
}

fn json_structure(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    rewritten(JsonType, args, len, out, |json, text| push(&json.structure(), text))
}

/// Bytes of documents that are written without a tree.
const SHORT: usize = 1 << 16;

fn json_pretty(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    let (source, mut finder) = (TextColumn::of(args[0]), PartFinder::default());
    write_bytes(Varchar, args, len, out, |row, text| {
        let document = source.get(row);
        // A tree asks for the memory of what is much longer than its text.
        let is_written = document.len() <= SHORT
            && matches!(finder.part_at(document, None), Scanned::Part(raw) if raw.write_pretty(text));
        if !is_written {
            let mut pretty = String::new();
            Json::parse(source.text(row))?.write_pretty(0, &mut pretty);
            text.extend_from_slice(pretty.as_bytes());
        }
        Ok(())
    })
}

fn json_valid(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    let mut finder = PartFinder::default();
    inlay_kernels::apply::predicate(args[0], len, out, |bytes| {
        matches!(finder.part_at(bytes, None), Scanned::Part(_))
            || std::str::from_utf8(bytes).is_ok_and(|text| Json::parse(text).is_ok())
    })
}

/// NULL is a document that is not known: a patch that follows it still says everything, one that is NULL nothing.
fn json_merge_patch(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    let columns: Vec<TextColumn<'_>> = args.iter().map(|arg| TextColumn::of(arg)).collect();
    // What is the same in all rows is read once; if it is wrong, that is told where a row is computed.
    let mut known = None;
    if let [documents, patch] = &columns[..]
        && patch.is_constant()
        && !documents.is_constant()
        && !args[1].is_constant_null()
    {
        known = Json::parse(patch.text(0)).ok().and_then(|patch| Patch::of(&patch));
    }
    write_bytes_or_null(JsonType, args, len, out, |row, text| {
        if let Some(patch) = &known
            && !args[0].is_null(row)
            && patch.apply(columns[0].text(row), text)
        {
            return Ok(true);
        }
        let mut merged: Option<Json<'_>> = None;
        for (arg, column) in args.iter().zip(&columns) {
            merged = match (arg.is_null(row), merged) {
                (true, _) => None,
                (false, None) => Some(Json::parse(column.text(row))?),
                (false, Some(document)) => Some(document.merged(Json::parse(column.text(row))?)),
            };
        }
        Ok(merged.map(|document| push(&document, text)).is_some())
    })
}

/// The paths of an argument, read once for each run of equal ones, and what finds the parts of one that is the same in all rows.
struct Paths<'a> {
    known: KnownPaths<'a>,
    finder: Option<PartFinder>,
}

enum KnownPaths<'a> {
    Text(TextColumn<'a>, Option<(&'a str, Path)>),
    Index(Column<'a, i64>, Path),
    /// No argument: the whole document.
    Whole,
}

impl<'a> Paths<'a> {
    fn of(args: &[&'a Vector], is_index: bool) -> Self {
        let known = match args.get(1) {
            None => KnownPaths::Whole,
            Some(arg) if is_index => KnownPaths::Index(Column::of(arg), Path::index(0)),
            Some(arg) => KnownPaths::Text(TextColumn::of(arg), None),
        };
        let is_one = args.get(1).is_none_or(|path| path.is_constant());
        Self { known, finder: is_one.then(PartFinder::default) }
    }

    /// The part of a document that the path of a row leads to, and the path.
    fn part_at<'d>(&mut self, row: usize, document: &'d [u8]) -> Result<(Scanned<'d>, Option<&Path>)> {
        let path = self.known.at(row)?;
        Ok(match &mut self.finder {
            Some(finder) => (finder.part_at(document, path), path),
            None => (part_at(document, path), path),
        })
    }
}

impl KnownPaths<'_> {
    /// `None`: the whole document.
    fn at(&mut self, row: usize) -> Result<Option<&Path>> {
        match self {
            Self::Whole => Ok(None),
            Self::Index(column, path) => {
                *path = Path::index(column.get(row));
                Ok(Some(path))
            }
            Self::Text(column, last) => {
                if !column.is_constant() || last.is_none() {
                    let text = column.text(row);
                    if last.as_ref().is_none_or(|(known, _)| *known != text) {
                        *last = Some((text, Path::parse(text)?));
                    }
                }
                Ok(last.as_ref().map(|(_, path)| path))
            }
        }
    }
}

/// A text made of the part that the path of each row leads to; NULL where `write` says so or there is none. `write_raw` does it
/// without a tree, where it can.
fn part_text(
    ty: LogicalType,
    args: &[&Vector],
    len: usize,
    out: &mut Vector,
    is_index: bool,
    write_raw: impl Fn(Raw<'_>, &mut Vec<u8>) -> Option<bool>,
    write: impl Fn(&Json<'_>, &mut Vec<u8>) -> bool,
) -> Result<()> {
    let source = TextColumn::of(args[0]);
    let mut paths = Paths::of(args, is_index);
    let validity = joint_validity(args, len);
    write_bytes_or_null(ty, args, len, out, |row, text| {
        if validity.as_ref().is_some_and(|v| !v.get(row)) {
            return Ok(false);
        }
        source.prefetch_ahead(row);
        let (found, path) = paths.part_at(row, source.get(row))?;
        match found {
            Scanned::Nothing => return Ok(false),
            Scanned::Part(raw) => {
                let written =
                    write_raw(raw, text).map_or_else(|| Ok(write(&Json::parse(raw.text)?, text)), Ok);
                return written;
            }
            Scanned::Unknown => {}
        }
        let document = Json::parse(source.text(row))?;
        let Some(path) = path else { return Ok(write(&document, text)) };
        let found = path.find(&document);
        if !path.is_many() {
            return Ok(found.first().is_some_and(|part| write(part, text)));
        }
        text.push(b'[');
        for (index, part) in found.iter().enumerate() {
            if index > 0 {
                text.extend_from_slice(b", ");
            }
            write(part, text);
        }
        text.push(b']');
        Ok(true)
    })
}

fn raw_json(raw: Raw<'_>, text: &mut Vec<u8>) -> Option<bool> {
    raw.write(text).then_some(true)
}

fn raw_plain(raw: Raw<'_>, text: &mut Vec<u8>) -> Option<bool> {
    match raw.plain_text() {
        Some(plain) => text.extend_from_slice(plain.as_bytes()),
        None if raw.text == "null" => return Some(false),
        None => return raw_json(raw, text),
    }
    Some(true)
}

fn raw_scalar(raw: Raw<'_>, text: &mut Vec<u8>) -> Option<bool> {
    match raw.text.as_bytes().first() {
        Some(b'{' | b'[') => Some(false),
        _ if raw.text == "null" => Some(false),
        _ => raw_json(raw, text),
    }
}

fn raw_type(raw: Raw<'_>, text: &mut Vec<u8>) -> Option<bool> {
    let name: &[u8] = match raw.text.as_bytes().first()? {
        b'{' => b"OBJECT",
        b'[' => b"ARRAY",
        b'"' => b"VARCHAR",
        b't' | b'f' => b"BOOLEAN",
        b'n' => b"NULL",
        // Which type a number has, its tree knows.
        _ => return None,
    };
    text.extend_from_slice(name);
    Some(true)
}

fn write_json(json: &Json<'_>, text: &mut Vec<u8>) -> bool {
    push(json, text);
    true
}

fn write_plain(json: &Json<'_>, text: &mut Vec<u8>) -> bool {
    match json {
        Json::Null => return false,
        Json::Text(plain) => text.extend_from_slice(plain.as_bytes()),
        other => push(other, text),
    }
    true
}

fn write_scalar(json: &Json<'_>, text: &mut Vec<u8>) -> bool {
    match json {
        Json::Null | Json::Array(_) | Json::Object(_) => false,
        other => write_json(other, text),
    }
}

fn extract_json(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    part_text(JsonType, args, len, out, false, raw_json, write_json)
}

fn extract_json_item(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    part_text(JsonType, args, len, out, true, raw_json, write_json)
}

fn extract_text(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    part_text(Varchar, args, len, out, false, raw_plain, write_plain)
}

fn extract_text_item(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    part_text(Varchar, args, len, out, true, raw_plain, write_plain)
}

fn json_value(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    part_text(Varchar, args, len, out, false, raw_scalar, write_scalar)
}

fn json_value_item(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    part_text(Varchar, args, len, out, true, raw_scalar, write_scalar)
}

fn json_type(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    part_text(Varchar, args, len, out, false, raw_type, |json, text| {
        text.extend_from_slice(json.type_name().as_bytes());
        true
    })
}

fn json_array_length(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    let source = TextColumn::of(args[0]);
    let mut paths = Paths::of(args, false);
    each_known(args, &UBigInt, len, out, |_, row, out| {
        let (found, path) = paths.part_at(row, source.get(row))?;
        let known = match found {
            Scanned::Nothing => return out.push(None),
            Scanned::Part(raw) => raw.item_count(),
            Scanned::Unknown => None,
        };
        if let Some(count) = known {
            return out.push_int(count as i64);
        }
        let document = Json::parse(source.text(row))?;
        let found = match path {
            None => Some(&document),
            Some(path) if !path.is_many() => path.find(&document).first().copied(),
            Some(_) => {
                return Err(Error::invalid_argument("json_array_length: a path that leads to many parts"));
            }
        };
        match found {
            Some(Json::Array(items)) => out.push_int(items.len() as i64),
            Some(_) => out.push_int(0),
            None => out.push(None),
        }
    })
}

fn json_exists(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    let source = TextColumn::of(args[0]);
    let mut paths = Paths::of(args, false);
    per_row(args, &Boolean, len, out, |row| {
        let (found, path) = paths.part_at(row, source.get(row))?;
        match found {
            Scanned::Nothing => return Ok(0),
            Scanned::Part(_) => return Ok(1),
            Scanned::Unknown => {}
        }
        let document = Json::parse(source.text(row))?;
        Ok(u8::from(path.is_none_or(|path| !path.find(&document).is_empty())))
    })
}

fn json_contains(args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    let (source, part) = (TextColumn::of(args[0]), TextColumn::of(args[1]));
    let is_one = args[1].is_constant() && !args[1].is_constant_null();
    let scalar = if is_one { plain_scalar(part.get(0)) } else { None };
    per_row(args, &Boolean, len, out, |row| {
        if let Some(found) = scalar.and_then(|scalar| contains_scalar(source.get(row), scalar)) {
            return Ok(u8::from(found));
        }
        let mut fuel = COMPARISONS_MAX;
        let found = Json::parse(source.text(row))?.contains(&Json::parse(part.text(row))?, &mut fuel);
        if fuel == 0 {
            return Err(Error::out_of_range(
                "json_contains: the documents are too large and too deep to compare",
            ));
        }
        Ok(u8::from(found))
    })
}

/// Parts compared for one row, so that nested arrays cannot take forever.
const COMPARISONS_MAX: u32 = 1 << 24;

/// The type as which a value is written, and how: fractions as DOUBLE if it has all their digits, whose text is taken since it tells -0.0 from 0.0, and what has
/// no way of its own as its text.
fn written_as(ty: &LogicalType) -> (LogicalType, Writer) {
    use LogicalType as T;
    let taken = match ty {
        T::TinyInt | T::SmallInt | T::Integer | T::BigInt | T::UTinyInt | T::USmallInt | T::UInteger => {
            ty.clone()
        }
        T::Boolean | Varchar | JsonType => ty.clone(),
        T::Double | T::Real | T::Decimal { precision: ..=15, .. } => T::Double,
        _ => Varchar,
    };
    let is_number = taken == T::Double || taken == Varchar && is_plain(ty);
    let writer = if is_number { Writer::Number } else { Writer::of(&taken) };
    (taken, writer)
}

/// The types and ways of arguments; every other one of an object is a key.
fn written_args(args: &[ArgType], is_object: bool) -> (Vec<LogicalType>, Vec<Writer>) {
    let one = |(index, arg): (usize, &ArgType)| {
        if is_object && index % 2 == 0 { (Varchar, Writer::Text) } else { written_as(&arg.ty) }
    };
    args.iter().enumerate().map(one).unzip()
}

fn resolve_to_json(args: &[ArgType], _: &ResolveOptions) -> Option<Resolved> {
    let [arg] = args else { return None };
    let (taken, writer) = written_as(&arg.ty);
    let kernel = kernel(move |args: &[&Vector], len: usize, out: &mut Vector| {
        if matches!(writer, Writer::Signed | Writer::Unsigned) {
            // Integers are the same as texts.
            inlay_kernels::cast::cast(args[0], &Varchar, false, out)?;
            *out = std::mem::replace(out, Vector::empty(Varchar)).reinterpret(JsonType);
            return Ok(());
        }
        let texts = nested::with_texts(args, std::slice::from_ref(&writer))?;
        let args = &texts.iter().collect::<Vec<_>>()[..];
        each_known(args, &JsonType, len, out, |args, row, out| {
            out.push_with(|text| {
                writer.write(args.get(0, row), text);
                Ok(())
            })
        })
    });
    Some(Resolved::infallible(vec![taken], JsonType, kernel))
}

fn resolve_array(args: &[ArgType], _: &ResolveOptions) -> Option<Resolved> {
    let (types, writers) = written_args(args, false);
    Some(Resolved::infallible(types, JsonType, nested::made(writers, false)))
}

fn resolve_object(args: &[ArgType], _: &ResolveOptions) -> Option<Resolved> {
    if !args.len().is_multiple_of(2) {
        return None;
    }
    let (types, writers) = written_args(args, true);
    Some(Resolved::fallible(types, JsonType, nested::made(writers, true)))
}

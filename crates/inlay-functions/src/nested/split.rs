//! Texts taken apart into lists, and lists joined into texts.

use super::is_text;
use super::rows::{Part, Texts, each, each_known, text};
use crate::columns::TextColumn;
use crate::find::Finder;
use crate::regex::{Regexes, is_inside_character};
use crate::registry::Function;
use inlay_kernels::function::kernel;
use inlay_kernels::resolve::{ArgType, Resolved};
use inlay_types::LogicalType::{BigInt, Varchar};
use inlay_types::limits::{self, Meter};
use inlay_types::nested::Sequence;
use inlay_types::{Error, LogicalType, Result, Vector};
use regex::bytes::Regex;
use std::ops::Range;

/// See the module documentation.
pub(crate) static FUNCTIONS: &[Function] = &[
    Function::typed(
        "string_split",
        &["string_split(VARCHAR, separator) -> VARCHAR[]"],
        |args, _| resolve_split(args),
        "the parts of a text between separators; its characters if the separator is empty",
        "string_split('hello-world', '-') = '[hello, world]'",
    )
    .special_nulls()
    .aliases(&["str_split", "split", "string_to_array"]),
    Function::typed(
        "string_split_regex",
        &[
            "string_split_regex(VARCHAR, pattern) -> VARCHAR[]",
            "string_split_regex(VARCHAR, pattern, options) -> VARCHAR[]",
        ],
        |args, _| resolve_split_regex(args),
        "the parts of a text between matches of a regular expression",
        "string_split_regex('hello world; 42', ';? ') = '[hello, world, 42]'",
    )
    .special_nulls()
    .aliases(&["str_split_regex", "regexp_split_to_array"]),
    Function::typed(
        "regexp_extract_all",
        &[
            "regexp_extract_all(VARCHAR, pattern) -> VARCHAR[]",
            "regexp_extract_all(VARCHAR, pattern, group) -> VARCHAR[]",
            "regexp_extract_all(VARCHAR, pattern, group, options) -> VARCHAR[]",
            "regexp_extract_all(VARCHAR, pattern, names, options) -> STRUCT(...)[]",
        ],
        |args, _| resolve_extract_all(args),
        "all matches of a regular expression, or a group of each, NULL where it took no part, or named groups",
        "regexp_extract_all('Peter: 33, Paul: 14', '(\\w+): (\\d+)', 2) = '[33, 14]'",
    )
    .special_nulls(),
    Function::typed(
        "array_to_string",
        &["array_to_string(LIST, separator) -> VARCHAR", "array_to_string(LIST, separator, null) -> VARCHAR"],
        |args, _| resolve_join(args),
        "the elements that are not NULL as one text; a third argument stands for NULLs",
        "array_to_string([1, 2, 3], '-') = '1-2-3'",
    )
    .special_nulls()
    .aliases(&["list_to_string", "array_to_string_comma_default"]),
];

fn resolve_split(args: &[ArgType]) -> Option<Resolved> {
    let [source, separator] = args else { return None };
    if !is_text(source) || !is_text(separator) {
        return None;
    }
    let ty = LogicalType::list(Varchar);
    let returns = ty.clone();
    let kernel = kernel(move |args: &[&Vector], len, out: &mut Vector| {
        let is_one = args[1].is_constant() && !args[1].is_constant_null();
        let separator = TextColumn::of(args[1]);
        let finder = is_one.then(|| Finder::new(separator.get(0))).filter(|finder| finder.len() > 0);
        each(args, &ty, len, out, |args, row, out| {
            let Some(source) = args.get(0, row) else { return out.push(None) };
            if let Some(finder) = &finder
                && source.len() <= SHORT
                && out.try_push_with(|out| Ok(push_few_parts(source, finder, out)))?
            {
                return Ok(());
            }
            let source = text(source);
            out.push_texts(|list| match args.text(1, row) {
                None => list.push(source.as_bytes()),
                Some("") if source.is_empty() => list.push(b""),
                Some("") => characters(source).try_for_each(|c| list.push(c.as_bytes())),
                Some(separator) => source.split(separator).try_for_each(|part| list.push(part.as_bytes())),
            })
        })
    });
    Some(Resolved::infallible(vec![Varchar, Varchar], returns, kernel))
}

/// Bytes of a text whose parts need not be counted one by one.
const SHORT: usize = 1 << 16;

/// Parts whose ends are kept in place.
const FEW_PARTS: usize = 16;

/// Appends the list of the parts of a text between separators, if there are few; whether it did.
fn push_few_parts(source: &[u8], separator: &Finder, out: &mut Vec<u8>) -> bool {
    let (mut starts, mut count) = ([0; FEW_PARTS], 1);
    while let Some(at) = separator.find(&source[starts[count - 1]..]) {
        if count == FEW_PARTS {
            return false;
        }
        starts[count] = starts[count - 1] + at + separator.len();
        count += 1;
    }
    out.extend_from_slice(&(count as u32).to_le_bytes());
    // Behind the text as many bytes as a separator has would begin the next part.
    let behind = source.len() + separator.len();
    let next = |part: usize| if part + 1 < count { starts[part + 1] } else { behind };
    for part in 0..count {
        let end = next(part) - (part + 1) * separator.len();
        out.extend_from_slice(&(end as u32).to_le_bytes());
    }
    for part in 0..count {
        out.extend_from_slice(&source[starts[part]..next(part) - separator.len()]);
    }
    true
}

fn characters(source: &str) -> impl Iterator<Item = &str> {
    source.char_indices().map(|(at, c)| &source[at..at + c.len_utf8()])
}

/// The expressions of the second argument, with the options of another.
fn regexes<'a>(args: &[&'a Vector], options: usize) -> Regexes<'a> {
    Regexes::new(args[1], args.get(options).copied())
}

fn resolve_split_regex(args: &[ArgType]) -> Option<Resolved> {
    if !(2..=3).contains(&args.len()) || !args.iter().all(is_text) {
        return None;
    }
    let ty = LogicalType::list(Varchar);
    let returns = ty.clone();
    let kernel = kernel(move |vectors: &[&Vector], len, out: &mut Vector| {
        let mut regexes = regexes(vectors, 2);
        each_known(vectors, &ty, len, out, |args, row, out| {
            let source = args.get(0, row).unwrap_or_default();
            let regex = regexes.at(row)?;
            out.push_texts(|list| split_at_matches(source, regex, list))
        })
    });
    Some(Resolved::fallible(vec![Varchar; args.len()], returns, kernel))
}

/// Parts between matches; an empty match stands between two characters.
fn split_at_matches(source: &[u8], regex: &Regex, list: &mut Texts) -> Result<()> {
    let mut from = 0;
    for found in regex.find_iter(source) {
        let is_at_end = found.is_empty() && (found.start() == 0 || found.start() == source.len());
        if is_at_end || is_inside_character(source, &found.range()) {
            continue;
        }
        list.push(&source[from..found.start()])?;
        from = found.end();
    }
    list.push(&source[from..])
}

fn resolve_extract_all(args: &[ArgType]) -> Option<Resolved> {
    let [source, pattern, others @ ..] = args else { return None };
    if !is_text(source) || !is_text(pattern) || others.len() > 2 || !others.get(1).is_none_or(is_text) {
        return None;
    }
    let mut types = vec![Varchar, Varchar, BigInt, Varchar];
    types.truncate(args.len());
    if !others.first().is_none_or(super::is_integer) {
        return None;
    }
    let ty = LogicalType::list(Varchar);
    let returns = ty.clone();
    let kernel = kernel(move |vectors: &[&Vector], len, out: &mut Vector| {
        let mut regexes = regexes(vectors, 3);
        each_known(vectors, &ty, len, out, |args, row, out| {
            let source = args.get(0, row).unwrap_or_default();
            let regex = regexes.at(row)?;
            let group = args.int(2, row).unwrap_or(0);
            let index = usize::try_from(group).ok().filter(|group| *group < regex.captures_len());
            let index = index.ok_or_else(|| {
                Error::invalid_argument(format!("the regular expression has no group {group}"))
            })?;
            if index == 0 {
                return out.push_texts(|list| {
                    each_match(
                        source,
                        |from| regex.find_at(source, from).map(|found| (found.range(), found)),
                        |found| list.push(found.as_bytes()),
                    )
                });
            }
            // A group that took no part in a match is NULL.
            let (mut groups, mut meter) = (Vec::new(), Meter::new());
            let captures = |from| {
                let found = regex.captures_at(source, from)?;
                Some((found.get(0)?.range(), found))
            };
            each_match(source, captures, |found| {
                meter.add(2 * size_of::<Part<'_>>())?;
                groups.push(found.get(index).map(|group| group.as_bytes()));
                Ok(())
            })?;
            out.push_list(&Varchar, &groups)
        })
    });
    Some(Resolved::fallible(types, returns, kernel))
}

/// Calls `use_match` for each match, of which `next` finds the first from a byte on. An empty one may stand right behind the one
/// before, as in PostgreSQL and DuckDB, which the iterators of the crate pass over.
fn each_match<T>(
    source: &[u8],
    next: impl Fn(usize) -> Option<(Range<usize>, T)>,
    mut use_match: impl FnMut(T) -> Result<()>,
) -> Result<()> {
    let mut from = 0;
    while let Some((range, found)) = next(from) {
        use_match(found)?;
        from = range.end;
        if range.is_empty() {
            let is_inside = |byte: &u8| (0x80..0xC0).contains(byte);
            from += 1;
            from += source.iter().skip(from).take_while(|byte| is_inside(byte)).count();
        }
        if from > source.len() {
            break;
        }
    }
    Ok(())
}

fn resolve_join(args: &[ArgType]) -> Option<Resolved> {
    let [list, others @ ..] = args else { return None };
    if others.len() > 2 || !others.iter().all(is_text) {
        return None;
    }
    super::element_or_null(list)?;
    let mut types = vec![super::taken_as(list, &Varchar)];
    types.extend(others.iter().map(|_| Varchar));
    let kernel = kernel(move |args, len, out| {
        each(args, &Varchar, len, out, |args, row, out| {
            let Some(list) = args.get(0, row) else { return out.push(None) };
            let separator = args.text(1, row).unwrap_or(",");
            let (list, filler) = (Sequence::new(&Varchar, list), args.get(2, row));
            out.push_with(|out| {
                let parts = (0..list.len()).filter_map(|index| list.get(index).or(filler));
                let size = parts.clone().map(|part| part.len() + separator.len()).sum::<usize>();
                limits::grow_at_once(out, size)?;
                for (index, part) in parts.enumerate() {
                    if index > 0 {
                        out.extend_from_slice(separator.as_bytes());
                    }
                    out.extend_from_slice(part);
                }
                Ok(())
            })
        })
    });
    Some(Resolved::infallible(types, Varchar, kernel))
}

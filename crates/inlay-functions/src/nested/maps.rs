//! `MAP {k: v}` and `m[k]`: maps from keys and values, and their values.

use super::rows::{Output, Part, each, each_known};
use super::{element, element_or_null, explained, taken_as};
use crate::registry::Function;
use inlay_kernels::coercion::common_argument_type;
use inlay_kernels::function::kernel;
use inlay_kernels::resolve::{ArgType, ResolveOptions, Resolved};
use inlay_types::nested::read::{StructLayout, map_parts, value};
use inlay_types::nested::{Sequence, write};
use inlay_types::{Error, LogicalType, Result, limits};
use std::collections::HashSet;
use std::sync::Arc;

/// Types of keys and of values.
pub(super) type Pair = Arc<(LogicalType, LogicalType)>;

/// See the module documentation.
pub(crate) static FUNCTIONS: &[Function] = &[
    Function::typed(
        "map",
        &["map() -> MAP", "map(LIST, LIST) -> MAP"],
        |args, _| resolve_map(args),
        "a map of a list of keys and a list of values",
        "map([1, 2], ['a', 'b']) = '{1=a, 2=b}'",
    )
    .special_nulls(),
    Function::typed(
        "map_from_entries",
        &["map_from_entries(LIST of STRUCT) -> MAP"],
        |args, _| resolve_entries(args),
        "a map of a list of pairs",
        "map_from_entries([{'k': 5, 'v': 'x'}]) = '{5=x}'",
    )
    .special_nulls(),
    Function::typed(
        "map_extract",
        &["map_extract(MAP, key) -> LIST"],
        |args, _| resolve_extract_list(args),
        "the value of a key in a list, the empty list if there is none",
        "map_extract(map([100, 5], [42, 43]), 100) = '[42]'",
    )
    .special_nulls()
    .aliases(&["element_at"]),
    explained(
        "map_extract_value",
        &["map_extract_value(MAP, key) -> any"],
        |args, _: &ResolveOptions| Ok(resolve_extract_value(args)),
        "the value of a key, NULL if there is none",
        "map_extract_value(map([100, 5], [42, 43]), 100) = 42",
    ),
];

/// Keys that are compared each with each; more are hashed.
const FEW_KEYS: usize = 16;

/// Appends a map of `count` pairs, after a look at its keys.
pub(super) fn push_map<'a>(
    out: &mut Output,
    types: &(LogicalType, LogicalType),
    count: usize,
    key: impl Fn(usize) -> Part<'a> + Copy,
    value: impl Fn(usize) -> Part<'a> + Copy,
) -> Result<()> {
    check_keys(&types.0, count, key)?;
    out.push_with(|out| write::push_map(types, count, key, value, out))
}

/// Whether keys are keys: each is there, and once.
fn check_keys<'a>(ty: &LogicalType, count: usize, key: impl Fn(usize) -> Part<'a> + Copy) -> Result<()> {
    let known = |index: usize| key(index).ok_or_else(|| Error::invalid_argument("a key of a MAP is NULL"));
    let twice = |key: &[u8]| {
        let shown = value(ty, key);
        Error::invalid_argument(format!("the key {shown} occurs more than once in a MAP"))
    };
    if count <= FEW_KEYS {
        for index in 0..count {
            let own = known(index)?;
            if (0..index).any(|before| key(before) == Some(own)) {
                return Err(twice(own));
            }
        }
        return Ok(());
    }
    limits::need(count.saturating_mul(2 * (size_of::<&[u8]>() + 1)))?;
    let mut seen = HashSet::with_capacity(count);
    for index in 0..count {
        let own = known(index)?;
        if !seen.insert(own) {
            return Err(twice(own));
        }
    }
    Ok(())
}

fn resolve_map(args: &[ArgType]) -> Option<Resolved> {
    let (key, content, arg_types) = match args {
        [] => (LogicalType::Null, LogicalType::Null, Vec::new()),
        [keys, values] => {
            let (key, content) = (element_or_null(keys)?, element_or_null(values)?);
            let types = vec![taken_as(keys, &key), taken_as(values, &content)];
            (key, content, types)
        }
        _ => return None,
    };
    let ty = LogicalType::map(key.clone(), content.clone());
    ty.check_depth().ok()?;
    let (returns, types) = (ty.clone(), (key, content));
    let kernel = kernel(move |args, len, out| {
        if args.is_empty() {
            let mut one = Output::new(&ty);
            push_map(&mut one, &types, 0, |_| None, |_| None)?;
            return inlay_kernels::apply::make_constant(&one.finish(), len, out);
        }
        each_known(args, &ty, len, out, |args, row, out| {
            let keys = Sequence::new(&types.0, args.get(0, row).unwrap_or_default());
            let values = Sequence::new(&types.1, args.get(1, row).unwrap_or_default());
            if keys.len() != values.len() {
                let (keys, values) = (keys.len(), values.len());
                return Err(Error::invalid_argument(format!("a MAP of {keys} keys and {values} values")));
            }
            push_map(out, &types, keys.len(), |index| keys.get(index), |index| values.get(index))
        })
    });
    Some(Resolved::fallible(arg_types, returns, kernel))
}

fn resolve_entries(args: &[ArgType]) -> Option<Resolved> {
    let [entries] = args else { return None };
    let (key, content) = match element(&entries.ty)? {
        LogicalType::Struct(fields) if fields.len() == 2 => (fields[0].ty.clone(), fields[1].ty.clone()),
        LogicalType::Null => (LogicalType::Null, LogicalType::Null),
        _ => return None,
    };
    let entry = element(&entries.ty)?.clone();
    let ty = LogicalType::map(key.clone(), content.clone());
    let (returns, types) = (ty.clone(), (key, content));
    let kernel = kernel(move |args, len, out| {
        let layout =
            if let LogicalType::Struct(fields) = &entry { Some(StructLayout::new(fields)) } else { None };
        each_known(args, &ty, len, out, |args, row, out| {
            let entries = Sequence::new(&entry, args.get(0, row).unwrap_or_default());
            let part = |index: usize, field: usize| layout.as_ref()?.field(entries.get(index)?, field);
            push_map(out, &types, entries.len(), |index| part(index, 0), |index| part(index, 1))
        })
    });
    Some(Resolved::fallible(vec![entries.ty.clone()], returns, kernel))
}

/// The types of a map, and those it and a key are taken as.
pub(super) fn keyed(map: &ArgType, key: &ArgType) -> Option<(Pair, Vec<LogicalType>)> {
    let LogicalType::Map(types) = &map.ty else { return None };
    let wanted = if types.0 == LogicalType::Null { key.ty.clone() } else { types.0.clone() };
    // A key that is wider than the map's keys meets them half-way.
    let wanted = common_argument_type(&ArgType::of(wanted.clone()), key).unwrap_or(wanted);
    let taken = Arc::new((wanted.clone(), types.1.clone()));
    Some((Arc::clone(&taken), vec![LogicalType::Map(taken), wanted]))
}

/// The value of a key: `None` if there is no such key.
pub(super) fn find<'a>(types: &(LogicalType, LogicalType), map: &'a [u8], key: &[u8]) -> Option<Part<'a>> {
    let (keys, values) = map_parts(types, map);
    (0..keys.len()).find(|&index| keys.get(index) == Some(key)).map(|index| values.get(index))
}

fn resolve_extract_list(args: &[ArgType]) -> Option<Resolved> {
    let [map, key] = args else { return None };
    let (types, arg_types) = keyed(map, key)?;
    let ty = LogicalType::list(types.1.clone());
    let returns = ty.clone();
    let kernel = kernel(move |args, len, out| {
        each(args, &ty, len, out, |args, row, out| {
            let Some(map) = args.get(0, row) else { return out.push(None) };
            let found = args.get(1, row).and_then(|key| find(&types, map, key));
            out.push_list(&types.1, found.as_slice())
        })
    });
    Some(Resolved::infallible(arg_types, returns, kernel))
}

/// `m[k]`
pub(super) fn resolve_extract_value(args: &[ArgType]) -> Option<Resolved> {
    let [map, key] = args else { return None };
    let (types, arg_types) = keyed(map, key)?;
    let returns = types.1.clone();
    let kernel = kernel(move |args, len, out| {
        each_known(args, &types.1, len, out, |args, row, out| {
            let map = args.get(0, row).unwrap_or_default();
            out.push(find(&types, map, args.get(1, row).unwrap_or_default()).flatten())
        })
    });
    Some(Resolved::infallible(arg_types, returns, kernel))
}

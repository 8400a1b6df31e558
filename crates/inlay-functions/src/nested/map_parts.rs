//! Keys, values and entries of maps, and maps put together.

use super::elements::Elements;
use super::entries::{Count, SHORT, push_entries};
use super::maps::{find, keyed, push_map};
use super::rows::{Args, Output, Part, computed, each, each_known, finish};
use crate::registry::Function;
use inlay_kernels::coercion::common_type;
use inlay_kernels::function::kernel;
use inlay_kernels::resolve::{ArgType, Resolved};
use inlay_types::LogicalType::{self, Boolean};
use inlay_types::logical_type::Field;
use inlay_types::nested::fixed_width;
use inlay_types::nested::read::{map_lists, map_parts};
use inlay_types::nested::write::{StructPacker, push_appended};
use inlay_types::{Result, Vector, limits};
use std::collections::HashMap;
use std::sync::Arc;

/// See the module documentation.
pub(crate) static FUNCTIONS: &[Function] = &[
    Function::typed(
        "map_keys",
        &["map_keys(MAP) -> LIST"],
        |args, _| resolve_side(args, Side::Keys),
        "the keys of a map",
        "map_keys(map([100, 5], [42, 43])) = '[100, 5]'",
    )
    .special_nulls(),
    Function::typed(
        "map_values",
        &["map_values(MAP) -> LIST"],
        |args, _| resolve_side(args, Side::Values),
        "the values of a map",
        "map_values(map([100, 5], [42, 43])) = '[42, 43]'",
    )
    .special_nulls(),
    Function::typed(
        "map_entries",
        &["map_entries(MAP) -> LIST of STRUCT"],
        |args, _| resolve_entries(args),
        "the entries of a map as structs of key and value",
        "map_entries(map([1], ['a'])) = '[{''key'': 1, ''value'': a}]'",
    )
    .special_nulls(),
    Function::typed(
        "map_contains",
        &["map_contains(MAP, key) -> BOOLEAN"],
        |args, _| if let [map, key] = args { resolve_contains_key(map, key) } else { None },
        "whether a map has a key",
        "map_contains(map([1], ['a']), 1) = true",
    )
    .special_nulls(),
    Function::typed(
        "map_contains_value",
        &["map_contains_value(MAP, any) -> BOOLEAN"],
        |args, _| resolve_contains_value(args),
        "whether a map has a value",
        "map_contains_value(map([1], ['a']), 'b') = false",
    )
    .special_nulls(),
    Function::typed(
        "map_contains_entry",
        &["map_contains_entry(MAP, key, any) -> BOOLEAN"],
        |args, _| resolve_contains_entry(args),
        "whether a map has a key with a value",
        "map_contains_entry(map([1], ['a']), 1, 'a') = true",
    )
    .special_nulls(),
    Function::typed(
        "map_concat",
        &["map_concat(MAP, MAP, ...) -> MAP"],
        |args, _| resolve_concat(args),
        "the entries of all maps; of a key that occurs again the last value",
        "map_concat(map([1, 2], ['a', 'b']), map([2, 3], ['c', 'd'])) = '{1=a, 2=c, 3=d}'",
    )
    .special_nulls(),
];

#[derive(Clone, Copy)]
enum Side {
    Keys,
    Values,
}

fn map_types(arg: &ArgType) -> Option<Arc<(LogicalType, LogicalType)>> {
    if let LogicalType::Map(types) = &arg.ty { Some(Arc::clone(types)) } else { None }
}

fn resolve_side(args: &[ArgType], side: Side) -> Option<Resolved> {
    let [map] = args else { return None };
    let types = map_types(map)?;
    let element = match side {
        Side::Keys => types.0.clone(),
        Side::Values => types.1.clone(),
    };
    let ty = LogicalType::list(element);
    let returns = ty.clone();
    let kernel = kernel(move |args, len, out| {
        each_known(args, &ty, len, out, |args, row, out| {
            let (keys, values) = map_lists(args.get(0, row).unwrap_or_default());
            out.push(Some(match side {
                Side::Keys => keys,
                Side::Values => values,
            }))
        })
    });
    Some(Resolved::infallible(vec![map.ty.clone()], returns, kernel))
}

fn resolve_entries(args: &[ArgType]) -> Option<Resolved> {
    let [map] = args else { return None };
    let types = map_types(map)?;
    let fields = vec![Field::new("key", types.0.clone()), Field::new("value", types.1.clone())];
    let ty = LogicalType::list(LogicalType::Struct(fields.as_slice().into()));
    ty.check_depth().ok()?;
    let returns = ty.clone();
    let packer = StructPacker::new(&fields);
    let widths = [fixed_width(&types.0), fixed_width(&types.1)];
    let push_map_entries = move |bytes: &[u8], out: &mut Output| {
        if bytes.len() <= SHORT {
            let (keys, values) = map_lists(bytes);
            let push = |out: &mut Vec<u8>| push_entries(widths, [keys, values], Count::Shortest, out);
            if out.try_push_with(|out| Ok(push(out).is_some()))? {
                return Ok(());
            }
        }
        let (keys, values) = map_parts(&types, bytes);
        let count = keys.len().min(values.len());
        let size = count.saturating_mul(packer.fixed_size()) + bytes.len();
        out.push_with(|out| {
            let pair = |index: usize, out: &mut Vec<u8>| {
                packer.push(|field| if field == 0 { keys.get(index) } else { values.get(index) }, out)
            };
            push_appended((count, size), pair, out)
        })
    };
    let kernel = kernel(move |args: &[&Vector], len: usize, out: &mut Vector| {
        let (rows, taken) = computed(args, len);
        let maps = taken[0].flatten();
        let (heap, has_nulls) = (maps.heap().buffers(), maps.validity().is_some());
        let mut made = Output::of_rows(&ty, rows);
        for (row, view) in maps.views()[..rows].iter().enumerate() {
            if has_nulls && maps.is_null(row) {
                made.push(None)?;
            } else {
                push_map_entries(view.bytes(heap), &mut made)?;
            }
        }
        finish(made.finish(), rows, len, out)
    });
    Some(Resolved::infallible(vec![map.ty.clone()], returns, kernel))
}

/// Whether a map has a key; also `contains(map, key)`.
pub(super) fn resolve_contains_key(map: &ArgType, key: &ArgType) -> Option<Resolved> {
    let (types, arg_types) = keyed(map, key)?;
    let kernel = kernel(move |args, len, out| {
        each_known(args, &Boolean, len, out, |args, row, out| {
            let map = args.get(0, row).unwrap_or_default();
            out.push_bool(find(&types, map, args.get(1, row).unwrap_or_default()).is_some())
        })
    });
    Some(Resolved::infallible(arg_types, Boolean, kernel))
}

/// The type in which the values of a map meet another.
fn meeting_value(types: &(LogicalType, LogicalType), value: &ArgType) -> Option<LogicalType> {
    inlay_kernels::coercion::common_argument_type(&ArgType::of(types.1.clone()), value)
}

fn resolve_contains_value(args: &[ArgType]) -> Option<Resolved> {
    let [map, value] = args else { return None };
    let types = map_types(map)?;
    let wanted = meeting_value(&types, value)?;
    let types = (types.0.clone(), wanted.clone());
    let arg_types = vec![LogicalType::map(types.0.clone(), wanted.clone()), wanted];
    let kernel = kernel(move |args, len, out| {
        each_known(args, &Boolean, len, out, |args, row, out| {
            let (_, values) = map_parts(&types, args.get(0, row).unwrap_or_default());
            out.push_bool((0..values.len()).any(|index| values.get(index) == args.get(1, row)))
        })
    });
    Some(Resolved::infallible(arg_types, Boolean, kernel))
}

fn resolve_contains_entry(args: &[ArgType]) -> Option<Resolved> {
    let [map, key, value] = args else { return None };
    let (types, _) = keyed(map, key)?;
    let wanted = meeting_value(&types, value)?;
    let types = (types.0.clone(), wanted.clone());
    let arg_types = vec![LogicalType::map(types.0.clone(), wanted.clone()), types.0.clone(), wanted];
    let kernel = kernel(move |args, len, out| {
        each_known(args, &Boolean, len, out, |args, row, out| {
            let map = args.get(0, row).unwrap_or_default();
            let found = find(&types, map, args.get(1, row).unwrap_or_default());
            out.push_bool(found.is_some_and(|found| found.is_some() && found == args.get(2, row)))
        })
    });
    Some(Resolved::infallible(arg_types, Boolean, kernel))
}

fn resolve_concat(args: &[ArgType]) -> Option<Resolved> {
    if args.len() < 2 {
        return None;
    }
    let ty = args.iter().try_fold(LogicalType::Null, |ty, arg| common_type(&ty, &arg.ty))?;
    let LogicalType::Map(types) = ty.clone() else { return None };
    let arg_types = vec![ty.clone(); args.len()];
    let returns = ty.clone();
    let kernel = kernel(move |args, len, out| {
        each(args, &ty, len, out, |args: &Args, row, out| {
            let maps: Vec<&[u8]> = (0..args.len()).filter_map(|arg| args.get(arg, row)).collect();
            if maps.is_empty() {
                return out.push(None);
            }
            let count = maps.iter().map(|map| map_parts(&types, map).0.len()).sum::<usize>();
            if count <= FEW_PAIRS {
                return push_few(out, &types, &maps);
            }
            let (mut keys, mut values): (Vec<Part<'_>>, Vec<Part<'_>>) = (Vec::new(), Vec::new());
            limits::need(count.saturating_mul(5 * size_of::<Part<'_>>()))?;
            let mut places: HashMap<Part<'_>, usize> = HashMap::new();
            for map in maps {
                let (own, contents) = map_parts(&types, map);
                for (&key, &value) in Elements::of(&own)?.iter().zip(&*Elements::of(&contents)?) {
                    match places.get(&key) {
                        Some(&place) => values[place] = value,
                        None => {
                            places.insert(key, keys.len());
                            keys.push(key);
                            values.push(value);
                        }
                    }
                }
            }
            push_map(out, &types, keys.len(), |index| keys[index], |index| values[index])
        })
    });
    Some(Resolved::infallible(arg_types, returns, kernel))
}

/// Pairs whose keys are looked for one by one.
const FEW_PAIRS: usize = 16;

/// Appends the pairs of maps, which have few; of a key that occurs again the last value.
fn push_few(out: &mut Output, types: &(LogicalType, LogicalType), maps: &[&[u8]]) -> Result<()> {
    let (mut pairs, mut count) = ([(None, None); FEW_PAIRS], 0);
    for map in maps {
        let (keys, values) = map_parts(types, map);
        for index in 0..keys.len().min(values.len()) {
            let key: Part<'_> = keys.get(index);
            let place = pairs[..count].iter().position(|(known, _)| *known == key).unwrap_or(count);
            pairs[place] = (key, values.get(index));
            count = count.max(place + 1);
        }
    }
    push_map(out, types, count, |index| pairs[index].0, |index| pairs[index].1)
}

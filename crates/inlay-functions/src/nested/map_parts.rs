//! Keys, values and entries of maps, and maps put together.

use super::elements::Elements;
use super::maps::{find, keyed, push_map};
use super::rows::{Args, Output, Part, copy_short, each, each_known};
use crate::registry::Function;
use inlay_kernels::coercion::common_type;
use inlay_kernels::function::kernel;
use inlay_kernels::resolve::{ArgType, Resolved};
use inlay_types::LogicalType::{self, Boolean};
use inlay_types::logical_type::Field;
use inlay_types::nested::read::{map_lists, map_parts};
use inlay_types::nested::write::{StructPacker, push_appended};
use inlay_types::nested::{Sequence, fixed_width, plain_run};
use inlay_types::{Result, limits};
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
    let kernel = kernel(move |args, len, out| {
        each_known(args, &ty, len, out, |args, row, out| {
            let bytes = args.get(0, row).unwrap_or_default();
            if let ([None, Some(width)], true) = (widths, bytes.len() <= SHORT)
                && out.try_push_with(|out| Ok(push_named(bytes, width, out).is_some()))?
            {
                return Ok(());
            }
            let (keys, values) = map_parts(&types, bytes);
            let count = keys.len().min(values.len());
            let size = count.saturating_mul(packer.fixed_size()) + bytes.len();
            if size <= SHORT {
                return out.push_with(|out| {
                    push_entries(&keys, &values, count, widths, out);
                    Ok(())
                });
            }
            out.push_with(|out| {
                let pair = |index: usize, out: &mut Vec<u8>| {
                    packer.push(|field| if field == 0 { keys.get(index) } else { values.get(index) }, out)
                };
                push_appended((count, size), pair, out)
            })
        })
    });
    Some(Resolved::infallible(vec![map.ty.clone()], returns, kernel))
}

/// Bytes of entries that are written into their places at once.
const SHORT: usize = 1 << 16;

/// Appends the list of the entries of a map of texts to values of `width` bytes; `None`: a value is NULL, and nothing was appended.
fn push_named(map: &[u8], width: usize, out: &mut Vec<u8>) -> Option<()> {
    let (keys, values) = map_lists(map);
    let (header, keys) = keys.split_first_chunk()?;
    let count = u32::from_le_bytes(*header) as usize;
    let values = plain_run(values, width).filter(|values| values.len() == count * width)?;
    let (ends, texts) = keys.split_at_checked(4 * count)?;
    let fixed = 1 + width + 4;
    let start = out.len();
    out.resize(start + 4 + 4 * count + count * fixed + texts.len(), 0);
    let (list_header, rest) = out[start..].split_at_mut(4);
    list_header.copy_from_slice(header);
    let (list_ends, mut entries) = rest.split_at_mut(4 * count);
    let (mut from, mut end) = (0, 0u32);
    let places = list_ends.as_chunks_mut::<4>().0.iter_mut().zip(ends.as_chunks::<4>().0);
    for ((list_end, text_end), value) in places.zip(values.chunks_exact(width)) {
        let text_end = u32::from_le_bytes(*text_end) as usize;
        let text = texts.get(from..text_end).unwrap_or_default();
        from = text_end;
        let (entry, others) = entries.split_at_mut(fixed + text.len());
        entries = others;
        // Both are there.
        entry[0] = 0b11;
        copy_short(&mut entry[1..1 + width], value);
        entry[1 + width..fixed].copy_from_slice(&(text.len() as u32).to_le_bytes());
        copy_short(&mut entry[fixed..], text);
        end += (fixed + text.len()) as u32;
        *list_end = end.to_le_bytes();
    }
    Some(())
}

/// Appends the list of the entries of a map as structs of key and value, of which the sizes are added up first.
fn push_entries(
    keys: &Sequence<'_>,
    values: &Sequence<'_>,
    count: usize,
    widths: [Option<usize>; 2],
    out: &mut Vec<u8>,
) {
    let entry = |index: usize| [keys.get(index), values.get(index)];
    let fixed = widths.iter().flatten().sum::<usize>();
    let others = widths.iter().filter(|width| width.is_none()).count();
    let text_size = |(part, width): (Part<'_>, Option<usize>)| match width {
        Some(_) => 0,
        None => part.map_or(0, <[u8]>::len),
    };
    let texts =
        (0..count).flat_map(|index| entry(index).into_iter().zip(widths)).map(text_size).sum::<usize>();
    let first = 4 + 4 * count;
    let start = out.len();
    out.resize(start + first + count * (1 + fixed + 4 * others) + texts, 0);
    let out = &mut out[start..];
    out[..4].copy_from_slice(&(count as u32).to_le_bytes());
    let mut at = first;
    for index in 0..count {
        let (mut fixed_at, mut end_at) = (at + 1, at + 1 + fixed);
        let texts_from = end_at + 4 * others;
        let mut text_at = texts_from;
        for (field, (part, width)) in entry(index).into_iter().zip(widths).enumerate() {
            out[at] |= u8::from(part.is_some()) << field;
            let bytes = part.unwrap_or_default();
            match width {
                Some(width) => {
                    copy_short(&mut out[fixed_at..fixed_at + bytes.len()], bytes);
                    fixed_at += width;
                }
                None => {
                    copy_short(&mut out[text_at..text_at + bytes.len()], bytes);
                    text_at += bytes.len();
                    out[end_at..end_at + 4].copy_from_slice(&((text_at - texts_from) as u32).to_le_bytes());
                    end_at += 4;
                }
            }
        }
        at = text_at;
        out[4 + 4 * index..8 + 4 * index].copy_from_slice(&((at - first) as u32).to_le_bytes());
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use inlay_types::nested::write::push_sequence;

    #[test]
    fn entries_are_structs_in_a_list() {
        let texts = ["", "a", "key 4567", "a key of more than sixteen bytes", "b"];
        let numbers: Vec<[u8; 8]> = (1..=5i64).map(|number| (number * 77).to_le_bytes()).collect();
        let text = |index: usize| Some(texts[index].as_bytes());
        let number = |index: usize| (index != 2).then_some(&numbers[index][..]);
        let sides = [LogicalType::Varchar, LogicalType::BigInt];
        for (key, value) in [(0, 1), (1, 0), (0, 0), (1, 1)] {
            let pack = |side: usize| {
                let mut bytes = Vec::new();
                match side {
                    0 => push_sequence(&sides[0], 5, text, &mut bytes).unwrap(),
                    _ => push_sequence(&sides[1], 5, number, &mut bytes).unwrap(),
                }
                bytes
            };
            let (keys, values) = (pack(key), pack(value));
            let (keys, values) = (Sequence::new(&sides[key], &keys), Sequence::new(&sides[value], &values));
            let fields = [Field::new("key", sides[key].clone()), Field::new("value", sides[value].clone())];
            let packer = StructPacker::new(&fields);
            let (mut found, mut expected) = (vec![7], vec![7]);
            push_entries(&keys, &values, 5, [key, value].map(|side| fixed_width(&sides[side])), &mut found);
            let pair = |index: usize, out: &mut Vec<u8>| {
                packer.push(|field| if field == 0 { keys.get(index) } else { values.get(index) }, out)
            };
            push_appended((5, 0), pair, &mut expected).unwrap();
            assert_eq!(found, expected);
        }
    }
}

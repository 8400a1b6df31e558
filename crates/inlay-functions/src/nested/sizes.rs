//! How many elements, and lists put together, cut and repeated.

use super::elements::Elements;
use super::rows::{Args, Output, Part, computed, each, each_known, finish};
use super::{element, element_or_null, is_integer, meeting_element, meeting_type, taken_as};
use crate::registry::Function;
use inlay_kernels::function::kernel;
use inlay_kernels::resolve::{ArgType, Resolved};
use inlay_types::LogicalType::{BigInt, UBigInt};
use inlay_types::nested::read::map_parts;
use inlay_types::nested::{Sequence, fixed_width, lengths, plain_run, write};
use inlay_types::{Buffer, Error, Heap, LogicalType, Result, Vector, limits};
use std::cmp::Ordering;

/// See the module documentation.
pub(crate) static FUNCTIONS: &[Function] = &[
    Function::typed(
        "len",
        &["len(LIST) -> BIGINT"],
        |args, _| resolve_len(args, BigInt),
        "number of elements",
        "len([4, 5, 6]) = 3",
    )
    .special_nulls()
    .aliases(&["length", "array_length"]),
    Function::typed(
        "cardinality",
        &["cardinality(MAP) -> UBIGINT", "cardinality(LIST) -> UBIGINT"],
        |args, _| resolve_len(args, UBigInt),
        "number of entries of a map or elements of a list",
        "cardinality(map([4, 2], ['a', 'b'])) = 2",
    )
    .special_nulls(),
    Function::typed(
        "list_concat",
        &["list_concat(LIST, ...) -> LIST"],
        |args, _| resolve_concat(args, false),
        "the elements of all lists, one list after the other; NULL counts as no list",
        "list_concat([2, 3], [4, 5, 6], [7]) = '[2, 3, 4, 5, 6, 7]'",
    )
    .special_nulls()
    .aliases(&["list_cat", "array_concat", "array_cat", "concat"]),
    Function::typed(
        "||",
        &["LIST || LIST"],
        |args, _| resolve_concat(args, true),
        "the elements of one list behind those of another",
        "[2, 3] || [4] = '[2, 3, 4]'",
    )
    .special_nulls(),
    Function::typed(
        "+",
        &["LIST + LIST"],
        |args, _| if args.len() == 2 { resolve_concat(args, false) } else { None },
        "the elements of one list behind those of another; NULL counts as no list",
        "[2, 3] + [4] = '[2, 3, 4]'",
    )
    .special_nulls(),
    Function::typed(
        "list_append",
        &["list_append(LIST, any) -> LIST"],
        |args, _| if let [list, value] = args { resolve_push(list, value, Place::Back) } else { None },
        "a list with one more element at its end",
        "list_append([2, 3], 4) = '[2, 3, 4]'",
    )
    .special_nulls()
    .aliases(&["array_append", "array_push_back"]),
    Function::typed(
        "list_prepend",
        &["list_prepend(any, LIST) -> LIST"],
        |args, _| {
            if let [value, list] = args { resolve_push(list, value, Place::FrontOfSecond) } else { None }
        },
        "a list with one more element at its front",
        "list_prepend(3, [4, 5, 6]) = '[3, 4, 5, 6]'",
    )
    .special_nulls()
    .aliases(&["array_prepend"]),
    Function::typed(
        "array_push_front",
        &["array_push_front(LIST, any) -> LIST"],
        |args, _| if let [list, value] = args { resolve_push(list, value, Place::Front) } else { None },
        "a list with one more element at its front",
        "array_push_front([4, 5, 6], 3) = '[3, 4, 5, 6]'",
    )
    .special_nulls(),
    Function::typed(
        "array_pop_back",
        &["array_pop_back(LIST) -> LIST"],
        |args, _| {
            resolve_same(args, |parts| {
                parts.truncate(parts.len().saturating_sub(1));
                Ok(())
            })
        },
        "a list without its last element",
        "array_pop_back([4, 5, 6]) = '[4, 5]'",
    )
    .special_nulls(),
    Function::typed(
        "array_pop_front",
        &["array_pop_front(LIST) -> LIST"],
        |args, _| {
            resolve_same(args, |parts| {
                parts.remove_first();
                Ok(())
            })
        },
        "a list without its first element",
        "array_pop_front([4, 5, 6]) = '[5, 6]'",
    )
    .special_nulls(),
    Function::typed(
        "list_reverse",
        &["list_reverse(LIST) -> LIST"],
        |args, _| resolve_reverse(args),
        "a list from its end to its front",
        "list_reverse([3, 6, 1, 2]) = '[2, 1, 6, 3]'",
    )
    .special_nulls()
    .aliases(&["array_reverse", "reverse"]),
    Function::typed(
        "list_resize",
        &["list_resize(LIST, size) -> LIST", "list_resize(LIST, size, any) -> LIST"],
        |args, _| resolve_resize(args),
        "a list of a given size, filled with a value or NULL",
        "list_resize([1, 2, 3], 5, 0) = '[1, 2, 3, 0, 0]'",
    )
    .special_nulls()
    .aliases(&["array_resize"]),
    Function::typed(
        "repeat",
        &["repeat(LIST, count) -> LIST"],
        |args, _| resolve_repeat(args),
        "a list several times over",
        "repeat([1, 2], 2) = '[1, 2, 1, 2]'",
    )
    .special_nulls(),
    Function::typed(
        "flatten",
        &["flatten(LIST of LIST) -> LIST"],
        |args, _| resolve_flatten(args),
        "the elements of the lists in a list",
        "flatten([[1, 2], [3, 4]]) = '[1, 2, 3, 4]'",
    )
    .special_nulls(),
];

fn resolve_len(args: &[ArgType], ty: LogicalType) -> Option<Resolved> {
    let (source, dimension) = match args {
        [source] => (source, None),
        [source, dimension] if is_integer(dimension) && ty == BigInt => (source, Some(dimension)),
        _ => return None,
    };
    let inner = source.ty.clone();
    if !matches!(inner, LogicalType::List(_) | LogicalType::Array(..) | LogicalType::Map(_)) {
        return None;
    }
    let mut types = vec![inner.clone()];
    types.extend(dimension.map(|_| BigInt));
    let returns = ty.clone();
    let kernel = kernel(move |args, len, out| {
        if let ([list], Some(element)) = (args, element(&inner)) {
            let (rows, taken) = computed(&[list], len);
            let flat = taken[0].flatten();
            let counts = Buffer::from_vec(lengths(element, &flat));
            let made = Vector::flat(ty.clone(), rows, counts, flat.validity().cloned(), Heap::default());
            return finish(made, rows, len, out);
        }
        each_known(args, &ty, len, out, |args, row, out| {
            if args.int(1, row).is_some_and(|dimension| dimension != 1) {
                return Err(Error::unsupported("array_length of a dimension other than 1"));
            }
            let bytes = args.get(0, row).unwrap_or_default();
            let count = match &inner {
                LogicalType::Map(types) => map_parts(types, bytes).0.len(),
                ty => element(ty).map_or(0, |element| Sequence::new(element, bytes).len()),
            };
            out.push_int(count as i64)
        })
    });
    Some(Resolved { can_fail: dimension.is_some(), ..Resolved::infallible(types, returns, kernel) })
}

/// Lists one after the other; with `strict` NULL if one is.
fn resolve_concat(args: &[ArgType], strict: bool) -> Option<Resolved> {
    let is_list = |arg: &ArgType| element(&arg.ty).is_some();
    if !args.iter().any(is_list) || (strict && args.len() != 2) {
        return None;
    }
    let elements: Option<Vec<ArgType>> =
        args.iter().map(|a| Some(ArgType::of(element_or_null(a)?))).collect();
    let element = meeting_type(&elements?)?;
    let types = args.iter().map(|arg| taken_as(arg, &element)).collect();
    let ty = LogicalType::list(element.clone());
    let returns = ty.clone();
    let kernel = kernel(move |args, len, out| {
        let width = fixed_width(&element);
        each(args, &ty, len, out, |args, row, out| {
            if let Some(width) = width
                && out.try_push_with(|out| {
                    push_runs((0..args.len()).map(|arg| plain_run(args.get(arg, row)?, width)), width, out)
                })?
            {
                return Ok(());
            }
            let lists: Vec<Part<'_>> = (0..args.len()).map(|arg| args.get(arg, row)).collect();
            if (lists.len() == 1 || strict) && lists.contains(&None) {
                return out.push(None);
            }
            out.push_list(&element, &joined(&element, lists.into_iter().flatten())?)
        })
    });
    Some(Resolved::infallible(types, returns, kernel))
}

#[derive(Clone, Copy, PartialEq)]
enum Place {
    Back,
    Front,
    /// The value is the first argument.
    FrontOfSecond,
}

fn resolve_push(list: &ArgType, value: &ArgType, place: Place) -> Option<Resolved> {
    let element = meeting_element(list, value)?;
    let (list_type, ty) = (taken_as(list, &element), LogicalType::list(element.clone()));
    let types = if place == Place::FrontOfSecond {
        vec![element.clone(), list_type]
    } else {
        vec![list_type, element.clone()]
    };
    let returns = ty.clone();
    let kernel = kernel(move |args, len, out| {
        let (list, value) = if place == Place::FrontOfSecond { (1, 0) } else { (0, 1) };
        let width = fixed_width(&element);
        each(args, &ty, len, out, |args, row, out| {
            // A list that is not there has no elements.
            let (own, value) = (args.get(list, row).unwrap_or(EMPTY), args.get(value, row));
            if let Some(width) = width
                && let runs = [plain_run(own, width), value]
                && out.try_push_with(|out| match place {
                    Place::Back => push_runs(runs.into_iter(), width, out),
                    Place::Front | Place::FrontOfSecond => push_runs(runs.into_iter().rev(), width, out),
                })?
            {
                return Ok(());
            }
            let own = Sequence::new(&element, own);
            let at = if place == Place::Back { own.len() } else { 0 };
            let part = |index: usize| match index.cmp(&at) {
                Ordering::Less => own.get(index),
                Ordering::Equal => value,
                Ordering::Greater => own.get(index - 1),
            };
            out.push_with(|out| write::push_sequence(&element, own.len() + 1, part, out))
        })
    });
    Some(Resolved::infallible(types, returns, kernel))
}

/// The list without elements.
const EMPTY: &[u8] = &[0; 4];

/// A list of the same type that `change` makes of the elements.
pub(super) fn resolve_same(
    args: &[ArgType],
    change: fn(&mut Elements<'_>) -> Result<()>,
) -> Option<Resolved> {
    let [list] = args else { return None };
    let element = element(&list.ty)?.clone();
    let ty = LogicalType::list(element.clone());
    let returns = ty.clone();
    let kernel = kernel(move |args, len, out| {
        each_known(args, &ty, len, out, |args, row, out| {
            let mut parts = Elements::of(&Sequence::new(&element, args.get(0, row).unwrap_or_default()))?;
            change(&mut parts)?;
            out.push_list(&element, &parts)
        })
    });
    Some(Resolved::infallible(vec![list.ty.clone()], returns, kernel))
}

fn resolve_reverse(args: &[ArgType]) -> Option<Resolved> {
    let [list] = args else { return None };
    let element = element(&list.ty)?.clone();
    let ty = LogicalType::list(element.clone());
    let returns = ty.clone();
    let kernel = kernel(move |args, len, out| {
        let width = fixed_width(&element);
        each_known(args, &ty, len, out, |args, row, out| {
            let bytes = args.get(0, row).unwrap_or_default();
            if let Some(run) = width.and_then(|width| plain_run(bytes, width)) {
                return out.push_with(|out| push_reversed(run, width.unwrap_or(1), out));
            }
            let list = Sequence::new(&element, bytes);
            let last = list.len().saturating_sub(1);
            out.push_with(|out| {
                write::push_sequence(&element, list.len(), |index| list.get(last - index), out)
            })
        })
    });
    Some(Resolved::infallible(vec![list.ty.clone()], returns, kernel))
}

/// Appends the list of elements of fixed width that lie in `run` from its end to its front.
fn push_reversed(run: &[u8], width: usize, out: &mut Vec<u8>) -> Result<()> {
    fn reversed<const N: usize>(run: &[u8], out: &mut [u8]) {
        let from = run.as_chunks::<N>().0.iter().rev();
        out.as_chunks_mut::<N>().0.iter_mut().zip(from).for_each(|(to, from)| *to = *from);
    }
    limits::grow_at_once(out, run.len())?;
    out.extend_from_slice(&((run.len() / width) as u32).to_le_bytes());
    let start = out.len();
    out.resize(start + run.len(), 0);
    let out = &mut out[start..];
    for part in limits::steps(run.len() / width) {
        let part = part?;
        let from = &run[run.len() - part.end * width..run.len() - part.start * width];
        let out = &mut out[part.start * width..part.end * width];
        if width == 8 {
            reversed::<8>(from, out);
        } else if width == 4 {
            reversed::<4>(from, out);
        } else {
            let from = from.chunks_exact(width).rev();
            out.chunks_exact_mut(width).zip(from).for_each(|(to, from)| to.copy_from_slice(from));
        }
    }
    Ok(())
}

/// Appends a list of `count` elements that `part` gives.
fn push_many<'a>(
    out: &mut Output,
    element: &LogicalType,
    count: usize,
    part: impl Fn(usize) -> Part<'a> + Copy,
) -> Result<()> {
    if i32::try_from(count).is_err() {
        let message = format!("a list of {count} elements has more than the 2,147,483,647 of a list");
        return Err(Error::out_of_range(message));
    }
    // Whatever they are, they are not fewer bytes than this, and each is looked at.
    limits::room(count.saturating_mul(fixed_width(element).unwrap_or(size_of::<u32>())))?;
    out.push_with(|out| write::push_sequence(element, count, part, out))
}

fn resolve_resize(args: &[ArgType]) -> Option<Resolved> {
    let [list, size, filler @ ..] = args else { return None };
    if filler.len() > 1 || !is_integer(size) || element(&list.ty).is_none() {
        return None;
    }
    let element = match filler.first() {
        Some(value) => meeting_element(list, value)?,
        None => element_or_null(list)?,
    };
    let mut types = vec![taken_as(list, &element), BigInt];
    types.extend(filler.iter().map(|_| element.clone()));
    let ty = LogicalType::list(element.clone());
    let returns = ty.clone();
    let kernel = kernel(move |args, len, out| {
        each(args, &ty, len, out, |args: &Args, row, out| {
            let Some(list) = args.get(0, row) else { return out.push(None) };
            let sequence = Sequence::new(&element, list);
            let size = args.int(1, row).unwrap_or(0);
            let size = usize::try_from(size)
                .map_err(|_| Error::invalid_argument(format!("a list cannot have {size} elements")))?;
            let filler = args.get(2, row);
            push_many(out, &element, size, |i| if i < sequence.len() { sequence.get(i) } else { filler })
        })
    });
    Some(Resolved::fallible(types, returns, kernel))
}

fn resolve_repeat(args: &[ArgType]) -> Option<Resolved> {
    let [list, count] = args else { return None };
    let element = element(&list.ty).filter(|_| is_integer(count))?.clone();
    let ty = LogicalType::list(element.clone());
    let returns = ty.clone();
    let kernel = kernel(move |args, len, out| {
        each_known(args, &ty, len, out, |args, row, out| {
            let sequence = Sequence::new(&element, args.get(0, row).unwrap_or_default());
            let count = usize::try_from(args.int(1, row).unwrap_or(0)).unwrap_or(0);
            let total = count.checked_mul(sequence.len());
            let total = total.ok_or_else(|| Error::out_of_range("a list has too many elements"))?;
            push_many(out, &element, total, |index| sequence.get(index % sequence.len()))
        })
    });
    Some(Resolved::fallible(vec![list.ty.clone(), BigInt], returns, kernel))
}

/// The elements of lists, one list behind the other.
fn joined<'a>(element: &LogicalType, lists: impl Iterator<Item = &'a [u8]>) -> Result<Vec<Part<'a>>> {
    let mut parts = Vec::new();
    for list in lists {
        let list = Sequence::new(element, list);
        if parts.capacity() - parts.len() < list.len() {
            // Twice as many, so that many short lists are not moved each time.
            let more = list.len().max(parts.len());
            limits::grow(&mut parts, more)?;
        }
        for part in limits::steps(list.len()) {
            parts.extend(part?.map(|index| list.get(index)));
        }
    }
    Ok(parts)
}

/// Appends the list of the elements in runs of elements of fixed width, if all runs are there; whether it did.
fn push_runs<'a>(runs: impl Iterator<Item = Part<'a>>, width: usize, out: &mut Vec<u8>) -> Result<bool> {
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    let mut count = 0;
    for run in runs {
        let Some(run) = run else { return Ok(false) };
        limits::grow_at_once(out, run.len())?;
        out.extend_from_slice(run);
        count += run.len() / width;
    }
    let Ok(count) = i32::try_from(count) else { return Ok(false) };
    out[start..start + 4].copy_from_slice(&count.to_le_bytes());
    Ok(true)
}

fn resolve_flatten(args: &[ArgType]) -> Option<Resolved> {
    let [list] = args else { return None };
    let inner = element(&list.ty)?.clone();
    let flat = if inner == LogicalType::Null { LogicalType::Null } else { element(&inner)?.clone() };
    let ty = LogicalType::list(flat.clone());
    let returns = ty.clone();
    let kernel = kernel(move |args, len, out| {
        let width = fixed_width(&flat).filter(|_| inner != LogicalType::Null);
        each_known(args, &ty, len, out, |args, row, out| {
            let lists = Sequence::new(&inner, args.get(0, row).unwrap_or_default());
            let known = (0..lists.len()).filter_map(|index| lists.get(index));
            if let Some(width) = width
                && let runs = known.clone().map(|list| plain_run(list, width))
                && out.try_push_with(|out| push_runs(runs, width, out))?
            {
                return Ok(());
            }
            let lists = known.filter(|_| inner != LogicalType::Null);
            out.push_list(&flat, &joined(&flat, lists)?)
        })
    });
    Some(Resolved::infallible(vec![list.ty.clone()], returns, kernel))
}

//! What is in a list: elements looked for, lists as sets, elements chosen by position or by truth.

use super::elements::Elements;
use super::entries::{Count, SHORT, push_entries};
use super::rows::{Args, Output, Part, computed, each, each_known, finish};
use super::{element, element_or_null, meeting_element, meeting_type, taken_as};
use crate::registry::Function;
use inlay_kernels::function::kernel;
use inlay_kernels::resolve::{ArgType, Resolved};
use inlay_types::LogicalType::{BigInt, Boolean, Integer, UBigInt};
use inlay_types::append::push_short;
use inlay_types::limits::{self, Pace};
use inlay_types::logical_type::Field;
use inlay_types::nested::{
    Sequence, compare, find_fixed, fixed_width, pack_lists, pack_struct, plain_run, unpack_lists, write,
};
use inlay_types::{Bitmap, Buffer, Error, Heap, LogicalType, Result, Vector};
use std::collections::HashSet;

/// See the module documentation.
pub(crate) static FUNCTIONS: &[Function] = &[
    Function::typed(
        "list_contains",
        &["list_contains(LIST, any) -> BOOLEAN"],
        |args, _| resolve_contains(args),
        "whether a list has an element",
        "list_contains([1, 2, NULL], 1) = true",
    ).special_nulls()
    .aliases(&["list_has", "array_contains", "array_has", "contains"]),
    Function::typed(
        "list_position",
        &["list_position(LIST, any) -> INTEGER"],
        |args, _| resolve_position(args),
        "the position from 1 of the first such element, NULL if there is none",
        "list_position([1, 2, NULL], 2) = 2",
    ).special_nulls()
    .aliases(&["list_indexof", "array_position", "array_indexof"]),
    Function::typed(
        "list_has_any",
        &["list_has_any(LIST, LIST) -> BOOLEAN"],
        |args, _| resolve_sets(args, has_any),
        "whether two lists have an element in common",
        "list_has_any([1, 2, 3], [2, 3, 4]) = true",
    ).special_nulls()
    .aliases(&["array_has_any", "&&"]),
    Function::typed(
        "list_has_all",
        &["list_has_all(LIST, LIST) -> BOOLEAN"],
        |args, _| resolve_sets(args, has_all),
        "whether a list has all elements of another",
        "list_has_all([4, 6, 5], [4, 6]) = true",
    ).special_nulls()
    .aliases(&["array_has_all", "@>"]),
    Function::typed(
        "<@",
        &["LIST <@ LIST"],
        |args, _| resolve_sets(args, |left, right| has_all(right, left)),
        "whether all elements of a list are in another",
        "[1] <@ [1, 2] = true",
    ).special_nulls(),
    Function::typed(
        "list_distinct",
        &["list_distinct(LIST) -> LIST"],
        |args, _| super::sizes::resolve_same(args, distinct),
        "the elements without NULLs and repetitions, in the order of their first occurrence",
        "list_sort(list_distinct([1, 1, NULL, -3, 1, 5])) = '[-3, 1, 5]'",
    ).special_nulls()
    .aliases(&["array_distinct"]),
    Function::typed(
        "list_unique",
        &["list_unique(LIST) -> UBIGINT"],
        |args, _| resolve_unique(args),
        "number of different elements that are not NULL",
        "list_unique([1, 1, NULL, -3, 1, 5]) = 3",
    ).special_nulls()
    .aliases(&["array_unique"]),
    Function::typed(
        "list_intersect",
        &["list_intersect(LIST, LIST) -> LIST"],
        |args, _| resolve_intersect(args),
        "the different elements that two lists have in common",
        "list_intersect([1, 2, 3], [2, 3, 4]) = '[2, 3]'",
    ).special_nulls()
    .aliases(&["array_intersect"]),
    Function::typed(
        "list_select",
        &["list_select(LIST, LIST of positions) -> LIST"],
        |args, _| resolve_select(args),
        "the elements at the positions given",
        "list_select([10, 20, 30, 40], [1, 4]) = '[10, 40]'",
    ).special_nulls()
    .aliases(&["array_select"]),
    Function::typed(
        "list_where",
        &["list_where(LIST, LIST of BOOLEAN) -> LIST"],
        |args, _| resolve_where(args),
        "the elements at whose positions another list is true",
        "list_where([10, 20, 30, 40], [true, false, false, true]) = '[10, 40]'",
    ).special_nulls()
    .aliases(&["array_where"]),
    Function::typed(
        "list_zip",
        &["list_zip(LIST, ...) -> LIST of STRUCT", "list_zip(LIST, ..., BOOLEAN) -> LIST of STRUCT"],
        |args, _| resolve_zip(args),
        "rows of the elements at the same position, as many as the longest list has, or the shortest if the last argument is true",
        "list_zip([1, 2], [3, 4], [5, 6]) = '[(1, 3, 5), (2, 4, 6)]'",
    ).special_nulls()
    .aliases(&["array_zip"]),
];

/// The list and the value in the types in which they meet.
fn list_and_value(args: &[ArgType]) -> Option<(LogicalType, Vec<LogicalType>)> {
    let [list, value] = args else { return None };
    let element = meeting_element(list, value)?;
    let types = vec![taken_as(list, &element), element.clone()];
    Some((element, types))
}

fn resolve_contains(args: &[ArgType]) -> Option<Resolved> {
    if let [map, key] = args
        && let LogicalType::Map(_) = &map.ty
    {
        return super::map_parts::resolve_contains_key(map, key);
    }
    let (element, types) = list_and_value(args)?;
    let kernel = kernel(move |args, len, out| {
        if fixed_width(&element).is_some() {
            return contains_fixed(&element, args, len, out);
        }
        each_known(args, &Boolean, len, out, |args, row, out| {
            let list = Sequence::new(&element, args.get(0, row).unwrap_or_default());
            let value = args.get(1, row);
            out.push_bool(position(&list, value)?.is_some())
        })
    });
    Some(Resolved::infallible(types, Boolean, kernel))
}

/// `list_contains` of elements of fixed width, by their bytes.
fn contains_fixed(element: &LogicalType, args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    let (rows, taken) = computed(args, len);
    let wanted = Args::of(args);
    let mut hits = vec![0u8; rows];
    find_fixed(element, &taken[0], |row| wanted.get(1, row), |row, hit| hits[row] = u8::from(hit.is_some()));
    let is_null = |row: usize| taken[0].is_null(row) || wanted.get(1, row).is_none();
    let has_nulls = taken.iter().any(|arg| arg.is_constant_null() || arg.validity().is_some());
    let validity = has_nulls.then(|| Bitmap::from_fn(rows, |row| !is_null(row)));
    finish(Vector::flat(Boolean, rows, Buffer::from_vec(hits), validity, Heap::default()), rows, len, out)
}

fn resolve_position(args: &[ArgType]) -> Option<Resolved> {
    let (element, types) = list_and_value(args)?;
    let kernel = kernel(move |args: &[&Vector], len: usize, out: &mut Vector| {
        // NULL is looked for like a value.
        let wants_null = args[1].is_constant_null() || args[1].validity().is_some();
        if fixed_width(&element).is_some() && !wants_null {
            return position_fixed(&element, args, len, out);
        }
        each(args, &Integer, len, out, |args, row, out| {
            let Some(list) = args.get(0, row) else { return out.push(None) };
            let (list, value) = (Sequence::new(&element, list), args.get(1, row));
            match position(&list, value)? {
                Some(index) => out.push(Some(&(index as i32 + 1).to_le_bytes())),
                None => out.push(None),
            }
        })
    });
    Some(Resolved::infallible(types, Integer, kernel))
}

/// `list_position` of elements of fixed width, by their bytes.
fn position_fixed(element: &LogicalType, args: &[&Vector], len: usize, out: &mut Vector) -> Result<()> {
    let (rows, taken) = computed(args, len);
    let wanted = Args::of(args);
    let (mut places, mut validity) = (vec![0i32; rows], Bitmap::filled(rows, true));
    let found = |row: usize, place: Option<usize>| match place {
        Some(place) => places[row] = place as i32 + 1,
        None => validity.set(row, false),
    };
    find_fixed(element, &taken[0], |row| wanted.get(1, row), found);
    let validity = (!validity.all()).then_some(validity);
    let made = Vector::flat(Integer, rows, Buffer::from_vec(places), validity, Heap::default());
    finish(made, rows, len, out)
}

/// Where the first such element is.
fn position(list: &Sequence<'_>, value: Part<'_>) -> Result<Option<usize>> {
    for part in limits::steps(list.len()) {
        let found = part?.find(|&index| list.get(index) == value);
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

/// Two lists whose elements meet.
fn two_lists(args: &[ArgType]) -> Option<(LogicalType, Vec<LogicalType>)> {
    let [left, right] = args else { return None };
    element(&left.ty).or(element(&right.ty))?;
    let elements = [ArgType::of(element_or_null(left)?), ArgType::of(element_or_null(right)?)];
    let element = meeting_type(&elements)?;
    let types = vec![taken_as(left, &element), taken_as(right, &element)];
    Some((element, types))
}

type SetTest = fn(&[Part<'_>], &[Part<'_>]) -> Result<bool>;

/// Elements that are looked through one by one.
const FEW: usize = 8;

/// The different elements of a list that are not NULL.
enum Known<'a> {
    Few(Vec<&'a [u8]>),
    Many(HashSet<&'a [u8]>),
}

impl<'a> Known<'a> {
    fn of(parts: &[Part<'a>]) -> Result<Self> {
        if parts.len() <= FEW {
            return Ok(Self::Few(parts.iter().copied().flatten().collect()));
        }
        let mut set = room_for(parts.len())?;
        for part in limits::steps(parts.len()) {
            set.extend(parts[part?].iter().copied().flatten());
        }
        Ok(Self::Many(set))
    }

    fn contains(&self, part: &[u8]) -> bool {
        match self {
            Self::Few(parts) => parts.contains(&part),
            Self::Many(parts) => parts.contains(part),
        }
    }
}

/// An empty set with room for so many elements.
fn room_for<'a>(count: usize) -> Result<HashSet<&'a [u8]>> {
    limits::need(count.saturating_mul(2 * (size_of::<&[u8]>() + 1)))?;
    Ok(HashSet::with_capacity(count))
}

/// Whether this holds of an element that is not NULL.
fn any(parts: &[Part<'_>], holds: impl Fn(&[u8]) -> bool) -> Result<bool> {
    for part in limits::steps(parts.len()) {
        if parts[part?].iter().flatten().any(|bytes| holds(bytes)) {
            return Ok(true);
        }
    }
    Ok(false)
}

fn has_any(left: &[Part<'_>], right: &[Part<'_>]) -> Result<bool> {
    let known = Known::of(right)?;
    any(left, |bytes| known.contains(bytes))
}

/// NULLs on the right are no elements.
fn has_all(left: &[Part<'_>], right: &[Part<'_>]) -> Result<bool> {
    let known = Known::of(left)?;
    Ok(!any(right, |bytes| !known.contains(bytes))?)
}

fn resolve_sets(args: &[ArgType], test: SetTest) -> Option<Resolved> {
    let (element, types) = two_lists(args)?;
    let kernel = kernel(move |args, len, out| {
        each_known(args, &Boolean, len, out, |args, row, out| {
            let list =
                |arg: usize| Elements::of(&Sequence::new(&element, args.get(arg, row).unwrap_or_default()));
            out.push_bool(test(&list(0)?, &list(1)?)?)
        })
    });
    Some(Resolved::infallible(types, Boolean, kernel))
}

/// Leaves the first of each of the elements that are not NULL.
fn distinct(parts: &mut Elements<'_>) -> Result<()> {
    if parts.len() <= FEW {
        let mut kept = 0;
        for index in 0..parts.len() {
            let part = parts[index];
            if part.is_some() && !parts[..kept].contains(&part) {
                parts[kept] = part;
                kept += 1;
            }
        }
        parts.truncate(kept);
        return Ok(());
    }
    let mut seen = room_for(parts.len())?;
    retain(parts, |bytes| seen.insert(bytes))
}

/// Leaves the elements of which this holds.
fn retain<'a>(parts: &mut Elements<'a>, mut holds: impl FnMut(&'a [u8]) -> bool) -> Result<()> {
    let mut kept = 0;
    for part in limits::steps(parts.len()) {
        for index in part? {
            if parts[index].is_some_and(&mut holds) {
                parts[kept] = parts[index];
                kept += 1;
            }
        }
    }
    parts.truncate(kept);
    Ok(())
}

fn resolve_unique(args: &[ArgType]) -> Option<Resolved> {
    let [list] = args else { return None };
    let element = element(&list.ty)?.clone();
    let kernel = kernel(move |args, len, out| {
        each_known(args, &UBigInt, len, out, |args, row, out| {
            let mut parts = Elements::of(&Sequence::new(&element, args.get(0, row).unwrap_or_default()))?;
            distinct(&mut parts)?;
            out.push_int(parts.len() as i64)
        })
    });
    Some(Resolved::infallible(vec![list.ty.clone()], UBigInt, kernel))
}

fn resolve_intersect(args: &[ArgType]) -> Option<Resolved> {
    let (element, types) = two_lists(args)?;
    let ty = LogicalType::list(element.clone());
    let returns = ty.clone();
    let kernel = kernel(move |args, len, out| {
        each(args, &ty, len, out, |args, row, out| {
            if args.get(0, row).is_none() {
                return out.push(None);
            }
            // Nothing is in a list that is not there.
            let list =
                |arg: usize| Elements::of(&Sequence::new(&element, args.get(arg, row).unwrap_or_default()));
            let (mut left, right) = (list(0)?, list(1)?);
            let known = Known::of(&right)?;
            distinct(&mut left)?;
            retain(&mut left, |bytes| known.contains(bytes))?;
            left.sort_by(|a, b| compare(&element, a.unwrap_or_default(), b.unwrap_or_default()))?;
            out.push_list(&element, &left)
        })
    });
    Some(Resolved::infallible(types, returns, kernel))
}

fn no_null() -> Error {
    Error::invalid_argument("what is chosen from a list is NULL")
}

fn select<'a>(parts: &[Part<'a>], chosen: &[Part<'_>]) -> Result<Vec<Part<'a>>> {
    let mut pace = Pace::new();
    let one = |position: &Part<'_>| {
        pace.step()?;
        let position = super::rows::int(position.ok_or_else(no_null)?);
        let index = if position < 0 { position + parts.len() as i64 } else { position - 1 };
        Ok(usize::try_from(index).ok().filter(|_| position != 0).and_then(|index| *parts.get(index)?))
    };
    chosen.iter().map(one).collect()
}

/// The types of a list and of what is chosen from it: numbers, or truth values.
fn chosen_types(args: &[ArgType], choice: &LogicalType) -> Option<(LogicalType, Vec<LogicalType>)> {
    let [list, chosen] = args else { return None };
    let element = element(&list.ty)?.clone();
    let given = element_or_null(chosen)?;
    if given != LogicalType::Null && given != *choice && !(given.is_integer() && *choice == BigInt) {
        return None;
    }
    Some((element, vec![list.ty.clone(), taken_as(chosen, choice)]))
}

fn resolve_select(args: &[ArgType]) -> Option<Resolved> {
    let (element, types) = chosen_types(args, &BigInt)?;
    let ty = LogicalType::list(element.clone());
    let returns = ty.clone();
    let kernel = kernel(move |args, len, out| {
        each_known(args, &ty, len, out, |args, row, out| {
            let parts = Elements::of(&Sequence::new(&element, args.get(0, row).unwrap_or_default()))?;
            let chosen = Elements::of(&Sequence::new(&BigInt, args.get(1, row).unwrap_or_default()))?;
            out.push_list(&element, &select(&parts, &chosen)?)
        })
    });
    Some(Resolved::fallible(types, returns, kernel))
}

fn resolve_where(args: &[ArgType]) -> Option<Resolved> {
    let (element, types) = chosen_types(args, &Boolean)?;
    let ty = LogicalType::list(element.clone());
    let returns = ty.clone();
    let kernel = kernel(move |args, len, out| {
        let mut kept: Vec<u32> = Vec::new();
        let width = fixed_width(&element);
        each_known(args, &ty, len, out, |args, row, out| {
            let (list, flags) = (args.get(0, row).unwrap_or_default(), args.get(1, row).unwrap_or_default());
            if let Some(width) = width
                && out.try_push_with(|out| Ok(push_marked(list, flags, width, out).is_some()))?
            {
                return Ok(());
            }
            let (list, flags) = (Sequence::new(&element, list), Sequence::new(&Boolean, flags));
            kept.clear();
            limits::grow(&mut kept, flags.len())?;
            let mut pace = Pace::new();
            for index in 0..flags.len() {
                pace.step()?;
                if flags.get(index).ok_or_else(no_null)? == [1] {
                    kept.push(index as u32);
                }
            }
            let part = |index: usize| {
                let place = kept[index] as usize;
                if place < list.len() { list.get(place) } else { None }
            };
            out.push_with(|out| write::push_sequence(&element, kept.len(), part, out))
        })
    });
    Some(Resolved::fallible(types, returns, kernel))
}

/// Appends the list of the elements of a short list, of fixed width, that are marked. `None`: some of both are NULL, or a mark is
/// behind the end.
#[inline]
fn push_marked(list: &[u8], flags: &[u8], width: usize, out: &mut Vec<u8>) -> Option<()> {
    let (run, flags) = (plain_run(list, width)?, plain_run(flags, 1)?);
    let flags = &flags[..flags.iter().rposition(|flag| *flag == 1).map_or(0, |last| last + 1)];
    if flags.len() > FEW_MARKS || flags.len() * width > run.len() {
        return None;
    }
    let count = flags.iter().filter(|flag| **flag == 1).count();
    out.extend_from_slice(&(count as u32).to_le_bytes());
    for (index, flag) in flags.iter().enumerate() {
        if *flag == 1 {
            push_short(out, &run[index * width..(index + 1) * width]);
        }
    }
    Some(())
}

/// Marks of lists that are read without a look at the interrupt.
const FEW_MARKS: usize = 1 << 12;

fn resolve_zip(args: &[ArgType]) -> Option<Resolved> {
    let (lists, flag) = match args {
        [lists @ .., flag] if flag.ty == Boolean => (lists, Some(flag)),
        lists => (lists, None),
    };
    let elements: Vec<LogicalType> = lists.iter().map(element_or_null).collect::<Option<_>>()?;
    if elements.is_empty() {
        return None;
    }
    let mut types: Vec<LogicalType> =
        lists.iter().zip(&elements).map(|(list, e)| taken_as(list, e)).collect();
    types.extend(flag.map(|_| Boolean));
    let fields: Vec<Field> = elements.iter().map(|ty| Field::new("", ty.clone())).collect();
    let entry = LogicalType::Struct(fields.into());
    let ty = LogicalType::list(entry.clone());
    ty.check_depth().ok()?;
    let returns = ty.clone();
    let kernel = kernel(move |args: &[&Vector], len: usize, out: &mut Vector| {
        let (rows, taken) = computed(args, len);
        let (lists, flag) = taken.split_at(elements.len());
        if let Some(made) = zipped_shortly(lists, &elements, flag.first(), &ty, rows)? {
            return finish(made, rows, len, out);
        }
        finish(zipped(lists, flag.first(), &entry, &ty, rows)?, rows, len, out)
    });
    Some(Resolved::infallible(types, returns, kernel))
}

/// Zipped lists, two or three in each row that are not long.
fn zipped_shortly(
    lists: &[Vector],
    elements: &[LogicalType],
    cuts: Option<&Vector>,
    ty: &LogicalType,
    rows: usize,
) -> Result<Option<Vector>> {
    if let ([a, b], [of_a, of_b]) = (lists, elements) {
        return zipped_few([a, b], [of_a, of_b], cuts, ty, rows);
    }
    if let ([a, b, c], [of_a, of_b, of_c]) = (lists, elements) {
        return zipped_few([a, b, c], [of_a, of_b, of_c], cuts, ty, rows);
    }
    Ok(None)
}

fn zipped_few<const N: usize>(
    lists: [&Vector; N],
    elements: [&LogicalType; N],
    cuts: Option<&Vector>,
    ty: &LogicalType,
    rows: usize,
) -> Result<Option<Vector>> {
    let lists = lists.map(Vector::flatten);
    let are_short = |list: &Vector| list.views()[..rows].iter().all(|view| view.len() <= SHORT / N);
    if !lists.iter().all(are_short) {
        return Ok(None);
    }
    let (widths, cuts) = (elements.map(fixed_width), cuts.map(Vector::flatten));
    let mut output = Output::of_rows(ty, rows);
    for row in 0..rows {
        // A list that is NULL has no elements, and no bytes.
        let mut parts: [&[u8]; N] = [&[]; N];
        for (part, list) in parts.iter_mut().zip(&lists) {
            *part = list.views()[row].bytes(list.heap().buffers());
        }
        let is_cut = cuts.as_ref().is_some_and(|cuts| !cuts.is_null(row) && cuts.values::<u8>()[row] == 1);
        let count = if is_cut { Count::Shortest } else { Count::Longest };
        if !output.try_push_with(|out| Ok(push_entries(widths, parts, count, out).is_some()))? {
            return Ok(None);
        }
    }
    Ok(Some(output.finish()))
}

/// Lists of the rows that the elements at the same positions make.
fn zipped(
    lists: &[Vector],
    cuts: Option<&Vector>,
    entry: &LogicalType,
    ty: &LogicalType,
    rows: usize,
) -> Result<Vector> {
    let flat: Vec<Vector> = lists.iter().map(Vector::flatten).collect();
    let parts = flat.iter().map(unpack_lists).collect::<Result<Vec<_>>>()?;
    let size_of = |offsets: &[u32], row: usize| offsets[row + 1] - offsets[row];
    let flags = cuts.map(Vector::flatten);
    let cuts = |row: usize| {
        flags.as_ref().is_some_and(|flags| !flags.is_null(row) && flags.values::<u8>()[row] == 1)
    };
    let mut ends = Vec::with_capacity(rows + 1);
    ends.push(0u32);
    for row in 0..rows {
        let sizes = parts.iter().map(|(_, offsets)| size_of(offsets, row));
        let size = if cuts(row) { sizes.min() } else { sizes.max() }.unwrap_or(0);
        let end = ends[row].checked_add(size);
        ends.push(end.ok_or_else(|| Error::out_of_range("lists of more than 4 billion rows at a time"))?);
    }
    let total = ends[rows] as usize;
    let columns = parts
        .iter()
        .map(
            |(child, offsets)| {
                if *offsets == ends { Ok(child.clone()) } else { padded(child, offsets, &ends) }
            },
        )
        .collect::<Result<Vec<Vector>>>()?;
    let structs = pack_struct(entry, &columns.iter().collect::<Vec<_>>(), total, None)?;
    pack_lists(ty, &structs, &ends, None)
}

/// Elements of lists that end at `offsets`, of each as many as `ends` says: NULLs behind the last one.
fn padded(child: &Vector, offsets: &[u32], ends: &[u32]) -> Result<Vector> {
    let total = ends.last().map_or(0, |end| *end as usize);
    if child.is_empty() {
        return Ok(Vector::nulls(child.logical_type(), total));
    }
    let mut places: Vec<u32> = Vec::new();
    limits::grow(&mut places, total)?;
    let mut words = vec![u64::MAX; total.div_ceil(64)];
    for (own, wanted) in offsets.windows(2).zip(ends.windows(2)) {
        let (size, count) = (wanted[1] - wanted[0], (own[1] - own[0]).min(wanted[1] - wanted[0]));
        places.extend(own[0]..own[0] + count);
        for place in count..size {
            places.push(0);
            let place = (wanted[0] + place) as usize;
            words[place / 64] &= !(1 << (place % 64));
        }
    }
    let validity = Bitmap::from_words(words, total);
    let mut column = child.take(&places);
    column.set_validity(Some(match column.validity() {
        Some(own) => own.and(&validity),
        None => validity,
    }));
    Ok(column)
}

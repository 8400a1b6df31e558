//! `x[a:b:s]`: parts of lists, texts and blobs.
//!
//! Bounds count from 1, or from -1 at the end, and both belong to the part. A bound that is an empty list of no type is
//! absent (`x[:3]`), as in DuckDB; a NULL bound makes the part NULL. A step below zero goes from the first bound down to the
//! second.

use super::rows::{Args, Output, computed, each, finish, int};
use super::{element, is_integer};
use crate::registry::Function;
use inlay_kernels::function::kernel;
use inlay_kernels::resolve::{ArgType, ResolveOptions, Resolved};
use inlay_types::LogicalType::{BigInt, Blob, Varchar};
use inlay_types::limits;
use inlay_types::nested::{Parts, Sequence, fixed_width, plain_run};
use inlay_types::{Error, LogicalType, Result, Vector};

/// See the module documentation.
pub(crate) static FUNCTIONS: &[Function] = &[Function::typed(
    "list_slice",
    &[
        "list_slice(LIST, first, last) -> LIST",
        "list_slice(LIST, first, last, step) -> LIST",
        "list_slice(VARCHAR, first, last) -> VARCHAR",
        "list_slice(BLOB, first, last) -> BLOB",
    ],
    resolve,
    "the elements from one position to another, both included",
    "list_slice([4, 5, 6], 2, 3) = '[5, 6]'",
)
.special_nulls()
.aliases(&["array_slice"])];

/// An empty list of no type stands for a bound that is not there.
fn is_absent(arg: &ArgType) -> bool {
    element(&arg.ty) == Some(&LogicalType::Null)
}

fn resolve(args: &[ArgType], _: &ResolveOptions) -> Option<Resolved> {
    let [source, bounds @ ..] = args else { return None };
    if !(2..=3).contains(&bounds.len()) || !bounds.iter().all(|b| is_absent(b) || is_integer(b)) {
        return None;
    }
    let absent: Vec<bool> = bounds.iter().map(is_absent).collect();
    let taken = |bound: &ArgType| if is_absent(bound) { bound.ty.clone() } else { BigInt };
    let bound_types = bounds.iter().map(taken);
    let (ty, element) = match (&source.ty, bounds.len()) {
        (LogicalType::List(element) | LogicalType::Array(element, _), _) => {
            (LogicalType::list((**element).clone()), Some((**element).clone()))
        }
        (LogicalType::Varchar | LogicalType::Null, 2) => (Varchar, None),
        (LogicalType::Blob, 2) => (Blob, None),
        _ => return None,
    };
    let source_type = if element.is_some() { source.ty.clone() } else { ty.clone() };
    let types = std::iter::once(source_type).chain(bound_types).collect();
    let returns = ty.clone();
    let width = element.as_ref().and_then(fixed_width);
    let kernel = kernel(move |args, len, out| {
        if let Some(width) = width
            && let Some(bounds) = constant_bounds(&args[1..], &absent)
        {
            let (rows, taken) = computed(&args[..1], len);
            if let Some(made) = slice_runs(&ty, &taken[0].flatten(), width, bounds)? {
                return finish(made, rows, len, out);
            }
        }
        each(args, &ty, len, out, |args, row, out| {
            let bound = |index: usize| Bound::of(args, row, index, &absent);
            let (Some(source), Some(first), Some(last), Some(step)) =
                (args.get(0, row), bound(0), bound(1), bound(2))
            else {
                return out.push(None);
            };
            match &element {
                Some(element) => {
                    let source = Sequence::new(element, source);
                    let mut places = places(first, last, step, source.len())?;
                    if let (Bound::Absent | Bound::At(1), Some(run), true) =
                        (step, source.fixed(), source.has_no_nulls())
                    {
                        let width = run.len() / source.len().max(1);
                        let count = places.size_hint().0;
                        let from = places.next().unwrap_or(0);
                        return out.push_with(|out| {
                            limits::grow_at_once(out, size_of::<u32>() + count * width)?;
                            out.extend_from_slice(&(count as u32).to_le_bytes());
                            out.extend_from_slice(&run[from * width..(from + count) * width]);
                            Ok(())
                        });
                    }
                    let mut parts = Vec::new();
                    limits::grow(&mut parts, places.size_hint().0)?;
                    parts.extend(places.map(|index| source.get(index)));
                    out.push_list(element, &parts)
                }
                None if ty == Blob => {
                    let mut places = places(first, last, Bound::Absent, source.len())?;
                    let from = places.next();
                    let part = from.map(|from| &source[from..places.last().unwrap_or(from) + 1]);
                    out.push(Some(part.unwrap_or_default()))
                }
                None => out.push(Some(slice_text(source, first, last)?)),
            }
        })
    });
    Some(Resolved::fallible(types, returns, kernel))
}

/// The bounds of a slice without a step that are the same in all rows.
fn constant_bounds(bounds: &[&Vector], absent: &[bool]) -> Option<[Bound; 2]> {
    let [first, last] = bounds else { return None };
    let one = |bound: &Vector, is_absent: bool| match is_absent {
        true => Some(Bound::Absent),
        false if bound.is_constant() => Parts::steady(bound).get(0).map(int).map(Bound::At),
        false => None,
    };
    Some([one(first, absent[0])?, one(last, absent[1])?])
}

/// Parts of flat lists of elements of `width` bytes; `None`: some list has NULLs.
fn slice_runs(ty: &LogicalType, lists: &Vector, width: usize, bounds: [Bound; 2]) -> Result<Option<Vector>> {
    let (heap, mut out) = (lists.heap().buffers(), Output::new(ty));
    for (row, view) in lists.views()[..lists.len()].iter().enumerate() {
        if lists.is_null(row) {
            out.push(None)?;
            continue;
        }
        let Some(run) = plain_run(view.bytes(heap), width) else { return Ok(None) };
        let count = (run.len() / width) as i64;
        let [low, high] = ends(bounds[0], bounds[1], count);
        let part = if high < low { &[] } else { &run[(low as usize - 1) * width..high as usize * width] };
        out.push_with(|out| {
            limits::grow_at_once(out, size_of::<u32>() + part.len())?;
            out.extend_from_slice(&((part.len() / width) as u32).to_le_bytes());
            out.extend_from_slice(part);
            Ok(())
        })?;
    }
    Ok(Some(out.finish()))
}

/// The first and the last position from 1 of a part that goes forwards; the last one is before the first if there is nothing.
fn ends(first: Bound, last: Bound, count: i64) -> [i64; 2] {
    let at = |bound: Bound, absent: i64| match bound {
        Bound::Absent => absent,
        Bound::At(at) => from_front(at, count as usize),
    };
    [at(first, 1).max(1), at(last, count).min(count)]
}

#[derive(Clone, Copy)]
enum Bound {
    Absent,
    At(i64),
}

impl Bound {
    /// Bound `index` in a row; `None` when it is NULL.
    fn of(args: &Args, row: usize, index: usize, absent: &[bool]) -> Option<Self> {
        match absent.get(index) {
            None | Some(true) => Some(Self::Absent),
            Some(false) => args.int(index + 1, row).map(Self::At),
        }
    }
}

/// From a position from 1, or from -1 at the end, to one from 1: 0 or less in front of the first element.
fn from_front(at: i64, count: usize) -> i64 {
    if at < 0 { at.saturating_add(count as i64 + 1) } else { at }
}

/// The indexes from 0 of a part, in order.
fn places(first: Bound, last: Bound, step: Bound, count: usize) -> Result<impl Iterator<Item = usize>> {
    let end = count as i64;
    let step = if let Bound::At(step) = step { step } else { 1 };
    if step == 0 {
        return Err(Error::invalid_argument("the step of a slice is zero"));
    }
    let bound = |bound: Bound, absent: i64| match bound {
        Bound::Absent => absent,
        Bound::At(at) => from_front(at, count),
    };
    let (low, high, width) = if step > 0 {
        (bound(first, 1).max(1), bound(last, end).min(end), step)
    } else {
        (bound(last, 1).max(1), bound(first, end).min(end), step.checked_neg().unwrap_or(i64::MAX))
    };
    let size = if high < low { 0 } else { (high - low) / width + 1 };
    Ok((0..size).map(move |index| {
        let from_low = index * width;
        (if step > 0 { low - 1 + from_low } else { high - 1 - from_low }) as usize
    }))
}

fn slice_text(bytes: &[u8], first: Bound, last: Bound) -> Result<&[u8]> {
    let text = super::rows::text(bytes);
    let count = text.chars().count();
    let mut places = places(first, last, Bound::Absent, count)?;
    let Some(from) = places.next() else { return Ok(&[]) };
    let to = places.last().unwrap_or(from) + 1;
    let at = |index: usize| text.char_indices().nth(index).map_or(text.len(), |(at, _)| at);
    Ok(&bytes[at(from)..at(to)])
}

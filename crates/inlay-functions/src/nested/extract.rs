//! `x[i]`: one element of a list, a character of a text, a field of a struct, a value of a map.

use super::rows::{Args, computed, finish};
use super::{element, explained, is_integer, maps, structs};
use crate::columns::{Column, slice_text};
use crate::registry::Function;
use inlay_kernels::function::kernel;
use inlay_kernels::resolve::{ArgType, ResolveOptions, Resolved};
use inlay_types::LogicalType::{BigInt, Varchar};
use inlay_types::nested::extract_elements;
use inlay_types::{LogicalType, Result, Vector};

/// See the module documentation.
pub(crate) static FUNCTIONS: &[Function] = &[explained(
    "list_extract",
    &[
        "list_extract(LIST, BIGINT) -> any",
        "list_extract(VARCHAR, BIGINT) -> VARCHAR",
        "list_extract(STRUCT, name) -> any",
        "list_extract(MAP, key) -> any",
    ],
    resolve,
    "the element at a position from 1, or from -1 at the end; NULL if there is none",
    "list_extract([4, 5, 6], -1) = 6",
)
.aliases(&["list_element", "array_extract"])];

fn resolve(args: &[ArgType], options: &ResolveOptions) -> Result<Option<Resolved>> {
    let [source, index] = args else { return Ok(None) };
    match &source.ty {
        LogicalType::Struct(_) => return structs::resolve_extract(args, options),
        LogicalType::Map(_) => return Ok(maps::resolve_extract_value(args)),
        _ if !is_integer(index) => return Ok(None),
        LogicalType::List(_) | LogicalType::Array(..) => {}
        LogicalType::Varchar | LogicalType::Null => return Ok(Some(character())),
        _ => return Ok(None),
    }
    let Some(element) = element(&source.ty).cloned() else { return Ok(None) };
    let kernel = kernel(|args, len, out| {
        let (rows, taken) = computed(args, len);
        let parts = Args::of(args);
        let found = if args[1].is_constant() && len > 0 {
            let index = parts.int(1, 0);
            extract_elements(&taken[0], |_, count| place(index?, count))?
        } else {
            extract_elements(&taken[0], |row, count| place(parts.int(1, row)?, count))?
        };
        finish(found, rows, len, out)
    });
    Ok(Some(Resolved::infallible(vec![source.ty.clone(), BigInt], element, kernel)))
}

/// Where the element at a position from 1, or from -1 at the end, lies.
fn place(index: i64, count: usize) -> Option<usize> {
    let place = if index > 0 { index - 1 } else { index.checked_add(count as i64)? };
    let place = usize::try_from(place).ok()?;
    (index != 0 && place < count).then_some(place)
}

/// A character of a text, the empty text behind its ends.
fn character() -> Resolved {
    let kernel = kernel(|args: &[&Vector], len, out: &mut Vector| {
        let indexes = Column::<i64>::of(args[1]);
        slice_text(args, len, out, |row, bytes| {
            let index = indexes.get(row);
            // Most texts are ASCII: looking at the part up to the character is enough.
            if let Some(place) = usize::try_from(index).ok().and_then(|index| index.checked_sub(1))
                && let Some(part) = bytes.get(..=place)
                && part.is_ascii()
            {
                return (place, place + 1);
            }
            let text = std::str::from_utf8(bytes).unwrap_or_default();
            let found = if index > 0 {
                text.char_indices().nth(usize::try_from(index - 1).unwrap_or(usize::MAX))
            } else {
                let back = usize::try_from(index.unsigned_abs()).unwrap_or(usize::MAX);
                back.checked_sub(1).and_then(|back| text.char_indices().rev().nth(back))
            };
            found.map_or((0, 0), |(at, c)| (at, at + c.len_utf8()))
        })
    });
    Resolved::infallible(vec![Varchar, BigInt], Varchar, kernel)
}

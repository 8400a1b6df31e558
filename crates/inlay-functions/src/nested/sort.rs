//! Lists in order.

use super::element;
use super::elements::{Elements, FEW};
use super::rows::{Args, Part, each};
use crate::registry::Function;
use inlay_kernels::function::kernel;
use inlay_kernels::resolve::{ArgType, Resolved};
use inlay_types::LogicalType::{BigInt, Varchar};
use inlay_types::nested::{Sequence, compare, write};
use inlay_types::sorting::sort_by;
use inlay_types::{Error, LogicalType, Result, limits};
use std::cmp::Ordering;

/// See the module documentation.
pub(crate) static FUNCTIONS: &[Function] = &[
    Function::typed(
        "list_sort",
        &[
            "list_sort(LIST) -> LIST",
            "list_sort(LIST, order) -> LIST",
            "list_sort(LIST, order, null order) -> LIST",
        ],
        |args, _| resolve(args, false, false),
        "a list in order: 'ASC' or 'DESC', then 'NULLS FIRST' or 'NULLS LAST'",
        "list_sort([3, 6, 1, 2], 'DESC') = '[6, 3, 2, 1]'",
    )
    .special_nulls()
    .aliases(&["array_sort"]),
    Function::typed(
        "list_reverse_sort",
        &["list_reverse_sort(LIST) -> LIST", "list_reverse_sort(LIST, null order) -> LIST"],
        |args, _| resolve(args, true, false),
        "a list in descending order",
        "list_reverse_sort([3, 6, 1, 2]) = '[6, 3, 2, 1]'",
    )
    .special_nulls()
    .aliases(&["array_reverse_sort"]),
    Function::typed(
        "list_grade_up",
        &[
            "list_grade_up(LIST) -> BIGINT[]",
            "list_grade_up(LIST, order) -> BIGINT[]",
            "list_grade_up(LIST, order, null order) -> BIGINT[]",
        ],
        |args, _| resolve(args, false, true),
        "the positions of the elements in order",
        "list_grade_up([30, 10, 40, 20]) = '[2, 4, 1, 3]'",
    )
    .special_nulls()
    .aliases(&["array_grade_up", "grade_up"]),
];

fn resolve(args: &[ArgType], reverse: bool, grades: bool) -> Option<Resolved> {
    let [list, options @ ..] = args else { return None };
    let element = element(&list.ty)?.clone();
    let most = if reverse { 1 } else { 2 };
    let is_option = |arg: &ArgType| matches!(arg.ty, Varchar | LogicalType::Null);
    if options.len() > most || !options.iter().all(is_option) {
        return None;
    }
    let ty = LogicalType::list(if grades { BigInt } else { element.clone() });
    let mut types = vec![list.ty.clone()];
    types.extend(options.iter().map(|_| Varchar));
    let (returns, can_fail) = (ty.clone(), !options.is_empty());
    let kernel = kernel(move |args, len, out| {
        each(args, &ty, len, out, |args, row, out| {
            let Some(list) = args.get(0, row) else { return out.push(None) };
            let Some(how) = Order::of(args, row, reverse)? else { return out.push(None) };
            let mut parts = Elements::of(&Sequence::new(&element, list))?;
            if !grades {
                parts.sort_by(|a, b| how.compare(&element, a, b))?;
                return out.push_list(&element, &parts);
            }
            if parts.len() <= FEW {
                let mut order: [usize; FEW] = std::array::from_fn(|place| place);
                let order = &mut order[..parts.len()];
                order.sort_by(|&a, &b| how.compare(&element, parts[a], parts[b]));
                return out.push_with(|out| {
                    out.extend_from_slice(&(order.len() as u32).to_le_bytes());
                    order.iter().for_each(|place| out.extend_from_slice(&(*place as i64 + 1).to_le_bytes()));
                    Ok(())
                });
            }
            let mut rows: Vec<u32> = Vec::new();
            limits::grow(&mut rows, parts.len())?;
            rows.extend(0..parts.len() as u32);
            sort_by(&mut rows, |&a, &b| how.compare(&element, parts[a as usize], parts[b as usize]))?;
            let mut places: Vec<[u8; 8]> = Vec::new();
            limits::grow(&mut places, rows.len())?;
            places.extend(rows.iter().map(|&row| (i64::from(row) + 1).to_le_bytes()));
            out.push_with(|out| {
                write::push_sequence(&BigInt, places.len(), |index| Some(&places[index][..]), out)
            })
        })
    });
    Some(Resolved { can_fail, ..Resolved::infallible(types, returns, kernel) })
}

#[derive(Clone, Copy)]
struct Order {
    descends: bool,
    nulls_first: bool,
}

impl Order {
    /// As the arguments behind the list say; `None` when one of them is NULL.
    fn of(args: &Args, row: usize, reverse: bool) -> Result<Option<Self>> {
        let mut order = Self { descends: reverse, nulls_first: false };
        for arg in 1..args.len() {
            let Some(option) = args.text(arg, row) else { return Ok(None) };
            let option = option.trim().to_ascii_uppercase();
            match (&*option, arg == 1 && !reverse) {
                ("ASC" | "ASCENDING" | "DEFAULT" | "ORDER_DEFAULT", true) => order.descends = false,
                ("DESC" | "DESCENDING", true) => order.descends = true,
                ("NULLS FIRST" | "NULLS_FIRST", false) => order.nulls_first = true,
                ("NULLS LAST" | "NULLS_LAST" | "DEFAULT" | "ORDER_DEFAULT", false) => {
                    order.nulls_first = false
                }
                (_, wants_order) => {
                    let wanted = if wants_order { "ASC or DESC" } else { "NULLS FIRST or NULLS LAST" };
                    return Err(Error::invalid_argument(format!(
                        "lists are sorted {wanted}, not '{option}'"
                    )));
                }
            }
        }
        Ok(Some(order))
    }

    fn compare(self, element: &LogicalType, a: Part<'_>, b: Part<'_>) -> Ordering {
        match (a, b) {
            (Some(a), Some(b)) => {
                let order = compare(element, a, b);
                if self.descends { order.reverse() } else { order }
            }
            (a, b) => {
                let order = a.is_none().cmp(&b.is_none());
                if self.nulls_first { order.reverse() } else { order }
            }
        }
    }
}

//! `concat_ws` of lists: their elements are joined as if each were an argument.

use super::element;
use super::rows::each;
use crate::registry::Function;
use inlay_kernels::function::kernel;
use inlay_kernels::resolve::{ArgType, ResolveOptions, Resolved};
use inlay_types::LogicalType::{self, Varchar};
use inlay_types::append::push_short;
use inlay_types::limits::{self, Meter, Pace};
use inlay_types::nested::Sequence;
use inlay_types::{Error, Result};

/// See the module documentation.
pub(crate) static FUNCTIONS: &[Function] = &[Function::new(
    "concat_ws",
    crate::registry::Overloads::Explained {
        shown: &["concat_ws(separator, any or any[], ...) -> VARCHAR"],
        resolve: resolve_joined,
    },
    "the other arguments, and the elements of lists among them, joined by the first; NULLs are left out",
    "concat_ws('-', ['a', NULL, 'b'], 3) = 'a-b-3'",
)
.special_nulls()];

fn resolve_joined(args: &[ArgType], _: &ResolveOptions) -> Result<Option<Resolved>> {
    let Some((_, parts)) = args.split_first() else { return Ok(None) };
    // Arrays are joined as texts, as in DuckDB.
    let listed = |ty: &'_ LogicalType| matches!(ty, LogicalType::List(_));
    let elements: Vec<Option<&LogicalType>> =
        parts.iter().map(|part| element(&part.ty).filter(|_| listed(&part.ty))).collect();
    if elements.iter().all(Option::is_none) {
        return Ok(None);
    }
    if elements.iter().flatten().any(|inner| element(inner).is_some()) {
        let message = "concat_ws joins the elements of lists, not of lists in lists: flatten() them first";
        return Err(Error::type_mismatch(message));
    }
    let is_list: Vec<bool> = elements.iter().map(Option::is_some).collect();
    let taken = |is_list: &bool| if *is_list { LogicalType::list(Varchar) } else { Varchar };
    let types = std::iter::once(Varchar).chain(is_list.iter().map(taken)).collect();
    let kernel = kernel(move |args, len, out| {
        each(args, &Varchar, len, out, |args, row, out| {
            let Some(separator) = args.get(0, row) else { return out.push(None) };
            out.push_with(|text| {
                let (mut is_first, mut pace, mut meter) = (true, Pace::new(), Meter::new());
                let mut add = |part: &[u8]| -> Result<()> {
                    pace.steps(1 + part.len() / 64)?;
                    // A text that is full moves to twice the place.
                    meter.add(3 * (part.len() + if is_first { 0 } else { separator.len() }))?;
                    if !is_first {
                        push_short(text, separator);
                    }
                    push_short(text, part);
                    is_first = false;
                    Ok(())
                };
                for (index, is_list) in is_list.iter().enumerate() {
                    match args.get(index + 1, row) {
                        None => {}
                        Some(bytes) if *is_list => {
                            let elements = Sequence::new(&Varchar, bytes);
                            (0..elements.len()).filter_map(|at| elements.get(at)).try_for_each(&mut add)?;
                        }
                        Some(bytes) => add(bytes)?,
                    }
                }
                limits::keep(meter.finish());
                Ok(())
            })
        })
    });
    Ok(Some(Resolved::infallible(types, Varchar, kernel)))
}

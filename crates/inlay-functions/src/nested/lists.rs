//! `[1, 2]`: lists from values.

use super::meeting_type;
use super::rows::finish;
use crate::columns::computed_rows;
use crate::registry::Function;
use inlay_kernels::function::kernel;
use inlay_kernels::resolve::{ArgType, ResolveOptions, Resolved};
use inlay_types::LogicalType;
use inlay_types::nested::pack_elements;

/// See the module documentation.
pub(crate) static FUNCTIONS: &[Function] = &[
    Function::typed(
        "list_value",
        &["list_value(any, ...) -> LIST"],
        resolve_list,
        "a list of the arguments",
        "list_value(4, 5, 6) = '[4, 5, 6]'",
    )
    .special_nulls()
    .aliases(&["list_pack"]),
    Function::typed(
        "array_value",
        &["array_value(any, ...) -> ARRAY"],
        resolve_array,
        "an array of fixed size of the arguments",
        "array_value(4, 5, 6) = '[4, 5, 6]'",
    )
    .special_nulls(),
];

fn resolve_list(args: &[ArgType], _: &ResolveOptions) -> Option<Resolved> {
    let element = meeting_type(args)?;
    let ty = LogicalType::list(element.clone());
    resolve_as(args, element, ty)
}

fn resolve_array(args: &[ArgType], _: &ResolveOptions) -> Option<Resolved> {
    let element = meeting_type(args)?;
    let size = u32::try_from(args.len()).ok().filter(|size| *size > 0)?;
    let ty = LogicalType::array(element.clone(), size);
    resolve_as(args, element, ty)
}

fn resolve_as(args: &[ArgType], element: LogicalType, ty: LogicalType) -> Option<Resolved> {
    ty.check_depth().ok()?;
    let (returns, types) = (ty.clone(), vec![element; args.len()]);
    let kernel = kernel(move |args, len, out| {
        let rows = computed_rows(args, len);
        finish(pack_elements(&ty, args, rows)?, rows, len, out)
    });
    Some(Resolved::infallible(types, returns, kernel))
}

//! Structs and lists that are made to be put together: made as what they become.
//!
//! `struct_insert({'a': x}, b := y)` as `{'a': x, 'b': y}`, `struct_concat({'a': x}, {'b': y})` likewise, and `flatten([x, y])` as
//! `list_concat(x, y, [])`: what lies between is neither packed nor read.

use crate::plan::Expr;
use inlay_functions::registry::resolve_scalar;
use inlay_kernels::function::ScalarFunction;
use inlay_kernels::resolve::ArgType;
use inlay_types::{LogicalType, Value};
use std::sync::Arc;

/// The call that makes the same at once; any other expression as it is.
pub(super) fn joined(expr: Expr) -> Expr {
    let Expr::Call { function, args, place } = &expr else { return expr };
    let made = if matches!(&*function.name, "struct_insert" | "struct_concat") {
        one_struct(function, args)
    } else if function.name == "flatten" {
        one_list(function, args)
    } else {
        None
    };
    match made {
        Some((function, args)) => Expr::Call { function, args, place: *place },
        None => expr,
    }
}

type Made = Option<(Arc<ScalarFunction>, Vec<Expr>)>;

/// The parts of a struct that is made of them, and thus never NULL.
fn parts(expr: &Expr) -> Option<&[Expr]> {
    let Expr::Call { function, args, .. } = expr else { return None };
    matches!(&*function.name, "struct_pack" | "row").then_some(args)
}

fn one_struct(function: &ScalarFunction, args: &[Expr]) -> Made {
    let (first, others) = args.split_first()?;
    let mut fields = parts(first)?.to_vec();
    for other in others {
        if function.name == "struct_insert" {
            fields.push(other.clone());
        } else {
            fields.extend_from_slice(parts(other)?);
        }
    }
    let LogicalType::Struct(wanted) = &function.return_type else { return None };
    let has_names = wanted.iter().any(|field| !field.name.is_empty());
    let named = |(field, part): (&inlay_types::Field, &Expr)| ArgType {
        name: has_names.then(|| Arc::from(&*field.name)),
        ..ArgType::of(part.ty())
    };
    if wanted.len() != fields.len() {
        return None;
    }
    let types: Vec<ArgType> = wanted.iter().zip(&fields).map(named).collect();
    made(if has_names { "struct_pack" } else { "row" }, &types, function, fields)
}

/// Of lists, not of arrays, which list_concat has no way to leave out when they are NULL.
fn one_list(function: &ScalarFunction, args: &[Expr]) -> Made {
    let [Expr::Call { function: maker, args: lists, .. }] = args else { return None };
    let LogicalType::List(element) = &function.return_type else { return None };
    if maker.name != "list_value" || lists.iter().any(|list| list.ty() != function.return_type) {
        return None;
    }
    // Of lists that are all NULL, list_concat is NULL.
    let none = Value::List { element: Arc::clone(element), values: Vec::new() };
    let mut all = lists.clone();
    all.push(Expr::Literal { value: none, ty: function.return_type.clone() });
    let types: Vec<ArgType> = all.iter().map(|list| ArgType::of(list.ty())).collect();
    made("list_concat", &types, function, all)
}

/// The function of these arguments, if it takes them as they are and gives what `wanted` does.
fn made(name: &str, types: &[ArgType], wanted: &ScalarFunction, args: Vec<Expr>) -> Made {
    let function = resolve_scalar(name, types, &Default::default()).ok()?;
    let fits = function.return_type == wanted.return_type
        && function.arg_types.len() == args.len()
        && function.arg_types.iter().zip(&args).all(|(ty, arg)| *ty == arg.ty());
    fits.then_some((function, args))
}

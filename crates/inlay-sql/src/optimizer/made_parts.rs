//! Structs and lists that are made to be put together: made as what they become.
//!
//! `struct_insert({'a': x}, b := y)` as `{'a': x, 'b': y}`, `struct_concat({'a': x}, {'b': y})` likewise, and `flatten([x, y])` as
//! `list_concat(x, y, [])`: what lies between is neither packed nor read. `list_transform([x, y], lambda e: f(e))` is made as
//! `[f(x), f(y)]`.

use crate::plan::{ColumnId, Expr, Lambda, LambdaKind};
use inlay_functions::registry::resolve_scalar;
use inlay_kernels::function::ScalarFunction;
use inlay_kernels::resolve::ArgType;
use inlay_types::{LogicalType, Value};
use std::collections::HashMap;
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

/// Elements to which a function is applied one by one.
const ELEMENTS_MAX: usize = 16;
/// Parts of the list that is made, so that a plan grows with the lambdas in it and not with each level of their nesting.
const PARTS_MAX: usize = 256;

/// The list of what a lambda makes of each of some values; any other lambda as it is.
pub(super) fn mapped(expr: Expr) -> Expr {
    let Expr::Lambda(lambda) = &expr else { return expr };
    let [Expr::Call { function: maker, args: elements, place }, captured @ ..] = lambda.args.as_slice()
    else {
        return expr;
    };
    if lambda.kind != LambdaKind::Transform
        || maker.name != "list_value"
        || elements.is_empty()
        || elements.len() > ELEMENTS_MAX
        || captured.len() != lambda.captured.len()
        || lambda.body.has_more_nodes(PARTS_MAX / elements.len())
        || expr.is_volatile()
        || !is_read_cheaply(lambda, elements, captured)
    {
        return expr;
    }
    let values: Option<Vec<Expr>> =
        (1..).zip(elements).map(|(position, element)| applied(lambda, position, element, captured)).collect();
    let Some(values) = values else { return expr };
    let types: Vec<ArgType> = values.iter().map(|value| ArgType::of(value.ty())).collect();
    let wanted = ScalarFunction { return_type: lambda.ty.clone(), ..ScalarFunction::clone(maker) };
    match made("list_value", &types, &wanted, values) {
        Some((function, args)) => Expr::Call { function, args, place: *place },
        None => expr,
    }
}

/// Whether nothing that is computed is computed more often where it stands in the place of what the body reads.
fn is_read_cheaply(lambda: &Lambda, elements: &[Expr], captured: &[Expr]) -> bool {
    let is_plain = |expr: &Expr| matches!(expr, Expr::Column { .. } | Expr::Literal { .. });
    let mut read = Vec::new();
    lambda.body.collect_columns(&mut read);
    let is_read_once = |id: &ColumnId| read.iter().filter(|read| *read == id).count() <= 1;
    captured.iter().all(is_plain)
        && (elements.iter().all(is_plain) || lambda.parameters.first().is_some_and(is_read_once))
}

/// The body for an element at a position from 1.
fn applied(lambda: &Lambda, position: i64, element: &Expr, captured: &[Expr]) -> Option<Expr> {
    let mut map: HashMap<ColumnId, Expr> =
        lambda.captured.iter().copied().zip(captured.iter().cloned()).collect();
    let (value, place) = lambda.parameters.split_first()?;
    map.insert(*value, element.clone());
    map.extend(place.iter().map(|place| (*place, Expr::literal(Value::BigInt(position)))));
    let mut body = lambda.body.clone();
    body.substitute(&map);
    Some(body)
}

/// The function of these arguments, if it takes them as they are and gives what `wanted` does.
fn made(name: &str, types: &[ArgType], wanted: &ScalarFunction, args: Vec<Expr>) -> Made {
    let function = resolve_scalar(name, types, &Default::default()).ok()?;
    let fits = function.return_type == wanted.return_type
        && function.arg_types.len() == args.len()
        && function.arg_types.iter().zip(&args).all(|(ty, arg)| *ty == arg.ty());
    fits.then_some((function, args))
}

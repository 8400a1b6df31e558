//! Calls that say in one word what other calls say together.

use super::build::Build;
use crate::parser::ast::{BinaryOp, Expr, ExprKind, FunctionCall, Literal};
use inlay_types::LogicalType;

/// What a call stands for, in words of other functions; `None` if it is a function of its own.
pub(super) fn spelled(name: &str, call: &FunctionCall) -> Option<Expr> {
    let build = Build(call.name.pos);
    let is_plain = !call.star && !call.distinct && call.filter.is_none() && call.order_by.is_empty();
    if !is_plain || !call.named.is_empty() {
        return None;
    }
    let minus = |left: Expr, right: Expr| build.binary(BinaryOp::Subtract, left, right);
    Some(match (name, call.arguments.as_slice()) {
        ("date_bin", [width, at, origin]) => {
            build.call("time_bucket", vec![width.clone(), at.clone(), origin.clone()])
        }
        ("date_subtract", [at, span]) => minus(at.clone(), span.clone()),
        ("date_subtract", [at, span, zone]) => {
            let local = build.call("timezone", vec![zone.clone(), at.clone()]);
            build.call("timezone", vec![zone.clone(), minus(local, span.clone())])
        }
        ("trim_array", [list, count]) => {
            let end = minus(build.call("len", vec![list.clone()]), count.clone());
            let end = build.call("greatest", vec![end, build.number(0)]);
            build.call("list_slice", vec![list.clone(), build.number(1), end])
        }
        ("array_remove", [list, value]) => {
            let stays = build.binary(BinaryOp::DistinctFrom, build.column(ELEMENT), value.clone());
            build.call("list_filter", vec![list.clone(), lambda(build, stays)])
        }
        ("array_replace", [list, from, to]) => {
            let is_it = build.binary(BinaryOp::NotDistinctFrom, build.column(ELEMENT), from.clone());
            let value = build.expr(ExprKind::Case {
                operand: None,
                branches: vec![(is_it, to.clone())],
                otherwise: Some(Box::new(build.column(ELEMENT))),
            });
            build.call("list_transform", vec![list.clone(), lambda(build, value)])
        }
        ("array_positions", [list, value]) => {
            let len = build.call("len", vec![list.clone()]);
            let at = build.call("list_extract", vec![list.clone(), build.column(ELEMENT)]);
            let is_it = build.binary(BinaryOp::NotDistinctFrom, at, value.clone());
            let places = build.call("generate_series", vec![build.number(1), len]);
            build.call("list_filter", vec![places, lambda(build, is_it)])
        }
        ("array_upper", [list, dimension]) => {
            let len = build.call("len", vec![dimension_of(build, list, dimension)?]);
            build.call("nullif", vec![len, build.number(0)])
        }
        ("array_lower", [list, dimension]) => {
            let len = build.call("len", vec![dimension_of(build, list, dimension)?]);
            let is_there = build.binary(BinaryOp::Greater, len, build.number(0));
            build.expr(ExprKind::Case {
                operand: None,
                branches: vec![(is_there, build.number(1))],
                otherwise: None,
            })
        }
        ("jsonb_extract_path" | "jsonb_extract_path_text", [document, keys @ ..]) if !keys.is_empty() => {
            let name = if name.ends_with("_text") { "#>>" } else { "#>" };
            build.call(name, vec![document.clone(), build.call("list_value", keys.to_vec())])
        }
        ("date", [value]) => build.cast(value.clone(), LogicalType::Date),
        ("pg_sleep", [seconds]) => {
            let millis = build.binary(BinaryOp::Multiply, seconds.clone(), build.number(1000));
            build.call("sleep_ms", vec![build.cast(millis, LogicalType::BigInt)])
        }
        ("unlist", [list]) => build.call("unnest", vec![list.clone()]),
        ("to_ascii", [text] | [text, _]) => build.call("strip_accents", vec![text.clone()]),
        ("timeofday", []) => {
            let format = build.text("%a %b %d %H:%M:%S.%f %Y %Z");
            build.call("strftime", vec![build.call("clock_timestamp", Vec::new()), format])
        }
        ("normalize", [text, form]) => {
            let ExprKind::Column(parts) = &form.kind else { return None };
            let [form] = parts.as_slice() else { return None };
            build.call("normalize", vec![text.clone(), build.text(form.value.clone())])
        }
        ("unpivot_list", values) => build.call("list_value", values.to_vec()),
        ("aggregate", [list, function, rest @ ..]) => {
            let arguments = [list, function].into_iter().chain(rest).cloned().collect();
            build.call("list_aggregate", arguments)
        }
        ("switch", [map]) => found(build, truth(build), map, None),
        ("switch", [map, otherwise]) if is_map(map) => found(build, truth(build), map, Some(otherwise)),
        ("switch", [key, map]) => found(build, key.clone(), map, None),
        ("switch", [key, map, otherwise]) => found(build, key.clone(), map, Some(otherwise)),
        ("assert_true", [condition]) => assertion(build, condition, build.text("assertion failed")),
        ("assert_true", [condition, message]) => {
            let message = build.call("concat", vec![build.text("assertion failed: "), message.clone()]);
            assertion(build, condition, message)
        }
        _ => return None,
    })
}

/// A name that no column has.
const ELEMENT: &str = "\u{1}element";

fn lambda(build: Build, body: Expr) -> Expr {
    build.expr(ExprKind::Lambda { params: vec![build.ident(ELEMENT)], body: Box::new(body) })
}

/// The list of a dimension, which is written as a number: 2 is the first element of the list.
fn dimension_of(build: Build, list: &Expr, dimension: &Expr) -> Option<Expr> {
    const DIMENSIONS_MAX: usize = 6;
    let ExprKind::Literal(Literal::Number(number)) = &dimension.kind else { return None };
    let number = number.parse::<usize>().ok().filter(|number| (1..=DIMENSIONS_MAX).contains(number))?;
    let inner = |list: Expr, _| build.call("list_extract", vec![list, build.number(1)]);
    Some((1..number).fold(list.clone(), inner))
}

fn truth(build: Build) -> Expr {
    build.expr(ExprKind::Literal(Literal::Boolean(true)))
}

fn is_map(expr: &Expr) -> bool {
    matches!(&expr.kind, ExprKind::Function(call) if call.name.value.eq_ignore_ascii_case("map"))
}

/// The value of a key of a map.
fn found(build: Build, key: Expr, map: &Expr, otherwise: Option<&Expr>) -> Expr {
    let value = build.call("map_extract_value", vec![map.clone(), key.clone()]);
    match otherwise {
        None => value,
        Some(otherwise) => build.expr(ExprKind::Case {
            operand: None,
            branches: vec![(build.call("map_contains", vec![map.clone(), key]), value)],
            otherwise: Some(Box::new(otherwise.clone())),
        }),
    }
}

/// NULL if the condition is TRUE, else an error.
fn assertion(build: Build, condition: &Expr, message: Expr) -> Expr {
    build.expr(ExprKind::Case {
        operand: None,
        branches: vec![(condition.clone(), build.null())],
        otherwise: Some(Box::new(build.call("error", vec![message]))),
    })
}

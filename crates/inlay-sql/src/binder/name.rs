//! Names of result columns that have no alias: the expression, written in the way DuckDB does.

use crate::parser::ast::{
    Expr, ExprKind, FrameBound, FrameExclusion, FrameUnits, FunctionCall, Literal, OrderItem, Parameter,
    Query, QueryBody, SelectItem, UnaryOp, WindowCall, WindowFrame,
};

/// Longest name; what is behind it says nothing to a reader.
const NAME_LENGTH_MAX: usize = 200;

/// The name of the result column of `expr`.
pub(super) fn of_expr(expr: &Expr) -> String {
    let mut name = text(expr);
    if name.len() > NAME_LENGTH_MAX {
        let end = (0..=NAME_LENGTH_MAX).rev().find(|&end| name.is_char_boundary(end)).unwrap_or(0);
        name.truncate(end);
    }
    name
}

/// The name of the result column of a call.
pub(super) fn of_call(call: &FunctionCall) -> String {
    let name = match call.name.value.to_lowercase() {
        name if super::grouping::is_grouping(&name) => "GROUPING".to_string(),
        name if matches!(name.as_str(), "coalesce" | "try") => name.to_uppercase(),
        name => name,
    };
    if let Some(shown) = operator(&name, &call.arguments) {
        return shown;
    }
    let counts_rows = call.star || name == "count" && call.arguments.is_empty();
    let mut out = match counts_rows {
        true => format!("{name}_star()"),
        false => format!("{name}({}{})", if call.distinct { "DISTINCT " } else { "" }, arguments(call)),
    };
    if let Some(filter) = &call.filter {
        out.push_str(&format!(" FILTER (WHERE {})", text(filter)));
    }
    out
}

/// Calls that are written otherwise.
fn operator(name: &str, arguments: &[Expr]) -> Option<String> {
    // An end that is left out of a slice is an empty list.
    let end = |expr: &Expr| match &expr.kind {
        ExprKind::Function(call) if call.name.value == "list_value" && call.arguments.is_empty() => {
            String::new()
        }
        _ => text(expr),
    };
    Some(match (name, arguments) {
        ("[]", [value, index]) => format!("{}[{}]", text(value), text(index)),
        ("[:]", [value, from, to]) => format!("{}[{}:{}]", text(value), end(from), end(to)),
        ("[:]", [value, from, to, step]) => {
            format!("{}[{}:{}:{}]", text(value), end(from), end(to), text(step))
        }
        ("->" | "->>" | "<=>" | "#" | "#>" | "#>>", [left, right]) => {
            format!("({} {name} {})", text(left), text(right))
        }
        ("current_date" | "current_time" | "current_timestamp" | "localtime" | "localtimestamp", []) => {
            name.into()
        }
        _ => return None,
    })
}

fn arguments(call: &FunctionCall) -> String {
    let named = call.named.iter().map(|(name, value)| format!("{} := {}", name.value, text(value)));
    let mut out = call.arguments.iter().map(text).chain(named).collect::<Vec<_>>().join(", ");
    if !call.order_by.is_empty() {
        out.push_str(&format!(" ORDER BY {}", order(&call.order_by)));
    }
    out
}

/// The name of the result column of a call with OVER.
pub(super) fn of_window(window: &WindowCall) -> String {
    let call = &window.call;
    let name = call.name.value.to_lowercase();
    let name = match name.as_str() {
        "first" => "first_value",
        "last" => "last_value",
        other => other,
    };
    let mut out = format!("{name}({}{}", if call.distinct { "DISTINCT " } else { "" }, arguments(call));
    if window.ignore_nulls == Some(true) {
        out.push_str(" IGNORE NULLS");
    }
    out.push(')');
    if let Some(filter) = &call.filter {
        out.push_str(&format!(" FILTER (WHERE {})", text(filter)));
    }
    let mut parts = Vec::new();
    if !window.over.partition_by.is_empty() {
        parts.push(format!("PARTITION BY {}", list(&window.over.partition_by)));
    }
    if !window.over.order_by.is_empty() {
        parts.push(format!("ORDER BY {}", order(&window.over.order_by)));
    }
    parts.extend(window.over.frame.as_ref().and_then(frame));
    format!("{out} OVER ({})", parts.join(" "))
}

fn order(items: &[OrderItem]) -> String {
    let shown = items.iter().map(|item| {
        let direction = if item.order.descending == Some(true) { " DESC" } else { "" };
        let nulls = match item.order.nulls_first {
            None => "",
            Some(true) => " NULLS FIRST",
            Some(false) => " NULLS LAST",
        };
        format!("{}{direction}{nulls}", text(&item.expr))
    });
    shown.collect::<Vec<_>>().join(", ")
}

/// A frame other than the one that holds if none is written.
fn frame(frame: &WindowFrame) -> Option<String> {
    let bound = |bound: &FrameBound| match bound {
        FrameBound::UnboundedPreceding => "UNBOUNDED PRECEDING".to_string(),
        FrameBound::Preceding(offset) => format!("{} PRECEDING", text(offset)),
        FrameBound::CurrentRow => "CURRENT ROW".to_string(),
        FrameBound::Following(offset) => format!("{} FOLLOWING", text(offset)),
        FrameBound::UnboundedFollowing => "UNBOUNDED FOLLOWING".to_string(),
    };
    let units = match frame.units {
        FrameUnits::Rows => "ROWS",
        FrameUnits::Range => "RANGE",
        FrameUnits::Groups => "GROUPS",
    };
    let exclude = match frame.exclude {
        FrameExclusion::NoOthers => "",
        FrameExclusion::CurrentRow => " EXCLUDE CURRENT ROW",
        FrameExclusion::Group => " EXCLUDE GROUP",
        FrameExclusion::Ties => " EXCLUDE TIES",
    };
    let is_default = matches!(
        (frame.units, &frame.start, &frame.end, frame.exclude),
        (FrameUnits::Range, FrameBound::UnboundedPreceding, FrameBound::CurrentRow, FrameExclusion::NoOthers)
    );
    (!is_default)
        .then(|| format!("{units} BETWEEN {} AND {}{exclude}", bound(&frame.start), bound(&frame.end)))
}

fn list(exprs: &[Expr]) -> String {
    exprs.iter().map(text).collect::<Vec<_>>().join(", ")
}

fn joined(exprs: &[Expr], separator: &str) -> String {
    format!("({})", exprs.iter().map(text).collect::<Vec<_>>().join(separator))
}

fn subquery(query: &Query) -> String {
    match &query.body {
        QueryBody::Select(select) => match select.items.as_slice() {
            [SelectItem::Expr { alias: Some(alias), .. }] => alias.value.clone(),
            [SelectItem::Expr { expr, .. }] => text(expr),
            _ => "subquery".into(),
        },
        _ => "subquery".into(),
    }
}

fn negation(negated: bool, shown: String) -> String {
    if negated { format!("(NOT {shown})") } else { shown }
}

fn text(expr: &Expr) -> String {
    let not = |negated: &bool| if *negated { "NOT " } else { "" };
    match &expr.kind {
        ExprKind::Column(parts) => parts.last().map(|part| part.value.clone()).unwrap_or_default(),
        ExprKind::Literal(literal) => literal_text(literal),
        ExprKind::Parameter(Parameter::Position(number)) => format!("${number}"),
        ExprKind::Parameter(Parameter::Name(name)) => format!("${name}"),
        ExprKind::Unary { op, expr } => {
            let symbol = match op {
                UnaryOp::Negate => "-",
                UnaryOp::Plus => "+",
                UnaryOp::BitNot => "~",
            };
            format!("({symbol}({}))", text(expr))
        }
        ExprKind::Binary { op, left, right } => format!("({} {} {})", text(left), op.symbol(), text(right)),
        ExprKind::And(items) => joined(items, " AND "),
        ExprKind::Or(items) => joined(items, " OR "),
        ExprKind::Not(inner) => format!("(NOT {})", text(inner)),
        ExprKind::IsNull { expr, negated } => format!("({} IS {}NULL)", text(expr), not(negated)),
        ExprKind::IsBool { expr, value, negated } => {
            format!("({} IS {}{})", text(expr), not(negated), if *value { "TRUE" } else { "FALSE" })
        }
        ExprKind::InList { expr, list: items, negated } => {
            negation(*negated, format!("({} IN ({}))", text(expr), list(items)))
        }
        ExprKind::InSubquery { expr, query, negated } => {
            negation(*negated, format!("({} IN ({}))", text(expr), subquery(query)))
        }
        ExprKind::Between { expr, low, high, negated } => {
            negation(*negated, format!("({} BETWEEN {} AND {})", text(expr), text(low), text(high)))
        }
        ExprKind::Like { expr, pattern, negated, case_insensitive, .. } => {
            let operator = if *case_insensitive { "ILIKE" } else { "LIKE" };
            format!("({} {}{operator} {})", text(expr), not(negated), text(pattern))
        }
        ExprKind::Quantified { expr, op, all, query } => {
            let quantifier = if *all { "ALL" } else { "ANY" };
            format!("({} {} {quantifier}({}))", text(expr), op.symbol(), subquery(query))
        }
        ExprKind::Cast { expr, data_type, try_cast } => {
            let shown = crate::parser::types::shown(data_type);
            format!("{}CAST({} AS {shown})", if *try_cast { "TRY_" } else { "" }, text(expr))
        }
        ExprKind::Extract { field, expr } => format!("date_part('{}', {})", field.value, text(expr)),
        ExprKind::Function(call) => of_call(call),
        ExprKind::Window(call) => of_window(call),
        ExprKind::Case { operand, branches, otherwise } => {
            let mut out = "CASE ".to_string();
            for (when, then) in branches {
                let when = match operand {
                    Some(operand) => format!("({} = {})", text(operand), text(when)),
                    None => text(when),
                };
                out.push_str(&format!(" WHEN ({when}) THEN ({})", text(then)));
            }
            let otherwise = otherwise.as_ref().map_or_else(|| "NULL".to_string(), |value| text(value));
            out.push_str(&format!(" ELSE {otherwise} END"));
            out
        }
        ExprKind::Exists { negated, .. } => format!("{}EXISTS(subquery)", not(negated)),
        ExprKind::Subquery(query) => subquery(query),
        ExprKind::RowQuery { query, .. } => subquery(query),
        ExprKind::Row(items) => format!("row({})", list(items)),
        ExprKind::Lambda { params, body } => {
            let params: Vec<&str> = params.iter().map(|param| param.value.as_str()).collect();
            format!("(lambda {}: {})", params.join(", "), text(body))
        }
        ExprKind::Columns(_) => "COLUMNS".into(),
        ExprKind::Position(number) => format!("#{number}"),
        ExprKind::Given(_) => "value".into(),
        ExprKind::Collate { expr, collation } => format!("{} COLLATE {collation}", text(expr)),
        ExprKind::Default => "DEFAULT".into(),
        ExprKind::Constants(constants) => {
            let mut out = String::new();
            for index in 0..constants.len() {
                out.push_str(if index == 0 { "" } else { ", " });
                match constants.is_number(index) {
                    true => out.push_str(constants.written(index)),
                    false => out.push_str(&literal_text(&constants.literal(index))),
                }
            }
            out
        }
    }
}

fn literal_text(literal: &Literal) -> String {
    match literal {
        Literal::Null => "NULL".into(),
        Literal::Boolean(value) => value.to_string(),
        Literal::Number(text) => text.clone(),
        Literal::String(text) => format!("'{text}'"),
        Literal::Blob(bytes) => format!("<{} bytes>", bytes.len()),
        Literal::Typed(ty, text) => format!("CAST('{text}' AS {ty})"),
    }
}

//! Names of result columns that have no alias: the expression, written in the way DuckDB does.

use crate::parser::ast::{
    Expr, ExprKind, FunctionCall, Literal, Parameter, Query, QueryBody, SelectItem, UnaryOp,
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
        name => name,
    };
    if call.star {
        return format!("{name}_star()");
    }
    let distinct = if call.distinct { "DISTINCT " } else { "" };
    format!("{name}({distinct}{})", list(&call.arguments))
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

fn text(expr: &Expr) -> String {
    let not = |negated: &bool| if *negated { "NOT " } else { "" };
    match &expr.kind {
        ExprKind::Column(parts) => parts.last().map(|part| part.value.clone()).unwrap_or_default(),
        ExprKind::Literal(literal) => match literal {
            Literal::Null => "NULL".into(),
            Literal::Boolean(value) => format!("CAST('{}' AS BOOLEAN)", if *value { "t" } else { "f" }),
            Literal::Number(text) => text.clone(),
            Literal::String(text) => format!("'{text}'"),
            Literal::Blob(bytes) => format!("<{} bytes>", bytes.len()),
            Literal::Typed(ty, text) => format!("CAST('{text}' AS {ty})"),
        },
        ExprKind::Parameter(Parameter::Position(number)) => format!("${number}"),
        ExprKind::Parameter(Parameter::Name(name)) => format!("${name}"),
        ExprKind::Unary { op, expr } => {
            let symbol = match op {
                UnaryOp::Negate => "-",
                UnaryOp::Plus => "+",
                UnaryOp::BitNot => "~",
            };
            format!("{symbol}({})", text(expr))
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
            format!("({} {}IN ({}))", text(expr), not(negated), list(items))
        }
        ExprKind::InSubquery { expr, query, negated } => {
            format!("({} {}IN ({}))", text(expr), not(negated), subquery(query))
        }
        ExprKind::Between { expr, low, high, negated } => {
            format!("({} {}BETWEEN {} AND {})", text(expr), not(negated), text(low), text(high))
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
            format!("{}CAST({} AS {data_type})", if *try_cast { "TRY_" } else { "" }, text(expr))
        }
        ExprKind::Extract { field, expr } => format!("date_part('{}', {})", field.value, text(expr)),
        ExprKind::Function(call) => of_call(call),
        ExprKind::Case { operand, branches, otherwise } => {
            let mut out = "CASE ".to_string();
            if let Some(operand) = operand {
                out.push_str(&format!(" {}", text(operand)));
            }
            for (when, then) in branches {
                out.push_str(&format!(" WHEN ({}) THEN ({})", text(when), text(then)));
            }
            if let Some(otherwise) = otherwise {
                out.push_str(&format!(" ELSE {}", text(otherwise)));
            }
            out.push_str(" END");
            out
        }
        ExprKind::Exists { negated, .. } => format!("{}EXISTS(subquery)", not(negated)),
        ExprKind::Subquery(query) => subquery(query),
        ExprKind::Row(items) => format!("row({})", list(items)),
        ExprKind::Columns(_) => "COLUMNS".into(),
        ExprKind::Position(number) => format!("#{number}"),
        ExprKind::Collate { expr, collation } => format!("{} COLLATE {collation}", text(expr)),
        ExprKind::Default => "DEFAULT".into(),
    }
}

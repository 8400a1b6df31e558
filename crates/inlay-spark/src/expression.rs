//! Expressions as text, each of the type that carries its own.

use super::Writer;
use super::carrier::is_compared_alike;
use super::relation::name;
use inlay_sql::plan::expr::COLLATE;
use inlay_sql::plan::{CompareOp, Expr, Lambda, LambdaKind, Place};
use inlay_types::{LogicalType, Value};
use std::collections::HashMap;

impl Writer<'_> {
    pub(crate) fn expr(&mut self, expr: &Expr) -> String {
        inlay_sql::with_statement_stack(|| self.written(expr))
    }

    /// An expression in parentheses where operators stand beside it.
    pub(crate) fn operand(&mut self, expr: &Expr) -> String {
        let text = self.expr(expr);
        let is_closed = match expr {
            Expr::Column { .. } | Expr::Literal { .. } | Expr::Cast { .. } | Expr::Coalesce { .. } => true,
            Expr::Call { .. }
            | Expr::Compare { .. }
            | Expr::And(_)
            | Expr::Or(_)
            | Expr::Not(_)
            | Expr::IsNull(_)
            | Expr::InList { .. }
            | Expr::InConstants { .. }
            | Expr::Case { .. }
            | Expr::Lambda(_) => false,
        };
        if is_closed && !text.starts_with("CASE") { text } else { format!("({text})") }
    }

    fn written(&mut self, expr: &Expr) -> String {
        match expr {
            Expr::Column { id, .. } => self.parameters.get(id).cloned().unwrap_or_else(|| name(*id)),
            Expr::Literal { value, ty } => self.literal(value, ty, Place::default()),
            Expr::Call { function, args, place } if function.name == COLLATE => {
                self.refuse("COLLATE", *place);
                args.first().map_or_else(|| "NULL".into(), |arg| self.expr(arg))
            }
            Expr::Call { function, args, place } => self.call(function, args, *place),
            Expr::Cast { input, ty, or_null, place } => self.cast(input, ty, *or_null, *place),
            Expr::Compare { op, left, right } => self.compare(*op, left, right),
            Expr::And(parts) => self.joined(parts, " AND "),
            Expr::Or(parts) => self.joined(parts, " OR "),
            Expr::Not(input) => format!("NOT {}", self.operand(input)),
            Expr::IsNull(input) => format!("{} IS NULL", self.operand(input)),
            Expr::InList { input, list } => {
                self.comparable(&input.ty());
                let items: Vec<String> = list.iter().map(|item| self.expr(item)).collect();
                self.member(input, &items)
            }
            Expr::InConstants { input, list } => {
                let ty = input.ty();
                self.comparable(&ty);
                let nulls = list.has_null().then_some(Value::Null);
                let items: Vec<String> = list
                    .iter()
                    .chain(nulls)
                    .map(|value| self.literal(&value, &ty, Place::default()))
                    .collect();
                self.member(input, &items)
            }
            Expr::Case { branches, otherwise, .. } => {
                let mut out = String::from("CASE");
                for (condition, value) in branches {
                    out.push_str(&format!(" WHEN {} THEN {}", self.expr(condition), self.expr(value)));
                }
                out.push_str(&format!(" ELSE {} END", self.expr(otherwise)));
                out
            }
            Expr::Coalesce { args, .. } => {
                let args: Vec<String> = args.iter().map(|arg| self.expr(arg)).collect();
                format!("coalesce({})", args.join(", "))
            }
            Expr::Lambda(lambda) => self.lambda(lambda),
        }
    }

    fn joined(&mut self, parts: &[Expr], word: &str) -> String {
        let parts: Vec<String> = parts.iter().map(|part| self.operand(part)).collect();
        parts.join(word)
    }

    fn comparable(&mut self, ty: &LogicalType) {
        if !is_compared_alike(ty) {
            self.refuse(format!("a comparison of {ty}"), Place::default());
        }
    }

    /// `x IN (items)`. Sail finds values in long lists by their bits: 0.0 takes the sign off a zero.
    fn member(&mut self, input: &Expr, items: &[String]) -> String {
        let x = self.operand(input);
        if matches!(input.ty(), LogicalType::Double | LogicalType::Real) {
            let items: Vec<String> = items.iter().map(|item| format!("{item} + 0.0D")).collect();
            return format!("({x} + 0.0D) IN ({})", items.join(", "));
        }
        format!("{x} IN ({})", items.join(", "))
    }

    fn compare(&mut self, op: CompareOp, left: &Expr, right: &Expr) -> String {
        self.comparable(&left.ty());
        let (one, other) = (self.operand(left), self.operand(right));
        match op {
            CompareOp::Eq
            | CompareOp::NotEq
            | CompareOp::Lt
            | CompareOp::LtEq
            | CompareOp::Gt
            | CompareOp::GtEq => format!("{one} {} {other}", op.symbol()),
            CompareOp::NotDistinct => format!("{one} <=> {other}"),
            CompareOp::Distinct => format!("NOT ({one} <=> {other})"),
        }
    }

    fn lambda(&mut self, lambda: &Lambda) -> String {
        let place = Place::default();
        if lambda.kind != LambdaKind::Once && super::host::calls_host(&lambda.body) {
            self.refuse("a function of Python in a lambda", place);
        }
        match lambda.kind {
            LambdaKind::Once => {
                let map: HashMap<_, _> = lambda
                    .parameters
                    .iter()
                    .copied()
                    .zip(lambda.args.iter().cloned())
                    .chain(captured(lambda, lambda.parameters.len()))
                    .collect();
                let mut body = lambda.body.clone();
                body.substitute(&map);
                self.expr(&body)
            }
            LambdaKind::Transform | LambdaKind::Filter => {
                let Some(list) = lambda.args.first() else {
                    return self.refuse("a lambda without a list", place);
                };
                let list = self.expr(list);
                let mut body = lambda.body.clone();
                body.substitute(&captured(lambda, 1).collect());
                let mut names = Vec::with_capacity(lambda.parameters.len());
                for (position, parameter) in lambda.parameters.iter().enumerate() {
                    let written = format!("l{}", parameter.0);
                    // Spark counts elements from 0.
                    let read = if position == 1 {
                        format!("CAST({written} + 1 AS BIGINT)")
                    } else {
                        written.clone()
                    };
                    self.parameters.insert(*parameter, read);
                    names.push(written);
                }
                let written = self.expr(&body);
                let function = if lambda.kind == LambdaKind::Filter { "filter" } else { "transform" };
                let spark = self.type_text(&lambda.ty, place);
                // Spark reads parentheses around several parameters alone.
                let names = if names.len() == 1 { names.concat() } else { format!("({})", names.join(", ")) };
                format!("CAST({function}({list}, {names} -> {written}) AS {spark})")
            }
            LambdaKind::Reduce => self.refuse("list_reduce", place),
            LambdaKind::Try => self.refuse("TRY", place),
        }
    }
}

/// What the body reads of the row around it, with what that is.
fn captured(lambda: &Lambda, before: usize) -> impl Iterator<Item = (inlay_sql::plan::ColumnId, Expr)> + '_ {
    lambda.captured.iter().copied().zip(lambda.args.iter().skip(before).cloned())
}

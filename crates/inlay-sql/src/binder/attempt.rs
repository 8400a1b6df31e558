//! `TRY(expression)`: NULL in the rows in which the expression fails.
//!
//! It is a lambda without parameters: what the expression reads of the row comes as arguments, so that plans move it as
//! one piece and the executor runs it as a program of its own.

use super::Binder;
use super::lambda::lambda_of;
use crate::parser::ast::{self, ExprKind, FunctionCall, Pos};
use crate::plan::{Expr, LambdaKind};
use inlay_functions::registry::is_aggregate;
use inlay_types::{Error, Result};

impl Binder<'_> {
    pub(super) fn attempt(&mut self, call: &FunctionCall, pos: Pos) -> Result<Expr> {
        let [written] = call.arguments.as_slice() else {
            let message = "TRY takes one expression: TRY(x::INTEGER)";
            return Err(self.at(Error::bind(message), pos));
        };
        if let Some((what, place)) = computed_elsewhere(written) {
            let message = format!("TRY does not catch the errors of {what}: put TRY into it");
            return Err(self.at(Error::bind(message), place));
        }
        let body = self.expr(written)?;
        if !body.is_deterministic() {
            let message = "TRY does not go with functions that give another value at each call";
            return Err(self.at(Error::bind(message), pos));
        }
        if !body.can_fail() {
            return Ok(body);
        }
        let ty = body.ty();
        Ok(lambda_of(LambdaKind::Try, Vec::new(), false, Vec::new(), body, ty))
    }
}

/// A part that is computed before the row's expressions are.
fn computed_elsewhere(expr: &ast::Expr) -> Option<(&'static str, Pos)> {
    match &expr.kind {
        ExprKind::Subquery(_)
        | ExprKind::RowQuery { .. }
        | ExprKind::Exists { .. }
        | ExprKind::InSubquery { .. }
        | ExprKind::Quantified { .. } => Some(("a subquery", expr.pos)),
        ExprKind::Window(_) => Some(("a window function", expr.pos)),
        ExprKind::Function(call) if is_aggregate(&call.name.value) => Some(("an aggregate", expr.pos)),
        _ => expr.children().into_iter().find_map(computed_elsewhere),
    }
}

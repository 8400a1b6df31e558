//! LIMIT and OFFSET: constant numbers, which plans and passes know, and those that only the run of the query tells:
//! percentages and subqueries.

use super::Binder;
use super::deliver::{Tail, sorted};
use super::scope::{Phase, Scope};
use super::subquery::attach;
use crate::parser::ast::{self, ExprKind, Query};
use crate::plan::window::{Frame, WindowCallee};
use crate::plan::{ColumnId, CompareOp, Expr, LimitBy, Plan, SortKey, WindowExpr};
use inlay_functions::registry::resolve_window;
use inlay_kernels::cast_value;
use inlay_types::{Error, LogicalType, Result, Value};
use std::sync::Arc;

impl Binder<'_> {
    /// What stands behind the body of a query.
    pub(super) fn tail<'q>(&mut self, query: &'q Query) -> Result<Tail<'q>> {
        let parts = || query.limit.iter().chain(&query.offset);
        let mut tail = Tail {
            order_by: &query.order_by,
            limit: None,
            offset: 0,
            with_ties: query.with_ties,
            computed: None,
        };
        if query.with_ties || !query.limit_percent && !parts().any(has_subquery) {
            let limit = query.limit.as_ref().map(|limit| self.row_count(limit, "LIMIT")).transpose()?;
            let offset = query.offset.as_ref().map(|offset| self.row_count(offset, "OFFSET")).transpose()?;
            tail.limit = limit.flatten();
            tail.offset = offset.flatten().unwrap_or(0);
            return Ok(tail);
        }
        self.scopes.push(Scope::new());
        let items = self.in_phase(Phase::Where, |binder| {
            let mut items: Vec<(ColumnId, Expr)> = Vec::with_capacity(2);
            let mut add =
                |binder: &mut Self, expr: &ast::Expr, name: &str, ty: LogicalType| -> Result<ColumnId> {
                    let value = binder.expr(expr)?;
                    let value = binder.cast_to(value, ty.clone(), expr.pos)?;
                    let id = binder.columns.add(name, ty);
                    items.push((id, value));
                    Ok(id)
                };
            let limit_type = if query.limit_percent { LogicalType::Double } else { LogicalType::BigInt };
            let mut by = LimitBy { limit: None, percent: query.limit_percent, offset: None };
            if let Some(limit) = &query.limit {
                by.limit = Some(add(binder, limit, "limit", limit_type)?);
            }
            if let Some(offset) = &query.offset {
                by.offset = Some(add(binder, offset, "offset", LogicalType::BigInt)?);
            }
            Ok((by, items))
        });
        self.scopes.pop();
        let ((by, items), pending) = items?;
        if let Some(Expr::Literal { value, .. }) =
            items.first().map(|(_, value)| value).filter(|_| by.percent)
        {
            self.check_percent(value, query)?;
        }
        tail.computed = Some((attach(Plan::single_row(), pending, &self.columns).project(items), by));
        Ok(tail)
    }

    /// `plan` in order and cut. The rows up to the last one and those that tie with it are those of a small enough rank.
    pub(super) fn cut(&mut self, plan: Plan, keys: Vec<SortKey>, tail: &Tail<'_>) -> Result<Plan> {
        let Some(limit) = tail.limit.filter(|_| tail.with_ties) else { return Ok(sorted(plan, keys, tail)) };
        let window = WindowExpr {
            function: WindowCallee::Window(Arc::new(resolve_window("rank", &[])?)),
            args: Vec::new(),
            partition: Vec::new(),
            order: keys.clone(),
            frame: Frame::default_of(!keys.is_empty()),
            filter: None,
            distinct: false,
            ignore_nulls: false,
            arg_order: Vec::new(),
        };
        let last = i64::try_from(limit.saturating_add(tail.offset)).unwrap_or(i64::MAX);
        let id = self.columns.add("rank", window.return_type());
        let within = Expr::compare(CompareOp::LtEq, self.column(id), Expr::literal(Value::BigInt(last)));
        // No row is the last one of none.
        let within = if limit == 0 { Expr::boolean(false) } else { within };
        let ranked = Plan::Window { input: Box::new(plan), windows: vec![(id, window)] };
        Ok(sorted(ranked.filter(vec![within]), keys, &Tail { limit: None, with_ties: false, ..tail.clone() }))
    }

    fn check_percent(&self, value: &Value, query: &Query) -> Result<()> {
        let share = cast_value(value, &LogicalType::Double).ok().and_then(|value| value.as_f64());
        match (share, &query.limit) {
            (Some(share), Some(limit)) if !(0.0..=100.0).contains(&share) => {
                let message = format!("LIMIT {share}%: expected 0 to 100 percent");
                Err(self.at(Error::out_of_range(message), limit.pos))
            }
            _ => Ok(()),
        }
    }
}

/// Whether a subquery stands in an expression of LIMIT.
fn has_subquery(expr: &ast::Expr) -> bool {
    match &expr.kind {
        ExprKind::Subquery(_) | ExprKind::RowQuery { .. } => true,
        ExprKind::Unary { expr, .. } | ExprKind::Cast { expr, .. } => has_subquery(expr),
        ExprKind::Binary { left, right, .. } => has_subquery(left) || has_subquery(right),
        ExprKind::Function(call) => call.arguments.iter().any(has_subquery),
        _ => false,
    }
}

//! Fractions of quantiles: what they may be, and that ORDER BY x DESC counts them from the other end.

use super::Binder;
use super::name::of_expr;
use crate::parser::ast::{self, ExprKind, FunctionCall, OrderItem};
use crate::plan::Expr;
use inlay_types::{Error, LogicalType, Result, Value};
use std::sync::Arc;

/// Whether an aggregate finds values by their rank.
pub(super) fn is_quantile(name: &str) -> bool {
    let names = [
        "quantile_cont",
        "quantile_disc",
        "quantile",
        "percentile_cont",
        "percentile_disc",
        "approx_quantile",
    ];
    names.contains(&name) || matches!(name, "reservoir_quantile" | "median" | "mad")
}

fn without_casts(mut expr: &ast::Expr) -> &ast::Expr {
    while let ExprKind::Cast { expr: inner, .. } = &expr.kind {
        expr = inner;
    }
    expr
}

impl Binder<'_> {
    /// Looks at the fractions of a quantile, which are folded. `quantile_disc(x, f ORDER BY x DESC)` counts them from above; any
    /// other order is one of rows, which changes nothing.
    pub(super) fn check_fraction(&self, name: &str, args: &mut [Expr], call: &FunctionCall) -> Result<()> {
        let [_, Expr::Literal { value, ty }, ..] = args else { return Ok(()) };
        if !is_quantile(name) {
            return Ok(());
        }
        let pos = call.arguments.get(1).map_or(call.name.pos, |fraction| fraction.pos);
        let refuse = |message: String| Err(self.at(Error::bind(message), pos));
        let fractions: Vec<&Value> = match &*value {
            Value::List { values, .. } | Value::Array { values, .. } => values.iter().collect(),
            other => vec![other],
        };
        if fractions.iter().any(|fraction| fraction.is_null()) {
            return refuse(format!("a fraction of {name} is NULL; it is a number from 0 to 1"));
        }
        let Some(numbers) = fractions.iter().map(|fraction| fraction.as_f64()).collect::<Option<Vec<f64>>>()
        else {
            // The types do not fit, which is told with the function's signatures.
            return Ok(());
        };
        let is_negative = |number: &f64| *number < 0.0;
        if numbers.iter().any(is_negative) && numbers.iter().any(|number| *number > 0.0) {
            return refuse(format!(
                "some fractions of {name} count from below and some, negative ones, from above; write two calls"
            ));
        }
        if name.starts_with("percentile_") && !call.order_by.is_empty() && numbers.iter().any(is_negative) {
            return refuse(format!(
                "a fraction of {name} is from 0 to 1; ORDER BY ... DESC counts from above"
            ));
        }
        let default = self.context.default_order.descending;
        let is_of_values = |key: &OrderItem| {
            let value = call.arguments.first().map(|value| of_expr(without_casts(value)));
            value.is_some_and(|value| value == of_expr(without_casts(&key.expr)))
        };
        let key = call.order_by.first().filter(|key| is_of_values(key));
        if key.is_some_and(|key| key.order.descending.unwrap_or(default)) {
            // Estimates know no other end.
            let is_estimate = matches!(name, "approx_quantile" | "reservoir_quantile");
            let turned = |number: f64| {
                let turned = if is_estimate || number == 0.0 { 1.0 - number } else { -number };
                Value::Double(turned)
            };
            (*value, *ty) = match &*value {
                Value::List { .. } | Value::Array { .. } => {
                    let element = Arc::new(LogicalType::Double);
                    let values = numbers.into_iter().map(turned).collect();
                    (Value::List { element, values }, LogicalType::list(LogicalType::Double))
                }
                _ => (turned(numbers.first().copied().unwrap_or_default()), LogicalType::Double),
            };
        }
        Ok(())
    }
}

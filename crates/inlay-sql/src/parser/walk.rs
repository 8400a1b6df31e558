//! The direct parts of an expression.

use super::ast::{Expr, ExprKind, FrameBound, WindowCall, WindowFrame};

/// The same list for reading and for rewriting.
macro_rules! children {
    ($kind:expr, $iter:ident, $option:ident, $($reference:tt)+) => {
        match $kind {
            ExprKind::Column(_)
            | ExprKind::Literal(_)
            | ExprKind::Parameter(_)
            | ExprKind::Position(_)
            | ExprKind::Given(_)
            | ExprKind::Columns(_)
            | ExprKind::Exists { .. }
            | ExprKind::Subquery(_)
            | ExprKind::RowQuery { .. }
            | ExprKind::Constants(_)
            | ExprKind::Default => Vec::new(),
            ExprKind::Unary { expr, .. }
            | ExprKind::Not(expr)
            | ExprKind::IsNull { expr, .. }
            | ExprKind::IsBool { expr, .. }
            | ExprKind::InSubquery { expr, .. }
            | ExprKind::Quantified { expr, .. }
            | ExprKind::Cast { expr, .. }
            | ExprKind::Collate { expr, .. }
            | ExprKind::Lambda { body: expr, .. }
            | ExprKind::Extract { expr, .. } => vec![$($reference)+ **expr],
            ExprKind::Binary { left, right, .. } => vec![$($reference)+ **left, $($reference)+ **right],
            ExprKind::And(items) | ExprKind::Or(items) | ExprKind::Row(items) => items.$iter().collect(),
            ExprKind::InList { expr, list, .. } => {
                std::iter::once($($reference)+ **expr).chain(list.$iter()).collect()
            }
            ExprKind::Between { expr, low, high, .. } => {
                vec![$($reference)+ **expr, $($reference)+ **low, $($reference)+ **high]
            }
            ExprKind::Like { expr, pattern, escape, .. } => {
                let both = [$($reference)+ **expr, $($reference)+ **pattern];
                both.into_iter().chain(escape.$option().map(|part| $($reference)+ **part)).collect()
            }
            ExprKind::Function(call) => {
                let named = call.named.$iter().map(|(_, value)| value);
                let filter = call.filter.$option().map(|part| $($reference)+ **part);
                let keys = call.order_by.$iter().map(|item| $($reference)+ item.expr);
                call.arguments.$iter().chain(named).chain(filter).chain(keys).collect()
            }
            ExprKind::Window(window) => {
                let WindowCall { call, over, .. } = $($reference)+ **window;
                let named = call.named.$iter().map(|(_, value)| value);
                let filter = call.filter.$option().map(|part| $($reference)+ **part);
                let keys = call.order_by.$iter().chain(over.order_by.$iter());
                let keys = keys.map(|item| $($reference)+ item.expr);
                let bounds = over.frame.$option().into_iter().flat_map(|frame| {
                    let WindowFrame { start, end, .. } = frame;
                    [start, end].into_iter().filter_map(|bound| match bound {
                        FrameBound::Preceding(offset) | FrameBound::Following(offset) => {
                            Some($($reference)+ **offset)
                        }
                        _ => None,
                    })
                });
                let arguments = call.arguments.$iter().chain(named).chain(filter);
                arguments.chain(over.partition_by.$iter()).chain(keys).chain(bounds).collect()
            }
            ExprKind::Case { operand, branches, otherwise } => {
                let operand = operand.$option().map(|part| $($reference)+ **part);
                let otherwise = otherwise.$option().map(|part| $($reference)+ **part);
                let branches = branches.$iter().flat_map(|(when, then)| [when, then]);
                operand.into_iter().chain(branches).chain(otherwise).collect()
            }
        }
    };
}

impl Expr {
    /// Direct subexpressions, left to right, without those of subqueries.
    pub fn children(&self) -> Vec<&Expr> {
        children!(&self.kind, iter, as_ref, &)
    }

    /// Direct subexpressions, left to right, for rewriting.
    pub fn children_mut(&mut self) -> Vec<&mut Expr> {
        children!(&mut self.kind, iter_mut, as_mut, &mut)
    }

    /// The list of expressions that an unpacked `*COLUMNS(..)` may spread in.
    pub fn list_mut(&mut self) -> Option<&mut Vec<Expr>> {
        match &mut self.kind {
            ExprKind::Function(call) => Some(&mut call.arguments),
            ExprKind::Window(window) => Some(&mut window.call.arguments),
            ExprKind::InList { list, .. } => Some(list),
            ExprKind::Row(items) => Some(items),
            _ => None,
        }
    }

    /// Whether it, or a part of it, is `COLUMNS(..)`.
    pub fn has_columns(&self) -> bool {
        matches!(self.kind, ExprKind::Columns(_)) || self.children().into_iter().any(Expr::has_columns)
    }
}

//! Has the texts, lists and other values of any size that an aggregation is given computed by a projection below it.
//!
//! An aggregation computes what it aggregates from whole batches, and copies what it keeps. A projection bounds its results and
//! makes fewer rows at once where they are large, and sinks are given few rows whose values are. An argument behind a FILTER stays:
//! it may fail on rows that do not pass.

use super::{Fragment, NodeNumber, Planner};
use crate::expression::Program;
use crate::operator::project::Project;
use inlay_sql::plan::{AggregateExpr, ColumnId, Expr};
use inlay_types::{PhysicalType, Result};

/// A constant of so many bytes is as well in each row as a value that is computed.
const LONG_CONSTANT: usize = 1 << 10;

/// Whether values of an expression that is no column may be large, or what they are computed from.
fn may_be_large(expr: &Expr) -> bool {
    match expr {
        Expr::Column { .. } => false,
        Expr::Literal { value, .. } => value.as_str().is_some_and(|text| text.len() >= LONG_CONSTANT),
        other => {
            other.ty().physical() == PhysicalType::View || other.children().into_iter().any(may_be_large)
        }
    }
}

impl Planner<'_> {
    /// Computes what may be large of the keys and arguments, which read columns from then on.
    pub(super) fn compute_texts(
        &mut self,
        mut fragment: Fragment,
        keys: &mut [Expr],
        aggregates: &mut [AggregateExpr],
        node: NodeNumber,
    ) -> Result<Fragment> {
        let mut made: Vec<(ColumnId, Expr)> = Vec::new();
        let unfiltered = aggregates.iter_mut().filter(|aggregate| aggregate.filter.is_none());
        let arguments = unfiltered.flat_map(AggregateExpr::expressions_mut);
        for expr in keys.iter_mut().chain(arguments).filter(|expr| may_be_large(expr)) {
            let ty = expr.ty();
            let known = made.iter().find(|(_, known)| known == expr && expr.is_deterministic());
            let id = match known {
                Some((id, _)) => *id,
                None => {
                    let id = self.columns.add("value", ty.clone());
                    made.push((id, expr.clone()));
                    id
                }
            };
            *expr = Expr::Column { id, ty };
        }
        if made.is_empty() {
            return Ok(fragment);
        }
        let layout = fragment.layout();
        let column = |id: &ColumnId| Expr::Column { id: *id, ty: self.columns.ty(*id) };
        let mut all: Vec<Expr> = fragment.columns.iter().map(column).collect();
        let (ids, computed): (Vec<ColumnId>, Vec<Expr>) = made.into_iter().unzip();
        all.extend(computed);
        let program = Program::compile_many(&all, &layout)?;
        fragment.push(Project::new(program, self.context.budget.clone()), node);
        fragment.columns.extend(ids);
        Ok(fragment)
    }
}

//! ASOF and positional joins.

use super::Binder;
use super::subquery::free_columns;
use crate::parser::ast::{JoinKind as WrittenJoin, Pos};
use crate::plan::{ColumnId, CompareOp, Expr, JoinKind, OrderedJoinKind, Plan};
use inlay_types::{Error, Result};

impl Binder<'_> {
    /// `left POSITIONAL JOIN right`.
    pub(super) fn positional_join(&self, left: Plan, right: Plan, pos: Pos) -> Result<Plan> {
        self.independent(&left, &right, pos)?;
        let (left, right) = (Box::new(left), Box::new(right));
        Ok(Plan::OrderedJoin { kind: OrderedJoinKind::Positional, left, right, conditions: Vec::new() })
    }

    /// ASOF: equalities and one inequality between the sides, which comes last in the plan.
    pub(super) fn asof_join(
        &self,
        kind: WrittenJoin,
        left: Plan,
        right: Plan,
        conditions: Vec<Expr>,
        pos: Pos,
    ) -> Result<Plan> {
        self.independent(&left, &right, pos)?;
        let sides = (left.output(), right.output());
        let (mut keys, mut inequality) = (Vec::new(), None);
        for condition in conditions {
            match &condition {
                Expr::Compare { op: CompareOp::Eq, left, right } if meets(left, right, &sides) => {
                    keys.push(condition);
                }
                Expr::Compare {
                    op: CompareOp::Lt | CompareOp::LtEq | CompareOp::Gt | CompareOp::GtEq,
                    left,
                    right,
                } if meets(left, right, &sides) && inequality.is_none() => inequality = Some(condition),
                _ => {
                    let message = "ASOF JOIN takes equalities and one of <, <=, >, >= between its two sides; \
                                   put other conditions into WHERE";
                    return Err(self.at(Error::bind(message), pos));
                }
            }
        }
        let Some(inequality) = inequality else {
            let message = "ASOF JOIN needs one of <, <=, >, >= between its two sides";
            return Err(self.at(Error::bind(message), pos));
        };
        keys.push(inequality);
        let (plan_kind, swapped) = match kind {
            WrittenJoin::Left => (JoinKind::Left, false),
            WrittenJoin::Right => (JoinKind::Left, true),
            WrittenJoin::Full => (JoinKind::Full, false),
            WrittenJoin::Semi => (JoinKind::Semi, false),
            WrittenJoin::Anti => (JoinKind::Anti, false),
            WrittenJoin::Inner | WrittenJoin::Cross | WrittenJoin::Positional => (JoinKind::Inner, false),
        };
        let kind = OrderedJoinKind::Asof { kind: plan_kind, build_left: swapped };
        let (left, right) = if swapped { (right, left) } else { (left, right) };
        Ok(Plan::OrderedJoin { kind, left: Box::new(left), right: Box::new(right), conditions: keys })
    }

    fn independent(&self, left: &Plan, right: &Plan, pos: Pos) -> Result<()> {
        let free = free_columns(right);
        if left.output().iter().any(|id| free.contains(id)) {
            return Err(self.at(Error::unsupported("LATERAL behind an ASOF or POSITIONAL JOIN"), pos));
        }
        Ok(())
    }
}

/// Whether one expression reads one side and the other the other.
fn meets(one: &Expr, other: &Expr, sides: &(Vec<ColumnId>, Vec<ColumnId>)) -> bool {
    let reads = |expr: &Expr, side: &[ColumnId]| {
        let columns = expr.columns();
        !columns.is_empty() && expr.is_deterministic() && columns.iter().all(|id| side.contains(id))
    };
    (reads(one, &sides.0) && reads(other, &sides.1)) || (reads(one, &sides.1) && reads(other, &sides.0))
}

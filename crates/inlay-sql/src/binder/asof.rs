//! ASOF and positional joins.

use super::Binder;
use super::subquery::free_columns;
use crate::parser::ast::{JoinKind as WrittenJoin, Pos};
use crate::plan::{ColumnId, CompareOp, Expr, JoinKind, OrderedJoinKind, Plan, SortKey, WindowExpr};
use inlay_types::{Error, LogicalType, Result, Value};

impl Binder<'_> {
    /// `left POSITIONAL JOIN right`.
    pub(super) fn positional_join(&self, left: Plan, right: Plan, pos: Pos) -> Result<Plan> {
        self.independent(&left, &right, pos)?;
        let (left, right) = (Box::new(left), Box::new(right));
        Ok(Plan::OrderedJoin { kind: OrderedJoinKind::Positional, left, right, conditions: Vec::new() })
    }

    /// ASOF: of the right rows that satisfy all conditions, the nearest by the inequality. The plan's join takes equalities
    /// and, as the last one, the inequality; what else is written is put around it.
    pub(super) fn asof_join(
        &mut self,
        kind: WrittenJoin,
        left: Plan,
        right: Plan,
        conditions: Vec<Expr>,
        pos: Pos,
    ) -> Result<Plan> {
        self.independent(&left, &right, pos)?;
        let mut parts = self.asof_parts((left.output(), right.output()), conditions, pos)?;
        if !parts.across.is_empty() {
            return self.asof_by_pairs(kind, left, right, parts, pos);
        }
        let keeps_left = !matches!(kind, WrittenJoin::Inner | WrittenJoin::Semi | WrittenJoin::Right);
        let keeps_right = matches!(kind, WrittenJoin::Right | WrittenJoin::Full);
        // A kept row that fails its side's condition stays, and has no partner: NULL is near to nothing.
        let guard = |keeps: bool, side: Plan, conditions: Vec<Expr>, value: &mut Expr| {
            if !keeps || conditions.is_empty() {
                return side.filter(conditions);
            }
            let ty = value.ty();
            let near = std::mem::replace(value, Expr::boolean(false));
            *value = Expr::Case {
                branches: vec![(Expr::and(conditions), near)],
                otherwise: Box::new(Expr::Literal { value: Value::Null, ty: ty.clone() }),
                ty,
            };
            side
        };
        let left = guard(keeps_left, left, parts.of_left, &mut parts.nearest.left);
        let right = guard(keeps_right, right, parts.of_right, &mut parts.nearest.right);
        let Nearest { op, left: one, right: other } = parts.nearest;
        let mut conditions = parts.keys;
        conditions.push(Expr::compare(op, one, other));
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
        Ok(Plan::OrderedJoin { kind, left: Box::new(left), right: Box::new(right), conditions })
    }

    /// Conditions that read both sides decide about pairs of rows: all pairs that satisfy them are made, and each left row
    /// keeps the nearest of its own.
    fn asof_by_pairs(
        &mut self,
        kind: WrittenJoin,
        left: Plan,
        right: Plan,
        parts: AsofParts,
        pos: Pos,
    ) -> Result<Plan> {
        let AsofParts { keys, nearest, of_left, of_right, across } = parts;
        let Nearest { op, left: one, right: other } = nearest;
        let mut conditions = keys;
        conditions.push(Expr::compare(op, one, other.clone()));
        conditions.extend(of_left.into_iter().chain(of_right).chain(across));
        let kind = match kind {
            WrittenJoin::Semi => return Ok(Plan::join(JoinKind::Semi, left, right, conditions)),
            WrittenJoin::Anti => return Ok(Plan::join(JoinKind::Anti, left, right, conditions)),
            WrittenJoin::Left => JoinKind::Left,
            WrittenJoin::Inner | WrittenJoin::Cross | WrittenJoin::Positional => JoinKind::Inner,
            WrittenJoin::Right | WrittenJoin::Full => {
                let feature = "ASOF RIGHT and FULL JOIN with a condition on both sides other than equalities and the inequality";
                return Err(self.at(Error::unsupported(feature), pos));
            }
        };
        let number = self.columns.add("row_number", LogicalType::BigInt);
        let windows = vec![(number, WindowExpr::row_number()?)];
        let left = Plan::Window { input: Box::new(left), windows };
        let descending = matches!(op, CompareOp::Gt | CompareOp::GtEq);
        Ok(Plan::GroupLimit {
            input: Box::new(Plan::join(kind, left, right, conditions)),
            groups: vec![self.column(number)],
            keys: vec![SortKey { expr: other, descending, nulls_first: false }],
            limit: Some(1),
            offset: 0,
        })
    }

    fn asof_parts(
        &self,
        sides: (Vec<ColumnId>, Vec<ColumnId>),
        conditions: Vec<Expr>,
        pos: Pos,
    ) -> Result<AsofParts> {
        let (mut keys, mut nearest) = (Vec::new(), None);
        let (mut of_left, mut of_right, mut across) = (Vec::new(), Vec::new(), Vec::new());
        for condition in conditions {
            match &condition {
                Expr::Compare { op: CompareOp::Eq, left, right } if meets(left, right, &sides) => {
                    keys.push(condition);
                }
                Expr::Compare {
                    op: op @ (CompareOp::Lt | CompareOp::LtEq | CompareOp::Gt | CompareOp::GtEq),
                    left,
                    right,
                } if meets(left, right, &sides) => {
                    if nearest.is_some() {
                        let message =
                            "ASOF JOIN has two inequalities between its sides, and one says what is nearest";
                        let hint = "put the other into WHERE, or write it as a condition on one side";
                        return Err(self.at(Error::bind(message).with_hint(hint), pos));
                    }
                    let is_in_order = left.columns().iter().all(|id| sides.0.contains(id));
                    let (op, left, right) =
                        if is_in_order { (*op, left, right) } else { (op.flipped(), right, left) };
                    nearest = Some(Nearest { op, left: (**left).clone(), right: (**right).clone() });
                }
                _ => {
                    let reads = condition.columns();
                    let target = if condition.is_volatile() {
                        &mut across
                    } else if reads.iter().all(|id| sides.0.contains(id)) {
                        &mut of_left
                    } else if reads.iter().all(|id| sides.1.contains(id)) {
                        &mut of_right
                    } else {
                        &mut across
                    };
                    target.push(condition);
                }
            }
        }
        let Some(nearest) = nearest else {
            let message = "ASOF JOIN needs one of <, <=, >, >= between its two sides";
            return Err(self.at(Error::bind(message), pos));
        };
        Ok(AsofParts { keys, nearest, of_left, of_right, across })
    }

    fn independent(&self, left: &Plan, right: &Plan, pos: Pos) -> Result<()> {
        let free = free_columns(right);
        if left.output().iter().any(|id| free.contains(id)) {
            return Err(self.at(Error::unsupported("LATERAL behind an ASOF or POSITIONAL JOIN"), pos));
        }
        Ok(())
    }
}

/// The conditions of an ASOF join.
struct AsofParts {
    /// Equalities between the sides.
    keys: Vec<Expr>,
    nearest: Nearest,
    /// What reads the left side alone, or nothing.
    of_left: Vec<Expr>,
    of_right: Vec<Expr>,
    /// What else reads both sides.
    across: Vec<Expr>,
}

/// The inequality that says which row is nearest, the left side first.
struct Nearest {
    op: CompareOp,
    left: Expr,
    right: Expr,
}

/// Whether one expression reads one side and the other the other.
fn meets(one: &Expr, other: &Expr, sides: &(Vec<ColumnId>, Vec<ColumnId>)) -> bool {
    let reads = |expr: &Expr, side: &[ColumnId]| {
        let columns = expr.columns();
        !columns.is_empty() && expr.is_deterministic() && columns.iter().all(|id| side.contains(id))
    };
    (reads(one, &sides.0) && reads(other, &sides.1)) || (reads(one, &sides.1) && reads(other, &sides.0))
}

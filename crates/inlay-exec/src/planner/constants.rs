//! Columns that have one value in all rows that an operator sees, because of the query's shape and whatever the data are:
//! those of scalar subqueries, and of other relations of one row that all rows are joined with.
//!
//! Functions of the host are given such values as scalars, as they are given literals. Columns are noted where their
//! relation is joined and hold for everything above, unless an outer join sets some rows to NULL.
//!
//! A relation that is joined without a condition may have several rows, but each stands beside all rows of the other side. A
//! BLOB of it, such as a model, is given to a function one at a time: a call for each, with the rows that it stands beside.
//! That goes by the query's shape as well: a function that reads anything but BLOBs of the relation, or nothing of other
//! relations, is given arrays.

use super::Planner;
use inlay_sql::optimizer::properties::is_at_most_one_row;
use inlay_sql::plan::{ColumnId, Expr, JoinKind, Plan};
use inlay_types::LogicalType;
use std::collections::HashSet;

impl Planner<'_> {
    /// Notes what is constant behind a join, whose sides are lowered.
    pub(super) fn note_joined(&mut self, kind: JoinKind, left: &Plan, right: &Plan, has_conditions: bool) {
        let (left_is_kept, right_is_kept) = match kind {
            JoinKind::Inner => (true, true),
            // Without conditions either all rows have a partner or none has.
            JoinKind::Left | JoinKind::Single => (true, !has_conditions),
            JoinKind::Semi | JoinKind::Anti | JoinKind::Mark(_) => (true, false),
            JoinKind::Full => (false, false),
        };
        // A second row of a scalar subquery is an error.
        let right_is_one = kind == JoinKind::Single || is_at_most_one_row(right);
        if !has_conditions && matches!(kind, JoinKind::Inner | JoinKind::Left) {
            for side in [left, right] {
                // A side within a side is the narrower one.
                let number = self.sides.len();
                side.output().into_iter().for_each(|id| {
                    self.sides.entry(id).or_insert(number);
                });
            }
        }
        self.note_side(left, left_is_kept, is_at_most_one_row(left));
        self.note_side(right, right_is_kept, right_is_one);
    }

    /// Forgets the columns of a node that may set some rows of its inputs to NULL.
    pub(super) fn note_mixed(&mut self, plan: &Plan) {
        self.note_side(plan, false, false);
    }

    fn note_side(&mut self, side: &Plan, is_kept: bool, is_one: bool) {
        for id in side.output() {
            if !is_kept {
                self.constants.remove(&id);
            } else if is_one {
                self.constants.insert(id);
            }
        }
    }

    /// The arguments of a call that it is given one value of at a time.
    pub(super) fn apart(&self, args: &[Expr]) -> Vec<usize> {
        let side_of_blob = |arg: &Expr| match arg {
            Expr::Column { id, ty: LogicalType::Blob } if !self.constants.contains(id) => self.sides.get(id),
            _ => None,
        };
        let read_otherwise: HashSet<usize> = args
            .iter()
            .filter(|arg| side_of_blob(arg).is_none())
            .flat_map(Expr::columns)
            .filter_map(|id| self.sides.get(&id).copied())
            .collect();
        let is_apart = |arg: &Expr| side_of_blob(arg).is_some_and(|side| !read_otherwise.contains(side));
        let reads_rows =
            |arg: &Expr| !is_apart(arg) && arg.columns().iter().any(|id| !self.constants.contains(id));
        if !args.iter().any(reads_rows) {
            return Vec::new();
        }
        (0..args.len()).filter(|&index| is_apart(&args[index])).collect()
    }

    /// Notes expressions over constant columns.
    pub(super) fn note_projected(&mut self, items: &[&(ColumnId, Expr)]) {
        let is_noted = |item: &&&(ColumnId, Expr)| {
            !matches!(item.1, Expr::Literal { .. }) && is_constant(&item.1, &self.constants)
        };
        let noted: Vec<ColumnId> = items.iter().filter(is_noted).map(|(id, _)| *id).collect();
        self.constants.extend(noted);
    }
}

/// Whether an expression is a literal, or of constant columns alone.
pub(super) fn is_constant(expr: &Expr, constants: &HashSet<ColumnId>) -> bool {
    if matches!(expr, Expr::Literal { .. }) {
        return true;
    }
    let columns = expr.columns();
    !columns.is_empty() && expr.is_deterministic() && columns.iter().all(|id| constants.contains(id))
}

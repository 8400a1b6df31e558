//! Outer joins that are inner ones, because an operator above lets no row through that the join filled up with NULLs.

use super::column_set::ColumnSet;
use super::properties::output_set;
use crate::plan::{ColumnId, Expr, JoinKind, Plan};

/// Makes outer joins of `plan` inner ones where rows with NULL in a column of `rejected` go nowhere. Looks through the operators
/// that hand rows on one by one.
pub fn strengthen(plan: &mut Plan, rejected: &ColumnSet) {
    match plan {
        Plan::Join { kind, left, right, .. } => {
            let (of_left, of_right) = (output_set(left), output_set(right));
            *kind = match (*kind, rejected.intersects(&of_left), rejected.intersects(&of_right)) {
                (JoinKind::Left, _, true) | (JoinKind::Full, true, true) => JoinKind::Inner,
                (JoinKind::Full, true, false) => JoinKind::Left,
                (kind, ..) => kind,
            };
            match kind {
                JoinKind::Inner => {
                    strengthen(left, rejected);
                    strengthen(right, rejected);
                }
                JoinKind::Left | JoinKind::Semi | JoinKind::Anti => strengthen(left, rejected),
                _ => {}
            }
        }
        Plan::Filter { input, .. } => strengthen(input, rejected),
        Plan::Project { input, items } => {
            let below: ColumnSet = items.iter().filter_map(|item| passed(item, rejected)).collect();
            strengthen(input, &below);
        }
        _ => {}
    }
}

/// The input's column that a projection hands on as a rejected one.
fn passed((id, expr): &(ColumnId, Expr), rejected: &ColumnSet) -> Option<ColumnId> {
    match expr {
        Expr::Column { id: from, .. } if rejected.contains(*id) => Some(*from),
        _ => None,
    }
}

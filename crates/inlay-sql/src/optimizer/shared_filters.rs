//! What the readers of a shared plan have in common: a row that no reader wants need not be computed.
//!
//! A shared plan is computed once for readers that often filter it differently (`WHERE month = 1` here, `month = 2` there).
//! [`wanted`] is the disjunction of these filters, in terms of the definition. The readers keep their own.

use super::column_set::ColumnSet;
use super::rewrite::conjuncts_of;
use super::simplify;
use crate::plan::{ColumnId, Columns, Expr, Plan, SharedId};
use std::collections::HashMap;

/// With more readers than these the disjunction costs more than it saves.
const READERS_MAX: usize = 16;

/// What holds for each row of `definition` that some [`Plan::SharedScan`] of `id` in `body` lets through; `None` if that is
/// every row, as far as is known. `body` has been pushed down: filters are right above the scans.
pub fn wanted(id: SharedId, definition: &Plan, body: &Plan, columns: &Columns) -> Option<Expr> {
    let mut readers = Vec::new();
    if !collect(body, id, &[], columns, &mut readers) || readers.is_empty() || definition.is_volatile() {
        return None;
    }
    Some(simplify::expression(Expr::Or(readers)))
}

/// Adds what each scan of `id` lets through. `false` if one lets all through, or there are too many.
fn collect(plan: &Plan, id: SharedId, filters: &[Expr], columns: &Columns, readers: &mut Vec<Expr>) -> bool {
    match plan {
        Plan::SharedScan { id: own, columns: scanned } if *own == id => {
            let Some(filter) = of_definition(filters, scanned, columns) else { return false };
            readers.push(filter);
            readers.len() <= READERS_MAX
        }
        Plan::Filter { input, predicates } => collect(input, id, predicates, columns, readers),
        other => other.inputs().into_iter().all(|input| collect(input, id, &[], columns, readers)),
    }
}

/// The filters above a scan that may be evaluated below it, over the columns of the definition.
fn of_definition(filters: &[Expr], scanned: &[(ColumnId, ColumnId)], columns: &Columns) -> Option<Expr> {
    let own: ColumnSet = scanned.iter().map(|(new, _)| *new).collect();
    let usable = |p: &Expr| {
        let reads = ColumnSet::of(p);
        !reads.is_empty() && reads.is_subset(&own) && p.is_deterministic() && !p.can_fail()
    };
    let mut usable: Vec<Expr> = conjuncts_of(filters.to_vec()).into_iter().filter(usable).collect();
    if usable.is_empty() {
        return None;
    }
    let map: HashMap<ColumnId, Expr> =
        scanned.iter().map(|(new, from)| (*new, columns.expr(*from))).collect();
    usable.iter_mut().for_each(|p| p.substitute(&map));
    Some(Expr::and(usable))
}

//! Takes out projections that only give columns new names, such as those of derived tables and inlined views.
//!
//! Ids are unique, so a column `new := old` can be called `old` everywhere above; what read `new` reads `old`.

use super::properties::{as_column, is_pass_through, output_set};
use super::rewrite::rename_columns;
use crate::plan::{ColumnId, Expr, Plan};
use std::collections::HashMap;

/// Renames `new` to `old` throughout a plan and in the list of delivered columns.
pub fn run(plan: &mut Plan, output: &mut [(ColumnId, String)]) {
    let mut map = HashMap::new();
    collect(plan, &mut map);
    if map.is_empty() {
        return;
    }
    let resolved: HashMap<ColumnId, ColumnId> = map
        .iter()
        .map(|(new, old)| {
            let mut at = *old;
            while let Some(next) = map.get(&at) {
                at = *next;
            }
            (*new, at)
        })
        .collect();
    rename_columns(plan, &resolved);
    drop_duplicates(plan);
    for (id, _) in output {
        if let Some(old) = resolved.get(id) {
            *id = *old;
        }
    }
}

fn collect(plan: &Plan, map: &mut HashMap<ColumnId, ColumnId>) {
    if let Plan::Project { input, items } = plan {
        let renamed = items.iter().filter(|(id, e)| !is_pass_through(*id, e));
        let renamed: Vec<_> = renamed.filter_map(|(new, e)| Some((*new, as_column(e)?))).collect();
        if !renamed.is_empty() {
            // An outer column is not the same: it has a value also where this plan has no row.
            let available = output_set(input);
            map.extend(renamed.into_iter().filter(|(_, old)| available.contains(*old)));
        }
    }
    plan.inputs().into_iter().for_each(|input| collect(input, map));
}

/// A column that had two names is handed on once.
fn drop_duplicates(plan: &mut Plan) {
    if let Plan::Project { items, .. } = plan {
        let mut seen: Vec<ColumnId> = Vec::with_capacity(items.len());
        items.retain(|(id, e)| {
            let is_first = !seen.contains(id);
            seen.push(*id);
            is_first || !matches!(e, Expr::Column { .. })
        });
    }
    plan.inputs_mut().into_iter().for_each(drop_duplicates);
}

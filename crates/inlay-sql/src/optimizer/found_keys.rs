//! Keys that nobody declared: notes at scans which columns are keys by what their table holds now.
//!
//! `CREATE TABLE t AS SELECT ...` declares nothing, but numbers that ascend through a table ([`TableSnapshot::ascends`]) are a
//! key of it until it changes. The executor sees to it that the table is still what it was here. Asked of columns that are
//! joined or grouped by, and only where there is an aggregation to gain by it.
//!
//! [`TableSnapshot::ascends`]: inlay_storage::TableSnapshot::ascends

use super::column_set::ColumnSet;
use super::properties::{as_column, as_column_equality};
use super::rewrite::{any_node, with_stack};
use crate::plan::Plan;

/// Notes keys wherever a plan groups by several columns, or over joins.
pub fn run(plan: &mut Plan) {
    let may_gain = |node: &Plan| match node {
        Plan::Aggregate { input, groups, .. } => {
            groups.len() > 1 || groups.len() == 1 && matches!(**input, Plan::Join { .. })
        }
        _ => false,
    };
    if any_node(plan, &mut |node| may_gain(node)) {
        let mut wanted = ColumnSet::new();
        collect(plan, &mut wanted);
        note(plan, &wanted);
    }
}

fn collect(plan: &Plan, wanted: &mut ColumnSet) {
    match plan {
        Plan::Join { conditions, .. } => {
            for (a, b) in conditions.iter().filter_map(as_column_equality) {
                wanted.insert(a);
                wanted.insert(b);
            }
        }
        Plan::Aggregate { groups, .. } => {
            groups.iter().filter_map(|(_, expr)| as_column(expr)).for_each(|id| {
                wanted.insert(id);
            });
        }
        _ => {}
    }
    with_stack(|| plan.inputs().into_iter().for_each(|input| collect(input, wanted)));
}

fn note(plan: &mut Plan, wanted: &ColumnSet) {
    if let Plan::Scan { table, columns, .. } = plan {
        let snapshot = table.table.snapshot();
        for column in columns.iter_mut().filter(|column| wanted.contains(column.id)) {
            // What cannot be read now is reported when it has to be.
            let ascends = snapshot.ascends(column.index).unwrap_or(false);
            column.key_at = ascends.then(|| snapshot.version());
        }
    }
    with_stack(|| plan.inputs_mut().into_iter().for_each(|input| note(input, wanted)));
}

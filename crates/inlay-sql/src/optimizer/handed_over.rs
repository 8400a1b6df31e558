//! Parts of a plan go to servers that have what they read.
//!
//! What comes back are sources; columns of them that nobody reads any more, such as those of conditions that were handed over, are left out.

use super::prune_columns;
use crate::plan::{ColumnId, Columns, Plan};
use inlay_types::Result;

/// Takes a plan and gives one with the same result.
pub type HandOver<'a> = dyn Fn(Plan, &Columns) -> Result<Plan> + 'a;

/// Hands over what `hand_over` takes of a plan.
pub(super) fn run(
    plan: Plan,
    columns: &Columns,
    output: &[(ColumnId, String)],
    hand_over: &HandOver<'_>,
) -> Result<Plan> {
    let plan = hand_over(plan, columns)?;
    let mut plan = prune_columns::run(plan, output.iter().map(|(id, _)| *id));
    super::rewrite::with_stack(|| narrow(&mut plan));
    Ok(plan)
}

fn narrow(plan: &mut Plan) {
    if let Plan::Source { source, columns, .. } = plan {
        let wanted: Vec<usize> = columns.iter().map(|column| column.index).collect();
        if let Some(narrow) = source.narrowed(&wanted) {
            *source = narrow;
            columns.iter_mut().enumerate().for_each(|(index, column)| column.index = index);
        }
        return;
    }
    plan.inputs_mut().into_iter().for_each(narrow);
}

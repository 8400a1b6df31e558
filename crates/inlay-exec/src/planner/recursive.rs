//! WITH RECURSIVE: the first round is a pipeline of its own; each further round lowers the step when it is run.

use super::{Fragment, Needed, NodeNumber, Planner};
use crate::operator::materialize::{Materialize, RowBuffer};
use crate::operator::recursive::{Keep, Recursion, not_recursive};
use inlay_sql::plan::{Plan, SharedId};
use inlay_types::Result;
use std::collections::HashMap;
use std::sync::Arc;

impl Planner<'_> {
    pub(super) fn lower_recursive(&mut self, node: NodeNumber, plan: &Plan) -> Result<Fragment> {
        let Plan::Recursive { id, all, keyed, initial, step, initial_columns, step_columns, columns } = plan
        else {
            return Err(not_recursive());
        };
        let needed: Needed = initial_columns.iter().copied().collect();
        let fragment = self.lower(initial, &needed, &[])?;
        let layout = fragment.layout();
        let positions = initial_columns.iter().map(|id| layout.require(*id)).collect::<Result<_>>()?;
        let sink = Materialize::new(self.context);
        let first = (sink.buffer(), positions);
        self.close(fragment, Arc::new(sink), node);
        self.next_node += node_count(step);

        let (context, all_columns) = (self.context.clone(), self.columns.clone());
        // Only what the step reads is kept until the recursion ends.
        let shared: HashMap<SharedId, _> = self
            .shared
            .iter()
            .filter(|(id, _)| reads(step, **id))
            .map(|(id, (buffer, columns))| (*id, (Arc::clone(buffer), columns.clone())))
            .collect();
        let (id, step, made, wanted) = (*id, step.clone(), columns.clone(), step_columns.clone());
        let recurring = keyed.as_ref().map(|keyed| keyed.recurring);
        let run = move |working: &Arc<RowBuffer>, all_rows: &Arc<RowBuffer>| {
            let mut planner = Planner::new(&context, &all_columns, &|_| None);
            planner.shared.clone_from(&shared);
            planner.shared.insert(id, (Arc::clone(working), made.clone()));
            if let Some(recurring) = recurring {
                planner.shared.insert(recurring, (Arc::clone(all_rows), made.clone()));
            }
            let needed: Needed = wanted.iter().copied().collect();
            let fragment = planner.lower(&step, &needed, &[])?;
            let layout = fragment.layout();
            let positions = wanted.iter().map(|id| layout.require(*id)).collect::<Result<_>>()?;
            let sink = Materialize::new(&context);
            let rows = sink.buffer();
            planner.close(fragment, Arc::new(sink), 0);
            Ok((planner.pipelines, rows, positions))
        };
        let keep = match keyed {
            None => Keep::Round,
            Some(keyed) if keyed.keys.is_empty() => Keep::AllRounds,
            Some(keyed) => Keep::Keys(keyed.keys.clone()),
        };
        let recursion = Recursion::new(self.context, first, self.types(columns), *all, keep, Box::new(run));
        Ok(Fragment::new(Arc::new(recursion), columns.clone(), node))
    }
}

fn node_count(plan: &Plan) -> usize {
    1 + plan.inputs().into_iter().map(node_count).sum::<usize>()
}

fn reads(plan: &Plan, wanted: SharedId) -> bool {
    matches!(plan, Plan::SharedScan { id, .. } if *id == wanted)
        || plan.inputs().into_iter().any(|input| reads(input, wanted))
}

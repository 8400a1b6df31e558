//! WITH RECURSIVE: the first round is a pipeline of its own; each further round lowers the step when it is run. Of a step that only
//! filters and computes the rows of the round before, the operators are kept: they are most of what a round of few rows costs.

use super::{Fragment, Needed, NodeNumber, Planner};
use crate::operator::materialize::{BufferScan, Materialize, RowBuffer};
use crate::operator::recursive::{Alike, Keep, Recursion, RowByRow, not_recursive};
use crate::pipeline::Pipeline;
use inlay_sql::plan::{Expr, Plan, SharedId};
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
        let (is_alike, round) = (is_row_by_row(&step, id), Alike::default());
        let alike = Arc::clone(&round);
        let run = move |working: &Arc<RowBuffer>, all_rows: &Arc<RowBuffer>| {
            if let Some(round) = round.get() {
                let scan = BufferScan::new(vec![(Arc::clone(working), round.read.clone())]);
                let sink = Materialize::new(&context);
                let rows = sink.buffer();
                let (nodes, operators) = (round.nodes.clone(), round.operators.clone());
                let pipeline = Pipeline { nodes, source: Arc::new(scan), operators, sink: Arc::new(sink) };
                return Ok((vec![pipeline], rows, round.made.clone()));
            }
            let mut planner = Planner::new(&context, &all_columns, &|_| None);
            planner.shared.clone_from(&shared);
            planner.shared.insert(id, (Arc::clone(working), made.clone()));
            if let Some(recurring) = recurring {
                planner.shared.insert(recurring, (Arc::clone(all_rows), made.clone()));
            }
            let needed: Needed = wanted.iter().copied().collect();
            let fragment = planner.lower(&step, &needed, &[])?;
            let layout = fragment.layout();
            let positions: Vec<usize> = wanted.iter().map(|id| layout.require(*id)).collect::<Result<_>>()?;
            let sink = Materialize::new(&context);
            let rows = sink.buffer();
            planner.close(fragment, Arc::new(sink), 0);
            if let (true, [pipeline], [read]) = (is_alike, &planner.pipelines[..], &planner.shared_read[..]) {
                let (operators, nodes) = (pipeline.operators.clone(), pipeline.nodes.clone());
                // Somebody else may have been first, with the same.
                let _ = round.set(RowByRow { read: read.clone(), operators, nodes, made: positions.clone() });
            }
            Ok((planner.pipelines, rows, positions))
        };
        let keep = match keyed {
            None => Keep::Round,
            Some(keyed) if keyed.keys.is_empty() => Keep::AllRounds,
            Some(keyed) => Keep::Keys(keyed.keys.clone()),
        };
        let recursion =
            Recursion::new(self.context, first, self.types(columns), *all, keep, (Box::new(run), alike));
        Ok(Fragment::new(Arc::new(recursion), columns.clone(), node))
    }
}

fn node_count(plan: &Plan) -> usize {
    1 + plan.inputs().into_iter().map(node_count).sum::<usize>()
}

/// Whether a step makes its rows of single rows of the round before, in the same way each time.
fn is_row_by_row(step: &Plan, rows: SharedId) -> bool {
    let is_known = |expr: &Expr| expr.is_deterministic() && !expr.calls_external();
    if let Plan::Project { input, items } = step {
        return items.iter().all(|(_, expr)| is_known(expr)) && is_row_by_row(input, rows);
    }
    if let Plan::Filter { input, predicates } = step {
        return predicates.iter().all(is_known) && is_row_by_row(input, rows);
    }
    matches!(step, Plan::SharedScan { id, .. } if *id == rows)
}

fn reads(plan: &Plan, wanted: SharedId) -> bool {
    matches!(plan, Plan::SharedScan { id, .. } if *id == wanted)
        || plan.inputs().into_iter().any(|input| reads(input, wanted))
}

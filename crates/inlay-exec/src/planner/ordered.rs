//! ASOF and positional joins.

use super::{Fragment, Incoming, Needed, NodeNumber, Planner, with_expressions};
use crate::operator::hash_join::{Discard, JoinOptions, JoinSide, split_conditions};
use crate::operator::materialize::{BufferScan, Materialize};
use crate::operator::sorted_join::plan_asof_join;
use crate::operator::zip::ZipScan;
use crate::pipeline::DynSource;
use inlay_sql::plan::{ColumnId, OrderedJoinKind, Plan};
use inlay_types::{Error, Result};
use std::sync::Arc;

impl Planner<'_> {
    pub(super) fn lower_ordered_join(
        &mut self,
        node: NodeNumber,
        plan: &Plan,
        needed: &Needed,
    ) -> Result<Fragment> {
        let Plan::OrderedJoin { kind, left, right, conditions } = plan else {
            return Err(Error::internal("not an ordered join"));
        };
        let below = with_expressions(needed, conditions.iter());
        let of_side = |side: &Plan| -> Needed {
            let columns = side.output();
            below.iter().copied().filter(|id| columns.contains(id)).collect()
        };
        let output: Vec<ColumnId> = plan.output().into_iter().filter(|id| needed.contains(id)).collect();
        let none: &[Incoming] = &[];
        match *kind {
            OrderedJoinKind::Positional => {
                let left = self.lower(left, &of_side(left), none)?;
                let right_needed = of_side(right);
                let left = self.kept(left, node);
                let right = self.lower(right, &right_needed, none)?;
                let right = self.kept(right, node);
                let columns = left.0.iter().chain(&right.0).copied().collect();
                let types = (self.types(&left.0), self.types(&right.0));
                let zip = ZipScan::new((left.1, types.0), (right.1, types.1));
                Ok(Fragment::new(Arc::new(zip), columns, node))
            }
            OrderedJoinKind::Asof { kind, build_left } => {
                let Some((inequality, equalities)) = conditions.split_last() else {
                    return Err(Error::internal("an ASOF join without conditions"));
                };
                // Node numbers are in preorder, whichever side is lowered first.
                let left_node = self.next_node;
                let right_node = left_node + super::join::count_nodes(left);
                let after = right_node + super::join::count_nodes(right);
                let (first, first_node, second, second_node) = match build_left {
                    true => (left, left_node, right, right_node),
                    false => (right, right_node, left, left_node),
                };
                self.next_node = first_node;
                let build = self.lower(first, &of_side(first), none)?;
                let build_place = self.pipelines.len();
                self.next_node = second_node;
                let probe = self.lower(second, &of_side(second), none)?;
                self.next_node = after;
                let side = |fragment: &Fragment| JoinSide {
                    columns: fragment.columns.clone(),
                    types: self.types(&fragment.columns),
                };
                let (left_side, right_side) =
                    if build_left { (side(&build), side(&probe)) } else { (side(&probe), side(&build)) };
                let (keys, rest) =
                    split_conditions(equalities.to_vec(), &left_side.columns, &right_side.columns);
                if !rest.is_empty() {
                    return Err(Error::internal("an ASOF join with conditions beside its keys"));
                }
                let options = JoinOptions {
                    kind,
                    build_left,
                    left: left_side,
                    right: right_side,
                    keys,
                    conditions: Vec::new(),
                    output: output.clone(),
                    filters_applied: false,
                };
                let parts = plan_asof_join(&options, inequality, self.context)?;
                self.close(build, parts.build, node);
                if let Some(pipeline) = self.pipelines.pop() {
                    self.pipelines.insert(build_place, pipeline);
                }
                let mut probe = probe;
                probe.push_shared(parts.probe, node);
                probe.columns = output.clone();
                let Some(outer) = parts.outer else { return Ok(probe) };
                self.with_outer(probe, outer, parts.probe_emits, output, node)
            }
        }
    }

    /// The rows of the probe, and behind them those that only its end decides.
    pub(super) fn with_outer(
        &mut self,
        probe: Fragment,
        outer: Arc<dyn DynSource>,
        probe_emits: bool,
        output: Vec<ColumnId>,
        node: NodeNumber,
    ) -> Result<Fragment> {
        let outer = Fragment::new(outer, output.clone(), node);
        if !probe_emits {
            self.close(probe, Arc::new(Discard), node);
            return Ok(outer);
        }
        let all: Vec<usize> = (0..output.len()).collect();
        let mut buffers = Vec::new();
        for fragment in [probe, outer] {
            let sink = Materialize::new(self.context);
            buffers.push((sink.buffer(), all.clone()));
            self.close(fragment, Arc::new(sink), node);
        }
        Ok(Fragment::new(Arc::new(BufferScan::new(buffers)), output, node))
    }

    /// Collects the rows of a fragment in memory.
    fn kept(
        &mut self,
        fragment: Fragment,
        node: NodeNumber,
    ) -> (Vec<ColumnId>, Arc<crate::operator::materialize::RowBuffer>) {
        let columns = fragment.columns.clone();
        let sink = Materialize::with_limit(self.context, None, 0);
        let buffer = sink.buffer();
        self.close(fragment, Arc::new(sink), node);
        (columns, buffer)
    }
}

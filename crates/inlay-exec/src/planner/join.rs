//! Joins: which side is stored, which filters go sideways, and where rows without partner come out.

use super::{Fragment, Incoming, Needed, NodeNumber, Planner, with_expressions};
use crate::dynamic_filter::DynamicFilter;
use crate::operator::hash_join::{JoinKey, JoinOptions, JoinSide, plan_join, split_conditions};
use inlay_sql::plan::{ColumnId, Expr, JoinKind, Plan};
use inlay_types::{Error, Result};
use std::cell::Cell;
use std::rc::Rc;

impl Planner<'_> {
    pub(super) fn lower_join(
        &mut self,
        node: NodeNumber,
        plan: &Plan,
        needed: &Needed,
        incoming: &[Incoming],
    ) -> Result<Fragment> {
        let Plan::Join { kind, left, right, conditions, build_left } = plan else {
            return Err(Error::internal("not a join"));
        };
        let (kind, build_left) = (*kind, *build_left);
        let (left_columns, right_columns) = (left.output(), right.output());
        let has_conditions = !conditions.is_empty();
        let below = with_expressions(needed, conditions.iter());
        let of_side =
            |side: &[ColumnId]| -> Needed { below.iter().copied().filter(|id| side.contains(id)).collect() };
        let (left_needed, right_needed) = (of_side(&left_columns), of_side(&right_columns));
        let (mut keys, conditions) = split_conditions(conditions.clone(), &left_columns, &right_columns);
        let sideways = make_slots(kind, build_left, conditions.is_empty(), &mut keys);
        let (to_left, to_right) = pass_down(kind, incoming, &left_columns, &right_columns);

        // Node numbers are in preorder, whichever side is lowered first.
        let left_node = self.next_node;
        let right_node = left_node + count_nodes(left);
        let after = right_node + count_nodes(right);
        let (
            first,
            first_node,
            first_needed,
            first_incoming,
            second,
            second_node,
            second_needed,
            second_incoming,
        ) = if build_left {
            (left, left_node, left_needed, to_left, right, right_node, right_needed, to_right)
        } else {
            (right, right_node, right_needed, to_right, left, left_node, left_needed, to_left)
        };
        self.next_node = first_node;
        let build = self.lower(first, &first_needed, &first_incoming)?;
        // The build side must be final before anything of the probe side starts.
        let build_place = self.pipelines.len();
        self.next_node = second_node;
        let probe = self.lower(second, &second_needed, &[second_incoming, sideways.clone()].concat())?;
        self.next_node = after;
        self.note_joined(kind, left, right, has_conditions);

        let side = |fragment: &Fragment| JoinSide {
            columns: fragment.columns.clone(),
            types: self.types(&fragment.columns),
        };
        let (left_side, right_side) =
            if build_left { (side(&build), side(&probe)) } else { (side(&probe), side(&build)) };
        let output: Vec<ColumnId> = plan.output().into_iter().filter(|id| needed.contains(id)).collect();
        let options = JoinOptions {
            kind,
            build_left,
            left: left_side,
            right: right_side,
            keys,
            conditions,
            output: output.clone(),
            filters_applied: !sideways.is_empty() && sideways.iter().all(|s| s.required && s.attached.get()),
        };
        let parts = plan_join(options, self.context)?;
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

/// Number of nodes of a plan.
pub(super) fn count_nodes(plan: &Plan) -> NodeNumber {
    1 + plan.inputs().into_iter().map(count_nodes).sum::<NodeNumber>()
}

/// Slots for the keys whose probe side is a plain column, where probe rows without partner vanish.
fn make_slots(
    kind: JoinKind,
    build_left: bool,
    equalities_only: bool,
    keys: &mut [JoinKey],
) -> Vec<Incoming> {
    let vanish = match kind {
        JoinKind::Inner => true,
        JoinKind::Semi => true,
        JoinKind::Left | JoinKind::Anti => build_left,
        JoinKind::Full | JoinKind::Mark(_) | JoinKind::Single => false,
    };
    let mut slots = Vec::new();
    if !vanish {
        return slots;
    }
    // A semi join by one plain equality has nothing left to do behind an exact filter.
    let alone = kind == JoinKind::Semi && !build_left && equalities_only && keys.len() == 1;
    for key in keys.iter_mut() {
        // Where NULLs are equal there is a filter if the build side has none.
        let required = alone && !key.null_equal;
        let probe = if build_left { &key.right } else { &key.left };
        if let Expr::Column { id, .. } = probe {
            let filter = DynamicFilter::new();
            key.filter = Some(filter.clone());
            slots.push(Incoming { column: *id, filter, required, attached: Rc::new(Cell::new(false)) });
        }
    }
    slots
}

/// Which filters from above may run below a join, by side. Where a side is padded with NULLs its rows must not be
/// filtered before the join; where it decides about the other side's rows neither.
fn pass_down(
    kind: JoinKind,
    incoming: &[Incoming],
    left: &[ColumnId],
    right: &[ColumnId],
) -> (Vec<Incoming>, Vec<Incoming>) {
    let of = |side: &[ColumnId]| -> Vec<Incoming> {
        incoming.iter().filter(|filter| side.contains(&filter.column)).cloned().collect()
    };
    match kind {
        JoinKind::Inner => (of(left), of(right)),
        JoinKind::Left | JoinKind::Semi | JoinKind::Anti | JoinKind::Mark(_) => (of(left), Vec::new()),
        // A single join may have to report an error for a row that the filter would remove.
        JoinKind::Single => (of(left), Vec::new()),
        JoinKind::Full => (Vec::new(), Vec::new()),
    }
}

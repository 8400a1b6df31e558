//! Grouping sets, and GROUPING, which tells which set a row belongs to.
//!
//! A grouping over several sets is one aggregation per set, and the union of their rows, in which the columns that a
//! set does not group by are NULL. Where every aggregate can be made of partial results, a set is computed from the
//! smallest one that is finer and not from the input:
//!
//! ```text
//! ROLLUP(a, b), sum(x)      With 1: Aggregate by a, b: s1 = sum(x)
//!                             With 2: Aggregate by a: s2 = sum(s1) over shared 1
//!                               Union All: shared 1; shared 2, NULL as b; Aggregate: sum(s2) over shared 2
//! ```
//! An `avg` is a sum and a count until the end. Otherwise the input is shared by the aggregations. Shared plans that are read once are put in place by the optimizer.

use super::Binder;
use super::scope::Phase;
use crate::parser::ast::{FunctionCall, Pos};
use crate::plan::partial::{Aggregates, Merge, join_averages, merge_of, split_averages};
use crate::plan::{ColumnId, Expr, Plan, SetOpKind, SharedId};
use inlay_types::{Error, LogicalType, Result, Value};
use std::collections::HashMap;

/// Most arguments of GROUPING: bits of a BIGINT without its sign.
const ARGUMENTS_MAX: usize = 63;

/// A call of GROUPING.
pub(super) struct GroupingCall {
    /// The column that it makes.
    id: ColumnId,
    /// Empty means all grouping columns.
    args: Vec<Expr>,
    pos: Pos,
}

/// A call of GROUPING: the column made, and which groups its arguments are.
pub(super) struct Grouping {
    id: ColumnId,
    groups: Vec<usize>,
}

impl Grouping {
    /// One bit per argument, the last one lowest: 1 where the set does not group by it.
    fn value(&self, set: &[usize]) -> Expr {
        let bit = |bits: i64, group: &usize| bits << 1 | i64::from(!set.contains(group));
        Expr::literal(Value::BigInt(self.groups.iter().fold(0, bit)))
    }
}

/// Whether a function (lower case) is GROUPING.
pub(super) fn is_grouping(name: &str) -> bool {
    matches!(name, "grouping" | "grouping_id")
}

/// The rows of one grouping set, for those that read them.
struct Computed {
    /// The groups it is by, ascending.
    set: Vec<usize>,
    id: SharedId,
    /// By group.
    groups: HashMap<usize, ColumnId>,
    aggregates: Vec<ColumnId>,
}

impl Binder<'_> {
    pub(super) fn grouping_call(&mut self, call: &FunctionCall, pos: Pos) -> Result<Expr> {
        if call.star || call.distinct || call.filter.is_some() || !call.order_by.is_empty() {
            let message = "GROUPING takes grouping columns only: no *, DISTINCT, FILTER or ORDER BY";
            return Err(self.at(Error::bind(message), pos));
        }
        if call.arguments.len() > ARGUMENTS_MAX {
            let message = format!("GROUPING takes at most {ARGUMENTS_MAX} arguments");
            return Err(self.at(Error::bind(message), pos));
        }
        let phase = self.scopes.last().map_or(Phase::From, |scope| scope.phase);
        if !phase.allows_aggregates() {
            let message = format!("GROUPING is not allowed in {}", phase.name());
            return Err(self.at(Error::Grouping { message }, pos));
        }
        let args = self.exprs(&call.arguments)?;
        let known = |known: &&GroupingCall| known.args == args;
        if let Some(known) = self.scope()?.groupings.iter().find(known) {
            let id = known.id;
            return Ok(self.column(id));
        }
        let id = self.columns.add(super::name::of_call(call), LogicalType::BigInt);
        self.scope()?.groupings.push(GroupingCall { id, args, pos });
        Ok(self.column(id))
    }

    /// The calls with their arguments found among the groups.
    pub(super) fn resolve_groupings(
        &mut self,
        calls: Vec<GroupingCall>,
        groups: &[(ColumnId, Expr)],
        has_group_by: bool,
    ) -> Result<Vec<Grouping>> {
        let resolve = |call: GroupingCall| {
            if !has_group_by {
                let message = "GROUPING needs a GROUP BY clause".to_string();
                return Err(self.at(Error::Grouping { message }, call.pos));
            }
            if call.args.is_empty() {
                return Ok(Grouping { id: call.id, groups: (0..groups.len().min(ARGUMENTS_MAX)).collect() });
            }
            let place = |arg: &Expr| {
                let is_group = |(id, expr): &(ColumnId, Expr)| {
                    expr == arg || matches!(arg, Expr::Column { id: read, .. } if read == id)
                };
                groups.iter().position(is_group).ok_or_else(|| {
                    let message = "an argument of GROUPING must be an expression of GROUP BY".to_string();
                    self.at(Error::Grouping { message }, call.pos)
                })
            };
            Ok(Grouping { id: call.id, groups: call.args.iter().map(place).collect::<Result<_>>()? })
        };
        calls.into_iter().map(resolve).collect()
    }

    /// A plain aggregation, for which GROUPING is zero.
    pub(super) fn without_sets(&self, plan: Plan, groupings: Vec<Grouping>) -> Plan {
        if groupings.is_empty() {
            return plan;
        }
        let mut items: Vec<(ColumnId, Expr)> =
            plan.output().into_iter().map(|id| (id, self.column(id))).collect();
        items.extend(groupings.iter().map(|grouping| (grouping.id, Expr::literal(Value::BigInt(0)))));
        plan.project(items)
    }

    /// The aggregation of `input` by each of `sets`, which are positions in `groups`.
    pub(super) fn grouping_sets(
        &mut self,
        input: Plan,
        groups: Vec<(ColumnId, Expr)>,
        sets: Vec<Vec<usize>>,
        aggregates: Aggregates,
        groupings: Vec<Grouping>,
    ) -> Result<Plan> {
        let sets: Vec<Vec<usize>> = sets.into_iter().map(ascending).collect();
        let (aggregates, averages) = split_averages(aggregates, &mut self.columns)?;
        // Finer sets first.
        let mut distinct = sets.clone();
        distinct.sort_by_key(|set| (std::cmp::Reverse(set.len()), set.clone()));
        distinct.dedup();
        let merges: Option<Vec<Merge>> =
            aggregates.iter().map(|(_, aggregate)| merge_of(aggregate)).collect();
        let finer_of = |index: usize| -> Option<usize> {
            merges.as_ref()?;
            let is_finer =
                |other: &usize| distinct[index].iter().all(|group| distinct[*other].contains(group));
            // The last finer set has the fewest columns.
            (0..index).rev().find(is_finer)
        };
        let sources: Vec<Option<usize>> = (0..distinct.len()).map(finer_of).collect();
        let mut withs: Vec<(SharedId, Plan)> = Vec::with_capacity(distinct.len() + 1);
        let mut base = Base { plan: Some(input), shared: None, groups, aggregates };
        if sources.iter().filter(|source| source.is_none()).count() > 1 {
            withs.push(self.share_input(&mut base));
        }
        let mut computed: Vec<Computed> = Vec::with_capacity(distinct.len());
        for (set, source) in distinct.into_iter().zip(sources) {
            let merged = source.and_then(|source| Some((&computed[source], merges.as_deref()?)));
            let (plan, one) = match merged {
                Some((finer, merges)) => self.aggregate_again(finer, merges, set)?,
                None => self.aggregate_input(&mut base, set)?,
            };
            withs.push((one.id, plan));
            computed.push(one);
        }
        let mut branches = Vec::with_capacity(sets.len());
        for set in &sets {
            let one = computed.iter().find(|one| one.set == *set);
            let one = one.ok_or_else(|| Error::internal("a grouping set was not computed"))?;
            branches.push(self.branch(one, &base, &groupings));
        }
        let ids: Vec<ColumnId> = base.groups.iter().map(|(id, _)| *id).collect();
        let ids: Vec<ColumnId> = ids
            .into_iter()
            .chain(base.aggregates.iter().map(|(id, _)| *id))
            .chain(groupings.iter().map(|g| g.id))
            .collect();
        let union = self.union_of(branches, ids);
        let union = join_averages(union, &averages, &self.columns);
        let around = |body: Plan, (id, definition): (SharedId, Plan)| Plan::With {
            id,
            definition: Box::new(definition),
            body: Box::new(body),
        };
        Ok(withs.into_iter().rev().fold(union, around))
    }

    /// Shares the input among several aggregations: the columns they read, and grouping expressions computed once.
    fn share_input(&mut self, base: &mut Base) -> (SharedId, Plan) {
        let input = base.plan.take().unwrap_or_else(Plan::single_row);
        let available = input.output();
        let mut items: Vec<(ColumnId, Expr)> = Vec::new();
        for (_, group) in &mut base.groups {
            if !matches!(group, Expr::Column { .. }) {
                let id = self.columns.add("group", group.ty());
                items.push((id, std::mem::replace(group, self.column(id))));
            }
        }
        let exprs = base.groups.iter().map(|(_, expr)| expr);
        let exprs = exprs.chain(base.aggregates.iter().flat_map(|(_, aggregate)| aggregate.expressions()));
        let mut read = Vec::new();
        exprs.for_each(|expr| expr.collect_columns(&mut read));
        read.sort_unstable();
        read.dedup();
        let own: Vec<ColumnId> = read.into_iter().filter(|id| available.contains(id)).collect();
        items.extend(own.iter().map(|id| (*id, self.columns.expr(*id))));
        let id = self.columns.add_shared();
        base.shared = Some((id, items.iter().map(|(id, _)| *id).collect()));
        (id, input.project(items))
    }

    fn aggregate_input(&mut self, base: &mut Base, set: Vec<usize>) -> Result<(Plan, Computed)> {
        let (input, map) = match &base.shared {
            None => (base.plan.take().unwrap_or_else(Plan::single_row), HashMap::new()),
            Some((id, columns)) => {
                let columns: Vec<(ColumnId, ColumnId)> =
                    columns.iter().map(|from| (self.columns.copy_of(*from), *from)).collect();
                let map = columns.iter().map(|(new, from)| (*from, self.columns.expr(*new))).collect();
                (Plan::SharedScan { id: *id, columns }, map)
            }
        };
        let mut groups = Vec::with_capacity(set.len());
        for group in &set {
            let (id, expr) = &base.groups[*group];
            let mut expr = expr.clone();
            expr.substitute(&map);
            groups.push((self.columns.copy_of(*id), expr));
        }
        let mut aggregates = base.aggregates.clone();
        for (id, aggregate) in &mut aggregates {
            *id = self.columns.copy_of(*id);
            aggregate.expressions_mut().into_iter().for_each(|expr| expr.substitute(&map));
        }
        let one = Computed {
            id: self.columns.add_shared(),
            groups: set.iter().copied().zip(groups.iter().map(|(id, _)| *id)).collect(),
            aggregates: aggregates.iter().map(|(id, _)| *id).collect(),
            set,
        };
        Ok((Plan::Aggregate { input: Box::new(input), groups, aggregates }, one))
    }

    /// A coarser set from a finer one.
    fn aggregate_again(
        &mut self,
        finer: &Computed,
        merges: &[Merge],
        set: Vec<usize>,
    ) -> Result<(Plan, Computed)> {
        let mut columns = Vec::with_capacity(set.len() + merges.len());
        let mut groups = Vec::with_capacity(set.len());
        for group in &set {
            let from = finer.groups.get(group).copied();
            let from = from.ok_or_else(|| Error::internal("a finer set lacks a column"))?;
            let read = self.columns.copy_of(from);
            columns.push((read, from));
            groups.push((self.columns.copy_of(from), self.column(read)));
        }
        let mut aggregates = Vec::with_capacity(merges.len());
        let mut counts: Vec<(ColumnId, Expr)> = Vec::new();
        let mut made = Vec::with_capacity(merges.len());
        for (merge, from) in merges.iter().zip(&finer.aggregates) {
            let read = self.columns.copy_of(*from);
            columns.push((read, *from));
            let id = self.columns.copy_of(*from);
            let read = self.columns.expr(read);
            made.push(id);
            aggregates.push(merge.again(read, id, &mut self.columns, &mut counts)?);
        }
        let one = Computed {
            id: self.columns.add_shared(),
            groups: set.iter().copied().zip(groups.iter().map(|(id, _)| *id)).collect(),
            aggregates: made,
            set,
        };
        let input = Box::new(Plan::SharedScan { id: finer.id, columns });
        let mut plan = Plan::Aggregate { input, groups, aggregates };
        if !counts.is_empty() {
            let is_own = |id: &ColumnId| !counts.iter().any(|(count, _)| count == id);
            let own = one.set.iter().filter_map(|group| one.groups.get(group)).chain(&one.aggregates);
            let mut items: Vec<(ColumnId, Expr)> =
                own.copied().filter(is_own).map(|id| (id, self.column(id))).collect();
            items.extend(counts);
            plan = plan.project(items);
        }
        Ok((plan, one))
    }

    /// The rows of one set as they stand in the union: all groups, all aggregates, GROUPING.
    fn branch(&mut self, one: &Computed, base: &Base, groupings: &[Grouping]) -> (Plan, Vec<ColumnId>) {
        let mut columns = Vec::with_capacity(one.groups.len() + one.aggregates.len());
        let mut items: Vec<(ColumnId, Expr)> = Vec::with_capacity(base.groups.len() + groupings.len());
        for (index, (id, _)) in base.groups.iter().enumerate() {
            let new = self.columns.copy_of(*id);
            let value = match one.groups.get(&index) {
                Some(from) => {
                    let read = self.columns.copy_of(*from);
                    columns.push((read, *from));
                    self.column(read)
                }
                None => Expr::Literal { value: Value::Null, ty: self.columns.ty(*id) },
            };
            items.push((new, value));
        }
        for from in &one.aggregates {
            let read = self.columns.copy_of(*from);
            columns.push((read, *from));
            items.push((self.columns.copy_of(*from), self.column(read)));
        }
        for grouping in groupings {
            items.push((self.columns.copy_of(grouping.id), grouping.value(&one.set)));
        }
        let ids = items.iter().map(|(id, _)| *id).collect();
        (Plan::SharedScan { id: one.id, columns }.project(items), ids)
    }

    /// UNION ALL of plans, as a balanced tree, so that many of them do not nest deeply.
    fn union_of(&mut self, mut branches: Vec<(Plan, Vec<ColumnId>)>, made: Vec<ColumnId>) -> Plan {
        if branches.len() <= 1 {
            let (plan, ids) = branches.pop().unwrap_or_else(|| (Plan::single_row(), Vec::new()));
            let items = made.iter().zip(&ids).map(|(made, id)| (*made, self.columns.expr(*id))).collect();
            return plan.project(items);
        }
        let copies =
            |binder: &mut Self| made.iter().map(|id| binder.columns.copy_of(*id)).collect::<Vec<_>>();
        let right = branches.split_off(branches.len() / 2);
        let side = |binder: &mut Self, mut part: Vec<(Plan, Vec<ColumnId>)>| match part.pop() {
            Some(only) if part.is_empty() => only,
            last => {
                part.extend(last);
                let ids = copies(binder);
                (binder.union_of(part, ids.clone()), ids)
            }
        };
        let (left, left_columns) = side(self, branches);
        let (right, right_columns) = side(self, right);
        Plan::SetOp {
            kind: SetOpKind::Union,
            all: true,
            left: Box::new(left),
            right: Box::new(right),
            left_columns,
            right_columns,
            columns: made,
        }
    }
}

/// What is aggregated by which expressions.
struct Base {
    /// The input, until it is used or shared.
    plan: Option<Plan>,
    shared: Option<(SharedId, Vec<ColumnId>)>,
    groups: Vec<(ColumnId, Expr)>,
    aggregates: Aggregates,
}

fn ascending(mut set: Vec<usize>) -> Vec<usize> {
    set.sort_unstable();
    set.dedup();
    set
}

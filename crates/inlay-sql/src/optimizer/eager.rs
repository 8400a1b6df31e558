//! Eager aggregation: rows are summed up before a join that would only copy them.
//!
//! ```text
//! Aggregate by y.name: sum(x.amount)            Aggregate by y.name: sum(s)
//!   Join on x.key = y.key               ->        Join on x.key = y.key
//!     x                                             Aggregate by x.key: s = sum(x.amount)
//!     y                                               x
//!                                                 y
//! ```
//! Where `x` has many rows for each key, the join finds partners for few of them, and names, whose comparison is what costs, are
//! compared for as many only. It holds for any inner join: all rows of a partial group read the same of what the join
//! and the groups above look at, so they have the same partners, and each copy of the partial result stands for a copy of
//! each of its rows. The source is Yan and Larson, "Eager Aggregation and Lazy Aggregation" (VLDB 1995).
//!
//! Partial groups are also made of rows that have no partner, so what is computed below must not be able to fail.

use super::column_set::ColumnSet;
use super::early_groups;
use super::outer_groups;
use super::properties::{as_column, as_column_equality, can_fail, output_set};
use super::ranges::Ranges;
use super::rewrite::{not_chosen, take, with_stack};
use super::statistics::{Estimator, Relation, group_count};
use crate::plan::partial::{Aggregates, can_merge, join_averages, merge_of, split_averages};
use crate::plan::{AggregateExpr, ColumnId, Columns, Expr, JoinKind, Plan};
use inlay_types::{LogicalType, Result};
use std::collections::HashMap;

/// Joins of fewer rows are not worth it.
const ROWS_MIN: f64 = 50_000.0;
/// Rows that a partial group must stand for, on average.
const ROWS_PER_GROUP_MIN: f64 = 4.0;
/// So few partial groups are made nearly for nothing; with more of them, final groups have to be worth it, too.
const CHEAP_GROUPS_MAX: f64 = 4_096.0;
/// So few final groups are made nearly for nothing.
const FINAL_GROUPS_MIN: f64 = 512.0;
/// Most of the rows must have a partner: a join that drops rows does so before they are aggregated.
pub(super) const KEPT_MIN: f64 = 0.5;
/// Digits of a DECIMAL whose sums cannot leave 38 digits, whatever rows are added to them.
const DIGITS_MAX: u8 = 26;

/// Aggregates early wherever that is believed to pay.
pub fn run(plan: &mut Plan, columns: &mut Columns, estimator: &mut Estimator) -> Result<()> {
    early_groups::run(plan, columns, estimator)?;
    outer_groups::run(plan, columns, estimator)?;
    if let Some(choice) = choose(plan, estimator) {
        push(plan, choice, columns)?;
    }
    plan.inputs_mut().into_iter().try_for_each(|input| with_stack(|| run(input, columns, estimator)))
}

/// Which input of the join is aggregated first.
#[derive(Clone, Copy)]
enum Side {
    Left,
    Right,
}

#[derive(Clone, Copy)]
struct Choice {
    side: Side,
    /// There are fewer partial groups than rows on the other side.
    builds_groups: bool,
}

fn choose(plan: &Plan, estimator: &mut Estimator) -> Option<Choice> {
    let Plan::Aggregate { input, groups, aggregates } = plan else { return None };
    let Plan::Join { kind: JoinKind::Inner, left, right, conditions, .. } = &**input else { return None };
    if aggregates.is_empty() || groups.is_empty() || conditions.is_empty() {
        return None;
    }
    let all = groups.iter().map(|(_, expr)| expr).chain(conditions);
    if !all.clone().all(Expr::is_deterministic) {
        return None;
    }
    let is_possible = |side: &Plan| {
        let (own, ranges) = (output_set(side), Ranges::of(side));
        aggregates.iter().all(|(_, aggregate)| is_partial(aggregate, &own, &ranges))
    };
    let sides = [(Side::Left, left, right), (Side::Right, right, left)];
    let (side, own, other) = sides.into_iter().find(|(_, own, _)| is_possible(own))?;
    let keys = keys_of(own, groups, conditions);
    if keys.is_empty() || !are_read_alike(&keys, groups, conditions) {
        return None;
    }
    let joined = estimator.relation(input);
    if joined.rows < ROWS_MIN {
        return None;
    }
    let own = estimator.relation(own);
    let count = group_count(keys.iter(), &own);
    let builds_groups = count < estimator.relation(other).rows;
    pays(&own, &joined, count, groups).then_some(Choice { side, builds_groups })
}

/// Whether expressions see no difference between keys that are one group: -0 and 0, a month and 30 days.
fn are_read_alike(keys: &[Expr], groups: &[(ColumnId, Expr)], conditions: &[Expr]) -> bool {
    let has_twins = |key: &&Expr| {
        matches!(key.ty(), LogicalType::Real | LogicalType::Double | LogicalType::Interval)
            && matches!(key, Expr::Column { .. })
    };
    let twins: ColumnSet = keys.iter().filter(has_twins).filter_map(as_column).collect();
    let reads = |expr: &Expr| ColumnSet::of(expr).intersects(&twins);
    let computes = |expr: &&Expr| as_column(expr).is_none() && as_column_equality(expr).is_none();
    !groups.iter().map(|(_, expr)| expr).chain(conditions).filter(computes).any(reads)
}

/// Whether an aggregate can be made of partial results of an input with these columns, without errors that it would not have.
fn is_partial(aggregate: &AggregateExpr, own: &ColumnSet, ranges: &Ranges) -> bool {
    can_merge(aggregate) && aggregate.order_by.is_empty() && adds_early(aggregate, own, ranges)
}

/// Whether an aggregate reads these columns alone, and cannot fail if rows are added to it that have no partner.
pub(super) fn adds_early(aggregate: &AggregateExpr, own: &ColumnSet, ranges: &Ranges) -> bool {
    let is_narrow = |expr: &Expr| match expr.ty() {
        LogicalType::HugeInt | LogicalType::UHugeInt => false,
        LogicalType::Decimal { precision, .. } => precision <= DIGITS_MAX,
        _ => true,
    };
    let reads = |expr: &&Expr| {
        ColumnSet::of(expr).is_subset(own) && !ranges.can_fail(expr) && expr.is_deterministic()
    };
    aggregate.function.external.is_none()
        && aggregate.args.iter().all(is_narrow)
        && aggregate.expressions().iter().all(reads)
}

fn pays(own: &Relation, joined: &Relation, partial: f64, groups: &[(ColumnId, Expr)]) -> bool {
    let last = group_count(groups.iter().map(|(_, expr)| expr), joined);
    joined.rows >= own.rows * KEPT_MIN
        && partial * ROWS_PER_GROUP_MIN <= own.rows.min(joined.rows)
        && (partial <= CHEAP_GROUPS_MAX || last >= FINAL_GROUPS_MIN)
}

/// What of an input's rows is read above its partial groups, each once: columns of the join's conditions and of groups, and
/// groups that read nothing else.
fn keys_of(side: &Plan, groups: &[(ColumnId, Expr)], conditions: &[Expr]) -> Vec<Expr> {
    let output = side.output();
    let own: ColumnSet = output.iter().collect();
    let mut keys: Vec<Expr> = Vec::new();
    let add_columns = |expr: &Expr, keys: &mut Vec<Expr>| {
        each_column(expr, &mut |column| {
            if let Expr::Column { id, .. } = column
                && own.contains(*id)
                && !keys.contains(column)
            {
                keys.push(column.clone());
            }
        })
    };
    conditions.iter().for_each(|condition| add_columns(condition, &mut keys));
    for (_, group) in groups {
        if is_own_group(group, &own) {
            keys.push(group.clone());
        } else {
            add_columns(group, &mut keys);
        }
    }
    keys
}

/// Whether a group is computed below the join.
fn is_own_group(group: &Expr, own: &ColumnSet) -> bool {
    let reads = ColumnSet::of(group);
    !matches!(group, Expr::Column { .. }) && reads.count() > 0 && reads.is_subset(own) && !can_fail(group)
}

/// Calls `visit` with each column that an expression reads, as often as it does.
pub(super) fn each_column(expr: &Expr, visit: &mut impl FnMut(&Expr)) {
    if let Expr::Column { .. } = expr {
        visit(expr);
    }
    expr.children().into_iter().for_each(|child| each_column(child, visit));
}

fn push(plan: &mut Plan, choice: Choice, columns: &mut Columns) -> Result<()> {
    let Plan::Aggregate { input, groups, aggregates } = take(plan) else { return Err(not_chosen("eager")) };
    let Plan::Join { left, right, mut conditions, .. } = *input else { return Err(not_chosen("eager")) };
    let (own, other) = match choice.side {
        Side::Left => (*left, *right),
        Side::Right => (*right, *left),
    };
    let keys = keys_of(&own, &groups, &conditions);
    let (parts, averages) = split_averages(aggregates, columns)?;

    let mut map: HashMap<ColumnId, Expr> = HashMap::new();
    let mut computed: Vec<(Expr, Expr)> = Vec::new();
    let mut partial_groups = Vec::with_capacity(keys.len());
    for key in keys {
        let made = match &key {
            Expr::Column { id, .. } => {
                let made = columns.copy_of(*id);
                map.insert(*id, columns.expr(made));
                made
            }
            group => {
                let made = columns.add("group", group.ty());
                computed.push((group.clone(), columns.expr(made)));
                made
            }
        };
        partial_groups.push((made, key));
    }
    let mut partial: Aggregates = Vec::with_capacity(parts.len());
    let mut last: Aggregates = Vec::with_capacity(parts.len());
    let mut counts = Vec::new();
    for (id, part) in parts {
        let Some(merge) = merge_of(&part) else {
            return Err(inlay_types::Error::internal("an aggregate without partial results was split"));
        };
        let made = columns.copy_of(id);
        last.push(merge.again(columns.expr(made), id, columns, &mut counts)?);
        partial.push((made, part));
    }
    let mut groups = groups;
    for (_, group) in &mut groups {
        match computed.iter().find(|(from, _)| from == group) {
            Some((_, made)) => *group = made.clone(),
            None => group.substitute(&map),
        }
    }
    conditions.iter_mut().for_each(|condition| condition.substitute(&map));

    let own = Plan::Aggregate { input: Box::new(own), groups: partial_groups, aggregates: partial };
    let (left, right) = if choice.builds_groups { (other, own) } else { (own, other) };
    let joined = Plan::join(JoinKind::Inner, left, right, conditions);
    let made = groups.iter().map(|(id, _)| *id).chain(last.iter().map(|(id, _)| *id)).collect::<Vec<_>>();
    let mut again = Plan::Aggregate { input: Box::new(joined), groups, aggregates: last };
    if !counts.is_empty() {
        let read = |expr: &Expr| ColumnSet::of(expr);
        let sums = counts.iter().fold(ColumnSet::new(), |all, (_, expr)| all.union(&read(expr)));
        let mut items: Vec<(ColumnId, Expr)> =
            made.into_iter().filter(|id| !sums.contains(*id)).map(|id| (id, columns.expr(id))).collect();
        items.extend(counts);
        again = again.project(items);
    }
    *plan = join_averages(again, &averages, columns);
    Ok(())
}

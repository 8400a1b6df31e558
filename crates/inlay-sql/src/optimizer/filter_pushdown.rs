//! Filter push-down and inference: every predicate is evaluated as early as it can be.
//!
//! [`run`] walks down with a list of conjuncts that hold above. On the way
//! - predicates over both sides of an inner join become its conditions, so cross products under a filter become joins;
//! - columns that conditions equate are one class: a predicate on one of them is copied to the others (`a = b` and
//!   `a = 5` give `b = 5`), also from the kept side of an outer, semi or anti join to the other side;
//! - outer joins become inner joins under a predicate that NULLs cannot pass; a mark join whose mark is filtered
//!   by becomes a semi join, or an anti join under NOT where no comparison can be NULL;
//! - conditions of an inner join that NULLs cannot pass make outer joins below it inner ones;
//! - a shared plan gets the disjunction of what its readers filter by;
//! - predicates reach `Scan::filters` and `Source::filters`; what is always false empties its input.
//!
//! Runs before unnesting, so that the left input of a dependent join is small, and after it. Works on plans with free
//! columns: predicates over them stay where the columns they need besides are.

use super::column_set::ColumnSet;
use super::equality::EqualityClasses;
use super::indexed;
use super::outer_joins;
use super::properties::{
    as_column, is_matched_once, is_never_null, keys, not_null_columns, output_set, rejected_nulls,
};
use super::rewrite::{
    conjuncts_of, empty_relation, is_empty_relation, map_inputs, pass_through, split_conjuncts, take,
    with_stack,
};
use super::shared_filters;
use crate::plan::{
    AggregateExpr, ColumnId, Columns, Expr, IndexedColumn, JoinKind, OrderedJoinKind, Plan, SetOpKind,
    WindowExpr,
};
use inlay_types::{Result, Value};
use std::collections::{HashMap, HashSet};

/// Pushes all filters of `plan` down.
pub fn run(plan: Plan, columns: &Columns) -> Result<Plan> {
    PushDown { columns, indexed: indexed::simplified(columns) }.push(plan, Vec::new())
}

struct PushDown<'a> {
    columns: &'a Columns,
    indexed: Vec<IndexedColumn>,
}

/// Conjuncts over the left input alone, over the right one alone, and the others.
#[derive(Default)]
struct Sides {
    left: Vec<Expr>,
    right: Vec<Expr>,
    both: Vec<Expr>,
}

fn divide(predicates: Vec<Expr>, left: &ColumnSet, right: &ColumnSet) -> Sides {
    let mut sides = Sides::default();
    for predicate in predicates {
        let reads = ColumnSet::of(&predicate);
        if predicate.is_volatile() {
            sides.both.push(predicate);
        } else if reads.is_subset(left) {
            sides.left.push(predicate);
        } else if reads.is_subset(right) {
            sides.right.push(predicate);
        } else {
            sides.both.push(predicate);
        }
    }
    sides
}

fn is_false(predicate: &Expr) -> bool {
    matches!(predicate, Expr::Literal { value: Value::Boolean(false) | Value::Null, .. })
}

/// Looking for a predicate among more than these costs more than testing it twice.
const SEARCHED_MAX: usize = 512;

/// Fewer are compared with each other at once.
const SHAPED_MIN: usize = 32;

fn add_new(predicates: &mut Vec<Expr>, more: Vec<Expr>) {
    if predicates.len() + more.len() < SHAPED_MIN {
        for predicate in more {
            if predicate.is_volatile() || !predicates.contains(&predicate) {
                predicates.push(predicate);
            }
        }
        return;
    }
    // Only those that read the same columns can be equal.
    let mut shapes: HashSet<u64> = predicates.iter().map(shape).collect();
    for predicate in more {
        let is_new = shapes.insert(shape(&predicate)) || predicate.is_volatile();
        if is_new || predicates.len() > SEARCHED_MAX || !predicates.contains(&predicate) {
            predicates.push(predicate);
        }
    }
}

/// A number that equal expressions share: of the columns they read, in order.
fn shape(expr: &Expr) -> u64 {
    let mixed = |seed: u64, part: u64| (seed.rotate_left(5) ^ part).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    match expr {
        Expr::Column { id, .. } => mixed(1, u64::from(id.0)),
        Expr::Compare { left, right, .. } => mixed(shape(left), shape(right)),
        other => other.children().into_iter().fold(2, |seed, child| mixed(seed, shape(child))),
    }
}

impl PushDown<'_> {
    fn push(&self, plan: Plan, predicates: Vec<Expr>) -> Result<Plan> {
        with_stack(|| self.push_operator(plan, predicates))
    }

    fn push_operator(&self, plan: Plan, mut predicates: Vec<Expr>) -> Result<Plan> {
        if predicates.iter().any(is_false) {
            return Ok(empty_relation(plan.output()));
        }
        match plan {
            Plan::Filter { input, predicates: own } => {
                add_new(&mut predicates, conjuncts_of(own));
                self.push(*input, predicates)
            }
            Plan::Project { input, items } => self.push_project(*input, items, predicates),
            Plan::Join { kind, left, right, conditions, build_left } => self.push_join(
                Joined { kind, left: *left, right: *right, dependent: false, build_left },
                conditions,
                predicates,
            ),
            Plan::DependentJoin { kind, left, right, conditions } => {
                let joined = Joined { kind, left: *left, right: *right, dependent: true, build_left: false };
                self.push_join(joined, conditions, predicates)
            }
            Plan::Aggregate { input, groups, aggregates } => {
                self.push_aggregate(*input, groups, aggregates, predicates)
            }
            Plan::Window { input, windows } => self.push_window(*input, windows, predicates),
            plan @ Plan::Unnest { .. } => self.push_unnest(plan, predicates),
            Plan::Sort { input, keys, limit: None, offset: 0 } => {
                let input = Box::new(self.push(*input, predicates)?);
                Ok(Plan::Sort { input, keys, limit: None, offset: 0 })
            }
            plan @ Plan::SetOp { .. } => self.push_set_operation(plan, predicates),
            Plan::With { id, definition, body } => {
                let body = Box::new(self.push(*body, predicates)?);
                let wanted = shared_filters::wanted(id, &definition, &body, self.columns);
                let definition =
                    Box::new(self.push(*definition, conjuncts_of(wanted.into_iter().collect()))?);
                Ok(Plan::With { id, definition, body })
            }
            Plan::Scan { table, columns, fields, filters, row_id } => {
                let handed = columns.iter().map(|c| c.id).chain(fields.iter().map(|f| f.id));
                let own: ColumnSet = handed.clone().collect();
                indexed::use_columns(&self.indexed, &own, &mut predicates);
                let (filters, above) = self.scan_filters(filters, predicates, &own);
                Ok(match filters {
                    None => empty_relation(handed.chain(row_id).collect()),
                    Some(filters) => Plan::Scan { table, columns, fields, filters, row_id }.filter(above),
                })
            }
            Plan::Source { source, columns, filters } => {
                let own: ColumnSet = columns.iter().map(|c| c.id).collect();
                let (filters, above) = self.scan_filters(filters, predicates, &own);
                Ok(match filters {
                    Some(filters) => Plan::Source { source, columns, filters }.filter(above),
                    None => empty_relation(columns.iter().map(|c| c.id).collect()),
                })
            }
            Plan::OrderedJoin {
                kind: OrderedJoinKind::Asof { kind, build_left: false },
                left,
                right,
                conditions,
            } if matches!(kind, JoinKind::Inner | JoinKind::Left | JoinKind::Semi | JoinKind::Anti) => {
                self.push_asof(kind, *left, *right, conditions, predicates)
            }
            Plan::Sort { .. }
            | Plan::Limit { .. }
            | Plan::GroupLimit { .. }
            | Plan::OrderedJoin { .. }
            | Plan::Recursive { .. }
            | Plan::LimitBy { .. }
            | Plan::TableCall { .. }
            | Plan::Sample { .. } => {
                let plan = map_inputs(plan, &mut |input| self.push(input, Vec::new()))?;
                Ok(plan.filter(predicates))
            }
            Plan::Values { .. } if is_empty_relation(&plan) => Ok(plan),
            Plan::Values { .. } | Plan::SharedScan { .. } => Ok(plan.filter(predicates)),
        }
    }

    fn push_aggregate(
        &self,
        input: Plan,
        groups: Vec<(ColumnId, Expr)>,
        aggregates: Vec<(ColumnId, AggregateExpr)>,
        predicates: Vec<Expr>,
    ) -> Result<Plan> {
        // What is different each time is computed by the grouping, and nowhere else.
        let steady = groups.iter().filter(|(_, group)| !group.is_volatile());
        let grouped: ColumnSet = steady.map(|(id, _)| *id).collect();
        let passes = |p: &Expr| {
            let reads = ColumnSet::of(p);
            !reads.is_empty() && reads.is_subset(&grouped) && p.is_deterministic()
        };
        let (mut below, above): (Vec<_>, Vec<_>) = if groups.is_empty() {
            (Vec::new(), predicates)
        } else {
            predicates.into_iter().partition(passes)
        };
        if !groups.is_empty() {
            add_new(&mut below, implied_parts(&above, &grouped));
        }
        let map: HashMap<ColumnId, Expr> = groups.iter().cloned().collect();
        below.iter_mut().for_each(|p| p.substitute(&map));
        let input = Box::new(self.push(input, below)?);
        Ok(Plan::Aggregate { input, groups, aggregates }.filter(above))
    }

    fn push_window(
        &self,
        input: Plan,
        windows: Vec<(ColumnId, WindowExpr)>,
        predicates: Vec<Expr>,
    ) -> Result<Plan> {
        // What is decided by the partition keys of all functions takes out whole partitions.
        let parts = |window: &WindowExpr| window.partition.iter().filter_map(as_column).collect();
        let mut partition: ColumnSet = windows.first().map_or(ColumnSet::new(), |(_, w)| parts(w));
        windows.iter().for_each(|(_, w)| partition = partition.intersection(&parts(w)));
        let passes = |p: &Expr| {
            let reads = ColumnSet::of(p);
            !reads.is_empty() && reads.is_subset(&partition) && p.is_deterministic()
        };
        let (below, above): (Vec<_>, Vec<_>) = predicates.into_iter().partition(passes);
        let input = Box::new(self.push(input, below)?);
        if is_empty_relation(&input) {
            let made = windows.iter().map(|(id, _)| *id);
            return Ok(empty_relation(input.output().into_iter().chain(made).collect()));
        }
        Ok(Plan::Window { input, windows }.filter(above))
    }

    fn push_unnest(&self, plan: Plan, predicates: Vec<Expr>) -> Result<Plan> {
        let Plan::Unnest { input, lists, ordinality, keep_empty } = plan else {
            return Ok(plan.filter(predicates));
        };
        let made: ColumnSet = lists.iter().map(|(id, _)| *id).chain(ordinality).collect();
        let passes = |p: &Expr| {
            let reads = ColumnSet::of(p);
            !reads.is_empty() && !reads.intersects(&made) && p.is_deterministic()
        };
        let (below, above): (Vec<_>, Vec<_>) = predicates.into_iter().partition(passes);
        let input = Box::new(self.push(*input, below)?);
        if is_empty_relation(&input) {
            return Ok(empty_relation(input.output().into_iter().chain(made.iter()).collect()));
        }
        Ok(Plan::Unnest { input, lists, ordinality, keep_empty }.filter(above))
    }

    fn push_set_operation(&self, plan: Plan, predicates: Vec<Expr>) -> Result<Plan> {
        let Plan::SetOp { kind, all, left, right, left_columns, right_columns, columns } = plan else {
            return Ok(plan.filter(predicates));
        };
        let made: ColumnSet = columns.iter().collect();
        let (below, above): (Vec<_>, Vec<_>) =
            predicates.into_iter().partition(|p| ColumnSet::of(p).is_subset(&made) && p.is_deterministic());
        let side = |ids: &[ColumnId]| {
            let map: HashMap<ColumnId, Expr> =
                columns.iter().zip(ids).map(|(made, id)| (*made, self.columns.expr(*id))).collect();
            let mut renamed = below.clone();
            renamed.iter_mut().for_each(|p| p.substitute(&map));
            renamed
        };
        let (for_left, for_right) = (side(&left_columns), side(&right_columns));
        let left = Box::new(self.push(*left, for_left)?);
        let right = Box::new(self.push(*right, for_right)?);
        let plan = simplify_set_operation(
            Plan::SetOp { kind, all, left, right, left_columns, right_columns, columns },
            self.columns,
        );
        Ok(plan.filter(above))
    }

    fn push_asof(
        &self,
        kind: JoinKind,
        left: Plan,
        right: Plan,
        conditions: Vec<Expr>,
        predicates: Vec<Expr>,
    ) -> Result<Plan> {
        // Which partner a row gets depends on no other row of its side.
        let of_left: ColumnSet = left.output().into_iter().collect();
        let (below, above): (Vec<_>, Vec<_>) = predicates.into_iter().partition(|predicate| {
            let reads = ColumnSet::of(predicate);
            predicate.is_deterministic() && !reads.is_empty() && reads.is_subset(&of_left)
        });
        let (left, right) = (self.push(left, below)?, self.push(right, Vec::new())?);
        let kind = OrderedJoinKind::Asof { kind, build_left: false };
        let (left, right) = (Box::new(left), Box::new(right));
        Ok(Plan::OrderedJoin { kind, left, right, conditions }.filter(above))
    }

    /// Filters of a scan, `None` if they are never TRUE, and the predicates that stay above it.
    fn scan_filters(
        &self,
        mut filters: Vec<Expr>,
        predicates: Vec<Expr>,
        own: &ColumnSet,
    ) -> (Option<Vec<Expr>>, Vec<Expr>) {
        // A scan may evaluate its filters on encoded data: once per value, or where rows are skipped anyway, never.
        let fits = |p: &Expr| {
            let reads = ColumnSet::of(p);
            !reads.is_empty() && reads.is_subset(own) && !p.is_volatile()
        };
        let (pushed, above): (Vec<_>, Vec<_>) = predicates.into_iter().partition(fits);
        add_new(&mut filters, pushed);
        let mut classes = EqualityClasses::new();
        filters.iter().for_each(|f| classes.add_condition(f));
        let inferred = classes.inferred(&filters, self.columns);
        add_new(&mut filters, inferred);
        if filters.iter().any(is_false) { (None, above) } else { (Some(filters), above) }
    }

    fn push_project(&self, input: Plan, items: Vec<(ColumnId, Expr)>, predicates: Vec<Expr>) -> Result<Plan> {
        let map: HashMap<ColumnId, Expr> = items.iter().cloned().collect();
        let passes = |p: &Expr| {
            p.is_deterministic()
                && ColumnSet::of(p).iter().all(|id| map.get(&id).is_none_or(Expr::is_deterministic))
        };
        let (mut below, above): (Vec<_>, Vec<_>) = predicates.into_iter().partition(passes);
        below.iter_mut().for_each(|p| p.substitute(&map));
        let mut split = Vec::with_capacity(below.len());
        below.into_iter().for_each(|p| split_conjuncts(super::simplify::expression(p), &mut split));
        let input = self.push(input, split)?;
        if is_empty_relation(&input) {
            return Ok(empty_relation(items.iter().map(|(id, _)| *id).collect()));
        }
        Ok(input.project(items).filter(above))
    }

    fn push_join(&self, joined: Joined, conditions: Vec<Expr>, predicates: Vec<Expr>) -> Result<Plan> {
        let conditions = conjuncts_of(conditions);
        match joined.kind {
            JoinKind::Inner => self.push_inner(joined, conditions, predicates),
            JoinKind::Full => self.push_full(joined, conditions, predicates),
            JoinKind::Mark(mark) => self.push_mark(joined, mark, conditions, predicates),
            JoinKind::Left | JoinKind::Single | JoinKind::Semi | JoinKind::Anti => {
                self.push_left_kept(joined, conditions, predicates)
            }
        }
    }

    fn push_inner(&self, joined: Joined, conditions: Vec<Expr>, predicates: Vec<Expr>) -> Result<Plan> {
        let (left, right) = (output_set(&joined.left), output_set(&joined.right));
        let all = left.union(&right);
        // A predicate that reads nothing of the join (only outer columns, or nothing at all) stays above, and so does a
        // volatile one: joins in another order would evaluate it for other rows.
        let (mut pool, above): (Vec<_>, Vec<_>) = conditions
            .into_iter()
            .chain(predicates)
            .partition(|p| ColumnSet::of(p).intersects(&all) && !p.is_volatile() || is_false(p));
        if pool.iter().any(is_false) {
            return Ok(empty_relation(joined.output()));
        }
        let mut unique = Vec::with_capacity(pool.len());
        add_new(&mut unique, std::mem::take(&mut pool));
        let mut classes = EqualityClasses::new();
        unique.iter().for_each(|p| classes.add_condition(p));
        let inferred = classes.inferred(&unique, self.columns);
        add_new(&mut unique, inferred);
        // Equalities within one side that follow from those across.
        let within = classes.implied_within(&unique, &[&left, &right], self.columns);
        add_new(&mut unique, within);
        let mut sides = divide(unique, &left, &right);
        add_new(&mut sides.left, implied_parts(&sides.both, &left));
        add_new(&mut sides.right, implied_parts(&sides.both, &right));
        let (mut left, mut right) = (joined.left, joined.right);
        let rejected = sides.both.iter().fold(ColumnSet::new(), |a, p| a.union(&rejected_nulls(p)));
        outer_joins::strengthen(&mut left, &rejected);
        outer_joins::strengthen(&mut right, &rejected);
        let left = self.push(left, sides.left)?;
        let right = self.push(right, sides.right)?;
        if is_empty_relation(&left) || is_empty_relation(&right) {
            return Ok(empty_relation([left.output(), right.output()].concat()));
        }
        let plan =
            Joined { left, right, ..joined_shape(JoinKind::Inner, joined.dependent, joined.build_left) };
        Ok(plan.build(sides.both).filter(above))
    }

    fn push_full(&self, joined: Joined, conditions: Vec<Expr>, predicates: Vec<Expr>) -> Result<Plan> {
        let rejected = predicates.iter().fold(ColumnSet::new(), |a, p| a.union(&rejected_nulls(p)));
        let keeps_left = rejected.intersects(&output_set(&joined.left));
        let keeps_right = rejected.intersects(&output_set(&joined.right));
        let Joined { left, right, .. } = joined;
        let (kind, left, right) = match (keeps_left, keeps_right) {
            (true, true) => (JoinKind::Inner, left, right),
            (true, false) => (JoinKind::Left, left, right),
            (false, true) => (JoinKind::Left, right, left),
            (false, false) => {
                let left = self.push(left, Vec::new())?;
                let right = self.push(right, Vec::new())?;
                return Ok(Plan::join(JoinKind::Full, left, right, conditions).filter(predicates));
            }
        };
        self.push_join(
            Joined { kind, left, right, dependent: false, build_left: false },
            conditions,
            predicates,
        )
    }

    fn push_mark(
        &self,
        joined: Joined,
        mark: ColumnId,
        conditions: Vec<Expr>,
        predicates: Vec<Expr>,
    ) -> Result<Plan> {
        let is_mark = |e: &Expr| matches!(e, Expr::Column { id, .. } if *id == mark);
        let is_not_mark = |e: &Expr| matches!(e, Expr::Not(input) if is_mark(input));
        let decided = if predicates.iter().any(is_mark) {
            Some((JoinKind::Semi, true))
        } else if predicates.iter().any(is_not_mark)
            && self.is_never_unknown(&joined, &conditions, &predicates)
        {
            Some((JoinKind::Anti, false))
        } else {
            None
        };
        if let Some((kind, value)) = decided {
            let rest: Vec<Expr> = predicates.into_iter().filter(|p| !is_mark(p) && !is_not_mark(p)).collect();
            // What is above may still read the mark, which is known now.
            let map = HashMap::from([(mark, Expr::boolean(value))]);
            let (mut with_mark, rest): (Vec<_>, Vec<_>) =
                rest.into_iter().partition(|p| ColumnSet::of(p).contains(mark));
            with_mark.iter_mut().for_each(|p| p.substitute(&map));
            let rest =
                rest.into_iter().chain(with_mark.into_iter().map(super::simplify::expression)).collect();
            let plan = self.push_left_kept(Joined { kind, ..joined }, conditions, rest)?;
            let mut items: Vec<_> = plan.output().iter().map(|id| pass_through(self.columns, *id)).collect();
            items.push((mark, Expr::boolean(value)));
            return Ok(plan.project(items));
        }
        let left_columns = output_set(&joined.left);
        let (for_left, above): (Vec<_>, Vec<_>) = predicates
            .into_iter()
            .partition(|p| ColumnSet::of(p).is_subset(&left_columns) && p.is_deterministic());
        let right_columns = output_set(&joined.right);
        let not_null = not_null_columns(&joined.right);
        // A condition on the right side alone filters it, unless it may be NULL: that can make the mark NULL.
        let (for_right, conditions): (Vec<_>, Vec<_>) = conditions.into_iter().partition(|c| {
            let reads = ColumnSet::of(c);
            let filters = !reads.is_empty() && reads.is_subset(&right_columns) && !c.is_volatile();
            filters && is_never_null(c, &not_null)
        });
        let left = self.push(joined.left, for_left)?;
        let right = self.push(joined.right, for_right)?;
        if is_empty_relation(&left) {
            return Ok(empty_relation([left.output(), vec![mark]].concat()));
        }
        let shape = joined_shape(JoinKind::Mark(mark), joined.dependent, joined.build_left);
        Ok(Joined { left, right, ..shape }.build(conditions).filter(above))
    }

    /// Whether no condition of a mark join can be NULL.
    fn is_never_unknown(&self, joined: &Joined, conditions: &[Expr], predicates: &[Expr]) -> bool {
        if conditions.is_empty() {
            return true;
        }
        let mut not_null = not_null_columns(&joined.left).union(&not_null_columns(&joined.right));
        predicates.iter().for_each(|p| not_null.union_with(&rejected_nulls(p)));
        conditions.iter().all(|c| is_never_null(c, &not_null))
    }

    /// Left, Single, Semi and Anti.
    fn push_left_kept(
        &self,
        mut joined: Joined,
        conditions: Vec<Expr>,
        predicates: Vec<Expr>,
    ) -> Result<Plan> {
        let (left, right) = (output_set(&joined.left), output_set(&joined.right));
        if matches!(joined.kind, JoinKind::Left | JoinKind::Single) {
            let rejected = predicates.iter().fold(ColumnSet::new(), |a, p| a.union(&rejected_nulls(p)));
            let once = joined.kind == JoinKind::Left
                || !joined.dependent
                    && is_matched_once(&joined.left, &joined.right, &keys(&joined.right), &conditions);
            if once && rejected.intersects(&right) {
                joined.kind = JoinKind::Inner;
                return self.push_inner(joined, conditions, predicates);
            }
        }
        let (mut for_left, above): (Vec<_>, Vec<_>) =
            predicates.into_iter().partition(|p| ColumnSet::of(p).is_subset(&left) && p.is_deterministic());
        let mut sides = divide(conditions, &left, &right);
        if joined.kind == JoinKind::Semi {
            add_new(&mut for_left, std::mem::take(&mut sides.left));
        }
        // Conditions on the left side alone decide about partners, not about rows.
        let mut stays = std::mem::take(&mut sides.left);
        stays.extend(sides.both);
        let mut classes = EqualityClasses::new();
        stays.iter().for_each(|c| classes.add_condition(c));
        let mut known = for_left.clone();
        if joined.kind == JoinKind::Semi {
            known.extend(sides.right.iter().cloned());
        }
        let inferred = classes.inferred(&known, self.columns);
        let inferred = divide(inferred, &left, &right);
        add_new(&mut sides.right, inferred.right);
        if joined.kind == JoinKind::Semi {
            add_new(&mut for_left, inferred.left);
        }
        add_new(&mut sides.right, implied_parts(&stays, &right));
        let left = self.push(joined.left, for_left)?;
        let right = self.push(joined.right, sides.right)?;
        let plan = match (joined.kind, is_empty_relation(&left), is_empty_relation(&right)) {
            (JoinKind::Semi, _, true) | (JoinKind::Semi | JoinKind::Anti, true, _) => {
                empty_relation(left.output())
            }
            (JoinKind::Anti, _, true) => left,
            (_, true, _) => empty_relation([left.output(), right.output()].concat()),
            _ => {
                let shape = joined_shape(joined.kind, joined.dependent, joined.build_left);
                Joined { left, right, ..shape }.build(stays)
            }
        };
        Ok(plan.filter(above))
    }
}

/// For each disjunction over both sides, what it implies for one side alone: `(a and x) or (b and y)` with `a`, `b` over
/// the side implies `a or b`.
fn implied_parts(predicates: &[Expr], side: &ColumnSet) -> Vec<Expr> {
    let implied = |predicate: &Expr| {
        let Expr::Or(branches) = predicate else { return None };
        let mut parts = Vec::with_capacity(branches.len());
        for branch in branches {
            let mut conjuncts = Vec::new();
            split_conjuncts(branch.clone(), &mut conjuncts);
            conjuncts.retain(|c| {
                !ColumnSet::of(c).is_empty() && ColumnSet::of(c).is_subset(side) && c.is_deterministic()
            });
            if conjuncts.is_empty() {
                return None;
            }
            parts.push(Expr::and(conjuncts));
        }
        Some(super::simplify::expression(Expr::Or(parts)))
    };
    let mut all = Vec::new();
    predicates.iter().filter_map(implied).for_each(|p| split_conjuncts(p, &mut all));
    all
}

/// A join, dependent or not, in pieces.
struct Joined {
    kind: JoinKind,
    left: Plan,
    right: Plan,
    dependent: bool,
    build_left: bool,
}

fn joined_shape(kind: JoinKind, dependent: bool, build_left: bool) -> Joined {
    Joined { kind, left: Plan::single_row(), right: Plan::single_row(), dependent, build_left }
}

impl Joined {
    fn output(&self) -> Vec<ColumnId> {
        [self.left.output(), self.right.output()].concat()
    }

    fn build(self, conditions: Vec<Expr>) -> Plan {
        let Self { kind, left, right, dependent, build_left } = self;
        let (left, right) = (Box::new(left), Box::new(right));
        if dependent {
            Plan::DependentJoin { kind, left, right, conditions }
        } else {
            Plan::Join { kind, left, right, conditions, build_left }
        }
    }
}

/// UNION ALL with nothing is the other side.
fn simplify_set_operation(plan: Plan, all_columns: &Columns) -> Plan {
    let Plan::SetOp { kind, all, mut left, mut right, left_columns, right_columns, columns } = plan else {
        return plan;
    };
    let renamed = |input: Plan, ids: &[ColumnId]| {
        let items = columns.iter().zip(ids).map(|(made, id)| (*made, all_columns.expr(*id))).collect();
        input.project(items)
    };
    match (kind, is_empty_relation(&left), is_empty_relation(&right)) {
        (_, true, true) | (SetOpKind::Intersect, true, _) | (SetOpKind::Intersect, _, true) => {
            empty_relation(columns)
        }
        (SetOpKind::Except, true, _) => empty_relation(columns),
        (SetOpKind::Union, true, _) if all => renamed(take(&mut right), &right_columns),
        (SetOpKind::Union | SetOpKind::Except, _, true) if all => renamed(take(&mut left), &left_columns),
        _ => Plan::SetOp { kind, all, left, right, left_columns, right_columns, columns },
    }
}

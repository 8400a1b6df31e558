//! General unnesting: evaluates the right input of a dependent join for all outer values at once.
//!
//! The domain D is the set of distinct combinations of the outer columns that the right input still reads. Pushing D
//! down turns a plan `P` that reads outer columns into one that does not and whose output has, for each outer column `o`
//! that mattered, a column `repr[o]`: its rows are `{d} x P(d)` for every `d` of (at least) D. Joining the left
//! input with it on `o = repr[o]` gives the answer; values of `repr` that are no outer values find no partner.
//!
//! Where a filter equates an outer column with something of its input, that serves as `repr` and D is
//! not needed there. The left input is shared ([`Plan::With`]) only if D is read at all.
//!
//! Source: Neumann & Kemper, "Unnesting Arbitrary Queries", BTW 2015, section 3.

use super::super::column_set::ColumnSet;
use super::super::properties::{
    as_column, free_columns, is_never_null, made_columns, not_null_columns, output_set, read_columns,
};
use super::super::rewrite::{any_node, pass_all, pass_through, refresh, with_stack};
use super::{as_correlated_equality, independent_join, zero_of};
use crate::plan::{ColumnId, Columns, CompareOp, Expr, JoinKind, Plan, SetOpKind, SharedId};
use inlay_types::{Error, Result};
use std::collections::{BTreeMap, HashMap};

/// Outer column to the column that stands for it.
type Repr = BTreeMap<ColumnId, ColumnId>;

struct PushDown<'a> {
    columns: &'a mut Columns,
    /// Outer columns that the right input reads.
    outer: ColumnSet,
    /// The shared domain: outer column to its column.
    domain: SharedId,
    domain_columns: Repr,
    domain_uses: usize,
    /// What is volatile is computed for each row of the domain, whether it reads outer columns or not.
    per_row: bool,
    /// Shared plans whose definition reads outer columns: what stands for those in the definition.
    shared: HashMap<SharedId, Repr>,
}

/// Unnests a dependent join whose right input reads columns of `left` after all predicates were moved that could be. With
/// the `number` of a left row what is volatile in the right input is computed for each.
pub fn run(
    kind: JoinKind,
    left: Plan,
    right: Plan,
    conditions: Vec<Expr>,
    number: Option<ColumnId>,
    columns: &mut Columns,
) -> Result<Plan> {
    let mut outer = free_columns(&right).intersection(&output_set(&left));
    number.into_iter().for_each(|id| {
        outer.insert(id);
    });
    let domain_columns: Repr = outer.iter().map(|id| (id, columns.copy_of(id))).collect();
    let domain = columns.add_shared();
    let per_row = number.is_some();
    let mut push =
        PushDown { columns, outer, domain, domain_columns, domain_uses: 0, per_row, shared: HashMap::new() };
    let (right, repr) = push.push(right)?;
    let PushDown { domain_columns, domain_uses, .. } = push;
    let mut conditions = conditions;
    conditions.extend(equalities(&repr, columns));
    if domain_uses == 0 {
        return Ok(independent_join(kind, left, right, conditions));
    }
    let left_columns = left.output();
    let (shared, mut definition) = (columns.add_shared(), left);
    let renamed = refresh(&mut definition, columns);
    let new_name = |id: ColumnId| renamed.get(&id).copied().unwrap_or(id);
    let left_scan = Plan::SharedScan {
        id: shared,
        columns: left_columns.iter().map(|id| (*id, new_name(*id))).collect(),
    };
    let source: Vec<(ColumnId, ColumnId)> =
        domain_columns.keys().map(|id| (columns.copy_of(*id), new_name(*id))).collect();
    let groups =
        domain_columns.values().zip(&source).map(|(made, (read, _))| (*made, columns.expr(*read))).collect();
    let domain_scan = Plan::SharedScan { id: shared, columns: source };
    let domain_plan = Plan::Aggregate { input: Box::new(domain_scan), groups, aggregates: Vec::new() };
    let joined = independent_join(kind, left_scan, right, conditions);
    let body = Plan::With { id: domain, definition: Box::new(domain_plan), body: Box::new(joined) };
    Ok(Plan::With { id: shared, definition: Box::new(definition), body: Box::new(body) })
}

/// `o IS NOT DISTINCT FROM repr[o]` for each.
fn equalities(repr: &Repr, columns: &Columns) -> Vec<Expr> {
    repr.iter()
        .map(|(o, r)| Expr::compare(CompareOp::NotDistinct, columns.expr(*o), columns.expr(*r)))
        .collect()
}

/// `a[o] IS NOT DISTINCT FROM b[o]` for each `o` of both.
fn meeting(a: &Repr, b: &Repr, columns: &Columns) -> Vec<Expr> {
    let both = a.iter().filter_map(|(o, left)| Some((left, b.get(o)?)));
    both.map(|(l, r)| Expr::compare(CompareOp::NotDistinct, columns.expr(*l), columns.expr(*r))).collect()
}

fn covers(repr: &Repr, wanted: &ColumnSet) -> bool {
    wanted.iter().all(|id| repr.contains_key(&id))
}

impl PushDown<'_> {
    fn is_correlated(&self, plan: &Plan) -> bool {
        self.per_row && plan.is_volatile() || self.reads_outer(plan)
    }

    fn reads_outer(&self, plan: &Plan) -> bool {
        read_columns(plan).difference(&made_columns(plan)).intersects(&self.outer)
            || any_node(
                plan,
                &mut |p| matches!(p, Plan::SharedScan { id, .. } if self.shared.contains_key(id)),
            )
    }

    /// The outer columns that expressions read, and all of them where each outer row has values of its own.
    fn wanted<'e>(&self, exprs: impl IntoIterator<Item = &'e Expr>) -> ColumnSet {
        let mut read = ColumnSet::new();
        for expr in exprs {
            if self.per_row && expr.is_volatile() {
                return self.outer.clone();
            }
            read.add_expr(expr);
        }
        read.intersection(&self.outer)
    }

    fn substitute<'e>(&self, exprs: impl IntoIterator<Item = &'e mut Expr>, repr: &Repr) {
        let map: HashMap<ColumnId, Expr> = repr.iter().map(|(o, r)| (*o, self.columns.expr(*r))).collect();
        exprs.into_iter().for_each(|e| e.substitute(&map));
    }

    /// A scan of the domain.
    fn domain_scan(&mut self) -> (Plan, Repr) {
        self.domain_uses += 1;
        let (mut repr, mut scanned) = (Repr::new(), Vec::new());
        for (outer, made) in self.domain_columns.clone() {
            let id = self.columns.copy_of(outer);
            repr.insert(outer, id);
            scanned.push((id, made));
        }
        (Plan::SharedScan { id: self.domain, columns: scanned }, repr)
    }

    /// Joins the domain to a plan unless it has all of `wanted` already.
    fn ensure(&mut self, plan: Plan, repr: Repr, wanted: &ColumnSet) -> (Plan, Repr) {
        if covers(&repr, wanted) {
            return (plan, repr);
        }
        let (scan, full) = self.domain_scan();
        let conditions = meeting(&repr, &full, self.columns);
        (independent_join(JoinKind::Inner, plan, scan, conditions), full)
    }

    /// Pushes the domain into `plan` if it is correlated.
    fn push_if(&mut self, plan: Plan) -> Result<(Plan, Repr)> {
        if self.is_correlated(&plan) { self.push(plan) } else { Ok((plan, Repr::new())) }
    }

    fn push(&mut self, plan: Plan) -> Result<(Plan, Repr)> {
        with_stack(|| self.push_operator(plan))
    }

    fn push_operator(&mut self, plan: Plan) -> Result<(Plan, Repr)> {
        match plan {
            // What the domain cannot go through, and need not.
            plan @ (Plan::TableCall { .. } | Plan::LimitBy { .. } | Plan::OrderedJoin { .. })
                if !self.reads_outer(&plan) =>
            {
                Ok((plan, Repr::new()))
            }
            Plan::Filter { input, predicates } => {
                let (input, repr) = self.push_if(*input)?;
                Ok(self.filter(input, repr, predicates))
            }
            Plan::Scan { table, columns, fields, filters, row_id } => {
                let input = Plan::Scan { table, columns, fields, filters: Vec::new(), row_id };
                Ok(self.filter(input, Repr::new(), filters))
            }
            Plan::Source { source, columns, filters } => {
                let input = Plan::Source { source, columns, filters: Vec::new() };
                Ok(self.filter(input, Repr::new(), filters))
            }
            Plan::Project { input, mut items } => {
                let (input, repr) = self.push_if(*input)?;
                let wanted = self.wanted(items.iter().map(|(_, e)| e));
                let (input, repr) = self.ensure(input, repr, &wanted);
                self.substitute(items.iter_mut().map(|(_, e)| e), &repr);
                for id in repr.values().collect::<ColumnSet>().iter() {
                    if !items.iter().any(|(made, _)| *made == id) {
                        items.push(pass_through(self.columns, id));
                    }
                }
                Ok((Plan::Project { input: Box::new(input), items }, repr))
            }
            Plan::Join { kind, left, right, conditions, .. } => self.join(kind, *left, *right, conditions),
            Plan::Aggregate { input, groups, aggregates } => {
                let (input, repr) = self.push_if(*input)?;
                let exprs =
                    groups.iter().map(|(_, e)| e).chain(aggregates.iter().flat_map(|(_, a)| a.expressions()));
                let wanted = self.wanted(exprs);
                let (input, repr) = self.ensure(input, repr, &wanted);
                Ok(self.aggregate(input, repr, groups, aggregates))
            }
            Plan::Window { input, mut windows } => {
                let (input, repr) = self.push_if(*input)?;
                let wanted = self.wanted(windows.iter().flat_map(|(_, w)| w.expressions()));
                let (input, repr) = self.ensure(input, repr, &wanted);
                self.substitute(windows.iter_mut().flat_map(|(_, w)| w.expressions_mut()), &repr);
                // The rows of different outer rows are different partitions.
                for id in repr.values() {
                    let key = self.columns.expr(*id);
                    for (_, window) in &mut windows {
                        if !window.partition.contains(&key) {
                            window.partition.push(key.clone());
                        }
                    }
                }
                Ok((Plan::Window { input: Box::new(input), windows }, repr))
            }
            Plan::TableCall { call, .. } => Err(Error::unsupported(format!(
                "{} is given a table that reads columns from outside of it",
                call.external.definition.name
            ))),
            Plan::Unnest { input, mut lists, ordinality, keep_empty } => {
                let (input, repr) = self.push_if(*input)?;
                let wanted = self.wanted(lists.iter().map(|(_, e)| e));
                let (input, repr) = self.ensure(input, repr, &wanted);
                self.substitute(lists.iter_mut().map(|(_, e)| e), &repr);
                Ok((Plan::Unnest { input: Box::new(input), lists, ordinality, keep_empty }, repr))
            }
            Plan::Sort { input, keys, limit, offset } => {
                self.group_limit(*input, Vec::new(), keys, limit, offset)
            }
            Plan::Limit { input, limit, offset } => match *input {
                Plan::Sort { input, keys, limit: None, offset: 0 } => {
                    self.group_limit(*input, Vec::new(), keys, limit, offset)
                }
                other => self.group_limit(other, Vec::new(), Vec::new(), limit, offset),
            },
            Plan::GroupLimit { input, groups, keys, limit, offset } => {
                self.group_limit(*input, groups, keys, limit, offset)
            }
            Plan::SetOp { kind, all, left, right, left_columns, right_columns, columns } => {
                self.set_operation(kind, all, (*left, left_columns), (*right, right_columns), columns)
            }
            Plan::With { id, definition, body } => {
                let (definition, repr) = self.push_if(*definition)?;
                if !repr.is_empty() {
                    self.shared.insert(id, repr);
                }
                let (body, repr) = self.push_if(*body)?;
                Ok((Plan::With { id, definition: Box::new(definition), body: Box::new(body) }, repr))
            }
            Plan::Recursive { .. } => self.recursive(plan),
            Plan::LimitBy { .. } => {
                Err(Error::unsupported("LIMIT of a percentage or by a subquery in a correlated subquery")
                    .with_hint("give a number"))
            }
            Plan::Sample { input, sample } => {
                let (input, repr) = self.push_if(*input)?;
                Ok((Plan::Sample { input: Box::new(input), sample }, repr))
            }
            Plan::SharedScan { id, mut columns } => {
                let mut repr = Repr::new();
                for (outer, made) in self.shared.get(&id).cloned().unwrap_or_default() {
                    let new = self.columns.copy_of(outer);
                    columns.push((new, made));
                    repr.insert(outer, new);
                }
                Ok((Plan::SharedScan { id, columns }, repr))
            }
            Plan::Values { columns, rows } => self.values(columns, rows),
            Plan::OrderedJoin { .. } => {
                Err(Error::unsupported("an ASOF or positional join that reads columns from outside of it"))
            }
            Plan::DependentJoin { .. } => {
                Err(Error::internal("a dependent join is left inside of another one"))
            }
        }
    }

    /// A filter over a plan that the domain was pushed into, or that is not correlated.
    fn filter(&mut self, input: Plan, mut repr: Repr, predicates: Vec<Expr>) -> (Plan, Repr) {
        let wanted = self.wanted(&predicates);
        let not_null = not_null_columns(&input);
        let mut extra = Vec::new();
        let mut kept = Vec::with_capacity(predicates.len());
        for predicate in predicates {
            let sides = as_correlated_equality(&predicate, &self.outer);
            let found = sides.and_then(|(outer_side, inner)| Some((as_column(&outer_side)?, inner)));
            match found.filter(|(outer, _)| !repr.contains_key(outer)) {
                Some((outer, inner)) => {
                    let id = as_column(&inner).unwrap_or_else(|| {
                        let id = self.columns.add("key", inner.ty());
                        extra.push((id, inner.clone()));
                        id
                    });
                    if !is_never_null(&inner, &not_null) {
                        kept.push(Expr::Not(Box::new(Expr::IsNull(Box::new(self.columns.expr(id))))));
                    }
                    repr.insert(outer, id);
                }
                None => kept.push(predicate),
            }
        }
        let input = if extra.is_empty() {
            input
        } else {
            let mut items = pass_all(self.columns, &input);
            items.extend(extra);
            input.project(items)
        };
        let (input, repr) = self.ensure(input, repr, &wanted);
        self.substitute(&mut kept, &repr);
        (input.filter(kept), repr)
    }

    fn join(
        &mut self,
        kind: JoinKind,
        left: Plan,
        right: Plan,
        conditions: Vec<Expr>,
    ) -> Result<(Plan, Repr)> {
        let (left, left_repr) = self.push_if(left)?;
        let (right, right_repr) = self.push_if(right)?;
        match kind {
            JoinKind::Inner => {
                let (correlated, mut plain): (Vec<_>, Vec<_>) = conditions.into_iter().partition(|c| {
                    ColumnSet::of(c).intersects(&self.outer) || self.per_row && c.is_volatile()
                });
                plain.extend(meeting(&left_repr, &right_repr, self.columns));
                let joined = independent_join(JoinKind::Inner, left, right, plain);
                let mut repr = right_repr;
                repr.extend(left_repr);
                Ok(self.filter(joined, repr, correlated))
            }
            JoinKind::Full => {
                let all = self.outer.clone();
                let (left, left_repr) = self.ensure(left, left_repr, &all);
                let (right, right_repr) = self.ensure(right, right_repr, &all);
                let mut conditions = conditions;
                self.substitute(&mut conditions, &left_repr);
                conditions.extend(meeting(&left_repr, &right_repr, self.columns));
                let joined = Plan::join(JoinKind::Full, left, right, conditions);
                // Which side a row comes from is told by neither repr when a domain value is NULL, but then both are.
                let mut items = pass_all(self.columns, &joined);
                let mut repr = Repr::new();
                for outer in all.iter() {
                    let (id, ty) = (self.columns.copy_of(outer), self.columns.ty(outer));
                    let args =
                        vec![self.columns.expr(left_repr[&outer]), self.columns.expr(right_repr[&outer])];
                    items.push((id, Expr::Coalesce { args, ty }));
                    repr.insert(outer, id);
                }
                Ok((joined.project(items), repr))
            }
            JoinKind::Left | JoinKind::Semi | JoinKind::Anti | JoinKind::Mark(_) | JoinKind::Single => {
                let mut wanted = self.wanted(&conditions);
                right_repr.keys().for_each(|id| {
                    wanted.insert(*id);
                });
                let (left, repr) = self.ensure(left, left_repr, &wanted);
                let mut conditions = conditions;
                self.substitute(&mut conditions, &repr);
                conditions.extend(meeting(&repr, &right_repr, self.columns));
                Ok((independent_join(kind, left, right, conditions), repr))
            }
        }
    }

    fn aggregate(
        &mut self,
        input: Plan,
        repr: Repr,
        mut groups: Vec<(ColumnId, Expr)>,
        mut aggregates: Vec<(ColumnId, crate::plan::AggregateExpr)>,
    ) -> (Plan, Repr) {
        let is_grouped = !groups.is_empty();
        self.substitute(groups.iter_mut().map(|(_, e)| e), &repr);
        self.substitute(aggregates.iter_mut().flat_map(|(_, a)| a.expressions_mut()), &repr);
        let mut grouped = Repr::new();
        for (outer, read) in repr {
            let id = self.columns.copy_of(outer);
            groups.push((id, self.columns.expr(read)));
            grouped.insert(outer, id);
        }
        if is_grouped {
            return (Plan::Aggregate { input: Box::new(input), groups, aggregates }, grouped);
        }
        // Without groups there is a row for each domain value, also where there is nothing to aggregate.
        let mut mended = Vec::new();
        for (id, aggregate) in &mut aggregates {
            let is_count = aggregate.function.kind.is_zero_of_nothing();
            if is_count {
                let (raw, ty) = (self.columns.copy_of(*id), self.columns.ty(*id));
                mended.push((
                    *id,
                    Expr::Coalesce { args: vec![self.columns.expr(raw), zero_of(ty.clone())], ty },
                ));
                *id = raw;
            } else {
                mended.push(pass_through(self.columns, *id));
            }
        }
        let right = Plan::Aggregate { input: Box::new(input), groups, aggregates };
        let (scan, full) = self.domain_scan();
        let conditions = meeting(&full, &grouped, self.columns);
        let joined = independent_join(JoinKind::Left, scan, right, conditions);
        mended.extend(full.values().map(|id| pass_through(self.columns, *id)));
        (joined.project(mended), full)
    }

    fn group_limit(
        &mut self,
        input: Plan,
        mut groups: Vec<Expr>,
        mut keys: Vec<crate::plan::SortKey>,
        limit: Option<u64>,
        offset: u64,
    ) -> Result<(Plan, Repr)> {
        let (input, repr) = self.push_if(input)?;
        let wanted = self.wanted(keys.iter().map(|k| &k.expr).chain(&groups));
        let (input, repr) = self.ensure(input, repr, &wanted);
        if limit.is_none() && offset == 0 {
            // The order of a subquery's rows means nothing.
            return Ok((input, repr));
        }
        self.substitute(keys.iter_mut().map(|k| &mut k.expr).chain(&mut groups), &repr);
        for id in repr.values() {
            groups.push(self.columns.expr(*id));
        }
        Ok((Plan::GroupLimit { input: Box::new(input), groups, keys, limit, offset }, repr))
    }

    fn set_operation(
        &mut self,
        kind: SetOpKind,
        all: bool,
        (left, mut left_columns): (Plan, Vec<ColumnId>),
        (right, mut right_columns): (Plan, Vec<ColumnId>),
        mut columns: Vec<ColumnId>,
    ) -> Result<(Plan, Repr)> {
        let (left, left_repr) = self.push_if(left)?;
        let (right, right_repr) = self.push_if(right)?;
        let mut wanted: ColumnSet = left_repr.keys().chain(right_repr.keys()).collect();
        if !covers(&left_repr, &wanted) || !covers(&right_repr, &wanted) {
            wanted = self.outer.clone();
        }
        let (left, left_repr) = self.ensure(left, left_repr, &wanted);
        let (right, right_repr) = self.ensure(right, right_repr, &wanted);
        let mut repr = Repr::new();
        for outer in wanted.iter() {
            let id = self.columns.copy_of(outer);
            left_columns.push(left_repr[&outer]);
            right_columns.push(right_repr[&outer]);
            columns.push(id);
            repr.insert(outer, id);
        }
        let (left, right) = (Box::new(left), Box::new(right));
        Ok((Plan::SetOp { kind, all, left, right, left_columns, right_columns, columns }, repr))
    }

    /// A recursion for each row of the domain: each row carries the domain's columns, round by round.
    fn recursive(&mut self, plan: Plan) -> Result<(Plan, Repr)> {
        let Plan::Recursive {
            id,
            all,
            mut keyed,
            initial,
            step,
            mut initial_columns,
            mut step_columns,
            mut columns,
        } = plan
        else {
            return Err(Error::internal("not a recursion"));
        };
        let wanted = self.outer.clone();
        let (initial, initial_repr) = self.push_if(*initial)?;
        let (initial, initial_repr) = self.ensure(initial, initial_repr, &wanted);
        let mut repr = Repr::new();
        for outer in wanted.iter() {
            let made = self.columns.copy_of(outer);
            initial_columns.push(initial_repr[&outer]);
            if let Some(keyed) = &mut keyed {
                keyed.keys.push(columns.len());
            }
            columns.push(made);
            repr.insert(outer, made);
        }
        self.shared.insert(id, repr.clone());
        if let Some(keyed) = &keyed {
            self.shared.insert(keyed.recurring, repr.clone());
        }
        let (step, step_repr) = self.push_if(*step)?;
        let (step, step_repr) = self.ensure(step, step_repr, &wanted);
        step_columns.extend(wanted.iter().map(|outer| step_repr[&outer]));
        let (initial, step) = (Box::new(initial), Box::new(step));
        Ok((Plan::Recursive { id, all, keyed, initial, step, initial_columns, step_columns, columns }, repr))
    }

    /// Literal rows over outer columns: the union of one projection of the domain per row.
    fn values(&mut self, columns: Vec<ColumnId>, rows: Vec<Vec<Expr>>) -> Result<(Plan, Repr)> {
        let mut union: Option<(Plan, Repr, Vec<ColumnId>)> = None;
        let count = rows.len();
        for (index, mut row) in rows.into_iter().enumerate() {
            let (scan, repr) = self.domain_scan();
            self.substitute(&mut row, &repr);
            let made: Vec<ColumnId> = if count == 1 {
                columns.clone()
            } else {
                columns.iter().map(|id| self.columns.copy_of(*id)).collect()
            };
            let mut items: Vec<_> = made.iter().copied().zip(row).collect();
            items.extend(repr.values().map(|id| pass_through(self.columns, *id)));
            let plan = scan.project(items);
            union = Some(match union {
                None => (plan, repr, made),
                Some((left, left_repr, left_made)) => {
                    let is_last = index + 1 == count;
                    let new: Vec<ColumnId> = if is_last {
                        columns.clone()
                    } else {
                        columns.iter().map(|id| self.columns.copy_of(*id)).collect()
                    };
                    let new_repr: Repr = repr.keys().map(|o| (*o, self.columns.copy_of(*o))).collect();
                    let together = Plan::SetOp {
                        kind: SetOpKind::Union,
                        all: true,
                        left: Box::new(left),
                        right: Box::new(plan),
                        left_columns: left_made.into_iter().chain(left_repr.into_values()).collect(),
                        right_columns: made.into_iter().chain(repr.into_values()).collect(),
                        columns: new.iter().copied().chain(new_repr.values().copied()).collect(),
                    };
                    (together, new_repr, new)
                }
            });
        }
        match union {
            Some((plan, repr, _)) => Ok((plan, repr)),
            None => Ok((Plan::Values { columns, rows: Vec::new() }, Repr::new())),
        }
    }
}

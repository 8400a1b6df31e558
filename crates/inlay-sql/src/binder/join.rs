//! JOIN: the two sides, the condition of ON, USING and NATURAL, and the plan of each kind.

use super::known::Names;
use super::scope::{Phase, Relation, find_column, same_name};
use super::select::conjuncts;
use super::subquery::{Pending, attach, combine, filter, free_columns};
use super::{Binder, Shared};
use crate::optimizer::rewrite::rename_columns;
use crate::parser::ast::{Ident, JoinCondition, JoinKind as WrittenJoin, Pos, TableRef};
use crate::plan::{ColumnId, CompareOp, Expr, JoinKind, Plan};
use inlay_types::{Candidates, Error, Result};
use std::collections::HashSet;

impl Binder<'_> {
    pub(super) fn join(
        &mut self,
        left: &TableRef,
        right: &TableRef,
        kind: WrittenJoin,
        condition: &JoinCondition,
        pos: Pos,
    ) -> Result<Plan> {
        let start = self.scope()?.relations.len();
        let left_plan = self.table_ref(left)?;
        let middle = self.scope()?.relations.len();
        let right_plan = self.table_ref(right)?;
        let outer_start = std::mem::replace(&mut self.scope()?.visible_from, start);
        let conditions = self.join_conditions(kind, condition, start, middle, pos);
        self.scope()?.visible_from = outer_start;
        let (conditions, pending) = conditions?;
        let joined = match (kind, condition) {
            (WrittenJoin::Positional, _) => self.positional_join(left_plan, right_plan, pos)?,
            (_, JoinCondition::Asof(_)) if pending.is_empty() => {
                self.asof_join(kind, left_plan, right_plan, conditions, pos)?
            }
            (_, JoinCondition::Asof(_)) => {
                return Err(self.at(Error::unsupported("a subquery in the condition of an ASOF JOIN"), pos));
            }
            _ => {
                // A condition with a subquery is computed for each kept row with all others, whose values stay the same.
                let (mut left_plan, mut right_plan) = (left_plan, right_plan);
                if !pending.is_empty() {
                    match kind {
                        WrittenJoin::Right => left_plan = self.computed_once(left_plan),
                        WrittenJoin::Left | WrittenJoin::Semi | WrittenJoin::Anti => {
                            right_plan = self.computed_once(right_plan);
                        }
                        WrittenJoin::Inner
                        | WrittenJoin::Cross
                        | WrittenJoin::Full
                        | WrittenJoin::Positional => {}
                    }
                }
                self.join_plan(kind, left_plan, right_plan, conditions, pending, pos)?
            }
        };
        if matches!(kind, WrittenJoin::Semi | WrittenJoin::Anti) {
            self.scope()?.relations.truncate(middle);
        }
        let written = match condition {
            JoinCondition::Asof(inner) => inner,
            other => other,
        };
        let full_using =
            kind == WrittenJoin::Full && matches!(written, JoinCondition::Using(_) | JoinCondition::Natural);
        if full_using { self.merge_full(joined, start, middle) } else { Ok(joined) }
    }

    fn join_conditions(
        &mut self,
        kind: WrittenJoin,
        condition: &JoinCondition,
        start: usize,
        middle: usize,
        pos: Pos,
    ) -> Result<(Vec<Expr>, Vec<Pending>)> {
        match condition {
            JoinCondition::None => Ok((Vec::new(), Vec::new())),
            JoinCondition::On(on) => {
                let conjuncts = conjuncts(on);
                self.in_phase(Phase::From, |binder| {
                    conjuncts.into_iter().map(|conjunct| binder.condition(conjunct, "ON")).collect()
                })
            }
            JoinCondition::Asof(inner) => {
                let (mut conditions, pending) = self.join_conditions(kind, inner, start, middle, pos)?;
                if let (JoinCondition::Using(_), Some(Expr::Compare { op, .. })) =
                    (&**inner, conditions.last_mut())
                {
                    *op = CompareOp::GtEq;
                }
                Ok((conditions, pending))
            }
            JoinCondition::Using(names) => Ok((self.using(kind, names, start, middle)?, Vec::new())),
            JoinCondition::Natural => {
                let names = self.common_names(start, middle, pos)?;
                Ok((self.using(kind, &names, start, middle)?, Vec::new()))
            }
        }
    }

    /// Names of columns that both sides of a NATURAL JOIN have.
    fn common_names(&mut self, start: usize, middle: usize, pos: Pos) -> Result<Vec<Ident>> {
        let relations = &self.scope()?.relations;
        let visible = |range: &[Relation]| -> Vec<String> {
            range
                .iter()
                .flat_map(|r| r.columns.iter().filter(|c| !c.hidden).map(|c| c.name.clone()))
                .collect()
        };
        let (left, right) = (visible(&relations[start..middle]), visible(&relations[middle..]));
        let (left_names, right_names) =
            (Names::of(left.iter().map(String::as_str)), Names::of(right.iter().map(String::as_str)));
        let is_common = |(place, name): &(usize, String)| {
            left_names.first(name) == Some(*place) && right_names.contains(name)
        };
        let common = left.iter().cloned().enumerate().filter(is_common);
        let names: Vec<Ident> = common.map(|(_, value)| Ident { value, pos }).collect();
        if names.is_empty() {
            return Err(
                self.at(Error::bind("NATURAL JOIN: the two sides have no column name in common"), pos)
            );
        }
        Ok(names)
    }

    /// The conditions of USING; the two columns of each name become one for `*` and the unqualified name.
    fn using(
        &mut self,
        kind: WrittenJoin,
        names: &[Ident],
        start: usize,
        middle: usize,
    ) -> Result<Vec<Expr>> {
        let mut conditions = Vec::with_capacity(names.len());
        for (index, name) in names.iter().enumerate() {
            // Said once more, it is the same column.
            if names[..index].iter().any(|known| same_name(&known.value, &name.value)) {
                continue;
            }
            let parts = std::slice::from_ref(name);
            let relations = &self.scope()?.relations;
            let left = find_column(&relations[start..middle], parts);
            let right = find_column(&relations[middle..], parts);
            let missing = |side: &[Relation]| {
                let known = side.iter().flat_map(|r| r.columns.iter().map(|c| c.name.as_str()));
                let candidates = Candidates::of(&name.value, known);
                Error::UndefinedColumn { name: name.value.clone(), candidates }
            };
            let absent = match (&left, &right) {
                (Ok(None), _) => Some(missing(&relations[start..middle])),
                (Ok(_), Ok(None)) => Some(missing(&relations[middle..])),
                _ => None,
            };
            let (left, right) = (self.placed(left, name.pos)?, self.placed(right, name.pos)?);
            if let Some(error) = absent {
                return Err(self.at(error, name.pos));
            }
            let (Some(left), Some(right)) = (left, right) else {
                return Err(Error::internal("a column of USING was not found"));
            };
            let scope = self.scopes.len().saturating_sub(1);
            self.ask_column(scope, left, name.pos)?;
            self.ask_column(scope, right, name.pos)?;
            conditions.push(self.comparison(
                CompareOp::Eq,
                self.column(left),
                self.column(right),
                name.pos,
            )?);
            let relations = &mut self.scope()?.relations;
            for relation in &mut relations[middle..] {
                for place in relation.places(&name.value) {
                    relation.columns[place].hidden = true;
                }
            }
            if kind == WrittenJoin::Right {
                for relation in &mut relations[start..middle] {
                    for place in relation.places(&name.value) {
                        if !relation.columns[place].hidden {
                            relation.columns[place].merged = Some(right);
                        }
                    }
                }
            }
        }
        Ok(conditions)
    }

    /// Behind FULL JOIN USING the merged column is whichever side has a value.
    fn merge_full(&mut self, plan: Plan, start: usize, middle: usize) -> Result<Plan> {
        let output = plan.output();
        let mut items: Vec<(ColumnId, Expr)> = output.iter().map(|id| (*id, self.column(*id))).collect();
        let relations = &self.scope()?.relations;
        let mut pairs = Vec::new();
        for (relation_index, relation) in relations.iter().enumerate().take(middle).skip(start) {
            for (index, column) in relation.columns.iter().enumerate().filter(|(_, column)| !column.hidden) {
                let mut named = relations[middle..].iter().flat_map(|r| r.named(&column.name));
                if let Some(right) = named.find(|c| c.hidden) {
                    pairs.push((
                        relation_index,
                        index,
                        column.unqualified(),
                        right.unqualified(),
                        column.name.clone(),
                    ));
                }
            }
        }
        for (relation_index, index, left, right, name) in pairs {
            let args = vec![self.column(left), self.column(right)];
            let ty = self.common_type_of(args.iter(), Pos::default(), "USING")?;
            let args = args
                .into_iter()
                .map(|arg| self.cast_to(arg, ty.clone(), Pos::default()))
                .collect::<Result<Vec<_>>>()?;
            let merged = self.columns.add(name, ty.clone());
            items.push((merged, Expr::Coalesce { args, ty }));
            self.scope()?.relations[relation_index].columns[index].merged = Some(merged);
        }
        Ok(Plan::Project { input: Box::new(plan), items })
    }

    /// Rows that differ each time they are computed, as a plan that others may read often. The scan makes the columns that
    /// the query knows, so below it they have other names.
    fn computed_once(&mut self, mut plan: Plan) -> Plan {
        if !plan.is_volatile() || !free_columns(&plan).is_empty() {
            return plan;
        }
        let id = self.columns.add_shared();
        let columns: Vec<(ColumnId, ColumnId)> =
            plan.output().into_iter().map(|read| (read, self.columns.copy_of(read))).collect();
        rename_columns(&mut plan, &columns.iter().copied().collect());
        self.shared.push(Shared { id, definition: plan, materialized: true });
        Plan::SharedScan { id, columns }
    }

    fn join_plan(
        &self,
        kind: WrittenJoin,
        left: Plan,
        right: Plan,
        conditions: Vec<Expr>,
        pending: Vec<Pending>,
        pos: Pos,
    ) -> Result<Plan> {
        let independent_of = |side: &Plan| {
            let made: HashSet<ColumnId> = side.output().into_iter().collect();
            pending.iter().all(|join| join.dependencies().is_disjoint(&made))
        };
        let lateral = |inner: &Plan, outer: &Plan| {
            let free = free_columns(inner);
            outer.output().iter().any(|id| free.contains(id))
        };
        let refuse = |feature: &str| Err(self.at(Error::unsupported(feature), pos));
        match kind {
            WrittenJoin::Positional => Err(Error::internal("a positional join with conditions")),
            WrittenJoin::Inner | WrittenJoin::Cross if pending.is_empty() => {
                Ok(combine(JoinKind::Inner, left, right, conditions))
            }
            WrittenJoin::Inner | WrittenJoin::Cross => {
                let product = combine(JoinKind::Inner, left, right, Vec::new());
                Ok(filter(attach(product, pending, &self.columns), conditions))
            }
            WrittenJoin::Full if lateral(&right, &left) => refuse("LATERAL behind FULL JOIN"),
            WrittenJoin::Full if pending.is_empty() => Ok(combine(JoinKind::Full, left, right, conditions)),
            WrittenJoin::Full if independent_of(&right) => {
                Ok(combine(JoinKind::Full, attach(left, pending, &self.columns), right, conditions))
            }
            WrittenJoin::Full if independent_of(&left) => {
                Ok(combine(JoinKind::Full, left, attach(right, pending, &self.columns), conditions))
            }
            WrittenJoin::Full => refuse("a subquery in FULL JOIN's ON that reads both sides"),
            WrittenJoin::Right if lateral(&right, &left) => refuse("LATERAL behind RIGHT JOIN"),
            WrittenJoin::Left | WrittenJoin::Right | WrittenJoin::Semi | WrittenJoin::Anti => {
                let (plan_kind, kept, other) = match kind {
                    WrittenJoin::Right => (JoinKind::Left, right, left),
                    WrittenJoin::Semi => (JoinKind::Semi, left, right),
                    WrittenJoin::Anti => (JoinKind::Anti, left, right),
                    _ => (JoinKind::Left, left, right),
                };
                if pending.is_empty() {
                    Ok(combine(plan_kind, kept, other, conditions))
                } else if independent_of(&kept) {
                    Ok(combine(plan_kind, kept, attach(other, pending, &self.columns), conditions))
                } else {
                    // The condition is part of what each kept row is joined with.
                    let other = filter(attach(other, pending, &self.columns), conditions);
                    Ok(combine(plan_kind, kept, other, Vec::new()))
                }
            }
        }
    }
}

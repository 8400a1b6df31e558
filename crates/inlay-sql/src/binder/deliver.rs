//! What a SELECT delivers: its rows projected, made distinct, in order and cut.

use super::select::{Clauses, Groups, OrderKey, substitute};
use super::{Binder, Bound, Output};
use crate::parser::ast::{Distinct, OrderBy, Pos, Select, SortOrder};
use crate::plan::{AggregateExpr, ColumnId, Expr, LimitBy, Plan, SortKey};
use inlay_functions::registry::resolve_aggregate;
use inlay_kernels::resolve::ArgType;
use inlay_types::{Error, Result};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// How many expressions of a SELECT list are compared with a new one.
const PROJECTION_SEARCHED_MAX: usize = 256;
/// What stands behind a SELECT, already evaluated where it must be constant.
#[derive(Clone)]
pub(super) struct Tail<'q> {
    pub(super) order_by: &'q OrderBy,
    pub(super) limit: Option<u64>,
    pub(super) offset: u64,
    /// Rows that tie with the last one come, too.
    pub(super) with_ties: bool,
    /// Instead of both: a plan that computes them.
    pub(super) computed: Option<(Plan, LimitBy)>,
}

impl Binder<'_> {
    /// Projection, DISTINCT, ORDER BY and LIMIT over a plan that makes all columns read.
    pub(super) fn deliver(
        &mut self,
        plan: Plan,
        clauses: Clauses,
        select: &Select,
        tail: &Tail<'_>,
    ) -> Result<Bound> {
        let names: Vec<String> = self.scope()?.entries.iter().map(|entry| entry.name.clone()).collect();
        let Clauses { items, distinct_on, order, .. } = clauses;
        if !distinct_on.is_empty() {
            return self.deliver_distinct_on(plan, items, names, distinct_on, order, tail);
        }
        let distinct = select.distinct == Distinct::Rows;
        let available: HashSet<ColumnId> = plan.output().into_iter().collect();
        let mut ids = Vec::with_capacity(items.len());
        let mut projection = Projection::default();
        for (item, name) in items.iter().zip(&names) {
            ids.push(self.project(item, name, &available, &mut projection));
        }
        let mut keys = Vec::with_capacity(order.len());
        for (key, direction) in order {
            let expr = match key {
                OrderKey::Entry(index) => self.column(ids[index]),
                OrderKey::Expr(expr) => match items.iter().position(|item| *item == expr) {
                    Some(index) => self.column(ids[index]),
                    // Computed of the rows that are left.
                    None if distinct => {
                        let selected: Vec<(ColumnId, Expr)> =
                            ids.iter().copied().zip(items.iter().cloned()).collect();
                        let mut key = expr;
                        substitute(&mut key, &Groups::new(&selected));
                        let other =
                            key.columns().into_iter().find(|id| available.contains(id) && !ids.contains(id));
                        if let Some(id) = other {
                            return Err(self.not_selected(id, select.pos));
                        }
                        key
                    }
                    None => {
                        let id = self.project(&expr, "sort_key", &available, &mut projection);
                        self.column(id)
                    }
                },
            };
            keys.push(self.sort_key(expr, direction));
        }
        let projection = projection.items;
        let is_plain =
            projection.iter().all(|(id, expr)| matches!(expr, Expr::Column { id: read, .. } if read == id));
        let mut plan = if is_plain && !distinct {
            plan
        } else {
            Plan::Project { input: Box::new(plan), items: projection }
        };
        if distinct {
            let mut groups: Vec<(ColumnId, Expr)> = Vec::new();
            let mut made: HashMap<ColumnId, ColumnId> = HashMap::new();
            for id in &mut ids {
                let read = *id;
                *id = *made.entry(read).or_insert_with(|| {
                    let own = self.columns.copy_of(read);
                    groups.push((own, self.column(read)));
                    own
                });
            }
            let known = Groups::new(&groups);
            keys.iter_mut().for_each(|key| substitute(&mut key.expr, &known));
            let mut aggregates = Vec::new();
            let groups = self.collated_groups(groups, &mut aggregates)?;
            plan = Plan::Aggregate { input: Box::new(plan), groups, aggregates };
        }
        let output = ids.into_iter().zip(names).map(|(id, name)| Output { id, name }).collect();
        Ok(Bound { plan: self.cut(plan, keys, tail)?, output })
    }

    /// The error for a key of ORDER BY that a row of SELECT DISTINCT may have several of.
    fn not_selected(&self, id: ColumnId, pos: Pos) -> Error {
        let relations = self.scopes.last().into_iter().flat_map(|scope| &scope.relations);
        let known = relations.flat_map(|relation| &relation.columns).find(|column| column.id == id);
        let name = known.map_or_else(|| self.columns.get(id).name.clone(), |column| column.name.clone());
        let message = format!(
            "with SELECT DISTINCT, ORDER BY may only read what is selected: there may be several \"{name}\" for a row"
        );
        let hint = format!("GROUP BY with ORDER BY min(\"{name}\") says which one counts");
        self.at(Error::bind(message).with_hint(hint), pos)
    }

    /// The column that has the value of `expr` behind `projection`. A column of the input passes through; an outer one
    /// gets a new name, because it may be NULL here (no row, a left join) where it is not outside.
    fn project(
        &mut self,
        expr: &Expr,
        name: &str,
        available: &HashSet<ColumnId>,
        projection: &mut Projection,
    ) -> ColumnId {
        // Equal expressions are computed once; looking for them among very many costs more than it saves.
        let known = projection.items.iter().take(PROJECTION_SEARCHED_MAX);
        if let Some((id, _)) = known.into_iter().find(|(_, known)| known == expr && expr.is_deterministic()) {
            return *id;
        }
        let id = match expr {
            Expr::Column { id, .. } if available.contains(id) => {
                if !projection.passed.insert(*id) {
                    return *id;
                }
                *id
            }
            other => {
                let id = self.columns.add(name, other.ty());
                let collation = self.implied_collation(other);
                self.columns.collate(id, collation);
                id
            }
        };
        projection.items.push((id, expr.clone()));
        id
    }

    /// DISTINCT ON: per group the first row in ORDER BY's order.
    fn deliver_distinct_on(
        &mut self,
        plan: Plan,
        items: Vec<Expr>,
        names: Vec<String>,
        distinct_on: Vec<Expr>,
        order: Vec<(OrderKey, SortOrder)>,
        tail: &Tail<'_>,
    ) -> Result<Bound> {
        let directed = order.into_iter().map(|(key, direction)| {
            let expr = match key {
                OrderKey::Entry(index) => items[index].clone(),
                OrderKey::Expr(expr) => expr,
            };
            self.sort_key(expr, direction)
        });
        let order_by: Vec<SortKey> = directed.collect();
        let mut groups: Vec<(ColumnId, Expr)> = Vec::new();
        for expr in distinct_on {
            let expr = self.by_collation(expr);
            if !groups.iter().any(|(_, known)| *known == expr) {
                let id = self.group_column(&expr, || "distinct_on".into());
                groups.push((id, expr));
            }
        }
        let mut aggregates: Vec<(ColumnId, AggregateExpr)> = Vec::new();
        let mut first = |binder: &mut Self, expr: &Expr, name: &str| -> Result<ColumnId> {
            if let Some((id, _)) = groups.iter().find(|(_, known)| known == expr) {
                return Ok(*id);
            }
            let function = Arc::new(resolve_aggregate("first", &[ArgType::of(expr.ty())])?);
            let args = vec![expr.clone()];
            let aggregate =
                AggregateExpr { function, args, distinct: false, filter: None, order_by: order_by.clone() };
            if let Some((id, _)) = aggregates.iter().find(|(_, known)| *known == aggregate) {
                return Ok(*id);
            }
            let id = binder.columns.add(name, expr.ty());
            aggregates.push((id, aggregate));
            Ok(id)
        };
        let mut output = Vec::with_capacity(items.len());
        for (item, name) in items.iter().zip(names) {
            output.push(Output { id: first(self, item, &name)?, name });
        }
        let mut keys = Vec::with_capacity(order_by.len());
        for key in &order_by {
            let id = first(self, &key.expr, "sort_key")?;
            keys.push(SortKey { expr: self.column(id), ..key.clone() });
        }
        let plan = Plan::Aggregate { input: Box::new(plan), groups, aggregates };
        Ok(Bound { plan: self.cut(plan, keys, tail)?, output })
    }
}

/// `plan` in order and cut.
pub(super) fn sorted(plan: Plan, keys: Vec<SortKey>, tail: &Tail<'_>) -> Plan {
    let input = Box::new(plan);
    let (limit, offset) = (tail.limit, tail.offset);
    if let Some((counts, by)) = &tail.computed {
        let rows = if keys.is_empty() { input } else { Box::new(Plan::Sort { input, keys, limit, offset }) };
        return Plan::LimitBy { input: rows, counts: Box::new(counts.clone()), by: *by };
    }
    if !keys.is_empty() {
        Plan::Sort { input, keys, limit, offset }
    } else if limit.is_some() || offset > 0 {
        Plan::Limit { input, limit, offset }
    } else {
        *input
    }
}

/// What a SELECT list computes.
#[derive(Default)]
struct Projection {
    items: Vec<(ColumnId, Expr)>,
    /// Columns of the input among them, which pass through once.
    passed: HashSet<ColumnId>,
}

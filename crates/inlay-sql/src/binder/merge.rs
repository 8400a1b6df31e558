//! MERGE: a join of source and target, and what each WHEN does with a joined row.

use super::object::{Home, Target};
use super::row::{Positions, with_columns};
use super::scope::{Phase, Relation, RelationColumn, Scope};
use super::subquery::{Pending, attach, combine};
use super::{Binder, Bound, Output};
use crate::parser::ast::{self, ExprKind, Ident, Pos};
use crate::plan::statement::{Merge, MergeAction, MergeClause, MergeKind};
use crate::plan::{self, ColumnId, Expr, JoinKind};
use inlay_catalog::rights::Privilege;
use inlay_catalog::{TableSchema, bare_name};
use inlay_storage::Origin;
use inlay_types::{Candidates, Error, LogicalType, Result, Value};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// What the clauses of one MERGE share.
struct MergeScope<'s> {
    database: &'s str,
    schema: &'s TableSchema,
    table: &'s ast::ObjectName,
    /// The target's columns.
    target: Vec<ColumnId>,
    /// How many relations the source has; the target's comes behind them.
    source_relations: usize,
}

impl Binder<'_> {
    pub(super) fn merge(&mut self, merge: &ast::Merge) -> Result<plan::Statement> {
        let Target { database, entry: table } = self.table(&merge.table)?;
        self.aim_at(&database, &table, merge.table.pos())?;
        let schema = table.table.schema();
        let name = merge.alias.as_ref().map_or(bare_name(&table.name), |alias| alias.value.as_str());
        let home = merge.alias.is_none().then(|| Home::of(&database, &table.name));
        let checks = self.checks(&database, schema)?;
        let returning = match &merge.returning {
            None => None,
            Some(items) => Some(self.returning(items, (name, home.clone()), schema, true)?),
        };
        self.scopes.push(Scope::new());
        let source = self.from(std::slice::from_ref(&merge.source))?;
        let source_relations = self.scope()?.relations.len();
        let has_source = self.columns.add("has_source", LogicalType::Boolean);
        let mut items: Vec<(ColumnId, Expr)> = Vec::new();
        for id in source.output() {
            items.push((id, self.column(id)));
        }
        items.push((has_source, Expr::boolean(true)));
        let source = source.project(items);
        let row_id = self.columns.add("rowid", LogicalType::BigInt);
        let (target_plan, columns) = self.scan(&table, Some(row_id));
        let target: Vec<ColumnId> = columns.iter().map(|(_, id)| *id).collect();
        let columns = super::indexed::visible_columns(schema, columns);
        let columns = columns.into_iter().map(|(name, id)| RelationColumn::new(name, id)).collect();
        let mut relation = Relation::new(name.to_string(), columns, Some(row_id));
        relation.home = home;
        self.scope()?.relations.push(relation);
        if let Some(mut scope) = self.scopes.pop() {
            self.guard_aim(&mut scope, source_relations)?;
            self.scopes.push(scope);
        }
        let conjuncts = super::select::conjuncts(&merge.on);
        let (conditions, pending) = self.in_phase(Phase::From, |binder| {
            conjuncts.into_iter().map(|one| binder.condition(one, "ON")).collect::<Result<Vec<_>>>()
        })?;
        if !pending.is_empty() {
            return Err(self.at(Error::unsupported("a subquery in MERGE's ON"), merge.on.pos));
        }
        let has = |kind: MergeKind| merge.clauses.iter().any(|clause| clause.kind == kind);
        let kind = if has(MergeKind::NotMatchedBySource) {
            JoinKind::Full
        } else if has(MergeKind::NotMatched) {
            JoinKind::Left
        } else {
            JoinKind::Inner
        };
        let mut plan = combine(kind, source, target_plan, conditions);
        let scope = MergeScope { database: &database, schema, table: &merge.table, target, source_relations };
        if merge.clauses.is_empty() {
            let message = "MERGE without a WHEN does nothing";
            return Err(self.at(Error::bind(message), merge.on.pos));
        }
        if let Some(clause) = unreachable_clause(&merge.clauses) {
            let message =
                "this WHEN is never reached: one of the same kind stands in front of it, without a condition";
            return Err(self.at(Error::bind(message), clause.pos));
        }
        let mut clauses = Vec::with_capacity(merge.clauses.len());
        for clause in &merge.clauses {
            let (bound, pending) = self.merge_clause(clause, &scope)?;
            plan = attach(plan, pending, &self.columns);
            clauses.push(bound);
        }
        self.scopes.pop();
        let mut delivered = vec![row_id, has_source];
        delivered.extend(&scope.target);
        for id in clauses.iter().flat_map(clause_exprs).flat_map(Expr::columns) {
            if !delivered.contains(&id) {
                delivered.push(id);
            }
        }
        let positions = Positions::new(delivered.iter().map(|&id| (id, self.columns.ty(id))));
        clauses.iter_mut().flat_map(clause_exprs_mut).for_each(|expr| {
            *expr = positions.apply(expr.clone());
        });
        let output = |id: ColumnId| Output { id, name: self.columns.get(id).name.clone() };
        let output = Vec::from_iter(delivered.into_iter().map(output));
        Ok(plan::Statement::Merge(Box::new(Merge {
            query: self.finish(Bound { plan, output })?,
            table: Arc::clone(&table),
            database: database.clone(),
            clauses,
            checks,
            returning,
        })))
    }

    /// Binds a clause; it sees the side or sides that have a row.
    fn merge_clause(
        &mut self,
        clause: &ast::MergeClause,
        shared: &MergeScope<'_>,
    ) -> Result<(MergeClause, Vec<Pending>)> {
        let scope = self.scope()?;
        let mut hidden = Vec::new();
        match clause.kind {
            MergeKind::Matched => {}
            MergeKind::NotMatched => hidden = scope.relations.split_off(shared.source_relations),
            MergeKind::NotMatchedBySource => scope.visible_from = shared.source_relations,
        }
        let bound = self.in_phase(Phase::Where, |binder| {
            let condition = match &clause.condition {
                None => None,
                Some(condition) => Some(binder.condition(condition, "WHEN")?),
            };
            let action = binder.merge_then(&clause.action, clause.pos, shared)?;
            Ok(MergeClause { kind: clause.kind, condition, action })
        });
        let scope = self.scope()?;
        scope.visible_from = 0;
        scope.relations.extend(hidden);
        bound
    }

    fn merge_then(
        &mut self,
        action: &ast::MergeAction,
        pos: Pos,
        shared: &MergeScope<'_>,
    ) -> Result<MergeAction> {
        let (database, schema) = (shared.database, shared.schema);
        Ok(match action {
            ast::MergeAction::Nothing => MergeAction::Nothing,
            ast::MergeAction::Delete => {
                self.ask_target(Privilege::Delete, schema, &[], |_| pos)?;
                MergeAction::Delete
            }
            ast::MergeAction::Update { assignments } => {
                let (mut set, mut values) = (Vec::new(), Vec::new());
                for (name, written) in assignments {
                    let index = self.assigned_column(schema, name, shared.table, &set, written)?;
                    self.ask_target(Privilege::Update, schema, &[index], |_| name.pos)?;
                    values.push(self.assigned_value(database, schema, index, written)?);
                    set.push(index);
                }
                self.merge_update(set, values, shared)?
            }
            ast::MergeAction::UpdateAll { by_name } => {
                let given = self.of_source(*by_name, pos, shared)?;
                let (set, values): (Vec<usize>, Vec<Expr>) = given.into_iter().unzip();
                self.ask_target(Privilege::Update, schema, &set, |_| pos)?;
                self.merge_update(set, values, shared)?
            }
            ast::MergeAction::Insert { columns, values } => {
                let mut targets = self.column_indexes(schema, columns, shared.table)?;
                if columns.is_empty() {
                    targets = super::change::insertable(schema);
                }
                if columns.is_empty() && values.is_empty() {
                    targets = Vec::new();
                }
                if targets.len() != values.len() {
                    let message = format!(
                        "table \"{}\" takes {} values here, {} are given",
                        schema.name,
                        targets.len(),
                        values.len()
                    );
                    return Err(self.at(Error::bind(message), values.first().map_or(pos, |value| value.pos)));
                }
                self.ask_target(Privilege::Insert, schema, &targets, |_| pos)?;
                let mut given = Vec::with_capacity(values.len());
                for (&index, written) in targets.iter().zip(values) {
                    if written.kind == ExprKind::Default {
                        continue;
                    }
                    let name = Ident { value: schema.columns[index].name.clone(), pos: written.pos };
                    self.assigned_column(schema, &name, shared.table, &[], written)?;
                    given.push((index, self.assigned_value(database, schema, index, written)?));
                }
                MergeAction::Insert { values: self.whole_row(given, shared)? }
            }
            ast::MergeAction::InsertAll { by_name } => {
                let given = self.of_source(*by_name, pos, shared)?;
                let targets: Vec<usize> = given.iter().map(|(index, _)| *index).collect();
                self.ask_target(Privilege::Insert, schema, &targets, |_| pos)?;
                MergeAction::Insert { values: self.whole_row(given, shared)? }
            }
        })
    }

    fn merge_update(
        &mut self,
        mut set: Vec<usize>,
        mut values: Vec<Expr>,
        shared: &MergeScope<'_>,
    ) -> Result<MergeAction> {
        let target: Vec<Expr> = shared.target.iter().map(|id| self.column(*id)).collect();
        let (database, schema) = (shared.database, shared.schema);
        self.extend_by_generated(database, schema, &mut set, &mut values, |index| target[index].clone())?;
        Ok(MergeAction::Update { set, values })
    }

    /// `UPDATE` and `INSERT` without columns: those of the source. BY NAME each of them goes into the column of its name; else all have
    /// to be there, by their names or, if they have other ones, by their places.
    fn of_source(&mut self, by_name: bool, pos: Pos, shared: &MergeScope<'_>) -> Result<Vec<(usize, Expr)>> {
        let targets = super::change::insertable(shared.schema);
        let relations = &self.scope()?.relations[..shared.source_relations];
        let source = relations.iter().flat_map(|relation| &relation.columns);
        let source: Vec<(String, ColumnId)> = source.map(|column| (column.name.clone(), column.id)).collect();
        let name_of = |index: usize| &shared.schema.columns[index].name;
        let mut places: HashMap<String, ColumnId> = HashMap::new();
        for (name, id) in &source {
            places.entry(name.to_lowercase()).or_insert(*id);
        }
        let place = |index: usize| places.get(&name_of(index).to_lowercase()).copied();
        let mut found: Vec<(usize, ColumnId)> =
            targets.iter().filter_map(|&index| place(index).map(|id| (index, id))).collect();
        if by_name {
            let known: HashSet<String> = targets.iter().map(|&index| name_of(index).to_lowercase()).collect();
            if let Some((name, _)) = source.iter().find(|(name, _)| !known.contains(&name.to_lowercase())) {
                let candidates = Candidates::of(name, targets.iter().map(|&index| name_of(index).as_str()));
                let name = format!("{}.{name}", bare_name(&shared.schema.name));
                return Err(self.at(Error::UndefinedColumn { name, candidates }, pos));
            }
        } else if found.len() < targets.len() {
            if source.len() != targets.len() {
                let (table, wanted, given) = (bare_name(&shared.schema.name), targets.len(), source.len());
                let message = format!("table \"{table}\" has {wanted} columns, the source of MERGE {given}");
                let hint = "BY NAME takes those of the same name";
                return Err(self.at(Error::bind(message).with_hint(hint), pos));
            }
            found = targets.iter().copied().zip(source.iter().map(|(_, id)| *id)).collect();
        }
        let assigned = |binder: &mut Self, (index, id): (usize, ColumnId)| {
            let ty = shared.schema.columns[index].ty.clone();
            binder.ask_column(binder.scopes.len().saturating_sub(1), id, pos)?;
            Ok((index, binder.assigned(binder.column(id), ty, pos)?))
        };
        found.into_iter().map(|place| assigned(self, place)).collect()
    }

    /// The values of all columns of a new row.
    fn whole_row(&mut self, given: Vec<(usize, Expr)>, shared: &MergeScope<'_>) -> Result<Vec<Expr>> {
        let (database, schema) = (shared.database, shared.schema);
        let mut row = Vec::with_capacity(schema.columns.len());
        for (index, column) in schema.columns.iter().enumerate() {
            row.push(match given.iter().find(|(known, _)| *known == index) {
                Some((_, value)) => value.clone(),
                None if matches!(column.origin, Origin::Computed(_)) => {
                    Expr::Literal { value: Value::Null, ty: column.ty.clone() }
                }
                None => self.default_of(database, column)?,
            });
        }
        for (index, value) in self.generated(database, schema)? {
            if value.columns().iter().any(|id| !row[id.0 as usize].is_deterministic()) {
                let message =
                    format!("MERGE into generated column \"{}\" of a sequence", schema.columns[index].name);
                return Err(Error::unsupported(message));
            }
            row[index] = with_columns(value, |position| Some(row[position].clone()));
        }
        Ok(row)
    }
}

fn clause_exprs(clause: &MergeClause) -> Vec<&Expr> {
    let values = match &clause.action {
        MergeAction::Update { values, .. } | MergeAction::Insert { values } => values.as_slice(),
        MergeAction::Nothing | MergeAction::Delete => &[],
    };
    clause.condition.iter().chain(values).collect()
}

fn clause_exprs_mut(clause: &mut MergeClause) -> Vec<&mut Expr> {
    let values = match &mut clause.action {
        MergeAction::Update { values, .. } | MergeAction::Insert { values } => values.as_mut_slice(),
        MergeAction::Nothing | MergeAction::Delete => &mut [],
    };
    clause.condition.iter_mut().chain(values).collect()
}

/// The first clause behind one of its kind that takes every row.
fn unreachable_clause(clauses: &[ast::MergeClause]) -> Option<&ast::MergeClause> {
    clauses.iter().enumerate().find_map(|(index, clause)| {
        let takes_all = |before: &ast::MergeClause| before.kind == clause.kind && before.condition.is_none();
        clauses[..index].iter().any(takes_all).then_some(clause)
    })
}

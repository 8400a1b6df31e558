//! Queries around SELECT: WITH, VALUES, set operations, ORDER BY and LIMIT of a whole.

use super::deliver::Tail;
use super::known::Names;
use super::scope::{CteFrame, Entry, EntrySource, Phase, Relation, RelationColumn, Scope, same_name};
use super::subquery::{attach, free_columns};
use super::{Binder, Bound, Output, Shared, with_stack};
use crate::parser::ast::{self, ExprKind, Ident, Literal, OrderBy, Pos, Query, QueryBody, SetOperation};
use crate::parser::limits::{ALL_CTES_MAX, CTES_MAX};
use crate::plan::{ColumnId, Columns, Expr, HeldRows, Plan, SetOpKind, SharedId, SortKey};
use inlay_catalog::TableSource;
use inlay_types::{Candidates, Error, LogicalType, Result};
use std::collections::HashSet;
use std::rc::Rc;
use std::sync::Arc;

/// A common table expression that is visible.
pub(super) struct CteDef {
    pub(super) name: String,
    columns: Vec<Ident>,
    query: Rc<Query>,
    /// `WITH RECURSIVE` was written.
    recursive: bool,
    /// How many scopes and frames were open where it is defined: what it may refer to.
    scope_count: usize,
    frame_count: usize,
    sharing: Sharing,
}

pub(super) enum Sharing {
    /// Bound anew at each reference; the first may take what was bound for checking.
    Inline(Option<Bound>),
    /// Bound once; references are shared scans.
    Shared { id: SharedId, output: Vec<Output> },
    /// Made before by a part of the statement.
    Held(Arc<HeldRows>),
}

impl CteDef {
    /// Rows that are made before; nothing is bound for them any more.
    pub(super) fn of_rows(name: String, sharing: Sharing) -> Self {
        let query = Rc::new(Query::of(QueryBody::Values { rows: Vec::new(), pos: Pos::default() }));
        Self { name, columns: Vec::new(), query, recursive: false, scope_count: 0, frame_count: 0, sharing }
    }
}

impl Binder<'_> {
    /// Binds a query. It may read columns of the scopes that are open.
    pub(super) fn query(&mut self, query: &Query) -> Result<Bound> {
        with_stack(|| {
            let (frames, around) = (self.ctes.len(), self.ctes_around);
            let bound = self.query_with(query);
            self.ctes_around = around;
            self.leave_ctes(frames, bound)
        })
    }

    /// Forgets the WITHs behind the first `frames`; what they share of this query alone goes around it.
    pub(super) fn leave_ctes(&mut self, frames: usize, bound: Result<Bound>) -> Result<Bound> {
        let left = self.ctes.split_off(frames.min(self.ctes.len()));
        let Bound { plan, output } = bound?;
        let shared = left.into_iter().flat_map(|frame| frame.local).collect();
        Ok(Bound { plan: self.put_shared(plan, shared), output })
    }

    fn query_with(&mut self, query: &Query) -> Result<Bound> {
        self.define_ctes(query)?;
        let tail = self.tail(query)?;
        match &query.body {
            QueryBody::Select(select) => self.select(select, &tail),
            body => {
                let bound = self.body(body)?;
                self.order_whole(bound, &tail)
            }
        }
    }

    /// Makes the WITH of a query visible.
    pub(super) fn define_ctes(&mut self, query: &Query) -> Result<()> {
        if !query.ctes.is_empty() {
            self.cte_count += query.ctes.len();
            self.ctes_around += query.ctes.len();
            let message = match () {
                () if self.ctes_around > CTES_MAX => format!("the query has more than {CTES_MAX} CTEs"),
                () if self.cte_count > ALL_CTES_MAX => {
                    format!("the statement has more than {ALL_CTES_MAX} CTEs")
                }
                () => String::new(),
            };
            if !message.is_empty() {
                return Err(self.at(Error::out_of_range(message), query.ctes[0].name.pos));
            }
            self.ctes.push(CteFrame::default());
            for cte in &query.ctes {
                self.define_cte(cte, query.recursive)?;
            }
        }
        Ok(())
    }

    pub(super) fn body(&mut self, body: &QueryBody) -> Result<Bound> {
        with_stack(|| match body {
            QueryBody::Select(select) => {
                let order_by = OrderBy::Items(Vec::new());
                self.select(
                    select,
                    &Tail { order_by: &order_by, limit: None, offset: 0, with_ties: false, computed: None },
                )
            }
            QueryBody::Query(query) => self.query(query),
            QueryBody::Values { rows, pos } => self.values(rows, *pos),
            QueryBody::SetOperation { kind, all, by_name, left, right } => {
                let left = self.body(left)?;
                let right = self.body(right)?;
                self.set_operation(*kind, *all, *by_name, left, right)
            }
        })
    }

    pub(super) fn set_operation(
        &mut self,
        kind: SetOperation,
        all: bool,
        by_name: bool,
        left: Bound,
        mut right: Bound,
    ) -> Result<Bound> {
        let (kind, keyword) = match kind {
            SetOperation::Union => (SetOpKind::Union, "UNION"),
            SetOperation::Intersect => (SetOpKind::Intersect, "INTERSECT"),
            SetOperation::Except => (SetOpKind::Except, "EXCEPT"),
        };
        let mut left = left;
        if by_name {
            (left, right) = self.match_names(left, right)?;
        }
        if left.output.len() != right.output.len() {
            let (left, right) = (left.output.len(), right.output.len());
            return Err(Error::bind(format!(
                "{keyword} needs as many columns on both sides: {left} here, {right} there"
            )));
        }
        let mut types = Vec::with_capacity(left.output.len());
        for (a, b) in left.output.iter().zip(&right.output) {
            let sides = [self.column(a.id), self.column(b.id)];
            self.check_sqlite_sides(&sides, &a.name, keyword)?;
            let ty = self.common_type_of(sides.iter(), Pos::default(), keyword)?;
            types.push(ty);
        }
        let (left_plan, left_columns) = self.with_types(left.plan, &left.output, &types)?;
        let (right_plan, right_columns) = self.with_types(right.plan, &right.output, &types)?;
        let mut output = Vec::with_capacity(types.len());
        for (column, ty) in left.output.into_iter().zip(types) {
            let sides = [&column, right.output.get(output.len()).unwrap_or(&column)];
            let collation = sides.into_iter().find_map(|side| self.columns.collation(side.id).cloned());
            let id = self.columns.add(column.name.clone(), ty);
            self.columns.collate(id, collation);
            output.push(Output { id, name: column.name });
        }
        let columns = output.iter().map(|column| column.id).collect();
        let is_collated = output.iter().any(|column| self.is_collated(column.id));
        if is_collated && kind != SetOpKind::Union {
            let sides = [(left_plan, left_columns), (right_plan, right_columns)];
            return self.collated_set_operation(kind, all, sides, output);
        }
        let (left, right) = (Box::new(left_plan), Box::new(right_plan));
        let merges = is_collated && !all && kind == SetOpKind::Union;
        let all = all || merges;
        let plan = Plan::SetOp { kind, all, left, right, left_columns, right_columns, columns };
        if !merges {
            return Ok(Bound { plan, output });
        }
        let mut groups = Vec::with_capacity(output.len());
        for column in &mut output {
            let read = self.column(column.id);
            column.id = self.columns.copy_of(column.id);
            groups.push((column.id, read));
        }
        let mut aggregates = Vec::new();
        let groups = self.collated_groups(groups, &mut aggregates)?;
        Ok(Bound { plan: Plan::Aggregate { input: Box::new(plan), groups, aggregates }, output })
    }

    /// UNION BY NAME: each side gets NULLs for the columns that only the other has.
    fn match_names(&mut self, left: Bound, right: Bound) -> Result<(Bound, Bound)> {
        let of = |output: &[Output]| Names::of(output.iter().map(|column| column.name.as_str()));
        let both = left.output.iter().chain(&right.output);
        let all = Names::of(both.clone().map(|column| column.name.as_str()));
        let first = both.enumerate().filter(|(place, column)| all.first(&column.name) == Some(*place));
        let names: Vec<(String, LogicalType)> =
            first.map(|(_, column)| (column.name.clone(), self.columns.ty(column.id))).collect();
        let mut complete = |bound: Bound| {
            let mut output = Vec::with_capacity(names.len());
            let mut items: Vec<(ColumnId, Expr)> = Vec::with_capacity(names.len());
            let mut passed = HashSet::new();
            let own = of(&bound.output);
            for (name, ty) in &names {
                let found = own.first(name).and_then(|place| bound.output.get(place));
                let id = found.map_or_else(|| self.columns.add(name.clone(), ty.clone()), |column| column.id);
                let null = Expr::Literal { value: inlay_types::Value::Null, ty: ty.clone() };
                let expr = if found.is_some() { self.columns.expr(id) } else { null };
                if passed.insert(id) {
                    items.push((id, expr));
                }
                output.push(Output { id, name: name.clone() });
            }
            Bound { plan: Plan::Project { input: Box::new(bound.plan), items }, output }
        };
        Ok((complete(left), complete(right)))
    }

    /// The columns of `output` converted to `types`, by a projection if one differs.
    pub(super) fn with_types(
        &mut self,
        plan: Plan,
        output: &[Output],
        types: &[LogicalType],
    ) -> Result<(Plan, Vec<ColumnId>)> {
        if output.iter().zip(types).all(|(column, ty)| self.columns.ty(column.id) == *ty) {
            return Ok((plan, output.iter().map(|column| column.id).collect()));
        }
        let mut items: Vec<(ColumnId, Expr)> = Vec::with_capacity(types.len());
        let mut ids = Vec::with_capacity(types.len());
        let mut made = HashSet::new();
        for (column, ty) in output.iter().zip(types) {
            let own = self.column(column.id);
            let id =
                if own.ty() == *ty { column.id } else { self.columns.add(column.name.clone(), ty.clone()) };
            if made.insert(id) {
                items.push((id, self.cast_to(own, ty.clone(), Pos::default())?));
            }
            ids.push(id);
        }
        Ok((Plan::Project { input: Box::new(plan), items }, ids))
    }

    fn values(&mut self, rows: &[Vec<ast::Expr>], pos: Pos) -> Result<Bound> {
        if let Some(constants) = super::constants::constant_rows(rows) {
            return self.values_of_constants(constants);
        }
        let width = rows.first().map_or(0, Vec::len);
        if let Some(row) = rows.iter().find(|row| row.len() != width) {
            let message =
                format!("VALUES lists must all have the same length: {width} and {} are mixed", row.len());
            let pos = row.first().map_or(pos, |first| first.pos);
            return Err(self.at(Error::bind(message), pos));
        }
        let mut bound_rows = Vec::with_capacity(rows.len());
        let mut pendings = Vec::with_capacity(rows.len());
        for row in rows {
            let (bound, pending) = self.isolated(|binder| binder.exprs(row))?;
            bound_rows.push(bound);
            pendings.push(pending);
        }
        let mut output = Vec::with_capacity(width);
        for index in 0..width {
            let column = bound_rows.iter().map(|row| &row[index]);
            let ty = self.common_type_of(column, rows[0][index].pos, "VALUES")?;
            for (row, written) in bound_rows.iter_mut().zip(rows) {
                let value = std::mem::replace(&mut row[index], Expr::boolean(false));
                row[index] = self.cast_to(value, ty.clone(), written[index].pos)?;
            }
            let name = format!("col{index}");
            let id = self.columns.add(name.clone(), ty);
            let collation = bound_rows.iter().find_map(|row| self.implied_collation(&row[index]));
            self.columns.collate(id, collation);
            output.push(Output { id, name });
        }
        let columns: Vec<ColumnId> = output.iter().map(|column| column.id).collect();
        if pendings.iter().all(Vec::is_empty) {
            return Ok(Bound { plan: Plan::Values { columns, rows: bound_rows }, output });
        }
        // A subquery in a row needs an operator below it: each row becomes a query of its own.
        let mut whole: Option<Bound> = None;
        for (row, pending) in bound_rows.into_iter().zip(pendings) {
            let input = attach(Plan::single_row(), pending, &self.columns);
            let own: Vec<Output> = output
                .iter()
                .map(|column| Output { id: self.columns.copy_of(column.id), name: column.name.clone() })
                .collect();
            let items = own.iter().map(|column| column.id).zip(row).collect();
            let one = Bound { plan: Plan::Project { input: Box::new(input), items }, output: own };
            whole = Some(match whole {
                None => one,
                Some(left) => self.set_operation(SetOperation::Union, true, false, left, one)?,
            });
        }
        whole.ok_or_else(|| Error::internal("VALUES without rows"))
    }

    /// ORDER BY and LIMIT of a set operation or VALUES: keys are positions, names or expressions of its columns.
    pub(super) fn order_whole(&mut self, bound: Bound, tail: &Tail<'_>) -> Result<Bound> {
        let mut scope = Scope::new();
        scope.phase = Phase::OrderBy;
        let columns =
            bound.output.iter().map(|column| RelationColumn::new(column.name.clone(), column.id)).collect();
        scope.relations.push(Relation::new(String::new(), columns, None));
        let entry = |column: &Output| Entry {
            name: column.name.clone(),
            is_alias: true,
            source: EntrySource::Star(column.id),
            bound: Some(self.columns.expr(column.id)),
            group: None,
            computed: None,
        };
        scope.set_entries(bound.output.iter().map(entry).collect());
        self.scopes.push(scope);
        let keys = self.whole_keys(&bound.output, tail);
        let scope = self.scopes.pop();
        let keys = keys?;
        if scope.as_ref().is_some_and(|scope| !scope.windows.is_empty()) {
            let message = "a window function cannot order a set operation";
            return Err(Error::Windowing { message: message.into() }.with_hint("select it in a subquery"));
        }
        let is_grouping = scope.as_ref().is_some_and(|scope| !scope.groupings.is_empty());
        let (pending, aggregates) = scope.map(|scope| (scope.pending, scope.aggregates)).unwrap_or_default();
        if is_grouping || !aggregates.is_empty() {
            return Err(Error::Grouping { message: "an aggregate cannot order a set operation".into() }
                .with_hint("select it in a subquery"));
        }
        Ok(Bound {
            plan: self.cut(attach(bound.plan, pending, &self.columns), keys, tail)?,
            output: bound.output,
        })
    }

    fn whole_keys(&mut self, output: &[Output], tail: &Tail<'_>) -> Result<Vec<SortKey>> {
        let items = match tail.order_by {
            OrderBy::All(order) => {
                return Ok(output
                    .iter()
                    .map(|column| self.sort_key(self.column(column.id), *order))
                    .collect());
            }
            OrderBy::Items(items) => items,
        };
        let mut keys = Vec::with_capacity(items.len());
        for item in items {
            let (written, collation) = if let ExprKind::Collate { expr: inner, .. } = &item.expr.kind
                && matches!(inner.kind, ExprKind::Literal(_))
            {
                (&**inner, self.collation_of(&[&item.expr])?)
            } else {
                (&item.expr, None)
            };
            let expr = match &written.kind {
                ExprKind::Literal(Literal::Number(text)) if text.parse::<i64>().is_ok() => {
                    let position = text.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
                    match position.and_then(|position| output.get(position)) {
                        Some(column) => self.column(column.id),
                        None => {
                            let message = format!(
                                "ORDER BY {text} is not a position in the result (1 to {})",
                                output.len()
                            );
                            return Err(self.at(Error::bind(message), item.expr.pos));
                        }
                    }
                }
                ExprKind::Literal(_) => {
                    self.check_ordering_literal(written.pos)?;
                    continue;
                }
                _ => self.collated_expr(written)?,
            };
            let expr = self.collated(expr, &collation, item.expr.pos)?;
            keys.push(self.sort_key(expr, item.order));
        }
        Ok(keys)
    }

    fn define_cte(&mut self, cte: &ast::Cte, recursive: bool) -> Result<()> {
        let name = cte.name.value.clone();
        let is_defined = |frame: &CteFrame| frame.ctes.iter().any(|known| same_name(&known.name, &name));
        if self.ctes.last().is_some_and(is_defined) {
            return Err(self.at(Error::bind(format!("WITH defines \"{name}\" twice")), cte.name.pos));
        }
        let (scope_count, frame_count) = (self.scopes.len(), self.ctes.len());
        let bound = self.cte_query(&cte.query, &cte.columns, &name, recursive)?;
        let is_correlated = !free_columns(&bound.plan).is_empty();
        let shares = match cte.materialized {
            // Computed twice it would have other rows: NOT MATERIALIZED means nothing here, as in PostgreSQL.
            _ if bound.plan.is_volatile() => true,
            Some(materialized) => materialized && !is_correlated,
            None => !is_correlated && is_costly(&bound.plan),
        };
        let sharing = if shares {
            let id = self.columns.add_shared();
            let materialized = cte.materialized == Some(true);
            let shared = Shared { id, definition: bound.plan, materialized };
            match self.ctes.last_mut() {
                Some(frame) if is_correlated => frame.local.push(shared),
                _ => self.shared.push(shared),
            }
            Sharing::Shared { id, output: bound.output }
        } else {
            Sharing::Inline(Some(bound))
        };
        let query = Rc::new((*cte.query).clone());
        let columns = cte.columns.clone();
        let def = CteDef { name, columns, query, recursive, scope_count, frame_count, sharing };
        if let Some(frame) = self.ctes.last_mut() {
            frame.ctes.push(def);
        }
        Ok(())
    }

    /// Binds the query of a CTE.
    pub(super) fn cte_query(
        &mut self,
        query: &Query,
        names: &[Ident],
        name: &str,
        recursive: bool,
    ) -> Result<Bound> {
        self.open_ctes.push(name.to_string());
        let bound = self.cte_query_inner(query, names, name, recursive);
        self.open_ctes.pop();
        bound
    }

    fn cte_query_inner(
        &mut self,
        query: &Query,
        names: &[Ident],
        name: &str,
        recursive: bool,
    ) -> Result<Bound> {
        if recursive && let Some(bound) = self.recursive_query(query, names, name)? {
            return Ok(bound);
        }
        let mut bound = self.query(query)?;
        self.rename(&mut bound, names, name)?;
        Ok(bound)
    }

    /// The error for a table that does not exist, if it is a CTE that reads itself in a place where it cannot. It is one of a
    /// name, for which the host may have a table.
    pub(super) fn circular(&self, name: &str) -> Option<Error> {
        self.open_ctes.iter().any(|open| same_name(open, name)).then(|| {
            let advice = format!(
                "circular reference to CTE \"{name}\": use WITH RECURSIVE {name} AS (first UNION ALL next), of which only \
                 the second query may read it"
            );
            Error::UndefinedTable { name: name.to_string(), candidates: Candidates::Advice(advice) }
        })
    }

    /// Makes the rows of a shared plan visible as a CTE of the innermost WITH; it goes with [`Self::hide_cte`].
    pub(super) fn show_cte(&mut self, name: &str, id: SharedId, output: Vec<Output>) {
        let query = Rc::new(Query::of(QueryBody::Values { rows: Vec::new(), pos: Pos::default() }));
        let (scope_count, frame_count) = (self.scopes.len(), self.ctes.len() + 1);
        let sharing = Sharing::Shared { id, output };
        let def = CteDef {
            name: name.to_string(),
            columns: Vec::new(),
            query,
            recursive: false,
            scope_count,
            frame_count,
            sharing,
        };
        self.ctes.push(CteFrame { ctes: vec![def], local: Vec::new() });
    }

    pub(super) fn hide_cte(&mut self) {
        self.ctes.pop();
    }

    pub(super) fn rename(&self, bound: &mut Bound, names: &[Ident], table: &str) -> Result<()> {
        if let Some(surplus) = names.get(bound.output.len()) {
            let message =
                format!("\"{table}\" has {} columns, {} names are given", bound.output.len(), names.len());
            return Err(self.at(Error::bind(message), surplus.pos));
        }
        for (column, name) in bound.output.iter_mut().zip(names) {
            column.name.clone_from(&name.value);
        }
        Ok(())
    }

    /// The rows of the CTE `name`, if there is one.
    pub(super) fn cte_reference(&mut self, name: &str, pos: Pos) -> Result<Option<Bound>> {
        let mut place = None;
        for (frame_index, frame) in self.ctes.iter().enumerate().rev() {
            if let Some(index) = frame.ctes.iter().rposition(|cte| same_name(&cte.name, name)) {
                place = Some((frame_index, index));
                break;
            }
        }
        let Some((frame_index, index)) = place else { return Ok(None) };
        let cte = &mut self.ctes[frame_index].ctes[index];
        match &mut cte.sharing {
            Sharing::Shared { id, output } => {
                let (id, mut output) = (*id, output.clone());
                let mut columns: Vec<(ColumnId, ColumnId)> = Vec::with_capacity(output.len());
                for column in &mut output {
                    let known = columns.iter().find(|(_, read)| *read == column.id).map(|(made, _)| *made);
                    let made = known.unwrap_or_else(|| {
                        let made = self.columns.copy_of(column.id);
                        columns.push((made, column.id));
                        made
                    });
                    column.id = made;
                }
                Ok(Some(Bound { plan: Plan::SharedScan { id, columns }, output }))
            }
            Sharing::Held(rows) => {
                let rows = Arc::clone(rows);
                if rows.columns().is_empty() {
                    return Err(self.nothing_returned(name, pos));
                }
                rows.note_read();
                let (plan, names) = self.source_plan(rows);
                let output = names.into_iter().map(|(name, id)| Output { id, name }).collect();
                Ok(Some(Bound { plan, output }))
            }
            Sharing::Inline(bound) => {
                if let Some(bound) = bound.take() {
                    return Ok(Some(bound));
                }
                let written = (Rc::clone(&cte.query), cte.columns.clone(), cte.recursive);
                let (scope_count, frame_count) = (cte.scope_count, cte.frame_count);
                self.rebind_cte(written, name, scope_count, (frame_count, index), pos).map(Some)
            }
        }
    }

    /// Binds a CTE's query again, with only those names visible that were so where it is defined.
    fn rebind_cte(
        &mut self,
        (query, names, recursive): (Rc<Query>, Vec<Ident>, bool),
        name: &str,
        scope_count: usize,
        (frame_count, index): (usize, usize),
        pos: Pos,
    ) -> Result<Bound> {
        let scopes = self.scopes.split_off(scope_count.min(self.scopes.len()));
        let later_frames = self.ctes.split_off(frame_count.min(self.ctes.len()));
        let later_ctes = match self.ctes.last_mut() {
            Some(frame) => frame.ctes.split_off(index.min(frame.ctes.len())),
            None => Vec::new(),
        };
        let bound = self.cte_query(&query, &names, name, recursive);
        if let Some(frame) = self.ctes.last_mut() {
            frame.ctes.extend(later_ctes);
        }
        self.ctes.extend(later_frames);
        self.scopes.extend(scopes);
        self.placed(bound, pos)
    }
}

/// Whether computing a plan twice costs more than keeping its rows: it does more than scan, filter and project.
fn is_costly(plan: &Plan) -> bool {
    match plan {
        Plan::Scan { .. } | Plan::Source { .. } | Plan::Values { .. } | Plan::SharedScan { .. } => false,
        Plan::Filter { input, .. } | Plan::Project { input, .. } => is_costly(input),
        _ => true,
    }
}

/// How often a shared plan is read.
pub(super) fn count_shared(plan: &Plan, wanted: SharedId) -> usize {
    let own = usize::from(matches!(plan, Plan::SharedScan { id, .. } if *id == wanted));
    if let Plan::Recursive { initial, step, .. } = plan {
        // A step runs many times.
        return count_shared(initial, wanted) + 2 * count_shared(step, wanted);
    }
    own + plan.inputs().into_iter().map(|input| count_shared(input, wanted)).sum::<usize>()
}

/// Whether a shared plan is read by what is computed for each row of something else.
pub(super) fn is_repeated(plan: &Plan, wanted: SharedId) -> bool {
    match plan {
        Plan::DependentJoin { left, right, .. } => {
            is_repeated(left, wanted) || count_shared(right, wanted) > 0
        }
        other => other.inputs().into_iter().any(|input| is_repeated(input, wanted)),
    }
}

/// Puts `definition` in the place of the scan that reads it.
pub(super) fn inline_shared(
    plan: &mut Plan,
    wanted: SharedId,
    definition: &mut Option<Plan>,
    columns: &Columns,
) {
    match plan {
        Plan::SharedScan { id, columns: renamed } if *id == wanted => {
            if let Some(input) = definition.take() {
                let items = renamed.iter().map(|(made, read)| (*made, columns.expr(*read))).collect();
                *plan = Plan::Project { input: Box::new(input), items };
            }
        }
        _ => {
            plan.inputs_mut().into_iter().for_each(|input| inline_shared(input, wanted, definition, columns))
        }
    }
}

//! Subqueries in expressions: each becomes a join that its clause attaches.

use super::scope::Scope;
use super::{Binder, Bound};
use crate::parser::ast::{self, BinaryOp, ExprKind, Pos};
use crate::plan::{ColumnId, Columns, CompareOp, Expr, JoinKind, Plan};
use inlay_types::{Error, LogicalType, Result};
use std::collections::HashSet;
use std::sync::Arc;

/// A join that makes the value of a subquery available to the expressions above it.
#[derive(Debug)]
pub(super) struct Pending {
    pub(super) kind: JoinKind,
    pub(super) plan: Plan,
    pub(super) conditions: Vec<Expr>,
    /// `plan` only computes a column for each row.
    pub(super) is_computed: bool,
}

impl Pending {
    fn new(kind: JoinKind, plan: Plan, conditions: Vec<Expr>) -> Self {
        Self { kind, plan, conditions, is_computed: false }
    }

    /// The value of a plan of at most one row.
    pub(super) fn single(plan: Plan) -> Self {
        Self::new(JoinKind::Single, plan, Vec::new())
    }

    /// A column with the value of `expr` for each row.
    pub(super) fn computed(id: ColumnId, expr: Expr) -> Self {
        let plan = Plan::single_row().project(vec![(id, expr)]);
        Self { kind: JoinKind::Inner, plan, conditions: Vec::new(), is_computed: true }
    }

    /// Columns that it makes.
    pub(super) fn made(&self) -> Vec<ColumnId> {
        let mut made = self.plan.output();
        if let JoinKind::Mark(mark) = self.kind {
            made.push(mark);
        }
        made
    }

    /// Columns that it reads and does not make.
    pub(super) fn dependencies(&self) -> HashSet<ColumnId> {
        let mut made = HashSet::new();
        let mut read = HashSet::new();
        collect(&self.plan, &mut made, &mut read);
        self.conditions.iter().for_each(|condition| read.extend(condition.columns()));
        read.difference(&made).copied().collect()
    }
}

/// Columns that a plan reads and does not make.
pub(super) fn free_columns(plan: &Plan) -> HashSet<ColumnId> {
    let mut made = HashSet::new();
    let mut read = HashSet::new();
    collect(plan, &mut made, &mut read);
    read.difference(&made).copied().collect()
}

fn collect(plan: &Plan, made: &mut HashSet<ColumnId>, read: &mut HashSet<ColumnId>) {
    let mut ids = Vec::new();
    plan.expressions().into_iter().for_each(|expr| expr.collect_columns(&mut ids));
    read.extend(ids);
    match plan {
        Plan::Scan { .. } => made.extend(plan.output()),
        Plan::Source { columns, .. } => made.extend(columns.iter().map(|c| c.id)),
        Plan::Values { columns, .. } => made.extend(columns),
        Plan::SetOp { columns, left_columns, right_columns, .. } => {
            made.extend(columns);
            read.extend(left_columns.iter().chain(right_columns));
        }
        Plan::Recursive { columns, initial_columns, step_columns, .. } => {
            made.extend(columns);
            read.extend(initial_columns.iter().chain(step_columns));
        }
        // A column passes through a projection under its own id; that does not make it.
        Plan::Project { items, .. } => {
            let is_made =
                |(id, expr): &&(ColumnId, Expr)| !matches!(expr, Expr::Column { id: read, .. } if read == id);
            made.extend(items.iter().filter(is_made).map(|(id, _)| *id));
        }
        Plan::Aggregate { groups, aggregates, .. } => {
            made.extend(groups.iter().map(|(id, _)| *id).chain(aggregates.iter().map(|(id, _)| *id)));
        }
        Plan::TableCall { columns, ordinality, .. } => {
            made.extend(columns.iter().copied().chain(*ordinality))
        }
        Plan::Unnest { lists, ordinality, .. } => {
            made.extend(lists.iter().map(|(id, _)| *id).chain(*ordinality));
        }
        Plan::Window { windows, .. } => made.extend(windows.iter().map(|(id, _)| *id)),
        Plan::Join { kind: JoinKind::Mark(mark), .. }
        | Plan::DependentJoin { kind: JoinKind::Mark(mark), .. } => {
            made.insert(*mark);
        }
        Plan::SharedScan { columns, .. } => made.extend(columns.iter().map(|(id, _)| *id)),
        Plan::Join { .. }
        | Plan::DependentJoin { .. }
        | Plan::OrderedJoin { .. }
        | Plan::Filter { .. }
        | Plan::Sort { .. }
        | Plan::Limit { .. }
        | Plan::GroupLimit { .. }
        | Plan::Sample { .. }
        | Plan::LimitBy { .. }
        | Plan::With { .. } => {}
    }
    plan.inputs().into_iter().for_each(|input| collect(input, made, read));
}

/// Joins `left` and `right`; the join is dependent if `right` reads columns of `left`.
pub(super) fn combine(kind: JoinKind, left: Plan, right: Plan, conditions: Vec<Expr>) -> Plan {
    let free = free_columns(&right);
    let dependent = !free.is_empty() && left.output().iter().any(|id| free.contains(id));
    let (left, right) = (Box::new(left), Box::new(right));
    if dependent {
        Plan::DependentJoin { kind, left, right, conditions }
    } else {
        Plan::Join { kind, left, right, conditions, build_left: false }
    }
}

/// `plan` with the values of `pending` beside its columns.
pub(super) fn attach(plan: Plan, pending: Vec<Pending>, columns: &Columns) -> Plan {
    pending.into_iter().fold(plan, |plan, join| match join.plan {
        Plan::Project { items, .. } if join.is_computed => {
            let mut all: Vec<_> = plan.output().into_iter().map(|id| (id, columns.expr(id))).collect();
            all.extend(items);
            plan.project(all)
        }
        right => combine(join.kind, plan, right, join.conditions),
    })
}

/// Two lists of joins as one, in which each stands behind those whose columns it reads.
pub(super) fn in_order(first: Vec<Pending>, second: Vec<Pending>) -> Vec<Pending> {
    let mut left: Vec<Pending> = first.into_iter().chain(second).collect();
    if !left.iter().any(|join| join.is_computed) {
        return left;
    }
    let mut ordered = Vec::with_capacity(left.len());
    while !left.is_empty() {
        let made: Vec<Vec<ColumnId>> = left.iter().map(|join| join.plan.output()).collect();
        let is_ready = |index: &usize| {
            let reads = left[*index].dependencies();
            let others = made.iter().enumerate().filter(|(other, _)| other != index);
            others.flat_map(|(_, ids)| ids).all(|id| !reads.contains(id))
        };
        let next = (0..left.len()).find(is_ready).unwrap_or(0);
        ordered.push(left.remove(next));
    }
    ordered
}

/// `plan`, filtered; unchanged when there is nothing to filter by.
pub(super) fn filter(plan: Plan, predicates: Vec<Expr>) -> Plan {
    if predicates.is_empty() { plan } else { Plan::Filter { input: Box::new(plan), predicates } }
}

impl Binder<'_> {
    pub(super) fn push_pending(&mut self, pending: Pending, pos: Pos) -> Result<()> {
        match self.scopes.last_mut() {
            Some(scope) => {
                scope.pending.push(pending);
                Ok(())
            }
            None => Err(self.at(Error::unsupported("a subquery in this place"), pos)),
        }
    }

    /// A query inside an expression. An expression outside of any query gets a scope of its own around it.
    fn inner_query(&mut self, query: &ast::Query, pos: Pos) -> Result<Bound> {
        if self.scopes.is_empty() {
            return Err(self.at(Error::unsupported("a subquery in this place"), pos));
        }
        self.query(query)
    }

    pub(super) fn scalar_subquery(&mut self, query: &ast::Query, pos: Pos) -> Result<Expr> {
        let bound = self.inner_query(query, pos)?;
        let [column] = bound.output.as_slice() else {
            let message = format!(
                "a subquery used as a value must have one column, this one has {}",
                bound.output.len()
            );
            return Err(self.at(Error::bind(message), pos));
        };
        let value = self.column(column.id);
        self.push_pending(Pending::new(JoinKind::Single, bound.plan, Vec::new()), pos)?;
        Ok(value)
    }

    /// A column of the only row of a query, which the first of those that share it joins.
    pub(super) fn row_query(
        &mut self,
        query: &Arc<ast::Query>,
        column: usize,
        count: usize,
        pos: Pos,
    ) -> Result<Expr> {
        self.not_in_lambda(pos)?;
        let known = self.row_queries.iter().find(|(known, _)| Arc::ptr_eq(known, query));
        let columns = match known {
            Some((_, columns)) => columns.clone(),
            None => {
                let bound = self.inner_query(query, pos)?;
                let found = bound.output.len();
                if found != count {
                    let message = format!("{count} columns are set to the row of a query, which has {found}");
                    return Err(self.at(Error::bind(message), pos));
                }
                let columns: Vec<ColumnId> = bound.output.iter().map(|column| column.id).collect();
                self.push_pending(Pending::single(bound.plan), pos)?;
                self.row_queries.push((Arc::clone(query), columns.clone()));
                columns
            }
        };
        let column = columns.get(column).copied();
        Ok(self.column(column.ok_or_else(|| Error::internal("a column of a row that it does not have"))?))
    }

    pub(super) fn exists(&mut self, query: &ast::Query, pos: Pos) -> Result<Expr> {
        let bound = self.inner_query(query, pos)?;
        let mark = self.columns.add("exists", LogicalType::Boolean);
        self.push_pending(Pending::new(JoinKind::Mark(mark), bound.plan, Vec::new()), pos)?;
        Ok(self.column(mark))
    }

    /// `input op ANY (query)`; `IN` is `= ANY`.
    pub(super) fn any(
        &mut self,
        input: &ast::Expr,
        op: BinaryOp,
        query: &ast::Query,
        pos: Pos,
    ) -> Result<Expr> {
        let (plan, conditions) = self.any_parts(input, op, query, pos)?;
        let mark = self.columns.add("any", LogicalType::Boolean);
        self.push_pending(Pending::new(JoinKind::Mark(mark), plan, conditions), pos)?;
        Ok(self.column(mark))
    }

    fn any_parts(
        &mut self,
        input: &ast::Expr,
        op: BinaryOp,
        query: &ast::Query,
        pos: Pos,
    ) -> Result<(Plan, Vec<Expr>)> {
        let inputs = input.row_items().unwrap_or(std::slice::from_ref(input));
        let mut values = Vec::with_capacity(inputs.len());
        for item in inputs {
            let value = self.expr(item)?;
            // It is compared with each row of the subquery.
            values.push(self.computed(value, "compared", pos)?);
        }
        let mut typed = None;
        if let [value] = values.as_slice() {
            typed = self.list_of_type(query, value.ty())?;
        }
        let bound = self.inner_query(typed.as_ref().unwrap_or(query), pos)?;
        if bound.output.len() != values.len() {
            let (wanted, found) = (values.len(), bound.output.len());
            let message =
                format!("the subquery must have {wanted} column(s) to compare with, it has {found}");
            return Err(self.at(Error::bind(message), pos));
        }
        if values.len() > 1 && op != BinaryOp::Equal {
            let columns = bound.output.iter().map(|column| self.column(column.id)).collect::<Vec<_>>();
            let compared = self.rows_compared(op, values.into_iter().zip(columns).collect(), pos)?;
            return Ok((bound.plan, vec![compared]));
        }
        let mut conditions = Vec::with_capacity(values.len());
        for (value, column) in values.into_iter().zip(&bound.output) {
            let right = self.column(column.id);
            conditions.push(self.comparison(compare_op(op), value, right, pos)?);
        }
        Ok((bound.plan, conditions))
    }

    /// `x = ANY ($1)` with a parameter that has no type, or with a list that is written as text: it is one of what it is compared with.
    fn list_of_type(&mut self, query: &ast::Query, element: LogicalType) -> Result<Option<ast::Query>> {
        let Some(list) = unnested(query) else { return Ok(None) };
        let is_open = if matches!(list.kind, ExprKind::Parameter(_)) {
            let given = self.expr(list)?.ty();
            given == LogicalType::Null || given == LogicalType::Varchar
        } else {
            matches!(list.kind, ExprKind::Literal(ast::Literal::String(_)))
        };
        if !is_open || element == LogicalType::Null {
            return Ok(None);
        }
        let mut typed = query.clone();
        if let Some(list) = unnested_mut(&mut typed) {
            let (expr, pos) = (Box::new(list.clone()), list.pos);
            let data_type = LogicalType::list(element);
            *list = ast::Expr { kind: ExprKind::Cast { expr, data_type, try_cast: false }, pos };
        }
        Ok(Some(typed))
    }

    /// `input op ALL (query)` is `NOT (input negated-op ANY (query))`.
    pub(super) fn all(
        &mut self,
        input: &ast::Expr,
        op: BinaryOp,
        query: &ast::Query,
        pos: Pos,
    ) -> Result<Expr> {
        let negated = match op {
            BinaryOp::Equal => BinaryOp::NotEqual,
            BinaryOp::NotEqual => BinaryOp::Equal,
            BinaryOp::Less => BinaryOp::GreaterEqual,
            BinaryOp::LessEqual => BinaryOp::Greater,
            BinaryOp::Greater => BinaryOp::LessEqual,
            BinaryOp::GreaterEqual => BinaryOp::Less,
            BinaryOp::DistinctFrom => BinaryOp::NotDistinctFrom,
            _ => BinaryOp::DistinctFrom,
        };
        Ok(Expr::Not(Box::new(self.any(input, negated, query, pos)?)))
    }

    /// A conjunct of WHERE or HAVING that is nothing but EXISTS, NOT EXISTS or IN becomes a semi or anti join.
    /// Returns whether it was one; its join is then pending.
    pub(super) fn semi_join_conjunct(&mut self, conjunct: &ast::Expr) -> Result<bool> {
        let (inner, mut negated) = match &conjunct.kind {
            ExprKind::Not(inner) => (&**inner, true),
            _ => (conjunct, false),
        };
        let pos = conjunct.pos;
        let (kind, plan, conditions) = match &inner.kind {
            ExprKind::Exists { query, negated: written } => {
                negated ^= written;
                let kind = if negated { JoinKind::Anti } else { JoinKind::Semi };
                (kind, self.inner_query(query, pos)?.plan, Vec::new())
            }
            // NOT IN is no anti join: a NULL on either side makes it NULL.
            ExprKind::InSubquery { expr, query, negated: false } if !negated => {
                let (plan, conditions) = self.any_parts(expr, BinaryOp::Equal, query, pos)?;
                (JoinKind::Semi, plan, conditions)
            }
            _ => return Ok(false),
        };
        self.push_pending(Pending::new(kind, plan, conditions), pos)?;
        Ok(true)
    }

    /// Runs `inner` in a scope of its own and puts what it left pending below `plan_of(value)`.
    pub(super) fn isolated<T>(
        &mut self,
        inner: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<(T, Vec<Pending>)> {
        self.scopes.push(Scope::new());
        let result = inner(self);
        let scope = self.scopes.pop();
        Ok((result?, scope.map(|scope| scope.pending).unwrap_or_default()))
    }
}

/// The list whose elements a query gives and nothing else, as `ANY (list)` is read.
fn unnested(query: &ast::Query) -> Option<&ast::Expr> {
    let ast::QueryBody::Select(select) = &query.body else { return None };
    let [ast::SelectItem::Expr { expr, .. }] = select.items.as_slice() else { return None };
    let ExprKind::Function(call) = &expr.kind else { return None };
    let [list] = call.arguments.as_slice() else { return None };
    (select.from.is_empty() && call.name.value == "unnest").then_some(list)
}

fn unnested_mut(query: &mut ast::Query) -> Option<&mut ast::Expr> {
    let ast::QueryBody::Select(select) = &mut query.body else { return None };
    let Some(ast::SelectItem::Expr { expr, .. }) = select.items.first_mut() else { return None };
    let ExprKind::Function(call) = &mut expr.kind else { return None };
    call.arguments.first_mut()
}

/// The plan's comparison for a comparison operator.
pub(super) fn compare_op(op: BinaryOp) -> CompareOp {
    match op {
        BinaryOp::NotEqual => CompareOp::NotEq,
        BinaryOp::Less => CompareOp::Lt,
        BinaryOp::LessEqual => CompareOp::LtEq,
        BinaryOp::Greater => CompareOp::Gt,
        BinaryOp::GreaterEqual => CompareOp::GtEq,
        BinaryOp::DistinctFrom => CompareOp::Distinct,
        BinaryOp::NotDistinctFrom => CompareOp::NotDistinct,
        _ => CompareOp::Eq,
    }
}

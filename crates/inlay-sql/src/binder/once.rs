//! What is written once and read several times is computed once.
//!
//! `x BETWEEN a AND b` compares `x` twice, `CASE x WHEN ...` as often as there are branches. Where `x` is the same each time
//! it is simply written out, which the optimizer reads best. Where it is volatile
//! - inside of an expression it becomes an argument of [`LambdaKind::Once`], whose body reads it as a parameter;
//! - as an alias of the SELECT list that another expression reads, it becomes a column that is computed below.

use super::Binder;
use super::lambda::lambda_of;
use super::scope::Phase;
use super::subquery::Pending;
use crate::parser::ast::{self, Pos};
use crate::plan::{ColumnId, Expr, LambdaKind};
use inlay_types::{Error, LogicalType, Result};
use std::rc::Rc;

/// Where the depths of [`LambdaKind::Once`] begin: those of lambdas count from 0.
const DEPTH: usize = usize::MAX / 2;

/// What [`ast::ExprKind::Given`] stands for.
pub(super) enum Given {
    Bound(Expr),
    Written(Rc<ast::Expr>),
}

impl Binder<'_> {
    /// What `build` makes of values that it reads as often as it likes.
    pub(super) fn once(
        &mut self,
        values: Vec<Expr>,
        build: impl FnOnce(&mut Self, Vec<Expr>) -> Result<Expr>,
    ) -> Result<Expr> {
        if !values.iter().any(Expr::is_volatile) {
            return build(self, values);
        }
        self.once_each(values, build)
    }

    /// The same, for what is bound so often that copies of what is computed would be many: only columns and literals are written out.
    pub(super) fn once_computed(
        &mut self,
        values: Vec<Expr>,
        build: impl FnOnce(&mut Self, Vec<Expr>) -> Result<Expr>,
    ) -> Result<Expr> {
        if values.iter().all(|value| matches!(value, Expr::Column { .. } | Expr::Literal { .. })) {
            return build(self, values);
        }
        self.once_each(values, build)
    }

    fn once_each(
        &mut self,
        values: Vec<Expr>,
        build: impl FnOnce(&mut Self, Vec<Expr>) -> Result<Expr>,
    ) -> Result<Expr> {
        let (mut args, mut parameters, mut read) = (Vec::new(), Vec::new(), Vec::new());
        for value in values {
            // A literal may still adapt to what it is compared with.
            if matches!(value, Expr::Literal { .. }) {
                read.push(value);
                continue;
            }
            let id = self.once_column(parameters.len(), value.ty());
            read.push(self.column(id));
            parameters.push(id);
            args.push(value);
        }
        self.open_onces += 1;
        let body = build(self, read);
        self.open_onces -= 1;
        let body = body?;
        let ty = body.ty();
        Ok(lambda_of(LambdaKind::Once, args, false, parameters, body, ty))
    }

    /// A value that is bound, as a part of what is still to be bound.
    pub(super) fn given(&mut self, value: Expr, pos: Pos) -> ast::Expr {
        self.given.push(Given::Bound(value));
        ast::Expr { kind: ast::ExprKind::Given(self.given.len() - 1), pos }
    }

    /// What is written once and stands in several places: bound by the first of them, as a column that is computed there if
    /// each evaluation differs.
    pub(super) fn given_once(&mut self, expr: ast::Expr) -> ast::Expr {
        let pos = expr.pos;
        self.given.push(Given::Written(Rc::new(expr)));
        ast::Expr { kind: ast::ExprKind::Given(self.given.len() - 1), pos }
    }

    pub(super) fn given_value(&mut self, number: usize, pos: Pos) -> Result<Expr> {
        let missing = || Error::internal("a value that is given is missing");
        let expr = match self.given.get(number).ok_or_else(missing)? {
            Given::Bound(value) => return Ok(value.clone()),
            Given::Written(expr) => Rc::clone(expr),
        };
        let before = self.pending_count();
        let value = self.expr(&expr)?;
        if !value.is_volatile() && !self.is_pending_volatile(before) {
            return Ok(value);
        }
        let column = self.computed(value, "value", pos)?;
        *self.given.get_mut(number).ok_or_else(missing)? = Given::Bound(column.clone());
        Ok(column)
    }

    /// How many joins the innermost scope waits for.
    pub(super) fn pending_count(&self) -> usize {
        self.scopes.last().map_or(0, |scope| scope.pending.len())
    }

    /// Whether one of those behind the first so many has another value each time.
    pub(super) fn is_pending_volatile(&self, from: usize) -> bool {
        let pending = self.scopes.last().and_then(|scope| scope.pending.get(from..));
        pending.is_some_and(|pending| pending.iter().any(|join| join.plan.is_volatile()))
    }

    /// The parameter of its place: what is written alike must be equal, as for lambdas.
    fn once_column(&mut self, index: usize, ty: LogicalType) -> ColumnId {
        let key = (DEPTH + self.open_onces, index, ty.clone());
        if let Some(id) = self.lambda_columns.get(&key) {
            return *id;
        }
        let id = self.columns.add(format!("value{}", index + 1), ty);
        self.lambda_columns.insert(key, id);
        id
    }

    /// A volatile value as a column that the clause being bound computes for each row; others as they are.
    pub(super) fn computed(&mut self, value: Expr, name: &str, pos: Pos) -> Result<Expr> {
        if !value.is_volatile() {
            return Ok(value);
        }
        let id = self.computed_column(value, name, pos)?;
        Ok(self.column(id))
    }

    /// The column that a value is computed in.
    fn computed_column(&mut self, value: Expr, name: &str, pos: Pos) -> Result<ColumnId> {
        let collation = self.implied_collation(&value);
        let id = self.columns.add(name, value.ty());
        self.columns.collate(id, collation);
        self.push_pending(Pending::computed(id, value), pos)?;
        Ok(id)
    }

    /// The column with the value of entry `index` of the SELECT list, for a subquery that reads it by its alias.
    pub(super) fn alias_column(&mut self, index: usize, pos: Pos) -> Result<ColumnId> {
        let value = self.aliased(index, pos)?;
        if let Expr::Column { id, .. } = value {
            return Ok(id);
        }
        let name = self.scope()?.entries.get(index).map(|entry| entry.name.clone()).unwrap_or_default();
        self.computed_column(value, &name, pos)
    }

    /// The value of entry `index` of the SELECT list, for an expression that reads it by its alias.
    pub(super) fn aliased(&mut self, index: usize, pos: Pos) -> Result<Expr> {
        let value = self.entry(index)?;
        let scope = self.scope()?;
        // Aggregates whose values differ each time are not told to be the same where they are written again.
        if scope.phase == Phase::Having && scope.reads_volatile_aggregate(&value) {
            if let Some(entry) = scope.entries.get_mut(index) {
                entry.bound = Some(value.clone());
            }
            return Ok(value);
        }
        if !value.is_volatile() || scope.phase == Phase::From {
            return Ok(value);
        }
        let name = scope.entries.get(index).map(|entry| entry.name.clone()).unwrap_or_default();
        let reads_window = || {
            let read = value.columns();
            scope.windows.iter().any(|(id, _)| read.contains(id))
        };
        let is_later = match scope.phase {
            Phase::Aggregate | Phase::GroupBy => true,
            Phase::Window => reads_window(),
            _ => false,
        };
        if is_later {
            let message = format!(
                "the alias \"{name}\" means an expression with another value each time, which is not known here yet: \
                 compute it in a subquery in FROM"
            );
            return Err(self.at(Error::bind(message), pos));
        }
        self.compute_entry(index, value, &name, pos)
    }

    /// Computes entry `index` below what reads it.
    pub(super) fn compute_entry(&mut self, index: usize, value: Expr, name: &str, pos: Pos) -> Result<Expr> {
        let column = self.computed(value, name, pos)?;
        if let (Expr::Column { id, .. }, Some(entry)) = (&column, self.scope()?.entries.get_mut(index)) {
            entry.computed = Some(*id);
            entry.bound = Some(column.clone());
        }
        Ok(column)
    }
}

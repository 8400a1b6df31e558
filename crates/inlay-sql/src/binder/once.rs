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
use crate::parser::ast::Pos;
use crate::plan::{ColumnId, Expr, LambdaKind};
use inlay_types::{Error, LogicalType, Result};

/// Where the depths of [`LambdaKind::Once`] begin: those of lambdas count from 0.
const DEPTH: usize = usize::MAX / 2;

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
        let collation = self.implied_collation(&value);
        let id = self.columns.add(name, value.ty());
        self.columns.collate(id, collation);
        self.push_pending(Pending::computed(id, value), pos)?;
        Ok(self.column(id))
    }

    /// The value of entry `index` of the SELECT list, for an expression that reads it by its alias.
    pub(super) fn aliased(&mut self, index: usize, pos: Pos) -> Result<Expr> {
        let value = self.entry(index)?;
        let scope = self.scope()?;
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

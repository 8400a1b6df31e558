//! WITH whose statements change data, as PostgreSQL has it.
//!
//! Every part is a statement of its own: those of the WITH run once and in order, whether they are read or not (queries
//! only if they are), and the statement behind it last. What one returns, those behind it read as held rows. All of
//! them see the tables as they were before: no part sees what another changes.

use super::Binder;
use super::query::{CteDef, Sharing};
use super::scope::{CteFrame, same_name};
use crate::parser::ast::{self, StatementKind};
use crate::plan::statement::{ChangingPart, Returning};
use crate::plan::{self, HeldRows};
use inlay_catalog::SourceColumn;
use inlay_types::{Error, LogicalType, Result};
use std::sync::Arc;

impl Binder<'_> {
    pub(super) fn changing_with(&mut self, with: &ast::ChangingWith) -> Result<plan::Statement> {
        self.ctes.push(CteFrame::default());
        let mut parts = Vec::with_capacity(with.ctes.len());
        for cte in &with.ctes {
            parts.push(self.changing_cte(cte, with.recursive)?);
        }
        let statement = Box::new(self.statement(&with.statement)?);
        self.ctes.pop();
        if !matches!(&*statement, plan::Statement::Query(_)) && statement.target().is_none() {
            let kind = statement.kind();
            let message = format!("{kind} does not go with a WITH that changes data");
            let hint = "SELECT, INSERT, UPDATE, DELETE and MERGE do";
            let pos = with.ctes.first().map_or(ast::Pos::default(), |cte| cte.name.pos);
            return Err(self.at(Error::bind(message).with_hint(hint), pos));
        }
        Ok(plan::Statement::Changing { parts, statement })
    }

    /// A statement whose RETURNING holds subqueries, as a part that returns its rows and a query of these; they see
    /// tables as they were before.
    pub(super) fn returning_subqueries(
        &mut self,
        statement: &ast::Statement,
    ) -> Result<Option<plan::Statement>> {
        let returning = match &statement.kind {
            StatementKind::Insert(insert) => &insert.returning,
            StatementKind::Update(update) => &update.returning,
            StatementKind::Delete(delete) => &delete.returning,
            _ => return Ok(None),
        };
        if !returning.iter().flatten().any(item_has_subquery) {
            return Ok(None);
        }
        let mut part = statement.clone();
        let (returning, name, alias) = match &mut part.kind {
            StatementKind::Insert(insert) => (&mut insert.returning, &insert.table, &insert.alias),
            StatementKind::Update(update) => (&mut update.returning, &update.table, &update.alias),
            StatementKind::Delete(delete) => (&mut delete.returning, &delete.table, &delete.alias),
            _ => return Ok(None),
        };
        let Some(items) = returning.as_mut() else { return Ok(None) };
        let pos = name.pos();
        let alias = alias.clone().unwrap_or_else(|| ast::Ident { value: name.last().to_string(), pos });
        let star = ast::SelectItem::Star {
            qualifier: None,
            exclude: ast::Excluded::default(),
            replace: vec![],
            rename: vec![],
            pos,
        };
        let items = std::mem::replace(items, vec![star]);
        let rows = ast::Ident { value: RETURNED.to_string(), pos };
        let named = ast::ObjectName { parts: vec![rows.clone()], is_string: false };
        let mut query = super::statement::star_query(named);
        if let ast::QueryBody::Select(select) = &mut query.body {
            select.items = items;
            if let [ast::TableRef::Table { alias: place, .. }] = select.from.as_mut_slice() {
                *place = Some(ast::TableAlias { name: alias, columns: Vec::new() });
            }
        }
        let kind = StatementKind::Query(Box::new(query));
        let with = ast::ChangingWith {
            recursive: false,
            ctes: vec![ast::ChangingCte { name: rows, columns: Vec::new(), statement: part }],
            statement: ast::Statement { kind, ..statement.clone() },
        };
        self.changing_with(&with).map(Some)
    }

    /// Binds a part, and makes what it returns visible.
    fn changing_cte(&mut self, cte: &ast::ChangingCte, recursive: bool) -> Result<ChangingPart> {
        let name = cte.name.value.clone();
        let is_defined = |frame: &CteFrame| frame.ctes.iter().any(|known| same_name(&known.name, &name));
        if self.ctes.last().is_some_and(is_defined) {
            return Err(self.at(Error::bind(format!("WITH defines \"{name}\" twice")), cte.name.pos));
        }
        let (statement, columns) = match &cte.statement.kind {
            StatementKind::Query(query) => {
                let bound = self.cte_query(query, &cte.columns, &name, recursive)?;
                let query = self.finish(bound)?;
                let column = |(id, name): &(plan::ColumnId, String)| (name.clone(), query.columns.ty(*id));
                let columns = query.output.iter().map(column).collect();
                (plan::Statement::Query(query), Some(columns))
            }
            StatementKind::Insert(_)
            | StatementKind::Update(_)
            | StatementKind::Delete(_)
            | StatementKind::Merge(_) => {
                let statement = self.statement(&cte.statement)?;
                if matches!(statement, plan::Statement::Changing { .. }) {
                    let error = Error::unsupported("a subquery in RETURNING of a part of WITH");
                    return Err(self.at(error, cte.name.pos));
                }
                let columns = statement.returning().map(returned_columns);
                (statement, columns)
            }
            _ => {
                let message = "WITH takes queries, INSERT, UPDATE, DELETE and MERGE";
                return Err(self.at(Error::bind(message), cte.name.pos));
            }
        };
        let mut columns: Vec<(String, LogicalType)> = columns.unwrap_or_default();
        if let Some(surplus) = cte.columns.get(columns.len()) {
            let message =
                format!("\"{name}\" has {} columns, {} names are given", columns.len(), cte.columns.len());
            return Err(self.at(Error::bind(message), surplus.pos));
        }
        columns.iter_mut().zip(&cte.columns).for_each(|(column, name)| column.0.clone_from(&name.value));
        let columns = columns.into_iter().map(|(name, ty)| SourceColumn { name, ty }).collect();
        let rows = Arc::new(HeldRows::new(name.clone(), columns));
        let def = CteDef::of_rows(name, Sharing::Held(Arc::clone(&rows)));
        if let Some(frame) = self.ctes.last_mut() {
            frame.ctes.push(def);
        }
        Ok(ChangingPart { rows, statement })
    }

    /// The error for reading a part that returns nothing.
    pub(super) fn nothing_returned(&self, name: &str, pos: ast::Pos) -> Error {
        let message = format!("\"{name}\" changes rows and returns none");
        let hint = "RETURNING at its end says which columns it gives";
        self.at(Error::bind(message).with_hint(hint), pos)
    }
}

/// What the rows of a statement are called between it and its RETURNING.
const RETURNED: &str = "rows of RETURNING";

fn item_has_subquery(item: &ast::SelectItem) -> bool {
    matches!(item, ast::SelectItem::Expr { expr, .. } if has_subquery(expr))
}

fn has_subquery(expr: &ast::Expr) -> bool {
    use ast::ExprKind as E;
    matches!(
        expr.kind,
        E::Subquery(_) | E::RowQuery { .. } | E::Exists { .. } | E::InSubquery { .. } | E::Quantified { .. }
    ) || expr.children().into_iter().any(has_subquery)
}

fn returned_columns(returning: &Returning) -> Vec<(String, LogicalType)> {
    returning.items.iter().map(|(name, expr)| (name.clone(), expr.ty())).collect()
}

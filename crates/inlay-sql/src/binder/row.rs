//! Row expressions: what is evaluated on rows that are there, not on a plan's (see [`crate::plan::statement`]).
//!
//! CHECK conditions, generated columns, RETURNING, and what ON CONFLICT does are bound in a scope of their own, over
//! columns made for it, and then rewritten so that column `i` of the rows is `ColumnId(i)`.

use super::object::{Home, undefined};
use super::scope::{Phase, Relation, RelationColumn, Scope};
use super::{BindContext, Binder};
use crate::parser::ast::{self, Pos, QueryBody, StatementKind};
use crate::parser::parse_statement;
use crate::plan::statement::{BoundCheck, Returning};
use crate::plan::{ColumnId, Expr};
use inlay_catalog::{ColumnSchema, TableSchema, bare_name};
use inlay_storage::Check;
use inlay_types::{Error, LogicalType, Result, Value};
use std::collections::HashMap;
use std::sync::Arc;

/// Binds SQL texts over rows of a table of `database`: column `i` of the table is `ColumnId(i)`.
pub fn bind_row_expressions(
    context: &BindContext<'_>,
    database: &str,
    schema: &TableSchema,
    texts: &[&str],
) -> Result<Vec<Expr>> {
    let mut binder = Binder::new(context, Arc::from(""));
    texts.iter().map(|text| binder.stored_row_expr(database, schema, text)).collect()
}

/// The CHECK constraints of a table.
pub fn bind_checks(
    context: &BindContext<'_>,
    database: &str,
    schema: &TableSchema,
) -> Result<Vec<BoundCheck>> {
    Binder::new(context, Arc::from("")).checks(database, schema)
}

/// Position and value of each generated column of a table.
pub fn bind_generated(
    context: &BindContext<'_>,
    database: &str,
    schema: &TableSchema,
) -> Result<Vec<(usize, Expr)>> {
    Binder::new(context, Arc::from("")).generated(database, schema)
}

/// The value that a column gets when none is given, such as by SET DEFAULT of a foreign key.
pub fn bind_default(context: &BindContext<'_>, database: &str, column: &ColumnSchema) -> Result<Expr> {
    Binder::new(context, Arc::from("")).default_of(database, column)
}

/// A column of such rows.
pub(super) struct RowColumn {
    /// Without one it cannot be named.
    pub(super) name: Option<String>,
    pub(super) ty: LogicalType,
    pub(super) collation: Option<Arc<str>>,
}

/// Rows that a row expression reads; several stand side by side.
pub(super) struct Rows<'s> {
    pub(super) name: &'s str,
    /// Where the table of that name is.
    pub(super) home: Option<Home>,
    pub(super) columns: Vec<RowColumn>,
    /// Only its qualified names mean it.
    pub(super) qualified_only: bool,
    /// They are those of the table that the statement changes.
    pub(super) is_target: bool,
}

impl<'s> Rows<'s> {
    pub(super) fn of(name: &'s str, schema: &TableSchema) -> Self {
        let column = |column: &ColumnSchema| RowColumn {
            name: (!column.is_hidden()).then(|| column.name.clone()),
            ty: column.ty.clone(),
            collation: column.collation.as_deref().map(Arc::from),
        };
        let columns = schema.columns.iter().map(column).collect();
        Self { name, home: None, columns, qualified_only: false, is_target: false }
    }
}

/// Nodes of the expression of a generated column, with those of the columns that it reads.
const GENERATED_NODES_MAX: usize = 10_000;

/// From the ids that a scope was made with to positions.
pub(super) struct Positions(HashMap<ColumnId, Expr>);

impl Positions {
    pub(super) fn new(ids: impl Iterator<Item = (ColumnId, LogicalType)>) -> Self {
        let numbered = ids.enumerate();
        Self(
            numbered.map(|(index, (id, ty))| (id, Expr::Column { id: ColumnId(index as u32), ty })).collect(),
        )
    }

    pub(super) fn apply(&self, mut expr: Expr) -> Expr {
        expr.substitute(&self.0);
        expr
    }
}

/// The positions that a row expression reads.
pub(super) fn positions_read(expr: &Expr) -> Vec<usize> {
    expr.columns().into_iter().map(|id| id.0 as usize).collect()
}

/// `expr`, a row expression, with each column `i` replaced by `value(i)`.
pub(super) fn with_columns(mut expr: Expr, value: impl Fn(usize) -> Option<Expr>) -> Expr {
    let map = expr.columns().into_iter().filter_map(|id| Some((id, value(id.0 as usize)?))).collect();
    expr.substitute(&map);
    expr
}

impl Binder<'_> {
    /// Binds over rows alone; `place` is for the error if there are subqueries.
    pub(super) fn over_rows<T>(
        &mut self,
        relations: Vec<Rows<'_>>,
        place: &str,
        pos: Pos,
        inner: impl FnOnce(&mut Self, &Positions) -> Result<T>,
    ) -> Result<T> {
        let mut scope = Scope::new();
        scope.phase = Phase::Where;
        let mut ids = Vec::new();
        for rows in relations {
            let mut columns = Vec::with_capacity(rows.columns.len());
            for RowColumn { name, ty, collation } in rows.columns {
                let id = self.columns.add(name.clone().unwrap_or_default(), ty.clone());
                self.columns.collate(id, collation);
                ids.push((id, ty));
                let Some(name) = name else { continue };
                let mut column = RelationColumn::new(name, id);
                column.hidden = rows.qualified_only;
                columns.push(column);
            }
            let mut relation = Relation::new(rows.name.to_string(), columns, None);
            relation.home = rows.home;
            scope.relations.push(relation);
            if rows.is_target {
                let place = scope.relations.len() - 1;
                self.guard_aim(&mut scope, place)?;
            }
        }
        let outer = std::mem::take(&mut self.scopes);
        self.scopes.push(scope);
        self.row_scopes += 1;
        let result = inner(self, &Positions::new(ids.into_iter()));
        self.row_scopes -= 1;
        let pending = self.scopes.pop().map(|scope| scope.pending).unwrap_or_default();
        self.scopes = outer;
        let value = result?;
        if pending.is_empty() {
            Ok(value)
        } else {
            Err(self.at(Error::unsupported(format!("a subquery in {place}")), pos))
        }
    }

    /// Binds a text that the schema holds, as an expression.
    pub(super) fn stored<T>(
        &mut self,
        database: &str,
        text: &str,
        inner: impl FnOnce(&mut Self, &ast::Expr) -> Result<T>,
    ) -> Result<T> {
        let statement = parse_statement(&format!("SELECT {text}"))?;
        let no_expression = || Error::internal(format!("the stored text {text} is no expression"));
        let StatementKind::Query(query) = &statement.kind else { return Err(no_expression()) };
        let QueryBody::Select(select) = &query.body else { return Err(no_expression()) };
        let [ast::SelectItem::Expr { expr, .. }] = select.items.as_slice() else {
            return Err(no_expression());
        };
        let sql = std::mem::replace(&mut self.sql, Arc::clone(&statement.sql));
        let stored_in = self.stored_in.replace(Home::of(database, ""));
        let is_stored = std::mem::replace(&mut self.is_stored, true);
        let result = inner(self, expr);
        self.sql = sql;
        self.stored_in = stored_in;
        self.is_stored = is_stored;
        result
    }

    fn stored_row_expr(&mut self, database: &str, schema: &TableSchema, text: &str) -> Result<Expr> {
        self.stored(database, text, |binder, expr| binder.row_expr(schema, expr, "a stored expression"))
    }

    /// An expression over one row of a table.
    pub(super) fn row_expr(&mut self, schema: &TableSchema, expr: &ast::Expr, place: &str) -> Result<Expr> {
        let rows = vec![Rows::of(bare_name(&schema.name), schema)];
        self.over_rows(rows, place, expr.pos, |binder, positions| Ok(positions.apply(binder.expr(expr)?)))
    }

    /// A CHECK condition over one row of a table.
    pub(super) fn row_condition(&mut self, schema: &TableSchema, expr: &ast::Expr) -> Result<Expr> {
        let bound = self.row_expr(schema, expr, "CHECK")?;
        self.boolean(bound, expr.pos, "CHECK")
    }

    pub(super) fn checks(&mut self, database: &str, schema: &TableSchema) -> Result<Vec<BoundCheck>> {
        let mut checks = Vec::with_capacity(schema.checks.len());
        for check in &schema.checks {
            let text = &check.condition;
            let condition = self.stored(database, text, |binder, expr| binder.row_condition(schema, expr));
            let condition = condition.map_err(|error| unbound_check(schema, check, error))?;
            checks.push(BoundCheck { name: check.name.clone(), text: text.clone(), condition });
        }
        Ok(checks)
    }

    /// Position and value of each generated column.
    pub(super) fn generated(&mut self, database: &str, schema: &TableSchema) -> Result<Vec<(usize, Expr)>> {
        let written = self.generated_as_written(database, schema)?;
        // They are computed at the same time: one that reads another, as one that an index is on may, computes that again.
        let mut known: HashMap<usize, Expr> = HashMap::new();
        let mut waiting: Vec<&(usize, Expr)> = written.iter().collect();
        let is_of = |position: usize| written.iter().any(|(index, _)| *index == position);
        while !waiting.is_empty() {
            let (count, mut left) = (waiting.len(), Vec::new());
            for entry in waiting {
                let (index, value) = entry;
                let read = positions_read(value);
                if read.iter().any(|position| is_of(*position) && !known.contains_key(position)) {
                    left.push(entry);
                    continue;
                }
                let value = with_columns(value.clone(), |position| known.get(&position).cloned());
                if value.has_more_nodes(GENERATED_NODES_MAX) {
                    let column = &schema.columns[*index].name;
                    let message =
                        format!("generated column \"{column}\" reads too many others through others");
                    return Err(Error::out_of_range(message));
                }
                known.insert(*index, value);
            }
            if left.len() == count {
                let column = left.first().map_or("", |(index, _)| schema.columns[*index].name.as_str());
                return Err(Error::bind(format!(
                    "generated column \"{column}\" cannot be computed from itself"
                )));
            }
            waiting = left;
        }
        let in_order = written.iter().filter_map(|(index, _)| Some((*index, known.remove(index)?)));
        Ok(in_order.collect())
    }

    /// As [`Binder::generated`], over the generated columns that an indexed expression names.
    pub(super) fn generated_as_written(
        &mut self,
        database: &str,
        schema: &TableSchema,
    ) -> Result<Vec<(usize, Expr)>> {
        let mut generated = Vec::new();
        for (index, column) in schema.columns.iter().enumerate() {
            let Some(text) = column.origin.computation() else { continue };
            self.check_indexed_settings(column)?;
            let value = self.stored_row_expr(database, schema, &text)?;
            generated.push((index, self.assigned(value, column.ty.clone(), Pos::default())?));
        }
        Ok(generated)
    }

    /// Adds the generated columns that depend on changed ones to `set` and `values`. `unchanged` reads another column.
    pub(super) fn extend_by_generated(
        &mut self,
        database: &str,
        schema: &TableSchema,
        set: &mut Vec<usize>,
        values: &mut Vec<Expr>,
        unchanged: impl Fn(usize) -> Expr,
    ) -> Result<()> {
        let given = set.len();
        for (index, value) in self.generated(database, schema)? {
            let read = positions_read(&value);
            if !read.iter().any(|position| set[..given].contains(position)) {
                continue;
            }
            let new = |position: usize| set[..given].iter().position(|&known| known == position);
            if let Some(position) = read
                .iter()
                .copied()
                .find(|&position| new(position).is_some_and(|index| !values[index].is_deterministic()))
            {
                let (column, source) = (&schema.columns[index].name, &schema.columns[position].name);
                return Err(Error::unsupported(format!(
                    "a generated column (\"{column}\") of a value that differs at each call (of \"{source}\")"
                )));
            }
            let value = with_columns(value, |position| {
                Some(new(position).map_or_else(|| unchanged(position), |index| values[index].clone()))
            });
            set.push(index);
            values.push(value);
        }
        Ok(())
    }

    /// RETURNING over rows of a table; with `action`, `merge_action()` is the column behind them.
    pub(super) fn returning(
        &mut self,
        items: &[ast::SelectItem],
        (name, home): (&str, Option<Home>),
        schema: &TableSchema,
        action: bool,
    ) -> Result<Returning> {
        let pos = items.first().map(|item| match item {
            ast::SelectItem::Expr { expr, .. } => expr.pos,
            ast::SelectItem::Star { pos, .. } => *pos,
        });
        let mut rows = vec![Rows { home, is_target: true, ..Rows::of(name, schema) }];
        if action {
            let columns = vec![RowColumn {
                name: Some("merge_action".to_string()),
                ty: LogicalType::Varchar,
                collation: None,
            }];
            rows.push(Rows { name: "", home: None, columns, qualified_only: true, is_target: false });
        }
        self.over_rows(rows, "RETURNING", pos.unwrap_or_default(), |binder, positions| {
            binder.merge_action = if action {
                let relations = &mut binder.scope()?.relations;
                let column = relations.last_mut().and_then(|relation| relation.columns.first_mut());
                column.map(|column| {
                    column.other_name = Some("merge_action");
                    column.id
                })
            } else {
                None
            };
            binder.expand_items(items)?;
            let count = binder.scope()?.entries.len();
            let mut bound = Vec::with_capacity(count);
            for index in 0..count {
                let value = match binder.entry(index)? {
                    Expr::Literal { value: Value::Null, ty: LogicalType::Null } => {
                        Expr::Literal { value: Value::Null, ty: LogicalType::Integer }
                    }
                    other => other,
                };
                bound.push((binder.scope()?.entries[index].name.clone(), positions.apply(value)));
            }
            binder.merge_action = None;
            Ok(Returning { items: bound })
        })
    }

    /// The value of a column that is not given.
    pub(super) fn default_of(&mut self, database: &str, column: &ColumnSchema) -> Result<Expr> {
        let Some(text) = &column.default else {
            return Ok(Expr::Literal { value: Value::Null, ty: column.ty.clone() });
        };
        self.stored(database, text, |binder, expr| {
            let (value, _) = binder.isolated(|binder| binder.expr(expr))?;
            binder.stored_value(value, column.ty.clone(), Pos::default())
        })
    }

    /// The error for a constraint that a table does not have.
    pub(super) fn undefined_constraint(&self, table: &str, name: &ast::Ident, known: &[String]) -> Error {
        let near = inlay_catalog::near_names(&name.value, known.iter().map(String::as_str));
        let message = undefined("constraint", &name.value, &near);
        self.at(Error::bind(format!("table \"{table}\": {message}")), name.pos)
    }
}

/// The error for a CHECK that reads what is not there any more. The mistake is not in its text, but in what was changed below it.
fn unbound_check(schema: &TableSchema, check: &Check, error: Error) -> Error {
    // What may not run is there, and may run later.
    if !error.sqlstate().starts_with("42") || error.sqlstate() == "42501" {
        return error;
    }
    let message = error.to_string();
    Error::bind(format!(
        "CHECK constraint \"{}\" ({}) of table \"{}\" could not be computed any more: {}",
        check.name,
        check.condition,
        bare_name(&schema.name),
        message.lines().next().unwrap_or_default()
    ))
    .with_hint("drop it first")
}

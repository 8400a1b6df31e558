//! CREATE INDEX, and expressions that indexes are on.
//!
//! An index has columns for its keys. The value of an expression is kept in a hidden column of the table
//! ([`Origin::Indexed`]), computed like a generated one; in a partial index it is NULL for the rows that the index does
//! not hold. So storage, the log and statistics know columns alone. Scans tell the optimizer which of their columns
//! hold which expressions, for filters.

use super::Binder;
use super::coerce::concrete;
use super::object::Target;
use super::row::with_columns;
use super::scope::same_name;
use crate::optimizer::indexed::follows;
use crate::parser::ast::{self, ExprKind, Pos};
use crate::plan::{self, ColumnId, Expr, IndexedColumn, ScanColumn};
use inlay_catalog::{ColumnSchema, SYSTEM, TableEntry, TableSchema, qualified, schema_of};
use inlay_kernels::function::Volatility;
use inlay_storage::store::{DefinitionKind, IndexKind};
use inlay_storage::{IndexedExpression, Origin};
use inlay_types::{Error, LogicalType, Result};

/// Those of a scan's columns that SQL sees.
pub(super) fn visible_columns(
    schema: &TableSchema,
    columns: Vec<(String, ColumnId)>,
) -> Vec<(String, ColumnId)> {
    let columns = columns.into_iter().zip(&schema.columns);
    columns.filter(|(_, column)| !column.is_hidden()).map(|(named, _)| named).collect()
}

impl Binder<'_> {
    pub(super) fn create_index(&mut self, create: &ast::CreateIndex) -> Result<plan::Statement> {
        let Target { database, entry } = self.table_or_materialized(&create.table)?;
        let mut schema = entry.table.schema().clone();
        let condition = match &create.filter {
            None => None,
            Some((condition, text)) => {
                let bound = self.row_expr(&schema, condition, "the WHERE of an index")?;
                let bound = self.boolean(bound, condition.pos, "WHERE")?;
                self.check_indexable(condition, &bound)?;
                Some(text.clone())
            }
        };
        let mut positions = Vec::with_capacity(create.columns.len());
        let mut added = Vec::new();
        for (key, text) in &create.columns {
            // `(s.f)` is a column of the table `s`, or a field of the column `s`.
            let is_column = |parts: &[ast::Ident]| match parts {
                [.., table, _] => same_name(&table.value, create.table.last()),
                _ => true,
            };
            if let ExprKind::Column(parts) = &key.kind
                && is_column(parts)
            {
                let [.., name] = parts.as_slice() else {
                    return Err(Error::internal("a column without a name"));
                };
                let position = self.column_index(&schema, name, &create.table)?;
                self.check_key_types(&schema, &[position], key.pos)?;
                if create.kind == IndexKind::Bitmap {
                    entry.table.check_value_index(position).map_err(|error| self.at(error, key.pos))?;
                }
                // NULL in one column of a key takes a row out.
                if condition.is_none() || !positions.is_empty() {
                    positions.push(position);
                    continue;
                }
            }
            if create.kind == IndexKind::Bitmap {
                let feature = "an expression in a bitmap index".to_string();
                let alternative = Some("make it a generated column, or an index USING art".to_string());
                return Err(self.at(Error::Unsupported { feature, alternative }, key.pos));
            }
            let indexed = IndexedExpression { expression: text.clone(), condition: condition.clone() };
            let column = self.indexed_column(&schema, key, indexed)?;
            let known = schema.columns.iter().position(|known| known.origin == column.origin);
            positions.push(known.unwrap_or(schema.columns.len()));
            if known.is_none() {
                schema.columns.push(column.clone());
                added.push(column);
            }
        }
        let generated = self.generated(&database, &schema)?;
        let old = schema.columns.len() - added.len();
        let values = generated.into_iter().filter(|(index, _)| *index >= old).map(|(_, value)| value);
        let added = added.into_iter().zip(values).collect();
        let name = create.name.as_ref().map_or_else(
            || format!("{}_idx", entry.name),
            |name| qualified(schema_of(&entry.name), name.last()),
        );
        Ok(plan::Statement::CreateIndex(Box::new(plan::statement::CreateIndex {
            database,
            name,
            table: entry,
            columns: positions,
            added,
            unique: create.unique,
            kind: create.kind,
            if_not_exists: create.if_not_exists,
        })))
    }

    /// The hidden column of an expression.
    fn indexed_column(
        &mut self,
        schema: &TableSchema,
        key: &ast::Expr,
        indexed: IndexedExpression,
    ) -> Result<ColumnSchema> {
        let bound = self.row_expr(schema, key, "an index")?;
        self.check_indexable(key, &bound)?;
        let ty = concrete(bound.ty());
        if ty.is_nested() {
            let feature = format!("an index on an expression of type {ty}");
            let alternative = Some("index the part of it that rows are found by".to_string());
            return Err(self.at(Error::Unsupported { feature, alternative }, key.pos));
        }
        let origin = Origin::Indexed(indexed.clone());
        Ok(ColumnSchema { origin, ..ColumnSchema::new(indexed.name(), ty) })
    }

    /// Fails if the value of an expression is not the same in every session and at all times.
    fn check_indexable(&self, written: &ast::Expr, bound: &Expr) -> Result<()> {
        let because = match changing_part(bound, false).or_else(|| self.macro_in(written)) {
            Some(because) => because,
            None => return Ok(()),
        };
        let message = "an index needs an expression whose value never changes";
        let hint = because.to_string();
        Err(self.at(Error::bind(message).with_hint(hint), written.pos))
    }

    /// A macro of users that an expression calls: it may be replaced.
    fn macro_in(&self, written: &ast::Expr) -> Option<String> {
        if let ExprKind::Function(call) = &written.kind {
            let found = self.context.catalog.definition(DefinitionKind::Macro, None, &call.name.value);
            if found.is_some_and(|(home, _)| home != SYSTEM) {
                return Some(format!("macro {} may be replaced: write what it stands for", call.name.value));
            }
        }
        written.children().into_iter().find_map(|child| self.macro_in(child))
    }

    /// Fails where settings of the session would make a hidden column other than those of others make it.
    pub(super) fn check_indexed_settings(&self, column: &ColumnSchema) -> Result<()> {
        let Origin::Indexed(indexed) = &column.origin else { return Ok(()) };
        let divides = |text: &String| text.contains('/');
        let is_affected = self.context.options.integer_division
            && (divides(&indexed.expression) || indexed.condition.as_ref().is_some_and(divides));
        if !is_affected {
            return Ok(());
        }
        let message =
            format!("the index on {} divides, and integer_division makes that something else", column.name);
        let hint = "SET integer_division = false";
        Err(Error::bind(message).with_hint(hint))
    }

    /// Notes which columns of a scan hold which expressions over others.
    pub(super) fn note_indexed(&mut self, schema: &TableSchema, columns: &[ScanColumn]) {
        if !schema.columns.iter().any(ColumnSchema::is_hidden) {
            return;
        }
        // As in views: the text sees nothing of where the table is named.
        let macros = std::mem::take(&mut self.macros);
        let frames = std::mem::take(&mut self.aggregate_frames);
        for (position, column) in schema.columns.iter().enumerate() {
            if let Ok(Some((expr, condition))) = self.indexed_expression(schema, column) {
                let placed = |expr: Expr| {
                    with_columns(expr, |index| columns.get(index).map(|column| self.columns.expr(column.id)))
                };
                let indexed = IndexedColumn {
                    id: columns[position].id,
                    ty: column.ty.clone(),
                    expr: placed(expr),
                    condition: condition.map(placed),
                };
                self.columns.add_indexed(indexed);
            }
        }
        self.macros = macros;
        self.aggregate_frames = frames;
    }

    /// The unique index that ON CONFLICT names by its columns and expressions, and by a filter that implies its condition.
    pub(super) fn conflict_index(
        &mut self,
        table: &TableEntry,
        keys: &[Vec<usize>],
        written: &[ast::Expr],
        filter: Option<&ast::Expr>,
        pos: Pos,
    ) -> Result<Vec<usize>> {
        let schema = table.table.schema();
        let mut wanted = Vec::with_capacity(written.len());
        for key in written {
            wanted.push(self.row_expr(schema, key, "ON CONFLICT")?);
        }
        let mut known = Expr::boolean(true);
        if let Some(filter) = filter {
            let bound = self.row_expr(schema, filter, "the WHERE of ON CONFLICT")?;
            known = self.boolean(bound, filter.pos, "WHERE")?;
        }
        for key in keys {
            if self.is_conflict_index(schema, key, &wanted, &known)? {
                return Ok(key.clone());
            }
        }
        let message = format!(
            "table \"{}\" has no unique index on these keys{}",
            table.name,
            if filter.is_some() { " whose condition follows from this WHERE" } else { "" }
        );
        let hint = "CREATE UNIQUE INDEX makes one";
        Err(self.at(Error::bind(message).with_hint(hint), written.first().map_or(pos, |key| key.pos)))
    }

    fn is_conflict_index(
        &mut self,
        schema: &TableSchema,
        key: &[usize],
        wanted: &[Expr],
        known: &Expr,
    ) -> Result<bool> {
        let mut left: Vec<&Expr> = wanted.iter().collect();
        for &position in key {
            let column = &schema.columns[position];
            let plain = Expr::Column { id: ColumnId(position as u32), ty: column.ty.clone() };
            let (expr, condition) = match self.indexed_expression(schema, column)? {
                Some(found) => found,
                None => (plain, None),
            };
            let holds = condition.is_none_or(|needed| follows(needed, known.clone()));
            let Some(place) = left.iter().position(|wanted| **wanted == expr).filter(|_| holds) else {
                return Ok(false);
            };
            left.remove(place);
        }
        Ok(left.is_empty())
    }

    /// What a hidden column is computed by, over the columns of the table; without it the index is not used.
    fn indexed_expression(
        &mut self,
        schema: &TableSchema,
        column: &ColumnSchema,
    ) -> Result<Option<(Expr, Option<Expr>)>> {
        let Origin::Indexed(indexed) = &column.origin else { return Ok(None) };
        self.check_indexed_settings(column)?;
        let database = self.current_database();
        let mut bind = |text: &str| {
            self.stored(&database, text, |binder, expr| binder.row_expr(schema, expr, "an index"))
        };
        let expr = bind(&indexed.expression)?;
        let condition = indexed.condition.as_deref().map(bind).transpose()?;
        Ok(Some((expr, condition)).filter(|(expr, _)| expr.ty() == column.ty))
    }
}

/// Why the value of an expression is not the same at all times; functions of the host that say that they are, are trusted or not.
pub(super) fn changing_part(expr: &Expr, trusts_host: bool) -> Option<String> {
    let has_zone = |ty: &LogicalType| matches!(ty, LogicalType::TimestampTz | LogicalType::TimeTz);
    let zone = || Some("this one depends on the time zone of the session".to_string());
    match expr {
        Expr::Call { function, .. } if !trusts_host && function.external.is_some() => {
            return Some(format!("function {} may be replaced", function.name));
        }
        Expr::Call { function, .. }
            if function.volatility != Volatility::Immutable
                && !(trusts_host
                    && function.external.is_some()
                    && function.volatility != Volatility::Volatile) =>
        {
            return Some(format!("{} is not the same at each call", function.name));
        }
        Expr::Call { function, args, .. }
            if has_zone(&function.return_type) || args.iter().any(|arg| has_zone(&arg.ty())) =>
        {
            return zone();
        }
        Expr::Cast { input, ty, .. } if has_zone(ty) || has_zone(&input.ty()) => return zone(),
        Expr::Lambda(lambda) => {
            if let Some(found) = changing_part(&lambda.body, trusts_host) {
                return Some(found);
            }
        }
        _ => {}
    }
    expr.children().into_iter().find_map(|child| changing_part(child, trusts_host))
}

//! INSERT, UPDATE, DELETE and TRUNCATE.

use super::indexed::visible_columns;
use super::object::{Home, Target};
use super::row::{Rows, positions_read, with_columns};
use super::scope::{Phase, Relation, RelationColumn, Scope, same_name};
use super::subquery::{attach, combine, filter};
use super::{Binder, Bound, Output};
use crate::parser::ast::{
    self, ConflictAction, ConflictTarget, ExprKind, Ident, ObjectName, Overriding, Pos, QueryBody,
};
use crate::plan::statement::{ConflictUpdate, OnConflict, Returning};
use crate::plan::{self, AggregateExpr, ColumnId, Expr, JoinKind, Plan};
use inlay_catalog::rights::Privilege;
use inlay_catalog::{SourceColumn, TableEntry, TableSchema, bare_name};
use inlay_functions::registry::resolve_aggregate;
use inlay_kernels::cast::{loses, lost_field};
use inlay_kernels::resolve::ArgType;
use inlay_storage::{Deferral, Origin};
use inlay_types::{Error, LogicalType, Result};
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Columns that INSERT without a column list gives: all that are not generated.
pub(super) fn insertable(schema: &TableSchema) -> Vec<usize> {
    let given = |&index: &usize| schema.columns[index].origin.computation().is_none();
    (0..schema.columns.len()).filter(given).collect()
}

/// Rows for all columns, as dumps of PostgreSQL have them, without the DEFAULTs in the places of generated ones.
fn without_defaults<'a>(schema: &TableSchema, rows: &'a [Vec<ast::Expr>]) -> Cow<'a, [Vec<ast::Expr>]> {
    let is_generated: Vec<bool> =
        schema.visible().map(|(_, column)| column.origin.computation().is_some()).collect();
    let is_whole = |row: &Vec<ast::Expr>| {
        row.len() == is_generated.len()
            && row.iter().zip(&is_generated).all(|(value, &made)| !made || value.kind == ExprKind::Default)
    };
    if !is_generated.contains(&true) || !rows.iter().all(is_whole) {
        return Cow::Borrowed(rows);
    }
    let given = |row: &Vec<ast::Expr>| {
        row.iter().zip(&is_generated).filter(|(_, made)| !**made).map(|(value, _)| value.clone()).collect()
    };
    Cow::Owned(rows.iter().map(given).collect())
}

impl Binder<'_> {
    pub(super) fn insert(&mut self, insert: &ast::Insert) -> Result<plan::Statement> {
        let Target { database, entry: table } = self.table(&insert.table)?;
        self.aim_at(&database, &table, insert.table.pos())?;
        let schema = table.table.schema();
        let name = insert.alias.as_ref().map_or(bare_name(&table.name), |alias| alias.value.as_str());
        let home = insert.alias.is_none().then(|| Home::of(&database, &table.name));
        let checks = self.checks(&database, schema)?;
        let mut targets = self.column_indexes(schema, &insert.columns, &insert.table)?;
        if insert.columns.is_empty() && insert.source.is_some() {
            targets = insertable(schema);
        }
        if insert.by_name && !insert.columns.is_empty() {
            let error = Error::bind("INSERT BY NAME takes its columns from the query")
                .with_hint("leave the list out");
            return Err(self.at(error, insert.columns[0].pos));
        }
        if !insert.by_name {
            let place = |place: usize| insert.columns.get(place).map_or(insert.table.pos(), |name| name.pos);
            self.ask_target(Privilege::Insert, schema, &targets, place)?;
        }
        let on_conflict = match &insert.on_conflict {
            None => OnConflict::Fail,
            Some(conflict) => self.on_conflict(conflict, &database, &table, name, &targets)?,
        };
        let returning = match &insert.returning {
            None => None,
            Some(items) => Some(self.returning(items, (name, home), schema, false)?),
        };
        let bound = self.insert_source(insert, &database, &table, targets)?;
        Ok(plan::Statement::Insert(Box::new(plan::statement::Insert {
            query: self.finish(bound)?,
            database,
            on_conflict,
            checks,
            returning,
            table,
        })))
    }

    fn insert_source(
        &mut self,
        insert: &ast::Insert,
        database: &str,
        table: &TableEntry,
        mut targets: Vec<usize>,
    ) -> Result<Bound> {
        let schema = table.table.schema();
        let (pos, overriding) = (insert.table.pos(), insert.overriding);
        match insert.source.as_deref() {
            None => self.insert_rows(database, table, &[], None, &[Vec::new()], pos),
            Some(ast::Query {
                body: QueryBody::Values { rows, .. },
                ctes,
                limit: None,
                offset: None,
                order_by,
                ..
            }) if !insert.by_name
                && ctes.is_empty()
                && matches!(order_by, ast::OrderBy::Items(items) if items.is_empty()) =>
            {
                let rows = match insert.columns.is_empty() {
                    true => without_defaults(schema, rows),
                    false => Cow::Borrowed(&**rows),
                };
                self.insert_rows(database, table, &targets, overriding, &rows, pos)
            }
            Some(query) => {
                let mut source = self.query(query)?;
                if insert.by_name {
                    let names = source.output.iter().map(|column| Ident { value: column.name.clone(), pos });
                    let names: Vec<Ident> = names.collect();
                    targets = self.column_indexes(schema, &names, &insert.table)?;
                    self.ask_target(Privilege::Insert, schema, &targets, |_| pos)?;
                }
                self.check_width(table, targets.len(), source.output.len(), pos)?;
                // Values that OVERRIDING USER VALUE passes over are taken out of the source.
                let mut kept = Vec::with_capacity(targets.len());
                let mut output = Vec::with_capacity(targets.len());
                for (target, column) in targets.into_iter().zip(source.output) {
                    if self.takes_value(schema, target, overriding, pos)? {
                        kept.push(target);
                        output.push(column);
                    }
                }
                source.output = output;
                self.insert_query(database, table, &kept, source, pos)
            }
        }
    }

    /// Whether a value that is given for a column is taken; generated columns take none.
    fn takes_value(
        &self,
        schema: &TableSchema,
        index: usize,
        overriding: Option<Overriding>,
        pos: Pos,
    ) -> Result<bool> {
        let column = &schema.columns[index];
        match (&column.origin, overriding) {
            (Origin::Computed(_) | Origin::Indexed(_), _) => {
                let message =
                    format!("column \"{}\" is generated: only DEFAULT can be its value", column.name);
                Err(self.at(Error::bind(message), pos))
            }
            (Origin::IdentityAlways, None) => {
                let message = format!("column \"{}\" is GENERATED ALWAYS AS IDENTITY", column.name);
                let hint = "OVERRIDING SYSTEM VALUE takes given values";
                Err(self.at(Error::bind(message).with_hint(hint), pos))
            }
            (Origin::IdentityAlways | Origin::IdentityByDefault, Some(Overriding::User)) => Ok(false),
            _ => Ok(true),
        }
    }

    /// Positions of columns in a table, each named once.
    pub(super) fn column_indexes(
        &self,
        schema: &TableSchema,
        names: &[Ident],
        table: &ObjectName,
    ) -> Result<Vec<usize>> {
        let mut indexes = Vec::with_capacity(names.len());
        for name in names {
            let index = self.column_index(schema, name, table)?;
            if indexes.contains(&index) {
                return Err(
                    self.at(Error::bind(format!("column \"{}\" is named twice", name.value)), name.pos)
                );
            }
            indexes.push(index);
        }
        Ok(indexes)
    }

    fn check_width(&self, table: &TableEntry, wanted: usize, found: usize, pos: Pos) -> Result<()> {
        if wanted == found {
            return Ok(());
        }
        let message = format!("table \"{}\" takes {wanted} values here, {found} are given", table.name);
        Err(self.at(Error::bind(message), pos))
    }

    /// VALUES go straight to the table's types; DEFAULT is possible.
    fn insert_rows(
        &mut self,
        database: &str,
        table: &TableEntry,
        targets: &[usize],
        overriding: Option<Overriding>,
        rows: &[Vec<ast::Expr>],
        pos: Pos,
    ) -> Result<Bound> {
        let schema = table.table.schema();
        if let Some(constants) = super::constants::constant_rows(rows) {
            self.check_width(table, targets.len(), constants.width(), constants.pos(0))?;
            let (mut kept, mut places) = (Vec::new(), Vec::with_capacity(targets.len()));
            for (index, &target) in targets.iter().enumerate() {
                let takes = self.takes_value(schema, target, overriding, constants.pos(index))?;
                let column = &schema.columns[target];
                let place = SourceColumn { name: column.name.clone(), ty: column.ty.clone() };
                places.push(takes.then_some(place));
                kept.extend(takes.then_some(target));
            }
            let source = self.insert_constants(&places, constants)?;
            return self.insert_query(database, table, &kept, source, pos);
        }
        let mut bound_rows = Vec::with_capacity(rows.len());
        let mut all_pending = Vec::new();
        for row in rows {
            self.check_width(table, targets.len(), row.len(), row.first().map_or(pos, |first| first.pos))?;
            let mut values: Vec<Option<Expr>> = vec![None; schema.columns.len()];
            for (&target, written) in targets.iter().zip(row) {
                if written.kind == ExprKind::Default
                    || !self.takes_value(schema, target, overriding, written.pos)?
                {
                    continue;
                }
                let (value, pending) = self.isolated(|binder| binder.expr(written))?;
                all_pending.extend(pending);
                values[target] =
                    Some(self.assigned(value, schema.columns[target].ty.clone(), written.pos)?);
            }
            let mut complete = Vec::with_capacity(values.len());
            for (value, column) in values.into_iter().zip(&schema.columns) {
                complete.push(match value {
                    Some(value) => value,
                    None => self.default_of(database, column)?,
                });
            }
            bound_rows.push(complete);
        }
        let output: Vec<Output> = schema
            .columns
            .iter()
            .map(|column| Output {
                id: self.columns.add(column.name.clone(), column.ty.clone()),
                name: column.name.clone(),
            })
            .collect();
        let columns: Vec<ColumnId> = output.iter().map(|column| column.id).collect();
        if all_pending.is_empty() {
            let bound = Bound { plan: Plan::Values { columns, rows: bound_rows }, output };
            return self.compute_generated(database, schema, bound);
        }
        let [row] = &mut bound_rows[..] else {
            return Err(self.at(Error::unsupported("a subquery in VALUES of several rows"), pos));
        };
        let items = columns.into_iter().zip(std::mem::take(row)).collect();
        let input = attach(Plan::single_row(), all_pending, &self.columns);
        let bound = Bound { plan: Plan::Project { input: Box::new(input), items }, output };
        self.compute_generated(database, schema, bound)
    }

    /// A value on its way into a column: any conversion that CAST knows, but that a text becomes the number that it is and
    /// that a struct loses no field.
    pub(super) fn assigned(&self, value: Expr, ty: LogicalType, pos: Pos) -> Result<Expr> {
        if let Some(field) = lost_field(&value.ty(), &ty) {
            return Err(self.at(loses(&field, &ty), pos));
        }
        self.stored_value(value, ty, pos)
    }

    /// Like [`Self::assigned`], for a default that was written when the column had other fields.
    pub(super) fn stored_value(&self, value: Expr, ty: LogicalType, pos: Pos) -> Result<Expr> {
        if let Some(slot) = self.assigned_slot(&value, &ty)? {
            return Ok(slot);
        }
        if matches!(value, Expr::Literal { .. }) || value.ty() == LogicalType::Varchar && ty.is_integer() {
            self.cast_to(value, ty, pos)
        } else {
            self.explicit_cast(self.unrounded(value, &ty, pos), ty, false, pos)
        }
    }

    pub(super) fn insert_query(
        &mut self,
        database: &str,
        table: &TableEntry,
        targets: &[usize],
        source: Bound,
        pos: Pos,
    ) -> Result<Bound> {
        self.check_width(table, targets.len(), source.output.len(), pos)?;
        let schema = table.table.schema();
        let mut items: Vec<(ColumnId, Expr)> = Vec::with_capacity(schema.columns.len());
        let mut output = Vec::with_capacity(schema.columns.len());
        for (index, column) in schema.columns.iter().enumerate() {
            let value = match targets.iter().position(|&target| target == index) {
                Some(position) => {
                    self.assigned(self.column(source.output[position].id), column.ty.clone(), pos)?
                }
                None => self.default_of(database, column)?,
            };
            let id = match &value {
                Expr::Column { id, .. } => *id,
                _ => self.columns.add(column.name.clone(), column.ty.clone()),
            };
            output.push(Output { id, name: column.name.clone() });
            if !items.iter().any(|(known, _)| *known == id) {
                items.push((id, value));
            }
        }
        let is_plain = items.iter().all(|(_, expr)| matches!(expr, Expr::Column { .. }));
        let plan = if is_plain { source.plan } else { Plan::Project { input: Box::new(source.plan), items } };
        self.compute_generated(database, schema, Bound { plan, output })
    }

    /// Puts the values of generated columns in their places.
    fn compute_generated(&mut self, database: &str, schema: &TableSchema, bound: Bound) -> Result<Bound> {
        let generated = self.generated(database, schema)?;
        if generated.is_empty() {
            return Ok(bound);
        }
        let mut output = bound.output;
        let given: Vec<ColumnId> = output.iter().map(|column| column.id).collect();
        let mut items: Vec<(ColumnId, Expr)> = Vec::with_capacity(output.len());
        let computed: HashMap<usize, &Expr> =
            generated.iter().map(|(position, value)| (*position, value)).collect();
        let mut made = HashSet::new();
        for (index, column) in output.iter_mut().enumerate() {
            let value = match computed.get(&index).copied() {
                Some(value) => {
                    column.id = self.columns.add(column.name.clone(), value.ty());
                    with_columns(value.clone(), |position| Some(self.column(given[position])))
                }
                None => self.column(column.id),
            };
            if made.insert(column.id) {
                items.push((column.id, value));
            }
        }
        Ok(Bound { plan: bound.plan.project(items), output })
    }

    fn on_conflict(
        &mut self,
        conflict: &ast::OnConflict,
        database: &str,
        table: &TableEntry,
        name: &str,
        targets: &[usize],
    ) -> Result<OnConflict> {
        let schema = table.table.schema();
        let key = self.conflict_key(conflict, database, table)?;
        let is_left = |key: &Vec<usize>| schema.deferral(key) != Deferral::Never;
        if key.as_ref().map_or(!schema.deferrable_keys.is_empty(), is_left) {
            let message =
                format!("ON CONFLICT cannot look for the DEFERRABLE key of table \"{}\"", table.name);
            return Err(self.at(Error::bind(message), conflict.pos));
        }
        let (set, values, filter) = match &conflict.action {
            ConflictAction::Nothing => return Ok(OnConflict::Nothing { key }),
            ConflictAction::Replace => {
                let count = schema.columns.len();
                let key = key.as_deref().unwrap_or_default();
                let set: Vec<usize> = targets.iter().copied().filter(|index| !key.contains(index)).collect();
                self.ask_target(Privilege::Update, schema, &set, |_| conflict.pos)?;
                let excluded = |&index: &usize| Expr::Column {
                    id: ColumnId((count + index) as u32),
                    ty: schema.columns[index].ty.clone(),
                };
                let values = set.iter().map(excluded).collect();
                (set, values, None)
            }
            ConflictAction::Update { assignments, filter } => {
                let excluded = Rows { qualified_only: true, ..Rows::of("excluded", schema) };
                let home = same_name(name, bare_name(&table.name)).then(|| Home::of(database, &table.name));
                let rows = vec![Rows { home, is_target: true, ..Rows::of(name, schema) }, excluded];
                self.over_rows(rows, "ON CONFLICT", conflict.pos, |binder, positions| {
                    let (mut set, mut values) = (Vec::new(), Vec::new());
                    for (column, written) in assignments {
                        let table = Ident { value: schema.name.clone(), pos: column.pos };
                        let table = ObjectName { parts: vec![table], is_string: false };
                        let index = binder.assigned_column(schema, column, &table, &set, written)?;
                        binder.ask_target(Privilege::Update, schema, &[index], |_| column.pos)?;
                        let value = binder.assigned_value(database, schema, index, written)?;
                        set.push(index);
                        values.push(positions.apply(value));
                    }
                    let filter = match filter {
                        None => None,
                        Some(filter) => Some(positions.apply(binder.condition(filter, "WHERE")?)),
                    };
                    Ok((set, values, filter))
                })?
            }
        };
        let (mut set, mut values): (Vec<usize>, Vec<Expr>) = (set, values);
        if set.is_empty() {
            return Ok(OnConflict::Nothing { key });
        }
        let unchanged =
            |index: usize| Expr::Column { id: ColumnId(index as u32), ty: schema.columns[index].ty.clone() };
        self.extend_by_generated(database, schema, &mut set, &mut values, unchanged)?;
        let key = key.ok_or_else(|| Error::internal("a conflict without a key"))?;
        Ok(OnConflict::Update(ConflictUpdate { key, set, values, filter }))
    }

    /// The key whose conflicts are meant; `None`: every key.
    fn conflict_key(
        &mut self,
        conflict: &ast::OnConflict,
        database: &str,
        table: &TableEntry,
    ) -> Result<Option<Vec<usize>>> {
        let schema = table.table.schema();
        let keys = self.context.catalog.unique_keys(database, table);
        match &conflict.target {
            ConflictTarget::Columns(names) => {
                let written = ObjectName {
                    parts: vec![Ident { value: table.name.clone(), pos: conflict.pos }],
                    is_string: false,
                };
                let mut wanted = self.column_indexes(schema, names, &written)?;
                wanted.sort_unstable();
                let found = keys.into_iter().find(|key| {
                    let mut key = key.clone();
                    key.sort_unstable();
                    key == wanted
                });
                if found.is_some() {
                    return Ok(found);
                }
                let shown = names.iter().map(|name| name.value.as_str()).collect::<Vec<_>>().join(", ");
                let message = format!(
                    "table \"{}\" has no PRIMARY KEY, UNIQUE constraint or index on ({shown})",
                    table.name
                );
                Err(self.at(Error::bind(message), names.first().map_or(conflict.pos, |name| name.pos)))
            }
            ConflictTarget::Index { keys: written, filter } => {
                self.conflict_index(table, &keys, written, filter.as_ref(), conflict.pos).map(Some)
            }
            ConflictTarget::Constraint(name) => {
                let named: Vec<(String, Vec<usize>)> =
                    keys.into_iter().map(|key| (super::define::key_name(schema, &key), key)).collect();
                match named.iter().find(|(known, _)| same_name(known, &name.value)) {
                    Some((_, key)) => Ok(Some(key.clone())),
                    None => {
                        let known: Vec<String> = named.into_iter().map(|(known, _)| known).collect();
                        Err(self.undefined_constraint(&table.name, name, &known))
                    }
                }
            }
            ConflictTarget::Any if conflict.action == ConflictAction::Nothing => Ok(None),
            ConflictTarget::Any => match <[Vec<usize>; 1]>::try_from(keys) {
                Ok([only]) => Ok(Some(only)),
                Err(keys) => {
                    let message = if keys.is_empty() {
                        format!(
                            "table \"{}\" has no PRIMARY KEY or UNIQUE constraint to conflict with",
                            table.name
                        )
                    } else {
                        format!(
                            "table \"{}\" has {} keys; say which: ON CONFLICT (columns)",
                            table.name,
                            keys.len()
                        )
                    };
                    Err(self.at(Error::bind(message), conflict.pos))
                }
            },
        }
    }

    /// The column that an assignment sets.
    pub(super) fn assigned_column(
        &self,
        schema: &TableSchema,
        column: &Ident,
        table: &ObjectName,
        set: &[usize],
        written: &ast::Expr,
    ) -> Result<usize> {
        let index = self.column_index(schema, column, table)?;
        if set.contains(&index) {
            let message = format!("column \"{}\" is set twice", column.value);
            return Err(self.at(Error::bind(message), column.pos));
        }
        let kind = match schema.columns[index].origin {
            Origin::Computed(_) | Origin::Indexed(_) => "is generated",
            Origin::IdentityAlways => "is GENERATED ALWAYS AS IDENTITY",
            Origin::Given | Origin::IdentityByDefault => return Ok(index),
        };
        if written.kind == ExprKind::Default {
            return Ok(index);
        }
        let message = format!("column \"{}\" {kind}: it can only be set to DEFAULT", column.value);
        Err(self.at(Error::bind(message), column.pos))
    }

    /// The value of an assignment, of the column's type. DEFAULT of a generated column is NULL here: what depends on
    /// changed columns is computed anyway.
    pub(super) fn assigned_value(
        &mut self,
        database: &str,
        schema: &TableSchema,
        index: usize,
        written: &ast::Expr,
    ) -> Result<Expr> {
        let column = &schema.columns[index];
        if written.kind == ExprKind::Default {
            return self.default_of(database, column);
        }
        let value = self.expr(written)?;
        self.assigned(value, column.ty.clone(), written.pos)
    }

    /// A scope in which the columns of the changed table are visible, and its scan with row ids.
    pub(super) fn open_target(
        &mut self,
        database: &str,
        table: &Arc<TableEntry>,
        alias: Option<&Ident>,
    ) -> Result<(Plan, ColumnId, Vec<ColumnId>)> {
        let row_id = self.columns.add("rowid", LogicalType::BigInt);
        let (plan, columns) = self.scan(table, Some(row_id));
        let ids = columns.iter().map(|(_, id)| *id).collect();
        let name = alias.map_or_else(|| bare_name(&table.name).to_string(), |alias| alias.value.clone());
        let columns = visible_columns(table.table.schema(), columns);
        let columns = columns.into_iter().map(|(name, id)| RelationColumn::new(name, id)).collect();
        let mut scope = Scope::new();
        let mut relation = Relation::new(name, columns, Some(row_id));
        relation.home = alias.is_none().then(|| Home::of(database, &table.name));
        scope.relations.push(relation);
        self.guard_aim(&mut scope, 0)?;
        self.scopes.push(scope);
        Ok((plan, row_id, ids))
    }

    fn returning_of(
        &mut self,
        items: Option<&Vec<ast::SelectItem>>,
        database: &str,
        table: &TableEntry,
        alias: Option<&Ident>,
    ) -> Result<Option<Returning>> {
        let name = alias.map_or(bare_name(&table.name), |alias| alias.value.as_str());
        let home = alias.is_none().then(|| Home::of(database, &table.name));
        let bound = items.map(|items| self.returning(items, (name, home), table.table.schema(), false));
        bound.transpose().map_err(|error| {
            let of_others = error.sqlstate() == "42P01";
            let hint = "RETURNING has the columns of the changed table, not of USING or FROM";
            if of_others { error.with_hint(hint) } else { error }
        })
    }

    pub(super) fn delete(&mut self, delete: &ast::Delete) -> Result<plan::Statement> {
        let Target { database, entry: table } = self.table(&delete.table)?;
        self.aim_at(&database, &table, delete.table.pos())?;
        self.ask_target(Privilege::Delete, table.table.schema(), &[], |_| delete.table.pos())?;
        let returning =
            self.returning_of(delete.returning.as_ref(), &database, &table, delete.alias.as_ref())?;
        let (mut plan, row_id, ids) = self.open_target(&database, &table, delete.alias.as_ref())?;
        if delete.using.is_empty() {
            if let Some(condition) = &delete.filter {
                plan = self.filtered(plan, condition, Phase::Where, "WHERE")?;
            }
        } else {
            let other = self.from(&delete.using)?;
            let mut conditions = Vec::new();
            let mut pending = Vec::new();
            if let Some(condition) = &delete.filter {
                let (bound, left) =
                    self.in_phase(Phase::Where, |binder| binder.condition(condition, "WHERE"))?;
                conditions.push(bound);
                pending = left;
            }
            plan = if pending.is_empty() {
                combine(JoinKind::Semi, plan, other, conditions)
            } else {
                combine(
                    JoinKind::Semi,
                    plan,
                    filter(attach(other, pending, &self.columns), conditions),
                    Vec::new(),
                )
            };
        }
        self.scopes.pop();
        let schema = table.table.schema();
        let mut kept = read_by(returning.as_ref());
        for (referring, index) in self.referring(&database, &table.name) {
            let names = &referring.table.schema().foreign_keys[index].referenced;
            kept.extend(names.iter().filter_map(|name| schema.position(name)));
        }
        kept.sort_unstable();
        kept.dedup();
        let mut output = vec![Output { id: row_id, name: "rowid".into() }];
        let column = |&index: &usize| Output { id: ids[index], name: schema.columns[index].name.clone() };
        output.extend(kept.iter().map(column));
        Ok(plan::Statement::Delete(Box::new(plan::statement::Delete {
            database,
            query: self.finish(Bound { plan, output })?,
            kept,
            returning,
            table: Arc::clone(&table),
        })))
    }

    pub(super) fn update(&mut self, update: &ast::Update) -> Result<plan::Statement> {
        let Target { database, entry: table } = self.table(&update.table)?;
        self.aim_at(&database, &table, update.table.pos())?;
        let schema = table.table.schema();
        let returning =
            self.returning_of(update.returning.as_ref(), &database, &table, update.alias.as_ref())?;
        let (mut plan, row_id, ids) = self.open_target(&database, &table, update.alias.as_ref())?;
        if !update.from.is_empty() {
            let other = self.from(&update.from)?;
            plan = combine(JoinKind::Inner, plan, other, Vec::new());
        }
        if let Some(condition) = &update.filter {
            plan = self.filtered(plan, condition, Phase::Where, "WHERE")?;
        }
        let mut set = Vec::with_capacity(update.assignments.len());
        let mut values = Vec::with_capacity(update.assignments.len());
        for (name, written) in &update.assignments {
            let index = self.assigned_column(schema, name, &update.table, &set, written)?;
            self.ask_target(Privilege::Update, schema, &[index], |_| name.pos)?;
            let (value, pending) = self
                .in_phase(Phase::Where, |binder| binder.assigned_value(&database, schema, index, written))?;
            plan = attach(plan, pending, &self.columns);
            set.push(index);
            values.push(value);
        }
        self.scopes.pop();
        let columns: Vec<Expr> = ids.iter().map(|id| self.column(*id)).collect();
        drop_computed(schema, &mut set, &mut values);
        self.extend_by_generated(&database, schema, &mut set, &mut values, |index| columns[index].clone())?;
        let mut checks = self.checks(&database, schema)?;
        checks.retain(|check| positions_read(&check.condition).iter().any(|index| set.contains(index)));
        let kept = kept_by_update(schema, &set, &checks, returning.as_ref());
        values.extend(kept.iter().map(|&index| columns[index].clone()));
        let made = set.iter().chain(&kept).zip(values);
        let made = made.map(|(&index, value)| {
            let column = &schema.columns[index];
            (self.columns.add(column.name.clone(), column.ty.clone()), value)
        });
        let made: Vec<(ColumnId, Expr)> = made.collect();
        let (plan, ids) = if update.from.is_empty() {
            let ids = std::iter::once(row_id).chain(made.iter().map(|(id, _)| *id)).collect();
            let items = std::iter::once((row_id, self.column(row_id))).chain(made).collect();
            (plan.project(items), ids)
        } else {
            self.one_match_each(plan, row_id, made)?
        };
        let output = |id: ColumnId| Output { id, name: self.columns.get(id).name.clone() };
        let output = Vec::from_iter(ids.into_iter().map(output));
        Ok(plan::Statement::Update(Box::new(plan::statement::Update {
            database,
            set,
            kept,
            query: self.finish(Bound { plan, output })?,
            checks,
            returning,
            table: Arc::clone(&table),
        })))
    }

    /// A row that several rows of FROM match is changed once, by one of them.
    fn one_match_each(
        &mut self,
        plan: Plan,
        row_id: ColumnId,
        values: Vec<(ColumnId, Expr)>,
    ) -> Result<(Plan, Vec<ColumnId>)> {
        let first = |(id, value): (ColumnId, Expr)| {
            let function = Arc::new(resolve_aggregate("first", &[ArgType::of(value.ty())])?);
            let args = vec![value];
            Ok((id, AggregateExpr { function, args, distinct: false, filter: None, order_by: Vec::new() }))
        };
        let aggregates = values.into_iter().map(first).collect::<Result<Vec<_>>>()?;
        let group = self.columns.copy_of(row_id);
        let ids = std::iter::once(group).chain(aggregates.iter().map(|(id, _)| *id)).collect();
        let groups = vec![(group, self.column(row_id))];
        Ok((Plan::Aggregate { input: Box::new(plan), groups, aggregates }, ids))
    }

    pub(super) fn truncate(
        &mut self,
        names: &[ObjectName],
        restart_identity: bool,
        cascade: bool,
    ) -> Result<plan::Statement> {
        let mut targets: Vec<Target> = Vec::with_capacity(names.len());
        for name in names {
            let target = self.table(name)?;
            if let Some(first) = targets.first().filter(|first| first.database != target.database) {
                let message = format!(
                    "TRUNCATE of tables of \"{}\" and \"{}\" at once",
                    first.database, target.database
                );
                return Err(self.at(Error::unsupported(message), name.pos()));
            }
            targets.push(target);
        }
        let Some(database) = targets.first().map(|target| target.database.clone()) else {
            return Err(Error::internal("TRUNCATE without a table"));
        };
        let mut tables: Vec<Arc<TableEntry>> = targets.into_iter().map(|target| target.entry).collect();
        let mut next = 0;
        while let Some(table) = tables.get(next).cloned() {
            for (referring, index) in self.referring(&database, &table.name) {
                if tables.iter().any(|known| same_name(&known.name, &referring.name)) {
                    continue;
                }
                if !cascade {
                    let key = &referring.table.schema().foreign_keys[index].name;
                    let message = format!(
                        "table \"{}\" is referred to by foreign key \"{key}\" of table \"{}\"",
                        table.name, referring.name
                    );
                    let hint = "TRUNCATE both, or write CASCADE";
                    let pos = names.get(next).or(names.first()).map_or(Pos::default(), ObjectName::pos);
                    return Err(self.at(Error::bind(message).with_hint(hint), pos));
                }
                tables.push(referring);
            }
            next += 1;
        }
        let mut restarted = Vec::new();
        if restart_identity {
            let owned = |owner: &str| tables.iter().any(|table| same_name(&table.name, owner));
            for sequence in self.context.catalog.sequences(&database) {
                let schema = sequence.schema();
                if schema.owner.as_ref().is_some_and(|(table, _)| owned(table)) {
                    restarted.push(schema.name);
                }
            }
        }
        Ok(plan::Statement::Truncate { database, tables, restarted })
    }
}

/// SET generated = DEFAULT says nothing that does not happen anyway.
fn drop_computed(schema: &TableSchema, set: &mut Vec<usize>, values: &mut Vec<Expr>) {
    let mut index = 0;
    while index < set.len() {
        if schema.columns[set[index]].origin.computation().is_some() {
            set.remove(index);
            values.remove(index);
        } else {
            index += 1;
        }
    }
}

fn read_by(returning: Option<&Returning>) -> Vec<usize> {
    let items = returning.into_iter().flat_map(|returning| &returning.items);
    items.flat_map(|(_, expr)| positions_read(expr)).collect()
}

/// Columns that stay and are read together with changed ones.
fn kept_by_update(
    schema: &TableSchema,
    set: &[usize],
    checks: &[plan::statement::BoundCheck],
    returning: Option<&Returning>,
) -> Vec<usize> {
    let mut kept = read_by(returning);
    kept.extend(checks.iter().flat_map(|check| positions_read(&check.condition)));
    let foreign = schema.foreign_keys.iter().map(|key| key.columns.clone());
    for key in schema.all_keys().into_iter().chain(foreign) {
        if key.iter().any(|index| set.contains(index)) {
            kept.extend(key);
        }
    }
    kept.sort_unstable();
    kept.dedup();
    kept.retain(|index| !set.contains(index));
    kept
}

//! Statements around queries: definitions, changes, settings.

use super::scope::{Phase, Relation, RelationColumn, Scope, same_name};
use super::subquery::{attach, combine, filter};
use super::{Binder, Bound, Output};
use crate::parser::ast::{
    self, ExprKind, Ident, ObjectKind, ObjectName, OnExisting, Pos, QueryBody, StatementKind,
};
use crate::parser::parse_statement;
use crate::plan::{self, AggregateExpr, ColumnId, Expr, JoinKind, Plan};
use inlay_catalog::{CatalogEntry, ColumnSchema, TableEntry, TableSchema, near_names};
use inlay_kernels::registry::{ArgType, resolve_aggregate};
use inlay_types::{Error, LogicalType, Result, Value};
use std::sync::Arc;

impl Binder<'_> {
    pub(super) fn statement(&mut self, statement: &ast::Statement) -> Result<plan::Statement> {
        use plan::Statement as S;
        Ok(match &statement.kind {
            StatementKind::Query(query) => {
                let bound = self.query(query)?;
                S::Query(self.finish(bound))
            }
            StatementKind::Explain { statement, analyze, format } => {
                let format = match format {
                    ast::ExplainFormat::Text => plan::statement::ExplainFormat::Text,
                    ast::ExplainFormat::Json => plan::statement::ExplainFormat::Json,
                };
                S::Explain { statement: Box::new(self.statement(statement)?), analyze: *analyze, format }
            }
            StatementKind::CreateTable(create) => self.create_table(create)?,
            StatementKind::CreateView(create) => self.create_view(create)?,
            StatementKind::CreateIndex { name, table, columns, unique, if_not_exists } => {
                self.create_index(name.as_ref(), table, columns, *unique, *if_not_exists)?
            }
            StatementKind::Drop { kind, names, if_exists } => self.drop(*kind, names, *if_exists)?,
            StatementKind::Insert(insert) => self.insert(insert)?,
            StatementKind::Update(update) => self.update(update)?,
            StatementKind::Delete(delete) => self.delete(delete)?,
            StatementKind::Copy(copy) => self.copy(copy)?,
            StatementKind::Call(call) => {
                let (args, named) = self.constant_arguments(call)?;
                S::Call { name: call.name.value.to_lowercase(), args, named }
            }
            StatementKind::Set { name, value } => {
                let value =
                    value.as_ref().map(|value| self.constant(value, "the value of a setting")).transpose()?;
                S::Set { name: name.value.to_lowercase(), value }
            }
            StatementKind::Pragma { name, arguments } => self.pragma(name, arguments)?,
            StatementKind::Begin => S::Begin,
            StatementKind::Commit => S::Commit,
            StatementKind::Rollback => S::Rollback,
            StatementKind::ShowTables => S::Query(self.show_tables()),
            StatementKind::Show { name } => S::Query(self.show(name)?),
            StatementKind::Describe(query) => S::Query(self.describe(query)?),
            StatementKind::Checkpoint => {
                S::Query(self.literal_rows(&[("Success", LogicalType::Boolean)], Vec::new()))
            }
        })
    }

    /// A result of constant rows.
    fn literal_rows(
        &mut self,
        columns: &[(&str, LogicalType)],
        rows: Vec<Vec<Value>>,
    ) -> plan::statement::Query {
        let output: Vec<Output> = columns
            .iter()
            .map(|(name, ty)| Output { id: self.columns.add(*name, *ty), name: (*name).to_string() })
            .collect();
        let literal = |(value, (_, ty)): (Value, &(&str, LogicalType))| Expr::Literal { value, ty: *ty };
        let rows = rows.into_iter().map(|row| row.into_iter().zip(columns).map(literal).collect()).collect();
        let plan = Plan::Values { columns: output.iter().map(|column| column.id).collect(), rows };
        self.finish(Bound { plan, output })
    }

    fn show_tables(&mut self) -> plan::statement::Query {
        let names = self.context.catalog.entries().into_iter().map(|(_, entry)| match entry {
            CatalogEntry::Table(table) => Some(table.name.clone()),
            CatalogEntry::View(view) => Some(view.name.clone()),
            CatalogEntry::Registered(_) => None,
        });
        let keys = self.context.catalog.entries().into_iter().map(|(key, _)| key);
        let rows = keys.zip(names).map(|(key, name)| vec![Value::Varchar(name.unwrap_or(key))]).collect();
        self.literal_rows(&[("name", LogicalType::Varchar)], rows)
    }

    /// `SHOW setting`; `SHOW table` describes it.
    fn show(&mut self, name: &Ident) -> Result<plan::statement::Query> {
        if let Some(value) = (self.context.setting)(&name.value.to_lowercase()) {
            let row = vec![Value::Varchar(value.to_string())];
            return Ok(self.literal_rows(&[(name.value.as_str(), LogicalType::Varchar)], vec![row]));
        }
        let table = ObjectName { parts: vec![name.clone()], is_string: false };
        self.describe(&star_query(table))
    }

    fn describe(&mut self, query: &ast::Query) -> Result<plan::statement::Query> {
        let bound = self.query(query)?;
        let text = |text: &str| Value::Varchar(text.to_string());
        let described = |column: &Output| {
            let ty = self.columns.ty(column.id).to_string();
            vec![text(&column.name), text(&ty), text("YES"), Value::Null, Value::Null, Value::Null]
        };
        let mut rows: Vec<Vec<Value>> = bound.output.iter().map(described).collect();
        if let Plan::Scan { table, .. } = &bound.plan {
            let schema = table.table.schema();
            for (row, (index, column)) in rows.iter_mut().zip(schema.columns.iter().enumerate()) {
                if column.not_null {
                    row[2] = text("NO");
                }
                if schema.is_unique(index) {
                    row[3] = text(if column.not_null { "PRI" } else { "UNI" });
                }
                row[4] = column.default.as_deref().map_or(Value::Null, text);
            }
        }
        let names = ["column_name", "column_type", "null", "key", "default", "extra"];
        self.shared.clear();
        Ok(self.literal_rows(&names.map(|name| (name, LogicalType::Varchar)), rows))
    }

    fn pragma(&mut self, name: &Ident, arguments: &[ast::Expr]) -> Result<plan::Statement> {
        let lower = name.value.to_lowercase();
        match (lower.as_str(), arguments) {
            ("show_tables", []) => Ok(plan::Statement::Query(self.show_tables())),
            ("table_info" | "show", [table]) => {
                let table_name = self.constant(table, "PRAGMA")?.to_string();
                let ident = Ident { value: table_name, pos: table.pos };
                let described = star_query(ObjectName { parts: vec![ident], is_string: false });
                Ok(plan::Statement::Query(self.describe(&described)?))
            }
            (_, []) => Ok(plan::Statement::Set { name: lower, value: Some(Value::Boolean(true)) }),
            (_, arguments) => {
                let args = arguments.iter().map(|argument| self.constant(argument, "PRAGMA"));
                Ok(plan::Statement::Call {
                    name: lower,
                    args: args.collect::<Result<_>>()?,
                    named: Vec::new(),
                })
            }
        }
    }

    fn create_table(&mut self, create: &ast::CreateTable) -> Result<plan::Statement> {
        self.check_schema(&create.name)?;
        let mut schema = TableSchema::new(create.name.last(), Vec::new());
        let mut query = None;
        if let Some(source) = &create.query {
            let bound = self.query(source)?;
            for (index, column) in bound.output.iter().enumerate() {
                let name = match create.columns.get(index) {
                    Some(given) => given.name.value.clone(),
                    None => column.name.clone(),
                };
                schema.columns.push(ColumnSchema::new(name, self.columns.ty(column.id)));
            }
            query = Some(self.finish(bound));
            unique_names(&mut schema);
        } else {
            for column in &create.columns {
                if schema.columns.iter().any(|known| same_name(&known.name, &column.name.value)) {
                    let error = Error::Duplicate { kind: "column", name: column.name.value.clone() };
                    return Err(self.at(error, column.name.pos));
                }
                let mut added = ColumnSchema::new(column.name.value.clone(), column.data_type);
                added.not_null = column.not_null;
                if let Some((expr, text)) = &column.default {
                    // Bound once here, so that a mistake shows at creation.
                    let value = self.isolated(|binder| binder.expr(expr))?.0;
                    self.explicit_cast(value, column.data_type, false)?;
                    added.default = Some(text.clone());
                }
                schema.columns.push(added);
            }
        }
        for constraint in &create.constraints {
            self.add_constraint(&mut schema, constraint, &create.name)?;
        }
        Ok(plan::Statement::CreateTable {
            schema,
            or_replace: create.on_existing == OnExisting::Replace,
            if_not_exists: create.on_existing == OnExisting::Keep,
            query,
        })
    }

    fn add_constraint(
        &self,
        schema: &mut TableSchema,
        constraint: &ast::TableConstraint,
        table: &ObjectName,
    ) -> Result<()> {
        let (names, is_primary) = match constraint {
            ast::TableConstraint::PrimaryKey(names) => (names, true),
            ast::TableConstraint::Unique(names) => (names, false),
            ast::TableConstraint::Check(condition, _) => {
                return Err(self.at(Error::unsupported("CHECK"), condition.pos));
            }
        };
        let mut key = Vec::with_capacity(names.len());
        for name in names {
            key.push(self.column_index(schema, name, table)?);
        }
        if is_primary {
            key.iter().for_each(|&index| schema.columns[index].not_null = true);
        }
        match key.as_slice() {
            [only] => schema.columns[*only].unique = true,
            _ => schema.keys.push(key),
        }
        Ok(())
    }

    /// Position of a column in a table, or the error with near names.
    fn column_index(&self, schema: &TableSchema, name: &Ident, table: &ObjectName) -> Result<usize> {
        let found = schema.columns.iter().position(|column| same_name(&column.name, &name.value));
        found.ok_or_else(|| {
            let candidates =
                near_names(&name.value, schema.columns.iter().map(|column| column.name.as_str()));
            self.at(
                Error::UndefinedColumn { name: format!("{}.{}", table.last(), name.value), candidates },
                name.pos,
            )
        })
    }

    fn create_view(&mut self, create: &ast::CreateView) -> Result<plan::Statement> {
        self.check_schema(&create.name)?;
        // Bound once here, so that a mistake shows at creation.
        let bound = self.query(&create.query)?;
        if let Some(surplus) = create.columns.get(bound.output.len()) {
            let (names, columns) = (create.columns.len(), bound.output.len());
            let message = format!("view \"{}\" has {columns} columns, {names} names are given", create.name);
            return Err(self.at(Error::bind(message), surplus.pos));
        }
        Ok(plan::Statement::CreateView {
            name: create.name.last().to_string(),
            aliases: create.columns.iter().map(|name| name.value.clone()).collect(),
            sql: create.query_text.clone(),
            or_replace: create.on_existing == OnExisting::Replace,
            if_not_exists: create.on_existing == OnExisting::Keep,
        })
    }

    fn create_index(
        &mut self,
        name: Option<&ObjectName>,
        table: &ObjectName,
        columns: &[ast::Expr],
        unique: bool,
        if_not_exists: bool,
    ) -> Result<plan::Statement> {
        let entry = self.table(table)?;
        let mut positions = Vec::with_capacity(columns.len());
        for column in columns {
            let ExprKind::Column(parts) = &column.kind else {
                return Err(self.at(Error::unsupported("an index on an expression"), column.pos));
            };
            let [.., column] = parts.as_slice() else {
                return Err(Error::internal("a column without a name"));
            };
            positions.push(self.column_index(entry.table.schema(), column, table)?);
        }
        let name = name.map_or_else(|| format!("{}_idx", entry.name), |name| name.last().to_string());
        Ok(plan::Statement::CreateIndex { name, table: entry, columns: positions, unique, if_not_exists })
    }

    fn drop(&mut self, kind: ObjectKind, names: &[ObjectName], if_exists: bool) -> Result<plan::Statement> {
        let [name] = names else {
            let pos = names.get(1).map_or(Pos::default(), ObjectName::pos);
            return Err(self.at(Error::unsupported("DROP of several things in one statement"), pos));
        };
        self.check_schema(name)?;
        let exists = self.context.catalog.get(name.last()).is_some();
        if !exists && !if_exists && kind != ObjectKind::Index {
            return Err(self.at(self.context.catalog.undefined(name.last()), name.pos()));
        }
        let name = name.last().to_string();
        Ok(match kind {
            ObjectKind::Table => plan::Statement::DropTable { name, if_exists },
            ObjectKind::View => plan::Statement::DropView { name, if_exists },
            ObjectKind::Index => plan::Statement::DropIndex { name, if_exists },
        })
    }

    /// The stored table a statement changes.
    fn table(&self, name: &ObjectName) -> Result<Arc<TableEntry>> {
        self.check_schema(name)?;
        self.placed(self.context.catalog.table(name.last()), name.pos())
    }

    fn insert(&mut self, insert: &ast::Insert) -> Result<plan::Statement> {
        let table = self.table(&insert.table)?;
        let schema = table.table.schema();
        let mut targets = Vec::with_capacity(schema.columns.len());
        for name in &insert.columns {
            let index = self.column_index(schema, name, &insert.table)?;
            if targets.contains(&index) {
                return Err(
                    self.at(Error::bind(format!("column \"{}\" is named twice", name.value)), name.pos)
                );
            }
            targets.push(index);
        }
        if insert.columns.is_empty() && insert.source.is_some() {
            targets = (0..schema.columns.len()).collect();
        }
        let pos = insert.table.pos();
        let bound = match insert.source.as_deref() {
            None => self.insert_rows(&table, &targets, &[Vec::new()], pos)?,
            Some(ast::Query {
                body: QueryBody::Values { rows, .. },
                ctes,
                limit: None,
                offset: None,
                order_by,
                ..
            }) if ctes.is_empty() && matches!(order_by, ast::OrderBy::Items(items) if items.is_empty()) => {
                self.insert_rows(&table, &targets, rows, pos)?
            }
            Some(query) => {
                let source = self.query(query)?;
                self.insert_query(&table, &targets, source, pos)?
            }
        };
        Ok(plan::Statement::Insert { query: self.finish(bound), table })
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
        table: &Arc<TableEntry>,
        targets: &[usize],
        rows: &[Vec<ast::Expr>],
        pos: Pos,
    ) -> Result<Bound> {
        let schema = table.table.schema();
        let mut bound_rows = Vec::with_capacity(rows.len());
        let mut all_pending = Vec::new();
        for row in rows {
            self.check_width(table, targets.len(), row.len(), row.first().map_or(pos, |first| first.pos))?;
            let mut values: Vec<Option<Expr>> = vec![None; schema.columns.len()];
            for (&target, written) in targets.iter().zip(row) {
                if written.kind == ExprKind::Default {
                    continue;
                }
                let (value, pending) = self.isolated(|binder| binder.expr(written))?;
                all_pending.extend(pending);
                values[target] = Some(self.assigned(value, schema.columns[target].ty, written.pos)?);
            }
            let mut complete = Vec::with_capacity(values.len());
            for (value, column) in values.into_iter().zip(&schema.columns) {
                complete.push(match value {
                    Some(value) => value,
                    None => self.default_of(column)?,
                });
            }
            bound_rows.push(complete);
        }
        let output: Vec<Output> = schema
            .columns
            .iter()
            .map(|column| Output {
                id: self.columns.add(column.name.clone(), column.ty),
                name: column.name.clone(),
            })
            .collect();
        let columns: Vec<ColumnId> = output.iter().map(|column| column.id).collect();
        if all_pending.is_empty() {
            return Ok(Bound { plan: Plan::Values { columns, rows: bound_rows }, output });
        }
        let [row] = &mut bound_rows[..] else {
            return Err(self.at(Error::unsupported("a subquery in VALUES of several rows"), pos));
        };
        let items = columns.into_iter().zip(std::mem::take(row)).collect();
        let input = attach(Plan::single_row(), all_pending);
        Ok(Bound { plan: Plan::Project { input: Box::new(input), items }, output })
    }

    /// A value on its way into a column: any conversion that CAST knows.
    fn assigned(&self, value: Expr, ty: LogicalType, pos: Pos) -> Result<Expr> {
        if matches!(value, Expr::Literal { .. }) {
            self.cast_to(value, ty, pos)
        } else {
            self.explicit_cast(value, ty, false)
        }
    }

    fn default_of(&mut self, column: &ColumnSchema) -> Result<Expr> {
        let Some(text) = &column.default else {
            return Ok(Expr::Literal { value: Value::Null, ty: column.ty });
        };
        let statement = parse_statement(&format!("SELECT {text}"))?;
        let StatementKind::Query(query) = &statement.kind else {
            return Err(Error::internal("a default is no expression"));
        };
        let QueryBody::Select(select) = &query.body else {
            return Err(Error::internal("a default is no expression"));
        };
        let [ast::SelectItem::Expr { expr, .. }] = select.items.as_slice() else {
            return Err(Error::internal("a default is no expression"));
        };
        let sql = std::mem::replace(&mut self.sql, Arc::clone(&statement.sql));
        let bound = self.isolated(|binder| binder.expr(expr));
        self.sql = sql;
        self.assigned(bound?.0, column.ty, Pos::default())
    }

    fn insert_query(
        &mut self,
        table: &Arc<TableEntry>,
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
                Some(position) => self.assigned(self.column(source.output[position].id), column.ty, pos)?,
                None => self.default_of(column)?,
            };
            let id = match &value {
                Expr::Column { id, .. } => *id,
                _ => self.columns.add(column.name.clone(), column.ty),
            };
            output.push(Output { id, name: column.name.clone() });
            if !items.iter().any(|(known, _)| *known == id) {
                items.push((id, value));
            }
        }
        let is_plain = items.iter().all(|(_, expr)| matches!(expr, Expr::Column { .. }));
        let plan = if is_plain { source.plan } else { Plan::Project { input: Box::new(source.plan), items } };
        Ok(Bound { plan, output })
    }

    /// A scope in which the columns of the changed table are visible, and its scan with row ids.
    fn open_target(&mut self, table: &Arc<TableEntry>, alias: Option<&Ident>) -> (Plan, ColumnId) {
        let row_id = self.columns.add("rowid", LogicalType::BigInt);
        let (plan, columns) = self.scan(table, Some(row_id));
        let mut scope = Scope::new();
        let name = alias.map_or_else(|| table.name.clone(), |alias| alias.value.clone());
        let columns = columns.into_iter().map(|(name, id)| RelationColumn::new(name, id)).collect();
        scope.relations.push(Relation { name, columns });
        self.scopes.push(scope);
        (plan, row_id)
    }

    fn delete(&mut self, delete: &ast::Delete) -> Result<plan::Statement> {
        let table = self.table(&delete.table)?;
        let (mut plan, row_id) = self.open_target(&table, delete.alias.as_ref());
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
                combine(JoinKind::Semi, plan, filter(attach(other, pending), conditions), Vec::new())
            };
        }
        self.scopes.pop();
        let output = vec![Output { id: row_id, name: "rowid".into() }];
        Ok(plan::Statement::Delete { query: self.finish(Bound { plan, output }), table })
    }

    fn update(&mut self, update: &ast::Update) -> Result<plan::Statement> {
        let table = self.table(&update.table)?;
        let (mut plan, row_id) = self.open_target(&table, update.alias.as_ref());
        if !update.from.is_empty() {
            let other = self.from(&update.from)?;
            plan = combine(JoinKind::Inner, plan, other, Vec::new());
        }
        if let Some(condition) = &update.filter {
            plan = self.filtered(plan, condition, Phase::Where, "WHERE")?;
        }
        let schema = table.table.schema();
        let mut set = Vec::with_capacity(update.assignments.len());
        let mut values = Vec::with_capacity(update.assignments.len());
        for (name, written) in &update.assignments {
            let index = self.column_index(schema, name, &update.table)?;
            if set.contains(&index) {
                return Err(self.at(Error::bind(format!("column \"{}\" is set twice", name.value)), name.pos));
            }
            let column = &schema.columns[index];
            let value = if written.kind == ExprKind::Default {
                self.default_of(column)?
            } else {
                let (value, pending) = self.in_phase(Phase::Where, |binder| binder.expr(written))?;
                plan = attach(plan, pending);
                self.assigned(value, column.ty, written.pos)?
            };
            set.push(index);
            values.push((self.columns.add(column.name.clone(), column.ty), value));
        }
        self.scopes.pop();
        if !update.from.is_empty() {
            // A row that several rows of FROM match is changed once, by one of them.
            let first = |(id, value): (ColumnId, Expr)| {
                let function = Arc::new(resolve_aggregate("first", &[ArgType::of(value.ty())])?);
                let args = vec![value];
                Ok((
                    id,
                    AggregateExpr { function, args, distinct: false, filter: None, order_by: Vec::new() },
                ))
            };
            let aggregates = values.into_iter().map(first).collect::<Result<Vec<_>>>()?;
            let group = self.columns.copy_of(row_id);
            let ids: Vec<ColumnId> =
                std::iter::once(group).chain(aggregates.iter().map(|(id, _)| *id)).collect();
            let groups = vec![(group, self.column(row_id))];
            let plan = Plan::Aggregate { input: Box::new(plan), groups, aggregates };
            return Ok(self.finish_update(table, set, plan, ids));
        }
        let ids: Vec<ColumnId> = std::iter::once(row_id).chain(values.iter().map(|(id, _)| *id)).collect();
        let items = std::iter::once((row_id, self.column(row_id))).chain(values).collect();
        let plan = Plan::Project { input: Box::new(plan), items };
        Ok(self.finish_update(table, set, plan, ids))
    }

    fn finish_update(
        &mut self,
        table: Arc<TableEntry>,
        set: Vec<usize>,
        plan: Plan,
        ids: Vec<ColumnId>,
    ) -> plan::Statement {
        let output =
            ids.into_iter().map(|id| Output { id, name: self.columns.get(id).name.clone() }).collect();
        plan::Statement::Update { table, set, query: self.finish(Bound { plan, output }) }
    }

    fn copy(&mut self, copy: &ast::Copy) -> Result<plan::Statement> {
        match copy {
            ast::Copy::To { query, path, options, .. } => {
                let bound = self.query(query)?;
                let options = self.copy_options(options)?;
                Ok(plan::Statement::CopyTo { query: self.finish(bound), path: path.clone(), options })
            }
            ast::Copy::From { table, columns, path, path_pos, options } => {
                let name = table;
                let table = self.table(name)?;
                let schema = table.table.schema();
                let mut targets = Vec::with_capacity(columns.len());
                for column in columns {
                    targets.push(self.column_index(schema, column, name)?);
                }
                if targets.is_empty() {
                    targets = (0..schema.columns.len()).collect();
                }
                let mut options = self.copy_options(options)?;
                let column = |&target: &usize| {
                    let column = &schema.columns[target];
                    format!("\"{}\": {}", column.name, column.ty)
                };
                let columns = targets.iter().map(column).collect::<Vec<_>>().join(", ");
                let source = self.copy_source(path, *path_pos, &mut options, columns)?;
                let bound = self.insert_query(&table, &targets, source, *path_pos)?;
                Ok(plan::Statement::Insert { query: self.finish(bound), table })
            }
        }
    }

    /// The rows of a file. A CSV file's columns have the table's names and types (`columns`), not guessed ones.
    fn copy_source(
        &mut self,
        path: &str,
        pos: Pos,
        options: &mut Vec<(String, Value)>,
        columns: String,
    ) -> Result<Bound> {
        let mut format = None;
        options.retain(|(name, value)| {
            if name == "format" {
                format = Some(value.to_string().to_lowercase());
            }
            name != "format"
        });
        let is_parquet = match format.as_deref() {
            Some(format) => format == "parquet",
            None => path.to_lowercase().ends_with(".parquet"),
        };
        if let Some(other) = format.filter(|format| format != "parquet" && format != "csv") {
            return Err(self.at(Error::unsupported(format!("COPY with FORMAT {other}")), pos));
        }
        let reader = if is_parquet { "read_parquet" } else { "read_csv" };
        let says_types = |(name, _): &(String, Value)| {
            matches!(name.as_str(), "types" | "dtypes" | "column_types" | "columns" | "all_varchar")
        };
        if !is_parquet && !options.iter().any(says_types) {
            options.push(("columns".into(), Value::Varchar(columns)));
        }
        let Some(function) = self.context.catalog.table_function(reader) else {
            return Err(self.at(Error::unsupported(format!("{reader} in this build")), pos));
        };
        let source = self.placed(function.bind(&[Value::Varchar(path.to_string())], options), pos)?;
        let (plan, names) = self.source_plan(source);
        Ok(Bound { plan, output: names.into_iter().map(|(name, id)| Output { id, name }).collect() })
    }

    /// Options by lower-case name; one without a value is TRUE.
    fn copy_options(&mut self, options: &[ast::CopyOption]) -> Result<Vec<(String, Value)>> {
        let mut values = Vec::with_capacity(options.len());
        for option in options {
            let value = match &option.value {
                None => Value::Boolean(true),
                Some(value) => self.constant(value, "an option of COPY")?,
            };
            let name = option.name.value.to_lowercase();
            let name = if name == "delimiter" { "delim".to_string() } else { name };
            values.push((name, value));
        }
        Ok(values)
    }
}

/// `SELECT * FROM table`.
fn star_query(name: ObjectName) -> ast::Query {
    let pos = name.pos();
    let star =
        ast::SelectItem::Star { qualifier: None, exclude: vec![], replace: vec![], rename: vec![], pos };
    let select = ast::Select {
        distinct: ast::Distinct::No,
        items: vec![star],
        from: vec![ast::TableRef::Table { name, alias: None }],
        filter: None,
        group_by: ast::GroupBy::Items(Vec::new()),
        having: None,
        pos,
    };
    ast::Query {
        ctes: Vec::new(),
        recursive: false,
        body: QueryBody::Select(Box::new(select)),
        order_by: ast::OrderBy::Items(Vec::new()),
        limit: None,
        offset: None,
    }
}

/// Gives columns of CREATE TABLE AS that share a name a number: `a`, `a_1`.
fn unique_names(schema: &mut TableSchema) {
    for index in 1..schema.columns.len() {
        let base = schema.columns[index].name.clone();
        let mut name = base.clone();
        let mut number = 0;
        while schema.columns[..index].iter().any(|column| same_name(&column.name, &name)) {
            number += 1;
            name = format!("{base}_{number}");
        }
        schema.columns[index].name = name;
    }
}
